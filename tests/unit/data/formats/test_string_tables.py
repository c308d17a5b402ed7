# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of messages in JSON and YAML: the messages change, and nothing around them."""

import json

import pytest
import yaml
from message_files import read, sources, translated

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import format_of

JSON = r"""{
  "app" : {"title":"Hello \"you\"", "items": ["One.", 2, "Two.\nThree."]},
    "empty": "", "count": 3e5,
  "n": "{n, plural, one {a} other {b}}"
}
"""
YAML = """# Messages
en:
  title: Hello you   # a comment
  quoted: "Say \\"no\\"."
  single: 'It''s here'
  yes: true
  number: 12
  folded: >
    It goes on
    here.

    Next.
  literal: |-
      One.
        Two.
  anchor: &a Same text
  alias: *a
  list: [First, "second"]
"""


def test_strings_of_json_are_replaced_where_they_are(tmp_path) -> None:
    assert sources(tmp_path, JSON, "a.json") == [
        'Hello "you"', "One.", "Two.\nThree.", "{n, plural, one {a} other {b}}",
    ]  # fmt: skip
    expected = JSON.replace(r"Hello \"you\"", r"Bonjour \"é\"").replace("One.", "Un.")
    assert translated(tmp_path, JSON, "a.json", {'Hello "you"': 'Bonjour "é"', "One.": "Un."}) == expected


def test_a_file_in_ascii_stays_in_ascii(tmp_path) -> None:
    content = '{"a": "caf\\u00e9", "b": "no"}'
    assert translated(tmp_path, content, "a.json", {"no": "né"}) == '{"a": "caf\\u00e9", "b": "n\\u00e9"}'
    assert translated(tmp_path, '{"a": "no"}', "a.json", {"no": "né"}) == '{"a": "né"}'


@pytest.mark.parametrize(
    ("content", "messages", "changed"),
    [
        ('{"@@locale": "en", "a": "A", "@a": {"description": "B", "x": {"y": "C"}}}', ["A"], '"@@locale": "fr"'),
        ('{"a": {"message": "A", "description": "B", "placeholders": {"p": {"content": "$1"}}}}', ["A"], ""),
        ('{"x.y": {"defaultMessage": "A", "description": "B"}}', ["A"], ""),
        ('{"en-GB": {"lang": "A"}}', ["A"], '{"fr": {"lang": "A"}}'),
        ('{"lang": "English", "a": "A"}', ["English", "A"], ""),
    ],
)
def test_descriptions_and_languages_are_not_messages(tmp_path, content, messages, changed) -> None:
    assert sources(tmp_path, content, "a.json") == messages
    assert changed in translated(tmp_path, content, "a.json", {})
    flow = content.replace('"@@locale"', "'@@locale'")
    assert sources(tmp_path, flow, "a.yaml") == messages


def test_strings_of_yaml_keep_their_style(tmp_path) -> None:
    texts = {
        "Hello you": "Bonjour",
        'Say "no".': 'Dites "né".',
        "It's here": "C'est ici",
        "It goes on here.\nNext.\n": "Il y en a.\nPuis.\n",
        "One.\n  Two.": "Un.\n  Deux.",
        "Same text": "Le même",
        "First": "premier",
        "second": "deuxième",
    }
    assert sources(tmp_path, YAML, "a.yml") == list(texts)
    expected = (
        YAML.replace("en:", "fr:")
        .replace("Hello you", "Bonjour")
        .replace('Say \\"no\\"', 'Dites \\"né\\"')
        .replace("It''s here", "C''est ici")
        .replace("It goes on\n    here.", "Il y en a.")
        .replace("Next.", "Puis.")
        .replace("One.", "Un.")
        .replace("Two.", "Deux.")
        .replace("Same text", "Le même")
        .replace("First", "premier")
        .replace("second", "deuxième")
    )
    assert translated(tmp_path, YAML, "a.yml", texts) == expected
    assert translated(tmp_path, YAML.replace("\n", "\r\n"), "a.yml", texts) == expected.replace("\n", "\r\n")


@pytest.mark.parametrize("text", ["a: b", "# x", "'x", "yes", "[a]", "12", "a, b", " x", "x ", "- x", "", "é #y", "@x"])
@pytest.mark.parametrize(
    "template", ["k: %s\n", "k: '%s'\n", 'k: "%s"\n', "k: [%s, b]\n", "k: |\n  %s\nz: w\n", "k: >-\n   %s\nz: w\n"]
)
def test_what_a_style_cannot_express_is_quoted(tmp_path, text, template) -> None:
    found = yaml.safe_load(translated(tmp_path, template % "Source", "a.yaml", {"Source": text, "Source\n": text}))
    value = found["k"][0] if isinstance(found["k"], list) else found["k"]
    assert value == text
    assert found.get("z", "w") == "w"


def test_several_yaml_documents_are_read(tmp_path) -> None:
    content = "--- {a: One}\n---\na: !!str Two\nb: !x Three\n...\n"
    assert translated(tmp_path, content, "a.yaml", {"One": "Un", "Two": "Deux"}) == (
        "--- {a: Un}\n---\na: !!str Deux\nb: !x Three\n...\n"
    )


def test_aliases_do_not_multiply(tmp_path) -> None:
    content = "a0: &a0 [Text]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 30)
    )
    assert sources(tmp_path, content, "a.yaml") == ["Text"]


@pytest.mark.parametrize(
    ("content", "name", "error"),
    [
        ('{"a": "b"', "a.json", "a.json:1: not JSON"),
        ('{"a": "b", "a": "c"}', "a.json", "a.json: unreadable JSON: the key 'a' occurs twice"),
        ('{"a": 1}', "a.json", "a.json: empty corpus"),
        ("[" * 100_000, "a.arb", "a.arb: unreadable JSON"),
        (b'{"a": "\xe9"}', "a.json", "a.json:1: not UTF-8"),
        ("a: b\n c: d: e\n", "a.yaml", "a.yaml:2: not YAML: mapping values are not allowed here"),
        ("a: *b\n", "a.yaml", "a.yaml:1: not YAML: found undefined alias"),
        ("[" * 5_000, "a.yml", "a.yml: not YAML"),
        ("a: \x07\n", "a.yml", "a.yml: not YAML"),
        ("a: 1\n", "a.yml", "a.yml: empty corpus"),
    ],
)
def test_a_broken_table_is_an_error_with_a_place(tmp_path, content, name, error) -> None:
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, content, name)
    assert error in str(caught.value)


def test_documents_in_json_lines_are_no_table(tmp_path) -> None:
    line = json.dumps({"id": 1, "paragraphs": [{"en": ["A."]}]})
    for content, name in [(line, "json-lines"), (f"{line}\n{line}", "json-lines"), (JSON, "json"), ("{", "json")]:
        (tmp_path / "a.json").write_text(content)
        assert format_of(tmp_path / "a.json") == name


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ("en:\n  date:\n    order: [ :year, :month, :day ]\n    a: Day\n", ["Day"]),
        ("en:\n  a: [:Year,:last_name, A b]\n  b: B\n", ["A b", "B"]),
        ("en:\n  a:\n    - :Year\n    - :alias?\n    - A\n", ["A"]),
        ('en:\n  a: {b: :en.c.d, e: :"f g", h: A}\n', ["A"]),
        ("en:\n  date:\n    order: [year, month, day]\n  order: [A, B]\n", ["A", "B"]),
        ("en:\n  i18n:\n    plural:\n      keys:\n        - one\n        - other\n  a: A\n", ["A"]),
        # A string in quotation marks, and text with colons.
        ("en:\n  a: ':a b'\n  b: 'A [b, :c] d'\n  c: A :b c\n", [":a b", "A [b, :c] d", "A :b c"]),
    ],
)
def test_symbols_in_yaml_are_no_messages(tmp_path, content: str, messages: list[str]) -> None:
    assert sources(tmp_path, content, "a.yml") == messages
    expected = content.replace("en:", "fr:")
    assert translated(tmp_path, content, "a.yml", {}) == expected
    texts = {message: message.replace("A", "X").replace("a b", "x y") for message in messages}
    for message, text in texts.items():
        expected = expected.replace(message, text, 1)
    assert translated(tmp_path, content, "a.yml", texts) == expected


def test_the_order_of_a_date_in_json_is_no_message(tmp_path) -> None:
    content = '{"en": {"date": {"order": ["year", "month"], "day_names": ["Sunday"]}}}'
    assert sources(tmp_path, content, "a.json") == ["Sunday"]
