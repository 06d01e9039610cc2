"""Bonuses on any platform: who gets how much and why, read from a file and held to a cap before anything is paid."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from spa.errors import ResponseError, StudyError
from spa.responses.decisions import parse_amount


@dataclass(frozen=True, slots=True, kw_only=True)
class BonusRow:
    """One row of a list of bonuses, the amount in major units."""

    recipient: str
    amount: Decimal
    reason: str  # as written
    purpose: str | None = None
    place: str  # file and line


def read_bonus_rows(path: Path, *, recipient: str) -> list[BonusRow]:
    """Read a CSV file with the columns ``recipient`` names, amount and reason, and purpose where it varies.

    Raises
    ------
    StudyError
        One line for each mistake.
    """
    columns = (recipient, "amount", "reason")
    try:
        rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")), strict=True)
        missing = [name for name in columns if name not in (rows.fieldnames or ())]
        given = [] if missing else list(rows)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"{path}: expected a CSV file with the columns {', '.join(columns)}, got {error}") from error
    if missing or not given:
        got = f"no {', '.join(missing)}" if missing else "a header alone"
        raise StudyError(f"{path}: expected the columns {', '.join(columns)} and at least one bonus, got {got}")
    found, problems = [], []
    for number, row in enumerate(given, start=2):
        place = f"{path} line {number}"
        cells = {name: row.get(name) or "" for name in (*columns, "purpose")}
        try:
            found.append(
                BonusRow(
                    recipient=_present(cells, recipient).strip(),
                    amount=parse_amount(cells["amount"]),
                    reason=_present(cells, "reason"),
                    purpose=cells["purpose"].strip() or None,
                    place=place,
                )
            )
        except (StudyError, ResponseError) as error:
            problems += [f"{place}: {problem}" for problem in error.problems]
    if problems:
        raise StudyError(*problems)
    return found


def above_cap(place: str, amount: str, cap: str) -> str:
    """Return the line that refuses an amount which is probably a mistake."""
    return f"{place}: {amount} is above the cap of {cap}; is it in major units? Raise the cap with --cap if it is meant"


def _present(cells: dict[str, str], name: str) -> str:
    if not cells[name].strip():
        raise StudyError(f"expected {'an' if name[0] in 'aeiou' else 'a'} {name}, got none")
    return cells[name]
