"""Every way in which the platform's list and our own can differ, each made to happen, and whom approving then pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prolific.reconcile import REMEDIES
from tests.prolific.conftest import running
from tests.prolific.running_study import Running, Visitor, running_study

Fault = Callable[[Running, str], Visitor]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("reconcile")
    with running(folder / "platform.sqlite") as emulator, running_study(folder, emulator, places=60) as study:
        yield study, study.publish()


def answered(study: Running, study_id: str, **answers: str) -> Visitor:
    visitor = study.arrive(study_id)
    visitor.answer(**answers)
    return visitor


def closed_tab(study: Running, study_id: str) -> Visitor:
    return answered(study, study_id)


def nocode_without_answers(study: Running, study_id: str) -> Visitor:
    visitor = study.arrive(study_id)
    study.emulator.people.complete(visitor.submission_id, None)
    return visitor


def leaked_code(study: Running, study_id: str) -> Visitor:
    visitor = study.arrive(study_id)
    visitor.open()
    visitor.hand_in(study.workspace.store.visits.outcome_codes("prolific")["completed"])
    return visitor


def leaked_code_without_visit(study: Running, study_id: str) -> Visitor:
    visitor = study.arrive(study_id)
    visitor.hand_in(study.workspace.store.visits.outcome_codes("prolific")["completed"])
    return visitor


def screened_out_with_code_of_done(study: Running, study_id: str) -> Visitor:
    visitor = answered(study, study_id, screening="No")
    visitor.hand_in(study.workspace.store.visits.outcome_codes("prolific")["completed"])
    return visitor


def out_of_time(study: Running, study_id: str) -> Visitor:
    visitor = answered(study, study_id)
    study.emulator.people.do("POST", f"submissions/{visitor.submission_id}/time-out/")
    return visitor


def gave_back(study: Running, study_id: str) -> Visitor:
    visitor = answered(study, study_id)
    study.emulator.people.give_back(visitor.submission_id)
    return visitor


def typed_wrongly(study: Running, study_id: str) -> Visitor:
    visitor = answered(study, study_id)
    visitor.hand_in("WRONG")
    return visitor


def no_code(study: Running, study_id: str) -> Visitor:
    visitor = answered(study, study_id)
    study.emulator.people.complete(visitor.submission_id, None)
    return visitor


def code_of_no_consent(study: Running, study_id: str) -> Visitor:
    visitor = answered(study, study_id)
    visitor.hand_in(study.workspace.store.visits.outcome_codes("prolific")["failed_checks"])
    return visitor


def screened_out_and_staying(study: Running, study_id: str) -> Visitor:
    return answered(study, study_id, screening="No")


DIFFERENCES: list[tuple[Fault, str, str, bool]] = [  # what happens, kind, status, whether approving pays
    (closed_tab, "data_without_completion", "ACTIVE", False),
    (nocode_without_answers, "completion_without_data", "AWAITING REVIEW", False),
    (leaked_code, "code_claimed_without_answers", "AWAITING REVIEW", False),
    (leaked_code_without_visit, "code_claimed_without_answers", "AWAITING REVIEW", False),
    (screened_out_with_code_of_done, "code_claimed_without_answers", "AWAITING REVIEW", False),
    (out_of_time, "timed_out_but_answered", "TIMED-OUT", False),
    (gave_back, "returned_after_answering", "RETURNED", False),
    (typed_wrongly, "wrong_code", "AWAITING REVIEW", True),
    (no_code, "no_code", "AWAITING REVIEW", True),
    (code_of_no_consent, "other_code", "AWAITING REVIEW", True),
    (screened_out_and_staying, "left_without_code", "ACTIVE", False),
]


@pytest.mark.parametrize(
    ("happen", "kind", "status", "paid"), DIFFERENCES, ids=[one[0].__name__ for one in DIFFERENCES]
)
def test_each_difference_is_told_with_its_remedy(
    study: tuple[Running, str], happen: Fault, kind: str, status: str, paid: bool
) -> None:
    running, study_id = study
    visitor = happen(running, study_id)
    running.json("collect")
    (told,) = [one for one in differences(running) if one["submission_id"] == visitor.submission_id]
    assert (told["kind"], told["on_platform"], told["participant_id"]) == (kind, status, visitor.person)
    assert told["remedy"] == REMEDIES[kind]  # type: ignore[index]
    queue = running.json("approve")[0]
    assert (visitor.submission_id in queue["to_approve"]) == paid
    if status == "AWAITING REVIEW" and not paid:
        assert visitor.submission_id in queue["to_look_at"]


def differences(study: Running) -> list[dict[str, Any]]:
    return list(study.json("reconcile")[0]["differences"])


def test_somebody_who_did_all_as_asked_is_no_difference(study: tuple[Running, str]) -> None:
    running, study_id = study
    visitor = running.complete(study_id)
    assert [one for one in differences(running) if one["submission_id"] == visitor.submission_id] == []


def test_reconcile_returned_answers(study: tuple[Running, str]) -> None:
    """Returned answers are kept and left out and the place is given again."""
    running, study_id = study
    visitor = gave_back(running, study_id)
    running.json("collect")
    visit = running.workspace.store.visits.find("prolific", visitor.submission_id)
    assert visit is not None
    assert (visit.completed, visit.extra, visit.seat) == (True, True, None)


def test_reconcile_late_code_is_approved(study: tuple[Running, str]) -> None:
    """A late code brings the submission back and it is approved."""
    running, study_id = study
    visitor = out_of_time(running, study_id)
    visitor.hand_in()
    running.json("collect")
    assert visitor.submission_id in running.json("approve")[0]["to_approve"]


def test_lists_that_lag_make_no_false_alarm(study: tuple[Running, str]) -> None:
    running, study_id = study
    running.emulator.people.behave(list_lag_requests=1000)
    visitor = running.arrive(study_id)
    visitor.answer()
    assert [one for one in differences(running) if one["submission_id"] == visitor.submission_id] == []
    running.emulator.people.behave(list_lag_requests=0)
