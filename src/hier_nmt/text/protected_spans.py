# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Spans of a text that are not language: addresses, placeholders and other code, tags, formulas.

They are the same in every language, and a program breaks if they change. These are recognized:

* printf and similar: `%d`, `%-5.2f`, `%1$s`, `%(date)s`, `%{name}`, `%<name>s`, `%@`, `%#@name@`, `%1`, `%name%`,
  `%%`, and `%name` of three letters or more, so letters that touch `%d` stay with it ("%dpx");
* braces: `{}`, `{0}`, `{name}`, `{0:d MMM yyyy}`, `{name ?? f(x)}`, `{n, number}`, `{{name}}`, `${x}`, `$(NAME)`,
  `#{x}`, `@{x}`, `{% tag %}`, `<%= x %>`, `<?php x ?>`, `{{< note >}}`, `{#api}`, `{width=50%}`; `__count__`; `$NAME$`,
  and `$name` of three letters or more, also `$user->name`; `$t(key)`;
* BBCode with an end tag: `[b]`, `[url=x]`; colours: `#ff0000`; legal signs and arrows: `©`, `→`; ranges: `[1,*]`;
* other marks around a name: `:count`, `:smile:`, `@name`, `!name`, `##NAME##`, `^name^`, `[[name]]`, `[site:name]`,
  `[%name%]`, `*|NAME|*`, `%%name%%`, and `[X12X]`, which Weblate writes for what must stay;
* ICU messages (`{n, plural, one {...} other {...}}`, also choice, select and selectordinal), with everything inside,
  and braces that they quote (`'{'`);
* escapes: `\\u00e9` with the word around it, `\\x41`, `\\"`, `\\'`, `\\n`, `\\r`, `\\t`;
* HTML and XML in plain text: tags (also numbered ones, `<0>`, and escaped ones), comments, CDATA sections, and entities
  that are not letters; elements with what is in them if they are code (`<code>x</code>`), marked as not to be
  translated, or a number (`<sup>1</sup>`), and variables with an index (`x<sub>i</sub>`);
* Markdown in plain text: code between backticks, pairs of `*`, `**`, `~~` and `==`, links to paths;
* Markdown extensions that the parser reads as text: `[^1]`, `[!WARNING]`, `*[HTML]:`, `$x^2$`, `$$...$$`, `\\(...\\)`;
* web and mail addresses, Windows paths; the object replacement character, see `OBJECT`.

Where prose looks like code, these rules decide. A percent sign after a digit ("50% of", "50 % of") is a percent sign;
so is one before white space, so printf's rare space flag is not recognized. A dollar sign before a digit ("$5 and $6")
is money, so `$1` is no placeholder, and a formula between dollar signs needs one of `\\^_={}` or is a single letter.
Braces around one word are a placeholder ("{sic}" is copied, which does no harm); braces around several words ("{see
below}") are prose. A colon, `@` or `!` right before a name is code ("see :name"), one bracket around a word is not
("[name]"). `\\n` is a line break even before letters ("name\\nand"), so TeX must be in dollar signs. Angle
brackets around any name are a tag ("<source>").
"""

import html
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

# Unicode's object replacement character: stands for markup that acts as a word, such as an image or code.
OBJECT = "\ufffc"
# Unicode's line separator: a line break that is markup.
LINE_BREAK = "\u2028"

SpanKind = Literal["address", "word", "open", "close", "other", "message", "break"]


class ProtectedSpan(NamedTuple):
    """A span [start, stop) of a text that is not language.

    `kind` is "word" for a span that may act as a word, "open" and "close" for tags, "message" for an ICU message, which
    has language inside, "break" for markup that separates sentences (in documents with markup).
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
    # Telephone numbers with a country code.
    r"|(?<![\w+])\+\d(?:[ \u00a0\u202f.()-]{0,2}\d){6,14}(?!\w)"
)
# Code between delimiters. Its length is limited and it has no opening delimiter inside, so that the search is linear.
_CODE = r"(?:(?!<[%?]|\{[{%])[^\n]){0,300}?"
_NAME = r"[A-Za-z_$][\w$.\[\]-]{0,100}"
_ATTRIBUTE = r"\s+[A-Za-z_:@][\w:@.-]*(?:\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>=`]+))?"
# A tag that is escaped in a text, as in a message of HTML in XML.
_ESCAPED_TAG = r"(?P<escaped>&lt;/?[A-Za-z][\w:.-]{0,60}(?:[\s/](?:(?!&[lg]t;)[^<>\n]){0,300}?)?&gt;)"
# Legal signs and arrows.
_SIGNS = "©®™℠℗←-⇿"
_WORDS = (
    # Templates.
    rf"<[%?]={_CODE}[%?]>|\{{\{{[<%]{_CODE}[>%]\}}\}}|\{{\{{\{{[^{{}}\n]{{0,300}}\}}\}}\}}"
    r"|\$?\{\{[^{}\n]{0,300}\}\}|[$#@%]\{[^{}\n]{0,300}\}"
    rf"|\$\({_NAME}\)"
    # Formulas.
    r"|\$\$[^$\n]{1,500}\$\$|(?<![\w$\\])\$(?=\S)[^$\n]{0,300}?[\\^_={}][^$\n]{0,300}?(?<=\S)\$(?![\d$])"
    r"|(?<![\w$\\])\$[A-Za-z]\$(?![\w$])|\\\([^\n]{1,300}?\\\)"
    r"|(?<![\w$])\$[A-Za-z_]\w{0,100}\$|(?<![\w$])\$t\([^()\n]{1,200}\)"
    r"|(?<![\w$])\$[A-Za-z_]\w{2,100}(?:->\w{1,100}){0,5}"
    # Variables of Symfony and Windows, dates, and printf without the space flag.
    r"|(?<![\w%])(?P<percents>%%?)[A-Za-z_][\w.-]{1,100}(?P=percents)(?![\w%])|%%[A-Z][A-Z _]{1,50}%%"
    r"|(?<![\w%])%-?[A-Za-z](?:[^\w\s%]?%-?[A-Za-z]){1,10}"
    r"|%(?:\d{1,2}\$)?#@\w{1,100}@|(?<![\w%])(?<!\d[ \u00a0\u202f])%(?!ages?\b)[A-Za-z_][A-Za-z0-9_]{2,100}"
    r"|(?<!\d)(?<!\d[ \u00a0\u202f])%(?:\d{1,2}\$|\([\w.-]{1,100}\)|<[\w.]{1,100}>)?"
    r"[-+#0']{0,5}(?:\d{1,3}|\*)?(?:\.(?:\d{1,3}|\*))?(?:hh|h|ll|l|L|q|j|z|t|I64|I32)?(?!age)(?:[diouxXeEfFgGaAcCsSpn@]|[qvT](?![A-Za-z]))"
    r"|(?<![\w%])%L?\d{1,2}(?![\w$])"
    # Braces around nothing, a number or a name, perhaps with a format, or around an expression.
    rf"|\{{ ?-?{_NAME} ?\}}|\{{\d{{1,3}}:[^{{}}\n]{{0,60}}\}}"
    r"|\{[^{}\n]{0,100}?(?:\w\(|\?\.|\?\?|\$\w)[^{}\n]{0,100}\}"
    rf"|\{{(?:\d{{1,3}}|{_NAME})?(?:![rsa])?(?::[^{{}}\s]{{0,40}}|,-?\d{{1,3}}(?::[^{{}}\s]{{0,40}})?"
    r"|\s*,\s*(?:number|date|time|spellout|ordinal|duration)\s*(?:,[^{}\n]{0,60})?)?\}"
    r"|\{[#.^/&!>:][^{}\n]{0,200}\}|\{[\w:-]{1,40}=[^{}\n]{1,200}\}"
    # Other marks around a name.
    r"|(?<![\w:]):(?:[a-z][\w+-]{0,50}(?<=\w):|\+1:|-1:|:?[a-z]\w{1,50})(?![\w:])"
    r"|(?<![\w@.])@:?[A-Za-z_][\w./-]{0,50}\w(?![@\w])|(?<![\w!])![a-z_][\w-]{1,50}"
    r"|(?<![\w#])(?P<hashes>\#{1,3})[A-Za-z_][\w.-]{0,50}(?P=hashes)(?![\w#])|(?<![\w^])\^[A-Za-z_]\w{0,50}\^(?!\w)"
    r"|(?<![\w&#])#(?:[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})(?!\w)"
    r"|\[\[[\w.:-]{1,50}\]\]|\[X\d{1,6}X\]|\[%[\w.-]{1,50}%\]|\[[A-Za-z]\w{0,50}(?:[_:.]\w{1,50}){1,5}\]|\*\|[^|*\n]{1,100}\|\*"
    r"|[←-⇿]"
    # Markdown's code.
    r"|(?<![`\w])(?P<ticks>`{1,3})(?!`)[^`\n]{1,200}(?P=ticks)(?!`)"
    r"|(?<!\w)__[A-Za-z0-9]+(?:_[A-Za-z0-9]+){0,10}__(?!\w)"
)
# Words with escapes or indices, and percentages of printf: these may start with a letter or digit.
_IN_WORDS = (
    r"(?<!\w)\w*(?:\\u[0-9A-Fa-f]{4}\w*)+|(?<!\w)\d[\d.,]{0,20}%%"
    r"|(?<!\w)\w{1,20}(?:<su[bp]>\d{1,4}</su[bp]>\w{1,20})+|(?<!\w)[A-Za-z]{1,2}(?:<su[bp]>[A-Za-z]{1,3}</su[bp]>)+(?!\w)"
)
# Elements that are kept with what is in them, as `html_text` keeps them.
_ELEMENT = (
    r"<(?P<name>code|kbd|samp|var|tt|script|style)\b[^<>]{0,200}>[^<>\n]{0,300}</(?P=name)>"
    r"|<(?P<kept>[A-Za-z][\w:-]{0,20})\s[^<>]{0,200}?(?:\btranslate\s*=\s*[\"']?no\b"
    r"|\bclass\s*=\s*[\"']?(?:[^\"'<>]{0,100}\s)?notranslate\b)[^<>]{0,200}>[^<>]{0,300}</(?P=kept)>"
)
_INDEX = r"<(?P<index>su[bp])\b[^<>]{0,100}>[\d\s.,*†‡]{1,10}</(?P=index)>"
_TAG = (
    r"<(?P<end>/)?(?:[A-Za-z][\w:.-]{0,60}|\d{1,3})(?:=[^\s<>=]{1,60})?"
    rf"(?:{_ATTRIBUTE}){{0,30}}\s*(?P<empty>/)?>"
)
_OTHERS = (
    rf"<%{_CODE}%>|<\?{_CODE}\?>|\{{%{_CODE}%\}}"
    r"|<!--.{0,300}?-->|<!\[CDATA\[.{0,300}?\]\]>"
    r"|&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"
    r"|[©®™℠℗]|\[\d{1,6}, ?(?:\d{1,6}|\*|Inf)\]"
    r"|%%|&&|'[{}]'|(?<!\S)\*\[[^\[\]\n]{1,60}\]:(?=\s)"
    r"|\[\^[^\[\]\s]{1,60}\](?::(?=\s))?|\[![A-Za-z]{1,20}\][+-]?|\\(?:x[0-9A-Fa-f]{2}|u(?=\W|$)|[\"'nrt])"
)
# Markdown in plain text: links to something like a path, and pairs of signs, see `_without_single`.
_TARGET = r"\]\((?=[^()\s]*[/.#:])(?:[^()\s]|\([^()\s]{0,100}\)){1,300}\)"
_LINK = rf"(?P<link>\[(?=[^\[\]\n]{{1,300}}{_TARGET}))|(?P<link_end>{_TARGET})"
# Tags of BBCode, which need both halves: "[name]" alone is prose.
_BBCODE = (
    r"(?P<bracket>\[(?P<bb>[A-Za-z]{1,10})(?:=[^\[\]\n]{1,200})?\](?=[^\n]{0,500}?\[/(?P=bb)\]))"
    r"|(?P<bracket_end>\[/[A-Za-z]{1,10}\])"
)
_EMPHASIS = r"(?P<emphasis>(?<![*~=\\])(?:\*{1,3}|~~|==)(?![*~=]))"
_EMPHASIS_SIGNS = ("*", "**", "***", "~~", "==")
_SPANS = re.compile(
    # A lookahead: at most characters (letters and spaces) no other pattern needs to be tried.
    rf"(?P<address>{ADDRESS})|(?P<in_word>{_IN_WORDS})"
    rf"|(?=[%{{$<&@\\\[\]#_:!^`*~='{_SIGNS}{OBJECT}])"
    rf"(?:(?P<element>{_ELEMENT})|{_INDEX}|(?P<tag>{_TAG})|{_ESCAPED_TAG}|(?P<word>{_WORDS}|{OBJECT})|(?P<other>{_OTHERS})"
    rf"|{_LINK}|{_BBCODE}|{_EMPHASIS})",
    re.DOTALL,
)
_MESSAGE = re.compile(r"\{\s*[\w$.-]{1,100}\s*,\s*(?:plural|choice|select|selectordinal)\s*,")
# Elements without content: their tag opens nothing.
_VOID = re.compile(r"<(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b", re.IGNORECASE)
# Code of template languages, also over several lines, which parsers of HTML and Markdown do not know.
_TEMPLATE = re.compile(
    r"(?P<word><[%?]=(?:(?!<[%?]).)*?[%?]>|\{\{\{?(?:(?!\{\{).)*?\}\}\}?)"
    r"|<%(?:(?!<%).)*?%>|<\?(?!xml\b)(?:(?!<\?).)*?\?>|\{%(?:(?!\{%).)*?%\}|\{#(?:(?!\{#).)*?#\}",
    re.DOTALL,
)
# Every span starts with one of these; texts without them are skipped.
_MAY_START = re.compile(rf"[%{{$<&@\\\[#_^`*{_SIGNS}{OBJECT}]|://|www\.|:[a-z+:-]|![a-z_]|~~|==|\+\d")


@lru_cache(maxsize=64)
def protected_spans(text: str) -> tuple[ProtectedSpan, ...]:
    """The spans of a text that are not language, in order and without overlaps."""
    if _MAY_START.search(text) is None:
        return ()
    spans: list[ProtectedSpan] = []
    for message in _messages(text):
        spans += _spans(text, spans[-1].stop if spans else 0, message.start)
        spans.append(message)
    spans += _spans(text, spans[-1].stop if spans else 0, len(text))
    return tuple(_without_single(text, spans))


def protected_texts(text: str) -> list[str]:
    """The texts of these spans."""
    return [text[span.start : span.stop] for span in protected_spans(text)]


def remove_objects(text: str) -> str:
    """The text without the characters that represent markup, as corpora have it."""
    if OBJECT not in text and LINE_BREAK not in text:
        return text
    return re.sub(rf" ?{OBJECT}", "", text.replace(LINE_BREAK, " ")).strip()


def template_spans(source: str) -> list[ProtectedSpan]:
    """Code of template languages in a document with markup: kind "word" for expressions that print text, else
    "other"."""
    return [ProtectedSpan(*match.span(), "word" if match["word"] else "other") for match in _TEMPLATE.finditer(source)]


def mask_spans(source: str, spans: Iterable[ProtectedSpan]) -> str:
    """The document with these spans replaced by letters, which a parser reads as text; line breaks stay."""
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


def _without_single(text: str, spans: list[ProtectedSpan]) -> Iterator[ProtectedSpan]:
    """The spans, of the signs for emphasis only pairs and those at an end of the text, with their kinds."""
    kinds: dict[int, SpanKind] = {}
    opened: dict[str, int] = {}
    signs = [span for span in spans if text[span.start : span.stop] in _EMPHASIS_SIGNS]
    for span in signs:
        before, after = text[max(0, span.start - 1) : span.start], text[span.stop : span.stop + 1]
        may_open = bool(after.strip()) and not before.isalnum() and before not in {*")]}"}
        may_close = bool(before.strip()) and not after.isalnum() and after not in {*"([{"}
        sign = text[span.start : span.stop]
        if may_close and sign in opened:
            kinds |= {opened.pop(sign): "open", span.start: "close"}
        elif may_open:
            opened[sign] = span.start
            if span.start == 0:
                kinds[span.start] = "open"
        elif may_close and not any(map(str.isalnum, text[span.stop :])):
            kinds[span.start] = "close"
    for span in spans:
        if span not in signs:
            yield span
        elif span.start in kinds:
            yield span._replace(kind=kinds[span.start])


def _kind(match: re.Match[str]) -> SpanKind | None:
    """The kind of a match; None for an entity that is a letter, and so part of a word."""
    if any(match[name] is not None for name in ("link", "bracket", "emphasis")):
        return "open"
    if match["link_end"] is not None or match["bracket_end"] is not None:
        return "close"
    if match["tag"] is not None:
        is_empty = match["empty"] is not None or _VOID.match(match[0]) is not None
        return "close" if match["end"] else "other" if is_empty else "open"
    if match["escaped"] is not None:
        tag = html.unescape(match[0])
        return "close" if tag.startswith("</") else "other" if tag.endswith("/>") or _VOID.match(tag) else "open"
    if match["other"] is not None or match["index"] is not None:
        is_letter = match[0].startswith("&") and html.unescape(match[0])[:1].isalnum()
        return None if is_letter else "other"
    return "address" if match["address"] is not None else "word"


def _messages(text: str) -> Iterator[ProtectedSpan]:
    """The ICU messages: from the opening brace to its closing brace."""
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
