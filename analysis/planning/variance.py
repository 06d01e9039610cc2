"""How far annotators' contributions to one test spread, by what makes them spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.statistics.coding import Floats, Ints

TOO_FEW = "expected at least two annotators and two items"
CONFOUNDED = "annotators and items cannot be distinguished: each annotator would need to share items with others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Standard deviations of the parts of an annotator's answer about one pair.

    SPA: in shares of 1; Likert: the difference of two systems' scores, in points.

    Attributes
    ----------
    annotator_sd : float
        Between annotators; reading more outputs does not reduce it.
    item_sd : float
        Between items, the same for all annotators who see an item.
    residual_sd : float
        Between items, each annotator's own.
    answer_sd : float
        Between answers to the same question; asking both directions halves its variance.
    """

    annotator_sd: float
    item_sd: float = 0.0
    residual_sd: float = 0.0
    answer_sd: float = 0.0

    def __post_init__(self) -> None:
        """Check that every part is a number and that something varies."""
        for name in ("annotator_sd", "item_sd", "residual_sd", "answer_sd"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} must be a number of at least 0, got {getattr(self, name)!r}")
        if not (self.annotator_sd or self.item_sd or self.residual_sd or self.answer_sd):
            raise ValueError("at least one standard deviation must be above 0")

    def contribution_sd(self, n_items: int, directions: int = 1, *, item_share: float | None = None) -> float:
        """Return the SD of what one annotator contributes to a test.

        sqrt(annotator^2 + (item^2 + residual^2) / n_items + answer^2 / directions).

        Parameters
        ----------
        n_items : int
            Items that the annotator read (SPA: the exposure) or rated.
        directions : int
            Answers to the same question: 1, or 2 where both P(x > y) and P(y > x) are asked; times sessions.
        item_share : float, optional
            What item^2 is multiplied by instead of 1 / n_items, where the study's items are few
            (:attr:`analysis.planning.dealt.DealtItems.share`).

        >>> round(Components(annotator_sd=0.5, item_sd=0.9, residual_sd=1.2).contribution_sd(1), 2)
        1.58
        """
        if n_items < 1 or directions < 1:
            raise ValueError(f"expected n_items >= 1 and directions >= 1, got {n_items} and {directions}")
        by_item = self.item_sd**2 * (1 / n_items if item_share is None else item_share) + self.residual_sd**2 / n_items
        return math.sqrt(self.annotator_sd**2 + by_item + self.answer_sd**2 / directions)

    def standard_error(self, annotators: int, n_items: int, pool: int, directions: int = 1) -> float:
        """Return the standard error of the mean when the items, too, stand for others like them.

        The items' common part is averaged over the distinct items seen, at most ``pool`` of them,
        which every annotator reads equally often: more annotators do not reduce item_sd^2 / pool.
        """
        if annotators < 1 or pool < n_items:
            raise ValueError(
                f"expected an annotator and a pool of {n_items} items or more, got {annotators} and {pool}"
            )
        own = self.annotator_sd**2 + self.residual_sd**2 / n_items + self.answer_sd**2 / directions
        return math.sqrt(own / annotators + self.item_sd**2 / min(pool, annotators * n_items))


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedComponents:
    """Variance components of a pilot's answers; null with a reason where they cannot be estimated.

    Attributes
    ----------
    annotator_variance, item_variance, residual_variance : float or None
        Unbiased, so the first two may come out below 0; an SD then is taken as 0.
    """

    n: int
    n_annotators: int
    n_items: int
    annotator_variance: float | None
    item_variance: float | None
    residual_variance: float | None
    reason: str | None = None

    @property
    def components(self) -> Components | None:
        """Return the SDs to plan with; ``None`` where nothing was estimated or nothing varies."""
        found = (self.annotator_variance, self.item_variance, self.residual_variance)
        parts = [math.sqrt(max(value, 0.0)) for value in found if value is not None]
        if len(parts) < 3 or not any(parts):
            return None
        return Components(annotator_sd=parts[0], item_sd=parts[1], residual_sd=parts[2])


def estimate_components(values: Floats, annotators: Ints, items: Ints) -> EstimatedComponents:
    """Split the variance of answers into annotators, items and the rest, by Henderson's method 1.

    Sums of squares between annotators, between items and in total are set equal to what they
    are expected to be under value = mean + annotator + item + residual, all random. On a
    complete table these are the estimates of the two-way analysis of variance. Cost: O(n).

    Parameters
    ----------
    values : array of float, shape (n,)
        Likert: score of x minus score of y of one annotator and item. One value a cell.
    annotators, items : array of int, shape (n,)
        Codes from 0 on of who answered about what.

    References
    ----------
    Henderson, C. R. (1953). Estimation of variance and covariance components. Biometrics, 9(2), 226-252.
    """
    n = len(values)
    n_annotators, n_items = len(np.unique(annotators)), len(np.unique(items))
    unknown = EstimatedComponents(
        n=n,
        n_annotators=n_annotators,
        n_items=n_items,
        annotator_variance=None,
        item_variance=None,
        residual_variance=None,
        reason=TOO_FEW,
    )
    if n_annotators < 2 or n_items < 2:
        return unknown
    _, by_annotator = np.unique(annotators, return_inverse=True)
    _, by_item = np.unique(items, return_inverse=True)
    centred = np.asarray(values, dtype=np.float64) - np.mean(values)
    per_annotator, per_item = np.bincount(by_annotator).astype(float), np.bincount(by_item).astype(float)
    squares = np.array(
        [
            np.sum(np.bincount(by_annotator, weights=centred) ** 2 / per_annotator),
            np.sum(np.bincount(by_item, weights=centred) ** 2 / per_item),
            np.sum(centred**2),
        ]
    )
    cells, counted = np.unique(np.stack([by_annotator, by_item]), axis=1, return_counts=True)
    shared = counted.astype(float) ** 2
    items_in_annotators = np.sum(shared / per_annotator[cells[0]])
    annotators_in_items = np.sum(shared / per_item[cells[1]])
    a, b = np.sum(per_annotator**2) / n, np.sum(per_item**2) / n
    expected = np.array(  # of squares, in (annotator, item, residual) variance; the mean's share is taken off
        [
            [n - a, items_in_annotators - b, n_annotators - 1],
            [annotators_in_items - a, n - b, n_items - 1],
            [n - a, n - b, n - 1],
        ]
    )
    if np.linalg.matrix_rank(expected) < 3:
        return replace(unknown, reason=CONFOUNDED)
    annotator, item, residual = np.linalg.solve(expected, squares).tolist()
    return EstimatedComponents(
        n=n,
        n_annotators=n_annotators,
        n_items=n_items,
        annotator_variance=annotator,
        item_variance=item,
        residual_variance=residual,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureFit:
    """What of the variance of SPA answers stays at any exposure, and what one output adds."""

    annotator_variance: float | None
    item_variance: float | None
    reason: str | None = None


def fit_exposures(exposures: Sequence[int], sds: Sequence[float], counts: Sequence[int]) -> ExposureFit:
    """Split SPA's variance by exposure: variance = annotator + item / exposure, by weighted least squares.

    Of one pair at one exposure an annotator gives one number, so only an exposure study tells
    the parts apart. Here "item" is what items share and what is each annotator's own together.

    Parameters
    ----------
    exposures, sds, counts : sequence of the same length
        Outputs read, SD between annotators' contributions, and annotators, of each exposure.
        Weights are the degrees of freedom.
    """
    used = [(m, sd, n) for m, sd, n in zip(exposures, sds, counts, strict=True) if n >= 2]
    if len({m for m, _, _ in used}) < 2:
        return ExposureFit(
            annotator_variance=None, item_variance=None, reason="expected two exposures with two annotators each"
        )
    weight = np.sqrt([n - 1.0 for _, _, n in used])
    design = np.array([[1.0, 1.0 / m] for m, _, _ in used])
    variance = np.array([sd**2 for _, sd, _ in used])
    annotator, item = np.linalg.lstsq(design * weight[:, None], variance * weight, rcond=None)[0].tolist()
    return ExposureFit(annotator_variance=annotator, item_variance=item)
