"""Rows of results.json: whether one order explains what was preferred to what, and the triples that go round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal
from zlib import crc32

import numpy as np

from analysis.answers.plan import Plan
from analysis.answers.units import Unit
from analysis.circles.flows import (
    Answers,
    CyclicIntervals,
    PairGraph,
    against_one_order,
    cyclic_intervals,
    strongest_circle,
)
from analysis.comparisons.unanimity import unanimous_p
from analysis.ranking.replicates import ReplicateSums, units_by_answers
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.corrections import adjust, reaches
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Count, Probability, RankedSource, Record, Share, replace_fields
from analysis.statistics.t_tests import one_sample, t_bound

Compared = Literal["preferences", "choices", "ratings_bt"]
MOST_SYSTEMS = 60
MOST_TRIPLES = 100
BUNDLES = 1000  # of units, from which on they are dealt into bundles, each drawn whole
FEWEST = 8  # units of a pair (median over pairs), from which on the test was seen to hold its level
FEWEST_OF_INTERVALS = 20  # of a pair, from which on the interval of the share was seen to hold it
EVEN = 0.5
NOTABLE = 0.05  # share beyond noise that goes round, below which an order still says all but little
DIGITS = 12  # to which two units that said the same agree
EQUAL = 1e-9  # by which shares may differ that are the same
AROUND = 3  # systems of the shortest circle


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CircleRow(Record):
    """Whether one order explains the pairs of one source, group and criterion.

    Hodge decomposition of the pairs' log odds into what one value for each system gives (gradient), cycles of three
    (curl) and longer cycles (harmonic; Jiang, Lim, Yao & Ye, 2011). Ratings count
    as the share of items on which x was rated higher; of preferences each annotator's own log odds are averaged.
    """

    explained: ClassVar[tuple[str, ...]] = ("share_gradient", "share_curl", "share_harmonic", "expected_cyclic")

    source: RankedSource
    group: str
    criterion: str
    unit: Unit | None
    n: Count
    """Units."""
    n_systems: Count
    n_pairs: Count
    n_cycles: Count
    """Independent cycles among the pairs compared; 0: nothing can go round."""
    n_triples: Count
    """Three systems of which all three pairs were compared."""
    share_gradient: Share | None = None
    """Share of the variation of log odds, pairs weighted by units, that one order explains."""
    share_curl: Share | None = None
    share_harmonic: Share | None = None
    expected_cyclic: Share | None = None
    """Share of curl and harmonic part together that noise alone leaves where the fitted order is true."""
    cyclic_low: Share | None = None
    """Interval of the share of curl and harmonic part together without noise (bootstrap of units, its test inverted):
    the share found may lie above. Null below 20 units a pair."""
    cyclic_high: Share | None = None
    curl_low: Share | None = None
    """Likewise of the curl alone; null where nothing is made of triples, or of more than 300 pairs, not all of them."""
    curl_high: Share | None = None
    harmonic_low: Share | None = None
    """Of the harmonic part alone; null where each circle is made of triples."""
    harmonic_high: Share | None = None
    p_value: Probability | None = None
    """Of the fitted order (wild bootstrap of units): curl and harmonic part together are no larger than noise."""
    p_adjusted: Probability | None = None
    n_tests: Count | None = None
    verdict: Literal["circle", "no scale", "order"] | None = None
    """Order: the fitted order is not rejected, or what goes round beyond noise is less than a twentieth; circle: it is
    rejected, and each step of a circle is clear; no scale: it is rejected."""
    circle: tuple[str, ...] = ()
    """Each preferred to the next, the last to the first, by the mean answers: the circle whose weakest step is
    strongest; empty where there is none."""
    circle_shares: tuple[Share, ...] = ()
    """Mean share of each of its steps."""
    weak_broken: Count | None = None
    """Triples whose mean answers violate weak stochastic transitivity."""
    moderate_broken: Count | None = None
    """Moderate: a over c at least as often as the smaller of the two steps."""
    strong_broken: Count | None = None
    """Strong: at least as often as the larger."""
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CircleTriple(Record):
    """Three systems, a preferred to b and b to c by the mean answers; the triples that go round most.

    Margins are the mean share of a over c minus what weak, moderate and strong stochastic transitivity ask for at
    least; below 0 it is violated. Their t intervals take the order of the three, which the same answers gave, as
    given.
    """

    source: RankedSource
    group: str
    criterion: str
    system_a: str
    system_b: str
    system_c: str
    n: Count
    """Units that answered about one of the pairs."""
    share_ab: Share
    share_bc: Share
    share_ac: Share
    around: float
    """Log odds of a over b, b over c and c over a, added up: 0 where one order explains the three."""
    weak_margin: float
    weak_low: float | None
    weak_high: float | None
    moderate_margin: float
    moderate_low: float | None
    moderate_high: float | None
    strong_margin: float
    strong_low: float | None
    strong_high: float | None


def circles(rankings: Sequence[ReplicateSums], plan: Plan) -> tuple[list[CircleRow], list[CircleTriple]]:
    """Ask of all comparisons whether one order explains them.

    Parameters
    ----------
    rankings : sequence of ReplicateSums
        Sums by unit and pair; those of means are left out.
    plan : Plan
        Seed, correction and its rate, confidence.

    Returns
    -------
    rows : list of CircleRow
        None where fewer than three systems were compared. The tests of a group are a family.
    triples : list of CircleTriple
        Up to 100 a row, those that go round most first.
    """
    rows: list[CircleRow] = []
    triples: list[CircleTriple] = []
    steps: list[bool] = []
    for sums in rankings:
        if sums.pairs is None or len(sums.systems) < AROUND:
            continue
        row, own, clear = _circle(sums, plan)
        rows.append(row)
        triples += own
        steps.append(clear)
    return _with_verdicts(rows, steps, plan), triples


def cyclic(row: CircleRow) -> float:
    """Return the share of curl and harmonic part together."""
    return 1 - (1.0 if row.share_gradient is None else row.share_gradient)


def _circle(sums: ReplicateSums, plan: Plan) -> tuple[CircleRow, list[CircleTriple], bool]:
    """Return the row of one table, its triples, and whether each step of its circle is clear."""
    assert sums.pairs is not None
    unit: Unit = sums.unit  # type: ignore[assignment]
    base = CircleRow(
        source=sums.source,  # type: ignore[arg-type]
        group=sums.group,
        criterion=sums.criterion,
        unit=unit,
        n=len(sums.names),
        n_systems=len(sums.systems),
        n_pairs=len(sums.pairs.low),
        n_cycles=0,
        n_triples=0,
    )
    if len(sums.systems) > MOST_SYSTEMS:
        return replace_fields(base, reason=why("circles_of_many", most=MOST_SYSTEMS)), [], False
    answers, systems = answers_of(sums)
    graph = answers.graph
    base = replace_fields(base, n_pairs=len(graph.low), n_cycles=graph.n_cycles, n_triples=len(graph.triangles))
    if not graph.n_cycles:
        return replace_fields(base, reason=why("nothing_goes_round")), [], False
    shares = graph.shares(answers.flow, answers.n)
    if shares is None:
        return replace_fields(base, reason=why("answers_even")), [], False
    rng = np.random.default_rng([plan.seed, crc32(sums.source.encode())])
    tested = against_one_order(answers, rng=rng)
    of_pair = int(np.median(answers.n))
    enough = of_pair >= FEWEST_OF_INTERVALS
    within = cyclic_intervals(answers, rng=rng, confidence=plan.confidence) if enough else None
    way = _from_strongest(answers, strongest_circle(graph, answers.share))
    few = None if of_pair >= FEWEST else why("few_units_for_circles", n=of_pair, needed=FEWEST)
    order, margins = _margins(answers)
    broken = [int(np.sum(one < -EQUAL)) for one in margins]
    row = replace_fields(
        base,
        share_gradient=shares.gradient,
        share_curl=shares.curl,
        share_harmonic=shares.harmonic,
        expected_cyclic=tested.expected,
        **_bounds(within),
        p_value=None if few else tested.p_value,
        circle=tuple(systems[system] for system in way),
        circle_shares=tuple(_over(answers, *two) for two in _steps(way)),
        weak_broken=broken[0],
        moderate_broken=broken[1],
        strong_broken=broken[2],
        reason=few,
    )
    triples = list(_triples(sums, answers, systems, order, margins, plan.confidence))
    return row, triples, bool(way) and _all_clear(answers, way, plan)


def _bounds(within: CyclicIntervals | None) -> dict[str, float]:
    """Return the bounds of each part that has some."""
    found: dict[str, float] = {}
    for name in () if within is None else ("cyclic", "curl", "harmonic"):
        if (bounds := getattr(within, name)) is not None:
            found |= {f"{name}_low": bounds[0], f"{name}_high": bounds[1]}
    return found


def answers_of(sums: ReplicateSums) -> tuple[Answers, tuple[str, ...]]:
    """Return what each unit said of each pair, of many units what bundles of them said, and the names of the systems.

    Systems stand in the order of their mean shares, those of one share by their names. Units stand in an order that
    their answers give, so that neither the order of rows nor names change what is drawn.
    """
    assert sums.pairs is not None
    names = units_by_answers([sums])
    n_units = min(len(names), BUNDLES)
    own = sums.over({name: number % n_units for number, name in enumerate(names)}, n_units)
    total, count = (one if isinstance(one, np.ndarray) else one.toarray() for one in (own.sums, own.counts))
    met = count.sum(axis=1) > 0
    total, count = total[met], count[met]
    value = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    met_low, met_high = sums.pairs.low[met], sums.pairs.high[met]
    given, k = np.nanmean(value, axis=1) - EVEN, len(sums.systems)
    scores = np.bincount(met_low, given, k) - np.bincount(met_high, given, k)
    ranked = np.lexsort((np.array(sums.systems), -scores.round(DIGITS - 2)))
    place = np.argsort(ranked)
    first, second = place[met_low], place[met_high]
    value = np.where((first > second) != sums.turned, (1 - value).T, value.T)
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((high, low))
    answers = Answers(
        graph=PairGraph(k=k, low=low[order], high=high[order]),
        value=snap(value[:, order], scale=1.0, digits=DIGITS),
        n_answers=count.sum(axis=1)[order],
        stated=sums.source == "preferences",
    )
    return answers, tuple(sums.systems[system] for system in ranked)


def _from_strongest(answers: Answers, way: Sequence[int]) -> tuple[int, ...]:
    """Begin a circle with its clearest step."""
    if not way:
        return ()
    shares = [round(_over(answers, *two), DIGITS) for two in _steps(way)]
    first = shares.index(max(shares))
    return (*way[first:], *way[:first])


def _steps(way: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(way, (*way[1:], *way[:1]), strict=True)


def _pair(answers: Answers, x: int, y: int) -> int:
    graph = answers.graph
    return int(np.flatnonzero((graph.low == min(x, y)) & (graph.high == max(x, y)))[0])


def _over(answers: Answers, x: int, y: int) -> float:
    share = float(answers.share[_pair(answers, x, y)])
    return share if x < y else 1 - share


def _all_clear(answers: Answers, way: Sequence[int], plan: Plan) -> bool:
    """Say whether each step of a circle is clear among the tests of all pairs, corrected together."""
    p_values = []
    for pair in range(len(answers.n)):
        values = answers.value[answers.answered[:, pair], pair]
        test = one_sample(values, against=EVEN, confidence=plan.confidence)
        p_values.append(unanimous_p(test.mean, len(values)) if test.p_value is None else test.p_value)
    adjusted = adjust(p_values, correction=plan.correction, rate=plan.fwer).p_adjusted
    found = (adjusted[_pair(answers, *two)] for two in _steps(way))
    return all(p_adjusted is not None and reaches(p_adjusted, plan.fwer) for p_adjusted in found)


def _margins(answers: Answers) -> tuple[Ints, tuple[Floats, Floats, Floats]]:
    """Order each triple, and return the margins of weak, moderate and strong transitivity.

    Returns
    -------
    order : array of int, shape (triangles, 3)
        Systems a, b, c with a over b and b over c; of the three ways round a circle the one whose third pair is
        nearest to even.
    margins : three arrays of float, shape (triangles,)
    """
    graph, share = answers.graph, answers.share
    ab, bc, ac = (share[graph.triangles[:, side]] for side in range(AROUND))
    one, two, three = (
        graph.low[graph.triangles[:, 0]],
        graph.high[graph.triangles[:, 0]],
        graph.high[graph.triangles[:, 1]],
    )
    over = {(0, 1): ab, (1, 0): 1 - ab, (1, 2): bc, (2, 1): 1 - bc, (0, 2): ac, (2, 0): 1 - ac}
    ways = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    thirds = np.array(
        [
            np.where(np.minimum(over[a, b], over[b, c]) >= EVEN - EQUAL, over[a, c].round(DIGITS - 2), -1)
            for a, b, c in ways
        ]
    ).reshape(len(ways), -1)
    best = thirds.argmax(axis=0)
    systems = np.stack([one, two, three])
    order = np.take_along_axis(systems, np.array(ways)[best].T, axis=0).T
    first, second, third = (
        np.array([over[way[i], way[j]] for way in ways]).reshape(len(ways), -1)[best, np.arange(len(best))]
        for i, j in ((0, 1), (1, 2), (0, 2))
    )
    return order, (third - EVEN, third - np.minimum(first, second), third - np.maximum(first, second))


def _triples(
    sums: ReplicateSums,
    answers: Answers,
    systems: Sequence[str],
    order: Ints,
    margins: tuple[Floats, Floats, Floats],
    confidence: float,
) -> Iterator[CircleTriple]:
    around = np.abs(answers.graph.around @ answers.flow).round(DIGITS - 2)
    listed = np.argsort(-around, kind="stable")[:MOST_TRIPLES]
    for number in listed.tolist():
        a, b, c = order[number].tolist()
        steps, third = [_Step.of(answers, a, b), _Step.of(answers, b, c)], _Step.of(answers, a, c)
        smaller, larger = sorted(steps, key=lambda step: step.share)
        found: dict[str, float | None] = {}
        for name, least in (("weak", None), ("moderate", smaller), ("strong", larger)):
            found |= _interval(name, third, least, confidence)
        weak, moderate, strong = (float(margin[number]) for margin in margins)
        yield CircleTriple(
            source=sums.source,  # type: ignore[arg-type]
            group=sums.group,
            criterion=sums.criterion,
            system_a=systems[a],
            system_b=systems[b],
            system_c=systems[c],
            n=int(np.sum(answers.answered[:, answers.graph.triangles[number]].any(axis=1))),
            share_ab=steps[0].share,
            share_bc=steps[1].share,
            share_ac=third.share,
            around=steps[0].flow + steps[1].flow - third.flow,
            weak_margin=weak,
            moderate_margin=moderate,
            strong_margin=strong,
            **found,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One system over another: mean share, log odds, and each unit's deviation from the share over all units."""

    share: float
    flow: float
    away: Floats

    @classmethod
    def of(cls, answers: Answers, x: int, y: int) -> _Step:
        pair = _pair(answers, x, y)
        share = float(answers.share[pair])
        away = np.where(answers.answered[:, pair], answers.value[:, pair] - share, 0) / answers.n[pair]
        flow = float(answers.flow[pair])
        return cls(share, flow, away) if x < y else cls(1 - share, -flow, -away)


def _interval(name: str, third: _Step, least: _Step | None, confidence: float) -> dict[str, float | None]:
    """Return the t interval of a margin, units clustered: each adds its deviations from both shares."""
    away = third.away if least is None else third.away - least.away
    margin, n = third.share - (EVEN if least is None else least.share), len(away)
    variance = float(np.sum(away**2))
    if n < 2 or variance <= 0:
        return {f"{name}_low": None, f"{name}_high": None}
    half = t_bound(n - 1, confidence) * np.sqrt(variance * n / (n - 1))
    return {f"{name}_low": float(margin - half), f"{name}_high": float(margin + half)}


def _with_verdicts(rows: Sequence[CircleRow], clear: Sequence[bool], plan: Plan) -> list[CircleRow]:
    """Correct the tests of each group together, and say what each found."""
    done = list(rows)
    for group in dict.fromkeys(row.group for row in rows):
        places = [place for place, row in enumerate(rows) if row.group == group]
        result = adjust([rows[place].p_value for place in places], correction=plan.correction, rate=plan.fwer)
        for place, p_adjusted in zip(places, result.p_adjusted, strict=True):
            if p_adjusted is not None:
                rejected = reaches(p_adjusted, plan.fwer)
                beyond = rejected and cyclic(rows[place]) - (rows[place].expected_cyclic or 0) >= NOTABLE
                verdict = "order" if not beyond else "circle" if clear[place] else "no scale"
                done[place] = replace_fields(
                    rows[place], p_adjusted=p_adjusted, n_tests=result.n_tests, verdict=verdict
                )
    return done
