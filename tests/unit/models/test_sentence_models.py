# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Document-level models with the weights of Marian, M2M100 and mBART: equal to these until they are trained."""

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_models import SENTENCE_MODELS, sentence_model, skip_unless_loadable
from tiny_models import tiny_config
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
)

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.models.hier_nmt.sentence_models import ADAPTATIONS, HIDDEN_LOGIT, reveal_separators
from hier_nmt.text.windows import join_window

READING = ("document", "conditional", "hierarchical")


def _opus_mt_en_fr() -> MarianMTModel:
    config = MarianConfig(
        vocab_size=59514, pad_token_id=59513, decoder_start_token_id=59513, eos_token_id=0, forced_eos_token_id=0,
        d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="swish", scale_embedding=True,
        max_position_embeddings=512,
    )  # fmt: skip
    return MarianMTModel(config)


def _m2m100_418m() -> M2M100ForConditionalGeneration:
    skip_unless_loadable(M2M100Config)
    return M2M100ForConditionalGeneration(M2M100Config(vocab_size=128112, encoder_layers=2, decoder_layers=2))


# Configurations as on the Hub, the second with two of twelve layers on each side.
REAL = {"opus-mt-en-fr": _opus_mt_en_fr, "m2m100_418M": _m2m100_418m}


@pytest.fixture(scope="module", params=SENTENCE_MODELS)
def base(request: Any, tmp_path_factory: Any) -> tuple[Any, Path]:
    return _saved(sentence_model(request.param), tmp_path_factory)


@pytest.fixture(scope="module", params=REAL)
def real_base(request: Any, tmp_path_factory: Any) -> tuple[Any, Path]:
    torch.manual_seed(4)
    return _saved(REAL[request.param]().eval(), tmp_path_factory)


def _saved(model: Any, tmp_path_factory: Any) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("base")
    model.save_pretrained(folder)
    return model, folder


def adapted(folder: Path, attention: str, **options: Any) -> HierNMTForConditionalGeneration:
    return HierNMTForConditionalGeneration.from_sentence_model(folder, attention, **options)


def sentences(config: Any, seed: int, num_rows: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(6, 45, (num_rows, 7), generator=generator)
    source[:, -1] = config.eos_token_id
    target = torch.randint(6, 45, (num_rows, 6), generator=generator)
    target[:, 0] = config.decoder_start_token_id
    return source, target


@pytest.mark.parametrize("attention", ADAPTATIONS)
def test_logits_and_states_of_a_sentence_are_those_of_the_base(base: Any, attention: str) -> None:
    model, folder = base
    check_logits_and_states(model, adapted(folder, attention))


def check_logits_and_states(model: Any, ours: Any) -> None:
    source, target = sentences(model.config, seed=1)
    # Transformers' M2M100 finds padding by its id in the input; every row has another length.
    source[1, 4:] = model.config.pad_token_id
    source[1, 3] = model.config.eos_token_id
    inputs = {
        "input_ids": source,
        "attention_mask": (source != model.config.pad_token_id).long(),
        "decoder_input_ids": target,
        "output_hidden_states": True,
    }
    with torch.inference_mode():
        expected, outputs = model(**inputs), ours(**inputs)
    num_tokens = expected.logits.shape[-1]
    torch.testing.assert_close(outputs.logits[..., :num_tokens], expected.logits, atol=1e-5, rtol=0)
    assert (outputs.logits[..., num_tokens:] < HIDDEN_LOGIT / 2).all()
    mask = inputs["attention_mask"].bool()
    assert len(outputs.encoder_hidden_states) == len(expected.encoder_hidden_states)
    for own, other in zip(outputs.encoder_hidden_states, expected.encoder_hidden_states, strict=True):
        torch.testing.assert_close(own[mask], other[mask], atol=1e-5, rtol=0)
    assert len(outputs.decoder_hidden_states) == len(expected.decoder_hidden_states)
    for own, other in zip(outputs.decoder_hidden_states, expected.decoder_hidden_states, strict=True):
        torch.testing.assert_close(own, other, atol=1e-5, rtol=0)


@pytest.mark.parametrize("attention", ADAPTATIONS)
@pytest.mark.parametrize("num_beams", [1, 4])
def test_generation_of_a_sentence_is_that_of_the_base(base: Any, attention: str, num_beams: int) -> None:
    model, folder = base
    check_generation(model, adapted(folder, attention), num_beams)


def check_generation(model: Any, ours: Any, num_beams: int) -> None:
    source, _ = sentences(model.config, seed=2)
    options: dict[str, Any] = {"max_new_tokens": 12, "num_beams": num_beams, "do_sample": False}
    try:
        expected = model.generate(source, **options)
    except RuntimeError:
        assert model.config.vocab_size != model.config.decoder_vocab_size
        pytest.skip("this Transformers has no beam search for two vocabularies")
    assert torch.equal(ours.generate(source, **options), expected)


@pytest.mark.parametrize("attention", READING)
def test_each_sentence_of_a_document_has_the_logits_it_has_alone(base: Any, attention: str) -> None:
    model, folder = base
    check_sentences_of_a_document(model, adapted(folder, attention))


def check_sentences_of_a_document(model: Any, ours: Any) -> None:
    config = model.config
    generator = torch.Generator().manual_seed(3)
    lengths = torch.randint(1, 8, (50, 2), generator=generator).tolist()
    rows = [[torch.randint(5, 45, (size,), generator=generator).tolist() for size in pair] for pair in lengths]
    ends = [index % 3 == 2 for index in range(50)]
    separators = (ours.config.sep_token_id, ours.config.par_token_id)
    source = join_window([row[0] for row in rows], ends, *separators, config.eos_token_id)
    target = join_window([row[1] for row in rows], ends, *separators, config.eos_token_id)
    start, num_tokens = config.decoder_start_token_id, getattr(config, "decoder_vocab_size", None) or config.vocab_size
    with torch.inference_mode():
        logits = ours(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[start, *target[:-1]]])).logits[
            0, :, :num_tokens
        ]
        place = 0
        for own_source, own_target in rows:
            alone = model(
                input_ids=torch.tensor([[*own_source, config.eos_token_id]]),
                decoder_input_ids=torch.tensor([[start, *own_target]]),
            ).logits[0]
            torch.testing.assert_close(logits[place : place + len(alone)], alone, atol=2e-5, rtol=0)
            place += len(alone)
    assert place == len(target)


@pytest.mark.parametrize("attention", READING)
def test_other_sentences_count_once_the_gates_are_open(base: Any, attention: str) -> None:
    _, folder = base
    ours = adapted(folder, attention)
    for name, parameter in ours.named_parameters():
        if name.endswith(".gate"):
            torch.nn.init.constant_(parameter, 0.5)
    config = ours.config
    target = torch.tensor([[config.decoder_start_token_id, 7, 8, config.sep_token_id, 9]])
    documents = [torch.tensor([[first, 11, config.sep_token_id, 12, 13, config.eos_token_id]]) for first in (20, 21)]
    with torch.inference_mode():
        one, other = (ours(input_ids=source, decoder_input_ids=target).logits[0, 3:] for source in documents)
    assert not torch.allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("attention", READING)
def test_real_configurations_are_equal_too(real_base: Any, attention: str) -> None:
    model, folder = real_base
    ours = adapted(folder, attention)
    check_logits_and_states(model, ours)
    for num_beams in (1, 4):
        check_generation(model, ours, num_beams)
    check_sentences_of_a_document(model, ours)


def test_generation_settings_come_along(tmp_path: Path) -> None:
    model = sentence_model("marian")
    model.generation_config.update(num_beams=6, bad_words_ids=[[59]], max_length=512, forced_eos_token_id=0)
    model.save_pretrained(tmp_path)
    config = adapted(tmp_path, "document").generation_config
    assert (config.num_beams, config.bad_words_ids, config.max_length, config.forced_eos_token_id) == (
        6,
        [[59]],
        512,
        0,
    )


def test_separators_are_ids_behind_the_vocabulary_and_may_be_others(tmp_path: Path) -> None:
    sentence_model("marian").save_pretrained(tmp_path)
    assert adapted(tmp_path, "document").config.separator_token_ids == (60, 61)
    ours = adapted(tmp_path, "document", sep_token_id=70, par_token_id=71)
    assert (ours.config.separator_token_ids, ours.config.vocab_size) == ((70, 71), 72)
    ours.generate(torch.tensor([[7, 8, 0]]), max_new_tokens=3)


def test_saving_and_loading_keeps_the_logits(base: Any, tmp_path: Path) -> None:
    _, folder = base
    ours = adapted(folder, "conditional")
    ours.save_pretrained(tmp_path)
    source, target = sentences(ours.config, seed=6)
    again = HierNMTForConditionalGeneration.from_pretrained(tmp_path)
    with torch.inference_mode():
        expected = ours(input_ids=source, decoder_input_ids=target).logits
        assert torch.equal(again(input_ids=source, decoder_input_ids=target).logits, expected)


def test_revealed_separators_have_the_logits_of_the_end(base: Any) -> None:
    _, folder = base
    ours = adapted(folder, "conditional")
    assert reveal_separators(ours)
    assert not reveal_separators(ours)
    source, target = sentences(ours.config, seed=7)
    with torch.inference_mode():
        logits = ours(input_ids=source, decoder_input_ids=target).logits
    for token_id in ours.config.separator_token_ids:
        torch.testing.assert_close(logits[..., token_id], logits[..., ours.config.eos_token_id])


def test_separators_that_an_average_of_weights_hides_are_revealed_too() -> None:
    model = HierNMTForConditionalGeneration(tiny_config(output_bias=True))
    separators = list(model.config.separator_token_ids)
    with torch.no_grad():
        model.lm_head.bias[separators] = 0.3 * HIDDEN_LOGIT + 0.7 * torch.tensor([-2.0, 1.0])
        model.lm_head.bias[model.config.eos_token_id] = 0.25
    assert reveal_separators(model)
    assert model.lm_head.bias[separators].tolist() == [0.25, 0.25]
    with torch.no_grad():
        model.lm_head.bias[separators] = torch.tensor([-20.0, 1.0])
    assert not reveal_separators(model)


def test_another_network_is_refused(tmp_path: Path) -> None:
    T5ForConditionalGeneration(T5Config(d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2)).save_pretrained(
        tmp_path
    )
    with pytest.raises(ValueError, match="model_type='t5' is not Marian"):
        adapted(tmp_path, "conditional")


def test_an_unknown_field_is_refused(tmp_path: Path) -> None:
    sentence_model("marian").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="num_selected_sentence=8: HierNMTConfig has no such field"):
        adapted(tmp_path, "conditional", num_selected_sentence=8)


@pytest.mark.parametrize("ids", [(0, 61), (59, 61), (61, 61), (-1, 61)])
def test_separators_need_ids_of_their_own(tmp_path: Path, ids: tuple[int, int]) -> None:
    sentence_model("marian").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=f"sep_token_id={ids[0]} and par_token_id=61 must be two ids that no other"):
        adapted(tmp_path, "conditional", sep_token_id=ids[0], par_token_id=ids[1])


def test_weights_have_the_type_that_is_asked_for(tmp_path: Path) -> None:
    sentence_model("marian").to(torch.float16).save_pretrained(tmp_path)
    assert adapted(tmp_path, "conditional").dtype == torch.float32
    model = adapted(tmp_path, "conditional", dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}


def test_an_unknown_way_of_reading_is_refused(tmp_path: Path) -> None:
    sentence_model("marian").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="attention='sparse' is unknown; choose one of sentence, document"):
        adapted(tmp_path, "sparse")


def test_a_pickle_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    model = sentence_model("marian")
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(OSError, match=r"is a pickle.*If you trust the file, convert it once.*use_safetensors=False"):
        adapted(tmp_path, "conditional")


def own_sentence_model(**changes: Any) -> HierNMTForConditionalGeneration:
    torch.manual_seed(8)
    fields = {"vocab_size": 60, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "init_std": 0.2}
    sizes = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 40}
    return HierNMTForConditionalGeneration(HierNMTConfig(**{**fields, **sizes, **changes})).eval()


@pytest.mark.parametrize("attention", ADAPTATIONS)
def test_a_sentence_level_model_of_ours_is_adapted_too(tmp_path: Path, attention: str) -> None:
    model = own_sentence_model()
    model.save_pretrained(tmp_path)
    ours = adapted(tmp_path, attention)
    assert ours.config.separator_token_ids == model.config.separator_token_ids
    source, target = sentences(model.config, seed=9)
    kept = [token_id for token_id in range(60) if token_id not in model.config.separator_token_ids]
    with torch.inference_mode():
        expected = model(input_ids=source, decoder_input_ids=target).logits[..., kept]
        logits = ours(input_ids=source, decoder_input_ids=target).logits[..., kept]
    # Separators do not occur; their vectors are others now.
    assert not set(model.config.separator_token_ids) & set(torch.cat([source.flatten(), target.flatten()]).tolist())
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)


def test_a_model_of_windows_is_not_adapted(tmp_path: Path) -> None:
    own_sentence_model(window_sentences=4).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="window_sentences=4: a model of single sentences must have 1"):
        adapted(tmp_path, "conditional")
