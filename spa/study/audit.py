"""Audits: a rater answers all forms that are built, people a part: the first of them, or as drawn wave by wave."""

from __future__ import annotations

from collections.abc import Iterator

from spa.records.analysis import Audit
from spa.records.problems import StudyProblem, mistake, quote
from spa.records.study import Study
from spa.study.stopping import deciding_sections, kinds_asked

TABLE = "[audit]"
LEAST_SHARE = 0.6  # of the mean chance, the least chance of a form
CORRELATIONS = (0.0, 0.5, 0.8, 0.95)  # of which it is said what an audit is worth
OF_RULE = frozenset({"effect", "least"})
OF_WAVES = OF_RULE | {"wave"}


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
    if audit.in_waves:
        yield from _waves_problems(study, audit)
    elif given := sorted(audit.model_fields_set & OF_WAVES):
        do = 'draw people\'s forms in waves (draw = "unsure" or rule = "when_decided"), or remove the key'
        yield mistake(f"{TABLE} {given[0]}", "waves of people", "none", do)
    if not any(section.compares or section.rates for section in study.sections.values()):
        yield mistake(TABLE, "a section that rates or compares", "none", "add one", "sections")


def _waves_problems(study: Study, audit: Audit) -> Iterator[StudyProblem]:
    people = study.people
    if people.per_assignment > 1:
        yield mistake(f"{TABLE} in waves", "[people] per_assignment = 1", str(people.per_assignment), "set it to 1")
    if audit.rule == "fixed" and (given := sorted(audit.model_fields_set & OF_RULE)):
        do = "set the rule or remove the key"
        yield mistake(f"{TABLE} {given[0]}", 'rule = "when_decided" beside it', '"fixed"', do)
    if audit.rule == "when_decided" and audit.least > people.annotators:
        do = "lower it or raise [people] annotators"
        yield mistake(f"{TABLE} least", f"at most {people.annotators} annotators", str(audit.least), do)
    if len(study.compared) < 2 or not kinds_asked(study):
        yield mistake(f"{TABLE} in waves", f"{deciding_sections()}, of two systems", "none", "add one", "sections")


def least_chance(study: Study, share: float) -> float:
    """Return with which chance any form of an audit is drawn at least, where the mean chance is ``share``."""
    audit = study.audit
    if audit is None or audit.draw == "even":
        return share
    return min(LEAST_SHARE * study.people.annotators / audit.forms, share)


def audit_worth(study: Study) -> str | None:
    """Return what people's part of an audit is worth, by how their answers go with the rater's; ``None`` without one.

    With n of N forms by people, as many people alone as n / (1 - rho^2 (N - n) / N).
    """
    audit, asked = study.audit, study.people.annotators
    if audit is None:
        return None
    alone = [asked / (1 - rho**2 * (1 - asked / audit.forms)) for rho in CORRELATIONS]
    worth = ", ".join(f"{people:.0f} at {rho:g}" for rho, people in zip(CORRELATIONS, alone, strict=True))
    ends = "; it ends earlier where all is decided" if audit.rule == "when_decided" else ""
    most = "at most " if ends else ""
    return (
        f"Audit: {most}{asked} people for {audit.forms:,} forms are worth as many people alone as their answers' "
        f"correlation with the rater's says: {worth}{ends}."
    )


def wave_size(study: Study) -> int:
    """Return how many places are opened together, where they are in waves."""
    return study.stopping.wave if study.audit is None else study.audit.wave


def forms_in_all(study: Study) -> int:
    """Return how many forms are built."""
    asked = study.people.assignments_for(study.people.annotators)
    return asked if study.audit is None else study.audit.forms
