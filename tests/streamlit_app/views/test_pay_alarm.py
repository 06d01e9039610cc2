"""The dashboard's alarms about pay, and about clips that do not play, without a browser."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from streamlit_app.views import overview


@pytest.mark.parametrize(
    ("currency", "hourly", "told"),
    [
        ("GBP", "5.99", ["The median hourly pay is 5.99 GBP, below Prolific's minimum of 6.00: raise the pay."]),
        ("USD", "7.50", ["The median hourly pay is 7.50 USD, below Prolific's minimum of 8.00: raise the pay."]),
        ("USD", "8.00", []),
        ("CHF", "0.50", []),  # of which no platform says anything
    ],
)
def test_pay_below_what_a_platform_allows(currency: str, hourly: str, told: list[str]) -> None:
    status: Any = SimpleNamespace(currency=currency, hourly_pay=Decimal(hourly), pay=None)
    assert [alarm.text for alarm in overview._low_pay(status)] == told


def test_planned_pay_is_meant_before_anybody_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview.loading, "planned_minutes", lambda: 30.0)
    status: Any = SimpleNamespace(currency="GBP", hourly_pay=None, pay=Decimal("2.00"))
    (alarm,) = overview._low_pay(status)
    assert alarm.text == "The planned hourly pay is 4.00 GBP, below Prolific's minimum of 6.00: raise the pay."


def test_clips_that_do_not_play_are_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    for found, told in (({}, []), ({"ada": 2}, ["Clips that do not play, by the word of 1 person: 2 (ada: 2)"])):
        monkeypatch.setattr(overview.loading, "unplayable", lambda state, found=found: found)
        assert [alarm.text for alarm in overview._unplayable("1")] == told
