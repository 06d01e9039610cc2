"""The part of the store that is written by building a study: its assignments, and what their labels hide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select

from spa.errors import ResponseError
from spa.responses import builds
from spa.responses.store_schema import assignments, blinding
from spa.study.assignment import Assignment, BlindingKey
from spa.study.assignment_json import assignment_from_json, key_from_json

_DRAWS = (  # run for every visit of a rater, made once
    select(assignments.c.assignment_id, assignments.c.record, blinding.c.record)
    .join(blinding, blinding.c.assignment_id == assignments.c.assignment_id)
    .where(assignments.c.assignment_id.in_(bindparam("assignment_ids", expanding=True)))
)


class StoreOfBuilds:
    """Assignments and blinding keys. A part of :class:`spa.responses.store.Store`, which see."""

    name: str
    meta: Callable[[str], str | None]
    transaction: Callable[[], AbstractContextManager[Connection]]
    reading: Callable[[], AbstractContextManager[Connection]]
    stream: Callable[[Select[Any]], Iterator[Any]]

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the study that was built into this store; a ``ResponseError`` before :meth:`save_build`."""
        found = self.meta("fingerprint")
        if found is None:
            raise ResponseError(f"{self.name}: nothing has been built into this store yet; run `spa build`")
        return found

    def save_build(
        self, fingerprint: str, draws: Iterable[tuple[Assignment, BlindingKey]], *, seed: int | None = None
    ) -> int:
        """Save a draw of assignments, or the further ones of the same draw, in one transaction.

        Assignments that are there already are compared with the draw and never touched. Each new
        one brings a token. The seed is noted as the fact "seed".

        Returns
        -------
        int
            How many assignments were new.

        Raises
        ------
        ResponseError
            If the store holds another study, or another draw of this one.
        """
        with self.transaction() as connection:
            return builds.save_build(connection, fingerprint, draws, seed=seed, store=self.name)

    def count_assignments(self) -> int:
        """Return how many assignments there are."""
        with self.reading() as connection:
            return connection.scalar(select(func.count()).select_from(assignments)) or 0

    def assignment_ids(self) -> list[str]:
        """Return the ids of all assignments in the order of the draw."""
        with self.reading() as connection:
            return list(connection.scalars(select(assignments.c.assignment_id).order_by(assignments.c.number)))

    def assignments(self) -> Iterator[Assignment]:
        """Yield all assignments in the order of the draw."""
        for row in self.stream(select(assignments.c.record).order_by(assignments.c.number)):
            yield assignment_from_json(row.record)

    def assignment(self, assignment_id: str) -> Assignment:
        """Return one assignment."""
        with self.reading() as connection:
            record = connection.scalar(select(assignments.c.record).where(assignments.c.assignment_id == assignment_id))
        return assignment_from_json(self._known(record, assignment_id))

    def key(self, assignment_id: str) -> BlindingKey:
        """Return what the labels of one assignment hide."""
        with self.reading() as connection:
            record = connection.scalar(select(blinding.c.record).where(blinding.c.assignment_id == assignment_id))
        return key_from_json(self._known(record, assignment_id))

    def draw(self, assignment_id: str) -> tuple[Assignment, BlindingKey]:
        """Return one assignment with what its labels hide."""
        found = self.draws([assignment_id]).get(assignment_id)
        if found is None:
            raise self._unknown(assignment_id)
        return found

    def draws(self, assignment_ids: Sequence[str]) -> dict[str, tuple[Assignment, BlindingKey]]:
        """Return several assignments with what their labels hide, by id; those that are not there are left out."""
        with self.reading() as connection:
            rows = connection.execute(_DRAWS, {"assignment_ids": assignment_ids}).all()
        return {name: (assignment_from_json(record), key_from_json(key)) for name, record, key in rows}

    def keys(self) -> Iterator[BlindingKey]:
        """Yield the keys of all assignments."""
        for row in self.stream(select(blinding.c.record).order_by(blinding.c.assignment_id)):
            yield key_from_json(row.record)

    def _known(self, record: str | None, assignment_id: str) -> str:
        if record is None:
            raise self._unknown(assignment_id)
        return record

    def _unknown(self, assignment_id: str) -> ResponseError:
        return ResponseError(f"{self.name}: no assignment {assignment_id!r}")
