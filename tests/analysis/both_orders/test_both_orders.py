"""Choices in both orders: by hand, by symmetry, by simulation, and one study from its file to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from statsmodels.stats.proportion import proportion_confint

from analysis import Reading, check_frames
from analysis.answers.both_orders import TURNED, as_one_answer
from analysis.answers.plan import Jury, Plan
from analysis.answers.preregistration import planned
from analysis.both_orders.flips import share_interval
from analysis.monitoring.annotator_profiles import annotator_profiles
from analysis.planning.ranked import how_often_judged
from spa.cli import main
from spa.elicitation.choices import Choices
from spa.study.load import check_study, load_study
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.analysis.made_answers import analyse, build_document, check, choices, run
from tests.analysis.made_answers import validate as check_schema
from tests.spa.study_files import write_study

TIE, MISSING = Plan(flips="tie"), Plan(flips="missing")
TURN = {"x": "y", "y": "x", "tie": "tie", "": ""}
Row = tuple[str, str, str, str, str]


def asked(who: str, *answers: str) -> list[Row]:
    """Return both orders of one item an answer pair: "xy" is x shown first and taken, then again the first one."""
    words = {"x": "x", "y": "y", "t": "tie", "-": ""}
    rows: list[Row] = []
    for item, (one, other) in enumerate(answers):
        rows += [(who, f"i{item}", "s", "t", words[one]), (who, f"i{item}", "t", "s", words[other])]
    return rows


ANSWERS = asked("gpt", "xy", "xx", "yy", "xt", "tt", "x-", "yx")


def found(rows: list[Row], plan: Plan, **more: Any) -> dict[str, Any]:
    results = run(choices=choices(rows), llms=("gpt",), plan=plan, **more)
    check_schema(results)
    [row] = [one for one in results["both_orders"] if one["group"] == "gpt"]
    return row


def test_flips_by_hand() -> None:
    """Of six questions answered in both orders two are flips to a place, one is a tie in one order, one was lost."""
    row = found(ANSWERS, TIE)
    assert {name: row[name] for name in ("n", "n_once", "opposite", "one_tie", "exceeds")} == {
        "n": 6,
        "n_once": 1,
        "opposite": 2,
        "one_tie": 1,
        "exceeds": True,
    }
    assert row["flip_rate"] == pytest.approx(3 / 6)
    # shown first won: xy 1 0; xx 1 1; yy 0 0; xt 1 .5; tt .5 .5; yx 0 1
    assert row["place_effect"] == pytest.approx(6.5 / 12 - 0.5)
    assert not found(ANSWERS, Plan(flips="tie", max_flips=0.6))["exceeds"]


def test_a_flip_is_a_tie_or_missing() -> None:
    """Answers that agree stay, others are a tie or missing with their reason; one alone counts."""
    table = check(choices=choices(ANSWERS), llms=("gpt",)).choices
    assert table is not None
    ties, gone = (as_one_answer(table, flips) for flips in ("tie", "missing"))
    assert ties["value"].to_list() == [1.0, 0.5, 0.5, 0.5, 0.5, 1.0, 0.0]
    assert gone["value"].to_list() == [1.0, None, None, None, 0.5, 1.0, 0.0]
    assert set(gone["missing_reason"].drop_nulls()) == {TURNED}
    assert ties.schema == table.schema
    pairs = [run(choices=choices(ANSWERS), llms=("gpt",), plan=plan)["choices"]["pairs"][0] for plan in (TIE, MISSING)]
    assert [(row["wins_x"], row["wins_y"], row["ties"]) for row in pairs] == [(2, 1, 4), (2, 1, 1)]


def test_without_a_rule_both_answers_stay() -> None:
    """Tables from elsewhere are read as before, and the flips are told."""
    results = run(choices=choices(ANSWERS), llms=("gpt",))
    [pair] = results["choices"]["pairs"]
    assert pair["wins_x"] + pair["wins_y"] + pair["ties"] == 13
    assert results["both_orders"][0]["n"] == 6
    assert not run(choices=choices(ANSWERS[::2]), llms=("gpt",))["both_orders"]


@pytest.mark.parametrize("plan", [TIE, MISSING])
def test_swapping_all_sides_changes_nothing(plan: Plan) -> None:
    """Who is written as x is of no matter, for any rows."""
    rng = np.random.default_rng(4)
    rows = [
        row
        for who in ("gpt", *(f"p{n}" for n in range(12)))
        for row in asked(who, *("".join(pair) for pair in rng.choice(list("xyt-"), (20, 2))))
    ]
    every = [(who, item, y, x, TURN[won]) for who, item, x, y, won in rows]
    named = Plan(flips=plan.flips, pairs=(("s", "t"),))
    one, three = (run(choices=choices(each), llms=("gpt",), plan=named) for each in (rows, every))
    for key in ("flip_rate", "ci_low", "ci_high", "opposite", "one_tie", "n", "n_once"):
        assert [row[key] for row in one["both_orders"]] == [row[key] for row in three["both_orders"]]
    rates = [[abs(row["win_rate"] - 0.5) for row in each["choices"]["pairs"]] for each in (one, three)]
    assert rates[0] == pytest.approx(rates[1])
    places = [[row["place_effect"] for row in each["both_orders"]] for each in (one, three)]
    assert places[0] == pytest.approx([-effect for effect in places[1]])


def test_the_order_of_rows_changes_nothing() -> None:
    """Rows may stand in any order."""
    rng = np.random.default_rng(6)
    mixed = [ANSWERS[place] for place in rng.permutation(len(ANSWERS))]
    assert found(mixed, TIE) == found(ANSWERS, TIE)


def test_a_place_that_decides_is_found() -> None:
    """A judge that takes the first with chance 0.3 flips in 0.15 or so and is found to favour the first."""
    rng = np.random.default_rng(9)
    rows = []
    for item in range(4_000):
        better = rng.random() < 0.6
        won = ["x" if rng.random() < 0.3 or own else "y" for own in (better, not better)]
        rows += [("gpt", f"i{item}", "s", "t", won[0]), ("gpt", f"i{item}", "t", "s", won[1])]
    row = found(rows, TIE)
    assert row["flip_rate"] == pytest.approx(0.3, abs=0.03)
    assert row["ci_low"] < 0.3 < row["ci_high"]
    assert row["place_effect"] == pytest.approx(0.15, abs=0.02)
    assert row["place_ci_low"] > 0


def test_interval_of_independent_answers_is_wilsons() -> None:
    """Where each answer is a cluster the interval is Wilson's, as statsmodels has it, but for t in place of z."""
    hits = np.array([1.0] * 60 + [0.0] * 340)
    low, high = share_interval(hits, np.arange(400), 0.95)
    assert (low, high) == pytest.approx(proportion_confint(60, 400, method="wilson"), abs=1e-3)
    assert share_interval(np.zeros(50), np.arange(50), 0.95)[0] == 0.0


def test_interval_covers_where_annotators_differ() -> None:
    """Of 400 studies of 20 people who flip at rates of their own, at least 92% of intervals hold the mean rate."""
    rng = np.random.default_rng(3)
    people = np.repeat(np.arange(20), 15)
    held = 0
    for _ in range(400):
        rates = rng.beta(1, 4, 20)
        hits = (rng.random(300) < rates[people]).astype(float)
        low, high = share_interval(hits, people, 0.95)
        held += low <= 0.2 <= high
    assert held / 400 >= 0.92


def test_a_jury_votes_with_answers_of_both_orders() -> None:
    """A member's flips are ties before the jury votes."""
    rows = [
        (who, item, x, y, won)
        for who in ("gpt", "b", "c")
        for _, item, x, y, won in asked(who, "xx" if who == "c" else "xy")
    ]
    plan = Plan(flips="tie", juries=(Jury(id="j", raters=("gpt", "b", "c"), by="majority"),))
    results = run(choices=choices(rows), llms=("gpt", "b", "c"), plan=plan)
    [pair] = [row for row in results["choices"]["pairs"] if row["group"] == "j"]
    assert (pair["wins_x"], pair["ties"]) == (1, 0)


def test_frozen_plans_of_earlier_releases_stay() -> None:
    """A plan without the new keys has the content that it had."""
    content = planned(Plan(), fingerprint="f", annotators=3)["plan"]
    assert not {"flips", "max_flips", "juries"} & set(content)
    assert planned(TIE, fingerprint="f", annotators=3)["plan"]["flips"] == "tie"


@pytest.mark.parametrize("dealt", ["", "per_annotator = 4\n"])
def test_forms_ask_both_directions(tmp_path: Path, dealt: str) -> None:
    """Each pair stands twice on a form, sides swapped, with the same outputs, as far apart as all others."""
    rest = f'[choices]\n{dealt}directions = "both"\n[design]\nitems = 2\n'
    study = load_study(
        write_study(tmp_path, systems="".join(f'[[systems]]\nid = "{one}"\n' for one in "xy"), rest=rest)
    )
    assert study.section(Choices) is not None
    drawn = sample_assignments(study, load_outputs(study), count=5, rng=study_rng(1))
    for assignment, key in drawn:
        asked = [
            tuple((key.systems[output.label], output.item_id, output.sample) for output in group)
            for group in assignment.groups_of("choices")
        ]
        half = len(asked) // 2
        assert half == (4 if dealt else 2)
        assert [pair[::-1] for pair in asked[:half]] == asked[half:]
        assert len(set(asked)) == len(asked)


def test_power_counts_both_orders_as_one_answer(tmp_path: Path) -> None:
    """A study that asks twice finds no smaller difference for it."""
    found = []
    for directions in ("one", "both"):
        rest = f'[choices]\nper_annotator = 4\ndirections = "{directions}"\n'
        study = load_study(write_study(tmp_path, rest=rest))
        found.append(how_often_judged(study, load_outputs(study), "choices"))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('flips = "missing"', '[choices] flips: expected directions = "both" beside it'),
        (
            'directions = "both"\n[stopping]\nrule = "when_decided"',
            '[choices] directions: expected "one" in a study that',
        ),
        ('directions = "twice"', "directions"),
    ],
)
def test_mistakes_in_a_study_file_are_told(tmp_path: Path, keys: str, told: str) -> None:
    """Each in one line with the place and what to do."""
    problems = check_study(write_study(tmp_path, rest=f"[choices]\n{keys}\n")).problems
    assert any(told in line and len(line) < 500 for line in problems), problems


def spa(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code == status, done.output
    return done.output


def test_both_orders_from_study_file_to_report(tmp_path: Path) -> None:
    """People and a rater answer both orders; the report counts one answer a question, and so do the tables."""
    rest = '[choices]\ndirections = "both"\n[people]\nannotators = 3\n[design]\nitems = 2\n'
    study = write_study(tmp_path, rest=rest)
    assert "1 pair, in both orders" in spa("check", study)
    spa("build", study)
    spa("simulate", study)
    spa("rate", study, "--simulate")
    spa("report", study, "--rehearsal", "--out", tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    check_schema(results)
    assert {row["group"]: row["n"] for row in results["both_orders"]} == {"simulated": 6, "simulated-rater": 6}
    assert all(row["wins_x"] + row["wins_y"] + row["ties"] == 6 for row in results["choices"]["pairs"])
    assert "It counts as a tie." in (tmp_path / "report" / "report.md").read_text()
    spa("export", study, "--rehearsal", "--out", tmp_path / "tables")
    table = tmp_path / "tables" / "choices.csv"
    assert pl.read_csv(table).height == 24
    again = json.loads(spa("report", "--choices", table, "--flips", "tie", "--json"))
    assert again["both_orders"] == results["both_orders"]
    assert again["settings"]["flips"] == "tie"


def test_questions_answered_in_one_order_are_counted() -> None:
    """They are no flips, and their answer stands: the section says so."""
    rows = [("gpt", f"i{i}", *sides, won) for i in range(4) for sides, won in ((("s", "t"), "x"), (("t", "s"), ""))]
    rows += [("b", f"i{i}", *sides, won) for i in range(4) for sides, won in ((("s", "t"), "x"), (("t", "s"), "y"))]
    results = run(choices=choices(rows), llms=("gpt", "b"), plan=TIE)
    [section] = [one for one in build_document(results).sections if one.id == "both-orders"]
    told = "Questions answered in one of the two orders alone: gpt (LLM) 4, and that answer counts."
    assert told in str(section.blocks[0])


def test_the_report_names_whose_flips_exceed_the_bound() -> None:
    """A caveat and the section name the judge, and nobody under the bound."""
    rows = [*ANSWERS, *[(who, *rest) for who in ("p", "q") for _, *rest in asked("", "xy", "xy", "yx")]]  # type: ignore[misc]
    results = run(choices=choices(rows), llms=("gpt",), plan=TIE)
    [section] = [one for one in build_document(results).sections if one.id == "both-orders"]
    assert "More than 20.0% of answers changed: gpt (LLM)." in str(section.blocks[0])
    told = [*results["headline"]["problems"], *results["headline"]["more_problems"]]
    kinds = {row["kind"]: row["text"] for row in told}
    assert kinds["flips"].startswith("gpt (LLM): 50.0% of choices changed with the order of the two outputs")


def ordered(*, placed: bool) -> dict[str, Any]:
    """Let an LLM rank three outputs of twelve items in six forms; rows list the best first, as files of rankings do."""
    rng = np.random.default_rng(0)
    rows = [
        {"annotator_id": "gpt", "assignment_id": f"v{visit}", "item_id": f"i{item}", "system": system, "rank": rank}
        for visit in range(6)
        for item in range(12)
        for rank, system in enumerate(rng.permutation(["elm", "fir", "oak"]).tolist(), start=1)
    ]
    frame = pl.DataFrame(rows)
    places = frame.with_columns(position="rank") if placed else frame
    return run(orders=places.with_columns(pl.all().cast(pl.String)), llms=("gpt",))


def test_rows_of_a_ranking_are_no_places_on_the_page() -> None:
    """Listed best first, the output named first always wins; where it stood on the page the table does not say."""
    found = ordered(placed=False)
    assert found["first_shown"] == []
    assert "position" not in {problem["kind"] for problem in found["headline"]["problems"]}
    [row] = ordered(placed=True)["first_shown"]
    assert (row["first"], row["second"], row["biased"]) == (row["n"], 0, True)


def test_columns_of_winner_and_loser_tell_no_places() -> None:
    """A judge that contradicts itself is listed with the winner first both times, wherever that was shown."""
    frame = choices(asked("gpt", *["xx"] * 20)).drop("winner")
    told = run_constant(frame)
    assert (told["first_shown"], told["both_orders"]) == ([], [])
    shown = run(choices=choices(asked("gpt", *["xx"] * 20)), llms=("gpt",))
    assert shown["first_shown"][0]["biased"]
    assert shown["both_orders"][0]["exceeds"]


def run_constant(frame: pl.DataFrame) -> dict[str, Any]:
    """Analyse comparisons each row of which lists the winner first."""
    tables = check_frames({"choices": frame}, Reading(llms=("gpt",), constants={"winner": "x"}))
    [profile] = annotator_profiles(tables)
    assert profile.left_share is None
    return analyse(tables, Plan())
