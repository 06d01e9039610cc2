"""Results to a folder: everything is written aside first, so that a failure leaves nothing half written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from analysis.results import results_schema, to_json
from spa.errors import AnalysisError


def write_results(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write ``results.json`` and the report into a folder; files of an earlier report are replaced.

    Parameters
    ----------
    results : mapping
        What :func:`analysis.analyse` returned; it is checked against the schema.
    folder : Path
        Made where it does not exist. Other files in it are left alone.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    AnalysisError
        When the folder cannot be written.
    """
    from analysis.report import write_report

    for error in jsonschema.Draft202012Validator(results_schema()).iter_errors(results):
        raise error
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as aside:
            (Path(aside) / "results.json").write_text(to_json(results), encoding="utf-8")
            write_report(dict(results), Path(aside))
            return list(_move(Path(aside), folder))
    except OSError as error:
        raise AnalysisError(
            f"{folder}: the report cannot be written: {error.strerror or error}; choose another --out"
        ) from error


def _move(source: Path, target: Path) -> Iterator[Path]:
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, place)
            yield place
