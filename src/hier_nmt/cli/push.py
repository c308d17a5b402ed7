# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Uploads a checkpoint to the Hugging Face Hub, with everything that it needs to run there without the package.

hier-nmt push runs/my-model my-name/my-model --private
hier-nmt push runs/my-model my-name/my-model --write-only to-look-at/
hier-nmt push runs/my-model --space my-name/my-space

Weights, configuration, model code, tokenizers and the card (see `hier-nmt card`) are uploaded in one commit; training
checkpoints, logs and recipes are not. The token is that of `hf auth login` or HF_TOKEN. After an interruption the same
command uploads only what is missing.

With --space the Hub gets a Docker Space instead: the page of `hier-nmt serve`, with the model, for everybody to use.
"""

import argparse
import tempfile
from pathlib import Path

from ..publishing.hub import HubError, push_repository, write_repository
from ..publishing.space import STALE_PATTERNS, write_space

INPUT_ERRORS = (HubError, OSError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("model", type=Path, help="checkpoint directory")
    parser.add_argument("repository", nargs="?", help="name on the Hub: user/name")
    parser.add_argument("--space", metavar="NAME", help="name of a Space, user/name, that shows the model on a page")
    parser.add_argument(
        "--wheel", type=Path, metavar="FILE", help="of hier_nmt, for --space; default: the release of this version"
    )
    parser.add_argument(
        "--private", action="store_true", help="make the repository private; an existing public one is refused"
    )
    parser.add_argument(
        "--revision", help="branch to upload to, created if it does not exist; default: the main branch"
    )
    parser.add_argument("--message", default="Upload model", help="commit message (default: %(default)s)")
    parser.add_argument(
        "--write-only", type=Path, metavar="FOLDER", help="write the repository here instead of uploading it"
    )


def run(options: argparse.Namespace) -> None:
    """Writes the repository and uploads it."""
    if (options.repository is None) == (options.space is None):
        raise ValueError("give either the name of a repository or --space with that of a Space")
    if options.wheel is not None and options.space is None:
        raise ValueError("--wheel is for --space")
    if options.write_only is not None:
        _write(options, options.write_only)
        print(options.write_only)
        return
    upload = {"private": options.private, "revision": options.revision, "message": options.message}
    patterns = None if options.space is None else STALE_PATTERNS
    with tempfile.TemporaryDirectory() as folder:
        _write(options, Path(folder))
        print(push_repository(folder, options.space or options.repository, space_patterns=patterns, **upload))


def _write(options: argparse.Namespace, folder: Path) -> None:
    """Writes what is to be uploaded."""
    if options.space is None:
        write_repository(options.model, folder, options.repository)
    else:
        write_space(options.model, folder, options.space, options.wheel)
