# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""How large a window may be under a configuration's position encoding."""

from typing import Any, NamedTuple

from .configuration_choices import POSITION_ENCODINGS


class PositionLimits(NamedTuple):
    """Maximum sizes of a window, set by the sizes of learned position tables; None means no limit.

    Attributes:
        sentence_tokens: tokens of a sentence, including its separator.
        sentences: sentences of the window.
        paragraphs: paragraphs of the window.
    """

    sentence_tokens: int | None = None
    sentences: int | None = None
    paragraphs: int | None = None


def position_limits(config: Any) -> PositionLimits:
    """The limits of a configuration; no limits for a model of another family."""
    encoding = getattr(config, "position_encoding", None)
    if encoding not in POSITION_ENCODINGS:
        return PositionLimits()
    if encoding != "multi_level":
        is_limited = config.segment_embedding == "learned" and not config.sentence_position_clamp
        is_learned = encoding == "sequential" and config.position_embedding_type == "learned"
        restarts = is_learned and config.token_position_origin == "sentence"
        return PositionLimits(
            sentence_tokens=config.max_position_embeddings if restarts else None,
            sentences=config.max_sentence_positions if is_limited else None,
        )
    levels = config.structure_levels
    limited = [] if config.sentence_position_clamp else levels
    restarts = "token" in levels and config.token_position_origin == "sentence"
    return PositionLimits(
        config.max_position_embeddings if restarts else None,
        config.max_sentence_positions if "sentence" in limited else None,
        config.max_paragraph_positions if "paragraph" in limited else None,
    )
