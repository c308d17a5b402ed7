# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from command_line import run_command

from hier_nmt.cli import translation_task
from hier_nmt.jobs.load_checkpoints import load_pipeline
from hier_nmt.jobs.translate_pages import markup_format_of
from hier_nmt.translation.batched_generation import BatchedGenerator

pytest.importorskip("sentencex")


def test_translate_prints_pairs_and_writes_the_translation_alone(
    repository, checkpoint, tmp_path, monkeypatch, capsys
) -> None:
    (tmp_path / "in.txt").write_bytes("\ufeffA b! C!\r\n\r\n  D!\n".encode())
    options = ["--model", checkpoint, "--output", tmp_path / "out.txt", "--beams", 1]
    assert run_command("translate", tmp_path / "in.txt", *options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0], lines[2], lines[4], lines[5]] == ["A b!", "C!", "", "D!"]
    translations = [lines[index].removeprefix("    ") for index in (1, 3, 6)]
    expected = f"\ufeff{translations[0]} {translations[1]}\r\n\r\n  {translations[2]}\n"
    assert (tmp_path / "out.txt").read_bytes().decode() == expected
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


@pytest.mark.parametrize(("name", "text"), [("a.txt", "A %s b {0}!\n"), ("a.html", "<p>A %s b {0}!</p>")])
def test_translate_says_how_many_placeholders_it_kept(
    repository, checkpoint, tmp_path, monkeypatch, capsys, name, text
) -> None:
    (tmp_path / name).write_text(text)
    options = ["--model", checkpoint, "--output", tmp_path / f"out-{name}", "--beams", 1]
    assert run_command("translate", tmp_path / name, *options) == 0
    assert "2 placeholders, tags, addresses and signs, each kept" in capsys.readouterr().err
    written = (tmp_path / f"out-{name}").read_text()
    assert [written.count(span) for span in ("%s", "{0}")] == [1, 1]


@pytest.mark.parametrize("form", ["columns", "translation"])
def test_translate_has_other_forms(repository, checkpoint, tmp_path, monkeypatch, capsys, form) -> None:
    (tmp_path / "in.txt").write_text("A b! C!\n\nD!\n")
    assert run_command("translate", tmp_path / "in.txt", "--model", checkpoint, "--print", form) == 0
    assert ("A b!" in capsys.readouterr().out) == (form == "columns")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Caf\u00e9".encode("latin-1"), "in.txt:1: not UTF-8: byte 3 of the file (0xe9)"),
        ("A\nB \u00e9t\u00e9 C".encode("latin-1"), "in.txt:2: not UTF-8: byte 4 of the file (0xe9)"),
        ("A b!".encode("utf-16"), "in.txt: not UTF-8: it is UTF-16"),
        (b" \n", "in.txt: empty file"),
    ],
)
def test_translate_names_what_is_wrong_with_the_file(
    repository, checkpoint, tmp_path, monkeypatch, capsys, content, message
) -> None:
    (tmp_path / "in.txt").write_bytes(content)
    assert run_command("translate", tmp_path / "in.txt", "--model", checkpoint) == 1
    assert message in capsys.readouterr().err


def test_translate_names_what_is_missing(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "in.txt").write_text("A!")
    assert run_command("translate", tmp_path / "absent.txt", "--model", checkpoint) == 1
    assert "absent.txt" in capsys.readouterr().err
    assert run_command("translate", tmp_path / "in.txt", "--model", tmp_path / "no-model") == 1
    assert "no such checkpoint directory" in capsys.readouterr().err


def test_evaluate_prints_scores_with_signatures_and_writes_them(
    repository, checkpoint, corpus, tmp_path, monkeypatch, capsys
) -> None:
    options = ["--strategy", "sentence", "prefix", "--beams", 1, "--output-dir", tmp_path / "scores"]
    assert run_command("evaluate", checkpoint, corpus, *options) == 0
    table = capsys.readouterr().out
    assert "| sentence |" in table
    assert "| 4 | 2 |" in table
    assert "chrF: nrefs:1" in table
    assert table.count("|beams:1|length_penalty:1|numbers:kept\n") == 4  # BLEU, chrF, TER and docBLEU
    scores = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert [report["label"] for report in scores["reports"]] == ["sentence", "prefix"]
    assert scores["decoding"]["prefix"]["counts"]["num_sentences"] == 4
    translations = (tmp_path / "scores" / "translations.prefix.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in translations[1:]] == ["one", "two"]
    # The same command again takes the translations from the files.
    assert run_command("evaluate", checkpoint, corpus, *options) == 0
    assert capsys.readouterr().out == table


def test_evaluate_may_read_fewer_documents(repository, checkpoint, corpus, monkeypatch, capsys) -> None:
    assert run_command("evaluate", checkpoint, corpus, "--limit", 1, "--no-ter", "--bf16") == 0
    table = capsys.readouterr().out
    assert "| 3 | 1 |" in table
    assert "TER" not in table


def test_evaluate_takes_another_engine_and_the_signature_names_it(
    repository, checkpoint, corpus, tmp_path, monkeypatch, capsys
) -> None:
    pytest.importorskip("ctranslate2")
    monkeypatch.setenv("HIER_NMT_CACHE", str(tmp_path / "cache"))
    options = ["--strategy", "sentence", "--beams", 1, "--no-ter"]
    assert run_command("evaluate", checkpoint, corpus, *options) == 0
    table = capsys.readouterr().out
    assert run_command("evaluate", checkpoint, corpus, *options, "--engine", "ctranslate2") == 0
    assert capsys.readouterr().out == table.replace("|numbers:kept", "|numbers:kept|engine:ctranslate2")
    assert run_command("evaluate", checkpoint, corpus, "--bf16", "--engine", "ctranslate2") == 1
    assert "--bf16 with --engine ctranslate2" in capsys.readouterr().err


def test_evaluate_names_what_is_wrong(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "bad.jsonl").write_text(json.dumps({"id": "x", "paragraphs": [{"en": ["A."], "fr": []}]}) + "\n")
    assert run_command("evaluate", checkpoint, str(tmp_path / "bad.jsonl")) == 1
    assert "bad.jsonl:1: uneven sentence lists" in capsys.readouterr().err


def test_translate_writes_the_same_kind_of_file(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "film.en.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nA b!\n")
    assert run_command("translate", tmp_path / "film.en.srt", "--model", checkpoint, "--beams", 1) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert "film.fr.srt" in output.err
    assert (tmp_path / "film.fr.srt").read_text().startswith("1\n00:00:01,000 --> 00:00:02,000\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["film.en.srt", "film.fr.srt"]
    assert run_command("translate", tmp_path / "film.en.srt", "--model", checkpoint) == 1
    assert "film.fr.srt exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "page", "kept"),
    [
        ("page.html", '<p class="a">A <b>b!</b> C!</p>\n<pre>A b!</pre>\n', ['<p class="a">', "<pre>A b!</pre>"]),
        ("page.md", "# A b!\n\nC `A b` [D!](C.md)\n", ["# ", "`A b`", "](C.md)"]),
    ],
)
def test_translate_keeps_markup(repository, checkpoint, tmp_path, monkeypatch, capsys, name, page, kept) -> None:
    if name.endswith(".md"):
        pytest.importorskip("markdown_it")
    (tmp_path / name).write_text(page)
    assert run_command("translate", tmp_path / name, "--model", checkpoint, "--beams", 1, "--print", "columns") == 0
    expected = load_pipeline(checkpoint, "cpu")(page, text_format=markup_format_of(name), num_beams=1)
    written = (tmp_path / name.replace(".", ".fr.")).read_text()
    assert written == expected[0]["translation_text"]
    assert written != page
    assert all(part in written for part in kept)
    assert "A b!" in capsys.readouterr().out


def test_translate_can_be_interrupted(repository, checkpoint, corpus, tmp_path, monkeypatch, capsys) -> None:
    own = translation_task.translate_file

    def interrupt(*arguments, **options):
        own(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(translation_task, "translate_file", interrupt)
    output = tmp_path / "out.jsonl"
    options = [corpus, "--model", checkpoint, "--beams", 1, "--output", output, "--retranslate"]
    assert run_command("translate", *options) == 130
    assert "the same command continues" in capsys.readouterr().err
    assert not output.exists()
    partial = tmp_path / "out.jsonl.partial.jsonl"
    assert len(partial.read_text().splitlines()) == 3
    monkeypatch.setattr(translation_task, "translate_file", own)
    assert run_command("translate", *options) == 0
    assert not partial.exists()
    written = [json.loads(line) for line in output.read_text().splitlines()]
    assert [item["id"] for item in written] == ["one", "two"]
    assert [len(group["fr"]) for group in written[0]["paragraphs"]] == [2, 1]


def test_translate_says_what_became_of_terms(repository, checkpoint, tmp_path, capsys) -> None:
    (tmp_path / "in.txt").write_text("A b! C Big c!\n")
    (tmp_path / "terms.csv").write_text("source,target\nb,éèê\n")
    (tmp_path / "names.txt").write_text("Big c\n")
    options = ["--model", checkpoint, "--beams", 1, "--output", tmp_path / "out.txt"]
    names = ["--do-not-translate", tmp_path / "names.txt", "--do-not-translate", "Big"]
    assert run_command("translate", tmp_path / "in.txt", *options, "--glossary", tmp_path / "terms.csv", *names) == 0
    told = capsys.readouterr().err
    assert "1 terms that are not translated, each kept" in told
    assert "1 terms of the glossary: 0 used as given, 0 in another form, 1 not used" in told
    assert "not used in 1 sentences: b = éèê" in told
    assert (tmp_path / "out.txt").read_text().count("Big c") == 1


def test_translate_names_a_broken_glossary_before_it_loads_the_model(
    repository, checkpoint, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(translation_task, "_pipeline", lambda *arguments: pytest.fail("the model was loaded"))
    (tmp_path / "in.txt").write_text("A!\n")
    (tmp_path / "terms.tsv").write_text("a\tb\nc d\n")
    options = ["--model", checkpoint, "--glossary", tmp_path / "terms.tsv"]
    assert run_command("translate", tmp_path / "in.txt", *options) == 1
    assert "terms.tsv:2: no tab between term and translation" in capsys.readouterr().err
    assert run_command("translate", tmp_path / "in.txt", "--model", checkpoint, "--do-not-translate", "?") == 1
    assert "a term that is not translated must have a word; got '?'" in capsys.readouterr().err


@pytest.mark.parametrize("after", [1, 2, 5])
def test_a_resumed_run_reports_the_counts_of_the_whole_file(
    repository, checkpoint, tmp_path, monkeypatch, capsys, after
) -> None:
    letters = "abcdefgh"
    (tmp_path / "in.html").write_text("".join(f"<p>{one.upper()} %s b {{0}} {one} £!</p>" for one in letters))
    options = ["--model", checkpoint, "--output", tmp_path / "out.html", "--beams", 1, "--batch-size", 2]
    own, calls = BatchedGenerator._generate, []

    def generate(*arguments, **others):
        calls.append(None)
        if len(calls) > after:
            raise KeyboardInterrupt
        return own(*arguments, **others)

    with monkeypatch.context() as patch:
        patch.setattr(BatchedGenerator, "_generate", generate)
        assert run_command("translate", tmp_path / "in.html", *options) == 130
    capsys.readouterr()
    assert run_command("translate", tmp_path / "in.html", *options) == 0
    resumed = [line for line in capsys.readouterr().err.splitlines() if ", each kept" in line]
    assert run_command("translate", tmp_path / "in.html", *options[:3], tmp_path / "whole.html", *options[4:]) == 0
    whole = [line for line in capsys.readouterr().err.splitlines() if ", each kept" in line]
    assert resumed == whole
    assert len(whole) == 1
    assert (tmp_path / "out.html").read_bytes() == (tmp_path / "whole.html").read_bytes()


def test_translate_continues_an_interrupted_run_only_with_the_same_terms(
    repository, checkpoint, tmp_path, capsys
) -> None:
    (tmp_path / "in.txt").write_text("A b! C!\n")
    for name, target in (("one.tsv", "X"), ("other.tsv", "Y")):
        (tmp_path / name).write_text(f"b\t{target}\n")
    from hier_nmt.data.glossary_files import read_glossary
    from hier_nmt.jobs.saved_translations import ResumeError
    from hier_nmt.jobs.translate_corpus import translate_documents
    from hier_nmt.translation.translation_documents import SourceDocument

    pipe = load_pipeline(checkpoint, "cpu")
    uses = []
    for name in ("one.tsv", "one.tsv", "other.tsv"):
        document = SourceDocument([["A b!", "C!"]], glossary=read_glossary(tmp_path / name, "en", "fr"))
        found: list = []
        options = {
            "output_file": tmp_path / "out.jsonl",
            "terms": found,
            "generate_kwargs": {"num_beams": 1},
            "progress": False,
        }
        if name == "other.tsv":
            with pytest.raises(ResumeError, match="holds the translation of another text"):
                translate_documents(pipe.model, pipe.tokenizer, [document], **options)
        else:
            translate_documents(pipe.model, pipe.tokenizer, [document], **options)
            uses.append(found)
    assert uses[0] == uses[1]
    assert [use.source for use in uses[0]] == ["b"]


MEMORY = (
    '<tmx version="1.4"><header/><body>'
    '<tu><tuv xml:lang="en"><seg>A b!</seg></tuv><tuv xml:lang="fr"><seg>Oui !</seg></tuv></tu>'
    '<tu><tuv xml:lang="en"><seg>C d.</seg></tuv><tuv xml:lang="de"><seg>Ja.</seg></tuv></tu></body></tmx>'
)


@pytest.mark.parametrize("name", ["in.txt", "in.html"])
def test_translate_takes_sentences_from_a_memory(repository, checkpoint, tmp_path, capsys, name) -> None:
    (tmp_path / "memory.tmx").write_text(MEMORY)
    (tmp_path / name).write_text("A  b!\n\nD!\n" if name == "in.txt" else "<p>A  b!</p>\n<p>D!</p>\n")
    options = ["--model", checkpoint, "--beams", 1, "--memory", tmp_path / "memory.tmx", "--memory-threshold", 100]
    output = tmp_path / f"out-{name}"
    assert run_command("translate", tmp_path / name, *options, "--output", output) == 0
    told = capsys.readouterr().err
    assert "translation memory: 1 sentences taken from it, 0 others similar to some in it" in told
    assert "2 sentences, 1 of them from the translation memory, in " in told
    assert "Oui !" in output.read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (MEMORY.replace('"fr"', '"es"'), "no unit in 'en' has a text in 'fr'; languages: de, en, es"),
        (MEMORY.replace('"en"', '"es"'), "no unit in 'en'; languages: de, es, fr"),
        ("<tmx><body></body></tmx>", "no unit in 'en'; languages: none"),
        (MEMORY[:-20], "not well-formed XML"),
        ("<tbx/>", "not TMX"),
        ("", "empty file"),
    ],
)
def test_translate_names_a_memory_that_cannot_be_used(repository, tmp_path, capsys, checkpoint, content, message):
    (tmp_path / "in.txt").write_text("A!")
    (tmp_path / "memory.tmx").write_text(content)
    options = ["--model", checkpoint, "--memory", tmp_path / "memory.tmx", "--memory-threshold", 100]
    assert run_command("translate", tmp_path / "in.txt", *options) == 1
    told = capsys.readouterr().err
    assert "memory.tmx" in told
    assert message in told


def test_translate_reports_the_sentences_to_look_at(repository, checkpoint, tmp_path, capsys) -> None:
    (tmp_path / "in.txt").write_text("A b! C!\n\n123\n\nD! E f g!\n")
    options = ["--model", checkpoint, "--beams", 1, "--output", tmp_path / "out.txt", "--report"]
    assert run_command("translate", tmp_path / "in.txt", *options) == 0
    told = capsys.readouterr().err.splitlines()
    assert sum(line.startswith("to look at: ") for line in told) == 1
    (least,) = [line for line in told if "among the least confident" in line]
    number, confidence = least.removeprefix("sentence ").split(" (confidence ")
    assert int(number) in range(1, 6)
    assert 0 <= float(confidence.split(")")[0]) <= 1


def test_translate_writes_confidences_into_xliff(repository, checkpoint, tmp_path) -> None:
    unit = '<trans-unit id="1"><source>A b!</source></trans-unit>'
    languages = 'source-language="en" target-language="fr"'
    file = f'<file original="a" {languages} datatype="plaintext"><body>{unit}</body></file>'
    (tmp_path / "in.xlf").write_text(f'<xliff version="1.2">{file}</xliff>')
    options = ["--model", checkpoint, "--beams", 1, "--output", tmp_path / "out.xlf"]
    assert run_command("translate", tmp_path / "in.xlf", *options, "--confidence") == 0
    written = (tmp_path / "out.xlf").read_text()
    assert 0 <= float(written.partition('its:mtConfidence="')[2].partition('"')[0]) <= 1
