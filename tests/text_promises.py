# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the pipeline promises for any text, as checks: one translation for each sentence in order, nothing lost."""

from collections import Counter
from html.parser import HTMLParser
from typing import Any

from word_translation import WordTranslator

from hier_nmt.text.protected_spans import protected_texts
from hier_nmt.text.segmentation import segment_text
from hier_nmt.text.untranslatable import STAND_INS
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline


def translator(**config: Any) -> DocumentTranslationPipeline:
    model = WordTranslator(**{"window_sentences": 3, "source_language": "en", "target_language": "fr", **config})
    return DocumentTranslationPipeline(model, model.tokenizer)


class Silent(WordTranslator):
    """A model with empty translations."""

    def _said(self, source, prefix, config):
        super()._said(source, prefix, config)
        return [2]


def silent_translator() -> DocumentTranslationPipeline:
    model = Silent(window_sentences=3, source_language="en", target_language="fr")
    return DocumentTranslationPipeline(model, model.tokenizer)


def copying_translator() -> DocumentTranslationPipeline:
    """One that knows the numbers which stand for placeholders, and copies them but for one."""
    model = WordTranslator(more_words=STAND_INS[:-1], window_sentences=3, source_language="en", target_language="fr")
    return DocumentTranslationPipeline(model, model.tokenizer)


TRANSLATOR, SILENT, COPYING = translator(), silent_translator(), copying_translator()


def tags_of(page: str) -> Counter[str]:
    """How often each tag is in a page, with its attributes."""
    found: Counter[str] = Counter()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found[f"<{tag} {attrs}>"] += 1

        def handle_endtag(self, tag: str) -> None:
            found[f"</{tag}>"] += 1

        def parse_marked_section(self, i: int, report: int = 1) -> int:
            end = self.rawdata.find(">", i)
            return end + 1 if end >= 0 else -1

    reader = Reader()
    reader.feed(page)
    reader.close()
    return found


def check_plain_text(text: str) -> None:
    """Nothing is lost, and everything is where it was."""
    (output,) = TRANSLATOR(text, return_sentences=True, return_details=True)
    segments = segment_text(text, "en")
    sentences = output["sentences"]
    assert [one["source"] for one in sentences] == [segment.text for segment in segments if segment.is_sentence]
    assert all(one["translation"].strip() for one in sentences)
    pairs = iter([(one["source"], one["translation"]) for one in sentences])
    expected = ""
    before = None
    for segment in segments:
        if not segment.is_sentence:
            expected += segment.text
            before = None
            continue
        source, translation = next(pairs)
        # Sentences with nothing between them get a space, as French has it, unless both are copied.
        is_copied = source == translation
        expected += (" " if before is False or (before and not is_copied) else "") + translation
        before = is_copied
    assert output["translation_text"] == expected
    copied = [one["sentence"] for one in output["details"]["copied"]]
    assert all(sentences[index]["translation"] == sentences[index]["source"] for index in copied)
    assert len(copied) == output["details"]["counts"]["num_copied"]


def check_protected(text: str, text_format: str) -> None:
    """What is not language is in the translation as often as in the source, and in the same order; so are tags."""
    (output,) = COPYING(text, text_format=text_format, return_sentences=True)
    for one in output["sentences"]:
        spans, found = (_spans(one[side], text_format) for side in ("source", "translation"))
        assert not spans or found == spans, one
    if text_format == "html":
        assert tags_of(output["translation_text"]) == tags_of(text)


def _spans(text: str, text_format: str) -> list[str]:
    """What is not language in a sentence; Markdown's own signs are for its parser, which sees more than a sentence."""
    signs = ("`", "*", "~~", "](") if text_format == "markdown" else ()
    return [span for span in protected_texts(text) if not span.startswith(signs) and not (signs and span == "[")]


def check_comes_back(text: str, text_format: str) -> None:
    """Where the model says nothing the document is what it was, with whatever markup."""
    (output,) = SILENT(text, text_format=text_format, return_details=True, return_sentences=True)
    assert output["translation_text"] == text
    assert len(output["details"]["copied"]) == len(output["sentences"])


def check_stream(text: str, text_format: str) -> None:
    """What is streamed is what the call gives."""
    (output,) = TRANSLATOR(text, text_format=text_format)
    streamed = list(TRANSLATOR.stream(text, text_format=text_format, batch_size=2))
    assert "".join(one.white_space + one.translation for one in streamed) == output["translation_text"]
