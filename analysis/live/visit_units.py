"""What one visit adds to a live study: its values, or that the person is left out, from the visit's own answers.

The rules are those of :mod:`analysis.answers.exclusions` for somebody with one completed visit; :func:`is_plain` says
for which studies they are written here, without tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from analysis.answers.careless import declared_rules
from analysis.answers.consistency import exact_directions
from analysis.answers.plan import Plan
from analysis.live.hypotheses import Hypotheses
from analysis.statistics.coding import Floats
from spa.elicitation import ways
from spa.records.assignment import AssignmentLabels
from spa.records.form import Judgement
from spa.records.study import Study
from spa.records.submission import Response, Submission
from spa.responses.export import Annotator
from spa.study.stopping import deciding_answers

WON = {"x": 1.0, "tie": 0.5, "y": 0.0}
Row = dict[str, object]  # of a tidy table


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


def is_plain(study: Study, plan: Plan) -> bool:
    """Tell whether a visit's part follows from its answers by :func:`visit_unit`.

    Not where marked errors or orders of outputs are, or may be, what decides, ratings in two ways, or rules of careless
    answering: their tables are made by the analysis.
    """
    asked = [way for way in ways().values() if (one := study.sections.get(way.key)) is not None and one.asks(study)]
    answers = deciding_answers(study)
    tables = {judgement.table for way in asked for judgement in way.judgements}
    rated = sum(any(judgement.table in ("ratings", "spans") for judgement in way.judgements) for way in asked)
    derived = {"ratings": "spans", "choices": "orders"}.get(answers)
    return derived not in tables and not declared_rules(plan) and not (answers == "ratings" and rated > 1)


def visit_unit(submission: Submission, labels: AssignmentLabels, hypotheses: Hypotheses, plan: Plan) -> VisitUnit:
    """Return what a completed visit adds, whose person has no other."""
    person = Annotator(annotator_kind=submission.annotator_kind, source=submission.source)
    tables: dict[str, list[Row]] = {}
    for answer in submission.answers:
        target = answer.target
        if not isinstance(target, Judgement):
            person.note(answer)
            continue
        value = answer.value if isinstance(answer, Response) else None
        for cells in target.rows(value, labels):
            tables.setdefault(target.table, []).append(dict(zip(target.columns, cells, strict=True)))
    excluded = bool(tables) and (
        not all(person.eligible)
        or person.checks.count(False) > plan.max_failed_checks
        or _contradicts(tables.get("preferences", []), plan)
    )
    own = tables.get(hypotheses.answers, [])
    deciding = [row for row in own if row["criterion"] in hypotheses.criteria]
    return VisitUnit(
        asked=bool(own), excluded=excluded, values=None if excluded or not deciding else _values(deciding, hypotheses)
    )


def _values(rows: list[Row], hypotheses: Hypotheses) -> Floats:
    if hypotheses.answers == "ratings":
        return hypotheses.of_ratings([_cells(row, "criterion", "system", "item_id", "score") for row in rows])
    if hypotheses.answers == "preferences":
        about = ("criterion", "exposure", "system_x", "system_y", "preference")
        return hypotheses.of_pairs([_cells(row, *about) for row in rows])
    chosen = ((_cells(row, "criterion", "system_x", "system_y"), row["winner"]) for row in rows)
    return hypotheses.of_pairs([(criterion, None, x, y, WON.get(str(winner))) for (criterion, x, y), winner in chosen])


def _cells(row: Row, *names: str) -> tuple:  # type: ignore[type-arg]
    return tuple(row[name] for name in names)


def _contradicts(rows: list[Row], plan: Plan) -> bool:
    """Tell whether two directions of a comparison sum to more than the bound; see ``find_failures``."""
    if plan.consistency_tau is None:
        return False
    sides: dict[tuple[object, ...], dict[bool, list[str]]] = {}
    for row in rows:
        x, y = str(row["system_x"]), str(row["system_y"])
        if row["preference"] is not None:
            about = row["criterion"], row["exposure"], frozenset((x, y))
            sides.setdefault(about, {}).setdefault(x < y, []).append(repr(row["preference"]))
    if not sides:
        return False
    bound = Fraction(plan.consistency_tau)
    both = (exact_directions({"forth": [one[True]], "back": [one[False]]}) for one in sides.values() if len(one) == 2)
    return any(forth + back > bound for forth, back in both)
