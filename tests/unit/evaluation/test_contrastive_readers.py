# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path
from typing import Any

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.evaluation.contrastive_readers import read_contrastive
from hier_nmt.evaluation.contrastive_sets import write_contrastive_set

CONTEXT = ["Le chat est là.", "La chatte est là."]
ANAPHORA = {
    "7": {
        "inspired by": ["x", "y"],
        "src": ["The cat is here.", "It sleeps."],
        "trg": [
            {"correct": [CONTEXT[0], "Il dort."], "incorrect": [CONTEXT[0], "Elle dort."], "type": "m.sg"},
            {"semi-correct": [CONTEXT[1], "Elle dort."], "incorrect": [CONTEXT[1], "Il dort."], "type": "f.sg"},
        ],
    }
}
LEXICAL = {
    "1": {
        "type": "repet",
        "examples": [
            {"src": ["Crazy?", "Crazy!"], "trg": {"correct": ["Fou ?", "Fou !"], "incorrect": ["Fou ?", "Dingue !"]}}
        ],
    }
}
CONTRAPRO = [
    {
        "document id": "film.de",
        "segment id": 3,
        "src segment": "It's red.",
        "ref segment": "Sie ist rot.",
        "src pronoun": "It",
        "ref pronoun": "Sie",
        "ante distance": 2,
        "errors": [
            {"contrastive": "Er ist rot.", "replacement": "Er"},
            {"contrastive": "Es ist rot.", "replacement": "es"},
        ],
    }
]


def write(path: Path, text: str | Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text, indent="\t"), encoding="utf-8")
    return path


def test_discevalmt_anaphora_takes_semi_correct_translations_as_right(tmp_path: Path) -> None:
    examples = read_contrastive([write(tmp_path / "anaphora.json", ANAPHORA)], "discevalmt")
    assert [example.id for example in examples] == ["anaphora:7.1", "anaphora:7.2"]
    assert [example.phenomenon for example in examples] == ["anaphora m.sg", "anaphora f.sg"]
    assert [example.distance for example in examples] == [1, 1]
    assert [example.target_context for example in examples] == [(CONTEXT[0],), (CONTEXT[1],)]
    assert [example.right for example in examples] == ["Il dort.", "Elle dort."]
    assert [example.wrong for example in examples] == [("Elle dort.",), ("Il dort.",)]


def test_discevalmt_lexical_choice_is_read(tmp_path: Path) -> None:
    (example,) = read_contrastive([write(tmp_path / "lexical-choice.json", LEXICAL)], "discevalmt")
    assert (example.phenomenon, example.source_context) == ("lexical choice, repet", ("Crazy?",))
    assert (example.source, example.targets, example.correct) == ("Crazy!", ("Fou !", "Dingue !"), 0)


def test_the_real_discevalmt_sets_are_read(shared_data: Path) -> None:
    for name in ("anaphora", "lexical-choice"):
        examples = read_contrastive([shared_data / "discevalmt-en-fr" / f"{name}.json"], "discevalmt")
        assert len(examples) == 200
        assert len({example.id for example in examples}) == 200
        assert all(len(example.source_context) == len(example.target_context) == 1 for example in examples)


def test_contrapro_without_documents_has_no_context(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (example,) = read_contrastive([write(tmp_path / "contrapro.json", CONTRAPRO)], "contrapro")
    assert (example.source_context, example.target_context) == ((), ())
    assert (example.phenomenon, example.distance) == ("it:sie", 2)
    assert example.targets == ("Sie ist rot.", "Er ist rot.", "Es ist rot.")
    assert (example.expected_words, example.wrong_words) == (("sie",), ("er", "es"))
    assert "without context" in caplog.text


@pytest.mark.parametrize("first", [1, 0])
@pytest.mark.parametrize("document_id", ["film.de", "film"])
def test_contrapro_takes_context_from_documents_whose_lines_count_from_1_or_0(
    tmp_path: Path, first: int, document_id: str
) -> None:
    write(tmp_path / "docs" / "1999" / "film.en", "One.\nTwo.\nIt 's red .\nFour.\n")
    write(tmp_path / "docs" / "1999" / "film.de", "Eins.\nZwei.\nSie ist rot.\nVier.\n")
    entry = {**CONTRAPRO[0], "segment id": 2 + first, "document id": document_id, "ante distance": -1}
    path = write(tmp_path / "set.json", [entry])
    (example,) = read_contrastive([path], "contrapro", context_dir=tmp_path / "docs")
    assert (example.source_context, example.target_context) == (("One.", "Two."), ("Eins.", "Zwei."))
    assert example.distance is None
    (example,) = read_contrastive([path], "contrapro", context_dir=tmp_path / "docs", num_context=1)
    assert example.target_context == ("Zwei.",)


def test_contrapro_says_what_is_wrong_with_the_documents(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "set.json", CONTRAPRO)
    folder = tmp_path / "docs"
    folder.mkdir()
    with pytest.raises(CorpusError, match=r"docs: no documents: no pair of files \*.en \*.de"):
        read_contrastive([path], "contrapro", context_dir=folder)
    write(folder / "other.en", "x\n")
    write(folder / "other.de", "x\n")
    with pytest.raises(CorpusError, match=r"docs: missing document: film.\{en,de\}"):
        read_contrastive([path], "contrapro", context_dir=folder)
    write(folder / "film.en", "One.\nTwo.\nThree.\n")
    write(folder / "film.de", "Eins.\nZwei.\n")
    with pytest.raises(CorpusError, match=r"film.en: different number of lines: 3 and 2"):
        read_contrastive([path], "contrapro", context_dir=folder)
    write(folder / "film.de", "Eins.\nZwei.\nDrei.\n")
    (example,) = read_contrastive([path], "contrapro", context_dir=folder)
    assert example.source_context == ()
    assert "1 of 1 examples" in caplog.text


def test_line_paired_files_alternate_right_and_wrong(tmp_path: Path) -> None:
    files = {
        "current.src": "s1\ns1\ns2\ns2\n",
        "current.trg": "t1\nw1\nt2\nw2\n",
        "context.src": "\na\n\na\nb\nc\nb\nc\n",
        "context.trg": "\nA\n\nA\nB\nC\nB\nC\n",
    }
    paths = [write(tmp_path / name, text) for name, text in files.items()]
    first, second = read_contrastive(paths, "line-paired")
    assert (first.source_context, first.target_context) == (("a",), ("A",))
    assert (second.source_context, second.target_context) == (("b", "c"), ("B", "C"))
    assert [(example.source, example.targets, example.correct) for example in (first, second)] == [
        ("s1", ("t1", "w1"), 0),
        ("s2", ("t2", "w2"), 0),
    ]


def test_line_paired_context_may_be_between_the_sentences(tmp_path: Path) -> None:
    paths = [write(tmp_path / "set.src", "a\ns1\na\ns1\n"), write(tmp_path / "set.trg", "A\nt1\nA\nw1\n")]
    (example,) = read_contrastive(paths, "line-paired", context_lines=1)
    assert (example.source_context, example.target_context, example.targets) == (("a",), ("A",), ("t1", "w1"))


@pytest.mark.parametrize(
    ("source", "target", "context_lines", "reason"),
    [
        ("a\na\na\n", "x\ny\nz\n", 0, "set.src: wrong number of lines: 3 source and 3 target"),
        ("a\na\n", "x\ny\nz\nu\n", 0, "set.src: wrong number of lines: 2 source and 4 target"),
        ("a\nb\n", "x\ny\n", 0, "set.src:1: right and wrong translation are not of the same source"),
        ("c\na\nc\na\n", "C\nx\nD\ny\n", 1, "set.trg: bad example: line 2: the context is not translated the same way"),
        ("c\na\nc\n", "C\nx\nC\n", 1, "set.src:3: ends within a window"),
    ],
)
def test_broken_line_paired_files_are_named(
    tmp_path: Path, source: str, target: str, context_lines: int, reason: str
) -> None:
    paths = [write(tmp_path / "set.src", source), write(tmp_path / "set.trg", target)]
    with pytest.raises(CorpusError) as caught:
        read_contrastive(paths, "line-paired", context_lines=context_lines)
    assert reason in str(caught.value)
    with pytest.raises(ValueError, match="got 2 files and context_lines=None"):
        read_contrastive(paths, "line-paired")


def test_voita_json_says_which_translation_is_right(tmp_path: Path) -> None:
    groups = [{"src": "a _eos b _eos c", "dst": ["A _eos B _eos x", "A _eos B _eos y"], "true_ind": 1, "ctx_dist": 2}]
    (example,) = read_contrastive([write(tmp_path / "lex_cohesion_dev.json", groups)], "voita")
    assert (example.phenomenon, example.distance, example.correct) == ("lex_cohesion_dev", 2, 1)
    assert (example.source_context, example.target_context) == (("a", "b"), ("A", "B"))
    assert (example.source, example.targets) == ("c", ("x", "y"))
    (example,) = read_contrastive([write(tmp_path / "ellipsis_vp.json", groups)], "voita")
    assert example.distance is None


def test_voita_text_has_the_right_translation_first_and_groups_of_any_size(tmp_path: Path) -> None:
    source = "a _eos s\n" * 3 + "a _eos s\n" * 2 + "b _eos r\n" * 2
    target = "A _eos 1\nA _eos 2\nA _eos 3\nB _eos 2\nB _eos 1\nC _eos 5\nC _eos 6\n"
    paths = [write(tmp_path / "deixis_dev.src", source), write(tmp_path / "deixis_dev.dst", target)]
    examples = read_contrastive(paths, "voita")
    assert [example.targets for example in examples] == [("1", "2", "3"), ("2", "1"), ("5", "6")]
    assert [example.target_context for example in examples] == [("A",), ("B",), ("C",)]
    assert {example.correct for example in examples} == {0}


def test_voita_text_whose_first_translation_cannot_always_be_right_is_refused(tmp_path: Path) -> None:
    source, target = "a _eos s\n" * 4, "A _eos 1\nA _eos 2\nB _eos 1\nB _eos 2\n"
    paths = [write(tmp_path / "lex.src", source), write(tmp_path / "lex.dst", target)]
    with pytest.raises(CorpusError, match=r"lex.dst:3: the first translation is not always the right one.*JSON file"):
        read_contrastive(paths, "voita")


@pytest.mark.parametrize(
    ("format", "content", "reason"),
    [
        ("discevalmt", '{\n"1": [', ":2: not JSON"),
        ("discevalmt", "[]", ": not an object of numbered groups: got list"),
        (
            "discevalmt",
            '{"1": {"src": ["a", "b"], "trg": [{"type": "x"}]}}',
            ": missing key: 'semi-correct' in group 1",
        ),
        ("discevalmt", "{}", ": no examples"),
        ("contrapro", "{}", ": not a list of examples: got dict"),
        ("contrapro", '[{"src pronoun": "it"}]', ": missing key: 'ref pronoun' in entry 1"),
        ("contrapro", '["x"]', ": bad example: entry 1: "),
        ("voita", '[{"src": "a _eos b", "dst": ["A _eos B", "B"], "true_ind": 0}]', ": bad example: group 1: 2 source"),
        ("voita", '[{"src": 3, "dst": ["A", "B"], "true_ind": 0}]', ": bad example: group 1: not a text: 3"),
        ("voita", '[{"src": "a", "dst": ["A", "B"], "true_ind": 2}]', ": bad example: group 1: correct is 2"),
    ],
)
def test_broken_json_is_named(tmp_path: Path, format: str, content: str, reason: str) -> None:
    path = write(tmp_path / "set.json", content)
    with pytest.raises(CorpusError) as caught:
        read_contrastive([path], format)
    assert str(caught.value).startswith(f"{path}{reason}")


def test_every_format_refuses_what_is_not_utf_8(tmp_path: Path) -> None:
    paths = [tmp_path / f"{index}.json" for index in range(2)]
    for path in paths:
        path.write_bytes(b"\xff\xfe\n")
    for format in ("json-lines", "discevalmt", "contrapro", "voita", "line-paired"):
        with pytest.raises(CorpusError, match=r"0.json:1: not UTF-8"):
            read_contrastive(paths, format, context_lines=0 if format == "line-paired" else None)


def test_what_was_read_can_be_written_in_our_own_form(tmp_path: Path) -> None:
    examples = read_contrastive([write(tmp_path / "anaphora.json", ANAPHORA)], "discevalmt")
    write_contrastive_set(tmp_path / "set.jsonl.gz", examples)
    assert read_contrastive([tmp_path / "set.jsonl.gz"], "json-lines") == examples


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"format must be one of json-lines, .*; got 'xml'"):
        read_contrastive([tmp_path / "set.xml"], "xml")
