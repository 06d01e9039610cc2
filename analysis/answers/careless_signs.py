"""Four signs of careless answering, looked for in everybody's answers whatever the plan declares.

A sign excludes nobody. Where the plan declares a rule about the same, its bound is that of the sign, and the rule
excludes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import polars as pl

from analysis.answers.careless import (
    alike_throughout,
    people_of,
    reading_speeds,
    relative_speed_words,
    relative_speeds,
)
from analysis.answers.consistency import direction_sums, exact_directions
from analysis.answers.exclusions import Exclusion, answers_judged
from analysis.answers.plan import Plan
from analysis.answers.tables import AnswerTables

SignKind = Literal["reading_speed", "same_answers", "both_directions", "attention_checks"]
SIGNS: tuple[SignKind, ...] = get_args(SignKind)
FASTEST = 2.6  # times the usual silent speed of the texts' script: 619 words a minute of English
SAME = 0.95  # share of the answers of one kind that are one and the same
USUAL = 0.5  # share of that answer among others, from which it says nothing of whoever gives it always
SUM = 1.1  # of two directions, where the plan bounds none
ALIKE = 0.9  # share of pairs whose two directions got one answer, against the rule of the sum
FEWEST_PAIRS = 3  # asked in both directions, before answering them alike is a habit
NEAR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CarelessSign:
    """One person and one sign.

    Attributes
    ----------
    evidence : str or None
        In words; ``None`` where there is too little to judge by.
    shown : bool
        Whether the person shows the sign.
    excluded_by : str or None
        The rule of the plan that leaves the person out, about this sign or something else; ``None``: they count.
    """

    annotator_id: str
    group: str
    sign: SignKind
    evidence: str | None
    shown: bool
    excluded_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignBound:
    """What shows a sign: more than ``bound``, which the plan declares or not."""

    bound: float
    declared: bool


def sign_bounds(plan: Plan) -> dict[SignKind, SignBound]:
    """Return the bound of each sign; of words a minute where the plan declares those alone."""
    speed = plan.max_reading_speed if plan.max_reading_speed is not None else plan.max_words_per_minute
    same, most = plan.max_same_answers, plan.consistency_tau
    return {
        "reading_speed": SignBound(bound=FASTEST if speed is None else speed, declared=speed is not None),
        "same_answers": SignBound(bound=SAME if same is None else same, declared=same is not None),
        "both_directions": SignBound(bound=SUM if most is None else float(most), declared=most is not None),
        "attention_checks": SignBound(bound=plan.max_failed_checks, declared=True),
    }


def careless_signs(
    tables: AnswerTables, plan: Plan, exclusions: Sequence[Exclusion], *, sum_explained: bool = True
) -> list[CarelessSign]:
    """Look for the signs of everybody but LLMs, over all of a person's visits that count.

    Parameters
    ----------
    tables : AnswerTables
        Checked tables.
    plan : Plan
        Its bounds are those of the signs.
    exclusions : sequence of Exclusion
        What :func:`analysis.answers.exclusions.find_exclusions` found by the plan.
    sum_explained : bool
        Whether annotators were told that the two directions of a pair add up to 100% at most; where they were not,
        nobody is judged by both directions.

    Returns
    -------
    list of CarelessSign
        Sign by sign, people in the order in which they first answer.
    """
    reading = tables.reading if tables.reading is not None else tables.seen
    answers, reading = answers_judged(tables, reading, exclusions)
    people = people_of(answers)
    left: dict[str, str] = {}
    for row in exclusions:
        if row.assignment_id is None:
            left.setdefault(row.annotator_id, row.rule)
    found: dict[SignKind, Mapping[str, tuple[bool, str]]] = {
        "reading_speed": _fast(reading, tables.annotators, plan),
        "same_answers": _same(answers, people, plan),
        "both_directions": _alike(answers.get("preferences"), plan) if sum_explained else {},
        "attention_checks": _failed(tables.annotators, plan),
    }
    return [
        CarelessSign(
            annotator_id=annotator_id,
            group=group,
            sign=sign,
            evidence=judged[annotator_id][1] if annotator_id in judged else None,
            shown=annotator_id in judged and judged[annotator_id][0],
            excluded_by=left.get(annotator_id),
        )
        for sign, judged in found.items()
        for annotator_id, group in people.items()
    ]


def _fast(reading: pl.DataFrame | None, annotators: pl.DataFrame | None, plan: Plan) -> dict[str, tuple[bool, str]]:
    """Judge how fast people read, by the time on screen and by the server's clock."""
    declared, words = plan.max_reading_speed, plan.max_words_per_minute
    bound = FASTEST if declared is None else declared
    in_words = {} if declared is not None or words is None or reading is None else reading_speeds(reading)
    measured = relative_speeds(None if in_words else reading, annotators)
    found = {
        who: (value > bound, f"{relative_speed_words(value, n)}, more than {bound:,g} is a sign")
        for who, (value, n) in measured.items()
    }
    for who, (speed, n) in in_words.items():
        is_fast = speed > (words or 0)
        if is_fast or not (who in found and found[who][0]):
            evidence = f"read {speed:,.0f} words a minute (median of {n} outputs), more than {words:,g} is a sign"
            found[who] = is_fast, evidence
    return found


def _same(answers: Mapping[str, pl.DataFrame], people: Mapping[str, str], plan: Plan) -> dict[str, tuple[bool, str]]:
    """Judge whether people answered alike throughout, 50% included, by the kind of question in which they did most."""
    bound = sign_bounds(plan)["same_answers"].bound
    usual = USUAL if plan.usual_answer is None else plan.usual_answer
    if plan.max_same_answers is None:
        answers = {name: table for name, table in answers.items() if name != "choices" or _says_sides(table)}
    if not answers:
        return {}
    found = alike_throughout(answers, people, bound=bound, usual=usual, even=True)
    return {
        who: (one.shown, f"{one.words}, more than {100 * bound:g}% is a sign{one.exception}")
        for who, one in found.items()
    }


def _says_sides(table: pl.DataFrame) -> bool:
    """Tell whether a column says what stood where; else the order of two systems may be the file's alone."""
    return "label_x" in table.columns and table["label_x"].null_count() < table.height


def _alike(preferences: pl.DataFrame | None, plan: Plan) -> dict[str, tuple[bool, str]]:
    """Judge whether people gave both directions of pairs one answer, against the rule that both add up to 100% at most.

    That two equal answers of 50% or less obey; one percentage given to everything is the sign ``same_answers``.
    """
    if preferences is None:
        return {}
    most = sign_bounds(plan)["both_directions"].bound
    sums = direction_sums(preferences.filter(pl.col("annotator_kind") != "llm"))
    pairs: dict[str, list[Fraction | None]] = {}
    for row in sums.iter_rows(named=True):
        forth, back = exact_directions(row)
        pairs.setdefault(str(row["annotator_id"]), []).append(
            forth if forth == back and forth + back > Fraction(str(most)) else None
        )
    found = {}
    for annotator_id, each in pairs.items():
        alike = [one for one in each if one is not None]
        if len(each) >= FEWEST_PAIRS:
            such = f", such as {100 * float(max(alike)):g}% twice" if alike else ""
            evidence = (
                f"one answer to both directions of {len(alike)} of {len(each)} pairs, above {100 * most:g}% together"
                f"{such}; more than {100 * ALIKE:g}% of pairs is a sign"
            )
            found[annotator_id] = (len(alike) > ALIKE * len(each), evidence)
    return found


def _failed(annotators: pl.DataFrame | None, plan: Plan) -> dict[str, tuple[bool, str]]:
    """Judge attention checks, of whoever was asked any."""
    if annotators is None or "checks_failed" not in annotators.columns:
        return {}
    total = pl.col("checks_total") if "checks_total" in annotators.columns else pl.lit(None, dtype=pl.Int64)
    rows = annotators.select(pl.col("annotator_id").cast(pl.String), "checks_failed", total.alias("total"))
    allowed = plan.max_failed_checks
    return {
        who: (
            failed > allowed,
            f"failed {failed}{'' if of is None else f' of {of}'} attention checks, {allowed} allowed",
        )
        for who, failed, of in rows.drop_nulls("checks_failed").iter_rows()
        if of != 0
    }
