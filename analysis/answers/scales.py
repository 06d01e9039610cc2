"""How wide the scale of each criterion is, where it was declared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from analysis.answers.columns import Scale
from analysis.answers.span_tables import COUNTED
from analysis.answers.study_facts import StudyFacts

ELICITATION = re.compile(r" \([^()]+\)$")  # "fluency (continuous)": a criterion rated in a second way
CONTINUOUS = 100.0  # a study's continuous ratings and those of spans run from 0 to it


def scale_widths(
    elicitations: Mapping[str, str | None], scales: Sequence[Scale], study: StudyFacts | None
) -> dict[str, float]:
    """Return the highest score less the lowest of each criterion whose scale is declared.

    Parameters
    ----------
    elicitations : mapping of str to str or None
        How each criterion, as named in the results, was asked.
    scales : sequence of Scale
        Bounds that were declared for a table.
    study : StudyFacts, optional
        Its sections declare their scales.
    """
    of_tables = {scale.criterion: scale.high - scale.low for scale in scales}
    found: dict[str, float | None] = {}
    for name, way in elicitations.items():
        criterion = ELICITATION.sub("", name)
        if way == COUNTED:  # errors counted have no end
            continue
        found[name] = of_tables.get(criterion, of_tables.get(None))
        if study is not None:
            found[name] = _of_study(study, criterion, way)
    return {name: width for name, width in found.items() if width is not None}


def _of_study(study: StudyFacts, criterion: str, way: str | None) -> float | None:
    match way:
        case "likert":
            return None if study.likert_points is None else study.likert_points - 1.0
        case "continuous":
            return CONTINUOUS
        case "category":
            options = next((one.options for one in study.criteria if one.id == criterion), ())
            scores = [option.score for option in options if option.score is not None]
            return max(scores) - min(scores) if len(set(scores)) > 1 else None
    return None
