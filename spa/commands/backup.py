"""``spa backup`` and ``spa restore``: a copy of a study's store, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.commands.options import (
    INPUT,
    json_option,
    out_file_option,
    print_result,
    store_option,
    study_argument,
    yes_option,
)

if TYPE_CHECKING:
    from spa.responses.backups import Restored, StoreContents


@click.command(epilog="Example: spa backup my-study/study.toml --out backups/monday.sqlite")
@study_argument
@out_file_option("New file for the backup. [default: STUDY.backup-TIME.sqlite]")
@store_option
@json_option
def backup(study: Path, out: Path | None, store: str | None, as_json: bool) -> None:
    """Write the store of STUDY as it is now to one new file, also while `spa serve` runs.

    The file holds names and links, is readable by its owner only, and stays as it is when `spa forget`
    deletes a person.
    """
    from datetime import UTC, datetime

    from spa.commands.workspace import default_store
    from spa.responses.backups import back_up
    from spa.responses.store import Store

    place = out or study.with_name(f"{study.stem}.backup-{datetime.now(UTC):%Y%m%d-%H%M%S}.sqlite")
    with Store.open(store or default_store(study), read_only=True) as opened:
        found = back_up(opened, place)
    print_result(found, [f"wrote {_contents(found)}"], as_json=as_json)


@click.command(epilog="Example: spa restore my-study/study.toml --backup backups/monday.sqlite --yes")
@study_argument
@click.option("--backup", type=INPUT, required=True, metavar="FILE", help="What `spa backup` wrote, or a copy.")
@yes_option
@store_option
@json_option
def restore(study: Path, backup: Path, yes: bool, store: str | None, as_json: bool) -> None:
    """Put a backup in the place of the store of STUDY, which is kept beside it under another name.

    Stop `spa serve` first. Nothing is changed without --yes. Also takes a copy whose log is missing,
    without the answers that stood there.
    """
    from dataclasses import asdict

    from spa.commands.workspace import default_store
    from spa.errors import ResponseError
    from spa.responses.backups import restore as restore_store
    from spa.responses.database import parse_target
    from spa.study.load import former_fingerprints, load_study, study_fingerprint

    where = parse_target(store or default_store(study))
    if where.path is None:
        raise ResponseError(
            f"{where.name}: expected a store in an SQLite file, got another database; restore it with its own program, "
            "for PostgreSQL `pg_restore --clean --dbname URL FILE`"
        )
    loaded = load_study(study)
    known = {study_fingerprint(loaded), *former_fingerprints(study, loaded)}
    found = restore_store(backup, where.path, fingerprints=known, apply=yes)
    print_result({**asdict(found), "done": yes}, _restored(found, yes), as_json=as_json)


def _contents(found: StoreContents) -> str:
    counts = {"visit": found.visits, "answer": found.answers, "byte": found.bytes}
    return f"{found.file}: " + ", ".join(f"{count:,} {what}{'s' * (count != 1)}" for what, count in counts.items())


def _restored(found: Restored, done: bool) -> list[str]:
    lines = [f"backup {_contents(found.backup)}"]
    if found.lacks_log:
        lines.append("It was copied without its log: the answers that stood there are not in it.")
    if found.kept is not None:
        lines.append(f"the store that was there {'is' if done else 'will be'} kept as {found.kept}")
    lines.append(f"restored as {found.store}" if done else "Nothing has been changed: run again with --yes")
    return lines
