# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
import logging
import threading
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("uvicorn")

from starlette.testclient import TestClient
from word_server import application, word_service

from hier_nmt.translation.translation_documents import TranslatedDocument
from hier_nmt.translation.translation_report import DecodingStatistics

SECRET = "confidential"


class Gate:
    """Translates nothing before it is open."""

    def __init__(self) -> None:
        self.has_begun, self.is_open = threading.Event(), threading.Event()
        self.num_parts = 0

    def __call__(self, parts, glossary) -> list:
        self.has_begun.set()
        assert self.is_open.wait(timeout=20)
        self.num_parts += len(parts)
        return [TranslatedDocument(part.paragraphs, DecodingStatistics()) for part in parts]


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.is_open.set()


def translate(client: TestClient, q: Any = "a!") -> Any:
    return client.post("/translate", json={"q": q, "source": "en", "target": "fr"})


def in_background(client: TestClient, gate: Gate, q: Any = "a!") -> tuple[threading.Thread, list]:
    """A request that waits at the gate, and what will be its answer."""
    answers: list = []
    thread = threading.Thread(target=lambda: answers.append(translate(client, q)))
    thread.start()
    assert gate.has_begun.wait(timeout=20)
    return thread, answers


def test_too_much_text_is_413() -> None:
    with TestClient(application(word_service(characters=5))) as client:
        assert translate(client, "abcde").status_code == 200
        found = translate(client, ["abc", "def"])
        assert (found.status_code, found.json()["error"]) == (
            413,
            "6 characters are more than the limit of a request, 5",
        )
        deepl = {"text": ["abc"], "context": "def", "target_lang": "FR"}
        assert client.post("/v2/translate", json=deepl).status_code == 413


@pytest.mark.parametrize("path", ["/translate", "/translate_file", "/v2/document"])
def test_too_large_a_body_is_413_whether_it_tells_its_length_or_not(path: str) -> None:
    body = b"x" * 100_000
    with TestClient(application(word_service(characters=5, file_bytes=10))) as client:
        assert client.post(path, content=body).status_code == 413
        parts = iter([body[:50_000], body[50_000:]])
        assert client.post(path, content=parts, headers={"Content-Type": "application/json"}).status_code == 413


def test_too_large_a_file_is_413() -> None:
    with TestClient(application(word_service(file_bytes=10))) as client:
        found = client.post("/translate_file", data={"target": "fr"}, files={"file": ("a.txt", b"x" * 11)})
        assert (found.status_code, found.json()["error"]) == (413, "the file is larger than 10 bytes")


def test_a_translation_that_takes_too_long_is_504_and_leaves_the_queue(gate) -> None:
    service = word_service(translate=gate, seconds=0.2)
    with TestClient(application(service)) as client:
        assert translate(client, ["a!"] * 100).status_code == 504
        assert service.scheduler.num_waiting == 0
        gate.is_open.set()


def test_a_full_queue_is_503(gate) -> None:
    service = word_service(translate=gate, waiting_sentences=5)
    with TestClient(application(service)) as client:
        thread, answers = in_background(client, gate, ["a!"] * 36)
        found = translate(client, ["b!"] * 6)
        assert (found.status_code, found.headers["retry-after"]) == (503, "5")
        gate.is_open.set()
        thread.join()
        assert answers[0].json()["translatedText"] == ["a!"] * 36
        assert translate(client).status_code == 200


def test_too_many_requests_at_the_same_time_are_503(gate) -> None:
    with TestClient(application(word_service(translate=gate, requests=1))) as client:
        thread, answers = in_background(client, gate)
        assert client.get("/health").status_code == 503
        gate.is_open.set()
        thread.join()
        assert answers[0].status_code == 200
        assert client.get("/health").status_code == 200


def test_too_many_requests_of_one_client_are_429(gate) -> None:
    with TestClient(application(word_service(translate=gate, client_requests=1))) as client:
        thread, _ = in_background(client, gate)
        assert translate(client).status_code == 429
        files = {"file": ("a.txt", b"a")}
        assert client.post("/v2/document", data={"target_lang": "FR"}, files=files).status_code == 429
        gate.is_open.set()
        thread.join()
        assert translate(client).status_code == 200


async def ask(app: Any, messages: list[dict], until: Any = None) -> list[dict]:
    """What the application sends for a request of these messages, the last of them after `until` is true."""
    scope = {
        "type": "http", "method": "POST", "path": "/translate", "raw_path": b"/translate", "query_string": b"",
        "headers": [(b"host", b"here"), (b"content-type", b"application/json")], "client": ("one", 1),
        "server": ("here", 80), "scheme": "http", "http_version": "1.1", "root_path": "", "asgi": {"version": "3.0"},
    }  # fmt: skip
    waiting, sent = list(messages), []

    async def receive() -> dict:
        if len(waiting) == 1 and until is not None:
            while not until():
                await asyncio.sleep(0.01)
        if not waiting:
            await asyncio.sleep(60)
        return waiting.pop(0)

    async def send(message: dict) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def body_of(q: Any) -> dict:
    body = json.dumps({"q": q, "source": "en", "target": "fr"}).encode()
    return {"type": "http.request", "body": body, "more_body": False}


def test_the_work_of_a_client_that_has_gone_leaves_the_queue(gate) -> None:
    service = word_service(translate=gate)
    app = application(service)
    gone = [body_of(["a!"] * 500), {"type": "http.disconnect"}]
    asyncio.run(ask(app, gone, until=gate.has_begun.is_set))
    assert service.scheduler.num_waiting == 0
    gate.is_open.set()
    sent = asyncio.run(ask(app, [body_of("b!")]))
    assert json.loads(sent[1]["body"]) == {"translatedText": "b!"}
    # One batch had begun.
    assert gate.num_parts <= 33


def test_a_request_that_outlasts_the_server_is_503(gate) -> None:
    async def ask_and_cancel() -> list[dict]:
        asking = asyncio.ensure_future(ask(application(word_service(translate=gate)), [body_of("a!")]))
        while not gate.has_begun.is_set():
            await asyncio.sleep(0.01)
        asking.cancel()
        return await asking

    assert asyncio.run(ask_and_cancel())[0]["status"] == 503


def test_a_body_that_does_not_come_is_408() -> None:
    app = application(word_service(body_seconds=0.05))
    sent = asyncio.run(ask(app, [{"type": "http.request", "body": b"{", "more_body": True}]))
    assert sent[0]["status"] == 408


def test_a_client_that_goes_while_it_sends_is_no_error(caplog) -> None:
    messages = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    with caplog.at_level(logging.INFO, "hier_nmt.server"):
        asyncio.run(ask(application(), messages))
    assert " 499 " in caplog.text
    assert "error" not in caplog.text


def test_the_log_has_no_text(caplog, capfd) -> None:
    def fail(parts, glossary) -> list:
        raise IndexError(parts[0].paragraphs[0][0])

    with caplog.at_level(logging.DEBUG), TestClient(application(word_service(translate=fail))) as client:
        assert translate(client, SECRET).status_code == 500
        client.get(f"/{SECRET}?q={SECRET}")
        client.post("/translate", json={"q": SECRET, "target": SECRET})
        client.post("/translate_file", data={"target": "fr"}, files={"file": (f"{SECRET}.srt", SECRET.encode())})
        client.post("/v2/document", data={"target_lang": "FR"}, files={"file": ("a.txt", SECRET.encode())})
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("hier_nmt", "asyncio"))]
    assert any(line.startswith("POST /translate 500 ") for line in ours)
    assert any(line.startswith("internal error: IndexError at ") for line in ours)
    assert not [line for line in ours if SECRET in line]
    assert SECRET not in "".join(capfd.readouterr())


def test_pages_of_other_sites_are_refused_unless_they_are_named() -> None:
    def status(client: TestClient, origin: str) -> int:
        fields = {"q": "a!", "source": "en", "target": "fr"}
        return client.post("/translate", data=fields, headers={"Origin": origin}).status_code

    with TestClient(application(allowed_origins=["https://good.example"])) as client:
        assert status(client, "https://evil.example") == 403
        assert status(client, "null") == 403
        assert status(client, "http://testserver") == 200
        assert status(client, "https://good.example") == 200
        assert status(client, "moz-extension://0a-1b") == 200
        found = client.options(
            "/translate", headers={"Origin": "https://good.example", "Access-Control-Request-Method": "POST"}
        )
        assert found.headers["access-control-allow-origin"] == "https://good.example"


def test_other_names_of_the_server_are_refused() -> None:
    with TestClient(application(allowed_hosts=["localhost", "[::1]"])) as client:
        assert client.get("/health").status_code == 400
        for host in ("localhost:5000", "[::1]:5000"):
            assert client.get("/health", headers={"Host": host}).status_code == 200
