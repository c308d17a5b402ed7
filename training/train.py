# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of a recipe; the same command, given again, goes on where it was interrupted.

python training/train.py training/recipes/en-fr/annotated.yaml --training.learning_rate=3e-4
accelerate launch --config_file training/accelerate/ddp.yaml training/train.py RECIPE --init-from runs/sentence-level
"""

import argparse
import logging
import sys
from collections.abc import Sequence

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.features import OverlongSentenceError
from hier_nmt.data.word_vectors import WordVectorError
from hier_nmt.training.checkpoints import CheckpointError, last_whole_checkpoint
from hier_nmt.training.recipes import Recipe, RecipeError
from hier_nmt.training.runs import (
    SUMMARY_FILE,
    build_trainer,
    check_output_dir_is_shared,
    claim_output_dir,
    finish,
    finished_summary,
    prepare_data,
    prepare_tokenizers,
    train_or_resume,
)


def parse_recipe(arguments: Sequence[str] | None = None) -> Recipe:
    """The recipe that the command line names, with what the command line overrides."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Any key of the recipe can be given as --section.key=value, the value written as in YAML.",
        allow_abbrev=False,
    )
    parser.add_argument("recipe", help="YAML file; training/recipes/en-fr/annotated.yaml explains every key")
    parser.add_argument("--init-from", help="checkpoint directory to start from, same as --training.init_from=...")
    parser.add_argument("--output-dir", help="where the run lies, same as --training.output_dir=...")
    options, overrides = parser.parse_known_args(arguments)
    for key in ("init_from", "output_dir"):
        if getattr(options, key) is not None:
            overrides.append(f"--training.{key}={getattr(options, key)}")
    return Recipe.load(options.recipe, overrides)


def main() -> None:
    """Runs the recipe of the command line."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    recipe = parse_recipe()
    output_dir = recipe.training["output_dir"]
    summary = finished_summary(recipe)
    if summary is not None:
        print(f"this run is finished after {summary['steps']} steps: see {output_dir}/{SUMMARY_FILE}")
        return
    arguments = recipe.training_arguments()
    # `local=False`: one process goes first, not one on each machine.
    with arguments.main_process_first(local=False, desc="preparing tokenizer and data"):
        if arguments.process_index == 0:
            claim_output_dir(recipe)
        check_output_dir_is_shared(recipe)
        tokenizers = prepare_tokenizers(recipe)
        data = prepare_data(recipe, tokenizers)
    trainer = build_trainer(recipe, arguments, tokenizers, data)
    if not train_or_resume(trainer):
        # The step that was being made when it was told to stop may have ended after the checkpoint.
        print(f"stopped; the same command goes on from {last_whole_checkpoint(output_dir)}")
        return
    summary = finish(trainer, recipe, tokenizers, data)
    if trainer.is_world_process_zero():
        print(f"finished after {summary['steps']} steps; model, tokenizer and {SUMMARY_FILE} are in {output_dir}")


if __name__ == "__main__":
    try:
        main()
    except (
        RecipeError,
        CheckpointError,
        CorpusError,
        OverlongSentenceError,
        WordVectorError,
        FileNotFoundError,
    ) as error:
        sys.exit(f"train.py: {error}")
