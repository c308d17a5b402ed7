# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores exported translations with COMET (Rei et al. 2022), in an environment of its own.

COMET needs an older Transformers than hier_nmt, so this file imports nothing of the package:

    hier-nmt compare dev.jsonl --languages en fr --system base=... --export runs/segments.jsonl
    python -m venv .venv-comet && .venv-comet/bin/pip install -r training/comet/requirements.txt
    .venv-comet/bin/python training/comet/score_comet.py runs/segments.jsonl --output runs/comet.json

The model is downloaded from the Hub at first use; some need an accepted licence there.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

DEFAULT_MODEL = "Unbabel/wmt22-comet-da"
Segments = list[dict[str, str]]


def read_segments(path: Path) -> dict[str, Segments]:
    """The segments of each system; ValueError names the malformed line."""
    systems: dict[str, Segments] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
            segment = {key: str(content[key]) for key in ("src", "mt", "ref")}
            systems.setdefault(str(content["system"]), []).append(segment)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: not a segment with system, src, mt and ref ({error!r})") from None
    if not systems:
        raise ValueError(f"{path} has no segments")
    return systems


def load_model(name: str) -> Any:
    """The COMET model; SystemExit says what is missing."""
    try:
        import comet
    except ImportError:
        sys.exit("error: COMET is not installed here; see the top of this file for its environment")
    try:
        return comet.load_from_checkpoint(comet.download_model(name))
    except Exception as error:
        sys.exit(f"error: the COMET model {name} cannot be loaded: {error}")


def score(systems: dict[str, Segments], predict: Callable[[Segments], Any], model_name: str) -> list[dict[str, Any]]:
    """For each system its COMET score, times 100, with the signature."""
    try:
        comet_version = version("unbabel-comet")
    except PackageNotFoundError:
        comet_version = "unknown"
    return [
        {
            "system": name,
            "comet": 100 * float(predict(segments).system_score),
            "num_segments": len(segments),
            "signature": f"comet|model:{model_name}|segments:{len(segments)}|version:{comet_version}",
        }
        for name, segments in systems.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; 1 if the input is at fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("segments", type=Path, help="JSON lines with system, src, mt and ref")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    try:
        systems = read_segments(options.segments)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    model = load_model(options.model)
    results = score(
        systems,
        lambda segments: model.predict(segments, batch_size=options.batch_size, gpus=options.gpus),
        options.model,
    )
    for result in results:
        print(f"{result['system']}: {result['comet']:.2f}  {result['signature']}")
    if options.output:
        temporary = options.output.with_name(options.output.name + ".part")
        temporary.write_text(json.dumps(results, indent=2), encoding="utf-8")
        os.replace(temporary, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
