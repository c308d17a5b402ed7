# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the sentence-level model of a recipe on one GPU with large batches.

    python training/gpu/train_sentences.py training/recipes/en-fr/general-large.yaml [--training.KEY=VALUE ...]

It reads the same recipes and writes the same model as `hier-nmt train`, for networks small enough that a GPU otherwise
waits for Python: all pairs lie in the GPU's memory, batches have one of a few shapes, so that none needs a new plan or
new memory, and the forward pass is a plain one of the same network. With 14 million parameters an H100 made 900,000
target tokens a second. The same command continues an interrupted run from its last `save_steps`.

Dimensions: B pairs, S padded length, D model width.
"""

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from hier_nmt.attention.positions import sinusoidal_encoding
from hier_nmt.configuration.configuration_choices import IGNORED_LABEL
from hier_nmt.configuration.configuration_hier_nmt import HierNMTConfig
from hier_nmt.data.text_files import write_text
from hier_nmt.data.window_tables import CORPUS_COLUMN, column_of
from hier_nmt.training.prepared_data import PreparedData, prepare_data, prepare_tokenizers
from hier_nmt.training.recipes import Recipe
from hier_nmt.training.runs import SUMMARY_FILE, build_model, claim_output_dir, finished_summary

# A pair is padded to the first of these that both of its sides fit into.
LENGTHS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256)
STATE_FILE = "state.safetensors"


def main(arguments: list[str]) -> None:
    """Trains the model of a recipe file, the first argument; the others change its values."""
    recipe = Recipe.load(arguments[0], arguments[1:])
    if finished_summary(recipe) is not None:
        print(f"{recipe.training['output_dir']} holds the finished run of this recipe")
        return
    claim_output_dir(recipe)
    tokenizers = prepare_tokenizers(recipe)
    model: Any = build_model(recipe, tokenizers)
    check_network(model.config)
    check_training(recipe.training_arguments())
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        # It prepares a plan for every new shape, which takes longer than the attention.
        torch.backends.cuda.enable_cudnn_sdp(False)
    summary = train(model.to(device), recipe, prepare_data(recipe, tokenizers))
    output_dir = Path(recipe.training["output_dir"])
    model.save_pretrained(output_dir)
    summary = {"recipe": recipe.as_dict(), **summary}
    write_text(output_dir / SUMMARY_FILE, json.dumps(summary, indent=2) + "\n")
    (output_dir / STATE_FILE).unlink(missing_ok=True)


def check_network(config: Any) -> None:
    """ValueError for a network that `PlainNetwork` does not compute."""
    if not isinstance(config, HierNMTConfig):
        raise ValueError(f"only sentence-level models of the family hier_nmt are trained here, not {config.model_type}")
    needed = {
        "window_sentences": 1,
        "encoder_self_attention": "document",
        "decoder_self_attention": "document",
        "cross_attention": "document",
        "context_block": "none",
        "position_encoding": "sequential",
        "position_embedding_type": "sinusoidal",
        "segment_embedding": "none",
        "position_offset": 0,
        "normalize_before": True,
        "normalize_embedding": False,
        "activation_function": "relu",
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
    }
    check_values(config, needed)


def check_training(args: Any) -> None:
    """ValueError for options of a recipe that `train` does not know."""
    if args.max_tokens_per_batch is None:
        raise ValueError("max_tokens_per_batch is not set")
    needed = {
        "lr_scheduler_type": "warmup_stable_decay",
        "lr_scheduler_kwargs": {**(args.lr_scheduler_kwargs or {}), "decay_type": "1-sqrt"},
        "gradient_accumulation_steps": 1,
        "source_word_dropout": 0.0,
        "freeze": "none",
    }
    check_values(args, needed)


def check_values(options: Any, needed: dict[str, Any]) -> None:
    """ValueError for an option with another value."""
    for name, value in needed.items():
        if getattr(options, name) != value:
            raise ValueError(
                f"{name}={getattr(options, name)!r} is not supported here, only {value!r}: use `hier-nmt train`"
            )


class SentencePairs:
    """All windows of one sentence, on the device.

    Args:
        windows: a table with the columns `input_ids` and `labels`.
        config: of the model.
        device: of the batches.
    """

    def __init__(self, windows: Any, config: HierNMTConfig, device: torch.device) -> None:
        self.device = device
        self._start_id, self._pad_id = int(config.decoder_start_token_id or 0), int(config.pad_token_id or 0)
        table = windows.with_format("arrow")[:]
        columns = [table[name].combine_chunks() for name in ("input_ids", "labels")]
        lengths = [column.value_lengths().to_numpy() for column in columns]
        self.lengths = np.maximum(*lengths)
        if self.lengths.max() > LENGTHS[-1]:
            raise ValueError(
                f"a sentence of {self.lengths.max()} tokens; the limit is {LENGTHS[-1]}, see max_source_tokens"
            )
        self._values = [torch.from_numpy(column.flatten().to_numpy().copy()).to(device) for column in columns]
        spans = [np.stack([np.cumsum(length) - length, length]) for length in lengths]
        self._spans = torch.from_numpy(np.stack(spans)).to(device)  # [2, 2, pairs]

    def batch(self, rows: np.ndarray, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Source ids, decoder inputs and labels of pairs, each [B, length]."""
        chosen = torch.from_numpy(rows).to(self.device)
        places = torch.arange(length, device=self.device)
        source, target = (
            torch.where(
                places < size[:, None],
                values[(start[:, None] + places).clamp_max(len(values) - 1)].long(),
                torch.as_tensor(filler, device=self.device),
            )
            for values, (start, size), filler in zip(
                self._values, self._spans[:, :, chosen], (self._pad_id, IGNORED_LABEL), strict=True
            )
        )
        start_ids = torch.full_like(target[:, :1], self._start_id)
        shifted = torch.cat([start_ids, target[:, :-1]], dim=1)
        return source, shifted.masked_fill(shifted == IGNORED_LABEL, self._pad_id), target


def batches(
    lengths: np.ndarray, max_tokens: int, seed: int, num_epochs: int | None = None
) -> Iterator[tuple[np.ndarray, int]]:
    """Rows of pairs and their padded length, `max_tokens` padded tokens each, in another order in each epoch.

    The few pairs that do not fill a batch of their length wait for another epoch, except in the last of `num_epochs`;
    None: for ever.
    """
    generator, shapes = np.random.default_rng(seed), np.searchsorted(LENGTHS, lengths)
    epoch = 0
    while num_epochs is None or epoch < num_epochs:
        epoch += 1
        rows = generator.permutation(len(lengths))
        made = []
        for shape, length in enumerate(LENGTHS):
            mine, size = rows[shapes[rows] == shape], max(1, max_tokens // length)
            stop = len(mine) if epoch == num_epochs else len(mine) // size * size
            made += [(mine[start : start + size], length) for start in range(0, stop, size)]
        if not made:
            raise ValueError(
                f"{len(lengths)} pairs do not fill a batch of {max_tokens} tokens; lower max_tokens_per_batch"
            )
        yield from (made[index] for index in generator.permutation(len(made)))


class PlainNetwork:
    """The forward pass of a sentence-level Transformer, with the parameters of a model of the package."""

    def __init__(self, model: Any) -> None:
        self.config = model.config
        self.weights = dict(model.named_parameters())
        table, width = self.weights["model.shared.weight"], self.config.d_model
        places = torch.arange(LENGTHS[-1], device=table.device)[None]
        self._positions = sinusoidal_encoding(places, width, self.config.sinusoid_endpoint).to(table.dtype)
        self._scale = math.sqrt(width) if self.config.scale_embedding else 1.0

    def __call__(self, source: torch.Tensor, decoder_input: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        """Logits [B, S, V] of source ids and decoder inputs, both [B, S]."""
        config, self._dropout = self.config, dropout
        is_token = source != config.pad_token_id
        device = source.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else self._positions.dtype
        mask = torch.zeros(source.shape, device=source.device, dtype=dtype).masked_fill_(~is_token, -1e4)[:, None, None]
        states = self._embed(source)
        for layer in range(config.encoder_layers):
            name, heads = f"model.encoder.layers.{layer}", config.encoder_attention_heads
            states = self._attend(states, None, f"{name}.self_attn", heads, mask)
            states = self._feed_forward(states, name)
        memory, states = self._norm(states, "model.encoder.layer_norm"), self._embed(decoder_input)
        for layer in range(config.decoder_layers):
            name, heads = f"model.decoder.layers.{layer}", config.decoder_attention_heads
            states = self._attend(states, None, f"{name}.self_attn", heads, None)
            states = self._attend(states, memory, f"{name}.encoder_attn", heads, mask)
            states = self._feed_forward(states, name)
        states = self._norm(states, "model.decoder.layer_norm")
        return F.linear(states, self.weights["model.shared.weight"], self.weights.get("lm_head.bias"))

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        return F.embedding(ids, self.weights["model.shared.weight"]) * self._scale + self._positions[:, : ids.shape[1]]

    def _norm(self, states: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(states, states.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _linear(self, states: torch.Tensor, *names: str) -> torch.Tensor:
        """The outputs of several layers, one behind the other."""
        weight, bias = (torch.cat([self.weights[f"{name}.{part}"] for name in names]) for part in ("weight", "bias"))
        return F.linear(states, weight, bias)

    def _attend(
        self, states: torch.Tensor, memory: torch.Tensor | None, name: str, num_heads: int, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """The states with what their tokens read, of themselves or of a memory; without a mask, of earlier ones."""
        query_input = self._norm(states, f"{name}_residual.layer_norm")
        projections = [f"{name}.{part}_proj" for part in "qkv"]
        if memory is None:
            query, key, value = self._linear(query_input, *projections).chunk(3, dim=-1)
        else:
            query = self._linear(query_input, projections[0])
            key, value = self._linear(memory, *projections[1:]).chunk(2, dim=-1)
        if mask is not None:
            mask = mask.expand(-1, num_heads, query.shape[1], -1)
        query, key, value = (part.unflatten(-1, (num_heads, -1)).transpose(1, 2) for part in (query, key, value))
        read = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)
        return states + self._drop(self._linear(read.transpose(1, 2).flatten(2), f"{name}.out_proj"))

    def _feed_forward(self, states: torch.Tensor, name: str) -> torch.Tensor:
        hidden = self._norm(states, f"{name}.feed_forward_residual.layer_norm")
        hidden = F.relu(self._linear(hidden, f"{name}.feed_forward.fc1"))
        return states + self._drop(self._linear(hidden, f"{name}.feed_forward.fc2"))

    def _drop(self, states: torch.Tensor) -> torch.Tensor:
        return F.dropout(states, self._dropout) if self._dropout else states


def train(model: Any, recipe: Recipe, data: PreparedData) -> dict[str, Any]:
    """Trains the model in place and returns the summary of the run."""
    args, config, device = recipe.training_arguments(), model.config, next(model.parameters()).device
    network, pairs = PlainNetwork(model), SentencePairs(data.train, config, device)
    # What does not fit is known before the training.
    validation = None if data.validation is None else SentencePairs(data.validation, config, device)
    matrices, vectors = ([w for w in model.parameters() if (w.dim() > 1) is large] for large in (True, False))
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    betas = (args.adam_beta1, args.adam_beta2)
    optimizer = torch.optim.AdamW(
        groups, args.learning_rate, betas, args.adam_epsilon, args.weight_decay, fused=device.type == "cuda"
    )
    state_path = Path(str(args.output_dir)) / STATE_FILE
    step, seconds, num_tokens = 0, 0.0, torch.zeros((), dtype=torch.int64, device=device)
    if state_path.is_file():
        state = load_file(state_path, device=str(device))
        step, seconds, num_tokens = int(state["steps"]), float(state["seconds"]), state["num_tokens"]
        restore(state, model, optimizer)
        print(f"continued from step {step}", flush=True)
    torch.manual_seed(args.seed + step)
    assert args.max_tokens_per_batch is not None
    begin = time.perf_counter() - seconds
    for number, (rows, length) in enumerate(batches(pairs.lengths, args.max_tokens_per_batch, args.seed)):
        if number < step:
            continue
        if step == args.max_steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = args.learning_rate * rate_factor(step, args)
        source, decoder_input, labels = pairs.batch(rows, length)
        with torch.autocast(device.type, torch.bfloat16, enabled=args.bf16):
            logits = network(source, decoder_input, config.dropout)
        loss = F.cross_entropy(
            logits.float().flatten(0, 1), labels.flatten(), label_smoothing=args.label_smoothing_factor
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        num_tokens += (labels != IGNORED_LABEL).sum()
        step += 1
        if step % args.logging_steps == 0:
            report(step, args.max_steps, float(loss.detach()), int(num_tokens), time.perf_counter() - begin)
        if step % args.save_steps == 0:
            seconds = time.perf_counter() - begin
            counts = {"steps": torch.tensor(step), "seconds": torch.tensor(seconds), "num_tokens": num_tokens}
            save_file(counts | state_tensors(model, optimizer), state_path.with_suffix(".new"))
            os.replace(state_path.with_suffix(".new"), state_path)
    summary: dict[str, Any] = {
        "steps": step,
        "num_target_tokens": int(num_tokens),
        "seconds": round(time.perf_counter() - begin, 1),
    }
    if validation is not None:
        corpora = recipe.data.validation_corpora.corpora
        names = [corpus.name or str(index) for index, corpus in enumerate(corpora)]
        losses = validation_losses(network, validation, column_of(data.validation, CORPUS_COLUMN), len(names))
        summary["eval_loss"] = {name: loss for name, loss in zip(names, losses, strict=True) if loss is not None}
    print(json.dumps(summary), flush=True)
    return summary


def state_tensors(model: Any, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The weights, and what the optimizer keeps of each."""
    tensors = {}
    for name, weight in model.named_parameters():
        tensors[f"weight.{name}"] = weight.detach()
        tensors |= {f"{key}.{name}": value for key, value in optimizer.state[weight].items()}
    return tensors


@torch.no_grad()
def restore(state: dict[str, torch.Tensor], model: Any, optimizer: torch.optim.Optimizer) -> None:
    """Continues from what `state_tensors` gave."""
    for name, weight in model.named_parameters():
        weight.copy_(state[f"weight.{name}"])
        optimizer.state[weight] = {key: state[f"{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq")}


def rate_factor(step: int, args: Any) -> float:
    """Of the learning rate: a warm-up, a constant rate, and a decay with the square root of the share that is over."""
    num_decay_steps = (args.lr_scheduler_kwargs or {}).get("num_decay_steps", 0)
    over = (step - (args.max_steps - num_decay_steps)) / max(num_decay_steps, 1)
    return min(1.0, (step + 1) / max(args.warmup_steps, 1)) * (1 - math.sqrt(max(0.0, over)))


def report(step: int, max_steps: int, loss: float, num_tokens: int, seconds: float) -> None:
    """Prints the progress; FloatingPointError if the loss is not finite."""
    if not math.isfinite(loss):
        raise FloatingPointError(f"the loss is {loss} at step {step}; the last state is the one to continue from")
    print(f"step {step}/{max_steps} loss {loss:.3f}, {num_tokens / seconds:,.0f} target tokens a second", flush=True)


@torch.no_grad()
def validation_losses(
    network: PlainNetwork, pairs: SentencePairs, corpora: np.ndarray, num_corpora: int
) -> list[float | None]:
    """The mean negative log-likelihood of the target tokens of each corpus, in nats; None: it has no pairs.

    Args:
        network: the network.
        pairs: all pairs.
        corpora: the corpus of each.
        num_corpora: how many there are.
    """
    sums = np.zeros((num_corpora, 2))
    for rows, length in batches(pairs.lengths, 16384, 0, num_epochs=1):
        source, decoder_input, labels = pairs.batch(rows, length)
        logits = network(source, decoder_input)
        losses = F.cross_entropy(logits.float().transpose(1, 2), labels, reduction="none").sum(1)
        figures = torch.stack([losses, (labels != IGNORED_LABEL).sum(1)], dim=1)
        np.add.at(sums, corpora[rows], figures.double().cpu().numpy())
    return [round(loss / size, 4) if size else None for loss, size in sums]


if __name__ == "__main__":
    main(sys.argv[1:])
