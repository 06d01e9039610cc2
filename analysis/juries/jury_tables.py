"""Rows about juries: what they are made of, how far members agree, and what a jury without each of them says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from analysis.agreement.rater_agreement import (
    AgreementRow,
    agreement_of_judgements,
    agreement_of_ratings,
    code_raters,
)
from analysis.answers.groups import people_of
from analysis.answers.input import AnalysisInput, steps_of
from analysis.answers.juries import Apart, answers_of_jury, left_apart, members_of
from analysis.answers.order import turned
from analysis.answers.plan import Jury
from analysis.statistics.coding import DIGITS
from analysis.statistics.rank_orders import kendall_tau
from analysis.statistics.reasons import Reason
from analysis.statistics.record import AtMostOne, Coefficient, Count, Record, Share, Source, Spread

FEWEST = 2  # systems that an order needs
ASKED = (  # what tells questions to a jury apart
    "assignment_id",
    "item_id",
    "sample",
    "elicitation",
    "exposure",
    "system",
    "system_x",
    "system_y",
    "sample_x",
    "sample_y",
    "_turned",
)
SAME = 1e-9  # difference up to which two answers are the same


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JuryFacts(Record):
    """A jury: LLMs whose answers to a question are put together into one."""

    jury: str
    """Its group in all other tables."""
    members: tuple[str, ...]
    by: Literal["mean", "median", "majority"]
    """How answers are put together; orders by mean rank."""
    ties: Literal["middle", "missing"]
    """What its answer is where its members are split."""
    least: Count
    """Members that must have answered."""
    left_out: tuple[Apart, ...] = ()
    """Ways of asking whose answers are not put together: marked errors, best-worst."""
    cost: Spread | None = None
    """Of all recorded calls of its members, in the currency of the price table; null where one's is not known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JuryAgreement(Record):
    """The answers of a jury to one criterion, and how far its members agree on them."""

    source: Source
    jury: str
    criterion: str
    n: Count
    """Questions that the jury answered."""
    n_missing: Count
    """Questions that too few members answered, or on which they are split where that is no answer."""
    n_split: Count
    """Questions on which the members gave no single answer."""
    alpha: AtMostOne | None
    """Krippendorff's among the members, each one's repeats averaged."""
    ci_low: float | None
    ci_high: float | None
    alpha_measure: str | None
    exact_agreement: Share | None
    """Share of questions on which all members that answered say the same."""
    kendall_people: Coefficient | None
    """Kendall's tau-b of the systems' mean answers with those of people."""
    people: str | None
    reason: Reason | None = None
    """Why alpha or its interval is missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JuryWithout(Record):
    """A jury without one of its members, beside the whole jury."""

    source: Source
    jury: str
    criterion: str
    member: str
    n: Count
    """Questions that both answered."""
    changed: Share | None
    """Share of these with another answer."""
    kendall_jury: Coefficient | None
    """Kendall's tau-b of the systems' mean answers with those of the whole jury."""
    kendall_people: Coefficient | None
    """The same with people, beside that of the whole jury."""


def jury_facts(prepared: AnalysisInput, costs: Mapping[str, float | None]) -> Iterator[JuryFacts]:
    """Yield what each jury is made of.

    Parameters
    ----------
    prepared : AnalysisInput
        The answers.
    costs : mapping of str to float or None
        What the recorded calls of each rater cost; ``None`` of those whose price nobody knew.
    """
    for jury in prepared.plan.juries:
        own = [costs.get(name) for name in jury.raters]
        known = [cost for cost in own if cost is not None]
        yield JuryFacts(
            jury=jury.id,
            members=jury.raters,
            by=jury.by,
            ties=jury.ties,
            least=jury.least,
            left_out=left_apart(prepared.answers.values(), jury),
            cost=sum(known) if len(known) == len(own) else None,
        )


def jury_agreement(prepared: AnalysisInput) -> Iterator[JuryAgreement]:
    """Yield a row a source, jury and criterion that a member was asked about."""
    for source, table in prepared.answers.items():
        orders = prepared.orders[source]
        for jury in prepared.plan.juries:
            own = table.filter(pl.col("group").cast(pl.String) == jury.id)
            if own.is_empty():
                continue
            found = _agreement(prepared, source, jury)
            split = answers_of_jury(table, source, jury, prepared.exclusions).filter("split")["criterion"]
            for criterion in orders.criteria:
                rows = own.filter(pl.col("criterion") == criterion)
                if rows.is_empty():
                    continue
                by_measure = [row for row in found if row.criterion == criterion]
                alpha = next((row for row in by_measure if row.fits_scale), None)
                exact = next((row.value for row in by_measure if row.measure == "exact_agreement"), None)
                people, tau = _with_people(prepared, source, criterion, _means(prepared, source, criterion, jury.id))
                yield JuryAgreement(
                    source=source,  # type: ignore[arg-type]
                    jury=jury.id,
                    criterion=criterion,
                    n=rows.height - rows["value"].null_count(),
                    n_missing=rows["value"].null_count(),
                    n_split=split.to_list().count(criterion),
                    alpha=alpha.value if alpha else None,
                    ci_low=alpha.ci_low if alpha else None,
                    ci_high=alpha.ci_high if alpha else None,
                    alpha_measure=alpha.measure if alpha else None,
                    exact_agreement=exact,
                    kendall_people=tau,
                    people=people,
                    reason=alpha.reason if alpha else None,
                )


def _agreement(prepared: AnalysisInput, source: str, jury: Jury) -> Sequence[AgreementRow]:
    """Measure how far members agree: raters of one group, each one's repeats averaged."""
    rows = members_of(prepared.kept[source], jury)
    strings = pl.col(pl.Categorical).cast(pl.String)
    nobody = pl.lit(None, dtype=pl.String)
    raters = rows.with_columns(strings).with_columns(
        annotator_id=pl.col("group"), annotator_kind=pl.lit("human"), group=pl.lit(jury.id), variant=nobody
    )
    by = "exposure" if source == "preferences" else "item_id"
    raters = raters.with_columns(_by_form(raters, by))
    order = replace(prepared.orders[source], groups=(jury.id,))
    if source == "ratings":
        found, _ = agreement_of_ratings(code_raters(raters, order), prepared.plan, steps_of(prepared))
        return found
    found, _ = agreement_of_judgements({source: raters}, {source: order}, prepared.plan, prepared.study)
    return found


def _by_form(rows: pl.DataFrame, column: str) -> pl.Expr:
    """Return what was asked about, form by form where members share forms."""
    sharing = rows.group_by("assignment_id").agg(pl.col("annotator_id").n_unique() > 1)
    if sharing.filter(pl.col("annotator_id") & pl.col("assignment_id").is_not_null()).is_empty():
        return pl.col(column)
    parts = (pl.col(name).cast(pl.String).fill_null("") for name in (column, "assignment_id"))
    return pl.concat_str(*parts, separator="\n").alias(column)


def jury_without(prepared: AnalysisInput) -> Iterator[JuryWithout]:
    """Yield a row a source, jury, criterion and member that is left out; of juries of two members none."""
    for source, table in prepared.answers.items():
        for jury in prepared.plan.juries:
            own = table.filter(pl.col("group").cast(pl.String) == jury.id)
            if own.is_empty() or len(jury.raters) <= jury.least:
                continue
            whole = answers_of_jury(table, source, jury, prepared.exclusions, as_asked=False)
            for member in jury.raters:
                less = replace(jury, raters=tuple(name for name in jury.raters if name != member))
                rest = answers_of_jury(table, source, less, prepared.exclusions, as_asked=False)
                for criterion in prepared.orders[source].criteria:
                    both = [rows.filter(pl.col("criterion") == criterion) for rows in (whole, rest)]
                    if any(rows.is_empty() for rows in both):
                        continue
                    without = _scores(prepared, source, both[1])
                    n, changed = _changed(*both)
                    _, tau = _with_people(prepared, source, criterion, without)
                    yield JuryWithout(
                        source=source,  # type: ignore[arg-type]
                        jury=jury.id,
                        criterion=criterion,
                        member=member,
                        n=n,
                        changed=changed / n if n else None,
                        kendall_jury=_tau(_scores(prepared, source, both[0]), without),
                        kendall_people=tau,
                    )


def _changed(whole: pl.DataFrame, rest: pl.DataFrame) -> tuple[int, int]:
    """Count the questions that both answered, and those of them answered otherwise."""
    on = [name for name in ASKED if name in whole.columns]
    both = whole.select(*on, "value").join(rest.select(*on, other="value"), on=on, nulls_equal=True)
    both = both.drop_nulls(["value", "other"])
    return both.height, both.filter((pl.col("value") - pl.col("other")).abs() > SAME).height


def _means(prepared: AnalysisInput, source: str, criterion: str, group: str) -> dict[str, float]:
    kept = prepared.kept[source]
    same = (pl.col("group") == group) & (pl.col("criterion") == criterion)
    return _scores(prepared, source, kept.filter(same))


def _scores(prepared: AnalysisInput, source: str, rows: pl.DataFrame) -> dict[str, float]:
    """Return the mean answer of each system; of answers about pairs the mean share won."""
    rows = rows.filter(pl.col("value").is_not_null())
    if source == "ratings":
        sides = [rows.select(pl.col("system").cast(pl.String), "value")]
    else:
        both = turned(rows, prepared.orders[source])
        sides = [both.select(system="x", value="value"), both.select(system="y", value=1 - pl.col("value"))]
    found = pl.concat(sides).group_by("system").agg(pl.col("value").mean().round(DIGITS))
    return dict(found.iter_rows())


def _with_people(
    prepared: AnalysisInput, source: str, criterion: str, own: Mapping[str, float]
) -> tuple[str | None, float | None]:
    """Return the group of people who answered, too, and tau with them."""
    for people in people_of(prepared.groups):
        others = _means(prepared, source, criterion, people)
        if others:
            return people, _tau(own, others)
    return None, None


def _tau(one: Mapping[str, float], two: Mapping[str, float]) -> float | None:
    both = sorted(one.keys() & two.keys())
    if len(both) < FEWEST:
        return None
    return kendall_tau(*(np.array([side[name] for name in both]) for side in (one, two)))
