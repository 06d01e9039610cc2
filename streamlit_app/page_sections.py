"""Which sections of the report stand on which page; those that no page names stand under "More" of the page Systems."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.records.results import Results

ANSWER, MORE = "Answer", "More"
SYSTEMS = {  # by the parts of its page; the answer is there whatever was asked
    ANSWER: ("answer", "expected", "warnings"),
    "Preferences": ("preferences", "choices"),
    "Ratings": ("ratings", "shares"),
    "Strengths": ("strengths", "comparison"),
    "Exposure and checks": ("preference-checks", "robustness", "equivalence"),
    "Agreement": ("agreement", "correlations"),
}
RATERS = ("raters", "llm-vs-people", "calibration", "explanations")
CONTAMINATION = ("contamination",)  # of the page Raters as well
EXPLANATIONS = ("exploration",)


def parts_of_systems(results: Results) -> dict[str, tuple[str, ...]]:
    """Return the sections of each part of the page Systems, of the parts that have rows to tell of."""
    from analysis.report.sections import with_rows

    told = with_rows(results)
    placed = {*chain(*SYSTEMS.values(), RATERS, CONTAMINATION, EXPLANATIONS)}
    parts = {**SYSTEMS, MORE: tuple(name for name in told if name not in placed)}
    return {part: names for part, names in parts.items() if part == ANSWER or not set(names).isdisjoint(told)}
