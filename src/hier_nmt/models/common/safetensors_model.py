# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model whose weights are read from safetensors files only, because a pickle can run code when it is read."""

import json
import os
from typing import Any, Self

from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME, WEIGHTS_INDEX_NAME, WEIGHTS_NAME

_REASON = "is a pickle, which can run code when it is read; weights are read from safetensors files only"


class SafetensorsModel(PreTrainedModel):
    """Base of all models of this package: weights are loaded from safetensors files only."""

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, pretrained_model_name_or_path: str | os.PathLike | None, *model_args: Any, **kwargs: Any
    ) -> Self:
        """The model of a checkpoint, as in `PreTrainedModel.from_pretrained`.

        Raises:
            OSError: the checkpoint has no safetensors file.
            ValueError: an option asks for another kind of file.
        """
        if kwargs.pop("use_safetensors", None) is False:
            raise ValueError(f"use_safetensors=False: {WEIGHTS_NAME} {_REASON}")
        if kwargs.pop("weights_only", True) is not True:
            raise ValueError("weights_only=False would let the weights run code, and no model of this package needs it")
        named = getattr(kwargs.get("config"), "transformers_weights", None)
        if named is not None and not str(named).endswith((".safetensors", ".safetensors.index.json")):
            raise OSError(f"the configuration names {named!r} as weights, which {_REASON}")
        if pretrained_model_name_or_path is not None:
            check_weights_are_safetensors(
                pretrained_model_name_or_path, kwargs.get("subfolder") or "", kwargs.get("variant")
            )
        return super().from_pretrained(
            pretrained_model_name_or_path, *model_args, use_safetensors=True, weights_only=True, **kwargs
        )

    def save_pretrained(  # type: ignore[override]
        self,
        save_directory: str | os.PathLike,
        is_main_process: bool = True,
        state_dict: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Saves the model as in `PreTrainedModel.save_pretrained`, each tied weight once.

        A `state_dict` that was gathered from several processes holds a copy of a tied weight under each of its names,
        and Transformers does not notice that these are the same weight.
        """
        if state_dict is not None:
            sources = self.all_tied_weights_keys
            state_dict = {name: weight for name, weight in state_dict.items() if sources.get(name) not in state_dict}
        super().save_pretrained(save_directory, is_main_process=is_main_process, state_dict=state_dict, **kwargs)


def check_weights_are_safetensors(path: str | os.PathLike, subfolder: str = "", variant: str | None = None) -> None:
    """Raises OSError for a folder or file whose weights are a pickle; files that are not on this machine are not
    checked.

    Args:
        path: a folder, a file, or a name on the Hub.
        subfolder: of the folder, with the weights.
        variant: part of the names of the files, as in `model.fp16.safetensors`.
    """
    if os.path.isfile(path) and not os.fspath(path).endswith(".safetensors"):
        raise OSError(f"{os.fspath(path)} {_REASON}")
    folder = os.path.join(path, subfolder)
    if os.path.isfile(os.path.join(folder, _named(SAFE_WEIGHTS_NAME, variant))):
        return
    index = os.path.join(folder, _named(SAFE_WEIGHTS_INDEX_NAME, variant))
    if os.path.isfile(index):
        _check_index(index)
        return
    for name in (WEIGHTS_NAME, WEIGHTS_INDEX_NAME):
        pickle = os.path.join(folder, _named(name, variant))
        if os.path.isfile(pickle):
            raise OSError(f"{pickle} {_REASON}")


def _named(name: str, variant: str | None) -> str:
    stem, _, ending = name.rpartition(".")
    return name if variant is None else f"{stem}.{variant}.{ending}"


def _check_index(path: str) -> None:
    """Raises OSError if a file that an index names is not a safetensors file, or is outside of the folder of the
    index."""
    try:
        with open(path, encoding="utf-8") as file:
            names = set(json.load(file)["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise OSError(f"{path} is not an index of safetensors files: {type(error).__name__}: {error}") from error
    for name in names:
        if not isinstance(name, str) or os.path.basename(name) != name:
            raise OSError(f"{path} names {name!r}, which is not a file in the same folder")
        if not name.endswith(".safetensors"):
            raise OSError(f"{os.path.join(os.path.dirname(path), name)} {_REASON}")


__all__ = ["SafetensorsModel", "check_weights_are_safetensors"]
