"""What a study's outputs give its strengths to be controlled for: of choices, and of what was read before SPA."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis import AnswerTables, Plan, Reading, check_frames
from analysis.answers.study_answers import answers_of
from analysis.report.sections import make_section, shown_results
from analysis.results.analyse import analyse
from spa.commands.workspace import open_workspace
from tests.analysis.made_answers import analyse as analyse_plainly
from tests.spa.rehearsed import spa
from tests.spa.study_files import HEAD, OUTPUTS, SPA, SYSTEMS, output_problems, outputs_of, problems_of, write_study

CONTROL = '[analysis]\ncontrol = ["length", "column:novelty"]\n'
CHOICES = '[choices]\noutputs = "all"\n'


def rows(novelty: object = 0.5) -> list[dict[str, object]]:
    return [
        {"item_id": f"i{item}", "system": system, "output": "word " * (5 + item * (system == "x")), "novelty": novelty}
        for item in range(6)
        for system in "xy"
    ]


def test_columns_of_outputs_are_numbers(tmp_path: Path) -> None:
    """They are read as numbers, an empty cell as unknown; a text is one line."""
    made = outputs_of(
        tmp_path, [{**row, "novelty": None if n == 3 else n / 4} for n, row in enumerate(rows())], rest=SPA + CONTROL
    )
    assert [one.numbers for one in made.all()][:4] == [(("novelty", value),) for value in (0.0, 0.25, 0.5, None)]
    problems = output_problems(tmp_path, rows("high"), rest=SPA + CONTROL)
    assert problems[0] == 'outputs.jsonl line 1: expected a number in "novelty", got "high"; correct it'
    without = [{name: value for name, value in row.items() if name != "novelty"} for row in rows()]
    assert "novelty" in output_problems(tmp_path, without, rest=SPA + CONTROL)[0]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"rest": "[likert]\n" + CONTROL}, "[analysis] control: expected a section that compares systems"),
        ({"rest": SPA + CONTROL.replace("length", "width")}, 'expected "length", "markdown" or "column:"'),
        ({"rest": SPA + CONTROL.replace("length", "column:novelty")}, "[analysis] control"),
        (
            {"outputs": OUTPUTS + 'layout = "wide"\n', "rest": SPA + CONTROL},
            'expected layout = "long" for "column:novelty"',
        ),
        (
            {"outputs": OUTPUTS + 'kind = "image"\n', "rest": SPA + CONTROL},
            'expected text outputs for "length", got images',
        ),
    ],
    ids=["ratings alone", "unknown", "twice", "wide", "images"],
)
def test_studies_that_cannot_be_controlled_say_so(tmp_path: Path, parts: dict[str, str], said: str) -> None:
    problems = problems_of(write_study(tmp_path, head=HEAD, systems=SYSTEMS, **parts))
    assert any(said in one and len(one) < 500 for one in problems), problems


def test_a_simulated_study_is_controlled(tmp_path: Path) -> None:
    """From the store: what each assignment showed before SPA, and each choice's own two outputs."""
    words = np.random.default_rng(2).integers(3, 40, 24)
    outputs = [
        {"item_id": f"i{number // 2}", "system": "xy"[number % 2], "output": "word " * int(n), "novelty": int(n) % 5}
        for number, n in enumerate(words)
    ]
    people = "[people]\nannotators = 12\nseconds_per_100_words = 0\n"
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in outputs))
    path = write_study(tmp_path, rest=SPA.replace("1", "2") + CHOICES + people + CONTROL)
    spa("build", path)
    spa("simulate", path)
    with open_workspace(path, rehearsal=True) as workspace:
        found = answers_of(workspace)
        drawn = list(workspace.store.assignments.drawn())
    assert found.plan.control == ("length", "column:novelty")
    assert found.tables.outputs is not None
    assert found.tables.outputs.columns == [
        *("item_id", "system", "sample", "words", "characters", "headings", "lists", "bold", "column:novelty")
    ]
    read = found.tables.outputs_read
    assert read is not None
    assert read.height == sum(len(block.shown) for assignment, _ in drawn for block in assignment.blocks)
    results = analyse(found.tables, found.plan, study=found.facts)
    sources = {(row.source, row.covariate) for row in results.covariate_effects if row.coefficient is not None}
    assert sources == {(source, name) for source in ("preferences", "choices") for name in ("length", "novelty")}


def stated(*, known: bool = True, taste: float = 0.8) -> AnswerTables:
    """Return SPA of 80 people who each read two outputs of three systems, and like those with more words."""
    rng = np.random.default_rng(6)
    strength = {"a": 0.5, "b": 0.0, "c": -0.5}
    outputs = pl.DataFrame(
        [
            {"item_id": f"i{item}", "system": name, "text": "w " * int(20 * 2 ** (rng.normal() - 2 * strength[name]))}
            for item in range(40)
            for name in strength
        ]
    )
    words = {(row["item_id"], row["system"]): max(1, row["text"].count("w")) for row in outputs.to_dicts()}
    answers, read = [], []
    for person in range(80):
        items = rng.choice(40, 2, replace=False)
        read += [(f"a{person}", 2, name, f"i{item}", "1") for item in items for name in strength]
        log = {name: np.mean([np.log2(words[f"i{item}", name]) for item in items]) for name in strength}
        for x, y in (("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")):
            eta = strength[x] - strength[y] + taste * (log[x] - log[y]) + 0.3 * rng.normal()
            answers.append((f"p{person}", f"a{person}", x, y, "2", str(1 / (1 + np.exp(-eta)))))
    names = ["annotator_id", "assignment_id", "system_x", "system_y", "exposure", "preference"]
    frames = {"preferences": pl.DataFrame(answers, names, orient="row"), "outputs": outputs}
    tables = check_frames(frames, Reading())
    columns = ["assignment_id", "exposure", "system", "item_id", "sample"]
    seen = pl.DataFrame(read, columns, orient="row")
    assert tables.outputs is not None
    outputs_with_samples = tables.outputs.with_columns(sample=pl.lit("1"))
    return replace(tables, outputs=outputs_with_samples, outputs_read=seen if known else None)


def test_preferences_follow_what_was_read() -> None:
    """The taste of readers and the true order are found; the worst wrote the most and stood first."""
    found = analyse_plainly(stated(), Plan(control=("length",), consistency_tau=None))
    (effect,) = found["covariate_effects"]
    assert effect["coefficient"] == pytest.approx(0.8, abs=0.12)
    assert effect["ci_low"] < 0.8 < effect["ci_high"]
    assert effect["n"] == 240
    strengths = {row["system"]: row["controlled"] for row in found["controlled_strengths"]}
    assert list(strengths.values()) == pytest.approx([0.5, 0.0, -0.5], abs=0.2)
    assert {row["interval"] for row in found["controlled_strengths"]} == {"annotator"}


def test_the_section_says_that_outputs_are_these() -> None:
    """Intervals of preferences are by annotator: the outputs are taken as given."""
    found = analyse(stated(), Plan(control=("length",), consistency_tau=None))
    text = repr(make_section(shown_results(found), "held-constant"))
    assert "Those of preferences hold for further annotators who read these outputs" in text
    choices_alone = replace(
        found, covariate_effects=tuple(replace(one, source="choices") for one in found.covariate_effects)
    )
    assert "Those of preferences" not in repr(make_section(shown_results(choices_alone), "held-constant"))


def test_unknown_length_leaves_out_who_read_it() -> None:
    """Not averaged over the outputs that are known."""
    tables = stated()
    assert tables.outputs is not None
    assert tables.outputs_read is not None
    item = sorted(tables.outputs_read["item_id"].mode())[0]
    readers = tables.outputs_read.filter(pl.col("item_id") == item)["assignment_id"].n_unique()
    fewer = replace(tables, outputs=tables.outputs.filter(pl.col("item_id") != item))
    found = analyse_plainly(fewer, Plan(control=("length",), consistency_tau=None))
    assert found["covariate_effects"][0]["n_left_out"] == 3 * readers > 0


def test_tables_do_not_say_what_was_read() -> None:
    found = analyse_plainly(stated(known=False), Plan(control=("length",), consistency_tau=None))
    assert found["controlled_strengths"] == []
    assert [row["reason_code"] for row in found["covariate_effects"]] == ["no_outputs_read"]
