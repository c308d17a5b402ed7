# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The page of the server in Chromium, which playwright drives; skipped without them."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

from playwright.sync_api import sync_playwright
from word_server import application, listening, word_service
from word_translation import ProbableTranslator

from hier_nmt.inspection.sentences_read import SentenceRead
from hier_nmt.text.translation_memory import TranslationMemory

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

TEXT = "a b! c!\n\n<b>d</b> e!"
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        # As root in a container Chromium has no sandbox.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser) -> Iterator[Any]:
    """Opens the page of a server; at the end, nothing must have gone elsewhere or been refused by its policy."""
    contexts, problems = [], []

    def open_page(address: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        own = (f"{address}/", "data:", f"blob:{address}/")
        page.on("request", lambda request: request.url.startswith(own) or problems.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: "Content Security" in line.text and problems.append(line.text))
        page.goto(address)
        page.wait_for_selector("#pair:not(:empty)")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def focused(page: Any) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.textContent")


def test_a_text_is_translated_and_looked_at_with_the_keyboard_alone(opened) -> None:
    with listening(application()) as address:
        page = opened(address)
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the text"
        page.keyboard.press("Enter")
        assert focused(page) == "source"
        page.keyboard.type("a b! c!")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#rows .sentence")
        assert page.inner_text("#status") == "Translated 2 sentences."
        order = [focused(page)]
        for _ in range(2):
            page.keyboard.press("Tab")
            order.append(focused(page))
        assert order == ["edit", "copy", "a b!"]
        page.keyboard.press("ArrowRight")
        assert focused(page) == "c!"
        assert page.inner_text("#readout").startswith(
            "Sentence 2 of 2. It was read alone: this model translates each sentence by itself."
        )
        # What is spoken has the translation, too.
        assert page.text_content("#spoken").startswith("Sentence 2 of 2. Translation: C ! It was read alone")
        page.keyboard.press("Escape")
        assert (page.is_visible("#readout"), focused(page)) == (False, "c!")
        page.focus("#edit")
        page.keyboard.press("Enter")
        assert (focused(page), page.input_value("#source")) == ("source", "a b! c!")


def test_what_a_sentence_read_does_not_hide_the_sentence(opened) -> None:
    with listening(application()) as address:
        page = opened(address, viewport={"width": 700, "height": 400})
        page.fill("#source", "a!\n" * 40)
        page.click("#translate")
        page.focus("#rows [role=button]")
        for _ in range(20):
            page.keyboard.press("ArrowDown")
        sentence, panel = (page.query_selector(name).bounding_box() for name in ("#rows .chosen", "#readout"))
        assert sentence["y"] >= 0
        assert sentence["y"] + sentence["height"] <= panel["y"]


def test_paragraphs_stand_beside_their_translations_and_texts_are_no_markup(opened) -> None:
    with listening(application()) as address:
        page = opened(address)
        page.fill("#source", TEXT)
        page.click("#translate")
        page.wait_for_selector("#rows .sentence")
        rows = page.query_selector_all("#rows .paragraph")
        texts = [[one.text_content() for one in row.query_selector_all("p")] for row in rows]
        assert texts == [["a b! c!", "A B ! C !"], ["<b>d</b> e!", texts[1][1]]]
        boxes = [[one.bounding_box() for one in row.query_selector_all("p")] for row in rows]
        assert all(source["y"] == target["y"] and source["x"] < target["x"] for source, target in boxes)


def test_pointing_at_a_sentence_shows_what_it_read(opened) -> None:
    def read(parts, glossary) -> list:
        # Of the only part: each sentence read the first one and the context.
        sentences = [text for paragraph in parts[0].paragraphs for text in paragraph]
        return [[[SentenceRead(-1, 0.1, None), SentenceRead(0, 0.9, None)] for _ in sentences]]

    service = word_service()
    service.read, service.window_sentences = read, 2
    with listening(application(service)) as address:
        page = opened(address)
        page.click("summary >> text=Context")
        page.fill("#context", "j k!")
        page.fill("#source", "a b! c!")
        page.click("#translate")
        page.hover("#rows .target .sentence >> nth=1")
        page.wait_for_selector(".read")
        assert page.text_content(".read") == "a b!"
        assert page.get_attribute(".read", "data-share") == "90%"
        assert page.text_content(".chosen[role=button]") == "c!"
        items = [item.text_content() for item in page.query_selector_all("#readout li")]
        assert items == ["Sentence 1, 90%: a b!", "Context, 10%: j k!"]


def test_a_file_is_downloaded_translated(opened, tmp_path: Path) -> None:
    with listening(application()) as address:
        page = opened(address)
        page.set_input_files("#file", [{"name": "my.txt", "mimeType": "text/plain", "buffer": b"a b!\n"}])
        with page.expect_download() as download:
            page.click("#files a")
        assert download.value.suggested_filename == "my.fr.txt"
        download.value.save_as(tmp_path / "my.fr.txt")
        assert (tmp_path / "my.fr.txt").read_text() == "A B !\n"
        page.set_input_files("#file", [{"name": "my.srt", "mimeType": "text/plain", "buffer": b"no subtitles"}])
        page.wait_for_selector("#files >> text=Not translated: my.srt")


def test_a_file_that_is_dropped_anywhere_is_translated(opened) -> None:
    with listening(application()) as address:
        page = opened(address)
        dropped = page.evaluate_handle(
            """() => {
                const data = new DataTransfer();
                data.items.add(new File(["a b!"], "my.txt"));
                return data;
            }"""
        )
        page.dispatch_event("h1", "drop", {"dataTransfer": dropped})
        page.wait_for_selector("#files a >> text=Download my.fr.txt")
        assert page.inner_text("#file-status") == "my.txt is translated."


def test_a_key_is_asked_for_and_kept_nowhere(opened) -> None:
    with listening(application(word_service(keys=("secret",)))) as address:
        page = opened(address)
        page.fill("#source", "a b!")
        page.click("#translate")
        page.wait_for_selector("#error >> text=an API key is needed")
        assert focused(page) == "key"
        page.keyboard.type("secret")
        page.keyboard.press("Enter")
        page.click("#translate")
        page.wait_for_selector("#rows .sentence")
        stored = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie, location.href]")
        assert stored == [0, 0, "", f"{address}/"]


def test_a_phone_shows_everything_without_scrolling_sideways(opened) -> None:
    with listening(application()) as address:
        page = opened(address, **PHONE)
        page.fill("#source", TEXT)
        page.tap("#translate")
        page.tap("#rows [role=button] >> nth=1")
        page.wait_for_selector("#readout >> text=Sentence 2 of 3")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        source, target = (one.bounding_box() for one in page.query_selector_all("#rows .paragraph >> nth=0 >> p"))
        assert target["y"] >= source["y"] + source["height"]
        small = [
            one.text_content()
            for one in page.query_selector_all("button, summary")
            if one.is_visible() and one.bounding_box()["height"] < 24
        ]
        assert small == []


def test_confidence_is_shown_in_colours_numbers_and_words(opened) -> None:
    model = ProbableTranslator(source_language="en", target_language="fr")
    memory = TranslationMemory([("c!", "Known before!")], threshold=100)
    with listening(application(word_service(model, memory=memory))) as address:
        page = opened(address)
        page.fill("#source", "a b! c! 12")
        page.check("#confidence")
        page.click("#translate")
        page.wait_for_selector("#rows .sentence")
        assert page.inner_text("#status") == "Translated 3 sentences. 1 of them from the translation memory."
        first, known, copied = page.query_selector_all("#rows .target .sentence")
        # The fourth root of 0.5 * 0.25 * 0.125 * 0.0625.
        assert (first.get_attribute("data-confidence"), "low" in first.get_attribute("class")) == ("0.18", True)
        assert [one.text_content() for one in first.query_selector_all(".doubted")] == ["B", "!"]
        assert (known.get_attribute("data-memory"), known.get_attribute("data-confidence")) == ("memory", None)
        assert copied.get_attribute("data-confidence") is None
        assert "from the translation memory" in page.inner_text("#legend")
        assert "low below 0.50" in page.inner_text("#legend")
        page.focus("#rows [role=button]")
        assert "Confidence 0.18, low, below 0.5 for: B, !. It was read alone" in page.text_content("#spoken")
        page.keyboard.press("ArrowRight")
        assert "Its translation was taken from the translation memory." in page.inner_text("#readout")


def test_confidence_is_switched_on_and_off_for_a_text_that_is_translated(opened) -> None:
    model = ProbableTranslator(source_language="en", target_language="fr")
    with listening(application(word_service(model))) as address:
        page = opened(address)
        page.fill("#source", "a b!")
        page.click("#translate")
        page.wait_for_selector("#rows .sentence")
        assert not page.is_visible("#legend")
        page.focus("#confidence")
        page.keyboard.press("Space")
        page.wait_for_selector("#rows [data-confidence]")
        assert (focused(page), page.is_visible("#legend")) == ("confidence", True)
        page.keyboard.press("Space")
        assert not page.is_visible("#legend")
        assert page.query_selector(".shows-confidence .low") is None


def test_a_server_that_cannot_tell_confidence_offers_none(opened) -> None:
    with listening(application()) as address:
        assert not opened(address).is_visible("#confidence")
