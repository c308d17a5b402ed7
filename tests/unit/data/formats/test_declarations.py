# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Declarations and encoding of a file are correct in its translation, too."""

import pytest
from lxml import etree

from hier_nmt.data.formats.registry import read_document_file

CONTENTS = {
    "tmx": '<tmx version="1.4"><header/><body>\n<tu><tuv xml:lang="en"><seg>Yes.</seg></tuv></tu>\n</body></tmx>',
    "xliff": '<xliff version="1.2"><file original="a" source-language="en" target-language="fr"><body>\n'
    '<trans-unit id="1"><source>Yes.</source>\n</trans-unit></body></file></xliff>',
    "wmt-xml": '<dataset id="t"><doc id="d">\n<src lang="en"><p><seg id="1">Yes.</seg></p></src></doc></dataset>',
    "opus-xml": '<text>\n<s id="1">Yes.</s></text>',
}
LINES = {
    "text": "  Yes.\n\nNo.", "moses": "Yes.\nNo.", "id-column": "a\tYes.\na\tNo.\t",
    "iwslt": "<talkid>1</talkid>\nYes.\nNo.",
    "json-lines": '{"id": 1, "paragraphs": [{"en": ["Yes."]}]}\n{"id": 2, "paragraphs": [{"en": ["No."]}]}',
    "srt": "1\n00:00:01,000 --> 00:00:02,000\nYes.\n\n2\n00:00:03,000 --> 00:00:04,000\nNo.",
}  # fmt: skip
FRENCH = {"Yes.": "É.", "No.": "À."}
MARK = b"\xef\xbb\xbf"


def translated(folder, content: bytes, name: str) -> bytes:
    (folder / "a").write_bytes(content)
    found = read_document_file(folder / "a", "en", "fr", name)
    return found.translated([[FRENCH[unit.source] for unit in item.units] for item in found.documents])


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize(
    "declaration",
    [
        "", '<?xml version="1.0"?>\n', '<?xml version="1.0" encoding="utf-8"?>',
        "<?xml version='1.0' encoding='UTF8'?>\n\n",
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n',
        '<?xml version="1.0"?><!DOCTYPE a SYSTEM "a>.dtd" [<!ELEMENT a (#PCDATA)>]>\n<!-- encoding="x" -->\n\n<?b c?>',
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_xml_keeps_its_declaration_and_its_end(tmp_path, name, declaration, end) -> None:
    result = translated(tmp_path, f"{declaration}{CONTENTS[name]}{end}".encode(), name).decode()
    assert result.startswith(f"{declaration}{CONTENTS[name].split()[0]}")
    assert result.endswith(f">{end}")
    assert "É." in result


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "US-ASCII"])
def test_xml_of_another_encoding_says_that_it_is_utf_8_now(tmp_path, name, encoding) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?>\n{CONTENTS[name]}'.encode(encoding)
    result = translated(tmp_path, content, name)
    assert result.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<')
    assert "É." in "".join(etree.fromstring(result).itertext())


@pytest.mark.parametrize("name", [*CONTENTS, *LINES])
@pytest.mark.parametrize("newline", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", [b"", MARK])
@pytest.mark.parametrize("end", ["", "\n"])
def test_ends_of_lines_and_a_byte_order_mark_stay(tmp_path, name, newline, mark, end) -> None:
    content = {**CONTENTS, **LINES}[name] + end
    written = content.replace("\n", newline).encode()
    result = translated(tmp_path, mark + written, name)
    assert result.startswith(mark)
    assert not result.removeprefix(mark).startswith(MARK)
    assert result.count(b"\r") == (result.count(b"\n") if newline == "\r\n" else 0)
    assert result.endswith(newline.encode()) == bool(end)
    assert result.count(b"\n") >= written.count(b"\n")


@pytest.mark.parametrize("name", LINES)
def test_the_same_texts_give_the_same_bytes(tmp_path, name) -> None:
    content = MARK + LINES[name].replace("\n", "\r\n").encode()
    (tmp_path / "a").write_bytes(content)
    found = read_document_file(tmp_path / "a", "en", "fr", name)
    same = found.translated([[unit.source for unit in item.units] for item in found.documents])
    if name in ("id-column", "json-lines"):
        # The translation is beside the source.
        content = content.replace(b"Yes.", b"Yes.\tYes.").replace(b"No.\t", b"No.\tNo.")
        content = content.replace(b'["Yes.\tYes."]', b'["Yes."], "fr": ["Yes."]').replace(
            b'["No."]', b'["No."], "fr": ["No."]'
        )
    assert same == content


def test_opus_documents_say_the_language_that_they_are_in(tmp_path) -> None:
    content = '<document lang="en-GB"><s id="1" xml:lang="en">Yes.</s><s id="2" xml:lang="la">No.</s></document>'
    root = etree.fromstring(translated(tmp_path, content.encode(), "opus-xml"))
    assert root.get("lang") == "fr"
    assert [one.get("{http://www.w3.org/XML/1998/namespace}lang") for one in root] == ["fr", "la"]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (CONTENTS["xliff"].replace(' target-language="fr"', ""), "xliff", b'target-language="fr"'),
        (CONTENTS["tmx"], "tmx", b'<tuv xml:lang="fr"'),
        (CONTENTS["wmt-xml"], "wmt-xml", b'<hyp lang="fr"'),
    ],
)
def test_translations_are_marked_with_their_language(tmp_path, content, name, said) -> None:
    assert said in translated(tmp_path, content.encode(), name)


def test_a_dtd_that_cannot_be_resolved_is_rewritten(tmp_path) -> None:
    comments = "<!-- a -->" * 200
    content = f"{comments}<!DOCTYPE text [<!ATTLIST s x CDATA ']>'>{comments}]>\n<text><s id='1'>Yes.</s></text>"
    result = translated(tmp_path, content.encode(), "opus-xml")
    assert etree.fromstring(result)[0].text == "É."
    assert b"<!ATTLIST s x CDATA" in result
