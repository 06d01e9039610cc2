"""How large a preference is beside the spread between annotators: Cohen's d_z against chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.comparisons.preferences import CHANCE, PreferenceTest
from analysis.statistics.effect_sizes import APPROXIMATE, NONCENTRAL, d_z_bounds


def with_effect_sizes(rows: Sequence[PreferenceTest], *, confidence: float) -> list[PreferenceTest]:
    """Add ``d_z`` and its interval to the tests; where there is none the row's ``reason`` already says why."""
    known = [place for place, row in enumerate(rows) if row.mean is not None and row.sd]
    mean, sd = (np.array([getattr(rows[place], name) for place in known], dtype=np.float64) for name in ("mean", "sd"))
    d_z = (mean - CHANCE) / sd
    low, high, exact = d_z_bounds(d_z, np.array([rows[place].n for place in known], dtype=np.int64), confidence)
    done = list(rows)
    for at, place in enumerate(known):
        interval = NONCENTRAL if exact[at] else APPROXIMATE
        done[place] = replace(
            rows[place],
            d_z=float(d_z[at]),
            d_z_low=float(low[at]),
            d_z_high=float(high[at]),
            d_z_interval=interval,
        )
    return done
