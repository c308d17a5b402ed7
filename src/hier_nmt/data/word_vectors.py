# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Word vectors from files of fastText (Bojanowski et al. 2017), for the vocabulary of a tokenizer.

A `.vec` file is text: a line with the number of words and the width, then one line per word. A `.bin` file has the
model, which composes a vector of any word from those of its subwords; gensim reads it.

Dimensions: V vocabulary, W width of the vectors.
"""

import logging
import struct
from collections.abc import Collection, Container, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from transformers import PreTrainedTokenizerBase

logger = logging.getLogger(__name__)


class WordVectorError(ValueError):
    """A file without word vectors; the message names file and line."""


class VectorLine(NamedTuple):
    """A line of a `.vec` file: its line number, the word, and its unparsed values."""

    number: int
    word: str
    values: str


class EveryWord:
    """A container of all words: a `.bin` file has vectors of all of them."""

    def __contains__(self, word: object) -> bool:
        return True


def words_with_vectors(path: str | Path) -> Container[str]:
    """The words of which the file has a vector.

    Raises:
        WordVectorError: the file is neither a `.vec` nor a `.bin` file.
    """
    if _is_binary(path):
        return EveryWord()
    return {line.word for line in _lines(Path(path))}


def read_vectors(path: str | Path, words: Collection[str]) -> dict[str, np.ndarray]:
    """The vectors [W] (float32) of those words of which the file has one.

    Args:
        path: a `.vec` or `.bin` file of fastText.
        words: the words; a large file is read line by line and no other words are kept.

    Raises:
        WordVectorError: the file has another format, or is malformed; or it is a `.bin` file and gensim is not
            installed.
    """
    if _is_binary(path):
        return _read_binary(path, words)
    wanted, size = set(words), vector_size(path)
    found = {}
    for line in _lines(Path(path)):
        if line.word in wanted and line.word not in found:
            found[line.word] = _vector(path, line, size)
    return found


def vector_size(path: str | Path) -> int:
    """W, from the first line of a `.vec` file; WordVectorError if it has none."""
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        header = file.readline().split()
    if len(header) != 2 or not all(number.isdecimal() for number in header) or int(header[1]) < 1:
        raise WordVectorError(f"{path}:1: expected the number of words and the width, found {' '.join(header)!r:.60}")
    return int(header[1])


def token_vectors(path: str | Path, tokenizer: PreTrainedTokenizerBase, seed: int = 0) -> np.ndarray:
    """The vectors [V, W] (float32) of the tokens of a word-level tokenizer, by their ids.

    Special tokens, and words without a vector in the file (they are counted in the log), get random vectors whose norm
    is the mean norm of the file's.

    Args:
        path: a `.vec` or `.bin` file of fastText.
        tokenizer: with V tokens.
        seed: of the random vectors.

    Raises:
        WordVectorError: see `read_vectors`; or the file has a vector of none of the words.
    """
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    specials = set(tokenizer.all_special_tokens)
    found = read_vectors(path, [token for token in tokens if token not in specials])
    if not found:
        raise WordVectorError(f"{path} has a vector of none of the {len(tokens)} words of the vocabulary")
    missing = [token for token in tokens if token not in found and token not in specials]
    if missing:
        logger.warning("%s has no vector of %d words, %r first; they get random ones", path, len(missing), missing[0])
    return _filled(tokens, found, seed)


def _filled(tokens: Sequence[str], found: dict[str, np.ndarray], seed: int) -> np.ndarray:
    known = np.stack(list(found.values()))  # [words, W]
    length = np.linalg.norm(known, axis=1).mean()
    vectors = np.random.default_rng(seed).standard_normal((len(tokens), known.shape[1])).astype(np.float32)
    vectors *= length / np.linalg.norm(vectors, axis=1, keepdims=True)
    for index, token in enumerate(tokens):
        if token in found:
            vectors[index] = found[token]
    return vectors


def _is_binary(path: str | Path) -> bool:
    suffix = Path(path).suffix
    if suffix not in (".vec", ".bin"):
        raise WordVectorError(f"{path} should end in .vec or .bin, as files of fastText do")
    return suffix == ".bin"


def _lines(path: Path) -> Iterator[VectorLine]:
    """The lines of a `.vec` file. Some words are unusual white space, so only the first space separates."""
    vector_size(path)
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        next(file)
        for number, line in enumerate(file, start=2):
            word, space, values = line.rstrip(" \r\n").partition(" ")
            if not space:
                raise WordVectorError(f"{path}:{number}: expected a word and its vector, found {line!r:.60}")
            yield VectorLine(number, word, values)


def _vector(path: str | Path, line: VectorLine, size: int) -> np.ndarray:
    try:
        vector = np.array(line.values.split(" "), dtype=np.float32)
    except ValueError as error:
        raise WordVectorError(f"{path}:{line.number}: the vector of {line.word!r}: {error}") from None
    if len(vector) != size:
        raise WordVectorError(f"{path}:{line.number}: {line.word!r} has {len(vector)} numbers, not {size}")
    if not np.isfinite(vector).all():
        raise WordVectorError(f"{path}:{line.number}: the vector of {line.word!r} is not finite")
    return vector


def _read_binary(path: str | Path, words: Collection[str]) -> dict[str, np.ndarray]:
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError as error:
        raise WordVectorError(f"{path}: reading .bin files needs gensim: pip install 'hier_nmt[vectors]'") from error
    try:
        vectors: Any = load_facebook_vectors(str(path))
    except (NotImplementedError, ValueError, EOFError, OSError, struct.error) as error:
        raise WordVectorError(f"{path} is not a fastText model: {error}") from None
    return {word: np.asarray(vectors[word], dtype=np.float32) for word in words}
