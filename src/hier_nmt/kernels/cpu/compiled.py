# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to selected sentences in C++ for the CPU, for users who have a compiler.

    from hier_nmt.kernels.cpu.compiled import use_compiled_attention

    use_compiled_attention()

From then on, `attention_kernel` "auto" and "grouped" use it on the CPU, forward and backward, for float32 and (computed
in float32) for float16 and bfloat16; head widths must be multiples of 16. If the CPU has matrix tiles (AMX) and the
head width is a multiple of 32, they are used to select sentences, and for bfloat16 in the forward pass without dropout.
`hier-nmt compile` compiles the code once; from then on it is used whenever the package is imported, unless the
environment variable HIER_NMT_COMPILED_ATTENTION is 0. The package also works without it.

Dimensions: B batch, H heads, Q queries, K keys, N sentences, E head width, C sentences read per query, t selected.
"""

import ctypes
import hashlib
import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from ...ops.backends import Backend, register_backend
from ...ops.sentence_tree import start_level
from ..torch_cpu import sentence_search
from ..torch_cpu.block_plan import RankedSentences
from ..torch_cpu.grouped_attention import grouped_attention
from ..torch_cpu.relevance import relevance_of_selected

SOURCES = sorted(Path(__file__).parent.glob("*.cpp"))
HEADERS = sorted(Path(__file__).parent.glob("*.h"))
COMPILER_FLAGS = ["-std=c++17", "-O3", "-march=native", "-fPIC", "-fopenmp"]
FUNCTIONS = (
    "attend_forward",
    "attend_backward",
    "select_sentences",
    "select_near_sentences",
    "search_tree",
    "relevance",
    "relevance_gradients",
)
# These are in the library only if it was compiled for a CPU with matrix tiles.
FUNCTIONS_WITH_TILES = ("attend_forward_bfloat16", "select_sentences_bfloat16", "select_sentences_tiles")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# Head widths must be multiples of it: the number of elements of the longest vectors in the compiled code.
LANES = 16
# Bfloat16 elements of a row of a tile; the maximum t for which tiles select sentences, and the minimum number of
# float32 queries.
TILE_NUMBERS, MAX_CHOICES_WITH_TILES, MIN_QUERIES_WITH_TILES = 32, 8, 64


def use_compiled_attention() -> None:
    """Compiles the code if necessary, and makes "auto" and "grouped" use it.

    The library is kept in the folder of the environment variable HIER_NMT_CACHE (default: ~/.cache/hier_nmt).

    Raises:
        RuntimeError: there is no C++ compiler (the environment variable CXX, default: g++), or it fails.
    """
    library()
    register_backend(BACKEND)


def is_compiled() -> bool:
    """Whether the library of these sources has been compiled for this machine and this PyTorch."""
    try:
        return library_path().exists()
    except (OSError, RuntimeError):  # no home directory, or one that cannot be read
        return False


@cache
def library() -> ctypes.CDLL:
    """The compiled library; it is built if it is missing."""
    path = library_path()
    if not path.exists():
        build(path)
    # It uses the OpenMP library that PyTorch has loaded: two of them would compete for the cores.
    found = ctypes.CDLL(str(path))
    for name in (*FUNCTIONS, *(FUNCTIONS_WITH_TILES if found.may_use_tiles() else ())):
        getattr(found, name).restype = None
    return found


@cache
def has_tiles() -> bool:
    """Whether the CPU has matrix tiles for bfloat16 (AMX), and Linux lets this process use them."""
    return bool(library().may_use_tiles())


def uses_tiles(*states: torch.Tensor) -> bool:
    """Whether states [B, H, L, E] like these are multiplied with matrix tiles."""
    of_tiles = [some.dtype == torch.bfloat16 and some.shape[-1] % TILE_NUMBERS == 0 for some in states]
    return all(of_tiles) and has_tiles()


def library_path() -> Path:
    """The path of the library; every version of the sources, machine and PyTorch has its own."""
    cache_folder = os.environ.get("HIER_NMT_CACHE") or Path.home() / ".cache" / "hier_nmt"
    texts = [source.read_text() for source in (*HEADERS, *SOURCES)]
    about = [*texts, *COMPILER_FLAGS, compiler(), torch.__version__, platform.machine(), processor()]
    return Path(cache_folder) / f"selected_attention-{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}.so"


def compiler() -> str:
    """The C++ compiler's command."""
    return os.environ.get("CXX", "g++")


def processor() -> str:
    """The instruction sets of the CPU, if the system lists them, else its name."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


def build(path: Path) -> None:
    """Compiles the library to `path`, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        run = partial(run_compiler, folder)
        list(pool.map(run, ([*COMPILER_FLAGS, "-c", str(source)] for source in SOURCES)))
        linked = Path(folder) / "code.so"
        # Not linked with OpenMP, see `library`.
        run(["-shared", *(source.with_suffix(".o").name for source in SOURCES), "-o", linked.name])
        linked.replace(path)


def run_compiler(folder: str, arguments: list[str]) -> None:
    """Runs the compiler in a folder."""
    command = [compiler(), *arguments]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    except OSError as error:
        raise RuntimeError(f"The C++ compiler {compiler()!r} cannot be run ({error}).") from error
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stderr}")


class Steps(ctypes.Structure):
    """`Steps` of the C++ source."""

    _fields_ = [(name, ctypes.c_int64) for name in ("document", "head", "row")]


class Plan(ctypes.Structure):
    """`Plan` of the C++ source."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("batch_size", "num_heads", "num_queries", "num_keys", "width")),
        *((name, ctypes.c_int64) for name in ("num_choices", "num_numbers")),
        *((name, ctypes.c_void_p) for name in ("numbers", "query_positions", "rank", "start", "length", "keys")),
        ("scaling", ctypes.c_float),
        ("dropout", ctypes.c_float),
        ("seed", ctypes.c_uint64),
        *((name, Steps) for name in ("of_query", "of_key", "of_value")),
    ]


class Tree(ctypes.Structure):
    """`Tree` of the C++ source."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("batch_size", "num_heads", "num_queries", "width", "num_nodes")),
        *((name, ctypes.c_int64) for name in ("num_levels", "start_level", "t")),
        *((name, ctypes.c_void_p) for name in ("first_node", "keys", "masks", "own")),
    ]


def is_usable(query: torch.Tensor) -> bool:
    """Whether the compiled code supports queries [B, H, Q, E] like these."""
    return query.dtype in DTYPES and query.device.type == "cpu" and query.shape[-1] % LANES == 0


def address(tensor: torch.Tensor | None) -> int | None:
    """The address of a contiguous tensor's data; None for None."""
    assert tensor is None or tensor.is_contiguous()
    return None if tensor is None else tensor.data_ptr()


def make_plan(
    states: Sequence[torch.Tensor],
    sentence_ids: torch.Tensor,
    ranked: RankedSentences,
    query_positions: torch.Tensor | None,
    scaling: float,
    dropout: Any,
) -> Plan:
    """The plan for the compiled code, for the states query, key and value. The tensors must outlive it."""
    query, key, _ = states
    batch_size, num_heads, num_queries, width = query.shape
    return Plan(
        batch_size, num_heads, num_queries, key.shape[2], width, sentence_ids.shape[-1], len(ranked.rank) // batch_size,
        address(sentence_ids), address(query_positions),
        *(address(part) for part in (ranked.rank, ranked.start, ranked.length, ranked.keys)),
        scaling, dropout.probability, dropout.seed,
        *(Steps(*some.stride()[:3]) for some in states),
    )  # fmt: skip


class CompiledAttention(torch.autograd.Function):
    """The same as `GroupedAttention`, with the same arguments."""

    @staticmethod
    def forward(ctx, query, key, value, scores, sentence_ids, ranked, query_positions, scaling, dropout):  # type: ignore[no-untyped-def]
        """Output [B, H, Q, E]."""
        with_tiles = dropout.probability == 0.0 and uses_tiles(query, key, value)
        inputs = [some.contiguous() if with_tiles else with_whole_rows(some) for some in (query, key, value)]
        inputs.append(scores.contiguous())
        sentence_ids = sentence_ids.contiguous()
        query_positions = None if query_positions is None else query_positions.contiguous()
        ranked = RankedSentences(*(part.contiguous() for part in ranked))
        dtype, attend = torch.float32, library().attend_forward
        if with_tiles:
            dtype, attend = torch.bfloat16, library().attend_forward_bfloat16
        states = [some.to(dtype) for some in inputs[:3]]
        output = torch.empty_like(states[0])
        normaliser = output.new_empty(output.shape[:3], dtype=torch.float32)
        plan = make_plan(states, sentence_ids, ranked, query_positions, scaling, dropout)
        pointers = map(pointer_to_rows, [*states, inputs[3].float(), output, normaliser])
        attend(ctypes.byref(plan), *pointers, torch.get_num_threads())
        output = output.to(query.dtype)
        ctx.save_for_backward(*inputs, output, normaliser, sentence_ids, query_positions, *ranked)
        ctx.settings = (scaling, dropout)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):  # type: ignore[no-untyped-def]
        """Gradients of query, key, value and scores."""
        *states, sentence_ids, query_positions, rank, start, length, row, keys = ctx.saved_tensors
        ranked = RankedSentences(rank, start, length, row, keys)
        inputs = [some.float() for some in (*states, grad_output)]
        for place in (4, 6):  # the output and its gradient
            inputs[place] = laid_out_like(inputs[place], inputs[0])
        plan = make_plan(inputs[:3], sentence_ids, ranked, query_positions, *ctx.settings)
        grads = [torch.empty_like(some) for some in inputs[:4]]
        pointers = map(pointer_to_rows, [*inputs, *grads])
        library().attend_backward(ctypes.byref(plan), *pointers, torch.get_num_threads())
        grads = [grad.to(some.dtype) for grad, some in zip(grads, states, strict=False)]
        return *grads, None, None, None, None, None


def with_whole_rows(states: torch.Tensor) -> torch.Tensor:
    """The states [B, H, L, E], made contiguous unless `empty_like` gives tensors of the same strides."""
    is_usable = states.stride(-1) == 1 and torch.empty_like(states, device="meta").stride() == states.stride()
    return states if is_usable else states.contiguous()


def laid_out_like(states: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """The states with the memory layout of the others."""
    return states if states.stride() == others.stride() else torch.empty_like(others).copy_(states)


def pointer_to_rows(states: torch.Tensor) -> ctypes.c_void_p:
    """A pointer to the data of a tensor that need not be contiguous."""
    return ctypes.c_void_p(states.data_ptr())


def as_pointer(tensor: torch.Tensor | None) -> ctypes.c_void_p:
    """A pointer to the data of a contiguous tensor; a null pointer for None."""
    return ctypes.c_void_p(address(tensor))


def search_all(
    query: torch.Tensor,
    key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    own_sentence_ids: torch.Tensor | None,
    num_choosable: torch.Tensor | None,
    query_sentence_ids: torch.Tensor | None = None,
    slope: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same as `sentence_selection.search_all`, with the same arguments."""
    arguments = query, key, sentence_mask, t, own_sentence_ids, num_choosable, query_sentence_ids, slope
    if query.shape[2] == 1:
        # The preparation of all keys would take too long for a decoding step.
        return sentence_search.search_all(*arguments)
    if torch.isnan(query.sum() + key.masked_fill(~sentence_mask[:, None, :, None], 0.0).sum()):
        # Comparisons in the compiled code would skip NaN and hide it.
        return sentence_search.search_all(*arguments)
    batch_size, num_heads, num_queries, width = query.shape
    name, limits, numbers = "select_sentences", [own_sentence_ids, num_choosable], []
    if slope:
        # Products are compared before they are divided by sqrt(E).
        name, limits, numbers = "select_near_sentences", [*limits, query_sentence_ids], [slope * width**0.5]
    elif t <= MAX_CHOICES_WITH_TILES and width % TILE_NUMBERS == 0 and has_tiles():
        if query.dtype == key.dtype == torch.bfloat16:
            name = "select_sentences_bfloat16"
        elif num_queries >= MIN_QUERIES_WITH_TILES:
            name = "select_sentences_tiles"
    if name != "select_sentences_bfloat16":
        query, key = query.float(), key.float()
    states = [query.contiguous(), key.contiguous(), as_bytes(sentence_mask)]
    limits = [None if limit is None else limit.contiguous() for limit in limits]
    scores = query.new_empty(batch_size, num_heads, num_queries, t, dtype=torch.float32)
    indices = torch.empty_like(scores, dtype=torch.int64)
    sizes = (batch_size, num_heads, num_queries, key.shape[2], width, t)
    call(name, sizes, [*states, *limits, indices, scores], *numbers)
    return indices, scores


def search_tree(
    query: torch.Tensor,
    keys: Sequence[torch.Tensor],
    masks: Sequence[torch.Tensor],
    t: int,
    own_sentence_ids: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same as `sentence_tree.search_tree`, with the same arguments."""
    batch_size, num_heads, num_queries, width = query.shape
    query, all_keys, all_masks = query.contiguous(), torch.cat(list(keys), dim=2), as_bytes(torch.cat(list(masks), 1))
    own_sentence_ids = None if own_sentence_ids is None else own_sentence_ids.contiguous()
    first_node = torch.tensor([0, *(mask.shape[1] for mask in masks)], device=query.device).cumsum(0)
    leaves = query.new_empty(batch_size, num_heads, num_queries, t, dtype=torch.int64)
    is_kept = torch.empty_like(leaves, dtype=torch.bool)
    tree = Tree(
        batch_size, num_heads, num_queries, width, all_keys.shape[2], len(masks), start_level(masks, t), t,
        address(first_node), address(all_keys), address(all_masks), address(own_sentence_ids),
    )  # fmt: skip
    library().search_tree(ctypes.byref(tree), *map(as_pointer, [query, leaves, is_kept]), torch.get_num_threads())
    return leaves, is_kept


def relevance(query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Scores [B, H, Q, C] of `relevance_of_selected`, with the same arguments."""
    states = [query.contiguous(), key.contiguous(), indices.contiguous()]
    scores = query.new_empty(indices.shape)
    call("relevance", sizes_of_relevance(query, key, indices), [*states, scores])
    return scores


def relevance_gradients(
    query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor, grad_scores: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of query [B, H, Q, E] and key [B, H, N, E] from those of the scores [B, H, Q, C]."""
    states = [some.contiguous() for some in (query, key, indices, grad_scores)]
    grads = torch.empty_like(states[0]), torch.empty_like(states[1])
    call("relevance_gradients", sizes_of_relevance(query, key, indices), [*states, *grads])
    return grads


def sizes_of_relevance(query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor) -> tuple[int, ...]:
    """The sizes that the compiled `relevance` takes."""
    return (query.shape[0] * query.shape[1], query.shape[2], key.shape[2], query.shape[3], indices.shape[3])


def call(name: str, sizes: Sequence[int], tensors: Sequence[torch.Tensor | None], *numbers: float) -> None:
    """Calls the compiled function of this name."""
    arguments = [*map(ctypes.c_int64, sizes), *map(as_pointer, tensors), *map(ctypes.c_float, numbers)]
    getattr(library(), name)(*arguments, torch.get_num_threads())


def as_bytes(mask: torch.Tensor) -> torch.Tensor:
    """A boolean mask as contiguous bytes."""
    return mask.contiguous().view(torch.uint8)


BACKEND = Backend(
    "compiled",
    is_usable,
    0,
    partial(grouped_attention, apply=CompiledAttention.apply),
    search_all,
    search_tree,
    partial(relevance_of_selected, score=relevance, gradients=relevance_gradients),
)
