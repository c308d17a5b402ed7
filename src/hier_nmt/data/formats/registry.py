# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Detection of a file's format, and writing of corpora in all formats."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from lxml import etree

from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument
from ..text_files import write_bytes
from .android_strings import AndroidStringsFile
from .apple_strings import AppleStringsFile
from .document_file import CorpusFile, DocumentFile
from .docx import DocxFile
from .epub import EpubFile
from .gettext_catalogue import GettextFile
from .java_properties import PropertiesFile
from .json_lines import JsonLinesFile
from .json_table import JsonTableFile
from .line_files import HeadsFile, IdColumnFile, IwsltFile, MosesFile, TextFile
from .notebook import NotebookFile
from .open_document import OpenDocumentFile
from .open_spreadsheet import OpenSpreadsheetFile
from .opus_xml import OpusXmlFile, alignment_bytes
from .pptx import PptxFile
from .string_catalogue import StringCatalogueFile
from .substation import SubStationFile
from .subtitles import SrtFile
from .tmx import TmxFile
from .unsupported import check_is_plain_text
from .webvtt import VttFile
from .wmt_xml import WmtXmlFile
from .xliff import XliffFile
from .xlsx import XlsxFile
from .yaml_table import YamlTableFile
from .zip_package import ZipPackage

CORPUS_CLASSES: dict[str, type[CorpusFile]] = {
    "text": TextFile,
    "json-lines": JsonLinesFile,
    "moses": MosesFile,
    "heads": HeadsFile,
    "id-column": IdColumnFile,
    "iwslt": IwsltFile,
    "srt": SrtFile,
    "tmx": TmxFile,
    "xliff": XliffFile,
    "wmt-xml": WmtXmlFile,
    "opus-xml": OpusXmlFile,
}
FILE_CLASSES: dict[str, type[DocumentFile]] = {
    **CORPUS_CLASSES,
    "vtt": VttFile,
    "ass": SubStationFile,
    "docx": DocxFile,
    "pptx": PptxFile,
    "xlsx": XlsxFile,
    "odt": OpenDocumentFile,
    "ods": OpenSpreadsheetFile,
    "epub": EpubFile,
    "po": GettextFile,
    "json": JsonTableFile,
    "yaml": YamlTableFile,
    "properties": PropertiesFile,
    "strings": AppleStringsFile,
    "xcstrings": StringCatalogueFile,
    "android": AndroidStringsFile,
    "notebook": NotebookFile,
}
# Formats with one language per file, so that a corpus is pairs of files.
PAIRED_FORMATS = ("moses", "heads", "iwslt", "srt")
_BY_ENDING = {
    ".jsonl": "json-lines",
    ".arb": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".ipynb": "notebook",
    ".tsv": "id-column",
    ".srt": "srt",
    ".vtt": "vtt",
    ".properties": "properties",
    ".strings": "strings",
    ".xcstrings": "xcstrings",
    ".tmx": "tmx",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".epub": "epub",
    **dict.fromkeys((".po", ".pot"), "po"),
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), "docx"),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx"), "pptx"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), "xlsx"),
    **dict.fromkeys((".odt", ".ott", ".odp", ".otp"), "odt"),
    **dict.fromkeys((".ods", ".ots"), "ods"),
    **dict.fromkeys((".ass", ".ssa"), "ass"),
}
# The start of a file of SubRip.
_SUBTITLE = re.compile(rb"\d+[ \t]*(?:\r\n?|\n)\d{1,2}:\d\d:\d\d[,.]\d{3} --> \d")
# What the member "mimetype" of an archive starts with, and folders in archives of Office Open XML.
_BY_TYPE = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.presentation": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
}
_BY_FOLDER = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}
# These endings belong to XLIFF files of translation tools.
_XML_ENDINGS = (".xml", ".sdlxliff", ".mqxliff", ".mxliff")
_BY_ROOT = {"dataset": "wmt-xml", "tmx": "tmx", "xliff": "xliff", "document": "opus-xml", "text": "opus-xml",
            "resources": "android"}  # fmt: skip


def format_of(path: str | Path) -> str:
    """The format of a file to translate, by its ending or else its first bytes; else "text".

    Raises:
        CorpusError: an unsupported format, or an unknown kind of XML; unknown files are not assumed to be plain text.
    """
    path = Path(path)
    ending = path.with_name(path.name.removesuffix(".gz")).suffix.lower()
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if ending == ".json":
        return "json-lines" if _is_document(read_bytes(path)) else "json"
    start = read_bytes(path)[:100_000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if ending in _XML_ENDINGS or start.startswith(b"<?xml"):
        return _format_of_xml(path, start)
    if b"<talkid>" in start:
        return "iwslt"
    if start.lower().startswith(b"[script info]"):
        return "ass"
    if start.startswith(b"WEBVTT"):
        return "vtt"
    if _SUBTITLE.match(start):
        return "srt"
    if start.startswith(b"PK") and (name := _format_of_package(path)) is not None:
        return name
    check_is_plain_text(path, ending.removeprefix("."), start)
    return "text"


def file_endings() -> list[str]:
    """The endings by which a format is recognized, but those of plain text."""
    return sorted({*_BY_ENDING, *_XML_ENDINGS, ".json"})


def _is_document(content: bytes) -> bool:
    """Whether the first line of a file of JSON is a document of JSON lines."""
    try:
        first = json.loads(content.decode("utf-8-sig").lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "paragraphs" in first


def _format_of_package(path: Path) -> str | None:
    """The format of a zip archive, or None."""
    try:
        package = ZipPackage(path)
        kind = package.read("mimetype") if "mimetype" in package.names else b""
    except CorpusError:
        return None
    found = next((name for start, name in _BY_TYPE.items() if kind.startswith(start)), None)
    folders = {name.partition("/")[0] for name in package.names}
    return found or next((_BY_FOLDER[folder] for folder in _BY_FOLDER if folder in folders), None)


def _format_of_xml(path: Path, start: bytes) -> str:
    parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True)
    try:
        parser.feed(start)
        root = next((str(element.tag).rpartition("}")[2] for _, element in parser.read_events()), "")
    except etree.XMLSyntaxError as error:
        raise CorpusError(path, error.lineno, "not well-formed XML", error.msg or "") from error
    if root not in _BY_ROOT:
        known = ", ".join(f"<{name}>" for name in _BY_ROOT)
        raise CorpusError(path, None, "unknown kind of XML", f"the root is <{root}>; known are {known}")
    return _BY_ROOT[root]


def read_document_file(
    path: str | Path, source_language: str, target_language: str, format: str | None = None
) -> DocumentFile:
    """The documents of a file to translate.

    Args:
        path: the file.
        source_language, target_language: ISO 639 codes, for formats with several languages.
        format: one of `FILE_CLASSES`; default: see `format_of`.

    Raises:
        CorpusError: the file is malformed; the message says how and where.
        OSError: it cannot be read.
    """
    return FILE_CLASSES[format or format_of(path)].read(path, source_language, target_language)


def write_documents(
    paths: Sequence[str | Path],
    format: str,
    documents: Sequence[ParallelDocument],
    source_language: str,
    target_language: str,
) -> None:
    """Writes parallel documents in one of `CORPUS_CLASSES`.

    Args:
        paths: one file for both languages; for `PAIRED_FORMATS` and "text" a file per language; for "opus-xml" the
            alignment file, beside which the folders of the languages are created.
        format: the format to write.
        documents: the documents to write. "srt" and "text" take one document.
        source_language, target_language: ISO 639 codes.
    """
    if format not in CORPUS_CLASSES:
        raise ValueError(f"format must be one of {', '.join(CORPUS_CLASSES)}, got {format!r}")
    num_paths = 2 if format in (*PAIRED_FORMATS, "text") else 1
    if len(paths) != num_paths:
        raise ValueError(f"{format} takes {num_paths} path(s), got {len(paths)}: {list(map(str, paths))}")
    if format == "opus-xml":
        _write_opus(Path(paths[0]), documents, source_language, target_language)
        return
    file = CORPUS_CLASSES[format].new(documents, source_language, target_language)
    targets = [item.target_sentences for item in documents]
    contents = [file.with_reference(targets) if isinstance(file, WmtXmlFile) else file.translated(targets)]
    if num_paths == 2:
        contents.insert(0, file.translated([item.source_sentences for item in documents]))
    for path, content in zip(paths, contents, strict=True):
        write_document_file(path, file, content)


def write_document_file(path: str | Path, file: DocumentFile, content: bytes) -> None:
    """Writes the content of a file and its companions, each atomically."""
    for ending, companion in file.companions().items():
        write_bytes(f"{path}{ending}", companion)
    write_bytes(path, content)


def _write_opus(
    alignment: Path, documents: Sequence[ParallelDocument], source_language: str, target_language: str
) -> None:
    links = []
    for number, document in enumerate(documents, start=1):
        names = [f"{language}/{number:06}.xml" for language in (source_language, target_language)]
        for name, texts in zip(names, (document.source_sentences, document.target_sentences), strict=True):
            file = OpusXmlFile.new([document], source_language, target_language)
            write_bytes(alignment.parent / name, file.translated([texts]))
        links.append((names[0], names[1], document.num_sentences))
    write_bytes(alignment, alignment_bytes(links))
