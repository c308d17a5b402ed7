# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import threading
from collections.abc import Sequence

import pytest

from hier_nmt.server.failures import Closing, QueueFull
from hier_nmt.server.scheduler import Scheduler, Work
from hier_nmt.translation.translation_documents import SourceDocument

SECONDS = 20


class Translator:
    """Writes sentences in capital letters, a batch whenever it is let."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.glossaries: list = []
        self.has_begun, self.may_go_on = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, parts: Sequence[SourceDocument], glossary) -> list[list[list[str]]]:
        self.batches.append([text for part in parts for paragraph in part.paragraphs for text in paragraph])
        self.glossaries.append(glossary)
        self.has_begun.release()
        assert self.may_go_on.acquire(timeout=SECONDS)
        if any("fail" in text for text in self.batches[-1]):
            raise IndexError("fail")
        return [[[text.upper() for text in paragraph] for paragraph in part.paragraphs] for part in parts]

    def begin(self, scheduler: Scheduler) -> Work:
        """Occupies the scheduler, so that what is submitted next waits."""
        work = scheduler.submit(of("first"))
        assert self.has_begun.acquire(timeout=SECONDS)
        return work

    def go_on(self, num_batches: int = 100) -> None:
        self.may_go_on.release(num_batches)


def of(*parts: str, glossary=None) -> Work:
    """A work with a part for each text, whose sentences are its words."""
    return Work([SourceDocument([part.split()]) for part in parts], glossary)


@pytest.fixture
def translator():
    return Translator()


@pytest.fixture
def scheduler(translator: Translator):
    scheduler = Scheduler(translator, max_waiting=40, batch_sentences=6, turn_sentences=2)
    yield scheduler
    translator.go_on()
    scheduler.close()


def results(*works: Work) -> list:
    return [work.future.result(timeout=SECONDS) for work in works]


def test_what_waits_is_translated_in_one_batch_and_given_back_to_each(scheduler, translator) -> None:
    translator.begin(scheduler)
    works = [scheduler.submit(of("a b")), scheduler.submit(of("c", "d")), scheduler.submit(of("e"))]
    translator.go_on()
    assert results(*works) == [[[["A", "B"]]], [[["C"]], [["D"]]], [[["E"]]]]
    assert translator.batches == [["first"], ["a", "b", "c", "d", "e"]]


def test_a_long_document_does_not_hold_up_a_short_text(scheduler, translator) -> None:
    translator.begin(scheduler)
    long = scheduler.submit(of(*("abcdefghijklmnopqrstuvwxy")))
    short = scheduler.submit(of("short"))
    translator.go_on(2)
    assert results(short) == [[[["SHORT"]]]]
    assert translator.batches[1] == ["a", "b", "c", "d", "e", "short"]
    assert not long.future.done()
    translator.go_on()
    assert results(long) == [[[[letter.upper()]] for letter in "abcdefghijklmnopqrstuvwxy"]]


def test_short_texts_do_not_hold_up_a_long_document(scheduler, translator) -> None:
    translator.begin(scheduler)
    long = scheduler.submit(of("a", "b", "c", "d"))
    short = [scheduler.submit(of(f"s{number}")) for number in range(20)]
    translator.go_on(3)
    results(short[0])
    assert [batch[:2] for batch in translator.batches[1:2]] == [["a", "b"]]
    translator.go_on()
    results(long, *short)
    # Everybody had a turn before its next.
    assert translator.batches[4] == ["s16", "s17", "s18", "s19", "c", "d"]


def test_a_part_larger_than_a_batch_is_a_batch(scheduler, translator) -> None:
    translator.go_on()
    work = scheduler.submit(of("a b c d e f g h"))
    assert results(work) == [[[list("ABCDEFGH")]]]
    assert translator.batches == [list("abcdefgh")]


def test_texts_with_different_glossaries_are_in_different_batches(scheduler, translator) -> None:
    terms = (("a", "b"),)
    translator.begin(scheduler)
    works = [scheduler.submit(of("a")), scheduler.submit(of("b", glossary=terms)), scheduler.submit(of("c"))]
    translator.go_on()
    results(*works)
    assert translator.batches[1:] == [["a", "c"], ["b"]]
    assert translator.glossaries[1:] == [None, terms]


def test_what_is_not_to_be_translated_is_run_in_a_batch_of_its_own(scheduler, translator) -> None:
    def count(parts: Sequence[SourceDocument], glossary) -> list[int]:
        return [len(part.paragraphs[0]) for part in parts]

    translator.begin(scheduler)
    counted = scheduler.submit(Work([SourceDocument([["a", "b"]]), SourceDocument([["c"]])], run=count))
    translated = scheduler.submit(of("d"))
    translator.go_on()
    assert counted.future.result(timeout=SECONDS) == [2, 1]
    assert translated.future.result(timeout=SECONDS) == [[["D"]]]
    assert translator.batches == [["first"], ["d"]]


def test_what_is_cancelled_leaves_the_queue(scheduler, translator) -> None:
    translator.begin(scheduler)
    work = scheduler.submit(of("a", "b"))
    assert scheduler.num_waiting == 2
    assert work.future.cancel()
    assert scheduler.num_waiting == 0
    translator.go_on()
    results(scheduler.submit(of("c")))
    assert translator.batches == [["first"], ["c"]]


def test_what_is_cancelled_while_it_is_translated_harms_nobody(scheduler, translator) -> None:
    first = translator.begin(scheduler)
    other = scheduler.submit(of("a"))
    assert first.future.cancel()
    translator.go_on()
    assert results(other) == [[[["A"]]]]


def test_a_full_queue_takes_nothing_more(scheduler, translator) -> None:
    translator.begin(scheduler)
    scheduler.submit(of(*"abcdefghij"))
    with pytest.raises(QueueFull):
        scheduler.submit(of(*("x" for _ in range(31))))
    scheduler.submit(of(*("x" for _ in range(30))))
    with pytest.raises(QueueFull):
        scheduler.submit(of("y"))


def test_an_empty_queue_takes_a_work_of_any_length(scheduler, translator) -> None:
    translator.go_on()
    assert len(results(scheduler.submit(of(*("x" for _ in range(100)))))[0]) == 100


def test_nothing_to_translate_is_done_at_once(scheduler) -> None:
    assert results(scheduler.submit(of())) == [[]]


def test_a_failure_is_of_the_work_that_caused_it_alone(scheduler, translator) -> None:
    translator.begin(scheduler)
    good, bad = scheduler.submit(of("good", "more")), scheduler.submit(of("fail"))
    translator.go_on()
    assert results(good) == [[[["GOOD"]], [["MORE"]]]]
    with pytest.raises(IndexError):
        results(bad)
    assert results(scheduler.submit(of("later"))) == [[[["LATER"]]]]


def test_the_end_is_told_to_who_waits(scheduler, translator) -> None:
    first = translator.begin(scheduler)
    waiting = scheduler.submit(of("a"))
    closing = threading.Thread(target=scheduler.close)
    closing.start()
    with pytest.raises(Closing):
        results(waiting)
    translator.go_on()
    closing.join(timeout=SECONDS)
    assert results(first) == [[[["FIRST"]]]]
    with pytest.raises(Closing):
        scheduler.submit(of("b"))
