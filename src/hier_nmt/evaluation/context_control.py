# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Contrastive examples with another context than their own, which shows what the context is worth to a model.

Accuracy that the own context brings, and that no context and a random one do not, comes from reading it.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from .contrastive_sets import ContrastiveExample

CONTEXTS = ("own", "none", "random")


def with_context(examples: Sequence[ContrastiveExample], kind: str, seed: int = 1) -> list[ContrastiveExample]:
    """The examples in the named kind of context.

    Args:
        examples: of one set.
        kind: `own`; `none`, each sentence alone; `random`, as many sentences of the context of another example, whose
            source sentence is another one and which shares no sentence of context with this one.
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
        if len(other.source_context) >= length and _are_strangers(example, other):
            target_context = other.target_context[-length:] if example.target_context else ()
            return replace(example, source_context=other.source_context[-length:], target_context=target_context)
    raise ValueError(f"no other example has {length} sentences of context that have nothing to do with {example.id!r}")


def _are_strangers(example: ContrastiveExample, other: ContrastiveExample) -> bool:
    return example.source != other.source and not set(example.source_context) & set(other.source_context)
