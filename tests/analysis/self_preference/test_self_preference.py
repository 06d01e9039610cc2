"""LLMs and systems of one maker: against statsmodels, by symmetry, by simulation, and from a study file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.api import OLS

from analysis.answers.input import prepare_input
from analysis.answers.plan import Plan
from analysis.answers.study_facts import plan_of
from analysis.commands.judge_options import judges_of
from analysis.self_preference.own_maker import self_preferences
from spa.errors import AnalysisError
from spa.study.load import check_study, load_study, study_fingerprint
from tests.analysis.made_answers import build_document, check, choices, preferences, ratings, run
from tests.analysis.made_answers import validate as check_schema
from tests.spa.study_files import SPA, write_study

MAKERS = (("gpt", "openai"), ("o1", "openai"), ("o2", "openai"), ("claude", "anthropic"))
PLAN = Plan(makers=MAKERS)
SYSTEMS = ("o1", "o2", "claude", "human_text")
TURN = {"x": "y", "y": "x", "tie": "tie"}


def only(results: dict[str, Any]) -> dict[str, Any]:
    check_schema(results)
    [row] = results["self_preference"]
    return dict(row)


def rated(rng: np.random.Generator, *, items: int, favour: float, people: int = 3) -> list[tuple[str, str, str, float]]:
    """Return ratings in which the LLM adds ``favour`` to systems of its maker, and items differ for both."""
    rows = []
    for item in range(items):
        shared, own = rng.normal(size=2)
        for place, system in enumerate(SYSTEMS):
            true = place * 0.3 + shared
            rows += [(f"p{n}", f"i{item}", system, round(true + rng.normal(), 3)) for n in range(people)]
            llm = true + 0.5 + (favour + 0.3 * own if place < 2 else 0.0) + rng.normal()
            rows.append(("gpt", f"i{item}", system, round(llm, 3)))
    return rows


def test_ratings_equal_a_regression_with_clusters() -> None:
    """The difference is that of a regression on systems, its interval that of statsmodels with clusters of items."""
    rows = rated(np.random.default_rng(1), items=40, favour=0.4)
    row = only(run(ratings=ratings(rows), llms=("gpt",), plan=PLAN))
    scores = {(who, item, system): score for who, item, system, score in rows}
    cells = [(f"i{item}", system) for item in range(40) for system in SYSTEMS]
    apart = np.array([scores["gpt", *cell] - np.mean([scores[f"p{n}", *cell] for n in range(3)]) for cell in cells])
    dummies = np.array([[system == one for one in SYSTEMS] for _, system in cells], dtype=float)
    groups = np.array([int(item[1:]) for item, _ in cells])
    fit = OLS(apart, dummies).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    weights = np.array([0.5, 0.5, -0.5, -0.5])
    assert row["difference"] == pytest.approx(weights @ fit.params)
    half = (row["ci_high"] - row["ci_low"]) / 2
    spread = (weights @ fit.cov_params() @ weights * 40 / 39) ** 0.5
    assert half == pytest.approx(2.022690911734728 * spread, rel=1e-6)  # t of 39 degrees of freedom
    assert (row["n"], row["n_clusters"], row["own_systems"]) == (160, 40, ["o1", "o2"])
    assert row["difference"] == pytest.approx(
        (row["own"] - row["other"]) - (row["own_by_people"] - row["other_by_people"])
    )


def test_where_a_low_rating_is_good_the_sign_turns() -> None:
    """Above 0 always says that the LLM favours its own."""
    rows = rated(np.random.default_rng(2), items=20, favour=1.0)
    high = only(run(ratings=ratings(rows), llms=("gpt",), plan=PLAN))
    plan = Plan(makers=MAKERS, lower_is_better=frozenset({"overall"}))
    low = only(run(ratings=ratings(rows), llms=("gpt",), plan=plan))
    assert low["difference"] == pytest.approx(-high["difference"])


def chosen(rng: np.random.Generator, *, items: int, favour: float) -> list[tuple[str, str, str, str, str]]:
    rows = []
    for item in range(items):
        for x, y in (("o1", "claude"), ("human_text", "o2"), ("o1", "o2")):
            for who in ("gpt", "p0", "p1"):
                own = 0.5 + (favour if who == "gpt" else 0.0)
                chance = 0.5 if {x, y} == {"o1", "o2"} else own if x.startswith("o") else 1 - own
                rows.append((who, f"i{item}", x, y, "x" if rng.random() < chance else "y"))
    return rows


def test_choices_by_hand() -> None:
    """Only comparisons of an own system with another count; the share won less that of people, pairs alike."""
    rows = [
        ("gpt", "i1", "o1", "claude", "x"),
        ("gpt", "i2", "o1", "claude", "x"),
        ("gpt", "i1", "human_text", "o2", "y"),
        ("gpt", "i2", "human_text", "o2", "tie"),
        ("gpt", "i1", "o1", "o2", "x"),
        ("p", "i1", "o1", "claude", "y"),
        ("p", "i2", "o1", "claude", "x"),
        ("p", "i1", "human_text", "o2", "x"),
        ("p", "i2", "human_text", "o2", "tie"),
    ]
    row = only(run(choices=choices(rows), llms=("gpt",), plan=PLAN))
    assert (row["n"], row["own"], row["own_by_people"]) == (4, pytest.approx(0.875), pytest.approx(0.375))
    assert row["difference"] == pytest.approx(0.5)


def test_swapped_sides_change_nothing() -> None:
    """Which of two systems is x is of no matter."""
    rng = np.random.default_rng(3)
    rows = chosen(rng, items=30, favour=0.2)
    swapped = [
        (who, item, y, x, TURN[won]) if rng.random() < 0.5 else (who, item, x, y, won) for who, item, x, y, won in rows
    ]
    one, two = (only(run(choices=choices(each), llms=("gpt",), plan=PLAN)) for each in (rows, swapped))
    for key in ("own", "own_by_people", "difference", "ci_low", "ci_high"):
        assert one[key] == pytest.approx(two[key])


def test_preferences_by_hand() -> None:
    """Both directions of a form are one statement; people and LLM have clusters of their own."""
    rows = [("gpt", "o1", "claude", p) for p in (0.9, 0.7)] + [("gpt", "claude", "o1", p) for p in (0.1, 0.3)]
    rows += [(f"p{n}", "o1", "claude", p) for n, p in enumerate((0.5, 0.6, 0.4))]
    forms = ["f1", "f2", "f1", "f2", "f1", "f2", "f3"]
    plan = Plan(makers=MAKERS[:2])
    row = only(run(preferences=preferences(rows, assignment_id=forms), llms=("gpt",), plan=plan))
    assert (row["own"], row["own_by_people"]) == (pytest.approx(0.8), pytest.approx(0.5))
    assert (row["n"], row["n_clusters"]) == (4, 2)
    spread = (2 / 1 * 2 * (0.1 / 2) ** 2 + 3 / 2 * 2 * (0.1 / 3) ** 2) ** 0.5
    assert (row["ci_high"] - row["ci_low"]) / 2 == pytest.approx(12.706204736 * spread, rel=1e-6)


@pytest.mark.parametrize("favour", [0.0, 0.15])
def test_intervals_hold_the_truth(favour: float) -> None:
    """Of 60 studies with known favour, at least 52 intervals hold it, and a large one is found."""
    held = 0
    for seed in range(60):
        tables = check(choices=choices(chosen(np.random.default_rng(seed), items=25, favour=favour)), llms=("gpt",))
        [row] = self_preferences(prepare_input(tables, PLAN))
        assert row.ci_low is not None
        assert row.ci_high is not None
        held += row.ci_low <= favour <= row.ci_high
    assert held >= 52


def test_without_people_there_is_no_difference() -> None:
    """The LLM's own numbers stand, with the reason."""
    rows = [row for row in rated(np.random.default_rng(4), items=9, favour=1.0) if row[0] == "gpt"]
    row = only(run(ratings=ratings(rows), llms=("gpt",), plan=PLAN))
    assert row["difference"] is None
    assert row["reason"]
    assert row["own"] is not None


def test_nothing_is_said_without_makers_or_other_systems() -> None:
    """No maker, or nothing but own systems, is no comparison."""
    rows = rated(np.random.default_rng(5), items=5, favour=0.0)
    assert not run(ratings=ratings(rows), llms=("gpt",))["self_preference"]
    own = [row for row in rows if row[2] in ("o1", "o2")]
    assert not run(ratings=ratings(own), llms=("gpt",), plan=Plan(makers=MAKERS[:3]))["self_preference"]
    assert judges_of({"makers": ("gpt=openai",)})["makers"] == (("gpt", "openai"),)


@pytest.mark.parametrize(
    ("maker", "told"),
    [
        (("gtp", "openai"), "makers gtp=openai: expected a system or an LLM (o1, o2, claude, human_text, gpt)"),
        (("p0", "openai"), "makers p0=openai: expected a system or an LLM"),
        (("gpt", "other"), "makers gpt=openai: expected one maker of gpt, got other, too"),
    ],
)
def test_makers_of_nobody_are_told(maker: tuple[str, str], told: str) -> None:
    """Neither a mistyped name nor a person's nor a second maker is left aside in silence."""
    rows = rated(np.random.default_rng(5), items=3, favour=0.0)
    with pytest.raises(AnalysisError) as caught:
        run(ratings=ratings(rows), llms=("gpt",), plan=Plan(makers=(*MAKERS, maker)))
    assert told in str(caught.value)


def test_the_section_says_that_no_people_judged() -> None:
    """Instead of an open question above numbers of the LLM alone."""
    rows = [row for row in rated(np.random.default_rng(4), items=9, favour=1.0) if row[0] == "gpt"]
    results = run(ratings=ratings(rows), llms=("gpt",), plan=PLAN)
    [section] = [one for one in build_document(results).sections if one.id == "self-preference"]
    assert "No people judged the same outputs, so this cannot be told." in str(section.blocks[0])


@pytest.mark.parametrize("ask", ["ratings", "choices"])
def test_people_who_judged_other_outputs_are_nobody_else(ask: str) -> None:
    """The LLM's own numbers stand, as without people."""
    if ask == "ratings":
        rows = [(who, f"{who}{i}", x, i % 5) for who in ("gpt", "p") for i in range(6) for x in ("o1", "claude")]
        found = run(ratings=ratings(rows), llms=("gpt",), plan=Plan(makers=MAKERS[:2]))
    else:
        votes = [(who, f"{who}{i}", "o1", "claude", "xy"[i % 2]) for who in ("gpt", "p") for i in range(6)]
        found = run(choices=choices(votes), llms=("gpt",), plan=Plan(makers=MAKERS[:2]))
    row = only(found)
    assert (row["n"], row["people"], row["difference"]) == (12 if ask == "ratings" else 6, None, None)
    assert row["own"] is not None


def test_the_section_says_what_is_clear() -> None:
    """In words, with the amount."""
    results = run(ratings=ratings(rated(np.random.default_rng(6), items=60, favour=2.0)), llms=("gpt",), plan=PLAN)
    [section] = [one for one in build_document(results).sections if one.id == "self-preference"]
    assert "gpt (LLM) favours o1 and o2 more than people do (+" in str(section.blocks[0])


TWO = '[[systems]]\nid = "x"\nmaker = "openai"\n[[systems]]\nid = "y"\n'
JUDGE = '[[raters]]\nid = "gpt"\nmodel = "m"\nmaker = "{}"\n'


def test_makers_of_a_study_reach_the_plan(tmp_path: Path) -> None:
    """They are no part of the fingerprint: they may be told after the study was built."""
    plain = study_fingerprint(load_study(write_study(tmp_path)))
    study = load_study(write_study(tmp_path, systems=TWO, rest=SPA + JUDGE.format("openai")))
    assert plan_of(study).makers == (("x", "openai"), ("gpt", "openai"))
    assert study_fingerprint(study) == plain
    problems = check_study(write_study(tmp_path, systems=TWO, rest=SPA + JUDGE.format("openia"))).problems
    assert any(
        'maker: expected the maker of a system, got "openia"; did you mean "openai"?' in line for line in problems
    )
