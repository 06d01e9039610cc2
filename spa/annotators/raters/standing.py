"""Where visits stand when a run comes to them, read from the store a few dozen at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spa.annotators.raters.visits import KIND, Visit
from spa.journal import Call, calls_of
from spa.responses.leases import Lease, leases_named, new_lease_for_rater, refuse_other_settings
from spa.responses.store import Store

AHEAD = 32  # visits; only one run of a rater is under way, so that nobody else changes what was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One visit as the store knows it.

    ``lease`` is the one to be given where the rater has none yet (``given`` is False); ``calls`` are
    those of a visit that is not completed.
    """

    visit: Visit
    lease: Lease
    given: bool
    calls: tuple[Call, ...]


def standings(store: Store, visits: Sequence[Visit], expect: Callable[[list[str]], None]) -> Iterator[Standing]:
    """Yield where each visit stands.

    Parameters
    ----------
    store : Store
        What knows it.
    visits : sequence of Visit
        In the order in which they are made.
    expect : callable
        Told the assignments of the visits that come next and are not completed.

    Raises
    ------
    ResponseError
        If the rater made a visit of this name with another model or other settings.
    """
    for start in range(0, len(visits), AHEAD):
        chunk = {visit.submission_id: visit for visit in visits[start : start + AHEAD]}
        with store.reading() as connection:
            leases = leases_named(connection, chunk)
            begun = [name for name, lease in leases.items() if not lease.completed]
            calls = calls_of(connection, KIND, begun) if begun else {}
        expect(list({visit.assignment_id: None for name, visit in chunk.items() if not _is_over(leases.get(name))}))
        for name, visit in chunk.items():
            lease = leases.get(name)
            rater_id = visit.asked.rater.id
            if lease is not None:
                refuse_other_settings(lease, visit.label)
            yield Standing(
                visit=visit,
                lease=lease or new_lease_for_rater(rater_id, visit.assignment_id, visit.label),
                given=lease is not None,
                calls=calls.get(name, ()),
            )


def _is_over(lease: Lease | None) -> bool:
    return lease is not None and lease.completed
