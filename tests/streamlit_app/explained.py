"""A study whose simulated people and rater give reasons that speak of their criterion."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from spa.records.form import Question
from spa.simulation.simulated_annotators import SimulatedReading
from spa.widgets import TextAnswer
from tests.spa.rehearsed import spa
from tests.streamlit_app.answering import answer, rehearsed_here

HOSTILE = '<img src=x onerror="window.hacked=1"> :red[$x$]'
WORDS = {
    "plot": ("the twist came late", "an ending nobody predicted", "events follow a turn of fate"),
    "style": ("sentences flow well", "clumsy grammar and wording", "commas are missing in places"),
}
STUDY = """
id = "explained"
title = "Why?"
seed = 5
outputs = {files = ["outputs.jsonl"], item_text = "item_text"}
systems = [{id = "alpha"}, {id = "beta", name = "Beta"}]
criteria = [{id = "plot", name = "plot", reason = true}, {id = "style", name = "style", reason = true}]
likert = {}
design = {items = 3}
people = {annotators = 6}
interview = [{id = "comment", question = "Any comment?"}]

[[raters]]
id = "judge"
model = "simulated-rater"
explain = "after"
"""


def explained_study(folder: Path) -> Path:
    """Build the study, and let six people and a rater answer it."""
    rows = [
        {"item_id": f"i{item}", "system": system, "item_text": f"Item {item}", "output": f"{system} {item} {HOSTILE}"}
        for item in range(1, 7)
        for system in ("alpha", "beta")
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(STUDY)
    numbers, plain = count(), SimulatedReading.answer

    def answer_with_reason(self: SimulatedReading, question: Question) -> str:
        if not isinstance(question.answer, TextAnswer):
            return plain(self, question)
        words = next((WORDS[name] for name in WORDS if name in repr(question.target)), ("no comment",))
        return f"{words[next(numbers) % len(words)]}, reason {next(numbers)} {HOSTILE}"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SimulatedReading, "answer", answer_with_reason)
        spa("build", path)
        rehearsed_here(path)
        spa("rate", path, "--rater", "judge", "--simulate")
        answer(path, 6)
    return path
