# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Speed of translating with each engine, and how many of its translations are those of PyTorch.

python benchmarks/decoding.py --corpus dev.jsonl.gz --limit 2000
python benchmarks/decoding.py --beams 1 4 --threads 1 2 --strategy sentence current --output decoding.json
python benchmarks/decoding.py --device cuda --batch-size 256 --one-shape 64 --only torch torch-bfloat16 torch-compiled

All engines translate the same batches of sentences, or windows, through the package's translator, in turn and in an
order that is rotated from part to part of the corpus. Marian networks of the same size with random weights are forced
to write as many tokens as the references have. With `--one-shape LENGTH` PyTorch and Marian, without the translator,
write LENGTH tokens for sources that are padded to LENGTH, as what is compiled is compiled for each shape. Requires
pip install 'hier_nmt[export,ctranslate2]'.
"""

import argparse
import itertools
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu
import torch
from measurement import at_least_one, format_table, run_command_line
from transformers import AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel, logging

from hier_nmt.data.corpora import read_documents
from hier_nmt.data.text_files import write_text
from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.jobs.load_checkpoints import load_with_config, single_sentence_config
from hier_nmt.publishing.model_engines import with_engine
from hier_nmt.publishing.onnx_export import ExportError
from hier_nmt.translation.document_translator import DocumentTranslator
from hier_nmt.translation.translation_documents import SourceDocument

ENGINES = ("torch", "onnx", "onnx-int8", "ctranslate2", "ctranslate2-int8")
# PyTorch in other ways: how the model is loaded, and how it generates. Sentence by sentence it is a plain Transformer,
# as for other engines. Transformers compiles static caches on GPUs.
TORCH_OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "torch-bfloat16": ({"dtype": torch.bfloat16}, {}),
    "torch-static": ({}, {"cache_implementation": "static", "disable_compile": True}),
    "torch-compiled": ({}, {"cache_implementation": "static"}),
    "torch-bfloat16-compiled": ({"dtype": torch.bfloat16}, {"cache_implementation": "static"}),
}
MARIAN = ("Marian, Transformers", "Marian, ctranslate2", "Marian, ctranslate2-int8")
SAMPLE = Path(__file__).parents[1] / "examples" / "news.en-fr.jsonl"
PART_SENTENCES = 200


class Part(NamedTuple):
    """A few documents, with the references of their sentences."""

    documents: list[SourceDocument]
    references: list[str]


@dataclass
class Total:
    """What a system has needed and written so far."""

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    sentences: int = 0
    tokens: int = 0


# Translates a part: the sentences (none where the weights are random), and the number of tokens.
System = Callable[[Part], tuple[list[str], int]]


def translator(
    model: Any, tokenizers: Any, strategy: str, num_beams: int, batch_size: int, **generate_kwargs: Any
) -> System:
    """The package's translator."""
    own = DocumentTranslator(
        model,
        tokenizers[0],
        tokenizers[1],
        strategy=strategy,
        batch_size=batch_size,
        generate_kwargs={"num_beams": num_beams, **generate_kwargs},
    )

    def run(part: Part) -> tuple[list[str], int]:
        outputs = own.translate(part.documents)
        sentences = [sentence for output in outputs for paragraph in output.paragraphs for sentence in paragraph]
        return sentences, sum(len(ids) for ids in tokenizers[1](sentences, add_special_tokens=False)["input_ids"])

    return run


def marian_model(config: Any) -> MarianMTModel:
    """A Marian network of the size of a model, with random weights."""
    torch.manual_seed(0)
    names = ("vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim")
    options: dict[str, Any] = {
        name: getattr(config, name) for name in (*names, "encoder_attention_heads", "decoder_attention_heads")
    }
    options |= {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0, "bos_token_id": None}
    return MarianMTModel(MarianConfig(**options, scale_embedding=True, activation_function="relu")).eval()


def source_ids(part: Part, tokenizer: Any) -> tuple[list[list[int]], list[int]]:
    """Ids of the part's source sentences, with the end token, and how many tokens their references have."""
    sentences = [one for item in part.documents for paragraph in item.paragraphs for one in paragraph]
    sources, targets = (
        tokenizer(texts, add_special_tokens=False)["input_ids"] for texts in (sentences, part.references)
    )
    return [[*ids, tokenizer.eos_token_id] for ids in sources], list(map(len, targets))


def batches(part: Part, tokenizer: Any, batch_size: int) -> Iterator[tuple[list[list[int]], int]]:
    """Batches of sentences of similar length, and the number of tokens to write for each."""
    rows = sorted(zip(*source_ids(part, tokenizer), strict=True), key=lambda row: -len(row[0]))
    for start in range(0, len(rows), batch_size):
        batch = rows[start : start + batch_size]
        yield [ids for ids, _ in batch], max(1, round(sum(count for _, count in batch) / len(batch)))


def marian_in_transformers(model: Any, tokenizer: Any, num_beams: int, batch_size: int) -> System:
    """Marian through `generate`."""

    def run(part: Part) -> tuple[list[str], int]:
        num_tokens = 0
        for rows, length in batches(part, tokenizer, batch_size):
            longest = max(map(len, rows))
            ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
            options = {"num_beams": num_beams, "min_new_tokens": length, "max_new_tokens": length}
            with torch.inference_mode():
                model.generate(input_ids=ids, attention_mask=(ids > 0).long(), **options)
            num_tokens += length * len(rows)
        return [], num_tokens

    return run


def in_one_shape(model: Any, tokenizer: Any, num_beams: int, length: int, **generate_kwargs: Any) -> System:
    """A model through `generate`, with a part as one batch of `length` tokens on both sides: shorter sources are
    padded, of longer ones the end is taken."""
    options = {"num_beams": num_beams, "min_new_tokens": length, "max_new_tokens": length, **generate_kwargs}

    def run(part: Part) -> tuple[list[str], int]:
        rows = [(row[-length:] + [0] * length)[:length] for row in source_ids(part, tokenizer)[0]]
        ids = torch.tensor(rows, device=model.device)
        with torch.inference_mode():
            model.generate(input_ids=ids, attention_mask=(ids > 0).long(), **options)
        return [], length * len(rows)

    return run


def marian_in_ctranslate2(
    model: Any, tokenizer: Any, num_beams: int, batch_size: int, compute_type: str, num_threads: int
) -> System:
    """The same network in CTranslate2."""
    from ctranslate2 import Translator
    from ctranslate2.converters.transformers import MarianMTLoader

    spec = MarianMTLoader().get_model_spec(model)
    names = [f"<{index}>" for index in range(spec.get_source_vocabulary_size()[0])]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.eos_token, spec.config.unk_token, spec.config.bos_token = names[2], names[3], names[1]
    spec.config.decoder_start_token = names[1]
    spec.validate()
    spec.optimize(quantization=None if compute_type == "float32" else compute_type)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        engine = Translator(folder, compute_type=compute_type, inter_threads=1, intra_threads=num_threads)

    def run(part: Part) -> tuple[list[str], int]:
        num_tokens = 0
        for rows, length in batches(part, tokenizer, batch_size):
            tokens = [[names[index] for index in row] for row in rows]
            engine.translate_batch(tokens, beam_size=num_beams, min_decoding_length=length, max_decoding_length=length)
            num_tokens += length * len(rows)
        return [], num_tokens

    return run


def systems(options: argparse.Namespace, strategy: str, num_beams: int, num_threads: int) -> dict[str, System]:
    """All that is compared, by name; Marian has no windows."""
    torch.set_num_threads(num_threads)
    # As `hier-nmt translate` does.
    loading: dict[str, Any] = {"dtype": torch.float32}
    if options.device == "cpu":
        loading["attn_implementation"] = "eager"
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(options.model, **loading).to(options.device)
    alone = single_sentence_config(options.model) if strategy == "sentence" else None
    tokenizers = load_tokenizers(options.model)

    def loaded(**changes: Any) -> Any:
        if alone is None:
            return AutoModelForSeq2SeqLM.from_pretrained(options.model, **{**loading, **changes})
        return load_with_config(options.model, alone, **{**loading, **changes})

    if options.one_shape:
        found = {}
        for name in options.only:
            changes, generating = TORCH_OPTIONS.get(name, ({}, {}))
            other = marian_model(model.config) if name == MARIAN[0] else loaded(**changes)
            other = other.to(options.device)
            found[name] = in_one_shape(other, tokenizers[0], num_beams, options.one_shape, **generating)
        return found
    exported = model if alone is None else loaded()
    found = {}
    for name in options.only:
        if name in TORCH_OPTIONS:
            changes, generating = TORCH_OPTIONS[name]
            other = loaded(**changes).to(options.device)
            found[name] = translator(other, tokenizers, strategy, num_beams, options.batch_size, **generating)
        if name not in ENGINES:
            continue
        try:
            engine = model if name == "torch" else with_engine(exported, name, num_threads)
        except ExportError as error:
            print(f"without {name}: {error}", file=sys.stderr)
            continue
        found[name] = translator(engine, tokenizers, strategy, num_beams, options.batch_size)
    if strategy == "sentence":
        marian = marian_model(model.config)
        for name in options.only:
            if name == MARIAN[0]:
                found[name] = marian_in_transformers(marian, tokenizers[0], num_beams, options.batch_size)
            elif name in MARIAN:
                compute_type = "int8" if name.endswith("int8") else "float32"
                found[name] = marian_in_ctranslate2(
                    marian, tokenizers[0], num_beams, options.batch_size, compute_type, num_threads
                )
    return found


def parts(options: argparse.Namespace, config: Any) -> list[Part]:
    """The first sentences of each corpus, some at a time; for one shape as many as a batch has."""
    found = []
    size = options.batch_size if options.one_shape else PART_SENTENCES
    for path in options.corpus:
        documents = read_documents([path], "json-lines", config.source_language, config.target_language)
        pairs = [pair for item in documents for paragraph in item.paragraphs for pair in paragraph]
        pairs = pairs[: options.limit]
        if options.one_shape:
            pairs = pairs[: len(pairs) // size * size]
        for start in range(0, len(pairs), size):
            some = pairs[start : start + size]
            found.append(Part([SourceDocument([[pair.source for pair in some]])], [pair.target for pair in some]))
    return found


def compare(compared: dict[str, System], corpus: Sequence[Part]) -> tuple[dict[str, Total], dict[str, list[str]]]:
    """What each system needed for the whole corpus, and its translations."""
    totals = {name: Total() for name in compared}
    translations: dict[str, list[str]] = {name: [] for name in compared}
    names = list(compared)
    for run in compared.values():
        run(Part(corpus[0].documents[:1], corpus[0].references))
    for index, part in enumerate(corpus):
        print(f"part {index + 1} of {len(corpus)}", file=sys.stderr, flush=True)
        first = index % len(names)
        for name in names[first:] + names[:first]:
            start = time.process_time(), time.perf_counter()
            sentences, num_tokens = compared[name](part)
            total = totals[name]
            total.cpu_seconds += time.process_time() - start[0]
            total.wall_seconds += time.perf_counter() - start[1]
            total.sentences += len(part.references)
            total.tokens += num_tokens
            translations[name] += sentences
    return totals, translations


def result_rows(
    totals: dict[str, Total], translations: dict[str, list[str]], references: list[str]
) -> Iterator[dict[str, Any]]:
    """A row of figures for each system; the first is what others are compared with."""
    first = next(iter(translations.values()))
    for name, total in totals.items():
        row = {"system": name, **asdict(total)}
        if translations[name]:
            row["bleu"] = sacrebleu.BLEU().corpus_score(translations[name], [references]).score
            row["same"] = sum(one == other for one, other in zip(translations[name], first, strict=True))
        yield row


def table(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """The figures for reading."""
    cells = [("", "sent./CPU s", "tokens/CPU s", "times", "tokens/s", "BLEU", f"same as {rows[0]['system']}")]
    base = rows[0]["tokens"] / rows[0]["cpu_seconds"]
    for row in rows:
        speed = row["tokens"] / row["cpu_seconds"]
        same = f"{row['same']} of {row['sentences']}" if "same" in row else "-"
        bleu = f"{row['bleu']:.2f}" if "bleu" in row else "-"
        cells.append(
            (
                row["system"],
                f"{row['sentences'] / row['cpu_seconds']:.1f}",
                f"{speed:.0f}",
                f"{speed / base:.2f}",
                f"{row['tokens'] / row['wall_seconds']:.0f}",
                bleu,
                same,
            )
        )
    return format_table(title, cells)


def parse_arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(Path(__file__).parents[1] / "checkpoints" / "hier-nmt-en-fr"))
    parser.add_argument(
        "--corpus", type=Path, nargs="+", default=[SAMPLE], metavar="FILE", help="JSON lines; default: the sample"
    )
    parser.add_argument("--limit", type=at_least_one, default=2000, help="sentences of each corpus; default: 2000")
    parser.add_argument("--strategy", nargs="+", default=["sentence"], help="of the translator; default: sentence")
    parser.add_argument("--beams", type=at_least_one, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--threads", type=at_least_one, nargs="+", default=[1], help="default: 1")
    parser.add_argument("--batch-size", type=at_least_one, default=32, help="default: 32")
    names = (*ENGINES, *TORCH_OPTIONS, *MARIAN)
    parser.add_argument("--only", nargs="+", choices=names, default=[*ENGINES, *MARIAN], metavar="NAME")
    parser.add_argument("--device", default="cpu", help="of PyTorch, the only engine elsewhere; default: cpu")
    parser.add_argument("--one-shape", type=at_least_one, metavar="LENGTH", help="of all batches; see above")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="write all figures here")
    options = parser.parse_args()
    others = set(options.only) - {"torch", *TORCH_OPTIONS, MARIAN[0]}
    if options.one_shape and (others or options.strategy != ["sentence"]):
        parser.error("--one-shape is for single sentences, PyTorch and Marian in Transformers: name them with --only")
    return options


def main() -> None:
    """Measures and prints a table for each strategy, number of beams and number of threads."""
    options = parse_arguments()
    logging.set_verbosity_error()
    config: Any = AutoModelForSeq2SeqLM.from_pretrained(options.model).config
    corpus = parts(options, config)
    if not corpus:
        raise ValueError(f"--one-shape: no corpus has {options.batch_size} sentences")
    references = [reference for part in corpus for reference in part.references]
    results: list[dict[str, Any]] = []
    for strategy, num_beams, num_threads in itertools.product(options.strategy, options.beams, options.threads):
        compared = systems(options, strategy, num_beams, num_threads)
        rows = list(result_rows(*compare(compared, corpus), references))
        title = f"strategy {strategy}, {num_beams} beams, {num_threads} threads, {len(references)} sentences"
        print(table(title, rows), flush=True)
        results += [{"strategy": strategy, "beams": num_beams, "threads": num_threads, **row} for row in rows]
        if options.output:
            about = {"date": date.today().isoformat(), "machine": platform.processor(), "results": results}
            write_text(options.output, json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    run_command_line(main, "interrupted")
