# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the demonstration corpus: small English-French documents whose pronouns need the sentences before them.

`it` and `they` become `il`, `elle`, `ils` or `elles` (as an object `it` becomes `le` or `la`), after a noun that stands
one or two sentences earlier: a model that reads single sentences can only guess, one with windows of three can know.
It writes train.jsonl and dev.jsonl beside itself, always the same.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NUM_TRAIN_DOCUMENTS = 400
NUM_DEV_DOCUMENTS = 6

SentencePair = tuple[str, str]


class Noun(NamedTuple):
    """An English noun, its French translation, the plurals of both, and the French gender."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    is_feminine: bool


class Person(NamedTuple):
    """A first name and what English and French say of it later."""

    name: str
    is_feminine: bool

    @property
    def pronouns(self) -> SentencePair:
        """The subject pronoun in English and French."""
        return ("She", "Elle") if self.is_feminine else ("He", "Il")


NOUNS = (
    Noun("cat", "cats", "chat", "chats", False),
    Noun("dog", "dogs", "chien", "chiens", False),
    Noun("horse", "horses", "cheval", "chevaux", False),
    Noun("book", "books", "livre", "livres", False),
    Noun("bag", "bags", "sac", "sacs", False),
    Noun("hat", "hats", "chapeau", "chapeaux", False),
    Noun("cow", "cows", "vache", "vaches", True),
    Noun("mouse", "mice", "souris", "souris", True),
    Noun("car", "cars", "voiture", "voitures", True),
    Noun("chair", "chairs", "chaise", "chaises", True),
    Noun("lamp", "lamps", "lampe", "lampes", True),
    Noun("flower", "flowers", "fleur", "fleurs", True),
)
PEOPLE = (Person("Anna", True), Person("Julie", True), Person("Paul", False), Person("Thomas", False))
# English; French masculine, feminine, masculine plural, feminine plural.
ADJECTIVES = (
    ("small", "petit", "petite", "petits", "petites"),
    ("big", "grand", "grande", "grands", "grandes"),
    ("black", "noir", "noire", "noirs", "noires"),
    ("white", "blanc", "blanche", "blancs", "blanches"),
    ("grey", "gris", "grise", "gris", "grises"),
    ("old", "vieux", "vieille", "vieux", "vieilles"),
    ("beautiful", "beau", "belle", "beaux", "belles"),
)
PLACES = (
    ("in the garden", "dans le jardin"),
    ("near the house", "près de la maison"),
    ("in front of the school", "devant l'école"),
    ("under the tree", "sous l'arbre"),
    ("behind the wall", "derrière le mur"),
)
VERBS = (("sees", "voit"), ("looks for", "cherche"), ("finds", "trouve"), ("draws", "dessine"), ("watches", "regarde"))
TIMES = (("every day", "tous les jours"), ("this morning", "ce matin"), ("in the evening", "le soir"))
NUMBERS = (("two", "deux"), ("three", "trois"), ("four", "quatre"))


def agree(adjective: tuple[str, ...], noun: Noun, is_plural: bool) -> str:
    """The French adjective in the noun's gender and number."""
    return adjective[1 + noun.is_feminine + 2 * is_plural]


def describe(rng: random.Random, noun: Noun, is_plural: bool) -> SentencePair:
    """A sentence such as `It is black.`, whose French subject takes the noun's gender."""
    english_subject, english_verb, french_verb = ("They", "are", "sont") if is_plural else ("It", "is", "est")
    french_subject = ("Elle" if noun.is_feminine else "Il") + ("s" if is_plural else "")
    first, second = rng.sample(ADJECTIVES, 2)
    french_first, french_second = (agree(adjective, noun, is_plural) for adjective in (first, second))
    if rng.random() < 0.3:
        return (
            f"{english_subject} {english_verb} {first[0]} and {second[0]}.",
            f"{french_subject} {french_verb} {french_first} et {french_second}.",
        )
    return f"{english_subject} {english_verb} {first[0]}.", f"{french_subject} {french_verb} {french_first}."


def introduce(rng: random.Random, noun: Noun, is_plural: bool, owner: Person | None) -> SentencePair:
    """The sentence that names the noun: somebody has it, or it is somewhere."""
    number = rng.choice(NUMBERS)
    english = f"{number[0]} {noun.english_plural}" if is_plural else f"a {noun.english}"
    article = "une" if noun.is_feminine else "un"
    french = f"{number[1]} {noun.french_plural}" if is_plural else f"{article} {noun.french}"
    if owner is not None:
        return f"{owner.name} has {english}.", f"{owner.name} a {french}."
    place = rng.choice(PLACES)
    return f"There {'are' if is_plural else 'is'} {english} {place[0]}.", f"Il y a {french} {place[1]}."


def act(rng: random.Random, noun: Noun, is_plural: bool, owner: Person | None) -> SentencePair:
    """A sentence such as `Anna sees it every day.`, whose French object takes the noun's gender."""
    other = rng.choice(PEOPLE)
    english_subject, french_subject = owner.pronouns if owner is not None else (other.name, other.name)
    english_object = "them" if is_plural else "it"
    french_object = "les" if is_plural else ("la" if noun.is_feminine else "le")
    verb, ending = rng.choice(VERBS), rng.choice(TIMES + PLACES)
    return (
        f"{english_subject} {verb[0]} {english_object} {ending[0]}.",
        f"{french_subject} {french_object} {verb[1]} {ending[1]}.",
    )


def write_paragraph(rng: random.Random, noun: Noun, num_sentences: int) -> dict[str, object]:
    """A paragraph of two or three sentence pairs about one noun, in the layout of the JSON-lines reader."""
    is_plural = rng.random() < 0.35
    owner = rng.choice(PEOPLE) if rng.random() < 0.5 else None
    writers = (lambda: introduce(rng, noun, is_plural, owner), lambda: describe(rng, noun, is_plural))
    pairs = [write() for write in writers] + [act(rng, noun, is_plural, owner)]
    pairs = pairs[:num_sentences]
    return {"speaker": None, "en": [english for english, _ in pairs], "fr": [french for _, french in pairs]}


def write_documents(seed: int) -> Iterator[dict[str, object]]:
    """Endless different documents of two paragraphs and four to six sentences, all decided by the seed."""
    rng = random.Random(seed)
    seen: set[str] = set()
    while True:
        first, second = rng.sample(NOUNS, 2)
        paragraphs = [write_paragraph(rng, noun, rng.choice((2, 3, 3))) for noun in (first, second)]
        text = json.dumps(paragraphs, ensure_ascii=False)
        if text not in seen:
            seen.add(text)
            title = (
                f"The {first.english} and the {second.english}",
                f"{definite(first)} et {definite(second).lower()}",
            )
            yield {"id": f"demo-{len(seen):04d}", "title": title, "paragraphs": paragraphs}


def definite(noun: Noun) -> str:
    """The French noun with its definite article, as a sentence begins."""
    return f"{'La' if noun.is_feminine else 'Le'} {noun.french}"


def main() -> None:
    """Writes both files."""
    documents = write_documents(seed=1)
    for name, num_documents in (("dev", NUM_DEV_DOCUMENTS), ("train", NUM_TRAIN_DOCUMENTS)):
        lines = [json.dumps(next(documents), ensure_ascii=False) + "\n" for _ in range(num_documents)]
        Path(__file__).with_name(f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
