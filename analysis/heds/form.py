"""The fields of the HEDS 3.0 form, and what may stand in each.

References
----------
Belz, A. and Thomson, C. (2024). HEDS 3.0: The Human Evaluation Data Sheet Version 3.0. arXiv:2412.07940. Numbers,
names and options of the fields are the form's own, so that a sheet can be read by whatever reads the form.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Kind = Literal["text", "radio", "checkbox"]
CRITERION = "4."  # questions with numbers that begin so are answered for each criterion


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of the form; a question with checkboxes has one field for each."""

    number: str
    name: str
    kind: Kind
    options: tuple[str, ...] = ()

    @property
    def of_criterion(self) -> bool:
        """Whether it is answered for each criterion."""
        return self.number.startswith(CRITERION)


@dataclass(frozen=True, slots=True, kw_only=True)
class HedsQuestion:
    """One question of the form in our own words, with the fields that hold its answer.

    An answer is one text: what is written, the option, or the ticked options, one a line; "" while it is open.
    """

    number: str
    text: str
    evidence: str  # what of the study answers it; "" where nothing does
    fields: tuple[Field, ...]

    @property
    def kind(self) -> Kind:
        """What may be answered."""
        return self.fields[0].kind

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the form; none where text is written."""
        return tuple(option for field in self.fields for option in field.options)

    @property
    def of_criterion(self) -> bool:
        """Whether it is answered for each criterion."""
        return self.fields[0].of_criterion


@cache
def read_fields() -> tuple[Field, ...]:
    """Return all fields in the order of the form."""
    return tuple(
        Field(number=row["number"], name=row["field"], kind=row["kind"], options=tuple(row.get("options", ())))
        for row in _listed("fields.json")
    )


@cache
def read_questions() -> tuple[HedsQuestion, ...]:
    """Return all questions in the order of the form."""
    fields: dict[str, tuple[Field, ...]] = {}
    for field in read_fields():
        fields[field.number] = (*fields.get(field.number, ()), field)
    return tuple(
        HedsQuestion(
            number=row["number"], text=row["text"], evidence=row.get("evidence", ""), fields=fields[row["number"]]
        )
        for row in _listed("questions.json")
    )


def _listed(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(files("analysis.heds").joinpath(name).read_text(encoding="utf-8"))
    return found


def numbered(number: str, option: int | None = None) -> Field:
    """Return the field of a question, or the checkbox whose option has that number.

    >>> numbered("3.3.1").kind, numbered("2.2", 11).options
    ('radio', ('11. Visual',))
    """
    found = [field for field in read_fields() if field.number == number]
    if option is not None:
        found = [field for field in found if field.options[0].startswith(f"{option}.")]
    if len(found) != 1:
        raise KeyError(f"the form has {len(found)} fields {number} with option {option}")
    return found[0]


def option(number: str, which: int) -> str:
    """Return the text of an option of a question with one answer.

    >>> option("3.2.2.2", 1)
    '1. Paid (monetary compensation)'
    """
    return next(text for text in numbered(number).options if text.startswith(f"{which}."))
