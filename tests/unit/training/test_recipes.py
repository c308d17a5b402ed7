# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import dataclasses
import inspect
import json
import re
from pathlib import Path

import pytest
import torch
import yaml
from tiny_models import tiny_model
from word_translation import word_tokenizer

from hier_nmt.configuration.configuration_hier_nmt import HierNMTConfig
from hier_nmt.configuration.configuration_rnn_nmt import RNNNMTConfig
from hier_nmt.configuration.translation_config import TransformerConfig, TranslationConfig
from hier_nmt.data.corpora import FORMATS
from hier_nmt.data.focus import Focus
from hier_nmt.data.pair_cleaning import Cleaning, Replacement
from hier_nmt.data.tokenization import save_tokenizers
from hier_nmt.data.training_corpora import Corpus
from hier_nmt.training import recipes
from hier_nmt.training.prepared_data import Tokenizers, prepare_tokenizers
from hier_nmt.training.recipe_sections import DataSection, RecipeError, TokenizerSection
from hier_nmt.training.recipes import Recipe
from hier_nmt.training.runs import build_model, claim_output_dir, finished_summary


@pytest.fixture
def sections(tmp_path) -> dict:
    """The smallest recipe with keys of every section."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("")
    return {
        "data": {"train": [str(corpus)], "source_language": "en", "target_language": "fr"},
        "tokenizer": {"vocab_size": 500},
        "model": {"d_model": 16, "window_sentences": 4},
        "training": {"output_dir": str(tmp_path / "run"), "context_discount": 0.1},
        "generation": {"num_beams": 4},
    }


@pytest.fixture
def load(tmp_path, sections):
    """Loads the sections, written to a file, under overrides."""

    def write_and_load(*overrides: str) -> Recipe:
        path = tmp_path / "recipe.yaml"
        path.write_text(yaml.safe_dump(sections), encoding="utf-8")
        return Recipe.load(path, overrides)

    return write_and_load


def test_sections_become_configuration_and_arguments(load):
    recipe = load()
    config = recipe.model_config(500, None, pad_token_id=0)
    arguments = recipe.training_arguments()
    assert (config.d_model, config.window_sentences, config.vocab_size) == (16, 4, 500)
    assert (config.source_language, config.target_language) == ("en", "fr")
    assert (arguments.context_discount, arguments.max_tokens_per_batch) == (0.1, None)
    assert recipe.generation == {"num_beams": 4}


def test_a_model_trained_with_terms_says_so(load, tmp_path):
    (tmp_path / "terms.tsv").write_text("a\tb\n")
    tokenizers = Tokenizers(word_tokenizer(), word_tokenizer())
    glossary = f"--data.augmentation={{glossary: {tmp_path / 'terms.tsv'}}}"
    for overrides in ([], [glossary]):
        model = build_model(
            load("--model.encoder_attention_heads=2", "--model.decoder_attention_heads=2", *overrides), tokenizers
        )
        assert model.config.reads_inline_terms == bool(overrides)


def test_a_model_saved_in_bfloat16_is_trained_in_float32(load, tmp_path):
    tokenizer, folder = word_tokenizer(), tmp_path / "start"
    tiny_model(vocab_size=len(tokenizer)).bfloat16().save_pretrained(folder)
    save_tokenizers(folder, tokenizer)
    recipe = load(f"--training.init_from={folder}", "--training.init_config=true")
    model = build_model(recipe, Tokenizers(tokenizer, tokenizer))
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert model.config.dtype == torch.float32


def test_a_model_is_not_trained_further_for_another_language(load, tmp_path):
    folder = tmp_path / "start"
    tiny_model(source_language="en", target_language="fr-CA").save_pretrained(folder)
    options = (f"--training.init_from={folder}", "--training.init_config=true", "--data.source_language=en")
    assert load(*options, "--data.target_language=fr").init_config
    with pytest.raises(RecipeError, match="the model's target language is 'fr-CA', not 'de'"):
        load(*options, "--data.target_language=de")


def test_separate_vocabularies_are_not_shared(load):
    config = load("--tokenizer.joint=false").model_config(500, 400)
    assert (config.vocab_size, config.decoder_vocab_size, config.share_encoder_decoder_embeddings) == (500, 400, False)


@pytest.mark.parametrize("multiplies", [True, False])
@pytest.mark.parametrize("override", ["--training.use_cpu=true", "--training.use_cpu=false"])
def test_without_a_gpu_automatic_bfloat16_is_that_of_the_processor(load, monkeypatch, override, multiplies):
    monkeypatch.setattr(recipes, "multiplies_bfloat16", lambda: multiplies)
    arguments = load("--training.bf16=auto", override).training_arguments()
    assert (arguments.bf16, arguments.use_cpu, arguments.device.type) == (multiplies, True, "cpu")


@pytest.mark.parametrize(("override", "uses_cpu"), [("--training.use_cpu=true", True), ("--training.seed=1", False)])
@pytest.mark.parametrize("multiplies", [True, False])
def test_with_a_gpu_automatic_bfloat16_is_that_of_the_device_that_is_used(
    load, monkeypatch, override, uses_cpu, multiplies
):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: multiplies)
    monkeypatch.setattr(recipes, "multiplies_bfloat16", lambda: not multiplies)
    # The arguments themselves would look for the GPU.
    monkeypatch.setattr(recipes, "DocumentSeq2SeqTrainingArguments", lambda **given: given)
    given = load("--training.bf16=auto", override).training_arguments()
    assert given["bf16"] == (multiplies != uses_cpu)
    assert given.get("use_cpu", False) == uses_cpu


def test_bfloat16_that_was_asked_for_is_not_given_up(load):
    with pytest.raises(RecipeError, match="Your setup doesn't support bf16/gpu"):
        load("--training.bf16=true").training_arguments()
    with pytest.raises(RecipeError, match=r"training\.bf16 must be bool \| 'auto', got str 'perhaps'"):
        load("--training.bf16=perhaps")


def test_the_command_line_overrides_the_file(load):
    recipe = load(
        "--training.learning_rate=3e-4", "--training.init_from=.", "--data.skip_bad=true", "--model.d_model=32"
    )
    assert recipe.training_arguments().learning_rate == 3e-4
    assert (recipe.init_from, recipe.data.skip_bad, recipe.model["d_model"]) == (".", True, 32)


def test_a_recipe_names_the_family_of_its_model(load, sections):
    assert type(load().model_config(500, None)) is HierNMTConfig
    sections["model"] = {"model_type": "rnn_nmt", "rnn_type": "gru", "hidden_size": 8, "bidirectional": False}
    sections["training"].pop("context_discount")
    recipe = load("--model.attention=none")
    config = recipe.model_config(500, 400, pad_token_id=0)
    assert type(config) is RNNNMTConfig
    assert (config.rnn_type, config.attention, config.hidden_size) == ("gru", "none", 8)
    assert (config.vocab_size, config.decoder_vocab_size, config.target_language) == (500, 400, "fr")
    assert recipe.as_dict()["model"]["model_type"] == "rnn_nmt"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "--model.model_type=rnn",
            "model.model_type='rnn' is unknown; known are hier_nmt, han_nmt, rnn_nmt",
        ),
        ("--model.model_type=hier_nmt", "unknown key model.rnn_type"),
        ("--model.d_model=16", "command line: unknown key model.d_model"),
        ("--model.hidden_size=2.5", "command line: model.hidden_size must be int, got float 2.5"),
        ("--model.rnn_type=rnn", "section model: rnn_type='rnn' is unknown; choose one of lstm, gru."),
        ("--model.vocab_size=7", "unknown key model.vocab_size (it follows from the tokenizer and the data section)"),
        ("--model.window_sentences=3", "section model: window_sentences=3 is impossible: a recurrent model"),
    ],
)
def test_a_bad_value_of_the_recurrent_family_is_named(load, sections, override, message):
    sections["model"] = {"model_type": "rnn_nmt", "rnn_type": "gru"}
    sections["training"].pop("context_discount")
    with pytest.raises(RecipeError) as error:
        load(override)
    assert message in str(error.value)


def test_a_bare_no_switches_a_strategy_off_although_yaml_reads_false(load):
    assert load("--training.eval_strategy=no").training_arguments().eval_strategy == "no"


def test_environment_variables_are_put_into_strings(load, monkeypatch, tmp_path):
    monkeypatch.setenv("CORPORA", str(tmp_path))
    assert load("--data.train=[$CORPORA/corpus.jsonl]").data.train == [f"{tmp_path}/corpus.jsonl"]


def test_corpora_may_be_mappings_with_their_own_format_and_weight(load, sections, tmp_path, monkeypatch):
    monkeypatch.setenv("CORPORA", str(tmp_path))
    corpus = {"path": "$CORPORA/corpus.jsonl", "format": "tmx", "weight": 0.5}
    sections["data"]["train"].append(corpus)
    sections["data"]["cleaning"] = {"max_copies": 3, "replace": [{"pattern": "x$", "side": "target"}]}
    data = load().data
    assert data.train[1] == Corpus([f"{tmp_path}/corpus.jsonl"], "tmx", weight=0.5)
    assert data.cleaning == Cleaning(max_copies=3, replace=[Replacement("x$", "", "target")])
    assert data.training_corpora.corpora == (Corpus([f"{tmp_path}/corpus.jsonl"]), data.train[1])


def test_a_value_that_the_command_line_replaces_need_not_be_valid(load, sections, tmp_path):
    path = str(tmp_path / "corpus.jsonl")
    sections["data"]["train"] = ["$NO_SUCH_VARIABLE/corpus.jsonl"]
    with pytest.raises(RecipeError, match="NO_SUCH_VARIABLE"):
        load()
    assert load(f"--data.train=[{path}]").data.train == [path]


def test_scored_texts_are_excluded_from_cleaned_training_corpora_only(load, sections, tmp_path):
    path = str(tmp_path / "corpus.jsonl")
    sections["data"]["validation"] = [path]
    assert load().data.training_corpora.excluded == ()
    cleaned = load("--data.cleaning={remove_marks: true, max_copies: 3}").data
    assert cleaned.training_corpora.excluded == (Corpus([path]),)
    assert cleaned.validation_corpora.cleaning == Cleaning(remove_marks=True)
    other = load(f"--data.exclude=[{path}]").data.training_corpora
    assert other.excluded == (Corpus([path, path]),)


@pytest.mark.parametrize("name", ["general-sentence", "general-s4to4"])
def test_the_recipes_of_large_corpora_fit_their_files(repository, tmp_path, monkeypatch, name):
    path = repository / "training" / "recipes" / "en-fr" / f"{name}.yaml"
    monkeypatch.setenv("HIER_NMT_CORPORA", str(tmp_path))
    # Of the runs that they continue.
    monkeypatch.chdir(tmp_path)
    for run in ("europarl-s4to4", "general-sentence"):
        (tmp_path / "runs" / run).mkdir(parents=True)
    for file in re.findall(r"\$HIER_NMT_CORPORA/([\w./-]+)", path.read_text(encoding="utf-8")):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    recipe = Recipe.load(path)
    scored_or_kept = {file for corpus in recipe.data.training_corpora.excluded for file in corpus.path}
    trained = {file for corpus in recipe.data.training_corpora.corpora for file in corpus.path}
    assert not trained & scored_or_kept
    assert not any(re.search(r"(dev|test|rest)_?[\w]*\.jsonl", file) for file in trained)
    assert recipe.training_arguments().max_steps > 0


def test_a_recipe_read_back_from_its_sections_is_the_same(load, tmp_path):
    (tmp_path / "focus.tsv").touch()
    focus = f"--data.focus={{path: {tmp_path / 'focus.tsv'}, weight: 2}}"
    recipe = load("--training.average_checkpoints=3", "--data.cleaning={replace: [{pattern: a}]}", focus)
    path = tmp_path / "again.yaml"
    path.write_text(yaml.safe_dump(recipe.as_dict()), encoding="utf-8")
    assert Recipe.load(path) == recipe


@pytest.fixture
def started(load, tmp_path):
    """A recipe whose run has a checkpoint, and the file of its recipe, as a version without two newer keys saved it."""
    recipe = load("--data.cleaning={replace: [{pattern: a$}]}")
    claim_output_dir(recipe)
    path = tmp_path / "run" / "recipe.yaml"
    sections = yaml.safe_load(path.read_text())
    del sections["data"]["augmentation"]["split_share"], sections["data"]["focus"]
    path.write_text(yaml.safe_dump(sections))
    (tmp_path / "run" / "checkpoint-1").mkdir()
    return recipe, path


def test_a_run_of_an_earlier_version_continues_with_the_defaults_of_newer_keys(started):
    recipe, path = started
    claim_output_dir(recipe)
    assert yaml.safe_load(path.read_text()) == recipe.as_dict()


def test_a_run_of_an_earlier_version_does_not_continue_with_other_values_of_newer_keys(load, started):
    other = load("--data.cleaning={replace: [{pattern: a$}]}", "--data.augmentation={split_share: 0.5}")
    with pytest.raises(RecipeError, match=r"has a run with data\.augmentation=.*'split_share': 0\.0"):
        claim_output_dir(other)


def test_a_finished_run_of_an_earlier_version_is_finished(started):
    recipe, path = started
    summary = {"recipe": yaml.safe_load(path.read_text())}
    (path.parent / "training_summary.json").write_text(json.dumps(summary))
    assert finished_summary(recipe) == summary


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("--training.learning_rat=1", "command line: unknown key training.learning_rat; did you mean 'learning_rate'?"),
        ("--modle.d_model=16", "command line: unknown section 'modle'; did you mean 'model'?"),
        ("--model.vocab_size=7", "unknown key model.vocab_size (it follows from the tokenizer and the data section)"),
        ("--learning_rate=1", "command line: '--learning_rate=1' should read --section.key=value"),
        ("--model.d_model", "command line: '--model.d_model' should read --section.key=value"),
        ("--model.d_model=[", "command line: the value of model.d_model is not YAML"),
        ("--model.d_model=true", "command line: model.d_model must be int, got bool True"),
        ("--model.d_model=1.5", "command line: model.d_model must be int, got float 1.5"),
        ("--data.source_language=no", "command line: data.source_language must be str, got bool False"),
        ("--data.train=a.jsonl", "command line: data.train must be list[str | a mapping (path, format, "),
        ("--data.train=[{weight: 2}]", "command line: data.train: path is missing"),
        ("--data.train=[{path: a, wight: 2}]", "data.train: unknown key 'wight'; did you mean 'weight'?"),
        ("--data.train=[{path: a, weight: many}]", "data.train: weight must be float, got str 'many'"),
        ("--data.train=[{path: a, weight: -1}]", "data.train: weight=-1.0 must be more than 0"),
        ("--data.train=[{path: absent.tsv, format: tab-separated}]", "data.train: no such file: absent.tsv"),
        ("--data.exclude=[absent.tsv]", "data.exclude: no such file: absent.tsv"),
        ("--data.cleaning={max_copies: 0}", "data.cleaning: max_copies=0 must be at least 1"),
        ("--data.cleaning={replace: [{pattern: (}]}", "data.cleaning: pattern '(' with text '': missing )"),
        ("--data.augmentation={uppercase_share: 2}", "data.augmentation: uppercase_share=2.0 must be at least 0"),
        ("--data.augmentation={split_share: -1}", "data.augmentation: split_share=-1.0 must be from 0 to 1"),
        ("--data.focus={path: absent.tsv, weight: 2}", "data.focus: no such file: absent.tsv"),
        ("--data.focus={path: absent.tsv}", "data.focus: weight is missing"),
        ("--data.focus={path: absent.tsv, weight: 0.5}", "data.focus: weight=0.5 must be at least 1, and finite"),
        ("--data.overlong=drop", "command line: data.overlong must be 'error' | 'skip', got str 'drop'"),
        ("--data.format=docx", "command line: data.format must be 'json-lines' | "),
        ("--training.eval_strategy=stpes", "training.eval_strategy must be 'no' | 'steps' | 'epoch', got str 'stpes'"),
        ("--training.learning_rate=fast", "command line: training.learning_rate must be float, got str 'fast'"),
        ("--data.train=[$NO_SUCH_VARIABLE/a]", "data.train: the environment variable '$NO_SUCH_VARIABLE' is not set"),
        ("--data.train=[]", "data.train is empty"),
        ("--data.train=[absent.jsonl]", "data.train: no such file: absent.jsonl"),
        ("--data.validation=[absent.jsonl]", "data.validation: no such file: absent.jsonl"),
        pytest.param(f"--data.train=[{'a' * 300}]", "data.train: no such file: aaa", id="long name"),
        pytest.param(f"--training.learning_rate={'9' * 400}", "must be float, got int 999", id="large number"),
        pytest.param(f"--data.overlong={'a' * 9000}e", f"{'a' * 900} ... {'a' * 998}e'", id="long value"),
        ("--tokenizer.path=absent", "tokenizer.path: no such directory: absent"),
        ("--training.init_from=absent", "training.init_from: no such directory: absent"),
        ("--model.window_sentences=-1", "model.window_sentences=-1 must be 0 (whole documents) or more"),
        ("--model.window_sentences=0", "training.context_discount=0.1 with model.window_sentences=0: whole documents"),
        ("--model.window_sentences=1", "training.context_discount=0.1 with model.window_sentences=1: there is no cont"),
        ("--training.context_discount=1.5", "training.context_discount=1.5 must be from 0 to 1"),
        ("--model.segment_shift=8", "model.segment_shift=8 needs model.position_encoding: segment_shifted"),
        ("--model.encoder_attention_heads=3", "section model: encoder_attention_heads=3 must divide d_model=16."),
        ("--model.position_encoding=shifted", "section model: position_encoding='shifted' is unknown"),
        ("--training.eval_strategy=epoch", "training.eval_strategy=epoch needs data.validation"),
        (
            "--training.metric_for_best_model=bleu",
            "training.metric_for_best_model=bleu needs training.predict_with_gen",
        ),
        (
            "--training.contrast_words=[[il, elle], on]",
            "training.contrast_words must be list[list[str]] | null, got list [['il', 'elle'], True]",
        ),
        ("--training.average_checkpoints=-1", "training.average_checkpoints=-1 must not be negative"),
        ("--training.output_dir=", "training.output_dir is missing"),
    ],
)
def test_a_bad_key_or_value_is_named(load, override, message):
    with pytest.raises(RecipeError) as error:
        load(override)
    assert message in str(error.value)


def test_contrasted_words_need_context_and_a_softmax(load, sections):
    sections["training"] = {"output_dir": "run", "contrast_words": [["il", "elle"]], "contrast_weight": 2}
    assert load().training_arguments().contrast_words == [["il", "elle"]]
    assert load("--model.window_sentences=0").training_arguments().contrast_weight == 2
    with pytest.raises(RecipeError, match=r"contrast_words=\[\['il', 'elle'\]\] with model.window_sentences=1: a sent"):
        load("--model.window_sentences=1")
    with pytest.raises(RecipeError, match="section training: contrast_words must be pairs of two different words"):
        load("--training.contrast_words=[[il]]").training_arguments()
    sections["model"] = {"model_type": "han_nmt", "word_vector_size": 8}
    with pytest.raises(RecipeError, match=r"contrast_words with model\.word_vector_size=8: vectors have no prob"):
        load("--tokenizer.joint=false", "--tokenizer.path=.", "--training.init_from=.")


def test_contrasted_words_that_are_not_tokens_are_an_error_before_the_data_are_read(load, tmp_path):
    save_tokenizers(tmp_path / "tokenizer", word_tokenizer())
    (tmp_path / "run").mkdir()
    tokenizer = f"--tokenizer.path={tmp_path / 'tokenizer'}"
    prepare_tokenizers(load(tokenizer, "--training.contrast_words=[[a, b]]"))
    with pytest.raises(RecipeError, match="section training: contrast_words: 'elle' is not a single token"):
        prepare_tokenizers(load(tokenizer, "--training.contrast_words=[[a, b], [a, elle]]"))


def test_dropped_words_need_an_unknown_token_before_the_data_are_read(load, tmp_path):
    tokenizer = word_tokenizer()
    tokenizer.unk_token = None
    save_tokenizers(tmp_path / "tokenizer", tokenizer)
    (tmp_path / "run").mkdir()
    path = f"--tokenizer.path={tmp_path / 'tokenizer'}"
    prepare_tokenizers(load(path))
    with pytest.raises(
        RecipeError, match="section training: source_word_dropout needs a source tokenizer with an unk_"
    ):
        prepare_tokenizers(load(path, "--training.source_word_dropout=0.1"))


def test_more_checkpoints_averaged_than_kept_is_refused(load):
    with pytest.raises(RecipeError, match=r"average_checkpoints=5, but training\.save_total_limit=2 keeps fewer"):
        load("--training.average_checkpoints=5", "--training.save_total_limit=2")


def test_sentence_level_models_cannot_focus_on_context(load, sections, tmp_path):
    path = tmp_path / "focus.tsv"
    path.write_text("One.\tUn.\n")
    sections["training"].pop("context_discount")
    focus = f"--data.focus={{path: {path}, weight: 1.5}}"
    assert load(focus).data.focus == Focus(str(path), 1.5)
    assert load(focus, "--model.window_sentences=0").data.focus == Focus(str(path), 1.5)
    with pytest.raises(
        RecipeError, match=r"data\.focus with model\.window_sentences=1: windows of one sentence have no"
    ):
        load(focus, "--model.window_sentences=1")


def test_what_transformers_refuses_is_a_recipe_error(load):
    recipe = load("--training.load_best_model_at_end=true", "--training.save_strategy=epoch")
    with pytest.raises(RecipeError, match="section training: "):
        recipe.training_arguments()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: [", "is not a YAML file"),
        ("just text", "a recipe has the sections data, tokenizer"),
        ("data: 3", "section data must have keys and values, found 3"),
        ("dat: {}", "unknown section 'dat'; did you mean 'data'?"),
        ("data: {train: [a], train: [b]}", "the key 'train' occurs twice"),
        ("a: &x [1]\nb: *x", "*x is an alias"),
        ("a: &x [*x]", "*x is an alias"),
        ("[" * 1500, "is not a YAML file"),
        ("#" * 100_001, "100001 characters are too many for a recipe"),
        ("data: {num_proc: 2001-99-99}", "is not a YAML file"),
        ("data: {num_proc: " + "9" * 5000 + "}", "is not a YAML file"),
        ("a: !!python/object/apply:os.getcwd []", "is not a YAML file"),
        ("a: !!binary x", "is not a YAML file"),
        ("data: {train: [a], target_language: fr}", "data.source_language is missing"),
    ],
)
def test_a_bad_file_is_named_with_the_reason(tmp_path, text, message):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError) as error:
        Recipe.load(path)
    assert str(path) in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize("value", ["2001-99-99", "[" * 1500, "!!python/name:os.system", "*x", "0x_"])
def test_a_bad_value_on_the_command_line_is_named(tmp_path, value):
    path = tmp_path / "good.yaml"
    path.write_text("data: {train: [a], source_language: en, target_language: fr}", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"command line: the value of data.num_proc is not YAML"):
        Recipe.load(path, [f"--data.num_proc={value}"])


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(RecipeError, match=r"no such recipe: .*absent\.yaml"):
        Recipe.load(tmp_path / "absent.yaml")


def test_the_formats_are_those_of_the_readers(load):
    hint = inspect.get_annotations(DataSection)["format"]
    assert set(hint.__args__) == set(FORMATS)


RECIPES = Path(__file__).parents[3] / "training" / "recipes"
# The only one that `hier-nmt train` does not read.
MARIAN_RECIPE = RECIPES / "en-fr" / "marian-sentence.yaml"


def committed_recipes() -> list[Path]:
    return sorted(set(RECIPES.rglob("*.yaml")) - {MARIAN_RECIPE})


def test_the_recipe_of_a_marian_model_is_refused_with_the_script_that_reads_it():
    with pytest.raises(RecipeError, match=r"marian-sentence\.yaml: .*; training/marian/train_marian\.py trains such"):
        Recipe.load(MARIAN_RECIPE)


def test_the_annotated_recipe_names_every_key(repository, tmp_path):
    path = repository / "training" / "recipes" / "en-fr" / "annotated.yaml"
    sections = yaml.safe_load(path.read_text(encoding="utf-8"))
    derived = {
        "vocab_size",
        "decoder_vocab_size",
        "source_language",
        "target_language",
        "reads_inline_terms",
        "is_encoder_decoder",
        "use_cache",
    }
    assert set(sections["data"]) == {item.name for item in dataclasses.fields(DataSection)}
    assert set(sections["tokenizer"]) == {item.name for item in dataclasses.fields(TokenizerSection)}
    assert set(sections["model"]) == {"model_type"} | {
        name
        for one in (HierNMTConfig, TransformerConfig, TranslationConfig)
        for name in inspect.get_annotations(one)
        if name not in derived and not name.endswith("_token_id")
    }
    assert {"context_discount", "max_tokens_per_batch", "init_from", "average_checkpoints"} <= set(sections["training"])
    # The files of its corpus are generated, and do not exist here.
    (tmp_path / "corpus.jsonl").touch()
    files = [f"--data.{name}=[{tmp_path / 'corpus.jsonl'}]" for name in ("train", "validation")]
    recipe = Recipe.load(path, files)
    assert recipe.training_arguments().output_dir == "runs/annotated"


@pytest.mark.parametrize("path", [path for path in committed_recipes() if "\n  word_vector_size: " in path.read_text()])
def test_the_recipes_of_word_vectors_are_valid_beside_the_files_that_they_name(path, tmp_path, monkeypatch):
    monkeypatch.setenv("HIER_NMT_DATA", str(tmp_path))
    names = re.findall(r"HIER_NMT_DATA/([\w.-]+)", path.read_text(encoding="utf-8"))
    for name in names:
        (tmp_path / name).touch()
    recipe = Recipe.load(path)
    assert recipe.model_config(90, 110).word_vector_size in (100, 300)
    assert recipe.training["output_dir"].endswith(path.parent.name)
    assert [recipe.data.source_language, recipe.data.target_language] == path.parent.name.split("-")
    assert len(names) == 4


@pytest.mark.parametrize("path", committed_recipes(), ids=lambda path: path.name)
def test_committed_recipes_say_how_large_the_model_is_and_where_the_seed_comes_from(path):
    sections = yaml.safe_load(path.read_text(encoding="utf-8"))
    width = "hidden_size" if sections["model"].get("model_type") == "rnn_nmt" else "d_model"
    # A continued network has the size of the one it comes from.
    assert {"window_sentences"} | (set() if sections["training"].get("init_config") else {width}) <= sections[
        "model"
    ].keys()
    assert {"seed", "output_dir"} <= sections["training"].keys()
