# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from hier_nmt.data.corpora import read_documents
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.formats.registry import format_of
from hier_nmt.data.formats.subtitles import SrtFile

FILM = """1
00:00:01,000 --> 00:00:03,500
<i>The committee has proposed
a new plan,</i>

2
00:00:03,600 --> 00:00:06,000
and we must vote on it now.

3
00:00:07,000 --> 00:00:09,000
- Do you agree?
- Yes.

4
00:00:15,000 --> 00:00:17,000 X1:10 X2:20
{\\an8}Thank you, <b>Anna</b>.

5
00:00:18.5 --> 00:00:19.0

6
0:00:20,000 --> 0:00:21,000
This has no end

7
00:00:26,000 --> 00:00:27,000
But a pause.
"""


@pytest.fixture
def film(tmp_path):
    def write(content: str = FILM, name: str = "film.srt"):
        (tmp_path / name).write_bytes(content.encode())
        return tmp_path / name

    return write


def sentences(path) -> list[str]:
    return [unit.source for unit in SrtFile.read(path, "en", "fr").documents[0].units]


def test_sentences_run_over_subtitles_and_speakers_are_apart(film) -> None:
    assert sentences(film()) == [
        "The committee has proposed a new plan, and we must vote on it now.",
        "Do you agree?",
        "Yes.",
        "Thank you, Anna.",
        "This has no end",
        "But a pause.",
    ]


def test_the_same_text_gives_the_same_file_but_for_the_breaks_inside_a_subtitle(film) -> None:
    file = SrtFile.read(film(), "en", "fr")
    again = file.translated([[unit.source for unit in file.documents[0].units]]).decode()
    assert again.replace("\n", " ") == FILM.replace("\n", " ")


def test_times_numbers_and_tags_stay(film) -> None:
    file = SrtFile.read(film(), "en", "fr")
    texts = [
        "Le comit\u00e9 a propos\u00e9 un nouveau plan et il nous faut voter.",
        "D'accord\u00a0?",
        "Oui.",
        "Merci, Anna.",
        "Sans fin",
        "Une pause.",
    ]
    written = file.translated([texts]).decode()
    pattern = r"^(\d+|.*-->.*)$"
    assert re.findall(pattern, written, re.MULTILINE) == re.findall(pattern, FILM, re.MULTILINE)
    parts = written.split("\n\n")
    assert parts[0].splitlines()[2].startswith("<i>Le comit\u00e9")
    assert parts[0].endswith("</i>")
    assert parts[1].endswith("voter.")
    assert parts[2].splitlines()[2:] == ["- D'accord\u00a0?", "- Oui."]
    assert parts[3].splitlines()[2] == "{\\an8}Merci, <b>Anna</b>."
    assert SrtFile.read(film(written, "again.srt"), "en", "fr").subtitles[4].text == []


def test_long_translations_are_wrapped_and_short_ones_leave_no_subtitle_without_words(film) -> None:
    file = SrtFile.read(film(), "en", "fr")
    rest = ["x"] * 5
    long = file.translated([["word " * 40 + "end", *rest]]).decode()
    assert max(len(line) for line in long.splitlines()) <= 50
    short = file.translated([["Deux mots", *rest]]).decode().split("\n\n")
    assert [part.splitlines()[2] for part in short[:2]] == ["<i>Deux</i>", "mots"]


@pytest.mark.parametrize("mark", ["- A", "]", "]x"])
def test_a_very_long_subtitle_is_wrapped_at_once(film, mark) -> None:
    text = mark * 70_000
    file = SrtFile.read(film(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n"), "en", "fr")
    lines = file.translated([[unit.source for unit in file.documents[0].units]]).decode().splitlines()[2:]
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= 50 or " " not in text


def test_no_translation_becomes_a_time(film) -> None:
    file = SrtFile.read(film("1\n00:00:01,000 --> 00:00:02,000\nTwo, three\n"), "en", "fr")
    assert file.translated([["2 ---> 3"]]).decode().splitlines()[2] == "2 -> 3"


def test_windows_line_ends_and_byte_order_mark(film) -> None:
    path = film("\ufeff" + FILM.replace("\n", "\r\n"))
    file = SrtFile.read(path, "en", "fr")
    written = file.translated([[unit.source for unit in file.documents[0].units]]).decode()
    assert written.count("\r\n") == written.count("\n")
    assert written.startswith("\ufeff1\r\n00:00:01,000")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "1\n00:00:01,000 -> 00:00:02,000\nHi\n",
            r"film.srt:2: no subtitles: 00:00:01,000 -> 00:00:02,000 is before",
        ),
        ("1\n00:00:01,000 --> 00:99:02,000\nHi\n", r"film.srt:2: bad times of a subtitle"),
        (f"1\n{'9' * 5000}:00:01,000 --> 00:00:02,000\nHi\n", r"film.srt:2: bad times of a subtitle"),
        ("1\n00:00:03,000 --> 00:00:02,000\nHi\n", r"film.srt:2: bad times of a subtitle: it ends before it starts"),
        ("Hello\n", r"film.srt:1: no subtitles: Hello is before any time"),
        ("1\n2\n", r"film.srt: no subtitles: no line has times"),
        ("1\n00:00:01,000 --> 00:00:02,000\n\n", r"film.srt: empty corpus"),
        (
            "1\n00:00:01,000 --> 00:00:02,000\nOn\n\n2\n00:00:03,000 --<d>> 00:00:04,000\n",
            r"film.srt:2: nested tags",
        ),
        ("1\n00:00:01,000 --> 00:00:02,000\nA <i<i>> word\n", r"film.srt:2: nested tags: A <i<i>> word"),
    ],
)
def test_broken_subtitles_are_named(film, content, message) -> None:
    with pytest.raises(CorpusError, match=message):
        SrtFile.read(film(content), "en", "fr")


def test_two_languages_are_paired_where_sentences_end_in_both(film) -> None:
    french = FILM.replace("a new plan,", "un plan.").replace("The committee has proposed", "Le comit\u00e9 propose")
    french = french.replace("and we must vote on it now.", "Il faut voter.").replace("Do you agree?", "D'accord ?")
    (document,) = read_documents([film(), film(french, "film.fr.srt")], "srt", "en", "fr")
    assert document.source_sentences[0] == "The committee has proposed a new plan, and we must vote on it now."
    assert document.target_sentences[0] == "Le comit\u00e9 propose un plan. Il faut voter."
    expected = ["Do you agree? Yes.", "Thank you, Anna.", "This has no end", "But a pause."]
    assert document.source_sentences[1:] == expected
    assert document.target_sentences[1:] == ["D'accord ? Yes.", *expected[1:]]


def test_subtitles_at_other_times_are_refused(film) -> None:
    other = film(FILM.replace("00:00:15,000 --> 00:00:17,000", "00:01:15,000 --> 00:01:17,000"), "film.fr.srt")
    with pytest.raises(CorpusError, match=r"film.fr.srt:16: subtitles at other times: than line 16 of"):
        list(read_documents([film(), other], "srt", "en", "fr"))


def cues(*texts: str, pause: float = 0.1, seconds: float = 2.0) -> str:
    """Consecutive subtitles with these texts."""
    parts = []
    for number, text in enumerate(texts):
        start = number * (seconds + pause)
        times = " --> ".join(f"00:00:{at:06.3f}".replace(".", ",") for at in (start, start + seconds))
        parts.append(f"{number + 1}\n{times}\n{text}\n")
    return "\n".join(parts)


def translated_cues(film, content: str, change=str.upper) -> list[str]:
    """The texts of the subtitles after a translation."""
    file = SrtFile.read(film(content), "en", "fr")
    written = file.translated([[change(unit.source) for unit in item.units] for item in file.documents]).decode()
    heads = [one.head for one in file.subtitles]
    again = SrtFile.read(film(written, "again.srt"), "en", "fr")
    assert [one.head for one in again.subtitles] == heads
    return ["\n".join(one.text) for one in again.subtitles]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        # Without final punctuation, but the sentence does not certainly continue.
        (["CHAPTER ONE", "The night was dark."], ["chapter one", "the night was dark."]),
        (["Chapter one", "The night was dark."], ["chapter one", "the night was dark."]),
        (["WHAT ARE YOU", "DOING HERE"], ["what are you", "doing here"]),
        (["Anna", "and Bob", "- go now"], ["anna", "and bob", "- go now"]),
        (["Two plus", "2 is four"], ["two plus", "2 is four"]),
        (["We saw", "", "them there"], ["we saw", "", "them there"]),
        (["We saw", "\u266a", "them there"], ["we saw", "\u266a", "them there"]),
        (["Wait\u2026", "for me"], ["wait\u2026", "for me"]),
        # A number alone is not a word, wherever it is.
        (["1\nHello there.", "2"], ["1\nhello there.", "2"]),
        (["He is\n1\nyears old."], ["he is\n1\nyears old."]),
        (["Hello.\n\n3", "Yes."], ["hello.\n\n3", "yes."]),
        # Captions, speakers and signs keep their lines.
        (["CHAPTER ONE\nThe night was dark."], ["chapter one\nthe night was dark."]),
        (["- \n- Yes."], ["- \n- yes."]),
        (["\u266a\u266a\nOh, my love\n\u266a\u266a"], ["\u266a\u266a\noh, my love\n\u266a\u266a"]),
        # Breaks inside lines.
        (["The committee has\\Nproposed a plan."], ["the committee has\\Nproposed a plan."]),
        (["- Who?\\N- Me."], ["- who?\\N- me."]),
        (["The committee has<br/>proposed a plan."], ["the committee has<br/>proposed a plan."]),
        (["<i>One</i>\\N2\\N<b>Three</b>"], ["<i>one</i>\\N2\\N<b>three</b>"]),
        (["One\\htwo"], ["one\u00a0two"]),
        # Only the sentence that continues is divided, not those around it.
        (
            ["It is very late. We must", "go home now. Are you ready?"],
            ["it is very late. we must", "go home now. are you ready?"],
        ),
    ],
)
def test_each_subtitle_keeps_its_own_text(film, texts, expected) -> None:
    assert translated_cues(film, cues(*texts), str.lower) == expected


@pytest.mark.parametrize(
    ("texts", "pause", "expected"),
    [
        (["We must", "go home."], 0.1, ["We must go home."]),
        (["We must", "<i>go home.</i>"], 0.9, ["We must go home."]),
        (["We must,", "\u201cgo home\u201d."], 0.1, ["We must, \u201cgo home\u201d."]),
        (["We must", "go home."], 1.5, ["We must", "go home."]),
        (["We must", "I said."], 0.1, ["We must", "I said."]),
        (["PARIS", "the next morning"], 0.1, ["PARIS", "the next morning"]),
        (["<b>THE END</b>", "of it."], 0.1, ["THE END", "of it."]),
        (["I", "know."], 0.1, ["I know."]),
        (["He left. We", "go home. Yes."], 0.1, ["He left.", "We go home.", "Yes."]),
        (["a"] * 7, 0.1, ["a a a a a a", "a"]),
    ],
)
def test_sentences_are_joined_only_where_that_is_certain(film, texts, pause, expected) -> None:
    assert sentences(film(cues(*texts, pause=pause))) == expected


def test_a_translation_is_shared_out_by_length_and_time(film) -> None:
    content = cues("We must", "go home.").replace("00:00:04,100", "00:00:08,000")
    # 7 of 15 characters are shown for 2.0 of 7.9 seconds: (0.47 + 0.25) / 2 = 0.36 of eight words.
    assert translated_cues(film, content, lambda text: "a b c d e f g h") == ["a b c", "d e f g h"]
    assert translated_cues(film, cues("We must", "go home."), lambda text: "a b c d e f g h") == ["a b c d", "e f g h"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # Without blank lines, a number is that of a subtitle if it comes next.
        ("1\n00:00:01,000 --> 00:00:02,000\nRoom\n2\n00:00:03,000 --> 00:00:04,000\nHere.\n", ["Room", "Here."]),
        ("1\n00:00:01,000 --> 00:00:02,000\nRoom\n101\n00:00:03,000 --> 00:00:04,000\nHere.\n", ["Room\n101", "Here."]),
        ("00:00:01,000 --> 00:00:02,000\nRoom\n101\n00:00:03,000 --> 00:00:04,000\nHere.\n", ["Room\n101", "Here."]),
        ("1\n00:00:01,000 --> 00:00:02,000\nRoom\n\n7\n00:00:03,000 --> 00:00:04,000\nHere.\n", ["Room", "Here."]),
    ],
)
def test_numbers_of_subtitles_are_distinguished_from_numbers_in_them(film, content, expected) -> None:
    assert translated_cues(film, content, str) == expected


def test_no_line_starts_with_a_dash_unless_it_marks_a_speaker(film) -> None:
    text = "The city of Paris in France - and that of London - were meant"
    assert translated_cues(film, cues(text), str) == ["The city of Paris in France -\nand that of London - were meant"]


def test_signs_alone_are_left_as_they_are(film) -> None:
    content = cues("\u266a", "12", "...")
    assert translated_cues(film, content, str) == ["\u266a", "12", "..."]


def test_a_new_file_has_a_subtitle_for_each_sentence_whatever_its_end() -> None:
    texts = ["One. And a half", "two", "three"]
    documents = [ParallelDocument("d", (tuple(SentencePair(text, text) for text in texts),))]
    file = SrtFile.new(documents, "en", "fr")
    assert [unit.source for unit in file.documents[0].units] == texts
    assert len(file.translated([["un", "deux", "trois"]]).decode().split("\n\n")) == 3


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_carriage_returns_alone_end_lines_and_stay(film, start) -> None:
    content = start + FILM.replace("\n", "\r")
    path = film(content, "a")
    assert format_of(path) == "srt"
    assert sentences(path) == sentences(film())
    texts = [["Un film en français.", "Oui ?", "Non.", "Merci.", "Sans fin", "Une pause."]]
    expected = SrtFile.read(film(), "en", "fr").translated(texts).decode()
    assert SrtFile.read(path, "en", "fr").translated(texts).decode() == start + expected.replace("\n", "\r")
