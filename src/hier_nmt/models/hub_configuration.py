# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all our models share: with a saved model goes the code that runs it.

So every way of saving (`save_pretrained`, the checkpoints of a trainer, `push_to_hub`) writes a whole repository, which
loads without the package too, with `trust_remote_code=True`.
"""

import ast
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar

import transformers
from huggingface_hub.dataclasses import strict

from .compatibility import OLDEST_TRANSFORMERS

# Whether this file was loaded from a checkpoint, and not from the installed package.
_IS_UPLOADED = __name__.startswith("transformers_modules.")
# One task only: where there are two, `pipeline(model=...)` cannot choose.
_CUSTOM_PIPELINES: dict[str, Any] = {
    "translation": {
        "impl": "pipeline_document_translation.DocumentTranslationPipeline",
        "pt": ["AutoModelForSeq2SeqLM"],
        "type": "text",
    }
}

_COPYRIGHT = re.compile(r"# Copyright \d{4} The hier_nmt Authors\.\n# SPDX-License-Identifier: Apache-2\.0\n")
_NAMED_FILE = re.compile(r"^    from \.(\w+) import \*$", re.MULTILINE)


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
        copied = None if _IS_UPLOADED else copy_code(type(self), save_directory)
        # Uploaded code is copied by Transformers, which also made the entries name the repository it was loaded from.
        self.auto_map = dict(self.auto_classes)
        self.custom_pipelines = _CUSTOM_PIPELINES
        try:
            super().save_pretrained(save_directory, **kwargs)
        finally:
            if not _IS_UPLOADED:
                del self.auto_map, self.custom_pipelines
        if copied is not None:
            # Last, so that an interruption leaves no configuration that names files that are gone.
            for path in stale_code(save_directory, copied):
                path.unlink(missing_ok=True)


def copy_code(config_class: type[HubConfig], directory: str | os.PathLike) -> set[str]:
    """Copies the files that the configuration's Auto classes need into a directory; gives their names.

    The directory is made if it is not there. What is there already in the same form is left alone: an upload may be
    reading it.
    """
    os.makedirs(directory, exist_ok=True)
    folder = Path(str(sys.modules[config_class.__module__].__file__)).parent
    references = [*config_class.auto_classes.values(), *(task["impl"] for task in _CUSTOM_PIPELINES.values())]
    loaded = {folder / f"{reference.partition('.')[0]}.py" for reference in references}
    needed = {file: sorted(_imported_files(file)) for file in loaded}
    files = loaded.union(*needed.values())
    for file in files:
        text = file.read_text(encoding="utf-8") + _naming(needed.get(file, []))
        copy = Path(directory) / file.name
        if not copy.is_file() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")
    return {file.name for file in files}


def stale_code(directory: str | os.PathLike, needed: Collection[str]) -> list[Path]:
    """The files that an earlier export left in a directory and that are not among the needed names.

    They begin with our copyright, and either they are called like a file of this folder or a file that we exported
    names them at its end. So a user's own files stay, even one that began as a copy of ours, under another name.
    """
    folder = Path(__file__).parent
    if not Path(directory).is_dir() or folder.samefile(directory):
        return []
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in sorted(Path(directory).glob("*.py"))}
    ours = {path: text for path, text in texts.items() if _COPYRIGHT.match(text)}
    names = {file.name for file in folder.glob("*.py")}
    names.update(f"{name}.py" for text in ours.values() for name in _NAMED_FILE.findall(text))
    return [path for path in ours if path.name in names and path.name not in needed]


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


__all__ = ["OLDEST_TRANSFORMERS", "HubConfig", "copy_code", "stale_code", "strict"]
