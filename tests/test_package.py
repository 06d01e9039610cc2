"""What is built is what is tracked: the wheel and the sdist against the files that git knows."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import need

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("spa", "mturk", "prolific", "analysis", "streamlit_app")


class Built(NamedTuple):
    """The wheel, and names of the files in the two archives, without those that only describe the archive."""

    archive: Path
    wheel: set[str]
    sdist: set[str]


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: nothing says which files belong to the project")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def built(tracked: set[str], tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the sdist and, from it, the wheel."""
    need("build", "uv")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--installer", "uv", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = {member.name.partition("/")[2] for member in archive if member.isfile()} - {"PKG-INFO"}
    return Built(wheel, {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}, files)


def test_the_wheel_holds_every_tracked_file_of_the_packages_and_no_other(built: Built, tracked: set[str]) -> None:
    assert built.wheel == {name for name in tracked if name.split("/")[0] in PACKAGES}


def test_the_sdist_holds_every_tracked_file_and_no_other(built: Built, tracked: set[str]) -> None:
    assert built.sdist == tracked


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_are_told_that_a_package_is_typed(built: Built, package: str) -> None:
    assert f"{package}/py.typed" in built.wheel


TYPED = """
from analysis import holm, rankings, rating_tests
from spa import load_study
reveal_type(holm([0.01]).p_adjusted)
reveal_type(load_study)
[test] = rating_tests({"score": [1]}, mapping={"rater": "annotator_id"}, llms=["gpt"], scale=(1, 5))
reveal_type(test.p_value)
reveal_type(rankings({"score": [1]})[0].order)
"""
REVEALED = (
    "numpy.ndarray",
    "def (path: pathlib.Path) -> spa.study.study.Study",
    "float | None",
    "tuple[tuple[str, ...], ...]",
)
WRONG = (
    ("holm(0.01)", "arg-type"),
    ("holm([0.01], rate=0.05)", "call-arg"),
    ("rating_tests({}, scales=(1, 5))", "call-arg"),
    ("rating_tests({}, mapping=['rater'])", "arg-type"),
    ("rating_tests({}).p_value", "attr-defined"),
)


def test_a_type_checker_sees_the_types_of_the_installed_wheel(built: Built, tmp_path: Path) -> None:
    need("mypy")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    beside = "import sysconfig; print(sysconfig.get_path('purelib'))"
    installed = subprocess.run([python, "-c", beside], capture_output=True, text=True, check=True).stdout.strip()
    zipfile.ZipFile(built.archive).extractall(installed)
    Path(installed, "libraries.pth").write_text(sysconfig.get_path("purelib"))
    script = tmp_path / "script.py"
    script.write_text(TYPED + "".join(f"{call}\n" for call, _ in WRONG))
    if (ROOT / ".mypy_cache").is_dir():  # libraries that were read when the checkout was checked
        shutil.copytree(ROOT / ".mypy_cache", tmp_path / ".mypy_cache")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--python-executable", str(python)]
    command = [sys.executable, "-m", "mypy", *settings, script.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "note: Revealed type is" in line]
    assert [kind.partition("[")[0] if "numpy" in kind else kind for kind in revealed] == list(REVEALED), done.stdout
    errors = [line.rpartition("[")[2].rstrip("]") for line in done.stdout.splitlines() if ": error: " in line]
    assert errors == [code for _, code in WRONG], done.stdout
