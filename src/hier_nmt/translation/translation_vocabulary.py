# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of a translation, seen as token ids: encoding, windows, decoding, and the ids that decoding needs."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..text.inline_terms import CLOSING_TOKEN, OPENING_TOKEN, encode_with_terms
from ..text.untranslatable import (
    STAND_INS,
    UnknownCharacters,
    candidate_characters,
    classify_characters,
    normalize_for_tokenizer,
    num_letters,
    replace_surrogates,
)
from ..text.windows import join_window
from ..text.word_forms import determiners, has_elision, is_elided_well, prepositions
from .decoder_runs import StopConditions
from .language_tokens import LanguageTokens, check_languages
from .repetition import REPEATED_NGRAM_SIZE
from .target_words import TargetWords

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# The name of a byte in a vocabulary with byte fallback.
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


class TranslationVocabulary:
    """The two tokenizers, seen as ids: encoding, decoding, and the special ids that decoding needs."""

    def __init__(
        self,
        source: "PreTrainedTokenizerBase",
        target: "PreTrainedTokenizerBase",
        source_language: str | None = None,
        target_language: str | None = None,
        target_start_id: int | None = None,
    ) -> None:
        self.source, self.target, self.target_language = source, target, target_language
        self.languages, self._source_language = LanguageTokens(source), source_language
        self.separators = [_separators(tokenizer) for tokenizer in (source, target)]
        self.has_separators = None not in self.separators
        # In windows, as alone, each sentence has the token of its language. Without separators tokenizers write that of
        # a source language themselves.
        needs_token = self.has_separators or self.languages.mark_source
        self._start_ids = [
            self.languages.start_ids(source_language, target_language) if needs_token else [],
            [] if target_start_id is None or not self.has_separators else [target_start_id],
        ]
        self.target_separators = self.separators[1] or ()
        self.pad_token_ids = (source.pad_token_id, target.pad_token_id)
        specials = (target.pad_token_id, target.bos_token_id, target.unk_token_id)
        self._never = [token_id for token_id in specials if token_id not in (None, target.eos_token_id)]
        self.ignored = {*self._never, target.eos_token_id}
        # Including language codes, which some tokenizers write before each text.
        self._special = {*source.all_special_ids, *self._start_ids[0]}
        # With byte fallback, letters are looked up one by one, and not only in words.
        self._has_bytes = "<0x00>" in source.get_vocab()
        self._num_letters: dict[int, int] = {}
        self._is_known: dict[str, bool] = {}

    @classmethod
    def of_model(
        cls,
        model: "PreTrainedModel",
        source: "PreTrainedTokenizerBase",
        target: "PreTrainedTokenizerBase | None" = None,
        source_language: str | None = None,
        target_language: str | None = None,
    ) -> "TranslationVocabulary":
        """The vocabulary with which a model translates from one language into another.

        Args:
            model: an encoder-decoder.
            source, target: its tokenizers; default of the second: the first.
            source_language, target_language: ISO 639 codes; default: those of the model's configuration.

        Raises:
            ValueError: a model of many languages that is told none, or languages that a model does not have.
        """
        config, languages = model.config, LanguageTokens(source)
        check_languages(config, source_language, target_language)
        own_source, own_target = (getattr(config, f"{side}_language", None) for side in ("source", "target"))
        target_language = own_target if target_language is None else target_language
        start_id = None
        if languages.is_multilingual:
            source_language = own_source if source_language is None else source_language
            options = languages.options(model, target_language)
            start_id = options.get("forced_bos_token_id", model.generation_config.forced_bos_token_id)
        start_id = None if languages.mark_source else start_id
        return cls(source, target or source, source_language, target_language, start_id)

    @property
    def target_start_id(self) -> int | None:
        """The token of the target language, with which each sentence of a target window begins, if there is one."""
        return next(iter(self._start_ids[1]), None)

    @property
    def num_target_start_tokens(self) -> int:
        """How many tokens `join` writes before each target sentence: 1 if there is a `target_start_id`, else 0."""
        return len(self._start_ids[1])

    @property
    def window_ends(self) -> StopConditions:
        return StopConditions([self.target.eos_token_id], self._never)

    @property
    def prefix_ends(self) -> StopConditions:
        return StopConditions([self.target.eos_token_id, *self.target_separators], self._never)

    def alone_ends(self, retry: bool = False, no_loops: bool = False) -> StopConditions:
        """Stop conditions of a sentence alone: with `retry` it must not be empty, with `no_loops` no n-gram may be
        repeated."""
        return StopConditions(
            [self.target.eos_token_id],
            [*self._never, *self.target_separators],
            1 if retry else None,
            REPEATED_NGRAM_SIZE if no_loops else None,
        )

    def classify_characters(self, texts: Iterable[str]) -> UnknownCharacters:
        """How the characters of source texts that the tokenizer does not know are handled."""
        found = candidate_characters(texts, self._has_bytes)
        new = sorted(found - set(self._is_known))
        for character, ids in zip(new, self._encode(new, self.source), strict=True):
            tokens = self._tokens(ids)
            self._is_known[character] = any(token.strip("▁ ") for token in tokens)
        return classify_characters(character for character in found if not self._is_known[character])

    @cached_property
    def stand_ins(self) -> list[str]:
        """The numbers that can stand for a placeholder: those that both tokenizers can write."""
        rows = [self._encode(STAND_INS, tokenizer) for tokenizer in (self.source, self.target)]
        texts = [
            [str(tokenizer.decode(ids, skip_special_tokens=True)).replace(" ", "") for ids in side]
            for tokenizer, side in zip((self.source, self.target), rows, strict=True)
        ]
        return [number for number, *written in zip(STAND_INS, *texts, strict=True) if written == [number, number]]

    def num_known_letters(self, ids: Sequence[int]) -> int:
        """How many letters of a source text its known tokens stand for; for byte tokens, at least as many."""
        for token_id in set(ids) - set(self._num_letters):
            self._num_letters[token_id] = sum(map(num_letters, self._tokens([token_id])))
        return sum(self._num_letters[token_id] for token_id in ids)

    def _tokens(self, ids: Sequence[int]) -> list[str]:
        """The tokens of a source text without special and byte tokens."""
        tokens = self.source.convert_ids_to_tokens([token_id for token_id in ids if token_id not in self._special])
        return [token for token in tokens if not _BYTE.fullmatch(token)]

    def encode(self, sentences: Sequence[str], target: bool = False) -> list[list[int]]:
        """Token ids of each sentence; without special tokens if windows get theirs from `join_window`."""
        plain_forms = {} if target else self.classify_characters(sentences).plain_forms
        readable = [normalize_for_tokenizer(sentence, plain_forms) for sentence in sentences]
        if target:
            return self._encode(readable, self.target)
        return [[*self._start_ids[0], *ids] for ids in self._encode(readable, self.source)]

    @property
    def has_inline_terms(self) -> bool:
        """Whether the source tokenizer has the tokens of inline translations, and windows."""
        return self.has_separators and {OPENING_TOKEN, CLOSING_TOKEN} <= set(self.source.get_vocab())

    def encode_with_terms(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of source sentences that may have inline translations, see `inline_terms`."""
        plain_forms = self.classify_characters(sentences).plain_forms

        def encode(texts: list[str]) -> list[list[int]]:
            return self._encode([normalize_for_tokenizer(text, plain_forms) for text in texts], self.source)

        rows = encode_with_terms(encode, self.source.get_vocab(), sentences)
        return [[*self._start_ids[0], *ids] for ids in rows]

    @cached_property
    def target_words(self) -> TargetWords:
        """How the target vocabulary writes words."""
        tokens = [str(token) for token in self.target.convert_ids_to_tokens(list(range(len(self.target))))]
        language = self.target_language
        return TargetWords.of(
            tokens, self._encode_words(determiners(language)), self._encode_words(prepositions(language))
        )

    def encode_forms(self, forms: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The token ids of each form of a target term that the tokenizer can write, without special tokens."""
        if not forms:
            return ()
        texts = [normalize_for_tokenizer(form, {}) for form in forms]
        rows = self.target(text_target=texts, add_special_tokens=False, split_special_tokens=True, verbose=False)
        ids = [tuple(row) for row in rows["input_ids"]]
        return tuple(row for row in dict.fromkeys(ids) if row and self.target.unk_token_id not in row)

    def encode_joined_forms(self, forms: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The same for a form directly after an apostrophe."""
        return tuple(rest for form in forms for _, rest in self._split_at_apostrophe(f"l'{form}"))

    def unsuited_words(
        self, forms: Sequence[tuple[int, ...]], joined_forms: Sequence[tuple[int, ...]]
    ) -> frozenset[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Pairs of a determiner or preposition and a form of a term that cannot follow it, as "au" and "exploitant"."""
        if not has_elision(self.target_language):
            return frozenset()
        words = {*self.target_words.determiners, *self.target_words.prepositions}
        pairs = (
            (word, form) for word in words for form in (joined_forms if self.target_words.joins[word[-1]] else forms)
        )
        return frozenset(pair for pair in pairs if not self._suit(*pair))

    def _suit(self, word: Sequence[int], form: Sequence[int]) -> bool:
        text = self.decode([*word, *form])
        return is_elided_well(text, len(text) - len(self.decode(form)), self.target_language)

    def _split_at_apostrophe(self, text: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The tokens of a text up to its first apostrophe, and the others, if a token ends there."""
        for ids in self.encode_forms([text]):
            tokens = self.target.convert_ids_to_tokens(list(ids))
            at = next((at for at, token in enumerate(tokens, start=1) if str(token)[-1:] in ("'", "’")), len(ids))
            return [(ids[:at], ids[at:])] if at < len(ids) else []
        return []

    def _encode_words(self, words: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The token ids of each word, as they are before another one."""
        elided = [start for word in words if word.endswith("'") for start, _ in self._split_at_apostrophe(f"{word}un")]
        return (*self.encode_forms([word for word in words if not word.endswith("'")]), *elided)

    def sentence_start(self, has_prefix: bool) -> list[int]:
        """The tokens before those of a sentence in a decoder run: that of its language, unless the prefix of the run
        ends in it."""
        return [] if has_prefix else self._start_ids[1]

    def _encode(self, texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase") -> list[list[int]]:
        if not texts:
            return []
        with self.languages.reading(None if self.has_separators else self._source_language):
            encoded = tokenizer(
                [replace_surrogates(text) for text in texts],
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
        if side == 1 and self._start_ids[1]:
            sentences = [[*self._start_ids[1], *sentence] for sentence in sentences]
        return join_window(sentences, ends_paragraph, *separators, eos_token_id)

    def num_leading_specials(self, ids: Sequence[int]) -> int:
        """How many special tokens, such as that of a language, a translated sentence begins with."""
        specials = set(self.target.all_special_ids)
        return next((place for place, token_id in enumerate(ids) if token_id not in specials), len(ids))

    def text_ids(self, ids: Sequence[int]) -> list[int]:
        """The token ids of a decoder's output without separators and other tokens that are not text."""
        ignored = {*self.ignored, *self.target_separators}
        return [token_id for token_id in ids if token_id not in ignored]

    def without_start(self, ids: list[int]) -> list[int]:
        """The token ids of a translated sentence without the token of its language."""
        start_ids = self._start_ids[1]
        return ids[len(start_ids) :] if start_ids and ids[: len(start_ids)] == start_ids else ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of one translated sentence, in one line."""
        text = str(self.target.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))
        return " ".join(text.splitlines()).strip()


def _separators(tokenizer: "PreTrainedTokenizerBase") -> tuple[int, int] | None:
    """Ids of `<sep>` and `<par>`, or nothing if the tokenizer lacks one of them."""
    sep_token_id = getattr(tokenizer, "sep_token_id", None)
    par_token_id = getattr(tokenizer, "par_token_id", None)
    if sep_token_id is None or par_token_id is None or tokenizer.eos_token_id in (sep_token_id, par_token_id):
        return None
    return sep_token_id, par_token_id
