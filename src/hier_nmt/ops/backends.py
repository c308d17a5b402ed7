# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The registry of faster implementations of the operations in this folder.

The package's `kernels` register theirs when the package is imported. Models from the Hub run without any.

Dimensions: B batch, H heads, Q queries, K keys, N sentences, E head width, C sentences read per query, t selected.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch


class Backend(NamedTuple):
    """Faster versions of the plain functions of this folder.

    Attributes:
        name: of the backend.
        is_usable: whether the backend supports the device, the dtype and the width of queries [B, H, Q, E].
        min_keys: with fewer keys K, "auto" takes the dense form; None: the threshold of the plain functions.
        attend: `selected_attention.attend_sentences`.
        search_all: `sentence_selection.search_all`.
        search_tree: `sentence_tree.search_tree`.
        relevance: `sentence_selection.relevance_of_selected`, which takes scores that were already computed as `known`.
    """

    name: str
    is_usable: Callable[[torch.Tensor], bool]
    min_keys: int | None
    attend: Callable[..., torch.Tensor]
    search_all: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    search_tree: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    relevance: Callable[..., torch.Tensor]


_backends: list[Backend] = []
_triton: list[Callable[[], Callable[..., torch.Tensor]]] = []


def register_backend(backend: Backend) -> None:
    """Registers a backend, before all others; it replaces a backend of the same name."""
    unregister_backend(backend.name)
    _backends.insert(0, backend)


def unregister_backend(name: str) -> None:
    """Removes the backend of this name if there is one."""
    _backends[:] = [backend for backend in _backends if backend.name != name]


def backend_for(query: torch.Tensor) -> Backend | None:
    """The first backend that supports the query [B, H, Q, E]; None: use the plain functions.

    Code that is compiled or traced always uses the plain functions.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return None
    return next((backend for backend in _backends if backend.is_usable(query)), None)


def register_triton_attention(load: Callable[[], Callable[..., torch.Tensor]]) -> None:
    """Registers a function that returns `attend_sentences` in Triton, for `attention_kernel="triton"`."""
    _triton[:] = [load]


def triton_attention() -> Callable[..., torch.Tensor]:
    """`attend_sentences` in Triton.

    Raises:
        ImportError: the package hier_nmt was not imported, or Triton is not installed.
    """
    if not _triton:
        raise ImportError("attention_kernel='triton' is part of the package hier_nmt; import it first.")
    return _triton[0]()
