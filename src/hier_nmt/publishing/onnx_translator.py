# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Greedy decoding with exported graphs and NumPy alone: a description of the loop for other programs.

Dimensions: B batch, L target tokens so far.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .onnx_export import DECODER_FILE, ENCODER_FILE, SETTINGS_FILE, open_session


class OnnxTranslator:
    """Greedy decoding with the graphs of a folder.

    Args:
        folder: output of `export_model` or `quantize_model`.
        num_threads: threads of the runtime.
    """

    def __init__(self, folder: str | Path, num_threads: int = 1) -> None:
        folder = Path(folder)
        self.settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
        self._encoder, self._decoder = (
            open_session(folder / name, num_threads) for name in (ENCODER_FILE, DECODER_FILE)
        )
        self._separators = [self.settings[f"{name}_token_id"] for name in ("sep", "par")]

    def generate(self, sources: Sequence[Sequence[int]], max_new_tokens: int) -> list[list[int]]:
        """The most likely token at each step for each window of source ids, without start and end tokens.

        Raises:
            ValueError: a window of more sentences than the graphs have room for.
        """
        most, separators = self.settings["max_sentences"], self._separators
        num_sentences = 1 + max(sum(token in separators for token in row) for row in sources)
        if most is not None and num_sentences > most:
            raise ValueError(f"a window of {num_sentences} sentences: the graphs have room for {most}")
        pad, eos = self.settings["pad_token_id"], self.settings["eos_token_id"]
        length = max(map(len, sources))
        input_ids = np.array([[*row, *[pad] * (length - len(row))] for row in sources], dtype=np.int64)
        mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in sources], dtype=np.int64)
        source = _run(self._encoder, [input_ids, mask])
        past = [np.zeros((len(sources), *sizes), np.float32) for sizes in self.settings["past"]]
        newest = np.full((len(sources), 1), self.settings["decoder_start_token_id"], dtype=np.int64)
        sentence_ids = paragraph_ids = np.ones((len(sources), 1), dtype=np.int64)
        written: list[list[int]] = [[] for _ in sources]
        is_done = np.zeros(len(sources), dtype=bool)
        for _ in range(max_new_tokens):
            logits, *past = _run(self._decoder, [newest, sentence_ids, paragraph_ids, mask, *source, *past])
            chosen = np.where(is_done, pad, logits.argmax(-1))
            is_done |= chosen == eos
            for row, token in zip(written, chosen, strict=True):
                if token not in (pad, eos):
                    row.append(int(token))
            if is_done.all():
                break
            sentence_ids = _extended_ids(sentence_ids, newest[:, 0], separators, is_done)
            paragraph_ids = _extended_ids(paragraph_ids, newest[:, 0], separators[1:], is_done)
            if most is not None:
                sentence_ids = np.minimum(sentence_ids, most)
            newest = chosen[:, None]
        return written


def _extended_ids(
    ids: np.ndarray, last: np.ndarray, separators: Sequence[int | None], is_done: np.ndarray
) -> np.ndarray:
    """The ids [B, L] extended by those of the next tokens: after a separator the next one starts; padding has 0."""
    following = ids[:, -1] + np.isin(last, [one for one in separators if one is not None])
    return np.concatenate([ids, np.where(is_done, 0, following)[:, None]], axis=1)


def _run(session: Any, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    names = [one.name for one in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))
