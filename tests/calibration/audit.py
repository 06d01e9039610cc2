"""Audited raters with known truth: intervals, false decisions, and people needed; ``--out FILE`` writes the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from analysis.audit.audit_bets import audit_terms, term_range
from analysis.audit.audited_mean import audited_mean
from analysis.audit.waves import KnownUnits, plan_wave, share_kept
from analysis.sequential.bets import bets_within
from analysis.sequential.family import X
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Bools, Tally
from analysis.statistics.coding import Floats
from analysis.statistics.t_tests import one_sample
from spa.study.audit import LEAST_SHARE
from tests.calibration.command import write_table

Scale = Literal["same", "quarter", "errors", "two values"]
LeftOut = Literal["nobody", "any", "extreme", "low"]
HEAD = """# Audited raters

An LLM answers all forms, people a part of them, drawn with known chances (`make calibrate`, seed {seed}). People's
answers lie on [0, 1] with an SD of .25 about their mean; the LLM's correlate with theirs by *rho*, and lie .15 higher.
*Quarter*: on a quarter of the scale; *errors*: counted as errors, 0 to 40, fewer where people's answer is high; *two
values*: people and LLM say 0 or 1. *Unsure*: chances follow the spread of the LLM's repeats, which grows with its
error.

## Intervals

How often 95 % intervals hold people's mean ({runs:,} studies a row, standard error {error:.1f} points), with {forms}
forms of which people answer a quarter on average, where unsure in waves of {wave} as the chances of each follow earlier
ones; the variance beside that of as many answers of people alone; and
what it would be, 1 - rho² N / (n + N).

| rho | LLM | chances | holds | variance | expected |
| ---: | :-- | :-- | ---: | ---: | ---: |
"""
DECIDED = """
## Decisions

Studies of three criteria that end when decided ({runs:,} a row, of people where rho is 0 {more} times as many; error
rate 5 %): how many have any false decision where people see no difference, of {null} forms (standard error {error:.1f}
points); and how many people are asked until all is decided where their mean is {mean:g}, beside how many of the same
people the same bets need without the LLM (where unsure others are drawn, and these are as many), of {forms} forms at
most. Waves of {wave} people, a quarter of the forms; where unsure, no form has a chance below {floor:g}. The last but
one column is the difference with its standard error.

| rho | LLM | chances | false | people | alone | more | decided rightly |
| ---: | :-- | :-- | ---: | ---: | ---: | ---: | ---: |
"""
LEFT_OUT = """
## People left out

The same, where answers of people do not count once they are given (self-consistency, careless answering): of *any*, a
fifth of all; of *extreme* ones, {far:.0%} of those further than .25 from the middle and {near:.0%} of others; of *low*
ones, so many of those below the middle (in decisions all criteria are one). Chances are multiplied by the share of
earlier people who counted. How often intervals hold the mean of those who count and that of all people, and how many
studies have any false decision where those who count see no difference ({runs:,} and {few:,} studies a row). Where who
is left out depends on the answer, the LLM puts a part of that right: the mean lies between that of those who count and
that of all, nearer to the latter the closer the LLM, and the last column counts that as false.

| rho | left out | holds, who count | holds, all | false |
| ---: | :-- | ---: | ---: | ---: |
"""
MORE = 4  # times as many studies where the LLM is useless, of which it is promised what they cost
NEAR, FAR = 0.1, 0.4  # shares of people left out by their answer
FORMS, SHARE, FLOOR, WAVE, MOST, MEAN, CRITERIA = 400, 0.25, 0.15, 10, 2400, 0.58, 3
NULL = 1200  # forms where people see no difference
NONE = np.zeros(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How an LLM goes with people, on which scale it answers, and whether it is asked more often where unsure."""

    rho: float
    scale: Scale = "same"
    active: bool = False
    left_out: LeftOut = "nobody"

    @property
    def named(self) -> str:
        """The first cells of a row."""
        return f"| {self.rho:g} | {self.scale} | {'unsure' if self.active else 'uniform'} "

    def answers(self, shape: tuple[int, ...], mean: float, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Return people's answers, the LLM's, and its doubt."""
        size = np.exp(0.8 * rng.normal(size=shape) - 0.32) if self.active else np.ones(shape)
        said = rng.normal(size=shape)
        own = self.rho * said + np.sqrt(1 - self.rho**2) * size * rng.normal(size=shape)
        doubt = size * np.sqrt(rng.chisquare(4, size=shape) / 4)
        if self.scale == "two values":
            return (own > -2.5066 * (mean - 0.5)).astype(float), (said > 0).astype(float), doubt
        people = np.clip(mean + 0.25 * own, 0, 1) if mean != 0.5 else np.clip(0.5 + 0.25 * own, 0, 1)
        llm = np.clip(0.65 + 0.25 * said, 0, 1)
        of_scale = {"same": llm, "quarter": 0.7 + llm / 4, "errors": np.round(40 * (1 - llm))}
        return people, of_scale[self.scale], doubt

    def count(self, people: Floats, rng: np.random.Generator) -> Bools:
        """Return which answers count."""
        if self.left_out == "nobody":
            return np.ones(people.shape, dtype=bool)
        gone = {
            "any": np.full(people.shape, 0.2),
            "extreme": np.where(np.abs(people - 0.5) > 0.25, FAR, NEAR),
            "low": np.where(people < 0.5, FAR, NEAR),
        }
        return rng.random(people.shape) >= gone[self.left_out]

    def mean(self, planned: float, *, of_all: bool) -> float:
        """Return the mean of people, or of those who count, where it is planned so."""
        rng = np.random.default_rng(0)
        people = self.answers((1_000_000,), planned, rng)[0]
        return float(np.mean(people if of_all else people[self.count(people, rng)]))


def intervals(
    design: Design, *, runs: int, seed: int, forms: int = FORMS, of_all: bool = False
) -> tuple[float, float, float]:
    """Return how often intervals hold the truth, the variance beside people alone, and what is expected of it.

    ``of_all``: the truth is the mean of all people, not of those who count.
    """
    rng = np.random.default_rng([seed, int(100 * design.rho), len(design.scale), design.active])
    truth = design.mean(0.55, of_all=of_all)
    held, own, alone, rhos = 0, 0.0, 0.0, 0.0
    for _ in range(runs):
        people, llm, doubt = design.answers((forms,), 0.55, rng)
        chance = np.full(forms, SHARE)
        asked, counts = rng.random(forms) < chance, design.count(people, rng)
        if design.active:
            asked, chance = in_waves(design, people, llm, doubt, counts, rng)
            people, llm, counts = people[: len(asked)], llm[: len(asked)], counts[: len(asked)]
        chance = chance * (asked & counts).sum() / asked.sum()  # as analysis.audit.audit_rows
        found = audited_mean(np.where(asked & counts, people, np.nan), llm, chance)
        if found.ci_low is None or found.ci_high is None or found.se is None:
            continue
        held += found.ci_low <= truth <= found.ci_high
        own, alone = own + found.se**2, alone + float(np.var(people, ddof=1)) / asked.sum()
        rhos += float(np.corrcoef(people, llm)[0, 1]) ** 2
    return held / runs, own / alone, 1 - (rhos / runs) * (1 - SHARE)


def in_waves(
    design: Design, people: Floats, llm: Floats, doubt: Floats, counts: Bools, rng: np.random.Generator
) -> tuple[Bools, Floats]:
    """Draw forms in waves as an audit with a fixed number of people does; return which, and with what chances.

    Both end with the last form that was drawn or passed over.
    """
    forms = len(people)
    wanted, drawn, first = round(SHARE * forms), 0, 0
    asked, chance, llm = np.zeros(forms, dtype=bool), np.ones(forms), _on_unit(design, llm)
    while drawn < wanted and first < forms:
        known = np.flatnonzero(asked[:first] & counts[:first])
        units = KnownUnits(
            people=people[known, None],
            llm=llm[known, None],
            chance=chance[known],
            doubt=doubt[known],
            before=doubt[:first],
        )
        share = min(1.0, (wanted - drawn) / (forms - first))
        floor = min(LEAST_SHARE * SHARE, share)
        plan = plan_wave(units, StoppingRule(effect=0.1), share=share, floor=floor, by_doubt=True, decides=False)
        chances = plan.scale.of(doubt[first:])
        chosen = rng.random(forms - first) < chances
        last = np.flatnonzero(np.cumsum(chosen) >= min(WAVE, wanted - drawn))
        end = first + (int(last[0]) + 1 if len(last) else forms - first)
        asked[first:end], chance[first:end] = chosen[: end - first], chances[: end - first]
        drawn, first = int(asked.sum()), end
    return asked[:first], chance[:first]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Of studies that end when decided; people are counted until all is decided."""

    share: float  # of studies with any decision that is false, or, where people's mean is not 1/2, with all right
    people: float
    alone: float  # people whom the same rule needs without the rater
    sd: float  # standard error of people less alone

    @property
    def more(self) -> float:
        """By how much more people the audit needs."""
        return self.people / self.alone - 1


def decided(
    design: Design, *, mean: float, runs: int, seed: int, most: int = MOST, is_null: bool | None = None
) -> Decided:
    """Simulate studies of which waves are drawn as in :mod:`analysis.audit.waves`, all at once, form by form.

    ``is_null``: whether people see no difference, by default where their mean is 1/2.
    """
    rng = np.random.default_rng([seed, int(100 * design.rho), len(design.scale), design.active, int(100 * mean)])
    rule, shape = StoppingRule(effect=0.08, least=10), (runs, CRITERIA)
    people, llm, doubt = design.answers((most, *shape), mean, rng)
    if design.left_out == "low":  # else who is left out by one criterion says nothing of another
        people[:, :, 1:], llm[:, :, 1:] = people[:, :, :1], llm[:, :, :1]
    llm, doubt = _on_unit(design, llm), doubt[:, :, 0]  # forms are drawn, not answers: by the first criterion
    draws, counts = rng.random((most, runs)), design.count(people[:, :, 0], rng)  # people are left out, not answers
    tally, alone = Tally.start(rule, shape), Tally.start(rule, shape)
    chance, asked = np.full((most, runs), SHARE), np.zeros((most, runs), dtype=bool)
    effective = chance.copy()  # chances that an answer counts
    none = KnownUnits(people=np.zeros((0, 1)), llm=np.zeros((0, 1)), chance=NONE, doubt=NONE, before=NONE)
    (first,) = plan_wave(none, rule, share=SHARE, floor=FLOOR, by_doubt=design.active, decides=True).stand_ins
    expected = np.full((most, *shape), 0.5)
    reach, sd = np.full((most, *shape), first.reach), np.full((most, *shape), first.sd)
    of_wave, needed, needed_alone, kept = np.zeros(runs, dtype=int), np.zeros(runs), np.zeros(runs), np.ones(runs)
    for form in range(most):
        asked[form] = draws[form] < chance[form]
        said = np.where((asked[form] & counts[form])[:, None], people[form], np.nan)
        chances = np.repeat((chance[form] * kept)[:, None], CRITERIA, axis=1)
        terms = audit_terms(said, expected[form], chances)
        needed += asked[form] & ~tally.decided.all(axis=1)
        bets = bets_within(rule, term_range(reach[form], sd[form]))
        tally = tally.after(terms, rule, bets=bets, counted=np.isfinite(said))
        of_alone = draws[form] < SHARE  # the same people, but where the rater's doubt draws others
        needed_alone += of_alone & ~alone.decided.all(axis=1)
        alone = alone.after(np.where((of_alone & counts[form])[:, None], people[form], np.nan), rule)
        of_wave += asked[form]
        for study in np.flatnonzero((of_wave >= WAVE) & ~tally.decided.all(axis=1)):
            of_wave[study], rest = 0, slice(form + 1, most)
            given = np.flatnonzero(asked[: form + 1, study])
            known = given[counts[given, study]]
            now = share_kept(len(known), len(given))
            units = KnownUnits(
                people=people[known, study],
                llm=llm[known, study],
                chance=effective[known, study],
                doubt=doubt[known, study],
                before=doubt[: form + 1, study],
            )
            plan = plan_wave(units, rule, share=SHARE * now, floor=FLOOR * now, by_doubt=design.active, decides=True)
            kept[study], chance[rest, study] = now, np.minimum(plan.scale.of(doubt[rest, study]) / now, 1)
            effective[rest, study] = chance[rest, study] * now
            expected[rest, study] = plan.expected(llm[rest, study])
            sd[rest, study], reach[rest, study] = plan.sd, plan.reach
        if tally.decided.all() and alone.decided.all():
            break
    no_difference = mean == 0.5 if is_null is None else is_null
    right = tally.decided.any(axis=1) if no_difference else (tally.marks == X).all(axis=1)
    both = needed - needed_alone
    return Decided(
        share=float(np.mean(right)),
        people=float(needed.mean()),
        alone=float(needed_alone.mean()),
        sd=float(both.std(ddof=1) / np.sqrt(runs)),
    )


def _on_unit(design: Design, llm: Floats) -> Floats:
    return llm / 40 if design.scale == "errors" else llm


def normal_rejections(*, runs: int, seed: int, n: int = 100) -> float:
    """Return how often a t-test after every answer ever rejects a mean of 0 at 5 %, of answers -1 and +1."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(runs):
        said = rng.choice([-1.0, 1.0], size=n)
        tests = (one_sample(said[:k], against=0.0, confidence=0.95).p_value for k in range(5, n + 1))
        found += any(p_value is None or p_value <= 0.05 for p_value in tests)
    return found / runs


def designs(*, active: bool = True) -> Iterator[Design]:
    """Yield the rows of a table."""
    yield from (Design(rho=rho) for rho in (0.0, 0.3, 0.5, 0.7, 0.9, 0.95))
    for scale in ("quarter", "errors", "two values"):
        yield from (Design(rho=rho, scale=scale) for rho in (0.0, 0.7, 0.95))
    if active:
        yield from (Design(rho=rho, active=True) for rho in (0.0, 0.5, 0.9, 0.95))
        yield Design(rho=0.7, scale="quarter", active=True)


def left_out_designs() -> Iterator[Design]:
    """Yield the rows of the table of people left out."""
    for left_out in ("any", "extreme", "low"):
        yield from (Design(rho=rho, left_out=left_out) for rho in (0.0, 0.5, 0.9))


def even_mean(design: Design) -> float:
    """Return the planned mean of people at which those who count see no difference."""
    if design.left_out != "low":
        return 0.5
    return float(brentq(lambda planned: design.mean(planned, of_all=False) - 0.5, 0.3, 0.5, xtol=1e-4))


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document, row by row."""
    text = HEAD.format(runs=runs, seed=seed, error=100 * np.sqrt(0.95 * 0.05 / runs), forms=FORMS, wave=WAVE)
    for design in designs():
        held, own, expected = intervals(design, runs=runs, seed=seed)
        text += f"{design.named}| {100 * held:.1f} % | {own:.2f} | {expected:.2f} |\n"
        yield text
    few = runs // 8
    error = 100 * np.sqrt(0.05 * 0.95 / few)
    text += DECIDED.format(runs=few, more=MORE, error=error, forms=MOST, null=NULL, mean=MEAN, wave=WAVE, floor=FLOOR)
    for design in designs():
        false = decided(design, mean=0.5, runs=few, seed=seed, most=NULL).share
        found = decided(design, mean=MEAN, runs=few * (1 if design.rho else MORE), seed=seed)
        text += (
            f"{design.named}| {100 * false:.1f} % | {found.people:.0f} | {found.alone:.0f} "
            f"| {100 * found.more:+.1f} ({100 * found.sd / found.alone:.1f}) % | {100 * found.share:.0f} % |\n"
        )
        yield text
    text += LEFT_OUT.format(far=FAR, near=NEAR, runs=runs, few=few)
    for design in left_out_designs():
        held, held_all = (intervals(design, runs=runs, seed=seed, of_all=of_all)[0] for of_all in (False, True))
        false = decided(design, mean=even_mean(design), runs=few, seed=seed, most=NULL, is_null=True).share
        text += (
            f"| {design.rho:g} | {design.left_out} "
            f"| {100 * held:.1f} % | {100 * held_all:.1f} % | {100 * false:.1f} % |\n"
        )
        yield text


if __name__ == "__main__":
    write_table("audit", __doc__, write, runs=4000, each="a row of intervals")
