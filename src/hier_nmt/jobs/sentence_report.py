# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The sentences of a translation that a person should look at, in the order of the document."""

from collections.abc import Iterator, Sequence

from .confidence_calibration import ConfidenceCalibration, calibrated
from .translate_files import SentenceNotes, TranslatedSentence

# Of the sentences with a confidence, the share that is reported as the least confident, and the most of them.
LEAST_CONFIDENT_SHARE, MOST_LEAST_CONFIDENT = 0.1, 50


def report_lines(sentences: Sequence[TranslatedSentence], notes: Sequence[SentenceNotes]) -> Iterator[str]:
    """The report, line by line: each sentence with its number from 1, its confidence, why it is listed, its source and
    its translation; for a match of the translation memory also what is there."""
    least = least_confident(notes)
    listed = [index for index, note in enumerate(notes) if index in least or note.reasons or note.match is not None]
    # Exact matches are people's work.
    listed = [index for index in listed if not notes[index].is_exact]
    yield f"to look at: {len(listed)} of {len(sentences)} sentences"
    for index in listed:
        note, sentence = notes[index], sentences[index]
        confidence = "" if note.confidence is None else f" (confidence {note.confidence:.2f})"
        reasons = [*(["among the least confident"] if index in least else ()), *note.reasons]
        if note.match is not None:
            reasons.append(f"{note.match.score:g} % like a sentence of the memory")
        yield f"sentence {index + 1}{confidence}: {'; '.join(reasons)}"
        yield f"    {sentence.source}"
        yield f"    {sentence.translation}"
        if note.match is not None:
            yield f"    memory: {note.match.source}"
            yield f"    memory: {note.match.target}"


def calibrated_notes(notes: Sequence[SentenceNotes], calibration: ConfidenceCalibration | None) -> list[SentenceNotes]:
    """The notes with calibrated confidences."""
    return [note._replace(confidence=calibrated(note.confidence, calibration)) for note in notes]


def least_confident(notes: Sequence[SentenceNotes]) -> set[int]:
    """The indices of the least confident tenth of the sentences, at most 50, at least one."""
    known = [(note.confidence, index) for index, note in enumerate(notes) if note.confidence is not None]
    count = min(MOST_LEAST_CONFIDENT, max(1, round(LEAST_CONFIDENT_SHARE * len(known))))
    return {index for _, index in sorted(known)[:count]}
