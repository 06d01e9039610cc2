"""Checks what the tables of a study file must mean together, once each of them can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from typing import get_args

from spa.study.annotator_validation import panel_problems, people_problems, rater_problems
from spa.study.problems import StudyProblem, mistake, nearest, quote, repeated, unfit_system
from spa.study.rating_validation import RATINGS, rating_problems
from spa.study.stopping import (
    deciding_answers,
    deciding_criteria,
    deciding_elicitation,
    kinds_asked,
    late_answers_kept,
    planned_annotators,
    ranks_systems,
)
from spa.study.study import OVERALL, Elicitation, Study, Words


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
        _ranking,
        _criteria,
        _section_criteria,
        rating_problems,
        _answers,
        _text_tables,
        _expected,
        _stopping,
        people_problems,
        panel_problems,
        rater_problems,
    )
    return [finding for check in checks for finding in check(study)]


def shipped_languages() -> tuple[str, ...]:
    """Return the languages that have a locale file."""
    files = resources.files("spa.forms").joinpath("locales").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def _language(study: Study) -> Iterator[StudyProblem]:
    known = shipped_languages()
    if study.language.split("-")[0] not in known and not study.texts:
        do = "write the nearest of these and replace its words in [texts], or give all words there"
        yield mistake("language", f"one of {', '.join(known)}", quote(study.language), do, "texts")


def _unique_ids(study: Study) -> Iterator[StudyProblem]:
    for table in ("systems", "criteria", "screening", "attention_checks", "interview", "raters"):
        yield from repeated(f"[[{table}]] id", [one.id for one in getattr(study, table)])
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
            expected = "the id or name of a system"
            yield mistake("allowed_names", expected, quote(name), nearest(name, known), "systems")


def _outputs(study: Study) -> Iterator[StudyProblem]:
    outputs = study.outputs
    if outputs.match_length_of is not None:
        place = "[outputs] match_length_of"
        yield from unfit_system(study, place, outputs.match_length_of, role="any")
        if outputs.kind == "image":
            yield mistake(place, "text outputs", "images", "remove the key")
    columns = (outputs.item,) if isinstance(outputs.item, str) else outputs.item
    yield from repeated("[outputs] item", columns)
    yield from repeated("[outputs] files", [str(file) for file in outputs.files])
    if outputs.item_name is not None and outputs.item_text is None:
        yield mistake(
            "[outputs] item_name", "[outputs] item_text to name", "none", "name that column or remove the key"
        )
    if outputs.item_name is not None and "form.item_caption" in study.texts:
        do = "remove one of them"
        yield mistake("[outputs] item_name", 'no [texts] "form.item_caption" beside it', "both", do, "texts")
    taken = (*columns, outputs.sample, outputs.item_text)
    for system in study.systems:
        if outputs.layout == "wide" and system.id in taken:
            got = f"{quote(system.id)} for a system and for item, sample or item_text"
            yield mistake("[outputs] layout", "a column of its own for each", got, "rename one", "systems")


def _filters(study: Study) -> Iterator[StudyProblem]:
    for number, condition in enumerate(study.outputs.filters, start=1):
        place = f"[[outputs.filters]] {number}"
        if condition.field == "item_text" and study.outputs.item_text is None:
            yield mistake(place, "[outputs] item_text", "none", 'name that column, or set field = "output"')
        if condition.field == "output" and study.outputs.kind == "image":
            yield mistake(place, "text outputs", "images", 'set field = "item_text" or remove the filter')
        if not condition.model_dump(exclude={"field"}, exclude_defaults=True):
            yield mistake(place, "a condition such as min_characters = 1", "none", "add one or remove the filter")
        for unit, least, most in (
            ("words", condition.min_words, condition.max_words),
            ("characters", condition.min_characters, condition.max_characters),
        ):
            if least is not None and most is not None and least > most:
                yield mistake(place, f"min_{unit} at most max_{unit}", f"{least} and {most}", "swap them")


def _systems(study: Study) -> Iterator[StudyProblem]:
    compares = study.spa is not None or study.choices is not None or study.ranking is not None
    least = 2 if compares else 1  # what is only rated may come from one system
    if len(study.compared) < least:
        do = "add systems or change a role"
        expected = f"at least {least} that {'are' if compares else 'is'} no reference"
        yield mistake("[[systems]]", expected, str(len(study.compared)), do)
    tables = get_args(Elicitation)
    if all(getattr(study, table) is None for table in tables):
        expected = f"at least one of {', '.join(f'[{table}]' for table in tables)}"
        yield StudyProblem(tables, f"nothing is asked: expected {expected}, got none; add [spa]")


def _spa(study: Study) -> Iterator[StudyProblem]:
    if study.spa is not None and study.spa.exposure_study is None:
        yield from _pairs(study, "[spa]", study.spa.comparisons, study.spa.baseline)


def _choices(study: Study) -> Iterator[StudyProblem]:
    if study.choices is not None:
        if study.spa is not None and not study.spa.same_items:
            got = "false, which shows no item twice"
            yield mistake(
                "[spa] same_items", "true beside [choices]", got, "set it to true or leave out one", "choices"
            )
        if study.deals_pairs:
            place = "[choices] per_annotator"
            alone = study.spa is None and study.ranking is None and not study.rating_tables
            if not alone or "outputs" in study.choices.model_fields_set:
                got = "outputs" if alone else "another section"
                yield mistake(
                    place, "no [spa], [ranking], rating section or outputs beside it", got, "remove it", "spa", *RATINGS
                )
        yield from _pairs(study, "[choices]", study.choices.comparisons, study.choices.baseline)


def _ranking(study: Study) -> Iterator[StudyProblem]:
    if study.ranking is None:
        return
    size, most = study.ranking.size, len(study.compared)
    if size is not None and size > most:
        yield mistake("[ranking] size", f"at most the {most} systems", str(size), "lower it or remove it", "systems")
    if study.spa is not None and study.spa.exposure_study is not None:
        yield mistake("[spa.exposure_study]", "no [ranking] beside it", "one", "leave out one", "ranking")
    elif study.spa is not None and not study.spa.same_items:
        got = "false, which shows no item twice"
        yield mistake("[spa] same_items", "true beside [ranking]", got, "set it to true or leave out one", "ranking")
    if study.stopping.rule == "when_decided" and (study.spa or study.choices):
        place, got = '[stopping] rule = "when_decided"', "[spa]" if study.spa else "[choices]"
        yield mistake(place, "[ranking] without [spa] or [choices]", got, "leave out one", "ranking", "spa", "choices")


def _pairs(study: Study, table: str, comparisons: object, baseline: str | None) -> Iterator[StudyProblem]:
    if baseline is not None:
        yield from unfit_system(study, f"{table} baseline", baseline)
        if comparisons != "baseline":
            yield mistake(f"{table} baseline", 'none unless comparisons = "baseline"', quote(baseline), "remove it")
    elif comparisons == "baseline":
        yield mistake(f"{table} baseline", 'a system, as comparisons = "baseline"', "none", 'add baseline = "..."')
    if not isinstance(comparisons, tuple):
        return
    if not comparisons:
        yield mistake(f"{table} comparisons", "at least one pair", "[]", 'add pairs, or write "all"')
    seen: set[frozenset[str]] = set()
    for number, (system_x, system_y) in enumerate(comparisons, start=1):
        place = f"{table} comparisons, entry {number}"
        for system in dict.fromkeys((system_x, system_y)):
            yield from unfit_system(study, place, system)
        if system_x == system_y:
            yield mistake(place, "two systems", f"{quote(system_x)} against itself", "change one")
        if frozenset((system_x, system_y)) in seen:
            do = "remove it ([spa] directions says whether both directions are asked)"
            yield mistake(place, "each pair once", f"{quote([system_x, system_y])} twice", do)
        seen.add(frozenset((system_x, system_y)))


def _exposure_study(study: Study) -> Iterator[StudyProblem]:
    if study.spa is None or (two := study.spa.exposure_study) is None:
        return
    place = "[spa.exposure_study]"
    yield from unfit_system(study, f"{place} system_x", two.system_x)
    if two.system_x == two.system_y:
        yield mistake(f"{place} system_y", "another system than system_x", quote(two.system_y), "change one")
    else:
        yield from unfit_system(study, f"{place} system_y", two.system_y)
    yield from repeated(f"{place} exposures", two.exposures)
    for key in ("exposure", "comparisons", "baseline", "same_items", "reading"):
        if key in study.spa.model_fields_set:
            yield mistake(f"[spa] {key}", f"none beside {place}, which settles it", "one", "remove it")


def _criteria(study: Study) -> Iterator[StudyProblem]:
    for criterion in study.criteria:
        place = f"[[criteria]] {criterion.id}"
        if criterion.id == OVERALL:
            yield mistake(
                f"{place}, id", "another name", f"{quote(OVERALL)}, reserved for the overall question", "rename it"
            )
        if len(criterion.options) == 1:
            yield mistake(f"{place}, options", "at least 2", "1", "add another")
        for option in criterion.options:
            if option.score is None:
                yield mistake(
                    f"{place}, options", "a score for each", f"none for {quote(option.text)}", "add score = ..."
                )
        for key in ("against_source", "mark_differences"):
            if getattr(criterion, key) and study.outputs.item_text is None:
                do = "name the column with the source texts in [outputs] item_text"
                yield mistake(f"{place}, {key}", "[outputs] item_text to compare with", "none", do, "outputs")
        if criterion.mark_differences and study.outputs.kind == "image":
            yield mistake(f"{place}, mark_differences", "text outputs", "images", "set it to false", "outputs")


def _section_criteria(study: Study) -> Iterator[StudyProblem]:
    known = {criterion.id: criterion for criterion in study.criteria}
    for table in get_args(Elicitation):
        section = getattr(study, table)
        if section is None:
            continue
        place = f"[{table}] criteria"
        yield from repeated(place, section.criteria or ())
        for name in section.criteria or ():
            if name == OVERALL:
                do = "remove it" if table == "categories" else "remove it and set overall = true"
                yield mistake(place, "criteria", quote(OVERALL), do)
            elif name not in known:
                yield mistake(place, "the id of a criterion", quote(name), nearest(name, list(known)), "criteria")
            elif table == "categories" and not known[name].options:
                do = "give it options, or ask it in another section"
                yield mistake(place, "criteria with options", f"{quote(name)} without", do, "criteria")
            elif table != "categories" and known[name].options:
                yield mistake(
                    place, "criteria without options", f"{quote(name)} with", "ask it in [categories]", "criteria"
                )
        if not study.criteria_of(table):
            do = "give a criterion options" if table == "categories" else "set overall = true or name criteria"
            yield mistake(f"[{table}]", "something to ask", "no criterion", do, "criteria")


def _answers(study: Study) -> Iterator[StudyProblem]:
    for question in study.screening:
        place = f"[[screening]] {question.id}, eligible"
        for answer in question.eligible:
            if answer not in question.options:
                yield mistake(place, "one of the options", quote(answer), nearest(answer, question.options))
    for check in study.attention_checks:
        if check.expected not in check.options:
            place = f"[[attention_checks]] {check.id}, expected"
            yield mistake(place, "one of the options", quote(check.expected), nearest(check.expected, check.options))


def _text_tables(study: Study) -> Iterator[StudyProblem]:
    for name in ("instructions", "consent", "debriefing"):
        words: Words = getattr(study, name)
        if words.text is not None and not words.text.strip():
            yield mistake(f"[{name}] text", "words", "nothing to read", "write some or remove the key")
    if study.people.forget_after_days is not None and study.consent.text is None:
        place, expected = "[people] forget_after_days", "a consent page that says so"
        yield mistake(place, expected, "no [consent]", "write its text or file, or remove the key", "consent")


def _stopping(study: Study) -> Iterator[StudyProblem]:
    """Yield what a live study cannot do: it compares systems by one kind of answer, one annotator at a time."""
    given = study.stopping
    if given.rule == "fixed":
        for key in sorted(given.model_fields_set - {"rule"}):
            yield mistake(
                f"[stopping] {key}", 'rule = "when_decided" beside it', '"fixed"', "set the rule or remove the key"
            )
        return
    place = '[stopping] rule = "when_decided"'
    asked = kinds_asked(study)
    if not asked or len(study.compared) < 2:
        expected = "[spa], [choices], [ranking], [likert], [continuous], or [spans] with a score, of two systems"
        found = ", ".join(f"[{table}]" for table in get_args(Elicitation) if study.criteria_of(table))
        yield mistake(place, expected, found if len(study.compared) > 1 else "one system", "add one or remove the rule")
        return
    if given.answers is not None and given.answers not in asked:
        yield mistake(
            "[stopping] answers", " or ".join(quote(kind) for kind in asked), quote(given.answers), "change it"
        )
        return
    criteria = study.criteria_of(deciding_elicitation(study))
    for name in given.criteria or ():
        if name not in criteria:
            yield mistake("[stopping] criteria", " or ".join(map(quote, criteria)), quote(name), "change it")
    if given.freed == "open_pairs" and not (deciding_answers(study) == "choices" and study.deals_pairs):
        do = 'set [choices] per_annotator, or freed = "shorter": nobody is asked about the same pair twice'
        yield mistake("[stopping] freed", '"shorter" unless pairs are dealt', '"open_pairs"', do, "choices")
    yield from _systems_ranked(study)
    if given.counted == "begun":
        yield from late_answers_kept(study)
    most = planned_annotators(study)
    if given.least > most:
        yield mistake(
            "[stopping] least", f"at most {most}, the most annotators", str(given.least), "lower it or raise most"
        )
    if study.people.per_assignment > 1 or study.people.sessions > 1:
        do = "set both to 1: the next form depends on the answers before it"
        yield mistake(place, "[people] per_assignment = 1 and sessions = 1", "more", do)


def _systems_ranked(study: Study) -> Iterator[StudyProblem]:
    """Yield what keeps a live study from ranking systems: it draws each form's pairs by the answers before."""
    given, place = study.stopping, f"[stopping] {'order' if study.stopping.order else 'top'}"
    if not ranks_systems(study):
        if "epsilon" in given.model_fields_set:
            yield mistake("[stopping] epsilon", "top or order beside it", "none", "set one or remove it")
        return
    if given.order and given.top is not None:
        yield mistake(place, "no top beside it", str(given.top), "remove one: an order tells the best few too")
    if deciding_answers(study) != "choices" or not study.deals_pairs:
        do = "only dealt pairs can be chosen by the answers before"
        yield mistake(place, "[choices] per_annotator, and choices that decide", "another design", do, "choices")
    elif len(deciding_criteria(study)) > 1:
        yield mistake(place, "one criterion", "several", "name it in [stopping] criteria")
    if given.top is not None and given.top >= len(study.compared):
        yield mistake(place, f"less than the {len(study.compared)} systems", str(given.top), "lower it", "systems")
    if study.outputs.sample is not None:
        yield mistake(place, "one output of each system and item", "[outputs] sample", "remove that key", "outputs")
    if study.choices is not None and (study.choices.comparisons or "all") != "all":
        yield mistake(
            place, 'comparisons = "all"', "another choice of pairs", "remove [choices] comparisons", "choices"
        )


def _expected(study: Study) -> Iterator[StudyProblem]:
    ids = [system.id for system in study.compared]
    seen: set[frozenset[str]] = set()
    for number, text in enumerate(study.analysis.expected, start=1):
        place = f"[analysis] expected, entry {number}"
        parsed = parse_expected(text, ids)
        if parsed is None:
            expected = '"x > y" (x is preferred) or "x ~ y" (no difference)'
            yield mistake(place, expected, quote(text), "correct it")
            continue
        pair = frozenset((parsed[0], parsed[2]))
        for system in sorted(pair):
            yield from unfit_system(study, place, system)
        if len(pair) == 1 or pair in seen:
            yield mistake(place, "two systems, each pair once", quote(text), "remove it")
        seen.add(pair)


def parse_expected(text: str, known: Sequence[str]) -> tuple[str, str, str] | None:
    """Read "x > y" or "x ~ y" as (system_x, sign, system_y); ``None`` where it is neither.

    >>> parse_expected("human > gpt", ["human", "gpt"])
    ('human', '>', 'gpt')
    >>> parse_expected("human < gpt", ["human", "gpt"])
    """
    splits = [(text[: m.start()].strip(), m.group(), text[m.end() :].strip()) for m in re.finditer("[>~]", text)]
    splits = [split for split in splits if split[0] and split[2]]
    known_ones = [split for split in splits if split[0] in known and split[2] in known]
    return next(iter([*known_ones, *splits]), None)
