"""What a study file says about power: the family of tests, items, directions, pay."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any, Literal, get_args

import numpy as np

from analysis.live.hypotheses import stopping_rule
from analysis.planning.assumptions import Assumptions, Kind, assumed
from analysis.planning.live_costs import live_costs
from analysis.planning.plan import LiveCost, PowerPlan, annotators_for
from analysis.planning.ranked import choice_design, ranking_design
from analysis.planning.unpaired import OwnItems
from spa.elicitation.spa import Spa
from spa.elicitation.spans import Spans
from spa.errors import AnalysisError
from spa.forms.build import StudyForms
from spa.forms.effort import estimate_effort
from spa.forms.texts import load_texts
from spa.records.outputs import Outputs
from spa.records.study import OVERALL, Study
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from spa.study.stopping import deciding_section, ranks_systems

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
