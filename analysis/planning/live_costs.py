"""What a study costs that ends when its pairs are decided, beside one of fixed size with the same simulated power."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace

import numpy as np
from scipy.special import stdtr

from analysis.planning.assumptions import Assumptions
from analysis.planning.contributions import answers
from analysis.planning.plan import LiveCost, Truth
from analysis.planning.simulate import holm_rejects
from analysis.sequential.family import FUTILE, X
from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Tally
from analysis.statistics.coding import Floats
from spa.forms.effort import SECONDS_A_QUESTION

CELLS = 120_000  # answers simulated for one scenario: half a second
STUDIES = 300  # at most
FEWEST = 40  # below which nothing is said
TIMES = (1.0, 1.5, 2.0, 3.0)  # the difference, of pairs that differ unequally
LONGEST = 2.5  # times the fixed number that a simulated live study can last


def live_costs(
    assumptions: Assumptions,
    *,
    difference: float,
    power: float,
    units: int,
    rule: StoppingRule | None,
    minutes: float | None,
    rng: np.random.Generator,
    hypotheses: int | None = None,
) -> tuple[LiveCost, ...]:
    """Simulate live studies in which every pair differs alike, in which they do unequally, and in which only one does.

    Parameters
    ----------
    assumptions : Assumptions
        What the plan takes for granted.
    difference, power : float
        To be found; SPA: mean preference minus 0.5; Likert: points.
    units : int
        Annotators whom the plan with a fixed number needs.
    rule : StoppingRule or None
        The study's own; ``None``: bets planned for the difference.
    minutes : float or None
        That one annotator needs for all questions.
    rng : numpy.random.Generator
        Source of randomness.
    hypotheses : int, optional
        What the live study decides as one family: pairs x exposures x deciding criteria; default: ``n_tests``. The
        study of fixed size corrects in families of ``n_tests``.

    Returns
    -------
    tuple of LiveCost
        Empty for counts, which bets cannot decide, and where nothing pairs, pairs are dealt, the answers cannot be
        drawn, take too long to simulate, or never reach the power.
    """
    if assumptions.kind == "spans" or assumptions.own_items is not None or assumptions.meets < 1:
        return ()
    longest = math.ceil(LONGEST * units * (1 - assumptions.exclusion_rate))
    n_tests = hypotheses or assumptions.n_tests
    studies = min(STUDIES, CELLS // (longest * n_tests))
    try:
        same, other = (_on_unit_scale(assumptions, value) for value in (0.0, difference))
        differences = _unequal(assumptions, difference, n_tests)
        unequal = [_on_unit_scale(assumptions, value) for value in differences]
    except ValueError:
        return ()
    effect = min(0.49, difference if assumptions.kind != "likert" else difference / assumptions.largest / 2)
    own = rule or StoppingRule(error_rate=assumptions.fwer, effect=effect, least=10)
    if studies < FEWEST or longest <= own.least:
        return ()
    families: dict[Truth, list[tuple[Floats, Floats]]] = {"all differ": [other] * n_tests}
    if n_tests > 1:
        families |= {"unequal": unequal, "one differs": [other] + [same] * (n_tests - 1)}
    found = []
    for truth, drawn in families.items():
        smallest = [place for place in range(n_tests) if truth == "all differ" or place % len(set(differences)) == 0]
        hard = smallest[:1] if truth == "one differs" else smallest
        size = (studies, longest)
        values = np.stack([rng.choice(points, size=size, p=chances) for points, chances in drawn], axis=-1)
        cost = _cost(assumptions, values, hard, replace(own, most=None), power, minutes)
        if cost is not None:
            largest = max(differences) if truth == "unequal" else difference
            found.append(replace(cost, difference=difference, largest_difference=largest, truth=truth))
    return tuple(found)


def _cost(
    assumptions: Assumptions, values: Floats, hard: list[int], rule: StoppingRule, power: float, minutes: float | None
) -> LiveCost | None:
    """Return the cost with the fewest annotators at most that finds what is ``hard`` with the power, if any."""
    studies, longest, n_tests = values.shape
    most = _most(values, hard, rule, power)
    if most is None:
        return None
    most = max(most, rule.least)
    ended = replay(values[:, :most], replace(rule, most=most))
    closed = np.where(ended.decisions == "", most, ended.decided_at).max(axis=1)
    reached = float((ended.decisions == "x")[:, hard].mean())

    def enough(n: int) -> bool:
        return _holm_power(values[:, :n], hard, assumptions.fwer, assumptions.n_tests) >= reached

    if not enough(longest):
        return None
    fixed = bisect_left(range(longest), True, lo=2, key=enough)
    recruited = 1 / (1 - assumptions.exclusion_rate)
    directions = assumptions.directions if assumptions.kind == "spa" else None
    asked = None if directions is None else float(ended.n.sum(axis=1).mean()) * directions * recruited
    all_asked = None if directions is None else fixed * n_tests * directions * recruited
    annotators = float(closed.mean()) * recruited
    spent = None
    if minutes is not None and asked is not None and directions is not None:
        spared = annotators * n_tests * directions - asked
        spent = annotators * minutes - spared * SECONDS_A_QUESTION / 60
    return LiveCost(
        difference=0.0,
        largest_difference=0.0,
        power=reached,
        truth="all differ",
        studies=studies,
        most=math.ceil(most * recruited),
        annotators=annotators,
        fixed=math.ceil(fixed * recruited),
        questions=asked,
        fixed_questions=all_asked,
        minutes=spent,
        fixed_minutes=None if spent is None or minutes is None else fixed * recruited * minutes,
    )


def _most(values: Floats, hard: list[int], rule: StoppingRule, power: float) -> int | None:
    """Return after how many units the share of right decisions of what is ``hard`` reaches the power, if ever."""
    tally = Tally.start(rule, (len(values), values.shape[2]))
    for unit in range(values.shape[1]):
        tally = tally.after(np.where(tally.marks == FUTILE, np.nan, values[:, unit]), rule)
        if np.mean(tally.marks[:, hard] == X) >= power:
            return unit + 1
    return None


def _holm_power(values: Floats, hard: list[int], fwer: float, family: int | None = None) -> float:
    """Return the mean chance that Holm's t-tests find the differences at these places, in their direction.

    Families of ``family`` tests each (default: all) follow one another; one that is larger than all has other tests
    that find nothing. As in the report answers that are all alike are no test, and all count where some are unanimous.
    """
    studies, n, k = values.shape
    family = family or k
    mean, alike = values.mean(axis=1), values.min(axis=1) == values.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean - 0.5) / (values.std(axis=1, ddof=1) / math.sqrt(n))
    p_values = np.where(alike, np.nan, 2 * stdtr(n - 1, -np.abs(t)))
    unanimous = alike & (values[:, 0] != 0.5)
    if family > k:
        p_values = np.concatenate([p_values, np.ones((studies, family - k))], axis=1)
        unanimous = np.concatenate([unanimous, np.zeros((studies, family - k), dtype=bool)], axis=1)
    counting = unanimous.reshape(-1, family).any(axis=1)
    rejected = holm_rejects(p_values.reshape(-1, family), fwer=fwer, counting_all=counting)
    found = rejected.reshape(studies, -1)[:, :k] & (t > 0)
    return float(found[:, hard].mean())


def _on_unit_scale(assumptions: Assumptions, difference: float) -> tuple[Floats, Floats]:
    points, chances = answers(assumptions, difference)
    if assumptions.kind == "likert":
        points = (points / assumptions.largest + 1) / 2
    return points, chances


def _unequal(assumptions: Assumptions, difference: float, n_tests: int) -> list[float]:
    """Return 1, 1.5, 2 and 3 times a difference in turn, as far as answers of this SD can differ."""
    possible = []
    for times in TIMES:
        try:
            answers(assumptions, difference * times)
        except ValueError:
            break
        possible.append(difference * times)
    return [possible[place % len(possible)] for place in range(n_tests)]
