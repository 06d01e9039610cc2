"""Names of systems, criteria, groups and sources as a reader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from analysis.figures.plain_text import shown_name
from analysis.printing.words import SOURCES, plural
from analysis.records.results import Results
from spa.records.submission import SIMULATED_RATER
from spa.tables.scale_words import sounds_bad

KINDS = {"human": "people", "simulated": "simulated annotators"}


class Pair(Protocol):
    """Anything about two systems."""

    @property
    def system_x(self) -> str | None:
        """System named first."""

    @property
    def system_y(self) -> str | None:
        """System named second."""


class Asked(Protocol):
    """Anything about one criterion that was asked in one way."""

    @property
    def criterion(self) -> str:
        """Criterion."""

    @property
    def source(self) -> str:
        """Way of asking."""


class Names:
    """Shown names of systems, criteria, groups and sources.

    Parameters
    ----------
    results : Results
        Two systems of one name get their ids as well. ``systems`` are the ids of all, those of the study in its order.
    """

    def __init__(self, results: Results) -> None:
        study = results.study
        self.confidence = f"{100 * results.settings.confidence:g}%"  # level of intervals
        systems = {system.id: system.name or system.id for system in (study.systems if study else ())}
        shown = list(systems.values())
        self._systems = {key: name if shown.count(name) == 1 else f"{name} [{key}]" for key, name in systems.items()}
        tests: list[Pair] = [*results.preferences, *results.ratings.pairs, *results.choices.pairs]
        compared = {system for row in tests for system in (row.system_x, row.system_y) if system is not None}
        found = compared | {row.system for row in results.ratings.means} | {row.system for row in results.bradley_terry}
        self.systems = (*systems, *sorted(found - systems.keys()))
        criteria = study.criteria if study else ()
        self._criteria = {entry.id: entry.name or entry.id for entry in criteria}
        self.lower_is_better = {entry.id for entry in criteria if entry.lower_is_better}
        self._declared = study is not None
        self.lower_is_better |= set(results.settings.lower_is_better)
        self._kinds: dict[str, str] = {entry.group: entry.annotator_kind for entry in results.groups}
        self._unnamed = {entry.group: entry for entry in results.groups if entry.unnamed is not None}
        self._simulated = {entry.group for entry in results.groups if entry.simulated}
        self._juries = {entry.group for entry in results.groups if entry.members}
        rated = {"likert", "continuous", "category"} & set(study.elicitations if study else ())
        self._ordered = {entry.criterion for entry in results.orders}
        self._all_ordered = bool(results.orders) and all(self.ordered(row.criterion) for row in results.choices.pairs)
        ends = results.settings.comparison_ends
        self.comparison_end = abs(ends[0]) if ends is not None and ends[0] == -ends[1] else None
        """Upper end of a scale of how much better the first is, 0 no difference; ``None``: answers are chances."""
        self._ratings = {"likert": "Likert", "continuous": "ratings 0\u2013100"}.get(
            rated.pop() if len(rated) == 1 else ""
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the ids of all groups."""
        return tuple(self._kinds)

    def system(self, system_id: str | None) -> str:
        """Return the shown name of a system; nothing where a row names none."""
        return "" if system_id is None else shown_name(self._systems.get(system_id, system_id))

    def criterion(self, criterion_id: str) -> str:
        """Return the shown name of a criterion."""
        return shown_name(self._criteria.get(criterion_id, criterion_id))

    def ordered(self, criterion_id: str) -> bool:
        """Tell whether the choices by a criterion are those that rankings imply."""
        return criterion_id in self._ordered

    def criterion_asked(self, row: Asked, rows: Sequence[Asked]) -> str:
        """Return the criterion of a row, with its way of asking where the rows have several."""
        several = len({one.source for one in rows}) > 1
        return self.criterion(row.criterion) + (f" ({self.source(row.source)})" if several else "")

    def direction(self, criterion_id: str) -> str:
        """Return which ratings are good: "lower is better", or "higher is better", which may be assumed."""
        if criterion_id in self.lower_is_better:
            return "lower is better"
        return "higher is better" if self._declared else "assumed: higher is better"

    def doubtful(self, criterion_id: str) -> bool:
        """Tell whether high ratings are assumed to be good, though the criterion is called after something bad."""
        return self.direction(criterion_id).startswith("assumed") and sounds_bad(self.criterion(criterion_id))

    def directed(self, criterion_id: str) -> str:
        """Return the shown name of a criterion with its direction in brackets."""
        return f"{self.criterion(criterion_id)} ({self.direction(criterion_id)})"

    def kind(self, group: str) -> str:
        """Return "human", "simulated", "llm", or "" where the results do not say."""
        return self._kinds.get(group) or (group if group in KINDS else "")

    def group(self, group: str) -> str:
        """Return "people", "simulated annotators", "gpt-4 (LLM)" or the group's own name."""
        if group in KINDS:
            return KINDS[group]
        if self.kind(group) != "llm":
            return shown_name(group)
        if group == SIMULATED_RATER:
            return "simulated rater"
        kind = "jury" if group in self._juries else "simulated" if group in self._simulated else "LLM"
        return f"{shown_name(group)} ({kind})"

    def short_group(self, group: str) -> str:
        """Return the name of a group where room is scarce."""
        return "people" if group == "human" else shown_name(group)

    def who(self, group: str) -> str:
        """Return the group as the subject of a sentence."""
        if group == SIMULATED_RATER:
            return f"the {self.group(group)}"
        if group in KINDS or self.kind(group) == "llm":
            return self.group(group)
        return f"the annotators of group {self.group(group)}"

    def simulated(self, group: str) -> bool:
        """Tell whether a program gave the answers of a group, in people's or in an LLM's place."""
        return self.kind(group) == "simulated" or group in self._simulated

    def units(self, group: str, unit: str, n: int) -> str:
        """Return how many a test counts, by what they are: "24 people", "24 forms" of an LLM, "24 items"."""
        if unit == "item":
            return plural(n, "item")
        if self.kind(group) == "llm":
            return plural(n, "form")
        if group == "human":
            return plural(n, "person", "people")
        return plural(n, "simulated annotator" if self.kind(group) == "simulated" else "annotator")

    def unnamed(self, group: str) -> str:
        """Return "12 unnamed people an output" of lists, "means of several people", or "" where people are named."""
        entry = self._unnamed.get(group)
        if entry is None:
            return ""
        if entry.unnamed == "means":
            return "means of several people"
        least, most = entry.fewest_an_output or 0, entry.most_an_output or 0
        return f"{f'{least:,} to ' if least < most else ''}{plural(most, 'unnamed person', 'unnamed people')} an output"

    def counted(self, groups: Iterable[str]) -> str:
        """Return what n counts in rows of these groups: "people", "forms", or "people (for LLMs, forms)"."""
        given = dict.fromkeys(groups)
        others = {self.units(group, "annotator", 2).removeprefix("2 ") for group in given if self.kind(group) != "llm"}
        if any(self.kind(group) == "llm" for group in given):
            return f"{'annotators' if len(others) > 1 else next(iter(others))} (for LLMs, forms)" if others else "forms"
        return next(iter(others)) if len(others) == 1 else "annotators"

    @staticmethod
    def unit(unit: str) -> str:
        """Return the name of a unit of tests: an LLM's assignment is a form."""
        return "form" if unit == "assignment" else unit

    def source(self, source: str) -> str:
        """Return the name of a way of asking."""
        if source == "ratings" and self._ratings:
            return self._ratings
        if source == "choices" and self._all_ordered:
            return "rankings"
        return SOURCES.get(source, shown_name(source))

    def source_by_group(self, source: str, group: str) -> str:
        """Return for instance "SPA by people"."""
        return f"{self.source(source)} by {self.group(group)}"

    def joined(self, source_and_group: str) -> str:
        """Return the words for "source:group"."""
        source, _, group = source_and_group.partition(":")
        return self.source_by_group(source, group)

    def measure(self, measure: str) -> str:
        """Return the words for "ratings:gpt4" or "metrics:BLEU"."""
        source, _, name = measure.partition(":")
        if source == "average":
            return f"{self.group(name)}, mean of criteria"
        return f"{shown_name(name)} (metric)" if source == "metrics" else self.group(name)

    def over(self, row: Pair) -> str:
        """Return a pair as it was asked: "x over y"."""
        return f"{self.system(row.system_x)} over {self.system(row.system_y)}"

    def against(self, row: Pair) -> str:
        """Return a pair without a direction: "x and y"."""
        return f"{self.system(row.system_x)} and {self.system(row.system_y)}"
