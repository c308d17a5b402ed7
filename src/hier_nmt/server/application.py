# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The server as an ASGI application."""

import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from . import deepl_documents, libre_translate
from .access import EXTENSION_ORIGINS
from .deepl_documents import DeepLDocuments
from .deepl_glossaries import DeepLGlossaries
from .deepl_texts import DeepLTexts
from .failures import RequestError
from .files import FileJobs
from .glossaries import GlossaryStore
from .libre_translate import LibreTranslate
from .limits import Guard, error_response
from .page import Page
from .service import Service


def make_application(
    service: Service,
    *,
    glossaries: GlossaryStore | None = None,
    allowed_origins: Sequence[str] = (),
    allowed_hosts: Sequence[str] = ("*",),
    framing_sites: Sequence[str] = (),
) -> ASGIApp:
    """The application, which closes the service's scheduler when it ends.

    Args:
        service: does the translating.
        glossaries: those of the clients; default: in memory.
        allowed_origins: of web pages that may use the server, besides its own and those of extensions; "*": all.
        allowed_hosts: names by which the server may be called, against pages that give their own name to its address.
        framing_sites: web pages that may show the server's own page in a frame.
    """
    glossaries = glossaries or GlossaryStore()
    # Files are in a folder that the system cleans up if the server cannot.
    folder = tempfile.TemporaryDirectory(prefix="hier-nmt-serve-", ignore_cleanup_errors=True)
    files = FileJobs(service, Path(folder.name))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await files.close()
            service.scheduler.close()
            folder.cleanup()

    handlers = (
        Page(service, framing_sites),
        LibreTranslate(service, files),
        DeepLTexts(service, glossaries),
        DeepLDocuments(service, glossaries, files),
        DeepLGlossaries(service, glossaries),
    )
    app = Starlette(
        routes=[route for one in handlers for route in one.routes()],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts), www_redirect=False),
            Middleware(
                CORSMiddleware,
                allow_origins=list(allowed_origins),
                allow_origin_regex=EXTENSION_ORIGINS,
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["Authorization", "Content-Type"],
            ),
            Middleware(_KnownOrigins, allowed_origins=allowed_origins),
        ],
        exception_handlers={RequestError: _faulty, HTTPException: _refused, Exception: _failed},  # type: ignore[dict-item]
        lifespan=lifespan,
    )
    return Guard(app, service.limits, frozenset((libre_translate.FILE_PATH, deepl_documents.FILE_PATH)))


class _KnownOrigins:
    """Refuses requests that a page of another site sends, which a browser sends even if it hides the answer."""

    def __init__(self, app: ASGIApp, allowed_origins: Sequence[str]) -> None:
        self._app, self._allowed = app, frozenset(allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None or self._is_known(origin, headers.get("host", "")):
            await self._app(scope, receive, send)
        else:
            await error_response(RequestError(403, "pages of this site may not use the server"))(scope, receive, send)

    def _is_known(self, origin: str, host: str) -> bool:
        is_named = "*" in self._allowed or origin in self._allowed
        return is_named or urlsplit(origin).netloc == host or re.fullmatch(EXTENSION_ORIGINS, origin) is not None


async def _faulty(request: Request, error: RequestError) -> Response:
    return error_response(error)


async def _refused(request: Request, error: HTTPException) -> Response:
    return error_response(RequestError(error.status_code, error.detail))


async def _failed(request: Request, error: Exception) -> Response:
    return error_response(RequestError(500, "internal error"))
