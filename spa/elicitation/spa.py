"""System-level probabilistic assessment: the chance, in per cent, that one system is better than another.

Ethayarajh & Jurafsky (2022): annotators read outputs of both systems and judge the systems, not these outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from spa.elicitation.blocks import side_by_side
from spa.elicitation.dealing import Dealer, Dealt, Demand, Draw
from spa.elicitation.pairs import Comparisons, disconnected, expand_pairs, pair_problems
from spa.elicitation.view import AssignmentView
from spa.elicitation.way import WayOfAsking
from spa.records.assignment import AssignmentLabels, Comparison
from spa.records.form import (
    Answer,
    Column,
    ExhibitsBlock,
    Judgement,
    Page,
    PageBlock,
    Question,
    SimulatedReader,
    TextBlock,
)
from spa.records.problems import StudyProblem, mistake, quote, repeated, unfit_system
from spa.records.study import Deciding, Pairs, Section, Study
from spa.records.toml_table import Ident, TomlTable
from spa.widgets import NumberAnswer, widget_of

ADVISED_EXPOSURE = 4  # Ethayarajh & Jurafsky (2022) advise to show at least so many outputs of each system


class ExposureStudy(TomlTable):
    """The same two systems under several pairs of labels, each seen at another exposure.

    Ethayarajh & Jurafsky (2022), appendix B: items are disjoint between the blocks and the
    same for both systems, so that annotators take the pairs for different systems.
    """

    system_x: Ident
    system_y: Ident
    exposures: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (1, 2, 4, 8)


class Spa(Section):
    """System-level probabilistic assessment."""

    key: ClassVar[str] = "spa"
    way: ClassVar[str] = "spa"
    graded: ClassVar[bool] = True
    compares: ClassVar[bool] = True
    items_key: ClassVar[str | None] = "exposure"
    of_turns: ClassVar[bool] = True  # systems are judged, after whole outputs

    exposure: Annotated[int, Field(ge=1)] = 5  # outputs of each system that an annotator reads
    comparisons: Comparisons = "all"
    baseline: Ident | None = None
    directions: Literal["both", "one"] = "both"
    same_items: bool = True  # both systems are read on the same items
    reading: Literal["first", "with_questions"] = "first"  # all outputs are read before the first comparison, or
    # each comparison shows its own; an exposure study always does the latter
    criteria: tuple[Ident, ...] | None = None  # None: all criteria without options
    overall: bool = True
    exposure_study: ExposureStudy | None = None

    def shares_items(self) -> bool:
        """Return whether all systems are read on the same items."""
        return self.exposure_study is not None or self.same_items

    def needs_earlier_pages(self) -> bool:
        """Return whether all outputs are read before the first comparison."""
        return self.reading == "first" and self.exposure_study is None

    def exposures(self) -> tuple[int, ...]:
        """Return how many outputs of each system are read; several in an exposure study."""
        return (self.exposure,) if self.exposure_study is None else self.exposure_study.exposures

    def systems(self) -> tuple[str, ...]:
        """Return the two systems of an exposure study."""
        return () if (two := self.exposure_study) is None else (two.system_x, two.system_y)

    def items_needed(self, study: Study) -> int | None:
        """Return how many items one annotator meets."""
        if self.exposure_study is not None:
            return sum(self.exposure_study.exposures)
        return self.exposure * (1 if self.same_items else len(study.compared))

    def pairs(self, study: Study) -> Pairs:
        """Return the pairs compared."""
        if (two := self.exposure_study) is not None:
            return ((two.system_x, two.system_y),)
        return expand_pairs(self.comparisons, self.baseline, study.compared)

    def asks_again(self) -> bool:
        """Return whether both directions are asked."""
        return self.directions == "both"

    def tells_same_answers(self) -> bool:
        """Return whether giving one answer all the time shows: only where both directions are asked."""
        return self.asks_again()

    def decides(self) -> Deciding | None:
        """Return that preference probabilities can end a live study."""
        return "preferences"


def problems(study: Study, section: Spa) -> Iterator[StudyProblem]:
    """Yield what the section means wrongly beside the others."""
    if section.exposure_study is None:
        yield from pair_problems(study, "[spa]", section.comparisons, section.baseline)
    else:
        yield from _exposure_problems(study, section, section.exposure_study)
    for other in study.sections.values():
        if other.of_all_systems and section.exposure_study is not None:
            yield mistake("[spa.exposure_study]", f"no [{other.key}] beside it", "one", "leave out one", other.key)
        elif other.joint and not section.same_items:
            got, do = "false, which shows no item twice", "set it to true or leave out one"
            yield mistake("[spa] same_items", f"true beside [{other.key}]", got, do, other.key)
    for criterion in study.criteria:
        if criterion.show_item_text is False and criterion.id in section.asks(study):
            place = f"[[criteria]] {criterion.id}, show_item_text"
            expected = "none for a criterion of [spa], where the item text is read with the outputs"
            yield mistake(place, expected, "false", "remove it, or the criterion from [spa]", "spa")


def _exposure_problems(study: Study, section: Spa, two: ExposureStudy) -> Iterator[StudyProblem]:
    place = "[spa.exposure_study]"
    yield from unfit_system(study, f"{place} system_x", two.system_x)
    if two.system_x == two.system_y:
        yield mistake(f"{place} system_y", "another system than system_x", quote(two.system_y), "change one")
    else:
        yield from unfit_system(study, f"{place} system_y", two.system_y)
    yield from repeated(f"{place} exposures", two.exposures)
    for key in ("exposure", "comparisons", "baseline", "same_items", "reading"):
        if key in section.model_fields_set:
            yield mistake(f"[spa] {key}", f"none beside {place}, which settles it", "one", "remove it")


def warnings(study: Study, section: Spa) -> Iterator[str]:
    """Yield what its author may not mean."""
    if section.exposure_study is not None:
        return
    if section.exposure < ADVISED_EXPOSURE:
        yield (
            f"[spa] exposure = {section.exposure}: the SPA paper advises at least {ADVISED_EXPOSURE} outputs "
            "of each system, as fewer say little about outputs not seen"
        )
    if section.directions == "one" and study.analysis.consistency_tau is not None:
        yield '[spa] directions = "one": self-consistency cannot be checked, so no annotator is excluded for it'
    if section.asks_again() and study.design.directions == "fixed" and study.instructions.explains_sum:
        yield (
            '[design] directions = "fixed" with the rule that both directions are at most 100%: who obeys it lets what '
            "favours the first direction into both; counterbalance them, or set [instructions] explain_sum = false"
        )
    yield from disconnected(study, section)


def overview(study: Study, section: Spa) -> str:
    """Return what `spa check` says of it."""
    both = "" if section.directions == "one" else ", both directions"
    *first, last = [str(number) for number in section.exposures()]
    seen = f"{', '.join(first)} and {last}" if first else last
    number = len(section.pairs(study))
    return f"{number} pair{'s' if number != 1 else ''}{both}, after {seen} outputs of each system"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceTarget(Judgement):
    """P(label_x preferred to label_y on unseen output)."""

    kind: ClassVar[str] = "preference"
    table: ClassVar[str] = "preferences"
    columns: ClassVar[Mapping[str, Column]] = {
        "system_x": "String",
        "system_y": "String",
        "preference": "Float64",
        "criterion": "String",
        "exposure": "Int64",
        "asked_first": "Int64",
        "elicitation": "String",
        "label_x": "String",
        "label_y": "String",
    }
    about: ClassVar[str] = "chances that one system is preferred to another, one row an answer"

    label_x: str
    label_y: str
    exposure: int
    asked_first: bool  # this direction came before its reverse

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return Spa.way

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return the row of an answer."""
        x, y, systems = self.label_x, self.label_y, labels.systems
        return [(systems[x], systems[y], value, self.criterion, self.exposure, int(self.asked_first), self.way, x, y)]

    def favour(self, value: float | str, label: str, scale: tuple[float, float] | None) -> float | None:
        """Return the chance that the label is better."""
        if not isinstance(value, float) or label not in (self.label_x, self.label_y):
            return None
        return value if label == self.label_x else 1 - value

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Return the chance as the annotator states it: rounded, and less in both directions where undecided."""
        chance = reader.chance(self.label_x, self.label_y, self.criterion)
        if reader.excess is not None:
            chance = min(1.0, chance + reader.excess)
        else:  # taken from both directions alike: what is left over is the indifference
            chance -= reader.temperament.indifference * min(chance, 1 - chance)
        percent = chance * 100
        if (step := reader.temperament.rounding) > 0:
            percent = step * round(percent / step)
        return widget_of(answer).at(answer, percent / 100)


def pages(view: AssignmentView, section: Spa) -> list[Page]:
    """Return a page for each row of outputs, where all is read before, and one for each comparison."""
    reading = [] if section.reading != "first" or section.exposure_study is not None else _reading_pages(view)
    return [*reading, *_comparison_pages(view, read_before=bool(reading))]


def _reading_pages(view: AssignmentView) -> list[Page]:
    read = [row for block in range(len(view.assignment.blocks)) for row in view.rows(block)]
    made = []
    for number, row in enumerate(read, start=1):
        intro = (TextBlock(markdown=view.say("reading_intro")),) if number == 1 else ()
        title = view.say("reading_title", number=str(number), total=str(len(read)))
        blocks = (*intro, *side_by_side(view, [row.outputs]))
        made.append(Page(kind="reading", shows="systems", title=title, blocks=blocks))
    return made


def _comparison_pages(view: AssignmentView, *, read_before: bool) -> list[Page]:
    """Return one page for each comparison, with the outputs of both labels above its questions."""
    comparisons = view.assignment.comparisons
    made = []
    for number, comparison in enumerate(comparisons, start=1):
        exposure = view.assignment.blocks[comparison.block].exposure
        columns = _in_columns(view, comparison)
        x, y = map(view.system, columns)
        intro = view.say("comparison_again" if read_before else "comparison_intro", x=x, y=y)
        made.append(
            Page(
                kind="comparison",
                shows="systems",
                title=view.say("comparison_title", number=str(number), total=str(len(comparisons)), x=x, y=y),
                blocks=(
                    TextBlock(markdown=intro),
                    *_pair_side_by_side(view, comparison.block, columns, repeated=read_before),
                    *_preference_questions(view, comparison.directions, exposure),
                ),
            )
        )
    return made


def _in_columns(view: AssignmentView, comparison: Comparison) -> list[str]:
    """Return the two labels as the page names and shows them: in label order, whichever direction is asked first."""
    return sorted(comparison.directions[0], key=view.assignment.blocks[comparison.block].labels.index)


def _pair_side_by_side(
    view: AssignmentView, block: int, columns: Sequence[str], *, repeated: bool
) -> Sequence[PageBlock]:
    """Return two labels' outputs row by row."""
    x, y = map(view.assignment.blocks[block].labels.index, columns)
    found = view.rows(block)
    if all([row.one_item for row in found]):
        return [
            ExhibitsBlock(heading=row.heading, exhibits=(row.exhibits[x], row.exhibits[y]), repeated=repeated)
            for row in found
        ]
    return side_by_side(view, [(row.outputs[x], row.outputs[y]) for row in found])


def _preference_questions(view: AssignmentView, directions: Pairs, exposure: int) -> tuple[Question, ...]:
    """Return all criteria in the first direction, then all in the other: the reverse is not right below."""
    return view.text_cache.cached(
        ("preferences", directions, exposure),
        lambda: tuple(
            Question(
                text=view.ask("spa", criterion, x=view.system(x), y=view.system(y)),
                answer=_percent(view, x, y),
                target=PreferenceTarget(
                    label_x=x, label_y=y, exposure=exposure, criterion=criterion, asked_first=turn == 0
                ),
            )
            for turn, (x, y) in enumerate(directions)
            for criterion in view.criteria_of("spa")
        ),
    )


def _percent(view: AssignmentView, label_x: str, label_y: str) -> NumberAnswer:
    """Return the answer to "what is the chance that x is better than y?"."""
    x = view.system(label_x)
    return view.text_cache.cached(
        ("percent", label_x, label_y),
        lambda: NumberAnswer(
            low=0,
            high=100,
            scale=100,
            low_text=view.say("spa_low", x=x),
            high_text=view.say("spa_high", x=x),
            unit="%",
            sides=(label_x, label_y),
        ),
    )


def instructions(view: AssignmentView, section: Spa) -> list[str]:
    """Return what the instructions say of it.

    What a preference probability means follows figure 4 of Ethayarajh & Jurafsky (2022): 100 % is certain that x
    is better, 0 % certain that x is no better (not: that y is better), 50 % no idea.
    """
    blocks = view.assignment.blocks
    x, y, *_ = (view.system(label) for block in blocks for label in block.labels)
    low, high = min(block.exposure for block in blocks), max(block.exposure for block in blocks)
    if low < high:
        exposure = view.say("exposure_varied", low=str(low), high=str(high))
    else:
        exposure = view.say("exposure_one") if high == 1 else view.say("exposure_many", number=str(high))
    said = [view.say("instructions_spa", exposure=exposure, x=x, y=y)]
    if section.directions == "both" and view.study.instructions.explains_sum:
        said.append(view.say("instructions_both_directions", x=x, y=y))
    return said


def dealer(draw: Draw, section: Spa) -> Dealer:
    """Return what deals the comparisons of an assignment: each pair's first direction is balanced."""
    pairs, design = section.pairs(draw.study), draw.study.design
    order = draw.question_orders(len(pairs))
    directions = [[draw.sides() for _ in pairs] for _ in draw.exposures]
    count = 2 if section.directions == "both" else 1

    def deal(dealt: Dealt) -> Demand:
        turns = [[deck.deal_one() for deck in decks] for decks in directions]  # dealt in the study's order
        asked = order.deal()
        comparisons = []
        for block, (place, column) in enumerate(zip(dealt.places, dealt.columns, strict=True)):
            label_of = {system: label for label, system in column.items()}
            for listed in asked:
                x, y = (label_of[system] for system in pairs[listed])
                turned = turns[place][listed] and design.directions == "counterbalanced"
                both = ((y, x), (x, y)) if turned else ((x, y), (y, x))
                comparisons.append(Comparison(block=block, directions=both[:count]))
        return Demand(comparisons=tuple(comparisons))

    return deal


WAY = WayOfAsking(
    settings=Spa,
    name="SPA",
    described="System-level probabilistic assessment (SPA): after reading, how likely is it that one system is better?",
    in_methods="stated how likely it is that one system is preferred to another on output not yet seen "
    "(system-level probabilistic assessment, SPA)",
    problems=problems,
    warnings=warnings,
    overview=overview,
    dealer=dealer,
    assigned_as="comparisons",
    pages=pages,
    instructions=instructions,
    judgements=(PreferenceTarget,),
    from_the_first=True,
    heds_form=3,
    heds_seen_as=5,
)
