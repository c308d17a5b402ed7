# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.evaluation.pronoun_set import PronounReport, balanced, pronoun_examples, pronoun_pairs

CONTEXT = ("We have a resolution.", "Nous avons une résolution.")


def document(*pairs: tuple[str, str], name: str = "d") -> ParallelDocument:
    return ParallelDocument(name, (tuple(SentencePair(*pair) for pair in pairs),))


def wrong_translation(source: str, target: str) -> str:
    (example,) = pronoun_examples([document(CONTEXT, (source, target))])
    assert example.targets[0] == target
    return example.targets[1]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("It works.", "Elle fonctionne.", "Il fonctionne."),
        ("It works.", "Il fonctionne.", "Elle fonctionne."),
        ("They work.", "Ils fonctionnent.", "Elles fonctionnent."),
        ("But they work.", "Mais elles fonctionnent.", "Mais ils fonctionnent."),
        ("However, it works.", "Toutefois, elle fonctionne.", "Toutefois, il fonctionne."),
        # With "avoir" nothing agrees with the subject.
        ("They burned two houses.", "Ils ont brûlé deux maisons.", "Elles ont brûlé deux maisons."),
        ("It was adopted.", "Elle a été adoptée.", "Il a été adopté."),
        ("It was adopted.", "Il a été adopté.", "Elle a été adoptée."),
        ("They must be adopted.", "Ils doivent être adoptés.", "Elles doivent être adoptées."),
        ("They are also present.", "Ils sont également présents.", "Elles sont également présentes."),
        ("It is not legal.", "Elle n'est pas légale.", "Il n'est pas légal."),
        ("They are legal.", "Ils sont légaux.", "Elles sont légales."),
        ("They are active.", "Elles sont actives.", "Ils sont actifs."),
        ("It is dangerous.", "Il est dangereux.", "Elle est dangereuse."),
        ("They are dangerous.", "Ils sont dangereux.", "Elles sont dangereuses."),
        ("They are dangerous.", "Elles sont dangereuses.", "Ils sont dangereux."),
        ("It was taken.", "Il a été pris.", "Elle a été prise."),
        ("They were taken.", "Ils ont été pris.", "Elles ont été prises."),
        ("They are finished.", "Ils sont finis.", "Elles sont finies."),
        ("They are finished.", "Elles sont finies.", "Ils sont finis."),
        ("It is written.", "Elle est écrite.", "Il est écrit."),
        ("It is good.", "Elle est bonne.", "Il est bon."),
        ("It is necessary.", "Elle est nécessaire.", "Il est nécessaire."),
        ("They are realistic.", "Ils sont réalistes.", "Elles sont réalistes."),
        ("It was committed.", "Elle s'est engagée à cela.", "Il s'est engagé à cela."),
        # What follows "être" is no adjective of the subject.
        ("It is a question.", "Elle est une source.", "Il est une source."),
        ("They are in the house.", "Ils sont dans la maison.", "Elles sont dans la maison."),
    ],
)
def test_the_wrong_translation_has_the_other_gender_in_all_that_agrees(source, target, expected) -> None:
    assert wrong_translation(source, target) == expected


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("It works.", "Cela fonctionne.", "the translation starts with another subject"),
        ("It works.", "La chose fonctionne, et elle va.", "the translation starts with another subject"),
        ("They work.", "Il fonctionne.", "another grammatical number in the translation"),
        ("It works when it can.", "Elle fonctionne.", "several pronouns in the source"),
        ("It works.", "Elle dit qu'il fonctionne.", "several pronouns in the translation"),
        ("It is important that we go.", "Il est important que nous allions.", "perhaps an impersonal it"),
        ("It seems that we go.", "Elle va.", "perhaps an impersonal it"),
        ("It rests.", "Il faut partir.", "perhaps an impersonal il"),
        ("It rests.", "Il doit s'agir d'une erreur.", "perhaps an impersonal il"),
        ("It rests.", "Il aura fallu du temps.", "perhaps an impersonal il"),
        ("It rests.", "Il est aussi, selon moi, nécessaire de partir.", "perhaps an impersonal il"),
        ("They work.", "Elles vont toutes bien.", "a word that may agree from a distance"),
        ("They work.", "Ils aussi vont bien.", "a stressed pronoun"),
        ("It works.", "Elle est xyzq.", "agreement not decided by a rule"),
        ("It works.", "Elle a été adoptée et publiée.", "several words that agree"),
        ("It works.", "Elle dit que rien n'est fait.", "a form of être in another clause"),
    ],
)
def test_undecidable_sentences_are_rejected_and_counted(source, target, reason) -> None:
    report = PronounReport()
    assert list(pronoun_examples([document(CONTEXT, (source, target))], report=report)) == []
    assert dict(report.rejected) == {reason: 1}
    assert f"rejected 1: {reason}" in str(report)


def test_examples_have_the_sentences_before_them_and_the_words_to_look_for() -> None:
    pairs = [("A.", "A."), CONTEXT, ("We vote.", "Nous votons."), ("It works.", "Elle fonctionne.")]
    (example,) = pronoun_examples([document(*pairs)], num_context=2)
    assert example.id == "d:3"
    assert example.phenomenon == "it->elle"
    assert example.source_context == ("We have a resolution.", "We vote.")
    assert example.target_context == ("Nous avons une résolution.", "Nous votons.")
    assert (example.expected_words, example.wrong_words) == (("elle",), ("il",))


def test_first_repeated_and_excluded_sentences_are_rejected() -> None:
    works = ("It works.", "Elle fonctionne.")
    report = PronounReport()
    documents = [document(works, CONTEXT, works, name="a"), document(CONTEXT, works, name="b")]
    assert [item.id for item in pronoun_examples(documents, report=report)] == ["a:2"]
    assert dict(report.rejected) == {"no context": 1, "the sentence occurs elsewhere too": 1}
    assert list(pronoun_examples(documents, excluded=frozenset(["It works."]))) == []


def test_pairs_that_earlier_sentences_decide_need_no_wrong_translation() -> None:
    pairs = [
        ("It works.", "Elle fonctionne."),
        ("It works.", "Elle fonctionne."),
        ("They all say that it works.", "Elles disent toutes qu'il fonctionne."),
        ("It is xyzq.", "Elle est xyzq."),
        ("It works.", "Cela fonctionne."),
        ("It is important that we go.", "Il est important que nous allions."),
        ("They work.", "Il fonctionne."),
        ("We work.", "Elles fonctionnent."),
    ]
    report = PronounReport()
    assert list(pronoun_pairs([document(*pairs)], report)) == [SentencePair(*pair) for pair in pairs[1:4]]
    assert (report.num_sentences, dict(report.taken)) == (8, {"it->elle": 2, "they->elles": 1})
    assert dict(report.rejected) == {
        "no context": 1,
        "the translation starts with another subject": 1,
        "perhaps an impersonal it": 1,
        "another grammatical number in the translation": 1,
    }


def test_balanced_sets_have_each_gender_equally_often_and_keep_the_order() -> None:
    pairs = [CONTEXT]
    pairs += [(f"It works {n}.", f"Elle fonctionne {n}.") for n in range(3)]
    pairs += [(f"It runs {n}.", f"Il court {n}.") for n in range(7)]
    pairs += [("They work.", "Ils fonctionnent.")]
    examples = list(pronoun_examples([document(*pairs)]))
    assert len(examples) == 11
    chosen = balanced(examples, seed=1)
    assert [item.phenomenon for item in chosen].count("it->il") == 3
    assert [item.phenomenon for item in chosen].count("it->elle") == 3
    assert [item.phenomenon for item in chosen].count("they->ils") == 0
    assert chosen == [item for item in examples if item in chosen]
    assert chosen == balanced(examples, seed=1)
