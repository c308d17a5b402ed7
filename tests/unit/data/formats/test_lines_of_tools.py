# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files as other programs write them (tests/files, after their documentation): untranslatable text is preserved."""

import re
from pathlib import Path

import pytest
from lxml import etree
from text_promises import check_comes_back, check_stream
from word_translation import WordTranslator

from hier_nmt.data.formats.registry import format_of, read_document_file
from hier_nmt.data.formats.tagged_text import TaggedText
from hier_nmt.jobs.translate_files import translate_file
from hier_nmt.jobs.translate_pages import Page, translate_page
from hier_nmt.text.html_text import html_runs
from hier_nmt.text.markdown_text import markdown_runs
from hier_nmt.text.protected_spans import LINE_BREAK, OBJECT, protected_texts
from hier_nmt.text.untranslatable import STAND_INS

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")

FILES = Path(__file__).parents[3] / "files"
XML_FILES = sorted([*(FILES / "xliff").iterdir(), *(FILES / "tmx").iterdir()])
MARKUP_FILES = sorted([*(FILES / "html").iterdir(), *(FILES / "markdown").iterdir()])
CODES = ("bpt", "ept", "ph", "it", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp", "ut")
# Text that is marked as untranslatable, or is not language.
KEPT = {
    "okapi.html.xlf": ['<mrk mtype="protected" its:translate="no">Big Company Name</mrk>', "press@example.org"],
    "app.xliff": ["%d", "$(PRODUCT_NAME)", "%1$@", "\\n", "%2$lld", "100%%", "%.1f"],
    "messages.xlf": ["<![CDATA[<p>", "&lt;a href=\"x\"&gt;"],
    "terms.xlf": ['<mrk id="m1" translate="no">Big Company Name</mrk>', 'translate="no"/>make test<em startRef="m4"/>'],
    "site.xliff": ["%name%", "{count}", '&lt;a href="%url%"&gt;'],
    "game.xlf": ["{player}", "&lt;b&gt;{lives}&lt;/b&gt;", "__count__", "${total}", "\\n"],
    "project_save.tmx": ["&lt;f0&gt;", "&lt;br1/&gt;", "%s"],
    "strings.tmx": ["%(file)s", "%s\\n", "<![CDATA[", "<code>{0}</code>", "100%%", "{{ total }}"],
    "mail.html": ['<span id="name"></span>', "{{ order.number }}", "%deadline%", "&nbsp;&euro;<sup>1</sup>"],
    "manual.html": ["<code>vote()</code>", "<kbd>Ctrl</kbd>+<kbd>C</kbd>", "H<sub>2</sub>O", "<var>n</var>"],
    "template.html.j2": ["{% for user in users if user.age > 17 %}", "{{ user.name | title }}", "<% if (a > b) { %>"],
    "brand.html": ['<span translate="no">Big Company Name</span>', "<b><span class=\"x notranslate\">ACME <i>One</i>"],
    "export.xhtml": ["<?xml version", "<br/>", "<i></i>A"],
    "README.md": ["> [!WARNING]\n", "`pip install tool`", "**`tool --help`**", "<kbd>Enter</kbd>", "<me@example.org>"],
    "page.hugo.md": ["{#first}", '{{< note title="A *note*" >}}\n', '{{% ref "other.md" %}}'],
    "paper.md": ["$m_0 * c_1$", "$E = mc^2$", "[^1]", "\\(a_b\\)", "x_i * y_i dx"],
    "docs.md": ["!!! note\n", ":::tip Advice\n", "\n:::\n", "`%s`", "{{ name }}", "`__init__`[](x)", "Big *Company*"],
    "strings.md": ["**%(name)s**", "__{count}__", "  \n", "\\\n", "<https://a.b/c>"],
}  # fmt: skip


class Shouting(WordTranslator):
    """A model that translates the words of a text into capital letters."""

    def __init__(self, text: str) -> None:
        words = {word.lower() for word in re.findall(r"[^\W\d_]+|\d+", text.replace("\\n", " "))}
        marks = [":", ";", "?", "(", ")", "'", "=", "-", ").", ":;", "~", "$"]
        more = {*words, *(word.capitalize() for word in words), *STAND_INS, *marks}
        languages = {"source_language": "en", "target_language": "fr"}
        super().__init__(more_words=sorted(more), window_sentences=3, **languages)


def letters(text: str) -> str:
    """The text without white space and quotation marks, in lower case, which such a model does not change."""
    return re.sub(r"\s", "", re.sub("^> ", "", text, flags=re.MULTILINE)).lower()


def inside(element) -> str:
    """The content of an element as written in the file."""
    text = etree.tostring(element, encoding="unicode", with_tail=False)
    return re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).partition(">")[2].rpartition("<")[0]


def read(path: Path, content: bytes | None = None, tmp_path: Path | None = None):
    if content is not None:
        path = tmp_path / path.name
        path.write_bytes(content)
    return read_document_file(path, "en", "fr", format_of(path))


def segments(content: bytes) -> list[tuple[etree._Element, etree._Element | None]]:
    """The source and target elements of the units."""
    root = etree.fromstring(content, etree.XMLParser(strip_cdata=False))
    pairs = []
    for unit in root.iter("{*}trans-unit", "{*}segment", "{*}tu"):
        languages = [one.find("{*}seg") for one in unit.iter("{*}tuv")]
        if languages:
            target = next((one.find("{*}seg") for one in unit.iter("{*}tuv") if "fr" in one.attrib.values()), None)
            pairs.append((languages[0], target))
            continue
        source, target = unit.find("{*}seg-source"), unit.find("{*}target")
        pairs.append((unit.find("{*}source") if source is None else source, target))
    return pairs


def shouted_words(text: str) -> None:
    """Fails if a translation has lower-case text, except untranslatable text."""
    for span in (*protected_texts(text), "[x]", *re.findall(r"\{[^{}]*\{.*\}", text)):
        text = text.replace(span, "")
    assert text == text.upper(), text


@pytest.mark.parametrize("path", XML_FILES, ids=lambda path: path.name)
def test_the_source_as_translation_gives_the_same_elements(path, tmp_path) -> None:
    file = read(path)
    texts = [[unit.target if unit.is_translated else unit.source for unit in one.units] for one in file.documents]
    content = file.translated(texts)
    for source, target in segments(content):
        if target is not None and target.get("changeid") is None and inside(source) != "Yes.":
            assert inside(target) == inside(source)
    again = read(path, content, tmp_path)
    assert [[unit.source for unit in one.units] for one in again.documents] == [
        [unit.source for unit in one.units] for one in file.documents
    ]
    # Everything outside of translations is unchanged.
    for note in ("<note", "<tool", "<context", "<header", "<prop", "<sdl:", "<data", "<notes"):
        assert content.decode().count(note) == path.read_text().count(note)


@pytest.mark.parametrize("path", XML_FILES, ids=lambda path: path.name)
def test_every_tag_and_placeholder_keeps_its_position_around_capitalised_words(path) -> None:
    model = Shouting(path.read_text())
    file = read(path)
    translated = translate_file(model, model.tokenizer, file, source_language="en", target_language="fr")
    content = file.translated(translated.translations)
    num_compared = 0
    for source, target in segments(content):
        if target is None or inside(source) == "Yes.":
            continue
        num_compared += 1
        assert letters(inside(target)) == letters(inside(source))
        shouted_words(re.sub(f"[{OBJECT}{LINE_BREAK}]", "", TaggedText.of(target, CODES).text))
    assert num_compared > 0
    for span in KEPT.get(path.name, ()):
        assert content.decode().count(span) == 2 * path.read_text().count(span), span


def translate(path: Path) -> str:
    model = Shouting(path.read_text())
    page = Page(path.read_text(), path.parent.name)
    content, _, _ = translate_page(model, model.tokenizer, page, source_language="en", target_language="fr")
    return content.decode()


@pytest.mark.parametrize("path", MARKUP_FILES, ids=lambda path: path.name)
def test_a_page_keeps_its_tags_and_code_around_capitalised_words(path) -> None:
    source, content = path.read_text(), translate(path)
    assert letters(content) == letters(source)
    for span in KEPT.get(path.name, ()):
        assert content.count(span) == source.count(span) > 0, span
    runs = (html_runs if path.parent.name == "html" else markdown_runs)(content)
    for run in runs:
        shouted_words(run.text)


@pytest.mark.parametrize("path", MARKUP_FILES, ids=lambda path: path.name)
def test_a_page_that_is_not_translated_comes_back(path) -> None:
    check_comes_back(path.read_text(), path.parent.name)
    check_stream(path.read_text(), path.parent.name)


def test_there_are_five_files_of_each_format() -> None:
    found = [re.search(r'<xliff[^>]* version="(\d)', path.read_text())[1] for path in (FILES / "xliff").iterdir()]
    assert sorted(found) == ["1"] * 5 + ["2"] * 5
    assert [len(list((FILES / name).iterdir())) for name in ("tmx", "html", "markdown")] == [5, 5, 5]
