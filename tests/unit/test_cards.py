# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The cards in the repository: generated, valid for the Hub, and their programs run."""

import json
import re
from pathlib import Path

import pytest
from fresh_processes import environment, python_without_package, run
from huggingface_hub import ModelCard, ModelCardData
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results
from transformers import pipeline

from hier_nmt.publishing.card_contents import CardTexts
from hier_nmt.publishing.hub import write_repository
from hier_nmt.publishing.model_card import model_card

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "model_cards"
NAMES = sorted(path.stem for path in CARDS.glob("*.yaml"))
SHIPPED = "hier-nmt-en-fr"
CHECKPOINT = ROOT / "checkpoints" / SHIPPED
SECTIONS = (
    "Use", "Intended use", "Limits", "Training data and its terms", "Network", "Training", "Results",
    "What the context is worth", "Citation",
)  # fmt: skip
# Libraries that come with hier_nmt, and not with Transformers.
OF_THE_PACKAGE = (
    "accelerate", "datasets", "evaluate", "hypothesis", "lxml", "markdown_it", "pandas", "pyarrow", "sacrebleu",
    "sentencex",
)  # fmt: skip
every_card = pytest.mark.parametrize("name", NAMES)


def written(name: str) -> str:
    return (CARDS / f"{name}.md").read_text(encoding="utf-8")


def programs(name: str) -> list[str]:
    """The two programs of a card: with the package and without."""
    return re.findall(r"```python\n(.*?)```", written(name), re.DOTALL)


def model_path(name: str) -> str:
    return CardTexts.load(CARDS / f"{name}.yaml").model_path


def path_with_code(name: str) -> str:
    return CardTexts.load(CARDS / f"{name}.yaml").path_with_code or model_path(name)


def test_every_recipe_with_results_has_a_card() -> None:
    recipes = {CardTexts.load(CARDS / f"{name}.yaml").recipe for name in NAMES}
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    named = set(re.findall(r"training/recipes/en-fr/[\w-]+\.yaml", results))
    assert named
    assert named | {"training/recipes/en-fr/europarl-sentence.yaml"} <= recipes


@every_card
def test_the_card_is_what_is_generated(name: str) -> None:
    texts = CardTexts.load(CARDS / f"{name}.yaml")
    card = model_card(CHECKPOINT if name == SHIPPED else None, texts, [], CARDS / "template.md", recipes=ROOT)
    assert str(card) == written(name), f"run hier-nmt card model_cards/{name}.yaml --output model_cards/{name}.md"
    if name == SHIPPED:
        assert (CHECKPOINT / "README.md").read_text(encoding="utf-8") == written(name)


@every_card
def test_the_metadata_comes_back_from_the_hubs_own_reader(name: str) -> None:
    data = ModelCard(written(name)).data
    assert (data.language, data.library_name, data.pipeline_tag) == (["en", "fr"], "transformers", "translation")
    assert data.license == "apache-2.0"
    assert data.datasets
    assert "document-level-translation" in data.tags
    values = data.to_dict()
    assert ModelCardData(**values).to_dict() == values
    index = eval_results_to_model_index(data.model_name, data.eval_results)
    again, results = model_index_to_eval_results(index)
    assert (again, results) == (data.model_name, data.eval_results)
    assert {result.metric_type for result in results} == set(data.metrics)
    assert data.model_name in written(name)


@every_card
def test_every_section_of_the_card_has_content(name: str) -> None:
    parts = re.split(r"^## (.+)$", written(name), flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(SECTIONS) <= set(texts)
    assert all(text.strip() for text in texts.values())
    for row in ("recipe", "seed", "steps", "hardware", "hours of training steps", "energy"):
        assert re.search(rf"^\| {row} \| .+ \|$", texts["Training"], re.MULTILINE), row
    assert "None" not in written(name)


@every_card
def test_every_result_of_a_card_has_its_signature(name: str) -> None:
    texts = CardTexts.load(CARDS / f"{name}.yaml")
    assert texts.results or texts.accuracies
    for row in texts.results:
        assert {"BLEU", "chrF"} & row.keys() <= texts.signatures.keys()
    assert all(row["signature"].startswith(("contrastive|n:", "generative|n:")) for row in texts.accuracies)


def test_the_results_of_the_cards_are_those_of_the_results_page() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for line in written(SHIPPED).splitlines():
        if re.match(r"\| (hier-nmt-en-fr|sentence-level|DiscEvalMT|Europarl|controlled)", line):
            assert line in page


def different_programs(number: int, checkpoint: Path) -> list[str]:
    """The programs of all cards, the model's place replaced; those that are then the same once."""
    path = (model_path, path_with_code)[number]
    return list(dict.fromkeys(programs(name)[number].replace(path(name), str(checkpoint)) for name in NAMES))


def test_the_programs_of_the_cards_run_with_the_package(capsys) -> None:
    assert all(len(programs(name)) == 2 and model_path(name) in programs(name)[0] for name in NAMES)
    for program in different_programs(0, CHECKPOINT):
        exec(compile(program, "card", "exec"), {})
        assert len(capsys.readouterr().out.split()) > 5


@pytest.mark.slow
def test_the_programs_of_the_cards_run_with_a_folder_of_weights_and_code_and_transformers_alone(tmp_path) -> None:
    python, folder = python_without_package(tmp_path / "bare", *OF_THE_PACKAGE), tmp_path / "model"
    write_repository(CHECKPOINT, folder, SHIPPED)
    variables = environment(tmp_path / "home", with_package=False)
    for name in OF_THE_PACKAGE:
        assert run([python, "-c", f"import {name}"], variables, tmp_path).returncode == 1, name
    translate = pipeline("translation", model=str(CHECKPOINT))
    expected = translate("The committee met on Monday. It will report in May.")[0]["translation_text"]
    for program in different_programs(1, folder):
        result = run([python, "-c", program], variables, tmp_path)
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines() == [expected]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("name: x", "needs the keys"),
        ("- a", "needs the keys"),
        ("a: [", "is not a YAML file"),
        ("{name: a, model_path: b, description: c, limits: d, licence: e}", "unknown key 'licence'; known are name"),
        ("{name: a, model_path: b, description: c, limits: d, citations: [me]}", "unknown citation 'me'"),
    ],
)
def test_texts_that_make_no_card_are_named(tmp_path, content: str, complaint: str) -> None:
    path = tmp_path / "card.yaml"
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"card.yaml.*{complaint}"):
        CardTexts.load(path)


def test_a_model_that_is_elsewhere_is_described_by_its_recipe(tmp_path) -> None:
    recipe = {
        "data": {"source_language": "de", "target_language": "en"},
        "training": {"seed": 7, "learning_rate": 1e-3},
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps({**recipe, "model": {"model_type": "rnn_nmt", "rnn_type": "gru"}}))
    rows = ({"model": "far", "corpus": "test", "decoding": "sentence", "BLEU": 12.5},)
    texts = CardTexts("far", "runs/far", "A model.", "Small.", recipe="recipe.yaml", results=rows)
    card = model_card(None, texts, [], CARDS / "template.md", recipes=tmp_path)
    for line in (
        "| recurrent layers | gru, encoder in both directions |",
        "| seed | 7 |",
        "| steps | unknown |",
        "| vocabulary | unknown |",
        "| energy | unknown |",
        "| started from | random weights |",
        "| far | test | sentence | unknown | 12.50 | unknown | unknown |",
        "- BLEU: `unknown`",
    ):
        assert line in card.text, line
    assert card.data.language == ["de", "en"]
    assert card.data.tags[-1] == "rnn_nmt"
    with pytest.raises(ValueError, match="far: without a checkpoint directory, the texts must name a recipe"):
        model_card(None, CardTexts("far", "x", "y", "z"), [], CARDS / "template.md")


def test_the_figure_of_the_shipped_card_lies_beside_it() -> None:
    assert "![Attention of hier-nmt-en-fr](attention.png)" in written(SHIPPED)
    assert (CARDS / "attention.png").read_bytes() == (CHECKPOINT / "attention.png").read_bytes()


def test_a_figure_of_attention_is_shown_where_there_is_one() -> None:
    texts = CardTexts("a", "b", "c", "d", attention_figure="attention.png")
    assert "![Attention of a](attention.png)" in model_card(CHECKPOINT, texts, [], CARDS / "template.md").text
    assert "## What the model looks at" not in written("tatoeba-rnn")
