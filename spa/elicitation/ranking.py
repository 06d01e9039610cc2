"""Rankings: several outputs of one item from best to worst, ties allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field

from spa.elicitation.balanced_draws import Deck
from spa.elicitation.blocks import group_pages, labelled_options
from spa.elicitation.dealing import Dealer, Draw
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.records.assignment import AssignmentLabels, Group, ShownOutput
from spa.records.form import OUTPUT, SHOWN, Answer, Column, Judgement, Page, Question, SimulatedReader
from spa.records.problems import StudyProblem, mistake
from spa.records.study import Deciding, Section, Shown, Study
from spa.records.toml_table import Ident
from spa.widgets import OrderAnswer, ranks_of


class Rankings(Section):
    """Which of several outputs of one item is best, which comes next, ...; ties are allowed."""

    key: ClassVar[str] = "ranking"
    way: ClassVar[str] = "ranking"
    compares: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    of_all_systems: ClassVar[bool] = True
    decides_alone: ClassVar[bool] = True
    unread: ClassVar[str | None] = "orders have no one token"

    size: Annotated[int, Field(ge=2)] | None = None  # outputs put in order; None: those of all systems
    outputs: Shown = "all"  # the first item shown, all items, or k at random
    show_item_text: bool = True  # as in a rating section
    criteria: tuple[Ident, ...] | None = None
    overall: bool = True

    def ranked(self, study: Study) -> int:
        """Return how many outputs are put in order at a time."""
        return self.size or len(study.compared)

    def outputs_together(self, study: Study) -> int:
        """Return how many outputs are put in order at a time."""
        return self.ranked(study)

    def decides(self) -> Deciding | None:
        """Return that the pairs of an order can end a live study, as choices do."""
        return "choices"


def problems(study: Study, section: Rankings) -> Iterator[StudyProblem]:
    """Yield what the section means wrongly beside the others."""
    size, most = section.size, len(study.compared)
    if size is not None and size > most:
        yield mistake("[ranking] size", f"at most the {most} systems", str(size), "lower it or remove it", "systems")


def overview(study: Study, section: Rankings) -> str:
    """Return what `spa check` says of it."""
    return f"{section.ranked(study)} outputs at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingTarget(Judgement):
    """Which of several outputs of one item is best, which comes next, ..."""

    kind: ClassVar[str] = "ranking"
    table: ClassVar[str] = "orders"
    columns: ClassVar[Mapping[str, Column]] = {**OUTPUT, "rank": "Int64", **SHOWN}  # 1 = best; ties share the lowest
    about: ClassVar[str] = "outputs put in order, best first, one row an output"

    labels: tuple[str, ...]  # in the order of the page
    item_id: str
    samples: tuple[int, ...]  # of the same outputs

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return Rankings.way

    def outputs(self) -> frozenset[tuple[str, str, int]] | None:
        """Return the outputs put in order."""
        return frozenset((label, self.item_id, sample) for label, sample in zip(self.labels, self.samples, strict=True))

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return a row for each output, in the order of the page."""
        ranks = ranks_of(value) if isinstance(value, str) else {}
        placed = enumerate(zip(self.labels, self.samples, strict=True), start=1)
        return [
            (self.item_id, labels.systems[label], self.criterion, ranks.get(label), self.way, sample, label, place)
            for place, (label, sample) in placed
        ]

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Order outputs by how good they are found; what is hardly worse than the one before is tied with it."""
        found = {
            label: reader.perceived(label, self.item_id, sample, self.criterion)
            for label, sample in zip(self.labels, self.samples, strict=True)
        }
        order = sorted(found, key=lambda label: -found[label])
        tied = reader.temperament.tie_width
        signs = ["=" if found[x] - found[y] < tied else ">" for x, y in pairwise(order)]
        return " ".join([order[0], *(f"{sign} {label}" for sign, label in zip(signs, order[1:], strict=True))])


def pages(view: AssignmentView, section: Rankings) -> list[Page]:
    """Return one page for each item of which the annotator puts the outputs in order."""
    return group_pages(view, section, partial(_question, view))


def _question(view: AssignmentView, outputs: Group, criterion: str) -> Question:
    labels = tuple(output.label for output in outputs)
    target = RankingTarget(
        labels=labels,
        item_id=outputs[0].item_id,
        samples=tuple(output.sample for output in outputs),
        criterion=criterion,
    )
    return Question(text=view.ask("ranking", criterion), answer=_order(view, labels), target=target)


def _order(view: AssignmentView, labels: tuple[str, ...]) -> OrderAnswer:
    """Return the answer that puts labels in order."""
    return view.text_cache.cached(
        ("order", labels),
        lambda: OrderAnswer(options=labelled_options(view, labels)),
    )


def dealer(draw: Draw, section: Rankings) -> Dealer:
    """Return what deals the outputs ranked: each system as often as any other, and as often in every place."""
    names = [system.id for system in draw.study.compared]
    size = section.ranked(draw.study)
    listed = {system: place for place, system in enumerate(names)}
    systems, places = Deck(names, draw.rng), draw.orders(size)

    def ranked(made_by: Mapping[str, ShownOutput]) -> Group:
        hand = sorted(systems.deal(size), key=listed.__getitem__)
        return tuple(made_by[hand[place]] for place in places.deal())

    return draw.dealer_of_groups(section, ranked)


WAY = WayOfAsking(
    settings=Rankings,
    name="Rankings",
    described="Ranking: several outputs of one item are put in order, best first; ties are allowed.",
    in_methods="put several outputs of one item in order, the best first",
    problems=problems,
    overview=overview,
    dealer=dealer,
    assigned_as="groups",
    pages=pages,
    judgements=(RankingTarget,),
    stored_as="rankings",
    heds_form=3,
    heds_seen_as=1,
    late_texts=("ranking_title", "instructions_ranking", "ranking_overall", "ranking_criterion"),
)
