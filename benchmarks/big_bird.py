# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of Big Bird attention beside full attention, from 512 to 8,192 tokens.

python benchmarks/big_bird.py --output big_bird.json --plot big_bird.png

Width 512, 8 heads; blocks of 64 tokens, of which a token sees its own, one on either side, three random ones and the
first two tokens. Core: queries, keys and values are given. Layer: one self-attention with its projections. Systems:

* full: full attention in torch's fused form, which never holds the weights;
* full-eager: full attention that holds them, as the layer of Keras did that Shen (2023) measured;
* masked: Big Bird as a mask on the fused form, which is how the report had it;
* blocked: Big Bird that computes only what is seen;
* with -causal: the same in the decoder;
* bigbird-pegasus: the one of Transformers, with its own pattern (blocks of 64, three random), beyond 704 tokens.

Prints tables of times and memory and of growth with the number of tokens, and what was aimed at. Nothing else should
run meanwhile.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from attention_systems import BIG_BIRD_SHORTEST, BigBirdLayer
from measurement import (
    DTYPES,
    MODES,
    Case,
    Measurement,
    Target,
    Workload,
    add_options,
    at_least_one,
    cost_tables,
    find,
    growth_exponent,
    growth_rows,
    machine,
    measure,
    measured_before,
    parse_options,
    plot_times,
    ratio,
    run_command_line,
    set_up,
    settings,
    systems_to_measure,
    target_table,
    with_case,
    write_json,
)
from torch import nn

from hier_nmt.attention.attention_plan import AttentionInputs
from hier_nmt.attention.big_bird_attention import BigBirdAttention
from hier_nmt.attention.multi_head_attention import DocumentAttention, MultiHeadAttention
from hier_nmt.configuration.configuration_han import HANConfig
from hier_nmt.ops.document_structure import DocumentStructure

D_MODEL, NUM_HEADS = 512, 8
SENTENCE_LENGTH = 16
SIZES = (512, 1024, 2048, 4096, 8192)
AIMED_AT = 4096
GROWTH_FROM = 1024 // SENTENCE_LENGTH
CAUSAL = "-causal"
# The class, the form of attention in Transformers, and the form of Big Bird.
SYSTEMS: dict[str, tuple[type[MultiHeadAttention], str, str]] = {
    "full": (DocumentAttention, "sdpa", "auto"),
    "full-eager": (DocumentAttention, "eager", "auto"),
    "masked": (BigBirdAttention, "sdpa", "reference"),
    "blocked": (BigBirdAttention, "sdpa", "grouped"),
}
ALL_SYSTEMS = (*SYSTEMS, f"full{CAUSAL}", f"blocked{CAUSAL}", "bigbird-pegasus")
# What holds a number for each pair of tokens is not measured beyond.
LARGEST_SQUARE = 4096


@dataclass(frozen=True)
class Length(Case):
    """A document of sentences of 16 tokens, the kernel of the summaries in the report."""

    @property
    def lengths(self) -> list[int]:
        """Numbers of tokens of the sentences."""
        return [SENTENCE_LENGTH] * self.num_sentences


class GivenStates(nn.Module):
    """Stands in for a projection: gives what it was made of instead of what it is called with."""

    def __init__(self, states: torch.Tensor):
        super().__init__()
        self.states = nn.Parameter(states)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """The states [1, S, D] that were given."""
        return self.states


def attention(system: str) -> MultiHeadAttention:
    """A self-attention, by its name."""
    attention_class, implementation, kernel = SYSTEMS[system.removesuffix(CAUSAL)]
    config = HANConfig(d_model=D_MODEL, encoder_attention_heads=NUM_HEADS, attention_kernel=kernel)
    config._attn_implementation = implementation
    shared_config: Any = config
    return attention_class(shared_config, NUM_HEADS, D_MODEL // NUM_HEADS, 0, system.endswith(CAUSAL)).eval()


def prepare(case: Case, system: str) -> Workload:
    """The system on random states."""
    torch.manual_seed(0)
    num_tokens, dtype = sum(case.lengths), DTYPES[case.dtype]
    states = torch.randn(1, num_tokens, D_MODEL, dtype=dtype, requires_grad=True)
    if system == "bigbird-pegasus":
        layer: nn.Module = BigBirdLayer(case.lengths).to(dtype).eval()
        return Workload(partial(layer, states), [states, *layer.parameters()], states.shape, dtype)
    module = attention(system).to(dtype)
    inputs = [states]
    if case.level == "core":
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(module, name, GivenStates(torch.randn_like(states)))
        module.out_proj = nn.Identity()  # type: ignore[assignment]
        inputs = []
    structure = DocumentStructure.unstructured(torch.ones(1, num_tokens))
    plan = module.plan(AttentionInputs(module.config, states, None, structure, structure, system.endswith(CAUSAL)))
    return Workload(partial(run, module, states, plan), [*inputs, *module.parameters()], states.shape, dtype)


def run(module: MultiHeadAttention, states: torch.Tensor, plan: Any) -> torch.Tensor:
    """The output [1, S, D]."""
    output = module(states, plan)[0]
    assert isinstance(output, torch.Tensor)
    return output


def systems_of(case: Case) -> list[str]:
    """The systems that are compared in the case."""
    num_tokens = sum(case.lengths)
    skipped = set()
    if num_tokens > LARGEST_SQUARE:
        skipped |= {"full-eager", "masked"}
    if case.level == "core" or num_tokens <= BIG_BIRD_SHORTEST:
        skipped.add("bigbird-pegasus")
    return [system for system in ALL_SYSTEMS if system not in skipped]


def targets(measurements: Sequence[Measurement]) -> list[Target]:
    """What was aimed at, beside what was measured."""
    found = []
    size = AIMED_AT // SENTENCE_LENGTH
    for level in ("core", "layer"):
        group = f"{level}, uniform, float32"
        for mode in MODES:
            for other in ("full", "full-eager"):
                for quantity, title in (("median_ms", "time"), ("peak_mb", "peak memory")):
                    value = ratio(measurements, group, size, mode, "blocked", other, quantity)
                    name = f"{level}, {AIMED_AT} tokens, {mode}: {title} / {other}"
                    found.append(Target(name, value, 1 / 3, at_least=False))
            blocked = find(measurements, group, mode, "blocked", GROWTH_FROM)
            for quantity, title in (("median_ms", "time"), ("peak_mb", "peak memory")):
                value = growth_exponent(blocked, quantity)
                found.append(Target(f"{level}, {mode}: exponent of {title}", value, 1.1, at_least=False))
    return found


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", nargs="+", type=at_least_one, metavar="TOKENS", help=f"multiples of {SENTENCE_LENGTH}"
    )
    add_options(parser)
    options = parse_options(parser, arguments, ALL_SYSTEMS)
    options.sizes = options.sizes or ([512, 1024] if options.quick else list(SIZES))
    odd = [size for size in options.sizes if size < SENTENCE_LENGTH or size % SENTENCE_LENGTH]
    if odd:
        parser.error(f"--sizes: {odd[0]} is no multiple of {SENTENCE_LENGTH}")
    options.rounds = options.rounds or (2 if options.quick else 10)
    options.budget = options.budget or (1.0 if options.quick else 10.0)
    return options


def write_report(options: argparse.Namespace, about: dict[str, Any], measurements: Sequence[Measurement]) -> None:
    """Writes what has been measured so far, if there is an output."""
    if options.output is None:
        return
    content = {
        "machine": about,
        "settings": settings(options),
        "measurements": [item._asdict() for item in measurements],
        "growth": growth_rows(measurements, GROWTH_FROM),
        "targets": [{**target._asdict(), "verdict": target.verdict} for target in targets(measurements)],
    }
    write_json(options.output, content)


def main() -> None:
    """Runs the command line."""
    options = parse_arguments()
    set_up(options)
    about = machine()
    measurements = measured_before(options, about)
    for level in ("core", "layer"):
        for size in options.sizes:
            case = Length(level, "uniform", size // SENTENCE_LENGTH, options.dtype)
            systems = systems_to_measure(case, systems_of(case), options.only, measurements)
            if systems:
                new = measure(case, systems, prepare, options, not options.skip_memory)
                measurements = with_case(measurements, case, new)
                write_report(options, about, measurements)
    print(", ".join(f"{name} {value}" for name, value in about.items()), end="\n\n")
    print(cost_tables(measurements, GROWTH_FROM))
    print(target_table("Targets", {"measured": targets(measurements)}))
    if options.plot:
        groups = [f"{level}, uniform, {options.dtype}" for level in ("core", "layer")]
        plot_times(measurements, groups, options.plot, f"One self-attention on {about['processor']}")


if __name__ == "__main__":
    run_command_line(main)
