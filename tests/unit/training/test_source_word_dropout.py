# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from word_translation import BOS, EOS, PAD, PAR, SEP, UNK, word_tokenizer

from hier_nmt.data.tokenization import train_tokenizer
from hier_nmt.training.source_word_dropout import SourceWordDropout, source_word_dropout

A, B, C = range(PAR + 1, PAR + 4)
INPUT_IDS = torch.tensor(
    [
        [A, B, SEP, C, PAR, A, C, EOS],
        [A, EOS, PAD, PAD, PAD, PAD, PAD, PAD],
        [BOS, B, SEP, A, B, EOS, PAD, PAD],
        [PAD, PAD, PAD, PAD, PAD, PAD, PAD, PAD],
    ]
)
ATTENTION_MASK = (INPUT_IDS != PAD).long()


def dropout(probability: float, has_current_sentence: bool = True) -> SourceWordDropout:
    separators = frozenset({SEP, PAR})
    return source_word_dropout(probability, word_tokenizer(), separators, has_current_sentence, torch.device("cpu"))


def test_words_of_the_last_sentence_of_each_row_are_replaced_and_nothing_else():
    replaced = torch.tensor(
        [
            [A, B, SEP, C, PAR, UNK, UNK, EOS],
            [UNK, EOS, PAD, PAD, PAD, PAD, PAD, PAD],
            [BOS, B, SEP, UNK, UNK, EOS, PAD, PAD],
            [PAD, PAD, PAD, PAD, PAD, PAD, PAD, PAD],
        ]
    )
    before = INPUT_IDS.clone()
    # So close to 1 that every token is replaced.
    assert torch.equal(dropout(1 - 1e-12)(INPUT_IDS, ATTENTION_MASK), replaced)
    assert torch.equal(INPUT_IDS, before)


def test_without_a_current_sentence_the_words_of_all_sentences_are_replaced():
    found = dropout(1 - 1e-12, has_current_sentence=False)(INPUT_IDS, ATTENTION_MASK)
    is_word = (INPUT_IDS == A) | (INPUT_IDS == B) | (INPUT_IDS == C)
    assert torch.equal(found, INPUT_IDS.masked_fill(is_word, UNK))


def test_the_share_of_replaced_words_is_the_probability_and_follows_the_seed():
    input_ids = torch.full((100, 100), A)
    mask = torch.ones_like(input_ids)
    torch.manual_seed(3)
    first, second = dropout(0.3)(input_ids, mask), dropout(0.3)(input_ids, mask)
    torch.manual_seed(3)
    assert torch.equal(dropout(0.3)(input_ids, mask), first)
    assert not torch.equal(first, second)
    # Five standard deviations of 10,000 draws.
    assert (first == UNK).float().mean().item() == pytest.approx(0.3, abs=5 * (0.3 * 0.7 / 10_000) ** 0.5)


def test_reserved_tokens_stay():
    tokenizer = train_tokenizer(["a b c"] * 3, 300, reserved_tokens=["<gloss>"])
    gloss = tokenizer.convert_tokens_to_ids("<gloss>")
    words = tokenizer("a b", add_special_tokens=False)["input_ids"]
    input_ids = torch.tensor([[*words, gloss]])
    replace = source_word_dropout(1 - 1e-12, tokenizer, frozenset(), True, torch.device("cpu"))
    unknown = tokenizer.unk_token_id
    assert replace(input_ids, torch.ones_like(input_ids)).tolist() == [[*(unknown for _ in words), gloss]]


def test_a_tokenizer_without_an_unknown_token_is_an_error():
    tokenizer = word_tokenizer()
    tokenizer.unk_token = None
    with pytest.raises(ValueError, match="source_word_dropout needs a source tokenizer with an unk_token"):
        source_word_dropout(0.1, tokenizer, frozenset(), True, torch.device("cpu"))
    with pytest.raises(ValueError, match=r"source_word_dropout=0\.1 needs the source tokenizer"):
        source_word_dropout(0.1, None, frozenset(), True, torch.device("cpu"))
