"""The waves of an audit as they were drawn: which forms people are given, and with what chances and expectations.

A wave is a fact of the store, written in one transaction with the places that it makes: a killed process has drawn it
or not, and of several that would draw the same one the first does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, bindparam, func, insert, select

from spa.responses.database import Database
from spa.responses.leases import lock_leases
from spa.responses.outcomes import CLAIMED, COMPLETED
from spa.responses.prepared_statements import PreparedStatement
from spa.responses.store_schema import assignments, meta, places, submissions

WAVE = "audit_wave:"  # and its number: name of the fact in the store


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditWave:
    """A wave: forms in the order of the draw, passed one by one until as many were drawn for people as it asks for.

    Attributes
    ----------
    number : int
        From 1.
    first : int
        Number of its first form, from 0.
    chances : tuple of float
        Of its forms: with which each was drawn.
    drawn : tuple of int
        Numbers of the forms that people are given.
    expected : tuple of tuple of float
        What people were expected to say: a value on [0, 1] for each form and hypothesis; none where nothing is decided.
    reach, sd : tuple of float
        Of each hypothesis: how far from 1/2 a term may lie, and the SD that bets are planned for.
    llm_weight : tuple of float
        Lambda of each hypothesis.
    kept : float
        Share of earlier people whose answers counted.
    """

    number: int
    first: int
    chances: tuple[float, ...]
    drawn: tuple[int, ...]
    expected: tuple[tuple[float, ...], ...] = ()
    reach: tuple[float, ...] = ()
    sd: tuple[float, ...] = ()
    llm_weight: tuple[float, ...] = ()
    kept: float = 1.0

    @property
    def end(self) -> int:
        """Number of the form after its last."""
        return self.first + len(self.chances)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveProgress:
    """How many waves are drawn, and whether all that is drawn is completed (``due``), read in one transaction."""

    waves: int
    due: bool


def read_waves(store: Database) -> tuple[AuditWave, ...]:
    """Return the waves drawn so far."""
    query = select(meta.c.name, meta.c.value).where(meta.c.name.startswith(WAVE))
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return tuple(sorted((_read(row.value) for row in rows), key=lambda wave: wave.number))


_NAMED = PreparedStatement(select(meta.c.value).where(meta.c.name == bindparam("name")))
_OF_RATERS = select(func.count(), func.max(submissions.c.completed_at)).where(
    submissions.c.annotator_kind == "llm", submissions.c.outcome == COMPLETED
)


def waves_after(connection: Connection, known: Sequence[AuditWave]) -> tuple[AuditWave, ...]:
    """Return the waves drawn after those that are known."""
    found: list[AuditWave] = []
    while rows := _NAMED.rows(connection, name=_name(len(known) + len(found) + 1)):
        found.append(_read(rows[0][0]))
    return tuple(found)


def raters_mark(store: Database) -> tuple[int, float | None]:
    """Return what changes where a rater answers, or answers are set apart."""
    with store.reading() as connection:
        number, last = connection.execute(_OF_RATERS).one()
    return int(number), last


def wave_progress(store: Database) -> WaveProgress:
    """Return how far the waves have come by now."""
    with store.reading() as connection:
        return _progress(connection)


def _progress(connection: Connection) -> WaveProgress:
    of_people = submissions.c.annotator_kind != "llm"
    done = submissions.c.outcome == COMPLETED, submissions.c.seat.is_not(None)
    confirmed = submissions.c.external_id.is_(None) | ~submissions.c.external_id.startswith(CLAIMED)
    completed = select(submissions.c.assignment_id).where(of_people, *done, confirmed)
    waiting = select(func.count()).select_from(places).where(places.c.assignment_id.not_in(completed))
    waves = select(func.count()).select_from(meta).where(meta.c.name.startswith(WAVE))
    return WaveProgress(
        waves=connection.scalar(waves) or 0,
        due=not connection.scalar(waiting),
    )


def save_wave(store: Database, wave: AuditWave) -> bool:
    """Write a wave, and let people in to its forms, where all before it have come in; return whether this call did."""
    with store.transaction() as connection:
        lock_leases(connection)
        now = _progress(connection)
        if now.waves != wave.number - 1 or not now.due:
            return False
        connection.execute(insert(meta), {"name": _name(wave.number), "value": json.dumps(asdict(wave))})
        names = select(assignments.c.assignment_id, assignments.c.number).where(assignments.c.number.in_(wave.drawn))
        connection.execute(insert(places).from_select(["assignment_id", "number"], names))
    return True


def _name(number: int) -> str:
    return f"{WAVE}{number:06}"


def _read(text: str) -> AuditWave:
    facts = json.loads(text)
    lists = {name: tuple(facts[name]) for name in ("chances", "drawn", "reach", "sd", "llm_weight")}
    return AuditWave(**{**facts, **lists, "expected": tuple(tuple(row) for row in facts["expected"])})
