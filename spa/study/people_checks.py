"""What the table of people must mean: quota groups, sessions, checks that end a visit, families of studies."""

from __future__ import annotations

from collections.abc import Iterator

from spa.study.findings import StudyProblem, find, repeated
from spa.study.schema_errors import nearest, shown
from spa.study.study import PeopleGroup, Study

RESERVED_SOURCES = ("link", "prolific", "mturk", "rater", "simulated", "human", "llm")  # of other annotators


def people_checks(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about who may come."""
    people = study.people
    yield from repeated("[[people.groups]] name", [group.name for group in people.groups])
    for group in people.groups:
        yield from _group(study, group)
    yield from _shared_values(study)
    wanted = sum(group.places for group in people.groups)
    if wanted > people.annotators:
        got = f"{wanted} places and annotators = {people.annotators}"
        yield find("[[people.groups]] places", "no more places than annotators", got, "change one of them")
    most = people.end_after_failed_checks
    if most is not None and most > len(study.attention_checks):
        got = f"{most}, and {len(study.attention_checks)} attention checks"
        place = "[people] end_after_failed_checks"
        yield find(place, "at most the number of [[attention_checks]]", got, "lower it", "attention_checks")
    if (people.family is None) != (people.family_store is None):
        given, absent = ("family", "family_store") if people.family_store is None else ("family_store", "family")
        yield find(f"[people] {given}", f"{absent} beside it", "none", f"add {absent}, or remove {given}")
    if people.per_assignment > people.annotators:
        got = f"{people.per_assignment} of {people.annotators} annotators"
        yield find("[people] per_assignment", "at most annotators", got, "change one of them")


def panel_checks(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about the panel."""
    panel = study.panel
    if panel is None:
        return
    if panel.name in RESERVED_SOURCES:
        wanted = f"a name other than {', '.join(RESERVED_SOURCES)}"
        yield find("[panel] name", wanted, shown(panel.name), "choose another name")
    if (panel.study is None) != (panel.study_id is None):
        given, absent = ("study", "study_id") if panel.study_id is None else ("study_id", "study")
        yield find(f"[panel] {given}", f"{absent} beside it", "none", f"add {absent}, or remove {given}")
    if panel.session is None and any("{session}" in str(address) for _, address in panel.redirects):
        yield find("[panel.redirects]", "session in [panel] where {session} is used", "none", "name its parameter")
    parameters = [one for one in (panel.participant, panel.session, panel.study) if one is not None]
    yield from repeated("[panel] participant, session, study", parameters)


def _group(study: Study, group: PeopleGroup) -> Iterator[StudyProblem]:
    place = f"[[people.groups]] {group.name}"
    if (group.screening is None) == (group.parameter is None):
        got = "none" if group.screening is None else "both"
        yield find(place, "screening or parameter", got, "say by which of them people come into the group")
        return
    yield from repeated(f"{place}, values", group.values)
    if group.screening is None:
        return
    asked = {question.id: question for question in study.screening}
    if group.screening not in asked:
        do = nearest(group.screening, list(asked)) if asked else "add that question"
        yield find(f"{place}, screening", "the id of a [[screening]] question", shown(group.screening), do, "screening")
        return
    question = asked[group.screening]
    for value in group.values:
        if value not in question.eligible:
            wanted = f"one of the eligible answers of {question.id} ({', '.join(question.eligible)})"
            yield find(f"{place}, values", wanted, shown(value), "put the value right", "screening")


def _shared_values(study: Study) -> Iterator[StudyProblem]:
    """Tell two groups that one answer, or one link, would put a person into."""
    seen: dict[tuple[str | None, str | None, str], str] = {}
    for group in study.people.groups:
        for value in group.values:
            key = (group.screening, group.parameter, value)
            if key in seen and seen[key] != group.name:
                got = f"{shown(value)} in {seen[key]} and {group.name}"
                yield find("[[people.groups]] values", "each value in one group", got, "remove one of them")
            seen.setdefault(key, group.name)
    ways = {(group.screening, group.parameter) for group in study.people.groups}
    if len(ways) > 1:
        got = f"{len(ways)} questions and parameters"
        yield find(
            "[[people.groups]]", "one question or one parameter for all groups", got, "group people by one of them"
        )
