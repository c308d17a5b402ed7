# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
import math
from types import MethodType

import numpy as np
import pytest
import torch
from datasets import Dataset
from huggingface_hub import ModelCard
from tiny_training import tiny_model, tiny_trainer, tiny_windows
from transformers import AutoConfig, AutoTokenizer, TrainerCallback
from word_translation import BOS, EOS, PAD, PAR, SEP, UNK, word_tokenizer

from hier_nmt.data.collator import DocumentCollator
from hier_nmt.data.window_tables import weighted_windows
from hier_nmt.models.hier_nmt.sentence_models import HIDDEN_LOGIT
from hier_nmt.publishing.adapted_card import AdaptedModel, adapted_card, write_trained_card
from hier_nmt.training.trainer import DocumentSeq2SeqTrainer
from hier_nmt.training.trainer_callbacks import WholeRepositoryCallback
from hier_nmt.training.training_arguments import DocumentSeq2SeqTrainingArguments


class BatchRecorder(TrainerCallback):
    """Keeps what each step was given, through the trainer's `compute_loss`."""

    def __init__(self, trainer: DocumentSeq2SeqTrainer) -> None:
        self.batches: list[dict[str, torch.Tensor]] = []
        compute_loss = trainer.compute_loss

        def recording(model, inputs, *args, **kwargs):
            self.batches.append(inputs)
            return compute_loss(model, inputs, *args, **kwargs)

        trainer.compute_loss = recording

    def windows(self) -> list[tuple[int, ...]]:
        return [
            tuple(ids for ids in row if ids != PAD) for batch in self.batches for row in batch["input_ids"].tolist()
        ]


def without_padding(rows) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for row in rows["input_ids"])


def test_an_epoch_of_token_batches_holds_each_window_once_within_the_limit(tmp_path):
    windows = tiny_windows(11)
    trainer = tiny_trainer(tmp_path, windows, max_tokens_per_batch=24, num_train_epochs=2)
    recorder = BatchRecorder(trainer)
    trainer.train()
    seen = recorder.windows()
    assert sorted(seen[:11]) == sorted(seen[11:]) == without_padding(windows)
    assert seen[:11] != seen[11:]  # each epoch has its own order
    assert all(batch["input_ids"].numel() <= 24 and batch["labels"].numel() <= 24 for batch in recorder.batches)


def test_no_batch_has_a_repeated_window_twice(tmp_path):
    windows = tiny_windows(200).filter(lambda row: row["length"] > 5)  # shorter ones may be equal by chance
    windows = windows.add_column("corpus", [0] * len(windows))
    windows = weighted_windows(windows, [1], np.where(np.arange(len(windows)) < 20, 5.0, 1.0))
    trainer = tiny_trainer(tmp_path, windows, max_tokens_per_batch=24, num_train_epochs=1)
    recorder = BatchRecorder(trainer)
    trainer.train()
    assert sorted(recorder.windows()) == without_padding(windows)
    assert all(len(torch.unique(batch["input_ids"], dim=0)) == len(batch["input_ids"]) for batch in recorder.batches)


@pytest.mark.parametrize("options", [{}, {"source_word_dropout": 0.3}], ids=["plain", "word dropout"])
@pytest.mark.parametrize("batches", [{"max_tokens_per_batch": 24}, {"per_device_train_batch_size": 3}])
def test_training_resumed_in_mid_epoch_ends_with_the_same_weights(tmp_path, batches, options):
    # 11 windows make 5 or 4 batches: step 7 is in the second epoch.
    arguments = {"learning_rate": 0.1, "optim": "adamw_torch", "max_steps": 9, "dropout": 0.3, **batches, **options}
    whole = tiny_trainer(tmp_path / "whole", tiny_windows(11), **arguments)
    whole.train()
    stopped = tiny_trainer(tmp_path / "stopped", tiny_windows(11), save_strategy="steps", save_steps=7, **arguments)
    stopped.train()
    resumed = tiny_trainer(tmp_path / "stopped", tiny_windows(11), **arguments)
    resumed.train(resume_from_checkpoint=str(tmp_path / "stopped" / "checkpoint-7"))
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, resumed.model.state_dict()[name]), name
    assert losses(resumed) == losses(whole)


def losses(trainer: DocumentSeq2SeqTrainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_the_model_computes_no_loss_of_its_own(tmp_path):
    trainer = tiny_trainer(tmp_path, tiny_windows(4), max_steps=1)
    given: list[dict] = []
    trainer.model.register_forward_pre_hook(lambda model, args, inputs: given.append(inputs), with_kwargs=True)
    trainer.train()
    assert "labels" not in given[0]


def test_context_sentences_are_discounted(tmp_path):
    """The logged loss is (sum over the current sentence + discount * sum over the others) / number of target tokens."""
    a, b, c = range(PAR + 1, PAR + 4)
    row = {"input_ids": [a, SEP, b, EOS], "labels": [a, b, PAR, c, EOS], "length": 5}
    trainer = tiny_trainer(tmp_path, Dataset.from_list([row]), max_steps=1, context_discount=0.25)
    with torch.no_grad():
        logits = trainer.model(
            input_ids=torch.tensor([row["input_ids"]]), decoder_input_ids=torch.tensor([[BOS, a, b, PAR, c]])
        ).logits[0]
    token_losses = [-math.log(scores.softmax(-1)[label]) for scores, label in zip(logits, row["labels"], strict=True)]
    trainer.train()
    expected = (0.25 * sum(token_losses[:3]) + sum(token_losses[3:])) / 5
    assert losses(trainer) == pytest.approx([expected], rel=1e-5)


def test_words_that_the_context_decides_count_more_in_training_and_the_same_in_validation(tmp_path):
    a, b, c = range(PAR + 1, PAR + 4)
    row = {"input_ids": [a, SEP, b, EOS], "labels": [a, b, PAR, a, c, EOS], "length": 6}
    windows = Dataset.from_list([row])
    contrast = {
        "contrast_words": [["a", "b"]],
        "contrast_weight": 3.0,
        "contrast_margin": 5.0,
        "contrast_margin_weight": 0.5,
    }
    arguments = {"max_steps": 1, "learning_rate": 0.0, "context_discount": 0.25}
    plain = tiny_trainer(tmp_path, windows, windows, **arguments)
    trainer = tiny_trainer(tmp_path, windows, windows, **contrast, **arguments)
    with torch.no_grad():
        logits = trainer.model(
            input_ids=torch.tensor([row["input_ids"]]), decoder_input_ids=torch.tensor([[BOS, a, b, PAR, a, c]])
        ).logits[0]
    for one in (plain, trainer):
        one.train()
    scores = logits[3].tolist()
    # The word a of the second sentence: a further two of its cross-entropies, and what it lacks to the margin.
    further = -2 * math.log(logits[3].softmax(-1)[a]) + 0.5 * max(0.0, 5.0 - (scores[a] - scores[b]))
    assert losses(trainer) == pytest.approx([losses(plain)[0] + further / 6], rel=1e-5)
    names = ("eval_loss", "eval_current_loss")
    found, expected = trainer.evaluate(), plain.evaluate()
    assert [found[name] for name in names] == [expected[name] for name in names]


def test_source_words_are_dropped_in_training_only(tmp_path):
    windows = tiny_windows(6)
    plain = tiny_trainer(tmp_path, windows, windows, max_steps=1)
    trainer = tiny_trainer(tmp_path, windows, windows, max_steps=1, learning_rate=0.0, source_word_dropout=0.9999)
    given: list[torch.Tensor] = []
    trainer.model.register_forward_pre_hook(
        lambda model, args, inputs: given.append(inputs["input_ids"]), with_kwargs=True
    )
    expected = plain.evaluate()["eval_loss"]
    assert trainer.evaluate()["eval_loss"] == expected
    assert not any((ids == UNK).any() for ids in given)
    given.clear()
    trainer.train()
    assert len(given) == 1
    assert (given[0] == UNK).any()
    for ids in given[0].tolist():
        dropped = [index for index, token in enumerate(ids) if token == UNK]
        last = max((index + 1 for index, token in enumerate(ids) if token in (SEP, PAR)), default=0)
        assert dropped == list(range(last, ids.index(EOS)))
    trainer.model.eval()
    given.clear()
    trainer.compute_loss(trainer.model, trainer.data_collator([windows[0]]))
    assert not (given[0] == UNK).any()


def test_the_context_options_need_context_and_a_softmax(tmp_path, monkeypatch):
    arguments = DocumentSeq2SeqTrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, report_to="none", contrast_words=[["a", "b"]]
    )

    def trainer_of(**changes) -> DocumentSeq2SeqTrainer:
        model = tiny_model(**changes)
        return DocumentSeq2SeqTrainer(model, arguments, DocumentCollator(PAD, BOS), processing_class=word_tokenizer())

    with pytest.raises(ValueError, match=r"contrast_words=\[\['a', 'b'\]\] with window_sentences=1: a sentence by its"):
        trainer_of(window_sentences=1)
    trainer_of(window_sentences=0)
    monkeypatch.setattr(type(tiny_model().config), "word_vector_size", 16, raising=False)
    with pytest.raises(ValueError, match=r"contrast_words=\[\['a', 'b'\]\] need a softmax"):
        trainer_of()


def test_validation_losses_are_means_over_tokens_whatever_the_batches(tmp_path):
    windows = tiny_windows(5)
    settings = {"context_discount": 0.1, "label_smoothing_factor": 0.1}
    scores = [
        tiny_trainer(tmp_path, validation=windows, per_device_eval_batch_size=size, **settings).evaluate()
        for size in (1, 2, 5)
    ]
    model = tiny_trainer(tmp_path).model
    sums = {"all": [0.0, 0], "current": [0.0, 0]}
    for row in windows:
        labels = row["labels"]
        with torch.no_grad():
            logits = model(
                input_ids=torch.tensor([row["input_ids"]]), decoder_input_ids=torch.tensor([[BOS, *labels[:-1]]])
            ).logits[0]
        start = max((index + 1 for index, label in enumerate(labels) if label in (SEP, PAR)), default=0)
        for index, label in enumerate(labels):
            loss = -math.log(logits[index].softmax(-1)[label])
            for name in ["all", "current"] if index >= start else ["all"]:
                sums[name][0] += loss
                sums[name][1] += 1
    for score in scores:
        assert score["eval_loss"] == pytest.approx(sums["all"][0] / sums["all"][1])
        assert score["eval_current_loss"] == pytest.approx(sums["current"][0] / sums["current"][1])


def translating_as(trainer: DocumentSeq2SeqTrainer, translations: dict[tuple[int, ...], list[int]]) -> None:
    """Makes the model produce the given output for each source."""

    def generate(self, input_ids, **kwargs):
        rows = [translations[tuple(token for token in row if token != PAD)] for row in input_ids.tolist()]
        length = max(map(len, rows)) + 1
        return torch.tensor([[BOS, *row, *[PAD] * (length - 1 - len(row))] for row in rows])

    trainer.model.generate = MethodType(generate, trainer.model)


def window(source: str, target: str) -> dict:
    tokenizer = word_tokenizer()
    special = {"/": SEP, "//": PAR}
    sides = [
        [special.get(word) or tokenizer.convert_tokens_to_ids(word) for word in side.split()] + [EOS]
        for side in (source, target)
    ]
    return {"input_ids": sides[0], "labels": sides[1], "length": max(map(len, sides))}


def said(trainer: DocumentSeq2SeqTrainer, windows: dict[str, str]) -> None:
    rows = [window(source, words) for source, words in windows.items()]
    translating_as(trainer, {tuple(row["input_ids"]): row["labels"] for row in rows})


def test_corpora_that_have_names_are_scored_one_by_one_too(tmp_path):
    windows = tiny_windows(9, seed=1).add_column("corpus", [0, 1, 2, 0, 1, 2, 0, 1, 2])
    trainer = tiny_trainer(tmp_path, validation=windows, eval_corpora=["news", None, "talks"])
    scores = trainer.evaluate()
    for index, name in ((0, "news"), (2, "talks")):
        alone = tiny_trainer(tmp_path, validation=windows.filter(lambda row, index=index: row["corpus"] == index))
        assert scores[f"eval_loss_{name}"] == pytest.approx(alone.evaluate()["eval_loss"])
    whole = tiny_trainer(tmp_path, validation=windows).evaluate()
    assert scores["eval_loss"] == pytest.approx(whole["eval_loss"])
    assert {key for key in scores if key.startswith("eval_loss_")} == {"eval_loss_news", "eval_loss_talks"}
    assert not any(key.startswith("eval_loss_") for key in whole)


def test_only_the_current_sentence_is_scored_and_wrong_sentence_counts_are_reported(tmp_path):
    references = [window("a / b c d e", "X / B C D E"), window("f g h i", "F G H I"), window("k // l m", "K // L M")]
    trainer = tiny_trainer(
        tmp_path, validation=Dataset.from_list(references), predict_with_generate=True, per_device_eval_batch_size=2
    )
    said(trainer, {"a / b c d e": "Y Y Y // B C D E", "f g h i": "F G H I", "k // l m": "K // L M"})
    scores = trainer.evaluate()
    assert scores["eval_bleu"] == pytest.approx(100)
    assert scores["eval_chrf"] == pytest.approx(100)
    assert scores["eval_wrong_sentence_count"] == 0
    said(trainer, {"a / b c d e": "X B C D E", "f g h i": "F / G H I", "k // l m": "K // L M"})
    scores = trainer.evaluate()
    assert scores["eval_wrong_sentence_count"] == pytest.approx(2 / 3)
    assert scores["eval_bleu"] < 100


def test_whole_documents_are_scored_whole(tmp_path):
    references = Dataset.from_list([window("a b c d / e f g h", "A B C D / E F G H")])
    trainer = tiny_trainer(tmp_path, validation=references, predict_with_generate=True)
    said(trainer, {"a b c d / e f g h": "Z Z Z Z / E F G H"})
    assert trainer.evaluate()["eval_bleu"] == pytest.approx(100)
    trainer.model.config.window_sentences = 0
    assert trainer.evaluate()["eval_bleu"] < 100


def test_predictions_come_in_the_order_of_the_rows(tmp_path):
    rows = [window("a", "A"), window("b c d", "B C D"), window("e f", "E F")]
    trainer = tiny_trainer(tmp_path, predict_with_generate=True, per_device_eval_batch_size=2)
    said(trainer, {"a": "A", "b c d": "B C D", "e f": "E F"})
    predictions = trainer.predict(Dataset.from_list(rows)).predictions
    assert [word_tokenizer().decode(row[row > PAR]) for row in predictions] == ["A", "B C D", "E F"]


def test_target_tokens_are_counted_and_their_rate_is_logged(tmp_path):
    windows = tiny_windows(8)
    trainer = tiny_trainer(tmp_path, windows, per_device_train_batch_size=4, num_train_epochs=2)
    trainer.train()
    entries = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert entries[-1]["num_target_tokens"] == 2 * sum(map(len, windows["labels"]))
    assert all(entry["tokens_per_second"] > 0 for entry in entries)
    assert entries[-1]["train_seconds"] > entries[0]["train_seconds"] > 0


@pytest.mark.parametrize("options", [{}, {"restore_callback_states_from_checkpoint": True}])
def test_target_tokens_of_a_checkpoint_between_two_log_entries_count(tmp_path, options):
    windows = tiny_windows(11)
    arguments = {"per_device_train_batch_size": 2, "logging_steps": 5, "save_strategy": "steps", "save_steps": 7}
    tiny_trainer(tmp_path, windows, max_steps=9, **arguments).train()
    resumed = tiny_trainer(tmp_path, windows, num_train_epochs=5, **arguments, **options)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-7"))
    *_, last = [entry for entry in resumed.state.log_history if "loss" in entry]
    assert last["num_target_tokens"] == 5 * sum(map(len, windows["labels"]))
    assert last["train_seconds"] > 0


def test_steps_after_the_last_log_entry_count(tmp_path):
    every, late = (
        tiny_trainer(tmp_path, tiny_windows(8), max_steps=3, per_device_train_batch_size=2, logging_steps=steps)
        for steps in (1, 2)
    )
    for trainer in (every, late):
        trainer.train()
    entries = [entry for entry in late.state.log_history if "num_target_tokens" in entry]
    assert [entry["step"] for entry in entries] == [2, 3]
    assert entries[0]["num_target_tokens"] < entries[1]["num_target_tokens"]
    assert entries[1]["num_target_tokens"] == every.state.log_history[-1]["num_target_tokens"]
    assert entries[0]["train_seconds"] < entries[1]["train_seconds"]


def test_a_checkpoint_of_an_earlier_version_without_counts_is_resumed_and_saved(tmp_path):
    arguments = {"per_device_train_batch_size": 2, "save_strategy": "steps", "save_steps": 3}
    tiny_trainer(tmp_path, tiny_windows(8), max_steps=3, **arguments).train()
    path = tmp_path / "checkpoint-3" / "trainer_state.json"
    state = json.loads(path.read_text())
    del state["stateful_callbacks"]["TokenThroughput"]
    path.write_text(json.dumps(state))
    resumed = tiny_trainer(tmp_path, tiny_windows(8), max_steps=6, **arguments)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert (tmp_path / "checkpoint-6" / "trainer_state.json").is_file()


def test_bf16_trains_on_the_cpu(tmp_path):
    trainer = tiny_trainer(tmp_path, tiny_windows(8), bf16=True, max_steps=2, learning_rate=0.1)
    trainer.train()
    assert all(map(math.isfinite, losses(trainer)))


def test_the_trainer_freezes_the_base_and_reveals_hidden_separators(tmp_path):
    gated = {"context_block": "document", "output_bias": True}
    trainer = tiny_trainer(tmp_path, tiny_windows(8), model=gated, freeze="base", max_steps=1, learning_rate=0.1)
    trainer.model.lm_head.bias.data[[SEP, PAR]] = HIDDEN_LOGIT
    before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    trainer.train()
    changed = {name for name, weight in trainer.model.named_parameters() if not torch.equal(weight, before[name])}
    # What a gate lets through is trained once it is open.
    assert changed == {name for name in before if name == "lm_head.bias" or name.endswith("context.gate")}
    assert trainer.model.lm_head.bias.min() > -1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"context_discount": 2.0}, "context_discount must be from 0 to 1, got 2.0"),
        ({"max_tokens_per_batch": 0}, "max_tokens_per_batch must be at least 1, got 0"),
        ({"save_on_each_node": True}, "save_on_each_node=True leaves checkpoints without a model"),
        ({"source_word_dropout": 1.0}, "source_word_dropout must be from 0 to below 1, got 1.0"),
        ({"source_word_dropout": math.nan}, "source_word_dropout must be from 0 to below 1, got nan"),
        ({"contrast_weight": 2.0}, "contrast_weight=2.0 needs contrast_words"),
        ({"contrast_margin": 2.0, "contrast_words": []}, "contrast_margin=2.0 needs contrast_words"),
        ({"contrast_words": [["a", "b"]], "contrast_weight": -1.0}, "contrast_weight must be at least 0 .* got -1.0"),
        ({"contrast_words": [["a", "b"]], "contrast_margin": math.inf}, "contrast_margin must be .* finite, got inf"),
        ({"contrast_words": [["a", "b"], ["c"]]}, r"contrast_words must be pairs of two different words, got \['c'\]"),
        ({"contrast_words": [["a", "a"]]}, r"contrast_words must be pairs of two different words, got \['a', 'a'\]"),
        ({"contrast_words": [["a", " b"]]}, r"contrast_words must be pairs .* got \['a', ' b'\]"),
    ],
)
def test_bad_arguments_are_named(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        DocumentSeq2SeqTrainingArguments(output_dir=str(tmp_path), **arguments)


def test_a_model_without_gated_blocks_has_no_base_to_freeze(tmp_path):
    with pytest.raises(ValueError, match="freeze: base leaves nothing to train"):
        tiny_trainer(tmp_path, tiny_windows(3), freeze="base")


def test_a_frozen_encoder_and_the_embeddings_it_shares_stay(tmp_path):
    trainer = tiny_trainer(tmp_path, tiny_windows(8), freeze="encoder", max_steps=1, learning_rate=0.1)
    before = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    trainer.train()
    changed = {name for name, weight in trainer.model.named_parameters() if not torch.equal(weight, before[name])}
    of_encoder = {name for name in before if name.startswith("model.encoder.") or name == "model.shared.weight"}
    assert of_encoder
    assert changed == set(before) - of_encoder


def test_token_batches_need_lengths(tmp_path):
    trainer = tiny_trainer(tmp_path, tiny_windows(3).remove_columns("length"), max_tokens_per_batch=20)
    with pytest.raises(ValueError, match="max_tokens_per_batch needs a dataset with a column 'length'"):
        trainer.train()


class WarmupRecorder(TrainerCallback):
    """Keeps by how much the selection of sentences was widened, step by step."""

    def __init__(self) -> None:
        self.widenings: list[set[float]] = []

    def on_step_end(self, args, state, control, model=None, **kwargs) -> None:
        slots = [module for module in model.modules() if hasattr(module, "selection_widening")]
        self.widenings.append({module.selection_widening for module in slots})


@pytest.mark.parametrize(
    ("steps", "widenings"),
    [
        ({"selection_warmup_steps": 2}, [1, 1, 0, 0]),
        ({"selection_warmup_steps": 1, "selection_annealing_steps": 4}, [1, 1, 0.75, 0.5, 0.25, 0]),
        ({"selection_annealing_steps": 3}, [1, 0.75, 0.375, 0]),
    ],
    ids=["warm-up", "both", "annealing"],
)
def test_more_sentences_are_read_in_the_first_steps(tmp_path, steps, widenings):
    trainer = tiny_trainer(tmp_path, tiny_windows(8), **steps, max_steps=len(widenings))
    changes = {"encoder_self_attention": "conditional", "decoder_self_attention": "conditional"}
    trainer.model = tiny_model(**changes)
    recorder = WarmupRecorder()
    trainer.add_callback(recorder)
    trainer.train()
    assert recorder.widenings == [{widening} for widening in widenings]


@pytest.mark.parametrize("name", ["selection_warmup_steps", "selection_annealing_steps"])
def test_a_warmup_of_negative_length_is_an_error(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name} must not be negative, got -1"):
        tiny_trainer(tmp_path, tiny_windows(8), **{name: -1})


def test_what_is_uploaded_while_training_has_code_card_and_target_tokenizer(tmp_path) -> None:
    trainer = tiny_trainer(tmp_path / "run", hub_model_id="somebody/model")
    target = word_tokenizer()
    target.add_tokens(["bonjour"])
    callback = WholeRepositoryCallback(target)
    callback.on_push_begin(trainer.args, trainer.state, trainer.control, model=trainer.model)
    AutoConfig.from_pretrained(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"modeling_hier_nmt.py", "pipeline_document_translation.py", "README.md"} <= names
    assert "pipeline_tag: translation" in (tmp_path / "run" / "README.md").read_text()
    assert "bonjour" in AutoTokenizer.from_pretrained(tmp_path / "run" / "target_tokenizer").get_vocab()


def test_the_card_of_a_training_says_what_the_hub_runs(tmp_path) -> None:
    trainer = tiny_trainer(tmp_path, tiny_windows(2), hub_model_id="somebody/model")
    trainer.create_model_card(model_name="model")
    card = (tmp_path / "README.md").read_text()
    assert "pipeline_tag: translation" in card
    assert "library_name: transformers" in card


def test_the_card_of_a_model_whose_base_has_a_licence_stays(tmp_path) -> None:
    options = {"attention": "conditional", "num_parameters": 2, "num_new_parameters": 1}
    languages = {"source_language": None, "target_language": None}
    base = adapted_card(AdaptedModel("facebook/nllb-200", "cc-by-nc-4.0", **languages, **options))
    base.save(tmp_path / "base.md")
    write_trained_card(tmp_path / "README.md", tmp_path / "base.md", "en", "fr")
    tiny_trainer(tmp_path, tiny_windows(2), hub_model_id="somebody/model").create_model_card(model_name="model")
    card = ModelCard.load(tmp_path / "README.md")
    assert (card.data.license, card.data.base_model) == ("cc-by-nc-4.0", "facebook/nllb-200")
    assert card.data.language == ["en", "fr"]
    assert "may not be used commercially" in card.text
    assert "Trained further on documents from en to fr" in card.text
    # Another card says nothing of this model.
    (tmp_path / "base.md").write_text("---\nlicense: mit\n---\n\n## Training\n\nLong.\n\n## Use\n")
    write_trained_card(tmp_path / "other.md", tmp_path / "base.md", "en", "fr")
    write_trained_card(tmp_path / "other.md", tmp_path / "none.md", "en", "fr")
    assert not (tmp_path / "other.md").exists()
