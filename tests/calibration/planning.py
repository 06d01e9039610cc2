"""Whether planned studies have the power they were planned for; ``make calibrate`` writes ``planning.md``.

Each design is a study file with outputs. Who judges a pair how often, and on which items, comes from assignments that
``spa build`` would draw; answers are drawn by code of their own, and tested as the report tests them.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from analysis import Plan
from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.planning.assumptions import Assumptions
from analysis.planning.plan import annotators_for, power_at
from analysis.planning.study_design import study_design
from analysis.planning.variance import Components
from analysis.statistics.coding import Floats
from spa.records.outputs import Outputs
from spa.records.study import Study
from tests.calibration.planning_answers import Booleans, draw_answers, draw_sides
from tests.calibration.planning_designs import PlannedDesign, planned_designs
from tests.calibration.planning_studies import Layout, draw_layout
from tests.calibration.planning_tests import found, rated, reported, tested_by_item
from tests.calibration.two_systems import TwoSystems

TOLERATED = 0.01  # of power, beside three standard errors
LAYOUTS = 20, 50  # draws of assignments of a design, fewer of many annotators; one of SPA, where all are alike
COMPARED = 20  # studies of a design whose tests are compared with the report's functions
ANSWERS = 4_000_000  # in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLine:
    """A design, the power that is planned, and that of simulated studies; ``None`` where the plan does not know."""

    design: PlannedDesign
    assumptions: Assumptions
    annotators: int | None
    planned: float | None
    simulated: float
    runs: int
    by_item: float
    seconds: tuple[float, float]

    @property
    def standard_error(self) -> float:
        """Of the simulated power, at least that of one study found or missed."""
        share = min(max(self.simulated, 1 / self.runs), 1 - 1 / self.runs)
        return math.sqrt(share * (1 - share) / self.runs)

    @property
    def kept(self) -> bool:
        """Whether planned and simulated power agree, or the plan says that it does not know."""
        if self.planned is None:
            return True
        return abs(self.planned - self.simulated) <= TOLERATED + 3 * self.standard_error


def assumptions_of(design: PlannedDesign, study: Study, outputs: Outputs) -> Assumptions:
    """Return what ``spa plan`` takes for granted with the design's truth as options."""
    truth = design.truth
    made = study_design(study, truth.kind, outputs)
    changes: dict[str, Any] = {"exclusion_rate": design.exclusion_rate, "source": "made"}
    if truth.kind in ("choices", "ranking"):
        chance = math.sqrt((1 - truth.ties) / 4 - truth.sd**2 - truth.item_sd**2)
        changes["ties"] = truth.ties
    else:
        chance = truth.residual_sd
    changes["components"] = Components(annotator_sd=truth.sd, item_sd=truth.item_sd, residual_sd=chance)
    if truth.kind == "spans":
        changes["errors"] = truth.errors
    return replace(made, **changes)


def check_plan(design: PlannedDesign, *, runs: int, often: int, seed: int) -> PlannedLine:
    """Plan a design as ``spa plan`` does, and simulate it."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        study, outputs = design.study.write(Path(folder), design.annotators or 100)
        made = assumptions_of(design, study, outputs)
        annotators, planned = design.annotators, None
        if made.unknown is not None:
            planned = None
        elif annotators is None:
            assert design.power is not None
            need = annotators_for(made, design.truth.difference, design.power, made.alpha)
            annotators, planned = need.annotators, need.reached
        else:
            planned = power_at(made, annotators, design.truth.difference, made.alpha)
        middle = time.process_time()
        simulated, by_item, number = 0.0, 0.0, often if design.often else runs
        if annotators is not None:
            rng = np.random.default_rng(seed)
            simulated, by_item = simulated_power(design, study, outputs, annotators, made.alpha, number, rng)
    return PlannedLine(
        design=design,
        assumptions=made,
        annotators=annotators,
        planned=planned,
        simulated=simulated,
        runs=number,
        by_item=by_item,
        seconds=(middle - started, time.process_time() - middle),
    )


def simulated_power(
    design: PlannedDesign,
    study: Study,
    outputs: Outputs,
    annotators: int,
    alpha: float,
    runs: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the share of simulated studies that find the difference, and of those that are tested over items."""
    truth, plan = design.truth, Plan(unit=design.unit, rating_test=study.analysis.rating_test)
    hits, over_items, compared, left = 0, 0, 0, runs
    layouts = min(max(100 * LAYOUTS[1] // annotators, LAYOUTS[0]), LAYOUTS[1])
    if truth.kind == "spa" and not truth.item_sd:
        layouts = 1
    layout, drawn = draw_layout(study, outputs, truth.kind, annotators, rng), 0
    testing = TwoSystems(plan)
    while left:
        if drawn >= runs / layouts:
            layout, drawn = draw_layout(study, outputs, truth.kind, annotators, rng), 0
        number = min(left, max(1, ANSWERS // (len(layout.x) + layout.items + annotators)), math.ceil(runs / layouts))
        left, drawn = left - number, drawn + number
        stay = rng.random((number, annotators)) >= design.exclusion_rate
        if not len(layout.x):
            continue
        if not layout.paired or plan.rating_test == "welch":
            hits += sum(_finds(design, layout, each, testing, alpha, rng) for each in stay)
            continue
        by_item = tested_by_item(layout, stay, truth.kind, design.unit)
        crowd = design.unit == "item" and annotators >= ENOUGH_ANNOTATORS
        values = draw_answers(truth, layout, by_item, stay, rng, crowd=crowd)
        right, p_values = found(values, layout, stay, by_item, kind=truth.kind, unit=design.unit, alpha=alpha)
        hits, over_items = hits + int(right.sum()), over_items + int(by_item.sum())
        for place in range(min(number, COMPARED - compared, math.ceil(COMPARED / layouts))):
            _compare(values[place], layout, stay[place], float(p_values[place]), design, plan)
            compared += 1
    return hits / runs, over_items / runs


def _compare(values: Floats, layout: Layout, stay: Booleans, p_value: float, design: PlannedDesign, plan: Plan) -> None:
    """Compare a p-value with that of the report's own functions."""
    theirs, _ = reported(values, layout, stay, kind=design.truth.kind, plan=plan)
    if not math.isclose(p_value, 1.0 if theirs is None else theirs, rel_tol=1e-6, abs_tol=1e-12):
        raise AssertionError(f"{design.label}: p = {p_value}, the report's {theirs}")


def _finds(
    design: PlannedDesign, layout: Layout, stay: Booleans, testing: TwoSystems, alpha: float, rng: np.random.Generator
) -> bool:
    """Draw the ratings of one study that do not all pair, and test them as the report does."""
    sides = []
    for asked, scores in zip((layout.x, layout.y), draw_sides(design.truth, layout, rng), strict=True):
        kept = stay[asked.who]
        sides.append((asked.who[kept], asked.visit[kept], asked.item[kept], scores[kept]))
    if not (len(sides[0][0]) and len(sides[1][0])):
        return False
    test = rated(sides[0], sides[1], testing)
    return test.p_value is not None and test.p_value <= alpha and test.difference > 0


INTRODUCTION = """# Power of planned studies

Whether `spa plan` keeps its promise (`make calibrate`, seed {seed}): the power that it gives for a number of annotators
is that of simulated studies, within 1 point and three standard errors. Each design is a study file, planned as
`spa plan` plans it; {runs:,} studies of each are drawn, of {often} designs {many:,}. A "no" is a broken promise.

- **Assignments** are those of `spa build`: {few} to {most} draws of a design, each for equally many studies. They say
  who judges the pair, how often and on which items; sessions go to those who come again, in any order.
- **Tests** are the report's, vectorised; on {compared} studies of every design p is that of the report's own functions.
  Ratings that do not pair are tested study by study. The unit is chosen study by study, by how many stay.
- **The level** is that of the first step of Holm: one pair, whatever the others show.
- **Answers** have the mean and the SDs planned with. SPA, and an annotator's average rating: on the steps of the scale,
  of largest entropy; what items share is added, with mean 0 and just the SD over the items of the study. By item: items
  are drawn, scores are normal, and fewer than ten annotators differ from their own mean, since such tests hold for them
  only; ten or more, where the plan names the item, are drawn. Where everyone judges once, as over annotators. Error
  spans are negative binomial. Choices and orders: an annotator's own chance is beta distributed, each answer drawn by
  it, ties first.

SDs are those between annotators, items and an annotator's own items; "by item" says that most studies are tested over
items. "Not known" is what `spa plan` says instead of a figure.

**Of {number} designs, {kept} keep the promise**, {unknown} of them because the plan says that it does not know.

"""


def table(lines: Sequence[PlannedLine]) -> str:
    """Return the lines as a table."""
    head = "| design | tests | difference | SD | ties | exclusions | annotators | planned | simulated | SE | kept |\n"
    return head + "| --- " * 11 + "|\n" + "".join(f"{_row(line)}\n" for line in lines)


def _row(line: PlannedLine) -> str:
    truth, made = line.design.truth, line.assumptions
    spread = [truth.sd, truth.item_sd, truth.residual_sd]
    while len(spread) > 1 and not spread[-1]:
        spread.pop()
    cells = (
        line.design.label + (" (by item)" if line.by_item > 0.5 else ""),
        made.n_tests,
        made.shown(truth.difference),
        " + ".join(f"{sd:g}" for sd in spread),
        f"{truth.ties:g}" if truth.ties else "",
        f"{100 * line.design.exclusion_rate:g} %",
        line.annotators,
        "not known" if line.planned is None else f"{100 * line.planned:.1f} %",
        f"{100 * line.simulated:.1f} %",
        f"{100 * line.standard_error:.1f}",
        "yes" if line.kept else "no",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def run(designs: Sequence[PlannedDesign], *, runs: int, often: int, seed: int, processes: int = 2) -> list[PlannedLine]:
    """Check designs, each with a seed of its own, in so many processes."""
    seeds = [int(s) for s in np.random.default_rng(seed).integers(2**32, size=len(designs))]
    task = partial(_check, runs=runs, often=often)
    if processes == 1:
        return [task(one) for one in zip(designs, seeds, strict=True)]
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(task, zip(designs, seeds, strict=True)))


def _check(one: tuple[PlannedDesign, int], *, runs: int, often: int) -> PlannedLine:
    return check_plan(one[0], runs=runs, often=often, seed=one[1])


def write(runs: int, often: int, seed: int) -> str:
    """Return the page."""
    lines = run(planned_designs(), runs=runs, often=often, seed=seed)
    head = INTRODUCTION.format(
        seed=seed,
        runs=runs,
        many=often,
        often=sum(line.design.often for line in lines),
        few=LAYOUTS[0],
        most=LAYOUTS[1],
        compared=COMPARED,
        number=len(lines),
        kept=sum(line.kept for line in lines),
        unknown=sum(line.planned is None for line in lines),
    )
    return head + table(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.planning", description=__doc__)
    parser.add_argument("--runs", type=int, default=5_000, help="simulated studies a design")
    parser.add_argument("--often", type=int, default=40_000, help="of twenty designs")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    given.out.write_text(write(given.runs, given.often, given.seed), encoding="utf-8")
