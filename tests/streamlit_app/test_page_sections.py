"""Pages of the dashboard without a browser: a room's own section is drawn by its entry alone, audits are followed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from analysis import rooms
from analysis.report.sections import section_ids
from spa.commands.live_lines import audit_line
from spa.commands.workspace import Workspace, open_workspace
from spa.live import live_states
from streamlit_app import loading, page_sections
from streamlit_app.access import DashboardAccess, Person, PrintedLink
from streamlit_app.background_analysis import BackgroundAnalysis
from streamlit_app.blinding import SHOWN
from streamlit_app.options import DashboardOptions
from tests.spa.rehearsed import spa
from tests.toys.top_box.contribution import CONTRIBUTION

testing = pytest.importorskip("streamlit.testing.v1")

ROWS = ["annotator_id,item_id,system,criterion,score"] + [
    f"{who},i{item},{system},style,{score}"
    for who, system, scores in (("ann", "x", (5, 5, 3)), ("ann", "y", (2, 4, 1)), ("ben", "x", (5, 4, 4)))
    for item, score in enumerate(scores)
]


def drawn(page: str) -> object:
    from importlib import import_module

    import_module(f"streamlit_app.views.{page}").show()
    return None


def words(app: testing.AppTest) -> str:
    """Return all that was sent to the browser."""
    return "\n".join(repr(each.proto) for each in app._tree if getattr(each, "proto", None) is not None)


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show a folder with a table of ratings, with the toy among the rooms."""
    (tmp_path / "ratings.csv").write_text("\n".join(ROWS))
    monkeypatch.setattr(rooms, "CONTRIBUTIONS", (*rooms.CONTRIBUTIONS, CONTRIBUTION))
    started_with(DashboardOptions(tables=str(tmp_path)), None, monkeypatch)


def started_with(options: DashboardOptions, workspace: Workspace | None, monkeypatch: pytest.MonkeyPatch) -> None:
    background = BackgroundAnalysis(io.BytesIO())
    access = DashboardAccess([PrintedLink(secret="own", person=Person(name=None, roles=frozenset({"read"})))], list)
    started = loading.Started(options=options, workspace=workspace, background=background, access=access)
    monkeypatch.setattr(loading, "_started", [started])
    monkeypatch.setattr(loading, "_secret", lambda: "own")


def test_toy_room_is_drawn_on_systems_and_report(tables: None) -> None:
    """From the answers to two pages of the dashboard, with no file of the product touched."""
    systems = testing.AppTest.from_function(drawn, kwargs={"page": "systems"}, default_timeout=120).run()
    assert not systems.exception, systems.exception
    (part,) = systems.get("button_group")
    assert page_sections.MORE in part.options
    assert "Top boxes" not in words(systems)
    part.set_value(page_sections.MORE).run()
    report = testing.AppTest.from_function(drawn, kwargs={"page": "report"}, default_timeout=120).run()
    for app in (systems, report):
        assert not app.exception, app.exception
        assert "Top boxes" in words(app)
        assert "50.0%" in words(app).partition("Top boxes")[2]


def test_pages_name_sections_that_there_are() -> None:
    """Each stands on one page beside the report's own, but for explanations, which both pages of raters show."""
    placed = [*page_sections.RATERS, *page_sections.CONTAMINATION, *page_sections.EXPLANATIONS]
    placed += [name for names in page_sections.SYSTEMS.values() for name in names]
    assert len(placed) == len(set(placed))
    assert set(placed) <= set(section_ids())


@pytest.mark.parametrize("rule", ["fixed", "when_decided"])
def test_an_audit_is_shown_as_its_status_says_it(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of the audit, and a row for each pair where the audit decides."""
    spa("init", tmp_path / "study", "--example", "audit")
    path = tmp_path / "study" / "study.toml"
    path.write_text(path.read_text().replace("[audit]", f'[audit]\ndraw = "unsure"\nrule = "{rule}"'))
    spa("build", path)
    with open_workspace(path) as workspace:
        started_with(DashboardOptions(study=str(path)), workspace, monkeypatch)
        assert loading.is_live()
        loading.live_groups.clear()  # of the other rule's study, whose store looks the same
        loading.live_history.clear()
        live = testing.AppTest.from_function(drawn, kwargs={"page": "live"}, default_timeout=120)
        live.session_state[SHOWN] = True
        live.run()
        (state,) = live_states(workspace.study, workspace.store)
        line = audit_line(workspace.study, state)
    assert not live.exception, live.exception
    assert line is not None
    assert line.endswith("simulated-rater has answered 0 of 160 forms")
    assert line in words(live).replace("\\", "")
    assert ("chance of any false decision" in words(live)) == (rule == "when_decided")
