# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What may be written while a term is forced, and what a replay tells."""

import pytest
import torch

from hier_nmt.translation.term_constraints import ForcedTerms, Forcing, Replay, ReplayedScores, TargetWords

# The words "le", "l'", "chat", "chats", "ami", "à", a comma, and the pieces that make them.
TOKENS = ["<pad>", "</s>", "▁le", "▁l'", "▁chat", "s", "▁ami", "ami", ",", "▁à"]
PAD, END, LE, L, CHAT, S, AMI, JOINED_AMI, COMMA, TO = range(len(TOKENS))
WORDS = TargetWords.of(TOKENS, ((LE,), (L,)), ((TO,),))
CATS = ((CHAT,), (CHAT, S))
BREAKS = {PAD, END, LE, L, CHAT, AMI, COMMA, TO}


def allowed(forcing: Forcing, *new_ids: int) -> set[int] | None:
    """The tokens that a row of the batch, behind a start token, still has a chance for."""
    scores = ForcedTerms([forcing], 1, WORDS)(torch.tensor([[PAD, *new_ids]]), torch.zeros(1, len(TOKENS)))
    found = set((scores[0] > -torch.inf).nonzero().flatten().tolist())
    return None if len(found) == len(TOKENS) else found


def test_the_prefix_then_short_words_then_the_term_is_forced_and_the_rest_is_free() -> None:
    forcing = Forcing((AMI, COMMA), CATS, (), 1)
    assert allowed(forcing) == {AMI}
    assert allowed(forcing, AMI) == {COMMA}
    # No form can stand behind "l'".
    assert allowed(forcing, AMI, COMMA) == {LE, TO, CHAT}
    assert allowed(forcing, AMI, COMMA, LE) == {CHAT}
    # Another form, or what begins another word, but no other word of the same letters.
    assert allowed(forcing, AMI, COMMA, LE, CHAT) == BREAKS | {S}
    assert allowed(forcing, AMI, COMMA, LE, CHAT, S) == BREAKS
    assert allowed(forcing, AMI, COMMA, LE, CHAT, COMMA) is None


def test_without_a_gap_the_term_comes_at_once() -> None:
    assert allowed(Forcing((), CATS, (), 0)) == {CHAT}


def test_behind_an_apostrophe_the_term_has_its_joined_form() -> None:
    forcing = Forcing((), ((AMI,),), ((JOINED_AMI,),), 2)
    assert allowed(forcing) == {LE, L, TO, AMI}
    assert allowed(forcing, L) == {JOINED_AMI}
    assert allowed(forcing, TO, L) == {JOINED_AMI}


def test_a_word_that_suits_no_form_is_not_written_nor_a_form_that_does_not_suit_it() -> None:
    unsuited = frozenset({((LE,), (AMI,)), ((TO,), (AMI,)), ((TO,), (CHAT,))})
    forcing = Forcing((), ((AMI,), (CHAT,)), ((JOINED_AMI,),), 1, unsuited)
    assert allowed(forcing) == {LE, L, AMI, CHAT}
    assert allowed(forcing, LE) == {CHAT}
    # A determiner may come between.
    assert allowed(forcing._replace(max_gap=2)) == {LE, L, TO, AMI, CHAT}
    assert allowed(forcing._replace(max_gap=2), TO) == {LE, L}


def test_before_a_term_stand_a_preposition_and_a_determiner_at_most() -> None:
    forcing = Forcing((), ((AMI,),), (), 2)
    assert allowed(forcing, LE) == {AMI}
    assert allowed(forcing, TO) == {LE, AMI}
    assert allowed(forcing, TO, LE) == {AMI}
    assert allowed(forcing._replace(max_gap=1), TO) == {AMI}


def test_what_another_processor_forbade_is_possible_where_it_is_forced() -> None:
    scores = torch.full((1, len(TOKENS)), -torch.inf)
    found = ForcedTerms([Forcing((LE,), CATS, (), 0)], 1, WORDS)(torch.tensor([[PAD]]), scores)
    assert found.argmax().item() == LE
    assert found[0, LE] > -torch.inf


def test_each_document_of_a_batch_has_its_own_term_in_all_its_beams() -> None:
    forcings = [Forcing((), ((CHAT,),), (), 0), Forcing((), ((AMI,),), (), 0)]
    scores = ForcedTerms(forcings, 1, WORDS)(torch.full((4, 1), PAD), torch.zeros(4, len(TOKENS) + 2))
    assert scores.argmax(-1).tolist() == [CHAT, CHAT, AMI, AMI]
    # Outputs of a model that no token has are never written while a term is forced.
    assert (scores[:, len(TOKENS) :] == -torch.inf).all()


@pytest.mark.parametrize(
    ("tokens", "starts", "continues"),
    [
        (["▁a", "b", ".", "▁"], [True, False, False, True], [False, True, False, False]),
        (["Ġa", "b", "'"], [True, False, False], [False, True, False]),
        (["a", "##b", "."], [True, False, True], [False, True, False]),
    ],
)
def test_vocabularies_mark_words_in_their_own_ways(
    tokens: list[str], starts: list[bool], continues: list[bool]
) -> None:
    words = TargetWords.of(tokens)
    assert (words.starts_word, words.continues_word) == (starts, continues)


def test_places_are_those_of_words_and_short_words_before_them_are_skipped() -> None:
    ids = [LE, CHAT, S, COMMA, TO, L, JOINED_AMI, LE, LE, CHAT]
    assert WORDS.places(ids) == [0, 1, 4, 5, 6, 7, 8, 9, 10]
    assert WORDS.before_short_words(ids, 1) == (0, 1)
    assert WORDS.before_short_words(ids, 4) == (4, 0)
    assert WORDS.before_short_words(ids, 5) == (4, 1)
    assert WORDS.before_short_words(ids, 6) == (4, 2)
    assert WORDS.before_short_words(ids, 9) == (8, 1)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("▁le ▁chat .", [0, 1, 2]),
        ("▁le ▁chat", [0, 1, 2]),
        # French writes a space before some marks.
        ("▁le ▁chat ▁» .", [0, 1, 2]),
        ("▁le . ▁chat ▁! )", [0, 2, 3]),
        (". . .", [0]),
        ("", [0]),
    ],
)
def test_nothing_is_written_behind_the_punctuation_that_ends_a_sentence(text: str, places: list[int]) -> None:
    vocabulary = ["▁le", "▁chat", ".", "▁»", "▁!", ")"]
    assert TargetWords.of(vocabulary).places([vocabulary.index(token) for token in text.split()]) == places


def test_a_replay_writes_its_tokens_and_tells_what_the_model_thinks_of_them() -> None:
    probabilities = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
    replays = [Replay((1, 2), ((0,), (2, 3))), Replay((3,))]
    scores = ReplayedScores(replays, 1)
    first = scores(torch.zeros(2, 1, dtype=torch.long), probabilities.log())
    assert first.argmax(-1).tolist() == [1, 3]
    second = scores(torch.tensor([[0, 1], [0, 3]]), probabilities.log())
    # The second row has ended, and is free.
    assert second.argmax(-1).tolist()[0] == 2
    assert (second[1] > -torch.inf).all()
    known, ended = scores.complete()
    assert torch.tensor(known.target).exp().tolist() == pytest.approx([0.2, 0.3])
    assert torch.tensor(known.wanted[0]).exp().tolist() == pytest.approx([0.1, 0.1])
    assert torch.tensor(known.wanted[1]).exp().tolist() == pytest.approx([0.4, 0.4])
    assert torch.tensor(ended.target).exp().tolist() == pytest.approx([0.25])


def test_what_a_replay_did_not_come_to_counts_nothing() -> None:
    scores = ReplayedScores([Replay((1, 2, 3), ((0,),))], 1)
    scores(torch.zeros(1, 1, dtype=torch.long), torch.tensor([[0.25, 0.75, 0.0, 0.0]]).log())
    (known,) = scores.complete()
    assert torch.tensor(known.target).exp().tolist() == pytest.approx([0.75, 1, 1])
    assert torch.tensor(known.wanted[0]).exp().tolist() == pytest.approx([0.25, 1, 1])
