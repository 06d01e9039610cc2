"""Checks what the tables of a study file must mean together, once each of them can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from math import comb

from spa.elicitation import ways
from spa.elicitation.ratings import rating_problems
from spa.media import medium_of
from spa.records.covariates import control_column
from spa.records.problems import StudyProblem, mistake, nearest, quote, repeated, unfit_system
from spa.records.study import OVERALL, Section, Study, Words
from spa.records.system_roles import UNRANKED
from spa.study.annotator_validation import (
    example_problems,
    jury_problems,
    maker_problems,
    note_problems,
    people_problems,
    rater_problems,
)
from spa.study.answers_wanted import answers_wanted_problems
from spa.study.assigned_pages import assignment_problems
from spa.study.audit import audit_problems
from spa.study.rated_turns import turn_problems
from spa.study.replaced_marks import replacement_problems
from spa.study.stopping import (
    deciding_answers,
    deciding_criteria,
    deciding_section,
    deciding_sections,
    kinds_asked,
    late_answers_kept,
    planned_annotators,
    ranks_systems,
)


def validate_study(study: Study) -> list[StudyProblem]:
    """Return every mistake between the tables of a study."""
    checks: tuple[Callable[[Study], Iterator[StudyProblem]], ...] = (
        _language,
        _unique_ids,
        _allowed_names,
        _outputs,
        note_problems,
        _filters,
        replacement_problems,
        _systems,
        _criteria,
        _hidden_item_text,
        _sections,
        rating_problems,
        turn_problems,
        assignment_problems,
        _answers,
        _text_tables,
        _expected,
        _control,
        _people_columns,
        _stopping,
        people_problems,
        answers_wanted_problems,
        audit_problems,
        rater_problems,
        jury_problems,
        maker_problems,
        example_problems,
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
    for table in ("systems", "criteria", "screening", "attention_checks", "interview", "raters", "juries"):
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
        if not (medium := medium_of(outputs.kind)).is_text:
            yield mistake(place, "text outputs", medium.many, "remove the key")
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
        medium, given = medium_of(study.outputs.kind), medium_of(study.outputs.item_kind)
        if condition.field == "output" and not medium.has_words:
            yield mistake(place, "text outputs", medium.many, 'set field = "item_text" or remove the filter')
        if condition.field == "item_text" and not given.has_words:
            yield mistake(place, "item texts", given.many, 'set field = "output" or remove the filter')
        if not condition.model_dump(exclude={"field", "as_written"}, exclude_defaults=True):
            yield mistake(place, "a condition such as min_characters = 1", "none", "add one or remove the filter")
        for unit, least, most in (
            ("words", condition.min_words, condition.max_words),
            ("characters", condition.min_characters, condition.max_characters),
        ):
            if least is not None and most is not None and least > most:
                yield mistake(place, f"min_{unit} at most max_{unit}", f"{least} and {most}", "swap them")


HUNDRED = 100.0  # points of a continuous scale


def _unranked(study: Study) -> Iterator[StudyProblem]:
    """Yield what hidden references and anchors cannot do: they are rated, and in no comparison."""
    comparing = next((key for key, section in study.sections.items() if section.compares), None)
    for one in study.systems:
        place = f"[[systems]] {one.id}"
        if one.role in UNRANKED:
            if comparing is not None:
                expected = "sections that rate outputs alone"
                yield mistake(f'{place}, role = "{one.role}"', expected, f"[{comparing}]", "change the role", comparing)
            if study.stopping.rule != "fixed":
                expected = f'no [stopping] rule beside role = "{one.role}"'
                yield mistake(place, expected, quote(study.stopping.rule), "remove it", "stopping")
        if one.low_pass is not None and one.role != "anchor":
            yield mistake(f"{place}, low_pass", 'role = "anchor"', quote(one.role), "set it or remove the key")


def _post_screening(study: Study) -> Iterator[StudyProblem]:
    """Yield what BS.1534's rules lack: a hidden reference, rated from 0 to 100."""
    if "bs1534" not in study.analysis.post_screening:
        return
    place = "[analysis] post_screening, bs1534"
    if not any(one.role == "hidden_reference" for one in study.systems):
        yield mistake(place, 'a system of role "hidden_reference"', "none", "add one or remove the rule", "systems")
    widths = [study.sections[key].scale_width() for key in study.rating_tables]
    if wrong := next((width for width in widths if width != HUNDRED), None):
        yield mistake(place, "ratings from 0 to 100", f"a scale of {wrong:g} points", "remove the rule", "sections")


def _systems(study: Study) -> Iterator[StudyProblem]:
    compares = any(section.compares for section in study.sections.values())
    least = 2 if compares else 1  # what is only rated may come from one system
    if len(study.ranked) < least:
        do = "add systems or change a role"
        expected = f"at least {least} that {'are' if compares else 'is'} no reference"
        yield mistake("[[systems]]", expected, str(len(study.ranked)), do)
    yield from _unranked(study)
    yield from _post_screening(study)
    tables = tuple(ways())
    if not study.sections:
        expected = f"at least one of {', '.join(f'[{table}]' for table in tables)}"
        yield StudyProblem(tables, f"nothing is asked: expected {expected}, got none; add [{tables[0]}]")


def _sections(study: Study) -> Iterator[StudyProblem]:
    """Yield what each section means wrongly beside the others, and what it asks about."""
    most, single = study.items_per_annotator, study.single_outputs
    deciding = next((section for section in study.sections.values() if section.items_key), None)
    where = "[design] items" if deciding is None else f"[{deciding.key}] {deciding.items_key}"
    for key, section in study.sections.items():
        way = ways()[key]
        yield from way.problems(study, section)
        judged = section.judged()
        if isinstance(judged, int) and judged > most and not single:
            do = f'write "all" or raise {where}'
            expected = f"at most the {most} items that an annotator reads"
            yield mistake(f"[{way.key}] outputs", expected, str(judged), do, "sections", "design", "systems")
        yield from _section_criteria(study, section)


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
        for texts, kind in (("text outputs", study.outputs.kind), ("item texts", study.outputs.item_kind)):
            if criterion.mark_differences and not (medium := medium_of(kind)).is_text:
                yield mistake(f"{place}, mark_differences", texts, medium.many, "set it to false", "outputs")
                break


def _section_criteria(study: Study, section: Section) -> Iterator[StudyProblem]:
    known = {criterion.id: criterion for criterion in study.criteria}
    place = f"[{section.key}] criteria"
    named: tuple[str, ...] = getattr(section, "criteria", None) or ()
    yield from repeated(place, named)
    for name in named:
        if name == OVERALL:
            do = "remove it and set overall = true" if "overall" in type(section).model_fields else "remove it"
            yield mistake(place, "criteria", quote(OVERALL), do)
        elif name not in known:
            yield mistake(place, "the id of a criterion", quote(name), nearest(name, list(known)), "criteria")
        elif not section.fits(bool(known[name].options)):
            options = bool(known[name].options)
            others = " or ".join(
                f"[{way.key}]" for way in ways().values() if way.settings.fits(True) and not way.settings.fits(False)
            )
            do = f"ask it in {others}" if options else "give it options, or ask it in another section"
            expected, got = ("without", "with") if options else ("with", "without")
            yield mistake(place, f"criteria {expected} options", f"{quote(name)} {got}", do, "criteria")
    if not section.asks(study):
        do = "set overall = true or name criteria" if section.fits(False) else "give a criterion options"
        yield mistake(f"[{section.key}]", "something to ask", "no criterion", do, "criteria")


def _hidden_item_text(study: Study) -> Iterator[StudyProblem]:
    hiding = [f"[{key}]" for key, section in study.sections.items() if not section.shows_item_text()]
    for criterion in study.criteria:
        place = f"[[criteria]] {criterion.id}"
        if criterion.show_item_text is not False:
            continue
        hiding.append(place)
        if criterion.against_source or criterion.mark_differences:
            key = "against_source" if criterion.against_source else "mark_differences"
            yield mistake(f"{place}, show_item_text", f"true beside {key}", "false", "remove one of them")
    if study.outputs.item_text is None:
        for place in hiding:
            do = "remove the key, or name the column in [outputs] item_text"
            yield mistake(f"{place}, show_item_text", "an item text to leave out", "none", do, "outputs")


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
    if "explain_sum" in study.instructions.model_fields_set:
        place = "[instructions] explain_sum"
        if study.instructions.text is not None:
            yield mistake(place, "the language's own instructions", "text or file beside it", "remove one of them")
        if not any(one.exposures() and one.asks_again() for one in study.sections.values()):
            expected = 'a section that asks for chances in both directions (directions = "both")'
            yield mistake(place, expected, "none", "remove the key", "sections")
    if study.people.forget_after_days is not None and study.consent.text is None:
        place, expected = "[people] forget_after_days", "a consent page that says so"
        yield mistake(place, expected, "no [consent]", "write its text or file, or remove the key", "consent")


def _control(study: Study) -> Iterator[StudyProblem]:
    place = "[analysis] control"
    yield from repeated(place, study.analysis.control)
    if study.analysis.control and not {"preferences", "choices"} & {*kinds_asked(study)}:
        yield mistake(place, "a section that compares systems", "none", "add one or remove the key", "spa")
    for control in study.analysis.control:
        column = control_column(control)
        if column is not None and study.outputs.layout == "wide":
            do = "write a row an output, or remove it"
            yield mistake(place, f'layout = "long" for {quote(control)}', '"wide"', do, "outputs")
        medium = medium_of(study.outputs.kind)
        if column is None and not medium.is_text:
            yield mistake(place, f"text outputs for {quote(control)}", medium.many, "name column:NAME", "outputs")


def _people_columns(study: Study) -> Iterator[StudyProblem]:
    place = "[analysis] compare_people_by"
    yield from repeated(place, study.analysis.compare_people_by)
    asked = {
        "screening": [one.id for one in study.screening],
        "interview": [one.id for one in study.interview],
    }
    for column in study.analysis.compare_people_by:
        table, sign, name = column.partition(":")
        known = asked.get(table, [])
        if sign and table in asked and name not in known:
            do = nearest(name, known) if known else "add it or remove the column"
            yield mistake(place, f"the id of an [[{table}]] question after {table}:", quote(name), do, table)


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
        found = ", ".join(f"[{table}]" for table in study.sections if study.criteria_of(table))
        expected = f"{deciding_sections()}, of two systems"
        yield mistake(place, expected, found if len(study.compared) > 1 else "one system", "add one or remove the rule")
        return
    if given.answers is not None and given.answers not in asked:
        yield mistake(
            "[stopping] answers", " or ".join(quote(kind) for kind in asked), quote(given.answers), "change it"
        )
        return
    yield from _deciding_alone(study, place)
    criteria = study.criteria_of(deciding_section(study).key)
    for name in given.criteria or ():
        if name not in criteria:
            yield mistake("[stopping] criteria", " or ".join(map(quote, criteria)), quote(name), "change it")
    if given.freed == "open_pairs" and not (deciding_answers(study) == "choices" and study.deals_pairs):
        do = 'deal pairs (per_annotator), or set freed = "shorter": nobody is asked about the same pair twice'
        yield mistake("[stopping] freed", '"shorter" unless pairs are dealt', '"open_pairs"', do, "sections")
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


def _deciding_alone(study: Study, place: str) -> Iterator[StudyProblem]:
    """Yield the sections beside which one that must decide alone cannot."""
    for key, section in study.sections.items():
        others = [other.key for other in study.sections.values() if other.compares and other is not section]
        if section.decides_alone and others:
            expected = f"[{key}] without another section that compares"
            yield mistake(place, expected, f"[{others[0]}]", "leave out one", key, *others)


def _systems_ranked(study: Study) -> Iterator[StudyProblem]:
    """Yield what keeps a live study from ranking systems: it draws each form's pairs by the answers before."""
    given, place = study.stopping, f"[stopping] {'order' if study.stopping.order else 'top'}"
    if not ranks_systems(study):
        if "tolerance" in given.model_fields_set:
            yield mistake("[stopping] tolerance", "top or order beside it", "none", "set one or remove it")
        return
    if given.order and given.top is not None:
        yield mistake(place, "no top beside it", str(given.top), "remove one: an order tells the best few too")
    if deciding_answers(study) != "choices" or not study.deals_pairs:
        do = "only dealt pairs can be chosen by the answers before"
        expected = "dealt pairs (per_annotator), and choices that decide"
        yield mistake(place, expected, "another design", do, "sections")
    elif len(deciding_criteria(study)) > 1:
        yield mistake(place, "one criterion", "several", "name it in [stopping] criteria")
    if given.top is not None and given.top >= len(study.compared):
        yield mistake(place, f"less than the {len(study.compared)} systems", str(given.top), "lower it", "systems")
    if study.outputs.sample is not None:
        yield mistake(place, "one output of each system and item", "[outputs] sample", "remove that key", "outputs")
    for key, section in study.sections.items():
        if section.dealt() is not None and len(section.pairs(study)) < comb(len(study.compared), 2):
            yield mistake(place, 'comparisons = "all"', "another choice of pairs", f"remove [{key}] comparisons", key)


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
