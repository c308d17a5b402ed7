# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of an exported model, and how they are opened; without PyTorch."""

import os
from pathlib import Path
from typing import Any

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

ENCODER_FILE = "encoder.onnx"
DECODER_FILE = "decoder.onnx"
SETTINGS_FILE = "onnx.json"
# Another one where what is exported from the same weights changes.
EXPORT_VERSION = 8
NO_ONNX = "exporting needs onnx, onnxscript and onnxruntime: pip install 'hier_nmt[export]'"


def engines_folder() -> Path:
    """Where what engines run is kept: in HIER_NMT_CACHE or, without it, in the user's cache."""
    return Path(os.environ.get("HIER_NMT_CACHE") or Path.home() / ".cache" / "hier_nmt") / "engines"


def open_session(path: Path, num_threads: int | None) -> Any:
    """An onnxruntime session of a graph on the processor; ImportError without onnxruntime."""
    if onnxruntime is None:
        raise ImportError(NO_ONNX)
    options = onnxruntime.SessionOptions()
    if num_threads is not None:
        options.intra_op_num_threads = num_threads
    options.log_severity_level = 3
    # Between its steps PyTorch works, from whose threads waiting ones would take the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
