"""The datasheet of a study: what is known stands in its field, and what is not is left open and listed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from analysis.heds.answers import Answers, about_criteria, about_study
from analysis.heds.form import Field, numbered, read_fields
from analysis.results.records import Results
from analysis.results.words import slug
from spa.commands.workspace import Workspace
from spa.files import written_whole

FILE = "heds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One form: the fields of the study and of one criterion.

    ``values`` has every field of the form: text, the chosen option, or whether a box is ticked; "" where it is open.
    """

    criterion: str
    values: Mapping[str, str | bool]
    left_open: tuple[Field, ...]


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
    return [_sheet(criterion, {**common, **own}) for criterion, own in about_criteria(workspace, results).items()]


def write_sheets(sheets: list[Sheet], folder: Path) -> list[Path]:
    """Write ``heds-CRITERION.json`` of each sheet, and ``heds-open.txt``: what a person has to fill in.

    Each file is one JSON object, field to value, as the form itself saves it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = sheet_files(sheets)
    for name, text in texts.items():
        with written_whole(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def sheet_files(sheets: list[Sheet]) -> dict[str, str]:
    """Return the text of each file that :func:`write_sheets` writes, by its name."""
    texts = {f"{FILE}-{slug(sheet.criterion)}.json": sheet_json(sheet) for sheet in sheets}
    return {**texts, f"{FILE}-open.txt": open_questions(sheets)}


def sheet_json(sheet: Sheet) -> str:
    """Return a sheet as the form's file."""
    return json.dumps(dict(sheet.values), ensure_ascii=False, indent=1) + "\n"


def open_questions(sheets: list[Sheet]) -> str:
    """List the numbers and names of the questions that are open, once each."""
    seen: dict[str, str] = {}
    for sheet in sheets:
        for field in sheet.left_open:
            where = f" ({sheet.criterion})" if field.of_criterion and len(sheets) > 1 else ""
            seen.setdefault(f"{field.number}{where}", field.name)
    lines = [f"{number}\t{name}" for number, name in seen.items()]
    return "\n".join(["The study does not say these; fill them in by hand:", *lines]) + "\n"


def _sheet(criterion: str, answers: Answers) -> Sheet:
    values: dict[str, str | bool] = {}
    answered: set[str] = set()
    for (number, box), value in answers.items():
        field = numbered(number, box)
        if field.kind == "radio" and value not in field.options:
            raise ValueError(f"HEDS {number}: {value!r} is none of the form's options")
        values[field.name] = value
        answered.add(number)
    fields = read_fields()
    empty: dict[str, str | bool] = {
        field.name: False if field.kind == "checkbox" and field.number in answered else "" for field in fields
    }
    once = {field.number: field for field in reversed(fields) if field.number not in answered}
    left_open = tuple(field for field in fields if once.get(field.number) is field)
    return Sheet(criterion=criterion, values={**empty, **values}, left_open=left_open)
