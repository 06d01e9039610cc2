"""The datasheet of a study: what is known stands in its field, and what is not is left open and listed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.heds.answers import Answers, about_criteria, about_study
from analysis.heds.form import Field, HedsQuestion, numbered, read_questions
from analysis.records.results import Results
from spa.commands.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One form: the answers of the study and of one criterion, by the number of the question.

    An answer is as :class:`HedsQuestion` says; a question that is open is absent. ``filled_in`` are the numbers that a
    person answered.
    """

    criterion: str
    answers: Mapping[str, str]
    filled_in: frozenset[str] = frozenset()

    @property
    def values(self) -> dict[str, str | bool]:
        """Return every field of the form: text, the chosen option, or whether a box is ticked; "" where it is open."""
        return {
            name: value
            for question in read_questions()
            for name, value in _values(question, self.answers.get(question.number, "")).items()
        }

    @property
    def left_open(self) -> tuple[Field, ...]:
        """Return the first field of each open question."""
        return tuple(question.fields[0] for question in read_questions() if question.number not in self.answers)


def datasheets(workspace: Workspace, results: Results) -> list[Sheet]:
    """Fill in one form a quality criterion, as the questions of part 4 are asked for each.

    Parameters
    ----------
    workspace : Workspace
        The study and its store.
    results : Results
        Its results.json.

    Returns
    -------
    list of Sheet
        In the order of the criteria, "overall" first. Nothing is guessed: what the study does not say stays open.
    """
    common = about_study(workspace, results)
    return [
        Sheet(criterion=criterion, answers=_by_question({**common, **own}))
        for criterion, own in about_criteria(workspace, results).items()
    ]


def sheet_json(sheet: Sheet) -> str:
    """Return a sheet as the form's file: one JSON object, field to value."""
    return json.dumps(sheet.values, ensure_ascii=False, indent=1) + "\n"


def answer_in(question: HedsQuestion, values: Mapping[str, object]) -> str:
    """Return the answer to a question in a form's file, as :func:`sheet_json` writes it."""
    if question.kind != "checkbox":
        return tidy(str(values.get(question.fields[0].name, "")))
    return "\n".join(field.options[0] for field in question.fields if values.get(field.name) is True)


def tidy(text: str) -> str:
    """Return text without white space at its ends and at those of its lines."""
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def open_questions(sheets: Sequence[Sheet]) -> str:
    """List the numbers and names of the questions that are open, once each."""
    seen: dict[str, str] = {}
    for sheet in sheets:
        for field in sheet.left_open:
            where = f" ({sheet.criterion})" if field.of_criterion and len(sheets) > 1 else ""
            seen.setdefault(f"{field.number}{where}", field.name)
    lines = [f"{number}\t{name}" for number, name in seen.items()]
    return "\n".join(["The study does not say these; fill them in by hand:", *lines]) + "\n"


def _values(question: HedsQuestion, answer: str) -> dict[str, str | bool]:
    if question.kind != "checkbox":
        return {question.fields[0].name: answer}
    ticked = answer.split("\n")
    return {field.name: field.options[0] in ticked if answer else "" for field in question.fields}


def _by_question(answers: Answers) -> dict[str, str]:
    values: dict[str, str | bool] = {}
    for (number, box), value in answers.items():
        field = numbered(number, box)
        if field.kind == "radio" and value not in field.options:
            raise ValueError(f"HEDS {number}: {value!r} is none of the form's options")
        values[field.name] = value
    found = {question.number: answer_in(question, values) for question in read_questions()}
    return {number: answer for number, answer in found.items() if answer}
