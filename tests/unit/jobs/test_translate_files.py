# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0

import pytest
from word_translation import WordTranslator

from hier_nmt.data.formats.registry import read_document_file
from hier_nmt.jobs import document_parts
from hier_nmt.jobs.load_checkpoints import languages_of
from hier_nmt.jobs.saved_translations import ResumeError
from hier_nmt.jobs.translate_files import (
    FileTranslation,
    SentenceNotes,
    TranslatedSentence,
    output_path,
    printed_lines,
    translate_file,
)
from hier_nmt.text.translation_memory import MemoryEntry, MemoryMatch, TranslationMemory

TMX = """<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en"><seg>a! B!</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>c.</seg></tuv><tuv xml:lang="fr"><seg>by hand</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>12 - 3</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>d.</seg></tuv></tu>
</body></tmx>"""


@pytest.fixture
def file(tmp_path):
    def read(content: str, name: str):
        (tmp_path / name).write_text(content)
        return read_document_file(tmp_path / name, "en", "fr")

    return read


def translate(model: WordTranslator, file, **options):
    return translate_file(model, model.tokenizer, file, source_language="en", progress=False, **options)


def test_units_are_split_into_sentences_and_joined_again(file) -> None:
    text = "a b!  C d.\n\n  e.\n"
    translated = translate(WordTranslator(), file(text, "a.txt"))
    assert translated.translations == [["A B !  C D .", "E ."]]
    assert translated.sentences == [
        TranslatedSentence("a b!", "A B !", 0),
        TranslatedSentence("C d.", "C D .", 0),
        TranslatedSentence("e.", "E .", 1),
    ]


def test_what_somebody_translated_and_what_has_no_letters_stays(file) -> None:
    model = WordTranslator(window_sentences=2)
    translated = translate(model, file(TMX, "a.tmx"))
    assert translated.translations == [["A ! B !", "by hand", "12 - 3", "D ."]]
    assert [item.source for item in translated.sentences] == ["a!", "B!", "d."]
    retranslated = translate(WordTranslator(), file(TMX, "a.tmx"), retranslate=True)
    assert retranslated.translations == [["A ! B !", "C .", "12 - 3", "D ."]]


def test_parts_of_a_document_have_the_sentences_before_them_as_context(file, monkeypatch) -> None:
    monkeypatch.setattr(document_parts, "PART_SENTENCES", 2)
    monkeypatch.setattr(document_parts, "CONTEXT_SENTENCES", 3)
    document = file("a.\nb.\nc.\nd.\ne.\n", "a.txt")
    in_parts, whole = WordTranslator(window_sentences=3), WordTranslator(window_sentences=3)
    translated = translate(in_parts, document, strategy="current")
    monkeypatch.setattr(document_parts, "PART_SENTENCES", 200)
    assert translate(whole, document, strategy="current") == translated
    assert sorted(in_parts.windows) == sorted(whole.windows)
    assert translated.translations == [["A .", "B .", "C .", "D .", "E ."]]


def test_a_given_context_is_read_and_not_translated(file) -> None:
    model = WordTranslator(window_sentences=2)
    translated = translate(model, file("a.\n", "a.txt"), context=[["x.", "y."]], strategy="current")
    assert translated.translations == [["A ."]]
    assert model.windows == ["y . <par> a . </s>"]


def test_an_interrupted_run_continues_where_it_stopped(file, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(document_parts, "PART_SENTENCES", 1)
    document = file("a.\nb.\nc.\n", "a.txt")
    model = WordTranslator()
    own = model.generate

    def generate(**inputs):
        if len(model.batches) == 2:
            raise KeyboardInterrupt
        return own(**inputs)

    model.generate = generate
    partial = tmp_path / "partial.jsonl"
    with pytest.raises(KeyboardInterrupt):
        translate(model, document, output_file=partial, group_sentences=1)
    rest = WordTranslator()
    assert translate(rest, document, output_file=partial, group_sentences=1).translations == [["A .", "B .", "C ."]]
    assert len(rest.batches) == 1
    with pytest.raises(ResumeError):
        translate(WordTranslator(), file("z.\nb.\nc.\n", "a.txt"), output_file=partial)


def test_an_interrupted_run_keeps_what_happened_to_sentences(file, monkeypatch, tmp_path) -> None:
    document = file("a.\n123\nb b.\n", "a.txt")
    memory = TranslationMemory({"a.": "x"}.items(), 100)
    options = {"output_file": tmp_path / "partial.jsonl", "memory": memory, "retranslate": True}
    first = translate(WordTranslator(), document, **options)
    again = translate(WordTranslator(), document, **options)
    assert first.translations == [["x", "123", "B B ."]]
    assert again.notes == first.notes
    assert [note.match for note in first.notes] == [MemoryMatch(0, 100.0, "a.", "x"), None]
    with pytest.raises(ResumeError):
        translate(WordTranslator(), document, **{**options, "memory": TranslationMemory([("a.", "y")], 100)})


def test_inline_tags_of_units_are_part_of_what_a_memory_matches(file) -> None:
    tagged = TMX.replace("<seg>d.</seg>", '<seg><hi type="b">d</hi>.</seg>')
    (units,) = [document.units for document in file(tagged, "a.tmx").documents]
    entries = [MemoryEntry("d.", "avec", units[3].tags), MemoryEntry("d.", "sans"), MemoryEntry("B!", "deux")]
    memory = TranslationMemory(entries, 100)
    assert translate(WordTranslator(), file(tagged, "a.tmx"), memory=memory).translations[0][3] == "avec"
    plain = translate(WordTranslator(), file(TMX, "a.tmx"), memory=memory)
    assert plain.translations == [["A ! deux", "by hand", "12 - 3", "sans"]]


def test_a_unit_that_a_memory_has_as_a_whole_is_taken_as_a_whole(file) -> None:
    memory = TranslationMemory([("a! B!", "tout"), ("B!", "partie")], 100)
    translated = translate(WordTranslator(), file("a! B!\n\nc! B!\n\n  a!  B! \n", "a.txt"), memory=memory)
    assert translated.translations == [["tout", "C ! partie", "tout"]]
    assert translated.from_memory == [[True, False, True]]
    assert [one.source for one in translated.sentences] == ["a! B!", "c!", "B!", "a!  B!"]


def test_a_unit_has_the_lowest_confidence_of_its_sentences(file) -> None:
    work = FileTranslation(file("a! B!\n\nc.\n\n12\n", "a.txt"), "en", "fr", None)
    notes = [SentenceNotes(value, (), None) for value in (0.8, 0.5, 0.7)]
    assert work.finish([[["A!", "B!"], ["C."]]], notes).confidences == [[0.5, 0.7, None]]
    unknown = [SentenceNotes(value, (), None) for value in (0.8, None, 0.7)]
    assert work.finish([[["A!", "B!"], ["C."]]], unknown).confidences == [[None, 0.7, None]]


def test_whole_document_models_get_whole_documents(file, monkeypatch) -> None:
    monkeypatch.setattr(document_parts, "PART_SENTENCES", 1)
    model = WordTranslator(window_sentences=0)
    assert translate(model, file("a.\nb.\n", "a.txt")).translations == [["A .", "B ."]]
    assert len(model.windows) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("film.en.srt", "film.fr.srt"), ("film.srt", "film.fr.srt"), ("corpus.en", "corpus.fr"), ("a.en.gz", "a.fr"),
        ("train.tags.en-fr.en", "train.tags.en-fr.fr"), ("a", "a.fr"), ("en.xml", "en.fr.xml"),
        ("a.pot", "a.fr.po"),
    ],
)  # fmt: skip
def test_outputs_are_named_by_the_target_language(tmp_path, name, expected) -> None:
    assert output_path(tmp_path / name, "en", "fr") == tmp_path / expected
    (tmp_path / expected).touch()
    with pytest.raises(FileExistsError, match="exists; give --output with another name"):
        output_path(tmp_path / name, "en", "fr")


def test_languages_are_those_of_the_model_unless_they_are_given() -> None:
    model = WordTranslator(source_language="en", target_language="fr")
    assert languages_of(model.config) == ("en", "fr")
    assert languages_of(model.config, target="de") == ("en", "de")
    with pytest.raises(ValueError, match="has no languages"):
        languages_of(WordTranslator(target_language=None).config, source="en")


def test_columns_are_side_by_side() -> None:
    sentences = [TranslatedSentence("one two", "un deux", 0), TranslatedSentence("x", "y", 1)]
    assert list(printed_lines(sentences, "columns", 13)) == ["one   | un", "two   | deux", "", "x     | y"]
    assert list(printed_lines(sentences, "pairs", 13)) == ["one two", "    un deux", "", "x", "    y"]
