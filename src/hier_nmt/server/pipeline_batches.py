# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches of the scheduler as calls of the translation pipeline."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..jobs.attention_of_documents import TranslatedPart, sentences_read_in_part
from ..jobs.document_parts import part_limit
from ..translation.pipeline_options import divided_options
from ..translation.translation_documents import SourceDocument, TranslatedDocument
from .failures import RequestError
from .scheduler import Glossary

# Sentences of a part: what cannot be interrupted.
PART_SENTENCES = 8


class PipelineBatches:
    """Translates parts of documents with one pipeline, whose calls must not overlap.

    Args:
        pipe: a `DocumentTranslationPipeline`.
        batch_size: windows decoded at the same time.
        options: of its call, such as `num_beams`.

    Attributes:
        part_sentences: the most sentences that a part should have; None for a model of whole documents.
        accepts_glossary: whether the pipeline takes a `glossary`, in its call or for preparing a document.
        window_sentences: the sentences that are read together: 1: each is read alone, 0: as many as fit.
        shows_reading: whether `sentences_read` can say what was read.
    """

    def __init__(self, pipe: Any, batch_size: int = 32, **options: Any) -> None:
        self._pipe, self._batch_size, self._options = pipe, batch_size, options
        config = pipe.model.config
        self.part_sentences = None if part_limit(pipe.model) is None else PART_SENTENCES
        takers = (type(pipe).__call__, type(pipe).preprocess)
        self.accepts_glossary = any("glossary" in inspect.signature(taker).parameters for taker in takers)
        is_alone = options.get("strategy") == "sentence"
        self.window_sentences: int = 1 if is_alone else getattr(config, "window_sentences", 1)
        # Models run by other engines have no weights, and tell nothing of their attention.
        has_weights = next(pipe.model.parameters(), None) is not None
        self.shows_reading = self.window_sentences != 1 and has_weights

    def __call__(self, parts: Sequence[SourceDocument], glossary: Glossary) -> list[TranslatedDocument]:
        """The translation of each part; what its memory has is not translated."""
        return self._translated(parts, glossary, self._options)

    def with_confidence(self, parts: Sequence[SourceDocument], glossary: Glossary) -> list[TranslatedDocument]:
        """The translation of each part with the confidence of each sentence, which costs another pass."""
        return self._translated(parts, glossary, {**self._options, "confidence": True})

    def sentences_read(self, parts: Sequence[SourceDocument], glossary: Glossary) -> list[list[list[Any]]]:
        """For each sentence of each part, `TranslatedPart`s, the sentences that it read.

        Raises:
            RequestError: the attention to one of the sentences cannot be recorded.
        """
        try:
            return [sentences_read_in_part(self._pipe, part) for part in parts if isinstance(part, TranslatedPart)]
        except ValueError as error:
            raise RequestError(400, f"what was read cannot be shown: {error}") from None

    def _translated(
        self, parts: Sequence[SourceDocument], glossary: Glossary, options: dict[str, Any]
    ) -> list[TranslatedDocument]:
        preprocess, forward, _ = divided_options(
            options if glossary is None else {**options, "glossary": dict(glossary)}
        )
        prepared = []
        for part in parts:
            one = self._pipe.preprocess(self._document(part), **preprocess)
            # Documents of the pipeline's call have no inline tags, and parts have those of their sentences.
            source = replace(one.source, memory=part.memory, tags=part.tags)
            prepared.append(replace(one, source=source))
        outputs = self._pipe.forward({"documents": prepared}, batch_size=self._batch_size, **forward)
        return [output.translated for output in outputs["documents"]]

    def _document(self, part: SourceDocument) -> dict[str, Any]:
        document: dict[str, Any] = {"paragraphs": part.paragraphs}
        return {**document, "context": part.context} if self.window_sentences != 1 and part.context else document
