# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures how consistently translations of documents use words, how often they repeat n-grams, and what they copy.

python benchmarks/consistency.py dev.jsonl.gz --training train.jsonl.gz --system NAME=translations.document.jsonl

A word's translations are the words that stand in the same sentence pairs of the training corpora (Dice's coefficient);
those with the same beginning count as one. Of the pairs of sentences of a document that have the same word, counted is
the share that have the same translation of it (`lexical_consistency`). Requires pip install 'hier_nmt[eval]'.
"""

import argparse
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from hier_nmt.cli.compare import read_systems
from hier_nmt.data.corpora import read_documents
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.term_extraction import extract_terms
from hier_nmt.evaluation.discourse_metrics import lexical_consistency, repetition_rate

# A shorter word, or a translation that is less likely, says little about terms.
_MIN_LETTERS = 5
_MIN_DICE = 0.08
# Words with more than this share of the sentences are no terms.
_MAX_SHARE = 0.01
_NUM_TRANSLATIONS = 6
# A copy of fewer words may be right: a name, a command.
_MIN_COPIED_WORDS = 4


def same_word(first: str, second: str) -> bool:
    """Whether two words have the same beginning: all but three letters of the longer one, and at least four."""
    length = max(4, len(first) - 3, len(second) - 3)
    return first[:length] == second[:length]


def variants(translations: Iterable[str]) -> list[list[str]]:
    """Translations of a word in groups of those that count as the same."""
    groups: list[list[str]] = []
    for word in translations:
        group = next((some for some in groups if same_word(some[0], word)), None)
        if group is None:
            groups.append([word])
        else:
            group.append(word)
    return groups


def dictionary(pairs: Sequence[SentencePair]) -> dict[str, list[list[str]]]:
    """Words that have different translations, and these."""
    found = defaultdict(list)
    terms = extract_terms(
        pairs, max_words=1, max_share=_MAX_SHARE, min_dice=_MIN_DICE, num_translations=_NUM_TRANSLATIONS
    )
    for term in terms:
        if min(len(term.source), len(term.target)) >= _MIN_LETTERS and " " not in term.target:
            found[term.source].append(term.target)
    groups = {word: variants(translations) for word, translations in found.items()}
    return {word: some for word, some in groups.items() if len(some) > 1}


def row(name: str, documents: Sequence[ParallelDocument], translated: Sequence[Sequence[str]], terms: dict) -> str:
    """A line of the table."""
    sources = [item.source_sentences for item in documents]
    consistency = lexical_consistency(sources, translated, terms)
    sentences = [sentence for item in translated for sentence in item]
    pairs = zip(itertools.chain(*sources), sentences, strict=True)
    copied = sum(source == target and len(source.split()) >= _MIN_COPIED_WORDS for source, target in pairs)
    share = consistency.consistency
    return (
        f"| {name} | {'' if share is None else f'{share:.1f}'} | {consistency.num_pairs} | "
        f"{100 * consistency.num_untranslated / max(consistency.num_occurrences, 1):.1f} | "
        f"{repetition_rate(sentences):.2f} | {copied} | {len(sentences)} |"
    )


def main() -> int:
    """Prints a line for the references and one for each system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--training", type=Path, nargs="+", required=True, help="corpora for the translations of words")
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--limit", type=int, help="documents of the corpus; default: all")
    parser.add_argument("--system", action="append", default=[], metavar="NAME=FILE", help="from hier-nmt evaluate")
    options = parser.parse_args()
    training = read_documents(options.training, "json-lines", *options.languages)
    terms = dictionary([pair for item in training for paragraph in item.paragraphs for pair in paragraph])
    documents = list(
        itertools.islice(read_documents([options.corpus], "json-lines", *options.languages), options.limit)
    )
    print(f"{len(terms)} words with more than one translation", file=sys.stderr)
    print("| translations | consistent % | pairs | none of them % | repeated 4-grams % | copied | sentences |")
    print("|---|---|---|---|---|---|---|")
    print(row("references", documents, [item.target_sentences for item in documents], terms))
    for name, translations in read_systems(options.system, documents).items():
        flat = [[sentence for paragraph in item for sentence in paragraph] for item in translations]
        print(row(name, documents, flat, terms))
    return 0


if __name__ == "__main__":
    sys.exit(main())
