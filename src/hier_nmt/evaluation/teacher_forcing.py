# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of a model's most likely tokens under teacher forcing; this is not a translation, but what training sees.

Dimensions: B batch, S source tokens, T target tokens, W width of word vectors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..configuration.configuration_choices import IGNORED_LABEL
from ..data.documents import ParallelDocument
from ..data.window_tables import document_windows
from ..translation.forced_decoding import padded
from ..translation.translation_vocabulary import TranslationVocabulary
from .metrics import Paragraphs, Score, ScoreReport, score_documents
from .nearest_words import NearestWords
from .progress import progress_bar

LABEL = "teacher-forced"
# Largest difference of two elements that count as the same (Shen 2023, section V.1.b).
VECTOR_THRESHOLD = 0.1


class ForcedDocuments(NamedTuple):
    """A model's most likely tokens under teacher forcing.

    Attributes:
        documents: for each document its paragraphs of sentences, each with as many tokens as the reference; sentences
            that are too long for any window are empty.
        vector_accuracy: see `vector_accuracy`; None for a model with a softmax over words.
    """

    documents: list[list[list[str]]]
    vector_accuracy: float | None


class _Row(NamedTuple):
    """A window, and its scored sentences: (document, sentence, first label, label that closes it)."""

    source_ids: list[int]
    target_ids: list[int]
    scored: list[tuple[int, int, int, int]]


@dataclass
class _Elements:
    """Number of elements of word vectors, and how many of them are close enough."""

    near: int = 0
    all: int = 0

    def add(self, predicted: torch.Tensor, truth: torch.Tensor) -> None:
        is_near = (predicted - truth).abs() < VECTOR_THRESHOLD
        self.near, self.all = self.near + int(is_near.sum()), self.all + is_near.numel()


def vector_accuracy(predicted: torch.Tensor, truth: torch.Tensor) -> float:
    """Percentage of elements of vectors [..., W] within 0.1 of the truth [..., W] (Shen 2023, section IV.2.d)."""
    elements = _Elements()
    elements.add(predicted, truth)
    return 100 * elements.near / elements.all


@torch.inference_mode()
def force_documents(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    documents: Sequence[ParallelDocument],
    target_tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    batch_size: int = 32,
    progress: bool = False,
) -> ForcedDocuments:
    """The model's most likely token at each position, given the reference's tokens before it.

    The windows are those of the training. As there, a sentence is scored in the window whose current sentence it is;
    for windows over whole documents all sentences are. Predicted word vectors are looked up in a k-d tree.

    Args:
        model: a window model, in evaluation mode.
        tokenizer, target_tokenizer: its tokenizers.
        documents: with references.
        source_language, target_language: ISO 639 codes, for a model of many languages; default: the model's.
        batch_size: windows in a batch.
        progress: shows a progress bar.

    Raises:
        ValueError: the tokenizers have no separators, or the model does not have the languages.
    """
    languages = (source_language, target_language)
    vocabulary = TranslationVocabulary.of_model(model, tokenizer, target_tokenizer, *languages)
    if not vocabulary.has_separators:
        raise ValueError("teacher forcing needs tokenizers with <sep> and <par>, as models of this package have")
    network: Any = model
    tree = None if _vector_size(model) is None else NearestWords(network.lm_head.weight)
    rows = [row for index, item in enumerate(documents) for row in _rows(model.config, vocabulary, index, item)]
    rows.sort(key=lambda row: max(len(row.source_ids), len(row.target_ids)), reverse=True)
    text_of_sentence: dict[tuple[int, int], str] = {}
    elements = _Elements()
    with progress_bar(len(rows), " windows", progress) as bar:
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            if tree is None:
                ids = network(**_inputs(model, batch, vocabulary.pad_token_ids)).logits.argmax(-1)
            else:
                states = network.model(**_inputs(model, batch, vocabulary.pad_token_ids)).last_hidden_state
                predicted = network.lm_head.vectors(states)  # [B, T, W]
                ids = tree.ids(predicted)
                _count(elements, predicted, batch, network.lm_head.weight)
            text_of_sentence.update(_sentences(ids.tolist(), batch, vocabulary))
            bar.update(len(batch))
    texts = [_in_paragraphs(index, document, text_of_sentence) for index, document in enumerate(documents)]
    return ForcedDocuments(texts, None if tree is None else 100 * elements.near / max(elements.all, 1))


def forced_report(forced: ForcedDocuments, references: Sequence[Paragraphs], **options: Any) -> ScoreReport:
    """The scores under teacher forcing, with names that differ from those of a translation's scores.

    Args:
        forced: from `force_documents`.
        references: of the documents.
        options: of `score_documents`.
    """
    report = score_documents(forced.documents, references, **{**options, "label": LABEL})
    scores = [
        replace(score, name=f"{LABEL} {score.name}", signature=f"{score.signature}|{LABEL}") for score in report.scores
    ]
    if forced.vector_accuracy is not None:
        signature = f"elements of word vectors within {VECTOR_THRESHOLD} of the reference's|{LABEL}"
        scores.append(Score("vector accuracy", forced.vector_accuracy, signature))
    return replace(report, scores=tuple(scores))


def _vector_size(model: PreTrainedModel) -> int | None:
    return getattr(model.config, "word_vector_size", None)


def _rows(config: Any, vocabulary: TranslationVocabulary, index: int, document: ParallelDocument) -> Iterator[_Row]:
    source_ids = vocabulary.encode(document.source_sentences)
    target_ids = vocabulary.encode(document.target_sentences, target=True)
    num_given = vocabulary.num_target_start_tokens
    source_lengths = [len(ids) + 1 for ids in source_ids]
    target_lengths = [num_given + len(ids) + 1 for ids in target_ids]
    ends = document.ends_paragraph
    for start, stop in document_windows(
        source_lengths, target_lengths, config.window_sentences, config.max_source_tokens, config.max_target_tokens
    ):
        first, scored = 0, []
        for sentence in range(start, stop):
            last = first + target_lengths[sentence] - 1
            scored.append((index, sentence, first, last))
            first = last + 1
        yield _Row(
            vocabulary.join(source_ids[start:stop], ends[start:stop], side=0),
            vocabulary.join(target_ids[start:stop], ends[start:stop], side=1),
            scored[-1:] if config.window_sentences else scored,
        )


def _inputs(model: PreTrainedModel, batch: Sequence[_Row], pad_token_ids: tuple[int, int]) -> dict[str, Any]:
    input_ids = padded([row.source_ids for row in batch], pad_token_ids[0])
    lengths = torch.tensor([[len(row.source_ids)] for row in batch])
    labels = padded([row.target_ids for row in batch], IGNORED_LABEL)
    prepare: Any = model.prepare_decoder_input_ids_from_labels
    inputs = {
        "input_ids": input_ids,
        "attention_mask": (torch.arange(input_ids.shape[1]) < lengths).long(),
        "decoder_input_ids": prepare(labels=labels),
    }
    return {**{name: tensor.to(model.device) for name, tensor in inputs.items()}, "use_cache": False}


def _count(elements: _Elements, predicted: torch.Tensor, batch: Sequence[_Row], vectors: torch.Tensor) -> None:
    """Adds the elements of the predicted vectors [B, T, W] in the scored sentences, closing tokens included."""
    for row, row_predicted in zip(batch, predicted, strict=True):
        target_ids = torch.tensor(row.target_ids, device=vectors.device)
        for _, _, first, last in row.scored:
            elements.add(row_predicted[first : last + 1], vectors[target_ids[first : last + 1]])


def _sentences(
    ids: list[list[int]], batch: Sequence[_Row], vocabulary: TranslationVocabulary
) -> Iterator[tuple[tuple[int, int], str]]:
    """((document, sentence), text) of the scored sentences."""
    skipped = {*vocabulary.ignored, *vocabulary.target_separators}
    for row, row_ids in zip(batch, ids, strict=True):
        for document, sentence, first, last in row.scored:
            text_ids = [token_id for token_id in row_ids[first:last] if token_id not in skipped]
            yield (document, sentence), vocabulary.decode(text_ids)


def _in_paragraphs(
    index: int, document: ParallelDocument, text_of_sentence: dict[tuple[int, int], str]
) -> list[list[str]]:
    paragraphs, sentence = [], 0
    for paragraph in document.paragraphs:
        sentence_indices = range(sentence, sentence + len(paragraph))
        paragraphs.append([text_of_sentence.get((index, sentence_index), "") for sentence_index in sentence_indices])
        sentence += len(paragraph)
    return paragraphs
