"""The order of the report: each function returns its section, or None where there is nothing to say."""

from __future__ import annotations

from analysis.figures.plain_text import shown_name
from analysis.report.agreement import agreement
from analysis.report.asked import asked
from analysis.report.calibration import calibration
from analysis.report.choices import choices
from analysis.report.closing import cite, input_files, settings
from analysis.report.contamination import contamination
from analysis.report.correlations import correlations
from analysis.report.document import Document, Section, SectionMaker
from analysis.report.equivalence import equivalence
from analysis.report.excluded import excluded
from analysis.report.expected import expected
from analysis.report.explanations import explanations, interview
from analysis.report.exploration import exploration
from analysis.report.headline import headline
from analysis.report.identical_pairs import identical_pairs
from analysis.report.live import fixed_tests, without_tests
from analysis.report.llm_vs_people import llm_vs_people
from analysis.report.metrics import metrics
from analysis.report.observed_power import observed_power
from analysis.report.orders import orders
from analysis.report.orientation import oriented
from analysis.report.preference_checks import preference_checks
from analysis.report.preferences import preferences
from analysis.report.preregistered import preregistered
from analysis.report.raters import raters
from analysis.report.rating_details import rating_details
from analysis.report.ratings import ratings
from analysis.report.robustness import robustness
from analysis.report.shares import shares
from analysis.report.side_by_side import side_by_side
from analysis.report.spans import spans
from analysis.report.strengths import strengths
from analysis.report.terms import glossary
from analysis.report.warnings import warnings
from analysis.results.records import Results
from analysis.results.verdicts import as_decided
from analysis.results.words import listed, plural

SECTIONS: dict[str, SectionMaker] = {  # by id, in the order of the report
    "answer": headline,
    "asked": asked,
    "preregistration": preregistered,
    "excluded": excluded,
    "preferences": preferences,
    "preference-checks": preference_checks,
    "ratings": ratings,
    "spans": spans,
    "shares": shares,
    "identical-pairs": identical_pairs,
    "choices": choices,
    "orders": orders,
    "robustness": robustness,
    "equivalence": equivalence,
    "strengths": strengths,
    "agreement": agreement,
    "comparison": side_by_side,
    "correlations": correlations,
    "metrics": metrics,
    "raters": raters,
    "rating-details": rating_details,
    "llm-vs-people": llm_vs_people,
    "explanations": explanations,
    "exploration": exploration,
    "interview": interview,
    "calibration": calibration,
    "contamination": contamination,
    "expected": expected,
    "observed-power": observed_power,
    "warnings": warnings,
    "terms": glossary,
    "settings": settings,
    "cite": cite,
}


OF_FIXED_SIZE = ("robustness", "equivalence", "observed-power")  # nothing but further tests


def shown_results(results: Results) -> Results:
    """Return results as sections show them: with the verdicts that hold, each pair told from its winner's side."""
    return oriented(as_decided(results))


def make_section(results: Results, name: str) -> Section | None:
    """Make one section of results as :func:`shown_results` returns them; ``None`` where there is nothing to say."""
    if results.live is None:
        return SECTIONS[name](results)
    section = None if name in OF_FIXED_SIZE else SECTIONS[name](results)
    return None if section is None else without_tests(section)


def build_document(results: Results) -> Document:
    """Make the whole report from a results.json."""
    fixed = None if results.live is None else fixed_tests(oriented(results))
    results = shown_results(results)
    title = results.study.title if results.study else ""
    made = (*(make_section(results, name) for name in SECTIONS), fixed)
    files = [shown_name(name) for name, _ in input_files(results)]
    return Document(
        title=" ".join((title or listed(files) or "Report without a study").split()),
        subtitle=_subtitle(results),
        language="en",
        sections=tuple(section for section in made if section is not None),
    )


def _subtitle(results: Results) -> str:
    """Say who answered, when the last answer came, as far as a store knows it, and what analysed them."""
    groups = results.groups
    parts = []
    for kind, one, many in (("human", "person", "people"), ("simulated", "simulated annotator", None)):
        total = sum(entry.annotators for entry in groups if entry.annotator_kind == kind)
        if total:
            parts.append(plural(total, one, many))
    if any(entry.unnamed is not None for entry in groups):
        parts.append("unnamed people")
    raters = [entry.simulated for entry in groups if entry.annotator_kind == "llm"]
    if llms := raters.count(False):
        parts.append(plural(llms, "LLM", "LLMs or variants"))
    if rehearsed := raters.count(True):
        parts.append(plural(rehearsed, "simulated rater"))
    nobody = "; no LLM was asked" if rehearsed and not llms else ""
    last = results.study.last_answer if results.study else None
    when = f"; last answer {last}" if last else ""
    version = results.settings.versions.get("spa-eval")
    by = f"; spa-eval {version}" if version else ""
    return f"Answers of {listed(parts)}{nobody}{when}{by}" if parts else ""
