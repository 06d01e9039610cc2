"""The order of the report: each function returns its section, or None where there is nothing to say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from analysis import rooms
from analysis.contribution import SectionEntry, Shown
from analysis.figures.plain_text import shown_name
from analysis.printing.document import Document, Section, SectionMaker
from analysis.printing.names import Names
from analysis.printing.words import listed, plural
from analysis.records.results import Results
from analysis.report.asked import asked
from analysis.report.closing import cite, glossary, input_files, preregistered, settings
from analysis.report.excluded import excluded
from analysis.report.fixed_tests import fixed_tests, without_tests
from analysis.report.headline import headline
from analysis.report.orientation import oriented
from analysis.report.side_by_side import side_by_side
from analysis.report.warnings import warnings
from analysis.results.verdicts import as_decided

ORDER = (  # of the report; sections that are not listed precede the warnings
    "answer",
    "asked",
    "preregistration",
    "excluded",
    "preferences",
    "preference-checks",
    "ratings",
    "listening",
    "spans",
    "shares",
    "identical-pairs",
    "choices",
    "both-orders",
    "orders",
    "best-worst",
    "third-systems",
    "utilities",
    "robustness",
    "equivalence",
    "strengths",
    "circles",
    "camps",
    "held-constant",
    "agreement",
    "comparison",
    "correlations",
    "metrics",
    "raters",
    "juries",
    "self-preference",
    "examples",
    "rating-details",
    "serial-context",
    "audit",
    "llm-vs-people",
    "explanations",
    "exploration",
    "interview",
    "calibration",
    "contamination",
    "expected",
    "observed-power",
    "warnings",
    "terms",
    "settings",
    "cite",
)
OWN: dict[str, SectionMaker] = {  # of the whole results, which are of no room
    "answer": headline,
    "asked": asked,
    "preregistration": preregistered,
    "excluded": excluded,
    "comparison": side_by_side,
    "warnings": warnings,
    "terms": glossary,
    "settings": settings,
    "cite": cite,
}


OF_VERIFICATION = frozenset({"answer", "settings"})


def section_ids() -> tuple[str, ...]:
    """Return the ids of all sections in the order of the report."""
    listed, more = list(ORDER), [name for name in _entries() if name not in ORDER]
    place = listed.index("warnings")
    return (*listed[:place], *more, *listed[place:])


def _entries() -> dict[str, SectionEntry]:
    return {entry.id: entry for one in rooms.CONTRIBUTIONS for entry in one.sections}


OF_FIXED_SIZE = ("robustness", "equivalence", "observed-power")  # nothing but further tests


def shown_results(results: Results) -> Results:
    """Return results as sections show them: with the verdicts that hold, each pair told from its winner's side."""
    return oriented(as_decided(results))


def make_section(results: Results, name: str) -> Section | None:
    """Make one section of results as :func:`shown_results` returns them; ``None`` where there is nothing to say."""
    if results.live is not None and name in OF_FIXED_SIZE:
        return None
    entry = _entries().get(name)
    section = OWN[name](results) if entry is None else entry.section(Shown(results, Names(results)))
    return section if section is None or results.live is None else without_tests(section)


def with_rows(results: Results) -> tuple[str, ...]:
    """Return the ids of the rooms' sections that have rows to tell of, in the order of the report."""
    entries, left_out = _entries(), () if results.live is None else OF_FIXED_SIZE
    return tuple(
        name for name in section_ids() if name in entries and name not in left_out and entries[name].has_rows(results)
    )


def sections_before(results: Results) -> dict[str, Section | None]:
    """Make the sections that do not tell what came of computing figures again."""
    shown = shown_results(results)
    return {name: make_section(shown, name) for name in section_ids() if name not in OF_VERIFICATION}


def build_document(results: Results, before: Mapping[str, Section | None] = MappingProxyType({})) -> Document:
    """Make the whole report from a results.json; ``before`` are sections that were made already."""
    fixed = None if results.live is None else fixed_tests(oriented(results))
    results = shown_results(results)
    title = results.study.title if results.study else ""
    named = (before[name] if name in before else make_section(results, name) for name in section_ids())
    made = (*named, fixed)
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
    raters = [entry.simulated for entry in groups if entry.annotator_kind == "llm" and not entry.members]
    if llms := raters.count(False):
        parts.append(plural(llms, "LLM", "LLMs or variants"))
    if rehearsed := raters.count(True):
        parts.append(plural(rehearsed, "simulated rater"))
    if juries := sum(bool(entry.members) for entry in groups):
        parts.append(plural(juries, "jury of them", "juries of them"))
    nobody = "; no LLM was asked" if rehearsed and not llms else ""
    last = results.study.last_answer if results.study else None
    when = f"; last answer {last}" if last else ""
    version = results.settings.versions.get("spa-eval")
    by = f"; spa-eval {version}" if version else ""
    return f"Answers of {listed(parts)}{nobody}{when}{by}" if parts else ""
