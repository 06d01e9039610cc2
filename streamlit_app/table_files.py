"""The tables that are shown: a folder as `spa export` and `spa import` write it, or one file of answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from analysis.answers.columns import ANSWERS, KNOWN
from analysis.answers.options import Reading
from analysis.answers.recognised import RecognisedTables, recognise_tables
from spa.errors import AnalysisError
from spa.tables.reading import ENDINGS, table_suffix

BEGINNING = 65_536  # bytes after the header in which a first row is looked for


def table_files(folder: Path) -> Mapping[str, Path]:
    """Return the tables of a folder by their names, without those that an export wrote without any row.

    Of a file it is that file. Raise AnalysisError if there is no table of answers, or one table stands there in two
    formats.
    """
    if table_suffix(folder.name) and not folder.is_dir():
        return {"": folder}
    found: dict[str, Path] = {}
    files = sorted(path for path in folder.glob("*") if path.is_file())
    for kind in KNOWN:
        paths = [path for path in files if (suffix := table_suffix(path.name)) and path.name.lower() == kind + suffix]
        if len(paths) > 1:
            raise AnalysisError(f"{folder}: expected one file of {kind}, got {paths[0].name} and {paths[1].name}")
        if paths:
            found[kind] = paths[0]
    if not set(found) & set(ANSWERS):
        expected = ", ".join(f"{kind}.csv" for kind in ANSWERS)
        raise AnalysisError(f"{folder}: expected at least one of {expected} ({ENDINGS}), or a file, got none")
    held = {kind: path for kind, path in found.items() if _has_rows(path)}
    return held if set(held) & set(ANSWERS) else found  # where nothing was answered, reading them says so


def recognised_files(folder: Path, reading: Reading) -> RecognisedTables:
    """Return the tables by their kind, how they are read and what the columns of answers were taken for.

    Raise AnalysisError where the columns are not settled, as `spa report` does of a file.
    """
    named = table_files(folder)
    found = recognise_tables([path for kind, path in named.items() if kind in ("", *ANSWERS)], reading)
    files = {**{kind: (path,) for kind, path in named.items() if kind not in ("", *ANSWERS)}, **found.files}
    return replace(found, files={kind: files[kind] for kind in KNOWN if kind in files})


def _has_rows(path: Path) -> bool:
    if path.suffix.lower() != ".csv":
        return path.stat().st_size > 0
    with path.open("rb") as lines:
        lines.readline()
        return bool(lines.read(BEGINNING).strip())
