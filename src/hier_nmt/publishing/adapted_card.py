# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The card of a model that begins with the weights of a sentence-level one."""

import re
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import ModelCard, ModelCardData

from .hub import TAGS

_READS = {
    "sentence": "Each sentence is translated alone.",
    "document": "A gated block in every layer reads the tokens of all other sentences of the document.",
    "conditional": "A gated block in every layer reads the tokens of the sentences that each token selects "
    "(Trankova et al. 2024, section 3.2).",
    "hierarchical": "A gated block in every layer reads the tokens of the sentences that each token finds by a walk "
    "down a tree of sentence encodings (Trankova et al. 2024, section 3.3).",
    "s4to4": "Windows of four sentences are read and written at once (Lupo et al. 2022).",
}
_SAME_SENTENCES = (
    "Every gate is closed: each sentence of a document is translated exactly as the base model translates it alone. "
    "Training on documents opens them."
)
_SAME_SENTENCE = (
    "A single sentence is translated as the base model does; separators between sentences are unknown to it until it "
    "has been trained on documents."
)
_OPEN_GATES = (
    "The blocks are copies of the attention of their layer, and their gates are open ({gate}), so that they soon learn "
    "to read the context: train the model on documents before you use it."
)
_NON_COMMERCIAL = """
The weights of the base may not be used commercially, and neither may this model or any that is trained from it.
"""
_TRAINING = re.compile(r"^## Training\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
_TRAINED = """## Training

Trained further on documents from {source} to {target} by `hier-nmt train`, so it no longer translates as its base does.

"""


def has_base(path: Path) -> bool:
    """Whether there is a card, and it names the base of its model."""
    return path.is_file() and bool(ModelCard.load(path).data.get("base_model"))


def write_trained_card(path: Path, base: Path, source_language: str, target_language: str) -> None:
    """Writes the card of a model that is trained from an adapted one: base and licence are the same.

    Args:
        path: of the card.
        base: the card of the adapted model; if there is none, or it is of another model, no card is written.
        source_language, target_language: ISO 639 codes.
    """
    if not has_base(base):
        return
    card = ModelCard.load(base)
    if _TRAINING.search(card.text) is None:
        return
    card.text = _TRAINING.sub(_TRAINED.format(source=source_language, target=target_language), card.text)
    card.data.language = card.data.language or [source_language, target_language]
    card.save(path)


@dataclass(frozen=True)
class AdaptedModel:
    """What the card says.

    Attributes:
        base: folder or name of the sentence-level model.
        license: of the base, or None where it names none.
        attention: how other sentences are read.
        source_language, target_language: ISO 639 codes, or None for a model of many languages.
        num_parameters: of the model.
        num_new_parameters: of them, those that the base does not have.
        context_gate: initial value of the gates of context blocks.
    """

    base: str
    license: str | None
    attention: str
    source_language: str | None
    target_language: str | None
    num_parameters: int
    num_new_parameters: int
    context_gate: float = 0.0


def adapted_card(model: AdaptedModel) -> ModelCard:
    """The card: base, licence, what changed, how to use and to train it."""
    languages = [language for language in (model.source_language, model.target_language) if language]
    data = ModelCardData(
        language=languages or None,
        license=model.license or "unknown",
        base_model=model.base,
        library_name="transformers",
        pipeline_tag="translation",
        tags=list(TAGS),
    )
    pair = f" from {languages[0]} to {languages[1]}" if len(languages) == 2 else ""
    if model.context_gate > 0.0:
        same = _OPEN_GATES.format(gate=model.context_gate)
    else:
        same = _SAME_SENTENCE if model.attention == "s4to4" else _SAME_SENTENCES
    call = "" if len(languages) == 2 else ', source_language="en", target_language="fr"'
    non_commercial = _NON_COMMERCIAL if "nc" in (model.license or "").split("-") else ""
    return ModelCard(
        f"""---
{data.to_yaml()}
---

# Document-level translation{pair}, from {model.base}

Made by `hier-nmt adapt --attention {model.attention}` out of the sentence-level model `{model.base}`, whose licence is
{model.license or "not stated on its card"}.
{non_commercial}
## What changed

* {_READS[model.attention]}
* Of {model.num_parameters:,} parameters {model.num_new_parameters:,} are new.
* `<sep>` and `<par>`, which close a sentence and a paragraph, have been added behind the vocabulary.

## Training

{same} It has not been trained further.

## Use

```python
from transformers import pipeline

import hier_nmt  # registers the model and the pipeline

translate = pipeline("translation", model="this folder or its name on the Hub"{call})
print(translate("The committee met on Monday. It will report in May.")[0]["translation_text"])
```

To train it on documents: `training/recipes/adapt.yaml` of hier_nmt, with `training.init_from` set to this folder.
"""
    )
