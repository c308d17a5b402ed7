# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Readers of published contrastive sets, in their published form.

* `json-lines`: our own form (see `contrastive_sets`).
* `discevalmt`: DiscEvalMT, en-fr (Bawden et al. 2018): anaphora.json, lexical-choice.json.
* `contrapro`: the JSON file of ContraPro, en-de (Müller et al. 2018), or of the large en-fr pronoun sets (Lopes et al.
  2020); the context comes from a folder of documents.
* `line-paired`: the output of the script of the en-fr pronoun sets.
* `voita`: deixis, lexical cohesion and ellipsis, en-ru (Voita et al. 2019): the JSON files, or .src and .dst.

Texts are not changed: Voita's are tokenised, and a model of untokenised text needs them otherwise.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from ..data.corpus_files import CorpusError, parse_json
from .contrastive_sets import ContrastiveExample, read_contrastive_set, read_lines

logger = logging.getLogger(__name__)

CONTRASTIVE_FORMATS = ("json-lines", "discevalmt", "contrapro", "line-paired", "voita")
_SENTENCE_BREAK = "_eos"


def read_contrastive(
    paths: Sequence[str | Path],
    format: str,
    *,
    context_dir: str | Path | None = None,
    num_context: int = 12,
    source_language: str = "en",
    target_language: str = "de",
    context_lines: int | None = None,
) -> list[ContrastiveExample]:
    """The examples of the files of a contrastive set, in order.

    Args:
        paths: one or more files of the format; for `line-paired` two or four; for `voita` JSON files, or text files,
            source and target in turn.
        format: one of `CONTRASTIVE_FORMATS`.
        context_dir: `contrapro` only: a folder that contains, at any depth, the documents as two files of aligned
            lines, `<document id>.<language>`; without it there is no context.
        num_context: `contrapro` only: the maximum number of context sentences.
        source_language, target_language: `contrapro` only: endings of the documents' files.
        context_lines: `line-paired` with two files only: number of context lines before each sentence.

    Raises:
        CorpusError: a malformed file, with the reason, or a set without examples.
        OSError: a file that cannot be read.
        ValueError: an unknown format, or a wrong number of files.
    """
    if format == "json-lines":
        examples = [example for path in paths for example in read_contrastive_set(path)]
    elif format == "discevalmt":
        examples = [example for path in paths for example in read_discevalmt(path)]
    elif format == "contrapro":
        documents = None if context_dir is None else AlignedDocuments(context_dir, source_language, target_language)
        examples = [example for path in paths for example in read_contrapro(path, documents, num_context)]
    elif format == "line-paired":
        examples = list(read_line_paired(paths, context_lines))
    elif format == "voita":
        examples = list(read_voita(paths))
    else:
        raise ValueError(f"format must be one of {', '.join(CONTRASTIVE_FORMATS)}; got {format!r}")
    if not examples:
        raise CorpusError(", ".join(map(str, paths)), None, "no examples")
    return examples


def read_discevalmt(path: str | Path) -> Iterator[ContrastiveExample]:
    """The examples of DiscEvalMT's anaphora.json or lexical-choice.json: one context sentence, distance 1, two targets.

    A semi-correct translation (its context is translated by an unlikely noun) counts as right, since it is consistent
    with its own target context.
    """
    for number, group in _json_of(path, dict, "an object of numbered groups").items():
        with _with_location(path, f"group {number}"):
            examples = list(_discevalmt_examples(f"{Path(path).stem}:{number}", group))
        yield from examples


def _discevalmt_examples(name: str, group: dict[str, Any]) -> Iterator[ContrastiveExample]:
    if "trg" in group:
        parts = [(group["src"], target, f"anaphora {target['type']}") for target in group["trg"]]
    else:
        parts = [(part["src"], part["trg"], f"lexical choice, {group['type']}") for part in group["examples"]]
    for index, (source, targets, phenomenon) in enumerate(parts, start=1):
        right = targets["correct" if "correct" in targets else "semi-correct"]
        options = [_sentences(option) for option in (right, targets["incorrect"])]
        yield _example(f"{name}.{index}", phenomenon, 1, _sentences(source), options, 0)


class AlignedDocuments:
    """Documents as pairs of text files with aligned lines, found by name in a folder at any depth.

    Args:
        folder: the folder to search.
        source_language, target_language: what follows the last dot of the file names.

    Raises:
        CorpusError: no such pair in the folder.
    """

    def __init__(self, folder: str | Path, source_language: str, target_language: str) -> None:
        self.folder, self.languages = Path(folder), (source_language, target_language)
        sources, targets = (
            {path.name.removesuffix(f".{language}"): path for path in self.folder.rglob(f"*.{language}")}
            for language in self.languages
        )
        self._paths = {name: (path, targets[name]) for name, path in sources.items() if name in targets}
        self._lines: dict[str, list[tuple[str, str]]] = {}
        if not self._paths:
            raise CorpusError(folder, None, "no documents", f"no pair of files *.{source_language} *.{target_language}")

    def __call__(self, document_id: str) -> list[tuple[str, str]]:
        """The (source, target) lines of a document; its id is the name of its file, with or without the language."""
        name = document_id.removesuffix(f".{self.languages[1]}")
        if name not in self._paths:
            raise CorpusError(self.folder, None, "missing document", f"{name}.{{{','.join(self.languages)}}}")
        if name not in self._lines:
            sides = [[text.strip() for _, text in read_lines(path)] for path in self._paths[name]]
            if len(sides[0]) != len(sides[1]):
                detail = f"{len(sides[0])} and {len(sides[1])} lines"
                raise CorpusError(self._paths[name][0], None, "different number of lines", detail)
            self._lines[name] = list(zip(*sides, strict=True))
        return self._lines[name]


def read_contrapro(
    path: str | Path, documents: AlignedDocuments | None = None, num_context: int = 12
) -> Iterator[ContrastiveExample]:
    """The examples of a JSON file in ContraPro's form; without documents they have no context, which is logged.

    The set's sentences are searched in the documents, to determine whether its segment ids count from 1 (ContraPro) or
    from 0 (the en-fr sets). An example whose sentence is not found has no context, which is logged.
    """
    entries = _json_of(path, list, "a list of examples")
    first = 0 if documents is None else _first_segment_id(path, entries, documents)
    num_lost = 0
    for number, entry in enumerate(entries, start=1):
        with _with_location(path, f"entry {number}"):
            context = None if documents is None else _context(entry, documents, first, num_context)
            example = _contrapro_example(f"{Path(path).stem}:{number}", entry, context or [])
        num_lost += context is None
        yield example
    if documents is None:
        logger.warning("%s is read without context: no folder of documents is given", path)
    elif num_lost:
        logger.warning("%d of %d examples of %s are not in their documents: no context", num_lost, len(entries), path)


def _contrapro_example(name: str, entry: dict[str, Any], context: list[tuple[str, str]]) -> ContrastiveExample:
    source_pronoun, pronoun = (_text(entry[key]).lower() for key in ("src pronoun", "ref pronoun"))
    distance = entry.get("ante distance")
    return ContrastiveExample(
        id=name,
        phenomenon=f"{source_pronoun}:{pronoun}",
        # The en-fr sets write -1 if the antecedent is unknown.
        distance=distance if isinstance(distance, int) and distance >= 0 else None,
        source_context=tuple(source for source, _ in context),
        target_context=tuple(target for _, target in context),
        source=_text(entry["src segment"]),
        targets=(_text(entry["ref segment"]), *(_text(error["contrastive"]) for error in entry["errors"])),
        correct=0,
        expected_words=(pronoun,),
        wrong_words=tuple(_text(error["replacement"]).lower() for error in entry["errors"]),
    )


def _first_segment_id(path: str | Path, entries: Sequence[dict[str, Any]], documents: AlignedDocuments) -> int:
    """The segment id of the first line of a document: the value with which more of the set's sentences are found."""
    counts = {1: 0, 0: 0}
    for number, entry in enumerate(entries, start=1):
        with _with_location(path, f"entry {number}"):
            for first in counts:
                counts[first] += _context(entry, documents, first, 0) is not None
    return max(counts, key=lambda first: counts[first])


def _context(
    entry: dict[str, Any], documents: AlignedDocuments, first: int, num_context: int
) -> list[tuple[str, str]] | None:
    """The lines before an example's sentence; None if the sentence is not at its segment id."""
    lines, index = documents(entry["document id"]), entry["segment id"] - first
    if not 0 <= index < len(lines) or _letters(lines[index][0]) != _letters(entry["src segment"]):
        return None
    return [pair for pair in lines[max(0, index - num_context) : index] if any(pair)]


def _letters(text: str) -> str:
    """The letters of a sentence, which do not depend on its tokenisation."""
    return "".join(character for character in text.casefold() if character.isalnum())


def read_line_paired(paths: Sequence[str | Path], context_lines: int | None = None) -> Iterator[ContrastiveExample]:
    """The examples of aligned text files in which right and wrong translations of the same sentence alternate.

    Four files: current source, current target, context source, context target, with the same number of context lines
    for each current line. Two files, source and target: each current line follows its `context_lines` context lines.
    Empty context lines, from before the start of a document, are dropped.
    """
    if len(paths) not in (2, 4) or (len(paths) == 2) != (context_lines is not None):
        raise ValueError(
            f"line-paired sets are four files (current source, current target, context source, context target), or two "
            f"files and the number of context lines; got {len(paths)} files and context_lines={context_lines}"
        )
    contexts = paths[2:] or (None, None)
    sides = [_line_windows(*pair, context_lines) for pair in zip(paths[:2], contexts, strict=True)]
    if len(sides[0]) != len(sides[1]) or len(sides[0]) % 2:
        detail = f"{len(sides[0])} source and {len(sides[1])} target sentences, where pairs of both are needed"
        raise CorpusError(paths[0], None, "wrong number of lines", detail)
    width = 1 if context_lines is None else context_lines + 1
    for index in range(0, len(sides[0]), 2):
        sources, targets = (side[index : index + 2] for side in sides)
        yield _pair_of_lines(paths, index * width + width, sources, targets)


def _line_windows(current: str | Path, context: str | Path | None, context_lines: int | None) -> list[list[str]]:
    """The context lines of each sentence and the sentence itself; the context is in its own file or between the
    sentences."""
    lines = [text.strip() for _, text in read_lines(current)]
    if context is None:
        width = (context_lines or 0) + 1
        windows = [lines[start : start + width] for start in range(0, len(lines), width)]
    else:
        context_text = [text.strip() for _, text in read_lines(context)]
        width = len(context_text) // max(1, len(lines)) + 1
        windows = [
            [*context_text[index * (width - 1) : (index + 1) * (width - 1)], line] for index, line in enumerate(lines)
        ]
        if len(context_text) != len(lines) * (width - 1):
            detail = f"{len(context_text)} for {len(lines)} sentences"
            raise CorpusError(context, len(context_text), "uneven number of context lines", detail)
    if windows and len(windows[-1]) != width:
        raise CorpusError(current, len(lines), "ends within a window", f"of {width - 1} context lines and a sentence")
    return windows


def _pair_of_lines(
    paths: Sequence[str | Path], line: int, sources: list[list[str]], targets: list[list[str]]
) -> ContrastiveExample:
    """The example of two consecutive windows per side; the first target is right."""
    if sources[0] != sources[1]:
        raise CorpusError(paths[0], line, "right and wrong translation are not of the same source")
    kept = [index for index, pair in enumerate(zip(sources[0], targets[0], strict=False)) if any(pair)]
    source, *options = ([window[index] for index in kept] for window in (sources[0], *targets))
    name = Path(paths[0]).stem
    with _with_location(paths[1], f"line {line}"):
        return _example(f"{name}:{line}", name, None, source, options, 0)


def read_voita(paths: Sequence[str | Path]) -> Iterator[ContrastiveExample]:
    """The examples of Voita's sets: groups of sentences joined by `_eos`, the last of which is the current one.

    In the text files the first translation of each group is taken as the right one. The lexical cohesion sets do not
    follow this order: their text files are refused, and their JSON file must be read.
    """
    if all(Path(path).suffix == ".json" for path in paths):
        for path in paths:
            yield from _voita_json(path)
    elif len(paths) % 2 == 0:
        for source_path, target_path in zip(paths[::2], paths[1::2], strict=True):
            yield from _voita_text(source_path, target_path)
    else:
        raise ValueError(f"voita sets are JSON files, or text files in pairs (source, target); got {len(paths)} files")


def _voita_json(path: str | Path) -> Iterator[ContrastiveExample]:
    name = Path(path).stem
    for number, entry in enumerate(_json_of(path, list, "a list of groups"), start=1):
        with _with_location(path, f"group {number}"):
            # The ellipsis sets have no meaningful distance: any of the sentences may contain what was elided.
            distance = None if name.startswith("ellipsis") else entry.get("ctx_dist")
            options = [_split_at_eos(option) for option in entry["dst"]]
            example = _example(
                f"{name}:{number}", name, distance, _split_at_eos(entry["src"]), options, entry["true_ind"]
            )
        yield example


def _voita_text(source_path: str | Path, target_path: str | Path) -> Iterator[ContrastiveExample]:
    sources, targets = ([_split_at_eos(text) for _, text in read_lines(path)] for path in (source_path, target_path))
    if len(sources) != len(targets):
        detail = f"{len(sources)} in {source_path}, {len(targets)} in {target_path}"
        raise CorpusError(target_path, None, "different number of lines", detail)
    numbered = enumerate(zip(sources, targets, strict=True), start=1)
    name, last = Path(source_path).stem, None
    for (source, _), group in groupby(numbered, key=lambda item: (item[1][0], item[1][1][:-1])):
        lines, options = zip(*((line, target) for line, (_, target) in group), strict=True)
        with _with_location(target_path, f"line {lines[0]}"):
            example = _example(f"{name}:{lines[0]}", name, None, source, list(options), 0)
        if (example.source, example.targets) == last:
            detail = "the same translations in the same order, but in another context; read the set's JSON file"
            raise CorpusError(target_path, lines[0], "the first translation is not always the right one", detail)
        last = (example.source, example.targets)
        yield example


def _split_at_eos(text: Any) -> list[str]:
    return [sentence.strip() for sentence in _text(text).split(_SENTENCE_BREAK)]


def _example(
    name: str, phenomenon: str, distance: int | None, source: list[str], options: list[list[str]], correct: int
) -> ContrastiveExample:
    """The example of windows of sentences, the current one last; ValueError if they do not match."""
    for option in options:
        if len(option) != len(source):
            raise ValueError(f"{len(source)} source sentences but {len(option)} in a translation")
        if option[:-1] != options[0][:-1]:
            raise ValueError("the context is not translated the same way in all translations")
    targets = tuple(option[-1] for option in options)
    context = tuple(options[0][:-1])
    return ContrastiveExample(name, phenomenon, distance, tuple(source[:-1]), context, source[-1], targets, correct)


@contextmanager
def _with_location(path: str | Path, location: str) -> Iterator[None]:
    """Turns any exception of a malformed entry into an error with the location of the entry."""
    try:
        yield
    except CorpusError:
        raise
    except KeyError as error:
        raise CorpusError(path, None, "missing key", f"{error} in {location}") from error
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise CorpusError(path, None, "bad example", f"{location}: {error}") from error


def _json_of(path: str | Path, kind: type, description: str) -> Any:
    """The content of a JSON file; CorpusError unless it has the given type."""
    content = parse_json(path, None, "\n".join(text for _, text in read_lines(path)))
    if not isinstance(content, kind):
        raise CorpusError(path, None, f"not {description}", f"got {type(content).__name__}")
    return content


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"not a text: {value!r:.80}")
    return value.strip()


def _sentences(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError(f"not a list of sentences: {value!r:.80}")
    return [_text(sentence) for sentence in value]
