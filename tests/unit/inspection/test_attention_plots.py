# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import logging
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from hier_nmt.inspection import attention_plots, labels
from hier_nmt.inspection.attention_figures import KINDS, View, default_slot, draw
from hier_nmt.inspection.attention_page import page, page_data, write_attention_page
from hier_nmt.inspection.attention_plots import (
    plot_pooling,
    plot_selected_sentences,
    plot_sentence_map,
    plot_token_map,
)
from hier_nmt.inspection.attention_records import (
    AttentionRecord,
    SlotRecord,
    TokenRow,
    TreeRecord,
    choose,
    load_record,
    save_record,
)
from hier_nmt.inspection.tree_plots import (
    Node,
    find_token,
    find_walk,
    node_positions,
    plot_tree_walk,
    scored_nodes,
)

SOURCE = ("▁The", "▁tru", "nk", "▁.", "<sep>", "▁It", "<par>", "▁你好", "</s>")
TARGET = ("▁La", "<sep>", "▁Il", "<par>", "▁<b>&", "</s>")
SOURCE_IDS, TARGET_IDS = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 2, 2])
# Leaf 2 is its own parent and, as the document has three sentences, the tree has the levels 3, 2, 1.
NAN = float("nan")


def weights(*shape: int) -> np.ndarray:
    values = np.random.default_rng(0).random(shape).astype(np.float32)
    return values / values.sum(-1, keepdims=True)


def tree() -> TreeRecord:
    """One walk of one layer and head: the root 1, its children 3 (kept) and 2, and the leaves 7 (kept) and 4."""
    cumulative = np.array([7, 4, NAN, 3, 2, 1], np.float32)
    relevance = np.array([4, 1, NAN, 2, 1, 1], np.float32)
    kept = np.array([True, False, False, True, False, True])
    return TreeRecord(0, (3, 2, 1), np.array([5]), *(one[None, None, None] for one in (relevance, cumulative, kept)))


def record() -> AttentionRecord:
    sides = {
        "source": TokenRow(SOURCE, SOURCE_IDS),
        "target": TokenRow(TARGET, TARGET_IDS),
        "prefix": TokenRow(("<s>", *TARGET[:-1]), np.array([0, 0, 0, 1, 1, 2])),
    }
    selected = np.tile(np.array([0, 2], np.int32), (1, 1, 9, 1))
    selected[..., :5, 1] = -1
    scores = np.where(selected < 0, -np.inf, 0.5).astype(np.float32)
    slots = {
        "cross": SlotRecord(weights(2, 2, 3, 3), weights(2, 2, 6, 9)),
        "encoder": SlotRecord(weights(1, 1, 3, 3), weights(1, 1, 9, 9), selected, scores, (tree(),)),
        "decoder_context": SlotRecord(weights(2, 2, 3, 3)),
    }
    return AttentionRecord("a <title>", sides, slots, {"encoder": weights(1, 1, 9)})


def long_record(num_sentences: int = 1000) -> AttentionRecord:
    """A document of sentences of two tokens, of which only the weights between sentences are known."""
    side = TokenRow(("▁a", "<sep>") * num_sentences, np.repeat(np.arange(num_sentences), 2))
    selected = np.repeat(np.arange(num_sentences, dtype=np.int32), 2)[None, None, :, None]
    band = np.eye(num_sentences, dtype=np.float32)[None, None]
    slot = SlotRecord(band, None, selected, np.zeros(selected.shape, np.float32))
    return AttentionRecord("long", {"source": side, "target": side, "prefix": side}, {"cross": slot, "encoder": slot})


def texts(figure) -> list[str]:
    """All texts of a figure."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


@pytest.fixture
def figures(monkeypatch) -> list:
    """Collects the figures instead of writing them."""
    kept: list = []
    for module in ("attention_plots", "tree_plots"):
        monkeypatch.setattr(f"hier_nmt.inspection.{module}.save_figure", lambda figure, path: kept.append(figure))
    return kept


def test_a_record_is_read_as_it_was_written(tmp_path) -> None:
    before = record()
    save_record(tmp_path / "new" / "a.npz", before)
    after = load_record(tmp_path / "new" / "a.npz")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.npz"]
    assert after.title == before.title
    assert {name: side.tokens for name, side in after.sides.items()} == {
        name: side.tokens for name, side in before.sides.items()
    }
    for name, slot in before.slots.items():
        for part in ("sentence_weights", "token_weights", "selected", "scores"):
            expected, found = getattr(slot, part), getattr(after.slots[name], part)
            assert (expected is None) == (found is None)
            if expected is not None:
                np.testing.assert_array_equal(found, expected)
    (walk,) = after.slots["encoder"].trees
    assert (walk.first_sentence, walk.level_sizes, walk.queries.tolist()) == (0, (3, 2, 1), [5])
    np.testing.assert_array_equal(walk.cumulative, tree().cumulative)
    np.testing.assert_array_equal(after.poolings["encoder"], before.poolings["encoder"])


def test_a_file_that_is_not_a_record_is_named(tmp_path) -> None:
    (tmp_path / "a.npz").write_text("nothing")
    np.savez(tmp_path / "b.npz", x=np.zeros(1))
    for name in ("a.npz", "b.npz"):
        with pytest.raises(ValueError, match=rf"{name} is not an attention record"):
            load_record(tmp_path / name)


def test_the_mean_is_over_all_that_is_not_chosen() -> None:
    values = np.arange(12.0).reshape(2, 3, 2)
    assert choose(values, 1, 2).tolist() == [10.0, 11.0]
    assert choose(values, 1, None).tolist() == [8.0, 9.0]
    assert choose(values, None, 0).tolist() == [3.0, 4.0]
    assert choose(values, None, None).tolist() == [5.0, 6.0]
    with pytest.raises(ValueError, match="no layer 3: the slot has 2"):
        choose(values, 2, None)
    with pytest.raises(ValueError, match="no head 4: the slot has 3"):
        choose(values, None, 3)


def test_labels_show_where_words_continue() -> None:
    assert labels.word_labels(SOURCE[:5]) == ["The", "tru", "·nk", ".", "<sep>"]
    assert labels.word_labels(["▁", "zoo", "▁你", "好", "\n"]) == ["␣", "·zoo", "你", "好", "\\n"]
    assert labels.word_labels(["the", "nk"]) == ["the", "nk"]


def test_pieces_know_their_word() -> None:
    pieces = labels.word_labels(["▁tru", "n", "k", "▁", "zoo", "▁.", "<sep>", "Ab", "▁b"])
    words = ["trunk", "trunk", "trunk", "zoo", "zoo", ".", "<sep>", "·Ab", "b"]
    assert labels.whole_words(pieces) == words
    assert labels.whole_words([]) == []


def test_a_token_is_found_by_its_word_before_its_piece() -> None:
    side = TokenRow(("▁fan", "<sep>", "▁f", "an", "▁an"), np.array([0, 0, 1, 1, 1]))
    one = AttentionRecord("", {"source": side}, {"encoder": SlotRecord(weights(1, 1, 2, 2))})
    assert find_token(one, "encoder", "fan") == 0
    assert find_token(one, "encoder", "fan", [1]) == 2
    assert find_token(one, "encoder", "an") == 4
    assert find_token(one, "encoder", "·an") == 3
    assert find_token(one, "encoder", None, [1]) == 2
    with pytest.raises(ValueError, match="no word 'tan' among f ·an an"):
        find_token(one, "encoder", "tan", [1])


def test_the_slot_that_is_shown_by_default_has_what_is_shown() -> None:
    assert [default_slot(record(), kind) for kind in KINDS] == ["cross", "cross", "cross", *["encoder"] * 3]
    dense = AttentionRecord("", record().sides, {"cross": record().slots["cross"]})
    assert {default_slot(dense, kind) for kind in KINDS} == {"cross"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written(tmp_path, kind) -> None:
    path = tmp_path / ("a.html" if kind == "page" else "a.svg")
    view = View(
        default_slot(record(), kind), 0, 0, None if kind == "page" else [1, 2], "It" if kind == "tree" else None
    )
    draw(path, record(), kind, view)
    assert path.stat().st_size > 1000


def test_long_labels_are_shortened_by_display_width() -> None:
    assert labels.shorten("translation", 11) == "translation"
    assert labels.shorten("translation", 8) == "transla…"
    # Chinese characters have width 2.
    assert labels.display_width("你好a") == 5
    assert labels.shorten("你好你好", 6) == "你好…"


def test_letters_that_no_font_has_are_escaped_and_reported_once(monkeypatch, caplog) -> None:
    monkeypatch.setattr(labels, "_fonts", lambda: [])
    labels._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert labels.Lettering(["你好 abc"]).label("你好", 16) == "\\u4f60\\u597d"
        assert labels.Lettering(["你好你好"]).label("你好你好", 16) == "\\u4f60\\u597d…"
    assert len(caplog.records) == 1
    assert labels.Lettering(["abc"]).label("abc", 16) == "abc"


def test_a_font_that_has_the_letters_is_found(monkeypatch) -> None:
    monkeypatch.setattr(labels, "_fonts", lambda: [("Latin", frozenset("abc")), ("Chinese", frozenset("你好"))])
    lettering = labels.Lettering(["你好"])
    assert lettering.families == ["DejaVu Sans", "Chinese"]
    assert lettering.label("你好", 16) == "你好"


def test_a_file_that_is_not_a_font_is_named(tmp_path) -> None:
    (tmp_path / "a.ttf").write_text("nothing")
    with pytest.raises(ValueError, match=r"a.ttf is not a font"):
        labels.add_font(tmp_path / "a.ttf")


def test_a_token_map_has_labels_numbers_and_lines_between_sentences(figures) -> None:
    plot_token_map("x.png", record(), "cross", 1, 0)
    axes = figures[0].axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), record().slots["cross"].token_weights[1, 0])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["La", "<sep>", "Il", "<par>", "<b>&", "</s>"]
    assert [label.get_text() for label in axes.get_xticklabels()][:4] == ["The", "tru", "·nk", "."]
    lines = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines()]
    # Between sentences 1 and 2 and between 2 and 3 of the target (rows) and of the source (columns).
    assert sorted(y for x, y in lines if x == 0) == [1.5, 3.5]
    assert sorted(x for x, y in lines if y == 0) == [4.5, 6.5]
    assert "layer 2 of 2, head 1 of 2" in " ".join(texts(figures[0]))


def test_only_what_the_chosen_sentences_read_is_shown(figures) -> None:
    one = record()
    one.slots["cross"].token_weights[:, :, 2:4, 5:7] = 0
    plot_token_map("x.png", one, "cross", None, None, [1])
    shown = figures[0].axes[0].images[0].get_array()
    kept = [0, 1, 2, 3, 4, 7, 8]
    np.testing.assert_allclose(shown, one.slots["cross"].token_weights.mean((0, 1))[2:4][:, kept], rtol=1e-5)


@pytest.mark.parametrize("plot", [plot_token_map, plot_sentence_map])
def test_a_document_of_1000_sentences_is_shown_by_sentences(figures, plot) -> None:
    plot("x.png", long_record(), "cross")
    axes = figures[0].axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), np.eye(1000))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", *map(str, range(100, 1001, 100))]


def test_more_tokens_than_can_be_labelled_are_shown_by_sentences(figures, monkeypatch) -> None:
    monkeypatch.setattr(attention_plots, "MAX_TOKENS", 5)
    plot_token_map("x.png", record(), "cross")
    np.testing.assert_allclose(
        figures[0].axes[0].images[0].get_array(), record().slots["cross"].sentence_weights.mean((0, 1))
    )


def test_a_sentence_map_of_few_sentences_has_their_texts_and_the_shares(figures) -> None:
    plot_sentence_map("x.png", record(), "decoder_context", 0, 1)
    written = texts(figures[0])
    assert "1  La" in written
    assert "1  The trunk ." in written
    share = record().slots["decoder_context"].sentence_weights[0, 1, 2, 0]
    assert f"{100 * share:.0f}" in written


def test_selected_sentences_are_those_of_the_record(figures) -> None:
    plot_selected_sentences("x.png", record(), "encoder")
    shown = figures[0].axes[0].images[0].get_array().filled(0)
    # The tokens of the first sentence select it alone, all others the first and the third.
    expected = np.tile([1.0, 0.0, 1.0], (9, 1))
    expected[:5, 2] = 0
    np.testing.assert_array_equal(shown, expected)
    plot_selected_sentences("x.png", record(), "encoder", 0, 0)
    np.testing.assert_array_equal(figures[1].axes[0].images[0].get_array().filled(0), 0.5 * expected)
    plot_selected_sentences("x.png", long_record(), "encoder")
    np.testing.assert_array_equal(figures[2].axes[0].images[0].get_array(), np.eye(1000))
    plot_selected_sentences("x.png", long_record(), "encoder", None, None, [7])
    np.testing.assert_array_equal(figures[3].axes[0].images[0].get_array(), np.ones((2, 1)))


def test_frames_of_the_decoder_are_around_the_sentence_that_what_writes_is_in(figures) -> None:
    selected = np.zeros((1, 1, 6, 1), np.int32)
    slot = SlotRecord(weights(1, 1, 3, 3), None, selected, np.ones(selected.shape, np.float32))
    one = AttentionRecord("", record().sides, {"decoder": slot})
    plot_selected_sentences("x.png", one, "decoder", None, None, [1])
    frames = [line for line in figures[0].axes[0].get_lines() if len(line.get_xdata()) == 5]
    # "Il" is predicted by the token that closes the first sentence, "<par>" by a token of the second.
    corners = [(min(f.get_xdata()), min(f.get_ydata()), max(f.get_ydata())) for f in frames]
    assert corners == [(-0.5, -0.5, 0.5), (0.5, 0.5, 1.5)]


def test_pooled_sentences_show_all_their_tokens(figures) -> None:
    plot_pooling("x.png", record(), "encoder", 0, [0, 1])
    written = texts(figures[0])
    assert [word for word in written if word in ("The", "tru", "·nk", "It", "你好")] == ["The", "tru", "·nk", "It"]


def test_a_walk_has_the_nodes_that_were_scored_with_both_scores(figures) -> None:
    nodes = scored_nodes(*find_walk(record(), "encoder", 5)[:1], 0, 0, 0)
    assert nodes == [
        Node(2, 0, 1.0, 1.0, True),
        Node(1, 0, 2.0, 3.0, True),
        Node(1, 1, 1.0, 2.0, False),
        Node(0, 0, 4.0, 7.0, True),
        Node(0, 1, 1.0, 4.0, False),
    ]
    plot_tree_walk("x.png", record(), "encoder", 5)
    written = texts(figures[0])
    assert {"7.00\n(+4.00)", "3.00\n(+2.00)", "2.00\n(+1.00)", "1–2", "3"} <= set(written)
    assert "1\nThe trunk ." in written


def test_nodes_are_above_their_children_and_apart() -> None:
    nodes = [Node(level, number, 0.0, 0.0, True) for level, number in [(2, 0), (1, 0), (1, 1), (0, 0), (0, 1)]]
    places = node_positions(nodes)
    assert places[1, 0] == (places[0, 0] + places[0, 1]) / 2
    assert places[0, 1] - places[0, 0] == 1
    assert places[1, 1] - places[1, 0] == 1
    assert places[2, 0] == (places[1, 0] + places[1, 1]) / 2


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_are_written_in_the_form_that_their_ending_names(tmp_path, ending) -> None:
    path = tmp_path / "new" / f"a.{ending}"
    plot_token_map(path, record())
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_the_page_needs_no_network_and_holds_what_was_recorded(tmp_path) -> None:
    write_attention_page(tmp_path / "a.html", record())
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|src=|@import|url\(|<link", text)
    assert "<title>a &lt;title&gt;</title>" in text
    content = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert "<" not in content
    data = json.loads(content)
    assert [token["text"] for token in data["sides"]["target"]["tokens"]] == [
        "La",
        "<sep>",
        "Il",
        "<par>",
        "<b>&",
        "</s>",
    ]
    continues_word = [token["continues_word"] for token in data["sides"]["source"]["tokens"]]
    assert continues_word == [token == "nk" for token in SOURCE]
    packed = data["slots"]["cross"]["token_weights"]
    assert packed["shape"] == [2, 2, 6, 9]
    values = np.frombuffer(base64.b64decode(packed["base64"]), "<u2").reshape(packed["shape"]) / packed["scale"]
    np.testing.assert_allclose(values, record().slots["cross"].token_weights, atol=1 / 65535)
    (walk,) = data["slots"]["encoder"]["trees"]
    cumulative = np.frombuffer(base64.b64decode(walk["cumulative"]["base64"]), "<f4")
    np.testing.assert_array_equal(cumulative, tree().cumulative.ravel())


def test_a_page_of_too_many_weights_has_means_then_sentences_alone(monkeypatch) -> None:
    slot = record().slots["cross"]
    # 2 layers and 2 heads of 6 x 9 weights of tokens and 3 x 3 of sentences.
    for largest, tokens, sentences in ((216, [2, 2, 6, 9], [2, 2, 3, 3]), (108, [2, 1, 6, 9], [2, 1, 3, 3]),
                                       (54, [1, 1, 6, 9], [1, 1, 3, 3]), (53, None, [2, 2, 3, 3]),
                                       (8, None, [1, 1, 3, 3])):  # fmt: skip
        monkeypatch.setattr("hier_nmt.inspection.attention_page.MAX_ARRAY_SIZE", largest)
        data = page_data(record())["slots"]["cross"]
        assert (data["token_weights"] and data["token_weights"]["shape"]) == tokens
        assert data["sentence_weights"]["shape"] == sentences
    packed = np.frombuffer(base64.b64decode(data["sentence_weights"]["base64"]), "<u2") / 65535
    np.testing.assert_allclose(packed, slot.sentence_weights.mean((0, 1)).ravel(), atol=1 / 65535)


def test_a_page_of_1000_sentences_stays_small() -> None:
    assert len(page(long_record())) < 8_000_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: plot_token_map(path / "a.png", record(), "nothing"), "slot 'nothing' was not recorded"),
        (lambda path: plot_token_map(path / "a.png", record(), "cross", 5), "no layer 6: the slot has 2"),
        (lambda path: plot_sentence_map(path / "a.png", record(), "cross", 0, 9), "no head 10"),
        (lambda path: plot_token_map(path / "a.png", record(), sentences=[7]), "no sentence 8: the document"),
        (lambda path: plot_token_map(path / "a.xyz", record()), "xyz"),
        (lambda path: plot_selected_sentences(path / "a.png", record(), "cross"), "slot 'cross' selects no sentences"),
        (lambda path: plot_pooling(path / "a.png", record(), "cross"), "slot 'cross' has no sentence encodings"),
        (lambda path: plot_tree_walk(path / "a.png", record(), "encoder", 1), "not that of token 1"),
        (lambda path: plot_tree_walk(path / "a.png", record(), "cross", 1), "the slot is not hierarchical"),
        (lambda path: plot_tree_walk(path / "a.png", record(), "encoder", 5, 3), "no layer 4"),
        (lambda path: write_attention_page(path / "a.png", record()), r"a.png does not end in .html"),
        (lambda path: TokenRow(("a",), np.zeros(2, int)), "1 tokens but 2 sentence_ids"),
    ],
)
def test_errors_name_the_value(tmp_path, call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call(tmp_path)
    assert list(tmp_path.iterdir()) == []
