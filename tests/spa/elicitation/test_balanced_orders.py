"""Decks, hands and orders that assignments are drawn by: used alike, met evenly, shuffled without bias."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from spa.elicitation.balanced_draws import Deck, EvenHands
from spa.elicitation.balanced_orders import WilliamsOrders
from spa.study.sampling import study_rng
from tests.spa.elicitation.drawn_studies import neighbours, within_one


@given(st.integers(1, 15), st.integers(0, 3), st.integers(0, 40), st.booleans(), st.integers(0, 99))
@hypothesis_settings(max_examples=80, deadline=None)
def test_orders_balance_places_and_neighbours(size: int, runs: int, more: int, mirrored: bool, seed: int):
    run = 2 * size if mirrored or size % 2 else size
    dealing = WilliamsOrders(size, study_rng(seed), mirrored=mirrored)
    orders = [dealing.deal() for _ in range(runs * run + more % run)]
    assert all(sorted(order) == list(range(size)) for order in orders)
    for start in range(0, len(orders) - size + 1, size):  # every thing once in every place
        places = zip(*orders[start : start + size], strict=True)
        assert all(len(set(place)) == size for place in places)
    in_full_runs = neighbours(orders[: runs * run])
    assert set(in_full_runs.values()) <= {runs * run // size}
    assert len(in_full_runs) == (size * (size - 1) if runs else 0)
    counts = neighbours(orders).values()
    assert max(counts, default=0) - (min(counts) if len(counts) == size * (size - 1) and size > 1 else 0) <= run // size


@given(st.integers(1, 12), st.lists(st.integers(0, 12), max_size=12), st.integers(0, 99))
@hypothesis_settings(max_examples=60, deadline=None)
def test_hands_hold_no_card_twice_and_use_all_alike(cards: int, hands: list[int], seed: int):
    deck = Deck(range(cards), study_rng(seed))
    used: Counter[int] = Counter()
    for size in hands:
        hand = deck.deal(min(size, cards))
        assert len(set(hand)) == len(hand)
        used.update(hand)
        assert within_one(used, over=cards)


def test_decks_refuse_what_they_cannot_deal():
    with pytest.raises(ValueError, match="hand of 3"):
        Deck([1, 2], study_rng(0)).deal(3)
    with pytest.raises(ValueError, match="at least one"):
        Deck([], study_rng(0))


def test_shuffles_are_uniform():
    """A deck of three: 6,000 shuffles, each of six orders about 1,000 times (sd 29)."""
    deck = Deck("abc", study_rng(11))
    orders = Counter("".join(deck.deal(3)) for _ in range(6_000))
    assert len(orders) == 6
    assert max(abs(count - 1_000) for count in orders.values()) < 120


@pytest.mark.parametrize(("number", "size"), [(5, 4), (6, 3), (8, 4), (13, 4), (20, 4)])
def test_even_hands_meet_evenly_after_any_number(number: int, size: int) -> None:
    """Cards are dealt as often to within one, and every two together to within three, after every hand."""
    hands = EvenHands(range(number), size, study_rng(3))
    dealt = Counter(dict.fromkeys(range(number), 0))
    met = Counter(dict.fromkeys(combinations(range(number), 2), 0))
    for _ in range(150):
        hand = hands.deal()
        assert len(set(hand)) == size
        dealt.update(hand)
        met.update(combinations(hand, 2))
        assert max(dealt.values()) - min(dealt.values()) <= 1
        assert max(met.values()) - min(met.values()) <= 3
    again = EvenHands(range(number), size, study_rng(3))
    assert [again.deal() for _ in range(150)][-1] == hand


def test_hands_of_all_cards_draw_nothing() -> None:
    rng = study_rng(3)
    assert EvenHands("abc", 3, rng).deal() == ["a", "b", "c"]
    assert rng.bit_generator.random_raw() == study_rng(3).bit_generator.random_raw()
    with pytest.raises(ValueError, match="hands of 4 different cards from 3"):
        EvenHands("abc", 4, rng)
