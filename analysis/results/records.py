"""Everything that a report says, as frozen records: the one definition of results.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from analysis.answers.study_facts import InterviewAnswer, StudyReport
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.families import Family
from analysis.comparisons.findings import Disagreement, ExpectedRow
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingMean
from analysis.correlations.compared import ComparisonRow
from analysis.correlations.rows import CorrelationRow, SystemCorrelation
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
from analysis.results.conventions import Convention
from analysis.results.overview import ExclusionRow, Group, MissingCount, Settings
from analysis.statistics.rank_orders import Ranking
from analysis.statistics.record import AtMostOne, Coefficient, Count, Positive, Record, Share, Spread
from analysis.strengths.rows import SystemStrength


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPair(Record):
    """Row of ``ratings.pairs``."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system_x: str
    system_y: str
    unit: Literal["annotator", "assignment", "item"]
    n: Count
    """Units."""
    mean_difference: float
    """X minus y, raw."""
    test: Literal["paired t", "Welch t"]
    t: float | None
    df: float | None
    p_value: Share | None
    p_adjusted: Share | None
    """Adjusted within the family (settings.correction)."""
    stars: Literal["", "*", "**", "***"]
    """Adjusted p below .10, .05, .01."""
    verdict: Literal["x", "y", "indifferent"] | None
    """X: system_x is preferred; null where there is no test, or the study does not compare the pair."""
    ci_low: float | None = None
    ci_high: float | None = None
    unit_note: str | None = None
    n_tests: int | None = None
    """Size of the family: its tests that could be run."""
    p_equivalence: Share | None = None
    """Larger p of the two one-sided tests against the declared margin; null: no margin, or no test."""
    p_equivalence_adjusted: Share | None = None
    """Holm-adjusted, in a family of its own."""
    equivalent: bool | None = None
    """Within the declared margin."""
    lopsided: bool | None = None
    """The level of the t-test is in doubt: most values equal, or a few far out."""
    reason: str | None = None
    """Why a number is missing."""
    d_z: float | None = None
    """Cohen's d_z: mean difference over the standard deviation of the units' differences; paired tests only."""
    d_z_low: float | None = None
    d_z_high: float | None = None
    d_z_interval: Literal["noncentral t", "normal approximation"] | None = None
    hedges_g: float | None = None
    """Hedges' g: mean difference over the standard deviation of single ratings."""
    hedges_g_low: float | None = None
    hedges_g_high: float | None = None
    superiority: Share | None = None
    """Chance that a rating of x is above that of y beside it, equal ones half."""
    superiority_low: Share | None = None
    superiority_high: Share | None = None
    effect_reason: str | None = None
    """Why an effect size or a bound is missing."""
    p_crossed: Share | None = None
    """The same question over annotators and items at once, both taken as drawn."""
    p_crossed_adjusted: Share | None = None
    """Holm-adjusted over the crossed tests of the family."""
    crossed_df: float | None = None
    """Satterthwaite's degrees of freedom."""
    crossed_verdict: Literal["x", "y", "indifferent"] | None = None
    disagree: bool | None = None
    """Whether crossed_verdict differs from verdict; null where one is missing."""
    crossed_reason: str | None = None
    """Why there is no crossed test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustnessRow(Record):
    """One pair tested in another way.

    ``system_x`` and ``system_y`` are null where no pair of the group and criterion could be, all for one reason.
    """

    group: str
    criterion: str
    system_x: str | None
    system_y: str | None
    method: Literal["wilcoxon", "z_scores", "ordinal", "crossed"]
    n: Count | None
    """Wilcoxon and z_scores: units; ordinal: clusters; crossed: differences."""
    estimate: float | None
    """Wilcoxon: rank-biserial correlation; z_scores: mean difference in standard deviations of the annotator;
    ordinal: log-odds ratio of higher ratings; crossed: mean difference. Positive: x is rated higher."""
    p_value: Share | None
    p_adjusted: Share | None
    """Holm over one method, group and criterion."""
    verdict: Literal["x", "y", "indifferent"] | None
    agrees: bool | None
    """With the verdict of ratings.pairs."""
    left_out: Count | None = None
    """Z_scores: annotators of this pair whose scores are all the same."""
    reason: str | None
    """Why there is no test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RespacingRow(Record):
    """Row of ``ratings.respacing``."""

    group: str
    criterion: str
    system_x: str
    system_y: str
    holds: Literal["always", "never", "depends"] | None
    """Whether x's mean is above y's on every, no or some spacing of the scale; null where both were rated alike."""
    ratio: float | None
    """Where it depends: the order shown is kept while no step of the scale is worth more than this many times
    another."""
    share: Share | None
    """Share of all spacings, uniform, on which x's mean is above y's."""
    levels: tuple[float, ...] = ()
    """The scale that the example is about."""
    example: tuple[float, ...]
    """Values of its levels that reverse the order; empty where nothing does or the scale has more than 11 levels."""
    rounding: bool | None = None
    """Whether the means differ by less than one step, so that what rounding hides could reverse the order; null
    where ratings are not whole numbers."""
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemBreakdown(Record):
    """Row of ``ratings.by_system``."""

    group: str
    criterion: str
    system: str
    n: Count
    mean: float | None
    sd: Spread | None
    sd_answers: Spread | None = None
    """Over single answers; sd is over cells, repeats averaged."""
    n_items: Count | None = None
    n_annotators: Count | None = None
    alpha: AtMostOne | None
    alpha_measure: str | None = None
    exact_agreement: Share | None
    mean_kendall_tau: Coefficient | None
    n_pairs: Count | None = None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantMean(Record):
    """Row of ``ratings.by_variant``."""

    annotator_kind: Literal["human", "llm", "simulated"]
    rater: str
    variant: str
    criterion: str | None
    system: str | None
    n: Count
    mean: float | None
    sd: Spread | None
    ci_low: float | None
    ci_high: float | None
    unit: str | None = None
    n_units: Count | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorMean(Record):
    """Row of ``ratings.by_annotator``."""

    group: str
    annotator_id: str
    criterion: str
    system: str
    n: Count
    mean: float | None
    sd: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingResults(Record):
    """Row of ``ratings``."""

    means: tuple[RatingMean, ...]
    pairs: tuple[RatingPair, ...]
    robustness: tuple[RobustnessRow, ...] = ()
    respacing: tuple[RespacingRow, ...] = ()
    by_system: tuple[SystemBreakdown, ...] = ()
    """Mean, spread and agreement of each system; a missing value has a reason."""
    by_variant: tuple[VariantMean, ...] = ()
    """Means by way of asking; system null: all systems; criterion null too: all criteria."""
    by_annotator: tuple[AnnotatorMean, ...] = ()
    """Means of each person, in groups of at most 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingCount(Record):
    """Row of ``rating_counts``."""

    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    system: str
    score: float
    n: Positive
    n_ratings: Positive
    """All of this group, criterion and system."""
    share: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryShare(Record):
    """Row of ``category_shares``."""

    group: str
    criterion: str
    system: str
    score: float
    answer: str | None
    """Words of the answer; null where no study file says them."""
    n: Count
    n_answers: Positive
    share: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class IdenticalPairRating(Record):
    """Row of ``identical_pairs``."""

    group: str
    criterion: str
    expected: float
    """The best rating of the scale."""
    n: Count
    n_missing: Count
    n_expected: Count
    """Ratings equal to the one expected."""
    mean: float | None
    sd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceResults(Record):
    """Row of ``choices``."""

    pairs: tuple[ChoiceTest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRow(Record):
    """Row of ``agreement``."""

    source: Literal["ratings", "preferences", "choices"]
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    measure: Literal[
        "krippendorff_alpha_nominal",
        "krippendorff_alpha_ordinal",
        "krippendorff_alpha_interval",
        "krippendorff_alpha_ratio",
        "exact_agreement",
        "icc1",
        "icc2",
        "icc3",
        "icc1k",
        "icc2k",
        "icc3k",
        "gwet_ac1",
        "gwet_ac2",
        "cohen_kappa",
        "fleiss_kappa",
        "mean_kendall_tau",
    ]
    value: AtMostOne | None
    """1: full agreement; 0: as by chance (exact_agreement: the share of units on which all agree)."""
    ci_low: float | None
    ci_high: float | None
    n_items: Count
    """Units with at least two answers: an item's output (ratings), a pair and exposure (preferences), two outputs of
    one item (choices)."""
    n_annotators: Count
    """Raters; of an LLM each repeat, and each further assignment that asks the same."""
    interval: str | None = None
    """How the interval was made; null: none."""
    estimator: str | None = None
    """Of an ICC: mean squares, or a mixed model where cells are missing."""
    fits_scale: bool | None = None
    """Of an alpha: whether its level fits the scale (ordinal for up to 20 whole numbers, else interval; nominal for
    choices)."""
    reason: str | None = None
    """Why the value, or only its interval, is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorPairRow(Record):
    """Row of ``annotator_pairs``."""

    source: Literal["ratings"]
    group: str
    """Human, simulated, an LLM's id or id/variant, or a group named in the table."""
    criterion: str
    annotator_x: str
    annotator_y: str
    n_items: Count
    exact_agreement: Share | None
    kendall_tau: Coefficient | None
    cohen_kappa: Coefficient | None
    krippendorff_alpha: Coefficient | None
    level: Literal["nominal", "ordinal", "interval", "ratio"]
    reason: str | None = None
    """Why a number is missing."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingReason(Record):
    """Row of ``raters.missing``."""

    reason: str
    level: str | None = None
    n: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterRow(Record):
    """Row of ``raters``."""

    source: Literal["preferences", "ratings", "choices"]
    group: str
    criterion: str
    annotator_kind: Literal["human", "llm", "simulated"]
    form: Literal["identical", "variant"] | None
    """Variant: read more than people did."""
    readout: str | None
    """Verbalised or logit; null where the answers do not say."""
    n_asked: Count
    n_missing: Count
    n_repeats: Positive
    n_read_twice: Count | None = None
    """Replies that another way of reading reads too."""
    n_readings_differ: Count | None = None
    """Of these, those that it reads as another answer, or as none."""
    mass_mean: Share | None = None
    """Mean probability of the answers together, of distributions."""
    mass_min: Share | None = None
    missing: tuple[MissingReason, ...]
    n: Count | None
    """Cells of ratings; null for preferences and choices."""
    mean: float | None
    sd: Spread | None
    n_raters: Count | None
    alpha: AtMostOne | None
    alpha_measure: str | None
    exact_agreement: Share | None
    agreement_reason: str | None
    system_kendall: Coefficient | None
    system_spearman: Coefficient | None
    overall_kendall: Coefficient | None
    overall_spearman: Coefficient | None
    people: str | None
    """Group that it was correlated with."""
    correlation_reason: str | None
    n_forms: Count | None
    n_inconsistent: Count | None
    """Forms that failed self-consistency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationRow(Record):
    """Row of ``explanations``."""

    source: Literal["preferences", "ratings", "choices"]
    group: str
    annotator_kind: Literal["human", "llm", "simulated"]
    criterion: str
    annotator_id: str
    assignment_id: str | None
    repeat: str | None
    item_id: str | None
    system: str | None
    system_x: str | None
    system_y: str | None
    sample: str | None
    sample_x: str | None
    sample_y: str | None
    exposure: Count | None
    label: str | None
    label_x: str | None
    label_y: str | None
    value: float | None
    people_mean: float | None
    departure: float | None
    explanation: str


PairTest: TypeAlias = PreferenceTest | RatingPair | ChoiceTest


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
