"""Ties as an outcome of their own, beside the rule that a tie is half a win for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats
from analysis.statistics.rank_orders import STRENGTH_TIE, order_systems
from analysis.statistics.reasons import Reason, commonest, why
from analysis.statistics.record import Positive, Record, Share, replace_fields
from analysis.strengths.fit import Strengths
from analysis.strengths.strength_table import Compared, Judgements, StrengthTable
from analysis.strengths.ties import fit_davidson

IN_PARTS = why("comparisons_in_parts")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TiedStrength(Record):
    """Strength of one system with ties as an outcome, beside its strength with a tie as half a win."""

    system: str
    strength: float | None
    """With ties as an outcome (Davidson)."""
    strength_half: float | None
    """With a tie as half a win."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TieFit(Record):
    """Davidson's model of one source, group and criterion that has ties."""

    source: Compared
    group: str
    criterion: str
    n_ties: Positive
    share: Share
    """Ties among comparisons."""
    nu: float | None
    """Tie parameter: two equal systems tie with probability nu / (2 + nu)."""
    same_order: bool | None
    """The order is that of half wins."""
    strengths: tuple[TiedStrength, ...]
    reason: Reason | None = None


def fit_ties(table: StrengthTable, judgements: Judgements) -> TieFit | None:
    """Fit Davidson's model to the comparisons of a table; ``None`` where nobody ever tied.

    References
    ----------
    Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
    comparison experiments. J. American Statistical Association, 65(329), 317-328.
    """
    won = judgements.won
    times = np.ones(len(won)) if judgements.weights is None else judgements.weights
    tied = won == 0.5
    n_ties, played = float(times[tied].sum()), float(times.sum())
    if n_ties == 0:
        return None
    names = [table.all_systems[place] for place in table.compared.tolist()]
    base = TieFit(
        source=table.source,
        group=table.group,
        criterion=table.criterion,
        n_ties=round(n_ties),
        share=n_ties / played,
        nu=None,
        same_order=None,
        strengths=(),
    )
    if not np.all(tied | (won == 0) | (won == 1)):
        return replace_fields(base, reason=IN_PARTS)
    if table.fit.regularisation is not None:
        return replace_fields(base, reason=why("regularised"))
    place = np.zeros(len(table.all_systems), dtype=np.int64)
    place[table.compared] = np.arange(len(names))
    x, y = place[judgements.x], place[judgements.y]
    first, second, times = won == 1, won == 0, table.weights(judgements)
    outright = (np.concatenate([x[first], y[second]]), np.concatenate([y[first], x[second]]))
    shape = (len(names), len(names))
    wins = csr_array((np.concatenate([times[first], times[second]]), outright), shape=shape)
    ties = csr_array((times[tied], (x[tied], y[tied])), shape=shape)
    half = table.fit.strength
    known = Strengths(strength=half, reasons=table.fit.reasons, regularisation=None)
    fit = fit_davidson(wins, csr_array(ties + ties.T), names, half=known, errors=False)
    if fit.ties is None:
        return replace_fields(base, reason=fit.tie_reason or commonest(fit.reasons))
    return replace_fields(
        base,
        nu=fit.ties,
        same_order=_order(names, fit.strength) == _order(names, half),
        strengths=tuple(
            TiedStrength(system=name, strength=_number(fit.strength[at]), strength_half=_number(half[at]))
            for at, name in enumerate(names)
        ),
        reason=commonest(fit.reasons),
    )


def _order(names: list[str], strength: Floats) -> tuple[tuple[str, ...], ...]:
    known = {name: float(value) for name, value in zip(names, strength, strict=True) if np.isfinite(value)}
    return order_systems(known, tie=STRENGTH_TIE)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
