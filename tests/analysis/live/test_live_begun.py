"""Live decisions count people in the order in which they began; stores of the last release as they completed."""

from __future__ import annotations

import json
import pickle
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from analysis.answers.options import Reading
from analysis.answers.preregistration import FrozenPlan, deviations, frozen_plan, planned_for
from analysis.answers.study_answers import answers_of
from analysis.answers.tables import AnswerTables, check_frames
from analysis.live.state import live_states
from analysis.live.unit_matrix import UnitMatrix, unit_matrices
from analysis.results.analyse import analyse
from spa.cli import main
from spa.commands.live_lines import live_lines
from spa.commands.workspace import Workspace, open_workspace
from spa.errors import StudyError
from spa.forms.effort import minutes_of
from spa.live import LiveProgress, live_state
from spa.responses.admission import AdmissionRules
from spa.responses.export import export_tables
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED, RETURNED
from spa.server.app import create_app
from spa.server.survey_context import SurveyContext
from tests.analysis.live.test_live_state import LIVE, varied
from tests.calibration.arrival import ARRIVALS, study
from tests.spa.small_study import answer_form, write_study

MINUTES = 10.0
START = 1_000_000.0
RULES = AdmissionRules(late_counts=False)


def built(folder: Path, text: str = LIVE, *, old: bool = False) -> Path:
    """Build a study, as the last release did it where ``old``."""
    path = write_study(folder, text)
    result = CliRunner().invoke(main, ["build", str(path)])
    assert result.exit_code == 0, result.output
    if old:
        with closing(sqlite3.connect(path.with_suffix(".sqlite"))) as file, file:
            assert file.execute("DELETE FROM meta WHERE name = 'live_rules'").rowcount == 1
    return path


def begin(workspace: Workspace, people: Sequence[str], *, at: float = START) -> list[Lease]:
    """Let people begin one second after another."""
    admit = workspace.store.visits.admit
    return [
        admit(source="link", person=person, external_id=person, minutes_allowed=MINUTES, rules=RULES, now=at + place)
        for place, person in enumerate(people)
    ]


def end(workspace: Workspace, lease: Lease, *, at: float, rules: AdmissionRules = RULES) -> None:
    """Let a person hand in random answers of their own."""
    form, rng = workspace.form(lease.assignment_id), np.random.default_rng(int(lease.assignment_id[1:]))
    raw = {one.question_id: answer for one in form.questions("people") if (answer := varied(one, rng))}
    submission = answer_form(lease, form, **raw)
    workspace.store.visits.finish(submission, COMPLETED, "code", now=at, rules=rules)


def matrix_of(workspace: Workspace, now: float) -> UnitMatrix | None:
    """Return what the people of a study said who count by then."""
    return next(iter(unit_matrices(workspace.study, workspace.store, now=now)), None)


@pytest.mark.parametrize("old", [False, True])
def test_the_check_says_who_counts(tmp_path: Path, old: bool) -> None:
    said = " ".join(CliRunner().invoke(main, ["check", str(built(tmp_path, old=old))]).output.split())
    assert "until every pair is decided" in said
    assert ("counted as they began" in said) is not old


@pytest.mark.parametrize("old", [False, True])
def test_live_stores_count_by_their_release(tmp_path: Path, old: bool) -> None:
    """New stores count by beginning and those of the last release by completion."""
    with open_workspace(built(tmp_path, old=old)) as workspace:
        assert workspace.study.stopping.counted == ("completed" if old else "begun")
        leases = begin(workspace, "abc")
        for place, lease in enumerate(reversed(leases)):
            end(workspace, lease, at=START + 10 + place)
        found = matrix_of(workspace, START + 20)
        assert found is not None
        began = [lease.annotator_id for lease in leases]
        assert list(found.units) == (began[::-1] if old else began)


def test_live_counting_in_study_file_and_old_store(tmp_path: Path) -> None:
    """The study file says otherwise and an old store cannot do what it did not know."""
    with open_workspace(built(tmp_path, f'{LIVE}counted = "completed"\n')) as workspace:
        second = begin(workspace, "ab")[1]
        end(workspace, second, at=START + 10)
        found = matrix_of(workspace, START + 11)
        assert found is not None
        assert found.units == (second.annotator_id,)
    (tmp_path / "old").mkdir()
    old = built(tmp_path / "old", f'{LIVE}counted = "begun"\n', old=True)
    with pytest.raises(StudyError, match=r"study\.toml: \[stopping\] counted: expected \"completed\", as the store"):
        open_workspace(old)


@pytest.fixture
def same_tables_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check tables of the same rows once: what they hold is all that the checks go by."""
    known: dict[bytes, AnswerTables] = {}

    def check(frames: Mapping[str, pl.DataFrame], reading: Reading, *, agreed: bool) -> AnswerTables:
        rows = pickle.dumps([(name, frame.schema, frame.rows()) for name, frame in frames.items()])
        if rows not in known:
            known[rows] = check_frames(frames, reading, agreed=agreed)
        return known[rows]

    monkeypatch.setattr("analysis.live.unit_matrix.check_frames", check)


@pytest.mark.usefixtures("same_tables_checked_once")
def test_live_decisions_only_grow(tmp_path: Path) -> None:
    """Decisions at an earlier time are the first ones of a later time."""
    rng = np.random.default_rng(11)
    with open_workspace(built(tmp_path, LIVE.replace("annotators = 6", "annotators = 30"))) as workspace:
        now, open_, people, rows = START, dict[str, Lease](), 0, np.zeros((0, 0))
        units: tuple[str, ...] = ()
        for step in range(90):
            now += float(rng.exponential(90))
            act = rng.random()
            if act < 0.45 and people < 30:
                (lease,) = begin(workspace, [f"p{people}"], at=now)
                open_[lease.submission_id], people = lease, people + 1
            elif open_:
                lease = open_.pop(list(open_)[int(rng.integers(len(open_)))])
                if act < 0.9:
                    end(workspace, lease, at=now)
                else:
                    workspace.store.visits.release(lease.submission_id, RETURNED, now=now)
            found = matrix_of(workspace, now)
            if found is None:
                assert not units
                continue
            assert found.units[: len(units)] == units
            if units:
                np.testing.assert_array_equal(found.values[: len(units)], rows)
            if step % 3 == 0:
                exported = export_tables(workspace.store)
                (again,) = unit_matrices(workspace.study, workspace.store, exported=exported, now=now)
                assert again.units == found.units
                np.testing.assert_array_equal(again.values, found.values)
            units, rows = found.units, found.values
        assert len(units) > 8


def test_whoever_is_late_counts_neither_live_nor_in_the_report(tmp_path: Path) -> None:
    path = built(tmp_path)
    with open_workspace(path) as workspace:
        leases = begin(workspace, "abcd")
        for lease in leases[1:3]:
            end(workspace, lease, at=START + 60)
        assert live_state(workspace.study, workspace.store, "human") is not None  # by the clock of today, long after
        (state,) = live_states(workspace.study, workspace.store, now=START + 601)
        assert (state.units, state.waiting, state.late) == (2, 0, 0)
        end(workspace, leases[0], at=START + 601)
        end(workspace, leases[3], at=START + 602)
        (state,) = live_states(workspace.study, workspace.store, now=START + 700)
        assert (state.units, state.waiting, state.late) == (3, 0, 1)
        assert "(1 too late)" in live_lines(workspace.study, state)[0]
        answers = answers_of(workspace)
        results = analyse(answers.tables, plan=answers.plan, study=answers.facts)
        assert [(row.annotator_id, row.rule) for row in results.exclusions] == [
            (leases[0].annotator_id, "extra_answers")
        ]
        assert results.live is not None
        (group,) = results.live.groups
        assert (results.live.counted, group.units, group.late) == ("begun", 3, 1)
        assert {row.n_kept for row in results.live.pairs} == {3}
        status = json.loads(CliRunner().invoke(main, ["status", str(path), "--json"]).output)
        assert [(one["units"], one["late"]) for one in status["live"]] == [(3, 1)]
        assert status["lines"][0]["extra"] == 1


def test_speed_decides_nothing_where_people_count_as_they_began() -> None:
    # 22.9 and 5.6 % of studies of equal systems decided as people completed, with a correlation of .4 and .2
    found = {
        correlation: [
            one.decided.mean() for one in study(np.random.default_rng(3), ARRIVALS[0], correlation, 0.5, 2000)
        ]
        for correlation in (0.2, 0.4)
    }
    assert 0.18 < found[0.4][0] < 0.29
    assert 0.035 < found[0.2][0] < 0.075
    assert max(found[0.2][1], found[0.4][1]) <= 0.05


def test_those_who_wait_are_no_reason_to_ask_more_people(tmp_path: Path) -> None:
    with open_workspace(built(tmp_path)) as workspace:
        leases = begin(workspace, "abcd")
        end(workspace, leases[0], at=START + 30)
        for lease in leases[2:]:
            end(workspace, lease, at=START + 60)
        (state,) = live_states(workspace.study, workspace.store, now=START + 61)
        assert (state.units, state.waiting) == (1, 2)
        assert "(2 wait for others who began before)" in live_lines(workspace.study, state)[0]


def test_narrowing_goes_by_those_who_count(tmp_path: Path) -> None:
    with open_workspace(built(tmp_path)) as workspace:
        progress = LiveProgress(workspace.study, workspace.store, "human")
        now = time.time()
        leases = begin(workspace, "ab", at=now)
        end(workspace, leases[1], at=now + 2)
        assert progress.refresh() is None
        end(workspace, leases[0], at=now + 3)
        state = progress.refresh()
        assert state is not None
        assert state.units == 2


def test_a_visit_may_take_four_times_the_forms_minutes(tmp_path: Path) -> None:
    with open_workspace(built(tmp_path)) as workspace, TestClient(create_app(workspace)) as client:
        token = workspace.store.tokens()[0]
        client.post(f"/a/{token}")
        client.post(f"/a/{token}/p/p1")  # whoever sends nothing has less
        lease = workspace.store.visits.of_token(token)
        assert lease is not None
        minutes = 4 * minutes_of(workspace.study, workspace.form(lease.assignment_id))
        assert lease.minutes_allowed == pytest.approx(minutes)
        assert lease.deadline == lease.leased_at + 60 * minutes


@pytest.mark.parametrize("old", [False, True])
def test_live_visits_by_completion_take_any_time(tmp_path: Path, old: bool) -> None:
    """A visit of a study that counts by completion may take any time."""
    text = LIVE if old else f'{LIVE}counted = "completed"\n'
    with open_workspace(built(tmp_path, text, old=old)) as workspace, TestClient(create_app(workspace)) as client:
        token = workspace.store.tokens()[0]
        client.post(f"/a/{token}")
        lease = workspace.store.visits.of_token(token)
        assert lease is not None
        assert lease.minutes_allowed is None


KEEP = LIVE.replace('unit = "annotator"', 'unit = "annotator"\nextra_answers = "keep"')


@pytest.mark.parametrize("counted", ["", 'counted = "begun"\n'])
@pytest.mark.parametrize("command", ["check", "build"])
def test_late_answers_are_not_kept_where_they_never_count(tmp_path: Path, command: str, counted: str) -> None:
    path = write_study(tmp_path, KEEP + counted)
    result = CliRunner().invoke(main, [command, str(path)])
    assert result.exit_code == 1
    (line,) = result.output.strip().splitlines()
    assert '[analysis] extra_answers: expected "exclude", since [stopping] counted = "begun" never counts' in line
    assert not path.with_suffix(".sqlite").exists()


def test_live_late_answers_may_be_kept(tmp_path: Path) -> None:
    """Late answers may be kept where people count as they complete."""
    built(tmp_path, f'{KEEP}counted = "completed"\n')
    (tmp_path / "old").mkdir()
    path = built(tmp_path / "old", f'{KEEP}counted = "completed"\n', old=True)
    path.write_text(KEEP, encoding="utf-8")  # as the last release's file says it
    with open_workspace(path) as workspace:
        assert workspace.study.analysis.extra_answers == "keep"


def test_a_plan_frozen_by_the_last_release_is_kept(tmp_path: Path) -> None:
    with open_workspace(built(tmp_path, old=True)) as workspace:
        used = planned_for(workspace.study, fingerprint="f")
        frozen = {**used, "stopping": {name: value for name, value in used["stopping"].items() if name != "counted"}}
        plan = FrozenPlan(frozen_at=0.0, submissions=0, content=frozen, sha256="")
        assert deviations(plan, used, annotators=6, undecided=False) == []
        changed = {**used, "stopping": {**used["stopping"], "counted": "begun"}}
        assert deviations(plan, changed, annotators=6, undecided=False) == [
            '[stopping] counted: planned "completed", used "begun".'
        ]


def test_a_new_plan_says_who_counts(tmp_path: Path) -> None:
    path = built(tmp_path)
    assert CliRunner().invoke(main, ["freeze", str(path)]).exit_code == 0
    with open_workspace(path) as workspace:
        frozen = frozen_plan(workspace.store)
        assert frozen is not None
        assert frozen.content["stopping"]["counted"] == "begun"
        used = planned_for(workspace.study, fingerprint=frozen.content["fingerprint"])
        assert deviations(frozen, used, annotators=6, undecided=False) == []


@pytest.mark.parametrize(("counted", "minutes"), [("begun", [20, 5, 20]), ("completed", [60, 5, 20])])
def test_the_shorter_of_the_platforms_time_and_the_studys_holds(
    tmp_path: Path, counted: str, minutes: list[float]
) -> None:
    own = LIVE.replace("seconds_per_100_words = 0", "seconds_per_100_words = 0, minutes_allowed = 20")
    contexts: list[SurveyContext] = []
    with open_workspace(built(tmp_path, f'{own}counted = "{counted}"\n')) as workspace:
        create_app(workspace, adapters=[lambda app, context: contexts.append(context)])
        for number, allowed in enumerate((60, 5, None)):
            contexts[0].admit(source="panel", person=str(number), external_id=str(number), minutes_allowed=allowed)
        visits = list(workspace.store.visits.of_people())
    assert [visit.minutes_allowed for visit in visits] == minutes


def test_live_late_answers_take_free_places(tmp_path: Path) -> None:
    """Late answers take a free place where people count as they complete."""
    with open_workspace(built(tmp_path, old=True)) as workspace:
        (lease,) = begin(workspace, "a")
        end(workspace, lease, at=START + 60 * MINUTES + 1, rules=replace(RULES, late_counts=True))
        kept = workspace.store.visits.get(lease.submission_id)
        assert kept is not None
        assert not kept.extra


def test_a_served_study_goes_by_the_clock_of_its_server(tmp_path: Path) -> None:
    times = [5000.0]
    with (
        open_workspace(built(tmp_path)) as workspace,
        TestClient(create_app(workspace, clock=lambda: times[0])) as client,
    ):
        tokens = workspace.store.tokens()
        for token in tokens[:2]:
            client.post(f"/a/{token}")
            times[0] += 1
        slow, quick = (workspace.store.visits.of_token(token) for token in tokens[:2])
        assert slow is not None
        assert quick is not None
        assert slow.minutes_allowed is not None
        end(workspace, quick, at=times[0])
        client.post(f"/a/{tokens[2]}")
        assert live_states(workspace.study, workspace.store, now=times[0]) == []
        times[0] += 60 * slow.minutes_allowed
        client.post(f"/a/{tokens[3]}")
        (state,) = live_states(workspace.study, workspace.store, now=times[0])
        assert state.units == 1
