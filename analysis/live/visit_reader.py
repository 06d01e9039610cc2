"""What visits add to a live study, read from the store one at a time.

What came of it is kept beside the answers (:mod:`spa.responses.kept_units`): who follows from the beginning reads
those visits anew that are not kept, or were read by another release, study file or plan.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import version

import numpy as np
from sqlalchemy import Connection

from analysis.live.hypotheses import Hypotheses
from analysis.live.unit_matrix import forms_read, live_plan, matrices_of
from analysis.live.visit_units import VisitReading, VisitUnit, visit_unit
from spa.errors import ResponseError
from spa.records.assignment import AssignmentLabels
from spa.records.study import Study
from spa.records.submission import Submission
from spa.responses.answer_rows import read_submission
from spa.responses.export import labels_of, visit_clock, visit_exposures, visit_tables
from spa.responses.kept_units import keep_units, read_units
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED
from spa.responses.store import Store
from spa.responses.stored_assignments import AskedAssignment, asked_of_people
from spa.responses.tidy_tables import EXPOSED
from spa.study.narrowing import DealtPair
from spa.study.study_file import written_tables

KEPT_AT_ONCE = 50  # visits read, whose writing costs one transaction
READ_AS = 1  # raised where visits are read otherwise within a release, as AS_READ of the tests of followers says
NOTHING = VisitUnit(asked=False, excluded=False, values=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadVisit:
    """What one person adds.

    Attributes
    ----------
    unit : VisitUnit
    dealt : sequence of DealtPair or None
        In the place of the pairs drawn, on the form that counts.
    assignment_id : str or None
        That of this form, where the person is a unit.
    """

    unit: VisitUnit
    dealt: Sequence[DealtPair] | None = None
    assignment_id: str | None = None


class VisitReader:
    """Reads the visits of one group of a live study."""

    def __init__(self, study: Study, store: Store, group: str) -> None:
        self._study, self._store, self._group = study, store, group
        self._plan = live_plan(study)
        self._form_of = forms_read(study, store, self._plan)
        self._hypotheses = Hypotheses.of(study, store.live_rules)
        self._version = _version(study, store)
        self._recounts = 0
        self._kept: dict[str, str] = {}  # records by submission id, as far as they were not taken up
        self._read_anew: dict[str, str] = {}  # that are not kept yet

    def begin(self, connection: Connection, recounts: int) -> None:
        """Take up what is kept, where all visits are read from the first; ``recounts``: the mark by now."""
        self._kept, self._read_anew = read_units(connection, self._version), {}
        self._recounts = recounts

    def keep(self) -> None:
        """Keep what was read, once it is worth a transaction: called outside of one."""
        self._kept = {}
        if len(self._read_anew) >= KEPT_AT_ONCE:
            with suppress(ResponseError):  # as of a store that is locked: whoever starts reads them anew
                keep_units(self._store, self._read_anew, self._version, recounts=self._recounts)
            self._read_anew = {}

    def one(self, connection: Connection, visit: Lease) -> ReadVisit:
        """Return what a person adds of whom this visit alone counts, as it was when it was completed."""
        kept = self._kept.pop(visit.submission_id, None)
        if kept is not None:
            return _from_json(kept, visit.assignment_id, len(self._hypotheses.listed))
        found = self._read(connection, visit)
        if found is None:  # deleted since: the mark of recounts says so next time
            return ReadVisit(unit=NOTHING)
        submission, asked = found
        read = self._added(replace(submission, extra=False), asked)
        self._read_anew[visit.submission_id] = _to_json(read)
        return read

    def all_of(self, connection: Connection, visits: Sequence[Lease]) -> ReadVisit:
        """Return what a person adds of whom these visits have ended, in the order in which they began."""
        if len(visits) == 1 and visits[0].completed and not visits[0].extra:
            return self.one(connection, visits[0])
        read = [found for visit in visits if (found := self._read(connection, visit)) is not None]
        if not read:
            return ReadVisit(unit=NOTHING)
        done = [visit for visit in visits if visit.outcome == COMPLETED]
        order = sorted(done, key=lambda visit: visit.completed_at or 0.0)  # of those at one time, as they began
        return self._of_tables(read, [visit.assignment_id for visit in order])

    def _read(self, connection: Connection, visit: Lease) -> tuple[Submission, AskedAssignment] | None:
        submission = read_submission(connection, visit.submission_id)
        asked = None if submission is None else asked_of_people(connection, visit.assignment_id)
        return None if submission is None or asked is None else (submission, asked)

    def _added(self, submission: Submission, asked: AskedAssignment) -> ReadVisit:
        labels = _labels(asked)
        unit = visit_unit(submission, labels, self._hypotheses, self._plan, partial(self._reading, submission, labels))
        if unit is None:
            return self._of_tables([(submission, asked)], [submission.assignment_id])
        return ReadVisit(unit=unit, dealt=asked.dealt, assignment_id=submission.assignment_id)

    def _reading(self, submission: Submission, labels: AssignmentLabels) -> VisitReading:
        if self._form_of is None:
            return VisitReading()
        form_of = cache(self._form_of)  # of an ended visit: it stays
        shown = visit_exposures(self._store, submission, labels, form_of)
        timed = visit_clock(self._store, submission, form_of)
        return VisitReading(
            shown=[dict(zip(EXPOSED, row, strict=True)) for row in shown],
            clock=None if timed is None else (round(timed[0], 2), round(timed[1], 2)),  # as the tables have it
        )

    def _of_tables(self, read: Sequence[tuple[Submission, AskedAssignment]], completed: Sequence[str]) -> ReadVisit:
        """Return what checked tables say of one person's visits; ``completed`` are assignments, in order."""
        exported = visit_tables(
            self._store, ((submission, _labels(asked)) for submission, asked in read), form_of=self._form_of
        )
        annotator = read[0][0].annotator_id
        places = {(annotator, name): place for place, name in enumerate(completed)}
        for matrix in matrices_of(self._study, exported, self._plan, self._hypotheses, places, self._group):
            excluded = matrix.excluded > 0
            if not matrix.units:
                return ReadVisit(unit=VisitUnit(asked=True, excluded=excluded, values=None))
            name = matrix.assignments[0]
            dealt = next(asked.dealt for submission, asked in read if submission.assignment_id == name)
            unit = VisitUnit(asked=True, excluded=excluded, values=matrix.values[0])
            return ReadVisit(unit=unit, dealt=dealt, assignment_id=name)
        return ReadVisit(unit=NOTHING)


def _labels(asked: AskedAssignment) -> AssignmentLabels:
    return labels_of(asked.assignment, asked.key)


def _version(study: Study, store: Store) -> str:
    """Name all that a visit's unit hangs on besides the visit: study, plan, rules of the store, and this release."""
    parts = READ_AS, version("spa-eval"), store.meta("fingerprint"), store.live_rules
    return sha256(json.dumps([*parts, written_tables(study).model_dump_json()]).encode()).hexdigest()


def _to_json(read: ReadVisit) -> str:
    """Write what a visit adds; numbers as they are, those that are NaN left out."""
    values = read.unit.values
    record = {
        "asked": read.unit.asked,
        "excluded": read.unit.excluded,
        "values": None if values is None else {str(n): values[n].item() for n in np.flatnonzero(~np.isnan(values))},
        "dealt": None if read.dealt is None else [astuple(pair) for pair in read.dealt],
        "is_unit": read.assignment_id is not None,
    }
    return json.dumps(record, separators=(",", ":"))


def _from_json(text: str, assignment_id: str, k: int) -> ReadVisit:
    """Read what :func:`_to_json` wrote of a visit to this assignment, with ``k`` values."""
    record = json.loads(text)
    values, given, dealt = np.full(k, np.nan), record["values"], record["dealt"]
    for place, value in (given or {}).items():
        values[int(place)] = value
    return ReadVisit(
        unit=VisitUnit(asked=record["asked"], excluded=record["excluded"], values=None if given is None else values),
        dealt=None
        if dealt is None
        else [DealtPair(system_x=x, system_y=y, subject=subject) for x, y, subject in dealt],
        assignment_id=assignment_id if record["is_unit"] else None,
    )
