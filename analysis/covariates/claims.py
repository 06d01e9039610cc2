"""What libraries compute again of strengths with covariates held constant."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np

from analysis.answers.output_features import CHARACTERS, covariates_of
from analysis.contribution import Checked
from analysis.covariates.comparisons import controlled_choices, controlled_preferences, scaled_features
from analysis.covariates.held_constant import ControlledStrength, fitted_comparisons
from analysis.covariates.logistic import Compared
from analysis.statistics.coding import Floats
from analysis.verification.claims import Claim, Claims, Left, places

MOST_CELLS = 200_000  # comparisons times columns that statsmodels fits in a moment


def claims(checked: Checked) -> Claims:
    """Claim strengths by choix without covariates, and by statsmodels' GLM with them."""
    tables: dict[tuple[str, str, str], list[tuple[str, ControlledStrength]]] = {}
    for place, row in places("controlled_strengths", checked.results.controlled_strengths):
        if row.strength is not None:
            tables.setdefault((row.source, row.group, row.criterion), []).append((place, row))
    if checked.analysis is None or not tables:
        return
    prepared = checked.analysis.prepared
    wanted = [*(name for control in prepared.plan.control for name in covariates_of(control)), CHARACTERS]
    features, _ = scaled_features(prepared, wanted)
    for part in chain(*(parts(prepared, features, wanted) for parts in (controlled_preferences, controlled_choices))):
        own = tables.get((part.source, part.group, part.criterion))
        fitted = None if own is None else fitted_comparisons(replace(part, features=part.features[:, :-1]))
        if own is not None and fitted is not None:
            yield from _strengths(own, *fitted)


def _strengths(rows: list[tuple[str, ControlledStrength]], compared: Compared, names: list[str]) -> Claims:
    rows = sorted(rows, key=lambda row: names.index(row[1].system))
    plain, held = (tuple(f"{place}.{name}" for place, _ in rows) for name in ("strength", "controlled"))
    k = compared.n_systems
    yield Claim(
        call="ilsr_pairwise",
        paths=plain,
        figures=tuple(row.strength for _, row in rows if row.strength is not None),
        numbers={"wins": _wins(compared)},
    )
    if len(compared) * (k + compared.covariates.shape[1]) > MOST_CELLS:
        yield Left(paths=held, why="sampled")
        return
    yield Claim(
        call="glm",
        paths=held,
        figures=tuple(row.controlled for _, row in rows if row.controlled is not None),
        numbers={
            "first": compared.x,
            "second": compared.y,
            "won": compared.won,
            "covariates": compared.covariates,
            "n_systems": k,
        },
    )


def _wins(compared: Compared) -> Floats:
    wins = np.zeros((compared.n_systems, compared.n_systems))
    np.add.at(wins, (compared.x, compared.y), compared.won)
    np.add.at(wins, (compared.y, compared.x), 1 - compared.won)
    return wins
