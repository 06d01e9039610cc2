"""Bradley-Terry from arrays or from a tidy frame, by one name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.answers.conversion import Frame, is_frame
from analysis.answers.input import AnalysisInput
from analysis.answers.plan import Plan
from analysis.comparisons.choice_cells import choice_cells, choice_judgements
from analysis.comparisons.preferences import Comparisons, combine, direct, preference_judgements
from analysis.comparisons.rating_cells import rating_cells, rating_differences
from analysis.comparisons.rating_judgements import rating_judgements
from analysis.frames.measures import Bounds, kind_of, prepare
from analysis.strengths.bounds import LEAST_DF
from analysis.strengths.estimate import BradleyTerry
from analysis.strengths.estimate import bradley_terry as from_arrays
from analysis.strengths.strength_table import Judgements
from spa.errors import AnalysisError


def bradley_terry(
    system_x: Any,
    system_y: Any = None,
    won: Any = None,
    *,
    systems: Sequence[str] | None = None,
    clusters: Mapping[str, Any] | None = None,
    weights: Any = None,
    regularisation: float | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
    alike: str | None = None,
    least_df: float | None = None,
    mapping: Mapping[str, str] | None = None,
    llms: Sequence[str] = (),
    scale: Bounds | Mapping[str, Bounds] | None = None,
    annotators: Frame | None = None,
    plan: Plan | None = None,
) -> BradleyTerry:
    """Estimate Bradley-Terry strengths from arrays or from a tidy frame.

    Parameters
    ----------
    system_x : sequence, or frame
        A frame of preferences, choices or ratings of one group and criterion, as for
        :func:`analysis.system_strengths`, which does all groups and criteria at once; ``clusters`` are then
        those of the report, and exclusions are made as planned; so is the second fit with clusters alike where degrees
        of freedom fall below 4. Otherwise ids, shape (n,).
    system_y, won : sequence, shape (n,)
        With arrays only; see :func:`analysis.strengths.bradley_terry`, also for ``systems`` to ``least_df``.
    mapping, llms, scale, annotators, plan
        With a frame only; as for :func:`analysis.rating_means`.

    Raises
    ------
    AnalysisError
        A frame with mistakes, with several groups or criteria, or without answers.
    ValueError
        Arrays that cannot be counted.

    >>> answers = {"annotator_id": ["a", "b", "c"], "system_x": ["new"] * 3, "system_y": ["old"] * 3}
    >>> bradley_terry(answers | {"preference": [0.7, 0.6, 0.8]}).strength.round(4).tolist()
    [0.4236, -0.4236]
    """
    if not is_frame(system_x):
        if system_y is None or won is None:
            raise TypeError("expected a frame, or three arrays: system_x, system_y and won")
        if mapping or llms or any(given is not None for given in (scale, annotators, plan)):
            raise TypeError("mapping, llms, scale, annotators and plan go with a frame, not with arrays")
        return from_arrays(
            system_x,
            system_y,
            won,
            systems=systems,
            clusters=clusters,
            weights=weights,
            regularisation=regularisation,
            confidence=confidence,
            rng=rng,
            alike=alike,
            least_df=least_df,
        )
    if any(given is not None for given in (system_y, won, clusters, weights)):
        raise TypeError("system_y, won, clusters and weights go with arrays, not with a frame")
    kind = kind_of(system_x, mapping)
    checked = prepare({kind: system_x}, mapping, llms, annotators, plan, scale)
    parts = list(_JUDGED[kind](checked))
    if len(parts) != 1:
        named = "; ".join(f"{group}, {criterion}" for group, criterion, _ in parts) or "none"
        raise AnalysisError(
            f"{kind} table: expected answers of one group and criterion, got {named}; "
            "filter the frame, or take system_strengths for all at once"
        )
    judged, order = parts[0][2], checked.orders[kind].systems
    return from_arrays(
        np.array(order, dtype=object)[judged.x],
        np.array(order, dtype=object)[judged.y],
        judged.won,
        systems=systems or order,
        clusters=judged.clusters(checked.plan.unit),
        regularisation=checked.plan.regularisation if regularisation is None else regularisation,
        confidence=confidence,
        rng=rng,
        alike=alike,
        least_df=LEAST_DF if least_df is None else least_df,
    )


def _of_preferences(checked: AnalysisInput) -> Iterator[tuple[str, str, Judgements]]:
    table = checked.kept["preferences"]
    tests, systems = Comparisons(checked.answers["preferences"], checked.orders["preferences"]), checked.orders
    llms = set(table.filter(table["annotator_kind"] == "llm")["group"].to_list())
    yield from preference_judgements(combine(direct(table, tests)), tests, systems["preferences"].systems, llms)


def _of_ratings(checked: AnalysisInput) -> Iterator[tuple[str, str, Judgements]]:
    for cells in rating_cells(checked.kept["ratings"], checked.orders["ratings"]):
        yield cells.group, cells.criterion, rating_judgements(cells, rating_differences(cells))


def _of_choices(checked: AnalysisInput) -> Iterator[tuple[str, str, Judgements]]:
    for cells in choice_cells(checked.kept["choices"], checked.orders["choices"]):
        yield cells.group, cells.criterion, choice_judgements(cells)


_JUDGED = {"preferences": _of_preferences, "ratings": _of_ratings, "choices": _of_choices}
