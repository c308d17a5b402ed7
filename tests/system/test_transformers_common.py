# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformers' own common tests of models and configurations, run on all families and, as the yardstick, Marian.

They come with the source distribution of Transformers, not with the installed package. `make test-transformers`
unpacks that distribution and names its folder of tests in TRANSFORMERS_TESTS; without it everything here is skipped.
"""

import importlib
import os
import sys
import types
import unittest
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from transformers import MarianConfig, MarianModel, MarianMTModel
from transformers.models.auto import modeling_auto

from hier_nmt import (
    HANConfig,
    HANForConditionalGeneration,
    HANModel,
    HierNMTConfig,
    HierNMTForConditionalGeneration,
    HierNMTModel,
    RNNNMTConfig,
    RNNNMTForConditionalGeneration,
    RNNNMTModel,
)
from hier_nmt.configuration.configuration_hier_nmt import PRESETS

# One of them looks for a deprecation warning, which our other tests do not show.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default::FutureWarning")]

BATCH_SIZE, LENGTH, VOCABULARY_SIZE = 13, 7, 99
SEPARATOR, PARAGRAPH = 4, 5
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY_SIZE,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 4,
    "decoder_ffn_dim": 4,
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "activation_function": "gelu",
    "max_position_embeddings": 100,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 3,
}
RECURRENT_SIZES: dict[str, Any] = {
    **{name: size for name, size in SIZES.items() if name.endswith(("_layers", "_token_id"))},
    "vocab_size": VOCABULARY_SIZE,
    "embedding_size": SIZES["d_model"],
    "hidden_size": SIZES["d_model"],
}
# The numbers of the testers' sentences and paragraphs: tests that pass embeddings hide the separators.
STRUCTURE_IDS = {
    "sentence_ids": torch.tensor([[1, 1, 1, 2, 2, 3, 3]] * BATCH_SIZE),
    "paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 2, 2]] * BATCH_SIZE),
    "decoder_sentence_ids": torch.tensor([[1, 1, 1, 1, 2, 2, 3]] * BATCH_SIZE),
    "decoder_paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 1, 2]] * BATCH_SIZE),
}
# Fields that every configuration has; the tests want to see that they are kept.
COMMON_FIELDS: dict[str, Any] = {
    "return_dict": False,
    "output_hidden_states": True,
    "output_attentions": True,
    "dtype": "float16",
    "chunk_size_feed_forward": 5,
    "architectures": ["BertModel"],
    "id2label": {0: "label"},
    "label2id": {"label": "0"},
    "problem_type": "regression",
}


def import_tests(folder: str) -> tuple[type, type, type]:
    """ModelTesterMixin, ConfigTester and an empty GenerationTesterMixin out of the folder of Transformers' tests.

    The distribution lacks the modules of three imports; empty ones take their place.
    """
    package = types.ModuleType("transformers_tests")
    package.__path__ = [folder]
    sys.modules["transformers_tests"] = package
    missing = {
        "exporters.test_export": {"ExportTesterMixin": type("ExportTesterMixin", (), {})},
        "generation.test_utils": {"GenerationTesterMixin": type("GenerationTesterMixin", (), {})},
        "utils.test_configuration_utils": {"config_common_kwargs": COMMON_FIELDS},
    }
    for name, contents in missing.items():
        module = types.ModuleType(f"transformers_tests.{name}")
        module.__dict__.update(contents)
        sys.modules[f"transformers_tests.{name.split('.')[0]}"] = types.ModuleType(name.split(".")[0])
        sys.modules[module.__name__] = module
    modeling = importlib.import_module("transformers_tests.test_modeling_common")
    configuration = importlib.import_module("transformers_tests.test_configuration_common")
    return modeling.ModelTesterMixin, configuration.ConfigTester, modeling.GenerationTesterMixin


TESTS_FOLDER = os.environ.get("TRANSFORMERS_TESTS")
if not TESTS_FOLDER or not Path(TESTS_FOLDER, "test_modeling_common.py").is_file():
    pytest.skip(
        "TRANSFORMERS_TESTS names no folder with Transformers' tests; `make test-transformers` unpacks them",
        allow_module_level=True,
    )
pytest.importorskip("parameterized", reason="Transformers' tests need the package parameterized")
ModelTesterMixin, ConfigTester, GenerationTesterMixin = import_tests(TESTS_FOLDER)


class ModelTester:
    """What the common tests ask of a model: a small configuration, inputs and their sizes."""

    batch_size = BATCH_SIZE
    seq_length = encoder_seq_length = decoder_seq_length = key_length = LENGTH
    is_training = True
    hidden_size = SIZES["d_model"]
    num_hidden_layers = SIZES["encoder_layers"]
    num_attention_heads = SIZES["encoder_attention_heads"]
    vocab_size = VOCABULARY_SIZE

    def __init__(self, config_class: type, fields: dict[str, Any], structure_ids: dict[str, torch.Tensor]):
        """`fields`: of the configuration, its sizes among them."""
        self.config_class, self.fields, self.structure_ids = config_class, fields, structure_ids

    def get_config(self) -> Any:
        """The small configuration."""
        return self.config_class(**self.fields)

    def prepare_config_and_inputs_for_common(self) -> tuple[Any, dict[str, torch.Tensor]]:
        """The configuration and a batch without padding, with separators inside and the end token last."""
        source = torch.randint(6, VOCABULARY_SIZE, (BATCH_SIZE, LENGTH))
        target = torch.randint(6, VOCABULARY_SIZE, (BATCH_SIZE, LENGTH))
        source[:, 2], source[:, 4], source[:, -1] = SEPARATOR, PARAGRAPH, SIZES["eos_token_id"]
        target[:, 0], target[:, 3], target[:, 5] = SIZES["decoder_start_token_id"], SEPARATOR, PARAGRAPH
        inputs = {
            "input_ids": source,
            "attention_mask": torch.ones_like(source),
            "decoder_input_ids": target,
            "decoder_attention_mask": torch.ones_like(target),
        }
        return self.get_config(), {**inputs, **self.structure_ids}


class CommonTests(ModelTesterMixin, GenerationTesterMixin):
    """The common tests of one encoder-decoder; subclasses name the configuration's class and fields."""

    is_encoder_decoder = True
    config_class: type
    sizes: dict[str, Any] = SIZES
    fields: dict[str, Any] = {}
    structure_ids: dict[str, torch.Tensor] = {}
    # What the configuration must have, where not all that every Transformer has; None: that.
    common_properties: list[str] | None = None

    def setUp(self) -> None:
        """Makes the testers."""
        super().setUp()
        self.model_tester = ModelTester(self.config_class, {**self.sizes, **self.fields}, self.structure_ids)
        self.config_tester = ConfigTester(
            self, config_class=self.config_class, has_text_modality=True, common_properties=self.common_properties
        )

    def test_config(self) -> None:
        """The configuration keeps its values through save and load."""
        self.config_tester.run_common_tests()


class TestMarian(CommonTests, unittest.TestCase):
    """The yardstick."""

    config_class = MarianConfig
    all_model_classes = (MarianModel, MarianMTModel)


class TestHierNMT(CommonTests, unittest.TestCase):
    """Attention over documents, sequential positions."""

    config_class = HierNMTConfig
    all_model_classes = (HierNMTModel, HierNMTForConditionalGeneration)

    def setUp(self) -> None:
        """Lists our classes where the tests look up which labels a class takes."""
        super().setUp()
        mappings = (modeling_auto.MODEL_MAPPING_NAMES, modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)
        for names, model_class in zip(mappings, self.all_model_classes, strict=True):
            listed = patch.dict(names, {self.config_class.model_type: model_class.__name__})
            listed.start()
            self.addCleanup(listed.stop)


class TestHierNMTSentenceScope(TestHierNMT):
    """Attention inside sentences everywhere, one learned table per structural level."""

    structure_ids = STRUCTURE_IDS
    fields = {
        "encoder_self_attention": "sentence",
        "decoder_self_attention": "sentence",
        "cross_attention": "sentence",
        "position_encoding": "multi_level",
    }


class TestHierNMTSegmentShifted(TestHierNMT):
    """Positions shifted at every sentence and segment embeddings, learned; layer norm behind the blocks."""

    structure_ids = STRUCTURE_IDS
    fields = {
        "position_encoding": "segment_shifted",
        "segment_shift": 7,
        "segment_embedding": "learned",
        "position_embedding_type": "learned",
        "normalize_before": False,
    }


class TestHierNMTConditional(TestHierNMT):
    """The preset `conditional`."""

    structure_ids = STRUCTURE_IDS
    fields = {**PRESETS["conditional"], "num_selected_sentences": 2}


class TestHierNMTHierarchical(TestHierNMT):
    """The preset `hierarchical`, computed by groups."""

    structure_ids = STRUCTURE_IDS
    fields = {**PRESETS["hierarchical"], "num_selected_sentences": 2, "attention_kernel": "grouped"}


class TestHierNMTContext(TestHierNMT):
    """The preset `sentence-context`."""

    structure_ids = STRUCTURE_IDS
    fields = PRESETS["sentence-context"]


class TestHAN(TestHierNMT):
    """Full attention beside the summaries of a convolution."""

    config_class = HANConfig
    all_model_classes = (HANModel, HANForConditionalGeneration)
    fields = {"summary_kernel_size": 3}


class TestHANBigBird(TestHAN):
    """Big Bird attention beside the summaries."""

    fields = {
        "summary_kernel_size": 4,
        "encoder_self_attention": "big_bird",
        "decoder_self_attention": "big_bird",
        "big_bird_block_size": 2,
        "big_bird_random_blocks": 1,
    }


class TestRNNNMT(TestHierNMT):
    """Recurrent layers in both directions and additive attention, of which the encoder has none and no head."""

    config_class = RNNNMTConfig
    all_model_classes = (RNNNMTModel, RNNNMTForConditionalGeneration)
    sizes = RECURRENT_SIZES
    has_attentions = False
    common_properties = ["hidden_size", "num_hidden_layers", "vocab_size"]


class TestRNNNMTWithoutAttention(TestRNNNMT):
    """Gated recurrent units in one direction, input feeding, no attention."""

    fields = {"rnn_type": "gru", "bidirectional": False, "attention": "none", "input_feeding": True}
