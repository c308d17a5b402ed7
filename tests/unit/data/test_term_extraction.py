# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
import random
from pathlib import Path

import pytest

from hier_nmt.cli.main import main
from hier_nmt.data.documents import SentencePair
from hier_nmt.data.glossary_files import read_glossary
from hier_nmt.data.term_extraction import extract_terms

pytest.importorskip("scipy")
WORDS = {"cat": "chat", "house": "maison", "treaty": "traité", "budget": "budget", "member state": "état membre"}


def pairs() -> list[SentencePair]:
    """Each sentence has two of the words, between words that most sentences have."""
    numbers = random.Random(0)
    found = []
    for _ in range(200):
        one, other = numbers.sample(sorted(WORDS), 2)
        found.append(SentencePair(f"The {one} and the {other}.", f"L'{WORDS[one]} et l’{WORDS[other]}."))
    return found


def test_what_stands_in_the_same_pairs_is_found() -> None:
    found = {(one.source, one.target): one for one in extract_terms(pairs(), max_share=0.6, min_dice=0.9)}
    assert set(WORDS.items()) <= set(found)
    assert all(one.dice == 1 and one.num_pairs > 40 for one in found.values())


def test_frequent_words_begin_and_end_no_expression() -> None:
    for term in extract_terms(pairs(), max_share=0.6):
        for expression in (term.source, term.target):
            assert not {"the", "and", "et"} & {expression.split()[0], expression.split()[-1]}


def test_rare_pairs_are_left_out() -> None:
    assert not list(extract_terms(pairs(), min_count=201, max_share=0.6))


def test_the_command_writes_a_glossary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, output = tmp_path / "corpus.jsonl", tmp_path / "terms.tsv"
    sides = {"en": [pair.source for pair in pairs()], "fr": [pair.target for pair in pairs()]}
    corpus.write_text(json.dumps({"id": "1", "paragraphs": [sides]}))
    languages = ["--source-language", "en", "--target-language", "fr"]
    assert main(["corpus", "extract-terms", str(corpus), *languages, "--output", str(output)]) == 1
    assert "no terms in 200 sentence pairs" in capsys.readouterr().err
    for start in range(600):
        words = [f"word{(start + step) % 300}" for step in (0, 1, 103)]
        sides["en"].append(" ".join(words))
        sides["fr"].append(" ".join(f"{word}e" for word in words))
    corpus.write_text(json.dumps({"id": "1", "paragraphs": [sides]}))
    assert main(["corpus", "extract-terms", str(corpus), *languages, "--output", str(output)]) == 0
    terms = {term.source: term.targets for term in read_glossary(output).terms}
    assert terms["word7"][0] == "word7e"
