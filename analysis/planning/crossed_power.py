"""Power of the crossed test: whether other annotators, on other items, would find the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtrit

from analysis.planning.assumptions import Assumptions
from analysis.planning.dealt import DealtItems
from analysis.planning.solve import Detectable
from analysis.planning.unpaired import deal_hands
from analysis.planning.variance import Components
from analysis.rating_checks.crossed import FEW
from analysis.statistics.coding import Floats, Ints

RUNS = 20_000  # simulated standard errors
ANSWERS = 400_000  # simulated for one dealing of the items
LAYOUTS = 10  # dealings of the items
MOST = 20_000  # answers of a study, above which sums of squares are drawn
FEWEST = 20  # studies of one dealing
HALVINGS = 24
LEAST = 2  # annotators, and items


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedPower:
    """The test of :func:`analysis.rating_checks.crossed.crossed_test` on answers that are yet to come.

    Attributes
    ----------
    components : Components
        Of the difference between two systems, as one annotator gives it for one item.
    annotators : int
        Who stay in the analysis.
    items : DealtItems
        How they come to their items.
    """

    components: Components
    annotators: int
    items: DealtItems

    def power(self, difference: float, alpha: float) -> float:
        """Return the chance to find the difference, in its direction.

        Its mean is normal and nearly independent of its standard error, over whose simulated values the chance is
        averaged. Where everybody judges all items, sums of squares have their exact distribution (two-way analysis of
        variance); else normal answers are drawn on dealt items.

        >>> test = CrossedPower(components=Components(annotator_sd=0.5, item_sd=0.8, residual_sd=1.25),
        ...     annotators=3, items=DealtItems(rated=3, dealt=3, pool=3))
        >>> round(test.power(2.0, 0.05), 2)
        0.18
        """
        if min(self.annotators, self.items.pool) < LEAST or self.annotators * self.items.items < LEAST:
            return 0.0
        sd, least = _least_found(self, alpha)
        return float(np.mean(ndtr((difference + least) / sd)))

    def detectable(self, power: float, alpha: float, largest: float) -> float | None:
        """Return the smallest difference, below ``largest``, that is found with a power; ``None`` where none is."""
        if self.power(largest, alpha) < power:
            return None
        low, high = 0.0, largest
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(middle, alpha) >= power else (middle, high)
        return high


@lru_cache(maxsize=256)
def crossed_detectable(assumptions: Assumptions, annotators: int, power: float) -> Detectable | None:
    """Return the smallest difference that the crossed test finds, corrected as its family is (Holm).

    ``None`` where there is no such test: of preferences, where nothing pairs, or where the pool is unknown. Null with
    a reason where no difference of the scale is found often enough.
    """
    test = crossed_design(assumptions, annotators)
    if test is None:
        return None
    largest = assumptions.largest
    found = test.detectable(power, assumptions.alpha, largest)
    reason = None if found is not None else "no difference of the scale is found so often"
    return Detectable(annotators=annotators, power=power, difference=found, reason=reason)


def crossed_design(assumptions: Assumptions, annotators: int) -> CrossedPower | None:
    """Return the crossed test with as many annotators as are expected to stay; ``None`` where there is none."""
    hands, made = assumptions.hands, assumptions
    if made.kind == "spa" or hands is None or made.unknown is not None or not made.meets:
        return None
    judges = round(annotators * (1 - made.absent))
    items = hands
    if made.kind in ("ranking", "choices"):  # everybody weighs the same: the harmonic mean of how often they judge
        often = made.meets / sum(share / times for times, share in made.judged if times)
        number = min(max(1, math.floor(often + 1e-9)), hands.pool)
        items = replace(hands, rated=number, dealt=max(hands.dealt, number), sessions=1)
    return CrossedPower(components=made.components, annotators=judges, items=items)


@lru_cache(maxsize=4)
def _least_found(test: CrossedPower, alpha: float) -> tuple[Floats, Floats]:
    """Return of simulated studies the SD of the mean, and the largest mean below 0 that is found at a level."""
    sd, error, df = _errors(test)
    return sd, np.asarray(stdtrit(df, alpha / 2) * error)


@lru_cache(maxsize=32)
def _errors(test: CrossedPower) -> tuple[Floats, Floats, Floats]:
    """Return of simulated studies the SD of the mean, its standard error as reckoned, and its degrees of freedom."""
    rng = np.random.default_rng([test.annotators, round(test.items.items), test.items.pool])
    items, made = test.items, test.components
    each, answers = max(1, round(items.rated)), test.annotators * items.items
    if (items.rated == items.pool and items.sessions == 1) or answers > MOST:
        return _squared_errors(test, rng)
    answer = math.hypot(made.residual_sd, made.answer_sd)
    runs = int(np.clip(ANSWERS // (test.annotators * each * items.sessions), FEWEST, RUNS // LAYOUTS))
    number = test.annotators * items.sessions
    parts = []
    for hands in deal_hands(items.pool, max(items.dealt, each), number, layouts=LAYOUTS, rng=rng):
        rated = np.concatenate(np.split(hands[:, :each], items.sessions), axis=1)
        values = answer * rng.standard_normal((runs, *rated.shape))
        values += made.annotator_sd * rng.standard_normal((runs, len(rated), 1))
        values += made.item_sd * rng.standard_normal((runs, items.pool))[:, rated]
        share = np.bincount(rated.ravel()) / rated.size
        variance = made.annotator_sd**2 / len(rated) + made.item_sd**2 * float(share @ share) + answer**2 / rated.size
        parts.append((np.full(runs, math.sqrt(variance)), *_spread(values, rated)))
    sd, error, df = (np.concatenate(column) for column in zip(*parts, strict=True))
    return sd, error, df


def _squared_errors(test: CrossedPower, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return what :func:`_errors` does from sums of squares: independent where everybody judges all, else nearly so."""
    made, n, pool = test.components, test.annotators, test.items.pool
    own, shared, answer = made.annotator_sd**2, made.item_sd**2, made.residual_sd**2 + made.answer_sd**2
    each = test.items.items
    raters, answers = n * each / pool, n * each
    apart = 1 - min(each / pool, 1.0)
    of_annotators = (own + answer / each + apart * shared / each) * rng.chisquare(n - 1, RUNS) / (n - 1)
    of_items = (shared + answer / raters + apart * own / raters) * rng.chisquare(pool - 1, RUNS) / (pool - 1)
    if apart:
        squares = (own + shared + answer) * rng.chisquare(answers - 1, RUNS)
    else:
        rest = answer * rng.chisquare((n - 1) * (pool - 1), RUNS)
        squares = rest + each * (n - 1) * of_annotators + raters * (pool - 1) * of_items
    by_annotator, by_item = of_annotators / n, of_items / pool
    sd = np.full(RUNS, math.sqrt(own / n + shared / pool + answer / answers))
    return sd, *_satterthwaite(by_annotator, by_item, squares / (answers * (answers - 1)), n, pool)


def _spread(values: Floats, rated: Ints) -> tuple[Floats, Floats]:
    """Return standard errors and df of drawn answers, shape (runs, n, k), about items ``rated``, shape (n, k)."""
    n, count = len(rated), rated.size
    rest = (values - values.mean(axis=(1, 2), keepdims=True)) / count
    order = np.argsort(rated, axis=None, kind="stable")
    items, first = np.unique(rated.ravel()[order], return_index=True)
    by_item = np.add.reduceat(rest.reshape(len(rest), count)[:, order], first, axis=1)
    by_annotator = rest.sum(axis=2)
    of_annotators, of_items, of_both = (
        np.sum(sums**2, axis=1) * clusters / max(clusters - 1, 1)
        for sums, clusters in ((by_annotator, n), (by_item, len(items)), (rest.reshape(len(rest), count), count))
    )
    return _satterthwaite(of_annotators, of_items, of_both, n, len(items))


def _satterthwaite(
    of_annotators: Floats, of_items: Floats, of_both: Floats, n: int, pool: int
) -> tuple[Floats, Floats]:
    variance = np.maximum(of_annotators + of_items - of_both, np.maximum(of_annotators, of_items))
    df = variance**2 / (of_annotators**2 / (n - 1) + of_items**2 / max(pool - 1, 1))
    return np.sqrt(variance), np.ones(len(df)) if min(n, pool) < FEW else np.maximum(df, 1.0)
