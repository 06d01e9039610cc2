"""What rankings contribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analysis.answers.groups import people_of
from analysis.answers.plan import Plan
from analysis.comparisons.contribution import TESTS
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Term, Words
from analysis.printing.lookup import rank_of
from analysis.ranking.agreement import RankingAgreement, agreement_of_rankings
from analysis.ranking.claims import claims
from analysis.ranking.differences import RankingDifference, find_ranking_differences
from analysis.ranking.replicates import REPLICATES
from analysis.ranking.section import strengths
from analysis.ranking.sources import RankingSources, rank_systems
from analysis.ranking.tied import TieFit
from analysis.records.results import Key, Results, rows
from analysis.statistics.rank_orders import Ranking
from analysis.statistics.record import fields_of, fields_without
from analysis.strengths.contribution import BRADLEY_TERRY

TIES = rows("ties", TieFit, "Davidson's model where there are ties.")
RANKINGS = rows("rankings", Ranking, needed=True)
RANKING_AGREEMENT = rows("ranking_agreement", RankingAgreement, needed=True)
RANKING_DIFFERENCES = rows(
    "ranking_differences", RankingDifference, "Pairs of systems that two rankings order differently."
)

SOURCES: Key[RankingSources] = Key("ranking_sources", RankingSources)


def _rankings(analysis: Analysis) -> KeyValues:
    tests, sources, plan = analysis.of(TESTS), analysis.of(SOURCES), analysis.plan
    rankings = rank_systems(sources, tests.means, tests.ratings)
    soft = {("choices", row.group, row.criterion) for row in tests.choices if row.probabilities}
    agreement = agreement_of_rankings(rankings, sources.sums, confidence=plan.confidence, seed=plan.seed)
    differences = find_ranking_differences(rankings, tests.findings, sources.tables, people_of(analysis.groups), plan)
    return {
        "bradley_terry": sources.rows,
        "ties": tuple(row for row in sources.ties if (row.source, row.group, row.criterion) not in soft),
        "rankings": tuple(rankings),
        "ranking_agreement": tuple(agreement),
        "ranking_differences": tuple(differences),
    }


def _tie_tables(found: Sequence[TieFit]) -> KeyValues:
    return {
        "ties": [
            fields_without(entry, "strengths") | (fields_of(strength) if strength else {})
            for entry in found
            for strength in entry.strengths or (None,)
        ]
    }


def _ranking_tables(found: Sequence[Ranking]) -> KeyValues:
    return {
        "rankings": [
            {"source": entry.source, "group": entry.group, "criterion": entry.criterion, "rank": rank, "system": system}
            for entry in found
            for system, rank in rank_of(entry.order or ()).items()
        ]
    }


def _agreement(plan: Plan) -> str:
    return (
        "Kendall's tau-b: 1 is the same order, -1 the reverse, over the systems that both rank. The "
        f"{100 * plan.confidence:g}% confidence interval comes from {REPLICATES} resampled sets of answers; annotators "
        "(or items) that two rankings share are drawn once for both. Its end towards 0 is a quantile of these; since "
        "resampling draws tau towards 0, the other end is what the orders that are clear allow."
    )


def _ranked(results: Results) -> bool:
    return bool(results.rankings)


WORDS: Final = (
    Words(
        "ties as an outcome",
        "Davidson's model gives ties a parameter of their own (nu; two equal systems tie with "
        "probability nu / (2 + nu)) where choices or ratings of one item are tied.",
        lambda results: bool(results.ties),
    ),
    Words(
        "rankings",
        "Preferences and choices are ranked by Bradley-Terry strength, ratings by means; values equal "
        "in exact arithmetic are tied.",
        _ranked,
    ),
    Words("ranking agreement", _agreement, lambda results: bool(results.ranking_agreement)),
    Words(
        "ranks that the answers allow",
        "Of strengths: the rank interval. Of mean ratings: below the systems that the "
        "corrected tests of pairs put clearly above, and above those that they put clearly below.",
        _ranked,
    ),
    Words(
        "ranking differences",
        "Pairs that two rankings order differently. An order is clear where the one corrected "
        "test of the pair says so or, where there is none or several, the difference of strengths (largest |t| over "
        "all). The difference is supported where both orders are clear and opposite. Rankings are compared with those "
        "of people and within a group.",
        lambda results: bool(results.ranking_differences),
    ),
)
TERMS: Final = (
    Term(
        "Kendall\u2019s tau",
        "how alike two rankings are: 1 the same order, 0 unrelated, \u22121 reversed.",
        lambda results: bool(results.ranking_agreement),
    ),
)

CONTRIBUTION = Contribution(
    keys=(BRADLEY_TERRY, TIES, RANKINGS, RANKING_AGREEMENT, RANKING_DIFFERENCES),
    stage="fitting strengths",
    compute=_rankings,
    of_sums=_rankings,
    words=WORDS,
    claims=claims,
    terms=TERMS,
    sections=(SectionEntry("strengths", BRADLEY_TERRY, strengths, (TIES, RANKINGS)),),
    tables={TIES: _tie_tables, RANKINGS: _ranking_tables},
)
