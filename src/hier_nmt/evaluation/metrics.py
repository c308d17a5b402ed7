# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of translated documents, each with its sacrebleu signature."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from ..data.plain_typography import plain_text

Paragraphs = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Score:
    """A value with the signature of its computation."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class ScoreReport:
    """The scores of one translation of a corpus.

    Attributes:
        label: what was scored, for example a decoding strategy.
        scores: BLEU, chrF, TER and BLEU-n over sentences, and docBLEU over documents, each one segment.
        num_documents, num_sentences: size of the corpus.
    """

    label: str
    scores: tuple[Score, ...]
    num_documents: int
    num_sentences: int

    def __getitem__(self, name: str) -> float:
        """The value of the score with that name."""
        values = {score.name: score.value for score in self.scores}
        if name not in values:
            raise KeyError(f"no score {name!r}; there are {', '.join(values)}")
        return values[name]

    def to_dict(self) -> dict[str, Any]:
        """The report in types of JSON."""
        return asdict(self)


def score_documents(
    translations: Sequence[Paragraphs],
    references: Sequence[Paragraphs],
    *,
    label: str = "",
    target_language: str | None = None,
    with_ter: bool = True,
    bleu_orders: Sequence[int] = (),
    decoding: Sequence[str] = (),
    plain_typography: bool = False,
) -> ScoreReport:
    """BLEU, chrF and TER of all sentences, and BLEU of documents (their sentences joined by a space).

    Args:
        translations: for each document its paragraphs of sentences.
        references: the same for the reference; each document must have as many sentences as its translation.
        label: name of the row in a table.
        target_language: ISO 639 code, by which sacrebleu chooses the BLEU tokenizer (zh, ja, ko; others 13a).
        with_ter: whether to compute TER, which takes much longer than everything else.
        bleu_orders: also compute BLEU-n, with n-grams of up to n words (Papineni et al. 2002, equal weights), for each
            n; BLEU-4 is BLEU.
        decoding: entries of the signatures about the decoding, each as "name:value".
        plain_typography: compare with straight quotation marks and apostrophes on both sides, see `plain_text`; noted
            in the signatures.

    Raises:
        ValueError: an order below 1, nothing to score, or a document with a different number of sentences (the first is
            named).
    """
    form = plain_text if plain_typography else str
    translated = [list(map(form, flat(document))) for document in translations]
    expected = [list(map(form, flat(document))) for document in references]
    check_alignment(translated, expected)
    sentences = [sentence for document in translated for sentence in document]
    reference_sentences = [sentence for document in expected for sentence in document]
    scores = [
        _score(metric, name, sentences, reference_sentences) for name, metric in _metrics(target_language, with_ter)
    ]
    scores += [_bleu_of_order(order, target_language, sentences, reference_sentences) for order in bleu_orders]
    documents = [" ".join(document) for document in translated]
    reference_documents = [" ".join(document) for document in expected]
    scores.append(_score(BLEU(trg_lang=target_language or ""), "docBLEU", documents, reference_documents))
    if plain_typography:
        decoding = [*decoding, "typography:plain"]
    signed = (replace(score, signature="|".join([score.signature, *decoding])) for score in scores)
    return ScoreReport(label, tuple(signed), len(documents), len(sentences))


def score_table(reports: Sequence[ScoreReport]) -> str:
    """The reports as a Markdown table, one row each, with the signatures below it."""
    names = list(dict.fromkeys(score.name for report in reports for score in report.scores))
    lines = [
        f"| {' | '.join(['', *names, 'sentences', 'documents'])} |",
        f"|{'---|' * (len(names) + 3)}",
    ]
    for report in reports:
        values = {score.name: f"{score.value:.2f}" for score in report.scores}
        sizes = [str(report.num_sentences), str(report.num_documents)]
        lines.append(f"| {' | '.join([report.label, *(values.get(name, '') for name in names), *sizes])} |")
    signatures = dict.fromkeys(f"{score.name}: {score.signature}" for report in reports for score in report.scores)
    return "\n".join([*lines, "", *signatures])


class _Report(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def score_json(reports: Sequence[_Report], **facts: Any) -> str:
    """The reports as JSON, together with facts about the run."""
    return json.dumps({**facts, "reports": [report.to_dict() for report in reports]}, ensure_ascii=False, indent=2)


def _metrics(target_language: str | None, with_ter: bool) -> list[tuple[str, BLEU | CHRF | TER]]:
    metrics: list[tuple[str, BLEU | CHRF | TER]] = [("BLEU", BLEU(trg_lang=target_language or "")), ("chrF", CHRF())]
    return [*metrics, ("TER", TER())] if with_ter else metrics


def _score(metric: BLEU | CHRF | TER, name: str, hypotheses: list[str], references: list[str]) -> Score:
    result = metric.corpus_score(hypotheses, [references])
    return Score(name, result.score, str(metric.get_signature()))


def _bleu_of_order(order: int, target_language: str | None, hypotheses: list[str], references: list[str]) -> Score:
    """BLEU-n. The signature of sacrebleu does not contain the order, so it is appended."""
    if order < 1:
        raise ValueError(f"BLEU needs n-grams of at least 1 word, got {order}")
    metric = BLEU(trg_lang=target_language or "", max_ngram_order=order)
    score = _score(metric, f"BLEU-{order}", hypotheses, references)
    return replace(score, signature=f"{score.signature}|max_ngram_order:{order}")


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF of one sentence, in plain typography."""
    return float(CHRF().sentence_score(plain_text(hypothesis), [plain_text(reference)]).score)


def flat(document: Paragraphs) -> list[str]:
    """The sentences of all paragraphs, in order."""
    return [sentence for paragraph in document for sentence in paragraph]


def check_alignment(translated: list[list[str]], expected: list[list[str]]) -> None:
    """Raises ValueError unless there are sentences, and each document has as many as its reference."""
    if len(translated) != len(expected):
        raise ValueError(f"{len(translated)} translated documents but {len(expected)} references")
    for index, (document, reference) in enumerate(zip(translated, expected, strict=True)):
        if len(document) != len(reference):
            raise ValueError(f"document {index}: {len(document)} translated sentences but {len(reference)} references")
    if not any(translated):
        raise ValueError("nothing to score: no document has a sentence")
