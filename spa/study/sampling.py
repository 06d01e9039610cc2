"""Assignments drawn from a study: seeded, balanced, the same on any machine.

Every draw is an order of raw 64-bit keys of the bit generator. Raw bits are stable across machines
and numpy versions; the methods of ``numpy.random.Generator`` are not promised to be. An assignment
does not depend on how many are drawn after it, so a study may grow without changing what exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import lcm

import numpy as np

from spa.errors import StudyError
from spa.study.assignment import (
    RATED_BY,
    Assignment,
    BlindingKey,
    Block,
    Comparison,
    OutputPair,
    RatedOutput,
    ShownOutput,
)
from spa.study.balanced_draws import Deck, SpreadDeck, draw_order
from spa.study.balanced_orders import (
    NEIGHBOURS,
    Balancing,
    CyclicOrders,
    FixedOrders,
    Orders,
    RotatedOrders,
    WilliamsOrders,
)
from spa.study.outputs import Output, Outputs, too_few_outputs
from spa.study.study import RatingSection, RatingTable, Study


def study_rng(seed: int) -> np.random.Generator:
    """Return the generator that a study's seed stands for."""
    return np.random.Generator(np.random.PCG64(seed))


def sample_assignments(
    study: Study,
    outputs: Outputs,
    *,
    count: int,
    rng: np.random.Generator,
    balancing: Balancing = NEIGHBOURS,
) -> Iterator[tuple[Assignment, BlindingKey]]:
    """Draw assignments one after another, in flat memory.

    After any number of assignments every item has been shown equally often to within one, and so has every
    sample of an item and system. Within each run of k assignments (k labels) every system bears every label once;
    columns stand in label order, so positions are balanced too. Orders of labels, of comparisons, of an item's
    choices, of blocked systems and of outputs to be ranked are rows of Williams squares: in each full run every
    ordered pair of neighbours occurs equally often. In an exposure study both systems bear every label, and are
    first at every exposure, equally often in each run of :func:`exposure_run` assignments.
    Each pair's first direction, and the first side of its choices, is balanced to within one. Where single outputs
    are dealt, every output is shown equally often to within one, each under a label of its own, and an assignment
    holds outputs of each system by its share. Systems are ranked equally often to within one; where all are, each
    has every place on the page once in each run of as many rankings.

    Parameters
    ----------
    study : Study
        Its ``design`` says what is counterbalanced and what is fixed.
    outputs : Outputs
        Every compared system answers every item, unless single outputs are dealt.
    count : int
        How many assignments, 0 or more. The first ones are the same for any count.
    rng : numpy.random.Generator
        Only the raw bits of its bit generator are used; ``study_rng(study.seed)`` for the study's own draw.
    balancing : {"places and neighbours", "places"}
        "places" continues the draw of a store that was built before neighbours were balanced.

    Raises
    ------
    StudyError
        If there are fewer items, or outputs, than one assignment shows, or choices have no common item.
    """
    if count < 0:
        raise ValueError(f"count must be 0 or more, got {count}")
    _check_drawable(study, outputs)
    sampler = _Sampler(study, outputs, rng, balancing)
    return (sampler.draw(number) for number in range(count))


def exposure_run(exposures: int) -> int:
    """Return after how many assignments an exposure study of so many exposures is in balance.

    >>> exposure_run(4), exposure_run(3)
    (4, 12)
    """
    return lcm(4, exposures)


def label_name(position: int) -> str:
    """Return the label of a column: A to Z, then AA, AB, ...

    >>> [label_name(position) for position in (0, 25, 26, 27, 702)]
    ['A', 'Z', 'AA', 'AB', 'AAA']
    """
    name = ""
    position += 1
    while position:
        position, letter = divmod(position - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def _check_drawable(study: Study, outputs: Outputs) -> None:
    problems = []
    needed = study.items_per_annotator
    if study.single_outputs:
        problems += too_few_outputs(study, f"study {study.id!r}", outputs)
    elif needed > len(outputs.items):
        problems.append(
            f"study {study.id!r}: one assignment shows {needed} different items, got {len(outputs.items)}; "
            "add items, or lower the exposure"
        )
    exposure_study = study.spa is not None and study.spa.exposure_study is not None
    if study.choices is not None and study.spa is not None and not study.spa.same_items and not exposure_study:
        problems.append(
            f"study {study.id!r}: [choices] compares two outputs of one item, but [spa] same_items = false "
            "shows no item twice; set same_items = true or leave [choices] out"
        )
    if problems:
        raise StudyError(*problems)


class _Sampler:
    """The decks of one draw; every assignment takes the next cards."""

    def __init__(self, study: Study, outputs: Outputs, rng: np.random.Generator, balancing: Balancing) -> None:
        self.study = study
        self.rng = rng
        self.neighbours = balancing == NEIGHBOURS
        self.items = Deck([item.item_id for item in outputs.items], rng)
        self.single: Deck[Output] | None = None
        if study.single_outputs:
            cards = list(outputs.of_compared(study))
            self.single = SpreadDeck(cards, [card.system for card in cards], rng)
        self.pairs = Deck(study.choice_pairs, rng) if study.deals_pairs else None
        self.samples: dict[tuple[str, str], Deck[int]] = {}
        self.outputs = outputs
        exposure_study = study.spa.exposure_study if study.spa is not None else None
        if exposure_study is not None:
            self.systems: tuple[str, ...] = (exposure_study.system_x, exposure_study.system_y)
            self.exposures = exposure_study.exposures
        else:
            self.systems = tuple(system.id for system in study.compared)
            self.exposures = (study.spa.exposure if study.spa is not None else study.design.items,)
        self.same_items = exposure_study is not None or study.spa is None or study.spa.same_items
        self.order: Orders = _drawn_orders(len(self.systems), rng, self.neighbours)
        self.turned = Deck((0, 1), rng)  # of each run of an exposure study: the system that is first to begin with
        size = len(self.systems)
        self.blocked: Orders = WilliamsOrders(size, rng) if self.neighbours else RotatedOrders(size)
        self.exposure_order = self._question_orders(len(self.exposures), mirrored=True)
        self.comparison_order = self._question_orders(len(study.pairs))
        self.choice_order = self._question_orders(len(study.choice_pairs), former=FixedOrders)
        self.turn = 0
        self.directions = [[Deck((False, True), rng) for _ in study.pairs] for _ in self.exposures]
        self.ranked = _RankedOutputs(study, rng, self.neighbours) if study.ranking is not None else None
        self.sides = {
            (place, pair): Deck((False, True), rng)
            for place in range(len(self.exposures))
            for pair in study.choice_pairs
        }

    def _question_orders(
        self, size: int, *, mirrored: bool = False, former: Callable[[int], Orders] = RotatedOrders
    ) -> Orders:
        """Return orders of what is asked; ``former`` is what stores have that balance places alone."""
        if self.study.design.question_order == "fixed":
            return FixedOrders(size)
        return WilliamsOrders(size, self.rng, mirrored=mirrored) if self.neighbours else former(size)

    def draw(self, number: int) -> tuple[Assignment, BlindingKey]:
        assignment_id = f"a{number + 1:05d}"
        if self.single is not None:
            return self._single_outputs(assignment_id, number, self.single.deal(self.study.design.outputs))
        if self.pairs is not None:
            return self._dealt_pairs(assignment_id, number, self.pairs)
        places = self.exposure_order.deal()  # in the study's list of exposures, in the order shown
        orders = self._orders(number, places)
        systems: dict[str, str] = {}
        columns: list[dict[str, str]] = []  # of each block as shown: label -> system
        for appearance, place in enumerate(places):
            column = self._labels(orders[place], place, appearance)
            columns.append(column)
            systems |= column
        hand = iter(self.items.deal(self.study.items_per_annotator))
        blocks = tuple(
            self._block(self.exposures[place], column, hand) for place, column in zip(places, columns, strict=True)
        )
        drawn = Assignment(
            assignment_id=assignment_id,
            number=number,
            blocks=blocks,
            comparisons=self._comparisons(places, columns),
            rated=self._rated(blocks),
            choices=self._choices(places, columns, blocks),
            rankings=self._rankings(columns, blocks),
        )
        return drawn, _key(drawn, systems)

    def _single_outputs(self, assignment_id: str, number: int, hand: list[Output]) -> tuple[Assignment, BlindingKey]:
        """Return outputs in random order, each under a label of its own: labels reveal no system."""
        cards = [hand[card] for card in draw_order(len(hand), self.rng)]
        if any(getattr(self.study, table).order == "blocked" for table in self.study.rating_tables):
            turn = {self.systems[system]: place for place, system in enumerate(self.blocked.deal())}
            cards.sort(key=lambda card: turn[card.system])
        dealt = {label_name(place): card for place, card in enumerate(cards)}
        outputs = tuple(
            ShownOutput(label=label, item_id=output.item_id, sample=output.sample) for label, output in dealt.items()
        )
        block = Block(exposure=1, labels=tuple(dealt), shown=outputs)
        rated = self._rated((block,))
        drawn = Assignment(assignment_id=assignment_id, number=number, blocks=(block,), rated=rated)
        return drawn, _key(drawn, {label: output.system for label, output in dealt.items()})

    def _dealt_pairs(
        self, assignment_id: str, number: int, pairs: Deck[tuple[str, str]]
    ) -> tuple[Assignment, BlindingKey]:
        """Return pairs on an item each, every output under a label of its own."""
        blocks, choices = [], []
        systems: dict[str, str] = {}
        for place, item_id in enumerate(self.items.deal(self.study.items_per_annotator)):
            pair = pairs.deal_one()
            if self.sides[0, pair].deal_one() and self.study.design.directions == "counterbalanced":
                pair = pair[::-1]
            labels = label_name(2 * place), label_name(2 * place + 1)
            x, y = (
                ShownOutput(label=label, item_id=item_id, sample=self._sample(item_id, system))
                for label, system in zip(labels, pair, strict=True)
            )
            blocks.append(Block(exposure=1, labels=labels, shown=(x, y)))
            choices.append(OutputPair(output_x=x, output_y=y))
            systems |= dict(zip(labels, pair, strict=True))
        drawn = Assignment(assignment_id=assignment_id, number=number, blocks=tuple(blocks), choices=tuple(choices))
        return drawn, _key(drawn, systems)

    def _orders(self, number: int, places: Sequence[int]) -> list[Sequence[int]]:
        """Return the order of the systems at each exposure; ``places`` are the exposures in the order shown.

        In an exposure study some labels' pairs show one system first and some the other, so that nobody can infer
        which is which from the place. Turns alternate along a form, and from form to form at each place on it. In
        the mirror image of a square with an even number of exposures each stands at a place of the other kind; with
        an odd number the alternation itself is the other way round by then. So each exposure, too, has both turns
        equally often.
        """
        if self.study.design.labels == "fixed":
            return [range(len(self.systems))] * len(self.exposures)
        if len(self.exposures) == 1:
            return [self.order.deal()]
        if number % exposure_run(len(self.exposures)) == 0:
            self.turn = self.turned.deal_one()
        if not self.neighbours:
            turn = self.turn + (number + 1) // 2
            return [(1, 0) if (turn + place) % 2 else (0, 1) for place in range(len(self.exposures))]
        turns = {place: self.turn + number + shown for shown, place in enumerate(places)}
        return [(1, 0) if turns[place] % 2 else (0, 1) for place in range(len(self.exposures))]

    def _labels(self, order: Sequence[int], place: int, appearance: int) -> dict[str, str]:
        lettered = place if self.study.design.labels == "fixed" else appearance
        first = lettered * len(self.systems)
        return {label_name(first + column): self.systems[system] for column, system in enumerate(order)}

    def _block(self, exposure: int, column: dict[str, str], hand: Iterator[str]) -> Block:
        outputs = []
        for _ in range(exposure):
            item_id = next(hand) if self.same_items else ""
            for label, system in column.items():
                own = item_id if self.same_items else next(hand)
                outputs.append(ShownOutput(label=label, item_id=own, sample=self._sample(own, system)))
        return Block(exposure=exposure, labels=tuple(column), shown=tuple(outputs))

    def _sample(self, item_id: str, system: str) -> int:
        deck = self.samples.get((item_id, system))
        if deck is None:
            numbers = [output.sample for output in self.outputs.of(item_id, system)]
            deck = self.samples[item_id, system] = Deck(numbers, self.rng)
        return deck.deal_one()

    def _comparisons(self, places: Sequence[int], columns: list[dict[str, str]]) -> tuple[Comparison, ...]:
        spa, design, pairs = self.study.spa, self.study.design, self.study.pairs
        if spa is None:
            return ()
        turns = [[deck.deal_one() for deck in decks] for decks in self.directions]  # dealt in the study's order
        asked = self.comparison_order.deal()
        comparisons = []
        for block, (place, column) in enumerate(zip(places, columns, strict=True)):
            label_of = {system: label for label, system in column.items()}
            for listed in asked:
                x, y = (label_of[system] for system in pairs[listed])
                turned = turns[place][listed] and design.directions == "counterbalanced"
                directions = ((y, x), (x, y)) if turned else ((x, y), (y, x))
                count = 2 if spa.directions == "both" else 1
                comparisons.append(Comparison(block=block, directions=directions[:count]))
        return tuple(comparisons)

    def _rated(self, blocks: tuple[Block, ...]) -> tuple[RatedOutput, ...]:
        drawn: dict[RatingTable, list[ShownOutput]] = {}  # once for all sections on the same pages
        rated: list[RatedOutput] = []
        for elicitation, table in RATED_BY.items():
            if table not in self.study.rating_tables:
                continue
            host = self.study.page_table(table)
            if host not in drawn:
                section: RatingSection = getattr(self.study, host)
                selection = "all" if self.single is not None else section.outputs
                outputs = [output for block in blocks for row in self._rows(selection, block) for output in row]
                drawn[host] = outputs if self.single is not None else self._ordered(section, outputs)
            rated += [RatedOutput(elicitation=elicitation, output=output) for output in drawn[host]]
        return tuple(rated)

    def _ordered(self, section: RatingSection, outputs: list[ShownOutput]) -> list[ShownOutput]:
        """Return outputs in the order rated; by label, blocked ones are as balanced as labels are."""
        if section.order == "mixed":
            return [outputs[place] for place in draw_order(len(outputs), self.rng)]
        if section.order == "blocked":
            labels = list(dict.fromkeys(output.label for output in outputs))
            return sorted(outputs, key=lambda output: labels.index(output.label))
        return outputs

    def _rows(self, selection: str | int, block: Block) -> list[tuple[ShownOutput, ...]]:
        """Return the rows of a block that are judged one by one, in the order of the page."""
        rows = block.rows
        if selection == "first":
            return rows[:1]
        if isinstance(selection, int) and selection < len(rows):
            return [rows[row] for row in sorted(draw_order(len(rows), self.rng)[:selection])]
        return rows

    def _choices(
        self, places: Sequence[int], columns: list[dict[str, str]], blocks: tuple[Block, ...]
    ) -> tuple[OutputPair, ...]:
        if self.study.choices is None:
            return ()
        choices = []
        for place, column, block in zip(places, columns, blocks, strict=True):
            systems = set(column.values())
            for row in self._rows(self.study.choices.outputs, block):
                made_by = {column[output.label]: output for output in row}
                asked = [self.study.choice_pairs[listed] for listed in self.choice_order.deal()]
                for pair in (pair for pair in asked if systems.issuperset(pair)):
                    x, y = (made_by[system] for system in pair)
                    turned = self.sides[place, pair].deal_one() and self.study.design.directions == "counterbalanced"
                    choices.append(OutputPair(output_x=y, output_y=x) if turned else OutputPair(output_x=x, output_y=y))
        return tuple(choices)

    def _rankings(
        self, columns: list[dict[str, str]], blocks: tuple[Block, ...]
    ) -> tuple[tuple[ShownOutput, ...], ...]:
        if self.study.ranking is None or self.ranked is None:
            return ()
        return tuple(
            tuple(made_by[system] for system in self.ranked.deal())
            for column, block in zip(columns, blocks, strict=True)
            for row in self._rows(self.study.ranking.outputs, block)
            for made_by in ({column[output.label]: output for output in row},)
        )


def _key(drawn: Assignment, systems: dict[str, str]) -> BlindingKey:
    blocks = {label: index for index, block in enumerate(drawn.blocks) for label in block.labels}
    return BlindingKey(assignment_id=drawn.assignment_id, systems=systems, blocks=blocks)


def _drawn_orders(size: int, rng: np.random.Generator, neighbours: bool) -> Orders:
    return WilliamsOrders(size, rng) if neighbours else CyclicOrders(size, rng)


class _RankedOutputs:
    """Systems whose outputs are put in order: each as often as any other, and as often in every place."""

    def __init__(self, study: Study, rng: np.random.Generator, neighbours: bool) -> None:
        systems = [system.id for system in study.compared]
        size = len(systems) if study.ranking is None else study.ranking.size or len(systems)
        self.size = size
        self.listed = {system: place for place, system in enumerate(systems)}
        self.systems = Deck(systems, rng)
        self.places = _drawn_orders(size, rng, neighbours)

    def deal(self) -> list[str]:
        hand = sorted(self.systems.deal(self.size), key=self.listed.__getitem__)
        return [hand[place] for place in self.places.deal()]
