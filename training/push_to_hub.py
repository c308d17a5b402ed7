# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Uploads a checkpoint to the Hugging Face Hub, with all that is needed to run it there without the package.

python training/push_to_hub.py runs/my-model my-name/my-model --private
python training/push_to_hub.py runs/my-model my-name/my-model --write-only to-look-at/

Weights, configuration, the code of the model, tokenizers and the card (see make_model_card.py) go up in one commit;
checkpoints, logs and recipes stay here. The token is that of `hf auth login` or HF_TOKEN. After an interruption the
same command sends only what has not arrived.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from hier_nmt.publishing.hub import HubError, push_repository, write_repository


def main() -> int:
    """Runs the command line; 1 if the input or the Hub is at fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="checkpoint directory")
    parser.add_argument("repository", help="name on the Hub: user/name")
    parser.add_argument("--private", action="store_true", help="only you may see it; a public repository is refused")
    parser.add_argument("--revision", help="branch to upload to, made if it is not there; default: the main one")
    parser.add_argument("--message", default="Upload model", help="of the commit")
    parser.add_argument("--write-only", type=Path, metavar="FOLDER", help="write the repository here, upload nothing")
    options = parser.parse_args()
    try:
        if options.write_only is not None:
            write_repository(options.model, options.write_only, options.repository)
            print(options.write_only)
            return 0
        with tempfile.TemporaryDirectory() as folder:
            write_repository(options.model, folder, options.repository)
            print(
                push_repository(
                    folder,
                    options.repository,
                    private=options.private,
                    revision=options.revision,
                    message=options.message,
                )
            )
    except (HubError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
