# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a model on a contrastive set: which translation it prefers and, with --generate, which one it produces.

hier-nmt contrastive checkpoints/hier-nmt-en-fr anaphora.json --format discevalmt
hier-nmt contrastive Helsinki-NLP/opus-mt-en-fr set.jsonl --context-separator " "
"""

import argparse
import json
import logging
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from ..data.text_files import check_writable, write_text
from ..data.tokenization import load_tokenizers
from ..evaluation.context_control import CONTEXTS, with_context
from ..evaluation.contrastive import (
    NORMALISATIONS,
    SCORES,
    ContrastiveReport,
    contrastive_report,
    contrastive_table,
    example_records,
    generative_report,
    random_scores,
    score_options,
    translate_examples,
)
from ..evaluation.contrastive_readers import CONTRASTIVE_FORMATS, read_contrastive
from ..evaluation.contrastive_sets import ContrastiveExample
from ..evaluation.forced_scoring import WindowBuilder
from ..evaluation.metrics import score_json
from ..jobs.load_checkpoints import check_device, named_in_errors
from .resources import settings_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("model", help="checkpoint directory or name on the Hub of any encoder-decoder")
    parser.add_argument(
        "set",
        nargs="+",
        help="files of the set; line-paired: current source, current target, context source, "
        "context target, or with --context-lines: source, target; voita: JSON files, or text files source and "
        "target in turn",
    )
    parser.add_argument("--format", choices=CONTRASTIVE_FORMATS, default="json-lines")
    parser.add_argument("--context-dir", help="for contrapro: the folder with its documents")
    parser.add_argument(
        "--languages", nargs=2, default=["en", "de"], help="languages of those documents (default: en de)"
    )
    parser.add_argument(
        "--context-lines", type=int, help="for line-paired in two files: number of context lines before each sentence"
    )
    parser.add_argument(
        "--score", choices=SCORES, default="current", help="score the current sentence or the whole window"
    )
    parser.add_argument("--normalisation", choices=NORMALISATIONS, default="mean", help="over tokens")
    parser.add_argument("--window-sentences", type=int, help="default: the model's")
    parser.add_argument(
        "--context-separator", help="text between sentences for models without <sep>; default: no context"
    )
    parser.add_argument(
        "--generate", action="store_true", help="also translate, and check the words of the translation"
    )
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--source-language", help="of a model of many languages; default: the model's")
    parser.add_argument("--target-language", help="likewise")
    parser.add_argument(
        "--context",
        choices=CONTEXTS,
        default="own",
        help="own: the example's context (default); none and random, sentences of other examples, measure its effect",
    )
    parser.add_argument("--context-seed", type=int, default=1, help="seed of --context random (default: 1)")
    parser.add_argument(
        "--random", type=int, metavar="SEED", help="score at random instead, which must give chance level"
    )
    parser.add_argument("--label", help="name of the model in the table; default: the name of its directory")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--output", type=Path, help="write the figures here as JSON")
    parser.add_argument(
        "--examples-output", type=Path, help="write scores and outcome of each example here, JSON lines"
    )
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16 instead of float32")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")


def check_options(options: argparse.Namespace) -> None:
    """Raises ValueError or OSError for options that would fail later."""
    for name in ("batch_size", "beams"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} {getattr(options, name)} must be at least 1")
    check_device(options.device)
    for path in filter(None, (options.output, options.examples_output)):
        check_writable(path)


def evaluate(
    options: argparse.Namespace, examples: list[ContrastiveExample]
) -> tuple[list[ContrastiveReport], list[dict[str, Any]]]:
    """The contrastive report, the generative report if requested, and the outcome of each example."""
    if options.random is not None:
        scores = random_scores(examples, options.random)
        return [contrastive_report(examples, scores, f"random {options.random}")], example_records(examples, scores)
    label = options.label or Path(options.model).resolve().name
    dtype = torch.bfloat16 if options.bf16 else torch.float32
    with named_in_errors(options.model):
        model: Any = AutoModelForSeq2SeqLM.from_pretrained(options.model, dtype=dtype)
    model.eval().to(options.device)
    is_local = (Path(options.model) / "tokenizer.json").is_file()
    tokenizers = load_tokenizers(options.model) if is_local else (AutoTokenizer.from_pretrained(options.model),) * 2
    builder = WindowBuilder(
        model,
        *tokenizers,
        window_sentences=options.window_sentences,
        context_separator=options.context_separator,
        source_language=options.source_language,
        target_language=options.target_language,
    )
    speed = {"batch_size": options.batch_size, "progress": True}
    scores = score_options(model, builder, examples, score=options.score, normalisation=options.normalisation, **speed)
    context = f"random:{options.context_seed}" if options.context == "random" else options.context
    window = f"window:{builder.window_sentences}" + ("" if context == "own" else f"|context:{context}")
    facts = [window, f"score:{options.score}", f"norm:{options.normalisation}", f"dtype:{dtype}".replace("torch.", "")]
    reports = [contrastive_report(examples, scores, label, *facts)]
    translations = None
    if options.generate:
        translations = translate_examples(model, builder, examples, num_beams=options.beams, **speed)
        reports.append(generative_report(examples, translations, label, window, f"beams:{options.beams}", facts[-1]))
    return reports, example_records(examples, scores, translations)


def run(options: argparse.Namespace) -> None:
    """Scores the model, then prints and writes the results."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    transformers_logging.disable_progress_bar()
    start = time.perf_counter()
    check_options(options)
    examples = read_contrastive(
        options.set,
        options.format,
        context_dir=options.context_dir,
        source_language=options.languages[0],
        target_language=options.languages[1],
        context_lines=options.context_lines,
    )
    reports, records = evaluate(options, with_context(examples, options.context, options.context_seed))
    print(contrastive_table(reports))
    if options.output:
        settings = settings_of(options)
        write_text(options.output, score_json(reports, settings=settings, seconds=time.perf_counter() - start))
    if options.examples_output:
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        write_text(options.examples_output, "".join(lines))
