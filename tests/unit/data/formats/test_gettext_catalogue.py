# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Catalogues of gettext: what a person did is kept, and the rest is written so that gettext's tools know what it is."""

import os
import re
import shutil
import subprocess

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import format_of, read_document_file

HEADER = r"""msgid ""
msgstr ""
"Project-Id-Version: a 1\n"
"Language: \n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"

"""
CONTENT = (
    HEADER
    + r"""# By a translator.
#. For translators.
#: a.c:1 b.c:2
#, c-format
msgctxt "menu"
msgid "Open %s"
msgstr ""

#, fuzzy
#| msgid "A dor"
msgid "A door."
msgstr "Une prote."

#, c-format
msgid "%d cat"
msgid_plural "%d cats"
msgstr[0] ""
msgstr[1] ""

msgid "Yes"
msgstr "Oui"

#~ msgid "Old"
#~ msgstr "Vieux"
"""
)
FRENCH = {"Open %s": "Ouvrir %s", "A door.": "Une porte.", "%d cat": "%d chat", "%d cats": "%d chats", "Yes": "Non"}


def read(folder, content: str | bytes, target: str = "fr", name: str = "a.po"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document_file(folder / name, "en", target, format_of(folder / name))


def translated(folder, content: str | bytes, texts: dict[str, str], target: str = "fr") -> str:
    file = read(folder, content, target)
    rows = [
        [unit.target if unit.is_translated else texts[unit.source] for unit in item.units] for item in file.documents
    ]
    return file.translated(rows).decode()


def test_messages_are_units_of_one_document(tmp_path) -> None:
    (document,) = read(tmp_path, CONTENT).documents
    assert [[unit.source for unit in group] for group in document.paragraphs] == [
        ["Open %s"], ["A door."], ["%d cat", "%d cats"], ["Yes"],
    ]  # fmt: skip
    assert [unit.is_translated for unit in document.units] == [False, False, False, False, True]
    assert [unit.line for unit in document.units] == [13, 18, 22, 22, 27]


def test_translations_are_fuzzy_and_everything_else_stays(tmp_path) -> None:
    expected = CONTENT.replace("#, c-format", "#, fuzzy, c-format").replace("Une prote.", "Une porte.")
    expected = expected.replace('Open %s"\nmsgstr ""', 'Open %s"\nmsgstr "Ouvrir %s"')
    expected = expected.replace('[0] ""', '[0] "%d chat"').replace('[1] ""', '[1] "%d chats"')
    expected = expected.replace("Language: ", "Language: fr")
    expected = expected.replace("nplurals=INTEGER; plural=EXPRESSION;", "nplurals=2; plural=(n > 1);")
    assert translated(tmp_path, CONTENT, FRENCH) == expected
    assert translated(tmp_path, CONTENT.replace("\n", "\r\n"), FRENCH) == expected.replace("\n", "\r\n")


def test_a_finished_translation_changes_only_where_it_is_given_another_and_then_needs_a_check(tmp_path) -> None:
    path = tmp_path / "a.po"
    path.write_text('msgid "One"\nmsgstr "Un"\n\n#, c-format\nmsgid "Two %d"\nmsgstr "Deux %d"\n')
    file = read_document_file(path, "en", "fr")
    assert file.translated([["Un", "Deux %d"]]) == path.read_bytes()
    expected = 'msgid "One"\nmsgstr "Un"\n\n#, fuzzy, c-format\nmsgid "Two %d"\nmsgstr "2 %d"\n'
    assert file.translated([["Un", "2 %d"]]).decode() == expected


def test_a_message_without_flags_gets_the_mark_before_its_previous_source(tmp_path) -> None:
    content = '#: a.c:1\n#| msgid "Yeah"\nmsgid "Yes"\nmsgstr ""\n'
    assert translated(tmp_path, content, {"Yes": "Oui"}) == (
        '#: a.c:1\n#, fuzzy\n#| msgid "Yeah"\nmsgid "Yes"\nmsgstr "Oui"\n'
    )


def test_the_flags_of_an_obsolete_message_are_not_those_of_the_next(tmp_path) -> None:
    obsolete = '#, fuzzy\n#| msgid "Old"\n#~ msgid "Older"\n#~ msgstr "Vieux"\n'
    content = f'{obsolete}msgid "Yes"\nmsgstr "Oui"\n\n{obsolete}\n#. A door\nmsgid "No"\nmsgstr ""\n'
    assert [unit.is_translated for unit in read(tmp_path, content).documents[0].units] == [True, False]
    expected = content.replace('msgid "No"\nmsgstr ""', '#, fuzzy\nmsgid "No"\nmsgstr "Non"')
    assert translated(tmp_path, content, {"No": "Non"}) == expected


@pytest.mark.parametrize(
    ("language", "forms"),
    [("ja", ["PLURAL"]), ("de", ["ONE", "PLURAL"]), ("ru", ["ONE", "PLURAL", "PLURAL"]), ("xx", ["ONE", "PLURAL"])],
)
def test_a_language_has_its_number_of_plural_forms(tmp_path, language, forms) -> None:
    found = translated(tmp_path, CONTENT, FRENCH | {"%d cat": "ONE", "%d cats": "PLURAL"}, language)
    assert [line for line in found.split("\n") if line.startswith("msgstr[")] == [
        f'msgstr[{index}] "{form}"' for index, form in enumerate(forms)
    ]


def test_the_header_says_how_many_plural_forms_there_are(tmp_path) -> None:
    content = CONTENT.replace("nplurals=INTEGER; plural=EXPRESSION;", "nplurals=1; plural=0;")
    found = translated(tmp_path, content, FRENCH)
    assert 'msgstr[0] "%d chats"' in found
    assert "msgstr[1]" not in found


def test_long_and_many_lines_are_written_as_gettext_writes_them(tmp_path) -> None:
    content = 'msgid ""\n"One.\\n"\n"\\"Two\\" \\\\ three.\\n"\nmsgstr ""\n'
    text = 'One.\n"Two" \\ three.\n'
    assert [unit.source for unit in read(tmp_path, content).documents[0].units] == [text]
    assert translated(tmp_path, content, {text: 'Un.\n"Deux" \\ trois.\n'}) == (
        '#, fuzzy\nmsgid ""\n"One.\\n"\n"\\"Two\\" \\\\ three.\\n"\nmsgstr ""\n"Un.\\n"\n"\\"Deux\\" \\\\ trois.\\n"\n'
    )
    wrapped = 'msgid ""\n"It goes on "\n"here."\nmsgstr ""\n'
    written = translated(tmp_path, wrapped, {"It goes on here.": "mot " * 30 + "fin."}).split("\n")
    assert max(map(len, written)) <= 79
    assert written[4:] == ['msgstr ""', f'"{"mot " * 19}"', f'"{"mot " * 11}fin."', ""]


def test_escapes_are_characters_and_escapes_again(tmp_path) -> None:
    content = r"""msgid "a\t\"b\" \\ \303 \x01"
msgstr ""
"""
    text = 'a\t"b" \\ \xc3 \x01'
    assert translated(tmp_path, content, {text: text}).endswith('msgstr "a\\t\\"b\\" \\\\ \xc3 \\001"\n')


def test_another_encoding_becomes_utf_8_and_the_header_says_so(tmp_path) -> None:
    content = CONTENT.replace("UTF-8", "ISO-8859-1").replace("By a", "\xc9 a").encode("latin-1")
    found = translated(tmp_path, content, FRENCH | {"A door.": "Œil"})
    assert "charset=UTF-8" in found
    assert "# \xc9 a translator." in found
    assert 'msgstr "Œil"' in found


def test_a_template_is_translated_into_a_catalogue(tmp_path) -> None:
    assert len(read(tmp_path, CONTENT.replace("UTF-8", "CHARSET"), name="a.pot").documents[0].units) == 5


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ('msgid "a\nmsgstr ""\n', "a.po:1: not a line of a catalogue: msgid \"a"),
        ("Hello.\n", "a.po:1: not a line of a catalogue: Hello."),
        ('msgid "a"\n', "a.po:1: incomplete message: it has msgid"),
        ('\nmsgid "a"\nmsgid "b"\nmsgstr ""\n', "a.po:3: message out of order"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[1] ""\n', "a.po:1: incomplete message"),
        ('msgid "a"\nmsgstr ""\nmsgstr[0] ""\n', "a.po:1: incomplete message"),
        ('msgid ""\nmsgstr "Language: en"\n', "a.po: empty corpus"),
        (b'msgid "\xe9"\nmsgstr ""\n', "a.po:1: not UTF-8"),
        (b'# charset=ascii\nmsgid "\xe9"\nmsgstr ""\n', "a.po: not the declared encoding"),
    ],
)  # fmt: skip
def test_a_broken_catalogue_is_an_error_with_a_place(tmp_path, content, error) -> None:
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, content)
    assert error in str(caught.value)


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs gettext")
@pytest.mark.parametrize("name", ["a.po", "a.pot"])
@pytest.mark.parametrize("target", ["fr", "pl", "ja"])
def test_msgfmt_accepts_what_is_written(tmp_path, name: str, target: str) -> None:
    (tmp_path / name).write_text(CONTENT if name == "a.po" else TEMPLATE)
    file = read_document_file(tmp_path / name, "en", target)
    texts = [[unit.target or f"\u00e9 x {unit.source}" for unit in one.units] for one in file.documents]
    (tmp_path / "b.po").write_bytes(file.translated(texts))
    # Format strings, plural forms, the header and the domain; the same with the messages that are to be checked.
    for more in ([], ["--use-fuzzy"]):
        command = ["msgfmt", "--check", *more, "--output-file", os.devnull, "b.po"]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        assert found.returncode == 0, found.stderr
        # Who translates a program, and when, is left to people.
        warned = set(re.findall("header field '([^']+)'", found.stderr))
        assert warned <= set(FIELDS_OF_PEOPLE)
        assert all("header field" in line for line in found.stderr.splitlines())


FIELDS_OF_PEOPLE = (
    "Project-Id-Version", "PO-Revision-Date", "Last-Translator", "Language-Team", "MIME-Version",
    "Content-Transfer-Encoding",
)  # fmt: skip
# As xgettext writes it.
TEMPLATE = r"""# SOME DESCRIPTIVE TITLE.
# FIRST AUTHOR <EMAIL@ADDRESS>, YEAR.
#
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: PACKAGE VERSION\n"
"Report-Msgid-Bugs-To: \n"
"POT-Creation-Date: 2024-01-01 10:00+0000\n"
"PO-Revision-Date: YEAR-MO-DA HO:MI+ZONE\n"
"Last-Translator: FULL NAME <EMAIL@ADDRESS>\n"
"Language-Team: LANGUAGE <LL@li.org>\n"
"Language: \n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=CHARSET\n"
"Content-Transfer-Encoding: 8bit\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"

#: a.c:1
#, c-format
msgid "Open %s\n"
msgstr ""

#: a.c:2
#, c-format
msgid "%d cat"
msgid_plural "%d cats"
msgstr[0] ""
msgstr[1] ""
"""
