"""Best-worst scaling: which of several outputs of one item is the best, and which the worst.

Louviere, J. J., Flynn, T. N. and Marley, A. A. J. (2015). Best-Worst Scaling. Cambridge University Press. Kiritchenko,
S. and Mohammad, S. M. (2017). Best-worst scaling more reliable than rating scales. Proceedings of ACL, 465-470.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Annotated, ClassVar

from pydantic import Field

from spa.elicitation.balanced_draws import EvenHands
from spa.elicitation.blocks import group_pages, labelled_options
from spa.elicitation.dealing import Dealer, Draw
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.records.assignment import AssignmentLabels, Group, ShownOutput
from spa.records.form import CHOSEN, Answer, Column, Judgement, Page, Question, SimulatedReader
from spa.records.problems import StudyProblem, mistake
from spa.records.study import Section, Shown, Study
from spa.records.toml_table import Ident
from spa.widgets import ExtremesAnswer, best_and_worst


class BestWorst(Section):
    """Which of several outputs of one item is the best, and which the worst."""

    key: ClassVar[str] = "best_worst"
    way: ClassVar[str] = "best_worst"
    compares: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    of_all_systems: ClassVar[bool] = True
    unread: ClassVar[str | None] = "the best and the worst are two tokens"

    size: Annotated[int, Field(ge=2)] = 4  # outputs a page; those of all systems where there are fewer
    outputs: Shown = "all"  # the first item shown, all items, or k at random
    show_item_text: bool = True  # as in a rating section
    criteria: tuple[Ident, ...] | None = None
    overall: bool = True

    def shown(self, study: Study) -> int:
        """Return how many outputs a page shows."""
        return min(self.size, len(study.compared))

    def outputs_together(self, study: Study) -> int:
        """Return how many outputs a page shows."""
        return self.shown(study)


def problems(study: Study, section: BestWorst) -> Iterator[StudyProblem]:
    """Yield a criterion by which choices are asked too: the two kinds would be counted as one."""
    for other in study.sections.values():
        shared = [name for name in other.asks(study) if name in section.asks(study)]
        if other.decides() == "choices" and shared:
            do = f"leave out one, or give them different criteria and overall = false in [{other.key}] or here"
            expected = f"no criterion of [{other.key}], whose answers count as choices too"
            yield mistake("[best_worst] criteria", expected, ", ".join(shared), do, other.key, "criteria")


def overview(study: Study, section: BestWorst) -> str:
    """Return what `spa check` says of it."""
    return f"{section.shown(study)} outputs at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class BestWorstTarget(Judgement):
    """Which of several outputs of one item is the best, and which the worst."""

    kind: ClassVar[str] = "best_worst"
    table: ClassVar[str] = "choices"
    columns: ClassVar[Mapping[str, Column]] = CHOSEN
    about: ClassVar[str] = "choices between two outputs, one row an answer"
    explained_once: ClassVar[bool] = True

    labels: tuple[str, ...]  # in the order of the page
    item_id: str
    samples: tuple[int, ...]  # of the same outputs

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return BestWorst.way

    def outputs(self) -> frozenset[tuple[str, str, int]] | None:
        """Return the outputs of the page."""
        return frozenset((label, self.item_id, sample) for label, sample in zip(self.labels, self.samples, strict=True))

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return what an answer implies: the best beats all others, and all others beat the worst.

        The first of two stands first on the page. Of a missing answer the first two outputs are the one row.
        """
        best, worst = best_and_worst(value) if isinstance(value, str) else ("", "")
        made: list[tuple[object, ...]] = []
        for one, other in combinations(zip(self.labels, self.samples, strict=True), 2):
            (x, sample_x), (y, sample_y) = one, other
            if value is None or {x, y} & {best, worst}:
                winner = None if value is None else "x" if x == best or y == worst else "y"
                systems = labels.systems[x], labels.systems[y]
                made.append((self.item_id, *systems, self.criterion, winner, self.way, sample_x, sample_y, x, y))
        return made[:1] if value is None else made

    def favour(self, value: float | str, label: str, scale: tuple[float, float] | None) -> float | None:
        """Return 1 for the best, 0 for the worst, half for the others."""
        if not isinstance(value, str) or label not in self.labels:
            return None
        return {best_and_worst(value)[0]: 1.0, best_and_worst(value)[1]: 0.0}.get(label, 0.5)

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Return the outputs found best and worst; of equally good ones any."""
        found = {
            label: (reader.perceived(label, self.item_id, sample, self.criterion), reader.rng.random())
            for label, sample in zip(self.labels, self.samples, strict=True)
        }
        order = sorted(found, key=found.__getitem__)
        return f"{order[-1]} > {order[0]}"


def pages(view: AssignmentView, section: BestWorst) -> list[Page]:
    """Return one page for each item of which the annotator names the best and the worst output."""
    return group_pages(view, section, partial(_question, view))


def _question(view: AssignmentView, outputs: Group, criterion: str) -> Question:
    labels = tuple(output.label for output in outputs)
    samples = tuple(output.sample for output in outputs)
    target = BestWorstTarget(labels=labels, item_id=outputs[0].item_id, samples=samples, criterion=criterion)
    answer = view.text_cache.cached(
        ("best_worst", labels),
        lambda: ExtremesAnswer(options=labelled_options(view, labels)),
    )
    return Question(text=view.ask("best_worst", criterion), answer=answer, target=target)


def dealer(draw: Draw, section: BestWorst) -> Dealer:
    """Return what deals pages: each system as often as any other, every two as evenly together, in balanced places."""
    size = section.shown(draw.study)
    systems = EvenHands([system.id for system in draw.study.compared], size, draw.rng)
    places = draw.orders(size)

    def shown(made_by: Mapping[str, ShownOutput]) -> Group:
        hand = systems.deal()
        return tuple(made_by[hand[place]] for place in places.deal())

    return draw.dealer_of_groups(section, shown)


WAY = WayOfAsking(
    settings=BestWorst,
    problems=problems,
    overview=overview,
    dealer=dealer,
    assigned_as="groups",
    pages=pages,
    judgements=(BestWorstTarget,),
    name="Best and worst",
    described="Best-worst scaling: of several outputs of one item, which is the best and which the worst?",
    in_methods="named the best and the worst of several outputs of one item (best-worst scaling)",
    heds_form=3,
    heds_seen_as=1,
    values=lambda study, section: ("best", "worst", "neither"),
    late_texts=("best_worst_title", "instructions_best_worst", "best_worst_overall", "best_worst_criterion"),
)
