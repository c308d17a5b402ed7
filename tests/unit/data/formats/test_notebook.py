# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Notebooks: the text of Markdown cells changes, and nothing else."""

import json

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import format_of, read_document_file

pytest.importorskip("markdown_it")
pytest.importorskip("sentencex")
NOTEBOOK = r"""{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {"source": "meta"},
   "source": [
    "# A *red* title\n",
    "\n",
    "See `x = 1` and $a^2$.\n",
    "It goes\n",
    "on."
   ]
  },
  {"cell_type": "code", "source": ["print('Hello')\n", "# note"], "outputs": [{"text": ["One."]}]},
  {"cell_type": "markdown", "source": "Last \u00e9."},
  {"cell_type": "raw", "source": "Raw."},
  {"cell_type": "markdown", "source": []}
 ],
 "nbformat": 4
}
"""
FRENCH = {"A red title": "Un titre rouge", "It goes on.": "Cela continue.", "Last é.": "Fin à."}


def read(folder, content: str):
    (folder / "a.ipynb").write_text(content)
    return read_document_file(folder / "a.ipynb", "en", "fr", format_of(folder / "a.ipynb"))


def translated(folder, content: str, texts: dict[str, str]) -> str:
    file = read(folder, content)
    return file.translated(
        [[texts.get(unit.source, unit.source) for unit in item.units] for item in file.documents]
    ).decode()


def test_the_text_of_markdown_cells_is_one_document(tmp_path) -> None:
    (document,) = read(tmp_path, NOTEBOOK).documents
    texts = [unit.source for unit in document.units]
    assert texts == ["A red title", "See \ufffc and \ufffc.", "It goes on.", "Last é."]


def test_only_the_text_changes(tmp_path) -> None:
    expected = (
        NOTEBOOK.replace("A *red* title", "Un *titre* rouge")
        .replace('"It goes\\n",\n    "on."', '"Cela continue."')
        .replace("Last \\u00e9.", "Fin \\u00e0.")
    )
    assert translated(tmp_path, NOTEBOOK, FRENCH) == expected
    assert translated(tmp_path, NOTEBOOK, {}) == NOTEBOOK


def test_notebooks_of_version_3_are_read(tmp_path) -> None:
    cells = [{"cell_type": "heading", "level": 1, "source": "Title"}, {"cell_type": "code", "input": "x"}]
    content = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]})
    assert translated(tmp_path, content, {"Title": "Titre"}) == content.replace("Title", "Titre")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("{", "a.ipynb:1: not JSON"),
        ("[]", "a.ipynb: not a notebook: it has no list of cells"),
        ('{"cells": {}}', "a.ipynb: not a notebook: it has no list of cells"),
        ('{"cells": [1]}', "a.ipynb: not a notebook: cell 1 has no source of text"),
        ('{"cells": [{"cell_type": "markdown", "source": [1]}]}', "a.ipynb: not a notebook: cell 1"),
        ('{"cells": [{"cell_type": "code", "source": "x"}]}', "a.ipynb: empty corpus"),
    ],
)
def test_a_broken_notebook_is_an_error_with_a_place(tmp_path, content, error) -> None:
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, content)
    assert error in str(caught.value)
