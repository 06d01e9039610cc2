"""The main job on the outputs of published studies: from a study file to a report, over real HTTP.

Twenty annotators are simulated (the published answers do not exist); outputs, design and
comparisons are those of Ethayarajh & Jurafsky (2022), appendices A and B.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from spa.cli import main

pytestmark = pytest.mark.one_process("real-studies")  # which are answered once
ANNOTATORS = 20
STORIES = """
id = "gpt3-stories"
title = "Which author is the better fiction writer?"
seed = 2022

[outputs]
files = ["{outputs}"]
layout = "wide"
item = ["reader_id", "prompt_index"]
item_text = "prompt"

[[outputs.filters]]
field = "output"
min_characters = 1

[[systems]]
id = "ada"
[[systems]]
id = "babbage"
[[systems]]
id = "curie"
[[systems]]
id = "davinci"
[[systems]]
id = "human"
role = "human"

[spa]
exposure = 5
comparisons = [["ada", "human"], ["babbage", "ada"], ["curie", "babbage"], ["davinci", "curie"], ["human", "davinci"]]

[likert]
outputs = "first"

[people]
annotators = 90
pay = "5.00"

[[raters]]
id = "simulated-rater"
model = "simulated-rater"
base_url = "http://127.0.0.1:9/v1"

[analysis]
fwer = 0.10
expected = ["human > ada", "babbage > ada", "curie > babbage", "davinci > curie", "human ~ davinci"]
"""

IMAGES = """
id = "dalle-exposure"
title = "Which system draws better pictures of a description?"
seed = 15

[outputs]
files = ["{outputs}"]
kind = "image"
item = "prompt_id"
output = "file"
sample = "sample"
item_text = "prompt"

[[systems]]
id = "raw"
[[systems]]
id = "scrambled"

[spa]
[spa.exposure_study]
system_x = "raw"
system_y = "scrambled"
exposures = [1, 2, 4, 8]

[people]
annotators = 20

[analysis]
expected = ["raw > scrambled"]
"""


def spa(*arguments: str | Path) -> str:
    """Run a command of the script and return what it printed; a failure shows it."""
    shown = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.fixture(scope="module")
def stories(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpt3")
    study = folder / "study.toml"
    text = STORIES.format(outputs=shared_data / "spa_gpt3" / "stories.jsonl")
    study.write_text(text.replace("annotators = 90", f"annotators = {ANNOTATORS}"))
    utilities = {"ada": -0.8, "babbage": 0.0, "curie": 0.5, "davinci": 0.9, "human": 0.9}
    truth = [argument for name, value in utilities.items() for argument in ("--utility", f"{name}={value}")]
    spa("check", study)
    spa("build", study)
    spa("simulate", study, "--seed", 1, *truth)
    spa("rate", study, "--rater", "simulated-rater", "--simulate", "--seed", 2, *truth)
    spa("report", study, "--out", folder / "report")
    spa("export", study, "--out", folder / "tables", "--format", "parquet")
    return folder


def test_annotators_and_a_rater_answer_everything(stories: Path) -> None:
    preferences = pl.read_parquet(stories / "tables" / "preferences.parquet")
    answered = preferences.filter(pl.col("preference").is_not_null())
    counts = dict(answered.group_by("annotator_kind").len().iter_rows())
    assert counts == {"simulated": ANNOTATORS * 10, "llm": ANNOTATORS * 10}  # five comparisons in both directions
    ratings = pl.read_parquet(stories / "tables" / "ratings.parquet").filter(pl.col("score").is_not_null())
    assert dict(ratings.group_by("annotator_kind").len().iter_rows()) == {
        "simulated": ANNOTATORS * 5,
        "llm": ANNOTATORS * 5,
    }


def test_the_report_finds_the_order_that_was_simulated(stories: Path) -> None:
    results = json.loads((stories / "report" / "results.json").read_text())
    recovered = {
        (row["system_x"], row["system_y"]): row["recovered"]
        for row in results["expected"]
        if row["source"] == "preferences" and row["group"] == "simulated"
    }
    clear = [("babbage", "ada"), ("curie", "babbage")]
    assert [pair for pair in clear if not recovered.get(pair)] == []
    assert {row["group"] for row in results["preferences"]} == {"simulated", "simulated-rater"}
    assert {(row["source"], row["n_tests"]) for row in results["families"]} == {("preferences", 5), ("ratings", 5)}
    page = (stories / "report" / "report.html").read_text()
    assert "Which author is the better fiction writer?" in page


def test_a_second_run_asks_the_rater_nothing(stories: Path) -> None:
    again = json.loads(spa("rate", stories / "study.toml", "--rater", "simulated-rater", "--simulate", "--json"))
    assert again["requests"] == 0


def test_the_exposure_study_runs_on_images(shared_data: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(IMAGES.format(outputs=shared_data / "spa_dalle" / "manifest.jsonl"))
    spa("build", study)
    spa("simulate", study, "--seed", 3, "--utility", "raw=1.0", "--utility", "scrambled=0.0")
    spa("report", study, "--out", tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    exposures = [row["exposure"] for row in results["preferences"] if row["criterion"] == "overall"]
    assert sorted(exposures) == [1, 2, 4, 8]
    assert all(row["mean"] > 0.5 for row in results["preferences"])
