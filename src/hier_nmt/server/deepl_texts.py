# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""DeepL's interface for texts: /v2/translate, /v2/languages, /v2/usage."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .access import Client
from .failures import RequestError
from .glossaries import GlossaryStore
from .request_fields import Fields, fields_of, query_of
from .scheduler import Glossary
from .service import Service, language_name
from .texts import TextForm

# What stands for no limit in DeepL's answers.
_NO_LIMIT = 1_000_000_000_000
# Whether a line break ends a sentence. Punctuation always does: of several sentences in one, a model that learned from
# single sentences leaves out all but the first.
_KEEPS_LINES = {"0": False, "false": False, "1": True, "true": True, "nonewlines": False}
_BOOLEANS = ("0", "1", "true", "false")
_UNSUPPORTED = ("style_id", "translation_memory_id", "custom_instructions", "glossary_ids")


class DeepLTexts:
    """The handlers.

    Args:
        service: does the translating.
        glossaries: those of the clients.
    """

    def __init__(self, service: Service, glossaries: GlossaryStore) -> None:
        self._service, self._glossaries = service, glossaries

    def routes(self) -> list[Route]:
        """Which handler answers which path."""
        return [
            Route("/v2/translate", self.translate, methods=["POST"]),
            Route("/v2/languages", self.languages, methods=["GET", "POST"]),
            Route("/v2/usage", self.usage, methods=["GET", "POST"]),
        ]

    async def translate(self, request: Request) -> Response:
        """Translates one or several texts."""
        fields = await fields_of(request)
        client = self._service.access.client(request, fields.text("auth_key", ""))
        texts, _ = fields.texts("text")
        glossary = read_options(fields, client, self._service, self._glossaries)
        form = _form(fields)
        fields.choice("preserve_formatting", _BOOLEANS, "0")
        context = fields.text("context", "")
        translations = await self._service.translate_texts(request, client, texts, form, context, glossary)
        is_billed = fields.choice("show_billed_characters", _BOOLEANS, "0") in ("1", "true")
        pairs = zip(texts, translations, strict=True)
        return JSONResponse(
            {
                "translations": [
                    {
                        "detected_source_language": self._service.pair.source.upper(),
                        "text": translation,
                        **({"billed_characters": len(text)} if is_billed else {}),
                    }
                    for text, translation in pairs
                ]
            }
        )

    async def languages(self, request: Request) -> Response:
        """The languages of texts, or with `type=target` of translations."""
        # DeepL's own client sends a body with GET.
        fields = query_of(request) if request.query_params else await fields_of(request)
        self._service.access.client(request, fields.text("auth_key", ""))
        source, target = self._service.pair
        if fields.choice("type", ["source", "target"], "source") == "target":
            return JSONResponse(
                [{"language": target.upper(), "name": language_name(target), "supports_formality": False}]
            )
        return JSONResponse([{"language": source.upper(), "name": language_name(source)}])

    async def usage(self, request: Request) -> Response:
        """The characters that were translated for a client since the server started; there is no limit."""
        client = self._service.access.client(request)
        count = self._service.num_characters[client.id]
        return JSONResponse({"character_count": count, "character_limit": _NO_LIMIT})


def read_options(fields: Fields, client: Client, service: Service, glossaries: GlossaryStore) -> Glossary:
    """The glossary of a request for a translation.

    Raises:
        RequestError: other languages, or an option that this server does not have.
    """
    source = fields.text("source_lang", "") or None
    service.pair.check(source, fields.text("target_lang"))
    for name in _UNSUPPORTED:
        if name in fields:
            raise RequestError(400, f"{name} is not supported by this server")
    formality = fields.text("formality", "default")
    if formality not in ("default", "prefer_more", "prefer_less"):
        raise RequestError(400, f"formality {formality:.20} is not supported by this server's model")
    if "glossary_id" not in fields:
        return None
    if source is None:
        raise RequestError(400, "source_lang is required with glossary_id")
    terms = glossaries.find(fields.text("glossary_id"), client.owner).terms(*service.pair)
    if not service.accepts_glossary:
        raise RequestError(400, "glossary_id: this version translates without glossaries")
    return terms


def _form(fields: Fields) -> TextForm:
    """How the texts are to be read."""
    tags = fields.choice("tag_handling", ["html", "xml"], "")
    splitting, ignored = fields.names("splitting_tags"), fields.names("ignore_tags")
    if tags != "xml" and (splitting or ignored):
        raise RequestError(400, "splitting_tags and ignore_tags need tag_handling=xml")
    is_strict = fields.choice("tag_handling_version", ["v1", "v2"], "v1") == "v2"
    keeps_lines = _KEEPS_LINES[fields.choice("split_sentences", list(_KEEPS_LINES), "1")]
    return TextForm(tags or "plain", keeps_lines, splitting, ignored, is_strict)  # type: ignore[arg-type]
