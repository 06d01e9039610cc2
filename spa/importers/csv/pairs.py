"""Columns with their names in tidy tables, as ``--map OLD=NEW`` has them, made keys of a mapping."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, shortened
from spa.files import read_toml
from spa.importers.answer_format import ImportRequest
from spa.importers.csv.mapping import Wide
from spa.importers.csv.sheets import files_of, open_sheet
from spa.importers.mapping import check_pairs, checked, criterion_of, mapping_place
from spa.tables.options import TableOptions

OF_ROWS = {  # name in a tidy table -> key of the mapping
    "annotator_id": "annotator",
    "annotator_kind": "kind_column",
    "assignment_id": "assignment",
    "item_id": "item",
    "sample": "sample",
    "seconds": "seconds",
}
OF_QUESTIONS = {
    "system": "system_column",
    "system_x": "system_x_column",
    "system_y": "system_y_column",
    "criterion": "criterion_column",
}
KINDS = {"score": "rating", "preference": "preference", "winner": "choice", "rank": "rank"}
KNOWN = (*OF_ROWS, *OF_QUESTIONS, *KINDS)
SYSTEMS = {"rating": ("system",), "rank": ("system",), "preference": ("system_x", "system_y")}
TOGETHER = "+"  # between columns that name an item together
Raw = dict[str, Any]


def wide_mapping(
    request: ImportRequest, needed: Collection[str], files: Sequence[Path] | None = None
) -> tuple[Wide, Path]:
    """Return what the columns of files mean, and where that stands: in a mapping, in pairs, or in both.

    Pairs win over the mapping. Without one, columns that are called as in a tidy table are those; ``needed`` are names
    that must be among them, ``files`` those of the request where they are known. Raise ResponseError or StudyError with
    what is wrong.
    """
    place = mapping_place(request)
    raw: Raw = {} if request.mapping is None else read_toml(request.mapping)
    if request.pairs:
        check_pairs(request, KNOWN, KINDS)
        alone = request.mapping is None
        first = (files_of(request.paths) if files is None else files)[0]
        raw = _with_pairs(raw, _with_tidy(request.pairs, first, needed) if alone else request.pairs)
    return checked(raw, place, Wide), place


def _with_tidy(pairs: Sequence[tuple[str, str]], path: Path, needed: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs with the columns of a file that have names of tidy tables already."""
    columns = tuple(open_sheet(path, (), TableOptions()).schema)
    taken, named = {old for old, _ in pairs}, {new for _, new in pairs}
    answered = bool(named & KINDS.keys())
    own = [one for one in columns if one in KNOWN and one not in (*taken, *named) and not (answered and one in KINDS)]
    whole = (*pairs, *((one, one) for one in own))
    found = {new for _, new in whole}
    kinds = [KINDS[new] for _, new in whole if new in KINDS]
    systems = ("system_x", "system_y") if "choice" in kinds else SYSTEMS[kinds[0]] if kinds else ()
    absent = next((name for name in (*needed, *systems) if name not in found), None)
    if not kinds or absent is not None:
        what = absent or f"the answers ({', '.join(KINDS)})"
        raise ResponseError(
            f"{path}: expected a column of {what}, got {shortened(', '.join(columns), 200)}; name it with --map "
            f"COLUMN={absent or 'score'}, or give a mapping file"
        )
    return whole


def _with_pairs(raw: Raw, pairs: Sequence[tuple[str, str]]) -> Raw:
    """Return a mapping as it stands in a file, with what pairs say."""
    made = dict(raw)
    named = {new: old for old, new in pairs}
    answers = [old for old, new in pairs if new in KINDS]
    for name, key in OF_ROWS.items():
        if name in named:
            parts = [part.strip() for part in named[name].split(TOGETHER)]
            made[key] = parts if len(parts) > 1 and name in ("item_id", "sample") else named[name]
    own = {key: named[name] for name, key in OF_QUESTIONS.items() if name in named}
    questions = [dict(one) for one in made.get("questions", ()) if isinstance(one, dict)]
    for question in questions:
        for key, old in own.items():
            question.pop(key.removesuffix("_column"), None)
            question[key] = old
    for old, new in pairs:
        if new in KINDS:
            criterion = criterion_of(old, answers, "criterion" in named)
            mine = {key: value for key, value in own.items() if key in _keys(KINDS[new])}
            questions.append({"column": old, "kind": KINDS[new], **mine, **criterion})
    return {**made, "questions": questions} if questions else made


def _keys(kind: str) -> tuple[str, ...]:
    systems = ("system_column",) if kind in ("rating", "rank") else ("system_x_column", "system_y_column")
    return (*systems, "criterion_column")
