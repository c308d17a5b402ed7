# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.text.document_layout import run_layout
from hier_nmt.text.html_text import html_runs
from hier_nmt.text.protected_spans import OBJECT
from hier_nmt.text.xml_text import xml_runs


def translated(source: str, **options) -> tuple[list[str], str]:
    """The sentences of XML, and the XML with all of them in capital letters."""
    layout = run_layout(source, xml_runs(source, **options), "en", " ")
    return [slot.text for slot in layout.slots], layout.text(slot.text.upper() for slot in layout.slots)


def test_elements_are_inside_sentences_unless_they_split() -> None:
    source = "<p>One <b>two</b>.</p><p>Three</p>"
    assert translated(source) == (["One two.", "Three"], "<p>ONE <b>TWO</b>.</p><p>THREE</p>")
    assert translated("<p>one</p><p>two</p>")[0] == ["onetwo"]
    assert translated("<p>one</p><p>two</p>", splitting={"p"}) == (["one", "two"], "<p>ONE</p><p>TWO</p>")


def test_untranslated_elements_are_kept_and_stand_for_a_word() -> None:
    source = 'Press <x id="1">the <x>inner</x> key</x> now, <x id="2"></x> and go.'
    sentences, text = translated(source, untranslated={"x"})
    assert sentences == [f"Press {OBJECT} now, {OBJECT} and go."]
    assert text == 'PRESS <x id="1">the <x>inner</x> key</x> NOW, <x id="2"></x> AND GO.'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a &amp; b &lt; c", "A &amp; B &lt; C"),
        # What is not escaped stays so, unless the text has entities.
        ("a & b < c", "A & B < C"),
        ("a <b>c & d</b> AT&T;", "A <b>C & D</b> AT&T;"),
        ("a & b &lt; c > d", "A &amp; B &lt; C &gt; D"),
        ("<b>c</a> d & e", "<b>C</a> D & E"),
        ("a > b", "A > B"),
        ("a <b x='&amp;'>c & d</b>", "A <b x='&amp;'>C & D</b>"),
        ("a<!-- b -->", "A<!-- b -->"),
        ('<?xml version="1.0"?><d>a</d>', '<?xml version="1.0"?><d>A</d>'),
        ("<d><![CDATA[ <b> ]]>a</d>", "<d><![CDATA[ <b> ]]>A</d>"),
        ('<d a="x > y">a</d>', '<d a="x > y">A</d>'),
        ("<title>a</title> <script>b</script>", "<title>A</title> <script>B</script>"),
        ("a <!-- never closed", "A <!-- never closed"),
        ("", ""),
        ("  \n ", "  \n "),
        ("<a/><b></b>", "<a/><b></b>"),
    ],
)
def test_markup_comes_back_and_text_is_translated(source: str, expected: str) -> None:
    assert translated(source)[1] == expected


def test_signs_that_only_the_translation_has_are_escaped() -> None:
    (run,) = xml_runs("a & b")
    assert run.escape("c & <d>") == "c & &lt;d&gt;"


def test_untranslated_elements_of_html_end_at_their_own_end_tag() -> None:
    source = "<p>a <code>b <code>c</code> d</code> e</p><pre>f</pre><pre>g"
    assert [run.text for run in html_runs(source)] == [f"a {OBJECT} e", "g"]
