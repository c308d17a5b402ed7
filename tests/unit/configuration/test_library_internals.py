# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the package uses of other libraries without their promise: each test says what changed when it fails."""

import ast
import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import datasets
import pytest
import torch
import transformers
from tiny_models import source_inputs, tiny_model
from torch import nn
from transformers import GenerationMixin, Pipeline, Trainer, TrainingArguments, pipelines
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import Seq2SeqLMOutput, Seq2SeqModelOutput

import hier_nmt
from hier_nmt.configuration import library_internals
from hier_nmt.configuration.library_internals import CACHE_NAME, named_cache, one_cache
from hier_nmt.data.library_internals import dataset_fingerprint

LIBRARIES = ("transformers", "accelerate", "datasets", "tokenizers", "huggingface_hub", "evaluate")
VERSIONS = ", ".join(f"{library.__name__} {library.__version__}" for library in (transformers, datasets))
REPOSITORY = Path(__file__).parents[3]
PACKAGE = Path(str(hier_nmt.__file__)).parent

# Names with an underscore that classes of the package override because a library reads or calls them.
OVERRIDDEN_PRIVATE_NAMES = {
    # How a model describes itself, as all models of Transformers do.
    "PreTrainedModel": {
        "_can_compile_fullgraph",
        "_can_record_outputs",
        "_init_weights",
        "_is_stateful",
        "_no_split_modules",
        "_supports_attention_backend",
        "_supports_flex_attn",
        "_supports_sdpa",
        "_tied_weights_keys",
    },
    "GenerationMixin": {"_supports_default_dynamic_cache"},
    # What the documentation of custom pipelines asks for, and which parts of a checkpoint are loaded.
    "Pipeline": {
        "_forward",
        "_load_feature_extractor",
        "_load_image_processor",
        "_load_processor",
        "_load_tokenizer",
        "_sanitize_parameters",
    },
    # What the documentation of new metrics asks for.
    "EvaluationModule": {"_compute", "_info"},
}


def changed(what: str) -> str:
    """The sentence of a test that fails."""
    return (
        f"upstream changed ({VERSIONS}): {what}; see hier_nmt/configuration/library_internals.py and docs/upstream.md"
    )


def package_modules() -> Iterator[object]:
    for module in pkgutil.walk_packages(hier_nmt.__path__, "hier_nmt."):
        if not module.name.startswith("hier_nmt.kernels"):
            yield importlib.import_module(module.name)


def package_classes() -> set[type]:
    return {
        value
        for module in package_modules()
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__.startswith("hier_nmt")
    }


def overridden_private_names() -> dict[str, set[str]]:
    """Private names in classes of the package that a class of a library has too, by the name of that class."""
    found: dict[str, set[str]] = {}
    for owned in package_classes():
        bases = [base for base in owned.__mro__ if base.__module__.split(".")[0] in LIBRARIES]
        for name in vars(owned):
            owners = [base for base in bases if name in vars(base) or name in vars(base).get("__annotations__", {})]
            if re.match(r"_[a-z]", name) and not name.startswith("_abc_") and owners:
                found.setdefault(owners[-1].__name__, set()).add(name)
    return found


def test_no_private_name_is_overridden_but_those_listed() -> None:
    # A model that makes its own cache says so by a mixin, which has none of the library's classes as base.
    expected = {owner: set(names) for owner, names in OVERRIDDEN_PRIVATE_NAMES.items() if owner != "GenerationMixin"}
    expected["PreTrainedModel"] -= {"_is_stateful"}
    assert overridden_private_names() == expected


def private_uses(path: Path) -> Iterator[str]:
    """Private names that a file reads, and no file of the package defines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
            yield node.attr


def defined_names() -> set[str]:
    """Names of functions and classes, and of attributes and variables that are assigned, in the whole package."""
    names: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def test_private_names_of_libraries_are_used_in_one_module_only() -> None:
    own = defined_names() | {"_replace", "_asdict", "_fields"}  # the last are named tuples'
    used = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        if path.name != "library_internals.py"
        for name in private_uses(path)
        if name not in own
    }
    assert used == set()


def test_the_page_for_maintainers_names_everything() -> None:
    page = (REPOSITORY / "docs" / "upstream.md").read_text(encoding="utf-8")
    names = {name for names in OVERRIDDEN_PRIVATE_NAMES.values() for name in names}
    assert {
        name for name in names | {*library_internals.__all__, "dataset_fingerprint"} if f"`{name}`" not in page
    } == set()


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (owner, name)
        for owner in ("PreTrainedModel", "GenerationMixin", "Pipeline")
        for name in sorted(OVERRIDDEN_PRIVATE_NAMES[owner])
    ],
)
def test_what_classes_of_the_package_override_still_exists(owner: str, name: str) -> None:
    source = Path(transformers.__file__).parent
    files = [path for folder in (".", "generation", "pipelines", "utils") for path in (source / folder).glob("*.py")]
    is_known = any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in files)
    assert is_known, changed(f"there is no {owner}.{name} any more")


def test_the_cache_has_one_name_everywhere() -> None:
    for owner in (Seq2SeqLMOutput, Seq2SeqModelOutput):
        names = {field.name for field in fields(owner)}
        assert CACHE_NAME in names, changed(f"{owner.__name__} has no field {CACHE_NAME!r}")
    for function in (GenerationMixin.prepare_inputs_for_generation, create_causal_mask):
        names = set(inspect.signature(function).parameters)
        assert CACHE_NAME in names, changed(f"{function.__qualname__} has no argument {CACHE_NAME!r}")


def test_either_name_gives_the_cache_and_both_are_refused() -> None:
    cache, other = DynamicCache(), DynamicCache()
    assert one_cache(None, None) is None
    assert one_cache(cache, None) is cache
    assert one_cache(None, cache) is cache
    assert one_cache(cache, cache) is cache
    assert named_cache(cache) == {CACHE_NAME: cache}
    with pytest.raises(ValueError, match="cache and past_key_values are two names of one argument"):
        one_cache(cache, other)


def test_the_older_name_is_deprecated_where_transformers_has_another_one() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        one_cache(DynamicCache(), None)
        assert caught == []
        one_cache(None, DynamicCache())
    deprecated = ["`past_key_values` is deprecated in Transformers; use `cache`"]
    assert [str(warning.message) for warning in caught] == (deprecated if CACHE_NAME == "cache" else [])


def test_a_resized_embedding_keeps_the_old_rows() -> None:
    model, embedding = tiny_model(), nn.Embedding(5, 3)
    before = embedding.weight.detach().clone()
    resized = library_internals.resized_embedding(model, embedding, 7)
    assert resized.weight.shape == (7, 3), changed("PreTrainedModel._get_resized_embeddings gives another size")
    assert torch.equal(resized.weight[:5], before)


def test_a_resized_output_layer_keeps_the_old_rows() -> None:
    model, layer = tiny_model(), nn.Linear(3, 5, bias=False)
    before = layer.weight.detach().clone()
    resized = library_internals.resized_output_layer(model, layer, 7)
    assert resized.weight.shape == (7, 3), changed("PreTrainedModel._get_resized_lm_head gives another size")
    assert torch.equal(resized.weight[:5], before)


@pytest.mark.parametrize("name", ["eager", "sdpa"])
def test_the_chosen_attention_is_known(name: str) -> None:
    model = tiny_model()
    model.set_attn_implementation(name)
    found = library_internals.configured_attention(model.config)
    assert found == name, changed("config._attn_implementation does not say what set_attn_implementation chose")


def test_the_task_of_translation_can_be_registered() -> None:
    removed = getattr(pipelines, "REMOVED_TASKS", {})
    assert "translation" not in removed, changed("pipelines.REMOVED_TASKS is no longer the table that is read")
    assert "translation" in pipelines.PIPELINE_REGISTRY.get_supported_tasks()


def test_registering_marks_a_pipeline_class_and_the_mark_can_be_removed() -> None:
    class Marked(Pipeline):
        pass

    registry = type(pipelines.PIPELINE_REGISTRY)(supported_tasks={}, task_aliases={})
    registry.register_pipeline("marked", pipeline_class=Marked, type="text")
    assert "_registered_impl" in vars(Marked), changed("register_pipeline no longer sets _registered_impl")
    library_internals.forget_registration(Marked)
    assert "_registered_impl" not in vars(Marked)
    library_internals.forget_registration(Marked)


def test_a_pipeline_says_what_it_was_built_with() -> None:
    class Options(Pipeline):
        def __init__(self) -> None:
            super().__init__(tiny_model(), device="cpu", batch_size=3, first=1, second=2)

        def _sanitize_parameters(self, **kwargs):
            return {"first": kwargs["first"]}, {"second": kwargs["second"]}, {}

        def preprocess(self, input_):
            raise NotImplementedError

        def _forward(self, input_tensors):
            raise NotImplementedError

        def postprocess(self, model_outputs):
            raise NotImplementedError

    built = Options()
    expected = ({"first": 1}, {"second": 2}, {})
    assert library_internals.pipeline_parameters(built) == expected, changed("Pipeline keeps its parameters elsewhere")
    assert library_internals.pipeline_batch_size(built) == 3, changed("Pipeline keeps batch_size elsewhere")


def test_a_process_can_be_kept_to_one_gpu(tmp_path) -> None:
    arguments = TrainingArguments(output_dir=str(tmp_path), use_cpu=True)
    arguments._n_gpu = 4
    library_internals.use_one_gpu(arguments)
    assert arguments.n_gpu == 1, changed("TrainingArguments.n_gpu no longer follows _n_gpu")


@pytest.mark.parametrize(
    "name", ["label_smoother", "model_accepts_loss_kwargs", "gather_function", "is_deepspeed_enabled"]
)
def test_trainer_reads_what_is_set_of_it(name: str) -> None:
    source = Path(str(inspect.getsourcefile(Trainer))).read_text(encoding="utf-8")
    assert f"self.{name}" in source, changed(f"Trainer no longer reads its {name}")


def test_what_is_set_of_a_trainer_is_set() -> None:
    trainer = SimpleNamespace(accelerator=SimpleNamespace(gather_for_metrics=object()), label_smoother=1)
    library_internals.take_over_the_loss(trainer)
    library_internals.gather_without_padding(trainer)
    library_internals.leave_deepspeed(trainer)
    assert trainer.label_smoother is None
    assert trainer.model_accepts_loss_kwargs
    assert trainer.gather_function is trainer.accelerator.gather_for_metrics
    assert not trainer.is_deepspeed_enabled


def test_trainer_waits_for_an_upload_by_that_name(tmp_path) -> None:
    waited = []

    class Upload:
        def is_done(self) -> bool:
            return False

        def wait_until_done(self) -> None:
            waited.append(True)

    trainer = Trainer(tiny_model(), TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to=[]))
    trainer.push_in_progress = Upload()
    library_internals.finish_upload(trainer)
    assert waited, changed("Trainer._finish_current_push no longer waits for Trainer.push_in_progress")


def test_a_dataset_has_another_fingerprint_with_other_rows() -> None:
    one, same, other = (datasets.Dataset.from_dict({"n": values}) for values in ([1, 2], [1, 2], [1, 3]))
    prints = [dataset_fingerprint(table.map(lambda row: row)) for table in (one, same, other)]
    assert len(set(prints)) >= 2, changed("Dataset._fingerprint no longer tells tables apart")
    assert all(isinstance(value, str) and value for value in prints)


def test_a_cache_of_encoder_and_decoder_has_what_the_layers_use() -> None:
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    model = tiny_model()
    model(**source_inputs(), decoder_input_ids=torch.tensor([[2, 7]] * 3), **named_cache(cache), use_cache=True)
    assert all(cache.is_updated.values()), changed("EncoderDecoderCache.is_updated is no table of layers")
    assert len(cache.self_attention_cache.layers) == model.config.decoder_layers
    assert not cache.self_attention_cache.offloading, changed("DynamicCache.offloading is gone")
    assert not cache.is_compileable
