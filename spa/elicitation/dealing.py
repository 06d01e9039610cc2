"""The decks of one draw, from which every assignment takes the next cards, and what ways of asking may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spa.elicitation.balanced_draws import Deck, draw_order
from spa.elicitation.balanced_orders import (
    NEIGHBOURS,
    Balancing,
    CyclicOrders,
    FixedOrders,
    Orders,
    RotatedOrders,
    WilliamsOrders,
)
from spa.records.assignment import Block, Comparison, Group, RatedOutput, ShownOutput
from spa.records.outputs import Outputs
from spa.records.study import Section, Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """One assignment as far as it is dealt: its blocks, and what one way of asking leaves for the next."""

    places: Sequence[int]  # the exposures, as places in the study's list, in the order shown
    columns: Sequence[Mapping[str, str]]  # of each block: label -> system
    blocks: tuple[Block, ...]
    rated: dict[str, list[ShownOutput]] = field(default_factory=dict)  # by the section on whose pages they stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a way of asking has judged in one assignment."""

    comparisons: tuple[Comparison, ...] = ()
    rated: tuple[RatedOutput, ...] = ()
    groups: tuple[Group, ...] = ()


Dealer = Callable[[Dealt], Demand]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """A whole assignment by a way that deals pairs alone."""

    blocks: tuple[Block, ...]
    groups: tuple[Group, ...]
    systems: dict[str, str]  # label -> system


class Draw:
    """The decks of one draw. Only raw bits of ``rng`` are used, and none before a card is needed."""

    def __init__(self, study: Study, outputs: Outputs, rng: np.random.Generator, balancing: Balancing) -> None:
        self.study = study
        self.outputs = outputs
        self.rng = rng
        self.neighbours = balancing == NEIGHBOURS
        self.exposures = study.exposures or (study.design.items,)
        self.items = Deck([item.item_id for item in outputs.items], rng)
        self._samples: dict[tuple[str, str], Deck[int]] = {}

    def orders(self, size: int) -> Orders:
        """Return orders of things that all forms show."""
        return WilliamsOrders(size, self.rng) if self.neighbours else CyclicOrders(size, self.rng)

    def question_orders(
        self, size: int, *, mirrored: bool = False, former: Callable[[int], Orders] = RotatedOrders
    ) -> Orders:
        """Return orders of what is asked; ``former`` is what stores have that balance places alone."""
        if self.study.design.question_order == "fixed":
            return FixedOrders(size)
        return WilliamsOrders(size, self.rng, mirrored=mirrored) if self.neighbours else former(size)

    def sides(self) -> Deck[bool]:
        """Return a deck that says which of two comes first."""
        return Deck((False, True), self.rng)

    def sample(self, item_id: str, system: str) -> int:
        """Return the number of the next sample of an item and system."""
        deck = self._samples.get((item_id, system))
        if deck is None:
            numbers = [output.sample for output in self.outputs.of(item_id, system)]
            deck = self._samples[item_id, system] = Deck(numbers, self.rng)
        return deck.deal_one()

    def rows(self, selection: str | int, block: Block) -> list[tuple[ShownOutput, ...]]:
        """Return the rows of a block that are judged one by one, in the order of the page."""
        rows = block.rows
        if selection == "first":
            return rows[:1]
        if isinstance(selection, int) and selection < len(rows):
            return [rows[row] for row in sorted(draw_order(len(rows), self.rng)[:selection])]
        return rows

    def dealer_of_groups(self, section: Section, choose: Callable[[Mapping[str, ShownOutput]], Group]) -> Dealer:
        """Return what deals one group of each row judged; ``choose`` takes the row's outputs by their systems."""

        def deal(dealt: Dealt) -> Demand:
            groups = [
                choose({column[output.label]: output for output in row})
                for column, block in zip(dealt.columns, dealt.blocks, strict=True)
                for row in self.rows(section.judged(), block)
            ]
            return Demand(groups=tuple(groups))

        return deal
