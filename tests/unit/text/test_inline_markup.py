# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Projection of tags onto a translation: at word boundaries, pairs around text, spaces preserved."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hier_nmt.text.inline_markup import Mark, insert_marks
from hier_nmt.text.position_alignment import AlignedText

_TAG = re.compile(r"<(/?)[a-z]+\d*(/?)>")


def marks_of(marked: str) -> tuple[str, list[Mark]]:
    """The text without tags, and the tags as marks."""
    text, end = "", 0
    marks = []
    for match in _TAG.finditer(marked):
        text += marked[end : match.start()]
        end = match.end()
        marks.append(Mark(len(text), match[0], "close" if match[1] else "whole" if match[2] else "open"))
    return text + marked[end:], marks


def projected(marked: str, translation: str) -> str:
    source, marks = marks_of(marked)
    return insert_marks(source, marks, translation)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        # A pair around text stays around text.
        ("<b>world</b>", "monde", "<b>monde</b>"),
        ("the <b>United Nations</b> said", "les Nations Unies ont dit", "<b>les Nations</b> Unies ont dit"),
        ("<b>5</b> euro", "cinq euros", "<b>cinq</b> euros"),
        ("un<b>believ</b>able thing", "chose incroyable", "<b>chose</b> incroyable"),
        ("a <i><b>x</b></i> y", "X", "<i><b>X</b></i>"),
        # With fewer words than pairs, pairs are nested.
        ("<b>a</b> <i>b</i> <u>c</u>", "X", "<b><i><u>X</u></i></b>"),
        ("<b>a</b> <i>b</i> <u>c</u>", "X Y", "<b>X</b> <i><u>Y</u></i>"),
        ("<b>a</b> b", "", "<b></b>"),
        # An empty pair stays empty, and touches the same words.
        ("the report<a></a>.", "le rapport.", "le rapport<a></a>."),
        ("the <a></a>report is done", "le rapport est fini", "le <a></a>rapport est fini"),
        # Beside the same number, name or punctuation as in the source.
        ("say <b>hello</b>, world", "dis donc bonjour, monde", "dis donc <b>bonjour</b>, monde"),
        ("(<b>Note:</b> text here)", "(Remarque: texte)", "(<b>Remarque:</b> texte)"),
        ("in <b>2004</b> it was red and big", "il fut rouge et grand en 2004", "il fut rouge et grand en <b>2004</b>"),
        ("Note<b>:</b> text", "Remarque : texte", "Remarque <b>:</b> texte"),
        # Half pairs at the start or the end.
        ("see <b>one. And", "vois un. Et", "vois <b>un. Et"),
        ("two</b> here.", "deux ici.", "deux</b> ici."),
        # Spaces inside and outside a pair.
        ("A<b> red </b>door", "Une porte rouge", "Une<b> porte </b>rouge"),
        ("a<b> </b>c", "A C", "A<b> </b>C"),
        # A word is not split, and what touches it goes with it.
        ("<b>5</b> euro<x/> is", "5 euros est", "<b>5</b> euros<x/> est"),
        ("big <x/>report", "rapport immense", "rapport <x/>immense"),
        ("a, <x/>b", "aa, bb", "aa, <x/>bb"),
    ],
)
def test_tags_are_projected(source, translation, expected) -> None:
    assert projected(source, translation) == expected


def test_marks_that_separate_words_replace_the_space_between_them() -> None:
    mark = Mark(4, "\\n", "whole", separates_words=True)
    assert insert_marks("one two", [mark], "un deux") == "un\\ndeux"
    assert insert_marks("one two", [mark], "un") == "un\\n"


def test_an_exact_position_is_beside_a_shared_token() -> None:
    aligned = AlignedText("On Monday, 5 of us", "Cinq d'entre nous, lundi")
    # "," is in both texts: the word after it in the source aligns with the position after it.
    assert aligned.target_position(10, True, 0, aligned.num_words) == (3, 18)
    assert not aligned.has_text_between(3, 9)
    assert AlignedText("a (b) c", "x (y) z").has_text_between(2, 5)


_WORDS = st.lists(st.sampled_from(["a", "bb", "C", "12", "d'e", "(x)", "y."]), min_size=1, max_size=8)
_PARTS = st.lists(
    st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<x/>", " ", " ", "a", "bb", "C", "12", ", ", ". "]), max_size=20
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_PARTS, _WORDS)
def test_no_tag_is_lost_and_no_word_is_split(parts, words) -> None:
    source, translation = "".join(parts), " ".join(words)
    result = projected(source, translation)
    assert sorted(_TAG.findall(result)) == sorted(_TAG.findall(source))
    assert _TAG.sub("", result) == translation
    assert re.findall(r"\w+(?:'\w+)*", _TAG.sub("|", result)) == re.findall(r"\w+(?:'\w+)*", translation)


_ELEMENTS = st.recursive(
    st.sampled_from(["a", "bb, c", "12", "C."]),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"<p>{' '.join(parts)}</p>"),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.one_of(_ELEMENTS, st.just("<p></p>")), min_size=1, max_size=5), _WORDS)
def test_a_filled_pair_stays_filled_and_an_empty_one_empty(parts, words) -> None:
    names = iter(range(1000))
    opened = []

    def numbered(match: re.Match) -> str:
        if match[0] == "<p>":
            opened.append(next(names))
            return f"<p{opened[-1]}>"
        return f"</p{opened.pop()}>"

    source = re.sub("</?p>", numbered, " ".join(parts))
    result = projected(source, " ".join(words))
    for name in re.findall(r"<(p\d+)>", source):
        before, after = (re.search(rf"<{name}>(.*)</{name}>", text)[1] for text in (source, result))
        is_filled = [bool(re.search(r"\w", re.sub("<[^>]*>", "", text))) for text in (before, after)]
        assert is_filled[0] == is_filled[1], (source, result)


def test_the_marks_of_a_text_that_is_its_own_translation_stay_where_they_are() -> None:
    marked = "un<b>believ</b>able <x/> a<i> b</i>, (<u>c:</u>) d"
    assert projected(marked, marks_of(marked)[0]) == marked


@pytest.mark.parametrize("marked", ["<b>" * 3000 + "a b", "a" + "</b>" * 3000 + " b", "<b>a</b> " * 3000])
def test_any_number_of_tags_is_projected(marked) -> None:
    assert _TAG.findall(projected(marked, "x y")) == _TAG.findall(marked)
