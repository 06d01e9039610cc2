"""Cards dealt from reshuffled decks: every card as often as any other, to within one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

Card = TypeVar("Card")


def draw_order(size: int, rng: np.random.Generator) -> list[int]:
    """Return a random order of 0 ... size - 1, from raw bits and a stable sort."""
    keys = rng.bit_generator.random_raw(size)
    order: list[int] = np.argsort(keys, kind="stable").tolist()
    return order


class Deck(Generic[Card]):
    """Cards in random order; when none is left, all of them are shuffled again.

    Only the raw bits of ``rng`` are used; a deck of one card takes none.
    """

    def __init__(self, cards: Sequence[Card], rng: np.random.Generator) -> None:
        if not cards:
            raise ValueError("a deck needs at least one card")
        self._cards = list(cards)
        self._rng = rng
        self._left: list[int] = []  # the next card is the last one

    def deal_one(self) -> Card:
        """Take the next card."""
        if not self._left:
            self._left = self._shuffled()
        return self._cards[self._left.pop()]

    def deal(self, size: int) -> list[Card]:
        """Take a hand of different cards.

        Where the deck ends within a hand, cards that the hand holds already come later in the new deck.
        """
        if size > len(self._cards):
            raise ValueError(f"a hand of {size} different cards from a deck of {len(self._cards)}")
        hand = [self._left.pop() for _ in range(min(size, len(self._left)))]
        if len(hand) < size:
            held = set(hand)
            left = self._shuffled()
            while len(hand) < size:
                position = next(place for place in range(len(left) - 1, -1, -1) if left[place] not in held)
                hand.append(left.pop(position))
            self._left = left
        return [self._cards[index] for index in hand]

    def _shuffled(self) -> list[int]:
        return [0] if len(self._cards) == 1 else draw_order(len(self._cards), self._rng)


class SpreadDeck(Deck[Card]):
    """A deck in which cards of every kind lie at even distances, so that a hand holds each kind by its share."""

    def __init__(self, cards: Sequence[Card], kinds: Sequence[Hashable], rng: np.random.Generator) -> None:
        super().__init__(cards, rng)
        self._kinds = kinds

    def _shuffled(self) -> list[int]:
        left, total = Counter(self._kinds), Counter(self._kinds)
        places: dict[int, Fraction] = {}
        order = super()._shuffled()
        for index in order:
            kind = self._kinds[index]
            places[index] = Fraction(2 * left[kind] - 1, 2 * total[kind])
            left[kind] -= 1
        return sorted(order, key=places.__getitem__)  # stable: kinds at the same place stay in random order
