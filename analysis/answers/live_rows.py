"""What a live study decided, as its results hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from analysis.statistics.record import Count, Positive, Record, Share, Source, record_like
from spa.live import Decision, live_states

if TYPE_CHECKING:
    from spa.records.study import Study
    from spa.responses.store import Store
    from spa.responses.tidy_tables import Tables

# of a pair of a live study; its other answers decide nothing
LiveVerdict: TypeAlias = Literal["x", "y", "equal", "futile", "open", "not_deciding"]
OTHER_SIDE: dict[Decision | None, Decision] = {"x": "y", "y": "x"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LiveGroup(Record):
    """How many were asked until every pair was decided."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    units: Count
    """Annotators whose answers counted; of an LLM its assignments."""
    excluded: Count
    """Left out while the study ran, by rules on their own answers."""
    enough: bool
    """Whether nobody else needs to be asked."""
    all_decided: bool
    """Whether every pair is decided or given up, or the best few or the order are found."""
    waiting: Count = 0
    """Completed, and counted once those who began before have completed or had their time."""
    late: Count = 0
    """Completed after the minutes allowed: never counted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LivePairRow(Record):
    """What was decided of one pair; means and bounds on [0, 1], above 0.5 system_x is better."""

    group: str
    criterion: str
    exposure: Positive | None
    system_x: str
    system_y: str
    n: Count
    """Units until the decision."""
    mean: Share | None
    """Of these; biased away from 0.5 where the decision ended the asking."""
    low: Share
    """Of the confidence sequence, which holds at every look, at the level that a decision needs."""
    high: Share
    decision: Decision | None
    """Null: open."""
    decided_after: Count | None
    """Units of the group when the decision fell."""
    expected_more: float | None
    n_asked: Count
    """Units that answered at all, also after the decision."""
    mean_asked: Share | None
    n_kept: Count | None = None
    """Units of the test in this file, after all exclusions; null where there is no test of these units."""
    mean_kept: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LiveSystemRow(Record):
    """What was found of one system, where the best few of many or their order were looked for."""

    group: str
    system: str
    n: Count
    score: Share | None
    """Share of choices won against systems drawn at random."""
    low: Share
    """Of the confidence sequence; those of all systems hold together at every look."""
    high: Share
    leads: bool
    """Whether it is among the best; of an order, the first."""
    rank_low: Positive | None = None
    """Ranks that the bounds allow, 1 = best."""
    rank_high: Positive | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LiveStudy(Record):
    """The rule of a study that ended when its pairs were decided, and what it decided."""

    answers: Source
    criteria: tuple[str, ...]
    error_rate: float
    """Chance of any false decision of a group, over all criteria, pairs and looks together."""
    effect: float
    margin: float | None
    """Closer to 0.5 than this is equal; null: equality is not decided."""
    least: Count
    most: Count
    scale_width: float | None
    """Of ratings: highest less lowest rating; values are (difference / width + 1) / 2."""
    groups: tuple[LiveGroup, ...]
    pairs: tuple[LivePairRow, ...]
    top: Count | None = None
    """How many of the systems were looked for as the best; null where pairs or an order were decided."""
    order: bool = False
    """Whether the order of all systems was looked for."""
    epsilon: float | None = None
    """By how much less a system may win than one that stands after it, or is not among the best."""
    systems: tuple[LiveSystemRow, ...] = ()
    counted: Literal["begun", "completed"] = "completed"
    """The order in which people counted."""
    criteria_apart: bool = True
    """Whether each criterion has the error rate for itself, as in stores of earlier releases."""
    audited: bool = False
    """Whether means and bounds are those of an audit: people's over all forms, with the answers of its rater."""


def live_study(study: Study, store: Store, exported: Tables) -> LiveStudy | None:
    """Return what a live study has decided by all tables of its store; nothing of a study of fixed size."""
    from spa.study.stopping import criteria_apart, ranks_systems, rating_scale_width, stopping_facts

    facts = stopping_facts(study)
    if not facts:
        return None
    states = live_states(study, store, exported)
    return LiveStudy(
        **{name: facts[name] for name in ("answers", "error_rate", "effect", "margin", "least", "most")},
        criteria=tuple(facts["criteria"]),
        scale_width=rating_scale_width(study) if facts["answers"] == "ratings" else None,
        groups=tuple(record_like(LiveGroup, one) for one in states),
        pairs=tuple(record_like(LivePairRow, pair, group=one.group) for one in states for pair in one.pairs),
        counted=facts["counted"],
        top=study.stopping.top,
        order=study.stopping.order,
        criteria_apart=criteria_apart(study, store.live_rules),
        epsilon=study.stopping.tolerance if ranks_systems(study) else None,
        systems=tuple(record_like(LiveSystemRow, row, group=one.group) for one in states for row in one.systems),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AuditedStudy(Record):
    """An audit whose forms were drawn for people in waves."""

    chances: Mapping[str, float]
    """Of each form that was drawn or passed over, by assignment."""
    drawn: tuple[str, ...]
    """Assignments that people were given."""
    by_doubt: bool
    """Whether any wave was drawn by the rater's doubt."""
    answers: Source
    pairs: tuple[LivePairRow, ...]
    people: LiveGroup
    error_rate: float | None
    """Chance of any false decision; null: it ends with its last wave."""
    scale_width: float | None
    """Of ratings that decide."""


def audited_study(study: Study, store: Store) -> AuditedStudy | None:
    """Return how people's forms were drawn, and what is decided; ``None`` where there were no waves."""
    from spa.live import in_waves
    from spa.responses.audit_waves import read_waves
    from spa.study.stopping import deciding_answers, rating_scale_width

    if study.audit is None or not in_waves(study):
        return None
    names, waves = store.assignments.ids(), read_waves(store)
    (state,) = live_states(study, store)
    decides = study.audit.rule == "when_decided"
    return AuditedStudy(
        chances={names[wave.first + place]: one for wave in waves for place, one in enumerate(wave.chances)},
        drawn=tuple(names[number] for wave in waves for number in wave.drawn),
        by_doubt=any(len(set(wave.chances)) > 1 for wave in waves),
        answers=state.answers,
        pairs=tuple(record_like(LivePairRow, pair, group=state.group) for pair in state.pairs),
        people=record_like(LiveGroup, state),
        error_rate=study.analysis.fwer if decides else None,
        scale_width=rating_scale_width(study) if deciding_answers(study) == "ratings" else None,
    )


def decided_audit(study: Study, audited: AuditedStudy | None) -> LiveStudy | None:
    """Return an audit that ends when its pairs are decided as a live study: n, means and bounds are those audited."""
    from spa.study.stopping import deciding_answers, deciding_criteria, planned_annotators

    if study.audit is None or audited is None or audited.error_rate is None:
        return None
    return LiveStudy(
        answers=deciding_answers(study),
        criteria=tuple(deciding_criteria(study)),
        error_rate=audited.error_rate,
        effect=study.audit.effect,
        margin=None,
        least=study.audit.least,
        most=planned_annotators(study),
        scale_width=audited.scale_width,
        audited=True,
        groups=(audited.people,),
        pairs=audited.pairs,
    )


def is_undecided(live: LiveStudy, groups: Sequence[str]) -> bool:
    """Return whether the rule asks further annotators of the first of these groups that has answered."""
    found = {one.group: one for one in live.groups}
    group = next((found[name] for name in groups if name in found), None)
    return group is not None and not group.enough


def contradicted(live: LiveStudy, row: LivePairRow) -> bool:
    """Return whether the estimate after all exclusions no longer lies where the pair was decided to be."""
    if row.mean_kept is None:
        return False
    shift = row.mean_kept - 0.5
    match row.decision:
        case "x":
            return shift <= 0
        case "y":
            return shift >= 0
        case "equal":
            return live.margin is not None and abs(shift) >= live.margin
    return False


def turned_live(row: LivePairRow) -> LivePairRow:
    """Return a row with the second system named first, and every number with it."""

    def of_the_other(value: float | None) -> float | None:
        return None if value is None else 1 - value

    return replace(
        row,
        system_x=row.system_y,
        system_y=row.system_x,
        mean=of_the_other(row.mean),
        low=1 - row.high,
        high=1 - row.low,
        decision=OTHER_SIDE.get(row.decision, row.decision),
        mean_asked=of_the_other(row.mean_asked),
        mean_kept=of_the_other(row.mean_kept),
    )
