# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lengths of the sentences of made-up documents."""

import math
import random
from dataclasses import dataclass

UNIFORM_LENGTH = 25
OUTLIER_LENGTH = 200


@dataclass(frozen=True)
class LengthDistribution:
    """Log-normal numbers of tokens, rounded and cut off at both ends.

    Attributes:
        mean: of the log-normal distribution.
        sigma: standard deviation of the logarithm.
        shortest, longest: where it is cut off.
    """

    mean: float
    sigma: float
    shortest: int
    longest: int

    def draw(self, num_sentences: int) -> list[int]:
        """As many lengths, the same ones every time."""
        generator = random.Random(1)
        mu = math.log(self.mean) - self.sigma**2 / 2
        lengths = [round(generator.lognormvariate(mu, self.sigma)) for _ in range(num_sentences)]
        return [min(max(length, self.shortest), self.longest) for length in lengths]


DISTRIBUTIONS = {
    # Like the sentences of Europarl in subwords: a median of 27, one in a hundred above 108.
    "europarl": LengthDistribution(mean=32, sigma=0.6, shortest=1, longest=400),
    "ragged": LengthDistribution(mean=25, sigma=0.6, shortest=3, longest=64),
}
DOCUMENTS = ("uniform", *DISTRIBUTIONS, "outlier")


def sentence_lengths(document: str, num_sentences: int) -> list[int]:
    """Numbers of tokens of the sentences of a document.

    Args:
        document: `uniform`, a name in `DISTRIBUTIONS`, or `outlier`: ragged with one long sentence in the middle.
        num_sentences: N.

    Raises:
        ValueError: the kind of document is unknown.
    """
    if document not in DOCUMENTS:
        raise ValueError(f"document={document!r} is unknown; choose one of {', '.join(DOCUMENTS)}.")
    if document == "uniform":
        return [UNIFORM_LENGTH] * num_sentences
    if document == "outlier":
        lengths = sentence_lengths("ragged", num_sentences)
        lengths[num_sentences // 2] = OUTLIER_LENGTH
        return lengths
    return DISTRIBUTIONS[document].draw(num_sentences)
