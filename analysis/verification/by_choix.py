"""Strengths by choix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.verification.claims import NotComputedError

STEPS, CLOSE = 1_000, 1e-13  # of its iterations; strengths are then within 1e-9 of their maximum


def strengths(wins: npt.NDArray[np.float64]) -> list[float]:
    """Return Bradley-Terry strengths, mean zero, of a table whose systems have all won and lost.

    ``opt_*`` and ``mm_*`` of choix give finite strengths across tables that fall apart; this refuses them.
    """
    from choix import ilsr_pairwise_dense

    return _centred(ilsr_pairwise_dense, wins)


def ranked(n_systems: int, rankings: Sequence[Sequence[int]]) -> list[float]:
    """Return Plackett-Luce strengths, mean zero, of whole or partial rankings, best first."""
    from choix import ilsr_rankings

    return _centred(ilsr_rankings, n_systems, rankings)


def _centred(fit: Any, *data: Any) -> list[float]:
    try:
        found = np.asarray(fit(*data, alpha=0.0, max_iter=STEPS, tol=CLOSE), dtype=np.float64)
    except (RuntimeError, ValueError, np.linalg.LinAlgError) as error:
        raise NotComputedError("not_converged") from error
    if not np.isfinite(found).all():
        raise NotComputedError("not_converged")
    centred: list[float] = (found - found.mean()).tolist()
    return centred
