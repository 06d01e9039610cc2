"""Audits in waves: what is drawn when, by whom, and what is decided; in both databases, over restarts and at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.live import visit_reader
from analysis.live.audit_follower import AuditFollower
from analysis.live.audited import doubts
from spa.commands.workspace import Workspace, open_workspace
from spa.live import LiveProgress, draw_due_wave, live_states
from spa.platforms.waves import next_wave
from spa.responses.admission import AdmissionRules, StudyPaused
from spa.responses.audit_waves import AuditWave, read_waves
from spa.responses.erasure import forget
from spa.responses.leases import Lease
from spa.responses.outcomes import COMPLETED
from spa.study.load import load_study
from tests.postgres import database as database
from tests.postgres import postgres_cluster as postgres_cluster
from tests.postgres import postgres_url as postgres_url
from tests.spa.rehearsed import spa
from tests.spa.small_study import answer_form
from tests.spa.store_steps import lease_assignment

PEOPLE = 40


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(visit_reader, "KEPT_AT_ONCE", 3)
    spa("init", tmp_path / "study", "--example", "audit")
    path = tmp_path / "study" / "study.toml"
    text = path.read_text().replace('model = "simulated-rater"', 'model = "simulated-rater"\nrepeats = 2')
    path.write_text(text.replace("forms = 160", 'draw = "unsure"\nrule = "when_decided"\nleast = 25\nforms = 160'))
    return path


def answer_at_random(workspace: Workspace, lease: Lease, rng: np.random.Generator, *, now: float) -> float:
    """Answer a form as somebody who likes the novelist in four of five pairs; return the share for the formula."""
    form, systems = workspace.form(lease.assignment_id), workspace.store.assignments.key(lease.assignment_id).systems
    asked = [question for question in form.questions("people") if hasattr(question.target, "label_x")]
    liked = ["novelist" if rng.random() < 0.8 else "formula" for _ in asked]
    raw = {
        question.question_id: "x" if systems[question.target.label_x] == name else "y"
        for question, name in zip(asked, liked, strict=True)
    }
    workspace.store.visits.finish(answer_form(lease, form, **raw), COMPLETED, "code", now=now)
    return float(np.mean([name == "formula" for name in liked]))


def bets_by_hand(
    waves: Sequence[AuditWave], names: Sequence[str], said: Mapping[str, float], *, least: int = 25
) -> tuple[list[float], int]:
    """Bet on each form in its order until the capital is 20; return the terms of the mean, and how many answered."""
    capital, terms, people = np.zeros((2, 3)), list[float](), 0
    for wave, number in [(each, number) for each in waves for number in range(each.first, each.end)]:
        asked_now = number in wave.drawn
        if asked_now and names[number] not in said:
            break
        ((a,), chance) = wave.expected[number - wave.first], wave.chances[number - wave.first] * wave.kept
        terms.append(a + (said[names[number]] - a) / chance if asked_now else a)
        stakes = np.minimum(0.1 / (wave.sd[0] ** 2 + 0.01) * np.array([1.0, 0.4, 2.0]), 0.9 / wave.reach[0])
        capital += np.log1p(np.array([[1.0], [-1.0]]) * stakes * (terms[-1] - 0.5))
        people += asked_now
        if people >= least and (np.exp(capital) @ [0.7, 0.1, 0.2]).mean() >= 20:
            break
    return terms, people


def check_report(study: Path, database: str, people: int, mean: float) -> None:
    """Compare what the report of the audit says with what was decided."""
    out = study.with_name("report")
    spa("report", study, "--store", database, "--rehearsal", "--out", out)
    shown, printed = json.loads((out / "results.json").read_text()), (out / "report.md").read_text()
    assert "What was decided, and when: [What the audit found](<#audit>)" in printed
    assert printed.count(f"Novelist is better, after {people} |") == 1
    assert [row["decision"] for row in shown["choices"]["pairs"]] == ["y", "not_deciding"]  # no test of a fixed number
    assert (shown["live"]["audited"], shown["live"]["pairs"][0]["mean"]) == (True, pytest.approx(mean))
    assert shown["headline"]["certainty"].startswith(f"Decided after {people} annotators; Novelist")
    assert sum("looked at after every" in line for line in shown["warnings"]) == 1


def test_waves_follow_one_another_until_all_is_decided(study: Path, database: str) -> None:
    """Each once, whoever looks: servers beside one another, one that starts anew, a platform; as bets by hand say."""
    for _ in range(2):
        spa("build", study, "--store", database)
    truth = study.with_name("truth.toml")
    spa("rate", study, "--store", database, "--rater", "simulated-rater", "--simulate", "--truth", truth)
    rng = np.random.default_rng(1)
    with open_workspace(study, database, rehearsal=True) as workspace:
        store = workspace.store
        assert (len(store.assignments), store.assignments.for_people) == (160, 10)
        assert len(store.tokens(personal=True)) == PEOPLE
        servers = [LiveProgress(workspace.study, store, "simulated") for _ in range(2)]
        said: dict[str, float] = {}
        for person in range(PEOPLE):
            if person % 5 == 0:
                with ThreadPoolExecutor(2) as pool:
                    list(pool.map(lambda server: server.refresh(), servers))
                assert servers[0].decisions == live_states(workspace.study, store)[0].decisions
                waves = read_waves(store)
                assert len(waves) == 1 + person // 10
                if servers[0].enough:
                    break
            lease = lease_assignment(store, f"p{person}", source="link", annotator_kind="simulated")
            if person == 9:
                rules = AdmissionRules(more_to_come=servers[0].more_to_come)
                with pytest.raises(StudyPaused, match="the next one is drawn"):
                    lease_assignment(store, "early", source="link", annotator_kind="simulated", rules=rules)
            said[lease.assignment_id] = answer_at_random(workspace, lease, rng, now=1000.0 + person)
            if person == 8:
                assert not draw_due_wave(workspace.study, store)  # one is still asked
        (state,) = live_states(workspace.study, store)
        anew = LiveProgress(workspace.study, store, "simulated").refresh()
        assert anew == servers[0].refresh() == servers[1].refresh() == state.decisions
        assert not draw_due_wave(workspace.study, store)
        assert [wave.first for wave in waves] == [0, *(wave.end for wave in waves[:-1])]
        drawn = [number for wave in waves for number in wave.drawn]
        assert len(set(drawn)) == len(drawn) == store.assignments.for_people == 10 * len(waves)
        assert all(0.15 <= chance <= 1 for wave in waves for chance in wave.chances)
        terms, people = bets_by_hand(waves, store.assignments.ids(), said)
    (pair,) = state.pairs
    assert (pair.decision, pair.decided_after) == ("y", people)
    assert pair.mean == pytest.approx(np.mean(terms))
    assert state.audit is not None
    at_platform = next_wave(state, wave=10, most=PEOPLE, places=state.audit.drawn)
    assert at_platform.reason == "enough"
    check_report(study, database, people, pair.mean)
    with open_workspace(study, database, rehearsal=True) as workspace:
        _a_form_of_the_first_wave_loses_its_answers(workspace)


def _a_form_of_the_first_wave_loses_its_answers(workspace: Workspace) -> None:
    """All others count as before, for who follows and for who reads the store anew; so does who answers it again."""
    store, follower = workspace.store, AuditFollower(workspace.study, workspace.store, "simulated")
    (before,) = live_states(workspace.study, store)
    follower.decisions(0.0)
    name = store.assignments.ids()[read_waves(store)[0].drawn[2]]
    first = next(visit for visit in store.visits.of_people() if visit.assignment_id == name)
    forget(store, person=None, submission=first.submission_id, forms=workspace.form, with_answers=True, apply=True)
    (without,) = live_states(workspace.study, store)
    assert follower.decisions(0.0) == without.decisions
    assert follower.bets.n.tolist() == [pair.n for pair in without.pairs]
    assert without.units == before.units - 1
    assert without.pairs[0].n >= before.pairs[0].n - 1
    lease = lease_assignment(store, "again", source="link", annotator_kind="simulated")
    assert lease.assignment_id == name
    form = workspace.form(lease.assignment_id)
    store.visits.finish(answer_form(lease, form), COMPLETED, "code", now=9_000.0)
    (again,) = live_states(workspace.study, store)
    assert follower.decisions(0.0) == again.decisions
    assert again.units == before.units
    assert follower.bets.n.tolist() == [pair.n for pair in again.pairs]


def test_a_wave_that_is_drawn_is_opened_on_platforms(study: Path) -> None:
    """And no other: places are those of forms that were drawn."""
    spa("build", study)
    with open_workspace(study, None) as workspace:
        (state,) = live_states(workspace.study, workspace.store)
    assert next_wave(state, wave=10, most=PEOPLE, places=0).places == 10
    assert state.audit is not None
    answered = replace(state, audit=replace(state.audit, completed=8))
    assert next_wave(answered, wave=10, most=PEOPLE, places=10, completed=8, at_work=1).reason == "under way"
    assert (
        next_wave(answered, wave=10, most=PEOPLE, places=10, completed=9, at_work=1).places == 1
    )  # one had no answers
    assert next_wave(answered, wave=10, most=10, places=10, completed=10).reason == "most"
    assert "0 of 10 forms drawn are answered" in spa("status", study).output
    planned = " ".join(spa("plan", study, "--simulations", 0).output.split())
    assert "at most 40 people for 160 forms" in planned
    assert "40 at 0, 49 at 0.5, 77 at 0.8, 124 at 0.95" in planned  # 40 / (1 - .64 * 3 / 4) = 76.9
    assert "drawn in waves of 10, more often where it is unsure" in " ".join(spa("check", study).output.split())


def test_reports_weight_people_by_recorded_chances(study: Path, tmp_path: Path) -> None:
    """With a fixed number of people, and doubt by which later waves are drawn."""
    text = study.read_text().replace('rule = "when_decided"\nleast = 25\nforms = 160', "forms = 72")
    study.write_text(text.replace("annotators = 40", "annotators = 24"))
    assert load_study(study).audit is not None
    truth = study.with_name("truth.toml")
    spa("build", study)
    spa("rate", study, "--rater", "simulated-rater", "--simulate", "--truth", truth)
    spa("simulate", study, "--truth", truth)
    spa("report", study, "--rehearsal", "--out", tmp_path / "report")
    found = json.loads((tmp_path / "report" / "results.json").read_text())
    (row,) = found["audit"]
    assert [each["kind"] for each in found["headline"]["problems"]].count("audit_drawn") == row["drawn_by_doubt"] == 1
    with open_workspace(study, None, rehearsal=True) as workspace:
        waves = read_waves(workspace.store)
    assert (row["n"], row["n_forms"]) == (sum(len(wave.drawn) for wave in waves), waves[-1].end)
    chances = [chance for wave in waves for chance in wave.chances]
    assert (row["chance_low"], row["chance_high"]) == (min(chances), max(chances))
    assert row["estimate"] < row["ci_high"] < 0.5
    assert row["error_rate"] is None
    spa("bundle", study, "--rehearsal", "--out", tmp_path / "bundle.zip")
    spa("replay", tmp_path / "bundle.zip", "--out", tmp_path / "again")
    (again,) = tmp_path.glob("again/report-again/results.json")
    assert json.loads(again.read_text())["audit"] == [row]


def test_doubt_is_spread_of_repeats_or_entropy() -> None:
    """Two answers 0 and 1 to one of two questions: half a standard deviation; a chance of 1/2: log 2."""
    rows = [("a", "i", 0.0), ("a", "i", 1.0), ("a", "j", 1.0), ("a", "j", 1.0), ("b", "i", 0.5)]
    table = pl.DataFrame(rows, ["assignment_id", "item_id", "value"], orient="row").with_columns(criterion=pl.lit("c"))
    assert doubts(table) == pytest.approx({"a": np.sqrt(0.5) / 2})
    assert doubts(table.with_columns(system_x=pl.lit("x")))["b"] == pytest.approx(np.log(2))
