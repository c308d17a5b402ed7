# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Damage done to files at random, the same for the same seed: what lies on disks, comes out of tools, or is malice."""

import random
import re
from collections.abc import Callable, Sequence

# What means something to one of the readers, or to the libraries below them.
TOKENS = [
    *("<", ">", "</", "/>", "&", ";", "&amp;", "&nbsp;", "&#0;", "&#xd800;", "&#x1F600;", "<!--", "-->", "<![CDATA["),
    *("]]>", "<?x?>", '<!DOCTYPE x SYSTEM "x.dtd">', '<!DOCTYPE x [<!ENTITY a "b">]>', "<seg>", "</seg>", "<tu>"),
    *("<g>", "</g>", '<mrk mtype="seg" mid="1">', ' xml:lang="fr"', ' xml:lang=""', ' version="9"', ' translate="no"'),
    *(' encoding="utf-16"', ' xmlns="x"', "<d>", "<talkid>", "</talkid>", '<doc docid="1">'),
    *("00:00:01,000 --> 00:00:02,000",),
    *(' approved="yes"', ' state="new"', ' state="initial"', ' state="final"', '<target state="new">', "<target/>"),
    *(' subState="a:b"', ' mq:locked="locked"', ' creationid="a"', "doc_id\tsource\ttarget\n", "\\N", "\\h", "<br>"),
    *("00:00:09,000 --> 00:00:02,000", "1:1:1,1-->1:1:1,1", "- ", "{\\an8}", "<i>", "\t", "\n", "\r", "\r\n", "\n\n"),
    *('"', "'", "[", "]", "{", "}", ",", ":", "null", "true", "1e999", "NaN", "-1", "0", "9" * 5000),
    *("\\ud800", "\\u0000"),
    *("%s", "%1$@", "{0}", "{{name}}", "${x}", "$(N)", "%(d)s", "__a__", "\\n", "\\u00e9", "$x^2$", "[^1]", "[!NOTE]"),
    *("{n, plural, one {a} other {b}}", "{{< a >}}", "<% b %>", "{% c %}", "&lt;b&gt;", "%%", "\ufffc", "~2~"),
    *('<x id="1"/>', "<ph>&lt;br/></ph>", "<bpt/>", "<ept/>", '<mrk translate="no">', "</mrk>", "<hi>", "</hi>"),
    *('<sm id="1" translate="no"/>', '<em startRef="1"/>', "<pc>", "</pc>", '<it pos="end"/>', "<code>", "</code>"),
    *(":::tip", "**", "{#a}", "*", "==", "~~", "`", "``", ":a_b:", ":ab", "@ab", "!ab", "##A##", "^a^", "[[a]]"),
    *("[a:b]", "*|A|*", "%%a%%", "$abc->d", "](/a.b)", "{a=b}", "\n: ", "\n| ", "<code>a</code>"),
    '<b translate="no">a</b>',
    *("<ph>[b]</ph>", "<ph>[/b]</ph>", "<ut>{1></ut>", "<ut>&lt;1}</ut>", '<x equiv-text="&lt;b>"/>'),
    *('<ph disp="&lt;/b>"/>', '<x ctype="lb"/>'),
    *("<sup>1</sup>", "<b></b>", "<a name='x'></a>", "<br>"),
    *("*a", "&a ", "? ", "!!python/object/apply:os.system [id]", "!!binary x", "2001-99-99", "0x_", "1:99", ".inf"),
    *("~", "<<: ", "- - - ", "$HOME", "$", "_eos", "../", "/etc/passwd", ";1", "1;1", "A", "Mr.", "...", "?!"),
    *("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\xa0", "\u3000", "\u200b", "\u200f", "\u0301"),
    *("\ufeff", "\U0001f468\u200d"),
    *("\U0001f600", "\u3002", "\u061f", "\u0964", "\x00", "\x1b", "\ufffe", "\uffff"),
]  # fmt: skip
BYTES = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xfe\xff", b"\xff\xfe", b"\x1f\x8b", b"PK\x03\x04"]
DEPTHS = [("[", "]"), ("{", "}"), ('{"a":', "}"), ("<g>", "</g>"), ("<a>", ""), ("- ", ""), ("(", ")"), ("", "A. ")]

Damage = Callable[[random.Random, bytes], bytes]


def _place(rng: random.Random, content: bytes) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    return start, min(len(content), start + rng.choice([1, 1, 2, 4, 16, 64, len(content)]))


def insert(rng: random.Random, content: bytes) -> bytes:
    """With a token, or bytes that are no UTF-8, somewhere."""
    added = rng.choice(BYTES) if rng.random() < 0.1 else rng.choice(TOKENS).encode("utf-8", "surrogatepass")
    start, _ = _place(rng, content)
    return content[:start] + added * rng.choice([1, 1, 1, 2, 3]) + content[start:]


def overwrite(rng: random.Random, content: bytes) -> bytes:
    """With something replaced by a token."""
    start, stop = _place(rng, content)
    return content[:start] + rng.choice(TOKENS).encode("utf-8", "surrogatepass") + content[stop:]


def delete(rng: random.Random, content: bytes) -> bytes:
    """Without some part."""
    start, stop = _place(rng, content)
    return content[:start] + content[stop:]


def repeat(rng: random.Random, content: bytes) -> bytes:
    """With a part twice or often."""
    start, stop = _place(rng, content)
    return content[:stop] + content[start:stop] * rng.choice([1, 1, 2, 20]) + content[stop:]


def move(rng: random.Random, content: bytes) -> bytes:
    """With a part somewhere else."""
    start, stop = _place(rng, content)
    rest = content[:start] + content[stop:]
    place, _ = _place(rng, rest)
    return rest[:place] + content[start:stop] + rest[place:]


def flip(rng: random.Random, content: bytes) -> bytes:
    """With one bit turned."""
    if not content:
        return content
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def lines(rng: random.Random, content: bytes) -> bytes:
    """With a line less, twice, in another place or blank."""
    parts = content.split(b"\n")
    place, other = rng.randrange(len(parts)), rng.randrange(len(parts))
    choice = rng.randrange(4)
    if choice == 0:
        del parts[place]
    elif choice == 1:
        parts.insert(place, parts[place])
    elif choice == 2:
        parts[place], parts[other] = parts[other], parts[place]
    else:
        parts[place] = b" "
    return b"\n".join(parts)


def number(rng: random.Random, content: bytes) -> bytes:
    """With another number in the place of one."""
    found = list(re.finditer(rb"\d+", content))
    if not found:
        return content
    one = rng.choice(found)
    value = rng.choice([b"0", b"-1", b"1", b"2", b"3", b"65536", b"9" * 20, b"9" * 5000, b"1.5", b"1e999"])
    return content[: one.start()] + value + content[one.end() :]


def nest(rng: random.Random, content: bytes) -> bytes:
    """With something nested deeply."""
    start, _ = _place(rng, content)
    opening, closing = rng.choice(DEPTHS)
    depth = rng.choice([10, 300, 3000, 100_000])
    return content[:start] + opening.encode() * depth + closing.encode() * depth + content[start:]


def recode(rng: random.Random, content: bytes) -> bytes:
    """In another encoding, or with other ends of lines."""
    text = content.decode("utf-8", "replace")
    choice = rng.randrange(4)
    if choice == 0:
        return text.encode("utf-16")
    if choice == 1:
        return text.encode("latin-1", "replace")
    return content.replace(b"\n", b"\r\n" if choice == 2 else b"\r")


DAMAGES: Sequence[Damage] = (
    *(insert, insert, insert, overwrite, overwrite, delete, delete, repeat, move, flip, lines, lines, number, number),
    *(nest, recode),
)


def damaged(rng: random.Random, content: bytes) -> bytes:
    """The content with one to five damages."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
        # The last two are rough, and leave little for the others to do.
        damage = rng.choice(DAMAGES if rng.random() < 0.3 else DAMAGES[:-2])
        content = damage(rng, content)
    return content[:2_000_000]
