"""Small studies for Prolific: who comes is asked a screening question and a check, and chooses between texts."""

from __future__ import annotations

from tests.spa.small_study import BEGINNING, FOR_PEOPLE


def study_text(
    *, top: str, annotators: int, pay: str, project: str, people: str = "", prolific: str = "", stopping: str = ""
) -> str:
    """Return a study file; ``top``, ``people`` and ``prolific`` are further lines of these parts of it."""
    return f"""{BEGINNING}\
criteria = [{{id = "meaning", name = "meaning"}}]
{top}

[people]
annotators = {annotators}
pay = "{pay}"
minutes = 10
{people}

[choices]
outputs = "first"
comparisons = "chain"
{FOR_PEOPLE}
[prolific]
project = "{project}"
description = "<p>Read and compare short texts.</p>"
{prolific}
{stopping}
"""
