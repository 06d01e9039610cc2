"""How often a study claims a difference that is not there, and how often intervals of means hold the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl

from analysis import Plan, holm
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.ratings import RatingTest
from tests.calibration import draw
from tests.calibration.draw import Items, People
from tests.calibration.studies import Test, run_studies
from tests.calibration.table import Line

Draw = Callable[[np.random.Generator, int, People], pl.DataFrame]
ROWS = 400_000  # answers of the studies that are put through at once
LARGE = 150_000  # answers of the study that stands for the truth
THREE, FOUR = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
ONE_BETTER = (0.0, 0.0, 0.0, 0.8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A study of some kind; systems of equal liking do not differ, so what is found between them is false.

    ``answers`` is how many answers one annotator gives. ``over_rows`` takes the exact binomial over rows
    instead of the test, ``uncorrected`` the plain p-values, to show what each of them costs.
    """

    name: str
    kind: str
    draw: Draw
    people: People
    answers: int
    plan: Plan = field(default_factory=Plan)
    promised: bool = True
    over_rows: bool = False
    uncorrected: bool = False
    measured: bool = True  # intervals have one true value, so that they can be judged

    def is_null(self, test: Test) -> bool:
        """Tell whether the two systems are liked equally."""
        return self.people.liking[int(test.system_x)] == self.people.liking[int(test.system_y)]


@dataclass(slots=True)
class Counts:
    """What was seen in some studies."""

    studies: int = 0
    false: int = 0
    false_share: float = 0.0  # sum over studies of false findings / findings
    held: int = 0
    held_means: int = 0
    intervals: int = 0
    means: int = 0


def simulate(design: Design, runs: int, seed: int) -> Counts:
    """Draw and analyse ``runs`` studies of a design."""
    rng = np.random.default_rng(seed)
    truth = _truth(design) if design.measured else None
    counts = Counts()
    step = max(1, ROWS // (design.people.annotators * design.answers))
    for start in range(0, runs, step):
        studies = min(step, runs - start)
        tests, means = run_studies(design.kind, design.draw(rng, studies, design.people), design.plan)
        _count_false(design, tests, counts)
        counts.studies += studies
        if truth is None:
            continue
        for test in tests:
            if test.ci_low is None or test.ci_high is None:
                continue
            counts.intervals += 1
            counts.held += test.ci_low <= truth[test.system_x, test.system_y] <= test.ci_high
        for mean in means:
            if mean.ci_low is not None and mean.ci_high is not None:
                counts.means += 1
                counts.held_means += mean.ci_low <= truth[mean.system, ""] <= mean.ci_high
    return counts


def lines_of(design: Design, runs: int, seed: int) -> tuple[Line, Line | None, Line | None]:
    """Return the line of false findings, of intervals of differences, and of intervals of mean ratings.

    The first is the share of studies with at least one false finding (under Benjamini-Hochberg: the
    mean share of findings that are false), the others are shares of intervals that hold the truth.
    """
    counts = simulate(design, runs, seed)
    seen = counts.false if design.plan.correction == "holm" else counts.false_share
    false = Line(name=design.name, nominal=design.plan.fwer, seen=seen / runs, runs=runs, promised=design.promised)
    held = [
        replace(false, nominal=design.plan.confidence, seen=held / made) if made else None
        for held, made in ((counts.held, counts.intervals), (counts.held_means, counts.means))
    ]
    return false, held[0], held[1]


def _count_false(design: Design, tests: Sequence[Test], counts: Counts) -> None:
    studies: dict[str, list[Test]] = {}
    for test in tests:
        studies.setdefault(test.group, []).append(test)
    for members in studies.values():
        found = _found(design, members)
        false = sum(one and design.is_null(test) for test, one in zip(members, found, strict=True))
        counts.false += false > 0
        counts.false_share += false / max(sum(found), 1)


def _found(design: Design, tests: Sequence[Test]) -> list[bool]:
    if design.over_rows:
        values = [test.p_binomial for test in tests if isinstance(test, ChoiceTest) and test.p_binomial is not None]
        return [bool(one) for one in holm(values, fwer=design.plan.fwer).rejected]
    if design.uncorrected:
        return [test.p_value is not None and test.p_value <= design.plan.fwer for test in tests]
    return [test.verdict in ("x", "y") for test in tests]


def _truth(design: Design) -> dict[tuple[str, str], float]:
    """Measure the means in a study so large that its own error does not matter; equal systems differ by nothing.

    Pairs stand in the order of the systems, as every design names them.
    """
    if design.kind != "ratings" and len(set(design.people.liking)) == 1:
        return {(str(x), str(y)): 0.5 for x, y in design.people.pairs.tolist()}
    rng = np.random.default_rng(0)
    many = replace(design.people, annotators=LARGE // design.answers)
    tests, means = run_studies(design.kind, design.draw(rng, 1, many), replace(design.plan, unit="annotator"))
    truth = {(mean.system, ""): mean.mean for mean in means}
    for test in tests:
        nothing, value = (0.0, test.mean_difference) if isinstance(test, RatingTest) else (0.5, test.effect + 0.5)
        truth[test.system_x, test.system_y] = nothing if design.is_null(test) else value
    return truth


def preference_designs() -> Iterator[Design]:
    """Yield the designs of preference probabilities, four systems and six pairs."""
    sliders = partial(draw.preferences)
    for n in (10, 20, 50):
        yield _preference(f"{n} annotators, whole percent", n, sliders)
    yield _preference("20 annotators, both directions, inconsistent ones excluded", 20, partial(sliders, both=True), 12)
    yield _preference("20 annotators, two exposures (12 tests)", 20, partial(sliders, exposures=2), 12)
    for n in (10, 20, 50):
        yield _preference(f"{n} annotators, three of five answers 50 %", n, partial(sliders, style=draw.often_half))
    for n in (10, 20, 50):
        either = _preference(f"{n} annotators, 0 % or 100 % only", n, partial(sliders, style=draw.extremes))
        yield replace(either, promised=n >= 50)
    for n in (10, 20, 50):
        yield replace(
            _preference(f"{n} annotators, 40 % mostly and 90 % rarely", n, partial(sliders, style=draw.skewed)),
            promised=False,
        )
    for n in (10, 20):
        better = _preference(f"{n} annotators, one of four systems better", n, sliders)
        yield replace(better, people=replace(better.people, liking=ONE_BETTER))
    yield replace(
        _preference("20 annotators, without Holm (wrong)", 20, sliders),
        uncorrected=True,
        promised=False,
        measured=False,
    )


def rating_designs() -> Iterator[Design]:
    """Yield the designs of ratings from 1 to 5, three systems and ten items."""
    for n in (10, 20, 50):
        yield _rating(f"{n} annotators on the same 10 items", n)
    yield _rating(
        "20 annotators, plain scores, 10 items each of their own", 20, Items(own=True, taste=0.5), steps=False
    )
    one_better = replace(_rating("20 annotators, one of four systems better", 20), answers=40)
    yield replace(one_better, people=replace(one_better.people, liking=ONE_BETTER))
    yield replace(
        _rating("20 annotators, three criteria in one family", 20, criteria=3), plan=Plan(family="all"), answers=90
    )
    yield replace(
        _rating("20 annotators, three criteria in a family each (any of them)", 20, criteria=3),
        answers=90,
        promised=False,
        measured=False,
    )
    for n in (15, 30):
        welch = _rating(f"{n} annotators with one system each (Welch), by annotator as planned", n, split=True)
        yield replace(welch, plan=Plan(unit="annotator"), answers=10)
    yield replace(
        _rating("30 annotators with one system each (Welch), by item (other annotators: not promised)", 30, split=True),
        plan=Plan(unit="item"),
        promised=False,
        measured=False,
    )
    by_item = Plan(unit="item")
    same = Items(number=30, taste=0.5)
    for n in (10, 30):
        alike = _rating(f"3 annotators who like all systems equally, by {n} items", 3, replace(same, number=n))
        people = replace(alike.people, taste=0.0)
        yield replace(alike, people=people, plan=by_item, answers=3 * n, measured=False)
    drawn = _rating("3 annotators with likings of their own, by 30 items (other annotators: not promised)", 3, same)
    yield replace(drawn, plan=by_item, answers=90, promised=False, measured=False)
    shared = "20 annotators on 10 items that favour systems (other items: not promised)"
    yield replace(_rating(shared, 20, Items(taste=0.5)), promised=False, measured=False)


def choice_designs() -> Iterator[Design]:
    """Yield the designs of choices, three systems, one in five a tie."""
    for n in (10, 20, 50):
        yield _choice(f"{n} annotators on the same 5 items", n)
    better = _choice("20 annotators, one of four systems better", 20)
    yield replace(better, people=replace(better.people, liking=ONE_BETTER), answers=30)
    yield replace(
        _choice("20 annotators on the same 10 items, binomial over rows (wrong)", 20, Items(number=10)),
        over_rows=True,
        promised=False,
        measured=False,
    )
    by_item = Plan(unit="item")
    alike = _choice("3 annotators who like all systems equally, by 30 items", 3, Items(number=30, taste=0.5))
    people = replace(alike.people, taste=0.0)
    yield replace(alike, people=people, plan=by_item, answers=90)
    drawn = _choice(
        "3 annotators with likings of their own, by 30 items (other annotators: not promised)", 3, Items(number=30)
    )
    yield replace(drawn, plan=by_item, answers=90, promised=False, measured=False)
    yield replace(
        drawn,
        name="3 annotators with likings of their own, binomial over 90 rows (wrong)",
        over_rows=True,
        answers=90,
        promised=False,
        measured=False,
    )


def discovery_designs() -> Iterator[Design]:
    """Yield the designs under Benjamini-Hochberg: the mean share of findings that are false."""
    bh = Plan(correction="bh")
    sliders = partial(draw.preferences)
    for name, liking in (("no", FOUR), ("one of four", ONE_BETTER), ("two of four", (0.0, 0.0, 0.8, 0.8))):
        design = _preference(
            f"preferences, 20 annotators, {name} system{'s' if name != 'one of four' else ''} better", 20, sliders
        )
        yield replace(design, people=replace(design.people, liking=liking), plan=bh)


def _preference(name: str, n: int, drawn: Draw, answers: int = 6) -> Design:
    return Design(name=name, kind="preferences", draw=drawn, people=People(annotators=n, liking=FOUR), answers=answers)


def _rating(name: str, n: int, items: Items = Items(), **options: object) -> Design:  # noqa: B008 - frozen
    people = People(annotators=n, liking=THREE, taste=0.5)
    return Design(
        name=name,
        kind="ratings",
        draw=partial(draw.ratings, items=items, **options),  # type: ignore[arg-type]
        people=people,
        answers=3 * items.number,
    )


def _choice(name: str, n: int, items: Items = Items(number=5)) -> Design:  # noqa: B008 - frozen
    people = People(annotators=n, liking=THREE)
    return Design(
        name=name, kind="choices", draw=partial(draw.choices, items=items), people=people, answers=3 * items.number
    )
