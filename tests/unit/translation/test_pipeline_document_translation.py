# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import logging

import pytest
import torch
from transformers import AutoTokenizer, TokenizersBackend, pipeline, pipelines
from word_translation import WordTranslator, word_tokenizer

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.translation.pipeline_document_translation import TASKS, DocumentTranslationPipeline, register_pipelines

pytest.importorskip("sentencex")

register_pipelines()


def translator(model: WordTranslator | None = None, **options) -> DocumentTranslationPipeline:
    model = model or WordTranslator(window_sentences=3, source_language="en", target_language="fr")
    return DocumentTranslationPipeline(model, model.tokenizer, **options)


def small_model(**options) -> HierNMTForConditionalGeneration:
    tokenizer = word_tokenizer()
    special = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    sizes = {
        f"{side}_{name}": 1 for side in ("encoder", "decoder") for name in ("layers", "attention_heads", "ffn_dim")
    }
    torch.manual_seed(0)
    config = HierNMTConfig(
        vocab_size=len(tokenizer),
        d_model=8,
        decoder_start_token_id=1,
        window_sentences=2,
        **special,
        **sizes,
        **options,
    )
    return HierNMTForConditionalGeneration(config)


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint directory with its tokenizer."""
    small_model().save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    return tmp_path


def test_a_string_gives_a_list_with_one_dict() -> None:
    assert translator()("A b! C d!") == [{"translation_text": "A B ! C D !"}]


def test_a_list_gives_a_flat_list_of_dicts_in_order() -> None:
    outputs = translator()(["A b!", "C! D!", "E!"])
    assert outputs == [{"translation_text": text} for text in ("A B !", "C ! D !", "E !")]
    assert translator()([]) == []


@pytest.mark.parametrize("strategy", ["sentence", "current", "prefix", "document"])
def test_white_space_and_blank_lines_stay_where_they_were(strategy) -> None:
    text = "\n  A b!  C d!\n\n\n\tE!\r\n F g \n"
    output = translator()(text, strategy=strategy)
    assert output == [{"translation_text": "\n  A B !  C D !\n\n\n\tE !\r\n F G \n"}]


@pytest.mark.parametrize("text", ["", " ", "\n\n", " \t\r\n "])
def test_empty_text_comes_back_as_it_is_without_running_the_model(text) -> None:
    pipe = translator()
    assert pipe(text) == [{"translation_text": text}]
    assert pipe([text, text]) == [{"translation_text": text}] * 2
    assert pipe.model.windows == []


def test_structured_sentences_are_not_cut_again() -> None:
    pipe = translator()
    output = pipe({"paragraphs": [["A b! C", "D!"], ["E!"]]})
    assert output == [{"translation_text": "A B ! C D !\n\nE !"}]
    assert "A b ! C <sep> D ! <par> E ! </s>" in pipe.model.windows


def test_a_list_may_mix_texts_and_structured_documents() -> None:
    outputs = translator()(["A!", {"paragraphs": [["B!"]]}, {"text": "C!\n"}])
    assert [output["translation_text"] for output in outputs] == ["A !", "B !", "C !\n"]


def test_sentences_are_returned_on_request() -> None:
    (output,) = translator()("A b! C!\n\nD!", return_sentences=True)
    assert output["sentences"] == [
        {"source": "A b!", "translation": "A B !", "paragraph": 0},
        {"source": "C!", "translation": "C !", "paragraph": 0},
        {"source": "D!", "translation": "D !", "paragraph": 1},
    ]


@pytest.mark.parametrize("context", ["X! Y!", ["X!", "Y!"], [["X!", "Y!"]]])
def test_context_is_read_but_not_translated(context) -> None:
    pipe = translator()
    assert pipe("A!", context=context) == [{"translation_text": "A !"}]
    assert pipe.model.windows == ["X ! <sep> Y ! <par> A ! </s>"]


def test_context_translation_is_forced_by_prefix() -> None:
    pipe = translator()
    assert pipe("A!", strategy="prefix", context="X!", context_translation="Q!") == [{"translation_text": "A !"}]
    assert pipe.model.prefixes == ["Q ! <par>"]
    with pytest.raises(ValueError, match="1 context sentences but 2 in context_translation"):
        pipe("A!", strategy="prefix", context=["X!"], context_translation=["Q!", "R!"])


def test_documents_of_a_list_have_their_own_context() -> None:
    pipe = translator()
    pipe(["A!", "B!", {"text": "C!", "context": "W!"}], context=["X!", None, None])
    assert sorted(pipe.model.windows) == ["B ! </s>", "W ! <par> C ! </s>", "X ! <par> A ! </s>"]
    with pytest.raises(ValueError, match="2 documents but 1 entries in context"):
        pipe(["A!", "B!"], context=["X!"])
    with pytest.raises(TypeError, match="must be a list with one entry for each"):
        pipe(["A!", "B!"], context="X!")
    with pytest.raises(ValueError, match="context is given twice"):
        pipe({"text": "A!", "context": "X!"}, context="Y!")


def test_context_without_effect_is_said(caplog) -> None:
    pipe = translator(WordTranslator(window_sentences=1))
    logging.getLogger("transformers").propagate = True
    with caplog.at_level(logging.WARNING):
        assert pipe("A!", context="X!") == [{"translation_text": "A !"}]
    assert "context has no effect" in caplog.text


def test_batches_are_filled_across_documents() -> None:
    pipe = translator(WordTranslator())
    pipe(["A!", "B!", "C!"], batch_size=2)
    assert [len(batch) for batch in pipe.model.batches] == [2, 1]


def test_options_of_the_pipeline_hold_for_every_call_and_the_calls_own_win() -> None:
    pipe = translator(strategy="document", return_sentences=True, batch_size=7, num_beams=3)
    assert "sentences" in pipe("A! B!")[0]
    assert pipe.model.windows == ["A ! <sep> B ! </s>"]
    assert pipe("A! B!", strategy="sentence", return_sentences=False) == [{"translation_text": "A ! B !"}]
    assert sorted(pipe.model.windows[1:]) == ["A ! </s>", "B ! </s>"]


def test_generators_and_datasets_are_translated_bit_by_bit() -> None:
    class Texts(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return ["A!", "B!", "C!"][index]

    expected = [[{"translation_text": text}] for text in ("A !", "B !", "C !")]
    assert list(translator()(Texts())) == expected
    read: list[str] = []
    outputs = translator()((read.append(text) or text for text in ("A!", "B!", "C!")), batch_size=2)
    assert next(outputs) == expected[0]
    assert read == ["A!", "B!"]
    assert list(outputs) == expected[1:]


def test_text_without_spaces_between_sentences_gets_them_in_the_translation() -> None:
    pipe = translator(WordTranslator(source_language="zh", target_language="en"))
    pipe.tokenizer.add_tokens(["你好", "再见"])
    pipe.model.alone = lambda sentences: [["A", "!"]]
    text = pipe("你好。再见。")[0]["translation_text"]
    assert text == "A ! A !"


def test_progress_of_one_long_document_is_shown_by_sentences_on_stderr(capsys) -> None:
    text = " ".join(["A b!"] * 30)
    pipe = translator(WordTranslator(window_sentences=0, max_source_tokens=512, max_target_tokens=512))
    pipe(text, progress=True, source_language="en")
    assert len(pipe.model.windows) == 1
    assert "30/30" in capsys.readouterr().err
    pipe(text, source_language="en")
    assert not capsys.readouterr().err


def test_more_sentences_than_the_model_has_positions_for_are_an_error_that_says_what_to_do() -> None:
    positions = {"position_encoding": "multi_level", "token_position_origin": "sentence", "max_sentence_positions": 20}
    model = small_model(**positions).eval()
    pipe = DocumentTranslationPipeline(model, word_tokenizer())
    document = {"paragraphs": [["a b."] * 21]}
    with pytest.raises(ValueError, match=r"a window of 21 sentences .* which are 20\. Give a number"):
        pipe(document, window_sentences=0, strategy="document")
    clamped = DocumentTranslationPipeline(small_model(**positions, sentence_position_clamp=True), word_tokenizer())
    for translator_of_all, windows in ((pipe, 20), (clamped, 0)):
        options = {"window_sentences": windows, "strategy": "document", "return_sentences": True}
        assert len(translator_of_all(document, **options)[0]["sentences"]) == 21


def test_20000_words_are_translated_in_full() -> None:
    text = "\n\n".join(" ".join(["A b c d e f g h i j!"] * 20) for _ in range(100))
    pipe = translator()
    (output,) = pipe(text, return_sentences=True, batch_size=256)
    assert len(output["sentences"]) == 2000
    assert output["translation_text"] == "\n\n".join(" ".join(["A B C D E F G H I J !"] * 20) for _ in range(100))


def test_5000_words_in_one_line_without_a_full_stop_are_translated_in_full(caplog) -> None:
    text = " ".join("abcdefghij"[index % 10] for index in range(5000))
    pipe = translator()
    logging.getLogger("transformers").propagate = True
    with caplog.at_level(logging.WARNING):
        assert pipe(text) == [{"translation_text": text.upper()}]
    assert "translated in pieces" in caplog.text


def test_user_text_with_separators_stays_text() -> None:
    assert translator()("A <sep> b! C!")[0]["translation_text"] == "A <sep> B ! C !"


@pytest.mark.parametrize("wrong", [None, 5, 3.5, b"A!", object()])
def test_wrong_inputs_are_named_by_their_type(wrong) -> None:
    with pytest.raises(TypeError, match=f"a document must be a string or a dict, got {type(wrong).__name__}"):
        translator()(wrong)
    with pytest.raises(TypeError, match=f"a document must be a string or a dict, got {type(wrong).__name__}"):
        translator()(["A!", wrong])


def test_wrong_structures_are_named() -> None:
    pipe = translator()
    with pytest.raises(TypeError, match=r'sentences are given as \{"paragraphs"'):
        pipe([["A!", "B!"]])
    with pytest.raises(TypeError, match=r"paragraphs\[0\] must be a list of strings, got str"):
        pipe({"paragraphs": ["A!", "B!"]})
    with pytest.raises(TypeError, match=r"paragraphs\[0\]\[1\] must be a string, got int"):
        pipe({"paragraphs": [["A!", 5]]})
    with pytest.raises(ValueError, match=r"got the keys \['sentences'\]"):
        pipe({"sentences": ["A!"]})
    with pytest.raises(TypeError, match='"text" must be a string, got int'):
        pipe({"text": 5})


def test_an_unknown_option_suggests_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"'num_beam' is not an option.*did you mean 'num_beams'"):
        translator()("A!", num_beam=4)
    with pytest.raises(TypeError, match=r"'stategy' is not an option.*did you mean 'strategy'"):
        translator(stategy="prefix")
    with pytest.raises(TypeError, match="only one positional argument"):
        translator()("A!", "B!")


@pytest.mark.parametrize("task", TASKS)
def test_both_tasks_load_a_checkpoint(checkpoint, task) -> None:
    pipe = pipeline(task, model=str(checkpoint), device="cpu")
    assert type(pipe) is DocumentTranslationPipeline
    (output,) = pipe("A b! C!\n", max_new_tokens=4, num_beams=2)
    assert output["translation_text"].endswith("\n")


def test_registering_again_changes_nothing(caplog) -> None:
    before = dict(pipelines.PIPELINE_REGISTRY.supported_tasks)
    with caplog.at_level(logging.WARNING):
        register_pipelines()
    assert pipelines.PIPELINE_REGISTRY.supported_tasks == before
    assert caplog.text == ""


def test_registering_needs_no_list_of_removed_tasks(monkeypatch, checkpoint) -> None:
    """Which Transformers has since 5.19 only."""
    monkeypatch.delattr(pipelines, "REMOVED_TASKS", raising=False)
    monkeypatch.setattr(pipelines, "_resolve_deprecated_task", lambda task: task, raising=False)
    register_pipelines()
    assert type(pipeline("translation", model=str(checkpoint), device="cpu")) is DocumentTranslationPipeline


def test_registering_gives_back_the_task_of_translation_alone(monkeypatch) -> None:
    removed = {"translation": "removed", "summarization": "removed"}
    monkeypatch.setattr(pipelines, "REMOVED_TASKS", removed, raising=False)
    register_pipelines()
    assert removed == {"summarization": "removed"}


def test_a_saved_pipeline_loads_again(checkpoint, tmp_path) -> None:
    pipe = pipeline("translation", model=str(checkpoint), device="cpu")
    pipe.save_pretrained(tmp_path / "again")
    again = pipeline("translation", model=str(tmp_path / "again"), device="cpu")
    assert again("A!", max_new_tokens=3) == pipe("A!", max_new_tokens=3)


def test_a_checkpoint_without_tokenizer_says_so(tmp_path) -> None:
    small_model().save_pretrained(tmp_path)
    with pytest.raises(OSError, match=rf"no tokenizer in {tmp_path}.*pass tokenizer="):
        pipeline("translation", model=str(tmp_path), device="cpu")
    with pytest.raises(OSError, match="was not loaded from a checkpoint, so it has no tokenizer"):
        DocumentTranslationPipeline(small_model())


def test_the_target_tokenizer_is_loaded_from_its_folder(tmp_path) -> None:
    small_model(share_encoder_decoder_embeddings=False, decoder_vocab_size=70).save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(OSError, match="has no folder target_tokenizer"):
        pipeline("translation", model=str(tmp_path), device="cpu")
    target = word_tokenizer()
    target.add_tokens(["bonjour"])
    target.save_pretrained(tmp_path / "target_tokenizer")
    pipe = pipeline("translation", model=str(tmp_path), device="cpu")
    assert len(pipe.target_tokenizer) == len(pipe.tokenizer) + 1
    pipe.save_pretrained(tmp_path / "again")
    assert len(AutoTokenizer.from_pretrained(tmp_path / "again" / "target_tokenizer")) == len(pipe.target_tokenizer)


def test_a_tokenizer_made_in_memory_is_that_of_both_languages_if_it_can_be() -> None:
    model = small_model(share_encoder_decoder_embeddings=False)
    tokenizer = word_tokenizer()
    assert DocumentTranslationPipeline(model, tokenizer, device="cpu").target_tokenizer is tokenizer
    model = small_model(share_encoder_decoder_embeddings=False, decoder_vocab_size=70)
    with pytest.raises(OSError, match=r"no target tokenizer: where the tokenizer comes from.*pass target_tokenizer="):
        DocumentTranslationPipeline(model, tokenizer, device="cpu")


def test_a_tokenizer_without_separators_is_refused_only_for_windows() -> None:
    plain = TokenizersBackend(
        tokenizer_object=word_tokenizer().backend_tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    with pytest.raises(ValueError, match="'document' needs a tokenizer with a sep_token and a par_token"):
        DocumentTranslationPipeline(WordTranslator(), plain)("A!", strategy="document")


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize(
    "name", ["batch_size", "num_beams", "max_new_tokens", "max_source_tokens", "max_target_tokens"]
)
def test_numbers_that_are_none_are_no_defaults(name, value) -> None:
    pipe = translator()
    expected = f"{name} must be at least 1, got {value}"
    with pytest.raises(ValueError, match=expected):
        pipe("A!", **{name: value})
    with pytest.raises(ValueError, match=expected):
        list(pipe((text for text in ["A!"]), **{name: value}))
    with pytest.raises(ValueError, match=expected):
        list(pipe.stream("A!", **{name: value}))
