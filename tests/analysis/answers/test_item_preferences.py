"""Soft preferences about items: analysed as choices are, a probability standing for a share won."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import Plan, Reading, check_frames, choice_tests, krippendorff_alpha, preference_tests, read_tables
from analysis.answers.tables import AnswerTables
from spa import AnalysisError
from spa.cli import main
from tests.analysis.made_answers import analyse, choices, preferences, render_report

PUBLISHED = Path(__file__).parents[3].parent / "shared" / "cases" / "formats" / "alpaca_eval_annotations"
SAME = ("choices", "bradley_terry", "rankings", "agreement", "families", "groups", "annotator_pairs", "ties")
Row = tuple[str, str, str, str, str]  # annotator, item, system_x, system_y, preference


def soft(rows: list[Row], **columns: object) -> pl.DataFrame:
    frame = preferences([(who, x, y, value) for who, _, x, y, value in rows], item_id=[row[1] for row in rows])
    return frame.with_columns(pl.lit(value).alias(name) for name, value in columns.items())


def read(frame: pl.DataFrame, *, llms: tuple[str, ...] = (), **more: pl.DataFrame) -> AnswerTables:
    return check_frames({"preferences": frame, **more}, Reading(llms=llms))


def results_of(frame: pl.DataFrame, *, llms: tuple[str, ...] = (), plan: Plan | None = None) -> dict[str, Any]:
    found = analyse(read(frame, llms=llms), plan or Plan())
    found["settings"].pop("inputs")
    return found


def turned(row: Row) -> Row:
    who, item, x, y, value = row
    return who, item, y, x, str(1 - Decimal(value))


def judged(seed: int, *, who: tuple[str, ...] = ("gpt",), items: int = 15, systems: str = "abc") -> list[Row]:
    rng = np.random.default_rng(seed)
    pairs = [(x, y) for at, x in enumerate(systems) for y in systems[at + 1 :]]
    return [
        (name, f"i{item}", *pairs[(item + at) % len(pairs)], f"{rng.integers(0, 101) / 100:.2f}")
        for name in who
        for item in range(items)
        for at in range(2)
    ]


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the formats of other tools are not there")
def test_alpaca_eval_gives_its_own_win_rate() -> None:
    expected = json.loads((PUBLISHED / "expected.json").read_text())
    rows = json.loads((PUBLISHED / "annotations.json").read_text())
    asked: dict[str, int] = {}
    table = []
    for row in rows:
        item = row["instruction"]
        asked[item] = asked.get(item, 0) + 1
        value = "" if row["preference"] is None else f"{row['preference'] - 1:.10f}"
        table.append((row["annotator"], item, row["generator_2"], row["generator_1"], value))
    samples = [sum(other[1] == row[1] for other in table[: at + 1]) for at, row in enumerate(table)]
    frame = soft(table).with_columns(pl.Series("sample", samples).cast(pl.String))
    found = results_of(frame, llms=("stubjudge",))
    [pair] = found["choices"]["pairs"]
    assert (pair["system_x"], pair["system_y"], pair["unit"]) == ("mine", "base", "item")
    assert pair["win_rate"] == pytest.approx(expected["alpaca_eval_win_rate_percent"] / 100, abs=1e-8)
    assert sum(row["n"] for row in found["missing"]) == expected["missing"]
    assert (pair["probabilities"], found["preferences"]) == (True, [])


def test_the_test_is_that_of_scipy_against_one_half() -> None:
    rows = judged(1, systems="ab", items=40)[::2]
    [pair] = results_of(soft(rows), llms=("gpt",))["choices"]["pairs"]
    values = np.array([float(row[4]) for row in rows])
    expected = stats.ttest_1samp(values, 0.5)
    assert (pair["unit"], pair["n"]) == ("item", 40)
    assert pair["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert (pair["wins_x"], pair["ties"]) == (int((values > 0.5).sum()), int((values == 0.5).sum()))


def test_strengths_of_two_systems_are_the_log_odds_of_the_mean() -> None:
    rows = judged(2, systems="ab", items=30)[::2]
    mean = np.mean([float(row[4]) for row in rows])
    found = {row["system"]: row for row in results_of(soft(rows), llms=("gpt",))["bradley_terry"]}
    assert found["a"]["strength"] == pytest.approx(np.log(mean / (1 - mean)) / 2, abs=1e-8)
    assert found["a"]["interval"] == "clustered by item (CR2)"


def test_ten_annotators_are_the_unit_as_of_choices() -> None:
    who = tuple(f"p{at}" for at in range(12))
    rows = judged(3, who=who, items=10, systems="ab")[::2]
    [pair] = results_of(soft(rows))["choices"]["pairs"]
    means = [np.mean([float(row[4]) for row in rows if row[0] == name]) for name in who]
    assert (pair["unit"], pair["n"]) == ("annotator", 12)
    assert pair["p_value"] == pytest.approx(stats.ttest_1samp(means, 0.5).pvalue, rel=1e-9)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_certain_preferences_are_choices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [(*row[:4], str(rng.choice(["0", "0.5", "1"]))) for row in judged(seed, who=("p", "q", "r"), items=8)]
    won = {"1": "x", "0.5": "tie", "0": "y"}
    found = results_of(soft(rows))
    expected = analyse(check_frames({"choices": choices([(*row[:4], won[row[4]]) for row in rows])}, Reading()), Plan())
    for key in SAME:
        assert found[key] == expected[key], key


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_the_direction_asked_does_not_matter(seed: int, data: st.DataObject) -> None:
    rows = judged(seed, who=("p", "q"))
    swap = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    seen: set[frozenset[str]] = set()  # the first row of each pair says in which order it is listed
    other = []
    for row, now in zip(rows, swap, strict=True):
        other.append(turned(row) if now and frozenset(row[2:4]) in seen else row)
        seen.add(frozenset(row[2:4]))
    found, swapped = results_of(soft(rows)), results_of(soft(other))
    assert found["choices"] == swapped["choices"]
    assert found["agreement"] == swapped["agreement"]


def test_both_directions_are_one_answer_of_the_cell() -> None:
    rows = judged(4, systems="ab", items=12)[::2]
    both = [one for row in rows for one in (row, turned(row))]
    spread = [
        one
        for who, item, x, y, value in rows
        for one in ((who, item, x, y, value), (who, item, y, x, str(Decimal("1.1") - Decimal(value))))
        if Decimal(value) >= Decimal("0.1")
    ]
    kept = [row for row in rows if Decimal(row[4]) >= Decimal("0.1")]
    plan = Plan(consistency_tau=None)
    alone, again = (results_of(soft(one), plan=plan)["choices"]["pairs"] for one in (rows, both))
    assert alone == again
    [pair] = results_of(soft(spread), plan=plan)["choices"]["pairs"]
    assert pair["n_answers"] == len(kept)
    expected = np.mean([float(row[4]) - 0.05 for row in kept])
    assert pair["win_rate"] == pytest.approx(expected, abs=1e-9)


def test_rows_and_names_do_not_matter() -> None:
    rows = judged(5, who=("p", "q", "r"))
    frame = soft(rows)
    renamed = frame.with_columns(
        annotator_id=pl.lit("z") + pl.col("annotator_id"), item_id=pl.lit("t") + pl.col("item_id")
    )
    plain, other = (results_of(one) for one in (frame, renamed))
    assert plain["choices"] == other["choices"]
    shuffled = results_of(pl.concat([frame[:3], frame[3:].sample(fraction=1, shuffle=True, seed=1)]))
    key = ("system_x", "system_y", "n", "win_rate", "p_value", "p_crossed")
    assert [[row[name] for name in key] for row in plain["choices"]["pairs"]] == [
        [row[name] for name in key] for row in shuffled["choices"]["pairs"]
    ]


def test_agreement_is_alpha_of_distances() -> None:
    rows = judged(6, who=("p", "q", "r"), systems="ab", items=14)[::2]
    found = results_of(soft(rows))["agreement"]
    assert [row["measure"] for row in found] == ["krippendorff_alpha_interval"]
    table = np.array([[float(row[4]) for row in rows if row[0] == who] for who in "pqr"]).T
    mirrored = np.concatenate([table, 1 - table])  # chance is the mean over both ways of listing a pair
    assert found[0]["value"] == pytest.approx(krippendorff_alpha(mirrored, level="interval").value, abs=0.02)


def test_item_preferences_contradictions() -> None:
    """A contradiction leaves out the item of an LLM and all of a person."""
    rows: list[Row] = [(who, f"i{at}", "a", "b", "0.7") for who in ("gpt", "ann") for at in range(6)]
    rows += [(who, f"i{at}", "b", "a", "0.4" if at else "0.5") for who in ("gpt", "ann") for at in range(6)]
    found = results_of(soft(rows), llms=("gpt",))
    assert {(row["annotator_id"], row["assignment_id"]) for row in found["exclusions"]} == {
        ("gpt", "i0"),
        ("ann", None),
    }
    assert {row["rule"] for row in found["exclusions"]} == {"self_consistency"}
    [evidence] = {row["evidence"] for row in found["exclusions"]}
    assert evidence == "overall of item i0: P(a > b) + P(b > a) = 0.7 + 0.5 = 1.2, more than 1.1"
    [pair] = found["choices"]["pairs"]
    assert (pair["group"], pair["n_answers"], round(pair["win_rate"], 9)) == ("gpt", 5, 0.65)
    kept = results_of(soft(rows), llms=("gpt",), plan=Plan(consistency_tau=None))
    assert kept["exclusions"] == []


def test_one_item_is_not_checked_against_another() -> None:
    rows: list[Row] = [("gpt", "i0", "a", "b", "0.9"), ("gpt", "i1", "b", "a", "0.9"), ("gpt", "i2", "a", "b", "0.2")]
    assert results_of(soft(rows), llms=("gpt",))["exclusions"] == []


def test_item_preferences_position_of_an_llm() -> None:
    """The place that an LLM prefers is told from all that it said."""
    rows = [("gpt", f"i{at}", *pair, "0.8") for at in range(20) for pair in (("a", "b"), ("b", "a"))]
    [row] = results_of(soft(rows), llms=("gpt",))["first_shown"]
    assert (row["n"], row["first"], row["second"], row["biased"]) == (20, 20, 0, True)


def test_tables_that_mix_rows_with_and_without_items_are_refused() -> None:
    rows = judged(7)
    with pytest.raises(AnalysisError, match="item_id must stand in every row, or in none"):
        read(soft([*rows[:3], ("gpt", "", *rows[3][2:])]))
    with pytest.raises(AnalysisError, match="exposure must be empty beside item_id"):
        read(soft(rows).with_columns(exposure=pl.Series(["1", "5"] * (len(rows) // 2))))


def test_in_parts_they_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "preferences.csv"
    soft(judged(8)).write_csv(path)
    shown = CliRunner().invoke(main, ["report", "--preferences", str(path), "--in-parts", "--json"])
    assert shown.exit_code == 1
    assert "must stand in one file, not in parts" in shown.output


def test_one_who_also_chose_is_told_apart_by_a_column() -> None:
    rows = judged(9, who=("p",))
    chosen = choices([(*row[:4], "x") for row in rows])
    with pytest.raises(AnalysisError, match="both chose and gave preferences"):
        read(soft(rows), choices=chosen)
    found = analyse(read(soft(judged(9, who=("gpt",))), llms=("gpt",), choices=chosen), Plan())
    assert {row["group"] for row in found["choices"]["pairs"]} == {"human", "gpt"}


def test_item_preferences_unsure_judge_stands_in() -> None:
    """A judge that is sure of little stands in as well as one that chooses."""
    rows = judged(12, systems="ab", items=40)[::2]
    people = choices(
        [
            (who, *row[1:4], "x" if float(row[4]) + at / 10 > 0.5 else "y")
            for at, who in enumerate("pqr")
            for row in rows
        ]
    )
    winners = [(*row[:4], "x" if float(row[4]) > 0.5 else "tie" if float(row[4]) == 0.5 else "y") for row in rows]
    stated = analyse(read(soft(rows), llms=("gpt",), choices=people), Plan())
    tables = check_frames({"choices": pl.concat([people, choices(winners)])}, Reading(llms=("gpt",)))
    [found], [expected] = (one["llm_vs_people"]["alternative_annotator"] for one in (stated, analyse(tables, Plan())))
    assert found == expected
    assert found["winning_rate"] > 0


def test_the_functions_on_frames_know_them() -> None:
    frame = soft(judged(10, systems="ab")[::2])
    [row] = choice_tests(frame)
    assert row.probabilities
    with pytest.raises(AnalysisError, match="choice_tests"):
        preference_tests(frame)
    with pytest.raises(AnalysisError, match="item_id"):
        choice_tests(frame.drop("item_id").unique("annotator_id"))


def test_the_report_says_what_was_asked() -> None:
    found = analyse(read(soft(judged(11, systems="ab", items=30)[::2]), llms=("gpt",)), Plan())
    page = render_report(found, full=False)["report.md"]
    assert "gave the chance that the first is better" in page
    assert "put" in found["headline"]["certainty"]


@pytest.mark.parametrize(("people", "items"), [(1, 12), (1, 40), (12, 8)])
def test_item_preferences_keep_the_level(people: int, items: int) -> None:
    """Null studies asked in both directions: items lean either way or, over people, each person does."""
    rng, studies = np.random.default_rng([people, items]), 250
    frames = []
    for study in range(studies):
        lean = rng.normal(0, 1, (1, items) if people == 1 else (people, 1)) * np.ones((people, items))
        noise = rng.normal(0, 1, (2, people, items))
        forth, back = (1 / (1 + np.exp(-(sign * lean + own + 0.3))) for sign, own in zip((1, -1), noise, strict=True))
        who, item = (grid.ravel() for grid in np.meshgrid(np.arange(people), np.arange(items), indexing="ij"))
        frames.append(
            pl.DataFrame(
                {
                    "annotator_id": np.concatenate([who, who]),
                    "item_id": np.concatenate([item, item]),
                    "system_x": ["a"] * len(who) + ["b"] * len(who),
                    "system_y": ["b"] * len(who) + ["a"] * len(who),
                    "preference": np.concatenate([forth.ravel(), back.ravel()]).round(4),
                    "criterion": f"study {study}",
                }
            )
        )
    table, llms, plan = pl.concat(frames), ["0"] if people == 1 else [], Plan(consistency_tau=None)
    rows = choice_tests(table, llms=llms, plan=plan)  # of all studies at once, each a criterion
    assert len(rows) == studies
    (alone,) = choice_tests(frames[0], llms=llms, plan=plan)
    assert alone == rows[0]
    assert {row.unit for row in rows} == {"item" if people == 1 else "annotator"}
    rejected = sum(row.p_value is not None and row.p_value <= 0.05 for row in rows)
    assert rejected / studies <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)


def test_two_files_are_one_table_wherever_it_is_cut(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {
            "annotator_id": [f"a{n % 12}" for n in range(180)],
            "item_id": [str(n // 12 // 3) for n in range(180)],
            "system_x": ["elm", "oak", "fir"] * 60,
            "system_y": ["oak", "fir", "elm"] * 60,
            "preference": [((n * 7) % 10) / 10 for n in range(180)],
        }
    ).unique(["annotator_id", "item_id", "system_x"], keep="first", maintain_order=True)
    rows.write_csv(tmp_path / "whole.csv")
    rows.head(49).write_csv(tmp_path / "a.csv")
    rows.tail(-49).write_ndjson(tmp_path / "b.jsonl")
    whole, parts = (
        analyse(read_tables({"preferences": files}, Reading()), Plan())
        for files in ([tmp_path / "whole.csv"], [tmp_path / "a.csv", tmp_path / "b.jsonl"])
    )
    assert whole["choices"] == parts["choices"]
    assert whole["bradley_terry"] == parts["bradley_terry"]


def test_comparison_scores_are_said_in_points_of_their_scale() -> None:
    """CMOS: numbers from -3 to 3 are no chances; the sentence names their mean, with its interval, on either side."""
    rows: list[Row] = [
        (f"p{who}", f"i{item}", *pair, str(sign * ((who * who + item) % 4 - (item == who % 7))))
        for who in range(12)
        for item in range(4)
        for pair, sign in [((("a", "b"), 1), (("b", "a"), -1))[item % 2]]
    ]
    toward = [(1 if x == "a" else -1) * int(value) for _, _, x, _, value in rows]
    own = np.array(
        [np.mean([v for row, v in zip(rows, toward, strict=True) if row[0] == f"p{who}"]) for who in range(12)]
    )
    low, high = stats.t.interval(0.95, 11, own.mean(), stats.sem(own))
    for best, turn, step in (("a", 1, 1), ("a", -1, -1), ("z", 1, -1)):  # the better one second, too
        named = [tuple(best if cell == "a" else cell for cell in row[:4]) for row in rows]
        frame = soft([(*name, str(turn * int(row[4]))) for name, row in zip(named, rows, strict=True)][::step])
        found = analyse(check_frames({"preferences": frame}, Reading(numbers=(3 * turn, -3 * turn))), Plan())
        report = render_report(found)["report.md"]
        scored = f"scored {best} {own.mean():.2f} better than b on the scale from \u22123 to 3 on average"
        assert f"{scored} (95% confidence interval {low:.2f} to {high:.2f})" in report
        assert "chance that" not in report
        assert "The line is 50%, no preference; 0% is \u22123 and 100% 3 of the scale" in report
    chances = soft([(*row[:4], str((int(row[4]) + 3) / 6)) for row in rows])  # from 0 to 1, which is no such scale
    found = analyse(check_frames({"preferences": chances}, Reading(numbers=(1, 0))), Plan())
    assert "put the chance that a is better" in render_report(found)["report.md"]
