# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json

import datasets
import pytest
import yaml

from hier_nmt.training.prepared_data import prepare_data, prepare_tokenizers
from hier_nmt.training.recipes import Recipe


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def prepare(tmp_path):
    """The data of a recipe with windows of two sentences and one document of four sentence pairs, under overrides."""
    english = ["We voted.", "It is a law.", "We go.", "It ends."]
    french = ["Nous avons voté.", "Elle est une loi.", "Nous allons.", "Elle finit."]
    document = {"id": "a", "paragraphs": [{"en": english, "fr": french}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(document) + "\n")
    (tmp_path / "run").mkdir()
    sections = {
        "data": {
            "train": [str(tmp_path / "a.jsonl")],
            "validation": [str(tmp_path / "a.jsonl")],
            "source_language": "en",
            "target_language": "fr",
            "cache_dir": str(tmp_path / "cache"),
        },
        "tokenizer": {"vocab_size": 300},
        "model": {"window_sentences": 2},
        "training": {"output_dir": str(tmp_path / "run")},
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(sections))

    def prepared(*overrides):
        recipe = Recipe.load(tmp_path / "recipe.yaml", overrides)
        return prepare_data(recipe, prepare_tokenizers(recipe))

    return prepared


def test_windows_in_focus_are_repeated_and_counted(prepare, tmp_path):
    (tmp_path / "focus.tsv").write_text("It ends.\tElle finit.\nWe voted.\tNous avons voté.\n")
    data = prepare(f"--data.focus={{path: {tmp_path / 'focus.tsv'}, weight: 3}}")
    assert data.train["sentence_index"][:] == [0, 1, 2, 3, 3, 3]
    assert data.validation["sentence_index"][:] == [0, 1, 2, 3]
    figures = data.figures["train"]
    assert (figures["num_focus_sentences"], figures["num_focus_windows"], figures["num_windows"]) == (2, 1, 6)
    assert "num_focus_windows" not in data.figures["validation"]


def test_a_focus_on_sentences_without_context_is_named(prepare, tmp_path):
    (tmp_path / "focus.tsv").write_text("We voted.\tNous avons voté.\n")
    with pytest.raises(ValueError, match=r"focus\.tsv: its sentences follow no other sentence in any training window"):
        prepare(f"--data.focus={{path: {tmp_path / 'focus.tsv'}, weight: 3}}")


def test_without_the_options_nothing_is_repeated_or_divided(prepare):
    data = prepare()
    assert data.train["sentence_index"][:] == [0, 1, 2, 3]
    assert data.figures["train"] == {"num_documents": 1, "num_sentences": 4, "num_windows": 4}
