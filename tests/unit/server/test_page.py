# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import base64
import copy
import hashlib
import re
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("uvicorn")

from published_models import FAMILIES, write_checkpoint
from starlette.testclient import TestClient
from word_server import application, word_service
from word_translation import ProbableTranslator, WordTranslator

from hier_nmt.jobs.confidence_calibration import ConfidenceCalibration
from hier_nmt.jobs.load_checkpoints import load_pipeline
from hier_nmt.server import reading_parts
from hier_nmt.server.access import Access
from hier_nmt.server.limits import Limits
from hier_nmt.server.page import content_security_policy
from hier_nmt.server.pipeline_batches import PipelineBatches
from hier_nmt.server.service import Pair, Service
from hier_nmt.text.translation_memory import TranslationMemory
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline
from hier_nmt.translation.translation_documents import TranslatedDocument
from hier_nmt.translation.translation_report import DecodingStatistics


@pytest.fixture
def client():
    with TestClient(application()) as client:
        yield client


def json_of(response, status: int = 200):
    assert response.status_code == status, response.text
    return response.json()


def directives(policy: str) -> dict[str, str]:
    return dict(one.strip().split(" ", 1) for one in policy.split(";"))


def test_the_policy_allows_the_pages_own_script_and_style_and_no_other_server(client) -> None:
    found = client.get("/")
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    policy = directives(found.headers["content-security-policy"])
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", found.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy.pop(f"{tag}-src") == f"'sha256-{digest}'"
    assert policy == {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "form-action": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
    }


def test_the_page_names_no_other_server_and_has_no_code_in_attributes(client) -> None:
    page = client.get("/").text
    # The name space of the icon is no address.
    assert set(re.findall(r"https?://[^'\"\s]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<[^>]+\s(on\w+|style|src)=", page)


def test_sites_that_may_show_the_page_in_a_frame_are_named() -> None:
    with TestClient(application(framing_sites=["https://good.example"])) as client:
        policy = directives(client.get("/").headers["content-security-policy"])
        assert policy["frame-ancestors"] == "https://good.example"
    with pytest.raises(ValueError, match=r"'https://a\.example; script-src' is not the address of a site"):
        content_security_policy("", ["https://a.example; script-src"])


def test_every_field_of_the_page_has_a_label(client) -> None:
    page = client.get("/").text
    fields = re.findall(r'<(?:textarea|input)[^>]* id="([\w-]+)"', page)
    assert len(fields) == 6
    assert all(f'<label for="{name}"' in page for name in fields)


def test_the_settings_say_what_the_model_reads(client) -> None:
    settings = json_of(client.get("/page/settings"))
    assert (settings["source"]["code"], settings["target"]["code"]) == ("en", "fr")
    assert (settings["window_sentences"], settings["shows_reading"]) == (1, False)
    assert (settings["needs_key"], settings["max_characters"]) == (False, 100_000)
    assert {".txt", ".docx", ".html"} <= set(settings["file_endings"])


@pytest.mark.parametrize("as_", ["json", "data"])
def test_a_text_comes_back_sentence_by_sentence(client, as_: str) -> None:
    found = json_of(client.post("/page/translate", **{as_: {"text": "a b! c!\n\nd!\n"}}))["sentences"]
    assert [(one["source"], one["translation"], one["paragraph"]) for one in found] == [
        ("a b!", "A B !", 0),
        ("c!", "C !", 0),
        ("d!", "D !", 1),
        ("", "", 1),
    ]
    assert "".join(one["white_space"] + one["translation"] for one in found) == "A B ! C !\n\nD !\n"


def test_context_is_read_by_a_model_of_windows() -> None:
    model = WordTranslator(window_sentences=2, source_language="en", target_language="fr")
    with TestClient(application(word_service(model))) as client:
        found = json_of(client.post("/page/translate", json={"text": "a!", "context": "b! c!"}))
    assert [one["translation"] for one in found["sentences"]] == ["A !"]
    assert model.windows == ["c ! <par> a ! </s>"]


def test_the_terms_of_the_glossary_reach_the_model() -> None:
    glossaries = []

    def translate(parts, glossary) -> list:
        glossaries.append(glossary)
        return [TranslatedDocument(part.paragraphs, DecodingStatistics()) for part in parts]

    with TestClient(application(word_service(translate=translate))) as client:
        lines = 'report,rapport\n"one, two","un, deux"\n'
        json_of(client.post("/page/translate", json={"text": "a!", "glossary": lines}))
        json_of(client.post("/page/translate", json={"text": "a!", "glossary": " \n"}))
        found = json_of(client.post("/page/translate", json={"text": "a!", "glossary": "report"}), 400)
    assert glossaries == [(("report", "rapport"), ("one, two", "un, deux")), None]
    assert found["message"] == "glossary: row 1 is not a term and its translation"


@pytest.mark.parametrize("path", ["/page/translate", "/page/read"])
def test_access_and_limits_are_those_of_the_other_interfaces(path: str) -> None:
    with TestClient(application(word_service(keys=("secret",), characters=5))) as client:
        assert client.get("/").status_code == 200
        assert json_of(client.get("/page/settings"))["needs_key"]
        content = {"text": "a!", "translations": ["A !"]}
        json_of(client.post(path, json=content), 403)
        known = {"Authorization": "Bearer secret"}
        assert client.post(path, json=content, headers=known).status_code != 403
        assert client.post(path, json={**content, "api_key": "secret"}).status_code != 403
        long = {"text": "abcdef", "translations": [""]}
        assert client.post("/page/translate", json=long, headers=known).status_code == 413
        other_site = {**known, "Origin": "https://evil.example"}
        assert client.post(path, json=content, headers=other_site).status_code == 403


def test_a_server_that_cannot_say_what_was_read_says_so(client) -> None:
    found = json_of(client.post("/page/read", json={"text": "a!", "translations": ["A !"]}), 400)
    assert found["message"] == "this server cannot say which sentences were read"


def test_a_model_without_weights_of_its_own_shows_nothing_of_its_attention() -> None:
    """Such are those that another engine runs."""
    model = WordTranslator(window_sentences=2, source_language="en", target_language="fr")
    batches = PipelineBatches(DocumentTranslationPipeline(model, model.tokenizer))
    assert (batches.window_sentences, batches.shows_reading) == (2, False)


def reading_client(folder: Path, window_sentences: int, part_sentences: int | None = 2, **limits: int) -> TestClient:
    """A client of a server of a model with random weights that selects sentences."""
    config = copy.deepcopy(FAMILIES["hier_nmt"]["conditional"])
    config.window_sentences = window_sentences
    write_checkpoint(folder, config)
    batches = PipelineBatches(load_pipeline(folder, "cpu"), num_beams=1)
    assert batches.shows_reading
    service = Service(
        batches,
        Pair("en", "fr"),
        part_sentences=part_sentences,
        accepts_glossary=batches.accepts_glossary,
        limits=Limits(**limits),
        access=Access(()),
        window_sentences=batches.window_sentences,
        read=batches.sentences_read,
    )
    return TestClient(application(service))


CONTENT = {"text": "a b! c! d e!\n\nf! g h!", "translations": ["A", "B C", "D", "E F G", "H"], "context": "j! k!"}


def test_a_model_of_windows_reads_the_sentences_before_as_far_as_its_window_reaches(tmp_path: Path) -> None:
    with reading_client(tmp_path, window_sentences=3) as client:
        found = json_of(client.post("/page/read", json=CONTENT))
    assert found["context"] == ["j!", "k!"]
    for index, row in enumerate(found["sentences"]):
        read = {one["sentence"] for one in row}
        assert index in read
        assert read <= {index, index - 1, index - 2}
        assert sum(one["share"] for one in row) == pytest.approx(1, abs=0.02)
        assert all(0 <= one["selected"] <= 1 for one in row)
    assert any(one["sentence"] < 0 for one in found["sentences"][0])


def test_a_model_of_whole_documents_may_read_what_follows(tmp_path: Path) -> None:
    with reading_client(tmp_path, window_sentences=0, part_sentences=None) as client:
        rows = json_of(client.post("/page/read", json=CONTENT))["sentences"]
    assert len(rows) == 5
    assert {one["sentence"] for one in rows[0]} & {1, 2, 3, 4}


def test_what_was_read_does_not_depend_on_the_parts(tmp_path: Path) -> None:
    answers = []
    for name, size in (("small", 2), ("large", 8)):
        with reading_client(tmp_path / name, window_sentences=2, part_sentences=size) as client:
            text = {"text": "a b! c! d e! f! g h!", "translations": CONTENT["translations"]}
            answers.append(json_of(client.post("/page/read", json=text))["sentences"])
    for small, large in zip(*answers, strict=True):
        assert [one["sentence"] for one in small] == [one["sentence"] for one in large]


def test_what_cannot_be_shown_is_an_error_with_its_reason(tmp_path: Path, monkeypatch) -> None:
    with reading_client(tmp_path, window_sentences=2) as client:
        wrong = {**CONTENT, "translations": ["A"]}
        assert json_of(client.post("/page/read", json=wrong), 400)["message"] == "1 translations of 5 sentences"
        long = {"text": "a b c d e " * 30 + "!", "translations": ["A"]}
        message = json_of(client.post("/page/read", json=long), 400)["message"]
        assert message.startswith("what was read cannot be shown: source sentence 1 has")
        monkeypatch.setattr(reading_parts, "MAX_SENTENCES", 4)
        json_of(client.post("/page/read", json=CONTENT), 413)


def test_confidence_is_told_if_it_is_asked_for() -> None:
    with TestClient(application(word_service(scored_model()))) as client:
        assert json_of(client.get("/page/settings"))["shows_confidence"]
        text = {"text": "a b! 12"}
        plain = json_of(client.post("/page/translate", json=text))["sentences"]
        told = json_of(client.post("/page/translate", json={**text, "confidence": True}))["sentences"]
        wrong = json_of(client.post("/page/translate", json={**text, "confidence": "much"}), 400)
    assert all("confidence" not in one for one in plain)
    # Of the tokens A, B, ! and the one that ends the sentence.
    assert told[0]["confidence"] == pytest.approx((0.5 * 0.25 * 0.125 * 0.0625) ** (1 / 4))
    assert told[0]["word_confidences"] == pytest.approx([0.5, 0.25, 0.125])
    assert (told[1]["translation"], told[1]["confidence"]) == ("12", None)
    assert wrong["message"] == "confidence must be one of false, true; got 'much'"


def test_a_server_that_cannot_say_how_confident_the_model_is_says_so(client) -> None:
    assert not json_of(client.get("/page/settings"))["shows_confidence"]
    found = json_of(client.post("/page/translate", json={"text": "a!", "confidence": True}), 400)
    assert found["message"] == "this server cannot say how confident the model is"


def scored_model() -> ProbableTranslator:
    return ProbableTranslator(source_language="en", target_language="fr")


MEMORY = TranslationMemory([("a b!", "Known before!")], threshold=100)


def test_what_the_memory_has_never_goes_through_the_model() -> None:
    model = scored_model()
    with TestClient(application(word_service(model, memory=MEMORY))) as client:
        assert json_of(client.get("/page/settings"))["has_memory"]
        content = {"text": "a b! c!", "confidence": True}
        found = json_of(client.post("/page/translate", json=content))["sentences"]
        libre = json_of(client.post("/translate", json={"q": "a  b!", "source": "en", "target": "fr"}))
        html = {"q": "<p>a b!</p><p>a <b>b</b>!</p>", "source": "en", "target": "fr", "format": "html"}
        tagged = json_of(client.post("/translate", json=html))
        deepl = json_of(client.post("/v2/translate", json={"text": ["a b!"], "target_lang": "FR"}))
        file = client.post("/translate_file", data={"target": "fr"}, files={"file": ("a.txt", b"a b!\nc!\n")})
        content = client.get(json_of(file)["translatedFileUrl"]).text
    assert [(one["translation"], one["from_memory"]) for one in found] == [("Known before!", True), ("C !", False)]
    assert (found[0]["confidence"], found[0]["word_confidences"]) == (None, [None, None])
    assert libre == {"translatedText": "Known before!"}
    assert tagged == {"translatedText": "<p>Known before!</p><p>A <b>B</b> !</p>"}
    assert deepl["translations"] == [{"detected_source_language": "EN", "text": "Known before!"}]
    assert content == "Known before!\nC !\n"
    # Alone there was the sentence whose tags the memory does not have.
    assert sorted(model.windows) == ["a b ! </s>", "c ! </s>", "c ! </s>"]


def test_segments_of_files_that_come_from_the_memory_are_marked() -> None:
    unit = '<trans-unit id="{0}"><source>{1}</source></trans-unit>'
    units = "".join(unit.format(*one) for one in ((1, "a b!"), (2, "c!")))
    xliff = (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en" '
        f'target-language="fr" datatype="plaintext"><body>{units}</body></file></xliff>'
    )
    with TestClient(application(word_service(memory=MEMORY))) as client:
        file = client.post("/translate_file", data={"target": "fr"}, files={"file": ("a.xlf", xliff.encode())})
        content = client.get(json_of(file)["translatedFileUrl"]).text
    assert re.findall(r"<target([^>]*)>([^<]*)</target>", content) == [
        (' state="needs-review-translation" state-qualifier="exact-match"', "Known before!"),
        (' state="needs-review-translation" state-qualifier="mt-suggestion"', "C !"),
    ]


def test_confidence_is_calibrated_where_the_model_has_a_calibration() -> None:
    service = word_service(scored_model())
    # With the slope 1 and the intercept 0: c / (1 + c).
    service.calibration = ConfidenceCalibration(1.0, 0.0, 50.0, 800)
    raw = (0.5 * 0.25 * 0.125 * 0.0625) ** (1 / 4)
    with TestClient(application(service)) as client:
        settings = json_of(client.get("/page/settings"))
        content = {"text": "a b! 12", "confidence": True}
        first, second = json_of(client.post("/page/translate", json=content))["sentences"]
    assert settings["calibration"] == "the share of 800 development sentences like it with chrF 50 or more"
    assert (first["confidence"], second["confidence"]) == (pytest.approx(raw / (1 + raw)), None)
    assert first["word_confidences"] == pytest.approx([0.5, 0.25, 0.125])
