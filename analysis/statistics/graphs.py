"""Which of many things hang together: graphs as sparse tables of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.statistics.coding import Ints

FEW = 100  # nodes up to which all ways are walked at once, which needs no library


def connected_parts(linked: npt.NDArray[np.bool_] | csr_array, *, both_ways: bool = False) -> Ints:
    """Give each of n nodes the number of its part, parts in the order of their first nodes; O(n + steps).

    Parameters
    ----------
    linked : bool array or sparse array, shape (n, n)
        Whether a step leads from the row's node to the column's.
    both_ways : bool
        Nodes belong together only where steps lead there and back; else the direction of a step does not matter.

    >>> steps = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> connected_parts(steps).tolist(), connected_parts(steps, both_ways=True).tolist()
    ([0, 0, 1], [0, 1, 2])
    """
    if linked.shape[0] == 0:
        return np.zeros(0, dtype=np.int64)
    if linked.shape[0] <= FEW:
        return _few_parts(linked if isinstance(linked, np.ndarray) else linked.toarray() != 0, both_ways=both_ways)
    from scipy.sparse.csgraph import connected_components  # loads scipy.linalg: a tenth of what a report's start takes

    table: csr_array[Any, tuple[int, int]] = csr_array(linked)
    _, of = connected_components(table, connection="strong" if both_ways else "weak")
    first, number = np.unique(of, return_index=True, return_inverse=True)[1:]
    found: Ints = np.argsort(np.argsort(first))[number].astype(np.int64)
    return found


def _few_parts(linked: npt.NDArray[np.bool_], *, both_ways: bool) -> Ints:
    """Do the same by doubling the length of ways until no more nodes are reached."""
    reached = linked.astype(bool) | np.eye(len(linked), dtype=bool)
    reached = reached if both_ways else reached | reached.T
    while np.any((further := reached.astype(np.float32) @ reached.astype(np.float32) > 0) != reached):
        reached = further
    first = np.argmax(reached & reached.T, axis=1)
    found: Ints = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return found
