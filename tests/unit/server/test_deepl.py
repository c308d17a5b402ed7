# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("uvicorn")

from starlette.testclient import TestClient
from word_server import application, word_service
from word_translation import WordTranslator

from hier_nmt.server.glossaries import GlossaryStore, parse_entries
from hier_nmt.translation.translation_documents import TranslatedDocument
from hier_nmt.translation.translation_report import DecodingStatistics


@pytest.fixture
def client():
    with TestClient(application()) as client:
        yield client


def json_of(response, status: int = 200):
    assert response.status_code == status, response.text
    return response.json()


def texts_of(response) -> list[str]:
    return [one["text"] for one in json_of(response)["translations"]]


@pytest.mark.parametrize("as_", ["json", "data"])
def test_texts_are_translated(client, as_: str) -> None:
    fields = {"text": ["a b!", "c."], "source_lang": "EN", "target_lang": "FR", "show_billed_characters": "1"}
    assert json_of(client.post("/v2/translate", **{as_: fields}))["translations"] == [
        {"detected_source_language": "EN", "text": "A B !", "billed_characters": 4},
        {"detected_source_language": "EN", "text": "C .", "billed_characters": 2},
    ]


def test_regions_of_languages_are_ignored(client) -> None:
    assert texts_of(client.post("/v2/translate", json={"text": ["a!"], "source_lang": "en", "target_lang": "fr-CA"}))


def test_context_is_read_and_not_translated() -> None:
    model = WordTranslator(source_language="en", target_language="fr", window_sentences=2)
    with TestClient(application(word_service(model))) as client:
        answer = client.post("/v2/translate", json={"text": ["c!"], "target_lang": "FR", "context": "a! B!"})
        assert texts_of(answer) == ["C !"]
    assert model.windows == ["B ! <par> c ! </s>"]


@pytest.mark.parametrize("split", ["1", "nonewlines", "0", None])
def test_line_breaks_between_sentences_stay(client, split) -> None:
    fields = {"text": ["A!\nB c!\nD!"], "target_lang": "FR", **({} if split is None else {"split_sentences": split})}
    assert texts_of(client.post("/v2/translate", json=fields)) == ["A !\nB C !\nD !"]


def test_line_breaks_in_sentences_are_spaces_where_they_do_not_split(client) -> None:
    fields = {"text": ["a\nb! C"], "target_lang": "FR", "split_sentences": "nonewlines"}
    assert texts_of(client.post("/v2/translate", json=fields)) == ["A B ! C"]


def test_tags_are_handled(client) -> None:
    fields = {"text": ["<p>a <x>b</x> c!</p><p>d!</p>"], "target_lang": "FR", "tag_handling": "xml"}
    found = client.post("/v2/translate", json={**fields, "ignore_tags": ["x"], "splitting_tags": "p,q"})
    assert texts_of(found) == ["<p>A <x>b</x> C !</p><p>D !</p>"]
    html = {"text": "<p>a <b>b</b>!</p>", "target_lang": "FR", "tag_handling": "html", "preserve_formatting": True}
    assert texts_of(client.post("/v2/translate", json=html)) == ["<p>A <b>B</b> !</p>"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a & <b>b</b>", None),
        ("a <b>b", None),
        ("a <b>b</i>", None),
        ("a &nbsp; b", None),
        ("a &amp; <b>b</b>", "A &amp; <b>B</b>"),
        ('<?xml version="1.0" encoding="UTF-16"?><d>a b</d>', '<?xml version="1.0" encoding="UTF-16"?><d>A B</d>'),
        ('<!DOCTYPE d [<!ENTITY e "x">]><d>a &e;</d>', None),
    ],
)
def test_the_second_version_of_tag_handling_wants_well_formed_xml(client, text: str, expected: str | None) -> None:
    fields = {"text": [text], "target_lang": "FR", "tag_handling": "xml"}
    assert client.post("/v2/translate", json=fields).status_code == 200
    answer = client.post("/v2/translate", json={**fields, "tag_handling_version": "v2"})
    if expected is None:
        message = json_of(answer, 400)["message"]
        assert message.startswith("Tag handling parsing failed, please check input.")
    else:
        assert texts_of(answer) == [expected]


def test_what_is_not_escaped_in_xml_is_not_escaped_in_the_translation(client) -> None:
    fields = {"text": ["a & <i>b</i>", "a &amp; <i>b</i>"], "target_lang": "FR", "tag_handling": "xml"}
    found = texts_of(client.post("/v2/translate", json=fields))
    assert [one.replace(" ", "") for one in found] == ["A&<i>B</i>", "A&amp;<i>B</i>"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target_lang": "DE"}, "target language DE is not supported; it is fr alone"),
        ({"source_lang": "DE"}, "source language DE is not supported; it is en alone"),
        ({"formality": "more"}, "formality more is not supported by this server's model"),
        ({"tag_handling": "rtf"}, "tag_handling must be one of html, xml; got 'rtf'"),
        ({"ignore_tags": ["x"]}, "splitting_tags and ignore_tags need tag_handling=xml"),
        ({"style_id": "x"}, "style_id is not supported by this server"),
        ({"glossary_id": "x"}, "source_lang is required with glossary_id"),
        ({"text": []}, None),
    ],
)
def test_what_cannot_be_done_is_said(client, fields: dict, message: str | None) -> None:
    answer = client.post("/v2/translate", json={"text": ["a"], "target_lang": "FR", **fields})
    if message is None:
        assert json_of(answer) == {"translations": []}
    else:
        assert json_of(answer, 400)["message"] == message


def test_characters_are_counted_for_each_client() -> None:
    with TestClient(application(word_service(keys=("one", "two")))) as client:
        one, two = ({"Authorization": f"DeepL-Auth-Key {key}"} for key in ("one", "two"))
        client.post("/v2/translate", json={"text": ["abc"], "target_lang": "FR", "context": "d"}, headers=one)
        assert json_of(client.get("/v2/usage", headers=one))["character_count"] == 3
        assert json_of(client.get("/v2/usage", headers=two))["character_count"] == 0
        assert json_of(client.get("/v2/usage"), 403)


def test_languages_are_listed_for_texts_and_for_translations(client) -> None:
    assert [one["language"] for one in json_of(client.get("/v2/languages"))] == ["EN"]
    assert [one["language"] for one in json_of(client.get("/v2/languages?type=target"))] == ["FR"]
    assert [one["language"] for one in json_of(client.request("GET", "/v2/languages", data={"type": "target"}))] == [
        "FR"
    ]


def uploaded(client: TestClient, name: str, content: bytes, **fields: str) -> dict:
    answer = client.post("/v2/document", data={"target_lang": "FR", **fields}, files={"file": (name, content)})
    return json_of(answer)


def test_a_document_is_uploaded_asked_for_and_downloaded(client) -> None:
    document = uploaded(client, "a.txt", b"a b!\nc.\n")
    path, key = f"/v2/document/{document['document_id']}", {"document_key": document["document_key"]}
    for _ in range(200):
        status = json_of(client.post(path, json=key))
        if status["status"] == "done":
            break
        time.sleep(0.05)
    assert status == {"document_id": document["document_id"], "status": "done", "billed_characters": 6}
    assert client.post(f"{path}/result", json=key).content == b"A B !\nC .\n"
    assert json_of(client.post(path, json={"document_key": "other"}), 404)


def test_a_document_keeps_its_format(client) -> None:
    files = {"file": ("a.txt", b"a")}
    answer = client.post("/v2/document", data={"target_lang": "FR", "output_format": "docx"}, files=files)
    assert json_of(answer, 400)["message"] == "output_format docx: a file keeps its format"


def test_the_reason_of_a_failed_document_is_told() -> None:
    def fail(parts, glossary):
        raise IndexError("secret")

    with TestClient(application(word_service(translate=fail))) as client:
        document = uploaded(client, "a.txt", b"a")
        key = {"document_key": document["document_key"]}
        for _ in range(200):
            status = json_of(client.post(f"/v2/document/{document['document_id']}", json=key))
            if status["status"] == "error":
                break
            time.sleep(0.05)
        assert status["error_message"] == "internal error"


def test_a_glossary_is_created_read_and_deleted(client) -> None:
    fields = {
        "name": "mine",
        "source_lang": "EN",
        "target_lang": "FR",
        "entries": "a\tB\nc\tD",
        "entries_format": "tsv",
    }
    glossary = json_of(client.post("/v2/glossaries", json=fields), 201)
    assert {**glossary, "glossary_id": "", "creation_time": ""} == {
        "glossary_id": "", "name": "mine", "ready": True, "source_lang": "en", "target_lang": "fr",
        "creation_time": "", "entry_count": 2,
    }  # fmt: skip
    path = f"/v2/glossaries/{glossary['glossary_id']}"
    assert json_of(client.get(path)) == glossary
    assert json_of(client.get("/v2/glossaries")) == {"glossaries": [glossary]}
    assert client.get(f"{path}/entries").text == "a\tB\nc\tD"
    assert client.delete(path).status_code == 204
    assert json_of(client.get(path), 404)


def test_a_glossary_of_several_pairs_is_changed(client) -> None:
    pairs = [{"source_lang": "en", "target_lang": to, "entries": "a,b", "entries_format": "csv"} for to in ("fr", "de")]
    glossary = json_of(client.post("/v3/glossaries", json={"name": "mine", "dictionaries": pairs}), 201)
    path = f"/v3/glossaries/{glossary['glossary_id']}"
    added = {"dictionaries": [{**pairs[0], "entries": "c,d"}], "name": "yours"}
    changed = json_of(client.patch(path, json=added))
    assert (changed["name"], [one["entry_count"] for one in changed["dictionaries"]]) == ("yours", [2, 1])
    assert json_of(client.put(f"{path}/dictionaries", json={**pairs[1], "entries": "e,f\ng,h"}))["entry_count"] == 2
    query = "?source_lang=en&target_lang=de"
    assert json_of(client.get(f"{path}/entries{query}"))["dictionaries"][0]["entries"] == "e\tf\ng\th"
    assert json_of(client.get(f"/v2/glossaries/{glossary['glossary_id']}"), 400)
    assert client.delete(f"{path}/dictionaries{query}").status_code == 204
    assert json_of(client.get(f"{path}/entries{query}"), 404)
    assert len(json_of(client.get(path))["dictionaries"]) == 1


def test_glossaries_are_seen_by_their_owner_alone() -> None:
    fields = {"name": "mine", "source_lang": "EN", "target_lang": "FR", "entries": "a\tB"}
    with TestClient(application(word_service(keys=("one", "two")))) as client:
        one, two = ({"Authorization": f"DeepL-Auth-Key {key}"} for key in ("one", "two"))
        glossary = json_of(client.post("/v2/glossaries", json=fields, headers=one), 201)
        path = f"/v2/glossaries/{glossary['glossary_id']}"
        assert json_of(client.get(path, headers=one))
        assert json_of(client.get(path, headers=two), 404)
        assert json_of(client.get("/v2/glossaries", headers=two)) == {"glossaries": []}


def test_glossaries_outlive_a_server_with_a_folder(tmp_path) -> None:
    fields = {"name": "mine", "source_lang": "EN", "target_lang": "FR", "entries": "a\té"}
    with TestClient(application(glossaries=GlossaryStore(tmp_path))) as client:
        glossary = json_of(client.post("/v2/glossaries", json=fields), 201)
    with TestClient(application(glossaries=GlossaryStore(tmp_path))) as client:
        assert json_of(client.get("/v2/glossaries")) == {"glossaries": [glossary]}
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(ValueError, match=r"broken.json is not a glossary"):
        GlossaryStore(tmp_path)


@pytest.mark.parametrize("entries", ["", "a", "a\t", "a\tb\tc", "a\tb\na\tc", "->\ta"])
def test_entries_that_are_none_are_refused(client, entries: str) -> None:
    fields = {"name": "mine", "source_lang": "EN", "target_lang": "FR", "entries": entries, "entries_format": "tsv"}
    assert json_of(client.post("/v2/glossaries", json=fields), 400)["message"].startswith("entries: ")


def test_entries_in_csv_may_be_quoted_and_name_their_languages() -> None:
    assert parse_entries('"a, b",c,en,fr\n\nd,e\n', "csv") == {"a, b": "c", "d": "e"}
    assert parse_entries('"a\tb"\n', "tsv") == {'"a': 'b"'}


def test_a_pipeline_that_knows_glossaries_is_given_the_terms() -> None:
    given = []

    def translate(parts, glossary):
        given.append(glossary)
        return [TranslatedDocument(part.paragraphs, DecodingStatistics()) for part in parts]

    service = word_service(translate=translate)
    with TestClient(application(service)) as client:
        fields = {"name": "mine", "source_lang": "EN", "target_lang": "FR", "entries": "a\tB"}
        id_ = json_of(client.post("/v2/glossaries", json=fields), 201)["glossary_id"]
        wanted = {"text": ["a"], "source_lang": "EN", "target_lang": "FR", "glossary_id": id_}
        service.accepts_glossary = False
        assert "glossary_id" in json_of(client.post("/v2/translate", json=wanted), 400)["message"]
        assert json_of(client.get("/v2/glossary-language-pairs")) == {"supported_languages": []}
        service.accepts_glossary = True
        assert texts_of(client.post("/v2/translate", json=wanted)) == ["a"]
        assert json_of(client.get("/v2/glossary-language-pairs"))["supported_languages"]
    assert given == [(("a", "B"),)]


def test_a_form_may_have_the_dictionaries_of_a_glossary_as_numbered_fields(client) -> None:
    # As DeepL's client for JavaScript sends them.
    fields = {"name": "mine"}
    for number, (source, target, entries) in enumerate([("en", "fr", "a\tB"), ("fr", "en", "c\tD")]):
        values = {"source_lang": source, "target_lang": target, "entries": entries, "entries_format": "tsv"}
        fields |= {f"dictionaries[{number}].{name}": value for name, value in values.items()}
    glossary = json_of(client.post("/v3/glossaries", data=fields), 201)
    assert [(one["source_lang"], one["entry_count"]) for one in glossary["dictionaries"]] == [("en", 1), ("fr", 1)]
    path = f"/v3/glossaries/{glossary['glossary_id']}"
    more = {name.replace("[1]", "[0]"): value for name, value in fields.items() if "[1]" in name}
    changed = json_of(client.patch(path, data={**more, "dictionaries[0].entries": "e\tF"}))
    assert [one["entry_count"] for one in changed["dictionaries"]] == [1, 2]
    assert json_of(client.patch(path, data={"name": "other"}))["name"] == "other"
    assert json_of(client.post("/v3/glossaries", data={"name": "mine"}), 400)
