# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Terms whose translation is written into the source sentence, `term <gloss> translation </gloss>`.

A model trained on such sentences uses the given translation (Dinu et al. 2019, section 3.1). In text the two tokens are
noncharacters, which Unicode reserves for internal use, so that user text cannot contain them; `encode_with_terms` turns
them into tokens.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from .corpus_files import CorpusError, read_lines
from .tokenization import encode_sentences

OPENING_TOKEN, CLOSING_TOKEN = "<gloss>", "</gloss>"
OPENING_MARK, CLOSING_MARK = "\ufdd1", "\ufdd2"
# Longer terms are not searched.
MAX_TERM_WORDS = 8
_MARKS = re.compile(f"([{OPENING_MARK}{CLOSING_MARK}])")
_WORD = re.compile(r"\w+")


class Glossary:
    """Terms and their translations.

    Args:
        path: a file of lines `source term TAB target term [TAB anything]`; blank lines are skipped.

    Raises:
        CorpusError: a line without a tab, or a file without terms.
    """

    def __init__(self, path: str | Path) -> None:
        self._translations: dict[tuple[str, ...], list[str]] = {}
        for line, text in read_lines(Path(path)):
            if isinstance(text, CorpusError):
                raise text
            if text.strip():
                self._add(path, line, text)
        if not self._translations:
            raise CorpusError(path, None, "no terms", "it has no term")
        self._num_words = sorted({len(words) for words in self._translations}, reverse=True)

    def _add(self, path: str | Path, line: int, text: str) -> None:
        source, tab, rest = text.partition("\t")
        target = rest.partition("\t")[0].strip()
        if not tab or not target:
            raise CorpusError(path, line, "no tab between term and translation")
        words = tuple(_WORD.findall(source.casefold()))
        if 0 < len(words) <= MAX_TERM_WORDS:
            self._translations.setdefault(words, []).append(target)

    def marked(self, source: str, target: str) -> str | None:
        """The source with a translation inserted after one of its terms: the longest whose glossary translation the
        target contains. None if there is no such term."""
        lowercase = target.lower()
        for stop, translation in self._found(source):
            if translation.lower() not in lowercase:
                continue
            pattern = re.compile(rf"(?<!\w){re.escape(translation)}(?!\w)", re.IGNORECASE)
            if pattern.search(target):
                return f"{source[:stop]} {OPENING_MARK}{translation}{CLOSING_MARK}{source[stop:]}"
        return None

    def _found(self, source: str) -> Iterator[tuple[int, str]]:
        """(end in the source, translation) of all terms in it, longest terms first."""
        matches = list(_WORD.finditer(source))
        words = [match[0].casefold() for match in matches]
        for num_words in self._num_words:
            for start in range(len(words) - num_words + 1):
                for translation in self._translations.get(tuple(words[start : start + num_words]), ()):
                    yield matches[start + num_words - 1].end(), translation


def without_terms(text: str) -> str:
    """The text without inline translations."""
    return re.sub(f" {OPENING_MARK}[^{CLOSING_MARK}]*{CLOSING_MARK}", "", text)


def encode_with_terms(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> list[list[int]]:
    """The token ids of sentences that may have inline translations, without any other special token.

    Raises ValueError if a sentence has one and the tokenizer does not have the tokens.
    """
    parts = [_MARKS.split(sentence) for sentence in sentences]
    texts = [text for sentence in parts for text in _texts(sentence)]
    encoded = iter(encode_sentences(tokenizer, texts))
    return [_joined(tokenizer, sentence, encoded) for sentence in parts]


def _texts(parts: Sequence[str]) -> list[str]:
    """The parts of a sentence that are text: all parts, or those between the marks."""
    return list(parts) if len(parts) == 1 else [part.strip() for part in parts[::2] if part.strip()]


def _joined(tokenizer: PreTrainedTokenizerBase, parts: Sequence[str], encoded: Iterator[list[int]]) -> list[int]:
    if len(parts) == 1:
        return next(encoded)
    ids: list[int] = []
    for index, part in enumerate(parts):
        if index % 2:
            ids.append(_token_id(tokenizer, part))
        elif part.strip():
            ids += next(encoded)
    return ids


def _token_id(tokenizer: PreTrainedTokenizerBase, mark: str) -> int:
    token = OPENING_TOKEN if mark == OPENING_MARK else CLOSING_TOKEN
    # Not `get_vocab`, which makes a dictionary of all tokens.
    token_id = tokenizer.convert_tokens_to_ids(token)
    if token_id is None or token_id == tokenizer.unk_token_id:
        raise ValueError(f"the tokenizer has no token {token}: set tokenizer.reserved_tokens to [<gloss>, </gloss>]")
    assert isinstance(token_id, int)
    return token_id
