# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers: fixed ids, exact decoding, and no special token out of user text."""

import pytest
from transformers import AutoTokenizer, TokenizersBackend

from hier_nmt.data.plain_typography import plain_text
from hier_nmt.data.tokenization import (
    BYTE_TOKENS,
    SPECIAL_TOKENS,
    encode_sentences,
    load_tokenizers,
    save_tokenizers,
    train_tokenizer,
)

TEXTS = [
    "The world, in order, of the day.",
    "L'ordre du jour de l'ordre du monde.",
    "Don't say that the world isn't in order (1999).",
    "Ils n'ont pas dit « bonjour » au monde, d'accord ?",
] * 5
SPECIAL_IDS = set(range(len(SPECIAL_TOKENS)))
FIRST_LEARNED_ID = len(SPECIAL_TOKENS) + 256


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request, tmp_path_factory):
    """A trained tokenizer that was saved and loaded again without any code of ours."""
    directory = tmp_path_factory.mktemp("tokenizer")
    train_tokenizer(TEXTS, 400, model=request.param).save_pretrained(directory)
    return AutoTokenizer.from_pretrained(directory)


@pytest.fixture(scope="module")
def bpe():
    return train_tokenizer(TEXTS, 400)


def test_loads_as_a_plain_fast_tokenizer_with_fixed_special_ids(tokenizer):
    assert type(tokenizer) is TokenizersBackend
    names = ["pad", "bos", "eos", "unk", "sep", "par"]
    assert [getattr(tokenizer, f"{name}_token_id") for name in names] == [0, 1, 2, 3, 4, 5]
    assert tokenizer.convert_ids_to_tokens(range(6)) == ["<pad>", "<s>", "</s>", "<unk>", "<sep>", "<par>"]


def test_all_bytes_are_in_the_vocabulary_and_within_its_size(tokenizer):
    assert tokenizer.convert_ids_to_tokens(range(6, FIRST_LEARNED_ID)) == BYTE_TOKENS
    assert len(tokenizer) <= 400


@pytest.mark.parametrize(
    "text",
    [
        "The world, in order.",
        "L'ordre du jour",
        "",
        " ",
        " leading and trailing ",
        "two  and   three spaces",
        "tab\tand\nnewline\r\n",
        "emoji 😀, 日本語, Ελληνικά",
        "the space mark \u2581 of the tokenizer, \u2581twice",
        "no-break\u00a0: and \u202f; and \u2028",
        "<0x41> is no byte",
        "<sep> and </s> or <s><par> or<pad><unk>",
    ],
)
def test_decoding_gives_the_text_back(tokenizer, text):
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


@pytest.mark.parametrize("special", SPECIAL_TOKENS.values())
def test_special_tokens_in_user_text_are_ordinary_text(tokenizer, special):
    texts = [special, f"a{special}b", f"the {special} world"]
    for ids in [*tokenizer(texts)["input_ids"], *encode_sentences(tokenizer, texts), tokenizer.encode(special)]:
        assert not SPECIAL_IDS & set(ids)


def test_no_special_token_is_added_by_itself(tokenizer):
    assert tokenizer("world")["input_ids"] == tokenizer("world", add_special_tokens=False)["input_ids"]
    assert encode_sentences(tokenizer, []) == []
    assert encode_sentences(tokenizer, ["", "world"]) == [[], tokenizer("world")["input_ids"]]


def pieces(tokenizer, text: str) -> list[list[str]]:
    """The pieces before the model; no token crosses their boundaries."""
    backend = tokenizer.backend_tokenizer
    return [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("world, isn't", ["▁world", ",", "▁isn", "'t"]),
        ("l'ordre d’accord", ["▁l'", "ordre", "▁d’", "accord"]),
        ("aujourd'hui", ["▁aujourd", "'", "hui"]),
        ("dit « oui »", ["▁dit", "▁«", "▁oui", "▁»"]),
        ("a  b", ["▁a", "▁", "▁b"]),
        ("(1999)...", ["▁(", "1999", ")", ".", ".", "."]),
        ("<sep>", ["▁<", "sep", ">"]),
    ],
)
def test_punctuation_is_a_piece_of_its_own(bpe, text, expected):
    assert pieces(bpe, text) == expected


def test_digits_are_single_tokens_on_request():
    assert pieces(train_tokenizer(TEXTS, 400, split_digits=True), "in 1999") == ["▁in", "▁1", "9", "9", "9"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("L’ordre ‘du’ jour", "L'ordre 'du' jour"),
        ("« Bonjour » dit-il, «\u202fmonde\u00a0»", '"Bonjour" dit-il, "monde"'),
        ("He said “in order” and „monde‟", 'He said "in order" and "monde"'),
        ("1\u202f250\u00a0km…", "1 250 km..."),
        ("zero\u200bwidth so\u00adft", "zerowidth soft"),
        ("e\u0301te\u0301", "été"),
        ("a - b – c — d \"x\" 'y'", "a - b – c — d \"x\" 'y'"),
    ],
)
@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_typography_is_made_plain_on_request(model, text, plain):
    tokenizer = train_tokenizer(TEXTS, 400, model=model, plain_typography=True)
    assert tokenizer.decode(encode_sentences(tokenizer, [text])[0]) == plain == plain_text(text)
    as_it_is = train_tokenizer(TEXTS, 400, model=model)
    assert as_it_is.decode(encode_sentences(as_it_is, [text])[0]) == text


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_reserved_tokens_have_ids_after_the_bytes_and_no_text_contains_them(model, tmp_path):
    train_tokenizer(TEXTS, 400, model=model, reserved_tokens=["<gloss>", "</gloss>"]).save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    ids = [FIRST_LEARNED_ID, FIRST_LEARNED_ID + 1]
    assert tokenizer.convert_tokens_to_ids(["<gloss>", "</gloss>"]) == ids
    assert len(tokenizer) <= 400
    text = "the <gloss> world </gloss>"
    encoded = encode_sentences(tokenizer, [text])[0]
    assert not set(ids) & set(encoded)
    assert tokenizer.decode(encoded) == text
    assert tokenizer.decode([*ids, *encoded], skip_special_tokens=True) == text


@pytest.mark.parametrize("option", [{"plain_typography": True}, {"reserved_tokens": ["<x>"]}])
def test_options_of_pieces_are_not_for_words(option):
    with pytest.raises(ValueError, match="not for the model 'word'"):
        train_tokenizer(TEXTS, 400, model="word", **option)


def test_without_byte_fallback_unseen_characters_are_unknown():
    tokenizer = train_tokenizer(TEXTS, 60, byte_fallback=False)
    assert tokenizer.convert_tokens_to_ids("<0x41>") == tokenizer.unk_token_id
    assert tokenizer.unk_token_id in tokenizer("日本")["input_ids"]
    assert tokenizer.decode(tokenizer("the world")["input_ids"]) == "the world"


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_training_reads_a_stream_and_is_reproducible(model):
    first, second = (train_tokenizer(iter(TEXTS), 350, model=model) for _ in range(2))
    assert first.backend_tokenizer.to_str() == second.backend_tokenizer.to_str()


def test_vocabulary_without_room_for_the_bytes_is_refused():
    with pytest.raises(ValueError, match="more than the 262 special and byte tokens, got 262"):
        train_tokenizer(TEXTS, 262)


def test_unknown_model_is_named():
    with pytest.raises(ValueError, match="'wordpiece'"):
        train_tokenizer(TEXTS, 400, model="wordpiece")


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_training_without_text_is_refused(texts):
    with pytest.raises(ValueError, match="no text"):
        train_tokenizer(texts, 400)


def test_joint_tokenizer_is_loaded_once(tmp_path, bpe):
    save_tokenizers(tmp_path, bpe)
    source, target = load_tokenizers(tmp_path)
    assert source is target


def test_tokenizers_per_language_lie_in_one_directory(tmp_path, bpe):
    save_tokenizers(tmp_path, bpe, train_tokenizer(TEXTS, 300))
    source, target = load_tokenizers(tmp_path)
    assert (len(source), len(target)) == (len(bpe), 300)
    assert source.par_token_id == target.par_token_id == 5


def test_directory_without_tokenizer_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"no tokenizer in {tmp_path}"):
        load_tokenizers(tmp_path)


# Tokenizers of words

WORD_TEXTS = ["In 2008, 12 men didn't say « peut-être » (or 3.5).", "L'ordre du 21 mai: don't!", "e\u0301te\u0301"]


def word_tokens(text: str, **options) -> list[str]:
    tokenizer = train_tokenizer(WORD_TEXTS, 200, model="word", min_frequency=1, **options)
    return tokenizer.convert_ids_to_tokens(encode_sentences(tokenizer, [text])[0])


def test_words_are_whole_and_numbers_too_unless_digits_are_split():
    words = ["In", "2008", ",", "12", "men", "didn", "'t", "say", "«", "peut-être", "»", "(", "or", "3.5", ")", "."]
    assert word_tokens(WORD_TEXTS[0]) == words
    split = [part for word in words for part in (word if word[0].isdigit() else [word])]
    assert word_tokens(WORD_TEXTS[0], split_digits=True) == split
    assert word_tokens("L'ordre don't")[:4] == ["L'", "ordre", "don", "'t"]
    assert word_tokens("e\u0301te\u0301") == ["e\u0301te\u0301"]


@pytest.mark.parametrize("split_digits", [False, True])
@pytest.mark.parametrize(
    "text", ["In 2008, 12 men didn't say.", "L'ordre du 21 mai: don't!", "men (or mai).", "peut-être « ordre »", ""]
)
def test_decoded_words_have_spaces_where_text_has_them(text, split_digits):
    tokenizer = train_tokenizer(WORD_TEXTS, 200, model="word", min_frequency=1, split_digits=split_digits)
    decoded = tokenizer.decode(encode_sentences(tokenizer, [text])[0])
    if split_digits:  # the text between digits is unknown
        decoded, text = decoded.replace("2008, 12", "2008,12"), text.replace("2008, 12", "2008,12")
    assert decoded == text


def test_words_that_are_rare_or_without_a_vector_are_unknown():
    texts = ["red house", "red tree", "red tree"]
    assert len(train_tokenizer(texts, 200, model="word", min_frequency=2)) == len(SPECIAL_TOKENS) + 2
    tokenizer = train_tokenizer(texts, 200, model="word", min_frequency=1, known_words={"house", "tree", "sky"})
    unknown = tokenizer.unk_token_id
    assert [i == unknown for i in encode_sentences(tokenizer, ["red house tree sky"])[0]] == [True, False, False, True]
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == [*SPECIAL_TOKENS.values(), "tree", "house"]
    assert len(train_tokenizer(texts, len(SPECIAL_TOKENS) + 1, model="word")) == len(SPECIAL_TOKENS) + 1


def test_a_tokenizer_of_words_loads_without_our_code(tmp_path):
    tokenizer = train_tokenizer(WORD_TEXTS, 200, model="word", min_frequency=1)
    save_tokenizers(tmp_path, tokenizer)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert type(loaded) is TokenizersBackend
    assert encode_sentences(loaded, WORD_TEXTS) == encode_sentences(tokenizer, WORD_TEXTS)


def test_known_words_are_for_words_only():
    with pytest.raises(ValueError, match="known_words are for the model 'word', not 'bpe'"):
        train_tokenizer(TEXTS, 400, known_words={"world"})
