"""A study from the plan to the payment, through the commands, against the emulated platform."""

from __future__ import annotations

from pathlib import Path

from tests.prolific.conftest import Emulator
from tests.prolific.running_study import running_study


def test_from_plan_to_bonus_on_each_database(tmp_path: Path, fresh_emulator: Emulator, database: str) -> None:
    people = fresh_emulator.people
    people.join(100)
    with running_study(tmp_path, fresh_emulator, places=3, store=database) as running:
        plan = running.json("plan", "--public-url", running.url)
        assert plan["estimate"]["total_amount"] == "8.00"  # three times 2.00 and a third
        study_id = running.create()
        assert running.create() == study_id
        assert [request["operation"] for request in people.requests("CreateStudy")] == ["CreateStudy"]
        assert "Nothing was published" in running.spa("publish", "--public-url", running.url).output
        planned = running.json("publish", "--public-url", running.url, "--accept", "eligible people")
        assert (planned["published"], planned["now"], planned["status"]) == (False, False, "UNPUBLISHED")
        assert {"estimate", "eligible", "checklist"} < planned.keys()
        assert people.requests("PublishStudy") == []
        running.publish()
        again = running.json("publish", yes=True)
        assert (again["published"], again["now"], again["estimate"]) == (True, False, None)
        visitors = [running.complete(study_id) for _ in range(3)]
        assert running.json("reconcile")[0]["differences"] == []
        assert "3 to approve" in running.spa("approve").output
        assert people.requests("BulkApproveSubmissions") == []
        assert running.json("approve", yes=True)[0]["approved"] == 3
        (tmp_path / "b.csv").write_text(f"recipient,amount,reason\n{visitors[0].person},0.50,good reasons\n")
        for _ in range(2):
            running.spa("bonus", "--from", str(tmp_path / "b.csv"), yes=True)
        assert [one["cents"] for one in people.payments()] == [50]
        (status,) = running.json("status")
    assert status["counts"] == {"APPROVED": 3}
    assert status["visits"] == {"completed": 3}
