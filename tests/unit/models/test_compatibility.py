# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import configparser

import pytest

from hier_nmt.models.compatibility import OLDEST_TRANSFORMERS, check_transformers


@pytest.mark.parametrize("version", ["5.4.0", "5.10.1", "5.23.0", "6.0.0.dev0", "10.0"])
def test_what_is_new_enough_is_accepted(version) -> None:
    check_transformers(version)


@pytest.mark.parametrize("version", ["4.57.6", "5.3.0", "5.0.0rc1", "4"])
def test_what_is_too_old_is_refused_by_both_versions(version) -> None:
    with pytest.raises(ImportError, match=rf"needs Transformers 5\.4 or newer, and {version} is installed"):
        check_transformers(version)


def test_the_oldest_version_is_that_of_the_requirements(repository) -> None:
    parser = configparser.ConfigParser()
    parser.read(repository / "setup.cfg", encoding="utf-8")
    oldest = ".".join(map(str, OLDEST_TRANSFORMERS))
    assert f"transformers>={oldest},<6" in parser["options"]["install_requires"].split("\n")
