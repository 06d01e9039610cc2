"""Every array of results.json as a CSV table, in full precision."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.results.findings import rank_of
from analysis.results.records import Results
from analysis.statistics.reasons import Reason
from analysis.statistics.record import fields_of, kind_of, names_of, plain, values_of
from spa.tables.formulas import without_formula

APART = (
    "ties",
    "families",
    "rankings",
    "disagreements",
    "contamination_of_others",
)  # whose rows are laid out in another way
WITHOUT = ("careless", "observed_power", "warnings", "warning_rows", "conventions")
NESTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=plain)
NUMBERS = {int, float, type(None)}
TEXTS = {str, type(None)}


def csv_tables(results: Results) -> dict[str, str]:
    """Return the text of each table by its file name; arrays without rows are left out.

    Numbers are written so that reading them gives the same number; nothing known is an empty field. Texts that a
    spreadsheet would run get an apostrophe in front.
    """
    arrays: dict[str, Sequence[Any]] = {
        name: rows
        for name, rows in fields_of(results).items()
        if isinstance(rows, tuple) and name not in (*APART, *WITHOUT)
    }
    arrays |= {f"ratings_{name}": rows for name, rows in fields_of(results.ratings).items()}
    arrays["choices_pairs"] = results.choices.pairs
    arrays["ties"] = [
        _without(entry, "strengths") | (fields_of(strength) if strength else {})
        for entry in results.ties
        for strength in entry.strengths or (None,)
    ]
    arrays["families"] = [{**fields_of(entry), "untestable": len(entry.untestable)} for entry in results.families]
    arrays["rankings"] = [
        {"source": entry.source, "group": entry.group, "criterion": entry.criterion, "rank": rank, "system": system}
        for entry in results.rankings
        for system, rank in rank_of(entry.order or ()).items()
    ]
    arrays["disagreements"] = [
        _without(entry, "verdicts") | fields_of(verdict)
        for entry in results.disagreements
        for verdict in entry.verdicts
    ]
    arrays |= {f"llm_vs_people_{name}": rows for name, rows in fields_of(results.llm_vs_people).items()}
    if results.spans is not None:
        arrays |= {"span_counts": results.spans.counts, "span_agreement": results.spans.agreement}
    if results.metrics is not None:
        arrays |= {f"metrics_{name}": rows for name, rows in fields_of(results.metrics).items()}
    if (explored := results.exploration) is not None:
        arrays |= {f"exploration_{name}": getattr(explored, name) for name in ("keywords", "separations", "points")}
    known = results.contaminations
    arrays["contamination_sources"] = [
        {"model": one.model, **_without(row, "histogram")} for one in known for row in one.sources
    ]
    arrays["contamination_predicted"] = [
        {"model": one.model, **fields_of(row), "threshold": one.thresholds[row.measure]}
        for one in known
        for row in one.predicted
    ]
    arrays["contamination_aucs"] = [
        {"model": one.model, "measure": name, **fields_of(row)} for one in known for name, row in one.aucs.items()
    ]
    if results.live is not None:
        arrays |= {"live": results.live.pairs, "live_systems": results.live.systems}
    return {f"{name}.csv": render_csv(rows) for name, rows in sorted(arrays.items()) if rows}


def _without(record: Any, name: str) -> dict[str, Any]:
    return {key: value for key, value in fields_of(record).items() if key != name}


def render_csv(rows: Sequence[Any]) -> str:
    r"""Return rows, which are records or dicts, as CSV with a header of all their keys.

    >>> render_csv([{"mean": 0.1, "verdict": None}])
    'mean,verdict\n0.1,\n'
    """
    if kind := kind_of(rows):
        names: Iterable[str] = names_of(kind)
        columns: Iterable[Sequence[Any]] = zip(*map(values_of, rows), strict=True)
    else:
        entries = [row if isinstance(row, Mapping) else fields_of(row) for row in rows]
        names = dict.fromkeys(key for entry in entries for key in entry)
        columns = ([entry.get(name) for entry in entries] for name in names)
    laid_out = [pair for name, column in zip(names, columns, strict=True) for pair in _with_codes(name, column)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(name for name, _ in laid_out)
    writer.writerows(zip(*(_written(column) for _, column in laid_out), strict=True))
    return text.getvalue()


def _with_codes(name: str, column: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Lay out reasons as two columns: their words, and their codes."""
    if name.endswith("reason") and all(value is None or isinstance(value, Reason) for value in column):
        yield name, [None if reason is None else str(reason) for reason in column]
        yield f"{name}_code", [None if reason is None else reason.code for reason in column]
    else:
        yield name, column


def _written(column: Sequence[Any]) -> Sequence[Any]:
    """Return the fields of a column, whose numbers are written as Python does and texts mostly return."""
    kinds = {type(value) for value in column}
    if kinds <= NUMBERS:
        return column
    if kinds <= TEXTS:
        written = {text: _field(text) for text in set(column)}
        return [written[text] for text in column]
    return [_field(value) for value in column]


def _field(value: Any) -> Any:
    if isinstance(value, str):
        return without_formula(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if type(value) in NUMBERS else NESTED.encode(value)
