"""A whole study against a platform that keeps to the published description and is unlike the emulator beyond it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.prolific.conftest import Emulator
from tests.prolific.manners import other_manners
from tests.prolific.running_study import running_study


def test_a_study_lives_on_a_platform_with_other_manners(tmp_path: Path, fresh_emulator: Emulator) -> None:
    people = fresh_emulator.people
    people.join(100)
    people.do("PATCH", "behaviour/", {"largest_page": 4})
    statuses: dict[str, str] = {}
    with (
        other_manners(fresh_emulator.url, statuses) as url,
        running_study(tmp_path, replace(fresh_emulator, url=url), places=6, prolific='group = "g"') as running,
    ):
        assert running.json("plan", "--public-url", running.url)["estimate"]["total_amount"] == "16.00"
        study_id = running.publish()
        visitors = [running.complete(study_id) for _ in range(6)]
        odd = visitors.pop()
        statuses[odd.submission_id] = "ON HOLD"
        running.spa("collect")
        (difference,) = running.json("reconcile")[0]["differences"]
        assert (difference["kind"], difference["submission_id"]) == ("unknown_status", odd.submission_id)
        asked = running.spa("approve").output
        assert "5 to approve" in asked
        assert "1 need a decision" in asked
        assert "'ON HOLD' is not known here" in asked
        assert running.json("approve", yes=True)[0]["approved"] == 5
        (tmp_path / "b.csv").write_text(f"recipient,amount,reason\n{visitors[0].person},0.50,good reasons\n")
        for _ in range(2):
            running.spa("bonus", "--from", str(tmp_path / "b.csv"), yes=True)
        assert [one["cents"] for one in people.payments()] == [50]
        (status,) = running.json("status")
    assert status["counts"] == {"APPROVED": 5, "ON HOLD": 1}
