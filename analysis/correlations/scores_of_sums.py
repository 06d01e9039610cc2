"""Mean ratings of outputs from the sums of a table."""

from __future__ import annotations

import numpy as np

from analysis.correlations.scores import Scores
from analysis.records.results import Results
from analysis.sums.criterion_sums import by_criterion
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals

MOST_OUTPUTS = 10_000_000  # means of outputs up to which groups are correlated


def has_too_many_outputs(totals: AnswerTotals) -> bool:
    """Say whether groups are not correlated, for the memory that the means of so many outputs would take."""
    return totals.scores is not None and totals.scores.item.height > MOST_OUTPUTS


def mean_scores(totals: AnswerTotals) -> dict[str, dict[str, Scores]]:
    """Return the mean rating of each output by criterion and group; none where a table has too many outputs."""
    found: dict[str, dict[str, Scores]] = {}
    if totals.scores is None or len(totals.groups) < 2 or has_too_many_outputs(totals):
        return found
    for part in by_criterion(totals):
        own = part.scores["item"]
        output = own["item"] * len(part.systems) + own["system"]
        first = np.argsort(output)
        value = own["total"] / own["n"]
        found.setdefault(part.criterion, {})[part.group] = Scores(
            name=f"ratings:{part.group}", output=output[first], value=value[first]
        )
    return found


def _of_people(totals: AnswerTotals, results: Results) -> str | None:
    return "correlations of one person with the others" if totals.kind == "ratings" else None


def _of_groups(totals: AnswerTotals, results: Results) -> str | None:
    if totals.kind != "ratings" or len(totals.groups) < 2 or not has_too_many_outputs(totals):
        return None
    return f"correlations of groups over more than {MOST_OUTPUTS:,} outputs"


PERSON_CORRELATIONS = NeedsSingleAnswers("person_correlations", ("correlations",), _of_people)
GROUP_CORRELATIONS = NeedsSingleAnswers(
    "group_correlations",
    ("correlations", "comparisons_of_correlations", "correlations_by_system", "correlations_of_averages"),
    _of_groups,
)
