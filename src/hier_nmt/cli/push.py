# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Uploads a checkpoint to the Hugging Face Hub, with everything that it needs to run there without the package.

hier-nmt push runs/my-model my-name/my-model --private
hier-nmt push runs/my-model my-name/my-model --write-only to-look-at/

Weights, configuration, model code, tokenizers and the card (see `hier-nmt card`) are uploaded in one commit; training
checkpoints, logs and recipes are not. The token is that of `hf auth login` or HF_TOKEN. After an interruption the same
command uploads only what is missing.
"""

import argparse
import tempfile
from pathlib import Path

from ..publishing.hub import HubError, push_repository, write_repository

INPUT_ERRORS = (HubError, OSError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("model", type=Path, help="checkpoint directory")
    parser.add_argument("repository", help="name on the Hub: user/name")
    parser.add_argument(
        "--private", action="store_true", help="make the repository private; an existing public one is refused"
    )
    parser.add_argument(
        "--revision", help="branch to upload to, created if it does not exist; default: the main branch"
    )
    parser.add_argument("--message", default="Upload model", help="commit message")
    parser.add_argument(
        "--write-only", type=Path, metavar="FOLDER", help="write the repository here instead of uploading it"
    )


def run(options: argparse.Namespace) -> None:
    """Writes the repository and uploads it."""
    if options.write_only is not None:
        write_repository(options.model, options.write_only, options.repository)
        print(options.write_only)
        return
    upload = {"private": options.private, "revision": options.revision, "message": options.message}
    with tempfile.TemporaryDirectory() as folder:
        write_repository(options.model, folder, options.repository)
        print(push_repository(folder, options.repository, **upload))
