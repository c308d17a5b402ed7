# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names and phrases that were replaced by the field's terms do not come back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

# Regular expression of what was replaced -> what is said instead.
REPLACED = {
    # Attention and its operations.
    r"\bSentenceWords\b": "SentenceSpans",
    r"\bfind_words\b": "index_sentences",
    r"\bmay_look\b": "attend_mask",
    r"\bcompiled_form\b|\bCompiledForm\b": "backends, CompiledBackend",
    r"\bkept_workspace\b": "thread_buffers",
    r"\bgive_back\b": "release",
    r"\bat_once\(": "chunk_size",
    r"\bworked_on(_rows)?\b": "to_compute_dtype, rows_in_compute_dtype",
    r"\bmultiplies_512_bits\b": "has_zen5_avx512",
    r"[Ww]hat is no number|that_is_no_number|\bis_no_number\b": "NaN",
    # Models and translation.
    r"\bwritten_sentences\b": "next_token_sentence_ids",
    r"\bwithout_padding_behind\b": "mask_right_padding",
    r"\bWorkingDocument\b": "TranslationState",
    r"\bWindowFollower\b": "WindowStoppingCriteria",
    r"\bwritten_windows\b": "generation_constraints",
    r"\bIncident\b": "SentenceEvent",
    r"\bclass Ends\b|\bEnds\(|: Ends\b": "StopConditions",
    r"\bclass Job\b|\bJob\(": "WindowJob",
    r"\bin circles\b": "repetition loop",
    # Text, corpora, evaluation, inspection, commands.
    r"\bkept_text\b|\bkept text\b": "untranslatable, untranslatable text",
    r"\bplaced_marks\b|\bplaced marks\b": "inline_markup, inline markup",
    r"\bKeptSpan\b|\bkept_spans\b|\bstands_for_word\b": "UntranslatableSpan, untranslatable_spans, acts_as_word",
    r"\baligned_places\b|\bplace_of\b": "position_alignment, target_position",
    r"\bwith_marks\b|\bpieces_with_marks\b": "insert_marks, split_at_marks",
    r"\bstands_behind\b|\bspace_behind\b|\bparts_words\b": "attaches_left, space_after, separates_words",
    r"\bpart_sentence\b|\bstood_for\b": "split_sentence, replaced_spans",
    r"\bwithout_spans\b|\bwithout_objects\b": "extract_marks, remove_objects",
    r"\bwithout_surrogates\b": "replace_surrogates",
    r"\brejoined\b": "rejoin_abbreviations",
    r"\bkept_element\b": "untranslated_element",
    r"\bleft_out\b|\bleft_out_text\b": "skipped, skipped_text",
    r"--anew\b": "--retranslate",
    r"\bnode_places\b|\bsentence_numbers\b": "node_positions, sentence_range",
    r"\banew\b": "again",
}

# Pairs of an entry and a file in which it may occur, with the reason.
ALLOWED: dict[tuple[str, str], str] = {}

FOLDERS = ("src", "tests", "training", "benchmarks", "docs")
ENDINGS = {".py", ".md", ".yaml", ".yml", ".cpp", ".h", ".html", ".toml", ".txt"}


def checked_files(repository: Path) -> Iterator[Path]:
    """The texts that people read, except this file and links."""
    yield repository / "README.md"
    for folder in FOLDERS:
        for path in sorted((repository / folder).rglob("*")):
            is_ours = path.is_file() and not path.is_symlink() and not path.parent.name.endswith(".egg-info")
            if is_ours and path.suffix in ENDINGS and path != Path(__file__):
                yield path


def occurrences(texts: dict[str, str], pattern: str) -> list[str]:
    """ "file:line: text" of each occurrence that is not allowed."""
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts.items()
        if (pattern, name) not in ALLOWED
        for number, line in enumerate(text.split("\n"), start=1)
        if re.search(pattern, line)
    ]


@pytest.fixture(scope="module")
def texts(repository: Path) -> dict[str, str]:
    """Path below the repository -> text."""
    files = checked_files(repository)
    return {path.relative_to(repository).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("pattern", sorted(REPLACED))
def test_a_replaced_term_does_not_occur(texts: dict[str, str], pattern: str) -> None:
    found = occurrences(texts, pattern)
    assert not found, f"say {REPLACED[pattern]}:\n" + "\n".join(found[:20])


def test_allowed_entries_are_replaced_terms() -> None:
    assert REPLACED.keys() >= {pattern for pattern, _ in ALLOWED}


def test_the_check_sees_a_replaced_term() -> None:
    text = "spans = kept_spans(text)\nspans = untranslatable_spans(text)"
    pattern = next(pattern for pattern in REPLACED if "kept_spans" in pattern)
    assert occurrences({"a.py": text}, pattern) == ["a.py:1: spans = kept_spans(text)"]


def test_the_check_reads_the_package_and_its_tests(texts: dict[str, str]) -> None:
    assert {"README.md", "src/hier_nmt/__init__.py", "tests/conftest.py"} <= texts.keys()
