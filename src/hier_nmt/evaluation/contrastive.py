# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Contrastive and generative evaluation: does a model choose, and produce, the translation that fits the context?

Contrastive: the model scores the translations of an example, and the right one must score highest. A tie with a wrong
one is an error; in most sets the right one comes first and would otherwise win every tie. Generative: the model
translates the sentence after the same context, and the words of its translation are checked.
"""

import hashlib
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from transformers import PreTrainedModel

from .contrastive_sets import ContrastiveExample
from .forced_scoring import WindowBuilder, WindowScore, continue_windows, forced_scores
from .intervals import wilson_interval

Score = Literal["current", "window"]
Normalisation = Literal["mean", "sum"]
SCORES: tuple[Score, ...] = ("current", "window")
NORMALISATIONS: tuple[Normalisation, ...] = ("mean", "sum")
OVERALL = "all"
# A set with one phenomenon is grouped by its deciding words, such as pronouns, if there are at most this many.
MAX_DECIDING_WORDS = 12

_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'"})


@dataclass(frozen=True)
class Accuracy:
    """The accuracy on a group of examples, with a 95 % Wilson interval, from 0 to 100.

    Attributes:
        group: what the examples have in common.
        num_examples: number of examples.
        accuracy, low, high: the percentage of right examples, and its interval.
        num_undecided: ties of scores, or translations with neither a right nor a wrong word; they never count as right.
        chance: expected accuracy of random scores; None for translations.
    """

    group: str
    num_examples: int
    accuracy: float
    low: float
    high: float
    num_undecided: int
    chance: float | None = None


@dataclass(frozen=True)
class ContrastiveReport:
    """The accuracies of a model on a set, overall and by group, with a signature of the evaluation."""

    label: str
    kind: Literal["contrastive", "generative"]
    accuracies: tuple[Accuracy, ...]
    signature: str

    @property
    def overall(self) -> Accuracy:
        """The accuracy over all examples."""
        return self.accuracies[0]

    def to_dict(self) -> dict[str, Any]:
        """The report in types of JSON."""
        return asdict(self)


def score_options(
    model: PreTrainedModel,
    builder: WindowBuilder,
    examples: Sequence[ContrastiveExample],
    *,
    score: Score = "current",
    normalisation: Normalisation = "mean",
    batch_size: int = 32,
    progress: bool = False,
) -> list[list[float]]:
    """The score of each translation of each example: a log-probability in nats; higher is better.

    Args:
        model: an encoder-decoder, in evaluation mode.
        builder: builds its windows.
        examples: the examples to score.
        score: `current`, the current sentence given its context, or `window`, context sentences included.
        normalisation: `mean` over the scored tokens, or their `sum`.
        batch_size: windows in a batch.
        progress: shows a progress bar.

    Raises:
        ValueError: an unknown score or normalisation, or an example longer than the model's limit.
    """
    _check_choice("score", score, SCORES)
    _check_choice("normalisation", normalisation, NORMALISATIONS)
    windows = [
        builder.build(example.source_context, example.source, example.target_context, target)
        for example in examples
        for target in example.targets
    ]
    pad_token_ids = builder.vocabulary.pad_token_ids
    scored = iter(forced_scores(model, windows, pad_token_ids, batch_size=batch_size, progress=progress))
    return [[_number(next(scored), score, normalisation) for _ in example.targets] for example in examples]


def random_scores(examples: Sequence[ContrastiveExample], seed: int) -> list[list[float]]:
    """Random scores, to check that a set and its evaluation give chance level."""
    generator = random.Random(seed)
    return [[generator.random() for _ in example.targets] for example in examples]


def contrastive_report(
    examples: Sequence[ContrastiveExample], scores: Sequence[Sequence[float]], label: str, *facts: str
) -> ContrastiveReport:
    """The accuracies overall, by phenomenon (or by deciding word, if a few words decide all examples) and by distance.

    Args:
        examples: the set.
        scores: for each example one score per target.
        label: name of the model.
        facts: entries of the signature about the scores, each as "name:value".

    Raises:
        ValueError: scores that do not match the examples in number.
    """
    outcomes = [_outcome(example, list(values)) for example, values in zip(examples, scores, strict=True)]
    accuracies = _accuracies(examples, outcomes, with_chance=True)
    return ContrastiveReport(
        label, "contrastive", accuracies, signature("contrastive", examples, *facts, "ties:errors")
    )


def example_records(
    examples: Sequence[ContrastiveExample],
    scores: Sequence[Sequence[float]],
    translations: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """The outcome of each example, in types of JSON.

    The keys: `id`, `phenomenon`, `distance`, `correct` (the index of the right target), `scores` (one for each target),
    `is_right` (None for a tie), and with translations `translation` and `translation_is_right` (None if undecided).
    """
    records = []
    for index, (example, values) in enumerate(zip(examples, scores, strict=True)):
        facts = {"id": example.id, "phenomenon": example.phenomenon, "distance": example.distance}
        outcome = {"correct": example.correct, "scores": list(values), "is_right": _outcome(example, list(values))}
        record = {**facts, **outcome}
        if translations is not None:
            translation = translations[index]
            record |= {"translation": translation, "translation_is_right": _word_outcome(example, translation)}
        records.append(record)
    return records


def translate_examples(
    model: PreTrainedModel,
    builder: WindowBuilder,
    examples: Sequence[ContrastiveExample],
    *,
    batch_size: int = 32,
    progress: bool = False,
    **generate_kwargs: Any,
) -> list[str]:
    """The model's translation of each example's sentence, after the given translation of its context."""
    windows = [
        builder.build(example.source_context, example.source, example.target_context, example.targets[example.correct])
        for example in examples
    ]
    return continue_windows(
        model, windows, builder.vocabulary, batch_size=batch_size, progress=progress, **generate_kwargs
    )


def generative_report(
    examples: Sequence[ContrastiveExample], translations: Sequence[str], label: str, *facts: str
) -> ContrastiveReport:
    """The accuracies of translations: right with an expected word and no wrong one, undecided with neither or both."""
    outcomes = [_word_outcome(*pair) for pair in zip(examples, translations, strict=True)]
    accuracies = _accuracies(examples, outcomes, with_chance=False)
    return ContrastiveReport(label, "generative", accuracies, signature("generative", examples, *facts))


def expected_and_wrong_words(example: ContrastiveExample) -> tuple[frozenset[str], frozenset[str]]:
    """(expected words, wrong words) of an example, case-folded: those that it lists, else those in which its right
    translation and its wrong ones differ."""
    if example.expected_words:
        return _folded(example.expected_words), _folded(example.wrong_words)
    right = _words(example.targets[example.correct])
    wrong = [_words(target) for index, target in enumerate(example.targets) if index != example.correct]
    anywhere_wrong = frozenset().union(*wrong)
    return right - anywhere_wrong, anywhere_wrong - right


def signature(kind: str, examples: Sequence[ContrastiveExample], *facts: str) -> str:
    """The signature of an evaluation, in sacrebleu's form: kind, number and hash of the examples, facts, version."""
    try:
        own_version = version("hier_nmt")
    except PackageNotFoundError:
        own_version = "0.0.0"
    content = json.dumps([asdict(example) for example in examples], ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    return "|".join([kind, f"n:{len(examples)}", f"set:{digest}", *facts, f"version:hier_nmt-{own_version}"])


def contrastive_table(reports: Sequence[ContrastiveReport]) -> str:
    """The reports as a Markdown table, one row per group, with the signatures below it."""
    lines = [
        "| model | evaluation | group | accuracy | 95 % interval | chance | undecided | examples |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        for item in report.accuracies:
            interval = f"{item.low:.1f} to {item.high:.1f}"
            chance = "" if item.chance is None else f"{item.chance:.1f}"
            cells = [report.label, report.kind, item.group, f"{item.accuracy:.1f}", interval, chance]
            lines.append(f"| {' | '.join([*cells, str(item.num_undecided), str(item.num_examples)])} |")
    return "\n".join([*lines, "", *dict.fromkeys(f"{report.label}: {report.signature}" for report in reports)])


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _number(window: WindowScore, score: Score, normalisation: Normalisation) -> float:
    total, num_tokens = window.current, window.num_tokens
    if score == "window":
        total, num_tokens = total + window.context, num_tokens + window.num_context_tokens
    return total / num_tokens if normalisation == "mean" else total


# True: right; False: wrong; None: undecided.
_Outcome = bool | None


def _outcome(example: ContrastiveExample, scores: list[float]) -> _Outcome:
    if len(scores) != len(example.targets):
        raise ValueError(f"example {example.id!r} has {len(example.targets)} targets but {len(scores)} scores")
    right = scores.pop(example.correct)
    best_wrong = max(scores)
    return None if right == best_wrong else right > best_wrong


def _word_outcome(example: ContrastiveExample, translation: str) -> _Outcome:
    expected, wrong = expected_and_wrong_words(example)
    found = _words(translation)
    has_expected, has_wrong = bool(expected & found), bool(wrong & found)
    return None if has_expected == has_wrong else has_expected


def _words(text: str) -> frozenset[str]:
    """The words of a text, case-folded; an apostrophe separates words ("qu'elle" has "elle")."""
    return frozenset(_word_list(text))


def _word_list(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.translate(_APOSTROPHES).casefold())


def _deciding_word(example: ContrastiveExample) -> str:
    """The first word of the right translation, case-folded, that differs in the first wrong translation."""
    right, wrong = (_word_list(target) for target in (example.right, example.wrong[0]))
    pairs = itertools.zip_longest(right, wrong, fillvalue="")
    return next((word for word, other in pairs if word != other), "")


def _folded(words: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*(_words(word) for word in words))


def _accuracies(
    examples: Sequence[ContrastiveExample], outcomes: Sequence[_Outcome], with_chance: bool
) -> tuple[Accuracy, ...]:
    if not examples:
        raise ValueError("nothing to evaluate: no examples")
    accuracies = []
    for group, belongs in _groups(examples):
        inside = [index for index, example in enumerate(examples) if belongs(example)]
        num_right = sum(outcomes[index] is True for index in inside)
        low, high = wilson_interval(num_right, len(inside))
        chance = sum(100 / len(examples[index].targets) for index in inside) / len(inside) if with_chance else None
        num_undecided = sum(outcomes[index] is None for index in inside)
        accuracy = 100 * num_right / len(inside)
        accuracies.append(Accuracy(group, len(inside), accuracy, 100 * low, 100 * high, num_undecided, chance))
    return tuple(accuracies)


def _groups(
    examples: Sequence[ContrastiveExample],
) -> Iterator[tuple[str, Callable[[ContrastiveExample], bool]]]:
    yield OVERALL, lambda example: True
    phenomena = sorted({example.phenomenon for example in examples})
    if len(phenomena) > 1:
        for name in phenomena:
            yield name, lambda example, name=name: example.phenomenon == name  # type: ignore[misc]
    else:
        words = sorted({_deciding_word(example) for example in examples})
        if 1 < len(words) <= min(MAX_DECIDING_WORDS, len(examples) // 2):
            for word in words:
                yield word or "(no word)", lambda example, word=word: _deciding_word(example) == word  # type: ignore[misc]
    distances = sorted({example.distance for example in examples if example.distance is not None})
    if len(distances) > 1:
        for number in distances:
            yield f"distance {number}", lambda example, number=number: example.distance == number  # type: ignore[misc]
