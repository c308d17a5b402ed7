# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The weighted average of models: each tensor over the models that have it."""

from pathlib import Path

import pytest
import torch
from tiny_models import CONDITIONAL, SENTENCE_SCOPE, tiny_model
from transformers import AutoModelForSeq2SeqLM
from word_translation import word_tokenizer

from hier_nmt.cli.main import main
from hier_nmt.data.tokenization import save_tokenizers
from hier_nmt.models.hier_nmt.sentence_models import HIDDEN_LOGIT
from hier_nmt.training.checkpoints import CheckpointError, read_weights
from hier_nmt.training.model_averages import WeightedModel, average_models


def saved(folder: Path, seed: int, tokens: tuple[str, ...] = (), **changes: object) -> Path:
    model = tiny_model(seed=seed, **changes)
    # Saved weights share no memory.
    model.float().save_pretrained(folder)
    save_tokenizers(folder, word_tokenizer(tokens))
    return folder


def test_every_tensor_is_the_weighted_mean_of_those_of_the_models_that_have_it(tmp_path: Path) -> None:
    documents, sentences = saved(tmp_path / "a", 1, **CONDITIONAL), saved(tmp_path / "b", 2, **SENTENCE_SCOPE)
    partial = average_models([WeightedModel(documents, 3.0), WeightedModel(sentences, 1.0)], tmp_path / "average")
    first, second, found = map(read_weights, (documents, sentences, tmp_path / "average"))
    assert set(first) == set(found)
    assert set(partial) == set(first) - set(second)
    assert partial
    for name, tensor in found.items():
        expected = 0.75 * first[name] + 0.25 * second[name] if name in second else first[name]
        torch.testing.assert_close(tensor, expected)
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "average")
    assert model.config.decoder_self_attention == "conditional"


def test_what_one_model_hides_has_the_bias_of_the_others(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for seed, (folder, value) in enumerate(zip(folders, (0.5, HIDDEN_LOGIT), strict=True)):
        model = tiny_model(seed=seed, output_bias=True)
        with torch.no_grad():
            model.lm_head.bias[:] = 1.0 + seed
            model.lm_head.bias[4] = value
        model.float().save_pretrained(folder)
        save_tokenizers(folder, word_tokenizer())
    average_models([WeightedModel(folder, 1.0) for folder in folders], tmp_path / "average")
    bias = read_weights(tmp_path / "average")["lm_head.bias"]
    assert bias[4] == 0.5
    assert bias[5] == 1.5


def test_the_command_tells_the_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [saved(tmp_path / name, seed) for seed, name in enumerate("ab")]
    assert main(["average", str(tmp_path / "average"), f"3:{folders[0]}", str(folders[1])]) == 0
    out = capsys.readouterr().out
    assert f"0.750 of {folders[0]}" in out
    assert f"0.250 of {folders[1]}" in out


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([("a", 1.0)], "an average needs two models, got 1"),
        ([("a", 1.0), ("b", 0.0)], "the weight of .*b must be above 0, got 0"),
        ([("a", 1.0), ("wide", 1.0)], r"is \[.*\] in .*wide and \[.*\] in .*a$"),
        ([("a", 1.0), ("reading", 1.0)], "a has no .*, which .*reading has: name the latter first"),
        ([("a", 1.0), ("other", 1.0)], "other has another vocabulary than .*a"),
        ([("a", 1.0), ("none", 1.0)], "no such model folder: .*none$"),
    ],
)
def test_models_that_do_not_fit_are_refused(tmp_path: Path, models: list[tuple[str, float]], message: str) -> None:
    for name, changes in {"a": {}, "b": {}, "wide": {"encoder_ffn_dim": 40}, "reading": CONDITIONAL}.items():
        saved(tmp_path / name, 1, **changes)
    saved(tmp_path / "other", 1, tokens=("word",))
    with pytest.raises((ValueError, CheckpointError, OSError), match=message):
        average_models([WeightedModel(tmp_path / name, weight) for name, weight in models], tmp_path / "average")
    assert not (tmp_path / "average").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_folder_that_holds_something_stays(tmp_path: Path) -> None:
    folder = saved(tmp_path / "a", 1)
    with pytest.raises(ValueError, match="a is not empty; choose another folder"):
        average_models([WeightedModel(folder, 1.0)] * 2, folder)


def test_a_weight_is_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["average", str(tmp_path / "out"), "half:runs/a", "b"])
    assert "'half' before the colon is not a number" in capsys.readouterr().err
