# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from hier_nmt.data.corpora import read_documents
from hier_nmt.data.corpus_files import CorpusError, parse_json
from hier_nmt.data.formats.json_lines import JsonLinesFile
from hier_nmt.evaluation.contrastive_readers import read_contrastive

# Texts that Python's JSON parser reads with loss, or refuses with another error than one of JSON.
BROKEN = [
    ('{"id": "a", "id": "b"}', r"unreadable JSON: the key 'id' occurs twice"),
    ('{"id": "\\ud83d"}', r"unpaired surrogate: \\ud83d has no other half"),
    ("[" * 100_000, r"unreadable JSON"),
    ("9" * 5000, r"unreadable JSON: .*digits"),
    ('{"id": ', r"not JSON: .* at column 8"),
]


def test_json_is_unchanged_with_complete_surrogate_pairs() -> None:
    assert parse_json("a", 1, '{"a": "\\ud83d\\ude00", "b": [1, null]}') == {"a": "\U0001f600", "b": [1, None]}


@pytest.mark.parametrize(("text", "complaint"), BROKEN)
def test_json_that_would_lose_a_part_is_refused_with_its_position(tmp_path, text: str, complaint: str) -> None:
    path = tmp_path / "a.json"
    path.write_text("\n" + text)
    with pytest.raises(CorpusError, match=rf"a.json:2: {complaint}"):
        list(read_documents([path], "json-lines", "en", "fr"))
    with pytest.raises(CorpusError, match=rf"a.json:2: {complaint}"):
        JsonLinesFile.read(path, "en", "fr")
    with pytest.raises(CorpusError, match=rf"a.json:2: {complaint}"):
        read_contrastive([path], "json-lines")
    with pytest.raises(CorpusError, match=rf"a.json(:2)?: {complaint}"):
        read_contrastive([path], "voita")


def test_a_malformed_line_can_be_skipped(tmp_path) -> None:
    path = tmp_path / "a.json"
    good = json.dumps({"id": "a", "paragraphs": [{"en": ["A."], "fr": ["B."]}]})
    path.write_text("\n".join([good, *(text for text, _ in BROKEN), good.replace('"a"', '"b"')]))
    documents = list(read_documents([path], "json-lines", "en", "fr", skip_bad=True))
    assert [item.id for item in documents] == ["a", "b"]
