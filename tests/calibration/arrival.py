"""Live studies in which fast people like other systems than slow ones, counted as they complete and as they begin.

``python -m tests.calibration.arrival --out FILE`` writes the table, as ``make calibrate`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.sequential.replay import replay
from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from tests.calibration.command import write_table

MOST, WAVE = 60, 10
TASTE_SD = 0.22  # of a preference
SPEED_SD = 0.5  # of the logarithm of the time that a form takes; its median is 1
LIMIT = 4.0  # [people] minutes_allowed, in times of the form
LEAVING = 0.1  # share of those who begin and never complete
BATCH = 1000  # studies in memory
CORRELATIONS = (0.0, 0.2, 0.4)
RULE = StoppingRule(effect=0.1, least=10)
HEAD = """# Who counts first in a live study

Fast people may like other systems than slow ones. Studies of one pair with at most {most} annotators ({runs:,} a row,
seed {seed}, `make calibrate`): a preference has SD {taste}, and speed (log-normal, SD {speed} of the logarithm)
correlates with it; {leaving:.0%} leave without a word. Each pair of columns: counted as completed, as begun.
**decide**: share of studies of equal systems that decide (%), promised are 5 %; the rest of a true mean of .6: how many
counted until the decision, how many had begun by then, and when, in forms of median length. Studies without a decision
are left out.

Whoever completes first comes from the fast ones, so that completion order is biased wherever many work at once, which
no correction of error rates mends. In the order of beginning it is not, at the price of waiting for the slowest of
those who began before: at most {limit:g} forms' time.

| people begin | correlation | decide | | counted | | had begun | | time | |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """How at most so many people come: ``gap`` forms' times between two on average; ``None``: in waves."""

    name: str
    gap: float | None
    people: int = 2 * MOST

    def begin(self, rng: np.random.Generator, time_taken: Floats) -> Floats:
        """Return when each of the people begins whose time is known, shape (n_studies, n_people)."""
        studies, people = time_taken.shape
        if self.gap is not None:
            return np.cumsum(rng.exponential(self.gap, (studies, people)), axis=1)
        waves = np.minimum(time_taken, LIMIT).reshape(studies, -1, WAVE)
        half_done = np.sort(waves, axis=2)[:, :, WAVE // 2 - 1]  # then the next wave is opened
        starts = np.cumsum(half_done, axis=1) - half_done
        return np.repeat(starts, WAVE, axis=1)


ARRIVALS = (
    Arrivals(name="all at once", gap=0.0, people=70),
    Arrivals(name="one a twentieth form", gap=0.05),
    Arrivals(name="one a fifth form", gap=0.2),
    Arrivals(name="in waves of ten", gap=None),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decided:
    """What studies found in one order: whether they decided, after how many, who had begun, and when."""

    decided: np.ndarray
    counted: Floats
    begun: Floats
    time: Floats


def study(rng: np.random.Generator, arrivals: Arrivals, correlation: float, mean: float, runs: int) -> list[Decided]:
    """Return what studies find as people completed, and as they began."""
    slow = rng.normal(size=(runs, people := arrivals.people))
    taste = -correlation * slow + (1 - correlation**2) ** 0.5 * rng.normal(size=(runs, people))
    values = np.clip(mean + TASTE_SD * taste, 0, 1)
    taken = np.exp(SPEED_SD * slow)
    taken[rng.random((runs, people)) < LEAVING] = np.inf
    begin = arrivals.begin(rng, taken)
    done = begin + taken
    in_time = taken <= LIMIT
    known = np.maximum.accumulate(begin + np.minimum(taken, LIMIT), axis=1)
    by_completion = np.argsort(done, axis=1, kind="stable")
    by_beginning = np.argsort(~in_time, axis=1, kind="stable")  # those in time, as they began
    return [
        _decide(values, by_completion, np.where(np.isfinite(done), done, np.inf), begin),
        _decide(values, by_beginning, np.where(in_time, known, np.inf), begin),
    ]


def _decide(values: Floats, order: np.ndarray, known: Floats, begin: Floats) -> Decided:
    """Replay the first MOST who count; ``known`` says when it is known that somebody counts."""
    first = order[:, :MOST]
    times = np.take_along_axis(known, first, axis=1)
    given = np.where(np.isfinite(times), np.take_along_axis(values, first, axis=1), np.nan)
    found = replay(given[..., None], RULE)
    decided = np.isin(found.decisions[:, 0], ("x", "y"))
    after = np.where(decided, found.decided_at[:, 0], MOST)
    moment = np.take_along_axis(times, after[:, None].astype(int) - 1, axis=1)
    return Decided(
        decided=decided,
        counted=after.astype(float),
        begun=(begin <= moment).sum(axis=1).astype(float),
        time=moment[:, 0],
    )


def rows(runs: int, seed: int) -> Iterator[str]:
    """Yield a row of the table for each way of coming and correlation."""
    for arrivals in ARRIVALS:
        for correlation in CORRELATIONS:
            rng = np.random.default_rng([seed, ARRIVALS.index(arrivals), round(10 * correlation)])
            false = _many(rng, arrivals, correlation, 0.5, runs)
            true = _many(rng, arrivals, correlation, 0.6, runs)
            cells = [arrivals.name, f"{correlation:.1f}", *(f"{100 * one.decided.mean():.1f}" for one in false)]
            for name in ("counted", "begun", "time"):
                cells += [f"{getattr(one, name)[one.decided].mean():.1f}" for one in true]
            yield f"| {' | '.join(cells)} |\n"


def _many(
    rng: np.random.Generator, arrivals: Arrivals, correlation: float, mean: float, runs: int
) -> tuple[Decided, ...]:
    parts = [study(rng, arrivals, correlation, mean, min(BATCH, runs - start)) for start in range(0, runs, BATCH)]
    names = ("decided", "counted", "begun", "time")
    return tuple(
        Decided(**{name: np.concatenate([getattr(part[place], name) for part in parts]) for name in names})
        for place in range(2)
    )


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document."""
    head = HEAD.format(most=MOST, runs=runs, seed=seed, taste=TASTE_SD, speed=SPEED_SD, leaving=LEAVING, limit=LIMIT)
    yield head + "".join(rows(runs, seed))


if __name__ == "__main__":
    write_table("arrival", __doc__, write, runs=10_000, each="a row")
