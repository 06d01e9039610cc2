"""Audits whose forms are drawn for people in waves: the waves, and what is decided by them so far.

Before each wave everything that a form's chance and its bets hang on is fixed from the waves before, and noted in the
store with the forms that are drawn (:mod:`spa.responses.audit_waves`). Decisions follow from these notes and people's
answers alone: what the rater answers later changes none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from analysis.audit.audit_bets import audit_terms, term_range
from analysis.audit.waves import KnownUnits, plan_wave, share_kept
from analysis.live.hypotheses import Hypotheses
from analysis.live.unit_matrix import deciding_tables, forms_read, live_plan, matrix_of
from analysis.sequential.bets import Range
from analysis.sequential.monitor import Monitor
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Bools
from analysis.statistics.coding import Floats
from spa.errors import ResponseError
from spa.live import AuditProgress, LivePair, LiveState
from spa.records.analysis import Audit
from spa.records.study import Study
from spa.responses.audit_waves import AuditWave, read_waves, save_wave, wave_progress
from spa.responses.export import export_tables
from spa.responses.leases import Lease
from spa.responses.rehearsal import is_rehearsal
from spa.responses.store import Store
from spa.study.audit import least_chance

PEOPLE = ("human", "simulated")
TINY = 1e-12
ASKED = ("criterion", "exposure", "system_x", "system_y", "system", "item_id", "sample")  # a question of a table
DIGITS = 6  # of chances and expectations, as they are noted
AUDITED = 4  # tells these draws from others of the seed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditAnswers:
    """Answers to the forms of an audit, values on [0, 1] as of live studies.

    Attributes
    ----------
    people : mapping of str to array of float, shape (k,)
        By assignment, of people who count.
    llm : mapping of str to array of float, shape (k,)
        By assignment, of the rater.
    doubt : mapping of str to float
        By assignment, how unsure the rater was.
    """

    people: Mapping[str, Floats]
    llm: Mapping[str, Floats]
    doubt: Mapping[str, float]


def audited_groups(store: Store) -> tuple[str, ...]:
    """Return the people of a store: simulated ones in a rehearsal."""
    return PEOPLE[1:] if is_rehearsal(store) else PEOPLE[:1]


def audit_answers(
    study: Study, store: Store, hypotheses: Hypotheses, *, group: str, counted: Collection[str] | None = None
) -> AuditAnswers:
    """Return the answers so far of the rater, and of one group of people, of ``counted`` visits alone where given."""
    plan = live_plan(study)
    exported = export_tables(store, form_of=forms_read(study, store, plan), counted=counted)
    tables = deciding_tables(study, exported, plan, hypotheses)
    if tables is None:
        return AuditAnswers(people={}, llm={}, doubt={})
    table = tables.answers()[hypotheses.answers]
    groups = table["group"].cast(pl.String).unique().to_list()
    rater = next((one for one in sorted(groups) if one.partition("/")[0] == _audit(study).rater), None)
    places = store.visits.completion_order()

    def values(name: str) -> dict[str, Floats]:
        found = matrix_of(tables, plan, hypotheses, name, places)
        return dict(zip(found.assignments, found.values, strict=True))

    return AuditAnswers(
        people=values(group) if group in groups else {},
        llm=values(rater) if rater is not None else {},
        doubt={} if rater is None else doubts(table.filter(pl.col("group") == rater)),
    )


def doubts(table: pl.DataFrame) -> dict[str, float]:
    """Return how unsure a rater was of each form, the mean over its answers.

    Of an answer that was given several times the standard deviation of its values; else, of a chance, its entropy:
    -(p log p + q log q). Forms without either are not known.
    """
    cells = ["assignment_id", *(name for name in ASKED if name in table.columns)]
    value = pl.col("value")
    low, high = value.clip(TINY, 1 - TINY), (1 - value).clip(TINY, 1 - TINY)
    entropy = -(low * low.log() + high * high.log())
    said = table.filter(value.is_not_null()).group_by(cells)
    each = said.agg(value.std().alias("spread"), entropy.mean().alias("entropy"))
    chances = "system_x" in table.columns
    own = pl.coalesce("spread", pl.when(chances).then("entropy"))
    of_forms = each.group_by("assignment_id").agg(own.mean().alias("doubt")).drop_nulls()
    return {str(name): float(found) for name, found in of_forms.select("assignment_id", "doubt").iter_rows()}


def audit_rule(study: Study) -> StoppingRule:
    """Return the rule by which an audit decides, and its bets are planned."""
    audit = _audit(study)
    return StoppingRule(effect=audit.effect, error_rate=study.analysis.fwer, least=audit.least)


def audit_state(study: Study, store: Store, group: str, *, answers: AuditAnswers | None = None) -> LiveState:
    """Return how far an audit is, and what it has decided, by ``answers`` where somebody has read them."""
    audit, waves = _audit(study), read_waves(store)
    hypotheses, names = Hypotheses.of(study, store.live_rules), store.assignments.ids()
    if answers is None:
        answers = audit_answers(study, store, hypotheses, group=group)
    done = {visit.assignment_id for visit in _completed(store)}
    drawn = [names[number] for wave in waves for number in wave.drawn]
    completed = sum(name in done for name in drawn)
    decides = audit.rule == "when_decided"
    return LiveState(
        group=group,
        answers=hypotheses.answers,
        units=sum(name in answers.people for name in drawn),
        excluded=sum(name in done and name not in answers.people for name in drawn),
        most=study.people.annotators,
        pairs=tuple(_pairs(study, hypotheses, waves, answers, names, done)) if decides else (),
        audit=AuditProgress(
            wave=len(waves),
            passed=waves[-1].end if waves else 0,
            forms=audit.forms,
            drawn=len(drawn),
            completed=completed,
            rated=sum(name in answers.llm for name in names[: audit.forms]),
            by_doubt=bool(waves) and len(set(waves[-1].chances)) > 1,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedForm:
    """A form that was drawn or passed over, as it is bet on.

    Attributes
    ----------
    number : int
    answered : bool
        Whether somebody answered it who counts.
    terms : array of float, shape (k,)
    within : Range
        Where the terms lie.
    counted : array of bool, shape (k,)
        Which terms hold an answer.
    """

    number: int
    answered: bool
    terms: Floats
    within: Range
    counted: Bools


def forms_counted(
    waves: Sequence[AuditWave],
    names: Sequence[str],
    people: Mapping[str, Floats],
    done: Collection[str],
    k: int,
    *,
    first: int = 0,
) -> Iterator[CountedForm]:
    """Yield the forms from number ``first`` up to the first that a person has yet to answer, in order.

    Of an earlier wave all forms were answered: where answers are missing, they were deleted since, and the form counts
    as one of somebody who is left out.

    Parameters
    ----------
    waves : sequence of AuditWave
        All, in order.
    names : sequence of str
        Assignments, by number.
    people : mapping of str to array of float, shape (k,)
        Answers that count, by assignment.
    done : collection of str
        Assignments that somebody completed who holds a place.
    k : int
        How many hypotheses there are.
    """
    none = np.full(k, np.nan)
    for wave in waves:
        drawn, within = frozenset(wave.drawn), term_range(np.array(wave.reach), np.array(wave.sd))
        for number in range(max(wave.first, first), wave.end):
            name, place, asked = names[number], number - wave.first, number in drawn
            if asked and name not in done and wave is waves[-1]:
                return
            said = people.get(name, none) if asked else none
            terms = audit_terms(said, np.array(wave.expected[place]), np.full(k, wave.chances[place] * wave.kept))
            yield CountedForm(
                number=number,
                answered=asked and name in people,
                terms=terms,
                within=within,
                counted=~np.isnan(said),
            )


def _pairs(
    study: Study,
    hypotheses: Hypotheses,
    waves: tuple[AuditWave, ...],
    answers: AuditAnswers,
    names: list[str],
    done: set[str],
) -> Iterator[LivePair]:
    """Yield what is decided of each hypothesis."""
    monitor = Monitor.start(audit_rule(study), len(hypotheses.listed))
    people, after = 0, np.zeros(len(hypotheses.listed), dtype=int)
    for form in forms_counted(waves, names, answers.people, done, len(hypotheses.listed)):
        people += form.answered
        monitor = monitor.after(form.terms, form.within, counted=form.counted)
        after = np.where(monitor.tally.decided & (after == 0), people, after)
    for place, ((criterion, exposure, x, y), state) in enumerate(zip(hypotheses.listed, monitor.states, strict=True)):
        yield LivePair(
            criterion=criterion,
            exposure=exposure,
            system_x=x,
            system_y=y,
            n=state.n,
            mean=None if not state.n or state.mean is None else min(max(state.mean, 0.0), 1.0),
            low=state.low,
            high=state.high,
            decision=state.decision,
            decided_after=int(after[place]) if state.decision else None,
            n_asked=sum(bool(np.isfinite(values[place])) for values in answers.people.values()),
        )


def draw_due_wave(study: Study, store: Store) -> bool:
    """Draw the next wave of an audit if the one before has come in; return whether this call did."""
    waves = read_waves(store)
    if not wave_progress(store).due or not may_follow(study, waves):
        return False
    group = next(iter(audited_groups(store)))
    answers = audit_answers(study, store, Hypotheses.of(study, store.live_rules), group=group)
    return not audit_state(study, store, group, answers=answers).enough and draw_wave(study, store, waves, answers)


def may_follow(study: Study, waves: Sequence[AuditWave]) -> bool:
    """Return whether there are forms and people for another wave after these."""
    asked, passed = sum(len(wave.drawn) for wave in waves), waves[-1].end if waves else 0
    return passed < _audit(study).forms and asked < study.people.annotators


def audit_is_over(study: Study, waves: Sequence[AuditWave], completed: int) -> bool:
    """Return whether an audit has ended, whatever is decided, when so many forms of these waves are completed."""
    all_passed = bool(waves) and waves[-1].end == _audit(study).forms
    return (all_passed and completed == sum(len(wave.drawn) for wave in waves)) or completed >= study.people.annotators


def draw_wave(study: Study, store: Store, waves: Sequence[AuditWave], answers: AuditAnswers) -> bool:
    """Draw a wave after these, which have come in with these answers; return whether nobody else has drawn it."""
    audit, hypotheses, names = _audit(study), Hypotheses.of(study, store.live_rules), store.assignments.ids()
    if len(names) < audit.forms:
        raise ResponseError(f"{store.name}: expected {audit.forms} assignments, got {len(names)}; run `spa build`")
    first, asked = (waves[-1].end if waves else 0), sum(len(wave.drawn) for wave in waves)
    left, people = audit.forms - first, study.people.annotators - asked
    kept, share = _kept(waves, answers, names), min(1.0, people / left)
    plan = plan_wave(
        _known(waves, answers, names, len(hypotheses.listed)),
        audit_rule(study),
        share=share * kept,
        floor=least_chance(study, share) * kept,
        by_doubt=audit.draw == "unsure",
        decides=audit.rule == "when_decided",
    )
    ahead = names[first : audit.forms]
    doubt = np.array([answers.doubt.get(name, np.nan) for name in ahead])
    chances = np.minimum(plan.scale.of(doubt) / kept, 1.0).round(DIGITS)
    rng = np.random.default_rng((int(store.meta("seed") or study.seed), len(waves), AUDITED))
    chosen = rng.random(len(ahead)) < chances
    last = np.flatnonzero(np.cumsum(chosen) >= min(audit.wave, people))
    passed = int(last[0]) + 1 if len(last) else len(ahead)
    wave = AuditWave(
        number=len(waves) + 1,
        first=first,
        chances=tuple(chances[:passed].tolist()),
        drawn=tuple((first + np.flatnonzero(chosen[:passed])).tolist()),
        kept=kept,
    )
    if audit.rule == "when_decided":
        llm = [answers.llm.get(name, np.full(len(hypotheses.listed), np.nan)) for name in ahead[:passed]]
        wave = replace(
            wave,
            expected=tuple(map(tuple, plan.expected(np.array(llm)).round(DIGITS).tolist())),
            reach=tuple(plan.reach.tolist()),
            sd=tuple(plan.sd.tolist()),
            llm_weight=tuple(one.llm_weight for one in plan.stand_ins),
        )
    return save_wave(store, wave)


def _kept(waves: Sequence[AuditWave], answers: AuditAnswers, names: list[str]) -> float:
    """Return the share of people whose answers count, of those who completed."""
    drawn = [names[number] for wave in waves for number in wave.drawn]
    return share_kept(sum(name in answers.people for name in drawn), len(drawn))


def _known(waves: Sequence[AuditWave], answers: AuditAnswers, names: list[str], k: int) -> KnownUnits:
    """Return what people and the rater said to the forms of earlier waves."""
    none = np.full(k, np.nan)
    chance_of = {number: wave.chances[number - wave.first] * wave.kept for wave in waves for number in wave.drawn}
    units = [number for number in chance_of if names[number] in answers.people]
    passed = names[: waves[-1].end] if waves else []
    return KnownUnits(
        people=np.array([answers.people[names[number]] for number in units]).reshape(-1, k),
        llm=np.array([answers.llm.get(names[number], none) for number in units]).reshape(-1, k),
        chance=np.array([chance_of[number] for number in units]),
        doubt=np.array([answers.doubt.get(names[number], np.nan) for number in units]),
        before=np.array([answers.doubt.get(name, np.nan) for name in passed]),
    )


def _completed(store: Store) -> Iterator[Lease]:
    return (visit for visit in store.visits.of_people() if visit.completed and visit.seat is not None)


def _audit(study: Study) -> Audit:
    if study.audit is None:
        raise ValueError("expected a study with [audit], got none")
    return study.audit
