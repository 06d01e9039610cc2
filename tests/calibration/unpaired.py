"""Tests of ratings where nothing pairs: no two systems were rated by one annotator on one item.

``python -m tests.calibration.unpaired --out FILE`` writes the tables, as ``make calibrate`` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from analysis import Plan
from analysis.comparisons.unpaired import FEW, TOO_UNEVEN
from analysis.statistics.coding import Floats, Ints
from tests.calibration.command import write_table
from tests.calibration.two_systems import TwoSystems, empty_cells

PLANS = {"clustered": Plan(), "Welch by item": Plan(unit="item"), "Welch by annotator": Plan(unit="annotator")}
LEVEL, PROMISED = 0.05, 0.07
HEAD = """# Ratings that do not pair

How often two equal systems are said to differ at 5 % where nobody rated both on one item (`make calibrate`, {runs}
studies a design, seed {seed}, Monte-Carlo SE {error:.1f}). The test of a report, `clustered t`, stays at or below 7 %
in {kept} of {n} designs whose row is not marked *; of * the report says that no test holds its level. Largest shares
of the unmarked: clustered {clustered:.1f} %, Welch's t over items {item:.1f} %, over annotators {annotator:.1f} %.

Designs are annotators x items of each system (3/30: of x and of y); systems have the `same` or their `own`. Everybody
rates ten items (`one each`: one; `uneven`: twenty down to one). Scores are 3 + annotator + annotator's liking of the
system + item + item's favour of the system + noise (SD 0.8), rounded to 1 to 5; after the stroke 4.4 instead of 3,
which is highly skewed and not part of Welch's columns. Columns say who differs: annotators (SD 0.6, liking 0.4), items
(the same), both or nobody. Shares far below 5 % are the price of few annotators or items: real differences are found
rarely there.
"""
SPREADS = {
    "nobody": (0.0, 0.0, 0.0, 0.0),
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
    def sharing(self) -> tuple[str, str]:
        """Say whether the systems have the same annotators, and the same items."""
        return "same" if self.same_annotators else "own", "same" if self.same_items else "own"

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
    """Yield the layouts: 2 to 50 annotators and items, shared or not."""
    for same_annotators, same_items in ((False, False), (True, False), (False, True), (True, True)):
        for n in ((3, 30), (5, 10), (10, 10), (30, 5), (30, 30)):
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


def has_level_problem(layout: Layout) -> bool:
    """Tell whether a report warns that no test holds its level."""
    return any(min(pair) < FEW and max(pair) >= TOO_UNEVEN * min(pair) for pair in (layout.annotators, layout.items))


def shares(layout: Layout, spread: tuple[float, ...], *, skewed: bool, runs: int, seed: int) -> dict[str, float]:
    """Return the share of studies of two equal systems in which each test finds a difference.

    Welch's tests are made of plain scores only.
    """
    rng = np.random.default_rng(seed)
    system, annotator, item = layout.rows()
    order = np.lexsort((system, item, annotator))
    system, annotator, item = system[order], annotator[order], item[order]
    cells = empty_cells(system, annotator, item)
    plans = dict(list(PLANS.items())[:1]) if skewed else PLANS
    testing = {name: TwoSystems(plan) for name, plan in plans.items()}
    found = dict.fromkeys(plans, 0)
    for _ in range(runs):
        own = replace(cells, value=_scores(rng, system, annotator, item, spread, 4.4 if skewed else 3.0))
        for name in plans:
            test = testing[name].test(own)
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


def write(runs: int, seed: int) -> Iterator[str]:
    """Run all designs and yield the document with each layout that is done."""
    columns = ["annotators x items", "annotators", "items", *SPREADS, *(f"{name}, most" for name in list(PLANS)[1:])]
    lines = [_row(columns), _row(["---"] * len(columns))]
    seen: dict[str, list[float]] = {name: [] for name in PLANS}
    for layout in layouts():
        sys.stderr.write(f"{layout.name}, {layout.sharing}\n")
        found = [
            [shares(layout, spread, skewed=skewed, runs=runs, seed=seed) for skewed in (False, True)]
            for spread in SPREADS.values()
        ]
        marked = has_level_problem(layout)
        every = [one for pair in found for one in pair]
        for name in PLANS:
            seen[name] += [] if marked else [one[name] for one in every if name in one]
        cells = [" / ".join(f"{100 * one['clustered']:.1f}" for one in pair) for pair in found]
        most = [f"{100 * max(one[name] for one, _ in found):.1f}" for name in list(PLANS)[1:]]
        lines.append(_row([layout.name + (" *" if marked else ""), *layout.sharing, *cells, *most]))
        clustered, item, annotator = (100 * max(values, default=0.0) for values in seen.values())
        head = HEAD.format(
            runs=runs,
            seed=seed,
            error=100 * (LEVEL * (1 - LEVEL) / runs) ** 0.5,
            kept=sum(share <= PROMISED for share in seen["clustered"]),
            n=len(seen["clustered"]),
            clustered=clustered,
            item=item,
            annotator=annotator,
        )
        yield "\n".join([head, *lines]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write_table("unpaired", __doc__, write, runs=1000, each="a design")
