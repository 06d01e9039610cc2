"""Columns of results with their names in tidy tables, as ``--map OLD=NEW`` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spa.errors import PlatformError, shortened
from spa.importers.answer_format import ImportRequest
from spa.importers.foreign_files import number_of
from spa.importers.mapping import check_pairs, criterion_of, mapping_place
from spa.importers.mturk.mapping import ANSWERS, OPTIONAL, REQUIRED, ResultMapping, checked_mapping, read_raw
from spa.importers.mturk.results import ANSWER, Result
from spa.tables.verdicts import MISSING, place_outcome

OF_SUBMISSIONS = {"annotator_id": "worker", "assignment_id": "assignment", "seconds": "seconds"}
TABLES = {column: table for table, column in ANSWERS.items()}
CELLS = tuple(dict.fromkeys((*(name for needed in REQUIRED.values() for name in needed), *OPTIONAL)))
KNOWN = (*OF_SUBMISSIONS, *CELLS)
SWITCHES = {"true", "false", "on", "off", "1", "0", "yes", "no", ""}  # what stands in a column an option
LABEL = ".label"  # under which a crowd element writes what was chosen
SHOWN = 6


def result_mapping(
    request: ImportRequest, results: Sequence[Result], values: Mapping[str, str] | None = None
) -> ResultMapping:
    """Return what the columns mean: by a mapping, by pairs, or by both.

    An answer that a pair names is one more entry: of a column, of one a chosen label, or of columns of one option each
    (``Answer.mood.1``, ``Answer.mood.2``); ``values`` say what its words count. Raise ResponseError or PlatformError
    with what is wrong.
    """
    place = mapping_place(request)
    raw: dict[str, Any] = {} if request.mapping is None else read_raw(request.mapping)
    check_pairs(request, KNOWN, TABLES)
    named = {new: old for old, new in request.pairs}
    answers = [old for old, new in request.pairs if new in TABLES]
    if values and not answers:
        raise PlatformError(
            f"--value {shortened('='.join(next(iter(values.items()))), 60)}: expected an answer by --map COLUMN=score "
            "(or winner, preference) beside it, got none; in a mapping file `levels` say it"
        )
    raw |= {key: named[name] for name, key in OF_SUBMISSIONS.items() if name in named}
    own = {name: {"column": named[name]} for name in CELLS if name in named and name not in TABLES}
    for table in REQUIRED:
        if request.pairs and isinstance(raw.get(table), list):
            raw[table] = [{**cells, **_fitting(own, table)} for cells in raw[table] if isinstance(cells, dict)]
    for old, new in request.pairs:
        if new in TABLES:
            called = criterion_of(old, answers, "criterion" in named, lambda one: one.removeprefix(ANSWER))
            cells = {**_fitting(own, TABLES[new]), new: _answer(old, new, results, values or {}, named)}
            cells |= {name: {"value": value} for name, value in called.items()}
            raw[TABLES[new]] = [*raw.get(TABLES[new], ()), cells]
    return checked_mapping(raw, place)


def _fitting(cells: dict[str, Any], table: str) -> dict[str, Any]:
    return {name: cell for name, cell in cells.items() if name in (*REQUIRED[table], *OPTIONAL)}


def _answer(
    old: str, new: str, results: Sequence[Result], values: Mapping[str, str], named: Mapping[str, str]
) -> dict[str, Any]:
    """Return where an answer stands, and what its words count."""
    columns = dict.fromkeys(name for result in results for name in result.columns)
    column = old if old in columns or f"{old}{LABEL}" not in columns else f"{old}{LABEL}"
    options = [name for name in columns if name.startswith(f"{old}.")] if column not in columns else []
    if options and all(_words(results, name) <= SWITCHES for name in options):
        words = [name[len(old) + 1 :] for name in options]
        counts = _counts(old, words, new, results, values, named)
        return {"one_of": {name: counts[word] for name, word in zip(options, words, strict=True) if word in counts}}
    words = sorted(_words(results, column) - {""})
    counts = _counts(column, words, new, results, values, named)
    return {"column": column, "levels": counts} if values else {"column": column}


def _words(results: Sequence[Result], column: str) -> set[str]:
    return {result.columns.get(column, "").strip() for result in results}


def _counts(
    column: str,
    words: Sequence[str],
    new: str,
    results: Sequence[Result],
    values: Mapping[str, str],
    named: Mapping[str, str],
) -> dict[str, str | float]:
    """Return what each word counts; those that are no answer are left out."""
    systems = {word for side in ("system_x", "system_y") if side in named for word in _words(results, named[side])}
    counts: dict[str, str | float] = {}
    unknown: list[str] = []
    for word in words:
        said = values.get(word, word)
        number = number_of(said)
        if said == MISSING:
            continue
        if new == "winner" and (said in systems or place_outcome(said).status == "read"):
            counts[word] = said
        elif new != "winner" and number is not None:
            counts[word] = number
        else:
            unknown.append(word)
    if unknown:
        listed = ", ".join(shortened(repr(word), 40) for word in unknown[:SHOWN])
        what = "x, y, tie or a system" if new == "winner" else "numbers"
        raise PlatformError(
            f"{shortened(column, 60)}: expected {what}, got {listed}; say what each counts, such as --value "
            f"{shortened(repr(f'{unknown[0]}=' + ('x' if new == 'winner' else '4')), 50)} (=missing where it is none)"
        )
    return counts
