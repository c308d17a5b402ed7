# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`generate` for models whose target vocabulary may have another size than that of the source."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import GenerationMixin


class TargetGenerationMixin(GenerationMixin):
    """Generation that counts the tokens of the target vocabulary where Transformers takes `config.vocab_size`."""

    config: Any

    def _beam_search(self, *args: Any, **kwargs: Any) -> Any:
        # Transformers 5.4 does not take the number of tokens from the logits.
        with _target_vocabulary(self.config):
            return super()._beam_search(*args, **kwargs)  # type: ignore[misc]

    def compute_transition_scores(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """See `GenerationMixin.compute_transition_scores`."""
        with _target_vocabulary(self.config):
            return super().compute_transition_scores(*args, **kwargs)  # type: ignore[misc]


@contextmanager
def _target_vocabulary(config: Any) -> Iterator[None]:
    """The configuration says the size of the target vocabulary for that of the source."""
    before, config.vocab_size = config.vocab_size, config.target_vocab_size
    try:
        yield
    finally:
        config.vocab_size = before
