"""Questions and minutes that a live study saves against a fixed one of the same power."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

from analysis.sequential.replay import Replay, replay
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from tests.calibration.sequential_errors import RULE, Draw, choices, preferences
from tests.calibration.sequential_holm import holm_replay

POWER = 0.8
START_MINUTES = 2  # of a person: consent and instructions; a pair takes one minute


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCost:
    """What a live study costs on average beside the fixed one."""

    fixed: int  # people
    most: int
    people: float
    questions: Floats  # of each pair
    decided_equal: float | None

    @property
    def fewer_questions(self) -> float:
        """Share of the fixed study's questions."""
        return float(1 - self.questions.sum() / self.fixed / len(self.questions))

    @property
    def fewer_minutes(self) -> float:
        """Share of the fixed study's minutes."""
        live = START_MINUTES * self.people + self.questions.sum()
        return float(1 - live / self.fixed / (START_MINUTES + len(self.questions)))


def fixed_people(values: Floats, level: float) -> int:
    """Return the smallest number of people with which Holm's t-tests find the first pair in 80 % of studies."""
    low, high = 2, values.shape[1]
    while low < high:
        n = (low + high) // 2
        low, high = (low, n) if _power(values[:, :n], level) >= POWER else (n + 1, high)
    return low


def _power(values: Floats, level: float) -> float:
    n, k = values.shape[1:]
    spread = values.std(axis=1, ddof=1) / n**0.5
    p_value = 2 * stdtr(n - 1, -abs(values.mean(axis=1) - 0.5) / np.maximum(spread, 1e-12))
    order = np.argsort(p_value, axis=-1)
    steps = np.take_along_axis(p_value, order, axis=-1) <= level / np.arange(k, 0, -1)
    return float((np.logical_and.accumulate(steps, axis=-1) & (order == 0)).any(axis=-1).mean())


def cost(
    values: Floats,
    rule: StoppingRule,
    fixed: int,
    even: Floats | None = None,
    replay: Callable[[Floats, StoppingRule], Replay] = replay,
) -> LiveCost:
    """Return what the live study costs whose longest duration gives the first pair the same power.

    Parameters
    ----------
    values : array of float, shape (n_studies, n_units, k)
        From which the duration follows.
    rule : StoppingRule
        With ``most``, futility is judged and its largest power loss is paid for by a longer duration.
    fixed : int
        People of the fixed study.
    even : array of float or None
        Values that are true instead when costs are counted.
    replay : function
        How a study decides.
    """
    low, high = 2, values.shape[1]
    while low < high:
        most = (low + high) // 2
        found = replay(values[:, :most], _until(rule, most))
        low, high = (low, most) if (found.decisions[:, 0] == "x").mean() >= POWER else (most + 1, high)
    found = replay((values if even is None else even)[:, :low], _until(rule, low))
    equal = None if rule.margin is None else float((found.decisions[:, -1] == "equal").mean())
    return LiveCost(
        fixed=fixed,
        most=low,
        people=float(found.n.max(axis=-1).mean()),
        questions=found.n.mean(axis=0),
        decided_equal=equal,
    )


def _until(rule: StoppingRule, most: int) -> StoppingRule:
    return rule if rule.most is None else replace(rule, most=most)


FOUR = (0.6, 0.65, 0.7, 0.8)
CHOICES = StoppingRule(effect=0.1, sd=0.45)
ROWS: tuple[tuple[str, Draw, tuple[float, ...], StoppingRule, bool], ...] = (
    ("60, 65, 70, 80 %", preferences, FOUR, RULE, False),
    ("the same, Holm", preferences, FOUR, RULE, False),
    ("60, 65, 70, 80, 50 %", preferences, (*FOUR, 0.5), RULE, False),
    ("the same, futility", preferences, (*FOUR, 0.5), replace(RULE, most=100), False),
    ("the same, margin .10", preferences, (*FOUR, 0.5), replace(RULE, margin=0.1), False),
    ("planned SD .15", preferences, FOUR, replace(RULE, sd=0.15), False),
    ("planned SD .35", preferences, FOUR, replace(RULE, sd=0.35), False),
    ("planned effect .20", preferences, FOUR, replace(RULE, effect=0.2), False),
    ("planned effect .05", preferences, FOUR, replace(RULE, effect=0.05), False),
    ("choices: 60 % and three even", choices, (0.6, 0.5, 0.5, 0.5), CHOICES, False),
    ("four even pairs, planned for that", choices, (0.6, 0.5, 0.5, 0.5), CHOICES, True),
    ("the same, futility", choices, (0.6, 0.5, 0.5, 0.5), replace(CHOICES, most=100), True),
)


def table(runs: int, seed: int) -> Iterator[str]:
    """Yield the rows."""
    yield "| pairs | fixed | longest live | people | questions a pair | fewer questions | fewer minutes |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, draw, means, rule, null in ROWS:
        rng, people = np.random.default_rng([seed, 7]), 150 if draw is preferences else 600
        values = draw(rng, (runs, people, len(means)), np.array(means))
        even = draw(rng, values.shape, np.full(len(means), 0.5)) if null else None
        how = holm_replay if "Holm" in name else replay
        found = cost(values, rule, fixed_people(values, rule.error_rate), even, how)
        questions = ", ".join(f"{number:.0f}" for number in found.questions)
        equal = "" if found.decided_equal is None else f" (even pair: equal in {100 * found.decided_equal:.0f} %)"
        yield (
            f"| {name}{equal} | {found.fixed} | {found.most} | {found.people:.1f} | {questions} | "
            f"{100 * found.fewer_questions:.0f} % | {100 * found.fewer_minutes:.0f} % |"
        )
