"""Numbers that papers print beside those computed from their published answers, at printed precision."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path as File
from typing import Any

from analysis.statistics.coding import DIGITS
from tests.golden.compare import Path
from tests.golden.sottana import of_printed_ranks

PRINTED = File(__file__).with_name("printed.toml")
SIGNIFICANT = 6  # "digits = 6" counts significant digits, as the notebooks print them


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One printed table (or the values of a paper that cannot be computed, with ``why``)."""

    paper: str
    source: str
    digits: str
    values: int
    agreeing: int
    known: tuple[str, ...] = ()  # differ, and are known to
    unexpected: tuple[str, ...] = ()  # differ, or agree against expectation
    why: str | None = None


def compare_with_papers(computed: Mapping[Path, Any]) -> list[Row]:
    """Compare every printed value; tables of one name and paper are counted together."""
    printed = tomllib.loads(PRINTED.read_text(encoding="utf-8"))
    computed = {**computed, **dict(of_printed_ranks(printed["given"]))}
    rows: dict[tuple[str, str], Row] = {}
    for table in printed["table"]:
        row = _compare(table, computed)
        before = rows.get((row.paper, row.source))
        rows[row.paper, row.source] = row if before is None else _together(before, row)
    for left_out in printed["left_out"]:
        row = Row(
            paper=left_out["paper"],
            source=left_out["source"],
            digits="",
            values=left_out.get("values", 0),
            agreeing=0,
            why=left_out["why"],
        )
        rows[row.paper, row.source] = row
    return list(rows.values())


def agrees(found: float | None, printed: float, digits: int) -> bool:
    """Tell whether a value is printed so: rounded in exact decimals, a half away from zero.

    >>> agrees(0.825, 0.83, 2), agrees(0.825, 0.82, 2), agrees(-0.225, -0.23, 2)
    (True, False, True)
    """
    if found is None:
        return False
    decimals = digits
    if digits == SIGNIFICANT:
        decimals = SIGNIFICANT - 1 - (math.floor(math.log10(abs(printed))) if printed else 0)
    exact = Decimal(f"{found:.{DIGITS}g}")  # as results.json writes it
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) == Decimal(f"{printed:.{decimals}f}")


def _compare(table: Mapping[str, Any], computed: Mapping[Path, Any]) -> Row:
    agreeing, known, unexpected = 0, [], []
    for row, column, value in _cells(table):
        path = tuple(part.format(row=row, column=column) for part in table["path"])
        found = _computed(path, computed)
        same = agrees(found, value, table["digits"])
        expected = f"{row}/{column}" not in table.get("differs", ())
        told = f"{table['paper']}, {table['source']}, {row}, {column}: {found!r}, printed {value!r}"
        agreeing += same
        if same != expected:
            unexpected.append(told)
        elif not same:
            known.append(f"{told}: {table['why']}")
    digits = f"{SIGNIFICANT} significant" if table["digits"] == SIGNIFICANT else f"{table['digits']} decimals"
    return Row(
        paper=table["paper"],
        source=table["source"],
        digits=digits,
        values=sum(len(values) for values in table["rows"].values()),
        agreeing=agreeing,
        known=tuple(known),
        unexpected=tuple(unexpected),
    )


def _cells(table: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    for row, values in table["rows"].items():
        for column, value in zip(table["columns"], values, strict=True):
            yield row, column, value


def _computed(path: Path, computed: Mapping[Path, Any]) -> float | None:
    if path[-1] == "error_rate_percent":
        return 100 * float(computed[*path[:-1], "error_rate"])
    found = computed[path]
    return None if found is None else float(found)


def _together(one: Row, other: Row) -> Row:
    return Row(
        paper=one.paper,
        source=one.source,
        digits=one.digits,
        values=one.values + other.values,
        agreeing=one.agreeing + other.agreeing,
        known=one.known + other.known,
        unexpected=one.unexpected + other.unexpected,
    )


def as_page(rows: Sequence[Row]) -> str:
    """Return comparisons.md, which has all tables."""
    return (
        "# Printed and computed values\n\n"
        "Made by `python -m tests.golden --papers --out tests/golden/comparisons.md` from "
        "`tests/golden/printed.toml`;\n[Reproductions](../../docs/reproductions.md) says how to read it.\n\n"
        f"{as_markdown(rows)}\n"
    )


def as_markdown(rows: Sequence[Row]) -> str:
    """Write the tables of comparisons.md.

    >>> row = Row(paper="P", source="Table 1", digits="2 decimals", values=4, agreeing=3)
    >>> as_markdown([row]).splitlines()[2]
    '| P | Table 1 | 2 decimals | 3 of 4 |'
    """
    lines: list[str] = []
    compared = [row for row in rows if row.why is None]
    if compared:
        lines += ["| paper | printed | at | agree |", "|---|---|---|---|"]
        lines += [f"| {row.paper} | {row.source} | {row.digits} | {row.agreeing} of {row.values} |" for row in compared]
        total, agreeing = sum(row.values for row in compared), sum(row.agreeing for row in compared)
        lines += [f"| all | | | {agreeing} of {total} |", ""]
    left_out = [row for row in rows if row.why is not None]
    if left_out:
        lines += ["| not computed | printed | values | why |", "|---|---|---|---|"]
        lines += [f"| {row.paper} | {row.source} | {row.values or 'not counted'} | {row.why} |" for row in left_out]
    return "\n".join(lines)
