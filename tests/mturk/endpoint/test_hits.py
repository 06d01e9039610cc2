"""HITs over boto3 against the endpoint: creating, listing, expiring, extending, disposing of."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mturk.endpoint.transaction import HostRules
from tests.mturk.emulated import HIT, QUESTION, Emulator, emulator, pages_of, refused

DAY = 86_400
TYPE = {name: value for name, value in HIT.items() if name not in ("LifetimeInSeconds", "MaxAssignments", "Question")}


def counters(place: Emulator, hit_id: str) -> tuple[str, int, int, int]:
    """Return the state and how many assignments are available, pending and completed."""
    hit = place.get(hit_id)
    names = ("Available", "Pending", "Completed")
    available, pending, completed = (hit[f"NumberOfAssignments{name}"] for name in names)
    return hit["HITStatus"], available, pending, completed


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_the_counters_follow_each_step(database: str) -> None:
    with emulator(database) as place:
        hit_id = place.hit(MaxAssignments=2)["HITId"]
        first, second = place.workers(2)
        assert counters(place, hit_id) == ("Assignable", 2, 0, 0)
        one = place.accept(first, hit_id)
        assert counters(place, hit_id) == ("Assignable", 1, 1, 0)
        two = place.accept(second, hit_id)
        assert counters(place, hit_id) == ("Unassignable", 0, 2, 0)
        place.submit(first, one)
        assert counters(place, hit_id) == ("Unassignable", 0, 1, 0)
        place.submit(second, two)
        assert counters(place, hit_id) == ("Reviewable", 0, 0, 0)
        place.client.approve_assignment(AssignmentId=one)
        place.client.reject_assignment(AssignmentId=two, RequesterFeedback="empty")
        assert counters(place, hit_id) == ("Reviewable", 0, 0, 2)
        place.client.delete_hit(HITId=hit_id)
        assert place.get(hit_id)["HITStatus"] == "Disposed"


def test_a_hit_says_all_that_it_was_created_with(own: Emulator) -> None:
    asked = {"QualificationTypeId": "00000000000000000040", "Comparator": "GreaterThan", "IntegerValues": [50]}
    hit = own.hit(RequesterAnnotation="batch 7", QualificationRequirements=[asked], AutoApprovalDelayInSeconds=3 * DAY)
    now = own.clock()
    assert {name: hit[name] for name in TYPE} == TYPE
    assert hit["RequesterAnnotation"] == "batch 7"
    assert hit["Question"] == QUESTION
    assert hit["QualificationRequirements"] == [asked]
    assert hit["AutoApprovalDelayInSeconds"] == 3 * DAY
    assert (hit["CreationTime"], hit["Expiration"]) == (at(now), at(now + HIT["LifetimeInSeconds"]))
    assert (hit["HITStatus"], hit["HITReviewStatus"], hit["MaxAssignments"]) == ("Assignable", "NotReviewed", 3)
    assert own.hit(AutoApprovalDelayInSeconds=0)["AutoApprovalDelayInSeconds"] == 0
    assert own.hit()["AutoApprovalDelayInSeconds"] == 30 * DAY


def test_a_token_creates_one_hit_a_day(own: Emulator) -> None:
    first = own.hit(UniqueRequestToken="once")["HITId"]
    for seconds in (0, DAY - 1):
        own.advance(seconds)
        with refused(own, "HitAlreadyExists") as told:
            own.client.create_hit(**HIT, UniqueRequestToken="once")
        assert first in told.value.response["Message"]
    own.advance(1)
    assert own.hit(UniqueRequestToken="once")["HITId"] != first
    other = own.client_of(own.requester("somebody with the same token"))
    other.create_hit(**HIT, UniqueRequestToken="once")


def test_the_same_seven_properties_are_one_type(own: Emulator) -> None:
    first = own.client.create_hit_type(**TYPE)["HITTypeId"]
    assert own.client.create_hit_type(**TYPE)["HITTypeId"] == first
    hit = own.hit(RequesterAnnotation="does not matter")
    assert hit["HITTypeId"] == first
    other = own.client.create_hit_with_hit_type(HITTypeId=first, LifetimeInSeconds=60, Question=QUESTION)["HIT"]
    assert (other["HITTypeId"], other["HITGroupId"], other["Title"]) == (first, hit["HITGroupId"], HIT["Title"])
    changes = {"Title": "x", "Description": "x", "Keywords": "x", "Reward": "0.51", "AssignmentDurationInSeconds": 601}
    more = {
        "AutoApprovalDelayInSeconds": 7,
        "QualificationRequirements": [
            {"QualificationTypeId": "00000000000000000060", "Comparator": "EqualTo", "IntegerValues": [1]}
        ],
    }
    made = {
        own.client.create_hit_type(**{**TYPE, name: value})["HITTypeId"] for name, value in (changes | more).items()
    }
    assert len(made - {first}) == 7


def test_another_type_changes_what_a_hit_pays_and_asks(own: Emulator) -> None:
    hit = own.hit()
    dearer = own.client.create_hit_type(**{**TYPE, "Reward": "0.75"})["HITTypeId"]
    own.client.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=dearer)
    after = own.get(hit["HITId"])
    assert (after["HITTypeId"], after["Reward"]) == (dearer, "0.75")
    assert after["HITGroupId"] != hit["HITGroupId"]
    assert own.client.get_account_balance()["OnHoldBalance"] == "2.70"  # three times 0.75 and 0.15


def test_who_accepted_before_expiry_may_still_submit(own: Emulator) -> None:
    hit_id = own.hit(LifetimeInSeconds=60, MaxAssignments=2)["HITId"]
    first, late = own.workers(2)
    work = own.accept(first, hit_id)
    own.advance(60)
    assert counters(own, hit_id) == ("Unassignable", 1, 1, 0)
    answer = own.control.post("accept", json={"worker_id": late, "hit_id": hit_id})
    assert (answer.status_code, answer.json()["code"]) == (400, "AWS.MechanicalTurk.InvalidHITState")
    own.advance(539)
    own.submit(first, work)
    assert counters(own, hit_id) == ("Reviewable", 1, 0, 0)


def test_expired_assignment_is_free_again(own: Emulator) -> None:
    """An assignment that runs out is free again while the HIT lives."""
    hit_id = own.hit(LifetimeInSeconds=3600, MaxAssignments=1)["HITId"]
    first, second = own.workers(2)
    work = own.accept(first, hit_id)
    own.advance(600)
    assert counters(own, hit_id) == ("Assignable", 1, 0, 0)
    late = own.control.post("submit", json={"worker_id": first, "assignment_id": work, "fields": {"a": "1"}})
    assert late.json()["code"] == "AWS.MechanicalTurk.InvalidAssignmentState"
    own.accept(second, hit_id)
    own.advance(3600)
    assert counters(own, hit_id) == ("Reviewable", 1, 0, 0)
    assert own.client.list_assignments_for_hit(HITId=hit_id)["NumResults"] == 0


def test_expiring_and_opening_again(own: Emulator) -> None:
    hit_id = own.hit()["HITId"]
    own.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=at(0))
    assert counters(own, hit_id) == ("Reviewable", 3, 0, 0)
    own.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=at(own.clock() + DAY))
    assert counters(own, hit_id) == ("Assignable", 3, 0, 0)
    own.advance(DAY)
    assert counters(own, hit_id) == ("Reviewable", 3, 0, 0)


def test_extending_opens_a_finished_hit_and_never_crosses_ten(own: Emulator) -> None:
    hit_id = own.hit(MaxAssignments=1)["HITId"]
    (worker,) = own.workers()
    own.submitted(hit_id, worker)
    assert counters(own, hit_id)[0] == "Reviewable"
    given = {"HITId": hit_id, "NumberOfAdditionalAssignments": 8, "UniqueRequestToken": "more"}
    own.client.create_additional_assignments_for_hit(**given)
    assert counters(own, hit_id) == ("Assignable", 8, 0, 0)
    with refused(own, "DuplicateRequest") as told:
        own.client.create_additional_assignments_for_hit(**given)
    assert "has already been processed" in told.value.response["Message"]
    with refused(own, "InvalidMaximumAssignmentsIncrease"):
        own.client.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)
    large = own.hit(MaxAssignments=10)["HITId"]
    own.client.create_additional_assignments_for_hit(HITId=large, NumberOfAdditionalAssignments=5)
    assert own.get(large)["MaxAssignments"] == 15


def test_reviewing_and_back(own: Emulator) -> None:
    hit_id = own.hit()["HITId"]
    with refused(own, "InvalidHITState"):
        own.client.update_hit_review_status(HITId=hit_id)
    own.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=at(0))
    assert [hit["HITId"] for hit in own.client.list_reviewable_hits()["HITs"]] == [hit_id]
    own.client.update_hit_review_status(HITId=hit_id, Revert=False)
    assert own.client.list_reviewable_hits()["HITs"] == []
    found = own.client.list_reviewable_hits(Status="Reviewing", HITTypeId=own.get(hit_id)["HITTypeId"])["HITs"]
    assert [hit["HITStatus"] for hit in found] == ["Reviewing"]
    own.client.update_hit_review_status(HITId=hit_id, Revert=True)
    assert own.get(hit_id)["HITStatus"] == "Reviewable"


def test_only_what_is_finished_and_reviewed_is_disposed_of(own: Emulator) -> None:
    hit_id = own.hit(MaxAssignments=2)["HITId"]
    (worker,) = own.workers()
    work = own.submitted(hit_id, worker)
    with refused(own, "InvalidHITState"):
        own.client.delete_hit(HITId=hit_id)
    own.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=at(0))
    with refused(own, "InvalidHITState") as told:
        own.client.delete_hit(HITId=hit_id)
    assert "This operation can be called with a status of: Reviewing, Reviewable" in told.value.response["Message"]
    own.client.reject_assignment(AssignmentId=work, RequesterFeedback="blank")
    own.client.delete_hit(HITId=hit_id)
    assert own.client.list_hits()["HITs"] == []
    with refused(own, "HITDoesNotExist"):
        own.client.list_assignments_for_hit(HITId=hit_id)
    with refused(own, "AssignmentDoesNotExist"):
        own.client.get_assignment(AssignmentId=work)
    with refused(own, "InvalidHITState"):
        own.client.approve_assignment(AssignmentId=work, OverrideRejection=True)
    with refused(own, "InvalidHITState"):
        own.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=at(own.clock() + DAY))


def test_what_nobody_touches_is_disposed_of_after_120_days(own: Emulator) -> None:
    hit_id = own.hit(LifetimeInSeconds=DAY)["HITId"]
    own.advance(DAY + 120 * DAY - 1)
    assert own.get(hit_id)["HITStatus"] == "Reviewable"
    own.advance(1)
    assert own.get(hit_id)["HITStatus"] == "Disposed"


def test_time_that_passes_at_once_is_the_same_as_step_by_step(own: Emulator) -> None:
    """An abandoned assignment, an automatic approval and a disposal, all in one jump of the clock."""
    hit_id = own.hit(LifetimeInSeconds=3600, MaxAssignments=2, AutoApprovalDelayInSeconds=DAY)["HITId"]
    first, second = own.workers(2)
    work = own.submitted(hit_id, first)
    own.accept(second, hit_id)
    began = own.clock()
    own.advance(60 * DAY)
    assert counters(own, hit_id) == ("Reviewable", 1, 0, 1)
    found = own.client.get_assignment(AssignmentId=work)["Assignment"]
    assert (found["AssignmentStatus"], found["ApprovalTime"]) == ("Approved", at(began + DAY))
    own.advance(61 * DAY - 1)
    assert own.get(hit_id)["HITStatus"] == "Reviewable"
    own.advance(1)
    assert own.get(hit_id)["HITStatus"] == "Disposed"


def test_pages_neither_repeat_nor_hide_what_was_there(own: Emulator) -> None:
    made = [own.hit()["HITId"] for _ in range(5)]
    first = own.client.list_hits(MaxResults=2)
    assert [hit["HITId"] for hit in first["HITs"]] == [made[4], made[3]]
    own.hit()
    second = own.client.list_hits(MaxResults=2, NextToken=first["NextToken"])
    third = own.client.list_hits(MaxResults=100, NextToken=second["NextToken"])
    assert [hit["HITId"] for hit in second["HITs"] + third["HITs"]] == [made[2], made[1], made[0]]
    assert "NextToken" not in third
    assert len(pages_of(own.client, "list_hits", "HITs")) == 6
    for wrong in (first["NextToken"][:-4] + "AAA=", "x"):
        with refused(own, "ParameterValidationError"):
            own.client.list_hits(NextToken=wrong)
    with refused(own, "ParameterValidationError"):  # a token belongs to the list that gave it
        own.client.list_reviewable_hits(NextToken=first["NextToken"])


def test_requesters_see_only_their_own(own: Emulator) -> None:
    hit = own.hit()
    (worker,) = own.workers()
    work = own.submitted(hit["HITId"], worker)
    stranger = own.client_of(own.requester("a stranger"))
    assert stranger.list_hits()["HITs"] == []
    for code, call in (
        ("HITDoesNotExist", lambda: stranger.get_hit(HITId=hit["HITId"])),
        ("HITDoesNotExist", lambda: stranger.list_assignments_for_hit(HITId=hit["HITId"])),
        ("HITDoesNotExist", lambda: stranger.delete_hit(HITId=hit["HITId"])),
        ("HITDoesNotExist", lambda: stranger.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=at(0))),
        ("HITDoesNotExist", lambda: stranger.update_hit_review_status(HITId=hit["HITId"])),
        ("HITDoesNotExist", lambda: stranger.list_bonus_payments(HITId=hit["HITId"])),
        (
            "HITTypeDoesNotExist",
            lambda: stranger.create_hit_with_hit_type(
                HITTypeId=hit["HITTypeId"], LifetimeInSeconds=60, Question=QUESTION
            ),
        ),
        ("HITTypeDoesNotExist", lambda: stranger.update_notification_settings(HITTypeId=hit["HITTypeId"], Active=True)),
        ("AssignmentDoesNotExist", lambda: stranger.get_assignment(AssignmentId=work)),
        ("AssignmentDoesNotExist", lambda: stranger.approve_assignment(AssignmentId=work)),
        ("AssignmentDoesNotExist", lambda: stranger.reject_assignment(AssignmentId=work, RequesterFeedback="x")),
        ("AssignmentDoesNotExist", lambda: stranger.list_bonus_payments(AssignmentId=work)),
        (
            "AssignmentDoesNotExist",
            lambda: stranger.send_bonus(WorkerId=worker, BonusAmount="1", AssignmentId=work, Reason="x"),
        ),
    ):
        with refused(own, code):
            call()


def test_what_is_new_may_show_late_and_not_be_changed_at_once(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with emulator(tmp_path / "late.sqlite") as place:
        place.do("rules", lag=5)
        assert place.endpoint.rules == HostRules(fees="mturk", lag=5)
        hit_id = place.hit()["HITId"]
        assert place.client.list_hits()["HITs"] == []
        with refused(place, "InvalidHITState"):
            place.client.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)
        place.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=at(0))
        assert place.get(hit_id)["HITStatus"] == "Reviewable"
        place.advance(5)
        assert [hit["HITId"] for hit in place.client.list_hits()["HITs"]] == [hit_id]
        assert len(place.client.list_reviewable_hits()["HITs"]) == 1
        place.client.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"Title": "x" * 129}, "ParameterValidationError"),
        ({"Title": ""}, "ParameterValidationError"),
        ({"Description": "x" * 2001}, "ParameterValidationError"),
        ({"Keywords": "x" * 1001}, "ParameterValidationError"),
        ({"RequesterAnnotation": "x" * 256}, "ParameterValidationError"),
        ({"Reward": "$1"}, "ParameterValidationError"),
        ({"Reward": "1.234"}, "ParameterValidationError"),
        ({"Reward": "-1"}, "ParameterValidationError"),
        ({"AssignmentDurationInSeconds": 29}, "ParameterValidationError"),
        ({"LifetimeInSeconds": 31_536_001}, "ParameterValidationError"),
        ({"AutoApprovalDelayInSeconds": 2_592_001}, "ParameterValidationError"),
        ({"MaxAssignments": 0}, "ParameterValidationError"),
        ({"UniqueRequestToken": "x" * 65}, "ParameterValidationError"),
        ({"Title": "a\x00b"}, "ParameterValidationError"),
        ({"Question": "<HTMLQuestion"}, "ParameterValidationError"),
        ({"Question": QUESTION.replace("2011-11-11", "2011-11-12")}, "ParameterValidationError"),
        ({"Question": QUESTION.replace("<form>", "x" * 66_000)}, "ParameterValidationError"),
        ({"Question": QUESTION.replace("<form>", "<crowd-form>")}, "SpaEndpoint.NotSupported"),
        (
            {
                "Question": "<QuestionForm xmlns='http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd'/>"
            },
            "SpaEndpoint.NotSupported",
        ),
        ({"HITLayoutId": "3ABC"}, "SpaEndpoint.NotSupported"),
        ({"AssignmentReviewPolicy": {"PolicyName": "x"}}, "SpaEndpoint.NotSupported"),
        ({"HITReviewPolicy": {"PolicyName": "x"}}, "SpaEndpoint.NotSupported"),
        ({"Reward": "100000"}, "InsufficientFunds"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_created_is_told_and_not_created(place: Emulator, changes: dict[str, object], code: str) -> None:
    before = place.client.get_account_balance()["OnHoldBalance"]
    with refused(place, code):
        place.client.create_hit(**{**HIT, **changes})
    assert place.client.get_account_balance()["OnHoldBalance"] == before


def test_a_question_is_a_must(place: Emulator) -> None:
    with refused(place, "ParameterValidationError"):
        place.client.create_hit(**{name: value for name, value in HIT.items() if name != "Question"})
