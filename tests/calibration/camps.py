"""Level and coverage of what is said of subgroups and camps, with known truth.

What begins with "A closer look" at the end of the page is kept. Run
``python -m tests.calibration.camps --runs 300 --out tests/calibration/camps.md``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import betainc, ndtr

from analysis.camps.mixtures import two_camps
from analysis.camps.subgroups import brown_forsythe
from analysis.camps.true_preferences import TruePreferences, true_preferences
from analysis.statistics.coding import Floats, Ints

SIZES = {"10, 10": (10, 10), "10, 40": (10, 40), "30, 30": (30, 30), "10, 20, 40": (10, 20, 40), "12 x 4": (12,) * 4}
Draw = Callable[[np.random.Generator, int, bool], Floats]


def even_chances(rng: np.random.Generator, n: int, wide: bool) -> Floats:
    """Return chances around 60%, of wide subgroups spread twice as far."""
    return np.clip(0.6 + (0.2 if wide else 0.1) * rng.normal(size=n), 0, 1)


def skewed_chances(rng: np.random.Generator, n: int, wide: bool) -> Floats:
    """Return chances of which most are near 1: beta (9, 1), of mean 0.9."""
    return rng.beta(4.5 if wide else 9, 0.5 if wide else 1, n)


def unequal_choices(rng: np.random.Generator, n: int, wide: bool) -> Floats:
    """Return shares of 1 to 12 choices, or 1 to 3."""
    given = rng.integers(1, 4 if wide else 13, n)
    return rng.binomial(given, rng.beta(6, 4, n)) / given


def five_points(rng: np.random.Generator, n: int, wide: bool) -> Floats:
    """Return mean differences of ratings of 5 points on 4 items, or 1."""
    items = 1 if wide else 4
    mood = rng.normal(0.3, 0.5, n)
    scores = [np.clip(np.round(rng.normal(3 + sign * mood / 2, 1, (items, n))), 1, 5) for sign in (1, -1)]
    return np.asarray(np.mean(scores[0] - scores[1], axis=0))


ANSWERS: dict[str, Draw] = {
    "chances around 60%": even_chances,
    "skewed chances (mean 90%)": skewed_chances,
    "choices, 1 to 12 a person": unequal_choices,
    "ratings of 5 points": five_points,
}


def subgroup_level(draw: Draw, sizes: tuple[int, ...], runs: int, rng: np.random.Generator, *, wide: bool) -> float:
    """Return how often subgroups of one mean are found to differ; the first is ``wide`` or as the others."""
    found = 0
    for _ in range(runs):
        samples = [draw(rng, n, wide and not place) for place, n in enumerate(sizes)]
        test = brown_forsythe(samples)
        found += test is not None and test.p_value <= 0.05
    return found / runs


Tastes = Callable[[np.random.Generator, int], Floats]
HILLS: dict[str, tuple[Tastes, float]] = {  # true chances of people, and the share above one half
    "beta (3, 2)": (lambda rng, n: rng.beta(3, 2, n), float(1 - betainc(3, 2, 0.5))),
    "beta (6, 4)": (lambda rng, n: rng.beta(6, 4, n), float(1 - betainc(6, 4, 0.5))),
    "beta (8, 2), skewed": (lambda rng, n: rng.beta(8, 2, n), float(1 - betainc(8, 2, 0.5))),
    "even over all chances": (lambda rng, n: rng.random(n), 0.5),
}
TIMES = {"2": (2, 2), "2 to 6": (2, 6), "8": (8, 8)}


def chosen(taste: Floats, times: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return choices of people, as many as ``times`` says."""
    person = np.repeat(np.arange(len(taste)), rng.integers(times[0], times[1] + 1, len(taste)))
    return (rng.random(len(person)) < taste[person]).astype(np.float64), person


def stated(taste: Floats, times: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return chances in steps of 5%, whose noise is a beta distribution's about the person's own."""
    person = np.repeat(np.arange(len(taste)), rng.integers(times[0], times[1] + 1, len(taste)))
    own = np.clip(taste[person], 0.01, 0.99)
    return np.round(20 * rng.beta(8 * own, 8 * (1 - own))) / 20, person


def rated(taste: Floats, times: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return differences of two ratings of 5 points, of people whose true differences are given."""
    person = np.repeat(np.arange(len(taste)), rng.integers(times[0], times[1] + 1, len(taste)))
    scores = [np.clip(np.round(rng.normal(3 + sign * taste[person] / 2, 0.9)), 1, 5) for sign in (1, -1)]
    return scores[0] - scores[1], person


def coverage(
    make: Callable[[np.random.Generator], tuple[Floats, Ints]],
    truth: float,
    spread: float | None,
    runs: int,
    rng: np.random.Generator,
    *,
    counted: bool,
    even: float,
) -> tuple[float, float, float, float | None, int]:
    """Return coverage, mean error of the share, width, mean variance over the true one, and studies not refused."""
    held, errors, widths, variances = [], [], [], []
    for _ in range(runs):
        value, person = make(rng)
        found = true_preferences(value, person, even=even, counted=counted, confidence=0.95)
        if isinstance(found, TruePreferences):
            held.append(found.low <= truth <= found.high)
            errors.append(found.share_x - truth)
            widths.append(found.high - found.low)
            variances.append(found.variance)
    ratio = None if spread is None else float(np.mean(variances)) / spread**2
    return float(np.mean(held)), float(np.mean(errors)), float(np.mean(widths)), ratio, len(held)


def subgroup_table(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the level of the test of subgroups."""
    yield "| answers | " + " | ".join(SIZES) + " |\n|---|" + "---|" * len(SIZES)
    for name, draw in ANSWERS.items():
        for wide in (False, True):
            found = [f"{100 * subgroup_level(draw, sizes, runs, rng, wide=wide):.1f}" for sizes in SIZES.values()]
            yield f"| {name}{', the first subgroup otherwise' if wide else ''} | " + " | ".join(found) + " |"


def share_table(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield coverage of the share on the side of x."""
    columns = ("true preferences", "people", "answers each", "coverage, %", "bias, pp", "width, pp", "variance / true")
    yield f"| answers | {' | '.join(columns)} |"
    yield "|---|---|---|---|---|---|---|---|"
    for people in (20, 40, 100):
        for times_name, times in TIMES.items():
            for name, (draw, truth) in HILLS.items():
                if name.startswith("even"):
                    continue
                spread = float(np.std(draw(np.random.default_rng(1), 200_000)))
                row = coverage(
                    lambda rng, draw=draw, n=people, times=times: chosen(draw(rng, n), times, rng),  # type: ignore[misc]
                    truth, spread, runs, rng, counted=True, even=0.5,
                )  # fmt: skip
                yield _share_row("choices", name, people, times_name, row)
            for mean, own in ((0.6, 0.1), (0.55, 0.15)):
                row = coverage(
                    lambda rng, m=mean, s=own, n=people, t=times: _normal(m + s * rng.normal(size=n), t, rng),  # type: ignore[misc]
                    float(ndtr((mean - 0.5) / own)), own, runs, rng, counted=False, even=0.5,
                )  # fmt: skip
                yield _share_row("chances", f"normal ({mean}, {own})", people, times_name, row)
            row = coverage(
                lambda rng, n=people, t=times: rated(rng.normal(0.4, 0.6, n), t, rng),  # type: ignore[misc]
                float(ndtr(0.4 / 0.6)), None, runs, rng, counted=False, even=0.0,
            )  # fmt: skip
            yield _share_row("ratings of 5 points", "normal (0.4, 0.6)", people, times_name, row)


def _normal(taste: Floats, times: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Ints]:
    person = np.repeat(np.arange(len(taste)), rng.integers(times[0], times[1] + 1, len(taste)))
    return taste[person] + 0.15 * rng.normal(size=len(person)), person


def _share_row(
    what: str, name: str, people: int, times: str, row: tuple[float, float, float, float | None, int]
) -> str:
    held, error, width, ratio, _ = row
    variance = "" if ratio is None else f"{ratio:.2f}"
    numbers = (f"{100 * held:.1f}", f"{100 * error:+.1f}", f"{100 * width:.0f}", variance)
    return f"| {' | '.join((what, name, str(people), times, *numbers))} |"


def camp_table(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield how often two camps are found where there is one hill, and where there are two."""
    two: Tastes = lambda rng, n: np.where(rng.random(n) < 0.65, rng.beta(16, 4, n), rng.beta(4, 12, n))  # noqa: E731
    near: Tastes = lambda rng, n: np.where(rng.random(n) < 0.65, rng.beta(14, 6, n), rng.beta(8, 12, n))  # noqa: E731
    yield "| true preferences | people | choices, 8 each | choices, 2 to 6 | chances, 2 to 6 |\n|---|---|---|---|---|"
    for people in (30, 80):
        hills = {name: draw for name, (draw, _) in HILLS.items()}
        every = {**hills, "**two camps**, 80% and 25%": two, "**two camps**, 70% and 40%": near}
        for name, draw in every.items():
            cells = []
            for make, times, counted in ((chosen, (8, 8), True), (chosen, (2, 6), True), (stated, (2, 6), False)):
                found = 0
                for _ in range(runs):
                    value, person = make(draw(rng, people), times, rng)
                    found += two_camps(value, person, counted=counted, bounded=True, rng=rng).p_value <= 0.05
                cells.append(f"{100 * found / runs:.1f}")
            yield f"| {name} | {people} | " + " | ".join(cells) + " |"


def document(runs: int, seed: int, real: str) -> str:
    """Return the whole page."""
    rng = np.random.default_rng(seed)
    camp_runs = max(runs // 5, 20)
    error, camp_error = (196 * math.sqrt(0.05 * 0.95 / n) for n in (runs, camp_runs))
    subgroups = "\n".join(subgroup_table(4 * runs, rng))
    shares = "\n".join(share_table(runs, rng))
    camps = "\n".join(camp_table(camp_runs, rng))
    return f"""# Subgroups and camps

Made by `python -m tests.calibration.camps --runs {runs}`, seed {seed}.

## Do subgroups prefer differently? Level of the test

False findings at 5%, {4 * runs:,} studies a cell ({error / 2:.1f} points of Monte Carlo error, 95%). Columns: people
of each subgroup. Subgroups have one mean; "otherwise": the first is spread differently, so that variances differ too.

{subgroups}

## The share who truly prefer a system: coverage of 95% intervals

{runs:,} studies a row ({error:.1f} points of error). Where people's own shares can hardly be told from noise (few
people, two choices each) the interval is wide and holds more than it says. Bias is that of the share.

{shares}

## Two camps

Two camps found at 5%, {camp_runs:,} studies a cell ({camp_error:.1f} points of error): falsely, but for the rows of
two camps, which show power.

{camps}
{real}"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    chosen_options = parser.parse_args()
    before = chosen_options.out.read_text(encoding="utf-8") if chosen_options.out.exists() else ""
    _, mark, rest = before.partition("\n## A closer look\n")
    real = "\n## A closer look\n" + rest if mark else ""
    chosen_options.out.write_text(document(chosen_options.runs, chosen_options.seed, real), encoding="utf-8")


if __name__ == "__main__":
    main()
