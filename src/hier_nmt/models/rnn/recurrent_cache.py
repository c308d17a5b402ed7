# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a recurrent decoder remembers between the steps of `generate`.

Dimensions: B batch, S source tokens, E embedding width, D width of the states, A width of attention.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from transformers.cache_utils import Cache

TensorChange = Callable[[torch.Tensor], torch.Tensor]


class DecoderState(NamedTuple):
    """The state of a recurrent decoder after some target tokens.

    Attributes:
        layers: of each recurrent layer its tensors [B, D].
        attentional_vector: the last one [B, E], which input feeding reads.
    """

    layers: tuple[tuple[torch.Tensor, ...], ...]
    attentional_vector: torch.Tensor

    def changed(self, change: TensorChange) -> "DecoderState":
        """The state with a function applied to each of its tensors."""
        layers = tuple(tuple(change(tensor) for tensor in layer) for layer in self.layers)
        return DecoderState(layers, change(self.attentional_vector))


class RecurrentCache(Cache):
    """The state of a recurrent decoder as a cache of Transformers: its size does not grow with the target.

    Attributes:
        state: after the tokens seen so far; None before the first.
        source_keys: keys of the source tokens [B, S, A], made once; None without attention.
    """

    def __init__(self) -> None:
        super().__init__(layers=[])
        self.state: DecoderState | None = None
        self.source_keys: torch.Tensor | None = None
        self._num_tokens = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_tokens={self._num_tokens}, batch_size={self.batch_size})"

    def remember(self, state: DecoderState, source_keys: torch.Tensor | None, num_tokens: int) -> None:
        """Stores the state after `num_tokens` further tokens."""
        self.state, self.source_keys = state, source_keys
        self._num_tokens += num_tokens

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Number of target tokens seen, including left padding."""
        return self._num_tokens

    def get_max_length(self, layer_idx: int | None = None) -> int:
        """-1: the length of the target is not limited."""
        return -1

    def reset(self) -> None:
        """Forgets everything."""
        self.state, self.source_keys, self._num_tokens = None, None, 0

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Puts rows `beam_idx` [B] in the place of the present ones."""
        self.batch_select_indices(beam_idx)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keeps the rows `indices`, in that order."""
        self._change(lambda tensor: tensor.index_select(0, indices.to(tensor.device)))

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Puts each row there `repeats` times."""
        self._change(lambda tensor: tensor.repeat_interleave(repeats, dim=0))

    def crop(self, tokens_to_remove: int) -> None:
        """Does nothing for 0 tokens; ValueError for any other number, as a recurrent state cannot be rolled back."""
        if tokens_to_remove:
            raise ValueError(f"a recurrent state cannot be rolled back by tokens_to_remove={tokens_to_remove}")

    @property
    def batch_size(self) -> int:
        """Number of rows B, or -1 before the first token."""
        return -1 if self.state is None else len(self.state.attentional_vector)

    @property
    def is_initialized(self) -> bool:
        """Whether there is a state."""
        return self.state is not None

    @property
    def is_compileable(self) -> bool:
        """False: sentences are packed by their lengths."""
        return False

    @property
    def is_croppable(self) -> bool:
        """False, see `crop`."""
        return False

    def _change(self, change: TensorChange) -> None:
        self.state = None if self.state is None else self.state.changed(change)
        self.source_keys = None if self.source_keys is None else change(self.source_keys)
