"""The wire: who may come in, what is read, what is answered."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import botocore.session
import httpx2
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.validate import ParamValidator
from hypothesis import given, settings
from hypothesis import strategies as st

from mturk.endpoint.errors import MTurkRequestError
from mturk.endpoint.keys import revoke
from mturk.endpoint.operations import OPERATIONS
from mturk.endpoint.protocol import check, service
from tests.mturk.emulated import HIT, Emulator, refused

TARGET = "MTurkRequesterServiceV20170117."
ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def signed(place: Emulator, operation: str = "GetAccountBalance", body: bytes = b"{}", **change: Any) -> AWSRequest:
    """Return a signed request; ``change`` sets secret, service, or headers that are signed too."""
    headers = {"X-Amz-Target": TARGET + operation, "Content-Type": "application/x-amz-json-1.1"}
    request = AWSRequest("POST", place.url + "/", headers | change.get("headers", {}), body)
    secret = change.get("secret", place.key.secret_access_key)
    credentials = Credentials(change.get("key", place.key.access_key_id), secret)
    SigV4Auth(credentials, change.get("service", "mturk-requester"), change.get("region", "us-east-1")).add_auth(
        request
    )
    return request


def sent(place: Emulator, request: AWSRequest, **change: Any) -> httpx2.Response:
    """Send a signed request; ``change`` sets body or headers after signing."""
    headers = dict(request.headers.items()) | change.get("headers", {})
    body = change.get("body", request.data)
    return httpx2.post(change.get("url", place.url + "/"), headers=headers, content=body)


def kind_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 400, answer.text
    return str(answer.json()["__type"])


def test_an_empty_answer_is_an_object_with_a_request_id(place: Emulator) -> None:
    answer = sent(place, signed(place))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-amz-json-1.1"
    assert len(answer.headers["x-amzn-requestid"]) == 36
    assert set(answer.json()) == {"AvailableBalance", "OnHoldBalance"}


def test_any_region_is_good(place: Emulator) -> None:
    assert sent(place, signed(place, region="eu-west-1")).status_code == 200


def test_who_is_not_known_does_not_come_in(place: Emulator) -> None:
    other = place.requester("revoked")
    place.endpoint.call(lambda tx: revoke(tx, other.access_key_id))
    gone = {"key": other.access_key_id, "secret": other.secret_access_key}
    assert kind_of(sent(place, signed(place, **gone))) == "UnrecognizedClientException"
    assert kind_of(sent(place, signed(place, key="AKIAIOSFODNN7EXAMPLE"))) == "UnrecognizedClientException"
    assert kind_of(sent(place, signed(place, secret="wrong"))) == "InvalidSignatureException"
    assert kind_of(sent(place, signed(place, service="s3"))) == "InvalidSignatureException"
    bare = httpx2.post(place.url + "/", headers={"X-Amz-Target": TARGET + "GetAccountBalance"}, content=b"{}")
    assert kind_of(bare) == "MissingAuthenticationTokenException"
    basic = sent(place, signed(place), headers={"Authorization": "Basic abc"})
    assert kind_of(basic) == "IncompleteSignatureException"


def test_signature_of_body_headers_and_time(place: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature is of this body these headers and this quarter of an hour."""
    assert kind_of(sent(place, signed(place), body=b'{"a": 1}')) == "InvalidSignatureException"
    assert kind_of(sent(place, signed(place), url=place.url + "/?x=1")) == "InvalidSignatureException"
    other = {"X-Amz-Target": TARGET + "ListHITs"}
    assert kind_of(sent(place, signed(place), headers=other)) == "InvalidSignatureException"
    unsigned = {"X-Amz-Security-Token": "x"}  # every x-amz- header has to be signed
    assert kind_of(sent(place, signed(place), headers=unsigned)) == "InvalidSignatureException"
    hidden = {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}  # the body always takes part
    assert kind_of(sent(place, signed(place, headers=hidden))) == "InvalidSignatureException"
    for minutes, status in ((-14, 200), (14, 200), (-16, 400), (16, 400)):
        with monkeypatch.context() as patch:
            now = datetime.fromtimestamp(datetime.now(UTC).timestamp() + 60 * minutes, UTC)
            patch.setattr("botocore.auth.get_current_datetime", lambda now=now: now)
            assert sent(place, signed(place)).status_code == status, minutes


def test_no_secret_is_in_the_store_or_in_an_error(place: Emulator) -> None:
    text = sent(place, signed(place, secret=place.key.secret_access_key + "x")).text
    assert place.key.secret_access_key not in text
    files = place.endpoint.store.name
    for end in ("", "-wal"):
        with open(files + end, "rb") as file:
            held = file.read()
        assert place.key.secret_access_key.encode() not in held
        assert place.host_key not in held
        assert place.host_key.hex().encode() not in held


@pytest.mark.parametrize(
    ("operation", "body", "kind"),
    [
        ("NoSuchOperation", b"{}", "UnknownOperationException"),
        ("ListHITs", b"{", "SerializationException"),
        ("ListHITs", b"[]", "SerializationException"),
        ("ListHITs", b'{"MaxResults": NaN}', "SerializationException"),
        ("ListHITs", b"[" * 100_000, "SerializationException"),
        ("ListHITs", b'\xff{"MaxResults": 1}', "SerializationException"),
        ("ListHITs", b'{"MaxResults": "10"}', "ParameterValidationError"),
        ("ListHITs", b'{"MaxResults": true}', "ParameterValidationError"),
        ("ListHITs", b'{"MaxResults": 101}', "ParameterValidationError"),
        ("ListHITs", b'{"Unknown": 1}', "ParameterValidationError"),
        ("GetHIT", b"{}", "ParameterValidationError"),
        ("GetHIT", b'{"HITId": "bad id!"}', "ParameterValidationError"),
        ("GetHIT", b'{"HITId": "3A\\n"}', "ParameterValidationError"),
        ("GetHIT", b'{"HITId": ""}', "ParameterValidationError"),
        ("UpdateExpirationForHIT", b'{"HITId": "3A", "ExpireAt": "soon"}', "ParameterValidationError"),
        ("UpdateExpirationForHIT", b'{"HITId": "3A", "ExpireAt": 1e300}', "ParameterValidationError"),
        ("CreateWorkerBlock", b'{"WorkerId": "W1", "Reason": "x"}', "ParameterValidationError"),
        ("ListReviewableHITs", b'{"Status": "Assignable"}', "ParameterValidationError"),
        ("SendBonus", b'{"WorkerId": "A1"}', "ParameterValidationError"),
        ("ListHITs", b'{"NextToken": null}', None),
        ("ListHITs", b"", None),
    ],
    ids=str,
)
def test_what_the_model_does_not_allow_is_told(place: Emulator, operation: str, body: bytes, kind: str | None) -> None:
    answer = sent(place, signed(place, operation, body))
    if kind is None:
        assert answer.status_code == 200
    else:
        assert kind_of(answer) == kind
        assert len(answer.json()["Message"]) > 10


def test_a_request_that_is_too_large_is_not_read(place: Emulator) -> None:
    answer = sent(place, signed(place, "CreateHIT", b" " * 1_000_001))
    assert answer.status_code == 413


def test_every_operation_of_the_model_is_there() -> None:
    assert set(OPERATIONS) == set(service().operation_names)
    assert len(OPERATIONS) == 39


def test_two_operations_are_refused_by_name(place: Emulator) -> None:
    with refused(place, "SpaEndpoint.NotSupported") as told:
        place.client.get_file_upload_url(AssignmentId="3A", QuestionIdentifier="q")
    assert "GetFileUploadURL" in told.value.response["Message"]
    with refused(place, "SpaEndpoint.NotSupported") as told:
        place.client.list_review_policy_results_for_hit(HITId="3A")
    assert "ListAssignmentsForHIT" in told.value.response["Message"]


@given(st.sampled_from(sorted(OPERATIONS)), st.dictionaries(st.text(max_size=8), ANSWERS, max_size=4), st.data())
@settings(max_examples=150)
def test_whatever_arrives_is_read_or_refused(operation: str, junk: dict[str, Any], data: st.DataObject) -> None:
    """Values of the right names and any type, and names that nobody knows: never anything but a refusal."""
    shape = service().operation_model(operation).input_shape
    names = data.draw(st.lists(st.sampled_from(sorted(shape.members) or ["x"]), max_size=4))
    given = json.loads(json.dumps(junk | {name: data.draw(ANSWERS) for name in names}))
    given = {name: value for name, value in given.items() if value is not None}
    try:
        check(given, shape)
    except MTurkRequestError:
        return
    assert not ParamValidator().validate(given, shape).has_errors()


def test_what_is_answered_is_what_the_model_promises(own: Emulator) -> None:
    """Raw answers, before boto3 forgives anything: the model's own check, and no member that it does not know."""
    model = botocore.session.get_session().get_service_model("mturk")
    hit_id = own.hit(RequesterAnnotation="r")["HITId"]
    (worker,) = own.workers()
    work = own.submitted(hit_id, worker)
    own.client.send_bonus(WorkerId=worker, BonusAmount="1", AssignmentId=work, Reason="r")
    made = own.client.create_qualification_type(Name="n", Description="d", QualificationTypeStatus="Active")
    type_id = made["QualificationType"]["QualificationTypeId"]
    own.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=worker)
    own.client.create_worker_block(WorkerId=worker, Reason="r")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("GetAccountBalance", {}),
        ("GetHIT", {"HITId": hit_id}),
        ("ListHITs", {}),
        ("ListAssignmentsForHIT", {"HITId": hit_id}),
        ("GetAssignment", {"AssignmentId": work}),
        ("ListBonusPayments", {"AssignmentId": work}),
        ("GetQualificationType", {"QualificationTypeId": type_id}),
        ("GetQualificationType", {"QualificationTypeId": "00000000000000000071"}),
        ("ListQualificationTypes", {"MustBeRequestable": False, "MaxResults": 100}),
        ("GetQualificationScore", {"QualificationTypeId": type_id, "WorkerId": worker}),
        ("ListWorkersWithQualificationType", {"QualificationTypeId": type_id}),
        ("ListWorkerBlocks", {}),
        (
            "CreateHITType",
            {name: HIT[name] for name in ("Title", "Description", "Reward", "AssignmentDurationInSeconds")},
        ),
        ("NotifyWorkers", {"Subject": "s", "MessageText": "m", "WorkerIds": [worker]}),
        ("DeleteWorkerBlock", {"WorkerId": worker}),
    ]
    for operation, parameters in asked:
        answer = sent(own, signed(own, operation, json.dumps(parameters).encode()))
        assert answer.status_code == 200, answer.text
        shape = model.operation_model(operation).output_shape
        report = ParamValidator().validate(answer.json(), shape)
        assert not report.has_errors(), (operation, report.generate_report())
        check(answer.json(), shape)
