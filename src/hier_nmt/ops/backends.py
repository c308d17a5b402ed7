# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The place where a compiled form of grouped attention is put in, by those who have one.

Models from the Hub run without. The package's `kernels` have one for the processor, and one in Triton for GPUs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class CompiledBackend(NamedTuple):
    """Functions that compute what others of this package do, faster.

    Attributes:
        is_usable: whether the others can take queries [B, H, Q, E] like these.
        attend: `GroupedAttention.apply`.
        search_all: `sentence_search.search_all`.
        search_tree: `sentence_tree.search_tree`.
        relevance: scores [B, H, Q, C] of `relevance_of_selected`, without gradients.
        relevance_gradients: gradients of query and key from query, key, indices and the gradient of those scores.
    """

    is_usable: Callable[[torch.Tensor], bool]
    attend: Callable[..., torch.Tensor]
    search_all: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    search_tree: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    relevance: Callable[..., torch.Tensor]
    relevance_gradients: Callable[..., tuple[torch.Tensor, torch.Tensor]]


_installed: dict[str, Any] = {}


def register_compiled_backend(form: CompiledBackend | None) -> None:
    """Has the compiled form used from now on wherever it is usable; None takes it away."""
    _installed["form"] = form


def register_triton_attention(load: Callable[[], Callable[..., torch.Tensor]]) -> None:
    """Has `attention_kernel="triton"` computed by what `load` gives: `GroupedAttention.apply` in Triton."""
    _installed["triton"] = load


def triton_attention() -> Callable[..., torch.Tensor]:
    """`GroupedAttention.apply` in Triton.

    Raises:
        ImportError: the package hier_nmt has not been imported, or Triton is not installed.
    """
    if "triton" not in _installed:
        raise ImportError("attention_kernel='triton' is in the package hier_nmt, which must be imported before.")
    return _installed["triton"]()


def compiled_backend(query: torch.Tensor) -> CompiledBackend | None:
    """The compiled form, if there is one that can take the query [B, H, Q, E]."""
    form = _installed.get("form")
    return form if form is not None and form.is_usable(query) else None
