# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The document that all readers produce."""

import pytest

from hier_nmt.data.documents import ParallelDocument, SentencePair

DOCUMENT = ParallelDocument(
    "d1",
    (
        (SentencePair("a", "A"), SentencePair("b", "B")),
        (SentencePair("c", "C"),),
    ),
)


def test_flat_lists_follow_the_paragraphs():
    assert DOCUMENT.num_sentences == 3
    assert DOCUMENT.source_sentences == ["a", "b", "c"]
    assert DOCUMENT.target_sentences == ["A", "B", "C"]
    assert DOCUMENT.ends_paragraph == [False, True, True]
    assert DOCUMENT.source_paragraphs == [["a", "b"], ["c"]]


@pytest.mark.parametrize("paragraphs", [(), ((),), ((SentencePair("a", "A"),), ())])
def test_document_without_sentences_is_refused_by_name(paragraphs):
    with pytest.raises(ValueError, match="'d2'"):
        ParallelDocument("d2", paragraphs)
