"""Assignments drawn from a study: seeded, balanced, the same on any machine.

Every draw is an order of raw 64-bit keys of the bit generator. Raw bits are stable across machines
and numpy versions; the methods of ``numpy.random.Generator`` are not promised to be. An assignment
does not depend on how many are drawn after it, so a study may grow without changing what exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import lcm
from types import MappingProxyType

import numpy as np

from spa.elicitation import ways
from spa.elicitation.balanced_draws import Deck, SpreadDeck, draw_order
from spa.elicitation.balanced_orders import NEIGHBOURS, Balancing, Orders, RotatedOrders, WilliamsOrders
from spa.elicitation.dealing import Dealt, Demand, Draw
from spa.elicitation.ratings import rating_sections
from spa.errors import StudyError
from spa.records.assignment import Assignment, BlindingKey, Block, Comparison, ShownOutput, label_name
from spa.records.outputs import Output, Outputs
from spa.records.study import Study
from spa.study.answers_wanted import dealt_by_assignment
from spa.study.assigned_pages import AssignedForm, PageCell, load_pages
from spa.study.outputs import too_few_outputs


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
    are dealt, every output is shown equally often to within one (exactly, where the study wants so many answers of
    each), each under a label of its own, and an assignment holds outputs of each system by its share. Systems are
    ranked equally often to within one; where all are, each has every place on the page once in each run of as many
    rankings.

    Where ``[design] assignments`` names a file, it says who sees what: there are at most as many assignments as it has
    forms, and what it does not say is drawn as above.

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
        If there are fewer items, or outputs, than one assignment shows, or choices have no common item; or of mistakes
        in the file of assignments.
    """
    if count < 0:
        raise ValueError(f"count must be 0 or more, got {count}")
    _check_drawable(study, outputs)
    sampler = _Sampler(study, outputs, rng, balancing)
    if study.design.assignments is not None:
        forms = load_pages(study, outputs).forms[:count]
        return (sampler.laid_out(number, form) for number, form in enumerate(forms))
    return (sampler.draw(number) for number in range(count))


def exposure_run(exposures: int) -> int:
    """Return after how many assignments an exposure study of so many exposures is in balance.

    >>> exposure_run(4), exposure_run(3)
    (4, 12)
    """
    return lcm(4, exposures)


def _check_drawable(study: Study, outputs: Outputs) -> None:
    problems = []
    needed = study.least_items
    if study.single_outputs:
        problems += too_few_outputs(study, f"study {study.id!r}", outputs)
    elif needed > len(outputs.items):
        problems.append(
            f"study {study.id!r}: one assignment shows {needed} different items, got {len(outputs.items)}; "
            "add items, or lower the exposure"
        )
    for key, section in study.sections.items():
        if section.joint and not study.shares_items:
            problems.append(
                f"study {study.id!r}: [{key}] compares two outputs of one item, but same_items = false "
                f"shows no item twice; set same_items = true or leave [{key}] out"
            )
    if problems:
        raise StudyError(*problems)


class _Sampler:
    """The decks of one draw; every assignment takes the next cards."""

    def __init__(self, study: Study, outputs: Outputs, rng: np.random.Generator, balancing: Balancing) -> None:
        self.study = study
        self.rng = rng
        self.deck = Draw(study, outputs, rng, balancing)
        self.neighbours = self.deck.neighbours
        self.exposures = self.deck.exposures
        self.single: SpreadDeck[Output] | None = None
        if study.single_outputs:
            cards = list(outputs.of_compared(study))
            self.single = SpreadDeck(cards, [card.system for card in cards], rng)
            self.sizes = dealt_by_assignment(study, outputs)
        asked = [(ways()[key], section) for key, section in study.sections.items()]
        self.alone = {
            way.key: way.deals_alone(self.deck, section)
            for way, section in asked
            if section.dealt() is not None and way.deals_alone is not None
        }
        self.systems, self.same_items = study.systems_shown, study.shares_items
        self.needed = study.items_per_annotator
        self.order: Orders = self.deck.orders(len(self.systems))
        self.turned = Deck((0, 1), rng)  # of each run of an exposure study: the system that is first to begin with
        size = len(self.systems)
        self.blocked: Orders = WilliamsOrders(size, rng) if self.neighbours else RotatedOrders(size)
        self.exposure_order = self.deck.question_orders(len(self.exposures), mirrored=True)
        self.turn = 0
        self.dealers = {way.key: way.dealer(self.deck, section) for way, section in asked}

    def draw(self, number: int) -> tuple[Assignment, BlindingKey]:
        assignment_id = _name(number)
        if self.single is not None:
            size = self.sizes[number] if number < len(self.sizes) else self.study.design.outputs
            dealt = self.single.deal(size)
            cards = [dealt[card] for card in draw_order(len(dealt), self.rng)]
            asked = {section.order for section in rating_sections(self.study).values()}
            if "blocked" in asked or ("arms" in asked and number % 2 == 0):
                turn = {self.systems[system]: place for place, system in enumerate(self.blocked.deal())}
                cards.sort(key=lambda card: turn[card.system])
            return self._single_outputs(assignment_id, number, cards)
        for key, deal in self.alone.items():
            hand = deal(self.needed)
            groups = {key: hand.groups}
            drawn = Assignment(assignment_id=assignment_id, number=number, blocks=hand.blocks, groups=groups)
            return drawn, _key(drawn, hand.systems)
        places = self.exposure_order.deal()  # in the study's list of exposures, in the order shown
        orders = self._orders(number, places)
        systems: dict[str, str] = {}
        columns: list[dict[str, str]] = []  # of each block as shown: label -> system
        for appearance, place in enumerate(places):
            column = self._labels(orders[place], place, appearance)
            columns.append(column)
            systems |= column
        hand_of_items = iter(self.deck.items.deal(self.needed))
        blocks = tuple(
            self._block(self.exposures[place], column, hand_of_items)
            for place, column in zip(places, columns, strict=True)
        )
        drawn = self._asked(assignment_id, number, Dealt(places=places, columns=columns, blocks=blocks))
        return drawn, _key(drawn, systems)

    def laid_out(self, number: int, form: AssignedForm) -> tuple[Assignment, BlindingKey]:
        """Return the assignment of a form from a file; what it does not say is drawn."""
        assignment_id = _name(number)
        if self.study.single_outputs:
            cells = [cell for page in form.shown for cell in page]
            return self._single_outputs(assignment_id, number, list(map(self._output, cells)))
        if self.study.deals_pairs:
            return self._pairs(assignment_id, number, form)
        order = form.columns or [self.systems[place] for place in self._orders(number, (0,))[0]]
        column = {label_name(place): system for place, system in enumerate(order)}
        label_of = {system: label for label, system in column.items()}
        found: dict[tuple[str, str], ShownOutput] = {}
        for page in form.shown:
            for cell in sorted(page, key=lambda cell: label_of[cell.system]):
                one = self._output(cell)
                found[cell.item_id, cell.system] = ShownOutput(
                    label=label_of[cell.system], item_id=one.item_id, sample=one.sample
                )
        block = Block(exposure=len(form.shown), labels=tuple(column), shown=tuple(found.values()))
        asked: dict[str, Demand] = {}
        rated: dict[str, list[ShownOutput]] = {}
        for key, pages in form.asked.items():
            match ways()[key].assigned_as:
                case "comparisons":
                    both = 2 if self.study.sections[key].asks_again() else 1
                    pairs = [(label_of[x.system], label_of[y.system]) for x, y in pages]
                    asked[key] = Demand(
                        comparisons=tuple(Comparison(block=0, directions=((x, y), (y, x))[:both]) for x, y in pairs)
                    )
                case "rated":
                    rated[key] = [found[cell.item_id, cell.system] for page in pages for cell in page]
                case "groups":
                    groups = tuple(tuple(found[cell.item_id, cell.system] for cell in page) for page in pages)
                    asked[key] = Demand(groups=groups)
        dealt = Dealt(places=(0,), columns=[column], blocks=(block,), rated=rated)
        drawn = self._asked(assignment_id, number, dealt, asked)
        return drawn, _key(drawn, column)

    def _output(self, cell: PageCell) -> Output:
        """Return the output of a cell; the next of its samples where it names none."""
        sample = cell.sample or self.deck.sample(cell.item_id, cell.system)
        return self.deck.outputs.output(cell.item_id, cell.system, sample)

    def _pairs(self, assignment_id: str, number: int, form: AssignedForm) -> tuple[Assignment, BlindingKey]:
        """Return the pairs of a form, every output under a label of its own."""
        systems: dict[str, str] = {}
        groups = []
        for place, page in enumerate(form.shown):
            labels = label_name(2 * place), label_name(2 * place + 1)
            made = [self._output(cell) for cell in page]
            systems |= {label: one.system for label, one in zip(labels, made, strict=True)}
            groups.append(
                tuple(
                    ShownOutput(label=label, item_id=one.item_id, sample=one.sample)
                    for label, one in zip(labels, made, strict=True)
                )
            )
        blocks = tuple(Block(exposure=1, labels=tuple(one.label for one in group), shown=group) for group in groups)
        (key,) = self.study.sections
        drawn = Assignment(assignment_id=assignment_id, number=number, blocks=blocks, groups={key: tuple(groups)})
        return drawn, _key(drawn, systems)

    def _asked(
        self, assignment_id: str, number: int, dealt: Dealt, asked: Mapping[str, Demand] = MappingProxyType({})
    ) -> Assignment:
        """Return the assignment of blocks, with what ways of asking have judged of them where it is not ``asked``."""
        demands = {key: asked[key] if key in asked else deal(dealt) for key, deal in self.dealers.items()}
        return Assignment(
            assignment_id=assignment_id,
            number=number,
            blocks=dealt.blocks,
            comparisons=tuple(each for one in demands.values() for each in one.comparisons),
            rated=tuple(each for one in demands.values() for each in one.rated),
            groups={key: one.groups for key, one in demands.items() if one.groups},
        )

    def _single_outputs(self, assignment_id: str, number: int, cards: list[Output]) -> tuple[Assignment, BlindingKey]:
        """Return outputs in the order given, each under a label of its own: labels reveal no system."""
        dealt = {label_name(place): card for place, card in enumerate(cards)}
        outputs = tuple(
            ShownOutput(label=label, item_id=output.item_id, sample=output.sample) for label, output in dealt.items()
        )
        block = Block(exposure=1, labels=tuple(dealt), shown=outputs)
        drawn = self._asked(assignment_id, number, Dealt(places=(), columns=(), blocks=(block,)))
        return drawn, _key(drawn, {label: output.system for label, output in dealt.items()})

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
                outputs.append(ShownOutput(label=label, item_id=own, sample=self.deck.sample(own, system)))
        return Block(exposure=exposure, labels=tuple(column), shown=tuple(outputs))


def _name(number: int) -> str:
    return f"a{number + 1:05d}"


def _key(drawn: Assignment, systems: dict[str, str]) -> BlindingKey:
    blocks = {label: index for index, block in enumerate(drawn.blocks) for label in block.labels}
    return BlindingKey(assignment_id=drawn.assignment_id, systems=systems, blocks=blocks)
