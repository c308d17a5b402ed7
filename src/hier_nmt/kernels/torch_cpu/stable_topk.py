# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The highest scores of each row: exact, of equal ones the first, and fast on a CPU."""

import torch

from .buffer_pool import BufferPool
from .processor import runs_eagerly_on_processor

# Up to this many scores or rows are sorted or given to `topk`, which takes fewer operations than maxima of integers.
FEW_SCORES = 2**14
FEW_ROWS = 64
# From this many columns on, those of a row stay adjacent in memory while the maxima are found.
MIN_ADJACENT = 32


def top_columns(scores: torch.Tensor, t: int, buffers: BufferPool) -> torch.Tensor:
    """Columns [..., t], in any order, of the t < N highest scores [..., N]; of equal ones the first wins.

    The scores must have no negative zeros, and no NaN, whose rank would depend on its bits.
    """
    is_few = scores.numel() <= FEW_SCORES or scores.shape[:-1].numel() <= FEW_ROWS
    is_few &= scores.device.type == "cpu"
    if is_few and runs_eagerly_on_processor(scores):
        best, found = scores.topk(t + 1)
        # Of equal scores, `topk` may take any.
        if ((best[..., -2] != best[..., -1]) | (best[..., -1] == -torch.inf)).all():
            return found[..., :t]
    if scores.dtype != torch.float32 or is_few:
        return scores.argsort(dim=-1, descending=True, stable=True)[..., :t]
    return first_maxima(ordered_keys(scores, buffers), t, buffers)


def top_members(
    scores: torch.Tensor, t: int, group_size: int, buffers: BufferPool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences [..., t] of the t < N highest scores [..., N], and these scores; of equal ones the first sentence wins.

    Args:
        scores: on a CPU, in the order of `sentence_search.Columns`; no NaN, but zeros may be negative.
        t: number of sentences.
        group_size: of the columns, a power of two.
        buffers: for the keys that are compared.
    """
    grouped = scores.unflatten(-1, (group_size, -1))
    # The best sentences are in the t groups with the best members; in ascending order, so that of equal ones the first
    # is the first sentence.
    groups = first_maxima(ordered_keys(grouped.amax(-2).add_(0.0), buffers), t, buffers).sort(-1).values
    members = grouped.transpose(-1, -2).gather(-2, groups[..., None].expand(*groups.shape, group_size)).flatten(-2)
    places = first_maxima(ordered_keys(members.add_(0.0), buffers), t, buffers)
    group = groups.gather(-1, places >> group_size.bit_length() - 1)
    return group.mul_(group_size).add_(places & group_size - 1), members.gather(-1, places)


def ordered_keys(scores: torch.Tensor, buffers: BufferPool) -> torch.Tensor:
    """Integer keys [N, ...] with the order of the float32 scores [..., N]; of equal scores the first has the largest.

    The lowest bits of a key hold its column. The maximum of integers is much faster to find than the maximum and the
    argmax of floats.

    Args:
        scores: as for `top_columns`.
        buffers: for the keys.
    """
    num_bits = (scores.shape[-1] - 1).bit_length()
    bits = scores.view(torch.int32).movedim(-1, 0)
    ordered = take_columns("ordered", bits.shape, torch.int32, buffers)
    torch.bitwise_right_shift(bits, 31, out=ordered)
    ordered.bitwise_and_(0x7FFFFFFF).bitwise_xor_(bits)  # the bits of negative floats have the reverse order
    keys = take_columns("keys", bits.shape, torch.int64, buffers).copy_(ordered).bitwise_left_shift_(num_bits)
    numbers = torch.arange(len(bits) - 1, -1, -1, device=scores.device)
    return keys.bitwise_or_(numbers.view(-1, *[1] * (bits.ndim - 1)))


def take_columns(name: str, shape: torch.Size, dtype: torch.dtype, buffers: BufferPool) -> torch.Tensor:
    """A buffer of the shape [N, ...], in memory in this order if N is small, else as [..., N].

    Long contiguous runs are compared quickly, but transposing many columns would take longer than it saves.
    """
    if shape[0] < MIN_ADJACENT:
        return buffers.take(name, *shape, dtype=dtype)
    return buffers.take(name, *shape[1:], shape[0], dtype=dtype).movedim(-1, 0)


def first_maxima(keys: torch.Tensor, t: int, buffers: BufferPool) -> torch.Tensor:
    """Columns [..., t] of the t <= N highest of `ordered_keys` [N, ...]."""
    num_keys = len(keys)
    lowest_bits = (1 << (num_keys - 1).bit_length()) - 1
    smallest = torch.iinfo(keys.dtype).min
    best = torch.empty((t, *keys.shape[1:]), dtype=keys.dtype, device=keys.device)
    rest = take_columns("rest", keys.shape, keys.dtype, buffers)
    torch.amax(keys, 0, out=best[0])
    for place in range(1, t):
        # Integers wrap around. Subtracting `turn` makes the last maximum the smallest integer, the maxima before it the
        # next, and the key just below it the largest.
        turn = best[place - 1].bitwise_xor(smallest)
        torch.sub(keys, turn, out=rest)
        torch.amax(rest, 0, out=best[place])
        best[place] += turn
    return (num_keys - 1 - (best & lowest_bits)).movedim(0, -1)
