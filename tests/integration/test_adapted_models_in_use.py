# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapted models in use: pushed to the Hub, with onnxruntime, also in int8, and with LoRA adapters of peft."""

from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from sentence_models import ENGLISH, write_opus_mt
from transformers import AutoModelForSeq2SeqLM, pipeline

from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.jobs.adapt_model import adapt_model
from hier_nmt.publishing.hub import CARD_FILE, write_repository
from hier_nmt.publishing.model_engines import with_engine
from hier_nmt.translation.document_translator import DocumentTranslator
from hier_nmt.translation.translation_documents import SourceDocument

ATTENTIONS = ("document", "conditional", "hierarchical")


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: Any) -> dict[str, Path]:
    """Folders of adapted models whose context blocks are open."""
    folder = tmp_path_factory.mktemp("adapted")
    write_opus_mt(folder / "opus-mt-en-fr")
    for attention in ATTENTIONS:
        adapt_model(str(folder / "opus-mt-en-fr"), folder / attention, attention, context_gate=0.5)
    return {attention: folder / attention for attention in ATTENTIONS}


def translated(model: Any, folder: Path) -> list[list[str]]:
    # So short that no length limit and no loop is reached.
    options = {"max_new_tokens": 4}
    translator = DocumentTranslator(model, *load_tokenizers(folder), strategy="document", generate_kwargs=options)
    return translator.translate([SourceDocument([ENGLISH[:2], ENGLISH[2:]])])[0].paragraphs


@pytest.mark.slow  # an export takes up to a minute
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_adapted_models_run_with_onnxruntime(adapted: dict[str, Path], attention: str) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    folder = adapted[attention]
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    expected = translated(model, folder)
    assert translated(with_engine(model, "onnx"), folder) == expected
    in_int8 = translated(with_engine(model, "onnx-int8"), folder)
    assert [len(paragraph) for paragraph in in_int8] == [len(paragraph) for paragraph in expected]


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_what_is_pushed_translates_alike_and_names_the_base(
    adapted: dict[str, Path], tmp_path: Path, attention: str
) -> None:
    folder, repository = adapted[attention], tmp_path / "repository"
    write_repository(folder, repository, "somebody/model")
    expected = translated(AutoModelForSeq2SeqLM.from_pretrained(folder), folder)
    assert any(text for paragraph in expected for text in paragraph)
    assert translated(AutoModelForSeq2SeqLM.from_pretrained(repository), repository) == expected
    card = ModelCard.load(repository / CARD_FILE)
    assert card.data.base_model == "opus-mt-en-fr"
    assert {"modeling_hier_nmt.py", "gated_context.py"} <= {path.name for path in repository.iterdir()}


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_adapters_of_peft_are_trained_saved_and_merged(
    adapted: dict[str, Path], tmp_path: Path, attention: str
) -> None:
    peft = pytest.importorskip("peft")
    folder = adapted[attention]
    tokenizer = load_tokenizers(folder)[0]
    separator = tokenizer.convert_tokens_to_ids("<sep>")
    first, second = (tokenizer(text).input_ids[:-1] for text in ENGLISH[:2])
    ids = torch.tensor([[*first, separator, *second, tokenizer.eos_token_id]])
    torch.manual_seed(0)
    config = peft.LoraConfig(task_type="SEQ_2_SEQ_LM", target_modules=["q_proj", "v_proj"], r=4)
    model = peft.get_peft_model(AutoModelForSeq2SeqLM.from_pretrained(folder), config)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=1.0)
    for _ in range(2):
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    changed = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert changed
    assert all("lora_" in name for name in changed)
    assert any(".context." in name for name in changed)
    model.eval()
    with torch.no_grad():
        expected = model(input_ids=ids, labels=ids).logits
        model.save_pretrained(tmp_path / "adapter")
        base = AutoModelForSeq2SeqLM.from_pretrained(folder)
        assert not torch.allclose(base(input_ids=ids, labels=ids).logits, expected)
        loaded = peft.PeftModel.from_pretrained(base, tmp_path / "adapter")
        torch.testing.assert_close(loaded(input_ids=ids, labels=ids).logits, expected)
        merged = loaded.merge_and_unload()
        torch.testing.assert_close(merged(input_ids=ids, labels=ids).logits, expected, rtol=1e-4, atol=1e-4)
    merged.save_pretrained(tmp_path / "merged")
    tokenizer.save_pretrained(tmp_path / "merged")
    translate = pipeline("translation", model=str(tmp_path / "merged"), max_new_tokens=4)
    assert translate(ENGLISH[0])[0]["translation_text"]
