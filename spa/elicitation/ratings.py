"""What every way of rating single outputs has in common: which outputs, on what pages, in what order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Annotated, ClassVar, Literal

from spa.elicitation.balanced_draws import Deck, draw_order
from spa.elicitation.dealing import Dealer, Dealt, Demand, Draw
from spa.elicitation.view import AssignmentView
from spa.records.assignment import AssignmentLabels, RatedOutput, ShownOutput
from spa.records.form import (
    OUTPUT,
    SHOWN,
    Answer,
    Column,
    Exhibit,
    ExhibitsBlock,
    ExplanationTarget,
    Judgement,
    Page,
    PageBlock,
    Question,
    SimulatedReader,
    Target,
    TextBlock,
)
from spa.records.problems import StudyProblem, mistake, quote
from spa.records.study import OVERALL, Section, Shown, Study
from spa.records.toml_table import Ident, KeyOf, added
from spa.widgets import NumberAnswer, TextAnswer, widget_of


class RatingSection(Section):
    """What every way of rating one output has in common."""

    rates: ClassVar[bool] = True
    of_turns: ClassVar[bool] = True

    outputs: Shown = "first"  # rated: the first item shown, all items, or k at random
    pages: Literal["output", "item", "system", "one"] = "item"  # what a page holds
    # asked on the pages of that section, about the same outputs
    same_page_as: Annotated[str | None, KeyOf("ratings")] = added(None)
    show_item_text: bool = added(True)  # of criteria that do not say it themselves, and of the overall question
    item_text_position: Literal["before", "after"] = added("before")  # where it is read: before or after the output
    order: Literal["item", "blocked", "mixed", "arms"] = added("item")  # all outputs of an item, then of the next; all
    # of a system, then of the next; drawn for each assignment; or half of the assignments blocked, half mixed
    criteria: tuple[Ident, ...] | None = None

    def answer(self, view: AssignmentView, criterion: str) -> Answer:
        """Return how the question about a criterion is answered."""
        raise NotImplementedError

    def questions(self, view: AssignmentView, output: ShownOutput, criterion: str) -> list[Question]:
        """Return the question about a criterion, with that for the reason where the study asks for one."""
        named = None if view.text_cache.single_outputs else output.label
        text, answer, reason = view.text_cache.cached(
            ("rating", self.way, named, criterion), lambda: self._wording(view, named, criterion)
        )
        target = RatingTarget(
            label=output.label, item_id=output.item_id, sample=output.sample, criterion=criterion, elicitation=self.way
        )
        rating = Question(text=text, answer=answer, target=target)
        if reason is None:
            return [rating]
        explanation = ExplanationTarget(of=target)
        return [rating, Question(text=reason, answer=TextAnswer(required=False), target=explanation)]

    def _wording(self, view: AssignmentView, label: str | None, criterion: str) -> tuple[str, Answer, str | None]:
        """Return the question about a criterion, how it is answered, and the question for the reason, if any."""
        asks_why = criterion != OVERALL and view.criterion(criterion).reason
        return (
            rating_question(view, label, criterion),
            self.answer(view, criterion),
            view.say("reason") if asks_why else None,
        )

    def has_ends(self) -> bool:
        """Return whether ratings are given on a scale with words at both ends: the fields ``low`` and ``high``."""
        return "low" in type(self).model_fields

    def orientation(self, view: AssignmentView, item_id: str, heading: Exhibit | None) -> list[PageBlock]:
        """Return what is shown above the outputs of an item, under its text, to say what the scale means."""
        return []

    def insert_pages(self, view: AssignmentView, pages: list[Page]) -> None:
        """Put pages of its own among those on which its questions stand."""

    def host(self) -> str | None:
        """Return the key of the section on whose pages it asks."""
        return self.same_page_as

    def outputs_a_page(self) -> str:
        """Return what a page holds."""
        return self.pages


Asked = tuple[RatingSection, str]  # a way of rating, and a criterion


def rating_sections(study: Study) -> Mapping[str, RatingSection]:
    """Return the sections that rate, by their keys."""
    return {key: one for key, one in study.sections.items() if isinstance(one, RatingSection)}


def rating_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield what sections that rate mean wrongly beside one another."""
    yield from _one_rating_each(study)
    yield from _ends(study)
    yield from _pages(study)
    yield from _single_outputs(study)


def _one_rating_each(study: Study) -> Iterator[StudyProblem]:
    rated_in: dict[str, str] = {}
    for table in study.rating_tables:
        for criterion in study.criteria_of(table):
            if criterion in rated_in:
                key = "overall = false" if criterion == OVERALL else "criteria = [...] without it"
                got = f"{quote(criterion)} in [{rated_in[criterion]}] too"
                do = f"set {key} in one of them"
                yield mistake(f"[{table}]", "each criterion rated in one way", got, do, rated_in[criterion], "criteria")
            rated_in.setdefault(criterion, table)


def _ends(study: Study) -> Iterator[StudyProblem]:
    scales = [(table, one) for table, one in rating_sections(study).items() if one.has_ends()]
    rated = {criterion for _, one in scales for criterion in one.asks(study)}
    own = {one.id: one for one in study.criteria if one.low is not None or one.high is not None}
    for name, criterion in own.items():
        place = f"[[criteria]] {name}"
        if criterion.low is None or criterion.high is None:
            given, missing = ("high", "low") if criterion.low is None else ("low", "high")
            do = f"add {missing}, or remove {given}"
            yield mistake(f"{place}, {missing}", "words at both ends of its scale", f"those of {given} alone", do)
        if criterion.options:
            yield mistake(f"{place}, low and high", "none beside options, which have texts", "some", "remove them")
        elif name not in rated:
            do = "remove them, or ask it there"
            yield mistake(f"{place}, low and high", "a rating in [likert], [continuous] or [spans]", "none", do)
    for table, section in scales:
        said = [key for key in ("low", "high") if key in section.model_fields_set]
        if said and set(section.asks(study)) <= own.keys():
            got, do = "one that no question shows", "remove it, or the words of a criterion"
            for key in said:
                yield mistake(
                    f"[{table}] {key}", "none where all criteria have words of their own", got, do, "criteria"
                )


def _pages(study: Study) -> Iterator[StudyProblem]:
    for table, section in rating_sections(study).items():
        alone = section.same_page_as is None
        if alone and section.item_text_position == "after" and study.outputs.item_text is None:
            do = "remove the key, or name the column in [outputs] item_text"
            yield mistake(f"[{table}] item_text_position", "an item text to place", "none", do, "outputs")
        host = section.same_page_as
        if host is None:
            continue
        place = f"[{table}] same_page_as"
        if host == table or host not in study.sections or study.sections[host].host() is not None:
            do = "name another rating section, or remove the key"
            yield mistake(place, "a rating section with pages of its own", quote(host), do, host)
        for key in ("pages", "outputs", "order", "item_text_position"):
            if key in section.model_fields_set:
                yield mistake(f"[{table}] {key}", f"none beside same_page_as, as [{host}] says it", "one", "remove it")


def _single_outputs(study: Study) -> Iterator[StudyProblem]:
    if not study.single_outputs:
        if "outputs" in study.design.model_fields_set:
            expected = 'pages = "output" in every section that rates, and none that compares'
            do = "correct these, or remove the key and say how many items"
            yield mistake("[design] outputs", expected, "another design", do, "sections")
        return
    if "items" in study.design.model_fields_set:
        expected = 'outputs (how many outputs an annotator rates, as pages = "output")'
        yield mistake("[design] items", expected, "items", "write outputs instead", "sections")
    for table, section in rating_sections(study).items():
        if "outputs" in section.model_fields_set and section.outputs != "all":
            do = "remove it and say how many in [design] outputs"
            yield mistake(f"[{table}] outputs", '"all", as pages = "output"', quote(section.outputs), do)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTarget(Judgement):
    """A rating of one output."""

    kind: ClassVar[str] = "rating"
    table: ClassVar[str] = "ratings"
    columns: ClassVar[Mapping[str, Column]] = {**OUTPUT, "score": "Float64", **SHOWN, "turn": "Int64"}
    about: ClassVar[str] = "ratings of single outputs, one row an answer"

    label: str
    item_id: str
    sample: int
    elicitation: str  # the way of asking

    @property
    def way(self) -> str:
        """What tables of answers call it."""
        return self.elicitation

    @property
    def turn_rated(self) -> int | None:
        """The turn of the output that is rated; None where the whole is."""
        return None

    def outputs(self) -> frozenset[tuple[str, str, int]] | None:
        """Return the output rated."""
        return frozenset(((self.label, self.item_id, self.sample),))

    def rows(self, value: float | str | None, labels: AssignmentLabels) -> list[tuple[object, ...]]:
        """Return the row of an answer."""
        shown = self.elicitation, self.sample, self.label, labels.positions.get(self.label), self.turn_rated
        return [(self.item_id, labels.systems[self.label], self.criterion, value, *shown)]

    def favour(self, value: float | str, label: str, scale: tuple[float, float] | None) -> float | None:
        """Return where on its scale the rating lies."""
        if not isinstance(value, float) or label != self.label or scale is None:
            return None
        low, high = scale
        return (value - low) / (high - low)

    def simulated(self, reader: SimulatedReader, answer: Answer) -> str:
        """Return the point of the scale that fits how good the output is found."""
        utility = reader.perceived(self.label, self.item_id, self.sample, self.criterion, self.turn_rated)
        if self.criterion in reader.truth.lower_is_better:
            utility = reader.truth.low + reader.truth.high - utility
        utility += reader.severity
        widget, bounds = widget_of(answer), reader.temperament.thresholds
        levels = widget.levels(answer)
        if bounds is not None and len(bounds) == len(levels) - 1:
            point: int = sum(utility > bound for bound in sorted(bounds))
            return levels[point]
        share: float = reader.truth.normalised(utility)
        return widget.at(answer, share)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTarget(RatingTarget):
    """A rating of one turn of an output, after what led to it."""

    kind: ClassVar[str] = "turn"

    turn: int  # from 1

    @property
    def turn_rated(self) -> int | None:
        """The turn of the output that is rated."""
        return self.turn


def rating_pages(view: AssignmentView, section: RatingSection) -> list[Page]:
    """Return the pages on which a section asks, with the questions of all that ask on them; none where it is hosted."""
    study = view.study
    if study.page_table(section.key) != section.key:
        return []
    sections = rating_sections(study)
    together = [one for key, one in sections.items() if study.page_table(key) == section.key]
    rated = [each.output for each in view.assignment.rated if each.elicitation == section.way]
    groups = _groups(view, section.pages if section.order == "item" else "output", rated)
    asked: list[list[Rated]]
    if study.outputs.unit == "turn":
        cut: list[list[Rated]] = [
            [(output, turn) for output in group for turn in range(1, len(view.turns(output)) + 1)] for group in groups
        ]
        asked = cut if section.pages == "one" else [[one] for group in cut for one in group]
    else:
        asked = [[(output, None) for output in group] for group in groups]
    made = [_page(_group_blocks(view, together, group)) for group in asked]
    if section.pages == "one" and made:
        made = [_page(tuple(block for page in made for block in page.blocks))]
    for one in together:
        one.insert_pages(view, made)
    return made


def _groups(view: AssignmentView, pages: str, rated: list[ShownOutput]) -> list[list[ShownOutput]]:
    """Cut what is rated into what stands together."""
    if pages == "output":
        return [[output] for output in rated]
    if pages == "system":
        labels = dict.fromkeys(output.label for output in rated)
        return [[output for output in rated if output.label == label] for label in labels]
    return [list(group) for _, group in groupby(rated, key=view.row_of)]


def _page(blocks: tuple[PageBlock, ...]) -> Page:
    return Page(kind="rating", shows="outputs", title="", blocks=blocks)


Rated = tuple[ShownOutput, int | None]  # an output, or one of its turns


def _group_blocks(
    view: AssignmentView, together: Sequence[RatingSection], group: Sequence[Rated]
) -> tuple[PageBlock, ...]:
    """Return the blocks for outputs that stand together, with the questions of all sections asked on these pages.

    The item text stands above each output, or below it where it is read ``after``: where the second one is read, the
    first is out of sight. What is asked without the item text comes before it is shown.
    """
    after = text_comes_after(view.study, together[0])
    bare, plain, marking = view.text_cache.cached(
        ("together", *(one.key for one in together)), lambda: _views(view, together)
    )
    blocks: list[PageBlock] = []
    referred: str | None = None  # item whose references stand above
    above: ShownOutput | None = None  # output whose turns before stand above
    for output, turn in group:
        heading = view.item(output.item_id)
        if output.item_id != referred:
            shown = None if bare or after else heading
            references = [block for one in together for block in one.orientation(view, output.item_id, shown)]
            blocks += references
            heading = None if references and shown is not None else heading  # it stands above the references
            referred = output.item_id
        for beside, criteria in ((None, bare), (heading, plain)):
            if criteria:
                if not (after and bare and beside is not None):  # else it stands above, without the item text
                    blocks += _shown(view, output, turn, None if after else beside, continued=output == above)
                if after and beside is not None and output != above:
                    blocks.append(ExhibitsBlock(heading=None, exhibits=(beside,)))
                blocks += _questions(view, output, criteria, turn)
        if marking:
            source, marked = view.compared_with_item(output)
            blocks.append(TextBlock(markdown=view.say("differences_note")))
            blocks += beside_text(source, marked, after=after)
            blocks += _questions(view, output, marking)
        above = output
    return tuple(blocks)


def text_comes_after(study: Study, section: RatingSection) -> bool:
    """Return whether the item text is read after the outputs, on the pages on which a section asks."""
    return rating_sections(study)[study.page_table(section.key)].item_text_position == "after"


def beside_text(text: Exhibit | None, shown: Exhibit, *, after: bool) -> list[PageBlock]:
    """Return an exhibit with the item text above it, or below it where that comes ``after``."""
    if text is None or not after:
        return [ExhibitsBlock(heading=text, exhibits=(shown,))]
    return [ExhibitsBlock(heading=None, exhibits=(shown,)), ExhibitsBlock(heading=None, exhibits=(text,))]


def _shown(
    view: AssignmentView, output: ShownOutput, turn: int | None, heading: Exhibit | None, *, continued: bool
) -> list[PageBlock]:
    """Return an output under the item text; of a turn what led to it, too, unless the page shows that above."""
    if turn is None:
        return [ExhibitsBlock(heading=heading, exhibits=(view.output(output),))]
    turns = view.turns(output)[:turn]
    if continued:
        return [ExhibitsBlock(heading=None, exhibits=(turns[-1],))]
    return [ExhibitsBlock(heading=None if place else heading, exhibits=(one,)) for place, one in enumerate(turns)]


def _views(view: AssignmentView, together: Sequence[RatingSection]) -> tuple[list[Asked], ...]:
    """Return what is asked without the item text, beside it, and beside it with the differences marked."""
    views: tuple[list[Asked], ...] = ([], [], [])
    for section in together:
        for group, criteria in zip(views, view.views(section.key), strict=True):
            group += [(section, criterion) for criterion in criteria]
    return tuple(sorted(group, key=lambda pair: pair[1] != OVERALL) for group in views)


def _questions(
    view: AssignmentView, output: ShownOutput, criteria: list[Asked], turn: int | None = None
) -> list[Question]:
    asked = [question for section, criterion in criteria for question in section.questions(view, output, criterion)]
    return asked if turn is None else [replace(one, target=_of_turn(one.target, turn)) for one in asked]


def _of_turn(target: Target, turn: int) -> Target:
    """Return what a question is about, of one turn of the output."""
    match target:
        case RatingTarget():
            return TurnTarget(**asdict(target), turn=turn)
        case ExplanationTarget(of=RatingTarget() as rated):
            return ExplanationTarget(of=TurnTarget(**asdict(rated), turn=turn))
    return target


def rating_question(view: AssignmentView, label: str | None, criterion_id: str) -> str:
    """Return the question about a criterion of one output, or about all of it; without a label it names no system."""
    if criterion_id == OVERALL:
        return view.say("identical_overall") if label is None else view.say("rating_overall", system=view.system(label))
    criterion = view.criterion(criterion_id)
    system = view.say("unnamed_caption") if label is None else view.system(label)
    if criterion.question is not None:
        return criterion.question.replace("{system}", system)
    if label is None:
        return view.say("identical_criterion", criterion=criterion.name)
    return view.say("rating_criterion", system=system, criterion=criterion.name)


def words_at_ends(view: AssignmentView, criterion_id: str, low: str | None, high: str | None) -> tuple[str, str]:
    """Return the words at the ends of a scale: the criterion's, else its section's, else the locale's."""
    if criterion_id != OVERALL:
        criterion = view.criterion(criterion_id)
        low, high = criterion.low or low, criterion.high or high
    return low or view.say("rating_low"), high or view.say("rating_high")


def zero_to_hundred(view: AssignmentView, criterion_id: str, low: str | None, high: str | None) -> NumberAnswer:
    """Return the answer from 0 to 100 about a criterion, in a section that words the ends or does not."""
    ends = words_at_ends(view, criterion_id, low, high)
    return view.text_cache.cached(
        ("0 to 100", ends),
        lambda: NumberAnswer(
            low=0, high=100, scale=1, low_text=scale_end(view, 0, ends[0]), high_text=scale_end(view, 100, ends[1])
        ),
    )


def scale_end(view: AssignmentView, number: int, words: str | None) -> str:
    """Return what stands at an end of a scale: its number, with the words where there are some."""
    return str(number) if words is None else view.say("scale_end", number=str(number), words=words)


def dealer(draw: Draw, section: RatingSection) -> Dealer:
    """Return what deals the outputs that a section rates: those of the section on whose pages it asks."""
    host = rating_sections(draw.study)[draw.study.page_table(section.key)]
    single = draw.study.single_outputs
    blocks = draw.sides()  # of two assignments of a study with arms, the one whose outputs stand in blocks

    def deal(dealt: Dealt) -> Demand:
        if host.key not in dealt.rated:
            selection = "all" if single else host.outputs
            outputs = [output for block in dealt.blocks for row in draw.rows(selection, block) for output in row]
            dealt.rated[host.key] = outputs if single else _ordered(draw, _order(host, blocks), outputs)
        return Demand(rated=tuple(RatedOutput(elicitation=section.way, output=one) for one in dealt.rated[host.key]))

    return deal


def _order(section: RatingSection, blocks: Deck[bool]) -> str:
    """Return the order of the next assignment."""
    if section.order != "arms":
        return section.order
    return "blocked" if blocks.deal_one() else "mixed"


def _ordered(draw: Draw, order: str, outputs: list[ShownOutput]) -> list[ShownOutput]:
    """Return outputs in the order rated; by label, blocked ones are as balanced as labels are."""
    if order == "mixed":
        return [outputs[place] for place in draw_order(len(outputs), draw.rng)]
    if order == "blocked":
        labels = list(dict.fromkeys(output.label for output in outputs))
        return sorted(outputs, key=lambda output: labels.index(output.label))
    return outputs
