# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The sample of news-like prose that translations are read and scored on."""

import re

from hier_nmt.data.corpora import read_documents


def test_the_news_sample_has_sixty_pairs_with_the_same_numbers_in_plain_typography(repository):
    documents = list(read_documents([repository / "examples" / "news.en-fr.jsonl"], "json-lines", "en", "fr"))
    assert sum(document.num_sentences for document in documents) == 60
    for document in documents:
        for source, target in zip(document.source_sentences, document.target_sentences, strict=True):
            assert not re.search("[“”«»’‘…\u00a0\u202f]", source + target)
            assert not re.search(r"\w[;:!?](\s|$)", target), target
            numbers = re.findall(r"\d{2,}", source.replace(",", ""))
            assert numbers == re.findall(r"\d{2,}", re.sub(r"(?<=\d) (?=\d{3})", "", target))
