"""A folder of tidy tables, as `spa export` and `spa import` write it."""

from __future__ import annotations

from pathlib import Path

from analysis.answers.columns import KNOWN
from analysis.answers.tables import ANSWERS
from spa.errors import AnalysisError
from spa.tables.reading import ENDINGS, table_suffix


def table_files(folder: Path) -> dict[str, Path]:
    """Return the tables of a folder by their kind.

    Raise AnalysisError if there is no table of answers, or one table stands there in two formats.
    """
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
        raise AnalysisError(f"{folder}: expected at least one of {expected} ({ENDINGS}), got none")
    return found
