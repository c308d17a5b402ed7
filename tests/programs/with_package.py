# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user does who has the package; as a script in a fresh process: with_package.py JOBS [FOLDER OF A MARIAN].

A job is {"name": folder or repository, "revision": or null, "expected": file, "fine_tuned": folder or null}.
"""

import sys

from answers import check_logits, check_same_weights, check_translation, fine_tune, jobs, last_checkpoint
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

import hier_nmt  # noqa: F401  # all that is needed of it


def check(job: dict) -> None:
    """Fails unless the model loads and answers in every way, without `trust_remote_code`."""
    name, revision = job["name"], job["revision"]
    model = AutoModelForSeq2SeqLM.from_pretrained(name, revision=revision or "main")
    assert type(model).__module__.startswith("hier_nmt.models."), type(model)
    check_logits(model, job)
    tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
    check_translation(pipeline("translation", model=name, revision=revision, device="cpu"), job)
    check_translation(pipeline("translation", model=model, tokenizer=tokenizer, device="cpu"), job)
    check_translation(pipeline("translation", model=name, revision=revision, device="cpu", trust_remote_code=True), job)
    if job["fine_tuned"]:
        fine_tune(model, tokenizer, job["fine_tuned"])
        check_same_weights(AutoModelForSeq2SeqLM.from_pretrained(job["fine_tuned"]), model)
        for folder in (job["fine_tuned"], last_checkpoint(job["fine_tuned"])):
            pipeline("translation", model=folder, device="cpu")("A b!", max_new_tokens=3)


def check_other_family(folder: str) -> None:
    """Fails unless somebody else's model translates a text of any length, sentence by sentence."""
    pipe = pipeline("translation", model=folder, device="cpu")
    sentences = ["A b c!", "D e f!", "G h i j k!", "L m n o p q r s!", "T!"]
    options = {"max_new_tokens": 5, "source_language": "en"}
    alone = [pipe(sentence, **options)[0]["translation_text"] for sentence in sentences]
    assert all(alone), alone
    assert len(set(alone)) > 1, alone
    # More tokens than the model and its tokenizer can hold.
    text = " ".join(sentences)
    assert len(pipe.tokenizer(text)["input_ids"]) > pipe.tokenizer.model_max_length
    assert pipe(text, **options) == [{"translation_text": " ".join(alone)}]
    by_object = pipeline("translation", model=pipe.model, tokenizer=pipe.tokenizer, device="cpu")
    assert by_object([sentences[0], sentences[1]], **options) == [{"translation_text": text} for text in alone[:2]]


if __name__ == "__main__":
    for one in jobs():
        check(one)
    for marian in sys.argv[2:]:
        check_other_family(marian)
