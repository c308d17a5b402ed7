# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who may use the server: API keys, and which pages of the web."""

import hashlib
import hmac
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request

from .failures import RequestError

# Pages of extensions are allowed without being named: their users installed them.
EXTENSION_ORIGINS = r"(moz|chrome|safari-web)-extension://[\w.-]+"
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_SCHEMES = ("deepl-auth-key ", "bearer ")


class Client(NamedTuple):
    """Who sent a request: by what its requests are counted, and to whom its glossaries belong.

    With API keys both are a hash of the key; else an address, and glossaries are everybody's.
    """

    id: str
    owner: str


class Access:
    """Checks API keys.

    Args:
        keys: those that are accepted; none: everybody may use the server, and no key is looked at.
    """

    def __init__(self, keys: Collection[str] = ()) -> None:
        self._keys = [key.encode() for key in keys]

    @property
    def needs_key(self) -> bool:
        """Whether requests need a key."""
        return bool(self._keys)

    def client(self, request: Request, key: str = "") -> Client:
        """Who sent a request.

        Args:
            request: the request; a key in its `Authorization` counts before that in its body.
            key: the one in its body.

        Raises:
            RequestError: it has no key that is accepted.
        """
        if not self._keys:
            return Client(request.client.host if request.client else "", "")
        header = request.headers.get("authorization", "")
        scheme = next((scheme for scheme in _SCHEMES if header.lower().startswith(scheme)), None)
        given = header[len(scheme) :].strip() if scheme else key
        # Every key is compared, in constant time.
        if not sum(hmac.compare_digest(given.encode(), known) for known in self._keys):
            raise RequestError(403, "the API key is not valid" if given else "an API key is needed")
        # Glossaries on disk name their owner.
        digest = hashlib.sha256(given.encode()).hexdigest()
        return Client(digest, digest)


def read_keys(path: str | Path) -> list[str]:
    """The API keys in a file, one a line; lines that start with # are comments.

    Raises:
        ValueError: there are none, or one holds white space.
    """
    lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise ValueError(f"{path} has no API key: write one a line")
    for number, line in enumerate(lines, start=1):
        if not line.startswith("#") and len(line.split()) > 1:
            raise ValueError(f"{path}:{number}: an API key has no spaces")
    return keys
