# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model that tests can foresee, with scores that constraints change, and the details of its translations."""

import re
from typing import Any

import torch
from word_translation import BOS, PAD, WordTranslator

from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline

# Second and third best in the place of a word.
SYNONYMS = {"b": "xy", "e": "y"}


class ScoredTranslator(WordTranslator):
    """The same model with scores, which logits processors change: each word is translated at its place, perhaps by a
    synonym, and any word that it is made to write stands for that of its place."""

    def generate(  # type: ignore[override]
        self,
        input_ids: torch.Tensor,
        generation_config: Any,
        decoder_input_ids: torch.Tensor | None = None,
        logits_processor: Any = (),
        **options: Any,
    ) -> torch.Tensor:
        self.windows += [" ".join(self._words(row)) for row in input_ids.tolist()]
        rows = torch.full((len(input_ids), 1), BOS) if decoder_input_ids is None else decoder_input_ids
        ended = torch.zeros(len(rows), dtype=torch.bool)
        for _ in range(generation_config.max_new_tokens):
            pairs = zip(input_ids.tolist(), rows.tolist(), strict=True)
            scores = torch.stack([self._scores(*pair) for pair in pairs])
            for processor in logits_processor:
                scores = processor(rows, scores)
            following = torch.where(ended, PAD, scores.argmax(-1))
            ended |= torch.isin(following, torch.tensor(generation_config.eos_token_id))
            rows = torch.cat([rows, following[:, None]], dim=1)
            if ended.all():
                break
        return rows

    def _scores(self, source: list[int], written: list[int]) -> torch.Tensor:
        words = re.sub(r"<gloss> \S+ </gloss> ", "", " ".join(self._words(source))).split()
        word = words[min(len(self._words(written)), len(words) - 1)]
        scores = torch.full((len(self.tokenizer),), -9.0)
        for cost, synonym in enumerate(SYNONYMS.get(word, ""), start=3):
            scores[self.tokenizer.convert_tokens_to_ids(synonym)] = -cost
        scores[self.tokenizer.convert_tokens_to_ids(word.upper() if len(word) == 1 else word)] = 0.0
        return scores


def translator(model: WordTranslator | None = None, **options: Any) -> DocumentTranslationPipeline:
    model = model or ScoredTranslator(window_sentences=2, source_language="en", target_language="fr")
    return DocumentTranslationPipeline(model, model.tokenizer, **options)


def details(text: Any, model: WordTranslator | None = None, **options: Any) -> tuple[str, dict[str, Any]]:
    (output,) = translator(model, return_details=True, **options)(text)
    return output["translation_text"], output["details"]
