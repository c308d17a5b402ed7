# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.evaluation.context_control import with_context
from hier_nmt.evaluation.contrastive_sets import ContrastiveExample


def example(name: str, context: tuple[str, ...], source: str, target_context: tuple[str, ...] | None = None):
    translated = tuple(line.lower() for line in context) if target_context is None else target_context
    return ContrastiveExample(name, "anaphora", 1, context, translated, source, ("right", "wrong"), 0)


PAIR = [example("1a", ("A cup.",), "It broke."), example("1b", ("A glass.",), "It broke.")]
OTHER = example("2", ("First.", "Second."), "She left.")


def test_the_own_context_is_left_alone() -> None:
    assert with_context(PAIR, "own") == PAIR


def test_without_context_only_the_sentence_and_its_candidates_are_left() -> None:
    (alone,) = with_context([OTHER], "none")
    assert (alone.source_context, alone.target_context) == ((), ())
    assert (alone.source, alone.targets, alone.correct) == ("She left.", ("right", "wrong"), 0)


@pytest.mark.parametrize("seed", range(8))
def test_a_random_context_is_never_that_of_the_swapped_form(seed: int) -> None:
    """Its source sentence is the same: its context would decide the other way, not at random."""
    third = example("3", ("Old.", "New."), "He ran.")
    first, second, *_ = with_context([*PAIR, OTHER, third], "random", seed)
    for changed, own in zip((first, second), PAIR, strict=True):
        assert changed.source_context in {("Second.",), ("New.",)}
        assert changed.target_context == (changed.source_context[0].lower(),)
        assert (changed.id, changed.source, changed.targets) == (own.id, own.source, own.targets)


def test_random_contexts_differ_with_the_seed_and_not_without() -> None:
    examples = [example(str(number), (f"Before {number}.",), f"Now {number}.") for number in range(20)]
    assert with_context(examples, "random", 1) == with_context(examples, "random", 1)
    assert with_context(examples, "random", 1) != with_context(examples, "random", 2)


def test_a_context_without_translation_stays_without() -> None:
    first, _ = with_context([example("1", ("A.",), "B.", ()), example("2", ("C.",), "D.")], "random")
    assert (first.source_context, first.target_context) == (("C.",), ())


def test_a_set_without_another_context_is_an_error_that_names_the_example() -> None:
    with pytest.raises(ValueError, match=r"no other example has 1 context sentences .* '1a'"):
        with_context(PAIR, "random")
    with pytest.raises(ValueError, match="context 'swapped' is unknown"):
        with_context(PAIR, "swapped")
