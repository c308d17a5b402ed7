# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`pipeline("translation")` for whole documents: a text in, its translation out, paragraphs and blank lines kept."""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from transformers import (
    AutoModelForSeq2SeqLM,
    Pipeline,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    pipelines,
)
from transformers.utils import logging

from ..configuration.library_internals import (
    allow_translation_task,
    forget_registration,
    pipeline_batch_size,
    pipeline_parameters,
)
from ..text.document_layout import PlacedSentence
from ..text.long_sentences import sentence_joiner
from .decoder_runs import check_positive
from .document_translator import DocumentTranslator
from .engines import run_by
from .glossary_options import glossary_of, terms_of
from .language_tokens import LanguageTokens, check_translates
from .memory_options import memory_of
from .pipeline_inputs import (
    checked_document,
    context_paragraphs,
    document_layout,
    documents_of,
    one_each,
    with_context,
)
from .pipeline_options import divided_options
from .pipeline_outputs import DocumentTranslation, PreparedDocument
from .pipeline_tokenizers import TARGET_TOKENIZER_FOLDER, target_tokenizer_of, tokenizer_of
from .translation_documents import SourceDocument, TranslatedDocument
from .translation_report import DecodingStatistics, details

logger = logging.get_logger(__name__)

TASKS = ("translation", "document-translation")

_DEFAULT_BATCH_SIZE = 32
# Small in a stream, so that its first sentences do not wait for many others.
_STREAM_BATCH_SIZE = 8
# Only for splitting text into sentences, where neither the caller nor the model names a language.
_DEFAULT_LANGUAGE = "en"


class DocumentTranslationPipeline(Pipeline):
    """Translates documents: `pipe(text)` gives `[{"translation_text": ...}]`, `pipe([text, ...])` one dict for each.

    A document is one of:

    * a string: a text of any length. It is split into paragraphs and sentences; white space between sentences and blank
      lines between paragraphs are kept.
    * `{"text": ...}`: the same, for a document with a context of its own.
    * `{"paragraphs": [[sentence, ...], ...]}`: sentences as they are, not split again. In the translation sentences are
      joined by a space and paragraphs by a blank line.

    A list, generator or torch `Dataset` of documents gives the translations in the same order; a generator or `Dataset`
    is read and translated lazily, and gives a list with one dict for each document.

    The arguments are those of the call. All but `context` and `context_translation` may also be given to
    `pipeline(...)`.

    Args:
        context: text before the document that is read but not translated: a string, a list of sentences or a list of
            paragraphs. For a list of documents a list with one entry (or None) for each. Also a key of a document.
        context_translation: what `context` was translated to, sentence by sentence; read by the strategy `prefix`.
        strategy: `sentence`, `current`, `prefix` or `document`; default: what suits the windows of the model.
        window_sentences: K, the sentences of a window; default: the one the model was trained with.
        source_language: language of the text; default: the model's, else English. Also `src_lang`.
        target_language: language of the translation, for multilingual models (M2M100, NLLB, mBART); any code or, with
            langcodes, any English name. Also `tgt_lang`.
        text_format: `plain`, `html` or `markdown`. Tags, attributes, code and link targets stay as they are; tags in a
            sentence are placed at word boundaries, see `project_marks`. Markdown needs markdown-it-py.
        glossary: terms with prescribed translations: a mapping or pairs of a source term and its translation, or the
            path of a file (CSV, tab-separated, TBX; package hier_nmt). Also a key of a document.
        glossary_method: `inline`: translations are written into the source; for models trained with it. `constrained`:
            sentences that lack a term are decoded again with it. `auto` (default): both, `inline` if the model can.
        keep_numbers: whether sentences whose translation lacks a number of the source (of three digits or more, or with
            decimals) are decoded again with it, and told in the details if they still lack it; default: True.
        do_not_translate: a term or a list of terms that are not translated, or the `Path` of a file of them. Also a key
            of a document.
        memory: a translation memory: the path of a TMX file (package hier_nmt), a mapping, pairs of sentences and
            translations, or a `TranslationMemory`. A sentence that it has, apart from white space and with the same
            inline tags, gets that translation; similar ones are reported in the details and not used (extra `memory`).
        memory_threshold: the similarity in percent from which they are reported; default: 75; 100: never.
        return_sentences: adds `"sentences"`: a list of `{"source", "translation", "paragraph"}`.
        return_details: adds `"details"`: the counts of what happened, the sentences that were copied, cut, split or
            decoded again, with the reasons, and which terms were used; see `translation_report.details`.
        confidence: with `return_details`: how confident the model is of each sentence and word, see `confidence`; it
            costs a pass over the finished translations.
        batch_size: windows in a batch.
        max_batch_tokens: source tokens in a batch, including padding.
        max_source_tokens, max_target_tokens: longest window; default: the model's.
        progress: shows a progress bar of sentences.
        everything else: options of `generate`, such as `num_beams`.

    `pipeline(..., engine="onnx")` runs the model with onnxruntime on the CPU, with the same translations (package
    hier_nmt with its extra `export`): `onnx`, `onnx-int8` or `torch` (default); `auto`: the fastest that starts at
    once.

    Raises:
        TypeError: an input or an option that is none of these.
        ValueError: a strategy that the model cannot follow, or a context that does not match its translation.
        OSError: a checkpoint without tokenizer.
    """

    tokenizer: Any

    # None, so that `__init__` reports a missing tokenizer, with a better message.
    _load_tokenizer = None
    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any = None,
        *args: Any,
        target_tokenizer: PreTrainedTokenizerBase | None = None,
        engine: str = "torch",
        **kwargs: Any,
    ) -> None:
        check_translates(model)
        if tokenizer is None:
            tokenizer = tokenizer_of(model)
        self.target_tokenizer = target_tokenizer or target_tokenizer_of(model, tokenizer)
        super().__init__(run_by(model, engine), tokenizer, *args, **kwargs)

    def __call__(
        self,
        inputs: Any,
        *args: Any,
        context: Any = None,
        context_translation: Any = None,
        batch_size: int | None = None,
        num_workers: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """The translation of one document (a list with one dict), or of several (a list of dicts, or an iterator)."""
        if args:
            raise TypeError(f"only one positional argument, the text; got {len(args)} more: {args!r:.80}")
        parameters = self._merged_parameters(kwargs)
        given = pipeline_batch_size(self) if batch_size is None else batch_size
        check_positive(batch_size=given)
        parameters[1]["batch_size"] = _DEFAULT_BATCH_SIZE if given is None else given
        if isinstance(inputs, (str, Mapping)):
            given = with_context(inputs, context, context_translation)
            return self._translate([given], *parameters)
        if isinstance(inputs, (list, tuple)):
            contexts = one_each("context", context, len(inputs))
            translations = one_each("context_translation", context_translation, len(inputs))
            return self._translate(list(map(with_context, inputs, contexts, translations)), *parameters)
        if context is not None or context_translation is not None:
            raise TypeError(f"context needs a text or a list of texts as input, not {type(inputs).__name__}")
        return self._translate_lazily(documents_of(inputs), *parameters)

    def save_pretrained(self, save_directory: str | os.PathLike, **kwargs: Any) -> None:
        """Saves the model and its tokenizers, the target's in a subfolder where it is another one."""
        super().save_pretrained(save_directory, **kwargs)
        if self.target_tokenizer is not self.tokenizer:
            self.target_tokenizer.save_pretrained(os.path.join(save_directory, TARGET_TOKENIZER_FOLDER))

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return divided_options(kwargs)

    def _merged_parameters(self, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """The parameters of the pipeline, updated with those of this call."""
        preprocess, forward, postprocess = self._sanitize_parameters(**kwargs)
        own_preprocess, own_forward, own_postprocess = pipeline_parameters(self)
        generate_kwargs = {**own_forward.get("generate_kwargs", {}), **forward.get("generate_kwargs", {})}
        preprocess = {**own_preprocess, **preprocess}
        if preprocess.get("glossary") is not None:
            # Once for all documents: it may be a file.
            languages = self._languages(preprocess.get("source_language"), preprocess.get("target_language"))
            preprocess["glossary"] = glossary_of(preprocess["glossary"], *languages)
        if preprocess.get("memory") is not None:
            languages = self._languages(preprocess.get("source_language"), preprocess.get("target_language"))
            preprocess["memory"] = memory_of(preprocess["memory"], *languages, preprocess.get("memory_threshold"))
        return (
            preprocess,
            {**own_forward, **forward, "generate_kwargs": generate_kwargs},
            {**own_postprocess, **postprocess},
        )

    def _languages(self, source_language: str | None, target_language: str | None) -> tuple[str, str | None]:
        """ISO 639 codes of the languages that were given, or else of the model."""
        config = self.model.config
        languages = LanguageTokens(self.tokenizer)
        source_language = source_language or getattr(config, "source_language", None)
        target_language = target_language or getattr(config, "target_language", None)
        return (
            languages.code(source_language, is_source=True) if source_language else _DEFAULT_LANGUAGE,
            languages.code(target_language) if target_language else None,
        )

    def _translate(
        self, inputs: Sequence[Any], preprocess: dict[str, Any], forward: dict[str, Any], postprocess: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """One dict for each document, with batches filled across documents."""
        prepared = [self.preprocess(document, **preprocess) for document in inputs]
        outputs = self.forward({"documents": prepared}, **forward)
        return [self.postprocess(output, **postprocess) for output in outputs["documents"]]

    def _translate_lazily(
        self, inputs: Iterable[Any], preprocess: dict[str, Any], forward: dict[str, Any], postprocess: dict[str, Any]
    ) -> Iterator[list[dict[str, Any]]]:
        group: list[Any] = []
        for document in inputs:
            group.append(document)
            if len(group) == forward["batch_size"]:
                yield from ([output] for output in self._translate(group, preprocess, forward, postprocess))
                group = []
        yield from ([output] for output in self._translate(group, preprocess, forward, postprocess))

    def preprocess(  # type: ignore[override]
        self,
        input_: Any,
        source_language: str | None = None,
        target_language: str | None = None,
        text_format: str = "plain",
        glossary: Any = None,
        do_not_translate: Any = None,
        memory: Any = None,
        memory_threshold: float | None = None,
    ) -> Any:
        """The document as paragraphs of sentences: a `PreparedDocument`."""
        language, target_language = self._languages(source_language, target_language)
        document = checked_document(input_)
        layout = document_layout(document, text_format, language, sentence_joiner(target_language))
        translation = document.get("context_translation")
        if translation is not None:
            translated = context_paragraphs(translation, target_language or _DEFAULT_LANGUAGE)
            translation = [sentence for paragraph in translated for sentence in paragraph]
        context = context_paragraphs(document.get("context"), language)
        paragraphs = document["paragraphs"] if "paragraphs" in document else layout.paragraphs()
        terms = glossary_of(document.get("glossary", glossary), language, target_language)
        untranslated = terms_of(document.get("do_not_translate", do_not_translate))
        known = memory_of(memory, language, target_language, memory_threshold)
        tags = {} if known is None else {number: slot.tags() for number, slot in enumerate(layout.slots)}
        source = SourceDocument(paragraphs, context, translation, terms, untranslated, known, tags)
        return PreparedDocument(source, layout)

    def _forward(  # type: ignore[override]
        self, model_inputs: Any, progress: bool = False, **options: Any
    ) -> Any:
        documents: list[PreparedDocument] = model_inputs["documents"]
        num_sentences = sum(len(paragraph) for document in documents for paragraph in document.source.paragraphs)
        bar = logging.tqdm(total=num_sentences, unit=" sentences", disable=not progress)
        translator = self._translator(documents, on_progress=bar.update if progress else None, **options)
        with bar:
            translations = translator.translate([document.source for document in documents])
        _warn(translations)
        return {"documents": [DocumentTranslation(*pair) for pair in zip(documents, translations, strict=True)]}

    def _translator(self, documents: Sequence[PreparedDocument], **options: Any) -> DocumentTranslator:
        translator = DocumentTranslator(self.model, self.tokenizer, self.target_tokenizer, **options)
        if translator.window_sentences == 1 and any(document.source.context for document in documents):
            logger.warning("context has no effect: sentences are translated one by one (window_sentences is 1)")
        return translator

    def postprocess(  # type: ignore[override]
        self, model_outputs: Any, return_sentences: bool = False, return_details: bool = False
    ) -> dict[str, Any]:
        """`{"translation_text": ...}`, and `"sentences"` and `"details"` if they are wanted."""
        output: dict[str, Any] = {"translation_text": model_outputs.text()}
        if return_sentences:
            output["sentences"] = model_outputs.sentences()
        if return_details:
            translated = model_outputs.translated
            output["details"] = details(
                translated.statistics,
                translated.events,
                translated.terms,
                model_outputs.confidences(),
                translated.memory,
            )
        return output

    def stream(
        self,
        document: Any,
        *,
        context: Any = None,
        context_translation: Any = None,
        batch_size: int = _STREAM_BATCH_SIZE,
        **kwargs: Any,
    ) -> Iterator[PlacedSentence]:
        """The sentences of one document in order, each as soon as it is known: `source`, `translation`, `white_space`
        before it, `paragraph`. Joined, white space and translations are the output of the call, except for rounding
        differences between batch sizes.

        Nothing is decoded before a sentence is requested, and nothing more once the iterator is closed. Between
        sentences the model may be used for something else.

        Args:
            document: a string or a dict, as in the call.
            context, context_translation: as in the call.
            batch_size: sentences that are decoded at the same time, at least one window.
            kwargs: options of the call, but `progress`, `confidence`, `return_sentences` and `return_details`.
        """
        preprocess, forward, _ = self._merged_parameters(kwargs)
        for name in ("progress", "confidence"):
            # A stream has no details.
            forward.pop(name, None)
        prepared = self.preprocess(with_context(document, context, context_translation), **preprocess)
        translator = self._translator([prepared], **{**forward, "batch_size": batch_size})
        return prepared.layout.translated_sentences(_told(translator.stream(prepared.source)))


def _told(stream: Generator[str, None, TranslatedDocument]) -> Iterator[str]:
    """The sentences of a stream; problems are logged at its end."""
    _warn([(yield from stream)])


def _warn(translations: Iterable[TranslatedDocument]) -> None:
    statistics = DecodingStatistics()
    for translation in translations:
        statistics.add(translation.statistics)
    for problem in statistics.problems():
        logger.warning(problem)


def register_pipelines() -> None:
    """Makes `pipeline("translation")` and `pipeline("document-translation")` return this class.

    Transformers 5 removed its own translation pipeline and, since 5.19, rejects the name before it reads the registry.
    """
    allow_translation_task()
    registry = pipelines.PIPELINE_REGISTRY
    for task in TASKS:
        registered = registry.supported_tasks.get(task, {}).get("impl")
        if registered is not DocumentTranslationPipeline:
            registry.register_pipeline(
                task, pipeline_class=DocumentTranslationPipeline, pt_model=AutoModelForSeq2SeqLM, type="text"
            )
    forget_registration(DocumentTranslationPipeline)
