"""A live study on its server: later forms leave out what is decided, and nobody new comes once all is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi import FastAPI
from fastapi.responses import Response
from fastapi.testclient import TestClient

from spa import live
from spa.cli import main
from spa.commands.workspace import Workspace, open_workspace
from spa.elicitation.spa import PreferenceTarget
from spa.errors import StudyError
from spa.live import Decision, LiveDecisions, LiveFollower, LivePair, LiveState
from spa.records.form import Form
from spa.records.study import Study
from spa.responses.export import export_tables
from spa.responses.store import Store
from spa.responses.tidy_tables import Tables
from spa.server.app import create_app
from spa.server.survey_context import SurveyContext
from spa.study.load import load_study
from spa.study.narrowing import Respondents
from spa.study.stopping import deciding_answers, deciding_criteria, deciding_pairs, planned_annotators, planned_places
from tests.spa.hand_made import ASKED
from tests.spa.small_study import STUDY, SYSTEMS, answer_form, write_study
from tests.spa.store_steps import complete, lease_assignment, lease_for_rater

WHEN_DECIDED = '[stopping]\nrule = "when_decided"\nleast = 2\n'
LIVE = f'{STUDY}\n{WHEN_DECIDED}counted = "completed"\n'
CHAIN = (("beta", "alpha"), ("gamma", "beta"))


def state_after(study: Study, store: Store, decided: dict[tuple[str, str], int]) -> LiveState:
    """Return a state in which each pair is decided once so many people have completed."""
    units = store.visits.count_completed()

    def decision(pair: tuple[str, str]) -> Decision | None:
        return "x" if units >= decided[pair] else None

    pairs = tuple(
        LivePair(
            criterion="overall", exposure=4, system_x=x, system_y=y, n=units, mean=0.7, low=0, high=1,
            decision=decision((x, y)), decided_after=decided[x, y] if decision((x, y)) else None,
        )
        for x, y in CHAIN
    )  # fmt: skip
    return LiveState(
        group="human", answers="preferences", units=units, excluded=0, most=planned_annotators(study), pairs=pairs
    )


@dataclass
class Scripted:
    """An analysis that decides each pair once so many people have completed, and follows nothing."""

    decided: dict[tuple[str, str], int]

    def __call__(
        self, study: Study, store: Store, exported: Tables | None = None, *, now: float | None = None
    ) -> list[LiveState]:
        """Return the state of people."""
        return [state_after(study, store, self.decided)]

    def follow(self, study: Study, store: Store, group: str) -> LiveFollower:
        """Return what looks at the whole store each time."""
        analysis = self

        class Follower:
            def decisions(self, now: float) -> LiveDecisions | None:
                return analysis(study, store)[0].decisions

        return Follower()


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[tuple[str, str], int]], None]:
    def patch(decided: dict[tuple[str, str], int]) -> None:
        monkeypatch.setattr(live, "_analyses", lambda: [Scripted(decided)])

    return patch


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    path = write_study(tmp_path, LIVE)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    return open_workspace(path)


def pairs_of(
    workspace: Workspace, form: Form, assignment_id: str, respondents: Respondents = "people"
) -> set[frozenset[str]]:
    systems = workspace.store.assignments.key(assignment_id, respondents).systems
    targets = [each.target for each in form.questions("everybody") if isinstance(each.target, PreferenceTarget)]
    return {frozenset((systems[target.label_x], systems[target.label_y])) for target in targets}


def platform(app: FastAPI, context: SurveyContext) -> None:
    """Admit people to whom a platform has given a place."""

    @app.get("/platform")
    def enter(person: str) -> Response:
        return context.admit(source="platform", person=person, external_id=person, has_place=True)


def answer(workspace: Workspace, client: TestClient, number: int) -> set[frozenset[str]]:
    """Let a person come and answer everything; returns the pairs that the form asked about."""
    token = workspace.store.tokens()[number]
    client.post(f"/a/{token}").raise_for_status()
    lease = lease_assignment(
        workspace.store, workspace.store.keyed(token), source="link", annotator_kind="human", token=token
    )
    form = workspace.form(lease.assignment_id)
    complete(workspace.store, answer_form(lease, form), completion_code="code")
    return pairs_of(workspace, form, lease.assignment_id)


def test_live_forms_leave_out_decided_pairs(
    workspace: Workspace, decide: Callable[[dict[tuple[str, str], int]], None]
) -> None:
    """Later forms leave out what is decided and nobody comes once all is."""
    first, second = (frozenset(pair) for pair in CHAIN)
    decide({CHAIN[0]: 2, CHAIN[1]: 4})
    with workspace, TestClient(create_app(workspace, adapters=[platform])) as client:
        early = workspace.store.tokens()[5]
        client.post(f"/a/{early}")  # has the whole form, and keeps it
        assert [answer(workspace, client, number) for number in range(4)] == [{first, second}] * 2 + [{second}] * 2
        refused = client.post(f"/a/{workspace.store.tokens()[4]}")
        assert refused.status_code == 410
        at_work = client.get("/platform?person=p1", follow_redirects=False)  # whose place is paid for
        assert at_work.status_code == 303
        kept = client.post(f"/a/{early}")
        assert kept.status_code == 200
        lease = lease_assignment(
            workspace.store, workspace.store.keyed(early), source="link", annotator_kind="human", token=early
        )
        form = workspace.form(lease.assignment_id)
        assert pairs_of(workspace, form, lease.assignment_id) == {first, second}
        shown = {label for block in workspace.store.assignments.draw("a00004")[0].blocks for label in block.labels}
        systems = workspace.store.assignments.key("a00004").systems
        assert {systems[label] for label in shown} == {"beta", "gamma"}


def test_live_llm_assignment_narrowed_for_people(workspace: Workspace) -> None:
    """An assignment that an LLM began is narrowed for people alone."""
    first, second = (frozenset(pair) for pair in CHAIN)
    with workspace:
        lease = lease_for_rater(workspace.store, "gpt", "a00001", ASKED)
        assert workspace.store.assignments.leave_out([CHAIN[0]]) == 6
        assert pairs_of(workspace, workspace.form("a00001"), "a00001") == {second}
        whole = workspace.form("a00001", respondents="llm")
        assert pairs_of(workspace, whole, "a00001", "llm") == {first, second}
        answered = replace(answer_form(lease, whole), asked=ASKED)
        complete(workspace.store, answered, completion_code="rater")
        rows = export_tables(workspace.store).preferences
        assert {frozenset(pair) for pair in rows.select("system_x", "system_y").rows()} == {first, second}


def test_live_form_made_earlier_leaves_out_decided(workspace: Workspace) -> None:
    """A form that was made already leaves out what is decided since."""
    with workspace:
        whole = workspace.form("a00002")
        assert workspace.form("a00002") is whole
        workspace.store.assignments.leave_out([CHAIN[1]])
        assert pairs_of(workspace, workspace.form("a00002"), "a00002") == {frozenset(CHAIN[0])}


def test_what_is_left_out_survives_and_the_draw_goes_on(tmp_path: Path, workspace: Workspace) -> None:
    with workspace:
        assert workspace.store.assignments.leave_out([CHAIN[0]]) == 6
        assert workspace.store.assignments.leave_out([CHAIN[0]]) == 0
    built = CliRunner().invoke(main, ["build", str(tmp_path / "study.toml"), "--annotators", "8"])
    assert built.exit_code == 0, built.output
    with open_workspace(tmp_path / "study.toml") as again:
        stored = list(again.store.assignments)
        assert [len(each.comparisons) for each in stored] == [1] * 6 + [2] * 2
        assert again.store.assignments.leave_out(CHAIN) == 8
        assert not any(each.comparisons for each in again.store.assignments)


def test_a_study_of_fixed_size_has_no_state(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    CliRunner().invoke(main, ["build", str(path)])
    with open_workspace(path) as workspace:
        assert live.live_states(workspace.study, workspace.store) == ()
        assert live.narrow(workspace.study, workspace.store) is None


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", ("preferences", ("overall",), CHAIN, 6)),
        ('answers = "choices"\ncriteria = ["meaning"]\nmost = 4', ("choices", ("meaning",), CHAIN, 4)),
        ('answers = "ratings"', ("ratings", ("overall",), tuple(combinations(SYSTEMS, 2)), 6)),
    ],
)
def test_what_decides_follows_from_the_study(tmp_path: Path, more: str, found: tuple[object, ...]) -> None:
    study = load_study(write_study(tmp_path, LIVE + more))
    assert (
        deciding_answers(study),
        deciding_criteria(study),
        deciding_pairs(study),
        planned_annotators(study),
    ) == found
    assert planned_places(study) == 6  # excluded people are replaced while there are places


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            STUDY + "[stopping]\nleast = 9",
            '[stopping] least: expected rule = "when_decided" beside it, got "fixed"',
        ),
        (LIVE + 'criteria = ["hue"]', '[stopping] criteria: expected "meaning" or "overall", got "hue"'),
        (LIVE.replace("least = 2", "least = 7"), "[stopping] least: expected at most 6, the most annotators, got 7"),
        (
            LIVE.replace("annotators = 6", "annotators = 6, per_assignment = 2"),
            '[stopping] rule = "when_decided": expected [people] per_assignment = 1 and sessions = 1, got more',
        ),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = write_study(tmp_path, text)
    with pytest.raises(StudyError) as refused:
        load_study(path)
    assert said in str(refused.value)
