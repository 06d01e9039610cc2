"""Audits: a rater answers all forms that are built, people the first of them, as many as take part."""

from __future__ import annotations

from collections.abc import Iterator

from spa.records.problems import StudyProblem, mistake, quote
from spa.records.study import Study

TABLE = "[audit]"


def audit_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield what keeps a study from being an audit."""
    audit, people = study.audit, study.people
    if audit is None:
        return
    raters = [rater.id for rater in study.raters]
    if audit.rater not in raters:
        expected = " or ".join(map(quote, raters)) or "a table [[raters]]"
        yield mistake(f"{TABLE} rater", expected, quote(audit.rater), "name one of the study's raters", "raters")
    asked = people.assignments_for(people.annotators)
    if audit.forms <= asked:
        got = f"{audit.forms}, of which people answer {asked}"
        yield mistake(f"{TABLE} forms", "more forms than people answer", got, "raise it or lower [people] annotators")
    if people.sessions > 1:
        yield mistake(TABLE, "sessions = 1 in [people]", str(people.sessions), "remove one of them", "people")
    if study.stopping.rule != "fixed":
        do = "remove one of them"
        yield mistake(TABLE, 'rule = "fixed" in [stopping]', quote(study.stopping.rule), do, "stopping")
    if study.design.answers_per_output is not None:
        got = "[design] answers_per_output"
        yield mistake(TABLE, "forms that it counts itself", got, "remove one of them", "design")
    if not any(section.compares or section.rates for section in study.sections.values()):
        yield mistake(TABLE, "a section that rates or compares", "none", "add one", "sections")


def forms_in_all(study: Study) -> int:
    """Return how many forms are built."""
    asked = study.people.assignments_for(study.people.annotators)
    return asked if study.audit is None else study.audit.forms
