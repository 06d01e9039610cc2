"""The house rules that no linter holds: what an import loads, what the wheel carries, what the door shows."""

from __future__ import annotations

import ast
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("spa", "mturk", "prolific", "analysis", "streamlit_app")
HEAVY = ("transformers", "openai", "torch", "boto3", "botocore", "streamlit", "scipy")
LIMIT = 500  # lines a module; more than that is split by concept


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("package", ["spa", "spa.cli", "analysis"])
def test_an_import_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print(' '.join(name for name in {HEAVY!r} if name in sys.modules))"
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


@pytest.mark.parametrize("package", ["spa", "analysis"])
def test_the_public_door_is_sorted_and_complete(package: str) -> None:
    door = __import__(package)
    assert list(door.__all__) == sorted(door.__all__, key=str.casefold)
    assert all(hasattr(door, name) for name in door.__all__)


def test_no_module_is_a_whole_house() -> None:
    too_long = {str(path.relative_to(ROOT)): n for path in modules() if (n := path.read_text().count("\n")) > LIMIT}
    assert too_long == {}


def test_nothing_is_caught_blindly() -> None:
    """``except:`` and ``except Exception`` hide what nobody thought of."""
    blind = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler):
                caught = "everything" if node.type is None else ast.unparse(node.type)
                if caught in {"everything", "Exception", "BaseException"}:
                    blind.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert blind == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_templates_locales_examples_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packages = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert packages == set(PACKAGES)
    for wanted in ("spa/forms/locales/en.toml", "spa/forms/locales/zh.toml", "spa/forms/locales/ar.toml"):
        assert wanted in names
    assert any(name.startswith("spa/forms/templates/") for name in names)
    assert "spa/examples/stories/study.toml" in names
    assert "analysis/results.schema.json" in names


def test_the_script_works_from_the_wheel_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """The wheel is installed beside the packages that it needs, which the test run's environment has."""
    builder = venv.EnvBuilder(with_pip=False, system_site_packages=False)
    builder.create(tmp_path / "env")
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    outer = next(path for path in sys.path if path.endswith("site-packages"))
    code = f"import sys; sys.path.append({outer!r}); from spa.cli import main; import spa; print(spa.__file__); main()"
    python = tmp_path / "env" / "bin" / "python"
    shown = subprocess.run(
        [str(python), "-I", "-c", code, "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert str(site) in shown.stdout
    assert "report" in shown.stdout
