# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Joins what several requests want translated into batches, in turn, so that a long document does not hold up a short
text."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from ..translation.translation_documents import SourceDocument
from .failures import Closing, QueueFull, raised_at

logger = logging.getLogger(__name__)

# Pairs of a source term and its translation, or None; texts of one batch have the same.
Glossary = tuple[tuple[str, str], ...] | None
# Results of some parts, in their order; those of translating are `TranslatedDocument`s.
Run = Callable[[Sequence[SourceDocument], Glossary], list[Any]]
# A sentence weighs one, and one more for each so many characters.
_CHARACTERS = 400


class Work:
    """The parts of one request, and a future of their translations, in the same order.

    Args:
        parts: of the request.
        glossary: of their translations.
        run: what is done with the parts; None: they are translated.

    Cancelling the future takes the parts that are still waiting out of the queue.

    Attributes:
        future: of the `TranslatedDocument` of each part, or of what `run` gives for it.
        num_parts, num_done: parts in all, and those that are translated.
        has_started: whether a part was in a batch.
    """

    def __init__(self, parts: Iterable[SourceDocument], glossary: Glossary = None, run: Run | None = None) -> None:
        self.glossary, self.run = glossary, run
        self._waiting = deque((index, part, _weight(part)) for index, part in enumerate(parts))
        self.num_parts, self.num_done, self.has_started = len(self._waiting), 0, False
        self.weight = sum(weight for _, _, weight in self._waiting)
        self._results: list[Any] = [None] * self.num_parts
        self.future: Future[list[Any]] = Future()

    @property
    def kind(self) -> Hashable:
        """What works of one batch have in common."""
        return self.glossary, self.run

    @property
    def has_waiting(self) -> bool:
        """Whether parts wait for a batch."""
        return bool(self._waiting)

    def take(self, room: int, at_least_one: bool) -> list[tuple[int, SourceDocument]]:
        """The next parts, with their indices, of no more than this weight in all."""
        taken: list[tuple[int, SourceDocument]] = []
        while self._waiting and (self._waiting[0][2] <= room or (at_least_one and not taken)):
            index, part, weight = self._waiting.popleft()
            taken.append((index, part))
            room -= weight
            self.weight -= weight
        self.has_started = self.has_started or bool(taken)
        return taken

    def accept(self, index: int, result: Any) -> None:
        """Keeps the translation of a part; the last one completes the future."""
        self._results[index] = result
        self.num_done += 1
        if self.num_done == self.num_parts:
            self._end(lambda: self.future.set_result(self._results))

    def fail(self, error: BaseException) -> None:
        """Ends the future with an error."""
        self._waiting.clear()
        self.weight = 0
        self._end(lambda: self.future.set_exception(error))

    def _end(self, end: Callable[[], None]) -> None:
        # Of a cancelled future, whose translation nobody waits for.
        with suppress(InvalidStateError):
            end()


def _weight(part: SourceDocument) -> int:
    return sum(1 + len(sentence) // _CHARACTERS for paragraph in part.paragraphs for sentence in paragraph)


Batch = list[tuple[Work, list[tuple[int, SourceDocument]]]]


class Scheduler:
    """A thread that translates, in front of it a queue of works.

    Works take turns. In its turn a work puts parts of `turn_sentences` sentences into the batch; as long as there is
    room, there is another round. The works of a batch have the same glossary and the same `run`; the others are first
    in the next.

    Args:
        translate: the translations of some parts, called by the thread alone.
        max_waiting: sentences in the queue, beyond which no work is taken. One work alone may be longer.
        batch_sentences: sentences of a batch.
        turn_sentences: sentences of a work in its turn.
    """

    def __init__(
        self, translate: Run, max_waiting: int = 20_000, batch_sentences: int = 32, turn_sentences: int = 8
    ) -> None:
        self._translate, self._max_waiting = translate, max_waiting
        self._batch_sentences, self._turn_sentences = batch_sentences, min(turn_sentences, batch_sentences)
        self._queue: deque[Work] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="hier-nmt-scheduler", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        """Sentences in the queue; long ones count several times."""
        with self._changed:
            return sum(work.weight for work in self._queue)

    def submit(self, work: Work) -> Work:
        """Puts a work into the queue.

        Raises:
            QueueFull: too much is waiting.
            Closing: the scheduler is closed.
        """
        with self._changed:
            if self._is_closed:
                raise Closing
            if self._queue and sum(one.weight for one in self._queue) + work.weight > self._max_waiting:
                raise QueueFull
            if work.has_waiting:
                self._queue.append(work)
                self._changed.notify()
        if not work.num_parts:
            work.future.set_result([])
        work.future.add_done_callback(lambda future: self._forget(work))
        return work

    def close(self) -> None:
        """Ends the thread after its batch; what is not done ends with `Closing`."""
        with self._changed:
            self._is_closed = True
            waiting = list(self._queue)
            self._queue.clear()
            self._changed.notify()
        for work in waiting:
            work.fail(Closing())
        self._thread.join()

    def _forget(self, work: Work) -> None:
        with self._changed:
            if work in self._queue:
                self._queue.remove(work)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._is_closed)
                if self._is_closed:
                    return
                batch = self._next_batch()
            self._translate_batch(batch)

    def _next_batch(self) -> Batch:
        """Parts of the works whose turn it is, taken out of the queue."""
        kind = self._queue[0].kind
        candidates = [work for work in self._queue if work.kind == kind]
        parts: dict[Work, list[tuple[int, SourceDocument]]] = {}
        room = self._batch_sentences
        is_progress = True
        while room > 0 and is_progress:
            is_progress = False
            for work in candidates:
                before = work.weight
                taken = work.take(min(self._turn_sentences, room), at_least_one=room == self._batch_sentences)
                room -= before - work.weight
                if taken:
                    parts.setdefault(work, []).extend(taken)
                    is_progress = True
                if room <= 0:
                    break
        others = [work for work in self._queue if work not in parts]
        self._queue = deque([*others, *(work for work in parts if work.has_waiting)])
        return list(parts.items())

    def _translate_batch(self, batch: Batch) -> None:
        """Translates a batch; if that fails, each work of it alone, so that none fails for another."""
        wanted = [(work, index, part) for work, parts in batch for index, part in parts if not work.future.done()]
        if not wanted:
            return
        parts, first = [part for _, _, part in wanted], batch[0][0]
        try:
            results = (first.run or self._translate)(parts, first.glossary)
        except Exception as error:
            if len(batch) > 1:
                for one in batch:
                    self._translate_batch([one])
                return
            # The message may quote the text.
            logger.error("a batch failed: %s at %s", type(error).__name__, raised_at(error))
            first.fail(error)
            return
        for (work, index, _), result in zip(wanted, results, strict=True):
            work.accept(index, result)
