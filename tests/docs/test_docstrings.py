"""Every example in a docstring of the library runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import forkpoint

MODULES = [
    "forkpoint",
    *(module.name for module in pkgutil.walk_packages(forkpoint.__path__, "forkpoint.")),
]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    results = doctest.testmod(module, optionflags=OPTIONS, verbose=False)
    assert results.failed == 0, f"{results.failed} of {results.attempted} examples; see output"
