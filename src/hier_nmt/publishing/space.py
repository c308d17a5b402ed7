# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Docker Spaces of the Hugging Face Hub, which show a checkpoint's translations on the page of `hier-nmt serve`.

Source: https://huggingface.co/docs/hub/spaces-sdks-docker.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, SpaceCardData

from .. import __version__
from .hub import CARD_FILE, TAGS, write_repository

PORT = 7860
MODEL_FOLDER = "model"
# Files of an earlier upload that this one does not have.
STALE_PATTERNS = ["*.whl", f"{MODEL_FOLDER}/*"]
_EXTRAS = "[markdown,serve]"
_WHEEL = re.compile(r"hier_nmt-[\w.+]+-py3-none-any\.whl")
_CARD = """---
{metadata}
---

# {title}

Translates texts and files with the model in `{model_folder}`, sentence beside sentence. Made with
[hier_nmt](https://github.com/hier-nmt/hier_nmt) {version}: `hier-nmt push --space`.

The model's own card is [{model_folder}/{card}]({model_folder}/{card}).
"""
# Spaces run containers with user ID 1000, behind a proxy that says who asks, in a frame of huggingface.co.
_DOCKERFILE = """FROM python:3.11-slim

RUN useradd -m -d /srv/user -u 1000 user
USER user
ENV HOME=/srv/user \\
    PATH=/srv/user/.local/bin:$PATH \\
    FORWARDED_ALLOW_IPS=*
WORKDIR $HOME/app

{copy_wheel}RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu "{requirement}"
COPY --chown=user {model_folder} {model_folder}

EXPOSE {port}
CMD exec hier-nmt serve --model {model_folder} --host 0.0.0.0 --port {port} \\
    --allow-origin "https://${{SPACE_HOST:-localhost}}" --allow-frame https://huggingface.co
"""


def write_space(checkpoint: str | Path, folder: str | Path, name: str, wheel: str | Path | None = None) -> None:
    """Writes a Docker Space into a folder: its card, a Dockerfile and the model.

    Args:
        checkpoint: directory with a model and its tokenizer.
        folder: where the Space is written.
        name: of the Space, "user/name".
        wheel: of this package, which the container installs; default: the release of this version on PyPI.

    Raises:
        HubError: the checkpoint lacks weights of its model.
        FileNotFoundError: it has no tokenizer, or there is no such wheel.
        ValueError: the wheel is not one of this package.
    """
    folder, wheel = Path(folder), None if wheel is None else Path(wheel)
    if wheel is not None and not _WHEEL.fullmatch(wheel.name):
        raise ValueError(f"{wheel} is not a wheel of hier_nmt (hier_nmt-VERSION-py3-none-any.whl)")
    if wheel is not None and not wheel.is_file():
        raise FileNotFoundError(f"no such wheel: {wheel}")
    write_repository(checkpoint, folder / MODEL_FOLDER, name)
    if wheel is not None:
        shutil.copyfile(wheel, folder / wheel.name)
    (folder / "Dockerfile").write_text(dockerfile(None if wheel is None else wheel.name), encoding="utf-8")
    (folder / CARD_FILE).write_text(_card(folder / MODEL_FOLDER / CARD_FILE, name), encoding="utf-8")


def dockerfile(wheel: str | None = None) -> str:
    """The Dockerfile of a Space that installs a wheel beside it, or the release of this version."""
    return _DOCKERFILE.format(
        copy_wheel="" if wheel is None else f"COPY --chown=user {wheel} ./\n",
        requirement=f"hier_nmt{_EXTRAS}=={__version__}" if wheel is None else f"./{wheel}{_EXTRAS}",
        model_folder=MODEL_FOLDER,
        port=PORT,
    )


def _card(model_card: Path, name: str) -> str:
    """The card of the Space; its license is that of the model."""
    title = name.rpartition("/")[2]
    model: Any = ModelCard.load(model_card).data
    metadata = SpaceCardData(title=title, sdk="docker", app_port=PORT, license=model.license, tags=list(TAGS))
    return _CARD.format(
        metadata=metadata.to_yaml(), title=title, version=__version__, model_folder=MODEL_FOLDER, card=CARD_FILE
    )
