"""oTree: demo sessions, bots, unopened places; zeros of pages whose time ran out."""

from __future__ import annotations

from pathlib import Path

import pytest

from spa.errors import SpaError
from spa.importers import format_of
from spa.importers.answer_format import Fit, ImportRequest
from spa.importers.tables import ImportedTables

HEAD = "participant.code,participant.label,participant._is_bot,participant._index_in_pages,participant.visited"
HEAD += ",session.is_demo,app.1.player.item,app.1.player.system,app.1.player.fluency"
COLUMNS = 'item_column = "app.1.player.item", system_column = "app.1.player.system"'
QUESTIONS = f'questions = [{{ column = "app.1.player.fluency", {COLUMNS} }}]\n'
PAGES = "session_code,participant_id_in_session,participant_code,page_index,app_name,page_name,round_number"
PAGES += ",timeout_happened"


def read(folder: Path, *rows: str, pages: str | None = None, mapping: str = QUESTIONS) -> ImportedTables:
    wide, toml, times = (folder / name for name in ("wide.csv", "import.toml", "PageTimes.csv"))
    wide.write_text("\n".join((HEAD, *rows)) + "\n")
    toml.write_text(mapping)
    options = {}
    if pages is not None:
        times.write_text(f"{PAGES}\n{pages}\n")
        options = {"page_times": times}
    assert format_of("otree").recognise(wide) == Fit.CERTAIN
    return format_of("otree").read(ImportRequest(paths=(wide,), mapping=toml, options=options))


def test_rows_of_nobody_leave(tmp_path: Path) -> None:
    """Systems stand in columns of each round; people are their codes."""
    found = read(
        tmp_path,
        "ana,,0,3,1,0,i1,north,4",
        "bo,,1,3,1,0,i1,north,1",
        "cy,,0,3,1,1,i1,north,1",
        "di,,0,0,0,0,i2,south,",
        "ed,,0,3,1,0,i2,south,2",
    )
    names = ("annotator_id", "item_id", "system", "score")
    assert [tuple(row[name] for name in names) for row in found.rows["ratings"]] == [
        ("ana", "i1", "north", 4),
        ("ed", "i2", "south", 2),
    ]
    assert found.skipped == {"rows of demo sessions": 1, "rows of bots": 1, "rows of places that nobody opened": 1}


def test_zeros_of_pages_whose_time_ran_out(tmp_path: Path) -> None:
    rows = ("ana,,0,3,1,0,i1,north,0", "bo,,0,3,1,0,i1,north,0")
    assert any("2 cells of 0 may stand for pages whose time ran out" in note for note in read(tmp_path, *rows).notes)
    found = read(tmp_path, *rows, pages="s,1,ana,1,app,Rate,1,1\ns,2,bo,1,app,Rate,1,0")
    assert {row["annotator_id"]: (row["score"], row.get("missing_reason")) for row in found.rows["ratings"]} == {
        "ana": (None, "page timed out"),
        "bo": (0, None),
    }


def test_demo_sessions_alone_are_refused_unless_named(tmp_path: Path) -> None:
    row = "ana,,0,3,1,1,i1,north,4"
    with pytest.raises(SpaError, match="expected rows of people, got 1 of demo sessions"):
        read(tmp_path, row)
    found = read(tmp_path, row, mapping=f'keep = {{ "session.is_demo" = ["1"] }}\n{QUESTIONS}')
    assert [one["score"] for one in found.rows["ratings"]] == [4]


def test_rounds_with_pages_in_time_are_told(tmp_path: Path) -> None:
    """Which page asked a question is in no export; pages on which people wait ask none."""
    rows = ("ana,,0,3,1,0,i1,north,0", "bo,,0,3,1,0,i1,north,0")
    pages = "s,1,ana,1,app,Rate,1,1\ns,1,ana,2,app,Thanks,1,0\ns,2,bo,1,app,Rate,1,1"
    found = read(tmp_path, *rows, pages=pages)
    assert [row["missing_reason"] for row in found.rows["ratings"]] == ["page timed out"] * 2
    assert sum("1 cells of 0 that are missing" in note for note in found.notes) == 1
    waiting = "\n".join(f"{line},{int('Thanks' in line)}" for line in pages.splitlines())
    (tmp_path / "waiting").mkdir()
    head = f"{PAGES},is_wait_page"
    times = tmp_path / "waiting" / "PageTimes.csv"
    times.write_text(f"{head}\n{waiting}\n")
    request = ImportRequest(
        paths=(tmp_path / "wide.csv",), mapping=tmp_path / "import.toml", options={"page_times": times}
    )
    assert not any("cells of 0" in note for note in format_of("otree").read(request).notes)
