"""POTATO's output folders."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from spa.errors import ResponseError, shortened
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest
from spa.importers.foreign_files import beginning
from spa.importers.label_scores import score_option

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables

MOST_FOLDERS = 1_000  # that are looked at to recognise one


def _recognise(path: Path) -> Fit:
    """Whether a folder is or holds one of POTATO's, ``annotation_output``, or a file is an export of 2.x."""
    if path.is_file():
        return Fit.CERTAIN if _is_export(path) else Fit.NONE
    below = islice(os.walk(path), MOST_FOLDERS)
    found = any("annotation_output" in folders or "user_state.json" in files for _, folders, files in below)
    return Fit.CERTAIN if found or path.name == "annotation_output" else Fit.NONE


def _is_export(path: Path) -> bool:
    """Whether a file is an export of 2.x: in CSV a column for each question and label, such as pref.selection."""
    line = beginning(path).partition(b"\n")[0].decode("utf-8", "replace").strip()
    if line.startswith("{"):
        return line.startswith('{"instance_id": ') and '"user_id": ' in line and '"labels": {' in line
    first, second, *labels = re.split("[,\t]", line) + [""] * 2
    return (first, second) == ("instance_id", "user_id") and any("." in label for label in labels)


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.mapping import mapping_file, read_mapping
    from spa.importers.potato.folders import read_potato
    from spa.importers.potato.mapping import Potato

    (folder,) = request.paths
    made = read_potato(folder, read_mapping(mapping_file(request), Potato), request.options.get("scores"))
    return _renamed(made, request.pairs, folder)


def _renamed(made: ImportedTables, pairs: Sequence[tuple[str, str]], folder: Path) -> ImportedTables:
    """Return the answers with other names of criteria; raise ResponseError where none is called as a pair says."""
    if not pairs:
        return made
    known = dict.fromkeys(str(row["criterion"]) for rows in made.rows.values() for row in rows if "criterion" in row)
    for old, new in pairs:
        if old not in known:
            raise ResponseError(
                f"{folder}: --map {shortened(f'{old}={new}', 80)}: expected one of the criteria "
                f"{shortened(', '.join(known), 160)}, got {shortened(repr(old), 60)}"
            )
    names = dict(pairs)
    rows = {
        table: [
            {**row, "criterion": names.get(row["criterion"], row["criterion"])} if "criterion" in row else row
            for row in own
        ]
        for table, own in made.rows.items()
    }
    return replace(made, rows=rows)


FORMAT = AnswerFormat(
    key="potato",
    description="Read an output FOLDER of POTATO with all its parts, or an export of 2.x.\n\n"
    "Versions 1.x and 2.x (user_state.json). A numeric label is the score. Attention checks and pages are skipped; "
    "the order in which items were shown is read. Of 2.x, answers about two texts are turned back to the texts; an "
    "export cannot be, so it needs the config.yaml of a task that turns none.",
    example="spa import potato annotations --mapping import.toml --out tables",
    source="FOLDER",
    mapping="TOML file with systems, criteria, skip, llms.",
    pairs="a criterion and another name for it",
    options=(score_option(),),
    meaning=FileMeaning(
        sides="2.x: A is the text on the left, on a scale negative is left; both are turned back by the order shown",
        ties="tie; 0 on a scale between two texts",
        missing="no answer to an item that was shown",
        left_out="attention checks, pages; of points that were taken back all but the latest",
        seen="POTATO 2.12.1, and 1.x",
        source="https://github.com/davidjurgens/potato",
    ),
    recognise=_recognise,
    read=_read,
)
