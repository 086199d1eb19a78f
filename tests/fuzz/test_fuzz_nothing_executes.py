"""No decoder turns data into code: none has the means, and what would be code elsewhere does nothing here."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import fuzzagents
import fuzzdecoders
import fuzzing
import msgspec
import pytest
from fuzzedits import PAYLOADS, edited

from streamlearn import state
from streamlearn.errors import StateError, StreamlearnError
from streamlearn.hypotheses import notation

FOLDERS = [
    Path(importlib.util.find_spec(name).origin).parent
    for name in ("streamlearn", "streamlearn.agents", "streamlearn.reporters", "streamlearn.replays")
]
CALLS = {"eval", "exec", "compile", "__import__", "import_module", "find_spec", "run_path",
         "run_module", "system", "popen", "Popen", "check_output", "check_call", "literal_eval"}  # fmt: skip
MODULES = {"pickle", "cPickle", "_pickle", "dill", "shelve", "marshal", "yaml", "subprocess", "runpy", "importlib",
           "ast", "ctypes", "code", "codeop"}  # fmt: skip
LOADERS = {"allow_pickle"}
"""A keyword that lets numpy unpickle."""

ALLOWED = {
    ("__init__.py", "importlib"): "the package's own lazy attributes, by names written there",
    ("__init__.py", "import_module"): "as above: only names in its tables get there",
    (
        "checks/common.py",
        "pickle",
    ): "checks that an agent can be pickled, and loads what it wrote a line before",
    ("privacy/__init__.py", "importlib"): "as for the whole package",
    ("privacy/__init__.py", "import_module"): "as above",
    (
        "cli/auditing.py",
        "importlib",
    ): "audit --mechanism module:function, named by whoever calls the command line",
    ("cli/auditing.py", "import_module"): "as above",
}
"""Where a means is used all the same, and why data cannot reach it."""


def sources():
    """The package's files, each by a name that starts after ``streamlearn``."""
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder)
            yield (inside.as_posix() if folder is FOLDERS[0] else f"{folder.name}/{inside.as_posix()}"), path


def means(tree):
    """What could turn data into code: imports of such modules, and calls of such functions by any name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from MODULES & {it.name.partition(".")[0] for it in node.names}
        elif isinstance(node, ast.ImportFrom):
            yield from MODULES & {(node.module or "").partition(".")[0]}
            yield from CALLS & {it.name for it in node.names}
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in CALLS and not (name == "compile" and _of_re(called)):
                yield name
            yield from LOADERS & {it.arg for it in node.keywords}


def _of_re(called):
    return (
        isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
    )


def test_no_module_has_the_means_but_for_those_with_a_reason():
    found = {(name, it) for name, path in sources() for it in means(ast.parse(path.read_text()))}
    assert found <= set(ALLOWED), sorted(found - set(ALLOWED))


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import importlib.util",
        "eval(text)",
        "builtins.exec(text)",
        "importlib.import_module(name)",
        "from os import system",
        "np.load(path, allow_pickle=True)",
        "compile(text, '', 'exec')",
    ],
)
def test_the_scan_sees(code):
    assert list(means(ast.parse(code)))


def test_the_scan_reads_the_whole_package():
    names = {name for name, _ in sources()}
    assert {
        "state.py",
        "agents/pairs.py",
        "reporters/reporter.py",
        "replays/sources.py",
        "live/store.py",
    } <= names
    assert not list(means(ast.parse("re.compile(x)")))


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty working folder, in which anything that ran would leave the file ``executed``."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("decoder", fuzzdecoders.DECODERS, ids=str)
def test_code_in_the_place_of_data_does_nothing(decoder, elsewhere):
    for payload in (
        *PAYLOADS,
        b'"os:system"',
        b'"streamlearn.files:write_atomically"',
        b'{"$ref":"os.system"}',
    ):
        fuzzing.check(decoder, payload)
        for place in (1, 3, 6):
            fuzzing.check(decoder, edited(decoder.seeds[0], ("replace", place, 0, payload)))
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    "kind", ["os:system", "posix.system", "streamlearn.agents:SOA", "builtins.eval", "", "__class__"]
)
def test_the_kind_of_a_state_is_looked_up_and_never_imported(kind):
    modules = set(sys.modules)
    whole = msgspec.json.decode(fuzzagents.saved("SOA")) | {"kind": kind}
    with pytest.raises(StateError, match="unknown kind"):
        state.loads(msgspec.json.encode(whole), fuzzagents.fresh("SOA"))
    assert set(sys.modules) == modules


def test_a_pickled_table_is_refused_unread(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.chdir(tmp_path)

    class Runs:
        def __reduce__(self):
            return Path.touch, (Path("executed"),)

    np.save("table.npy", np.array([[Runs()]], dtype=object), allow_pickle=True)
    with pytest.raises(StreamlearnError):
        notation.parse("finite:table.npy")
    assert not Path("executed").exists()
    np.load("table.npy", allow_pickle=True)  # what was refused would have run
    assert Path("executed").exists()
