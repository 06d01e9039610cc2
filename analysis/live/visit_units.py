"""What one visit adds to a live study: its values, or that the person is left out, from the visit's own answers.

The rules are those of :mod:`analysis.answers.exclusions` for somebody with one completed visit, and what tables derive
from others is derived as there: choices from orders, counts from marked errors, means of turns. It is written here for
the few rows of a visit, since checked tables cost tens of milliseconds however few rows they hold. Where a measure lies
so near to a bound that the order of a sum may decide, they are asked all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isclose
from statistics import median, variance
from typing import Any

from analysis.answers.answer_checks import names_by_elicitation
from analysis.answers.careless import (
    FEWEST_ANSWERS,
    FEWEST_OUTPUTS,
    SEEN,
    SpeedUnit,
    declared_rules,
    needs_reading,
)
from analysis.answers.consistency import exact_directions
from analysis.answers.orderings import SECOND
from analysis.answers.plan import Plan
from analysis.answers.post_screening import FEWEST_VOTES, LEAST_VARIANCE, P808
from analysis.answers.span_tables import COUNTED
from analysis.answers.span_weights import CLEAN
from analysis.live.hypotheses import Hypotheses
from analysis.statistics.coding import Floats
from spa.records.assignment import AssignmentLabels
from spa.records.form import Judgement
from spa.records.study import OVERALL
from spa.records.submission import Response, Submission
from spa.responses.export import Annotator

ANSWER = {"preferences": "preference", "ratings": "score", "choices": "winner"}
WON = {"x": 1.0, "tie": 0.5, "y": 0.0}
OUTPUT = ("item_id", "system", "sample", "turn")
NEAR = 1e-8  # share of a bound, by which sums in another order may differ
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


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitReading:
    """How a visit was read.

    Attributes
    ----------
    shown : sequence of dict
        Its rows of the table ``reading``.
    clock : (float, float) or None
        Seconds that its words usually take, and that passed on the server's clock; ``None``: not timed.
    """

    shown: Sequence[Row] = ()
    clock: tuple[float, float] | None = None


def visit_unit(
    submission: Submission,
    labels: AssignmentLabels,
    hypotheses: Hypotheses,
    plan: Plan,
    read: Callable[[], VisitReading],
) -> VisitUnit | None:
    """Return what a completed visit adds, whose person has no other; ``None`` where only checked tables can say it.

    ``read`` is called where a rule of the plan is about reading.
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
    if not tables:
        return VisitUnit(asked=False, excluded=False, values=None)
    failed = not all(person.eligible) or person.checks.count(False) > plan.max_failed_checks
    careless = not failed and _is_careless(tables, read() if needs_reading(plan) else VisitReading(), plan)
    constant = P808 in plan.post_screening and _votes_are_constant(tables.get("ratings", []))
    if careless is None or constant is None:
        return None
    own = tables.get(hypotheses.answers, [])
    if failed or careless or constant:  # by the last rule the visit leaves, and not the person
        return VisitUnit(asked=bool(own), excluded=failed or careless, values=None)
    excluded = _contradicts(tables.get("preferences", []), plan)
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
    if rated := [*_without_turns(found.get("ratings", [])), *_counts(given.get("spans", []))]:
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


def _without_turns(rated: list[Row]) -> list[Row]:
    """Return ratings with the mean of an output's turns in the place of these; see ``average_turns``."""
    if all(row.get("turn") is None for row in rated):
        return rated
    outputs: dict[tuple[Any, ...], list[Row]] = {}
    for row in rated:
        outputs.setdefault(_cells(row, "criterion", "elicitation", "item_id", "sample", "system"), []).append(row)
    found = []
    for rows in outputs.values():
        values = [row["value"] for row in rows if row["value"] is not None]
        found.append(rows[0] | {"value": sum(values) / len(values) if values else None})
    return found


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


def _is_careless(tables: Mapping[str, list[Row]], reading: VisitReading, plan: Plan) -> bool | None:
    """Tell whether the person leaves by a declared rule of careless answering; ``None``: it is too near to a bound."""
    found = False
    for rule, bound in declared_rules(plan).items():
        if rule == "same_answers":
            same, n = _same_answers(tables)
            found |= n >= FEWEST_ANSWERS and same / n > bound
        elif rule == "outputs_seen":
            seen, n = _outputs_seen(reading.shown)
            found |= n > 0 and seen / n < bound
        else:
            speed = _speed(reading, relative=rule == "relative_speed")
            if speed is not None and isclose(speed, bound, rel_tol=NEAR):
                return None
            found |= speed is not None and speed > bound
    return found


def _same_answers(tables: Mapping[str, list[Row]]) -> tuple[int, int]:
    """Return how many answers were the most frequent one of their kind, and of how many; see ``same_answers``."""
    kinds: dict[str, Counter[float]] = {}
    for row in tables.get("ratings", []):
        if row["value"] is not None:
            kinds.setdefault(f"ratings {row['elicitation'] or ''}", Counter())[row["value"]] += 1
    for name in ("preferences", "choices"):
        rows = [row for row in tables.get(name, []) if row["value"] is not None]
        asked = {(row["system_x"], row["system_y"]) for row in rows}
        both = (row["value"] for row in rows if (row["system_y"], row["system_x"]) in asked)
        kinds[name] = Counter(value for value in both if value != 0.5)
    return sum(max(each.values(), default=0) for each in kinds.values()), sum(each.total() for each in kinds.values())


def _outputs_seen(shown: Iterable[Row]) -> tuple[int, int]:
    """Return how many outputs were seen, and of how many that were shown; see ``outputs_seen``."""
    found: dict[tuple[Any, ...], bool] = {}
    for row in shown:
        if row["system"] is not None:
            output = _cells(row, *OUTPUT)
            found[output] = found.get(output, False) or _is_seen(row)
    return sum(found.values()), len(found)


def _is_seen(row: Row) -> bool:
    if not row["seconds"] or row["known_by"] == "refuted":
        return False
    if row["length"] is not None and not (row["played"] is not None and row["played"] >= SEEN * row["length"]):
        return False
    return row["known_by"] == "server" or (row["scrolled"] is not None and row["scrolled"] >= SEEN)


def _speed(reading: VisitReading, *, relative: bool) -> float | None:
    """Return how fast the person read, in words a minute or by the usual speed; see ``relative_speeds``."""
    if not relative:
        return _reading_speed(reading.shown, by="words")
    usual, passed = reading.clock or (0.0, 0.0)
    speeds = [usual / passed] if usual > 0 and passed > 0 else []
    read = _reading_speed(reading.shown, by="usual_seconds")
    return max([*speeds, *(() if read is None else (read,))], default=None)


def _reading_speed(shown: Iterable[Row], *, by: SpeedUnit) -> float | None:
    """Return the speed at which outputs were read, ``None`` of too few; see ``reading_speeds``."""
    pages: dict[str, dict[tuple[Any, ...], tuple[Row, float]]] = {}
    for row in shown:
        scrolled = 1.0 if row["known_by"] == "server" else row["scrolled"]
        if row["known_by"] != "refuted" and row["system"] is not None and row["seconds"] and row[by] and scrolled:
            pages.setdefault(row["page"], {}).setdefault(_cells(row, *OUTPUT), (row, scrolled))
    paces: dict[tuple[Any, ...], float] = {}
    for outputs in pages.values():
        rows = [row for row, _ in outputs.values()]
        words = sum(row[by] * scrolled for row, scrolled in outputs.values())
        took, of_page = sum(row["seconds"] for row in rows), rows[0]["page_seconds"]
        pace = (min(of_page, took) if of_page else took) / words
        for output in outputs:
            paces[output] = paces.get(output, 0.0) + pace
    if len(paces) < FEWEST_OUTPUTS:
        return None
    return (60 if by == "words" else 1) / median(paces.values())


def _votes_are_constant(rated: Iterable[Row]) -> bool | None:
    """Tell whether votes hardly vary, ``None`` where rounding would decide; see ``constant_votes``."""
    votes = [row["value"] for row in rated if row["value"] is not None]
    if len(votes) < FEWEST_VOTES:
        return False
    varies = variance(votes)
    return None if isclose(varies, LEAST_VARIANCE, rel_tol=NEAR) else varies < LEAST_VARIANCE
