"""A study from the plan to the payment, through the commands, against the emulated platform."""

from __future__ import annotations

from pathlib import Path

from tests.prolific.conftest import Emulator
from tests.prolific.running_study import running_study


def test_from_plan_to_approval(tmp_path: Path, fresh_emulator: Emulator) -> None:
    people = fresh_emulator.people
    people.join(100)
    with running_study(tmp_path, fresh_emulator, places=3) as running:
        plan = running.json("plan", "--public-url", running.url)
        assert plan["estimate"]["total"] == 800  # three times 2.00 and a third
        study_id = running.create()
        assert running.create() == study_id
        assert [request["operation"] for request in people.requests("CreateStudy")] == ["CreateStudy"]
        assert "Nothing was published" in running.spa("publish", "--public-url", running.url).output
        assert people.requests("PublishStudy") == []
        running.publish()
        for _ in range(3):
            running.complete(study_id)
        assert running.json("reconcile")[0]["differences"] == []
        assert "3 to approve" in running.spa("approve").output
        assert people.requests("BulkApproveSubmissions") == []
        assert running.json("approve", yes=True)[0]["approved"] == 3
        (standing,) = running.json("status")
    assert standing["counts"] == {"APPROVED": 3}
    assert standing["visits"] == {"completed": 3}
