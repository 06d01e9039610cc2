"""What a study file says about power: the family of tests, items, directions, pay; what ending early would save."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import stdtr

from analysis.live.hypotheses import stopping_rule
from analysis.planning.assumptions import Assumptions, Kind, assumed
from analysis.planning.contributions import answers
from analysis.planning.plan import LiveCost, PowerPlan, Truth, annotators_for
from analysis.planning.ranked import choice_design, ranking_design
from analysis.planning.simulate import holm_rejects
from analysis.planning.unpaired import OwnItems
from analysis.sequential.family import FUTILE, X
from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Tally
from analysis.statistics.coding import Floats
from spa.elicitation.spa import Spa
from spa.elicitation.spans import Spans
from spa.errors import AnalysisError
from spa.forms.build import StudyForms
from spa.forms.effort import SECONDS_A_QUESTION, estimate_effort
from spa.forms.texts import load_texts
from spa.records.outputs import Outputs
from spa.records.study import OVERALL, Study
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from spa.study.stopping import deciding_section, ranks_systems

CELLS = 120_000  # answers simulated for one scenario: half a second
STUDIES = 300  # at most
FEWEST = 40  # below which nothing is said
TIMES = (1.0, 1.5, 2.0, 3.0)  # the difference, of pairs that differ unequally
LONGEST = 2.5  # times the fixed number that a simulated live study can last
FORMS = 4  # whose time is estimated, as annotators read different items
KINDS: tuple[Kind, ...] = get_args(Kind)


def study_assumptions(path: Path, kind: Kind | None = None) -> tuple[Study, Outputs, tuple[Assumptions, ...]]:
    """Read what a plan of this study takes for granted, for each kind of answers that can be planned and is asked.

    Parameters
    ----------
    path : Path
        The study file.
    kind : {"spa", "likert", "spans", "ranking", "choices"}, optional
        Only this one.

    Raises
    ------
    StudyError
        With every mistake of the study file.
    AnalysisError
        When the study does not ask what is to be planned.
    """
    study = load_study(path)
    outputs = load_outputs(study)
    asked = [one for one in planned_kinds(study) if kind in (None, one)]
    if not asked:
        expected = f"[{kind}]" if kind else "[spa], [likert], [spans], [ranking] or [choices]"
        found = ", ".join(f"[{one}]" for one in study.sections if study.criteria_of(one))
        found += " to rank all systems" if ranks_systems(study) else ""
        raise AnalysisError(
            f"{path}: expected a study that asks {expected}, got {found}; spa check says what it can answer"
        )
    return study, outputs, tuple(study_design(study, one, outputs) for one in asked)


def planned_kinds(study: Study) -> tuple[Kind, ...]:
    """Return the kinds of answers that are planned pair by pair: no choices that look for the best few systems."""
    return tuple(one for one in KINDS if study.criteria_of(one) and not (one == "choices" and ranks_systems(study)))


def study_design(study: Study, kind: Kind, outputs: Outputs) -> Assumptions:
    """Return what a plan of one elicitation takes for granted."""
    return assumed(
        kind,
        fwer=study.analysis.fwer,
        pool=len(outputs.items),
        pay=study.people.pay,
        currency=study.people.currency,
        sessions=study.people.sessions,
        per_assignment=study.people.per_assignment,
        unit="annotator" if kind == "spa" else study.analysis.unit,
        correction=study.analysis.correction,
        unknown=_unknown(study, kind, len(outputs.items)),
        **_family(study, outputs, kind),
    )


def _unknown(study: Study, kind: Kind, pool: int) -> str | None:
    """Say why the test of a design is not planned, so that no figure is given for another one."""
    if kind not in ("likert", "spans"):
        return None
    if study.analysis.rating_test == "welch":
        return 'not planned: Welch\'s t-test ([analysis] rating_test = "welch")'
    if study.single_outputs and study.design.outputs < pool * len(study.compared):
        return "not planned: single outputs are dealt, of which few lie side by side"
    own = not study.shares_items
    if own and study.analysis.unit != "auto":
        return f'not planned: other items of each system with [analysis] unit = "{study.analysis.unit}"'
    if own and study.items_per_annotator * study.people.sessions > pool:
        return "not planned: other items of each system, in sessions that hold an item twice"
    return None


def _family(study: Study, outputs: Outputs, kind: Kind) -> dict[str, Any]:
    if kind == "spa":
        return _spa(study)
    if kind == "likert" or kind == "spans":
        return _rated(study, kind, len(outputs.items))
    found = ranking_design(study, outputs) if kind == "ranking" else choice_design(study, outputs)
    found["dealt"] = study.items_per_annotator
    return {**found, "n_tests": found["n_tests"] * _criteria(study, kind)}


def form_minutes(study: Study, outputs: Outputs) -> float:
    """Return how long a form takes: what the study says, else the mean estimate of a few forms."""
    if study.people.minutes is not None:
        return study.people.minutes
    forms = StudyForms(study, outputs, load_texts(study.language, study.texts))
    drawn = sample_assignments(study, outputs, count=FORMS, rng=study_rng(study.seed))
    return fmean(estimate_effort(forms.build(assignment, key)).minutes for assignment, key in drawn)


def planned_live_costs(
    study: Study, outputs: Outputs, plan: PowerPlan, *, rng: np.random.Generator
) -> tuple[LiveCost, ...]:
    """Return what this study costs when it ends as its pairs are decided, for one difference of its plan.

    That is the effect that [stopping] names, or else the middle one of the plan. Nothing of answers that do not decide.
    """
    design, rule = plan.assumptions, stopping_rule(study)
    rows = [row for row in plan.rows if row.need.annotators is not None]
    if not rows:
        return ()
    chosen = rows[len(rows) // 2].need.difference
    if ranks_systems(study) or design.kind == "spans":  # which bets cannot decide
        return ()
    if rule is not None:
        if deciding_section(study).key != design.kind:
            return ()
        chosen = rule.effect * (1 if design.kind == "spa" else 2 * design.largest)
    power = min(row.need.power for row in rows)
    units = annotators_for(design, chosen, power, design.alpha).annotators
    if units is None:
        return ()
    minutes = form_minutes(study, outputs)
    return live_costs(
        design,
        difference=chosen,
        power=power,
        units=units,
        rule=rule,
        minutes=minutes,
        rng=rng,
        hypotheses=deciding_hypotheses(study, design),
    )


def deciding_hypotheses(study: Study, design: Assumptions) -> int:
    """Return how many hypotheses a live study decides as one family, whatever the family of tests of a fixed one."""
    asked = study.criteria_of(design.kind)
    usual = (OVERALL,) if OVERALL in asked else asked
    named = () if study.stopping.rule == "fixed" else study.stopping.criteria
    return design.n_tests // _criteria(study, design.kind) * len(named or usual)


def _spa(study: Study) -> dict[str, Any]:
    section = study.section(Spa)
    if section is None:
        raise ValueError("the study has no [spa]")
    return {
        "n_tests": len(section.pairs(study)) * len(study.exposures) * _criteria(study, "spa"),
        "n_items": min(study.exposures),  # where contributions vary most
        "directions": 2 if section.directions == "both" else 1,
        "same_items": section.same_items,
    }


def _rated(study: Study, kind: Literal["likert", "spans"], pool: int) -> dict[str, Any]:
    points = {} if study.scale_points is None else {"points": study.scale_points}
    own = not study.shares_items  # items of each system
    rated = {"first": 1, "all": study.items_per_annotator // (len(study.compared) if own else 1)}
    shown = "all" if study.single_outputs else study.sections[study.page_table(kind)].judged()
    compared = len(study.ranked)
    pairs = {frozenset(pair) for pair in study.pairs}  # as the report corrects them
    n_items = shown if isinstance(shown, int) else rated[shown]
    n_items = min(n_items, study.items_per_annotator)
    times, dealt = study.people.sessions, study.items_per_annotator
    return {
        "n_tests": (len(pairs) or compared * (compared - 1) // 2) * _criteria(study, kind),
        "n_items": n_items,
        **points,
        "dealt": dealt,
        "own_items": OwnItems(n_items=times * n_items, dealt=times * dealt, pool=pool) if own else None,
    }


def _criteria(study: Study, kind: Kind) -> int:
    """Return how many criteria share a family: of marked errors also their number and the score after them."""
    asked = len(study.criteria_of(kind)) if study.analysis.family == "all" else 1
    spans = study.section(Spans)
    if kind == "spans" and spans is not None and study.analysis.family == "all":
        return asked * (3 if spans.score else 2)
    return asked


def live_costs(
    assumptions: Assumptions,
    *,
    difference: float,
    power: float,
    units: int,
    rule: StoppingRule | None,
    minutes: float | None,
    rng: np.random.Generator,
    hypotheses: int | None = None,
) -> tuple[LiveCost, ...]:
    """Simulate live studies in which every pair differs alike, in which they do unequally, and in which only one does.

    Parameters
    ----------
    assumptions : Assumptions
        What the plan takes for granted.
    difference, power : float
        To be found; SPA: mean preference minus 0.5; Likert: points.
    units : int
        Annotators whom the plan with a fixed number needs.
    rule : StoppingRule or None
        The study's own; ``None``: bets planned for the difference.
    minutes : float or None
        That one annotator needs for all questions.
    rng : numpy.random.Generator
        Source of randomness.
    hypotheses : int, optional
        What the live study decides as one family: pairs x exposures x deciding criteria; default: ``n_tests``. The
        study of fixed size corrects in families of ``n_tests``.

    Returns
    -------
    tuple of LiveCost
        Empty for counts, which bets cannot decide, and where nothing pairs, pairs are dealt, the answers cannot be
        drawn, take too long to simulate, or never reach the power.
    """
    if assumptions.kind == "spans" or assumptions.own_items is not None or assumptions.meets < 1:
        return ()
    longest = math.ceil(LONGEST * units * (1 - assumptions.exclusion_rate))
    n_tests = hypotheses or assumptions.n_tests
    studies = min(STUDIES, CELLS // (longest * n_tests))
    try:
        same, other = (_on_unit_scale(assumptions, value) for value in (0.0, difference))
        differences = _unequal(assumptions, difference, n_tests)
        unequal = [_on_unit_scale(assumptions, value) for value in differences]
    except ValueError:
        return ()
    effect = min(0.49, difference if assumptions.kind != "likert" else difference / assumptions.largest / 2)
    own = rule or StoppingRule(error_rate=assumptions.fwer, effect=effect, least=10)
    if studies < FEWEST or longest <= own.least:
        return ()
    families: dict[Truth, list[tuple[Floats, Floats]]] = {"all differ": [other] * n_tests}
    if n_tests > 1:
        families |= {"unequal": unequal, "one differs": [other] + [same] * (n_tests - 1)}
    found = []
    for truth, drawn in families.items():
        smallest = [place for place in range(n_tests) if truth == "all differ" or place % len(set(differences)) == 0]
        hard = smallest[:1] if truth == "one differs" else smallest
        size = (studies, longest)
        values = np.stack([rng.choice(points, size=size, p=chances) for points, chances in drawn], axis=-1)
        cost = _cost(assumptions, values, hard, replace(own, most=None), power, minutes)
        if cost is not None:
            largest = max(differences) if truth == "unequal" else difference
            found.append(replace(cost, difference=difference, largest_difference=largest, truth=truth))
    return tuple(found)


def _cost(
    assumptions: Assumptions, values: Floats, hard: list[int], rule: StoppingRule, power: float, minutes: float | None
) -> LiveCost | None:
    """Return the cost with the fewest annotators at most that finds what is ``hard`` with the power, if any."""
    studies, longest, n_tests = values.shape
    most = _most(values, hard, rule, power)
    if most is None:
        return None
    most = max(most, rule.least)
    ended = replay(values[:, :most], replace(rule, most=most))
    closed = np.where(ended.decisions == "", most, ended.decided_at).max(axis=1)
    reached = float((ended.decisions == "x")[:, hard].mean())

    def enough(n: int) -> bool:
        return _holm_power(values[:, :n], hard, assumptions.fwer, assumptions.n_tests) >= reached

    if not enough(longest):
        return None
    fixed = bisect_left(range(longest), True, lo=2, key=enough)
    recruited = 1 / (1 - assumptions.exclusion_rate)
    directions = assumptions.directions if assumptions.kind == "spa" else None
    asked = None if directions is None else float(ended.n.sum(axis=1).mean()) * directions * recruited
    all_asked = None if directions is None else fixed * n_tests * directions * recruited
    annotators = float(closed.mean()) * recruited
    spent = None
    if minutes is not None and asked is not None and directions is not None:
        spared = annotators * n_tests * directions - asked
        spent = annotators * minutes - spared * SECONDS_A_QUESTION / 60
    return LiveCost(
        difference=0.0,
        largest_difference=0.0,
        power=reached,
        truth="all differ",
        studies=studies,
        most=math.ceil(most * recruited),
        annotators=annotators,
        fixed=math.ceil(fixed * recruited),
        questions=asked,
        fixed_questions=all_asked,
        minutes=spent,
        fixed_minutes=None if spent is None or minutes is None else fixed * recruited * minutes,
    )


def _most(values: Floats, hard: list[int], rule: StoppingRule, power: float) -> int | None:
    """Return after how many units the share of right decisions of what is ``hard`` reaches the power, if ever."""
    tally = Tally.start(rule, (len(values), values.shape[2]))
    for unit in range(values.shape[1]):
        tally = tally.after(np.where(tally.marks == FUTILE, np.nan, values[:, unit]), rule)
        if np.mean(tally.marks[:, hard] == X) >= power:
            return unit + 1
    return None


def _holm_power(values: Floats, hard: list[int], fwer: float, family: int | None = None) -> float:
    """Return the mean chance that Holm's t-tests find the differences at these places, in their direction.

    Families of ``family`` tests each (default: all) follow one another; one that is larger than all has other tests
    that find nothing. As in the report answers that are all alike are no test, and all count where some are unanimous.
    """
    studies, n, k = values.shape
    family = family or k
    mean, alike = values.mean(axis=1), values.min(axis=1) == values.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean - 0.5) / (values.std(axis=1, ddof=1) / math.sqrt(n))
    p_values = np.where(alike, np.nan, 2 * stdtr(n - 1, -np.abs(t)))
    unanimous = alike & (values[:, 0] != 0.5)
    if family > k:
        p_values = np.concatenate([p_values, np.ones((studies, family - k))], axis=1)
        unanimous = np.concatenate([unanimous, np.zeros((studies, family - k), dtype=bool)], axis=1)
    counting = unanimous.reshape(-1, family).any(axis=1)
    rejected = holm_rejects(p_values.reshape(-1, family), fwer=fwer, counting_all=counting)
    found = rejected.reshape(studies, -1)[:, :k] & (t > 0)
    return float(found[:, hard].mean())


def _on_unit_scale(assumptions: Assumptions, difference: float) -> tuple[Floats, Floats]:
    points, chances = answers(assumptions, difference)
    if assumptions.kind == "likert":
        points = (points / assumptions.largest + 1) / 2
    return points, chances


def _unequal(assumptions: Assumptions, difference: float, n_tests: int) -> list[float]:
    """Return 1, 1.5, 2 and 3 times a difference in turn, as far as answers of this SD can differ."""
    possible = []
    for times in TIMES:
        try:
            answers(assumptions, difference * times)
        except ValueError:
            break
        possible.append(difference * times)
    return [possible[place % len(possible)] for place in range(n_tests)]
