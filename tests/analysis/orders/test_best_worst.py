"""Best-worst scaling: counts by hand, intervals of statsmodels, strengths of choix, and coverage with known truth."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import choix
import numpy as np
import polars as pl
import pytest
from statsmodels.api import OLS

from analysis.answers.order import Order
from analysis.answers.plan import Plan
from analysis.comparisons.choices_section import IMPLIED
from analysis.orders.best_worst import BestWorstCount, best_worst_counts
from analysis.orders.contribution import BEST_WORST
from analysis.results.files import from_plain
from analysis.strengths.estimate import bradley_terry
from tests.analysis.made_answers import build_document, run
from tests.analysis.made_answers import validate as check_schema

SYSTEMS = ("a", "b", "c", "d", "e")
TRUTH = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
Answer = tuple[str, str, tuple[str, ...], str, str]  # annotator, item, systems shown, best, worst


def implied(answers: list[Answer]) -> pl.DataFrame:
    """Return the table of choices that answers imply."""
    rows = [
        (who, item, x, y, "x" if x == best or y == worst else "y")
        for who, item, shown, best, worst in answers
        for x, y in combinations(shown, 2)
        if {x, y} & {best, worst}
    ]
    names = ["annotator_id", "item_id", "system_x", "system_y", "winner"]
    fixed = pl.lit("best_worst").alias("elicitation"), pl.lit("overall").alias("criterion")
    return pl.DataFrame(rows, names, orient="row").with_columns(*fixed)


def drawn(people: int, pages: int, *, seed: int, taste: float = 1.0) -> list[Answer]:
    """Draw answers: four of five systems on each page, judged by a person's own taste and the noise of a page."""
    rng = np.random.default_rng(seed)
    made: list[Answer] = []
    for person in range(people):
        liking = TRUTH + taste * rng.normal(size=5)
        for page in range(pages):
            shown = rng.permutation(5)[:4]
            found = sorted(shown.tolist(), key=lambda system: -(liking[system] + rng.gumbel()))
            names = tuple(SYSTEMS[system] for system in shown)
            made.append((f"p{person}", f"i{page}", names, SYSTEMS[found[0]], SYSTEMS[found[-1]]))
    return made


def counts(answers: list[Answer]) -> dict[str, dict[str, Any]]:
    return {row["system"]: row for row in run(choices=implied(answers))["best_worst"]}


FOUR = ("a", "b", "c", "d")
BY_HAND: list[Answer] = [
    ("p1", "i1", FOUR, "a", "d"),
    ("p1", "i2", ("d", "c", "b", "a"), "b", "d"),
    ("p2", "i1", FOUR, "a", "c"),
    ("p2", "i2", ("b", "a", "c"), "c", "a"),
]


def test_counts_are_those_by_hand() -> None:
    """Of a: best twice, worst once of four; person by person (1 of 2) and (0 of 2)."""
    found = counts(BY_HAND)
    shown = {name: (row["n"], row["best"], row["worst"]) for name, row in found.items()}
    assert shown == {"a": (4, 2, 1), "b": (4, 1, 0), "c": (4, 1, 1), "d": (3, 0, 2)}
    assert found["a"]["score"] == 0.25
    # residuals 1 - 0.25 * 2 and 0 - 0.25 * 2; variance 2/1 * (0.25 + 0.25) / 16; t of 1 degree of freedom 12.706
    assert found["a"]["ci_high"] == 1.0
    assert (found["a"]["n_clusters"], found["a"]["clustered"]) == (2, "annotator")
    check_schema(run(choices=implied(BY_HAND)))


def test_intervals_are_those_of_statsmodels() -> None:
    """A regression on a constant, clustered by annotator, with the correction for few clusters; people differ in n."""
    answers = [
        one for one in drawn(12, 6, seed=4) if (one[0], one[1]) not in {("p1", "i1"), ("p2", "i3"), ("p2", "i4")}
    ]
    found = counts(answers)
    for system in SYSTEMS:
        own = [one for one in answers if system in one[2]]
        points = np.array([float(one[3] == system) - float(one[4] == system) for one in own])
        people = np.array([int(one[0][1:]) for one in own])
        fitted = OLS(points, np.ones(len(points))).fit(
            cov_type="cluster", cov_kwds={"groups": people, "use_correction": True}, use_t=True
        )
        low, high = fitted.conf_int(0.05)[0]
        assert found[system]["score"] == pytest.approx(points.mean())
        assert (found[system]["ci_low"], found[system]["ci_high"]) == pytest.approx((low, high))


def test_strengths_are_those_of_choix() -> None:
    """Bradley-Terry on five choices a page of four, clustered by annotator."""
    answers = drawn(20, 5, seed=5)
    results = run(choices=implied(answers))
    number = {name: place for place, name in enumerate(SYSTEMS)}
    table = implied(answers)
    assert table.height == 5 * len(answers)
    pairs = [
        (number[x], number[y]) if winner == "x" else (number[y], number[x])
        for x, y, winner in table.select("system_x", "system_y", "winner").iter_rows()
    ]
    expected = choix.ilsr_pairwise(5, pairs, max_iter=1000, tol=1e-10)
    rows = {row["system"]: row for row in results["bradley_terry"]}
    for name, strength in zip(SYSTEMS, expected - expected.mean(), strict=True):
        assert rows[name]["strength"] == pytest.approx(strength, abs=1e-6)
        assert rows[name]["interval"].startswith("clustered by annotator")
        assert rows[name]["n_clusters"] == 20


def test_counts_do_not_hang_on_names_orders_or_sides() -> None:
    answers = drawn(8, 4, seed=6)
    found = counts(answers)
    assert counts(answers[::-1]) == found
    turned = [(who, item, shown[::-1], best, worst) for who, item, shown, best, worst in answers]
    assert counts(turned) == found
    other = dict(zip(SYSTEMS, ("v", "z", "w", "y", "x"), strict=True))
    renamed = [
        (who, item, tuple(other[one] for one in shown), other[best], other[worst])
        for who, item, shown, best, worst in answers
    ]
    assert {row["system"]: row | {"system": ""} for row in counts(renamed).values()} == {
        other[name]: row | {"system": ""} for name, row in found.items()
    }
    reversed_ = counts([(who, item, shown, worst, best) for who, item, shown, best, worst in answers])
    assert {name: row["score"] for name, row in reversed_.items()} == pytest.approx(
        {name: -row["score"] for name, row in found.items()}
    )


def rows_of(answers: list[Answer]) -> dict[str, BestWorstCount]:
    """Count without the rest of an analysis."""
    table = implied(answers).with_columns(
        pl.lit("human").alias("group"),
        pl.lit("human").alias("annotator_kind"),
        *(pl.lit(None, dtype=pl.String).alias(name) for name in ("assignment_id", "variant")),
        pl.lit(1).alias("repeat"),
        (pl.col("winner") == "x").cast(pl.Float64).alias("value"),
    )
    order = Order(groups=("human",), criteria=("overall",), systems=SYSTEMS, pairs=())
    return {row.system: row for row in best_worst_counts(table, order, 0.95)}


def test_intervals_by_annotator_cover_the_truth() -> None:
    """At 95%; the same intervals with every answer as its own annotator are too narrow where tastes differ."""
    many = rows_of(drawn(4000, 3, seed=7))
    truth = {name: row.score for name, row in many.items()}
    covered = {"annotator": 0, "answer": 0}
    studies = 120
    for seed in range(studies):
        answers = drawn(15, 8, seed=100 + seed)
        alone = [(f"{who} {item}", item, *rest) for who, item, *rest in answers]
        for unit, one in (("annotator", answers), ("answer", alone)):
            found = rows_of(one)  # type: ignore[arg-type]
            covered[unit] += sum(
                row.ci_low <= truth[name] <= row.ci_high
                for name, row in found.items()
                if row.ci_low is not None and row.ci_high is not None
            )
    shares = {unit: number / (5 * studies) for unit, number in covered.items()}
    assert 0.92 <= shares["annotator"] <= 0.98
    assert shares["answer"] < 0.85


def test_strengths_by_annotator_cover_what_many_would_give() -> None:
    """Of the value that implied choices of ever more people tend to; choices as if independent cover it less."""
    rng = np.random.default_rng(8)

    def strengths(people: int, seed: int, clustered: bool) -> Any:
        table = implied(drawn(people, 6, seed=seed))
        x, y, who = (table[name].to_list() for name in ("system_x", "system_y", "annotator_id"))
        won = (table["winner"] == "x").cast(pl.Float64)
        clusters = {"annotator": who} if clustered else None
        return bradley_terry(x, y, won, systems=SYSTEMS, clusters=clusters, rng=rng)

    truth = strengths(3000, 9, True).strength
    shares = {}
    for clustered in (True, False):
        found = [strengths(20, 300 + seed, clustered) for seed in range(60)]
        shares[clustered] = np.mean([(one.ci_low <= truth) & (truth <= one.ci_high) for one in found])
    assert 0.90 <= shares[True] <= 0.99
    assert shares[False] < shares[True] - 0.08


def test_answers_without_both_are_left_out_and_told() -> None:
    """As where a control that was the best is taken out of the choices."""
    table = implied(BY_HAND)
    results = run(choices=table.filter((pl.col("system_x") != "a") & (pl.col("system_y") != "a")))
    assert {row["n_left_out"] for row in results["best_worst"]} == {2}
    (section,) = [one for one in build_document(results).sections if one.id == "best-worst"]
    assert "People, overall: 2 answers without one best and one worst left out." in str(section.blocks)


def test_one_annotator_gives_no_interval() -> None:
    found = counts(BY_HAND[:2])
    assert {row["reason_code"] for row in found.values()} == {"one_unit"}
    assert from_plain(run(choices=implied(BY_HAND[:2]))).best_worst[0].ci_low is None


def test_the_report_says_what_was_asked() -> None:
    results = run(choices=implied(drawn(8, 4, seed=6)), plan=Plan())
    sections = {one.id: one for one in build_document(results).sections}
    assert IMPLIED[BEST_WORST] in str(sections["choices"].blocks)
    assert "chose the better one" not in str(sections["choices"].blocks)
    assert "best-worst" in sections
