"""Which commands the guides show, and which of them no test types."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import tomlkit

from tests.guides.reader import GuideReader
from tests.shell_lines import Command, fenced, shell_commands

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = {path.name: path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"))}
NOT_RUN = {  # (document, how the command begins) -> why no test types it as it is written
    ("*", "pip install"): "takes the package from an index; test_docs.py sees that the extra exists",
    ("README.md", "python3 -m venv"): "makes an environment; everything else of the block is typed",
    ("README.md", ". spa-env"): "enters that environment",
    ("README.md", "make demo"): "makes an environment of its own; test_the_demo types its `spa demo`",
    ("README.md", "make test"): "these run the tests, and CI runs them",
    ("CONTRIBUTING.md", "make"): "these run the tests, and CI runs them",
    ("llm-raters.md", "spa rate my-study/study.toml --rater here"): "a model; see test_rater_local_command.py",
    ("cluster.md", "spa rate my-study/study.toml --rater here"): "jobs of SLURM and a model; see test_cluster.py",
    ("cluster.md", "spa build my-study/study.toml --store"): "a PostgreSQL of that name; test_guides.py types others",
}
STUDY = "my-study"  # every guide speaks of it; `spa init my-study` writes it

Step = Callable[[GuideReader], object]


def is_run(command: Command) -> bool:
    """Tell whether a test types the command."""
    return not any(
        document in ("*", command.document) and command.text.startswith(begins) for document, begins in NOT_RUN
    )


def walk(reader: GuideReader, name: str, before: Mapping[str, Step] | None = None) -> None:
    """Type the commands of a document one after the other.

    Parameters
    ----------
    reader : GuideReader
        With what the reader has before the first line.
    name : str
        The document.
    before : mapping, optional
        How a command begins -> what others do just before it is typed for the first time.
    """
    steps = dict(before or {})
    for command in filter(is_run, shell_commands(DOCUMENTS[name])):
        for begins in [begins for begins in steps if command.text.startswith(begins)]:
            steps.pop(begins)(reader)
        reader.type(command.text)
    assert not steps, f"{name} has no command that begins so: {', '.join(steps)}"


def init(reader: GuideReader, tables: str = "") -> Path:
    """Write the study that the guides speak of, with a guide's tables in place of those of the same name."""
    reader.spa("init", STUDY)
    study = reader.folder / STUDY / "study.toml"
    if tables:
        document = tomllib.loads(study.read_text(encoding="utf-8")) | tomllib.loads(reader.translated(tables))
        document["people"]["seconds_per_100_words"] = 0.01  # who plays the people reads at once
        study.write_text(tomlkit.dumps(document), encoding="utf-8")
    return study


def table(name: str, having: str) -> str:
    """Return the one TOML block of a document in which these words stand."""
    (found,) = [block for block in fenced(DOCUMENTS[name], "toml") if having in block]
    return found
