# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Frozen word vectors: the nearest word has the highest logit, the loss is the squared error, nothing moves them."""

import pytest
import torch
from tiny_han_models import VARIANTS, tiny_config, tiny_model
from tiny_models import BOS, EOS, NUM_TOKENS, PAD, source_inputs, window_inputs
from transformers import AutoModelForSeq2SeqLM

from hier_nmt import HANForConditionalGeneration
from hier_nmt.evaluation.nearest_words import NearestWords
from hier_nmt.models.han.word_vectors import mean_squared_error, minus_squared_distances

IGNORED = -100


def points_and_vectors() -> tuple[torch.Tensor, torch.Tensor]:
    """Predictions [2, 7, 3] and the vectors of eleven words [11, 3], in float64."""
    generator = torch.Generator().manual_seed(4)
    points = torch.randn(2, 7, 3, generator=generator, dtype=torch.float64)
    return points.requires_grad_(), torch.randn(11, 3, generator=generator, dtype=torch.float64)


def word_vector_model() -> HANForConditionalGeneration:
    return tiny_model(**VARIANTS["word_vectors"])


def frozen(model: HANForConditionalGeneration) -> dict[str, torch.Tensor]:
    """The word vectors at all places where they stand."""
    output, decoder = model.lm_head.weight, model.model.decoder.embed_tokens.weight
    return {"source": model.model.encoder.embed_tokens.weight, "target": decoder, "output": output}


def test_logits_are_minus_squared_distances():
    points, vectors = points_and_vectors()
    expected = torch.tensor([[[-sum((p - v) ** 2) for v in vectors] for p in row] for row in points.detach()])
    torch.testing.assert_close(minus_squared_distances(points, vectors), expected.double(), rtol=1e-6, atol=1e-6)
    by_hand = minus_squared_distances(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 2.0], [4.0, 6.0]]))
    assert by_hand.tolist() == [0.0, -25.0]


def test_half_precision_is_not_used_for_distances():
    points, vectors = points_and_vectors()
    halves = points.detach().bfloat16(), vectors.bfloat16()
    exact = minus_squared_distances(halves[0].double(), halves[1].double())
    with torch.autocast("cpu", torch.bfloat16):
        found = minus_squared_distances(*halves)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("num_items", [None, 20])
def test_the_loss_is_the_squared_error_of_the_elements_in_values_and_gradients(num_items):
    points, vectors = points_and_vectors()
    labels = torch.tensor([[3, 10, 0, IGNORED, 3, 7, IGNORED], [IGNORED] * 5 + [1, 2]])
    loss = mean_squared_error(minus_squared_distances(points, vectors), labels, 3, num_items)
    errors = [
        sum((point[i] - vectors[label][i]) ** 2 for i in range(3)) / 3
        for row, row_labels in zip(points, labels.tolist(), strict=True)
        for point, label in zip(row, row_labels, strict=True)
        if label != IGNORED
    ]
    expected = sum(errors) / (num_items or 7)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(*(torch.autograd.grad(value, points)[0] for value in (loss, expected)))


def test_the_model_returns_that_loss():
    model, inputs = word_vector_model(), window_inputs()
    output = model(**inputs)
    states = model.model(**{name: value for name, value in inputs.items() if name != "labels"}).last_hidden_state
    predicted, labels = model.lm_head.vectors(states), inputs["labels"]
    is_predicted = labels != IGNORED
    truth = model.lm_head.weight[labels[is_predicted]]
    torch.testing.assert_close(output.loss, torch.nn.functional.mse_loss(predicted[is_predicted], truth))


def test_training_and_loading_leave_the_vectors_as_they_are(tmp_path):
    model = word_vector_model()
    before = {name: weight.detach().clone() for name, weight in frozen(model).items()}
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    for trained in (model, loaded):
        assert not any(weight.requires_grad for weight in frozen(trained).values())
        assert trained.lm_head.weight is trained.model.decoder.embed_tokens.weight
        optimizer = torch.optim.AdamW(trained.parameters(), lr=0.1, weight_decay=0.5)
        projection = trained.lm_head.projection.weight.detach().clone()
        trained(**window_inputs()).loss.backward()
        optimizer.step()
        assert not torch.equal(trained.lm_head.projection.weight, projection)
        assert all(torch.equal(weight, before[name]) for name, weight in frozen(trained).items())


def test_a_k_d_tree_chooses_the_words_that_the_logits_choose():
    pytest.importorskip("scipy")
    points, vectors = points_and_vectors()
    expected = minus_squared_distances(points, vectors).argmax(-1)
    assert torch.equal(NearestWords(vectors).ids(points), expected)
    assert len(expected.unique()) > 3


def test_greedy_decoding_writes_the_words_that_a_k_d_tree_finds():
    pytest.importorskip("scipy")
    model = word_vector_model()
    tree = NearestWords(model.lm_head.weight)
    forbidden = [PAD, BOS, EOS]
    lengths = {"max_new_tokens": 8, "min_new_tokens": 8}
    generated = model.generate(**source_inputs(), **lengths, do_sample=False, suppress_tokens=forbidden)
    with torch.no_grad():
        inputs = {**source_inputs(), "decoder_input_ids": generated[:, :-1]}
        chosen = tree.ids(model.lm_head.vectors(model.model(**inputs).last_hidden_state))
    differs = generated[:, 1:] != chosen
    assert all(int(word) in forbidden for word in chosen[differs])
    assert (~differs).float().mean() > 0.5


def test_vectors_are_put_in_where_they_belong():
    model = word_vector_model()
    source, target = torch.randn(NUM_TOKENS, 5, dtype=torch.float64), torch.randn(28, 5, dtype=torch.float64)
    model.set_word_vectors(source, target)
    assert torch.equal(model.model.encoder.embed_tokens.weight, source)
    assert torch.equal(model.model.decoder.embed_tokens.weight, target)
    assert model.lm_head.weight is model.model.decoder.embed_tokens.weight


def test_what_cannot_be_put_in_is_named():
    source, target = torch.randn(NUM_TOKENS, 5), torch.randn(28, 5)
    with pytest.raises(ValueError, match=r"The target vectors must be \[28, 5\], got \[28, 4\]"):
        word_vector_model().set_word_vectors(source, target[:, :4])
    with pytest.raises(ValueError, match="word_vector_size=None"):
        tiny_model().set_word_vectors(source, target)
    with pytest.raises(ValueError, match="Word vectors cannot be resized"):
        word_vector_model().resize_token_embeddings(40)


def test_a_model_without_word_vectors_has_neither_projection():
    names = [name for name, _ in HANForConditionalGeneration(tiny_config()).named_parameters()]
    assert not any("embed_tokens.projection" in name or "lm_head.projection" in name for name in names)
