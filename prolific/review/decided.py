"""What reviewers decided in the dashboard, as the commands read it."""

from __future__ import annotations

from spa.responses.decisions import Standing, read_standing
from spa.responses.store import Store


def decided_by_reviewers(store: Store) -> dict[str, Standing]:
    """Return what stands of all decisions, by our own visit."""
    with store.reading() as connection:
        return read_standing(connection)
