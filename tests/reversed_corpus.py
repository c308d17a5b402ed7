# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A corpus for training runs of a few steps, in which a translation is the source turned around."""

import json
import random
from pathlib import Path

WORDS = ["the", "house", "is", "a", "red", "green", "bird", "sings", "in", "tree", "and", "sleeps"]


def write_corpus(path: Path, num_documents: int) -> None:
    """Writes documents of two paragraphs of one to three short sentences."""
    numbers = random.Random(7)
    lines = []
    for number in range(num_documents):
        paragraphs = []
        for _ in range(2):
            sentences = [numbers.choices(WORDS, k=numbers.randint(2, 6)) for _ in range(numbers.randint(1, 3))]
            paragraphs.append({"en": [" ".join(s) for s in sentences], "fr": [" ".join(s[::-1]) for s in sentences]})
        lines.append(json.dumps({"id": f"document {number}", "paragraphs": paragraphs}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
