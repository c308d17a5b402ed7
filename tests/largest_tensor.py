# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""How much memory operations ask for at one time, for tests of what is promised never to be held."""

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hier_nmt.kernels.torch_cpu.buffer_pool import release_thread_buffers

BYTES_OF_A_NUMBER = 4


class LargestTensor(TorchDispatchMode):
    """Watches what operations return while it is entered, those of backward passes included.

    What earlier calls kept for later ones is given back before.

    Attributes:
        numbers: how many numbers the largest of these tensors holds in memory (a broadcast view holds few).
    """

    def __init__(self) -> None:
        super().__init__()
        release_thread_buffers()
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                num_bytes = sum(storage.nbytes() for storage in storages(tensor))
                self.numbers = max(self.numbers, num_bytes // tensor.element_size())
        return result


class LiveNumbers(TorchDispatchMode):
    """Counts what operations return while it is entered, for as long as it is held.

    Attributes:
        numbers: how many float32 numbers would fill what is held now.
        most: how many would fill what was held at one time at most.
    """

    def __init__(self) -> None:
        super().__init__()
        self.numbers = self.most = 0
        self._held: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {storage._cdata for storage in storages((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for storage in storages(result):
            if storage._cdata not in given | self._held.keys():
                self._hold(storage)
        return result

    def _hold(self, storage: torch.UntypedStorage) -> None:
        self._held[storage._cdata] = storage.nbytes() // BYTES_OF_A_NUMBER
        self.numbers += self._held[storage._cdata]
        self.most = max(self.most, self.numbers)
        weakref.finalize(storage, self._release, storage._cdata)

    def _release(self, key: int) -> None:
        self.numbers -= self._held.pop(key)


def storages(tree: Any) -> list[torch.UntypedStorage]:
    """The memory behind the tensors in a nest of containers.

    Sparse matrices have none of their own: they hold tensors that were made before.
    """
    tensors = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
    return [tensor.untyped_storage() for tensor in tensors if tensor.layout == torch.strided]
