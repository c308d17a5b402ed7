# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of sentence-level models (OPUS-MT, M2M100, NLLB, mBART-50) with separators, every old id unchanged.

SentencePiece models become a fast tokenizer, which `AutoTokenizer` loads with Transformers alone. It is compared with
the slow one on lines of many scripts; where they differ, the slow one is kept.
"""

import json
import logging
import random
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import file_exists
from huggingface_hub.errors import HfHubHTTPError
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tqdm.auto import tqdm
from transformers import AutoTokenizer, MarianTokenizer, PreTrainedConfig, PreTrainedTokenizerBase, TokenizersBackend

logger = logging.getLogger(__name__)

SEPARATORS = {"sep_token": "<sep>", "par_token": "<par>"}
_SPACE = "\u2581"
# Lower than any piece that a SentencePiece model scores; single tokens of this score are taken where nothing else fits.
_NEVER = -1e6
# In front of pieces of the other language, which no text may match; a noncharacter, which decoding removes.
_OTHER_LANGUAGE = "\ufdd1"
# What stands for a run of characters that the model does not know; a noncharacter, too.
_UNKNOWN_RUN = "\ufdd2"
_LANGUAGE_CODE = re.compile(r">>.+<<|__[a-z]{2,3}__")
_SLOW_IS_KEPT = "the slow tokenizer is kept: a fast one would read some texts differently"
_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6
_UNIGRAM, _BPE = 1, 2


class TokenizerError(ValueError):
    """A tokenizer that cannot be converted: a missing file, or a vocabulary that does not fit."""


@dataclass(frozen=True)
class AdaptedTokenizers:
    """The tokenizers of the two languages, the same object twice if one serves both.

    Attributes:
        source, target: each encodes its language with `add_special_tokens=False` as the original does.
        is_fast: whether they are fast ones, equal to the original on what was compared.
        languages: those that the original names, source and target, or None.
    """

    source: PreTrainedTokenizerBase
    target: PreTrainedTokenizerBase
    is_fast: bool
    languages: tuple[str | None, str | None] = (None, None)

    @property
    def separator_ids(self) -> dict[str, int]:
        """`sep_token_id` and `par_token_id` of the configuration."""
        source: Any = self.source
        return {"sep_token_id": int(source.sep_token_id), "par_token_id": int(source.par_token_id)}


def adapt_tokenizers(
    path: str | Path, config: PreTrainedConfig, source_language: str | None = None, **kwargs: Any
) -> AdaptedTokenizers:
    """The tokenizers of a sentence-level model with `<sep>` and `<par>` behind its vocabulary.

    Args:
        path: folder of the model, or its name on the Hub.
        config: its configuration.
        source_language: of a model of many languages, the one to mark texts as when nothing else is said.
        kwargs: of `AutoTokenizer.from_pretrained`.

    Raises:
        TokenizerError: a file is missing, or the vocabulary does not fit the configuration.
        ImportError: sentencepiece or protobuf is missing.
    """
    try:
        with warnings.catch_warnings():
            # Marian's tokenizer recommends a package for a method that is not called here.
            warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")
            slow = AutoTokenizer.from_pretrained(path, **kwargs)
    # The tokenizers of Transformers do not name a file that is missing.
    except (OSError, TypeError, AssertionError, LookupError, ValueError, RuntimeError) as error:
        missing = _missing_files(path, config, kwargs)
        reason = f"{' and '.join(missing)} missing" if missing else str(error) or type(error).__name__
        raise TokenizerError(f"{path} has no complete tokenizer: {reason}") from error
    sizes = (config.vocab_size, getattr(config, "decoder_vocab_size", None) or config.vocab_size)
    if isinstance(slow, MarianTokenizer):
        return _adapt_marian(slow, sizes)
    if len(slow) > max(sizes):
        raise TokenizerError(f"the tokenizer has {len(slow)} tokens, the weights are those of {max(sizes)}")
    if type(slow).__name__.startswith("MBartTokenizer"):
        raise TokenizerError(
            "mBART's first models close a text with its language; only those of mBART-50 can be adapted"
        )
    if getattr(slow, "spm_file", None) is not None:
        fast = _fast_m2m(slow, max(sizes), source_language)
        if fast is not None:
            return AdaptedTokenizers(fast, fast, is_fast=True)
        logger.warning(_SLOW_IS_KEPT)
    return _with_added_separators(path, slow, kwargs)


def _missing_files(path: str | Path, config: PreTrainedConfig, kwargs: Mapping[str, Any]) -> list[str]:
    """Files that a tokenizer needs and a folder or a name on the Hub does not have."""
    options = {name: kwargs[name] for name in ("revision", "token") if name in kwargs}

    def is_there(name: str) -> bool:
        if Path(path).is_dir():
            return (Path(path) / name).is_file()
        try:
            return file_exists(str(path), name, **options)
        # Without network nothing is known.
        except (OSError, ValueError, HfHubHTTPError):
            return True

    if config.model_type == "marian":
        names = ["source.spm", "target.spm", "vocab.json"]
    else:
        names = [] if is_there("tokenizer.json") else ["sentencepiece.bpe.model"]
    return [name for name in names if not is_there(name)]


def _adapt_marian(slow: Any, sizes: tuple[int, int]) -> AdaptedTokenizers:
    """Two tokenizers, each with the SentencePiece model of its language; the vocabulary is joint, or there are two."""
    vocabularies = [slow.encoder, slow.target_encoder if slow.separate_vocabs else slow.encoder]
    for vocabulary, size, name in zip(vocabularies, sizes, ("vocab.json", "target_vocab.json"), strict=True):
        if max(vocabulary.values()) >= size:
            raise TokenizerError(f"{name} has ids up to {max(vocabulary.values())}, the weights are those of {size}")
    first_id = max(sizes)
    sides = []
    for spm_file, vocabulary, is_target in zip(slow.spm_files, vocabularies, (False, True), strict=True):
        languages = [token for token in vocabulary if _LANGUAGE_CODE.fullmatch(token)]
        specials = {name: str(getattr(slow, name)) for name in ("eos_token", "pad_token", "unk_token")}
        fast = fast_tokenizer(spm_file, vocabulary, first_id, specials, languages)

        def encode(texts: Sequence[str], is_target: bool = is_target) -> list[list[int]]:
            given = {"text_target" if is_target else "text": list(texts)}
            return slow(**given, add_special_tokens=False)["input_ids"]

        if fast is None or not _are_equal(fast, encode, spm_file):
            break
        sides.append(fast)
    pair = (slow.source_lang or None, slow.target_lang or None)
    if len(sides) == 2:
        return AdaptedTokenizers(sides[0], sides[1], is_fast=True, languages=pair)
    logger.warning(_SLOW_IS_KEPT)
    slow_sides = [
        _slow_marian(slow, spm_file, vocabulary, first_id)
        for spm_file, vocabulary in zip(slow.spm_files, vocabularies, strict=True)
    ]
    return AdaptedTokenizers(slow_sides[0], slow_sides[1], is_fast=False, languages=pair)


def _slow_marian(slow: Any, spm_file: str, vocabulary: Mapping[str, int], first_id: int) -> MarianTokenizer:
    """Marian's own tokenizer for one language."""
    if len(vocabulary) != first_id:
        raise TokenizerError(
            f"the slow tokenizer would have to be kept, and cannot put separators behind {first_id} ids: it has "
            f"{len(vocabulary)} tokens"
        )
    # Only a file is taken.
    folder = Path(spm_file).parent
    names = ["vocab.json", "target_vocab.json"] if slow.separate_vocabs else ["vocab.json"]
    file = next(
        folder / name for name in names if json.loads((folder / name).read_text(encoding="utf-8")) == dict(vocabulary)
    )
    specials = {name: str(getattr(slow, name)) for name in ("eos_token", "pad_token", "unk_token")}
    options: dict[str, Any] = {**specials, **SEPARATORS, "model_max_length": slow.model_max_length}
    return MarianTokenizer(spm_file, spm_file, str(file), **options)


def _fast_m2m(slow: Any, size: int, source_language: str | None) -> TokenizersBackend | None:
    """A fast tokenizer for all languages of M2M100, whose tokens stand behind the vocabulary; None if it differs."""
    specials = {name: str(getattr(slow, name)) for name in ("bos_token", "eos_token", "pad_token", "unk_token")}
    vocabulary = {**slow.encoder, **slow.lang_token_to_id}
    prefix = None if source_language is None else slow.get_lang_token(source_language)
    fast = fast_tokenizer(slow.spm_file, vocabulary, size, specials, list(slow.lang_token_to_id), prefix)

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return slow(list(texts), add_special_tokens=False)["input_ids"]

    return fast if fast is not None and _are_equal(fast, encode, slow.spm_file) else None


def _with_added_separators(path: str | Path, original: PreTrainedTokenizerBase, kwargs: Any) -> AdaptedTokenizers:
    """The tokenizer of a folder or name with separators added in its own way; `original` is the one without."""
    tokenizer = AutoTokenizer.from_pretrained(path, **kwargs, **SEPARATORS)
    new_ids = tokenizer.get_vocab()
    changed = [token for token, token_id in original.get_vocab().items() if new_ids.get(token) != token_id]
    if changed:
        raise TokenizerError(f"adding separators changes ids of other tokens, such as {changed[0]!r}")
    return AdaptedTokenizers(tokenizer, tokenizer, is_fast=tokenizer.is_fast)


def fast_tokenizer(
    spm_file: str | Path,
    vocabulary: Mapping[str, int],
    first_id: int,
    specials: Mapping[str, str],
    languages: Sequence[str] = (),
    prefix: str | None = None,
) -> TokenizersBackend | None:
    """A fast tokenizer that segments as a SentencePiece model and numbers the pieces as a vocabulary.

    Args:
        spm_file: the model.
        vocabulary: ids of its pieces and, perhaps, of those of another language.
        first_id: the id of `<sep>`; `<par>` has the next.
        specials: special tokens by their names in Transformers.
        languages: tokens of languages, which texts do not hold.
        prefix: one of these, before each text that gets special tokens.

    Returns:
        The tokenizer, or None where no fast one can be equal: pieces that the vocabulary lacks, bytes for unknown
        characters, or pieces that users defined.
    """
    proto = _read_proto(spm_file)
    scores = {piece.piece: piece.score for piece in proto.pieces if piece.type == _NORMAL}
    odd = any(piece.type in (_USER_DEFINED, _BYTE) for piece in proto.pieces)
    if odd or not proto.normalizer_spec.add_dummy_prefix or not scores.keys() <= vocabulary.keys():
        return None
    named = {token_id: piece for piece, token_id in vocabulary.items()}
    rows = [(named.get(token_id, f"<unused {token_id}>"), token_id) for token_id in range(first_id)]
    special_tokens = {*specials.values(), *languages}
    if proto.trainer_spec.model_type == _UNIGRAM:
        entries = [(_matched(piece, scores, special_tokens), scores.get(piece, _NEVER)) for piece, _ in rows]
        model: models.Model = models.Unigram(entries, unk_id=vocabulary[specials["unk_token"]], byte_fallback=False)
    elif proto.trainer_spec.model_type == _BPE:
        model = models.BPE(dict(rows), _merges(scores), unk_token=specials["unk_token"], fuse_unk=True)
    else:
        return None
    tokenizer = Tokenizer(model)
    singles = {piece for piece in vocabulary if len(piece) == 1} - scores.keys()
    # A text may hold the name of a special token, which is none there.
    unreadable = sorted(token for token in special_tokens if not set(token) <= scores.keys())
    steps = _normalizers(proto.normalizer_spec, scores, bool(singles))
    names = (normalizers.Replace(token, _UNKNOWN_RUN) for token in unreadable)
    tokenizer.normalizer = normalizers.Sequence([*steps, *names])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=_SPACE, prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(_OTHER_LANGUAGE, ""),
            decoders.Replace(_SPACE, " "),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    eos, opening = specials["eos_token"], [] if prefix is None else [prefix]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=[*opening, "$A", eos], special_tokens=[(token, vocabulary[token]) for token in (*opening, eos)]
    )
    return TokenizersBackend(
        tokenizer_object=tokenizer,
        **specials,
        **SEPARATORS,
        **({"extra_special_tokens": list(languages)} if languages else {}),
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )


def _read_proto(spm_file: str | Path) -> Any:
    try:
        from sentencepiece import sentencepiece_model_pb2 as model_types
    except ImportError as error:
        raise ImportError(f"{error}: pip install 'hier_nmt[adapt]', which reads SentencePiece models") from error
    proto = model_types.ModelProto()  # type: ignore[attr-defined]  # made when it is imported
    proto.ParseFromString(Path(spm_file).read_bytes())
    return proto


def _matched(piece: str, scores: Mapping[str, float], special_tokens: set[str]) -> str:
    """What text is to match a piece: itself, or nothing if it is one of the other language."""
    return piece if piece in scores or piece in special_tokens or len(piece) == 1 else _OTHER_LANGUAGE + piece


def _merges(scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """The merges of a BPE model, which SentencePiece does not keep: all pairs that make a piece, best piece first."""
    order = {piece: index for index, piece in enumerate(scores)}
    found = [
        (-score, order[piece], piece[:cut], piece[cut:])
        for piece, score in scores.items()
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]
    return [(left, right) for _, _, left, right in sorted(found)]


def _normalizers(
    spec: Any, scores: Mapping[str, float], knows_other_characters: bool
) -> Iterator[normalizers.Normalizer]:
    """What a SentencePiece model does to a text before it cuts it.

    It looks runs of unknown characters up as a whole; where the vocabulary has some of them one by one, for another
    language, a run is made one character.
    """
    if spec.precompiled_charsmap:
        yield normalizers.Precompiled(spec.precompiled_charsmap)
    if spec.remove_extra_whitespaces:
        yield normalizers.Replace(Regex(r"\A +| +\z"), "")
        yield normalizers.Replace(Regex(" {2,}"), " ")
    if knows_other_characters:
        known = "".join(re.escape(piece) for piece in sorted(scores) if len(piece) == 1)
        yield normalizers.Replace(Regex(rf"[^ {known}]{{2,}}"), _UNKNOWN_RUN)


# First and last letters of alphabets and of parts of the large ones; signs, digits and emoji last.
_SCRIPTS = [
    (ranges[0], ranges[1])
    for ranges in (  # noqa: SIM905
        "az AZ àÿ ĀŽ αω АЯ ая աֆ აჰ את غي अह অহ ਅਹ અહ தஹ అహ ಅಹ അഹ "
        "අෆ กฮ ກຮ ကအ កអ ሀፐ 一亿 ぁん ァン 가갛 !/ 09 ‐… ←⇿ 😀🙏"
    ).split()
]
# How many are compared.
LINES_OF_A_SCRIPT = 10_000
# The share of lines whose pieces may come in another order.
_MAX_REORDERED = 0.001


def _are_equal(fast: PreTrainedTokenizerBase, encode: Any, spm_file: str | Path) -> bool:
    """Whether a fast tokenizer gives what `encode` gives, on lines of the model's pieces and of many scripts.

    A unigram model can cut "...." into "." and "..." or into "..." and ".", with the same probability. Which cut is
    taken depends on how sums are rounded, and the two round differently. A few such lines are allowed, and reported.
    """
    generator = random.Random(0)
    pieces = [piece.piece for piece in _read_proto(spm_file).pieces if piece.type == _NORMAL]
    reordered = []
    for script in tqdm(_SCRIPTS, desc="comparing tokenizers", unit=" scripts", leave=False):
        lines = [_line(pieces, script, generator) for _ in range(LINES_OF_A_SCRIPT)]
        fast_ids = fast(lines, add_special_tokens=False)["input_ids"]
        for line, ours, theirs in zip(lines, fast_ids, encode(lines), strict=True):
            if ours == theirs:
                continue
            if sorted(ours) != sorted(theirs):
                return False
            reordered.append(line)
    num_lines = LINES_OF_A_SCRIPT * len(_SCRIPTS)
    if reordered:
        logger.warning(
            "in %d of %d lines that were compared the fast tokenizer puts the same pieces in another order, such as %r",
            len(reordered),
            num_lines,
            reordered[0],
        )
    return len(reordered) <= _MAX_REORDERED * num_lines


def _line(pieces: Sequence[str], script: tuple[str, str], generator: random.Random) -> str:
    """Some pieces, and as a rule letters of the script among them."""
    chosen = generator.choices(pieces, k=generator.randint(1, 6))
    letters = [chr(generator.randint(*map(ord, script))) for _ in range(generator.randint(0, 4))]
    chosen.insert(generator.randint(0, len(chosen)), "".join(letters))
    return "".join(chosen).replace(_SPACE, " ").strip()
