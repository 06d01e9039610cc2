"""Audited raters with known truth: intervals, false decisions, and people needed; ``--out FILE`` writes the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.audit.audit_bets import StandIn, audit_rule, audit_values, stand_in
from analysis.audit.audited_mean import audited_mean
from analysis.audit.chances import inclusion_chances, predicted_errors
from analysis.sequential.rule import StoppingRule
from analysis.sequential.tally import Tally
from analysis.statistics.coding import Floats
from analysis.statistics.t_tests import one_sample
from tests.calibration.command import write_table

Scale = Literal["same", "quarter", "errors", "two values"]
HEAD = """# Audited raters

An LLM answers all forms, people a part of them, drawn with known chances (`make calibrate`, seed {seed}). People's
answers lie on [0, 1] with an SD of .25 about their mean; the LLM's correlate with theirs by *rho*, and lie .15 higher.
*Quarter*: on a quarter of the scale; *errors*: counted as errors, 0 to 40, fewer where people's answer is high; *two
values*: people and LLM say 0 or 1. *Unsure*: chances follow the spread of the LLM's repeats, which grows with its
error.

## Intervals

How often 95 % intervals hold people's mean ({runs:,} studies a row, standard error {error:.1f} points), with {forms}
forms of which people answer a quarter on average; the variance beside that of as many answers of people alone; and
what it would be, 1 - rho² N / (n + N).

| rho | LLM | chances | holds | variance | expected |
| ---: | :-- | :-- | ---: | ---: | ---: |
"""
DECIDED = """
## Decisions

Studies of three criteria that end when decided ({runs:,} a row, error rate 5 %, standard error {error:.1f} points): how
many have any false decision where people see no difference, of {forms} forms; and how many people are asked until all
are decided where people's mean is {mean:g}, beside bets on as many people as they need alone. Waves of {wave} forms, of
which people answer a quarter (where unsure, no form with a chance below {floor:g}); bets planned for a correlation of
{guess:g}. Bounded bets stake no more than all, so that a close LLM saves less here than of a fixed number.
Of two values more people are needed than these forms ask.

| rho | LLM | chances | false | people (mean) | people alone | decided |
| ---: | :-- | :-- | ---: | ---: | ---: | ---: |
"""
FORMS, SHARE, FLOOR, WAVE, MOST, MEAN, CRITERIA = 400, 0.25, 0.15, 40, 1200, 0.58, 3
GUESS = 0.7  # correlation that the bets are planned for


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How an LLM goes with people, on which scale it answers, and whether it is asked more often where unsure."""

    rho: float
    scale: Scale = "same"
    active: bool = False

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


def intervals(design: Design, *, runs: int, seed: int, forms: int = FORMS) -> tuple[float, float, float]:
    """Return how often intervals hold the truth, the variance beside people alone, and what is expected of it."""
    rng = np.random.default_rng([seed, int(100 * design.rho), len(design.scale), design.active])
    truth = float(np.mean(design.answers((1_000_000,), 0.55, np.random.default_rng(0))[0]))
    held, own, alone, rhos = 0, 0.0, 0.0, 0.0
    for _ in range(runs):
        people, llm, doubt = design.answers((forms,), 0.55, rng)
        chance = inclusion_chances(doubt if design.active else None, forms, share=SHARE, floor=FLOOR / 2)
        asked = rng.random(forms) < chance
        found = audited_mean(np.where(asked, people, np.nan), llm, chance)
        if found.ci_low is None or found.ci_high is None or found.se is None:
            continue
        held += found.ci_low <= truth <= found.ci_high
        own, alone = own + found.se**2, alone + float(np.var(people, ddof=1)) / asked.sum()
        rhos += float(np.corrcoef(people, llm)[0, 1]) ** 2
    return held / runs, own / alone, 1 - (rhos / runs) * (1 - SHARE)


def decided(design: Design, *, mean: float, runs: int, seed: int, most: int = MOST) -> tuple[float, float, float]:
    """Return the share of studies with a decision that is false, or at all; people asked; and those needed alone."""
    rng = np.random.default_rng([seed, int(100 * design.rho), len(design.scale), design.active, int(100 * mean)])
    plain = StoppingRule(effect=0.08, least=10)
    floor = FLOOR if design.active else SHARE
    rule = audit_rule(plain, floor=floor, share=SHARE, correlation=GUESS)
    shape = (runs, CRITERIA)
    tally, alone = Tally.start(rule, shape), Tally.start(plain, shape)
    known: list[tuple[Floats, Floats, Floats, Floats]] = []
    people_asked, people_alone = np.zeros(runs), np.zeros(runs)
    for _ in range(most // WAVE):
        people, llm, doubt = design.answers((WAVE, *shape), mean, rng)
        doubt = doubt[:, :, 0]  # forms are drawn, not answers: by the first criterion
        chance = np.full((WAVE, runs), SHARE)
        expected = [[StandIn()] * CRITERIA] * runs
        if known:
            before = [np.concatenate([wave[part] for wave in known]) for part in range(4)]
            expected = [[_fitted(before, study, one) for one in range(CRITERIA)] for study in range(runs)]
            if design.active:
                for study in range(runs):
                    chance[:, study] = _chances(before, study, expected[study][0], doubt[:, study])
        asked = rng.random((WAVE, runs)) < chance
        values = np.empty_like(people)
        for study in range(runs):
            for one in range(CRITERIA):
                own = np.where(asked[:, study], people[:, study, one], np.nan)
                values[:, study, one] = audit_values(
                    own, _on_unit(design, llm[:, study, one]), chance[:, study], expected[study][one], floor=floor
                )
        open_before = ~tally.decided.all(axis=1)
        for unit in range(WAVE):
            tally = tally.after(values[unit], rule)
        people_asked += np.where(open_before, asked.sum(axis=0), 0)
        for unit in range(WAVE):
            people_alone += ~alone.decided.all(axis=1)
            alone = alone.after(people[unit], plain)
        weight = np.where(asked, 1 / chance, 0.0)
        known.append((people, _on_unit(design, llm), np.repeat(weight[:, :, None], CRITERIA, axis=2), doubt))
        if tally.decided.all() and alone.decided.all():
            break
    any_or_all = tally.decided.any(axis=1) if mean == 0.5 else tally.decided.all(axis=1)
    return float(np.mean(any_or_all)), float(people_asked.mean()), float(people_alone.mean())


def _on_unit(design: Design, llm: Floats) -> Floats:
    return llm / 40 if design.scale == "errors" else llm


def _fitted(before: list[Floats], study: int, one: int) -> StandIn:
    people, llm, weight = (part[:, study, one] for part in before[:3])
    asked = weight > 0
    return stand_in(people[asked], llm[asked], weight[asked])


def _chances(before: list[Floats], study: int, expected: StandIn, doubt: Floats) -> Floats:
    people, llm, weight = (part[:, study, 0] for part in before[:3])
    asked = weight > 0
    error = people[asked] - expected.of(llm[asked])
    errors = predicted_errors(error, before[3][asked, study], weight[asked], doubt)
    return inclusion_chances(errors, len(doubt), share=SHARE, floor=FLOOR)


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
        yield from (Design(rho=rho, active=True) for rho in (0.0, 0.5, 0.9))


def write(runs: int, seed: int) -> Iterator[str]:
    """Yield the document, row by row."""
    text = HEAD.format(runs=runs, seed=seed, error=100 * np.sqrt(0.95 * 0.05 / runs), forms=FORMS)
    for design in designs():
        held, own, expected = intervals(design, runs=runs, seed=seed)
        text += f"{design.named}| {100 * held:.1f} % | {own:.2f} | {expected:.2f} |\n"
        yield text
    few = runs // 4
    text += DECIDED.format(
        runs=few, error=100 * np.sqrt(0.05 * 0.95 / few), forms=MOST, mean=MEAN, wave=WAVE, floor=FLOOR, guess=GUESS
    )
    for design in designs():
        false = decided(design, mean=0.5, runs=few, seed=seed)[0]
        done, people, alone = decided(design, mean=MEAN, runs=few, seed=seed)
        text += f"{design.named}| {100 * false:.1f} % | {people:.0f} | {alone:.0f} | {100 * done:.0f} % |\n"
        yield text


if __name__ == "__main__":
    write_table("audit", __doc__, write, runs=4000, each="a row of intervals")
