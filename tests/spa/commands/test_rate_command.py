"""``spa simulate`` and ``spa rate`` on the shipped example, as a user types them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

from spa.commands.rate import simulated_endpoint
from spa.commands.simulate import serving
from spa.commands.workspace import open_workspace
from spa.journal import Journal
from spa.records.submission import Response
from spa.responses.export import export_tables
from spa.responses.run_lock import exclusive_run
from spa.simulation.simulated_endpoint import STEADY
from tests.spa.rehearsed import built_example, spa


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = built_example(tmp_path_factory.mktemp("answered"), annotators=4)
    people = json.loads(spa("simulate", study, "--seed", 7, "--json").output)
    assert (people["annotators"], people["seed"]) == (4, 7)
    rated = json.loads(spa("rate", study, "--simulate", "--seed", 7, "--json").output)
    assert (rated["rater"], rated["finished"], rated["requests"], rated["missing"]) == ("simulated-rater", 4, 4, {})
    return study


def test_people_and_rater_answer_the_same_questions(answered: Path) -> None:
    with open_workspace(answered, rehearsal=True, read_only=True) as workspace:
        submissions = list(workspace.store.submissions())
        answers = {
            (one.annotator_kind, one.assignment_id): {
                answer.question_id: answer.target for answer in one.answers if isinstance(answer, Response)
            }
            for one in submissions
        }
        assert len(answers) == 8
        for number in range(1, 5):
            name = f"a{number:05}"
            asked = {question.question_id: question.target for question in workspace.form(name).questions("everybody")}
            assert answers["llm", name] == asked
            if ("simulated", name) in answers and len(answers["simulated", name]) > 1:
                assert asked.items() <= answers["simulated", name].items()


def test_a_second_run_of_either_does_nothing(answered: Path) -> None:
    assert json.loads(spa("rate", answered, "--simulate", "--json").output)["requests"] == 0
    assert "nothing to do" in spa("simulate", answered).output


def test_two_runs_of_one_rater_at_once_do_not_pay_twice(answered: Path) -> None:
    with open_workspace(answered, rehearsal=True) as workspace, exclusive_run(workspace.store.name, "simulated-rater"):
        told = spa("rate", answered, "--simulate", code=1).output
        with exclusive_run(workspace.store.name, "another-rater"):
            pass
    assert "'simulated-rater' is running on this store already" in told
    assert json.loads(spa("rate", answered, "--simulate", "--json").output)["requests"] == 0


def test_every_attempt_is_kept_whole(answered: Path) -> None:
    with open_workspace(answered, rehearsal=True, read_only=True) as workspace:
        (call,) = Journal(workspace.store).calls("llm", "simulated-rater/1/a00001")
    request, response = json.loads(call.request), json.loads(call.response or "")
    assert request["parameters"]["model"] == response["model"] == "simulated-rater"
    assert response["system_fingerprint"] == "simulated"
    assert (call.outcome, call.facts["prompt_tokens"]) == ("ok", response["usage"]["prompt_tokens"])
    assert (call.facts["model"], call.facts["fingerprint"]) == ("simulated-rater", "simulated")
    assert call.seconds is not None


@pytest.mark.parametrize("example", ["zh", "ar", "images"])
def test_other_languages_and_images_reach_the_rater(tmp_path: Path, example: str) -> None:
    study = built_example(tmp_path, annotators=1, example=example)
    rated = json.loads(spa("rate", study, "--simulate", "--json").output)
    assert (rated["finished"], rated["missing"]) == (1, {})
    stored = next(iter(sqlite3.connect(study.with_suffix(".rehearsal.sqlite")).execute("select request from journal")))[
        0
    ]
    assert b"base64" not in stored
    assert (b"sha256 of the data URL" in stored) == (example == "images")


def test_a_rater_at_an_address_of_its_own_and_a_limit(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=3)
    with open_workspace(study) as workspace:
        truth_of = {system.id: 0.0 for system in workspace.study.systems}
        from spa.simulation.true_utilities import TrueUtilities

        with simulated_endpoint(
            workspace, workspace.study.raters[0], TrueUtilities(utilities=truth_of), STEADY, 0, None
        ) as address:
            shown = spa("rate", study, "--rater", "simulated-rater", "--base-url", f"{address}/v1/", "--limit", 2)
    assert "2 of 2 assignments finished" in shown.output
    assert "2 requests" in shown.output


def test_a_rater_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=2)
    file = tmp_path / "another.toml"
    file.write_text('id = "another"\nmodel = "simulated-rater"\nrepeats = 2\nconversation = "page"\n', encoding="utf-8")
    rated = json.loads(spa("rate", study, "--rater", file, "--simulate", "--only", "a00002", "--json").output)
    assert (rated["rater"], rated["visits"], rated["finished"]) == ("another", 2, 2)
    file.write_text('id = "another"\nmodel = "m"\nreading = "first_number"\n', encoding="utf-8")
    assert "with first_number, got" in spa("rate", study, "--rater", file, code=1).output
    file.write_text('id = "another"\n', encoding="utf-8")
    assert "another.toml: model: field required" in spa("rate", study, "--rater", file, code=1).output


def test_simulated_rater_repeats_follow_the_seed(tmp_path: Path) -> None:
    """Repeats of a simulated rater differ and come again with the seed."""
    rater = tmp_path / "thrice.toml"
    rater.write_text('id = "thrice"\nmodel = "simulated-rater"\nrepeats = 3\n')
    told = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        study = built_example(folder, annotators=2)
        assert (
            json.loads(spa("rate", study, "--rater", rater, "--simulate", "--seed", 5, "--json").output)["finished"]
            == 6
        )
        with open_workspace(study, rehearsal=True, read_only=True) as workspace:
            told.append(
                {one.submission_id: [answer.raw for answer in one.answers] for one in workspace.store.submissions()}
            )
    assert told[0] == told[1]
    assert len({tuple(answers) for answers in told[0].values()}) == 6


def test_every_call_can_be_exported_whole(answered: Path, tmp_path: Path) -> None:
    shown = spa("export", answered, "--out", tmp_path, "--raw").output
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()]
    assert f"{tmp_path / 'calls.jsonl'}: {len(calls)} rows" in shown
    assert {call["outcome"] for call in calls} == {"ok"}
    assert {call["assignment_id"] for call in calls} == {f"a{number:05}" for number in range(1, 5)}
    assert all(json.loads(call["response"])["model"] == call["model"] == "simulated-rater" for call in calls)
    assert len({call["prompt_sha256"] for call in calls}) == 4


def test_a_rater_that_is_not_there_ends_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spa.raters.endpoints.failures.FIRST_WAIT", 0.01)
    study = built_example(tmp_path, annotators=2)
    shown = spa("rate", study, "--base-url", "http://127.0.0.1:9/v1", code=1)
    last = shown.output.strip().splitlines()[-1]
    assert last.startswith("spa: rater 'simulated-rater': http://127.0.0.1:9/v1 cannot be reached")
    assert last.endswith("[2 of 2 assignments are not finished]")


@pytest.mark.parametrize(
    ("arguments", "problem", "code"),
    [
        (["--rater", "gpt"], "got --rater gpt", 1),
        (["--base-url", "https://example.org/v1"], "OPENAI_API_KEY", 1),
        (["--base-url", "nowhere"], "expected an address", 2),
        (["--simulate", "--base-url", "http://x/v1"], "--base-url cannot be combined with --simulate", 2),
        (["--utility", "salad=1"], "are for --simulate", 2),
        (["--simulate", "--utility", "salad=nan"], "expected SYSTEM=NUMBER", 2),
        (["--simulate", "--utility", "salad=1"], "expected a utility for the system 'parrot'", 1),
        (["--simulate", "--likert-reversal", "salad", "salad"], "expected two of the study's systems", 1),
        (["--limit", "0"], "is not in the range", 2),
    ],
)
def test_a_mistake_is_told_and_nothing_is_asked(
    answered: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], problem: str, code: int
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert problem in spa("rate", answered, *arguments, code=code).output


@pytest.mark.parametrize(
    ("url", "problem", "code"),
    [("http://127.0.0.1:9", "expected a running survey server", 1), ("nowhere", "expected an address", 2)],
)
def test_a_survey_server_that_is_not_there_books_nothing(tmp_path: Path, url: str, problem: str, code: int) -> None:
    study = built_example(tmp_path, annotators=2)
    assert problem in spa("simulate", study, "--url", url, code=code).output
    with open_workspace(study) as workspace:
        assert list(workspace.store.visits.leases()) == []


def test_the_server_of_another_study_books_nothing(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=2)
    with open_workspace(built_example(tmp_path, annotators=2, example="zh")) as other, serving(other) as address:
        assert "another study" in spa("simulate", study, "--url", address, code=1).output


def test_simulated_answers_never_named_as_llm(tmp_path: Path) -> None:
    """Simulated answers are never kept under the name of an LLM."""
    path = built_example(tmp_path, annotators=1)
    text = path.read_text().replace('id = "simulated-rater"\nmodel = "simulated-rater"', 'id = "gpt"\nmodel = "gpt-6"')
    (path.parent / "other.toml").write_text(text)
    spa("build", path.parent / "other.toml", "--annotators", 1)
    shown = spa("rate", path.parent / "other.toml", "--rater", "gpt", "--simulate", code=1)
    assert "never stored under the name of an LLM" in shown.output
    assert (
        json.loads(spa("rate", path.parent / "other.toml", "--simulate", "--json").output)["rater"] == "simulated-rater"
    )


REVERSAL = """
id = "reversal"
title = "Two writers"
[outputs]
files = ["outputs.jsonl"]
[[systems]]
id = "steady"
[[systems]]
id = "uneven"
[spa]
exposure = 4
[likert]
outputs = "all"
pages = "one"
[people]
annotators = 24
"""


def test_the_published_reversal_shows_on_real_forms_over_http(tmp_path: Path) -> None:
    """Proposition 2 of Ethayarajh and Jurafsky (2022), through study file, server and export."""
    rows = [
        {"item_id": f"i{item:02}", "system": system, "output": f"Text {item} in manner {manner}."}
        for item in range(20)
        for manner, system in enumerate(("steady", "uneven"))
    ]
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = tmp_path / "study.toml"
    study.write_text(REVERSAL)
    spa("build", study)
    spa("simulate", study, "--likert-reversal", "steady", "uneven", "--seed", 1)
    with open_workspace(study, rehearsal=True, read_only=True) as workspace:
        tables = export_tables(workspace.store)
    signed = tables.preferences.with_columns(
        steady=pl.when(pl.col("system_x") == "steady").then(pl.col("preference")).otherwise(1 - pl.col("preference"))
    )
    preferred = signed.group_by("annotator_id").agg(pl.col("steady").mean())["steady"].to_numpy()
    rated = tables.ratings.group_by("annotator_id", "system").agg(pl.col("score").mean())
    wide = rated.pivot(on="system", index="annotator_id", values="score")
    spa_test = stats.ttest_1samp(preferred, 0.5)
    likert_test = stats.ttest_rel(wide["steady"].to_numpy(), wide["uneven"].to_numpy())
    assert len(preferred) == 24
    assert spa_test.statistic > 0
    assert spa_test.pvalue < 0.001
    assert likert_test.statistic < 0
    assert likert_test.pvalue < 0.001
