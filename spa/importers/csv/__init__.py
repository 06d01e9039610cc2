"""Tables with one column per question, of whatever tool: a mapping says what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spa.importers.answer_format import AnswerFormat, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables


def _recognise(path: Path) -> Fit:
    """Whether it is a table by its name, or a folder with tables."""
    from spa.tables.reading import table_suffix

    try:
        names = [one.name for one in path.iterdir()] if path.is_dir() else [path.name]
    except OSError:
        return Fit.NONE
    return Fit.POSSIBLE if any(map(table_suffix, names)) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.csv.pairs import wide_mapping
    from spa.importers.csv.wide import read_wide

    mapping, place = wide_mapping(request, ("annotator_id", "item_id"))
    return read_wide(request.paths, mapping, place)


FORMAT = AnswerFormat(
    key="csv",
    description="Read tables with one column per question.\n\n"
    "FILE is a table (CSV, JSONL, Parquet, ...) or a folder of tables; several are read as one. A row is what one "
    "annotator answered, of all items or of one; with `annotators` in the mapping each annotator has a column, with "
    'annotator = "{file}" a file.',
    details="`each` names lists or objects whose parts are rows: one path, or several, of a group each; of a part "
    '`PATH[#]` is its place, `PATH{key}` its key: annotator = "ratings[#]".\n\n'
    "Keys of the mapping: annotator (or annotator_id), item (item_id), system (its column), sample, assignment, "
    "seconds, seconds_unit, kind_column, llms, people, keep, drop, missing, split, key, page_times, "
    "each, encoding, quotes, decimal, constants. Of a question: "
    "column (or annotators, and their group), kind (rating, preference, choice, rank, order), values; system, "
    "system_x, system_y, item and criterion, or system_column, ..., criterion_column; systems_in with separator, "
    "systems, labels, criteria, annotator, seconds, exposure, percent, scale, winner_is, start_column with ends, "
    "untouched.",
    example="spa import csv results.csv --mapping import.toml --out tables",
    mapping="TOML file: what the columns mean.",
    recognise=_recognise,
    read=_read,
)
