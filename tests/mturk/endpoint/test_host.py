"""What the host meets: keys, stores that are none, an emulator that stays at home; what goes on without requests."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi import FastAPI, Request
from sqlalchemy import text

from mturk.endpoint.errors import MTurkRequestError, refused
from mturk.endpoint.keys import load_host_key, secret_access_key
from mturk.endpoint.schema import metadata
from mturk.endpoint.store import open_store
from mturk.endpoint.webhooks import ticking
from spa.cli import main
from spa.errors import PlatformError, ResponseError
from spa.server.http_server import serve_on_loopback
from tests.mturk.emulated import emulator

PATIENCE = 60.0  # seconds; a busy machine is no defect


def test_endpoint_time_passes_without_requests(tmp_path: Path) -> None:
    """Time passes and events are delivered without any request."""
    taken: list[bytes] = []
    app = FastAPI()

    async def take(request: Request) -> None:
        taken.append(await request.body())

    app.add_api_route("/", take, methods=["POST"], response_model=None)
    with serve_on_loopback(app) as url, emulator(tmp_path / "lab.sqlite", private_hooks=True) as place:
        hit = place.hit(LifetimeInSeconds=60)
        spec = {"Destination": url, "Transport": "SQS", "Version": "2006-05-05", "EventTypes": ["HITExpired"]}
        place.client.update_notification_settings(HITTypeId=hit["HITTypeId"], Notification=spec)
        with ticking(place.endpoint, place.host_key, seconds=0.02):
            place.clock.move(60)  # nobody asks anything from here on
            deadline = time.monotonic() + PATIENCE
            while not taken and time.monotonic() < deadline:
                time.sleep(0.01)
    assert len(taken) == 1
    assert hit["HITId"].encode() in taken[0]


def test_the_host_key_is_the_hosts_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = str(tmp_path / "lab.sqlite")
    with pytest.raises(PlatformError, match="expected the host key"):
        load_host_key(store)
    key = load_host_key(store, create=True)
    assert load_host_key(store, create=True) == key
    place = tmp_path / "lab.sqlite.key"
    assert place.stat().st_mode & 0o777 == 0o600
    place.chmod(0o644)
    with pytest.raises(PlatformError, match="chmod 600"):
        load_host_key(store)
    place.chmod(0o600)
    place.write_text("short")
    with pytest.raises(PlatformError, match="64 hexadecimal digits") as told:
        load_host_key(store)
    assert "short" not in str(told.value)
    monkeypatch.setenv("MTURK_ENDPOINT_KEY", "ab" * 32)
    assert load_host_key(store) == bytes.fromhex("ab" * 32)
    monkeypatch.delenv("MTURK_ENDPOINT_KEY")
    with pytest.raises(PlatformError, match="MTURK_ENDPOINT_KEY is not set"):
        load_host_key("postgresql+psycopg://host/name", create=True)
    assert secret_access_key(key, "SPAKA") != secret_access_key(key, "SPAKB")


def test_what_is_no_store_of_an_endpoint_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(ResponseError, match="no such store; `spa mturk keys add`"),
        open_store(tmp_path / "absent.sqlite"),
    ):
        pass
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("create table t (x)")
    connection.close()
    with pytest.raises(ResponseError, match="no such tables"), open_store(other, create=True):
        pass
    made = tmp_path / "made.sqlite"
    with open_store(made, create=True) as store:
        store.call(
            lambda connection: connection.execute(text("update endpoint_meta set value = '99' where name = 'version'"))
        )
    with pytest.raises(ResponseError, match="version 2 or earlier, got version 99"), open_store(made):
        pass


def test_endpoint_store_migrated_from_version_1(tmp_path: Path) -> None:
    """It had other indexes; its rows are those of today."""
    path = tmp_path / "lab.sqlite"
    with emulator(path) as place:
        place.hit(Title="Łódź")
    queries = [f"SELECT * FROM {table} ORDER BY 1" for table in metadata.tables]
    indexes = "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY 1"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        before = [connection.execute(query).fetchall() for query in (*queries, indexes)]
        connection.execute("DROP INDEX hits_open")
        connection.execute("DROP INDEX assignments_of_both")
        connection.execute("CREATE INDEX hits_offered ON hits (hit_type_id, status, number)")
        connection.execute("UPDATE endpoint_meta SET value = '1' WHERE name = 'version'")
    with open_store(path) as store:
        store.call(lambda connection: connection.execute(text("UPDATE hits SET reviewing = reviewing")))
    with closing(sqlite3.connect(path)) as connection:
        assert [connection.execute(query).fetchall() for query in (*queries, indexes)] == before
    assert (tmp_path / "lab.version-1.sqlite").is_file()


def test_one_mistake_undoes_itself_and_nothing_else(tmp_path: Path) -> None:
    """Of calls that share a transaction each stands for itself, also where one fails in a way nobody foresaw."""
    with open_store(tmp_path / "lab.sqlite", create=True) as store:
        keep = "insert into endpoint_meta values (:name, 'x')"

        def good(name: str):  # type: ignore[no-untyped-def]
            return lambda connection: connection.execute(text(keep), {"name": name}).rowcount

        def refusing(connection) -> None:  # type: ignore[no-untyped-def]
            good("refused")(connection)
            raise refused("InvalidHITState", "no")

        def failing(connection) -> None:  # type: ignore[no-untyped-def]
            good("failed")(connection)
            raise KeyError("nobody foresaw this")

        held = store.submit(lambda connection: time.sleep(0.2))  # what comes next waits together
        calls = [store.submit(work) for work in (good("a"), refusing, good("b"), failing, good("c"))]
        held.result()
        assert [calls[number].result() for number in (0, 2, 4)] == [1, 1, 1]
        with pytest.raises(MTurkRequestError):
            calls[1].result()
        with pytest.raises(KeyError):
            calls[3].result()
        names = store.call(lambda connection: set(connection.scalars(text("select name from endpoint_meta"))))
        assert names == {"version", "secret", "a", "b", "c"}


def test_an_emulator_stays_at_home(tmp_path: Path) -> None:
    command = ["mturk", "serve", str(tmp_path / "lab.sqlite"), "--emulate", "--host", "0.0.0.0"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "expected --host 127.0.0.1" in result.output
    assert not (tmp_path / "lab.sqlite").exists()
