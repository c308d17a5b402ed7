# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A controlled corpus with known truth: English-French documents in which some words can be translated only with the
sentences before them, and contrastive examples of these sentences.

Four phenomena: pronouns (`it`, `they`, `them`), the register of `you`, words with two senses, and elided verbs. One
rule always decides: for pronouns the predicates or actions that fit a thing, the number, or the colour; for the others
the opening of the dialogue, the topic, or the only habit mentioned. Neither the distance nor the ambiguous sentence
itself ever decides: each ambiguous sentence has both translations equally often.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..data.documents import ParallelDocument, SentencePair
from ..evaluation.contrastive_sets import ContrastiveExample
from .discourse_lexicon import NAMES, NEUTRAL
from .discourse_scenes import PHENOMENA, Scene, Supply, make_scene
from .discourse_sentences import Sentence, with_name

MAX_DISTANCE = 12
# Nothing else may happen between a habit and the sentence that refers to it, so they are close.
MAX_ELLIPSIS_DISTANCE = 3
# Weights of the distances 1, 2, ... 12 in documents: most are within a window of four sentences.
DISTANCE_WEIGHTS = (12, 6, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1)
DEFAULT_LENGTH = 20
# Relative frequencies of scenes other than 1: what a verb takes is the hardest to learn.
_SCENE_WEIGHTS = {"pronoun-verb": 3}


@dataclass(frozen=True)
class Ambiguity:
    """A sentence that can be translated in two ways, of which the context allows one.

    Attributes:
        phenomenon: one of `PHENOMENA`.
        sentence: its index in the document.
        decided_by: index of the nearest deciding sentence before it.
        expected_words, wrong_words: French words that only the right and only the wrong translation contains.
        wrong_translation: the other translation.
    """

    phenomenon: str
    sentence: int
    decided_by: int
    expected_words: tuple[str, ...]
    wrong_words: tuple[str, ...]
    wrong_translation: str

    @property
    def distance(self) -> int:
        """Number of sentences back to the deciding sentence."""
        return self.sentence - self.decided_by


@dataclass(frozen=True)
class DiscourseDocument:
    """A document of the corpus with its ambiguous sentences."""

    document: ParallelDocument
    ambiguities: tuple[Ambiguity, ...]


def make_document(
    name: str,
    rng: random.Random,
    length: int,
    distance_weights: Sequence[float] = DISTANCE_WEIGHTS,
    phenomena: Sequence[str] = PHENOMENA,
) -> DiscourseDocument:
    """A document of `length` sentences: interleaved scenes, whose ambiguous sentences are 1 to 12 sentences after their
    deciding sentences, with neutral sentences in the remaining places.

    Raises:
        ValueError: a length below 2.
    """
    if length < 2:
        raise ValueError(f"a document needs at least 2 sentences, got {length}")
    sentences: list[Sentence | None] = [None] * length
    ambiguities: list[Ambiguity] = []
    supply = Supply(rng)
    for _ in range(length):
        available = [phenomenon for phenomenon in supply.available() if phenomenon in phenomena]
        if not available:
            break
        phenomenon = rng.choices(available, [_SCENE_WEIGHTS.get(name, 1) for name in available])[0]
        distance = _draw_distance(phenomenon, rng, distance_weights)
        if starts := _free_starts(sentences, phenomenon, distance):
            start = rng.choice(starts)
            ambiguities += _place(sentences, make_scene(phenomenon, supply), start, distance, rng, distance_weights)
    filled = [_neutral(rng) if sentence is None else sentence for sentence in sentences]
    document = ParallelDocument(name, tuple(_paragraphs(filled, rng)))
    return DiscourseDocument(document, tuple(sorted(ambiguities, key=lambda item: item.sentence)))


def _draw_distance(phenomenon: str, rng: random.Random, weights: Sequence[float]) -> int:
    longest = min(MAX_ELLIPSIS_DISTANCE, len(weights)) if phenomenon == "ellipsis" else len(weights)
    return rng.choices(range(1, longest + 1), weights[:longest])[0]


def _free_starts(sentences: list[Sentence | None], phenomenon: str, distance: int) -> list[int]:
    """Indices where a scene can start; for an ellipsis all sentences up to its end must be free."""
    step = 1 if phenomenon == "ellipsis" else distance
    return [
        start
        for start in range(len(sentences) - distance)
        if all(sentences[index] is None for index in range(start, start + distance + 1, step))
    ]


def _place(
    sentences: list[Sentence | None],
    scene: Scene,
    start: int,
    distance: int,
    rng: random.Random,
    weights: Sequence[float],
) -> Iterator[Ambiguity]:
    """Puts the scene into the document; further ambiguous sentences follow if there is room for them."""
    sentences[start] = scene.decider
    if scene.phenomenon == "ellipsis":
        for index in range(start + 1, start + distance):
            sentences[index] = _neutral(rng)
    decided_by = start
    for number, sentence in enumerate(scene.ambiguous):
        if number:
            distance = _draw_distance(scene.phenomenon, rng, weights)
            # Both things of a pronoun scene are decided by its first sentence; in other scenes each sentence is decided
            # by the one before.
            decided_by = start if scene.phenomenon.startswith("pronoun") else decided_by
        index = decided_by + distance
        if index >= len(sentences) or (number and sentences[index] is not None):
            return
        sentences[index] = sentence
        yield _ambiguity(scene.phenomenon, sentence, index, decided_by)
        decided_by = index


def _ambiguity(phenomenon: str, sentence: Sentence, index: int, decided_by: int) -> Ambiguity:
    expected, wrong = sentence.words
    assert sentence.other_french is not None
    return Ambiguity(phenomenon, index, decided_by, expected, wrong, sentence.other_french)


def _neutral(rng: random.Random) -> Sentence:
    return with_name(rng.choice(NEUTRAL), rng.choice(NAMES))


def _paragraphs(sentences: Sequence[Sentence], rng: random.Random) -> Iterator[tuple[SentencePair, ...]]:
    start = 0
    while start < len(sentences):
        stop = start + rng.randint(3, 6)
        yield tuple(SentencePair(sentence.english, sentence.french) for sentence in sentences[start:stop])
        start = stop


def make_documents(
    split: str,
    num_documents: int,
    seed: int,
    *,
    length: int = DEFAULT_LENGTH,
    distance_weights: Sequence[float] = DISTANCE_WEIGHTS,
    phenomena: Sequence[str] = PHENOMENA,
) -> Iterator[DiscourseDocument]:
    """The documents of a split ("train", "dev", "test" or any name); the same arguments always give the same documents.

    Args:
        split: documents of different splits are drawn independently.
        num_documents: number of documents.
        seed: of the corpus.
        length: sentences of a document.
        distance_weights: weights of the distances 1, 2, ...
        phenomena: a selection from `PHENOMENA`.
    """
    for index in range(num_documents):
        # Seeding with a string does not depend on the hash seed of the process.
        rng = random.Random(f"{seed} {split} {index}")
        yield make_document(f"{split}.{index}", rng, length, distance_weights, phenomena)


def document_examples(
    documents: Iterable[DiscourseDocument], num_context_sentences: int = MAX_DISTANCE
) -> Iterator[ContrastiveExample]:
    """The ambiguous sentences of documents as contrastive examples, with the sentences before each as context.

    Args:
        documents: the documents.
        num_context_sentences: number of context sentences, if there are as many. The nearest deciding sentence is at
            most `MAX_DISTANCE` away; an opening that first determined how `you` is translated may be farther.

    Raises:
        ValueError: a negative number of sentences.
    """
    if num_context_sentences < 0:
        raise ValueError(f"num_context_sentences must not be negative, got {num_context_sentences}")
    for item in documents:
        source, target = item.document.source_sentences, item.document.target_sentences
        for one in item.ambiguities:
            before = slice(max(0, one.sentence - num_context_sentences), one.sentence)
            yield ContrastiveExample(
                id=f"{item.document.id}:{one.sentence}",
                phenomenon=one.phenomenon,
                distance=one.distance,
                source_context=tuple(source[before]),
                target_context=tuple(target[before]),
                source=source[one.sentence],
                targets=(target[one.sentence], one.wrong_translation),
                correct=0,
                expected_words=one.expected_words,
                wrong_words=one.wrong_words,
            )


def make_contrastive_set(
    num_pairs: int, seed: int, *, max_distance: int = MAX_DISTANCE, phenomena: Sequence[str] = PHENOMENA
) -> Iterator[ContrastiveExample]:
    """Contrastive examples, `num_pairs` pairs for each phenomenon and distance.

    The two examples of a pair have the same ambiguous sentence and the same two translations in the same order; one
    context requires the first, the other the second. Without the context nothing distinguishes them, so a model that
    ignores it is right for exactly one of them.

    Args:
        num_pairs: pairs for each phenomenon and distance.
        seed: of the set.
        max_distance: the largest distance; at most 3 for ellipses.
        phenomena: a selection from `PHENOMENA`.
    """
    for phenomenon in phenomena:
        longest = min(max_distance, MAX_ELLIPSIS_DISTANCE) if phenomenon == "ellipsis" else max_distance
        for distance in range(1, longest + 1):
            for index in range(num_pairs):
                name = f"{phenomenon}.{distance}.{index}"
                yield from _contrastive_pair(name, phenomenon, distance, f"{seed} {name}")


def _contrastive_pair(name: str, phenomenon: str, distance: int, seed: str) -> Iterator[ContrastiveExample]:
    scenes = []
    for choice in (False, True):
        # The same random draws in both, up to what the choice changes: the noun, opening or topic.
        rng = random.Random(seed)
        supply = Supply(rng)
        scenes.append((make_scene(phenomenon, supply, choice), _context_fillers(phenomenon, distance, supply)))
    targets = (scenes[0][0].ambiguous[0].french, scenes[1][0].ambiguous[0].french)
    for correct, (scene, fillers) in enumerate(scenes):
        context = [*fillers[distance - 1 :], scene.decider, *fillers[: distance - 1]]
        sentence = scene.ambiguous[0]
        expected, wrong = sentence.words
        yield ContrastiveExample(
            id=f"{name}.{correct}",
            phenomenon=phenomenon,
            distance=distance,
            source_context=tuple(item.english for item in context),
            target_context=tuple(item.french for item in context),
            source=sentence.english,
            targets=targets,
            correct=correct,
            expected_words=expected,
            wrong_words=wrong,
        )


def _context_fillers(phenomenon: str, distance: int, supply: Supply) -> list[Sentence]:
    """`distance - 1` sentences between the deciding and the ambiguous sentence, then 0 to 3 sentences before them.

    The former include introductions of other things, of both genders, but not before an ellipsis.
    """
    rng = supply.rng
    num_between, num_before = distance - 1, rng.randint(0, 3)
    fillers = [_neutral(rng) for _ in range(num_between + num_before)]
    if phenomenon == "ellipsis":
        return fillers
    chosen = rng.sample(range(num_between), min(num_between, (num_between + 1) // 2, len(supply.classes) // 2))
    for index in chosen:
        fillers[index] = make_scene("pronoun-verb", supply).decider
    return fillers
