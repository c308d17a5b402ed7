# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A device that only pretends to be one: its tensors are the processor's, but PyTorch and the models do not know that.

So code for accelerators runs where there is none: mixing its tensors with those of the processor fails as it does on
one, and whatever would wait for a device is noted.
"""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_map_only
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

NAME = "pretended"
aten = torch.ops.aten
COPIES = (aten._to_copy.default, aten.copy_.default)
# What gives tensors whose shapes depend on numbers, or the numbers themselves.
WAITING = {
    "_local_scalar_dense",
    "equal",
    "nonzero",
    "masked_select",
    "bincount",
    "_unique2",
    "unique_dim",
    "unique_consecutive",
}


class OnDevice(torch.Tensor):
    """A tensor of the pretended device, which holds one of the processor."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> "OnDevice":
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )  # fmt: skip

    def __init__(self, inner: torch.Tensor):
        self.inner = inner

    def tolist(self) -> Any:
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func} ran on the pretended device outside of `PretendedDevice`.")


class DeviceModule(_DummyBackendModule):
    """What `torch.autocast` asks of a device."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


class PretendedDevice(TorchDispatchMode):
    """A context in which `torch.device("pretended")` exists; for a process of its own, since PyTorch knows it for good.

    Attributes:
        waits: names of the operations for which the program waited until the device had finished.
        num_operations: how many operations the device was given, views among them.
    """

    def __init__(self) -> None:
        super().__init__()
        _setup_privateuseone_for_python_backend(NAME, backend_module=DeviceModule())
        self.waits: list[str] = []
        self.num_operations = 0
        self._from_lists = FromLists()

    def __enter__(self) -> "PretendedDevice":
        self._from_lists.__enter__()
        return super().__enter__()

    def __exit__(self, *reason: Any) -> None:
        super().__exit__(*reason)
        self._from_lists.__exit__(*reason)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors: list[torch.Tensor] = []

        def noted(some: torch.Tensor) -> torch.Tensor:
            tensors.append(some)
            return some.inner if isinstance(some, OnDevice) else some

        inner_args, inner_kwargs = tree_map_only(torch.Tensor, noted, (args, kwargs))
        is_on_device = any(isinstance(some, OnDevice) for some in tensors)
        strangers = [some.shape for some in tensors if not isinstance(some, OnDevice) and some.ndim > 0]
        if is_on_device and strangers and func not in COPIES:
            raise RuntimeError(f"{func} was given tensors of the device and, of shapes {strangers}, of the processor.")
        target = kwargs.get("device")
        if target is not None:
            inner_kwargs["device"] = torch.device("cpu")
        goes_to_device = is_on_device if target is None else torch.device(target).type == NAME
        self.num_operations += is_on_device or goes_to_device
        if is_blocking_copy(func, args, kwargs, goes_to_device) or (
            is_on_device and waits_for(func, inner_args, inner_kwargs, goes_to_device)
        ):
            self.waits.append(str(func))
        result = func(*inner_args, **inner_kwargs)
        if not goes_to_device:
            return result
        result = tree_map_only(torch.Tensor, OnDevice, result)
        return return_and_correct_aliasing(func, args, kwargs, result) if is_on_device else result


def is_blocking_copy(func: Any, args: Any, kwargs: Any, goes_to_device: bool) -> bool:
    """Whether something is copied from the processor so that it, and all that the device does before, is waited for."""
    if func not in COPIES or not goes_to_device:
        return False
    source = args[1] if func is aten.copy_.default else args[0]
    may_return_early = args[2] if func is aten.copy_.default and len(args) > 2 else kwargs.get("non_blocking")
    return not isinstance(source, OnDevice) and source.numel() > 0 and not may_return_early


def waits_for(func: Any, args: Any, kwargs: Any, goes_to_device: bool) -> bool:
    """Whether an operation on tensors of a device can only be done when those before it have been."""
    name = func.name().split("::")[1].split(".")[0]
    if name == "repeat_interleave":
        return kwargs.get("output_size") is None
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        return any(some is not None and some.dtype == torch.bool for some in args[1])
    return name in WAITING or not goes_to_device


class FromLists(TorchFunctionMode):
    """Has tensors of numbers made on the processor and copied, since PyTorch makes them where no mode sees it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if func in (torch.tensor, torch.as_tensor) and device is not None and torch.device(device).type == NAME:
            return func(*args, **{**kwargs, "device": "cpu"}).to(device)
        return func(*args, **kwargs)
