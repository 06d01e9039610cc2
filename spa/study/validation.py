"""What the tables of a study file must mean together: outputs, systems, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from typing import get_args

from pydantic import ValidationError

from spa.study.findings import StudyProblem, find, repeated, unfit_system
from spa.study.people_checks import panel_checks, people_checks
from spa.study.question_checks import question_checks
from spa.study.raters import FROM_ENVIRONMENT, OWN_KEYS, SECRET, Rater, RaterProtocol, rater_variants
from spa.study.schema_errors import nearest, shown
from spa.study.study import OVERALL, Elicitation, OutputFilter, Study

RESERVED_RATERS = ("human", "simulated")  # groups of annotators that are analysed apart


def validate_study(study: Study) -> list[StudyProblem]:
    """Return every mistake between the tables of a study."""
    checks: tuple[Callable[[Study], Iterator[StudyProblem]], ...] = (
        _language,
        _unique_ids,
        _allowed_names,
        _outputs,
        _filters,
        _systems,
        _spa,
        _exposure_study,
        _choices,
        question_checks,
        people_checks,
        panel_checks,
        _raters,
    )
    return [finding for check in checks for finding in check(study)]


def languages() -> tuple[str, ...]:
    """Return the languages that have a locale file."""
    files = resources.files("spa.forms").joinpath("locales").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def _language(study: Study) -> Iterator[StudyProblem]:
    known = languages()
    if study.language.split("-")[0] not in known and not study.texts:
        do = "write the nearest of these and replace its words in [texts], or give all words there"
        yield find("language", f"one of {', '.join(known)}", shown(study.language), do, "texts")


def _unique_ids(study: Study) -> Iterator[StudyProblem]:
    yield from repeated("[[systems]] id", [one.id for one in study.systems])
    yield from repeated("[[criteria]] id", [one.id for one in study.criteria])
    yield from repeated("[[screening]] id", [one.id for one in study.screening])
    yield from repeated("[[attention_checks]] id", [one.id for one in study.attention_checks])
    yield from repeated("[[interview]] id", [one.id for one in study.interview])
    yield from repeated("[[raters]] id", [one.id for one in study.raters])
    for criterion in study.criteria:
        yield from repeated(f"[[criteria]] {criterion.id}, options", [option.text for option in criterion.options])
    for question in study.screening:
        yield from repeated(f"[[screening]] {question.id}, options", question.options)
    for check in study.attention_checks:
        yield from repeated(f"[[attention_checks]] {check.id}, options", check.options)


def _allowed_names(study: Study) -> Iterator[StudyProblem]:
    known = [name for one in study.systems for name in (one.id, one.name) if name]
    for name in study.allowed_names:
        if name not in known:
            wanted = "the id or name of a system"
            yield find("allowed_names", wanted, shown(name), nearest(name, known), "systems")


def _outputs(study: Study) -> Iterator[StudyProblem]:
    outputs = study.outputs
    if outputs.match_length_of is not None:
        place = "[outputs] match_length_of"
        yield from unfit_system(study, place, outputs.match_length_of, role="any")
        if outputs.kind == "image":
            yield find(place, "text outputs", "images", "remove the key")
    columns = (outputs.item,) if isinstance(outputs.item, str) else outputs.item
    yield from repeated("[outputs] item", columns)
    yield from repeated("[outputs] files", [str(file) for file in outputs.files])
    taken = (*columns, outputs.sample, outputs.item_text)
    for system in study.systems:
        if outputs.layout == "wide" and system.id in taken:
            got = f"{shown(system.id)} for a system and for item, sample or item_text"
            yield find("[outputs] layout", "a column of its own for each", got, "rename one", "systems")


def _filters(study: Study) -> Iterator[StudyProblem]:
    for number, condition in enumerate(study.outputs.filters, start=1):
        yield from _filter(study, f"[[outputs.filters]] {number}", condition)


def _filter(study: Study, place: str, condition: OutputFilter) -> Iterator[StudyProblem]:
    if condition.field == "item_text" and study.outputs.item_text is None:
        yield find(place, "[outputs] item_text", "none", 'name that column, or set field = "output"')
    if condition.field == "output" and study.outputs.kind == "image":
        yield find(place, "text outputs", "images", 'set field = "item_text" or remove the filter')
    if not condition.model_dump(exclude={"field"}, exclude_defaults=True):
        yield find(place, "a condition such as min_characters = 1", "none", "add one or remove the filter")
    for unit, least, most in (
        ("words", condition.min_words, condition.max_words),
        ("characters", condition.min_characters, condition.max_characters),
    ):
        if least is not None and most is not None and least > most:
            yield find(place, f"min_{unit} at most max_{unit}", f"{least} and {most}", "swap them")


def _systems(study: Study) -> Iterator[StudyProblem]:
    compares = study.spa is not None or study.choices is not None
    least = 2 if compares else 1  # what is only rated may come from one system
    if len(study.compared) < least:
        do = "add systems or change a role"
        wanted = f"at least {least} that {'are' if compares else 'is'} no reference"
        yield find("[[systems]]", wanted, str(len(study.compared)), do)
    tables = get_args(Elicitation)
    if all(getattr(study, table) is None for table in tables):
        wanted = "at least one of [spa], [likert], [continuous], [categories], [choices]"
        yield StudyProblem(tables, f"nothing is asked: expected {wanted}, found none; add [spa]")


def _spa(study: Study) -> Iterator[StudyProblem]:
    if study.spa is not None and study.spa.exposure_study is None:
        yield from _pairs(study, "[spa]", study.spa.comparisons, study.spa.baseline)


def _choices(study: Study) -> Iterator[StudyProblem]:
    if study.choices is not None:
        if study.spa is not None and not study.spa.same_items:
            got = "false, which shows no item twice"
            yield find("[spa] same_items", "true beside [choices]", got, "set it to true or leave out one", "choices")
        yield from _pairs(study, "[choices]", study.choices.comparisons, study.choices.baseline)


def _pairs(study: Study, table: str, comparisons: object, baseline: str | None) -> Iterator[StudyProblem]:
    if baseline is not None:
        yield from unfit_system(study, f"{table} baseline", baseline)
        if comparisons != "baseline":
            yield find(f"{table} baseline", 'none unless comparisons = "baseline"', shown(baseline), "remove it")
    elif comparisons == "baseline":
        yield find(f"{table} baseline", 'a system, as comparisons = "baseline"', "none", 'add baseline = "..."')
    if not isinstance(comparisons, tuple):
        return
    if not comparisons:
        yield find(f"{table} comparisons", "at least one pair", "[]", 'add pairs, or write "all"')
    seen: set[frozenset[str]] = set()
    for number, (system_x, system_y) in enumerate(comparisons, start=1):
        place = f"{table} comparisons, entry {number}"
        for system in dict.fromkeys((system_x, system_y)):
            yield from unfit_system(study, place, system)
        if system_x == system_y:
            yield find(place, "two systems", f"{shown(system_x)} against itself", "change one")
        if frozenset((system_x, system_y)) in seen:
            do = "remove it ([spa] directions says whether both directions are asked)"
            yield find(place, "each pair once", f"{shown([system_x, system_y])} again", do)
        seen.add(frozenset((system_x, system_y)))


def _exposure_study(study: Study) -> Iterator[StudyProblem]:
    if study.spa is None or (two := study.spa.exposure_study) is None:
        return
    place = "[spa.exposure_study]"
    yield from unfit_system(study, f"{place} system_x", two.system_x)
    if two.system_x == two.system_y:
        yield find(f"{place} system_y", "another system than system_x", shown(two.system_y), "change one")
    else:
        yield from unfit_system(study, f"{place} system_y", two.system_y)
    yield from repeated(f"{place} exposures", two.exposures)
    for key in ("exposure", "comparisons", "baseline", "same_items", "reading"):
        if key in study.spa.model_fields_set:
            yield find(f"[spa] {key}", f"none beside {place}, which settles it", "one", "remove it")


def _raters(study: Study) -> Iterator[StudyProblem]:
    for rater in study.raters:
        place = f"[[raters]] {rater.id}"
        if rater.id in RESERVED_RATERS:
            yield find("[[raters]] id", "another name", f"{shown(rater.id)}, a group of annotators", "rename it")
        try:
            ways = rater_variants(rater)
        except ValidationError as error:
            told = error.errors()[0]
            key = ".".join(str(part) for part in told["loc"])
            yield find(f"{place} grid", f"values that {key} takes", shown(told["input"]), told["msg"].lower())
            continue
        yield from _sent_beside(place, rater)
        yield from repeated(f"{place}, variants", [asked.variant for asked in ways if asked.variant is not None])
        for asked in ways:
            named = f"{place} {asked.variant or ''}".strip()
            if rater.provider == "local" and asked.protocol.answer_format == "schema":
                wanted = '"json" or "text": a model on this machine cannot be held to a schema'
                yield find(f"{named}, answer_format", wanted, '"schema"', "set one of them")
            yield from _endpoint_takes(named, rater, asked.protocol)
            yield from _check_protocol(study, named, asked.protocol)


def _sent_beside(place: str, rater: Rater) -> Iterator[StudyProblem]:
    for table in ("headers", "query"):
        for name, value in getattr(rater, table).items():
            if (SECRET.search(name) or value.startswith("env:")) and FROM_ENVIRONMENT.fullmatch(value) is None:
                wanted = '"env:NAME", NAME being the environment variable that holds the secret'
                yield find(f"{place}, {table}.{name}", wanted, "another text", "no secret stands in a study file")


def _endpoint_takes(place: str, rater: Rater, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    if rater.provider == "responses" and protocol.seed is not None:
        wanted = "no seed: the Responses API takes none"
        yield find(f"{place}, seed", wanted, str(protocol.seed), 'remove it, or set provider = "chat"')
    if protocol.max_tokens is not None and protocol.max_completion_tokens is not None:
        yield find(f"{place}, max_tokens", "one limit", "max_tokens and max_completion_tokens", "remove one of them")
    for name in (name for name in OWN_KEYS if name in (protocol.extra_body or {})):
        yield find(f"{place}, extra_body.{name}", "none: keys of the rater decide about it", "one", "remove it")
    for key in ("max_completion_tokens", "reasoning_effort", "extra_body"):
        if rater.provider == "local" and getattr(protocol, key) is not None:
            wanted = 'none with provider = "local": it is for endpoints over HTTP'
            yield find(f"{place}, {key}", wanted, shown(getattr(protocol, key)), "remove it")
    if rater.provider == "batch" and protocol.conversation == "page":
        wanted = 'conversation = "form" or "question": a batch file has no second turn'
        yield find(f"{place}, conversation", wanted, '"page"', "set one of them")


def _check_protocol(study: Study, place: str, protocol: RaterProtocol) -> Iterator[StudyProblem]:
    if protocol.answer_format == "text" and protocol.conversation != "question":
        got = f'conversation = "{protocol.conversation}"'
        yield find(f"{place}, answer_format", 'conversation = "question" with free text', got, "set it")
    if protocol.reading != "strict" and protocol.answer_format != "text":
        got = f'answer_format = "{protocol.answer_format}"'
        yield find(f"{place}, reading", f'answer_format = "text" with {protocol.reading}', got, "set it")
    if protocol.readout == "logit" and (protocol.conversation, protocol.answer_format) != ("question", "text"):
        got = f'conversation = "{protocol.conversation}", answer_format = "{protocol.answer_format}"'
        yield find(f"{place}, readout", 'conversation = "question" and answer_format = "text"', got, "set both")
    if protocol.readout == "logit" and protocol.explain != "no":
        got = f'explain = "{protocol.explain}"'
        yield find(f"{place}, readout", 'explain = "no": nothing is said where probabilities are read', got, "set it")
    if protocol.readout == "logit" and protocol.repeats > 1:
        got = f"repeats = {protocol.repeats}"
        yield find(f"{place}, repeats", "1 with probabilities, which are the same each time", got, "remove the key")
    known = [*(criterion.id for criterion in study.criteria), OVERALL]
    for name in dict(protocol.guidelines) if isinstance(protocol.guidelines, tuple) else ():
        if name not in known:
            yield find(f"{place}, guidelines", "the id of a criterion", shown(name), nearest(name, known), "criteria")
    if protocol.reference is not None:
        yield from unfit_system(study, f"{place}, reference", protocol.reference, role="any")
