# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The position of each token in its document: integers only, built once per forward pass.

Dimensions: B batch, S source tokens, N sentences, L tokens of a whole prefix (cached ones included), Q query tokens.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import torch

_GRAPH_SENTENCES: ContextVar[int | None] = ContextVar("graph_sentences", default=None)


def graph_sentences() -> int | None:
    """The fixed number of sentences of the graph that is being exported; None outside of an export."""
    # `torch.compile` cannot read the variable, and exports nothing.
    return None if torch.compiler.is_dynamo_compiling() else _GRAPH_SENTENCES.get()


@contextmanager
def graph_of_sentences(num_sentences: int) -> Iterator[None]:
    """Context in which a graph is exported for documents of this many sentences; those without tokens are masked."""
    token = _GRAPH_SENTENCES.set(num_sentences)
    try:
        yield
    finally:
        _GRAPH_SENTENCES.reset(token)


def separator_positions(input_ids: torch.Tensor, separator_token_ids: Collection[int]) -> torch.Tensor:
    """Boolean [B, S]: True where the token is one of the separators."""
    is_separator = torch.zeros_like(input_ids, dtype=torch.bool)
    for token_id in separator_token_ids:
        is_separator = is_separator | (input_ids == token_id)
    return is_separator


def sentence_ids_from_tokens(
    input_ids: torch.Tensor, separator_token_ids: Collection[int], attention_mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Sentence id of every token, [B, S]: 1, 2, ... from the start of the window, 0 on padding.

    A separator belongs to the sentence it closes. With only the paragraph separator as `separator_token_ids` the
    result is the paragraph ids.

    Args:
        input_ids: token ids [B, S].
        separator_token_ids: the ids that close a sentence (`<sep>`, `<par>`).
        attention_mask: [B, S], nonzero on tokens, zero on padding; None means no padding.
    """
    is_token = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
    closes = (separator_positions(input_ids, separator_token_ids) & is_token).long()
    return (closes.cumsum(-1) - closes + 1) * is_token


def continue_sentence_ids(
    sentence_ids: torch.Tensor, input_ids: torch.Tensor, separator_token_ids: Collection[int]
) -> torch.Tensor:
    """Sentence ids [B, L] of all tokens, which continue the given ids [B, P] of a prefix over the tokens after it.

    Args:
        sentence_ids: ids of the first P tokens, as the caller gave them.
        input_ids: ids of all L tokens.
        separator_token_ids: the ids that close a sentence.
    """
    num_given = sentence_ids.shape[1]
    closes = separator_positions(input_ids[:, num_given - 1 : -1], separator_token_ids).long()
    return torch.cat([sentence_ids, sentence_ids[:, -1:] + closes.cumsum(-1)], dim=1)


def tokens_before_sentence(sentence_ids: torch.Tensor) -> torch.Tensor:
    """How many tokens the sentences before that of each token have [B, S], for ascending ids; for graphs, which have no
    running maximum."""
    ids = sentence_ids.clamp_max(sentence_ids.shape[1])
    counts = ids.new_zeros(ids.shape[0], ids.shape[1] + 1).scatter_add(1, ids, (ids > 0).long())
    return (counts.cumsum(-1) - counts).gather(1, ids)


@dataclass(frozen=True)
class DocumentStructure:
    """Positions of every token in its window; all fields are integer tensors [B, S], and 0 in the first two is padding.

    Attributes:
        sentence_ids: 1, 2, ... from the start of the window.
        paragraph_ids: the same for paragraphs.
        token_positions: 0, 1, ... from the first token of the window; padding is not counted.
        positions_in_sentence: the same from the first token of each sentence.
    """

    sentence_ids: torch.Tensor
    paragraph_ids: torch.Tensor
    token_positions: torch.Tensor
    positions_in_sentence: torch.Tensor

    @classmethod
    def from_ids(cls, sentence_ids: torch.Tensor, paragraph_ids: torch.Tensor) -> "DocumentStructure":
        """Structure of tokens whose sentence and paragraph ids [B, S] are known."""
        token_positions = ((sentence_ids > 0).long().cumsum(-1) - 1).clamp_min(0)
        if graph_sentences() is not None:
            sentence_starts = tokens_before_sentence(sentence_ids)
        else:
            previous_ids = torch.nn.functional.pad(sentence_ids, (1, 0), value=-1)[:, :-1]
            sentence_starts = (token_positions * (sentence_ids != previous_ids)).cummax(-1).values
        return cls(sentence_ids, paragraph_ids, token_positions, token_positions - sentence_starts)

    @classmethod
    def unstructured(cls, attention_mask: torch.Tensor) -> "DocumentStructure":
        """Structure of rows of one sentence each, from their mask [B, S]."""
        is_token = attention_mask.long()
        return cls.from_ids(is_token, is_token)

    def select(self, start: int | torch.Tensor, length: int) -> "DocumentStructure":
        """The part [start, start + length) of every row; `start` may be a 0-dimensional tensor (static caches)."""
        indices = start + torch.arange(length, device=self.sentence_ids.device)
        parts = (self.sentence_ids, self.paragraph_ids, self.token_positions, self.positions_in_sentence)
        return DocumentStructure(*(part.index_select(1, indices) for part in parts))

    def with_sentence_ids(self, sentence_ids: torch.Tensor) -> "DocumentStructure":
        """The same positions with other sentence ids [B, S]."""
        return replace(self, sentence_ids=sentence_ids)


@dataclass(frozen=True)
class Sentences:
    """The sentences of a batch of documents, for attention that reads their encodings.

    Attributes:
        sentence_ids: sentence id of every token [B, S], from 1; 0 is padding.
        num_sentences: N, at least the largest id.
        mask: boolean [B, N], True on sentences that have tokens.
    """

    sentence_ids: torch.Tensor
    num_sentences: int
    mask: torch.Tensor

    @classmethod
    def from_ids(cls, sentence_ids: torch.Tensor) -> "Sentences":
        """The sentences with the ids in `sentence_ids` [B, S].

        Raises:
            ValueError: an id is larger than the number of tokens, so there are more sentences without tokens than with.
        """
        num_tokens, num_fixed = sentence_ids.shape[1], graph_sentences()
        if num_fixed is not None:
            num_sentences = num_fixed
        else:
            # Compiled code cannot depend on the values of the ids, so it allows for as many sentences as tokens.
            num_sentences = num_tokens if torch.compiler.is_compiling() else max(int(sentence_ids.max()), 1)
        if num_fixed is None and num_sentences > num_tokens:
            raise ValueError(
                f"Sentence id {num_sentences} with {num_tokens} tokens: count the sentences of a window from 1."
            )
        has_tokens = torch.zeros(sentence_ids.shape[0], num_sentences + 1, dtype=torch.bool, device=sentence_ids.device)
        return cls(sentence_ids, num_sentences, has_tokens.scatter(1, sentence_ids, True)[:, 1:])


@dataclass(frozen=True)
class CompletedSentences:
    """The complete sentences of a growing text: those after which another sentence has begun.

    The encoding of a complete sentence is cached with the first token after it, so that both stay in the cache equally
    long, whatever a decoder does with the tokens in its cache.

    Attributes:
        behind: index of the first token after each sentence [B, N]; 0 where the sentence is not complete.
        mask: boolean [B, N], True on complete sentences.
        first: index of the first token of the first sentence that the newest tokens complete; L if they complete none.
        sentence_ids: sentence ids of the tokens from `first` on [B, L - first], renumbered so that the lowest is 1; 0
            where the newest tokens do not complete the sentence.
        num_sentences: at least the largest of these ids.
        completed: for each of the newest tokens [B, Q], which of these sentences ends before it; 0 if none does.
    """

    behind: torch.Tensor
    mask: torch.Tensor
    first: int
    sentence_ids: torch.Tensor
    num_sentences: int
    completed: torch.Tensor

    @classmethod
    def from_ids(cls, sentence_ids: torch.Tensor, num_newest: int) -> "CompletedSentences":
        """The complete sentences of a text whose last Q tokens are new.

        Args:
            sentence_ids: sentence id of each token [B, L], from 1, ascending except for padding, which is 0.
            num_newest: Q.
        """
        num_tokens = sentence_ids.shape[1]
        ended = torch.nn.functional.pad(sentence_ids[:, :-1], (1, 0))
        ended = ended * (ended != sentence_ids)  # [B, L], id of the sentence that ends before a token
        num_sentences = max(int(ended.max()), 1)
        indices = torch.arange(num_tokens, device=sentence_ids.device).expand_as(ended)
        behind = sentence_ids.new_zeros(len(ended), num_sentences + 1).scatter_reduce(1, ended, indices, "amax")[:, 1:]
        newest = ended[:, num_tokens - num_newest :]
        is_needed = newest.new_zeros(len(ended), num_sentences + 1, dtype=torch.bool).scatter(1, newest, True)
        is_needed[:, 0] = False
        is_needed = is_needed.gather(1, sentence_ids.clamp_max(num_sentences)) & (sentence_ids <= num_sentences)
        columns = is_needed.any(0).nonzero()
        first = int(columns[0]) if len(columns) else num_tokens
        window = sentence_ids[:, first:] * is_needed[:, first:]
        before = int(window[window > 0].min()) - 1 if len(columns) else 0
        return cls(
            behind,
            behind > 0,
            first,
            (window - before).clamp_min(0),
            num_sentences - before,
            (newest - before).clamp_min(0),
        )
