# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training pairs with inline translations: a term of the source, followed by what the target has for it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from ..text import inline_terms
from .glossary_files import read_glossary
from .tokenization import encode_sentences

# Longer terms are not searched.
MAX_TERM_WORDS = 8
_WORD = re.compile(r"\w+")


class InlineTerms:
    """Writes inline translations into source sentences whose translation is known.

    Args:
        path: a glossary, see `read_glossary`; of TBX the languages are those of the corpora.
        source_language, target_language: ISO 639 codes.

    Raises:
        CorpusError: a broken glossary.
    """

    def __init__(
        self, path: str | Path, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        self._translations: dict[tuple[str, ...], list[str]] = {}
        for term in read_glossary(path, source_language, target_language).terms:
            words = tuple(_WORD.findall(term.source.casefold()))
            if len(words) <= MAX_TERM_WORDS:
                self._translations.setdefault(words, []).extend(term.targets)
        self._num_words = sorted({len(words) for words in self._translations}, reverse=True)

    def marked(self, source: str, target: str) -> str | None:
        """The source with a translation inserted after one of its terms: the longest whose glossary translation the
        target contains. None if there is no such term."""
        lowercase = target.lower()
        for stop, translation in self._found(source):
            if translation.lower() not in lowercase:
                continue
            pattern = re.compile(rf"(?<!\w){re.escape(translation)}(?!\w)", re.IGNORECASE)
            if pattern.search(target):
                return inline_terms.with_terms(source, [(stop, translation)])
        return None

    def _found(self, source: str) -> Iterator[tuple[int, str]]:
        """(end in the source, translation) of all terms in it, longest terms first."""
        matches = list(_WORD.finditer(source))
        words = [match[0].casefold() for match in matches]
        for num_words in self._num_words:
            for start in range(len(words) - num_words + 1):
                for translation in self._translations.get(tuple(words[start : start + num_words]), ()):
                    yield matches[start + num_words - 1].end(), translation


def encode_with_terms(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> list[list[int]]:
    """The token ids of sentences that may have inline translations, without any other special token.

    Raises ValueError if a sentence has one and the tokenizer does not have the tokens.
    """
    # Not `get_vocab`, which makes a dictionary of all tokens.
    tokens = [inline_terms.OPENING_TOKEN, inline_terms.CLOSING_TOKEN]
    ids: Any = tokenizer.convert_tokens_to_ids(tokens)
    unknown = (None, tokenizer.unk_token_id)
    known = {token: token_id for token, token_id in zip(tokens, ids, strict=True) if token_id not in unknown}
    return inline_terms.encode_with_terms(lambda texts: encode_sentences(tokenizer, texts), known, sentences)
