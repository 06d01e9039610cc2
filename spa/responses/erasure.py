"""Delete what identifies people, on request or after a time: names, links, free text and, if asked for, the answers.

What is left says that somebody came, when, and how it ended; the keyed hash of the person stays, so that
they are not taken for somebody new. The journal says when it was done, and of how many.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from secrets import token_hex

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from spa.errors import ResponseError
from spa.records.form import Form
from spa.records.submission import Response
from spa.responses.answers import parse_answer
from spa.responses.capacity import recount, seat_extra
from spa.responses.kept_units import drop_units
from spa.responses.leases import Lease, lease_from_row, lock_leases, select_leases
from spa.responses.outcomes import CLAIMED, FORGOTTEN, WITHDRAWN, forgotten_name
from spa.responses.payloads import fields_of
from spa.responses.recounts import note_recount
from spa.responses.store import Store
from spa.responses.store_schema import answers, decisions, journal, meta, payloads, people, submissions, tokens
from spa.widgets import widget_of

DELETED = "deleted on request"
FORGET = "forget"  # kind of the journal's entries
OF_PLATFORMS = journal.c.kind.not_in(["llm", FORGET])
WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureCounts:
    """What is deleted of one person, or of several, and what stays."""

    people: int
    visits: int
    platform_names: int  # of the person, and of their visits
    links: int
    codes: int  # completion codes of nobody else
    pages: int  # raw pages that lose free text, or are deleted
    texts: int  # free texts and unreadable answers that are emptied
    answers: int  # deleted
    payments: int  # records of calls to the platform that name the person, which stay as records of money
    notes: int  # reviewers' decisions on the visits, which stay


def forget(
    store: Store,
    *,
    person: str | None,
    submission: str | None,
    forms: Callable[[str], Form],
    with_answers: bool,
    apply: bool,
) -> ErasureCounts:
    """Delete what identifies a person, from the disk too, or only count what would be deleted unless ``apply``.

    Either ``person`` or ``submission`` names them, see :func:`find_person`; the rest is as in :func:`forget_person`.
    Raise ResponseError if the disk still holds it, since somebody else reads the store.
    """

    def erase(connection: Connection) -> ErasureCounts:
        names = []
        if person is not None:  # as a link, or as a visitor of each platform that somebody came from
            sources = connection.scalars(select(people.c.source).distinct())
            names = [store.keyed(person), *(store.person_id(source, person) for source in sources)]
        former = None if submission is None else forgotten_name(store.keyed(submission))  # by an earlier run
        visits = find_person(connection, names, person=person, submission=submission, former=former)
        return forget_person(connection, visits, forms=forms, hashed=store.keyed, with_answers=with_answers)

    return _erased(store, erase, {"of": "a person", "answers": with_answers}, apply=apply)


def forget_older(
    store: Store, *, before: float, forms: Callable[[str], Form], with_answers: bool, apply: bool
) -> ErasureCounts:
    """Delete what identifies the people who were last active before a moment, or only count it unless ``apply``.

    Where nobody was active later, links that nobody used go too. The rest is as in :func:`forget`.
    """

    def erase(connection: Connection) -> ErasureCounts:
        found = _visits_by_person(connection)
        old = {person: visits for person, (visits, active) in found.items() if active < before}
        shared, called = shared_codes(connection), _words_in_calls(connection)
        counts = [
            forget_person(
                connection,
                visits,
                forms=forms,
                hashed=store.keyed,
                with_answers=with_answers,
                shared=shared,
                called=called,
            )
            for visits in old.values()
        ]
        total = ErasureCounts(
            **{each.name: sum(getattr(one, each.name) for one in counts) for each in fields(ErasureCounts)}
        )
        if len(old) < len(found):
            return total
        unused = connection.execute(delete(tokens).where(tokens.c.submission_id.is_(None))).rowcount
        return replace(total, links=total.links + unused)

    return _erased(store, erase, {"last active before": before, "answers": with_answers}, apply=apply)


def _erased(
    store: Store, erase: Callable[[Connection], ErasureCounts], request: dict[str, object], *, apply: bool
) -> ErasureCounts:
    with store.transaction() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        lock_leases(connection)
        trial = connection.begin_nested()
        account = erase(connection)
        if apply:
            now = time.time()
            entry = {"begun_at": now, "finished_at": now, "outcome": "done", "facts": json.dumps(asdict(account))}
            named = {
                "kind": FORGET,
                "scope": "store",
                "key": token_hex(8),
                "attempt": 1,
                "request": json.dumps(request),
            }
            connection.execute(insert(journal), {**named, **entry})
        else:
            trial.rollback()
    if apply:
        store.scrub()
    return account


def _visits_by_person(connection: Connection) -> dict[str, tuple[list[Lease], float]]:
    """Return the visits of each person, and when they were last active, in seconds since 1970."""
    received = select(payloads.c.submission_id, func.max(payloads.c.received_at)).group_by(payloads.c.submission_id)
    latest = {submission_id: at for submission_id, at in connection.execute(received)}
    found: dict[str, tuple[list[Lease], float]] = {}
    for row in connection.execute(select_leases().where(submissions.c.annotator_kind != "llm")):
        visit = lease_from_row(row)
        until = visit.deadline or 0.0 if visit.seat is not None and not visit.finished else 0.0
        times = visit.leased_at, visit.completed_at or 0.0, latest.get(visit.submission_id, 0.0), until
        visits, active = found.get(visit.annotator_id, ([], 0.0))
        found[visit.annotator_id] = [*visits, visit], max(active, *times)
    return found


def shared_codes(connection: Connection) -> set[str]:
    """Return the completion codes that tell nobody apart: those of outcomes, and those that several people have."""
    codes = set(connection.scalars(select(meta.c.value).where(meta.c.name.startswith("code:"))))
    several = select(submissions.c.completion_code).group_by(submissions.c.completion_code)
    several = several.having(func.count(submissions.c.annotator_id.distinct()) > 1)
    return codes | {code for code in connection.scalars(several) if code is not None}


def _words_in_calls(connection: Connection) -> Counter[str]:
    """Count the calls to platforms that hold each word."""
    calls = connection.execute(select(journal.c.request, journal.c.response).where(OF_PLATFORMS))
    return Counter(word for call in calls for word in set(WORD.findall(f"{call.request} {call.response or ''}")))


def find_person(
    connection: Connection,
    annotator_ids: Collection[str],
    *,
    person: str | None,
    submission: str | None,
    former: str | None = None,
) -> list[Lease]:
    """Return all visits of one person; called inside a transaction.

    ``person`` is the platform's name, a link's token or an ``annotator_id``; ``annotator_ids`` are what that name may
    be hashed to, as a link or as a person of some platform. ``submission`` is our own name of a visit, or the
    platform's, and ``former`` what stands for that since it was forgotten. Raise ResponseError if the name matches
    nobody or several people.
    """
    if submission is not None:
        named = or_(submissions.c.submission_id == submission, submissions.c.external_id.in_([submission, former]))
    else:
        known = select(people.c.annotator_id).where(people.c.external_person == person)
        ids = submissions.c.annotator_id
        named = or_(ids == person, ids.in_(annotator_ids), ids.in_(known))
    is_person = submissions.c.annotator_kind != "llm"
    found = list(connection.scalars(select(submissions.c.annotator_id).distinct().where(named, is_person)))
    if len(found) != 1:
        rated = submissions.c.annotator_kind == "llm", submissions.c.annotator_id == person
        if person is not None and connection.execute(select(submissions.c.number).where(*rated).limit(1)).first():
            raise ResponseError(
                f"{person}: expected a person, got an LLM rater, of whom nothing identifies anybody; to have it answer "
                f"its forms anew, `spa rate STUDY --rater {person} --again` sets those without an answer apart, "
                "--again all every one"
            )
        got = "nobody" if not found else f"{len(found)} people"
        raise ResponseError(
            f"{person or submission}: expected one person of this study, got {got}; "
            "name the platform's id, a link's token, an annotator_id, or a visit with --submission"
        )
    own = submissions.c.annotator_id == found[0]
    return [lease_from_row(row) for row in connection.execute(select_leases().where(own))]


def forget_person(
    connection: Connection,
    visits: Collection[Lease],
    *,
    forms: Callable[[str], Form],
    hashed: Callable[[str], str],
    with_answers: bool,
    shared: Collection[str] | None = None,
    called: Mapping[str, int] | None = None,
) -> ErasureCounts:
    """Delete what identifies a person, and count it; called inside a writing transaction.

    ``visits`` is what :func:`find_person` found, ``forms`` returns the form of an assignment, which says what is free
    text, and ``hashed`` the keyed hash of a platform's name of a visit, by which it is known again. ``with_answers``
    deletes the answers too, and the places go out again. ``shared`` are the codes of :func:`shared_codes`, and
    ``called`` says how many calls to platforms hold a name, where that is known already.
    """
    shared = shared_codes(connection) if shared is None else shared
    annotator_id = next(visit.annotator_id for visit in visits)
    ids = [visit.submission_id for visit in visits]
    own_visits = submissions.c.submission_id.in_(ids)
    names = _names(connection, annotator_id, visits)
    paid = _count_calls_naming(connection, names) if called is None else sum(called.get(name, 0) for name in names)
    named = connection.execute(
        update(people)
        .where(people.c.annotator_id == annotator_id, people.c.external_person.is_not(None))
        .values(external_person=None)
    ).rowcount
    for visit in visits:
        if visit.external_id is not None and not visit.external_id.startswith((FORGOTTEN, CLAIMED)):
            named += 1
            is_it = submissions.c.submission_id == visit.submission_id
            forgotten = forgotten_name(hashed(visit.external_id))
            connection.execute(update(submissions).where(is_it).values(external_id=forgotten))
    links = connection.execute(delete(tokens).where(tokens.c.submission_id.in_(ids))).rowcount
    own_code = own_visits & submissions.c.completion_code.is_not(None) & submissions.c.completion_code.not_in(shared)
    codes = connection.execute(update(submissions).where(own_code).values(completion_code=None)).rowcount
    if with_answers:
        numbers = select(submissions.c.number).where(own_visits)
        gone = connection.execute(delete(answers).where(answers.c.submission.in_(numbers))).rowcount
        pages = connection.execute(delete(payloads).where(payloads.c.submission_id.in_(ids))).rowcount
        texts = 0
        left = {"outcome": WITHDRAWN, "seat": None, "extra": False, "seconds": None}
        connection.execute(update(submissions).where(own_visits).values(left))
        for visit in visits:
            if visit.seat is not None:
                seat_extra(connection, visit.assignment_id, visit.seat)
                recount(connection, visit.assignment_id)
    else:
        gone = 0
        pages = sum(_clean_pages(connection, visit, forms(visit.assignment_id)) for visit in visits)
        texts = sum(_clean_answers(connection, visit, forms(visit.assignment_id)) for visit in visits)
    drop_units(connection, ids)
    note_recount(connection)
    noted = select(func.count()).select_from(decisions).where(decisions.c.submission_id.in_(ids))
    return ErasureCounts(
        people=1,
        visits=len(ids),
        platform_names=named,
        links=links,
        codes=codes,
        pages=pages,
        texts=texts,
        answers=gone,
        payments=paid,
        notes=connection.scalar(noted) or 0,
    )


def _names(connection: Connection, annotator_id: str, visits: Collection[Lease]) -> set[str]:
    known = select(people.c.external_person).where(people.c.annotator_id == annotator_id)
    return {name for name in (*connection.scalars(known), *(visit.external_id for visit in visits)) if name}


def _count_calls_naming(connection: Connection, names: Collection[str]) -> int:
    """Count the calls to platforms that name a person."""
    if not names:
        return 0
    calls = connection.execute(select(journal.c.request, journal.c.response).where(OF_PLATFORMS))
    return sum(any(name in (call.request or "") + (call.response or "") for name in names) for call in calls)


def _clean_pages(connection: Connection, visit: Lease, form: Form) -> int:
    """Leave of the raw pages what was chosen or given as a number, and nothing that was written freely."""
    questions = {question.question_id: question for question in form.questions("people")}
    sent = select(payloads.c.number, payloads.c.body).where(payloads.c.submission_id == visit.submission_id)
    cleaned = 0
    for row in connection.execute(sent).all():
        remaining = {
            name: value
            for name, value in fields_of(row.body).items()
            if name in questions
            and not widget_of(questions[name].answer).is_written(value)
            and isinstance(parse_answer(questions[name], value), Response)
        }
        body = json.dumps(remaining)
        if body != row.body:
            cleaned += 1
            connection.execute(update(payloads).where(payloads.c.number == row.number).values(body=body))
    return cleaned


def _clean_answers(connection: Connection, visit: Lease, form: Form) -> int:
    """Empty free texts and unreadable answers, whose raw form may hold anything."""
    asked = {question.question_id: question.answer for question in form.questions("people")}
    number = select(submissions.c.number).where(submissions.c.submission_id == visit.submission_id).scalar_subquery()
    cleaned = 0
    for row in connection.execute(select(answers).where(answers.c.submission == number)).all():
        answer = asked.get(row.question_id)
        free = answer is None or widget_of(answer).keeps_written(row.choice)
        if row.raw is None or not (free or row.missing_reason is not None):
            continue
        cleaned += 1
        is_it = answers.c.submission == row.submission, answers.c.place == row.place
        emptied = {"raw": None, "number": None, "choice": None, "missing_reason": DELETED}
        connection.execute(update(answers).where(*is_it).values(emptied))
    return cleaned
