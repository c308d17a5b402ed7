# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The XML of OPUS (Tiedemann 2012): documents of `<s>`, and alignment files that link the sentences of two documents.

`opustools` (`pip install opustools`) downloads both; it is not needed to read them. The documents are searched beside
the alignment file: under the names that it has for them, also in folders `raw` and `xml`, and in zip archives of OPUS.
"""

import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument, SentencePair
from .document_file import CorpusFile, Translations, Unit, UnitDocument
from .xml_files import (
    XML_LANGUAGE,
    Element,
    clear,
    descendants,
    indent,
    line_of,
    local_name,
    parse_xml,
    parse_xml_content,
    same_language,
    valid_text,
    xml_bytes,
)

# Exceptions for broken, encrypted or unknown archives.
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, struct.error, zlib.error, lzma.LZMAError,
)  # fmt: skip


class OpusXmlFile(CorpusFile):
    """A document in one language."""

    _languages: tuple[str, str] | None = None

    def __init__(self, path: Path | None, tree: Any) -> None:
        self._tree = tree
        sentences = (one for one in descendants(tree.getroot(), "s") if not _is_inside_sentence(one))
        self._sentences = [one for one in sentences if _text(one)]
        groups: dict[Element, list[Unit]] = {}
        for sentence in self._sentences:
            groups.setdefault(sentence.getparent(), []).append(Unit(_text(sentence), None, line_of(sentence)))
        name = path.name if path else tree.getroot().get("id") or "document"
        super().__init__(path, [UnitDocument(name, tuple(map(tuple, groups.values())))] if groups else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "OpusXmlFile":
        content = read_bytes(path)
        tree = parse_xml_content(content, path)
        root = tree.getroot()
        if local_name(root) == "cesAlign":
            raise CorpusError(path, line_of(root), "an alignment file", "it has no text: give one of its documents")
        file = cls(Path(path), tree)
        file.original, file._languages = content, (source_language, target_language)
        return file

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "OpusXmlFile":
        """A file of one document, as in OPUS; the alignment is `alignment_bytes`."""
        if len(documents) != 1:
            raise ValueError(f"an OPUS XML file has one document, got {len(documents)}")
        root = etree.Element("text")
        number = 0
        for index, sentences in enumerate(documents[0].source_paragraphs, start=1):
            paragraph = etree.SubElement(root, "p", id=str(index))
            for sentence in sentences:
                number += 1
                etree.SubElement(paragraph, "s", id=str(number)).text = valid_text(sentence)
        indent(root, ["s"])
        return cls(None, etree.ElementTree(root))

    def translated(self, translations: Translations) -> bytes:
        """The same document in the other language, with the same sentence ids."""
        for sentence, text in zip(self._sentences, translations[0], strict=True):
            if text != _text(sentence):
                _set_text(sentence, valid_text(text))
        for element in self._tree.iter(etree.Element):
            for name in (XML_LANGUAGE, "lang"):
                if self._languages is not None and same_language(element.get(name), self._languages[0]):
                    element.set(name, self._languages[1])
        return xml_bytes(self._tree, self.original)

    def sentences_by_id(self) -> dict[str, str]:
        """The text of each sentence by its id."""
        return {sentence.get("id", ""): _text(sentence) for sentence in self._sentences}


def alignment_bytes(documents: Sequence[tuple[str, str, int]]) -> bytes:
    """An alignment file that links sentence n of one document with sentence n of the other.

    Args:
        documents: (path of the source document, path of the target document, number of sentences).
    """
    root = etree.Element("cesAlign", version="1.0")
    for source, target, num_sentences in documents:
        group = etree.SubElement(root, "linkGrp", targType="s", fromDoc=source, toDoc=target)
        for number in range(1, num_sentences + 1):
            etree.SubElement(group, "link", id=f"SL{number}", xtargets=f"{number};{number}")
    indent(root, [])
    return xml_bytes(etree.ElementTree(root))


def read_opus_alignment(
    path: str | Path, source_language: str, target_language: str
) -> Iterator[ParallelDocument | CorpusError]:
    """The documents that an alignment file links, in either order of the languages.

    Sentences of one link are joined; sentences without a link are dropped.
    """
    path = Path(path)
    root = parse_xml(path).getroot()
    if local_name(root) != "cesAlign":
        yield CorpusError(
            path, line_of(root), "not an alignment file", f"the root is <{local_name(root)}>, not <cesAlign>"
        )
        return
    documents = _Documents(path)
    for group in descendants(root, "linkGrp"):
        try:
            yield from _linked(path, group, documents, source_language, target_language)
        except CorpusError as error:
            yield error


def _linked(
    path: Path, group: Element, documents: "_Documents", source_language: str, target_language: str
) -> Iterator[ParallelDocument]:
    names = [group.get("fromDoc"), group.get("toDoc")]
    if None in names:
        raise CorpusError(path, line_of(group), "missing attribute", "<linkGrp> needs fromDoc and toDoc")
    folders = [name.split("/")[0] for name in names]
    is_reversed = same_language(folders[0], target_language) and same_language(folders[1], source_language)
    sides = [documents.sentences(name, line_of(group)) for name in names]
    paragraph = []
    for link in descendants(group, "link"):
        ids = (link.get("xtargets") or "").split(";")
        if len(ids) != 2:
            detail = f"{link.get('xtargets')!r} does not have the form 'ids;ids'"
            raise CorpusError(path, line_of(link), "bad link", detail)
        texts = [_joined(path, link, names[side], sides[side], ids[side].split()) for side in (0, 1)]
        if all(texts):
            paragraph.append(SentencePair(*(texts[::-1] if is_reversed else texts)))
    if paragraph:
        yield ParallelDocument(names[1] if is_reversed else names[0], (tuple(paragraph),))


def _joined(path: Path, link: Element, name: str, sentences: dict[str, str], ids: list[str]) -> str:
    unknown = [one for one in ids if one not in sentences]
    if unknown:
        raise CorpusError(path, line_of(link), "unknown sentence", f"{unknown[0]!r} is not in {name}")
    return " ".join(sentences[one] for one in ids)


class _Documents:
    """The documents beside an alignment file."""

    def __init__(self, alignment: Path) -> None:
        self._alignment = alignment
        folder = alignment.parent
        self._folders = [folder, *(folder / name for name in ("raw", "xml")), folder.parent]
        self._archives = [_Archive(path) for path in sorted(folder.glob("*.zip"))]

    def sentences(self, name: str, line: int | None) -> dict[str, str]:
        """Sentence id -> text of the document `name` of the alignment file."""
        plain = name.removesuffix(".gz")
        for folder in self._folders:
            for path in (folder / name, folder / plain):
                # A path that leads out of the corpus is not accepted.
                if _is_file(path) and path.resolve().is_relative_to(folder.resolve()):
                    return OpusXmlFile(path, parse_xml(path)).sentences_by_id()
        for archive in self._archives:
            content = archive.content(plain)
            if content is not None:
                place = archive.path / plain
                return OpusXmlFile(place, parse_xml_content(content, place)).sentences_by_id()
        detail = f"{name} is not beside this file, nor in a folder raw or xml, or in a zip archive there"
        raise CorpusError(self._alignment, line, "missing document", detail)


class _Archive:
    """A zip archive of documents."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Indexed by file name: some archives have hundreds of thousands of documents.
        self._names: dict[str, list[str]] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    self._names.setdefault(name.removesuffix(".gz").rpartition("/")[2], []).append(name)
        except _ARCHIVE_ERRORS as error:
            raise CorpusError(path, None, "broken zip archive", str(error)) from error

    def content(self, wanted: str) -> bytes | None:
        """The content of the file whose path in the archive ends in the name."""
        for name in self._names.get(wanted.rpartition("/")[2], []):
            if f"/{name}".removesuffix(".gz").endswith(f"/{wanted}"):
                try:
                    with zipfile.ZipFile(self.path) as archive:
                        content = archive.read(name)
                    return gzip.decompress(content) if name.endswith(".gz") else content
                except _ARCHIVE_ERRORS as error:
                    raise CorpusError(self.path, None, "broken zip archive", f"{name}: {error}") from error
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # A name that is too long for any file.
        return False


def _is_inside_sentence(sentence: Element) -> bool:
    return any(local_name(one) == "s" for one in sentence.iterancestors())


def _set_text(sentence: Element, text: str) -> None:
    """Replaces the text of a sentence; elements without text, such as times of subtitles, stay before or after it."""
    before: list[Element] = []
    after: list[Element] = []
    has_text = bool((sentence.text or "").strip())
    for inner in sentence.iterchildren(etree.Element):
        if "".join(inner.itertext()).strip():
            has_text = True
        else:
            (after if has_text else before).append(inner)
        has_text = has_text or bool((inner.tail or "").strip())
    clear(sentence)
    for inner in (*before, *after):
        inner.tail = "\n"
        sentence.append(inner)
    if before:
        before[-1].tail = f"\n{text}\n"
    else:
        sentence.text = f"{text}\n" if after else text


def _text(sentence: Element) -> str:
    """The text of a sentence; for tokenised documents their tokens joined by spaces."""
    tokens = list(descendants(sentence, "w"))
    parts = [token.text or "" for token in tokens] if tokens else sentence.itertext()
    return " ".join((" " if tokens else "").join(parts).split())
