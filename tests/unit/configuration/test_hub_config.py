# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, PreTrainedConfig

from hier_nmt import HANConfig, HierNMTConfig, RNNNMTConfig
from hier_nmt.configuration.hub_config import HubConfig
from hier_nmt.publishing.exported_code import PACKAGE, exported_files, flattened, stale_code

CONFIG_CLASSES = [HierNMTConfig, HANConfig, RNNNMTConfig]


class ConfigOfSomebody(HierNMTConfig):
    """A configuration whose file nobody else has."""


def exported_module(name: str) -> ModuleType:
    """The module of the package that is exported as the file `name`."""
    path = exported_files()[name].relative_to(PACKAGE).with_suffix("")
    return importlib.import_module(".".join(("hier_nmt", *path.parts)))


def exported_text(name: str) -> str:
    """What is written of the file `name`."""
    return flattened(exported_files()[name].read_text())


def named_files(path: Path) -> set[str]:
    """The files that a file imports."""
    return {f"{name}.py" for name in re.findall(r"^\s*from \.(\w+) import", path.read_text(), re.MULTILINE)}


def test_every_configuration_brings_its_code() -> None:
    names = {name for name in exported_files() if name.startswith("configuration_")} - {"configuration_choices"}
    assert names == {config_class.__module__.rpartition(".")[2] for config_class in CONFIG_CLASSES}
    assert all(issubclass(config_class, HubConfig) for config_class in CONFIG_CLASSES)


@pytest.mark.parametrize("config_class", CONFIG_CLASSES)
def test_the_auto_classes_load_what_the_package_registers(config_class) -> None:
    loaded = {
        name: getattr(exported_module(module), class_name)
        for name, reference in config_class.auto_classes.items()
        for module, _, class_name in [reference.partition(".")]
    }
    assert loaded == {
        "AutoConfig": config_class,
        "AutoModel": AutoModel._model_mapping[config_class],
        "AutoModelForSeq2SeqLM": AutoModelForSeq2SeqLM._model_mapping[config_class],
    }


@pytest.mark.parametrize("config_class", CONFIG_CLASSES)
def test_saving_writes_every_file_that_a_saved_file_imports(config_class, tmp_path) -> None:
    config_class().save_pretrained(tmp_path)
    saved = {path.name for path in tmp_path.glob("*.py")}
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["auto_map"] == config_class.auto_classes
    assert {f"{reference.partition('.')[0]}.py" for reference in config["auto_map"].values()} <= saved
    (pipeline,) = config["custom_pipelines"].values()
    assert pipeline["impl"] == "pipeline_document_translation.DocumentTranslationPipeline"
    for name in saved:
        assert (tmp_path / name).read_text().startswith(exported_text(name.removesuffix(".py")))
        assert named_files(tmp_path / name) <= saved


@pytest.mark.parametrize("config_class", CONFIG_CLASSES)
def test_a_file_that_is_loaded_names_every_file_that_it_needs(config_class, tmp_path) -> None:
    """The oldest supported Transformers copies no others out of a local folder."""
    config_class().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    references = [*config["auto_map"].values(), *(task["impl"] for task in config["custom_pipelines"].values())]
    for file in {f"{reference.partition('.')[0]}.py" for reference in references}:
        needed, found = set(), named_files(tmp_path / file)
        while found - needed:
            needed |= found
            found = {name for other in needed for name in named_files(tmp_path / other)}
        assert named_files(tmp_path / file) == needed


@pytest.mark.parametrize("config_class", CONFIG_CLASSES)
def test_a_configuration_is_unchanged_by_saving_and_loading(config_class, tmp_path) -> None:
    config = config_class(window_sentences=1, name_or_path=str(tmp_path))
    before = config.to_dict()
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert config.to_dict() == before
    assert type(loaded) is config_class
    assert loaded.to_dict() == before
    assert not hasattr(loaded, "auto_map")
    assert not hasattr(loaded, "custom_pipelines")


def test_a_configuration_of_somebody_else_is_saved_without_our_code(tmp_path) -> None:
    ConfigOfSomebody().save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
    assert "auto_map" not in json.loads((tmp_path / "config.json").read_text())


def test_files_that_are_up_to_date_are_not_written_again(tmp_path) -> None:
    """Somebody may be reading them: an upload."""
    HierNMTConfig().save_pretrained(tmp_path)
    (tmp_path / "positions.py").write_text("changed")
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.py")}
    HierNMTConfig().save_pretrained(tmp_path)
    assert (tmp_path / "positions.py").read_text() == exported_text("positions")
    rewritten = {path.name for path in tmp_path.glob("*.py") if path.stat().st_mtime_ns != times[path.name]}
    assert rewritten == {"positions.py"}


LICENCE = "# Copyright 2025 The hier_nmt Authors.\n# SPDX-License-Identifier: Apache-2.0\n"


def test_saving_again_removes_the_code_of_an_older_export_and_nothing_else(tmp_path) -> None:
    RNNNMTConfig().save_pretrained(tmp_path)
    # Files that an older version had under other names, and that its export named.
    for name, root in (("former_name", "modeling_rnn_nmt"), ("former_cut", "pipeline_document_translation")):
        (tmp_path / f"{name}.py").write_text(LICENCE + "former = 1\n")
        with (tmp_path / f"{root}.py").open("a") as file:
            file.write(f"    from .{name} import *\n")
    own = {
        "my_model.py": exported_text("modeling_rnn_nmt"),  # made of a copy of ours
        "recurrent_cache.py": "mine = 1\n",  # replaced by something else under our name
        "train.py": "import hier_nmt\n",
        "notes.txt": LICENCE,
    }
    for name, text in own.items():
        (tmp_path / name).write_text(text)
    HANConfig().save_pretrained(tmp_path)
    HANConfig().save_pretrained(tmp_path / "new")
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert {path.name for path in tmp_path.iterdir()} == written | {"new", *own}
    assert {name: (tmp_path / name).read_text() for name in own} == own


def test_saving_into_the_package_itself_removes_nothing() -> None:
    assert stale_code(PACKAGE / "models" / "rnn", {"modeling_han.py"}) == []


def test_ours_are_ordinary_configurations() -> None:
    assert all(issubclass(config_class, PreTrainedConfig) for config_class in CONFIG_CLASSES)
