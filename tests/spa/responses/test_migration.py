"""Stores that earlier versions wrote: everything in them is there afterwards, wherever the process dies."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, insert, inspect, text
from sqlalchemy.pool import NullPool

from spa.commands.workspace import open_workspace
from spa.elicitation.spa import PreferenceTarget
from spa.errors import ResponseError
from spa.journal import Journal
from spa.records.submission import Missing, Response
from spa.responses.admission import NoneLeft
from spa.responses.database import parse_target
from spa.responses.decisions import Decision, add_decision
from spa.responses.leases import Lease
from spa.responses.store import Store
from spa.responses.store_schema import adapted, metadata
from spa.study.load import former_fingerprints, load_study, study_fingerprint
from tests.spa.forks import FORKS, load_before, open_and_die, open_with_others
from tests.spa.hand_made import ASKED
from tests.spa.responses.test_store import draws, submission_of
from tests.spa.small_study import PEOPLE, STUDY, write_study
from tests.spa.store_steps import complete, lease_assignment, lease_for_rater, save_payload

# The tables as each version made them; {serial} and {bytes} are spelled as the database does
ASSIGNMENT = "assignment_id VARCHAR NOT NULL REFERENCES assignments (assignment_id)"
OF_VISIT = "submission_id VARCHAR NOT NULL REFERENCES submissions (submission_id)"
SUBMISSIONS = f"""number {{serial}}, submission_id VARCHAR NOT NULL UNIQUE, {ASSIGNMENT}, annotator_id VARCHAR NOT NULL,
    annotator_kind VARCHAR NOT NULL, source VARCHAR NOT NULL, leased_at FLOAT NOT NULL, completed_at FLOAT,
    completion_code VARCHAR, seconds FLOAT, """
CALL = "kind VARCHAR NOT NULL, scope VARCHAR NOT NULL, key VARCHAR NOT NULL, attempt INTEGER NOT NULL"
CALL_UNIQUE = "UNIQUE (kind, scope, key, attempt)"
ANSWERS = """submission INTEGER REFERENCES submissions (number), place INTEGER, question_id VARCHAR NOT NULL,
    target TEXT NOT NULL, raw {bytes}, number FLOAT, choice TEXT, missing_reason {reason},
    PRIMARY KEY (submission, place)"""
FIRST = {
    "meta": "name VARCHAR PRIMARY KEY, value TEXT NOT NULL",
    "assignments": "assignment_id VARCHAR PRIMARY KEY, number INTEGER NOT NULL UNIQUE, record TEXT NOT NULL",
    "blinding": f"{ASSIGNMENT} PRIMARY KEY, record TEXT NOT NULL",
    "tokens": "number {serial}, token VARCHAR NOT NULL UNIQUE",
    "submissions": f"{SUBMISSIONS} seat VARCHAR NOT NULL, UNIQUE (assignment_id, seat)",
    "payloads": f"number {{serial}}, {OF_VISIT}, page_id VARCHAR NOT NULL, body {{bytes}} NOT NULL, "
    "received_at FLOAT NOT NULL",
    "answers": ANSWERS.replace("{reason}", "TEXT"),
    "attempts": f"""rater_id VARCHAR, {ASSIGNMENT}, attempt INTEGER, requested_at FLOAT NOT NULL,
        request {{bytes}} NOT NULL, response {{bytes}}, outcome TEXT NOT NULL, seconds FLOAT, prompt_tokens INTEGER,
        completion_tokens INTEGER, PRIMARY KEY (rater_id, assignment_id, attempt)""",
}
TOKENS = {"tokens": f"{FIRST['tokens']}, personal BOOLEAN NOT NULL"}
ONE = FIRST | TOKENS | {"answers": ANSWERS.replace("{reason}", "{bytes}")}
JOURNAL = {
    "journal": f"""number {{serial}}, {CALL}, request {{bytes}} NOT NULL, begun_at FLOAT NOT NULL,
        outcome TEXT NOT NULL, response {{bytes}}, finished_at FLOAT, facts TEXT NOT NULL, {CALL_UNIQUE}"""
}
TWO = {name: columns for name, columns in ONE.items() if name != "attempts"} | {
    "submissions": f"{SUBMISSIONS} asked TEXT, seat VARCHAR NOT NULL, UNIQUE (assignment_id, seat)",
    **JOURNAL,
}
DECISIONS = {
    "decisions": f"""number {{serial}}, {OF_VISIT}, action VARCHAR NOT NULL, reviewer {{bytes}} NOT NULL,
        decided_at FLOAT NOT NULL, rule {{bytes}}, note {{bytes}}, amount VARCHAR, undoes INTEGER"""
}
THREE = (
    TWO
    | DECISIONS
    | {
        "tokens": f"{TOKENS['tokens']}, submission_id VARCHAR",
        "people": "annotator_id VARCHAR PRIMARY KEY, source VARCHAR NOT NULL, external_person VARCHAR, "
        "first_seen FLOAT NOT NULL",
        "submissions": f"""{SUBMISSIONS} asked TEXT, seat VARCHAR, external_id VARCHAR,
        session INTEGER NOT NULL DEFAULT 1, people_group VARCHAR, minutes_allowed FLOAT, deadline FLOAT,
        released_at FLOAT, release_reason VARCHAR,
        consented_at FLOAT, consent_hash VARCHAR, outcome VARCHAR, extra BOOLEAN NOT NULL DEFAULT false,
        UNIQUE (assignment_id, seat), UNIQUE (source, external_id)""",
    }
)
FOUR = THREE | {
    "places": f"{ASSIGNMENT} PRIMARY KEY, number INTEGER NOT NULL, people INTEGER NOT NULL DEFAULT 0",
}
LAST = FOUR | {
    "journal": f"""number {{serial}}, {CALL}, begun_at FLOAT NOT NULL, outcome TEXT NOT NULL, finished_at FLOAT,
        facts TEXT NOT NULL, request {{bytes}} NOT NULL, response {{bytes}}, {CALL_UNIQUE}"""
}
SIX = LAST | {
    "adapted": f"{ASSIGNMENT} PRIMARY KEY, left_out TEXT, dealt TEXT, published BOOLEAN NOT NULL DEFAULT false",
}
INDEXES = {  # of those whose names are still in use
    "ix_submissions_annotator_id": "submissions (annotator_id)",
    "ix_payloads_submission_id": "payloads (submission_id)",
    "ix_submissions_outcome": "submissions (outcome)",
    "ix_decisions_submission_id": "decisions (submission_id)",
    "places_least_answered": "places (people, number)",
}
WRITTEN = {
    "1, first": (1, FIRST),
    "1, personal tokens": (1, FIRST | TOKENS),
    "1": (1, ONE),
    "2, first": (2, TWO),
    "2": (2, TWO | DECISIONS),
    "3": (3, THREE),
    "4, first": (4, FOUR),
    "4": (4, LAST),
    "5": (5, LAST),
    "6": (6, SIX),
}
LABEL = PreferenceTarget(label_x="A", label_y="B", exposure=5, criterion="overall", asked_first=True)
SAID = (
    Response(question_id="q1", target=LABEL, value=0.7, raw="70"),
    Missing(question_id="q2", target=LABEL, reason="no number in 'Łódź'", raw="\ud800\x00"),
)
Rows = dict[str, list[dict[str, Any]]]


def come(store: Store, token: str) -> Lease:
    return lease_assignment(store, store.keyed(token), source="link", annotator_kind="human", token=token)


def answer(store: Store, version: int) -> None:
    """Let people and a rater come, so that all tables have rows, as far as the version could keep them."""
    visits = [come(store, token) for token in (*store.tokens()[:2], store.new_token())]
    for visit in visits[:2]:
        save_payload(store, visit.submission_id, "p1", '{"q1": "70\x00\ud800"}')
    complete(store, submission_of(visits[0], *SAID), completion_code="CODE")
    rater = lease_for_rater(store, "gpt", "a00003", ASKED)
    journal = Journal(store)
    for outcome, body in (("http_503", None), ("ok", "it said \x00")):
        begun = journal.begin("llm", rater.submission_id, "form", '{"messages": []}')
        journal.finish(begun, outcome, response=body, completion_tokens=2, prompt_tokens=9)
    complete(store, replace(submission_of(rater, *SAID), asked=ASKED), completion_code="rater")
    if version > 2:
        visit = store.visits.admit(source="prolific", person="P", external_id="E", now=5.0)
        store.visits.release(visit.submission_id, "returned", now=6.0)
        decision = Decision(submission_id=visits[0].submission_id, action="approve", reviewer="R", decided_at=1.5)
        with store.transaction() as connection:
            add_decision(connection, decision)
    if version > 5:
        with store.transaction() as connection:  # the rater began a00003 when it was so
            rows = [("a00003", "people"), ("a00003", "llm"), ("a00004", "people")]
            seen = [{"assignment_id": name, "respondents": who, "left_out": '[["B", "A"]]'} for name, who in rows]
            connection.execute(insert(adapted), seen)
    with store.transaction() as connection:  # times that are sums of their parts
        connection.execute(text("UPDATE journal SET begun_at = number"))
        connection.execute(text("UPDATE journal SET finished_at = number + 0.5 WHERE finished_at IS NOT NULL"))


@contextmanager
def connected(database: str) -> Iterator[Connection]:
    where = parse_target(database)
    engine = create_engine(where.url or f"sqlite:///{where.path}", poolclass=NullPool)
    with engine.begin() as connection:
        yield connection


def rows_of(database: str, tables: Iterable[str] = tuple(metadata.tables)) -> Rows:
    """Return all rows as they lie in the database."""
    with connected(database) as connection:
        queries = {name: text(f"SELECT * FROM {name} ORDER BY 1, 2") for name in tables}
        return {name: [dict(row) for row in connection.execute(query).mappings()] for name, query in queries.items()}


def as_written(rows: Rows, version: int) -> Rows:
    """Return the rows of a store as an earlier version would have written them."""
    old = {name: [dict(row) for row in kept] for name, kept in rows.items()}
    old["meta"] = [row | ({"value": str(version)} if row["name"] == "schema" else {}) for row in old["meta"]]
    old["adapted"] = [row for row in old["adapted"] if row["respondents"] == "people"]
    if version < 3:
        for visit in old["submissions"]:
            visit["seat"] = visit["seat"].replace("person 1", "person")
    if version < 2:
        for visit in old["submissions"]:
            visit["seat"] = visit["seat"].removesuffix("/1")
            visit["submission_id"] = visit["submission_id"].replace("gpt/1/", "gpt/")
        old["attempts"] = [
            {
                **dict(zip(("rater_id", "assignment_id"), call["scope"].split("/1/"), strict=True)),
                **{name: call[name] for name in ("attempt", "request", "response", "outcome")},
                "requested_at": call["begun_at"],
                "seconds": None if call["finished_at"] is None else call["finished_at"] - call["begun_at"],
                **json.loads(call["facts"]),
            }
            for call in old["journal"]
        ]
    return old


def write_down(database: str, name: str) -> Rows:
    """Put the rows of a store into the tables of a version, and return the rows that its migration must give."""
    version, tables = WRITTEN[name]
    expected = rows_of(database)
    if version == 1:  # nobody noted how raters were asked
        for visit in expected["submissions"]:
            visit["asked"] = None
    old = as_written(expected, version)
    with connected(database) as connection:
        postgres = connection.dialect.name == "postgresql"
        metadata.drop_all(connection)
        for table, columns in tables.items():
            columns = columns.replace("{serial}", "SERIAL PRIMARY KEY" if postgres else "INTEGER PRIMARY KEY")
            columns = columns.replace("{bytes}", "BYTEA" if postgres else "BLOB")
            connection.execute(text(f"CREATE TABLE {table} ({columns})"))
            there = {column["name"] for column in inspect(connection).get_columns(table)}
            for row in old[table]:
                kept = {column: value for column, value in row.items() if column in there}
                if "missing_reason TEXT" in columns and kept["missing_reason"] is not None:
                    kept["missing_reason"] = bytes(kept["missing_reason"]).decode()
                values = ", ".join(f":{column}" for column in kept)
                connection.execute(text(f"INSERT INTO {table} ({', '.join(kept)}) VALUES ({values})"), kept)
        for index, on in INDEXES.items():
            table, _, columns = on.partition(" ")
            if set(columns.strip("()").split(", ")) <= columns_of(connection, table):
                connection.execute(text(f"CREATE INDEX {index} ON {on}"))
    return expected


def columns_of(connection: Connection, table: str) -> set[str]:
    there = inspect(connection)
    return {column["name"] for column in there.get_columns(table)} if there.has_table(table) else set()


def old_store(database: str, name: str) -> Rows:
    """Write a store of a version with five assignments, and return the rows that its migration must give."""
    with Store.create(database) as store:
        store.assignments.save("fingerprint", draws(5), seed=3)
        answer(store, WRITTEN[name][0])
    return write_down(database, name)


@pytest.mark.parametrize("name", WRITTEN)
def test_migration_from_any_version_is_complete(database: str, name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A store of any version has everything after it was migrated."""
    expected = old_store(database, name)
    Store.open(database, read_only=True).close()
    assert rows_of(database) == expected
    version, path = name[0], Path(database)
    kept = path.with_name(f"study.version-{version}.sqlite") if path.is_file() else f"schema version_{version}"
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert f"from version {version} to 7; the old one is kept as {kept}" in said[0]
    if isinstance(kept, Path):
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        with contextlib.closing(sqlite3.connect(kept)) as copy:
            assert copy.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() == (version,)
            assert copy.execute("SELECT count(*) FROM payloads").fetchone() == (2,)
    with Store.open(database) as store:
        assert len(caplog.records) == 1
        assert [row["people"] for row in expected["places"]] == [1, 1, 1, 0, 0]
        first, second, door, *_ = (token for token in store.tokens() if token)
        assert [come(store, token).assignment_id for token in (first, second)] == ["a00001", "a00002"]
        assert come(store, store.tokens()[5]).assignment_id == "a00003"
        assert [come(store, store.new_token()).assignment_id for _ in range(2)] == ["a00004", "a00005"]
        with pytest.raises(NoneLeft):
            come(store, door)
        assert [(each.annotator_kind, each.answers) for each in store.submissions()] == [("human", SAID), ("llm", SAID)]
        assert [call.outcome for call in Journal(store).every("llm")] == ["http_503", "ok"]
        save_payload(store, come(store, second).submission_id, "p2", "{}")


def in_a_process(work: Callable[..., None], *arguments: object) -> int | None:
    """Run something in a process of its own and return how that ended."""
    load_before()
    process = FORKS.Process(target=work, args=arguments)
    process.start()
    process.join(60)
    assert not process.is_alive(), "expected an end within a minute"
    return process.exitcode


def test_migration_killed_leaves_old_or_new_store(database: str) -> None:
    """A process kills itself before its first statement, before a later one, and so on until it gets through."""
    expected, statement = old_store(database, "3"), 0
    before = rows_of(database, THREE)
    while in_a_process(open_and_die, database, statement) == -signal.SIGKILL:
        with connected(database) as connection:
            version = connection.scalar(text("SELECT value FROM meta WHERE name = 'schema'"))
        if version == "3":
            assert rows_of(database, THREE) == before
        else:
            assert rows_of(database) == expected
        statement += 5
    assert statement > 40
    assert rows_of(database) == expected
    for copy in Path(database).parent.glob("study.version-3*.sqlite"):
        assert rows_of(str(copy), THREE) == before


def test_migration_by_one_of_several_processes(database: str) -> None:
    """Of processes that open an old store at once one migrates it."""
    expected = old_store(database, "3")
    load_before()
    start = FORKS.Barrier(4)
    processes = [FORKS.Process(target=open_with_others, args=(database, start)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert rows_of(database) == expected
    if Path(database).is_file():
        assert [path.name for path in Path(database).parent.glob("*version*")] == ["study.version-3.sqlite"]


def test_migration_refuses_store_in_use(tmp_path: Path) -> None:
    """A store that is in use is not migrated and no copy is overwritten."""
    path = tmp_path / "study.sqlite"
    expected = old_store(str(path), "4")
    (tmp_path / "study.version-4.sqlite").write_text("kept")
    with contextlib.closing(sqlite3.connect(path)) as server:
        server.execute("PRAGMA journal_mode = WAL")
        server.execute("SELECT * FROM meta").fetchall()
        with pytest.raises(
            ResponseError, match=r"study\.sqlite: migrating it to version 7: .* locked by another program"
        ):
            Store.open(path, wait=0.05)
    Store.open(path).close()
    assert rows_of(str(path)) == expected
    assert (tmp_path / "study.version-4.sqlite").read_text() == "kept"
    assert (tmp_path / "study.version-4.2.sqlite").is_file()


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("8", "expected a store of version 7 or earlier, got version 8 of a newer spa-eval; upgrade"),
        ("new", "got 'new'; name a store that spa-eval made"),
        (None, "got none; name a store that spa-eval made"),
    ],
)
def test_a_store_of_a_version_that_is_not_known_is_refused(tmp_path: Path, version: str | None, said: str) -> None:
    path = tmp_path / "study.sqlite"
    Store.create(path).close()
    with connected(str(path)) as connection:
        connection.execute(text("DELETE FROM meta WHERE name = 'schema'"))
        if version is not None:
            connection.execute(text("INSERT INTO meta VALUES ('schema', :version)"), {"version": version})
    with pytest.raises(ResponseError, match=said):
        Store.open(path)
    assert [each.name for each in tmp_path.glob("*version*")] == []


def test_migrated_stores_recognise_their_study(tmp_path: Path) -> None:
    """The hashes are those that each version worked out; a key that is new and not used must change none of them."""
    path = write_study(tmp_path, STUDY.replace(PEOPLE, "people.annotators = 6"))
    study = load_study(path)
    assert study_fingerprint(study) == "66820d49e9611524f77383d4d5472057d51ca61b60a1f3543ef437ab1c2f0759"  # 3 and 4
    assert list(former_fingerprints(path, study)) == [
        "d0533a0914fc2447ad75e9e483ecd254ae8fd37977173aec64f7a728d397e91e",  # 2
        "157ca8f9e8c11e06e2a6c0dafa4d832f8eb51db7f9a9200a77d39d61d08e8d46",  # the first of 2
        "296748652a6908d31e89e122e19b05e5cdbeeda8f37c92425929193218b77663",  # 1
    ]
    for fingerprint in former_fingerprints(path, study):
        with Store.create(tmp_path / f"{fingerprint}.sqlite") as store:
            store.assignments.save(fingerprint, draws(1))
        open_workspace(path, store.name).close()
