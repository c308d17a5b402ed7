# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""DeepL's interface for glossaries: /v2/glossaries, of one pair of languages, and /v3/glossaries, of several."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from .failures import RequestError
from .glossaries import GlossaryStore, StoredGlossary, as_tsv, parse_entries
from .request_fields import Fields, fields_of, query_of
from .service import Service, base_language

Dictionaries = dict[tuple[str, str], dict[str, str]]


class DeepLGlossaries:
    """The handlers.

    Args:
        service: knows the clients.
        glossaries: those of the clients.
    """

    def __init__(self, service: Service, glossaries: GlossaryStore) -> None:
        self._service, self._glossaries = service, glossaries

    def routes(self) -> list[Route]:
        """Which handler answers which path."""
        one, dictionaries = "/v3/glossaries/{id}", "/v3/glossaries/{id}/dictionaries"
        return [
            Route("/v2/glossary-language-pairs", self.pairs, methods=["GET"]),
            Route("/v2/glossaries", self.create, methods=["POST"]),
            Route("/v2/glossaries", self.list, methods=["GET"]),
            Route("/v2/glossaries/{id}", self.get, methods=["GET"]),
            Route("/v2/glossaries/{id}", self.delete, methods=["DELETE"]),
            Route("/v2/glossaries/{id}/entries", self.entries, methods=["GET"]),
            Route("/v3/glossaries", self.create_multilingual, methods=["POST"]),
            Route("/v3/glossaries", self.list_multilingual, methods=["GET"]),
            Route(one, self.get_multilingual, methods=["GET"]),
            Route(one, self.update, methods=["PATCH"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(f"{one}/entries", self.entries_multilingual, methods=["GET"]),
            Route(dictionaries, self.replace_dictionary, methods=["PUT"]),
            Route(dictionaries, self.delete_dictionary, methods=["DELETE"]),
        ]

    async def pairs(self, request: Request) -> Response:
        """The pairs of languages for which translations follow a glossary."""
        self._service.access.client(request)
        pair = dict(zip(("source_lang", "target_lang"), map(base_language, self._service.pair), strict=True))
        return JSONResponse({"supported_languages": [pair] if self._service.accepts_glossary else []})

    async def create(self, request: Request) -> Response:
        """A new glossary of one pair."""
        fields = await fields_of(request)
        return JSONResponse(_of_one_pair(self._created(request, fields, _dictionary(fields))), 201)

    async def list(self, request: Request) -> Response:
        """The client's glossaries of one pair."""
        owner = self._service.access.client(request).owner
        found = [one for one in self._glossaries.of(owner) if len(one.dictionaries) == 1]
        return JSONResponse({"glossaries": [_of_one_pair(one) for one in found]})

    async def get(self, request: Request) -> Response:
        """A glossary without its entries."""
        return JSONResponse(_of_one_pair(self._found(request)))

    async def delete(self, request: Request) -> Response:
        """Deletes a glossary."""
        self._glossaries.delete(self._found(request))
        return Response(status_code=204)

    async def entries(self, request: Request) -> Response:
        """The entries, separated by tabs."""
        glossary = self._found(request)
        _of_one_pair(glossary)
        (entries,) = glossary.dictionaries.values()
        return PlainTextResponse(as_tsv(entries), media_type="text/tab-separated-values")

    async def create_multilingual(self, request: Request) -> Response:
        """A new glossary of several pairs."""
        fields = await fields_of(request)
        return JSONResponse(_of_several(self._created(request, fields, _dictionaries(fields))), 201)

    async def list_multilingual(self, request: Request) -> Response:
        """The client's glossaries."""
        owner = self._service.access.client(request).owner
        return JSONResponse({"glossaries": [_of_several(one) for one in self._glossaries.of(owner)]})

    async def get_multilingual(self, request: Request) -> Response:
        """A glossary without its entries."""
        return JSONResponse(_of_several(self._found(request)))

    async def update(self, request: Request) -> Response:
        """Changes the name of a glossary, and adds entries to its dictionaries."""
        glossary, fields = self._found(request), await fields_of(request)
        glossary.name = fields.text("name", glossary.name)
        if "dictionaries" in fields:
            for pair, entries in _dictionaries(fields).items():
                glossary.dictionaries[pair] = {**glossary.dictionaries.get(pair, {}), **entries}
        return JSONResponse(_of_several(self._glossaries.save(glossary)))

    async def entries_multilingual(self, request: Request) -> Response:
        """The entries of a dictionary."""
        pair = _pair(query_of(request))
        entries = self._found(request).entries(*pair)
        answer = {**_named(pair), "entries": as_tsv(entries), "entries_format": "tsv"}
        return JSONResponse({"dictionaries": [answer]})

    async def replace_dictionary(self, request: Request) -> Response:
        """Replaces a dictionary of a glossary, or adds it."""
        glossary, fields = self._found(request), await fields_of(request)
        ((pair, entries),) = _dictionary(fields).items()
        glossary.dictionaries[pair] = entries
        self._glossaries.save(glossary)
        return JSONResponse({**_named(pair), "entry_count": len(entries)})

    async def delete_dictionary(self, request: Request) -> Response:
        """Deletes a dictionary of a glossary."""
        glossary, pair = self._found(request), _pair(query_of(request))
        glossary.entries(*pair)
        del glossary.dictionaries[pair]
        self._glossaries.save(glossary)
        return Response(status_code=204)

    def _created(self, request: Request, fields: Fields, dictionaries: Dictionaries) -> StoredGlossary:
        owner = self._service.access.client(request, fields.text("auth_key", "")).owner
        name = fields.text("name")
        if not name:
            raise RequestError(400, "name is empty")
        return self._glossaries.save(StoredGlossary(name, owner, dictionaries))

    def _found(self, request: Request) -> StoredGlossary:
        owner = self._service.access.client(request).owner
        return self._glossaries.find(request.path_params["id"], owner)


def _pair(fields: Fields) -> tuple[str, str]:
    return base_language(fields.text("source_lang")), base_language(fields.text("target_lang"))


def _dictionary(fields: Fields) -> Dictionaries:
    return {_pair(fields): parse_entries(fields.text("entries"), fields.text("entries_format", "tsv"))}


def _dictionaries(fields: Fields) -> Dictionaries:
    found: Dictionaries = {}
    for one in fields.objects("dictionaries"):
        found |= _dictionary(Fields(one, is_form=False))
    return found


def _named(pair: tuple[str, str]) -> Mapping[str, str]:
    return {"source_lang": pair[0], "target_lang": pair[1]}


def _time(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _of_one_pair(glossary: StoredGlossary) -> dict[str, Any]:
    """A glossary, as /v2 shows it; RequestError if it has several pairs."""
    if len(glossary.dictionaries) != 1:
        raise RequestError(400, "the glossary has several pairs of languages: ask /v3/glossaries")
    ((pair, entries),) = glossary.dictionaries.items()
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        **_named(pair),
        "creation_time": _time(glossary.creation_time),
        "entry_count": len(entries),
    }


def _of_several(glossary: StoredGlossary) -> dict[str, Any]:
    """A glossary, as /v3 shows it."""
    dictionaries = [{**_named(pair), "entry_count": len(one)} for pair, one in glossary.dictionaries.items()]
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": dictionaries,
        "creation_time": _time(glossary.creation_time),
    }
