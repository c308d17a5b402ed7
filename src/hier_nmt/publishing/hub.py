# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as repositories of the Hugging Face Hub: writing all files that a model needs there, and uploading
them."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, ModelCard, ModelCardData
from huggingface_hub.errors import HfHubHTTPError
from transformers import AutoModelForSeq2SeqLM, PreTrainedConfig

from ..data.tokenization import load_tokenizers, save_tokenizers
from .exported_code import stale_code

CARD_FILE = "README.md"
TAGS = ("hier_nmt", "document-level-translation")
_NEW_CARD = """---
{metadata}
---

# {name}

A translation model made with hier_nmt. What it was trained on and how well it translates is unknown here.

## Use

```python
from transformers import pipeline

translate = pipeline("translation", model="{name}", trust_remote_code=True)  # runs the code beside the weights
print(translate("The committee met on Monday. It will report in May.")[0]["translation_text"])
```

After `import hier_nmt` the code of that package is run instead, and `trust_remote_code` is not needed.
"""


class HubError(RuntimeError):
    """A checkpoint that cannot be published, or a Hub that rejected it; the message says why."""


def write_repository(checkpoint: str | Path, folder: str | Path, name: str) -> None:
    """Writes weights, configuration, code, tokenizers and card of a checkpoint, and nothing else, into a folder.

    Args:
        checkpoint: directory with a model and its tokenizer; if it has a card, the card is completed, and the figures
            (.png) beside it are included.
        folder: where the repository is written.
        name: name of the repository: heading of a new card, and the name in its example.

    Raises:
        HubError: the checkpoint lacks weights of its model.
        FileNotFoundError: it has no tokenizer.
    """
    tokenizers = load_tokenizers(checkpoint)
    loaded: Any = AutoModelForSeq2SeqLM.from_pretrained(checkpoint, dtype="auto", output_loading_info=True)
    model, loading = loaded
    if loading["missing_keys"]:
        raise HubError(f"{checkpoint} lacks weights of its model: {', '.join(sorted(loading['missing_keys'])[:5])}")
    model.save_pretrained(folder)
    save_tokenizers(folder, *tokenizers)
    if (Path(checkpoint) / CARD_FILE).is_file():
        for path in (Path(checkpoint) / CARD_FILE, *Path(checkpoint).glob("*.png")):
            shutil.copyfile(path, Path(folder) / path.name)
    complete_card(Path(folder) / CARD_FILE, model.config, name)


def complete_card(path: str | Path, config: PreTrainedConfig, name: str) -> None:
    """Adds to a card (a new one if there is none) the metadata by which the Hub finds and runs a model.

    These are the task, the library, the tags and the two languages; languages that the card already has are kept.
    """
    path = Path(path)
    languages = [getattr(config, f"{side}_language", None) for side in ("source", "target")]
    known = [language for language in languages if language is not None] or None
    if not path.is_file():
        path.write_text(_NEW_CARD.format(metadata=ModelCardData(language=known).to_yaml(), name=name), encoding="utf-8")
    card = ModelCard.load(path)
    data: Any = card.data
    data.language = data.language or known
    data.library_name, data.pipeline_tag = "transformers", "translation"
    data.tags = list(dict.fromkeys([*(data.tags or []), *TAGS]))
    card.save(path)


def push_repository(
    folder: str | Path,
    repo_id: str,
    *,
    private: bool = False,
    revision: str | None = None,
    message: str = "Upload model",
    space_patterns: Sequence[str] | None = None,
) -> str:
    """Uploads a folder in one commit and returns the address of that commit.

    The same commit deletes code of an earlier upload that is not part of this one, and nothing else; of a Space the
    files that match its patterns.

    An interrupted upload changes nothing in the repository; when repeated, completely uploaded files are not uploaded
    again. The token is that of `hf auth login` or `HF_TOKEN`, the Hub that of `HF_ENDPOINT`.

    Args:
        folder: a folder of `write_repository`, or of `write_space`.
        repo_id: "user/name"; the repository is created if it does not exist.
        private: whether only its owner may see it.
        revision: branch, created if it does not exist; None: the main branch.
        message: commit message.
        space_patterns: if the folder is that of a Docker Space, the patterns of files that an earlier upload may have
            left there; None: it is that of a model.

    Raises:
        HubError: the Hub refuses the token or the repository or cannot be reached, or a repository that should be
            private is public.
    """
    api = HfApi(library_name="hier_nmt")
    kind, sdk = ("model", None) if space_patterns is None else ("space", "docker")
    try:
        api.create_repo(repo_id, repo_type=kind, space_sdk=sdk, private=private or None, exist_ok=True)
        if private and not api.repo_info(repo_id, repo_type=kind).private:
            raise HubError(f"{repo_id} exists and is public: choose another name or make it private on the Hub first")
        if revision is not None:
            api.create_branch(repo_id, repo_type=kind, branch=revision, exist_ok=True)
        if space_patterns is None:
            names = {path.name for path in Path(folder).glob("*.py")}
            stale = _stale_remote_code(api, repo_id, revision, names)
        else:
            stale = list(space_patterns)
        commit = api.upload_folder(
            repo_id=repo_id,
            repo_type=kind,
            folder_path=folder,
            commit_message=message,
            revision=revision,
            delete_patterns=stale,
        )
    except HubError:
        raise
    except Exception as error:
        raise HubError(f"{repo_id} was not uploaded to {api.endpoint}: {_reason(error)}") from error
    return str(commit.commit_url)


def _stale_remote_code(api: HfApi, repo_id: str, revision: str | None, needed: set[str]) -> list[str]:
    """The names of code files of an earlier upload in a repository."""
    names = {name for name in api.list_repo_files(repo_id, revision=revision) if "/" not in name}
    if all(name in needed for name in names if name.endswith(".py")):
        return []
    with tempfile.TemporaryDirectory() as folder:
        api.snapshot_download(repo_id, revision=revision, local_dir=folder, allow_patterns=["*.py"])
        return [path.name for path in stale_code(folder, needed)]


def _reason(error: Exception) -> str:
    """What went wrong, and what to do."""
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    if status == 401:
        return "it refuses the token, or there is none (401); log in with `hf auth login` or set HF_TOKEN"
    if status == 403:
        return "the token may not write there (403); use one that may, or a repository of your own"
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {str(cause).strip()}; the same command continues where this one stopped"
