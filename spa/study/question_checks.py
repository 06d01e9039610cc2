"""What the questions of a study must mean: criteria, ratings, screening, checks, expected preferences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import get_args

from spa.study.findings import StudyProblem, find, repeated, unfit_system
from spa.study.schema_errors import nearest, shown
from spa.study.study import OVERALL, Criterion, Elicitation, RatingTable, Study, Words

RATINGS: tuple[RatingTable, ...] = get_args(RatingTable)


def question_checks(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about what is asked."""
    yield from _criteria(study)
    for table in get_args(Elicitation):
        yield from _asked(study, table)
    yield from _one_rating_each(study)
    yield from _shown_outputs(study)
    yield from _pages(study)
    yield from _single_outputs(study)
    yield from _hidden_item_text(study)
    yield from _identical_pairs(study)
    yield from _references(study)
    yield from _answers(study)
    yield from _words(study)
    yield from _expected(study)


def items_read(study: Study) -> int:
    """Return how many items one annotator meets, which is how many the study must have at least.

    Where single outputs are dealt, that is as many as if all systems answered them.
    """
    if study.single_outputs:
        return max(1, study.design.outputs // max(1, len(study.compared)))
    if study.spa is None:
        return study.design.items
    if study.spa.exposure_study is not None:
        return sum(study.spa.exposure_study.exposures)
    return study.spa.exposure * (1 if study.spa.same_items else len(study.compared))


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


def _criteria(study: Study) -> Iterator[StudyProblem]:
    for criterion in study.criteria:
        yield from _criterion(study, f"[[criteria]] {criterion.id}", criterion)


def _criterion(study: Study, place: str, criterion: Criterion) -> Iterator[StudyProblem]:
    if criterion.id == OVERALL:
        yield find(f"{place}, id", "another name", f"{shown(OVERALL)}, reserved for the overall question", "rename it")
    if len(criterion.options) == 1:
        yield find(f"{place}, options", "at least 2", "1", "add another")
    for option in criterion.options:
        if option.score is None:
            yield find(f"{place}, options", "a score for each", f"none for {shown(option.text)}", "add score = ...")
    for key in ("against_source", "mark_differences"):
        if getattr(criterion, key) and study.outputs.item_text is None:
            do = "name the column with the source texts in [outputs] item_text"
            yield find(f"{place}, {key}", "[outputs] item_text to compare with", "none", do, "outputs")
    if criterion.mark_differences and study.outputs.kind == "image":
        yield find(f"{place}, mark_differences", "text outputs", "images", "set it to false", "outputs")


def _asked(study: Study, table: Elicitation) -> Iterator[StudyProblem]:
    section = getattr(study, table)
    if section is None:
        return
    known = {criterion.id: criterion for criterion in study.criteria}
    place = f"[{table}] criteria"
    yield from repeated(place, section.criteria or ())
    for name in section.criteria or ():
        if name == OVERALL:
            do = "remove it" if table == "categories" else "remove it and set overall = true"
            yield find(place, "criteria", shown(OVERALL), do)
        elif name not in known:
            yield find(place, "the id of a criterion", shown(name), nearest(name, list(known)), "criteria")
        elif table == "categories" and not known[name].options:
            do = "give it options, or ask it in another section"
            yield find(place, "criteria with options", f"{shown(name)} without", do, "criteria")
        elif table != "categories" and known[name].options:
            yield find(place, "criteria without options", f"{shown(name)} with", "ask it in [categories]", "criteria")
    if not study.asked(table):
        do = "give a criterion options" if table == "categories" else "set overall = true or name criteria"
        yield find(f"[{table}]", "something to ask", "no criterion", do, "criteria")


def _one_rating_each(study: Study) -> Iterator[StudyProblem]:
    asked: dict[str, str] = {}
    for table in RATINGS:
        for criterion in study.asked(table):
            if criterion in asked:
                key = "overall = false" if criterion == OVERALL else "criteria = [...] without it"
                got = f"{shown(criterion)} in [{asked[criterion]}] too"
                do = f"set {key} in one of them"
                yield find(f"[{table}]", "each criterion rated in one way", got, do, asked[criterion], "criteria")
            asked.setdefault(criterion, table)


def _shown_outputs(study: Study) -> Iterator[StudyProblem]:
    most, single = items_read(study), study.single_outputs
    where = "[design] items" if study.spa is None else "[spa] exposure"
    for table in (*RATINGS, "choices"):
        section = getattr(study, table)
        if section is not None and isinstance(section.outputs, int) and section.outputs > most and not single:
            do = f'write "all" or raise {where}'
            wanted = f"at most the {most} items that an annotator reads"
            yield find(f"[{table}] outputs", wanted, str(section.outputs), do, "spa", "design", "systems")


def _pages(study: Study) -> Iterator[StudyProblem]:
    for table in study.rating_tables:
        section = getattr(study, table)
        host = section.same_page_as
        if host is None:
            continue
        place = f"[{table}] same_page_as"
        if host == table or getattr(study, host) is None or getattr(study, host).same_page_as is not None:
            do = "name another rating section, or remove the key"
            yield find(place, "a rating section with pages of its own", shown(host), do, host)
        for key in ("pages", "outputs", "order"):
            if key in section.model_fields_set:
                yield find(f"[{table}] {key}", f"none beside same_page_as, as [{host}] says it", "one", "remove it")


def _single_outputs(study: Study) -> Iterator[StudyProblem]:
    if not study.single_outputs:
        if "outputs" in study.design.model_fields_set:
            wanted = 'pages = "output" in every rating section, no [spa] and no [choices]'
            do = "put these right, or remove the key and say how many items"
            yield find("[design] outputs", wanted, "another design", do, *RATINGS, "spa", "choices")
        return
    if "items" in study.design.model_fields_set:
        wanted = 'outputs (how many outputs an annotator rates, as pages = "output")'
        yield find("[design] items", wanted, "items", "write outputs instead", *RATINGS)
    for table in study.rating_tables:
        section = getattr(study, table)
        if "outputs" in section.model_fields_set and section.outputs != "all":
            do = "remove it and say how many in [design] outputs"
            yield find(f"[{table}] outputs", '"all", as pages = "output"', shown(section.outputs), do)


def _hidden_item_text(study: Study) -> Iterator[StudyProblem]:
    hiding = [
        f"[{table}]" for table in (*RATINGS, "choices") if not getattr(getattr(study, table), "show_item_text", 1)
    ]
    for criterion in study.criteria:
        place = f"[[criteria]] {criterion.id}"
        if criterion.show_item_text is not False:
            continue
        hiding.append(place)
        if criterion.against_source or criterion.mark_differences:
            key = "against_source" if criterion.against_source else "mark_differences"
            yield find(f"{place}, show_item_text", f"true beside {key}", "false", "remove one of them")
        if criterion.id in study.asked("spa"):
            wanted = "none for a criterion of [spa], where the item text is read with the outputs"
            yield find(f"{place}, show_item_text", wanted, "false", "remove it, or the criterion from [spa]", "spa")
    if study.outputs.item_text is None:
        for place in hiding:
            do = "remove the key, or name the column in [outputs] item_text"
            yield find(f"{place}, show_item_text", "an item text to leave out", "none", do, "outputs")


def _identical_pairs(study: Study) -> Iterator[StudyProblem]:
    if study.likert is None or not study.likert.identical_pairs:
        return
    place = "[likert] identical_pairs"
    if study.outputs.item_text is None:
        do = "name the column with the source texts in [outputs] item_text"
        yield find(place, "[outputs] item_text as the source", "none", do, "outputs")
    if study.outputs.kind == "image":
        yield find(place, "text outputs", "images", "set it to 0", "outputs")
    against = [one.id for one in study.criteria if one.against_source and one.id in study.asked("likert")]
    if not against and study.outputs.item_text is not None:
        do = "set against_source on the criterion that asks about the source"
        yield find(place, "a criterion of [likert] with against_source = true", "none", do, "criteria")
    if study.likert.identical_pairs > items_read(study):
        wanted = f"at most the {items_read(study)} items that an annotator reads"
        yield find(place, wanted, str(study.likert.identical_pairs), "lower it", "spa", "design")


def _references(study: Study) -> Iterator[StudyProblem]:
    if study.continuous is None:
        return
    best, worst = study.continuous.best_reference, study.continuous.worst_reference
    if best is not None:
        yield from unfit_system(study, "[continuous] best_reference", best, role="reference")
    if worst is not None:
        yield from unfit_system(study, "[continuous] worst_reference", worst, role="reference")
        if best == worst:
            yield find("[continuous] worst_reference", "another than best_reference", shown(worst), "change one")


def _answers(study: Study) -> Iterator[StudyProblem]:
    for question in study.screening:
        place = f"[[screening]] {question.id}, eligible"
        for answer in question.eligible:
            if answer not in question.options:
                yield find(place, "one of the options", shown(answer), nearest(answer, question.options))
    for check in study.attention_checks:
        if check.expected not in check.options:
            place = f"[[attention_checks]] {check.id}, expected"
            yield find(place, "one of the options", shown(check.expected), nearest(check.expected, check.options))


def _words(study: Study) -> Iterator[StudyProblem]:
    for name in ("instructions", "consent", "debriefing"):
        words: Words = getattr(study, name)
        if words.text is not None and not words.text.strip():
            yield find(f"[{name}] text", "words", "nothing to read", "write some or remove the key")


def _expected(study: Study) -> Iterator[StudyProblem]:
    ids = [system.id for system in study.compared]
    seen: set[frozenset[str]] = set()
    for number, text in enumerate(study.analysis.expected, start=1):
        place = f"[analysis] expected, entry {number}"
        parsed = parse_expected(text, ids)
        if parsed is None:
            wanted = '"x > y" (x is preferred) or "x ~ y" (no difference)'
            yield find(place, wanted, shown(text), "put it right")
            continue
        pair = frozenset((parsed[0], parsed[2]))
        for system in sorted(pair):
            yield from unfit_system(study, place, system)
        if len(pair) == 1 or pair in seen:
            yield find(place, "two systems, each pair once", shown(text), "remove it")
        seen.add(pair)
