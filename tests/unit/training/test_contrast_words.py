# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import TokenizersBackend
from word_translation import word_tokenizer

from hier_nmt.data.tokenization import train_tokenizer
from hier_nmt.training.contrast_words import contrast_token_pairs, word_continuations

TEXTS = ["il va et elle va .", "Il va . Elle va . tu vas , vous allez", "Tu vas et Vous allez , ils vont"] * 30


@pytest.fixture(scope="module")
def tokenizer() -> TokenizersBackend:
    return train_tokenizer(TEXTS, 400)


def test_words_are_found_inside_and_at_the_start_of_a_sentence_in_both_orders(tokenizer):
    pairs = contrast_token_pairs(tokenizer, [["il", "elle"]])
    found = [tuple(tokenizer.convert_ids_to_tokens(list(pair))) for pair in pairs]
    inside, start = ("\u2581il", "\u2581elle"), ("\u2581Il", "\u2581Elle")
    assert set(found) == {inside, inside[::-1], start, start[::-1]}
    assert len(found) == 4
    # These are the tokens of running text.
    ids = tokenizer("Elle va et il va", add_special_tokens=False)["input_ids"]
    assert {ids[0], ids[3]} <= {pair[0] for pair in pairs}


def test_a_word_may_have_several_counterparts_and_a_pair_counts_once(tokenizer):
    pairs = contrast_token_pairs(tokenizer, [["tu", "vous"], ["il", "vous"], ["vous", "tu"]])
    vous = tokenizer.convert_tokens_to_ids("\u2581vous")
    assert len(pairs) == len(set(pairs))
    others = {tokenizer.convert_ids_to_tokens(other) for word, other in pairs if word == vous}
    assert others == {"\u2581tu", "\u2581il"}


def test_a_form_that_only_one_of_the_words_has_is_no_pair_and_is_named_once(caplog):
    # A is known, but not the capital form of "sep".
    tokenizer = word_tokenizer()
    ids = tokenizer.convert_tokens_to_ids(["a", "sep"])
    for _ in range(2):
        assert set(contrast_token_pairs(tokenizer, [["a", "sep"]])) == {tuple(ids), tuple(ids[::-1])}
    assert caplog.messages == ["contrast_words: 'A' and 'Sep' are not contrasted: one of them is not a single token"]


def test_a_token_that_continues_a_word_is_known_by_its_lack_of_a_mark(tokenizer):
    continues = word_continuations(tokenizer)
    assert len(continues) == len(tokenizer)
    ids = tokenizer("Elle valla , il", add_special_tokens=False)["input_ids"]
    tokens = tokenizer.convert_ids_to_tokens(ids)
    found = [token for token, index in zip(tokens, ids, strict=True) if continues[index]]
    assert found == [token for token in tokens if not token.startswith("\u2581")] != []
    assert not any(word_continuations(word_tokenizer()))


def test_a_word_and_its_capital_form_may_be_a_pair():
    tokenizer = word_tokenizer()
    ids = tokenizer.convert_tokens_to_ids(["a", "A"])
    assert set(contrast_token_pairs(tokenizer, [["a", "A"]])) == {tuple(ids), tuple(ids[::-1])}


def test_a_word_of_several_tokens_is_named_with_them(tokenizer):
    with pytest.raises(ValueError, match="'xylophone' is not a single token of the target vocabulary, but \u2581"):
        contrast_token_pairs(tokenizer, [["il", "elle"], ["il", "xylophone"]])


def test_an_unknown_word_is_not_a_token():
    with pytest.raises(ValueError, match="'xylophone' is not a single token of the target vocabulary, but <unk>"):
        contrast_token_pairs(word_tokenizer(), [["a", "xylophone"]])


def test_words_without_a_common_form_are_named():
    words = {"<unk>": 0, "il": 1, "Elle": 2}
    tokenizer = TokenizersBackend(tokenizer_object=Tokenizer(WordLevel(words, "<unk>")), unk_token="<unk>")
    with pytest.raises(ValueError, match="no form of 'il' and 'elle' has both as single tokens"):
        contrast_token_pairs(tokenizer, [["il", "elle"]])
