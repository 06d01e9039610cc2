"""Answers in tables as people keep them, read by a mapping."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from spa.cli import main
from spa.importers.csv.mapping import Wide
from spa.importers.csv.wide import read_wide
from spa.importers.mapping import read_mapping

EVERY_EXAMPLE = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
Rows = dict[str, list[dict[str, Any]]]


def imported(folder: Path, mapping: str, **files: str) -> Rows:
    """Return the rows of each table, from files called by their names (with ``.csv``)."""
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    (folder / "import.toml").write_text(mapping, encoding="utf-8")
    paths = [folder / f"{name}.csv" for name in files]
    made = read_wide(paths, read_mapping(folder / "import.toml", Wide), folder / "import.toml")
    return {table: rows for table, rows in made.rows.items() if rows}


def refused(folder: Path, mapping: str, **files: str) -> list[str]:
    """Return the lines of the refusal; each is short."""
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    (folder / "import.toml").write_text(mapping, encoding="utf-8")
    paths = [str(folder / f"{name}.csv") for name in files]
    done = CliRunner().invoke(
        main, ["import", "csv", *paths, "--map", str(folder / "import.toml"), "--out", str(folder / "out")]
    )
    assert done.exit_code == 1, done.output
    assert not (folder / "out").exists()
    lines = done.output.splitlines()
    assert all(len(line.replace(str(folder), "")) < 500 for line in lines)
    return lines


def told(folder: Path, mapping: str, *arguments: str, **files: str) -> str:
    """Return what the command says."""
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    (folder / "import.toml").write_text(mapping, encoding="utf-8")
    paths = [str(folder / f"{name}.csv") for name in files]
    done = CliRunner().invoke(
        main, ["import", "csv", *paths, "--map", str(folder / "import.toml"), "--out", str(folder / "t"), *arguments]
    )
    assert done.exit_code == 0, done.output
    return done.output


def winners(rows: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count who won each answer, by who answered."""
    names = {"tie": "tie", None: "missing"}
    return Counter((row["annotator_id"], names.get(row["winner"]) or row[f"system_{row['winner']}"]) for row in rows)
