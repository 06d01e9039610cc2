"""Raters side by side and what they say: figures that can be checked by hand, and the report that shows them."""

from __future__ import annotations

import csv
import io
import statistics
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.descriptives.explanations import ExplanationRow
from analysis.descriptives.explanations_section import select
from spa import AnalysisError
from tests.analysis.made_answers import Results, preferences, ratings, render_report, run, validate

FORMULA = "=HYPERLINK(1)"
SCRIPT = "<script>alert(1)</script>"


def a_study() -> dict[str, pl.DataFrame]:
    """Three people; an LLM asked plainly and with an explanation, each form three times."""
    rows: list[tuple[str, str, str, object]] = []
    more: list[tuple[Any, ...]] = []
    for who in range(3):
        for item in range(4):
            for system, level in (("a", 1), ("b", 2), ("c", 4)):
                rows.append((f"p{who}", f"i{item}", system, level + (who + item) % 2))
                more.append(("human", None, None, None, None, None, None, f"h{who}"))
    for variant, form in (("plain", "identical"), ("why", "variant")):
        for repeat in (1, 2, 3):
            for item in range(4):
                for system, level in (("a", 2), ("b", 3), ("c", 5)):
                    odd = variant == "plain" and repeat == 3 and item == 0
                    lost = variant == "why" and (repeat, item, system) == (2, 1, "b")
                    rows.append(("gpt", f"i{item}", system, None if lost else level - odd))
                    said = None if variant == "plain" else FORMULA if item == 0 else SCRIPT
                    reason = "the model refused to answer" if lost else None
                    more.append(("llm", variant, str(repeat), "verbalised", form, said, reason, f"v{item}"))
    names = "annotator_kind variant repeat readout form explanation missing_reason assignment_id".split()
    columns = {name: [row[place] for row in more] for place, name in enumerate(names)}
    frame = ratings([(*row[:3], "" if row[3] is None else row[3]) for row in rows], **columns)
    return {"ratings": frame.with_columns(pl.col("score").replace("", None))}


@pytest.fixture(scope="module")
def results() -> Results:
    return run(**a_study())


def row_of(results: Results, group: str) -> dict[str, Any]:
    (row,) = (row for row in results["raters"] if row["group"] == group)
    return row


def test_results_with_raters_are_as_described(results: Results) -> None:
    validate(results)
    assert [row["group"] for row in results["raters"]] == ["human", "gpt/plain", "gpt/why"]


def test_mean_and_spread_are_those_of_all_cells(results: Results) -> None:
    """Cells are averaged over repeats; of the plain way those of item 0 are a third of a point lower."""
    cells = [level - (1 / 3 if item == 0 else 0) for level in (2, 3, 5) for item in range(4)]
    row = row_of(results, "gpt/plain")
    assert row["n"] == 12
    assert row["mean"] == pytest.approx(statistics.mean(cells))
    assert row["sd"] == pytest.approx(statistics.stdev(cells))


def test_what_is_missing_is_counted_with_its_reason(results: Results) -> None:
    row = row_of(results, "gpt/why")
    assert (row["n_asked"], row["n_missing"]) == (36, 1)
    assert row["missing"] == [{"reason": "the model refused to answer", "level": None, "n": 1}]
    assert row_of(results, "gpt/plain")["missing"] == []


def test_agreement_is_that_among_repeats(results: Results) -> None:
    row = row_of(results, "gpt/plain")
    assert (row["n_repeats"], row["n_raters"], row["agreement_reason"]) == (3, 3, None)
    assert row["exact_agreement"] == pytest.approx(9 / 12)  # the three outputs of item 0 differ
    assert row_of(results, "gpt/why")["alpha"] == pytest.approx(1)


def test_correlations_with_people_are_the_ones_of_the_results(results: Results) -> None:
    row = row_of(results, "gpt/plain")
    (whole,) = (
        one["value"]
        for one in results["correlations"]
        if (one["a"], one["b"]) == ("ratings:gpt/plain", "ratings:human")
        and (one["level"], one["method"]) == ("overall", "kendall")
    )
    assert (row["system_kendall"], row["overall_kendall"], row["people"]) == (1, whole, "human")
    assert row_of(results, "human")["correlation_reason"] == "people themselves"


def test_the_form_is_told_by_the_answers(results: Results) -> None:
    """Asked at another temperature an LLM reads what people read, though it is a variant by name."""
    assert {row["group"]: (row["form"], row["readout"]) for row in results["groups"]} == {
        "human": (None, None),
        "gpt/plain": ("identical", "verbalised"),
        "gpt/why": ("variant", "verbalised"),
    }


def test_level_mass_and_second_readings_are_counted_and_reported() -> None:
    """Worked by hand: of the plain way 36 replies, one with mass 0.5; the other reader differs on every fourth."""
    (frame,) = a_study().values()
    place = pl.int_range(pl.len()).over("variant")
    plain = pl.col("variant") == "plain"
    more = frame.with_columns(
        readout=pl.when(plain).then(pl.lit("logit")).otherwise("readout"),
        mass=pl.when(plain).then(pl.when(place == 0).then(0.5).otherwise(1.0)).cast(pl.String),
        readings_differ=pl.when(plain).then((place % 4 == 0).cast(pl.Int64)).cast(pl.String),
        missing_level=pl.when(pl.col("missing_reason") == "the model refused to answer").then(pl.lit("4 or 5")),
    )
    results = run(ratings=more)
    validate(results)
    row = row_of(results, "gpt/plain")
    assert (row["n_read_twice"], row["n_readings_differ"]) == (36, 9)
    assert (row["mass_mean"], row["mass_min"]) == (pytest.approx((0.5 + 35) / 36), 0.5)
    assert [one["level"] for one in results["missing"] if one["group"] == "gpt/why"] == ["4 or 5"]
    told = render_report(results)["report.md"]
    for words in ("9 of 36", "98.6% on the answers, at least 50.0%", "4 or 5"):
        assert words in told


def test_readouts_are_never_mixed_in_one_group() -> None:
    frame = a_study()["ratings"]
    plain = (pl.col("variant") == "plain") & (pl.col("repeat") == "2")
    mixed = frame.with_columns(pl.when(plain).then(pl.lit("logit")).otherwise("readout").alias("readout"))
    with pytest.raises(AnalysisError, match=r"group 'gpt/plain' mixes .* \(readout logit and verbalised\)"):
        run(ratings=mixed)
    apart = mixed.with_columns(pl.when(plain).then(pl.lit("logits")).otherwise("variant").alias("variant"))
    assert {row["group"]: row["readout"] for row in run(ratings=apart)["raters"]}["gpt/logits"] == "logit"


def test_contradictions_are_counted_by_form() -> None:
    likes = [("p1", "a", "b", 0.7), ("p1", "b", "a", 0.2), ("p2", "a", "b", 0.6), ("p2", "b", "a", 0.4)]
    likes += [("m", "a", "b", 0.9), ("m", "b", "a", 0.8), ("m", "a", "b", 0.7), ("m", "b", "a", 0.3)]
    kinds = ["human"] * 4 + ["llm"] * 4
    visits = ["h1", "h1", "h2", "h2", "v1", "v1", "v2", "v2"]
    found = run(preferences=preferences(likes, annotator_kind=kinds, assignment_id=visits, exposure=5))
    row = row_of(found, "m")
    assert (row["n_inconsistent"], row["n_forms"], row["mean"], row["n"]) == (1, 2, None, None)
    assert row["system_kendall"] == 1


def test_people_alone_have_no_such_table() -> None:
    alone = a_study()["ratings"].filter(pl.col("annotator_kind") == "human")
    found = run(ratings=alone)
    assert found["raters"] == []
    assert "LLM raters side by side" not in render_report(found)["report.html"]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(results: Results, seed: int) -> None:
    shuffled = run(ratings=a_study()["ratings"].sample(fraction=1.0, shuffle=True, seed=seed))
    for key in ("raters", "explanations"):
        assert sorted(map(str, shuffled[key])) == sorted(map(str, results[key]))


def test_rater_table_explanations(results: Results) -> None:
    """An explanation stands beside its answer and that of people."""
    rows = results["explanations"]
    assert len(rows) == 36
    (row,) = (one for one in rows if (one["item_id"], one["system"], one["repeat"]) == ("i0", "c", "1"))
    assert (row["value"], row["explanation"], row["group"]) == (5, FORMULA, "gpt/why")
    assert row["people_mean"] == pytest.approx((4 + 5 + 4) / 3)
    assert row["departure"] == pytest.approx(5 - 13 / 3)
    assert [one["departure"] for one in rows if one["value"] is None] == [None]


def test_both_directions_of_a_pair_are_answers_to_the_same() -> None:
    likes = [("p1", "a", "b", 0.7), ("p1", "b", "a", 0.1), ("m", "b", "a", 0.6)]
    frame = preferences(
        likes,
        annotator_kind=["human", "human", "llm"],
        assignment_id=["h", "h", "v"],
        exposure=5,
        explanation=[None, None, "so"],
    )
    (row,) = run(preferences=frame)["explanations"]
    assert row["people_mean"] == pytest.approx((0.1 + 0.3) / 2)
    assert row["departure"] == pytest.approx(0.4)


def test_the_report_shows_few_and_the_table_all(results: Results) -> None:
    files = render_report(results)
    html = files["report.html"]
    assert SCRIPT not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "gpt/why (LLM): 6 of 36" in html
    rows = list(csv.DictReader(io.StringIO(files["tables/explanations.csv"])))
    assert len(rows) == 36
    assert {row["explanation"] for row in rows} == {f"'{FORMULA}", SCRIPT}
    assert len(list(csv.DictReader(io.StringIO(files["tables/raters.csv"])))) == 3


def test_numbers_are_no_formulas() -> None:
    frame = ratings(
        [("p", "i", "a", 4), ("m", "i", "a", 2)],
        annotator_kind=["human", "llm"],
        explanation=[None, "-1 for style"],
    )
    (row,) = csv.DictReader(io.StringIO(render_report(run(ratings=frame))["tables/explanations.csv"]))
    assert (row["departure"], row["explanation"]) == ("-2.0", "'-1 for style")


def test_those_that_depart_most_come_first_then_some_of_all() -> None:
    answers: list[dict[str, Any]] = [
        {
            "source": "ratings",
            "criterion": "overall",
            "item_id": f"i{number // 2}",  # two repeats of each output
            "system": "a",
            "system_x": None,
            "system_y": None,
            "exposure": None,
            "value": 3.0,
            "people_mean": 3.0 - number / 10,
            "departure": number / 10,
        }
        for number in range(20)
    ]
    rows = [ExplanationRow(**dict.fromkeys(ExplanationRow.__slots__) | row) for row in answers]
    assert [rows.index(row) for row in select(rows)][:3] == [19, 17, 15]
    assert len(select(rows)) == 6
    assert select(rows[:1]) == rows[:1]
