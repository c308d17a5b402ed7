# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Spreadsheets: texts of cells change, and what a workbook computes with does not."""

import io
import shutil
import subprocess

import pytest
from lxml import etree
from office_files import ODS, XLSX, members_of, ods, odt, xlsx, zipped

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import format_of, read_document_file

pytest.importorskip("sentencex")


def read(folder, members, name="a.xlsx"):
    (folder / name).write_bytes(zipped(members))
    return read_document_file(folder / name, "en", "fr", format_of(folder / name))


def sources(file) -> list[list[str]]:
    return [[unit.source for unit in item.units] for item in file.documents]


def upper(file) -> bytes:
    return file.translated([[unit.source.upper() for unit in item.units] for item in file.documents])


def test_what_a_workbook_finds_cells_by_is_no_text(tmp_path) -> None:
    # "Yes" is compared with, "Price" is a heading of a table; results of formulas and numbers are none either.
    assert sources(read(tmp_path, XLSX)) == [["A title", "A red door.", "One.", "Two."], ["In the cell."]]


def test_texts_of_a_workbook_keep_their_form(tmp_path) -> None:
    found = members_of(upper(read(tmp_path, XLSX)))
    strings = etree.fromstring(found["xl/sharedStrings.xml"])
    items = [[(etree.QName(one).localname, one.text) for one in item.iter("{*}t", "{*}r", "{*}b")] for item in strings]
    assert items[0] == [("t", "A TITLE")]
    assert [text for name, text in items[1] if name == "t"] == ["A ", "RED", " DOOR."]
    assert [name for name, _ in items[1]] == ["r", "t", "r", "b", "t", "r", "t"]
    assert items[2:4] == [[("t", "Yes")], [("t", "Price")]]
    assert items[4] == [("t", "ONE.\nTWO.")]
    assert etree.QName(strings[4][-1]).localname == "phoneticPr"
    sheet = found["xl/worksheets/sheet1.xml"].decode()
    assert "<is><t>IN THE CELL.</t></is>" in sheet
    assert "<v>A result</v>" in sheet
    assert all(
        found[name] == XLSX[name] for name in XLSX if name not in ("xl/sharedStrings.xml", "xl/worksheets/sheet1.xml")
    )


def test_spaces_at_the_ends_of_a_cell_are_kept(tmp_path) -> None:
    content = upper(read(tmp_path, xlsx('<si><t xml:space="preserve"> a b </t></si>')))
    assert b'<t xml:space="preserve"> A B </t>' in members_of(content)["xl/sharedStrings.xml"]


def test_lists_of_allowed_values_stay(tmp_path) -> None:
    strings = "".join(f"<si><t>{text}</t></si>" for text in ("yes", "Perhaps", "A cell"))
    rule = (
        '</sheetData><dataValidations><dataValidation><formula1>"Yes,Perhaps"</formula1></dataValidation>'
        "</dataValidations><sheetData>"
    )
    assert sources(read(tmp_path, xlsx(strings, rule))) == [["A cell"]]


def test_texts_of_an_open_spreadsheet_are_those_of_its_text_cells(tmp_path) -> None:
    file = read(tmp_path, ODS, "a.ods")
    assert sources(file) == [["A red door.", "One.", "Two.", "A box."], ["Head."]]
    content = members_of(upper(file))["content.xml"].decode()
    assert "A <text:span>RED</text:span> DOOR." in content
    assert all(f"<text:p>{text}</text:p>" in content for text in ("one", "Yes", "A result", "ONE.", "TWO.", "A BOX."))


@pytest.mark.parametrize(
    ("members", "name", "message"),
    [
        ({**XLSX, "[Content_Types].xml": b"<Types/>"}, "a.xlsx", "not XLSX"),
        ({**XLSX, "xl/sharedStrings.xml": b"<sst><si>"}, "a.xlsx", "not well-formed XML"),
        (odt("<text:p>A</text:p>"), "a.ods", "not ODS"),
        (ods("<table:table-row/>"), "a.ods", "empty corpus"),
    ],
)
def test_a_broken_workbook_is_an_error_with_its_name(tmp_path, members, name, message) -> None:
    with pytest.raises(CorpusError, match=message) as error:
        read(tmp_path, members, name)
    assert str(tmp_path / name) in str(error.value)


def test_openpyxl_reads_a_translated_workbook(tmp_path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"], book.active["B2"], book.active["C3"] = "Good morning.", 12, '=IF(A1="x",1,2)'
    book.active["D4"] = "A red\ndoor"
    book.save(tmp_path / "a.xlsx")
    file = read_document_file(tmp_path / "a.xlsx", "en", "fr")
    found = openpyxl.load_workbook(io.BytesIO(upper(file))).active
    assert [found[name].value for name in ("A1", "B2", "C3", "D4")] == [
        "GOOD MORNING.", 12, '=IF(A1="x",1,2)', "A RED\nDOOR",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice")
@pytest.mark.parametrize("ending", ["ods", "xlsx"])
def test_libreoffice_reads_a_translated_spreadsheet_that_it_wrote(tmp_path, ending) -> None:
    (tmp_path / "a.csv").write_text('Good morning.,12\n"A red door, here","=IF(A1=""x"";1;2)"\n')
    converted(tmp_path, "a.csv", ending)
    file = read_document_file(tmp_path / f"a.{ending}", "en", "fr")
    (tmp_path / f"b.{ending}").write_bytes(upper(file))
    converted(tmp_path, f"b.{ending}", "csv")
    assert (tmp_path / "b.csv").read_text() == 'GOOD MORNING.,12\n"A RED DOOR, HERE",2\n'


def converted(folder, name: str, ending: str) -> None:
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", ending, "--outdir", folder, folder / name]
    subprocess.run(command, check=True, capture_output=True)
