# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""HTML and Markdown: the text is translated, everything else stays, character by character."""

import pytest
from word_translation import WordTranslator

from hier_nmt.text import markdown_text
from hier_nmt.text.html_text import html_runs
from hier_nmt.text.markdown_text import markdown_runs
from hier_nmt.text.protected_spans import OBJECT
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline

pytest.importorskip("sentencex")


def translated(text: str, text_format: str) -> str:
    model = WordTranslator(window_sentences=3, source_language="en", target_language="fr")
    pipe = DocumentTranslationPipeline(model, model.tokenizer, text_format=text_format)
    return pipe(text)[0]["translation_text"]


def html(text: str) -> str:
    return translated(text, "html")


def markdown(text: str) -> str:
    pytest.importorskip("markdown_it")
    return translated(text, "markdown")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>a b</p>", "<p>A B</p>"),
        ("<P Class=x  id = 'y'>a b</P >", "<P Class=x  id = 'y'>A B</P >"),
        ("<!DOCTYPE html>\n<html><head><title>a</title></head>\n<body>b<hr>c</body></html>\n", None),
        ("<ul>\n  <li>a b\n  <li>c\n</ul>", "<ul>\n  <li>A B\n  <li>C\n</ul>"),
        ("a <a href='b c'>d e</a> f", "A <a href='b c'>D E</a> F"),
        ("a <b>b <i>c</i></b> d", "A <b>B <i>C</i></b> D"),
        ("a<br>b<br/>c", "A<br>B<br/>C"),
        ("<b>a b! c</b> d", "<b>A B ! C</b> D"),
        ("a <img src='b' alt='c'> d", "A <img src='b' alt='c'> D"),
        (
            "<script>a < b</script><style>c</style><pre>d\n e</pre>f",
            "<script>a < b</script><style>c</style><pre>d\n e</pre>F",
        ),
        ("a <code>b c</code> d", "A <code>b c</code> D"),
        ("a <span translate=no>b <span>c</span></span> d", "A <span translate=no>b <span>c</span></span> D"),
        ("<div class='x notranslate'><p>a</p></div><p>b</p>", "<div class='x notranslate'><p>a</p></div><p>B</p>"),
        ("<!-- a -->b<!-- c --> d", "<!-- a -->B<!-- c --> D"),
        ("<table><tr><td>a<td>b</table>", "<table><tr><td>A<td>B</table>"),
        ("a\n   b", "A B"),
        ("", ""),
        ("<p></p>", "<p></p>"),
    ],
)
def test_html_is_translated_between_its_tags(source, expected) -> None:
    if expected is None:
        expected = source.replace(">a<", ">A<").replace(">b<", ">B<").replace(">c<", ">C<")
    assert html(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # What stands for itself keeps its spaces, between words and beside punctuation.
        ("a <code>b</code>, c", "A <code>b</code> , C"),
        ("d <span id=n></span>, b c", "D <span id=n></span> , B C"),
        ("a <img src=b> c <img src=d>", "A <img src=b> C <img src=d>"),
        ("<i class=b></i> a c", "<i class=b></i> A C"),
        ("a <kbd>b</kbd>+<kbd>c</kbd> d", "A <kbd>b</kbd>+<kbd>c</kbd> D"),
        ("a <b><code>b</code></b> c", "A <b><code>b</code></b> C"),
        # Empty stays empty and touches what it touched.
        ("a b<a name=c></a> d", "A B<a name=c></a> D"),
        ("a <a name=c></a>b d", "A <a name=c></a>B D"),
        ("a b<!-- c --> d", "A B<!-- c --> D"),
        # Filled stays filled, and what belongs to a word stays there.
        ("<b>a</b> b<sup>1</sup> c", "<b>A</b> B<sup>1</sup> C"),
        ("a x<sub>i</sub><sup>2</sup> b E<sub>max</sub> c", "A X<sub>i</sub><sup>2</sup> B E<sub>max</sub> C"),
        ("a <ruby>b<rp>(</rp><rt>c</rt><rp>)</rp></ruby> d", "A <ruby>B<rp>(</rp><rt>c</rt><rp>)</rp></ruby> D"),
        ('a <x id="1"/> b <g id="2">c</g> d <x id="3"/>.', 'A <x id="1"/> B <g id="2">C</g> D <x id="3"/> .'),
        ('a <mrk translate="no">b</mrk> c', 'A <mrk translate="no">b</mrk> C'),
        ("a H<sub>2</sub>O b C<sub>6</sub>H<sub>12</sub>", "A H<sub>2</sub>O B C<sub>6</sub>H<sub>12</sub>"),
        ("a<img src=b>c", "A<img src=b>C"),
        ("a<code>b</code>c d", "A<code>b</code>C D"),
        # Protection, in every way that HTML has.
        ("a <span translate='NO'>B b</span> c", "A <span translate='NO'>B b</span> C"),
        ("a <b class='x notranslate y'>B <i>b</i></b>! c", "A <b class='x notranslate y'>B <i>b</i></b> ! C"),
        ("a <samp>b</samp> c <var>d</var> e", "A <samp>b</samp> C <var>d</var> E"),
        # Code of template languages, with whatever is in it.
        ("a {{ b < c }} d", "A {{ b < c }} D"),
        ("a <%= b > '</p>' %> c", "A <%= b > '</p>' %> C"),
        ("<p>{% if a %}b c{% else %}d{% endif %}</p>", "<p>{% if a %}B C{% else %}D{% endif %}</p>"),
        ("<p><?php if ($a > 1): ?>b c<?php endif ?></p>", "<p><?php if ($a > 1): ?>B C<?php endif ?></p>"),
        ("a {{ b\n c }} d", "A {{ b\n c }} D"),
        ("a %s b {0} c", "A %s B {0} C"),
        ("<p>a &lt;b&gt; c</p>", "<p>A &lt;b&gt; C</p>"),
    ],
)
def test_html_keeps_what_stands_in_a_sentence_in_its_place(source, expected) -> None:
    assert html(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a **b**", "A **B**"),
        ("**b**", "**B**"),
        ("a [](b) c", "A [](b) C"),
        ("# a b {#api}\n", "# A B {#api}\n"),
        ("a b[^1] c\n\n[^1]: d e\n", "A B[^1] C\n\n[^1]: D E\n"),
        ("> [!WARNING]\n> a b\n> c\n", "> [!WARNING]\n> A B C\n"),
        (":::tip\na b\n:::\n", ":::tip\nA B\n:::\n"),
        ("!!! note\n    a b\n", "!!! note\n    A B\n"),
        (
            "<div translate='no'>\n\na *b*\n\n<div>\n\nc\n\n</div>\n\nd\n\n</div>\n\ne",
            "<div translate='no'>\n\na *b*\n\n<div>\n\nc\n\n</div>\n\nd\n\n</div>\n\nE",
        ),
        (
            "<p class='notranslate'>a</p>\n\nb\n\n<br translate='no'>\n\nc",
            "<p class='notranslate'>a</p>\n\nB\n\n<br translate='no'>\n\nC",
        ),
        ('!!! note "a b"\n    c\n    d\n\n    e\n', '!!! note "A B"\n    C D\n\n    E\n'),
        ('??? tip ""\r\n    a b\r\n', '??? tip ""\r\n    A B\r\n'),
        (
            "???+ info inline end\n\n    a\n\n    - b\n\n        c\n",
            "???+ info inline end\n\n    A\n\n    - B\n\n        C\n",
        ),
        (
            '=== "a"\n\n    b\n\n===! "c"\n\n    !!! d\n        e\n',
            '=== "A"\n\n    B\n\n===! "C"\n\n    !!! d\n        E\n',
        ),
        ('    !!! a "b"\n', '    !!! a "b"\n'),
        ("*[B]: a b\n*[C D]: c d\n", "*[B]: A B\n*[C D]: C D\n"),
        ("a $x_i * y_i$ b", "A $x_i * y_i$ B"),
        ("a $b + c$ d", "A $b + c$ D"),
        ("a\n\n$$\nb = c_d * e_d\n$$\n\nf", "A\n\n$$\nb = c_d * e_d\n$$\n\nF"),
        ("it is $5 or $6 a", None),
        ("stop !!! now it is :: a [!", None),
        ("{{< note >}}\na b\n{{< /note >}}\n", "{{< note >}}\nA B\n{{< /note >}}\n"),
        ("a {{< b *c* >}} d", "A {{< b *c* >}} D"),
        ("a <kbd>b c</kbd> d", "A <kbd>b c</kbd> D"),
        ("a <span translate='no'>B *b*</span> c", "A <span translate='no'>B *b*</span> C"),
        ("a<br>b", "A<br>B"),
        ("a <!-- b --> c", "A <!-- b --> C"),
        ("a `b`, c", "A `b` , C"),
        ("a __b__ c %(d)s", "A __B__ C %(d)s"),
        ("a ![b](c.png){width=50%} d", "A ![b](c.png){width=50%} D"),
        ("a ==b== c", "A ==B== C"),
        ("a :b_c: d", "A :b_c: D"),
        ("a b\n: c d\n", "A B\n: C D\n"),
        ("| a b\n| c d\n", "| A B\n| C D\n"),
        ("a b\n:c d", "A B :C D"),
    ],
)
def test_markdown_keeps_what_stands_in_a_sentence_in_its_place(source, expected) -> None:
    if expected is None:
        # Money and exclamations are text.
        (run,) = markdown_runs(source)
        assert run.text == source
    else:
        assert markdown(source) == expected


@pytest.mark.parametrize(
    ("source", "expected", "texts"),
    [
        ("| a \\| b | c |\n|--|--|\n| d | e |\n", "| A \\| B | C |\n|--|--|\n| D | E |\n", ["a \nb", "c", "d", "e"]),
        ("a | b\\|c\n--|--\nd | e\n", "A | B\\|C\n--|--\nD | E\n", ["a", "b c", "d", "e"]),
        ("|a|\n|--|\n|`b \\| c` d|\n", "|A|\n|--|\n|`b \\| c` D|\n", ["a", f"{OBJECT} d"]),
        (
            "> | a | b |\n> |--|--|\n> | [c \\| d](e.html) | *f* \\| g |\n",
            "> | A | B |\n> |--|--|\n> | [C \\| D](e.html) | *F* \\| G |\n",
            ["a", "b", "c \nd", "f \ng"],
        ),
        # In a text that is no table.
        ("a \\| b", "A \\| B", ["a | b"]),
    ],
)
def test_escaped_bars_in_cells_of_markdown_stay(source, expected, texts) -> None:
    assert markdown(source) == expected
    assert [run.text for run in markdown_runs(source)] == texts


def test_a_bar_in_a_translation_does_not_divide_a_cell() -> None:
    pytest.importorskip("markdown_it")
    runs = markdown_runs("| a | b |\n|--|--|\n| c | d |\n\ne\n")
    assert [run.escape("x | y") for run in runs] == [*4 * ["x \\| y"], "x | y"]


def test_sentences_are_told_with_what_stands_in_them() -> None:
    model = WordTranslator(window_sentences=3, source_language="en", target_language="fr")
    pipe = DocumentTranslationPipeline(model, model.tokenizer, text_format="html")
    (output,) = pipe("<p>a <code>x y</code> b</p>", return_sentences=True)
    assert [(one["source"], one["translation"]) for one in output["sentences"]] == [
        ("a <code>x y</code> b", "A <code>x y</code> B")
    ]
    assert [one.source for one in pipe.stream("<p>a <code>x y</code> b</p>")][:1] == ["a <code>x y</code> b"]


def test_the_object_character_in_the_text_of_others_stays() -> None:
    assert html("a \ufffc b &#xfffc; c <code>d</code> e") == "A \ufffc B &#xfffc; C <code>d</code> E"


def test_entities_are_read_as_characters_and_what_is_no_tag_is_written_as_one() -> None:
    (run,) = html_runs("a &lt;&#98;&gt; &eacute; &amp; c")
    assert run.text == "a <b> é & c"
    assert run.escape("x <y> & z") == "x &lt;y&gt; &amp; z"
    assert html("a &lt; b") == "A &lt; B"
    # What is not translated is written as it was.
    assert html("<p>&#233; &nbsp;&amp;") == "<p>&#233; &nbsp;&amp;"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "a <span translate=no>b <b translate='yes'>c d</b> e</span> f",
            "A <span translate=no>b <b translate='yes'>C D</b> e</span> F",
        ),
        (
            "<div translate=no><p>a b</p><p translate=yes>c <i>d</i></p><p>e <code>f</code></p></div><p>g",
            "<div translate=no><p>a b</p><p translate=yes>C <i>D</i></p><p>e <code>f</code></p></div><p>G",
        ),
        # An empty attribute means "yes".
        # End tags that are left out.
        ("<p translate=no>a b<p>c<p translate=no>d", "<p translate=no>a b<p>C<p translate=no>d"),
        ("<ul><li translate=no>a <b>b</b><li>c</ul>d", "<ul><li translate=no>a <b>b</b><li>C</ul>D"),
        ("<ul><li>a<li translate=no>b <p>b</ul>c", "<ul><li>A<li translate=no>b <p>b</ul>C"),
        (
            "<tr><td translate=no>a<td>b<tr translate=no><td>c<td>c<tr><th>d",
            "<tr><td translate=no>a<td>B<tr translate=no><td>c<td>c<tr><th>D",
        ),
        ("<dl><dt class=notranslate>a<dd>b<dt>c</dl>", "<dl><dt class=notranslate>a<dd>B<dt>C</dl>"),
        (
            "<p class=notranslate>a <b translate>c d</b> b &amp; b</p>",
            "<p class=notranslate>a <b translate>C D</b> b &amp; b</p>",
        ),
        (
            "<div translate=no>a <section translate=yes>b <q translate=no>c <i>d</i></q> e</section></div>",
            "<div translate=no>a <section translate=yes>B <q translate=no>c <i>d</i></q> E</section></div>",
        ),
        (
            "<code>a <span translate=yes>b c</span></code> d <code translate=yes>e</code> f",
            "<code>a <span translate=yes>B C</span></code> D <code translate=yes>E</code> F",
        ),
        ("<pre>a <b translate=yes>b</b></pre> c", "<pre>a <b translate=yes>b</b></pre> C"),
    ],
)
def test_protection_in_html_can_be_switched_off_inside(source, expected) -> None:
    assert html(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "<div translate='no'>\n\na *b*\n\n<div translate=yes>\n\nc\n\n</div>\n\nd\n\n</div>\n\ne",
            "<div translate='no'>\n\na *b*\n\n<div translate=yes>\n\nC\n\n</div>\n\nd\n\n</div>\n\nE",
        ),
        (
            "<div translate='no'>\n\na\n\n<p translate=yes>c d</p>\n\n<p>d</p>\n\n</div>\n\ne",
            "<div translate='no'>\n\na\n\n<p translate=yes>C D</p>\n\n<p>d</p>\n\n</div>\n\nE",
        ),
        (
            "a <span translate='no'>b *x* `c` <b translate='yes'>c *d*</b> e</span> f",
            "A <span translate='no'>b *x* `c` <b translate='yes'>C *D*</b> e</span> F",
        ),
        ("a <my-name translate=no>c *d*</my-name> e", "A <my-name translate=no>c *d*</my-name> E"),
    ],
)
def test_protection_in_markdown_can_be_switched_off_inside(source, expected) -> None:
    assert markdown(source) == expected


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("a <my-icon></my-icon> b <my-key>c</my-key> d", [f"a {OBJECT} b c d"]),
        ("a <x-icon/> b c", [f"a {OBJECT} b c"]),
        ("a <my-b translate=no>c d</my-b> e", [f"a {OBJECT} e"]),
        ("<b>a</b> <my-b>b</my-b>", ["a b"]),
        ("a <slot>b</slot> c <output>d</output> e <meter>f</meter> g", ["a b c d e f g"]),
        ("a <data value=1>b</data> <bdi>c</bdi> <bdo dir=rtl>d</bdo> <q>e</q> <time>f</time>", ["a b c d e f"]),
        ("a <picture><source srcset=x><img src=b></picture> c", [f"a {OBJECT} c"]),
        # Custom elements without text beside them are blocks of a layout.
        ("<my-app><my-title>a b</my-title><my-text>c <my-b>d</my-b></my-text></my-app>", ["a b", "c d"]),
        ("<button><my-icon></my-icon> a b</button><my-x>c</my-x><p>d</p>", ["a b", "c", "d"]),
        ("<p>a <my-x>b</p><p>c</my-x> d</p>", ["a b", "c d"]),
    ],
)
def test_elements_that_browsers_show_inside_of_lines_end_no_sentence(source, texts) -> None:
    assert [run.text for run in html_runs(source)] == texts


@pytest.mark.parametrize("inside", ["<code>x</code>", "<img src=x>", "<span id=n></span>", "<!-- x -->"])
def test_no_space_comes_between_markup_and_the_end_tag_after_it(inside) -> None:
    assert html(f"a <b>c {inside}</b> d") == f"A <b>C {inside}</b> D"


@pytest.mark.parametrize(
    "text", ["<", "<é", "<![foo[ é", "<![CDATA[ é ]]>", "<!-- é", "</", "</>é", "&#xZ;", "<xy é='", "<?é"]
)
def test_broken_html_is_no_error(text) -> None:
    # Its letters are unknown to the tokenizer, so nothing is translated.
    assert html(text) == text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# a b\n\nc d\n", "# A B\n\nC D\n"),
        ("a b\n===\n\nc\n---\n", "A B\n===\n\nC\n---\n"),
        ("## a ##\n", "## A ##\n"),
        ("- a b\n- c\n  1. d\n", "- A B\n- C\n  1. D\n"),
        ("* [ ] a\n", "* [ ] A\n"),
        ("> a b\n> > c\n", "> A B\n> > C\n"),
        ("a *b* **c** ~~d~~ e", "A *B* **C** ~~D~~ E"),
        ("a [b c](d.html 'e f') g", "A [B C](d.html 'e f') G"),
        ("a [b](<c d>) e", "A [B](<c d>) E"),
        ("a [b][c] d [c] e\n\n[c]: f.html 'g'\n", "A [B][c] D [C] E\n\n[c]: f.html 'g'\n"),
        ("a ![b](c.png) d", "A ![b](c.png) D"),
        ("a `b c` d ``e ` f`` g", "A `b c` D ``e ` f`` G"),
        ("a <https://b.c> d", "A <https://b.c> D"),
        ("a <span class='b'>c</span> d", "A <span class='b'>C</span> D"),
        ("```python\na = b\n```\n\n    c d\n\ne", "```python\na = b\n```\n\n    c d\n\nE"),
        ("<div>\na b\n</div>\n\nc", "<div>\nA B\n</div>\n\nC"),
        ("| a | b c |\n|:--|--:|\n| d | `e` |\n", "| A | B C |\n|:--|--:|\n| D | `e` |\n"),
        ("---\ntitle: a\n---\n\nb\n", "---\ntitle: a\n---\n\nB\n"),
        ("a b\nc d", "A B C D"),
        ("a b\\\nc d", "A B\\\nC D"),
        ("a\r\n\r\n- b\r\n", "A\r\n\r\n- B\r\n"),
        ("* * *\n\na\n", "* * *\n\nA\n"),
        ("", ""),
    ],
)
def test_markdown_is_translated_between_its_marks(source, expected) -> None:
    assert markdown(source) == expected


def test_the_number_of_a_footnote_after_a_sentence_is_no_text() -> None:
    (run,) = html_runs("One.<sup>1</sup> Two”<a href=#n>2</a> 3.<b>14</b> and x: <b>5</b>")
    assert run.text == "One. Two” 3.14 and x: 5"


def test_what_an_entity_stands_for_does_not_become_a_tag() -> None:
    assert markdown("a &lt;b&gt; c *d*") == "A \\<b> C *D*"


def test_what_is_escaped_in_markdown_is_escaped_in_the_translation() -> None:
    pytest.importorskip("markdown_it")
    (run,) = markdown_runs("a \\* b &amp; c")
    assert run.text == "a * b & c"
    assert run.escape("x * y_z") == "x \\* y\\_z"


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ValueError, match="one of plain, html, markdown; got 'docx'"):
        translated("a", "docx")


def test_missing_markdown_parser_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(markdown_text, "markdown_it", None)
    with pytest.raises(ImportError, match="pip install markdown-it-py"):
        translated("a", "markdown")
    assert translated("a", "html") == "A"
