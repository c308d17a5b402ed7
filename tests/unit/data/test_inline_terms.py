# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.data.augmentation import Augmentation, PairAugmenter
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.inline_terms import InlineTerms, encode_with_terms
from hier_nmt.data.tokenization import encode_sentences, train_tokenizer
from hier_nmt.text.inline_terms import without_terms


@pytest.fixture
def glossary_file(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("Board\tconseil\treg/1\nboard\ttableau\nBoard of Directors\tconseil d'administration\n\n")
    return path


@pytest.fixture(scope="module")
def tokenizer():
    texts = ["The Board meets. le conseil se réunit", "the board of directors"] * 3
    return train_tokenizer(texts, 320, reserved_tokens=["<gloss>", "</gloss>"])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("The board, which meets", "Le conseil, qui", "The board \ufdd1conseil\ufdd2, which meets"),
        ("A board", "Un tableau", "A board \ufdd1tableau\ufdd2"),
        # The longest term with this translation; a part of a word is not a term.
        (
            "The Board of Directors",
            "Le Conseil d'administration",
            "The Board of Directors \ufdd1conseil d'administration\ufdd2",
        ),
        ("The board of directors", "Le conseil", "The board \ufdd1conseil\ufdd2 of directors"),
        ("The boards", "Le conseil", None),
        ("The board", "Les conseillers", None),
    ],
)
def test_a_term_is_followed_by_its_translation(glossary_file, source, target, expected):
    assert InlineTerms(glossary_file).marked(source, target) == expected
    if expected:
        assert without_terms(expected) == source


@pytest.mark.parametrize(
    ("text", "message"),
    [("a b\n", "terms.tsv:1: no tab"), ("\n", "no terms"), ("a\t\n", "terms.tsv:1: no translation")],
)
def test_a_broken_glossary_is_named(tmp_path, text, message):
    path = tmp_path / "terms.tsv"
    path.write_text(text)
    with pytest.raises(CorpusError, match=message):
        InlineTerms(path)


def test_marks_become_the_reserved_tokens_and_all_else_stays_as_it_is(tokenizer):
    open_id, close_id = tokenizer.convert_tokens_to_ids(["<gloss>", "</gloss>"])
    assert tokenizer.unk_token_id not in (open_id, close_id)
    (term, translation, rest, plain) = encode_sentences(
        tokenizer, ["The board", "conseil", "meets", "Le <gloss> conseil"]
    )
    sentences = ["The board \ufdd1conseil\ufdd2 meets", "Le <gloss> conseil", "The board \ufdd1conseil\ufdd2"]
    assert encode_with_terms(tokenizer, sentences) == [
        [*term, open_id, *translation, close_id, *rest],
        plain,
        [*term, open_id, *translation, close_id],
    ]
    assert open_id not in plain
    assert encode_with_terms(tokenizer, []) == []


def test_a_tokenizer_without_the_tokens_is_an_error():
    tokenizer = train_tokenizer(["a b c"], 270)
    with pytest.raises(ValueError, match=r"no token <gloss>: set tokenizer\.reserved_tokens"):
        encode_with_terms(tokenizer, ["a \ufdd1b\ufdd2"])


def test_the_share_of_sentences_with_terms_is_the_one_asked_for(glossary_file):
    pairs = tuple(SentencePair(f"Board {number}", f"conseil {number}") for number in range(2000))
    document = ParallelDocument("d", (pairs,))
    changed = PairAugmenter(Augmentation(glossary=str(glossary_file), glossary_share=0.25)).augmented(document)
    num_marked = sum("\ufdd1" in pair.source for pair in changed.paragraphs[0])
    # Six standard deviations of a binomial distribution.
    assert abs(num_marked - 500) < 6 * (2000 * 0.25 * 0.75) ** 0.5
    assert changed.target_sentences == document.target_sentences
