"""Strengths with covariates of the outputs, from tables to the sentences of the report."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import AnswerTables, Plan, Reading, check_frames
from analysis import analyse as analyse_records
from analysis.answers.output_features import counts_of
from analysis.covariates.contribution import CONTRIBUTION
from analysis.printing.document import Section
from analysis.report.sections import make_section, shown_results
from spa.errors import AnalysisError
from tests.analysis.live.test_live_verdicts import live_of
from tests.analysis.made_answers import analyse
from tests.conftest import need

LONG = {"good": 60, "fair": 110, "poor": 200}  # words on average
TRUTH = {"good": 0.5, "fair": 0.0, "poor": -0.5}
TASTES = {"human": 0.0, "judge": 0.9}  # log odds for a doubling of length


@cache
def judged(seed: int = 4, n_items: int = 90) -> dict[str, pl.DataFrame]:
    """Return choices of 30 people and of a judge who likes length, and the outputs, of which the poor are longest."""
    rng = np.random.default_rng(seed)
    words = {
        (item, system): max(1, int(long * np.exp(0.5 * rng.normal())))
        for item in range(n_items)
        for system, long in LONG.items()
    }
    outputs = [
        {
            "item_id": f"i{item}",
            "system": system,
            "text": "# Title\n\n" * int(rng.random() < 0.4) + "word " * n,
            "novelty": str(round(rng.random(), 3)),
        }
        for (item, system), n in words.items()
    ]
    rows = []
    for kind, taste in TASTES.items():
        for item in range(n_items):
            for x, y in (("good", "fair"), ("poor", "good"), ("fair", "poor")):
                for number in range(3 if kind == "human" else 1):
                    longer = np.log2(words[item, x] / words[item, y])
                    won = rng.random() < 1 / (1 + np.exp(-(TRUTH[x] - TRUTH[y] + taste * longer)))
                    who = f"p{(3 * item + number) % 30}" if kind == "human" else "judge"
                    rows.append((who, f"a{item % 15}", f"i{item}", x, y, "x" if won else "y"))
    names = ["annotator_id", "assignment_id", "item_id", "system_x", "system_y", "winner"]
    return {"choices": pl.DataFrame(rows, names, orient="row"), "outputs": pl.DataFrame(outputs)}


def tables(frames: dict[str, pl.DataFrame], *columns: str) -> AnswerTables:
    llms = ("judge",) if "judge" in frames["choices"]["annotator_id"] else ()
    return check_frames(frames, Reading(llms=llms, output_columns=columns))


def results(frames: dict[str, pl.DataFrame], *control: str, **more: Any) -> dict[str, Any]:
    columns = [one.removeprefix("column:") for one in control if one.startswith("column:")]
    return analyse(tables(frames, *(columns if "outputs" in frames else ())), Plan(control=control, **more))


@cache
def usual(*control: str) -> dict[str, Any]:
    """Return the results of the answers as they are."""
    return results(judged(), *control)


def section(frames: dict[str, pl.DataFrame], *control: str) -> Section | None:
    columns = [one.removeprefix("column:") for one in control if one.startswith("column:")]
    found = analyse_records(tables(frames, *columns), Plan(control=control))
    return make_section(shown_results(found), "held-constant")


def lines(found: Section | None) -> str:
    assert found is not None
    return repr(found)


def test_a_taste_for_length_is_told_and_taken_out() -> None:
    """The judge's order without control is that of length, with it the true one; people like no length."""
    found = usual("length")
    effects = {row["group"]: row for row in found["covariate_effects"]}
    for group, taste in TASTES.items():
        row = effects[group]
        assert row["ci_low"] < taste < row["ci_high"]
        assert row["points"] == pytest.approx(100 / (1 + np.exp(-row["coefficient"])) - 50)
        assert (row["covariate"], row["unit"], row["unit_size"], row["n_left_out"]) == ("length", "doubling", 1, 0)
    own = [row for row in found["controlled_strengths"] if row["group"] == "judge"]
    by_rank = {name: [row["system"] for row in sorted(own, key=lambda row: row[name])] for name in RANKS}
    assert by_rank["controlled_rank"] == ["good", "fair", "poor"]
    assert by_rank["rank"][0] == "poor"
    assert own[0]["held"] == ["length"]


RANKS = ("rank", "controlled_rank")


def test_strengths_without_control_are_bradley_terry() -> None:
    found = usual("length")
    fitted = {(row["group"], row["system"]): row["strength"] for row in found["bradley_terry"]}
    for row in found["controlled_strengths"]:
        assert row["strength"] == pytest.approx(fitted[row["group"], row["system"]], abs=1e-9)
        assert row["interval"] == ("annotator and item" if row["group"] == "human" else "assignment and item")


def test_nothing_is_held_constant_unasked() -> None:
    found = results(judged())
    assert [found[key.name] for key in CONTRIBUTION.keys] == [[], [], []]


def test_win_rate_at_equal_length_is_scikit_learns() -> None:
    """By its own formula: tanh of the difference in characters over its standard deviation in the pair."""
    need("sklearn")
    from sklearn.linear_model import LogisticRegression

    frames = judged()
    found = usual("length")
    characters = {(row["item_id"], row["system"]): len(row["text"]) for row in frames["outputs"].to_dicts()}
    for row in found["equal_length"]:
        x, y = row["system_x"], row["system_y"]
        kind = pl.col("annotator_id") == "judge"
        own = frames["choices"].filter(kind if row["group"] == "judge" else ~kind)
        asked = [
            (characters[item, x] - characters[item, y], (winner == "x") == (first == x))
            for item, first, second, winner in own.select("item_id", "system_x", "system_y", "winner").iter_rows()
            if {first, second} == {x, y}
        ]
        longer, won = np.array([one[0] for one in asked], dtype=float), np.array([one[1] for one in asked])
        other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
            np.tanh(longer / longer.std(ddof=1))[:, None], won
        )
        assert row["equal_length"] == pytest.approx(1 / (1 + np.exp(-other.intercept_[0])), abs=1e-5)
        assert row["coefficient"] == pytest.approx(other.coef_[0, 0], abs=1e-4)
        assert row["win_rate"] == pytest.approx(won.mean())
        assert row["ci_low"] < row["equal_length"] < row["ci_high"]
    assert len(found["equal_length"]) == 6


def test_interval_at_equal_length_is_statsmodels() -> None:
    """In a pair the judge saw each item once: by assignment alone; people by annotator and item."""
    from scipy.stats import t
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    frames = judged()
    size = {(row["item_id"], row["system"]): len(row["text"]) for row in frames["outputs"].to_dicts()}
    for row in usual("length")["equal_length"]:
        x, y, human = row["system_x"], row["system_y"], row["group"] == "human"
        judge = pl.col("annotator_id") == "judge"
        pair = pl.concat_list("system_x", "system_y").list.sort() == sorted((x, y))
        own = frames["choices"].filter(pair, ~judge if human else judge)
        longer = np.array([size[item, x] - size[item, y] for item in own["item_id"]], dtype=float)
        won = ((own["winner"] == "x") == (own["system_x"] == x)).to_numpy().astype(float)
        matrix = np.column_stack([np.ones(len(won)), np.tanh(longer / longer.std(ddof=1))])
        names = ["annotator_id", "item_id"] if human else ["assignment_id"]
        ids = [own[name].rank("dense").to_numpy().astype(int) for name in names]
        groups = np.column_stack(ids) if human else ids[0]
        made = GLM(won, matrix, family=Binomial()).fit(cov_type="cluster", cov_kwds={"groups": groups})
        half = t.ppf(0.975, min(len(np.unique(one)) for one in ids) - 1) * made.bse[0]
        ends = [1 / (1 + np.exp(-(made.params[0] + sign * half))) for sign in (-1, 1)]
        assert [row["ci_low"], row["ci_high"]] == pytest.approx(ends, abs=1e-7)
        assert row["interval"] == ("annotator and item" if human else "assignment")


def test_marks_and_words_are_counted() -> None:
    """Not within blocks of code; a Chinese character is a word; a text that is not there counts nothing."""
    texts = [
        "# One\n\n## Two\n\n* a\n1. b\n   - c\n\n**bold** and __bold__, 2 * 3 ** 4 -5",
        "```\n# no\n- no\n**no**\n```\n# yes",
        "```\n# never closed",
        "我喜欢诗",
        "",
        None,
    ]
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    counted = frame.select(*counts_of(pl.col("text"))).drop("characters").rows()
    assert counted == [(13, 2, 3, 2), (4, 1, 0, 0), (2, 0, 0, 0), (4, 0, 0, 0), (0, 0, 0, 0), (None,) * 4]


def numbers(found: dict[str, Any]) -> dict[Any, list[float]]:
    """Return the numbers of what is held constant, by group, covariate and system."""
    kept: dict[Any, list[float]] = {}
    for name, fields in (
        ("covariate_effects", ("coefficient", "ci_low", "ci_high", "n")),
        ("controlled_strengths", ("strength", "ci_low", "controlled", "controlled_low", "controlled_high")),
    ):
        for row in found[name]:
            key = (row["group"], row.get("covariate", ""), row.get("system", ""))
            kept[key] = [row[field] for field in fields]
    return kept


@pytest.mark.parametrize("change", ["swap half", "shuffle", "rename", "in repeats"])
def test_how_answers_are_written_changes_nothing(change: str) -> None:
    frames = judged()
    answers = frames["choices"]
    odd = pl.int_range(pl.len()) % 2 == 1
    outputs, names = frames["outputs"], {name: name for name in LONG}
    if change == "swap half":
        x, y = pl.col("system_x"), pl.col("system_y")
        turned = pl.when(pl.col("winner") == "x").then(pl.lit("y")).otherwise(pl.lit("x"))
        answers = answers.with_columns(
            pl.when(odd).then(y).otherwise(x).alias("system_x"),
            pl.when(odd).then(x).otherwise(y).alias("system_y"),
            pl.when(odd).then(turned).otherwise("winner").alias("winner"),
        )
    elif change == "shuffle":
        answers = answers.sample(fraction=1, shuffle=True, seed=1)
        outputs = outputs.reverse()
    elif change == "rename":
        names = {"good": "z", "fair": "k", "poor": "a"}
        answers = answers.with_columns(pl.col("system_x", "system_y").replace(names))
        outputs = outputs.with_columns(pl.col("system").replace(names))
    else:
        answers = pl.concat([answers.with_columns(repeat=pl.lit(str(number))) for number in (1, 2)])
    found = numbers(results({"choices": answers, "outputs": outputs}, "length", "markdown"))
    before = numbers(usual("length", "markdown"))
    for (group, covariate, system), values in before.items():
        assert found[group, covariate, names.get(system, "")] == pytest.approx(values, abs=1e-9, nan_ok=True)


def test_what_cannot_be_estimated_is_one_line() -> None:
    """Marks that no output has, a column that is the system's, and one that is not there."""
    frames = judged()
    outputs = frames["outputs"].with_columns(
        size=pl.col("system").replace_strict({"good": "1", "fair": "2", "poor": "4"})
    )
    found = section({**frames, "outputs": outputs}, "length", "markdown", "column:size")
    text = lines(found)
    assert (
        "Not held constant: items of lists and bold parts (choices by people; choices by judge (LLM)): no two" in text
    )
    assert "Not held constant: size (choices by people; choices by judge (LLM)): cannot be distinguished" in text
    with pytest.raises(AnalysisError, match="outputs table: expected column colour, got none"):
        tables(frames, "colour")


def test_without_outputs_one_line_says_what_to_give() -> None:
    text = lines(section({"choices": judged()["choices"]}, "length"))
    assert "of no two outputs that were compared is it known: give the outputs' texts (--output-table), or a" in text
    assert "Strengths without" not in text


def test_columns_of_very_large_numbers_are_held_constant() -> None:
    """Numbers whose squares are beyond all floats have the effects of the same numbers in another unit."""
    frames = judged()
    outputs = frames["outputs"].with_row_index("cost").with_columns(cost=(pl.col("cost") % 7).cast(pl.String))
    large = outputs.with_columns(cost=pl.col("cost") + "e300")
    one, two = (results({**frames, "outputs": each}, "column:cost")["covariate_effects"] for each in (outputs, large))
    assert [row["points"] for row in one] == pytest.approx([row["points"] for row in two])
    assert two[0]["unit_size"] == pytest.approx(1e300 * one[0]["unit_size"])


def test_metrics_give_lengths_and_columns() -> None:
    """The same figures as from the texts, where a metric counts the same words."""
    frames = judged()
    counted = frames["outputs"].select(
        "item_id",
        "system",
        pl.lit("words").alias("metric"),
        pl.col("text").str.count_matches(r"\w+").cast(pl.String).alias("score"),
    )
    found = results({"choices": frames["choices"], "metrics": counted}, "length")
    assert numbers(found) == numbers(usual("length"))
    other = counted.with_columns(metric=pl.lit("cost"))
    effects = results({"choices": frames["choices"], "metrics": other}, "column:cost")["covariate_effects"]
    assert {row["unit"] for row in effects} == {"standard deviation"}
    spread = counted["score"].cast(pl.Float64).std(ddof=0)
    assert effects[0]["unit_size"] == pytest.approx(spread)


def test_answers_without_a_covariate_are_counted() -> None:
    frames = judged()
    known = frames["outputs"].filter(pl.col("item_id") != "i7")
    effects = results({**frames, "outputs": known}, "length")["covariate_effects"]
    assert {row["group"]: row["n_left_out"] for row in effects} == {"human": 9, "judge": 3}
    assert "9 comparisons left out, as a covariate of an output is not known" in lines(
        section({**frames, "outputs": known}, "length")
    )


def test_samples_of_an_output_have_their_own_length() -> None:
    """Where answers say which sample they are about; else the mean of the samples stands for it."""
    outputs = pl.DataFrame(
        {
            "item_id": ["i"] * 4,
            "system": ["a", "a", "b", "b"],
            "sample": ["1", "2", "1", "2"],
            "text": ["w", "w " * 4, "w", "w"],
        }
    )
    from analysis.answers.input import prepare_input
    from analysis.covariates.comparisons import controlled_choices, scaled_features

    def difference(**columns: str) -> float:
        answer = pl.DataFrame(
            [{"annotator_id": "p", "item_id": "i", "system_x": "b", "system_y": "a", "winner": "x", **columns}]
        )
        prepared = prepare_input(check_frames({"choices": answer, "outputs": outputs}, Reading()), Plan())
        features, _ = scaled_features(prepared, ["words"])
        (part,) = controlled_choices(prepared, features, ["words"])
        sign = 1 if part.systems[part.judgements.x[0]] == "b" else -1
        return sign * float(part.features[0, 0])

    assert difference(sample_x="1", sample_y="2") == -2
    assert difference(sample_x="2", sample_y="1") == 0
    assert difference() == -1


def test_few_answers_have_no_interval() -> None:
    frames = judged()
    few = frames["choices"].filter(
        pl.col("item_id").is_in([f"i{number}" for number in range(9)]), pl.col("annotator_id") != "judge"
    )
    plan = {"unit": "item"}
    row = results({**frames, "choices": few}, "length", **plan)["covariate_effects"][0]
    assert row["ci_low"] is None
    assert row["reason"] == "9 items are too few for an interval: 10 are needed"


def test_sentences_are_those_of_the_figures() -> None:
    found = usual("length")
    points = {row["group"]: row["points"] for row in found["covariate_effects"]}
    text = lines(section(judged(), "length"))
    signs = {group: f"{value:+.1f}".replace("-", "\u2212") for group, value in points.items()}
    assert f"Each doubling of length is worth {signs['human']} points of win rate to people (" in text
    assert f"{signs['judge']} to judge (LLM) (" in text
    assert "with length held constant the order is 1. good, 2. fair, 3. poor; without, 1. poor" in text
    assert "as outputs are, and would win" in text


def test_many_pairs_and_systems_are_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more pairs than that the most compared are, and the others say why they are not; so do more systems."""
    monkeypatch.setattr("analysis.covariates.equal_length.MOST_PAIRS", 2)
    monkeypatch.setattr("analysis.covariates.held_constant.MOST_SYSTEMS", 2)
    frames = judged()
    fewer = frames["choices"].filter(~((pl.col("item_id") == "i1") & (pl.col("system_x") == "good")))
    found = results({**frames, "choices": fewer}, "length")
    reasons = {(row["system_x"], row["system_y"]): row["reason"] for row in found["equal_length"]}
    assert reasons == {
        ("good", "fair"): "3 pairs are too many: at most 2 are fitted",
        ("good", "poor"): None,
        ("fair", "poor"): None,
    }
    assert {row["reason"] for row in found["covariate_effects"]} == {"3 systems are too many: at most 2 are fitted"}


def test_hundred_thousand_answers_take_seconds() -> None:
    """One fit of 20 systems and six covariates with two clusterings."""
    from time import process_time

    from analysis.covariates.logistic import Compared, fit_logistic

    rng = np.random.default_rng(1)
    n, k = 100_000, 20
    x = rng.integers(0, k, n)
    rows = Compared(
        x=x,
        y=(x + rng.integers(1, k, n)) % k,
        won=(rng.random(n) < 0.5).astype(np.float64),
        covariates=rng.normal(size=(n, 6)),
        n_systems=k,
    )
    clusters = [rng.integers(0, 400, n), rng.integers(0, 1000, n)]
    began = process_time()
    fit_logistic(rows, clusters)
    assert process_time() - began < 2


def test_command_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from spa.cli import main

    path = tmp_path / "ratings.csv"
    path.write_text("annotator_id,item_id,system,score\np,i,a,1\np,i,b,2\n")
    runner = CliRunner()
    words = ["report", "--ratings", str(path), "--out", str(tmp_path / "out")]
    wrong = runner.invoke(main, [*words, "--hold", "width"])
    assert "--hold: expected length, markdown or column:NAME, got 'width'" in wrong.output
    alone = runner.invoke(main, [*words, "--hold", "length"])
    assert "--hold: expected --preferences or --choices" in alone.output


def test_live_study_shows_no_interval_of_a_fixed_size() -> None:
    found = analyse_records(tables(judged()), Plan(control=("length",)))
    live = replace(found, live=live_of("choices", {}), headline=None, warnings=(), warning_rows=())
    shown = shown_results(live)
    rows = (*shown.covariate_effects, *shown.equal_length)
    assert {row.ci_low for row in rows} == {row.controlled_low for row in shown.controlled_strengths} == {None}
    text = lines(make_section(shown, "held-constant"))
    assert "Asking ended by the answers, so that there are no intervals" in text
    assert "may be none" not in text
    assert "no interval)" not in text
