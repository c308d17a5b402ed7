# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import math
import os
from collections import Counter
from pathlib import Path

import pytest
import torch
from tiny_models import tiny_model
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianConfig, MarianMTModel
from word_translation import BOS, EOS, PAD, SEP, word_tokenizer

from hier_nmt.evaluation.contrastive import (
    contrastive_report,
    contrastive_table,
    example_records,
    expected_and_wrong_words,
    generative_report,
    random_scores,
    score_options,
    translate_examples,
)
from hier_nmt.evaluation.contrastive_readers import read_contrastive
from hier_nmt.evaluation.contrastive_sets import ContrastiveExample
from hier_nmt.evaluation.forced_scoring import ForcedWindow, WindowBuilder, continue_windows, forced_scores
from hier_nmt.evaluation.intervals import mcnemar_p_value, wilson_interval

NUM_WORDS = len(word_tokenizer())


def example(name: str = "1", targets=("E f.", "G f."), correct=0, context=("a b.", "c."), **changes):
    translated = tuple(sentence.upper() for sentence in context)
    values = {"phenomenon": "letter", "distance": 1, "source": "e f.", **changes}
    return ContrastiveExample(
        name, source_context=context, target_context=translated, targets=tuple(targets), correct=correct, **values
    )


def windows_model(window_sentences: int = 3, seed: int = 0, **changes):
    changes = {"position_encoding": "segment_shifted", "segment_shift": 5, **changes}
    return tiny_model(seed, vocab_size=NUM_WORDS, window_sentences=window_sentences, **changes).float()


def marian_model() -> MarianMTModel:
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=NUM_WORDS,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
        init_std=0.5,
    )
    return MarianMTModel(config).eval()


def plain_tokenizer():
    """A tokenizer as other models have it: no separators, and an end token after every text."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = word_tokenizer()
    tokenizer.sep_token = None
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", EOS)])
    return tokenizer


def ids(text: str) -> list[int]:
    return word_tokenizer()(text, add_special_tokens=False)["input_ids"]


@torch.no_grad()
def slow_log_probability(model, source_ids, target_ids, first, start=BOS) -> float:
    """Token after token, each from a forward pass over its prefix."""
    total = 0.0
    for position in range(first, len(target_ids)):
        prefix = torch.tensor([[start, *target_ids[:position]]])
        logits = model(input_ids=torch.tensor([source_ids]), decoder_input_ids=prefix).logits[0, -1].double()
        total += float(logits[target_ids[position]] - torch.logsumexp(logits, 0))
    return total


@pytest.mark.parametrize("score", ["current", "window"])
@pytest.mark.parametrize("normalisation", ["mean", "sum"])
def test_forced_scores_equal_a_loop_over_tokens(score, normalisation) -> None:
    model = windows_model()
    source = [*ids("a b."), SEP, *ids("c."), SEP, *ids("e f."), EOS]
    builder = WindowBuilder(model, word_tokenizer())
    scored = score_options(model, builder, [example()], score=score, normalisation=normalisation)[0]
    for number, text in zip(scored, ["E f.", "G f."], strict=True):
        target = [*ids("A B."), SEP, *ids("C."), SEP, *ids(text), EOS]
        first = 7 if score == "current" else 0  # A B . <sep> C . <sep>
        expected = slow_log_probability(model, source, target, first)
        num_tokens = len(target) - first if normalisation == "mean" else 1
        assert number == pytest.approx(expected / num_tokens, abs=1e-5)


@pytest.mark.parametrize(("window_sentences", "context"), [(1, []), (2, ["c."]), (3, ["a b.", "c."]), (0, None)])
def test_the_context_is_cut_to_the_window_of_the_model(window_sentences, context) -> None:
    model = windows_model(window_sentences)
    window = WindowBuilder(model, word_tokenizer()).build(["a b.", "c."], "e f.", ["A B.", "C."], "E F.")
    context = ["a b.", "c."] if context is None else context
    assert list(window.source_ids) == [i for text in context for i in [*ids(text), SEP]] + [*ids("e f."), EOS]
    before = [i for text in context for i in [*ids(text.upper()), SEP]]
    assert list(window.target_ids) == [*before, *ids("E F."), EOS]
    assert window.first == len(before)


def test_context_beyond_the_length_limit_is_dropped_farthest_first() -> None:
    model = windows_model(0, max_source_tokens=7)
    window = WindowBuilder(model, word_tokenizer()).build(["a b.", "c."], "e f.", ["A B.", "C."], "E F.")
    assert list(window.source_ids) == [*ids("c."), SEP, *ids("e f."), EOS]


def test_a_sentence_beyond_the_length_limit_is_an_error_that_names_it() -> None:
    model = windows_model(1, max_source_tokens=3)
    with pytest.raises(ValueError, match=r"4 source tokens are more than the model's 3: 'e f\.'"):
        score_options(model, WindowBuilder(model, word_tokenizer()), [example()])


@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("context", [(), ("a b.", "c.")])
def test_the_score_of_an_own_translation_is_its_decoding_score(num_beams, context) -> None:
    model = windows_model()
    tokenizer = word_tokenizer()
    builder = WindowBuilder(model, tokenizer)
    window = builder.build(context, "e f.", [text.upper() for text in context], "E F.")
    prefix = torch.tensor([[BOS, *window.target_ids[: window.first]]])
    output = model.generate(
        torch.tensor([window.source_ids]),
        decoder_input_ids=prefix,
        num_beams=num_beams,
        do_sample=False,
        max_new_tokens=6,
        length_penalty=0.0,
        output_scores=True,
        return_dict_in_generate=True,
    )
    written = output.sequences[0, 1:].tolist()
    beams = output.beam_indices if num_beams > 1 else None
    expected = model.compute_transition_scores(output.sequences, output.scores, beams, normalize_logits=num_beams == 1)
    forced = forced_scores(model, [window._replace(target_ids=tuple(written))], (PAD, PAD))[0]
    assert forced.num_tokens == len(written) - window.first
    assert forced.current == pytest.approx(float(expected.sum()), abs=1e-4)


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_a_sentence_level_model_scores_exactly_half_on_balanced_pairs(batch_size) -> None:
    letters = "abcdefghij"
    examples = []
    for index, letter in enumerate(letters):
        source = f"{letter} " * (index + 1) + "."
        targets = (f"X {source}", f"Y {source} !")
        examples.append(example(f"{letter}.x", targets, 0, ("x.",), source=source))
        examples.append(example(f"{letter}.y", targets[::-1], 0, ("y.",), source=source))
    model = windows_model(1)
    scores = score_options(model, WindowBuilder(model, word_tokenizer()), examples, batch_size=batch_size)
    overall = contrastive_report(examples, scores, "model").overall
    assert overall.accuracy == 50.0
    assert overall.num_undecided == 0


def test_a_sentence_level_model_is_at_exactly_half_on_discevalmt_anaphora() -> None:
    folder = os.environ.get("HIER_NMT_SHARED_DATA")
    if folder is None:
        pytest.skip("HIER_NMT_SHARED_DATA names no folder with discevalmt-en-fr")
    examples = read_contrastive([Path(folder) / "discevalmt-en-fr" / "anaphora.json"], "discevalmt")
    # One group has different wording in its right and wrong translations; all others are in the set both ways.
    sides = Counter((one.source, one.targets) for one in examples)
    both_ways = [one for one in examples if sides[one.source, one.targets] == sides[one.source, one.targets[::-1]]]
    assert (len(examples), len(both_ways)) == (200, 196)
    checkpoint = Path(__file__).parents[3] / "checkpoints" / "hier-nmt-en-fr"
    model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    builder = WindowBuilder(model, AutoTokenizer.from_pretrained(checkpoint), window_sentences=1)
    reports = [contrastive_report(part, score_options(model, builder, part), "model") for part in (examples, both_ways)]
    assert abs(reports[0].overall.accuracy - 50.0) <= 0.5
    assert reports[1].overall.accuracy == 50.0


def test_context_without_a_translation_is_dropped() -> None:
    window = WindowBuilder(windows_model(), word_tokenizer()).build(["a b.", "c."], "e f.", [], "E F.")
    assert window == ForcedWindow((*ids("e f."), EOS), (*ids("E F."), EOS), 0)


@pytest.mark.parametrize("num_options", [2, 3, 5])
def test_random_scores_give_chance_level(num_options) -> None:
    targets = tuple("ABCDE"[:num_options])
    examples = [example(str(index), targets, index % num_options) for index in range(2000)]
    overall = contrastive_report(examples, random_scores(examples, seed=1), "random").overall
    assert overall.chance == pytest.approx(100 / num_options)
    deviation = 100 * math.sqrt((1 / num_options) * (1 - 1 / num_options) / 2000)
    assert abs(overall.accuracy - overall.chance) < 4 * deviation


def test_the_chance_level_of_a_mixed_set_is_the_mean_of_its_examples() -> None:
    examples = [example("1"), example("2", ("A", "B", "C", "D"))]
    assert contrastive_report(examples, [[1, 0], [1, 0, 0, 0]], "model").overall.chance == pytest.approx(37.5)


def test_a_tie_with_a_wrong_translation_is_an_error_and_counted() -> None:
    examples = [example(str(index), ("A", "B", "C")) for index in range(4)]
    scores = [[0.0, 0.0, -1.0], [0.0, -1.0, -1.0], [-1.0, 0.0, 0.0], [-2.0, -2.0, 0.0]]
    overall = contrastive_report(examples, scores, "model").overall
    assert (overall.accuracy, overall.num_undecided) == (25.0, 1)


def test_groups_are_phenomena_and_distances() -> None:
    examples = [
        example("1", phenomenon="il", distance=1),
        example("2", phenomenon="elle", distance=1),
        example("3", phenomenon="elle", distance=2),
    ]
    report = contrastive_report(examples, [[1, 0], [0, 1], [1, 0]], "model")
    shares = {item.group: (item.num_examples, item.accuracy) for item in report.accuracies}
    assert shares["il"] == (1, 100.0)
    assert shares["elle"] == (2, 50.0)
    assert shares["distance 1"] == (2, 50.0)
    assert shares["distance 2"] == (1, 100.0)
    table = contrastive_table([report])
    assert "| model | contrastive | elle | 50.0 |" in table
    assert f"model: {report.signature}" in table


def test_a_set_of_one_phenomenon_is_divided_by_the_few_words_that_decide_it() -> None:
    targets = [
        ("Il dort.", "Elle dort."),
        ("Elle est là.", "Il est là."),
        ("Et il part.", "Et elle part."),
        ("Il", "Elle"),
    ]
    examples = [example(str(index), pair) for index, pair in enumerate(targets)]
    report = contrastive_report(examples, [[1, 0], [0, 1], [0, 1], [1, 0]], "model")
    shares = {item.group: (item.num_examples, item.accuracy) for item in report.accuracies}
    assert shares == {"all": (4, 50.0), "elle": (1, 0.0), "il": (3, pytest.approx(200 / 3))}
    # Where almost each example is decided by a word of its own, words are no groups.
    others = [example(str(index), (f"word{index}", "other")) for index in range(4)]
    assert [item.group for item in contrastive_report(others, [[1, 0]] * 4, "model").accuracies] == ["all"]


def test_each_example_has_a_record_of_its_scores_and_outcomes() -> None:
    examples = [example("right"), example("tie", correct=1), example("wrong")]
    records = example_records(examples, [[-1.0, -2.0], [-1.0, -1.0], [-2.0, -1.0]], ["E f.", "E f.", "H."])
    facts = {"phenomenon": "letter", "distance": 1}
    assert records == [
        {"id": "right", **facts, "correct": 0, "scores": [-1.0, -2.0], "is_right": True}
        | {"translation": "E f.", "translation_is_right": True},
        {"id": "tie", **facts, "correct": 1, "scores": [-1.0, -1.0], "is_right": None}
        | {"translation": "E f.", "translation_is_right": False},
        {"id": "wrong", **facts, "correct": 0, "scores": [-2.0, -1.0], "is_right": False}
        | {"translation": "H.", "translation_is_right": None},
    ]


def test_scores_that_do_not_fit_the_example_are_an_error() -> None:
    with pytest.raises(ValueError, match="'1' has 2 targets but 3 scores"):
        contrastive_report([example()], [[1, 2, 3]], "model")
    with pytest.raises(ValueError, match="no examples"):
        contrastive_report([], [], "model")


def test_an_unknown_score_or_normalisation_names_the_choices() -> None:
    model = windows_model()
    builder = WindowBuilder(model, word_tokenizer())
    with pytest.raises(ValueError, match="score must be one of current, window, got 'all'"):
        score_options(model, builder, [example()], score="all")  # type: ignore[arg-type]


def test_the_signature_changes_with_the_set_and_says_how_it_was_scored() -> None:
    one, other = [example()], [example(targets=("E g.", "G g."))]
    first = contrastive_report(one, [[1, 0]], "model", "norm:mean").signature
    assert "|n:1|" in first
    assert "|norm:mean|ties:errors|" in first
    assert first != contrastive_report(other, [[1, 0]], "model", "norm:mean").signature


def test_the_wilson_interval_is_that_of_the_formula() -> None:
    z, share, total = 1.959963984540054, 0.7, 10
    centre = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    assert wilson_interval(7, 10) == pytest.approx((centre - half, centre + half))
    with pytest.raises(ValueError, match="3 of 2"):
        wilson_interval(3, 2)


def test_mcnemar_is_the_exact_binomial_test() -> None:
    # 1 or fewer, or 7 or more, heads of 8: 2 * (1 + 8) / 256.
    assert mcnemar_p_value(1, 7) == pytest.approx(18 / 256)
    assert mcnemar_p_value(0, 0) == 1.0


def test_words_are_those_that_differ_between_the_translations() -> None:
    pronoun = example(targets=("Je sais qu\u2019elles sont pleines.", "Je sais qu'ils sont pleins."))
    assert expected_and_wrong_words(pronoun) == ({"elles", "pleines"}, {"ils", "pleins"})
    named = example(expected_words=("Elle",), wrong_words=("il",))
    assert expected_and_wrong_words(named) == ({"elle"}, {"il"})


@pytest.mark.parametrize(
    ("translation", "accuracy", "num_undecided"),
    [
        ("Elle est là.", 100.0, 0),
        ("On dit qu\u2019elle est là.", 100.0, 0),
        ("Il est là.", 0.0, 0),
        ("Cela est là.", 0.0, 1),
        ("Il dit qu'elle est là.", 0.0, 1),
        ("La vaisselle.", 0.0, 1),
    ],
)
def test_a_translation_is_judged_by_whole_words(translation, accuracy, num_undecided) -> None:
    named = example(expected_words=("elle",), wrong_words=("il",))
    overall = generative_report([named], [translation], "model").overall
    assert (overall.accuracy, overall.num_undecided, overall.chance) == (accuracy, num_undecided, None)


def test_translations_continue_the_given_context() -> None:
    model = windows_model()
    examples = [example("1"), example("2", context=()), example("3", context=("g h i.",), source="j.")]
    builder = WindowBuilder(model, word_tokenizer())
    together = translate_examples(model, builder, examples, num_beams=1)
    alone = [translate_examples(model, builder, [one], num_beams=1)[0] for one in examples]
    assert together == alone
    window = builder.build(*[("a b.", "c."), "e f.", ("A B.", "C."), "E f."])
    prefix = torch.tensor([[BOS, *window.target_ids[: window.first]]])
    ends = [EOS, SEP, 5]
    output = model.generate(
        torch.tensor([window.source_ids]),
        decoder_input_ids=prefix,
        max_new_tokens=2 * len(window.source_ids) + 10,
        eos_token_id=ends,
        suppress_tokens=[PAD, BOS, 3],
        do_sample=False,
    )[0, prefix.shape[1] :]
    written = [int(i) for i in output if i not in ends]
    assert together[0] == word_tokenizer().decode(written)


@pytest.mark.parametrize("separator", [None, " ! "])
def test_other_models_read_the_context_before_a_separator(separator) -> None:
    model, tokenizer = marian_model(), plain_tokenizer()
    builder = WindowBuilder(model, tokenizer, context_separator=separator)
    scored = score_options(model, builder, [example()], normalisation="sum")[0]
    source, before = ids("e f."), []
    if separator is not None:
        source = [*ids("a b. ! c. !"), *source]
        before = ids("A B. ! C. !")
    for number, text in zip(scored, ["E f.", "G f."], strict=True):
        target = [*before, *ids(text), EOS]
        expected = slow_log_probability(model, [*source, EOS], target, len(before), start=PAD)
        assert number == pytest.approx(expected, abs=1e-4)


def test_other_models_translate_after_the_context() -> None:
    model, tokenizer = marian_model(), plain_tokenizer()
    builder = WindowBuilder(model, tokenizer, context_separator=" ! ")
    windows = [builder.build(*[("a b.",), "e f.", ("A B.",), "E."]), builder.build(*[(), "e f.", (), "E."])]
    together = continue_windows(model, windows, builder.vocabulary, num_beams=1)
    assert together == [continue_windows(model, [window], builder.vocabulary, num_beams=1)[0] for window in windows]


def test_a_separator_for_a_model_that_has_its_own_is_an_error() -> None:
    with pytest.raises(ValueError, match="this model has <sep>"):
        WindowBuilder(windows_model(), word_tokenizer(), context_separator=" ")


def test_equal_windows_have_scores_equal_to_the_bit() -> None:
    model = windows_model()
    window = ForcedWindow((*ids("a b."), EOS), (*ids("A."), EOS), 0)
    others = [ForcedWindow((*ids("c " * n), EOS), (*ids("C " * n), EOS), 0) for n in range(1, 9)]
    scores = forced_scores(model, [window, *others, window], (PAD, PAD), batch_size=3)
    assert scores[0] == scores[-1]
