"""How often a third system is found to change choices, where none does and where one does; ``--out FILE`` writes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import polars as pl

from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.serial_context.thirds import ThirdSystem, third_systems
from tests.calibration.command import write_table

LEVEL = 0.05
Neighbours = Literal["drawn", "lists", "leaning"]
NAMED = {"lists": "four lists", "leaning": "one order"}
HEAD = """# Third systems

How often a test of [third systems](../../docs/judges.md) finds something at 5 % (`make calibrate`, {runs} studies a
row, seed {seed}): single tests, studies with any finding after Holm's correction, and the true effect after it. Five
systems with normal utilities (SD 0.6 log odds), people's own about them (SD 0.5), items' too (SD 0.7 a system).
Rankings: each of three systems, drawn anew. Choices: each of two, on another item; what stood before is known. A third
system adds *effect* log odds to one system of one pair. Four lists: forms are copies of four; one order: all items
stand in one order, each mostly with the same systems; tests that the items decide are left out.
Standard error of a single test's level below {error:.1f} points, of a family's {family:.1f}.

| answers | people | each | effect | single tests | any of a family | true effect found |
| :-- | ---: | ---: | ---: | ---: | ---: | ---: |
"""
SYSTEMS = ("a", "b", "c", "d", "e")
ORDER = Order(groups=("human",), criteria=("overall",), systems=SYSTEMS, pairs=())


def study(
    rng: np.random.Generator,
    *,
    people: int,
    each: int,
    effect: float,
    ranked: bool,
    items: int = 30,
    neighbours: Neighbours = "drawn",
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Simulate choices and the pages on which outputs were read; c, beside a and b or before them, helps a.

    Neighbours are drawn anew for each form; or forms are copies of four lists; or all items stand in one order, each
    of them mostly with the same systems.
    """
    k = len(SYSTEMS)
    shows = 3 if ranked else 2
    lists = [(rng.permutation(items)[:each], [rng.permutation(k)[:shows] for _ in range(each)]) for _ in range(4)]
    leans = 0.03 + rng.dirichlet(np.full(k, 0.8), items)
    quality, of_item = rng.normal(0, 0.6, k), rng.normal(0, 0.7, (items, k))
    choices, reading = [], []
    for who in range(people):
        own = quality + rng.normal(0, 0.5, k)
        before: set[int] = set()
        order = rng.permutation(items) if neighbours == "drawn" else np.arange(items)
        for page, item in enumerate((lists[who % 4][0] if neighbours == "lists" else order)[:each].tolist()):
            if neighbours == "lists":
                systems = lists[who % 4][1][page]
            elif neighbours == "leaning":
                systems = rng.choice(k, shows, replace=False, p=leans[item] / leans[item].sum())
            else:
                systems = rng.permutation(k)[:shows]
            shown = np.sort(systems).tolist()
            place = {"annotator_id": f"p{who}", "assignment_id": f"t{who}", "item_id": f"i{item}"}
            helped = effect * (2 in (shown if ranked else before)) * ({0, 1} <= {*shown})
            drawn = own + of_item[item] + rng.gumbel(size=k)
            drawn[0] += helped
            for number, x in enumerate(shown):
                reading.append({**place, "system": SYSTEMS[x], "page": f"p{page}"})
                for y in shown[number + 1 :]:
                    sides = {"system_x": SYSTEMS[x], "system_y": SYSTEMS[y], "value": float(drawn[x] > drawn[y])}
                    choices.append({**place, "group": "human", "criterion": "overall", **sides})
            before = {*shown}
    return pl.DataFrame(choices), pl.DataFrame(reading)


def found(rng: np.random.Generator, *, ranked: bool, **design: Any) -> list[ThirdSystem]:
    """Return the tests of one study, of rankings beside, of choices before."""
    choices, reading = study(rng, ranked=ranked, **design)
    return third_systems(choices, None if ranked else reading, [("human", "human")], ORDER, Plan())


def shares(runs: int, seed: int, **design: Any) -> tuple[float, float, float]:
    """Return how often a single test finds what is not there, any of a family anything, and the family the truth."""
    single, any_of, true = [], [], []
    for run in range(runs):
        rows = found(np.random.default_rng([seed, run]), **design)
        tests = [row for row in rows if row.p_value is not None]
        planted = [row for row in tests if (row.system_x, row.system_y, row.third) == ("a", "b", "c")]
        touched = {("a", "b"), ("a", "c")} if design["effect"] else set()  # without c is with another one
        others = [row for row in tests if (row.system_x, row.system_y) not in touched]
        single += [row.p_value <= LEVEL for row in others if row.p_value is not None]
        any_of.append(any(row.p_adjusted is not None and row.p_adjusted <= LEVEL for row in others))
        true.append(any(row.p_adjusted is not None and row.p_adjusted <= LEVEL for row in planted))
    return float(np.mean(single)) if single else math.nan, float(np.mean(any_of)), float(np.mean(true))


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document, row by row."""
    error, family = (100 * np.sqrt(LEVEL * (1 - LEVEL) / n) for n in (2 * runs, runs))
    text = HEAD.format(runs=f"{runs:,}", seed=seed, error=error, family=family)
    for ranked in (True, False):
        for people, each in ((20, 6), (40, 6), (40, 20), (100, 12)):
            for effect in (0.0, 1.0):
                single, any_of, true = shares(runs, seed, people=people, each=each, effect=effect, ranked=ranked)
                what = "rankings, beside" if ranked else "choices, before"
                tested = f"{100 * single:.1f} % | {100 * any_of:.1f} %" if not math.isnan(single) else "not tested |"
                power = f"{100 * true:.0f} %" if effect and not math.isnan(single) else ""
                text += f"| {what} | {people} | {each} | {effect:g} | {tested} "
                text += f"| {power} |\n"
                yield text
    for neighbours in ("lists", "leaning"):
        for people, each in ((40, 20), (100, 12)):
            single, any_of, _ = shares(
                runs, seed, people=people, each=each, effect=0.0, ranked=False, neighbours=neighbours
            )
            tested = f"{100 * single:.1f} % | {100 * any_of:.1f} %" if not math.isnan(single) else "not tested |"
            text += f"| choices, before, {NAMED[neighbours]} | {people} | {each} | 0 | {tested} |  |\n"
            yield text


if __name__ == "__main__":
    write_table("third_systems", __doc__, write, runs=300, each="a row")
