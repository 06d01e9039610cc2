"""How wide the scale of each criterion is, and which answers it offers, where that was declared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from analysis.answers.columns import Scale
from analysis.answers.groups import distinct
from analysis.answers.span_tables import COUNTED
from analysis.answers.study_facts import StudyFacts

ELICITATION = re.compile(r" \([^()]+\)$")  # "fluency (continuous)": a criterion rated in a second way
CONTINUOUS = 100.0  # a study's continuous ratings and those of spans run from 0 to it
MOST_STEPS = 1_000
Steps = tuple[float, ...]


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
    return {name: ends[-1] - ends[0] for name, ends, _ in _declared(elicitations, scales, study)}


def scale_steps(
    elicitations: Mapping[str, str | None], scales: Sequence[Scale], study: StudyFacts | None
) -> dict[str, Steps]:
    """Return the answers that each criterion offers, ascending: the scores of its options, or whole numbers.

    Arguments are those of :func:`scale_widths`. Scales with other bounds, or more than 1,000 steps, have none.

    >>> scale_steps({"clear": None}, [Scale(criterion=None, low=1, high=5)], None)
    {'clear': (1.0, 2.0, 3.0, 4.0, 5.0)}
    """
    found = {}
    for name, ends, chosen in _declared(elicitations, scales, study):
        low, high = ends[0], ends[-1]
        if chosen:
            found[name] = ends
        elif low == int(low) and high == int(high) and high - low < MOST_STEPS:
            found[name] = tuple(map(float, range(int(low), int(high) + 1)))
    return found


def declared_scale(scales: Sequence[Scale], criterion: str) -> Scale | None:
    """Return the bounds that were declared for a criterion, as named in the results."""
    by_criterion = {scale.criterion: scale for scale in scales}
    return by_criterion.get(ELICITATION.sub("", criterion), by_criterion.get(None))


def ways_of(table: pl.DataFrame) -> dict[str, str | None]:
    """Return how each criterion of a table was asked, as far as the table says it."""
    return dict(distinct(table, "criterion", "elicitation").sort("elicitation").iter_rows())


def _declared(
    elicitations: Mapping[str, str | None], scales: Sequence[Scale], study: StudyFacts | None
) -> Iterator[tuple[str, Steps, bool]]:
    """Yield each criterion with the ends of its scale, or, where it has named options, all their scores."""
    for name, way in elicitations.items():
        criterion = ELICITATION.sub("", name)
        if way == COUNTED:  # errors counted have no end
            continue
        of_table = declared_scale(scales, criterion)
        declared: Steps | None = None if of_table is None else (of_table.low, of_table.high)
        ends = declared if study is None else _of_study(study, criterion, way)
        if ends is not None:
            yield name, ends, study is not None and way == "category"


def _of_study(study: StudyFacts, criterion: str, way: str | None) -> Steps | None:
    match way:
        case "likert":
            return None if study.likert_points is None else (1.0, float(study.likert_points))
        case "continuous":
            return (0.0, CONTINUOUS)
        case "category":
            options = next((one.options for one in study.criteria if one.id == criterion), ())
            scores = sorted({option.score for option in options if option.score is not None})
            return tuple(scores) if len(scores) > 1 else None
    return None
