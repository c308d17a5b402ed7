# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The base class of our configurations: saving one also saves the code that runs its model.

Every way of saving (`save_pretrained`, the checkpoints of a trainer, `push_to_hub`) therefore writes a complete
repository, which can be loaded without the package, with `trust_remote_code=True`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import transformers
from huggingface_hub.dataclasses import strict

from .compatibility import OLDEST_TRANSFORMERS

# Whether this file was loaded from a checkpoint instead of the installed package.
_IS_UPLOADED = __name__.startswith("transformers_modules.")
# One task only: `pipeline(model=...)` cannot choose between several.
CUSTOM_PIPELINES: dict[str, Any] = {
    "translation": {
        "impl": "pipeline_document_translation.DocumentTranslationPipeline",
        "pt": ["AutoModelForSeq2SeqLM"],
        "type": "text",
    }
}

_code_writer: Callable[[type["HubConfig"], str | os.PathLike], list[Path]] | None = None


class HubConfig(transformers.PreTrainedConfig):
    """A configuration that is saved with the code of its model, which `auto_map` and `custom_pipelines` name.

    With the package installed, loading ignores both entries: the package has registered its own classes, which need no
    `trust_remote_code`.

    A subclass in another folder is saved like any other configuration.
    """

    # Name of each Auto class -> what it loads, as "file.Class"; set by subclasses.
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
            # If the directory already existed, Transformers would upload only the configuration.
            self.save_pretrained(save_directory)
            self.push_to_hub(kwargs.pop("repo_id", Path(save_directory).name), **kwargs)
            return
        stale = [] if _code_writer is None else _code_writer(type(self), save_directory)
        # Transformers copies code that was loaded from a repository; the entries name that repository and are reset.
        self.auto_map = dict(self.auto_classes)
        self.custom_pipelines = CUSTOM_PIPELINES
        try:
            super().save_pretrained(save_directory, **kwargs)
        finally:
            if not _IS_UPLOADED:
                del self.auto_map, self.custom_pipelines
        # Removed last, so that an interruption leaves no configuration that names missing files.
        for path in stale:
            path.unlink(missing_ok=True)


def register_code_writer(writer: Callable[[type[HubConfig], str | os.PathLike], list[Path]]) -> None:
    """Registers the function that writes the code of a configuration's models into a directory.

    It returns the stale files of the directory. The package registers one; code from the Hub has none, because
    Transformers copies that code itself.
    """
    global _code_writer
    _code_writer = writer


__all__ = ["OLDEST_TRANSFORMERS", "HubConfig", "register_code_writer", "strict"]
