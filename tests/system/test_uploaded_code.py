# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of the further families as others find them: files copied beside the weights, the package not there."""

import os
import subprocess
import sys

import pytest
import torch
from tiny_han_models import VARIANTS
from tiny_han_models import tiny_config as tiny_han_config
from tiny_recurrent_models import source_inputs, tiny_config

from hier_nmt import HANConfig, HANForConditionalGeneration, RNNNMTConfig, RNNNMTForConditionalGeneration

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, torch
sys.modules["hier_nmt"] = None  # importing it is an error
from transformers import AutoModelForSeq2SeqLM
folder = sys.argv[1]
given = torch.load(f"{folder}/given.pt")
model = AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True, dtype=torch.float64)
with torch.no_grad():
    logits = model(**given["inputs"], decoder_input_ids=given["generated"]).logits
torch.testing.assert_close(logits, given["logits"], rtol=1e-12, atol=1e-12)
assert torch.equal(model.generate(**given["inputs"], num_beams=3, max_new_tokens=6), given["generated"])
"""


MODELS = {
    "recurrent": (RNNNMTForConditionalGeneration, tiny_config(input_feeding=True)),
    "han": (HANForConditionalGeneration, tiny_han_config(**VARIANTS["big_bird_in_blocks"])),
    "word_vectors": (HANForConditionalGeneration, tiny_han_config(**VARIANTS["word_vectors"])),
}
CLASSES = (RNNNMTConfig, RNNNMTForConditionalGeneration, HANConfig, HANForConditionalGeneration)


@pytest.fixture
def uploadable():
    """The classes, marked for the upload of their files; unmarked again behind the test."""
    for config_class, model_class in zip(CLASSES[::2], CLASSES[1::2], strict=True):
        config_class.register_for_auto_class()
        model_class.register_for_auto_class("AutoModelForSeq2SeqLM")
    yield
    for marked in CLASSES:
        marked._auto_class = None


@pytest.mark.parametrize("name", MODELS)
def test_the_uploaded_files_run_without_the_package(uploadable, tmp_path, name) -> None:
    torch.manual_seed(0)
    model_class, config = MODELS[name]
    model = model_class(config).double().eval()
    model.save_pretrained(tmp_path)
    generated = model.generate(**source_inputs(), num_beams=3, max_new_tokens=6)
    with torch.no_grad():
        logits = model(**source_inputs(), decoder_input_ids=generated).logits
    torch.save({"inputs": source_inputs(), "generated": generated, "logits": logits}, tmp_path / "given.pt")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
