# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures whether a model with conditional attention selects the sentences that decide its translations.

Dimensions: H heads, S source tokens, t selected sentences.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedModel

from ..data.text_files import read_text
from ..ops.document_structure import sentence_ids_from_tokens
from ..translation.translation_vocabulary import TranslationVocabulary

# Largest distance of a sentence before the ambiguous one that `SelectionReport.offsets` counts separately.
MAX_OFFSET = 15


class AmbiguousSentence(NamedTuple):
    """A sentence whose translation another sentence decides.

    Attributes:
        sentence, decided_by: indices of both, from 0.
        wrong_translation: its translation in the other sense.
    """

    sentence: int
    decided_by: int
    wrong_translation: str


class AnnotatedDocument(NamedTuple):
    """A document of the controlled corpus.

    Attributes:
        source, target: its sentences.
        ends_paragraph: whether each sentence is the last of its paragraph.
        ambiguities: its ambiguous sentences.
    """

    source: list[str]
    target: list[str]
    ends_paragraph: list[bool]
    ambiguities: list[AmbiguousSentence]


def read_annotated_documents(path: str | Path) -> Iterator[AnnotatedDocument]:
    """The English-French documents of a file from `hier-nmt corpus make-discourse`.

    Raises:
        ValueError: a line that is not an annotated document (with file and line), or a file without documents.
    """
    lines = read_text(path).removesuffix("\n").split("\n")
    if lines == [""]:
        raise ValueError(f"{path} has no document")
    for number, line in enumerate(lines, start=1):
        try:
            yield _annotated_document(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: not an annotated document ({error!r})") from None


def _annotated_document(item: Any) -> AnnotatedDocument:
    """The document of a line; ValueError, KeyError or TypeError if it is something else."""
    paragraphs = [(paragraph["en"], paragraph["fr"]) for paragraph in item["paragraphs"]]
    source, target = ([text for pair in paragraphs for text in pair[side]] for side in (0, 1))
    if not source or len(source) != len(target):
        raise ValueError(f"{len(source)} English and {len(target)} French sentences")
    ambiguities = [AmbiguousSentence(*(one[name] for name in AmbiguousSentence._fields)) for one in item["annotations"]]
    texts = [*source, *target, *(one.wrong_translation for one in ambiguities)]
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise TypeError(f"{wrong[0]!r} is not a text")
    for one in ambiguities:
        if not {one.sentence, one.decided_by} <= set(range(len(source))):
            raise ValueError(f"sentence {one.sentence}, decided by {one.decided_by}, in {len(source)} sentences")
    ends = [index == len(english) - 1 for english, _ in paragraphs for index in range(len(english))]
    return AnnotatedDocument(source, target, ends, ambiguities)


@dataclass
class SelectionReport:
    """How often ambiguous sentences select their deciding sentence, by distance.

    Attributes:
        found: for each distance, whether any head selected the deciding sentence for any token of the ambiguous
            sentence.
        control: for each distance, the share of other sentences, up to `MAX_OFFSET` before, that were selected: the
            expected recall of a random choice.
        found_by_word, control_by_word: the same for the one token that predicts the first token in which the
            translation differs from the wrong one; empty for a source.
        counts: for each distance, how many of an ambiguous sentence's selections of earlier sentences were of the
            deciding sentence, and how many on average of each other sentence.
        offsets: for each distance, the number of selections of the sentence k before, for k = 0, 1, ...
            (`MAX_OFFSET` at most), and last of all others.
    """

    found: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))
    control: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    found_by_word: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))
    control_by_word: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    offsets: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * (MAX_OFFSET + 2)))

    def add(
        self, ambiguous: int, deciding: int, selected: Sequence[int], selected_by_word: Sequence[int] | None = None
    ) -> None:
        """Counts the heads' selections for the tokens of an ambiguous sentence, and for the deciding token."""
        distance = ambiguous - deciding
        others = [s for s in range(max(0, ambiguous - MAX_OFFSET), ambiguous) if s != deciding]
        if others:
            of_others = sum(selected.count(sentence) for sentence in others) / len(others)
            self.counts[distance].append((selected.count(deciding), of_others))
        shares = [(selected, self.found, self.control)]
        if selected_by_word is not None:
            shares.append((selected_by_word, self.found_by_word, self.control_by_word))
        for chosen, found, control in shares:
            found[distance].append(deciding in chosen)
            if others:
                control[distance].append(sum(sentence in chosen for sentence in others) / len(others))
        for sentence in selected:
            offset = ambiguous - sentence
            self.offsets[distance][offset if 0 <= offset <= MAX_OFFSET else -1] += 1

    def rows(self) -> list[dict[str, Any]]:
        """One row per distance: `distance`, `recall`, `control`, `recall_by_word` and `control_by_word` in percent,
        `preference`, how many times as often as another sentence the deciding one was selected (None if nothing was
        counted), and `count`."""
        return [
            {
                "distance": distance,
                "recall": _percent(found),
                "control": _percent(self.control[distance]),
                "recall_by_word": _percent(self.found_by_word[distance]),
                "control_by_word": _percent(self.control_by_word[distance]),
                "preference": _preference(self.counts[distance]),
                "count": len(found),
            }
            for distance, found in sorted(self.found.items())
        ]


def _percent(shares: Sequence[float]) -> float | None:
    return 100 * sum(shares) / len(shares) if shares else None


def _preference(counts: Sequence[tuple[int, float]]) -> float | None:
    of_others = sum(others for _, others in counts)
    return sum(deciding for deciding, _ in counts) / of_others if of_others else None


@torch.inference_mode()
def measure_selection(
    model: PreTrainedModel, vocabulary: TranslationVocabulary, documents: Iterable[AnnotatedDocument]
) -> dict[str, SelectionReport]:
    """The last layer's selections in the ambiguous sentences of documents, for each slot of the model that selects:
    `encoder` and `decoder` (self-attention) and `cross`.

    The decoder reads the given translation.

    Args:
        model: of this package, with conditional or hierarchical attention.
        vocabulary: its tokenizers.
        documents: annotated documents.

    Raises:
        ValueError: the model selects no sentences.
    """
    reports: dict[str, SelectionReport] = defaultdict(SelectionReport)
    config: Any = model.config
    for document in documents:
        input_ids, labels = (
            torch.tensor(
                [vocabulary.join(vocabulary.encode(sentences, target=side == 1), document.ends_paragraph, side)]
            )
            for side, sentences in enumerate((document.source, document.target))
        )
        output = model(
            input_ids=input_ids.to(model.device),
            labels=labels.to(model.device),
            output_selected_sentences=True,
            output_sentence_attentions=True,
        )
        source_ids = sentence_ids_from_tokens(input_ids, config.separator_token_ids)[0]
        # The query that predicts a label is one position before it.
        target_ids = sentence_ids_from_tokens(labels, config.separator_token_ids)[0]
        decided_at = _deciding_positions(document, vocabulary)
        for slot, sentence_ids in (("encoder", source_ids), ("decoder", target_ids), ("cross", target_ids)):
            selected = getattr(output, f"{slot}_selected_sentences")
            if selected:
                scores = getattr(output, f"{slot}_sentence_attentions")[-1][0].cpu()
                positions = [None] * len(document.ambiguities) if slot == "encoder" else decided_at
                _count(reports[slot], selected[-1][0].cpu(), scores, sentence_ids, document.ambiguities, positions)
    if not reports:
        raise ValueError("this model selects no sentences: no slot has conditional or hierarchical attention")
    return reports


def _deciding_positions(document: AnnotatedDocument, vocabulary: TranslationVocabulary) -> list[int]:
    """For each ambiguity the first token of its sentence in which its translation differs from the wrong one."""
    positions = []
    for one in document.ambiguities:
        rows = vocabulary.encode([document.target[one.sentence], one.wrong_translation], target=True)
        differ = (position for position, (right, wrong) in enumerate(zip(*rows, strict=False)) if right != wrong)
        positions.append(vocabulary.num_target_start_tokens + next(differ, min(map(len, rows))))
    return positions


def _count(
    report: SelectionReport,
    selected: torch.Tensor,
    scores: torch.Tensor,
    sentence_ids: torch.Tensor,
    ambiguities: Sequence[AmbiguousSentence],
    positions: Sequence[int | None],
) -> None:
    """Adds the selections [H, S, t] of a document, whose tokens belong to the sentences `sentence_ids` [S]."""
    for (ambiguous, deciding, _), position in zip(ambiguities, positions, strict=True):
        tokens = (sentence_ids == ambiguous + 1).nonzero()[:, 0]
        of_word = None if position is None else _chosen(selected, scores, tokens[position : position + 1])
        report.add(ambiguous, deciding, _chosen(selected, scores, tokens), of_word)


def _chosen(selected: torch.Tensor, scores: torch.Tensor, tokens: torch.Tensor) -> list[int]:
    """The sentences that the tokens select in all heads, from selections and scores [H, S, t]."""
    return selected[:, tokens][scores[:, tokens] > -torch.inf].tolist()
