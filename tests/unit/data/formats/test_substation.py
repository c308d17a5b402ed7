# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Advanced SubStation subtitles: their texts change, and neither styles nor times nor drawings."""

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import read_document_file

pytest.importorskip("sentencex")

HEAD = (
    "[Script Info]\nTitle: A film\n\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
)
FIELDS = "Dialogue: 0,0:00:{0:02}.00,0:00:{1:02}.50,Default,,0,0,0,,"
FILE = (
    HEAD
    + f"{FIELDS.format(1, 2)}{{\\i1}}Where{{\\i0}} is she, Ann?\n"
    + "Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,A note\n"
    + f"{FIELDS.format(2, 3)}{{\\an7\\p1}}m 0 0 l 9 9{{\\p0}}\n"
    + f"{FIELDS.format(2, 3)}{{\\k20}}la{{\\K30}}la\n"
    + f"{FIELDS.format(3, 4)}I do not\n{FIELDS.format(5, 6)}know, really.\n\n[Fonts]\nfontname: a\n"
)


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends_stay(tmp_path, newline) -> None:
    texts = [["Où est-elle, Ann ?", "Je ne sais pas."]]
    expected = read(tmp_path, FILE).translated(texts).decode()
    assert read(tmp_path, FILE.replace("\n", newline)).translated(texts).decode() == expected.replace("\n", newline)


def read(folder, content: str):
    (folder / "a.ass").write_bytes(content.encode())
    return read_document_file(folder / "a.ass", "en", "fr")


def test_only_what_is_said_is_translated(tmp_path) -> None:
    file = read(tmp_path, FILE)
    assert [unit.source for unit in file.documents[0].units] == ["Where is she, Ann?", "I do not know, really."]
    found = file.translated([["Où est-elle, Ann ?", "Je ne sais pas."]]).decode()
    expected = FILE.replace("{\\i1}Where{\\i0} is she, Ann?", "{\\i1}Où{\\i0} est-elle, Ann ?")
    lines = dict(zip(expected.split("\n"), found.split("\n"), strict=True))
    changed = [(old, new) for old, new in lines.items() if old != new]
    assert [new.rpartition(",,")[2] for _, new in changed] == ["Je ne", "sais pas."]


def test_long_lines_are_broken_as_players_read_it(tmp_path) -> None:
    words = "Une phrase bien plus longue que les quarante-deux lettres que l'on peut lire."
    found = read(tmp_path, f"{HEAD}{FIELDS.format(1, 2)}Go.\n").translated([[words]]).decode()
    assert found.count("\n") == HEAD.count("\n") + 1
    assert found.rpartition(",,")[2].replace("\\N", " ") == f"{words}\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEAD, r"a\.ass: no subtitles"),
        ("[Events]\nDialogue: 0,a\n", r"a\.ass:2: bad format of subtitles: no line Format:"),
        ("[Events]\nFormat: Start, Text, End\n", r"a\.ass:2: bad format of subtitles"),
        (f"{HEAD}Dialogue: 0,0:00:01.00\n", r"a\.ass:10: bad fields of a subtitle: 2 in place of 10"),
        (HEAD + FIELDS.format(1, 2).replace(".50", ".x") + "A\n", r"a\.ass:10: bad times of a subtitle: 0:00:02\.x"),
        (f"{HEAD}{FIELDS.format(3, 2)}A\n", r"a\.ass:10: bad times of a subtitle: it ends before it starts"),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(tmp_path, content: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, content)


def test_pysubs2_reads_a_translated_file(tmp_path) -> None:
    pysubs2 = pytest.importorskip("pysubs2")
    content = read(tmp_path, FILE).translated([["Où est-elle, Ann ?", "Je ne sais pas."]]).decode()
    before, after = (pysubs2.SSAFile.from_string(text) for text in (FILE, content))
    assert [(one.start, one.end, one.type) for one in after] == [(one.start, one.end, one.type) for one in before]
    assert after[0].plaintext == "Où est-elle, Ann ?"
