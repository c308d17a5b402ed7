# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
import threading
import time

import pytest
import torch
from word_translation import WordTranslator

from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.text_files import locked
from hier_nmt.jobs.saved_translations import ResumeError, read_translations
from hier_nmt.jobs.shared_translation import UnfinishedWork, Workers, group_file
from hier_nmt.jobs.translate_corpus import translate_documents
from hier_nmt.translation.translation_report import DecodingStatistics

SOURCES = [[["a.", "b."], ["c."]], [["d."]], [["e.", "f."]], [["g."]]]
EXPECTED = [[["A .", "B ."], ["C ."]], [["D ."]], [["E .", "F ."]], [["G ."]]]


def translate(model: WordTranslator, documents, strategy: str | None = None, **options):
    return translate_documents(model, model.tokenizer, documents, strategy=strategy, progress=False, **options)


def parallel(sources) -> list[ParallelDocument]:
    return [
        ParallelDocument(f"document {index}", tuple(tuple(SentencePair(text, "-") for text in row) for row in document))
        for index, document in enumerate(sources)
    ]


def interrupted(model: WordTranslator, after: int) -> None:
    """Makes the model fail after a number of batches."""
    own = model.generate

    def generate(**inputs):
        if len(model.batches) == after:
            raise KeyboardInterrupt
        return own(**inputs)

    model.generate = generate


@pytest.mark.parametrize("strategy", ["sentence", "current", "prefix", "document"])
@pytest.mark.parametrize("group_sentences", [1, 3, 1000])
def test_documents_come_back_in_order_whatever_the_groups(strategy, group_sentences) -> None:
    model = WordTranslator(window_sentences=2)
    assert translate(model, SOURCES, strategy, group_sentences=group_sentences) == EXPECTED
    assert translate(model, parallel(SOURCES), strategy, group_sentences=group_sentences) == EXPECTED


def test_documents_may_come_from_a_generator() -> None:
    assert translate(WordTranslator(), (document for document in SOURCES)) == EXPECTED
    assert translate(WordTranslator(), iter([])) == []


def test_batches_are_filled_across_documents() -> None:
    model = WordTranslator()
    translate(model, SOURCES, batch_size=4)
    assert [len(batch) for batch in model.batches] == [4, 3]


def test_statistics_are_added_up() -> None:
    statistics = DecodingStatistics()
    translate(WordTranslator(window_sentences=2), SOURCES, "current", statistics=statistics)
    assert (statistics.num_sentences, statistics.num_windows) == (7, 7)


def test_the_file_holds_every_document(tmp_path) -> None:
    file = tmp_path / "folder" / "out.jsonl"
    translate(WordTranslator(), parallel(SOURCES), output_file=file, generate_kwargs={"num_beams": 4})
    header, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert header["settings"]["strategy"] == "sentence"
    assert header["settings"]["generation"]["num_beams"] == 4
    assert [line["paragraphs"] for line in lines] == EXPECTED
    assert [line["id"] for line in lines] == [f"document {index}" for index in range(4)]


@pytest.mark.parametrize("torn", [0, 1, 40])
def test_an_interrupted_run_is_continued(tmp_path, torn) -> None:
    file = tmp_path / "out.jsonl"
    whole = DecodingStatistics()
    translate(WordTranslator(), SOURCES, output_file=tmp_path / "whole.jsonl", statistics=whole)
    model = WordTranslator()
    interrupted(model, after=2)
    with pytest.raises(KeyboardInterrupt):
        translate(model, SOURCES, output_file=file, group_sentences=1)
    assert len(file.read_bytes().splitlines()) == 1 + 2
    if torn:
        file.write_bytes(file.read_bytes()[:-torn])
    again, statistics = WordTranslator(), DecodingStatistics()
    assert translate(again, SOURCES, output_file=file, group_sentences=1, statistics=statistics) == EXPECTED
    assert len(again.batches) == (3 if torn else 2)
    assert statistics == whole
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_finished_file_is_not_translated_again(tmp_path) -> None:
    file = tmp_path / "out.jsonl"
    translate(WordTranslator(), SOURCES, output_file=file)
    model = WordTranslator()
    assert translate(model, SOURCES, output_file=file, batch_size=1) == EXPECTED
    assert model.batches == []
    # Fewer documents need nothing else, more of them continue it.
    assert translate(model, SOURCES[:2], output_file=file) == EXPECTED[:2]
    assert translate(model, [*SOURCES, [["h."]]], output_file=file) == [*EXPECTED, [["H ."]]]
    assert model.windows == ["h . </s>"]


def test_a_truncated_header_is_rewritten(tmp_path) -> None:
    file = tmp_path / "out.jsonl"
    translate(WordTranslator(), SOURCES, output_file=file)
    for length in (0, 5, 60):
        file.write_bytes(file.read_bytes()[:length])
        assert translate(WordTranslator(), SOURCES, output_file=file) == EXPECTED


def test_other_settings_are_refused_and_named(tmp_path) -> None:
    file = tmp_path / "out.jsonl"
    translate(WordTranslator(window_sentences=2), SOURCES, "current", output_file=file)
    content = file.read_bytes()
    with pytest.raises(ResumeError, match="strategy: then 'current', now 'prefix'"):
        translate(WordTranslator(window_sentences=2), SOURCES, "prefix", output_file=file)
    with pytest.raises(ResumeError, match="'num_beams': 5"):
        translate(
            WordTranslator(window_sentences=2), SOURCES, "current", output_file=file, generate_kwargs={"num_beams": 5}
        )
    other = WordTranslator(window_sentences=2)
    other.weight = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(ResumeError, match=r"out.jsonl was made with other settings \(model: then"):
        translate(other, SOURCES, "current", output_file=file)
    assert file.read_bytes() == content


def test_another_engine_is_named_with_the_way_to_continue(tmp_path) -> None:
    file = tmp_path / "out.jsonl"
    translate(WordTranslator(), SOURCES, output_file=file)
    exported = WordTranslator()
    exported.engine, exported.weights_digest = "onnx", "0a1b-onnx"
    message = "engine: then 'torch', now 'onnx'; .*choose another output file, or continue with engine 'torch'"
    with pytest.raises(ResumeError, match=message):
        translate(exported, SOURCES, output_file=file)


def test_weights_that_differ_are_another_model(tmp_path) -> None:
    for value in (1.0, 1.5):
        model = WordTranslator()
        model.weight = torch.nn.Parameter(torch.full((3000,), value))
        if value == 1.0:
            translate(model, SOURCES, output_file=tmp_path / "out.jsonl")
        else:
            with pytest.raises(ResumeError, match="model: then"):
                translate(model, SOURCES, output_file=tmp_path / "out.jsonl")


def test_other_documents_are_refused_and_named(tmp_path) -> None:
    file = tmp_path / "out.jsonl"
    translate(WordTranslator(), parallel(SOURCES), output_file=file)
    changed = [SOURCES[0], [["x."]], *SOURCES[2:]]
    with pytest.raises(ResumeError, match="another text as document 1"):
        translate(WordTranslator(), parallel(changed), output_file=file)


@pytest.mark.parametrize("content", ["hello\n", "hello", '{"a": 1}\n', "[]\n"])
def test_a_file_of_something_else_is_not_overwritten(tmp_path, content) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(content)
    with pytest.raises(ResumeError, match=r"notes.txt"):
        translate(WordTranslator(), SOURCES, output_file=file)
    assert file.read_text() == content


def test_a_document_of_another_shape_is_refused() -> None:
    with pytest.raises(TypeError, match="a document is a list of paragraphs"):
        translate(WordTranslator(), [["a.", "b."]])


def test_the_bar_counts_sentences(tmp_path, capsys) -> None:
    model = WordTranslator()
    translate_documents(model, model.tokenizer, SOURCES, output_file=tmp_path / "out.jsonl")
    assert "7/7" in capsys.readouterr().err
    translate_documents(model, model.tokenizer, SOURCES, output_file=tmp_path / "out.jsonl")
    assert "7/7" in capsys.readouterr().err


def test_finished_translations_are_read_whatever_separators_they_contain(tmp_path) -> None:
    documents = parallel(SOURCES)
    path = tmp_path / "translations.jsonl"
    model = WordTranslator()
    assert translate(model, documents, "sentence", output_file=path) == EXPECTED
    assert read_translations(path, documents) == EXPECTED
    # U+2028 and U+0085 end lines for `str.splitlines`, and are written as they are.
    path.write_text(path.read_text(encoding="utf-8").replace("A .", "A\u2028\u0085."), encoding="utf-8")
    assert read_translations(path, documents)[0] == [["A\u2028\u0085.", "B ."], ["C ."]]
    path.write_text("{")
    with pytest.raises(ResumeError, match="is not a file of translations"):
        read_translations(path, documents)


def test_lone_surrogates_come_back_from_the_file(tmp_path) -> None:
    file = tmp_path / "out.jsonl"
    documents = [[["a \ud800 b.", "\udfff"]]]
    first = translate(WordTranslator(), documents, output_file=file)
    assert first == [[["A \ud800 B .", "\udfff"]]]
    model = WordTranslator()
    assert translate(model, documents, output_file=file) == first
    assert model.windows == []


def test_what_others_have_translated_is_read_by_the_main_worker_when_it_is_free(tmp_path) -> None:
    assert translate(WordTranslator(), SOURCES, output_file=tmp_path, workers=Workers(1, 2)) == EXPECTED
    is_locked = threading.Event()

    def hold() -> None:
        with locked(group_file(tmp_path, 0)):
            is_locked.set()
            time.sleep(0.5)

    holder = threading.Thread(target=hold)
    holder.start()
    is_locked.wait()
    model = WordTranslator()
    assert translate(model, SOURCES, output_file=tmp_path, workers=Workers(0, 2), waits=False) == EXPECTED
    holder.join()
    assert model.batches == []
    with pytest.raises(UnfinishedWork):
        translate(model, SOURCES, output_file=tmp_path, workers=Workers(1, 2), waits=False)
