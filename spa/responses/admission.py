"""Who may come: the same person back to the same assignment, a second visit refused, quotas kept.

The functions run inside the caller's writing transaction, after
:func:`spa.responses.leases.lock_leases`, so that two people who arrive at the same moment are
served one after the other.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, bindparam, func, insert, select, update

from spa.errors import ResponseError
from spa.records.people import People
from spa.records.submission import AnnotatorKind
from spa.responses.capacity import (
    OF_PEOPLE,
    assignment_to_stand_by,
    count_free,
    deadline,
    displace,
    first_deadline,
    free_seat,
    give_place,
    has_begun,
    least_answered,
    reclaim,
    release_overdue,
)
from spa.responses.leases import Lease, lease_of, lease_of_external, leases_of, lock_leases
from spa.responses.outcomes import REPLACED, STANDBY, TIMED_OUT, claimed_name, is_claim
from spa.responses.pauses import is_paused
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.recounts import note_recount
from spa.responses.store_schema import payloads, people, submissions, tokens
from spa.responses.tokens import count_personal, has_token, is_personal, random_token

_KNOWN_PERSON = PreparedStatement(select(people.c.annotator_id).where(people.c.annotator_id == bindparam("person")))
_ADD_PERSON = PreparedStatement(
    insert(people).values(
        {name: bindparam(name) for name in ("annotator_id", "source", "external_person", "first_seen")}
    )
)
_ADD_TOKEN = PreparedStatement(
    insert(tokens).values({name: bindparam(name) for name in ("token", "personal", "submission_id")})
)


class AdmissionRefused(ResponseError):
    """A person who may not take part now; ``notice`` names the page that says so."""

    notice = "refused"


class NoneLeft(AdmissionRefused):
    """Every assignment has been given out."""

    notice = "full"


class StudyDecided(NoneLeft):
    """Every pair of a live study is decided, so that nobody else is asked."""


class StudyPaused(AdmissionRefused):
    """Nobody new comes in for the moment."""

    notice = "paused"


class QuotaFull(AdmissionRefused):
    """The quota group of the person is full."""

    notice = "quota"


class SecondVisit(AdmissionRefused):
    """The person has taken part already, and the study takes everybody once."""

    notice = "second"


class WrongSession(AdmissionRefused):
    """The person may not begin this session: it does not exist, or the one before it is not completed."""

    notice = "session"


class IdInUse(AdmissionRefused):
    """Somebody has begun under this id, and who comes now has not proven to be the same person."""

    notice = "second"


class UnknownGroup(AdmissionRefused):
    """The link of the person names no quota group of the study."""

    notice = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """What a study says about who may come."""

    per_assignment: int = 1
    repeat: bool = False
    sessions: int = 1
    places: Mapping[str, int] = field(default_factory=dict)  # quota group -> how many people
    reserved: int = 0  # places for the personal links, whether used or not
    minutes_to_begin: float | None = None  # in which a first page is sent, or the place goes to somebody else
    late_counts: bool = True  # whether late answers take their place again if it is free
    closed: bool = False  # only those who have a visit come in
    more_to_come: bool = False  # places that are made when those there are have been completed: come again later
    pausable: bool = False  # so it is while the study is paused, see spa.responses.pauses

    @property
    def minutes_to_begin_again(self) -> float | None:
        """As ``minutes_to_begin`` where an expired place is taken again; none where late answers never count."""
        return self.minutes_to_begin if self.late_counts else None

    @classmethod
    def of(cls, people: People) -> AdmissionRules:
        """Return the rules of a study's table [people]."""
        return cls(
            per_assignment=people.per_assignment,
            repeat=people.repeat,
            sessions=people.sessions,
            places={group.name: group.places for group in people.groups},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Somebody who arrives."""

    annotator_id: str
    source: str
    annotator_kind: AnnotatorKind = "human"
    token: str | None = None  # of a link; a platform's visitor is given one:
    new_token: str | None = None  # this one where it is free
    person: str | None = None  # the platform's name of the person
    external_id: str | None = None
    session: int = 1
    group: str | None = None
    minutes_allowed: float | None = None
    overbook: bool = False  # where all places are taken, stand by for one
    displaces: frozenset[str] = frozenset()  # visits that the platform does not count, whose place it may have instead
    named: bool = True  # the platform itself named the visit; else the visitor may have made the name up
    proven: bool = True  # it is certain that this is the person; else anybody may have made up the names
    vouched: bool = False  # the platform has confirmed the visit, and promised the place

    @property
    def claimed(self) -> bool:
        """Whether nobody vouches for the person and the visit."""
        return is_claim(self.external_id)


def admit(connection: Connection, who: Arrival, rules: AdmissionRules, *, now: float) -> Lease:
    """Find or make the visit of somebody who arrives; see ``StoredVisits.admit``."""
    release_overdue(connection, now=now)
    if not who.proven:
        return _admit_unproven(connection, who, rules, now=now)
    who = _without_taken_name(connection, who)
    known = _same_visit(connection, who)
    if known is not None:
        return _reclaim(connection, _latest(connection, known), who, rules, now=now)
    earlier = leases_of(connection, who.annotator_id)
    same = [visit for visit in earlier if visit.session == who.session]
    if who.claimed:  # it may be somebody else's doing: neither continues a visit nor is kept out by one in doubt
        same = [visit for visit in same if visit.finished and not visit.claimed]
    for visit in same:
        if not visit.finished and visit.release_reason != REPLACED:
            return _resume_visit(connection, _with_token(connection, visit, who), who, rules, now=now)
    if same and who.external_id is None:
        return _with_token(connection, same[-1], who)  # a link leads to its own end
    if same and not rules.repeat:
        raise SecondVisit(f"annotator {who.annotator_id} has taken part already, and [people] repeat is false")
    _check_session(earlier, who, rules)
    try:
        check_quota(connection, who.group, rules)
    except QuotaFull:
        if displace(connection, who.annotator_id, who.displaces, group=who.group) is None:
            raise
    _check_reserved(connection, who, rules)
    return _new_visit(connection, who, rules, now=now)


def is_in_use(connection: Connection, annotator_id: str, external_id: str | None, *, repeat: bool, now: float) -> bool:
    """Return whether somebody has begun under an id that anybody can make up, so that others do not get in by it.

    Who never sent anything and lost the place holds no id. Who is done does not where people may ``repeat``, but for
    the platform's visit of the same name.
    """
    for visit in leases_of(connection, annotator_id):
        same = external_id is not None and visit.name_given == external_id
        if not _is_abandoned(connection, visit, now) and not (visit.finished and repeat and not same):
            return True
    return False


def _admit_unproven(connection: Connection, who: Arrival, rules: AdmissionRules, *, now: float) -> Lease:
    """Make the visit of somebody whose names may be made up: it reads nothing of others, and keeps nobody out."""
    if is_in_use(connection, who.annotator_id, who.external_id, repeat=rules.repeat, now=now):
        raise IdInUse(f"{who.source}: somebody has begun as {who.annotator_id} already")
    earlier = leases_of(connection, who.annotator_id)
    for visit in earlier:
        if not visit.finished:  # whoever never began keeps their link, and neither the id nor the name of the visit
            gone = {"external_id": None, "release_reason": REPLACED}
            connection.execute(
                update(submissions).where(submissions.c.submission_id == visit.submission_id).values(gone)
            )
    who = _without_taken_name(connection, who)
    _check_session(earlier, who, rules)
    check_quota(connection, who.group, rules)
    return _new_visit(connection, who, rules, now=now)


def _without_taken_name(connection: Connection, who: Arrival) -> Arrival:
    """Return an arrival whose visit has another name where somebody else, who may have made it up, has that one."""
    if who.external_id is None or (who.named and who.proven):
        return who
    taken = lease_of_external(connection, who.source, who.external_id)
    if taken is None or taken.annotator_id == who.annotator_id:
        return who
    return replace(who, external_id=f"{who.external_id} {who.annotator_id}")


def _is_abandoned(connection: Connection, visit: Lease, now: float) -> bool:
    """Return whether the time of a visit is over in which nothing was sent."""
    late = visit.released or (visit.deadline is not None and visit.deadline < now)
    return late and not visit.finished and not has_begun(connection, visit.submission_id)


def _latest(connection: Connection, visit: Lease) -> Lease:
    """Return the visit in which a person went on whose link opens another one by now."""
    if visit.token is not None or visit.release_reason != REPLACED:
        return visit
    later = [each for each in leases_of(connection, visit.annotator_id) if each.session == visit.session]
    return next((each for each in reversed(later) if each.token is not None), visit)


def admit_submitted(
    connection: Connection, who: Arrival, assignment_id: str, rules: AdmissionRules, *, now: float
) -> Lease:
    """Make the visit of somebody whose form a platform handed out itself, from ``now`` on.

    The answers exist already, so nobody is refused: without a free place, the answers become
    ``extra`` when the visit is finished. The same ``external_id`` leads to the same visit.
    """
    lock_leases(connection)
    known = _same_visit(connection, who)
    if known is not None:
        return known
    lease = _lease(who, assignment_id, free_seat(connection, assignment_id, rules.per_assignment), now=now)
    give_place(connection, lease)
    _note_person(connection, who, now=now)
    return lease


def check_quota(connection: Connection, group: str | None, rules: AdmissionRules) -> None:
    """Refuse a person of a group whose places are all held by people at work or done."""
    if group is None:
        return
    if group not in rules.places:
        raise ResponseError(
            f"[[people.groups]]: expected one of {', '.join(rules.places) or 'no group'}, got {group!r}"
        )
    in_group = OF_PEOPLE, submissions.c.people_group == group
    held = connection.scalar(select(func.count()).select_from(submissions).where(*in_group)) or 0
    if held >= rules.places[group]:
        raise QuotaFull(f"group {group!r}: all {rules.places[group]} places are taken")


def join_group(connection: Connection, submission_id: str, group: str, rules: AdmissionRules) -> None:
    """Put a visit into a quota group, once; raises ``QuotaFull`` where its places are all held."""
    lease = lease_of(connection, submission_id)
    if lease is None or lease.people_group == group:
        return
    check_quota(connection, group, rules)
    connection.execute(
        update(submissions).where(submissions.c.submission_id == submission_id).values(people_group=group)
    )


def can_begin_again(connection: Connection, visit: Lease, rules: AdmissionRules) -> bool:
    """Return whether a visit that expired before anything was sent can have another place, its own being taken."""
    if visit.finished or visit.token is None or visit.release_reason != TIMED_OUT:
        return False
    return not has_begun(connection, visit.submission_id) and (
        least_answered(connection, visit.annotator_id, rules.per_assignment) is not None
    )


def begin_again(connection: Connection, visit: Lease, rules: AdmissionRules, *, now: float) -> Lease:
    """Give another place to who never began and lost theirs; without a free one, return the visit as it is."""
    if not can_begin_again(connection, visit, rules):
        return visit
    who = Arrival(
        annotator_id=visit.annotator_id,
        source=visit.source,
        annotator_kind=visit.annotator_kind,
        token=visit.token,
        external_id=visit.external_id,
        session=visit.session,
        group=visit.people_group,
        minutes_allowed=visit.minutes_allowed,
    )
    check_quota(connection, who.group, rules)
    _check_reserved(connection, who, rules)
    gone = {"external_id": None, "release_reason": REPLACED}
    connection.execute(update(submissions).where(submissions.c.submission_id == visit.submission_id).values(gone))
    return _new_visit(connection, who, rules, now=now)


def _same_visit(connection: Connection, who: Arrival) -> Lease | None:
    """Return the visit that the platform names; refuse it to another person."""
    if who.external_id is None:
        return None
    lease = lease_of_external(connection, who.source, who.external_id)
    if lease is None:
        return None
    if lease.annotator_id != who.annotator_id and lease.submission_id in who.displaces:
        name = claimed_name(lease.submission_id)  # somebody made it up; what they send is kept, and does not count
        own = submissions.c.submission_id == lease.submission_id
        connection.execute(update(submissions).where(own).values(external_id=name))
        note_recount(connection)
        return None
    if lease.annotator_id != who.annotator_id:
        raise SecondVisit(f"{who.source} visit {who.external_id} belongs to another person")
    return lease


def _resume_visit(connection: Connection, visit: Lease, who: Arrival, rules: AdmissionRules, *, now: float) -> Lease:
    """Return to an open visit, or continue its assignment in another visit of the platform."""
    own = submissions.c.submission_id == visit.submission_id
    if who.external_id is None or visit.external_id is None:
        if who.external_id is not None:
            connection.execute(update(submissions).where(own).values(external_id=who.external_id))
            visit = replace(visit, external_id=who.external_id)
        return _reclaim(connection, visit, who, rules, now=now)
    seat = visit.seat or free_seat(connection, visit.assignment_id, rules.per_assignment)
    gone = {"seat": None, "release_reason": REPLACED, "released_at": visit.released_at or now}
    connection.execute(update(submissions).where(own).values(gone))
    if seat is None and not visit.standing_by:
        return _new_visit(connection, who, rules, now=now)
    again = replace(
        visit,
        submission_id=_random_id(),
        seat=seat,
        external_id=who.external_id,
        leased_at=now,
        minutes_allowed=who.minutes_allowed,
        deadline=deadline(now, who.minutes_allowed),
        released_at=None,
        release_reason=STANDBY if seat is None else None,
    )
    give_place(connection, again)
    connection.execute(
        update(tokens).where(tokens.c.submission_id == visit.submission_id).values(submission_id=again.submission_id)
    )
    sent = select(payloads).where(payloads.c.submission_id == visit.submission_id).order_by(payloads.c.number)
    copies = [
        {"submission_id": again.submission_id, "page_id": row.page_id, "body": row.body, "received_at": row.received_at}
        for row in connection.execute(sent)
    ]
    if copies:
        connection.execute(insert(payloads), copies)
    return again


def _reclaim(connection: Connection, visit: Lease, who: Arrival, rules: AdmissionRules, *, now: float) -> Lease:
    to_begin = None if who.vouched else rules.minutes_to_begin_again
    return reclaim(connection, visit, rules.per_assignment, now=now, minutes_to_begin=to_begin)


def _with_token(connection: Connection, visit: Lease, who: Arrival) -> Lease:
    """Let a link open the visit that its person has already."""
    if who.token is None or visit.token == who.token:
        return visit
    _open_with(connection, who.token, visit.submission_id)
    return replace(visit, token=who.token)


def _open_with(connection: Connection, token: str, submission_id: str) -> None:
    connection.execute(update(tokens).where(tokens.c.token == token).values(submission_id=submission_id))


def _check_reserved(connection: Connection, who: Arrival, rules: AdmissionRules) -> None:
    """Refuse arrivals by the open link where the free places are reserved for unused personal links."""
    if not rules.reserved or who.token is None or who.session > 1 or is_personal(connection, who.token):
        return
    used, unused = count_personal(connection)
    reserved = min(unused, rules.reserved - used)
    if count_free(connection, rules.per_assignment) <= reserved:
        raise NoneLeft(f"the {reserved} places left are reserved for personal links")


def _check_session(earlier: list[Lease], who: Arrival, rules: AdmissionRules) -> None:
    if not 1 <= who.session <= rules.sessions:
        raise WrongSession(f"[people] sessions is {rules.sessions}, got session {who.session}")
    if who.session > 1 and not any(visit.session == who.session - 1 and visit.completed for visit in earlier):
        raise WrongSession(f"annotator {who.annotator_id} has not completed session {who.session - 1}")


def _new_visit(connection: Connection, who: Arrival, rules: AdmissionRules, *, now: float) -> Lease:
    if rules.pausable and is_paused(connection):
        raise StudyPaused("the study is paused; `spa resume STUDY` lets people in again")
    if rules.closed:
        raise StudyDecided("every pair that the study asks about is decided")
    place = _find_place(connection, who, who.annotator_id, rules)
    if place is None and (
        who.claimed or not who.proven
    ):  # others may have claimed to be this person, and had every assignment
        place = _find_place(connection, who, "", rules)
    if place is None and rules.more_to_come:
        raise StudyPaused("every place of this wave is taken; the next one is drawn when all have completed")
    if place is None:
        raise NoneLeft("every assignment has been given out; build more of them with `spa build STUDY --annotators N`")
    assignment_id, seat = place
    token = _free_token(connection, who) if who.token is None and who.person is not None else who.token
    lease = _lease(who, assignment_id, seat, now=now)
    until = first_deadline(now, who.minutes_allowed, None if who.vouched else rules.minutes_to_begin)
    lease = replace(lease, release_reason=STANDBY if seat is None else None, token=token, deadline=until)
    give_place(connection, lease)
    if who.token is not None:
        _open_with(connection, who.token, lease.submission_id)
    elif token is not None:
        _ADD_TOKEN.rows(connection, token=token, personal=False, submission_id=lease.submission_id)
    if who.person is not None:
        _note_person(connection, who, now=now)
    return lease


def _free_token(connection: Connection, who: Arrival) -> str:
    taken = who.new_token is None or has_token(connection, who.new_token)
    return random_token() if who.new_token is None or taken else who.new_token


def _lease(who: Arrival, assignment_id: str, seat: str | None, *, now: float) -> Lease:
    return Lease(
        submission_id=_random_id(),
        assignment_id=assignment_id,
        seat=seat,
        annotator_id=who.annotator_id,
        annotator_kind=who.annotator_kind,
        source=who.source,
        external_id=who.external_id,
        session=who.session,
        people_group=who.group,
        leased_at=now,
        minutes_allowed=who.minutes_allowed,
        deadline=deadline(now, who.minutes_allowed),
    )


def _find_place(
    connection: Connection, who: Arrival, annotator_id: str, rules: AdmissionRules
) -> tuple[str, str | None] | None:
    """Return an assignment that ``annotator_id`` never had, and a seat of it unless there is one to stand by for."""
    place = least_answered(connection, annotator_id, rules.per_assignment)
    place = place or displace(connection, annotator_id, who.displaces)
    if place is not None or not who.overbook:
        return place
    taken = assignment_to_stand_by(connection, annotator_id)
    return None if taken is None else (taken, None)


def _note_person(connection: Connection, who: Arrival, *, now: float) -> None:
    if not _KNOWN_PERSON.rows(connection, person=who.annotator_id):
        named = {"annotator_id": who.annotator_id, "source": who.source, "external_person": who.person}
        _ADD_PERSON.rows(connection, **named, first_seen=now)


def _random_id() -> str:
    return f"s{secrets.token_hex(8)}"
