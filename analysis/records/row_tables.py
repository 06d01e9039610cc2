"""Lists of records that show as a table: in a notebook as HTML, elsewhere as lines that fit on a screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar, overload

import polars as pl
from markupsafe import Markup, escape

from analysis.answers.conversion import as_frame
from analysis.figures.plain_text import clean, shown_name
from analysis.statistics.rank_orders import Ranking
from analysis.statistics.record import Record, fields_of, kind_of, with_fields

Row = TypeVar("Row")
ROWS_SHOWN, LINES_SHOWN, COLUMNS_SHOWN = 30, 10, 8
LONGEST = 200  # letters of a cell
AS_IT_STANDS = "tex2jax_ignore mathjax_ignore"  # classes by which notebooks set no text between two $ as a formula
SCROLLS = f'<div class="{AS_IT_STANDS}" style="overflow-x:auto;max-width:100%">'
PLAIN = frozenset({int, float, bool, str, type(None)})


class Rows(tuple[Row, ...]):
    """Records of results: a tuple that shows as a table.

    >>> rows = Rows(["a", "b"])
    >>> rows == ("a", "b"), type(rows[:1]).__name__
    (True, 'Rows')
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Rows[Row]: ...
    def __getitem__(self, key: SupportsIndex | slice) -> Row | Rows[Row]:
        """Return a record, or some of them, which show as a table, too."""
        found: Any = tuple.__getitem__(self, key)
        return Rows(found) if isinstance(key, slice) else found

    def frame(self) -> pl.DataFrame:
        """Return a row a record, as :func:`analysis.as_frame` does."""
        return as_frame(self)

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


class RowList(list[Row]):
    """Records that a function returns: a list that shows as a table."""

    __slots__ = ()

    def frame(self) -> pl.DataFrame:
        """Return a row a record, as :func:`analysis.as_frame` does."""
        return as_frame(self)

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


def with_rows(record: Row) -> Row:
    """Return results whose lists of records show as tables, those of the records in them, too."""
    return with_fields(record, _shown, PLAIN)  # type: ignore[no-any-return]


def _shown(value: Any) -> Any:
    if type(value) is tuple and value and kind_of(value) is not None:
        return Rows(value)
    return with_rows(value) if isinstance(value, Record) else value


def text_of(rows: Sequence[Any]) -> str:
    """Return records as text: how many of what they are, and their first ones as a table of polars."""
    kind = kind_of(rows)
    if kind is None:
        return tuple.__repr__(rows) if isinstance(rows, tuple) else list.__repr__(list(rows))
    with pl.Config(
        tbl_rows=LINES_SHOWN,
        tbl_cols=COLUMNS_SHOWN,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        fmt_str_lengths=24,
        tbl_width_chars=100,
    ):
        return f"{_title(rows, kind)}; .frame() has all columns\n{_filled(clean(tuple(rows)))}"


def _title(rows: Sequence[Any], kind: type[Record]) -> str:
    return f"{len(rows):,} {kind.__name__}"


def _filled(rows: Iterable[Any]) -> pl.DataFrame:
    """Return a frame without the columns in which there is nothing, and without the codes beside reasons."""
    frame = as_frame(rows)
    names = [name for name in frame.columns if not name.endswith("_code") or name.removesuffix("_code") not in frame]
    return frame.select(name for name in names if frame[name].null_count() < frame.height)


def html_of(rows: Sequence[Any]) -> str:
    """Return records as a table of HTML, in which every text is escaped."""
    kind = kind_of(rows)
    if kind is None:
        return f"<pre>{escape(clean(repr(rows)))}</pre>"
    frame = _filled(clean(tuple(rows[:ROWS_SHOWN])))
    left = len(rows) - ROWS_SHOWN
    more = f"; {ROWS_SHOWN} are shown, .frame() has all" if left > 0 else ""
    return f"{SCROLLS}{_table(frame, _title(rows, kind) + more)}</div>"


def _table(frame: pl.DataFrame, caption: str) -> Markup:
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in frame.columns)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td dir=auto>{}</td>").format(_cell(cell)) for cell in row)
        )
        for row in frame.iter_rows()
    )
    start = Markup('<table><caption style="text-align:left">{}</caption>').format(caption)
    return start + Markup("<thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, body)


def _cell(value: object) -> str:
    """Return what a cell shows: numbers with four digits, texts on one line.

    >>> _cell(0.123456), _cell(None), _cell(1234), _cell(["a", "b"])
    ('0.1235', '', '1234', 'a, b')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    if isinstance(value, list):
        return ", ".join(_cell(part) for part in value)[:LONGEST]
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def results_text(results: Any) -> str:
    """Return the four lines of the first page, and what lists there are, on one screen."""
    lines = results.headline.lines() if results.headline else ()
    said = [f"{title}{'' if title.endswith('?') else ':'} {clean(text)[:400]}" for title, text in lines]
    parts = [f"{name} ({n:,} {kind})" for name, n, kind in _lists(results)]
    return "\n".join([f"Results of {_sources(results)}", *said, f"Lists: {', '.join(parts) or 'none'}"])


def results_html(results: Any) -> str:
    """Return the same with the rankings as HTML."""
    lines = results.headline.lines() if results.headline else ()
    line = Markup("<p dir=auto><b>{}</b> {}</p>")
    terms = Markup("").join(line.format(*clean(one)) for one in lines)
    parts = ", ".join(f"{name} ({n:,})" for name, n, _ in _lists(results))
    return Markup('<div class="{}"><p>Results of {}</p>{}{}<p>Lists: {}</p></div>').format(
        AS_IT_STANDS, _sources(results), terms, _rankings(clean(results.rankings)), parts
    )


def _rankings(rankings: Sequence[Ranking]) -> Markup:
    """Return a line for each ranking, best first."""
    if not rankings:
        return Markup()
    orders = [" > ".join(" = ".join(place) for place in row.order) for row in rankings]
    frame = pl.DataFrame(
        {
            "criterion": [row.criterion for row in rankings],
            "source": [row.source for row in rankings],
            "group": [row.group for row in rankings],
            "order, best first": orders,
        }
    )
    return _table(frame.head(ROWS_SHOWN), "Rankings")


def _sources(results: Any) -> str:
    if results.study is not None:
        return f"the study {shown_name(results.study.id)}"
    return ", ".join(shown_name(one.file) for one in results.settings.inputs[:5]) or "no file"


def _lists(record: Any, before: str = "") -> Iterable[tuple[str, int, str]]:
    """Yield the lists of records that are not empty: name, length, kind."""
    found: Mapping[str, Any] = fields_of(record)
    for name, value in found.items():
        if isinstance(value, tuple) and value and (kind := kind_of(value)) is not None:
            yield f"{before}{name}", len(value), kind.__name__
        elif isinstance(value, Record) and not before and name not in ("settings", "study", "headline", "live"):
            yield from _lists(value, f"{name}.")
