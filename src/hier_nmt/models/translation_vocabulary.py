# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of a translation, seen as token ids: encoding, windows, decoding, and the ids that decoding needs."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from .batched_generation import Ends
from .document_windows import join_window


class TranslationVocabulary:
    """The two tokenizers, seen as ids: encoding, decoding, and the special ids that decoding needs."""

    def __init__(self, source: PreTrainedTokenizerBase, target: PreTrainedTokenizerBase) -> None:
        self.source, self.target = source, target
        self.separators = [_separators(tokenizer) for tokenizer in (source, target)]
        self.has_separators = None not in self.separators
        self.target_separators = self.separators[1] or ()
        self.pad_token_ids = (source.pad_token_id, target.pad_token_id)
        specials = (target.pad_token_id, target.bos_token_id, target.unk_token_id)
        self._never = [token_id for token_id in specials if token_id not in (None, target.eos_token_id)]
        self.ignored = {*self._never, target.eos_token_id}

    @property
    def window_ends(self) -> Ends:
        return Ends([self.target.eos_token_id], self._never)

    @property
    def prefix_ends(self) -> Ends:
        return Ends([self.target.eos_token_id, *self.target_separators], self._never)

    def alone_ends(self, retry: bool) -> Ends:
        min_new_tokens = 1 if retry else None
        return Ends([self.target.eos_token_id], [*self._never, *self.target_separators], min_new_tokens)

    def encode(self, sentences: Sequence[str], target: bool = False) -> list[list[int]]:
        """Token ids of each sentence; without special tokens if windows get theirs from `join_window`."""
        if not sentences:
            return []
        tokenizer = self.target if target else self.source
        encoded = tokenizer(
            list(sentences),
            add_special_tokens=not self.has_separators,
            split_special_tokens=True,
            return_attention_mask=False,
            verbose=False,
        )
        return encoded["input_ids"]

    def join(self, sentences: Sequence[list[int]], ends_paragraph: Sequence[bool], side: int) -> list[int]:
        """A window: of the source for side 0, of the target for side 1."""
        separators = self.separators[side]
        if separators is None:
            return list(sentences[0])
        eos_token_id = (self.source, self.target)[side].eos_token_id
        return join_window(sentences, ends_paragraph, *separators, eos_token_id)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of one translated sentence, in one line."""
        text = str(self.target.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))
        return " ".join(text.splitlines()).strip()


def _separators(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int] | None:
    """Ids of `<sep>` and `<par>`, or nothing if the tokenizer lacks one of them."""
    sep_token_id = getattr(tokenizer, "sep_token_id", None)
    par_token_id = getattr(tokenizer, "par_token_id", None)
    if sep_token_id is None or par_token_id is None or tokenizer.eos_token_id in (sep_token_id, par_token_id):
        return None
    return sep_token_id, par_token_id
