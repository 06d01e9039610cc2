"""Checks of who answers: people and LLM raters, once each table of the study file can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from pydantic import ValidationError

from spa.elicitation import ways
from spa.media import medium_of, sent_media
from spa.raters.vendors import batch_providers, in_batches, provider_with, providers, vendor_of
from spa.records.people import PeopleGroup
from spa.records.problems import StudyProblem, mistake, nearest, quote, repeated, unfit_system
from spa.records.raters import (
    CONTINUED,
    FROM_ENVIRONMENT,
    ONE_QUESTION,
    SECRET,
    Rater,
    RaterProtocol,
    RaterVariant,
    may_be_cached,
    rater_variants,
)
from spa.records.study import OVERALL, Study

RESERVED_RATERS = ("human", "simulated")  # groups of annotators that are analysed apart


def rater_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about raters."""
    for rater in study.raters:
        place = f"[[raters]] {rater.id}"
        if rater.provider not in (known := list(providers())):
            expected = "one of " + ", ".join(map(quote, known))
            do = f"correct it or remove the key (default: {quote(Rater.model_fields['provider'].default)})"
            yield mistake(f"{place}, provider", expected, quote(rater.provider), do)
            continue
        if rater.id in RESERVED_RATERS:
            yield mistake("[[raters]] id", "another name", f"{quote(rater.id)}, a group of annotators", "rename it")
        try:
            variants = rater_variants(rater)
        except ValidationError as error:
            detail = error.errors()[0]
            key = ".".join(str(part) for part in detail["loc"])
            yield mistake(f"{place} grid", f"values that {key} takes", quote(detail["input"]), detail["msg"].lower())
            continue
        if rater.batch and vendor_of(rater).batches is None:
            expected = "false: there are batches with provider = " + ", ".join(map(quote, batch_providers()))
            yield mistake(f"{place}, batch", expected, "true", "remove it, or set another provider")
        yield from _sent_beside(place, rater)
        yield from repeated(
            f"{place}, variants", [variant.variant for variant in variants if variant.variant is not None]
        )
        yield from _without_effect(place, rater, variants)
        yield from _frames(place, study, variants)
        yield from _cached(place, rater, variants)
        for variant in variants:
            named = f"{place} {variant.variant or ''}".strip()
            yield from _endpoint_takes(named, rater, variant.protocol)
            yield from _check_protocol(study, named, variant.protocol)


def _variants(study: Study) -> list[RaterVariant]:
    """Return how raters are asked; none of a rater whose grid is wrong, which is told with it."""
    found: list[RaterVariant] = []
    for rater in study.raters:
        with suppress(ValidationError):
            found += rater_variants(rater)
    return found


def note_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about what is noted of items, and who reads it."""
    outputs = study.outputs
    for note, column in outputs.notes.items():
        if outputs.layout == "wide" and column in {one.id for one in study.systems}:
            yield mistake(f"[outputs] item_{note}", "a column of its own", quote(column), "name another", "systems")
    if "notes_for" in outputs.model_fields_set and not outputs.notes:
        yield mistake("[outputs] notes_for", "item_rubric or item_reference beside it", "none", "name one or remove it")
    reading = [one.rater.id for one in _variants(study) if one.protocol.item_notes]
    if outputs.notes_for == "raters" and not reading:
        do = "set item_notes = true in the raters that read them"
        yield mistake("[outputs] notes_for", "a rater with item_notes", "none", do, "raters")
    if reading and (outputs.notes_for == "everybody" or not outputs.notes):
        got = "notes that everybody reads" if outputs.notes else "no notes"
        expected = '[outputs] item_rubric or item_reference, and notes_for = "raters"'
        yield mistake(f"[[raters]] {reading[0]}, item_notes", expected, got, "set them, or remove the key", "outputs")


def jury_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about juries."""
    names = [one.name for one in _variants(study)]
    taken = {*RESERVED_RATERS, *names, *(rater.id for rater in study.raters)}
    for jury in study.juries:
        place = f"[[juries]] {jury.id}"
        if jury.id in taken:
            yield mistake(f"{place}, id", "a name that no rater has", quote(jury.id), "rename it", "raters")
        yield from repeated(f"{place}, raters", jury.raters)
        for name in jury.raters:
            if name not in names:
                asked = [one for one in names if one.startswith(f"{name}/")]
                do = f"name a way of asking it: {', '.join(asked[:3])}" if asked else nearest(name, names)
                yield mistake(f"{place}, raters", "raters of [[raters]]", quote(name), do, "raters")
        if jury.least > len(jury.raters):
            got = f"{jury.least} of {len(jury.raters)}"
            yield mistake(f"{place}, least", "at most the number of its raters", got, "lower it or add raters")
        for section in study.sections.values():
            if jury.by == "majority" and section.graded:
                expected = f'"mean" or "median" beside [{section.key}], whose answers are seldom the same'
                yield mistake(f"{place}, by", expected, '"majority"', "change it", section.key)


def example_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about answered examples, which are of answers about single items."""
    for rater in study.raters:
        place = f"[[raters]] {rater.id}, examples"
        if rater.examples is None:
            continue
        for key, section in study.sections.items():
            if not section.has_examples:
                fit = (f"[{one}]" for one, way in ways().items() if way.settings.has_examples)
                expected = f"only {', '.join(fit)}, which ask about outputs of one item"
                why = "its answers are about systems or whole outputs, so that examples would give answers away"
                yield mistake(place, expected, f"[{key}]: {why}", "remove one of them", key)
        if study.outputs.unit == "turn":
            yield mistake(place, 'unit = "output"', '"turn"', "remove the table", "outputs")


def maker_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about makers: they are compared by name, and one id has one of them."""
    systems = {one.id: one.maker for one in study.systems if one.maker is not None}
    for rater in study.raters:
        if rater.maker is not None and systems.get(rater.id, rater.maker) != rater.maker:
            got = f"{quote(rater.maker)} and {quote(systems[rater.id])} for {quote(rater.id)}"
            yield mistake(f"[[raters]] {rater.id}, maker", "the maker of the system of this id", got, "rename one")
        if rater.maker is not None and rater.maker not in systems.values():
            known = sorted({*systems.values()})
            do = nearest(rater.maker, known) if known else "set it in [[systems]], too"
            yield mistake(f"[[raters]] {rater.id}, maker", "the maker of a system", quote(rater.maker), do, "systems")


def _without_effect(place: str, rater: Rater, variants: Sequence[RaterVariant]) -> Iterator[StudyProblem]:
    """Yield keys that say how something is put which no variant has."""
    ways = [one.protocol for one in variants]
    if any(one.persona_place != "system" for one in ways) and all(one.persona is None for one in ways):
        yield mistake(f"{place}, persona_place", "persona beside it", "none", "add one, or remove the key")
    if any(one.explain_words is not None for one in ways) and all(one.explain == "no" for one in ways):
        yield mistake(f"{place}, explain_words", 'explain = "before" or "after" beside it', '"no"', "set one of them")


def _frames(place: str, study: Study, variants: Sequence[RaterVariant]) -> Iterator[StudyProblem]:
    """Yield that pictures in the place of what moves are asked for where nothing does."""
    kinds = (study.outputs.kind, study.outputs.item_kind)
    moving = [one for one in map(medium_of, kinds) if one.files and one.files.models and one.files.models.frames]
    if not moving and any(one.protocol.frames_per_second is not None for one in variants):
        named = ", ".join(medium.many for medium, models in sent_media() if models.frames is not None)
        got = medium_of(study.outputs.kind).many
        yield mistake(f"{place}, frames_per_second", f"a study of {named}", got, "remove the key", "outputs")


def _cached(place: str, rater: Rater, variants: Sequence[RaterVariant]) -> Iterator[StudyProblem]:
    """Yield what keeps answers from a cache."""
    if rater.cache is None:
        if rater.cache_sampled:
            yield mistake(f"{place}, cache_sampled", "cache beside it", "none", "name the file, or remove the key")
        return
    if in_batches(rater) or vendor_of(rater).on_this_machine:
        yield mistake(f"{place}, cache", "none in batches and with models on this machine", "one", "remove it")
    elif not any(may_be_cached(one.protocol, sampled=rater.cache_sampled) for one in variants):
        got = "no temperature of 0, or repeats" if rater.cache_sampled is False else "repeats without a seed"
        do = "set temperature = 0, or cache_sampled = true (repeats: and a seed)"
        yield mistake(f"{place}, cache", "a rater that answers the same request alike", got, do)


def _sent_beside(place: str, rater: Rater) -> Iterator[StudyProblem]:
    for table in ("headers", "query"):
        for name, value in getattr(rater, table).items():
            if (SECRET.search(name) or value.startswith("env:")) and FROM_ENVIRONMENT.fullmatch(value) is None:
                expected = '"env:NAME", NAME being the environment variable that holds the secret'
                yield mistake(f"{place}, {table}.{name}", expected, "another text", "no secret stands in a study file")


def _endpoint_takes(place: str, rater: Rater, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    vendor = vendor_of(rater)
    yield from vendor.problems(place, protocol)
    for key, expected in vendor.refused_keys.items():
        if (value := getattr(protocol, key)) is not None:
            do = f'remove it, or set provider = "{provider_with(key)}"'
            yield mistake(f"{place}, {key}", expected, quote(value), do)
    if protocol.max_tokens is not None and protocol.max_completion_tokens is not None:
        yield mistake(f"{place}, max_tokens", "one limit", "max_tokens and max_completion_tokens", "remove one of them")
    for name in (name for name in vendor.own_keys if name in (protocol.extra_body or {})):
        yield mistake(f"{place}, extra_body.{name}", "none: keys of the rater decide about it", "one", "remove it")
    if in_batches(rater) and protocol.conversation in CONTINUED:
        expected = 'conversation = "form", "page_alone" or "question": a batch file has no second turn'
        yield mistake(f"{place}, conversation", expected, quote(protocol.conversation), "set one of them")
    if in_batches(rater) and protocol.reasoned:
        expected = 'explain = "no" with readout = "logit" in batches, which have no second turn'
        yield mistake(f"{place}, explain", expected, '"before"', "set it, or ask without batches")


def _check_protocol(study: Study, place: str, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    if protocol.answer_format == "text" and protocol.conversation not in ONE_QUESTION:
        got = f'conversation = "{protocol.conversation}"'
        expected = 'conversation = "question" or "page_questions" with free text'
        yield mistake(f"{place}, answer_format", expected, got, "set one of them")
    needing = [key for key, section in study.sections.items() if section.needs_earlier_pages()]
    if protocol.conversation == "page_alone" and needing:
        expected = f"another beside [{needing[0]}], whose pages ask about what earlier ones show"
        do = 'set "form", "page", "page_questions" or "question", or reading = "with_questions"'
        yield mistake(f"{place}, conversation", expected, '"page_alone"', do, needing[0])
    if protocol.reading != "strict" and protocol.answer_format != "text":
        got = f'answer_format = "{protocol.answer_format}"'
        yield mistake(f"{place}, reading", f'answer_format = "text" with {protocol.reading}', got, "set it")
    if protocol.readout == "logit" and (protocol.conversation, protocol.answer_format) != ("question", "text"):
        got = f'conversation = "{protocol.conversation}", answer_format = "{protocol.answer_format}"'
        yield mistake(f"{place}, readout", 'conversation = "question" and answer_format = "text"', got, "set both")
    for section in study.sections.values():
        if protocol.readout == "logit" and section.unread is not None:
            expected = f'"verbalised" beside [{section.key}], as {section.unread}'
            yield mistake(f"{place}, readout", expected, '"logit"', "remove it", section.key)
    if protocol.readout == "logit" and protocol.explain == "after":
        expected = 'explain = "no" or "before": nothing is said after probabilities are read'
        yield mistake(f"{place}, explain", expected, '"after"', "set one of them")
    if protocol.readout == "logit" and not protocol.reasoned and protocol.repeats > 1:
        got = f"repeats = {protocol.repeats}"
        yield mistake(f"{place}, repeats", "1 with probabilities, which are the same each time", got, "remove the key")
    known = [*(criterion.id for criterion in study.criteria), OVERALL]
    for name in dict(protocol.guidelines) if isinstance(protocol.guidelines, tuple) else ():
        if name not in known:
            yield mistake(
                f"{place}, guidelines", "the id of a criterion", quote(name), nearest(name, known), "criteria"
            )
    if protocol.reference is not None:
        yield from unfit_system(study, f"{place}, reference", protocol.reference, role="any")


def people_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about people and their groups."""
    people = study.people
    yield from repeated("[[people.groups]] name", [group.name for group in people.groups])
    for group in people.groups:
        yield from _group(study, group)
    yield from _shared_values(study)
    planned = sum(group.places for group in people.groups)
    if planned > people.annotators:
        got = f"{planned} places and annotators = {people.annotators}"
        yield mistake("[[people.groups]] places", "no more places than annotators", got, "change one of them")
    most = people.end_after_failed_checks
    if most is not None and most > len(study.attention_checks):
        got = f"{most}, and {len(study.attention_checks)} attention checks"
        place = "[people] end_after_failed_checks"
        yield mistake(place, "at most the number of [[attention_checks]]", got, "lower it", "attention_checks")
    if (people.family is None) != (people.family_store is None):
        given, absent = ("family", "family_store") if people.family_store is None else ("family_store", "family")
        yield mistake(f"[people] {given}", f"{absent} beside it", "none", f"add {absent}, or remove {given}")
    if people.per_assignment > people.annotators:
        got = f"{people.per_assignment} of {people.annotators} annotators"
        yield mistake("[people] per_assignment", "at most the number of annotators", got, "change one of them")


def _group(study: Study, group: PeopleGroup) -> Iterator[StudyProblem]:
    place = f"[[people.groups]] {group.name}"
    if (group.screening is None) == (group.parameter is None):
        got = "none" if group.screening is None else "both"
        yield mistake(place, "screening or parameter", got, "set one of them to say who belongs to the group")
        return
    yield from repeated(f"{place}, values", group.values)
    if group.screening is None:
        return
    questions = {question.id: question for question in study.screening}
    if group.screening not in questions:
        do = nearest(group.screening, list(questions)) if questions else "add that question"
        yield mistake(
            f"{place}, screening", "the id of a [[screening]] question", quote(group.screening), do, "screening"
        )
        return
    question = questions[group.screening]
    for value in group.values:
        if value not in question.eligible:
            expected = f"one of the eligible answers of {question.id} ({', '.join(question.eligible)})"
            yield mistake(f"{place}, values", expected, quote(value), "correct the value", "screening")


def _shared_values(study: Study) -> Iterator[StudyProblem]:
    """Yield a problem where one answer, or one link, would put a person into two groups."""
    seen: dict[tuple[str | None, str | None, str], str] = {}
    for group in study.people.groups:
        for value in group.values:
            key = (group.screening, group.parameter, value)
            if key in seen and seen[key] != group.name:
                got = f"{quote(value)} in {seen[key]} and {group.name}"
                yield mistake("[[people.groups]] values", "each value in one group", got, "remove one of them")
            seen.setdefault(key, group.name)
    kinds = {(group.screening, group.parameter) for group in study.people.groups}
    if len(kinds) > 1:
        got = f"{len(kinds)} questions and parameters"
        yield mistake(
            "[[people.groups]]", "one question or one parameter for all groups", got, "group people by one of them"
        )
