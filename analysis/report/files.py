"""Results to a folder: everything is written aside first, so that a failure leaves nothing half written."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from analysis.records.results import Results
from analysis.results.files import to_json
from spa.errors import AnalysisError

RESULTS = "results.json"
OURS = r'\{\s*"schema"\s*:\s*\d+\s*,\s*"settings"'  # how results.json begins
PARTS = (
    "appendix.*",
    "report.pdf",
    "figures/*.svg",
    "tables/*.csv",
    "tables/*.tex",
    "paper/*.*",
)  # not in every report


def write_results(results: Results, folder: Path, **more: Any) -> list[Path]:
    """Write ``results.json`` and the report into a folder, in place of an earlier report.

    Parameters
    ----------
    results : Results
        What :func:`analysis.analyse` returned.
    folder : Path
        Made where it does not exist. Figures and tables of an earlier report that this one lacks are
        removed; other files beside a report are left alone.
    more
        What :func:`analysis.report.write_report` takes beside.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    AnalysisError
        When the folder cannot be written, or holds files and no earlier report.
    """
    from analysis.report import report_files

    try:
        _refuse_other_folders(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as aside:
            contents = {RESULTS: to_json(results).encode()} | report_files(results, **more)
            new = Path(aside) / "report"
            for part in sorted({(new / name).parent for name in contents}):
                part.mkdir()
            for name, content in contents.items():
                (new / name).write_bytes(content)
            _move(new, folder, contents)
        written = sorted(folder / name for name in contents)
        for pattern in PARTS:
            for stale in set(folder.glob(pattern)) - set(written):
                stale.unlink()
        return written
    except OSError as error:
        raise AnalysisError(
            f"{folder}: the report cannot be written: {error.strerror or error}; choose another folder"
        ) from error


def _refuse_other_folders(folder: Path) -> None:
    if not folder.is_dir() or _is_ours(folder / RESULTS):
        return
    found = sorted(path.name for path in folder.iterdir())
    if found:
        raise AnalysisError(
            f"{folder}: expected a new or empty folder or one with an earlier report ({RESULTS}), got {found[0]!r}; "
            "choose another folder"
        )


def _is_ours(path: Path) -> bool:
    """Whether a file is a ``results.json`` of a report, and not another program's of the same name."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as stream:
        return re.match(OURS, stream.read(80)) is not None


def _move(source: Path, target: Path, names: Collection[str]) -> None:
    if not target.exists():
        source.rename(target)
        return
    for part in sorted({(target / name).parent for name in names}):
        part.mkdir(exist_ok=True)
    for name in names:
        os.replace(source / name, target / name)
