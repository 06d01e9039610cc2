"""Other libraries' functions, as the tests call them."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats import multitest


def multipletests(
    p: Sequence[float], *, method: str, alpha: float = 0.05
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return what statsmodels rejects, and its adjusted p-values.

    Its search for garbage after each call is left out: it takes half a second beside other tests.
    """
    with patch.object(gc, "collect"):
        rejected, adjusted, *_ = multitest.multipletests(p, alpha=alpha, method=method)
    return rejected, adjusted
