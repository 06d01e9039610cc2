"""Assignments: what workers submit and requesters review."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.mturk.emulated import Emulator, pages_of, refused

DAY = 86_400


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def one(own: Emulator, **changes: object) -> tuple[str, str, str]:
    """Return a HIT, a worker and the assignment that they submitted."""
    hit_id = own.hit(**changes)["HITId"]
    (worker,) = own.workers()
    return hit_id, worker, own.submitted(hit_id, worker)


def code_of(own: Emulator, route: str, **given: object) -> str:
    """Return the code with which a worker's step is refused."""
    answer = own.control.post(route, json=given)
    assert answer.status_code == 400
    return str(answer.json()["code"]).removeprefix("AWS.MechanicalTurk.")


def test_an_assignment_says_who_what_and_when(own: Emulator) -> None:
    hit_id = own.hit(AutoApprovalDelayInSeconds=7 * DAY)["HITId"]
    (worker,) = own.workers()
    began = own.clock()
    work = own.accept(worker, hit_id)
    with refused(own, "AssignmentDoesNotExist"):  # what is held leaves no trace for requesters
        own.client.get_assignment(AssignmentId=work)
    assert own.client.list_assignments_for_hit(HITId=hit_id)["Assignments"] == []
    own.advance(100)
    own.submit(worker, work, q1="70", why="a < b & c")
    answer = own.client.get_assignment(AssignmentId=work)
    found = answer["Assignment"]
    assert answer["HIT"]["HITId"] == hit_id
    assert found.pop("Answer").count("<FreeText>a &lt; b &amp; c</FreeText>") == 1
    assert found == {
        "AssignmentId": work,
        "WorkerId": worker,
        "HITId": hit_id,
        "AssignmentStatus": "Submitted",
        "AcceptTime": at(began),
        "SubmitTime": at(began + 100),
        "Deadline": at(began + 600),
        "AutoApprovalTime": at(began + 100 + 7 * DAY),
    }


def test_approving_once(own: Emulator) -> None:
    _, _, work = one(own)
    own.advance(5)
    own.client.approve_assignment(AssignmentId=work, RequesterFeedback="thank you")
    found = own.client.get_assignment(AssignmentId=work)["Assignment"]
    assert found["AssignmentStatus"] == "Approved"
    assert (found["ApprovalTime"], found["RequesterFeedback"]) == (at(own.clock()), "thank you")
    for call in (
        lambda: own.client.approve_assignment(AssignmentId=work),
        lambda: own.client.approve_assignment(AssignmentId=work, OverrideRejection=True),
        lambda: own.client.reject_assignment(AssignmentId=work, RequesterFeedback="no"),
    ):
        with refused(own, "InvalidAssignmentState") as told:
            call()
        assert "This operation can be called with a status of: Submitted" in told.value.response["Message"]
    assert len(own.client.list_assignments_for_hit(HITId=found["HITId"])["Assignments"]) == 1


def test_a_rejection_is_taken_back_within_thirty_days(own: Emulator) -> None:
    _, _, work = one(own)
    _, _, late = one(own)
    for rejected in (work, late):
        own.client.reject_assignment(AssignmentId=rejected, RequesterFeedback="blank")
    found = own.client.get_assignment(AssignmentId=work)["Assignment"]
    assert (found["AssignmentStatus"], found["RejectionTime"]) == ("Rejected", at(own.clock()))
    with refused(own, "InvalidAssignmentState"):
        own.client.approve_assignment(AssignmentId=work)
    own.advance(30 * DAY)
    own.client.approve_assignment(AssignmentId=work, OverrideRejection=True)
    own.advance(1)
    with refused(own, "InvalidAssignmentState"):
        own.client.approve_assignment(AssignmentId=late, OverrideRejection=True)
    found = own.client.get_assignment(AssignmentId=work)["Assignment"]
    assert (found["AssignmentStatus"], found["RequesterFeedback"]) == ("Approved", "blank")
    assert own.get(found["HITId"])["NumberOfAssignmentsCompleted"] == 1
    paid = [entry["assignment_id"] for entry in own.control.get("ledger").json()["entries"]]
    assert paid.count(work) == 1
    assert late not in paid


def test_what_nobody_reviews_is_approved_by_time_at_its_own_date(own: Emulator) -> None:
    hit_id, _, work = one(own, AutoApprovalDelayInSeconds=3600)
    submitted = own.clock()
    own.advance(3599)
    assert own.client.get_assignment(AssignmentId=work)["Assignment"]["AssignmentStatus"] == "Submitted"
    own.advance(5 * DAY)
    found = own.client.get_assignment(AssignmentId=work)["Assignment"]
    assert (found["AssignmentStatus"], found["ApprovalTime"]) == ("Approved", at(submitted + 3600))
    assert own.get(hit_id)["NumberOfAssignmentsCompleted"] == 1
    (entry,) = [row for row in own.control.get("ledger").json()["entries"] if row["assignment_id"] == work]
    assert (entry["automatic"], entry["at"], entry["amount"], entry["fee"]) == (True, submitted + 3600, "0.50", "0.10")


def test_without_delay_everything_is_approved_at_once(own: Emulator) -> None:
    _, _, work = one(own, AutoApprovalDelayInSeconds=0)
    assert own.client.get_assignment(AssignmentId=work)["Assignment"]["AssignmentStatus"] == "Approved"
    with refused(own, "InvalidAssignmentState"):
        own.client.reject_assignment(AssignmentId=work, RequesterFeedback="no")


def test_listing_by_status_in_the_order_of_submission(own: Emulator) -> None:
    hit_id = own.hit(MaxAssignments=5)["HITId"]
    people = own.workers(5)
    held = [own.accept(worker, hit_id) for worker in people]
    order = [held[index] for index in (3, 0, 4, 1, 2)]
    for work in order:
        own.submit(people[held.index(work)], work)
    own.client.approve_assignment(AssignmentId=order[1])
    own.client.reject_assignment(AssignmentId=order[2], RequesterFeedback="no")
    listed = pages_of(own.client, "list_assignments_for_hit", "Assignments", HITId=hit_id)
    assert [work["AssignmentId"] for work in listed] == order
    for statuses, wanted in (
        (["Submitted"], [order[0], order[3], order[4]]),
        (["Approved", "Rejected"], [order[1], order[2]]),
    ):
        found = pages_of(
            own.client, "list_assignments_for_hit", "Assignments", HITId=hit_id, AssignmentStatuses=statuses
        )
        assert [work["AssignmentId"] for work in found] == wanted
    with refused(own, "ParameterValidationError"):
        own.client.list_assignments_for_hit(HITId=hit_id, AssignmentStatuses=["Accepted"])


def test_a_worker_has_one_assignment_of_a_hit(own: Emulator) -> None:
    hit_id = own.hit()["HITId"]
    (worker,) = own.workers()
    held = own.accept(worker, hit_id)
    assert code_of(own, "accept", worker_id=worker, hit_id=hit_id) == "AssignmentAlreadyExists"
    own.do("return", worker_id=worker, assignment_id=held)
    again = own.accept(worker, hit_id)
    assert again != held
    own.submit(worker, again)
    assert code_of(own, "submit", worker_id=worker, assignment_id=again, fields={"a": "1"}) == "InvalidAssignmentState"
    assert code_of(own, "return", worker_id=worker, assignment_id=again) == "InvalidAssignmentState"
    own.client.reject_assignment(AssignmentId=again, RequesterFeedback="blank")
    assert code_of(own, "accept", worker_id=worker, hit_id=hit_id) == "AssignmentAlreadyExists"
    assert own.offers(worker) == []


def test_nobody_submits_what_another_holds(own: Emulator) -> None:
    hit_id = own.hit()["HITId"]
    first, second = own.workers(2)
    held = own.accept(first, hit_id)
    assert code_of(own, "submit", worker_id=second, assignment_id=held, fields={"a": "1"}) == "AssignmentDoesNotExist"
    assert code_of(own, "return", worker_id=second, assignment_id=held) == "AssignmentDoesNotExist"


def test_a_worker_holds_25_assignments_at_most(own: Emulator) -> None:
    (worker,) = own.workers()
    for _ in range(25):
        own.accept(worker, own.hit(MaxAssignments=1)["HITId"])
    hit_id = own.hit(MaxAssignments=1)["HITId"]
    assert code_of(own, "accept", worker_id=worker, hit_id=hit_id) == "ExceedsMaxAssignmentsPerWorker"


def test_a_rejection_needs_its_reason(own: Emulator) -> None:
    _, _, work = one(own)
    with refused(own, "ParameterValidationError"):
        own.client.reject_assignment(AssignmentId=work, RequesterFeedback=" " * 1025)
    with pytest.raises(own.client.exceptions.RequestError):
        own.client.reject_assignment(AssignmentId="3NOSUCH", RequesterFeedback="x")
