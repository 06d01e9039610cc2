"""Everything that a report says, as frozen records: the one definition of results.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from analysis.agreement.reviewers import ReviewAgreement
from analysis.agreement.rows import AgreementRow, AnnotatorPairRow
from analysis.answers.controls import ControlCheck
from analysis.answers.live_rows import LiveStudy
from analysis.answers.study_facts import InterviewAnswer, StudyReport
from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.directions import DirectionSummary
from analysis.comparisons.families import Family
from analysis.comparisons.findings import Disagreement, ExpectedRow
from analysis.comparisons.preferences import PreferenceTest
from analysis.comparisons.ratings import RatingMean, RatingTest
from analysis.contamination.results import Contamination
from analysis.correlations.compared import ComparisonRow
from analysis.correlations.rows import CorrelationRow, SystemCorrelation
from analysis.descriptives.category_shares import CategoryShare
from analysis.descriptives.explanations import ExplanationRow
from analysis.descriptives.identical_pairs import IdenticalPairRating
from analysis.descriptives.rating_breakdowns import AnnotatorMean, SystemBreakdown, VariantMean
from analysis.descriptives.rating_counts import RatingCount
from analysis.explanations.exploration import ExplorationResults
from analysis.llm_vs_people.first_shown import FirstShownRow
from analysis.llm_vs_people.rows import LLMsAndPeople
from analysis.metrics.rows import MetricResults
from analysis.orders.rows import OrderPlace, OrderStrength, OrderSummary
from analysis.planning.observed import ObservedPowerRow
from analysis.preference_checks.coherence import CoherenceRow
from analysis.preference_checks.exposure import ExposurePoint, ExposureTrend, FirstExposure
from analysis.preference_checks.filtering import SweepRow
from analysis.ranking.agreement import RankingAgreement
from analysis.ranking.differences import RankingDifference
from analysis.ranking.tied import TieFit
from analysis.rating_checks.rows import RespacingRow, RobustnessRow
from analysis.results.conventions import Convention
from analysis.results.headline_rows import Headline
from analysis.results.overview import CarelessCount, ExclusionRow, Group, MissingCount, Settings, WarningRow
from analysis.results.rater_rows import RaterRow
from analysis.spans.rows import SpanResults
from analysis.statistics.rank_orders import Ranking
from analysis.statistics.record import Record, names_of
from analysis.strengths.rows import SystemStrength


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ChoiceResults(Record):
    """Row of ``choices``."""

    pairs: tuple[ChoiceTest, ...]


SCHEMA: Final = 2
NO_LLMS = LLMsAndPeople(**dict.fromkeys(names_of(LLMsAndPeople), ()))


PairTest: TypeAlias = PreferenceTest | RatingTest | ChoiceTest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Results(Record):
    """Everything that a report says."""

    schema: Literal[2]
    settings: Settings
    study: StudyReport | None
    groups: tuple[Group, ...]
    exclusions: tuple[ExclusionRow, ...]
    careless: tuple[CarelessCount, ...] = ()
    """Declared rules of careless answering; empty where the plan declares none."""
    reviewers: tuple[ReviewAgreement, ...] = ()
    """Agreement of two reviewers of the same submissions; empty where one decides."""
    controls: tuple[ControlCheck, ...] = ()
    """What annotators answered about systems that are attention checks (--control)."""
    missing: tuple[MissingCount, ...]
    """Answers that could not be used, counted before exclusions."""
    preferences: tuple[PreferenceTest, ...]
    preference_directions: tuple[DirectionSummary, ...]
    exposure_curve: tuple[ExposurePoint, ...] = ()
    """Distance of preferences from 0.5 by outputs read; empty where there is one exposure."""
    exposure_trend: tuple[ExposureTrend, ...] = ()
    """Change of the distance with each doubling of the outputs read."""
    first_exposure: tuple[FirstExposure, ...] = ()
    """Distance after one output of each system minus that after more."""
    consistency_sweep: tuple[SweepRow, ...] = ()
    """The tests of preferences under other bounds on the sum of both directions."""
    coherence: tuple[CoherenceRow, ...] = ()
    """Triples of systems; system_a null: all triples together."""
    ratings: RatingResults
    rating_counts: tuple[RatingCount, ...] = ()
    """How often each score was given, after exclusions; left out where a group gave more than eleven different
    scores to a criterion."""
    category_shares: tuple[CategoryShare, ...] = ()
    interview: tuple[InterviewAnswer, ...] = ()
    """What people said at the end, in their own words; nobody is excluded."""
    identical_pairs: tuple[IdenticalPairRating, ...] = ()
    """Ratings of outputs that equal their source; nobody is excluded."""
    choices: ChoiceResults
    """Asked, or implied by orders."""
    orders: tuple[OrderSummary, ...] = ()
    """Outputs put in order, one row a group and criterion."""
    order_strengths: tuple[OrderStrength, ...] = ()
    order_places: tuple[OrderPlace, ...] = ()
    families: tuple[Family, ...] = ()
    """Tests corrected together."""
    bradley_terry: tuple[SystemStrength, ...]
    ties: tuple[TieFit, ...] = ()
    """Davidson's model where there are ties."""
    rankings: tuple[Ranking, ...]
    ranking_agreement: tuple[RankingAgreement, ...]
    ranking_differences: tuple[RankingDifference, ...] = ()
    """Pairs of systems that two rankings order differently."""
    agreement: tuple[AgreementRow, ...]
    annotator_pairs: tuple[AnnotatorPairRow, ...]
    """Every two raters of a group with at most 10, over the units of ratings or choices that both answered."""
    correlations: tuple[CorrelationRow, ...]
    comparisons_of_correlations: tuple[ComparisonRow, ...] = ()
    correlations_by_system: tuple[SystemCorrelation, ...] = ()
    """Kendall's tau of a group with people over the outputs of one system."""
    metrics: MetricResults | None = None
    """Automatic metrics, tested between systems and ranked; null where there are none."""
    llm_vs_people: LLMsAndPeople = NO_LLMS
    """LLMs set against people (against simulated annotators where there are no people)."""
    first_shown: tuple[FirstShownRow, ...] = ()
    """How often an LLM's choice turned with the order of the two outputs; empty where none was asked in both."""
    raters: tuple[RaterRow, ...] = ()
    explanations: tuple[ExplanationRow, ...] = ()
    exploration: ExplorationResults | None = None
    """What spa explanations found in these explanations and comments; null where it was not run."""
    contamination: Contamination | None = None
    """What spa contamination found in the study's texts; null where it was not run."""
    contamination_of_others: tuple[Contamination, ...] = ()
    """What it found of further models."""
    expected: tuple[ExpectedRow, ...]
    observed_power: tuple[ObservedPowerRow, ...] | None = None
    """Power at the effects found, which restates p and is no evidence; null where it was not asked for."""
    disagreements: tuple[Disagreement, ...]
    """Pairs on which two sources or groups do not say the same."""
    warnings: tuple[str, ...]
    warning_rows: tuple[WarningRow, ...] = ()
    """The warnings with their kind and group, in the same order."""
    conventions: tuple[Convention, ...]
    spans: SpanResults | None = None
    """Errors marked in outputs; null where nobody was asked to. Their counts are ratings as well."""
    live: LiveStudy | None = None
    """What a study decided that was looked at after every annotator; null in one of fixed size."""
    headline: Headline | None = None
    """The four lines that a report opens with; null in files written before there were any."""

    def __repr__(self) -> str:
        from analysis.results.row_tables import results_text

        return results_text(self)

    def _repr_html_(self) -> str:
        from analysis.results.row_tables import results_html

        return results_html(self)

    @property
    def contaminations(self) -> tuple[Contamination, ...]:
        """What spa contamination found, model by model."""
        first = () if self.contamination is None else (self.contamination,)
        return (*first, *self.contamination_of_others)
