"""A group's mean over its criteria as a measure of its own, beside people's ratings of each criterion."""

from __future__ import annotations

from collections.abc import Container, Mapping

import numpy as np

from analysis.correlations.scores import Scores, common_outputs

OVERALL = "overall"  # asked by itself, and never computed from the others
AVERAGE = "average"  # what the names of these measures begin with
SECOND_WAY = "("  # in names such as "fluency (continuous)", on another scale


def averages_over_criteria(
    by_criterion: Mapping[str, Mapping[str, Scores]], lower_is_better: Container[str]
) -> dict[str, Scores]:
    """Average each group's mean scores over its criteria, output by output, where all of these have one.

    Parameters
    ----------
    by_criterion : mapping of str to mapping
        Mean scores of each group, by criterion. The overall question is left out, and what was asked a second time on
        another scale.
    lower_is_better : container of str
        Criteria that count with the other sign.

    Returns
    -------
    dict of str to Scores
        By group; none of a group with fewer than two criteria, or without an output that all of them have.

    References
    ----------
    Chhun, C., Suchanek, F. M. and Clavel, C. (2024). Do language models enjoy their own stories? TACL 12 (the columns
    "AVG").

    >>> one, two = (Scores(name="ratings:m", output=np.array([1, 2]), value=np.array(values)) for values in ((1.0, 4.0),
    ...             (3.0, 2.0)))
    >>> averages_over_criteria({"a": {"m": one}, "b": {"m": two}}, ())["m"].value.tolist()
    [2.0, 3.0]
    """
    parts: dict[str, list[tuple[int, Scores]]] = {}
    for criterion, groups in by_criterion.items():
        if criterion != OVERALL and SECOND_WAY not in criterion:
            for group, scores in groups.items():
                parts.setdefault(group, []).append((-1 if criterion in lower_is_better else 1, scores))
    found = {}
    for group, own in parts.items():
        outputs = common_outputs(own[0][1], *(scores for _, scores in own[1:]))
        if len(own) > 1 and len(outputs):
            value = np.mean([sign * scores.at(outputs) for sign, scores in own], axis=0)
            found[group] = Scores(name=f"{AVERAGE}:{group}", output=outputs, value=value)
    return found
