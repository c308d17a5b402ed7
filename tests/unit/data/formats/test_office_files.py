# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of office programs: translations are in the place and the formatting of their sources, and all else stays."""

import zipfile
from pathlib import Path

import pytest
from lxml import etree
from office_files import DOCX, EPUB, ODT, PPTX, docx, epub, members_of, odt, pptx, zipped

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats import zip_package
from hier_nmt.data.formats.registry import format_of, read_document_file
from hier_nmt.text.protected_spans import OBJECT

SEEDS = {"docx": DOCX, "pptx": PPTX, "odt": ODT, "epub": EPUB}
MAIN = {"docx": "word/document.xml", "pptx": "ppt/slides/slide1.xml", "odt": "content.xml", "epub": "OEBPS/a.opf"}


def sentences(folder: Path, name: str, members: dict[str, bytes]) -> list[list[str]]:
    """The sentences of each document."""
    (folder / "a").write_bytes(zipped(members))
    return [
        [unit.source for unit in item.units] for item in read_document_file(folder / "a", "en", "fr", name).documents
    ]


def translated(folder: Path, name: str, members: dict[str, bytes], texts: dict[str, str]) -> dict[str, bytes]:
    """The members of the translation; sentences that are not in `texts` stay."""
    (folder / "a").write_bytes(zipped(members))
    file = read_document_file(folder / "a", "en", "fr", name)
    content = file.translated([[texts.get(unit.source, unit.source) for unit in item.units] for item in file.documents])
    return members_of(content)


def canonical(member: bytes) -> bytes:
    """The XML of a member in its canonical form."""
    return etree.tostring(etree.fromstring(member), method="c14n")


def runs(member: bytes) -> list[str]:
    """The text of each run with the names of its properties."""
    found = []
    for run in etree.fromstring(member).iter("{*}r"):
        names = [etree.QName(one).localname for one in run.iterfind("{*}rPr/*")]
        attributes = [name for one in run.iterfind("{*}rPr") for name in one.attrib if name != "lang"]
        others = [f"<{etree.QName(one).localname}>" for one in run if not one.tag.endswith(("}rPr", "}t"))]
        text = "".join(run.itertext("{*}t"))
        found.append("+".join([*filter(None, [text]), *others, *names, *attributes]))
    return found


@pytest.mark.parametrize("name", SEEDS)
def test_sentences_are_units_in_order(tmp_path, name) -> None:
    expected = {
        "docx": [["A red door.", "Click here now!", "Page", f"It is {OBJECT} pages."], ["A note."]],
        "pptx": [["First", "things.", "Last words."], ["Say it."]],
        "odt": [["Title", "A red door.", "A note.", "One", "two three.", f"See {OBJECT} there.", "Now."], ["Head."]],
        "epub": [["One", "two.", "The end", "It is < 5 & late."], ["The end"]],
    }
    assert sentences(tmp_path, name, SEEDS[name]) == expected[name]


@pytest.mark.parametrize("name", SEEDS)
def test_without_changes_every_member_stays(tmp_path, name) -> None:
    (tmp_path / "a").write_bytes(zipped(SEEDS[name]))
    # A language that none of them names, so that no name changes.
    file = read_document_file(tmp_path / "a", "de", "fr", name)
    content = file.translated([[unit.source for unit in item.units] for item in file.documents])
    found = members_of(content)
    assert list(found) == list(SEEDS[name])
    for member, original in SEEDS[name].items():
        if member.endswith(".xml"):
            assert canonical(found[member]) == canonical(original)
        else:
            assert found[member] == original
    with zipfile.ZipFile(tmp_path / "a") as before:
        (tmp_path / "b").write_bytes(content)
        with zipfile.ZipFile(tmp_path / "b") as after:
            for one, other in zip(before.infolist(), after.infolist(), strict=True):
                assert (one.date_time, one.compress_type) == (other.date_time, other.compress_type)


def test_runs_keep_their_formatting(tmp_path) -> None:
    texts = {"A red door.": "Une porte rouge.", "Click here now!": "Cliquez ici maintenant !"}
    found = translated(tmp_path, "docx", DOCX, texts)
    assert runs(found["word/document.xml"])[:7] == [
        "Une ", "porte+b+lang", " rouge.", "<footnoteReference>", "Cliquez ici+u", " maintenant !",
        "PageIt is +<tab>+<br>",
    ]  # fmt: skip
    document = etree.fromstring(found["word/document.xml"])
    assert ["".join(one.itertext()) for one in document.iter("{*}hyperlink")] == ["Cliquez ici"]
    assert len(list(document.iter("{*}bookmarkStart"))) == 1
    assert [one.get("{http://schemas.openxmlformats.org/wordprocessingml/2006/main}val") for one in
            document.iter("{*}lang")] == ["fr"]  # fmt: skip
    for member in ("word/comments.xml", "word/media/image1.png", "[Content_Types].xml"):
        assert found[member] == DOCX[member]


def test_a_field_moves_as_a_word(tmp_path) -> None:
    source = f"It is {OBJECT} pages."
    field = ["<fldChar>", "<instrText>", "<fldChar>", "7", "<fldChar>"]
    found = translated(tmp_path, "docx", DOCX, {source: f"{OBJECT} pages, voila."})
    assert runs(found["word/document.xml"])[-6:] == [*field, " pages, voila."]
    # A translation that lacks it gets it at the same place in proportion.
    found = translated(tmp_path, "docx", DOCX, {source: "Il y a pages."})
    assert sorted(runs(found["word/document.xml"])[-7:]) == sorted([*field, "Il y a ", " pages."])


def test_the_result_of_a_hyperlink_field_is_text(tmp_path) -> None:
    def char(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    members = docx(
        "<w:p><w:r><w:t xml:space='preserve'>See </w:t></w:r>"
        + char("begin")
        + "<w:r><w:instrText>HYPERLINK x</w:instrText></w:r>"
        + char("separate")
        + "<w:r><w:t>the page</w:t></w:r>"
        + char("end")
        + "<w:r><w:t>.</w:t></w:r></w:p>"
    )
    assert sentences(tmp_path, "docx", members) == [["See the page."]]
    found = translated(tmp_path, "docx", members, {"See the page.": "Voir la page."})
    assert runs(found["word/document.xml"]) == [
        "Voir ", "<fldChar>", "<instrText>", "<fldChar>", "la page", "<fldChar>", ".",
    ]  # fmt: skip


def test_inserted_text_is_text_and_deleted_text_is_not(tmp_path) -> None:
    members = docx(
        '<w:p><w:r><w:t xml:space="preserve">A </w:t></w:r><w:del w:id="1"><w:r><w:delText>blue</w:delText></w:r>'
        '</w:del><w:ins w:id="2"><w:r><w:t>red</w:t></w:r></w:ins><w:r>'
        '<w:t xml:space="preserve"> door.</w:t></w:r></w:p>'
    )
    assert sentences(tmp_path, "docx", members) == [["A red door."]]
    root = etree.fromstring(
        translated(tmp_path, "docx", members, {"A red door.": "Une porte rouge."})["word/document.xml"]
    )
    assert ["".join(one.itertext()) for one in root.iter("{*}ins")] == ["porte"]
    assert ["".join(one.itertext()) for one in root.iter("{*}del")] == ["blue"]


def test_spelling_marks_and_revisions_split_no_text(tmp_path) -> None:
    runs_of_a_word = "".join(
        f'<w:r w:rsidR="{number}"><w:rPr><w:i/><w:lang w:val="en-GB"/></w:rPr><w:t>{part}</w:t></w:r><w:proofErr/>'
        for number, part in enumerate(["Hel", "lo the", "re."])
    )
    members = docx(f"<w:p>{runs_of_a_word}</w:p>")
    found = translated(tmp_path, "docx", members, {"Hello there.": "Bonjour."})
    assert runs(found["word/document.xml"]) == ["Bonjour.+i+lang"]


def test_text_that_is_there_again_for_older_programs_gets_the_same_translation(tmp_path) -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>A box.</w:t></w:r></w:p></w:txbxContent>"
    members = docx(
        '<w:p xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><w:t>Hi.</w:t></w:r><w:r>'
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
        "</w:r></w:p>"
    )
    assert sentences(tmp_path, "docx", members) == [["Hi.", "A box."]]
    found = translated(tmp_path, "docx", members, {"A box.": "Une.", "Hi.": "Salut."})
    text = "".join(etree.fromstring(found["word/document.xml"]).itertext())
    assert (text.count("Une."), text.count("Salut."), text.count("A box.")) == (2, 1, 0)


def test_slides_are_read_in_the_order_in_which_they_are_shown(tmp_path) -> None:
    members = pptx(*(f"<a:p><a:r><a:t>Slide {name}.</a:t></a:r></a:p>" for name in "abc"))
    assert sentences(tmp_path, "pptx", members) == [["Slide c.", "Slide b.", "Slide a."]]


def test_runs_of_a_slide_keep_their_formatting(tmp_path) -> None:
    found = translated(tmp_path, "pptx", PPTX, {"Last words.": "Derniers mots.", "First": "D'abord"})
    assert runs(found["ppt/slides/slide1.xml"]) == ["Derniers+b", " mots."]
    assert runs(found["ppt/slides/slide2.xml"]) == ["D'abord", "things."]
    last = etree.fromstring(found["ppt/slides/slide1.xml"]).find(".//{*}p")[-1]
    assert (etree.QName(last).localname, last.get("lang")) == ("endParaRPr", "fr")
    assert b'type="slidenum"><a:t>3</a:t></a:fld>' in found["ppt/slides/slide2.xml"]


def test_line_breaks_in_the_text_of_a_slide_stay(tmp_path) -> None:
    members = pptx("<a:p><a:r><a:t>One.\n  Two.</a:t></a:r></a:p>")
    found = translated(tmp_path, "pptx", members, {"One.": "Un.", "Two.": "Deux."})
    assert runs(found["ppt/slides/slide1.xml"]) == ["Un.\n  Deux."]


def test_spans_notes_and_spaces_of_open_documents_stay(tmp_path) -> None:
    source = f"See {OBJECT} there."
    texts = {
        "A red door.": "Une porte rouge.",
        "A note.": "Une note.",
        source: f"Voir {OBJECT} là.",
        "two three.": "deux trois.",
        "Head.": "Tête.",
    }
    found = translated(tmp_path, "odt", ODT, texts)
    content = found["content.xml"].decode()
    assert 'Une <text:span text:style-name="T1">porte</text:span> rouge.<text:note>' in content
    assert "<text:p>Une note.</text:p>" in content
    assert "<text:p>One<text:tab/>deux <text:a>trois</text:a>.<office:annotation><text:p>Really?</text:p>" in content
    assert 'Voir <text:page-number>7</text:page-number> là.<text:s text:c="2"/>Now.' in content
    styles = found["styles.xml"].decode()
    assert "<text:p>Tête.</text:p>" in styles
    assert 'fo:language="fr" fo:country="none"' in styles
    assert found["mimetype"] == ODT["mimetype"]


def test_deleted_text_of_open_documents_stays(tmp_path) -> None:
    members = odt(
        "<text:tracked-changes><text:deletion><text:p>Old.</text:p></text:deletion></text:tracked-changes>"
        '<text:p>Some <text:change text:change-id="1"/>text.</text:p>'
    )
    assert sentences(tmp_path, "odt", members) == [["Some text."]]


def test_chapters_are_one_document_in_reading_order(tmp_path) -> None:
    texts = {"It is < 5 & late.": "C'est < 5 & tard.", "The end": "Fin", "two.": "deux."}
    found = translated(tmp_path, "epub", EPUB, texts)
    first = found["OEBPS/text/c 1.xhtml"].decode()
    assert '<h1>Fin</h1><p>C\'est &lt; 5 &amp; <em>tard</em>.<a id="n1" href="#f1">1</a></p>' in first
    assert '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="fr">' in first
    assert '<p><a id="p1"/>One<br/>deux.</p><pre>x = 1</pre>' in found["OEBPS/text/c 2.xhtml"].decode()
    assert "<text>A. Author</text></docAuthor><navMap><navPoint><navLabel><text>Fin<" in found["OEBPS/toc.ncx"].decode()


def test_a_book_says_in_which_language_it_is(tmp_path) -> None:
    package = EPUB["OEBPS/a.opf"].replace(b"en-GB", b"fr")
    assert translated(tmp_path, "epub", EPUB, {})["OEBPS/a.opf"] == package


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("META-INF/container.xml", b"<container/>", "a: not EPUB: META-INF/container.xml names no package"),
        ("OEBPS/a.opf", b"<package/>", "a!OEBPS/a.opf: not EPUB: no manifest or no spine"),
        ("OEBPS/text/c 1.xhtml", b"<p>\xe9</p>", "a!OEBPS/text/c 1.xhtml:1: not UTF-8"),
        ("META-INF/encryption.xml", b'<e><CipherReference URI="OEBPS/text/c%201.xhtml"/></e>', "a: encrypted file"),
    ],
)
def test_a_broken_book_is_an_error_with_a_place(tmp_path, name, content, error) -> None:
    with pytest.raises(CorpusError) as caught:
        sentences(tmp_path, "epub", EPUB | {name: content})
    assert error in str(caught.value)


def test_a_chapter_that_is_not_there_is_named(tmp_path) -> None:
    members = {name: content for name, content in epub("<p>A.</p>").items() if "c 1" not in name}
    with pytest.raises(CorpusError, match=r"a: missing member: OEBPS/text/c 1.xhtml is not in the archive"):
        sentences(tmp_path, "epub", members)


def test_a_presentation_is_read_like_a_text(tmp_path) -> None:
    members = odt("<draw:page><draw:frame><text:p>Hello.</text:p></draw:frame></draw:page>", kind="presentation")
    assert sentences(tmp_path, "odt", members) == [["Hello."]]


@pytest.mark.parametrize("name", SEEDS)
def test_formats_are_recognised_by_name_or_by_what_is_inside(tmp_path, name) -> None:
    for path in (tmp_path / f"a.{name}", tmp_path / "a"):
        path.write_bytes(zipped(SEEDS[name]))
        assert format_of(path) == name


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda content: b"Hello.", r"a: broken zip archive"),
        (lambda content: content[: len(content) // 2], r"a: broken zip archive"),
        (lambda content: content.replace(b"PK\x03\x04", b"PK\x03\x05", 1), r"a: broken zip archive: \S+: Bad magic"),
        (lambda content: zipped({"b.txt": b"Hello."}), r"a: (missing member|not ODT)"),
    ],
)
def test_a_broken_archive_is_an_error_with_a_name(tmp_path, name, change, error) -> None:
    (tmp_path / "a").write_bytes(change(zipped(SEEDS[name])))
    with pytest.raises(CorpusError, match=error):
        read_document_file(tmp_path / "a", "en", "fr", name).translated([])


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"<a>", "not well-formed XML"),
        (b"", "empty file"),
        (b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>', "entity declarations: 'a', 'b'"),
    ],
)
def test_a_broken_member_is_an_error_with_its_name(tmp_path, name, content, error) -> None:
    with pytest.raises(CorpusError, match=rf"a!{MAIN[name]}.*: {error}"):
        sentences(tmp_path, name, SEEDS[name] | {MAIN[name]: content})


@pytest.mark.parametrize("name", SEEDS)
def test_a_namespace_that_is_no_uri_is_refused(tmp_path, name) -> None:
    content = SEEDS[name][MAIN[name]].replace(b'" xmlns', b'&lt;b&gt;" xmlns').replace(b'opf"', b'&lt;b&gt;"')
    with pytest.raises(
        CorpusError, match=rf"a!{MAIN[name]}\S* (invalid namespace|not well-formed XML): .*is not a (valid )?URI"
    ):
        sentences(tmp_path, name, SEEDS[name] | {MAIN[name]: content})


@pytest.mark.parametrize(("name", "other"), [("docx", PPTX), ("pptx", DOCX), ("odt", DOCX)])
def test_a_file_of_another_program_is_refused(tmp_path, name, other) -> None:
    with pytest.raises(CorpusError, match=f"a: not {name.upper()}: "):
        sentences(tmp_path, name, other)


def test_a_file_with_a_password_is_refused(tmp_path) -> None:
    with pytest.raises(CorpusError, match="a: encrypted file: save it without a password"):
        sentences(tmp_path, "odt", ODT | {"META-INF/manifest.xml": b"<manifest:encryption-data/>"})


@pytest.mark.parametrize("name", SEEDS)
def test_archives_that_expand_too_far_are_refused(tmp_path, name, monkeypatch) -> None:
    bomb = SEEDS[name] | {"b.xml": bytes(20_000_000)}
    with pytest.raises(CorpusError, match=r"a: archive expands too far: \d+ bytes expand to 2\d{7} in"):
        sentences(tmp_path, name, bomb)
    monkeypatch.setattr(zip_package, "MAX_PARSED_BYTES", 100)
    with pytest.raises(CorpusError, match=r"a!.*: text too long: \d+ bytes"):
        sentences(tmp_path, name, SEEDS[name])
    monkeypatch.setattr(zip_package, "MAX_MEMBERS", 3)
    with pytest.raises(CorpusError, match="archive expands too far"):
        sentences(tmp_path, name, SEEDS[name])


def _index_in(name: str, before: str, index: str, after: str, place: str = "subscript") -> dict[str, bytes]:
    """The members of a file with a subscript or superscript in a sentence."""
    if name == "docx":
        plain = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
        raised = f"<w:r><w:rPr><w:i/><w:vertAlign w:val='{place}'/></w:rPr><w:t>{index}</w:t></w:r>"
        return docx(f"<w:p>{plain.format(before)}{raised}{plain.format(after)}</w:p>")
    if name == "pptx":
        plain = "<a:r><a:rPr lang='en-US'/><a:t>{}</a:t></a:r>"
        raised = f"<a:r><a:rPr baseline='{'-25000' if place == 'subscript' else '30000'}'/><a:t>{index}</a:t></a:r>"
        return pptx(f"<a:p>{plain.format(before)}{raised}{plain.format(after)}</a:p>")
    position = "sub 58%" if place == "subscript" else "33% 58%"
    style = f'<style:style style:name="T7"><style:text-properties style:text-position="{position}"/></style:style>'
    paragraph = f'<text:p>{before}<text:span text:style-name="T7">{index}</text:span>{after}</text:p>'
    if name == "ods":
        return odt(f'<table:table-cell office:value-type="string">{paragraph}</table:table-cell>', style, "spreadsheet")
    body = f"<draw:frame>{paragraph}</draw:frame>" if name == "odp" else paragraph
    return odt(body, style, "presentation" if name == "odp" else "text")


@pytest.mark.parametrize("name", ["docx", "pptx", "odt", "odp", "ods"])
@pytest.mark.parametrize(
    ("before", "index", "after", "source"),
    [
        ("Let x", "i", " be a number.", "Let x be a number."),
        ("Take E", "max", ", too.", "Take E, too."),
        ("Drink H", "2", "O now.", f"Drink {OBJECT} now."),
        ("It has 25 m", "2", " in all.", "It has 25 m in all."),
        # Not the index of a variable.
        ("The word", "new", " is raised.", "The wordnew is raised."),
        ("The 1", "st", " one.", "The 1st one."),
    ],
)
def test_indices_are_no_text_and_stay_with_their_word(tmp_path, name, before, index, after, source) -> None:
    for place in ("subscript", "superscript"):
        members = _index_in(name, before, index, after, place)
        kind = "odt" if name == "odp" else name
        assert sentences(tmp_path, kind, members) == [[source]]
        found = translated(tmp_path, kind, members, {source: source.replace(".", " !")})
        main = MAIN.get(name, "content.xml")
        text = "".join(etree.fromstring(found[main]).itertext()).strip()
        assert text == f"{before}{index}{after}".replace(".", " !")


def test_a_paragraph_that_is_mostly_an_index_keeps_it(tmp_path) -> None:
    (source,) = sentences(tmp_path, "docx", _index_in("docx", "of x", "max", ""))
    assert source == ["of x"]


def test_white_space_after_an_index_is_no_part_of_it(tmp_path) -> None:
    raised = "<w:r><w:rPr><w:vertAlign w:val='subscript'/></w:rPr><w:t>i</w:t></w:r>"
    space = "<w:r><w:rPr><w:b/></w:rPr><w:t xml:space='preserve'> </w:t></w:r>"
    members = docx(f"<w:p><w:r><w:t>Use x</w:t></w:r>{raised}{space}<w:r><w:t>here.</w:t></w:r></w:p>")
    assert sentences(tmp_path, "docx", members) == [["Use x here."]]
