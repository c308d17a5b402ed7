# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""How much memory operations ask for at one time, for tests of what is promised never to be held."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hier_nmt.models.workspace import release_workspaces


class LargestTensor(TorchDispatchMode):
    """Watches what operations return while it is entered, those of backward passes included.

    What earlier calls kept for later ones is given back before.

    Attributes:
        numbers: how many numbers the largest of these tensors holds in memory (a broadcast view holds few).
    """

    def __init__(self) -> None:
        super().__init__()
        release_workspaces()
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self.numbers = max(self.numbers, tensor.untyped_storage().nbytes() // tensor.element_size())
        return result
