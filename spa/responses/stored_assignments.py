"""The assignments of a store, in the order of the draw, and what their labels hide."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, delete, exists, false, func, insert, select, update

from spa.elicitation.assignment_json import assignment_from_json, assignment_to_json
from spa.elicitation.balanced_orders import NEIGHBOURS, Balancing
from spa.errors import ResponseError
from spa.records.assignment import (
    Assignment,
    BlindingKey,
    key_from_json,
    key_to_json,
)
from spa.responses.database import CHUNK, Database, note
from spa.responses.leases import lock_leases
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import adapted, assignments, blinding, meta, places, submissions, tokens
from spa.responses.tokens import random_token
from spa.study.narrowing import CountedUpTo, DealtPair, Pair, Respondents, narrowed, redealt

LIVE_RULES = "live_rules"  # name of the fact in the store, see Store.live_rules
NEWEST_LIVE_RULES = 2
ADAPTED_AFTER = "adapted_after:"  # and a group: what had counted when its assignments were last adapted
BALANCING = "balancing"  # the fact; stores of earlier releases have none
_ID = assignments.c.assignment_id


def _select_draws(respondents: Any) -> Select[Any]:
    """Select assignments with their keys, and how they were adapted for some respondents."""
    columns = _ID, assignments.c.record, blinding.c.record.label("key"), adapted.c.left_out, adapted.c.dealt
    for_them = (adapted.c.assignment_id == _ID) & (adapted.c.respondents == respondents)
    return select(*columns).join(blinding, blinding.c.assignment_id == _ID).outerjoin(adapted, for_them)


class _Draw(NamedTuple):
    """A row of :func:`_select_draws`."""

    assignment_id: str
    record: str
    key: str
    left_out: str | None
    dealt: str | None


def _free() -> Select[Any]:
    """Select the first assignments that no person has begun, and that stand on no platform, as they are adapted."""
    name = places.c.assignment_id
    begun = exists().where(submissions.c.assignment_id == name, submissions.c.annotator_kind != "llm")
    for_people = (adapted.c.assignment_id == name) & (adapted.c.respondents == "people")
    found = select(name, adapted.c.left_out, adapted.c.dealt).outerjoin(adapted, for_people)
    waiting = found.where(places.c.people == 0, ~begun, func.coalesce(adapted.c.published, false()) == false())
    return waiting.order_by(places.c.number).limit(bindparam("most"))


MANY = 2**31 - 1  # more than there are
_FREE = PreparedStatement(_free())
_CHANGED = ("assignment_id", "respondents", "left_out", "dealt", "published")
_CLEAR = PreparedStatement(
    delete(adapted).where(
        adapted.c.assignment_id == bindparam(_CHANGED[0]), adapted.c.respondents == bindparam(_CHANGED[1])
    )
)
_CHANGE = PreparedStatement(insert(adapted))
_ADAPTED_AFTER = PreparedStatement(select(meta.c.value).where(meta.c.name == bindparam("fact")))
_ADAPTED_NOW = PreparedStatement(update(meta).where(meta.c.name == bindparam("fact")).values(value=bindparam("now")))
_IN_ORDER = _select_draws("people").order_by(assignments.c.number)
_DRAW = PreparedStatement(_select_draws("people").where(_ID == bindparam("assignment_id")))
_DRAWS = _select_draws(bindparam("respondents")).where(_ID.in_(bindparam("assignment_ids", expanding=True)))


class StoredAssignments:
    """The assignments of a store, without what was left out of them.

    Iterating yields them in the order of the draw, as people see them, and ``len`` counts them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self,
        fingerprint: str,
        draws: Iterable[tuple[Assignment, BlindingKey]],
        *,
        seed: int | None = None,
        balancing: Balancing = NEIGHBOURS,
        for_people: int | None = None,
        in_waves: bool = False,
    ) -> int:
        """Save a draw of assignments, or the further ones of the same draw; return how many are new.

        Existing assignments are compared with the draw and never changed. Each new one gets a token. All is one
        transaction; the seed and what orders balance are kept as the facts "seed" and "balancing". People are given
        the first ``for_people`` only, by default all; raters have all. ``in_waves`` makes so many links, and no place:
        see :mod:`spa.responses.audit_waves`. Raise
        ResponseError if the store holds another study, or another draw of this one.
        """
        store = self._database.name
        with self._database.transaction() as connection:
            facts = {row.name: row.value for row in connection.execute(select(meta))}
            if facts.get("fingerprint", fingerprint) != fingerprint:
                raise ResponseError(
                    f"{store}: holds another version of the study (its file, texts or outputs have changed since); "
                    "build into a new store with --store, so that the answers here keep their questions"
                )
            if seed is not None and facts.get("seed", str(seed)) != str(seed):
                raise ResponseError(
                    f"{store}: was drawn with seed {facts['seed']}, got seed {seed}; leave the seed out to go on "
                    "with the same draw, or build into a new store with --store"
                )
            note(connection, "fingerprint", fingerprint)
            if seed is not None:
                note(connection, "seed", str(seed))
            before = _count(connection)
            if before == 0:
                note(connection, LIVE_RULES, str(NEWEST_LIVE_RULES))
                note(connection, BALANCING, balancing)
            stream = iter(draws)
            _compare(connection, islice(stream, before), store)
            while chunk := list(islice(stream, CHUNK)):
                _insert(connection, chunk, for_people, in_waves=in_waves)
            return _count(connection) - before

    @property
    def balancing(self) -> Balancing:
        """What the orders of this draw balance: places alone where it was begun before neighbours were balanced."""
        with self._database.reading() as connection:
            known = connection.scalar(select(meta.c.value).where(meta.c.name == BALANCING)) == NEIGHBOURS
            return NEIGHBOURS if known or _count(connection) == 0 else "places"

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return _count(connection)

    @property
    def for_people(self) -> int:
        """How many of them people may be given: all, but in an audit."""
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(places)) or 0

    def __iter__(self) -> Iterator[Assignment]:
        for row in self._database.stream(_IN_ORDER):
            drawn = assignment_from_json(row.record)
            left_out = row.left_out
            yield drawn if left_out is None else narrowed(drawn, key_from_json(row.key), json.loads(left_out))

    def ids_of_people(self) -> list[str]:
        """Return the ids of those that people may be given, in the order of the draw."""
        with self._database.reading() as connection:
            return list(connection.scalars(select(places.c.assignment_id).order_by(places.c.number)))

    def ids(self) -> list[str]:
        """Return the ids of all assignments in the order of the draw."""
        with self._database.reading() as connection:
            return list(connection.scalars(select(assignments.c.assignment_id).order_by(assignments.c.number)))

    def keys(self) -> Iterator[BlindingKey]:
        """Yield the keys of all assignments, as people see them."""
        for row in self._database.stream(_IN_ORDER):
            yield key_from_json(row.key) if row.dealt is None else _as_asked(row)[1]

    def drawn(self) -> Iterator[tuple[Assignment, BlindingKey]]:
        """Yield all assignments with their keys as they were drawn, whatever was left out of them since."""
        for row in self._database.stream(_IN_ORDER):
            yield assignment_from_json(row.record), key_from_json(row.key)

    def key(self, assignment_id: str, respondents: Respondents = "people") -> BlindingKey:
        """Return what the labels of one assignment hide."""
        return self.draw(assignment_id, respondents)[1]

    def draw(self, assignment_id: str, respondents: Respondents = "people") -> tuple[Assignment, BlindingKey]:
        """Return one assignment with what its labels hide."""
        draws = self.draws([assignment_id], respondents)
        if assignment_id not in draws:
            raise ResponseError(f"{self._database.name}: no assignment {assignment_id!r}")
        return draws[assignment_id]

    def draws(
        self, assignment_ids: Sequence[str], respondents: Respondents = "people"
    ) -> dict[str, tuple[Assignment, BlindingKey]]:
        """Return several assignments with what their labels hide, by id; unknown ids are left out."""
        return {row.assignment_id: _as_asked(row) for row in self._rows(assignment_ids, respondents)}

    def _rows(self, assignment_ids: Sequence[str], respondents: Respondents) -> Sequence[Row[Any]]:
        with self._database.reading() as connection:
            given = {"assignment_ids": assignment_ids, "respondents": respondents}
            return connection.execute(_DRAWS, given).all()

    def adaptation(self, assignment_id: str) -> tuple[str | None, str | None] | None:
        """Return what was left out of an assignment for people and what was dealt instead; ``None``: as drawn."""
        own = (adapted.c.assignment_id == assignment_id) & (adapted.c.respondents == "people")
        with self._database.reading() as connection:
            found = connection.execute(select(adapted.c.left_out, adapted.c.dealt).where(own)).one_or_none()
        return None if found is None else (found.left_out, found.dealt)

    def dealt(self, respondents: Respondents = "people") -> dict[str, list[DealtPair]]:
        """Return the pairs of the assignments that were dealt others than those drawn."""
        own = adapted.c.dealt.is_not(None) & (adapted.c.respondents == respondents)
        with self._database.reading() as connection:
            rows = connection.execute(select(adapted).where(own)).all()
        return {row.assignment_id: _pairs(row.dealt) for row in rows}

    def narrowed_as_drawn(self, assignment_ids: Sequence[str]) -> list[tuple[Assignment, BlindingKey]]:
        """Return those of some assignments of which anything was left out for people, as they were drawn."""
        rows = self._rows(assignment_ids, "people")
        return [(assignment_from_json(row.record), key_from_json(row.key)) for row in rows if row.left_out is not None]

    def leave_out(self, decided: Collection[Pair], *, counted: CountedUpTo | None = None) -> int:
        """Leave decided pairs out of every assignment that no person has begun, and return how many changed.

        The draw itself stays as it is. Forms that were given to people, or published, never change; LLMs see them as
        drawn. Nothing changes where another process did it that has ``counted`` further visits.
        """
        pairs = json.dumps(sorted(sorted(pair) for pair in decided), ensure_ascii=False)
        return self._adapt(repeat((pairs, None)), counted)

    def deal(self, pairs: Sequence[DealtPair], *, each: int, counted: CountedUpTo | None = None) -> int:
        """Deal other pairs to the next assignments that no person has begun, ``each`` to one; says how many changed.

        ``counted`` is as for :meth:`leave_out`.
        """
        dealt = [(pair.system_x, pair.system_y, pair.subject) for pair in pairs]
        hands = [json.dumps(dealt[start : start + each], ensure_ascii=False) for start in range(0, len(pairs), each)]
        return self._adapt([(None, hand) for hand in hands], counted, most=len(hands))

    def _adapt(
        self, wanted: Iterable[tuple[str | None, str | None]], counted: CountedUpTo | None, *, most: int = MANY
    ) -> int:
        """Give the first assignments that no person has begun what is left out and dealt; return how many changed."""
        with self._database.transaction() as connection:
            lock_leases(connection)
            if counted is not None and not _is_latest(connection, counted):
                return 0
            waiting = zip(_FREE.rows(connection, most=most), wanted, strict=False)
            changed = [(name, change) for (name, *known), change in waiting if tuple(known) != change]
            rows = [(name, "people", *change, False) for name, change in changed]
            if rows:
                _CLEAR.run_many(connection, _CHANGED[:2], [row[:2] for row in rows])
                _CHANGE.run_many(connection, _CHANGED, rows)
        return len(rows)

    def note_published(self, assignment_ids: Sequence[str]) -> None:
        """Keep assignments as they are from now on: their forms are about to be published where they cannot change."""
        with self._database.transaction() as connection:
            lock_leases(connection)
            for name in assignment_ids:
                own = (adapted.c.assignment_id == name) & (adapted.c.respondents == "people")
                if connection.execute(update(adapted).where(own).values(published=True)).rowcount == 0:
                    connection.execute(insert(adapted).values(assignment_id=name, published=True))


def _is_latest(connection: Connection, counted: CountedUpTo) -> bool:
    """Note which visits had counted when assignments were adapted; false where it was done with later ones."""
    own, name = json.dumps([counted.recounts, counted.visits]), ADAPTED_AFTER + counted.group
    for (known,) in _ADAPTED_AFTER.rows(connection, fact=name):
        if json.loads(known) > json.loads(own):
            return False
        _ADAPTED_NOW.rows(connection, fact=name, now=own)
        return True
    note(connection, name, own)
    return True


def _as_asked(row: Any) -> tuple[Assignment, BlindingKey]:
    """Return an assignment and its key, as earlier answers changed them, from a row of :func:`_select_draws`."""
    drawn, hidden = assignment_from_json(row.record), key_from_json(row.key)
    if row.left_out is not None:
        drawn = narrowed(drawn, hidden, json.loads(row.left_out))
    return drawn, hidden if row.dealt is None else redealt(hidden, drawn, _pairs(row.dealt))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAssignment:
    """An assignment as people see it."""

    assignment: Assignment
    key: BlindingKey
    dealt: list[DealtPair] | None  # in the place of the pairs drawn


def asked_of_people(connection: Connection, assignment_id: str) -> AskedAssignment | None:
    """Return one assignment as people see it; ``None`` of an id that is unknown."""
    for row in _DRAW.rows(connection, assignment_id=assignment_id):
        found = _Draw(*row)
        assignment, key = _as_asked(found)
        dealt = None if found.dealt is None else _pairs(found.dealt)
        return AskedAssignment(assignment=assignment, key=key, dealt=dealt)
    return None


def _pairs(dealt: str) -> list[DealtPair]:
    return [DealtPair(system_x=x, system_y=y, subject=subject) for x, y, subject in json.loads(dealt)]


def _count(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(assignments)) or 0


def _compare(connection: Connection, stream: Iterator[tuple[Assignment, BlindingKey]], store: str) -> None:
    query = (
        select(assignments.c.record, blinding.c.record.label("key"))
        .join_from(assignments, blinding)
        .order_by(assignments.c.number)
    )
    with connection.execute(query.execution_options(yield_per=CHUNK)) as rows:
        for (assignment, key), row in zip(stream, rows, strict=False):
            if (row.record, row.key) != (assignment_to_json(assignment), key_to_json(key)):
                raise ResponseError(
                    f"{store}: assignment {assignment.assignment_id} of this draw differs from the stored one; "
                    "use the seed of the first build, or build into a new store with --store"
                )


def _insert(
    connection: Connection,
    draws: Sequence[tuple[Assignment, BlindingKey]],
    for_people: int | None,
    *,
    in_waves: bool,
) -> None:
    """Write assignments; those that people may be given have a place and a personal token."""
    connection.execute(
        insert(assignments),
        [
            {"assignment_id": drawn.assignment_id, "number": drawn.number, "record": assignment_to_json(drawn)}
            for drawn, _ in draws
        ],
    )
    given = [drawn for drawn, _ in draws if for_people is None or drawn.number < for_people]
    if given:
        rows = [{"assignment_id": drawn.assignment_id, "number": drawn.number} for drawn in given]
        if not in_waves:
            connection.execute(insert(places), rows)
        connection.execute(insert(tokens), [{"token": random_token(), "personal": True} for _ in given])
    connection.execute(
        insert(blinding), [{"assignment_id": key.assignment_id, "record": key_to_json(key)} for _, key in draws]
    )
