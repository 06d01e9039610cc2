"""The table [mturk], the endpoint that is named, and who may take a HIT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mturk.eligibility import requirements
from mturk.endpoints import choose_endpoint
from mturk.settings import MTurkTable, read_settings
from spa.errors import PlatformError, StudyError

HERE = Path("study.toml")


@pytest.mark.parametrize(
    "url",
    [
        "https://mturk-requester.us-east-1.amazonaws.com",
        "https://mturk-requester-sandbox.us-east-1.amazonaws.com/",
        "https://MTURK-REQUESTER.us-east-1.AMAZONAWS.com.",
        "https://requester.mturk.com",
    ],
)
def test_amazons_hosts_are_refused_with_the_alternatives(url: str) -> None:
    with pytest.raises(PlatformError, match=r"closed Mechanical Turk on 30 September 2026.*spa mturk serve.*spa serve"):
        choose_endpoint(url)


def test_no_endpoint_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MTURK_ENDPOINT_URL", raising=False)
    with pytest.raises(PlatformError, match="no endpoint is named"):
        choose_endpoint(None)
    monkeypatch.setenv("MTURK_ENDPOINT_URL", "https://hits.example.org/")
    assert choose_endpoint(None).url == "https://hits.example.org"
    assert choose_endpoint("http://127.0.0.1:8470").origin == "http://127.0.0.1:8470"


@pytest.mark.parametrize("url", ["http://hits.example.org", "http://127.0.0.1.example.org", "http://10.0.0.1:8470"])
def test_nothing_signed_travels_in_the_open(url: str) -> None:
    with pytest.raises(PlatformError, match="expected https"):
        choose_endpoint(url)


@pytest.mark.parametrize("url", ["hits.example.org", "ftp://a.org", "https://user:secret@a.org", "https://a.org?x=1"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(PlatformError, match="expected an address"):
        choose_endpoint(url)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"countrys": ["US"]}, "no such key; known: title"),
        ({"countries": ["USA"]}, "countries entry 1"),
        ({"approval_rate": 98, "approved_hits": 50}, "because a rate is 100 below that"),
        ({"auto_approval_hours": 721}, "less than or equal to 720"),
        ({"qualifications": [{"id": "3X", "comparator": "Exists", "values": [1]}]}, "Exists takes no values"),
        ({"qualifications": [{"id": "3X", "comparator": "In"}]}, "In needs values"),
        ({"title": "t" * 129}, "at most 128 characters"),
    ],
)
def test_mistakes_in_the_table_are_told_in_one_line(table: dict[str, Any], told: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_settings(table, HERE)
    assert told in str(caught.value)
    assert len(caught.value.problems) == 1


def test_who_may_take_a_hit_becomes_requirements() -> None:
    own = [{"id": "3OWN", "comparator": "GreaterThan", "values": [5], "guard": "Accept"}]
    table = {"countries": ["GB", "US-CA"], "approval_rate": 98, "masters": True, "adult": True, "qualifications": own}
    found = requirements(read_settings(table, HERE), "3FAMILY")
    assert found[0] == {
        "QualificationTypeId": "3FAMILY",
        "Comparator": "DoesNotExist",
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }
    by_type = {one["QualificationTypeId"]: one for one in found}
    assert by_type["00000000000000000040"]["IntegerValues"] == [100]
    assert by_type["000000000000000000L0"]["IntegerValues"] == [98]
    assert by_type["00000000000000000071"]["LocaleValues"] == [
        {"Country": "GB"},
        {"Country": "US", "Subdivision": "CA"},
    ]
    assert by_type["3OWN"]["ActionsGuarded"] == "Accept"
    assert len(found) == 7 <= 10


def test_without_the_table_everything_has_its_default() -> None:
    assert read_settings({}, HERE) == MTurkTable()
    assert len(requirements(MTurkTable(), "3FAMILY")) == 1
