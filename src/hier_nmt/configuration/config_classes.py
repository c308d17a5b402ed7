# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The configurations of all model families."""

from .configuration_han import HANConfig
from .configuration_hier_nmt import HierNMTConfig
from .configuration_rnn_nmt import RNNNMTConfig
from .hub_config import HubConfig

# By the names that a recipe or a saved configuration gives as `model_type`.
CONFIG_CLASSES: dict[str, type[HubConfig]] = {
    config_class.model_type: config_class for config_class in (HierNMTConfig, HANConfig, RNNNMTConfig)
}

__all__ = ["CONFIG_CLASSES", "HANConfig", "HierNMTConfig", "RNNNMTConfig"]
