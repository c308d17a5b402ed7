# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Spans of a text that are not language: addresses, placeholders and other program text, tags, formulas.

They are the same in every language, and a program breaks if they change. What is recognized:

* printf and its relatives: `%d`, `%-5.2f`, `%1$s`, `%(date)s`, `%{name}`, `%<name>s`, `%@`, `%1`, `%name%`, `%%`;
* braces: `{}`, `{0}`, `{name}`, `{0:N2}`, `{n, number}`, `{{name}}`, `${x}`, `$(NAME)`, `#{x}`, `@{x}`, `{% tag %}`,
  `<%= x %>`, `<?php x ?>`, `{{< note >}}`, `{#api}`; `__count__`; `$NAME$`, and `$name` of three letters or more;
* messages of ICU (`{n, plural, one {...} other {...}}`, also select and selectordinal), with all that is in them;
* escapes: `\\u00e9` with the word around it, `\\x41`, `\\"`, `\\'`, `\\n`, `\\r`, `\\t`;
* HTML and XML that is text: tags, comments, CDATA sections, and entities that stand for no letter;
* Markdown that its parser takes for text: `[^1]`, `[!WARNING]`, `$x^2$`, `$$...$$`, `\\(...\\)`;
* addresses of pages and of mail, paths of Windows; the object replacement character, see `OBJECT`.

Where prose looks like program text, this is what decides. A percent sign behind a digit ("50% of", "50 % of") is a
percent sign; so is one before white space, which gives up printf's rare space flag. A dollar sign before a digit ("$5
and $6") is money, so `$1` is no placeholder, and a formula between dollar signs needs one of `\\^_={}` or is a single
letter. Braces around one word are a placeholder ("{sic}" stays as it is, which does no harm); around several words
("{see below}") they are prose. `\\n` is a line break even before letters ("name\\nand"), so TeX must be in dollar
signs. Angle brackets around a name are a tag, known or not ("<source>").
"""

import html
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

# Unicode's mark for an object inside of text, such as an image: what stands for itself in the text of a markup format.
OBJECT = "\ufffc"
# Unicode's line separator: a line break that is markup.
LINE_BREAK = "\u2028"

SpanKind = Literal["address", "word", "open", "close", "other", "message"]


class ProtectedSpan(NamedTuple):
    """A span [start, stop) of a text that is not language.

    `kind` is "word" for what stands in the place of a word, "open" and "close" for tags, "message" for one of ICU, that
    has language inside.
    """

    start: int
    stop: int
    kind: SpanKind


ADDRESS = (
    r"(?<![\w@])(?:(?:https?|ftp)://|www\.)(?:\{[^\s{}<>]*\}|\{(?![^\s{}<>]*\})|[^\s<>\"“”«»\ufffc{])*"
    r"(?:\{[^\s{}<>]*\}|[^\s<>\"“”«».,;:!?'’)\]}\ufffc])"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<!\w)[A-Za-z]:\\\S*\w"
    r"|(?<![\w\\])\\\\[\w.-]+\\\S*\w"
)
# Of the code between delimiters; longer is none, and neither is what has another one inside: the search stays linear.
_CODE = r"(?:(?!<[%?]|\{[{%])[^\n]){0,300}?"
_NAME = r"[A-Za-z_$][\w$.\[\]-]{0,100}"
_ATTRIBUTE = r"\s+[A-Za-z_:@][\w:@.-]*(?:\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>=`]+))?"
_WORDS = (
    # Templates.
    rf"<[%?]={_CODE}[%?]>|\{{\{{[<%]{_CODE}[>%]\}}\}}|\{{\{{\{{[^{{}}\n]{{0,300}}\}}\}}\}}"
    r"|\{\{[^{}\n]{0,300}\}\}|[$#@%]\{[^{}\n]{0,300}\}"
    rf"|\$\({_NAME}\)"
    # Formulas.
    r"|\$\$[^$\n]{1,500}\$\$|(?<![\w$\\])\$(?=\S)[^$\n]{0,300}?[\\^_={}][^$\n]{0,300}?(?<=\S)\$(?![\d$])"
    r"|(?<![\w$\\])\$[A-Za-z]\$(?![\w$])|\\\([^\n]{1,300}?\\\)"
    r"|(?<![\w$])\$[A-Za-z_]\w{0,100}\$|(?<![\w$])\$[a-z_]\w{2,100}"
    # Variables of Symfony and Windows, dates, and printf without the space flag.
    r"|(?<![\w%])%[A-Za-z_][\w.-]{1,100}%(?![\w%])"
    r"|(?<![\w%])%-?[A-Za-z](?:[^\w\s%]?%-?[A-Za-z]){1,10}"
    r"|(?<!\d)(?<!\d[ \u00a0\u202f])%(?:\d{1,2}\$|\([\w.-]{1,100}\)|<[\w.]{1,100}>)?"
    r"[-+#0']{0,5}(?:\d{1,3}|\*)?(?:\.(?:\d{1,3}|\*))?(?:hh|h|ll|l|L|q|j|z|t)?(?!age)[diouxXeEfFgGaAcCsSpn@]"
    r"|(?<![\w%])%L?\d{1,2}(?![\w$])"
    # Braces around nothing, a number or a name, and what format it has.
    rf"|\{{(?:\d{{1,3}}|{_NAME})?(?:![rsa])?(?::[^{{}}\s]{{0,40}}|,-?\d{{1,3}}(?::[^{{}}\s]{{0,40}})?"
    r"|\s*,\s*(?:number|date|time|spellout|ordinal|duration)\s*(?:,[^{}\n]{0,60})?)?\}"
    r"|\{[#.^/&!>][^{}\n]{0,200}\}"
    r"|(?<!\w)__[A-Za-z0-9]+(?:_[A-Za-z0-9]+){0,10}__(?!\w)"
)
# Those words with escapes, and percentages of printf, that may begin with a letter or digit.
_IN_WORDS = r"(?<!\w)\w*(?:\\u[0-9A-Fa-f]{4}\w*)+|(?<!\w)\d[\d.,]{0,20}%%"
_TAG = rf"<(?P<end>/)?[A-Za-z][\w:.-]{{0,60}}(?:=[^\s<>=]{{1,60}})?(?:{_ATTRIBUTE}){{0,30}}\s*(?P<empty>/)?>"
_OTHERS = (
    rf"<%{_CODE}%>|<\?{_CODE}\?>|\{{%{_CODE}%\}}"
    r"|<!--.{0,300}?-->|<!\[CDATA\[.{0,300}?\]\]>"
    r"|&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"
    r"|%%|\[\^[^\[\]\s]{1,60}\](?::(?=\s))?|\[![A-Za-z]{1,20}\][+-]?|\\(?:x[0-9A-Fa-f]{2}|u(?=\W|$)|[\"'nrt])"
)
_SPANS = re.compile(
    # Most characters are letters and spaces, at which nothing else needs to be tried.
    rf"(?P<address>{ADDRESS})|(?P<in_word>{_IN_WORDS})"
    rf"|(?=[%{{$<&@\\\[#_{OBJECT}])(?:(?P<tag>{_TAG})|(?P<word>{_WORDS}|{OBJECT})|(?P<other>{_OTHERS}))",
    re.DOTALL,
)
_MESSAGE = re.compile(r"\{\s*[\w$.-]{1,100}\s*,\s*(?:plural|select|selectordinal)\s*,")
# Elements without content: their tag opens nothing.
_VOID = re.compile(r"<(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b", re.IGNORECASE)
# Code of template languages, over several lines too, which the parsers of HTML and Markdown do not know.
_TEMPLATE = re.compile(
    r"(?P<word><[%?]=(?:(?!<[%?]).)*?[%?]>|\{\{\{?(?:(?!\{\{).)*?\}\}\}?)"
    r"|<%(?:(?!<%).)*?%>|<\?(?!xml\b)(?:(?!<\?).)*?\?>|\{%(?:(?!\{%).)*?%\}|\{#(?:(?!\{#).)*?#\}",
    re.DOTALL,
)
# What starts a span, for texts that have none.
_MAY_START = re.compile(rf"[%{{$<&@\\\[#_{OBJECT}]|://|www\.")


@lru_cache(maxsize=64)
def protected_spans(text: str) -> tuple[ProtectedSpan, ...]:
    """The spans of a text that are not language, in order, none over another."""
    if _MAY_START.search(text) is None:
        return ()
    spans: list[ProtectedSpan] = []
    for message in _messages(text):
        spans += _spans(text, spans[-1].stop if spans else 0, message.start)
        spans.append(message)
    return (*spans, *_spans(text, spans[-1].stop if spans else 0, len(text)))


def protected_texts(text: str) -> list[str]:
    """What stands in these spans."""
    return [text[span.start : span.stop] for span in protected_spans(text)]


def without_objects(text: str) -> str:
    """The text without what stands for markup in it, as a corpus has it."""
    if OBJECT not in text and LINE_BREAK not in text:
        return text
    return re.sub(rf" ?{OBJECT}", "", text.replace(LINE_BREAK, " ")).strip()


def template_spans(source: str) -> list[ProtectedSpan]:
    """The code of template languages in a document with markup: "word" for what they write there, else "other"."""
    return [ProtectedSpan(*match.span(), "word" if match["word"] else "other") for match in _TEMPLATE.finditer(source)]


def masked(source: str, spans: Iterable[ProtectedSpan]) -> str:
    """The document with letters in the place of these spans, so that a parser takes them for text; lines stay."""
    parts, position = [], 0
    for span in spans:
        parts += [source[position : span.start], re.sub(r"[^\r\n]", "x", source[span.start : span.stop])]
        position = span.stop
    return "".join([*parts, source[position:]])


def _spans(text: str, start: int, stop: int) -> Iterator[ProtectedSpan]:
    for match in _SPANS.finditer(text, start, stop):
        kind = _kind(match)
        if kind is not None:
            yield ProtectedSpan(*match.span(), kind)


def _kind(match: re.Match[str]) -> SpanKind | None:
    """The kind of what was found; None for an entity that stands for a letter, which is part of a word."""
    if match["tag"] is not None:
        is_empty = match["empty"] is not None or _VOID.match(match[0]) is not None
        return "close" if match["end"] else "other" if is_empty else "open"
    if match["other"] is not None:
        is_letter = match[0].startswith("&") and html.unescape(match[0])[:1].isalnum()
        return None if is_letter else "other"
    return "address" if match["address"] is not None else "word"


def _messages(text: str) -> Iterator[ProtectedSpan]:
    """The messages of ICU: from a brace to the one that closes it."""
    stop = 0
    for match in _MESSAGE.finditer(text):
        if match.start() < stop:
            continue
        depth = 0
        for brace in re.finditer("[{}]", text[match.start() :]):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                stop = match.start() + brace.end()
                yield ProtectedSpan(match.start(), stop, "message")
                break
        else:
            return
