# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.evaluation.contrastive_sets import ContrastiveExample, read_contrastive_set, write_contrastive_set

CONTENT: dict[str, Any] = {
    "id": "1",
    "phenomenon": "anaphora",
    "distance": 1,
    "source_context": ["I see a cat."],
    "target_context": ["Je vois un chat."],
    "source": "It sleeps.",
    "targets": ["Elle dort.", "Il dort."],
    "correct": 1,
    "expected_words": ["il"],
    "wrong_words": ["elle"],
}


def write(path: Path, *contents: dict[str, Any] | str) -> Path:
    lines = [content if isinstance(content, str) else json.dumps(content) for content in contents]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_line_of_json_becomes_an_example(tmp_path: Path) -> None:
    (example,) = read_contrastive_set(write(tmp_path / "set.jsonl", CONTENT, ""))
    assert example == ContrastiveExample(
        "1",
        "anaphora",
        1,
        ("I see a cat.",),
        ("Je vois un chat.",),
        "It sleeps.",
        ("Elle dort.", "Il dort."),
        1,
        ("il",),
        ("elle",),
    )
    assert (example.right, example.wrong) == ("Il dort.", ("Elle dort.",))


def test_words_and_distance_may_be_missing(tmp_path: Path) -> None:
    content = {key: value for key, value in CONTENT.items() if key not in ("distance", "expected_words", "wrong_words")}
    (example,) = read_contrastive_set(write(tmp_path / "set.jsonl", content))
    assert (example.distance, example.expected_words, example.wrong_words) == (None, (), ())


@pytest.mark.parametrize("name", ["set.jsonl", "deep/set.jsonl.gz"])
def test_what_was_written_is_read_and_is_the_same_each_time(tmp_path: Path, name: str) -> None:
    examples = [
        ContrastiveExample("a", "register", None, (), (), "Où ?\u2028", ("Là ?", "Ici ?", "Ça ?"), 2),
        ContrastiveExample("b", "anaphora", 12, ("x", "y"), (), "z", ("u", "v"), 0, ("u",), ()),
    ]
    path = tmp_path / name
    write_contrastive_set(path, examples)
    first = path.read_bytes()
    assert read_contrastive_set(path) == examples
    write_contrastive_set(path, examples)
    assert path.read_bytes() == first
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"targets": ["Il dort."]}, "1 candidate translations, two or more"),
        ({"targets": ["Il dort.", " "]}, "empty candidate"),
        ({"targets": "Il dort."}, "not a list of strings: 'targets'"),
        ({"correct": 2}, "correct is 2, but there are 2"),
        ({"correct": -1}, "correct is -1"),
        ({"correct": True}, "not a whole number: 'correct' is True"),
        ({"correct": None}, "not a whole number: 'correct' is None"),
        ({"source": ""}, "empty source"),
        ({"source": 3}, "not a string: 'source' is 3"),
        ({"target_context": ["a", "b"]}, "1 source and 2 target context sentences"),
        ({"distance": -1}, "distance -1 is negative"),
        ({"wrong": []}, "unknown key: 'wrong'"),
    ],
)
def test_a_bad_example_is_named_by_file_line_and_reason(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    path = write(tmp_path / "set.jsonl", CONTENT, {**CONTENT, "id": "2", **changes})
    with pytest.raises(CorpusError) as caught:
        read_contrastive_set(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "1", ', "not JSON"),
        ("[]", "not a JSON object: got list"),
        ('{"id": "2"}', "missing key: 'phenomenon'"),
        (json.dumps(CONTENT), "duplicate id: '1'"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = write(tmp_path / "set.jsonl", CONTENT, line)
    with pytest.raises(CorpusError) as caught:
        read_contrastive_set(path)
    assert str(caught.value).startswith(f"{path}:2: {reason}")


def test_broken_files_are_named(tmp_path: Path) -> None:
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(json.dumps(CONTENT).encode() + b"\n\xe9\n")
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(json.dumps(CONTENT).encode() * 100)[:-20])
    with pytest.raises(CorpusError, match=r"latin.jsonl:2: not UTF-8"):
        read_contrastive_set(latin)
    with pytest.raises(CorpusError, match=r"cut.jsonl.gz:1: broken gzip file"):
        read_contrastive_set(cut)
    with pytest.raises(CorpusError, match=r"empty.jsonl: no examples"):
        read_contrastive_set(write(tmp_path / "empty.jsonl"))
