"""Every example in a docstring runs.

The modules are those of the importable package: ``--doctest-modules agents`` would load second copies.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import pkgutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FEWEST_EXAMPLES = 60


def _modules() -> list[str]:
    """All modules of the package; in an editable install ``streamlearn.__path__`` misses the agents."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["setuptools"]["packages"]
    names = set(packages)
    for package in packages:
        folders = importlib.util.find_spec(package).submodule_search_locations
        names.update(module.name for module in pkgutil.iter_modules(folders, f"{package}."))
    return sorted(names)


def _written(module_name: str) -> list[doctest.Example]:
    """The examples in all docstrings of a module's source."""
    tree = ast.parse(Path(importlib.util.find_spec(module_name).origin).read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]
    return [example for text in docstrings for example in doctest.DocTestParser().get_examples(text)]


@pytest.mark.parametrize("module_name", _modules())
def test_examples_give_what_they_say(module_name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(importlib.import_module(module_name), optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0
    # doctest's own search passes over some docstrings (a cached_property's): examples there would never run.
    assert outcome.attempted == len(_written(module_name))


def test_there_are_examples_and_none_is_skipped():
    examples = [example for name in _modules() for example in _written(name)]
    assert len(examples) >= FEWEST_EXAMPLES
    assert not [example.source for example in examples if doctest.SKIP in example.options]
