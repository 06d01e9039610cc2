"""Annotators whose scores seem to lie on another scale than those of the others: 20 to 100 among 1 to 5."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from analysis.answers.codes import AnswerCode
from analysis.answers.columns import Scale
from analysis.answers.scales import declared_scale
from analysis.statistics.coding import Floats, Ints
from spa.errors import shortened

FEWEST = 5  # answers that say on what scale somebody answered
TWICE, MANY_TIMES = 1, 4  # ranges of the others' scale by which scores lie beyond it
MANY, SOME = 0.35, 0.2  # least shares of scores beyond it, where they are any numbers or only every second one
OTHERS_ANSWERS = 30  # of the others, where scores lie beyond their scale by less than many times
SEVERAL = 3  # others, likewise
SHIFTED_ANSWERS = 10
USUAL = frozenset(
    ((0, 4), (0, 6), (0, 9), (1, 5), (1, 7), (1, 10))
)  # scales of the others where one begins one number beside
EXPECTED = 4.0  # answers at an end that somebody would have given on the others' scale
WITHIN = 0.25  # of one number, by which an LLM's scores must lie off people's
HALF_WITHIN, STEEPEST = 0.6, 0.7  # on a scale half as wide: distance at people's middle, and slope
SAME_OUTPUTS, ALIKE = 20, 0.5  # outputs that both scored, and the correlation over them
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherScale:
    """An annotator who may have used a scale of their own: the ends of their scores, and of those of the others."""

    criterion: str
    annotator_id: str
    llm: bool
    low: float
    high: float
    others_low: float
    others_high: float
    moved: float | None = None  # an LLM's scores less people's on the same outputs, if that is what tells


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenScores:
    """What one annotator gave: different ``values``, ascending, ``n`` times each."""

    annotator_id: str
    llm: bool
    values: Floats
    n: Ints

    @property
    def low(self) -> float:
        """Return the lowest score."""
        return float(self.values[0])

    @property
    def high(self) -> float:
        """Return the highest score."""
        return float(self.values[-1])

    @property
    def middle(self) -> float:
        """Return what lies half way between both."""
        return (self.low + self.high) / 2

    @property
    def total(self) -> int:
        """Return how many scores there are."""
        return int(self.n.sum())

    def share_above(self, value: float) -> float:
        """Return the share of scores above a value."""
        return float(self.n[self.values > value].sum() / self.total)


def find_other_scales(
    table: pl.DataFrame | None,
    counts: pl.DataFrame,
    scales: Sequence[Scale],
    codes: Sequence[AnswerCode],
    settled: Mapping[str, object],
) -> tuple[OtherScale, ...]:
    """Return the annotators who seem to have used another scale than the others, by criterion.

    Parameters
    ----------
    table : DataFrame, optional
        Checked ratings; without them it is not looked whether an LLM's scores are people's, one number off.
    counts : DataFrame
        :func:`analysis.answers.codes.value_counts` of them.
    scales : sequence of Scale
        A criterion with a declared scale is one scale for all.
    codes : sequence of AnswerCode
        Values that are left out, as they may be no scores.
    settled : mapping
        Annotators who are known to have used a scale of their own, which was mapped.
    """
    no_scores = {(one.criterion, one.value) for one in codes if one.far}
    found: list[OtherScale] = []
    for (criterion,), own in counts.group_by("criterion", maintain_order=True):
        if declared_scale(scales, str(criterion)) is not None:
            continue
        own = own.filter(
            ~pl.col("value").is_in([value for name, value in no_scores if name == criterion]),
            ~pl.col("annotator_id").is_in([*settled]),
        )
        if not _may_differ(own):
            continue
        answered = [
            GivenScores(
                annotator_id=str(who),
                llm=kind == "llm",
                values=rows["value"].to_numpy(),
                n=rows["n"].to_numpy().astype(np.int64),
            )
            for (who, kind), rows in own.group_by("annotator_id", "annotator_kind", maintain_order=True)
        ]
        known = [one for one in answered if one.total >= FEWEST]
        for one, others in on_another_scale(known):
            found.append(_other_scale(str(criterion), one, others))
        told = {one.annotator_id for one in found if one.criterion == criterion}
        for one in known:
            if table is None or not one.llm or one.annotator_id in told:
                continue
            people = _people_beside(one, known)
            if not people:
                continue
            others, moves = _together(people), _may_be_moved(one, people)
            half = _is_half(one, others)
            beside = _beside_people(table, str(criterion), one.annotator_id) if moves or half else None
            if beside is None:
                continue
            if half and abs(beside.at(others.middle) - one.middle) <= HALF_WITHIN and beside.slope < STEEPEST:
                found.append(_other_scale(str(criterion), one, others))
            elif moves and abs(beside.less - (1 if others.low == 0 else -1)) <= WITHIN:
                found.append(_other_scale(str(criterion), one, others, beside.less))
    return tuple(found)


def _may_differ(own: pl.DataFrame) -> bool:
    """Tell by the ends of everybody's scores whether anybody can be on another scale; quick where there are many."""
    ends = own.group_by("annotator_id", "annotator_kind").agg(
        pl.col("value").min().alias("low"), pl.col("value").max().alias("high"), pl.col("n").sum().alias("total")
    )
    ends = ends.filter(pl.col("total") >= FEWEST).sort("high")
    if ends.height < 2 or (ends["annotator_kind"] == "llm").any():
        return ends.height > 1
    low, high = ends["low"].to_numpy(), ends["high"].to_numpy()
    gap = high[1:] >= high[:-1] + TWICE * (high[:-1] - np.minimum.accumulate(low)[:-1])
    return bool(gap.any() or (low == low.min()).sum() == 1 or (high == high.max()).sum() == 1)


def _other_scale(criterion: str, one: GivenScores, others: GivenScores, moved: float | None = None) -> OtherScale:
    return OtherScale(
        criterion=criterion,
        annotator_id=one.annotator_id,
        llm=one.llm,
        low=one.low,
        high=one.high,
        others_low=others.low,
        others_high=others.high,
        moved=moved,
    )


def on_another_scale(answered: Sequence[GivenScores]) -> list[tuple[GivenScores, GivenScores]]:
    """Return who seems to have used another scale, each with the scores of the others together.

    Either scores lie beyond the others' scale by as much as it is wide, and often: certain where it is four times
    as much; else three others (two, each with all of 1 to 5 or 7) must have used up a scale of whole numbers, or only
    every second number (2, 4, ... 10) was given. Or the scale is the others' but begins with 0 instead of 1, or 1
    instead of 0: its own first number is given though three others (of an LLM: two people) never do, and their last
    never, though they often do. Who uses part of the others' scale does not count.
    """
    away = _beyond(answered)
    rest = [one for one in answered if one not in away]
    if away and rest:
        return [(one, _together(rest)) for one in away]
    return [
        (one, _together(people))
        for one in _at_ends_alone(answered)
        if (people := _people_beside(one, answered)) and _shifted(one, people)
    ]


def _at_ends_alone(answered: Sequence[GivenScores]) -> list[GivenScores]:
    """Return the LLMs, and the people who alone went as low or as high as anybody did."""
    people = [one for one in answered if not one.llm]
    lows, highs = Counter(one.low for one in people), Counter(one.high for one in people)
    alone = (
        {low for low in lows if low == min(lows) and lows[low] == 1},
        {high for high in highs if high == max(highs) and highs[high] == 1},
    )
    return [one for one in answered if one.llm or one.low in alone[0] or one.high in alone[1]]


def _beyond(answered: Sequence[GivenScores]) -> list[GivenScores]:
    """Split annotators by how high they went where a gap shows two scales; return the smaller part."""
    by_height = sorted(answered, key=lambda one: (one.high, one.low, one.annotator_id))
    lowest = math.inf
    for place in range(1, len(by_height)):
        below = by_height[place - 1]
        lowest = min(lowest, below.low)
        width = max(below.high - lowest, 1e-9)
        if by_height[place].high < below.high + TWICE * width:
            continue
        lower, upper = by_height[:place], by_height[place:]
        scale = _together(lower)
        far = upper[0].high >= scale.high + MANY_TIMES * width
        by_steps = all(_step(one) > 1 for one in upper)
        least = 0.5 if far else SOME if by_steps else MANY
        if any(one.share_above(scale.high) <= least for one in upper):
            continue
        fewer_above = _weight(upper) <= _weight(lower)
        if fewer_above and _upper_is_other(scale, lower, far=far, by_steps=by_steps):
            return upper
        if not fewer_above and _lower_is_other(scale, upper):
            return lower
    return []


def _upper_is_other(scale: GivenScores, lower: Sequence[GivenScores], *, far: bool, by_steps: bool) -> bool:
    whole = _used_up(scale) and scale.low <= 1
    if far:
        return whole or scale.total >= OTHERS_ANSWERS
    usual = scale.low == 1 and scale.high in (5, 7) and all(one.low == 1 and one.high == scale.high for one in lower)
    several = len(lower) >= (SEVERAL - 1 if usual else SEVERAL) and scale.total >= OTHERS_ANSWERS
    return whole and (several or by_steps)


def _lower_is_other(scale: GivenScores, upper: Sequence[GivenScores]) -> bool:
    """Tell whether the fewer, who are below the others, used a small scale and not the low end of the others'."""
    fraction = scale.low >= 0 and scale.high <= 1 and len(scale.values) >= 4
    few = _used_up(scale) and scale.low in (0, 1) and scale.high <= 10
    above = all(one.share_above(scale.high) > 0.75 and one.high >= 5 * scale.high for one in upper)
    return (fraction or few) and above


def _weight(some: Sequence[GivenScores]) -> tuple[int, int]:
    return sum(not one.llm for one in some), len(some)


def _people_beside(one: GivenScores, answered: Sequence[GivenScores]) -> list[GivenScores]:
    """Return the people with whom somebody is compared; nobody where they are few."""
    people = [other for other in answered if other is not one and not other.llm]
    return people if len(people) >= (SEVERAL - 1 if one.llm else SEVERAL) else []


def _shifted(one: GivenScores, people: Sequence[GivenScores]) -> bool:
    """Tell whether somebody's scale begins one number below or above that of people who use up theirs."""
    others = _together(people)
    whole_range = sum(other.low == others.low and other.high == others.high for other in people)
    if whole_range <= len(people) / 2 or (others.low, others.high) not in USUAL:
        return False
    if not (_used_up(others) and (one.values % 1 == 0).all() and one.total >= SHIFTED_ANSWERS):
        return False
    if others.total < OTHERS_ANSWERS or (one.low, others.low) not in ((0, 1), (1, 0)):
        return False
    if one.high - one.low != others.high - others.low:
        return False
    missing = others.n[-1] if one.high < others.high else others.n[0]  # never given, though others give it
    beyond = one.n[0] if one.low < others.low else one.n[-1]  # given, though others never do
    return bool(beyond >= 2 and one.total * missing / others.total >= EXPECTED)


def _may_be_moved(one: GivenScores, people: Sequence[GivenScores]) -> bool:
    """Tell whether an LLM's scores lie on people's scale, one number off, and never reach its end as people do."""
    others = _together(people)
    down = others.low == 1
    step = -1 if down else 1
    if (others.low, others.high) not in USUAL or not _used_up(others) or (one.values % 1 != 0).any():
        return False
    inside = others.low + step <= one.low and one.high <= others.high + step
    missing = others.n[-1] if down else others.n[0]
    return bool(inside and one.total * missing / others.total >= EXPECTED)


def _is_half(one: GivenScores, others: GivenScores) -> bool:
    """Tell whether an LLM used up a scale to 4 or 5 where people used almost all of one to 10."""
    wide = (
        others.high == 10 and others.low in (0, 1) and len(others.values) >= 9 and bool((others.values % 1 == 0).all())
    )
    return wide and _used_up(one) and (one.low, one.high) in ((0, 4), (0, 5), (1, 5)) and one.total >= SAME_OUTPUTS


@dataclass(frozen=True, slots=True)
class _BesidePeople:
    """An LLM's scores beside people's means of the same outputs."""

    less: float  # an LLM's scores less people's, on average
    slope: float  # of the line through the LLM's scores by people's
    start: float

    def at(self, people: float) -> float:
        """Return the LLM's score on the line where people's is known."""
        return self.start + self.slope * people


def _beside_people(table: pl.DataFrame, criterion: str, llm: str) -> _BesidePeople | None:
    """Compare an LLM with people on the outputs that both scored; ``None`` where they are few or it does not agree."""
    output = ["item_id", "system", *(["sample"] if "sample" in table.columns else [])]
    own = table.filter(pl.col("criterion") == criterion, pl.col("value").is_not_null())
    by_llm, by_people = (
        own.filter(condition).group_by(output).agg(pl.col("value").mean().alias(name))
        for name, condition in (
            ("llm", pl.col("annotator_id") == llm),
            ("people", pl.col("annotator_kind") != "llm"),
        )
    )
    both = by_llm.join(by_people, on=output, nulls_equal=True)
    x, y = both["people"].to_numpy(), both["llm"].to_numpy()
    if len(x) < SAME_OUTPUTS or not (x.std() > 0 and y.std() > 0):
        return None
    agree = float(np.corrcoef(x, y)[0, 1])
    if agree < ALIKE:
        return None
    slope = agree * float(y.std() / x.std())
    return _BesidePeople(float((y - x).mean()), slope, float(y.mean() - slope * x.mean()))


def _together(some: Sequence[GivenScores]) -> GivenScores:
    values, places = np.unique(np.concatenate([one.values for one in some]), return_inverse=True)
    n = np.bincount(places, weights=np.concatenate([one.n for one in some])).astype(np.int64)
    return GivenScores(annotator_id="", llm=False, values=values, n=n)


def _used_up(scale: GivenScores) -> bool:
    """Tell whether the scores are whole numbers of which none is left out."""
    return bool(
        (scale.values % 1 == 0).all() and len(scale.values) >= 3 and len(scale.values) == scale.high - scale.low + 1
    )


def _step(one: GivenScores) -> int:
    """Return the largest whole number by which all scores can be divided; 1 where they are few or fractional."""
    if (one.values % 1 != 0).any() or len(one.values) < 3 or one.total < SHIFTED_ANSWERS:
        return 1
    return int(np.gcd.reduce(one.values.astype(np.int64)))


def own_scale(one: OtherScale) -> tuple[float, float]:
    """Return the ends to propose: of the scale of usual ends that holds the scores.

    >>> row = OtherScale(criterion="", annotator_id="", llm=True, low=3, high=9, others_low=1, others_high=5)
    >>> own_scale(row)
    (1.0, 10.0)
    """
    width = one.others_high - one.others_low
    if one.moved is not None:
        step = 1 if one.others_low == 0 else -1
        return one.others_low + step, one.others_high + step
    if one.high - one.low == width or (width and (one.high - one.low) % width == 0 and one.low):
        return one.low, one.high
    for high in (1.0, 5.0, 7.0, 10.0, 100.0):
        if one.high <= high and one.low >= 0:
            return (0.0 if one.low == 0 or high in (1.0, 100.0) else 1.0), high
    return one.low, one.high


def other_scale_words(scales: Sequence[OtherScale]) -> Iterator[str]:
    """Word one caveat for each two scales, or LLM that is one number off people's, whatever the criteria."""
    together: dict[tuple[object, ...], list[OtherScale]] = {}
    for one in scales:
        key = (
            (one.annotator_id,)
            if one.moved is not None
            else (one.llm, one.low, one.high, one.others_low, one.others_high)
        )
        together.setdefault(key, []).append(one)
    for own in together.values():
        first = own[0]
        who = [*dict.fromkeys(shortened(one.annotator_id, 30) for one in own)]
        named = ", ".join(who[:NAMED]) + (f" and {len(who) - NAMED} more" if len(who) > NAMED else "")
        criteria = [*dict.fromkeys(one.criterion for one in own)]
        about = "" if criteria == ["overall"] else f" ({shortened(', '.join(criteria), 60)})"
        ends = "{:g}:{:g}".format(*own_scale(first))
        options = " ".join(f"--rescale {one}={ends}" for one in who[:NAMED]) + (
            " and so on" if len(who) > NAMED else ""
        )
        low, high = min(first.low, first.others_low), max(first.high, first.others_high)
        if first.moved is None:
            start = (
                f"Scores by {named}{about} run from {first.low:g} to {first.high:g}, those of the others from "
                f"{first.others_low:g} to {first.others_high:g}"
            )
        else:
            way, end = ("below", first.others_high) if first.moved < 0 else ("above", first.others_low)
            start = (
                f"Scores by {named}{about} lie {abs(first.moved):.1f} {way} people's of the same outputs and are never "
                f"{end:g}"
            )
        also = "whether it can replace annotators" if first.llm else "agreement"
        yield (
            f"{start}, yet count as one scale, in {also} too. If it is another, add {options}; if "
            f"not, --scale {low:g}:{high:g}."
        )
