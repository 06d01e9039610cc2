"""Files of other tools, read in this process."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from spa.errors import SpaError
from spa.importers import format_of
from spa.importers.answer_format import ImportRequest
from spa.importers.tables import ImportedTables


def read(key: str, *paths: Path, **options: Any) -> ImportedTables:
    """Return what a format makes of files; its options as their functions are given them."""
    return format_of(key).read(ImportRequest(paths=paths, options=options))


def problem(key: str, *paths: Path, **options: Any) -> str:
    """Return the line that a format refuses files with."""
    with pytest.raises(SpaError) as refused:
        read(key, *paths, **options)
    (line,) = str(refused.value).splitlines()
    assert len(line) < 500
    return line


def json_file(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def lines_file(path: Path, objects: Iterable[object]) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return path
