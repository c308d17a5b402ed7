# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures how a model uses a glossary: the share of its terms in translations, BLEU, and wrong insertions.

python benchmarks/terms.py MODEL corpus.jsonl terms.tsv --sentences 300 --method constrained

Each line of the glossary has a source term, a target term and the ids of the documents that it holds for, separated by
spaces. Three runs over the same sentences are compared:

* none: without a glossary.
* confirmed: each sentence gets those of its terms that its reference has, as in Dinu et al. (2019), section 4. Here a
  term that is not used is a mistake of the model.
* all: each sentence gets all terms of its document, as in practice; the reference may say some of them otherwise.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu
import torch
from transformers import AutoModelForSeq2SeqLM

from hier_nmt.configuration.configuration_choices import ENGINES
from hier_nmt.data.corpora import read_documents
from hier_nmt.data.glossary_files import read_glossary
from hier_nmt.data.plain_typography import plain_text
from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.registration import run_with_engine
from hier_nmt.text.glossary import GIVEN, UNUSED, Glossary, Term
from hier_nmt.translation.document_translator import DocumentTranslator
from hier_nmt.translation.glossary_options import GLOSSARY_METHODS
from hier_nmt.translation.translation_documents import SourceDocument
from hier_nmt.translation.translation_report import DecodingStatistics


class Sentence(NamedTuple):
    """A sentence pair, and the glossary of its document."""

    source: str
    reference: str
    glossary: Glossary

    @property
    def terms(self) -> list[Term]:
        """The different terms of the sentence."""
        return list(dict.fromkeys(match.term for match in self.glossary.find(self.source)))

    @property
    def confirmed(self) -> list[Term]:
        """Those of them that the reference has."""
        return [term for term in self.terms if self.glossary.use(term, self.reference) != UNUSED]

    def with_terms(self, terms: Sequence[Term]) -> Glossary | None:
        """A glossary of these terms; None for none."""
        return self.glossary_of(terms) if terms else None

    def glossary_of(self, terms: Sequence[Term]) -> Glossary:
        """A glossary in the languages of the sentence."""
        return Glossary(terms, self.glossary.source_language, self.glossary.target_language)


@dataclass
class Figures:
    """What a run has of the terms that count, and its BLEU.

    Attributes:
        num_terms: terms in the sentences, each once in a sentence.
        num_given, num_inflected: those that the translation has, as given or in another form.
        num_too_often: those that it has more often than the source, and than the reference.
        bleu: of the sentences.
        seconds: of the run.
    """

    num_terms: int
    num_given: int
    num_inflected: int
    num_too_often: int
    bleu: float
    seconds: float

    def row(self) -> list[str]:
        """As cells of a table."""
        share = [100 * count / max(1, self.num_terms) for count in (self.num_given, self.num_inflected)]
        return [
            f"{share[0]:.1f}",
            f"{sum(share):.1f}",
            str(self.num_too_often),
            f"{self.bleu:.2f}",
            f"{self.seconds:.0f}",
        ]


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options, checked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="checkpoint directory")
    parser.add_argument("corpus", help="JSON lines of documents with ids")
    parser.add_argument("glossary", type=Path, help="tab-separated, with ids of documents in the third column")
    parser.add_argument("--sentences", type=int, help="of those with terms, evenly spaced; default: all")
    parser.add_argument("--others", type=int, default=100, help="of those without terms; default: 100")
    parser.add_argument("--method", choices=GLOSSARY_METHODS, nargs="+", default=["auto"])
    parser.add_argument("--runs", choices=["confirmed", "all"], nargs="+", default=["confirmed", "all"])
    parser.add_argument("--engine", choices=ENGINES, default="torch")
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--unseen", type=Path, help="glossary of the training data: its pairs are not measured")
    parser.add_argument("--show", type=int, default=0, help="translations to print")
    parser.add_argument("--output", type=Path, help="JSON file of all translations")
    return parser.parse_args(arguments)


def document_glossaries(path: Path, languages: tuple[str, str], unseen: Path | None) -> dict[str, Glossary]:
    """The glossary of each document."""
    read_glossary(path, *languages)
    seen = set() if unseen is None else {tuple(row[:2]) for row in _rows(unseen)}
    terms: dict[str, list[Term]] = {}
    for source, target, names in _rows(path):
        if (source, target) not in seen:
            for name in names.split():
                terms.setdefault(name, []).append(Term(source, (target,)))
    return {name: Glossary(found, *languages) for name, found in terms.items()}


def _rows(path: Path) -> Iterator[list[str]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield line.split("\t")


def sentences_of(options: argparse.Namespace, languages: tuple[str, str]) -> tuple[list[Sentence], list[Sentence]]:
    """Evenly spaced sentences with confirmed or other terms, and without any."""
    glossaries = document_glossaries(options.glossary, languages, options.unseen)
    with_terms: list[Sentence] = []
    others: list[Sentence] = []
    for document in read_documents([options.corpus], "json-lines", *languages):
        if document.id in glossaries:
            for pair in (pair for paragraph in document.paragraphs for pair in paragraph):
                sentence = Sentence(pair.source, pair.target, glossaries[document.id])
                (with_terms if sentence.terms else others).append(sentence)
    return _spaced(with_terms, options.sentences), _spaced(others, options.others)


def _spaced(sentences: list[Sentence], count: int | None) -> list[Sentence]:
    if count is None or count >= len(sentences):
        return sentences
    return [sentences[index * len(sentences) // count] for index in range(count)]


def translated(
    translator: DocumentTranslator, sentences: Sequence[Sentence], glossaries: Sequence[Glossary | None]
) -> tuple[list[str], DecodingStatistics, float]:
    """The translation of each sentence, what happened, and the seconds."""
    documents = [
        SourceDocument([[one.source]], glossary=glossary) for one, glossary in zip(sentences, glossaries, strict=True)
    ]
    start = time.perf_counter()
    found = translator.translate(documents)
    statistics = DecodingStatistics()
    for document in found:
        statistics.add(document.statistics)
    return [document.paragraphs[0][0] for document in found], statistics, time.perf_counter() - start


def bleu(translations: Sequence[str], sentences: Sequence[Sentence]) -> float:
    """BLEU with straight quotation marks and apostrophes on both sides."""
    references = [plain_text(one.reference) for one in sentences]
    if not sentences:
        return float("nan")
    return sacrebleu.corpus_bleu([plain_text(text) for text in translations], [references]).score


def figures(
    translations: Sequence[str], sentences: Sequence[Sentence], terms: Sequence[Sequence[Term]], seconds: float
) -> Figures:
    """The figures of a run over sentences with these terms each."""
    uses = Counter(
        one.glossary.use(term, text)
        for text, one, wanted in zip(translations, sentences, terms, strict=True)
        for term in wanted
    )
    num_too_often = sum(
        is_too_often(one, term, text)
        for text, one, wanted in zip(translations, sentences, terms, strict=True)
        for term in wanted
    )
    num_inflected = uses.total() - uses[GIVEN] - uses[UNUSED]
    return Figures(uses.total(), uses[GIVEN], num_inflected, num_too_often, bleu(translations, sentences), seconds)


def is_too_often(sentence: Sentence, term: Term, translation: str) -> bool:
    """Whether a translation has a term more often than its source and its reference have it."""
    in_source = sum(match.term == term for match in sentence.glossary.find(sentence.source))
    in_reference = sum(1 for _ in sentence.glossary.uses(term, sentence.reference))
    return sum(1 for _ in sentence.glossary.uses(term, translation)) > max(in_source, in_reference)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown, the first above the others."""
    head, *others = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *others])


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Prints the tables; returns all translations."""
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(options.model, dtype=torch.float32, attn_implementation="eager")
    model = run_with_engine(model, options.engine)
    tokenizer, target_tokenizer = load_tokenizers(options.model)
    with_terms, others = sentences_of(options, (model.config.source_language, model.config.target_language))
    sentences = [*with_terms, *others]
    wanted = {"confirmed": [one.confirmed for one in with_terms], "all": [one.terms for one in with_terms]}

    def run(name: str | None, method: str) -> tuple[list[str], float]:
        translator = DocumentTranslator(
            model,
            tokenizer,
            target_tokenizer,
            strategy="sentence",
            batch_size=options.batch_size,
            glossary_method=method,
            generate_kwargs={"num_beams": options.beams},
        )
        terms = [] if name is None else wanted[name]
        glossaries = [one.with_terms(found) for one, found in zip(with_terms, terms, strict=False)]
        glossaries += [None if name is None else one.glossary for one in sentences[len(glossaries) :]]
        texts, statistics, seconds = translated(translator, sentences, glossaries)
        print(*statistics.terms(), f"{statistics.num_term_retries} decoded again", file=sys.stderr)
        return texts, seconds

    plain, seconds = run(None, "auto")
    everything: dict[str, Any] = {
        "source": [one.source for one in sentences],
        "reference": [one.reference for one in sentences],
        "none": plain,
    }
    count = len(with_terms)
    head = ["terms", "method", "terms in sentences", "as given %", "in any form %", "too often", "BLEU", "seconds"]
    rows = [head]
    for name in options.runs:
        base = figures(plain[:count], with_terms, wanted[name], seconds)
        rows.append([name, "none", str(base.num_terms), *base.row()])
        for method in options.method:
            texts, seconds_with = run(name, method)
            found = figures(texts[:count], with_terms, wanted[name], seconds_with)
            rows.append([name, method, str(found.num_terms), *found.row()])
            everything[f"{name} {method}"] = texts
            changed = sum(one != other for one, other in zip(texts[count:], plain[count:], strict=True))
            print(
                f"{name}, {method}: {changed} of {len(others)} sentences without terms changed; their BLEU "
                f"{bleu(plain[count:], others):.2f} without, {bleu(texts[count:], others):.2f} with the glossary",
                file=sys.stderr,
            )
    print(f"{count} sentences with terms, {len(others)} without; beams: {options.beams}\n\n{table(rows)}")
    show(everything, with_terms, options.show)
    return everything


def show(everything: dict[str, list[str]], sentences: Sequence[Sentence], count: int) -> None:
    """Prints the first translations that a glossary changed."""
    names = [name for name in everything if name not in ("source", "reference", "none")]
    changed = [
        index
        for index in range(len(sentences))
        if any(everything[name][index] != everything["none"][index] for name in names)
    ]
    for index in changed[:count]:
        print("\n" + "; ".join(f"{term.source}: {', '.join(term.targets)}" for term in sentences[index].terms))
        for name, texts in everything.items():
            print(f"  {name:22} {texts[index]}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and writes the translations if they are wanted."""
    options = parse_arguments(arguments)
    everything = measure(options)
    if options.output is not None:
        options.output.write_text(json.dumps(everything, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
