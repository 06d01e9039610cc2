"""The rows of results.json that say how far a difference of ratings or choices holds when tested otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from analysis.answers.plan import Plan
from analysis.comparisons.choices import ChoiceCells, ChoiceTest
from analysis.comparisons.ratings import RatingCells, RatingTest
from analysis.rating_checks.many_tests import ManyTests
from analysis.rating_checks.part import METHODS, PartChecks, check_choices, check_part
from analysis.rating_checks.respacing import Respacing
from analysis.statistics.corrections import OUTSIDE_FAMILY, Verdict, adjust
from analysis.statistics.differences import Differences
from analysis.statistics.effect_sizes import APPROXIMATE, NONCENTRAL

RESPACING = tuple(field.name for field in fields(Respacing))
EFFECTS = ("d_z", "hedges_g", "superiority")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OtherTests:
    """Collects the checks of ratings and choices part by part, and makes their rows when verdicts are there."""

    plan: Plan
    ratings: list[PartChecks] = field(default_factory=list)
    choices: list[ManyTests] = field(default_factory=list)

    def add_ratings(self, cells: RatingCells, differences: Differences, tests: Sequence[RatingTest]) -> None:
        """Check the pairs of one group and criterion; a part with one system has none."""
        if tests:
            self.ratings.append(check_part(cells, differences, tests, self.plan))

    def add_choices(self, cells: ChoiceCells, tests: Sequence[ChoiceTest]) -> None:
        """Run the crossed tests of one group and criterion of the choices."""
        self.choices.append(check_choices(cells, tests, self.plan))

    def rating_rows(self, tests: Sequence[RatingTest], rows: Sequence[Row]) -> dict[str, list[Row]]:
        """Return :func:`with_rating_checks` of all parts."""
        return with_rating_checks(tests, rows, self.ratings, self.plan)

    def choice_rows(self, tests: Sequence[ChoiceTest], rows: Sequence[Row]) -> list[Row]:
        """Return :func:`with_choice_checks` of all parts."""
        return with_choice_checks(tests, rows, self.choices, self.plan)


def with_rating_checks(
    tests: Sequence[RatingTest], rows: Sequence[Row], parts: Sequence[PartChecks], plan: Plan
) -> dict[str, list[Row]]:
    """Add effect sizes and the crossed test to the rows of ``ratings.pairs``, and list the other checks.

    Parameters
    ----------
    tests : sequence of RatingTest
        All tests with their verdicts, part after part.
    rows : sequence of dict
        The rows of the same tests, in the same order.
    parts : sequence of PartChecks
        The checks of each part, in the order of the tests.
    plan : Plan
        Error rate, family, and criteria on which lower is better.

    Returns
    -------
    dict
        Lists ``pairs``, ``robustness`` (method by method) and ``respacing``.
    """
    columns = [_effect_row(part, place) for part in parts for place in range(len(part.respacing))]
    pairs = [{**row, **effects} for row, effects in zip(rows, columns, strict=True)]
    left_out = [count for part in parts for count in part.left_out.tolist()]
    robustness: list[Row] = []
    for method in METHODS:
        found = _corrected([part.methods[method] for part in parts], tests, plan)
        for place, (test, row) in enumerate(zip(tests, found, strict=True)):
            df = row.pop("df")
            if method == "crossed":
                pairs[place] |= _crossed_keys({**row, "df": df}, test.verdict)
            if method == "z_scores":
                row["left_out"] = left_out[place]
        start = 0
        for part in parts:
            own = slice(start, start + len(part.respacing))
            robustness += _listed(method, tests[own], found[own])
            start = own.stop
    respacing = [row for part in parts for row in part.respacing]
    return {
        "pairs": pairs,
        "robustness": robustness,
        "respacing": [{**_names(test), **_respacing_row(row)} for test, row in zip(tests, respacing, strict=True)],
    }


def with_choice_checks(
    tests: Sequence[ChoiceTest], rows: Sequence[Row], parts: Sequence[ManyTests], plan: Plan
) -> list[Row]:
    """Add the crossed test to the rows of ``choices.pairs``."""
    found = _corrected(parts, tests, plan, against=0.5, turns=False)
    return [
        {**row, **_crossed_keys(crossed, test.verdict)} for test, row, crossed in zip(tests, rows, found, strict=True)
    ]


def _listed(method: str, tests: Sequence[RatingTest], found: Sequence[Row]) -> list[Row]:
    """Name the rows of a part; one row without systems stands for all where none could be tested, for one reason."""
    reasons = {row["reason"] for row in found}
    if len(tests) > 1 and len(reasons) == 1 and reasons != {None}:
        names = {**_names(tests[0]), "system_x": None, "system_y": None, "method": method}
        return [{**names, **found[0], "n": None, "estimate": None}]
    return [{**_names(test), "method": method, **row} for test, row in zip(tests, found, strict=True)]


def _names(test: RatingTest) -> Row:
    return {
        "group": test.group,
        "criterion": test.criterion,
        "system_x": test.system_x,
        "system_y": test.system_y,
    }


def _effect_row(part: PartChecks, place: int) -> Row:
    row: Row = {}
    for name in EFFECTS:
        for key, column in zip((name, f"{name}_low", f"{name}_high"), getattr(part.effects, name), strict=True):
            row[key] = _known(column[place])
    exact = part.effects.exact[place]
    row["d_z_interval"] = None if row["d_z"] is None else NONCENTRAL if exact else APPROXIMATE
    return row | {"effect_reason": part.effects.reasons[place]}


def _crossed_keys(row: Mapping[str, Any], verdict: Verdict | None) -> Row:
    return {
        "p_crossed": row["p_value"],
        "p_crossed_adjusted": row["p_adjusted"],
        "crossed_df": row["df"],
        "crossed_verdict": row["verdict"],
        "disagree": None if verdict is None or row["verdict"] is None else row["verdict"] != verdict,
        "crossed_reason": row["reason"],
    }


def _corrected(
    parts: Iterable[ManyTests],
    tests: Sequence[RatingTest | ChoiceTest],
    plan: Plan,
    *,
    against: float = 0.0,
    turns: bool = True,
) -> list[Row]:
    """Correct one method's tests family by family as planned, and set each verdict beside that of the main test."""
    rows: list[Row] = []
    for part in parts:
        columns = (part.n, part.estimate, part.df, part.p_value)
        for n, estimate, df, p_value, reason in zip(
            *(column.tolist() for column in columns), part.reasons, strict=True
        ):
            tested = reason is None
            rows.append(
                {
                    "n": n,
                    "estimate": _known(estimate),
                    "df": _known(df) if tested else None,
                    "p_value": p_value if tested else None,
                    "p_adjusted": None,
                    "verdict": None,
                    "agrees": None,
                    "reason": reason,
                }
            )
    families: dict[tuple[str, str], list[int]] = {}
    for place, (test, row) in enumerate(zip(tests, rows, strict=True)):
        if test.reason == OUTSIDE_FAMILY:
            row["reason"] = OUTSIDE_FAMILY
        elif row["p_value"] is not None:
            key = (test.group, test.criterion if plan.family == "criterion" else "")
            families.setdefault(key, []).append(place)
    for members in families.values():
        p_values = [rows[place]["p_value"] for place in members]
        result = adjust(p_values, correction=plan.correction, rate=plan.fwer)
        for place, p_adjusted, rejected in zip(members, result.p_adjusted, result.rejected, strict=True):
            test, row = tests[place], rows[place]
            effect = row["estimate"] - against
            if turns and test.criterion in plan.lower_is_better:
                effect = -effect
            verdict = ("x" if effect > 0 else "y") if rejected and effect else "indifferent"
            agrees = None if test.verdict is None else verdict == test.verdict
            row |= {"p_adjusted": p_adjusted, "verdict": verdict, "agrees": agrees}
    return rows


def _respacing_row(row: Respacing) -> Row:
    return {name: getattr(row, name) for name in RESPACING}


def _known(value: float) -> float | None:
    found = float(value)
    return found if math.isfinite(found) else None
