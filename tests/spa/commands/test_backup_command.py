"""``spa backup`` and ``spa restore``: a whole store in one file, while others write; put back only where it belongs."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.commands.backup import backup, restore
from spa.errors import SpaError
from spa.responses.run_lock import exclusive_server
from spa.responses.store import Store
from tests.spa.small_study import STUDY, write_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = write_study(tmp_path)
    assert CliRunner().invoke(main, ["build", str(path)]).exit_code == 0
    return path


def run(command: click.Command, *words: str | Path) -> str:
    result = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=True)
    if isinstance(result.exception, SpaError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def store_of(study: Path) -> Path:
    return study.with_suffix(".sqlite")


def test_backup_while_others_write(study: Path) -> None:
    """A backup taken while others write holds everything by itself."""
    before = os.umask(0)
    try:
        with Store.open(store_of(study)) as store:
            store.visits.admit(source="panel", person="ada", external_id="v1", now=1.0)
            facts = json.loads(run(backup, study, "--json"))
            store.visits.admit(source="panel", person="bob", external_id="v2", now=2.0)
    finally:
        os.umask(before)
    (place,) = study.parent.glob("study.backup-*.sqlite")
    assert facts == {"file": str(place), "bytes": place.stat().st_size, "visits": 1, "answers": 0}
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    moved = place.rename(study.parent / "elsewhere.sqlite")
    assert not list(study.parent.glob("*.backup-*"))
    with Store.open(moved) as copy:
        assert [visit.person for visit in copy.visits.of_people()] == ["ada"]
    with pytest.raises(SpaError, match="expected a new store, but the file exists; name another one"):
        run(backup, study, "--out", moved)


def test_a_restore_puts_the_backup_back_and_keeps_what_was_there(study: Path) -> None:
    place = study.parent / "monday.sqlite"
    with Store.open(store_of(study)) as store:
        store.visits.admit(source="panel", person="ada", external_id="v1", now=1.0)
        run(backup, study, "--out", place)
        store.visits.admit(source="panel", person="bob", external_id="v2", now=2.0)
    told = run(restore, study, "--backup", place)
    assert f"backup {place}: 1 visit, 0 answers, " in told
    assert "Nothing has been changed: run again with --yes" in told
    for number in (1, 2):
        told = run(restore, study, "--backup", place, "--yes")
        assert f"is kept as {study.parent / f'study.before-restore-{number}.sqlite'}" in told
        with Store.open(store_of(study)) as restored:
            assert [visit.person for visit in restored.visits.of_people()] == ["ada"]
    with Store.open(study.parent / "study.before-restore-1.sqlite") as kept:
        assert [visit.person for visit in kept.visits.of_people()] == ["ada", "bob"]
    assert place.exists()
    assert stat.S_IMODE(store_of(study).stat().st_mode) == 0o600


def test_a_copy_without_its_log_is_taken_when_it_is_asked_for(study: Path) -> None:
    with Store.open(store_of(study)) as store:
        store.visits.admit(source="panel", person="ada", external_id="v1", now=1.0)
        shutil.copy(store_of(study), study.parent / "copy.sqlite")
    shutil.move(study.parent / "copy.sqlite", store_of(study))
    result = CliRunner().invoke(main, ["status", str(study)])
    assert "the latest answers are missing" in result.output
    assert f"spa restore STUDY --backup {store_of(study)} --yes" in result.output
    assert "copied without its log" in run(restore, study, "--backup", store_of(study), "--yes")
    assert CliRunner().invoke(main, ["status", str(study)]).exit_code == 0


def test_restore_damaged_store_or_backup(study: Path) -> None:
    """A damaged store is replaced and a damaged backup refused."""
    place = study.parent / "monday.sqlite"
    run(backup, study, "--out", place)
    content = place.read_bytes()
    broken = study.parent / "broken.sqlite"
    broken.write_bytes(content[:4096] + b"\xff" * 8192 + content[12288:])
    with pytest.raises(SpaError, match="damaged"):
        run(restore, study, "--backup", broken, "--yes")
    store_of(study).write_bytes(b"no database any more")
    run(restore, study, "--backup", place, "--yes")
    with Store.open(store_of(study), read_only=True) as restored:
        assert len(restored.assignments) == 6
    assert (study.parent / "study.before-restore-1.sqlite").read_bytes() == b"no database any more"


def test_restore_refusals(study: Path, tmp_path: Path) -> None:
    """Nothing is restored under a server an open store or another study."""
    place = tmp_path / "monday.sqlite"
    run(backup, study, "--out", place)
    before = store_of(study).read_bytes()
    with exclusive_server(str(store_of(study))), pytest.raises(SpaError, match="expected no other server"):
        run(restore, study, "--backup", place, "--yes")
    with Store.open(store_of(study)), pytest.raises(SpaError, match="expected that nobody has the store open"):
        run(restore, study, "--backup", place, "--yes")
    with pytest.raises(SpaError, match="no such file"):
        run(restore, study, "--backup", tmp_path / "none.sqlite", "--yes")
    study.write_text(STUDY.replace("seed = 3", "seed = 4"))
    with pytest.raises(SpaError, match="got one of another study"):
        run(restore, study, "--backup", place, "--yes")
    assert store_of(study).read_bytes() == before
    assert not list(tmp_path.glob("*before-restore*"))


@pytest.mark.parametrize("words", [(backup, ()), (restore, ("--backup", "x.sqlite", "--yes"))])
def test_another_database_is_left_to_its_own_program(
    study: Path, postgres_url: str, words: tuple[click.Command, tuple[str, ...]]
) -> None:
    Store.create(postgres_url).close()
    command, more = words
    with pytest.raises(SpaError, match=r"`pg_(dump|restore) "):
        run(command, study, "--store", postgres_url, *more)
