# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pages of HTML and Markdown: their declarations, and which text is translated."""

import pytest
from word_translation import WordTranslator

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.page_declarations import decode_page, with_declarations
from hier_nmt.jobs import document_parts
from hier_nmt.jobs.saved_outputs import saved_outputs_path
from hier_nmt.jobs.skipped_text import count_skipped
from hier_nmt.jobs.translate_pages import Page, markup_format_of, read_page, translate_page

pytest.importorskip("sentencex")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('<html lang="en">', '<html lang="fr">'),
        ("<html xml:lang='en-US' lang = en>", "<html xml:lang='fr' lang = fr>"),
        ('<HTML CLASS="a" LANG="EN">', '<HTML CLASS="a" LANG="fr">'),
        ('<p lang="la"><i lang="en_GB">', '<p lang="la"><i lang="fr">'),
        ('<p lang="">', '<p lang="">'),
        ('<b translate="no" lang="en">', '<b translate="no" lang="en">'),
        ('<b class="x notranslate" lang="en">', '<b class="x notranslate" lang="en">'),
        ('<p title=\' lang="en" \' data-lang="en" lang="en"/>', '<p title=\' lang="en" \' data-lang="en" lang="fr"/>'),
        ('<a hreflang="en" href="/en/">', '<a hreflang="en" href="/en/">'),
        (
            '<!-- <p lang="en"> --><script>"<p lang=en>"</script>',
            '<!-- <p lang="en"> --><script>"<p lang=en>"</script>',
        ),
        ('<meta charset="windows-1252">', '<meta charset="utf-8">'),
        ("<meta charset=UTF-8>", "<meta charset=UTF-8>"),
        (
            '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"/>',
            '<meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>',
        ),
        ('<meta content="en" http-equiv="content-language">', '<meta content="fr" http-equiv="content-language">'),
        ('<meta property="og:locale" content="en_US">', '<meta property="og:locale" content="fr">'),
        ('<meta name="description" content="en">', '<meta name="description" content="en">'),
        ('<?xml version="1.0" encoding="latin1"?>\r\n<html>', '<?xml version="1.0" encoding="UTF-8"?>\r\n<html>'),
        ("a\r\n<p\r\nlang='en'\r\nid=x>", "a\r\n<p\r\nlang='fr'\r\nid=x>"),
    ],
)
def test_html_says_what_its_translation_is(source, expected) -> None:
    assert with_declarations(source, "html", "en", "fr") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("---\ntitle: a\nlang: en\n---\nlang: en\n", "---\ntitle: a\nlang: fr\n---\nlang: en\n"),
        ("---\r\nlanguage: 'en-GB'\r\n---\r\na", "---\r\nlanguage: 'fr'\r\n---\r\na"),
        ("---\nlang: de\nlanguages: en\n---\na", "---\nlang: de\nlanguages: en\n---\na"),
        ("lang: en\n", "lang: en\n"),
    ],
)
def test_markdown_says_what_its_translation_is(source, expected) -> None:
    assert with_declarations(source, "markdown", "en", "fr") == expected


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ('<meta charset="windows-1252">', "cp1252"), ("<meta charset=iso-8859-1>", "cp1252"), ("", "utf-8"),
        ('<meta http-equiv="content-type" content="text/html; charset=koi8-r">', "koi8-r"),
        ('<?xml version="1.0" encoding="iso-8859-2"?>', "iso-8859-2"), ('<meta charset="windows-1252">', "utf-8"),
    ],
)  # fmt: skip
def test_html_is_read_in_the_encoding_that_it_declares(declaration, encoding) -> None:
    letters = {"koi8-r": "\u043f\u043e", "iso-8859-2": "\u0159\u00e9"}.get(encoding, "\u00e9\u00e0\u00e7\u00e9")
    text = f"{declaration}<p>{letters}"
    assert decode_page(text.encode(encoding), "a.html") == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<p>\xe9", "a.html:1: not UTF-8"),
        (
            b"<meta charset=nonsense><p>\xe9",
            "a.html: unknown encoding: neither UTF-8 nor 'nonsense', which it declares",
        ),
        (b"<meta charset=euc-jp><p>\xff\xff", "a.html: unknown encoding: neither UTF-8 nor 'euc-jp'"),
        (b"<p>a\0b", "not text"),
    ],
)
def test_another_encoding_is_named(content, message) -> None:
    with pytest.raises(CorpusError, match=message):
        decode_page(content, "a.html")


def translate(page: Page, model: WordTranslator | None = None, **options):
    model = model or WordTranslator()
    return translate_page(
        model, model.tokenizer, page, source_language="en", target_language="fr", progress=False, **options
    )


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_page_is_written_as_it_says(tmp_path, mark) -> None:
    page = b'<html lang="en"><meta charset="ascii">\r\n<p>a b! C!</p>\r\n<svg><text>d</text></svg>'
    (tmp_path / "a.html").write_bytes(mark + page)
    content, sentences, counts = translate(read_page(tmp_path / "a.html", "html", "en", "fr"))
    assert content == mark + b'<html lang="fr"><meta charset="utf-8">\r\n<p>A B ! C !</p>\r\n<svg><text>d</text></svg>'
    assert [(one.source, one.translation, one.paragraph) for one in sentences] == [
        ("a b!", "A B !", 0),
        ("C!", "C !", 0),
    ]
    assert counts == {"svg": 1}


def test_a_page_in_parts_is_the_whole_page(monkeypatch) -> None:
    page = Page("".join(f"<p>{letter} {other}.</p>\n" for letter in "abcd" for other in "ef"), "html")
    whole, in_parts = WordTranslator(window_sentences=3), WordTranslator(window_sentences=3)
    expected = translate(page, whole, strategy="current")
    monkeypatch.setattr(document_parts, "PART_SENTENCES", 3)
    assert translate(page, in_parts, strategy="current") == expected
    assert sorted(in_parts.windows) == sorted(whole.windows)


def test_an_interrupted_page_continues_where_it_stopped(tmp_path) -> None:
    page = Page("<p>a.</p><p>b.</p><p>c.</p><p>d.</p>", "html")
    model = WordTranslator()
    own = model.generate

    def generate(**inputs):
        if len(model.batches) == 2:
            raise KeyboardInterrupt
        return own(**inputs)

    model.generate = generate
    partial = tmp_path / "partial.jsonl"
    with pytest.raises(KeyboardInterrupt):
        translate(page, model, output_file=partial, batch_size=1)
    assert saved_outputs_path(partial).exists()
    rest = WordTranslator()
    assert translate(page, rest, output_file=partial, batch_size=1)[0] == b"<p>A .</p><p>B .</p><p>C .</p><p>D .</p>"
    assert len(rest.batches) == 2
    assert not saved_outputs_path(partial).exists()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<noscript><p>a b</p></noscript>", "<noscript><p>A B</p></noscript>"),
        ("<template><p>a b</p></template>", "<template><p>A B</p></template>"),
    ],
)
def test_text_that_is_shown_at_times_is_translated(source, expected) -> None:
    assert translate(Page(source, "html"))[0].decode() == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<div>\n<p>a b</p>\n</div>\n", "<div>\n<p>A B</p>\n</div>\n"),
        (
            "x\n\n<details><summary>a</summary>\n\nb\n\n</details>\n",
            "X\n\n<details><summary>A</summary>\n\nB\n\n</details>\n",
        ),
        ("<script>\na\n</script>\n\n<!-- b -->\n\nc", "<script>\na\n</script>\n\n<!-- b -->\n\nC"),
        (
            "---\nx: y\n---\n\n<p class='a'>b <b>c</b></p>\r\n\r\nd",
            "---\nx: y\n---\n\n<p class='a'>B <b>C</b></p>\r\n\r\nD",
        ),
        ("<p>a</p>\n\n<p>b</p>", "<p>A</p>\n\n<p>B</p>"),
        ("> <p>a\n> b</p>\n\nc", "> <p>A B</p>\n\nC"),
        ("- <div>\n  <p>a</p>\n  </div>\n- b", "- <div>\n  <p>A</p>\n  </div>\n- B"),
    ],
)
def test_blocks_of_html_in_markdown_are_translated(source, expected) -> None:
    pytest.importorskip("markdown_it")
    assert translate(Page(source, "markdown"))[0].decode() == expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a</p>", {}),
        ("<svg><title>a</title><g><text>b</text></g></svg><svg><path d='M0'/></svg>", {"svg": 1}),
        ("<svg><style>a</style><text>12</text></svg>", {}),
        ("<textarea>a</textarea><textarea></textarea><TEXTAREA>b</TEXTAREA>", {"textarea": 2}),
        ("<iframe src=x>a</iframe><object data=y><p>b<br>c</p></object>", {"iframe": 1, "object": 1}),
        ("# a\n\nb <svg><text>c</text></svg>\n", {"svg": 1}),
        ("<script>a</script><style>b</style><code>c</code>", {}),
    ],
)
def test_skipped_text_is_counted(page, expected) -> None:
    assert count_skipped(page) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.html", "html"), ("a.HTM", "html"), ("a.xhtml.gz", "html"), ("a.md", "markdown"), ("a.txt", None), ("a", None)],
)
def test_pages_are_known_by_their_name(name, expected) -> None:
    assert markup_format_of(name) == expected
