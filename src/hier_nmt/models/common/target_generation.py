# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`generate` for models whose cache and target vocabulary are not those that Transformers assumes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import GenerationConfig, GenerationMixin
from transformers.cache_utils import Cache

from ...configuration.compatibility import describe_untested_version
from ...configuration.library_internals import CACHE_NAME, one_cache

_VOCABULARY_LOCK = threading.Lock()


class TargetGenerationMixin(GenerationMixin):
    """Generation with the cache of the model, under either of its names, over the tokens of the target vocabulary.

    Transformers takes the size of the target vocabulary from `config.vocab_size`, which is that of the source: in beam
    search up to some release after 5.4, and in some logits processors still.
    """

    config: Any
    generation_config: GenerationConfig
    _num_generating = 0
    _source_vocab_size: int

    def decoding_cache(self) -> Cache:
        """An empty cache with which `generate` begins."""
        raise NotImplementedError

    def generate(  # type: ignore[override]
        self,
        inputs: torch.Tensor | None = None,
        generation_config: GenerationConfig | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """See `GenerationMixin.generate`; a cache may be given as `cache` or as `past_key_values`."""
        cache = one_cache(kwargs.pop("cache", None), kwargs.pop("past_key_values", None))
        if cache is None and self._chooses_cache(generation_config, kwargs):
            cache = self.decoding_cache()
        if cache is not None:
            kwargs[CACHE_NAME] = cache
        try:
            with self._target_vocabulary():
                return super().generate(inputs, generation_config, *args, **kwargs)  # type: ignore[misc]
        except Exception as error:
            if note := describe_untested_version():
                error.add_note(note)
            raise

    def compute_transition_scores(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """See `GenerationMixin.compute_transition_scores`."""
        with self._target_vocabulary():
            return super().compute_transition_scores(*args, **kwargs)  # type: ignore[misc]

    def _chooses_cache(self, generation_config: GenerationConfig | None, kwargs: dict[str, Any]) -> bool:
        """Whether a run with these options leaves the choice of the cache to the model."""
        configs = [config for config in (generation_config, self.generation_config) if config is not None]

        def option(name: str) -> Any:
            values = (kwargs.get(name), *(getattr(config, name, None) for config in configs))
            return next((value for value in values if value is not None), None)

        # Assisted generation rolls the cache back in ways that only the cache of Transformers supports.
        return (
            option("use_cache") is not False and option("cache_implementation") is None and not option("is_assistant")
        )

    @contextmanager
    def _target_vocabulary(self) -> Iterator[None]:
        """Context in which `vocab_size` of the configuration is the size of the target vocabulary, in all threads."""
        with _VOCABULARY_LOCK:
            if self._num_generating == 0:
                self._source_vocab_size = self.config.vocab_size
                self.config.vocab_size = self.config.target_vocab_size
            self._num_generating += 1
        try:
            yield
        finally:
            with _VOCABULARY_LOCK:
                self._num_generating -= 1
                if self._num_generating == 0:
                    self.config.vocab_size = self._source_vocab_size
