# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of a recipe; after an interruption the same command continues.

hier-nmt train my-recipe.yaml --training.learning_rate=3e-4
accelerate launch --config_file training/accelerate/ddp.yaml -m hier_nmt train RECIPE --init-from runs/sentence-level
"""

import argparse
import logging
import sys

from ..data.corpus_files import CorpusError
from ..data.window_tables import OverlongSentenceError
from ..data.word_vectors import WordVectorError
from ..training.checkpoints import CheckpointError, last_complete_checkpoint
from ..training.prepared_data import prepare_data, prepare_tokenizers
from ..training.recipe_sections import RecipeError
from ..training.recipes import Recipe
from ..training.runs import (
    SUMMARY_FILE,
    build_trainer,
    check_output_dir_is_shared,
    claim_output_dir,
    finish,
    finished_summary,
    train_or_resume,
)
from .resources import find_recipe

INPUT_ERRORS = (
    RecipeError,
    CheckpointError,
    CorpusError,
    OverlongSentenceError,
    WordVectorError,
    FileNotFoundError,
)
TAKES_OVERRIDES = True
INTERRUPTED = "interrupted; the same command continues from the last checkpoint"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.epilog = "Any key of the recipe can be overridden by --section.key=value, with the value in YAML."
    parser.add_argument(
        "recipe",
        help="YAML file, or the name of a recipe that comes with the package, such as en-fr/annotated, which explains "
        "every key",
    )
    parser.add_argument("--init-from", help="checkpoint directory to start from, same as --training.init_from=...")
    parser.add_argument("--output-dir", help="directory of the run, same as --training.output_dir=...")


def read_recipe(options: argparse.Namespace) -> Recipe:
    """The recipe with the overrides of the command line."""
    overrides = list(options.overrides)
    for key in ("init_from", "output_dir"):
        if getattr(options, key) is not None:
            overrides.append(f"--training.{key}={getattr(options, key)}")
    return Recipe.load(find_recipe(options.recipe), overrides)


def run(options: argparse.Namespace) -> None:
    """Trains, or continues a training."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    recipe = read_recipe(options)
    output_dir = recipe.training["output_dir"]
    summary = finished_summary(recipe)
    if summary is not None:
        print(f"this run is finished after {summary['steps']} steps: see {output_dir}/{SUMMARY_FILE}")
        return
    arguments = recipe.training_arguments()
    # `local=False`: one process over all machines goes first, not one on each machine.
    with arguments.main_process_first(local=False, desc="preparing tokenizer and data"):
        if arguments.process_index == 0:
            claim_output_dir(recipe)
        check_output_dir_is_shared(recipe)
        tokenizers = prepare_tokenizers(recipe)
        data = prepare_data(recipe, tokenizers)
    trainer = build_trainer(recipe, arguments, tokenizers, data)
    if not train_or_resume(trainer):
        # The step that was running when the stop was requested may have ended after the checkpoint.
        print(f"stopped; the same command continues from {last_complete_checkpoint(output_dir)}")
        return
    summary = finish(trainer, recipe, tokenizers, data)
    if trainer.is_world_process_zero():
        print(f"finished after {summary['steps']} steps; model, tokenizer and {SUMMARY_FILE} are in {output_dir}")
