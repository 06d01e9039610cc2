"""What the tests found, looked up in one way for all three kinds of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.document import Results

SHARES = {"preferences": "mean", "choices": "win_rate"}  # key of the share of each source that has one
KIND_ORDER = {"human": 0, "simulated": 1, "llm": 3}
OVERALL = "overall"
MOST_OPEN = 2


def opened(criteria: Sequence[str]) -> frozenset[str]:
    """Return the criteria that stand open in a section of comparisons: overall, or up to two, else the first.

    >>> sorted(opened(["fluency", "overall"])), sorted(opened(["fluency", "style", "wit"]))
    (['overall'], ['fluency'])
    """
    if OVERALL in criteria:
        return frozenset({OVERALL})
    return frozenset(criteria if len(criteria) <= MOST_OPEN else criteria[:1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One tested pair of one source, group and criterion."""

    source: str
    row: Mapping[str, Any]
    confidence: str  # "95%"

    @property
    def group(self) -> str:
        """Return the group of annotators."""
        return str(self.row["group"])

    @property
    def criterion(self) -> str:
        """Return what was asked about."""
        return str(self.row["criterion"])

    @property
    def x(self) -> str:
        """Return the system named first."""
        return str(self.row["system_x"])

    @property
    def y(self) -> str:
        """Return the system named second."""
        return str(self.row["system_y"])

    @property
    def verdict(self) -> str | None:
        """Return "x", "y", "indifferent", or None where no test could be run."""
        found = self.row.get("verdict")
        return None if found is None else str(found)

    @property
    def winner(self) -> str | None:
        """Return the system found better."""
        return {"x": self.x, "y": self.y}.get(self.verdict or "")

    @property
    def loser(self) -> str | None:
        """Return the system found worse."""
        return {"x": self.y, "y": self.x}.get(self.verdict or "")


def tested_rows(results: Results, source: str) -> list[dict[str, Any]]:
    """Return the rows of one source's tests of pairs."""
    if source == "preferences":
        return list(results.get("preferences") or ())
    return list((results.get(source) or {}).get("pairs") or ())


def findings(results: Results, source: str) -> list[Finding]:
    """Return all tests of pairs of one source ("preferences", "ratings" or "choices")."""
    confidence = confidence_words(results)
    return [Finding(source=source, row=row, confidence=confidence) for row in tested_rows(results, source)]


def confidence_words(results: Results) -> str:
    """Return "95%"."""
    return f"{100 * float((results.get('settings') or {}).get('confidence') or 0.95):g}%"


def main_source(results: Results) -> str | None:
    """Return the source that the headline speaks of: SPA, else choices, else ratings."""
    return next((source for source in ("preferences", "choices", "ratings") if tested_rows(results, source)), None)


def main_group(results: Results, source: str) -> str:
    """Return the group that the headline speaks of: people before simulated annotators before LLMs."""
    kinds = {entry["group"]: entry.get("annotator_kind") for entry in results.get("groups") or ()}
    groups = list(dict.fromkeys(row["group"] for row in tested_rows(results, source)))
    return str(min(groups, key=lambda group: KIND_ORDER.get(kinds.get(group) or group, 2)))


def first_criteria(results: Results, source: str) -> tuple[str, ...]:
    """Return "overall" alone where it was asked, else every criterion."""
    criteria = tuple(dict.fromkeys(row["criterion"] for row in tested_rows(results, source)))
    return (OVERALL,) if OVERALL in criteria else criteria


def rank_of(order: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the place of each system; tied systems share the better place.

    >>> rank_of([["a"], ["b", "c"], ["d"]])
    {'a': 1, 'b': 2, 'c': 2, 'd': 4}
    """
    ranks: dict[str, int] = {}
    for tied in order:
        place = len(ranks) + 1
        ranks.update(dict.fromkeys(tied, place))
    return ranks


def leader(
    results: Results, source: str, group: str, criterion: str, tested: Iterable[Finding]
) -> tuple[str | None, Finding | None]:
    """Return the first of a ranking and its test against the best placed of its opponents.

    Of several exposures, the largest counts.

    Both are None where there is no ranking or the first place is shared.
    """
    orders = [
        entry["order"]
        for entry in results.get("rankings") or ()
        if (entry["source"], entry["group"], entry["criterion"]) == (source, group, criterion) and entry.get("order")
    ]
    if not orders or len(orders[0][0]) != 1:
        return None, None
    best = orders[0][0][0]
    ranks = rank_of(orders[0])
    own = [found for found in tested if best in (found.x, found.y) and found.verdict is not None]

    def nearest(found: Finding) -> tuple[int, int]:
        other = found.y if found.x == best else found.x
        return ranks.get(other, len(ranks) + 1), -int(found.row.get("exposure") or 0)

    return best, min(own, key=nearest, default=None)


def pair_findings(
    results: Results, source: str, group: str, criteria: Sequence[str]
) -> dict[tuple[str, frozenset[str]], set[str]]:
    """Return what was found on each pair: names of preferred systems, "" for no clear preference."""
    found: dict[tuple[str, frozenset[str]], set[str]] = {}
    for entry in findings(results, source):
        if entry.group == group and entry.criterion in criteria and entry.verdict is not None:
            found.setdefault((entry.criterion, frozenset((entry.x, entry.y))), set()).add(entry.winner or "")
    return found


def agreement_with(
    base: Mapping[tuple[str, frozenset[str]], set[str]], other: Mapping[tuple[str, frozenset[str]], set[str]]
) -> tuple[int, list[tuple[str, frozenset[str]]], int]:
    """Return of the pairs that both judged how many have the same finding, which have opposite ones, and how many."""
    shared = [key for key in base if key in other]
    same = sum(base[key] == other[key] for key in shared)
    opposite = [key for key in shared if len({name for name in base[key] | other[key] if name}) == 2]
    return same, opposite, len(shared)
