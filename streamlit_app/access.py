"""Who may use the dashboard: each secret of a link is one person, who may read, review or export."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from spa.responses.dashboard_log import OPERATOR
from spa.responses.reviewer_secrets import DashboardRole, Reviewer, hash_of, new_secret

KNOWN_FOR = 1.0  # seconds that reviewers of the store are remembered
LONGEST_SECRET = 200  # characters; ours are far shorter
COOKIE = "spa-dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who holds a secret; without a name whoever started the dashboard, who then only reads and exports.

    ``unblinded`` is who asked at the start to see which system is which.
    """

    name: str | None
    roles: frozenset[DashboardRole]
    unblinded: bool = False

    @property
    def known_as(self) -> str:
        """The name in the log."""
        return self.name or OPERATOR

    def may(self, role: DashboardRole) -> bool:
        """Return whether this is among what the person may do."""
        return role in self.roles


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedLink:
    """A secret of this run, printed with its address and for nobody to look up."""

    secret: str
    person: Person


def links_of_run(names: Sequence[str], *, unblinded: bool = False) -> list[PrintedLink]:
    """Return the links to print: that of whoever started it or of the only reviewer, then one for each of several."""
    everything: frozenset[DashboardRole] = frozenset(("read", "review", "export"))
    people = [Person(name=name, roles=everything, unblinded=unblinded) for name in names]
    if len(names) != 1:
        people.insert(0, Person(name=None, roles=everything - {"review"}, unblinded=unblinded))
    return [PrintedLink(secret=new_secret(), person=person) for person in people]


class DashboardAccess:
    """The people of this run and those of the store, by the hashes of their secrets."""

    def __init__(
        self,
        links: Iterable[PrintedLink],
        enrolled: Callable[[], Sequence[Reviewer]],
        *,
        cookie: str = COOKIE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cookie = cookie
        self._of_run = {hash_of(link.secret): link.person for link in links}
        self._enrolled = enrolled
        self._clock = clock
        self._known: tuple[float, dict[str, Person]] | None = None

    def person(self, secret: str) -> Person | None:
        """Return whose secret this is; ``None`` if it is nobody's."""
        if not secret or len(secret) > LONGEST_SECRET:
            return None
        hashed = hash_of(secret)
        return self._of_run.get(hashed) or self._of_store().get(hashed)

    def names(self) -> tuple[str, ...]:
        """Return who of the store may review."""
        return tuple(person.name for person in self._of_store().values() if person.name and person.may("review"))

    def _of_store(self) -> dict[str, Person]:
        now = self._clock()
        if self._known is None or now >= self._known[0]:
            found = {each.secret_hash: Person(name=each.name, roles=each.roles) for each in self._enrolled()}
            self._known = (now + KNOWN_FOR, found)
        return self._known[1]
