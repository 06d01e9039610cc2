"""The script beside packages that are called like ours: installed as from a wheel, in a folder of its own."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

import spa

HERE = Path(spa.__file__).parent
SOURCE = HERE / "launcher.py" if (HERE / "launcher.py").is_file() else HERE.parent / "spa_eval_script.py"
PACKAGES = ("spa", "analysis", "mturk", "prolific", "streamlit_app")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with the packages, the script's module, and what an installer says of them."""
    folder = tmp_path / "site"
    folder.mkdir()
    shutil.copyfile(SOURCE, folder / "spa_eval_script.py")
    about = folder / "spa_eval-0.1.0.dist-info"
    about.mkdir()
    record = []
    for name in PACKAGES:
        (folder / name).symlink_to(HERE.parent / name)
        digest = base64.urlsafe_b64encode(hashlib.sha256((HERE.parent / name / "__init__.py").read_bytes()).digest())
        record.append(f"{name}/__init__.py,sha256={digest.decode().rstrip('=')},1")
    (about / "RECORD").write_text("\n".join(record))
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: spa-eval\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text(
        "[spa.commands]\nplan = analysis.commands.plan:plan\nmturk = mturk.commands:mturk\n"
    )
    return folder


def run_script(*path: Path, words: tuple[str, ...], alone: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the script with these folders first on Python's path, and without another installation of ours if alone."""
    others = "[p for p in sys.path if not os.path.exists(os.path.join(p, 'spa', 'cli.py'))]" if alone else "sys.path"
    code = f"import os, sys\nsys.path = {[str(one) for one in path]} + {others}\nfrom spa_eval_script import run\nrun()"
    command = [sys.executable, "-c", code, *words]
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, capture_output=True, text=True, cwd=path[0], env=outside)


def test_packages_of_the_same_names_stand_behind_ours(site: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    for name in ("spa", "analysis"):
        (theirs / name).mkdir(parents=True)
        (theirs / name / "__init__.py").write_text("raise RuntimeError('theirs')\n")
    (theirs / "mturk.py").write_text("raise RuntimeError('theirs')\n")
    found = run_script(theirs, site, words=("mturk", "plan", "--help"))
    assert (found.returncode, found.stderr) == (0, "")
    assert "mturk plan [OPTIONS] [STUDY]" in found.stdout


def test_where_ours_is_not_one_line_names_what_stands_there(site: Path) -> None:
    (site / "spa").unlink()
    (site / "spa").mkdir()
    (site / "spa" / "__init__.py").touch()
    found = run_script(site, words=("check",), alone=True)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.splitlines() == [
        "spa: expected the packages of spa-eval on Python's path, got none; there is another package called spa, "
        f"{site / 'spa' / '__init__.py'}; install spa-eval again"
    ]


def test_a_distribution_installed_over_ours_is_named_in_one_line(site: Path) -> None:
    (site / "analysis").unlink()
    (site / "analysis").mkdir()
    (site / "analysis" / "__init__.py").write_text("VERSION = 7\n")
    found = run_script(site, words=("plan",))
    assert (found.returncode, found.stdout) == (1, "")
    (line,) = found.stderr.splitlines()
    assert line.startswith(f"spa: {site / 'analysis' / '__init__.py'} is not the file of spa-eval: another")
    assert len(line) < 500


def test_python_m_is_the_script_beside_other_packages(site: Path, tmp_path: Path) -> None:
    """``python -m spa`` puts the working folder first, where packages of our names may stand."""
    (tmp_path / "here" / "analysis").mkdir(parents=True)
    (tmp_path / "here" / "analysis" / "__init__.py").write_text("raise RuntimeError('theirs')\n")
    command = [sys.executable, "-m", "spa", "plan", "--help"]
    found = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path / "here", env={**os.environ, "PYTHONPATH": str(site)}
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "-m spa plan [OPTIONS] [STUDY]" in found.stdout


def test_python_m_runs_nothing_in_processes_it_starts() -> None:
    """A process that is spawned imports the main module again, under another name."""
    assert "run" not in run_path(str(HERE / "__main__.py"), run_name="__mp_main__")
