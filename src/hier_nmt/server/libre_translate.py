# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interface of LibreTranslate: /translate, /detect, /languages, /translate_file, /frontend/settings, /health."""

from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from ..jobs.translate_pages import file_endings
from .failures import RequestError
from .files import FileJobs
from .request_fields import Fields, fields_of
from .service import Service, language_name, while_connected
from .texts import TextForm

FILE_PATH = "/translate_file"


class LibreTranslate:
    """The handlers.

    Args:
        service: does the translating.
        files: translates files.
    """

    def __init__(self, service: Service, files: FileJobs) -> None:
        self._service, self._files = service, files

    def routes(self) -> list[Route]:
        """Which handler answers which path."""
        return [
            Route("/translate", self.translate, methods=["POST"]),
            Route("/detect", self.detect, methods=["POST"]),
            Route("/languages", self.languages, methods=["GET", "POST"]),
            Route(FILE_PATH, self.translate_file, methods=["POST"]),
            Route("/download_file/{id}/{name}", self.download_file, methods=["GET"]),
            Route("/frontend/settings", self.settings, methods=["GET"]),
            Route("/health", self.health, methods=["GET"]),
        ]

    async def translate(self, request: Request) -> Response:
        """Translates a text or a list of texts."""
        fields = await fields_of(request)
        client = self._service.access.client(request, fields.text("api_key", ""))
        texts, is_list = fields.texts("q")
        is_detected = self._check_languages(fields)
        kind = fields.choice("format", ["text", "html"], "text")
        form = TextForm("html" if kind == "html" else "plain")
        translations = await self._service.translate_texts(request, client, texts, form)
        answer: dict[str, Any] = {"translatedText": translations if is_list else translations[0]}
        if is_detected:
            detected = self._assumed_language()
            answer["detectedLanguage"] = [detected] * len(texts) if is_list else detected
        if fields.text_or_number("alternatives", "0") != "0":
            # One translation is all there is.
            answer["alternatives"] = [[] for _ in texts] if is_list else []
        return JSONResponse(answer)

    async def detect(self, request: Request) -> Response:
        """The language of the model with a confidence of 0: nothing was detected, it is what is assumed."""
        fields = await fields_of(request)
        self._service.access.client(request, fields.text("api_key", ""))
        texts, is_list = fields.texts("q")
        self._service.limits.check_texts(texts)
        detected = [self._assumed_language()]
        return JSONResponse([detected] * len(texts) if is_list else detected)

    async def languages(self, request: Request) -> Response:
        """Both languages, and what each is translated into."""
        source, target = self._service.pair
        return JSONResponse(
            [
                {"code": source, "name": language_name(source), "targets": [target]},
                {"code": target, "name": language_name(target), "targets": []},
            ]
        )

    async def translate_file(self, request: Request) -> Response:
        """Translates a file; the answer has the address of its translation."""
        fields = await fields_of(request)
        client = self._service.access.client(request, fields.text("api_key", ""))
        self._check_languages(fields)
        job = await self._files.start(client, fields.file("file"))
        try:
            await while_connected(request, job.task)
        except BaseException:
            self._files.delete(job)
            raise
        url = request.url_for("download_file", id=job.id, name=job.output.name)
        return JSONResponse({"translatedFileUrl": str(url)})

    async def download_file(self, request: Request) -> Response:
        """A translated file; who has its address may download it."""
        job = self._files.find(request.path_params["id"])
        if job.status != "done":
            raise RequestError(404, "no such document; they are kept for an hour")
        return FileResponse(job.output, filename=job.output.name, media_type="application/octet-stream")

    async def settings(self, request: Request) -> Response:
        """What a user interface has to know."""
        source, target = self._service.pair
        needs_key = self._service.access.needs_key
        return JSONResponse(
            {
                "apiKeys": needs_key,
                "keyRequired": needs_key,
                "charLimit": self._service.limits.characters,
                "filesTranslation": True,
                "frontendTimeout": 500,
                "suggestions": False,
                "supportedFilesFormat": file_endings(),
                "language": {
                    "source": {"code": source, "name": language_name(source)},
                    "target": {"code": target, "name": language_name(target)},
                },
            }
        )

    async def health(self, request: Request) -> Response:
        """That the server is there, and how much is waiting."""
        return JSONResponse({"status": "ok", "waiting": self._service.scheduler.num_waiting})

    def _check_languages(self, fields: Fields) -> bool:
        """Whether the source language is to be detected; RequestError for a pair that is not the model's."""
        source, target = fields.text("source", "auto"), fields.text("target")
        self._service.pair.check(None if source == "auto" else source, target)
        return source == "auto"

    def _assumed_language(self) -> dict[str, Any]:
        return {"language": self._service.pair.source, "confidence": 0.0}
