"""Do choices depend on a third system: by hand, by statsmodels, by simulation, where none varies, in a report."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis import Plan
from analysis.serial_context.thirds import context_effect, third_systems
from tests.analysis.made_answers import check, choices, render_report, run
from tests.calibration.third_systems import ORDER, found, shares, study


def ranked(*sets: tuple[str, str, str]) -> pl.DataFrame:
    """Return orders, each of (annotator, item, systems from the best to the worst)."""
    rows = [
        (who, f"t{who}", item, system, str(rank))
        for who, item, order in sets
        for rank, system in enumerate(order, start=1)
    ]
    return pl.DataFrame(rows, ["annotator_id", "assignment_id", "item_id", "system", "rank"], orient="row")


def test_third_systems_by_hand() -> None:
    """Of six rankings of three, c stands beside a and b in four: a wins three of these, and none of the two others."""
    sets = [("p1", "i1", "abc"), ("p1", "i2", "dba"), ("p2", "i1", "acb"), ("p2", "i3", "cba")]
    sets += [("p3", "i2", "cab"), ("p3", "i3", "bad")]
    rows = run(orders=ranked(*sets))["third_systems"]
    (row,) = (row for row in rows if (row["system_x"], row["system_y"], row["third"]) == ("a", "b", "c"))
    assert (row["context"], row["n"], row["n_with"]) == ("beside", 6, 4)
    assert (row["annotators_with"], row["annotators_without"]) == (3, 2)
    assert (row["share_with"], row["share_without"], row["estimate"]) == (0.75, 0, 0.75)
    assert (row["p_value"], row["reason_code"]) == (None, "few_annotators_for_cluster")
    (turned,) = (row for row in rows if (row["system_x"], row["system_y"], row["third"]) == ("a", "b", "d"))
    assert turned["estimate"] == -0.75
    assert {row["context"] for row in rows} == {"beside"}  # nobody knows which page came before


def test_context_effect_as_statsmodels() -> None:
    """Slope and clustered variance of OLS on the context; the degrees of freedom are those of the smaller side."""
    from scipy.stats import t as student
    from statsmodels.api import OLS, add_constant

    rng = np.random.default_rng(4)
    annotator = rng.integers(0, 25, 150)
    with_it = rng.random(150) < np.where(annotator < 12, 0.7, 0.0)
    value = (rng.random(150) < 0.4 + 0.2 * with_it).astype(np.float64)
    wanted = OLS(value, add_constant(with_it.astype(np.float64))).fit(
        cov_type="cluster", cov_kwds={"groups": annotator}
    )
    found = context_effect(value, with_it, annotator, np.arange(150), confidence=0.9)
    assert found.mean == pytest.approx(wanted.params[1])
    assert found.t == pytest.approx(wanted.params[1] / wanted.bse[1])
    assert found.df == len({*annotator[with_it]}) - 1
    assert found.p_value == pytest.approx(2 * student.sf(abs(found.t), found.df))
    assert found.ci_high == pytest.approx(found.mean + student.ppf(0.95, found.df) * wanted.bse[1])


def test_context_effect_of_items_is_none() -> None:
    """Each item has its third system on every form: that may be the item."""
    annotator, item = np.repeat(np.arange(30), 6), np.tile(np.arange(6), 30)
    value = np.random.default_rng(1).integers(0, 2, 180).astype(np.float64)
    found = context_effect(value, item < 3, annotator, item, confidence=0.95)
    assert found.p_value is None
    assert found.reason is not None
    assert found.reason.code == "context_by_item"
    nearly = context_effect(value, (item < 3) ^ ((annotator == 0) & (item == 0)), annotator, item, confidence=0.95)
    assert nearly.reason is not None
    assert nearly.reason.code == "context_by_item"
    annotator, item = np.repeat(np.arange(24), 3), np.tile(np.arange(3), 24)
    leans = annotator < np.array([17, 12, 7])[item]
    few = context_effect(value[:72], leans, annotator, item, confidence=0.95)
    assert few.reason is not None
    assert few.reason.code == "few_items_of_context"
    alike = context_effect(value[:72], (item + annotator) % 2 == 0, annotator, item, confidence=0.95)
    assert alike.df == 23  # items occur as often on both sides: they are no matter


def test_context_effect_level_of_lists() -> None:
    """One order of items, before some of which one system mostly stands: little of it is tested with items as clusters.

    Where it nearly follows from the item there is no test.
    """
    rng = np.random.default_rng(8)
    false, tested, items, people = 0, [0, 0], 12, 40
    annotator, item = np.repeat(np.arange(people), items), np.tile(np.arange(items), people)
    for number in range(300):
        far = (0.12, 0.4)[number % 2]
        often, better = rng.permutation(items) < items / 2, rng.normal(0, 1, items)
        with_it = rng.random(len(item)) < np.where(often, 0.5 + far, 0.5 - far)[item]
        value = (rng.random(len(item)) < 1 / (1 + np.exp(-better[item]))).astype(np.float64)
        p_value = context_effect(value, with_it, annotator, item, confidence=0.95).p_value
        tested[number % 2] += p_value is not None
        false += p_value is not None and p_value <= 0.05
    assert tested[0] > 60
    assert tested[1] == 0
    assert false <= 0.05 * tested[0] + 2 * (0.05 * 0.95 * tested[0]) ** 0.5


@pytest.mark.parametrize("ranks", [True, False])
def test_third_systems_level_and_power(ranks: bool) -> None:
    """Beside in rankings, before in choices dealt: few findings where there are none, a large effect is found."""
    single, any_of, _ = shares(25, 3, ranked=ranks, people=40, each=8, effect=0.0)
    assert single <= 0.065
    assert any_of <= 0.16
    _, _, true = shares(6, 4, ranked=ranks, people=60 if ranks else 150, each=15, effect=4.0)
    assert true >= 0.8


def test_third_systems_hang_on_no_order_name_or_side() -> None:
    table, reading = study(np.random.default_rng(2), people=25, each=8, effect=1.0, ranked=False)
    before = found(np.random.default_rng(2), people=25, each=8, effect=1.0, ranked=False)
    turned = table.with_columns(
        pl.col("system_y").alias("system_x"), pl.col("system_x").alias("system_y"), (1 - pl.col("value")).alias("value")
    )
    mixed = [
        one.sample(fraction=1, shuffle=True, seed=1).with_columns(
            pl.col("annotator_id").str.replace("p", "z"), pl.col("assignment_id").str.reverse()
        )
        for one in (turned, reading)
    ]
    again = third_systems(mixed[0], mixed[1], [("human", "human")], ORDER, Plan())
    names = ("system_x", "system_y", "third", "n", "n_with", "estimate", "p_value", "p_adjusted")
    assert len(before) == 30
    for one, two in zip(before, again, strict=True):
        for name in names:
            value = getattr(one, name)
            assert getattr(two, name) == (pytest.approx(value) if isinstance(value, float) else value)
    first = reading.filter(pl.col("page") == "p0")  # where nobody knows what stood before there is nothing to say
    assert third_systems(table, first, [("human", "human")], ORDER, Plan()) == []


def test_third_systems_where_all_are_shown() -> None:
    """All pairs of an item on each form, some answers missing, and pairs of two systems: no rows and no section."""
    rng = np.random.default_rng(5)
    rows = [
        (f"p{who}", f"i{item}", x, y, "" if rng.random() < 0.1 else "xy"[int(rng.random() < 0.5)])
        for who in range(12)
        for item in range(3)
        for x, y in (("a", "b"), ("b", "c"), ("a", "c"))
    ]
    results = run(choices=choices(rows))
    assert results["third_systems"] == []
    assert "third system" not in render_report(results)["report.md"]
    assert run(choices=choices([row for row in rows if row[2:4] == ("a", "b")]))["third_systems"] == []


def test_third_systems_in_a_report() -> None:
    """Rankings in which c helps a over b: the sentence names it, tests are a family, and nothing is a caveat."""
    table, _ = study(np.random.default_rng(7), people=40, each=15, effect=4.0, ranked=True)
    sides = table.with_columns(pl.when(pl.col("value") == 1).then(pl.lit("x")).otherwise(pl.lit("y")).alias("winner"))
    frame = sides.drop("value", "group")
    results: dict[str, Any] = run(choices=frame)
    rows = results["third_systems"]
    assert {row["n_tests"] for row in rows if row["p_adjusted"] is not None} == {len(rows)}
    text = render_report(results)["report.md"]
    assert "Do choices depend on a third system? (exploratory)" in text
    assert "show an effect: " in text
    assert "third" not in str(results["headline"])
    assert run(choices=frame.with_columns(annotator_kind=pl.lit("llm")), llms=("p0",))["third_systems"] == []
    assert check(choices=frame).choices is not None
