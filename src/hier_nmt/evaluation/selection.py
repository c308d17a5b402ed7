# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether a model with conditional attention looks at the sentences that decide its translations.

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

from ..models.document_structure import sentence_ids_from_tokens
from ..models.translation_vocabulary import TranslationVocabulary

# Sentences before the ambiguous one that are told apart in `SelectionReport.offsets`.
LARGEST_OFFSET = 15


class AnnotatedDocument(NamedTuple):
    """A document of the controlled corpus.

    Attributes:
        source, target: its sentences.
        ends_paragraph: whether each is the last of its paragraph.
        ambiguities: (ambiguous sentence, deciding sentence) from 0.
    """

    source: list[str]
    target: list[str]
    ends_paragraph: list[bool]
    ambiguities: list[tuple[int, int]]


def read_annotated_documents(path: str | Path) -> Iterator[AnnotatedDocument]:
    """The English-French documents of a file that `training/make_discourse_corpus.py` wrote.

    Raises:
        ValueError: a line that is no annotated document, with file and line.
    """
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                item = json.loads(line)
                paragraphs = [(paragraph["en"], paragraph["fr"]) for paragraph in item["paragraphs"]]
                ambiguities = [(one["sentence"], one["decided_by"]) for one in item["annotations"]]
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: no annotated document ({error!r})") from None
            source, target = ([text for pair in paragraphs for text in pair[side]] for side in (0, 1))
            ends = [index == len(english) - 1 for english, _ in paragraphs for index in range(len(english))]
            yield AnnotatedDocument(source, target, ends, ambiguities)


@dataclass
class SelectionReport:
    """How often ambiguous sentences select the sentence that decides them, by its distance.

    Attributes:
        found: for each distance, whether the deciding sentence was among those selected by some head for some token of
            the ambiguous sentence.
        control: for each distance, the share of the other sentences up to `LARGEST_OFFSET` before that were: what
            choosing without looking would give.
        offsets: for each distance, how many of the selections went to the sentence k before, k = 0, 1, ...
            (`LARGEST_OFFSET` at most) and, last, to any other.
    """

    found: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))
    control: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    offsets: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * (LARGEST_OFFSET + 2)))

    def add(self, ambiguous: int, deciding: int, selected: Sequence[int]) -> None:
        """Counts what the tokens and heads of one ambiguous sentence `selected`."""
        distance, chosen = ambiguous - deciding, set(selected)
        others = [s for s in range(max(0, ambiguous - LARGEST_OFFSET), ambiguous) if s != deciding]
        self.found[distance].append(deciding in chosen)
        if others:
            self.control[distance].append(sum(sentence in chosen for sentence in others) / len(others))
        for sentence in selected:
            offset = ambiguous - sentence
            self.offsets[distance][offset if 0 <= offset <= LARGEST_OFFSET else -1] += 1

    def rows(self) -> list[dict[str, Any]]:
        """One row per distance: `distance`, `recall` and `control` in percent, `count`."""
        return [
            {
                "distance": distance,
                "recall": 100 * sum(found) / len(found),
                "control": 100 * sum(self.control[distance]) / max(len(self.control[distance]), 1),
                "count": len(found),
            }
            for distance, found in sorted(self.found.items())
        ]


@torch.inference_mode()
def measure_selection(
    model: PreTrainedModel, vocabulary: TranslationVocabulary, documents: Iterable[AnnotatedDocument]
) -> dict[str, SelectionReport]:
    """What the last layer selects in the ambiguous sentences of the documents, for each slot of the model that selects:
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
        # What writes a label stands one place before it.
        target_ids = sentence_ids_from_tokens(labels, config.separator_token_ids)[0]
        for slot, sentence_ids in (("encoder", source_ids), ("decoder", target_ids), ("cross", target_ids)):
            selected = getattr(output, f"{slot}_selected_sentences")
            if selected:
                scores = getattr(output, f"{slot}_sentence_attentions")[-1][0].cpu()
                _count(reports[slot], selected[-1][0].cpu(), scores, sentence_ids, document.ambiguities)
    if not reports:
        raise ValueError("this model selects no sentences: no slot has conditional or hierarchical attention")
    return reports


def _count(
    report: SelectionReport,
    selected: torch.Tensor,
    scores: torch.Tensor,
    sentence_ids: torch.Tensor,
    ambiguities: Sequence[tuple[int, int]],
) -> None:
    """Adds the selections [H, S, t] of a document, whose tokens belong to the sentences `sentence_ids` [S]."""
    for ambiguous, deciding in ambiguities:
        is_token = sentence_ids == ambiguous + 1
        is_chosen = scores[:, is_token] > -torch.inf
        report.add(ambiguous, deciding, selected[:, is_token][is_chosen].tolist())
