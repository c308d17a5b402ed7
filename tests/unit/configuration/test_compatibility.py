# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import configparser

import pytest

from hier_nmt.configuration.compatibility import OLDEST_TRANSFORMERS, check_transformers, describe_untested_version


@pytest.mark.parametrize("version", ["5.4.0", "5.10.1", "5.23.0", "6.0.0.dev0", "10.0"])
def test_what_is_new_enough_is_accepted(version) -> None:
    check_transformers(version)


@pytest.mark.parametrize("version", ["4.57.6", "5.3.0", "5.0.0rc1", "4"])
def test_what_is_too_old_is_refused_by_both_versions(version) -> None:
    with pytest.raises(ImportError, match=rf"needs Transformers 5\.4 or newer, but {version} is installed"):
        check_transformers(version)


def test_the_oldest_version_is_that_of_the_requirements(repository) -> None:
    parser = configparser.ConfigParser()
    parser.read(repository / "setup.cfg", encoding="utf-8")
    oldest = ".".join(map(str, OLDEST_TRANSFORMERS))
    assert f"transformers>={oldest},<6" in parser["options"]["install_requires"].split("\n")


@pytest.mark.parametrize("version", ["5.4.0", "5.23.1", "5.24.0", "5.24.7"])
def test_there_is_nothing_to_say_of_tested_versions(version) -> None:
    assert describe_untested_version(version) == ""


@pytest.mark.parametrize("version", ["5.25.0", "5.40.0.dev0", "6.0.0"])
def test_a_version_newer_than_all_tested_ones_is_named_with_them_in_one_line(version) -> None:
    line = describe_untested_version(version)
    assert line.startswith(
        f"Transformers {version} is installed, but this release of hier_nmt was tested with 5.4 to 5.24"
    )
    assert line.endswith('pip install "transformers==5.24.*"')
    assert "\n" not in line
