import json
from pathlib import Path

import pytest

from hier_nmt import HANConfig, RNNNMTConfig
from hier_nmt.publishing.card_contents import CardTexts, Evaluation
from hier_nmt.publishing.model_card import model_card, results_table, write_model_card

TEMPLATE = Path(__file__).parents[3] / "model_cards" / "template.md"
TEXTS = CardTexts("tiny", "checkpoints/tiny", "A tiny model.", "It knows ten words.", datasets=("europarl",))
SCORES = {
    "settings": {"beams": 4},
    "reports": [
        {
            "label": "prefix",
            "scores": [
                {"name": "BLEU", "value": 21.345, "signature": "nrefs:1|case:mixed"},
                {"name": "docBLEU", "value": 23.0, "signature": "nrefs:1|case:mixed"},
            ],
            "num_documents": 2,
            "num_sentences": 17,
        }
    ],
}
CONTRASTIVE = {
    "reports": [
        {
            "label": "any",
            "kind": "contrastive",
            "signature": "contrastive|n:200",
            "accuracies": [
                {"group": "all", "num_examples": 200, "accuracy": 52.0, "low": 45.1, "high": 58.8}
                | {"num_undecided": 3, "chance": 50.0},
                {"group": "il", "num_examples": 9, "accuracy": 1.0, "low": 0.0, "high": 2.0, "num_undecided": 0},
            ],
        }
    ]
}
SUMMARY = {
    "recipe": {"training": {"context_discount": 0.01, "bf16": True, "init_from": "runs/sentence"}},
    "data": {"train": {"num_documents": 3, "num_sentences": 1200, "num_windows": 1200}},
    "num_parameters": 7300000,
    "steps": 9000,
    "num_target_tokens": 36000000,
    "train_seconds": 7200.0,
    "hardware": {"device": "cpu", "num_cpus": 2},
    "seed": 1,
    "versions": {"torch": "2.13.0"},
}


@pytest.fixture
def checkpoint(tmp_path):
    config = {"source_language": "en", "target_language": "fr", "window_sentences": 4, "d_model": 256}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_card_states_data_steps_hardware_seed_and_signed_scores(checkpoint):
    (checkpoint / "training_summary.json").write_text(json.dumps(SUMMARY))
    card = model_card(checkpoint, TEXTS, [Evaluation("tiny", "dev", SCORES)], TEMPLATE)
    for line in (
        "| sentence pairs | 1,200 |",
        "| started from | the weights of sentence |",
        "| steps | 9,000 |",
        "| hours of training steps | 2.00 |",
        "| hardware | 2 CPU cores |",
        "| seed | 1 |",
        "| tiny | dev | prefix | 4 | 21.34 | 23.00 | 17 | 2 |",
        "- BLEU: `nrefs:1|case:mixed`",
    ):
        assert line in card.text
    assert card.data.pipeline_tag == "translation"
    assert card.data.language == ["en", "fr"]


def test_card_states_accuracies_on_contrastive_sets_with_intervals(checkpoint):
    evaluations = [Evaluation("tiny", "dev", SCORES), Evaluation("tiny", "anaphora", CONTRASTIVE)]
    text = model_card(checkpoint, TEXTS, evaluations, TEMPLATE).text
    assert "| anaphora | tiny | contrastive | 52.0 | 45.1 to 58.8 | 50.0 | 3 | 200 |" in text
    assert "- anaphora, tiny: `contrastive|n:200`" in text
    assert "| tiny | dev | prefix |" in text
    assert "contrastive sets: unknown" in model_card(checkpoint, TEXTS, evaluations[:1], TEMPLATE).text


def test_card_of_a_recurrent_model_states_what_it_is_made_of(checkpoint):
    config = RNNNMTConfig(vocab_size=4000, embedding_size=256, hidden_size=512, rnn_type="gru", input_feeding=True)
    config.save_pretrained(checkpoint)
    text = model_card(checkpoint, TEXTS, [], TEMPLATE).text
    for line in (
        "| width | 512, embeddings 256 |",
        "| recurrent layers | gru, encoder in both directions |",
        "| attention | additive, input feeding |",
        "| vocabulary | 4,000 |",
    ):
        assert line in text
    assert "positions" not in text


def test_card_of_a_han_states_what_it_is_made_of(checkpoint):
    sizes = {"d_model": 256, "encoder_ffn_dim": 1024, "summary_kernel_size": 7, "encoder_self_attention": "big_bird"}
    HANConfig(vocab_size=4000, **sizes).save_pretrained(checkpoint)
    text = model_card(checkpoint, TEXTS, [], TEMPLATE).text
    for line in (
        "| width | 256, feed-forward 1024 |",
        "| summaries | of 7 tokens, half of them apart |",
        "| attention | encoder big_bird, decoder document, beside the summaries |",
        "| words | chosen by softmax |",
        "| window | whole document |",
    ):
        assert line in text
    separate = {"share_encoder_decoder_embeddings": False, "word_vector_size": 300}
    HANConfig(vocab_size=4000, **separate).save_pretrained(checkpoint)
    text = model_card(checkpoint, TEXTS, [], TEMPLATE).text
    assert "| words | predicted as frozen word vectors of width 300 |" in text


def test_card_distinguishes_scores_of_translations_and_of_teacher_forcing(checkpoint):
    free = Evaluation("tiny", "dev", SCORES)
    text = model_card(checkpoint, TEXTS, [free], TEMPLATE).text
    assert "BLEU, chrF and TER are those of free-running translations" in text
    assert "Scores under teacher forcing: unknown." in text
    score = {"name": "teacher-forced BLEU", "value": 61.5, "signature": "nrefs:1|teacher-forced"}
    report = {"label": "teacher-forced", "scores": [score], "num_documents": 2, "num_sentences": 17}
    both = Evaluation("tiny", "dev", {**SCORES, "reports": [*SCORES["reports"], report]})
    text = model_card(checkpoint, TEXTS, [both], TEMPLATE).text
    assert "Scores named teacher-forced are not those of translations" in text
    assert "| model | corpus | decoding | beams | BLEU | docBLEU | teacher-forced BLEU |" in text
    assert "| tiny | dev | teacher-forced | 4 |  |  | 61.50 | 17 | 2 |" in text
    assert "teacher forcing: unknown" not in text


def test_what_is_unknown_is_written_as_unknown(checkpoint):
    card = model_card(checkpoint, TEXTS, [], TEMPLATE)
    for line in ("| steps | unknown |", "| started from | unknown |", "| hardware | unknown |", "Results: unknown."):
        assert line in card.text


def test_card_is_written_where_asked(checkpoint):
    write_model_card(model_card(checkpoint, TEXTS, [], TEMPLATE), checkpoint / "README.md")
    assert (checkpoint / "README.md").read_text().startswith("---\n")


def test_table_leaves_a_score_empty_where_it_was_not_computed():
    other = {"reports": [{**SCORES["reports"][0], "label": "sentence", "scores": SCORES["reports"][0]["scores"][:1]}]}
    table = results_table([Evaluation("tiny", "dev", SCORES), Evaluation("base", "dev", other)])
    assert "| base | dev | sentence | unknown | 21.34 |  | 17 | 2 |" in table


@pytest.mark.parametrize(("argument", "complaint"), [("tiny:dev", "MODEL:CORPUS:PATH"), ("a:b:/nowhere", "/nowhere")])
def test_bad_evaluations_are_named(argument, complaint):
    with pytest.raises(ValueError, match=complaint):
        Evaluation.load(argument)


def test_file_without_reports_is_named(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match="the key 'reports' is missing"):
        Evaluation.load(f"a:b:{path}")
