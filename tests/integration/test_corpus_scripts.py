# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from command_line import run_command


def test_describe_corpus_prints_and_writes(repository, corpus, tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("matplotlib")
    options = ["--source-language", "en", "--target-language", "fr", "--other", corpus]
    outputs = ["--plot", tmp_path / "page.pdf", "--json", tmp_path / "report.json"]
    assert run_command("corpus describe", corpus, *options, *outputs) == 0
    text = capsys.readouterr().out
    assert "2 documents, 3 paragraphs, 4 sentence pairs" in text
    assert "2 of 2 documents (100.00 %)" in text
    assert json.loads((tmp_path / "report.json").read_text())["num_documents"] == 2
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_describe_corpus_names_what_is_wrong(repository, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "a.tmx").write_text("<tmx")
    options = ["--format", "tmx", "--source-language", "en", "--target-language", "fr"]
    assert run_command("corpus describe", str(tmp_path / "a.tmx"), *options) == 1
    assert "a.tmx:1: not well-formed XML" in capsys.readouterr().err


def test_evaluate_contrastive_scores_a_generated_set(
    repository,
    checkpoint,
    tmp_path,
    monkeypatch,
    capsys,
) -> None:
    arguments = [tmp_path / "set", "--train", 1, "--dev", 1, "--test", 1, "--pairs", 1, "--max-distance", 2]
    assert run_command("corpus make-discourse", *arguments) == 0
    examples = tmp_path / "set" / "contrastive.jsonl"
    options = ["--generate", "--output", tmp_path / "scores.json", "--examples-output", tmp_path / "examples.jsonl"]
    assert run_command("contrastive", checkpoint, examples, *options) == 0
    table = capsys.readouterr().out
    assert "| contrastive | all |" in table
    assert "| contrastive | distance 2 |" in table
    assert "| generative | ellipsis |" in table
    reports = json.loads((tmp_path / "scores.json").read_text())["reports"]
    assert len(reports) == 2
    assert all("signature" in report for report in reports)
    records = [json.loads(line) for line in (tmp_path / "examples.jsonl").read_text().splitlines()]
    overall = reports[0]["accuracies"][0]
    assert len(records) == overall["num_examples"]
    assert 100 * sum(record["is_right"] is True for record in records) / len(records) == overall["accuracy"]
    assert all("translation" in record for record in records)


def test_random_scores_need_no_context(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    arguments = [tmp_path / "set", "--train", 1, "--dev", 1, "--test", 1, "--pairs", 20, "--max-distance", 2]
    assert run_command("corpus make-discourse", *arguments) == 0
    examples = tmp_path / "set" / "contrastive.jsonl"
    assert run_command("contrastive", checkpoint, examples, "--random", 1) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "| all |" in line)
    assert 45 < float(row.split("|")[4]) < 55


def test_outputs_of_two_strategies_are_compared_and_exported(
    repository,
    checkpoint,
    corpus,
    tmp_path,
    monkeypatch,
    capsys,
) -> None:
    options = ["--strategy", "sentence", "current", "--beams", 1, "--output-dir", tmp_path]
    assert run_command("evaluate", checkpoint, corpus, *options) == 0
    systems = [f"{name}={tmp_path}/translations.{name}.jsonl" for name in ("sentence", "current")]
    arguments = [corpus, "--languages", "en", "fr", "--system", systems[0], "--system", systems[1]]
    capsys.readouterr()
    assert run_command("compare", *arguments, "--num-samples", 20, "--output", tmp_path / "compared.json") == 0
    table = capsys.readouterr().out
    assert table.count("| sentence |") == table.count("| current |") == 3
    assert "seed:12345" in table
    assert json.loads((tmp_path / "compared.json").read_text())
    assert run_command("compare", *arguments, "--export", tmp_path / "export.jsonl") == 0
    rows = [json.loads(line) for line in (tmp_path / "export.jsonl").read_text().splitlines()]
    assert [(row["system"], row["src"]) for row in rows[:2]] == [("sentence", "A b."), ("sentence", "C.")]
    assert len(rows) == 8
    assert run_command("compare", *arguments[:-2], "--system", "sentence") == 1
    assert "systems are given as NAME=FILE" in capsys.readouterr().err


def test_a_pronoun_set_is_made_of_documents(repository, tmp_path, monkeypatch, capsys) -> None:
    paragraph = {
        "en": ["The car is in the street.", "It works.", "The trees are tall.", "They are legal."],
        "fr": ["La voiture est dans la rue.", "Elle fonctionne.", "Les arbres sont hauts.", "Ils sont légaux."],
    }
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "paragraphs": [paragraph]}) + "\n")
    arguments = [tmp_path / "a.jsonl", "--output", tmp_path / "set.jsonl", "--show", 1]
    assert run_command("corpus make-pronouns", *arguments) == 0
    assert "set.jsonl: 2 examples" in capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "set.jsonl").read_text().splitlines()]
    assert [row["targets"][row["correct"]] for row in rows] == ["Elle fonctionne.", "Ils sont légaux."]
    assert [row["targets"][1 - row["correct"]] for row in rows] == ["Il fonctionne.", "Elles sont légales."]
    focus = [tmp_path / "a.jsonl", "--focus", tmp_path / "focus.tsv"]
    assert run_command("corpus make-pronouns", *focus) == 0
    assert "focus.tsv: 2 sentence pairs" in capsys.readouterr().out
    assert (tmp_path / "focus.tsv").read_text() == "It works.\tElle fonctionne.\nThey are legal.\tIls sont légaux.\n"
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "paragraphs": [{"en": ["Yes."], "fr": ["Oui."]}]}) + "\n")
    assert run_command("corpus make-pronouns", *focus, "--balance") == 1
    assert "--balance, --exclude and --show are for a set (--output), not for --focus" in capsys.readouterr().err
    for options in (arguments, focus):
        assert run_command("corpus make-pronouns", *options) == 1
        assert "no sentence of the corpus is usable" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"), [("--train", -1), ("--pairs", -2), ("--max-distance", 0), ("--test-context", -1)]
)
def test_numbers_that_make_no_corpus_are_named(repository, tmp_path, monkeypatch, capsys, option, value) -> None:
    output = tmp_path / "set"
    assert run_command("corpus make-discourse", output, option, value) == 1
    assert f"{option} {value} must be at least" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--batch-size", -3, "--batch-size -3 must be at least 1"),
        ("--beams", 0, "--beams 0 must be at least 1"),
        ("--device", "foo", "--device foo cannot be used"),
    ],
)
def test_options_of_the_contrastive_evaluation_are_checked_first(
    repository, tmp_path, monkeypatch, capsys, option, value, message
) -> None:
    assert run_command("contrastive", "no-model", "no-set", option, value) == 1
    assert message in capsys.readouterr().err


def test_outputs_of_the_measured_selection_are_checked_first(repository, tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("matplotlib")
    assert run_command("selection", "no-model", "no-documents", "--plot", tmp_path / "a.xyz") == 1
    assert "a.xyz does not have an ending of a figure" in capsys.readouterr().err
    assert run_command("selection", "no-model", "no-documents", "--output", tmp_path) == 1
    assert "is a folder" in capsys.readouterr().err
