"""Rejections: only within the rules, only by a person's decision, and never for being left out of the analysis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from spa.platforms.review import rules_for
from spa.responses.decisions import Decision, add_decision
from tests.prolific.conftest import running
from tests.prolific.running_study import Running, Visitor, running_study

MESSAGE = (
    "Both questions that ask for a certain answer were answered otherwise, although the first page says that they are "
    "there and what they are for. Please write to us if you see this differently."
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("rejecting")
    with running(folder / "platform.sqlite") as emulator, running_study(folder, emulator, places=40) as study:
        yield study, study.publish()


def waiting(study: Running, study_id: str, **answers: str) -> Visitor:
    visitor = study.arrive(study_id)
    visitor.answer(**answers)
    visitor.hand_in()
    return visitor


def claimed(study: Running, study_id: str) -> Visitor:
    visitor = study.arrive(study_id)
    visitor.open()
    visitor.hand_in(study.workspace.store.visits.outcome_codes("prolific")["completed"])
    return visitor


def written(folder: Path, submission: str, category: str, message: str = MESSAGE, more: str = "") -> str:
    path = folder / "rejections.toml"
    path.write_text(
        f'[[rejections]]\nsubmission = "{submission}"\nreject = true\ncategory = "{category}"\n'
        f'message = "{message}"\n{more}\n'
    )
    return str(path)


def status_of(study: Running, visitor: Visitor) -> str:
    return str(study.emulator.people.see(visitor.submission_id)["status"])


def test_reject_proposals_need_a_person(study: tuple[Running, str], tmp_path: Path) -> None:
    """A proposal is decided by a person before anything is sent."""
    running, study_id = study
    visitor = claimed(running, study_id)
    file = tmp_path / "proposed.toml"
    assert running.json("reject", "--propose", str(file))["file"] == str(file)
    text = file.read_text()
    assert visitor.submission_id in text
    assert "reject = true" not in re.sub(r"#.*", "", text)
    assert "0 comply with the rules" in running.spa("reject", "--from", str(file)).output
    own = text.index(visitor.submission_id)
    file.write_text(text[:own] + text[own:].replace("reject = false", "reject = true", 1))
    assert "Nothing was rejected; 1 comply with the rules" in running.spa("reject", "--from", str(file)).output
    assert status_of(running, visitor) == "AWAITING REVIEW"
    (dry,) = running.json("reject", "--from", str(file))
    assert (dry["submission_id"], dry["status"]) == (visitor.submission_id, None)
    assert running.json("reject", "--from", str(file), yes=True) == [dry | {"status": "REJECTED"}]
    assert status_of(running, visitor) == "REJECTED"
    running.spa("reject", "--from", str(file), yes=True)
    assert len([one for one in running.emulator.people.requests("TransitionSubmission")]) == 1
    assert "it may hold decisions" in running.spa("reject", "--propose", str(file), code=1).stderr
    running.json("reject", "--propose", str(tmp_path / "again.toml"))
    assert visitor.submission_id not in (tmp_path / "again.toml").read_text()  # nor whoever else was reviewed


@pytest.mark.parametrize(
    ("answers", "category", "told"),
    [
        ({}, "NO_DATA", "complete answers are here"),
        ({}, "BAD_CODE", "complete answers are here"),
        ({}, "TOO_QUICKLY", "not exceptionally short"),
        ({"check": "table"}, "FAILED_CHECK", "expected 2 failed attention checks, got 1"),
        ({}, "MALINGERING", "ask for a return instead"),
        ({}, "LOW_EFFORT", "states word for word"),
        ({"screening": "No"}, "LOW_EFFORT", "may not be rejected"),
    ],
)
def test_what_the_rules_do_not_allow_is_not_sent(
    study: tuple[Running, str], tmp_path: Path, answers: dict[str, str], category: str, told: str
) -> None:
    running, study_id = study
    visitor = waiting(running, study_id, **answers)
    result = running.spa("reject", "--from", written(tmp_path, visitor.submission_id, category), yes=True, code=1)
    assert told in result.stderr
    assert status_of(running, visitor) == "AWAITING REVIEW"


def test_a_short_message_is_not_sent(study: tuple[Running, str], tmp_path: Path) -> None:
    running, study_id = study
    visitor = claimed(running, study_id)
    file = written(tmp_path, visitor.submission_id, "NO_DATA", message="Bad work.")
    assert "at least 100 characters" in running.spa("reject", "--from", file, yes=True, code=1).stderr
    assert status_of(running, visitor) == "AWAITING REVIEW"


def test_one_rejection_that_breaks_the_rules_holds_all_back(study: tuple[Running, str], tmp_path: Path) -> None:
    running, study_id = study
    fair, unfair = claimed(running, study_id), waiting(running, study_id)
    file = Path(written(tmp_path, fair.submission_id, "NO_DATA"))
    file.write_text(file.read_text() + file.read_text().replace(fair.submission_id, unfair.submission_id))
    running.spa("reject", "--from", str(file), yes=True, code=1)
    assert {status_of(running, fair), status_of(running, unfair)} == {"AWAITING REVIEW"}


def test_reject_low_effort_needs_evidence(study: tuple[Running, str], tmp_path: Path) -> None:
    """Low effort needs a requirement of the study and what was seen."""
    running, study_id = study
    visitor = waiting(running, study_id)
    more = 'requirement = "read and compare short texts"\nseen = "All answers are the same, and the texts differ much."'
    running.spa("reject", "--from", written(tmp_path, visitor.submission_id, "LOW_EFFORT", more=more), yes=True)
    assert status_of(running, visitor) == "REJECTED"


def test_reject_proposed_by_reviewer_is_not_approved(study: tuple[Running, str], tmp_path: Path) -> None:
    """Whom a reviewer proposed is not approved and stands in the proposals."""
    running, study_id = study
    visitor = waiting(running, study_id)
    visit = running.workspace.store.visits.find("prolific", visitor.submission_id)
    assert visit is not None
    with running.workspace.store.transaction() as connection:
        decision = Decision(
            submission_id=visit.submission_id,
            action="propose_rejection",
            reviewer="Ana",
            decided_at=0.0,
            rule="LOW_EFFORT",
            note=MESSAGE,
        )
        add_decision(connection, decision)
    assert visitor.submission_id in running.json("approve")[0]["to_look_at"]
    file = tmp_path / "proposed.toml"
    running.spa("reject", "--propose", str(file))
    assert visitor.submission_id in file.read_text()
    assert "Ana" in file.read_text()


def test_whom_the_analysis_leaves_out_is_approved(study: tuple[Running, str]) -> None:
    """A failed attention check leaves the answers out; it does not withhold the pay."""
    running, study_id = study
    visitor = waiting(running, study_id, check="table")
    assert visitor.submission_id in running.json("approve")[0]["to_approve"]


def test_asking_for_a_return_and_writing_happen_once(study: tuple[Running, str]) -> None:
    running, study_id = study
    visitor = claimed(running, study_id)
    for _ in range(2):
        running.spa("message", "--to", visitor.submission_id, "--ask-return", "--text", "No answers came.", yes=True)
        running.spa("message", "--to", visitor.person, "--text", "Did something break?", yes=True)
    assert running.emulator.people.see(visitor.submission_id)["return_requested"] is not None
    assert len(running.emulator.people.requests("RequestSubmissionReturn")) == 1
    got = running.emulator.people.do("GET", f"participants/{visitor.person}/messages/")["results"]
    assert [one["body"] for one in got].count("Did something break?") == 1


def test_the_dashboard_is_given_the_rules() -> None:
    rules = rules_for("prolific")
    assert rules is not None
    assert rules.shortest_message == 100
    assert "FAILED_CHECK" in rules.categories
