"""Rows of results.json: whether a choice between two systems follows from a third one, read beside them or before."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.groups import people_of
from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.statistics.coding import Floats, Ints, code, fold
from analysis.statistics.corrections import adjusted_in_families
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share
from analysis.statistics.t_tests import TTest, no_test, t_of_estimate

FEWEST = 10  # annotators with the third system, and without it, from whom on the test was seen to hold its level
MOST_ROWS = 200  # of a group, criterion and context, those with most annotators on both sides
FEWEST_ITEMS = 5  # items with it, and without it, from which on their own effects were seen to be told from its
AT_RANDOM, BY_ITEM = (
    2.0,
    3.0,
)  # what the context leans by items, up to which it is as if drawn; beyond which it is theirs
SHARED = 5  # items that several annotators judged, on none of which the context varies: it is the item's
FORM = ("annotator_id", "assignment_id")
SIDES = ("system_x", "system_y")
Context = Literal["beside", "before"]
CONTEXTS: Final[tuple[Context, ...]] = ("beside", "before")
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ThirdSystem(Record):
    """Whether people's choices between two systems follow from a third one that they read as well; exploratory.

    There are rows where some forms show the third system there and others do not: rankings of subsets, choices dealt.
    """

    explained: ClassVar[tuple[str, ...]] = ("p_value",)
    group: str
    criterion: str
    system_x: str
    system_y: str
    third: str
    context: Context
    """Beside: judged on the same item; before: judged on the item before it on the form."""
    n: Count
    """Choices between x and y, in rankings those that ranks imply."""
    n_with: Count
    """Of them, with the third system there."""
    annotators_with: Count
    annotators_without: Count
    share_with: Share
    """Share of x in these choices (ties count half)."""
    share_without: Share
    estimate: float
    """Share_with less share_without."""
    ci_low: float | None = None
    ci_high: float | None = None
    t: float | None = None
    df: float | None = None
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    """Adjusted over all such tests of the group, a family of their own."""
    n_tests: Count | None = None
    reason: Reason | None = None


def third_systems(
    choices: pl.DataFrame, reading: pl.DataFrame | None, groups: Sequence[tuple[str, str]], order: Order, plan: Plan
) -> list[ThirdSystem]:
    """Ask of people's choices whether they follow from a third system.

    Parameters
    ----------
    choices : DataFrame
        Checked choices after exclusions, those that rankings imply among them.
    reading : DataFrame or None
        On which page each output was read, for what stands before.
    groups : sequence of (group, annotator_kind)
        LLMs are left out.
    order : Order
        Systems and criteria.
    plan : Plan
        Correction, its rate, confidence.
    """
    people = set(people_of(groups))
    given = choices.filter(pl.col("group").cast(pl.String).is_in(people))
    if not given["value"].count() or len(order.systems) < 3:
        return []
    columns = [name for name in (*FORM, "item_id", "group", "criterion", *SIDES) if name in given.columns]
    given = given.select(*(pl.col(name).cast(pl.String) for name in columns), pl.col("value").cast(pl.Float64))
    rows: list[ThirdSystem] = []
    for group in (name for name, _ in groups if name in people):
        for criterion in order.criteria:
            own = given.filter((pl.col("group") == group) & (pl.col("criterion") == criterion))
            if own.height:
                read = _Read.of(own, reading, order.systems)
                for context in CONTEXTS:
                    found = _rows(read, getattr(read, context), order.systems, plan.confidence)
                    about = {"group": group, "criterion": criterion, "context": context}
                    rows += [ThirdSystem(**about, **one) for one in found]  # type: ignore[arg-type]
    return adjusted_in_families(rows, lambda row: row.group, correction=plan.correction, rate=plan.fwer)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Read:
    """Choices of one group and criterion, and which systems stood beside each and before it.

    ``x``, ``y`` number the systems, x before y; ``value`` speaks for x, NaN where it is missing. ``beside`` and
    ``before`` say which systems stood there, shape (choices, systems), and of which choices that is known.
    """

    annotator: Ints
    item: Ints
    x: Ints
    y: Ints
    value: Floats
    beside: tuple[Flags, Flags]
    before: tuple[Flags, Flags]

    @classmethod
    def of(cls, own: pl.DataFrame, reading: pl.DataFrame | None, systems: Sequence[str]) -> _Read:
        number = {system: place for place, system in enumerate(systems)}
        first, second = (np.array([number[name] for name in own[side]]) for side in SIDES)
        value = own["value"].fill_null(np.nan).to_numpy()
        annotator, item = code(own["annotator_id"]).of, code(own["item_id"]).of
        form = annotator
        if "assignment_id" in own.columns:
            form = fold(annotator, code(own["assignment_id"].fill_null("")).of).of
        page = fold(form, item).of  # what is judged of one item on one form
        seen = np.zeros((int(page.max()) + 1, len(systems)), dtype=np.bool_)
        seen[page, first], seen[page, second] = True, True
        previous = _previous(own, reading, form, page)[page]
        known = previous >= 0
        return cls(
            annotator=annotator,
            item=item,
            x=np.minimum(first, second),
            y=np.maximum(first, second),
            value=np.where(first < second, value, 1 - value),
            beside=(seen[page], np.ones(len(page), dtype=np.bool_)),
            before=(seen[previous] & known[:, None], known),
        )


def _previous(own: pl.DataFrame, reading: pl.DataFrame | None, form: Ints, page: Ints) -> Ints:
    """Return which page stands before each page on its form; -1: none, or nobody knows."""
    previous = np.full(int(page.max()) + 1, -1)
    if reading is None or not {"page", "item_id", "annotator_id"} <= {*reading.columns}:
        return previous
    on = [name for name in (*FORM, "item_id") if name in reading.columns and name in own.columns]
    numbered = reading.select(
        *(pl.col(name).cast(pl.String) for name in on),
        pl.col("page").cast(pl.String).str.extract(r"(\d+)$").cast(pl.Int64).alias("page"),
    )
    numbered = numbered.drop_nulls(["item_id", "page"]).group_by(on).agg(pl.col("page").min())
    place = own.join(numbered, on=on, how="left", nulls_equal=True, maintain_order="left")["page"]
    where = place.fill_null(-1).to_numpy()
    first = np.unique(page, return_index=True)[1]
    first = first[where[first] >= 0]
    order = first[np.lexsort((where[first], form[first]))]
    follows = form[order[1:]] == form[order[:-1]]
    previous[page[order[1:]][follows]] = page[order[:-1]][follows]
    return previous


def _rows(
    read: _Read, context: tuple[Flags, Flags], systems: Sequence[str], confidence: float
) -> Iterator[dict[str, object]]:
    """Yield what is found of each pair and third system whose presence varies, those with most annotators first."""
    shown, known = context
    found: list[tuple[int, int, dict[str, object]]] = []
    pairs = np.unique(np.column_stack((read.x, read.y)), axis=0).tolist()
    for x, y in pairs:
        own = known & (read.x == x) & (read.y == y) & ~np.isnan(read.value)
        value, annotator, item = read.value[own], read.annotator[own], read.item[own]
        for third in range(len(systems)):
            with_it = shown[own, third]
            if third in (x, y) or not with_it.any() or with_it.all():
                continue
            effect = context_effect(value, with_it, annotator, item, confidence=confidence)
            sides = [len(np.unique(annotator[side])) for side in (with_it, ~with_it)]
            row: dict[str, object] = {
                "system_x": systems[x],
                "system_y": systems[y],
                "third": systems[third],
                "n": effect.n,
                "n_with": int(with_it.sum()),
                "annotators_with": sides[0],
                "annotators_without": sides[1],
                "share_with": float(value[with_it].mean()),
                "share_without": float(value[~with_it].mean()),
                "estimate": effect.mean,
                **{name: getattr(effect, name) for name in ("ci_low", "ci_high", "t", "df", "p_value", "reason")},
            }
            found.append((-min(sides), len(found), row))
    kept = sorted(sorted(found)[:MOST_ROWS], key=lambda one: one[1])
    return (row for _, _, row in kept)


def context_effect(value: Floats, with_it: Flags, annotator: Ints, item: Ints, *, confidence: float) -> TTest:
    """Compare choices with a third system and without it, annotators and items clustered.

    The difference of two means, which is the slope of least squares on the context; its variance is clustered by
    annotator (CR1) and, where that is more, by item as well. Forms in one order, or in a few lists, put one system
    before the same items: where the context mostly follows from the item there is no test. t has one less than the
    annotators of the smaller side as degrees of freedom, or than its items where the context leans by items.

    Parameters
    ----------
    value : array of float, shape (n,)
        Share of x: 0, 0.5 or 1.
    with_it : array of bool, shape (n,)
        Whether the third system was there; both occur.
    annotator, item : array of int, shape (n,)
        Whose choice each is, and about which item.
    confidence : float

    References
    ----------
    Cameron, A. C. and Miller, D. L. (2015). A practitioner's guide to cluster-robust inference. Journal of Human
    Resources 50(2), 317-372. Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Robust inference with multiway
    clustering. Journal of Business and Economic Statistics 29(2), 238-249.

    >>> value, with_it = np.array([1.0, 1, 0, 0] * 10), np.array([True, True, False, False] * 10)
    >>> float(context_effect(value, with_it, np.arange(40) // 2, np.arange(40), confidence=0.95).mean)
    1.0
    """
    n, means = len(value), [float(value[side].mean()) for side in (with_it, ~with_it)]
    difference = means[0] - means[1]
    fewest = min(len(np.unique(annotator[side])) for side in (with_it, ~with_it))
    if fewest < FEWEST:
        return no_test(n, difference, None, why("few_annotators_for_cluster", n=fewest, needed=FEWEST))
    weight = np.where(with_it, 1 / with_it.sum(), -1 / (~with_it).sum())
    leaning = _leaning(weight, item)
    if leaning > BY_ITEM or _is_of_item(with_it, item):
        return no_test(n, difference, None, why("context_by_item"))
    df = fewest - 1
    if leaning > AT_RANDOM:
        items = min(len(np.unique(item[side])) for side in (with_it, ~with_it))
        if items < FEWEST_ITEMS:
            return no_test(n, difference, None, why("few_items_of_context", n=items, needed=FEWEST_ITEMS))
        df = min(df, items - 1)
    each = weight * (value - np.where(with_it, *means))
    by_annotator, by_item, by_both = (_clustered(each, of) for of in (annotator, item, fold(annotator, item).of))
    variance = max(by_annotator, by_annotator + by_item - by_both)
    if not variance > 1e-18:
        return no_test(n, difference, None, why("no_variation"))
    return t_of_estimate(n, difference, None, 0.0, math.sqrt(variance), df, confidence)


def _clustered(each: Floats, cluster: Ints) -> float:
    """Return the variance (CR1) of a sum of residuals by their weights; 0 of one cluster."""
    scores = np.bincount(np.unique(cluster, return_inverse=True)[1], weights=each)
    n, clusters = len(each), len(scores)
    return float(scores @ scores) * clusters / (clusters - 1) * (n - 1) / (n - 2) if clusters > 1 else 0.0


def _leaning(weight: Floats, item: Ints) -> float:
    """Return by how much a shift of items moves the difference: 1 where the context is drawn anew for each choice.

    The sum of squares of the items' weights, by that of the choices' weights. Where the context is that of the item it
    is how many choices an item has; where each item has both alike it is 0.
    """
    of_item = np.bincount(np.unique(item, return_inverse=True)[1], weights=weight)
    return float(of_item @ of_item / (weight @ weight))


def _is_of_item(with_it: Flags, item: Ints) -> bool:
    """Say whether the context is that of the item, so that nothing tells their effects apart."""
    of = np.unique(item, return_inverse=True)[1]
    n, there = np.bincount(of), np.bincount(of, weights=with_it)
    several = n > 1
    return bool(several.sum() >= SHARED and ((there == 0) | (there == n))[several].all())
