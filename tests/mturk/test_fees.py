"""The price list, on hand-worked amounts."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mturk.fees import CENT, assignment_fee, bonus_fee, format_money, parse_money
from spa.errors import PlatformError

CASES = (  # reward, assignments, masters, fee of one assignment
    ("1.00", 1, False, "0.20"),
    ("1.00", 9, False, "0.20"),
    ("1.00", 10, False, "0.40"),
    ("1.00", 9, True, "0.25"),
    ("1.00", 10, True, "0.45"),
    ("0.01", 9, False, "0.01"),  # 0.2 cents: the least fee
    ("0.02", 10, False, "0.01"),  # 0.8 cents
    ("0.07", 9, False, "0.01"),  # 1.4 cents
    ("0.125", 1, False, "0.03"),  # 2.5 cents: half up
    ("0.10", 1, True, "0.03"),  # 2.5 cents: half up
    ("5.00", 90, False, "2.00"),
)


@pytest.mark.parametrize(("reward", "assignments", "masters", "fee"), CASES)
def test_the_fee_of_an_assignment(reward: str, assignments: int, masters: bool, fee: str) -> None:
    found = assignment_fee(Decimal(reward), max_assignments=assignments, masters=masters)
    assert str(found) == fee


def test_a_bonus_costs_a_fifth_more_and_a_cent_at_least() -> None:
    assert [str(bonus_fee(Decimal(amount))) for amount in ("0.01", "0.12", "0.13", "2.50")] == [
        "0.01",
        "0.02",
        "0.03",
        "0.50",
    ]


def test_an_endpoint_that_takes_nothing_costs_nothing() -> None:
    assert assignment_fee(Decimal("1.00"), max_assignments=10, masters=True, rules="none") == 0
    assert bonus_fee(Decimal("1.00"), rules="none") == 0


@given(st.decimals(min_value=0, max_value=10_000, places=2))
def test_money_is_written_and_read_without_loss(amount: Decimal) -> None:
    assert parse_money(format_money(amount)) == amount
    assert bonus_fee(amount) >= CENT


@pytest.mark.parametrize("text", ["", "-1", "$1", "1,00", "1.234", "NaN", "1e3", "１", " 1"])
def test_other_amounts_are_refused(text: str) -> None:
    with pytest.raises(PlatformError, match="expected an amount in dollars"):
        parse_money(text)


@pytest.mark.parametrize("amount", ["-0.01", "0.005", "NaN", "Infinity"])
def test_parts_of_a_cent_are_not_lost(amount: str) -> None:
    with pytest.raises(PlatformError, match="whole cents"):
        format_money(Decimal(amount))
