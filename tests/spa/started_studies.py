"""``spa init --outputs`` as it is typed, and the study that it makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from spa.cli import main
from spa.files import lines_of
from tests.spa.tiny_images import tiny_png

PNG = tiny_png()


def spa(*arguments: object, typed: str | None = None) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=typed)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def started(folder: Path, *arguments: object) -> dict[str, Any]:
    result = spa("init", folder, "--outputs", *arguments, "--yes", "--json")
    assert result.exit_code == 0, result.output
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


def refused(folder: Path, *arguments: object, status: int = 1) -> str:
    result = spa("init", folder, "--outputs", *arguments, "--yes")
    assert result.exit_code == status, result.output
    assert not folder.exists()
    line: str = result.stderr
    assert line.count("\n") == 1
    assert len(line) < 500
    return line


def answers_of(folder: Path) -> set[tuple[str, str, str]]:
    """Return (prompt, system, text) of a study, without the names of items."""
    lines = lines_of((folder / "outputs.jsonl").read_text(encoding="utf-8"))
    return {(row.get("prompt", ""), row["system"], row["output"]) for row in map(json.loads, lines)}
