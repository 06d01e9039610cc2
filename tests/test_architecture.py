"""The house rules that no linter holds: what an import loads, what the public names are."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeAlias

import pytest

import analysis
import spa

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = Path(spa.__file__).parents[1]
PACKAGES = ("spa", "mturk", "prolific", "analysis", "streamlit_app")
HEAVY = ("transformers", "openai", "torch", "boto3", "botocore", "streamlit", "scipy")
LIMIT = 500  # lines a module; more than that is split by concept
LONGEST_TEST_NAME = 60  # characters
TOGETHER = 400  # lines up to which a module is one with the only one that needs it
# Modules of one importer beside them, though both are no more than TOGETHER. Doors and contributions put together.
APART = {
    "analysis.audit.audited_mean": "an estimator, with its paper; the rows are those of results.json",
    "analysis.audit.chances": "who is drawn, a function of arrays; waves know stores",
    "analysis.camps.differ_section": "half of a section",
    "analysis.explanations.embedding": "the models, which other libraries bring",
    "analysis.heds.answers": "what the study says, question by question; sheets know no question",
    "analysis.live.audit_follower": "reads on where it stopped; audits are worked out anew",
    "analysis.live.follower": "reads on where it stopped; states are made anew",
    "analysis.live.tally": "sums of answers, which know no store",
    "analysis.methods.annotators": "a module a paragraph",
    "analysis.methods.llms": "a module a paragraph",
    "analysis.metrics.sacrebleu_scores": "a module a library of metrics",
    "analysis.parts.counted_buckets": "buckets of counts beside those of rows",
    "analysis.report.asked": "a module a section, which sections.py puts in order",
    "analysis.report.fixed_tests": "a module a section, which sections.py puts in order",
    "analysis.report.headline": "a module a section, which sections.py puts in order",
    "analysis.results.table_warnings": "warnings, and no step of the analysis",
    "analysis.verification.by_choix": "a module a library that computes again",
    "analysis.verification.worker": "runs in a process of its own",
    "mturk.endpoint.sigv4": "AWS's signatures, by their specification",
    "mturk.endpoint.site.tasks": "a module a group of pages",
    "prolific.emulator.collection_routes": "a module a group of routes",
    "prolific.emulator.participant_routes": "a module a group of routes",
    "prolific.emulator.study_routes": "a module a group of routes",
    "prolific.emulator.submission_routes": "a module a group of routes",
    "spa.elicitation.word_diff": "knows nothing of the key, which view.py alone looks at",
    "spa.raters.vendors.local.seq2seq": "a module a kind of model",
    "spa.tables.arrow": "a module a format",
    "spa.tables.parquet": "a module a format",
    "streamlit_app.door": "who may come in, apart from how pages are served",
}


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
        "import sys\nfrom spa.importers import FORMATS, format_keys, format_of\n"
        "for key, place in zip(format_keys(), FORMATS):\n"
        "    format_of(key)\n"
        "    found = {'spa.elicitation', 'spa.responses', 'pydantic'} & {*sys.modules}\n"
        "    if found: sys.exit(f'{place}: import what loads {sorted(found)} within the function that reads')"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (loaded.returncode, loaded.stderr) == (0, "")


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


Noted: TypeAlias = ast.ExceptHandler | ast.ClassDef | ast.ImportFrom | ast.Constant


@pytest.fixture(scope="module")
def parsed() -> list[tuple[str, Noted]]:
    """Return classes, imports, constants and what is caught in all modules, each with its place."""
    return [
        (f"{path.relative_to(INSTALLED)}:{node.lineno}", node)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, Noted)
    ]


def test_module_of_one_importer_is_part_of_it(parsed: list[tuple[str, Noted]]) -> None:
    """A module that only one beside it needs was torn out of it, unless that puts a room together, or for a reason."""
    named = {
        ".".join(path.relative_to(INSTALLED).with_suffix("").parts).removesuffix(".__init__"): path
        for path in modules()
    }
    names = {str(path.relative_to(INSTALLED)): name for name, path in named.items()}
    importers: dict[str, dict[str, bool]] = {
        name: {} for name in named
    }  # by who imports them: when it is loaded itself
    in_strings = {(ROOT / "pyproject.toml").read_text()}  # what names a module does not load it with itself
    for place, node in parsed:
        if isinstance(node, ast.ImportFrom) and node.module:
            by = names[place.partition(":")[0]]
            for one in (*(f"{node.module}.{each.name}" for each in node.names), node.module):
                if one in named and one != by:
                    importers[one][by] = importers[one].get(by, False) or not node.col_offset
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ":" in node.value:
            in_strings.add(node.value)
    late = set(re.findall(r"\b[\w.]+(?=:)", "\n".join(in_strings)))
    sizes = {name: path.read_text().count("\n") for name, path in named.items()}
    found = set()
    for name, by in importers.items():
        if len(by) != 1 or named[name].name == "__init__.py" or name in late:
            continue
        ((only, loads),) = by.items()
        beside = named[name].parent == named[only].parent
        put_together = named[only].name in ("__init__.py", "contribution.py")
        if loads and beside and not put_together and sizes[name] + sizes[only] <= TOGETHER:
            found.add(name)
    assert found == set(APART)


AXES = {  # registry -> its tuple
    "spa/elicitation/__init__.py": "WAYS",
    "spa/widgets/__init__.py": "WIDGETS",
    "spa/media/__init__.py": "MEDIA",
    "spa/raters/vendors/__init__.py": "VENDORS",
    "spa/importers/__init__.py": "FORMATS",
}


def members_of(registry: str, name: str) -> list[str]:
    """Return the modules of the members of an axis, as its registry writes them."""
    tree = ast.parse((INSTALLED / registry).read_text(encoding="utf-8"))
    places = {
        each.asname or each.name: (node.module, each.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == name and isinstance(node.value, ast.Tuple):  # type: ignore[attr-defined]
            entries = node.value.elts  # type: ignore[attr-defined]
            break
    found = []
    for entry in entries:
        one = entry.func if isinstance(entry, ast.Call) else entry
        if isinstance(one, ast.Constant):
            found.append(str(one.value))
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            found.append(".".join(places[one.value.id]))
        elif isinstance(one, ast.Name):
            found.append(places[one.id][0])
    return found


def test_contracts_name_every_member_of_an_axis() -> None:
    """Where a contract of pyproject.toml lists members of an axis, it lists each: add those that are said to lack."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    axes = [members_of(registry, name) for registry, name in AXES.items()]
    platforms = [place.partition(":")[0] for place in project["project"]["entry-points"]["spa.platforms"].values()]
    packages = [place.removesuffix(".platform") for place in platforms]
    assert all(len(members) > 2 for members in axes)
    lacking = {
        f"{contract['name']}, {key}: {member}"
        for contract in project["tool"]["importlinter"]["contracts"]
        for key in ("modules", "forbidden_modules", "protected_modules")
        for members in (*axes, *([packages] if key == "modules" else []))  # layers keep steps from other packages
        if len({*members} & {*contract.get(key, ())}) > 1
        for member in members
        if member not in contract[key]
    }
    assert not lacking, "\n".join(sorted(lacking))


def test_nothing_is_caught_blindly(parsed: list[tuple[str, Noted]]) -> None:
    """``except:`` and ``except Exception`` hide what nobody thought of."""
    blind = []
    for place, node in parsed:
        if isinstance(node, ast.ExceptHandler):
            caught = "everything" if node.type is None else ast.unparse(node.type)
            if caught in {"everything", "Exception", "BaseException"}:
                blind.append(place)
    assert blind == []


def test_a_class_name_stands_for_one_class(parsed: list[tuple[str, Noted]]) -> None:
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
