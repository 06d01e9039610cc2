"""Tests in which every annotator weighs the same, where one gave most of the answers.

``python -m tests.calibration.one_gave_most --out FILE`` writes the tables, as ``make calibrate`` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.answers.equal_weights import equal_weights
from analysis.rating_checks.crossed import crossed_tests
from analysis.rating_checks.many_tests import UnitMeans, sums_by, weighed_tests
from analysis.statistics.coding import Floats, Ints, fold
from tests.calibration.command import write_table

Sharing = Literal["own", "random", "first"]
LEVEL, PROMISED = 0.05, 0.06
MOST = 600_000  # values that are drawn at once
NAMED = {
    "4: 150, 2, 2, 2": (150, 2, 2, 2),
    "6: 200 and five 2s": (200, *[2] * 5),
    "9: 100 and eight 10s": (100, *[10] * 8),
    "6: 100 and five 20s": (100, *[20] * 5),
    "9: 20 each": (20,) * 9,
}
SPREADS = ((0.6, 0.3), (0.1, 1.0), (1.0, 0.1), (1.0, 1.0))  # SD of annotators' tastes, and of items
HEAD = """# Where one annotator gave most of the answers

How often two equal systems are said to differ at 5% (`make calibrate`, {runs:,} studies a cell, seed {seed},
Monte-Carlo SE {error:.1f}). Before the stroke `p_crossed`, after it the test where by default the unit is the item;
each annotator weighs the same in both. Of ratings, {kept} of {n} cells stay at or below 6% and three standard errors
({bound:.1f}%) with both; the largest shares are {crossed:.1f} and {item:.1f}%. Of choices (last column), {kept_choices}
of {n_choices} do, the largest shares are {crossed_choices:.1f} and {item_choices:.1f}%; with only a
dozen choices in all, most of them one annotator's, these tests reach 9 and 11%.

A value is annotator's taste + item + noise (SD 1); of choices, x is chosen with the logistic chance of taste + item.
Columns are SD of tastes and of items. Under the null of the crossed test both are drawn; the test by item speaks of
these annotators only, so that their tastes add up to 0. Everybody has items of his or her `own`, draws from shared ones
at `random`, or answers the `first`. Below the named rows, annotators' answers fall by a constant ratio.

With G / (G - 1) and G - 1 degrees of freedom for items however uneven their weights, the crossed test rejects up to 69%
(30 annotators, ratio 0.3, 5 items, first) and the test by item up to 55%: so, where few items carry the weight, both
use leverages and Kish's number of answers. Shares far below 5% are the price of that.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Answers by annotator, and which items they are about."""

    name: str
    counts: tuple[int, ...]
    items: int
    sharing: Sharing

    def rows(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return annotator and item of each answer."""
        counts = self.counts if self.sharing == "own" else [min(n, self.items) for n in self.counts]
        who = np.repeat(np.arange(len(counts)), counts)
        if self.sharing == "own":
            return who, np.arange(len(who))
        orders = [rng.permutation(self.items) if self.sharing == "random" else np.arange(self.items) for _ in counts]
        return who, np.concatenate([order[:n] for order, n in zip(orders, counts, strict=True)])


def named_layouts() -> Iterator[Layout]:
    """Yield the layouts that are named."""
    for name, counts in NAMED.items():
        for sharing in ("own", "random", "first"):
            yield Layout(name=name, counts=counts, items=max(counts), sharing=sharing)  # type: ignore[arg-type]


def grid_layouts() -> Iterator[Layout]:
    """Yield layouts of 3 to 30 annotators whose answers fall by a ratio, about 5 to 200 items."""
    for people in (3, 6, 12, 30):
        for ratio in (0.8, 0.5):
            for items, sharing in ((5, "first"), (20, "random"), (60, "first"), (200, "own")):
                total = min(items * people // 2, 120) if sharing != "own" else items
                shares = ratio ** np.arange(people)
                counts = np.maximum(1, np.round(total * shares / shares.sum())).astype(int)
                yield Layout(
                    name=f"{people}, ratio {ratio:g}",
                    counts=tuple(counts.tolist()),
                    items=items,
                    sharing=sharing,  # type: ignore[arg-type]
                )


def shares(
    layout: Layout, spread: tuple[float, float], *, runs: int, seed: int, choices: bool = False
) -> tuple[float, float]:
    """Return the shares of studies in which the crossed test, and that by item, find a difference."""
    rng = np.random.default_rng(seed)
    who, item = layout.rows(rng)
    found, done = np.zeros(2), 0
    while done < runs:
        size = min(runs - done, max(1, MOST // len(who)))
        tastes = spread[0] * rng.normal(size=(size, len(layout.counts)))
        items = spread[1] * rng.normal(size=(size, int(item.max()) + 1))
        noise = rng.logistic(size=(size, len(who))) if choices else rng.normal(size=(size, len(who)))
        study, whose, what = np.repeat(np.arange(size), len(who)), np.tile(who, size), np.tile(item, size)
        for place, own in enumerate((tastes, tastes - tastes.mean(axis=1, keepdims=True))):
            values = own[:, who] + items[:, item] + noise
            flat = (np.sign(values) / 2 if choices else values).ravel()
            if place:
                tests = weighed_tests(_by_item(study, whose, what, flat, size), size)
            else:
                tests = crossed_tests(study, flat, whose, what, size, against=0.0, confidence=0.95, scale=4.0)
            tested = np.array([reason is None for reason in tests.reasons])
            found[place] += np.sum(tests.p_value[tested] <= LEVEL)
        done += size
    return float(found[0] / runs), float(found[1] / runs)


def _by_item(study: Ints, who: Ints, item: Ints, values: Floats, n: int) -> UnitMeans:
    weight = equal_weights(study, who, n)
    folded = fold(study, item)
    share, square, total = (sums_by(folded.of, column, len(folded)) for column in (weight, weight**2, weight * values))
    part = study[folded.first]
    return UnitMeans(
        part=part,
        unit=item[folded.first],
        mean=total / share,
        share=share,
        square=square,
        uneven=np.ones(n, dtype=np.bool_),
    )


def write(runs: int, seed: int) -> Iterator[str]:
    """Run all cells and yield the document with each layout that is done."""
    columns = [
        "annotators",
        "answers",
        "items",
        *(f"{taste:g}, {item:g}" for taste, item in SPREADS),
        "choices 0.6, 0.3",
    ]
    lines = [_row(columns), _row(["---"] * len(columns))]
    seen: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    bound = PROMISED + 3 * (PROMISED * (1 - PROMISED) / runs) ** 0.5
    for layout in (*named_layouts(), *grid_layouts()):
        sys.stderr.write(f"{layout.name}, {layout.sharing}\n")
        found = [shares(layout, spread, runs=runs, seed=seed) for spread in SPREADS]
        chosen = shares(layout, SPREADS[0], runs=runs, seed=seed, choices=True)
        seen[False] += found
        seen[True].append(chosen)
        cells = [" / ".join(f"{100 * share:.1f}" for share in pair) for pair in (*found, chosen)]
        items = f"{layout.sharing}{'' if layout.sharing == 'own' else f' of {layout.items}'}"
        lines.append(_row([layout.name, str(sum(layout.counts)), items, *cells]))
        (crossed, item), (crossed_choices, item_choices) = (_most(own) for own in seen.values())
        kept = {kind: sum(max(pair) <= bound for pair in own) for kind, own in seen.items()}
        head = HEAD.format(
            runs=runs,
            seed=seed,
            error=100 * (LEVEL * (1 - LEVEL) / runs) ** 0.5,
            bound=100 * bound,
            kept=kept[False],
            n=len(seen[False]),
            crossed=crossed,
            item=item,
            kept_choices=kept[True],
            n_choices=len(seen[True]),
            crossed_choices=crossed_choices,
            item_choices=item_choices,
        )
        yield "\n".join([head, *lines]) + "\n"


def _most(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return 100 * max(one for one, _ in pairs), 100 * max(other for _, other in pairs)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write_table("one_gave_most", __doc__, write, runs=5000)
