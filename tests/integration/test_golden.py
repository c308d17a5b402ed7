# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that earlier code saved load, and compute what they computed then.

`tests/golden` holds one random tiny model of each family, saved by the code of November 2026, before the package had
rooms, and the first eight logits of the last target token of two documents, as that code gave them.
"""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

import hier_nmt  # noqa: F401  (registers the models)

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "logits.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(EXPECTED["logits"]))
def test_a_checkpoint_of_earlier_code_gives_the_logits_that_it_gave_then(name: str) -> None:
    model, loading = AutoModelForSeq2SeqLM.from_pretrained(GOLDEN / name, output_loading_info=True)
    assert not loading["missing_keys"]
    assert not loading["unexpected_keys"]
    input_ids, decoder_input_ids = (torch.tensor(EXPECTED[side]) for side in ("input_ids", "decoder_input_ids"))
    with torch.no_grad():
        output = model.eval()(
            input_ids=input_ids, attention_mask=(input_ids != 0).long(), decoder_input_ids=decoder_input_ids
        )
    expected = torch.tensor(EXPECTED["logits"][name])
    torch.testing.assert_close(output.logits[:, -1, :8], expected, rtol=1e-4, atol=2e-5)
