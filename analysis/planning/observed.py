"""Observed power, as in Figure 2 of Ethayarajh & Jurafsky (2022), and what its Table 1 says about that figure.

Observed power is the power at the effect that a study happened to find. It is a function of
the p-value and nothing else (Hoenig & Heisey 2001), so it says nothing about a study to come:
nothing here is used for planning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from analysis.planning.plan import CURVE_POINTS, Kind, assumed
from analysis.planning.power import t_power
from analysis.statistics.record import Record

PUBLISHED_N = 90  # annotators after exclusions (its section 6.3)
FIGURE_ALPHA = 0.001  # of its Figure 2
LEVELS = {"***": (0.0, 0.01), "**": (0.01, 0.05), "*": (0.05, 0.10), "": (0.10, 1.0)}  # adjusted p of its stars


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTest:
    """A row of Table 1: mean difference from the null value, and its stars (Holm, five tests)."""

    system_x: str
    system_y: str
    difference: float
    stars: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPower:
    """What stars and mean together allow: bounds of the SD and of the observed power.

    A bound is ``None`` where the stars set none.
    """

    test: PublishedTest
    n: int
    alpha: float
    sd_low: float | None
    sd_high: float | None
    power_low: float
    power_high: float


_PAIRS = (("ada", "human"), ("babbage", "ada"), ("curie", "babbage"), ("davinci", "curie"), ("human", "davinci"))


def _table(rows: Sequence[tuple[float, str]]) -> tuple[PublishedTest, ...]:
    return tuple(
        PublishedTest(system_x=x, system_y=y, difference=difference, stars=stars)
        for (x, y), (difference, stars) in zip(_PAIRS, rows, strict=True)
    )


TABLE_1_SPA = _table([(-0.080, "*"), (0.188, "***"), (0.130, "***"), (0.075, "***"), (0.044, "")])
TABLE_1_LIKERT = _table([(-0.822, "***"), (0.644, "***"), (0.322, ""), (0.244, ""), (-0.389, "*")])


def observed_power(
    family: Sequence[PublishedTest], *, n: int = PUBLISHED_N, alpha: float = FIGURE_ALPHA
) -> tuple[ObservedPower, ...]:
    """Bound SDs and observed power of a Holm family of which only means and stars are known.

    The tests of one star level hold the ranks a..b of the k p-values. Their raw p-values lie
    between low / (k - a + 1) and high / (k - b + 1), with the level's bounds of the adjusted
    p-value; t follows from p, the SD from t, mean and n, and the power from t alone.

    Parameters
    ----------
    family : sequence of PublishedTest
        All tests that were corrected together.
    n : int
        Annotators tested.
    alpha : float
        Level at which power is reckoned.

    References
    ----------
    Hoenig, J. M. and Heisey, D. M. (2001). The abuse of power. The American Statistician, 55(1), 19-24.
    """
    k = len(family)
    rows = []
    for test in family:
        low, high = LEVELS[test.stars]
        first = 1 + sum(LEVELS[other.stars][0] < low for other in family)
        last = sum(LEVELS[other.stars][0] <= low for other in family)
        p_low, p_high = low / (k - first + 1), min(1.0, high / (k - last + 1))
        t_high = math.inf if p_low == 0 else -float(stdtrit(n - 1, p_low / 2))
        t_low = 0.0 if p_high == 1 else -float(stdtrit(n - 1, p_high / 2))
        scaled = abs(test.difference) * math.sqrt(n)
        rows.append(
            ObservedPower(
                test=test,
                n=n,
                alpha=alpha,
                sd_low=None if math.isinf(t_high) else scaled / t_high,
                sd_high=None if t_low == 0 else scaled / t_low,
                power_low=_power(t_low, n, alpha),
                power_high=1.0 if math.isinf(t_high) else _power(t_high, n, alpha),
            )
        )
    return tuple(rows)


def _power(t: float, n: int, alpha: float) -> float:
    return float(t_power(t / math.sqrt(n), n, alpha=alpha))


PLANNED: dict[Kind, float] = {"spa": 0.1, "likert": 0.3}  # differences whose planned power is drawn beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint(Record):
    """Power by so many annotators at the effect found, and at the one planned for (``None`` without a plan)."""

    annotators: int
    observed: float
    planned: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPowerRow(Record):
    """One test: ``effect`` is what it found in standard deviations, t / root(n), held constant along ``curve``."""

    source: str
    group: str
    criterion: str
    exposure: int | None
    system_x: str
    system_y: str
    n: int
    alpha: float
    p_value: float
    effect: float
    power: float
    planned_for: str | None
    planned_sd: float | None
    curve: tuple[CurvePoint, ...]


def observed_power_rows(results: Mapping[str, Any], *, alpha: float = FIGURE_ALPHA) -> list[ObservedPowerRow]:
    """Reckon power by annotators with the effect found held constant, for every test that counts annotators.

    It restates the p-value (Hoenig & Heisey 2001) and is no evidence: for reproducing the figure only.

    Parameters
    ----------
    results : mapping
        With ``groups``, ``study``, ``preferences`` and ``ratings`` of results.json; LLMs and tests by item are
        left out.
    alpha : float
        Level of each test, uncorrected as in the figure.
    """
    llms = {row["group"] for row in results["groups"] if row["annotator_kind"] == "llm"}
    asked = (results["study"] or {}).get("elicitations", ("spa", "likert"))
    tests: list[tuple[str, Kind | None, Mapping[str, Any]]] = [
        ("preferences", "spa", row) for row in results["preferences"]
    ]
    for row in results["ratings"]["pairs"]:
        likert = "likert" in asked and "(" not in row["criterion"]  # "fluency (continuous)" has another scale
        if row["unit"] == "annotator" and row["test"] == "paired t" and row["p_adjusted"] is not None:
            tests.append(("ratings", "likert" if likert else None, row))
    tests = [one for one in tests if one[2]["t"] is not None and one[2]["group"] not in llms]
    most = 2 * max((row["n"] for _, _, row in tests), default=1)
    shared = {*np.linspace(2, most, CURVE_POINTS).astype(int).tolist()}
    found = []
    for source, kind, row in tests:
        effect, counts = abs(row["t"]) / math.sqrt(row["n"]), sorted(shared | {row["n"]})
        plan = assumed(kind) if kind else None
        observed = t_power(effect, counts, alpha=alpha).tolist()
        planned = t_power(PLANNED[plan.kind] / plan.sd, counts, alpha=alpha).tolist() if plan else [None] * len(counts)
        found.append(
            ObservedPowerRow(
                **{key: row[key] for key in ("group", "criterion", "system_x", "system_y", "n", "p_value")},
                source=source,
                exposure=row.get("exposure"),
                alpha=alpha,
                effect=effect,
                power=observed[counts.index(row["n"])],
                planned_for=plan.shown(PLANNED[plan.kind]) if plan else None,
                planned_sd=plan.sd if plan else None,
                curve=tuple(
                    CurvePoint(annotators=number, observed=own, planned=other)
                    for number, own, other in zip(counts, observed, planned, strict=True)
                ),
            )
        )
    return found
