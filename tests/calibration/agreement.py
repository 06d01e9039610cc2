"""How often intervals of agreement coefficients hold the value that very many units would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from analysis import cohen_kappa, exact_agreement, fleiss_kappa, gwet_ac1, krippendorff_alpha
from analysis.agreement.data import reliability_data
from analysis.agreement.icc import FORMS, every_icc
from analysis.agreement.result import Agreement
from analysis.statistics.coding import Floats
from tests.calibration.table import Line

MANY = 400_000  # units of the table that stands for the truth
NOMINAL = 0.95
Answers = Callable[[np.random.Generator, int, int], Floats]  # rng, units, raters -> table
LEVELS: tuple[Any, ...] = ("nominal", "ordinal", "interval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Raters of one kind who judge units; ``level`` is that of alpha, and "" measures all other coefficients."""

    name: str
    answers: Answers
    units: int
    raters: int
    level: str = ""
    promised: bool = True


def five_steps(rng: np.random.Generator, units: int, raters: int, *, error: float = 1.0, holes: float = 0.0) -> Floats:
    """Answer 1 to 5: the unit's own value (spread 1) plus error, rounded; a share of cells is empty."""
    table = np.clip(np.round(3 + rng.normal(0, 1, (units, 1)) + rng.normal(0, error, (units, raters))), 1, 5)
    table[rng.random(table.shape) < holes] = np.nan
    return np.asarray(table, dtype=np.float64)


def rarely_yes(rng: np.random.Generator, units: int, raters: int) -> Floats:
    """Answer yes (1) to one unit in five, else no."""
    found: Floats = (rng.normal(0, 1, (units, 1)) + rng.normal(0, 1, (units, raters)) > 1.2).astype(np.float64)
    return found


def alpha_designs() -> Iterator[Design]:
    """Yield the designs of Krippendorff's alpha."""
    holes = partial(five_steps, holes=0.3)
    for level in LEVELS:
        for raters in (3, 5):
            for units in (10, 20, 30, 50, 200):
                yield _design(f"alpha, {level}", five_steps, units, raters, level)
        for units in (20, 50):
            yield _design(f"alpha, {level}, three of ten answers missing", holes, units, 5, level)
    close = partial(five_steps, error=0.4)
    for units in (20, 50):
        yield _design("alpha, ordinal, raters who agree well", close, units, 3, "ordinal")
    for raters in (3, 5):
        for units in (20, 50, 200):
            yield _design("alpha, nominal, one answer in five is yes", rarely_yes, units, raters, "nominal")


def other_designs() -> Iterator[Design]:
    """Yield the designs of all other coefficients; each makes one line a coefficient."""
    for raters in (2, 5):
        for units in (10, 20, 30, 50, 200):
            yield _design("five steps", five_steps, units, raters)
    for units in (20, 50):
        yield _design("three of ten answers missing", partial(five_steps, holes=0.3), units, 5)
        yield _design("one answer in five is yes", rarely_yes, units, 5)


def _design(name: str, answers: Answers, units: int, raters: int, level: str = "") -> Design:
    promised = answers is not rarely_yes and units >= (50 if level else 200)
    return Design(
        name=f"{name}, {raters} raters, {units} units",
        answers=answers,
        units=units,
        raters=raters,
        level=level,
        promised=promised,
    )


def coverage(design: Design, runs: int, seed: int) -> list[Line]:
    """Simulate one design; one line a coefficient."""
    rng = np.random.default_rng(seed)
    large = design.answers(np.random.default_rng(0), MANY, design.raters)
    truth = {one.measure: one.value for one in _measures(design, large, None)}
    held, lost = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for _ in range(runs):
        for one in _measures(design, design.answers(rng, design.units, design.raters), rng):
            _count(one, truth[one.measure], held, lost)
    return [_line(design, name, held[name], runs, lost[name]) for name in truth]


def _measures(design: Design, table: Floats, rng: np.random.Generator | None) -> list[Agreement]:
    data = reliability_data(table)
    if design.level:
        level: Any = design.level
        return [krippendorff_alpha(data, level=level, rng=rng)]
    kappa = [cohen_kappa(data)] if design.raters == 2 else []
    return [exact_agreement(data), gwet_ac1(data), fleiss_kappa(data), *kappa]


def _count(one: Agreement, truth: float | None, held: dict[str, int], lost: dict[str, int]) -> None:
    if one.ci_low is None or one.ci_high is None or truth is None:
        lost[one.measure] += 1
    else:
        held[one.measure] += one.ci_low <= truth <= one.ci_high


def _line(design: Design, measure: str, held: int, runs: int, lost: int) -> Line:
    name = design.name if design.level else f"{SHOWN[measure]}, {design.name}"
    return Line(
        name=name, nominal=NOMINAL, seen=held / max(runs - lost, 1), runs=runs, lost=lost, promised=design.promised
    )


SHOWN = {
    "exact_agreement": "exact agreement",
    "gwet_ac1": "AC1",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IccDesign:
    """Normal answers: variance 1 between units, 1 between annotators, 1 of error; a share of cells is empty."""

    units: int
    raters: int
    holes: float = 0.0

    def draw(self, rng: np.random.Generator, kind: str) -> Floats:
        """Draw a table for icc1 (annotators differ from unit to unit) or for icc2 and icc3 (they are the same)."""
        shape = (self.units, self.raters)
        annotator = rng.normal(0, 1, shape if kind == "1" else (1, self.raters))
        table: Floats = rng.normal(0, 1, (self.units, 1)) + annotator + rng.normal(0, 1, shape)
        table[rng.random(shape) < self.holes] = np.nan
        return table


def icc_designs() -> Iterator[IccDesign]:
    """Yield the designs of intraclass correlations."""
    for raters in (3, 5, 10):
        for units in (20, 30, 100):
            yield IccDesign(units=units, raters=raters)
    for raters in (3, 5):
        yield IccDesign(units=30, raters=raters, holes=0.2)


def icc_coverage(design: IccDesign, runs: int, seed: int) -> list[Line]:
    """Simulate one design; one line a form, single and of the mean together: their intervals cover alike.

    The interval of the mean of k raters is a rising function of that of one rater, and so is the truth.
    """
    rng = np.random.default_rng(seed)
    single = {"1": 1 / 3, "2": 1 / 3, "3": 1 / 2}
    forms = [form for form in FORMS if not form.endswith("k")]
    held, lost = dict.fromkeys(forms, 0), dict.fromkeys(forms, 0)
    for _ in range(runs):
        for kind in single:
            own = [form for form in forms if form[3] == kind]
            for one in every_icc(reliability_data(design.draw(rng, kind)), confidence=NOMINAL, forms=own):
                _count(one, single[kind], held, lost)  # type: ignore[arg-type]
    missing = ", two of ten answers missing" if design.holes else ""
    return [
        Line(
            name=f"{form} and {form}k, {design.raters} raters, {design.units} units{missing}",
            nominal=NOMINAL,
            seen=held[form] / max(runs - lost[form], 1),
            runs=runs,
            lost=lost[form],
            promised=not missing and form != "icc2",
        )
        for form in forms
    ]
