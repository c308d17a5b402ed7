# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a translation tells of itself, and what of it is known before it is complete."""

from dataclasses import fields

import pytest
import torch
from word_translation import WordTranslator

from hier_nmt.text.document_layout import PlacedSentence
from hier_nmt.translation.document_translator import STRATEGIES
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline
from hier_nmt.translation.translation_report import DecodingStatistics

pytest.importorskip("sentencex")

TEXT = " A b!  C d!\n\nE f g! H!\tI j k! L!\n"


def translator(model: WordTranslator | None = None, **options) -> DocumentTranslationPipeline:
    model = model or WordTranslator(window_sentences=2, source_language="en", target_language="fr")
    return DocumentTranslationPipeline(model, model.tokenizer, **options)


def merged(sentences):
    return [[word for sentence in sentences for word in sentence]]


def empty(sentences):
    return [[] for _ in sentences]


def endless(sentences):
    return [["Z"] for _ in sentences]


def details(text: str, model: WordTranslator, **options):
    (output,) = translator(model, return_details=True, source_language="en", **options)(text)
    return output["details"]


def test_a_translation_without_incidents_has_counts_only() -> None:
    found = details("A b! C!", WordTranslator())
    assert set(found["counts"]) == {one.name for one in fields(DecodingStatistics)}
    assert (found["counts"]["num_sentences"], found["counts"]["num_windows"]) == (2, 2)
    assert [found[kind] for kind in ("copied", "cut", "split", "decoded_again")] == [[], [], [], []]


def test_what_has_nothing_to_translate_is_copied_and_told() -> None:
    (output,) = translator(return_details=True)("a b!\n1984\n…\n😀 🎉\n你好\nc")
    assert output["translation_text"] == "A B !\n1984\n…\n😀 🎉\n你好\nC"
    reasons = {one["sentence"]: one["reason"] for one in output["details"]["copied"]}
    assert reasons == {1: "no letters", 2: "no letters", 3: "no letters", 4: "letters that the tokenizer does not know"}
    assert output["details"]["counts"]["num_copied"] == 4


def test_a_sentence_of_which_most_is_of_another_script_is_copied() -> None:
    # Two letters of three, and one of three.
    assert translator()("a b 你。")[0]["translation_text"].startswith("A B")
    assert translator()("a 你好。")[0]["translation_text"] == "a 你好。"


def test_what_is_copied_leaves_no_trace_in_windows() -> None:
    pipe = translator()
    pipe("a b!\n* * *\nc d!")
    assert pipe.model.windows[-1] == "a b ! <par> c d ! </s>" or "a b ! <par> c d ! </s>" in pipe.model.windows


def test_a_translation_that_stays_empty_is_the_source_and_told() -> None:
    model = WordTranslator(alone=empty, forced_word="<unk>")
    (output,) = translator(model, return_details=True, source_language="en")("- a b! c")
    assert output["translation_text"] == "- a b! c"
    assert [one["sentence"] for one in output["details"]["copied"]] == [0, 1]
    assert output["details"]["decoded_again"][0] == {"sentence": 0, "reason": "empty"}
    assert output["details"]["counts"]["num_empty"] == output["details"]["counts"]["num_copied"] == 2


def test_a_piece_of_a_long_sentence_that_stays_empty_is_the_source_and_told() -> None:
    def silent_on_c(sentences):
        return [[word for word in sentence if "C" not in sentence] for sentence in sentences]

    model = WordTranslator(alone=silent_on_c, forced_word="<unk>", max_source_tokens=5)
    (output,) = translator(model, return_details=True, source_language="en")("a b, c d, e f, g h")
    assert "c d," in output["translation_text"]
    reason = "4 pieces, 1 of them copied: the model gave nothing, twice"
    assert output["details"]["split"] == [{"sentence": 0, "reason": reason}]
    assert output["details"]["copied"] == []
    assert output["details"]["counts"]["num_split"] == 1


def test_a_long_sentence_of_which_all_pieces_stay_empty_is_the_source() -> None:
    model = WordTranslator(alone=empty, forced_word="<unk>", max_source_tokens=5)
    text = "- a  b, c d\u00a0😀 e.f, g h (https://a.b/c) i j"
    (output,) = translator(model, return_details=True, source_language="en")(text)
    assert output["translation_text"] == text
    assert [one["sentence"] for one in output["details"]["copied"]] == [0]
    assert output["details"]["counts"]["num_split"] == output["details"]["counts"]["num_copied"] == 1


def test_cut_split_and_repeated_sentences_are_told_with_their_numbers() -> None:
    found = details("😀\na b c d e f! g!", WordTranslator(alone=endless, max_source_tokens=6))
    assert [one["sentence"] for one in found["split"]] == [1]
    assert [one["sentence"] for one in found["cut"]] == [1, 2]
    found = details("a! b! c!", WordTranslator(in_window=merged, window_sentences=2))
    reason = "a window with another number of sentences"
    assert found["decoded_again"] == [{"sentence": index, "reason": reason} for index in (1, 2)]


def test_every_document_has_its_own_details() -> None:
    outputs = translator(return_details=True)(["a!", "1!\n2!", "b! c!"])
    assert [output["details"]["counts"]["num_sentences"] for output in outputs] == [1, 2, 2]
    assert [len(output["details"]["copied"]) for output in outputs] == [0, 2, 0]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("windows", [1, 2, 0])
@pytest.mark.parametrize("spoil", [lambda sentences: sentences, merged, empty])
def test_a_stream_is_what_the_call_gives(strategy, windows, spoil) -> None:
    options = {"window_sentences": windows, "source_language": "en", "target_language": "fr", "max_source_tokens": 9}
    for context in (None, "X y! Z a b c d e f g h i j k l!"):
        call, stream = (translator(WordTranslator(in_window=spoil, **options), strategy=strategy) for _ in range(2))
        (output,) = call(TEXT, context=context, return_sentences=True)
        streamed = list(stream.stream(TEXT, context=context, batch_size=2))
        assert "".join(one.white_space + one.translation for one in streamed) == output["translation_text"]
        pairs = [(one["source"], one["translation"], one["paragraph"]) for one in output["sentences"]]
        assert [(one.source, one.translation, one.paragraph) for one in streamed[:-1]] == pairs
        assert sorted(call.model.windows) == sorted(stream.model.windows)


def test_a_stream_tells_the_white_space_before_each_sentence() -> None:
    assert list(translator().stream("\n a!  b!\r\nc\n")) == [
        PlacedSentence("a!", "A !", "\n ", 0),
        PlacedSentence("b!", "B !", "  ", 0),
        PlacedSentence("c", "C", "\r\n", 1),
        PlacedSentence("", "", "\n", 1),
    ]
    assert list(translator().stream("")) == []
    assert list(translator().stream(" ")) == [PlacedSentence("", "", " ", 0)]


@pytest.mark.parametrize(("strategy", "num_first"), [("sentence", 2), ("current", 2), ("prefix", 1), ("document", 1)])
def test_a_stream_decodes_no_more_than_is_asked_for(strategy, num_first) -> None:
    pipe = translator(strategy=strategy)
    stream = pipe.stream("a! b! c! d! e! f!", batch_size=2)
    assert pipe.model.windows == []
    assert next(stream).translation == "A !"
    assert len(pipe.model.windows) == num_first
    stream.close()
    assert list(stream) == []
    assert len(pipe.model.windows) == num_first


def test_between_sentences_of_a_stream_everything_is_as_it_was() -> None:
    pipe = translator()
    pipe.model.train()
    before = pipe.model.generation_config
    for _ in pipe.stream(TEXT):
        assert not torch.is_inference_mode_enabled()
        assert pipe.model.generation_config is before
        assert pipe.model.training


def test_structured_sentences_and_formats_are_streamed() -> None:
    streamed = translator().stream({"paragraphs": [["a!", "", "b!"], [], ["c!"]]})
    assert "".join(one.white_space + one.translation for one in streamed) == "A ! B !\n\n\n\nC !"
    streamed = list(translator().stream("<p>a <b>b</b></p>", text_format="html"))
    assert [one.white_space for one in streamed] == ["<p>", "</b></p>"]
    assert streamed[0].translation == "A <b>B"


def test_wrong_streams_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="a document must be a string or a dict, got list"):
        translator().stream(["a!"])
    with pytest.raises(TypeError, match="'num_beam' is not an option"):
        translator().stream("a!", num_beam=2)
