# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small files of office programs and a small book, as the members of their archives."""

import io
import zipfile
from collections.abc import Mapping

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OASIS = "urn:oasis:names:tc:opendocument:xmlns"


def zipped(members: Mapping[str, bytes]) -> bytes:
    """An archive of these members."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            method = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6)), member, method)
    return content.getvalue()


def members_of(content: bytes) -> dict[str, bytes]:
    """The members of an archive, in order."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _content_types(types: Mapping[str, str]) -> bytes:
    rows = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
        for name, kind in types.items()
    )
    return f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">{rows}</Types>'.encode()


def docx(body: str, **parts: str) -> dict[str, bytes]:
    """The members of a Word document.

    Args:
        body: what is in its body.
        parts: content of further parts by their kind: footnotes, comments, header, styles.
    """
    kinds = {"document": "document.main", **{name: name for name in parts}}
    types = {f"word/{name}.xml": f"wordprocessingml.{kind}" for name, kind in kinds.items()}
    names = f'xmlns:w="{_WORD}" xmlns:r="{_RELATIONS}"'
    contents = {
        f"word/{name}.xml": f"{_HEAD}<w:{name} {names}>{text}</w:{name}>".encode() for name, text in parts.items()
    }
    document = f"{_HEAD}<w:document {names}><w:body>{body}</w:body></w:document>".encode()
    return {
        "[Content_Types].xml": _content_types(types),
        "word/document.xml": document,
        "word/media/image1.png": bytes(range(256)),
        **contents,
    }


def pptx(*slides: str, notes: str = "") -> dict[str, bytes]:
    """The members of a presentation.

    Args:
        slides: the paragraphs of each slide, in the order of the files; they are shown in reverse order.
        notes: the paragraphs of a page of notes.
    """
    names = f'xmlns:a="{_DRAWING}" xmlns:p="{_SLIDES}" xmlns:r="{_RELATIONS}"'
    numbers = range(1, len(slides) + 1)
    types = {"ppt/presentation.xml": "presentationml.presentation.main"}
    types |= {f"ppt/slides/slide{number}.xml": "presentationml.slide" for number in numbers}
    order = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in reversed(numbers))
    relations = "".join(f'<Relationship Id="rId{number}" Target="slides/slide{number}.xml"/>' for number in numbers)
    members = {
        "ppt/presentation.xml": f"{_HEAD}<p:presentation {names}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{relations}'
        "</Relationships>",
    }
    for number, text in enumerate(slides, start=1):
        members[f"ppt/slides/slide{number}.xml"] = f"{_HEAD}<p:sld {names}><p:txBody>{text}</p:txBody></p:sld>"
    if notes:
        types["ppt/notesSlides/notesSlide1.xml"] = "presentationml.notesSlide"
        members["ppt/notesSlides/notesSlide1.xml"] = f"{_HEAD}<p:notes {names}>{notes}</p:notes>"
    contents = {name: text.encode() for name, text in members.items()}
    return {"[Content_Types].xml": _content_types(types), **contents, "ppt/media/image1.png": bytes(range(256))}


def xlsx(strings: str, rows: str = "", **parts: str) -> dict[str, bytes]:
    """The members of a workbook of one sheet.

    Args:
        strings: the items that its cells share.
        rows: the rows of the sheet.
        parts: what is in further parts by their kind: table.
    """
    sheet = f'<worksheet xmlns="{_SHEETS}"><sheetData>{rows}</sheetData></worksheet>'
    kinds = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "sharedStrings": "sharedStrings"}
    contents = {
        "workbook": f'<workbook xmlns="{_SHEETS}"><sheets><sheet name="Sheet1" sheetId="1"/></sheets></workbook>',
        "worksheets/sheet1": sheet,
        "sharedStrings": f'<sst xmlns="{_SHEETS}">{strings}</sst>',
        **parts,
    }
    types = {f"xl/{name}.xml": f"spreadsheetml.{kinds.get(name, name)}" for name in contents}
    members = {f"xl/{name}.xml": f"{_HEAD}{text}".encode() for name, text in contents.items()}
    return {"[Content_Types].xml": _content_types(types), **members, "xl/media/image1.png": bytes(range(256))}


def ods(rows: str, styles: str = "", after: str = "") -> dict[str, bytes]:
    """The members of an OpenDocument spreadsheet of one table, with what stands after it."""
    return odt(f'<table:table table:name="Sheet1">{rows}</table:table>{after}', styles, "spreadsheet")


def odt(body: str, styles: str = "", kind: str = "text") -> dict[str, bytes]:
    """The members of an OpenDocument file.

    Args:
        body: what is in its body.
        styles: what is in its styles.
        kind: "text", "presentation" or "spreadsheet".
    """
    names = " ".join(
        f'xmlns:{short}="{_OASIS}:{name}:1.0"'
        for short, name in [
            ("office", "office"), ("text", "text"), ("style", "style"), ("fo", "xsl-fo-compatible"),
            ("draw", "drawing"), ("table", "table"),
        ]
    )  # fmt: skip
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    inside = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"{head}<office:document-content {names}>{inside}</office:document-content>"
    return {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": content.encode(),
        "styles.xml": f"{head}<office:document-styles {names}>{styles}</office:document-styles>".encode(),
        "Pictures/a.png": bytes(range(256)),
    }


def epub(*chapters: str, contents: str = "") -> dict[str, bytes]:
    """The members of a book.

    Args:
        chapters: the bodies of its pages, in the order of the files; they are read in reverse order.
        contents: the labels of the table of contents.
    """
    numbers = range(1, len(chapters) + 1)
    items = "".join(
        f'<item id="c{number}" href="text/c%20{number}.xhtml" media-type="application/xhtml+xml"/>'
        for number in numbers
    )
    order = "".join(f'<itemref idref="c{number}"/>' for number in reversed(numbers))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>A Book</dc:title><dc:language>en-GB</dc:language><dc:language>la</dc:language></metadata><manifest>"
        f'{items}<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest><spine>{order}</spine>'
        "</package>"
    )
    points = (
        f"<docAuthor><text>A. Author</text></docAuthor><navMap><navPoint><navLabel><text>{contents}</text></navLabel>"
        '<content src="text/c%201.xhtml"/></navPoint></navMap>'
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    pages = {
        f"OEBPS/text/c {number}.xhtml": f'{head}<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>'
        f"</title></head><body>{text}</body></html>"
        for number, text in enumerate(chapters, start=1)
    }
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'{head}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="OEBPS/a.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>",
        "OEBPS/a.opf": f"{head}{package}",
        "OEBPS/toc.ncx": f'{head}<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/">{points}</ncx>',
        **pages,
    }
    return {**{name: text.encode() for name, text in members.items()}, "OEBPS/a.png": bytes(range(256))}


DOCX = docx(
    '<w:p><w:pPr><w:jc w:val="both"/></w:pPr><w:r w:rsidR="1"><w:t xml:space="preserve">A </w:t></w:r>'
    '<w:proofErr w:type="spellStart"/><w:r><w:rPr><w:b/><w:lang w:val="en-US"/></w:rPr><w:t>re</w:t></w:r>'
    '<w:r><w:rPr><w:b/></w:rPr><w:t>d</w:t></w:r><w:bookmarkStart w:id="1"/><w:r>'
    '<w:t xml:space="preserve"> door.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    '<w:tbl><w:tr><w:tc><w:p><w:hyperlink r:id="rId1"><w:r><w:rPr><w:u w:val="single"/></w:rPr><w:t>Click here</w:t>'
    "</w:r></w:hyperlink><w:r><w:t xml:space='preserve"
    "'> now!</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:r><w:tab/><w:t>Page</w:t><w:br/><w:t xml:space='preserve'>"
    "It is </w:t></w:r><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText> PAGE </w:instrText></w:r>"
    "<w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>7</w:t></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r>"
    "<w:r><w:t xml:space='preserve'> pages.</w:t></w:r></w:p>",
    footnotes='<w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> A note.</w:t></w:r>'
    "</w:p></w:footnote>",
    comments='<w:comment w:id="1"><w:p><w:r><w:t>Really?</w:t></w:r></w:p></w:comment>',
)
PPTX = pptx(
    '<a:p><a:pPr algn="ctr"/><a:r><a:rPr lang="en-US" b="1"/><a:t>Last</a:t></a:r><a:r><a:rPr lang="en-US"/><a:t>'
    ' words.</a:t></a:r><a:endParaRPr lang="en-US"/></a:p>',
    "<a:p><a:r><a:t>First</a:t></a:r><a:br/><a:r><a:t>things.</a:t></a:r></a:p>"
    '<a:p><a:fld id="{1}" type="slidenum"><a:t>3</a:t></a:fld></a:p>',
    notes="<a:p><a:r><a:t>Say it.</a:t></a:r></a:p>",
)
ODT = odt(
    '<text:h>Title</text:h><text:p>A <text:span text:style-name="T1">red</text:span> door.<text:note><text:'
    "note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body></text:note></text:p>"
    "<text:p>One<text:tab/>two <text:a>three</text:a>.<office:annotation><text:p>Really?</text:p></office:annotation>"
    '</text:p><text:p>See <text:page-number>7</text:page-number> there.<text:s text:c="2"/>Now.</text:p>',
    '<style:style><style:text-properties fo:language="en" fo:country="US"/></style:style>'
    "<style:header><text:p>Head.</text:p></style:header>",
)
EPUB = epub(
    '<h1>The end</h1><p>It is &lt; 5 &amp; <em>late</em>.<a id="n1" href="#f1">1</a></p>',
    '<p><a id="p1"/>One<br/>two.</p><pre>x = 1</pre>',
    contents="The end",
)
XLSX = xlsx(
    '<si><t>A title</t></si><si><r><t xml:space="preserve">A </t></r><r><rPr><b/></rPr><t>red</t></r><r>'
    '<t xml:space="preserve"> door.</t></r></si><si><t>Yes</t></si><si><t>Price</t></si>'
    "<si><t>One.\nTwo.</t><phoneticPr fontId='1'/></si>",
    '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="inlineStr"><is><t>In the cell.</t></is></c></row>'
    '<row><c t="str"><f>IF(A1="Yes",B1,"")</f><v>A result</v></c><c><v>12</v></c></row>',
    table=f'<table xmlns="{_SHEETS}"><tableColumns><tableColumn id="1" name="Price"/></tableColumns></table>',
)
_CELL = '<table:table-cell office:value-type="string"{0}><text:p>{1}</text:p></table:table-cell>'
ODS = ods(
    f"<table:table-row>{_CELL.format('', 'A <text:span>red</text:span> door.')}{_CELL.format('', 'Yes')}"
    '<table:table-cell office:value-type="float" office:value="1"><text:p>one</text:p></table:table-cell>'
    + _CELL.format(' table:formula="of:=IF([.A1]=&quot;Yes&quot;;1;2)"', "A result")
    + '<table:table-cell office:value-type="string"><text:p>One.</text:p><text:p>Two.</text:p><draw:frame>'
    "<draw:text-box><text:p>A box.</text:p></draw:text-box></draw:frame></table:table-cell></table:table-row>",
    "<style:header><text:p>Head.</text:p></style:header>",
)
