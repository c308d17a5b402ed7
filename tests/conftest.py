# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What every test needs: no network, no leftovers in the user's caches, one thread, and the optional corpus."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Set before anything imports torch or transformers, in the environment, which processes started by tests inherit.
CACHE_DIRECTORY = tempfile.mkdtemp(prefix="hier-nmt-tests-")
os.environ["HF_HOME"] = CACHE_DIRECTORY
for cache in ("HF_DATASETS_CACHE", "HF_HUB_CACHE", "HF_MODULES_CACHE", "TRANSFORMERS_CACHE"):
    os.environ.pop(cache, None)
for switch in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE"):
    os.environ[switch] = "1"
os.environ["HIER_NMT_CACHE"] = str(Path(CACHE_DIRECTORY) / "hier_nmt")
os.environ["HIER_NMT_COMPILED_ATTENTION"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
# The kernels for GPUs run in Triton's interpreter.
os.environ["TRITON_INTERPRET"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# The models of the tests are so small that a second thread costs more than it brings.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """Spares the garbage collector what has been imported, millions of objects: a twentieth of the time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Removes the caches of this run."""
    shutil.rmtree(CACHE_DIRECTORY, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def fewer_lines_are_compared() -> Iterator[None]:
    """Tokenizers of adapted models are compared on few lines: all of them take half a minute a model."""
    from hier_nmt.data import sentence_model_tokenizers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_model_tokenizers, "LINES_OF_A_SCRIPT", 60)
        yield


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora named by HIER_NMT_SHARED_DATA; without it, the test is skipped."""
    folder = os.environ.get("HIER_NMT_SHARED_DATA")
    if not folder:
        pytest.skip("HIER_NMT_SHARED_DATA names no folder with corpora")
    return Path(folder)
