"""Qualification types, who has them, and what that lets a worker see, look at and accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.requirements import COMPARE, Locale, QualificationValue, check_requirements, meets
from tests.mturk.emulated import Emulator, pages_of, refused

APPROVED, PERCENT = "00000000000000000040", "000000000000000000L0"
LOCALE, ADULT = "00000000000000000071", "00000000000000000060"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
COMPARATORS = (*COMPARE, "Exists", "DoesNotExist", "In", "NotIn")


def new_type(own: Emulator, name: str = "family", **more: object) -> str:
    given = {"Name": name, "Description": "d", "QualificationTypeStatus": "Active"} | more
    return str(own.client.create_qualification_type(**given)["QualificationType"]["QualificationTypeId"])


def asking(type_id: str, comparator: str, *values: int, guard: str = "Accept") -> dict[str, object]:
    asked: dict[str, object] = {"QualificationTypeId": type_id, "Comparator": comparator, "ActionsGuarded": guard}
    return asked | ({"IntegerValues": list(values)} if values else {})


def can(own: Emulator, worker: str, hit_id: str) -> tuple[bool, bool, bool]:
    """Return whether a worker discovers, may preview and may accept a HIT; accepting is tried."""
    seen = [offer for offer in own.offers(worker) if offer["first_hit_id"] == hit_id]
    answer = own.control.post("accept", json={"worker_id": worker, "hit_id": hit_id})
    assert (answer.status_code == 200) == bool(seen and not seen[0]["to_accept"])
    return bool(seen), bool(seen and not seen[0]["to_preview"]), answer.status_code == 200


@pytest.mark.parametrize("comparator", COMPARATORS)
@pytest.mark.parametrize("value", [None, 1, 5, 9])
def test_every_comparator_with_a_value_and_without(comparator: str, value: int | None) -> None:
    """The table is worked by hand: a comparison of values is met by nobody who has none."""
    met = {
        "LessThan": {1},
        "LessThanOrEqualTo": {1, 5},
        "GreaterThan": {9},
        "GreaterThanOrEqualTo": {5, 9},
        "EqualTo": {5},
        "NotEqualTo": {1, 9},
        "In": {5, 9},
        "NotIn": {1},
        "Exists": {1, 5, 9},
        "DoesNotExist": {None},
    }[comparator]
    values = {"In": [5, 9], "NotIn": [5, 9], "Exists": [], "DoesNotExist": []}.get(comparator, [5])
    held = None if value is None else QualificationValue(number=value)
    assert meets(asking("3A", comparator, *values), held) == (value in met)


@pytest.mark.parametrize(
    ("comparator", "places", "met"),
    [
        ("EqualTo", ["US"], {"US", "US-CA"}),
        ("EqualTo", ["US-CA"], {"US-CA"}),
        ("NotEqualTo", ["US"], {"DE"}),
        ("NotEqualTo", ["US-CA"], {"US", "DE"}),
        ("In", ["US-CA", "DE"], {"US-CA", "DE"}),
        ("NotIn", ["US-CA", "DE"], {"US"}),
    ],
)
def test_places_lie_in_their_country(comparator: str, places: list[str], met: set[str]) -> None:
    def split(place: str) -> tuple[str, str | None]:
        return place[:2], place[3:] or None

    values = [{"Country": country} | ({"Subdivision": part} if part else {}) for country, part in map(split, places)]
    asked = {"QualificationTypeId": LOCALE, "Comparator": comparator, "LocaleValues": values}
    check_requirements([asked])
    for place in ("US", "US-CA", "DE"):
        country, part = split(place)
        assert meets(asked, QualificationValue(locale=Locale(country=country, subdivision=part))) == (place in met)
    assert not meets(asked, None)


@given(
    value=st.integers(-(2**31), 2**31 - 1),
    bounds=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=15),
)
def test_opposite_comparators_divide_all_who_have_a_value(value: int, bounds: list[int]) -> None:
    """Of two opposites exactly one is met, so no worker is both let in and kept out."""
    held = QualificationValue(number=value)
    for one, other, values in (
        ("LessThan", "GreaterThanOrEqualTo", bounds[:1]),
        ("GreaterThan", "LessThanOrEqualTo", bounds[:1]),
        ("EqualTo", "NotEqualTo", bounds[:1]),
        ("In", "NotIn", bounds),
    ):
        assert meets(asking("3A", one, *values), held) != meets(asking("3A", other, *values), held)


@pytest.mark.parametrize(
    "asked",
    [
        [asking("3A", "Exists")] * 11,
        [asking("3A", "Exists", 1)],
        [asking("3A", "EqualTo")],
        [asking("3A", "EqualTo", 1, 2)],
        [asking("3A", "In", *range(16))],
        [asking(LOCALE, "EqualTo", 1)],
        [asking(LOCALE, "Exists")],
        [{"QualificationTypeId": LOCALE, "Comparator": "LessThan", "LocaleValues": [{"Country": "US"}]}],
        [{"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "LocaleValues": [{"Country": "US"}] * 2}],
        [{"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": [{"Country": "US"}] * 31}],
        [{"QualificationTypeId": "3A", "Comparator": "EqualTo", "LocaleValues": [{"Country": "US"}]}],
        [asking(MASTERS, "EqualTo", 1)],
        [asking("3A", "Exists") | {"RequiredToPreview": True}],
    ],
    ids=str,
)
def test_requirements_that_say_nothing_clear_are_refused(asked: list[dict[str, object]]) -> None:
    with pytest.raises(MTurkRequestError, match="QualificationRequirements"):
        check_requirements(asked)


@pytest.mark.parametrize(
    ("guard", "without"),
    [
        ({"ActionsGuarded": "Accept"}, (True, True, False)),
        ({"ActionsGuarded": "PreviewAndAccept"}, (True, False, False)),
        ({"ActionsGuarded": "DiscoverPreviewAndAccept"}, (False, False, False)),
        ({"RequiredToPreview": True}, (True, False, False)),
        ({}, (True, True, False)),
    ],
    ids=str,
)
def test_a_guard_keeps_from_its_actions_and_no_others(
    own: Emulator, guard: dict[str, object], without: tuple[bool, bool, bool]
) -> None:
    type_id = new_type(own)
    hit_id = own.hit(QualificationRequirements=[{"QualificationTypeId": type_id, "Comparator": "Exists", **guard}])[
        "HITId"
    ]
    lacking, having = own.workers(2)
    own.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=having, SendNotification=False)
    assert can(own, lacking, hit_id) == without
    assert can(own, having, hit_id) == (True, True, True)


def test_everybody_once_a_study_family(own: Emulator) -> None:
    """The way in which studies exclude those who took part before."""
    type_id = new_type(own)
    asked = asking(type_id, "DoesNotExist", guard="DiscoverPreviewAndAccept")
    first, second = (own.hit(Title=title, QualificationRequirements=[asked])["HITId"] for title in ("one", "two"))
    (worker,) = own.workers()
    own.submitted(first, worker)
    assert len(own.offers(worker)) == 1
    own.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=worker, SendNotification=False)
    assert own.offers(worker) == []
    answer = own.control.post("accept", json={"worker_id": worker, "hit_id": second})
    assert answer.json()["code"] == "AWS.MechanicalTurk.HITDoesNotExist"
    own.client.disassociate_qualification_from_worker(QualificationTypeId=type_id, WorkerId=worker, Reason="try again")
    assert can(own, worker, second) == (True, True, True)


def test_what_the_endpoint_itself_knows_of_workers(own: Emulator) -> None:
    german, master = own.workers(1, country="DE", adult=True) + own.workers(1, country="US", masters=True)
    place = {"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": [{"Country": "DE"}]}
    for asked, wanted in (
        (place, {german}),
        (asking(ADULT, "EqualTo", 1), {german}),
        (asking(MASTERS, "Exists"), {master}),
        (asking("2ARFPLSP75KLA8M8DH1HTEQVJT3SY6", "Exists"), {master}),
        (asking(APPROVED, "GreaterThan", 0), set()),
        (asking(PERCENT, "GreaterThanOrEqualTo", 100), {german, master}),
    ):
        hit_id = own.hit(Title=str(asked)[-100:], QualificationRequirements=[asked])["HITId"]
        assert {worker for worker in (german, master) if can(own, worker, hit_id)[2]} == wanted, asked


def test_approval_share_from_hundredth_submission(own: Emulator) -> None:
    """The share of approvals counts from the hundredth submission."""
    (worker,) = own.workers()
    hits = [own.hit(MaxAssignments=1, Reward="0.01")["HITId"] for _ in range(100)]
    made = own.do("work", worker_ids=[worker], hit_ids=hits[:99], fields={"a": "1"})["assignment_ids"]
    for work in made[:3]:
        own.client.reject_assignment(AssignmentId=work, RequesterFeedback="no")
    for work in made[3:10]:
        own.client.approve_assignment(AssignmentId=work)
    good = own.hit(QualificationRequirements=[asking(PERCENT, "GreaterThan", 70)])["HITId"]
    assert not unmet_of(own, worker, good)
    own.do("work", worker_ids=[worker], hit_ids=hits[99:], fields={"a": "1"})
    assert unmet_of(own, worker, good)  # 7 of the 10 that were reviewed
    own.client.approve_assignment(AssignmentId=made[10])
    assert not unmet_of(own, worker, good)  # 8 of 11, 73 %
    number = own.hit(QualificationRequirements=[asking(APPROVED, "EqualTo", 8)])["HITId"]
    assert not unmet_of(own, worker, number)


def unmet_of(own: Emulator, worker: str, hit_id: str) -> list[object]:
    """Return what a worker lacks to accept a HIT that they see."""
    (offer,) = [one for one in own.offers(worker) if one["first_hit_id"] == hit_id]
    return list(offer["to_accept"])


def test_a_name_is_used_once_and_free_when_no_hit_needs_it(own: Emulator) -> None:
    type_id = new_type(own, "family", Keywords="study, one")
    with refused(own, "QualificationTypeAlreadyExists") as told:
        new_type(own, "family")
    assert "You have already created a QualificationType with this name" in told.value.response["Message"]
    hit_id = own.hit(QualificationRequirements=[asking(type_id, "Exists")])["HITId"]
    own.client.delete_qualification_type(QualificationTypeId=type_id)
    with refused(own, "QualificationTypeDoesNotExist"):
        own.client.get_qualification_type(QualificationTypeId=type_id)
    with refused(own, "QualificationTypeDoesNotExist"):
        own.hit(Title="another", QualificationRequirements=[asking(type_id, "Exists")])
    with refused(own, "HITTypeDoesNotExist"):
        own.hit(QualificationRequirements=[asking(type_id, "Exists")])
    with refused(own, "QualificationTypeAlreadyExists"):
        new_type(own, "family")
    own.client.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    own.client.delete_hit(HITId=hit_id)
    assert new_type(own, "family") != type_id


def test_types_are_found_by_words_and_hits_by_type(own: Emulator) -> None:
    first, second = new_type(own, "Family one"), new_type(own, "other", Description="of the FAMILY")
    mine = pages_of(
        own.client,
        "list_qualification_types",
        "QualificationTypes",
        MustBeRequestable=False,
        MustBeOwnedByCaller=True,
        Query="family",
    )
    assert [one["QualificationTypeId"] for one in mine] == [first, second]
    every = pages_of(own.client, "list_qualification_types", "QualificationTypes", MustBeRequestable=False)
    assert {APPROVED, PERCENT, LOCALE, ADULT, MASTERS, first, second} <= {one["QualificationTypeId"] for one in every}
    asked = own.client.list_qualification_types(MustBeRequestable=True, Query="100%_")["QualificationTypes"]
    assert asked == []
    assert own.client.get_qualification_type(QualificationTypeId=LOCALE)["QualificationType"]["Name"] == "Worker_Locale"
    hit_id = own.hit(QualificationRequirements=[asking(first, "Exists")])["HITId"]
    own.hit()
    found = pages_of(own.client, "list_hits_for_qualification_type", "HITs", QualificationTypeId=first)
    assert [hit["HITId"] for hit in found] == [hit_id]


def test_scores_are_given_changed_revoked_and_listed(own: Emulator) -> None:
    type_id = new_type(own)
    first, second = own.workers(2)
    with refused(own, "QualificationDoesNotExist"):
        own.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=first)
    for worker, value in ((first, 3), (second, 4), (first, 7)):
        own.client.associate_qualification_with_worker(
            QualificationTypeId=type_id, WorkerId=worker, IntegerValue=value, SendNotification=False
        )
    score = own.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=first)["Qualification"]
    assert (score["IntegerValue"], score["Status"]) == (7, "Granted")
    own.client.disassociate_qualification_from_worker(QualificationTypeId=type_id, WorkerId=second)
    with refused(own, "InvalidQualificationState"):
        own.client.disassociate_qualification_from_worker(QualificationTypeId=type_id, WorkerId=second)
    revoked = own.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=second)["Qualification"]
    assert revoked["Status"] == "Revoked"
    for status, wanted in ({}, [first]), ({"Status": "Granted"}, [first]), ({"Status": "Revoked"}, [second]):
        found = pages_of(
            own.client,
            "list_workers_with_qualification_type",
            "Qualifications",
            QualificationTypeId=type_id,
            **status,
        )
        assert [one["WorkerId"] for one in found] == wanted
    with refused(own, "ParameterValidationError"):
        own.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId="ANOBODY")


def test_workers_ask_and_requesters_answer(own: Emulator) -> None:
    type_id = new_type(own, RetryDelayInSeconds=3600)
    first, second = own.workers(2)
    one, two = (
        own.do("request-qualification", worker_id=worker, qualification_type_id=type_id)["request_id"]
        for worker in (first, second)
    )
    listed = pages_of(own.client, "list_qualification_requests", "QualificationRequests", QualificationTypeId=type_id)
    assert [(found["QualificationRequestId"], found["WorkerId"]) for found in listed] == [(one, first), (two, second)]
    own.client.accept_qualification_request(QualificationRequestId=one, IntegerValue=12)
    own.client.reject_qualification_request(QualificationRequestId=two, Reason="not yet")
    assert own.client.list_qualification_requests()["QualificationRequests"] == []
    assert (
        own.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=first)["Qualification"]["IntegerValue"]
        == 12
    )
    with refused(own, "InvalidQualificationRequestState"):
        own.client.accept_qualification_request(QualificationRequestId=two)
    with refused(own, "QualificationRequestDoesNotExist"):
        own.client.reject_qualification_request(QualificationRequestId="3NONE")
    again = own.control.post("request-qualification", json={"worker_id": second, "qualification_type_id": type_id})
    assert again.json()["code"] == "AWS.MechanicalTurk.QualificationTypeRetryDelayNotElapsed"
    own.advance(3600)
    own.do("request-qualification", worker_id=second, qualification_type_id=type_id)


def test_a_type_may_grant_itself_and_be_changed(own: Emulator) -> None:
    type_id = new_type(own)
    changed = own.client.update_qualification_type(
        QualificationTypeId=type_id, Description="new", AutoGranted=True, AutoGrantedValue=5
    )["QualificationType"]
    assert (changed["Description"], changed["AutoGranted"], changed["AutoGrantedValue"]) == ("new", True, 5)
    (worker,) = own.workers()
    own.do("request-qualification", worker_id=worker, qualification_type_id=type_id)
    score = own.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=worker)["Qualification"]
    assert score["IntegerValue"] == 5
    own.client.update_qualification_type(QualificationTypeId=type_id, QualificationTypeStatus="Inactive")
    with refused(own, "InvalidQualificationTypeState"):
        own.hit(QualificationRequirements=[asking(type_id, "Exists")])


@pytest.mark.parametrize("left_out", [{"Test": "<x/>", "TestDurationInSeconds": 60}, {"AnswerKey": "<x/>"}], ids=str)
def test_tests_are_refused_by_name(own: Emulator, left_out: dict[str, object]) -> None:
    with refused(own, "SpaEndpoint.NotSupported"):
        new_type(own, "tested", **left_out)
    type_id = new_type(own, "untested")
    with refused(own, "SpaEndpoint.NotSupported"):
        own.client.update_qualification_type(QualificationTypeId=type_id, **left_out)


def test_types_of_others_are_not_there(own: Emulator, place: Emulator) -> None:
    type_id = new_type(own)
    (worker,) = own.workers()
    for call in (
        lambda: place.client.get_qualification_type(QualificationTypeId=type_id),
        lambda: place.client.update_qualification_type(QualificationTypeId=type_id, Description="x"),
        lambda: place.client.delete_qualification_type(QualificationTypeId=type_id),
        lambda: place.client.get_qualification_score(QualificationTypeId=type_id, WorkerId=worker),
        lambda: place.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=worker),
        lambda: place.client.list_workers_with_qualification_type(QualificationTypeId=type_id),
        lambda: place.hit(QualificationRequirements=[asking(type_id, "Exists")]),
    ):
        with refused(place, "QualificationTypeDoesNotExist"):
            call()
