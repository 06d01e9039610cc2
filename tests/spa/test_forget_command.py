"""``spa forget``: what says who a person is leaves the file itself; the rest stays and still adds up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.forms.form import Form, TextAnswer
from spa.journal import Journal
from spa.responses.admission import SecondVisit
from spa.responses.erasure import forget as forget_visitor
from spa.responses.export import export_tables
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED
from spa.responses.store import Store
from spa.server.form_progress import FormProgress
from tests.spa.small_study import STUDY, raw_answer
from tests.spa.store_steps import save_payload
from tests.spa.test_server import build
from tests.spa.test_store import draws, submission_of

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


def test_names_and_free_texts_leave_the_disk_and_the_numbers_stay(workspace: Workspace) -> None:
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
        ((), 2, "either --person or --submission"),
    ],
)
def test_a_mistake_is_told(workspace: Workspace, options: tuple[str, ...], code: int, said: str) -> None:
    path = str(Path(workspace.store.name).with_suffix(".toml"))
    result = CliRunner().invoke(main, ["forget", path, *options])
    assert (result.exit_code, said in result.output) == (code, True)


def test_on_both_databases_the_answers_go_and_the_person_is_known_again(database: str) -> None:
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
