# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
import math

import pytest

from hier_nmt.evaluation.metrics import score_documents, score_json, score_table

REFERENCES = [[["the cat sat on the mat", "it was black"], ["so was the dog here"]], [["we saw both of them"]]]


def test_a_perfect_translation_has_perfect_scores() -> None:
    report = score_documents(REFERENCES, REFERENCES)
    assert [round(score.value, 6) for score in report.scores] == [100, 100, 0, 100]
    assert [score.name for score in report.scores] == ["BLEU", "chrF", "TER", "docBLEU"]
    assert (report.num_documents, report.num_sentences) == (2, 4)


def test_bleu_is_the_arithmetic_of_its_paper() -> None:
    # One wrong word of six: 5/6 of the words, 3/5, 2/4 and 1/3 of the longer pieces are right; no length penalty.
    report = score_documents([[["the cat sat on one mat"]]], [[["the cat sat on the mat"]]])
    expected = 100 * math.exp((math.log(5 / 6) + math.log(3 / 5) + math.log(2 / 4) + math.log(1 / 3)) / 4)
    assert report["BLEU"] == pytest.approx(expected)
    # One word of six is to be edited.
    assert report["TER"] == pytest.approx(100 / 6)


def test_every_signature_says_how_the_translation_was_decoded() -> None:
    plain = score_documents(REFERENCES, REFERENCES, bleu_orders=[2])
    report = score_documents(REFERENCES, REFERENCES, bleu_orders=[2], decoding=["beams:4", "length_penalty:1"])
    for score, other in zip(report.scores, plain.scores, strict=True):
        assert score.signature == f"{other.signature}|beams:4|length_penalty:1"


def test_bleu_of_an_order_uses_n_grams_up_to_that_order() -> None:
    # Of seven words the fourth is wrong: it takes two of the six pairs and three of the five triples with it.
    hypothesis, reference = [[["a b c X e f g"]]], [[["a b c d e f g"]]]
    precisions = [6 / 7, 4 / 6, 2 / 5]
    report = score_documents(hypothesis, reference, with_ter=False, bleu_orders=[1, 2, 3])
    for order in (1, 2, 3):
        expected = 100 * math.prod(precisions[:order]) ** (1 / order)
        assert report[f"BLEU-{order}"] == pytest.approx(expected), order
    signatures = {score.name: score.signature for score in report.scores}
    assert signatures["BLEU-2"] == f"{signatures['BLEU']}|max_ngram_order:2"


def test_bleu_of_order_four_is_bleu() -> None:
    translations = [[["the cat sat on one mat", "it was black"], ["so was the dog here"]], [["we saw both of them"]]]
    report = score_documents(translations, REFERENCES, with_ter=False, bleu_orders=[4])
    assert report["BLEU-4"] == report["BLEU"] < 100
    with pytest.raises(ValueError, match="n-grams of at least 1 word, got 0"):
        score_documents(translations, REFERENCES, bleu_orders=[0])


def test_document_bleu_joins_the_sentences_of_a_document() -> None:
    # As documents the two are the same; as sentences they are cut at different words.
    report = score_documents([[["a b c", "d e f g"]]], [[["a b c d", "e f g"]]])
    assert report["docBLEU"] == pytest.approx(100)
    assert report["BLEU"] < 100


def test_every_score_has_its_signature_in_the_table() -> None:
    report = score_documents(REFERENCES, REFERENCES, label="current")
    table = score_table([report, score_documents(REFERENCES, REFERENCES, label="prefix", with_ter=False)])
    lines = table.splitlines()
    assert lines[0] == "|  | BLEU | chrF | TER | docBLEU | sentences | documents |"
    assert lines[2] == "| current | 100.00 | 100.00 | 0.00 | 100.00 | 4 | 2 |"
    assert lines[3] == "| prefix | 100.00 | 100.00 |  | 100.00 | 4 | 2 |"
    for name in (
        "BLEU: nrefs:1|case:mixed|eff:no|tok:13a",
        "chrF: nrefs:1|case:mixed",
        "TER: nrefs:1",
        "docBLEU: nrefs:1",
    ):
        assert any(line.startswith(name) and "version:" in line for line in lines), name


def test_json_holds_the_scores_and_the_facts() -> None:
    report = score_documents(REFERENCES, REFERENCES, label="current")
    content = json.loads(score_json([report], model="small", seed=3))
    assert (content["model"], content["seed"]) == ("small", 3)
    assert content["reports"][0]["scores"][0]["name"] == "BLEU"
    assert "tok:13a" in content["reports"][0]["scores"][0]["signature"]


def test_languages_without_spaces_have_their_own_tokenizer() -> None:
    report = score_documents([[["我们看见了他们"]]], [[["我们看见了他们"]]], target_language="zh")
    assert "tok:zh" in report.scores[0].signature
    assert report["BLEU"] == pytest.approx(100)


def test_misaligned_documents_are_named() -> None:
    with pytest.raises(ValueError, match="1 translated documents but 2 references"):
        score_documents(REFERENCES[:1], REFERENCES)
    with pytest.raises(ValueError, match="document 1: 0 translated sentences but 1 references"):
        score_documents([REFERENCES[0], []], REFERENCES)
    with pytest.raises(ValueError, match="nothing to score"):
        score_documents([[]], [[]])
    with pytest.raises(KeyError, match="no score 'COMET'; there are BLEU, chrF, TER, docBLEU"):
        score_documents(REFERENCES, REFERENCES)["COMET"]


def test_typography_counts_unless_it_is_made_plain_which_the_signature_says():
    translations, references = [[['L\'ordre "du" jour est clos']]], [[["L’ordre « du » jour est clos"]]]
    as_it_is = score_documents(translations, references)
    assert as_it_is["BLEU"] < 100
    plain = score_documents(translations, references, plain_typography=True)
    assert [plain[name] for name in ("BLEU", "chrF", "docBLEU")] == pytest.approx([100, 100, 100])
    assert all(score.signature.endswith("|typography:plain") for score in plain.scores)
    assert not any("typography" in score.signature for score in as_it_is.scores)
