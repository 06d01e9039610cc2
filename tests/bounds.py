"""The wheel with the oldest libraries that it asks for, and on other Pythons: ``python -m tests.bounds WHEEL``.

With the lower bounds of ``pyproject.toml`` a study is played to its report, a table is reported on, and each extra
whose own bounds leave those of the plain install as they are is loaded. On each other Python of this machine
that the classifiers name, with the newest libraries, the demo is played and quick tests of the analysis are run.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLASSIFIER = "Programming Language :: Python :: 3."
TESTED_BY = ("pytest<9.2", "pytest-timeout", "hypothesis", "jsonschema")
SLICE = (
    "agreement/test_agreement_published.py",
    "strengths/test_bradley_terry.py",
    "correlations/test_correlations_coefficients.py",
    "planning/test_planning_power.py",
    "report/test_report_command.py",
)
EXTRAS = ("mturk", "postgres", "metrics", "openapi", "xlsx", "slurm")  # quick to load, and to install
LOADED = (
    "boto3",
    "psycopg",
    "openpyxl",
    "openapi_schema_validator",
    "dask_jobqueue",
    "mturk.endpoint.site.app",
    "spa.cluster",
)
RESOLVED_ONLY = (
    "local",
    "dashboard",
    "anthropic",
    "gemini",
    "errant",
    "explanations",
    "keywords",
    "s3",
)  # large, or with newer base libraries
IN_TURN = """
import json, sys
from click.testing import CliRunner
from spa.cli import main
for words in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 0, (words, ended.output, ended.exception)
sys.stdout.write(ended.stdout)
"""
RATINGS = "annotator_id,item_id,system,score\n" + "".join(
    f"a{number % 3},i{number // 6},{'xy'[number // 3 % 2]},{1 + number % 5}\n" for number in range(24)
)


def uv(*words: str | Path) -> str:
    """Run uv, and return what it prints."""
    command = [sys.executable, "-m", "uv", "--quiet", *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Environment:
    """A virtual environment, and an empty folder in which commands are typed."""

    def __init__(self, folder: Path, python: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        uv("venv", "--python", python, folder / "env")

    def install(self, *what: str | Path) -> None:
        """Install packages."""
        uv("pip", "install", "--python", self.python, *what)

    def run(self, *words: str) -> str:
        """Run Python with these arguments, which must succeed, and return what it prints."""
        done = subprocess.run([self.python, "-I", *words], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}: exit code {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def spa(self, *words: str) -> str:
        """Type a command, which must succeed, and return what it prints."""
        return self.run("-c", "from spa.cli import run; run()", *words)

    def spa_in_turn(self, *typed: Sequence[str]) -> str:
        """Type commands, which must succeed, in one process, and return what the last prints: libraries load once."""
        return self.run("-c", IN_TURN, json.dumps(typed))


def lowest(extras: Sequence[str]) -> str:
    """Return the requirements, a line each, whose direct ones are as old as ``pyproject.toml`` lets them be."""
    wanted = [word for extra in extras for word in ("--extra", extra)]
    return uv(
        *(
            "pip",
            "compile",
            "--resolution",
            "lowest-direct",
            "--python",
            sys.executable,
            "--no-annotate",
            "--no-header",
        ),
        *(*wanted, ROOT / "pyproject.toml"),
    )


def oldest() -> set[str]:
    """Return the project's own requirements at their lower bounds, as they are resolved without an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {re.split(r"[^\w.-]", line)[0] for line in project["dependencies"]}
    return {line for line in lowest(()).splitlines() if line.partition("==")[0] in direct}


def with_lowest(base: Path, wheel: Path) -> None:
    """Play the demo and report on a table with the oldest libraries, and load those of the extras."""
    requirements = base / "lowest.txt"
    requirements.write_text(lowest(EXTRAS))
    assert oldest() <= set(requirements.read_text().splitlines()), "an extra asks for newer libraries than the project"
    env = Environment(base / "lowest", sys.executable)
    env.install("--requirements", requirements)
    env.install("--no-deps", wheel)
    play(
        env,
        ("demo", "--example", "rankings", "--annotators", "4", "--out", "ranked"),
        ("init", "corrections", "--example", "sottana"),
        ("metrics", "corrections/study.toml", "--metric", "rouge,bleu,chrf,ter,sari", "--json"),
        ("mturk", "keys", "add", "lab", "--store", "lab.sqlite"),
    )
    env.run("-c", f"import {', '.join(LOADED)}")
    for extra in RESOLVED_ONLY:
        lowest((extra,))


def play(env: Environment, *more: Sequence[str]) -> None:
    """Play the demo with few annotators, type more, and report on a table of ratings."""
    env.spa("demo", "--annotators", "4", "--out", "demo")
    assert (env.folder / "demo" / "report" / "report.html").is_file()
    (env.folder / "ratings.csv").write_text(RATINGS)
    assert json.loads(env.spa_in_turn(*more, ("report", "--ratings", "ratings.csv", "--json")))["ratings"]


def pythons() -> dict[str, str]:
    """Return the other Pythons of the classifiers that this machine has: version -> program."""
    own = f"3.{sys.version_info.minor}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [f"3.{line.removeprefix(CLASSIFIER)}" for line in project["classifiers"] if line.startswith(CLASSIFIER)]
    return {version: found for version in named if version != own and (found := program(version)) is not None}


def program(version: str) -> str | None:
    """Return where a Python of this version is: on the path, or one of pyenv's."""
    name = f"python{version}"
    for place in (shutil.which(name), *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/{name}"))):
        if place is not None:
            done = subprocess.run([place, "-c", "pass"], capture_output=True, check=False)  # pyenv's shims may fail
            if done.returncode == 0:
                return str(place)
    return None


def on_other_pythons(base: Path, wheel: Path) -> None:
    """Play the demo on each other Python, and run a slice of the analysis' tests there."""
    for version, found in pythons().items():
        env = Environment(base / version, found)
        env.install(wheel, *TESTED_BY)
        play(env)
        env.run(
            "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(ROOT / "tests" / "analysis" / name) for name in SLICE)
        )


def main(arguments: Sequence[str]) -> None:
    """Try a wheel."""
    wheel = Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory() as base:
        with_lowest(Path(base), wheel)
        sys.stdout.write(f"{wheel.name} works with the oldest libraries that it asks for\n")
        on_other_pythons(Path(base), wheel)
        sys.stdout.write(f"{wheel.name} works on {', '.join(pythons()) or 'no other Python, as none is here'}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
