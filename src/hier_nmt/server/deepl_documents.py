# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""DeepL's interface for files: /v2/document, its status and its result."""

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from .deepl_texts import read_options
from .failures import RequestError
from .files import FileJob, FileJobs
from .glossaries import GlossaryStore
from .request_fields import fields_of
from .service import Service

FILE_PATH = "/v2/document"


class DeepLDocuments:
    """The handlers.

    Args:
        service: does the translating.
        glossaries: those of the clients.
        files: translates files.
    """

    def __init__(self, service: Service, glossaries: GlossaryStore, files: FileJobs) -> None:
        self._service, self._glossaries, self._files = service, glossaries, files

    def routes(self) -> list[Route]:
        """Which handler answers which path."""
        return [
            Route(FILE_PATH, self.upload, methods=["POST"]),
            Route(f"{FILE_PATH}/{{id}}", self.status, methods=["POST"]),
            Route(f"{FILE_PATH}/{{id}}/result", self.result, methods=["POST"]),
        ]

    async def upload(self, request: Request) -> Response:
        """Begins with the translation of a file, once it has been read without errors."""
        fields = await fields_of(request)
        client = self._service.access.client(request, fields.text("auth_key", ""))
        glossary = read_options(fields, client, self._service, self._glossaries)
        file = fields.file("file")
        file.filename = fields.text("filename", file.filename or "")
        ending = Path(file.filename).suffix.lower()
        wanted = fields.text("output_format", ending.removeprefix(".")).lower()
        if wanted != ending.removeprefix("."):
            raise RequestError(400, f"output_format {wanted:.20}: a file keeps its format")
        job = await self._files.start(client, file, glossary)
        return JSONResponse({"document_id": job.id, "document_key": job.key})

    async def status(self, request: Request) -> Response:
        """How far a translation is."""
        job = await self._job(request)
        status = job.status
        answer: dict[str, Any] = {"document_id": job.id, "status": status}
        if status == "translating":
            answer["seconds_remaining"] = job.seconds_remaining
        elif status == "done":
            answer["billed_characters"] = job.num_characters
        elif status == "error":
            answer["error_message"] = job.error
        return JSONResponse(answer)

    async def result(self, request: Request) -> Response:
        """The translated file."""
        job = await self._job(request)
        if job.status == "error":
            raise RequestError(400, job.error or "")
        if job.status != "done":
            raise RequestError(503, "the document is not translated yet", 1)
        return FileResponse(job.output, filename=job.output.name, media_type="application/octet-stream")

    async def _job(self, request: Request) -> FileJob:
        fields = await fields_of(request)
        self._service.access.client(request, fields.text("auth_key", ""))
        return self._files.find(request.path_params["id"], fields.text("document_key"))
