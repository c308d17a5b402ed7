# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of OPUS-MT with separators: the ids of the original, from fast tokenizers where these are equal."""

import json
from pathlib import Path
from typing import Any

import pytest
from sentence_models import ENGLISH, FRENCH, skip_unless_loadable, train_sentencepiece, write_opus_mt
from transformers import AutoConfig, AutoTokenizer, M2M100Config, M2M100Tokenizer

from hier_nmt.data import sentence_model_tokenizers
from hier_nmt.data.sentence_model_tokenizers import TokenizerError, adapt_tokenizers, fast_tokenizer
from hier_nmt.data.tokenization import load_tokenizers, save_tokenizers

TEXTS = [
    *ENGLISH,
    *FRENCH,
    " two  spaces ",
    "œuf œœ cœur",
    "Привет, мир! 日本語 😀😀",
    "names: <sep> <par>",
    "tab\tand ﬁgures ½",
]


@pytest.fixture(scope="module", params=[False, True], ids=["joint", "separate"])
def opus_mt(request: Any, tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("opus-mt")
    write_opus_mt(folder, separate=request.param)
    return folder


def original(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder)


def test_both_sides_have_the_ids_of_the_original(opus_mt: Path, tmp_path: Path) -> None:
    tokenizers = adapt_tokenizers(opus_mt, AutoConfig.from_pretrained(opus_mt))
    assert tokenizers.is_fast
    assert tokenizers.languages == ("en", "fr")
    save_tokenizers(tmp_path, tokenizers.source, tokenizers.target)
    slow = original(opus_mt)
    for source, target in ((tokenizers.source, tokenizers.target), load_tokenizers(tmp_path)):
        assert source(TEXTS)["input_ids"] == slow(TEXTS)["input_ids"]
        assert target(TEXTS)["input_ids"] == slow(text_target=TEXTS)["input_ids"]
        for ids in slow(text_target=FRENCH)["input_ids"]:
            expected = slow.decode(ids, skip_special_tokens=True)
            assert target.decode(ids, skip_special_tokens=True) == expected


def test_separators_stand_behind_the_vocabulary_and_no_text_has_them(opus_mt: Path) -> None:
    config = AutoConfig.from_pretrained(opus_mt)
    tokenizers = adapt_tokenizers(opus_mt, config)
    assert tokenizers.separator_ids == {"sep_token_id": config.vocab_size, "par_token_id": config.vocab_size + 1}
    for tokenizer in (tokenizers.source, tokenizers.target):
        assert (
            max(tokenizer("a <sep> b <par> c </s> d <pad>", add_special_tokens=False)["input_ids"])
            < config.pad_token_id
        )
        ids = tokenizer("a </s> b", add_special_tokens=False)["input_ids"]
        assert config.eos_token_id not in ids


def test_a_vocabulary_without_some_pieces_keeps_the_slow_tokenizer(tmp_path: Path) -> None:
    model = write_opus_mt(tmp_path)
    vocabulary = json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))
    lost = next(piece for piece in vocabulary if piece.startswith("▁") and len(piece) > 1)
    renamed = {("<lost>" if piece == lost else piece): token_id for piece, token_id in vocabulary.items()}
    (tmp_path / "vocab.json").write_text(json.dumps(renamed), encoding="utf-8")
    tokenizers = adapt_tokenizers(tmp_path, model.config)
    assert not tokenizers.is_fast
    slow = original(tmp_path)
    save_tokenizers(tmp_path / "saved", tokenizers.source, tokenizers.target)
    for source, target in ((tokenizers.source, tokenizers.target), load_tokenizers(tmp_path / "saved")):
        assert source(TEXTS[:9])["input_ids"] == slow(TEXTS[:9])["input_ids"]
        assert target(TEXTS[:9])["input_ids"] == slow(text_target=TEXTS[:9])["input_ids"]
        assert source.convert_tokens_to_ids(["<sep>", "<par>"]) == [len(vocabulary), len(vocabulary) + 1]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_the_fast_tokenizer_of_m2m100_equals_the_slow_one(tmp_path: Path, kind: str) -> None:
    pieces = train_sentencepiece(tmp_path, "both", [*ENGLISH, *FRENCH] * 3, 150, model_type=kind)
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = {piece: index for index, piece in enumerate([*specials, *pieces])}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    slow = M2M100Tokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "both.spm"), src_lang="en", tgt_lang="fr")
    slow.save_pretrained(tmp_path / "m2m")
    skip_unless_loadable(M2M100Config)
    config = M2M100Config(vocab_size=len(vocabulary) + 108)
    config.save_pretrained(tmp_path / "m2m")
    tokenizers = adapt_tokenizers(tmp_path / "m2m", config, source_language="en")
    assert tokenizers.is_fast
    assert tokenizers.source is tokenizers.target
    assert tokenizers.source(TEXTS)["input_ids"] == slow(TEXTS)["input_ids"]
    assert tokenizers.source.convert_tokens_to_ids("__fr__") == slow.get_lang_id("fr")
    assert tokenizers.separator_ids["sep_token_id"] == config.vocab_size


@pytest.mark.slow
def test_ten_thousand_lines_of_each_script_are_read_alike(opus_mt: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(sentence_model_tokenizers, "LINES_OF_A_SCRIPT", 10_000)
    assert adapt_tokenizers(opus_mt, AutoConfig.from_pretrained(opus_mt)).is_fast


class _Compared:
    """A tokenizer that gives fixed ids in the place of those of a line."""

    def __init__(self, ids_of_a_line: Any) -> None:
        self.ids_of_a_line = ids_of_a_line

    def __call__(self, lines: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [self.ids_of_a_line(index) for index in range(len(lines))]}


@pytest.mark.parametrize(
    ("ids_of_a_line", "is_equal"),
    [
        (lambda index: [1, 2, 3], True),
        # The same pieces in another order, once in a while.
        (lambda index: [1, 3, 2] if index == 7 else [1, 2, 3], True),
        (lambda index: [1, 3, 2] if index % 100 == 7 else [1, 2, 3], False),
        # Other pieces.
        (lambda index: [1, 2, 4] if index == 7 else [1, 2, 3], False),
    ],
)
def test_what_counts_as_equal(
    tmp_path: Path, monkeypatch: Any, caplog: Any, ids_of_a_line: Any, is_equal: bool
) -> None:
    monkeypatch.setattr(sentence_model_tokenizers, "LINES_OF_A_SCRIPT", 2000)
    train_sentencepiece(tmp_path, "any", ENGLISH * 3, 100)
    fast: Any = _Compared(ids_of_a_line)
    is_reordered = ids_of_a_line(7) == [1, 3, 2]
    slow = lambda lines: [[1, 2, 3]] * len(lines)  # noqa: E731
    assert sentence_model_tokenizers._are_equal(fast, slow, tmp_path / "any.spm") is is_equal
    assert ("puts the same pieces in another order" in caplog.text) is is_reordered


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    model = write_opus_mt(tmp_path)
    (tmp_path / "target.spm").unlink()
    with pytest.raises(TokenizerError, match="has no complete tokenizer"):
        adapt_tokenizers(tmp_path, model.config)


def test_a_vocabulary_that_does_not_fit_the_weights_is_refused(tmp_path: Path) -> None:
    model = write_opus_mt(tmp_path)
    model.config.vocab_size -= 10
    model.config.decoder_vocab_size -= 10
    with pytest.raises(TokenizerError, match=r"vocab.json has ids up to \d+, the weights are those of \d+"):
        adapt_tokenizers(tmp_path, model.config)


def test_bytes_for_unknown_characters_make_no_fast_tokenizer(tmp_path: Path) -> None:
    pieces = train_sentencepiece(tmp_path, "bytes", ENGLISH * 3, 400, byte_fallback=True)
    vocabulary = {piece: index for index, piece in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}
    specials = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    assert fast_tokenizer(tmp_path / "bytes.spm", vocabulary, len(vocabulary), specials) is None
