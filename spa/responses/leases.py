"""Who works on which assignment: as many people as the study wants for each, and any number of raters."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, insert, literal, select, update

from spa.errors import ResponseError
from spa.records.submission import AnnotatorKind, Missing, RaterCondition, Response, Submission
from spa.responses.outcomes import COMPLETED, STANDBY, is_claim
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import answers, meta, submissions, tokens

RATER = "rater:"
PROBE = "probe"  # source of visits that try a rater out
APART = "apart"  # source of visits that are set apart, see spa.responses.set_apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """An assignment given to one annotator: a visit that may or may not have ended.

    All times are in seconds since 1970.
    """

    submission_id: str
    assignment_id: str
    annotator_id: str
    annotator_kind: AnnotatorKind
    source: str  # a platform's name, "rater", ...
    leased_at: float
    seat: str | None = None  # None: the place was given up, by a deadline, a platform's event or the outcome
    asked: RaterCondition | None = None  # of a rater
    token: str | None = None  # of a person: the visit's address is /a/TOKEN
    external_id: str | None = None  # the platform's name of the visit
    session: int = 1  # of a study in several
    people_group: str | None = None  # quota group
    minutes_allowed: float | None = None
    deadline: float | None = None
    released_at: float | None = None
    release_reason: str | None = None  # timed_out, returned, ...
    consented_at: float | None = None
    outcome: str | None = None  # see spa.responses.outcomes; None while the visit is open
    extra: bool = False  # completed when the place was somebody else's: kept, and not analysed by default
    completed_at: float | None = None  # when it ended, whatever the outcome
    completion_code: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the visit has ended, with whatever outcome."""
        return self.outcome is not None

    @property
    def claimed(self) -> bool:
        """Whether the platform has not confirmed yet that this person made this visit, so that it does not count."""
        return is_claim(self.external_id)

    @property
    def name_given(self) -> str | None:
        """The platform's name of the visit as it was given on arrival, which somebody else may have given too."""
        return None if self.external_id is None else self.external_id.partition(" ")[0]

    @property
    def completed(self) -> bool:
        """Whether every question was answered to the end, in a visit that counts."""
        return self.outcome == COMPLETED and not self.claimed

    @property
    def released(self) -> bool:
        """Whether the place was given up before the visit ended."""
        return self.seat is None and self.outcome is None and not self.standing_by

    def submission(self, answers: tuple[Response | Missing, ...], seconds: float) -> Submission:
        """Return what is handed in: the answers in the order of the form, and how long they took."""
        return Submission(
            submission_id=self.submission_id,
            assignment_id=self.assignment_id,
            annotator_id=self.annotator_id,
            annotator_kind=self.annotator_kind,
            source=self.source,
            answers=answers,
            seconds=seconds,
            asked=self.asked,
            session=self.session,
            people_group=self.people_group,
        )

    def seconds_until(self, at: float) -> float:
        """Return how long the visit took until ``at``: 0 where the clock was set back meanwhile."""
        return max(0.0, at - self.leased_at)

    @property
    def standing_by(self) -> bool:
        """Whether the visit is open without a place of its own, beside somebody who may not finish."""
        return self.seat is None and self.outcome is None and self.release_reason == STANDBY


_WRITTEN = tuple(field.name for field in fields(Lease) if field.name != "token")
LEASE_COLUMNS = (*(submissions.c[name] for name in _WRITTEN), tokens.c.token)
_GIVE = PreparedStatement(insert(submissions).values({name: bindparam(name) for name in _WRITTEN}))


def lease_from_row(row: Sequence[Any]) -> Lease:
    """Read a row of :func:`select_leases`, of the library or of a prepared statement."""
    return Lease(**lease_facts(row))


def lease_facts(row: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a ``Lease`` from a row that begins with ``LEASE_COLUMNS``."""
    facts = dict(zip((*_WRITTEN, "token"), row, strict=False))
    return {**facts, "asked": condition_from_json(facts["asked"]), "extra": bool(facts["extra"])}


def select_leases() -> Select[Any]:
    """Select all leases in the order in which they were given."""
    visited = submissions.outerjoin(tokens, tokens.c.submission_id == submissions.c.submission_id)
    return select(*LEASE_COLUMNS).select_from(visited).order_by(submissions.c.number)


_OF_TOKEN = PreparedStatement(select_leases().where(tokens.c.token == bindparam("token")))
_OF_VISIT = PreparedStatement(select_leases().where(submissions.c.submission_id == bindparam("visit")))
_OF_PERSON = PreparedStatement(
    select_leases().where(submissions.c.annotator_id == bindparam("person"), submissions.c.annotator_kind != "llm")
)
_OF_EXTERNAL = PreparedStatement(
    select_leases().where(submissions.c.source == bindparam("came_by"), submissions.c.external_id == bindparam("name"))
)
_BEGUN_AFTER = PreparedStatement(
    select(*(submissions.c[name] for name in _WRITTEN), literal(None), submissions.c.number)
    .where(submissions.c.number > bindparam("after"), submissions.c.annotator_kind == bindparam("kind"))
    .order_by(submissions.c.number)
)
_LOCK = PreparedStatement(select(meta.c.value).where(meta.c.name == "schema").with_for_update())


def lock_leases(connection: Connection) -> None:
    """Let one transaction at a time give or take leases; SQLite's has the write lock already."""
    _LOCK.rows(connection)


def lease_of(connection: Connection, submission_id: str) -> Lease | None:
    """Return one visit by our own id."""
    rows = _OF_VISIT.rows(connection, visit=submission_id)
    return lease_from_row(rows[0]) if rows else None


def known_lease(connection: Connection, submission_id: str) -> Lease:
    """Return one visit by our own id; a ``ResponseError`` where there is none."""
    lease = lease_of(connection, submission_id)
    if lease is None:
        raise ResponseError(f"no submission {submission_id!r} in this store; lease an assignment first")
    return lease


def lease_of_token(connection: Connection, token: str) -> Lease | None:
    """Return the visit that a token opens; ``None`` before its first use and for a token of nobody."""
    rows = _OF_TOKEN.rows(connection, token=token)
    return lease_from_row(rows[0]) if rows else None


def lease_of_external(connection: Connection, source: str, external_id: str) -> Lease | None:
    """Return one visit by the platform's name of it."""
    rows = _OF_EXTERNAL.rows(connection, came_by=source, name=external_id)
    return lease_from_row(rows[0]) if rows else None


def leases_of(connection: Connection, annotator_id: str) -> list[Lease]:
    """Return all visits of a person, oldest first."""
    return [lease_from_row(row) for row in _OF_PERSON.rows(connection, person=annotator_id)]


def leases_after(connection: Connection, number: int, annotator_kind: str) -> list[tuple[int, Lease]]:
    """Return the visits of one kind of annotators after that of a number, with their numbers; without their tokens."""
    return [(row[-1], lease_from_row(row)) for row in _BEGUN_AFTER.rows(connection, after=number, kind=annotator_kind)]


def refuse_other_settings(lease: Lease, condition: RaterCondition, changed: str = "") -> None:
    """Raise a ``ResponseError`` where a rater's lease was made under another condition than ``condition``.

    ``changed`` says what differs, where that is known.
    """
    if lease.asked == condition:
        return
    rater_id = lease.annotator_id
    what = f"rater {rater_id!r}" if condition.variant is None else f"variant {condition.variant!r} of {rater_id!r}"
    raise ResponseError(
        f"{what} has answered {lease.assignment_id} with another model or other settings{changed}, and answers of two "
        "kinds under one name cannot be told apart; undo the change, give it another id, or set what it gave apart: "
        "--again (visits without an answer) or --again all"
    )


def leases_named(connection: Connection, submission_ids: Collection[str]) -> dict[str, Lease]:
    """Return the leases of these submission ids, by id; those that are not there are left out."""
    rows = connection.execute(select_leases().where(submissions.c.submission_id.in_(list(submission_ids))))
    return {row.submission_id: lease_from_row(row) for row in rows}


def new_lease_for_rater(rater_id: str, assignment_id: str, condition: RaterCondition) -> Lease:
    """Return a lease that is to be given to a rater; the database refuses to give the same visit twice."""
    return Lease(
        submission_id=visit_of_rater(rater_id, assignment_id, condition),
        assignment_id=assignment_id,
        seat=f"{RATER}{_seat_name(rater_id, condition)}",
        annotator_id=rater_id,
        annotator_kind="llm",
        source="rater" if condition.probe is None else PROBE,
        leased_at=time.time(),
        asked=condition,
    )


def visit_of_rater(rater_id: str, assignment_id: str, condition: RaterCondition) -> str:
    """Return the submission id of a rater's visit: rater, variant, repeat and assignment."""
    return f"{_seat_name(rater_id, condition)}/{assignment_id}"


def _seat_name(rater_id: str, condition: RaterCondition) -> str:
    parts = [
        rater_id,
        condition.variant,
        str(condition.repeat),
        None if condition.probe is None else f"{PROBE} {condition.probe}",
    ]
    return "/".join(part for part in parts if part is not None)


def ask_anew(connection: Connection, lease: Lease) -> None:
    """Write a rater's visit as it is asked from now on, and open it again; the answers it had are in the journal."""
    visit = submissions.c.submission_id == lease.submission_id
    ended = dict.fromkeys(("outcome", "completed_at", "completion_code", "seconds"))
    facts = {"asked": condition_to_json(lease.asked), "leased_at": lease.leased_at}
    number = connection.scalar(
        update(submissions).where(visit).values(**ended, **facts).returning(submissions.c.number)
    )
    connection.execute(delete(answers).where(answers.c.submission == number))


@lru_cache(maxsize=256)  # a run has few conditions
def condition_to_json(condition: RaterCondition | None) -> str | None:
    """Write how a rater was asked."""
    return None if condition is None else json.dumps(asdict(condition), sort_keys=True)


@lru_cache(maxsize=256)
def condition_from_json(text: str | None) -> RaterCondition | None:
    """Read what :func:`condition_to_json` wrote."""
    return None if text is None else RaterCondition(**json.loads(text))


def give(connection: Connection, lease: Lease) -> Lease:
    """Insert a new visit."""
    facts = {name: getattr(lease, name) for name in _WRITTEN}
    _GIVE.rows(connection, **{**facts, "asked": condition_to_json(lease.asked)})
    return lease
