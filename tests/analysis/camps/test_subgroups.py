"""Do subgroups of people prefer differently: a library's value, privacy, properties, a simulation, one report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import Plan, Reading, StudyFacts, check_frames
from analysis.answers.people_columns import with_demographics
from analysis.answers.preregistration import planned
from analysis.answers.study_facts import Preregistration
from analysis.camps.subgroups import brown_forsythe, shown_subgroups
from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.elicitation.choices import ChoiceTarget
from spa.errors import AnalysisError
from spa.responses.outcomes import COMPLETED
from tests.analysis.made_answers import analyse, choices, preferences, ratings, render_report
from tests.analysis.verification.in_process import analysed
from tests.calibration.camps import skewed_chances, subgroup_level
from tests.spa.small_study import BEGINNING, answer_form, write_study

NATIVE, AGE, SEX = "screening:native", "demographic:age_band", "demographic:sex"
PLAN = Plan(compare_people_by=(NATIVE,))


def people_of(values: dict[str, str | None], column: str = NATIVE) -> pl.DataFrame:
    return pl.DataFrame({"annotator_id": [*values], column: [*values.values()]}, schema_overrides={column: pl.String})


def answered(plan: Plan = PLAN, **frames: pl.DataFrame) -> dict[str, Any]:
    return analyse(check_frames(frames, Reading(people_columns=plan.compare_people_by)), plan)


def two_tastes(sizes: dict[str | None, int], seed: int = 1) -> dict[str, pl.DataFrame]:
    """Make choices of 6 items a person; who says yes prefers tea, the others water."""
    rng = np.random.default_rng(seed)
    of = {f"p{value}{number}": value for value, n in sizes.items() for number in range(n)}
    rows = [
        (who, f"i{item}", *(("tea", "water") if item % 2 else ("water", "tea")), winner)
        for who, value in of.items()
        for item in rng.permutation(9)[:6]
        for winner in ["tea" if rng.random() < (0.8 if value == "yes" else 0.35) else "water"]
    ]
    return {"choices": choices(rows), "annotators": people_of(of)}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(2, 12), min_size=2, max_size=5), st.integers(0, 1000))
def test_brown_forsythe_as_statsmodels(sizes: list[int], seed: int) -> None:
    from statsmodels.stats.oneway import anova_oneway

    rng = np.random.default_rng(seed)
    samples = [rng.normal(place, 1 + place, n) for place, n in enumerate(sizes)]
    wanted, found = anova_oneway(samples, use_var="bf"), brown_forsythe(samples)
    assert found is not None
    assert (found.f, found.df_1, found.df_2, found.p_value) == pytest.approx(
        (wanted.statistic, *wanted.df, wanted.pvalue), rel=1e-9
    )


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30)), st.integers(0, 15))
def test_withheld_people_hide_one_another(counts: dict[str, int], missing: int) -> None:
    """Nobody's figure follows from the whole less what is shown: as many as the least are hidden, or nobody, or all."""
    shown = shown_subgroups(counts, 10, missing=missing)
    hidden = [n for name, n in counts.items() if name not in shown]
    assert all(counts[name] >= 10 for name in shown)
    assert not hidden or not shown or sum(hidden) + missing >= 10
    assert len({counts[name] for name in shown} & {*hidden}) == 0 or not shown


def test_subgroups_small_ones_are_nowhere(tmp_path: Path) -> None:
    """Three people, and the smaller of the others: neither their number nor a figure is in any file."""
    results = answered(**two_tastes({"yes": 31, "no": 12, "unsaid": 3, None: 4}))
    (column,) = results["people_columns"]
    assert (column["n"], column["missing"], column["declared"]) == (46, 4, False)
    rows = {row["subgroup"]: row for row in results["people_by"]}
    assert [name for name, row in rows.items() if row["n"] is None] == ["no", "unsaid"]
    assert all(rows[name]["estimate"] is rows[name]["ci_low"] is None for name in ("no", "unsaid"))
    assert rows["yes"]["n"] == 31
    (test,) = results["people_by_tests"]
    assert (test["p_value"], test["reason_code"], test["n"]) == (None, "small_subgroups", 31)
    silent = answered(**two_tastes({"yes": 31, "no": 12, "unsaid": 3, None: 7}))  # who hide the three
    assert {row["subgroup"]: row["n"] for row in silent["people_by"]} == {"no": 12, "unsaid": None, "yes": 31}
    assert (silent["people_columns"][0]["n"], silent["people_columns"][0]["missing"]) == (None, None)
    text = render_report(results)["report.md"]
    assert "unsaid" in text
    assert "Exploratory" in text


def test_subgroups_that_differ_are_found() -> None:
    """Opposite tastes: the means, the test, the sentence; nothing of it on the first page."""
    results = answered(**two_tastes({"yes": 25, "no": 22, None: 2}))
    (test,) = results["people_by_tests"]
    assert (test["differ"], test["reversed"], test["n"], test["n_tests"]) == (True, True, 47, 1)
    own = {row["subgroup"]: row["estimate"] for row in results["people_by"]}
    assert own["yes"] - own["no"] == pytest.approx(test["spread"])
    assert "subgroups differ in 1 of 1 tests" in render_report(results)["report.md"]
    assert "subgroup" not in json.dumps(results["headline"])


def test_subgroups_odd_values_are_said() -> None:
    """Names that systems have, spelling alone, half missing, a value a person: what is said of each."""
    frames = two_tastes({"yes": 24, "no": 22, None: 20})
    who, said = (frames["annotators"][name].to_list() for name in ("annotator_id", NATIVE))

    def text(values: list[str | None]) -> str:
        people = people_of(dict(zip(who, values, strict=True)))
        return render_report(answered(choices=frames["choices"], annotators=people))["report.md"]

    named = text([None if one is None else {"yes": "tea", "no": "water"}[one] for one in said])
    assert "screening:native \u201ctea\u201d 8" in named
    assert "20 people say nothing there and are no subgroup" in named
    assert "\u201cNo\u201d and \u201cno\u201d differ in spelling only" in text(
        [one if place % 2 else one and one.replace("n", "N") for place, one in enumerate(said)]
    )
    assert "put many values, as ages, into bands" in text([str(20 + place % 12) for place in range(len(who))])


def test_subgroups_small_and_skewed_are_refused() -> None:
    """A far value of a small subgroup beside a large one: means, no test, and why; alike in size they are tested."""
    far = {f"y{who}": 0.05 if who == 3 else 0.9 + who / 200 for who in range(10)}
    rows = [(who, "tea", "water", value) for who, value in far.items()]
    rows += [(f"n{who}", "tea", "water", round(0.7 + (who % 10) / 50, 3)) for who in range(25)]
    of = {row[0]: "yes" if row[0][0] == "y" else "no" for row in rows}
    (test,) = answered(preferences=preferences(rows), annotators=people_of(of))["people_by_tests"]
    assert (test["p_value"], test["reason_code"], test["highly_skewed"]) == (None, "small_skewed_subgroup", True)
    assert test["spread"] is not None
    assert test["reversed"] is False  # both above even
    fewer = [row for row in rows if row[0] in far or int(row[0][1:]) < 20]
    (test,) = answered(preferences=preferences(fewer), annotators=people_of(of))["people_by_tests"]
    assert test["p_value"] is not None  # 10 people are half of 20
    agreed = [(who, "tea", "water", 0.8) if who in far else row for row, who in ((row, row[0]) for row in rows)]
    (test,) = answered(preferences=preferences(agreed), annotators=people_of(of))["people_by_tests"]
    assert (test["p_value"], test["reason_code"]) == (None, "small_constant_subgroup")
    level, refused = subgroup_level(skewed_chances, (10, 40), 300, np.random.default_rng(6), wide=True)
    assert level <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5
    assert 0.6 < refused < 0.9


def test_subgroups_declared_are_a_caveat() -> None:
    """Of columns frozen before the answers alone; the clearest difference is named, the others are counted."""
    frames = two_tastes({"yes": 25, "no": 22})
    taste = frames["annotators"][NATIVE]
    other = [("old", "young")[(value == "yes") ^ (place % 9 == 0)] for place, value in enumerate(taste)]
    frames["annotators"] = frames["annotators"].with_columns(pl.Series(AGE, other))
    plan = Plan(compare_people_by=(NATIVE, AGE))
    tables = check_frames(frames, Reading(people_columns=plan.compare_people_by))

    def caveats(*columns: str) -> list[str]:
        frozen = Preregistration(frozen_at=0, sha256="f" * 64, submissions=0, deviations=(), people_by=columns)
        facts = StudyFacts(id="s", title="s", language="en", systems=(), criteria=(), preregistration=frozen)
        results = analyse(tables, plan, study=facts)
        assert [row["n_tests"] for row in results["people_by_tests"]] == [2, 2]  # of both columns together
        head = results["headline"]
        found = [row for row in (*head["problems"], *head["more_problems"]) if row["kind"] == "subgroups_differ"]
        assert all(row["section"] == "camps" for row in found)
        return [row["text"] for row in found]

    assert caveats() == []
    (one,) = caveats(AGE)
    assert one.startswith(f"Subgroups by {AGE} differ: ")
    assert "more test" not in one
    (both,) = caveats(AGE, NATIVE)
    assert both.startswith(f"Subgroups by {NATIVE} differ: tea over water, overall: yes 8")
    assert both.endswith("; and in 1 more test.")
    assert not any(AGE in text for text in caveats(NATIVE))


@pytest.mark.parametrize("kind", ["preferences", "ratings", "choices"])
def test_subgroups_hang_on_no_order_name_or_side(kind: str) -> None:
    """Rows shuffled, values and people renamed, sides turned: the same tests; means keep to their values."""
    rng = np.random.default_rng(7)
    of = {f"p{number:02d}": ("yes", "no")[number % 2] for number in range(24)}
    mood = {who: rng.normal(0.1, 0.2) for who in of}
    if kind == "ratings":
        table = ratings(
            (who, f"i{item}", system, int(np.clip(round(3 + 4 * (mood[who] + rng.normal(0, 0.2)) * sign), 1, 5)))
            for who in of
            for item in range(3)
            for system, sign in (("tea", 1), ("water", -1))
        )
    elif kind == "choices":
        table = choices(
            (who, f"i{item}", "tea", "water", "tea" if rng.random() < 0.5 + mood[who] else "water")
            for who in of
            for item in range(5)
        )
    else:
        table = preferences(
            (who, "tea", "water", round(float(np.clip(0.5 + mood[who] + rng.normal(0, 0.1), 0, 1)), 2)) for who in of
        )
    first = answered(**{kind: table, "annotators": people_of(of)})
    renamed = {who: f"q{99 - number}" for number, who in enumerate(of)}
    other = table.sample(fraction=1, shuffle=True, seed=3).with_columns(pl.col("annotator_id").replace(renamed))
    if kind == "choices":
        other = other.rename({"system_x": "system_y", "system_y": "system_x"})
    if kind == "preferences":
        other = other.rename({"system_x": "system_y", "system_y": "system_x"}).with_columns(
            preference=(1 - pl.col("preference").cast(pl.Float64)).round(2).cast(pl.String)
        )
    words = {"yes": "zzz", "no": "a b"}
    again = answered(
        **{kind: other, "annotators": people_of({renamed[who]: words[value] for who, value in of.items()})}
    )
    (test,), (same,) = first["people_by_tests"], again["people_by_tests"]
    for name in ("f", "df_1", "df_2", "p_value", "spread", "reversed", "n"):
        assert test[name] == pytest.approx(same[name], rel=1e-9), name
    turned = test["system_x"] != same["system_x"]
    means = {words[row["subgroup"]]: row["estimate"] for row in first["people_by"]}
    found = {
        row["subgroup"]: (1 - row["estimate"]) if turned and kind != "ratings" else row["estimate"]
        for row in again["people_by"]
    }
    if turned and kind == "ratings":
        found = {name: -mean for name, mean in found.items()}
    assert found == pytest.approx(means)


def test_subgroups_a_person_of_two_values() -> None:
    """A column of the answers that says two things of a person: one line, which names who and what."""
    table = ratings(
        [("ann", "i1", "tea", 3), ("ann", "i1", "water", 4), ("bob", "i1", "tea", 2)], group_of=["x", "y", "x"]
    )
    plan = Plan(compare_people_by=("group_of",))
    with pytest.raises(AnalysisError, match=r"group_of.*expected one value a person, got 'x' and 'y' of 'ann'"):
        answered(plan, ratings=table)
    with pytest.raises(AnalysisError, match=r"compare_people_by=\('taste',\): expected a column"):
        answered(Plan(compare_people_by=("taste",)), ratings=table.drop("group_of"))


def test_subgroups_by_command_and_declared(tmp_path: Path) -> None:
    """Columns of the ratings themselves by an option; not with tables in parts; a frozen plan declares them."""
    frames = two_tastes({"yes": 25, "no": 22})
    table = frames["choices"].join(frames["annotators"], on="annotator_id")
    table.write_csv(tmp_path / "c.csv")
    runner = CliRunner()
    asked = ["report", "--choices", str(tmp_path / "c.csv"), "--compare-people-by", NATIVE]
    done = runner.invoke(main, [*asked, "--out", str(tmp_path / "r"), "--no-verify"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (test,) = json.loads((tmp_path / "r" / "results.json").read_text())["people_by_tests"]
    assert test["differ"]
    assert (tmp_path / "r" / "tables" / "people_by.csv").exists()
    refused = runner.invoke(main, [*asked, "--in-parts", "--out", str(tmp_path / "r2")])
    assert "--compare-people-by: not with --choices in parts" in refused.output
    content = planned(PLAN, fingerprint="f", annotators=3)
    assert content["plan"]["compare_people_by"] == [NATIVE]
    assert "compare_people_by" not in planned(Plan(), fingerprint="f", annotators=3)["plan"]


def test_subgroups_are_computed_again() -> None:
    tables = check_frames(two_tastes({"yes": 25, "no": 12}), Reading(people_columns=(NATIVE,)))
    results = analysed(tables, PLAN)[0]
    assert [row.df_2 for row in results.people_by_tests] == [11]  # what the smaller subgroup has; Welch's are more
    found = results.verification
    assert found is not None
    assert found.n_different == 0
    assert "no room says how" not in {row.reason for row in found.not_recomputed}


EXPORT = "Submission id,Participant id,Status,Time taken,Age,Sex,Total approvals,Country of birth"


def on_prolific(folder: Path) -> Path:
    """Let 39 people of Prolific answer a frozen study: the younger mostly choose one system, the others another."""
    path = write_study(
        folder,
        f"""{BEGINNING}criteria = [{{id = "meaning", name = "meaning"}}]
people = {{annotators = 39, seconds_per_100_words = 0}}
analysis = {{compare_people_by = ["{AGE}", "{SEX}", "demographic:country_of_birth"]}}

[choices]
""",
    )
    for command in (["build"], ["freeze"]):
        done = CliRunner().invoke(main, [*command, str(path)])
        assert done.exit_code == 0, done.output
    lines, rng = [EXPORT], np.random.default_rng(4)
    with open_workspace(path) as workspace:
        for who in range(39):
            store = workspace.store
            lease = store.visits.admit(source="prolific", person=f"pid-{who:02}", external_id=f"s{who}", now=1)
            form, systems = workspace.form(lease.assignment_id), store.assignments.key(lease.assignment_id).systems
            said = {}
            for question in form.questions("people"):
                if isinstance(question.target, ChoiceTarget):
                    first = systems[question.target.label_x] < systems[question.target.label_y]
                    said[question.question_id] = "xy"[first ^ (who < 14) ^ bool(rng.random() < 0.15)]
            store.visits.finish(answer_form(lease, form, **said), COMPLETED, "C", now=60)
            state = "RETURNED" if who == 12 else "APPROVED"
            age = next(years for last, years in ((14, 25), (26, 37), (37, 42), (39, 61)) if who < last)
            lines.append(f"s{who},pid-{who:02},{state},300,{age},{'Female' if who % 2 else 'Male'},9,DATA_EXPIRED")
    lines.append("s99,pid-99,APPROVED,300,25,Male,9,France")
    (folder / "prolific_export.csv").write_text("\n".join(lines) + "\n")
    return path


def test_subgroups_from_a_prolific_export(tmp_path: Path) -> None:
    """From the demographic export to the report: ages and sexes compared, small groups withheld, nobody named."""
    path = on_prolific(tmp_path)
    asked = ["report", str(path), "--no-verify", "--annotator-table", str(tmp_path / "prolific_export.csv")]
    done = CliRunner().invoke(main, [*asked, "--out", str(tmp_path / "r")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    results = json.loads((tmp_path / "r" / "results.json").read_text())
    age, sex, born = results["people_columns"]
    assert (age["declared"], age["n"], age["missing"], sex["n"]) == (True, 38, 1, 38)
    assert born["reason_code"] == "one_subgroup"
    rows = {row["subgroup"]: row["n"] for row in results["people_by"] if row["column"] == AGE}
    assert rows == {"20-29": 13, "30-39": 12, "40-49": None, "60-69": None}  # two, and with them the next smallest
    assert all(row["differ"] for row in results["people_by_tests"] if row["column"] == AGE)
    assert [row["kind"] for row in results["headline"]["problems"]].count("subgroups_differ") == 1
    (read,) = (row for row in results["settings"]["inputs"] if row["file"] == "prolific_export.csv")
    assert (read["table"], read["notes"]) == ("annotators", ["38 of 39 annotators are in it"])
    files = [file for file in (tmp_path / "r").rglob("*") if file.is_file()]
    assert (tmp_path / "r" / "tables" / "people_by.csv") in files
    assert not any(b"pid-" in file.read_bytes() for file in files)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("annotator_id,age\np1,3\n", "expected a demographic export"),
        (f"{EXPORT.replace(',Sex', ',Years')}\ns,p,APPROVED,1,2,Male,9,x\n", "demographic sex: expected one of"),
        (f"{EXPORT}\ns,pid-99,APPROVED,1,25,Male,9,x\n", "expected people who answered this study, got 1 others"),
        (f"{EXPORT}\ns,pid-01,GONE,1,25,Male,9,x\n", "row 2, Status: expected one of"),
    ],
)
def test_subgroups_of_another_list(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    annotators = pl.DataFrame({"annotator_id": ["prolific/pid-01"]})
    with pytest.raises(AnalysisError, match=line):
        with_demographics(annotators, tmp_path / "list.csv", [AGE, SEX], person_id=lambda *names: "/".join(names))
    with pytest.raises(AnalysisError, match="to name a column of this list"):
        with_demographics(annotators, tmp_path / "list.csv", [NATIVE], person_id=lambda *names: "/".join(names))
