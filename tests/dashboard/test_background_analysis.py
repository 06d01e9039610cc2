"""What is worked out while the server starts: the same as on the page itself, of the same state, or nothing."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.monitoring.annotator_profiles import annotator_profiles
from spa.commands.workspace import Workspace, open_workspace
from streamlit_app import findings
from streamlit_app.background_analysis import STATE, BackgroundAnalysis, begin, work
from streamlit_app.options import DashboardOptions
from tests.dashboard.answering import typed

pytestmark = [pytest.mark.one_process("dashboard")]  # where the study is built


@pytest.fixture
def opened(watched: Path) -> Iterator[Workspace]:
    with open_workspace(watched, read_only=True) as workspace:
        yield workspace


def said(*parts: tuple[str, object]) -> io.BytesIO:
    return io.BytesIO(b"".join(pickle.dumps(part) for part in parts))


def test_the_other_process_works_out_what_the_pages_would(watched: Path, opened: Workspace) -> None:
    options = DashboardOptions(study=str(watched))
    background, state = begin(options), findings.state_of_source(options, opened)
    found = findings.read_source(options, opened)
    analysed = findings.analyse_answers(found)
    assert background.take("analysed", state) == analysed
    assert background.take("profiles", state) == annotator_profiles(found.tables)
    assert background.take("calls", state) == findings.count_calls(opened)
    assert background.take("answers", state).plan == found.plan
    assert background.take("sections", state)["answer"] == findings.write_section(analysed, "answer")


def test_the_parts_come_in_the_order_in_which_the_first_page_shows_them(watched: Path) -> None:
    parts: list[str] = []
    work(DashboardOptions(study=str(watched)), lambda part, _: parts.append(part))
    assert parts == [STATE, "analysed", "profiles", "calls", "answers", "sections"]


def test_nothing_is_taken_of_another_state(watched: Path) -> None:
    background = BackgroundAnalysis(said((STATE, "1/1/1/0"), ("profiles", ["old"])))
    assert background.take("profiles", "1/1/1/0") == ["old"]
    assert background.take("profiles", "2/1/1/0") is None


def test_what_was_not_said_is_not_waited_for_once_the_process_has_ended() -> None:
    whole = said((STATE, "1"), ("profiles", ["first"]), ("answers", "x" * 100)).getvalue()
    cut = BackgroundAnalysis(io.BytesIO(whole[:-20]))
    assert cut.take("profiles", "1") == ["first"]
    assert cut.take("answers", "1") is None
    assert BackgroundAnalysis(io.BytesIO()).take("analysed", "1") is None


def test_a_study_without_answers_ends_it_without_a_word(watched: Path, tmp_path: Path) -> None:
    for name in ("study.toml", "outputs.jsonl"):
        (tmp_path / name).write_bytes((watched.parent / name).read_bytes())
    study = tmp_path / "study.toml"
    typed(["build", str(study)])
    options = DashboardOptions(study=str(study))
    with open_workspace(study, read_only=True) as workspace:
        assert begin(options).take("analysed", findings.state_of_source(options, workspace)) is None
    told = subprocess.run(
        [sys.executable, "-c", f"from streamlit_app.background_analysis import *; begin({options!r}).wait()"],
        check=True,
        capture_output=True,
    )
    assert told.stderr == b""
