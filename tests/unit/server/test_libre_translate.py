# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("uvicorn")

from pdf_files import paragraph, pdf
from starlette.testclient import TestClient
from word_server import application, word_service


@pytest.fixture
def client():
    with TestClient(application()) as client:
        yield client


def json_of(response, status: int = 200):
    assert response.status_code == status, response.text
    return response.json()


@pytest.mark.parametrize("as_", ["json", "data"])
def test_a_text_is_translated(client, as_: str) -> None:
    fields = {"q": "a b! c.\n\nd.", "source": "en", "target": "fr"}
    answer = json_of(client.post("/translate", **{as_: fields}))
    assert answer == {"translatedText": "A B ! C .\n\nD ."}


def test_a_list_gives_a_list(client) -> None:
    answer = json_of(client.post("/translate", json={"q": ["a!", "", "b!"], "source": "en", "target": "fr"}))
    assert answer == {"translatedText": ["A !", "", "B !"]}
    answer = json_of(client.post("/translate", data={"q": ["a!", "b!"], "target": "fr"}))
    assert answer["translatedText"] == ["A !", "B !"]


def test_the_source_language_is_assumed_where_it_is_to_be_detected(client) -> None:
    assumed = {"language": "en", "confidence": 0.0}
    answer = json_of(client.post("/translate", json={"q": "a!", "source": "auto", "target": "fr"}))
    assert answer == {"translatedText": "A !", "detectedLanguage": assumed}
    assert json_of(client.post("/detect", json={"q": "a!"})) == [assumed]


def test_html_keeps_its_tags(client) -> None:
    q = '<p class="x">a <b>b</b> c!</p><pre>d</pre><span translate="no">e</span>'
    answer = json_of(client.post("/translate", json={"q": q, "source": "en", "target": "fr", "format": "html"}))
    expected = '<p class="x">A <b>B</b> C !</p><pre>d</pre><span translate="no">e</span>'
    assert answer["translatedText"] == expected


@pytest.mark.parametrize("number", [3, "3"])
def test_alternatives_are_none(client, number) -> None:
    answer = json_of(
        client.post("/translate", json={"q": "a!", "target": "fr", "source": "en", "alternatives": number})
    )
    assert answer == {"translatedText": "A !", "alternatives": []}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target": "fr"}, "q is missing"),
        ({"q": "a"}, "target is missing"),
        ({"q": 3, "target": "fr"}, "q must be a string or a list of strings"),
        ({"q": ["a", None], "target": "fr"}, "q must be a string or a list of strings"),
        ({"q": "a", "target": "de"}, "target language de is not supported; it is fr alone"),
        ({"q": "a", "target": "fr", "source": "fr"}, "source language fr is not supported; it is en alone"),
        ({"q": "a", "target": "fr", "format": "pdf"}, "format must be one of text, html; got 'pdf'"),
        ({"q": "<a " * 2000, "target": "fr", "format": "html"}, "more than 1000 tags have no end"),
    ],
)
def test_a_wrong_field_is_named(client, fields: dict, message: str) -> None:
    assert json_of(client.post("/translate", json=fields), 400) == {"error": message, "message": message}


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"q": "\\ud800", "target": "fr"}', b"\xff", b"[" * 100_000])
def test_a_broken_body_is_an_error(client, body: bytes) -> None:
    assert "body" in json_of(client.post("/translate", content=body), 400)["error"]


def test_both_languages_are_listed_with_what_they_are_translated_into(client) -> None:
    for answer in (client.get("/languages"), client.post("/languages")):
        assert [(one["code"], one["targets"]) for one in json_of(answer)] == [("en", ["fr"]), ("fr", [])]


def test_user_interfaces_get_their_settings(client) -> None:
    settings = json_of(client.get("/frontend/settings"))
    assert settings["charLimit"] == 100_000
    assert settings["keyRequired"] is False
    assert {".docx", ".html", ".srt", ".txt"} <= set(settings["supportedFilesFormat"])
    assert json_of(client.get("/health")) == {"status": "ok", "waiting": 0}


def test_a_file_is_translated_and_downloaded(client) -> None:
    subtitles = "1\n00:00:01,000 --> 00:00:02,000\na b!\n\n2\n00:00:03,000 --> 00:00:04,000\nc.\n"
    files = {"file": ("../film.en.srt", subtitles.encode())}
    url = json_of(client.post("/translate_file", data={"source": "en", "target": "fr"}, files=files))
    found = client.get(url["translatedFileUrl"])
    assert found.text == subtitles.replace("a b!", "A B !").replace("c.", "C .")
    assert 'filename="film.fr.srt"' in found.headers["content-disposition"]
    assert json_of(client.get("/download_file/0123/film.fr.srt"), 404)


def test_the_translation_of_a_pdf_file_is_a_page(client) -> None:
    pytest.importorskip("pdftext")
    files = {"file": ("paper.pdf", pdf(paragraph(50, 450, "a b!")))}
    url = json_of(client.post("/translate_file", data={"target": "fr"}, files=files))["translatedFileUrl"]
    assert url.endswith("/paper.fr.html")
    assert "<p>A B !</p>" in client.get(url).text


def test_pages_are_files_too(client) -> None:
    files = {"file": ("page.html", b"<html lang='en'><p>a <b>b</b>!</p></html>")}
    url = json_of(client.post("/translate_file", data={"target": "fr"}, files=files))["translatedFileUrl"]
    assert client.get(url).text == "<html lang='fr'><p>A <b>B</b> !</p></html>"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.srt", b"1\nno time\na\n", "a.srt:"),
        ("a.docx", b"PK", "a.docx:"),
        ("a.pdf", b"%PDF-1.4", "a.pdf:"),
        ("a.txt", b"\xff\xfe\xff", "a.txt:"),
        ("a.txt", b"", "a.txt: empty file"),
        ("a.txt.gz", b"", "compressed files"),
        ("a.html", b"<a " * 2000, "more than 1000 tags have no end"),
    ],
)
def test_a_broken_file_is_named_without_its_place_on_the_server(
    client, name: str, content: bytes, message: str
) -> None:
    answer = client.post("/translate_file", data={"target": "fr"}, files={"file": (name, content)})
    assert json_of(answer, 400)["error"].startswith(message)
    assert "hier-nmt-serve" not in answer.text


def test_a_file_is_asked_for(client) -> None:
    assert "file is missing" in json_of(client.post("/translate_file", data={"target": "fr"}), 400)["error"]


def test_sentences_without_end_are_translated_in_pieces(client) -> None:
    words = " ".join(["a"] * 2000)
    answer = json_of(client.post("/translate", json={"q": words, "target": "fr", "source": "en"}))
    assert answer["translatedText"].count("A") == 2000


def test_a_key_in_the_body_or_the_header_is_needed() -> None:
    fields = {"q": "a!", "source": "en", "target": "fr"}
    with TestClient(application(word_service(keys=("secret", "other")))) as client:
        assert json_of(client.post("/translate", json=fields), 403)["error"] == "an API key is needed"
        wrong = client.post("/translate", json={**fields, "api_key": "sécret"})
        assert json_of(wrong, 403)["error"] == "the API key is not valid"
        assert json_of(client.post("/translate", json={**fields, "api_key": "secret"}))
        assert json_of(client.post("/translate", json=fields, headers={"Authorization": "Bearer other"}))
        assert json_of(client.get("/languages"))
        assert json_of(client.get("/frontend/settings"))["keyRequired"] is True


def test_the_fields_may_be_in_the_address(client) -> None:
    # As deep-translator sends them.
    found = client.post("/translate?q=a+b!&source=en&target=fr&format=text&api_key=x")
    assert (found.status_code, found.json()) == (200, {"translatedText": "A B !"})
    assert client.post("/translate?source=en&target=fr").json()["error"] == "q is missing"
