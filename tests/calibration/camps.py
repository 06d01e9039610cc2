"""Level and coverage of what is said of subgroups and camps, with known truth.

Run ``python -m tests.calibration.camps --runs 300 --out tests/calibration/camps.md``; what else stands there is kept.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.special import betainc, ndtr

from analysis.camps.mixtures import two_camps
from analysis.camps.subgroups import (
    FEWEST,
    FEWEST_SKEWED,
    brown_forsythe,
    is_small_and_skewed,
    most_degrees,
    small_and_constant,
)
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


def lopsided_choices(rng: np.random.Generator, n: int, wide: bool) -> Floats:
    """Return shares of 1 to 12 choices, or single ones, of people of whom most prefer one system (mean 80%)."""
    given = np.ones(n, dtype=np.int64) if wide else rng.integers(1, 13, n)
    return rng.binomial(given, rng.beta(8, 2, n)) / given


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
    "choices of 80%, 1 to 12 a person": lopsided_choices,
    "ratings of 5 points": five_points,
}


def higher_chances(rng: np.random.Generator, n: int, first: bool) -> Floats:
    """Return chances around 60%, of the first subgroup 10 points higher."""
    return even_chances(rng, n, False) + 0.1 * first


def higher_choices(rng: np.random.Generator, n: int, first: bool) -> Floats:
    """Return shares of 1 to 12 choices around 60%, of the first subgroup around 80%."""
    given = rng.integers(1, 13, n)
    return rng.binomial(given, rng.beta(8, 2, n) if first else rng.beta(6, 4, n)) / given


DIFFERENT: dict[str, Draw] = {
    "**differ**: chances around 60%, the first around 70%": higher_chances,
    "**differ**: choices, 1 to 12 a person, of 60%, the first of 80%": higher_choices,
}


def subgroup_level(
    draw: Draw, sizes: tuple[int, ...], runs: int, rng: np.random.Generator, *, wide: bool
) -> tuple[float, float]:
    """Return how often subgroups of one mean are found to differ, of all studies, and how often that is not tested.

    The first is ``wide`` or as the others.
    """
    found = refused = 0
    for _ in range(runs):
        samples = [draw(rng, n, wide and not place) for place, n in enumerate(sizes)]
        if is_small_and_skewed(samples) or small_and_constant(samples):
            refused += 1
            continue
        test = brown_forsythe(samples, most_df=most_degrees(samples))
        found += test is not None and test.p_value <= 0.05
    return found / runs, refused / runs


Answering = Callable[[Floats, tuple[int, int], np.random.Generator], tuple[Floats, Ints]]
Way = tuple[Answering, tuple[int, int]]
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


def cut_off(taste: Floats, times: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return chances in steps of 5% with normal noise (20 points), cut off at 0 and 100%."""
    person = np.repeat(np.arange(len(taste)), rng.integers(times[0], times[1] + 1, len(taste)))
    return np.clip(np.round(20 * (taste[person] + 0.2 * rng.normal(size=len(person)))) / 20, 0, 1), person


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
            levels = [subgroup_level(draw, sizes, runs, rng, wide=wide) for sizes in SIZES.values()]
            found = [f"{100 * level:.1f}" + f" ({100 * none:.0f})" * (none > 0) for level, none in levels]
            yield f"| {name}{', the first subgroup otherwise' if wide else ''} | " + " | ".join(found) + " |"
    for name, draw in DIFFERENT.items():
        powers = [subgroup_level(draw, sizes, runs, rng, wide=True) for sizes in SIZES.values()]
        yield f"| {name} | " + " | ".join(f"{100 * found:.1f}" for found, _ in powers) + " |"


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


def camp_table(
    runs: int, rng: np.random.Generator, ways: Mapping[str, Way], sizes: Sequence[int] = (30, 80)
) -> Iterator[str]:
    """Yield how often two camps are found where there is one hill, and where there are two."""
    two: Tastes = lambda rng, n: np.where(rng.random(n) < 0.65, rng.beta(16, 4, n), rng.beta(4, 12, n))  # noqa: E731
    near: Tastes = lambda rng, n: np.where(rng.random(n) < 0.65, rng.beta(14, 6, n), rng.beta(8, 12, n))  # noqa: E731
    hills: dict[str, Tastes] = {name: draw for name, (draw, _) in HILLS.items()}
    hills["beta (1, 0.6), most at one end"] = lambda rng, n: rng.beta(1, 0.6, n)
    beyond: dict[str, Tastes] = {
        "normal (0.6, 0.3), beyond the ends": lambda rng, n: rng.normal(0.6, 0.3, n),
        "even from -20% to 120%": lambda rng, n: rng.uniform(-0.2, 1.2, n),
    }
    every = {**hills, **beyond, "**two camps**, 80% and 25%": two, "**two camps**, 70% and 40%": near}
    yield f"| true preferences | people | {' | '.join(ways)} |\n|---|---|{'---|' * len(ways)}"
    for people in sizes:
        for name, draw in every.items():
            cells = [
                "" if name in beyond and make is not cut_off else _camps_found(draw, people, make, times, runs, rng)
                for make, times in ways.values()
            ]
            if any(cells):
                yield f"| {name} | {people} | " + " | ".join(cells) + " |"


def _camps_found(
    draw: Tastes, people: int, make: Answering, times: tuple[int, int], runs: int, rng: np.random.Generator
) -> str:
    found = 0
    for _ in range(runs):
        value, person = make(draw(rng, people), times, rng)
        found += two_camps(value, person, counted=make is chosen, bounded=True, rng=rng).p_value <= 0.05
    return f"{100 * found / runs:.1f}"


def parts(runs: int, seed: int) -> dict[str, Callable[[], str]]:
    """Return what writes each part of the page, by its title."""
    error = 196 * math.sqrt(0.05 * 0.95 / runs)

    def subgroups() -> str:
        table = "\n".join(subgroup_table(4 * runs, np.random.default_rng(seed)))
        return f"""False findings at 5%, {4 * runs:,} studies a cell ({error / 2:.1f} points of Monte Carlo error, 95%);
in the last two rows, where the first subgroup differs, power. Columns: people of each subgroup. Subgroups have one
mean; "otherwise": the first is spread differently (choices: 1 to 3 a person, or one), so that variances differ too. In
brackets: how often in 100 there is no test, as values are skewed and the smallest subgroup has fewer than
{FEWEST_SKEWED} people and less than half of the largest, or as fewer than {FEWEST} people of a subgroup all say the
same; among the few studies that are left the level may be larger.

{table}
"""

    def shares() -> str:
        table = "\n".join(share_table(runs, np.random.default_rng([seed, 1])))
        return f"""{runs:,} studies a row ({error:.1f} points of error). Where people's own shares can hardly be told
from noise (few people, two choices each) the interval is wide and holds more than it says. Bias is that of the share.

{table}
"""

    def camps(ways: Mapping[str, Way], more: str = "") -> str:
        table = "\n".join(camp_table(runs, np.random.default_rng([seed, 2]), ways))
        return f"""Two camps found at 5%, {runs:,} studies a cell ({error:.1f} points of error): falsely, but for the
rows of two camps, which show power.{more}

{table}
"""

    cut = """ Chances are in steps of 5%; their noise is that of a beta distribution, or normal (SD 20
points) and cut off at 0 and 100%."""
    return {
        "Do subgroups prefer differently? Level of the test": subgroups,
        "The share who truly prefer a system: coverage of 95% intervals": shares,
        "Two camps: choices": lambda: camps(
            {"8 each": (chosen, (8, 8)), "2 to 6": (chosen, (2, 6)), "2 each": (chosen, (2, 2))}
        ),
        "Two camps: stated chances": lambda: camps(
            {"2 to 6": (stated, (2, 6)), "2 to 6, cut off": (cut_off, (2, 6))}, cut
        ),
    }


def main() -> None:
    """Write the page; parts that are not asked for, and what no part writes, stay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="TITLE", help="part to make anew, by the beginning of its title")
    given = parser.parse_args()
    before = given.out.read_text(encoding="utf-8") if given.out.exists() else "# Subgroups and camps\n"
    head, *sections = before.split("\n## ")
    texts = dict(section.split("\n\n", 1) for section in sections)
    for title, write in parts(given.runs, given.seed).items():
        if given.only is None or title.startswith(given.only):
            texts[title] = f"Seed {given.seed}. {write()}"
    given.out.write_text(
        "\n## ".join([head, *(f"{title}\n\n{text}" for title, text in texts.items())]), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
