# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What all interfaces of the server have in common: languages, limits, and the way of a text to the scheduler."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from ..jobs.confidence_calibration import ConfidenceCalibration
from ..jobs.translate_pages import LayoutTranslation
from ..text.document_layout import PlacedSentence
from ..text.long_sentences import sentence_joiner
from ..text.segmentation import segment_text, sentences_by_paragraph
from ..text.translation_memory import TranslationMemory
from ..translation.translation_documents import SourceDocument, TranslatedDocument
from ..translation.translation_report import SentenceConfidence
from .access import Access, Client
from .bounded_parts import BoundedParts
from .failures import ClientGone, RequestError
from .limits import ClientRequests, Limits
from .reading_parts import Reading, ReadingParts
from .scheduler import Glossary, Run, Scheduler, Work
from .texts import TextForm, text_translation

Result = TypeVar("Result")


class Pair(NamedTuple):
    """The languages of the server's model, as ISO 639 codes."""

    source: str
    target: str

    def check(self, source: str | None, target: str) -> None:
        """Raises RequestError for other languages; regions are ignored, and no source language means the model's."""
        if source is not None and base_language(source) != base_language(self.source):
            raise RequestError(400, f"source language {source:.20} is not supported; it is {self.source} alone")
        if base_language(target) != base_language(self.target):
            raise RequestError(400, f"target language {target:.20} is not supported; it is {self.target} alone")


class NotedSentence(NamedTuple):
    """A translated sentence at its place.

    Attributes:
        placed: its source, its translation, and what is between it and the sentence before.
        confidence: how confident the model is of it, if that was asked for.
        is_from_memory: whether its translation is that of the translation memory.
    """

    placed: PlacedSentence
    confidence: SentenceConfidence | None
    is_from_memory: bool


def base_language(code: str) -> str:
    """A language without its region: "en" of "EN-GB"."""
    return code.replace("_", "-").partition("-")[0].lower()


def language_name(code: str) -> str:
    """The English name of a language; its code where langcodes is not installed."""
    try:
        import langcodes
    except ImportError:
        return code
    return langcodes.Language.get(code).display_name("en")


class Service:
    """A model behind a scheduler.

    Args:
        translate: the translations of parts, see `Scheduler`.
        pair: the languages.
        part_sentences: the most sentences of a part; None: documents are not divided.
        accepts_glossary: whether `translate` can follow a glossary.
        limits: of requests.
        access: the keys.
        batch_sentences: sentences of a batch.
        window_sentences: the sentences that the model reads together: 1: it reads each alone, 0: as many as fit.
        read: for each sentence of each of some `TranslatedPart`s, the sentences that it read; None: nothing can say.
        with_confidence: what `translate` gives, with the confidence of each sentence; None: nothing can say.
        memory: a translation memory; sentences that it has are not translated.
        calibration: what the confidence of a sentence means.

    Attributes:
        num_characters: client -> characters translated for it.
    """

    def __init__(
        self,
        translate: Run,
        pair: Pair,
        *,
        part_sentences: int | None,
        accepts_glossary: bool,
        limits: Limits,
        access: Access,
        batch_sentences: int = 32,
        window_sentences: int = 1,
        read: Run | None = None,
        with_confidence: Run | None = None,
        memory: TranslationMemory | None = None,
        calibration: ConfidenceCalibration | None = None,
    ) -> None:
        self.pair, self.limits, self.access = pair, limits, access
        self.part_sentences, self.accepts_glossary = part_sentences, accepts_glossary
        self.window_sentences, self.read, self.with_confidence = window_sentences, read, with_confidence
        self.memory, self.calibration = memory, calibration
        self.scheduler = Scheduler(translate, limits.waiting_sentences, batch_sentences)
        self.requests = ClientRequests(limits.client_requests)
        self.num_characters: Counter[str] = Counter()

    async def translate_texts(
        self,
        request: Request,
        client: Client,
        texts: list[str],
        form: TextForm,
        context: str = "",
        glossary: Glossary = None,
    ) -> list[str]:
        """The translation of each text.

        Raises:
            RequestError: they are too long, there is no room for them, or it takes too long.
            ClientGone: the client closed the connection; the rest is not translated.
        """
        translated = await self._translated(request, client, texts, form, context, glossary)
        return await run_in_threadpool(
            lambda: [one.text([part.paragraphs for part in parts]) for one, parts in translated]
        )

    async def translate_sentences(
        self,
        request: Request,
        client: Client,
        text: str,
        context: str = "",
        glossary: Glossary = None,
        confidence: bool = False,
    ) -> list[NotedSentence]:
        """The translation of each sentence of a plain text, with the model's confidence in it or without; errors as
        those of `translate_texts`, and

        Raises:
            RequestError: the confidence of this model cannot be told.
        """
        if confidence and self.with_confidence is None:
            raise RequestError(400, "this server cannot say how confident the model is")
        run = self.with_confidence if confidence else None
        ((one, parts),) = await self._translated(request, client, [text], TextForm(), context, glossary, run)
        return noted_sentences(one, parts)

    async def sentences_read(
        self, request: Request, client: Client, text: str, translations: Sequence[str], context: str = ""
    ) -> Reading:
        """Which sentences each sentence of a text read when the text was translated, after its context, to these
        translations of its sentences; errors as those of `translate_texts`, and

        Raises:
            RequestError: this cannot be said of the model, or the translations are not those of the text's sentences.
        """
        if self.read is None:
            raise RequestError(400, "this server cannot say which sentences were read")
        self.limits.check_texts([text, context, *translations])

        def prepare() -> ReadingParts:
            before = self._context(context)
            layout = text_translation(text, TextForm(), self.pair, self.part_sentences, before)
            return ReadingParts(layout.parts, before, translations)

        with self.requests.counted(client.id):
            parts = await run_in_threadpool(prepare)
            bounded = self.bounded([SourceDocument(parts.context)] if parts.context else [])
            of_context = await self._result(request, Work(bounded.parts))
            translated = [text for part in bounded.join(of_context) for text in chain.from_iterable(part.paragraphs)]
            return parts.join(await self._result(request, Work(parts.with_translations(translated), run=self.read)))

    async def _translated(
        self,
        request: Request,
        client: Client,
        texts: list[str],
        form: TextForm,
        context: str,
        glossary: Glossary,
        run: Run | None = None,
    ) -> list[tuple[LayoutTranslation, list[TranslatedDocument]]]:
        """For each text its layout, and the translations of its parts."""
        num_characters = self.limits.check_texts([*texts, context])

        def prepare() -> tuple[list[LayoutTranslation], BoundedParts]:
            before = self._context(context)
            prepared = [text_translation(text, form, self.pair, self.part_sentences, before) for text in texts]
            return prepared, self.bounded([part for one in prepared for part in one.parts])

        with self.requests.counted(client.id):
            prepared, bounded = await run_in_threadpool(prepare)
            translated = await self._result(request, Work(bounded.parts, glossary, run))
            self.num_characters[client.id] += num_characters - len(context)
            parts = iter(bounded.join(translated))
            return [(one, [next(parts) for _ in one.parts]) for one in prepared]

    async def _result(self, request: Request, work: Work) -> list[Any]:
        """The results of a work; what waits of it leaves the queue if the client goes or it takes too long."""
        self.scheduler.submit(work)
        try:
            return await while_connected(request, finished(work, self.limits.seconds))
        finally:
            work.future.cancel()

    def _context(self, text: str) -> list[list[str]]:
        return sentences_by_paragraph(segment_text(text, self.pair.source))

    def bounded(self, parts: Sequence[SourceDocument]) -> BoundedParts:
        """The parts without endless sentences, with the translation memory."""
        return BoundedParts(parts, self.part_sentences, sentence_joiner(self.pair.target), self.memory)


def noted_sentences(text: LayoutTranslation, parts: Sequence[TranslatedDocument]) -> list[NotedSentence]:
    """The sentences of a text with what is known of each, given the translations of its parts."""
    translations = [sentence for part in parts for paragraph in part.paragraphs for sentence in paragraph]
    notes: list[tuple[SentenceConfidence | None, bool]] = []
    for part in parts:
        exact = {match.sentence for match in part.memory if match.score == 100}
        for number in range(sum(map(len, part.paragraphs))):
            notes.append((None if part.confidences is None else part.confidences[number], number in exact))
    placed = text.layout.translated_sentences(translations)
    # A last entry may have only white space.
    return [NotedSentence(one, *note) for one, note in zip(placed, [*notes, (None, False)], strict=False)]


async def finished(work: Work, seconds: float) -> list[Any]:
    """The results of a work; if nobody waits any longer, what is left of it leaves the queue.

    Raises:
        RequestError: it took too long.
    """
    try:
        return await asyncio.wait_for(asyncio.wrap_future(work.future), seconds)
    except TimeoutError:
        raise RequestError(504, f"the translation took longer than {seconds:g} seconds") from None


async def while_connected(request: Request, result: Awaitable[Result]) -> Result:
    """The result, unless the client closes the connection first; then it is cancelled.

    Raises:
        ClientGone: the client closed the connection.
    """
    wanted = asyncio.ensure_future(result)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({wanted, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not wanted.done():
            raise ClientGone
        return wanted.result()
    finally:
        wanted.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
