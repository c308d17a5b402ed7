# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from tiny_models import HIERARCHICAL, tiny_model
from transformers import GenerationConfig, MarianConfig, MarianMTModel, TokenizersBackend
from word_translation import BOS, EOS, PAD, SEP, Sentences, WordTranslator, word_tokenizer

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.text.long_sentences import sentence_joiner, split_long_sentence
from hier_nmt.translation.document_translator import STRATEGIES, DocumentTranslator
from hier_nmt.translation.translation_documents import SourceDocument, TranslatedDocument
from hier_nmt.translation.translation_report import DecodingStatistics

# Two paragraphs of two sentences, a document of one, and one of three.
DOCUMENTS = [
    SourceDocument([["a b.", "c d."], ["e.", "f g h."]]),
    SourceDocument([["i."]]),
    SourceDocument([["j.", "k l.", "m."]]),
]
EXPECTED = [[["A B .", "C D ."], ["E .", "F G H ."]], [["I ."]], [["J .", "K L .", "M ."]]]


def translate(model, documents, **options) -> list[TranslatedDocument]:
    tokenizer = options.pop("tokenizer", None) or model.tokenizer
    return DocumentTranslator(model, tokenizer, **options).translate(documents)


def texts(translated: list[TranslatedDocument]) -> list[list[list[str]]]:
    return [document.paragraphs for document in translated]


def total(translated: list[TranslatedDocument]) -> DecodingStatistics:
    statistics = DecodingStatistics()
    for document in translated:
        statistics.add(document.statistics)
    return statistics


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("window_sentences", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("batch_size", [1, 3, 50])
def test_every_strategy_gives_one_translation_per_sentence_in_order(strategy, window_sentences, batch_size) -> None:
    model = WordTranslator(window_sentences=window_sentences)
    translated = translate(model, DOCUMENTS, strategy=strategy, batch_size=batch_size)
    assert texts(translated) == EXPECTED
    assert total(translated).num_sentences == 8
    assert total(translated).num_fallbacks == 0


def test_current_reads_the_sentence_and_its_context() -> None:
    model = WordTranslator(window_sentences=3)
    translate(model, DOCUMENTS[:1], strategy="current")
    assert sorted(model.windows) == sorted(
        [
            "a b . </s>",
            "a b . <sep> c d . </s>",
            "a b . <sep> c d . <par> e . </s>",
            "c d . <par> e . <sep> f g h . </s>",
        ]
    )


def test_prefix_forces_the_translations_of_the_context_with_the_separators_of_the_source() -> None:
    model = WordTranslator(window_sentences=3)
    translate(model, DOCUMENTS[:1], strategy="prefix")
    assert model.windows[2:] == ["a b . <sep> c d . <par> e . </s>", "c d . <par> e . <sep> f g h . </s>"]
    assert model.prefixes == ["", "A B . <sep>", "A B . <sep> C D . <par>", "C D . <par> E . <sep>"]


def test_prefix_decodes_the_next_sentence_of_all_documents_together() -> None:
    model = WordTranslator(window_sentences=2)
    translate(model, DOCUMENTS, strategy="prefix")
    # First sentences of three documents, then second and third ones of two with context, then the fourth of one.
    assert [len(batch) for batch in model.batches] == [3, 2, 2, 1]


def test_document_decodes_blocks_that_do_not_overlap() -> None:
    model = WordTranslator(window_sentences=3)
    translate(model, DOCUMENTS, strategy="document")
    assert sorted(model.windows) == sorted(
        [
            "a b . <sep> c d . <par> e . </s>",
            "f g h . </s>",
            "i . </s>",
            "j . <sep> k l . <sep> m . </s>",
        ]
    )


def test_whole_documents_are_cut_where_the_limit_is() -> None:
    # Lengths with their closing tokens: 4 + 4 = 8 tokens fit into 8, the next two are 3 + 5 = 8.
    model = WordTranslator(window_sentences=0, max_source_tokens=8)
    assert texts(translate(model, DOCUMENTS[:1])) == EXPECTED[:1]
    assert sorted(model.windows) == ["a b . <sep> c d . </s>", "e . <sep> f g h . </s>"]


def test_blocks_leave_room_for_a_translation_that_is_longer_than_the_source() -> None:
    # 4 + 4 source tokens are expected to become 6 + 6 target tokens, which are more than 8.
    model = WordTranslator(window_sentences=0, max_source_tokens=64, max_target_tokens=8)
    translate(model, [SourceDocument([["a b.", "c d."]])])
    assert sorted(model.windows) == ["a b . </s>", "c d . </s>"]


def test_context_that_does_not_fit_is_dropped_from_the_far_end() -> None:
    # The window of the last sentence has 4 + 3 + 5 = 12 tokens with two sentences of context, 8 with one.
    model = WordTranslator(window_sentences=3, max_source_tokens=11)
    translated = translate(model, DOCUMENTS[:1], strategy="current")
    assert "e . <sep> f g h . </s>" in model.windows
    assert total(translated).num_shortened_windows == 1


def merged(sentences: Sentences) -> Sentences:
    return [[word for sentence in sentences for word in sentence]]


def doubled(sentences: Sentences) -> Sentences:
    return [*sentences, sentences[-1]]


def empty(sentences: Sentences) -> Sentences:
    return [[] for _ in sentences]


def endless(sentences: Sentences) -> Sentences:
    return [*sentences[:-1], ["Z"]]


@pytest.mark.parametrize("strategy", ["current", "document"])
@pytest.mark.parametrize("spoil", [merged, doubled])
def test_a_window_with_the_wrong_number_of_separators_is_decoded_again_alone(strategy, spoil) -> None:
    translated = translate(WordTranslator(in_window=spoil, window_sentences=2), DOCUMENTS, strategy=strategy)
    assert texts(translated) == EXPECTED
    # Windows of two sentences: the last 3 and 2 of the documents; blocks of two: 2 and 1.
    assert total(translated).num_wrong_separators == {"current": 5, "document": 3}[strategy]
    assert total(translated).num_fallbacks == {"current": 5, "document": 6}[strategy]
    assert total(translated).num_cut == 0


@pytest.mark.parametrize("strategy", ["current", "prefix", "document"])
@pytest.mark.parametrize("spoil", [empty, endless])
def test_an_empty_or_endless_window_is_decoded_again_alone(strategy, spoil) -> None:
    translated = translate(WordTranslator(in_window=spoil, window_sentences=3), DOCUMENTS, strategy=strategy)
    assert texts(translated) == EXPECTED
    counts = total(translated)
    assert counts.num_fallbacks == {"current": 5, "prefix": 5, "document": 6}[strategy]
    assert (counts.num_empty_retries > 0) == (spoil is empty)
    assert (counts.num_endless > 0) == (spoil is endless)
    assert counts.problems() == []


def test_paragraph_and_sentence_separators_of_the_translation_count_alike() -> None:
    model = WordTranslator(window_sentences=4)
    model.tokenizer = word_tokenizer()
    own = model._said

    def with_paragraphs(*row):
        return [5 if token_id == SEP else token_id for token_id in own(*row)]

    model._said = with_paragraphs
    translated = translate(model, DOCUMENTS, strategy="document")
    assert texts(translated) == EXPECTED
    assert total(translated).num_fallbacks == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_empty_translation_is_tried_again_with_the_end_forbidden(strategy) -> None:
    translated = translate(WordTranslator(alone=empty), [SourceDocument([["a."]])], strategy=strategy)
    assert texts(translated) == [[["X"]]]
    assert total(translated) == DecodingStatistics(num_sentences=1, num_windows=2, num_fallbacks=1, num_empty_retries=1)


def test_a_sentence_that_stays_empty_is_copied_counted_and_said() -> None:
    model = WordTranslator(alone=empty, forced_word="<unk>")
    translated = translate(model, [SourceDocument([["a.", "b."]])])
    assert texts(translated) == [[["a.", "b."]]]
    assert total(translated).num_empty == total(translated).num_copied == 2
    assert total(translated).problems() == [
        "2 of 2 sentences left in the source language: the model gave nothing, twice"
    ]


def test_a_loop_stops_at_twice_the_source_length_plus_ten_and_is_counted() -> None:
    # "a ." and its end are 3 tokens: 16 new ones; a longer sentence in the same batch changes nothing about that.
    model = WordTranslator(alone=endless)
    translated = translate(model, [SourceDocument([["a.", "b c d e."]])])
    assert [len(text.split()) for text in translated[0].paragraphs[0]] == [16, 22]
    assert total(translated).num_cut == 2
    assert total(translated).problems() == [
        "2 of 2 sentences with a translation that was cut at the length limit, 2 of them in a repetition loop"
    ]


def test_translations_are_not_longer_than_the_model_can_write() -> None:
    translated = translate(WordTranslator(alone=endless, max_target_tokens=7), [SourceDocument([["a."]])])
    assert texts(translated) == [[["Y Y Y Y Y Y Y"]]]


@pytest.mark.parametrize("option", [{"max_new_tokens": 5}, {"max_length": 6}])
def test_the_callers_length_limit_wins(option) -> None:
    translated = translate(WordTranslator(alone=endless), [SourceDocument([["a."]])], generate_kwargs=option)
    assert texts(translated) == [[["Y Y Y Y Y"]]]


def test_the_models_own_generation_config_is_put_back() -> None:
    model = WordTranslator(window_sentences=2)
    model.train()
    before = model.generation_config
    translate(model, DOCUMENTS)
    assert model.generation_config is before
    assert before.max_length == 20
    assert model.training


def test_empty_sentences_come_back_without_the_model_and_leave_no_trace_in_windows() -> None:
    model = WordTranslator(window_sentences=4)
    document = SourceDocument([["a.", ""], ["  ", "b."], []])
    assert texts(translate(model, [document], strategy="current")) == [[["A .", ""], ["  ", "B ."], []]]
    assert sorted(model.windows) == ["a . </s>", "a . <par> b . </s>"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_to_translate_runs_no_model(strategy) -> None:
    model = WordTranslator(window_sentences=2)
    assert texts(translate(model, [SourceDocument([]), SourceDocument([[" "]])], strategy=strategy)) == [[], [[" "]]]
    assert texts(translate(model, [], strategy=strategy)) == []
    assert model.windows == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_user_text_that_looks_like_a_separator_is_text(strategy) -> None:
    model = WordTranslator(window_sentences=2)
    translated = translate(model, [SourceDocument([["a <sep> b.", "c."]])], strategy=strategy)
    assert texts(translated) == [[["A <sep> B .", "C ."]]]
    assert total(translated).num_fallbacks == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("window_sentences", [0, 1, 3])
def test_a_sentence_longer_than_the_limit_is_translated_in_pieces(strategy, window_sentences) -> None:
    model = WordTranslator(window_sentences=window_sentences, max_source_tokens=9, max_target_tokens=None)
    long = "a b c d, e f g h, i j k l, m n o p"
    translated = translate(model, [SourceDocument([["x.", long, "y."]])], strategy=strategy)
    assert texts(translated) == [[["X .", long.upper().replace(",", " ,"), "Y ."]]]
    assert total(translated).num_split == 1
    assert max(max(batch) for batch in model.batches) <= 9
    assert "1 of 3 sentences translated in pieces" in total(translated).problems()[0]


def test_pieces_are_cut_between_clauses_near_the_middle() -> None:
    def count(text: str) -> int:
        return len(text.split())

    assert split_long_sentence("a b c, d e f", count, 6) == ["a b c, d e f"]
    assert split_long_sentence("a b c, d e f", count, 5) == ["a b c,", "d e f"]
    assert split_long_sentence("a, b c d e f g h i", count, 5) == ["a, b c d", "e f g h i"]


def test_a_text_without_any_break_is_cut_all_the_same_and_loses_nothing() -> None:
    pieces = split_long_sentence("x" * 100, len, 7)
    assert "".join(pieces) == "x" * 100
    assert all(0 < len(piece) <= 7 for piece in pieces)
    assert split_long_sentence("x", lambda text: 50, 7) == ["x"]


@pytest.mark.parametrize("strategy", ["current", "document", "prefix"])
def test_context_is_read_but_not_translated(strategy) -> None:
    model = WordTranslator(window_sentences=3)
    document = SourceDocument([["c."]], context=[["x."], ["a.", "b."]])
    assert texts(translate(model, [document], strategy=strategy)) == [[["C ."]]]
    # No more context than the window holds, and the paragraph that it ends is over.
    assert model.windows[-1] == "a . <sep> b . <par> c . </s>"
    assert model.prefixes[-1] == ("A . <sep> B . <par>" if strategy == "prefix" else "")


def test_a_known_translation_of_the_context_is_the_prefix() -> None:
    model = WordTranslator(window_sentences=3)
    document = SourceDocument([["c."]], [["x.", "a.", "b."]], ["Q", "R", "S"])
    assert texts(translate(model, [document], strategy="prefix")) == [[["C ."]]]
    assert model.windows == ["a . <sep> b . <par> c . </s>"]
    assert model.prefixes == ["R <sep> S <par>"]


def test_context_and_its_translation_must_match() -> None:
    with pytest.raises(ValueError, match="2 context sentences but 1 in context_translation"):
        SourceDocument([["c."]], [["a.", "b."]], ["A"])


def test_batches_hold_windows_of_similar_length_longest_first() -> None:
    model = WordTranslator()
    translate(model, [SourceDocument([["a.", "a b c.", "a b.", "a b c d."]])], batch_size=2)
    assert model.batches == [[6, 5], [4, 3]]


def test_batches_respect_the_token_limit_with_padding() -> None:
    model = WordTranslator()
    translate(model, [SourceDocument([["a.", "a b c.", "a b.", "a b c d."]])], max_batch_tokens=10)
    # 2 x 6 would be 12 tokens; 2 x 5 are 10.
    assert model.batches == [[6], [5, 4], [3]]


def test_progress_counts_every_sentence_once() -> None:
    for strategy in STRATEGIES:
        counts: list[int] = []
        model = WordTranslator(in_window=merged, window_sentences=2, max_source_tokens=5)
        documents = [*DOCUMENTS, SourceDocument([["a b c d e f."]], context=[["x."]])]
        translate(model, documents, strategy=strategy, on_progress=counts.append)
        assert sum(counts) == 9, strategy


def test_progress_of_a_long_window_is_told_while_it_is_written() -> None:
    counts: list[int] = []
    translate(WordTranslator(window_sentences=0), DOCUMENTS[:1], on_progress=counts.append)
    assert counts == [1, 1, 1, 1]


def test_progress_of_a_window_with_context_counts_what_is_wanted_only() -> None:
    counts: list[int] = []
    document = SourceDocument([["c.", "d e."]], context=[["a.", "b."]])
    translate(WordTranslator(window_sentences=0), [document], on_progress=counts.append)
    assert counts == [1, 1]


def test_progress_of_a_window_that_is_thrown_away_is_taken_back() -> None:
    counts: list[int] = []
    translate(WordTranslator(in_window=doubled, window_sentences=0), DOCUMENTS[:1], on_progress=counts.append)
    # Four sentences are written, a fifth is too many; then each is translated alone.
    assert counts == [1, 1, 1, 1, -4, 1, 1, 1, 1]


def test_a_window_that_goes_on_for_ever_is_ended_at_what_a_sentence_can_have() -> None:
    model = WordTranslator(in_window=endless, window_sentences=0, max_target_tokens=500)
    translated = translate(model, DOCUMENTS[:1])
    assert texts(translated) == EXPECTED[:1]
    assert (total(translated).num_endless, total(translated).num_fallbacks) == (1, 4)
    # The longest source sentence, "f g h . </s>", has five tokens.
    assert len(model.outputs[0]) == 2 * 5 + 10 + 1


def test_wrong_options_are_named() -> None:
    model = WordTranslator()
    with pytest.raises(ValueError, match="one of sentence, current, prefix, document; got 'beam'"):
        DocumentTranslator(model, model.tokenizer, strategy="beam")
    with pytest.raises(ValueError, match="window_sentences must not be negative, got -1"):
        DocumentTranslator(model, model.tokenizer, window_sentences=-1)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        DocumentTranslator(model, model.tokenizer, batch_size=0)
    with pytest.raises(ValueError, match=r"num_return_sequences must be 1.*got 3"):
        DocumentTranslator(model, model.tokenizer, generate_kwargs={"num_return_sequences": 3})


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize(
    "name", ["batch_size", "max_batch_tokens", "max_source_tokens", "max_target_tokens", "num_beams", "max_new_tokens"]
)
def test_numbers_that_are_none_are_no_defaults(name, value) -> None:
    model = WordTranslator()
    is_own = name not in ("num_beams", "max_new_tokens")
    options = {name: value} if is_own else {"generate_kwargs": {name: value}}
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got {value}"):
        DocumentTranslator(model, model.tokenizer, **options)


@pytest.mark.parametrize(
    ("window_sentences", "strategy"), [(1, "sentence"), (0, "document"), (2, "current"), (4, "current")]
)
def test_the_default_strategy_suits_the_windows(window_sentences, strategy) -> None:
    model = WordTranslator(window_sentences=window_sentences)
    assert DocumentTranslator(model, model.tokenizer).strategy == strategy


def test_a_tokenizer_without_separators_translates_single_sentences_only() -> None:
    tokenizer = word_tokenizer()
    plain = TokenizersBackend(
        tokenizer_object=tokenizer.backend_tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    model = WordTranslator(window_sentences=4)
    assert DocumentTranslator(model, plain).strategy == "sentence"
    with pytest.raises(ValueError, match="'prefix' needs a tokenizer with a sep_token and a par_token"):
        DocumentTranslator(model, plain, strategy="prefix")


def test_another_model_family_translates_sentences() -> None:
    tokenizer = word_tokenizer()
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
        max_position_embeddings=32,
    )
    torch.manual_seed(0)
    model = MarianMTModel(config)
    translated = DocumentTranslator(model, tokenizer).translate(DOCUMENTS)
    assert [[len(paragraph) for paragraph in document.paragraphs] for document in translated] == [[2, 2], [1], [3]]


def test_sentences_are_joined_as_the_language_writes_them() -> None:
    assert sentence_joiner("fr") == sentence_joiner(None) == " "
    assert sentence_joiner("zh-CN") == sentence_joiner("ja") == ""


@pytest.fixture(scope="module")
def small_model() -> HierNMTForConditionalGeneration:
    tokenizer = word_tokenizer()
    torch.manual_seed(3)
    config = HierNMTConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        init_std=0.6,
        window_sentences=3,
        position_encoding="segment_shifted",
        segment_shift=5,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        sep_token_id=4,
        par_token_id=5,
    )
    return HierNMTForConditionalGeneration(config).eval()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("num_beams", [1, 3])
def test_a_translation_does_not_depend_on_the_batch(small_model, strategy, num_beams) -> None:
    options = {"tokenizer": word_tokenizer(), "strategy": strategy, "generate_kwargs": {"num_beams": num_beams}}
    together = translate(small_model, DOCUMENTS, batch_size=50, **options)
    alone = [translate(small_model, [document], batch_size=1, **options)[0] for document in DOCUMENTS]
    assert texts(together) == texts(alone)
    assert [document.statistics for document in together] == [document.statistics for document in alone]


def test_the_real_model_never_writes_special_tokens(small_model) -> None:
    translated = translate(small_model, DOCUMENTS, tokenizer=word_tokenizer(), strategy="sentence")
    assert not any(token in str(texts(translated)) for token in ("<pad>", "<s>", "<unk>", "<sep>", "<par>"))


def test_generate_options_and_the_models_generation_config_reach_generate(small_model) -> None:
    seen: list[GenerationConfig] = []
    own = small_model.generate
    small_model.generate = lambda **kwargs: (seen.append(kwargs["generation_config"]), own(**kwargs))[1]
    before = small_model.generation_config.length_penalty
    small_model.generation_config.length_penalty = 0.7
    try:
        options = {"num_beams": 2, "early_stopping": True, "suppress_tokens": [9]}
        translate(small_model, DOCUMENTS[1:2], tokenizer=word_tokenizer(), generate_kwargs=options)
    finally:
        del small_model.generate
        small_model.generation_config.length_penalty = before
    assert (seen[0].num_beams, seen[0].early_stopping, seen[0].length_penalty) == (2, True, 0.7)
    # The caller's, then <pad>, <s> and <unk>, and separators for a sentence alone.
    assert seen[0].suppress_tokens == [9, 0, 1, 3, 4, 5]
    assert seen[0].max_new_tokens == 2 * 3 + 10


# Learned positions


def whole_document_model(**changes) -> HierNMTForConditionalGeneration:
    """A model of whole documents with random weights, whose positions end at 6 sentences of 12 tokens."""
    values = {"vocab_size": len(word_tokenizer()), "init_std": 0.6, "window_sentences": 0}
    values |= {"position_encoding": "multi_level", "token_position_origin": "sentence", **HIERARCHICAL}
    values |= {"max_position_embeddings": 12, "max_sentence_positions": 6, "max_paragraph_positions": 4}
    return tiny_model(**{**values, "max_source_tokens": 4096, "max_target_tokens": 4096, **changes})


def numbered(num_paragraphs: int, num_sentences: int) -> SourceDocument:
    return SourceDocument([["a b c.", "d e f g."][: num_sentences // num_paragraphs]] * num_paragraphs)


@pytest.mark.parametrize(
    ("strategy", "num_beams"), [("document", 1), ("document", 3), ("current", 1), ("current", 3), ("prefix", 1)]
)
def test_a_decoder_is_kept_within_its_learned_positions(strategy, num_beams) -> None:
    # What a model with random weights writes has no sense of an end.
    model = whole_document_model()
    documents = [numbered(3, 6), numbered(1, 1), SourceDocument([["a " * 9 + ".", "b " * 8]])]
    options = {"tokenizer": word_tokenizer(), "strategy": strategy, "generate_kwargs": {"num_beams": num_beams}}
    translated = translate(model, documents, **options)
    assert [list(map(len, paragraphs)) for paragraphs in texts(translated)] == [[2, 2, 2], [1], [2]]


@pytest.mark.parametrize("strategy", ["document", "current", "prefix"])
@pytest.mark.parametrize(
    ("document", "message"),
    [
        (SourceDocument([["a."] * 7]), "a window of 7 sentences is beyond .* sentence positions, which are 6"),
        (SourceDocument([["a."]] * 5), "a window of 5 paragraphs is beyond .* paragraph positions, which are 4"),
    ],
)
def test_more_sentences_than_learned_positions_are_an_error_before_anything_is_decoded(
    strategy, document, message, monkeypatch
) -> None:
    model = whole_document_model()
    monkeypatch.setattr(model, "generate", lambda **kwargs: pytest.fail("something was decoded"))
    with pytest.raises(ValueError, match=f"{message}.*window_sentences, or set sentence_position_clamp"):
        translate(model, [numbered(1, 1), document], tokenizer=word_tokenizer(), strategy=strategy)


@pytest.mark.parametrize("options", [{"window_sentences": 3}, {"strategy": "sentence"}, {"max_source_tokens": 12}])
def test_shorter_windows_stay_within_learned_positions(options) -> None:
    document = SourceDocument([["a b."] * 9])
    translated = translate(whole_document_model(), [document], tokenizer=word_tokenizer(), **options)
    assert len(texts(translated)[0][0]) == 9


def test_sentences_beyond_the_learned_positions_are_translated_where_they_share_the_last() -> None:
    model = whole_document_model(sentence_position_clamp=True)
    translated = translate(model, [SourceDocument([["a b."] * 9] * 5)], tokenizer=word_tokenizer())
    assert list(map(len, texts(translated)[0])) == [9] * 5


def test_a_sentence_with_more_tokens_than_learned_positions_is_translated_in_pieces() -> None:
    document = SourceDocument([["a b.", "a, b " * 8, "c."]], context=[["d " * 13]])
    for strategy, num_split in (("document", 1), ("current", 1), ("prefix", 2)):
        options = {"tokenizer": word_tokenizer(), "strategy": strategy, "window_sentences": 3}
        translated = translate(whole_document_model(), [document], **options)
        assert list(map(len, texts(translated)[0])) == [3]
        assert total(translated).num_split == num_split
