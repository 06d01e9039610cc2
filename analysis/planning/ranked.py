"""Rankings and choices as the report tests them: by annotator, the share in which one system beats another."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any, Literal

import numpy as np

from analysis.planning.simulate import scale_answers
from analysis.planning.variance import Components
from analysis.statistics.coding import Floats
from spa.elicitation.choices import Choices
from spa.elicitation.ranking import Rankings
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.sampling import sample_assignments, study_rng

FINEST = 840  # steps of the scale of shares of different numbers of answers, unless fewer hold all of them exactly
DRAWN = 300  # annotators at least whose assignments say how often one judges a pair
MOST = 1000  # at most
Judged = tuple[tuple[int, float], ...]  # how many times an annotator judges a pair, and the share of annotators who do


def share_components(sd: float, ties: float = 0.0, item_sd: float = 0.0) -> Components:
    """Return why shares differ: annotators by ``sd``, items by ``item_sd``, and each order or choice by chance.

    Parameters
    ----------
    sd : float
        Between annotators' own shares, ties counted as half wins, above 0.
    ties : float
        Share of ties, in [0, 1).
    item_sd : float
        Between items' shares, the same for all annotators.

    Raises
    ------
    ValueError
        Where shares with so many ties cannot vary so much.

    >>> share_components(0.1).contribution_sd(1), share_components(0.1, ties=0.36).contribution_sd(1)
    (0.5, 0.4)
    """
    chance = (1 - ties) / 4 - sd**2 - item_sd**2
    if not (0 < sd and chance > 0):
        most = math.sqrt(max((1 - ties) / 4 - item_sd**2, 0.0))
        raise ValueError(f"expected an SD between annotators above 0 and below {most:.3g}, got {sd:g}")
    return Components(annotator_sd=sd, item_sd=item_sd, residual_sd=math.sqrt(chance))


def tied_components(components: Components, ties: float) -> Components:
    """Return the usual components where so many choices are ties: those of the other choices, tied ones being alike.

    >>> round(tied_components(share_components(0.1), 0.5).annotator_sd, 3)
    0.05
    """
    decided = 1 - ties
    return share_components(decided * components.annotator_sd, ties, decided * components.item_sd)


def between_variance(components: Components, pool: int | None) -> float:
    """Return the covariance of two answers of one annotator about a pair, on two of the study's ``pool`` items.

    Items are drawn without replacement, so that their common part lowers it by item^2 / (pool - 1): the item part of
    a contribution's variance is item^2 / k * (pool - k) / (pool - 1) over k items.
    """
    of_items = 0.0 if pool is None or pool < 2 else components.item_sd**2 / (pool - 1)
    return components.annotator_sd**2 - of_items


def share_variance(components: Components, times: int, pool: int | None = None) -> float:
    """Return the variance of the share over ``times`` answers of one annotator, of two equal systems."""
    once = components.annotator_sd**2 + components.item_sd**2 + components.residual_sd**2
    return (once + (times - 1) * between_variance(components, pool)) / times


def share_answers(
    components: Components, times: int, difference: float, ties: float = 0.0, pool: int | None = None
) -> tuple[Floats, Floats]:
    """Return the shares that one annotator can give over ``times`` orders or choices, and their chances.

    Each is tied with the chance ``ties``. Of the others an annotator's own chance to put x before y is beta
    distributed, such that the share has the mean 0.5 + ``difference`` and the SD between annotators; wins among them
    are beta-binomial. Where items differ more than annotators, shares vary less than binomial ones and are drawn from
    the distribution of largest entropy.

    Raises
    ------
    ValueError
        When no chances have that mean and SD.

    References
    ----------
    Skellam, J. G. (1948). A probability distribution derived from the binomial distribution by regarding the
    probability of success as variable between the sets of trials. JRSS B, 10(2), 257-261.
    """
    mean, between = 0.5 + difference / (1 - ties), between_variance(components, pool)
    variance = between / (1 - ties) ** 2
    shown = (0.5 + difference, components.annotator_sd)
    if not (mean < 1 and max(variance, (components.annotator_sd / (1 - ties)) ** 2) < mean * (1 - mean)):
        tied = f" with {100 * ties:g}% ties" if ties else ""
        raise ValueError(f"no shares{tied} have mean {shown[0]:g} and an SD of {shown[1]:g} between annotators")
    if times == 1:
        return np.array([0.0, 0.5, 1.0]), np.array([(1 - ties) * (1 - mean), ties, (1 - ties) * mean])
    if variance <= 0:
        once = (1 - ties) / 4 - difference**2
        sd = math.sqrt(max((once + (times - 1) * between) / times, 1e-12))
        return scale_answers(0.0, 1.0, 2 * times if ties else times, mean=0.5 + difference, sd=sd)
    from scipy.stats import betabinom, binom  # 0.4 s to load

    both = mean * (1 - mean) / variance - 1
    chances = np.zeros(2 * times + 1)  # steps of half an order, so that 0.5 is one of them
    for untied, chance in enumerate(binom.pmf(np.arange(times + 1), times, 1 - ties)):
        won = np.arange(untied + 1)
        chances[times - untied + 2 * won] += chance * betabinom.pmf(won, untied, mean * both, (1 - mean) * both)
    points = np.linspace(0.0, 1.0, len(chances))
    return (points[::2], chances[::2]) if times % 2 == 0 and not ties else (points, chances)


def mixed_shares(
    components: Components, judged: Judged, difference: float, ties: float = 0.0, pool: int | None = None
) -> tuple[Floats, Floats]:
    """Return the shares that annotators who judge a pair, some more often than others, can give, and their chances.

    The report weighs annotators alike, however often they judge a pair.
    """
    of_each = [(share, share_answers(components, times, difference, ties, pool)) for times, share in judged if times]
    if len(of_each) == 1:
        return of_each[0][1]
    steps = min(math.lcm(*(len(points) - 1 for _, (points, _) in of_each)), FINEST)
    chances = np.zeros(steps + 1)
    for share, (points, own) in of_each:
        np.add.at(chances, np.rint(points * steps).astype(int), share * own)
    return np.linspace(0.0, 1.0, steps + 1), chances / chances.sum()


def ranking_design(study: Study, outputs: Outputs) -> dict[str, Any]:
    """Return the family of tests of a study's [ranking], and how often an annotator puts both of a pair in order."""
    if study.section(Rankings) is None:
        raise ValueError("the study has no [ranking]")
    systems = len(study.compared)
    return {"n_tests": systems * (systems - 1) // 2, "judged": how_often_judged(study, outputs, "ranking")}


def choice_design(study: Study, outputs: Outputs) -> dict[str, Any]:
    """Return the family of tests of a study's [choices], and how often an annotator chooses between both of a pair."""
    if study.section(Choices) is None:
        raise ValueError("the study has no [choices]")
    return {"n_tests": len(study.pairs_of(Choices.key)), "judged": how_often_judged(study, outputs, "choices")}


def how_often_judged(study: Study, outputs: Outputs, kind: Literal["ranking", "choices"]) -> Judged:
    """Return how many times an annotator judges a pair, in all sessions, and the share of annotators and pairs.

    From assignments as the study draws them, of at least ``DRAWN`` annotators unless their forms come from a file.
    """
    people = study.people
    number = people.annotators if study.design.assignments is not None else max(people.annotators, DRAWN)
    number = min(number, MOST)
    tested = {frozenset(pair) for pair in study.pairs_of(Choices.key)} if kind == "choices" else None
    by_person: list[Counter[frozenset[str]]] = [Counter() for _ in range(number)]
    count = people.assignments_for(number)
    for assignment, key in sample_assignments(study, outputs, count=count, rng=study_rng(study.seed)):
        first = assignment.number * people.per_assignment
        questions = {  # both orders of two outputs are one
            frozenset((key.systems[one.label], one.item_id, one.sample) for one in pair)
            for shown in assignment.groups_of(kind)
            for pair in combinations(shown, 2)
        }
        judged = Counter(frozenset(system for system, _, _ in outputs) for outputs in questions)
        for person in {place % number for place in range(first, first + people.per_assignment)}:
            by_person[person].update(judged)
    systems = len(study.compared)
    pairs = systems * (systems - 1) // 2 if tested is None else len(tested)
    times = Counter(found for own in by_person for pair, found in own.items() if tested is None or pair in tested)
    times[0] = number * pairs - times.total()
    return tuple((often, seen / (number * pairs)) for often, seen in sorted(times.items()) if seen)
