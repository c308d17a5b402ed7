# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of OPUS-MT with separators: the ids of the original, from fast tokenizers where these are equal."""

import json
from pathlib import Path
from typing import Any

import pytest
from sentence_models import ENGLISH, FRENCH, skip_unless_loadable, train_sentencepiece, write_opus_mt
from transformers import AutoConfig, AutoTokenizer, M2M100Config, M2M100Tokenizer

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
