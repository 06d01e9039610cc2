"""Checks of the sections that rate single outputs, once each table of the study file can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from spa.study.problems import StudyProblem, mistake, quote, repeated, unfit_system
from spa.study.study import OVERALL, RatingTable, Study

RATINGS: tuple[RatingTable, ...] = get_args(RatingTable)


def rating_problems(study: Study) -> Iterator[StudyProblem]:
    """Yield every mistake about what is rated, and how."""
    checks: tuple[Callable[[Study], Iterator[StudyProblem]], ...] = (
        _one_rating_each,
        _outputs_per_section,
        _pages,
        _single_outputs,
        _hidden_item_text,
        _identical_pairs,
        _references,
        _spans,
    )
    return (problem for check in checks for problem in check(study))


def _one_rating_each(study: Study) -> Iterator[StudyProblem]:
    rated_in: dict[str, str] = {}
    for table in RATINGS:
        for criterion in study.criteria_of(table):
            if criterion in rated_in:
                key = "overall = false" if criterion == OVERALL else "criteria = [...] without it"
                got = f"{quote(criterion)} in [{rated_in[criterion]}] too"
                do = f"set {key} in one of them"
                yield mistake(f"[{table}]", "each criterion rated in one way", got, do, rated_in[criterion], "criteria")
            rated_in.setdefault(criterion, table)


def _outputs_per_section(study: Study) -> Iterator[StudyProblem]:
    most, single = study.items_per_annotator, study.single_outputs
    where = "[design] items" if study.spa is None else "[spa] exposure"
    for table in (*RATINGS, "choices", "ranking"):
        section = getattr(study, table)
        if section is not None and isinstance(section.outputs, int) and section.outputs > most and not single:
            do = f'write "all" or raise {where}'
            expected = f"at most the {most} items that an annotator reads"
            yield mistake(f"[{table}] outputs", expected, str(section.outputs), do, "spa", "design", "systems")


def _pages(study: Study) -> Iterator[StudyProblem]:
    for table in study.rating_tables:
        section = getattr(study, table)
        host = section.same_page_as
        if host is None:
            continue
        place = f"[{table}] same_page_as"
        if host == table or getattr(study, host) is None or getattr(study, host).same_page_as is not None:
            do = "name another rating section, or remove the key"
            yield mistake(place, "a rating section with pages of its own", quote(host), do, host)
        for key in ("pages", "outputs", "order"):
            if key in section.model_fields_set:
                yield mistake(f"[{table}] {key}", f"none beside same_page_as, as [{host}] says it", "one", "remove it")


def _single_outputs(study: Study) -> Iterator[StudyProblem]:
    if not study.single_outputs:
        if "outputs" in study.design.model_fields_set:
            expected = 'pages = "output" in every rating section, no [spa], [choices] or [ranking]'
            do = "correct these, or remove the key and say how many items"
            yield mistake("[design] outputs", expected, "another design", do, *RATINGS, "spa", "choices")
        return
    if "items" in study.design.model_fields_set:
        expected = 'outputs (how many outputs an annotator rates, as pages = "output")'
        yield mistake("[design] items", expected, "items", "write outputs instead", *RATINGS)
    for table in study.rating_tables:
        section = getattr(study, table)
        if "outputs" in section.model_fields_set and section.outputs != "all":
            do = "remove it and say how many in [design] outputs"
            yield mistake(f"[{table}] outputs", '"all", as pages = "output"', quote(section.outputs), do)


def _hidden_item_text(study: Study) -> Iterator[StudyProblem]:
    hiding = [
        f"[{table}]"
        for table in (*RATINGS, "choices", "ranking")
        if not getattr(getattr(study, table), "show_item_text", 1)
    ]
    for criterion in study.criteria:
        place = f"[[criteria]] {criterion.id}"
        if criterion.show_item_text is not False:
            continue
        hiding.append(place)
        if criterion.against_source or criterion.mark_differences:
            key = "against_source" if criterion.against_source else "mark_differences"
            yield mistake(f"{place}, show_item_text", f"true beside {key}", "false", "remove one of them")
        if criterion.id in study.criteria_of("spa"):
            expected = "none for a criterion of [spa], where the item text is read with the outputs"
            yield mistake(
                f"{place}, show_item_text", expected, "false", "remove it, or the criterion from [spa]", "spa"
            )
    if study.outputs.item_text is None:
        for place in hiding:
            do = "remove the key, or name the column in [outputs] item_text"
            yield mistake(f"{place}, show_item_text", "an item text to leave out", "none", do, "outputs")


def _identical_pairs(study: Study) -> Iterator[StudyProblem]:
    if study.likert is None or not study.likert.identical_pairs:
        return
    place = "[likert] identical_pairs"
    if study.outputs.item_text is None:
        do = "name the column with the source texts in [outputs] item_text"
        yield mistake(place, "[outputs] item_text as the source", "none", do, "outputs")
    if study.outputs.kind == "image":
        yield mistake(place, "text outputs", "images", "set it to 0", "outputs")
    against = [one.id for one in study.criteria if one.against_source and one.id in study.criteria_of("likert")]
    if not against and study.outputs.item_text is not None:
        do = "set against_source on the criterion that asks about the source"
        yield mistake(place, "a criterion of [likert] with against_source = true", "none", do, "criteria")
    if study.likert.identical_pairs > study.items_per_annotator:
        expected = f"at most the {study.items_per_annotator} items that an annotator reads"
        yield mistake(place, expected, str(study.likert.identical_pairs), "lower it", "spa", "design")


def _references(study: Study) -> Iterator[StudyProblem]:
    if study.continuous is None:
        return
    best, worst = study.continuous.best_reference, study.continuous.worst_reference
    if best is not None:
        yield from unfit_system(study, "[continuous] best_reference", best, role="reference")
    if worst is not None:
        yield from unfit_system(study, "[continuous] worst_reference", worst, role="reference")
        if best == worst:
            yield mistake("[continuous] worst_reference", "another than best_reference", quote(worst), "change one")


def _spans(study: Study) -> Iterator[StudyProblem]:
    section = study.spans
    if section is None:
        return
    yield from repeated("[spans] severities", section.severities)
    yield from repeated("[spans] categories", section.categories)
    if section.weights is not None and len(section.weights) != len(section.severities):
        got = f"{len(section.weights)} for {len(section.severities)}"
        yield mistake("[spans] weights", "one for each severity", got, "add or remove some")
    if study.outputs.kind == "image":
        yield mistake("[spans]", "text outputs, to mark words in", "images", "remove it", "outputs")
    for criterion in study.criteria:
        if criterion.mark_differences and criterion.id in study.criteria_of("spans"):
            expected = "false for a criterion of [spans], whose marks are the annotator's"
            yield mistake(f"[[criteria]] {criterion.id}, mark_differences", expected, "true", "remove it", "spans")
