"""From tidy tables to corrected tests, rankings and a report."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "analyse": "analysis.results",
    "AnswerTables": "analysis.tables",
    "benjamini_hochberg": "analysis.corrections",
    "bootstrap_strengths": "analysis.strengths",
    "bradley_terry": "analysis.strengths",
    "check_frames": "analysis.tables",
    "cohen_kappa": "analysis.agreement",
    "correlate": "analysis.correlations",
    "correlate_levels": "analysis.correlations",
    "correlate_rows": "analysis.correlations",
    "exact_agreement": "analysis.agreement",
    "facts_of": "analysis.study_facts",
    "fit_bradley_terry": "analysis.strengths",
    "fit_davidson": "analysis.strengths",
    "fleiss_kappa": "analysis.agreement",
    "gwet_ac1": "analysis.agreement",
    "gwet_ac2": "analysis.agreement",
    "holm": "analysis.corrections",
    "icc": "analysis.agreement",
    "krippendorff_alpha": "analysis.agreement",
    "mean_kendall_tau": "analysis.agreement",
    "pairwise_agreement": "analysis.agreement",
    "parse_expectations": "analysis.plan",
    "Plan": "analysis.plan",
    "plan_of": "analysis.study_facts",
    "read_tables": "analysis.tables",
    "Reading": "analysis.tables",
    "results_schema": "analysis.results",
    "Scale": "analysis.columns",
    "StudyFacts": "analysis.study_facts",
    "to_json": "analysis.results",
    "williams": "analysis.correlations",
    "write_results": "analysis.writing",
}
__all__ = [  # noqa: RUF022 - as an index is sorted, capitals among the others
    "analyse",
    "AnswerTables",
    "benjamini_hochberg",
    "bootstrap_strengths",
    "bradley_terry",
    "check_frames",
    "cohen_kappa",
    "correlate",
    "correlate_levels",
    "correlate_rows",
    "exact_agreement",
    "facts_of",
    "fit_bradley_terry",
    "fit_davidson",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "holm",
    "icc",
    "krippendorff_alpha",
    "mean_kendall_tau",
    "pairwise_agreement",
    "parse_expectations",
    "Plan",
    "plan_of",
    "read_tables",
    "Reading",
    "results_schema",
    "Scale",
    "StudyFacts",
    "to_json",
    "williams",
    "write_results",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that the package itself is light."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
