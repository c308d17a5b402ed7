# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family, from a folder and from a Hub, where the package is imported and where it is not there at all."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from fresh_processes import environment, run
from published_models import FAMILIES, write_marian
from publishing import Published, Workplace, publish
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM

OLD = "import sys, transformers; transformers.__version__ = '4.57.6'"


def jobs(published: dict[str, Published], way: str, commits: bool) -> str:
    """What `programs/with_package.py` and `programs/without_package.py` are given."""
    return json.dumps([job for one in published.values() for job in one.jobs(way, commits)])


def check_with_and_without(place: Workplace, published: dict[str, Published], commits: bool) -> None:
    """Fails unless the models load, answer and train in both ways, and training comes to the same in both."""
    marian = write_marian(place.folder / "marian")
    with ThreadPoolExecutor() as pool:
        ways = (
            pool.submit(place.with_package, "with_package", jobs(published, "with", commits), str(marian)),
            pool.submit(place.without_package, "without_package", jobs(published, "without", commits)),
        )
        for way in ways:
            way.result()
    for name in published:
        folders = [place.folder / f"{name}-{way}" for way in ("with", "without")]
        weights, others = [load_file(folder / "model.safetensors") for folder in folders]
        assert weights.keys() == others.keys()
        assert all(weight.equal(others[key]) for key, weight in weights.items())
        # What was saved without the package is loaded with it.
        AutoModelForSeq2SeqLM.from_pretrained(folders[1])


def test_every_family_works_with_and_without_the_package(place, published) -> None:
    check_with_and_without(place, published, commits=False)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_preset_and_every_checkpoint_of_it_works_with_and_without_the_package(place, family) -> None:
    models = {f"{family}-{name}": (config, True) for name, config in FAMILIES[family].items()}
    check_with_and_without(place, publish(place, models), commits=True)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_transformers_that_is_too_old_is_named_in_one_sentence(place, published, family, tmp_path) -> None:
    load = "transformers.AutoConfig.from_pretrained(sys.argv[1], trust_remote_code=True)"
    folder = str(published[family].checkpoint)
    for python, with_package, program in (
        (sys.executable, True, f"{OLD}; import hier_nmt"),
        (place.bare_python, False, f"{OLD}; {load}"),
    ):
        variables = environment(tmp_path, with_package=with_package)
        result = run([python, "-c", program, folder], variables, tmp_path)
        assert result.stderr.splitlines()[-1] == (
            "ImportError: this model needs Transformers 5.4 or newer, but 4.57.6 is installed: "
            "pip install --upgrade transformers"
        )
