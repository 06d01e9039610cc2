"""``spa rate`` with models on this machine, as a user types it: stories, images, and a rerun."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from spa.commands.workspace import open_workspace
from spa.journal import Journal
from spa.records.submission import Missing, Response
from tests.spa import tiny_models
from tests.spa.rehearsed import built_example, spa
from tests.spa.tiny_models import models as models

pytestmark = [
    pytest.mark.one_process("models"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
LOGIT = 'readout = "logit"\nconversation = "question"\nanswer_format = "text"\nmin_mass = 0\n'


def add_rater(study: Path, name: str, model: Path, rest: str) -> None:
    with study.open("a") as held:
        held.write(f'\n[[raters]]\nid = "{name}"\nprovider = "local"\nmodel = "{model}"\n{rest}')


@pytest.mark.parametrize("example", ["stories", "images"])
def test_local_probabilities_answer_every_question(models: Path, tmp_path: Path, example: str) -> None:
    """Probabilities answer every question and a rerun asks nothing."""
    study = built_example(tmp_path, annotators=2, example=example, exposure=2)
    folder = study.parent / "model"  # a folder beside the study
    (tiny_models.tiny_llava if example == "images" else tiny_models.tiny_llama)(folder)
    add_rater(study, "here", Path("model"), LOGIT)
    told = json.loads(spa("rate", study, "--rater", "here", "--limit", 1, "--json").output)
    assert (told["finished"], told["missing"], told["problem"]) == (1, {}, None)
    with open_workspace(study, read_only=True) as workspace:
        (visit,) = workspace.store.submissions()
        asked = list(workspace.form(visit.assignment_id).questions("everybody"))
        calls = Journal(workspace.store).calls("llm", visit.submission_id)
    assert [answer.question_id for answer in visit.answers] == [question.question_id for question in asked]
    assert all(isinstance(answer, Response) for answer in visit.answers)
    assert visit.asked is not None
    assert visit.asked.readout == "logit"
    assert {call.outcome for call in calls} == {"ok"}
    bodies = [json.loads(call.response or "") for call in calls]
    assert sum(body["usage"]["prompt_tokens_details"]["cached_tokens"] > 0 for body in bodies) >= len(asked) / 2
    assert set(bodies[0]["local"]["versions"]) >= {"spa-eval", "torch", "transformers"}
    assert "base64" not in calls[0].request
    spa("export", study, "--out", tmp_path / "tables")
    tables = [pl.read_csv(tmp_path / "tables" / f"{name}.csv") for name in ("ratings", "preferences")]
    assert all(0 < mass < 0.5 for table in tables for mass in table["mass"])  # an untaught model would rather babble
    again = json.loads(spa("rate", study, "--rater", "here", "--limit", 1, "--json").output)
    assert (again["requests"], again["finished_before"]) == (0, 1)


def test_what_a_model_babbles_is_missing_with_its_reason(models: Path, tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=2, exposure=2)
    tiny_models.tiny_llama(study.parent / "model")
    add_rater(study, "babbler", Path("model"), 'answer_format = "json"\nattempts = 1\nmax_tokens = 8\n')
    told = json.loads(spa("rate", study, "--rater", "babbler", "--limit", 1, "--json").output)
    assert (told["finished"], told["answered"], told["requests"]) == (1, 0, 1)
    with open_workspace(study, read_only=True) as workspace:
        (visit,) = workspace.store.submissions()
    assert all(isinstance(answer, Missing) and answer.raw for answer in visit.answers)


def test_a_study_of_images_wants_a_model_that_reads_them(models: Path, tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=2, example="images")
    tiny_models.tiny_llama(study.parent / "model")
    add_rater(study, "blind", Path("model"), LOGIT)
    shown = spa("rate", study, "--rater", "blind", "--limit", 1, code=1)
    assert "reads text only; name another model" in shown.output
    assert "Traceback" not in shown.output
