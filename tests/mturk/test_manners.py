"""A whole study at an endpoint that keeps to botocore's model and is unlike ours beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from mturk.replies import call
from tests.mturk.manners import other_manners
from tests.mturk.studies import Bench


def test_a_study_lives_at_an_endpoint_with_other_manners(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with other_manners(bench.emulator.url) as url:
        monkeypatch.setenv("MTURK_ENDPOINT_URL", url)
        bench.run("plan")
        assert len(bench.json("publish", "--yes")["made"]) == 3
        assert bench.json("publish", "--yes")["made"] == []
        workers = bench.emulator.workers(3, country="US")
        hits = bench.hits()
        assert len(hits) == 3
        done = [bench.answer(hit["HITId"], worker) for hit, worker in zip(hits, workers, strict=True)]
        assert bench.json("status")["uncollected"] == 3
        first = bench.json("collect")
        assert (first["new"], first["problems"]) == (3, 0)
        assert bench.json("collect")["new"] == 0
        assert bench.json("approve", "--yes")["approved"] == 3
        paid = ("bonus", "--assignment", done[0], "--amount", "0.50", "--reason", "Thank you for the care.", "--yes")
        assert [bench.json(*paid)["paid"] for _ in range(2)] == [1, 0]
        bench.run("export", "--out", str(tmp_path / "archive"))
        assert len(bench.json("dispose", "--yes")["hits"]) == 3
        assert bench.json("status")["states"] == {"Gone": 3}
        bench.run("journal")
    entries = bench.emulator.control.get("ledger").json()["entries"]
    assert sorted(one["amount"] for one in entries) == ["0.50", "1.00", "1.00", "1.00"]


@pytest.mark.parametrize(
    ("turk_code", "message", "state"),
    [
        ("AWS.MechanicalTurk.ThrottlingException", "Slow down", "later"),
        (None, "Rate exceeded", "later"),
        ("AWS.MechanicalTurk.HITDoesNotExist", "Hit X does not exist.", "refused"),
    ],
)
def test_being_too_fast_is_no_refusal_whatever_it_is_called(turk_code: str | None, message: str, state: str) -> None:
    response = {"Error": {"Code": "RequestError", "Message": message}, "ResponseMetadata": {"HTTPStatusCode": 400}}

    def method() -> None:
        raise ClientError(response | ({"TurkErrorCode": turk_code} if turk_code else {}), "GetHIT")

    assert call(method, {}).state == state
