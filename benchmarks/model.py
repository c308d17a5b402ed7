# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of whole translation models with random weights: ours and what Transformers has for long documents.

python benchmarks/model.py --output model.json --plot model.png

Six encoder and six decoder layers, width 512, 16,000 subwords; the target is as long as the source. Measured are the
forward pass and the forward and backward pass of the loss, and decoding: milliseconds per token behind a prefix of four
sentences, with a cache, by the length of the source. Sentences are of 25 tokens, and of lengths like those of Europarl;
the plot shows the former. Nothing else should run meanwhile.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import transformers
from attention_systems import BIG_BIRD_SHORTEST, D_MODEL, LED_WINDOW, NUM_HEADS, NUM_SELECTED, numbers_of_sentences
from measurement import (
    DEVICE,
    DTYPES,
    Case,
    Measurement,
    Workload,
    add_options,
    at_least_one,
    cost_tables,
    format_table,
    growth_rows,
    machine,
    measure,
    measured_before,
    measurement,
    parse_options,
    plot_times,
    run_command_line,
    set_up,
    settings,
    systems_to_measure,
    time_rounds,
    with_case,
    write_json,
)
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from hier_nmt.configuration.configuration_hier_nmt import HierNMTConfig
from hier_nmt.configuration.library_internals import CACHE_NAME, named_cache
from hier_nmt.models.common.model_outputs import HierNMTEncoderOutput
from hier_nmt.models.hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration

VOCABULARY, FFN_DIM = 16000, 2048
SPECIAL_TOKENS: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
FIRST_WORD, SEPARATOR = 6, 4
DEFAULT_LAYERS = 6
GROWTH_FROM = 16
DECODING = "per token"
PREFIX_SENTENCES, DECODED_TOKENS = 4, 8
# Which attention each slot of our model has: encoder, decoder, cross.
SLOTS = {
    "document": ("document", "document", "document"),
    "sentence": ("sentence", "sentence", "sentence"),
    "context": ("sentence", "sentence", "sentence"),
    "conditional": ("conditional", "conditional", "conditional"),
    "hierarchical": ("hierarchical", "conditional", "hierarchical"),
}
DECODING_SYSTEMS = (*SLOTS, "marian")
# How long the sentences are: all alike, and as in Europarl.
LENGTHS = ("uniform", "europarl")


def own_model(system: str, num_layers: int, num_positions: int) -> nn.Module:
    """One of our models, by its name in `SLOTS`."""
    encoder, decoder, cross = SLOTS[system]
    config = HierNMTConfig(
        vocab_size=VOCABULARY,
        d_model=D_MODEL,
        encoder_layers=num_layers,
        decoder_layers=num_layers,
        encoder_attention_heads=NUM_HEADS,
        decoder_attention_heads=NUM_HEADS,
        encoder_self_attention=encoder,
        decoder_self_attention=decoder,
        cross_attention=cross,
        context_block="block" if system == "context" else "none",
        num_selected_sentences=NUM_SELECTED,
        position_encoding="multi_level",
        structure_levels=["token", "sentence"],
        token_position_origin="sentence",
        max_sentence_positions=2048,
        window_sentences=0,
        sep_token_id=SEPARATOR,
        par_token_id=None,
        **SPECIAL_TOKENS,
    )
    return HierNMTForConditionalGeneration(config)


def bart_sizes(num_layers: int) -> dict[str, Any]:
    """The sizes that configurations in the manner of BART share."""
    layers = {"encoder_layers": num_layers, "decoder_layers": num_layers}
    heads = {"encoder_attention_heads": NUM_HEADS, "decoder_attention_heads": NUM_HEADS}
    widths = {"d_model": D_MODEL, "encoder_ffn_dim": FFN_DIM, "decoder_ffn_dim": FFN_DIM}
    return {"vocab_size": VOCABULARY, **layers, **heads, **widths, **SPECIAL_TOKENS}


def marian(num_layers: int, num_positions: int) -> nn.Module:
    """Marian, with as many positions as needed."""
    config = transformers.MarianConfig(**bart_sizes(num_layers), max_position_embeddings=num_positions)
    return transformers.MarianMTModel(config)


def led(num_layers: int, num_positions: int) -> nn.Module:
    """LED."""
    config = transformers.LEDConfig(
        **bart_sizes(num_layers),
        attention_window=LED_WINDOW,
        max_encoder_position_embeddings=num_positions + LED_WINDOW,
        max_decoder_position_embeddings=num_positions,
    )
    return transformers.LEDForConditionalGeneration(config)


def longt5(num_layers: int, num_positions: int, attention: str) -> nn.Module:
    """LongT5 with `local` or `transient-global` attention."""
    config = transformers.LongT5Config(
        vocab_size=VOCABULARY,
        d_model=D_MODEL,
        d_kv=D_MODEL // NUM_HEADS,
        d_ff=FFN_DIM,
        num_layers=num_layers,
        num_heads=NUM_HEADS,
        encoder_attention_type=attention,
        **SPECIAL_TOKENS,
    )
    return transformers.LongT5ForConditionalGeneration(config)


def big_bird(num_layers: int, num_positions: int) -> nn.Module:
    """BigBird-Pegasus."""
    config = transformers.BigBirdPegasusConfig(**bart_sizes(num_layers), max_position_embeddings=num_positions + 64)
    return transformers.BigBirdPegasusForConditionalGeneration(config)


# From the number of layers and the number of tokens that must have a position.
MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    **{system: partial(own_model, system) for system in SLOTS},
    "marian": marian,
    "led": led,
    "longt5-local": partial(longt5, attention="local"),
    "longt5-tglobal": partial(longt5, attention="transient-global"),
    "bigbird": big_bird,
}


def systems_of(case: Case) -> list[str]:
    """The models that are compared in the case."""
    return [name for name in MODELS if name != "bigbird" or sum(case.lengths) > BIG_BIRD_SHORTEST]


def random_tokens(lengths: Sequence[int]) -> torch.Tensor:
    """Tokens [1, S] of sentences of these lengths, each closed by a separator."""
    tokens = torch.randint(FIRST_WORD, VOCABULARY, (1, sum(lengths)))
    tokens[0, torch.tensor(lengths).cumsum(0) - 1] = SEPARATOR
    return tokens


def prepare(case: Case, system: str, num_layers: int = DEFAULT_LAYERS) -> Workload:
    """The loss of a model on a random document and translation."""
    torch.manual_seed(0)
    model = MODELS[system](num_layers, sum(case.lengths)).to(DTYPES[case.dtype]).eval()
    source, labels = random_tokens(case.lengths), random_tokens(case.lengths)
    inputs = {"input_ids": source, "attention_mask": torch.ones_like(source), "labels": labels, "use_cache": False}
    dtype = torch.float32 if system in SLOTS else DTYPES[case.dtype]  # ours sums the loss in float32
    return Workload(lambda: model(**inputs).loss, list(model.parameters()), (), dtype)


class Decoding:
    """Decoding of further target tokens, one by one, with random source states and a cache.

    Args:
        case: the source.
        system: name of the model.
        num_layers: of its encoder and of its decoder.
    """

    def __init__(self, case: Case, system: str, num_layers: int):
        torch.manual_seed(0)
        self.model = MODELS[system](num_layers, sum(case.lengths)).to(DTYPES[case.dtype]).eval()
        states = torch.randn(1, sum(case.lengths), D_MODEL, dtype=DTYPES[case.dtype])
        self.mask = torch.ones(states.shape[:2], dtype=torch.long)
        self.numbers_its_sentences = system in SLOTS
        self.encoder_outputs = BaseModelOutput(last_hidden_state=states)
        if self.numbers_its_sentences:
            self.encoder_outputs = HierNMTEncoderOutput(
                states, sentence_ids=numbers_of_sentences(case.lengths), paragraph_ids=self.mask
            )
        self.cache: Any = None
        prefix_lengths = case.lengths[:PREFIX_SENTENCES]
        self.sentence_ids = numbers_of_sentences([*prefix_lengths, 1])[:, :-1]
        self.advance(random_tokens(prefix_lengths))

    def __call__(self) -> None:
        """Decodes a few tokens of one more sentence."""
        for _ in range(DECODED_TOKENS):
            self.sentence_ids = nn.functional.pad(self.sentence_ids, (0, 1), value=PREFIX_SENTENCES + 1)
            self.advance(torch.full((1, 1), FIRST_WORD, device=self.mask.device))

    @torch.no_grad()
    def advance(self, tokens: torch.Tensor) -> None:
        """Reads the tokens [1, Q] that follow on what is cached."""
        numbers = {"decoder_sentence_ids": self.sentence_ids} if self.numbers_its_sentences else {}
        outputs = self.model(
            encoder_outputs=self.encoder_outputs,
            attention_mask=self.mask,
            decoder_input_ids=tokens,
            **named_cache(self.cache),
            use_cache=True,
            **numbers,
        )
        self.cache = getattr(outputs, CACHE_NAME)


def measure_decoding(case: Case, systems: Sequence[str], options: argparse.Namespace) -> list[Measurement]:
    """Milliseconds per decoded token of the systems."""
    print(f"{case.group}: {case.num_sentences} sentences ...", file=sys.stderr, flush=True)
    with torch.device(DEVICE[0]):
        calls = {system: Decoding(case, system, options.layers) for system in systems}
    times = time_rounds(calls, options.rounds, options.budget)
    return [
        measurement(case, system, DECODING, [duration / DECODED_TOKENS for duration in times[system]])
        for system in systems
    ]


def tokens_per_second(item: Measurement) -> float:
    """Decoded tokens in a second, or else source tokens that are read."""
    return 1000.0 / item.median_ms * (1 if item.mode == DECODING else item.num_tokens)


def rate_tables(measurements: Sequence[Measurement]) -> str:
    """A table of tokens per second for each group and mode."""
    tables = []
    for group, mode in dict.fromkeys((item.group, item.mode) for item in measurements):
        some = [item for item in measurements if (item.group, item.mode) == (group, mode)]
        sizes = {item.num_sentences: item.num_tokens for item in some}
        rows = [["sentences (tokens)", *(f"{sentences} ({tokens})" for sentences, tokens in sizes.items())]]
        for system in dict.fromkeys(item.system for item in some):
            rates = {item.num_sentences: tokens_per_second(item) for item in some if item.system == system}
            rows.append([system, *(f"{rates[size]:.0f}" if size in rates else "-" for size in sizes)])
        tables.append(format_table(f"{group}: {mode}, tokens per second", rows))
    return "\n".join(tables)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=at_least_one, metavar="N", help="numbers of sentences")
    parser.add_argument(
        "--decoding-sizes", nargs="+", type=at_least_one, metavar="N", help="of the source, in decoding"
    )
    parser.add_argument(
        "--layers", type=at_least_one, help=f"of the encoder and of the decoder; default: {DEFAULT_LAYERS}"
    )
    add_options(parser)
    options = parse_options(parser, arguments, list(MODELS))
    quick = options.quick
    options.sizes = options.sizes or ([4, 30] if quick else [16, 32, 64])
    options.decoding_sizes = options.decoding_sizes or ([8, 64] if quick else [64, 256, 1024])
    options.layers = options.layers or (1 if quick else DEFAULT_LAYERS)
    options.rounds = options.rounds or (1 if quick else 5)
    options.budget = options.budget or (1.0 if quick else 10.0)
    return options


def write_report(options: argparse.Namespace, about: dict[str, Any], measurements: Sequence[Measurement]) -> None:
    """Writes what has been measured so far, if there is an output."""
    if options.output is not None:
        rows = [{**item._asdict(), "tokens_per_second": tokens_per_second(item)} for item in measurements]
        growth = growth_rows(measurements, GROWTH_FROM)
        content = {"machine": about, "settings": settings(options), "measurements": rows, "growth": growth}
        write_json(options.output, content)


def main() -> None:
    """Runs the command line."""
    options = parse_arguments()
    set_up(options)
    about = machine()
    measurements = measured_before(options, about)
    for case in [Case("model", document, size, options.dtype) for document in LENGTHS for size in options.sizes]:
        systems = systems_to_measure(case, systems_of(case), options.only, measurements)
        if systems:
            prepare_case = partial(prepare, num_layers=options.layers)
            new = measure(case, systems, prepare_case, options, not options.skip_memory)
            measurements = with_case(measurements, case, new)
            write_report(options, about, measurements)
    sizes = options.decoding_sizes
    for case in [Case("decoding", document, size, options.dtype) for document in LENGTHS for size in sizes]:
        systems = systems_to_measure(case, DECODING_SYSTEMS, options.only, measurements)
        if systems:
            measurements = with_case(measurements, case, measure_decoding(case, systems, options))
            write_report(options, about, measurements)
    print(", ".join(f"{name} {value}" for name, value in about.items()), end="\n\n")
    print(cost_tables(measurements, GROWTH_FROM))
    print(rate_tables(measurements))
    if options.plot:
        groups = [f"{level}, uniform, {options.dtype}" for level in ("model", "decoding")]
        title = f"{options.layers} + {options.layers} layers on {about['processor']}, {options.threads} threads"
        plot_times(measurements, groups, options.plot, title)


if __name__ == "__main__":
    run_command_line(main)
