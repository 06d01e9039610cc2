"""The decisions of an audit, followed from one answer to the next: what a completion costs stays the same.

Of each visit that ends the values are taken once, from its answers alone, and the bets go on from where they stood;
what the rater said is read where a wave is drawn, and again if it answered since. All but the values is kept in memory
alone. It is computed anew from the store where its mark of recounts was raised, and the bets where something changed of
a form that they have passed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from analysis.live.audited import (
    AuditAnswers,
    audit_answers,
    audit_is_over,
    audit_rule,
    draw_wave,
    forms_counted,
    may_follow,
)
from analysis.live.hypotheses import Hypotheses
from analysis.live.visit_reader import VisitReader
from analysis.sequential.bets import bets_within
from analysis.sequential.family import OPEN
from analysis.sequential.tally import Tally
from analysis.statistics.coding import Floats
from spa.live import LiveDecisions
from spa.records.study import Study
from spa.responses.audit_waves import AuditWave, raters_mark, waves_after
from spa.responses.begun_order import counting_facts
from spa.responses.ended_visits import EndedVisits
from spa.responses.leases import Lease
from spa.responses.store import Store


class AuditFollower:
    """Follows an audit in one process, and draws its waves; for one thread at a time."""

    def __init__(self, study: Study, store: Store, group: str) -> None:
        self._study, self._store, self._group = study, store, group
        self._reader = VisitReader(study, store, group)
        self._hypotheses = Hypotheses.of(study, store.live_rules)
        self._rule = audit_rule(study)
        self._names: list[str] = []  # assignments, by number
        self._numbers: dict[str, int] = {}
        self._waves: tuple[AuditWave, ...] = ()
        self._people = AuditedPeople()
        self._passed = 0  # forms that are bet on
        self.bets = self._start()  # on these
        self._came_in = False  # all that is drawn
        self._recounts: int | None = None
        self._rater: tuple[object, AuditAnswers] | None = None  # and the mark when it was read
        self._found: LiveDecisions | None = None

    def decisions(self, now: float) -> LiveDecisions | None:
        """Return what is decided, the same object while nothing else is."""
        found = self._follow()
        if self._came_in and not found.enough and may_follow(self._study, self._waves):
            draw_wave(self._study, self._store, self._waves, self._answers())  # or somebody else has
            found = self._follow()
        if found != self._found:
            self._found = found
        return self._found

    def _follow(self) -> LiveDecisions:
        """Take note of the waves that were drawn and of who has ended since, and return what is decided."""
        with self._store.reading() as connection:
            facts = counting_facts(connection)
            if facts.recounts != self._recounts:
                self._people, self._passed, self._recounts = AuditedPeople(), 0, facts.recounts
                self._reader.begin(connection, facts.recounts)
            self._waves += waves_after(connection, self._waves)
            changed = self._people.note_ended(connection, self._reader, self._group, facts.reseated)
        self._reader.keep()
        if self._waves and len(self._names) < self._waves[-1].end:
            self._names = self._store.assignments.ids()
            self._numbers = {name: number for number, name in enumerate(self._names)}
        if any(self._numbers.get(name, self._passed) < self._passed for name in changed):
            self._passed = 0
        return self._decided()

    def _decided(self) -> LiveDecisions:
        study, people, waves = self._study, self._people, self._waves
        decides = study.audit is not None and study.audit.rule == "when_decided"
        if decides:
            self._bet()
        all_decided = decides and bool((self.bets.marks != OPEN).all())
        done = sum(self._names[number] in people.done for wave in waves for number in wave.drawn)
        self._came_in = done == sum(len(wave.drawn) for wave in waves)
        return LiveDecisions(
            group=self._group,
            units=len(people.values),
            most=study.people.annotators,
            all_decided=all_decided,
            over=all_decided or audit_is_over(study, waves, done),
        )

    def _bet(self) -> None:
        """Bet on the forms that have come in since."""
        if not self._passed:
            self.bets = self._start()
        said, done, k = self._people.values, self._people.done, len(self._hypotheses.listed)
        for form in forms_counted(self._waves, self._names, said, done, k, first=self._passed):
            bets = bets_within(self._rule, form.within)
            self.bets = self.bets.after(form.terms, self._rule, bets=bets, counted=form.counted)
            self._passed = form.number + 1

    def _start(self) -> Tally:
        return Tally.start(self._rule, (len(self._hypotheses.listed),))

    def _answers(self) -> AuditAnswers:
        """Return the answers of people who were followed, and those of the rater."""
        mark = raters_mark(self._store)
        if self._rater is None or self._rater[0] != mark:
            read = audit_answers(self._study, self._store, self._hypotheses, group=self._group, counted=())
            self._rater = mark, read
        return replace(self._rater[1], people=self._people.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AuditedPerson:
    visits: dict[int, Lease]
    assignment_id: str | None  # of the form that counts
    values: Floats | None


@dataclass(slots=True, kw_only=True)
class AuditedPeople:
    """What people said to the forms of an audit, kept up.

    Attributes
    ----------
    values : dict of str to array of float, shape (k,)
        By assignment, of people who count.
    done : set of str
        Assignments that somebody completed who holds a place.
    """

    ended: EndedVisits = field(default_factory=EndedVisits)
    values: dict[str, Floats] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    people: dict[str, _AuditedPerson] = field(default_factory=dict)

    def note_ended(self, connection: Connection, reader: VisitReader, kind: str, reseated: int) -> set[str]:
        """Take note of what has ended since, and return the assignments concerned; ``reseated`` as the store says."""
        newly = self.ended.newly_ended(connection, kind, reseated)
        concerned: dict[str, dict[int, Lease]] = {}
        for number, visit in newly.visits.items():
            concerned.setdefault(visit.annotator_id, {})[number] = visit
        changed = {}
        for who, visits in concerned.items():  # read all first: whoever fails here has changed nothing
            known = self.people.get(who)
            together = dict(sorted({**(known.visits if known else {}), **visits}.items()))
            read = reader.all_of(connection, [*together.values()])
            changed[who] = _AuditedPerson(visits=together, assignment_id=read.assignment_id, values=read.unit.values)
        before = [self.people[who] for who in changed if who in self.people]
        for person in before:
            self.values.pop(person.assignment_id or "", None)
            self.done -= _seated(person)
        for who, person in changed.items():
            self.people[who] = person
            self.done |= _seated(person)
            if person.assignment_id is not None and person.values is not None:
                self.values[person.assignment_id] = person.values
        self.ended.note(newly)
        return {visit.assignment_id for person in [*before, *changed.values()] for visit in person.visits.values()}


def _seated(person: _AuditedPerson) -> set[str]:
    return {visit.assignment_id for visit in person.visits.values() if visit.completed and visit.seat is not None}
