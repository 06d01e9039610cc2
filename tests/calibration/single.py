"""Error rates of single tests: Williams, correlations, equivalence, the alternative annotator; Davidson's intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from analysis import Plan, alternative_annotator_test, correlate, fit_davidson, williams
from analysis.comparisons.equivalence import with_equivalence
from analysis.comparisons.preferences import PreferenceTest
from analysis.correlations.coefficients import Method
from analysis.rating_checks.crossed import crossed_test
from analysis.statistics.coding import Floats
from tests.calibration import draw
from tests.calibration.draw import People
from tests.calibration.studies import run_studies
from tests.calibration.table import Line

LEVEL = 0.05
SKILL = 0.8  # of a person: chance of the right one of two labels
STRENGTHS = np.array([0.6, 0.2, -0.1, -0.7])
TIES = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A test whose null hypothesis is true, ``study`` returning the share of false findings (None: no test)."""

    name: str
    study: Callable[[np.random.Generator], float | None]
    promised: bool = True
    nominal: float = LEVEL


def designs() -> Iterator[Design]:
    """Yield the tests of the table."""
    for n in (10, 30, 100):
        yield Design(name=f"Williams's test, Pearson, {n} units", study=partial(_williams, n=n, method="pearson"))
    for n in (10, 30):
        yield Design(name=f"Williams's test, Kendall, {n} units", study=partial(_williams, n=n, method="kendall"))
    methods: tuple[Method, ...] = ("pearson", "spearman", "kendall")
    for method in methods:
        for n in (5, 10, 30):
            yield Design(
                name=f"{method.capitalize()}'s correlation is 0, {n} values",
                study=partial(_none, n, method),
                promised=method != "spearman" or n > 5,  # p from t, as scipy's: too small for so few values
            )
    for annotators, items in ((3, 30), (10, 10), (20, 10), (20, 30)):
        yield Design(
            name=f"{annotators} annotators and {items} items, both random, crossed test",
            study=partial(_crossed, annotators, items),
            promised=annotators >= 10,
        )
    for n in (30, 100):
        for counted, what in ((False, "one person"), (True, "any of three people")):
            yield Design(
                name=f"alternative annotator, {n} units, at the bound: LLM wins against {what}",
                study=partial(_alternative, n=n, any_of_them=counted),
            )


def davidson_designs() -> Iterator[Design]:
    """Yield the designs of Davidson's strengths; what is counted are intervals that hold the truth."""
    for n in (20, 100):
        yield Design(
            name=f"Davidson's strengths, four systems, {n} independent comparisons a pair",
            study=partial(_davidson, n),
            nominal=0.95,
        )


def simulate(design: Design, runs: int, seed: int) -> Line:
    """Average the shares over runs."""
    rng = np.random.default_rng(seed)
    found = [design.study(rng) for _ in range(runs)]
    tested = [one for one in found if one is not None]
    return Line(
        name=design.name,
        nominal=design.nominal,
        seen=sum(tested) / max(len(tested), 1),
        runs=runs,
        lost=runs - len(tested),
        promised=design.promised,
    )


def equivalence(annotators: int, runs: int, seed: int) -> Line:
    """Count how often two systems that differ by exactly the margin are called equivalent."""
    people = People(annotators=100_000, liking=(0.0, 0.3))
    rng = np.random.default_rng(seed)
    (truth,), _ = run_studies("preferences", draw.preferences(np.random.default_rng(0), 1, people), Plan())
    people = People(annotators=annotators, liking=people.liking)
    found, _ = run_studies("preferences", draw.preferences(rng, runs, people), Plan())
    tests = [test for test in found if isinstance(test, PreferenceTest)]
    judged = with_equivalence(tests, margin=abs(truth.effect), fwer=LEVEL, confidence=0.95, family="criterion")
    seen = sum(bool(test.equivalent) for test in judged) / runs
    name = f"equivalence, preferences of {annotators} annotators, the difference is the margin"
    return Line(name=name, nominal=LEVEL, seen=seen, runs=runs, promised=True)


def _williams(rng: np.random.Generator, *, n: int, method: Method) -> float | None:
    target = rng.normal(size=n)
    shared = rng.normal(size=n)
    one, other = (target + 0.7 * shared + rng.normal(size=n) for _ in range(2))
    r12, r13, r23 = (correlate(x, y, method=method).value for x, y in ((target, one), (target, other), (one, other)))
    if r12 is None or r13 is None or r23 is None:
        return None
    found = williams(r12, r13, r23, n)
    return None if found.p_two_sided is None else float(found.p_two_sided <= LEVEL)


def _none(n: int, method: Method, rng: np.random.Generator) -> float | None:
    found = correlate(rng.normal(size=n), rng.normal(size=n), method=method)
    return None if found.p_value is None else float(found.p_value <= LEVEL)


def _crossed(annotators: int, items: int, rng: np.random.Generator) -> float | None:
    """Differences of ratings: what annotators and items favour (spread 0.7 each) and noise (1.1)."""
    shape = (annotators, items)
    value = rng.normal(0, 0.7, (annotators, 1)) + rng.normal(0, 0.7, (1, items)) + rng.normal(0, 1.1, shape)
    annotator, item = (place.ravel() for place in np.indices(shape))
    found = crossed_test(value.ravel(), annotator, item)
    return None if found.p_value is None else float(found.p_value <= LEVEL)


def _alternative(rng: np.random.Generator, *, n: int, any_of_them: bool, epsilon: float = 0.1) -> float | None:
    """Draw two labels by three people of one skill and by an LLM that is worse by just ``epsilon``.

    A person has an edge over the LLM on (SKILL - skill) (2 SKILL - 1) more of the units: the two others
    agree on the right label SKILL^2 of the time, on the wrong one (1 - SKILL)^2.
    """
    skill = SKILL - epsilon / (2 * SKILL - 1)
    people, llm = rng.random((n, 3)) < SKILL, rng.random(n) < skill
    found = alternative_annotator_test(people.astype(int), llm.astype(int), scoring="accuracy", epsilon=epsilon)
    if any_of_them:
        return float(any(one.won for one in found.annotators))
    p_values = [one.p_value for one in found.annotators if one.p_value is not None]
    return float(np.mean(np.array(p_values) <= LEVEL)) if p_values else None


def _davidson(n: int, rng: np.random.Generator) -> float | None:
    k = len(STRENGTHS)
    wins, ties = np.zeros((k, k)), np.zeros((k, k))
    for x, y in combinations(range(k), 2):
        share: Floats = np.exp([STRENGTHS[x], STRENGTHS[y], np.log(TIES) + (STRENGTHS[x] + STRENGTHS[y]) / 2])
        wins[x, y], wins[y, x], ties[x, y] = rng.multinomial(n, share / share.sum())
        ties[y, x] = ties[x, y]
    found = fit_davidson(wins, ties, [str(number) for number in range(k)])
    if not np.isfinite(found.se).all():
        return None
    away = np.abs(found.strength - (STRENGTHS - STRENGTHS.mean()))
    return float(np.mean(away <= ndtri(0.975) * found.se))
