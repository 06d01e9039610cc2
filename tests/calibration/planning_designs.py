"""Designs whose planned power is checked: usual ones, and the corners of what a study file and options allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, product

from tests.calibration.planning_answers import Truth
from tests.calibration.planning_studies import MadeStudy
from tests.calibration.planning_tests import PlannedUnit

RATINGS = {"sd": 0.5, "item_sd": 0.8, "residual_sd": 1.25}  # as ``spa plan`` takes them where nothing is said
MARKS = {"sd": 2.2, "item_sd": 3.6, "residual_sd": 5.6}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDesign:
    """A study, what is true of its pairs, and how many annotators it has: as many as its plan says for a power."""

    label: str
    study: MadeStudy
    truth: Truth
    annotators: int | None = None
    power: float | None = None
    exclusion_rate: float = 0.1
    unit: PlannedUnit = "auto"
    often: bool = False  # whether more studies are simulated


def planned_designs() -> list[PlannedDesign]:
    """Return all designs, in the order of the table."""
    return [
        *_spa(),
        *_ratings(),
        *_ratings_by_item(),
        *_unpaired(),
        *_spans(),
        *_choices(),
        *_choices_by_item(),
        *_rankings(),
    ]


def _asks(table: str, *keys: str) -> str:
    return "\n".join([f"[{table}]", *keys, ""]) + "\n"


def _spa() -> Iterator[PlannedDesign]:
    """Yield designs of SPA: 2 to 300 annotators, 50.3 to 99.9 %, SD .01 up to the largest, 1 to 435 pairs."""
    sizes = cycle((2, 3, 4, 6, 2, 12, 30))
    rates = cycle((0.1, 0.0, 0.3))
    for place, ((percent, sd), annotators) in enumerate(
        product(
            (
                (50.3, 0.3),
                (55, 0.3),
                (60, 0.3),
                (60, 0.48),
                (70, 0.2),
                (80, 0.05),
                (80, 0.39),
                (95, 0.1),
                (95, 0.21),
                (99.9, 0.01),
                (99.9, 0.03),
            ),
            (2, 3, 5, 8, 14, 40, 300),
        )
    ):
        systems, both = next(sizes), place % 3 == 0
        yield PlannedDesign(
            label=f"SPA, {'both directions' if both else 'one direction'}",
            study=MadeStudy(asked=_spa_table(both=both), systems=systems),
            truth=Truth(kind="spa", difference=percent / 100 - 0.5, sd=sd, directions=2 if both else 1),
            annotators=annotators,
            exclusion_rate=next(rates),
            often=place in (16, 24, 45),
        )
    for percent, sd, power, systems in (
        (55, 0.3, 0.8, 4),
        (60, 0.3, 0.9, 4),
        (65, 0.3, 0.8, 6),
        (70, 0.25, 0.9, 2),
        (80, 0.2, 0.8, 2),
        (80, 0.2, 0.8, 8),
        (99.9, 0.01, 0.8, 2),
        (90, 0.29, 0.9, 3),
    ):
        yield PlannedDesign(
            label="SPA, both directions",
            study=MadeStudy(asked=_spa_table(both=True), systems=systems),
            truth=Truth(kind="spa", difference=percent / 100 - 0.5, sd=sd, directions=2),
            power=power,
            often=percent == 60,
        )
    spa = Truth(kind="spa", difference=0.1, sd=0.3)
    exposures = '[spa]\ncriteria = []\ndirections = "one"\n[spa.exposure_study]\n'
    exposures += 'system_x = "s0"\nsystem_y = "s1"\nexposures = [1, 2, 4]\n'
    yield PlannedDesign(label="SPA, exposures 1, 2, 4", study=MadeStudy(asked=exposures), truth=spa, annotators=90)
    chain = _spa_table(both=False, comparisons='"chain"')
    yield PlannedDesign(label="SPA, a chain", study=MadeStudy(asked=chain, systems=6), truth=spa, annotators=120)
    family = MadeStudy(asked=_spa_table(both=False, criteria=3), systems=3, criteria=3, analysis='family = "all"')
    yield PlannedDesign(label="SPA, family of 3 criteria", study=family, truth=spa, annotators=120)
    strict = MadeStudy(asked=_spa_table(both=False), systems=3, analysis="fwer = 0.01")
    yield PlannedDesign(label="SPA, error rate .01", study=strict, truth=spa, annotators=120)
    twice = MadeStudy(asked=_spa_table(both=False), people="sessions = 2")
    parts = Truth(kind="spa", difference=0.08, sd=0.1, item_sd=0.2, residual_sd=0.3)
    yield PlannedDesign(label="SPA, 5 of 20 items, 2 sessions", study=twice, truth=parts, annotators=24)


def _spa_table(*, both: bool, comparisons: str = '"all"', criteria: int = 0) -> str:
    named = ", ".join(f'"c{number}"' for number in range(criteria))
    overall = "false" if criteria else "true"
    directions = f'directions = "{"both" if both else "one"}"'
    return _asks("spa", directions, f"comparisons = {comparisons}", f"criteria = [{named}]", f"overall = {overall}")


def _likert(outputs: str = '"all"', points: int = 5, *more: str) -> str:
    return _asks("likert", f"points = {points}", f"outputs = {outputs}", 'criteria = ["c0"]', "overall = false", *more)


def _rating_design(
    shown: int,
    items: int,
    difference: float,
    *,
    annotators: int | None = None,
    power: float | None = None,
    systems: int = 2,
    points: int = 5,
    outputs: str = '"all"',
    people: str = "",
    sessions: int = 1,
    analysis: str = "",
    unit: PlannedUnit = "auto",
    exclusion_rate: float = 0.1,
    often: bool = False,
    **spread: float,
) -> PlannedDesign:
    said = f"Ratings, {shown} of {items} items" if shown < items else f"Ratings, all {items} items"
    said += "" if outputs == '"all"' else f", {outputs} rated".replace('"', "")
    said += "" if sessions == 1 else f", {sessions} sessions"
    said += ", 2 people a form" if "per_assignment" in people else ""
    people += f"\nsessions = {sessions}" if sessions > 1 else ""
    analysis += f'\nunit = "{unit}"' if unit != "auto" else ""
    return PlannedDesign(
        label=said,
        study=MadeStudy(
            asked=_likert(outputs, points),
            systems=systems,
            items=items,
            design=f"items = {shown}",
            people=people,
            analysis=analysis,
        ),
        truth=Truth(kind="likert", difference=difference, points=points, **(spread or RATINGS)),
        annotators=annotators,
        power=power,
        exclusion_rate=exclusion_rate,
        unit=unit,
        often=often,
    )


def _ratings() -> Iterator[PlannedDesign]:
    """Yield designs of ratings that pair, tested over annotators."""
    shared = {"sd": 0.2, "item_sd": 0.9, "residual_sd": 0.6}
    for annotators in (10, 16, 40):
        yield _rating_design(10, 10, 0.3, annotators=annotators, exclusion_rate=0, often=annotators == 16, **shared)
        yield _rating_design(10, 20, 0.3, annotators=annotators, exclusion_rate=0, **shared)
        yield _rating_design(10, 200, 0.3, annotators=annotators, exclusion_rate=0, **shared)
    yield _rating_design(10, 10, 0.3, power=0.8, exclusion_rate=0, **shared)
    yield _rating_design(10, 10, 0.2, power=0.8, systems=3, often=True)
    yield _rating_design(10, 20, 0.3, power=0.8, systems=4)
    yield _rating_design(5, 6, 0.3, annotators=60, systems=4)
    yield _rating_design(1, 1, 0.5, annotators=60)
    yield _rating_design(1, 2, 0.5, annotators=100)
    yield _rating_design(1, 60, 0.5, power=0.9, systems=4)
    yield _rating_design(2, 30, 0.5, annotators=50, systems=3)
    yield _rating_design(3, 4, 0.4, annotators=80, systems=6)
    yield _rating_design(30, 60, 0.2, annotators=70, often=True)
    for sessions in (2, 3):
        yield _rating_design(10, 60, 0.2, annotators=98, systems=3, sessions=sessions, often=sessions == 3)
        yield _rating_design(10, 30, 0.2, annotators=98, systems=3, sessions=sessions)
        yield _rating_design(10, 10, 0.2, annotators=98, systems=3, sessions=sessions)
        yield _rating_design(4, 12, 0.4, annotators=15, sessions=sessions)
    yield _rating_design(8, 30, 0.3, annotators=90, outputs="3", systems=3)
    yield _rating_design(8, 8, 0.3, annotators=90, outputs="3", systems=3)
    yield _rating_design(8, 40, 0.5, annotators=90, outputs='"first"', systems=3)
    yield _rating_design(6, 24, 0.35, annotators=60, people="per_assignment = 2")
    for points, sd, difference, annotators in (
        (2, 0.9, 0.1, 300),
        (2, 0.32, 0.9, 12),
        (3, 1.9, 0.5, 60),
        (3, 0.5, 1.5, 12),
        (7, 3.0, 1.0, 150),
        (11, 0.42, 0.2, 40),
        (11, 9.0, 2.0, 200),
        (5, 0.15, 3.98, 14),
        (5, 3.9, 0.8, 300),
        (5, 1.57, 1.0, 11),
        (5, 1.57, 1.0, 12),
        (5, 1.57, 1.0, 13),
        (5, 1.57, 1.0, 14),
    ):
        yield _rating_design(1, 40, difference, annotators=annotators, points=points, sd=sd)
    yield _rating_design(10, 40, 0.4, annotators=30, systems=30)
    yield _rating_design(10, 40, 0.4, annotators=8, unit="annotator", exclusion_rate=0, sd=0.3, residual_sd=0.8)
    yield _rating_design(10, 40, 0.4, annotators=12, exclusion_rate=0.3)
    yield _rating_design(10, 10, 0.4, annotators=11, exclusion_rate=0.3)


def _ratings_by_item() -> Iterator[PlannedDesign]:
    """Yield designs of ratings that pair, tested over items."""
    for annotators, items, difference in (
        (3, 100, 0.366),
        (3, 30, 0.6),
        (3, 200, 0.25),
        (4, 60, 0.4),
        (5, 30, 0.5),
        (6, 100, 0.3),
        (8, 50, 0.4),
        (9, 30, 0.5),
        (9, 200, 0.2),
        (2, 60, 0.5),
    ):
        yield _rating_design(
            items,
            items,
            difference,
            annotators=annotators,
            systems=3,
            exclusion_rate=0,
            often=(annotators, items) in ((3, 100), (9, 30)),
        )
    yield _rating_design(100, 100, 0.366, annotators=3, systems=3)
    yield _rating_design(60, 60, 0.4, annotators=6, systems=2, exclusion_rate=0.3)
    yield _rating_design(60, 60, 0.4, annotators=5, exclusion_rate=0, sd=0.1, item_sd=0.2, residual_sd=1.5)
    yield _rating_design(60, 60, 0.4, annotators=5, exclusion_rate=0, sd=1.5, item_sd=0.8, residual_sd=1.0)
    yield _rating_design(20, 60, 0.5, annotators=6, exclusion_rate=0)
    yield _rating_design(20, 100, 0.5, annotators=9, exclusion_rate=0)
    yield _rating_design(20, 100, 0.5, annotators=9)
    yield _rating_design(10, 30, 0.6, annotators=7, sessions=2)
    yield _rating_design(10, 30, 0.6, annotators=5, sessions=3, exclusion_rate=0)
    for annotators, shown, items, difference in (
        (65, 10, 60, 0.3),
        (20, 10, 60, 0.5),
        (40, 5, 20, 0.6),
        (300, 4, 30, 0.5),
        (12, 60, 60, 0.35),
        (15, 3, 60, 0.6),
    ):
        yield _rating_design(
            shown, items, difference, annotators=annotators, systems=3, unit="item", often=annotators == 65
        )
    yield _rating_design(10, 60, 0.3, power=0.8, unit="item")
    yield _rating_design(10, 60, 0.3, annotators=30, unit="item", sessions=2)


def _unpaired() -> Iterator[PlannedDesign]:
    """Yield designs in which ratings do not pair, or not all."""
    for exposure, outputs, items, difference, annotators, systems in (
        (8, '"all"', 36, 0.8, 22, 4),
        (2, '"all"', 100, 0.5, 60, 4),
        (1, '"all"', 100, 0.5, 110, 2),
        (4, "2", 500, 0.5, 67, 2),
        (3, '"all"', 12, 1.0, 30, 3),
    ):
        spa = _asks("spa", f"exposure = {exposure}", "same_items = false", "criteria = []")
        study = MadeStudy(asked=spa + _likert(outputs), systems=systems, items=items)
        yield PlannedDesign(
            label=f"Ratings, own items: {exposure} of {items} a system",
            study=study,
            truth=Truth(kind="likert", difference=difference, **RATINGS),
            annotators=annotators,
        )
    for outputs, items, difference, annotators, systems in (
        (10, 60, 0.5, 60, 2),
        (10, 60, 0.6, 60, 4),
        (8, 8, 0.5, 40, 4),
        (12, 12, 0.4, 60, 2),
    ):
        study = MadeStudy(
            asked=_likert('"all"', 5, 'pages = "output"'),
            systems=systems,
            items=items,
            design=f"outputs = {outputs}",
        )
        yield PlannedDesign(
            label=f"Ratings of single outputs: {outputs} of {systems * items}",
            study=study,
            truth=Truth(kind="likert", difference=difference, **RATINGS),
            annotators=annotators,
        )
    welch = MadeStudy(asked=_likert(), items=10, design="items = 10", analysis='rating_test = "welch"')
    yield PlannedDesign(
        label="Ratings, all 10 items, Welch's test",
        study=welch,
        truth=Truth(kind="likert", difference=0.3, **RATINGS),
        annotators=60,
    )


def _spans() -> Iterator[PlannedDesign]:
    """Yield designs of error spans, usual and rare errors, over annotators and over items."""
    for shown, items, errors, difference, annotators, spread in (
        (1, 60, 4.0, 1.5, 150, MARKS),
        (4, 60, 4.0, 1.5, 60, MARKS),
        (10, 10, 4.0, 1.0, 40, MARKS),
        (10, 20, 4.0, 1.0, 60, MARKS),
        (1, 40, 0.5, 0.3, 150, {"sd": 1.2}),
        (1, 40, 1.0, 0.7, 60, {"sd": 2.5}),
        (1, 40, 20.0, 10.0, 20, {"sd": 9.0}),
        (5, 5, 4.0, 3.0, 14, {"sd": 1.0, "residual_sd": 5.0}),
        (2, 30, 4.0, 6.0, 12, {"sd": 4.0}),
    ):
        often = (shown, items) == (10, 10)
        yield _span_design(shown, items, errors, difference, annotators, often=often, **spread)
    yield _span_design(10, 40, 4.0, 1.0, 40, sessions=3, **MARKS)
    yield _span_design(60, 60, 4.0, 2.0, 4, exclusion_rate=0, **MARKS)
    yield _span_design(100, 100, 4.0, 1.5, 8, exclusion_rate=0, **MARKS)
    yield _span_design(10, 60, 4.0, 1.5, 40, unit="item", **MARKS)


def _span_design(
    shown: int,
    items: int,
    errors: float,
    difference: float,
    annotators: int,
    *,
    sessions: int = 1,
    unit: PlannedUnit = "auto",
    exclusion_rate: float = 0.1,
    often: bool = False,
    **spread: float,
) -> PlannedDesign:
    said = f"Error spans, {errors:g} an output, " + (f"{shown} of {items} items" if shown < items else f"all {items}")
    study = MadeStudy(
        asked=_asks("spans", 'outputs = "all"', "score = false"),
        systems=3,
        items=items,
        design=f"items = {shown}",
        people=f"sessions = {sessions}",
        analysis=f'unit = "{unit}"',
    )
    return PlannedDesign(
        label=said + ("" if sessions == 1 else f", {sessions} sessions"),
        study=study,
        truth=Truth(kind="spans", difference=difference, errors=errors, **spread),
        annotators=annotators,
        exclusion_rate=exclusion_rate,
        unit=unit,
        often=often,
    )


def _choice_design(
    percent: float,
    *,
    systems: int = 2,
    dealt: int | None = None,
    shown: int = 1,
    items: int = 60,
    ties: float = 0.0,
    annotators: int | None = None,
    power: float | None = None,
    sd: float = 0.1,
    item_sd: float = 0.0,
    sessions: int = 1,
    unit: PlannedUnit = "auto",
    exclusion_rate: float = 0.1,
    often: bool = False,
) -> PlannedDesign:
    pairs = systems * (systems - 1) // 2
    said = f"Choices, {dealt} of {pairs} pairs" if dealt else f"Choices, {shown} a pair"
    said += f" of {items} items" if not dealt else ""
    said += "" if sessions == 1 else f", {sessions} sessions"
    keys = [f"ties = {str(ties > 0).lower()}", 'criteria = ["c0"]', "overall = false"]
    keys += [f"per_annotator = {dealt}"] if dealt else []
    return PlannedDesign(
        label=said,
        study=MadeStudy(
            asked=_asks("choices", *keys),
            systems=systems,
            items=max(items, dealt or 0),
            design="" if dealt else f"items = {shown}",
            people=f"sessions = {sessions}",
            analysis=f'unit = "{unit}"',
        ),
        truth=Truth(kind="choices", difference=percent / 100 - 0.5, sd=sd, item_sd=item_sd, ties=ties),
        annotators=annotators,
        power=power,
        exclusion_rate=exclusion_rate,
        unit=unit,
        often=often,
    )


def _choices() -> Iterator[PlannedDesign]:
    """Yield designs of choices tested over annotators: 1 to 435 pairs, dealt or all, ties 0 to .99."""
    for dealt in (6, 9, 10, 12, 3, 2, 20):
        yield _choice_design(60, systems=4, dealt=dealt, annotators=176, often=dealt in (9, 12))
    yield _choice_design(60, systems=4, dealt=9, power=0.8, often=True)
    yield _choice_design(60, systems=4, dealt=4, power=0.9)
    yield _choice_design(75, systems=30, dealt=40, annotators=300)
    yield _choice_design(70, systems=30, dealt=200, items=200, annotators=300)
    yield _choice_design(95, systems=30, dealt=100, items=100, annotators=120)
    yield _choice_design(80, systems=12, dealt=10, annotators=300)
    yield _choice_design(70, systems=3, dealt=2, annotators=40)
    yield _choice_design(60, systems=4, dealt=9, annotators=100, sessions=2)
    yield _choice_design(65, systems=4, dealt=4, annotators=60, sessions=3)
    for percent, annotators, systems in (
        (95, 14, 2),
        (95, 16, 2),
        (90, 15, 4),
        (99.9, 20, 2),
        (80, 10, 2),
        (80, 11, 2),
        (80, 12, 2),
        (80, 13, 2),
        (50.3, 300, 2),
        (65, 100, 3),
        (60, 300, 6),
    ):
        sd = min(0.1, 0.9 * (percent / 100 * (1 - percent / 100)) ** 0.5)
        often = (percent, annotators) in ((95, 14), (80, 11))
        yield _choice_design(percent, systems=systems, annotators=annotators, sd=sd, often=often)
    for shown, percent, annotators in ((5, 60, 60), (10, 60, 50), (2, 70, 30), (20, 55, 40), (3, 80, 12)):
        yield _choice_design(percent, systems=3, shown=shown, annotators=annotators, exclusion_rate=0.3)
    for ties, percent, annotators, shown in (
        (0.3, 60, 100, 1),
        (0.3, 60, 71, 4),
        (0.6, 60, 60, 2),
        (0.9, 52, 200, 5),
        (0.99, 50.3, 300, 1),
        (0.99, 50.4, 300, 10),
        (0.99, 50.45, 100, 40),
    ):
        sd = min(0.1, 0.15 * (1 - ties))
        yield _choice_design(percent, ties=ties, annotators=annotators, shown=shown, sd=sd)
    yield _choice_design(60, systems=3, annotators=150, ties=0.3, dealt=4, sd=0.05)
    yield _choice_design(60, systems=2, annotators=120, shown=1, sd=0.01)
    yield _choice_design(60, systems=2, annotators=120, shown=6, sd=0.4)
    yield _choice_design(60, systems=2, annotators=40, shown=10, items=10, item_sd=0.12)
    yield _choice_design(60, systems=2, annotators=60, shown=5, items=60, item_sd=0.12)


def _choices_by_item() -> Iterator[PlannedDesign]:
    """Yield designs of choices tested over items."""
    for annotators, items, percent, item_sd in (
        (3, 100, 60, 0.0),
        (3, 60, 60, 0.1),
        (5, 100, 58, 0.1),
        (8, 30, 65, 0.1),
        (9, 200, 55, 0.1),
    ):
        yield _choice_design(
            percent,
            shown=items,
            items=items,
            annotators=annotators,
            item_sd=item_sd,
            exclusion_rate=0,
            often=items == 60,
        )
    yield _choice_design(60, shown=60, items=60, annotators=6, item_sd=0.1)
    yield _choice_design(65, systems=3, dealt=30, annotators=8, item_sd=0.1, exclusion_rate=0)
    yield _choice_design(65, systems=4, dealt=20, annotators=9, item_sd=0.1, exclusion_rate=0)
    yield _choice_design(60, shown=10, items=60, annotators=40, item_sd=0.1, unit="item")
    yield _choice_design(60, systems=3, dealt=7, annotators=100, item_sd=0.1, unit="item")
    yield _choice_design(60, shown=60, items=60, annotators=6, item_sd=0.1, ties=0.3, sd=0.08)


def _rankings() -> Iterator[PlannedDesign]:
    """Yield designs of rankings of all systems and of some, over annotators and over items."""
    for systems, size, shown, annotators, percent, sessions in (
        (6, 3, 4, 489, 60, 1),
        (6, 3, 4, 120, 65, 1),
        (4, 0, 1, 200, 60, 1),
        (4, 0, 5, 60, 60, 1),
        (5, 2, 3, 200, 65, 1),
        (8, 3, 2, 300, 75, 1),
        (30, 5, 4, 300, 90, 1),
        (12, 6, 5, 100, 70, 1),
        (6, 5, 1, 150, 65, 1),
        (3, 2, 10, 40, 65, 1),
        (6, 3, 2, 120, 65, 2),
        (6, 3, 2, 120, 65, 3),
        (4, 3, 7, 30, 70, 1),
        (2, 0, 1, 14, 95, 1),
        (3, 0, 1, 15, 90, 1),
        (30, 0, 2, 200, 65, 1),
    ):
        yield _ranking_design(systems, size, shown, annotators, percent, sessions=sessions, often=annotators == 489)
    yield _ranking_design(6, 3, 4, None, 60, power=0.8, often=True)
    yield _ranking_design(6, 3, 20, 9, 75, item_sd=0.1, exclusion_rate=0)
    yield _ranking_design(4, 0, 30, 5, 65, item_sd=0.1, exclusion_rate=0)
    yield _ranking_design(4, 0, 100, 3, 60, items=100, exclusion_rate=0)
    yield _ranking_design(5, 3, 6, 60, 65, item_sd=0.1, unit="item")


def _ranking_design(
    systems: int,
    size: int,
    shown: int,
    annotators: int | None,
    percent: float,
    *,
    items: int = 40,
    sessions: int = 1,
    power: float | None = None,
    item_sd: float = 0.0,
    unit: PlannedUnit = "auto",
    exclusion_rate: float = 0.1,
    often: bool = False,
) -> PlannedDesign:
    keys = ['outputs = "all"', 'criteria = ["c0"]', "overall = false", *([f"size = {size}"] if size else [])]
    said = f"Rankings of {size or systems} of {systems}, {shown} items"
    sd = min(0.1, 0.9 * (percent / 100 * (1 - percent / 100)) ** 0.5)
    return PlannedDesign(
        label=said + ("" if sessions == 1 else f", {sessions} sessions"),
        study=MadeStudy(
            asked=_asks("ranking", *keys),
            systems=systems,
            items=items,
            design=f"items = {shown}",
            people=f"sessions = {sessions}",
            analysis=f'unit = "{unit}"',
        ),
        truth=Truth(kind="ranking", difference=percent / 100 - 0.5, sd=sd, item_sd=item_sd),
        annotators=annotators,
        power=power,
        exclusion_rate=exclusion_rate,
        unit=unit,
        often=often,
    )
