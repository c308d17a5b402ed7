# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Texts as people have them, and worse; and strategies that mix them."""

from hypothesis import strategies as st

NEWLINES = ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
SPECIAL_TOKENS = "a <sep> b <par> c <pad> d </s> e <s> f <unk> g."

NASTY_TEXTS = {
    "newlines": "".join(f"a b.{newline}c d.{newline}{newline}" for newline in NEWLINES),
    "bullets": "- a b\n* c d\n  • e f\n1. g h\n2) i j\n(a) k l\n[x] m n\n\n– o p",
    "table": "a\tb c\td\n1\t2.5\t\n\t\t\nlong name    e     f\n| a | b |\n|---|---|\n| c | d |",
    "headings": "# a b #\n\n===\na b\n---\n\n\n## c d",
    "dialogue": "“A b,” c d. “E f!”\n— g h?\n«\u00a0i j.\u00a0»\n‘k’",
    "abbreviations": "Mr. A b, e.g. c, at 5 p.m. D e. U.S. f.",
    "addresses": "a https://example.org/b?c=d&e=f#g, h. www.example.org i@example.org! C:\\d\\e",
    "emoji": "😀 a b 👩\u200d👩\u200d👧 c. 🇫🇷 d ❤\ufe0f\n🎉🎉\n1\ufe0f\u20e3 e",
    "right to left": "مرحبا بالعالم. שלום עולם. a \u202bb\u202c c",
    "unspaced": "你好。世界！これはペンです。a 你好 b.",
    "control": "a\x00b \x07c.\x1b[31m d\x08 \x7f e\u200bf\u00adg \ufeffh",
    "surrogates": "a \ud800 b. \udfff\udc00 c\ud83d\nd.",
    "punctuation": "... --- *** !!! ??? () [] «» … “”\n.\n,",
    "entities": "a &amp; b &lt;c&gt; &nbsp; &#233; d.",
    "special tokens": SPECIAL_TOKENS,
    "white space": " \u00a0\u3000\t a  b   c      d\u202f! \u2003 \n \n",
    "combining": "e\u0301 a\u0308 n\u0303 a\u20d7 Z\u0351\u036b\u0343 a.",
    "html": "<p class='x'>a <b>b</b> c<br>d &amp; e</p><!-- f --><script>g < h</script><pre> i </pre><![foo[ j ]]> < k",
    "markdown": "a *b* `c d` [e](f 'g') ![h](i)\n> j\n> k\n\n- l\n  m\n\n```\nn\n```\n"
    "| o | p |\n|---|---|\n| q\\|r | s |\n",
    "one word": "a" * 3000,
    "no sentence end": "a b c d e " * 200,
    "repetition": "no " * 60 + ".",
}

_ANY_CHARACTER = st.characters(exclude_categories=())
_PIECES = st.one_of(
    st.sampled_from(
        [*NEWLINES, " ", "\t", "    ", ". ", "! ", "a b", "C d", "e.", "- ", "# ", "*", "`", "|", "&amp;", "]("]
    ),
    st.sampled_from(
        ["<b>", "</b>", "<p>", "</p>", "<br/>", "<!--", "-->", "<code>", "</code>", "[", "]", "(a)", "<", "\\"]
    ),
    st.sampled_from(
        ["😀", "❤\ufe0f", "你好", "“", "…", "\ud800", "\0", "\u00a0", "http://a.b/c", "Mr. ", "1.", "\u200d"]
    ),
    st.text(_ANY_CHARACTER, max_size=4),
)
messy_texts = st.one_of(st.lists(_PIECES, max_size=25).map("".join), st.text(_ANY_CHARACTER, max_size=40))
