"""Cards dealt from reshuffled decks: every card as often as any other, to within one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Generic, TypeVar

import numpy as np

Card = TypeVar("Card")
BEGINNINGS = 8  # of a hand, of which the best is dealt


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


class EvenHands(Generic[Card]):
    """Hands of different cards: every card as often as any other, to within one, and every two as evenly together.

    A hand takes the cards dealt least; of those that have been dealt as often, the ones that have met the least, by
    exchanges from several beginnings. The two that have met most and least stay at most three hands apart (measured up
    to 20 cards), where hands of a shuffled deck drift apart.

    Parameters
    ----------
    cards : sequence
        Different cards.
    size : int
        Cards a hand; where it is all of them, nothing is drawn.
    rng : numpy.random.Generator
        Only its raw bits are used, one for each card a hand.

    >>> hands = EvenHands("abcde", 4, np.random.Generator(np.random.PCG64(1)))
    >>> ["".join(sorted(hands.deal())) for _ in range(5)]
    ['acde', 'abce', 'bcde', 'abde', 'abcd']
    """

    def __init__(self, cards: Sequence[Card], size: int, rng: np.random.Generator) -> None:
        if not 1 <= size <= len(cards):
            raise ValueError(f"hands of {size} different cards from {len(cards)}")
        self._cards, self._size, self._rng = list(cards), size, rng
        self._dealt = [0] * len(cards)
        self._met = [[0] * len(cards) for _ in cards]

    def deal(self) -> list[Card]:
        """Take the next hand, in the order of the cards."""
        number = len(self._cards)
        if self._size == number:
            return list(self._cards)
        order = draw_order(number, self._rng)
        level = sorted(self._dealt)[self._size - 1]
        held = [card for card in order if self._dealt[card] < level]
        free = [card for card in order if self._dealt[card] == level]
        hands = [self._filled(held, free[first:] + free[:first]) for first in range(min(BEGINNINGS, len(free)))]
        hand = min(hands, key=lambda hand: sum(self._met[one][other] for one, other in combinations(hand, 2)))
        for card in hand:
            self._dealt[card] += 1
        for one, other in permutations(hand, 2):
            self._met[one][other] += 1
        return [self._cards[card] for card in sorted(hand)]

    def _filled(self, held: list[int], free: list[int]) -> list[int]:
        """Return a hand of those held and, of those free, the ones that have met it least."""
        hand = list(held)
        while len(hand) < self._size:
            hand.append(self._least_met(hand, free))
        better = True
        while better:  # each exchange lowers how often the hand has met, which ends somewhere
            better = False
            for place in range(len(held), self._size):
                rest = hand[:place] + hand[place + 1 :]
                other = self._least_met(rest, free)
                if self._meetings(other, rest) < self._meetings(hand[place], rest):
                    hand[place], better = other, True
        return hand

    def _least_met(self, hand: list[int], free: list[int]) -> int:
        return min((card for card in free if card not in hand), key=lambda card: self._meetings(card, hand))

    def _meetings(self, card: int, hand: list[int]) -> int:
        return sum(self._met[card][other] for other in hand)
