"""The house rules that no linter holds: what an import loads, what the public names are."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

import analysis
import spa

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = Path(spa.__file__).parents[1]
PACKAGES = ("spa", "mturk", "prolific", "analysis", "streamlit_app")
HEAVY = ("transformers", "openai", "torch", "boto3", "botocore", "streamlit", "scipy")
LIMIT = 500  # lines a module; more than that is split by concept
LONGEST_TEST_NAME = 60  # characters


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((INSTALLED / package).rglob("*.py"))]


@pytest.mark.parametrize("package", ["spa", "spa.cli", "spa.raters.vendors", "analysis"])
def test_an_import_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print(' '.join(name for name in {HEAVY!r} if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert loaded.stdout.split() == []


def test_recognising_a_file_loads_no_way_of_asking() -> None:
    """Every `spa report FILE` looks at a file with every format; what reads it is loaded when one is taken."""
    code = (
        "import sys\nfrom spa.importers import format_keys, format_of\n"
        "for key in format_keys(): format_of(key)\n"
        "print(' '.join(name for name in ('spa.elicitation', 'spa.responses', 'pydantic') if name in sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert loaded.stdout.split() == []


def test_help_of_every_command_loads_nothing_heavy() -> None:
    """Also proves that every registered command exists, has a help text and shows an example."""
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom spa.cli import main\n"
        f"names = {[point.name for point in entry_points(group='spa.commands')]!r}\n"
        "for name in names:\n"
        "    shown = CliRunner().invoke(main, [name, '--help'])\n"
        "    assert shown.exit_code == 0, (name, shown.output)\n"
        "    assert 'Example' in shown.output, name + ' shows no example'\n"
        f"print(' '.join(name for name in {HEAVY!r} if name in sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.split() == []


@pytest.mark.parametrize("package", [spa, analysis])
def test_every_public_name_of_the_stub_leads_somewhere(package: ModuleType) -> None:
    stub = ast.parse(Path(package.__file__ or "").with_suffix(".pyi").read_text())
    homes = {name.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert list(package.__all__) == sorted(homes) == dir(package)
    for name, home in homes.items():
        found = getattr(package, name)
        assert found is getattr(import_module(f"{package.__name__}.{home}"), name)
        assert pickle.loads(pickle.dumps(found)) is found


@pytest.mark.parametrize("package", [spa, analysis])
def test_no_public_name_is_that_of_a_room(package: ModuleType) -> None:
    """An import of the room would put the module in the place of the function."""
    assert not {room.name for room in iter_modules(package.__path__)} & set(package.__all__)


def test_no_function_of_a_door_is_named_as_a_module_behind_it() -> None:
    """As above, in every folder."""
    for door in (path for path in modules() if path.name == "__init__.py"):
        written = (
            node for node in ast.parse(door.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        )
        behind = {room.name for room in iter_modules([str(door.parent)])}
        assert not {node.name for node in written} & behind, door


def test_no_module_is_a_whole_house() -> None:
    too_long = {
        str(path.relative_to(INSTALLED)): n for path in modules() if (n := path.read_text().count("\n")) > LIMIT
    }
    assert too_long == {}


@pytest.fixture(scope="module")
def parsed() -> list[tuple[str, ast.ExceptHandler | ast.ClassDef]]:
    """Return the classes and what is caught in all modules, each with its place."""
    return [
        (f"{path.relative_to(INSTALLED)}:{node.lineno}", node)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.ExceptHandler, ast.ClassDef))
    ]


def test_nothing_is_caught_blindly(parsed: list[tuple[str, ast.AST]]) -> None:
    """``except:`` and ``except Exception`` hide what nobody thought of."""
    blind = []
    for place, node in parsed:
        if isinstance(node, ast.ExceptHandler):
            caught = "everything" if node.type is None else ast.unparse(node.type)
            if caught in {"everything", "Exception", "BaseException"}:
                blind.append(place)
    assert blind == []


def test_a_class_name_stands_for_one_class(parsed: list[tuple[str, ast.AST]]) -> None:
    """A reader who meets a name in any file of a room knows which class is meant."""
    places: dict[tuple[str, str], list[str]] = {}
    for place, node in parsed:
        if isinstance(node, ast.ClassDef):
            room = "/".join(Path(place).parts[:2])
            places.setdefault((room, node.name), []).append(place)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_names_of_tests_are_short() -> None:
    """A test is named test_<what>_<case>; what it says as a sentence stands in its docstring."""
    named = [
        found
        for path in (ROOT / "tests").rglob("*.py")
        for found in re.findall(r"^ *(?:async )?def (test_\w+)\(", path.read_text(), re.MULTILINE)
    ]
    assert named
    assert [name for name in named if len(name) > LONGEST_TEST_NAME] == []
