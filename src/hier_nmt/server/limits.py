# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Limits of requests, and the outermost layer of the server, which enforces those of bodies and writes the log."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .failures import ClientGone, Closing, RequestError, raised_at

logger = logging.getLogger(__name__)

# A character in a form that is percent-encoded, at most; and the names and options beside the text.
_BYTES_PER_CHARACTER, _MORE_BYTES = 12, 65_536


@dataclass(frozen=True)
class Limits:
    """What a request may ask for.

    Attributes:
        characters: of the texts of a request, its context included.
        file_bytes: of an uploaded file.
        requests: answered at the same time; more are answered with 503.
        client_requests: of one client (an API key, or else an address) at the same time; more are answered with 429.
        waiting_sentences: in the queue; a request for which there is no room is answered with 503.
        body_seconds: for receiving a request, else 408.
        seconds: for translating texts, else 504.
        file_seconds: for translating a file, else 504.
    """

    characters: int = 100_000
    file_bytes: int = 16 * 2**20
    requests: int = 500
    client_requests: int = 100
    waiting_sentences: int = 20_000
    body_seconds: float = 60
    seconds: float = 120
    file_seconds: float = 3600

    def body_bytes(self, is_file: bool) -> int:
        """The most bytes of the body of a request."""
        return _MORE_BYTES + (self.file_bytes if is_file else _BYTES_PER_CHARACTER * self.characters)

    def check_texts(self, texts: list[str]) -> int:
        """The number of characters of all texts; RequestError if there are too many."""
        num_characters = sum(map(len, texts))
        if num_characters > self.characters:
            raise RequestError(
                413, f"{num_characters} characters are more than the limit of a request, {self.characters}"
            )
        return num_characters


class ClientRequests:
    """Counts what each client waits for.

    Args:
        limit: the most that a client may wait for at the same time.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counts: Counter[str] = Counter()

    def begin(self, client: str) -> None:
        """Counts a request; RequestError if the client waits for too many."""
        if self._counts[client] >= self._limit:
            raise RequestError(429, f"more than {self._limit} requests at the same time, try again later", 1)
        self._counts[client] += 1

    def end(self, client: str) -> None:
        """Takes back what `begin` counted."""
        self._counts[client] -= 1
        if not self._counts[client]:
            del self._counts[client]

    @contextmanager
    def counted(self, client: str) -> Iterator[None]:
        """Counts a request while it is answered."""
        self.begin(client)
        try:
            yield
        finally:
            self.end(client)


class Guard:
    """The outermost layer: limits of bodies and of the number of requests, and a line of the log for each.

    The log has the path of the route, not of the request, and no message of an exception: both may hold a user's text.

    Args:
        app: the application, which answers its own exceptions.
        limits: the limits.
        file_paths: paths whose requests carry files.
    """

    def __init__(self, app: ASGIApp, limits: Limits, file_paths: frozenset[str]) -> None:
        self._app, self._limits, self._file_paths = app, limits, file_paths
        self._num_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a connection of ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 0

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._num_requests += 1
        try:
            await self._answer(scope, receive, send_noting)
        except (ClientGone, ClientDisconnect):
            status = 499
        except asyncio.CancelledError:
            # The server ends, and has waited long enough.
            if not status:
                await error_response(Closing())(scope, receive, send_noting)
        except Exception as error:
            # Starlette has answered it with 500, and raises it for the server to log.
            logger.error("internal error: %s at %s", type(error).__name__, raised_at(error))
        finally:
            self._num_requests -= 1
            milliseconds = 1000 * (time.perf_counter() - start)
            route = getattr(scope.get("route"), "path", None) or "-"
            logger.info("%s %s %s %.0f ms", scope["method"], route, status or 499, milliseconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = self._limits.body_bytes(scope["path"] in self._file_paths)
        try:
            if self._num_requests > self._limits.requests:
                raise RequestError(503, "too many requests at the same time, try again later", 5)
            if int(Headers(scope=scope).get("content-length", "0")) > limit:
                raise _too_large(limit)
        except ValueError:
            await error_response(RequestError(400, "Content-Length is no number"))(scope, receive, send)
        except RequestError as error:
            await error_response(error)(scope, receive, send)
        else:
            await self._app(scope, _limited(receive, limit, self._limits.body_seconds), send)


def error_response(error: RequestError) -> JSONResponse:
    """The answer to a faulty request; LibreTranslate's clients read `error`, DeepL's read `message`."""
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return JSONResponse({"error": error.message, "message": error.message}, error.status, headers)


def _too_large(limit: int) -> RequestError:
    return RequestError(413, f"the request is larger than {limit} bytes")


def _limited(receive: Receive, limit: int, seconds: float) -> Receive:
    """`receive`, which raises RequestError for a body that is too large or comes too slowly."""
    num_bytes = 0
    is_complete = False
    deadline = time.monotonic() + seconds

    async def receive_limited() -> Message:
        nonlocal num_bytes, is_complete
        if is_complete:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), deadline - time.monotonic())
        except TimeoutError:
            raise RequestError(408, f"the request took longer than {seconds:g} seconds to arrive") from None
        num_bytes += len(message.get("body", b""))
        is_complete = not message.get("more_body", False)
        if num_bytes > limit:
            raise _too_large(limit)
        return message

    return receive_limited
