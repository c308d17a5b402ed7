# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Exports a model to ONNX graphs (encoder, and decoder with cache) or to CTranslate2, optionally in int8, and compares
what it wrote with the model.

hier-nmt export checkpoints/hier-nmt-en-fr runs/onnx --int8
hier-nmt export checkpoints/hier-nmt-en-fr runs/ctranslate2 --to ctranslate2 --int8
hier-nmt export checkpoints/hier-nmt-en-fr runs/onnx --int8 --compare dev_2011a.jsonl.gz --limit 300

The comparison translates single sentences greedily on one thread. Requires pip install 'hier_nmt[export]', or
'hier_nmt[ctranslate2]'.
"""

import argparse
import itertools
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sacrebleu
import torch
from transformers import AutoModelForSeq2SeqLM

from ..data.corpora import read_documents
from ..data.documents import SentencePair
from ..data.tokenization import load_tokenizers
from ..jobs.load_checkpoints import load_config, single_sentence_config
from ..publishing.ctranslate2_export import check_expressible, export_ctranslate2
from ..publishing.ctranslate2_model import open_translator
from ..publishing.onnx_export import ExportError, check_exportable, export_model, quantize_model
from ..publishing.onnx_translator import OnnxTranslator

Greedy = Callable[[list[int]], list[int]]


def eager(model: Any, max_new_tokens: int) -> Greedy:
    """Greedy decoding with the model itself."""

    def decode(source: list[int]) -> list[int]:
        options = {"num_beams": 1, "do_sample": False, "max_new_tokens": max_new_tokens}
        with torch.inference_mode():
            return model.generate(torch.tensor([source]), **options)[0, 1:].tolist()

    return decode


def with_onnx(folder: Path, max_new_tokens: int) -> Greedy:
    """Greedy decoding with exported graphs."""
    translator = OnnxTranslator(folder)
    return lambda source: translator.generate([source], max_new_tokens)[0]


def with_ctranslate2(folder: Path, tokenizers: Any, max_new_tokens: int) -> Greedy:
    """Greedy decoding with CTranslate2."""
    source_tokenizer, target_tokenizer = tokenizers
    translator = open_translator(folder, "default", num_threads=1)

    def decode(source: list[int]) -> list[int]:
        tokens = source_tokenizer.convert_ids_to_tokens(source)
        result = translator.translate_batch([tokens], beam_size=1, max_decoding_length=max_new_tokens)
        return target_tokenizer.convert_tokens_to_ids(result[0].hypotheses[0])

    return decode


def size_of(folder: Path) -> float:
    """Size in MB of the weights or graphs in a folder."""
    files = [path for ending in ("*.safetensors", "*.onnx", "model.bin") for path in folder.glob(ending)]
    return sum(path.stat().st_size for path in files) / 1e6


def compare(forms: dict[str, tuple[Greedy, float]], tokenizers: Any, pairs: list[SentencePair]) -> None:
    """Prints for each form its size, speed and BLEU, and how many translations equal those of the first form."""
    source_tokenizer, target_tokenizer = tokenizers
    sources = [
        [*source_tokenizer(pair.source, add_special_tokens=False)["input_ids"], source_tokenizer.eos_token_id]
        for pair in pairs
    ]
    metric = sacrebleu.BLEU()
    first: list[str] = []
    print("| form | MB | sentences a CPU second | BLEU | same as the first |\n|---|---|---|---|---|")
    for name, (decode, megabytes) in forms.items():
        decode(sources[0])
        start = time.process_time()
        outputs = [decode(source) for source in sources]
        speed = len(sources) / (time.process_time() - start)
        texts = [target_tokenizer.decode(ids, skip_special_tokens=True) for ids in outputs]
        first = first or texts
        score = metric.corpus_score(texts, [[pair.target for pair in pairs]]).score
        same = sum(one == other for one, other in zip(texts, first, strict=True))
        print(f"| {name} | {megabytes:.1f} | {speed:.1f} | {score:.2f} | {same} of {len(texts)} |", flush=True)
    print(f"\nBLEU: {metric.get_signature()}, {len(pairs)} sentences")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("model", type=Path, help="checkpoint directory")
    parser.add_argument("output", type=Path, help="folder to write; int8 goes to OUTPUT/int8")
    parser.add_argument("--to", choices=("onnx", "ctranslate2"), default="onnx", help="default: onnx")
    parser.add_argument("--int8", action="store_true", help="also export with int8 matrices")
    parser.add_argument("--compare", type=Path, metavar="CORPUS", help="JSON lines of documents in both languages")
    parser.add_argument("--limit", type=int, default=300, help="sentences of the corpus to compare with")


def run(options: argparse.Namespace) -> None:
    """Exports the model and compares the forms, without the exporter's many warnings."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    try:
        _export(options)
    finally:
        logging.disable(disabled)


def _export(options: argparse.Namespace) -> None:
    config: Any = load_config(options.model)
    if options.to == "onnx":
        check_exportable(config)
    else:
        config = _expressible(config, options.model)
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(options.model, config=config, dtype=torch.float32)
    tokenizers = load_tokenizers(options.model)
    limit = config.max_target_tokens
    folders = (to_onnx if options.to == "onnx" else to_ctranslate2)(model, tokenizers, options)
    print(*(f"written to {folder} ({size_of(folder):.1f} MB)" for folder in folders.values()), sep="\n")
    if options.compare:
        languages = (config.source_language, config.target_language)
        documents = read_documents([options.compare], "json-lines", *languages)
        pairs = (pair for item in documents for group in item.paragraphs for pair in group)
        forms = {"PyTorch float32": (eager(model, limit), 4 * model.num_parameters() / 1e6)}
        for name, folder in folders.items():
            is_onnx = options.to == "onnx"
            decode = with_onnx(folder, limit) if is_onnx else with_ctranslate2(folder, tokenizers, limit)
            forms[name] = (decode, size_of(folder))
        compare(forms, tokenizers, list(itertools.islice(pairs, options.limit)))


def _expressible(config: Any, checkpoint: Path) -> Any:
    """The configuration, or that of single sentences if CTranslate2 has no equal of the network.

    Raises:
        ExportError: CTranslate2 has no equal of either.
    """
    try:
        check_expressible(config)
        return config
    except ExportError as error:
        alone = single_sentence_config(checkpoint)
        if alone is None:
            raise
        check_expressible(alone)
        print(f"exported for single sentences, as with --strategy sentence, because {error}")
        return alone


def to_onnx(model: Any, tokenizers: Any, options: argparse.Namespace) -> dict[str, Path]:
    """Writes the graphs; the folders by the name of the form."""
    folders = {"ONNX float32": export_model(model, options.output)}
    if options.int8:
        folders["ONNX int8"] = quantize_model(options.output, options.output / "int8")
    return folders


def to_ctranslate2(model: Any, tokenizers: Any, options: argparse.Namespace) -> dict[str, Path]:
    """Writes CTranslate2 models whose tokens are those of the tokenizers; the folders by the name of the form."""
    config = model.config
    source, target = (
        tokenizer.convert_ids_to_tokens(list(range(size)))
        for tokenizer, size in zip(tokenizers, (config.vocab_size, config.target_vocab_size), strict=True)
    )
    names = {"tokens": (source, target), "unk_token": tokenizers[1].unk_token}
    folders = {"CTranslate2 float32": export_ctranslate2(model, options.output, **names)}
    if options.int8:
        int8 = export_ctranslate2(model, options.output / "int8", **names, quantization="int8")
        folders["CTranslate2 int8"] = int8
    return folders
