# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model whose `generate` is that of CTranslate2.

What CTranslate2 cannot do is done by PyTorch: a batch with options that it has no equal of, and single rows in which
something would have been forbidden in the course of decoding.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig, PreTrainedModel

from ..models.hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration
from ..translation.generation_constraints import WithinLengths
from ..translation.loop_prevention import WithoutLoops
from .ctranslate2_export import NO_CTRANSLATE2, num_positions, token_names

try:
    import ctranslate2
except ImportError:
    ctranslate2 = None

# Options of `generate` that CTranslate2 has, or that have no effect on a search.
_KNOWN_OPTIONS = {
    *("num_beams", "max_new_tokens", "max_length", "min_new_tokens", "length_penalty", "early_stopping"),
    *("suppress_tokens", "renormalize_logits", "forced_bos_token_id", "use_cache", "cache_implementation"),
    *("transformers_version", "_from_model_config"),
    *("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"),
}
# CTranslate2 ends its search at this many times the beams' number of complete hypotheses; Transformers goes on while a
# better one may come.
_PATIENCE = 2.0


def open_translator(folder: str | Path, compute_type: str, num_threads: int) -> Any:
    """CTranslate2's translator of a folder on the processor; ImportError without CTranslate2.

    Each thread translates rows of its own: the products of one batch are too small to be divided.
    """
    if ctranslate2 is None:
        raise ImportError(NO_CTRANSLATE2)
    return ctranslate2.Translator(str(folder), compute_type=compute_type, inter_threads=num_threads, intra_threads=1)


class Ctranslate2Model(HierNMTForConditionalGeneration):
    """A model that CTranslate2 decodes with: it has no weights of its own and gives no gradients.

    Args:
        model: the model that was exported; it does what CTranslate2 cannot.
        translator: see `open_translator`; its tokens are named after their ids (`token_names`).
        num_threads: of the translator.
    """

    def __init__(self, model: PreTrainedModel, translator: Any, num_threads: int = 1) -> None:
        # Not that of the model, which would make weights.
        PreTrainedModel.__init__(self, model.config)
        # In a list, so that it is no part of this module.
        self._exported = [model]
        self.translator, self.num_threads = translator, num_threads
        config: Any = model.config
        self._source_names, self._target_names = token_names(config.vocab_size), token_names(config.target_vocab_size)
        self._target_ids = {name: index for index, name in enumerate(self._target_names)}

    @property
    def pytorch_model(self) -> PreTrainedModel:
        """The model that was exported."""
        return self._exported[0]

    @property
    def device(self) -> torch.device:
        """Where inputs are wanted."""
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights of the model that was exported."""
        return self._exported[0].dtype

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the model that was exported gives."""
        return self._exported[0](*args, **kwargs)

    @torch.inference_mode()
    def generate(  # type: ignore[override]
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        generation_config: GenerationConfig | None = None,
        logits_processor: Sequence[Any] | None = None,
        stopping_criteria: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Token ids [B, L] as `generate` of the model gives them: the given ones first, padding behind the end.

        Args:
            input_ids, attention_mask: source tokens and their mask [B, S].
            decoder_input_ids, decoder_attention_mask: given target tokens, the start token first, and their mask
                [B, P], padded on the left.
            generation_config: options; default: those of the model.
            logits_processor: what the translator forbids; PyTorch decodes with others.
            stopping_criteria: called for every length of the outputs, to report them and to end rows.
            kwargs: other options of `generate`.
        """
        config = copy.deepcopy(generation_config or self.generation_config)
        others = config.update(**kwargs)
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if decoder_input_ids is not None:
            inputs |= {"decoder_input_ids": decoder_input_ids, "decoder_attention_mask": decoder_attention_mask}
        processors = list(logits_processor or ())
        if others or not self._can_decode(inputs, config, processors):
            hooks = {"logits_processor": processors, "stopping_criteria": stopping_criteria}
            return self._by_pytorch(**inputs, generation_config=config, **others, **hooks)
        given = _given_tokens(inputs)
        rows = self._decode(inputs, given, config)
        for index, row in enumerate(rows):
            if any(one.would_act(index, given[index], row) for one in processors):
                rows[index] = self._row_by_pytorch(inputs, index, config, processors)
        sequences = _sequences(inputs, rows, config)
        num_given = sequences.shape[1] - max(map(len, rows))
        return _stopped(sequences, num_given, stopping_criteria or (), config.pad_token_id)

    def _can_decode(self, inputs: dict[str, Any], config: GenerationConfig, processors: Sequence[Any]) -> bool:
        """Whether CTranslate2 has equals of all options."""
        source, prefix = inputs["input_ids"], inputs.get("decoder_input_ids")
        num_given = 1 if prefix is None else prefix.shape[1]
        num_new = config.max_new_tokens or config.max_length or num_positions(self.config)
        # What is off is off in CTranslate2, too.
        chosen = {name for name, value in config.to_diff_dict().items() if value is not None and value is not False}
        return (
            chosen <= _KNOWN_OPTIONS
            and config.early_stopping in (None, False)
            # It forbids tokens before the softmax, which the scores of beams show.
            and ((config.num_beams or 1) == 1 or config.renormalize_logits or not config.suppress_tokens)
            # Given tokens would count in what is compared.
            and (num_given == 1 or ((config.num_beams or 1) == 1 and not config.min_new_tokens))
            and all(isinstance(one, WithoutLoops | WithinLengths) for one in processors)
            and max(source.shape[1], num_given + num_new) <= num_positions(self.config)
            and config.pad_token_id is not None
        )

    def _row_by_pytorch(
        self, inputs: dict[str, Any], index: int, config: GenerationConfig, processors: Sequence[Any]
    ) -> list[int]:
        """The new tokens of one row, the end token included."""
        row = {name: tensor[index : index + 1] for name, tensor in inputs.items()}
        if "decoder_input_ids" in row:
            # Where no row begins with the start token, `generate` puts another one in front of the padding.
            num_given = int(row["decoder_attention_mask"].sum())
            for name in ("decoder_input_ids", "decoder_attention_mask"):
                row[name] = row[name][:, -num_given:]
        hooks = [one.of_row(index) for one in processors]
        sequence = self._by_pytorch(**row, generation_config=config, logits_processor=hooks)[0].tolist()
        return sequence[len(row["decoder_input_ids"][0]) if "decoder_input_ids" in row else 1 :]

    def _by_pytorch(self, **arguments: Any) -> Any:
        """What `generate` of the exported model gives with the defaults of this one."""
        model: Any = self._exported[0]
        own = model.generation_config
        model.generation_config = self.generation_config
        try:
            return model.generate(**arguments)
        finally:
            model.generation_config = own

    def _decode(self, inputs: dict[str, Any], given: list[list[int]], config: GenerationConfig) -> list[list[int]]:
        """The new tokens of each row, the end token included."""
        sources = _tokens(inputs["input_ids"], inputs["attention_mask"])
        # As in `generate`, which forces it where nothing else is given.
        forced = [] if any(given) else _ids(config.forced_bos_token_id)
        prefixes = [[*row, *forced] for row in given]
        num_new = config.max_new_tokens or config.max_length - 1
        results = self.translator.translate_batch(
            [[self._source_names[index] for index in row] for row in sources],
            target_prefix=[[self._target_names[index] for index in row] for row in prefixes],
            max_batch_size=-(-len(sources) // self.num_threads),
            beam_size=config.num_beams or 1,
            patience=_PATIENCE if (config.num_beams or 1) > 1 else 1,
            length_penalty=1.0 if config.length_penalty is None else config.length_penalty,
            suppress_sequences=[[self._target_names[index]] for index in config.suppress_tokens or ()] or None,
            end_token=[self._target_names[index] for index in _ids(config.eos_token_id)],
            return_end_token=True,
            max_input_length=0,
            # Given tokens count; a row with fewer of them is cut below.
            max_decoding_length=max(map(len, given)) + num_new,
            min_decoding_length=config.min_new_tokens or 0,
        )
        names = self._target_ids
        return [
            [names[name] for name in result.hypotheses[0]][len(row) :][:num_new]
            for result, row in zip(results, given, strict=True)
        ]


def _tokens(ids: torch.Tensor, mask: torch.Tensor | None) -> list[list[int]]:
    """The tokens of each row of ids [B, L] that are not padding."""
    kept = torch.ones_like(ids) if mask is None else mask
    return [row[is_token.bool()].tolist() for row, is_token in zip(ids, kept, strict=True)]


def _ids(token_ids: int | Sequence[int] | torch.Tensor | None) -> list[int]:
    """An option that is one id or several."""
    if token_ids is None:
        return []
    return [token_ids] if isinstance(token_ids, int) else list(map(int, token_ids))


def _given_tokens(inputs: dict[str, Any]) -> list[list[int]]:
    """The target tokens of each row that are given, without the start token."""
    if "decoder_input_ids" not in inputs:
        return [[] for _ in inputs["input_ids"]]
    return [row[1:] for row in _tokens(inputs["decoder_input_ids"], inputs["decoder_attention_mask"])]


def _sequences(inputs: dict[str, Any], rows: list[list[int]], config: GenerationConfig) -> torch.Tensor:
    """The outputs of `generate` [B, L]: what was given, the new tokens of each row, padding."""
    given = inputs.get("decoder_input_ids")
    if given is None:
        given = torch.full((len(rows), 1), config.decoder_start_token_id)
    length = max(map(len, rows))
    new = torch.full((len(rows), length), config.pad_token_id)
    for index, row in enumerate(rows):
        new[index, : len(row)] = torch.tensor(row)
    return torch.cat([given, new], dim=1)


def _stopped(sequences: torch.Tensor, num_given: int, criteria: Sequence[Any], pad_token_id: int) -> torch.Tensor:
    """The sequences [B, L], padded from where one of the criteria ends a row."""
    is_done = torch.zeros(len(sequences), dtype=torch.bool)
    for length in range(num_given + 1, sequences.shape[1] + 1):
        sequences[is_done, length - 1] = pad_token_id
        for criterion in criteria:
            is_done |= criterion(sequences[:, :length], None)
    return sequences
