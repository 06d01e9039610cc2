"""Reviewers' own links and the dashboard's log: secrets are hashed, names are people, entries are only added."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from spa.errors import ResponseError
from spa.responses.dashboard_log import DashboardEntry, add_entry, both_logs, read_entries
from spa.responses.reviewer_secrets import (
    add_reviewer,
    hash_of,
    is_one_of,
    read_reviewers,
    remove_reviewer,
    renew_reviewer,
)
from spa.responses.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store.sqlite")


def test_store_without_reviewers_has_no_log(store: Store) -> None:
    """A store that nobody was added to has no reviewers and no log."""
    with store.reading() as connection:
        assert (read_reviewers(connection), read_entries(connection)) == ([], [])


def test_the_store_holds_no_secret_but_its_hash(store: Store) -> None:
    with store.transaction() as connection:
        secret = add_reviewer(connection, " Ana  Diaz ", ["review"], now=1.0)
    store.close()
    name = Path(store.name)
    assert secret.encode() not in b"".join(path.read_bytes() for path in name.parent.iterdir())
    with Store.open(name, read_only=True) as opened, opened.reading() as connection:
        (ana,) = read_reviewers(connection)
    assert (ana.name, ana.roles, ana.secret_hash) == ("Ana Diaz", {"read", "review"}, hash_of(secret))


def test_a_secret_is_renewed_and_removed_and_the_log_says_so(store: Store) -> None:
    with store.transaction() as connection:
        first = add_reviewer(connection, "Ana", ["review", "export"], now=1.0)
        second = renew_reviewer(connection, "ana", now=2.0)
        (ana,) = read_reviewers(connection)
        assert (ana.roles, ana.secret_hash) == ({"read", "review", "export"}, hash_of(second))
        assert first != second
        remove_reviewer(connection, "Ana", now=3.0)
        assert read_reviewers(connection) == []
        found = [(each.number, each.noted_at, each.who, each.action) for each in read_entries(connection)]
    actions = ("add reviewer", "renew reviewer", "remove reviewer")
    assert found == [(n, float(n), "spa dashboard", action) for n, action in enumerate(actions, start=1)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ANA", "has a link already"),
        ("\N{FULLWIDTH LATIN CAPITAL LETTER A}na", "has a link already"),
        (" ", "expected a name"),
        ("x" * 101, "expected a name"),
        ("A\N{RIGHT-TO-LEFT OVERRIDE}", "expected a name"),
        ("spa dashboard", "names with spa are those of commands"),
        ("SPA", "names with spa are those of commands"),
    ],
)
def test_names_that_are_no_person_or_somebody_elses_are_refused(store: Store, name: str, said: str) -> None:
    with store.transaction() as connection:
        add_reviewer(connection, "Ana", [], now=1.0)
    with pytest.raises(ResponseError, match=said) as refused, store.transaction() as connection:
        add_reviewer(connection, name, [], now=2.0)
    assert len(str(refused.value)) < 500
    with store.reading() as connection:
        assert len(read_entries(connection)) == len(read_reviewers(connection)) == 1
        assert is_one_of(" ANA ", read_reviewers(connection))


def test_who_has_no_link_is_named_in_what_refuses(store: Store) -> None:
    with store.transaction() as connection:
        add_reviewer(connection, "Ana", [], now=1.0)
        for change in (renew_reviewer, remove_reviewer):
            with pytest.raises(ResponseError, match="'Ben': expected one who has a link of their own: Ana"):
                change(connection, "Ben", now=2.0)


def test_entries_are_kept_as_they_were_said_and_never_changed(store: Store) -> None:
    said = DashboardEntry(noted_at=5.0, who="Ana \udc80\0", action="export", detail="=x.csv")
    with store.transaction() as connection:
        add_entry(connection, said)
        add_entry(connection, said)
    for words in ("UPDATE dashboard_log SET action = 'add reviewer'", "DELETE FROM dashboard_log"):
        with sqlite3.connect(store.name) as connection, pytest.raises(sqlite3.IntegrityError, match="only added to"):
            connection.execute(words)
        connection.close()
    with store.reading() as connection:
        found = read_entries(connection)
    assert [(each.number, each.who, each.detail) for each in found] == [(n, said.who, said.detail) for n in (1, 2)]
    assert [line.when for line in both_logs(found, [])] == ["1970-01-01T00:00:05+00:00"] * 2


@pytest.mark.parametrize("wrong", [{"who": " "}, {"action": "look"}])
def test_an_entry_that_says_nothing_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ResponseError, match="dashboard log: expected"):
        DashboardEntry(**{"noted_at": 1.0, "who": "Ana", "action": "export", **wrong})  # type: ignore[arg-type]
