# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tokens of words between which the context decides, such as "il" and "elle"."""

import logging
from collections.abc import Sequence
from functools import cache

from transformers import PreTrainedTokenizerBase

from ..data.tokenization import encode_sentences
from ..translation.target_words import TargetWords

logger = logging.getLogger(__name__)


def contrast_token_pairs(
    tokenizer: PreTrainedTokenizerBase, word_pairs: Sequence[Sequence[str]]
) -> list[tuple[int, int]]:
    """(token, counterpart) of each pair of words, in both orders: of the words as given, and with a capital letter.

    The tokens are those at the beginning of a word. A pair has the forms in which both of its words are single tokens;
    a warning names a form in which only one of them is.

    Args:
        tokenizer: the target tokenizer.
        word_pairs: pairs of words.

    Raises:
        ValueError: names a word that is a single token in neither form, or a pair whose words are so in no form.
    """
    pairs: dict[tuple[int, int], None] = {}
    for words in word_pairs:
        first, second = (_single_tokens(tokenizer, word) for word in words)
        for form in sorted(first.keys() ^ second.keys()):
            _warn_once(*(_form(word, form) for word in words))
        forms = {form: (first[form], second[form]) for form in first.keys() & second.keys()}
        different = [tokens for _, tokens in sorted(forms.items()) if tokens[0] != tokens[1]]
        if not different:
            raise ValueError(f"contrast_words: no form of {words[0]!r} and {words[1]!r} has both as single tokens")
        pairs |= dict.fromkeys(pair for tokens in different for pair in (tokens, tokens[::-1]))
    return list(pairs)


def word_continuations(tokenizer: PreTrainedTokenizerBase) -> list[bool]:
    """Whether each token of the vocabulary, directly after a word, continues this word."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    return TargetWords.of(list(map(str, tokens))).continues_word


@cache
def _warn_once(first: str, second: str) -> None:
    """Warns once of a form, since the preparation of the data and the trainer both ask for the pairs."""
    logger.warning("contrast_words: %r and %r are not contrasted: one of them is not a single token", first, second)


def _form(word: str, form: str) -> str:
    return word if form == "given" else word[0].upper() + word[1:]


def _single_tokens(tokenizer: PreTrainedTokenizerBase, word: str) -> dict[str, int]:
    """The token of each form of a word, "given" and "capitalized", that is a single known token."""
    forms = ("given", "capitalized")
    encoded = dict(zip(forms, encode_sentences(tokenizer, [_form(word, form) for form in forms]), strict=True))
    tokens = {form: ids[0] for form, ids in encoded.items() if len(ids) == 1 and ids[0] != tokenizer.unk_token_id}
    if not tokens:
        pieces = " ".join(map(str, tokenizer.convert_ids_to_tokens(encoded["given"])))
        raise ValueError(f"contrast_words: {word!r} is not a single token of the target vocabulary, but {pieces}")
    return tokens
