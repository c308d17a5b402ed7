# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The confidence of sentences and words is what the model's probabilities of the finished translation say."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer
from word_translation import BOS, EOS, PAD, PROBABILITIES, SEP, ProbableTranslator, word_tokenizer

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.translation import confidence
from hier_nmt.translation.confidence import align_words, word_confidences
from hier_nmt.translation.document_translator import STRATEGIES, DocumentTranslator
from hier_nmt.translation.forced_decoding import ForcedRow
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline
from hier_nmt.translation.translation_documents import SourceDocument

pytest.importorskip("sentencex")


def output_of(document: Any, model: ProbableTranslator, **options: Any) -> dict[str, Any]:
    pipe = DocumentTranslationPipeline(model, model.tokenizer)
    (output,) = pipe(document, return_details=True, confidence=True, source_language="en", **options)
    return output


def test_a_sentence_has_the_geometric_mean_of_its_tokens_and_of_its_end() -> None:
    output = output_of("A b!", ProbableTranslator())
    (found,) = output["details"]["confidences"]
    assert output["translation_text"] == "A B !"
    assert found["sentence"] == 0
    assert found["confidence"] == pytest.approx((0.5 * 0.25 * 0.125 * 0.0625) ** (1 / 4))
    assert found["word_confidences"] == pytest.approx([0.5, 0.25, 0.125])


def test_without_the_option_nothing_is_scored() -> None:
    model = ProbableTranslator()
    pipe = DocumentTranslationPipeline(model, model.tokenizer)
    (output,) = pipe("A b!", return_details=True, source_language="en")
    assert "confidences" not in output["details"]
    assert model.scored == []


def test_windows_are_scored_as_they_were_decoded() -> None:
    scored = {}
    for strategy in STRATEGIES:
        model = ProbableTranslator(window_sentences=2)
        output_of({"paragraphs": [["a", "b", "a"]]}, model, strategy=strategy)
        scored[strategy] = sorted(model.scored)
    behind = [("a <sep> b </s>", "A <sep> B"), ("a </s>", "A"), ("b <sep> a </s>", "B <sep> A")]
    blocks = [("a <sep> b </s>", "A <sep> B"), ("a </s>", "A")]
    assert scored["sentence"] == [("a </s>", "A"), ("a </s>", "A"), ("b </s>", "B")]
    assert scored["current"] == scored["prefix"] == sorted(behind)
    assert scored["document"] == sorted(blocks)


def test_sentences_of_a_block_are_told_apart() -> None:
    output = output_of({"paragraphs": [["a", "b b"]]}, ProbableTranslator(window_sentences=0))
    first, second = output["details"]["confidences"]
    assert first["confidence"] == pytest.approx((0.5 * 0.03125) ** (1 / 2))
    assert second["confidence"] == pytest.approx((0.25 * 0.25 * 0.0625) ** (1 / 3))
    assert [first["word_confidences"], second["word_confidences"]] == [
        pytest.approx([0.5]),
        pytest.approx([0.25, 0.25]),
    ]


def test_what_the_model_did_not_write_has_no_confidence() -> None:
    model = ProbableTranslator(alone=lambda sentences: [[] for _ in sentences], forced_word="<unk>")
    found = output_of("A b!\n1984\n…", model)["details"]["confidences"]
    assert [one["confidence"] for one in found] == [None, None, None]
    assert found[1]["word_confidences"] == [None]


def test_every_word_of_a_translation_has_an_entry() -> None:
    output = output_of(
        {"paragraphs": [["1. A b %s a!"]]}, ProbableTranslator(more_words=("417",)), return_sentences=True
    )
    (found,) = output["details"]["confidences"]
    words = output["sentences"][0]["translation"].split()
    assert len(found["word_confidences"]) == len(words)
    assert (words[0], found["word_confidences"][0]) == ("1.", None)
    by_word = dict(zip(words, found["word_confidences"], strict=True))
    assert [by_word["A"], by_word["B"]] == pytest.approx([0.5, 0.25])


def test_a_sentence_in_pieces_has_the_mean_over_all_its_pieces() -> None:
    output = output_of("a a a a b b b b", ProbableTranslator(max_source_tokens=5))
    (found,) = output["details"]["confidences"]
    assert output["details"]["counts"]["num_split"] == 1
    # Each of two pieces has four tokens and an end.
    assert output["translation_text"] == "A A A A B B B B"
    assert found["confidence"] == pytest.approx((0.5**4 * 0.25**4 * 0.0625**2) ** (1 / 10))
    words = dict(zip(output["translation_text"].split(), found["word_confidences"], strict=True))
    assert [words["A"], words["B"]] == pytest.approx([0.5, 0.25])


def test_words_have_the_geometric_mean_of_their_tokens() -> None:
    # Tokens of a vocabulary that writes the space before a word as part of its first token, or as a token of its own.
    texts = ["Le", " par", "lement", " ", "vote"]
    vocabulary: Any = SimpleNamespace(decode=lambda ids: "".join(texts[index] for index in ids).strip())
    scores = torch.tensor([0.5, 0.8, 0.2, 0.9, 0.4]).double().log().tolist()
    words, values = zip(*word_confidences(vocabulary, range(5), scores), strict=True)
    assert words == ("Le", "parlement", "vote")
    assert values == pytest.approx([0.5, (0.8 * 0.2) ** 0.5, (0.9 * 0.4) ** 0.5], rel=1e-5)


def test_what_takes_the_place_of_words_has_their_lowest_confidence() -> None:
    written = [("le", 0.9), ("417", 0.4), ("est", 0.8), ("vide", 0.7)]
    assert align_words(written, ["1.", "le", "{name}", "est", "<b>vide</b>"]) == [None, 0.9, 0.4, 0.8, 0.7]


def model_of(**changes: Any) -> HierNMTForConditionalGeneration:
    torch.manual_seed(3)
    fields: dict[str, Any] = dict(
        vocab_size=len(word_tokenizer()),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        init_std=0.6,
        window_sentences=2,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        sep_token_id=4,
        par_token_id=5,
    )
    return HierNMTForConditionalGeneration(HierNMTConfig(**{**fields, **changes})).eval()


@pytest.fixture(scope="module")
def small_model() -> HierNMTForConditionalGeneration:
    return model_of()


@torch.no_grad()
def slow_log_probabilities(model, source_ids: list[int], target_ids: list[int]) -> torch.Tensor:
    """Token after token, each from a forward pass over its prefix."""
    found = []
    for position, token_id in enumerate(target_ids):
        prefix = torch.tensor([[BOS, *target_ids[:position]]])
        logits = model(input_ids=torch.tensor([source_ids]), decoder_input_ids=prefix).logits[0, -1].double()
        found.append(logits.log_softmax(-1)[token_id])
    return torch.stack(found)


@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("strategy", ["sentence", "current", "prefix"])
def test_confidences_equal_a_loop_over_tokens(small_model, strategy, num_beams) -> None:
    tokenizer = word_tokenizer()
    sources = ["a b", "c d e", "f g"]
    translator = DocumentTranslator(
        small_model, tokenizer, strategy=strategy, confidence=True, generate_kwargs={"num_beams": num_beams}
    )
    (translated,) = translator.translate([SourceDocument([sources])])
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in sources]
    targets = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in translated.paragraphs[0]]
    assert translated.confidences is not None
    for index, found in enumerate(translated.confidences):
        source, target, first = [*ids[index], EOS], [*targets[index], EOS], 0
        if index and strategy != "sentence":
            source, first = [*ids[index - 1], SEP, *source], len(targets[index - 1]) + 1
            target = [*targets[index - 1], SEP, *target]
        wanted = slow_log_probabilities(small_model, source, target)[first:]
        assert found.confidence == pytest.approx(float(wanted.mean().exp()), rel=1e-4)
        assert found.words == pytest.approx(wanted[:-1].exp().tolist(), rel=1e-4)


@pytest.mark.parametrize("write", ["write_opus_mt", "write_m2m100"])
def test_models_of_single_sentences_are_scored_without_the_token_of_the_language(write, tmp_path, monkeypatch) -> None:
    sentence_models = pytest.importorskip("sentence_models")
    model = getattr(sentence_models, write)(tmp_path).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    languages = {"source_language": "en", "target_language": "fr"} if write == "write_m2m100" else {}
    rows: list[ForcedRow] = []

    def forced_log_probabilities(model, batch, pad_token_ids, closing_ids) -> list[torch.Tensor]:
        rows.extend(batch)
        # The first token is nearly impossible, which shows wherever it counts.
        return [torch.tensor([-1.0 if index else -50.0 for index in range(len(row.target_ids))]) for row in batch]

    monkeypatch.setattr(confidence, "forced_log_probabilities", forced_log_probabilities)
    translator = DocumentTranslator(model, tokenizer, confidence=True, **languages)
    (translated,) = translator.translate([SourceDocument([["The committee met on Monday."]])])
    (row,) = rows
    (found,) = translated.confidences
    assert row.target_ids[-1] == tokenizer.eos_token_id
    if languages:
        assert row.target_ids[0] == tokenizer.convert_tokens_to_ids("__fr__")
        assert found.confidence == pytest.approx(math.exp(-1))
    else:
        num_tokens = len(row.target_ids)
        assert found.confidence == pytest.approx(math.exp((-50 - (num_tokens - 1)) / num_tokens))
    assert len(found.words) == len(translated.paragraphs[0][0].split())


def test_confidences_do_not_depend_on_the_batch(small_model) -> None:
    documents = [SourceDocument([["a b", "c d e f g h"]]), SourceDocument([["k"]]), SourceDocument([["a", "m n"]])]

    def confidences(batch_size: int) -> list[float]:
        translator = DocumentTranslator(small_model, word_tokenizer(), batch_size=batch_size, confidence=True)
        return [one.confidence for document in translator.translate(documents) for one in document.confidences]

    assert confidences(1) == pytest.approx(confidences(50), rel=1e-4)


def test_a_stream_ends_with_the_confidences_of_the_whole(small_model) -> None:
    translator = DocumentTranslator(small_model, word_tokenizer(), confidence=True)
    document = SourceDocument([["a b", "c d e", "f g"]])
    stream = translator.stream(document)
    while True:
        try:
            next(stream)
        except StopIteration as stop:
            streamed = stop.value
            break
    (whole,) = translator.translate([document])
    assert [one.confidence for one in streamed.confidences] == pytest.approx(
        [one.confidence for one in whole.confidences], rel=1e-4
    )


def test_where_the_source_decides_what_closes_a_sentence_all_closing_tokens_count() -> None:
    """Adapted models may have hidden separators, which get no probability of their own."""
    scope = dict.fromkeys(("encoder_self_attention", "decoder_self_attention", "cross_attention"), "sentence")
    fields = {"restart_target_sentences": True, "output_bias": True, "token_position_origin": "sentence"}
    model = model_of(window_sentences=0, **scope, **fields)
    with torch.no_grad():
        model.model.shared.weight[[SEP, SEP + 1]] = model.model.shared.weight[EOS].clone()
        model.lm_head.bias[[SEP, SEP + 1]] = -10_000.0
    sentences = [["a b", "c"], ["d e f"]]
    translator = DocumentTranslator(model, word_tokenizer(), confidence=True, strategy="document")
    (document,) = translator.translate([SourceDocument(sentences)])
    (alone,) = DocumentTranslator(model, word_tokenizer(), confidence=True, strategy="sentence").translate(
        [SourceDocument(sentences)]
    )
    assert document.paragraphs == alone.paragraphs
    # Each sentence reads itself alone, so its probabilities are the same.
    found, expected = [[one.confidence for one in each.confidences or ()] for each in (document, alone)]
    assert None not in expected
    assert found == pytest.approx(expected, rel=1e-4)


def test_any_token_that_closes_a_sentence_has_the_probability_of_all() -> None:
    model = ProbableTranslator(window_sentences=0, restart_target_sentences=True)
    output = output_of("a! b!", model, strategy="document")
    assert output["translation_text"] == "A ! B !"
    rest = (1 - sum(PROBABILITIES.values())) / (len(model.tokenizer) - len(PROBABILITIES))
    closes = PROBABILITIES["</s>"] + PROBABILITIES["<sep>"] + rest  # the last is <par>
    found = [one["confidence"] for one in output["details"]["confidences"]]
    assert found == pytest.approx([(0.5 * 0.125 * closes) ** (1 / 3), (0.25 * 0.125 * closes) ** (1 / 3)])
