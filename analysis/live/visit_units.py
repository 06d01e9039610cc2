"""What one visit adds to a live study: its values, or that the person is left out, from the visit's own answers.

The rules are those of :mod:`analysis.answers.exclusions` for somebody with one completed visit, and what tables derive
from others is derived as there: choices from orders, counts from marked errors. It is written here for the
few rows of a visit, since checked tables cost tens of milliseconds however few rows they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import polars as pl

from analysis.answers.answer_checks import names_by_elicitation
from analysis.answers.careless import check_careless, declared_rules, needs_reading
from analysis.answers.consistency import exact_directions
from analysis.answers.orderings import SECOND
from analysis.answers.plan import Plan
from analysis.answers.span_tables import COUNTED
from analysis.answers.span_weights import CLEAN
from analysis.live.hypotheses import Hypotheses
from analysis.statistics.coding import Floats
from spa.records.assignment import AssignmentLabels
from spa.records.form import Judgement
from spa.records.study import OVERALL
from spa.records.submission import Response, Submission
from spa.responses.export import Annotator
from spa.responses.tidy_tables import EXPOSED, row_tables

ANSWER = {"preferences": "preference", "ratings": "score", "choices": "winner"}
WON = {"x": 1.0, "tie": 0.5, "y": 0.0}
Row = dict[str, Any]  # of a tidy table; and ``value``, as checked tables have it
Rows = dict[str, list[Row]]  # by table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VisitUnit:
    """One visit that counts.

    Attributes
    ----------
    asked : bool
        Whether it was asked anything of the kind that decides.
    excluded : bool
        Whether the person is left out.
    values : array of float, shape (k,), or None
        As :class:`~analysis.live.unit_matrix.UnitMatrix` has them; ``None``: no unit.
    """

    asked: bool
    excluded: bool
    values: Floats | None


def visit_unit(
    submission: Submission,
    labels: AssignmentLabels,
    hypotheses: Hypotheses,
    plan: Plan,
    exposures: Callable[[], Iterable[Sequence[object]]],
) -> VisitUnit | None:
    """Return what a completed visit adds, whose person has no other; ``None`` where only checked tables can say it.

    ``exposures`` gives the visit's rows of the table ``reading``; see :func:`spa.responses.export.visit_exposures`.
    """
    person = Annotator(annotator_kind=submission.annotator_kind, source=submission.source)
    given: Rows = {}
    for answer in submission.answers:
        target = answer.target
        if not isinstance(target, Judgement):
            person.note(answer)
            continue
        value = answer.value if isinstance(answer, Response) else None
        for cells in target.rows(value, labels):
            given.setdefault(target.table, []).append(dict(zip(target.columns, cells, strict=True)))
    tables = _with_derived(given)
    excluded = bool(tables) and (
        not all(person.eligible)
        or person.checks.count(False) > plan.max_failed_checks
        or _contradicts(tables.get("preferences", []), plan)
    )
    if tables and not excluded and declared_rules(plan):
        if plan.max_reading_speed is not None:
            return None  # the table of annotators says what the server's clock does
        if any(row.get("turn") is not None for row in tables.get("ratings", ())):
            return None  # scores of turns are averaged before they are looked at
        excluded = _is_careless(tables, exposures, submission, plan)
    own = tables.get(hypotheses.answers, [])
    deciding = [row for row in own if row["criterion"] in hypotheses.criteria]
    return VisitUnit(
        asked=bool(own), excluded=excluded, values=None if excluded or not deciding else _values(deciding, hypotheses)
    )


def _values(rows: list[Row], hypotheses: Hypotheses) -> Floats:
    if hypotheses.answers == "ratings":
        return hypotheses.of_ratings([_cells(row, "criterion", "system", "item_id", "value") for row in rows])
    return hypotheses.of_pairs([_cells(row, "criterion", "exposure", "system_x", "system_y", "value") for row in rows])


def _cells(row: Row, *names: str) -> Any:
    return tuple(row.get(name) for name in names)


def _with_derived(given: Rows) -> Rows:
    """Return preferences, ratings and choices with ``value``, and with what orders and marks imply."""
    found = {
        name: [{**row, "value": WON.get(row["winner"]) if name == "choices" else row[ANSWER[name]]} for row in rows]
        for name in ("preferences", "ratings", "choices")
        if (rows := given.get(name))
    }
    choices = found.get("choices", [])
    if implied := [*_implied(given.get("orders", []), choices)]:
        found["choices"] = choices + implied
    if rated := [*found.get("ratings", []), *_counts(given.get("spans", []))]:
        found["ratings"] = _named_by_elicitation(rated)
    return found


def _implied(orders: list[Row], choices: list[Row]) -> Iterator[Row]:
    """Yield the choices between every two outputs put in order; see ``implied_choices``."""
    also = {row["criterion"] for row in choices}
    orderings: dict[tuple[str, str], list[Row]] = {}
    for row in orders:
        criterion = row["criterion"] + SECOND if row["criterion"] in also else row["criterion"]
        orderings.setdefault((criterion, row["item_id"]), []).append(row)
    for (criterion, item), listed in orderings.items():
        about = {"criterion": criterion, "item_id": item, "elicitation": listed[0]["elicitation"]}
        if any(row["rank"] is None for row in listed):
            yield about | {"system_x": None, "system_y": None, "value": None}
            continue
        places = [place if row["position"] is None else row["position"] for place, row in enumerate(listed)]
        for x, y in combinations([listed[place] for place in sorted(range(len(listed)), key=places.__getitem__)], 2):
            ahead, pair = y["rank"] - x["rank"], {"system_x": x["system"], "system_y": y["system"]}
            yield about | pair | {"value": 1.0 if ahead > 0 else 0.0 if ahead < 0 else 0.5}


def _counts(spans: list[Row]) -> list[Row]:
    """Return ratings that are counts of marked errors; see ``error_counts``."""
    outputs: dict[tuple[Any, ...], list[Row]] = {}
    for row in spans:
        outputs.setdefault(_cells(row, "criterion", "item_id", "sample", "system"), []).append(row)
    found: dict[str, list[Row]] = {"errors": [], "weighted errors": []}
    for (criterion, item, sample, system), rows in outputs.items():
        marked = [row["weight"] for row in rows if row["severity"] is not None and not _is_clean(row)]
        is_missing = any(row["severity"] is None and row["reason"] is None for row in rows)
        about = {"item_id": item, "sample": sample, "system": system, "elicitation": COUNTED}
        for counted, number in (("errors", float(len(marked))), ("weighted errors", sum(marked, 0.0))):
            name = counted if criterion == OVERALL else f"{counted}: {criterion}"
            found[counted].append(about | {"criterion": name, "value": None if is_missing else number})
    return [row for rows in found.values() for row in rows]


def _is_clean(row: Row) -> bool:
    return any((row[name] or "").lower() in CLEAN for name in ("severity", "category"))


def _named_by_elicitation(rows: list[Row]) -> list[Row]:
    names = names_by_elicitation(dict.fromkeys((row["criterion"], row["elicitation"]) for row in rows))
    if not names:
        return rows
    return [row | {"criterion": names.get((row["criterion"], row["elicitation"]), row["criterion"])} for row in rows]


def _contradicts(rows: list[Row], plan: Plan) -> bool:
    """Tell whether two directions of a comparison sum to more than the bound; see ``find_failures``."""
    if plan.consistency_tau is None:
        return False
    sides: dict[tuple[Any, ...], dict[bool, list[str]]] = {}
    for row in rows:
        x, y = row["system_x"], row["system_y"]
        if row["preference"] is not None:
            about = row["criterion"], row["exposure"], frozenset((x, y))
            sides.setdefault(about, {}).setdefault(x < y, []).append(repr(row["preference"]))
    if not sides:
        return False
    bound = Fraction(plan.consistency_tau)
    both = (exact_directions({"forth": [one[True]], "back": [one[False]]}) for one in sides.values() if len(one) == 2)
    return any(forth + back > bound for forth, back in both)


def _is_careless(
    tables: Mapping[str, list[Row]],
    exposures: Callable[[], Iterable[Sequence[object]]],
    submission: Submission,
    plan: Plan,
) -> bool:
    """Tell whether the person leaves by a declared rule of careless answering."""
    who = {name: pl.lit(getattr(submission, name)) for name in ("annotator_id", "annotator_kind", "assignment_id")}
    who["group"] = who["annotator_kind"]
    answers = {
        name: pl.DataFrame(rows, {**row_tables()[name], "value": pl.Float64}, orient="row").with_columns(**who)
        for name, rows in tables.items()
    }
    shown = [*exposures()] if needs_reading(plan) else []
    reading = pl.DataFrame(shown, EXPOSED, orient="row").with_columns(**who) if shown else None
    return any(check.excluded for check in check_careless(answers, reading, plan))
