"""Every array of results.json as a CSV table, in full precision."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.report.document import Results
from analysis.results.files import as_plain
from analysis.results.findings import rank_of
from spa.responses.table_files import without_formula

PLAIN = (
    "groups",
    "exclusions",
    "missing",
    "preferences",
    "preference_directions",
    "exposure_curve",
    "exposure_trend",
    "first_exposure",
    "consistency_sweep",
    "coherence",
    "bradley_terry",
    "ranking_agreement",
    "ranking_differences",
    "agreement",
    "annotator_pairs",
    "correlations",
    "comparisons_of_correlations",
    "correlations_by_system",
    "expected",
    "raters",
    "rating_counts",
    "category_shares",
    "identical_pairs",
    "interview",
)
RATING_PARTS = ("robustness", "respacing", "by_system", "by_variant", "by_annotator")
NESTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
WRITTEN: dict[type[Any], Callable[[Any], str]] = {
    type(None): lambda _: "",
    bool: lambda value: "true" if value else "false",
    int: str,
    float: repr,
    str: without_formula,
}


def csv_tables(found: Results) -> dict[str, str]:
    """Return the text of each table by its file name; arrays without rows are left out.

    Numbers are written so that reading them gives the same number; nothing known is an empty field. Texts that a
    spreadsheet would run get an apostrophe in front.
    """
    results = as_plain(found)
    arrays: dict[str, Sequence[Mapping[str, Any]]] = {name: results.get(name) or [] for name in PLAIN}
    rated = results.get("ratings") or {}
    arrays["ratings_means"], arrays["ratings_pairs"] = rated.get("means") or [], rated.get("pairs") or []
    arrays |= {f"ratings_{name}": rated.get(name) or [] for name in RATING_PARTS}
    arrays["choices_pairs"] = (results.get("choices") or {}).get("pairs") or []
    arrays["ties"] = [
        {**{key: value for key, value in entry.items() if key != "strengths"}, **strength}
        for entry in results.get("ties") or ()
        for strength in entry["strengths"] or [dict[str, Any]()]
    ]
    arrays["families"] = [
        {key: len(value) if key == "untestable" else value for key, value in entry.items()}
        for entry in results.get("families") or ()
    ]
    arrays["rankings"] = [
        {**_identity(entry), "rank": rank, "system": system}
        for entry in results.get("rankings") or ()
        for system, rank in rank_of(entry.get("order") or []).items()
    ]
    arrays["disagreements"] = [
        {**{key: value for key, value in entry.items() if key != "verdicts"}, **verdict}
        for entry in results.get("disagreements") or ()
        for verdict in entry["verdicts"]
    ]
    arrays |= {f"llm_vs_people_{name}": rows for name, rows in (results.get("llm_vs_people") or {}).items()}
    arrays["live"] = (results.get("live") or {}).get("pairs") or []
    arrays["live_systems"] = (results.get("live") or {}).get("systems") or []
    arrays["explanations"] = results.get("explanations") or []
    return {f"{name}.csv": render_csv(rows) for name, rows in sorted(arrays.items()) if rows}


def _identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("source", "group", "criterion")}


def render_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Return rows as CSV with a header of all their keys.

    >>> render_csv([{"mean": 0.1, "verdict": None}])
    'mean,verdict\n0.1,\n'
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_field(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def _field(value: Any) -> str:
    written = WRITTEN.get(type(value))
    return written(value) if written else NESTED.encode(value)
