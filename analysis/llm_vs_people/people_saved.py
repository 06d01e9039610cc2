"""How many people an LLM's answers save, for the same precision: rows of ``llm_vs_people.people_saved``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from analysis.answers.order import Order, toward
from analysis.answers.plan import Plan
from analysis.comparisons.sides import PeopleKind, Sides, by_group, sides_of
from analysis.llm_vs_people.powered_rows import numbered, paired, place_of, spread
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import Coefficient, Count, Record, Share, Source, replace_fields
from analysis.statistics.t_tests import t_bound

FEWEST = 8  # units from which on intervals were seen to hold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PeopleSavedRow(Record):
    """Share of people whose answers an LLM's stand in for, of one test or mean, or of all tests of a criterion.

    With rho the correlation of people's and the LLM's answers over units that both answered, an estimate of
    prediction-powered inference from n units of people and N more of the LLM is as precise as one from people's
    n / (1 - rho^2 N / (n + N)). It depends on neither unit nor sign of the LLM's scores.
    """

    people: PeopleKind
    group: str
    criterion: str
    source: Source
    system_x: str | None
    """Null: the mean over all pairs of the criterion."""
    system_y: str | None
    """Null beside a system: the mean rating of system_x."""
    exposure: int | None = None
    unit: Literal["form", "item"]
    n: Count
    """Units that people and the LLM answered; of a criterion the most of a pair."""
    n_more: Count
    """Units that only the LLM answered."""
    rho: Coefficient | None = None
    """Null for the mean over pairs."""
    saved: Share | None = None
    """Rho^2 N / (n + N), rho^2 less what chance adds to it; 0 where N is 0."""
    saved_low: Share | None = None
    saved_high: Share | None = None
    limit: Share | None = None
    """The same for ever more answers of the LLM: rho^2."""
    limit_low: Share | None = None
    limit_high: Share | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Correlation, rho^2 less what chance adds, and the interval of rho^2; ``reason`` where there is none."""

    rho: float | None = None
    squared: float | None = None
    low: float | None = None
    high: float | None = None
    reason: Reason | None = None


def follows(people: Floats, llm: Floats, *, confidence: float = 0.95) -> Followed:
    """Estimate the share of people's variance over units that an LLM's answers explain.

    Parameters
    ----------
    people, llm : array of float, shape (n,)
        Answers to the same units, independent of each other.
    confidence : float

    Returns
    -------
    Followed
        ``squared`` is 1 - (1 - r^2)(n - 1)/(n - 2), 0 at least. The interval of rho^2 is that of Fisher's z, with
        t(n - 1) and the larger of the standard errors 1/sqrt(n - 3) and the jackknife's; 0 is in it where 0 is in that
        of rho.

    References
    ----------
    Ezekiel, M. (1930). Methods of Correlation Analysis. Wiley. Efron, B. (1982). The Jackknife, the Bootstrap and Other
    Resampling Plans. SIAM, section 3.

    >>> found = follows(np.arange(10.0), np.array([1, 0, 2, 4, 3, 5, 7, 6, 9, 8.0]))
    >>> round(found.rho, 3), round(found.squared, 3), round(found.low, 2), round(found.high, 2)
    (0.952, 0.894, 0.58, 0.98)
    """
    n = len(people)
    if n < FEWEST:
        return Followed(reason=why("few_in_common", n=n, needed=FEWEST))
    y, f = people - people.mean(), llm - llm.mean()
    scale = math.sqrt(float(y @ y) * float(f @ f))
    if not scale > 0 or np.ptp(people) == 0 or np.ptp(llm) == 0:
        return Followed(reason=why("no_variation"))
    rho = min(1.0, max(-1.0, float(y @ f) / scale))
    squared = max(0.0, 1 - (1 - rho**2) * (n - 1) / (n - 2))
    if 1 - abs(rho) < 1e-12:
        return Followed(rho=rho, squared=squared, reason=why("no_variation"))
    z, without = math.atanh(rho), np.arctanh(np.clip(_without_each(y, f), -1 + 1e-12, 1 - 1e-12))
    jackknife = math.sqrt((n - 1) / n * float(np.sum((without - without.mean()) ** 2)))
    half = t_bound(n - 1, confidence) * max(jackknife, 1 / math.sqrt(n - 3))
    low, high = math.tanh(z - half), math.tanh(z + half)
    ends = sorted((low**2, high**2))
    return Followed(rho=rho, squared=squared, low=0.0 if low < 0 < high else ends[0], high=ends[1])


def _without_each(y: Floats, f: Floats) -> Floats:
    """Return the correlations without each unit in turn, of centred columns."""
    rest = len(y) - 1
    yy = y @ y - y**2 - y**2 / rest
    ff = f @ f - f**2 - f**2 / rest
    yf = y @ f - y * f - y * f / rest
    bottom = np.sqrt(np.maximum(yy * ff, 0))
    found: Floats = np.divide(yf, bottom, out=np.zeros_like(yf), where=bottom > 0)
    return found


def people_saved(kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order], plan: Plan) -> Iterator[PeopleSavedRow]:
    """Say of each LLM how many people it saves, test by test and over the tests of each criterion.

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source.
    orders : mapping of str to Order
        Order of groups, criteria, systems and pairs of each.
    plan : Plan
        Confidence.
    """
    for source, rows_of in (("preferences", _of_forms), ("ratings", _of_ratings), ("choices", _of_choices)):
        if source not in kept:
            continue
        parts: dict[tuple[str, str], list[PeopleSavedRow]] = {}
        for row in rows_of(kept[source], orders[source], plan):
            parts.setdefault((row.group, row.criterion), []).append(row)
        for own in parts.values():
            yield from _together(own)
            yield from own


def _together(rows: Sequence[PeopleSavedRow]) -> Iterator[PeopleSavedRow]:
    """Average the rows of pairs, their bounds as well: too wide rather than too narrow, as pairs share units."""
    pairs = [row for row in rows if row.system_y is not None]
    known = [row for row in pairs if row.limit_high is not None]
    if not pairs:
        return
    base = replace(
        pairs[0],
        system_x=None,
        system_y=None,
        exposure=None,
        rho=None,
        n=max(row.n for row in pairs),
        n_more=max(row.n_more for row in pairs),
    )
    if not known:
        yield replace(base, saved=None, limit=None, reason=max(pairs, key=lambda row: (row.n, str(row.reason))).reason)
        return
    names = ("saved", "saved_low", "saved_high", "limit", "limit_low", "limit_high")
    means = {name: math.fsum(getattr(row, name) for row in known) / len(known) for name in names}
    yield replace_fields(base, reason=None, **means)


def _row(people: Floats, llm: Floats, n_more: int, plan: Plan, *, kind: PeopleKind, **place: object) -> PeopleSavedRow:
    found = follows(people, llm, confidence=plan.confidence)
    part = n_more / (len(people) + n_more) if n_more else 0.0
    saved = [None if value is None else value * part for value in (found.squared, found.low, found.high)]
    return PeopleSavedRow(
        people=kind,
        n=len(people),
        n_more=n_more,
        rho=found.rho,
        saved=saved[0],
        saved_low=saved[1],
        saved_high=saved[2],
        limit=found.squared,
        limit_low=found.low,
        limit_high=found.high,
        reason=found.reason,
        **place,  # type: ignore[arg-type]
    )


def _of_forms(table: pl.DataFrame, order: Order, plan: Plan) -> Iterator[PeopleSavedRow]:
    """Compare preferences form by form."""
    sides = sides_of(table.filter(pl.col("assignment_id").is_not_null()))
    if sides is None:
        return
    test = ("criterion", "exposure", "x", "y")
    form = ("assignment_id", *test)
    of_people, of_llms = toward(sides.people, order, form), toward(sides.llms, order, ("group", *form))
    asked = sides.people.select("assignment_id").unique()
    for group, own in by_group(of_llms, order):
        both = of_people.join(own.rename({"value": "llm"}), on=form, how="inner", nulls_equal=True).sort(form)
        more = own.join(asked, on="assignment_id", how="anti")
        counts = {key: n for *key_of, n in more.group_by(test).len().iter_rows() for key in [tuple(key_of)]}
        found = both.partition_by(test, as_dict=True, maintain_order=True)
        for key in sorted(found, key=lambda key: place_of(key, order)):
            criterion, exposure, x, y = key
            yield _row(
                found[key]["value"].to_numpy(),
                found[key]["llm"].to_numpy(),
                counts.get(key, 0),
                plan,
                kind=sides.kind,
                group=group,
                criterion=criterion,
                source="preferences",
                system_x=x,
                system_y=y,
                exposure=exposure,
                unit="form",
            )


def _of_ratings(table: pl.DataFrame, order: Order, plan: Plan) -> Iterator[PeopleSavedRow]:
    """Compare means of systems and differences of pairs item by item."""
    sides = sides_of(table)
    if sides is None:
        return
    systems = order.systems
    tests = [*((x, None) for x in range(len(systems))), *combinations(range(len(systems)), 2)]
    for group, criterion, people, llm in _by_item(sides, "system", systems, order):
        for x, y in tests:
            of_people, of_llm = people[:, x], llm[:, x]
            if y is not None:
                of_people, of_llm = of_people - people[:, y], of_llm - llm[:, y]
            touched = np.asarray(~np.isnan(people[:, [x] if y is None else [x, y]]).all(axis=1))
            yield from _of_items(
                of_people,
                of_llm,
                touched,
                plan,
                kind=sides.kind,
                group=group,
                criterion=criterion,
                source="ratings",
                system_x=systems[x],
                system_y=None if y is None else systems[y],
            )


def _of_choices(table: pl.DataFrame, order: Order, plan: Plan) -> Iterator[PeopleSavedRow]:
    """Compare the share that x won item by item."""
    sides = sides_of(table)
    if sides is None:
        return
    sides, pairs = paired(sides, order)
    for group, criterion, of_people, of_llm in _by_item(sides, "pair", [*pairs], order):
        for entry, (x, y) in enumerate(pairs.values()):
            yield from _of_items(
                of_people[:, entry],
                of_llm[:, entry],
                ~np.isnan(of_people[:, entry]),
                plan,
                kind=sides.kind,
                group=group,
                criterion=criterion,
                source="choices",
                system_x=x,
                system_y=y,
            )


def _by_item(
    sides: Sides, column: str, entries: Sequence[str], order: Order
) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Yield each LLM and criterion with people's and its means, shape (items, entries), NaN where there is none."""
    people, llms = numbered(sides.people, sides.llms, column, entries)
    for criterion in order.criteria:
        rated = people.filter(pl.col("criterion") == criterion)
        if rated.is_empty():
            continue
        for group, own in by_group(llms.filter(pl.col("criterion") == criterion), order):
            items: list[Ints] = [side["item"].to_numpy() for side in (rated, own)]
            shape = (1 + max(int(item.max()) for item in items), len(entries))
            means = [
                spread(item, side["entry"].to_numpy(), side["value"].to_numpy(), shape)
                for item, side in zip(items, (rated, own), strict=True)
            ]
            yield group, criterion, means[0], means[1]


def _of_items(
    people: Floats, llm: Floats, touched: npt.NDArray[np.bool_], plan: Plan, **place: object
) -> Iterator[PeopleSavedRow]:
    both = ~np.isnan(people + llm)
    if both.any():
        more = int(np.sum(~np.isnan(llm) & ~touched))
        yield _row(people[both], llm[both], more, plan, unit="item", **place)  # type: ignore[arg-type]
