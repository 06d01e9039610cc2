"""Differences of two ratings in one block, for every pair of systems, made part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from analysis.statistics.coding import Floats, Ints, snap

AT_ONCE = 1 << 20  # differences that one part holds, a block more or less


@dataclass(frozen=True, kw_only=True, eq=False)
class DifferencePart:
    """Two ratings in one block, x minus y, for every pair of systems that met there (x before y in the order).

    ``of`` and ``of_y`` number the outputs of x and y, from which who rated what is looked up when it is asked for.
    """

    x: Ints
    y: Ints
    of: Ints
    of_y: Ints
    whole: Differences

    @cached_property
    def value(self) -> Floats:
        """Rating of x minus that of y."""
        score = self.whole.score
        return snap(score[self.of] - score[self.of_y], scale=self.whole.scale, digits=13)

    @cached_property
    def answers(self) -> Floats | None:
        """How many ratings each difference is made of; ``None``: two."""
        times = self.whole.times
        return None if times is None else (times[self.of] + times[self.of_y]).astype(np.float64)

    @cached_property
    def annotator(self) -> Ints:
        """Who gave both ratings."""
        return self.whole.annotators[self.of]

    @cached_property
    def assignment(self) -> Ints:
        """In which assignment."""
        return self.whole.assignments[self.of]

    @cached_property
    def item(self) -> Ints:
        """About which item."""
        return self.whole.items[self.of]


@dataclass(frozen=True, kw_only=True, eq=False)
class Differences:
    """All differences between ratings of one block, as :meth:`parts` or whole.

    Ten systems rated in a million blocks have 45 million differences: go through :meth:`parts`, each of which holds
    whole blocks and about a million differences. ``x``, ``y``, ``value``, ``annotator``, ``assignment`` and ``item``
    are the columns of all parts together, made when they are first asked for.

    Attributes
    ----------
    block, system : array of int, shape (n_outputs,)
        Where each output was rated, and whose it is; sorted by both.
    score : array of float, shape (n_outputs,)
        Its rating.
    annotators, assignments, items : array of int, shape (n_outputs,)
        Who rated it in which assignment, and which item it is about.
    scale : float
        Largest size of the ratings, to whose 13th digit differences are rounded.
    times : array of int, shape (n_outputs,), or None
        How many ratings each score averages; ``None``: one.
    """

    block: Ints
    system: Ints
    score: Floats
    annotators: Ints
    assignments: Ints
    items: Ints
    scale: float
    times: Ints | None = None

    def parts(self) -> Iterator[DifferencePart]:
        """Yield the differences, some blocks at a time; O(differences) time, memory of one part."""
        if len(bounds := self._bounds) == 2:
            yield self._whole
            return
        for low, high in pairwise(bounds):
            yield self._part(slice(low, high))

    @property
    def x(self) -> Ints:
        """System that is listed first."""
        return self._whole.x

    @property
    def y(self) -> Ints:
        """System that is listed second."""
        return self._whole.y

    @property
    def value(self) -> Floats:
        """Rating of x minus that of y."""
        return self._whole.value

    @property
    def annotator(self) -> Ints:
        """Who gave both ratings."""
        return self._whole.annotator

    @property
    def assignment(self) -> Ints:
        """In which assignment."""
        return self._whole.assignment

    @property
    def item(self) -> Ints:
        """About which item."""
        return self._whole.item

    @cached_property
    def _bounds(self) -> list[int]:
        """Rows at which parts begin, and the end."""
        n = len(self.block)
        starts = np.flatnonzero(np.diff(self.block, prepend=self.block[0] - 1)) if n else np.zeros(1, dtype=np.int64)
        sizes = np.diff(starts, append=n)
        part = np.cumsum(sizes * (sizes - 1) // 2) // AT_ONCE
        return [*starts[np.flatnonzero(np.diff(part, prepend=-1))].tolist(), n]

    @cached_property
    def _whole(self) -> DifferencePart:
        return self._part(slice(None))

    def _part(self, rows: slice) -> DifferencePart:
        block, system = self.block[rows], self.system[rows]
        lower, upper = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        widest = int(np.bincount(block - block.min()).max()) if len(block) else 0
        for step in range(1, widest):
            together = np.flatnonzero(block[step:] == block[:-step])
            lower.append(together)
            upper.append(together + step)
        x, y = np.concatenate(lower), np.concatenate(upper)
        return DifferencePart(
            x=system[x],
            y=system[y],
            of=x + rows.start if rows.start else x,
            of_y=y + rows.start if rows.start else y,
            whole=self,
        )
