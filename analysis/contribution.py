"""What a room of the analysis brings: keys of ``results.json`` with their rows, sections of the report, tables, words.

A room is a folder. Its ``contribution.py`` holds one :class:`Contribution`; ``analysis/rooms.py`` lists them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from analysis.answers.exclusions import Exclusion
from analysis.answers.input import AnalysisInput
from analysis.answers.options import Told, untold
from analysis.answers.plan import Plan
from analysis.printing.document import Section
from analysis.printing.lookup import confidence_words
from analysis.printing.names import Names
from analysis.records.overview import Settings
from analysis.records.results import Key, Results
from analysis.statistics.record import AnnotatorKind
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals, TableTotals
from analysis.verification.claims import Claims, corrected, places

Value = TypeVar("Value")
KeyValues: TypeAlias = Mapping[str, Any]  # values by the names of their keys


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SummedInput:
    """A table in parts, added up, with what every analysis of it needs; ``gone`` counts who was excluded, by group."""

    totals: TableTotals
    plan: Plan
    exclusions: Sequence[Exclusion]
    gone: tuple[Counter[str], Counter[str]]


class Analysis:
    """Prepared answers, and what rooms make of them, each when it is first asked for.

    Parameters
    ----------
    answers : AnalysisInput or SummedInput
        Answers filtered, coded and ordered once, or their sums, with the plan.
    contributions : sequence of Contribution
        The rooms.
    told : callable, optional
        Is told what is done now.
    observed_power : float, optional
        Level of the tests whose power at the effects found is asked for.
    """

    def __init__(
        self,
        answers: AnalysisInput | SummedInput,
        contributions: Sequence[Contribution],
        *,
        told: Told = untold,
        observed_power: float | None = None,
    ) -> None:
        self._answers, self.observed_power = answers, observed_power
        self._told = told
        self._now = ""
        self._contributions = contributions
        self._found: dict[str, Any] = {}
        self._makers = {
            key.name: one for one in contributions for key in (*one.keys, *one.between) if self._computed_by(one)
        }

    @property
    def prepared(self) -> AnalysisInput:
        """Single answers."""
        assert isinstance(self._answers, AnalysisInput)
        return self._answers

    @property
    def summed(self) -> SummedInput:
        """The sums of a table in parts."""
        assert isinstance(self._answers, SummedInput)
        return self._answers

    @property
    def totals(self) -> AnswerTotals:
        """The sums of ratings or choices."""
        assert isinstance(self.summed.totals, AnswerTotals)
        return self.summed.totals

    @property
    def plan(self) -> Plan:
        """What was planned, with names as the answers write them."""
        return self._answers.plan

    @property
    def groups(self) -> tuple[tuple[str, AnnotatorKind], ...]:
        """Groups and their kinds, in the order of the results."""
        answers = self._answers
        return answers.groups if isinstance(answers, AnalysisInput) else answers.totals.groups

    def _computed_by(self, one: Contribution) -> Callable[[Analysis], KeyValues] | None:
        return one.compute if isinstance(self._answers, AnalysisInput) else one.of_sums

    def of(self, key: Key[Value]) -> Value:
        """Return the value of a key, of any room."""
        if key.name not in self._found:
            maker = self._makers.pop(key.name)  # a room that needs itself fails here
            compute = self._computed_by(maker)
            assert compute is not None
            before = self._now
            self._say(maker.stage or before)
            self._found |= compute(self)
            self._say(before)
        return self._found[key.name]  # type: ignore[no-any-return]

    def _say(self, what: str) -> None:
        if what and what != self._now:
            self._told(what)
        self._now = what

    def everything(self) -> KeyValues:
        """Return the values of all published keys that rooms make."""
        return {key.name: self.of(key) for one in self._contributions if self._computed_by(one) for key in one.keys}


@dataclass(frozen=True, slots=True)
class Checked:
    """Finished results whose figures are to be computed again, with what they were made of.

    ``analysis`` is ``None`` where answers were read in parts: then there are no single answers.
    """

    results: Results
    analysis: Analysis | None
    wanted: Callable[[str], bool]  # whether the figure at a path is in the sample

    @property
    def settings(self) -> Settings:
        """Return the settings of the analysis."""
        return self.results.settings  # type: ignore[no-any-return]

    def families(
        self, key: str, rows: Sequence[Any], *, family: str = "", correction: str = "", **names: Any
    ) -> Claims:
        """Claim the corrected p-values of a key, family by family as the plan has them.

        ``family`` and ``correction`` stand in for the plan's, ``names`` are what :func:`corrected` takes.
        """
        whole = (family or self.settings.family) == "all"
        found: dict[tuple[str, str | None], list[tuple[str, Any]]] = {}
        for place, row in places(key, rows):
            found.setdefault((row.group, None if whole else row.criterion), []).append((place, row))
        for members in found.values():
            yield from corrected(members, correction or self.settings.correction or "holm", **names)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a section may use beside its rows.

    Attributes
    ----------
    names : Names
        Shown names of systems, criteria, groups and sources.
    results : Results
        What other rooms contributed, for :meth:`of`.
    """

    results: Results
    names: Names

    @property
    def settings(self) -> Settings:
        """Return the settings of the analysis."""
        return self.results.settings  # type: ignore[no-any-return]

    @property
    def confidence(self) -> str:
        """Return the level of intervals: "95%"."""
        return confidence_words(self.results)

    @property
    def live(self) -> bool:
        """Tell whether the study was ended by its answers, so that no test of a fixed size holds."""
        return self.results.live is not None

    def of(self, key: Key[Value]) -> Value:
        """Return the value of a key, of any room."""
        return key.of(self.results)


@dataclass(frozen=True, slots=True)
class SectionEntry:
    """A section of the report.

    Attributes
    ----------
    id : str
        Which sections link to, and the order of the report names.
    key : Key
        Whose rows it tells of.
    make : callable
        Makes the section of these rows, those of ``also`` and :class:`Shown`, where any of them has some.
    also : tuple of Key
        Whose rows it tells of as well.
    """

    id: str
    key: Key[Any]
    make: Callable[..., Section | None]
    also: tuple[Key[Any], ...] = ()

    def section(self, shown: Shown) -> Section | None:
        """Make the section, or ``None`` where there is nothing to say."""
        return self.make(*map(shown.of, self._keys), shown) if self.has_rows(shown.results) else None

    def has_rows(self, results: Results) -> bool:
        """Tell whether there are rows to tell of; the section is not made for that."""
        return any(not key.says_nothing(key.of(results)) for key in self._keys)

    @property
    def _keys(self) -> tuple[Key[Any], ...]:
        return self.key, *self.also


@dataclass(frozen=True, slots=True)
class Words:
    """What a term of the report means or follows: its explanation, which may hang on the plan, and who uses it."""

    term: str
    text: str | Callable[[Plan], str]
    used: Callable[[Results], bool] = lambda results: True

    def explain(self, plan: Plan) -> str:
        """Return the explanation under a plan."""
        return self.text if isinstance(self.text, str) else self.text(plan)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the report in a line, and whether results use it."""

    term: str
    text: str
    used: Callable[[Results], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What a room brings.

    Attributes
    ----------
    keys : tuple of Key
        Of ``results.json``.
    between : tuple of Key
        What it makes for other rooms alone.
    stage : str
        What is said while it computes, where that may take long.
    compute : callable, optional
        Returns the values of all these keys by name; ``None`` where the results hold them from elsewhere.
    of_sums : callable, optional
        The same of the sums of a table in parts; without it these keys are empty.
    left_out : tuple of NeedsSingleAnswers
        What does not follow from sums.
    sections : tuple of SectionEntry
        Of the report, whose order ``analysis/report/sections.py`` keeps; others precede the warnings.
    words : tuple of Words
        Conventions that its numbers follow.
    terms : tuple of Term
        What a reader of its numbers may have to be told.
    claims : callable, optional
        Says which figures of these keys a library can compute again, of which numbers, and why others cannot.
    tables : mapping
        Key -> what returns CSV tables by name of its value, where that is not one table of its rows.
    """

    keys: tuple[Key[Any], ...]
    between: tuple[Key[Any], ...] = ()
    stage: str = ""
    compute: Callable[[Analysis], KeyValues] | None = None
    of_sums: Callable[[Analysis], KeyValues] | None = None
    left_out: tuple[NeedsSingleAnswers, ...] = ()
    sections: tuple[SectionEntry, ...] = ()
    words: tuple[Words, ...] = ()
    terms: tuple[Term, ...] = ()
    claims: Callable[[Checked], Claims] | None = None
    tables: Mapping[Key[Any], Callable[[Any], Mapping[str, Sequence[Any]]]] = field(default_factory=dict)
