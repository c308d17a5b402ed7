# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scenes of the controlled discourse corpus: a deciding sentence, and the ambiguous sentences that it decides."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from .discourse_lexicon import (
    ADDRESSES,
    COLOURED_AS,
    COLOURS,
    ENCOUNTERS,
    FORMAL_OPENINGS,
    HABIT_TIMES,
    HABITS,
    INFORMAL_OPENINGS,
    NAMES,
    NOUN_CLASSES,
    NUMBERS,
    TWO_SENSES,
    Colour,
    NounClass,
)
from .discourse_sentences import (
    NUM_ELLIPSES,
    Sentence,
    Thing,
    do_to,
    elide_habit,
    introduce,
    say_colour_of,
    say_of,
    state_habit,
    with_name,
)

# For pronouns "single" means that the thing was introduced alone. Otherwise a thing of the other gender is beside it,
# and what the verb takes, the number, or an attribute (the colour) distinguishes them.
PHENOMENA = (
    "pronoun-single", "pronoun-verb", "pronoun-number", "pronoun-attribute", "register", "word-sense", "ellipsis",
)  # fmt: skip


@dataclass
class Scene:
    """A deciding sentence and one or more ambiguous sentences that it decides, with the phenomenon."""

    phenomenon: str
    decider: Sentence
    ambiguous: list[Sentence]


@dataclass
class Supply:
    """What a document may still use; nothing in a document may be decided by two things at once."""

    rng: random.Random
    classes: list[NounClass] = field(default_factory=lambda: list(NOUN_CLASSES))
    colours: list[Colour] = field(default_factory=lambda: list(COLOURS))
    has_topic: bool = False
    has_register: bool = False
    has_habit: bool = False

    def __post_init__(self) -> None:
        self.rng.shuffle(self.classes)
        self.rng.shuffle(self.colours)

    def available(self) -> list[str]:
        """The phenomena for which something is left."""
        possible = {
            "pronoun-single": bool(self.classes),
            "pronoun-verb": len(self.classes) >= 2,
            "pronoun-number": bool(self.classes),
            "pronoun-attribute": len(self.colours) >= 2 and any(item.has_colour for item in self.classes),
            "register": not self.has_register,
            "word-sense": not self.has_topic,
            "ellipsis": not self.has_habit,
        }
        return [phenomenon for phenomenon in PHENOMENA if possible[phenomenon]]

    def take_class(self, with_colour: bool = False) -> NounClass:
        """A noun class that the document has not used."""
        index = next(i for i, item in enumerate(self.classes) if item.has_colour or not with_colour)
        return self.classes.pop(index)


def make_scene(phenomenon: str, supply: Supply, choice: bool | None = None) -> Scene:
    """A new scene of a phenomenon.

    Args:
        phenomenon: one of `PHENOMENA`.
        supply: what the document may use; used items are removed.
        choice: the translation of the first ambiguous sentence: the feminine, informal or second one if True. None:
            random.
    """
    choice = supply.rng.random() < 0.5 if choice is None else choice
    if phenomenon.startswith("pronoun"):
        return _pronoun_scene(phenomenon, supply, choice)
    return {"register": _register_scene, "word-sense": _sense_scene, "ellipsis": _ellipsis_scene}[phenomenon](
        supply, choice
    )


def _pronoun_scene(phenomenon: str, supply: Supply, is_feminine: bool) -> Scene:
    """One thing, or two of different gender, then sentences about the one and about the other."""
    rng = supply.rng
    first_class = supply.take_class(with_colour=phenomenon == "pronoun-attribute")
    classes = [first_class]
    if phenomenon == "pronoun-single":
        things = [_single_thing(first_class, is_feminine, supply)]
    else:
        classes.append(supply.take_class() if phenomenon == "pronoun-verb" else first_class)
        things = _two_things(phenomenon, classes, is_feminine, supply)
    decider = introduce(rng.choice(NAMES), rng.choice(ENCOUNTERS), rng.sample(things, len(things)))
    return Scene(phenomenon, decider, [_speak_of(*pair, rng) for pair in zip(things, classes, strict=True)])


def _speak_of(thing: Thing, noun_class: NounClass, rng: random.Random) -> Sentence:
    """A sentence about a thing that does not name it; about its colour if it has one."""
    if thing.colour is not None:
        return say_colour_of(thing, thing.colour, rng.choice(COLOURED_AS))
    if rng.random() < 0.5:
        return do_to(thing, rng.choice(NAMES), noun_class.action)
    return say_of(thing, rng.choice(noun_class.predicates))


def _single_thing(noun_class: NounClass, is_feminine: bool, supply: Supply) -> Thing:
    """A thing of a colour, or several of a kind, or neither."""
    rng = supply.rng
    noun = rng.choice(noun_class.nouns(is_feminine))
    if noun_class.has_colour and supply.colours and rng.random() < 0.5:
        return Thing(noun, colour=supply.colours.pop())
    return Thing(noun, rng.choice(NUMBERS) if rng.random() < 0.5 else None)


def _two_things(phenomenon: str, classes: Sequence[NounClass], is_feminine: bool, supply: Supply) -> list[Thing]:
    """Two things that differ in gender and in the property that distinguishes them in this phenomenon."""
    rng = supply.rng
    numbers: list[tuple[str, str] | None] = [None, None]
    if phenomenon == "pronoun-number":
        numbers[rng.randrange(2)] = rng.choice(NUMBERS)
    elif phenomenon == "pronoun-verb" and rng.random() < 0.5:
        numbers = [rng.choice(NUMBERS), rng.choice(NUMBERS)]
    colours = [supply.colours.pop() if phenomenon == "pronoun-attribute" else None for _ in range(2)]
    return [
        Thing(rng.choice(noun_class.nouns(gender)), number, colour)
        for noun_class, gender, number, colour in zip(
            classes, (is_feminine, not is_feminine), numbers, colours, strict=True
        )
    ]


def _register_scene(supply: Supply, is_informal: bool) -> Scene:
    """An opening, then sentences that say `you` to the same person."""
    rng = supply.rng
    supply.has_register = True
    decider = Sentence(*rng.choice(INFORMAL_OPENINGS if is_informal else FORMAL_OPENINGS))
    addresses = rng.sample(ADDRESSES, 3)
    ambiguous = [
        Sentence(english, *((informal, formal) if is_informal else (formal, informal)))
        for english, formal, informal in addresses
    ]
    return Scene("register", decider, ambiguous)


def _sense_scene(supply: Supply, is_second: bool) -> Scene:
    """A topic, then sentences with a word that has another sense under another topic."""
    rng = supply.rng
    supply.has_topic = True
    word = rng.choice(TWO_SENSES)
    decider = with_name(rng.choice(word.topics[is_second]), rng.choice(NAMES))
    ambiguous = [
        Sentence(english, *((second, first) if is_second else (first, second)))
        for english, first, second in rng.sample(word.sentences, 2)
    ]
    return Scene("word-sense", decider, ambiguous)


def _ellipsis_scene(supply: Supply, is_second: bool) -> Scene:
    """A habit of somebody, then that somebody else has it too, or not, with the verb elided."""
    rng = supply.rng
    supply.has_habit = True
    habits = rng.sample(HABITS, 2)
    habit, other = habits[::-1] if is_second else habits
    somebody, another = rng.sample(NAMES, 2)
    decider = state_habit(somebody, habit, rng.choice(HABIT_TIMES))
    return Scene("ellipsis", decider, [elide_habit(another, rng.randrange(NUM_ELLIPSES), habit, other)])
