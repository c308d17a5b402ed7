# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch
from tiny_models import HIERARCHICAL, VARIANTS, tiny_model
from tiny_recurrent_models import VARIANTS as RECURRENT_VARIANTS
from tiny_recurrent_models import tiny_model as tiny_recurrent_model
from tokenizers.processors import TemplateProcessing
from word_translation import EOS, word_tokenizer

from hier_nmt.attention.sentence_encoder import source2token
from hier_nmt.inspection import attention_calls, attention_collector
from hier_nmt.inspection.attention_collection import record_attention
from hier_nmt.inspection.attention_collector import characters_of_bytes
from hier_nmt.ops.document_structure import sentence_ids_from_tokens
from hier_nmt.translation.translation_vocabulary import TranslationVocabulary

SOURCE = ["a b c", "d", "e f", "g h i", "j"]
TARGET = ["A B", "C D E", "F", "G H", "I J K"]
ENDS = [False, True, False, False, True]
VOCABULARY = TranslationVocabulary(word_tokenizer(), word_tokenizer())


def model_of(**changes):
    return tiny_model(vocab_size=len(word_tokenizer()), **changes)


def record(model, **options):
    options = {"window_sentences": 0, **options}
    return record_attention(model, VOCABULARY, SOURCE, TARGET, ENDS, **options)


def outputs(model, start=0, stop=None):
    """The attention of the window from a single pass of the model."""
    rows = []
    for side, sentences in enumerate((SOURCE, TARGET)):
        ids = VOCABULARY.encode(sentences[start:stop], target=side == 1)
        rows.append(torch.tensor([VOCABULARY.join(ids, ENDS[start:stop], side)]))
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return rows, model(
            input_ids=rows[0],
            labels=rows[1],
            output_attentions=True,
            output_selected_sentences=True,
            output_sentence_attentions=True,
            output_context_attentions=True,
        )


def stacked(layers):
    return torch.stack(layers)[:, 0].numpy()


def in_order_of_text(selected, scores):
    """The same choices, those that are none (-1) last."""
    selected, scores = selected.copy(), scores.copy()
    for place in np.ndindex(selected.shape[:3]):
        chosen = sorted((s, score) for s, score in zip(selected[place], scores[place], strict=True) if score > -np.inf)
        chosen += [(-1, -np.inf)] * (selected.shape[3] - len(chosen))
        selected[place], scores[place] = zip(*chosen, strict=True)
    return selected, scores


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_recorded_in_pieces_is_what_the_model_reads(variant, monkeypatch) -> None:
    monkeypatch.setattr(attention_calls, "WEIGHTS_PER_CHUNK", 200)
    model = model_of(**VARIANTS[variant])
    found = record(model)
    _, expected = outputs(model)
    for slot, name in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross")):
        weights = stacked(getattr(expected, f"{name}_attentions"))
        np.testing.assert_allclose(found.slots[slot].token_weights, weights, atol=1e-6)
        selected = getattr(expected, f"{name}_selected_sentences")
        assert (found.slots[slot].selected is None) == (selected is None)
        if selected is not None:
            scores = stacked(getattr(expected, f"{name}_sentence_attentions"))
            selected, scores = in_order_of_text(stacked(selected), scores)
            np.testing.assert_allclose(found.slots[slot].scores, scores, atol=1e-5)
            np.testing.assert_array_equal(found.slots[slot].selected, selected)


@pytest.mark.parametrize("variant", ["sequential", "conditional", "hierarchical"])
def test_weights_between_sentences_are_sums_over_keys_and_means_over_queries(variant) -> None:
    found = record(model_of(**VARIANTS[variant]))
    for name, slot in found.slots.items():
        readers, read = found.query_side(name).sentence_ids, found.key_side(name).sentence_ids
        for sentence in range(len(SOURCE)):
            rows = slot.token_weights[:, :, readers == sentence]
            for other in range(len(SOURCE)):
                expected = rows[..., read == other].sum(-1).mean(-1)
                np.testing.assert_allclose(slot.sentence_weights[:, :, sentence, other], expected, atol=1e-6)


def test_sentence_encodings_that_are_read_are_recorded_by_sentence() -> None:
    model = model_of(**VARIANTS["context_block"])
    found = record(model)
    _, expected = outputs(model)
    for slot in ("encoder", "decoder"):
        weights = stacked(getattr(expected, f"{slot}_context_attentions"))
        readers = found.query_side(f"{slot}_context").sentence_ids
        means = np.stack([weights[:, :, readers == sentence].mean(2) for sentence in range(len(SOURCE))], axis=2)
        np.testing.assert_allclose(found.slots[f"{slot}_context"].sentence_weights, means, atol=1e-6)
        assert found.slots[f"{slot}_context"].token_weights is None


@pytest.mark.parametrize("variant", ["sequential", "conditional", "hierarchical", "context_heads"])
def test_a_sentence_is_read_in_the_window_that_it_ends(variant) -> None:
    model = model_of(**VARIANTS[variant])
    found = record(model, window_sentences=2)
    for sentence in range(len(SOURCE)):
        start = max(0, sentence - 1)
        (input_ids, labels), expected = outputs(model, start, sentence + 1)
        written = sentence_ids_from_tokens(labels, model.config.separator_token_ids)[0].numpy() - 1 + start
        weights = stacked(expected.cross_attentions)[:, :, written == sentence]
        rows = found.slots["cross"].token_weights[:, :, found.sides["target"].sentence_ids == sentence]
        read = found.sides["source"].sentence_ids
        in_window = (read >= start) & (read <= sentence)
        assert in_window.sum() == input_ids.shape[1]
        np.testing.assert_allclose(rows[..., in_window], weights, atol=1e-6)
        assert not rows[..., ~in_window].any()
        assert not found.slots["encoder"].sentence_weights[:, :, sentence, :start].any()


def test_a_long_document_is_recorded_by_sentences_alone(monkeypatch) -> None:
    model = model_of(**HIERARCHICAL)
    expected = record(model)
    monkeypatch.setattr(attention_collector, "MAX_RECORD_SIZE", 500)
    found = record(model)
    for name, slot in found.slots.items():
        assert slot.token_weights is None
        assert slot.trees == ()
        np.testing.assert_array_equal(slot.sentence_weights, expected.slots[name].sentence_weights)
    (tree,) = record(model, tree_sentences=[1]).slots["encoder"].trees
    assert tree.queries.tolist() == [4, 5]
    with pytest.raises(ValueError, match="5 sentences are too large to record"):
        record(model, tree_sentences=range(5))


@pytest.mark.parametrize("variant", ["hierarchical", "hierarchical_shared_encoder"])
def test_the_walk_ends_at_the_sentences_that_are_selected_with_their_scores(variant) -> None:
    found = record(model_of(**VARIANTS[variant]))
    for name in ("encoder", "cross"):
        slot = found.slots[name]
        (tree,) = slot.trees
        assert tree.level_sizes == (5, 3, 2, 1)
        assert tree.queries.tolist() == list(range(len(found.query_side(name).tokens)))
        for place in np.ndindex(slot.selected.shape[:3]):
            leaves = np.flatnonzero(tree.kept[place][:5])
            assert leaves.tolist() == [sentence for sentence in slot.selected[place] if sentence >= 0]
            np.testing.assert_allclose(tree.cumulative[place][leaves], slot.scores[place][: len(leaves)], atol=1e-5)


def test_a_walk_adds_relevance_from_the_root_on_and_scores_the_children_of_what_it_keeps() -> None:
    (tree,) = record(model_of(**{**HIERARCHICAL, "num_selected_sentences": 1})).slots["encoder"].trees
    starts = [0, 5, 8, 10, 11]
    for place in np.ndindex(tree.kept.shape[:3]):
        relevance, cumulative, kept = tree.relevance[place], tree.cumulative[place], tree.kept[place]
        assert cumulative[10] == pytest.approx(relevance[10])
        for level in range(3):
            for node in range(tree.level_sizes[level]):
                parent, index = starts[level + 1] + node // 2, starts[level] + node
                assert np.isnan(cumulative[index]) == (not kept[parent])
                if kept[parent]:
                    assert cumulative[index] == pytest.approx(cumulative[parent] + relevance[index], abs=1e-5)
            assert kept[starts[level] : starts[level + 1]].sum() == 1
        best = np.nanargmax(cumulative[:5])
        assert kept[best]


@pytest.mark.parametrize("variant", ["conditional", "hierarchical_shared_encoder", "context_heads"])
def test_pooling_weights_make_the_encodings_that_the_model_makes(variant, monkeypatch) -> None:
    monkeypatch.setattr(attention_calls, "WEIGHTS_PER_CHUNK", 200)
    model = model_of(**VARIANTS[variant])
    found = record(model)
    network = model.base_model
    modules = attention_calls.sentence_encoders(network)
    assert set(found.poolings) == set(modules)
    with attention_calls.recorded_calls(network) as calls:
        outputs(model)
    for slot, weights in found.poolings.items():
        # The decoder encodes sentences when they are complete: the last one never.
        num_encoded = len(SOURCE) - (slot == "decoder")
        for module, layer in zip(modules[slot], weights, strict=True):
            states, ids, num_sentences = calls[module].arguments
            weighted = torch.tensor(layer).double()[:, :, None] * states  # [G, S, D]
            values = module.v_proj.weight.unflatten(0, (len(layer), -1))  # [G, E, D]
            heads = torch.einsum("gsd,ged->sge", weighted, values).flatten(1)
            sums = torch.zeros(num_sentences, heads.shape[1]).double().index_add(0, ids[0] - 1, heads)
            projections = (module.k_proj.weight, module.v_proj.weight, module.out_proj.weight)
            expected = source2token(states, ids, num_sentences, module.query, *projections)
            found_encodings = (sums @ module.out_proj.weight.T)[:num_encoded]
            torch.testing.assert_close(found_encodings, expected[0, :num_encoded], atol=1e-5, rtol=1e-4)


def test_pooling_weights_of_windows_add_up_to_one_in_every_encoded_sentence() -> None:
    found = record(model_of(**VARIANTS["conditional"]), window_sentences=3)
    for slot, side, num_encoded in (("encoder", "source", 5), ("cross", "source", 5), ("decoder", "prefix", 4)):
        ids = found.sides[side].sentence_ids
        sums = np.stack([found.poolings[slot][..., ids == sentence].sum(-1) for sentence in range(5)], axis=-1)
        if slot == "decoder":
            # The first token of a window replaces the one that closes the sentence before it.
            assert (sums[..., 1:3] < 1 + 1e-5).all()
            sums = sums[..., [0, 3, 4]]
            num_encoded = 2
        np.testing.assert_allclose(sums[..., :num_encoded], 1, atol=1e-5)
        assert not sums[..., num_encoded:].any()


def test_the_model_is_left_as_it_was() -> None:
    model = model_of(**VARIANTS["conditional"])
    before = model.config._attn_implementation
    record(model)
    assert model.config._attn_implementation == before
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_labels_are_the_tokens_and_decoder_inputs_are_shifted_by_one() -> None:
    sides = record(model_of()).sides
    assert sides["target"].tokens[:4] == ("A", "B", "<sep>", "C")
    assert sides["prefix"].tokens[:4] == ("<s>", "A", "B", "<sep>")
    assert sides["target"].sentence_ids[:4].tolist() == [0, 0, 0, 1]
    assert sides["prefix"].sentence_ids[:5].tolist() == [0, 0, 0, 0, 1]
    assert [sides["source"].sentence(index) for index in range(5)] == SOURCE


@pytest.mark.parametrize("variant", ["lstm_additive", "deep_lstm_fed", "deep_gru_untied"])
def test_a_recurrent_model_reads_each_source_sentence_alone(variant) -> None:
    model = tiny_recurrent_model(vocab_size=len(word_tokenizer()), **RECURRENT_VARIANTS[variant])
    found = record(model, window_sentences=None)
    assert list(found.slots) == ["cross"]
    assert found.poolings == {}
    expected = np.zeros((1, 1, len(found.sides["target"].tokens), len(found.sides["source"].tokens)))
    for sentence in range(len(SOURCE)):
        rows = [torch.tensor([VOCABULARY.join(ids, [False], side)]) for side, ids in enumerate(ids_of(sentence))]
        with torch.no_grad():
            weights = model(input_ids=rows[0], labels=rows[1], output_attentions=True).cross_attentions[0][0, 0]
        written = np.flatnonzero(found.sides["target"].sentence_ids == sentence)
        expected[0, 0, written[:, None], found.sides["source"].sentence_ids == sentence] = weights
    np.testing.assert_allclose(found.slots["cross"].token_weights, expected, atol=1e-6)
    np.testing.assert_allclose(found.slots["cross"].sentence_weights[0, 0], np.eye(len(SOURCE)), atol=1e-5)


def ids_of(sentence):
    """The ids of one sentence of the source and its translation."""
    return [VOCABULARY.encode([side[sentence]], target=side is TARGET) for side in (SOURCE, TARGET)]


@pytest.mark.parametrize("window_sentences", [0, 2])
def test_any_encoder_decoder_of_transformers_can_be_recorded(window_sentences) -> None:
    model = model_of()
    expected = record(model, window_sentences=window_sentences)
    # The generic collector records the same as the collector for `hier_nmt` models.
    model.config.model_type = "another"
    found = record(model, window_sentences=window_sentences)
    assert found.slots.keys() == expected.slots.keys()
    for name, slot in found.slots.items():
        np.testing.assert_allclose(slot.token_weights, expected.slots[name].token_weights, atol=1e-6)
        np.testing.assert_allclose(slot.sentence_weights, expected.slots[name].sentence_weights, atol=1e-6)
    assert {name: side.tokens for name, side in found.sides.items()} == {
        name: side.tokens for name, side in expected.sides.items()
    }


def test_tokenizers_without_separators_are_read_sentence_by_sentence() -> None:
    tokenizer = word_tokenizer()
    tokenizer.par_token = None
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing("$A </s>", special_tokens=[("</s>", EOS)])
    vocabulary = TranslationVocabulary(tokenizer, tokenizer)
    assert not vocabulary.has_separators
    model = tiny_recurrent_model(vocab_size=len(tokenizer))
    found = record_attention(model, vocabulary, SOURCE, TARGET)
    assert found.sides["target"].tokens[:4] == ("A", "B", "</s>", "C")
    expected = record(model, window_sentences=1)
    np.testing.assert_array_equal(found.slots["cross"].token_weights, expected.slots["cross"].token_weights)
    with pytest.raises(ValueError, match="window_sentences=2 needs <sep> and <par>"):
        record_attention(model, vocabulary, SOURCE, TARGET, window_sentences=2)


def test_characters_that_are_spelled_in_bytes_are_read_as_characters() -> None:
    tokens = ["\u2581", *(f"<0x{byte:02X}>" for byte in "你é".encode()), "<sep>", "<0xE4>", "a", "<0x0A>"]
    assert characters_of_bytes(tokens) == ("\u2581", "你", "", "", "é", "", "<sep>", "<0xE4>", "a", "\n")


def test_what_cannot_be_recorded_is_named() -> None:
    model = model_of()
    with pytest.raises(ValueError, match="2 source sentences and 1 target"):
        record_attention(model, VOCABULARY, ["a", "b"], ["A"])
    model.config.max_target_tokens = 3
    with pytest.raises(ValueError, match="target sentence 2 has 4 tokens, but the model's limit is 3"):
        record(model)
    without = tiny_recurrent_model(vocab_size=len(word_tokenizer()), attention="none")
    with pytest.raises(ValueError, match=r"this rnn_nmt model returns no attention weights \(attention='none'\)"):
        record(without, window_sentences=1)
