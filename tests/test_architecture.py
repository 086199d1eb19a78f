"""What holds of the code as a whole: who imports whom, what is installed, what is documented and proved."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import inspect
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {
    "streamlearn": "streamlearn",
    "agents": "streamlearn/agents",
    "reporters": "streamlearn/reporters",
    "replays": "streamlearn/replays",
}
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

FEWEST_TESTS = 3000
MOST_LINES = 400

NOT_A_MECHANISM = {
    "agents/candidate_state.py": "what is saved of candidate replacement; it draws and decides nothing",
    "agents/pairs.py": "asks, teaches and saves two parts; what chooses between them has its proof",
    "agents/past.py": "what candidate replacement keeps of the past; proved with it",
    "reporters/ledger.py": "counts what the reporter's answers cost; it draws and decides nothing",
}


def installed(path: Path) -> str:
    """Where a file of the source folders lies in the wheel."""
    folder, *rest = path.relative_to(ROOT).parts
    return "/".join([FOLDERS[folder], *rest])


def module_name(path: Path) -> str:
    return installed(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{node.lineno}"


def parsed() -> list[tuple[Path, ast.AST]]:
    return [
        (path, node) for path in SOURCES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


def imported(path: Path, node: ast.AST) -> list[str]:
    """The absolute names an import statement may load; ``from a import b`` may load a.b."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        here = module_name(path).split(".")
        package = here if path.name == "__init__.py" else here[:-1]
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
    return [f"{base}.{alias.name}" for alias in node.names]


def part(name: str) -> str:
    """The part of the house a module of streamlearn belongs to."""
    names = name.split(".")
    return names[1] if names[1:] and names[1] in {"agents", "reporters", "replays", "cli"} else "core"


# --- who may import whom


def allowed(importer: str, target: str) -> bool:
    if importer in {"streamlearn.__main__", "streamlearn.cli"} or importer.startswith("streamlearn.cli."):
        return True
    return part(target) in {"core", part(importer)}


@pytest.mark.parametrize(
    ("importer", "target", "verdict"),
    [
        ("streamlearn.base", "streamlearn.agents.optimal", False),
        ("streamlearn.agents.optimal", "streamlearn.base.Stopper", True),
        ("streamlearn.agents.optimal", "streamlearn.reporters", False),
        ("streamlearn.replays.replay", "streamlearn.agents", False),
        ("streamlearn.replays.replay", "streamlearn.replays.scores", True),
        ("streamlearn.reporters.reporter", "streamlearn.cli", False),
        ("streamlearn.cli.stopping", "streamlearn.replays", True),
    ],
)
def test_the_import_rule_itself(importer, target, verdict):
    assert allowed(importer, target) is verdict


def test_imports_point_towards_the_core():
    wrong = [
        f"{place(path, node)} imports {target}"
        for path, node in parsed()
        for target in imported(path, node)
        if target.split(".")[0] == "streamlearn" and not allowed(module_name(path), target)
    ]
    assert wrong == []


def test_nobody_imports_a_top_level_agents_reporters_or_replays():
    bare = {"agents", "reporters", "replays"}
    wrong = [
        f"{place(path, node)} imports {target}"
        for path, node in parsed()
        for target in imported(path, node)
        if target.split(".")[0] in bare
    ]
    assert wrong == []


# --- what a user installs


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> set[str]:
    """The names in the wheel, built from a copy so that no earlier build's leftovers get in."""
    copy = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import setuptools.build_meta as backend; print(backend.build_wheel('.'))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(zipfile.ZipFile(next(copy.glob("*.whl"))).namelist())


def test_the_wheel_holds_all_modules_and_proofs_under_streamlearn_and_nothing_else(wheel):
    proofs = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.proof.md")]
    wanted = {installed(path) for path in [*SOURCES, *proofs]} | {"streamlearn/py.typed"}
    assert {name for name in wheel if ".dist-info/" not in name} == wanted


# --- what an import costs (the seconds are measured in benchmarks/)

HEAVY = {
    *("scipy.stats", "scipy.special", "scipy.integrate", "scipy.optimize"),
    *("river.evaluate", "pandas", "pyarrow", "matplotlib", "typer", "rich", "structlog"),
}


def loaded_by(statement: str) -> set[str]:
    """The modules a fresh interpreter loads for a statement, beyond those it starts with."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_streamlearn_is_nearly_free():
    # itself, its version, and typing with the little that typing loads
    loaded = loaded_by("import streamlearn")
    assert len(loaded) < 20, sorted(loaded)


def test_importing_the_agents_and_reporters_loads_nothing_heavy():
    loaded = loaded_by("import streamlearn.agents, streamlearn.reporters")
    assert loaded & HEAVY == set()
    # numpy and msgspec are most of it (about 190); scipy.stats alone would add 400
    assert len(loaded) < 300, len(loaded)


def test_importing_the_replays_loads_nothing_heavy():
    assert loaded_by("import streamlearn.replays") & HEAVY == set()


# --- proofs

HEADINGS = ["Claim", "Assumptions", "Proof", "Constants"]


def mechanisms() -> list[Path]:
    candidates = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in {"agents", "reporters"}]
    return [
        path
        for path in candidates
        if path.name != "__init__.py" and path.relative_to(ROOT).as_posix() not in NOT_A_MECHANISM
    ]


def test_every_mechanism_has_its_proof_beside_it():
    assert [str(path) for path in mechanisms() if not path.with_suffix(".proof.md").exists()] == []


def test_every_exception_from_proof_is_a_file():
    assert [name for name in NOT_A_MECHANISM if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("proof", sorted(ROOT.glob("[!.]*/**/*.proof.md")), ids=lambda path: path.name)
def test_a_proof_has_its_parts_and_its_code(proof):
    found = re.findall(rf"^## ({'|'.join(HEADINGS)})", proof.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found == HEADINGS
    assert proof.with_name(proof.name.replace(".proof.md", ".py")).exists()


# --- size


def test_the_suite_has_not_lost_its_tests(collected):
    assert collected >= FEWEST_TESTS


def test_no_file_is_too_long():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES
    }
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


# --- randomness

GENERATORS = {"Generator", "BitGenerator", "SeedSequence", "Philox", "PCG64", "default_rng"}


def global_randomness(path: Path, node: ast.AST) -> str | None:
    """Name what a node uses of numpy's global generator or of modules that keep their own."""
    match node:
        case ast.Import() | ast.ImportFrom():
            for name in imported(path, node):
                top, _, rest = name.partition(".")
                if top in {"random", "secrets"}:
                    return name
                if (
                    rest.startswith("random")
                    and top == "numpy"
                    and rest.removeprefix("random.") not in GENERATORS
                ):
                    return name
        case ast.Attribute(
            value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"), attr=attribute
        ):
            return None if attribute in GENERATORS else f"np.random.{attribute}"
    return None


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("np.random.seed(1)", "np.random.seed"),
        ("np.random.default_rng(1)", None),
        ("from numpy.random import rand", "numpy.random.rand"),
        ("from numpy.random import Generator", None),
        ("from numpy import random", "numpy.random"),
        ("import random", "random"),
        ("from secrets import token_bytes", "secrets.token_bytes"),
    ],
)
def test_the_randomness_rule_itself(code, found):
    uses = [global_randomness(ROOT / "agents/x.py", node) for node in ast.walk(ast.parse(code))]
    assert [use for use in uses if use] == ([found] if found else [])


def test_all_randomness_is_keyed_or_passed_in():
    uses = [
        f"{place(path, node)} uses {use}"
        for path, node in parsed()
        if path != ROOT / "streamlearn/randomness.py" and (use := global_randomness(path, node))
    ]
    assert uses == []


def test_agents_and_reporters_draw_by_key_alone():
    uses = [
        place(path, node)
        for path, node in parsed()
        if path.relative_to(ROOT).parts[0] in {"agents", "reporters"}
        and isinstance(node, ast.Attribute)
        and node.attr in {"default_rng", "SeedSequence"}
    ]
    assert uses == []


# --- nothing of one machine in the repository

# Written so that no pattern matches its own line.
OF_ONE_MACHINE = re.compile(
    r"[/]work/\w|[/]root/|[/]home/\w|[/]Users/\w|[/]opt/(wheels|pypi)"
    r"|pypi[.]org|pythonhosted[.]org|https?://[^\s)]+/simple\b|registry[.]npmjs|deb[.]debian"
    r"|--(extra-)?index[-]url|--find[-]links"
)


def repository_files() -> list[Path]:
    ignored = [
        ".git",
        *(line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()),
    ]

    def kept(folder: Path) -> list[Path]:
        entries = [
            entry for entry in folder.iterdir() if not any(fnmatch.fnmatch(entry.name, it) for it in ignored)
        ]
        return [file for entry in entries for file in (kept(entry) if entry.is_dir() else [entry])]

    return kept(ROOT)


def test_no_machine_path_and_no_registry_address_is_committed():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in repository_files()
        for number, line in enumerate(path.read_bytes().decode(errors="replace").splitlines(), start=1)
        if OF_ONE_MACHINE.search(line)
    ]
    assert found == []


# --- documentation

PUBLIC_MODULES = [
    "streamlearn",
    *(f"streamlearn.{name}" for name in ("agents", "priors", "replays", "reporters")),
]


def public() -> list[tuple[str, object]]:
    """The classes and functions of every ``__all__`` a user imports from."""
    modules = [importlib.import_module(name) for name in PUBLIC_MODULES]
    modules += [
        importlib.import_module(module_name(path))
        for path in SOURCES
        if "\n__all__ =" in path.read_text(encoding="utf-8")
    ]
    exported = [getattr(module, name) for module in modules for name in module.__all__]
    documented = [it for it in exported if inspect.isclass(it) or inspect.isfunction(it)]
    return sorted({f"{it.__module__}.{it.__qualname__}": it for it in documented}.items())


def sections(docstring: str) -> dict[str, str]:
    """The sections of a numpydoc docstring by their headings."""
    parts = re.split(r"^(\w[\w ]*)\n-+\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def undocumented_parameters(target: object) -> set[str]:
    """The parameters of a signature that its Parameters section does not name."""
    section = sections(target.__doc__).get("Parameters", "")
    heads = [line for line in section.splitlines() if line and not line.startswith(" ")]
    described = {name.strip(" *") for head in heads for name in head.split(" : ")[0].split(",")}
    if getattr(target, "_is_protocol", False):
        return set()  # nobody constructs one
    parameters = inspect.signature(target).parameters.values()
    return {it.name for it in parameters if it.kind is not it.VAR_KEYWORD} - described


def test_every_public_name_is_documented_with_an_example():
    faults = []
    for name, target in public():
        if not target.__doc__:
            faults.append(f"{name} has no docstring")
            continue
        missing = undocumented_parameters(target)
        if missing:
            faults.append(f"{name}: Parameters does not name {', '.join(sorted(missing))}")
        if ">>>" not in sections(target.__doc__).get("Examples", ""):
            faults.append(f"{name} has no Examples")
    assert not faults, "\n".join(faults)
