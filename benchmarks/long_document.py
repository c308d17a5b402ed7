# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of one very long document in a hierarchical model of six layers and width 512 with random weights.

python benchmarks/long_document.py --sentences 1000

Encodes the document, then makes one training step on it (forward and backward, with activation checkpointing; the
translation is as long as the source). Memory is what the process holds at most above the model's weights and, in
training, their gradients.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from documents import sentence_lengths
from measurement import process_megabytes

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration

SEPARATOR = 4
VOCABULARY = 16000


def make_document(num_sentences: int) -> torch.Tensor:
    """Token ids [1, S] of a document whose sentences are as long as those of Europarl."""
    generator = torch.Generator().manual_seed(0)
    lengths = sentence_lengths("europarl", num_sentences)
    sentences = [torch.randint(10, VOCABULARY, (length,), generator=generator) for length in lengths]
    for sentence in sentences:
        sentence[-1] = SEPARATOR
    return torch.cat(sentences)[None]


def measure(name: str, call: Callable[[], Any], num_tokens: int) -> None:
    """Prints time and peak memory of the call."""
    before = process_megabytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    start = time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    gibibytes = (process_megabytes("VmHWM") - before) / 1024
    print(f"{name}: {seconds:.1f} s, {num_tokens / seconds:,.0f} source tokens/s, {gibibytes:.2f} GiB", flush=True)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--preset", default="hierarchical", help="of HierNMTConfig (default: %(default)s)")
    options = parser.parse_args()
    torch.manual_seed(0)
    config = HierNMTConfig.preset(options.preset, vocab_size=VOCABULARY, sep_token_id=SEPARATOR)
    model = HierNMTForConditionalGeneration(config)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)  # its memory, all of it
    input_ids = make_document(options.sentences)
    num_tokens = input_ids.shape[1]
    print(f"{options.sentences} sentences, {num_tokens:,} tokens; {model.num_parameters():,} parameters")
    with torch.inference_mode():
        measure("encoding", lambda: model.eval().get_encoder()(input_ids), num_tokens)
    model.train().gradient_checkpointing_enable()
    measure("training step", lambda: model(input_ids=input_ids, labels=input_ids).loss.backward(), num_tokens)


if __name__ == "__main__":
    main()
