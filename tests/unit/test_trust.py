# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What SECURITY.md promises: weights are data, no code runs but the reviewed one, nothing calls out."""

import ast
import hashlib
import importlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import load_file
from tiny_han_models import tiny_model as tiny_han_model
from tiny_models import tiny_model
from tiny_recurrent_models import tiny_model as tiny_recurrent_model
from transformers import AutoModelForSeq2SeqLM

from hier_nmt.configuration.config_classes import CONFIG_CLASSES
from hier_nmt.models.common.safetensors_model import SafetensorsModel, check_weights_are_safetensors
from hier_nmt.publishing.exported_code import PACKAGE, exported_files, flattened

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "checkpoints" / "hier-nmt-en-fr"
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_MODULES = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "joblib",
    "code",
    "codeop",
    "runpy",
    "tarfile",
}
FORBIDDEN_ATTRIBUTES = {
    ("torch", "load"), ("os", "system"), ("os", "popen"), ("yaml", "unsafe_load"), ("yaml", "full_load"),
    ("importlib", "import_module"), ("ctypes", "CDLL"),
}  # fmt: skip
UNPACKING = {"extractall", "extract", "unpack_archive"}
# What starts a program: the machine's C++ compiler on a source file of the package, and `--workers` the same command.
MAY_START_PROGRAMS = {"src/hier_nmt/kernels/cpu/compiled.py", "src/hier_nmt/jobs/shared_translation.py"}

# The one place that imports by name: the modules of its own folder, out of a table.
MAY_IMPORT_BY_NAME = {"src/hier_nmt/cli/main.py"}


def exported_module(name: str) -> ModuleType:
    """The module of the package that is exported as the file `name`."""
    path = exported_files()[name].relative_to(PACKAGE).with_suffix("")
    return importlib.import_module(".".join(("hier_nmt", *path.parts)))


def programs() -> list[Path]:
    """The Python files that users run."""
    return sorted(path for folder in ("src", "training") for path in (ROOT / folder).rglob("*.py"))


def dotted(node: ast.expr) -> tuple[str, ...]:
    """`a.b.c` as its names; another expression is "?"."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (*dotted(node.value), node.attr)
    return ("?",)


def dangers(text: str) -> Iterator[str]:
    """What in a program runs code that nobody reviewed, or may."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"line {node.lineno}: {name}" for name in names if name.split(".")[0] in FORBIDDEN_MODULES)
            if "subprocess" in names:
                yield f"line {node.lineno}: subprocess"
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if len(name) == 1 and name[0] in FORBIDDEN_CALLS:
                yield f"line {node.lineno}: {name[0]}"
            if name[-2:] in FORBIDDEN_ATTRIBUTES or (len(name) > 1 and name[-1] in UNPACKING):
                yield f"line {node.lineno}: {'.'.join(name)}"
            if name == ("yaml", "load") and len(node.args) + len(node.keywords) < 2:
                yield f"line {node.lineno}: yaml.load without a loader"
            for keyword in node.keywords:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if (keyword.arg, value) in (("shell", True), ("allow_pickle", True), ("trust_remote_code", True)):
                    yield f"line {node.lineno}: {keyword.arg}={value}"


def test_no_program_runs_code_that_is_not_its_own() -> None:
    for path in programs():
        name = path.relative_to(ROOT).as_posix()
        found = [one for one in dangers(path.read_text(encoding="utf-8"))]
        if name in MAY_START_PROGRAMS:
            found = [one for one in found if not one.endswith((": subprocess", ": ctypes.CDLL"))]
        if name in MAY_IMPORT_BY_NAME:
            found = [one for one in found if not one.endswith(": importlib.import_module")]
        assert found == [], name


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')", "exec(x)", "import pickle", "from pickle import loads", "import torch\ntorch.load('x')",
        "import os\nos.system('x')", "import yaml\nyaml.load(x)", "import yaml\nyaml.unsafe_load(x)",
        "import subprocess", "run(x, shell=True)", "np.load(x, allow_pickle=True)", "archive.extractall(x)",
        "__import__(x)", "A.from_pretrained(x, trust_remote_code=True)",
    ],
)  # fmt: skip
def test_the_check_sees_what_would_run_code(text: str) -> None:
    assert len(list(dangers(text))) == 1


def test_the_check_lets_pass_what_runs_none() -> None:
    text = "model.eval()\nimport yaml\nyaml.safe_load(x)\nyaml.load(x, Safe)\nre.compile(x)\ntorch.compile(model)\n"
    assert list(dangers(text)) == []


PROGRAM = """
import sys

CODE = {"pickle.find_class", "os.system", "os.posix_spawn", "os.exec", "os.fork", "subprocess.Popen"}
NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"}
watching = []

def refuse(event, arguments):
    if event in NETWORK or (watching and event in CODE):
        raise RuntimeError(f"{event} {arguments!r:.200}")

sys.addaudithook(refuse)
import hier_nmt
from transformers import pipeline
watching.append(True)
pipe = pipeline("translation", model=sys.argv[1], num_beams=1)
print(pipe("The committee met on Monday.")[0]["translation_text"])
"""


def test_import_loading_and_translating_call_nobody_and_run_nothing() -> None:
    settings = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE")
    environment = {name: value for name, value in os.environ.items() if name not in settings}
    environment["PYTHONPATH"] = str(ROOT / "src")
    command = [sys.executable, "-c", PROGRAM, str(CHECKPOINT)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


class Dangerous:
    """A pickle that writes a file where it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


FAMILIES = pytest.mark.parametrize("make", [tiny_model, tiny_han_model, tiny_recurrent_model])


@pytest.fixture
def pickled(request, tmp_path: Path) -> Path:
    """A checkpoint whose weights are a pickle that runs code."""
    folder = tmp_path / "checkpoint"
    request.getfixturevalue("make")().save_pretrained(folder)
    (folder / "model.safetensors").unlink()
    with (folder / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Dangerous(tmp_path / "harm"), file)
    return folder


@FAMILIES
def test_pickled_weights_are_refused_and_run_nothing(pickled: Path, make) -> None:
    model_class = type(make())
    with pytest.raises(OSError, match=r"pytorch_model.bin is a pickle, which can run code"):
        AutoModelForSeq2SeqLM.from_pretrained(pickled)
    with pytest.raises(OSError, match=r"pytorch_model.bin is a pickle, which can run code"):
        model_class.from_pretrained(pickled)
    with pytest.raises(ValueError, match=r"use_safetensors=False: pytorch_model.bin is a pickle"):
        model_class.from_pretrained(pickled, use_safetensors=False)
    with pytest.raises(ValueError, match="weights_only=False"):
        model_class.from_pretrained(pickled, weights_only=False)
    with pytest.raises(OSError, match=r"pytorch_model.bin is a pickle"):
        model_class.from_pretrained(pickled / "pytorch_model.bin", config=make().config)
    config = make().config
    config.transformers_weights = "adapter_model.bin"
    with pytest.raises(OSError, match=r"the configuration names 'adapter_model.bin'"):
        model_class.from_pretrained(pickled, config=config)
    assert not (pickled.parent / "harm").exists()


@FAMILIES
def test_pickles_beside_safetensors_are_not_read(make, tmp_path: Path) -> None:
    model = make()
    model.save_pretrained(tmp_path)
    with (tmp_path / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Dangerous(tmp_path / "harm"), file)
    loaded = type(model).from_pretrained(tmp_path)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name]), name
    assert not (tmp_path / "harm").exists()


def test_every_family_reads_safetensors_alone() -> None:
    for config_class in CONFIG_CLASSES.values():
        for reference in set(config_class.auto_classes.values()) - {config_class.auto_classes["AutoConfig"]}:
            module, _, name = reference.partition(".")
            assert issubclass(getattr(exported_module(module), name), SafetensorsModel)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["pytorch_model-00001.bin"], r"pytorch_model-00001.bin is a pickle"),
        (["../other/model.safetensors"], r"'../other/model.safetensors', which is not a file in the same folder"),
        ([7], r"names 7"),
    ],
)
def test_an_index_names_safetensors_beside_it_and_nothing_else(tmp_path: Path, names, complaint) -> None:
    weight_map = {str(number): name for number, name in enumerate(names)}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(OSError, match=complaint):
        check_weights_are_safetensors(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weight_map": 5}', "[" * 100_000])
def test_an_index_that_is_none_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(content)
    with pytest.raises(OSError, match=r"model.safetensors.index.json is not an index"):
        check_weights_are_safetensors(tmp_path)


def test_models_in_several_safetensors_files_are_read(tmp_path: Path) -> None:
    model = tiny_model()
    model.save_pretrained(tmp_path, max_shard_size="2KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    loaded = type(model).from_pretrained(tmp_path)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name]), name


@FAMILIES
def test_code_beside_uploaded_weights_is_that_of_the_source_but_for_folders_of_imports(make, tmp_path: Path) -> None:
    model = make()
    model.save_pretrained(tmp_path)
    copied = sorted(tmp_path.glob("*.py"))
    modeling = f"{type(model).__module__.rpartition('.')[2]}.py"
    assert {"safetensors_model.py", modeling} <= {path.name for path in copied}
    for path in copied:
        source = flattened(exported_files()[path.stem].read_text(encoding="utf-8")).encode()
        assert path.read_bytes().startswith(source), path.name
        # Behind the source nothing but the names of other files that are here, under a condition that never holds.
        behind = path.read_text(encoding="utf-8")[len(source.decode()) :]
        names = re.findall(r"from \.(\w+) import", behind)
        assert all((tmp_path / f"{name}.py").is_file() for name in names), path.name
        lines = "".join(f"    from .{name} import *\n" for name in names)
        assert re.fullmatch(r"\nif False:  # [^\n]*\n" + re.escape(lines), behind) if names else behind == "", path.name


def test_the_shipped_checkpoint_holds_data_alone() -> None:
    for path in CHECKPOINT.rglob("*"):
        assert not path.is_symlink(), path
        assert path.suffix in (".json", ".safetensors", ".md", ".png") or path.name == "SHA256SUMS", path
    assert not {"auto_map", "custom_pipelines"} & set(json.loads((CHECKPOINT / "config.json").read_text()))


def test_the_shipped_weights_are_those_of_the_checksums() -> None:
    lines = (CHECKPOINT / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: checksum for checksum, name in (line.split("  ") for line in lines)}
    assert set(sums) == {"model.safetensors", "tokenizer.json"}
    for name, checksum in sums.items():
        assert hashlib.sha256((CHECKPOINT / name).read_bytes()).hexdigest() == checksum, name
    assert load_file(CHECKPOINT / "model.safetensors")
