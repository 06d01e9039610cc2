"""What frames may show: signatures that hold, hosts kept apart, old addresses led here; the site on both databases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mturk.endpoint.site.frame_pages import (
    Capability,
    FrameRefused,
    check_apart,
    page_of,
    page_policy,
    read_capability,
    sandbox_of,
    sign,
)
from mturk.endpoint.site.security import MOST_ADDRESSES, TRIES, FailureLimit
from mturk.endpoint.site.settings import SiteSettings
from mturk.questions import HTMLQuestion
from tests.mturk.lab import open_lab, title_of

PUBLIC = SiteSettings(site_url="https://hits.example.org", frame_url="https://frames.example.org", clock=lambda: 0.0)
LOCAL = SiteSettings(site_url="http://127.0.0.1:8470", frame_url="http://127.0.0.1:8471", clock=lambda: 0.0)
IDS = st.text("ABCXYZ0189", min_size=1, max_size=64)
MADE = st.builds(
    Capability, kind=st.sampled_from(["work", "preview"]), name=IDS, worker_id=IDS, until=st.integers(0, 10**11)
)


@given(MADE, st.binary(min_size=1))
def test_a_signed_address_comes_back(made: Capability, secret: bytes) -> None:
    assert read_capability(secret, sign(secret, made), now=made.until - 1) == made
    assert read_capability(secret, sign(secret, made), now=made.until) is None


@given(MADE, MADE, st.integers(0, 10**6), st.characters(max_codepoint=0x2FF))
def test_no_part_of_a_signed_address_can_be_changed(made: Capability, other: Capability, at: int, put: str) -> None:
    """A character that changes, and a signature under other words."""
    token = sign(b"secret", made)
    at %= len(token)
    changed = token[:at] + put + token[at + 1 :]
    if changed != token:
        assert read_capability(b"secret", changed, now=0) is None
    if other != made:
        grafted = f"{sign(b'secret', other)[:-43]}{token[-43:]}"
        assert read_capability(b"secret", grafted, now=0) is None


@given(st.text(max_size=300))
def test_any_made_up_address_is_nothing(token: str) -> None:
    assert read_capability(b"secret", token, now=0) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://hits.example.org/evil",
        "https://HITS.example.org/evil",
        "https://hits.example.org:8443/evil",
        "http://hits.example.org/evil",
        "https://frames.example.org/evil",
        "no address",
    ],
)
def test_a_page_on_the_host_of_the_site_is_not_shown(url: str) -> None:
    with pytest.raises(FrameRefused):
        check_apart(url, PUBLIC)


def test_frames_of_other_hosts_and_ports() -> None:
    """Pages on other hosts are shown and on this machine on other ports."""
    check_apart("https://survey.example.org/m", PUBLIC)
    check_apart("http://127.0.0.1:8000/m", LOCAL)
    for own in (LOCAL.site_url, LOCAL.frame_url):
        with pytest.raises(FrameRefused):
            check_apart(own + "/m", LOCAL)


@pytest.mark.parametrize(
    ("old", "led"),
    [
        ('<form action="https://www.mturk.com/mturk/externalSubmit">', '<form action="SIGNED/mturk/externalSubmit">'),
        ('<form action="http://www.mturk.com/mturk/externalSubmit">', '<form action="SIGNED/mturk/externalSubmit">'),
        ("f.action = '//workersandbox.mturk.com/mturk/externalSubmit'", "f.action = 'SIGNED/mturk/externalSubmit'"),
        ("<form action=/mturk/externalSubmit>", "<form action=SIGNED/mturk/externalSubmit>"),
        ('f.action = "/mturk/externalSubmit"', 'f.action = "SIGNED/mturk/externalSubmit"'),
        ('f.action = to + "/mturk/externalSubmit"', 'f.action = to + "/mturk/externalSubmit"'),
        ("see https://www.mturk.com/mturk/help", "see https://www.mturk.com/mturk/help"),
    ],
)
def test_old_addresses_are_led_to_the_signed_one(old: str, led: str) -> None:
    signed = "https://frames.example.org/s/x"
    assert page_of(HTMLQuestion(html=old), PUBLIC, submit_to=signed) == led.replace("SIGNED", signed)


def test_no_frame_has_more_rights_than_it_needs() -> None:
    assert sandbox_of(PUBLIC).split() == ["allow-scripts", "allow-forms", "allow-modals"]
    policy = page_policy(PUBLIC)
    assert "sandbox allow-scripts allow-forms allow-modals;" in policy  # also outside a frame
    assert "frame-ancestors https://hits.example.org" in policy
    assert "127.0.0.1" not in policy
    assert "form-action https://frames.example.org" in policy


def test_memory_of_failures_is_bounded() -> None:
    now = [0.0]
    patience = FailureLimit(lambda: now[0])
    for number in range(MOST_ADDRESSES + 50):
        patience.note(f"10.0.{number // 256}.{number % 256}")
    assert len(patience._failures) == MOST_ADDRESSES
    for _ in range(TRIES + 5):
        patience.note("last")
    assert patience.is_over("last")
    assert not patience.is_over("10.0.39.1")
    now[0] = 61.0
    assert not patience.is_over("last")


def test_the_site_on_both_databases(database: str) -> None:
    with open_lab(database) as lab:
        worker = lab.worker(country="GB")
        hit = lab.publish()
        kind = lab.ask("CreateQualificationType", Name="N", Description="D", QualificationTypeStatus="Active")
        asked = kind["QualificationType"]["QualificationTypeId"]
        with lab.visitor(worker) as visitor:
            name = visitor.accept(hit)
            assert visitor.submit(assignmentId=name, q="1").status_code == 200
            lab.ask("ApproveAssignment", AssignmentId=name)
            bonus = {"BonusAmount": "0.30", "Reason": "Thanks.", "UniqueRequestToken": "1"}
            lab.ask("SendBonus", WorkerId=worker, AssignmentId=name, **bonus)
            lab.ask("NotifyWorkers", Subject="S", MessageText="M", WorkerIds=[worker])
            assert '<span class="count">1</span>' in visitor.get("/hits").text
            assert "New" in visitor.get("/messages").text
            assert "New" not in visitor.get("/messages").text
            shown = visitor.get("/earnings").text
            assert [f"<bdi>${sum_}</bdi>" in shown for sum_ in ("0.80", "0.50", "0.30")] == [True] * 3
            assert "Approved" in visitor.get("/history").text
            assert title_of(visitor.post(f"/qualifications/{asked}/request")) == "Qualifications"
            assert "Requested, waiting" in visitor.get("/qualifications").text
            request = lab.ask("ListQualificationRequests")["QualificationRequests"][0]["QualificationRequestId"]
            lab.ask("RejectQualificationRequest", QualificationRequestId=request, Reason="Not yet.")
            refused = visitor.get("/qualifications").text
            assert "refused: Not yet." in refused
            assert "<button>Request</button>" not in refused  # it can be asked for once only
            lab.ask("AssociateQualificationWithWorker", QualificationTypeId=asked, WorkerId=worker, IntegerValue=3)
            assert "Value: 3" in visitor.get("/qualifications").text
            assert title_of(visitor.get("/account")) == "Account"


def test_what_keeps_people_out_is_not_offered(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A requester's mark "took part before" is nothing to ask for."""
    with open_lab(tmp_path_factory.mktemp("lab") / "lab.sqlite") as lab:
        kind = lab.ask("CreateQualificationType", Name="Took part", Description="D", QualificationTypeStatus="Active")
        asked = {
            "QualificationTypeId": kind["QualificationType"]["QualificationTypeId"],
            "Comparator": "DoesNotExist",
            "ActionsGuarded": "DiscoverPreviewAndAccept",
        }
        lab.publish(QualificationRequirements=[asked])
        with lab.visitor(lab.worker()) as visitor:
            assert "Took part" not in visitor.get("/qualifications").text
            assert visitor.post(f"/qualifications/{asked['QualificationTypeId']}/request").status_code == 404
