"""Tables of MQM as WMT publishes them: marks <v>...</v> in the text itself, to places."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl

from analysis.answers.columns import MARKED_TEXTS
from analysis.answers.reading import RawTable

OPENED, CLOSED = "<v>", "</v>"
MARK = re.compile(r"<v>(.*?)</v>", re.DOTALL)
PLANTED = "hotw-test"  # the severity of errors that were planted to see whether raters find them
OMISSION, IN_SOURCE = "omission", "in the source"  # reasons of errors that have no place in the output


def with_places(table: RawTable) -> RawTable:
    """Give a table of errors without ``start`` and ``end`` those of the marks in its column ``target``.

    ``characters`` is the length without marks; ``reason`` says why an error has no place: its mark stands in ``source``
    ("omission" of that category, else "in the source"), there is none, it is not closed, or there are several. Rows of
    errors that were planted are left out and counted in the notes. Other tables only lose the two columns of texts.
    """
    frame = table.frame
    rest = frame.drop(name for name in MARKED_TEXTS if name in frame.columns)
    if "target" not in frame.columns or {"start", "end"} <= {*frame.columns}:
        return replace(table, frame=rest)
    texts = frame["target"].fill_null("")
    sources = frame["source"].fill_null("") if "source" in frame.columns else pl.Series([""] * frame.height)
    if not (texts.str.contains(OPENED, literal=True) | sources.str.contains(OPENED, literal=True)).any():
        return replace(table, frame=rest)
    categories = frame["category"].fill_null("") if "category" in frame.columns else [""] * frame.height
    found = [_place(*row) for row in zip(texts, sources, categories, strict=True)]
    schema = {"start": pl.String, "end": pl.String, "text": pl.String, "reason": pl.String, "characters": pl.String}
    places = pl.DataFrame(found, schema=schema, orient="row")
    whole = rest.drop(name for name in schema if name in rest.columns).hstack(places)
    rows = table.rows if table.rows is not None else pl.int_range(frame.height, eager=True) + table.first_row
    kept = pl.Series([True] * frame.height)
    if "severity" in frame.columns:
        kept = (frame["severity"].str.to_lowercase() != PLANTED).fill_null(True)
    left_out = frame.height - int(kept.sum())
    rows_left = "1 row" if left_out == 1 else f"{left_out:,} rows"
    notes = (f"{rows_left} left out: severity=HOTW-test (planted errors)",) if left_out else ()
    return replace(
        table,
        frame=whole.filter(kept),
        rows=rows.filter(kept),
        columns=(*table.columns, "start", "end"),
        notes=(*table.notes, *notes),
    )


def _place(target: str, source: str, category: str) -> tuple[str | None, str | None, str | None, str | None, str]:
    """Return start, end, text, reason and characters.

    >>> _place("Er <v>sagte</v> es", "", "Fluency")
    ('3', '8', 'sagte', None, '11')
    >>> _place("Er sagte", "He <v>now</v> said", "Accuracy/Omission")
    (None, None, None, 'omission', '8')
    """
    length = str(len(target.replace(OPENED, "").replace(CLOSED, "")))
    marks = [*MARK.finditer(target)]
    if len(marks) == 1 and target.count(OPENED) == target.count(CLOSED) == 1 and marks[0][1]:
        start = marks[0].start()
        return str(start), str(start + len(marks[0][1])), marks[0][1], None, length
    if not marks and OPENED not in target and OPENED in source:
        return None, None, None, OMISSION if OMISSION in category.lower() else IN_SOURCE, length
    reason = "no mark" if OPENED not in target else "several marks" if len(marks) > 1 else "a mark that is not closed"
    return None, None, None, reason, length
