"""LLMs beside people from the sums of a table: the stand-in test, ranks side by side, means of LLMs alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from analysis.answers.plan import Plan
from analysis.comparisons.ratings import RatingMean
from analysis.comparisons.sides import PeopleKind
from analysis.llm_vs_people.alternative_annotator import (
    ENOUGH_UNITS,
    AlternativeAnnotatorRow,
    AnnotatorSums,
    compare_sums,
)
from analysis.llm_vs_people.llms_and_people import (
    NO_LLMS,
    LLMsAndPeople,
    llm_only_means,
    rank_table_row,
    with_deviations,
)
from analysis.llm_vs_people.rank_tables import RankTable, RankTableRow, rank_table
from analysis.llm_vs_people.stand_in import COUNTED, people_beside_llms
from analysis.records.results import Results
from analysis.statistics.coding import Floats, Ints, snap
from analysis.statistics.record import fields_of
from analysis.sums.building import NAMED
from analysis.sums.criterion_sums import CriterionSums, by_criterion, squares_about_mean
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import AnswerTotals, TableTotals


def llms_of_sums(totals: AnswerTotals, means: Sequence[RatingMean], plan: Plan) -> LLMsAndPeople:
    """Set every LLM against people, as far as sums tell."""
    people = people_beside_llms(totals.groups)
    if people is None:
        return NO_LLMS
    names = _names(totals)
    sides = {kind: [group for group, own in totals.groups if own == kind] for kind in (people, "llm")}
    return replace(
        NO_LLMS,
        alternative_annotator=tuple(_stand_in(totals, people, names, plan)),
        rank_tables=tuple(_ranks(totals, people, sides, names, plan)) if names is not None else (),
        llm_only=tuple(llm_only_means(means, sides[people], sides["llm"])),
    )


def _names(totals: AnswerTotals) -> Sequence[str] | None:
    """Return the ids of annotators by their numbers, where they are few."""
    return None if totals.names is None else totals.names.sort("annotator")["annotator_id"].to_list()


def _stand_in(
    totals: AnswerTotals, people: PeopleKind, names: Sequence[str] | None, plan: Plan
) -> Iterator[AlternativeAnnotatorRow]:
    """Yield the test of each criterion and LLM; people are listed where they are few."""
    compared = totals.stand_in_units.sort("criterion", "group").select("criterion", "group", "n")
    for criterion, group, n_units in compared.iter_rows():
        own = totals.stand_in.filter(criterion=criterion, group=group)
        tested = own.filter(pl.col("clusters") >= ENOUGH_UNITS).sort("annotator")  # the others are only counted
        ids = [str(number) if names is None else names[number] for number in tested["annotator"].to_list()]
        first = np.argsort(np.array(ids, dtype=object)) if names is not None else np.arange(len(ids))
        sums = AnnotatorSums(n_units=n_units, **{name: tested[name].to_numpy()[first] for name in COUNTED})
        found = compare_sums(
            sums, [ids[place] for place in first], scoring="neg_rmse", epsilon=plan.epsilon, fdr=plan.fwer
        )
        listed = tuple(one for one in found.annotators if one.won is not None)
        yield AlternativeAnnotatorRow(
            people=people,
            group=totals.order.groups[group],
            criterion=totals.order.criteria[criterion],
            source=totals.kind,
            n_left_out=own.height - len(listed),
            **fields_of(replace(found, annotators=listed if names is not None else ())),
        )


def _ranks(
    totals: AnswerTotals,
    people: PeopleKind,
    sides: Mapping[str, Sequence[str]],
    names: Sequence[str],
    plan: Plan,
) -> Iterator[RankTableRow]:
    """Rank the systems that people rated, by each person and by each LLM, where nobody rated an output again."""
    if totals.scores is None:
        return
    parts = {(part.criterion, part.group): part for part in by_criterion(totals)}
    for criterion in totals.order.criteria:
        rated, own = (
            [parts[criterion, group] for group in sides[kind] if (criterion, group) in parts]
            for kind in (people, "llm")
        )
        present = sorted({system for part in rated for system in part.scores["overall"]["system"].tolist()})
        if not own or len(present) < 2 or any(map(rated_again, rated + own)):
            continue
        lower = criterion in plan.lower_is_better
        ranked = _of_people(rated, present, names, lower_is_better=lower)
        of_llms = _of_llms(sorted(own, key=lambda part: part.group), present, lower_is_better=lower)
        if np.isfinite([mean for row in of_llms.annotators for mean in row.means if mean is not None]).any():
            yield rank_table_row(ranked, of_llms, people=people, criterion=criterion)


def rated_again(part: CriterionSums) -> bool:
    """Say whether some output was rated several times by one person or LLM, so that sums are not of means."""
    return part.blocks != part.clusters or (part.llm and part.n_annotators > 1)


def _of_people(
    rated: Sequence[CriterionSums], systems: Sequence[int], names: Sequence[str], *, lower_is_better: bool
) -> RankTable:
    columns = {
        name: np.concatenate([part.scores["annotator"][name] for part in rated])
        for name in ("annotator", "system", "n", "total", "squares")
    }
    numbers = np.unique(columns["annotator"])
    ids = [names[number] for number in numbers.tolist()]
    row = np.argsort(np.argsort(np.array(ids, dtype=object)))[np.searchsorted(numbers, columns["annotator"])]
    scale = max(part.scale for part in rated)
    means, sds = _tables(row, columns, systems, len(ids), scale)
    named = [rated[0].systems[system] for system in systems]
    table = rank_table(means, annotators=sorted(ids), systems=named, lower_is_better=lower_is_better)
    return with_deviations(table, sds)


def _of_llms(own: Sequence[CriterionSums], systems: Sequence[int], *, lower_is_better: bool) -> RankTable:
    columns = {
        name: np.concatenate([part.scores["annotator"][name] for part in own])
        for name in ("system", "n", "total", "squares")
    }
    row = np.repeat(np.arange(len(own)), [len(part.scores["annotator"]["n"]) for part in own])
    means, sds = _tables(row, columns, systems, len(own), max(part.scale for part in own))
    named = [own[0].systems[system] for system in systems]
    ids = [part.group for part in own]
    return with_deviations(rank_table(means, annotators=ids, systems=named, lower_is_better=lower_is_better), sds)


def _tables(
    row: Ints, columns: Mapping[str, Ints | Floats], systems: Sequence[int], n_rows: int, scale: float
) -> tuple[Floats, Floats]:
    """Return means and population standard deviations, raters x systems, NaN where there is nothing."""
    kept = np.isin(columns["system"], systems)
    place = row[kept], np.searchsorted(systems, columns["system"][kept])
    n, total, squares = (columns[name][kept].astype(np.float64) for name in ("n", "total", "squares"))
    means, sds = (np.full((n_rows, len(systems)), np.nan) for _ in range(2))
    means[place] = total / n
    sds[place] = snap(np.sqrt(squares_about_mean(n, total, squares, scale) / n), scale=scale)
    return means, sds


def _any_llm(totals: TableTotals) -> bool:
    return any(kind == "llm" for _, kind in totals.groups)


def _lost_stand_in(totals: AnswerTotals, results: Results) -> str | None:
    sampled = _any_llm(totals) and totals.kind == "choices" and totals.sampled
    return "whether an LLM can replace annotators, where several samples were shown" if sampled else None


def _lost_people(totals: AnswerTotals, results: Results) -> str | None:
    unnamed = _any_llm(totals) and totals.names is None
    return f"ranks and tests person by person, of more than {NAMED:,} people" if unnamed else None


def _lost_ranks(totals: AnswerTotals, results: Results) -> str | None:
    named = _any_llm(totals) and totals.names is not None and totals.kind == "ratings"
    lost = named and len(results.llm_vs_people.rank_tables) < len(totals.order.criteria)
    return "ranks by people and LLMs where somebody rated an output in several assignments" if lost else None


def _lost_bias(totals: TableTotals, results: Results) -> str | None:
    third = "order" if totals.kind == "preferences" else "length"
    return f"what an LLM adds by position, label and {third}" if _any_llm(totals) else None


def _lost_powered(totals: TableTotals, results: Results) -> str | None:
    shown = {"ratings": "means", "choices": "shares", "preferences": "preferences"}[totals.kind]
    return f"people's {shown} estimated from an LLM's" if _any_llm(totals) else None


STAND_IN = NeedsSingleAnswers("stand_in", ("llm_vs_people.alternative_annotator",), _lost_stand_in)
ANNOTATOR_RANKS = NeedsSingleAnswers("annotator_ranks", ("llm_vs_people.rank_tables",), _lost_people)
VISIT_RANKS = NeedsSingleAnswers("visit_ranks", ("llm_vs_people.rank_tables",), _lost_ranks)
BIAS = NeedsSingleAnswers("bias", ("llm_vs_people.bias", "first_shown", "raters"), _lost_bias)
PREDICTION_POWERED = NeedsSingleAnswers(
    "prediction_powered", ("llm_vs_people.prediction_powered", "llm_vs_people.people_saved", "raters"), _lost_powered
)
