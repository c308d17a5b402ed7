# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.data.corpora import read_documents
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import FILE_CLASSES


def units(path, name) -> list[list[list[str]]]:
    file = FILE_CLASSES[name].read(path, "en", "fr")
    return [[[unit.source for unit in group] for group in item.paragraphs] for item in file.documents]


def translated(path, name, change=str.upper) -> bytes:
    file = FILE_CLASSES[name].read(path, "en", "fr")
    return file.translated([[change(unit.source) for unit in item.units] for item in file.documents])


def test_text_keeps_its_white_space(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff  a b. c\r\n\r\n\td\u2028e ".encode())
    assert units(path, "text") == [[["a b. c"], ["d\u2028e"]]]
    assert translated(path, "text").decode() == "\ufeff  A B. C\r\n\r\n\tD\u2028E "


def test_blank_lines_and_marks_end_documents(tmp_path) -> None:
    path = tmp_path / "a"
    path.write_text("\na\nb\n\n\nc\n<d>\nd\n")
    assert units(path, "moses") == [[["a", "b"]], [["c"]], [["d"]]]
    assert translated(path, "moses").decode() == "\nA\nB\n\n\nC\n<d>\nD\n"


def test_a_translation_with_a_line_break_stays_on_its_line(tmp_path) -> None:
    (tmp_path / "a").write_text("a\nb\n")
    assert translated(tmp_path / "a", "moses", lambda text: f"{text}\nx").decode() == "a x\nb x\n"


@pytest.mark.parametrize("heads", ["0\n2\n", "1\n3\n"])
@pytest.mark.parametrize("name", ["a.en.heads", "a.heads"])
def test_heads_count_from_0_or_1(tmp_path, heads, name) -> None:
    (tmp_path / "a.en").write_text("a\nb\nc\n")
    (tmp_path / name).write_text(heads)
    assert units(tmp_path / "a.en", "heads") == [[["a", "b"]], [["c"]]]
    assert FILE_CLASSES["heads"].read(tmp_path / "a.en", "en", "fr").companions() == {".heads": b"0\n2\n"}


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (None, r"no .heads file: there is no a.en.heads or a.heads beside it"),
        ("0\nx\n", r"a.heads:2: not a line number: 'x'"),
        ("0\n" + "9" * 5000, r"a.heads:2: not a line number: '9+\.\.\.$"),
        ("0\n2\n2\n", r"a.heads:3: line numbers not in increasing order: 2 after 2"),
        ("2\n", r"a.heads:1: no head for the first line: 0 or 1; it starts with 2"),
        ("0\n3\n", r"a.heads:2: a line number past the end: a.en has 3 lines"),
        ("", r"a.heads: empty file"),
    ],
)
def test_broken_heads_are_named(tmp_path, heads, message) -> None:
    (tmp_path / "a.en").write_text("a\nb\nc\n")
    if heads is not None:
        (tmp_path / "a.heads").write_text(heads)
    with pytest.raises(CorpusError, match=message):
        units(tmp_path / "a.en", "heads")


def test_a_blank_line_inside_a_document_of_heads_is_named(tmp_path) -> None:
    (tmp_path / "a.en").write_text("a\n\nc\n")
    (tmp_path / "a.heads").write_text("0\n")
    with pytest.raises(CorpusError, match=r"a.en:2: empty sentence"):
        units(tmp_path / "a.en", "heads")


def test_an_id_column_makes_documents(tmp_path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\ta\tA\nx\tb\tB\tmore\n\ny\tc\tC\n")
    documents = list(read_documents([path], "id-column", "en", "fr"))
    assert [(item.id, item.source_sentences, item.target_sentences) for item in documents] == [
        ("x", ["a", "b"], ["A", "B"]),
        ("y", ["c"], ["C"]),
    ]
    assert (
        translated(path, "id-column", lambda text: f"{text}\t!").decode() == "x\ta\ta !\nx\tb\tb !\tmore\n\ny\tc\tc !\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x a\n", r"a.tsv:1: no tab between document id and source"),
        ("x\ta\n\ta\n", r"a.tsv:2: empty column: document id"),
        ("x\t \tA\n", r"a.tsv:1: empty column: source"),
        ("x\ta\tA\ny\tb\tB\nx\tc\tC\n", r"a.tsv:3: document in several places: 'x': sort the lines"),
        ("x\ta\n", r"a.tsv:1: no translation: of a"),
    ],
)
def test_broken_id_columns_are_named(tmp_path, content, message) -> None:
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(CorpusError, match=message):
        list(read_documents([tmp_path / "a.tsv"], "id-column", "en", "fr"))


IWSLT = """<url>http://x</url>
<speaker>A & B</speaker>
<talkid>7</talkid>
<title>On < and ></title>
One & two.
Three.
<reviewer href="x">R</reviewer>
<url>http://y</url>
<talkid>8</talkid>
<description>d</description>
Four.
<doc docid="9" genre="lectures">
Five.
</doc>
Six.
"""


def test_iwslt_talks_are_documents_and_tags_stay(tmp_path) -> None:
    path = tmp_path / "train.tags.en-fr.en"
    path.write_text(IWSLT)
    assert units(path, "iwslt") == [[["One & two.", "Three."]], [["Four."]], [["Five."]], [["Six."]]]
    names = [item.id for item in FILE_CLASSES["iwslt"].read(path, "en", "fr").documents]
    assert names == ["7", "8", "9", "train.tags.en-fr.en:15"]
    expected = IWSLT
    for text in ("One & two.", "Three.", "Four.", "Five.", "Six."):
        expected = expected.replace(text, text.upper())
    assert translated(path, "iwslt").decode() == expected
