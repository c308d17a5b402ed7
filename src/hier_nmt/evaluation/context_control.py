# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Contrastive examples with a replaced context, to measure how much a model uses the context.

Accuracy that is reached with the example's own context, but not without context or with a random one, comes from using
it.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from .contrastive_sets import ContrastiveExample

CONTEXTS = ("own", "none", "random")


def with_context(examples: Sequence[ContrastiveExample], kind: str, seed: int = 1) -> list[ContrastiveExample]:
    """The examples with the named kind of context.

    Args:
        examples: the examples of one set.
        kind: `own`; `none`, each sentence alone; `random`, as many context sentences of another example with a
            different source sentence and no common context sentence.
        seed: of the random choice.

    Raises:
        ValueError: the kind is unknown, or no other example has such a context.
    """
    if kind == "own":
        return list(examples)
    if kind == "none":
        return [replace(example, source_context=(), target_context=()) for example in examples]
    if kind != "random":
        raise ValueError(f"context {kind!r} is unknown; choose one of {', '.join(CONTEXTS)}")
    generator = random.Random(seed)
    return [_with_context_of_another(example, examples, generator) for example in examples]


def _with_context_of_another(
    example: ContrastiveExample, examples: Sequence[ContrastiveExample], generator: random.Random
) -> ContrastiveExample:
    length = len(example.source_context)
    if length == 0:
        return example
    start = generator.randrange(len(examples))
    for other in (*examples[start:], *examples[:start]):
        if len(other.source_context) >= length and _are_unrelated(example, other):
            target_context = other.target_context[-length:] if example.target_context else ()
            return replace(example, source_context=other.source_context[-length:], target_context=target_context)
    raise ValueError(f"no other example has {length} context sentences that are unrelated to {example.id!r}")


def _are_unrelated(example: ContrastiveExample, other: ContrastiveExample) -> bool:
    return example.source != other.source and not set(example.source_context) & set(other.source_context)
