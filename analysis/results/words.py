"""Numbers and names as a reader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Protocol

from analysis.figures.plain_text import percent as percent
from analysis.figures.plain_text import shown_name
from analysis.llm_vs_people.alternative_annotator import AlternativeAnnotatorRow
from analysis.results.records import Results
from spa.rounding import MINUS as MINUS
from spa.rounding import NONE as NONE
from spa.rounding import bound, bounds
from spa.rounding import number as number
from spa.simulation import SIMULATED_RATER

LEVEL, MOST_DECIMALS = 0.05, 6  # of p-values: one above the level is not printed as it
SPACE = "\u00a0"  # where a line must not break
SOURCES = {
    "preferences": "SPA",
    "ratings": "ratings",
    "choices": "choices",
    "ratings_bt": "ratings as comparisons",
}
KINDS = {"human": "people", "simulated": "simulated annotators"}


def rule_name(rule: str) -> str:
    """Return a rule of exclusion as a reader sees it.

    >>> rule_name("self_consistency"), rule_name("reading_speed")
    ('self-consistency', 'reading speed')
    """
    return "self-consistency" if rule == "self_consistency" else shown_name(rule.replace("_", " "))


def signed(value: float | None, decimals: int = 2) -> str:
    """Return a difference with its sign."""
    text = number(value, decimals)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.,") else text


def count(value: float | None) -> str:
    """Return a whole number, or one decimal where it is none."""
    if value is None:
        return NONE
    return number(value, 0) if float(value).is_integer() else number(value, 1)


def p_value(value: float | None) -> str:
    r"""Return a p-value to three digits, without the zero before the point; more where three would make it .05.

    >>> p_value(0.0121), p_value(0.00004), p_value(1.0), p_value(0.0502)
    ('.012', '<\xa0.001', '1.000', '.0502')
    """
    if value is None:
        return NONE
    if value < 0.001:
        return f"<{SPACE}.001"
    decimals = 3
    while value > LEVEL and decimals < MOST_DECIMALS and round(value, decimals) <= LEVEL:
        decimals += 1
    return number(value, decimals).removeprefix("0")


def p_words(value: float | None) -> str:
    """Return "adjusted p = .012" or "adjusted p < .001"."""
    text = p_value(value)
    return f"adjusted p{SPACE}{text}" if text.startswith("<") else f"adjusted p{SPACE}={SPACE}{text}"


def interval(
    low: float | None,
    high: float | None,
    *,
    as_percent: bool = False,
    decimals: int = 2,
    marks: Iterable[float] = (0.0,),
) -> str:
    """Return "61.0 to 75.0"; no percent signs, the column says them.

    ``marks`` are values that a reader looks for in it, on the scale of the ends; no end is rounded onto one.

    >>> interval(0.2, 0.711), interval(-0.3, -0.001), interval(0.0004, 0.02, as_percent=True)
    ('0.20 to 0.71', '\u22120.30 to below 0', 'above 0 to 2.0')
    """
    if low is None or high is None:
        return NONE
    return bounds(low, high, 1 if as_percent else decimals, shift=2 if as_percent else 0, marks=marks)


def share_interval(low: float | None, high: float | None, *, marks: Iterable[float] = (0.5,)) -> str:
    """Return the interval of a share in percent, cut at 0 and 100: a t interval does not know that it ends there.

    ``marks`` are as for :func:`interval`.

    >>> share_interval(0.86, 0.95), share_interval(0.86, 1.029), share_interval(0.11, 0.4997)
    ('86.0 to 95.0', '86.0 to 100 (cut)', '11.0 to below 50')
    >>> share_interval(-0.02, 0.14), share_interval(-0.2, 1.2)
    ('0 (cut) to 14.0', '0 to 100 (both cut)')
    """
    if low is None or high is None:
        return NONE
    if low < 0 and high > 1:
        return "0 to 100 (both cut)"
    first, last = (bound(end, 1, shift=2, marks=tuple(marks)) for end in (low, high))
    return f"{'0 (cut)' if low < 0 else first} to {'100 (cut)' if high > 1 else last}"


def compared_with(results: Results, source: str) -> tuple[float, ...]:
    """Return what the ends of a test's interval are compared with: no difference, and a declared margin around it."""
    rated, settings = source == "ratings", results.settings
    margin = settings.equivalence_margin_ratings if rated else settings.equivalence_margin
    none = 0.0 if rated else 0.5
    return (none,) if margin is None else (none - margin, none, none + margin)


def t_value(value: float | None) -> str:
    """Return t with two decimals, from 100 on with none.

    >>> t_value(2.514), t_value(-144.92), t_value(None)
    ('2.51', '\u2212145', '\u2013')
    """
    return number(value, 2 if value is None or abs(value) < 99.995 else 0)


def slug(text: str) -> str:
    """Return a part of a file name: ASCII letters and digits, never empty, told apart by a short number.

    >>> slug("fluency"), slug("fluency!").startswith("fluency-")
    ('fluency', True)
    """
    kept = "".join(character if character.isascii() and character.isalnum() else "_" for character in text)[:40]
    same = kept == text.lower()
    return kept if same else f"{kept.strip('_')}-{sha256(text.encode()).hexdigest()[:4]}".lstrip("-")


def plural(number_of: int, one: str, many: str | None = None) -> str:
    """Return "1 pair", "5 pairs", "1,200 pairs"."""
    return f"{number_of:,} {one if number_of == 1 else many or one + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def sentence(text: str) -> str:
    """Return the text with a capital at its start; a name in it keeps its own letters."""
    return text[:1].upper() + text[1:]


class Pair(Protocol):
    """Anything about two systems."""

    @property
    def system_x(self) -> str | None:
        """System named first."""

    @property
    def system_y(self) -> str | None:
        """System named second."""


class Names:
    """Shown names of systems, criteria, groups and sources.

    Parameters
    ----------
    results : Results
        Two systems of one name get their ids as well. ``systems`` are the ids of all, those of the study in its order.
    """

    def __init__(self, results: Results) -> None:
        study = results.study
        systems = {system.id: system.name or system.id for system in (study.systems if study else ())}
        shown = list(systems.values())
        self._systems = {key: name if shown.count(name) == 1 else f"{name} [{key}]" for key, name in systems.items()}
        tests: list[Pair] = [*results.preferences, *results.ratings.pairs, *results.choices.pairs]
        compared = {system for row in tests for system in (row.system_x, row.system_y) if system is not None}
        found = compared | {row.system for row in results.ratings.means}
        self.systems = (*systems, *sorted(found - systems.keys()))
        criteria = study.criteria if study else ()
        self._criteria = {entry.id: entry.name or entry.id for entry in criteria}
        self.lower_is_better = {entry.id for entry in criteria if entry.lower_is_better}
        self._declared = study is not None
        self.lower_is_better |= set(results.settings.lower_is_better)
        self._kinds: dict[str, str] = {entry.group: entry.annotator_kind for entry in results.groups}
        self._unnamed = {entry.group: entry for entry in results.groups if entry.unnamed is not None}
        self._simulated = {entry.group for entry in results.groups if entry.simulated}
        rated = {"likert", "continuous", "category"} & set(study.elicitations if study else ())
        self._ordered = {entry.criterion for entry in results.orders}
        self._all_ordered = bool(results.orders) and all(self.ordered(row.criterion) for row in results.choices.pairs)
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

    def criterion_asked(self, row: AlternativeAnnotatorRow, rows: Sequence[AlternativeAnnotatorRow]) -> str:
        """Return the criterion of a row, with its way of asking where the rows have several."""
        several = len({one.source for one in rows}) > 1
        return self.criterion(row.criterion) + (f" ({self.source(row.source)})" if several else "")

    def direction(self, criterion_id: str) -> str:
        """Return which ratings are good: "lower is better", or "higher is better", which may be assumed."""
        if criterion_id in self.lower_is_better:
            return "lower is better"
        return "higher is better" if self._declared else "assumed: higher is better"

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
        return f"{shown_name(group)} ({'simulated' if group in self._simulated else 'LLM'})"

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

    def over(self, row: Pair) -> str:
        """Return a pair as it was asked: "x over y"."""
        return f"{self.system(row.system_x)} over {self.system(row.system_y)}"

    def against(self, row: Pair) -> str:
        """Return a pair without a direction: "x and y"."""
        return f"{self.system(row.system_x)} and {self.system(row.system_y)}"
