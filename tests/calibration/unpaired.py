"""Tests of ratings where nothing pairs: no two systems were rated by one annotator on one item.

``python -m tests.calibration.unpaired --out FILE`` writes the tables, as ``make calibrate`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from analysis import Plan
from analysis.comparisons.ratings import RatingCells, compare_ratings, rating_differences
from analysis.statistics.coding import Floats, Ints

PLANS = {"clustered": Plan(), "Welch by item": Plan(unit="item"), "Welch by annotator": Plan(unit="annotator")}
LEVEL = 0.05
HEAD = """# Ratings that do not pair

How often two equal systems are said to differ at 5 % where nobody rated both on one item (`make calibrate`, {runs}
studies a design, seed {seed}; Monte-Carlo SE {se:.1f}). Designs are annotators x items of each system; `of x, of y`
where these differ. Everybody rates ten of the items (`one each`: one item; `uneven`: some many, most few).

Scores are 3 (skewed: 4.4) + annotator + annotator's liking of the system + item + item's favour of the system + noise
(SD 0.8), rounded to 1 to 5. Standard deviations, in this order: {spreads}.
Largest share of the clustered test: {largest:.1f} %, of Welch's test by item {by_item:.1f} %, by annotator
{by_annotator:.1f} %.
"""
SPREADS = {
    "nothing": (0.0, 0.0, 0.0, 0.0),
    "annotators": (0.6, 0.4, 0.0, 0.0),
    "items": (0.0, 0.0, 0.6, 0.4),
    "both": (0.6, 0.4, 0.6, 0.4),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Who rates what: annotators and items of x and of y, and whether both systems have the same."""

    annotators: tuple[int, int]
    items: tuple[int, int]
    same_annotators: bool = False
    same_items: bool = False
    each: int = 10
    uneven: bool = False

    @property
    def name(self) -> str:
        """Word the layout."""
        counts = " x ".join("/".join(map(str, sorted({*pair}))) for pair in (self.annotators, self.items))
        return counts + (", one each" if self.each == 1 else ", uneven" if self.uneven else "")

    @property
    def sharing(self) -> str:
        """Word what the systems share."""
        return f"{'same' if self.same_annotators else 'own'} | {'same' if self.same_items else 'own'}"

    def rows(self) -> tuple[Ints, Ints, Ints]:
        """Return system, annotator and item of each rating."""
        found = []
        for system in (0, 1):
            for who in range(self.annotators[system]):
                items = range(self.items[system])
                if self.same_annotators and self.same_items:
                    items = range((who + system) % 2, self.items[system], 2)  # each item once
                n = len(items)
                share = min(n, max(1, 20 // (1 + who)) if self.uneven else self.each)
                for place in range(share):
                    item = items[(who * share + place) % n]
                    found.append(
                        (
                            system,
                            2 * who + (0 if self.same_annotators else system),
                            2 * item + (0 if self.same_items else system),
                        )
                    )
        system, annotator, item = np.array(found, dtype=np.int64).T
        return system, annotator, item


def layouts() -> Iterator[Layout]:
    """Yield the layouts: 3 to 50 annotators and items, shared or not."""
    for same_annotators, same_items in ((False, False), (True, False), (False, True), (True, True)):
        for n in ((3, 3), (3, 30), (5, 10), (10, 10), (30, 5), (30, 30), (50, 10)):
            yield Layout(
                annotators=(n[0],) * 2, items=(n[1],) * 2, same_annotators=same_annotators, same_items=same_items
            )
    for annotators, items in (((3, 30), (30, 30)), ((10, 10), (5, 50)), ((2, 2), (10, 10)), ((2, 20), (20, 20))):
        yield Layout(annotators=annotators, items=items)
    for same in (False, True):
        yield Layout(annotators=(20, 20), items=(40, 40), same_annotators=same, uneven=True)
    for n in (3, 5, 10):
        yield Layout(annotators=(n, 30), items=(n, 30), each=1)
        yield Layout(annotators=(n, n), items=(n, n), each=1)


def shares(layout: Layout, spread: tuple[float, ...], *, skewed: bool, runs: int, seed: int) -> dict[str, float]:
    """Return the share of studies of two equal systems in which each test finds a difference."""
    rng = np.random.default_rng(seed)
    system, annotator, item = layout.rows()
    order = np.lexsort((system, item, annotator))
    system, annotator, item = system[order], annotator[order], item[order]
    block = annotator * (int(item.max()) + 1) + item
    cells = RatingCells(
        group="human",
        criterion="overall",
        llm=False,
        systems=("x", "y"),
        system=system,
        annotator=annotator,
        assignment=annotator,
        item=item,
        block=block,
        value=np.zeros(len(system)),
        scale=5.0,
    )
    found = dict.fromkeys(PLANS, 0)
    for _ in range(runs):
        own = replace(cells, value=_scores(rng, system, annotator, item, spread, 4.4 if skewed else 3.0))
        for name, plan in PLANS.items():
            (test,) = compare_ratings(own, rating_differences(own), plan)
            found[name] += test.p_value is not None and test.p_value <= LEVEL
    return {name: count / runs for name, count in found.items()}


def _scores(
    rng: np.random.Generator, system: Ints, annotator: Ints, item: Ints, spread: tuple[float, ...], middle: float
) -> Floats:
    value = np.full(len(system), middle)
    for ids, (common, own) in ((annotator, spread[:2]), (item, spread[2:])):
        effects = rng.normal(0, 1, (3, int(ids.max()) + 1))
        value += common * effects[2][ids] + own * effects[system, ids]
    return np.clip(np.round(value + rng.normal(0, 0.8, len(system))), 1, 5)
