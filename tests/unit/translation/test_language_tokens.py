# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of many languages read and write the language that is asked for; what does not translate is refused."""

import json

import pytest
from tiny_models import tiny_model
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MBart50Tokenizer,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    NllbTokenizer,
)
from word_translation import WordTranslator

from hier_nmt.translation.document_translator import DocumentTranslator
from hier_nmt.translation.language_tokens import LanguageTokens
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline
from hier_nmt.translation.translation_documents import SourceDocument

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("langcodes")
PIECES = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")] + [("▁the", -1.0), ("▁cat", -2.0), ("▁", -3.0)]
SIZES = {
    "d_model": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8,
    # Transformers 5.4 calls it an integer, and refuses its own default.
    "scale_embedding": 1 if "int" in str(MBartConfig.__annotations__["scale_embedding"]) else True,
}


def m2m100(folder):
    """A tokenizer of 100 languages as that of M2M100, and a model of random weights."""
    lines = ["the cat sits on the mat", "a dog runs in the house"] * 5
    options = {"vocab_size": 30, "hard_vocab_limit": False, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=str(folder / "spm"), **options)
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))
    pieces = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces += [piece for piece in map(model.id_to_piece, range(model.get_piece_size())) if piece not in pieces]
    (folder / "vocab.json").write_text(json.dumps({piece: index for index, piece in enumerate(pieces)}))
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "spm.model"), src_lang="en")
    return tokenizer, M2M100ForConditionalGeneration(M2M100Config(**SIZES, vocab_size=200))


def nllb(folder):
    vocab = {token: index for index, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", "▁", *"thecat"])}
    tokenizer = NllbTokenizer(vocab=vocab, merges=[])
    return tokenizer, M2M100ForConditionalGeneration(M2M100Config(**SIZES, vocab_size=len(tokenizer)))


def mbart50(folder):
    tokenizer = MBart50Tokenizer(vocab=PIECES)
    return tokenizer, MBartForConditionalGeneration(MBartConfig(**SIZES, vocab_size=len(tokenizer)))


def mbart(folder):
    tokenizer = MBartTokenizer(vocab=PIECES)
    return tokenizer, MBartForConditionalGeneration(MBartConfig(**SIZES, vocab_size=len(tokenizer)))


FAMILIES = {"m2m100": m2m100, "nllb": nllb, "mbart50": mbart50, "mbart": mbart}
TOKENS = {
    "m2m100": {"en": "__en__", "fr": "__fr__", "de": "__de__"},
    "nllb": {"en": "eng_Latn", "fr": "fra_Latn", "de": "deu_Latn"},
    "mbart50": {"en": "en_XX", "fr": "fr_XX", "de": "de_DE"},
    "mbart": {"en": "en_XX", "fr": "fr_XX", "de": "de_DE"},
}


@pytest.fixture(params=FAMILIES)
def family(request, tmp_path):
    return request.param, *FAMILIES[request.param](tmp_path)


def test_every_way_to_write_a_language_gives_its_token(family) -> None:
    name, tokenizer, _ = family
    languages = LanguageTokens(tokenizer)
    for language in ("fr", "fra", "fr-CA", "fr_FR", "French", "french", TOKENS[name]["fr"]):
        assert languages.token(language) == TOKENS[name]["fr"], language
    assert languages.code("French") == "fr"


@pytest.mark.parametrize(
    ("language", "token"),
    [("ar", "arb_Arab"), ("zh", "zho_Hans"), ("zh-TW", "zho_Hant"), ("no", "nob_Latn"), ("sw", "swh_Latn")],
)
def test_codes_of_whole_groups_of_languages_mean_the_usual_one(language, token, tmp_path) -> None:
    assert LanguageTokens(nllb(tmp_path)[0]).token(language) == token


@pytest.mark.parametrize("language", ["tlh", "Klingon", "xx", ""])
def test_a_language_that_the_model_does_not_have_is_an_error_that_names_it(family, language) -> None:
    _, tokenizer, model = family
    with pytest.raises(ValueError, match=rf"the model has no language '{language}'; it has .*fr"):
        DocumentTranslator(model, tokenizer, target_language=language)


def test_the_source_is_marked_as_being_of_its_language_and_the_tokenizer_stays_as_it_was(family) -> None:
    name, tokenizer, model = family
    before = tokenizer.src_lang
    translator = DocumentTranslator(model, tokenizer, source_language="German", target_language="fr")
    (ids,) = translator.vocabulary.encode(["the cat"])
    tokens = tokenizer.convert_ids_to_tokens(ids)
    # mBART's first models have it at the end.
    assert tokens[-1 if name == "mbart" else 0] == TOKENS[name]["de"]
    assert tokenizer.src_lang == before


@pytest.mark.parametrize("language", ["fr", "de"])
def test_every_decoder_run_begins_with_the_target_language(family, language, monkeypatch) -> None:
    name, tokenizer, model = family
    outputs = []
    generate = model.generate

    def recorded(**kwargs):
        outputs.append(generate(**kwargs))
        return outputs[-1]

    monkeypatch.setattr(model, "generate", recorded)
    translator = DocumentTranslator(model, tokenizer, target_language=language, generate_kwargs={"max_new_tokens": 4})
    translator.translate([SourceDocument([["the cat", "the the cat"]])])
    starts = [row[0 if name == "mbart" else 1] for output in outputs for row in output.tolist()]
    assert starts
    assert set(tokenizer.convert_ids_to_tokens(starts)) == {TOKENS[name][language]}


def test_without_a_target_language_there_is_an_error_unless_the_checkpoint_names_one(family) -> None:
    name, tokenizer, model = family
    with pytest.raises(ValueError, match=r"translates into \d+ languages: say which by target_language"):
        DocumentTranslator(model, tokenizer)
    option = "decoder_start_token_id" if name == "mbart" else "forced_bos_token_id"
    setattr(model.generation_config, option, tokenizer.convert_tokens_to_ids(TOKENS[name]["de"]))
    assert DocumentTranslator(model, tokenizer).strategy == "sentence"


@pytest.mark.parametrize("names", [("source_language", "target_language"), ("src_lang", "tgt_lang")])
def test_the_pipeline_takes_languages_under_the_names_of_transformers_4_too(names, tmp_path, monkeypatch) -> None:
    tokenizer, model = nllb(tmp_path)
    given = dict(zip(names, ("eng_Latn", "French"), strict=True))
    pipe = DocumentTranslationPipeline(model, tokenizer, device="cpu", **given)
    forced = []
    generate = model.generate

    def recorded(**kwargs):
        forced.append(kwargs["generation_config"].forced_bos_token_id)
        return generate(**kwargs)

    monkeypatch.setattr(model, "generate", recorded)
    pipe("the cat", max_new_tokens=3)
    pipe("the cat", max_new_tokens=3, **{names[1]: "German"})
    assert {tokenizer.convert_ids_to_tokens(token_id) for token_id in forced} == {"fra_Latn", "deu_Latn"}


def test_both_names_of_a_language_are_refused(tmp_path) -> None:
    tokenizer, model = nllb(tmp_path)
    with pytest.raises(TypeError, match="older names of source_language and target_language"):
        DocumentTranslationPipeline(model, tokenizer, device="cpu", src_lang="en", source_language="en")


def test_a_model_of_one_pair_is_not_asked_for_another_language() -> None:
    model = WordTranslator(source_language="en", target_language="fr")
    DocumentTranslator(model, model.tokenizer, source_language="en-GB", target_language="FR_ca")
    with pytest.raises(ValueError, match="the model's target language is 'fr', not 'de'"):
        DocumentTranslator(model, model.tokenizer, target_language="de")
    with pytest.raises(ValueError, match="the model's source language is 'en', not 'ru'"):
        DocumentTranslator(model, model.tokenizer, source_language="ru")


def test_tokens_that_only_look_like_a_language_make_no_multilingual_tokenizer() -> None:
    model = WordTranslator(more_words=["__in__", "fr_XX"])
    assert not LanguageTokens(model.tokenizer).is_multilingual


def test_a_model_that_continues_texts_is_refused() -> None:
    model = GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=30))
    with pytest.raises(ValueError, match="GPT2LMHeadModel is not an encoder-decoder model"):
        DocumentTranslationPipeline(model, WordTranslator().tokenizer, device="cpu")
    with pytest.raises(ValueError, match="GPT2LMHeadModel is not an encoder-decoder model"):
        DocumentTranslator(model, WordTranslator().tokenizer)
    assert tiny_model().config.is_encoder_decoder
