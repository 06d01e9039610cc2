"""A small study with everything that leaves a row in a table, written to a folder; and ways to answer it."""

from __future__ import annotations

import json
from pathlib import Path

from spa.records.form import Form, Question, ScreeningTarget
from spa.records.submission import Submission
from spa.responses.answers import parse_answers
from spa.responses.leases import Lease
from spa.widgets import ConfirmAnswer, NumberAnswer, OptionsAnswer

SYSTEMS = ("alpha", "beta", "gamma")
BEGINNING = """
id = "small"
title = "A small study"
seed = 3
outputs = {files = ["outputs.jsonl"], item_text = "item_text"}
systems = [{id = "alpha"}, {id = "beta"}, {id = "gamma"}]
"""
FOR_PEOPLE = """
[[screening]]
id = "native"
question = "Is English your first language?"
options = ["Yes", "No"]
eligible = ["Yes"]

[[attention_checks]]
id = "colour"
question = "Choose the word that is a colour."
options = ["table", "green"]
expected = "green"
"""
PEOPLE = "people = {annotators = 6, seconds_per_100_words = 0}"
STUDY = f"""{BEGINNING}\
criteria = [{{id = "meaning", name = "meaning", against_source = true}}]
{PEOPLE}
likert.identical_pairs = 1

[spa]
exposure = 4
comparisons = "chain"

[choices]
outputs = "first"
{FOR_PEOPLE}"""


def write_study(folder: Path, text: str = STUDY) -> Path:
    """Write the study file and its outputs, and return the path of the former."""
    rows = [
        {"item_id": f"i{item}", "system": system, "item_text": f"Text {item}.", "output": f"{system[0]} wrote {item}."}
        for item in range(1, 7)
        for system in SYSTEMS
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(text)
    return path


def raw_answer(question: Question, *, percent: str = "70") -> str:
    """Return an answer that the question accepts, as a page would send it."""
    match question.answer:
        case NumberAnswer():
            return percent
        case OptionsAnswer(options=options):
            return options[-1].value if not isinstance(question.target, ScreeningTarget) else options[0].value
        case ConfirmAnswer():
            return "yes"


def answer_form(lease: Lease, form: Form, *, seconds: float | None = 60.0, **raw: str) -> Submission:
    """Answer every question of a form; ``raw`` replaces answers by question id."""
    questions = list(form.questions("everybody" if lease.annotator_kind == "llm" else "people"))
    payload = {question.question_id: raw_answer(question) for question in questions} | raw
    return Submission(
        submission_id=lease.submission_id,
        assignment_id=lease.assignment_id,
        annotator_id=lease.annotator_id,
        annotator_kind=lease.annotator_kind,
        source=lease.source,
        answers=parse_answers(questions, payload),
        seconds=seconds,
    )
