# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tokens that tell multilingual models (M2M100, NLLB, mBART, OPUS-MT) the source and the target language."""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


try:
    import langcodes
except ImportError:
    langcodes = None  # type: ignore[assignment]

# `__fr__` of M2M100, `fra_Latn` of NLLB, `fr_XX` of mBART, `>>fra<<`, `>>pt_br<<` or `>>srp_Cyrl<<` of Marian.
_LANGUAGE_TOKEN = re.compile(
    r"__(?P<m2m>[a-z]{2,3})__|(?P<nllb>[a-z]{3}_[A-Z][a-z]{3})|(?P<mbart>[a-z]{2})_[A-Z]{2}"
    r"|>>(?P<marian>[a-z]{2,3}(_[A-Za-z]{2,4})?)<<"
)
# The largest distance, as measured by `langcodes`, at which two codes mean variants of one language.
_MAX_DISTANCE = 9
_TOKENIZER_LOCK = threading.Lock()


class LanguageTokens:
    """The languages of a multilingual tokenizer, and how one of them is chosen.

    Args:
        tokenizer: of the model; without language tokens among its special ones it is not multilingual.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self.tokenizer = tokenizer
        found = {token: _LANGUAGE_TOKEN.fullmatch(token) for token in special_tokens(tokenizer)}
        matches = {token: match for token, match in found.items() if match is not None}
        # Of M2M100, NLLB and mBART several tokens that look like languages, because a single one may be anything.
        is_certain = len(matches) > 1 or any(match["marian"] for match in matches.values())
        self._matches = matches if is_certain else {}

    @property
    def is_multilingual(self) -> bool:
        """Whether the tokenizer has tokens of languages."""
        return bool(self._matches)

    @property
    def mark_source(self) -> bool:
        """Whether a source sentence begins with the token of the target language, as in Marian, which has none for
        source languages."""
        return any(match["marian"] for match in self._matches.values())

    def token(self, language: str) -> str:
        """The token of a language, given as such a token, its code, any ISO 639 or BCP 47 code, or an English name.

        Raises:
            ValueError: the tokenizer has no such language.
            ImportError: the library that knows codes and names is missing.
        """
        for token, match in self._matches.items():
            if language in (token, match["m2m"], match["nllb"], match["marian"]):
                return token
        tags = {re.sub(r"-?XX$", "", _tag(match)): token for token, match in self._matches.items()}
        closest = _closest_tag(language, list(tags))
        if closest is None:
            codes = ", ".join(sorted(tags))
            raise ValueError(f"the model has no language {language!r}; it has {codes}")
        return tags[closest]

    def code(self, language: str, is_source: bool = False) -> str:
        """The ISO 639 code of a language; one that needs no token is left as it is given."""
        if not self.is_multilingual or (is_source and self.mark_source):
            return language
        _check_langcodes(language)
        return str(langcodes.Language.get(_tag(self._matches[self.token(language)])).language)

    @contextmanager
    def reading(self, source_language: str | None) -> Iterator[None]:
        """Context in which the tokenizer marks texts as being in that language; None leaves it as it is."""
        tokenizer: Any = self.tokenizer
        if not self.is_multilingual or self.mark_source or source_language is None:
            yield
            return
        token = self.token(source_language)
        # Another thread may encode another language with the same tokenizer.
        with _TOKENIZER_LOCK:
            before, tokenizer.src_lang = tokenizer.src_lang, self._name(token)
            try:
                yield
            finally:
                tokenizer.src_lang = before

    def start_ids(self, source_language: str | None, target_language: str | None) -> list[int]:
        """The language token before each source sentence, as a list of one id; empty for a model of one language pair.

        Raises:
            ValueError: no language is given, or one that the tokenizer does not have.
        """
        if not self.is_multilingual:
            return []
        side, language = ("target", target_language) if self.mark_source else ("source", source_language)
        if language is None and len(self._matches) == 1:
            (language,) = self._matches
        if language is None:
            raise ValueError(
                f"the model has {len(self._matches)} languages: say which by {side}_language, for example "
                f"{side}_language='fr'"
            )
        token_id: Any = self.tokenizer.convert_tokens_to_ids(self.token(language))
        return [token_id]

    def target_start_ids(self, target_language: str) -> list[int]:
        """The language token before each target sentence, as a list of one id; empty for a model of one language
        pair."""
        if not self.is_multilingual or self.mark_source:
            return []
        token_id: Any = self.tokenizer.convert_tokens_to_ids(self.token(target_language))
        return [token_id]

    def in_language(self, ids: Sequence[int], target_language: str | None) -> list[int]:
        """The token ids of a target sentence, in which the token of another language becomes that of this one."""
        if not self.is_multilingual or self.mark_source or target_language is None:
            return list(ids)
        tokenizer: Any = self.tokenizer
        others = set(tokenizer.convert_tokens_to_ids(list(self._matches)))
        wanted = tokenizer.convert_tokens_to_ids(self.token(target_language))
        return [wanted if token_id in others else token_id for token_id in ids]

    def options(self, model: "PreTrainedModel", target_language: str | None) -> dict[str, int]:
        """Options of `generate` with which the model translates into a language.

        Raises:
            ValueError: no language is given, and the checkpoint names none.
        """
        if not self.is_multilingual or self.mark_source:
            return {}
        # mBART's first models begin with the language itself, all others with a start token before it.
        starts_with_language = type(self.tokenizer).__name__.startswith("MBartTokenizer")
        name = "decoder_start_token_id" if starts_with_language else "forced_bos_token_id"
        if target_language is None:
            if self._is_language(getattr(model.generation_config, name, None)):
                return {}
            raise ValueError(
                f"the model translates into {len(self._matches)} languages: say which by target_language, "
                "for example target_language='fr'"
            )
        token_id: Any = self.tokenizer.convert_tokens_to_ids(self.token(target_language))
        return {name: token_id}

    def _is_language(self, token_id: int | None) -> bool:
        return token_id is not None and self.tokenizer.convert_ids_to_tokens(token_id) in self._matches

    def _name(self, token: str) -> str:
        """What `src_lang` of the tokenizer calls a language: that of M2M100 without the underscores around it."""
        return self._matches[token]["m2m"] or token


def special_tokens(tokenizer: "PreTrainedTokenizerBase") -> list[str]:
    """Its special tokens; those of M2M100 and Marian keep those of languages apart."""
    languages = [
        *getattr(tokenizer, "lang_code_to_token", {}).values(),
        *getattr(tokenizer, "supported_language_codes", ()),
    ]
    return list(dict.fromkeys([*map(str, tokenizer.all_special_tokens), *languages]))


def _tag(match: re.Match[str]) -> str:
    """The BCP 47 tag of a language token."""
    return (match["m2m"] or match["nllb"] or match["mbart"] or match["marian"]).replace("_", "-")


def _check_langcodes(language: str) -> None:
    if langcodes is None:
        raise ImportError(f"finding {language!r} among the languages of a model needs: pip install 'langcodes[data]'")


def _closest_tag(language: str, tags: list[str]) -> str | None:
    """The tag that means the language, or None."""
    _check_langcodes(language)
    wanted = language.replace("_", "-")
    try:
        if not langcodes.tag_is_valid(wanted):
            wanted = langcodes.find(language).to_tag()
    except (LookupError, ValueError):
        return None
    closest, _ = langcodes.closest_match(wanted, tags, max_distance=_MAX_DISTANCE)
    return closest if closest in tags else None


def check_translates(model: "PreTrainedModel") -> None:
    """Raises ValueError for a model that would continue a text instead of translating it."""
    if getattr(model.config, "is_encoder_decoder", True) is False:
        name = type(model).__name__
        raise ValueError(f"{name} is not an encoder-decoder model: it continues a text instead of translating it")


def check_languages(config: Any, source_language: str | None, target_language: str | None) -> None:
    """Raises ValueError where a model of one pair of languages is asked for another language."""
    for side, asked in (("source", source_language), ("target", target_language)):
        own = getattr(config, f"{side}_language", None)
        if own and asked and _primary(own) != _primary(asked):
            raise ValueError(f"the model's {side} language is {own!r}, not {asked!r}")


def _primary(language: str) -> str:
    return re.split("[-_]", language.lower())[0]
