# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all our models share: with a saved model goes the code that runs it.

So every way of saving (`save_pretrained`, the checkpoints of a trainer, `push_to_hub`) writes a whole repository, which
loads without the package too, with `trust_remote_code=True`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import transformers
from huggingface_hub.dataclasses import strict

from .compatibility import OLDEST_TRANSFORMERS

# Whether this file was loaded from a checkpoint, and not from the installed package.
_IS_UPLOADED = __name__.startswith("transformers_modules.")
# One task only: where there are two, `pipeline(model=...)` cannot choose.
CUSTOM_PIPELINES: dict[str, Any] = {
    "translation": {
        "impl": "pipeline_document_translation.DocumentTranslationPipeline",
        "pt": ["AutoModelForSeq2SeqLM"],
        "type": "text",
    }
}

_code_writer: Callable[[type["HubConfig"], str | os.PathLike], list[Path]] | None = None


class HubConfig(transformers.PreTrainedConfig):
    """A configuration that is saved with the code of its model, as `auto_map` and `custom_pipelines` describe it.

    Where the package is imported, both entries are left out on loading: the registered classes are meant then, which
    need no `trust_remote_code`.

    A subclass outside of this folder is saved as Transformers saves any other.
    """

    # The names of the Auto classes and, as "file.Class", what each of them loads; subclasses set it.
    auto_classes: ClassVar[dict[str, str]] = {}

    def __post_init__(self, **kwargs: Any) -> None:
        if not _IS_UPLOADED:
            kwargs.pop("auto_map", None)
            kwargs.pop("custom_pipelines", None)
        super().__post_init__(**kwargs)

    def save_pretrained(self, save_directory: str | os.PathLike, push_to_hub: bool = False, **kwargs: Any) -> None:
        """Saves the configuration and the code of its model."""
        if type(self).__module__.rpartition(".")[0] != __name__.rpartition(".")[0]:
            super().save_pretrained(save_directory, push_to_hub, **kwargs)
            return
        if push_to_hub:
            # Of a directory that was there before, Transformers would upload the configuration only.
            self.save_pretrained(save_directory)
            self.push_to_hub(kwargs.pop("repo_id", Path(save_directory).name), **kwargs)
            return
        stale = [] if _code_writer is None else _code_writer(type(self), save_directory)
        # Uploaded code is copied by Transformers, which also made the entries name the repository it was loaded from.
        self.auto_map = dict(self.auto_classes)
        self.custom_pipelines = CUSTOM_PIPELINES
        try:
            super().save_pretrained(save_directory, **kwargs)
        finally:
            if not _IS_UPLOADED:
                del self.auto_map, self.custom_pipelines
        # Last, so that an interruption leaves no configuration that names files that are gone.
        for path in stale:
            path.unlink(missing_ok=True)


def register_code_writer(writer: Callable[[type[HubConfig], str | os.PathLike], list[Path]]) -> None:
    """What writes the code of a configuration's models into a directory, and gives the files there that are stale.

    The package registers one. Of uploaded code there is none: Transformers copies it.
    """
    global _code_writer
    _code_writer = writer


__all__ = ["OLDEST_TRANSFORMERS", "HubConfig", "register_code_writer", "strict"]
