"""The log of what was done on the dashboard beside decisions: systems shown, files taken away, reviewers added.

Like the log of decisions it is only added to. Its table is made with the first entry; stores without one have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from sqlalchemy import DDL, Column, Connection, Float, Integer, MetaData, String, Table, event, insert, inspect, select

from spa.errors import ResponseError
from spa.responses.decisions import PROGRAM, Decision
from spa.responses.store_schema import Verbatim

DashboardAction = Literal[
    "show systems",
    "export",
    "freeze plan",
    "two reviewers",
    "one reviewer",
    "add reviewer",
    "renew reviewer",
    "remove reviewer",
]
DASHBOARD_ACTIONS: tuple[DashboardAction, ...] = get_args(DashboardAction)
OPERATOR = f"{PROGRAM}dashboard"  # who types the command, and opens its link without a name

_metadata = MetaData()
_log = Table(
    "dashboard_log",
    _metadata,
    Column("number", Integer, primary_key=True),
    Column("noted_at", Float, nullable=False),  # seconds since 1970
    Column("who", Verbatim, nullable=False),
    Column("action", String, nullable=False),
    Column("detail", Verbatim),
)
for _change in ("UPDATE", "DELETE"):
    _refused = DDL(  # type: ignore[no-untyped-call]
        f"CREATE TRIGGER dashboard_log_no_{_change.lower()} BEFORE {_change} ON dashboard_log "
        "BEGIN SELECT RAISE(ABORT, 'dashboard_log is only added to'); END"
    )
    event.listen(_log, "after_create", _refused.execute_if(dialect="sqlite"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardEntry:
    """One entry: who did what, and when; ``detail`` is the name of the file or of the reviewer."""

    noted_at: float  # seconds since 1970
    who: str
    action: DashboardAction
    detail: str | None = None
    number: int | None = None  # given by the log

    def __post_init__(self) -> None:
        """Refuse an entry that says nothing."""
        if self.action not in DASHBOARD_ACTIONS:
            raise ResponseError(f"dashboard log: expected one of {', '.join(DASHBOARD_ACTIONS)}, got {self.action!r}")
        if not self.who.strip():
            raise ResponseError("dashboard log: expected the name of who did it, got none")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of both logs: what somebody did, or decided on a submission."""

    at: float  # seconds since 1970
    who: str
    action: str
    submission_id: str | None = None
    detail: str | None = None
    decision: int | None = None  # its number in the log of decisions

    @property
    def when(self) -> str:
        """When that was, as ISO 8601 in UTC."""
        return datetime.fromtimestamp(self.at, UTC).isoformat(timespec="seconds")


def add_entry(connection: Connection, entry: DashboardEntry) -> None:
    """Add one entry to the log inside the caller's writing transaction."""
    _log.create(connection, checkfirst=True)
    values = {"noted_at": entry.noted_at, "who": entry.who, "action": entry.action, "detail": entry.detail}
    connection.execute(insert(_log).values(values))


def read_entries(connection: Connection) -> list[DashboardEntry]:
    """Return the log, oldest first."""
    if not inspect(connection).has_table(_log.name):
        return []
    return [DashboardEntry(**row._mapping) for row in connection.execute(select(_log).order_by(_log.c.number))]


def both_logs(entries: list[DashboardEntry], decisions: list[Decision]) -> list[LogLine]:
    """Return what was done and decided, oldest first; what happened at the same moment in the order of its log.

    >>> shown = DashboardEntry(noted_at=2.0, who="Ben", action="show systems")
    >>> kept = Decision(submission_id="s1", action="include", reviewer="Ana", decided_at=1.0, number=1)
    >>> [(line.when, line.who, line.action) for line in both_logs([shown], [kept])]
    [('1970-01-01T00:00:01+00:00', 'Ana', 'include'), ('1970-01-01T00:00:02+00:00', 'Ben', 'show systems')]
    """
    lines = [LogLine(at=each.noted_at, who=each.who, action=each.action, detail=each.detail) for each in entries]
    return sorted([*lines, *_decided(decisions)], key=lambda line: line.at)


def _decided(decisions: list[Decision]) -> Iterator[LogLine]:
    for each in decisions:
        amount = None if each.amount is None else str(each.amount)
        undone = None if each.undoes is None else f"number {each.undoes}"
        said = [part for part in (undone, amount, each.rule, each.note) if part]
        yield LogLine(
            at=each.decided_at,
            who=each.reviewer,
            action=each.action,
            submission_id=each.submission_id,
            detail=": ".join(said) or None,
            decision=each.number,
        )
