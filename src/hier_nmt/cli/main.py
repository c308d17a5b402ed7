# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Document-level machine translation: translates documents, trains and measures models, publishes them."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import __version__

# Exceptions for faulty input, whose message is shown to the user. Any other exception is a bug.
INPUT_ERRORS = (ImportError, OSError, ValueError)


class Command(NamedTuple):
    """A command: its module in this folder, with `add_arguments` and `run`, and a one-line help text."""

    module: str
    help: str


COMMANDS: dict[str, Command | dict[str, Command]] = {
    "translate": Command("translate", "translate files: text, HTML, Markdown, subtitles, XLIFF, TMX and others"),
    "serve": Command("serve", "serve a model over HTTP, to clients of LibreTranslate and DeepL"),
    "train": Command("train", "train the model of a recipe, or continue its training"),
    "adapt": Command("adapt", "make an OPUS-MT, M2M100, NLLB or mBART-50 model a document-level one"),
    "average": Command("average", "average the weights of models that were trained from the same one"),
    "evaluate": Command("evaluate", "translate a parallel corpus and score it: BLEU, chrF, TER, document BLEU"),
    "contrastive": Command("contrastive", "score a model on a contrastive set"),
    "compare": Command("compare", "test whether translations differ: paired bootstrap or randomisation"),
    "corpus": {
        "describe": Command("describe_corpus", "describe a corpus and the effect of a cleaning"),
        "make-discourse": Command("make_discourse_corpus", "make a corpus whose sentences need their context"),
        "make-pronouns": Command("make_pronoun_set", "make a contrastive set of pronouns from a corpus"),
        "extract-terms": Command("extract_terms", "make a glossary of what stands in the same sentence pairs"),
        "split": Command("split_pairs", "split tab-separated pairs into training, dev and test"),
    },
    "tokenizer": Command("train_tokenizer", "train a tokenizer on a corpus"),
    "plot": Command("plot_attention", "show what a model reads while it translates"),
    "selection": Command("measure_selection", "measure how often the deciding sentence is selected"),
    "push": Command("push", "upload a checkpoint with its code to the Hub"),
    "export": Command("export", "export a model to ONNX or CTranslate2"),
    "compile": Command("compile_kernels", "compile attention for this machine's processor"),
    "card": Command("card", "write the model card of a checkpoint"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line.

    Args:
        arguments: of the command line, without the program's name; default: those of the process.

    Returns:
        0; 1 for faulty input, with a message on standard error; 130 after an interruption.

    Raises:
        SystemExit: raised by argparse, with 2 for unknown options and 0 after `--help`.
    """
    arguments = sys.argv[1:] if arguments is None else [str(argument) for argument in arguments]
    options = parse(arguments)
    command = options.command
    try:
        if not getattr(command, "REGISTERS_MODELS", False):
            # Takes seconds, with PyTorch and Transformers.
            from ..registration import register_all

            register_all()
        return command.run(options) or 0
    except BrokenPipeError:
        # The reader of the pipe has gone; Python must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except getattr(command, "INPUT_ERRORS", INPUT_ERRORS) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(getattr(command, "INTERRUPTED", "interrupted"), file=sys.stderr)
        return 130


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, in `command` the module of the command, and in `arguments` the line itself."""
    options, unknown = make_parser(arguments).parse_known_args(arguments)
    options.arguments = list(arguments)
    parser = options.__dict__.pop("parser")
    if getattr(options.command, "TAKES_OVERRIDES", False):
        options.overrides = unknown
    elif unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def make_parser(arguments: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser, with the options of the command that the arguments name, or of all commands without arguments.

    Modules of other commands are not imported.
    """
    parser = argparse.ArgumentParser(
        prog="hier-nmt",
        description=__doc__,
        epilog="hier-nmt COMMAND --help shows the options and an example.",
    )
    parser.add_argument("--version", action="version", version=f"hier-nmt {__version__}")
    _add_completion(parser)
    _add_commands(parser, COMMANDS, arguments)
    return parser


def _add_commands(parser: argparse.ArgumentParser, commands: Any, arguments: Sequence[str] | None) -> None:
    group = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in commands.items():
        is_named = arguments is None or list(arguments[:1]) == [name]
        if isinstance(command, dict):
            nested = group.add_parser(name, help=", ".join(command))
            _add_commands(nested, command, arguments if arguments is None else arguments[1:] if is_named else ["-"])
            continue
        module = importlib.import_module(f".{command.module}", __package__) if is_named else None
        of_command = group.add_parser(
            name,
            help=command.help,
            description=None if module is None else module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if module is not None:
            module.add_arguments(of_command)
            of_command.set_defaults(command=module, parser=of_command)


def _add_completion(parser: argparse.ArgumentParser) -> None:
    """Adds `--print-completion SHELL`."""

    class PrintCompletion(argparse.Action):
        def __call__(
            self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option_string: Any = None
        ) -> None:
            try:
                import shtab
            except ImportError:
                parser.error("--print-completion needs shtab: pip install 'hier_nmt[completion]'")
            print(shtab.complete(make_parser(), values))
            parser.exit()

    parser.add_argument(
        "--print-completion",
        action=PrintCompletion,
        metavar="SHELL",
        default=argparse.SUPPRESS,
        help="print completions for bash, zsh or tcsh",
    )
