"""The systems that four papers describe, each made by one command; ``make golden`` runs them all.

``python -m tests.golden.rows`` runs them in a temporary folder and exits with 1 where one fails or does not give what
it should; ``--table FILE`` writes the table alone.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ROWS = Path(__file__).with_name("rows.toml")
TABLE = ROWS.with_suffix(".md")
ANNOTATORS = "6"
TITLE = """# Systems of the papers

Each by one command (`make golden` runs them, after `spa init NAME --example NAME`, `build`, `simulate`, `rate`).
Without published answers people are simulated: the layout is the paper's, the figures are not.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """One system: where a paper describes it, what makes it, and what that gives (a file, or a word printed)."""

    number: int
    paper: str
    place: str
    system: str
    command: str | None = None
    gives: str | None = None
    note: str = ""
    why: str | None = None  # why no command can be run here

    @property
    def needs_data(self) -> bool:
        """Whether its command reads published annotations."""
        return self.command is not None and "{data}" in self.command


def paper_rows() -> list[PaperRow]:
    """Return the rows."""
    return [PaperRow(**row) for row in _read()["row"]]


def as_table() -> str:
    """Return the rows as a Markdown page."""
    papers = _read()["papers"]
    lines = ["| | paper | system | command | gives |", "|---|---|---|---|---|"]
    for row in paper_rows():
        where = ", ".join(part for part in (papers[row.paper], row.place) if part)
        command = row.why if row.command is None else f"`spa {row.command.replace('{data}', 'DATA')}`"
        gives = "; ".join(part for part in (f"`{row.gives}`" if row.gives else "", row.note) if part)
        lines.append(f"| {row.number} | {where} | {row.system} | {command} | {gives} |")
    return TITLE + "\n".join(lines) + "\n"


def run_rows(folder: Path, data: Path) -> Iterator[tuple[PaperRow, str | None]]:
    """Run every command in a folder, and yield what is wrong with each row, ``None`` for nothing.

    A command that two rows share is run once.
    """
    prepare(folder)
    done: dict[str, subprocess.CompletedProcess[str]] = {}
    for row in paper_rows():
        if row.command is None or row.gives is None or (row.needs_data and not data.is_dir()):
            continue
        if row.command not in done:
            done[row.command] = _spa(folder, *shlex.split(row.command.replace("{data}", str(data))))
        result = done[row.command]
        made = row.gives in result.stdout or any(folder.glob(row.gives))
        failed = f"exit code {result.returncode}: {result.stderr[-300:]}" if result.returncode else None
        yield row, failed or (None if made else f"gives no {row.gives}")


def prepare(folder: Path) -> None:
    """Write the example studies, and let people and a rater answer them."""
    for name in _read()["prepare"]["examples"]:
        study = f"{name}/study.toml"
        _must(folder, "init", name, "--example", name)
        answer(folder, study)
    answer(folder, "images/exposure.toml")
    (folder / "potato.toml").write_text(potato_mapping())
    _must(folder, "init", "reversal", "--example", "stories")
    _must(folder, "build", "reversal/study.toml", "--annotators", "40")


def potato_mapping() -> str:
    """Return the mapping of the published POTATO folder."""
    return str(_read()["prepare"]["potato"])


def answer(folder: Path, study: str) -> None:
    """Build a study and let simulated people and a simulated rater answer it."""
    _must(folder, "build", study, "--annotators", ANNOTATORS)
    _must(folder, "simulate", study, "--annotators", ANNOTATORS)
    _must(folder, "rate", study, "--simulate")


def _read() -> dict[str, Any]:
    return tomllib.loads(ROWS.read_text(encoding="utf-8"))


def _spa(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spa", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _must(folder: Path, *arguments: str) -> None:
    result = _spa(folder, *arguments)
    if result.returncode:
        sys.exit(f"spa {' '.join(arguments)}: {result.stderr[-500:]}")


def main() -> None:
    """Run all rows, or write their table."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.rows", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.table is not None:
        options.table.write_text(as_table(), encoding="utf-8")
        return
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        found = {row.number: wrong for row, wrong in run_rows(Path(folder), options.data)}
    for row in paper_rows():
        wrong = found.get(row.number, row.why or "not run: needs the published annotations")
        failed += row.number in found and wrong is not None
        Console(width=10_000).print(f"{row.number:>2} {row.system}: {wrong or 'made'}", markup=False)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
