"""Standard gamble: an output for sure, or the best reference with a chance and otherwise the worst.

The chance at which an annotator switches is the output's utility between the two references, for this annotator alone:
a von Neumann-Morgenstern utility, which says how much better one output is than another.

Von Neumann, J. and Morgenstern, O. (1953). Theory of Games and Economic Behavior. Princeton University Press.
Ethayarajh, K. and Jurafsky, D. (2022). The authenticity gap in human evaluation. Proceedings of EMNLP (limitation 1).
Andersen, S., Harrison, G. W., Lau, M. I. and Rutström, E. E. (2006). Elicitation using multiple price list formats.
Experimental Economics 9, 383-405.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field

from spa.elicitation.dealing import Dealer, Draw
from spa.elicitation.view import AssignmentView, seeded_position
from spa.elicitation.way import WayOfAsking
from spa.records.assignment import AssignmentLabels, Group, ShownOutput
from spa.records.form import (
    OUTPUT,
    SHOWN,
    Answer,
    AnswerOption,
    Column,
    Exhibit,
    ExhibitsBlock,
    Judgement,
    Page,
    PageBlock,
    Question,
    SimulatedReader,
)
from spa.records.problems import StudyProblem, mistake, quote, unfit_system
from spa.records.study import Section, Shown, Study
from spa.records.toml_table import Ident
from spa.widgets import ChoiceListAnswer, list_switching_at, switch_of

Percent = Annotated[int, Field(ge=1, le=99)]
PERMILLE = 1000  # in which a share of forms is drawn


class Gamble(Section):
    """An output for sure, or a gamble between the best and the worst reference, at several chances."""

    key: ClassVar[str] = "gamble"
    way: ClassVar[str] = "gamble"
    compares: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    of_all_systems: ClassVar[bool] = True
    shows_references: ClassVar[bool] = True
    unread: ClassVar[str | None] = "a choice list is several tokens"

    best_reference: Ident | None = None  # a system of role "reference"; what annotators imagine where absent
    worst_reference: Ident | None = None
    chances: Annotated[tuple[Percent, ...], Field(min_length=2, max_length=15)] = (5, 20, 35, 50, 65, 80, 95)
    difference: Annotated[float, Field(gt=0, lt=1)] = 0.1  # of two utilities, above which annotators are counted
    shared_anchors: bool = False  # whether all annotators are said to find the two references equally good
    second_anchor: Annotated[float, Field(ge=0, le=1)] = 0.0  # share of forms on which outputs are the worst, too
    repeats: Annotated[int, Field(ge=0)] = 0  # lists that are asked again at the end of a form
    outputs: Shown = "all"  # the first item shown, all items, or k at random
    show_item_text: bool = True  # as in a rating section
    criteria: tuple[Ident, ...] | None = None
    overall: bool = True

    def references(self) -> frozenset[str]:
        """Return the systems between which the gamble is."""
        return frozenset(one for one in (self.best_reference, self.worst_reference) if one is not None)


def problems(study: Study, section: Gamble) -> Iterator[StudyProblem]:
    """Yield what the section means wrongly beside the others."""
    best, worst = section.best_reference, section.worst_reference
    if any(one >= other for one, other in pairwise(section.chances)):
        got = ", ".join(map(str, section.chances))
        yield mistake("[gamble] chances", "percentages that rise, each once", got, "put them in order")
    for key, system in (("best_reference", best), ("worst_reference", worst)):
        if system is not None:
            yield from unfit_system(study, f"[gamble] {key}", system, role="reference")
    if best is not None and best == worst:
        yield mistake("[gamble] worst_reference", "another than best_reference", quote(worst), "change one")
    if section.shared_anchors and (best is None or worst is None):
        expected = "best_reference and worst_reference, which all annotators see"
        got = "an end that each annotator imagines"
        yield mistake("[gamble] shared_anchors", expected, got, "name both, or remove the key")
    most = len(study.compared) * study.items_per_annotator * len(section.asks(study))
    if section.repeats > most:
        yield mistake("[gamble] repeats", f"at most the {most} lists of a form", str(section.repeats), "lower it")


def warnings(study: Study, section: Gamble) -> Iterator[str]:
    """Yield what its author may not mean."""
    if not section.second_anchor:
        yield (
            "[gamble] second_anchor: on no form is it seen whether choices depend on what the gamble is between; 0.5 "
            "asks two more lists on every second form"
        )


def overview(study: Study, section: Gamble) -> str:
    """Return what `spa check` says of it."""
    first, *_, last = section.chances
    return f"{len(section.chances)} chances from {first}% to {last}%"


@dataclass(frozen=True, slots=True, kw_only=True)
class GambleTarget(Judgement):
    """At which chance a gamble is as good as one output."""

    kind: ClassVar[str] = "gamble"
    table: ClassVar[str] = "gambles"
    columns: ClassVar[Mapping[str, Column]] = {
        **OUTPUT,
        "utility": "Float64",  # the middle of the next two; empty where the answer does not switch once
        "lower": "Float64",  # the last chance at which the output was preferred; 0: at none
        "upper": "Float64",  # the first at which the gamble was; 1: at none
        "switches": "Int64",
        "anchor": "String",  # the system whose output stood in for the worst reference, where one did
        "again": "Int64",  # 1 where the same had been asked before
        **SHOWN,
    }
    about: ClassVar[str] = "outputs for sure against gambles, one row a choice list"

    label: str
    item_id: str
    sample: int
    anchor: str = ""  # label of the output that stands in for the worst reference
    anchor_sample: int = 0
    again: bool = False

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return Gamble.way

    def outputs(self) -> frozenset[tuple[str, str, int]] | None:
        """Return the output that is had for sure, and the one that stands in for the worst reference."""
        own = ((self.label, self.item_id, self.sample),)
        return frozenset(own if not self.anchor else (*own, (self.anchor, self.item_id, self.anchor_sample)))

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return the row of an answer."""
        found = switch_of(value) if isinstance(value, str) else None
        ends = (None, None) if found is None else (found.lower, found.upper)
        utility = None if ends[0] is None or ends[1] is None else round((ends[0] + ends[1]) / 2, 4)
        said = utility, *ends, None if found is None else found.switches
        anchor = labels.systems[self.anchor] if self.anchor else None
        shown = self.way, self.sample, self.label, labels.positions.get(self.label)
        return [
            (self.item_id, labels.systems[self.label], self.criterion, *said, anchor, int(self.again), *shown),
        ]

    def favour(self, value: float | str, label: str, scale: tuple[float, float] | None) -> float | None:
        """Return the middle of the two chances."""
        if not isinstance(value, str) or label != self.label or self.anchor:
            return None
        found = switch_of(value)
        return None if found.lower is None or found.upper is None else (found.lower + found.upper) / 2

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Switch at the utility that the output is found to have; between the ends of the true scale."""
        if not isinstance(answer, ChoiceListAnswer):
            raise TypeError("gambles are chosen in a list")
        found = self._found(reader, self.label, self.sample)
        worst = self._found(reader, self.anchor, self.anchor_sample) if self.anchor else 0.0
        return list_switching_at(
            answer, -1.0 if found < worst else 1.0 if worst >= 1 else (found - worst) / (1 - worst)
        )

    def _found(self, reader: SimulatedReader, label: str, sample: int) -> float:
        utility = reader.perceived(label, self.item_id, sample, self.criterion)
        if self.criterion in reader.truth.lower_is_better:
            utility = reader.truth.low + reader.truth.high - utility
        share: float = reader.truth.normalised(utility)
        return min(max(share, 0.0), 1.0)


def pages(view: AssignmentView, section: Gamble) -> list[Page]:
    """Return a page for each output, then those asked again, then those with an output as the worst."""
    groups = view.assignment.groups_of(section.key)
    made = [_page(view, section, output, section.asks(view.study)) for group in groups for output in group]
    return [*made, *_asked_again(view, section, groups), *_with_second_anchor(view, section, groups)]


def _asked_again(view: AssignmentView, section: Gamble, groups: Sequence[Group]) -> Iterator[Page]:
    asked = [(one, criterion) for group in groups for one in group for criterion in section.asks(view.study)]
    for number in range(min(section.repeats, len(asked))):
        output, criterion = asked.pop(seeded_position(view, f"gamble/again/{number}", len(asked)))
        yield _page(view, section, output, (criterion,), again=True)


def _with_second_anchor(view: AssignmentView, section: Gamble, groups: Sequence[Group]) -> Iterator[Page]:
    """Yield two outputs of one item, each against a gamble in which the other one is the worst."""
    share = round(section.second_anchor * PERMILLE)
    fit = [group for group in groups if len(group) > 1]
    if not fit or seeded_position(view, "gamble/second", PERMILLE) >= share:
        return
    group = list(fit[seeded_position(view, "gamble/item", len(fit))])
    one = group.pop(seeded_position(view, "gamble/one", len(group)))
    other = group.pop(seeded_position(view, "gamble/other", len(group)))
    criterion = section.asks(view.study)[-1:]
    yield _page(view, section, one, criterion, anchor=other)
    yield _page(view, section, other, criterion, anchor=one)


def _page(
    view: AssignmentView,
    section: Gamble,
    output: ShownOutput,
    asked: Sequence[str],
    *,
    anchor: ShownOutput | None = None,
    again: bool = False,
) -> Page:
    """Return the references, the output and its lists; those without the item text come before it."""
    without_item, with_item, _ = view.views(section.key)
    blocks: list[PageBlock] = []
    for heading, criteria in ((None, without_item), (view.item(output.item_id), with_item)):
        here = [criterion for criterion in criteria if criterion in asked]
        if here:
            blocks += _shown(view, section, output, heading, anchor)
            blocks += [_question(view, section, output, criterion, anchor, again=again) for criterion in here]
    return Page(kind=section.way, shows="outputs", title="", blocks=tuple(blocks))


def _shown(
    view: AssignmentView, section: Gamble, output: ShownOutput, heading: Exhibit | None, anchor: ShownOutput | None
) -> Iterator[ExhibitsBlock]:
    ends = [("best", section.best_reference)]
    if anchor is None:
        ends.append(("worst", section.worst_reference))
    references = tuple(
        view.reference(output.item_id, system, view.say(f"gamble_{end}_caption"))
        for end, system in ends
        if system is not None
    )
    if references:
        yield ExhibitsBlock(heading=heading, exhibits=references)
    outputs = (output,) if anchor is None else (output, anchor)
    yield ExhibitsBlock(heading=None if references else heading, exhibits=tuple(map(view.output, outputs)))


def _question(
    view: AssignmentView,
    section: Gamble,
    output: ShownOutput,
    criterion: str,
    anchor: ShownOutput | None,
    *,
    again: bool,
) -> Question:
    best, worst = (
        view.say(f"gamble_{end}" if system is not None else f"gamble_{end}_imagined")
        for end, system in (("best", section.best_reference), ("worst", section.worst_reference))
    )
    if anchor is not None:
        worst = view.say("gamble_other", system=view.system(anchor.label))
    target = GambleTarget(
        label=output.label,
        item_id=output.item_id,
        sample=output.sample,
        criterion=criterion,
        anchor="" if anchor is None else anchor.label,
        anchor_sample=0 if anchor is None else anchor.sample,
        again=again,
    )
    text = view.ask("gamble", criterion, system=view.system(output.label), best=best, worst=worst)
    return Question(text=text, answer=_answer(view, section, anchor), target=target)


def _answer(view: AssignmentView, section: Gamble, anchor: ShownOutput | None) -> ChoiceListAnswer:
    """Return the list of gambles, with what the worst one is called."""

    def row(chance: int) -> str:
        numbers = {"chance": str(chance), "rest": str(100 - chance)}
        if anchor is None:
            return view.say("gamble_row", **numbers)
        return view.say("gamble_row_other", **numbers, system=view.system(anchor.label))

    return view.text_cache.cached(
        ("gamble", None if anchor is None else view.system(anchor.label)),
        lambda: ChoiceListAnswer(
            options=tuple(AnswerOption(value=str(chance), text=row(chance)) for chance in section.chances)
        ),
    )


def dealer(draw: Draw, section: Gamble) -> Dealer:
    """Return what deals the outputs of all systems, in balanced places."""
    systems = [system.id for system in draw.study.compared]
    places = draw.orders(len(systems))

    def shown(made_by: Mapping[str, ShownOutput]) -> Group:
        return tuple(made_by[systems[place]] for place in places.deal())

    return draw.dealer_of_groups(section, shown)


WAY = WayOfAsking(
    settings=Gamble,
    problems=problems,
    warnings=warnings,
    overview=overview,
    dealer=dealer,
    pages=pages,
    judgements=(GambleTarget,),
    name="Standard gamble",
    described="Standard gamble: is an output for sure better than a gamble between the best and the worst reference?",
    in_methods="chose between an output for certain and a gamble of the best and the worst reference (standard gamble)",
    values=lambda study, section: ("for sure", "the gamble"),
    heds_form=3,
    heds_seen_as=1,
    late_texts=(
        "gamble_title",
        "gamble_best_caption",
        "gamble_worst_caption",
        "instructions_gamble",
        "gamble_best",
        "gamble_worst",
        "gamble_best_imagined",
        "gamble_worst_imagined",
        "gamble_other",
        "gamble_overall",
        "gamble_criterion",
        "gamble_row",
        "gamble_row_other",
    ),
)
