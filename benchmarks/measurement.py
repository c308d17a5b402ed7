# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Side-by-side measurement: time in rotated rounds, peak memory in fresh processes, growth, tables, JSON, a plot."""

import argparse
import ctypes
import json
import math
import multiprocessing
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from datetime import datetime
from multiprocessing import forkserver
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from documents import sentence_lengths

from hier_nmt.data.text_files import write_bytes, write_text

Call = Callable[[], object]
FORWARD, FORWARD_BACKWARD = "forward", "forward+backward"
MODES = (FORWARD, FORWARD_BACKWARD)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
MIN_ROUNDS = 3
QUIET_LOAD = 0.7
HUGE_PAGES = "THP_MEM_ALLOC_ENABLE"
# What must be alike in all runs whose figures stand side by side: of `machine`, and of the options.
SAME_MACHINE = ("processor", "device", "cores", "threads", "torch", "transformers")
SAME_OPTIONS = ("rounds", "budget", "dtype", "steady_memory", "skip_memory", "layers")

IMPORTED_BEFOREHAND = [
    "hier_nmt.models.hier_nmt.modeling_hier_nmt",
    *(f"transformers.models.{name}.modeling_{name}" for name in ("bigbird_pegasus", "led", "longt5", "marian")),
]

# The colours of Okabe and Ito, which the colour-blind can tell apart.
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#D55E00", "#CC79A7", "#009E73", "#0072B2", "#999999")
MARKERS = "osv^D*XPd<>"


class Workload(NamedTuple):
    """A system with its input.

    Attributes:
        run: computes the output.
        inputs: the tensors whose gradients are computed; those that the output does not depend on are skipped.
        output_shape: of the output.
        dtype: of the output.
    """

    run: Callable[[], torch.Tensor]
    inputs: Sequence[torch.Tensor]
    output_shape: Sequence[int]
    dtype: torch.dtype = torch.float32

    def call(self, mode: str) -> Call:
        """What is measured: `run` without gradients, or with a backward pass from a random upstream gradient."""
        if mode == FORWARD:
            return torch.no_grad()(self.run)
        # Not randn_like, which would follow the memory layout of each system's own output.
        grad_output = torch.randn(tuple(self.output_shape), dtype=self.dtype)
        inputs = [tensor for tensor in self.inputs if tensor.requires_grad]
        return lambda: torch.autograd.grad(self.run(), inputs, grad_output, allow_unused=True)


@dataclass(frozen=True)
class Case:
    """A document on which all systems are measured together.

    Attributes:
        level: what is measured: `core`, `layer`, `selection`, `model`, `decoding`.
        document: a name in `documents.DOCUMENTS`.
        num_sentences: N.
        dtype: a name in `DTYPES`.
    """

    level: str
    document: str
    num_sentences: int
    dtype: str = "float32"

    @property
    def group(self) -> str:
        """The name that cases have in common which differ in nothing but the number of sentences."""
        return f"{self.level}, {self.document}, {self.dtype}"

    @property
    def lengths(self) -> list[int]:
        """Numbers of tokens of the sentences."""
        return sentence_lengths(self.document, self.num_sentences)


class Measurement(NamedTuple):
    """What one system cost in one case.

    Attributes:
        group: of the case.
        num_sentences, num_tokens: of its document.
        system: name of the system.
        mode: name of the call.
        median_ms, minimum_ms: time of a call over the rounds.
        num_rounds: number of rounds.
        peak_mb: memory of the process at its highest over what it held before the call, in units of 2**20 bytes; None
            where it was not measured.
    """

    group: str
    num_sentences: int
    num_tokens: int
    system: str
    mode: str
    median_ms: float
    minimum_ms: float
    num_rounds: int
    peak_mb: float | None = None


Prepare = Callable[[Case, str], Workload]


def steady_memory() -> None:
    """Has PyTorch ask for huge pages and glibc keep freed memory for the next call; before anything large is made.

    Else, as for most users, fresh pages cost the systems that take much memory as much as their arithmetic. The
    processes that memory is measured in do neither.
    """
    os.environ[HUGE_PAGES] = "1"
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
        for parameter in (trim_threshold, mmap_threshold):
            library.mallopt(parameter, 2**31 - 1)


# Where systems and their inputs are made; set once, by `set_up`.
DEVICE = ["cpu"]


def is_on_gpu() -> bool:
    """Whether systems are measured on a GPU."""
    return DEVICE[0] == "cuda"


def milliseconds(call: Call) -> float:
    """Duration of the call, until the GPU has done its part of it."""
    start = time.perf_counter()
    call()
    if is_on_gpu():
        torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1000.0


def time_rounds(calls: Mapping[str, Call], num_rounds: int, budget: float) -> dict[str, list[float]]:
    """Milliseconds of each call in the rounds it took part in.

    All run in turn, in an order that is rotated every round. A call that is too slow for all rounds takes part in
    fewer, spread evenly among them.

    Args:
        calls: by name.
        num_rounds: of the fast ones.
        budget: seconds for each call in all rounds together; `MIN_ROUNDS` take place in any case.
    """
    names = list(calls)
    # These first calls also warm up.
    possible = {name: int(budget * 1000.0 / milliseconds(calls[name])) for name in names}
    rounds_of = {name: min(max(possible[name], MIN_ROUNDS), num_rounds) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for index in range(num_rounds):
        first = index % len(names)
        for name in names[first:] + names[:first]:
            if (index + 1) * rounds_of[name] // num_rounds > index * rounds_of[name] // num_rounds:
                times[name].append(milliseconds(calls[name]))
    return times


def measure(
    case: Case, systems: Sequence[str], prepare: Prepare, options: argparse.Namespace, measures_memory: bool
) -> list[Measurement]:
    """All modes of the systems in one case.

    Args:
        case: the document.
        systems: their names.
        prepare: makes a system with its input; a function of a module, so that other processes find it.
        options: of the command line.
        measures_memory: also run each call in a process of its own.
    """
    measurements = []
    for mode in MODES:
        print(f"{case.group}: {case.num_sentences} sentences, {mode} ...", file=sys.stderr, flush=True)
        # Not while they run: a default device costs time in every operation.
        with torch.device(DEVICE[0]):
            calls = {system: prepare(case, system).call(mode) for system in systems}
        times = time_rounds(calls, options.rounds, options.budget)
        for system in systems:
            peak = peak_megabytes(prepare, case, system, mode, options.threads) if measures_memory else None
            measurements.append(measurement(case, system, mode, times[system], peak))
    return measurements


def measurement(
    case: Case, system: str, mode: str, times: Sequence[float], peak_mb: float | None = None
) -> Measurement:
    """The measurement made of the milliseconds of all rounds."""
    statistics = (median(times), min(times), len(times), peak_mb)
    return Measurement(case.group, case.num_sentences, sum(case.lengths), system, mode, *statistics)


def peak_megabytes(prepare: Prepare, case: Case, system: str, mode: str, num_threads: int) -> float | None:
    """Memory that one call in a fresh process takes at its highest, in units of 2**20 bytes; None where the system does
    not tell, or has not as much. On a GPU: what the call takes of the GPU's memory."""
    if is_on_gpu():
        with torch.device(DEVICE[0]):
            call = prepare(case, system).call(mode)
        return peak_of_gpu(call)
    if not Path("/proc/self/clear_refs").exists():
        return None
    # Children of a server that has imported much and computed nothing are as fresh as new ones, and start faster.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED_BEFOREHAND)
    # The server and its children inherit that they ignore interrupts: this process alone reports them.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    forkserver.ensure_running()
    signal.signal(signal.SIGINT, handler)
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        try:
            return executor.submit(peak_in_this_process, prepare, case, system, mode, num_threads).result()
        except (BrokenProcessPool, MemoryError):
            return None
        except KeyboardInterrupt:
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def peak_in_this_process(prepare: Prepare, case: Case, system: str, mode: str, num_threads: int) -> float | None:
    """`peak_megabytes` of this process, whose memory was not used much yet."""
    os.environ.pop(HUGE_PAGES, None)
    torch.set_num_threads(num_threads)
    call = prepare(case, system).call(mode)
    warm_up_libraries()
    before = process_megabytes("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    except OSError:
        return None
    call()
    return process_megabytes("VmHWM") - before


def peak_of_gpu(call: Call) -> float:
    """GPU memory that the call takes at its highest, in units of 2**20 bytes."""
    call()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def warm_up_libraries() -> None:
    """Makes the allocations that come with the first product and the first backward pass of a process and stay."""
    states = torch.randn(1, 1, 64, 64, requires_grad=True)
    torch.nn.functional.scaled_dot_product_attention(states @ states, states, states).sum().backward()


def process_megabytes(field: str) -> float:
    """A field of the process's status, such as VmRSS, in units of 2**20 bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024.0 for line in lines if line.startswith(f"{field}:"))


def find(
    measurements: Sequence[Measurement],
    group: str,
    mode: str,
    system: str,
    smallest: int = 0,
    largest: int = sys.maxsize,
) -> list[Measurement]:
    """The measurements of a system in a group of cases, from `smallest` to `largest` number of sentences."""
    return [
        item
        for item in measurements
        if (item.group, item.mode, item.system) == (group, mode, system) and smallest <= item.num_sentences <= largest
    ]


def ratio(
    measurements: Sequence[Measurement],
    group: str,
    num_sentences: int,
    mode: str,
    numerator: str,
    denominator: str,
    quantity: str = "median_ms",
) -> float | None:
    """What the first system costs for each unit of the second; None where one was not measured."""
    first, second = (
        [getattr(item, quantity) for item in find(measurements, group, mode, system, num_sentences, num_sentences)]
        for system in (numerator, denominator)
    )
    return first[0] / second[0] if first and second and first[0] is not None and second[0] else None


def growth_exponent(measurements: Sequence[Measurement], quantity: str = "median_ms") -> float | None:
    """Slope of the logarithm of the quantity over that of the number of tokens (least squares); None for one point."""
    points = [(item.num_tokens, getattr(item, quantity)) for item in measurements]
    points = [(tokens, value) for tokens, value in points if value is not None and value > 0]
    if len(points) < 2:
        return None
    tokens, values = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(tokens, values, 1)[0])


class Target(NamedTuple):
    """A figure that is aimed at.

    Attributes:
        name: what is measured.
        value: the measured figure, or None.
        limit: what it should be.
        at_least: whether it should be at least the limit, else at most.
    """

    name: str
    value: float | None
    limit: float
    at_least: bool = True

    @property
    def verdict(self) -> str:
        """`ok`, `missed` or `not measured`."""
        if self.value is None:
            return "not measured"
        return "ok" if self.value == self.limit or (self.value > self.limit) == self.at_least else "missed"


def format_number(value: float | None, unit: str = "") -> str:
    """The value with three digits or so, or a dash."""
    if value is None:
        return "-"
    return f"{value:.{max(2 - math.floor(math.log10(max(abs(value), 0.01))), 0)}f}{unit}"


def format_table(title: str, rows: Sequence[Sequence[str]]) -> str:
    """The title and the rows, first column left-aligned and the others right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "\n".join([title, "-" * len(title), *(line.rstrip() for line in lines), ""])


def target_table(title: str, forms: Mapping[str, Sequence[Target]]) -> str:
    """The targets beside what was measured, and how many held.

    Args:
        title: of the table.
        forms: the same targets as measured in each form, by the form's name.
    """
    rows = [("", "target", *forms)]
    for target, *others in zip(*forms.values(), strict=True):
        sign = ">=" if target.at_least else "<="
        rows.append((target.name, f"{sign} {target.limit:.2f}", *map(target_cell, [target, *others])))
    held = ([target.verdict for target in targets].count("ok") for targets in forms.values())
    rows.append(("held", "", *(f"{count} of {len(rows) - 1}" for count in held)))
    return format_table(title, rows)


def target_cell(target: Target) -> str:
    """What was measured, with enough digits to see on which side it falls, and the verdict."""
    return target.verdict if target.value is None else f"{target.value:.3f} {target.verdict:<6}"


def cost_tables(measurements: Sequence[Measurement], growth_from: int) -> str:
    """A table of times and, where it was measured, one of memory for each group and mode.

    Args:
        measurements: all of them.
        growth_from: smallest number of sentences from which growth is computed.
    """
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for item in measurements:
        groups.setdefault((item.group, item.mode), []).append(item)
    quantities = {"median_ms": "milliseconds", "peak_mb": "peak memory in MB"}
    return "\n".join(
        format_table(
            f"{group}: {mode}, {title} (how many times less than {some[0].system})",
            cost_rows(some, growth_from, quantity),
        )
        for (group, mode), some in groups.items()
        for quantity, title in quantities.items()
        if any(getattr(item, quantity) is not None for item in some)
    )


def cost_rows(measurements: Sequence[Measurement], growth_from: int, quantity: str) -> list[list[str]]:
    """A row for each system, compared with the first, and a column for each number of sentences; behind them the growth
    with the number of tokens. All measurements are of one group and mode."""
    group, mode, baseline = measurements[0].group, measurements[0].mode, measurements[0].system
    sizes = {item.num_sentences: item.num_tokens for item in measurements}
    rows = [["sentences (tokens)", *(f"{sentences} ({tokens})" for sentences, tokens in sizes.items()), "exponent"]]
    for system in dict.fromkeys(item.system for item in measurements):
        found = {item.num_sentences: item for item in find(measurements, group, mode, system)}
        cells = []
        for size in sizes:
            cell = format_number(getattr(found[size], quantity)) if size in found else "-"
            factor = ratio(measurements, group, size, mode, baseline, system, quantity)
            cells.append(cell if factor is None or system == baseline else f"{cell} ({format_number(factor, 'x')})")
        exponent = growth_exponent(find(measurements, group, mode, system, growth_from), quantity)
        rows.append([system, *cells, format_number(exponent)])
    return rows


def machine() -> dict[str, Any]:
    """Where and when the measurement takes place; warns if something else is running there."""
    cpu_information = Path("/proc/cpuinfo")
    lines = cpu_information.read_text().splitlines() if cpu_information.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    load_average = os.getloadavg() if hasattr(os, "getloadavg") else None
    if load_average and load_average[0] > QUIET_LOAD:
        print(f"warning: load average {load_average[0]:.1f}; times mean little while others run", file=sys.stderr)
    return {
        "processor": models[0] if models else platform.processor(),
        "device": torch.cuda.get_device_name() if is_on_gpu() else "cpu",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "load_average": load_average,
    }


def growth_rows(measurements: Sequence[Measurement], growth_from: int) -> list[dict[str, Any]]:
    """Exponents of time and of peak memory of each system, from `growth_from` sentences on."""
    rows = []
    for group, mode, system in dict.fromkeys((item.group, item.mode, item.system) for item in measurements):
        found = find(measurements, group, mode, system, growth_from)
        exponents = {"time": growth_exponent(found), "peak_memory": growth_exponent(found, "peak_mb")}
        rows.append({"group": group, "mode": mode, "system": system, **exponents})
    return rows


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes the content, completely or not at all."""
    write_text(path, json.dumps(content, indent=1) + "\n")


def plot_times(measurements: Sequence[Measurement], groups: Sequence[str], path: Path, title: str) -> None:
    """Writes a page with a plot of time against tokens for each mode of the groups.

    Args:
        measurements: all of them.
        groups: what is plotted.
        path: .png or another ending that matplotlib knows.
        title: of the page.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from hier_nmt.inspection.figures import new_figure, save_figure

    panels = list(dict.fromkeys((item.group, item.mode) for item in measurements if item.group in groups))
    num_rows = max(math.ceil(len(panels) / 2), 1)
    figure = new_figure(13, 5 * num_rows + 0.5)
    figure.suptitle(title)
    axes = figure.subplots(num_rows, 2, squeeze=False).flatten()
    styles = plot_styles(measurements)
    for (group, mode), axis in zip(panels, axes, strict=False):
        plot_panel(axis, [item for item in measurements if (item.group, item.mode) == (group, mode)], styles)
        axis.set(title=f"{group}: {mode}", xlabel="source tokens", ylabel="milliseconds")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    save_figure(figure, path)


def plot_panel(axis: Any, measurements: Sequence[Measurement], styles: Mapping[str, Mapping[str, Any]]) -> None:
    """Draws a line for each system that was measured at several sizes."""
    from matplotlib.ticker import LogFormatter

    axis.set(xscale="log", yscale="log")
    for system in dict.fromkeys(item.system for item in measurements):
        points = [(item.num_tokens, item.median_ms) for item in measurements if item.system == system]
        if len(points) > 1:
            axis.plot(*zip(*points, strict=True), label=system, **styles[system])
    tokens = sorted({item.num_tokens for item in measurements})
    axis.set_xticks(tokens, [f"{number:,}" for number in tokens])
    axis.set_xticks([], minor=True)
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(LogFormatter())
    axis.grid(alpha=0.3)
    if axis.lines:
        axis.legend(fontsize=9)


def plot_styles(measurements: Sequence[Measurement]) -> dict[str, dict[str, Any]]:
    """Colour, marker and line of each system, the same in all plots."""
    systems = dict.fromkeys(item.system for item in measurements)
    return {
        system: {
            "color": COLOURS[index % len(COLOURS)],
            "marker": MARKERS[index % len(MARKERS)],
            "linestyle": "-" if index < len(COLOURS) else "--",
        }
        for index, system in enumerate(systems)
    }


def at_least_one(text: str) -> int:
    """The whole number of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def above_zero(text: str) -> float:
    """The number of an option."""
    try:
        if 0.0 < float(text) < math.inf:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that all benchmarks share."""
    parser.add_argument("--rounds", type=at_least_one, help="of the fast systems")
    parser.add_argument(
        "--budget", type=above_zero, help="seconds for all rounds of one system, document and mode together"
    )
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="systems to be measured; default: all")
    parser.add_argument("--threads", type=at_least_one, default=2, help="default: 2")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default: cpu")
    parser.add_argument(
        "--steady-memory", action="store_true", help="huge pages, and no memory is given back meanwhile"
    )
    parser.add_argument("--skip-memory", action="store_true", help="measure times alone")
    parser.add_argument("--quick", action="store_true", help="small and few: whether everything runs, in minutes")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="write all figures here, after each document")
    parser.add_argument("--resume", action="store_true", help="keep what a run like this one wrote to the output")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="plot time against tokens here")


def parse_options(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, systems: Sequence[str]
) -> argparse.Namespace:
    """The options; wrong ones, and files that cannot be written, end the program before it measures for hours."""
    options = parser.parse_args(arguments)
    unknown = set(options.only or ()) - set(systems)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} unknown; choose from {', '.join(systems)}")
    if options.resume and options.output is None:
        parser.error("--resume needs --output, the file that it goes on with")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no GPU")
    try:
        for name in ("output", "plot"):
            if path := getattr(options, name):
                check_writable(path)
                if name == "plot":
                    check_plot_ending(path)
    except (ImportError, OSError, ValueError) as error:
        parser.error(f"--{name} {path}: {error}")
    return options


def check_writable(path: Path) -> None:
    """OSError if no file can be written there; makes its folder."""
    if path.exists() and not path.is_file():
        raise OSError("is not a file")
    beside = path.with_name(f".{path.name}.check")
    write_bytes(beside, b"")
    beside.unlink()


def check_plot_ending(path: Path) -> None:
    """ValueError if matplotlib knows no such ending, ImportError if it is not installed."""
    from hier_nmt.inspection.figures import new_figure

    endings = new_figure(1, 1).canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in endings:
        raise ValueError(f"must end in one of .{', .'.join(endings)}")


def run_command_line(main: Call, interrupted: str = "interrupted; --resume goes on with what --output holds") -> None:
    """Runs `main`; an interrupt ends it with the message and exit code 130."""
    try:
        main()
    except KeyboardInterrupt:
        print(f"\n{interrupted}", file=sys.stderr)
        raise SystemExit(130) from None


def set_up(options: argparse.Namespace) -> None:
    """Has this process measure as the shared options say."""
    torch.set_num_threads(options.threads)
    DEVICE[0] = options.device
    if options.steady_memory:
        steady_memory()


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the options say about how all systems are measured."""
    found = {name: getattr(options, name) for name in SAME_OPTIONS if hasattr(options, name)}
    return {"benchmark": Path(sys.argv[0]).stem, **found}


def measured_before(options: argparse.Namespace, about: Mapping[str, Any]) -> list[Measurement]:
    """What an earlier run has left in the output, if it is to be kept.

    All systems of a case are measured side by side in one run or not at all, so cases may come from different runs.

    Args:
        options: of the command line.
        about: the machine.

    Raises:
        SystemExit: the output is not whole, or was measured in another way.
    """
    if not options.resume or not options.output.exists():
        return []
    try:
        content = json.loads(options.output.read_text(encoding="utf-8"))
        before = {**content["machine"], **content["settings"]}
        rows = [Measurement(**{name: row[name] for name in Measurement._fields}) for row in content["measurements"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        detail = f"it is not a whole file of this benchmark ({type(error).__name__}: {error})"
        raise SystemExit(f"{options.output}: --resume cannot go on with it: {detail}") from error
    now = {**{name: about[name] for name in SAME_MACHINE}, **settings(options)}
    for name, value in now.items():
        if before.get(name) != value:
            difference = f"{name} was {before.get(name)!r} there and is {value!r} now"
            raise SystemExit(f"{options.output}: --resume cannot go on with it: {difference}")
    return rows


def systems_to_measure(
    case: Case, systems: Sequence[str], only: Sequence[str] | None, measurements: Sequence[Measurement]
) -> list[str]:
    """None if all that are asked for were measured in the case, else also those that were: side by side with the rest.

    Args:
        case: the document.
        systems: all that can be compared in the case.
        only: those that are asked for; None for all.
        measurements: what was measured before.
    """
    measured = {item.system for item in measurements if is_of(item, case)}
    asked = set(systems) if only is None else set(only) & set(systems)
    return [system for system in systems if system in asked | measured] if asked - measured else []


def with_case(measurements: Sequence[Measurement], case: Case, new: Sequence[Measurement]) -> list[Measurement]:
    """The measurements by size, those of the case replaced by the new ones."""
    kept = [item for item in measurements if not is_of(item, case)]
    return sorted([*kept, *new], key=lambda item: item.num_sentences)


def is_of(item: Measurement, case: Case) -> bool:
    """Whether the measurement was made in the case."""
    return (item.group, item.num_sentences) == (case.group, case.num_sentences)
