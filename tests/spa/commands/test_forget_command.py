"""``spa forget``: what says who a person is leaves the file itself; the rest stays and still adds up."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import update

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.errors import ResponseError
from spa.journal import Journal
from spa.records.form import Form
from spa.responses.admission import SecondVisit
from spa.responses.erasure import forget as forget_visitor
from spa.responses.export import export_tables
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED
from spa.responses.store import Store
from spa.responses.store_schema import payloads, submissions
from spa.server.form_progress import FormProgress
from spa.widgets import TextAnswer
from tests.spa.responses.test_store import draws, submission_of
from tests.spa.server.served_study import build
from tests.spa.small_study import STUDY, raw_answer
from tests.spa.store_steps import save_payload

WITH_REASONS = STUDY.replace("against_source = true}", "against_source = true, reason = true}") + "\n[likert]\n"
INTERVIEW = '[[interview]]\nid = "standard"\nquestion = "What is your standard?"\n'
SECRETS = ("ada-5f3a2c9e", "visit-77aa", "My name is Ada Lovelace", "from-Lovelace-Street")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    path = build(tmp_path, WITH_REASONS.replace("likert.identical_pairs = 1\n", "") + INTERVIEW)
    with open_workspace(path) as opened:
        yield opened


def answer_all(workspace: Workspace, person: str, visit: str) -> Lease:
    """Answer a whole form with a free text on every page that has one, and a text where a number was expected."""
    store = workspace.store
    lease = store.visits.admit(source="panel", person=person, external_id=visit, now=1.0)
    form = workspace.form(lease.assignment_id)
    for page in form.pages:
        fields = {
            question.question_id: SECRETS[2] if isinstance(question.answer, TextAnswer) else raw_answer(question)
            for question in page.questions
        }
        if page.kind == "comparison":
            save_payload(store, lease.submission_id, page.page_id, json.dumps({**fields, "note": SECRETS[3]}))
        save_payload(store, lease.submission_id, page.page_id, json.dumps(fields))
    visited = FormProgress.from_payloads(form, lease, store.visits.payloads(lease.submission_id))
    return store.visits.finish(visited.submission(60.0, COMPLETED), COMPLETED, "C", now=60.0)


def forget(workspace: Workspace, *options: str) -> str:
    result = CliRunner().invoke(main, ["forget", str(Path(workspace.store.name).with_suffix(".toml")), *options])
    assert result.exit_code == 0, result.output
    return result.output


def on_disk(workspace: Workspace) -> bytes:
    name = Path(workspace.store.name)
    return b"".join(file.read_bytes() for file in name.parent.glob(name.name + "*"))


def test_nothing_is_deleted_without_yes(workspace: Workspace) -> None:
    answer_all(workspace, SECRETS[0], SECRETS[1])
    before = list(workspace.store.submissions()), list(workspace.store.visits.of_people())
    told = forget(workspace, "--person", SECRETS[0])
    assert "to be deleted" in told
    assert told.strip().endswith("run again with --yes")
    assert (list(workspace.store.submissions()), list(workspace.store.visits.of_people())) == before


def test_forget_names_and_texts_keeps_numbers(workspace: Workspace) -> None:
    """Names and free texts leave the disk and the numbers stay."""
    answer_all(workspace, SECRETS[0], SECRETS[1])
    other = answer_all(workspace, "bob", "visit-88")
    Journal(workspace.store).begin("panel", "study", "bonus", json.dumps({"person": SECRETS[0]}))
    before = export_tables(workspace.store)
    assert set(before.annotators["interview:standard"]) == {SECRETS[2]}
    assert all(secret.encode() in on_disk(workspace) for secret in SECRETS)
    account = json.loads(forget(workspace, "--person", SECRETS[0], "--yes", "--json"))
    assert (account["visits"], account["platform_names"], account["links"], account["answers"]) == (1, 2, 1, 0)
    assert account["pages"] > 1
    assert account["texts"] >= 1
    assert account["payments"] == 1
    with workspace.store.transaction() as connection:
        connection.exec_driver_sql("delete from journal")  # a record of money, which stays
    workspace.store.scrub()
    left = on_disk(workspace)
    assert [secret for secret in SECRETS[:2] if secret.encode() in left] == []
    assert all(text.encode() in left for text in SECRETS[2:])  # bob's
    after = export_tables(workspace.store)
    assert after.preferences.equals(before.preferences)
    assert after.annotators["interview:standard"].to_list() == [None, SECRETS[2]]
    assert after.ratings["score"].equals(before.ratings["score"])
    visit = workspace.store.visits.find("panel", SECRETS[1])
    assert visit is not None
    assert (visit.person, visit.token, visit.completed) == (None, None, True)
    bob = workspace.store.visits.find("panel", "visit-88")
    assert bob is not None
    assert (bob.person, bob.token) == ("bob", other.token)
    forget(workspace, "--person", bob.annotator_id, "--yes")
    assert [secret for secret in (*SECRETS, "visit-88") if secret.encode() in on_disk(workspace)] == []


def test_with_answers_the_place_goes_out_again(workspace: Workspace) -> None:
    lease = answer_all(workspace, SECRETS[0], SECRETS[1])
    account = json.loads(forget(workspace, "--submission", SECRETS[1], "--answers", "--yes", "--json"))
    assert account["answers"] > 10
    assert list(workspace.store.submissions()) == []
    assert workspace.store.visits.payloads(lease.submission_id) == ()
    assert workspace.store.visits.admit(source="panel", person="eve", now=70.0).assignment_id == lease.assignment_id
    assert [secret for secret in SECRETS if secret.encode() in on_disk(workspace)] == []


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--person", "nobody"), 1, "nobody: expected one person of this study, got nobody; "),
        ((), 2, "one of --person, --submission, --older-than and --simulated"),
        (("--older-than", "6 months"), 2, "expected a number of days such as 180d, got '6 months'"),
    ],
)
def test_a_mistake_is_told(workspace: Workspace, options: tuple[str, ...], code: int, said: str) -> None:
    path = str(Path(workspace.store.name).with_suffix(".toml"))
    result = CliRunner().invoke(main, ["forget", path, *options])
    assert (result.exit_code, said in result.output) == (code, True)


def test_forget_answers_on_both_databases(database: str) -> None:
    """On both databases the answers go and the person is known again."""

    def no_form(assignment_id: str) -> Form:
        raise AssertionError(assignment_id)

    with Store.create(database) as store:
        store.assignments.save("fingerprint", draws(1))
        lease = store.visits.admit(source="panel", person="ada", external_id="v1", now=1.0)
        save_payload(store, lease.submission_id, "p1", "{}")
        store.visits.finish(submission_of(lease), COMPLETED, "C", now=2.0)
        account = forget_visitor(store, person="ada", submission=None, forms=no_form, with_answers=True, apply=True)
        assert (account.visits, account.platform_names, account.pages) == (1, 2, 1)
        visit = store.visits.find("panel", "v1")
        assert visit is not None
        assert (visit.person, visit.outcome, visit.seat, visit.pages) == (None, "withdrawn", None, 0)
        assert list(store.submissions()) == []
        with pytest.raises(SecondVisit):
            store.visits.admit(source="panel", person="ada", external_id="v2", now=3.0)


@pytest.mark.parametrize("named", [("--person", SECRETS[0]), ("--submission", SECRETS[1])])
def test_deleted_is_said_only_when_the_disk_has_forgotten(
    workspace: Workspace, named: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = answer_all(workspace, SECRETS[0], SECRETS[1])
    monkeypatch.setattr("spa.responses.database.SCRUB_WAIT", 0.3)
    study = str(Path(workspace.store.name).with_suffix(".toml"))
    with closing(sqlite3.connect(workspace.store.name, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM tokens").fetchall()
        result = CliRunner().invoke(main, ["forget", study, *named, "--yes"])
        assert result.exit_code == 1
        assert "another program has been reading the store for 0.3 seconds" in result.output
        assert "run the same command again" in result.output
        assert "deleted:" not in result.output
        assert SECRETS[2].encode() in on_disk(workspace)  # the reader needs it
        reader.execute("COMMIT")
        assert "deleted:" in forget(workspace, *named, "--yes")
        gone = (*SECRETS, str(lease.token))
        assert [secret for secret in gone if secret.encode() in on_disk(workspace)] == []


def test_forget_personal_completion_code_alone(workspace: Workspace) -> None:
    """A completion code of a persons own goes and one of an outcome stays."""
    store = workspace.store
    shared = store.visits.outcome_codes("panel")["completed"]
    for person, code in (("ada", "HERS-ALONE"), ("bob", shared), ("eve", "EVERYBODYS"), ("kim", "EVERYBODYS")):
        visit = answer_all(workspace, person, f"visit of {person}")
        with store.transaction() as connection:
            own = submissions.c.submission_id == visit.submission_id
            connection.execute(update(submissions).where(own).values(completion_code=code))
    told = [json.loads(forget(workspace, "--person", person, "--yes", "--json")) for person in ("ada", "bob", "eve")]
    assert [account["codes"] for account in told] == [1, 0, 0]
    left = on_disk(workspace)
    assert b"HERS-ALONE" not in left
    assert shared.encode() in left


def test_forget_what_is_older_than_a_time(workspace: Workspace) -> None:
    """What is older than a time goes at once and the journal says when."""
    store, day = workspace.store, 86_400.0
    old = answer_all(workspace, SECRETS[0], SECRETS[1])
    with store.transaction() as connection:
        connection.execute(update(payloads).values(received_at=30.0))
    now = time.time()
    recent = store.visits.admit(source="panel", person="bob", external_id="visit-88", now=now - 179 * day)
    unused = store.new_token()
    exact = "--older-than", "180d"
    assert "visits of this person: 1; to be deleted" in forget(workspace, *exact)
    assert SECRETS[0].encode() in on_disk(workspace)
    account = json.loads(forget(workspace, *exact, "--yes", "--json"))
    assert (account["people"], account["visits"], account["platform_names"], account["done"]) == (1, 1, 2, True)
    assert account["texts"] >= 1
    left = on_disk(workspace)
    assert [secret for secret in (*SECRETS, str(old.token)) if secret.encode() in left] == []
    assert all(kept.encode() in left for kept in ("visit-88", str(recent.token), unused))
    (entry,) = Journal(store).every("forget")
    assert (entry.outcome, entry.facts["visits"], now <= entry.begun_at) == ("done", 1, True)
    assert "last active before" in entry.request
    told = forget(workspace, "--older-than", "170d", "--yes")
    assert "visits of 2 people: 2; deleted:" in told
    left = on_disk(workspace)  # nobody was active later, so that unused links are of no use either
    assert [kept for kept in ("visit-88", str(recent.token), unused) if kept.encode() in left] == []


def test_forget_in_postgresql_waits_for_readers(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL too forgets only when nobody reads what was deleted."""
    monkeypatch.setattr("spa.responses.database.SCRUB_WAIT", 0.3)
    with Store.create(postgres_url) as store:
        store.assignments.save("fingerprint", draws(1))
        store.visits.admit(source="panel", person="ada", external_id="v1", now=1.0)

        def forget_her() -> int:
            return forget_visitor(
                store,
                person="ada",
                submission=None,
                forms=lambda _: pytest.fail("no text"),
                with_answers=True,
                apply=True,
            ).visits

        with store._engine.connect().execution_options(isolation_level="REPEATABLE READ") as reader:
            reader.exec_driver_sql("SELECT * FROM people")
            with pytest.raises(ResponseError, match="keeps what was deleted; close that program"):
                forget_her()
        assert forget_her() == 1
