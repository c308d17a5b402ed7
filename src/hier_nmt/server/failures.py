# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of a server, each with the status and the message of its answer."""

import traceback
from pathlib import Path


class RequestError(Exception):
    """A request that is answered with an error.

    Args:
        status: of HTTP.
        message: for the client; it is not logged.
        retry_after: seconds after which the client may try again.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


class QueueFull(RequestError):
    """Too much waits for its translation."""

    def __init__(self) -> None:
        super().__init__(503, "too much is waiting to be translated, try again later", retry_after=5)


class Closing(RequestError):
    """The server ends."""

    def __init__(self) -> None:
        super().__init__(503, "the server is shutting down")


class ClientGone(Exception):
    """The client closed the connection; nobody reads an answer."""


def raised_at(error: BaseException) -> str:
    """Where an exception was raised, as "file:line"; its message may quote a user's text and is not for logs."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
