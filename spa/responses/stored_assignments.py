"""The assignments of a store, in the order of the draw, and what their labels hide."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from spa.errors import ResponseError
from spa.responses.database import CHUNK, Database, note
from spa.responses.leases import lock_leases
from spa.responses.store_schema import assignments, blinding, left_out, meta, places, submissions, tokens
from spa.responses.tokens import random_token
from spa.study.assignment import Assignment, BlindingKey
from spa.study.assignment_json import assignment_from_json, assignment_to_json, key_from_json, key_to_json
from spa.study.narrowing import Pair, narrowed

_DRAWS = (  # run for every visit of a rater, made once
    select(assignments.c.assignment_id, assignments.c.record, blinding.c.record, left_out.c.pairs)
    .join(blinding, blinding.c.assignment_id == assignments.c.assignment_id)
    .outerjoin(left_out, left_out.c.assignment_id == assignments.c.assignment_id)
    .where(assignments.c.assignment_id.in_(bindparam("assignment_ids", expanding=True)))
)
_IN_ORDER = (
    select(assignments.c.record, blinding.c.record.label("key"), left_out.c.pairs)
    .join(blinding, blinding.c.assignment_id == assignments.c.assignment_id)
    .outerjoin(left_out, left_out.c.assignment_id == assignments.c.assignment_id)
    .order_by(assignments.c.number)
)


class StoredAssignments:
    """The assignments of a store, without what was left out of them.

    Iterating yields them in the order of the draw, and ``len`` counts them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(
        self, fingerprint: str, draws: Iterable[tuple[Assignment, BlindingKey]], *, seed: int | None = None
    ) -> int:
        """Save a draw of assignments, or the further ones of the same draw, in one transaction.

        Existing assignments are compared with the draw and never changed. Each new one gets a token.
        The seed is kept as the fact "seed".

        Returns
        -------
        int
            How many assignments were new.

        Raises
        ------
        ResponseError
            If the store holds another study, or another draw of this one.
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
            stream = iter(draws)
            _compare(connection, islice(stream, before), store)
            while chunk := list(islice(stream, CHUNK)):
                _insert(connection, chunk)
            return _count(connection) - before

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return _count(connection)

    def __iter__(self) -> Iterator[Assignment]:
        for row in self._database.stream(_IN_ORDER):
            drawn = assignment_from_json(row.record)
            yield drawn if row.pairs is None else narrowed(drawn, key_from_json(row.key), json.loads(row.pairs))

    def ids(self) -> list[str]:
        """Return the ids of all assignments in the order of the draw."""
        with self._database.reading() as connection:
            return list(connection.scalars(select(assignments.c.assignment_id).order_by(assignments.c.number)))

    def keys(self) -> Iterator[BlindingKey]:
        """Yield the keys of all assignments."""
        for row in self._database.stream(select(blinding.c.record).order_by(blinding.c.assignment_id)):
            yield key_from_json(row.record)

    def key(self, assignment_id: str) -> BlindingKey:
        """Return what the labels of one assignment hide."""
        return self.draw(assignment_id)[1]

    def draw(self, assignment_id: str) -> tuple[Assignment, BlindingKey]:
        """Return one assignment with what its labels hide."""
        draws = self.draws([assignment_id])
        if assignment_id not in draws:
            raise ResponseError(f"{self._database.name}: no assignment {assignment_id!r}")
        return draws[assignment_id]

    def draws(self, assignment_ids: Sequence[str]) -> dict[str, tuple[Assignment, BlindingKey]]:
        """Return several assignments with what their labels hide, by id; unknown ids are left out."""
        with self._database.reading() as connection:
            rows = connection.execute(_DRAWS, {"assignment_ids": assignment_ids}).all()
        found = {}
        for name, record, key, pairs in rows:
            drawn, hidden = assignment_from_json(record), key_from_json(key)
            found[name] = (drawn if pairs is None else narrowed(drawn, hidden, json.loads(pairs))), hidden
        return found

    def leave_out(self, decided: Collection[Pair]) -> int:
        """Leave decided pairs out of every assignment that nobody has begun, and return how many changed.

        The draw itself stays as it is. Forms that were given to anybody, or published, never change.
        """
        pairs = json.dumps(sorted(sorted(pair) for pair in decided), ensure_ascii=False)
        begun = select(submissions.c.assignment_id)
        as_now = select(left_out.c.assignment_id).where((left_out.c.pairs == pairs) | left_out.c.published)
        with self._database.transaction() as connection:
            lock_leases(connection)
            changing = select(assignments.c.assignment_id).where(
                assignments.c.assignment_id.not_in(begun), assignments.c.assignment_id.not_in(as_now)
            )
            changed = [{"assignment_id": name, "pairs": pairs} for name in connection.scalars(changing)]
            if changed:
                names = [row["assignment_id"] for row in changed]
                for start in range(0, len(names), CHUNK):
                    part = names[start : start + CHUNK]
                    connection.execute(delete(left_out).where(left_out.c.assignment_id.in_(part)))
                connection.execute(insert(left_out), changed)
        return len(changed)

    def note_published(self, assignment_ids: Sequence[str]) -> None:
        """Keep assignments as they are from now on: their forms are about to be published where they cannot change."""
        with self._database.transaction() as connection:
            lock_leases(connection)
            for name in assignment_ids:
                own = left_out.c.assignment_id == name
                if connection.execute(update(left_out).where(own).values(published=True)).rowcount == 0:
                    connection.execute(insert(left_out).values(assignment_id=name, pairs="[]", published=True))


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


def _insert(connection: Connection, draws: Sequence[tuple[Assignment, BlindingKey]]) -> None:
    connection.execute(
        insert(assignments),
        [
            {"assignment_id": drawn.assignment_id, "number": drawn.number, "record": assignment_to_json(drawn)}
            for drawn, _ in draws
        ],
    )
    connection.execute(
        insert(places), [{"assignment_id": drawn.assignment_id, "number": drawn.number} for drawn, _ in draws]
    )
    connection.execute(
        insert(blinding), [{"assignment_id": key.assignment_id, "record": key_to_json(key)} for _, key in draws]
    )
    connection.execute(insert(tokens), [{"token": random_token(), "personal": True} for _ in draws])
