# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Nearest words of predicted vectors, found by a k-d tree (Bentley 1975; Shen 2023, section IV.1)."""

from typing import Any

import torch

try:
    from scipy.spatial import KDTree
except ImportError:
    KDTree = None


class NearestWords:
    """Finds the word whose vector is nearest to a point, which is also the word with the highest logit.

    In few dimensions the tree visits few words; in the hundreds of dimensions of word vectors it visits most of them.

    Args:
        vectors: the vectors of all words [V, W].

    Raises:
        ImportError: scipy is not installed.
    """

    def __init__(self, vectors: torch.Tensor) -> None:
        if KDTree is None:
            raise ImportError("looking up word vectors needs scipy: pip install 'hier_nmt[eval]'")
        self._tree: Any = KDTree(vectors.detach().double().cpu().numpy())

    def ids(self, points: torch.Tensor) -> torch.Tensor:
        """Ids [...] of the words nearest to points [..., W]."""
        found = self._tree.query(points.detach().double().cpu().numpy())[1]
        return torch.as_tensor(found, dtype=torch.long).view(points.shape[:-1])
