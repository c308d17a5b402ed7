# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rules of the controlled discourse corpus: functions that build sentence pairs from the lexicon."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from .discourse_lexicon import Action, Colour, Habit, Noun, Predicate


class Sentence(NamedTuple):
    """An English sentence and its French translation; an ambiguous sentence also has its other translation."""

    english: str
    french: str
    other_french: str | None = None

    @property
    def words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(words that only the translation has, words that only the other one has), lower case."""
        right, wrong = (_word_list(text) for text in (self.french, self.other_french or self.french))
        return (
            tuple(word for word in right if word not in wrong),
            tuple(word for word in wrong if word not in right),
        )


class Thing(NamedTuple):
    """A noun as a document uses it: one thing of its kind, or several; perhaps with a colour."""

    noun: Noun
    number: tuple[str, str] | None = None
    colour: Colour | None = None

    @property
    def is_plural(self) -> bool:
        return self.number is not None

    @property
    def pronoun(self) -> str:
        """The French subject pronoun, capitalised."""
        return ("Elle" if self.noun.is_feminine else "Il") + ("s" if self.is_plural else "")

    @property
    def english(self) -> str:
        """The English noun phrase, indefinite."""
        if self.number is not None:
            return f"{self.number[0]} {self.noun.english_plural}"
        phrase = self.noun.english if self.colour is None else f"{self.colour.english} {self.noun.english}"
        return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"

    @property
    def french(self) -> str:
        """The French noun phrase, indefinite; an adjective of colour follows the noun and agrees."""
        if self.number is not None:
            return f"{self.number[1]} {self.noun.french_plural}"
        phrase = f"{'une' if self.noun.is_feminine else 'un'} {self.noun.french}"
        if self.colour is None:
            return phrase
        return f"{phrase} {self.colour.feminine if self.noun.is_feminine else self.colour.masculine}"


def introduce(name: str, encounter: tuple[str, str], things: Sequence[Thing]) -> Sentence:
    """`Anna draws a lamp and a coat.`, or only one of them."""
    return Sentence(
        f"{name} {encounter[0]} {' and '.join(thing.english for thing in things)}.",
        f"{name} {encounter[1]} {' et '.join(thing.french for thing in things)}.",
    )


def say_of(thing: Thing, predicate: Predicate) -> Sentence:
    """`It is switched off.`; the French subject and participle take the gender of the thing."""
    subject, verb = ("They", predicate.english_plural) if thing.is_plural else ("It", predicate.english)
    right, other = (
        f"{_pronoun(is_feminine, thing.is_plural)} {predicate.french(is_feminine, thing.is_plural)}."
        for is_feminine in (thing.noun.is_feminine, not thing.noun.is_feminine)
    )
    return Sentence(f"{subject} {verb}.", right, other)


def do_to(thing: Thing, name: str, action: Action) -> Sentence:
    """`Anna has eaten it.`; the French participle takes the gender of the thing."""
    it, start, ending = ("them", "les a", "s") if thing.is_plural else ("it", "l'a", "")
    right, other = (
        f"{name} {start} {action.feminine if is_feminine else action.masculine}{ending}."
        for is_feminine in (thing.noun.is_feminine, not thing.noun.is_feminine)
    )
    return Sentence(f"{name} has {action.english.format(it=it)}.", right, other)


def say_colour_of(thing: Thing, colour: Colour, compared: tuple[str, str]) -> Sentence:
    """`The door is the same green as it is.`, about the one thing of that colour."""
    genders = (thing.noun.is_feminine, not thing.noun.is_feminine)
    right, other = (
        f"{compared[1]} est du même {colour.masculine} {_AS_IT_IS[is_feminine]}." for is_feminine in genders
    )
    return Sentence(f"{compared[0]} is the same {colour.english} as it is.", right, other)


def with_name(pair: tuple[str, ...], name: str) -> Sentence:
    """A sentence pair of the lexicon with a name filled in; a `que` before it is elided if necessary."""
    return Sentence(*(text.format(name=name) for text in pair))


def state_habit(name: str, habit: Habit, time: tuple[str, str]) -> Sentence:
    """`Anna swims every day.`"""
    return Sentence(f"{name} {habit.english} {time[0]}.", f"{name} {habit.french} {time[1]}.")


def elide_habit(name: str, form: int, habit: Habit, other: Habit) -> Sentence:
    """`Paul never does.`, for which French needs the verb; `form` is from 0 to `NUM_ELLIPSES` - 1, `other` another
    habit."""
    that = f"qu'{name}" if name[0] in "AEIOU" else f"que {name}"
    english, french = (
        (f"{name} never does.", f"{name} ne {{}} jamais."),
        (f"{name} does too.", f"{name} {{}} aussi."),
        (f"I know that {name} does.", f"Je sais {that} {{}}."),
    )[form]
    return Sentence(english, french.format(habit.french), french.format(other.french))


NUM_ELLIPSES = 3
# "as it is", masculine and feminine.
_AS_IT_IS = ("que lui", "qu'elle")


def _pronoun(is_feminine: bool, is_plural: bool) -> str:
    return ("Elle" if is_feminine else "Il") + ("s" if is_plural else "")


def _word_list(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
