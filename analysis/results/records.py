"""Everything that a report says, as frozen records: the one definition of results.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from analysis.agreement.rows import AgreementRow, AnnotatorPairRow
from analysis.answers.study_facts import InterviewAnswer, StudyReport
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.families import Family
from analysis.comparisons.findings import Disagreement, ExpectedRow
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.correlations.compared import ComparisonRow
from analysis.correlations.rows import CorrelationRow, SystemCorrelation
from analysis.descriptives.category_shares import CategoryShare
from analysis.descriptives.explanations import ExplanationRow
from analysis.descriptives.identical_pairs import IdenticalPairRating
from analysis.descriptives.rating_breakdowns import AnnotatorMean, SystemBreakdown, VariantMean
from analysis.descriptives.rating_counts import RatingCount
from analysis.llm_vs_people.alternative_annotator import AnnotatorComparison
from analysis.llm_vs_people.calibration import ReliabilityBin
from analysis.llm_vs_people.rank_tables import AlphaOfPair
from analysis.planning.observed import ObservedPowerRow
from analysis.preference_checks.coherence import CoherenceRow
from analysis.preference_checks.exposure import ExposurePoint, ExposureTrend, FirstExposure
from analysis.preference_checks.filtering import SweepRow
from analysis.ranking.agreement import RankingAgreement
from analysis.ranking.differences import RankingDifference
from analysis.ranking.tied import TieFit
from analysis.rating_checks.rows import RespacingRow, RobustnessRow
from analysis.results.conventions import Convention
from analysis.results.overview import ExclusionRow, Group, MissingCount, Settings
from analysis.results.rater_rows import RaterRow
from analysis.statistics.rank_orders import Ranking
from analysis.statistics.record import AtMostOne, Count, Record, Share, Spread
from analysis.strengths.rows import SystemStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingResults(Record):
    """Row of ``ratings``."""

    means: tuple[RatingMean, ...]
    pairs: tuple[RatingTest, ...]
    robustness: tuple[RobustnessRow, ...] = ()
    respacing: tuple[RespacingRow, ...] = ()
    by_system: tuple[SystemBreakdown, ...] = ()
    """Mean, spread and agreement of each system; a missing value has a reason."""
    by_variant: tuple[VariantMean, ...] = ()
    """Means by way of asking; system null: all systems; criterion null too: all criteria."""
    by_annotator: tuple[AnnotatorMean, ...] = ()
    """Means of each person, in groups of at most 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceResults(Record):
    """Row of ``choices``."""

    pairs: tuple[ChoiceTest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeAnnotatorRow(Record):
    """Row of ``llm_vs_people.alternative_annotator``."""

    people: Literal["human", "simulated"]
    group: str
    criterion: str
    scoring: Literal["accuracy", "neg_rmse"] | None = None
    epsilon: Share | None
    fdr: Share | None
    n_units: Count | None = None
    n_annotators: Count
    """People who share enough items."""
    n_left_out: Count | None = None
    winning_rate: Share | None
    advantage_probability: Share | None
    passes: bool | None
    annotators: tuple[AnnotatorComparison, ...]
    """Each person left out in turn."""
    reason: str | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionPoweredRow(Record):
    """Row of ``llm_vs_people.prediction_powered``."""

    people: Literal["human", "simulated"]
    group: str
    criterion: str
    source: Literal["preferences", "ratings", "choices"]
    system_x: str
    system_y: str | None
    """Null: the mean of system_x."""
    exposure: int | None = None
    interval: str | None = None
    """What people's answers are clustered by."""
    estimate: float
    ci_low: float | None
    ci_high: float | None
    se: float | None = None
    df: float | None = None
    llm_weight: Share
    """Lambda; 0 = people alone."""
    tuned: bool | None = None
    n: Count
    n_more: Count
    n_clusters: Count | None = None
    n_clusters_more: Count | None = None
    people_mean: float
    people_ci_low: float | None
    people_ci_high: float | None
    confidence: Share | None = None
    reason: str | None = None
    """Why a number is missing."""
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorRanksRow(Record):
    """Row of ``llm_vs_people.rank_tables.annotators``."""

    annotator_id: str
    means: tuple[float | None, ...] = ()
    """Mean rating of each system, in the order of systems."""
    sds_population: tuple[Spread | None, ...] = ()
    """Standard deviation of these ratings, divided by n."""
    ranks: tuple[float, ...] | None
    """In the order of systems, 1 = best, ties averaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMRanks(Record):
    """Row of ``llm_vs_people.rank_tables.llms``."""

    group: str
    means: tuple[float | None, ...] = ()
    """Mean rating of each system, in the order of systems."""
    sds_population: tuple[Spread | None, ...] = ()
    """Standard deviation of these ratings, divided by n."""
    ranks: tuple[float, ...] | None
    """In the order of systems, 1 = best, ties averaged."""
    reason: str | None = None
    """Why a number is missing."""
    alpha_with_people: AtMostOne | None = None
    """Alpha of ranks, people and this LLM together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTable(Record):
    """Row of ``llm_vs_people.rank_tables``."""

    people: Literal["human", "simulated"]
    criterion: str
    systems: tuple[str, ...]
    mean_rank: tuple[float, ...] | None
    """In the order of systems, 1 = best, ties averaged."""
    n: Count
    n_incomplete: Count | None = None
    """People who did not rate every system."""
    lower_is_better: bool | None = None
    annotators: tuple[AnnotatorRanksRow, ...]
    """People who rated every system."""
    llms: tuple[LLMRanks, ...]
    """Each LLM."""
    reason: str | None = None
    """Why a number is missing."""
    alpha_of_people: AtMostOne | None
    """Krippendorff's alpha (interval) of ranks, people alone; null: fewer than two ranked."""
    alpha_pairs: tuple[AlphaOfPair, ...]
    """Alpha of the ranks of two raters (up to 10 people)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMOnlyMean(Record):
    """Row of ``llm_vs_people.llm_only``."""

    group: str
    criterion: str
    system: str
    n: Count
    mean: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibrated(Record):
    """After isotonic regression fitted without the own fold."""

    brier_score: Share | None
    calibration_error: Share | None
    n_folds: Count
    reason: str | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRow(Record):
    """Row of ``llm_vs_people.calibration``."""

    group: str
    against: Literal["own", "people"]
    """Whose choices: the group's own, or people's."""
    criterion: str
    matched_by: Literal["annotator", "assignment", "pair"]
    """Whose statement a choice is held against: of the person who chose, of the LLM on the same form, or the group's
    mean about the pair."""
    interval: str | None = None
    """What the interval of the Brier score is clustered by."""
    n: Count
    """Choices."""
    n_clusters: Count | None = None
    brier_score: Share | None
    """Mean squared distance from the outcome; less is better."""
    ci_low: Share | None
    ci_high: Share | None
    brier_of_half: Share | None = None
    """Brier score of saying 1/2 to everything."""
    calibration_error: Share | None
    """Expected calibration error over n_bins bins of equal width."""
    mean_stated: Share | None = None
    mean_outcome: Share | None = None
    n_bins: Count
    confidence: Share | None = None
    bins: tuple[ReliabilityBin, ...]
    recalibrated: Recalibrated
    """After isotonic regression fitted without the own fold."""
    reason: str | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasRow(Record):
    """Row of ``llm_vs_people.bias``."""

    people: Literal["human", "simulated"]
    group: str
    source: Literal["ratings", "preferences", "choices"]
    criterion: str
    kind: Literal["severity", "position", "length", "label", "order"]
    level: str
    """The answers contrasted with the others, such as first or a letter."""
    n: Count
    n_level: Count | None = None
    n_clusters: Count | None = None
    estimate: float | None
    """LLM minus people: its mean (severity), or that of the level minus that of the others."""
    ci_low: float | None
    ci_high: float | None
    reason: str | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMsAndPeople(Record):
    """LLMs set against people (against simulated annotators where there are no people)."""

    alternative_annotator: tuple[AlternativeAnnotatorRow, ...]
    """Alternative-annotator test (Calderon, Reichart and Dror 2025): winning_rate >= 0.5 passes."""
    prediction_powered: tuple[PredictionPoweredRow, ...]
    """People's mean (preference, rating, or difference x minus y) from few of their answers and many of an LLM
    (PPI++)."""
    rank_tables: tuple[RankTable, ...]
    """Ranks of the systems' mean ratings, rater by rater."""
    llm_only: tuple[LLMOnlyMean, ...]
    """Means of systems that no person rated."""
    calibration: tuple[CalibrationRow, ...]
    """Stated preferences of a group against choices between outputs of the same systems."""
    bias: tuple[BiasRow, ...]
    """What an LLM adds to people's answers to the same outputs or pairs, by how they were shown."""


PairTest: TypeAlias = PreferenceTest | RatingTest | ChoiceTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Results(Record):
    """Everything that a report says."""

    schema: Literal[1]
    settings: Settings
    study: StudyReport | None
    groups: tuple[Group, ...]
    exclusions: tuple[ExclusionRow, ...]
    missing: tuple[MissingCount, ...]
    """Answers that could not be used, counted before exclusions."""
    preferences: tuple[PreferenceTest, ...]
    preference_directions: tuple[DirectionSummary, ...]
    exposure_curve: tuple[ExposurePoint, ...]
    """Distance of preferences from 0.5 by outputs read; empty where there is one exposure."""
    exposure_trend: tuple[ExposureTrend, ...]
    """Change of the distance with each doubling of the outputs read."""
    first_exposure: tuple[FirstExposure, ...]
    """Distance after one output of each system minus that after more."""
    consistency_sweep: tuple[SweepRow, ...]
    """The tests of preferences under other bounds on the sum of both directions."""
    coherence: tuple[CoherenceRow, ...]
    """Triples of systems; system_a null: all triples together."""
    ratings: RatingResults
    rating_counts: tuple[RatingCount, ...]
    """How often each score was given, after exclusions; left out where a group gave more than eleven different
    scores to a criterion."""
    category_shares: tuple[CategoryShare, ...]
    interview: tuple[InterviewAnswer, ...]
    """What people said at the end, in their own words; nobody is excluded."""
    identical_pairs: tuple[IdenticalPairRating, ...]
    """Ratings of outputs that equal their source; nobody is excluded."""
    choices: ChoiceResults
    families: tuple[Family, ...]
    """Tests corrected together."""
    bradley_terry: tuple[SystemStrength, ...]
    ties: tuple[TieFit, ...]
    """Davidson's model where there are ties."""
    rankings: tuple[Ranking, ...]
    ranking_agreement: tuple[RankingAgreement, ...]
    ranking_differences: tuple[RankingDifference, ...]
    """Pairs of systems that two rankings order differently."""
    agreement: tuple[AgreementRow, ...]
    annotator_pairs: tuple[AnnotatorPairRow, ...]
    """Every two raters of a group with at most 10, over the units that both answered."""
    correlations: tuple[CorrelationRow, ...]
    comparisons_of_correlations: tuple[ComparisonRow, ...]
    correlations_by_system: tuple[SystemCorrelation, ...]
    """Kendall's tau of a group with people over the outputs of one system."""
    llm_vs_people: LLMsAndPeople
    """LLMs set against people (against simulated annotators where there are no people)."""
    raters: tuple[RaterRow, ...]
    explanations: tuple[ExplanationRow, ...]
    expected: tuple[ExpectedRow, ...]
    observed_power: tuple[ObservedPowerRow, ...] | None = None
    """Power at the effects found, which restates p and is no evidence; null where it was not asked for."""
    disagreements: tuple[Disagreement, ...]
    """Pairs on which two sources or groups do not say the same."""
    warnings: tuple[str, ...]
    conventions: tuple[Convention, ...]
