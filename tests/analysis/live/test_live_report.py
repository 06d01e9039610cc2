"""A live study as it is looked at, reported and preregistered: decisions, not p-values, and what exclusions change."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.answers.live_rows import LiveGroup, LivePairRow, LiveStudy, LiveSystemRow, contradicted, turned_live
from analysis.answers.study_answers import answers_of
from analysis.comparisons.ratings import RatingTest
from analysis.live.contribution import with_fixed_estimates
from analysis.live.savings import live_savings
from analysis.live.state import live_history, live_states
from analysis.printing.live_words import chance_of_error, live_evidence, live_interval, live_value, ranking_words
from analysis.printing.lookup import first_criteria, main_source
from analysis.printing.names import Names
from analysis.records.results import Results
from analysis.report import render_report
from analysis.results.analyse import analyse
from analysis.results.live import NOT_UNDER_LOOKING
from spa.commands.live_lines import live_lines
from spa.commands.workspace import open_workspace
from spa.forms.effort import SECONDS_A_QUESTION
from spa.responses.decisions import Decision, add_decision
from tests.analysis.live_study import STUDY, answer, build
from tests.spa.rehearsed import spa

BETTER = {("alpha", "gamma"), ("beta", "gamma")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study that was preregistered and whose people answered until it ended."""
    path = build(tmp_path_factory.mktemp("live"))
    spa("freeze", path, "--out", path.with_name("frozen.json"))
    answer(path)
    return path


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    return Path(shutil.copytree(finished.parent, tmp_path / "copied")) / finished.name


def test_the_store_is_read_once_for_answers_and_decisions(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("analysis.live.unit_matrix.export_tables")
    with open_workspace(finished, read_only=True) as workspace:
        facts = answers_of(workspace).facts
    assert facts is not None
    assert facts.live is not None
    assert facts.live.groups[0].units


def results_of(path: Path) -> Results:
    with open_workspace(path, read_only=True) as workspace:
        found = answers_of(workspace)
    return analyse(found.tables, found.plan, study=found.facts)


@pytest.fixture(scope="module")
def results(finished: Path) -> Results:
    return results_of(finished)


def test_live_history_ends_in_the_state(finished: Path) -> None:
    """The history ends in the state and each decision ends its path."""
    with open_workspace(finished, read_only=True) as workspace:
        (state,) = live_states(workspace.study, workspace.store)
        history = live_history(workspace.study, workspace.store, "human")
        assert live_history(workspace.study, workspace.store, "simulated") is None
    assert history is not None
    assert history.state == state
    decided = {(pair.system_x, pair.system_y) for pair in state.pairs if pair.decision == "y"}
    assert decided == BETTER
    for pair, path in zip(state.pairs, history.paths, strict=True):
        assert [point.units for point in path] == sorted({point.units for point in path})
        last = path[-1]
        assert last.units == (pair.decided_after or state.units)
        assert (last.n, last.mean, last.low, last.high) == (pair.n, pair.mean, pair.low, pair.high)


def test_status_says_what_is_decided_in_words_and_as_data(finished: Path) -> None:
    said = spa("status", finished).output
    state = json.loads(spa("status", finished, "--json").output)["live"][0]
    assert f"{state['units']} of at most 36 people (1 excluded): 2 of 3 decided" in said
    found = {(pair["system_x"], pair["system_y"]): pair for pair in state["pairs"]}
    for x, y in BETTER:
        assert f"gamma is better, decided after {found[x, y]['decided_after']}" in said
    assert state["enough"] is True


def test_live_savings(finished: Path) -> None:
    """Each person is asked both directions of three pairs; what came after the decisions was one pair."""
    with open_workspace(finished, read_only=True) as workspace:
        (state,) = live_states(workspace.study, workspace.store)
        saved = live_savings(workspace, state)
        forms = [workspace.form(visit.assignment_id) for visit in workspace.store.visits.of_people()]
    asked = sum(len(list(form.questions("people"))) for form in forms)
    most = max(len(list(form.questions("people"))) for form in forms)
    assert saved.people == len(forms) == state.units + 1
    assert saved.questions == most * len(forms) - asked
    assert saved.questions > 0
    assert saved.minutes > 0.9 * saved.questions * SECONDS_A_QUESTION / 60  # and the reading that was spared
    assert (saved.spent, saved.left) == (2 * saved.people, 2 * (36 - state.units))


def test_results_hold_decisions_beside_the_fixed_estimates(results: Results) -> None:
    assert results.live is not None
    fixed = {(row.system_x, row.system_y): row for row in results.preferences}
    for row in results.live.pairs:
        test = fixed[row.system_x, row.system_y]
        assert (row.n_kept, row.mean_kept) == (test.n, pytest.approx(test.mean, abs=1e-11))
        assert (row.n_asked, row.mean_asked) == (row.n_kept, pytest.approx(row.mean_kept, abs=1e-11))


def test_the_headline_rests_on_the_decision(results: Results) -> None:
    assert results.headline is not None
    (claim,) = results.headline.claims
    assert (claim.leader, claim.strength, claim.p_adjusted) == ("gamma", "clear", None)
    assert re.match(r"Decided after \d+ annotators; gamma's mean chance", results.headline.certainty)
    assert "any false decision is at most 5%" in results.headline.certainty
    assert "adjusted p" not in results.headline.certainty


def test_the_headline_speaks_of_what_decides(results: Results) -> None:
    row = results.preferences[0]
    other = replace(results, preferences=(row, replace(row, criterion="wit")))
    assert first_criteria(other, "preferences") == ("overall",)
    assert results.live is not None
    live = replace(results.live, criteria=("wit",))
    assert first_criteria(replace(other, live=live), "preferences") == ("wit",)
    assert main_source(replace(results, live=replace(live, answers="ratings"))) == "preferences"  # nobody rated
    assert main_source(results) == "preferences"


def test_one_table_has_p_values_and_says_that_they_do_not_hold(results: Results) -> None:
    page = render_report(results, full=True)["report.md"].replace("\\", "")
    sections = re.split(r'<a id="[a-z-]+"></a>', page)
    with_p = [section for section in sections if re.search(r"^\|.*\bp\b.*\|\n\| :?-", section, flags=re.M)]
    assert len(with_p) == 1
    assert NOT_UNDER_LOOKING.lower() in with_p[0].lower()
    assert "What was decided, and when" in page
    assert "change no estimate" in page


def test_a_study_of_fixed_size_says_nothing_of_looking(results: Results) -> None:
    page = render_report(replace(results, live=None, warnings=(), warning_rows=(), headline=None), full=True)[
        "report.md"
    ]
    assert NOT_UNDER_LOOKING.lower() not in page.lower()
    assert "What was decided, and when" not in page


def test_exclusions_that_came_later_leave_decisions_and_are_told(copied: Path) -> None:
    with open_workspace(copied) as workspace, workspace.store.transaction() as connection:
        first = next(iter(workspace.store.visits.of_people()))
        decision = Decision(
            submission_id=first.submission_id, action="exclude", reviewer="Ana", decided_at=1.0, note="a guess"
        )
        add_decision(connection, decision)
    found = results_of(copied)
    assert found.live is not None
    before = results_of_decisions(copied)
    assert [row.decision for row in found.live.pairs] == before
    assert all(row.n_kept == row.n_asked - 1 for row in found.live.pairs if row.n_kept is not None)
    page = render_report(found, full=True)["report.md"].replace("\\", "")
    assert "came later change 3 of 3 fixed estimates" in page
    assert "no decision is contradicted" in page


def results_of_decisions(path: Path) -> list[str | None]:
    with open_workspace(path, read_only=True) as workspace:
        return [pair.decision for state in live_states(workspace.study, workspace.store) for pair in state.pairs]


ROW = LivePairRow(
    group="human", criterion="overall", exposure=None, system_x="a", system_y="b", n=20, mean=0.75, low=0.5, high=0.9,
    decision="x", decided_after=20, expected_more=None, n_asked=22, mean_asked=0.7, n_kept=21, mean_kept=0.625,
)  # fmt: skip
RATED = LiveStudy(
    answers="ratings", criteria=("overall",), error_rate=0.05, effect=0.1, margin=0.1, least=10, most=40,
    scale_width=4.0, groups=(), pairs=(ROW,),
)  # fmt: skip


def test_turning_a_row_twice_gives_it_back() -> None:
    turned = turned_live(ROW)
    assert (turned.system_x, turned.decision, turned.mean, turned.mean_kept) == ("b", "y", 0.25, 0.375)
    assert (turned.low, turned.high) == (pytest.approx(0.1), 0.5)
    assert turned_live(turned) == replace(ROW, high=pytest.approx(0.9))


@pytest.mark.parametrize(
    ("decision", "kept", "expected"),
    [("x", 0.6, False), ("x", 0.5, True), ("y", 0.6, True), ("equal", 0.55, False), ("equal", 0.65, True),
     ("futile", 0.9, False), (None, 0.9, False), ("x", None, False)],
)  # fmt: skip
def test_decisions_are_contradicted_by_estimates_elsewhere(decision: str, kept: float | None, expected: bool) -> None:
    assert contradicted(RATED, replace(ROW, decision=decision, mean_kept=kept)) is expected  # type: ignore[arg-type]


def test_ratings_are_told_in_points(results: Results) -> None:
    """On 1 to 5 the scale is four points wide: 0.75 of it is two points ahead, 0.5 none."""
    assert live_value(RATED, 0.75) == "+2.00"
    assert live_interval(RATED, ROW) == "0.00 to 3.20"
    said = live_evidence(RATED, ROW, Names(results))
    assert said.startswith("Decided after 20 annotators; a's difference of mean ratings in points against b: 0.00 to")
    assert "equal within 0.8 points" in live_evidence(RATED, replace(ROW, decision="equal"), Names(results))


def test_what_the_error_rate_covers_is_said(results: Results) -> None:
    both = replace(RATED, criteria=("overall", "style"), criteria_apart=False)
    assert chance_of_error(RATED) == "at most 5% over all pairs and looks together"
    assert chance_of_error(both) == "at most 5% over all criteria, pairs and looks together"
    apart = replace(both, criteria_apart=True)  # of a store of the last release
    assert chance_of_error(apart) == "at most 5% over all pairs and looks together, on each of 2 criteria"
    groups = tuple(
        LiveGroup(group=name, units=30, excluded=0, enough=True, all_decided=True) for name in ("human", "gpt")
    )
    said = chance_of_error(replace(both, groups=groups))
    assert said == "at most 5% over all criteria, pairs and looks together, for each group by itself"
    page = render_report(replace(results, live=replace(both, answers="preferences")), full=True)["report.md"]
    assert "false decision is at most 5% over all criteria, pairs and looks together." in page


def test_no_bound_is_rounded_onto_what_a_decision_leaves_out(finished: Path) -> None:
    shares, worse = replace(RATED, scale_width=None), replace(ROW, low=0.11, high=0.4997, decision="y")
    assert live_interval(shares, worse) == "11.0 to below 50"
    assert live_interval(RATED, replace(ROW, low=0.11, high=0.4999)) == "\u22123.12 to below 0"
    equal = replace(ROW, low=0.4004, high=0.5996, decision="equal")  # of a margin of 0.1: 0.8 points
    assert live_interval(RATED, equal) == "above \u22120.8 to below 0.8"
    assert live_interval(shares, equal) == "above 40 to below 60"
    with open_workspace(finished, read_only=True) as workspace:
        (state,) = live_states(workspace.study, workspace.store)
        pairs = tuple(replace(pair, low=0.11, high=0.497) for pair in state.pairs)
        said = live_lines(workspace.study, replace(state, pairs=pairs))
    assert all(re.search(r": 11 to below 50%; ", line) for line in said[2:])


def test_the_best_few_are_named_once_they_are_found(results: Results) -> None:
    systems = tuple(
        LiveSystemRow(
            group="human", system=name, n=20, score=score, low=score - 0.2, high=score + 0.2, leads=score > 0.5
        )
        for name, score in (("alpha", 0.3), ("beta", 0.4), ("gamma", 0.75))
    )
    found = LiveGroup(group="human", units=30, excluded=0, enough=True, all_decided=True)
    live = replace(RATED, answers="preferences", scale_width=None, pairs=(), top=1, systems=systems, groups=(found,))
    assert ranking_words(live, "human", Names(results)).endswith("the best 1, with an error rate of at most 5%: gamma.")
    at_most = replace(live, groups=(replace(found, all_decided=False),))
    assert ranking_words(at_most, "human", Names(results)) == ""
    page = render_report(replace(results, live=live), full=True)["report.md"]
    assert re.findall(r"^\| (\w+) \| 20 \| ([\d.]+)% \|.*\| (yes|no) \|$", page, flags=re.M) == [
        ("gamma", "75.0", "yes"),
        ("beta", "40.0", "no"),
        ("alpha", "30.0", "no"),
    ]


@pytest.mark.parametrize(("lower", "expected"), [(frozenset(), 0.4375), (frozenset({"overall"}), 0.5625)])
def test_fixed_estimates_of_ratings_come_onto_the_unit_scale(lower: frozenset[str], expected: float) -> None:
    """Half a point for b on a scale four points wide is (-0.5 / 4 + 1) / 2 for a; of items nothing is taken."""
    told = RatingTest(
        group="human",
        criterion="overall",
        system_x="b",
        system_y="a",
        unit="annotator",
        n=30,
        mean_difference=0.5,
        test="paired t",
        t=None,
        df=None,
        p_value=None,
    )
    (row,) = with_fixed_estimates(RATED, [told], lower).pairs
    assert (row.n_kept, row.mean_kept) == (30, expected)
    of_items = replace(told, unit="item")
    assert with_fixed_estimates(RATED, [of_items], lower).pairs == (ROW,)


def test_frozen_plan_of_a_live_study(finished: Path, results: Results) -> None:
    """The frozen plan holds the rule and fewer people are no deviation."""
    frozen = json.loads(finished.with_name("frozen.json").read_text())["content"]["stopping"]
    expected = {
        "rule": "when_decided",
        "answers": "preferences",
        "criteria": ["overall"],
        "error_rate": 0.05,
        "most": 36,
    }
    assert {name: frozen[name] for name in expected} == expected
    assert results.study is not None
    assert results.study.preregistration is not None
    assert results.study.preregistration.deviations == ()


def test_stopping_early_is_a_deviation(tmp_path: Path) -> None:
    path = build(tmp_path, STUDY.replace("most = 36", "most = 38"))
    spa("freeze", path)
    answer(path, until=lambda people: people == 5)
    found = results_of(path)
    assert found.study is not None
    assert found.study.preregistration is not None
    assert found.study.preregistration.deviations == (
        "By the stopping rule the study is not over: not everything is decided.",
    )
    assert found.headline is not None
    problem = found.headline.problems[0]
    assert problem.section == "preferences"
    assert problem.text == "People: by its stopping rule the study is not over: 3 of 3 comparisons still open."
    assert found.headline.certainty.startswith("Not decided after 4 annotators")
