"""What each column of a mapping is for: one thing alone, and a constant is no column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spa.errors import ResponseError
from spa.importers.csv.mapping import FILE, QuestionColumn, Wide, names_of

MOST_LISTED = 5  # problems that are told at once
CONSTANTS = {  # key of a question -> what names a column instead
    "system": "system_column",
    "system_x": "system_x_column",
    "system_y": "system_y_column",
    "criterion": "criterion_column",
    "item": "item_column",
    "annotator": "annotator of the mapping",
}
HINTS = {
    frozenset(("annotator", "question")): "; columns of one annotator each are `annotators` of a question",
    frozenset(("annotator", "item")): f'; files of one annotator each are annotator = "{FILE}"',
}


def answer_columns(question: QuestionColumn) -> tuple[str, ...]:
    """Return the columns that hold a question's answers."""
    return question.annotators or names_of(question.column)


def named_columns(mapping: Wide) -> list[str]:
    """Return every column that the mapping names, once."""
    named = [*_roles(mapping), *(("", column) for column in _others(mapping))]
    return list(dict.fromkeys(column for _, column in named))


def name_columns(mapping: Wide) -> list[str]:
    """Return the columns of names: of annotators, items and systems."""
    names = [column for role, column in _roles(mapping) if role in ("annotator", "item", "sample", "system")]
    return [*names, *(column for question in mapping.questions for column in names_of(question.group))]


def columns_of_several(mapping: Wide) -> list[str]:
    """Return the columns whose cells may name several systems: lists or objects."""
    several = [question for question in mapping.questions if _names_several(question)]
    return list(dict.fromkeys(column for question in several for column in answer_columns(question)))


def _names_several(question: QuestionColumn) -> bool:
    if question.kind in ("rating", "rank"):
        return question.system is None and question.system_column is None
    return question.kind == "order"


def _others(mapping: Wide) -> Iterator[str]:
    for named in (mapping.kind_column, mapping.assignment, mapping.seconds):
        yield from names_of(named)
    yield from (*mapping.keep, *mapping.drop, *mapping.split)
    for question in mapping.questions:
        yield from (*names_of(question.group), *names_of(question.seconds), *names_of(question.start_column))


def _roles(mapping: Wide) -> Iterator[tuple[str, str]]:
    if mapping.annotator is not None and FILE not in mapping.annotator:
        yield "annotator", mapping.annotator
    for column in names_of(mapping.item):
        yield "item", column
    for column in names_of(mapping.sample):
        yield "sample", column
    for question in mapping.questions:
        for column in names_of(question.item_column):
            yield "item", column
        systems = (question.system_column, question.system_x_column, question.system_y_column, question.systems_in)
        yield from (("system", column) for column in (*systems, *question.labels.values()) if column is not None)
        yield from (("criterion", name) for name in names_of(question.criterion_column))
        yield from (("question", name) for name in answer_columns(question))


def first_problems(problems: Sequence[str]) -> list[str]:
    """Return the first lines, the last of them with how many more there are.

    >>> first_problems([f"q{number}: wrong" for number in range(9)])[-2:]
    ['q3: wrong', 'q4: wrong (and 4 more problems)']
    """
    more = len(problems) - MOST_LISTED
    shown = list(problems[:MOST_LISTED])
    return [*shown[:-1], f"{shown[-1]} (and {more} more problems)"] if more > 0 else shown


def check_mapping(mapping: Wide, path: Path) -> None:
    """Refuse a mapping that names no answers, no annotator, or a column for two things.

    Raise ResponseError with every mistake, one line each.
    """
    problems: list[str] = []
    for number, question in enumerate(mapping.questions, start=1):
        place = f"question {number}"
        if (question.column is None) == (not question.annotators):
            problems.append(f"{place}: expected `column`, or `annotators` (columns of one annotator each), one of them")
        if not question.annotators and question.annotator is None and mapping.annotator is None:
            problems.append(
                f"{place}: expected who answered, got nothing; name the column in `annotator`, or give "
                f'annotator = "{FILE}" for one file a person, or `annotators` = their columns'
            )
        if question.labels and not _names_several(question):
            problems.append(f"{place}: `labels` name the systems of a cell that holds several; remove them")
        if question.group is not None and not question.annotators:
            problems.append(f"{place}: `group` says within what a header of `annotators` is one person; add these")
        for key in ("item", "system", "system_x", "system_y"):
            if getattr(question, key) is not None and getattr(question, f"{key}_column") is not None:
                problems.append(f"{place}: expected {key} or {key}_column, got both; remove one")
        if mapping.sample is not None and question.kind in ("rank", "order"):
            problems.append(f"{place}: orders of outputs have no `sample`; name its column in `item`, too")
        if question.percent and question.scale:
            problems.append(f"{place}: expected percent or scale, got both; percent is scale = [0, 100]")
        if question.scale and question.scale[0] == question.scale[1]:
            problems.append(f"{place}: expected a scale of two ends, got {question.scale[0]:g} twice")
    roles: dict[str, dict[str, None]] = {}
    for role, column in _roles(mapping):
        roles.setdefault(column, {})[role] = None
    for column, several in roles.items():
        if len(several) > 1:
            hint = HINTS.get(frozenset(several), "")
            problems.append(
                f"column {column!r} is named as {' and as '.join(several)}: expected one of them; an answer, an "
                f"annotator, an item and a system each stand in a column of their own{hint}"
            )
    if problems:
        raise ResponseError(*first_problems([f"{path}: {problem}" for problem in problems]))


def check_constants(mapping: Wide, columns: Sequence[str], path: Path) -> None:
    """Ask about constants that are names of columns.

    A column of answers may be called as the system or criterion that it asks about is. Raise ResponseError, one line
    each.
    """
    named_so = {
        (key, column)
        for question in mapping.questions
        for column in answer_columns(question)
        for key in ("system", "criterion", "item", "annotator")
        if column == getattr(question, key)
    }
    systems = {column for key, column in named_so if key == "system"}
    problems: dict[str, None] = {}
    for question in mapping.questions:
        for key, instead in CONSTANTS.items():
            value = getattr(question, key)
            if value is None or value not in columns or value in mapping.constants or (key, value) in named_so:
                continue
            if key in ("system_x", "system_y") and value in systems:
                continue
            problems[
                f"{' and '.join(answer_columns(question))}: {key} = {value!r} is a column of the file: did you mean "
                f"{instead} = {value!r}? If it is meant as a name, add constants = [{value!r}]".replace("'", '"')
            ] = None
    if problems:
        raise ResponseError(*first_problems([f"{path}: {problem}" for problem in problems]))
