"""What is asked: the frozen ``Study`` that a study file becomes.

Every key of ``study.toml`` that is no way of asking is a field here, with its default; those of the ways of asking
stand in :mod:`spa.elicitation`. Files are read and cross-checked in :mod:`spa.study.load`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, PrivateAttr, SerializeAsAny, StringConstraints

from spa.records.analysis import Analysis, Audit, ReportFiles, Stopping
from spa.records.people import AttentionCheck, InterviewQuestion, People, Screening
from spa.records.raters import Jury, Rater
from spa.records.system_roles import UNRANKED, Role
from spa.records.toml_table import Ident, KeyOf, Text, TomlTable, added
from spa.tables.options import TableOptions

OVERALL = "overall"  # the criterion that asks for the preference as a whole; never computed
Deciding = Literal["preferences", "choices", "ratings"]  # answers by which a live study ends
Pairs = tuple[tuple[str, str], ...]  # (system_x, system_y), in the direction first listed
Balance = Literal["counterbalanced", "fixed"]
Shown = Literal["first", "all"] | Annotated[int, Field(ge=1)]


class System(TomlTable):
    """A thing being compared. Neither ``id`` nor ``name`` ever reaches a form."""

    id: Ident
    name: Text | None = None  # shown in reports; the id where absent
    role: Role = "system"  # a reference is never compared
    low_pass: Annotated[float, Field(gt=0)] | None = added(None)  # of an anchor: where its highs were cut off, in Hz
    maker: Text | None = added(None)  # who made it; reports compare raters of that maker with people


class OutputFilter(TomlTable):
    """A condition that an item must meet; an item that fails leaves the study with a line in the report."""

    field: Literal["item_text", "output"] = "item_text"
    as_written: bool = added(False)  # of the text as its file has it, before [outputs] replace
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
    kind: Annotated[str, KeyOf("media")] = "text"  # of a medium with files: the output is a path relative to its file
    item: Text | Annotated[tuple[Text, ...], Field(min_length=1)] = "item_id"  # several are joined by "/"
    system: Text = "system"
    output: Text = "output"
    sample: Text | None = None  # column that numbers several outputs of one system for one item
    item_text: Text | None = None  # column with what every system was given, shown with the outputs
    language: Text | None = added(None)  # of the outputs, for metrics; by their letters where absent
    item_kind: Annotated[str, KeyOf("media")] = added("text")  # of the item text
    unit: Literal["output", "turn"] = added("output")  # what is rated: outputs, or each turn of the assistant in them
    item_rubric: Text | None = added(None)  # column with what counts for an item, shown above its outputs
    item_reference: Text | None = added(None)  # column with a good answer to it, shown the same way
    notes_for: Literal["everybody", "raters"] = added("everybody")  # who reads the two; raters with item_notes
    item_name: Text | None = added(None)  # what annotators read above it, before its number; the locale's where absent
    each: Text | None = added(None)  # path of the lists or objects of a record that become rows
    keep: dict[str, tuple[Text, ...]] = added({})  # column -> values of the rows that are read
    drop: dict[str, tuple[Text, ...]] = added({})  # column -> values of the rows that are left out
    encoding: Text | None = added(None)  # of text files that are neither UTF-8 nor begin with a byte order mark
    quotes: Literal["csv", "text"] | None = added(
        None
    )  # of CSV files in doubt: double quotes enclose cells, or are text
    sheet: Text | None = added(None)  # of workbooks; the first where absent
    replace: tuple[tuple[Text, str], ...] = added(())  # marks in texts, and what stands in their place, one by one
    references: tuple[Text, ...] = ()  # for automatic metrics: columns with a reference text, or systems that are one
    filters: tuple[OutputFilter, ...] = ()
    match_length_of: Ident | None = None  # system cut to whole sentences, never longer than the longest other

    @property
    def notes(self) -> dict[str, str]:
        """What is noted of each item, "rubric" or "reference", and the column that has it."""
        columns = {"rubric": self.item_rubric, "reference": self.item_reference}
        return {note: column for note, column in columns.items() if column is not None}

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
    low: Text | None = added(None)  # words at the ends of its scale, both; its section's where absent
    high: Text | None = added(None)
    options: tuple[Option, ...] = ()  # count or category answers with their scores: asked in [categories]
    lower_is_better: bool = False
    against_source: bool = False  # asked with the item text beside the output
    show_item_text: bool | None = added(None)  # None: as its section says, or true where it is compared with the text
    mark_differences: bool = False  # words that differ from the item text are marked
    guidelines: Text | None = added(None)  # what the answers mean, with examples; Markdown, shown where first asked
    reason: bool = False  # after a rating of one output, why, in the annotator's own words; may stay empty


class Design(TomlTable):
    """How annotators differ from one another in what they see."""

    labels: Balance = "counterbalanced"  # fixed: every reader sees the same letter for the same system
    question_order: Balance = "counterbalanced"
    directions: Balance = "counterbalanced"  # which direction of a pair comes first (or alone)
    items: Annotated[int, Field(ge=1)] = 5  # items an annotator; used only where there is no [spa]
    outputs: Annotated[int, Field(ge=1)] = added(10)  # outputs an annotator, where single outputs are dealt
    answers_per_output: Annotated[int, Field(ge=1)] | None = added(None)  # of these; decides how many annotators
    assignments: Path | None = added(None)  # file that says who sees what; None: drawn


class Words(TomlTable):
    """Markdown, in the study file or in a file beside it."""

    text: Text | None = None
    file: Path | None = None


class Instructions(Words):
    """Words that everybody reads first; ``explain_sum`` is about the preset of a study that asks both directions."""

    explain_sum: bool = added(True)  # whether it says that the chances of both directions are at most 100 % together

    @property
    def explains_sum(self) -> bool:
        """Whether forms say that both directions are at most 100 % together, where they ask both."""
        return self.text is None and self.explain_sum


class Section(TomlTable):
    """A way of asking, as one study uses it. Its keys stand in the subclass, in :mod:`spa.elicitation`.

    ``criteria``, ``overall``, ``outputs`` and ``show_item_text`` mean the same in all that have them.
    """

    key: ClassVar[str]  # the table of the study file
    way: ClassVar[str]  # what tables of answers call it
    rates: ClassVar[bool] = False  # judges single outputs; sections that do may share a page
    compares: ClassVar[bool] = False  # judges systems, or outputs, against one another: two at least
    joint: ClassVar[bool] = False  # asks about outputs of one item beside one another
    of_all_systems: ClassVar[bool] = False  # each question may be about any of the systems
    decides_alone: ClassVar[bool] = False  # ends a live study only where nothing else compares
    items_key: ClassVar[str | None] = None  # the key that says how many items an annotator meets
    of_turns: ClassVar[bool] = False  # can be asked where turns of outputs are rated one by one
    shows_references: ClassVar[bool] = False  # has keys for systems of role "reference"
    graded: ClassVar[bool] = False  # answers are numbers so fine that two raters seldom give the same
    has_examples: ClassVar[bool] = False  # answers about outputs of one item, which may be shown to raters beforehand
    unread: ClassVar[str | None] = None  # why no probabilities of its answers can be read from a model

    def asks(self, study: Study) -> tuple[str, ...]:
        """Return the ids of the criteria asked about, "overall" last: those named, or all that fit."""
        named: tuple[str, ...] | None = getattr(self, "criteria", None)
        if named is None:
            named = tuple(one.id for one in study.criteria if self.fits(bool(one.options)))
        return (*named, OVERALL) if getattr(self, "overall", False) else named

    @classmethod
    def fits(cls, has_options: bool) -> bool:
        """Return whether a criterion can be asked about, by whether it has options of its own."""
        return not has_options

    def host(self) -> str | None:
        """Return the key of the section on whose pages this one asks; None where it has pages of its own."""
        return None

    def outputs_a_page(self) -> str:
        """Return what a page of a section that rates holds: "output", "item", "system" or "one" (all)."""
        return "item"

    def shows_item_text(self) -> bool:
        """Return whether the item text stands beside the outputs, of criteria that do not say it themselves."""
        return bool(getattr(self, "show_item_text", True))

    def judged(self) -> str | int:
        """Return which rows of a block are judged one by one: "first", "all" or so many at random."""
        rows: str | int = getattr(self, "outputs", "all")
        return rows

    def shares_items(self) -> bool:
        """Return whether all systems are read on the same items."""
        return True

    def needs_earlier_pages(self) -> bool:
        """Return whether its questions are about what only earlier pages show."""
        return False

    def exposures(self) -> tuple[int, ...]:
        """Return how many outputs of each system are read before they are compared; several in an exposure study."""
        return ()

    def systems(self) -> tuple[str, ...]:
        """Return the systems that it shows, where they are not all."""
        return ()

    def scale_points(self) -> int | None:
        """Return the number of points of a scale that has few; None of all others."""
        return None

    def scale_width(self) -> float:
        """Return the highest less the lowest rating, in points."""
        return 100.0

    def words(self) -> tuple[str, ...]:
        """Return the author's own words that annotators read."""
        return ()

    def references(self) -> frozenset[str]:
        """Return the systems of role "reference" that it shows as what its scale means."""
        return frozenset()

    def tells_same_answers(self) -> bool:
        """Return whether giving one answer all the time shows in its answers."""
        return True

    def items_needed(self, study: Study) -> int | None:
        """Return how many items an annotator meets for its sake; None where that is left to [design]."""
        return None

    def dealt(self) -> int | None:
        """Return how many pairs, each on another item, are dealt to an annotator; None where all see the same pairs."""
        return None

    def outputs_together(self, study: Study) -> int:
        """Return how many outputs of an item are judged together."""
        return 1

    def asks_again(self) -> bool:
        """Return whether two outputs, or systems, are judged in both orders."""
        return False

    def pairs(self, study: Study) -> Pairs:
        """Return the pairs of systems that annotators are asked about directly."""
        return ()

    def answers(self) -> tuple[str, ...]:
        """Return what tables of answers call the kinds of answers that it asks for; one may add another's."""
        return (self.way,)

    def decides(self) -> Deciding | None:
        """Return by which kind of its answers a live study may end; None where it may not."""
        return None


S = TypeVar("S", bound=Section)


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
    # by their keys, in the order of the ways of asking
    sections: Mapping[str, SerializeAsAny[Section]] = Field(default_factory=dict)
    design: Design = Design()
    instructions: Instructions = Instructions()  # the locale's preset where empty
    consent: Words = Words()  # no consent page where empty
    debriefing: Words = added(Words())  # shown to people when their answers are complete
    screening: tuple[Screening, ...] = ()
    attention_checks: tuple[AttentionCheck, ...] = ()
    interview: tuple[InterviewQuestion, ...] = added(())
    texts: dict[str, str] = Field(default_factory=dict)  # replaces texts of the locale, by key
    people: People = People()
    raters: tuple[Rater, ...] = ()
    juries: tuple[Jury, ...] = added(())
    analysis: Analysis = Analysis()
    stopping: Stopping = added(Stopping())
    audit: Audit | None = added(None)  # a rater that answers all forms, people a part
    report: ReportFiles = added(ReportFiles())
    _folder: Path | None = PrivateAttr(None)
    _platforms: Mapping[str, Mapping[str, Any]] = PrivateAttr(default_factory=dict)

    @property
    def folder(self) -> Path | None:
        """The folder of the study file; None for a study that was read from none."""
        return self._folder

    @property
    def platforms(self) -> Mapping[str, Mapping[str, Any]]:
        """The tables of platforms by their keys, as they are in the file; each platform reads its own."""
        return self._platforms

    @property
    def clips(self) -> dict[str, Path]:
        """The clips of screening questions and attention checks, by the names of their exhibits."""
        asked = {f"screening/{one.id}": one.clip for one in self.screening}
        asked |= {f"check/{one.id}": one.clip for one in self.attention_checks}
        return {name: clip for name, clip in asked.items() if clip is not None}

    @property
    def compared(self) -> tuple[System, ...]:
        """Systems whose outputs annotators judge, in the order of the study file."""
        return tuple(system for system in self.systems if system.role != "reference")

    @property
    def ranked(self) -> tuple[System, ...]:
        """Those of the compared systems that results put in order: no hidden reference and no anchor."""
        return tuple(system for system in self.compared if system.role not in UNRANKED)

    def section(self, kind: type[S]) -> S | None:
        """Return the section of a way of asking; None where the study does not ask so."""
        return next((one for one in self.sections.values() if isinstance(one, kind)), None)

    @property
    def single_outputs(self) -> bool:
        """Whether annotators are dealt single outputs, instead of items with the outputs of all systems."""
        pages = [self.sections[self.page_table(key)].outputs_a_page() for key in self.rating_tables]
        alone = not any(section.compares for section in self.sections.values())
        return alone and bool(pages) and set(pages) == {"output"}

    @property
    def pairs_dealt(self) -> int | None:
        """How many pairs are dealt to an annotator, each on another item; None where all are asked of each item."""
        return next((number for one in self.sections.values() if (number := one.dealt()) is not None), None)

    @property
    def deals_pairs(self) -> bool:
        """Whether annotators are dealt some of the pairs, each on another item, instead of all pairs on each item."""
        return self.pairs_dealt is not None

    @property
    def items_per_annotator(self) -> int:
        """How many items one annotator meets, which is the least that the study must have.

        Where single outputs are dealt, that is as many as if all systems answered them.
        """
        if self.single_outputs:
            return max(1, self.design.outputs // max(1, len(self.compared)))
        if self.pairs_dealt is not None:
            return self.pairs_dealt
        needed = (section.items_needed(self) for section in self.sections.values())
        return next((number for number in needed if number is not None), self.design.items)

    @property
    def least_items(self) -> int:
        """How many items the study must have: of pairs from a file several may be of one."""
        return 1 if self.deals_pairs and self.design.assignments is not None else self.items_per_annotator

    @property
    def shares_items(self) -> bool:
        """Whether all systems are read on the same items."""
        return all(section.shares_items() for section in self.sections.values())

    @property
    def systems_shown(self) -> tuple[str, ...]:
        """The systems that each form shows, in the order of the study file; two in an exposure study."""
        chosen = (section.systems() for section in self.sections.values())
        return next((found for found in chosen if found), tuple(system.id for system in self.compared))

    @property
    def exposures(self) -> tuple[int, ...]:
        """How many outputs of each system are read before they are compared; several in an exposure study."""
        return next((found for one in self.sections.values() if (found := one.exposures())), ())

    @property
    def scale_points(self) -> int | None:
        """The points of the rating scale that has few, where there is one."""
        return next((found for one in self.sections.values() if (found := one.scale_points()) is not None), None)

    @property
    def rating_tables(self) -> tuple[str, ...]:
        """The keys of the sections that rate single outputs."""
        return tuple(key for key, section in self.sections.items() if section.rates)

    def page_table(self, table: str) -> str:
        """Return the rating section on whose pages one asks: it says what a page holds and which outputs are rated."""
        named = self.sections[table].host()
        return table if named is None or named not in self.sections else named

    def shows_item_text(self, table: str, criterion_id: str) -> bool:
        """Return whether the item text stands beside the output where a section asks about a criterion."""
        section = self.sections.get(table)
        by_section = section is None or section.shows_item_text()
        one = next((each for each in self.criteria if each.id == criterion_id), None)
        if one is None or one.show_item_text is None:
            return by_section or (one is not None and (one.against_source or one.mark_differences))
        return one.show_item_text

    @property
    def pairs(self) -> Pairs:
        """Pairs (system_x, system_y) that annotators are asked about directly, in the direction first listed."""
        return tuple(dict.fromkeys(pair for section in self.sections.values() for pair in section.pairs(self)))

    def pairs_of(self, table: str) -> Pairs:
        """Return the pairs that one section asks about; none where it is absent."""
        return self.sections[table].pairs(self) if table in self.sections else ()

    def criteria_of(self, table: str) -> tuple[str, ...]:
        """Criteria ids that a section asks about, "overall" last; none where it is absent."""
        return self.sections[table].asks(self) if table in self.sections else ()
