"""Pairwise choices: which of two outputs of one item is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from spa.elicitation.balanced_draws import Deck
from spa.elicitation.balanced_orders import FixedOrders
from spa.elicitation.blocks import group_pages
from spa.elicitation.dealing import Dealer, Dealt, Demand, Draw, Hand
from spa.elicitation.pairs import Comparisons, disconnected, expand_pairs, pair_problems
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.records.assignment import AssignmentLabels, Block, Group, ShownOutput, label_name
from spa.records.form import CHOSEN, Answer, AnswerOption, Column, Judgement, Page, Question, SimulatedReader
from spa.records.problems import StudyProblem, mistake
from spa.records.study import Deciding, Pairs, Section, Shown, Study
from spa.records.toml_table import Ident, added
from spa.widgets import OptionsAnswer, widget_of


class Choices(Section):
    """Which of two outputs of one item is better."""

    key: ClassVar[str] = "choices"
    way: ClassVar[str] = "choice"
    has_examples: ClassVar[bool] = True
    compares: ClassVar[bool] = True
    joint: ClassVar[bool] = True

    ties: bool = True
    directions: Literal["one", "both"] = added("one")  # each pair once a form, or a second time with its sides swapped
    flips: Literal["tie", "missing"] = added("tie")  # of both: what an answer is that changes with the sides
    outputs: Shown = "all"
    per_annotator: Annotated[int, Field(ge=1)] | None = added(None)  # comparisons, each on another item; None: all
    show_item_text: bool = added(True)  # as in a rating section
    comparisons: Comparisons | None = None  # None: those of the other sections
    baseline: Ident | None = None
    criteria: tuple[Ident, ...] | None = None
    overall: bool = True

    def dealt(self) -> int | None:
        """Return how many pairs are dealt to an annotator."""
        return self.per_annotator

    def pairs(self, study: Study) -> Pairs:
        """Return the pairs compared: its own, else those of the other sections, else all."""
        if self.comparisons is None:
            others = (one.pairs(study) for one in study.sections.values() if one is not self)
            return next((pairs for pairs in others if pairs), None) or expand_pairs("all", None, study.compared)
        return expand_pairs(self.comparisons, self.baseline, study.compared)

    def outputs_together(self, study: Study) -> int:
        """Return the two of a pair."""
        return 2

    def asks_again(self) -> bool:
        """Return whether both orders of a pair are asked."""
        return self.directions == "both"

    def decides(self) -> Deciding | None:
        """Return that choices can end a live study."""
        return "choices"

    def both_ways(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        """Return what is asked: the pairs, and where both directions are asked all of them again, sides swapped."""
        again = (group[::-1] for group in groups) if self.asks_again() else ()
        return (*groups, *again)


def problems(study: Study, section: Choices) -> Iterator[StudyProblem]:
    """Yield what the section means wrongly beside the others."""
    if section.per_annotator is not None:
        others = [key for key in study.sections if key != section.key]
        if others or "outputs" in section.model_fields_set:
            got = "another section" if others else "outputs"
            expected = "no other section and no outputs beside it"
            yield mistake("[choices] per_annotator", expected, got, "remove it", "sections")
    if "flips" in section.model_fields_set and section.directions == "one":
        yield mistake("[choices] flips", 'directions = "both" beside it', '"one"', "set it or remove the key")
    if study.stopping.rule == "when_decided" and section.directions == "both":
        do = "set it: the rule counts each choice by itself"
        yield mistake("[choices] directions", '"one" in a study that ends when decided', '"both"', do, "stopping")
    yield from pair_problems(study, "[choices]", section.comparisons, section.baseline)


def warnings(study: Study, section: Choices) -> Iterator[str]:
    """Yield what its author may not mean."""
    yield from disconnected(study, section)


def overview(study: Study, section: Choices) -> str:
    """Return what `spa check` says of it."""
    number = len(section.pairs(study))
    ways = ", in both orders" if section.directions == "both" else ""
    return f"{number} pair{'s' if number != 1 else ''}{ways}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceTarget(Judgement):
    """Which of two outputs of one item is better."""

    kind: ClassVar[str] = "choice"
    table: ClassVar[str] = "choices"
    columns: ClassVar[Mapping[str, Column]] = CHOSEN
    about: ClassVar[str] = "choices between two outputs, one row an answer"

    label_x: str
    label_y: str
    item_id: str
    sample_x: int
    sample_y: int

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return Choices.way

    def outputs(self) -> frozenset[tuple[str, str, int]] | None:
        """Return the two outputs."""
        x, y = (self.label_x, self.item_id, self.sample_x), (self.label_y, self.item_id, self.sample_y)
        return frozenset((x, y))

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return the row of an answer."""
        x, y = labels.systems[self.label_x], labels.systems[self.label_y]
        shown = self.sample_x, self.sample_y, self.label_x, self.label_y
        return [(self.item_id, x, y, self.criterion, value, self.way, *shown)]

    def favour(self, value: float | str, label: str, scale: tuple[float, float] | None) -> float | None:
        """Return whether the label's output was chosen, a tie half."""
        if not isinstance(value, str) or label not in (self.label_x, self.label_y):
            return None
        return 0.5 if value == "tie" else float((value == "x") == (label == self.label_x))

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Return the output found better, or a tie."""
        x = reader.perceived(self.label_x, self.item_id, self.sample_x, self.criterion)
        y = reader.perceived(self.label_y, self.item_id, self.sample_y, self.criterion)
        if "tie" in widget_of(answer).values(answer) and abs(x - y) < reader.temperament.tie_width:
            return "tie"
        if x == y:
            return "x" if reader.rng.random() < 0.5 else "y"
        return "x" if x > y else "y"


def pages(view: AssignmentView, section: Choices) -> list[Page]:
    """Return one page for each pair of outputs between which the annotator chooses."""
    return group_pages(view, section, partial(_question, view, section))


def _question(view: AssignmentView, section: Choices, choice: Group, criterion: str) -> Question:
    x, y = choice
    target = ChoiceTarget(
        label_x=x.label,
        label_y=y.label,
        item_id=x.item_id,
        sample_x=x.sample,
        sample_y=y.sample,
        criterion=criterion,
    )
    return Question(
        text=view.ask("choice", criterion), answer=_winner(view, x.label, y.label, ties=section.ties), target=target
    )


def _winner(view: AssignmentView, label_x: str, label_y: str, *, ties: bool) -> OptionsAnswer:
    """Return the answers "x", "y" and, where allowed, "tie"."""
    return view.text_cache.cached(("winner", label_x, label_y), lambda: _made_winner(view, label_x, label_y, ties=ties))


def _made_winner(view: AssignmentView, label_x: str, label_y: str, *, ties: bool) -> OptionsAnswer:
    sides = ("x", label_x), ("y", label_y)
    options = [AnswerOption(value=value, text=view.system(label), label=label) for value, label in sides]
    if ties:
        options.append(AnswerOption(value="tie", text=view.say("choice_tie")))
    return OptionsAnswer(options=tuple(options))


def dealer(draw: Draw, section: Choices) -> Dealer:
    """Return what deals the pairs of an assignment: each pair's first side is balanced."""
    pairs = section.pairs(draw.study)
    order = draw.question_orders(len(pairs), former=FixedOrders)
    sides = {(place, pair): draw.sides() for place in range(len(draw.exposures)) for pair in pairs}
    turning = draw.study.design.directions == "counterbalanced"

    def deal(dealt: Dealt) -> Demand:
        choices: list[Group] = []
        for place, column, block in zip(dealt.places, dealt.columns, dealt.blocks, strict=True):
            systems = set(column.values())
            for row in draw.rows(section.outputs, block):
                made_by = {column[output.label]: output for output in row}
                asked = [pairs[listed] for listed in order.deal()]
                for pair in (pair for pair in asked if systems.issuperset(pair)):
                    x, y = (made_by[system] for system in pair)
                    choices.append((y, x) if sides[place, pair].deal_one() and turning else (x, y))
        return Demand(groups=section.both_ways(choices))

    return deal


def deals_alone(draw: Draw, section: Choices) -> Callable[[int], Hand]:
    """Return what deals pairs on an item each, every output under a label of its own."""
    pairs = Deck(section.pairs(draw.study), draw.rng)
    sides = {pair: draw.sides() for pair in section.pairs(draw.study)}
    turning = draw.study.design.directions == "counterbalanced"

    def deal(size: int) -> Hand:
        blocks: list[Block] = []
        choices: list[Group] = []
        systems: dict[str, str] = {}
        shown: list[list[tuple[str, str, int]]] = []  # system, item and sample, first and second on the page
        for item_id in draw.items.deal(size):
            pair = pairs.deal_one()
            if sides[pair].deal_one() and turning:
                pair = pair[::-1]
            samples = {system: draw.sample(item_id, system) for system in pair}
            shown.append([(system, item_id, samples[system]) for system in pair])
        if section.directions == "both":
            shown += [two[::-1] for two in shown]
        for place, two in enumerate(shown):
            labels = label_name(2 * place), label_name(2 * place + 1)
            group = tuple(
                ShownOutput(label=label, item_id=item_id, sample=sample)
                for label, (_, item_id, sample) in zip(labels, two, strict=True)
            )
            blocks.append(Block(exposure=1, labels=labels, shown=group))
            choices.append(group)
            systems |= {label: system for label, (system, _, _) in zip(labels, two, strict=True)}
        return Hand(blocks=tuple(blocks), groups=tuple(choices), systems=systems)

    return deal


WAY = WayOfAsking(
    settings=Choices,
    name="Choices",
    described="Choice: which of two outputs is better?",
    in_methods="chose the better of two outputs of one item",
    problems=problems,
    warnings=warnings,
    overview=overview,
    dealer=dealer,
    assigned_as="groups",
    deals_alone=deals_alone,
    pages=pages,
    judgements=(ChoiceTarget,),
    always_stored=True,
    from_the_first=True,
    heds_form=3,
    heds_seen_as=1,
)
