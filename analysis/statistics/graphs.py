"""Which of a few things hang together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis.statistics.coding import Ints


def reachable(linked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Say for every two of n nodes whether steps lead from the row's to the column's, itself included; O(n³ log n).

    >>> steps = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> reachable(steps).astype(int).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    reached = linked | np.eye(len(linked), dtype=bool)
    while True:
        paths = reached.astype(np.float32)
        further = paths @ paths > 0
        if (further == reached).all():
            return reached
        reached = further


def connected_parts(linked: npt.NDArray[np.bool_], *, both_ways: bool = False) -> Ints:
    """Give each of n nodes the number of its part, parts in the order of their first nodes; O(n³ log n).

    Parameters
    ----------
    linked : bool array of shape (n, n)
        Whether a step leads from the row's node to the column's.
    both_ways : bool
        Nodes belong together only where steps lead there and back; else the direction of a step does not matter.

    >>> steps = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> connected_parts(steps).tolist(), connected_parts(steps, both_ways=True).tolist()
    ([0, 0, 1], [0, 1, 2])
    """
    if len(linked) == 0:
        return np.zeros(0, dtype=np.int64)
    reached = reachable(linked if both_ways else linked | linked.T)
    first = (reached & reached.T).argmax(axis=1)
    number: Ints = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return number
