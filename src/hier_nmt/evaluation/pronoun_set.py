# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""An English-French pronoun set from a corpus of documents: sentences that start with `it` or `they` and whose
translation starts with `il`, `elle`, `ils` or `elles`, each with a wrong translation in the other gender.

The two pronouns are aligned by position: each is the subject that opens its sentence, perhaps after a connective, and
the only pronoun of its kind there. Their antecedent is in the sentences before. The wrong translation swaps the pronoun
and the words that agree with it; a sentence for which these rules cannot decide the agreement is rejected and counted.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..data.documents import ParallelDocument, SentencePair
from .contrastive_sets import ContrastiveExample

GENDER_SWAP = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}

_ENGLISH_OPENING = re.compile(
    r"(?:(?:But|And|So|Yet|Thus|Therefore|However|Moreover|Furthermore|Nevertheless|In addition|In fact|Indeed|Finally"
    r"|Instead|Firstly|Secondly|Today|Now),? )?(it|they)\b(?!')",
    re.IGNORECASE,
)
_FRENCH_OPENING = re.compile(
    r"(?:(?:Mais|Et|Or|Ainsi|Donc|Cependant|Toutefois|Pourtant|Néanmoins|De plus|En outre|En effet|En fait|Enfin|Aussi"
    r"|Par conséquent|Aujourd[’']hui|Maintenant|Premièrement|Deuxièmement),? )?(ils?|elles?) ",
    re.IGNORECASE,
)
_ENGLISH_PRONOUNS = re.compile(r"\b(?:it|its|itself|they|them|their|themselves)\b", re.IGNORECASE)
_FRENCH_SUBJECTS = re.compile(r"\b(?:ils?|elles?)\b", re.IGNORECASE)
# Words that agree with the subject from any position, or repeat the pronoun.
_FLOATING = re.compile(
    r"\b(?:lui-même|elle-même|eux-mêmes|elles-mêmes|eux|tous|toutes|tout|toute|seuls?|seules?|chacune?|unique|telle?s?"
    r"|celui|celle|ceux|celles|lequel|laquelle|lesquels|lesquelles|aucune?|l[’']une?|les une?s)\b",
    re.IGNORECASE,
)
_IMPERSONAL_ENGLISH = re.compile(
    r"\bit (?:(?:will|would|may|might|must|can|could|should|has|had|does|did|also|only|therefore|is|was|now|not) )*"
    r"(?:(?:be|been|is|was|seems?|appears?|follows?|remains?|goes|takes?|took|becomes?|makes?|matters?|means|turns?"
    r"|happens?)\b)(?: \w+){0,6} (?:that|to|whether|if|how|why|who|which|when|for|about|time|clear|true|important)\b",
    re.IGNORECASE,
)
# After "il": an impersonal verb, or "être" and an adjective with "que" or "de".
_IMPERSONAL_VERBS = (
    r"faut|faudra|faudrait|fallait|fallu|(?:s[’'])?(?:agit|agissait|agira|agirait|agir)|convient|conviendrait|convenait|importe"
    r"|semble|paraît|apparaît|apparaîtra|reste|existe|suffit|suffira|suffirait|vaut|vaudrait|manque|arrive|incombe"
    r"|appartient|advient|résulte|ressort|découle|s[’']ensuit|question|y a|y avait|y aura|y aurait|y ait|va de soi"
    r"|en va|en est|en allait|temps|vrai|clair|se peut|se trouve|se pourrait|ne fait"
)
_IMPERSONAL_FRENCH = re.compile(
    rf"\bil (?:[\w’']+ ){{0,3}}(?:{_IMPERSONAL_VERBS})\b"
    r"|\bil (?:[\w’'-]+ ){0,2}(?:est|était|serait|sera|soit|fut|être|été)\b(?:,? [\w’'-]+,?){1,6}? "
    r"(?:que\b|qu[’']|de\b|d[’'])",
    re.IGNORECASE,
)
_BE = (
    r"est|sont|était|étaient|sera|seront|serait|seraient|fut|furent|soit|soient|semblent?|semblai(?:t|ent)|restent?"
    r"|demeurent?|paraît|paraissent|deviennent|devient|deviendra|deviendront|restera|resteront"
)
_ADVERBS = (
    r"(?:(?:pas|plus|jamais|aussi|également|donc|toutefois|cependant|déjà|encore|toujours|très|trop|si|bien|moins|assez"
    r"|tout à fait|aujourd[’']hui|désormais|actuellement|maintenant|parfois|souvent|simplement|seulement|également|non"
    r"|entièrement|pleinement|largement|clairement|fortement|particulièrement|extrêmement|absolument|vraiment|aussi"
    r"|totalement|directement|ainsi|certainement|probablement|peut-être|relativement|beaucoup|tellement|même"
    r"|effectivement|évidemment|notamment|principalement|rapidement|peu|loin)[, ]+)*"
)
# A form of "être" (or similar), anywhere after the subject, and the word that may agree with it.
_AGREEING = re.compile(rf"\b(?:{_BE}|été|être|devenir|rester)\b,? {_ADVERBS}(?P<word>[\w’'-]+)", re.IGNORECASE)
_REFLEXIVE_PAST = re.compile(rf"\bs[’'](?:est|sont|était|étaient) {_ADVERBS}(?P<word>[\w-]+)", re.IGNORECASE)
_OTHER_CLAUSE = re.compile(r"\b(?:qui|que|dont|où|lorsque|quand|parce|car|si|puisque|afin|tandis)\b|qu[’']|[;:]")
# Words after "être" that start something that does not agree with the subject.
_NO_AGREEMENT = frozenset({
    "un", "une", "le", "la", "les", "du", "des", "de", "à", "au", "aux", "en", "dans", "sur", "sous", "pour",
    "par", "avec", "sans", "contre", "entre", "vers", "chez", "selon", "après", "avant", "notre", "nos",
    "votre", "vos", "leur", "leurs", "son", "sa", "ses", "mon", "ma", "mes", "ce", "cet", "cette", "ces",
    "que", "où", "comme", "censé", "deux", "trois", "quatre",
})  # fmt: skip
_INVARIABLE_ENDINGS = ("aire", "ique", "able", "ible", "iste", "oire", "ime", "aste", "ège", "igne", "ance")
_INVARIABLE = frozenset({
    "utile", "inutile", "difficile", "facile", "fragile", "possible", "faible", "large", "même", "autre",
    "libre", "jeune", "pauvre", "propre", "responsable", "juste", "injuste", "complexe", "digne", "solide",
    "efficace", "inefficace", "rapide", "riche", "simple", "souple", "stable", "sensible", "unanime", "énorme",
    "grave", "honnête", "modeste", "moderne", "multiple", "perplexe", "rare", "sage", "sobre", "triste",
    "vaste", "vide",
})  # fmt: skip
# Feminine ending, masculine ending; the longest match decides.
_ENDINGS = (
    ("ées", "és"), ("ée", "é"), ("ies", "is"), ("ie", "i"), ("ues", "us"), ("ue", "u"),
    ("ises", "is"), ("ise", "is"), ("ites", "its"), ("ite", "it"), ("intes", "ints"), ("inte", "int"),
    ("ertes", "erts"), ("erte", "ert"), ("ortes", "orts"), ("antes", "ants"), ("ante", "ant"), ("entes", "ents"),
    ("ente", "ent"), ("elles", "els"), ("elle", "el"), ("ales", "aux"), ("ale", "al"), ("ives", "ifs"), ("ive", "if"),
    ("euses", "eux"), ("euse", "eux"), ("aines", "ains"), ("aine", "ain"), ("ières", "iers"), ("ière", "ier"),
    ("éennes", "éens"), ("éenne", "éen"), ("iennes", "iens"), ("ienne", "ien"), ("uites", "uits"), ("uite", "uit"),
    ("aites", "aits"), ("aite", "ait"), ("êtes", "êts"), ("ête", "êt"), ("oites", "oits"), ("oite", "oit"),
)  # fmt: skip
_IRREGULAR = {"bonne": "bon", "bonnes": "bons", "nouvelle": "nouveau", "nouvelles": "nouveaux", "longue": "long"}
_IRREGULAR |= {"belle": "beau", "belles": "beaux", "vieille": "vieux", "franche": "franc", "franches": "francs"}
_IRREGULAR |= {"longues": "longs", "dure": "dur", "dures": "durs", "sûre": "sûr", "sûres": "sûrs", "claire": "clair"}
_IRREGULAR |= {"claires": "clairs", "publique": "public", "publiques": "publics", "fausse": "faux", "fausses": "faux"}
_IRREGULAR |= {"seule": "seul", "inquiète": "inquiet", "inquiètes": "inquiets", "complète": "complet"}
_IRREGULAR |= {"incomplète": "incomplet", "forte": "fort", "fortes": "forts", "grande": "grand", "grandes": "grands"}
_IRREGULAR |= {"petite": "petit", "petites": "petits", "due": "dû", "dues": "dus", "venue": "venu", "venues": "venus"}
_MASCULINE = {masculine: feminine for feminine, masculine in _IRREGULAR.items()} | {"faux": ""}


@dataclass
class PronounReport:
    """How many sentences were examined and taken, and why the others were rejected."""

    num_sentences: int = 0
    taken: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        lines = [f"{self.num_sentences} sentences, {self.taken.total()} of them taken"]
        lines += [f"taken {count}: {name}" for name, count in sorted(self.taken.items())]
        lines += [f"rejected {count}: {reason}" for reason, count in self.rejected.most_common()]
        return "\n".join(lines)


class _Rejected(Exception):
    """Raised for a sentence that cannot be used; its argument is the reason."""


def pronoun_examples(
    documents: Iterable[ParallelDocument],
    *,
    num_context: int = 3,
    excluded: frozenset[str] = frozenset(),
    report: PronounReport | None = None,
) -> Iterator[ContrastiveExample]:
    """The pronoun examples of a corpus, in its order; each source sentence is taken once.

    Args:
        documents: documents that no training uses.
        num_context: number of context sentences of each example. The first sentences of a document have fewer, and the
            very first is no example.
        excluded: source sentences that must not be used, because a model was trained on them.
        report: filled on the way.
    """
    report = report if report is not None else PronounReport()
    seen = set(excluded)
    for document in documents:
        sources, targets = document.source_sentences, document.target_sentences
        for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
            report.num_sentences += 1
            if not _ENGLISH_OPENING.match(source):
                continue
            try:
                pronouns, wrong = _contrast(source, target)
                if index == 0:
                    raise _Rejected("no context")
                if source in seen:
                    raise _Rejected("the sentence occurs elsewhere too")
            except _Rejected as reason:
                report.rejected[str(reason)] += 1
                continue
            seen.add(source)
            report.taken[f"{pronouns[0]}->{pronouns[1]}"] += 1
            before = slice(max(0, index - num_context), index)
            yield ContrastiveExample(
                id=f"{document.id}:{index}",
                phenomenon=f"{pronouns[0]}->{pronouns[1]}",
                distance=None,
                source_context=tuple(sources[before]),
                target_context=tuple(targets[before]),
                source=source,
                targets=(target, wrong),
                correct=0,
                expected_words=(pronouns[1],),
                wrong_words=(GENDER_SWAP[pronouns[1]],),
            )


def pronoun_pairs(documents: Iterable[ParallelDocument], report: PronounReport | None = None) -> Iterator[SentencePair]:
    """The sentence pairs of a corpus that open with pronouns whose antecedent is in a sentence before, in its order.

    They may have other pronouns, and words whose agreement no rule decides, since no wrong translation is made of them.

    Args:
        documents: for example those of a training corpus.
        report: filled on the way.
    """
    report = report if report is not None else PronounReport()
    for document in documents:
        for index, pair in enumerate(pair for paragraph in document.paragraphs for pair in paragraph):
            report.num_sentences += 1
            if not _ENGLISH_OPENING.match(pair.source):
                continue
            try:
                pronouns, _ = _opening_pronouns(pair.source, pair.target)
                _check_personal(pronouns, pair.source, pair.target)
                if index == 0:
                    raise _Rejected("no context")
            except _Rejected as reason:
                report.rejected[str(reason)] += 1
                continue
            report.taken[f"{pronouns[0]}->{pronouns[1]}"] += 1
            yield pair


def balanced(examples: Iterable[ContrastiveExample], seed: int) -> list[ContrastiveExample]:
    """Equally many examples of the two French pronouns of each number, drawn by the seed, in the order of the corpus; a
    model that always chooses the same gender is right for half of them."""
    by_phenomenon: dict[str, list[tuple[int, ContrastiveExample]]] = {}
    for place, example in enumerate(examples):
        by_phenomenon.setdefault(example.phenomenon, []).append((place, example))
    generator = random.Random(seed)
    chosen = []
    for masculine, feminine in (("it->il", "it->elle"), ("they->ils", "they->elles")):
        groups = [by_phenomenon.get(name, []) for name in (masculine, feminine)]
        for group in groups:
            chosen += generator.sample(group, min(map(len, groups)))
    return [example for _, example in sorted(chosen, key=lambda item: item[0])]


def _contrast(source: str, target: str) -> tuple[tuple[str, str], str]:
    """((English pronoun, French pronoun), the wrong translation)."""
    pronouns, place = _opening_pronouns(source, target)
    if len(_ENGLISH_PRONOUNS.findall(source)) != 1:
        raise _Rejected("several pronouns in the source")
    if len(_FRENCH_SUBJECTS.findall(target)) != 1:
        raise _Rejected("several pronouns in the translation")
    _check_personal(pronouns, source, target)
    return pronouns, _swapped(target, place)


def _opening_pronouns(source: str, target: str) -> tuple[tuple[str, str], tuple[int, int]]:
    """((English pronoun, French pronoun) that open the sentences, span of the latter)."""
    english, french = _ENGLISH_OPENING.match(source), _FRENCH_OPENING.match(target)
    assert english is not None
    if french is None:
        raise _Rejected("the translation starts with another subject")
    pronouns = english[1].lower(), french[1].lower()
    if pronouns[1].endswith("s") != (pronouns[0] == "they"):
        raise _Rejected("another grammatical number in the translation")
    return pronouns, french.span(1)


def _check_personal(pronouns: tuple[str, str], source: str, target: str) -> None:
    """Rejects pronouns that may have no antecedent."""
    if pronouns[0] == "it" and _IMPERSONAL_ENGLISH.search(source):
        raise _Rejected("perhaps an impersonal it")
    if pronouns[1] == "il" and _IMPERSONAL_FRENCH.search(target):
        raise _Rejected("perhaps an impersonal il")


def _swapped(target: str, place: tuple[int, int]) -> str:
    """The translation with the pronoun at the span `place`, and the words that agree with it, in the other gender."""
    if _FLOATING.search(target):
        raise _Rejected("a word that may agree from a distance")
    pronoun = target[slice(*place)]
    other = GENDER_SWAP[pronoun.lower()]
    rest = target[place[1] :]
    if rest.startswith((" aussi ", " non plus", ", ")):
        raise _Rejected("a stressed pronoun")
    to_feminine = other.startswith("elle")
    opening = target[: place[0]] + (other.capitalize() if pronoun[0].isupper() else other)
    return opening + _agree(rest, to_feminine, is_plural=other.endswith("s"))


def _agree(rest: str, to_feminine: bool, is_plural: bool) -> str:
    """The text after the subject, with the words that agree with it in the other gender."""
    matches = [*_AGREEING.finditer(rest), *_REFLEXIVE_PAST.finditer(rest)]
    spans = sorted({match.span("word") for match in matches})
    main_clause = re.split(r"\b(?:qui|que|qu[’']|dont|où|lorsque|quand|parce|car|si|puisque|afin|tandis)\b|[;:]", rest)[
        0
    ]
    for start, stop in reversed(spans):
        word = rest[start:stop]
        if _begins_no_agreement(word):
            continue
        if start >= len(main_clause):
            raise _Rejected("a form of être in another clause")
        if re.match(rf"\W+(?:et|ou|ni|mais|voire|puis) {_ADVERBS}\w*(?:é|ée|és|ées|i|ie|is|ies|u|ue)\b", rest[stop:]):
            raise _Rejected("several words that agree")
        rest = rest[:start] + _other_gender(word, to_feminine, is_plural) + rest[stop:]
    return rest


def _begins_no_agreement(word: str) -> bool:
    plain = word.lower().replace("’", "'")
    return plain in _NO_AGREEMENT or plain.startswith(("l'", "d'", "qu'", "s'", "c'", "n'"))


def _other_gender(word: str, to_feminine: bool, is_plural: bool) -> str:
    """The word in the other gender, if it agrees with the subject."""
    lower = word.lower()
    if lower.endswith("ment") or re.fullmatch(_ADVERBS, f"{lower} "):
        raise _Rejected("agreement not decided by a rule")
    if lower in _INVARIABLE or lower.removesuffix("s") in _INVARIABLE:
        return word
    table = _MASCULINE if to_feminine else _IRREGULAR
    if table.get(lower):
        return table[lower]
    if lower.removesuffix("s").endswith(_INVARIABLE_ENDINGS):
        return word
    pairs = [pair if to_feminine else pair[::-1] for pair in _ENDINGS if pair[0].endswith("s") == is_plural]
    fitting = [(new, old) for new, old in pairs if lower.endswith(old) and len(lower) > len(old) + 1]
    if not fitting:
        raise _Rejected("agreement not decided by a rule")
    if to_feminine and is_plural and re.search(r"(?:m|pr|qu|ss)is$", lower):
        # "mis", "pris", "acquis", "assis" add to their "s" what "finis" replaces.
        return f"{word}es"
    new, old = max(fitting, key=lambda pair: len(pair[1]))
    return word[: len(word) - len(old)] + new
