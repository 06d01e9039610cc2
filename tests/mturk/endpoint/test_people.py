"""Blocks of workers and messages to them."""

from __future__ import annotations

from sqlalchemy import select

from mturk.endpoint.schema import messages
from tests.mturk.emulated import Emulator, pages_of, refused


def test_a_block_hides_all_hits_of_its_requester_and_no_others(own: Emulator, place: Emulator) -> None:
    mine, theirs = own.hit()["HITId"], place.hit()["HITId"]
    first, second = own.workers(2)
    held = own.accept(first, own.hit(Title="held before")["HITId"])
    own.client.create_worker_block(WorkerId=first, Reason="random answers")
    own.client.create_worker_block(WorkerId=first, Reason="random answers again")
    own.client.create_worker_block(WorkerId=second, Reason="bots")
    listed = pages_of(own.client, "list_worker_blocks", "WorkerBlocks")
    assert listed == [{"WorkerId": first, "Reason": "random answers again"}, {"WorkerId": second, "Reason": "bots"}]
    assert place.client.list_worker_blocks()["WorkerBlocks"] == []
    answer = own.control.post("accept", json={"worker_id": first, "hit_id": mine})
    assert answer.json()["code"] == "AWS.MechanicalTurk.HITDoesNotExist"
    seen = {offer["kind"]["requester_id"] for offer in own.do("offers", worker_id=first)["offers"]}
    assert own.key.requester_id not in seen
    assert place.key.requester_id in seen
    own.accept(first, theirs)
    own.submit(first, held)  # what was begun before may be finished
    own.client.delete_worker_block(WorkerId=first, Reason="a mistake")
    own.client.delete_worker_block(WorkerId=first)
    own.accept(first, mine)
    with refused(own, "ParameterValidationError"):
        own.client.create_worker_block(WorkerId="ANOBODY", Reason="x")
    with refused(own, "ParameterValidationError"):
        own.client.create_worker_block(WorkerId="worker", Reason="x")


def test_messages_reach_those_whose_work_was_reviewed(own: Emulator) -> None:
    known, waiting, stranger = own.workers(3)
    hit_id = own.hit()["HITId"]
    own.client.approve_assignment(AssignmentId=own.submitted(hit_id, known))
    own.submitted(hit_id, waiting)
    given = {"Subject": "A new study", "MessageText": "It is open.", "WorkerIds": [known, waiting, stranger, known]}
    failures = own.client.notify_workers(**given)["NotifyWorkersFailureStatuses"]
    assert [(one["WorkerId"], one["NotifyWorkersFailureCode"]) for one in failures] == [
        (waiting, "HardFailure"),
        (stranger, "HardFailure"),
    ]
    query = select(messages.c.worker_id, messages.c.subject, messages.c.body).where(
        messages.c.requester_id == own.key.requester_id
    )
    found = own.endpoint.call(lambda tx: tx.connection.execute(query).all())
    assert [tuple(row) for row in found] == [(known, "A new study", "It is open.")]
    for wrong in (
        {"WorkerIds": []},
        {"WorkerIds": [known] * 50 + [f"A{n}" for n in range(100)]},
        {"Subject": "x" * 201},
        {"MessageText": "x" * 4097},
    ):
        with refused(own, "ParameterValidationError"):
            own.client.notify_workers(**{**given, **wrong})


def test_a_grant_is_told_unless_that_is_switched_off(own: Emulator) -> None:
    made = own.client.create_qualification_type(Name="n", Description="d", QualificationTypeStatus="Active")
    type_id = made["QualificationType"]["QualificationTypeId"]
    told, untold = own.workers(2)
    own.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=told)
    own.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=untold, SendNotification=False)
    query = select(messages.c.worker_id).where(messages.c.requester_id == own.key.requester_id)
    assert own.endpoint.call(lambda tx: list(tx.connection.scalars(query))) == [told]
