# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains a Marian model, sentence by sentence, with Transformers alone: a base for `hier-nmt adapt`.

    python training/marian/train_marian.py training/recipes/en-fr/marian-sentence.yaml [--training.KEY=VALUE ...]

Tokenizer, network and trainer are those of Transformers, and the folder is laid out as OPUS-MT's on the Hub. Only the
text comes from this package: the cleaned corpora of another recipe. The same command continues an interrupted run.
"""

import json
import sys
from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
import yaml
from datasets import Dataset
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # made when it is imported
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    DataCollatorForSeq2Seq,
    MarianTokenizer,
    PreTrainedModel,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

from hier_nmt.data.corpus_tables import corpora_table
from hier_nmt.data.plain_typography import plain_text
from hier_nmt.data.training_corpora import TrainingCorpora
from hier_nmt.training.recipes import Recipe

# Number of pairs that are sorted by length at a time.
POOL = 8192


def main(arguments: list[str]) -> None:
    """Trains the model of a recipe file, the first argument; the others change its values."""
    settings = read_settings(Path(arguments[0]), arguments[1:])
    args = Seq2SeqTrainingArguments(**settings["training"])
    set_seed(args.seed)
    data = settings["data"]
    only_text = ["--training.init_from=null", "--training.init_transfer=false"]
    recipe = Recipe.load(Path(arguments[0]).parent / data["recipe"], only_text)
    pairs = sentence_pairs(recipe.data.training_corpora, args.seed)
    pairs = pairs.select(range(min(len(pairs), data["max_pairs"])))
    output_dir = Path(settings["training"]["output_dir"])
    with args.main_process_first(desc="tokenizer"):
        if not (output_dir / "vocab.json").is_file():
            train_tokenizer(pairs, output_dir, **settings["tokenizer"])
    tokenizer = MarianTokenizer.from_pretrained(output_dir, source_lang="en", target_lang="fr")
    rows = tokenized(pairs, tokenizer, data["max_tokens"])
    train = Batches(short_first(rows, **data["short_first"]), data["max_tokens_per_batch"], args.seed)
    rows = tokenized(sentence_pairs(recipe.data.validation_corpora, args.seed), tokenizer, data["max_tokens"])
    validation = Batches(rows, data["max_tokens_per_batch"], args.seed)
    model = new_model(tokenizer, settings["model"])
    collate = DataCollatorForSeq2Seq(tokenizer, model)
    trainer = Seq2SeqTrainer(
        model,
        args,
        data_collator=lambda batches: collate(list(chain.from_iterable(batches))),
        train_dataset=train,
        eval_dataset=validation,
        processing_class=tokenizer,
    )
    trainer.train(resume_from_checkpoint=get_last_checkpoint(output_dir))
    trainer.save_model()
    trainer.save_state()


def read_settings(path: Path, overrides: list[str]) -> dict[str, Any]:
    """The sections of the recipe file; an override is `--section.key=value`, its value in YAML."""
    settings: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for override in overrides:
        name, _, value = override.removeprefix("--").partition("=")
        section, _, key = name.partition(".")
        settings[section][key] = yaml.safe_load(value)
    return settings


def sentence_pairs(corpora: TrainingCorpora, seed: int) -> Dataset:
    """Sentence pairs in random order, in columns `source` and `target`; a corpus of weight 2 is in it twice."""
    text = corpora_table(corpora)
    weights = np.array([corpus.weight for corpus in corpora.corpora])
    corpus = np.repeat(text["corpus"][:], [len(sentences) for sentences in text["source"]])
    random = np.random.default_rng(seed)
    copies = np.floor(weights[corpus] + random.random(len(corpus))).astype(int)
    columns = {side: (sentence for row in text[side] for sentence in row) for side in ("source", "target")}
    pairs = Dataset.from_dict({side: list(map(plain_text, sentences)) for side, sentences in columns.items()})
    return pairs.select(random.permutation(np.repeat(np.arange(len(corpus)), copies)))


def train_tokenizer(
    pairs: Dataset, output_dir: Path, vocab_size: int, max_sentences: int, whole_words: list[str]
) -> None:
    """Writes the files of a Marian tokenizer: one SentencePiece model for both languages, twice, and its vocabulary.

    Each of `whole_words` becomes one token, even where SentencePiece would prefer several more frequent ones.
    """

    def sentences() -> Iterator[str]:
        for pair in pairs.select(range(min(len(pairs), max_sentences))):
            yield from (pair["source"], pair["target"])

    output_dir.mkdir(parents=True, exist_ok=True)
    content = BytesIO()
    # Marian's vocabulary has three tokens more: the end, the unknown token and padding.
    options: dict[str, Any] = {"vocab_size": vocab_size, "character_coverage": 0.9999, "split_digits": True}
    options["user_defined_symbols"] = [f"▁{word}" for word in whole_words]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=sentences(), model_writer=content, **options)
    model = ModelProto.FromString(content.getvalue())
    for piece in model.pieces:
        # Fast tokenizers know normal pieces alone; this score is higher than any other.
        if piece.type == piece.USER_DEFINED:
            piece.type, piece.score = piece.NORMAL, 0.0
    for name in ("source.spm", "target.spm"):
        (output_dir / name).write_bytes(model.SerializeToString())
    pieces = [piece.piece for piece in model.pieces if piece.type == piece.NORMAL]
    vocabulary = {piece: index for index, piece in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}
    (output_dir / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")


def tokenized(pairs: Dataset, tokenizer: MarianTokenizer, max_tokens: int) -> Dataset:
    """The pairs as token ids with their lengths, without those that are longer than `max_tokens` on a side."""

    def encode(batch: dict[str, list[str]]) -> dict[str, list[Any]]:
        ids = tokenizer(batch["source"], text_target=batch["target"])
        lengths = [max(map(len, pair)) for pair in zip(ids["input_ids"], ids["labels"], strict=True)]
        return {"input_ids": ids["input_ids"], "labels": ids["labels"], "length": lengths}

    rows = pairs.map(encode, batched=True, remove_columns=pairs.column_names)
    return rows.select(np.flatnonzero(np.array(rows["length"][:]) <= max_tokens))


def short_first(pairs: Dataset, max_tokens: int, count: int) -> Dataset:
    """The pairs with `count` of at most `max_tokens` in front: they teach much sooner which words translate which."""
    short = np.flatnonzero(np.array(pairs["length"][:]) <= max_tokens)[:count]
    return pairs.select(np.concatenate([short, np.delete(np.arange(len(pairs)), short)]))


class Batches(torch.utils.data.Dataset[list[dict[str, Any]]]):
    """Batches of pairs of similar length, in the order of the pairs except among `POOL` of them.

    Args:
        pairs: with their lengths.
        max_tokens: of a side of a batch, padding included.
        seed: of the order.
    """

    def __init__(self, pairs: Dataset, max_tokens: int, seed: int):
        self.pairs = pairs.select_columns(["input_ids", "labels"])
        self.rows: list[list[int]] = []
        lengths, random = np.array(pairs["length"][:]), np.random.default_rng(seed)
        for start in range(0, len(lengths), POOL):
            pool: list[list[int]] = [[]]
            for row in (start + np.argsort(lengths[start : start + POOL], kind="stable")).tolist():
                if pool[-1] and lengths[row] * (len(pool[-1]) + 1) > max_tokens:
                    pool.append([])
                pool[-1].append(row)
            self.rows += [pool[place] for place in random.permutation(len(pool))]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> list[dict[str, Any]]:
        return [self.pairs[row] for row in self.rows[index]]


def new_model(tokenizer: MarianTokenizer, fields: dict[str, Any]) -> PreTrainedModel:
    """A Marian model with random weights; decoding begins with padding and never writes it."""
    pad = tokenizer.pad_token_id
    ids = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": 0}
    config = AutoConfig.for_model(**fields, vocab_size=len(tokenizer), **ids)
    # Faster than fused attention for sentences on a processor.
    model = AutoModelForSeq2SeqLM.from_config(config, attn_implementation="eager")
    model.generation_config.bad_words_ids = [[pad]]
    return model


if __name__ == "__main__":
    main(sys.argv[1:])
