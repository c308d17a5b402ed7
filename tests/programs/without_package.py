# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user does who lacks the package; as a script in a fresh process: without_package.py JOBS.

A job is {"name": folder or repository, "revision": or null, "expected": file, "fine_tuned": folder or null}.
"""

import importlib.util

import pytest
import torch
from answers import check_logits, check_same_weights, check_translation, fine_tune, jobs, last_checkpoint
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

TRUST = {"trust_remote_code": True}


def check(job: dict) -> None:
    """Fails unless the model loads and answers in every way from the code beside its weights."""
    name, revision = job["name"], job["revision"] or "main"
    with pytest.raises(ValueError, match="trust_remote_code"):
        AutoConfig.from_pretrained(name, revision=revision, trust_remote_code=False)
    config = AutoConfig.from_pretrained(name, revision=revision, **TRUST)
    model = AutoModelForSeq2SeqLM.from_pretrained(name, revision=revision, **TRUST)
    assert type(model).__module__.startswith("transformers_modules."), type(model)
    assert type(model).__name__ == config.architectures[0]
    check_logits(model, job)
    base = AutoModel.from_pretrained(name, revision=revision, **TRUST)
    check_same_weights(base, model.model)
    tokenizer = AutoTokenizer.from_pretrained(name, revision=revision, **TRUST)
    for task in ({"task": "translation"}, {}):
        pipe = pipeline(**task, model=name, revision=revision, device="cpu", **TRUST)
        check_translation(pipe, job)
    if job["fine_tuned"]:
        fine_tune(model, tokenizer, job["fine_tuned"])
        check_same_weights(AutoModelForSeq2SeqLM.from_pretrained(job["fine_tuned"], **TRUST), model)
        for folder in (job["fine_tuned"], last_checkpoint(job["fine_tuned"])):
            pipeline("translation", model=folder, device="cpu", **TRUST)("A b!", max_new_tokens=3)


if __name__ == "__main__":
    assert importlib.util.find_spec("hier_nmt") is None
    torch.manual_seed(0)
    for one in jobs():
        check(one)
