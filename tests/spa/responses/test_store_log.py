"""A store's log: what a copy of the file alone says, and that the last who writes leaves everything in the file."""

from __future__ import annotations

import gc
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import Column, MetaData, String, Table

from spa.cli import main
from spa.errors import ResponseError
from spa.responses.log_mark import has_log, log_of
from spa.responses.store import Store
from tests.spa.small_study import write_study


def test_a_copy_of_the_file_alone_says_that_answers_are_missing(tmp_path: Path) -> None:
    place, copy = tmp_path / "study.sqlite", tmp_path / "copies" / "study.sqlite"
    copy.parent.mkdir()
    with Store.create(place) as store:
        store.set_meta("answer", "7")
        shutil.copy(place, copy)
        for read_only in (True, False, True):  # opening it does not silence it
            with pytest.raises(ResponseError, match=r"expected study\.sqlite-wal beside it, got none") as told:
                Store.open(copy, read_only=read_only)
        assert len(str(told.value)) < 500
        shutil.copy(log_of(place), log_of(copy))
        with Store.open(copy, read_only=True) as whole:
            assert whole.meta("answer") == "7"


def test_a_store_that_everybody_closed_can_be_copied_alone(tmp_path: Path) -> None:
    place, copy = tmp_path / "study.sqlite", tmp_path / "copy.sqlite"
    with Store.create(place) as store, Store.open(place) as other, Store.open(place, read_only=True) as reader:
        store.set_meta("answer", "7")
        other.set_meta("more", "8")
        reader.meta("answer")
    assert not has_log(place)
    shutil.copy(place, copy)
    with Store.open(copy) as opened:
        assert (opened.meta("answer"), opened.meta("more")) == ("7", "8")


@pytest.mark.parametrize("first", [0, 1])
def test_store_first_writer_to_close_leaves_it_open(tmp_path: Path, first: int) -> None:
    """The first of two writers to close does not say that the file is complete."""
    place, copy = tmp_path / "study.sqlite", tmp_path / "copy.sqlite"
    Store.create(place).close()
    both = [Store.open(place), Store.open(place)]
    for store in both:
        store.set_meta("answer", "7")
    both[first].close()
    both[1 - first].set_meta("answer", "8")
    shutil.copy(place, copy)
    with pytest.raises(ResponseError, match="latest answers are missing"):
        Store.open(copy)
    both[1 - first].close()
    with Store.open(place) as opened:
        assert opened.meta("answer") == "8"


def test_readers_beside_a_writer_and_after_it_are_not_alarmed(tmp_path: Path) -> None:
    place = tmp_path / "study.sqlite"
    Store.create(place).close()
    writer = Store.open(place)
    with Store.open(place, read_only=True) as before:
        writer.set_meta("answer", "7")
        with before.reading() as connection:  # holds what it saw
            connection.exec_driver_sql("SELECT * FROM meta").fetchall()
            writer.close()
        with Store.open(place, read_only=True) as beside:
            assert beside.meta("answer") == "7"
    with Store.open(place) as after:
        assert after.meta("answer") == "7"


def test_store_is_closed_when_garbage_collected(tmp_path: Path) -> None:
    """A store that nobody closed is closed when it is forgotten."""
    place = tmp_path / "study.sqlite"
    store = Store.create(place)
    store.set_meta("answer", "7")
    del store
    gc.collect()
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
    with Store.open(place) as opened:
        assert opened.meta("answer") == "7"


def test_store_moved_with_its_log(tmp_path: Path) -> None:
    """A store moved with its log needs it no longer once it was opened."""
    place, moved = tmp_path / "study.sqlite", tmp_path / "moved.sqlite"
    with Store.create(place) as store:
        store.set_meta("answer", "7")
        shutil.copy(place, moved)
        shutil.copy(log_of(place), log_of(moved))
    Store.open(moved).close()  # nothing is written
    with Store.open(moved, read_only=True) as opened:
        assert opened.meta("answer") == "7"


@pytest.mark.parametrize("in_use", [True, False])
def test_log_of_a_removed_store_enters_no_other(tmp_path: Path, in_use: bool) -> None:
    """SQLite would read it into the file that gets the name, which is damaged then."""
    study = write_study(tmp_path)
    place, backup, away = study.with_suffix(".sqlite"), tmp_path / "backup.sqlite", tmp_path / "away"
    runner = CliRunner()
    assert runner.invoke(main, ["build", str(study)]).exit_code == 0
    assert runner.invoke(main, ["backup", str(study), "--out", str(backup)]).exit_code == 0
    with Store.open(place) as store:
        store.set_meta("answer", "7")
        log = log_of(place).read_bytes()
        place.unlink()
        if not in_use:
            store.close()
            log_of(place).write_bytes(log)  # as where the process was killed
        for words in (["build", study], ["restore", study, "--backup", backup, "--yes"]):
            refused = runner.invoke(main, [str(word) for word in words])
            assert "study.sqlite-wal, or is still in use; end what uses it" in refused.stderr
            assert (refused.exit_code, place.exists()) == (1, False)
    with suppress(FileNotFoundError):
        log_of(place).rename(away)
    assert runner.invoke(main, ["build", str(study)]).exit_code == 0
    Store.open(place).close()


def test_store_second_server_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second server of a store is refused and other commands go on."""
    study = write_study(tmp_path)
    runner, seconds = CliRunner(), []
    assert runner.invoke(main, ["build", str(study)]).exit_code == 0
    (tmp_path / "alias.sqlite").symlink_to(tmp_path / "study.sqlite")

    def while_serving(*_: object, **__: object) -> None:
        for store in ("study.sqlite", "alias.sqlite"):
            seconds.append(runner.invoke(main, ["serve", str(study), "--port", "0", "--store", str(tmp_path / store)]))
        for command in (["status"], ["export", "--out", str(tmp_path / "tables")], ["forget", "--person", "x"]):
            seconds.append(runner.invoke(main, [command[0], str(study), *command[1:]]))

    monkeypatch.setattr("spa.server.http_server.run", while_serving)
    assert runner.invoke(main, ["serve", str(study), "--port", "0"]).exit_code == 0
    for second in seconds[:2]:
        assert second.exit_code == 1
        assert "expected no other server of this store, got one that is running (process " in second.output
    assert [done.exit_code for done in seconds[2:]] == [0, 0, 1]
    assert "expected one person" in seconds[4].output
    monkeypatch.setattr("spa.server.http_server.run", lambda *_, **__: None)
    assert runner.invoke(main, ["serve", str(study), "--port", "0"]).exit_code == 0


def test_store_copies_by_sqlite_are_complete(tmp_path: Path) -> None:
    """What SQLite copies itself is complete and a copy after a table was made is not."""
    place = tmp_path / "study.sqlite"
    made = Table("made_on_demand", MetaData(), Column("name", String))
    with Store.create(place) as store:
        store.set_meta("answer", "7")
        for number in range(2):
            whole, into, alone = (tmp_path / f"{name}{number}.sqlite" for name in ("whole", "into", "alone"))
            with closing(sqlite3.connect(place)) as source, closing(sqlite3.connect(whole)) as target:
                source.backup(target)  # what `sqlite3 FILE .backup` does
                source.execute("VACUUM INTO ?", (str(into),))
            shutil.copy(place, alone)
            for copy in (whole, into):
                with Store.open(copy) as opened:
                    assert opened.meta("answer") == "7"
                Store.open(copy, read_only=True).close()
            with pytest.raises(ResponseError, match="latest answers are missing"):
                Store.open(alone)
            with store.transaction() as connection:
                made.create(connection, checkfirst=True)
        store.scrub()
        store.set_meta("answer", "8")
        shutil.copy(place, tmp_path / "later.sqlite")
        with pytest.raises(ResponseError, match="latest answers are missing"):
            Store.open(tmp_path / "later.sqlite")


def test_store_opens_beside_a_writer_without_a_log(tmp_path: Path) -> None:
    """After a scrub the last connection may have closed, and taken the log away; the file is no copy."""
    place = tmp_path / "study.sqlite"
    with Store.create(place) as store:
        store.set_meta("seed", "1")
        store.scrub()
        store._engine.dispose()
        assert not has_log(place)
        with Store.open(place) as other:
            assert other.meta("seed") == "1"
