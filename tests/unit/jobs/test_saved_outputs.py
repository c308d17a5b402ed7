# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run that is killed at any moment loses at most one batch, and continues with the same result."""

import json
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest
from word_translation import WordTranslator

from hier_nmt.jobs.saved_outputs import SavedOutputs, saved_outputs_path
from hier_nmt.jobs.translate_corpus import translate_documents
from hier_nmt.translation.decoder_runs import ExpectedWindow, Output, Request, StopConditions

BATCH_SIZE = 3
LETTERS = "abcdefghij"
# 40 different sentences, in documents of 8.
DOCUMENTS = [[[f"{first} {second} {third}." for second in LETTERS[:2] for third in LETTERS[:4]]] for first in "abcde"]
EXPECTED = [[[text.upper().replace(".", " .") for text in paragraph] for paragraph in item] for item in DOCUMENTS]
ENDS = StopConditions([2], [4, 5])
REQUEST = Request([7, 8], [], 14)


def translate(model: WordTranslator, output: Path, strategy: str):
    return translate_documents(
        model, model.tokenizer, DOCUMENTS, strategy=strategy, output_file=output, batch_size=BATCH_SIZE, progress=False
    )


def translate_slowly(folder: Path, strategy: str) -> None:
    """Translates, a moment for each batch, and notes each window before anybody can know its translation."""
    model = WordTranslator(window_sentences=2)
    own = model.generate

    def generate(**inputs):
        translated = own(**inputs)
        time.sleep(0.03)
        with (folder / "windows").open("a") as file:
            file.writelines(f"{window}\n" for window in model.windows)
        model.windows.clear()
        return translated

    model.generate = generate
    translate(model, folder / "out.jsonl", strategy)


@pytest.mark.parametrize("strategy", ["sentence", "current", "prefix", "document"])
def test_a_kill_at_any_moment_costs_a_batch_at_most(tmp_path, strategy) -> None:
    whole = WordTranslator(window_sentences=2)
    assert translate(whole, tmp_path / "whole.jsonl", strategy) == EXPECTED
    fork = multiprocessing.get_context("fork")
    chance = random.Random(strategy)
    num_killed = 0
    while True:
        process = fork.Process(target=translate_slowly, args=(tmp_path, strategy))
        process.start()
        process.join(None if num_killed == 5 else chance.uniform(0.05, 0.4))
        if not process.is_alive():
            break
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        num_killed += 1
    assert process.exitcode == 0
    assert num_killed > 0
    windows = (tmp_path / "windows").read_text().splitlines()
    assert len(whole.windows) <= len(windows) <= len(whole.windows) + BATCH_SIZE * num_killed
    assert set(windows) == set(whole.windows)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "whole.jsonl", "windows"]


def test_decoded_outputs_are_recognized(tmp_path) -> None:
    path = tmp_path / "outputs"
    first = SavedOutputs(path, {"beams": 4})
    first.add([REQUEST, REQUEST._replace(max_new_tokens=15)], ENDS, [Output([9, 10], True), Output([], False)])
    first.close(is_finished=False)
    again = SavedOutputs(path, {"beams": 4})
    assert again.known(REQUEST, ENDS) == Output([9, 10], True)
    assert again.known(REQUEST._replace(max_new_tokens=15), ENDS) == Output([], False)
    for other in (
        REQUEST._replace(source_ids=[7]),
        REQUEST._replace(prefix_ids=[7]),
        REQUEST._replace(expected=ExpectedWindow(2, 5)),
    ):
        assert again.known(other, ENDS) is None
    assert again.known(REQUEST, ENDS._replace(min_new_tokens=1)) is None
    again.close(is_finished=True)
    assert not path.exists()


def test_outputs_of_other_settings_are_forgotten(tmp_path) -> None:
    path = tmp_path / "outputs"
    for beams in (4, 5):
        saved = SavedOutputs(path, {"beams": beams})
        assert saved.known(REQUEST, ENDS) is None
        saved.add([REQUEST], ENDS, [Output([9], True)])
        saved.close(is_finished=False)


@pytest.mark.parametrize("torn", range(1, 60, 7))
def test_a_line_that_was_torn_off_is_decoded_again(tmp_path, torn) -> None:
    path = tmp_path / "outputs"
    saved = SavedOutputs(path, {})
    saved.add([REQUEST], ENDS, [Output([9], True)])
    whole = path.read_bytes()
    saved.add([REQUEST._replace(source_ids=[1])], ENDS, [Output([3] * 20, True)])
    saved.close(is_finished=False)
    path.write_bytes(path.read_bytes()[:-torn])
    again = SavedOutputs(path, {})
    assert again.known(REQUEST, ENDS) == Output([9], True)
    assert again.known(REQUEST._replace(source_ids=[1]), ENDS) is None
    assert path.read_bytes() == whole
    again.add([REQUEST._replace(source_ids=[1])], ENDS, [Output([4], True)])
    again.close(is_finished=False)
    assert SavedOutputs(path, {}).known(REQUEST._replace(source_ids=[1]), ENDS) == Output([4], True)


def test_finished_documents_need_no_outputs(tmp_path) -> None:
    output = tmp_path / "out.jsonl"
    model = WordTranslator()
    own = model.generate

    def generate(**inputs):
        if len(model.batches) == 5:
            raise KeyboardInterrupt
        return own(**inputs)

    model.generate = generate
    with pytest.raises(KeyboardInterrupt):
        translate_documents(
            model, model.tokenizer, DOCUMENTS, output_file=output, batch_size=4, group_sentences=8, progress=False
        )
    # Two groups of one document are finished, and of the third a batch.
    assert len(output.read_text().splitlines()) == 1 + 2
    header, *batches = map(json.loads, saved_outputs_path(output).read_text().splitlines())
    assert header["format"] == "hier_nmt decoder outputs 1"
    assert [len(batch) for batch in batches] == [4]
