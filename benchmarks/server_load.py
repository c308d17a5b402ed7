# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Load of `hier-nmt serve`: many clients with short texts, some with long documents; every answer is checked.

python benchmarks/server_load.py --model checkpoints/hier-nmt-en-fr --clients 64 --requests 5 --documents 2

Starts a server of its own, sends a bounded number of requests, and prints how long they took. Exits with 1 if an answer
is missing, is an error or lacks a line.
"""

import argparse
import http.client
import json
import math
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hier_nmt.text.segmentation import segment_text

REPOSITORY = Path(__file__).resolve().parents[1]
START_SECONDS, ANSWER_SECONDS = 120, 600
# Lines of a short text.
SHORT = 2


@dataclass
class Tally:
    """What happened to the requests of one kind.

    Attributes:
        seconds: of each answered request.
        failures: what was wrong with the others.
    """

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def line(self, name: str, wanted: int) -> str:
        """The figures in one line."""
        share = f"{len(self.seconds)} of {wanted} answered"
        if not self.seconds:
            return f"{name}: {share}"
        p50, p95 = (percentile(self.seconds, share) for share in (0.5, 0.95))
        return f"{name}: {share}; p50 {p50:.2f} s, p95 {p95:.2f} s, longest {max(self.seconds):.2f} s"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is at least as large as this share of the values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def ask(port: int, lines: Sequence[str], tally: Tally) -> None:
    """Has lines translated, and checks that as many come back."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    body = json.dumps({"q": "\n".join(lines), "source": "auto", "target": target_language(port)})
    start = time.perf_counter()
    try:
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = json.loads(answer.read())
        if answer.status != 200:
            tally.failures.append(f"{answer.status} {content.get('error')}")
            return
        translated = content["translatedText"].split("\n")
        if len(translated) != len(lines) or not all(line.strip() for line in translated):
            tally.failures.append(f"{len(translated)} lines of {len(lines)}")
            return
        tally.seconds.append(time.perf_counter() - start)
    except (OSError, ValueError, http.client.HTTPException) as error:
        tally.failures.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


_targets: dict[int, str] = {}


def target_language(port: int) -> str:
    """The target language of the server at a port."""
    if port not in _targets:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
        connection.request("GET", "/languages")
        _targets[port] = json.loads(connection.getresponse().read())[0]["targets"][0]
        connection.close()
    return _targets[port]


@contextmanager
def serving(arguments: Sequence[str]) -> Iterator[int]:
    """The port of a server with these options, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "hier_nmt", "serve", "--port", str(port), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            try:
                target_language(port)
                break
            except OSError:
                time.sleep(0.2)
        else:
            raise RuntimeError("the server did not start; try its command line by itself")
        yield port
    finally:
        process.terminate()
        process.wait(timeout=60)


def run_load(port: int, lines: Sequence[str], options: argparse.Namespace) -> tuple[Tally, Tally, float]:
    """Short texts and long documents, all at the same time, and the seconds that everything took."""
    short, long = Tally(), Tally()

    def client(index: int) -> None:
        for number in range(options.requests):
            first = (index * options.requests + number) * SHORT % (len(lines) - SHORT)
            ask(port, lines[first : first + SHORT], short)

    document = (list(lines) * (options.document_lines // len(lines) + 1))[: options.document_lines]
    threads = [threading.Thread(target=ask, args=(port, document, long)) for _ in range(options.documents)]
    threads += [threading.Thread(target=client, args=(index,)) for index in range(options.clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return short, long, time.perf_counter() - start


def parse_arguments(arguments: Sequence[str] | None = None) -> tuple[argparse.Namespace, list[str]]:
    """The options, and those that are for the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64, help="each waits for its answer before it asks again")
    parser.add_argument("--requests", type=int, default=5, help="of each client")
    parser.add_argument("--documents", type=int, default=2, help="long documents that begin at the same time")
    parser.add_argument("--document-lines", type=int, default=400)
    sample = REPOSITORY / "src" / "hier_nmt" / "resources" / "sample_document.en.txt"
    parser.add_argument("--text", type=Path, default=sample, help="whose sentences are sent, one a line")
    return parser.parse_known_args(arguments)


def main() -> int:
    """Measures, prints, and returns 1 if anything was lost."""
    options, for_server = parse_arguments()
    segments = segment_text(options.text.read_text(encoding="utf-8"), "en")
    lines = [segment.text for segment in segments if segment.is_sentence]
    with serving(for_server) as port:
        ask(port, lines[:SHORT], Tally())
        short, long, seconds = run_load(port, lines, options)
    num_lines = SHORT * len(short.seconds) + options.document_lines * len(long.seconds)
    print(short.line(f"{options.clients} clients, texts of {SHORT} lines", options.clients * options.requests))
    if options.documents:
        print(long.line(f"documents of {options.document_lines} lines", options.documents))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{num_lines} lines in {seconds:.1f} s, {num_lines / seconds:.1f} a second; "
        f"{usage.ru_utime + usage.ru_stime:.1f} CPU seconds of the server with its start"
    )
    for failure in short.failures + long.failures:
        print(f"failed: {failure}")
    lost = options.clients * options.requests + options.documents - len(short.seconds) - len(long.seconds)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
