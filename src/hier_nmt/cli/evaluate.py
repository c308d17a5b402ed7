# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates a parallel corpus with one or more strategies and reports BLEU, chrF, TER and document BLEU.

hier-nmt evaluate checkpoints/hier-nmt-en-fr dev.jsonl --strategy current prefix --output-dir runs/dev

Translations are written to the output directory as they are made; after an interruption the same command continues.
"""

import argparse
import itertools
import logging
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM

from ..configuration.configuration_choices import ENGINES
from ..data.corpora import FORMATS, read_documents
from ..data.documents import ParallelDocument
from ..data.text_files import check_writable, write_text
from ..data.tokenization import load_tokenizers
from ..evaluation.metrics import ScoreReport, flat, score_documents, score_json, score_table, sentence_chrf
from ..evaluation.teacher_forcing import force_documents, forced_report
from ..jobs.confidence_calibration import FILE_NAME, MIN_SENTENCES, calibrate, reliability_table, write_calibration
from ..jobs.load_checkpoints import check_device, load_with_config, named_in_errors, single_sentence_config
from ..jobs.translate_corpus import translate_documents
from ..publishing.model_engines import with_engine
from ..translation.document_translator import STRATEGIES
from ..translation.translation_documents import TranslatedDocument
from ..translation.translation_report import DecodingStatistics
from .resources import settings_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("model", help="checkpoint directory")
    parser.add_argument("corpus", nargs="+", help="corpus files; for moses: source and target files in turn")
    parser.add_argument("--format", choices=FORMATS, default="json-lines")
    parser.add_argument("--source-language", help="default: the model's")
    parser.add_argument("--target-language", help="default: the model's")
    parser.add_argument("--skip-bad", action="store_true", help="skip malformed documents instead of stopping")
    parser.add_argument("--limit", type=int, help="only the first LIMIT documents")
    parser.add_argument(
        "--strategy", nargs="+", choices=STRATEGIES, help="give it after the corpus files; default: the model's"
    )
    parser.add_argument("--window-sentences", type=int, help="default: the model's")
    parser.add_argument("--beams", type=int, default=4, help="1: greedy decoding; default: 4")
    parser.add_argument("--length-penalty", type=float, default=1.0)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--max-batch-tokens", type=int, help="source tokens in a batch, including padding")
    parser.add_argument("--output-dir", help="for the translations and scores.json; without it nothing is written")
    parser.add_argument("--no-ter", action="store_true", help="skip TER, which is slow")
    parser.add_argument(
        "--teacher-forced",
        action="store_true",
        help="also score the model's tokens under teacher forcing, which is not a translation",
    )
    parser.add_argument("--bleu-orders", nargs="+", type=int, default=[], metavar="N", help="also BLEU-N")
    parser.add_argument(
        "--plain-typography",
        action="store_true",
        help="score with straight quotation marks and apostrophes on both sides",
    )
    parser.add_argument(
        "--keep-numbers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="decode sentences again whose translation lacks a number of theirs (default); signatures say numbers:kept",
    )
    parser.add_argument(
        "--calibrate-confidence",
        nargs="?",
        type=float,
        const=50.0,
        metavar="CHRF",
        help="store beside the model how often translations of a confidence are good, that is, have this sentence chrF "
        "(default: 50); give it after the corpus files",
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="torch",
        help="what runs the model, see docs/translating.md (default: torch)",
    )
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16 instead of float32")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")


def read_corpus(options: argparse.Namespace, config: Any) -> list[ParallelDocument]:
    """The documents to translate."""
    # Other families' configurations may have none.
    source_language = options.source_language or getattr(config, "source_language", None)
    target_language = options.target_language or getattr(config, "target_language", None)
    if source_language is None or target_language is None:
        raise ValueError("the model has no languages: give --source-language and --target-language")
    documents = read_documents(
        options.corpus, options.format, source_language, target_language, skip_bad=options.skip_bad
    )
    return list(itertools.islice(documents, options.limit))


def evaluate(
    options: argparse.Namespace, model: Any, documents: list[ParallelDocument], strategy: str | None
) -> tuple[ScoreReport, dict[str, Any]]:
    """The scores of one strategy, and the decoding statistics."""
    tokenizer, target_tokenizer = load_tokenizers(options.model)
    statistics = DecodingStatistics()
    results: list[TranslatedDocument] = []
    start = time.perf_counter()
    translations = translate_documents(
        model,
        tokenizer,
        documents,
        strategy=strategy,
        target_tokenizer=target_tokenizer,
        window_sentences=options.window_sentences,
        batch_size=options.batch_size,
        max_batch_tokens=options.max_batch_tokens,
        output_file=options.output_dir and Path(options.output_dir) / f"translations.{strategy or 'default'}.jsonl",
        statistics=statistics,
        keep_numbers=options.keep_numbers,
        confidence=options.calibrate_confidence is not None,
        results=results,
        **languages_to_tell(options, model.config),
        generate_kwargs={"num_beams": options.beams, "length_penalty": options.length_penalty},
    )
    facts = {"seconds": round(time.perf_counter() - start, 1), "counts": asdict(statistics)}
    if options.calibrate_confidence is not None:
        store_calibration(options, documents, results, strategy)
    scoring = scoring_options(options, model.config)
    scoring["decoding"] = [f"beams:{options.beams}", f"length_penalty:{options.length_penalty:g}"]
    if options.keep_numbers:
        scoring["decoding"].append("numbers:kept")
    if options.engine != "torch":
        scoring["decoding"].append(f"engine:{options.engine}")
    return score_documents(translations, references_of(documents), label=strategy or "default", **scoring), facts


def languages_to_tell(options: argparse.Namespace, config: Any) -> dict[str, Any]:
    """The languages of the options for a model whose configuration has none; others may name theirs in another way than
    the corpus does ("eng" and "en")."""
    names = ("source_language", "target_language")
    return {name: getattr(options, name) for name in names if getattr(config, name, None) is None}


def store_calibration(
    options: argparse.Namespace,
    documents: list[ParallelDocument],
    results: list[TranslatedDocument],
    strategy: str | None,
) -> None:
    """Stores beside the model what its confidence in these translations means, and prints it."""
    confidences, chrf = [], []
    for translated, reference in zip(results, references_of(documents), strict=True):
        sentences = zip(flat(translated.paragraphs), flat(reference), translated.confidences or (), strict=True)
        for text, wanted, told in sentences:
            if told.confidence is not None:
                confidences.append(told.confidence)
                chrf.append(sentence_chrf(text, wanted))
    calibration = calibrate(confidences, chrf, options.calibrate_confidence)
    facts = {"corpus": [Path(name).name for name in options.corpus], "strategy": strategy, "beams": options.beams}
    path = write_calibration(options.model, calibration, **facts, engine=options.engine)
    print(reliability_table(calibration), f"written to {path}", sep="\n\n", end="\n\n")


def evaluate_forced(
    options: argparse.Namespace, model: Any, documents: list[ParallelDocument]
) -> tuple[ScoreReport, dict[str, Any]]:
    """The scores of the model's output under teacher forcing."""
    tokenizer, target_tokenizer = load_tokenizers(options.model)
    start = time.perf_counter()
    model.eval()
    forced = force_documents(
        model,
        tokenizer,
        documents,
        target_tokenizer,
        **languages_to_tell(options, model.config),
        batch_size=options.batch_size,
        progress=True,
    )
    facts = {"seconds": round(time.perf_counter() - start, 1)}
    return forced_report(forced, references_of(documents), **scoring_options(options, model.config)), facts


def references_of(documents: list[ParallelDocument]) -> list[list[list[str]]]:
    """The target sentences of each document by paragraph."""
    return [[[pair.target for pair in paragraph] for paragraph in document.paragraphs] for document in documents]


def scoring_options(options: argparse.Namespace, config: Any) -> dict[str, Any]:
    """Scoring options that all strategies of this run share."""
    language = options.target_language or config.target_language
    return {
        "target_language": language,
        "with_ter": not options.no_ter,
        "bleu_orders": options.bleu_orders,
        "plain_typography": options.plain_typography,
    }


def model_for_engine(options: argparse.Namespace, model: Any) -> Any:
    """What the engine runs: the model or, if only single sentences are translated, what `load_pipeline` gives it."""
    if options.engine == "torch" or options.strategy != ["sentence"]:
        return model
    config = single_sentence_config(options.model)
    return model if config is None else load_with_config(options.model, config, dtype=torch.float32)


def check_calibration(options: argparse.Namespace) -> None:
    """Raises ValueError for options that cannot make a calibration."""
    good = options.calibrate_confidence
    if good is None:
        return
    if not 0 < good < 100:
        raise ValueError(f"--calibrate-confidence {good:g}: chrF is between 0 and 100")
    if options.strategy and len(options.strategy) > 1:
        raise ValueError(f"--calibrate-confidence needs one strategy, got {' '.join(options.strategy)}")
    if not Path(options.model).is_dir():
        raise FileNotFoundError(f"no such checkpoint directory: {options.model}")
    check_writable(Path(options.model) / FILE_NAME)


def run(options: argparse.Namespace) -> None:
    """Translates the corpus, then prints and writes the scores."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    check_device(options.device)
    check_calibration(options)
    if options.bf16 and options.engine != "torch":
        raise ValueError(f"--bf16 with --engine {options.engine}: the engines run models in float32 or int8")
    dtype = torch.bfloat16 if options.bf16 else torch.float32
    # On a CPU PyTorch's fused attention is slower for the single query of a decoding step.
    attention = "eager" if options.device == "cpu" else None
    with named_in_errors(options.model):
        model: Any = AutoModelForSeq2SeqLM.from_pretrained(options.model, dtype=dtype, attn_implementation=attention)
    model.to(options.device)
    documents = read_corpus(options, model.config)
    num_sentences = sum(document.num_sentences for document in documents)
    if options.calibrate_confidence is not None and num_sentences < MIN_SENTENCES:
        raise ValueError(f"--calibrate-confidence takes {MIN_SENTENCES} sentences, and the corpus has {num_sentences}")
    translator = with_engine(model_for_engine(options, model), options.engine)
    results = [evaluate(options, translator, documents, strategy) for strategy in options.strategy or [None]]
    if options.teacher_forced:
        results.append(evaluate_forced(options, model, documents))
    reports = [report for report, _ in results]
    print(score_table(reports))
    if options.output_dir:
        facts = {report.label: facts for report, facts in results}
        content = score_json(reports, settings=settings_of(options), decoding=facts)
        write_text(Path(options.output_dir) / "scores.json", content)
