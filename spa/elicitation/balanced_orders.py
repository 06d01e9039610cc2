"""Orders of showing, dealt to one assignment after another so that neither places nor neighbours favour anything.

An order comes from raw 64-bit keys of a bit generator, as decks do (see :mod:`spa.elicitation.balanced_draws`).
"""

from __future__ import annotations

from itertools import count, cycle
from typing import Literal, Protocol

import numpy as np

from spa.elicitation.balanced_draws import draw_order

Balancing = Literal["places and neighbours", "places"]  # the second: in stores built before neighbours were balanced
NEIGHBOURS: Balancing = "places and neighbours"


class Orders(Protocol):
    """Orders of k things, one after another."""

    def deal(self) -> list[int]:
        """Return the next order of 0 ... k - 1."""


class FixedOrders:
    """The order listed, always."""

    def __init__(self, size: int) -> None:
        self.listed = list(range(size))

    def deal(self) -> list[int]:
        """Return the order listed."""
        return self.listed


class WilliamsOrders:
    """Rows of Williams squares: every thing once in every place, and as often right after any other thing.

    A run is one square of k rows for even k; for odd k a square and its mirror image, as no single one does it. Within
    a run each ordered pair of neighbours occurs once, or twice for odd k. Each run is drawn anew.

    Parameters
    ----------
    size : int
        How many things are ordered, k.
    rng : numpy.random.Generator
        Only its raw bits are used, k a run.
    mirrored : bool
        Whether a run of an even number, too, is a square and its mirror image.

    References
    ----------
    Williams, E. J. (1949). Experimental designs balanced for the estimation of residual effects of treatments.
    Australian Journal of Scientific Research A, 2(2), 149-168.

    >>> orders = WilliamsOrders(4, np.random.Generator(np.random.PCG64(1)))
    >>> [orders.deal() for _ in range(4)]
    [[2, 0, 1, 3], [0, 3, 2, 1], [3, 1, 0, 2], [1, 2, 3, 0]]
    """

    def __init__(self, size: int, rng: np.random.Generator, *, mirrored: bool = False) -> None:
        self.size = size
        self.rng = rng
        self.rows = cycle(range(2 * size if mirrored or size % 2 else size))
        self.first = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(size)]  # 0, 1, -1, 2, -2, ...
        self.things: list[int] = []

    def deal(self) -> list[int]:
        """Return the next row of the run."""
        row = next(self.rows)
        if row == 0:
            self.things = draw_order(self.size, self.rng)
        order = [self.things[(thing + row) % self.size] for thing in self.first]
        return order if row < self.size else order[::-1]


class CyclicOrders:
    """Rows of cyclic squares, each drawn anew: every thing once in every place, but mostly after the same one."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self.rng = rng
        self.shifts = cycle(range(size))
        self.base: list[int] = []

    def deal(self) -> list[int]:
        """Return the next row of the run."""
        shift = next(self.shifts)
        if shift == 0:
            self.base = draw_order(self.size, self.rng)
        return self.base[shift:] + self.base[:shift]


class RotatedOrders:
    """The order listed, begun one place later each time: places are balanced, neighbours are always the same."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.shifts = count()

    def deal(self) -> list[int]:
        """Return the next rotation."""
        shift = next(self.shifts)
        return [(place + shift) % self.size for place in range(self.size)]
