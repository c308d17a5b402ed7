# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The smallest case of tests/system/test_discourse_learning.py: one phenomenon, decided by the sentence before."""

import pytest
import torch

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.data.collator import DocumentCollator
from hier_nmt.data.corpus_tables import text_table_from_documents, token_table
from hier_nmt.data.tokenization import train_tokenizer
from hier_nmt.data.window_tables import closing_tokens, window_table
from hier_nmt.evaluation.contrastive import contrastive_report, score_options
from hier_nmt.evaluation.forced_scoring import WindowBuilder
from hier_nmt.synthetic.discourse_corpus import make_contrastive_set, make_documents
from hier_nmt.training.trainer import DocumentSeq2SeqTrainer
from hier_nmt.training.training_arguments import DocumentSeq2SeqTrainingArguments

CORPUS = {"length": 4, "distance_weights": (1,), "phenomena": ("register",)}


@pytest.fixture(scope="module")
def documents() -> list:
    return [item.document for item in make_documents("train", 400, 1, **CORPUS)]


@pytest.fixture(scope="module")
def tokenizer(documents):
    return train_tokenizer([text for item in documents for text in item.source_sentences + item.target_sentences], 700)


def accuracy(documents, tokenizer, folder, window_sentences: int, max_steps: int) -> float:
    """Contrastive accuracy, in per cent, of a model trained on windows of that many sentences."""
    table = token_table(text_table_from_documents(documents, folder), tokenizer)
    windows = window_table(table, closing_tokens(tokenizer), window_sentences)
    config = HierNMTConfig(
        vocab_size=len(tokenizer),
        window_sentences=window_sentences,
        d_model=64,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        dropout=0.0,
        init_std=0.05,
        position_encoding="segment_shifted",
        segment_shift=8,
        max_source_tokens=128,
        max_target_tokens=128,
    )
    torch.manual_seed(0)
    model = HierNMTForConditionalGeneration(config)
    model.set_attn_implementation("eager")
    arguments = DocumentSeq2SeqTrainingArguments(
        output_dir=folder,
        max_steps=max_steps,
        learning_rate=3e-3,
        warmup_steps=30,
        lr_scheduler_type="cosine",
        max_tokens_per_batch=1024,
        context_discount=0.5 if window_sentences > 1 else 1.0,
        report_to="none",
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        seed=1,
    )
    trainer = DocumentSeq2SeqTrainer(
        model=model,
        args=arguments,
        data_collator=DocumentCollator(tokenizer.pad_token_id, tokenizer.bos_token_id),
        train_dataset=windows,
        processing_class=tokenizer,
    )
    trainer.train()
    model.eval()
    examples = list(make_contrastive_set(30, 1, max_distance=1, phenomena=CORPUS["phenomena"]))
    report = contrastive_report(examples, score_options(model, WindowBuilder(model, tokenizer), examples), "model")
    return report.accuracies[0].accuracy


def test_a_window_of_two_sentences_knows_what_a_sentence_alone_cannot(documents, tokenizer, tmp_path) -> None:
    # A sentence-level model gives the same answer in both examples of a pair, whatever it has learned.
    assert accuracy(documents, tokenizer, str(tmp_path / "alone"), 1, max_steps=30) == 50
    assert accuracy(documents, tokenizer, str(tmp_path / "window"), 2, max_steps=300) >= 95
