# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Teacher forcing: the most likely next token after each prefix of the reference, in the windows of the training."""

import pytest
import torch
from tiny_han_models import VARIANTS
from tiny_han_models import tiny_model as tiny_han_model
from tiny_models import tiny_model
from word_translation import BOS, EOS, LETTERS, PAR, SEP, word_tokenizer

from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.evaluation.teacher_forcing import ForcedDocuments, force_documents, forced_report, vector_accuracy

TOKENIZER = word_tokenizer()
SIZES = {"vocab_size": len(TOKENIZER), "sep_token_id": SEP, "par_token_id": PAR}


def document(*paragraphs: list[tuple[str, str]]) -> ParallelDocument:
    pairs = [tuple(SentencePair(source, target) for source, target in paragraph) for paragraph in paragraphs]
    return ParallelDocument("one", tuple(pairs))


DOCUMENTS = [
    document([("a b c", "C B A Z"), ("d", "D")], [("e f", "F E")]),
    document([("g h i j", "J I H")]),
]


def ids(text: str) -> list[int]:
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]


def first_choices(model, source: list[int], target: list[int]) -> list[int]:
    """For each target token the most likely one after those before it, from a separate forward pass."""
    chosen = []
    for length in range(len(target)):
        inputs = {"input_ids": torch.tensor([source]), "decoder_input_ids": torch.tensor([[BOS, *target[:length]]])}
        with torch.no_grad():
            chosen.append(int(model(**inputs).logits[0, -1].argmax()))
    return chosen


def text(token_ids: list[int]) -> str:
    return TOKENIZER.decode([token_id for token_id in token_ids if token_id > PAR])


def models(window_sentences: int):
    size = {**SIZES, "window_sentences": window_sentences}
    yield tiny_model(**size)
    yield tiny_han_model(**{**VARIANTS["word_vectors"], **size, "decoder_vocab_size": len(TOKENIZER)})


@pytest.mark.parametrize("batch_size", [1, 3])
def test_each_token_is_the_most_likely_one_after_the_reference(batch_size):
    pytest.importorskip("scipy")
    for model in models(window_sentences=2):
        forced = force_documents(model, TOKENIZER, DOCUMENTS, batch_size=batch_size)
        a, d, e = ids("a b c"), ids("d"), ids("e f")
        first, second, third = ids("C B A Z"), ids("D"), ids("F E")
        expected = [
            [
                [
                    text(first_choices(model, [*a, EOS], [*first, EOS])[:4]),
                    text(first_choices(model, [*a, SEP, *d, EOS], [*first, SEP, *second, EOS])[5:6]),
                ],
                [text(first_choices(model, [*d, PAR, *e, EOS], [*second, PAR, *third, EOS])[2:4])],
            ],
            [[text(first_choices(model, [*ids("g h i j"), EOS], [*ids("J I H"), EOS])[:3])]],
        ]
        assert forced.documents == expected
        assert any(sentence for paragraph in expected[0] for sentence in paragraph)


def test_of_whole_documents_all_sentences_of_a_window_count():
    pytest.importorskip("scipy")
    for model in models(window_sentences=0):
        forced = force_documents(model, TOKENIZER, DOCUMENTS[:1])
        source = [*ids("a b c"), SEP, *ids("d"), PAR, *ids("e f"), EOS]
        target = [*ids("C B A Z"), SEP, *ids("D"), PAR, *ids("F E"), EOS]
        chosen = first_choices(model, source, target)
        assert forced.documents == [[[text(chosen[:4]), text(chosen[5:6])], [text(chosen[7:9])]]]


def test_a_sentence_that_fits_into_no_window_says_nothing():
    model = tiny_model(**SIZES, window_sentences=1, max_target_tokens=4)
    forced = force_documents(model, TOKENIZER, DOCUMENTS[:1])
    assert forced.documents[0][0][0] == ""
    assert [len(paragraph) for paragraph in forced.documents[0]] == [2, 1]


def test_vector_accuracy_is_the_share_of_elements_within_a_tenth():
    truth = torch.tensor([[0.0, 1.0, -2.0], [0.5, 0.5, 0.5]])
    predicted = truth + torch.tensor([[0.0, 0.09, -0.11], [-0.09, 3.0, 0.2]])
    assert vector_accuracy(predicted, truth) == pytest.approx(100 * 3 / 6)


def test_models_of_word_vectors_are_scored_by_their_elements():
    pytest.importorskip("scipy")
    model = list(models(window_sentences=1))[1]
    predicted, truth = [], []
    for source, target in (("a b c", "C B A Z"), ("d", "D"), ("e f", "F E")):
        labels = [*ids(target), EOS]
        inputs = {
            "input_ids": torch.tensor([[*ids(source), EOS]]),
            "decoder_input_ids": torch.tensor([[BOS, *labels[:-1]]]),
        }
        with torch.no_grad():
            predicted.append(model.lm_head.vectors(model.model(**inputs).last_hidden_state)[0])
        truth.append(model.lm_head.weight[labels])
    forced = force_documents(model, TOKENIZER, DOCUMENTS[:1])
    assert forced.vector_accuracy == pytest.approx(vector_accuracy(torch.cat(predicted), torch.cat(truth)))
    assert 0 < forced.vector_accuracy < 50
    assert force_documents(tiny_model(**SIZES), TOKENIZER, DOCUMENTS[:1]).vector_accuracy is None


def test_its_scores_are_named_so_that_nobody_takes_them_for_those_of_translations():
    references = [[["a b c d e"]]]
    report = forced_report(ForcedDocuments([[["a b c d e"]]], 87.5), references, with_ter=False, bleu_orders=[1])
    names = [score.name for score in report.scores]
    assert report.label == "teacher-forced"
    assert names == [f"teacher-forced {name}" for name in ("BLEU", "chrF", "BLEU-1", "docBLEU")] + ["vector accuracy"]
    assert all(score.signature.endswith("|teacher-forced") for score in report.scores)
    assert report["teacher-forced BLEU"] == pytest.approx(100)
    assert report["vector accuracy"] == 87.5


def test_other_tokenizers_are_refused():
    tokenizer = word_tokenizer()
    tokenizer.sep_token = None
    with pytest.raises(ValueError, match="needs tokenizers with <sep> and <par>"):
        force_documents(tiny_model(**SIZES), tokenizer, DOCUMENTS)


def test_the_letters_have_ids():
    assert len(set(ids(" ".join(LETTERS)))) == len(LETTERS)
