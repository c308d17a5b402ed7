# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Word vectors are read from files of fastText unchanged, and malformed files are refused by line."""

import numpy as np
import pytest

from hier_nmt.data.tokenization import train_tokenizer
from hier_nmt.data.word_vectors import WordVectorError, read_vectors, token_vectors, words_with_vectors

LINES = ["4 2", "the 0.5 -1.25 ", "house 3 4", "\u00a0 1 1", "2 0 2e-1"]


@pytest.fixture
def vec_file(tmp_path):
    """Writes a .vec file of the given lines."""

    def write(lines: list[str] = LINES):
        path = tmp_path / "words.vec"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def test_the_vectors_of_the_words_asked_for_are_read(vec_file):
    found = read_vectors(vec_file(), ["the", "2", "nowhere", "\u00a0"])
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "the": [0.5, -1.25],
        "2": [0.0, float(np.float32(0.2))],
        "\u00a0": [1.0, 1.0],
    }
    assert all(vector.dtype == np.float32 for vector in found.values())


def test_the_words_of_a_file_are_known_without_its_vectors(vec_file):
    words = words_with_vectors(vec_file())
    assert all(word in words for word in ("the", "house", "\u00a0", "2"))
    assert "nowhere" not in words


def test_of_a_duplicate_word_the_first_counts(vec_file):
    assert read_vectors(vec_file(["2 1", "a 1", "a 2"]), ["a"])["a"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["the 0.5 1"], r"words.vec:1: expected the number of words and the width, found 'the 0.5 1'"),
        (["2 0", "a"], r"words.vec:1: expected the number"),
        (["1 2", "the 1"], r"words.vec:2: 'the' has 1 numbers, not 2"),
        (["1 2", "the 1 x"], r"words.vec:2: the vector of 'the': could not convert"),
        (["1 2", "the 1 nan"], r"words.vec:2: the vector of 'the' is not finite"),
        (["1 2", "the"], r"words.vec:2: expected a word and its vector, found 'the"),
    ],
)
def test_a_broken_file_is_refused_by_line(vec_file, lines, message):
    with pytest.raises(WordVectorError, match=message):
        read_vectors(vec_file(lines), ["the"])


def test_other_files_are_refused(tmp_path):
    with pytest.raises(WordVectorError, match=r"words.txt should end in .vec or .bin"):
        words_with_vectors(tmp_path / "words.txt")


def test_a_vocabulary_gets_its_vectors_by_id_and_random_ones_of_the_mean_norm_for_the_rest(vec_file, caplog):
    tokenizer = train_tokenizer(["the house the tree"], 20, model="word", min_frequency=1)
    vectors = token_vectors(vec_file(), tokenizer)
    assert vectors.shape == (len(tokenizer), 2)
    assert vectors.dtype == np.float32
    ids = tokenizer.get_vocab()
    assert vectors[ids["the"]].tolist() == [0.5, -1.25]
    assert vectors[ids["house"]].tolist() == [3.0, 4.0]
    mean_length = (np.hypot(0.5, 1.25) + 5) / 2
    others = [ids[token] for token in ("<pad>", "<s>", "</s>", "<unk>", "<sep>", "<par>", "tree")]
    np.testing.assert_allclose(np.linalg.norm(vectors[others], axis=1), mean_length, rtol=1e-6)
    assert len({tuple(row) for row in vectors.tolist()}) == len(vectors)
    assert "no vector of 1 words, 'tree' first" in caplog.text
    assert np.array_equal(vectors, token_vectors(vec_file(), tokenizer))
    assert not np.array_equal(vectors, token_vectors(vec_file(), tokenizer, seed=1))


def test_a_file_of_other_words_is_refused(vec_file):
    tokenizer = train_tokenizer(["quite other words"], 20, model="word", min_frequency=1)
    with pytest.raises(WordVectorError, match="has a vector of none of the 9 words"):
        token_vectors(vec_file(), tokenizer)


def test_fasttext_models_give_a_vector_of_any_word(tmp_path):
    gensim_models = pytest.importorskip("gensim.models", reason="needs gensim")
    gensim_fasttext = pytest.importorskip("gensim.models.fasttext", reason="needs gensim")
    sentences = [["the", "house"], ["the", "tree", "stands"]] * 5
    model = gensim_models.FastText(sentences, vector_size=4, min_count=1, epochs=1, workers=1, seed=1, bucket=100)
    path = tmp_path / "words.bin"
    gensim_fasttext.save_facebook_model(model, str(path))
    found = read_vectors(path, ["tree", "trees"])
    np.testing.assert_allclose(found["tree"], model.wv["tree"], rtol=1e-5)
    np.testing.assert_allclose(found["trees"], model.wv["trees"], rtol=1e-5)
    assert "anything" in words_with_vectors(path)
    model.wv.save_word2vec_format(str(tmp_path / "words.vec"))
    np.testing.assert_allclose(read_vectors(tmp_path / "words.vec", ["tree"])["tree"], model.wv["tree"], rtol=1e-5)
    (tmp_path / "broken.bin").write_bytes(b"no model of any kind, but some bytes")
    with pytest.raises(WordVectorError, match="is not a fastText model"):
        read_vectors(tmp_path / "broken.bin", ["tree"])
