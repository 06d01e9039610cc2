"""The rows of results.json that set LLMs against people, from the tidy tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from analysis.answers.item_preferences import as_chosen
from analysis.answers.order import Order, turned
from analysis.answers.plan import Plan
from analysis.answers.unnamed import is_nameless
from analysis.comparisons.ratings import RatingMean
from analysis.comparisons.sides import PeopleKind, Sides, by_group, sides_of
from analysis.llm_vs_people.alternative_annotator import (
    AlternativeAnnotatorRow,
    LongAnswers,
    UnitSource,
    compare_with_each_annotator,
)
from analysis.llm_vs_people.bias_rows import BiasRow, bias_rows
from analysis.llm_vs_people.calibration_rows import CalibrationRow, calibration_rows
from analysis.llm_vs_people.people_saved import PeopleSavedRow, people_saved
from analysis.llm_vs_people.powered_rows import (
    PredictionPoweredRow,
    numbered,
    powered_choices,
    powered_preferences,
    powered_ratings,
    spread,
)
from analysis.llm_vs_people.rank_tables import LLMRanks, RankTable, RankTableRow, alphas_of_ranks, rank_table
from analysis.statistics.coding import Floats, average_by, code, fold, scale_of, snap
from analysis.statistics.record import Count, Record, fields_of, names_of

JUDGED: dict[UnitSource, tuple[str, ...]] = {  # what was judged; a choice is turned to the direction listed first
    "ratings": ("item_id", "sample", "system"),
    "choices": ("item_id", "sample", "sample_first", "sample_second", "x", "y"),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LLMOnlyMean(Record):
    """Mean of a system that no person rated, a row of ``llm_vs_people.llm_only``."""

    group: str
    criterion: str
    system: str
    n: Count
    mean: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LLMsAndPeople(Record):
    """LLMs set against people (against simulated annotators where there are no people)."""

    alternative_annotator: tuple[AlternativeAnnotatorRow, ...]
    """Alternative-annotator test (Calderon, Reichart and Dror 2025): winning_rate >= 0.5 passes."""
    prediction_powered: tuple[PredictionPoweredRow, ...]
    """People's mean (preference, rating, or difference x minus y) from few of their answers and many of an LLM
    (PPI++)."""
    rank_tables: tuple[RankTableRow, ...]
    """Ranks of the systems' mean ratings, rater by rater."""
    llm_only: tuple[LLMOnlyMean, ...]
    """Means of systems that no person rated."""
    calibration: tuple[CalibrationRow, ...]
    """Stated preferences of a group against choices between outputs of the same systems."""
    bias: tuple[BiasRow, ...]
    """What an LLM adds to people's answers to the same outputs or pairs, by how they were shown."""
    people_saved: tuple[PeopleSavedRow, ...] = ()
    """Share of people whose answers an LLM's stand in for, at the same precision."""


NO_LLMS = LLMsAndPeople(**dict.fromkeys(names_of(LLMsAndPeople), ()))


def compare_llms_with_people(
    kept: Mapping[str, pl.DataFrame],
    orders: Mapping[str, Order],
    means: Sequence[RatingMean],
    plan: Plan,
    *,
    features: pl.DataFrame | None = None,
) -> LLMsAndPeople:
    """Set every LLM against people (against simulated annotators where there are no people).

    Parameters
    ----------
    kept : mapping of str to DataFrame
        Answer tables after exclusions, by source.
    orders : mapping of str to Order
        Order of groups, criteria, systems and pairs of each.
    means : sequence of RatingMean
        Rows of ``ratings.means``, from which LLM means of systems that no person rated are marked.
    features : DataFrame, optional
        What is known of each output, for its length.

    Returns
    -------
    LLMsAndPeople
        All empty where there is no LLM or nobody else, but for the calibration of people.
    """
    found = _Rated()
    powered: list[PredictionPoweredRow] = []
    if "preferences" in kept:
        powered += powered_preferences(kept["preferences"], orders["preferences"], plan)
    sides = sides_of(kept.get("ratings"))
    if sides is not None:
        found = _rated(sides, orders["ratings"], means, plan)
        powered += found.powered
    del sides  # a copy of the table
    alternative = found.alternative
    chosen = sides_of(kept.get("choices"))
    if chosen is not None:
        order = orders["choices"]
        alternative += _alternatives(_means_of_choices(chosen, order), "choices", order, plan, people=chosen.kind)
        powered += powered_choices(kept["choices"], order, plan)
    del chosen
    return LLMsAndPeople(
        alternative_annotator=tuple(alternative),
        prediction_powered=tuple(powered),
        rank_tables=tuple(found.ranks),
        llm_only=tuple(found.llm_only),
        calibration=tuple(calibration_rows(kept, orders, plan)),
        bias=tuple(bias_rows(kept, orders, features, plan)),
        people_saved=tuple(people_saved(kept, orders, plan)),
    )


@dataclass(slots=True, kw_only=True)
class _Rated:
    """What ratings say."""

    alternative: list[AlternativeAnnotatorRow] = field(default_factory=list)
    powered: list[PredictionPoweredRow] = field(default_factory=list)
    ranks: list[RankTableRow] = field(default_factory=list)
    llm_only: list[LLMOnlyMean] = field(default_factory=list)


def _rated(sides: Sides, order: Order, means: Sequence[RatingMean], plan: Plan) -> _Rated:
    judged = _means(sides, "ratings")
    found = _Rated(alternative=list(_alternatives(judged, "ratings", order, plan, people=sides.kind)))
    people, llms = numbered(*judged, "system", order.systems)
    for criterion in order.criteria:
        rated = people.filter(pl.col("criterion") == criterion)
        if rated.is_empty():
            continue
        for group, own in by_group(llms.filter(pl.col("criterion") == criterion), order):
            found.powered += powered_ratings(
                rated, own, order.systems, plan, people=sides.kind, group=group, criterion=criterion
            )
        found.ranks += _ranks(sides.kind, criterion, rated, llms, order, plan)
    groups = (side["group"].unique().to_list() for side in (sides.people, sides.llms))
    found.llm_only = llm_only_means(means, *groups)
    return found


def _means(sides: Sides, source: UnitSource) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the mean answer of each person and of each LLM to what each judged."""
    judged = ("criterion", *JUDGED[source])
    return average_by(sides.people, ("annotator_id", *judged)), average_by(sides.llms, ("group", *judged))


def _alternatives(
    judged: tuple[pl.DataFrame, pl.DataFrame], source: UnitSource, order: Order, plan: Plan, *, people: PeopleKind
) -> Iterator[AlternativeAnnotatorRow]:
    """Test each LLM on each criterion by what people judged, too; a choice is 1, a tie 0.5, the other choice 0."""
    for group, criterion, rows in _beside_llms(judged, source, order):
        found = compare_with_each_annotator(rows, scoring="neg_rmse", epsilon=plan.epsilon, fdr=plan.fwer)
        tested = tuple(one for one in found.annotators if one.won is not None)  # a crowd of short visits is counted
        yield AlternativeAnnotatorRow(
            people=people,
            group=group,
            criterion=criterion,
            source=source,
            n_left_out=len(found.annotators) - len(tested),
            **fields_of(replace(found, annotators=tested)),
        )


def answers_beside_llms(
    kept: Mapping[str, pl.DataFrame], orders: Mapping[str, Order]
) -> Iterator[tuple[UnitSource, str, str, LongAnswers]]:
    """Yield source, LLM, criterion and people's answers beside that LLM's, as each test has them."""
    rated, chosen = sides_of(kept.get("ratings")), sides_of(kept.get("choices"))
    if rated is not None:
        for group, criterion, rows in _beside_llms(_means(rated, "ratings"), "ratings", orders["ratings"]):
            yield "ratings", group, criterion, rows
    if chosen is not None:
        order = orders["choices"]
        for group, criterion, rows in _beside_llms(_means_of_choices(chosen, order), "choices", order):
            yield "choices", group, criterion, rows


def _means_of_choices(chosen: Sides, order: Order) -> tuple[pl.DataFrame, pl.DataFrame]:
    people, llms = (turned(side, order) for side in (chosen.people, chosen.llms))
    return _means(replace(chosen, people=people, llms=as_chosen(llms, people)), "choices")


def _beside_llms(
    judged: tuple[pl.DataFrame, pl.DataFrame], source: UnitSource, order: Order
) -> Iterator[tuple[str, str, LongAnswers]]:
    """Yield each LLM and criterion with people's answers beside the LLM's."""
    own, llms = judged
    own = own.filter(~is_nameless())
    both = own.join(
        llms.rename({"value": "llm"}), on=("criterion", *JUDGED[source]), nulls_equal=True, maintain_order="left"
    )
    both = both.with_columns(
        pl.Series("unit", fold(*(code(both[name]).of for name in JUDGED[source])).of),
        pl.Series("who", code(both["annotator_id"]).of),
        pl.Series("item", code(both["item_id"]).of),
    )
    parts = both.partition_by("criterion", "group", as_dict=True, maintain_order=True)
    for criterion in order.criteria:
        for group in order.groups:
            if (criterion, group) in parts:
                yield group, criterion, _long(parts[criterion, group])


def _long(both: pl.DataFrame) -> LongAnswers:
    who = fold(both["who"].to_numpy())
    return LongAnswers(
        unit=both["unit"].to_numpy(),
        annotator=who.of,
        cluster=both["item"].to_numpy(),
        value=both["value"].to_numpy(),
        llm=both["llm"].to_numpy(),
        annotator_ids=tuple(both["annotator_id"][who.first.tolist()].to_list()),
    )


def _ranks(
    kind: PeopleKind, criterion: str, rated: pl.DataFrame, llms: pl.DataFrame, order: Order, plan: Plan
) -> Iterator[RankTableRow]:
    """Rank the systems that people rated, by each person and by each LLM."""
    present = set(rated["system"].unique().to_list())
    systems = [system for system in order.systems if system in present]
    own = llms.filter((pl.col("criterion") == criterion) & pl.col("system").is_in(systems))
    rated = rated.filter(~is_nameless())
    if own.is_empty() or rated.is_empty() or len(systems) < 2:
        return
    lower = criterion in plan.lower_is_better
    people, of_llms = (
        _rank_table(frame, column, systems, lower) for frame, column in ((rated, "annotator_id"), (own, "group"))
    )
    yield rank_table_row(people, of_llms, people=kind, criterion=criterion)


def rank_table_row(ranked: RankTable, of_llms: RankTable, *, people: PeopleKind, criterion: str) -> RankTableRow:
    """Put people's ranks and those of LLMs side by side."""
    alphas = alphas_of_ranks(ranked, of_llms)
    return RankTableRow(
        people=people,
        criterion=criterion,
        systems=ranked.systems,
        mean_rank=ranked.mean_rank,
        n=ranked.n,
        n_incomplete=len(ranked.annotators) - ranked.n,
        lower_is_better=ranked.lower_is_better,
        annotators=tuple(row for row in ranked.annotators if row.ranks),
        llms=tuple(
            LLMRanks(
                group=row.annotator_id,
                means=row.means,
                sds_population=row.sds_population,
                ranks=row.ranks,
                reason=row.reason,
                alpha_with_people=alpha,
            )
            for row, alpha in zip(of_llms.annotators, alphas.with_llm, strict=True)
        ),
        reason=ranked.reason,
        alpha_of_people=alphas.of_people,
        alpha_pairs=alphas.pairs,
    )


def _rank_table(frame: pl.DataFrame, column: str, systems: Sequence[str], lower_is_better: bool) -> RankTable:
    """Rank the systems by each rater, with the population standard deviations of the ratings."""
    who = code(frame[column])
    shape, values = (len(who), len(systems)), frame["value"].to_numpy()
    means = spread(who.of, code(frame["system"], systems).of, values, shape)
    table = rank_table(means, annotators=who.ids, systems=systems, lower_is_better=lower_is_better)
    deviations = frame.group_by(column, "system").agg(pl.col("value").std(ddof=0))
    row, entry = code(deviations[column], who.ids).of, code(deviations["system"], systems).of
    wide = spread(row, entry, deviations["value"].to_numpy(), shape)
    return with_deviations(table, snap(wide, scale=scale_of(values)))


def with_deviations(table: RankTable, wide: Floats) -> RankTable:
    """Add the population standard deviations of each rater's ratings of each system, NaN where there are none."""
    sds = [tuple(None if np.isnan(sd) else sd for sd in row) for row in wide.tolist()]
    rows = (replace(row, sds_population=own) for row, own in zip(table.annotators, sds, strict=True))
    return replace(table, annotators=tuple(rows))


def llm_only_means(means: Sequence[RatingMean], people: Collection[str], llms: Collection[str]) -> list[LLMOnlyMean]:
    """Mark the means of systems that only LLMs rated on a criterion; ``people`` and ``llms`` are groups."""
    by_people = {(row.criterion, row.system) for row in means if row.group in people}
    return [
        LLMOnlyMean(
            group=row.group,
            criterion=row.criterion,
            system=row.system,
            n=row.n,
            mean=row.mean,
            ci_low=row.ci_low,
            ci_high=row.ci_high,
        )
        for row in means
        if row.group in llms and (row.criterion, row.system) not in by_people
    ]
