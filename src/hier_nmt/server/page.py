# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The page for people at the root of the server, and what it asks for: /page/settings, /page/translate, /page/read."""

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ..jobs.confidence_calibration import ConfidenceCalibration, calibrated
from ..jobs.translate_pages import file_endings
from .failures import RequestError
from .glossaries import parse_entries
from .request_fields import Fields, fields_of
from .scheduler import Glossary
from .service import NotedSentence, Service, language_name

# A source of Content-Security-Policy, such as https://their.site: no white space, and nothing that ends a directive.
_SOURCE = re.compile(r"[^\s;,']+")


class Page:
    """The handlers.

    Args:
        service: does the translating.
        framing_sites: web pages that may show the page in a frame.

    Raises:
        ValueError: one of the sites is no address.
    """

    def __init__(self, service: Service, framing_sites: Sequence[str] = ()) -> None:
        self._service = service
        self._content = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
        self._headers = {
            "Content-Security-Policy": content_security_policy(self._content, framing_sites),
            "Cache-Control": "no-cache",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }

    def routes(self) -> list[Route]:
        """Which handler answers which path."""
        return [
            Route("/", self.page, methods=["GET"]),
            Route("/page/settings", self.settings, methods=["GET"]),
            Route("/page/translate", self.translate, methods=["POST"]),
            Route("/page/read", self.read, methods=["POST"]),
        ]

    async def page(self, request: Request) -> Response:
        """The page, one file that asks nobody but this server."""
        return HTMLResponse(self._content, headers=self._headers)

    async def settings(self, request: Request) -> Response:
        """What the page has to know."""
        service = self._service
        return JSONResponse(
            {
                **{
                    side: {"code": code, "name": language_name(code)}
                    for side, code in zip(("source", "target"), service.pair, strict=True)
                },
                "needs_key": service.access.needs_key,
                "max_characters": service.limits.characters,
                "max_file_bytes": service.limits.file_bytes,
                "file_endings": file_endings(),
                "accepts_glossary": service.accepts_glossary,
                "window_sentences": service.window_sentences,
                "shows_reading": service.read is not None,
                "shows_confidence": service.with_confidence is not None,
                "calibration": None if service.calibration is None else str(service.calibration),
                "has_memory": service.memory is not None,
            }
        )

    async def translate(self, request: Request) -> Response:
        """Translates a plain text, sentence by sentence."""
        fields = await fields_of(request)
        client = self._service.access.client(request, fields.text("api_key", ""))
        text, context = fields.text("text"), fields.text("context", "")
        confidence = fields.choice("confidence", ["false", "true"], "false") == "true"
        glossary = self._glossary(fields)
        sentences = await self._service.translate_sentences(request, client, text, context, glossary, confidence)
        return JSONResponse({"sentences": [_as_json(one, self._service.calibration) for one in sentences]})

    async def read(self, request: Request) -> Response:
        """Which sentences each sentence of a text read when it was translated."""
        fields = await fields_of(request)
        client = self._service.access.client(request, fields.text("api_key", ""))
        text, context = fields.text("text"), fields.text("context", "")
        translations, _ = fields.texts("translations")
        found = await self._service.sentences_read(request, client, text, translations, context)
        rows: list[list[dict[str, Any]]] = [[one._asdict() for one in row] for row in found.rows]
        return JSONResponse({"context": found.context, "sentences": rows})

    def _glossary(self, fields: Fields) -> Glossary:
        """The terms of a request, given as lines "term,translation"."""
        text = fields.text("glossary", "")
        if not text.strip():
            return None
        if not self._service.accepts_glossary:
            raise RequestError(400, "glossary: this version translates without glossaries")
        try:
            return tuple(parse_entries(text, "csv").items())
        except RequestError as error:
            raise RequestError(error.status, error.message.replace("entries", "glossary", 1)) from None


def _as_json(sentence: NotedSentence, calibration: ConfidenceCalibration | None) -> dict[str, Any]:
    """A sentence for the page; with its confidence, calibrated if it can be, and those of its words only if that was
    asked for."""
    told: dict[str, Any] = {**sentence.placed._asdict(), "from_memory": sentence.is_from_memory}
    if (found := sentence.confidence) is not None:
        told |= {"confidence": calibrated(found.confidence, calibration), "word_confidences": list(found.words)}
    return told


def content_security_policy(page: str, framing_sites: Sequence[str] = ()) -> str:
    """The policy under which a page runs the scripts and styles that are written in it, and asks only its own server.

    Args:
        page: HTML.
        framing_sites: web pages that may show it in a frame.

    Raises:
        ValueError: one of the sites is no address.
    """
    for site in framing_sites:
        if not _SOURCE.fullmatch(site):
            raise ValueError(f"{site!r} is not the address of a site")
    sources = {
        f"{tag}-src": " ".join(_digest(text) for text in re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL))
        for tag in ("script", "style")
    }
    directives = {
        "default-src": "'none'",
        **sources,
        "connect-src": "'self'",
        "img-src": "data:",
        "form-action": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": " ".join(framing_sites) or "'none'",
        "require-trusted-types-for": "'script'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
    return f"'sha256-{digest}'"
