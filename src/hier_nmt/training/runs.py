# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training runs: from a recipe to a directory with the model, its tokenizer and the results."""

import json
import logging
import math
import os
import platform
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml
from huggingface_hub.errors import StrictDataclassError
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerState,
    set_seed,
)

from ..configuration.library_internals import leave_deepspeed
from ..data.collator import DocumentCollator
from ..data.tokenization import TARGET_TOKENIZER_FOLDER, save_tokenizers
from ..data.word_vectors import token_vectors
from ..publishing.adapted_card import write_trained_card
from ..publishing.hub import CARD_FILE
from ..translation.language_tokens import LanguageTokens
from .checkpoints import (
    STATE_FILE,
    average_checkpoints,
    checkpoint_damage,
    checkpoint_directories,
    last_complete_checkpoint,
    load_initial_weights,
)
from .prepared_data import PreparedData, Tokenizers
from .recipe_sections import RecipeError, with_defaults
from .recipes import Recipe
from .sharding import load_full_weights
from .trainer import DocumentSeq2SeqTrainer
from .training_arguments import DocumentSeq2SeqTrainingArguments
from .warm_start import continue_positions
from .weight_transfer import transfer_weights

logger = logging.getLogger(__name__)

RECIPE_FILE = "recipe.yaml"
SUMMARY_FILE = "training_summary.json"
# A run can be prolonged or its learning rate changed; with other values of these keys it is another run.
_FIXED_SECTIONS = ("data", "tokenizer", "model")
_SPECIAL_IDS = ("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "par_token_id")


class _TargetTokenizerCallback(TrainerCallback):
    """Saves the target tokenizer with each checkpoint; Trainer saves only the source tokenizer."""

    def __init__(self, tokenizers: Tokenizers) -> None:
        self._tokenizers = tokenizers

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if args.should_save and not self._tokenizers.are_joint:
            checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            self._tokenizers.target.save_pretrained(checkpoint / TARGET_TOKENIZER_FOLDER)


def finished_summary(recipe: Recipe) -> dict[str, Any] | None:
    """The summary of the run if it was already finished with the same recipe, else None."""
    path = Path(recipe.training["output_dir"]) / SUMMARY_FILE
    if not path.is_file():
        return None
    summary = json.loads(path.read_text(encoding="utf-8"))
    return summary if with_defaults(summary.get("recipe", {})) == recipe.as_dict() else None


def claim_output_dir(recipe: Recipe) -> None:
    """Writes the recipe into the output directory; RecipeError if the directory belongs to something else.

    Of a model that continues an adapted one it also writes the card, since that names the base and its licence.
    Files of another recipe that did not reach its first checkpoint are removed.
    """
    output_dir = Path(recipe.training["output_dir"])
    path = output_dir / RECIPE_FILE
    sections = recipe.as_dict()
    if path.is_file():
        earlier = with_defaults(yaml.safe_load(path.read_text(encoding="utf-8")))
        difference = _first_difference(earlier, sections)
        if difference is not None and checkpoint_directories(output_dir):
            raise RecipeError(
                f"{output_dir} has a run with {difference}; choose another training.output_dir, or delete that run"
            )
        if difference is not None:
            (output_dir / "tokenizer.json").unlink(missing_ok=True)
    elif any((output_dir / name).exists() for name in ("config.json", "tokenizer.json")):
        raise RecipeError(f"{output_dir} has a model or tokenizer but no {RECIPE_FILE}; choose another output_dir")
    output_dir.mkdir(parents=True, exist_ok=True)
    _write_atomically(path, yaml.safe_dump(sections, sort_keys=False, allow_unicode=True))
    if recipe.init_config and recipe.init_from is not None:
        languages = (recipe.data.source_language, recipe.data.target_language)
        write_trained_card(output_dir / CARD_FILE, Path(recipe.init_from) / CARD_FILE, *languages)


def check_output_dir_is_shared(recipe: Recipe) -> None:
    """Raises RecipeError on a machine that does not see the output directory of the first process."""
    path = Path(recipe.training["output_dir"]) / RECIPE_FILE
    if not path.is_file():
        raise RecipeError(
            f"{path}, which the first process wrote, does not exist on {platform.node()}: training.output_dir must be "
            "a folder that all machines share"
        )


def build_model(recipe: Recipe, tokenizers: Tokenizers) -> PreTrainedModel:
    """A new model, initialised from `training.init_from` if given."""
    source, target = tokenizers.source, tokenizers.target
    config = _continued_config(recipe) if recipe.init_config else _new_config(recipe, tokenizers)
    if recipe.data.augmentation.glossary is not None:
        config.reads_inline_terms = True
    set_seed(recipe.training.get("seed", 42))
    # Not in the type in which `init_from` was saved: weights in bfloat16 lose small updates.
    config.dtype = torch.float32
    model: Any = AutoModelForSeq2SeqLM.from_config(config)
    if recipe.attn_implementation is not None:
        model.set_attn_implementation(recipe.attn_implementation)
    if recipe.init_config and recipe.init_from is not None:
        model.generation_config = GenerationConfig.from_pretrained(recipe.init_from)
        for token_id in LanguageTokens(source).target_start_ids(recipe.data.target_language):
            model.generation_config.forced_bos_token_id = token_id
    elif not {"max_length", "max_new_tokens"} & recipe.generation.keys():
        model.generation_config.max_length = config.max_target_tokens + 1
    model.generation_config.update(**recipe.generation)
    model.generation_config.validate(strict=True)
    if recipe.source_vectors is not None and recipe.target_vectors is not None:
        _set_word_vectors(model, (recipe.source_vectors, source), (recipe.target_vectors, target))
    if recipe.init_from is not None:
        if recipe.init_transfer:
            transfer_weights(model, (source, target), recipe.init_from)
        else:
            continue_positions(model, load_initial_weights(model, recipe.init_from))
    return model


def _new_config(recipe: Recipe, tokenizers: Tokenizers) -> Any:
    """The configuration that the section `model` describes."""
    special_ids = {name: int(getattr(tokenizers.source, name)) for name in _SPECIAL_IDS}
    return recipe.model_config(
        len(tokenizers.source),
        None if tokenizers.are_joint else len(tokenizers.target),
        decoder_start_token_id=special_ids["bos_token_id"],
        **special_ids,
    )


def _continued_config(recipe: Recipe) -> Any:
    """The configuration of `init_from` with the fields of `model` changed; RecipeError if they cannot be."""
    assert recipe.init_from is not None  # checked with the recipe
    config = AutoConfig.from_pretrained(recipe.init_from)
    changes = {name: value for name, value in recipe.model.items() if name != "model_type"}
    unknown = [name for name in changes if not hasattr(config, name)]
    if unknown:
        raise RecipeError(f"section model: {type(config).__name__} has no {unknown[0]}")
    try:
        config = type(config)(**{**config.to_dict(), **changes})
    except (StrictDataclassError, ValueError) as error:
        reason = str(error).partition("Error: ")[2] or str(error)
        raise RecipeError(f"section model: {reason}") from None
    # A model of many languages that was told none is now one of these two.
    config.source_language = config.source_language or recipe.data.source_language
    config.target_language = config.target_language or recipe.data.target_language
    return config


def _set_word_vectors(model: Any, *sides: tuple[str, PreTrainedTokenizerBase]) -> None:
    """Loads the vectors of both sides, a file and a tokenizer each, into the model; RecipeError for another width."""
    tables = [torch.from_numpy(token_vectors(path, tokenizer)) for path, tokenizer in sides]
    for (path, _), table in zip(sides, tables, strict=True):
        if table.shape[1] != model.config.word_vector_size:
            raise RecipeError(
                f"model.word_vector_size={model.config.word_vector_size}, but the vectors in {path} have "
                f"{table.shape[1]} numbers"
            )
    model.set_word_vectors(*tables)


def build_trainer(
    recipe: Recipe,
    arguments: DocumentSeq2SeqTrainingArguments,
    tokenizers: Tokenizers,
    data: PreparedData,
) -> DocumentSeq2SeqTrainer:
    """The trainer of the run."""
    model = build_model(recipe, tokenizers)
    config: Any = model.config
    return DocumentSeq2SeqTrainer(
        model=model,
        args=arguments,
        data_collator=DocumentCollator(config.pad_token_id, config.decoder_start_token_id),
        train_dataset=data.train,
        eval_dataset=data.validation,
        processing_class=tokenizers.source,
        target_tokenizer=tokenizers.target,
        eval_corpora=[corpus.name for corpus in recipe.data.validation_corpora.corpora],
        callbacks=[_TargetTokenizerCallback(tokenizers)],
    )


def train_or_resume(trainer: DocumentSeq2SeqTrainer) -> bool:
    """Trains to the end, from the last complete checkpoint if there is one; the trainer then has the final model.

    False if training was stopped early, by SIGTERM with `training.enable_jit_checkpoint`.
    """
    checkpoint = last_complete_checkpoint(str(trainer.args.output_dir))
    if checkpoint is None:
        trainer.train()
        return trainer.state.global_step >= _max_steps(trainer)
    state = TrainerState.load_from_json(str(checkpoint / STATE_FILE))
    if state.global_step < _max_steps(trainer):
        logger.info("continuing from %s", checkpoint)
        trainer.train(resume_from_checkpoint=str(checkpoint))
        return trainer.state.global_step >= _max_steps(trainer)
    # Trainer would make one more step before it noticed that training is complete.
    logger.info("training was finished with %s", checkpoint)
    # DeepSpeed's engine only works in training; without it, each process has the whole model.
    leave_deepspeed(trainer)
    best = state.best_model_checkpoint if trainer.args.load_best_model_at_end else None
    load_initial_weights(trainer.model, best or checkpoint)
    trainer.state = state
    return True


def finish(trainer: DocumentSeq2SeqTrainer, recipe: Recipe, tokenizers: Tokenizers, data: PreparedData) -> dict:
    """Saves the final model (averaged if requested) and the summary in the output directory; returns the summary."""
    output_dir = Path(str(trainer.args.output_dir))
    metrics = {}
    if recipe.average_checkpoints > 1:
        metrics["before_averaging"] = _evaluate_once(trainer)
        _load_average(trainer, recipe.average_checkpoints)
        metrics["final"] = trainer.evaluate() if data.validation is not None else None
    else:
        metrics["final"] = _evaluate_once(trainer)
    # Trainer has switched it off for the training.
    trainer.model.config.use_cache = recipe.model.get("use_cache", True)
    # Not a documented method of Trainer, but without it the model would be uploaded before the files beside it.
    trainer.save_model(_internal_call=True)
    summary = _summary(trainer, recipe, data, metrics)
    if trainer.is_world_process_zero():
        trainer.state.save_to_json(str(output_dir / STATE_FILE))
        save_tokenizers(output_dir, tokenizers.source, tokenizers.target)
        _write_atomically(output_dir / SUMMARY_FILE, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    if trainer.args.push_to_hub:
        trainer.push_to_hub()
    return summary


def _first_difference(earlier: dict[str, Any], sections: dict[str, Any]) -> str | None:
    """The first key that identifies a run and has another value now, as text; None if there is none."""
    for name in _FIXED_SECTIONS:
        old_section, new_section = earlier.get(name, {}), sections[name]
        for key in {**old_section, **new_section}:
            old, new = old_section.get(key), new_section.get(key)
            if old != new:
                return f"{name}.{key}={old!r}, not {new!r}"
    return None


def _max_steps(trainer: DocumentSeq2SeqTrainer) -> int:
    if trainer.args.max_steps > 0:
        return trainer.args.max_steps
    steps_per_epoch = math.ceil(len(trainer.get_train_dataloader()) / trainer.args.gradient_accumulation_steps)
    return math.ceil(trainer.args.num_train_epochs * steps_per_epoch)


def _evaluate_once(trainer: DocumentSeq2SeqTrainer) -> dict[str, Any] | None:
    """The validation scores of the final model, from the log if it was scored at the last step."""
    if trainer.eval_dataset is None:
        return None
    step = trainer.state.global_step
    if trainer.args.load_best_model_at_end and trainer.state.best_global_step:
        step = trainer.state.best_global_step
    logged = [entry for entry in trainer.state.log_history if entry["step"] == step and "eval_loss" in entry]
    return logged[-1] if logged else trainer.evaluate()


def _load_average(trainer: DocumentSeq2SeqTrainer, num_checkpoints: int) -> None:
    whole = [path for path in checkpoint_directories(str(trainer.args.output_dir)) if checkpoint_damage(path) is None]
    chosen = whole[-num_checkpoints:]
    if len(chosen) < num_checkpoints:
        logger.warning("only %d checkpoints exist to average, not %d", len(chosen), num_checkpoints)
    load_full_weights(trainer.accelerator.unwrap_model(trainer.model), average_checkpoints(chosen))


def _summary(
    trainer: DocumentSeq2SeqTrainer, recipe: Recipe, data: PreparedData, metrics: dict[str, Any]
) -> dict[str, Any]:
    training_logs = [entry for entry in trainer.state.log_history if "train_seconds" in entry]
    last = training_logs[-1] if training_logs else {}
    parameters = list(trainer.model.parameters())
    return {
        "recipe": recipe.as_dict(),
        "data": data.figures,
        "num_parameters": sum(parameter.numel() for parameter in parameters),
        "num_trained_parameters": sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
        "steps": trainer.state.global_step,
        "epochs": trainer.state.epoch,
        "num_target_tokens": last.get("num_target_tokens"),
        "train_seconds": last.get("train_seconds"),
        "best_checkpoint": trainer.state.best_model_checkpoint,
        "best_metric": trainer.state.best_metric,
        "metrics": metrics,
        "seed": trainer.args.seed,
        "bf16": trainer.args.bf16,
        "hardware": _hardware(trainer),
        "versions": {"python": platform.python_version(), "torch": torch.__version__}
        | {"transformers": transformers.__version__},
    }


def _hardware(trainer: DocumentSeq2SeqTrainer) -> dict[str, Any]:
    device = trainer.args.device
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    return {
        "device": device.type,
        "name": name,
        "num_processes": trainer.args.world_size,
        "num_cpus": os.cpu_count(),
    }


def _write_atomically(path: Path, text: str) -> None:
    """Writes a file atomically."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
