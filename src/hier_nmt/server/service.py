# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What all interfaces of the server have in common: languages, limits, and the way of a text to the scheduler."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Sequence
from typing import NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from ..jobs.translate_corpus import Paragraphs
from ..jobs.translate_pages import LayoutTranslation
from ..text.long_sentences import sentence_joiner
from ..text.segmentation import segment_text, sentences_by_paragraph
from ..translation.translation_state import SourceDocument
from .access import Access, Client
from .bounded_parts import BoundedParts
from .failures import ClientGone, RequestError
from .limits import ClientRequests, Limits
from .scheduler import Glossary, Scheduler, Translate, Work
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

    Attributes:
        num_characters: client -> characters translated for it.
    """

    def __init__(
        self,
        translate: Translate,
        pair: Pair,
        *,
        part_sentences: int | None,
        accepts_glossary: bool,
        limits: Limits,
        access: Access,
        batch_sentences: int = 32,
    ) -> None:
        self.pair, self.limits, self.access = pair, limits, access
        self.part_sentences, self.accepts_glossary = part_sentences, accepts_glossary
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
        num_characters = self.limits.check_texts([*texts, context])

        def prepare() -> tuple[list[LayoutTranslation], BoundedParts]:
            before = sentences_by_paragraph(segment_text(context, self.pair.source))
            prepared = [text_translation(text, form, self.pair, self.part_sentences, before) for text in texts]
            return prepared, self.bounded([part for one in prepared for part in one.parts])

        def finish() -> list[str]:
            parts = iter(bounded.join(translated))
            return [one.text([next(parts) for _ in one.parts]) for one in prepared]

        with self.requests.counted(client.id):
            prepared, bounded = await run_in_threadpool(prepare)
            work = self.scheduler.submit(Work(bounded.parts, glossary))
            try:
                translated = await while_connected(request, finished(work, self.limits.seconds))
            finally:
                work.future.cancel()
            self.num_characters[client.id] += num_characters - len(context)
            return await run_in_threadpool(finish)

    def bounded(self, parts: Sequence[SourceDocument]) -> BoundedParts:
        """The parts without endless sentences."""
        return BoundedParts(parts, self.part_sentences, sentence_joiner(self.pair.target))


async def finished(work: Work, seconds: float) -> list[Paragraphs]:
    """The translations of a work; if nobody waits any longer, what is left of it leaves the queue.

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
