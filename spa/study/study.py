"""What is asked: the frozen ``Study`` that a study file becomes.

Every key of ``study.toml`` is a field here, with its default, so this module is also
the reference of the file. Files are read and cross-checked in :mod:`spa.study.load`.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, PrivateAttr, StringConstraints

from spa.study.analysis import Analysis, Stopping
from spa.study.panel import Panel
from spa.study.raters import Rater
from spa.study.toml_table import Ident, Text, TomlTable, added
from spa.tables.options import TableOptions

OVERALL = "overall"  # the criterion that asks for the preference as a whole; never computed
Elicitation = Literal["spa", "likert", "continuous", "categories", "spans", "choices", "ranking"]  # tables that ask
Amount = Annotated[Decimal, Field(ge=0, le=1_000_000)]  # of money, in major units
RatingTable = Literal["likert", "continuous", "categories", "spans"]  # those that rate single outputs
Balance = Literal["counterbalanced", "fixed"]
Shown = Literal["first", "all"] | Annotated[int, Field(ge=1)]


class System(TomlTable):
    """A thing being compared. Neither ``id`` nor ``name`` ever reaches a form."""

    id: Ident
    name: Text | None = None  # shown in reports; the id where absent
    role: Literal["system", "human", "reference"] = "system"  # a reference is never compared


class OutputFilter(TomlTable):
    """A condition that an item must meet; an item that fails leaves the study with a line in the report."""

    field: Literal["item_text", "output"] = "item_text"
    starts_with: Text | None = None
    contains_none_of: tuple[Text, ...] = ()
    ends_in_punctuation: bool = False
    min_words: Annotated[int, Field(ge=0)] | None = None
    max_words: Annotated[int, Field(ge=1)] | None = None
    min_characters: Annotated[int, Field(ge=0)] | None = None
    max_characters: Annotated[int, Field(ge=1)] | None = None


class OutputFiles(TomlTable):
    """Where the outputs are and how the files are laid out; a column may be a path into the records of a file."""

    files: Annotated[tuple[Path, ...], Field(min_length=1)]  # relative to the study file
    layout: Literal["long", "wide"] = "long"  # wide: one column a system, named by its id
    kind: Literal["text", "image"] = "text"  # image: the output is a path relative to its file
    item: Text | Annotated[tuple[Text, ...], Field(min_length=1)] = "item_id"  # several are joined by "/"
    system: Text = "system"
    output: Text = "output"
    sample: Text | None = None  # column that numbers several outputs of one system for one item
    item_text: Text | None = None  # column with what every system was given, shown with the outputs
    item_name: Text | None = added(None)  # what annotators read above it, before its number; the locale's where absent
    each: Text | None = added(None)  # path of the lists or objects of a record that become rows
    keep: dict[str, tuple[Text, ...]] = added({})  # column -> values of the rows that are read
    drop: dict[str, tuple[Text, ...]] = added({})  # column -> values of the rows that are left out
    encoding: Text | None = added(None)  # of text files that are neither UTF-8 nor begin with a byte order mark
    quotes: Literal["csv", "text"] | None = added(
        None
    )  # of CSV files in doubt: double quotes enclose cells, or are text
    sheet: Text | None = added(None)  # of workbooks; the first where absent
    references: tuple[Text, ...] = ()  # for automatic metrics: columns with a reference text, or systems that are one
    filters: tuple[OutputFilter, ...] = ()
    match_length_of: Ident | None = None  # system cut to whole sentences, never longer than the longest other

    def options(self) -> TableOptions:
        """Return how the files are read."""
        return TableOptions(
            each=self.each, keep=self.keep, drop=self.drop, encoding=self.encoding, quotes=self.quotes, sheet=self.sheet
        )


class Option(TomlTable):
    """One answer of a closed question; ``score`` where the answer counts as a rating."""

    text: Text
    score: float | None = None


class Criterion(TomlTable):
    """Something outputs are judged on. ``question`` is asked of one output."""

    id: Ident
    name: Text  # completes "better ... with regard to NAME"
    question: Text | None = None  # for one output; a default is made from the name
    options: tuple[Option, ...] = ()  # count or category answers with their scores: asked in [categories]
    lower_is_better: bool = False
    against_source: bool = False  # asked with the item text beside the output
    show_item_text: bool | None = added(None)  # None: as its section says, or true where it is compared with the text
    mark_differences: bool = False  # words that differ from the item text are marked
    guidelines: Text | None = added(None)  # what the answers mean, with examples; Markdown, shown where first asked
    reason: bool = False  # after a rating of one output, why, in the annotator's own words; may stay empty


class ExposureStudy(TomlTable):
    """The same two systems under several pairs of labels, each seen at another exposure.

    Ethayarajh & Jurafsky (2022), appendix B: items are disjoint between the blocks and the
    same for both systems, so that annotators take the pairs for different systems.
    """

    system_x: Ident
    system_y: Ident
    exposures: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (1, 2, 4, 8)


class Spa(TomlTable):
    """System-level probabilistic assessment."""

    exposure: Annotated[int, Field(ge=1)] = 5  # outputs of each system that an annotator reads
    comparisons: Literal["all", "chain", "baseline"] | tuple[tuple[Ident, Ident], ...] = "all"
    baseline: Ident | None = None
    directions: Literal["both", "one"] = "both"
    same_items: bool = True  # both systems are read on the same items
    reading: Literal["first", "with_questions"] = "first"  # all outputs are read before the first comparison, or
    # each comparison shows its own; an exposure study always does the latter
    criteria: tuple[Ident, ...] | None = None  # None: all criteria without options
    overall: bool = True
    exposure_study: ExposureStudy | None = None


class RatingSection(TomlTable):
    """What every way of rating one output has in common."""

    outputs: Shown = "first"  # rated: the first item shown, all items, or k at random
    pages: Literal["output", "item", "system", "one"] = "item"  # what a page holds
    same_page_as: RatingTable | None = added(None)  # asked on the pages of that section, about the same outputs
    show_item_text: bool = added(True)  # of criteria that do not say it themselves, and of the overall question
    order: Literal["item", "blocked", "mixed"] = added("item")  # all outputs of an item, then of the next; all of a
    # system, then of the next; or drawn for each assignment
    criteria: tuple[Ident, ...] | None = None


class Likert(RatingSection):
    """Ratings from 1 to ``points`` with labelled ends."""

    points: Annotated[int, Field(ge=2, le=11)] = 5
    low: Text | None = None  # words at the ends; the locale's where absent
    high: Text | None = None
    overall: bool = True
    half_points: Literal["keep", "floor", "missing"] = "keep"  # what becomes of 4.5
    identical_pairs: Annotated[int, Field(ge=0)] = 0  # an output equal to its source, highest rating expected


class Continuous(RatingSection):
    """Ratings from 0 to 100, with outputs of reference systems at the ends where asked."""

    low: Text | None = None
    high: Text | None = None
    overall: bool = True
    best_reference: Ident | None = None  # a system of role "reference", shown as what 100 means
    worst_reference: Ident | None = None


class Categories(RatingSection):
    """Count or category answers: every criterion that has ``options``."""


class Spans(RatingSection):
    """Errors marked in one output with their severity, then a rating from 0 to 100 (ESA, Kocmi et al. 2024)."""

    criteria: tuple[Ident, ...] | None = None  # None: one question about all errors
    severities: Annotated[tuple[Text, ...], Field(min_length=1, max_length=9)] = ("minor", "major")  # lightest first
    weights: tuple[Annotated[float, Field(ge=0)], ...] | None = None  # of the severities; None: 1, 5, 25, ... as in MQM
    categories: Annotated[tuple[Text, ...], Field(max_length=30)] = ()  # kinds of errors, each of which may be named
    score: bool = True  # whether a rating from 0 to 100 follows
    low: Text | None = None  # words at its ends; the locale's where absent
    high: Text | None = None


class Choices(TomlTable):
    """Which of two outputs of one item is better."""

    ties: bool = True
    outputs: Shown = "all"
    per_annotator: Annotated[int, Field(ge=1)] | None = added(None)  # comparisons, each on another item; None: all
    show_item_text: bool = added(True)  # as in a rating section
    comparisons: Literal["all", "chain", "baseline"] | tuple[tuple[Ident, Ident], ...] | None = None  # None: [spa]'s
    baseline: Ident | None = None
    criteria: tuple[Ident, ...] | None = None
    overall: bool = True


class Rankings(TomlTable):
    """Which of several outputs of one item is best, which comes next, ...; ties are allowed."""

    size: Annotated[int, Field(ge=2)] | None = None  # outputs put in order; None: those of all systems
    outputs: Shown = "all"  # the first item shown, all items, or k at random
    show_item_text: bool = True  # as in a rating section
    criteria: tuple[Ident, ...] | None = None
    overall: bool = True


class Design(TomlTable):
    """How annotators differ from one another in what they see."""

    labels: Balance = "counterbalanced"  # fixed: every reader sees the same letter for the same system
    question_order: Balance = "counterbalanced"
    directions: Balance = "counterbalanced"  # which direction of a pair comes first (or alone)
    items: Annotated[int, Field(ge=1)] = 5  # items an annotator; used only where there is no [spa]
    outputs: Annotated[int, Field(ge=1)] = added(10)  # outputs an annotator, where single outputs are dealt


class Screening(TomlTable):
    """A question before the study; whoever gives no eligible answer is excluded from the analysis."""

    id: Ident
    question: Text
    options: Annotated[tuple[Text, ...], Field(min_length=2)]
    eligible: Annotated[tuple[Text, ...], Field(min_length=1)]


class AttentionCheck(TomlTable):
    """A question with one right answer, asked of people only."""

    id: Ident
    question: Text
    options: Annotated[tuple[Text, ...], Field(min_length=2)]
    expected: Text


class InterviewQuestion(TomlTable):
    """A question that people answer in their own words, after everything else or before it."""

    id: Ident
    question: Text
    required: bool = False
    first: bool = False  # asked before the instructions, not on the last page


class Words(TomlTable):
    """Markdown, in the study file or in a file beside it."""

    text: Text | None = None
    file: Path | None = None


class PeopleGroup(TomlTable):
    """A quota: so many people whose screening answer, or whose link, puts them into this group."""

    name: Ident
    places: Annotated[int, Field(ge=1)]
    screening: Ident | None = None  # id of a [[screening]] question, or
    parameter: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")] | None = None  # of the link
    values: Annotated[tuple[Text, ...], Field(min_length=1)]  # answers, or values of the parameter, that belong here


class People(TomlTable):
    """How many annotators are planned, who may come how often, and pay per submission (major units)."""

    annotators: Annotated[int, Field(ge=1, le=1_000_000)] = 30
    pay: Amount | None = None
    minimum_hourly_pay: Amount | None = None  # warned below it; None: Prolific's, where known
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "USD"
    minutes: Annotated[float, Field(ge=0.01, le=100_000)] | None = None  # shown; from the words where absent
    completion_code: Text | None = None  # a random one a person where absent
    completion_url: Annotated[str, StringConstraints(pattern=r"^https?://")] | None = None
    links_only: bool = False  # whether the open link is closed, and only personal links and platforms lead in
    per_assignment: Annotated[int, Field(ge=1)] = 1  # how many people answer each assignment
    minutes_allowed: Annotated[float, Field(gt=0)] | None = None  # then the place goes to somebody else
    minutes_to_begin: Annotated[float, Field(gt=0)] | None = added(None)  # first page; None: the form's, at least 15
    repeat: bool = False  # whether the same person may take part again
    sessions: Annotated[int, Field(ge=1)] = 1  # how often one person is asked, each time with another assignment
    seconds_per_100_words: Annotated[float, Field(ge=0, le=600)] = added(6.0)  # least time on screen; 0: not measured
    forget_after_days: Annotated[int, Field(ge=1, le=36_500)] | None = added(None)  # said with the consent text
    end_after_failed_checks: Annotated[int, Field(ge=1)] | None = None  # attention checks; None: they end nothing
    family: Ident | None = None  # studies of one family take each person once
    family_store: Text | None = None  # file or database URL that the studies of a family share
    groups: tuple[PeopleGroup, ...] = ()

    def assignments_for(self, annotators: int) -> int:
        """Return how many assignments so many people answer, in all their sessions."""
        return -(-annotators * self.sessions // self.per_assignment)


class Study(TomlTable):
    """A study: what is asked, of whom, and how the answers will be analysed."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    title: Text
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")] = "en"
    seed: Annotated[int, Field(ge=0)] = 0
    allowed_names: tuple[Text, ...] = ()  # ids and names of systems that annotators may read
    outputs: OutputFiles
    systems: Annotated[tuple[System, ...], Field(min_length=1)]  # one only where nothing is compared
    criteria: tuple[Criterion, ...] = ()
    spa: Spa | None = None
    likert: Likert | None = None
    continuous: Continuous | None = None
    categories: Categories | None = None
    spans: Spans | None = added(None)
    choices: Choices | None = None
    ranking: Rankings | None = added(None)
    design: Design = Design()
    instructions: Words = Words()  # the locale's preset where empty
    consent: Words = Words()  # no consent page where empty
    debriefing: Words = added(Words())  # shown to people when their answers are complete
    screening: tuple[Screening, ...] = ()
    attention_checks: tuple[AttentionCheck, ...] = ()
    interview: tuple[InterviewQuestion, ...] = added(())
    texts: dict[str, str] = Field(default_factory=dict)  # replaces texts of the locale, by key
    people: People = People()
    raters: tuple[Rater, ...] = ()
    analysis: Analysis = Analysis()
    stopping: Stopping = added(Stopping())
    prolific: dict[str, Any] = Field(default_factory=dict)  # read and checked by the bridges of these names
    mturk: dict[str, Any] = Field(default_factory=dict)
    panel: Panel | None = added(None)
    _folder: Path | None = PrivateAttr(None)

    @property
    def folder(self) -> Path | None:
        """The folder of the study file; None for a study that was read from none."""
        return self._folder

    @property
    def bridges(self) -> dict[str, dict[str, Any]]:
        """The tables of the platforms as they are in the file; empty where there is none."""
        return {"prolific": self.prolific, "mturk": self.mturk}

    @property
    def compared(self) -> tuple[System, ...]:
        """Systems that annotators compare, in the order of the study file."""
        return tuple(system for system in self.systems if system.role != "reference")

    @property
    def single_outputs(self) -> bool:
        """Whether annotators are dealt single outputs, instead of items with the outputs of all systems."""
        pages = [getattr(self, self.page_table(table)).pages for table in self.rating_tables]
        alone = self.spa is None and self.choices is None and self.ranking is None
        return alone and bool(pages) and set(pages) == {"output"}

    @property
    def deals_pairs(self) -> bool:
        """Whether annotators are dealt some of the pairs, each on another item, instead of all pairs on each item."""
        return self.choices is not None and self.choices.per_annotator is not None

    @property
    def items_per_annotator(self) -> int:
        """How many items one annotator meets, which is the least that the study must have.

        Where single outputs are dealt, that is as many as if all systems answered them.
        """
        if self.single_outputs:
            return max(1, self.design.outputs // max(1, len(self.compared)))
        if self.choices is not None and self.choices.per_annotator is not None:
            return self.choices.per_annotator
        if self.spa is None:
            return self.design.items
        if self.spa.exposure_study is not None:
            return sum(self.spa.exposure_study.exposures)
        return self.spa.exposure * (1 if self.spa.same_items else len(self.compared))

    @property
    def rating_tables(self) -> tuple[RatingTable, ...]:
        """The rating sections that there are."""
        return tuple(table for table in get_args(RatingTable) if getattr(self, table) is not None)

    def page_table(self, table: RatingTable) -> RatingTable:
        """Return the rating section on whose pages one asks: it says what a page holds and which outputs are rated."""
        named: RatingTable | None = getattr(self, table).same_page_as
        return table if named is None or getattr(self, named) is None else named

    def shows_item_text(self, table: Elicitation, criterion_id: str) -> bool:
        """Return whether the item text stands beside the output where a section asks about a criterion."""
        section = getattr(self, table)
        by_section = not isinstance(section, RatingSection | Choices | Rankings) or section.show_item_text
        one = next((each for each in self.criteria if each.id == criterion_id), None)
        if one is None or one.show_item_text is None:
            return by_section or (one is not None and (one.against_source or one.mark_differences))
        return one.show_item_text

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs (system_x, system_y) of the SPA comparisons, in the direction first listed."""
        if self.spa is None:
            return ()
        if (two := self.spa.exposure_study) is not None:
            return ((two.system_x, two.system_y),)
        return expand_pairs(self.spa.comparisons, self.spa.baseline, self.compared)

    @property
    def choice_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of the pairwise choices; those of [spa] unless [choices] names its own."""
        if self.choices is None:
            return ()
        if self.choices.comparisons is None:
            return self.pairs or expand_pairs("all", None, self.compared)
        return expand_pairs(self.choices.comparisons, self.choices.baseline, self.compared)

    def criteria_of(self, elicitation: Elicitation) -> tuple[str, ...]:
        """Criteria ids that an elicitation asks about, "overall" last; none where its section is absent."""
        section: Spa | Likert | Continuous | Categories | Spans | Choices | Rankings | None = getattr(self, elicitation)
        if section is None:
            return ()
        named = section.criteria
        if isinstance(section, Spans):
            return named or (OVERALL,)
        if named is None:
            named = tuple(one.id for one in self.criteria if bool(one.options) == (elicitation == "categories"))
        overall = isinstance(section, Spa | Likert | Continuous | Choices | Rankings) and section.overall
        return (*named, OVERALL) if overall else named


def expand_pairs(
    comparisons: str | tuple[tuple[str, str], ...], baseline: str | None, compared: tuple[System, ...]
) -> tuple[tuple[str, str], ...]:
    """Spell out "all", "chain" (each with the one listed before it) or "baseline" (second in each) as ordered pairs."""
    if not isinstance(comparisons, str):
        return comparisons
    ids = [system.id for system in compared]
    if comparisons == "chain":
        return tuple((later, earlier) for earlier, later in pairwise(ids))
    if comparisons == "baseline":
        return tuple((other, baseline) for other in ids if baseline is not None and other != baseline)
    return tuple((x, y) for position, x in enumerate(ids) for y in ids[position + 1 :])
