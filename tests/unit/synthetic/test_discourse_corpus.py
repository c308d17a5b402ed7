# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from hier_nmt.data.corpora import read_documents
from hier_nmt.evaluation.contrastive_sets import read_contrastive_set
from hier_nmt.synthetic.discourse_corpus import (
    MAX_DISTANCE,
    MAX_ELLIPSIS_DISTANCE,
    document_examples,
    make_contrastive_set,
    make_documents,
)
from hier_nmt.synthetic.discourse_lexicon import (
    ADDRESSES,
    COLOURED_AS,
    COLOURS,
    ENCOUNTERS,
    FORMAL_OPENINGS,
    HABIT_TIMES,
    HABITS,
    INFORMAL_OPENINGS,
    NAMES,
    NEUTRAL,
    NOUN_CLASSES,
    NUMBERS,
    TWO_SENSES,
)
from hier_nmt.synthetic.discourse_scenes import PHENOMENA
from hier_nmt.synthetic.discourse_sentences import (
    NUM_ELLIPSES,
    Sentence,
    Thing,
    do_to,
    elide_habit,
    introduce,
    say_colour_of,
    say_of,
    state_habit,
    with_name,
)

SCRIPT = Path(__file__).parents[3] / "training" / "make_discourse_corpus.py"
NOUNS = [noun for noun_class in NOUN_CLASSES for noun in (*noun_class.masculine, *noun_class.feminine)]
CLASS_OF = {noun: noun_class for noun_class in NOUN_CLASSES for noun in (*noun_class.masculine, *noun_class.feminine)}
# Endings by which a French noun or adjective of the lexicon shows its gender; typed here, not read from the lexicon.
FEMININE_ENDINGS = ("ette", "euse", "ance", "erie", "trice", "iture", "othèque", "sion", "tion")
PRONOUNS = [phenomenon for phenomenon in PHENOMENA if phenomenon.startswith("pronoun")]
VOWEL = "aeiouyàâéèêëîïôûœ"


def all_sentences() -> list[Sentence]:
    """Every sentence that the rules can make, but for names: each rule with each word that it takes."""
    sentences = [with_name(pair, name) for pair in NEUTRAL for name in NAMES]
    sentences += [Sentence(*pair) for pair in (*FORMAL_OPENINGS, *INFORMAL_OPENINGS)]
    sentences += [Sentence(*rest) for rest in ADDRESSES]
    sentences += [Sentence(*rest) for word in TWO_SENSES for rest in word.sentences]
    sentences += [
        with_name(pair, name) for word in TWO_SENSES for topics in word.topics for pair in topics for name in NAMES
    ]
    sentences += [state_habit(name, habit, time) for name in NAMES for habit in HABITS for time in HABIT_TIMES]
    sentences += [
        elide_habit(name, form, *habits)
        for name in NAMES
        for form in range(NUM_ELLIPSES)
        for habits in itertools.permutations(HABITS, 2)
    ]
    for noun in NOUNS:
        things = [Thing(noun), *(Thing(noun, number) for number in NUMBERS)]
        if CLASS_OF[noun].has_colour:
            things += [Thing(noun, colour=colour) for colour in COLOURS]
        for thing in things:
            sentences += [introduce("Anna", encounter, [thing, thing]) for encounter in ENCOUNTERS]
            if thing.colour is None:
                sentences += [say_of(thing, predicate) for predicate in CLASS_OF[noun].predicates]
                sentences += [do_to(thing, name, CLASS_OF[noun].action) for name in NAMES]
            else:
                sentences += [say_colour_of(thing, thing.colour, compared) for compared in COLOURED_AS]
    return sentences


SENTENCES = all_sentences()


def french_texts() -> set[str]:
    return {text for sentence in SENTENCES for text in (sentence.french, sentence.other_french) if text}


def test_every_sentence_is_written_as_one() -> None:
    for sentence in SENTENCES:
        for text in filter(None, sentence):
            assert text == " ".join(text.split()), text
            assert text[0].isupper(), text
            assert text[-1] in ".?!", text
            assert "{" not in text, text
    for text in french_texts():
        # There is a space before ? and !, none before a full stop or a comma.
        assert not re.search(r"\S[?!]| [.,]", text), text


def test_every_french_word_that_elides_does_and_no_other() -> None:
    for text in french_texts():
        assert not re.search(rf"\b(le|la|je|ne|que|de|se|te|me|jusque) (?=[{VOWEL}])", text.lower()), text
        assert not re.search(rf"\b(l|j|n|qu|d|s|t|m)'(?![{VOWEL}h])", text.lower()), text
        assert not re.search(r"\b(de le|de les|à le|à les)\b", text.lower()), text


def test_every_english_article_fits_its_word() -> None:
    for sentence in SENTENCES:
        assert not re.search(r"\ba [aeiou]", sentence.english), sentence.english
        assert not re.search(r"\ban [^aeiou]", sentence.english), sentence.english


def test_the_gender_of_a_noun_fits_its_ending() -> None:
    for noun in NOUNS:
        if noun.french.endswith(FEMININE_ENDINGS):
            assert noun.is_feminine, noun
        elif noun.french.endswith(("eau", "age", "al", "ment", "isme", "on", "teur")):
            assert not noun.is_feminine, noun


def test_plurals_are_formed_by_the_rules_of_the_languages() -> None:
    for noun in NOUNS:
        if noun.french.endswith(("s", "x", "z")):
            assert noun.french_plural == noun.french
        elif noun.french.endswith("eau"):
            assert noun.french_plural == f"{noun.french}x"
        elif noun.french.endswith("al"):
            assert noun.french_plural == f"{noun.french[:-2]}aux"
        else:
            assert noun.french_plural == f"{noun.french}s"
        if noun.english == "mouse":
            assert noun.english_plural == "mice"
        elif noun.english.endswith(("s", "ch", "sh", "x")):
            assert noun.english_plural == f"{noun.english}es"
        elif re.search(r"[^aeiou]y$", noun.english):
            assert noun.english_plural == f"{noun.english[:-1]}ies"
        elif noun.english.endswith("rf"):
            assert noun.english_plural == f"{noun.english[:-1]}ves"
        else:
            assert noun.english_plural == f"{noun.english}s"


def agreed(adjective: str, is_feminine: bool, is_plural: bool) -> str:
    """The form of a regular French adjective or participle, from its masculine singular."""
    if is_feminine:
        if adjective.endswith("eux"):
            adjective = f"{adjective[:-1]}se"
        elif not adjective.endswith("e"):
            adjective += "e"
    return adjective if not is_plural or adjective.endswith(("s", "x")) else f"{adjective}s"


# Every adjective and participle that predicates hold, typed here.
ADJECTIVES = [
    *(
        "éteint",
        "branché",
        "débranché",
        "facile",
        "écrit",
        "traduit",
        "repassé",
        "délicieux",
        "prêt",
        "salé",
        "endormi",
        "garé",
    ),
    *("fermé", "désaccordé", "difficile", "accordé"),
]


@pytest.mark.parametrize("noun_class", NOUN_CLASSES, ids=lambda item: item.name)
def test_predicates_agree_with_their_subject_in_gender_and_number(noun_class) -> None:
    verbs = {
        "est": "sont", "a": "ont", "va": "vont", "doit": "doivent", "ouvre": "ouvrent",
    }  # fmt: skip
    for predicate in noun_class.predicates:
        singular = predicate.masculine.split()
        adjectives = [word for word in singular if word in ADJECTIVES]
        takes_adjective = singular[0] == "est" or "être" in singular
        assert len(adjectives) == takes_adjective, predicate
        for is_feminine, is_plural in itertools.product((False, True), repeat=2):
            expected = [agreed(word, is_feminine, is_plural) if word in adjectives else word for word in singular]
            if is_plural:
                index = 1 if expected[0] == "ne" else 0
                expected[index] = {**verbs, "n'a": "n'ont"}[expected[index]]
            assert predicate.french(is_feminine, is_plural) == " ".join(expected)


@pytest.mark.parametrize("noun_class", NOUN_CLASSES, ids=lambda item: item.name)
def test_participles_agree_with_the_pronoun_before_them(noun_class) -> None:
    action = noun_class.action
    assert action.feminine == agreed(action.masculine, True, False)
    assert action.english.count("{it}") == 1
    for noun in (noun_class.masculine[0], noun_class.feminine[0]):
        for number in (None, NUMBERS[0]):
            sentence = do_to(Thing(noun, number), "Anna", action)
            start = "Anna l'a" if number is None else "Anna les a"
            assert sentence.french == f"{start} {agreed(action.masculine, noun.is_feminine, number is not None)}."
            assert (
                sentence.other_french
                == f"{start} {agreed(action.masculine, not noun.is_feminine, number is not None)}."
            )
            assert sentence.english == f"Anna has {action.english.format(it='it' if number is None else 'them')}."


def test_english_predicates_agree_in_number() -> None:
    verbs = {"is": "are", "has": "have", "needs": "need", "goes": "go", "opens": "open", "fits": "fit"}
    for predicate in {predicate for noun_class in NOUN_CLASSES for predicate in noun_class.predicates}:
        words = predicate.english.split()
        index = 2 if words[:2] == ["no", "longer"] else 0
        words[index] = verbs[words[index]]
        assert predicate.english_plural == " ".join(words)


def test_colours_agree_and_follow_the_noun() -> None:
    for colour in COLOURS:
        irregular = {"blanc": "blanche", "violet": "violette"}
        expected = irregular.get(colour.masculine, agreed(colour.masculine, True, False))
        assert colour.feminine == expected
    noun = NOUN_CLASSES[0].feminine[0]
    assert Thing(noun, colour=COLOURS[1]).french == "une lampe verte"
    assert Thing(noun, colour=COLOURS[1]).english == "a green lamp"


def test_each_class_has_as_many_nouns_of_each_gender_and_predicates_of_its_own() -> None:
    for noun_class in NOUN_CLASSES:
        assert len(noun_class.masculine) == len(noun_class.feminine)
    predicates = [predicate.english for noun_class in NOUN_CLASSES for predicate in noun_class.predicates]
    assert len(predicates) == len(set(predicates))
    english = [noun.english for noun in NOUNS]
    assert len(english) == len(set(english))


def test_the_script_writes_the_same_documents_in_every_process(tmp_path) -> None:
    arguments = [sys.executable, SCRIPT, tmp_path, "--train", "5", "--dev", "2", "--test", "2", "--pairs", "1"]
    subprocess.run(arguments, check=True, env={**os.environ, "PYTHONHASHSEED": "1"}, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.jsonl" for name in ("train", "dev", "test", "contrastive", "test.contrastive")
    }
    documents = list(read_documents([tmp_path / "train.jsonl"], "json-lines", "en", "fr"))
    expected = list(make_documents("train", 5, 1))
    assert documents == [item.document for item in expected]
    assert read_contrastive_set(tmp_path / "contrastive.jsonl") == list(make_contrastive_set(1, 1))
    annotations = json.loads((tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()[0])["annotations"]
    assert [item["distance"] for item in annotations] == [item.distance for item in expected[0].ambiguities]


def test_splits_and_seeds_share_no_document() -> None:
    texts = [
        tuple(item.document.source_sentences)
        for split, seed in (("train", 1), ("dev", 1), ("test", 1), ("train", 2))
        for item in make_documents(split, 200, seed)
    ]
    assert len(set(texts)) == 800


@pytest.mark.parametrize("length", [2, 3, 20, 150])
def test_documents_have_the_length_that_was_asked_for(length) -> None:
    for item in make_documents("train", 20, 1, length=length):
        assert item.document.num_sentences == length


def test_a_document_of_one_sentence_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 sentences, got 1"):
        list(make_documents("train", 1, 1, length=1))


def things_in(sentence: str) -> list[tuple]:
    """(noun, is plural, English colour) of the nouns in an English introduction, by the lexicon."""
    words = sentence.rstrip(".")
    found = []
    for phrase in re.split(r" (?:and) ", words):
        for noun in NOUNS:
            for form, is_plural in ((noun.english, False), (noun.english_plural, True)):
                match = re.search(rf"\b(?:an?|two|three|four|five)(?: (\w+))? {form}$", phrase)
                if match and (match[1] is None or match[1] in {colour.english for colour in COLOURS}):
                    found.append((noun, is_plural, match[1]))
    return found


def says_feminine(french: str) -> bool:
    """Whether a translation of an ambiguous pronoun makes it feminine."""
    if french.startswith(("Il", "Elle")):
        return french.startswith("Elle")
    if french.endswith(("que lui.", "qu'elle.")):
        return french.endswith("qu'elle.")
    return french.removesuffix(".").removesuffix("s").endswith("e")


def solve(sentence: str, before: list[str]) -> bool | None:
    """Whether the pronoun in an English sentence is feminine in French: found by what the predicate takes, the
    number and the colour, from the sentences before it; never by their positions."""
    is_plural = bool(re.search(r"\b(They|them)\b", sentence))
    candidates = {thing for text in before for thing in things_in(text) if thing[1] == is_plural}
    coloured = re.search(r"is the same (\w+) as it is", sentence)
    done = re.fullmatch(r"(?!It )\w+ has (.*)\.", sentence)
    if coloured:
        fitting = {thing for thing in candidates if thing[2] == coloured[1]}
    elif done:
        actions = {item.action.english: item for item in NOUN_CLASSES}
        wanted = actions[re.sub(r"\b(it|them)\b", "{it}", done[1])]
        fitting = {thing for thing in candidates if CLASS_OF[thing[0]] is wanted}
    else:
        predicates = {
            f"{'They' if is_plural else 'It'} {text}.": noun_class
            for noun_class in NOUN_CLASSES
            for predicate in noun_class.predicates
            for text in (predicate.english_plural if is_plural else predicate.english,)
        }
        fitting = {thing for thing in candidates if CLASS_OF[thing[0]] is predicates[sentence]}
    assert len(fitting) == 1, (sentence, fitting)
    return fitting.pop()[0].is_feminine


def test_every_pronoun_in_a_document_is_decided_by_a_rule_and_by_the_sentence_that_is_said() -> None:
    num_solved = 0
    for item in make_documents("test", 60, 3):
        source, target = item.document.source_sentences, item.document.target_sentences
        for one in item.ambiguities:
            if not one.phenomenon.startswith("pronoun"):
                continue
            is_feminine = solve(source[one.sentence], source[: one.sentence])
            assert says_feminine(target[one.sentence]) == is_feminine != says_feminine(one.wrong_translation)
            assert solve(source[one.sentence], [source[one.decided_by]]) == is_feminine
            num_solved += 1
    assert num_solved > 200


def test_annotations_match_the_document() -> None:
    seen = Counter()
    for item in make_documents("test", 100, 4):
        source, target = item.document.source_sentences, item.document.target_sentences
        annotated = {one.sentence for one in item.ambiguities}
        for one in item.ambiguities:
            seen[one.phenomenon] += 1
            assert one.decided_by < one.sentence
            assert one.distance == one.sentence - one.decided_by <= MAX_DISTANCE
            words = set(re.findall(r"\w+", target[one.sentence].lower()))
            wrong = set(re.findall(r"\w+", one.wrong_translation.lower()))
            assert set(one.expected_words) == words - wrong != set()
            assert set(one.wrong_words) == wrong - words
        for index, text in enumerate(source):
            is_ambiguous = re.match(
                r"(It|They) |.*\b(it|them)\b|.*\byou\b|.*\bYou\b|.* does( too)?\.$|.* never does", text
            )
            assert bool(is_ambiguous) <= (index in annotated), text
    assert set(seen) == set(PHENOMENA)


@pytest.mark.parametrize("num_context", [MAX_DISTANCE, 20])
def test_examples_of_documents_hold_the_context_from_what_decides_on(num_context: int) -> None:
    documents = list(make_documents("test", 20, 7))
    examples = list(document_examples(documents, num_context))
    assert len(examples) == sum(len(item.ambiguities) for item in documents)
    for one in examples:
        name, index = one.id.split(":")
        item = next(item for item in documents if item.document.id == name)
        source, target = item.document.source_sentences, item.document.target_sentences
        ambiguity = next(found for found in item.ambiguities if found.sentence == int(index))
        start = max(0, int(index) - num_context)
        assert start <= ambiguity.decided_by
        assert list(one.source_context) == source[start : int(index)]
        assert list(one.target_context) == target[start : int(index)]
        assert (one.source, one.targets[one.correct]) == (source[int(index)], target[int(index)])


def test_a_negative_number_of_context_sentences_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        next(document_examples(make_documents("test", 1, 7), -1))


def test_contrastive_pairs_differ_in_nothing_but_the_context() -> None:
    pairs = defaultdict(list)
    for one in make_contrastive_set(3, 1):
        pairs[one.id.rpartition(".")[0]].append(one)
    assert len(pairs) == 3 * (6 * MAX_DISTANCE + MAX_ELLIPSIS_DISTANCE)
    for first, second in pairs.values():
        assert (first.source, first.targets) == (second.source, second.targets)
        assert (first.correct, second.correct) == (0, 1)
        assert first.source_context != second.source_context


def test_contrastive_contexts_contain_the_deciding_sentence_and_things_of_the_other_gender() -> None:
    for one in make_contrastive_set(3, 2, phenomena=PRONOUNS):
        is_feminine = solve(one.source, list(one.source_context))
        assert [says_feminine(text) for text in one.targets] == [False, True]
        assert one.correct == is_feminine
        behind = one.source_context[len(one.source_context) - one.distance + 1 :]
        decider = one.source_context[-one.distance]
        assert solve(one.source, [decider]) == is_feminine
        genders = {noun.is_feminine for text in (decider, *behind) for noun, *_ in things_in(text)}
        # A thing introduced alone has no other beside it, but sentences in between bring others.
        assert genders == {False, True} or (one.phenomenon, one.distance) == ("pronoun-single", 1)
        if one.distance > 1:
            assert any(noun.is_feminine != is_feminine for text in behind for noun, *_ in things_in(text))


def test_the_nearest_noun_and_the_sentence_alone_are_at_chance() -> None:
    examples = list(make_contrastive_set(6, 5, phenomena=PRONOUNS))
    nearest = []
    for one in examples:
        last = [noun for text in one.source_context for noun, *_ in things_in(text)][-1]
        nearest.append(says_feminine(one.targets[one.correct]) == last.is_feminine)
    # Three standard deviations of a fair coin over 432 throws.
    assert abs(sum(nearest) / len(nearest) - 0.5) < 0.0722
    by_text = defaultdict(list)
    for one in examples:
        by_text[one.source, one.targets].append(one.correct)
    assert all(2 * sum(correct) == len(correct) for correct in by_text.values())


def test_the_two_translations_of_an_ambiguous_sentence_are_equally_likely_in_documents() -> None:
    feminine = [
        says_feminine(item.document.target_sentences[one.sentence])
        for item in make_documents("train", 400, 6)
        for one in item.ambiguities
        if one.phenomenon.startswith("pronoun")
    ]
    assert abs(sum(feminine) / len(feminine) - 0.5) < 0.03
