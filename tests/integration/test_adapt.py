# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A folder laid out as OPUS-MT on the Hub becomes a document-level model that translates as before."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file
from sentence_models import ENGLISH, FRENCH, sentence_model, write_m2m100, write_mbart50, write_nllb, write_opus_mt
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig, pipeline

import hier_nmt
from hier_nmt.cli.main import main
from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.evaluation.forced_scoring import WindowBuilder, forced_scores
from hier_nmt.inspection.attention_collection import record_attention
from hier_nmt.jobs.adapt_model import adapt_model
from hier_nmt.models.hier_nmt.sentence_models import HIDDEN_LOGIT
from hier_nmt.training.warm_start import is_of_base
from hier_nmt.translation.document_translator import DocumentTranslator
from hier_nmt.translation.translation_documents import SourceDocument

NUM_SENTENCES = 50
ATTENTIONS = ("document", "conditional", "hierarchical")


@pytest.fixture(scope="module")
def opus_mt(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("hub") / "opus-mt-en-fr"
    write_opus_mt(folder)
    return folder


def document() -> list[list[str]]:
    """Paragraphs of three sentences, NUM_SENTENCES in all, of words in changing order."""
    words = " ".join(ENGLISH).replace(".", "").split()
    sentences = [
        " ".join(words[(7 * index + 3 * place) % len(words)] for place in range(3 + index % 5))
        for index in range(NUM_SENTENCES)
    ]
    return [sentences[start : start + 3] for start in range(0, NUM_SENTENCES, 3)]


def translated(model: Any, tokenizers: tuple[Any, Any], strategy: str, num_beams: int = 1) -> list[list[str]]:
    translator = DocumentTranslator(model, *tokenizers, strategy=strategy, generate_kwargs={"num_beams": num_beams})
    document_translation = translator.translate([SourceDocument(document())])[0]
    # The limit on lengths is that of a window, or that of a sentence.
    assert document_translation.statistics.num_cut == 0
    return document_translation.paragraphs


@pytest.fixture(scope="module")
def expected(opus_mt: Path) -> Any:
    """Translations by the original model, one sentence at a time, by numbers of beams."""
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(opus_mt), AutoTokenizer.from_pretrained(opus_mt)
    return {beams: translated(model, (tokenizer, tokenizer), "sentence", beams) for beams in (1, 4)}


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_documents_are_translated_as_the_original_translates_their_sentences(
    opus_mt: Path, expected: Any, tmp_path: Path, attention: str
) -> None:
    adapt_model(str(opus_mt), tmp_path / "ours", attention)
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours")
    tokenizers = load_tokenizers(tmp_path / "ours")
    assert translated(model, tokenizers, "document") == expected[1]
    assert translated(model, tokenizers, "sentence", num_beams=4) == expected[4]
    # A window that grows to fifty sentences is long to decode fifty times.
    model.config.window_sentences = 3
    assert translated(model, tokenizers, "prefix", num_beams=4) == expected[4]


def test_a_model_of_many_languages_translates_documents_as_before(tmp_path: Path) -> None:
    original = write_m2m100(tmp_path / "m2m100")
    languages = {"source_language": "en", "target_language": "fr"}
    document = [SourceDocument([ENGLISH[:2], ENGLISH[2:]])]
    # So short that no length limit and no loop is reached.
    options: dict[str, Any] = {"generate_kwargs": {"max_new_tokens": 4}}
    slow = AutoTokenizer.from_pretrained(tmp_path / "m2m100")
    (expected,) = DocumentTranslator(original, slow, strategy="sentence", **languages, **options).translate(document)
    for given in (languages, {}):
        folder = tmp_path / f"ours-{len(given)}"
        adapt_model(str(tmp_path / "m2m100"), folder, "conditional", **given)
        model, tokenizers = AutoModelForSeq2SeqLM.from_pretrained(folder), load_tokenizers(folder)
        asked = {} if given else languages
        for strategy in ("sentence", "prefix"):
            translator = DocumentTranslator(model, *tokenizers, strategy=strategy, **asked, **options)
            assert translator.translate(document)[0].paragraphs == expected.paragraphs
        translator = DocumentTranslator(model, *tokenizers, strategy="document", **asked)
        translated_rows = translator.translate(document)[0].paragraphs
        assert [len(paragraph) for paragraph in translated_rows] == [2, 2]
    with pytest.raises(ValueError, match="has no language 'xx'"):
        adapt_model(str(tmp_path / "m2m100"), tmp_path / "other", "conditional", source_language="xx")
    with pytest.raises(ValueError, match="say which by target_language"):
        DocumentTranslator(model, *tokenizers)


def test_translations_of_a_model_of_many_languages_are_scored_in_their_language(tmp_path: Path) -> None:
    original = write_m2m100(tmp_path / "m2m100")
    slow = AutoTokenizer.from_pretrained(tmp_path / "m2m100")
    # Nothing is generated here, so languages may have embeddings.
    torch.nn.init.normal_(original.model.shared.weight)
    original.save_pretrained(tmp_path / "m2m100")
    adapt_model(str(tmp_path / "m2m100"), tmp_path / "told", source_language="en", target_language="fr")
    adapt_model(str(tmp_path / "m2m100"), tmp_path / "untold")
    told, untold = (
        (AutoModelForSeq2SeqLM.from_pretrained(tmp_path / name), *load_tokenizers(tmp_path / name))
        for name in ("told", "untold")
    )

    def scores(model: Any, *tokenizers: Any, **languages: Any) -> list[float]:
        builder = WindowBuilder(model, *tokenizers, window_sentences=1, **languages)
        windows = [builder.build([], source, [], target) for source, target in zip(ENGLISH, FRENCH, strict=True)]
        found = forced_scores(model, windows, builder.vocabulary.pad_token_ids)
        return [one.current / one.num_tokens for one in found]

    french, german = ({"source_language": "en", "target_language": language} for language in ("fr", "de"))
    expected, others = scores(original, slow, **french), scores(original, slow, **german)
    inputs = slow(ENGLISH[0], text_target=FRENCH[0], return_tensors="pt")
    assert slow.convert_ids_to_tokens(inputs["labels"][0, 0].item()) == "__fr__"
    logits = original(**inputs).logits.log_softmax(-1)[0, 1:]
    by_hand = logits.gather(-1, inputs["labels"][0, 1:, None]).mean().item()
    assert expected[0] == pytest.approx(by_hand, abs=1e-5)
    assert expected != pytest.approx(others, abs=1e-3)
    assert scores(*told) == pytest.approx(expected, abs=1e-5)
    assert scores(*untold, **french) == pytest.approx(expected, abs=1e-5)
    assert scores(*untold, **german) == pytest.approx(others, abs=1e-5)
    record = record_attention(told[0], WindowBuilder(*told).vocabulary, ENGLISH[:2], FRENCH[:2])
    for side, language in (("source", "__en__"), ("target", "__fr__")):
        tokens, sentence_ids = record.sides[side].tokens, record.sides[side].sentence_ids.tolist()
        assert [number for number, token in zip(sentence_ids, tokens, strict=True) if token == language] == [0, 1]
    with pytest.raises(ValueError, match="say which by target_language"):
        scores(*untold)
    with pytest.raises(ValueError, match="the model's target language is 'fr', not 'de'"):
        scores(*told, **german)


@pytest.mark.parametrize("languages", [[">>fra<<", ">>spa<<", ">>pt_br<<"], [">>fra<<"]])
def test_a_marian_model_of_many_target_languages_reads_their_tokens(tmp_path: Path, languages: list[str]) -> None:
    base = tmp_path / "opus-mt-en-roa"
    original = write_opus_mt(base, languages=languages, end_bias=-2.0)
    slow = AutoTokenizer.from_pretrained(base)
    document = [SourceDocument([ENGLISH[:2], ENGLISH[2:]])]
    options: dict[str, Any] = {"generate_kwargs": {"max_new_tokens": 4, "num_beams": 1}}

    def expected(token: str) -> list[str]:
        inputs = slow([f"{token} {sentence}" for sentence in ENGLISH], return_tensors="pt", padding=True)
        return slow.batch_decode(original.generate(**inputs, **options["generate_kwargs"]), skip_special_tokens=True)

    def sentences(folder: Path, strategy: str = "sentence", **asked: Any) -> list[str]:
        model, tokenizers = AutoModelForSeq2SeqLM.from_pretrained(folder), load_tokenizers(folder)
        translator = DocumentTranslator(model, *tokenizers, strategy=strategy, **asked, **options)
        return [text for paragraph in translator.translate(document)[0].paragraphs for text in paragraph]

    adapt_model(str(base), tmp_path / "ours")
    adapt_model(str(base), tmp_path / "french", source_language="en", target_language="fr")
    for strategy in ("sentence", "prefix"):
        assert sentences(tmp_path / "french", strategy) == expected(">>fra<<")
    for folder in (tmp_path / "ours", base):
        for token, language in zip(languages, ("fr", "Spanish", "pt"), strict=False):
            assert sentences(folder, source_language="en", target_language=language) == expected(token)
        if len(languages) == 1:
            assert sentences(folder) == expected(">>fra<<")
            continue
        assert expected(">>spa<<") != expected(">>fra<<")
        with pytest.raises(ValueError, match="say which by target_language"):
            sentences(folder)
    with pytest.raises(ValueError, match="the model has no language 'de'; it has fra"):
        adapt_model(str(base), tmp_path / "other", source_language="en", target_language="de")
    config = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "french").config
    assert (config.source_language, config.target_language) == ("en", "fr")
    pipe = pipeline("translation", model=str(tmp_path / "ours"), source_language="en", target_language="fr")
    texts = [output["translation_text"] for output in pipe(ENGLISH, max_new_tokens=4, num_beams=1)]
    assert texts == expected(">>fra<<")


@pytest.mark.parametrize(("write", "license"), [(write_nllb, "cc-by-nc-4.0"), (write_mbart50, "unknown")])
def test_fast_tokenizers_of_transformers_get_separators(tmp_path: Path, write: Any, license: str) -> None:
    original = write(tmp_path / "base")
    languages = {"source_language": "en", "target_language": "fr"}
    document = [SourceDocument([["the cat, the mat.", "a dog?"], ["it is in the house."]])]
    options: dict[str, Any] = {"generate_kwargs": {"max_new_tokens": 4}}
    before = AutoTokenizer.from_pretrained(tmp_path / "base")
    (expected,) = DocumentTranslator(original, before, strategy="sentence", **languages, **options).translate(document)
    adapt_model(str(tmp_path / "base"), tmp_path / "ours", "conditional", **languages)
    model, tokenizers = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours"), load_tokenizers(tmp_path / "ours")
    assert tokenizers[0].get_vocab().items() >= before.get_vocab().items()
    translator = DocumentTranslator(model, *tokenizers, strategy="sentence", **options)
    assert translator.translate(document)[0].paragraphs == expected.paragraphs
    card = (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    assert f"license: {license}" in card
    assert ("may not be used commercially" in card) == (license == "cc-by-nc-4.0")


def test_the_folder_is_a_model_with_a_card_for_the_pipeline(opus_mt: Path, tmp_path: Path) -> None:
    done = adapt_model(str(opus_mt), tmp_path / "ours", "conditional")
    card = (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")
    assert "base_model: opus-mt-en-fr" in card
    assert "whose licence is\nnot stated on its card" in card
    assert f"{done.num_new_parameters:,} are new" in card
    translate = pipeline("translation", model=str(tmp_path / "ours"))
    (output,) = translate(ENGLISH[0] + "\n\n" + ENGLISH[1], max_new_tokens=5)
    assert output["translation_text"].count("\n\n") == 1


def test_the_licence_is_that_of_the_base(opus_mt: Path, tmp_path: Path) -> None:
    write_opus_mt(tmp_path / "base")
    (tmp_path / "base" / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n", encoding="utf-8")
    adapt_model(str(tmp_path / "base"), tmp_path / "ours", "document")
    assert "license: cc-by-4.0" in (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")


def test_the_command_writes_and_says_what(opus_mt: Path, tmp_path: Path, capsys: Any) -> None:
    assert (
        main(["adapt", opus_mt, tmp_path / "ours", "--attention", "hierarchical", "--num-selected-sentences", "2"]) == 0
    )
    assert "parameters" in capsys.readouterr().out
    config = hier_nmt.HierNMTConfig.from_pretrained(tmp_path / "ours")
    assert (config.context_block, config.num_selected_sentences) == ("hierarchical", 2)
    assert (config.source_language, config.target_language) == ("en", "fr")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source-language", "de"], "source_language='de', but"),
        (["--num-selected-sentences", "0"], "num_selected_sentences=0 must be at least 1"),
        (["--num-selected-sentences", "3", "--attention", "document"], "attention='document' selects no sentences"),
        (["--context-gate", "1.5"], "context_gate=1.5 is not between 0 and 1"),
        (["--context-gate", "nan"], "context_gate=nan is not between 0 and 1"),
        (["--context-gate", "0.5", "--attention", "s4to4"], "context_gate=0.5: attention='s4to4' has no gated blocks"),
    ],
)
def test_wrong_options_are_one_line(opus_mt: Path, tmp_path: Path, capsys: Any, arguments: Any, message: str) -> None:
    assert main(["adapt", opus_mt, tmp_path / "ours", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_context_blocks_begin_as_copies_of_their_layers_attention(
    opus_mt: Path, tmp_path: Path, attention: str
) -> None:
    assert main(["adapt", opus_mt, tmp_path / "ours", "--attention", attention, "--context-gate", "0.25"]) == 0
    weights = load_file(tmp_path / "ours" / "model.safetensors")
    sources = {"encoder.layers.0.context": "encoder.layers.0.self_attn"}
    sources |= {"decoder.layers.1.target_context": "decoder.layers.1.self_attn"}
    sources |= {"decoder.layers.1.context": "decoder.layers.1.encoder_attn"}
    for block, source in sources.items():
        for name in ("q_proj.weight", "k_proj.bias", "v_proj.weight", "out_proj.weight"):
            assert torch.equal(weights[f"model.{block}.attention.{name}"], weights[f"model.{source}.{name}"])
        norm = weights[f"model.{source}_residual.layer_norm.weight"]
        assert torch.equal(weights[f"model.{block}.layer_norm.weight"], norm)
        assert set(weights[f"model.{block}.gate"].tolist()) == {0.25}
    assert "gates are open (0.25)" in (tmp_path / "ours" / "README.md").read_text(encoding="utf-8")


def test_a_folder_with_something_in_it_is_left_alone(opus_mt: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["adapt", opus_mt, tmp_path]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_pickled_weights_are_refused(tmp_path: Path, capsys: Any) -> None:
    model = write_opus_mt(tmp_path / "base")
    torch.save(model.state_dict(), tmp_path / "base" / "pytorch_model.bin")
    (tmp_path / "base" / "model.safetensors").unlink()
    assert main(["adapt", tmp_path / "base", tmp_path / "ours"]) == 1
    assert "convert it once" in capsys.readouterr().err


def _change_config(folder: Path, **fields: Any) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **fields}), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "target.spm").unlink(), "has no complete tokenizer: target.spm missing"),
        (lambda folder: (folder / "source.spm").unlink(), "has no complete tokenizer: source.spm missing"),
        (lambda folder: (folder / "vocab.json").unlink(), "has no complete tokenizer: vocab.json missing"),
        (lambda folder: (folder / "source.spm").write_bytes(b"abc"), "could not parse ModelProto"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"abc"), "the weights cannot be read"),
        (
            lambda folder: _change_config(folder, encoder_layers=3),
            "fit: the weights lack model.encoder.layers.2.",
        ),
        (lambda folder: _change_config(folder, encoder_layers=1), "the configuration has no model.encoder.layers.1."),
        (lambda folder: _change_config(folder, d_model=64), "is [32] in the weights and [64] by the configuration"),
        (
            lambda folder: _change_config(folder, activation_function="x"),
            "value that Transformers does not know: 'x'",
        ),
    ],
)
def test_what_is_broken_or_does_not_fit_is_one_line(
    opus_mt: Path, tmp_path: Path, capsys: Any, change: Any, message: str
) -> None:
    shutil.copytree(opus_mt, tmp_path / "base")
    change(tmp_path / "base")
    assert main(["adapt", tmp_path / "base", tmp_path / "ours"]) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert "error: " in last
    assert message in last
    assert not (tmp_path / "ours").exists()


def test_a_model_without_tokenizer_is_refused(tmp_path: Path, capsys: Any) -> None:
    sentence_model("marian").save_pretrained(tmp_path / "base")
    assert main(["adapt", tmp_path / "base", tmp_path / "ours"]) == 1
    assert "has no complete tokenizer" in capsys.readouterr().err


RECIPE = """
data:
  source_language: en
  target_language: fr
  train: [{corpus}]
model:
  window_sentences: 0
  max_source_tokens: 128
  max_target_tokens: 128
training:
  output_dir: {output}
  init_from: {base}
  init_config: true
  seed: 1
  max_steps: 3
  learning_rate: 1.0e-2
  warmup_steps: 0
  lr_scheduler_type: constant
  weight_decay: 0.0
  per_device_train_batch_size: 2
  use_cpu: true
  report_to: none
"""


def write_training(base: Path, folder: Path) -> Path:
    """Writes a corpus of two documents and a recipe that trains a model with them; returns the recipe."""
    document = {"id": "1", "paragraphs": [{"en": ENGLISH, "fr": FRENCH}]}
    lines = [json.dumps({**document, "id": str(index)}) for index in range(2)]
    (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    text = RECIPE.format(corpus=folder / "corpus.jsonl", base=base, output=folder / "run")
    (folder / "recipe.yaml").write_text(text, encoding="utf-8")
    return folder / "recipe.yaml"


def trained(opus_mt: Path, folder: Path, *options: str) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The weights of an adapted model before and after three steps on two documents."""
    adapt_model(str(opus_mt), folder / "base", "conditional")
    assert main(["train", write_training(folder / "base", folder), *options]) == 0
    return load_file(folder / "base" / "model.safetensors"), load_file(folder / "run" / "model.safetensors")


def largest_change(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor], is_base: bool) -> float:
    names = [name for name in before if is_of_base(name) is is_base and name != "lm_head.bias"]
    return max((after[name] - before[name]).abs().max().item() for name in names)


def test_with_a_frozen_base_only_what_reads_context_is_trained(opus_mt: Path, tmp_path: Path) -> None:
    before, after = trained(opus_mt, tmp_path, "--training.freeze=base")
    assert largest_change(before, after, is_base=True) == 0
    assert largest_change(before, after, is_base=False) > 1e-3
    # Separators are no longer hidden.
    assert after["lm_head.bias"][-2:].min() > HIDDEN_LOGIT / 2
    config = hier_nmt.HierNMTConfig.from_pretrained(tmp_path / "run")
    assert (config.context_block, config.max_source_tokens) == ("conditional", 128)
    card = ModelCard.load(tmp_path / "run" / "README.md")
    assert (card.data.base_model, card.data.language) == ("opus-mt-en-fr", ["en", "fr"])
    assert "Trained further on documents from en to fr" in card.text
    assert "not been trained" not in card.text
    assert "Every gate is closed" not in card.text
    generation = GenerationConfig.from_pretrained(tmp_path / "run")
    assert (generation.num_beams, generation.bad_words_ids) == (4, [[config.pad_token_id]])


def test_the_base_has_its_own_learning_rate(opus_mt: Path, tmp_path: Path) -> None:
    before, after = trained(opus_mt, tmp_path, "--training.base_learning_rate=1e-5")
    # Adam moves a weight by about the learning rate in each of its first steps.
    assert 0 < largest_change(before, after, is_base=True) < 5e-5
    assert largest_change(before, after, is_base=False) > 1e-3


def test_a_model_of_many_languages_is_trained_for_those_of_the_recipe(tmp_path: Path, capsys: Any) -> None:
    write_opus_mt(tmp_path / "opus-mt-en-roa", languages=[">>fra<<", ">>spa<<"])
    adapt_model(str(tmp_path / "opus-mt-en-roa"), tmp_path / "base")
    recipe = write_training(tmp_path / "base", tmp_path)
    assert main(["train", recipe, "--data.target_language=de", f"--training.output_dir={tmp_path / 'other'}"]) == 1
    assert "error: section data: the model has no language 'de'; it has fra, spa" in capsys.readouterr().err
    assert main(["train", recipe]) == 0
    config = hier_nmt.HierNMTConfig.from_pretrained(tmp_path / "run")
    assert (config.source_language, config.target_language) == ("en", "fr")
    # Neither language is told.
    (tmp_path / "text.txt").write_text(" ".join(ENGLISH), encoding="utf-8")
    assert main(["translate", "--model", tmp_path / "run", tmp_path / "text.txt", "--beams", "1"]) == 0
    assert ENGLISH[0] in capsys.readouterr().out


def test_a_training_names_the_target_language_for_generate(tmp_path: Path) -> None:
    write_m2m100(tmp_path / "m2m100")
    adapt_model(str(tmp_path / "m2m100"), tmp_path / "base")
    assert main(["train", write_training(tmp_path / "base", tmp_path)]) == 0
    tokenizer, _ = load_tokenizers(tmp_path / "run")
    generation = GenerationConfig.from_pretrained(tmp_path / "run")
    assert generation.forced_bos_token_id == tokenizer.convert_tokens_to_ids("__fr__")


def test_the_recipe_of_the_documentation_trains(
    opus_mt: Path, tmp_path: Path, repository: Path, monkeypatch: Any
) -> None:
    adapt_model(str(opus_mt), tmp_path / "base", "conditional")
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="fr"><seg>{target}</seg></tuv></tu>'
        for source, target in zip(ENGLISH, FRENCH, strict=True)
    )
    header = (
        '<header creationtool="x" creationtoolversion="1" segtype="sentence" o-tmf="x" adminlang="en" srclang="en" '
        'datatype="plaintext"/>'
    )
    for name in ("train", "dev"):
        text = f'<?xml version="1.0" encoding="UTF-8"?><tmx version="1.4">{header}<body>{units}</body></tmx>'
        (tmp_path / f"{name}.tmx").write_text(text, encoding="utf-8")
    # As on the page, where the files are named on the command line and the recipe's variable is not set.
    monkeypatch.delenv("HIER_NMT_CORPUS", raising=False)
    files = [f"--data.{part}=[{tmp_path / name}.tmx]" for part, name in (("train", "train"), ("validation", "dev"))]
    options = [*files, f"--training.init_from={tmp_path / 'base'}", f"--training.output_dir={tmp_path / 'run'}"]
    short = ["--training.max_steps=2", "--training.warmup_steps=0", "--training.lr_scheduler_type=constant"]
    short += ["--training.lr_scheduler_kwargs={}", "--training.use_cpu=true", "--training.bf16=false"]
    assert main(["train", repository / "training" / "recipes" / "adapt.yaml", *options, *short]) == 0
    assert (tmp_path / "run" / "model.safetensors").is_file()
