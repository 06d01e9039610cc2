"""What is built is what is tracked: the wheel and the sdist against the files that git knows."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("spa", "mturk", "prolific", "analysis", "streamlit_app")


class Built(NamedTuple):
    """Names of the files in the two archives, without those that only describe the archive."""

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
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = {member.name.partition("/")[2] for member in archive if member.isfile()} - {"PKG-INFO"}
    return Built({name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}, files)


def test_the_wheel_holds_every_tracked_file_of_the_packages_and_no_other(built: Built, tracked: set[str]) -> None:
    assert built.wheel == {name for name in tracked if name.split("/")[0] in PACKAGES}


def test_the_sdist_holds_every_tracked_file_and_no_other(built: Built, tracked: set[str]) -> None:
    assert built.sdist == tracked


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_are_told_that_a_package_is_typed(built: Built, package: str) -> None:
    assert f"{package}/py.typed" in built.wheel
