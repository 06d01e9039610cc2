"""What is worked out while the server starts: the same as on the page itself, of the same state, or nothing."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.monitoring.annotator_profiles import annotator_profiles
from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from streamlit_app import source_analysis
from streamlit_app.background_analysis import STATE, BackgroundAnalysis, begin, work
from streamlit_app.options import DashboardOptions
from tests.streamlit_app.answering import typed

pytestmark = [pytest.mark.one_process("dashboard")]  # where the study is built


@pytest.fixture
def opened(watched: Path) -> Iterator[Workspace]:
    with open_workspace(watched, read_only=True) as workspace:
        yield workspace


def said(*parts: tuple[str, object]) -> io.BytesIO:
    return io.BytesIO(b"".join(pickle.dumps(part) for part in parts))


def test_the_other_process_works_out_what_the_pages_would(watched: Path, opened: Workspace) -> None:
    options = DashboardOptions(study=str(watched))
    background, state = begin(options), source_analysis.state_of_source(options, opened)
    found = source_analysis.read_source(options, opened)
    analysed = source_analysis.analyse_answers(found)
    assert background.take("analysed", state) == analysed
    assert background.take("profiles", state) == annotator_profiles(found.tables)
    assert background.take("calls", state) == source_analysis.count_calls(opened)
    assert background.take("answers", state).plan == found.plan
    assert background.take("sections", state)["answer"] == source_analysis.write_section(analysed, "answer")


def test_background_parts_in_page_order(watched: Path) -> None:
    """The parts come in the order in which the first page shows them."""
    parts: list[str] = []
    work(DashboardOptions(study=str(watched)), lambda part, _: parts.append(part))
    assert parts == [STATE, "analysed", "profiles", "calls", "answers", "sections"]


def test_nothing_is_taken_of_another_state(watched: Path) -> None:
    background = BackgroundAnalysis(said((STATE, "1/1/1/0"), ("profiles", ["old"])))
    assert background.take("profiles", "1/1/1/0") == ["old"]
    assert background.take("profiles", "2/1/1/0") is None


def test_background_process_end_is_noticed() -> None:
    """What was not said is not waited for once the process has ended."""
    whole = said((STATE, "1"), ("profiles", ["first"]), ("answers", "x" * 100)).getvalue()
    cut = BackgroundAnalysis(io.BytesIO(whole[:-20]))
    assert cut.take("profiles", "1") == ["first"]
    assert cut.take("answers", "1") is None
    assert BackgroundAnalysis(io.BytesIO()).take("analysed", "1") is None


def test_background_uses_settings_of_the_report(tmp_path: Path) -> None:
    """A folder of tables is analysed with the settings of its report."""
    rows = [f"{annotator},{item},{system},{1 + item}" for annotator in "ab" for item in range(2) for system in "xy"]
    (tmp_path / "ratings.csv").write_text("\n".join(["annotator_id,item_id,system,score", *rows]))
    found = source_analysis.read_source(DashboardOptions(tables=str(tmp_path)), None)
    shown = json.dumps(asdict(source_analysis.analyse_answers(found).results.settings))
    told = CliRunner().invoke(main, ["report", "--ratings", str(tmp_path / "ratings.csv"), "--json"])
    assert json.loads(shown) == json.loads(told.stdout)["settings"]


@pytest.mark.parametrize("name", ["ratings.csv", "downloaded.csv"])
def test_background_columns_are_recognised(tmp_path: Path, name: str) -> None:
    """Tables with columns of other names, in a folder or alone, are read as `spa report FILE` reads them."""
    rows = [f"{who},{item},{model},{score}" for score, (who, item, model) in enumerate(product("ab", "123", "xy"))]
    (tmp_path / name).write_text("\n".join(["Rater,Prompt #,Model,Fluency", *rows]))
    shown = tmp_path if name == "ratings.csv" else tmp_path / name
    found = source_analysis.read_source(DashboardOptions(tables=str(shown)), None)
    assert found.tables.ratings["criterion"].unique().to_list() == ["Fluency"]
    settings = json.dumps(asdict(source_analysis.analyse_answers(found).results.settings))
    told = CliRunner().invoke(main, ["report", str(tmp_path / name), "--json"])
    assert json.loads(settings) == json.loads(told.stdout)["settings"]


def test_dashboard_says_what_columns_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each column of tables is said with the option that corrects it, before anything is served."""
    served: list[object] = []
    monkeypatch.setattr("streamlit_app.background_analysis.begin", lambda options: options)
    monkeypatch.setattr("streamlit_app.serving.serve", lambda *given, **how: served.append(given))
    rows = [f"{who},{item},{model},{score}" for score, (who, item, model) in enumerate(product("ab", "123", "xy"))]
    (tmp_path / "r.csv").write_text("\n".join(["Rater,Prompt #,Model,Fluency", *rows]))
    told = CliRunner().invoke(main, ["dashboard", "--tables", str(tmp_path / "r.csv")])
    assert "r.csv: item: column Prompt # (3 items); else --map YOURS=item_id" in told.output
    assert told.output.startswith("r.csv: table: ratings\n")
    assert served
    (tmp_path / "r.csv").write_text("Rater,Prompt #,Fluency\na,1,3\nb,2,4\n")
    told = CliRunner().invoke(main, ["dashboard", "--tables", str(tmp_path / "r.csv")])
    assert (told.exit_code, len(served)) == (1, 1)
    assert "no column names the system" in told.output


def test_a_study_without_answers_ends_it_without_a_word(watched: Path, tmp_path: Path) -> None:
    for name in ("study.toml", "outputs.jsonl"):
        (tmp_path / name).write_bytes((watched.parent / name).read_bytes())
    study = tmp_path / "study.toml"
    typed(["build", str(study)])
    options = DashboardOptions(study=str(study))
    with open_workspace(study, read_only=True) as workspace:
        assert begin(options).take("analysed", source_analysis.state_of_source(options, workspace)) is None
    told = subprocess.run(
        [sys.executable, "-c", f"from streamlit_app.background_analysis import *; begin({options!r}).wait()"],
        check=True,
        capture_output=True,
    )
    assert told.stderr == b""
