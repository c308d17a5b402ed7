# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Corpus readers: what they read, and their errors for malformed files."""

import gzip
import json
import pickle

import datasets
import pytest

from hier_nmt.data.corpora import ReadReport, read_documents
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.corpus_readers import read_dataset
from hier_nmt.data.documents import ParallelDocument, SentencePair

GOOD = {
    "id": "d1",
    "title": ["Title", "Titre"],
    "paragraphs": [
        {"speaker": None, "en": ["One.", "Two."], "fr": ["Un.", "Deux."]},
        {"speaker": "P", "en": ["Three."], "fr": ["Trois."]},
    ],
}
GOOD_DOCUMENT = ParallelDocument(
    "d1",
    ((SentencePair("One.", "Un."), SentencePair("Two.", "Deux.")), (SentencePair("Three.", "Trois."),)),
    ("Title", "Titre"),
)


def write(path, *lines: bytes | str | dict):
    as_bytes = [
        line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    path.write_bytes(b"".join(line + b"\n" for line in as_bytes))
    return path


def read(paths, format="json-lines", **options) -> list[ParallelDocument]:
    return list(read_documents(paths, format, "en", "fr", **options))


def pairs(document: ParallelDocument) -> list[tuple[str, str]]:
    return list(zip(document.source_sentences, document.target_sentences, strict=True))


def changed(**changes) -> dict:
    return {**GOOD, **changes}


def test_json_lines_keep_paragraphs_and_title(tmp_path):
    assert read([write(tmp_path / "a.jsonl", GOOD, "")]) == [GOOD_DOCUMENT]


def test_json_lines_in_the_other_direction_swap_everything(tmp_path):
    path = write(tmp_path / "a.jsonl", GOOD)
    (document,) = read_documents([path], "json-lines", "fr", "en")
    assert document.title == ("Titre", "Title")
    assert pairs(document)[0] == ("Un.", "One.")


def test_gzip_files_are_read_as_they_are(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    assert read([path]) == [GOOD_DOCUMENT]


def test_other_line_separators_stay_inside_sentences(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes("\ufeffa\u2028b\x0bc\x85d\tA\u2028B\r\n".encode())
    assert [pairs(document) for document in read([path], "tab-separated")] == [[("a\u2028b\x0bc\x85d", "A\u2028B")]]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "not JSON: "),
        ("[]", "not a JSON object: got list"),
        ({"paragraphs": []}, "missing key: 'id'"),
        ({"id": "x"}, "missing key: 'paragraphs'"),
        (changed(paragraphs=[]), "no paragraphs"),
        (changed(paragraphs=[{"en": ["a"]}]), "missing key: 'fr' in paragraph 1"),
        (changed(paragraphs=["a"]), "missing key: 'en' in paragraph 1"),
        (changed(paragraphs=[{"en": "a", "fr": "b"}]), "not a list of strings: 'en' in paragraph 1"),
        (changed(paragraphs=[{"en": ["a"], "fr": [None]}]), "not a list of strings: 'fr' in paragraph 1"),
        (
            changed(paragraphs=[*GOOD["paragraphs"], {"en": ["a", "b"], "fr": ["c"]}]),
            "uneven sentence lists: 2 en and 1 fr sentences in paragraph 3",
        ),
        (changed(paragraphs=[{"en": [], "fr": []}]), "empty paragraph: in paragraph 1"),
        (
            changed(paragraphs=[{"en": ["a", "b"], "fr": ["c", " "]}]),
            "empty sentence: target, sentence 2 in paragraph 1",
        ),
        (b'{"id": "\xff"}', "not UTF-8: invalid start byte at byte 8 of the line"),
    ],
)
def test_broken_json_line_names_file_line_and_reason(tmp_path, bad, reason):
    path = write(tmp_path / "a.jsonl", GOOD, bad)
    with pytest.raises(CorpusError) as error:
        read([path])
    assert str(error.value).startswith(f"{path}:2: {reason}")


def test_skipped_documents_are_counted_by_reason(tmp_path):
    path = write(tmp_path / "a.jsonl", "{", GOOD, "}", {"id": "x"})
    report = ReadReport()
    assert read([path], skip_bad=True, report=report) == [GOOD_DOCUMENT]
    assert report.counts == {"not JSON": 2, "missing key": 1}
    assert str(report) == "read 1 documents with 3 sentence pairs\nskipped 1: missing key\nskipped 2: not JSON"
    assert report.skipped[2][1] == f"{path}:4: missing key: 'paragraphs'"


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("format", ["json-lines", "tab-separated"])
def test_empty_corpus_is_an_error(tmp_path, format, skip_bad):
    with pytest.raises(CorpusError, match=r"empty\.txt: empty corpus"):
        read([write(tmp_path / "empty.txt")], format, skip_bad=skip_bad)


def test_truncated_gzip_file_is_named(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode() * 50)[:60])
    with pytest.raises(CorpusError, match=r"a\.jsonl\.gz:1: broken gzip file"):
        read([path])


def test_moses_documents_end_at_blank_lines_and_marks(tmp_path):
    source = write(tmp_path / "c.en", "<d>", "a", "b", "", "", "c", "<d>", "d")
    target = write(tmp_path / "c.fr", "", "A", "B", "", "<d>", "C", "<d>", "D")
    documents = read([source, target], "moses")
    assert [(document.id, pairs(document)) for document in documents] == [
        ("c.en:2", [("a", "A"), ("b", "B")]),
        ("c.en:6", [("c", "C")]),
        ("c.en:8", [("d", "D")]),
    ]


def test_moses_boundary_in_one_file_only_is_named(tmp_path):
    source = write(tmp_path / "c.en", "a", "b", "c")
    target = write(tmp_path / "c.fr", "A", "<d>", "C")
    with pytest.raises(CorpusError, match=r"c\.fr:2: one side empty: .* c\.en has text here"):
        read([source, target], "moses")


def test_moses_files_of_different_length_are_named(tmp_path):
    source = write(tmp_path / "c.en", "a", "b", "c")
    target = write(tmp_path / "c.fr", "A", "B")
    with pytest.raises(CorpusError, match=r"c\.fr:3: different number of lines: 3 in c\.en, 2 in c\.fr"):
        read([source, target], "moses")


def test_bad_moses_line_leaves_out_its_document_only(tmp_path):
    source = write(tmp_path / "c.en", "a", "b", "", "c", "", "d")
    target = write(tmp_path / "c.fr", "A", b"\xff", "", "C", "", "D")
    report = ReadReport()
    documents = read([source, target], "moses", skip_bad=True, report=report)
    assert [pairs(document) for document in documents] == [[("c", "C")], [("d", "D")]]
    assert report.counts == {"not UTF-8": 1}


def test_moses_files_come_in_pairs(tmp_path):
    with pytest.raises(ValueError, match=r"pairs \(source, target\), got 1"):
        read([write(tmp_path / "c.en", "a")], "moses")


def test_tab_separated_lines_are_documents_of_one_sentence(tmp_path):
    path = write(tmp_path / "fra.txt", "Go.\tVa !\tCC-BY (somebody)", "", "Hi.\tSalut !")
    documents = read([path], "tab-separated")
    assert [(document.id, pairs(document)) for document in documents] == [
        ("fra.txt:1", [("Go.", "Va !")]),
        ("fra.txt:3", [("Hi.", "Salut !")]),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Go. Va !", "no tab between source and target"),
        ("\tVa !", "empty sentence: source"),
        ("a\t ", "empty sentence"),
    ],
)
def test_broken_tab_separated_line_names_file_line_and_reason(tmp_path, line, reason):
    path = write(tmp_path / "fra.txt", "Hi.\tSalut !", line)
    with pytest.raises(CorpusError, match=rf"fra\.txt:2: {reason}"):
        read([path], "tab-separated")


ROWS = {
    "doc": ["x", "x", "x", "y"],
    "par": [1, 1, 2, 2],
    "translation": [{"en": letter, "fr": letter.upper()} for letter in "abcd"],
}


@pytest.mark.parametrize("streaming", [False, True])
def test_dataset_rows_are_grouped_by_the_named_columns(streaming):
    rows = datasets.Dataset.from_dict(ROWS)
    rows = rows.to_iterable_dataset() if streaming else rows
    documents = list(read_dataset(rows, "rows", "translation.en", "translation.fr", "doc", "par"))
    assert [(document.id, document.source_paragraphs) for document in documents] == [
        ("x", [["a", "b"], ["c"]]),
        ("y", [["d"]]),
    ]


def test_dataset_rows_without_document_column_are_documents(tmp_path):
    datasets.Dataset.from_dict(ROWS).save_to_disk(tmp_path / "saved")
    documents = read([tmp_path / "saved"], "dataset")
    assert [(document.id, pairs(document)) for document in documents][:2] == [
        ("saved:1", [("a", "A")]),
        ("saved:2", [("b", "B")]),
    ]


@pytest.mark.parametrize("streaming", [False, True])
def test_dataset_is_read_from_a_data_file(tmp_path, monkeypatch, streaming):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    path = write(tmp_path / "rows.csv", "en,fr,doc", "a,A,x", "b,B,x")
    columns = {"source": "en", "target": "fr", "document": "doc", "streaming": streaming}
    (document,) = read([path], "dataset", columns=columns)
    assert pairs(document) == [("a", "A"), ("b", "B")]


def test_scattered_rows_of_a_document_are_an_error():
    rows = [{"doc": name, "en": "a", "fr": "b"} for name in "xyx"]
    *documents, error = read_dataset(rows, "rows", "en", "fr", "doc")
    assert [document.id for document in documents] == ["x", "y"]
    assert str(error) == "rows: document in several places: 'x': sort the rows by document"


def test_missing_column_is_named_with_those_there_are():
    with pytest.raises(CorpusError, match=r"rows:1: missing column: 'doc'; there are \['en', 'fr'\]"):
        list(read_dataset([{"en": "a", "fr": "b"}], "rows", "en", "fr", "doc"))


def test_row_that_is_not_a_text_is_named():
    (error,) = read_dataset([{"en": "a", "fr": None}], "rows", "en", "fr")
    assert str(error) == "rows:1: not a string: column 'fr' holds NoneType"


@pytest.mark.parametrize(
    ("format", "columns", "message"),
    [
        ("xml", None, "format must be one of .* got 'xml'"),
        ("dataset", {"sorce": "en"}, "unknown keys in columns: sorce"),
        ("moses", {"source": "en"}, "not for 'moses'"),
    ],
)
def test_unknown_options_are_named(format, columns, message):
    with pytest.raises(ValueError, match=message):
        read(["a"], format, columns=columns)


def test_corpus_error_survives_another_process():
    error = pickle.loads(pickle.dumps(CorpusError("f.txt", 3, "not JSON", "detail")))
    assert (str(error), error.line, error.kind) == ("f.txt:3: not JSON: detail", 3, "not JSON")
