"""The store of a rehearsal: drawn as the study's own one, so that whoever is simulated takes nothing of the study.

It lies beside the study's store: ``study.rehearsal.sqlite``, or in PostgreSQL a schema of its own in the same database.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlalchemy import URL, ColumnElement, Connection, and_, delete, exists, func, make_url, or_, select, update
from sqlalchemy.schema import CreateSchema

from spa.errors import ResponseError
from spa.responses.audit_waves import read_waves, save_wave
from spa.responses.capacity import recount
from spa.responses.database import note, parse_target
from spa.responses.kept_units import drop_units
from spa.responses.leases import PROBE, lock_leases
from spa.responses.recounts import note_recount
from spa.responses.store import Store
from spa.responses.store_schema import adapted, answers, decisions, payloads, people, submissions, tokens
from spa.responses.stored_assignments import LIVE_RULES

FACT = "rehearsal"  # of the store
PREREGISTERED = "preregistered"  # the fact that holds a frozen plan, see analysis.answers.preregistration
APART, COPY = "apart", "copy"  # drawn beside a study's store; the only store of a copied study
SCHEMA = "rehearsal"  # of PostgreSQL
SEARCH_PATH = re.compile(r"\s*-c\s*search_path=([a-z_][a-z0-9_]*)\s*")

_OF_PEOPLE = submissions.c.annotator_kind != "llm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Whose visits a store holds."""

    answered: bool  # whether anybody who is not simulated has answered a page
    begun: int  # visits of people
    simulated: int  # visits of simulated annotators and raters
    rehearsal: str | None  # "apart" or "copy" if the store is a rehearsal's

    @property
    def misplaced(self) -> int:
        """Simulated visits in the store of a real study, where releases up to 0.1 put them."""
        return 0 if self.rehearsal else self.simulated


def _simulated(raters: Collection[str]) -> ColumnElement[bool]:
    return or_(submissions.c.annotator_kind == "simulated", submissions.c.annotator_id.in_(raters))


def contents(store: Store, raters: Collection[str]) -> Contents:
    """Return whose visits a store holds; ``raters``: the ids of simulated ones."""
    simulated = _simulated(raters)
    number = select(func.count()).select_from(submissions)
    sent = select(payloads.c.number).where(payloads.c.submission_id == submissions.c.submission_id)
    given = select(answers.c.place).where(answers.c.submission == submissions.c.number)
    real = and_(~simulated, submissions.c.source != PROBE, or_(exists(sent), exists(given)))
    with store.reading() as connection:
        return Contents(
            answered=connection.execute(select(submissions.c.number).where(real).limit(1)).first() is not None,
            begun=connection.scalar(number.where(~simulated, _OF_PEOPLE)) or 0,
            simulated=connection.scalar(number.where(simulated)) or 0,
            rehearsal=store.meta(FACT),
        )


def is_rehearsal(store: Store) -> bool:
    """Return whether what a store holds is a rehearsal's."""
    return store.meta(FACT) is not None


def rehearsal_target(target: str | Path) -> str | Path:
    """Return where the rehearsal of a store is.

    >>> rehearsal_target("stores/main.sqlite").name
    'main.rehearsal.sqlite'
    >>> rehearsal_target("postgresql+psycopg://spa@host/study")
    'postgresql+psycopg://spa@host/study?options=-csearch_path%3Drehearsal'
    """
    where = parse_target(target)
    if where.path is not None:
        return where.path.with_name(f"{where.path.stem}.rehearsal{where.path.suffix}")
    url = make_url(where.url)
    if url.get_backend_name() != "postgresql":
        raise ResponseError(f"{where.name}: expected an SQLite file or PostgreSQL to rehearse, got {url.drivername}")
    options = f"-csearch_path={_schema_beside(url)}"
    return url.update_query_dict({"options": options}).render_as_string(hide_password=False)


def _schema_beside(url: URL) -> str:
    """Return the schema of the rehearsal of a store: that of its own schema, where its URL names one."""
    options = url.query.get("options")
    if options is None:
        return SCHEMA
    own = SEARCH_PATH.fullmatch(str(options))
    if own is None:
        raise ResponseError(
            f"{url.render_as_string(hide_password=True)}: expected options=-csearch_path=NAME alone, from which the "
            "schema of the rehearsal is named; set other options in the database, with ALTER ROLE"
        )
    return f"{own[1]}_{SCHEMA}"


def draw_rehearsal(store: Store, target: str | Path) -> None:
    """Make the rehearsal of a store at ``target``, or draw into it what the store has more by now.

    It gets the same assignments with the same keys, other links and other pseudonyms. Raise ResponseError if what is
    there is the rehearsal of another version of the study.
    """
    if not Store.exists(target):
        try:
            _make(store, target)
        except ResponseError:
            if not Store.exists(target):  # else another process was faster
                raise
    with Store.open(target) as drawn:
        if drawn.meta(FACT) is None and drawn.meta("fingerprint") is None:
            _begin(store, drawn)  # the tables of a database, whose draw was interrupted
        check_rehearsal(drawn, store)
        if len(drawn.assignments) < len(store.assignments):
            _draw(store, drawn)
        _copy_plan(store, drawn)


def _make(store: Store, target: str | Path) -> None:
    where = parse_target(target)
    if where.path is None:
        schema = str(make_url(where.url).query["options"]).rpartition("=")[2]
        with store.transaction() as connection:
            connection.execute(CreateSchema(schema, if_not_exists=True))
    with Store.being_created(target) as created:
        _begin(store, created)


def _begin(store: Store, created: Store) -> None:
    created.set_meta("secret", sha256(f"rehearsal {store.meta('secret')}".encode()).hexdigest())
    _draw(store, created)
    created.set_meta(FACT, APART)


def is_rehearsal_of(drawn: Store, store: Store) -> bool:
    """Return whether a store is a rehearsal of the version of the study that the other holds, and of no larger one."""
    own = drawn.meta(FACT), drawn.meta("fingerprint"), drawn.meta("seed")
    same = own == (APART, store.fingerprint, store.meta("seed"))
    return same and len(drawn.assignments) <= len(store.assignments)


def check_rehearsal(drawn: Store, store: Store) -> None:
    """Refuse the rehearsal of another version of the study that a store holds."""
    if not is_rehearsal_of(drawn, store):
        raise ResponseError(
            f"{drawn.name}: expected the rehearsal of {store.name}, got one of another version of the study; "
            "remove it or move it away, and rehearse again"
        )


def _draw(store: Store, into: Store) -> None:
    seed = store.meta("seed")
    draws, balancing = store.assignments.drawn(), store.assignments.balancing
    waves = read_waves(store)
    people = len(store.tokens(personal=True)) if waves else store.assignments.for_people
    into.assignments.save(
        store.fingerprint,
        draws,
        seed=None if seed is None else int(seed),
        balancing=balancing,
        for_people=people,
        in_waves=bool(waves),
    )
    for wave in waves[:1]:  # the first hangs on no answer; further ones follow from the rehearsal's own
        save_wave(into, wave)
    with into.transaction() as connection:
        note(connection, LIVE_RULES, str(store.live_rules))


def _copy_plan(store: Store, into: Store) -> None:
    """Freeze the plan of the rehearsal as that of the study, so that its report is the one to come."""
    plan = store.meta(PREREGISTERED)
    if plan is not None and plan != into.meta(PREREGISTERED):
        into.set_meta(PREREGISTERED, plan)


def forget_simulated(store: Store, raters: Collection[str], *, apply: bool) -> int:
    """Delete the simulated visits of a store and free their places, or only count them unless ``apply``.

    What live studies left out of assignments for simulated annotators' sake is asked again, but in those that a person
    has begun.
    """
    simulated = _simulated(raters)
    with store.transaction() as connection:
        lock_leases(connection)
        found = connection.execute(select(submissions.c.submission_id, submissions.c.assignment_id).where(simulated))
        rows = found.all()
        if apply and rows:
            _delete_visits(connection, simulated)
            for name in dict.fromkeys(row.assignment_id for row in rows):
                recount(connection, name)
    return len(rows)


def _delete_visits(connection: Connection, which: ColumnElement[bool]) -> None:
    note_recount(connection)
    drop_units(connection, connection.scalars(select(submissions.c.submission_id).where(which)).all())
    numbers, names, who = (
        select(column).where(which)
        for column in (submissions.c.number, submissions.c.submission_id, submissions.c.annotator_id)
    )
    connection.execute(delete(answers).where(answers.c.submission.in_(numbers)))
    for table in (payloads, decisions):
        connection.execute(delete(table).where(table.c.submission_id.in_(names)))
    opened = tokens.c.submission_id.in_(names)
    connection.execute(delete(tokens).where(opened, ~tokens.c.personal))
    connection.execute(update(tokens).where(opened).values(submission_id=None))
    connection.execute(delete(people).where(people.c.annotator_id.in_(who)))
    connection.execute(delete(submissions).where(which))
    begun = select(submissions.c.assignment_id).where(_OF_PEOPLE)
    connection.execute(delete(adapted).where(~adapted.c.published, adapted.c.assignment_id.not_in(begun)))
