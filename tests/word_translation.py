# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A translation model that tests can foresee: every word becomes the same in capital letters."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import GenerationConfig, StoppingCriteria, TokenizersBackend

PAD, BOS, EOS, UNK, SEP, PAR = range(6)
SPECIAL_TOKENS = ["<pad>", "<s>", "</s>", "<unk>", "<sep>", "<par>"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ENDLESS = "Z"

Sentences = list[list[str]]


def word_tokenizer(more_words: Sequence[str] = ()) -> TokenizersBackend:
    """A tokenizer whose words are single letters, punctuation and further words; decoding puts a space between any two.

    Args:
        more_words: which it knows also in capital letters.
    """
    words = [*SPECIAL_TOKENS, *LETTERS, *LETTERS.upper(), *".,!<>", "sep"]
    words += sorted({*more_words, *(word.upper() for word in more_words)} - set(words))
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return TokenizersBackend(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        sep_token="<sep>",
        par_token="<par>",
        split_special_tokens=True,
    )


def faithful(sentences: Sentences) -> Sentences:
    """The right translation, unchanged."""
    return sentences


def without_repetition(words: list[str], size: int) -> list[str]:
    """The words up to the first n-gram that stood there before."""
    for stop in range(size, len(words) + 1):
        ngrams = [words[start : start + size] for start in range(stop - size + 1)]
        if ngrams[-1] in ngrams[:-1]:
            return words[: stop - 1]
    return words


class WordTranslator(torch.nn.Module):
    """Stands for a model with `generate`, and remembers what it was given.

    Args:
        in_window: gets the translated sentences of a window of several, and returns what the model says instead.
            A sentence with the word `ENDLESS` makes it go on for ever.
        alone: the same for a sentence decoded alone.
        forced_word: what it says instead of nothing, if it is not allowed to say nothing.
        more_words: words of several letters or digits that it knows.
        config: entries of the configuration.
    """

    def __init__(
        self,
        in_window: Callable[[Sentences], Sentences] = faithful,
        alone: Callable[[Sentences], Sentences] = faithful,
        forced_word: str = "X",
        more_words: Sequence[str] = (),
        **config: Any,
    ) -> None:
        super().__init__()
        self.tokenizer = word_tokenizer(more_words)
        self.more_words = set(more_words)
        self.in_window, self.alone, self.forced_word = in_window, alone, forced_word
        limits = {"window_sentences": 1, "max_source_tokens": 64, "max_target_tokens": 64}
        self.config = SimpleNamespace(**(limits | config), name_or_path="")
        self.generation_config = GenerationConfig(
            pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, decoder_start_token_id=BOS, max_length=20
        )
        self.device, self.dtype = torch.device("cpu"), torch.float32
        self.windows: list[str] = []
        self.prefixes: list[str] = []
        self.batches: list[list[int]] = []
        self.outputs: list[list[int]] = []

    def can_generate(self) -> bool:
        return True

    def generate(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        generation_config: GenerationConfig,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        stopping_criteria: Sequence[StoppingCriteria] = (),
        logits_processor: Sequence[Any] = (),
    ) -> torch.Tensor:
        assert not self.training
        assert torch.is_inference_mode_enabled()
        assert torch.equal(attention_mask, (input_ids != PAD).long())
        self.batches.append(attention_mask.sum(1).tolist())
        if decoder_input_ids is None:
            decoder_input_ids = torch.full((len(input_ids), 1), BOS)
        elif decoder_attention_mask is not None:
            assert torch.equal(decoder_attention_mask, (decoder_input_ids != PAD).long())
        rows = zip(input_ids.tolist(), decoder_input_ids.tolist(), strict=True)
        outputs = [self._said(*row, generation_config)[: generation_config.max_new_tokens] for row in rows]
        length = max(map(len, outputs))
        padded = [output + [PAD] * (length - len(output)) for output in outputs]
        sequences = torch.cat([decoder_input_ids, torch.tensor(padded)], dim=1)
        for stop in range(decoder_input_ids.shape[1] + 1, sequences.shape[1]):
            if [criterion for criterion in stopping_criteria if criterion(sequences[:, :stop], None).all()]:
                sequences = sequences[:, :stop]
                break
        self.outputs += sequences[:, decoder_input_ids.shape[1] :].tolist()
        return sequences

    def _said(self, source: list[int], prefix: list[int], config: GenerationConfig) -> list[int]:
        """The new tokens of one row."""
        words = self._words(source)
        self.windows.append(" ".join(words))
        self.prefixes.append(" ".join(self._words(prefix)))
        assert words.pop() == "</s>"
        sentences: Sentences = [[]]
        for word in words:
            if word in ("<sep>", "<par>"):
                sentences.append([])
            else:
                sentences[-1].append(word.upper() if len(word) == 1 or word in self.more_words else word)
        is_window = len(sentences) > 1
        if self.prefixes[-1]:
            sentences = sentences[-1:]
        sentences = (self.in_window if is_window else self.alone)(sentences)
        if any(ENDLESS in sentence for sentence in sentences):
            return self.tokenizer.convert_tokens_to_ids(["Y"] * 1000)
        said = [word for sentence in sentences for word in [*sentence, "<sep>"]][:-1]
        if config.min_new_tokens and not said:
            said = [self.forced_word]
        if config.no_repeat_ngram_size:
            said = without_repetition(said, config.no_repeat_ngram_size)
        return self.tokenizer.convert_tokens_to_ids([*said, "</s>"])

    def _words(self, ids: list[int]) -> list[str]:
        return self.tokenizer.convert_ids_to_tokens([token_id for token_id in ids if token_id not in (PAD, BOS)])


# What follows has this probability, whatever stands before it; all other tokens share the rest.
PROBABILITIES = {"A": 0.5, "B": 0.25, "!": 0.125, "</s>": 0.0625, "<sep>": 0.03125}


class ProbableTranslator(WordTranslator):
    """Says every word in capital letters, and finds it as probable as the table says."""

    def __init__(self, *args: Any, **config: Any) -> None:
        super().__init__(*args, **config)
        self.scored: list[tuple[str, str]] = []

    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        shifted = torch.cat([torch.full((len(labels), 1), BOS), labels[:, :-1]], dim=1)
        return shifted.masked_fill(shifted == -100, PAD)

    def forward(self, input_ids, attention_mask, decoder_input_ids, use_cache):
        for source, target in zip(input_ids.tolist(), decoder_input_ids.tolist(), strict=True):
            # In a batch the end of a shorter row is given, too.
            self.scored.append((" ".join(self._words(source)), " ".join(self._words(target)).removesuffix(" </s>")))
        num_tokens = len(self.tokenizer)
        rest = (1 - sum(PROBABILITIES.values())) / (num_tokens - len(PROBABILITIES))
        probabilities = torch.full((num_tokens,), rest)
        for token, probability in PROBABILITIES.items():
            probabilities[self.tokenizer.convert_tokens_to_ids(token)] = probability
        return SimpleNamespace(logits=probabilities.log().expand(*decoder_input_ids.shape, -1))
