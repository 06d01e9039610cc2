"""The table of the papers' systems is made from its rows; each command has the options that it names."""

from __future__ import annotations

import shlex
from importlib.metadata import entry_points

import click
import pytest

from tests.golden.rows import ROWS, TABLE, PaperRow, as_table, paper_rows


def test_paper_rows_are_numbered() -> None:
    """Twenty-seven systems, each with a command and what it gives, or the reason why there is none."""
    rows = paper_rows()
    assert [row.number for row in rows] == list(range(1, 28))
    for row in rows:
        assert (row.command is None) == (row.gives is None) == (row.why is not None)


def test_paper_rows_table_is_made() -> None:
    """``python -m tests.golden.rows --table FILE`` writes it."""
    assert TABLE.read_text(encoding="utf-8") == as_table(), f"made from {ROWS.name}"


@pytest.mark.parametrize("row", [row for row in paper_rows() if row.command], ids=lambda row: str(row.number))
def test_paper_rows_name_options(row: PaperRow) -> None:
    """Options of every command exist."""
    words = shlex.split(row.command or "")
    (point,) = (one for one in entry_points(group="spa.commands") if one.name == words[0])
    command: click.Command = point.load()
    found = [command]
    if isinstance(command, click.Group):
        context = click.Context(command)
        found += [one for name in (words[1], "csv") if (one := command.get_command(context, name))]
    known = {option for one in found for parameter in one.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known
