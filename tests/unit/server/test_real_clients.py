# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that others wrote, unmodified, over HTTP."""

import io
import threading

import pytest

pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("uvicorn")

from office_files import docx, members_of, zipped
from word_server import application, listening, word_service
from word_translation import WordTranslator


@pytest.fixture(scope="module")
def address():
    model = WordTranslator(source_language="en", target_language="fr", more_words=["word"])
    with listening(application(word_service(model, keys=("secret",)))) as address:
        yield address


@pytest.fixture
def libre(address: str):
    libretranslatepy = pytest.importorskip("libretranslatepy")
    return libretranslatepy.LibreTranslateAPI(address, "secret")


@pytest.fixture
def deepl_client(address: str):
    deepl = pytest.importorskip("deepl")
    client = deepl.DeepLClient("secret", server_url=address)
    yield client
    client.close()


def test_libretranslatepy_translates_detects_and_lists(libre) -> None:
    assert libre.translate("a & b!\nC +é", "en", "fr").startswith("A")
    assert libre.detect("a!") == [{"language": "en", "confidence": 0.0}]
    assert [one["code"] for one in libre.languages()] == ["en", "fr"]


def test_deepl_translates_texts(deepl_client) -> None:
    one = deepl_client.translate_text("a b!", target_lang="FR")
    assert (one.text, one.detected_source_lang, one.billed_characters) == ("A B !", "EN", 4)
    many = deepl_client.translate_text(
        ["a!", "<x>b</x> c!"],
        source_lang="EN",
        target_lang="FR",
        context="d!",
        tag_handling="xml",
        ignore_tags=["x"],
        split_sentences="nonewlines",
        preserve_formatting=True,
        formality="prefer_more",
    )
    assert [one.text for one in many] == ["A !", "<x>b</x> C !"]


def test_deepl_lists_languages_and_usage(deepl_client) -> None:
    assert [one.code for one in deepl_client.get_source_languages()] == ["EN"]
    assert [one.code for one in deepl_client.get_target_languages()] == ["FR"]
    assert deepl_client.get_usage().character.valid


def test_deepl_is_told_what_is_wrong(address: str, deepl_client) -> None:
    deepl = pytest.importorskip("deepl")
    with pytest.raises(deepl.DeepLException, match="target language DE is not supported"):
        deepl_client.translate_text("a", target_lang="DE")
    with pytest.raises(deepl.AuthorizationException, match="not valid"):
        deepl.DeepLClient("wrong", server_url=address).translate_text("a", target_lang="FR")


def test_deepl_translates_documents(deepl_client, monkeypatch) -> None:
    # It looks every five seconds.
    monkeypatch.setattr("time.sleep", lambda seconds: threading.Event().wait(min(seconds, 0.1)))
    body = '<w:p><w:r><w:t xml:space="preserve">a </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>b!</w:t></w:r></w:p>'
    result = io.BytesIO()
    status = deepl_client.translate_document(
        io.BytesIO(zipped(docx(body))), result, target_lang="FR", filename="a.docx"
    )
    assert (status.done, status.billed_characters) == (True, 4)
    text = members_of(result.getvalue())["word/document.xml"].decode()
    assert "A " in text
    assert "<w:b/></w:rPr>" in text


def test_deepl_manages_glossaries(deepl_client) -> None:
    deepl = pytest.importorskip("deepl")
    glossary = deepl_client.create_glossary("mine", "EN", "FR", {"word": "mot", "a": "b"})
    assert (glossary.entry_count, glossary.ready) == (2, True)
    assert deepl_client.get_glossary(glossary.glossary_id).name == "mine"
    assert deepl_client.get_glossary_entries(glossary) == {"word": "mot", "a": "b"}
    assert [one.name for one in deepl_client.list_glossaries()] == ["mine"]
    deepl_client.delete_glossary(glossary)
    with pytest.raises(deepl.GlossaryNotFoundException):
        deepl_client.get_glossary(glossary.glossary_id)


def test_deepl_manages_glossaries_of_several_pairs(deepl_client) -> None:
    api_data = pytest.importorskip("deepl.api_data")

    def dictionary(target: str, **entries: str):
        return api_data.MultilingualGlossaryDictionaryEntries("EN", target, entries)

    glossary = deepl_client.create_multilingual_glossary("mine", [dictionary("FR", a="b"), dictionary("DE", a="c")])
    glossary = deepl_client.update_multilingual_glossary_dictionary(glossary, dictionary("FR", d="e"))
    assert [one.entry_count for one in glossary.dictionaries] == [2, 1]
    deepl_client.replace_multilingual_glossary_dictionary(glossary, dictionary("FR", f="g"))
    found = deepl_client.get_multilingual_glossary_entries(glossary, "EN", "FR")
    assert found.dictionaries[0].entries == "f\tg"
    deepl_client.delete_multilingual_glossary_dictionary(glossary, source_lang="EN", target_lang="DE")
    assert len(deepl_client.get_multilingual_glossary(glossary.glossary_id).dictionaries) == 1
    assert deepl_client.update_multilingual_glossary_name(glossary, "yours").name == "yours"
    assert [one.name for one in deepl_client.list_multilingual_glossaries()] == ["yours"]
    deepl_client.delete_multilingual_glossary(glossary)


def test_many_clients_get_their_own_translations(libre) -> None:
    texts = [f"{letter} {other}!" for letter in "abcdefgh" for other in "ijkl"]
    found: dict[str, str] = {}

    def ask(text: str) -> None:
        found[text] = libre.translate(text, "en", "fr")

    threads = [threading.Thread(target=ask, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == {text: text.upper().replace("!", " !") for text in texts}
