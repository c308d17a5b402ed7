# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch
from tiny_models import tiny_config
from transformers import MarianConfig

from hier_nmt.attention.positions import (
    POSITION_ENCODING_CLASSES,
    MultiLevelPositions,
    PositionTable,
    SegmentShiftedPositions,
    SequentialPositions,
    sinusoidal_encoding,
)
from hier_nmt.configuration.position_limits import position_limits
from hier_nmt.ops.document_structure import DocumentStructure


def structure(sentence_ids: list[int], paragraph_ids: list[int] | None = None) -> DocumentStructure:
    return DocumentStructure.from_ids(torch.tensor([sentence_ids]), torch.tensor([paragraph_ids or sentence_ids]))


def numbered_tables(encoding: MultiLevelPositions) -> None:
    """Fills the tables so that a sum names its summands: 1 per token row, 1000 per sentence, 1000000 per paragraph."""
    with torch.no_grad():
        for level, unit in (("token", 1.0), ("sentence", 1000.0), ("paragraph", 1000000.0)):
            if level in encoding.levels:
                table = encoding.levels[level].weight
                table.copy_(unit * torch.arange(len(table))[:, None].expand_as(table))


def test_sinusoids_are_sines_then_cosines_of_falling_frequency():
    encoding = sinusoidal_encoding(torch.tensor([[0, 1, 7]]), d_model=4)
    assert encoding.dtype == torch.float32
    # D = 4 has the two frequencies 1 and 1 / 10000 ** (1 / 2) = 0.01.
    expected = [
        [0.0, 0.0, 1.0, 1.0],
        [math.sin(1), math.sin(0.01), math.cos(1), math.cos(0.01)],
        [math.sin(7), math.sin(0.07), math.cos(7), math.cos(0.07)],
    ]
    torch.testing.assert_close(encoding, torch.tensor([expected]))


@pytest.mark.parametrize("d_model", [1, 5])
def test_an_odd_width_ends_in_a_zero(d_model):
    encoding = sinusoidal_encoding(torch.tensor([[3, 900]]), d_model)
    assert encoding.shape == (1, 2, d_model)
    assert encoding[..., -1].tolist() == [[0.0, 0.0]]
    torch.testing.assert_close(encoding[..., :-1], sinusoidal_encoding(torch.tensor([[3, 900]]), d_model - 1))


def test_sequential_positions_ignore_sentences():
    encoding = SequentialPositions(tiny_config())
    torch.testing.assert_close(encoding(structure([1, 1, 2, 3])), encoding(structure([1, 1, 1, 1])))
    torch.testing.assert_close(encoding(structure([1, 2, 2])), sinusoidal_encoding(torch.tensor([[0, 1, 2]]), 16))


def test_segment_shift_moves_every_sentence_but_the_first():
    encoding = SegmentShiftedPositions(tiny_config(position_encoding="segment_shifted", segment_shift=10))
    assert encoding.token_positions(structure([1, 1, 2, 2, 2, 3])).tolist() == [[0, 1, 12, 13, 14, 25]]
    assert encoding.token_positions(structure([0, 0, 1, 2])).tolist() == [[0, 0, 0, 11]]


def test_segment_shift_of_zero_equals_sequential():
    document = structure([1, 1, 2, 2, 3, 0])
    for kind in ("sinusoidal", "learned"):
        config = tiny_config(position_encoding="segment_shifted", segment_shift=0, position_embedding_type=kind)
        shifted, sequential = SegmentShiftedPositions(config), SequentialPositions(config)
        sequential.load_state_dict(shifted.state_dict())
        assert torch.equal(shifted(document), sequential(document))


def test_segment_embedding_is_added_per_sentence():
    document = structure([1, 1, 2, 3])
    plain = SequentialPositions(tiny_config())(document)
    sinusoidal = SequentialPositions(tiny_config(segment_embedding="sinusoidal"))(document)
    torch.testing.assert_close(sinusoidal - plain, sinusoidal_encoding(torch.tensor([[0, 0, 1, 2]]), 16))
    learned = SequentialPositions(tiny_config(segment_embedding="learned"))
    torch.testing.assert_close(learned(document) - plain, learned.segments.weight[torch.tensor([[0, 0, 1, 2]])])


def test_multi_level_sums_token_sentence_and_paragraph():
    config = tiny_config(position_encoding="multi_level", max_position_embeddings=200)
    encoding = MultiLevelPositions(config)
    numbered_tables(encoding)
    # 136 tokens before and in the fifth sentence, third paragraph (4 and 2, counted from 0): PE(135, 4, 2) is last.
    sentence_ids = [1] * 40 + [2] * 40 + [3] * 30 + [4] * 20 + [5] * 6
    paragraph_ids = [1] * 80 + [2] * 50 + [3] * 6
    sums = encoding(structure(sentence_ids, paragraph_ids))[0, :, 0]
    assert sums[135].item() == 2_004_135
    assert sums[0].item() == 0
    assert sums[40].item() == 1_040
    assert sums[80].item() == 1_002_080


def test_multi_level_token_positions_can_restart_in_each_sentence():
    config = tiny_config(position_encoding="multi_level", token_position_origin="sentence")
    encoding = MultiLevelPositions(config)
    numbered_tables(encoding)
    sums = encoding(structure([1, 1, 2, 2, 2, 3], [1, 1, 1, 1, 1, 2]))[0, :, 0]
    assert sums.tolist() == [0, 1, 1_000, 1_001, 1_002, 1_002_000]


def test_multi_level_has_a_table_for_each_configured_level_only():
    encoding = MultiLevelPositions(
        tiny_config(position_encoding="multi_level", structure_levels=["token", "paragraph"])
    )
    numbered_tables(encoding)
    assert set(encoding.state_dict()) == {"levels.token.weight", "levels.paragraph.weight"}
    assert encoding(structure([1, 2, 3], [1, 1, 2]))[0, :, 0].tolist() == [0, 1, 1_000_002]


@pytest.mark.parametrize(
    ("changes", "sentence_ids", "message"),
    [
        (
            {"position_embedding_type": "learned", "max_position_embeddings": 3},
            [1, 1, 1, 1],
            "token position 3 .* 3 pos",
        ),
        (
            {
                "position_encoding": "segment_shifted",
                "segment_shift": 4,
                "position_embedding_type": "learned",
                "max_position_embeddings": 6,
            },
            [1, 1, 2],
            "token position 6 .* 6 positions",
        ),
        (
            {"segment_embedding": "learned", "max_sentence_positions": 2},
            [1, 2, 3],
            "sentence position 2 .* 2 positions",
        ),
        (
            {"position_encoding": "multi_level", "max_paragraph_positions": 1},
            [1, 2, 2],
            "paragraph position 1 .* 1 positions",
        ),
        (
            {"position_encoding": "multi_level", "max_position_embeddings": 2},
            [1, 2, 2],
            "token position 2 .* 2 positions",
        ),
    ],
    ids=["token", "shifted", "segment", "paragraph", "multi-level token"],
)
def test_beyond_a_learned_table_is_an_error_naming_level_position_and_size(changes, sentence_ids, message):
    config = tiny_config(**changes)
    encoding = POSITION_ENCODING_CLASSES[config.position_encoding](config)
    encoding(structure(sentence_ids[:-2]))
    with pytest.raises(ValueError, match=message):
        encoding(structure(sentence_ids))


@pytest.mark.parametrize("changes", [{"position_encoding": "multi_level"}, {"segment_embedding": "learned"}])
def test_sentences_beyond_the_table_share_its_last_position_when_asked(changes):
    config = tiny_config(**changes, max_sentence_positions=2, max_paragraph_positions=2, sentence_position_clamp=True)
    encoding = POSITION_ENCODING_CLASSES[config.position_encoding](config)
    third, second = encoding(structure([1, 2, 3])), encoding(structure([1, 2, 2]))
    torch.testing.assert_close(third, second)
    tokens = tiny_config(position_encoding="multi_level", max_position_embeddings=2, sentence_position_clamp=True)
    with pytest.raises(ValueError, match="token position 2"):
        POSITION_ENCODING_CLASSES["multi_level"](tokens)(structure([1, 2, 3]))


def test_a_table_accepts_its_last_position_and_no_positions():
    table = PositionTable("token", 4, 6)
    assert table(torch.tensor([[3]])).shape == (1, 1, 6)
    assert table(torch.zeros(1, 0, dtype=torch.long)).shape == (1, 0, 6)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"segment_embedding": "sinusoidal"}, True),
        ({"position_encoding": "segment_shifted", "segment_shift": 0}, False),
        ({"position_encoding": "segment_shifted", "segment_shift": 1}, True),
        ({"position_encoding": "multi_level"}, True),
        ({"position_encoding": "multi_level", "structure_levels": ["token"]}, False),
        (
            {"position_encoding": "multi_level", "structure_levels": ["token"], "token_position_origin": "sentence"},
            True,
        ),
        ({"decoder_self_attention": "sentence"}, True),
        ({"cross_attention": "sentence"}, True),
        ({"encoder_self_attention": "sentence"}, False),
    ],
)
def test_config_knows_whether_the_target_side_reads_sentences(changes, expected):
    assert tiny_config(**changes).reads_sentences is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (None, None, None)),
        ({"segment_embedding": "sinusoidal"}, (None, None, None)),
        ({"segment_embedding": "learned"}, (None, 32, None)),
        ({"segment_embedding": "learned", "sentence_position_clamp": True}, (None, None, None)),
        ({"position_encoding": "multi_level"}, (None, 32, 31)),
        ({"position_encoding": "multi_level", "sentence_position_clamp": True}, (None, None, None)),
        ({"position_encoding": "multi_level", "token_position_origin": "sentence"}, (64, 32, 31)),
        (
            {
                "position_encoding": "multi_level",
                "token_position_origin": "sentence",
                "structure_levels": ["token", "paragraph"],
                "sentence_position_clamp": True,
            },
            (64, None, None),
        ),
    ],
)
def test_limits_are_those_of_the_learned_tables_that_have_an_end(changes, expected):
    assert position_limits(tiny_config(**changes, max_paragraph_positions=31)) == expected


def test_of_another_model_family_no_limits_are_known():
    assert position_limits(MarianConfig()) == (None, None, None)
