# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Servers of a model that writes every word in capital letters."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from word_translation import ProbableTranslator, WordTranslator

from hier_nmt.server.access import Access
from hier_nmt.server.application import make_application
from hier_nmt.server.limits import Limits
from hier_nmt.server.pipeline_batches import PipelineBatches
from hier_nmt.server.service import Pair, Service
from hier_nmt.text.translation_memory import TranslationMemory
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline


def word_service(
    model: WordTranslator | None = None,
    translate: Any = None,
    keys: tuple[str, ...] = (),
    memory: TranslationMemory | None = None,
    **limits: Any,
) -> Service:
    """A service from English to French.

    Args:
        model: the model; default: one of single sentences.
        translate: what translates parts; default: the pipeline of the model.
        keys: API keys.
        memory: a translation memory.
        limits: of `Limits`.
    """
    model = model or WordTranslator(source_language="en", target_language="fr")
    batches = PipelineBatches(DocumentTranslationPipeline(model, model.tokenizer))
    return Service(
        translate or batches,
        Pair("en", "fr"),
        part_sentences=batches.part_sentences,
        accepts_glossary=batches.accepts_glossary,
        limits=Limits(**limits),
        access=Access(keys),
        with_confidence=batches.with_confidence if isinstance(model, ProbableTranslator) else None,
        memory=memory,
    )


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address of the application at a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None, timeout_graceful_shutdown=10))
        thread = threading.Thread(target=server.run, args=([free],), daemon=True)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield f"http://127.0.0.1:{free.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)


def application(service: Service | None = None, **options: Any) -> Any:
    """The application of a service."""
    return make_application(service or word_service(), **options)
