"""Rank tables: each annotator's mean scores turned into ranks, beside the mean rank of all people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from analysis.agreement.krippendorff import krippendorff_alpha
from analysis.comparisons.sides import PeopleKind
from analysis.statistics.coding import Floats, scale_of, snap
from analysis.statistics.reasons import Reason, why
from analysis.statistics.record import AtMostOne, Count, Record, Spread

Rank = Annotated[float, Ge(1)]
INCOMPLETE = why("not_every_system")
MOST_PAIRED = 10  # people up to whom every two raters are compared


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnnotatorRanks(Record):
    """Ranks that one annotator gives to the systems; ``None`` with a reason where one was not rated."""

    annotator_id: str
    means: tuple[float | None, ...] = ()
    """Mean rating of each system, in the order of systems."""
    sds_population: tuple[Spread | None, ...] = ()
    """Standard deviation of these ratings, divided by n."""
    ranks: tuple[Rank, ...] | None
    """In the order of systems, 1 = best, ties averaged."""
    reason: Reason | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTable:
    """Ranks of the systems, 1 = best, ties averaged; ``mean_rank`` is over the ``n`` annotators with ranks."""

    systems: tuple[str, ...]
    annotators: tuple[AnnotatorRanks, ...]
    n: int
    mean_rank: tuple[float, ...] | None
    lower_is_better: bool
    reason: Reason | None = None


def rank_table(
    means: Any, *, annotators: Sequence[str], systems: Sequence[str], lower_is_better: bool = False
) -> RankTable:
    """Turn mean scores into ranks, annotator by annotator.

    Parameters
    ----------
    means : array of float, shape (n_annotators, n_systems)
        Mean score that each annotator gave to each system; NaN where there is none. Means equal in exact
        arithmetic are tied: they are compared after rounding to 12 significant digits.
    annotators, systems : sequence of str
        Names of rows and columns.
    lower_is_better : bool
        Whether rank 1 goes to the lowest mean.

    Returns
    -------
    RankTable
        Ranks of an annotator who did not rate every system are left out and named: places among fewer
        systems mean something else.

    References
    ----------
    Sottana, A., Liang, B., Zou, K. and Yuan, Z. (2023). Evaluation Metrics in the Era of GPT-4. EMNLP,
    Tables 2 and 7.

    >>> rank_table([[3.0, 4.0, 4.0]], annotators=["gpt4"], systems=["a", "b", "c"]).mean_rank
    (3.0, 1.5, 1.5)
    """
    table = np.asarray(means, dtype=np.float64)
    if table.shape != (len(annotators), len(systems)):
        raise ValueError(f"means: expected {len(annotators)} annotators x {len(systems)} systems, got {table.shape}")
    if np.isinf(table).any():
        raise ValueError("means must be finite; NaN marks a missing one")
    rows = tuple(_rank(name, row, lower_is_better) for name, row in zip(annotators, table, strict=True))
    ranked = [row.ranks for row in rows if row.ranks is not None]
    return RankTable(
        systems=tuple(systems),
        annotators=rows,
        n=len(ranked),
        mean_rank=tuple(np.mean(ranked, axis=0).tolist()) if ranked else None,
        lower_is_better=lower_is_better,
        reason=None if ranked else why("nobody_every_system"),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AlphaOfPair(Record):
    """Alpha of the ranks given by two raters."""

    a: str
    b: str
    value: AtMostOne | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LLMRanks(Record):
    """Ranks that one LLM gives to the systems."""

    group: str
    means: tuple[float | None, ...] = ()
    """Mean rating of each system, in the order of systems."""
    sds_population: tuple[Spread | None, ...] = ()
    """Standard deviation of these ratings, divided by n."""
    ranks: tuple[Rank, ...] | None
    """In the order of systems, 1 = best, ties averaged."""
    reason: Reason | None = None
    """Why a number is missing."""
    alpha_with_people: AtMostOne | None = None
    """Alpha of ranks, people and this LLM together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RankTableRow(Record):
    """Ranks by people and by LLMs on one criterion, a row of ``llm_vs_people.rank_tables``."""

    people: PeopleKind
    criterion: str
    systems: tuple[str, ...]
    mean_rank: tuple[Rank, ...] | None
    """In the order of systems, 1 = best, ties averaged."""
    n: Count
    n_incomplete: Count | None = None
    """People who did not rate every system."""
    lower_is_better: bool | None = None
    annotators: tuple[AnnotatorRanks, ...]
    """People who rated every system."""
    llms: tuple[LLMRanks, ...]
    """Each LLM."""
    reason: Reason | None = None
    """Why a number is missing."""
    alpha_of_people: AtMostOne | None
    """Krippendorff's alpha (interval) of ranks, people alone; null: fewer than two ranked."""
    alpha_pairs: tuple[AlphaOfPair, ...]
    """Alpha of the ranks of two raters (up to 10 people)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlphasOfRanks:
    """Krippendorff's alpha of ranks, interval level; ``None`` where fewer than two raters ranked or ranks do not vary.

    ``with_llm`` has one value an LLM: people and this LLM together.
    """

    of_people: float | None
    with_llm: tuple[float | None, ...]
    pairs: tuple[AlphaOfPair, ...]


def alphas_of_ranks(people: RankTable, llms: RankTable) -> AlphasOfRanks:
    """Measure agreement on the order of systems, without and with each LLM, and rater by rater.

    The units are the systems, the answers their ranks, as in Sottana et al. (2023), Tables 2 and 7. Few systems make
    few units: no interval is given. Pairs of raters are compared up to 10 people.
    """
    ranked = {row.annotator_id: row.ranks for row in people.annotators if row.ranks is not None}
    of_llms = {row.annotator_id: row.ranks for row in llms.annotators if row.ranks is not None}
    raters = {**ranked, **of_llms} if len(ranked) <= MOST_PAIRED else {}
    firsts = [name for name in raters if name in ranked]
    pairs = [(a, b) for place, a in enumerate(firsts) for b in [*firsts[place + 1 :], *of_llms]]
    return AlphasOfRanks(
        of_people=_alpha([*ranked.values()]),
        with_llm=tuple(
            None if row.ranks is None or not ranked else _alpha([*ranked.values(), row.ranks])
            for row in llms.annotators
        ),
        pairs=tuple(AlphaOfPair(a=a, b=b, value=_alpha([raters[a], raters[b]])) for a, b in pairs),
    )


def _alpha(ranks: Sequence[tuple[float, ...]]) -> float | None:
    if len(ranks) < 2:
        return None
    return krippendorff_alpha(np.array(ranks).T, level="interval").value


def _rank(name: str, means: np.ndarray[Any, np.dtype[np.float64]], lower_is_better: bool) -> AnnotatorRanks:
    shown = tuple(None if np.isnan(value) else float(value) for value in means)
    if not len(means) or np.isnan(means).any():
        return AnnotatorRanks(annotator_id=name, means=shown, ranks=None, reason=INCOMPLETE)
    exact = snap(means, scale=scale_of(means))
    return AnnotatorRanks(annotator_id=name, means=shown, ranks=mid_ranks(exact if lower_is_better else -exact))


def mid_ranks(values: Floats) -> tuple[float, ...]:
    """Rank from 1 (smallest) on, ties averaged; ``scipy.stats`` would take a second to load for it.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0]))
    (2.5, 1.0, 2.5)
    """
    below = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    return tuple((below + (equal + 1) / 2).tolist())
