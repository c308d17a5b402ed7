# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Spans of a text that are not language, and prose that only looks like them."""

import pytest

from hier_nmt.text.protected_spans import (
    LINE_BREAK,
    OBJECT,
    mask_spans,
    protected_spans,
    protected_texts,
    remove_objects,
    template_spans,
)


@pytest.mark.parametrize(
    "span",
    [
        *("%d", "%s", "%1$s", "%2$d", "%-5.2f", "%05d", "%+.3g", "%lld", "%zu", "%*d", "%.*f", "%@", "%1$@", "%%"),
        *("%(date)s", "%(count)d", "%{name}", "%<name>s", "%1", "%L1", "%n", "%name%", "%user_name%", "%Y-%m-%d"),
        *("{}", "{0}", "{10}", "{name}", "{user.name}", "{items[0]}", "{0:N2}", "{0,10}", "{x!r}", "{x:>10}", "{$x}"),
        *("{n, number}", "{when, date, short}", "{t, time, HH:mm}", "{{name}}", "{{ user.name | upper }}", "{{{raw}}}"),
        *("${x}", "${user.name}", "$(PRODUCT_NAME)", "#{count}", "@{href}", "$NAME$", "$name", "$file_name"),
        *("{% if x %}", "{%- endfor -%}", "<%= a > b %>", "<% end %>", "<?php echo $x; ?>", "<?= $x ?>"),
        *(
            "{{< note >}}",
            '{{% figure src="a b.png" %}}',
            "{#api}",
            "{.warning}",
            "{/strong}",
            "__count__",
            "__max_n__",
        ),
        *("\\n", "\\t", '\\"', "\\x41", "\\u2026", "caf\\u00e9", "<b>", "</b>", "<br/>", "<a href=\"x y\" title='z'>"),
        *("<source>", "<xs:any>", "<!-- a b -->", "<![CDATA[a < b]]>", "&nbsp;", "&#8230;", "&#x2026;"),
        *("[^1]", "[^note]", "[!WARNING]", "[!tip]", "$x^2$", "$a_1 + b$", "$$E = mc^2$$", "$n$", "\\(a + b\\)"),
        *("https://a.b/c?d={id}", "www.a.org", "a.b@c.org", "C:\\new\\table", "\\\\server\\share", OBJECT),
        *("+33 1 23 45 67 89", "+44 (0)20 7946 0958", "+1-212-555-0100", "+4930123456"),
        *("%#@files@", "%1$#@days@", "%arg", "%date", "%user_name", "%dpx", "::before", "&&", "'{'"),
        *("{0:d MMM yyyy}", "{ name }", "{-brand}", "{user?.name ?? 'x'}", '{ DATE($d, month: "long") }', "${{ a.b }}"),
        *("©", "®", "™", "→", "⇒", "[1,19]", "[20,*]", "[2, Inf]"),
        *("%%FIRST NAME%%", "```a b```", "#ff0000", "#80FF00AA"),
        *("<0>", "</12>", "<3/>", "x<sub>i</sub>", "E<sub>max</sub>", "V<sub>a</sub><sup>b</sup>"),
        *("100%%", "<color=red>", "</color>", "<size=50%>"),
        *(
            "%v",
            "%q",
            "%I64d",
            "%%name%%",
            "$HOME",
            "$USER_NAME",
            "$user->name",
            "$user->home->street",
            "$t(common.ok)",
        ),
        *(":count", ":user_name", ":smile:", ":+1:", "@name", "@user_name", "@:linked.key", "@types/node", "!order"),
        *("#name#", "##NAME##", "^name^", "[[name]]", "[site:name]", "[user_name]", "[%name%]", "[X12X]", "*|FNAME|*"),
        *("{width=50%}", '{width=50% title="a b"}', "{: .note}", "`a b`", "``a b``"),
        *(
            "<code>a b</code>",
            "<kbd class='k'>Ctrl</kbd>",
            "<var>x</var>",
            "H<sub>2</sub>O",
            "x<sup>2</sup>y<sub>1</sub>z",
        ),
        *('<span translate="no">Big Name</span>', "<b class='a notranslate b'>Big Name</b>", "<i translate=no>x</i>"),
    ],
)
def test_code_markup_and_addresses_are_found_whole(span) -> None:
    for text in (f"Take {span} now.", f"({span})", f"{span}, then", f"see {span}"):
        assert protected_texts(text) == [span]
    assert protected_texts(f"one {span} two {span} three") == [span, span]


@pytest.mark.parametrize(
    "text",
    [
        "50 % of them, 50% of us, 5 %d'eau and 7%.",
        "It costs $5 and $6, or US$ 7, or $1,000.",
        "He said {see below} and {a, b}.",
        "It is a < b and c > d, x<5.",
        "AT&T; R&D; A & B;",
        "caf&eacute; na&#239;ve",
        "See [1] and [a](b), a * b_c, _d_.",
        "snake_case and __init",
        "12:30:45, e.g. p.m. 3/4 #5 a@b",
        "The %age of it, 10 %of them and 5%off.",
        "See [name], [re-elected] and [sic], #1234567 and #12345.",
        "Note: this :( and :) and :D at 10:30, a: b, not::that",
        "What! No! a!b @ 5 p.m. C# and F#, #1 #tag",
        "2 * 3 * 4, 2*(3+4)*5, a*b*c, f***ing, Price* and *more, x == y, ~50 ~~ ===",
        "A `quote' and ``another'' here",
        "10^6 and 2^3",
        "Ceci : cela ! Oui ; non ?",
        "{",
        "} {{ }",
    ],
)
def test_prose_is_language(text) -> None:
    assert protected_spans(text) == ()


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("A **big** house", [("**", "open"), ("**", "close")]),
        ("*A* **big** ***house***.", [(sign, kind) for sign in ("*", "**", "***") for kind in ("open", "close")]),
        ('The "**big**", (*red*) house', [("**", "open"), ("**", "close"), ("*", "open"), ("*", "close")]),
        ("==red== and ~~blue~~", [("==", "open"), ("==", "close"), ("~~", "open"), ("~~", "close")]),
        # The other half may be in the sentence before or after.
        ("**Read this.", [("**", "open")]),
        ("Read it now.**", [("**", "close")]),
        ("See [the guide](/docs/a.md) and [b](c)", [("[", "open"), ("](/docs/a.md)", "close")]),
        ("See [it](http://a.b/c_(d)) now", [("[", "open"), ("](http://a.b/c_(d))", "close")]),
        ("A [b]big[/b] [i]house", [("[b]", "open"), ("[/b]", "close")]),
        ("[url=http://a.b]It[/url] is", [("[url=http://a.b]", "open"), ("[/url]", "close")]),
        (
            "A &lt;b class='c'&gt;big&lt;/b&gt;&lt;br/&gt; &lt; 5 &gt; 3",
            [
                ("&lt;b class='c'&gt;", "open"),
                ("&lt;/b&gt;", "close"),
                ("&lt;br/&gt;", "other"),
                ("&lt;", "other"),
                ("&gt;", "other"),
            ],
        ),
        ("*[HTML]: A language", [("*[HTML]:", "other")]),
        ("Read <0>it</0><1/>", [("<0>", "open"), ("</0>", "close"), ("<1/>", "other")]),
        ("euro<sup>1</sup> is", [("<sup>1</sup>", "other")]),
    ],
)
def test_markdown_in_plain_text_is_markup(text, spans) -> None:
    assert [(text[span.start : span.stop], span.kind) for span in protected_spans(text)] == spans


@pytest.mark.parametrize("kind", ["plural", "select", "selectordinal", "choice"])
def test_a_message_with_cases_is_one_span_with_all_its_language(kind) -> None:
    message = f"{{count, {kind}, one {{# file of {{name}}}} other {{# files}}}}"
    text = f"{{who}} has {message} in {{folder}}."
    assert protected_texts(text) == ["{who}", message, "{folder}"]
    assert [span.kind for span in protected_spans(text)] == ["word", "message", "word"]
    # Without its last brace it is not a message.
    assert [span.kind for span in protected_spans(f"{{x, {kind}, one {{a b}}")] == []


def test_neighbours_are_no_formula() -> None:
    text = "Welcome to $(PRODUCT_NAME), %1$@ and %2$s, for $5_000 or $file_name and $a_b$."
    assert protected_texts(text) == ["$(PRODUCT_NAME)", "%1$@", "%2$s", "$file_name", "$a_b$"]


def test_tags_open_close_or_are_whole() -> None:
    kinds = [span.kind for span in protected_spans("<b>a</b> <br> <x id='1'/> <img src=a> &nbsp; %d a@b.cd")]
    assert kinds == ["open", "close", "other", "other", "other", "other", "word", "address"]


def test_templates_are_found_over_several_lines_and_masked_letter_for_letter() -> None:
    source = "a {{ b\n c }} {% if d %}<%= e > f %>{# g #}<?xml version='1.0'?><?php h ?>"
    spans = template_spans(source)
    assert [source[span.start : span.stop] for span in spans] == [
        "{{ b\n c }}", "{% if d %}", "<%= e > f %>", "{# g #}", "<?php h ?>",
    ]  # fmt: skip
    assert [span.kind for span in spans] == ["word", "other", "word", "other", "other"]
    assert mask_spans("a {{ b\n c }} d", spans[:1]) == "a xxxx\nxxxxx d"


def test_a_corpus_has_no_objects() -> None:
    assert remove_objects(f"The report of {OBJECT} is{LINE_BREAK}finished {OBJECT}.") == "The report of is finished."
    assert remove_objects("a  b") == "a  b"
