"""The journal: a call is on disk before it is made, its outcome with what follows, and a kill hides nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from spa import journal as journal_module
from spa.errors import ResponseError
from spa.journal import Journal
from spa.responses.store import Store


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.create(database) as made:
        yield made


def test_a_call_is_there_before_it_is_made_and_finished_once(store: Store) -> None:
    journal = Journal(store)
    begun = journal.begin("llm", "visit", "q1", '{"sent": "\ud800"}')
    assert journal.unfinished("llm") == (begun,)
    assert (begun.attempt, begun.outcome, begun.seconds) == (1, "started", None)
    done = journal.finish(begun, "ok", response="\ud800", prompt_tokens=7)
    assert journal.calls("llm", "visit") == (done,)
    assert (done.facts, journal.unfinished("llm")) == ({"prompt_tokens": 7}, ())
    assert (done.seconds or -1) >= 0
    with pytest.raises(ResponseError, match="attempt 1 of llm visit q1 must be begun"):
        journal.finish(begun, "ok")


def test_attempts_are_counted_by_what_the_call_is_for(store: Store) -> None:
    journal = Journal(store)
    calls = [journal.begin(*where, "{}") for where in (("llm", "v", "q1"), ("llm", "v", "q1"), ("llm", "v", "q2"))]
    calls.append(journal.begin("prolific", "v", "q1", "{}"))
    assert [call.attempt for call in calls] == [1, 2, 1, 1]
    assert journal.calls("llm", "v", "q1") == tuple(calls[:2])
    assert list(journal.every("llm")) == calls[:3]


def test_journal_outcome_and_consequence_are_atomic(store: Store) -> None:
    """What follows from an outcome is stored with it or neither is."""
    journal = Journal(store)
    begun = journal.begin("llm", "v", "q1", "{}")

    def save(connection: Connection) -> None:
        journal_module.finish(connection, begun, "ok", response="7", facts={})
        raise ResponseError("the answer cannot be stored")

    with pytest.raises(ResponseError, match="cannot be stored"), store.transaction() as connection:
        save(connection)
    assert journal.unfinished("llm") == (begun,)


KILLED = """
import os, signal, sys
from spa.journal import Journal
from spa.responses.store import Store
with Store.open(sys.argv[1]) as store:
    Journal(store).begin("llm", "v", "q1", "{}")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_call_that_was_begun_survives_a_kill(database: str) -> None:
    Store.create(database).close()
    ended = subprocess.run([sys.executable, "-c", KILLED, database], check=False, env={**os.environ})
    assert ended.returncode == -signal.SIGKILL
    with Store.open(database) as store:
        (call,) = Journal(store).unfinished("llm")
        assert Journal(store).begin("llm", "v", "q1", "{}").attempt == 2
    assert call.key == "q1"
