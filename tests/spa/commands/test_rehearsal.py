"""A rehearsal leaves no trace: simulated visits live in a store of their own, and real people find every place free."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from fastapi import FastAPI
from fastapi.testclient import TestClient

from analysis.answers.sidecars import explanations_name
from spa.cli import main
from spa.commands.simulate import serving
from spa.commands.workspace import Workspace, choose_store, open_workspace
from spa.errors import ResponseError
from spa.journal import Journal
from spa.responses.rehearsal import draw_rehearsal, rehearsal_target
from spa.responses.run_lock import exclusive_run
from spa.responses.store import Store
from spa.responses.two_reviewers import two_decide
from spa.server.app import create_app
from streamlit_app.options import DashboardOptions
from tests.conftest import need
from tests.spa.small_study import BEGINNING, raw_answer, write_study

PLACES = 3
STUDY = f"""{BEGINNING}
criteria = [{{id = "meaning", name = "meaning"}}]
people = {{annotators = {PLACES}, seconds_per_100_words = 0}}
likert = {{points = 5, outputs = "first"}}
"""
IN_IT = "Simulated visits in the study's own store, "


def typed(*words: object, code: int = 0) -> Result:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def first_line(*words: object) -> str:
    return typed(*words).output.splitlines()[0]


def built(folder: Path, text: str = STUDY, *more: object) -> Path:
    path = write_study(folder, text)
    typed("build", path, *more)
    return path


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a study that was rehearsed with people and a rater."""
    folder = tmp_path_factory.mktemp("rehearsed")
    study = built(folder)
    typed("simulate", study)
    typed("rate", study, "--simulate")
    return folder


@pytest.fixture
def study(once: Path, tmp_path: Path) -> Path:
    """Return a copy of the rehearsed study."""
    for path in once.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path / "study.toml"


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Return a study whose places are taken by simulated visits, as earlier releases left it."""
    path = built(tmp_path)
    with open_workspace(path) as workspace:
        app = create_app(workspace, annotator_kind="simulated", source="simulated")
        for _ in range(PLACES):
            answer(app, workspace)
    return path


def answer(app: FastAPI, workspace: Workspace, *, pages: int | None = None) -> int:
    """Come by the open link and answer some pages, or all; return how the first was met."""
    client = TestClient(app)
    page = client.post("/")
    if page.status_code != 200:
        return page.status_code
    token = str(page.url).rpartition("/a/")[2].partition("/")[0]
    lease = workspace.store.visits.of_token(token)
    assert lease is not None
    for each in workspace.form(lease.assignment_id).pages[:pages]:
        fields = {question.question_id: raw_answer(question) for question in each.questions}
        client.post(f"/a/{token}/p/{each.page_id}", data=fields)
    return 200


def test_real_people_find_every_place_free(study: Path) -> None:
    with open_workspace(study) as workspace:
        store = workspace.store
        assert list(store.visits.leases()) == []
        assert store.tokens() == store.tokens(personal=True)
        assert list(Journal(store).calls("llm", "simulated-rater/1/a00001")) == []
        app = create_app(workspace)
        assert [answer(app, workspace, pages=0) for _ in range(PLACES + 1)] == [200] * PLACES + [410]
    with open_workspace(study, rehearsal=True) as workspace:
        kinds = [lease.annotator_kind for lease in workspace.store.visits.leases()]
    assert sorted(kinds) == ["llm"] * PLACES + ["simulated"] * PLACES


def test_a_rehearsal_is_drawn_as_the_study_and_grows_with_it(study: Path) -> None:
    typed("build", study, "--annotators", PLACES + 2)
    with open_workspace(study) as workspace, open_workspace(study, rehearsal=True) as rehearsal:
        own, drawn = workspace.store, rehearsal.store
        assert len(drawn.assignments) == PLACES + 2
        assert list(drawn.assignments.drawn()) == list(own.assignments.drawn())
        assert not {*drawn.tokens()} & {*own.tokens()}
        assert drawn.keyed("somebody") != own.keyed("somebody")
        assert (drawn.live_rules, drawn.assignments.balancing) == (own.live_rules, own.assignments.balancing)
        assert drawn.meta("seed") == own.meta("seed")


@pytest.mark.parametrize("command", ["status", "report", "export"])
def test_report_of_a_rehearsal_says_so_first(study: Path, tmp_path: Path, command: str) -> None:
    """Without real answers the rehearsal is shown and the first line says so."""
    out = [] if command == "status" else ["--out", tmp_path / "out"]
    said = f"Rehearsal: this is what {study.with_name('study.rehearsal.sqlite')} holds; "
    assert first_line(command, study, *out) == f"{said}nobody has answered the study itself yet."
    if command != "status":
        assert (tmp_path / "out").is_dir()
    with open_workspace(study) as workspace:
        app = create_app(workspace)
        answer(app, workspace, pages=0)
        assert first_line(command, study, *out).endswith(" yet (1 have begun).")
        answer(app, workspace)
    assert not first_line(command, study, *out).startswith("Rehearsal")
    left_out = f"{said}{study.with_suffix('.sqlite')} is left out."
    assert first_line(command, study, *out, "--rehearsal") == left_out


def test_json_stays_json(study: Path) -> None:
    done = typed("status", study, "--json")
    assert json.loads(done.stdout)["completed"] == PLACES
    assert done.stderr.startswith("Rehearsal: ")


def test_the_tables_of_the_rehearsal_are_exported(study: Path, tmp_path: Path) -> None:
    typed("export", study, "--out", tmp_path / "tables")
    kinds = pl.read_csv(tmp_path / "tables" / "annotators.csv")["annotator_kind"]
    assert {*kinds} == {"simulated", "llm"}


def test_where_nothing_was_rehearsed_it_says_so(tmp_path: Path) -> None:
    study = built(tmp_path)
    done = typed("status", study, "--rehearsal", code=1).output.strip()
    assert done == f"spa: {study}: expected a rehearsal, got none yet; make one with `spa simulate {study}`"
    assert first_line("status", study).endswith("3 free")
    assert not study.with_name("study.rehearsal.sqlite").exists()


def test_rehearsal_of_another_version_is_left_out(study: Path) -> None:
    """The rehearsal of another version is left out and not gone on with."""
    study.write_text(study.read_text().replace("A small study", "Another study"))
    study.with_suffix(".sqlite").unlink()
    typed("build", study)
    rehearsal = study.with_name("study.rehearsal.sqlite")
    assert (
        first_line("status", study) == f"{rehearsal} is the rehearsal of another version of the study, and is left out."
    )
    for command in ("simulate", "status --rehearsal"):
        name, *more = command.split()
        done = typed(name, study, *more, code=1).output.strip()
        assert done.startswith(f"spa: {rehearsal}: expected the rehearsal of ")
        assert "remove it or move it away" in done


def test_the_rehearsal_of_a_larger_study_is_left_out(study: Path) -> None:
    study.with_suffix(".sqlite").unlink()
    typed("build", study, "--annotators", PLACES - 1)
    assert first_line("status", study).endswith("is the rehearsal of another version of the study, and is left out.")
    assert "rehearse again" in typed("simulate", study, code=1).output


def test_nothing_is_built_into_a_rehearsal_alone(study: Path) -> None:
    apart = study.with_name("study.rehearsal.sqlite")
    refused = typed("build", study, "--store", apart, "--annotators", 9, code=1).output
    assert "expected the store of the study, got its rehearsal" in refused


def test_a_rehearsal_may_be_named_itself(study: Path) -> None:
    rehearsal = study.with_name("study.rehearsal.sqlite")
    assert first_line("status", study, "--store", rehearsal) == f"Rehearsal: this is what {rehearsal} holds."
    typed("simulate", study, "--store", rehearsal)
    assert not study.with_name("study.rehearsal.rehearsal.sqlite").exists()


def test_a_rater_is_asked_and_paid_anew_after_its_rehearsal(study: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."simulated-rater"]\ninput = 100\noutput = 200\n')
    rehearsed = json.loads(typed("rate", study, "--simulate", "--dry-run", "--json", "--prices", prices).stdout)
    real = json.loads(
        typed("rate", study, "--rater", rater(tmp_path), "--dry-run", "--json", "--prices", prices).stdout
    )
    assert (rehearsed["finished"], real["finished"]) == (PLACES, 0)
    again = [*("rate", study, "--rater", rater(tmp_path), "--rehearsal"), "--dry-run", "--json", "--prices", prices]
    assert json.loads(typed(*again).stdout)["finished"] == PLACES


def rater(folder: Path) -> Path:
    path = folder / "rater.toml"
    path.write_text('id = "simulated-rater"\nmodel = "simulated-rater"\nbase_url = "http://127.0.0.1:9/v1"\n')
    return path


def test_simulated_annotators_go_to_no_server_of_the_study(study: Path, tmp_path: Path) -> None:
    with open_workspace(study) as workspace, serving(workspace) as address:
        refused = typed("simulate", study, "--url", address, code=1).output.strip()
        assert refused.endswith("start one with `spa serve STUDY --rehearsal`")
        assert list(workspace.store.visits.leases()) == []
    with open_workspace(study, rehearsal=True) as workspace, serving(workspace) as address:
        assert "nothing to do" in typed("simulate", study, "--url", address).output


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[FastAPI]:
    """Keep the applications that would be served."""
    apps: list[FastAPI] = []
    monkeypatch.setattr("spa.server.http_server.run", lambda app, *given, **named: apps.append(app))
    return apps


def test_serve_prints_no_link_that_nobody_can_use(earlier: Path, tmp_path: Path, served: list[FastAPI]) -> None:
    said = typed("serve", earlier, "--port", 0, "--links", tmp_path / "links.txt").output.splitlines()
    assert said[0].startswith(IN_IT)
    assert "open link: closed, all 3 places are taken (3 completed, 0 in progress); " in "\n".join(said)
    assert f"personal links: 3 in {tmp_path / 'links.txt'}; no place is left for 3 unused ones" in said
    assert len(served) == 1


def test_serve_says_what_of_the_open_link_is_reserved(tmp_path: Path, served: list[FastAPI]) -> None:
    study = built(tmp_path)
    links = ("--links", tmp_path / "links.txt")
    reserved = "open link: closed, 3 places are reserved for personal links; --reserve N changes that"
    assert reserved in typed("serve", study, "--port", 0, *links).output
    some = typed("serve", study, "--port", 0, "--reserve", 1).output.splitlines()
    assert some[1].startswith("open link: http")
    assert some[2] == "1 places are reserved for personal links; --reserve N changes that"


def test_a_rehearsal_is_served_apart(study: Path, served: list[FastAPI]) -> None:
    with open_workspace(study) as workspace:
        own = {lease.submission_id for lease in workspace.store.visits.leases()}
    typed("build", study, "--annotators", PLACES + 1)
    said = typed("serve", study, "--port", 0, "--rehearsal").output.splitlines()
    assert said[0].startswith("Rehearsal: ")
    assert f"answers are saved in {study.with_name('study.rehearsal.sqlite')}" in said[1]
    with open_workspace(study, rehearsal=True) as workspace:
        app = create_app(workspace, annotator_kind="simulated")
        assert TestClient(app).get("/health").json()["rehearsal"] is True
        answer(app, workspace)
        assert sorted(visit.source for visit in workspace.store.visits.of_people()) == ["link", *["simulated"] * PLACES]
    with open_workspace(study) as workspace:
        assert TestClient(create_app(workspace)).get("/health").json()["rehearsal"] is False
        assert {lease.submission_id for lease in workspace.store.visits.leases()} == own


def test_rehearsal_stores_of_earlier_releases(earlier: Path, tmp_path: Path) -> None:
    """What earlier releases left keeps working and is freed on request."""
    frees = "deletes them and frees their places."
    takes = f"{IN_IT}{earlier.with_suffix('.sqlite')}: 3; `spa forget {earlier} --simulated` {frees}"
    assert typed("status", earlier).output.splitlines()[:2] == [
        takes,
        "A small study: 3 of 3 submitted, 0 in progress, 0 free",
    ]
    assert first_line("report", earlier, "--out", tmp_path / "report") == takes
    assert json.loads((tmp_path / "report" / "results.json").read_text())["groups"][0]["group"] == "simulated"
    told = typed("forget", earlier, "--simulated").output.splitlines()
    assert told == ["simulated visits to be deleted: 3", "Nothing has been deleted: run again with --yes"]
    assert first_line("status", earlier) == takes
    with open_workspace(earlier) as workspace:
        links = workspace.store.tokens(personal=True)
    assert first_line("forget", earlier, "--simulated", "--yes") == "simulated visits deleted, with their answers: 3"
    with open_workspace(earlier) as workspace:
        assert workspace.store.tokens(personal=True) == workspace.store.tokens() == links
        app = create_app(workspace)
        assert [answer(app, workspace) for _ in range(PLACES + 1)] == [200] * PLACES + [410]
    assert not first_line("status", earlier).startswith("Simulated")


def test_only_simulated_visits_are_deleted(earlier: Path) -> None:
    typed("build", earlier, "--annotators", PLACES + 1)
    with open_workspace(earlier) as workspace:
        answer(create_app(workspace), workspace)
        kept = [visit for visit in workspace.store.submissions() if visit.annotator_kind == "human"]
        assert len(kept) == 1
    typed("forget", earlier, "--simulated", "--yes")
    with open_workspace(earlier) as workspace:
        assert list(workspace.store.submissions()) == kept


def test_a_rehearsal_takes_nobodys_turn_in_a_family(tmp_path: Path) -> None:
    family = 'family = "small", family_store = "family.sqlite"'
    study = built(tmp_path, STUDY.replace("people = {", f"people = {{{family}, "))
    with open_workspace(study, rehearsal=True) as workspace:
        create_app(workspace, annotator_kind="simulated")
        assert not list(tmp_path.glob("family.sqlite"))
    with open_workspace(study) as workspace:
        create_app(workspace)
        assert list(tmp_path.glob("family.sqlite"))


@pytest.mark.parametrize(
    ("store", "rehearsal"),
    [
        ("a/study.sqlite", "a/study.rehearsal.sqlite"),
        ("answers", "answers.rehearsal"),
        ("sqlite:///a/b.db", "a/b.rehearsal.db"),
        ("postgresql://spa:secret@h/x", "postgresql+psycopg://spa:secret@h/x?options=-csearch_path%3Drehearsal"),
        (
            "postgresql://h/x?options=-csearch_path%3Dpilot",
            "postgresql+psycopg://h/x?options=-csearch_path%3Dpilot_rehearsal",
        ),
    ],
)
def test_where_a_rehearsal_is(store: str, rehearsal: str) -> None:
    assert str(rehearsal_target(store)) == rehearsal


def test_other_options_of_a_server_are_not_lost_in_silence() -> None:
    with pytest.raises(ResponseError, match="expected options=-csearch_path=NAME alone"):
        rehearsal_target("postgresql://h/x?options=-cstatement_timeout%3D5")


def test_in_postgresql_a_rehearsal_has_a_schema_of_its_own(tmp_path: Path, postgres_url: str) -> None:
    study = built(tmp_path, STUDY, "--store", postgres_url)
    typed("simulate", study, "--store", postgres_url)
    beside = rehearsal_target(postgres_url)
    with Store.open(postgres_url) as own, Store.open(beside) as drawn:
        assert list(own.visits.leases()) == []
        assert len(list(drawn.visits.leases())) == PLACES
        assert list(drawn.assignments.drawn()) == list(own.assignments.drawn())
        draw_rehearsal(own, beside)
        with exclusive_run(drawn.name, "judge", drawn.reading), exclusive_run(own.name, "judge", own.reading):
            pass  # a rehearsal keeps no rater of the study waiting
    assert choose_store(study, postgres_url, rehearsal=None).target == beside
    assert first_line("status", study, "--store", postgres_url).startswith("Rehearsal: ")


def test_rehearsal_files_count_in_its_own_report_alone(study: Path) -> None:
    """What a rehearsal wrote beside the study is taken up by its own report alone."""
    beside = study.with_name("explanations.json")
    with open_workspace(study) as own, open_workspace(study, rehearsal=True) as drawn:
        assert explanations_name(own) == beside.name
        assert explanations_name(drawn) == "explanations.rehearsal.json"


def test_rehearsal_dashboard_has_the_studys_reviewers(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dashboard shows the rehearsal and two reviewers are those of the study."""
    need("streamlit")
    shown: list[DashboardOptions] = []
    monkeypatch.setattr("streamlit_app.background_analysis.begin", lambda options: None)
    monkeypatch.setattr("streamlit_app.serving.serve", lambda options, *given, **named: shown.append(options))
    rehearsal = str(study.with_name("study.rehearsal.sqlite"))
    assert first_line("dashboard", study, "--two-reviewers").startswith("Rehearsal: ")
    assert (shown[0].store, (shown[0].notice or "").startswith("Rehearsal: ")) == (rehearsal, True)
    assert shown[0].instead_of == str(study.with_suffix(".sqlite"))
    with open_workspace(study) as workspace:
        with workspace.store.reading() as connection:
            assert two_decide(connection)
        answer(create_app(workspace), workspace)
    assert "Rehearsal" not in typed("dashboard", study).output
    assert (shown[1].store, shown[1].notice) == (None, None)
    assert typed("dashboard", study, "--rehearsal").output.endswith("is left out.\n")
    assert (shown[2].store, shown[1].instead_of, shown[2].instead_of) == (rehearsal, None, None)


def test_dashboard_says_study_overtook_rehearsal(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An open dashboard says when the study has overtaken its rehearsal."""
    need("streamlit")
    from streamlit_app import loading

    own, apart = study.with_suffix(".sqlite"), study.with_name("study.rehearsal.sqlite")
    options = DashboardOptions(study=str(study), store=str(apart), notice="Rehearsal", instead_of=str(own))
    monkeypatch.setattr(loading, "options", lambda: options)
    with open_workspace(study, str(apart)) as rehearsed, open_workspace(study) as workspace:
        monkeypatch.setattr(loading, "workspace", lambda: rehearsed)
        assert (loading._notice_by_now.__wrapped__() or "").endswith("nobody has answered the study itself yet.")
        answer(create_app(workspace), workspace)
        assert "the study itself has answers by now" in (loading._notice_by_now.__wrapped__() or "")


def test_two_that_make_the_rehearsal_at_once_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = built(tmp_path)
    beside = study.with_name("study.rehearsal.sqlite")
    exists = Store.exists
    with Store.open(study.with_suffix(".sqlite")) as own:
        draw_rehearsal(own, beside)
        looked: list[bool] = []

        def late(target: Path) -> bool:
            looked.append(exists(target))
            return len(looked) > 1  # the first look was before the other was done

        monkeypatch.setattr(Store, "exists", late)
        draw_rehearsal(own, beside)
    assert len(looked) == 2
