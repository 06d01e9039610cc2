"""Backups of a store in an SQLite file: taken while others write to it, checked, and put in the place of a store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import copymode

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from spa.errors import ResponseError
from spa.responses import database
from spa.responses.log_mark import COMPLETE, has_log, log_of
from spa.responses.store import Store
from spa.responses.store_schema import answers, submissions

OTHERS_WAIT = 2.0  # seconds for which a restore waits until nobody else has the store open


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContents:
    """What a store, or a backup of it, holds."""

    file: str
    bytes: int
    visits: int
    answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore does, or did: the backup that takes the place of the store, and where that is kept."""

    backup: StoreContents
    store: str
    kept: str | None  # None: there was no store
    lacks_log: bool  # the backup is a copy of the file alone, whose latest answers stood in its log


def back_up(store: Store, out: Path) -> StoreContents:
    """Write everything that is in a store now into one new file, checked; others may write to the store meanwhile.

    Raise ResponseError for a store that is no file, if ``out`` exists, or if what was written is damaged.
    """
    if not store.is_file:
        raise ResponseError(
            f"{store.name}: expected a store in an SQLite file, got another database; back it up with its own program, "
            "for PostgreSQL `pg_dump --format=custom --file FILE URL`"
        )
    with database.created_file(out) as temporary:
        _copy(store, temporary)
    return contents(out)


def contents(file: Path) -> StoreContents:
    """Count what is in the file of a store; raise ResponseError if it is damaged."""
    with Store.open(file, read_only=True, alone=True) as store, store.reading() as connection:
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if found != "ok":
            raise ResponseError(f"{file}: expected a whole store, but it is damaged ({found}); use another copy")
        visits, given = (
            connection.scalar(select(func.count()).select_from(each)) or 0 for each in (submissions, answers)
        )
    return StoreContents(file=str(file), bytes=file.stat().st_size, visits=visits, answers=given)


def restore(backup: Path, path: Path, *, fingerprints: Collection[str], apply: bool) -> Restored:
    """Put a backup in the place of a store, which is kept beside it; or only say what it holds unless ``apply``.

    The backup must have one of the study's ``fingerprints``. A copy whose log is missing is taken as it is. Raise
    ResponseError if the backup is damaged or another study's, or somebody has the store open.
    """
    from spa.responses.run_lock import exclusive_server  # there, as a system without its locks can back up all the same

    if not backup.is_file():
        raise ResponseError(f"{backup}: no such file; name what `spa backup` wrote")
    with Store.open(backup, read_only=True, alone=True) as store:
        lacking = store.misses_log(backup)
        if store.fingerprint not in fingerprints:
            raise ResponseError(
                f"{backup}: expected a backup of this study as it is now, got one of another study, or the study has "
                "changed since; name the right file, or undo the change"
            )
    found = contents(backup)
    kept = next(place for place in _names(path) if not os.path.lexists(place)) if path.exists() else None
    if apply:
        with exclusive_server(str(path)), ExitStack() as stack:
            if kept is None:
                database.refuse_left_log(path)
            else:
                _refuse_if_open(path)
            temporary = stack.enter_context(_beside(path))
            with Store.open(backup, read_only=True, alone=True) as store:
                _copy(store, temporary)
            if kept is not None:
                copymode(path, temporary)
                for old, new in ((path, kept), (log_of(path), log_of(kept))):
                    with suppress(FileNotFoundError):
                        old.rename(new)
            temporary.rename(path)
    return Restored(backup=found, store=str(path), kept=None if kept is None else str(kept), lacks_log=lacking)


def _names(path: Path) -> Iterator[Path]:
    return (path.with_name(f"{path.stem}.before-restore-{number}{path.suffix}") for number in range(1, 1_000_000))


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Yield a new file in the folder of a store, which is removed unless it was renamed."""
    temporary = path.with_name(f".{path.name}.restored")
    try:
        temporary.unlink(missing_ok=True)
        temporary.touch(mode=0o600, exist_ok=False)
        yield temporary
    except OSError as error:
        raise ResponseError(
            f"{path}: cannot be written ({error.strerror or error}); see that its folder may be"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _copy(store: Store, file: Path) -> None:
    """Copy what is in a store at one moment, in one file that needs no log."""
    with store.copying() as source, closing(sqlite3.connect(file, isolation_level=None)) as target:
        source.backup(target)
        target.execute(f"PRAGMA user_version = {COMPLETE}")
        target.execute("PRAGMA journal_mode = DELETE")


def _refuse_if_open(path: Path) -> None:
    """Raise ResponseError if somebody has a store open; what its log holds is moved into the file, if that is whole."""
    whole = has_log(path)
    try:
        with database.exclusive_connection(path, wait=OTHERS_WAIT) as connection:
            if whole:
                connection.exec_driver_sql(f"PRAGMA user_version = {COMPLETE}")
    except (DBAPIError, sqlite3.Error) as error:  # one that is damaged is nobody's
        if "locked" in str(error):
            raise ResponseError(
                f"{path}: expected that nobody has the store open, but another program does; close it and try again"
            ) from error
