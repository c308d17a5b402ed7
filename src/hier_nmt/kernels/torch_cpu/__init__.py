# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""PyTorch tuned for CPUs: queries are grouped by the sentences that they read, and buffers are reused.

Other devices use this backend too; it plans the work on the CPU.
"""

import torch

from ...ops.backends import Backend
from .grouped_attention import grouped_attention as attend
from .relevance import relevance_of_selected
from .sentence_search import search_all
from .tree_search import search_tree


def is_usable(query: torch.Tensor) -> bool:
    """True: queries of any dtype on any device."""
    return True


BACKEND = Backend("torch_cpu", is_usable, None, attend, search_all, search_tree, relevance_of_selected)
