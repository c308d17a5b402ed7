# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of one attention layer: dense, sentence by sentence, conditional, hierarchical, and their peers.

python benchmarks/attention.py --output attention.json --plot attention.png

Conditional and hierarchical attention are measured in their three forms: tuned PyTorch, compiled C++, and the plain one
that a model on the Hub carries. All systems of a document run in turn, and tables give their times beside dense ones.

Width 512, 8 heads, 4 selected sentences; documents of uniform sentences (25 tokens) and of log-normal ones (see
documents.py). Prints tables of times, of memory and of growth with the number of tokens, and what was aimed at. Nothing
else should run meanwhile.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from attention_systems import (
    COMPILED,
    CORE_SYSTEMS,
    LAYER_SYSTEMS,
    PLAIN,
    SELECTION_SYSTEMS,
    TUNED,
    prepare,
    systems_of,
    with_forms,
)
from measurement import (
    FORWARD_BACKWARD,
    MODES,
    Case,
    Measurement,
    Target,
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

SYSTEMS = tuple(dict.fromkeys(with_forms([*CORE_SYSTEMS, *LAYER_SYSTEMS, *SELECTION_SYSTEMS])))
# Beyond these numbers of sentences some peers take too much memory, or the whole run too much time.
LARGEST_LAYER = 512
LARGEST_EUROPARL = 256
GROWTH_FROM = 64
# The names of the forms, by how the names of the systems end.
FORMS = {COMPILED: "compiled", TUNED: "tuned PyTorch", PLAIN: "plain"}


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", nargs="+", type=at_least_one, metavar="N", help=f"sentences (layers: <= {LARGEST_LAYER})"
    )
    parser.add_argument(
        "--selection-sizes", nargs="+", type=at_least_one, metavar="N", help="of the search for sentences alone"
    )
    add_options(parser)
    options = parse_options(parser, arguments, SYSTEMS)
    quick = options.quick
    options.sizes = options.sizes or ([8, 64] if quick else [8, 64, 128, 256, 512, 1024])
    options.selection_sizes = options.selection_sizes or ([32, 64] if quick else [256, 512, 1024, 2048])
    options.rounds = options.rounds or (2 if quick else 20)
    options.budget = options.budget or (1.0 if quick else 10.0)
    return options


def cases(sizes: Sequence[int], selection_sizes: Sequence[int], dtype: str) -> list[Case]:
    """Everything that is measured, in order."""
    found = []
    for level, largest in (("core", sys.maxsize), ("layer", LARGEST_LAYER)):
        found += [Case(level, "uniform", size, dtype) for size in sizes if size <= largest]
        found += [Case(level, "europarl", size, dtype) for size in sizes if size <= LARGEST_EUROPARL]
    if 64 in sizes:
        found += [Case("core", document, 64, dtype) for document in ("ragged", "outlier")]
    if 256 in sizes and dtype != "bfloat16":
        found.append(Case("core", "uniform", 256, "bfloat16"))
    return found + [Case("selection", "uniform", size, dtype) for size in selection_sizes]


def targets(measurements: Sequence[Measurement], form: str) -> list[Target]:
    """What was aimed at, in float32 unless it says otherwise, beside what was measured.

    Args:
        measurements: all of them.
        form: how the names of the systems end, a key of `FORMS`.
    """
    kinds = (speed_targets, peer_targets, document_targets, growth_targets)
    return [target for kind in kinds for target in kind(measurements, form)]


def speed_targets(measurements: Sequence[Measurement], form: str) -> list[Target]:
    """How many times faster than dense attention."""
    speedups = [
        *(("core", *row) for row in [(64, 2.5, 3.3), (256, 8.0, 13.0), (1024, 15.0, 30.0)]),
        *(("layer", *row) for row in [(64, None, 1.5), (256, None, 4.2), (512, None, 7.5)]),
    ]
    found = []
    for level, size, *limits in speedups:
        for mode, limit in zip(MODES, limits, strict=True):
            if limit is not None:
                value = ratio(measurements, f"{level}, uniform, float32", size, mode, "dense", f"conditional{form}")
                found.append(Target(f"{level}, {size} sentences, {mode}: times faster than dense", value, limit))
    for mode in MODES:
        value = ratio(measurements, "core, uniform, bfloat16", 256, mode, "dense", f"conditional{form}")
        found.append(Target(f"core, bfloat16, 256 sentences, {mode}: times faster than dense", value, 9.0))
        value = ratio(measurements, "core, uniform, float32", 8, mode, f"conditional-auto{form}", "dense")
        found.append(Target(f"core, 8 sentences, {mode}: time of auto / dense", value, 2.2, at_least=False))
    return found


def peer_targets(measurements: Sequence[Measurement], form: str) -> list[Target]:
    """How many times faster than the peers a whole layer is."""
    limits = {"led": 3.8, "longt5-local": 1.05, "longt5-tglobal": 2.6, "bigbird": 3.2}
    compare = partial(ratio, measurements, "layer, uniform, float32", 256, FORWARD_BACKWARD)
    return [
        Target(
            f"layer, 256 sentences, {FORWARD_BACKWARD}: times faster than {peer}",
            compare(peer, f"conditional{form}"),
            limit,
        )
        for peer, limit in limits.items()
    ]


def document_targets(measurements: Sequence[Measurement], form: str) -> list[Target]:
    """What uneven sentences and uneven choices cost."""
    found = []
    for document, limit in (("ragged", 2.2), ("outlier", 2.3)):
        value = ratio(measurements, f"core, {document}, float32", 64, FORWARD_BACKWARD, "dense", f"conditional{form}")
        found.append(
            Target(f"core, {document}, 64 sentences, {FORWARD_BACKWARD}: times faster than dense", value, limit)
        )
    for mode in MODES:
        value = ratio(
            measurements,
            "core, uniform, float32",
            64,
            mode,
            *(f"{name}{form}" for name in ("conditional-skewed", "conditional")),
        )
        found.append(Target(f"core, 64 sentences, {mode}: all choose the same / random", value, 1.15, at_least=False))
    return found


def growth_targets(measurements: Sequence[Measurement], form: str) -> list[Target]:
    """Growth with the number of tokens, and memory."""
    core, selection = "core, uniform, float32", "selection, uniform, float32"
    conditional = find(measurements, core, FORWARD_BACKWARD, f"conditional{form}", GROWTH_FROM)
    up_to_512 = [item for item in conditional if item.num_sentences <= 512]
    peak = ratio(measurements, core, 1024, FORWARD_BACKWARD, f"conditional{form}", "dense", "peak_mb")
    figures = [
        (f"core, {FORWARD_BACKWARD}: exponent of time, 64 to 512 sentences", growth_exponent(up_to_512), 1.15),
        (f"core, {FORWARD_BACKWARD}: exponent of peak memory", growth_exponent(conditional, "peak_mb"), 1.05),
        (f"core, 1024 sentences, {FORWARD_BACKWARD}: peak memory / dense", peak, 1.5),
    ]
    for mode in MODES:
        tree = find(measurements, selection, mode, f"tree-selection{form}", 256, 2048)
        against_flat = ratio(measurements, selection, 2048, mode, f"tree-selection{form}", f"flat-selection{form}")
        figures.append((f"tree selection, {mode}: exponent of time, 256 to 2048 sentences", growth_exponent(tree), 1.3))
        figures.append((f"tree selection, {mode}, 2048 sentences: time / flat", against_flat, 1.0))
    return [Target(*figure, at_least=False) for figure in figures]


def write_report(options: argparse.Namespace, about: dict[str, Any], measurements: Sequence[Measurement]) -> None:
    """Writes what has been measured so far, if there is an output."""
    if options.output is None:
        return
    content = {
        "machine": about,
        "settings": settings(options),
        "measurements": [item._asdict() for item in measurements],
        "growth": growth_rows(measurements, GROWTH_FROM),
        "targets": {
            name: [{**target._asdict(), "verdict": target.verdict} for target in targets(measurements, form)]
            for form, name in FORMS.items()
        },
    }
    write_json(options.output, content)


def main() -> None:
    """Runs the command line."""
    options = parse_arguments()
    set_up(options)
    about = machine()
    measurements = measured_before(options, about)
    for case in cases(options.sizes, options.selection_sizes, options.dtype):
        systems = systems_to_measure(case, systems_of(case), options.only, measurements)
        has_memory = case.document == "uniform" and case.level != "selection" and case.dtype == options.dtype
        if systems:
            new = measure(case, systems, prepare, options, has_memory and not options.skip_memory)
            measurements = with_case(measurements, case, new)
            write_report(options, about, measurements)
    print(", ".join(f"{name} {value}" for name, value in about.items()), end="\n\n")
    print(cost_tables(measurements, GROWTH_FROM))
    print(target_table("Targets", {name: targets(measurements, form) for form, name in FORMS.items()}))
    if options.plot:
        groups = [f"{level}, uniform, {options.dtype}" for level in ("core", "layer", "selection")]
        title = f"One attention layer on {about['processor']}, {options.threads} threads"
        plot_times(measurements, groups, options.plot, title)


if __name__ == "__main__":
    run_command_line(main)
