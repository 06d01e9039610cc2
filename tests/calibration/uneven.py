"""Strengths where few annotators answer, or one gives most answers: coverage and false differences.

``python -m tests.calibration.uneven --out FILE`` writes the table, as ``make calibrate`` does; ``--quick`` a part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from analysis.orders.patterns import dense_ranks, orders_of
from analysis.orders.plackett_luce import _Stages
from analysis.statistics.coding import Floats
from analysis.strengths.bias_reduced import SOLE
from analysis.strengths.bootstrap import Marks
from analysis.strengths.bounds import KNOWN_DF, LEAST_DF, ROUNDING

LEVEL, COVERED, REJECTED = 0.95, 0.93, 0.06
ALL_BUT_SOME = 0.99  # share without an interval beyond which coverage is not given
STEPS = 40
FARTHEST = 12.0  # a strength beyond is taken for one at no finite distance
HEAD = """# Strengths by few or uneven annotators

How often 95 % intervals of strengths hold the truth, and how often some difference of two strengths has an adjusted p
of at most .05, where all systems are equal (`make calibrate`, {runs} studies a design, seed {seed}). Annotators are
drawn anew, each with a liking of each system (SD `taste`, normal, in logits); so are items, a fifth as many as answers
and centred over those shown. `answers` are those of the first and the last annotator, by geometric shares between, and
those of a few lists. Intervals are CR2 by annotator with Satterthwaite's degrees of freedom. Below 4 of these the
annotators count `alike`, in the share of studies given; still below there is no interval (`none`). `CR1`: what t(G - 1)
with the factor G / (G - 1) covers.

Promised are a coverage of at least 93 % and false differences in at most 6 % of studies, less and plus 3 Monte-Carlo
SE: kept in {kept} of {n} designs. Coverage beyond 95 % is the price of few annotators: with degrees of freedom near 4
intervals are wide.
"""
PIECE = 500  # studies taken together
DRAWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Who answers how often about how many systems, and how much annotators and items differ."""

    answers: tuple[int, ...]
    systems: int = 2
    taste: float = 0.6
    items: float = 0.0
    orders: bool = False  # all systems put in order, not two compared
    tied: bool = False  # orders on three steps only

    @property
    def name(self) -> str:
        """Word the design."""
        kind = "orders with ties" if self.tied else "orders" if self.orders else "choices"
        return f"{kind}, {self.systems} systems, {len(self.answers)} annotators"

    @property
    def spread(self) -> str:
        """Word how many answers the annotators give."""
        listed = sorted(set(self.answers), reverse=True)
        if len(listed) == 2 and self.answers.count(listed[0]) == 1:
            return f"{listed[0]}, then {listed[1]} each"
        return f"{listed[0]} each" if len(listed) == 1 else f"{listed[0]} to {listed[-1]}"

    @property
    def quick(self) -> bool:
        """Say whether the design is one of those that were found wanting."""
        return len(set(self.answers)) == 2 and self.answers.count(max(self.answers)) == 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Studies:
    """Simulated studies of one design: answers of each annotator by outcome, shape (studies, annotators, outcomes).

    ``stages`` says what an outcome is: how often it takes the best of each set of systems, and who is taken.
    """

    design: Design
    counts: Floats
    member: Floats  # (sets, k)
    times: Floats  # (outcomes, sets)
    won: Floats  # (outcomes, k)

    @staticmethod
    def of_orders(design: Design, counts: Floats, ranks: Floats) -> Studies:
        """Take outcomes for ranks of all systems, shape (outcomes, k)."""
        stages = _Stages.of([orders_of(pattern) for pattern in dense_ranks(ranks)], np.arange(design.systems))
        member = stages.member.astype(np.float64)
        return Studies(design=design, counts=counts, member=member, times=stages.times.toarray(), won=stages.won)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Strengths (studies, k) and what bounds them; NaN where nothing does."""

    strength: Floats
    se: Floats
    df: Floats
    low: Floats
    high: Floats
    df_differences: Floats
    p: Floats  # the smallest adjusted p of a difference, 1 where there is none
    alike: Marks
    covered_cr1: Marks  # (studies, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Shares of studies: intervals that hold the truth, some false difference, a refit, no interval; CR1's coverage."""

    covered: float
    rejected: float
    alike: float
    none: float
    covered_cr1: float
    made: int
    studies: int

    @property
    def kept(self) -> bool:
        """Tell whether what is promised holds, but for chance."""
        low = COVERED - 3 * (COVERED * (1 - COVERED) / max(1, self.made)) ** 0.5
        high = REJECTED + 3 * (REJECTED * (1 - REJECTED) / self.studies) ** 0.5
        return bool((self.made == 0 or self.covered >= low) and self.rejected <= high)


def geometric(people: int, ratio: float, mean: int) -> tuple[int, ...]:
    """Share answers out so that the first annotator gives ``ratio`` times what the last gives, at least 2 each."""
    shares = ratio ** -np.linspace(0, 1, people)
    return tuple(max(2, int(one)) for one in np.round(shares / shares.sum() * people * mean))


def designs() -> Iterator[Design]:
    """Yield the designs: lopsided ones that were found wanting, then a grid."""
    for answers in ((150, 2, 2, 2), (200, *(2,) * 5), (100, *(10,) * 8), (100, *(20,) * 5), (20,) * 9):
        yield Design(answers=answers)
    yield Design(answers=(240, *(12,) * 11), systems=4)
    for people in (3, 4, 5, 6, 8, 12, 20, 30):
        for ratio in (1, 20, 200):
            yield Design(answers=geometric(people, ratio, 24), systems=3)
    for people, ratio in ((8, 20), (12, 200), (30, 20)):
        for taste, items in ((0.1, 0.1), (0.1, 1.0), (1.0, 0.1), (1.0, 1.0)):
            yield Design(answers=geometric(people, ratio, 24), systems=3, taste=taste, items=items)
    yield Design(answers=(200, *(3,) * 11), systems=3, orders=True)
    yield Design(answers=(12,) * 12, systems=3, orders=True)
    for people, ratio in ((5, 20), (8, 20), (12, 20), (30, 200)):
        yield Design(answers=geometric(people, ratio, 12), systems=4, orders=True)
    for people, ratio in ((8, 1), (12, 20)):
        yield Design(answers=geometric(people, ratio, 12), systems=3, orders=True, tied=True)
        yield Design(answers=geometric(people, ratio, 12), systems=3, orders=True, taste=1.0, items=1.0)


def simulate(design: Design, runs: int, seed: int) -> Found:
    """Draw studies of equal systems, and count what is said of them."""
    rng = np.random.default_rng(seed)
    parts = [intervals(draw(design, min(PIECE, runs - start), rng), rng) for start in range(0, runs, PIECE)]
    known = np.concatenate([np.isfinite(part.strength).all(axis=1) for part in parts])
    low, high, p, alike, cr1 = (
        np.concatenate([getattr(part, name) for part in parts])[known]
        for name in ("low", "high", "p", "alike", "covered_cr1")
    )
    bounded = np.isfinite(low)
    return Found(
        covered=float(((low <= 0) & (high >= 0))[bounded].mean()) if bounded.any() else np.nan,
        rejected=float((p <= 1 - LEVEL).mean()),
        alike=float(alike.mean()),
        none=float(1 - bounded.mean()),
        covered_cr1=float(cr1.mean()),
        made=int(bounded.any(axis=1).sum()),  # intervals of one study hang together
        studies=len(low),
    )


def draw(design: Design, runs: int, rng: np.random.Generator) -> Studies:
    """Draw the answers of ``runs`` studies of equal systems."""
    k, people = design.systems, len(design.answers)
    who = np.repeat(np.arange(people), design.answers)
    n = len(who)
    taste = rng.normal(0, design.taste, (runs, people, k))[:, who]
    n_items = max(2, n // 5)
    item = rng.integers(0, n_items, (runs, n))
    effect = rng.normal(0, design.items, (runs, n_items, k))
    shown = np.zeros((runs, n_items, 1))
    shown[np.arange(runs)[:, None], item] = 1
    effect -= (effect * shown).sum(axis=1, keepdims=True) / shown.sum(axis=1, keepdims=True)
    likes = taste + effect[np.arange(runs)[:, None], item]
    if design.orders:
        utility = likes + rng.gumbel(size=likes.shape)
        if design.tied:
            utility = np.clip(np.round(utility), -1, 2)
        ranks = 1 + (utility[..., None, :] > utility[..., :, None]).sum(axis=-1)
        code = ranks @ k ** np.arange(k)
        _, first, outcome = np.unique(code, return_index=True, return_inverse=True)
        patterns = ranks.reshape(-1, k)[first].astype(np.float64)
        size = len(patterns)
    else:
        pairs = np.array(list(combinations(range(k), 2)))
        pair = rng.integers(0, len(pairs), (runs, n))
        x, y = (np.take_along_axis(likes, pairs[pair][..., side, None], -1)[..., 0] for side in (0, 1))
        outcome = 2 * pair + (rng.random((runs, n)) >= 1 / (1 + np.exp(y - x)))  # even: the first of the pair won
        size = 2 * len(pairs)
        member, times, won = np.zeros((len(pairs), k)), np.zeros((size, len(pairs))), np.zeros((size, k))
        member[np.arange(len(pairs))[:, None], pairs] = 1
        times[np.arange(size), np.arange(size) // 2] = 1
        won[np.arange(size), pairs[np.arange(size) // 2, np.arange(size) % 2]] = 1
    cell = (np.arange(runs)[:, None] * people + who) * size + outcome.reshape(runs, n)
    counts = np.bincount(cell.ravel(), minlength=runs * people * size).reshape(runs, people, size)
    if design.orders:
        return Studies.of_orders(design, counts.astype(np.float64), patterns)
    return Studies(design=design, counts=counts.astype(np.float64), member=member, times=times, won=won)


def intervals(studies: Studies, rng: np.random.Generator) -> Intervals:
    """Bound the strengths of all studies as a report does, many at once."""
    counts = studies.counts
    size = counts.sum(axis=2)
    plain = _fitted(studies, np.ones(size.shape))
    few = (plain.df.min(axis=1) < LEAST_DF - ROUNDING) & (size.min(axis=1) < size.max(axis=1))
    alike = _fitted(studies, size.mean(axis=1, keepdims=True) / size)
    found = _Fits(*(np.where(few.reshape(-1, *[1] * (a.ndim - 1)), b, a) for a, b in zip(plain, alike, strict=True)))
    k = studies.design.systems
    enough = found.df >= LEAST_DF - ROUNDING
    se = np.sqrt(np.maximum(np.diagonal(found.matrix, axis1=1, axis2=2), 0))
    half = np.where(enough, stdtrit(np.where(enough, found.df, 4), (1 + LEVEL) / 2) * se, np.nan)
    one, two = np.triu_indices(k, 1)
    gap = found.strength[:, one] - found.strength[:, two]
    spread = found.matrix[:, one, one] + found.matrix[:, two, two] - 2 * found.matrix[:, one, two]
    apart = np.sqrt(np.maximum(spread, 1e-300))
    own = found.df_differences[:, one, two]
    judged = own >= LEAST_DF - ROUNDING
    tail = stdtr(np.where(judged, own, 4.0), -np.abs(gap) / apart)
    values, vectors = np.linalg.eigh(found.matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    draws = rng.standard_normal((len(gap), DRAWS, k)) @ root.swapaxes(1, 2)
    largest = (np.abs(draws[..., one] - draws[..., two]) / apart[:, None]).max(axis=2)
    beyond = (largest[:, :, None] >= -ndtri(tail)[:, None]).sum(axis=1)
    known = np.where(judged, own, np.inf).min(axis=1, keepdims=True) >= KNOWN_DF
    p = np.where(known, (1 + beyond) / (1 + DRAWS), 1 - (1 - np.minimum(2 * tail, 1)) ** len(one))
    p = np.where(judged, p, 1.0)
    people = counts.shape[1]
    return Intervals(
        strength=found.strength,
        se=se,
        df=found.df,
        low=found.strength - half,
        high=found.strength + half,
        df_differences=found.df_differences,
        p=p.min(axis=1),
        alike=few,
        covered_cr1=np.abs(plain.strength) <= stdtrit(people - 1, (1 + LEVEL) / 2) * plain.se_cr1,
    )


class _Fits(NamedTuple):
    """Strengths of every study, CR2, degrees of freedom, and CR1's standard errors."""

    strength: Floats
    matrix: Floats
    df: Floats
    df_differences: Floats
    se_cr1: Floats


def _fitted(studies: Studies, weight: Floats) -> _Fits:
    """Fit every study with its annotators weighted (studies, annotators); NaN where there is no finite fit."""
    k = studies.design.systems
    centre = (np.eye(k) - 1 / k)[:, :-1]  # from strengths against the last system to strengths against the mean
    counts = studies.counts * weight[..., None]
    times, won = counts @ studies.times, counts @ studies.won
    total, wins = times.sum(axis=1), won.sum(axis=1)
    beta = np.zeros((len(counts), k))
    for _ in range(STEPS):
        share = np.exp(beta)[:, None] * studies.member
        share /= share.sum(axis=2, keepdims=True)
        gap = wins - np.einsum("st,stk->sk", total, share)
        inverse = _inverse(np.einsum("st,stkl->skl", total, _information(share)))
        step = np.einsum("skl,sl->sk", inverse, gap)
        beta += step * np.minimum(1, 2 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-300))
    lost = (np.abs(gap).max(axis=1) > 1e-6) | (np.abs(beta).max(axis=1) > FARTHEST)
    curves = np.einsum("sgt,stkl->sgkl", times, _information(share))[:, :, :-1, :-1]
    score = (won - np.einsum("sgt,stk->sgk", times, share))[:, :, :-1]
    bread = inverse[:, :-1, :-1]
    root = np.linalg.cholesky(np.where(lost[:, None, None], np.eye(k - 1), bread))
    if studies.design.orders:
        adjusted, pull, variance = _by_numbers(score, curves, root)
    else:
        adjusted, pull, variance = _by_pairs(studies, weight, share, root)
    contrasts = np.concatenate([centre[None], centre[:, None] - centre[None]])  # [0]: strengths, [1 + a]: a less each
    along = np.einsum("cak,skq->scaq", contrasts, root)
    d = np.einsum("scaq,sgqp,scap->scag", along, variance, along, optimize=True)
    w = np.einsum("sgqp,scap->scagq", pull, along, optimize=True)
    gram = w @ w.swapaxes(-1, -2)
    people = np.arange(gram.shape[-1])
    gram[..., people, people] = d
    with np.errstate(invalid="ignore"):
        df = d.sum(axis=-1) ** 2 / (gram**2).sum(axis=(-1, -2))
    matrix = centre @ root @ (adjusted.swapaxes(1, 2) @ adjusted) @ root.swapaxes(1, 2) @ centre.T
    moved = score @ bread @ centre.T
    n = score.shape[1]
    strength = beta @ (np.eye(k) - 1 / k)
    strength[lost] = np.nan
    return _Fits(
        strength=strength,
        matrix=matrix,
        df=np.where(lost[:, None], 0.0, df[:, 0]),
        df_differences=np.nan_to_num(df[:, 1:]),
        se_cr1=np.sqrt(n / (n - 1) * (moved**2).sum(axis=1)),
    )


def _information(share: Floats) -> Floats:
    """Return what one choice from each set tells, shape (studies, sets, k, k)."""
    k = share.shape[-1]
    return np.asarray(share[..., None] * np.eye(k) - share[..., :, None] * share[..., None, :])


def _inverse(curve: Floats) -> Floats:
    """Invert for strengths against the last system."""
    found = np.zeros(curve.shape)
    k = curve.shape[-1]
    size = np.trace(curve, axis1=1, axis2=2)[:, None, None]
    found[:, :-1, :-1] = np.linalg.inv(curve[:, :-1, :-1] + 1e-13 * size * np.eye(k - 1))
    return found


def _by_numbers(score: Floats, curves: Floats, root: Floats) -> tuple[Floats, Floats, Floats]:
    """Adjust an annotator's k numbers by the symmetric root of I - S."""
    share, turn = np.linalg.eigh(np.einsum("skq,sgkl,slp->sgqp", root, curves, root, optimize=True))
    kept = share < 1 - SOLE
    factor = np.where(kept, 1 / np.sqrt(np.where(kept, 1 - share, 1)), 0)
    power = (turn * factor[..., None, :]) @ turn.swapaxes(-1, -2)
    met = np.einsum("skq,sgk->sgq", root, score)
    return (
        (power @ met[..., None])[..., 0],
        (turn * (factor * share)[..., None, :]) @ turn.swapaxes(-1, -2),
        (turn * np.where(kept, share, 0)[..., None, :]) @ turn.swapaxes(-1, -2),
    )


def _by_pairs(studies: Studies, weight: Floats, share: Floats, root: Floats) -> tuple[Floats, Floats, Floats]:
    """Adjust an annotator's answers on each pair, as clubSandwich does row by row."""
    pairs = np.array([np.flatnonzero(row) for row in studies.member])
    p = np.take_along_axis(share, np.broadcast_to(pairs[None, :, :1], (len(share), len(pairs), 1)), 2)[..., 0]
    v = (p * (1 - p))[:, None]
    played = studies.counts @ studies.times
    first = studies.counts[..., 0::2]
    sign = np.zeros((len(pairs), share.shape[2]))
    sign[np.arange(len(pairs))[:, None], pairs] = [1, -1]
    design = np.sqrt(played)[..., None] * (sign[:, :-1] @ root)[:, None]  # (studies, annotators, pairs, q)
    error = (first - played * p[:, None]) / np.sqrt(np.maximum(played, 1))
    outer = v[..., None] ** 1.5 * design
    b = -weight[..., None, None] * (outer @ outer.swapaxes(-1, -2))
    place = np.arange(len(pairs))
    b[..., place, place] += v**2
    values, turn = np.linalg.eigh(b)
    values = np.maximum(values, SOLE * values[..., -1:])
    middle = (
        np.sqrt(v)[..., None]
        * ((turn / np.sqrt(values)[..., None, :]) @ turn.swapaxes(-1, -2))
        * np.sqrt(v)[..., None, :]
    )
    each = weight[..., None, None]
    return (
        weight[..., None] * (design.swapaxes(-1, -2) @ (middle @ error[..., None]))[..., 0],
        each * ((v[..., None] * design).swapaxes(-1, -2) @ middle @ design),
        each * (design.swapaxes(-1, -2) @ (v[..., None] * design)),
    )


def write(runs: int, seed: int, quick: bool = False) -> Iterator[str]:
    """Run the designs and yield the document with each that is done."""
    columns = ["design", "answers", "taste, items", "covered", "CR1", "differ", "alike", "none"]
    lines, kept = [_row(columns), _row(["---"] * len(columns))], 0
    for number, design in enumerate(one for one in designs() if one.quick or not quick):
        found = simulate(design, runs, seed)
        kept += found.kept
        covered = "-" if found.none > ALL_BUT_SOME else f"{100 * found.covered:.1f}"
        shares = [f"{100 * one:.1f}" for one in (found.covered_cr1, found.rejected, found.alike, found.none)]
        name = design.name + ("" if found.kept else " *")
        lines.append(_row([name, design.spread, f"{design.taste:g}, {design.items:g}", covered, *shares]))
        sys.stderr.write(f"{lines[-1]}\n")
        yield "\n".join([HEAD.format(runs=runs, seed=seed, kept=kept, n=number + 1), *lines]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run the designs."""
    parser = argparse.ArgumentParser(prog="python -m tests.calibration.uneven", description=__doc__)
    parser.add_argument("--runs", type=int, default=5000, help="simulated studies a design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="some of the designs only")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    given = parser.parse_args()
    for text in write(given.runs, given.seed, given.quick):
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
