"""A rehearsal: who comes, the copy of the study, and a whole study played through, on bad days and after kills."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from prolific.rehearse.participants import SCENARIOS, SHARES, draw_participant, read_shares
from prolific.rehearse.rehearsal import copy_study
from spa.cli import main
from spa.errors import StudyError
from tests import patience
from tests.conftest import missing_part, need
from tests.prolific.studies import study_text
from tests.spa.small_study import write_study
from tests.warm import WarmProcess

STUDY = study_text(
    top='consent.file = "consent.md"',
    annotators=30,
    pay="2.50",
    people='family_store = "real/family.sqlite"\nfamily = "all"',
    project="5f0c1d2e3a4b5c6d7e8f9a0b",
    prolific="""exclude_studies = ["5f0c1d2e3a4b5c6d7e8f9a0c"]
[prolific.screeners]
fluent_languages = ["English", "Frisian"]
approval_rate = 95
[[prolific.filters]]
name = "Hours of reading a week"
lowest = 2""",
)


def written(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "consent.md").write_text("I agree to take part.")
    return write_study(folder, STUDY)


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(main, ["rehearse", *map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == code, result.output + result.stderr
    return json.loads(result.stdout) if code == 0 else result.stderr


def rows(out: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(out / "platform.sqlite") as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_people_are_drawn_with_their_shares_and_always_the_same() -> None:
    """Two thousand people have the fates that were asked for, within four standard errors; the seed decides."""
    shares = read_shares({"late": 0.1}, consent=True, screening=True, checks=True)
    drawn = [draw_participant(5, number, shares) for number in range(2000)]
    assert drawn[:50] == [draw_participant(5, number, shares) for number in range(50)]
    assert len({one.participant_id for one in drawn}) == 2000
    fates = Counter(one.scenario for one in drawn)
    for fate in SCENARIOS:
        share = shares.get(fate, 1 - sum(shares.values()))
        assert abs(fates[fate] / 2000 - share) <= 4 * (share * (1 - share) / 2000) ** 0.5
    assert {one.scenario for one in (draw_participant(6, number, {}) for number in range(20))} == {"completes"}


def test_shares_that_cannot_be_are_refused_or_none() -> None:
    nothing = read_shares({}, consent=False, screening=False, checks=False)
    assert nothing["declines"] == nothing["screened out"] == nothing["fails checks"] == 0
    assert nothing["drops out"] == SHARES["drops out"]
    for given_shares in ({"sleeps": 0.1}, {"late": -0.1}, {"late": 0.9, "drops-out": 0.5}):
        with pytest.raises(StudyError, match="--share"):
            read_shares(given_shares, consent=True, screening=True, checks=True)


def test_the_copy_leaves_the_study_as_it_is_and_names_its_files(tmp_path: Path) -> None:
    """Files have their full names, the number is changed, and a real family's store is not touched."""
    study = written(tmp_path)
    copy = copy_study(study, annotators=4, seed=1)
    document = tomllib.loads(copy.text)
    assert document["outputs"]["files"] == [str(tmp_path / "outputs.jsonl")]
    assert document["consent"] == {"text": (tmp_path / "consent.md").read_text()}  # it lies outside the copy's folder
    assert document["people"]["annotators"] == 4
    assert document["people"]["family_store"] == "family.sqlite"  # beside the copy
    assert copy.project == "5f0c1d2e3a4b5c6d7e8f9a0b"
    assert "exclude_studies" not in document["prolific"]
    assert ["exclude_studies" in one for one in copy.filled_in] == [True]
    assert study.read_text() == STUDY
    bare = STUDY.partition("[prolific]")[0].replace('pay = "2.50"', "")
    study.write_text(bare)
    assert ["[prolific]" in one or "pay" in one for one in copy_study(study, annotators=None, seed=1).filled_in] == [
        True,
        True,
    ]


ONCE = pytest.mark.one_process("rehearsal")  # which is held once for its tests


@pytest.fixture(scope="module")
def bad_day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("rehearsed")
    study, out = written(folder / "study"), folder / "out"
    shares = [f"--share={name}=0.12" for name in ("drops-out", "returns", "no-answers", "screened-out", "declines")]
    told = run(study, "--annotators", 8, "--out", out, "--faults", "--seed", 2, *shares, "--share=no-code=0.12")
    return study, out, told


@ONCE
def test_the_bill_is_the_estimate_whatever_people_and_network_do(bad_day: tuple[Path, Path, dict[str, Any]]) -> None:
    """Eight places at 2.50 and a third are 26.67; all faults happened; one study, each bonus once."""
    _, out, told = bad_day
    assert (told["paid"], told["estimate_amount"], told["explained"]) == (8, "26.67", "the bill equals the estimate")
    assert float(told["bill_amount"]) == pytest.approx(8 * (2.50 + 0.8333), abs=0.005)
    assert all(one["happened"] for one in told["faults"])
    assert {one["kind"] for one in told["faults"]} >= {"drop_after_effect", "500_after_effect", "429", "duplicate"}
    assert rows(out, "SELECT count(*) FROM studies") == [(1,)]
    assert rows(out, "SELECT submission_id, count(*) FROM bonus_payments GROUP BY 1 HAVING count(*) > 1") == []
    assert rows(out, "SELECT count(*) FROM bonus_payments") == [(2,)]
    assert rows(out, "SELECT count(*) FROM submissions WHERE status = 'APPROVED'") == [(8,)]


@ONCE
def test_everybody_is_accounted_for(bad_day: tuple[Path, Path, dict[str, Any]]) -> None:
    """Who came is told by what they did; who left is not in the answers; those are marked as simulated."""
    _, out, told = bad_day
    assert sum(one["submissions"] for one in told["fates"]) == told["came"] > 8
    paid = sum(
        int(part.split()[-1])
        for one in told["fates"]
        for part in one["platform"].split(", ")
        if part.startswith("APPROVED")
    )
    assert paid == 8
    results = json.loads((out / "report" / "results.json").read_text())
    assert {row["group"] for row in results["choices"]["pairs"]} == {"simulated"}
    page = (out / "rehearsal.html").read_text()
    assert "nobody was paid" in page
    assert "26.67" in page
    assert "spa serve" in page
    assert "Fluent languages: Frisian, Hours of reading a week" in page


@ONCE
def test_a_rehearsal_that_is_run_again_does_nothing_again(bad_day: tuple[Path, Path, dict[str, Any]]) -> None:
    study, out, told = bad_day
    shares = [f"--share={name}=0.12" for name in ("drops-out", "returns", "no-answers", "screened-out", "declines")]
    asked = "SELECT operation, count(*) FROM requests WHERE method = 'POST' AND operation IN "
    asked += "('CreateStudy', 'PublishStudy', 'PayBonusPayments', 'BulkApproveSubmissions') GROUP BY 1"
    before = rows(out, asked)
    again = run(study, "--annotators", 8, "--out", out, "--faults", "--seed", 2, *shares, "--share=no-code=0.12")
    assert rows(out, asked) == before
    assert (again["came"], again["bill_amount"]) == (told["came"], told["bill_amount"])
    refused = run(study, "--annotators", 9, "--out", out, code=1)
    assert "other options" in refused


def test_late_people_are_paid_and_told(tmp_path: Path) -> None:
    """Those who enter the code when the time is up may cost more than planned; the bill says why."""
    told = run(written(tmp_path / "s"), "--annotators", 4, "--out", tmp_path / "o", "--share=late=0.4", "--no-bonus")
    late = [one for one in told["fates"] if "when the time is up" in one["story"]]
    assert late
    assert late[0]["platform"].startswith("APPROVED")
    assert told["paid"] >= 4
    assert told["explained"] == (
        "the bill equals the estimate"
        if told["paid"] == 4
        else f"{told['paid'] - 4} more were paid than places planned: people who submitted late"
    )


@pytest.mark.browser
@pytest.mark.one_process("browser")
def test_somebody_in_a_real_browser_comes_back_with_the_code(tmp_path: Path) -> None:
    """The browser goes from the platform's door through the form and hands the code in by itself."""
    if shutil.which("chromium") is None:
        missing_part("chromium is not installed (Debian: apt-get install chromium)")
    need("playwright")
    everybody = ["--share=second-device=0", "--share=drops-out=0"]
    told = run(
        written(tmp_path / "s"), "--annotators", 1, "--out", tmp_path / "o", "--browsers", 1, "--no-bonus", *everybody
    )
    assert (told["paid"], told["came"]) == (1, 1)
    (code,) = rows(tmp_path / "o", "SELECT entered_code FROM submissions")[0]
    assert code not in (None, "NOCODE")
    assert rows(tmp_path / "o", "SELECT status FROM submissions") == [("APPROVED",)]


@pytest.mark.slow
def test_a_rehearsal_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Killed at three moments, it ends as one that was not: one study, the bill equals the estimate, bonuses once."""
    study, out = written(tmp_path / "s"), tmp_path / "o"
    command = ["rehearse", study, "--annotators", "4", "--out", out, "--faults"]
    marks = (
        "SELECT count(*) FROM studies",
        "SELECT count(*) >= 3 FROM submissions",
        "SELECT count(*) FROM bonus_payments",
    )
    for mark in marks:
        with open(os.devnull, "wb") as nowhere:
            program = WarmProcess(command, output=nowhere.fileno())
        while program.poll() is None and not _seen(out, mark):
            time.sleep(0.02)
        assert program.poll() is None, "it was over before it could be killed"
        program.kill()
        program.wait()
    told = run(*command[1:])
    assert (told["paid"], told["explained"]) == (4, "the bill equals the estimate")
    assert rows(out, "SELECT count(*) FROM studies") == [(1,)]
    assert rows(out, "SELECT count(*) FROM bonus_payments") == [(2,)]


def _seen(out: Path, query: str) -> bool:
    path = out / "platform.sqlite"
    if not path.exists():
        return False
    connection = sqlite3.connect(path, timeout=patience.SECONDS)
    try:
        return bool(connection.execute(query).fetchone()[0])
    except sqlite3.OperationalError:  # its tables are being made
        return False
    finally:
        connection.close()
