"""What a study file says about power: the family of tests, items, directions, pay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.planning.plan import Assumptions, Kind, assumed
from analysis.planning.unpaired import OwnItems
from spa.errors import AnalysisError
from spa.study.load import load_study
from spa.study.outputs import Outputs, load_outputs
from spa.study.study import Study

KINDS: tuple[Kind, ...] = ("spa", "likert")


def study_assumptions(path: Path, kind: Kind | None = None) -> tuple[Study, Outputs, tuple[Assumptions, ...]]:
    """Read what a plan of this study takes for granted, for SPA and Likert as far as it asks them.

    Parameters
    ----------
    path : Path
        The study file.
    kind : {"spa", "likert"}, optional
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
    asked = [one for one in KINDS if study.criteria_of(one) and kind in (None, one)]
    if not asked:
        expected = f"[{kind}]" if kind else "[spa] or [likert]"
        raise AnalysisError(
            f"{path}: expected a study that asks {expected}, got none; other ratings are not planned yet"
        )
    return study, outputs, tuple(study_design(study, one, pool=len(outputs.items)) for one in asked)


def study_design(study: Study, kind: Kind, *, pool: int) -> Assumptions:
    """Return what a plan of one elicitation takes for granted; ``pool`` is the number of items."""
    return assumed(
        kind,
        fwer=study.analysis.fwer,
        pool=pool,
        pay=study.people.pay,
        currency=study.people.currency,
        **(_spa(study) if kind == "spa" else _likert(study, pool)),
    )


def _spa(study: Study) -> dict[str, Any]:
    if study.spa is None:
        raise ValueError("the study has no [spa]")
    exposures = (study.spa.exposure,) if study.spa.exposure_study is None else study.spa.exposure_study.exposures
    return {
        "n_tests": len(study.pairs) * len(exposures) * _criteria(study, "spa"),
        "n_items": min(exposures),  # where contributions vary most
        "directions": 2 if study.spa.directions == "both" else 1,
    }


def _likert(study: Study, pool: int) -> dict[str, Any]:
    if study.likert is None:
        raise ValueError("the study has no [likert]")
    own = study.spa is not None and not study.spa.same_items  # items of each system
    rated = {"first": 1, "all": study.items_per_annotator // (len(study.compared) if own else 1)}
    shown = "all" if study.single_outputs else getattr(study, study.page_table("likert")).outputs
    compared = len(study.compared)
    pairs = {frozenset(pair) for pair in (*study.pairs, *study.choice_pairs)}  # as the report corrects them
    n_items = shown if isinstance(shown, int) else rated[shown]
    dealt = OwnItems(n_items=n_items, dealt=study.items_per_annotator, pool=pool) if own else None
    return {
        "n_tests": (len(pairs) or compared * (compared - 1) // 2) * _criteria(study, "likert"),
        "n_items": n_items,
        "points": study.likert.points,
        "own_items": dealt,
    }


def _criteria(study: Study, kind: Kind) -> int:
    """Return how many criteria share a family."""
    return len(study.criteria_of(kind)) if study.analysis.family == "all" else 1
