"""How well a classifier tells from an explanation which criterion it is about, beside shuffled criteria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from analysis.figures.plain_text import percent
from analysis.statistics.coding import Floats
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Positive, Probability, Record, Share
from spa.rounding import number

FOLDS = 5
SHUFFLES = 999
PENALTY = 1.0  # of the ridge, for vectors of length one
METHOD = (
    "How well criteria separate is tested with ridge regression as a classifier, cross-validated, names of criteria "
    "hidden: all texts of an item lie in one fold, folds are not stratified by criterion; beside it stands what "
    "shuffled criteria reach."
)
AT_ONCE = 2**24  # numbers

Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Separation(Record):
    """How well the criteria of one group separate; numbers are ``None`` where this cannot be tested."""

    group: str
    n: Positive
    n_units: Positive
    """Items, or forms where several outputs are judged at once."""
    n_criteria: Positive
    accuracy: Share | None = None
    """Cross-validated, each unit wholly in one fold."""
    shuffled_mean: Share | None = None
    shuffled_high: Share | None = None
    """95% of shuffled criteria are told apart at most so well."""
    p_value: Probability | None = None
    reason: Reason | None = None
    explained: ClassVar[tuple[str, ...]] = ("accuracy", "shuffled_mean", "shuffled_high", "p_value")

    def words(self) -> str:
        """Return in words how well the criteria separate."""
        if self.accuracy is None or self.shuffled_mean is None:
            return f"separation cannot be tested ({self.reason})"
        return (
            f"{percent(self.accuracy)} of {self.n:,} texts on {self.n_criteria} criteria are recognised, "
            f"{percent(self.shuffled_mean)} with criteria shuffled (p = {number(self.p_value, 3)})"
        )


def separation(
    group: str, vectors: Floats, criteria: Sequence[str], units: Sequence[str], *, rng: np.random.Generator
) -> Separation:
    """Cross-validate a ridge classifier of criteria, then with criteria shuffled.

    Criteria are shuffled among the texts of one unit where a unit has several, else among all texts; units stay
    together in a fold, so that what is said of one item cannot be recognised.

    Parameters
    ----------
    group : str
        Who wrote the texts, to be told.
    vectors : array of shape (n_texts, n_dimensions)
        The embedding itself, never the map.
    criteria, units : sequence of str, of length n_texts
        What each text is about, and what was judged.
    rng : numpy.random.Generator
        Shuffles.

    Returns
    -------
    Separation
        ``p_value`` is the share of the shuffles, and of the criteria themselves, told apart at least so well.

    References
    ----------
    Ojala, M. & Garriga, G. C. (2010). Permutation tests for studying classifier performance. JMLR, 11, 1833-1863.
    """
    names, labels = np.unique(np.asarray(criteria), return_inverse=True)
    known, places = np.unique(np.asarray(units), return_inverse=True)
    facts: dict[str, Any] = {"group": group, "n": len(labels), "n_units": len(known), "n_criteria": len(names)}
    folds = min(FOLDS, len(known))
    if len(names) < 2 or folds < 2:
        return Separation(**facts, reason=why("few_criteria_or_items"))
    blocks = [np.flatnonzero(places == place) for place in range(len(known))]
    if all(len(np.unique(labels[block])) == 1 for block in blocks):
        blocks = [np.arange(len(labels))]
    shuffled = np.array([labels, *(_shuffled(labels, blocks, rng) for _ in range(SHUFFLES))])
    fold_of = rng.permuted(np.arange(len(known)) % folds)[places]
    accuracies = cross_validated(vectors, shuffled, fold_of, len(names))
    accuracy, others = float(accuracies[0]), accuracies[1:]
    return Separation(
        **facts,
        accuracy=accuracy,
        shuffled_mean=float(others.mean()),
        shuffled_high=float(np.quantile(others, 0.95)),
        p_value=float((1 + np.sum(others >= accuracy - 1e-12)) / (1 + SHUFFLES)),
    )


def _shuffled(labels: Codes, blocks: Sequence[Codes], rng: np.random.Generator) -> Codes:
    found = labels.copy()
    for block in blocks:
        found[block] = labels[rng.permutation(block)]
    return found


def cross_validated(vectors: Floats, labels: Codes, fold_of: Codes, n_classes: int) -> Floats:
    """Return the cross-validated accuracy of each row of labels, shape (n_rows,).

    The classifier is ridge regression on one indicator a class, with an intercept; the highest wins. The features
    of a fold are factored once for all rows.

    Parameters
    ----------
    vectors : array of shape (n_texts, n_dimensions)
        Features.
    labels : array of shape (n_rows, n_texts)
        Classes from 0.
    fold_of : array of shape (n_texts,)
        In which fold each text is tested.
    n_classes : int
        Number of classes.
    """
    hits: Floats = np.zeros(len(labels))
    step = max(1, AT_ONCE // (labels.shape[1] * n_classes))
    for fold in np.unique(fold_of):
        train, test = fold_of != fold, fold_of == fold
        mean = vectors[train].mean(axis=0)
        own = vectors[train] - mean
        ridge = own.T @ own + PENALTY * np.eye(own.shape[1])
        weights = (vectors[test] - mean) @ np.linalg.solve(ridge, own.T)  # (n_test, n_train)
        for start in range(0, len(labels), step):
            rows = slice(start, start + step)
            targets = np.eye(n_classes)[labels[rows][:, train]]  # (n_rows, n_train, n_classes)
            scores = weights @ targets + targets.mean(axis=1, keepdims=True) * (1 - weights.sum(axis=1)[:, None])
            hits[rows] += np.sum(scores.argmax(axis=-1) == labels[rows][:, test], axis=1)
    hits /= labels.shape[1]
    return hits
