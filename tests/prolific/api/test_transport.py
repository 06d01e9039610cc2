"""Every answer that the wire can bring, and what may be sent again after it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from prolific.api.access import Access, find_access
from prolific.api.client import Prolific
from prolific.api.problems import ProlificError, ProlificRequestRefused, Unanswered, Unreachable
from tests.spa.scripted_server import Asked, Said, Served, http, scripted

TOKEN = "a-token-nobody-may-see"
STUDY = "60f6acb180a7b59ac0621f9e"
STUDY_ROW = {"id": STUDY, "name": "n", "status": "UNPUBLISHED"}
DROPPED = Said(raw=b"", close=True)


def client(served: Served, pauses: list[float] | None = None, tries: int = 4) -> Prolific:
    access = Access(base_url=served.url.removesuffix("/v1"), token=TOKEN)
    return Prolific(access, sleep=(pauses if pauses is not None else []).append, rng=random.Random(1), tries=tries)


def after(faults: list[Said], then: dict[str, Any]) -> Callable[[Asked], Said]:
    return lambda asked: faults[asked.number - 1] if asked.number <= len(faults) else http(then)


@pytest.mark.parametrize("fault", [DROPPED, http("oops", status=502), http("busy", status=429), http("<html>")])
def test_what_reads_is_tried_again(fault: Said) -> None:
    pauses: list[float] = []
    with scripted(after([fault, fault], STUDY_ROW)) as served, client(served, pauses) as prolific:
        assert prolific.studies.fetch(STUDY).draft
        assert len(served.asked) == 3
    assert len(pauses) == 2
    assert pauses[1] > pauses[0] > 0


@pytest.mark.parametrize("fault", [DROPPED, http("oops", status=502), http("<html>")])
def test_what_creates_is_sent_once_and_said_to_be_unknown(fault: Said) -> None:
    with scripted(after([fault], STUDY_ROW)) as served, client(served) as prolific:
        with pytest.raises(Unanswered):
            prolific.studies.create({"name": "n"})
        assert len(served.asked) == 1


def test_transport_retries_creation_after_429() -> None:
    """What creates is tried again after a 429 which had no effect."""
    with scripted(after([http("busy", status=429)], STUDY_ROW)) as served, client(served) as prolific:
        assert prolific.studies.create({"name": "n"}).study_id == STUDY
        assert len(served.asked) == 2


def test_a_wait_that_the_platform_asks_for_is_kept() -> None:
    pauses: list[float] = []
    busy = http("busy", status=429, Retry_After="17")
    with scripted(after([busy], STUDY_ROW)) as served, client(served, pauses) as prolific:
        prolific.studies.fetch(STUDY)
    assert pauses == [17.0]


@pytest.mark.parametrize("fault", [DROPPED, http("oops", status=502), http("busy", status=429)])
def test_a_payment_is_sent_once_whatever_happens(fault: Said) -> None:
    with scripted(after([fault], {})) as served, client(served) as prolific:
        with pytest.raises(ProlificError):
            prolific.payments.pay_bonuses(STUDY)
        assert len(served.asked) == 1


def test_no_connection_is_told_apart_from_no_answer() -> None:
    access = Access(base_url="http://127.0.0.1:9", token=TOKEN)
    with Prolific(access, sleep=lambda _: None, tries=2) as prolific, pytest.raises(Unreachable, match="nothing was"):
        prolific.studies.create({})


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": {"status": 400, "error_code": 1, "title": "Bad", "detail": "Too low"}}, "Bad: Too low"),
        ({"status": 400, "error_code": 1, "title": "Bad", "detail": ["One", "Two"]}, "Bad: One; Two"),
        ({"error": {"title": "Bad", "detail": {"reward": ["Too low."]}}}, "Bad: reward: Too low."),
        ({"message": "Bad", "detail": "why"}, "Bad: why"),
    ],
)
def test_transport_refusal_words(body: dict[str, Any], told: str) -> None:
    """A refusal says what the platform says in each of its forms."""
    with scripted(after([http(body, status=400)], {})) as served, client(served) as prolific:
        with pytest.raises(ProlificRequestRefused, match=told) as refusal:
            prolific.studies.create({})
        assert refusal.value.status == 400
        assert json.loads(refusal.value.body) == body


def test_the_token_reaches_the_platform_and_no_message() -> None:
    echo = http({"error": {"title": "Bad", "detail": f"Token {TOKEN} is unknown"}}, status=401)
    with scripted(after([echo], {})) as served, client(served) as prolific:
        with pytest.raises(ProlificRequestRefused) as refusal:
            prolific.workspace_of(STUDY)
        assert served.headers[0]["authorization"] == f"Token {TOKEN}"
        assert served.headers[0]["user-agent"].startswith("spa-eval/")
        assert served.headers[0]["referer"].startswith("https://")
        shown = f"{refusal.value} {refusal.value.body} {prolific.transport.access!r}"
    assert TOKEN not in shown


def test_lists_follow_the_link_to_the_next_page() -> None:
    def script(asked: Asked) -> Said:
        number = asked.number
        row = {"id": f"{number:024x}", "participant_id": "p", "status": "ACTIVE", "started_at": "2026-01-01T00:00:00Z"}
        link = f"{served.url.removesuffix('/v1')}/api/v1/studies/{STUDY}/submissions/?page={number + 1}"
        return http({"results": [row], "_links": {"next": {"href": link if number < 3 else None}}})

    with scripted(script) as served, client(served) as prolific:
        found = [row.submission_id for row in prolific.submissions.of_study(STUDY)]
        assert found == [f"{number:024x}" for number in (1, 2, 3)]
        assert [asked.path[-7:] for asked in served.asked] == ["ssions/", "?page=2", "?page=3"]


@pytest.mark.parametrize("link", ["https://evil.example/api/v1/studies/", "/elsewhere/"])
def test_a_link_that_leads_elsewhere_is_not_followed(link: str) -> None:
    with scripted(after([], {"results": [], "_links": {"next": {"href": link}}})) as served, client(served) as prolific:
        with pytest.raises(ProlificError, match="not followed"):
            list(prolific.submissions.of_study(STUDY))
        assert len(served.asked) == 1


@pytest.mark.parametrize("bad", ["", "../users/me", "60F6ACB180A7B59AC0621F9E", "60f6acb180a7b59ac0621f9e/"])
def test_an_id_that_is_none_reaches_no_address(bad: str) -> None:
    with scripted(after([], {})) as served, client(served) as prolific:
        with pytest.raises(ProlificError, match="24 characters"):
            prolific.submissions.fetch(bad)
        assert served.asked == []


@pytest.mark.parametrize(
    "url",
    ["http://api.prolific.com", "ftp://x", "prolific.com", "https://u:p@x.org", "https://x.org/?a=b", "http://[::", ""],
)
def test_addresses_are_https_or_on_this_machine(url: str) -> None:
    if url:
        with pytest.raises(ProlificError, match="https"):
            find_access(url, {"PROLIFIC_API_TOKEN": TOKEN})
    assert find_access(None, {"PROLIFIC_API_TOKEN": TOKEN}).base_url == "https://api.prolific.com"
    local = find_access(None, {"PROLIFIC_API_TOKEN": TOKEN, "PROLIFIC_API_URL": "http://127.0.0.1:8080/"})
    assert local.base_url == "http://127.0.0.1:8080"
    assert find_access("https://other.org", {"PROLIFIC_API_TOKEN": TOKEN}).base_url == "https://other.org"


@pytest.mark.parametrize("token", ["", "Token abcdefgh", "täglich-neu", "short"])
def test_a_token_that_is_none_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(ProlificError) as refusal:
        find_access(None, {"PROLIFIC_API_TOKEN": token})
    assert not token or token not in str(refusal.value)


def test_transport_submission_shape() -> None:
    """A submission has one shape whichever record it comes from."""
    own = {"id": STUDY, "participant": "p1", "study_id": STUDY, "entered_code": "C", "status": "AWAITING_REVIEW"}
    row = {"id": STUDY, "participant_id": "p1", "study_code": "C", "status": "AWAITING REVIEW"}
    times = {"started_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:01:30+00:00"}
    with scripted(after([http(own | times)], {"results": [row | times]})) as served, client(served) as prolific:
        alone = prolific.submissions.fetch(STUDY)
        (listed,) = prolific.submissions.of_study(STUDY)
    for one in (alone, listed):
        assert (one.participant_id, one.code, one.status, one.seconds) == ("p1", "C", "AWAITING REVIEW", 90.0)
