# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repetition loops are kept out while a translation is written, and nothing else is changed."""

from typing import Any

import pytest
import torch
from transformers import MarianConfig, MarianMTModel
from word_translation import BOS, EOS, PAD, PAR, SEP, word_tokenizer

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.translation import batched_generation
from hier_nmt.translation.document_translator import STRATEGIES, DocumentTranslator
from hier_nmt.translation.loop_prevention import WithoutLoops
from hier_nmt.translation.repetition import begins_next_turn, ends_in_turns, most_turns
from hier_nmt.translation.translation_documents import SourceDocument

NUM_TOKENS = 40
PLAIN = list(range(10, 30))


def processed(rows: list[list[int]], sources: list[list[list[int]]], scores: dict[int, float] | None = None) -> Any:
    """The scores behind the rows, which are 0 before but for those that are given."""
    length = max(map(len, rows))
    input_ids = torch.tensor([[PAD] * (length - len(row)) + row for row in rows])
    before = torch.zeros(len(rows), NUM_TOKENS)
    for token_id, score in (scores or {}).items():
        before[:, token_id] = score
    return WithoutLoops(sources, (SEP, PAR), (EOS,), (PAD, BOS))(input_ids, before)


def forbidden(rows: list[list[int]], sources: list[list[list[int]]]) -> list[list[int]]:
    """The tokens that are forbidden behind each row."""
    return [row.isinf().nonzero().flatten().tolist() for row in processed(rows, sources)]


# What a loop is


def test_turns_are_counted_for_the_ngram_that_comes_most_often_in_a_row() -> None:
    assert most_turns([]) == most_turns([7]) == most_turns([7, 8, 9]) == 1
    assert most_turns([7, 7]) == 2
    # "No , no , no , no !" has ", no" three times in a row, and its first word is another token.
    assert most_turns([6, 7, 8, 7, 8, 7, 8, 9]) == 3
    # A turn that is not complete does not count.
    assert most_turns([7, 8, 9, 7, 8, 9, 7, 8]) == 2
    assert most_turns([5, 7, 5, 8, 5, 9]) == 1


def test_a_row_ends_in_turns_of_which_seven_tokens_are_repeated() -> None:
    # Seven tokens that repeat others make four n-grams of four that come again.
    assert not ends_in_turns([9] + [7] * 7, 3)
    assert ends_in_turns([9] + [7] * 8, 3)
    assert not ends_in_turns([7, 8] * 4, 3)
    assert ends_in_turns([8] + [7, 8] * 4, 3)
    # Three turns of five tokens, and one token less.
    assert ends_in_turns([1, 2, 3, 4, 5] * 3, 3)
    assert not ends_in_turns([1, 2, 3, 4, 5] * 3, 4)
    assert not ends_in_turns(([1, 2, 3, 4, 5] * 3)[1:], 3)
    # Behind the last turn the row went on.
    assert not ends_in_turns([1, 2, 3, 4, 5] * 3 + [6], 3)


def test_a_source_may_be_repeated_as_often_and_once_more() -> None:
    ngram = [1, 2, 3, 4]
    assert begins_next_turn(PLAIN[:5] + ngram * 3, PLAIN)
    for num_turns in (2, 3, 7):
        source = ngram * num_turns + PLAIN
        assert not begins_next_turn(ngram * (num_turns + 1), source)
        assert begins_next_turn(ngram * (num_turns + 2), source)


def test_a_loop_of_another_kind_is_one_when_the_sentence_is_as_long_as_its_source() -> None:
    # A phrase that comes again and again between other tokens: 9 of its 25 n-grams of four stood there before.
    phrase = [1, 2, 3, 4, 5, 6, 7]
    target = [*phrase, 20, *phrase, 21, *phrase, 22, *phrase[:4]]
    assert begins_next_turn(target, list(range(50, 70)))
    assert not begins_next_turn(target, list(range(50, 90)))
    # What goes on with something new is none, whatever stands before.
    assert not begins_next_turn([*target, 25], list(range(50, 70)))


def test_a_translation_far_longer_than_its_source_repeats_nothing() -> None:
    # 1.5 tokens for each of ten, and five, are 20: the first repeated n-gram that ends behind them.
    source, phrase = list(range(50, 60)), [1, 2, 3, 4]
    assert begins_next_turn([*range(20, 33), *phrase, *phrase], source)
    assert not begins_next_turn([*range(20, 32), *phrase, *phrase], source)
    assert not begins_next_turn([*range(20, 33), *phrase, *phrase], [*source[:5], *source[:5]])


# What is forbidden


def test_the_third_turn_is_not_completed() -> None:
    row = [BOS, 30, *[11, 12, 13, 14] * 3]
    assert forbidden([row[:-1]], [[PLAIN]]) == [[14]]
    assert forbidden([row[:-2]], [[PLAIN]]) == [[]]
    assert forbidden([[BOS, 30, *[11] * 7]], [[PLAIN]]) == [[11]]
    assert forbidden([[BOS, 30, *[11] * 6]], [[PLAIN]]) == [[]]


def test_each_row_is_judged_by_its_own_tokens_and_source() -> None:
    loop, other = [BOS, 11, 12] + [13] * 7, [BOS, 11, 12, 13, 14, 15, 16, 17, 18, 19]
    shouting = [11] * 9
    assert forbidden([loop, other, loop], [[PLAIN], [PLAIN], [shouting]]) == [[13], [], []]
    # Beams are neighbouring rows.
    assert forbidden([loop, other, loop, loop], [[PLAIN], [shouting]]) == [[13], [], [], []]


def test_a_sentence_of_a_window_is_judged_by_its_own_source_sentence() -> None:
    shouting, loop = [11] * 9, [13] * 7
    rows = [[BOS, *loop], [BOS, 12, SEP, *loop], [BOS, 12, PAR, 14, SEP, *loop]]
    sources = [[shouting, PLAIN, shouting]] * 3
    assert forbidden(rows, sources) == [[], [13], []]
    # With more sentences than there should be, the last one counts.
    assert forbidden([[BOS, 12, SEP, 12, SEP, *loop]], [[shouting, PLAIN]]) == [[13]]


def test_what_stands_in_another_sentence_is_no_turn() -> None:
    # Seven tokens, four of which are before the separator.
    assert forbidden([[BOS, *[13] * 4, SEP, *[13] * 3]], [[PLAIN, PLAIN]]) == [[]]
    sentence = [11, 12, 13, 14, 15, 16]
    assert forbidden([[BOS, *sentence, SEP, *sentence, PAR, *sentence]], [[PLAIN] * 3]) == [[]]


def test_padding_is_no_loop() -> None:
    row = [11, 12, 13, 14, 15]
    rows = [[BOS, *row, EOS, *[PAD] * 9], [*[PAD] * 10, BOS, *row], [*[PAD] * 7, BOS, 30, *[13] * 7]]
    assert forbidden(rows, [[PLAIN]] * 3) == [[], [], [13]]


def test_a_row_that_is_too_short_to_repeat_anything_is_left_alone() -> None:
    for length in range(1, 6):
        assert forbidden([[BOS] + [13] * (length - 1)], [[PLAIN]]) == [[]]


# Where the probability goes


def test_the_end_gets_the_probability_when_the_sentence_is_as_long_as_its_source() -> None:
    row = [BOS, 30, *[13] * 7]
    # Of the tokens that close a sentence, the one that the model prefers: e^3 + e^1 and nothing else.
    after = processed([row], [[PLAIN[:4]]], {13: 3.0, SEP: 1.0, PAR: 0.5})[0]
    assert after[SEP].exp().item() == pytest.approx(20.0855 + 2.7183, rel=1e-4)
    assert after[13] == -torch.inf
    assert (after[PAR], after[EOS], after[14]) == (0.5, 0.0, 0.0)
    # A sentence that has more to say is not ended.
    assert processed([row], [[PLAIN]], {13: 3.0, SEP: 1.0})[0][SEP] == 1.0


def test_an_end_that_is_forbidden_stays_forbidden() -> None:
    scores = {token_id: -torch.inf for token_id in (SEP, PAR, EOS)}
    after = processed([[BOS, 30, *[13] * 7]], [[PLAIN[:4]]], {13: 3.0, **scores})[0]
    assert all(after[token_id] == -torch.inf for token_id in (SEP, PAR, EOS, 13))
    assert after[14] == 0.0


def test_scores_are_given_back_unchanged_where_nothing_loops() -> None:
    before = torch.randn(2, NUM_TOKENS)
    rows = torch.tensor([[BOS, *PLAIN], [BOS, *PLAIN[:15], *PLAIN[:5]]])
    after = WithoutLoops([[PLAIN], [PLAIN]], (SEP, PAR), (EOS,), (PAD, BOS))(rows, before.clone())
    assert torch.equal(after, before)


# In translations


def small_model(seed: int) -> HierNMTForConditionalGeneration:
    """A model of random weights, which loops often."""
    torch.manual_seed(seed)
    config = HierNMTConfig(
        vocab_size=len(word_tokenizer()),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        init_std=0.6,
        window_sentences=3,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        sep_token_id=SEP,
        par_token_id=PAR,
    )
    return HierNMTForConditionalGeneration(config).eval()


def marian_model(seed: int) -> MarianMTModel:
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=len(word_tokenizer()),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        init_std=0.6,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
        max_position_embeddings=64,
    )
    return MarianMTModel(config).eval()


SENTENCES = ["a b c d e f g h.", "i j k l m.", "n o p q r s t u v w x y.", "c c c c c c c c c c!", "z y. x", "h i j k."]


def decoded(model: Any, **options: Any) -> list[tuple[list[int], list[int], bool]]:
    """Source, output and whether it is complete, of everything that the decoder is asked for the first time."""
    translator = DocumentTranslator(model, word_tokenizer(), **options)
    found = []
    run = translator.generator.run

    def noted(requests: Any, ends: Any, *arguments: Any) -> Any:
        outputs = run(requests, ends, *arguments)
        if ends.no_repeat_ngram_size is None:
            rows = zip(requests, outputs, strict=True)
            found.extend(
                (request.source_ids, [token_id for token_id in output.ids if token_id != PAD], output.is_complete)
                for request, output in rows
            )
        return outputs

    translator.generator.run = noted  # type: ignore[method-assign]
    translator.translate([SourceDocument([SENTENCES[:3], SENTENCES[3:]]), SourceDocument([SENTENCES[2:4]])])
    return found


def split(ids: list[int]) -> list[list[int]]:
    sentences: list[list[int]] = [[]]
    for token_id in ids:
        if token_id in (SEP, PAR):
            sentences.append([])
        else:
            sentences[-1].append(token_id)
    return sentences


def has_loop(source: list[int], target: list[int]) -> bool:
    """Whether a sentence of the window has a place in which it begins another turn."""
    sources = split(source)
    return any(
        begins_next_turn(sentence[:stop], sources[min(index, len(sources) - 1)])
        for index, sentence in enumerate(split(target))
        for stop in range(4, len(sentence) + 1)
    )


@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_output_has_a_loop_whatever_the_strategy_the_cache_and_the_beams(strategy, use_cache, num_beams) -> None:
    options = {"strategy": strategy, "generate_kwargs": {"num_beams": num_beams, "use_cache": use_cache}}
    rows = decoded(small_model(1), **options)
    if strategy == "prefix":
        # The source is the whole window, the output its last sentence.
        rows = [(split(source)[-1], *rest) for source, *rest in rows]
    assert not any(has_loop(source, target) for source, target, _ in rows)


def without_prevention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched_generation, "WithoutLoops", lambda *arguments: lambda input_ids, scores: scores)


@pytest.mark.parametrize(("make_model", "bias"), [(small_model, 2.0), (marian_model, 6.0)])
def test_greedy_outputs_without_loops_are_the_same(make_model, bias, monkeypatch) -> None:
    num_same = num_other = 0
    # So that some sentences come to an end.
    options = {"strategy": "sentence", "generate_kwargs": {"sequence_bias": [[[EOS], bias]]}}
    for seed in range(6):
        model = make_model(seed)
        with monkeypatch.context() as patch:
            without_prevention(patch)
            before = decoded(model, **options)
        after = decoded(model, **options)
        # A sentence that is decoded again comes behind all that are decoded once.
        for (source, target, is_complete), then in zip(before[:8], after[:8], strict=True):
            if has_loop(source, target):
                num_other += 1
                assert target != then[1]
            else:
                num_same += 1
                assert (source, target, is_complete) == then
    assert num_same >= 5
    assert num_other >= 5


def test_an_output_does_not_depend_on_the_loops_of_its_batch() -> None:
    for seed in range(3):
        model = small_model(seed)
        together, alone = (decoded(model, strategy="sentence", batch_size=size)[:8] for size in (8, 1))
        assert together == alone
