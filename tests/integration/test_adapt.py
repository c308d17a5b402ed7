# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A folder laid out as OPUS-MT on the Hub becomes a document-level model that translates as before."""

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_models import ENGLISH, sentence_model, write_opus_mt
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

import hier_nmt
from hier_nmt.cli.main import main
from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.jobs.adapt_model import adapt_model
from hier_nmt.translation.document_translator import DocumentTranslator, SourceDocument

NUM_SENTENCES = 50
ATTENTIONS = ("document", "conditional", "hierarchical")


@pytest.fixture(scope="module")
def opus_mt(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("hub") / "opus-mt-en-fr"
    write_opus_mt(folder)
    return folder


def document() -> list[list[str]]:
    """Paragraphs of three sentences, NUM_SENTENCES in all, of words in changing order."""
    words = " ".join(ENGLISH).replace(".", "").split()
    sentences = [
        " ".join(words[(7 * index + 3 * place) % len(words)] for place in range(3 + index % 5))
        for index in range(NUM_SENTENCES)
    ]
    return [sentences[start : start + 3] for start in range(0, NUM_SENTENCES, 3)]


def translated(model: Any, tokenizers: tuple[Any, Any], strategy: str, num_beams: int = 1) -> list[list[str]]:
    translator = DocumentTranslator(model, *tokenizers, strategy=strategy, generate_kwargs={"num_beams": num_beams})
    document_translation = translator.translate([SourceDocument(document())])[0]
    # The limit on lengths is that of a window, or that of a sentence.
    assert document_translation.statistics.num_cut == 0
    return document_translation.paragraphs


@pytest.fixture(scope="module")
def expected(opus_mt: Path) -> Any:
    """Translations by the original model, one sentence at a time, by numbers of beams."""
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(opus_mt), AutoTokenizer.from_pretrained(opus_mt)
    return {beams: translated(model, (tokenizer, tokenizer), "sentence", beams) for beams in (1, 4)}


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_documents_are_translated_as_the_original_translates_their_sentences(
    opus_mt: Path, expected: Any, tmp_path: Path, attention: str
) -> None:
    adapt_model(str(opus_mt), tmp_path / "ours", attention)
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours")
    tokenizers = load_tokenizers(tmp_path / "ours")
    assert translated(model, tokenizers, "document") == expected[1]
    assert translated(model, tokenizers, "sentence", num_beams=4) == expected[4]
    # A window that grows to fifty sentences is long to decode fifty times.
    model.config.window_sentences = 3
    assert translated(model, tokenizers, "prefix", num_beams=4) == expected[4]


def test_the_folder_is_a_model_with_a_card_for_the_pipeline(opus_mt: Path, tmp_path: Path) -> None:
    done = adapt_model(str(opus_mt), tmp_path / "ours", "conditional")
    card = (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    assert "base_model: opus-mt-en-fr" in card
    assert "whose licence is\nnot stated on its card" in card
    assert f"{done.num_new_parameters:,} are new" in card
    translate = pipeline("translation", model=str(tmp_path / "ours"))
    (output,) = translate(ENGLISH[0] + "\n\n" + ENGLISH[1], max_new_tokens=5)
    assert output["translation_text"].count("\n\n") == 1


def test_the_licence_is_that_of_the_base(opus_mt: Path, tmp_path: Path) -> None:
    write_opus_mt(tmp_path / "base")
    (tmp_path / "base" / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n", encoding="utf-8")
    adapt_model(str(tmp_path / "base"), tmp_path / "ours", "document")
    assert "license: cc-by-4.0" in (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")


def test_the_command_writes_and_says_what(opus_mt: Path, tmp_path: Path, capsys: Any) -> None:
    assert (
        main(["adapt", opus_mt, tmp_path / "ours", "--attention", "hierarchical", "--num-selected-sentences", "2"]) == 0
    )
    assert "parameters" in capsys.readouterr().out
    config = hier_nmt.HierNMTConfig.from_pretrained(tmp_path / "ours")
    assert (config.context_block, config.num_selected_sentences) == ("hierarchical", 2)
    assert (config.source_language, config.target_language) == ("en", "fr")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source-language", "de"], "source_language='de', but"),
        (["--num-selected-sentences", "0"], "num_selected_sentences=0 must be at least 1"),
    ],
)
def test_wrong_options_are_one_line(opus_mt: Path, tmp_path: Path, capsys: Any, arguments: Any, message: str) -> None:
    assert main(["adapt", opus_mt, tmp_path / "ours", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "ours").exists()


def test_a_folder_with_something_in_it_is_left_alone(opus_mt: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["adapt", opus_mt, tmp_path]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_pickled_weights_are_refused(tmp_path: Path, capsys: Any) -> None:
    model = write_opus_mt(tmp_path / "base")
    torch.save(model.state_dict(), tmp_path / "base" / "pytorch_model.bin")
    (tmp_path / "base" / "model.safetensors").unlink()
    assert main(["adapt", tmp_path / "base", tmp_path / "ours"]) == 1
    assert "convert it once" in capsys.readouterr().err


def test_a_model_without_tokenizer_is_refused(tmp_path: Path, capsys: Any) -> None:
    sentence_model("marian").save_pretrained(tmp_path / "base")
    assert main(["adapt", tmp_path / "base", tmp_path / "ours"]) == 1
    assert "has no complete tokenizer" in capsys.readouterr().err
