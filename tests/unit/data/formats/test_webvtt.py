# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""WebVTT: the text of subtitles changes, and nothing around it."""

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import format_of, read_document_file

pytest.importorskip("sentencex")
VTT = """WEBVTT - A film
Language: en

STYLE
::cue(b) { color: red }

NOTE one --> two

first
00:01.000 --> 00:02.000 line:0 position:20%
<v Ann>It <b>is</b> late &amp; dark.</v>

00:00:03.000 --> 00:00:04.000
We <00:03.500>go home

2
01:00:05.000 --> 01:00:06.000
- Now.
NOTE is text here.

NOTE The end
"""
FRENCH = {
    "It is late &amp; dark.": "Il est tard &amp; noir.",
    "We go home": "On rentre & < là",
    "Now.": "Maintenant.",
    "NOTE is text here.": "NOTE est ici.",
}


def read(folder, content: str):
    (folder / "a.vtt").write_text(content)
    return read_document_file(folder / "a.vtt", "en", "fr", format_of(folder / "a.vtt"))


def translated(folder, content: str, texts: dict[str, str]) -> str:
    file = read(folder, content)
    return file.translated([[texts[unit.source] for unit in item.units] for item in file.documents]).decode()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_times_settings_notes_and_styles_stay(tmp_path, newline) -> None:
    expected = (
        VTT.replace("Language: en", "Language: fr")
        .replace("It <b>is</b> late &amp; dark.", "Il <b>est</b> tard &amp; noir.")
        .replace("We <00:03.500>go home", "On <00:03.500>rentre &amp; &lt; là")
        .replace("- Now.", "- Maintenant.")
        .replace("NOTE is text", "NOTE est ici.")
        .replace("ici. here.", "ici.")
    )
    assert translated(tmp_path, VTT.replace("\n", newline), FRENCH) == expected.replace("\n", newline)


def test_a_sentence_goes_on_in_the_next_subtitle(tmp_path) -> None:
    content = "WEBVTT\n\n00:01.000 --> 00:02.000\nWe go\n00:02.000 --> 00:03.000\nhome now.\n"
    assert translated(tmp_path, content, {"We go home now.": "On rentre chez nous."}) == (
        "WEBVTT\n\n00:01.000 --> 00:02.000\nOn rentre\n00:02.000 --> 00:03.000\nchez nous.\n"
    )


def test_a_pronunciation_stays_beside_its_word(tmp_path) -> None:
    content = "WEBVTT\n\n00:01.000 --> 00:02.000\nThe <ruby>garden<rt>gar</rt></ruby> is new.\n"
    expected = content.replace("The", "Le").replace("garden", "jardin").replace("is new", "est neuf")
    assert translated(tmp_path, content, {"The garden is new.": "Le jardin est neuf."}) == expected


def test_the_first_line_shows_the_format(tmp_path) -> None:
    (tmp_path / "a").write_text(VTT)
    assert format_of(tmp_path / "a") == "vtt"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("00:01.000 --> 00:02.000\nA.\n", "a.vtt:1: not WebVTT: the first line is 00:01.000"),
        ("WEBVTTX\n", "a.vtt:1: not WebVTT"),
        ("WEBVTT\n\nNOTE a\n", "a.vtt: no subtitles"),
        ("WEBVTT\n\n00:01 --> 00:02.000\nA.\n", "a.vtt:3: bad times of a subtitle"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\n<c<c>>A.\n", "a.vtt:3: nested tags"),
    ],
)
def test_a_broken_file_is_an_error_with_a_place(tmp_path, content, error) -> None:
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, content)
    assert error in str(caught.value)
