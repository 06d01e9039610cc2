"""Rows of results.json: how much people differ in kind, and whether they fall into two camps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal
from zlib import crc32

import numpy as np

from analysis.answers.plan import Plan
from analysis.camps.mixtures import two_camps
from analysis.camps.own_answers import EVEN, PairAnswers
from analysis.camps.true_preferences import Model, TruePreferences, true_preferences
from analysis.statistics.coding import Floats, Ints, at_target, fold
from analysis.statistics.corrections import adjust, reaches
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, Record, Share, Source, Spread, replace_fields
from analysis.statistics.t_tests import exact_mean

DIGITS = 4  # of shares and preferences, beyond which nothing is told
MOST_PAIRS = 200  # of a source, group and criterion
MOST_CAMPS = 24  # tests of a group: of more none could reach 5% after Holm with 499 draws
MOST_DOTS = 60  # people of a pair whose own preferences are kept, evenly from all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PeopleDiffer(Record):
    """How much people's true preferences about one pair differ, apart from the noise of their answers.

    Estimated from several answers of a person about separate outputs; both directions of one are one answer.
    """

    explained: ClassVar[tuple[str, ...]] = ("sd_people", "share_loser")

    source: Source
    group: str
    criterion: str
    system_x: str
    system_y: str
    n: Count
    """People."""
    n_answers: Count
    """Their answers; of choices without ties."""
    n_twice: Count
    """People with two answers or more."""
    estimate: float | None
    """Over people, each weighing the same: chance or share of x, or points by which x is better."""
    model: Model | None = None
    """Normal: variances by REML; beta-binomial: of choices."""
    sd_people: Spread | None = None
    """Standard deviation of true preferences."""
    sd_noise: Spread | None = None
    """Of one answer about its person's true preference; null of choices."""
    ahead: Literal["x", "y"] | None = None
    """Whom people prefer on average; null: neither."""
    share_loser: Share | None = None
    """Share of people who truly prefer the other one."""
    share_loser_low: Share | None = None
    share_loser_high: Share | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OwnPreference(Record):
    """One person's own preference about a pair, drawn to the mean as far as it is uncertain; nobody is named."""

    source: Source
    group: str
    criterion: str
    system_x: str
    system_y: str
    estimate: float
    """Of more than 60 people an even choice is kept."""
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CampsRow(Record):
    """Whether people fall into two camps about one pair (likelihood ratio of two camps and one, bootstrapped)."""

    explained: ClassVar[tuple[str, ...]] = ("p_value", "p_adjusted", "two_camps")

    source: Source
    group: str
    criterion: str
    system_x: str
    system_y: str
    n: Count
    p_value: Probability | None = None
    p_adjusted: Probability | None = None
    """Adjusted over all such tests of the group."""
    n_tests: Count | None = None
    two_camps: bool | None = None
    share: Share | None = None
    """Of the camp nearer to x, in steps of a tenth; null, as the next two, where there are not two camps."""
    mean_nearer_x: float | None = None
    """Its mean, in steps of a twentieth of the scale."""
    mean_nearer_y: float | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Differing:
    """Rows of all pairs, in their order."""

    rows: list[PeopleDiffer]
    own: list[OwnPreference]
    camps: list[CampsRow]


def people_differ(answers: Iterable[PairAnswers], plan: Plan) -> Differing:
    """Estimate how much people differ about each pair.

    Where the plan asks for camps every pair has rows, else only those that can be estimated.
    """
    found = Differing(rows=[], own=[], camps=[])
    done: dict[tuple[str, str, str], int] = {}
    asked: list[_Asked] = []
    for pair in answers:
        key = (pair.source, pair.group, pair.criterion)
        done[key] = done.get(key, 0) + 1
        if done[key] > MOST_PAIRS:
            continue
        value, person, counted = _used(pair)
        fitted = true_preferences(value, person, even=pair.even, counted=counted, confidence=plan.confidence)
        if isinstance(fitted, Reason) and not plan.camps:
            continue
        found.rows.append(_row(pair, value, person, fitted))
        if isinstance(fitted, TruePreferences):
            found.own.extend(_own(pair, fitted))
        if plan.camps:
            asked.append(_Asked(pair=pair, value=value, person=person, counted=counted, fitted=fitted))
    return Differing(rows=found.rows, own=found.own, camps=_adjusted(list(_camps(asked, plan)), plan))


def _used(pair: PairAnswers) -> tuple[Floats, Ints, bool]:
    """Return the answers that count, their people from 0 on, and whether they are choices, of which ties are left out.

    People stand in an order that their answers give, so that names and the order of rows change no figure.
    """
    value, person = pair.value, pair.person
    counted = pair.source == "choices" and bool(np.isin(value, (0.0, EVEN, 1.0)).all())
    if counted:
        kept = value != EVEN
        value, person = value[kept], person[kept]
    if not len(value):
        return value, person, counted
    if not np.bincount(person).all():
        person = fold(person).of
    if (given := _given(value, person)) is not None:
        few, times = given
        n = times.sum(axis=1)
        order = _in_order(times @ few / n, times @ few**2 / n, n)
        who, which = np.divmod(np.repeat(np.arange(times.size), times[order].ravel()), len(few))
        return few[which], who, counted
    n = np.bincount(person)
    order = _in_order(np.bincount(person, weights=value) / n, np.bincount(person, weights=value**2) / n, n)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    person = place[person]
    rows = np.lexsort((value, person))
    return value[rows], person[rows], counted


def _in_order(means: Floats, squares: Floats, n: Ints) -> Ints:
    """Return people by the means of their answers, by how many these are, and by the means of their squares."""
    return np.lexsort((np.round(squares, 12), n, np.round(means, 12)))


def _given(value: Floats, person: Ints) -> tuple[Floats, Ints] | None:
    """Return the values from the least on and how often each person gave each, where they are few whole numbers.

    Their sums are whole, so that no order in which they are added up leaves a trace.
    """
    low, n = float(value.min()), int(person.max()) + 1
    width = float(value.max()) - low + 1
    if not width * n < len(value) or low % 1:
        return None
    which = (value - low).astype(np.int64)
    if not np.array_equal(which, value - low):
        return None
    few: Floats = low + np.arange(int(width), dtype=np.float64)
    times: Ints = np.bincount(person * len(few) + which, minlength=n * len(few)).reshape(n, -1)
    return few, times


def _place(pair: PairAnswers) -> dict[str, str]:
    names = ("source", "group", "criterion", "system_x", "system_y")
    return {name: getattr(pair, name) for name in names}


def _row(pair: PairAnswers, value: Floats, person: Ints, fitted: TruePreferences | Reason) -> PeopleDiffer:
    n = np.bincount(person) if len(person) else np.zeros(0, dtype=np.int64)
    scale = float(np.abs(value).max(initial=1.0))
    mean = exact_mean((np.bincount(person, weights=value) / n).tolist()) if len(n) else None
    mean = None if mean is None else at_target(mean, pair.even, scale=scale)
    base = PeopleDiffer(
        **_place(pair),  # type: ignore[arg-type]
        n=len(n),
        n_answers=len(value),
        n_twice=int(np.sum(n > 1)),
        estimate=mean,
        reason=fitted if isinstance(fitted, Reason) else None,
    )
    if isinstance(fitted, Reason):
        return base
    known = {
        "model": fitted.model,
        "sd_people": fitted.variance**0.5,
        "sd_noise": None if fitted.noise is None else fitted.noise**0.5,
    }
    if mean == pair.even:
        return replace_fields(base, **known, share_loser=None, reason=why("no_winner"))
    first = mean is not None and mean > pair.even
    ends = (fitted.low, fitted.high)
    share, low, high = (1 - fitted.share_x, 1 - ends[1], 1 - ends[0]) if first else (fitted.share_x, ends[0], ends[1])
    return replace_fields(
        base,
        **known,
        ahead="x" if first else "y",
        share_loser=round(share, DIGITS),
        share_loser_low=round(low, DIGITS),
        share_loser_high=round(high, DIGITS),
    )


def _own(pair: PairAnswers, fitted: TruePreferences) -> Iterator[OwnPreference]:
    order = np.lexsort((fitted.own_high, -fitted.own))
    kept = np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_DOTS)).round().astype(np.int64))
    for place in kept.tolist():
        who = order[place]
        yield OwnPreference(
            **_place(pair),  # type: ignore[arg-type]
            estimate=round(float(fitted.own[who]), DIGITS),
            ci_low=round(float(fitted.own_low[who]), DIGITS),
            ci_high=round(float(fitted.own_high[who]), DIGITS),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """A pair of which the plan asks whether there are camps."""

    pair: PairAnswers
    value: Floats
    person: Ints
    counted: bool
    fitted: TruePreferences | Reason


def _camps(asked: Sequence[_Asked], plan: Plan) -> Iterator[CampsRow]:
    """Test each pair that can be; none of a group with more than could be significant after the correction."""
    tests = Counter(one.pair.group for one in asked if isinstance(one.fitted, TruePreferences))
    for one in asked:
        n = int(one.person.max()) + 1 if len(one.person) else 0
        reason = one.fitted if isinstance(one.fitted, Reason) else None
        if reason is None and tests[one.pair.group] > MOST_CAMPS:
            reason = why("camps_of_many", most=MOST_CAMPS)
        if reason is not None:
            yield CampsRow(**_place(one.pair), n=n, reason=reason)  # type: ignore[arg-type]
            continue
        bounded = one.pair.source != "ratings"
        width = 1.0 if bounded else 2 * float(np.abs(one.value).max())
        shift = 0.0 if bounded else EVEN
        rng = np.random.default_rng([plan.seed, crc32(one.pair.source.encode())])
        found = two_camps(one.value / width + shift, one.person, counted=one.counted, bounded=bounded, rng=rng)
        yield CampsRow(
            **_place(one.pair),  # type: ignore[arg-type]
            n=n,
            p_value=found.p_value,
            share=found.share,
            mean_nearer_x=(found.mean_x - shift) * width,
            mean_nearer_y=(found.mean_y - shift) * width,
        )


def _adjusted(rows: Sequence[CampsRow], plan: Plan) -> list[CampsRow]:
    """Correct the tests of each group together; what is not found has no camps to describe."""
    done = list(rows)
    for group in dict.fromkeys(row.group for row in rows):
        places = [place for place, row in enumerate(rows) if row.group == group]
        result = adjust([rows[place].p_value for place in places], correction=plan.correction, rate=plan.fwer)
        for place, p_adjusted in zip(places, result.p_adjusted, strict=True):
            if p_adjusted is None:
                continue
            found = reaches(p_adjusted, plan.fwer)
            nothing = {} if found else dict.fromkeys(("share", "mean_nearer_x", "mean_nearer_y"))
            done[place] = replace_fields(
                rows[place], p_adjusted=p_adjusted, n_tests=result.n_tests, two_camps=found, **nothing
            )
    return done
