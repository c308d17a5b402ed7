# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The terms of a glossary come into translations in every strategy, and what became of them is told."""

from pathlib import Path
from typing import Any

import pytest
from scored_translation import ScoredTranslator, details, translator
from transformers import pipeline
from word_translation import WordTranslator

from hier_nmt.translation import batched_generation, decoder_runs
from hier_nmt.translation.document_translator import STRATEGIES

pytest.importorskip("sentencex")

ROOT = Path(__file__).resolve().parents[3]
GLOSSARY = {"b": "x", "e": "y"}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("batch_size", [1, 8])
def test_each_term_is_in_the_translation_in_every_strategy(strategy: str, batch_size: int) -> None:
    text, told = details("A b c! D e b! F!", strategy=strategy, batch_size=batch_size, glossary=GLOSSARY)
    assert text == "A x C ! D y x ! F !"
    assert told["terms"] == [
        {"sentence": 0, "source": "b", "target": "x", "use": "given"},
        {"sentence": 1, "source": "b", "target": "x", "use": "given"},
        {"sentence": 1, "source": "e", "target": "y", "use": "given"},
    ]
    counts = told["counts"]
    assert (counts["num_terms"], counts["num_terms_unused"], counts["num_term_retries"]) == (3, 0, 2)
    assert [one["sentence"] for one in told["decoded_again"]] == [0, 1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_has_the_terms_too(strategy: str) -> None:
    sentences = translator().stream("A b c! D e b! F!", strategy=strategy, glossary=GLOSSARY)
    assert [one.translation for one in sentences] == ["A x C !", "D y x !", "F !"]


@pytest.mark.parametrize("max_tokens", [48, 2**15])
def test_runs_that_write_terms_are_batched_within_their_tokens(monkeypatch, max_tokens: int) -> None:
    for module in (batched_generation, decoder_runs):
        monkeypatch.setattr(module, "MAX_REPEATED_TOKENS", max_tokens)
    model = ScoredTranslator(window_sentences=1, source_language="en", target_language="fr")
    generate, forced = model.generate, []

    def recorded(**inputs: Any) -> Any:
        if inputs["generation_config"].num_beams == 4:
            forced.append(tuple(inputs["input_ids"].shape))
        return generate(**inputs)

    monkeypatch.setattr(model, "generate", recorded)
    text, _ = details("A b c! D e b! F!", model, glossary=GLOSSARY)
    assert text == "A x C ! D y x ! F !"
    assert (max(rows for rows, _ in forced) > 2) == (max_tokens == 2**15)
    assert all(rows * length * 4 <= max_tokens or rows == 1 for rows, length in forced)


def test_what_has_its_terms_or_none_is_decoded_once() -> None:
    model = ScoredTranslator(window_sentences=1, source_language="en", target_language="fr")
    text, told = details("A b! C!", model, glossary={"b": "B", "z": "x"})
    assert text == "A B ! C !"
    assert sorted(model.windows) == ["A b ! </s>", "C ! </s>"]
    assert told["counts"]["num_term_retries"] == 0


def test_a_term_that_cannot_be_written_is_told(caplog: pytest.LogCaptureFixture) -> None:
    # The tokenizer has no such word.
    text, told = details("A b!", glossary={"b": "éèê"})
    assert text == "A B !"
    assert [one["use"] for one in told["terms"]] == ["unused"]
    assert told["counts"]["num_terms_unused"] == 1


def test_terms_of_sentences_that_are_copied_are_told() -> None:
    _, told = details("{n, plural, one {b} other {b}} b", glossary={"b": "x"})
    assert [one["use"] for one in told["terms"]] == ["unused"]


def test_each_document_has_its_own_terms() -> None:
    documents = [{"text": "A b!", "glossary": {"b": "x"}}, {"text": "A b!", "glossary": {"b": "y"}}, "A b!"]
    outputs = translator()(documents)
    assert [output["translation_text"] for output in outputs] == ["A x !", "A y !", "A B !"]


def test_a_glossary_is_a_mapping_pairs_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("source,target\nb,x\n")
    for glossary in ({"b": "x"}, [("b", "x")], path, str(path)):
        assert translator()("A b!", glossary=glossary)[0]["translation_text"] == "A x !"
    with pytest.raises(OSError, match=r"none\.csv"):
        translator()("A b!", glossary=tmp_path / "none.csv")
    with pytest.raises(TypeError, match="glossary must be a path, a mapping or pairs of terms, got int"):
        translator()("A b!", glossary=7)


def test_a_term_of_a_long_sentence_is_in_one_of_its_pieces() -> None:
    model = ScoredTranslator(window_sentences=1, max_source_tokens=6, source_language="en", target_language="fr")
    text, told = details("a c d, f g h, i b j", model, glossary={"b": "x"})
    assert "x" in text.split()
    assert told["counts"]["num_split"] == 1
    assert [one["use"] for one in told["terms"]] == ["given"]


def test_terms_beyond_a_length_limit_are_told() -> None:
    model = ScoredTranslator(window_sentences=1, source_language="en", target_language="fr")
    text, told = details("A c b d!", model, glossary={"b": "x"}, max_new_tokens=2)
    assert text == "A C"
    assert told["counts"]["num_cut"] == 1
    assert [one["use"] for one in told["terms"]] == ["unused"]


def test_models_of_other_families_write_terms_behind_the_token_of_their_language(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    from sentence_models import ENGLISH, write_m2m100

    write_m2m100(tmp_path)
    pipe = pipeline("translation", model=str(tmp_path), source_language="en", target_language="fr")
    glossary = {"committee": "mai", "book": "le livre", "town": "ville", "played": "cœur"}
    outputs = pipe(ENGLISH, glossary=glossary, return_details=True)
    uses = [use for output in outputs for use in output["details"]["terms"]]
    for output, target in zip(outputs, glossary.values(), strict=True):
        used = [use["use"] for use in output["details"]["terms"]]
        assert (target in output["translation_text"]) == (used == ["given"])
    # These weights are random, and what loops is not taken.
    assert len(uses) == 4
    assert any(use["use"] == "given" for use in uses)


def test_the_example_of_the_page_is_what_the_shipped_model_writes() -> None:
    pipe = pipeline("translation", model=str(ROOT / "checkpoints/hier-nmt-en-fr"))
    (output,) = pipe(
        "No vessel may leave the port without a permit.",
        glossary={"permit": "licence", "vessel": "navire"},
        return_details=True,
    )
    assert f"# {output['translation_text']}" in (ROOT / "docs/terms.md").read_text()
    assert {one["use"] for one in output["details"]["terms"]} == {"given"}


def inline_model(**config: Any) -> ScoredTranslator:
    config = {"source_language": "en", "target_language": "fr", **config}
    return ScoredTranslator(more_words=["<gloss>", "</gloss>"], **config)


def test_a_model_trained_for_it_gets_terms_inline() -> None:
    model = inline_model(reads_inline_terms=True)
    details("A b b c!", model, glossary={"b": "x"})
    assert model.windows[0] == "A b <gloss> x </gloss> b c ! </s>"


def test_inline_terms_have_the_number_and_the_capitals_of_the_source() -> None:
    words = ["cats", "chats", "CAT", "CHAT"]
    model = ScoredTranslator(
        more_words=["<gloss>", "</gloss>", *words], source_language="en", target_language="fr", reads_inline_terms=True
    )
    details("A cats c! A CAT!", model, glossary={"cat": "chat"})
    assert model.windows[:2] == ["A cats <gloss> chats </gloss> c ! </s>", "A CAT <gloss> CHAT </gloss> ! </s>"]


def test_another_model_gets_them_only_if_it_is_told_to() -> None:
    model = inline_model()
    details("A b!", model, glossary={"b": "x"})
    details("A b!", model, glossary={"b": "x"}, glossary_method="constrained")
    assert not any("<gloss>" in window for window in model.windows)
    details("A b!", model, glossary={"b": "x"}, glossary_method="inline")
    assert model.windows[-1] == "A b <gloss> x </gloss> ! </s>"


def test_inline_alone_decodes_nothing_again() -> None:
    model = inline_model(reads_inline_terms=True)
    _, told = details("A b!", model, glossary={"b": "z"}, glossary_method="inline")
    assert len(model.windows) == 1
    assert told["counts"]["num_term_retries"] == 0


def test_a_method_that_is_unknown_or_impossible_is_named() -> None:
    with pytest.raises(ValueError, match="glossary_method must be one of auto, inline, constrained; got 'x'"):
        translator()("a", glossary_method="x")
    with pytest.raises(ValueError, match="needs a tokenizer with <gloss> and </gloss>"):
        translator()("a", glossary_method="inline")


def untranslated(text: str, terms: Any) -> str:
    model = WordTranslator(more_words=["417", "583"], source_language="en", target_language="fr")
    return translator(model)(text, do_not_translate=terms)[0]["translation_text"]


def test_terms_that_stay_as_they_are() -> None:
    assert untranslated("a Big b c!", ["Big b"]) == "A Big b C !"
    assert untranslated("a Big b c!", "Big b") == "A Big b C !"
    # Not inside a word, nor in another case.
    assert untranslated("a bc, B!", ["b"]) != untranslated("a b, B!", ["b"])
    assert untranslated("Big", ["Big"]) == "Big"


def test_terms_that_stay_as_they_are_may_come_from_a_file_and_must_have_words(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("Big b\n")
    assert untranslated("a Big b c!", path) == "A Big b C !"
    with pytest.raises(ValueError, match="must have a word; got '!'"):
        untranslated("a", ["!"])
    with pytest.raises(TypeError, match="do_not_translate must be a term or a list of terms, got int"):
        untranslated("a", 7)


def test_a_term_that_stays_as_it_is_is_no_term_of_the_glossary() -> None:
    model = WordTranslator(more_words=["417"], source_language="en", target_language="fr")
    (output,) = translator(model, return_details=True)("a b c", do_not_translate="b", glossary={"b": "x"})
    assert output["translation_text"] == "A b C"
    assert output["details"]["terms"] == []
    assert output["details"]["counts"]["num_untranslated_terms"] == 1
