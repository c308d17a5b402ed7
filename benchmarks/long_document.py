# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of one very long document in a hierarchical model of six layers and width 512 with random weights.

python benchmarks/long_document.py --sentences 1000

Encodes the document, then makes one training step on it (forward and backward, with activation checkpointing; the
translation is as long as the source). With --translate, the pipeline translates a document of as many sentences in one
window instead. Memory is what the process holds at most above the model's weights and, in training, their gradients.

Random weights do not know where a sentence ends. So the pipeline's translation is given: every step computes the next
token, and then takes that of the source, and what comes out must be the source.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from documents import sentence_lengths
from measurement import at_least_one, process_megabytes, run_command_line
from transformers import AutoTokenizer
from transformers.modeling_outputs import Seq2SeqLMOutput

from hier_nmt import DocumentTranslationPipeline, HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.configuration.configuration_hier_nmt import PRESETS
from hier_nmt.text.segmentation import segment_text, sentences_by_paragraph
from hier_nmt.text.windows import join_window

SEPARATOR = 4
VOCABULARY = 16000
ROOT = Path(__file__).parent.parent


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


class GivenTranslation(HierNMTForConditionalGeneration):
    """Decodes as always, and takes the tokens that are given instead of the likeliest."""

    given: list[int]
    num_taken = 0

    def forward(self, *args: Any, **kwargs: Any) -> Seq2SeqLMOutput:  # type: ignore[override]
        """The output for one document, whose logits say nothing but the next token that is given."""
        output = super().forward(*args, **kwargs)
        logits = torch.full_like(output.logits, -torch.inf)
        logits[:, -1, self.given[self.num_taken]] = 0.0
        self.num_taken += 1
        output.logits = logits
        return output


def translate(model: GivenTranslation, num_sentences: int) -> None:
    """Has the pipeline translate so many sentences of the sample document, again and again, to themselves."""
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "checkpoints" / "hier-nmt-en-fr")
    text = (ROOT / "examples" / "sample_document.en.txt").read_text(encoding="utf-8")
    few = [sentence for paragraph in sentences_by_paragraph(segment_text(text, "en")) for sentence in paragraph]
    sentences = [few[index % len(few)] for index in range(num_sentences)]
    ids = tokenizer(sentences, add_special_tokens=False)["input_ids"]
    sep, par, eos = (tokenizer.get_vocab()[token] for token in ("<sep>", "<par>", "</s>"))
    model.given = join_window(ids, [False] * num_sentences, sep, par, eos)
    pipe = DocumentTranslationPipeline(model=model, tokenizer=tokenizer)
    options: dict[str, Any] = {"strategy": "document", "window_sentences": 0, "return_sentences": True}
    options |= {"max_source_tokens": 2**20, "max_target_tokens": 2**20, "progress": True}
    found: list[Any] = []
    document = {"paragraphs": [sentences]}
    measure(
        f"translating {num_sentences} sentences", lambda: found.extend(pipe([document], **options)), len(model.given)
    )
    pairs = [(some["source"], some["translation"]) for some in found[0]["sentences"]]
    if pairs != [(sentence, sentence) for sentence in sentences]:
        raise SystemExit("The translation is not the one that was given.")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=at_least_one, default=1000)
    parser.add_argument(
        "--preset", choices=PRESETS, default="hierarchical", help="of HierNMTConfig (default: %(default)s)"
    )
    parser.add_argument("--translate", action="store_true", help="nothing but translate")
    options = parser.parse_args()
    torch.manual_seed(0)
    config = HierNMTConfig.preset(options.preset, vocab_size=VOCABULARY, sep_token_id=SEPARATOR)
    if options.translate:
        return translate(GivenTranslation(config), options.sentences)
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
    run_command_line(main, "interrupted")
