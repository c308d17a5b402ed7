# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers: training them, loading them, and encoding sentences.

A tokenizer is a plain `TokenizersBackend`, so `AutoTokenizer` loads it without remote code. It adds no special tokens
by itself: `text.windows.join_window` closes the windows.
"""

import json
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Literal

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerBase, TokenizersBackend

from .plain_typography import PLAIN_FORMS

SPECIAL_TOKENS = {
    "pad_token": "<pad>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "sep_token": "<sep>",
    "par_token": "<par>",
}
TARGET_TOKENIZER_FOLDER = "target_tokenizer"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]

_SPACE = "\u2581"
# A space mark in the user's own text would be decoded as a space. It is encoded as this noncharacter, which Unicode
# reserves for internal use.
_LITERAL_SPACE_MARK = "\ufdd0"
# Elided words keep their apostrophe ("l'" + "ordre"), and so do contractions ("don" + "'t"). Any other punctuation
# mark, symbol or unusual white space is a piece of its own, together with the space before it.
_APOSTROPHES = "'\u2019"
_PIECES = (
    rf"(?<!\p{{L}}){_SPACE}?\p{{L}}{{1,2}}[{_APOSTROPHES}](?=\p{{L}})"
    rf"|[{_APOSTROPHES}]\p{{L}}{{1,2}}(?!\p{{L}})"
    rf"|{_SPACE}?(?:[\p{{P}}\p{{S}}&&[^{_SPACE}]]|[\s&&[^ ]])"
)
_DIGIT = rf"{_SPACE}?\p{{N}}"
# The words of the word-level tokenizer match those of published word vectors: hyphenated compounds stay whole, elisions
# and contractions are as above, and numbers are whole or single digits.
_WORDS = (
    rf"\p{{L}}{{1,2}}[{_APOSTROPHES}](?=\p{{L}})|[{_APOSTROPHES}]\p{{L}}{{1,2}}(?!\p{{L}})"
    r"|\p{L}[\p{L}\p{M}]*(?:-\p{L}[\p{L}\p{M}]*)*"
)
_SINGLE_DIGIT = r"\p{N}"
_NUMBER = r"\p{N}+(?:[.,]\p{N}+)*"
_OTHER = r"[^\s]"
# Spaces that decoding removes. Where the original text had one, it is lost.
_NO_SPACES = (
    r" (?=[,.;:!?\u2026)\]}])",
    r"(?<=[(\[{]) ",
    rf"(?<=\p{{L}}[{_APOSTROPHES}]) (?=\p{{L}})",
    rf"(?<=\p{{L}}) (?=[{_APOSTROPHES}]\p{{L}}{{1,2}}(?!\p{{L}}))",
)
_NO_SPACE_IN_NUMBERS = r"(?<=\p{N}) (?=\p{N})"
# kMinScorePenaltyDelta of the unigram trainer.
_UNSEEN_CHARACTER_STEP = 1e-4


def train_tokenizer(
    texts: Iterable[str],
    vocab_size: int,
    *,
    model: Literal["bpe", "unigram", "word"] = "bpe",
    byte_fallback: bool = True,
    split_digits: bool = False,
    min_frequency: int = 2,
    limit_alphabet: int = 1000,
    known_words: Container[str] | None = None,
    plain_typography: bool = False,
    reserved_tokens: Sequence[str] = (),
) -> TokenizersBackend:
    """A tokenizer trained on a stream of sentences.

    Args:
        texts: sentences; of both languages for a joint tokenizer.
        vocab_size: the size of the vocabulary, including the special tokens and the 256 byte tokens. It becomes smaller
            if the texts have fewer pieces.
        model: the `tokenizers` model. For `word` the tokens are the most frequent words and punctuation marks; decoding
            joins them by spaces, except where `_NO_SPACES` removes them.
        byte_fallback: encodes characters outside of the vocabulary as bytes instead of `<unk>`; not for `word`.
        split_digits: makes each digit a token.
        min_frequency: BPE: rarer pairs are not merged; `word`: rarer words are `<unk>`.
        limit_alphabet: the number of distinct characters that get a token; not for `word`.
        known_words: only for `word`: all other words are `<unk>`, as they have no vector.
        plain_typography: text is read in Unicode's composed form (NFC), with straight quotation marks and apostrophes,
            plain spaces, three dots for an ellipsis, and without invisible characters; not for `word`.
        reserved_tokens: additional special tokens that no text contains; their ids follow those of the bytes. Not for
            `word`.
    """
    if known_words is not None and model != "word":
        raise ValueError(f"known_words are for the model 'word', not {model!r}")
    if model == "word" and (plain_typography or reserved_tokens):
        raise ValueError("plain_typography and reserved_tokens are not for the model 'word'")
    byte_fallback = byte_fallback and model != "word"
    num_reserved = len(SPECIAL_TOKENS) + (len(BYTE_TOKENS) if byte_fallback else 0) + len(reserved_tokens)
    if vocab_size <= num_reserved:
        raise ValueError(f"vocab_size must be more than the {num_reserved} special and byte tokens, got {vocab_size}")
    if model not in (*_TRAINING, "word"):
        raise ValueError(f"model must be one of {sorted([*_TRAINING, 'word'])}, got {model!r}")
    num_learned = vocab_size - num_reserved + len(SPECIAL_TOKENS)
    if model == "word":
        tokenizer = _train_words(texts, num_learned, split_digits, min_frequency, known_words)
    else:
        tokenizer = _untrained(models.BPE() if model == "bpe" else models.Unigram(), split_digits, plain_typography)
        _TRAINING[model](tokenizer, texts, num_learned, min_frequency, limit_alphabet)
    if tokenizer.get_vocab_size() <= len(SPECIAL_TOKENS):
        raise ValueError("no text to train a tokenizer on")
    if model != "word":
        tokenizer = _with_fixed_ids(tokenizer, byte_fallback, reserved_tokens)
    return _as_backend(tokenizer, reserved_tokens)


def load_tokenizers(directory: str | Path) -> tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase]:
    """(source tokenizer, target tokenizer) of a tokenizer or checkpoint directory; the same object twice if joint.

    Raises FileNotFoundError if the directory has no tokenizer.
    """
    directory = Path(directory)
    # Slow tokenizers have a vocabulary beside their SentencePiece model.
    if not any((directory / name).is_file() for name in ("tokenizer.json", "vocab.json", "sentencepiece.bpe.model")):
        raise FileNotFoundError(f"no tokenizer in {directory}: tokenizer.json is missing (see `hier-nmt tokenizer`)")
    source = AutoTokenizer.from_pretrained(directory)
    target_directory = directory / TARGET_TOKENIZER_FOLDER
    target = AutoTokenizer.from_pretrained(target_directory) if target_directory.is_dir() else source
    return source, target


def save_tokenizers(
    directory: str | Path, tokenizer: PreTrainedTokenizerBase, target_tokenizer: PreTrainedTokenizerBase | None = None
) -> None:
    """Saves tokenizers for `load_tokenizers`; a separate target tokenizer goes to a subfolder."""
    tokenizer.save_pretrained(directory)
    if target_tokenizer is not None and target_tokenizer is not tokenizer:
        target_tokenizer.save_pretrained(Path(directory) / TARGET_TOKENIZER_FOLDER)


def encode_sentences(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> list[list[int]]:
    """The token ids of each sentence, without any special token."""
    if not sentences:
        return []
    return tokenizer(list(sentences), add_special_tokens=False, return_attention_mask=False)["input_ids"]


def _train_bpe(
    tokenizer: Tokenizer, texts: Iterable[str], num_learned: int, min_frequency: int, limit_alphabet: int
) -> None:
    trainer = trainers.BpeTrainer(
        vocab_size=num_learned,
        min_frequency=min_frequency,
        limit_alphabet=limit_alphabet,
        special_tokens=list(SPECIAL_TOKENS.values()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)


def _train_unigram(
    tokenizer: Tokenizer, texts: Iterable[str], num_learned: int, min_frequency: int, limit_alphabet: int
) -> None:
    trainer = trainers.UnigramTrainer(
        vocab_size=num_learned,
        special_tokens=list(SPECIAL_TOKENS.values()),
        unk_token=SPECIAL_TOKENS["unk_token"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)


_TRAINING = {"bpe": _train_bpe, "unigram": _train_unigram}


def _train_words(
    texts: Iterable[str],
    num_learned: int,
    split_digits: bool,
    min_frequency: int,
    known_words: Container[str] | None,
) -> Tokenizer:
    """A word-level tokenizer; its ids are in the order special tokens, words by frequency."""
    specials = list(SPECIAL_TOKENS.values())
    tokenizer = Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS["unk_token"]))
    pieces = "|".join((_WORDS, _SINGLE_DIGIT if split_digits else _NUMBER, _OTHER))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pieces), behavior="removed", invert=True)
    no_spaces = (*_NO_SPACES, _NO_SPACE_IN_NUMBERS) if split_digits else _NO_SPACES
    # Joins tokens by spaces: no token starts with the noncharacter.
    joined = [decoders.WordPiece(prefix=_LITERAL_SPACE_MARK, cleanup=False), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*joined, *(decoders.Replace(Regex(spaces), "") for spaces in no_spaces)])
    trainer = trainers.WordLevelTrainer(
        vocab_size=2**31, min_frequency=min_frequency, special_tokens=specials, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    content = json.loads(tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    words = [word for word in sorted(vocabulary, key=vocabulary.get) if word not in specials]
    known = [word for word in words if known_words is None or word in known_words]
    content["model"]["vocab"] = {word: index for index, word in enumerate([*specials, *known][:num_learned])}
    return Tokenizer.from_str(json.dumps(content))


def _untrained(model: models.Model, split_digits: bool, plain_typography: bool) -> Tokenizer:
    tokenizer = Tokenizer(model)
    plain: list[normalizers.Normalizer] = []
    if plain_typography:
        plain = [normalizers.NFC(), *(normalizers.Replace(Regex(form), text) for form, text in PLAIN_FORMS)]
    # A normalizer adds the mark before the first word, since that of Metaspace is not added before a leading space.
    tokenizer.normalizer = normalizers.Sequence(
        [*plain, normalizers.Replace(_SPACE, _LITERAL_SPACE_MARK), normalizers.Prepend(_SPACE)]
    )
    pieces = f"{_DIGIT}|{_PIECES}" if split_digits else _PIECES
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(replacement=_SPACE, prepend_scheme="never", split=True),
            pre_tokenizers.Split(Regex(pieces), behavior="isolated"),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(_SPACE, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
            decoders.Replace(_LITERAL_SPACE_MARK, _SPACE),
        ]
    )
    return tokenizer


def _with_fixed_ids(tokenizer: Tokenizer, byte_fallback: bool, reserved_tokens: Sequence[str]) -> Tokenizer:
    """The tokenizer with its ids in the order special tokens, byte tokens, reserved tokens, learned pieces."""
    content = json.loads(tokenizer.to_str())
    model = content["model"]
    reserved = [*SPECIAL_TOKENS.values(), *(BYTE_TOKENS if byte_fallback else []), *reserved_tokens]
    if model["type"] == "BPE":
        learned = [piece for piece in sorted(model["vocab"], key=model["vocab"].get) if piece not in reserved]
        model["vocab"] = {piece: index for index, piece in enumerate([*reserved, *learned])}
        model.update(unk_token=SPECIAL_TOKENS["unk_token"], fuse_unk=True)
    else:
        scores = {piece: score for piece, score in model["vocab"] if piece not in reserved}
        model["vocab"] = [*((piece, 0.0) for piece in reserved), *_reproducible_scores(scores)]
        model["unk_id"] = reserved.index(SPECIAL_TOKENS["unk_token"])
    model["byte_fallback"] = byte_fallback
    return Tokenizer.from_str(json.dumps(content))


def _reproducible_scores(scores: dict[str, float]) -> list[tuple[str, float]]:
    """The unigram pieces, best first, with scores that do not depend on the order of threads and hash maps.

    The trainer sums in parallel. Characters without an estimate get the lowest score plus 0, 1, 2, ... steps, in the
    random order of a hash map; here they all get the lowest score.
    """
    lowest = min(scores.values())

    def settled(piece: str, score: float) -> float:
        steps = (score - lowest) / _UNSEEN_CHARACTER_STEP
        is_step = len(piece) == 1 and abs(steps - round(steps)) < 1e-6
        return round(lowest if is_step else score, 6)

    settled_scores = [(piece, settled(piece, score)) for piece, score in scores.items()]
    return sorted(settled_scores, key=lambda item: (-item[1], item[0]))


def _as_backend(tokenizer: Tokenizer, reserved_tokens: Sequence[str]) -> TokenizersBackend:
    return TokenizersBackend(
        tokenizer_object=tokenizer,
        **SPECIAL_TOKENS,
        **({"extra_special_tokens": list(reserved_tokens)} if reserved_tokens else {}),
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )
