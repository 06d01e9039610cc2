"""A study as HITs from the plan to the archive, over real HTTP, with every command."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

import polars as pl
from click.testing import CliRunner

from spa.cli import main
from tests.mturk.studies import Bench


def ledger_total(bench: Bench) -> Decimal:
    """Return what the endpoint says is owed, fees included."""
    entries = bench.emulator.control.get("ledger").json()["entries"]
    return sum((Decimal(one["amount"]) + Decimal(one["fee"]) for one in entries), Decimal(0))


def test_from_the_plan_to_the_archive(bench: Bench, tmp_path: Path) -> None:
    planned = bench.json("plan")
    assert (planned["form"], planned["hits"], planned["total"], planned["hourly"]) == (
        "html",
        [1, 1, 1],
        "3.60",
        "10.00",
    )
    bench.run("publish")  # without --yes it only says what it would do
    assert bench.hits() == []
    assert len(bench.json("publish", "--yes")["made"]) == 3
    assert bench.json("publish", "--yes")["made"] == []
    assert len(bench.hits()) == 3

    workers = bench.emulator.workers(3, country="US")
    done = [bench.answer(hit["HITId"], worker) for hit, worker in zip(bench.hits(), workers, strict=True)]
    assert bench.json("status")["uncollected"] == 3
    first = bench.json("collect")
    assert (first["new"], first["problems"], first["excluded"]) == (3, 0, 3)
    assert first["earliest_auto_approval"] == bench.emulator.clock() + 168 * 3600
    assert bench.json("collect")["new"] == 0

    assert bench.json("approve")["approved"] == 0
    assert bench.json("approve", "--yes")["approved"] == 3
    assert bench.json("approve", "--yes")["approved"] == 0
    assert ledger_total(bench) == Decimal(planned["total"]) == Decimal(bench.json("status")["spent"])
    paid = ("bonus", "--assignment", done[0], "--amount", "0.50", "--reason", "Thank you for the care.", "--yes")
    assert bench.json(*paid)["paid"] == 1
    assert bench.json(*paid) | {"paid": 0} == bench.json(*paid)
    assert ledger_total(bench) == Decimal("4.20")

    refused = bench.run("dispose", "--yes", code=1)
    assert refused.stderr.count("not archived since its last submission") == 3
    bench.run("export", "--out", str(tmp_path / "archive"))
    assert len(bench.json("dispose", "--yes")["hits"]) == 3
    assert bench.json("status")["states"] == {"Gone": 3}
    rows = list(csv.DictReader((tmp_path / "archive" / "results.csv").read_text().splitlines()))
    assert {row["AssignmentStatus"] for row in rows} == {"Approved"}
    assert not {row["WorkerId"] for row in rows} & set(workers)
    kept = [json.loads(line) for line in (tmp_path / "archive" / "assignments.jsonl").read_text().splitlines()]
    assert {one["AssignmentId"] for one in kept} == set(done)

    tables = CliRunner().invoke(main, ["export", str(bench.study), "--out", str(tmp_path / "tables")])
    assert tables.exit_code == 0, tables.output
    preferences = pl.read_csv(tmp_path / "tables" / "preferences.csv")
    assert preferences["preference"].to_list() == [0.7] * (3 * 2 * 2)
    annotators = pl.read_csv(tmp_path / "tables" / "annotators.csv")
    assert annotators["source"].to_list() == ["mturk"] * 3
    assert annotators["screening_passed"].to_list() == [True] * 3


def test_journal_has_every_paying_call_without_worker(bench: Bench) -> None:
    """Every call that creates or pays is in the journal without a worker."""
    bench.run("publish", "--yes")
    worker = bench.emulator.workers(1, country="US")[0]
    done = bench.answer(bench.hits()[0]["HITId"], worker)
    bench.run("collect")
    bench.run("approve", "--yes")
    bench.run("bonus", "--assignment", done, "--amount", "1", "--reason", "Thank you.", "--yes")
    bench.run("notify", "--subject", "Part two", "--text", "It is open.", "--yes")
    bench.run("block", "--assignment", done, "--reason", "A script answered.", "--yes")
    entries = [json.loads(line) for line in bench.run("journal", "--json").stdout.splitlines()]
    assert {entry["key"].partition("/")[0] for entry in entries} >= {"type", "a00001", "approve", "bonus", "block"}
    assert {entry["outcome"] for entry in entries} == {"done"}
    with bench.open() as workspace, workspace.store.reading() as connection:
        journalled = connection.exec_driver_sql("SELECT request, response FROM journal").fetchall()
        kept = connection.exec_driver_sql("SELECT * FROM mturk_assignments").fetchall()
    assert worker.encode() not in repr(journalled).encode()
    assert worker not in repr(kept)
