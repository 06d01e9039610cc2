"""Log odds of pairs as a flow on a graph of systems: what one order explains, what goes round in triples, and longer.

References
----------
Jiang, X., Lim, L.-H., Yao, Y. and Ye, Y. (2011). Statistical ranking and combinatorial Hodge theory. Mathematical
Programming 127(1), 203-244, sections 3 to 5.
Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2008). Bootstrap-based improvements for inference with clustered
errors. Review of Economics and Statistics 90(3), 414-427.
Carpenter, J. (1999). Test inversion bootstrap confidence intervals. Journal of the Royal Statistical Society B 61(1),
159-172.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from analysis.statistics.coding import Floats, Ints
from analysis.statistics.graphs import connected_parts
from analysis.statistics.t_tests import t_bound

DRAWS = 999
STILL = 1e-12  # of the projections on triangles
NOTHING = 1e-9  # share of a flow below which a part of it is rounding
FEW = 120  # triangles, those of ten systems, that need no sparse solver
HELD = 1 << 20  # numbers held at once
MOST_PAIRS = 300  # not all of them compared, of which triangles and longer circles have intervals each
MANY = 1e9  # degrees of freedom of what is as good as normal
HALVINGS = 30  # of [0, 1], by which a bound is found
NEAREST = 0.005  # to 0 and 1 that stated chances are taken: half of a percent, the finest step of the forms


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Shares of the weighted sum of squares of a flow; they add up to 1."""

    gradient: float
    curl: float
    harmonic: float


@dataclass(frozen=True, kw_only=True, eq=False)
class PairGraph:
    """Compared pairs as edges between systems 0 .. k - 1, each once, ``low`` below ``high``, shape (pairs,)."""

    k: int
    low: Ints
    high: Ints

    @property
    def n_cycles(self) -> int:
        """Number of independent cycles: 0 in a chain, a star, or where nothing else closes."""
        edges = (np.ones(len(self.low)), (self.low, self.high))
        parts = connected_parts(csr_array(edges, shape=(self.k, self.k)))
        return len(self.low) - self.k + int(parts.max(initial=-1)) + 1

    @cached_property
    def differences(self) -> csr_array:
        """What a value for each system gives each pair: that of ``low`` less that of ``high``."""
        pairs = np.arange(len(self.low))
        rows = np.concatenate([pairs, pairs])
        signs = np.repeat([1.0, -1.0], len(pairs))
        return csr_array((signs, (rows, np.concatenate([self.low, self.high]))), shape=(len(pairs), self.k))

    @cached_property
    def triangles(self) -> Ints:
        """Pairs of each three systems that were all compared, shape (triangles, 3): ab, bc and ac with a < b < c."""
        number = {(a, b): pair for pair, (a, b) in enumerate(zip(self.low.tolist(), self.high.tolist(), strict=True))}
        beside: dict[int, list[int]] = {}
        for a, b in sorted(number):
            beside.setdefault(a, []).append(b)
        found = [
            (number[a, b], number[b, c], number[a, c])
            for a, after in beside.items()
            for b, c in combinations(after, 2)
            if (b, c) in number
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def around(self) -> csr_array:
        """What goes round each triangle: ab + bc - ac."""
        n = len(self.triangles)
        signs = np.tile([1.0, 1.0, -1.0], n)
        rows = np.repeat(np.arange(n), 3)
        return csr_array((signs, (rows, self.triangles.ravel())), shape=(n, len(self.low)))

    def orders(self, weights: Floats) -> Floats:
        """Return an orthonormal basis of what orders give pairs, each times the root of its weight: (pairs, rank)."""
        basis, sizes, _ = np.linalg.svd(self.differences.toarray() * np.sqrt(weights)[:, None], full_matrices=False)
        found: Floats = basis[:, sizes > NOTHING * sizes.max()]
        return found

    def turning(self, weights: Floats) -> Floats:
        """Return an orthonormal basis of what goes round triangles, times the roots of weights: (pairs, rank)."""
        around = self.around.toarray() / np.sqrt(weights)
        sizes, basis = np.linalg.eigh(around.T @ around)
        found: Floats = basis[:, sizes > NOTHING * max(1e-300, float(sizes.max()))]
        return found

    def shares(self, flow: Floats, weights: Floats) -> Shares | None:
        """Split a flow, shape (pairs,), into gradient, curl and harmonic part; ``None`` where it is 0 throughout."""
        whole, root = float(weights @ flow**2), np.sqrt(weights)
        if whole <= 0:
            return None
        left = unexplained(self.orders(weights), flow * root)
        cyclic, curl = _share(float(left @ left) / whole), 0.0
        if len(self.triangles) and cyclic:
            turning = self.around.T.multiply(1 / root[:, None]).tocsr()
            curl = _share(float(np.sum(_projected(turning, left) ** 2)) / whole)
        harmonic = _share(cyclic - curl)
        return Shares(gradient=1 - cyclic, curl=cyclic - harmonic, harmonic=harmonic)


def unexplained(orders: Floats, scaled: Floats) -> Floats:
    """Return what no order explains of flows times the roots of their weights."""
    found: Floats = scaled - orders @ (orders.T @ scaled)
    return found


def _projected(columns: csr_array, onto: Floats) -> Floats:
    """Return the part of a vector that the columns of a table can make up."""
    if columns.shape[1] <= FEW:
        dense: Floats = columns.toarray()
        return dense @ np.linalg.lstsq(dense, onto)[0]
    from scipy.sparse.linalg import lsmr  # loads scipy.linalg: a tenth of what a report's start takes

    made_of = lsmr(columns, onto, atol=STILL, btol=STILL, maxiter=10 * columns.shape[0] + 100)[0]
    found: Floats = columns @ made_of
    return found


def _share(value: float) -> float:
    return 0.0 if value < NOTHING else min(value, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What units (annotators, assignments or items) said of pairs.

    Attributes
    ----------
    graph : PairGraph
        The pairs.
    value : array of float, shape (units, pairs)
        Share of the answers, or mean stated chance, that speaks for ``low``; NaN where a unit said nothing of a pair.
    n_answers : array of float, shape (pairs,)
        Answers behind each pair.
    stated : bool
        Whether the values are chances that units state: then each has log odds of its own.
    """

    graph: PairGraph
    value: Floats
    n_answers: Floats
    stated: bool

    @cached_property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Say which units spoke of which pairs."""
        found: npt.NDArray[np.bool_] = ~np.isnan(self.value)
        return found

    @cached_property
    def n(self) -> Floats:
        """Units by pair; each has one vote."""
        found: Floats = self.answered.sum(axis=0).astype(np.float64)
        return found

    @cached_property
    def share(self) -> Floats:
        """Mean over units of what speaks for ``low``, shape (pairs,)."""
        found: Floats = np.where(self.answered, self.value, 0).sum(axis=0) / self.n
        return found

    @cached_property
    def flow(self) -> Floats:
        """Log odds of ``low`` over ``high``, shape (pairs,): mean of the units' own, or those of the mean share."""
        if not self.stated:
            return self.log_odds(self.share[:, None])[:, 0]
        found: Floats = np.where(self.answered, self._own, 0).sum(axis=0) / self.n
        return found

    def log_odds(self, share: Floats) -> Floats:
        """Return log odds of shares, shape (pairs, draws), kept half an answer from 0 and 1."""
        least = (0.5 / (self.n_answers + 1))[:, None]
        within = np.clip(share, least, 1 - least)
        found: Floats = np.log(within) - np.log1p(-within)
        return found

    @cached_property
    def _own(self) -> Floats:
        within = np.clip(np.where(self.answered, self.value, 0.5), NEAREST, 1 - NEAREST)
        found: Floats = np.log(within) - np.log1p(-within)
        return found

    def drawn(self, fitted: Floats, signs: Floats) -> Floats:
        """Return flows, shape (pairs, draws), of answers that one order explains but for their units' deviations.

        Each unit's deviations from ``fitted`` get one sign of ``signs``, shape (units, draws).
        """
        if self.stated:
            away = np.where(self.answered, self._own - fitted, 0) / self.n
            found: Floats = fitted[:, None] + away.T @ signs
            return found
        middle = 1 / (1 + np.exp(-fitted))
        away = np.where(self.answered, self.value - middle, 0) / self.n
        return self.log_odds(middle[:, None] + away.T @ signs)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOrder:
    """How far no order explains a flow, beside answers that one order explains.

    ``expected`` is the mean share that noise alone leaves unexplained; ``p_value`` tests curl and harmonic part
    together.
    """

    expected: float
    p_value: float


def against_one_order(answers: Answers, *, rng: np.random.Generator, draws: int = DRAWS) -> NoOrder:
    """Test whether more goes round than noise leaves, against the fitted order (wild bootstrap of units).

    The statistic is the weighted sum of squares that no order explains, weights being units by pair. Under the null
    hypothesis each unit's deviations from the fitted order keep their sizes and get a random common sign, so that
    pairs judged by the same units vary together (Rademacher weights, the order imposed; Cameron et al. 2008).

    Parameters
    ----------
    answers : Answers
        At least one cycle among their pairs.
    rng : Generator
        Of the signs.
    draws : int
        Number of draws.
    """
    graph, weights, flow = answers.graph, answers.n, answers.flow
    root, orders = np.sqrt(weights), graph.orders(weights)
    left = unexplained(orders, flow * root)
    found, fitted = float(left @ left), flow - left / root
    sizes: list[Floats] = []
    shares: list[Floats] = []
    step = max(1, HELD // max(1, *answers.value.shape))
    for start in range(0, draws, step):
        signs = rng.choice([-1.0, 1.0], size=(min(step, draws - start), len(answers.value))).T
        scaled = answers.drawn(fitted, signs) * root[:, None]
        size, whole = np.sum(unexplained(orders, scaled) ** 2, axis=0), np.sum(scaled**2, axis=0)
        sizes.append(size)
        shares.append(np.divide(size, whole, out=np.zeros_like(size), where=whole > 0))
    beyond = np.concatenate(sizes) >= found * (1 - NOTHING)
    return NoOrder(expected=float(np.concatenate(shares).mean()), p_value=float((1 + beyond.sum()) / (1 + len(beyond))))


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclicIntervals:
    """Intervals of the shares of what goes round, within [0, 1]; of a part that pairs leave no room for ``None``.

    The sample's share may lie above both bounds of its interval.
    """

    cyclic: tuple[float, float]
    curl: tuple[float, float] | None = None
    harmonic: tuple[float, float] | None = None


def cyclic_intervals(
    answers: Answers, *, rng: np.random.Generator, confidence: float = 0.95, draws: int = DRAWS
) -> CyclicIntervals | None:
    """Return intervals of the shares that go round when noise is taken off; ``None`` where units do not vary.

    A share of 0 leaves more than 0 in every sample, so that the sample's own share is no centre. Instead the share of
    a part (curl and harmonic part together, or one of them) is made larger or smaller, directions and the sum of
    squares without noise kept, until draws reach the share found as rarely as the confidence asks, on either side
    (test inversion). Draws are the units' deviations with a common sign each, the same for all parts, as in
    :func:`against_one_order`, as much longer as t with n - 1 degrees of freedom (n: units of a pair, median) is wider
    than the normal.
    """
    graph, weights, flow = answers.graph, answers.n, answers.flow
    root, orders, n = np.sqrt(weights), graph.orders(weights), float(np.median(weights))
    scaled = flow * root
    if n < 2 or not float(scaled @ scaled) > 0:
        return None
    parts: dict[str, Callable[[Floats], Floats]] = {"cyclic": lambda flows: unexplained(orders, flows)}
    complete, n_curls = len(graph.low) == graph.k * (graph.k - 1) // 2, 0
    if complete:  # each circle is made of triangles
        n_curls = graph.n_cycles
    elif len(graph.low) <= MOST_PAIRS:
        turning = graph.turning(weights)
        n_curls = turning.shape[1]
    if not complete and 0 < n_curls < graph.n_cycles:
        parts["curl"] = lambda flows: turning @ (turning.T @ flows)
        parts["harmonic"] = lambda flows: unexplained(turning, unexplained(orders, flows))
    seen = {name: part(scaled) for name, part in parts.items()}
    rounds: dict[str, list[Floats]] = {name: [] for name in parts}
    step = max(1, HELD // max(1, *answers.value.shape))
    longer = float(np.sqrt(n / (n - 1))) * t_bound(n - 1, confidence) / t_bound(MANY, confidence)
    for start in range(0, draws, step):
        signs = longer * rng.choice([-1.0, 1.0], size=(min(step, draws - start), len(answers.value))).T
        noise = (answers.drawn(flow, signs) - flow[:, None]) * root[:, None]
        for name, part in parts.items():
            around, own = part(noise), seen[name]
            along, rest = noise - around, scaled - own
            rounds[name].append(np.array([own @ around, np.sum(around**2, 0), rest @ along, np.sum(along**2, 0)]))
    found = {
        name: _inverted(np.concatenate(rounds[name], axis=1), own, scaled - own, confidence)
        for name, own in seen.items()
    }
    cyclic = found["cyclic"]
    if cyclic is None:
        return None
    if len(parts) > 1:
        return CyclicIntervals(cyclic=cyclic, curl=found["curl"], harmonic=found["harmonic"])
    if n_curls:
        return CyclicIntervals(cyclic=cyclic, curl=cyclic)
    return CyclicIntervals(cyclic=cyclic, harmonic=cyclic if len(graph.low) <= MOST_PAIRS else None)


def _inverted(rounds: Floats, part: Floats, rest: Floats, confidence: float) -> tuple[float, float] | None:
    """Return which shares of a part would give the share found.

    Parameters
    ----------
    rounds : array of float, shape (4, draws)
        What noise adds along the part, its square, and likewise of the rest.
    part, rest : array of float, shape (pairs,)
        Of the flow times the roots of its weights.
    """
    turned, turned_size, moved, moved_size = rounds
    own, other = float(part @ part), float(rest @ rest)
    signal = max(0.0, own - float(turned_size.mean())) + max(0.0, other - float(moved_size.mean()))
    if not float(turned_size.max()) > NOTHING * (own + other):
        return None
    found, tail = own / (own + other), (1 - confidence) / 2

    def shares(truth: float) -> Floats:
        """Return the shares of samples in which the part has so much."""
        one = np.sqrt(truth * signal / own) if own > 0 else 0.0
        two = np.sqrt((1 - truth) * signal / other) if other > 0 else 0.0
        of_part: Floats = np.maximum(one**2 * own + 2 * one * turned + turned_size, 0)
        of_rest = np.maximum(two**2 * other + 2 * two * moved + moved_size, 0)
        found_shares: Floats = of_part / np.maximum(of_part + of_rest, 1e-300)
        return found_shares

    def border(beyond: Callable[[float], bool]) -> float:
        """Return the smallest true share from which on the condition holds, by halving; 1 where it never does."""
        low, high = 0.0, 1.0
        if beyond(low):
            return low
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return _share(high)

    lower = border(lambda truth: float(np.mean(shares(truth) >= found)) >= tail)
    upper = border(lambda truth: float(np.mean(shares(truth) <= found)) < tail)
    return min(lower, upper), max(lower, upper)


def strongest_circle(graph: PairGraph, share: Floats) -> tuple[int, ...]:
    """Return the circle of systems, each beating the next, whose weakest step is strongest; empty where there is none.

    ``share``, shape (pairs,), speaks for ``low``; at a half nobody beats. Of circles as strong the shortest.

    >>> three = PairGraph(k=3, low=np.array([0, 1, 0]), high=np.array([1, 2, 2]))
    >>> strongest_circle(three, np.array([0.8, 0.7, 0.4])), strongest_circle(three, np.array([0.8, 0.7, 0.6]))
    ((0, 1, 2), ())
    """
    margin = np.round(share - 0.5, 12)  # a share and its complement are as far from even
    won = np.zeros((graph.k, graph.k))
    won[graph.low, graph.high], won[graph.high, graph.low] = np.maximum(margin, 0), np.maximum(-margin, 0)
    margins = np.unique(won[won > 0])[::-1]  # a circle of at least one margin is one of every smaller margin
    first = bisect_left(margins, True, key=lambda least: bool(_shortest_circle(won >= least)))
    return _shortest_circle(won >= margins[first]) if first < len(margins) else ()


def _shortest_circle(beats: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Return a shortest circle of a relation, by the lowest numbers; empty where there is none."""
    k = len(beats)
    after = [np.flatnonzero(row).tolist() for row in beats]
    best: tuple[int, ...] = ()
    for start in range(k):
        came: dict[int, int] = {start: -1}
        line = [start]
        for system in line:
            if start in after[system]:
                way = [system]
                while came[way[-1]] >= 0:
                    way.append(came[way[-1]])
                if not best or len(way) < len(best):
                    best = tuple(reversed(way))
                break
            for other in after[system]:
                if other not in came:
                    came[other] = system
                    line.append(other)
    return best
