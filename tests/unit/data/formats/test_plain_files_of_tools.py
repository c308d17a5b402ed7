# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small files as other tools write them, typed after their documentation: they are copied unchanged."""

import pytest

from hier_nmt.data.formats.registry import format_of, read_document_file

SRT = {
    "film.srt": "\ufeff1\r\n00:00:00,498 --> 00:00:02,827\r\n- Here's what I love most\r\n- about food.\r\n\r\n"
    "2\r\n00:00:02,827 --> 00:00:06,383\r\n<i>Is that right?</i>\r\n\r\n",
    # Without blank lines at the end, hours of one digit, a decimal point.
    "player.srt": "1\n0:00:01.5 --> 0:00:02.250\nHello!\n\n"
    "2\n0:00:03.0 --> 0:00:04.0\n\n3\n0:00:05.0 --> 0:00:06.0\nBye!",
    "places.srt": "5\n00:01:00,000 --> 00:01:02,000  X1:201 X2:516 Y1:397 Y2:423\n{\\an8}(DOOR CLOSES)\n\n"
    '6\n00:01:03,000 --> 00:01:04,000\n<font color="#ffff00">Who is it?</font>\n',
    "converted.srt": "1\n00:00:01,000 --> 00:00:03,000\nYou are early.\\NSit down.\n\n\n"
    "2\n00:00:04,000 --> 00:00:05,000\n\u266a\n",
    "numbers.srt": "0\n00:00:01,000 --> 00:00:03,000\n1984\nby George Orwell.\n\n"
    "1\n00:00:04,000 --> 00:00:05,000\n2 + 2 = 5\n",
}  # fmt: skip
ID_COLUMN = {
    "export.tsv": "doc_id\tsource\ttarget\r\nnews-1\tYes.\tOui.\r\nnews-1\tNo.\tNon.\r\n",
    "wmt.tsv": "news-1\tYes.\tOui.\nnews-1\t\u201cNo.\u201d\t\u00ab Non. \u00bb\nnews-2\tGo.\tVa.\n",
    "sheet.tsv": "\ufeffID\tEN\tFR\tcomment\n1\tYes.\tOui.\tcheck!\n2\tNo.\tNon.\t",
    "blank.tsv": "\na\tYes.\tOui.\n\n\nb\tNo.\tNon.\n",
    "marks.tsv": "d/1#2\t  Yes.\t\u00a0Oui.\nd/1#2\t<b>No.</b>\t<b>Non.</b>",
}
JSON_LINES = {
    "one.jsonl": '{"id": "a", "title": "T", "paragraphs": [{"en": ["Yes.", "No."], "fr": ["Oui.", "Non."]}]}\n',
    "two.jsonl": '{"id": 1, "paragraphs": [{"en": ["Yes."], "fr": ["Oui."], "de": ["Ja."]}]}\r\n'
    '{"id": 2, "paragraphs": [{"en": ["No."], "fr": ["Non."]}]}\r\n',
    "keys.json": '{"url": "//a.b", "id": "a", "paragraphs": [{"n": 1, "en": ["Yes."], "fr": ["Oui."]}], "x": 1.5}',
    "blank.jsonl": '\ufeff\n{"id": "a", "paragraphs": [{"en": ["\u00c9t.", ""], "fr": ["\u00c9t.", ""]}]}\n\n',
    "empty.jsonl": '{"id": "a", "paragraphs": [{"en": [], "fr": []}, {"en": ["\\"Yes.\\""], "fr": ["Oui."]}]}\n',
}
MOSES = {
    "corpus.en": "Yes .\nNo .\n",
    "corpus.tok": "&quot; Yes . &quot;\n&apos;s &#124; &#91; a &#93;\n\n",
    "documents.en": "\nYes.\nNo.\n\n\nGo.",
    "marks.en": "<d>\nYes.\n<d>\r\nNo.\r\n",
    "factors.en": "yes|yes|UH .|.|.\n  no|no|DT\t\n",
}
TEXT = {
    "windows.txt": "\ufeffA title\r\n\r\nYes. No.\r\n\tGo.\r\n",
    "old.txt": "  * Yes.\n  * No.\n----------\n\x0cGo.\n",
    "no end.txt": "Yes.\n\n\nNo.",
    "spaces.txt": "Yes. \u00a0\nNo.\u3000\n \n",
    "separators.txt": "Yes.\u2028No.\x85Go.\x0bOh.\n",
}
FILES = [(kind, *item) for kind, files in (
    ("srt", SRT), ("id-column", ID_COLUMN), ("json-lines", JSON_LINES), ("moses", MOSES), ("text", TEXT),
) for item in files.items()]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "content"), FILES, ids=[f"{kind}-{name}" for kind, name, _ in FILES])
def test_a_file_comes_back_as_it_was(tmp_path, kind, name, content) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert format_of(tmp_path / name) == ("text" if kind == "moses" else kind)
    found = read_document_file(tmp_path / name, "en", "fr", kind)
    same = [[unit.target if unit.is_translated else unit.source for unit in item.units] for item in found.documents]
    assert found.translated(same).decode() == content


@pytest.mark.parametrize(("kind", "name", "content"), FILES, ids=[f"{kind}-{name}" for kind, name, _ in FILES])
def test_a_translated_file_has_the_same_texts_translated(tmp_path, kind, name, content) -> None:
    (tmp_path / name).write_bytes(content.encode())
    found = read_document_file(tmp_path / name, "en", "fr", kind)
    texts = [[f"x {unit.source}" for unit in item.units] for item in found.documents]
    (tmp_path / "again").write_bytes(found.translated(texts))
    again = read_document_file(tmp_path / "again", "en", "fr", kind)
    is_beside = kind in ("id-column", "json-lines")
    written = [[unit.target if is_beside else unit.source for unit in item.units] for item in again.documents]
    assert [[" ".join((text or "").split()) for text in row] for row in written] == [
        [" ".join(text.split()) for text in row] for row in texts
    ]
