# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tiny sentence-level models of Transformers with random weights, in folders laid out as on the Hub."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MBart50Tokenizer,
    MBartConfig,
    MBartForConditionalGeneration,
    NllbTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
)

END_BIAS = 4.0
SIZES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 40,
    "init_std": 0.2,
    "max_position_embeddings": 64,
}
ENGLISH = [
    "The committee met on Monday and will report in May.",
    "She gave him the old book, but he did not read it.",
    "How many people live in this small town near the sea?",
    "It was raining; we stayed at home and played cards.",
]
FRENCH = [
    "Le comité s'est réuni lundi et fera rapport en mai.",
    "Elle lui a donné le vieux livre, mais il ne l'a pas lu.",
    "Combien de gens vivent dans cette petite ville près de la mer ?",
    "Il pleuvait ; nous sommes restés à la maison, où naît le cœur.",
]


def _marian(**changes: Any) -> PreTrainedModel:
    fields = {"vocab_size": 60, "pad_token_id": 59, "decoder_start_token_id": 59, **SIZES, **changes}
    model = MarianMTModel(
        MarianConfig(eos_token_id=0, forced_eos_token_id=0, activation_function="swish", scale_embedding=True, **fields)
    )
    model.final_logits_bias.normal_()
    # Which real ones forbid, since it is no token.
    model.final_logits_bias[0, fields["pad_token_id"]] = -1e4
    return model


def _separate_marian() -> PreTrainedModel:
    fields = {"decoder_vocab_size": 50, "pad_token_id": 49, "decoder_start_token_id": 49}
    return _marian(share_encoder_decoder_embeddings=False, **fields)


def _untied_marian() -> PreTrainedModel:
    return _marian(tie_word_embeddings=False)


def skip_unless_loadable(config_class: type[PreTrainedConfig]) -> None:
    """Skips a test where this Transformers does not load what the Hub has: 5.4 wants an integer `scale_embedding`."""
    try:
        config_class.from_dict(config_class(scale_embedding=True).to_dict())
    except StrictDataclassError as error:
        pytest.skip(f"this Transformers does not load {config_class.__name__}: {error}")


def _m2m() -> PreTrainedModel:
    fields = {"vocab_size": 60, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, **SIZES}
    skip_unless_loadable(M2M100Config)
    return M2M100ForConditionalGeneration(M2M100Config(**fields))


def _mbart() -> PreTrainedModel:
    fields = {"vocab_size": 60, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, **SIZES}
    skip_unless_loadable(MBartConfig)
    return MBartForConditionalGeneration(MBartConfig(scale_embedding=True, **fields))


_MAKERS = {
    "marian": _marian,
    "marian-separate-vocabularies": _separate_marian,
    "marian-untied": _untied_marian,
    "m2m_100": _m2m,
    "mbart": _mbart,
}
SENTENCE_MODELS = tuple(_MAKERS)


def sentence_model(name: str, seed: int = 0) -> PreTrainedModel:
    """A tiny model of that kind, in evaluation mode."""
    torch.manual_seed(seed)
    return _MAKERS[name]().eval()


def train_sentencepiece(folder: Path, name: str, texts: Sequence[str], vocab_size: int, **options: Any) -> list[str]:
    """The pieces of a SentencePiece model of the texts, which is written to `folder/name.spm`."""
    (folder / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "texts.txt"),
        model_prefix=str(folder / name),
        vocab_size=vocab_size,
        character_coverage=1.0,
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    (folder / f"{name}.model").rename(folder / f"{name}.spm")
    (folder / f"{name}.vocab").unlink()
    (folder / "texts.txt").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
    ids = range(model.get_piece_size())
    return [model.id_to_piece(one) for one in ids if not (model.is_control(one) or model.is_unknown(one))]


def write_opus_mt(
    folder: Path, separate: bool = False, seed: int = 0, languages: Sequence[str] = (), end_bias: float = END_BIAS
) -> MarianMTModel:
    """Writes a Marian model as the Hub has OPUS-MT: configurations, source.spm, target.spm, vocab.json, weights.

    Args:
        folder: is made.
        separate: two vocabularies.
        seed: of the weights.
        languages: tokens of target languages, such as `>>fra<<`, which only one vocabulary can have.
        end_bias: of the token that ends a sentence.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = train_sentencepiece(folder, "source", ENGLISH * 5, 90)
    target = train_sentencepiece(folder, "target", FRENCH * 5, 100)
    joint = [*languages, *source, *(piece for piece in target if piece not in source)]
    pieces = [source, target] if separate else [joint]
    size = 3 + max(map(len, pieces))
    for name, own in zip(("vocab.json", "target_vocab.json"), pieces, strict=False):
        filled = ["</s>", "<unk>", *own, *(f"<filler {index}>" for index in range(size - 3 - len(own))), "<pad>"]
        (folder / name).write_text(json.dumps({piece: index for index, piece in enumerate(filled)}), encoding="utf-8")
    target_name = "roa" if languages else "fr"
    settings = {"source_lang": "en", "target_lang": target_name, "separate_vocabs": separate, "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(seed)
    fields = {"vocab_size": size, "pad_token_id": size - 1, "decoder_start_token_id": size - 1}
    model = _marian(share_encoder_decoder_embeddings=not separate, **fields)
    if languages:
        # A trained model takes notice of these, and does not write them.
        model.model.shared.weight.data[2 : 2 + len(languages)] *= 20
        model.final_logits_bias[0, 2 : 2 + len(languages)] = -1e4
    # Random weights would write on to the length limit.
    model.final_logits_bias[0, 0] += end_bias
    # What Marian's own models never write.
    model.generation_config.bad_words_ids = [[size - 1]]
    model.generation_config.num_beams = 4
    model.save_pretrained(folder)
    return model.eval()  # type: ignore[return-value]


def write_m2m100(folder: Path, seed: int = 0) -> PreTrainedModel:
    """Writes a model as the Hub has M2M100, of English, French and its other languages."""
    skip_unless_loadable(M2M100Config)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = train_sentencepiece(folder, "both", [*ENGLISH, *FRENCH] * 3, 150)
    vocabulary = {piece: index for index, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    files = (str(folder / "vocab.json"), str(folder / "both.spm"))
    languages = list(M2M100Tokenizer(*files).lang_token_to_id)
    # Their settings on the Hub name all languages as special tokens.
    tokenizer = M2M100Tokenizer(*files, src_lang="en", tgt_lang="fr", additional_special_tokens=languages)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    # A hundred languages and eight rows that no token has.
    fields = {"vocab_size": len(vocabulary) + 108, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    model = M2M100ForConditionalGeneration(M2M100Config(**{**SIZES, "init_std": 0.5}, **fields))
    # Which a trained model does not write.
    model.model.shared.weight.data[len(vocabulary) :] = 0.0
    model.save_pretrained(folder)
    return model.eval()


def write_nllb(folder: Path) -> PreTrainedModel:
    """Writes a model as the Hub has NLLB, whose tokenizer knows letters alone."""
    skip_unless_loadable(M2M100Config)
    letters = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", *"abcdefghijklmnopqrstuvwxyz.,?"]
    tokenizer = NllbTokenizer(vocab={token: index for index, token in enumerate(letters)}, merges=[])
    fields = {"vocab_size": len(tokenizer), "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    return _written(M2M100ForConditionalGeneration, M2M100Config(**SIZES, **fields), tokenizer, len(letters), folder)


def write_mbart50(folder: Path) -> PreTrainedModel:
    """Writes a model as the Hub has mBART-50."""
    skip_unless_loadable(MBartConfig)
    letters = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
    letters += [(letter, -2.0) for letter in ("\u2581", *"abcdefghijklmnopqrstuvwxyz.,?")]
    tokenizer = MBart50Tokenizer(vocab=letters)
    fields = {"vocab_size": len(tokenizer), "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    config = MBartConfig(**SIZES, **fields, scale_embedding=True)
    return _written(MBartForConditionalGeneration, config, tokenizer, len(letters), folder)


def _written(model_class: Any, config: Any, tokenizer: Any, num_letters: int, folder: Path) -> PreTrainedModel:
    torch.manual_seed(0)
    model = model_class(config).eval()
    # Languages and other special tokens, which a trained model does not write.
    model.model.shared.weight.data[num_letters:] = 0.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def write_corpus(path: Path) -> None:
    """JSON lines of four documents, each with all sentences."""
    pairs = [{"en": [source], "fr": [target]} for source, target in zip(ENGLISH, FRENCH, strict=True)]
    rows = [json.dumps({"id": str(index), "paragraphs": pairs}) for index in range(4)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
