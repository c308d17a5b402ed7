# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The languages of a corpus that a model of any family is measured on."""

from argparse import Namespace
from pathlib import Path

import pytest
from transformers import MarianConfig

from hier_nmt.cli.evaluate import read_corpus


def test_a_model_without_languages_is_told_them(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("A b.\tC d.\n", encoding="utf-8")
    options = {"corpus": [path], "format": "tab-separated", "skip_bad": False, "limit": None}
    with pytest.raises(ValueError, match="the model has no languages: give --source-language and --target-language"):
        read_corpus(Namespace(**options, source_language="en", target_language=None), MarianConfig())
    (document,) = read_corpus(Namespace(**options, source_language="en", target_language="fr"), MarianConfig())
    assert document.source_paragraphs == [["A b."]]
