"""Every format of answers: the same answers in it are the same tables, and one more format is one more module."""

from __future__ import annotations

import ast
import json
import random
import re
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result

from spa import importers
from spa.cli import main
from spa.errors import SpaError
from spa.importers import format_keys, format_of, recognised
from spa.importers.answer_format import Fit, ImportRequest
from tests.parsed_commands import mistake_in
from tests.spa.importers import sample_files
from tests.spa.importers.sample_files import (
    ANSWERS,
    ASKED,
    BY_COLUMNS,
    COMPARED,
    COMPARING,
    ITEMS,
    MAPPED,
    MARKING,
    NAMELESS,
    OF_LLMS,
    PEOPLE,
    SAMPLES,
    TOY,
    csv,
    tally,
)
from tests.test_architecture import modules
from tests.toys import tally_sheets

EVERY = (*format_keys(), TOY)


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "FORMATS", (*importers.FORMATS, tally_sheets.__name__))


def run(*words: object) -> Result:
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done


def imported(key: str, folder: Path, *more: object) -> Result:
    source, *mapping = SAMPLES[key](folder)
    mapped = ["--mapping", *mapping] if mapping else []
    return run("import", key, source, *mapped, *ASKED.get(key, ()), "--out", folder / "out", *more)


@pytest.mark.parametrize("key", EVERY)
def test_a_format_is_called_as_its_module_and_described(key: str) -> None:
    found = format_of(key)
    assert found.key == key
    assert key in SAMPLES, "write ANSWERS as this format keeps them: SAMPLES of tests/spa/importers/sample_files.py"
    lines = found.description.split("\n\n")
    assert len(lines) == 2
    assert len(lines[0]) <= 80
    assert mistake_in(found.example.split()[1:]) is None
    shown = run("import", "--help").output
    assert f"{key} " in shown
    assert lines[0].split(".")[0] in shown


def test_what_files_mean_is_a_table() -> None:
    """A row a format, but for those of which the user says what is meant; nothing breaks out of its cell."""
    told = {key: format_of(key).meaning for key in EVERY if format_of(key).mapping is None}
    assert all(told.values())
    head, line, *rows = importers.markdown_table().splitlines()
    assert {re.sub(r"[^|]", "", row.replace(chr(92) + "|", "")) for row in (head, line, *rows)} == {"|||||||"}
    assert [row.split("`")[1] for row in rows] == [key for key in EVERY if format_of(key).meaning is not None]
    assert all(one is None or one.source.startswith("https://") for one in told.values())


@pytest.mark.parametrize("key", EVERY)
def test_the_same_answers_are_the_same_table(key: str, tmp_path: Path) -> None:
    rows = imported_rows(key, tmp_path)
    found = {tuple(row[name] for name in ("annotator_id", "item_id", "system") if name in row): row for row in rows}
    assert {row["criterion"] for row in rows} == {"overall"}
    if key in COMPARING:
        assert {cell: better(row) for cell, row in found.items()} == COMPARED
        return
    own = {cell: score for cell, score in ANSWERS.items() if key not in NAMELESS or cell[0] == PEOPLE[0]}
    assert len(rows) == len(own)
    theirs = {(cell if key not in NAMELESS else (PEOPLE[0], *cell[1:])): row["score"] for cell, row in found.items()}
    assert theirs == own


@pytest.mark.parametrize("key", EVERY)
def test_sides_order_and_names_change_nothing(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sides swapped in half of the rows, rows shuffled, annotators renamed: the same answers of the same."""
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    before = sorted(map(told, imported_rows(key, tmp_path / "before")))
    dice = random.Random(7)
    renamed = dict(zip(PEOPLE, ("Zoe", "Yan", "Xia"), strict=True))
    back = {name: old for old, name in renamed.items()}
    answers = [((renamed[who], item, system), score) for (who, item, system), score in ANSWERS.items()]
    dice.shuffle(answers)
    pairs = [((renamed[who], item), winner) for (who, item), winner in COMPARED.items()]
    shuffled = {name: tuple(dice.sample(own, len(own))) for name, own in (("ITEMS", ITEMS), ("PEOPLE", [*back]))}
    if key in NAMELESS:
        shuffled["PEOPLE"] = tuple(back)
    for name, value in {**shuffled, "ANSWERS": dict(answers), "COMPARED": dict(pairs)}.items():
        monkeypatch.setattr(sample_files, name, value)
    monkeypatch.setattr(sample_files, "SWAPPED", {cell for cell, _ in pairs[::2]})
    rows = imported_rows(key, tmp_path / "after")
    after = sorted(told(row | {"annotator_id": back.get(row["annotator_id"], row["annotator_id"])}) for row in rows)
    assert after == before


def imported_rows(key: str, folder: Path) -> list[dict[str, Any]]:
    imported(key, folder, "--keep-ids")
    rows = pl.read_csv(folder / "out" / f"{table_of(key)}.csv")
    if key in MARKING:
        points = (5.0 - pl.col("severity").is_not_null().sum()).alias("score")
        rows = rows.group_by("annotator_id", "item_id", "system").agg(points).with_columns(criterion=pl.lit("overall"))
    return rows.to_dicts()


def table_of(key: str) -> str:
    return "spans" if key in MARKING else COMPARING.get(key, "ratings")


def better(row: dict[str, Any]) -> str:
    """Return the better system of a comparison, or tie."""
    words = {1.0: "x", 0.0: "y", 0.5: "tie"}
    winner = row["winner"] if "winner" in row else words[row["preference"]]
    return str({"x": row["system_x"], "y": row["system_y"]}.get(winner, winner))


def told(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what a row says, whichever system stands first; ids of rows and places in a file aside."""
    said = better(row) if "system_x" in row else str(row["score"])
    return (*(str(row.get(name)) for name in ("annotator_id", "item_id", "system", "criterion")), said)


@pytest.mark.parametrize("key", EVERY)
def test_a_format_goes_from_its_file_to_a_report(key: str, tmp_path: Path) -> None:
    """By the command that the import proposes, under pseudonyms."""
    facts = json.loads(imported(key, tmp_path, "--json").output)
    assert facts["key_created"]
    written = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.csv"))
    assert key in OF_LLMS or not any(name in written for name in (*PEOPLE, "Dan"))
    proposed = imported(key, tmp_path).output.splitlines()[-1].removeprefix("next: spa ").split()
    run(*proposed[:-1], tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    asked = "choices" if key in COMPARING else "ratings"
    orders = [one["order"] for one in results["rankings"] if one["source"] == asked]
    assert orders
    assert all(order[0] == ["alpha"] for order in orders)


@pytest.mark.parametrize("key", EVERY)
def test_a_format_knows_its_own_files_and_no_other_ones(key: str, tmp_path: Path) -> None:
    own = SAMPLES[key](tmp_path)[0]
    assert [one.key for one in recognised(own)] == [key]
    for name in ("nothing", "empty.csv", "empty.json", "empty.xml", "hostile.jsonl", "folder"):
        path = tmp_path / name
        path.mkdir() if name == "folder" else path.write_bytes(b"" if "empty" in name else b"\xff\x00[" * 9)
        assert format_of(key).recognise(path) < Fit.CERTAIN
    assert format_of(key).recognise(tmp_path / "absent") == Fit.NONE


@pytest.mark.parametrize("key", EVERY)
def test_a_file_is_read_as_its_format(key: str, tmp_path: Path) -> None:
    """Without a name of a format, with it after the file, and before."""
    own, *mapping = SAMPLES[key](tmp_path)
    more = [*(["--mapping", *mapping] if mapping else []), *ASKED.get(key, ()), "--keep-ids", "--out"]
    said = run("import", own, *more, tmp_path / "found").output
    assert said.splitlines()[0] == f"read as {key}: name another format with --from"
    assert "read as" not in run("import", own, "--from", key, *more, tmp_path / "after").output
    assert "read as" not in run("import", key, own, *more, tmp_path / "named").output
    assert json.loads(run("import", "--from", key, own, *more, tmp_path / "before", "--json").output)["format"] == key
    found, *others = (
        {path.name: path.read_text() for path in (tmp_path / name).glob("*.csv")}
        for name in ("found", "after", "named", "before")
    )
    assert found
    assert others == [found] * 3


def test_a_mapping_says_how_a_table_is_read(tmp_path: Path) -> None:
    """Also one that a format without a mapping knows."""
    (own,) = SAMPLES["jspsych"](tmp_path)
    mapping = tmp_path / "import.toml"
    question = 'questions = [{ column = "response.overall", system_column = "system" }]'
    mapping.write_text(f'annotator = "subject"\nitem = "item"\nkeep = {{ task = ["rate"] }}\n{question}\n')
    said = run("import", own, "--map", mapping, "--keep-ids", "--out", tmp_path / "out").output
    assert said.startswith("read as csv: name another format with --from")
    rows = pl.read_csv(tmp_path / "out" / "ratings.csv").rows(named=True)
    assert {(row["annotator_id"], row["item_id"], row["system"]): row["score"] for row in rows} == ANSWERS


@pytest.mark.parametrize("key", BY_COLUMNS)
def test_a_report_recognises_such_a_file_by_its_columns(key: str, tmp_path: Path) -> None:
    """It says what each column is, and asks what is open."""
    assert format_of(key).recognised_by_columns
    (own,) = SAMPLES[key](tmp_path)
    done = CliRunner().invoke(main, ["report", str(own), "--out", str(tmp_path / "report")])
    assert "read as" not in done.output


@pytest.mark.parametrize("key", [key for key in SAMPLES if key not in (*MAPPED, *BY_COLUMNS, *ASKED)])
def test_a_report_reads_a_file_of_another_tool(key: str, tmp_path: Path) -> None:
    """With the tables that it became beside it, people under pseudonyms, and its name and hash in the results."""
    (own,) = SAMPLES[key](tmp_path)
    said = run("report", own, "--out", tmp_path / "report").output
    assert said.startswith(f"read as {key}: ")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    asked = "choices" if key in COMPARING else "ratings"
    orders = [one["order"] for one in results["rankings"] if one["source"] == asked]
    assert orders
    assert all(order == [["alpha"], ["beta"]] for order in orders)
    (note,) = results["settings"]["inputs"][0]["notes"]
    assert note.startswith(f"made from {own.name}")
    assert note.endswith(f", as {key} keeps answers")
    table = pl.read_csv(tmp_path / "report" / "answers" / f"{table_of(key)}.csv")
    assert key in MARKING or len(table) in {len(ANSWERS), len(COMPARED), len(ANSWERS) // len(PEOPLE)}
    assert key in OF_LLMS or not {*PEOPLE} & {*table["annotator_id"]}
    printed = run("report", own, "--json").stdout
    assert json.loads(printed)["rankings"] == results["rankings"]


@pytest.mark.parametrize("key", ASKED)
def test_a_report_asks_what_no_file_says(key: str, tmp_path: Path) -> None:
    """By the command and the option that say it."""
    line = refused("report", SAMPLES[key](tmp_path)[0], "--out", tmp_path / "report")
    assert f"`spa import {key}`" in line
    assert all(word in line for word in ASKED[key] if word.startswith("--"))


def test_tables_do_not_stand_beside_a_file_of_another_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own, (table, _) = Path(tally(tmp_path)[0].name), csv(Path())
    assert f"{table}: not with {own}, whose answers are as {TOY} keeps them; " in refused("report", own, table)
    assert f"--ratings: not with {own}; " in refused("report", own, "--ratings", table)


def test_a_report_names_the_import_that_needs_a_mapping(tmp_path: Path) -> None:
    folder, *_ = SAMPLES["potato"](tmp_path)
    export = tmp_path / "annotations.csv"
    export.write_text("instance_id,user_id,fluency.4,style.2\ns1,Ana,4,2\n")
    for own in (folder, export):
        line = refused("report", own, "--out", tmp_path / "report")
        assert f"`spa import potato {own} --mapping import.toml --out tables`" in line


def refused(*words: object) -> str:
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code != 0
    (line,) = done.output.splitlines()
    return line


def test_a_file_of_no_format_or_of_several_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a long address would be shortened in a line
    nothing, own, table = Path("notes.txt"), tally(Path())[0], csv(Path())[0]
    nothing.write_text("nothing")
    assert f"{table}: read as csv, which needs a mapping: " in refused("import", table, "--out", "x")
    assert f"{nothing}: expected answers as another tool keeps them (" in refused("import", nothing, "--out", "x")
    line = refused("import", own, "--from", "taly", "--out", "x")
    assert f"--from: expected one of {format_keys()[0]}, " in line
    assert line.endswith("got 'taly'")
    monkeypatch.setattr(importers, "recognised", lambda path: (format_of("csv"), format_of(TOY)))
    assert "say which with --from csv or --from tally-sheets" in refused("import", own, "--out", "x")


@pytest.mark.parametrize("key", [key for key in SAMPLES if key not in MAPPED])
def test_a_damaged_file_is_read_or_one_line(key: str, tmp_path: Path) -> None:
    """Cut off, with bytes changed, nested without end, cells of other kinds: never an error that is none of ours."""
    own, dice = SAMPLES[key](tmp_path)[0], random.Random(3)
    asked = click.Command(key, params=[*format_of(key).options]).make_context(key, [*ASKED.get(key, ())]).params
    path = next(one for one in sorted(own.rglob("*")) if one.is_file()) if own.is_dir() else own
    whole = path.read_bytes()
    damaged = [whole[: len(whole) * part // 7] for part in range(7)]
    for _ in range(12):
        changed = bytearray(whole)
        for at in dice.sample(range(len(changed)), 3):
            changed[at] = dice.choice(b'\x00\xff"[]{},:9\n')
        damaged.append(bytes(changed))
    junk = (b"[]", b"{}", b"null", b"-1", b'"\\ud800"')
    damaged += [re.sub(rb'"[a-z]\w*"(?=[,}])', lambda _, one=one: one, whole) for one in junk]
    damaged += [whole[:20] + b"[" * 100_000, b"[" * 100_000, b"{}", b"[]", b"[[]]", b"[1]", b"null", b"", b"\n"]
    for content in damaged:
        path.write_bytes(content)
        format_of(key).recognise(own)
        lines = []
        try:
            format_of(key).read(ImportRequest(paths=(own,), options={"criterion": "overall", **asked}))
        except SpaError as error:
            lines = str(error).splitlines()
        assert all(len(line) < 500 for line in lines)


def test_rejected_answers_stand_apart_and_are_counted(tmp_path: Path) -> None:
    said = imported("mturk", tmp_path).output
    assert "skipped: 1 of rejected submissions" in said
    (apart,) = {row["assignment_id"] for row in pl.read_csv(tmp_path / "out" / "rejected" / "ratings.csv").to_dicts()}
    assert apart == "A99"
    assert "out/rejected" not in said.splitlines()[-1]


def test_no_file_outside_its_room_names_a_format() -> None:
    """Beside the lines of the registry: what formats share and the command know none."""
    rooms = tuple(f"/{place.replace('.', '/')}" for place in importers.FORMATS)
    table_file = ("import_answers.py", "csv")  # how tables are written
    named = set()
    for path in modules():
        place = path.as_posix()
        shared = "/spa/importers/" in place and not any(room in place for room in rooms)
        if shared or place.endswith("/spa/commands/import_answers.py"):
            nodes = list(ast.walk(ast.parse(path.read_text())))
            words = {getattr(node, name, None) for node in nodes for name in ("value", "id", "attr", "name", "module")}
            named |= {(path.name, key) for key in format_keys() if key in words}
    assert named <= {table_file}
