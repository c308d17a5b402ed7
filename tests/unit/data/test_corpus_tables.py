# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of text, token ids and windows; the tokenizer has one token for each letter, so ids are written by hand."""

import datasets
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import TokenizersBackend

from hier_nmt.data import corpus_tables, training_corpora, window_tables
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.corpus_tables import read_report, text_table, text_table_from_documents, token_table
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.tokenization import SPECIAL_TOKENS
from hier_nmt.data.window_tables import (
    ClosingTokens,
    OverlongSentence,
    OverlongSentenceError,
    closing_tokens,
    overlong_sentences,
    window_table,
)

CLOSING = ClosingTokens(sep=4, par=5, eos=2)
# a = 6, b = 7, ...
LETTERS = "abcdefgh"


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture(scope="module")
def tokenizer():
    vocabulary = {piece: index for index, piece in enumerate([*SPECIAL_TOKENS.values(), *LETTERS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return TokenizersBackend(tokenizer_object=backend, **SPECIAL_TOKENS, split_special_tokens=True)


def document(name: str, *paragraphs: list[tuple[str, str]]) -> ParallelDocument:
    return ParallelDocument(name, tuple(tuple(SentencePair(*pair) for pair in paragraph) for paragraph in paragraphs))


DOCUMENTS = [
    document("x", [("a", "b"), ("cc", "d")], [("e", "fff")]),
    document("y", [("g", "h")]),
]


@pytest.fixture
def tokens(tokenizer, tmp_path):
    return token_table(text_table_from_documents(DOCUMENTS, tmp_path), tokenizer)


def test_sentences_are_tokenised_in_order(tokens):
    assert tokens.to_list() == [
        {
            "document_id": "x",
            "source_ids": [[6], [8, 8], [10]],
            "target_ids": [[7], [9], [11, 11, 11]],
            "ends_paragraph": [False, True, True],
            "corpus": 0,
        },
        {"document_id": "y", "source_ids": [[12]], "target_ids": [[13]], "ends_paragraph": [True], "corpus": 0},
    ]


def test_windows_of_two_sentences_slide_and_stay_in_their_document(tokens):
    rows = window_table(tokens, CLOSING, 2).to_list()
    assert [row["input_ids"] for row in rows] == [[6, 2], [6, 4, 8, 8, 2], [8, 8, 5, 10, 2], [12, 2]]
    assert [row["labels"] for row in rows] == [[7, 2], [7, 4, 9, 2], [9, 5, 11, 11, 11, 2], [13, 2]]
    assert [row["length"] for row in rows] == [2, 5, 6, 2]
    assert [(row["document_id"], row["sentence_index"]) for row in rows] == [("x", 0), ("x", 1), ("x", 2), ("y", 0)]
    assert [row["num_sentences"] for row in rows] == [1, 2, 2, 1]


def test_whole_document_is_one_window_where_it_fits(tokens):
    rows = window_table(tokens, CLOSING, 0).to_list()
    assert [row["input_ids"] for row in rows] == [[6, 4, 8, 8, 5, 10, 2], [12, 2]]
    assert [(row["sentence_index"], row["num_sentences"]) for row in rows] == [(2, 3), (0, 1)]


def test_window_over_a_limit_drops_its_farthest_context(tokens):
    # Source lengths with closing tokens: 2, 3, 2; target: 2, 2, 4.
    by_source = window_table(tokens, CLOSING, 3, max_source_tokens=5)
    assert by_source["input_ids"][:] == [[6, 2], [6, 4, 8, 8, 2], [8, 8, 5, 10, 2], [12, 2]]
    by_target = window_table(tokens, CLOSING, 3, max_source_tokens=9, max_target_tokens=4)
    assert by_target["labels"][:] == [[7, 2], [7, 4, 9, 2], [11, 11, 11, 2], [13, 2]]


def test_whole_document_is_split_between_sentences(tokens):
    rows = window_table(tokens, CLOSING, 0, max_source_tokens=5, max_target_tokens=9).to_list()
    assert [row["input_ids"] for row in rows] == [[6, 4, 8, 8, 2], [10, 2], [12, 2]]
    assert [row["labels"] for row in rows] == [[7, 4, 9, 2], [11, 11, 11, 2], [13, 2]]


def test_columns_are_compact_and_in_the_agreed_types(tokens):
    types = window_table(tokens, CLOSING, 1).data.schema
    assert str(types.field("input_ids").type) == str(types.field("labels").type) == "list<item: int32>"
    assert {str(types.field(name).type) for name in ("length", "sentence_index", "num_sentences")} == {"int32"}


def test_overlong_sentence_is_reported_with_its_document(tokens):
    assert overlong_sentences(tokens, 2, 3) == [
        OverlongSentence("x", 1, "source", 3),
        OverlongSentence("x", 2, "target", 4),
    ]
    with pytest.raises(OverlongSentenceError, match=r"x\[1\] \(3 source tokens\), x\[2\] \(4 target tokens\)"):
        window_table(tokens, CLOSING, 1, max_source_tokens=2, max_target_tokens=3)


def test_skipped_overlong_sentence_leaves_the_other_windows_as_they_are(tokens, caplog):
    rows = window_table(tokens, CLOSING, 2, max_source_tokens=2, overlong="skip").to_list()
    assert [(row["document_id"], row["sentence_index"]) for row in rows] == [("x", 0), ("x", 2), ("y", 0)]
    assert [row["labels"] for row in rows] == [[7, 2], [11, 11, 11, 2], [13, 2]]
    assert "x[1] (3 source tokens)" in caplog.text


def test_skipped_overlong_sentence_is_in_no_block(tokens):
    rows = window_table(tokens, CLOSING, 0, max_source_tokens=2, overlong="skip").to_list()
    assert [row["input_ids"] for row in rows] == [[6, 2], [10, 2], [12, 2]]


def test_several_processes_give_the_same_rows(tokenizer, tmp_path):
    many = [document(f"d{index}", [("a", "b"), ("c", "d")]) for index in range(40)]

    def windows(num_proc):
        text = text_table_from_documents(many, tmp_path / str(num_proc))
        return window_table(token_table(text, tokenizer, num_proc=num_proc), CLOSING, 2, num_proc=num_proc)

    one, two = windows(1), windows(2)
    assert (len(one.cache_files), len(two.cache_files)) == (1, 2)
    assert one.to_list() == two.to_list()


def test_second_tokenizer_is_for_the_target(tokenizer, tmp_path):
    vocabulary = {piece: index for index, piece in enumerate([*SPECIAL_TOKENS.values(), *reversed(LETTERS)])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    target_tokenizer = TokenizersBackend(tokenizer_object=backend, **SPECIAL_TOKENS)
    table = token_table(text_table_from_documents(DOCUMENTS[1:], tmp_path), tokenizer, target_tokenizer)
    assert (table[0]["source_ids"], table[0]["target_ids"]) == ([[12]], [[6]])


def test_corpus_is_read_and_tokenised_once_until_it_changes(tokenizer, tmp_path, monkeypatch):
    path = tmp_path / "corpus.tsv"
    path.write_text("a\tb\n")
    arguments = ([path], "tab-separated", "en", "fr")
    cache = {"cache_dir": tmp_path / "cache"}
    first = window_table(token_table(text_table(*arguments, **cache), tokenizer), CLOSING, 1)
    tokenizer(["a", "bb"], padding=True)
    with monkeypatch.context() as context:
        context.setattr(training_corpora, "read_documents", None)
        context.setattr(corpus_tables, "encode_sentences", None)
        context.setattr(window_tables, "join_window", None)
        again = window_table(token_table(text_table(*arguments, **cache), tokenizer), CLOSING, 1)
        assert again.to_list() == first.to_list()
    path.write_text("a\tb\nc\td\n")
    assert len(text_table(*arguments, **cache)) == 2


def test_what_was_skipped_is_also_known_from_the_cache(tmp_path):
    path = tmp_path / "corpus.tsv"
    path.write_text("no tab\na\tb\n\tc\n")
    for _ in range(2):
        table = text_table([path], "tab-separated", "en", "fr", skip_bad=True, cache_dir=tmp_path / "cache")
        report = read_report(table)
        assert (report.num_documents, report.num_sentences) == (1, 1)
        assert report.counts == {"no tab between source and target": 1, "empty sentence": 1}


def test_broken_corpus_raises_its_own_error(tmp_path):
    path = tmp_path / "corpus.tsv"
    path.write_text("a\tb\nno tab\n")
    with pytest.raises(CorpusError, match=r"corpus\.tsv:2: no tab"):
        text_table([path], "tab-separated", "en", "fr", cache_dir=tmp_path / "cache")


def test_closing_tokens_come_from_the_tokenizer(tokenizer):
    assert closing_tokens(tokenizer) == CLOSING
    without = TokenizersBackend(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), eos_token="a")
    with pytest.raises(ValueError, match="no sep_token_id, par_token_id"):
        closing_tokens(without)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"window_sentences": -1}, "got -1"), ({"window_sentences": 1, "overlong": "drop"}, "got 'drop'")],
)
def test_impossible_options_are_named(tokens, arguments, message):
    with pytest.raises(ValueError, match=message):
        window_table(tokens, CLOSING, **arguments)
