"""A plan frozen before the answers: what was fixed, when, and what deviates from it afterwards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from analysis.answers.plan import Plan
from analysis.answers.study_facts import plan_of
from spa.errors import AnalysisError
from spa.records.analysis import Audit
from spa.records.study import Study
from spa.responses.store import Store
from spa.study.stopping import stopping_facts

FACT = "preregistered"  # name of the fact in the store
NOT_PLANNED = ("seed",)
LATER = (
    *("max_reading_speed", "usual_answer", "juries", "flips", "max_flips", "makers", "examples"),
    *("williams_alternative", "williams_correction", "williams_criteria"),
    *("compare_people_by", "compare_people_least", "camps"),
)
FORMER_STOPPING = {"counted": "completed"}  # what plans meant that were frozen before [stopping] could say it

# what audits were before there were waves
FORMER_AUDIT = {name: one.get_default() for name, one in Audit.model_fields.items() if not one.is_required()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPlan:
    """What was fixed.

    ``sha256`` is the hash of ``content`` as it was published; ``submissions`` counts the forms that people had handed
    in by then: 0 is a preregistration, more is a plan written after answers could be seen.
    """

    frozen_at: float  # seconds since 1970
    submissions: int
    content: Mapping[str, Any]
    sha256: str


def planned(
    plan: Plan,
    *,
    fingerprint: str,
    annotators: int,
    stopping: Mapping[str, Any] | None = None,
    audit: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what is frozen: analysis plan, study as built, how many annotators, when a live study ends, the audit.

    ``stopping`` is as :func:`spa.study.stopping.stopping_facts` returns it, ``audit`` the table of the study file.
    """
    facts = {name: value for name, value in asdict(plan).items() if name not in NOT_PLANNED}
    for name in LATER:  # unknown to plans that were frozen before there were any
        if getattr(plan, name) == getattr(Plan(), name):
            del facts[name]
    live = {"stopping": _plain(stopping)} if stopping else {}
    audited = {"audit": _plain(audit)} if audit else {}
    return {"annotators": annotators, "fingerprint": fingerprint, "plan": _plain(facts), **live, **audited}


def planned_for(study: Study, *, fingerprint: str) -> dict[str, Any]:
    """Return what is frozen of a study; see :func:`planned`."""
    return planned(
        plan_of(study),
        fingerprint=fingerprint,
        annotators=study.people.annotators,
        stopping=stopping_facts(study),
        audit=None if study.audit is None else study.audit.model_dump(),
    )


def freeze(store: Store, content: Mapping[str, Any], *, now: float) -> FrozenPlan:
    """Keep a plan in the store for good.

    Raises
    ------
    AnalysisError
        If another plan was frozen before: the first one stands.
    """
    earlier = frozen_plan(store)
    if earlier is not None:
        if earlier.content == json.loads(_canonical(content)):
            return earlier
        raise AnalysisError(
            f"{store.name}: a plan was frozen before, with the hash {earlier.sha256[:12]}, and stands; "
            "what deviates from it is listed in the report"
        )
    visits = sum(visit.completed for visit in store.visits.of_people())
    frozen = FrozenPlan(frozen_at=now, submissions=visits, content=content, sha256=_hash(content))
    store.set_meta(FACT, json.dumps(asdict(frozen), sort_keys=True))
    return frozen


def frozen_plan(store: Store) -> FrozenPlan | None:
    """Return the frozen plan of a store.

    Raises
    ------
    AnalysisError
        If its content no longer has the hash under which it was frozen.
    """
    kept = store.meta(FACT)
    if kept is None:
        return None
    frozen = FrozenPlan(**json.loads(kept))
    if _hash(frozen.content) != frozen.sha256:
        raise AnalysisError(f"{store.name}: the frozen plan was changed: its hash is no longer {frozen.sha256[:12]}")
    return frozen


def deviations(
    frozen: FrozenPlan, content: Mapping[str, Any], *, annotators: int, undecided: bool | None = None
) -> list[str]:
    """Say in plain words how what was done differs from what was frozen.

    Parameters
    ----------
    frozen : FrozenPlan
        What was fixed.
    content : mapping
        What :func:`planned` returns for the analysis at hand.
    annotators : int
        People who handed in a form.
    undecided : bool, optional
        Of a live study: whether its rule asks further annotators. Fewer than planned are then no deviation.

    Returns
    -------
    list of str
        One line a deviation; empty where the plan was kept.
    """
    found = []
    if frozen.submissions:
        found.append(f"The plan was frozen when {frozen.submissions} forms had been handed in already.")
    used = json.loads(_canonical(content))
    for part, place in (("plan", ""), ("stopping", "[stopping] "), ("audit", "[audit] ")):
        before, after = frozen.content.get(part, {}), used.get(part, {})
        if part == "stopping" and before and after:
            before, after = FORMER_STOPPING | before, FORMER_STOPPING | after
        if part == "audit" and before and after:
            before, after = FORMER_AUDIT | before, FORMER_AUDIT | after
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                found.append(f"{place}{name}: planned {_shown(before.get(name))}, used {_shown(after.get(name))}.")
    if frozen.content["fingerprint"] != content["fingerprint"]:
        found.append("The study was changed: its file, a text, an output or an image differs from what was frozen.")
    planned_annotators = frozen.content["annotators"]
    if undecided:
        found.append("By the stopping rule the study is not over: not everything is decided.")
    elif undecided is None and annotators != planned_annotators:
        found.append(f"annotators: planned {planned_annotators}, {annotators} handed in a form.")
    return found


def _shown(value: Any) -> str:
    return "nothing" if value is None or value == [] else json.dumps(value, ensure_ascii=False)


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _plain(value: Any) -> Any:
    """Turn what a plan holds into JSON: sets in order, decimals and the like as text."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(_plain(item) for item in value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
