# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The registry of faster implementations of the operations in this folder.

Models from the Hub run without. The package's `kernels` register theirs when it is imported.

Dimensions: B batch, H heads, Q queries, K keys, N sentences, E head width, C sentences read per query, t selected.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch


class Backend(NamedTuple):
    """Functions that compute what plain ones of this folder do, faster.

    Attributes:
        name: of the backend.
        is_usable: whether the others can take queries [B, H, Q, E] like these, on their device and in their type.
        min_keys: "auto" attends to fewer keys K with the dense form; None: where the plain functions do too.
        attend: `selected_attention.attend_sentences`.
        search_all: `sentence_selection.search_all`.
        search_tree: `sentence_tree.search_tree`.
        relevance: `sentence_selection.relevance_of_selected`, which takes scores that are known already as `known`.
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
    """Puts a backend before those that are registered; one of the same name is replaced."""
    unregister_backend(backend.name)
    _backends.insert(0, backend)


def unregister_backend(name: str) -> None:
    """Removes the backend of this name if there is one."""
    _backends[:] = [backend for backend in _backends if backend.name != name]


def backend_for(query: torch.Tensor) -> Backend | None:
    """The first backend that can take the query [B, H, Q, E]; None: the plain functions compute.

    Code that is compiled or recorded takes these.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return None
    return next((backend for backend in _backends if backend.is_usable(query)), None)


def register_triton_attention(load: Callable[[], Callable[..., torch.Tensor]]) -> None:
    """Has `attention_kernel="triton"` computed by what `load` gives: `attend_sentences` in Triton."""
    _triton[:] = [load]


def triton_attention() -> Callable[..., torch.Tensor]:
    """`attend_sentences` in Triton.

    Raises:
        ImportError: the package hier_nmt has not been imported, or Triton is not installed.
    """
    if not _triton:
        raise ImportError("attention_kernel='triton' is in the package hier_nmt, which must be imported before.")
    return _triton[0]()
