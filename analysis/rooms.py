"""The rooms of the analysis, each with what it contributes."""

from __future__ import annotations

from typing import Final

from analysis.agreement.contribution import CONTRIBUTION as AGREEMENT
from analysis.audit.contribution import CONTRIBUTION as AUDIT
from analysis.both_orders.contribution import CONTRIBUTION as BOTH_ORDERS
from analysis.camps.contribution import CONTRIBUTION as CAMPS
from analysis.camps.contribution import OWN as OWN_ANSWERS
from analysis.circles.contribution import CONTRIBUTION as CIRCLES
from analysis.comparisons.contribution import CONTRIBUTION as COMPARISONS
from analysis.contamination.contribution import CONTRIBUTION as CONTAMINATION
from analysis.contribution import Contribution
from analysis.correlations.contribution import CONTRIBUTION as CORRELATIONS
from analysis.covariates.contribution import CONTRIBUTION as COVARIATES
from analysis.descriptives.contribution import CONTRIBUTION as DESCRIPTIVES
from analysis.explanations.contribution import CONTRIBUTION as EXPLANATIONS
from analysis.juries.contribution import CONTRIBUTION as JURIES
from analysis.listening.contribution import CONTRIBUTION as LISTENING
from analysis.live.contribution import CONTRIBUTION as LIVE
from analysis.llm_vs_people.contribution import CONTRIBUTION as LLM_VS_PEOPLE
from analysis.metrics.contribution import CONTRIBUTION as METRICS
from analysis.orders.contribution import CONTRIBUTION as ORDERS
from analysis.planning.contribution import CONTRIBUTION as PLANNING
from analysis.preference_checks.contribution import CONTRIBUTION as PREFERENCE_CHECKS
from analysis.ranking.contribution import CONTRIBUTION as RANKING
from analysis.rater_examples.contribution import CONTRIBUTION as RATER_EXAMPLES
from analysis.raters.contribution import CONTRIBUTION as RATERS
from analysis.rating_checks.contribution import CONTRIBUTION as RATING_CHECKS
from analysis.self_preference.contribution import CONTRIBUTION as SELF_PREFERENCE
from analysis.serial_context.contribution import CONTRIBUTION as SERIAL_CONTEXT
from analysis.single_answers.contribution import CONTRIBUTION as SINGLE_ANSWERS
from analysis.spans.contribution import CONTRIBUTION as SPANS
from analysis.strengths.contribution import CONTRIBUTION as STRENGTHS
from analysis.utilities.contribution import CONTRIBUTION as UTILITIES

CONTRIBUTIONS: Final[tuple[Contribution, ...]] = (
    COMPARISONS,  # whose tests most others wait for
    AGREEMENT,
    AUDIT,
    BOTH_ORDERS,
    CAMPS,
    CIRCLES,
    CONTAMINATION,
    CORRELATIONS,
    COVARIATES,
    DESCRIPTIVES,
    EXPLANATIONS,
    JURIES,
    LISTENING,
    LIVE,
    LLM_VS_PEOPLE,
    METRICS,
    ORDERS,
    OWN_ANSWERS,
    PLANNING,
    PREFERENCE_CHECKS,
    RANKING,
    RATER_EXAMPLES,
    RATERS,
    RATING_CHECKS,
    SELF_PREFERENCE,
    SERIAL_CONTEXT,
    SINGLE_ANSWERS,
    SPANS,
    STRENGTHS,
    UTILITIES,
)
