# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from command_line import run_command
from word_translation import word_tokenizer

from hier_nmt import RNNNMTConfig, RNNNMTForConditionalGeneration
from hier_nmt.inspection.attention_records import load_record

pytest.importorskip("sentencex")
pytest.importorskip("matplotlib")


def test_plot_attention_translates_records_and_plots(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    output, kept = tmp_path / "a.html", tmp_path / "a.npz"
    options = ["--text", "A b! C!", "--model", checkpoint, "--output", output, "--record", kept]
    assert run_command("plot", *options) == 0
    assert "A" in output.read_text(encoding="utf-8")
    for kind in ("tokens", "sentences"):
        options = [kept, "--kind", kind, "--layer", 1, "--sentences", "1-2", "--output", tmp_path / f"{kind}.png"]
        assert run_command("plot", *options) == 0
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert f"written to {tmp_path / 'sentences.png'}" in capsys.readouterr().out


def test_plot_attention_reads_a_given_translation(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "fr.txt").write_text("a b.\n\nc.\n")
    options = ["--text", "A b! C!", "--model", checkpoint, "--translation", tmp_path / "fr.txt"]
    assert run_command("plot", *options, "--output", tmp_path / "a.html") == 0
    (tmp_path / "fr.txt").write_text("a b.\n")
    assert run_command("plot", *options, "--output", tmp_path / "a.html") == 1
    assert "2 source sentences and 1 target sentences" in capsys.readouterr().err


def test_plot_attention_reads_documents_with_their_translations(
    repository, checkpoint, corpus, tmp_path, monkeypatch, capsys
) -> None:
    kept = tmp_path / "a.npz"
    options = [corpus, "--model", checkpoint, "--output", tmp_path / "a.html", "--record", kept]
    assert run_command("plot", *options) == 0
    record = load_record(kept)
    assert [record.sides["target"].sentence(index) for index in range(3)] == ["a b .", "c .", "d ."]
    assert [token for token in record.sides["source"].tokens if token[0] == "<"] == ["<sep>", "<par>", "</s>"]
    assert run_command("plot", *options, "--document", 2) == 0
    assert load_record(kept).sides["source"].sentence(0) == "E ."
    capsys.readouterr()
    assert run_command("plot", *options, "--document", 3) == 1
    assert "there is no document 3" in capsys.readouterr().err
    Path(corpus).write_text('{"id": "one", "paragraphs": [{"en": ["A."], "fr": ["a.", "b."]}]}')
    assert run_command("plot", *options) == 1
    assert "uneven sentence lists" in capsys.readouterr().err
    Path(corpus).write_text('{"id": "one", "paragraphs": [{"en": ["A."]}]}')
    assert run_command("plot", *options) == 0
    assert load_record(kept).sides["source"].sentence(0) == "A ."


def test_plot_attention_lets_the_model_retranslate(repository, checkpoint, corpus, tmp_path, monkeypatch) -> None:
    kept = tmp_path / "a.npz"
    options = [corpus, "--model", checkpoint, "--output", tmp_path / "a.html", "--record", kept]
    assert run_command("plot", *options, "--document", 2, "--retranslate", "--title", "new") == 0
    assert load_record(kept).title == "new"
    assert load_record(kept).sides["target"].sentence(0) != "e ."


def test_plot_attention_shows_recurrent_models_and_refuses_those_without_attention(
    repository, tmp_path, monkeypatch, capsys
) -> None:
    tokenizer = word_tokenizer()
    sizes = {"vocab_size": len(tokenizer), "embedding_size": 6, "hidden_size": 8}
    options = ["--text", "A b! C!", "--output", tmp_path / "a.png", "--kind", "tokens", "--model"]
    for attention in ("additive", "none"):
        config = RNNNMTConfig(**sizes, attention=attention, source_language="en", target_language="fr")
        RNNNMTForConditionalGeneration(config).save_pretrained(tmp_path / attention)
        tokenizer.save_pretrained(tmp_path / attention)
    assert run_command("plot", *options, tmp_path / "additive") == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert run_command("plot", *options, tmp_path / "none") == 1
    assert "this rnn_nmt model returns no attention weights (attention='none')" in capsys.readouterr().err


def test_plot_attention_refuses_sentences_that_end_before_they_start(repository, monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit):
        run_command("plot", "--sentences", "5-3")
    assert "'5-3' ends before it starts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "selected"], "slot 'cross' selects no sentences"),
        (["--kind", "tree"], "no walk down a tree was recorded for slot 'cross': the slot is not hierarchical"),
        (["--kind", "pooling"], "slot 'cross' has no sentence encodings"),
        (["--kind", "tokens", "--sentences", "2"], "no sentence 2: the document has 1"),
        (["--kind", "tokens", "--head", "3"], "no head 3: the slot has 2"),
        (["--slot", "encoder_context", "--kind", "tokens"], "slot 'encoder_context' was not recorded"),
        (["--text", ""], "the text has no sentence"),
        (["--kind", "tree", "--word", "zebra"], "no word 'zebra'"),
        (["--kind", "tokens", "--layer", "9"], "no layer 9: the slot has 1"),
        (["--kind", "tokens", "--layer", "0"], "no layer 0: the slot has 1"),
        (["--font", "absent.ttf"], "absent.ttf is not a font"),
    ],
)
def test_plot_attention_names_what_is_wrong(
    repository, checkpoint, tmp_path, monkeypatch, capsys, options, message
) -> None:
    options = ["--text", "A!", "--model", checkpoint, "--output", tmp_path / "a.png", *options]
    assert run_command("plot", *options) == 1
    assert message in capsys.readouterr().err
