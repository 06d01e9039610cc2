"""Saving a draw of assignments; the functions run inside the caller's writing transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from sqlalchemy import Connection, func, insert, select, update

from spa.errors import ResponseError
from spa.responses.store_schema import assignments, blinding, meta, places, tokens
from spa.responses.tokens import random_token
from spa.study.assignment import Assignment, BlindingKey
from spa.study.assignment_json import assignment_to_json, key_to_json

CHUNK = 500  # assignments written at once, so that memory stays flat


def save_build(
    connection: Connection,
    fingerprint: str,
    draws: Iterable[tuple[Assignment, BlindingKey]],
    *,
    seed: int | None,
    store: str,
) -> int:
    """Save what is new of a draw and return how many that is; see ``Store.save_build``."""
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
    before = connection.scalar(select(func.count()).select_from(assignments)) or 0
    stream = iter(draws)
    _compare(connection, islice(stream, before), store)
    new = 0
    while chunk := list(islice(stream, CHUNK)):
        _insert(connection, chunk)
        new += len(chunk)
    return new


def note(connection: Connection, name: str, value: str) -> None:
    """Write or replace a fact about the store."""
    if connection.execute(update(meta).where(meta.c.name == name).values(value=value)).rowcount == 0:
        connection.execute(insert(meta).values(name=name, value=value))


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
