# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Messages of programs for Java, macOS and Android: the messages change, and nothing around them."""

import json
import plistlib
from typing import Any

import pytest
from lxml import etree
from message_files import read, sources, translated

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.java_properties import read_value, written_value
from hier_nmt.data.formats.registry import read_document_file

pytest.importorskip("sentencex")


PROPERTIES = "# One\n a.b = One \\\n    two\n\nc:It's 'here'\nd\\ e\tTab\\tand \\u00e9\nnone=\nalone\n"


def test_values_of_properties_are_replaced_where_they_are(tmp_path) -> None:
    assert sources(tmp_path, PROPERTIES, "a.properties") == ["One two", "It's 'here'", "Tab\tand é"]
    texts = {"One two": "Un", "It's 'here'": " C'est l\u00e0", "Tab\tand é": "\t\\"}
    expected = PROPERTIES.replace("One \\\n    two", "Un").replace("It's 'here'", "\\ C'est l\\u00e0")
    expected = expected.replace("Tab\\tand \\u00e9", "\\t\\\\")
    assert translated(tmp_path, PROPERTIES, "a.properties", texts) == expected
    windows = PROPERTIES.replace("\n", "\r\n")
    assert translated(tmp_path, windows, "a.properties", texts) == expected.replace("\n", "\r\n")


def test_only_a_file_in_ascii_gets_escapes(tmp_path) -> None:
    assert translated(tmp_path, "a=no", "a.properties", {"no": "né \U0001f600"}) == "a=n\\u00e9 \\ud83d\\ude00"
    assert translated(tmp_path, "# é\na=no", "a.properties", {"no": "né"}) == "# é\na=né"


def test_apostrophes_of_message_patterns_are_doubled(tmp_path) -> None:
    content = "a=It''s {0}\nb=It's here\n"
    assert sources(tmp_path, content, "a.properties") == ["It's {0}", "It's here"]
    texts = {"It's {0}": "L'un {0}", "It's here": "L'autre"}
    assert translated(tmp_path, content, "a.properties", texts) == "a=L''un {0}\nb=L'autre\n"
    # One that is not doubled tells that these are no patterns, or have quotations.
    content = "a=It's {0}\nb=Not {0}\n"
    assert translated(tmp_path, content, "a.properties", {"Not {0}": "L'un {0}"}) == "a=It's {0}\nb=L'un {0}\n"


def test_a_broken_escape_is_an_error_with_its_line(tmp_path) -> None:
    with pytest.raises(CorpusError, match=r"a\.properties:2: bad escape: .*u12g4"):
        read(tmp_path, "a=b\nc=\\u12g4\n", "a.properties")


@pytest.mark.parametrize("value", [" a", "a ", "é\n\t\\ü", "\U0001f600", "#!=:", ""])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_java_reads_what_is_written(value: str, is_ascii: bool) -> None:
    written = written_value(value, is_ascii)
    assert read_value(written) == value
    properties = pytest.importorskip("javaproperties")
    assert properties.loads(f"k={written}\n") == {"k": value}


STRINGS = (
    '/* "a" = "b"; */\n"a" = "Say \\"hi\\", %@";\nb.c = "Two";\n"d" = e; // f\n"alone";\n"g"="One\\nTwo \\U00e9";\n'
)


def test_values_of_apple_strings_are_replaced_where_they_are(tmp_path) -> None:
    assert sources(tmp_path, STRINGS, "a.strings") == ['Say "hi", %@', "Two", "e", "One\nTwo é"]
    texts = {'Say "hi", %@': 'Dites "é" \\ %@', "e": "f", "One\nTwo é": "Un\nDeux"}
    expected = STRINGS.replace('Say \\"hi\\", %@', 'Dites \\"é\\" \\\\ %@').replace("= e;", '= "f";')
    assert translated(tmp_path, STRINGS, "a.strings", texts) == expected.replace("One\\nTwo \\U00e9", "Un\\nDeux")


@pytest.mark.parametrize("content", ['"a" = "b"', '"a" "b";', '"a" = "b;', "/* a", '"a" = { b = c; };'])
def test_what_is_no_strings_file_is_an_error_with_its_line(tmp_path, content: str) -> None:
    with pytest.raises(CorpusError, match=r"a\.strings:2: not a strings file"):
        read(tmp_path, f'"z" = "z";\n{content}\n', "a.strings")


def test_compiled_apple_strings_are_refused(tmp_path) -> None:
    content = plistlib.dumps({"a": "b"}, fmt=plistlib.FMT_BINARY)
    with pytest.raises(CorpusError, match="compiled strings file: translate the one that it was made of"):
        read(tmp_path, content, "a.strings")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_apple_strings_in_utf_16_stay_in_it(tmp_path, encoding: str) -> None:
    content = f"\ufeff{STRINGS}".encode(encoding)
    file = read(tmp_path, content, "a.strings")
    assert file.translated([[unit.source for unit in file.documents[0].units]]) == content
    found = file.translated([["Étage", "Deux", "f", "Un"]]).decode("utf-16")
    assert '"a" = "Étage";\nb.c = "Deux";' in found
    with pytest.raises(CorpusError, match="not UTF-16 as its first bytes say"):
        read(tmp_path, content[:-1], "a.strings")


def catalogue(**strings: Any) -> str:
    root = {"sourceLanguage": "en", "strings": strings, "version": "1.0"}
    return json.dumps(root, ensure_ascii=False, indent=2, separators=(",", " : "))


def string_unit(value: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": value}}


FILES = {
    "substitutions": {
        "files": {
            "argNum": 1,
            "formatSpecifier": "lld",
            "variations": {"plural": {"one": string_unit("%arg file"), "other": string_unit("%arg files")}},
        }
    },
    **string_unit("%#@files@ in %@"),
}


def test_translations_stand_beside_the_sources_of_a_string_catalogue(tmp_path) -> None:
    content = catalogue(
        Hello={},
        title={"comment": "A title", "localizations": {"de": string_unit("Alles"), "en": string_unit("Everything")}},
        files={"localizations": {"en": FILES}},
        Acme={"shouldTranslate": False},
    )
    assert sources(tmp_path, content, "a.xcstrings") == [
        "Hello",
        "Everything",
        "%arg file",
        "%arg files",
        "%#@files@ in %@",
    ]
    texts = {"Hello": "Bonjour", "Everything": "Tout", "%arg file": "%arg fichier", "%arg files": "%arg fichiers"}
    found = json.loads(translated(tmp_path, content, "a.xcstrings", {**texts, "%#@files@ in %@": "%#@files@ dans %@"}))
    strings = found["strings"]
    assert strings["Hello"] == {"localizations": {"fr": string_unit("Bonjour", "needs_review")}}
    assert list(strings["title"]["localizations"]) == ["de", "en", "fr"]
    french = strings["files"]["localizations"]["fr"]
    plurals = french["substitutions"]["files"]["variations"]["plural"]
    assert plurals == {form: string_unit(texts[f"%arg {name}"], "needs_review") for form, name in
                       (("one", "file"), ("other", "files"))}  # fmt: skip
    assert french["substitutions"]["files"]["argNum"] == 1
    assert french["stringUnit"]["value"] == "%#@files@ dans %@"
    assert strings["Acme"] == {"shouldTranslate": False}


@pytest.mark.parametrize(
    ("value", "state", "is_translated"),
    [
        ("Salut", "translated", True),
        ("Salut", "needs_review", True),
        ("Salut", "new", True),
        ("Hello", "translated", True),
        ("Hello", "new", False),
        ("", "translated", False),
        (" ", "needs_review", False),
    ],
)
def test_a_translation_of_a_string_catalogue_is_kept(tmp_path, value, state, is_translated) -> None:
    content = catalogue(Hello={"localizations": {"fr": string_unit(value, state)}})
    file = read(tmp_path, content, "a.xcstrings")
    assert [unit.is_translated for unit in file.documents[0].units] == [is_translated]
    text = value if is_translated else "Bonjour"
    found = json.loads(file.translated([[text]]))["strings"]["Hello"]["localizations"]["fr"]
    assert found == string_unit(text, state if is_translated else "needs_review")
    # `--retranslate` replaces it.
    found = json.loads(file.translated([["Bonjour"]]))["strings"]["Hello"]["localizations"]["fr"]
    assert found == string_unit("Bonjour", "needs_review")


def test_each_form_of_a_string_catalogue_is_kept_or_translated_by_itself(tmp_path) -> None:
    def plural(**forms: Any) -> dict[str, Any]:
        return {"variations": {"plural": forms}}

    english = plural(one=string_unit("a file"), other=string_unit("files"))
    many = string_unit("des millions de fichiers")
    french = plural(one=string_unit("un fichier"), other=string_unit("files", "new"), many=many)
    content = catalogue(a={"localizations": {"en": english, "fr": french, "fr-CA": string_unit("Canada")}})
    file = read(tmp_path, content, "a.xcstrings")
    assert [(unit.target, unit.is_translated) for unit in file.documents[0].units] == [
        ("un fichier", True),
        ("files", False),
    ]
    found = json.loads(file.translated([["un fichier", "fichiers"]]))["strings"]["a"]["localizations"]
    assert found["fr"] == plural(
        one=string_unit("un fichier"), other=string_unit("fichiers", "needs_review"), many=many
    )
    assert found["fr-CA"] == string_unit("Canada")


def test_another_variant_of_the_target_language_is_another_language(tmp_path) -> None:
    content = catalogue(Hello={"localizations": {"fr-CA": string_unit("Bonjour")}})
    found = json.loads(translated(tmp_path, content, "a.xcstrings", {"Hello": "Salut"}))["strings"]["Hello"]
    assert found["localizations"] == {"fr": string_unit("Salut", "needs_review"), "fr-CA": string_unit("Bonjour")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", 'not a string catalogue: it has no object "strings"'),
        ('{"sourceLanguage": "de", "strings": {}}', "its source language is de, not en"),
        (catalogue(a=[]), "not a message: 'a'"),
        (
            catalogue(a={"localizations": {"fr": {"stringUnit": {"state": "new"}}}}),
            "'a' in fr, stringUnit has no value",
        ),
        (catalogue(a={"localizations": {"fr": {"stringUnit": "b"}}}), "'a' in fr, stringUnit has no value"),
    ],
)
def test_what_is_no_string_catalogue_is_an_error(tmp_path, content: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, content, "a.xcstrings")


def android(*rows: str) -> str:
    names = 'xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"'
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<resources {names}>\n'
        + "".join(f"    {row}\n" for row in rows)
        + "</resources>\n"
    )


def test_messages_of_android_are_those_that_are_translatable(tmp_path) -> None:
    content = android(
        '<string name="a">It\\\'s %1$s</string>',
        '<string name="b" translatable="false">B</string>',
        '<string-array name="c"><item>One</item><item>@string/a</item></string-array>',
        '<plurals name="d"><item quantity="one">%d day</item><item quantity="other">%d days</item></plurals>',
        '<string name="e">"A \'b\'"</string>',
        '<item name="f" type="id">F</item>',
        '<item name="g" type="string">Two</item>',
    )
    assert sources(tmp_path, content, "strings.xml") == ["It's %1$s", "One", "%d day", "%d days", "A 'b'", "Two"]
    texts = {"It's %1$s": 'C\'est "%1$s"', "One": "@un", "A 'b'": 'L\'"un"'}
    expected = content.replace("It\\'s %1$s", 'C\\\'est \\"%1$s\\"').replace("One", "\\@un")
    assert translated(tmp_path, content, "strings.xml", texts) == expected.replace("\"A 'b'\"", '"L\'\\"un\\""')


def test_tags_and_what_is_marked_in_android_messages_move_with_their_words(tmp_path) -> None:
    content = android('<string name="a">A <b>red</b> door, <xliff:g id="n" example="Ann">%s</xliff:g></string>')
    (source,) = sources(tmp_path, content, "strings.xml")
    assert source == "A red door, \ufffc"
    found = translated(tmp_path, content, "strings.xml", {source: "X red door, \ufffc"})
    assert found == content.replace(">A <b>", ">X <b>")
    (string,) = etree.fromstring(translated(tmp_path, content, "strings.xml", {source: "Nothing"}).encode())
    assert [etree.QName(one).localname for one in string] == ["b", "g"]


@pytest.mark.parametrize(
    ("message", "source", "text", "expected"),
    [
        ('"a  b"', "a b", "c d", '"c  d"'),
        ('"  a b "', "a b", "c d", '"  c d "'),
        ('a"   "b', "a b", "c d", 'c"   "d'),
        ('Name:"  "%s', "Name: %s", "Nom : %s", 'Nom :"  "%s'),
        ('"a\n  b"', "a\u2028b", "c\u2028d", '"c\n  d"'),
        ('\n   "  a"\n  ', "a", "b", ' "  b" '),
        ('a \\<b>"c  d</b>', "a \\c d", "e \\f g", 'e \\<b>"f  g</b>'),
        # Outside of quotation marks white space is layout.
        ("a   b", "a b", "c d", "c d"),
        ("\n    a\n", "a", "c", "c"),
        # Escaped marks are text, and so are those of tags that are text.
        ('a \\"b  c\\"', 'a "b c"', "d 'e'", "d \\'e\\'"),
        (
            '<![CDATA[<a href="x">b</a> c]]>',
            '<a href="x">b</a> c',
            '<a href="x">d</a>',
            '<![CDATA[<a href="x">d</a>]]>',
        ),
    ],
)
def test_white_space_between_quotation_marks_of_android_messages_stays(
    tmp_path, message, source, text, expected
) -> None:
    content = android(f'<string name="a">{message}</string>')
    assert [one.strip() for one in sources(tmp_path, content, "strings.xml")] == [source]
    assert translated(tmp_path, content, "strings.xml", {}) == content
    found = translated(tmp_path, content, "strings.xml", {source: text})
    assert found == content.replace(message, expected)


def test_other_xml_is_no_android_resources(tmp_path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    with pytest.raises(CorpusError, match="not Android resources"):
        read_document_file(tmp_path / "a.xml", "en", "fr", "android")
