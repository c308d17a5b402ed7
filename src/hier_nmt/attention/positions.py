# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Position encodings of tokens in documents: vectors that are added to the token embeddings.

Dimensions: B batch, S tokens, D model width.
"""

import math

import torch
from torch import nn

from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..ops.document_structure import DocumentStructure


def sinusoidal_encoding(positions: torch.Tensor, d_model: int, endpoint: bool = False) -> torch.Tensor:
    """Sines, then cosines, of the positions at D/2 wavelengths (Vaswani et al. 2017, section 3.5), float32 [B, S, D].

    Args:
        positions: integers [B, S] of any size.
        d_model: D; the last column of an odd D is zero.
        endpoint: the exponents of the frequencies reach 1, i / (D/2 - 1), instead of ending just before, i / (D/2).
    """
    num_frequencies = d_model // 2
    exponents = torch.arange(num_frequencies, device=positions.device, dtype=torch.float32)
    exponents = exponents / max(num_frequencies - int(endpoint), 1)
    angles = positions[..., None].float() * torch.exp(-math.log(10000.0) * exponents)
    encoding = torch.cat([angles.sin(), angles.cos()], dim=-1)
    return nn.functional.pad(encoding, (0, d_model - 2 * num_frequencies))


class PositionTable(nn.Embedding):
    """One learned vector per position of one structural level.

    Args:
        level: name of the level, for the error message.
        num_positions: size of the table; larger positions are an error, never a wrap-around.
        d_model: D.
        clamp: larger positions count as the last one instead.
    """

    def __init__(self, level: str, num_positions: int, d_model: int, clamp: bool = False):
        super().__init__(num_positions, d_model)
        self.level = level
        self.clamp = clamp

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        """Vectors [B, S, D] of the positions [B, S], counted from 0."""
        if self.clamp:
            return super().forward(positions.clamp_max(self.num_embeddings - 1))
        if not torch.compiler.is_compiling():
            largest = int(positions.max()) if positions.numel() else 0
            if largest >= self.num_embeddings:
                raise ValueError(
                    f"{self.level} position {largest} is beyond the end of its learned table, which has "
                    f"{self.num_embeddings} positions (0 to {self.num_embeddings - 1}). Shorten the window, train "
                    f"with a larger table, or (sentences and paragraphs) set sentence_position_clamp."
                )
        return super().forward(positions)


class Sinusoids(nn.Module):
    """Fixed vectors per position; the counterpart of `PositionTable` without parameters, for positions of any size."""

    def __init__(self, d_model: int, offset: int = 0, endpoint: bool = False):
        super().__init__()
        self.d_model, self.offset, self.endpoint = d_model, offset, endpoint

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        """Vectors [B, S, D] of the positions [B, S], counted from 0."""
        return sinusoidal_encoding(positions + self.offset, self.d_model, self.endpoint)


def position_vectors(
    kind: str, level: str, num_positions: int, config: HierNMTConfig, clamp: bool = False
) -> nn.Module:
    """The module that maps positions [B, S] to vectors [B, S, D], `sinusoidal` or `learned`."""
    if kind == "learned":
        return PositionTable(level, num_positions, config.d_model, clamp)
    return Sinusoids(config.d_model, config.position_offset, config.sinusoid_endpoint)


class SequentialPositions(nn.Module):
    """The ordinary absolute position in the window, with an optional segment embedding of the sentence index
    (Lupo et al. 2022, section 4.6.2)."""

    def __init__(self, config: HierNMTConfig):
        super().__init__()
        self.starts_in_sentence = config.token_position_origin == "sentence"
        self.tokens = position_vectors(config.position_embedding_type, "token", config.max_position_embeddings, config)
        self.segments = None
        if config.segment_embedding != "none":
            self.segments = position_vectors(
                config.segment_embedding,
                "sentence",
                config.max_sentence_positions,
                config,
                config.sentence_position_clamp,
            )

    def token_positions(self, structure: DocumentStructure) -> torch.Tensor:
        """The position [B, S] under which each token is looked up."""
        return structure.positions_in_sentence if self.starts_in_sentence else structure.token_positions

    def forward(self, structure: DocumentStructure) -> torch.Tensor:
        """Encodings [B, S, D] of the positions in `structure`."""
        encoding = self.tokens(self.token_positions(structure))
        if self.segments is not None:
            encoding = encoding + self.segments((structure.sentence_ids - 1).clamp_min(0))
        return encoding


class SegmentShiftedPositions(SequentialPositions):
    """Positions t + k * shift, k the index of the sentence in the window from 0 (Lupo et al. 2022, section 3.2)."""

    def __init__(self, config: HierNMTConfig):
        super().__init__(config)
        self.segment_shift = config.segment_shift

    def token_positions(self, structure: DocumentStructure) -> torch.Tensor:
        """Shifted positions [B, S]; the first sentence of a window is not shifted."""
        return structure.token_positions + (structure.sentence_ids - 1).clamp_min(0) * self.segment_shift


class MultiLevelPositions(nn.Module):
    """Sum of one learned vector per structural level (Trankova et al. 2024, section 1.2: PE(token, sentence, ...))."""

    def __init__(self, config: HierNMTConfig):
        super().__init__()
        sizes = {
            "token": config.max_position_embeddings,
            "sentence": config.max_sentence_positions,
            "paragraph": config.max_paragraph_positions,
        }
        self.token_position_origin = config.token_position_origin
        self.levels = nn.ModuleDict(
            {
                level: PositionTable(
                    level, sizes[level], config.d_model, clamp=config.sentence_position_clamp and level != "token"
                )
                for level in config.structure_levels
            }
        )

    def level_positions(self, structure: DocumentStructure, level: str) -> torch.Tensor:
        """Positions [B, S] of the tokens on one level, from 0."""
        if level == "sentence":
            return (structure.sentence_ids - 1).clamp_min(0)
        if level == "paragraph":
            return (structure.paragraph_ids - 1).clamp_min(0)
        if self.token_position_origin == "sentence":
            return structure.positions_in_sentence
        return structure.token_positions

    def forward(self, structure: DocumentStructure) -> torch.Tensor:
        """Encodings [B, S, D] of the positions in `structure`."""
        vectors = [table(self.level_positions(structure, level)) for level, table in self.levels.items()]
        return torch.stack(vectors).sum(0)


POSITION_ENCODING_CLASSES: dict[str, type[SequentialPositions] | type[MultiLevelPositions]] = {
    "sequential": SequentialPositions,
    "segment_shifted": SegmentShiftedPositions,
    "multi_level": MultiLevelPositions,
}
