# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Uploaded files: read, translated, and kept for a while so that they can be downloaded."""

import asyncio
import re
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from ..data.corpus_files import CorpusError
from ..data.formats.document_file import DocumentFile
from ..jobs.translate_files import FileTranslation, notes_of, output_path
from ..jobs.translate_pages import Page, PageTranslation, markup_format_of, read_file
from ..translation.translation_documents import SourceDocument, TranslatedDocument
from .access import Client
from .failures import RequestError
from .scheduler import Glossary, Work
from .service import Service, finished
from .texts import check_markup

_UNSAFE = re.compile(r"[^\w. -]+")
_MAX_NAME = 100


@dataclass
class FileJob:
    """A file that is translated, or was.

    Attributes:
        id, key: random; both are needed to ask for it.
        folder: of the file and its translation alone.
        num_bytes: of the file.
        work: its sentences.
        num_characters: of its text.
        output: the file that is written.
        task: ends when the file is written.
        started: in seconds, of the clock of `time.monotonic`.
    """

    id: str
    key: str
    folder: Path
    num_bytes: int
    work: Work
    num_characters: int
    output: Path
    task: asyncio.Task[None]
    started: float = field(default_factory=time.monotonic)

    @property
    def status(self) -> str:
        """As DeepL says it: queued, translating, done or error."""
        if self.task.done():
            return "error" if self.error else "done"
        return "translating" if self.work.has_started else "queued"

    @property
    def error(self) -> str | None:
        """Why there is no translation, if the task ended without one."""
        if not self.task.done():
            return None
        error = None if self.task.cancelled() else self.task.exception()
        if self.task.cancelled():
            return "the translation was cancelled"
        return None if error is None else getattr(error, "message", "internal error")

    @property
    def seconds_remaining(self) -> int:
        """An estimate, from the time that the parts so far took."""
        elapsed = time.monotonic() - self.started
        return round(elapsed * (self.work.num_parts - self.work.num_done) / max(1, self.work.num_done)) + 1


class FileJobs:
    """Translates files, and keeps them for an hour.

    Args:
        service: does the translating.
        folder: for the files; what is in it belongs to the server.
        keep_seconds: after which a file is deleted.
        keep_bytes: of all files; if there are more, the oldest finished ones are deleted.
    """

    def __init__(self, service: Service, folder: Path, keep_seconds: float = 3600, keep_bytes: int = 2**30) -> None:
        self._service, self._folder = service, folder
        self._keep_seconds, self._keep_bytes = keep_seconds, keep_bytes
        self._jobs: dict[str, FileJob] = {}
        # Reading a file may take much memory.
        self._reading = asyncio.Semaphore(2)

    async def start(self, client: Client, upload: UploadFile, glossary: Glossary = None) -> FileJob:
        """Reads an uploaded file and begins with its translation.

        Raises:
            RequestError: it cannot be read, or there is no room for it.
        """
        self._delete_old()
        self._service.requests.begin(client.id)
        id_ = secrets.token_hex(16)
        folder = self._folder / id_
        try:
            async with self._reading:
                name = safe_name(upload.filename or "")
                content = await upload.read()
                self._make_room(len(content))
                parts, output, num_characters, finish = await run_in_threadpool(self._prepare, folder, name, content)
            work = self._service.scheduler.submit(Work(parts, glossary))
        except BaseException:
            self._service.requests.end(client.id)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        task = asyncio.create_task(self._finish(client, work, num_characters, output, finish))
        task.add_done_callback(lambda task: self._ended(task, client, work))
        key = secrets.token_hex(16)
        self._jobs[id_] = FileJob(id_, key, folder, len(content), work, num_characters, output, task)
        return self._jobs[id_]

    def find(self, id_: str, key: str | None = None) -> FileJob:
        """A job; RequestError if there is none or the key is another's. Without a key the id, a secret, is enough."""
        self._delete_old()
        job = self._jobs.get(id_)
        if job is None or (key is not None and not secrets.compare_digest(job.key.encode(), key.encode())):
            raise RequestError(404, "no such document; they are kept for an hour")
        return job

    def delete(self, job: FileJob) -> None:
        """Ends a job and deletes its files."""
        job.task.cancel()
        self._jobs.pop(job.id, None)
        shutil.rmtree(job.folder, ignore_errors=True)

    async def close(self) -> None:
        """Ends all jobs."""
        jobs = list(self._jobs.values())
        for job in jobs:
            self.delete(job)
        await asyncio.gather(*(job.task for job in jobs), return_exceptions=True)

    def _delete_old(self) -> None:
        oldest = time.monotonic() - self._keep_seconds
        for job in [job for job in self._jobs.values() if job.task.done() and job.started < oldest]:
            self.delete(job)

    def _make_room(self, num_bytes: int) -> None:
        finished_jobs = [job for job in self._jobs.values() if job.task.done()]
        while sum(job.num_bytes for job in self._jobs.values()) + num_bytes > self._keep_bytes:
            if not finished_jobs:
                raise RequestError(503, "too many files are waiting, try again later", 60)
            self.delete(finished_jobs.pop(0))

    def _prepare(self, folder: Path, name: str, content: bytes) -> tuple:
        """The parts of a file, the path of its translation, its characters, and what makes the translation."""
        if len(content) > self._service.limits.file_bytes:
            raise RequestError(413, f"the file is larger than {self._service.limits.file_bytes} bytes")
        folder.mkdir(parents=True)
        path = folder / name
        path.write_bytes(content)
        try:
            work, finish = _prepared(path, self._service)
            output = output_path(path, *self._service.pair)
        except CorpusError as error:
            place = name if error.line is None else f"{name}:{error.line}"
            raise RequestError(400, f"{place}: {error.kind}{': ' * bool(error.detail)}{error.detail}") from None
        except (ImportError, ValueError) as error:
            raise RequestError(400, str(error).replace(f"{folder}/", "")) from None
        num_characters = sum(len(text) for part in work for paragraph in part.paragraphs for text in paragraph)
        return work, output, num_characters, finish

    async def _finish(
        self,
        client: Client,
        work: Work,
        num_characters: int,
        output: Path,
        finish: Callable[[list[TranslatedDocument]], bytes],
    ) -> None:
        translated = await finished(work, self._service.limits.file_seconds)
        await run_in_threadpool(lambda: output.write_bytes(finish(translated)))
        self._service.num_characters[client.id] += num_characters

    def _ended(self, task: asyncio.Task[None], client: Client, work: Work) -> None:
        """Also of a task that was cancelled before it began."""
        work.future.cancel()
        self._service.requests.end(client.id)
        if not task.cancelled():
            # Whoever asks is told of an exception; asyncio need not log its message.
            task.exception()


def safe_name(name: str) -> str:
    """The name of an uploaded file without what has a meaning in paths; RequestError for names that are not read."""
    name = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2]).lstrip(". ")
    stem, dot, ending = name.rpartition(".")
    if ending.lower() == "gz":
        raise RequestError(400, "compressed files (.gz) are not read: upload the file itself")
    return f"{stem[:_MAX_NAME]}{dot}{ending[:_MAX_NAME]}" or "file.txt"


def _prepared(path: Path, service: Service) -> tuple[list[SourceDocument], Callable[[list[TranslatedDocument]], bytes]]:
    """The parts of a file, and the function that makes the translated file of their translations."""
    source, target = service.pair
    if markup_format_of(path) == "html":
        check_markup(path.read_bytes().decode("latin-1"))
    document = read_file(path, source, target)
    if isinstance(document, Page):
        page = PageTranslation(document, source, target, service.part_sentences)
        bounded = service.bounded(page.parts)
        return bounded.parts, lambda translated: page.finish(_paragraphs(bounded.join(translated)))[0]
    file = document
    work = FileTranslation(file, source, target, service.part_sentences, memory=service.memory)
    bounded = service.bounded(work.parts)
    return bounded.parts, lambda translated: _translated_file(file, work, bounded.join(translated))


def _translated_file(file: DocumentFile, work: FileTranslation, translated: list[TranslatedDocument]) -> bytes:
    """The content of a translated file, in which the segments that come from the translation memory are marked."""
    found = work.finish(_paragraphs(translated), notes_of(translated))
    file.from_memory = found.from_memory
    return file.translated(found.translations)


def _paragraphs(translated: list[TranslatedDocument]) -> list[list[list[str]]]:
    return [document.paragraphs for document in translated]
