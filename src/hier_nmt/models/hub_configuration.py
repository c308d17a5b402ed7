# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all our models share: with a saved model goes the code that runs it.

So every way of saving (`save_pretrained`, the checkpoints of a trainer, `push_to_hub`) writes a whole repository, which
loads without the package too, with `trust_remote_code=True`.
"""

import ast
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import transformers
from huggingface_hub.dataclasses import strict

from .compatibility import OLDEST_TRANSFORMERS
from .pipeline_document_translation import DocumentTranslationPipeline

# Whether this file was loaded from a checkpoint, and not from the installed package.
_IS_UPLOADED = __name__.startswith("transformers_modules.")
# One task only: where there are two, `pipeline(model=...)` cannot choose.
_CUSTOM_PIPELINES: dict[str, Any] = {
    "translation": {
        "impl": f"{DocumentTranslationPipeline.__module__.rpartition('.')[2]}.{DocumentTranslationPipeline.__name__}",
        "pt": ["AutoModelForSeq2SeqLM"],
        "type": "text",
    }
}


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
        if not _IS_UPLOADED:
            copy_code(type(self), save_directory)
        # Uploaded code is copied by Transformers, which also made the entries name the repository it was loaded from.
        self.auto_map = dict(self.auto_classes)
        self.custom_pipelines = _CUSTOM_PIPELINES
        try:
            super().save_pretrained(save_directory, **kwargs)
        finally:
            if not _IS_UPLOADED:
                del self.auto_map, self.custom_pipelines


def copy_code(config_class: type[HubConfig], directory: str | os.PathLike) -> None:
    """Copies the files that the configuration's Auto classes need into a directory, which is made if it is not there.

    What is there already in the same form is left alone: an upload may be reading it.
    """
    os.makedirs(directory, exist_ok=True)
    folder = Path(str(sys.modules[config_class.__module__].__file__)).parent
    references = [*config_class.auto_classes.values(), *(task["impl"] for task in _CUSTOM_PIPELINES.values())]
    loaded = {folder / f"{reference.partition('.')[0]}.py" for reference in references}
    needed = {file: sorted(_imported_files(file)) for file in loaded}
    for file in loaded.union(*needed.values()):
        text = file.read_text(encoding="utf-8") + _naming(needed.get(file, []))
        copy = Path(directory) / file.name
        if not copy.is_file() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")


def _imported_files(file: Path, found: frozenset[Path] = frozenset()) -> frozenset[Path]:
    """The files beside a file that it imports, directly or through others, and those in `found`."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1]
    for imported in {file.parent / f"{name}.py" for name in names} - found:
        found = _imported_files(imported, found | {imported})
    return found


def _naming(files: list[Path]) -> str:
    """Lines that name all files that a file needs, directly or not, and do nothing; none if it needs none."""
    if not files:
        return ""
    reason = "# From a folder, Transformers before 5.8 copies only what the file that it loads names itself."
    return "\n".join(["", f"if False:  {reason}", *(f"    from .{file.stem} import *" for file in files), ""])


__all__ = ["OLDEST_TRANSFORMERS", "HubConfig", "copy_code", "strict"]
