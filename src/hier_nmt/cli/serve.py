# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Serves a model over HTTP, with the interfaces of LibreTranslate and DeepL, so that their clients work with it.

hier-nmt serve --model checkpoints/hier-nmt-en-fr
hier-nmt serve --model checkpoints/hier-nmt-en-fr --host 0.0.0.0 --port 8080 --api-keys keys.txt

Texts, HTML, XML and all kinds of files that `hier-nmt translate` reads. Only this machine can reach it unless --host
says otherwise. Requests of different users are translated together. Requires pip install 'hier_nmt[serve]'.
"""

import argparse
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ..configuration.configuration_choices import ENGINES
from ..data.memory_files import read_memory
from ..jobs.confidence_calibration import read_calibration
from ..jobs.load_checkpoints import check_device, languages_of, load_config, load_pipeline
from ..translation.document_translator import STRATEGIES
from .resources import model_or_shipped

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# For the requests that are being answered when it is stopped.
_SHUTDOWN_SECONDS = 10
INTERRUPTED = "stopped"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("--model", help="checkpoint directory; default in a clone: the shipped one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0: all of this machine's")
    parser.add_argument("--port", type=_number, default=5000)
    parser.add_argument("--api-keys", metavar="FILE", type=Path, help="keys, one a line; default: none is needed")
    parser.add_argument("--glossaries", metavar="FOLDER", type=Path, help="keeps glossaries; default: in memory")
    parser.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="web pages that may use it; *: all"
    )
    parser.add_argument(
        "--allow-frame", action="append", default=[], metavar="URL", help="web pages that may show its page in a frame"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="further names of this server; *: any"
    )
    parser.add_argument(
        "--memory", metavar="FILE", type=Path, help="translation memory (TMX): sentences that it has are not translated"
    )
    _add_decoding(parser)
    _add_limits(parser)


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strategy", choices=STRATEGIES, help="default: what suits the model's windows")
    parser.add_argument("--beams", type=_number, default=4)
    parser.add_argument("--batch-size", type=_number, default=32, help="sentences translated at the same time")
    parser.add_argument("--source-language", help="ISO 639 code; default: the model's")
    parser.add_argument("--target-language", help="ISO 639 code; default: the model's")
    parser.add_argument("--engine", choices=ENGINES, default="torch", help="what runs the model, see translate --help")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("limits")
    limits.add_argument("--max-characters", type=_number, default=100_000, help="of a request's texts (413)")
    limits.add_argument("--max-file-megabytes", type=_number, default=16, help="of a file (413)")
    limits.add_argument("--max-waiting", type=_number, default=20_000, help="sentences in the queue (503)")
    limits.add_argument("--max-requests", type=_number, default=500, help="at the same time (503)")
    limits.add_argument("--max-client-requests", type=_number, default=100, help="of one client (429)")
    limits.add_argument("--timeout", type=_number, default=120, help="seconds for texts (504)")
    limits.add_argument("--file-timeout", type=_number, default=3600, help="seconds for a file (504)")


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def make_server(options: argparse.Namespace) -> Any:
    """A `uvicorn.Server` for the model, which is loaded; errors in the options are raised before that.

    Raises:
        ImportError: the extra `serve` is not installed.
        ValueError, OSError: an option is wrong.
    """
    try:
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        needed = "hier-nmt serve needs starlette, uvicorn and python-multipart"
        raise ImportError(f"{needed}: pip install 'hier_nmt[serve]'") from error
    from ..server.access import LOOPBACK_HOSTS, Access, read_keys
    from ..server.application import make_application
    from ..server.glossaries import GlossaryStore
    from ..server.limits import Limits
    from ..server.pipeline_batches import PipelineBatches
    from ..server.service import Pair, Service

    options.model = model_or_shipped(options.model)
    check_device(options.device)
    pair = Pair(*languages_of(load_config(options.model), options.source_language, options.target_language))
    access = Access(() if options.api_keys is None else read_keys(options.api_keys))
    glossaries = GlossaryStore(options.glossaries)
    # Similar sentences would be looked for in vain: the answers have no place for them.
    memory = None if options.memory is None else read_memory(options.memory, *pair, threshold=100)
    limits = replace(
        Limits(),
        characters=options.max_characters,
        file_bytes=options.max_file_megabytes * 2**20,
        requests=options.max_requests,
        client_requests=options.max_client_requests,
        waiting_sentences=options.max_waiting,
        seconds=options.timeout,
        file_seconds=options.file_timeout,
    )
    calibration = read_calibration(options.model)
    batches = PipelineBatches(
        load_pipeline(options.model, options.device, options.engine, options.strategy),
        batch_size=options.batch_size,
        num_beams=options.beams,
        strategy=options.strategy,
        source_language=pair.source,
        target_language=pair.target,
    )
    service = Service(
        batches,
        pair,
        part_sentences=batches.part_sentences,
        accepts_glossary=batches.accepts_glossary,
        limits=limits,
        access=access,
        batch_sentences=options.batch_size,
        window_sentences=batches.window_sentences,
        read=batches.sentences_read if batches.shows_reading else None,
        with_confidence=batches.with_confidence,
        memory=memory,
        calibration=calibration,
    )
    hosts = (*LOOPBACK_HOSTS, *options.allow_host) if options.host in _LOOPBACK else options.allow_host or ["*"]
    app = make_application(
        service,
        glossaries=glossaries,
        allowed_origins=options.allow_origin,
        allowed_hosts=list(hosts),
        framing_sites=options.allow_frame,
    )
    # Its access log would have whole addresses, in which there may be text; the application has its own.
    config = uvicorn.Config(
        app, options.host, options.port, access_log=False, log_config=None, timeout_graceful_shutdown=_SHUTDOWN_SECONDS
    )
    return uvicorn.Server(config)


def run(options: argparse.Namespace) -> None:
    """Serves until it is interrupted."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    for name in ("hier_nmt.server", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
    server = make_server(options)
    if options.host not in _LOOPBACK and options.api_keys is None:
        logging.getLogger(__name__).warning("other machines can use this server without an API key (--api-keys)")
    server.run()
