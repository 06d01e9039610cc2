"""Who may do what on the dashboard, what is hidden before the study's end, and that the log says who asked."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.errors import ResponseError, SpaError
from spa.responses.dashboard_log import DashboardEntry, read_entries
from spa.responses.decisions import Decision
from spa.responses.reviewer_secrets import DashboardRole, read_reviewers
from spa.responses.store import Store
from streamlit_app import loading
from streamlit_app.access import DashboardAccess, Person, PrintedLink
from streamlit_app.background_analysis import BackgroundAnalysis
from streamlit_app.options import DashboardOptions
from streamlit_app.source_analysis import Analysed

testing = pytest.importorskip("streamlit.testing.v1")
pytestmark = [pytest.mark.one_process("dashboard")]  # where the study is built
PEOPLE: dict[str, tuple[str | None, tuple[DashboardRole, ...]]] = {
    "ana": ("Ana", ("read", "review", "export")),
    "ben": ("Ben", ("read", "review")),
    "cem": ("Cem", ("read",)),
    "nobody": (None, ("read", "export")),
}
SYSTEMS = ("Alpha", "Beta", "Gamma")


class Desk:
    """A dashboard without a server: whoever sits here is the person with this secret."""

    def __init__(self, study: Path) -> None:
        self.study = study
        self.secret = "nobody"

    def log(self) -> list[DashboardEntry]:
        """Return what was noted."""
        with (
            Store.open(self.study.with_suffix(".sqlite"), read_only=True) as store,
            store.reading() as connection,
        ):
            return read_entries(connection)


@pytest.fixture
def desk(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    found = Desk(copied)
    links = [
        PrintedLink(secret=secret, person=Person(name=name, roles=frozenset(roles)))
        for secret, (name, roles) in PEOPLE.items()
    ]
    with open_workspace(copied, read_only=True) as workspace:
        options = DashboardOptions(study=str(copied))
        access = DashboardAccess(links, lambda: [])
        background = BackgroundAnalysis(io.BytesIO())
        before = [*loading._started]
        loading.start(loading.Started(options=options, workspace=workspace, background=background, access=access))
        monkeypatch.setattr(loading, "_secret", lambda: found.secret)
        monkeypatch.setattr("streamlit_app.views.overview.link_to", lambda *_, **__: None)  # leads to another page
        yield found
        loading._started[:] = before


def drawn(page: str) -> object:
    from importlib import import_module

    import_module(f"streamlit_app.views.{page}").show()
    return None


def look(page: str) -> testing.AppTest:
    found = testing.AppTest.from_function(drawn, kwargs={"page": page}, default_timeout=120).run()
    assert not found.exception, found.exception
    return found


def words(app: testing.AppTest) -> str:
    """Return all that was sent to the browser: texts, tables, drawings, names of files."""
    return "\n".join(repr(each.proto) for each in app._tree if getattr(each, "proto", None) is not None)


@pytest.mark.parametrize("page", ["overview", "systems", "report", "raters", "submissions"])
def test_dashboard_hides_systems_until_asked(desk: Desk, page: str) -> None:
    """Systems and who wins are hidden until somebody asks which is noted."""
    desk.secret = "ben"
    app = look(page)
    assert not any(name in words(app) for name in SYSTEMS)
    assert "Who wins" not in words(app)
    asks = [button for button in app.button if button.label == "Show systems and results"]
    assert len(asks) == 1
    asks[0].click().run()
    assert not app.exception, app.exception
    assert any(name in words(app) for name in SYSTEMS)
    assert [(each.who, each.action) for each in desk.log()] == [("Ben", "show systems")]
    assert "Show systems and results" in words(look(page))  # of another session


def test_dashboard_hides_agreement_and_study_file(desk: Desk) -> None:
    """Neither agreement of raters nor the study file is given before somebody asks."""
    desk.secret = "ana"

    def raters(app: testing.AppTest) -> str:
        return str([*app.dataframe[0].value.columns])

    found: dict[str, Callable[[testing.AppTest], str]] = {"raters": raters, "plan": words}
    for page, said in (("raters", "Tau, "), ("plan", "Study file with these numbers")):
        app = look(page)
        assert said not in found[page](app)
        next(each for each in app.button if each.label == "Show systems and results").click().run()
        assert said in found[page](app)


def test_annotators_are_drawn_where_nobody_is_excluded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Analysed, "rules", {})
    app = look("annotators")
    assert "excluded" not in app.dataframe[0].value.columns
    assert "Show the distribution of" in words(app)


def test_nothing_is_hidden_once_all_places_are_done(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not loading.has_ended()
    monkeypatch.setattr(loading, "has_ended", lambda: True)
    assert "Show systems and results" not in words(look("systems"))
    assert desk.log() == []


@pytest.mark.parametrize("secret", ["cem", "nobody"])
def test_who_may_only_look_decides_nothing(desk: Desk, secret: str) -> None:
    desk.secret = secret
    visit = loading.visits()[0].submission_id
    for name in ("Ana", "spa dashboard", PEOPLE[secret][0] or "Cem"):
        decision = Decision(submission_id=visit, action="approve", reviewer=name, decided_at=1.0)
        with pytest.raises(ResponseError, match="does not allow decisions"):
            loading.decide(decision)
    with pytest.raises(ResponseError, match="does not allow decisions"):
        loading.freeze_plan()
    assert loading.decisions() == []
    assert "Approve" not in [button.label for button in look("submissions").button]


def test_nobody_decides_under_another_name(desk: Desk) -> None:
    desk.secret = "ben"
    visit = loading.visits()[0].submission_id
    decision = Decision(submission_id=visit, action="approve", reviewer="Ana", decided_at=1.0)
    with pytest.raises(ResponseError, match="under your own name"):
        loading.decide(decision)
    assert loading.decisions() == []
    assert "Approve" in [button.label for button in look("submissions").button]


def test_who_takes_a_file_away_is_noted_and_some_may_not(desk: Desk) -> None:
    desk.secret = "ana"
    take: Callable[[], str | bytes] = loading.logged("x.csv", lambda: "a,b")
    assert desk.log() == []  # offered is not taken
    desk.secret = "nobody"
    assert (take(), loading.logged("y.csv", lambda: b"c")()) == ("a,b", b"c")
    assert [(each.who, each.action, each.detail) for each in desk.log()] == [
        ("Ana", "export", "x.csv"),
        ("spa dashboard", "export", "y.csv"),
    ]
    for secret, said in (("ben", "does not allow downloads"), ("gone", "leads nowhere any more")):
        desk.secret = secret
        with pytest.raises(ResponseError, match=said):
            loading.logged("z.csv", lambda: "d")()
    assert len(desk.log()) == 2


def test_the_log_shows_who_did_what_and_is_taken_away(desk: Desk) -> None:
    from streamlit_app.views.log import log_csv

    desk.secret = "ana"
    visit = loading.visits()[0].submission_id
    loading.decide(
        Decision(submission_id=visit, action="exclude", reviewer="Ana", decided_at=1.0, rule="one key", note="=1+1")
    )
    loading.note("show systems")
    app = look("log")
    (table,) = app.dataframe
    assert table.value["Who"].tolist() == ["Ana", "Ana"]
    assert table.value["What"].tolist() == ["show systems", "1. leave out"]
    rows = list(csv.DictReader(io.StringIO(log_csv(loading.log_lines()))))
    assert [(row["who"], row["action"], row["submission_id"]) for row in rows] == [
        ("Ana", "exclude", visit),
        ("Ana", "show systems", ""),
    ]
    assert rows[0]["detail"] == "one key: =1+1"


def spa(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["dashboard", *map(str, arguments)])


def test_a_link_of_ones_own_is_printed_once(copied: Path) -> None:
    told = spa(copied, "--add-reviewer", "Ben", "--role", "review", "--role", "export", "--port", 9000)
    assert told.output.startswith("Ben: http://localhost:9000/?token=")
    renewed = spa(copied, "--renew-reviewer", "Ben", "--public-url", "https://lab.example/")
    assert renewed.output.startswith("Ben: https://lab.example/?token=")
    with Store.open(copied.with_suffix(".sqlite"), read_only=True) as store, store.reading() as connection:
        (ben,) = read_reviewers(connection)
    assert ben.roles == {"read", "review", "export"}
    access = DashboardAccess([], lambda: [ben])
    secrets = [said.output.split("token=")[1].split()[0] for said in (told, renewed)]
    assert [access.person(secret) is None for secret in secrets] == [True, False]
    assert "leads nowhere any more" in spa(copied, "--remove-reviewer", "ben").output


def test_who_has_a_link_of_their_own_is_not_played_by_another(copied: Path) -> None:
    spa(copied, "--add-reviewer", "Ben")
    refused = spa(copied, "--reviewer", "ben")
    assert isinstance(refused.exception, SpaError | SystemExit)
    said = str(refused.exception) + refused.output
    assert "--reviewer ben: has a link of their own" in said
    assert "--renew-reviewer ben" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--reviewer", "spa prolific"), "names with spa are those of commands"),
        (("--reviewer", "Ana", "--reviewer", "ANA"), "Ana and ANA are one name"),
        (("--reviewer", " "), "expected a name"),
        (("--add-reviewer", "A", "--remove-reviewer", "B"), "expected one of"),
        (("--role", "export"), "--role is for --add-reviewer"),
        (("--public-url", "lab.example"), "expected one such as https://"),
        (("--public-url", "https://lab.example/under/path"), "expected one such as https://"),
    ],
)
def test_options_that_say_nothing_together_are_refused(copied: Path, options: tuple[str, ...], said: str) -> None:
    refused = spa(copied, *options)
    assert refused.exit_code == 2
    assert said in refused.output


def test_tables_have_no_reviewers_of_their_own(tmp_path: Path) -> None:
    for options in (("--add-reviewer", "A"), ("--show-systems",)):
        assert "are for a STUDY" in spa("--tables", tmp_path, *options).output
