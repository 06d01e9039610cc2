"""Tables in parts: whatever the split, the sums are those of the whole table, and so are the problems."""

from __future__ import annotations

import errno
import json
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analysis import Plan, Reading, check_frames, read_tables
from analysis.answers.columns import Scale
from analysis.answers.exclusions import Exclusion
from analysis.answers.order import order_of
from analysis.answers.tables import AnswerTables
from analysis.commands.report import report
from analysis.comparisons.rating_cells import rating_cells, rating_differences
from analysis.parts import exchange, reading, rows
from analysis.parts import part as parts
from analysis.parts.locations import find_parts, is_in_parts
from analysis.parts.preferences import read_preferences
from analysis.parts.reading import read_totals
from analysis.results.analyse_preferences import analyse_preferences_in_parts
from analysis.results.analyse_sums import analyse_totals
from analysis.statistics.coding import fold
from analysis.sums.totals import AnswerTotals, LargeKind
from spa.errors import AnalysisError
from spa.responses.table_files import TableFormat
from tests.analysis.dying_worker import dies_once
from tests.analysis.totals_in_memory import totals_of
from tests.dask_here import forked_workers


def ratings(seed: int = 3) -> pl.DataFrame:
    """Return ratings of people and an LLM in two variants, with gaps, repeats, samples and two elicitations."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "annotator_id": f"p{who}" if who < 6 else "gpt",
            "annotator_kind": "human" if who < 6 else "llm",
            "assignment_id": None if who < 6 else f"t{who}",
            "variant": None if who < 6 else f"v{who % 2}",
            "item_id": f"i{item}",
            "system": system,
            "criterion": criterion,
            "elicitation": "likert" if item % 2 else "continuous",
            "sample": sample,
            "repeat": repeat,
            "score": None if rng.random() < 0.1 else f"{rng.integers(1, 60) / 10:g}",
            "missing_reason": None,
        }
        for who in range(9)
        for item in range(5)
        for system in "QPR"
        for criterion in ("fluency", "cover")
        for sample in ("1", "2")
        for repeat in (("1", "2") if item == 2 else (None,))
        if rng.random() < 0.8
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def choices(seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        {"annotator_id": f"p{who}", "item_id": f"i{item}", "system_x": x, "system_y": y, "winner": winner}
        for who in range(8)
        for item in range(6)
        for x, y in ("PQ", "RQ", "PR")
        if (winner := rng.choice(["x", "y", "tie", ""]))
    ]
    return pl.DataFrame(rows)


TABLES = {"ratings": ratings, "choices": choices}


def split(table: pl.DataFrame, folder: Path, cuts: list[int], suffix: TableFormat = "parquet") -> str:
    """Write the parts of a table between cuts, and return their pattern."""
    folder.mkdir(exist_ok=True)
    for number, (low, high) in enumerate(pairwise([0, *cuts, table.height])):
        write = {
            "parquet": pl.DataFrame.write_parquet,
            "csv": pl.DataFrame.write_csv,
            "jsonl": pl.DataFrame.write_ndjson,
        }
        write[suffix](table[low:high], folder / f"part-{number:03d}.{suffix}")
    return str(folder / f"*.{suffix}")


def assert_same(one: AnswerTotals, other: AnswerTotals) -> None:
    """Require the same totals to the last digit, but for names of files."""
    for field in fields(AnswerTotals):
        mine, yours = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("scores", "pairs"):
            for unit in fields(mine) if mine is not None else ():
                assert_frame_equal(getattr(mine, unit.name), getattr(yours, unit.name), check_exact=True)
        elif isinstance(mine, pl.DataFrame):
            assert_frame_equal(mine, yours, check_row_order=False, check_exact=True)
        elif field.name not in ("inputs", "n_parts", "empty_parts"):
            assert mine == yours, field.name


def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS", 90)
    monkeypatch.setattr(rows, "ROW_GROUP", 20)
    monkeypatch.setattr(reading, "AT_ONCE", 80)
    monkeypatch.setattr(exchange, "PENDING", 150)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("kind", ["ratings", "choices"])
def test_parts_add_up_to_the_whole(
    kind: LargeKind, suffix: TableFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLES[kind]()
    whole = totals_of(check_frames({kind: table}, Reading()), kind)
    assert_same(whole, read_totals(split(table, tmp_path / "one", [], suffix), kind, Reading()))
    small_steps(monkeypatch)
    cuts = [table.height // 5, table.height // 2, table.height // 2 + 1]
    assert_same(whole, read_totals(split(table, tmp_path / "some", cuts, suffix), kind, Reading()))


def test_many_sums_by_item_are_added_up_in_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_steps(monkeypatch)
    monkeypatch.setattr(exchange, "CLASSED", 40)
    table = ratings()
    whole = totals_of(check_frames({"ratings": table}, Reading()), "ratings")
    assert_same(whole, read_totals(split(table, tmp_path / "p", [100]), "ratings", Reading()))


@given(data=st.data())
@settings(max_examples=4, deadline=None)
def test_no_split_changes_a_digit(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    table = ratings(data.draw(st.integers(0, 99)))
    cuts = sorted(data.draw(st.sets(st.integers(1, table.height - 1), max_size=4)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "AT_ONCE", data.draw(st.integers(20, 400)))
        found = read_totals(split(table, tmp_path_factory.mktemp("parts"), cuts), "ratings", Reading())
    assert_same(totals_of(check_frames({"ratings": table}, Reading()), "ratings"), found)


def test_sums_are_those_of_the_cells_and_differences() -> None:
    tables = check_frames({"ratings": ratings()}, Reading())
    totals = totals_of(tables, "ratings")
    assert tables.ratings is not None
    assert totals.scores is not None
    order = order_of(tables.ratings, totals.order.groups, None)
    assert order == totals.order
    seen = 0
    for cells in rating_cells(tables.ratings, order):
        place = {"group": order.groups.index(cells.group), "criterion": order.criteria.index(cells.criterion)}
        for system in np.unique(cells.system).tolist():
            values = cells.value[cells.system == system]
            row = totals.scores.overall.filter(**place, system=system).row(0, named=True)
            expected = {"n": len(values), "total": values.sum(), "squares": len(values) * values.var()}
            assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12)
            own = cells.system == system
            of = fold(cells.annotator[own], cells.item[own]).of
            clusters = totals.scores.clusters.filter(**place, system=system)
            by_person = fold(cells.annotator[own])
            rest = values - by_person.mean(values).mean()  # annotators weigh the same
            squares = (np.bincount(of, weights=rest) ** 2).sum()
            assert clusters["squares"].sum() == pytest.approx(squares, rel=1e-11)
            assert (clusters["n"] * clusters["clusters"]).sum() == len(values)
        found = rating_differences(cells)
        for x, y in {*zip(found.x.tolist(), found.y.tolist(), strict=True)}:
            own = (found.x == x) & (found.y == y)
            row = totals.pairs.overall.filter(**place, x=x, y=y).row(0, named=True)
            value = found.value[own]
            expected = {"n": len(value), "total": value.sum(), "above": (value > 0).sum(), "tied": (value == 0).sum()}
            assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-11, abs=1e-11)
            items = totals.pairs.item.filter(**place, x=x, y=y)["total"].to_list()
            sums = np.bincount(found.item[own], weights=value)[np.unique(found.item[own])]
            assert sorted(items) == pytest.approx(sorted(sums.tolist()), abs=1e-11)
            seen += len(value)
    assert seen == totals.pairs.overall["n"].sum() == totals.pairs.annotator["n"].sum() > 200


def test_sums_are_exact() -> None:
    scores = [0.1, 0.2, 0.3, 1e6, -1e6 + 0.1] * 400
    rows = {"annotator_id": "p", "item_id": [f"i{number}" for number in range(len(scores))], "system": "A"}
    totals = totals_of(check_frames({"ratings": pl.DataFrame({**rows, "score": scores})}, Reading()), "ratings")
    assert totals.scores is not None
    assert totals.scores.overall["total"].item() == 280.0  # numpy's sum is off in the tenth digit


def test_excluded_answers_are_left_out(tmp_path: Path) -> None:
    table = ratings()
    gone = [
        Exclusion(annotator_id="p1", assignment_id=None, group="human", rule="screening", evidence=""),
        Exclusion(annotator_id="gpt", assignment_id="t7", group="gpt/v1", rule="review", evidence=""),
    ]
    kept = table.filter(pl.col("annotator_id") != "p1", pl.col("assignment_id").ne_missing("t7"))
    found = read_totals(split(table, tmp_path / "p", [100]), "ratings", Reading(), exclusions=gone)
    whole = totals_of(check_frames({"ratings": kept}, Reading()), "ratings")
    assert found.pairs.overall.equals(whole.pairs.overall)
    assert found.sizes == whole.sizes
    assert int(found.seen.filter(group="human")["annotators"].item()) == 6


BROKEN = {
    "a score that is none": ("score", "good", "score must be a number"),
    "an empty name": ("item_id", "", "item_id must not be empty"),
    "another kind": ("annotator_kind", "robot", "annotator_kind must be human, llm or simulated"),
    "outside of the scale": ("score", "99", "score must lie in [0, 9]"),
}


def problems_of(where: str, given: Reading | None = None) -> tuple[str, ...]:
    with pytest.raises(AnalysisError) as caught:
        read_totals(where, "ratings", given or Reading())
    return caught.value.problems


def with_value(table: pl.DataFrame, row: int, **values: str | None) -> pl.DataFrame:
    """Replace values of one row."""
    here = pl.int_range(pl.len()) == row
    return table.with_columns(
        pl.when(here).then(pl.lit(value)).otherwise(name).alias(name) for name, value in values.items()
    )


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_mistake_is_told_as_of_a_whole_table(
    name: str, suffix: TableFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_steps(monkeypatch)
    column, value, rule = BROKEN[name]
    where = split(with_value(ratings(), 102, **{column: value}), tmp_path / "p", [20], suffix)
    given = Reading(scales=(Scale(criterion=None, low=0, high=9),))
    found = problems_of(where, given)
    part = tmp_path / "p" / f"part-001.{suffix}"
    with pytest.raises(AnalysisError) as caught:
        read_tables({"ratings": part}, given)
    assert found == caught.value.problems[:1]
    assert f"{part}, row {84 if suffix == 'csv' else 83}: {rule}" in found[0]


@pytest.mark.parametrize(("suffix", "line"), [("csv", "line 61"), ("jsonl", "line 60")])
def test_a_line_that_is_cut_is_told_by_its_number(
    suffix: TableFormat, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_steps(monkeypatch)
    where = split(ratings(), tmp_path / "p", [], suffix)
    part = tmp_path / "p" / f"part-000.{suffix}"
    lines = part.read_text().splitlines(keepends=True)
    at = int(line.split()[1]) - 1
    part.write_text("".join([*lines[:at], lines[at][:4] + "\n", *lines[at + 1 :]]))
    assert problems_of(where)[0].startswith(f"{part}, {line}: ")


def test_keys_that_come_late_in_json_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS", 2)
    rows = [{"annotator_id": f"a{who}", "item_id": "i", "system": "A", "score": 3} for who in range(5)]
    rows[4]["criterion"] = "tone"
    (tmp_path / "r.jsonl").write_text("".join(f"{json.dumps(row)}\n\n" for row in rows))
    whole = totals_of(read_tables({"ratings": tmp_path / "r.jsonl"}, Reading()), "ratings")
    assert_same(whole, read_totals(str(tmp_path / "r.jsonl"), "ratings", Reading()))


def test_a_cell_answered_twice_is_found_across_parts(tmp_path: Path) -> None:
    table = ratings().filter(pl.col("score").is_not_null())
    doubled = pl.concat([table, table[[70, 31, 31, 0, 1]].with_columns(score=pl.lit("3"))])
    where = split(doubled, tmp_path / "p", [20, table.height])
    first, second, third, more = problems_of(where)
    names = [f"{tmp_path}/p/part-{number:03d}.parquet" for number in range(3)]
    cell = f"annotator_id {table['annotator_id'][0]}, criterion {table['criterion'][0]}"
    assert first.startswith(f"{names[0]}, row 1 and {names[2]}, row 4: expected one answer a cell, got 2 for {cell}")
    assert second.startswith(f"{names[0]}, row 2 and {names[2]}, row 5: expected one answer a cell, got 2")
    assert third.startswith(f"{names[1]}, row 12 and {names[2]}, rows 2 and 3: expected one answer a cell, got 3")
    assert more == "1 more cells are answered twice"


def test_what_only_all_parts_show_is_told(tmp_path: Path) -> None:
    table = ratings()
    other = with_value(table, 150, annotator_kind="simulated", annotator_id="p0")
    assert problems_of(split(other, tmp_path / "kinds", [100])) == (
        "annotator 'p0' is human and simulated at once; expected one kind",
    )
    assert (
        "no table names this annotator" in problems_of(split(table, tmp_path / "llm", [9]), Reading(llms=("gpt5",)))[0]
    )
    scale = Reading(scales=(Scale(criterion="taste", low=0, high=9),))
    assert "has no criterion 'taste'" in problems_of(split(table, tmp_path / "scale", [9]), scale)[0]
    assert "'rater'" in problems_of(split(table, tmp_path / "map", [9]), Reading(mapping={"rater": "annotator_id"}))[0]
    where = split(table, tmp_path / "columns", [50, 100])
    table[:50].drop("sample").with_columns(label=pl.lit("A")).write_parquet(tmp_path / "columns" / "part-001.parquet")
    assert problems_of(where) == (
        f"{tmp_path}/columns/part-001.parquet: expected the columns of {tmp_path}/columns/part-000.parquet, got none "
        "named sample and also label",
    )


def test_parts_in_which_an_id_is_a_fractional_number_are_refused(tmp_path: Path) -> None:
    numbers = pl.col("annotator_id").str.replace("gpt", "9").str.replace("p", "").cast(pl.Int64)
    table = ratings().with_columns(numbers, variant=pl.lit(None, dtype=pl.String))
    where = split(table, tmp_path / "p", [50, 100])
    part = table[50:100].with_columns(pl.col("variant").cast(pl.Float64))
    part.write_parquet(tmp_path / "p" / "part-001.parquet")
    assert read_totals(where, "ratings", Reading()).sizes["annotator"] == 7
    part.with_columns(pl.col("annotator_id").cast(pl.Float64)).write_parquet(tmp_path / "p" / "part-001.parquet")
    (line,) = problems_of(where)
    assert line.startswith(f"{tmp_path}/p/part-001.parquet: expected annotator_id as in {tmp_path}/p/part-000.parquet")


@pytest.mark.parametrize(
    ("pattern", "name"), [("", "p"), ("/*.csv", "p"), ("/part-*.csv", "p/part-*.csv"), ("/part-00[01].csv", None)]
)
def test_a_report_is_named_as_the_folder_of_its_parts(pattern: str, name: str | None, tmp_path: Path) -> None:
    split(choices(), tmp_path / "p", [20, 40], "csv")
    (found,) = read_totals(f"{tmp_path}/p{pattern}", "choices", Reading()).inputs
    assert found.file == ("p/part-00[01].csv (2 parts)" if name is None else f"{name} (3 parts)")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("kind", ["ratings", "choices"])
def test_empty_parts_are_left_out_and_counted(kind: LargeKind, suffix: TableFormat, tmp_path: Path) -> None:
    """As Spark writes them: a header alone, or of text no byte."""
    table = TABLES[kind]()[:90]
    whole = read_totals(split(table, tmp_path / "one", [60], suffix), kind, Reading())
    where = split(table, tmp_path / "some", [0, 60, 60], suffix)
    if suffix != "parquet":
        (tmp_path / "some" / f"part-002.{suffix}").write_text("")
    found = read_totals(where, kind, Reading())
    assert_same(whole, found)
    assert (found.empty_parts, found.n_parts) == (2, 4)
    warnings = analyse_totals(found, Plan()).warnings
    assert f"The {kind} were read in parts (2 of 4 parts had no row) and added up." in warnings[-1]
    split(table[:0], tmp_path / "none", [0, 0], suffix)
    with pytest.raises(AnalysisError) as raised:
        read_totals(str(tmp_path / "none"), kind, Reading())
    assert raised.value.problems == (
        f"{tmp_path}/none: expected at least one answer, got parts without a row alone (3)",
    )


def test_an_empty_part_of_preferences_is_left_out(tmp_path: Path) -> None:
    rows = [{"annotator_id": f"p{n}", "system_x": "a", "system_y": "b", "preference": 0.5 + n / 20} for n in range(6)]
    table = pl.DataFrame(rows)
    found = [
        read_preferences(split(table, tmp_path / name, cuts), Reading(), Plan(), beside=AnswerTables())
        for name, cuts in (("one", [3]), ("some", [0, 3, 6]))
    ]
    assert (found[1].empty_parts, found[1].n_parts) == (2, 4)
    one, other = (analyse_preferences_in_parts(totals, Plan()) for totals in found)
    assert one.preferences == other.preferences
    assert "(2 of 4 parts had no row)" in other.warnings[-1]


def test_parts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    where = split(ratings(), tmp_path / "p", [50, 100])
    (tmp_path / "p" / "part-001.parquet").write_bytes(b"PAR1 and no more")
    assert problems_of(where)[0].startswith(f"{tmp_path}/p/part-001.parquet: cannot be read as parquet: ")
    assert "got none" in problems_of(str(tmp_path / "q*.csv"))[0]
    assert problems_of(str(tmp_path))[0].endswith("/p; name files with a pattern that ends in /*/*.parquet")
    with pytest.raises(AnalysisError, match="/none: no such file; check its name"):
        read_tables({"ratings": tmp_path / "none"}, Reading())
    (tmp_path / "p" / "more.csv").write_text("a\n")
    assert "all of one kind, got .csv and .parquet" in problems_of(str(tmp_path / "p"))[0]
    many = with_value(ratings(), 0, score="good")[[0] * 60]
    lines = problems_of(split(many, tmp_path / "many", [*range(1, 60)]))
    assert len(lines) == 21
    assert lines[-1] == f"{tmp_path}/many/*.parquet: 40 more mistakes; 60 of 60 parts have some"


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "full"), pl.exceptions.ComputeError("underlying IO error: No space left on device")],
)
def test_a_full_disk_is_one_line_and_leaves_nothing(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = split(ratings(), tmp_path / "p", [50])
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def full(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    with pytest.raises(AnalysisError) as caught:
        read_totals(where, "ratings", Reading(), scratch=scratch)
    expected = f"{scratch}: temporary files cannot be written or read: no space is left; name another folder"
    assert caught.value.problems == (f"{expected} with --scratch",)
    assert not list(scratch.iterdir())


def test_parts_are_found_in_the_order_of_their_names(tmp_path: Path) -> None:
    split(ratings(), tmp_path / "p", [50, 100])
    (tmp_path / "p" / "_SUCCESS").touch()
    (tmp_path / "p" / ".part.csv").touch()
    assert [Path(part).name for part in find_parts(str(tmp_path / "p"))] == [f"part-00{n}.parquet" for n in range(3)]
    one = tmp_path / "p" / "part-[1].csv"
    one.touch()
    assert [is_in_parts(str(place)) for place in (one, tmp_path / "*.csv", tmp_path, "s3://a/b.csv")] == [
        False,
        True,
        True,
        True,
    ]


def test_addresses_are_read_through_fsspec(tmp_path: Path) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    table, memory = ratings(), MemoryFileSystem()
    split(table, tmp_path / "p", [50, 100])
    memory.put(str(tmp_path / "p"), "/bucket/p", recursive=True)
    whole = totals_of(check_frames({"ratings": table}, Reading()), "ratings")
    for where in ("memory://bucket/p", "memory://bucket/p/*.parquet"):
        assert_same(whole, read_totals(where, "ratings", Reading()))
    memory.pipe("/bucket/p/part-001.parquet", b"no table")
    assert problems_of("memory://bucket/p")[0].startswith(
        "memory:///bucket/p/part-001.parquet: expected a Parquet file"
    )
    assert "cannot be read: " in problems_of("nowhere://bucket")[0]


def test_a_worker_that_dies_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ratings()
    where = split(table, tmp_path / "p", [30, 60, 90])
    monkeypatch.setattr(exchange, "read_part", dies_once)
    with forked_workers(2) as client:
        found = read_totals(where, "ratings", Reading(), client=client, scratch=tmp_path)
        (tmp_path / "p" / "part-002.parquet").write_bytes(b"PAR1 and no more")
        with pytest.raises(AnalysisError, match=r"part-002\.parquet: cannot be read"):
            read_totals(where, "ratings", Reading(), client=client, scratch=tmp_path)
    assert (tmp_path / "died").exists()
    assert_same(totals_of(check_frames({"ratings": table}, Reading()), "ratings"), found)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["died", "p"]


def test_the_command_reads_parts(tmp_path: Path) -> None:
    table = ratings().filter(pl.col("annotator_kind") == "human")
    where = split(table, tmp_path / "p", [50, 100], "csv")
    table.write_csv(tmp_path / "whole.csv")
    (tmp_path / "people.csv").write_text("annotator_id,screening_passed\np1,no\np2,yes\n")
    kept = ["--annotators", str(tmp_path / "people.csv")]
    run = CliRunner().invoke
    found = [
        json.loads(run(report, ["--ratings", *ways, *kept, "--json"], catch_exceptions=False).stdout)
        for ways in ([where], [str(tmp_path / "whole.csv"), "--in-parts"], [str(tmp_path / "whole.csv")])
    ]
    for one in found:
        assert one["exclusions"][0]["annotator_id"] == "p1"
        assert one["ratings"]["means"] == found[2]["ratings"]["means"]
    files = [[(row["table"], row["file"]) for row in one["settings"].pop("inputs")] for one in found]
    assert files[0] == [("ratings", "p (3 parts)"), ("annotators", "people.csv")]
    assert found[0] == found[1]
    for wrong, line in {
        ("--orders", "x.csv", "--in-parts"): "expected --preferences, --ratings or --choices",
        ("--ratings", where, "--metrics", "x.csv"): "--metrics: not with --ratings in parts",
        ("--ratings", where, "--cluster", "tcp://a:1"): "expected --scratch FOLDER",
    }.items():
        assert line in run(report, [*wrong, "--json"]).output


def _float_ids(table: pl.DataFrame) -> pl.DataFrame:
    names = {"gpt": "9", **{f"p{number}": str(number) for number in range(9)}}
    whole = pl.col("annotator_id").replace(names)
    return table.with_columns(pl.format("{}.0", whole).alias("annotator_id"))


def test_large_ids_written_as_fractions(tmp_path: Path) -> None:
    """Ids written as fractions in every part are those of one file."""
    table = _float_ids(ratings().filter(pl.col("annotator_kind") == "human"))
    where = split(table, tmp_path / "p", [50, 100], "csv")
    table.write_csv(tmp_path / "whole.csv")
    (tmp_path / "people.csv").write_text("annotator_id,screening_passed\n1,no\n2,yes\n77,no\n")
    (tmp_path / "gone.csv").write_text("annotator_id,rule\n2,mine\n")
    beside = ["--annotators", str(tmp_path / "people.csv"), "--exclusions", str(tmp_path / "gone.csv"), "--json"]
    found = [
        json.loads(CliRunner().invoke(report, ["--ratings", *ways, *beside], catch_exceptions=False).stdout)
        for ways in ([where], [str(tmp_path / "whole.csv")])
    ]
    for one in found:
        assert {row["annotator_id"] for row in one["exclusions"]} == {"1", "2"}
        assert one["groups"][0]["excluded_annotators"] == 2
        notes = [note for row in one["settings"]["inputs"] for note in row["notes"]]
        assert any(note.startswith("1 of 3 annotators has no answers") for note in notes)
    assert found[0]["ratings"]["means"] == found[1]["ratings"]["means"]


def test_ids_written_in_two_ways_in_one_part_are_refused(tmp_path: Path) -> None:
    table = ratings().filter(pl.col("annotator_kind") == "human")
    where = split(table, tmp_path / "p", [50, 100], "csv")
    _float_ids(table[50:100]).write_csv(tmp_path / "p" / "part-001.csv")
    (line,) = problems_of(where)
    assert "part-001.csv: expected annotator_id as in" in line
    assert len(line) < 500


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("annotator_id,rule\nnobody,mine\np1,mine\n", "got 1 of 2 without answers: 'nobody'"),
        ("annotator_id,rule,assignment_id\np1,mine,none such\n", "expected an assignment of 'p1', got 'none such'"),
    ],
)
@pytest.mark.parametrize("kind", ["ratings", "choices"])
def test_exclusions_of_nobody_in_the_parts_are_refused(kind: LargeKind, text: str, line: str, tmp_path: Path) -> None:
    where = split(TABLES[kind](), tmp_path / "p", [20, 40], "csv")
    (tmp_path / "gone.csv").write_text(text)
    asked = [f"--{kind}", where, "--exclusions", str(tmp_path / "gone.csv"), "--json"]
    assert line in " ".join(str(CliRunner().invoke(report, asked).exception).split())


def test_names_of_parts_are_joined_and_told(tmp_path: Path) -> None:
    table = ratings().filter(pl.col("annotator_kind") == "human")
    system = table["system"][0]
    other = pl.when((pl.col("system") == system) & (pl.int_range(pl.len()) > 90)).then(
        pl.lit(system.upper() + "\u200b")
    )
    twice = table.with_columns(other.otherwise("system").alias("system"))
    where = split(twice, tmp_path / "p", [50, 100], "csv")

    def asked(*options: str) -> dict[str, Any]:
        run = CliRunner().invoke(report, ["--ratings", where, "--json", *options], catch_exceptions=False)
        return json.loads(run.stdout)  # type: ignore[no-any-return]

    (text,) = [row["text"] for row in asked()["warning_rows"] if row["kind"] == "near_names"]
    assert f"{system.upper()}<U+200B>" in text
    joined = asked("--same", f"system:{system.upper()}\\u200b={system}")
    split(table, tmp_path / "p", [50, 100], "csv")
    assert joined["ratings"]["means"] == asked()["ratings"]["means"]
    assert "expected COLUMN:OLD=NEW of a table in parts" in problems_of(where, Reading(same=("system",)))[0]
    assert "no part has the name 'zz'" in problems_of(where, Reading(same=("system:zz=a",)))[0]
