# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Damages valid files and reads them: a reader gives documents, or an error of its own that names file and reason.
Damaged texts are also cut into sentences and translated, by a model that knows a few words.

python tests/fuzz_readers.py --minutes 10 formats packages corpora contrastive recipes segmentation pipeline tags

Another exception, more than ten seconds of computing or a loss in silence is a finding: its files and what happened are
kept in runs/fuzz, and the exit status is 1. The same seed makes the same files.
"""

import argparse
import contextlib
import gzip
import io
import json
import logging
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz_mutations import damaged
from lxml import etree
from nasty_text import NASTY_TEXTS
from office_files import DOCX, EPUB, ODS, ODT, PPTX, XLSX, zipped
from text_promises import check_comes_back, check_plain_text, check_protected, check_stream

from hier_nmt.data.corpora import ReadReport, read_documents
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.formats.registry import (
    CORPUS_CLASSES,
    FILE_CLASSES,
    PAIRED_FORMATS,
    format_of,
    read_document_file,
    write_documents,
)
from hier_nmt.data.formats.tagged_text import TaggedText
from hier_nmt.data.formats.xml_files import parse_xml
from hier_nmt.evaluation.contrastive_readers import read_contrastive
from hier_nmt.evaluation.contrastive_sets import write_contrastive_set
from hier_nmt.text.protected_spans import LINE_BREAK, OBJECT
from hier_nmt.text.segmentation import replace_sentences, segment_text
from hier_nmt.training.recipe_sections import RecipeError
from hier_nmt.training.recipes import Recipe
from hier_nmt.translation.pipeline_inputs import TEXT_FORMATS

# Formats that hold translations beside their sources.
HAVE_STATES = ("xliff", "tmx", "id-column", "json-lines")
SUBTITLES = ("srt", "vtt", "ass")
ROOT = Path(__file__).parent.parent
# As other tools write them.
TOOL_FILES = ROOT / "tests" / "files"
CODES = ("bpt", "ept", "ph", "it", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp", "ut")
SECONDS_FOR_A_CASE = 10
Files = dict[str, bytes]


class Finding(Exception):
    """What a reader promised and did not keep."""


class _TooLong(BaseException):
    """A case that is not done in time."""


@dataclass(frozen=True)
class Target:
    """A reader: the files that are damaged, those that may be, and what reads them in a folder."""

    group: str
    name: str
    seeds: Sequence[Files]
    check: Callable[[Path, random.Random], None]
    untouched: tuple[str, ...] = ()


def document(name: str, *paragraphs: Sequence[tuple[str, str]]) -> ParallelDocument:
    """A document of paragraphs of (source, target)."""
    return ParallelDocument(name, tuple(tuple(SentencePair(*pair) for pair in paragraph) for paragraph in paragraphs))


DOCUMENTS = [
    document("one", [("It is < 5 & late.", "Il est < 5 & tard."), ("Yes.", "Oui.")], [("A cat.", "Un chat.")]),
    document("two", [("The \u00c9lys\u00e9e \u2014 \U0001f600.", "L'\u00c9lys\u00e9e.")], [("Go!", "Allez !")]),
]
STATES = {
    "xliff": """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:mq="MQXliff"
xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0"><file original="a" source-language="en"><body>
<trans-unit id="1" approved="yes"><source>One.</source><target state="final" phase-name="p">Un.</target></trans-unit>
<trans-unit id="2" approved="yes"><source>Two.</source><target/></trans-unit>
<trans-unit id="3"><source>Three.</source><target state="new">Three.</target></trans-unit>
<trans-unit id="4" mq:status="NotStarted" mq:locked="unlocked"><source>Four.</source></trans-unit>
<trans-unit id="5"><source>A. B.</source><seg-source><mrk mtype="seg" mid="1">A.</mrk> <mrk mtype="seg" mid="2">B.</mrk>
</seg-source><target state="translated"><mrk mtype="seg" mid="1">C.</mrk> <mrk mtype="seg" mid="2"/></target>
<sdl:seg-defs><sdl:seg id="1" conf="Translated"/><sdl:seg id="2"/></sdl:seg-defs></trans-unit></body></file></xliff>""",
    "xliff 2": """<xliff version="2.1" srcLang="en" trgLang="fr" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="u"><segment state="initial"><source>One.</source><target>One.</target></segment>
<segment state="reviewed" subState="a:b"><source>Two.</source><target>Deux.</target></segment>
<segment state="final"><source>Three.</source></segment></unit></file></xliff>""",
    "tmx": """<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en" creationid="ann"><seg>One.</seg></tuv><tuv xml:lang="fr" changeid="ann"><seg/></tuv></tu>
<tu><tuv xml:lang="en"><seg>Two.</seg></tuv><tuv xml:lang="fr" changeid="ann"><seg>Deux.</seg></tuv></tu>
</body></tmx>""",
    "id-column": "doc_id\tsource\ttarget\r\na\tOne.\tUn.\r\na\tTwo.\t\r\nb\tThree.\r\n",
    "json-lines": '{"id": 1, "paragraphs": [{"en": ["One.", "Two."], "fr": ["Un.", ""]}, {"en": ["Go."], "fr": []}]}\n',
    "srt": "1\n00:00:01,000 --> 00:00:02,000\n1\nCHAPTER ONE\\NIt is\n\n2\n00:00:02,100 --> 00:00:04,000\nlate. Room\n"
    "101\n3\n00:00:05,000 --> 00:00:06,000\n- \n- One<br/>\\htwo.\n",
}
TAGGED = {
    "tmx": """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US"/><body><tu><prop type="x-document">a.txt</prop><tuv xml:lang="en-US">
<seg>Press <bpt i="1">&lt;b&gt;</bpt>Start<ept i="1"/> <hi>now</hi>.</seg></tuv></tu>
<tu><tuv lang="EN"><seg>No.</seg></tuv><tuv lang="FR"><seg>Non.</seg></tuv></tu></body></tmx>""",
    "xliff": """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en"><body>
<trans-unit id="1"><source>Read the <g id="1">big <x id="2"/>report</g> today.</source></trans-unit>
<trans-unit id="2"><source>One. Two.</source>
<seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">Two.</mrk></seg-source>
<target><mrk mtype="seg" mid="0">Un.</mrk></target></trans-unit>
<group translate="no"><trans-unit id="3"><source>A-1</source></trans-unit></group></body></file></xliff>""",
    "xliff 2": """<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="u"><segment id="s"><source>A <pc id="1">red</pc> door.</source></segment>
<ignorable><source> </source></ignorable>
<segment><source>Closed.</source><target>Close.</target></segment></unit></file></xliff>""",
    "srt": "1\n00:00:01,000 --> 00:00:02,500\n- <i>Where</i>\nis it?\n\n2\n00:00:03,000 --> 00:00:04,000\nI do not\n\n"
    "3\n00:00:05,000 --> 00:00:06,000\nknow. Really\n- Yes.\n",
    "json": '{"lang": "en", "a": {"b": "One \\u00e9.", "c": ["Two\\n", 3, "{n}"]},\n "d": {"message": "X", "e": 1}}\n',
    "yaml": "# c\nen:\n  a: One  # d\n  b: 'It''s'\n  c: \"Two\\n\"\n  d: >\n    folded\n    text\n\n  e: |-\n    lit\n"
    "  f: &x [y, {z: w}]\n  g: *x\n",
    "notebook": '{"cells": [{"cell_type": "markdown", "source": ["# A *b*\\n", "\\n", "c `d`."]},\n '
    '{"cell_type": "code", "source": "x"}, {"cell_type": "markdown", "source": "E."}], "nbformat": 4}\n',
    "properties": "# c\n! d\na.b = One \\\n   two \\u00e9\nc\\ d: It''s {0} \\\\ \\t.\r\n\ne\nf=\n",
    "strings": '/* c */\n"a" = "One \\"two\\"\\n%@";\nb = c; // d\n"e";\n"f"="\\U00e9\\101";\n',
    "xcstrings": '{"sourceLanguage": "en", "strings": {"One %@": {}, "b": {"localizations": {"en": {"variations": '
    '{"plural": {"one": {"stringUnit": {"state": "new", "value": "Two"}}, "other": {"stringUnit": {"value": '
    '"Three"}}}}}, "fr": {"stringUnit": {"state": "translated", "value": "Deux"}}}}, "c": {"shouldTranslate": false}}}',
    "android": """<?xml version="1.0"?>
<resources xmlns:x="urn:oasis:names:tc:xliff:document:1.2"><!-- c -->
<string name="a">It\\'s <b>red</b>: %1$s\\n</string>
<plurals name="b"><item quantity="one">One <x:g id="n">%d</x:g></item></plurals><string name="c">"A 'b'  c"</string>
<string-array name="d"><item>@string/a</item><item>\\@b \\"c\\"</item></string-array>
<string name="e" translatable="false">E</string><string name="f"><![CDATA[<i>F</i>]]></string></resources>""",
    "ass": "[Script Info]\nTitle: x\n\n[Events]\nFormat: Layer, Start, End, Style, Text\n"
    "Dialogue: 0,0:00:01.00,0:00:02.50,A,{\\i1}Where{\\i0}\\Nis it, here\nComment: 0,0:00:01.00,0:00:02.00,A,No\n"
    "Dialogue: 0,0:00:03.00,0:00:04.00,A,I do not\nDialogue: 0,0:00:04.50,0:00:06.00,A,know. Really\\N- Yes.\n"
    "Dialogue: 0,0:00:07.00,0:00:08.00,A,{\\p1}m 0 0{\\p0}\n",
    "vtt": "WEBVTT\n\nNOTE a --> b\n\nx\n00:01.000 --> 00:02.500 line:0\n<v Ann>Where <i>is</i>\nit &amp; he?\n\n"
    "00:00:03.000 --> 00:00:04.000\nI <00:03.500>do not\n\n00:05.000 --> 00:06.000\nknow. Really\n- Yes.\n",
    "po": """# Translators.
msgid ""
msgstr ""
"Language: \\n"
"Content-Type: text/plain; charset=CHARSET\\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"

#. A note.
#: a.c:1
#, c-format
msgctxt "menu"
msgid "Open %s"
msgstr ""

#, fuzzy
#| msgid "A dor"
msgid ""
"A door.\\n"
"\\"Now\\".\\n"
msgstr "Une \\tporte.\\n"

msgid "%d cat"
msgid_plural "%d cats"
msgstr[0] ""
msgstr[1] ""

msgid "Yes"
msgstr "Oui"

#~ msgid "Old"
#~ msgstr "Vieux"
""",
    "iwslt": '<doc docid="1" genre="x">\n<title>A talk</title>\nOne.\nTwo.\n</doc>\n<talkid>7</talkid>\nThree.\n',
}  # fmt: skip


def files_of(folder: Path) -> Files:
    """Path below the folder -> content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def written(format: str) -> Files:
    """The files of a small corpus."""
    names = ["corpus.en", "corpus.fr"] if format in (*PAIRED_FORMATS, "text") else ["corpus"]
    with tempfile.TemporaryDirectory() as folder:
        documents = DOCUMENTS[:1] if format in ("srt", "text") else DOCUMENTS
        write_documents([Path(folder) / name for name in names], format, documents, "en", "fr")
        return files_of(Path(folder))


def with_archive() -> Files:
    """An OPUS corpus with one language in a zip archive."""
    files = written("opus-xml")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in [name for name in files if name.startswith("en/")]:
            archive.writestr(f"OPUS/raw/{name}.gz", gzip.compress(files.pop(name), mtime=0))
    return {**files, "en.zip": content.getvalue()}


def seeds_of(format: str) -> list[Files]:
    """The corpora of a format: written by us, and by others."""
    seeds = [written(format)] if format in CORPUS_CLASSES else []
    for name, text in [*TAGGED.items(), *STATES.items()]:
        if name.split()[0] == format:
            seeds.append(dict.fromkeys(seeds[0] if seeds else ["corpus"], text.encode()))
    if format == "opus-xml":
        seeds.append(with_archive())
    if (TOOL_FILES / format).is_dir():
        seeds += [dict.fromkeys(seeds[0], path.read_bytes()) for path in sorted((TOOL_FILES / format).iterdir())]
    return seeds


@contextlib.contextmanager
def refusing(folder: Path, *errors: type[Exception]) -> Iterator[None]:
    """Lets pass the errors that a reader may raise, if they say where something is wrong and what."""
    try:
        yield
    except errors as error:
        names = [path.name for path in folder.rglob("*")]
        if str(folder) not in str(error) and not any(name in str(error) for name in names):
            raise Finding(f"names no file: {error}") from error
        if len(str(error)) > 20_000:
            raise Finding(f"an error of {len(str(error))} characters") from error


def check_file(format: str) -> Callable[[Path, random.Random], None]:
    """Reads a file to translate, writes it with the same texts as translations and reads that: nothing is lost."""

    def check(folder: Path, rng: random.Random) -> None:
        path = folder / {"opus-xml": "en/000001.xml"}.get(
            format, "corpus" if (folder / "corpus").exists() else "corpus.en"
        )
        if not path.exists():
            return
        with refusing(folder, CorpusError):
            format_of(path)
        with refusing(folder, CorpusError):
            file = read_document_file(path, "en", "fr", format)
            units = [list(item.units) for item in file.documents]
            texts = [[unit.target if unit.is_translated else unit.source for unit in group] for group in units]
            check_lines(format, path, sum(map(len, units)))
            again = folder / f"again{path.suffix}"
            again.write_bytes(file.translated([[text or "" for text in group] for group in texts]))
            for ending, content in file.companions().items():
                Path(f"{again}{ending}").write_bytes(content)
            try:
                found = [list(item.units) for item in read_document_file(again, "en", "fr", format).documents]
            except CorpusError as error:
                raise Finding(f"what was written cannot be read: {error}") from error
            wanted = [words(unit.source) for group in units for unit in group]
            if [words(unit.source) for group in found for unit in group] != wanted and format not in SUBTITLES:
                raise Finding(f"other texts behind writing: {found} for {units}")
            texts_again = words(" ".join(unit.source for group in found for unit in group))
            texts_before = [word for unit in wanted for word in unit]
            if format in SUBTITLES:
                # Lines of subtitles without letters are no units, and a sign may come to stand on one; in other lines
                # other sentences may be found.
                texts_again, texts_before = (
                    ["".join(filter(str.isalnum, "".join(filter(has_letters, row))))]
                    for row in (texts_again, texts_before)
                )
            # A word with few letters may be cut where a sentence ends; then the files tell whether something is lost.
            is_same_file = format in SUBTITLES and letters_of(again) == letters_of(path)
            if texts_again != texts_before and not is_same_file:
                raise Finding(f"other words behind writing: {found} for {units}")
            if format in ("tmx", "xliff"):
                targets = [words(unit.target or "") for group in found for unit in group]
                if targets != [words(text or "") for group in texts for text in group]:
                    raise Finding(f"other translations behind writing: {targets} for {texts}")
            if format in HAVE_STATES:
                check_states(format, path, again)
            if format in ("json", "yaml", "notebook", "properties", "strings", "android"):
                check_other_text(format, path, again)

    return check


PACKAGES: dict[str, Files] = {"docx": DOCX, "pptx": PPTX, "xlsx": XLSX, "odt": ODT, "ods": ODS, "epub": EPUB}


def check_package(format: str) -> Callable[[Path, random.Random], None]:
    """Reads an archive of damaged members, at times damaged itself, like any file; with another translation it has the
    words of that."""

    def check(folder: Path, rng: random.Random) -> None:
        content = zipped(files_of(folder))
        path = folder / "corpus"
        path.write_bytes(damaged(rng, content) if rng.random() < 0.1 else content)
        check_file(format)(folder, rng)
        with refusing(folder, CorpusError):
            check_other_text(format, path, folder / "other")

    return check


def check_other_text(format: str, path: Path, again: Path) -> None:
    """Translates a file: it has the words of the translation."""
    file = read_document_file(path, "en", "fr", format)
    texts = [[f"x {unit.source}" for unit in item.units] for item in file.documents]
    again.write_bytes(file.translated(texts))
    found = [unit.source for item in read_document_file(again, "en", "fr", format).documents for unit in item.units]
    # Sentences that only markup separates stay next to each other.
    if "".join(words(" ".join(found))) != "".join(words(" ".join(text for row in texts for text in row))):
        raise Finding(f"{found} after writing {texts}")


def check_states(format: str, path: Path, again: Path) -> None:
    """Translates what nobody has translated: it is done then, what was there before is there still, and nothing says
    that a person did the rest."""
    file = read_document_file(path, "en", "fr", format)
    units = [unit for item in file.documents for unit in item.units]
    texts = [
        [unit.target or "" if unit.is_translated else f"X {unit.source}" for unit in item.units]
        for item in file.documents
    ]
    again.write_bytes(file.translated(texts))
    found = [unit for item in read_document_file(again, "en", "fr", format).documents for unit in item.units]
    for unit, then, text in zip(units, found, [text for row in texts for text in row], strict=True):
        if not then.is_translated or words(then.target or "") != words(text):
            raise Finding(f"{then} behind the translation of {unit}")
    if format == "xliff":
        for one in etree.parse(str(again)).iter("{*}trans-unit", "{*}segment"):
            claims = {one.get("approved"), one.get("state")} & {"yes", "reviewed", "final"}
            target = one.find("{*}target")
            is_machine = one.get("subState") == "hier_nmt:mt-suggestion"
            is_machine |= target is not None and target.get("state-qualifier") == "mt-suggestion"
            if claims and is_machine:
                raise Finding(f"{claims} of {etree.tostring(one)!r}")


def check_tags(folder: Path, rng: random.Random) -> None:
    """Puts other texts into every segment of an XML file: each has all tags, and those around text are around text."""
    with refusing(folder, CorpusError):
        for element in parse_xml(folder / "corpus").getroot().iter("{*}source", "{*}seg"):
            tagged = TaggedText.of(element, CODES)
            for text in (tagged.text, tagged.text.upper(), tagged.text.lower(), "x", "", f"{OBJECT}x{LINE_BREAK}y"):
                filled = etree.Element("x")
                tagged.fill(filled, text)
                if elements_of(filled, False) != elements_of(element, False):
                    raise Finding(f"other tags: {etree.tostring(filled)!r} for {etree.tostring(element)!r}")
                if text == tagged.text.upper() and elements_of(filled, True) != elements_of(element, True):
                    raise Finding(f"filled or emptied: {etree.tostring(filled)!r} for {etree.tostring(element)!r}")


def elements_of(parent: Any, with_text: bool) -> list[str]:
    """The elements inside another one and, if wanted, whether there is text in each."""
    elements = [one for one in parent.iter() if one is not parent and isinstance(one.tag, str)]
    texts = ["".join(one.itertext()).strip() if with_text else "" for one in elements]
    return sorted(f"{one.tag} {dict(one.attrib)} {bool(text)}" for one, text in zip(elements, texts, strict=True))


def letters_of(path: Path) -> str:
    """All letters and digits of a file of subtitles but those of times, between which words may move, in order."""
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    lines = [re.sub(r"^Dialogue:(?:[^,]*,){4}", "", line) for line in lines]
    return "".join(filter(str.isalnum, "".join(line for line in lines if "-->" not in line)))


def has_letters(text: str) -> bool:
    """Whether there is a letter in it."""
    return any(map(str.isalpha, text))


def words(text: str) -> list[str]:
    """The words of a text, however they are spaced; dashes at the start of a line of subtitles are a speaker's."""
    return re.sub(r"[-\u2013\u2014]", " ", text).split()


def check_lines(format: str, path: Path, num_units: int) -> None:
    """Each line that is not blank is a unit, or was complained about."""
    if format in ("text", "moses", "id-column"):
        text = path.read_bytes().decode("utf-8-sig")
        marks = ("", "<d>") if format == "moses" else ("",)
        num_lines = sum(line.strip() not in marks for line in text.split("\n"))
        # The first line of a table may name its columns.
        if num_units != num_lines and not (format == "id-column" and num_units == num_lines - 1):
            raise Finding(f"{num_units} units in {num_lines} lines")


def check_corpus(format: str) -> Callable[[Path, random.Random], None]:
    """Reads a corpus strictly and with skipping: the same documents, or something is reported."""

    def check(folder: Path, rng: random.Random) -> None:
        names = ["corpus.en", "corpus.fr"] if format in PAIRED_FORMATS else ["corpus"]
        paths = [folder / name for name in names]
        strict = None
        with refusing(folder, CorpusError):
            strict = list(read_documents(paths, format, "en", "fr"))
        report = ReadReport()
        lenient: list[ParallelDocument] = []
        with refusing(folder, CorpusError):
            lenient += read_documents(paths, format, "en", "fr", skip_bad=True, report=report)
        if strict is not None and (report.skipped or lenient != strict):
            raise Finding(f"strict {strict}, lenient {lenient} and {report.skipped}")
        if strict is None and lenient and not report.skipped:
            raise Finding("refused as a whole, but nothing is reported as skipped")
        for item in strict or lenient:
            for text in (*item.source_sentences, *item.target_sentences):
                if not text.strip():
                    raise Finding(f"an empty sentence in {item}")
        if strict is not None and format == "tab-separated":
            check_lines("text", paths[0], len(strict))

    return check


CONTRASTIVE: dict[str, list[Files]] = {
    "discevalmt": [
        {
            "a.json": json.dumps(
                {
                    "7": {
                        "src": ["A cat.", "It sleeps."],
                        "trg": [
                            {"correct": ["Un chat.", "Il dort."], "incorrect": ["Un chat.", "Elle."], "type": "m.sg"},
                            {"semi-correct": ["X", "Y"], "incorrect": ["X", "Z"], "type": "f.sg"},
                        ],
                    }
                },
                indent=1,
            ).encode()
        },
        {
            "a.json": b'{"1": {"type": "repet", "examples": [{"src": ["A?", "A!"], "trg": {"correct": ["B?", "B!"], '
            b'"incorrect": ["B?", "C!"]}}]}}'
        },
    ],
    "contrapro": [
        {
            "a.json": b'[{"document id": "film.de", "segment id": 2, "src segment": "It is red.", "ref segment": '
            b'"Sie.", "src pronoun": "It", "ref pronoun": "Sie", "ante distance": 1,'
            b' "errors": [{"contrastive": "Er.", "replacement": "Er"}]}]',
            "docs/film.en": b"One.\nIt is red.\n",
            "docs/film.de": b"Eins.\nSie.\n",
        }
    ],
    "voita": [
        {"a.json": b'[{"src": "A. _eos B.", "dst": ["x. _eos y.", "x. _eos z."], "true_ind": 0, "ctx_dist": 1}]'},
        {"a.src": b"A. _eos B.\nA. _eos B.\n", "a.dst": b"x. _eos y.\nx. _eos z.\n"},
    ],
    "line-paired": [
        {"a.en": b"A.\nB.\nA.\nB.\n", "a.fr": b"x.\ny.\nx.\nz.\n"},
        {"a.en": b"B.\nB.\n", "a.fr": b"y.\nz.\n", "c.en": b"A.\nA.\n", "c.fr": b"x.\nx.\n"},
    ],
    "json-lines": [],
}


def contrastive_seeds(format: str) -> list[Files]:
    """The files of a contrastive set."""
    if format != "json-lines":
        return CONTRASTIVE[format]
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "a.json"
        source.write_bytes(CONTRASTIVE["discevalmt"][0]["a.json"])
        write_contrastive_set(Path(name) / "a.jsonl", read_contrastive([source], "discevalmt"))
        return [{"a.jsonl": (Path(name) / "a.jsonl").read_bytes()}]


def check_contrastive(format: str) -> Callable[[Path, random.Random], None]:
    """Reads a contrastive set; what is read can be written and read again."""

    def check(folder: Path, rng: random.Random) -> None:
        paths = sorted(folder.glob("[ac].*"), key=lambda path: (path.stem, path.suffix != ".src", path.suffix))
        options: dict[str, Any] = {"context_lines": 1} if format == "line-paired" and len(paths) == 2 else {}
        if format == "contrapro" and (folder / "docs").is_dir():
            options["context_dir"] = folder / "docs"
        with refusing(folder, CorpusError):
            examples = read_contrastive(paths, format, **options)
            write_contrastive_set(folder / "again.jsonl", examples)
            again = read_contrastive([folder / "again.jsonl"], "json-lines")
            if again != examples:
                raise Finding(f"{again} behind writing, before {examples}")

    return check


def recipe_seeds() -> list[Files]:
    """The recipes of the repository, with files that exist."""
    seeds = []
    for path in sorted((ROOT / "training" / "recipes" / "en-fr").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        for name in (
            "runs/demo-corpus/",
            "runs/discourse/",
            "runs/tatoeba/",
            "runs/discourse-long/",
            "$HIER_NMT_DATA/",
        ):
            text = text.replace(name, "")
        files = dict.fromkeys(
            ["train.jsonl", "dev.jsonl", "train.tsv", "dev.tsv", "train_2008_2010.jsonl.gz", "dev_2011a.jsonl.gz"], b"x"
        )
        # Comments are half of the file, and damage in them shows nothing.
        kept = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
        seeds.append({"recipe.yaml": kept.encode(), **files})
    return seeds


def check_recipe(folder: Path, rng: random.Random) -> None:
    """Loads a recipe, at times with damaged overrides."""
    overrides = []
    if rng.random() < 0.3:
        original = rng.choice([b"--training.learning_rate=3e-4", b"--data.train=[a, b]", b"--model.d_model=64"])
        overrides = [damaged(rng, original).decode("utf-8", "replace")[:5000]]
    # Paths in a recipe are relative to where the command is given.
    before = Path.cwd()
    os.chdir(folder)
    try:
        Recipe.load("recipe.yaml", overrides)
    except RecipeError as error:
        if not str(error).startswith(("recipe.yaml", "command line", "section model", "no such recipe")):
            raise Finding(f"names no place: {error}") from error
        if len(str(error)) > 20_000:
            raise Finding(f"an error of {len(str(error))} characters") from error
    finally:
        os.chdir(before)


TEXTS = [
    "Mr. Smith left at 5 p.m. He ran.\n\nA title\nOne. Two! Three?\r\n"
    "\u00ab Oui. \u00bb dit-il\u00a0! Et apr\u00e8s\u2026",
    "Die GmbH z. B. in Berlin.\u3000\u4eca\u5929\u3002\u660e\u5929\u3002\t"
    "\u0645\u0631\u062d\u0628\u0627\u061f \u0928\u092e\u0938\u094d\u0924\u0947\u0964",
    "U.S.A. e.g. i.e. (Really.) \"No.\" 'Yes.' [1] 3.14. www.a.b.c\u2028New.\x85Next.\u200b\u0301x \U0001f600.",
]  # fmt: skip


def check_segmentation(folder: Path, rng: random.Random) -> None:
    """Cuts a text into sentences: joined, they are the text."""
    text = (folder / "text").read_bytes().decode("utf-8", "replace")
    segments = segment_text(text, rng.choice(["en", "fr", "de", "zh", "ar", "hi", "ru", "ja", "pt-BR", "xx", "am"]))
    sentences = [segment.text for segment in segments if segment.is_sentence]
    if "".join(segment.text for segment in segments) != text or replace_sentences(segments, sentences, "") != text:
        raise Finding("the text does not come back")
    if any(sentence != sentence.strip() or not sentence for sentence in sentences):
        raise Finding("a sentence with white space at its ends")
    between = [re.sub(r"\\[nrt]", " ", segment.text) for segment in segments if not segment.is_sentence]
    # Bars between spaces, or alone between the cases of a message, separate sentences.
    if any(words(re.sub(r"(?<!\S)\|+(?!\S)", "", text)) for text in between):
        raise Finding("words that stand in no sentence")


def check_pipeline(folder: Path, rng: random.Random) -> None:
    """Translates a text: what the pipeline promises for any text holds."""
    text = (folder / "text").read_bytes().decode("utf-8", "replace")[:3000]
    text_format = rng.choice(TEXT_FORMATS)
    check_plain_text(text)
    check_protected(text, text_format)
    check_comes_back(text, text_format)
    check_stream(text, text_format)


def targets() -> list[Target]:
    """Everything that reads files of others."""
    found = [Target("formats", name, seeds_of(name), check_file(name)) for name in FILE_CLASSES if name not in PACKAGES]
    found += [Target("packages", name, [members], check_package(name)) for name, members in PACKAGES.items()]
    corpora = ("json-lines", "id-column", "tmx", "xliff", "wmt-xml", "opus-xml", *PAIRED_FORMATS)
    found += [Target("corpora", name, seeds_of(name), check_corpus(name)) for name in corpora]
    pairs = "".join(
        f"{pair.source}\t{pair.target}\n" for item in DOCUMENTS for group in item.paragraphs for pair in group
    )
    found.append(Target("corpora", "tab-separated", [{"corpus": pairs.encode()}], check_corpus("tab-separated")))
    found += [Target("contrastive", name, contrastive_seeds(name), check_contrastive(name)) for name in CONTRASTIVE]
    seeds = recipe_seeds()
    found.append(Target("recipes", "recipes", seeds, check_recipe, tuple(set(seeds[0]) - {"recipe.yaml"})))
    found.append(Target("segmentation", "text", [{"text": text.encode()} for text in TEXTS], check_segmentation))
    texts = [text.encode("utf-8", "surrogatepass") for text in NASTY_TEXTS.values()]
    texts += [path.read_bytes() for name in ("html", "markdown") for path in sorted((TOOL_FILES / name).iterdir())]
    found.append(Target("pipeline", "text", [{"text": text} for text in texts], check_pipeline))
    segments = [
        {"corpus": path.read_bytes()} for name in ("xliff", "tmx") for path in sorted((TOOL_FILES / name).iterdir())
    ]
    found.append(Target("tags", "xml", segments, check_tags))
    return found


def damaged_files(target: Target, rng: random.Random) -> Files:
    """A seed of the target with one of its files damaged, or all."""
    files = dict(rng.choice(target.seeds))
    names = [name for name in files if name not in target.untouched]
    for name in names if rng.random() < 0.1 else [rng.choice(names)]:
        files[name] = damaged(rng, files[name])
    return files


def run_case(target: Target, seed: str) -> tuple[Files, str | None]:
    """The files of a case and, where a promise was broken, what happened."""
    rng = random.Random(seed)
    files = damaged_files(target, rng)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        for path, content in files.items():
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / path).write_bytes(content)
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, SECONDS_FOR_A_CASE)
        try:
            target.check(Path(name), rng)
        except KeyboardInterrupt:
            raise
        # A panic of a Rust library is no Exception.
        except BaseException:
            return files, traceback.format_exc()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return files, None


def _stop(*_: Any) -> None:
    raise _TooLong(f"not done after {SECONDS_FOR_A_CASE} seconds of computing")


def keep(folder: Path, files: Files, report: str) -> None:
    """Writes down a finding."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in {**files, "report.txt": report.encode("utf-8", "replace")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def fuzz(group: list[Target], seconds: float, seed: int, output: Path) -> Counter[str]:
    """How many cases of each kind there were in the time; findings are kept, one for each place in the code."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        for target in group:
            number += 1
            files, report = run_case(target, f"{seed}:{target.group}:{target.name}:{number}")
            counts["cases"] += 1
            if report is None:
                continue
            counts["findings"] += 1
            places = [line for line in report.split("\n") if line.startswith("  File")]
            place = f"{target.name}{places[-1] if places else ''}{report.rstrip().rpartition(chr(10))[2].split(':')[0]}"
            if place not in seen:
                seen.add(place)
                keep(output / f"{target.group}-{target.name}-{seed}-{number}", files, report)
                print(
                    f"{target.group} {target.name} {number}: {report.rstrip().rpartition(chr(10))[2]:.300}", flush=True
                )
    counts["different findings"] = len(seen)
    return counts


def main() -> int:
    """Runs the command line; 1 if something was found."""
    logging.disable(logging.CRITICAL)
    known = targets()
    groups = list(dict.fromkeys(target.group for target in known))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"out of {', '.join(groups)}; default: all")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "fuzz")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(groups):
        parser.error(f"unknown groups {', '.join(sorted(unknown))}; known are {', '.join(groups)}")
    num_findings = 0
    for group in options.groups or groups:
        chosen = [target for target in known if target.group == group]
        counts = fuzz(chosen, 60 * options.minutes, options.seed, options.output)
        num_findings += counts["findings"]
        print(f"{group}: {counts['cases']} cases, {counts['different findings']} different findings", flush=True)
    return int(num_findings > 0)


if __name__ == "__main__":
    sys.exit(main())
