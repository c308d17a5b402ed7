# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics of discourse: consistency of terms within documents, repetition within sentences.

The classes for `evaluate.load` are in `hub_metrics`; `metric_path` returns their paths.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

METRIC_NAMES = ("contrastive_accuracy", "document_bleu", "lexical_consistency", "repetition_rate")


def metric_path(name: str) -> str:
    """The file of one of `METRIC_NAMES`, for `evaluate.load(metric_path("document_bleu"))`."""
    if name not in METRIC_NAMES:
        raise ValueError(f"unknown metric {name!r}; there are {', '.join(METRIC_NAMES)}")
    return str(Path(__file__).parent / "hub_metrics" / f"{name}.py")


@dataclass(frozen=True)
class LexicalConsistency:
    """How consistently terms are translated within documents.

    Attributes:
        consistency: percentage of the pairs of occurrences that have the same translation; None without any pair.
        num_pairs: pairs of occurrences of one term in one document.
        num_occurrences: occurrences of terms that occur at least twice in their document.
        num_untranslated: those of them without any of the term's translations; they match no other occurrence.
    """

    consistency: float | None
    num_pairs: int
    num_occurrences: int
    num_untranslated: int


def lexical_consistency(
    sources: Sequence[Sequence[str]],
    translations: Sequence[Sequence[str]],
    terms: Mapping[str, Sequence[Sequence[str]]],
) -> LexicalConsistency:
    """Lexical translation consistency ratio (Lyu et al. 2021): the share of pairs of sentences with the same term that
    have the same translation of it, over all documents and terms.

    The paper finds translations by a word aligner; here they are given.

    Args:
        sources: sentences of each document.
        translations: one per sentence.
        terms: the translations of each source term, each a list of forms that count as the same ("banque", "banques").
            Terms and forms are whole words in any case; of several in a sentence the first counts.

    Raises:
        ValueError: documents that do not match, or a form that belongs to two translations of a term.
    """
    _check_aligned(sources, translations)
    patterns = {term: (_pattern([term]), [_pattern(forms) for forms in forms_of]) for term, forms_of in terms.items()}
    _check_forms(terms)
    num_same = num_pairs = num_occurrences = num_untranslated = 0
    for source, translated in zip(sources, translations, strict=True):
        for term, variants in patterns.values():
            found = [_variant(text, variants) for text in _with_term(source, translated, term)]
            if len(found) < 2:
                continue
            num_occurrences += len(found)
            num_untranslated += found.count(None)
            num_pairs += len(found) * (len(found) - 1) // 2
            num_same += sum(first == second and first is not None for first, second in combinations(found, 2))
    consistency = 100 * num_same / num_pairs if num_pairs else None
    return LexicalConsistency(consistency, num_pairs, num_occurrences, num_untranslated)


def repetition_rate(sentences: Sequence[str], n: int = 4) -> float:
    """Percentage of n-grams that already occurred in the same sentence (seq-rep-n of Welleck et al. 2020, summed over
    the corpus): near 0 in human text, high for decoding in a repetition loop.

    Args:
        sentences: sentences with words separated by white space; those with fewer than n words have no n-gram.
        n: length of the n-grams in words.

    Raises:
        ValueError: n below 1.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    num_total = num_repeated = 0
    for sentence in sentences:
        words = sentence.split()
        counts = Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
        num_total += counts.total()
        num_repeated += counts.total() - len(counts)
    return 100 * num_repeated / num_total if num_total else 0.0


def _check_aligned(sources: Sequence[Sequence[str]], translations: Sequence[Sequence[str]]) -> None:
    if len(sources) != len(translations):
        raise ValueError(f"{len(sources)} source documents but {len(translations)} translations")
    for index, (source, translated) in enumerate(zip(sources, translations, strict=True)):
        if isinstance(source, str) or isinstance(translated, str):
            raise ValueError(f"document {index} must be a list of sentences, got a string")
        if len(source) != len(translated):
            raise ValueError(f"document {index}: {len(source)} source sentences but {len(translated)} translations")


def _check_forms(terms: Mapping[str, Sequence[Sequence[str]]]) -> None:
    for term, variants in terms.items():
        if any(isinstance(forms, str) for forms in variants):
            raise ValueError(f"the translations of {term!r} must be lists of forms, got {list(variants)}")
        counts = Counter(form.casefold() for forms in variants for form in set(forms))
        twice = [form for form, count in counts.items() if count > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} belongs to two translations of {term!r}")


def _pattern(forms: Sequence[str]) -> re.Pattern[str]:
    words = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


def _with_term(source: Sequence[str], translated: Sequence[str], term: re.Pattern[str]) -> Iterator[str]:
    """The translations of the sentences that contain the term."""
    return (translation for sentence, translation in zip(source, translated, strict=True) if term.search(sentence))


def _variant(text: str, variants: Sequence[re.Pattern[str]]) -> int | None:
    """The variant that comes first in a translation."""
    starts = {index: match.start() for index, pattern in enumerate(variants) if (match := pattern.search(text))}
    return min(starts, key=lambda index: starts[index]) if starts else None
