# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A linear map that is not slow where PyTorch's matrix products are."""

import torch
from torch import nn
from torch.nn import functional

from .processor import processor_capabilities, runs_eagerly_on_processor

# A convolution over fewer rows may take longer than a product.
MIN_CONVOLVED_ROWS = 256


class Linear(nn.Linear):
    """`torch.nn.Linear`, the same but for rounding, in less time on AMD processors with AVX-512: half on Zen 5.

    PyTorch multiplies float32 matrices with Intel's MKL, which leaves half of a Zen 5 unused (and a tenth of a Zen 4),
    but convolves with oneDNN, which does not. There, many rows are mapped as a convolution that looks at one row at a
    time.
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Maps [..., in_features] to [..., out_features]."""
        if not is_convolved(input, self.weight):
            return super().forward(input)
        return convolved(input.reshape(-1, self.in_features), self.weight, self.bias).view(
            *input.shape[:-1], self.out_features
        )


def convolved(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """The linear map [R, D] -> [R, D'] with weight [D', D] and bias [D'] as a convolution."""
    num_rows = len(rows)
    # A number of rows that is new takes milliseconds to prepare for, so there are 16 from a power of 2 to the next.
    num_missing = -num_rows % (1 << num_rows.bit_length() - 5)
    if num_missing:
        rows = functional.pad(rows, (0, 0, 0, num_missing))
    # [1, D, 1, rows] with neighbouring numbers in dimension 1, which is how oneDNN convolves fastest.
    mapped = functional.conv2d(rows[None, None].permute(0, 3, 1, 2), weight[:, :, None, None], bias)
    return mapped.permute(0, 2, 3, 1)[0, 0, :num_rows]


def is_convolved(input: torch.Tensor, weight: torch.Tensor) -> bool:
    """Whether rows of the input [..., D] are mapped by the weight [D', D] as a convolution.

    They are if they are many, and plain float32 tensors on such a processor, in code that is run eagerly.
    """
    return (
        runs_eagerly_on_processor(input, weight)
        and input.dtype == weight.dtype == torch.float32
        and input.numel() >= MIN_CONVOLVED_ROWS * weight.shape[-1]
        and not torch.is_autocast_enabled("cpu")
        and convolves_faster()
    )


def convolves_faster() -> bool:
    """Whether this machine has an AMD processor with AVX-512, and PyTorch both MKL and oneDNN."""
    capabilities = processor_capabilities()
    is_amd = capabilities.get("cpu_name", "").startswith("AMD") and bool(capabilities.get("avx512_f"))
    return is_amd and torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
