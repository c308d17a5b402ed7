# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates a text file as one document and prints source and translation, sentence by sentence.

python training/translate.py --model checkpoints/hier-nmt-en-fr my.txt --output my.fr.txt
"""

import argparse
import itertools
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import Pipeline, pipeline
from transformers.utils import logging

import hier_nmt  # noqa: F401  (registers the pipeline)
from hier_nmt.evaluation.text_files import read_text, write_text
from hier_nmt.models.document_translation import STRATEGIES

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "examples" / "sample_document.en.txt"


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=SAMPLE, help="UTF-8 text; default: the sample document")
    parser.add_argument("--model", default=ROOT / "checkpoints" / "hier-nmt-en-fr", help="checkpoint directory")
    parser.add_argument("--output", help="file for the translated text alone, paragraphs as in the source")
    parser.add_argument("--print", choices=["pairs", "columns", "translation"], default="pairs", dest="form")
    parser.add_argument("--context", metavar="FILE", help="text before this one: read, but not translated")
    parser.add_argument("--strategy", choices=STRATEGIES, help="default: what suits the model's windows")
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32, help="windows decoded at the same time")
    parser.add_argument("--source-language", help="for cutting the text into sentences; default: the model's")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args(arguments)


def load(options: argparse.Namespace) -> Pipeline:
    """The pipeline. On a CPU in float32, as only some are faster in bfloat16, and without PyTorch's fused attention,
    which is slower there for the single query of a decoding step."""
    logging.disable_progress_bar()
    on_cpu = options.device == "cpu"
    dtype: Any = torch.float32 if on_cpu else "auto"
    attention = {"attn_implementation": "eager" if on_cpu else "sdpa"}
    if not Path(options.model).is_dir():
        raise FileNotFoundError(f"there is no checkpoint directory {options.model}")
    task: Any = "translation"
    pipe = pipeline(task, model=str(options.model), device=options.device, dtype=dtype, model_kwargs=attention)
    logging.enable_progress_bar()
    return pipe


def translate(options: argparse.Namespace) -> dict[str, Any]:
    """The translated text and its sentences."""
    text = read_text(options.file)
    if not text.strip():
        raise ValueError(f"{options.file} is empty")
    context = None if options.context is None else read_text(options.context)
    wanted = {"strategy": options.strategy, "source_language": options.source_language, "context": context}
    return load(options)(
        text,
        num_beams=options.beams,
        batch_size=options.batch_size,
        return_sentences=True,
        progress=sys.stderr.isatty(),
        **{name: value for name, value in wanted.items() if value is not None},
    )[0]


def lines_of(output: dict[str, Any], form: str) -> Iterable[str]:
    """What is printed."""
    if form == "translation":
        yield output["translation_text"]
        return
    width = (shutil.get_terminal_size((120, 24)).columns - 3) // 2
    for index, sentences in itertools.groupby(output["sentences"], key=lambda sentence: sentence["paragraph"]):
        if index:
            yield ""
        for sentence in sentences:
            source, translation = sentence["source"], sentence["translation"]
            if form == "pairs":
                yield from (source, f"    {translation}")
                continue
            columns = (textwrap.wrap(source, width), textwrap.wrap(translation, width))
            yield from (f"{left:<{width}} | {right}" for left, right in itertools.zip_longest(*columns, fillvalue=""))


def main() -> int:
    """Runs the command line; 1 if the input is at fault."""
    options = parse_arguments()
    start = time.perf_counter()
    try:
        output = translate(options)
        if options.output:
            write_text(options.output, output["translation_text"])
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for line in lines_of(output, options.form):
        print(line)
    seconds = time.perf_counter() - start
    print(f"{len(output['sentences'])} sentences in {seconds:.0f} seconds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
