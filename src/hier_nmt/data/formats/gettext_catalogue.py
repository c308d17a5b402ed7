# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Catalogues of GNU gettext (.po, .pot): the file is one document, each message a paragraph.

A translation that exists is kept, unless it is marked as fuzzy. New ones are marked so, which is how gettext says that
a person must check them. Comments, references, contexts and obsolete messages stay as they are. Of a message with a
plural both forms are units; all further forms of the target language get the translation of the plural.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..corpus_files import CorpusError, read_bytes
from ..text_files import decode_text
from .document_file import DocumentFile, Translations, Unit, UnitDocument
from .plural_forms import plural_forms
from .xml_files import same_language

_STRING = r'"((?:[^"\\]|\\.)*)"\s*'
_KEYWORD = re.compile(rf"(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{{1,2}})\])?\s*{_STRING}")
_START = re.compile(r"msgid(?!_)|msgctxt")
_CONTINUATION = re.compile(rf"\s*{_STRING}")
_CHARSET = re.compile(r"(charset=)([\w.:-]+)")
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {
    **{chr(code): f"\\{code:03o}" for code in (*range(32), 127)},
    **{character: f"\\{name}" for name, character in _ESCAPED.items()},
    '"': '\\"',
    "\\": "\\\\",
}
# Columns of a line, as gettext's tools write it.
_WIDTH = 77


@dataclass
class _Message:
    """A message: its strings by keyword, and the lines that have them.

    Attributes:
        start: the first line of the message that is no comment, or that has a previous source ("#|").
        flags: the line with its flags, if any.
        texts: keyword, such as "msgid" or "msgstr[1]" -> text.
        lines: the same keyword -> first line, and the line after the last.
    """

    start: int | None = None
    flags: int | None = None
    is_fuzzy: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    @property
    def forms(self) -> list[str]:
        """The keywords of its translations."""
        return [key for key in self.texts if key.startswith("msgstr")]

    @property
    def is_translated(self) -> bool:
        """Whether it has a finished translation."""
        return not self.is_fuzzy and all(self.texts[key] for key in self.forms)

    def units(self) -> Iterator[Unit]:
        """Its source, and the plural of that."""
        targets = [self.texts[key] or None for key in self.forms]
        sources = [(self.texts["msgid"], targets[0])]
        if "msgid_plural" in self.texts:
            sources.append((self.texts["msgid_plural"], targets[-1]))
        for source, target in sources:
            yield Unit(source, target, self.lines["msgid"][0] + 1, self.is_translated)


class GettextFile(DocumentFile):
    """A catalogue of messages.

    Args:
        path: where it was read.
        text: its content.
        source_language, target_language: ISO 639 codes.
    """

    def __init__(self, path: Path, text: str, source_language: str, target_language: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._lines = text.split("\n")
        self._languages = (source_language, target_language)
        messages = list(_messages(path, self._lines))
        is_header = [one.texts["msgid"] == "" and "msgctxt" not in one.texts for one in messages]
        self._headers = [one for one, is_it in zip(messages, is_header, strict=True) if is_it]
        self._messages = [one for one in messages if one.texts["msgid"].strip()]
        self._wraps = any(_is_wrapped(one, self._lines) for one in messages)
        paragraphs = tuple(tuple(one.units()) for one in self._messages)
        super().__init__(path, [UnitDocument(path.name, paragraphs)] if paragraphs else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "GettextFile":
        content = read_bytes(path)
        file = cls(Path(path), _decoded(content, path), source_language, target_language)
        file.original = content
        return file

    def translated(self, translations: Translations) -> bytes:
        texts = iter(translations[0])
        # First line -> line after the last, and what takes their place.
        changes: dict[int, tuple[int, list[str]]] = {}
        for message in self._messages:
            units = list(message.units())
            forms = [next(texts) for _ in units]
            if not message.is_translated or forms != [unit.target for unit in units]:
                self._translate(message, forms, changes)
        for header in self._headers:
            self._declare(header, changes)
        lines: list[str] = []
        position = 0
        for start, (stop, written) in sorted(changes.items()):
            lines += [*self._lines[position:start], *(line + self._newline[:-1] for line in written)]
            position = stop
        return self._encoded("\n".join([*lines, *self._lines[position:]]))

    def _translate(self, message: _Message, forms: Sequence[str], changes: dict[int, tuple[int, list[str]]]) -> None:
        """Adds the lines of a translation and of its mark to the changes."""
        start, stop = message.lines[message.forms[0]][0], message.lines[message.forms[-1]][1]
        if len(forms) == 1:
            keys = {"msgstr": forms[0]}
        else:
            count = self._num_plurals(len(message.forms))
            keys = {f"msgstr[{index}]": forms[index > 0 or count == 1] for index in range(count)}
        changes[start] = stop, [line for key, text in keys.items() for line in self._written(key, text)]
        if message.is_fuzzy:
            return
        if message.flags is not None:
            flags = self._lines[message.flags].rstrip("\r").removeprefix("#,")
            changes[message.flags] = message.flags + 1, [f"#, fuzzy,{flags}"]
        elif message.start is not None:
            changes[message.start] = message.start, ["#, fuzzy"]

    def _num_plurals(self, default: int) -> int:
        """The number of plural forms: as the header says, or else as the target language has."""
        declared = [
            re.search(r"nplurals\s*=\s*(\d+)", one.texts["msgstr"]) for one in self._headers if "msgstr" in one.texts
        ]
        known = plural_forms(self._languages[1])
        number = next((int(found[1]) for found in declared if found), known[0] if known else default)
        return number if 1 <= number <= 6 else default

    def _declare(self, header: _Message, changes: dict[int, tuple[int, list[str]]]) -> None:
        """Adds the header with the language, its plural forms and the encoding of the translation to the changes."""
        if header.forms != ["msgstr"]:
            return
        source, target = self._languages
        text = _CHARSET.sub(_utf_8, header.texts["msgstr"])
        found = re.search(r"^Language:[ \t]*(.*)$", text, re.MULTILINE)
        if found and (not found[1].strip() or same_language(found[1].strip(), source)):
            text = f"{text[: found.start()]}Language: {target.replace('-', '_')}{text[found.end() :]}"
        forms = plural_forms(target)
        if forms is not None:
            declaration = f"nplurals={forms[0]}; plural={forms[1]};"
            text = text.replace("nplurals=INTEGER; plural=EXPRESSION;", declaration)
            if "Plural-Forms:" not in text and any("msgid_plural" in one.texts for one in self._messages):
                text += f"Plural-Forms: {declaration}\n"
        if text != header.texts["msgstr"]:
            start, stop = header.lines["msgstr"]
            changes[start] = stop, ['msgstr ""', *(f'"{_escaped(line)}"' for line in text.splitlines(keepends=True))]

    def _written(self, key: str, text: str) -> list[str]:
        """The lines of a string."""
        whole = f'{key} "{_escaped(text)}"'
        parts = re.findall(r"[^\n]*\n|[^\n]+", text)
        if len(parts) < 2 and (len(whole) <= _WIDTH + 2 or not self._wraps):
            return [whole]
        rows = [row for part in parts for row in (_wrapped(part) if self._wraps else [part])]
        return [f'{key} ""', *(f'"{_escaped(row)}"' for row in rows)]


def _decoded(content: bytes, path: str | Path) -> str:
    """The text in the encoding that the header declares, or else in UTF-8."""
    declared = _CHARSET.search(content[:20_000].decode("latin-1"))
    try:
        name = codecs.lookup(declared[2]).name if declared else "utf-8"
        if name != "utf-8":
            return content.decode(name)
    except LookupError:
        # The placeholder of a template.
        pass
    except (UnicodeDecodeError, ValueError) as error:
        raise CorpusError(path, None, "not the declared encoding", f"{error}") from error
    return decode_text(content, path)


def _utf_8(charset: re.Match[str]) -> str:
    is_utf_8 = charset[2].lower().replace("_", "-") in ("utf-8", "utf8")
    return charset[0] if is_utf_8 else f"{charset[1]}UTF-8"


def _messages(path: Path, lines: Sequence[str]) -> Iterator[_Message]:
    """The messages in the lines, in order, without obsolete ones.

    Raises:
        CorpusError: a line is not of a catalogue, or a message is not complete.
    """
    message = _Message()
    key = ""
    for index, raw in enumerate(lines):
        line = raw.rstrip("\r")
        is_comment = line.startswith("#")
        if message.forms and (not line.strip() or is_comment or _START.match(line)):
            yield _checked(path, message)
            message, key = _Message(), ""
        if line.startswith("#~") and not message.texts:
            # The comments before it are of an obsolete message.
            message = _Message()
        elif is_comment:
            _read_comment(message, index, line)
        elif not line.strip() or line.startswith("domain "):
            key = ""
        elif match := _KEYWORD.fullmatch(line):
            key = match[1] if match[2] is None else f"{match[1]}[{int(match[2])}]"
            if key in message.texts or (match[2] is not None and match[1] != "msgstr"):
                raise CorpusError(path, index + 1, "message out of order", f"{line:.60}")
            message.start = index if message.start is None else message.start
            message.texts[key], message.lines[key] = _unescaped(match[3]), [index, index + 1]
        elif (match := _CONTINUATION.fullmatch(line)) and key:
            message.texts[key] += _unescaped(match[1])
            message.lines[key][1] = index + 1
        else:
            raise CorpusError(path, index + 1, "not a line of a catalogue", f"{line:.60}")
    if message.texts:
        yield _checked(path, message)


def _read_comment(message: _Message, index: int, line: str) -> None:
    if line.startswith("#,"):
        message.flags = index if message.flags is None else message.flags
        message.is_fuzzy |= "fuzzy" in re.split(r"[,\s]+", line)
    elif line.startswith("#|") and message.start is None:
        message.start = index


def _checked(path: Path, message: _Message) -> _Message:
    line = min((first for first, _ in message.lines.values()), default=0) + 1
    is_plural = "msgid_plural" in message.texts
    wanted = [f"msgstr[{index}]" for index in range(len(message.forms))] if is_plural else ["msgstr"]
    if "msgid" not in message.texts or not message.forms or message.forms != wanted:
        found = ", ".join(message.texts)
        raise CorpusError(path, line, "incomplete message", f"it has {found}")
    first, last = message.lines[message.forms[0]][0], message.lines[message.forms[-1]][1]
    if any(first < start < last for key, (start, _) in message.lines.items() if not key.startswith("msgstr")):
        raise CorpusError(path, line, "message out of order", "another string between its translations")
    return message


def _is_wrapped(message: _Message, lines: Sequence[str]) -> bool:
    """Whether a string of the message goes on in the next line for its length alone."""
    return any(
        not lines[index].rstrip().endswith('\\n"') and not lines[index].rstrip().endswith(' ""')
        for start, stop in message.lines.values()
        for index in range(start, stop - 1)
    )


def _wrapped(text: str) -> Iterator[str]:
    """The text in rows that fit into a line, if its words do."""
    row = ""
    for word in re.findall(r"\S*\s*", text):
        if row and len(_escaped(row + word)) > _WIDTH:
            yield row
            row = ""
        row += word
    if row:
        yield row


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "01234567":
        return chr(int(code, 8))
    return chr(int(code[1:], 16)) if code[0] == "x" and len(code) > 1 else _ESCAPED.get(code, code)


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
