"""Do ratings depend on their place on the form, or on the output before: by statsmodels, by simulation, in a report."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from analysis import Plan
from analysis.printing.document import Table, every_block
from analysis.report.sections import make_section
from analysis.results.files import from_plain
from analysis.serial_context.sequence import Sequence, sequence_of, share_turned
from analysis.serial_context.sequence_effects import Effect, position_effect, previous_effect, quality_by_others
from analysis.verification.claims import WORDS
from analysis.verification.outcome import Verification
from tests.analysis.made_answers import analyse, check
from tests.analysis.verification.in_process import verified

N_OUTPUTS, SHOWN = 30, 12


def study(
    seed: int = 1, *, n: int = 16, drift: float = 0.0, contrast: float = 0.0, fixed: bool = False, mixed: bool = True
) -> pl.DataFrame:
    """Return ratings of 30 outputs of two systems: a place adds ``drift``, a better output before ``contrast``."""
    rng = np.random.default_rng(seed)
    quality = np.array([0.5, -0.5])[np.arange(N_OUTPUTS) % 2] + rng.normal(size=N_OUTPUTS)
    rows = []
    for who in range(n):
        half = N_OUTPUTS // 2
        of_each = [2 * rng.permutation(half)[: SHOWN // 2] + system for system in (0, 1)]
        shown = rng.permutation(np.concatenate(of_each))
        shown = np.sort(shown) if fixed else shown
        if not mixed:
            shown = shown[np.argsort(shown % 2 if who % 4 == 0 else -(shown % 2), kind="stable")]
        severity, before = rng.normal(), 0.0
        for place, output in enumerate(shown.tolist(), start=1):
            score = quality[output] + severity + drift * place + contrast * before + rng.normal() * 0.8
            rows.append((f"p{who}", f"i{output // 2}", f"s{output % 2}", str(round(score, 4)), place))
            before = quality[output]
    return pl.DataFrame(rows, ["annotator_id", "item_id", "system", "score", "position"], orient="row")


def laid(frame: pl.DataFrame) -> Sequence:
    return sequence_of(
        frame.with_columns(pl.col("score").cast(pl.Float64).alias("value"), pl.col("position").alias("place"))
    )


def test_position_is_statsmodels_with_dummies() -> None:
    """Slope of OLS with dummies; the clustered variance differs by counted parameters alone."""
    from statsmodels.api import OLS

    own = laid(study(drift=0.05))
    found = position_effect(own, confidence=0.95)
    assert isinstance(found, Effect)
    dummies = [np.eye(int(of.max()) + 1)[of] for of in (own.annotator, own.output)]
    design = np.column_stack([own.place, dummies[0], dummies[1][:, 1:]])
    fit = OLS(own.value, design).fit(cov_type="cluster", cov_kwds={"groups": own.annotator}, use_t=True)
    counted = (len(own) - design.shape[1]) / (len(own) - found.n_outputs - 1)
    assert found.test.mean == pytest.approx(fit.params[0], rel=1e-7)
    assert found.test.t == pytest.approx(fit.params[0] / (fit.bse[0] * np.sqrt(counted)), rel=1e-6)
    assert found.test.df == 15
    assert found.test.p_value == pytest.approx(2 * stats.t.sf(abs(found.test.t or 0), 15), rel=1e-9)


def test_quality_is_that_of_others_by_hand() -> None:
    """Mean over the others of their answer less their own mean; nobody else: unknown."""
    answers = {"a": {"i0": 1, "i1": 3}, "b": {"i1": 5, "i2": 1}, "c": {"i1": 2, "i2": 2}}
    rows = [
        (who, item, "s", str(score), place)
        for who, given in answers.items()
        for place, (item, score) in enumerate(given.items())
    ]
    frame = pl.DataFrame(rows, ["annotator_id", "item_id", "system", "score", "position"], orient="row")
    found = quality_by_others(laid(frame))  # own means: 2, 3, 2
    assert found.tolist() == pytest.approx([np.nan, 1.0, 0.5, 0.0, 1.5, -2.0], nan_ok=True)


def test_both_effects_are_found_again() -> None:
    """A drift of .05 a place and a contrast of -.3."""
    drifts, contrasts = [], []
    for seed in range(12):
        own = laid(study(seed, n=24, drift=0.05, contrast=-0.3))
        for into, effect in ((drifts, position_effect), (contrasts, previous_effect)):
            found = effect(own, confidence=0.95)
            assert isinstance(found, Effect)
            into.append(found.test.mean)
    assert np.mean(drifts) == pytest.approx(0.05, abs=0.012)
    assert np.mean(contrasts) == pytest.approx(-0.3, abs=0.06)


def test_without_an_effect_the_level_is_kept() -> None:
    """Of studies in which nothing depends on the order, about one in twenty shows an effect."""
    p_values: dict[str, list[float]] = {"position": [], "previous": []}
    for seed in range(150):
        own = laid(study(100 + seed, n=12))
        for name, effect in (("position", position_effect), ("previous", previous_effect)):
            found = effect(own, confidence=0.95)
            assert isinstance(found, Effect)
            assert found.test.p_value is not None
            p_values[name].append(found.test.p_value)
    for own in p_values.values():
        assert 0.01 < np.mean(np.array(own) < 0.05) < 0.11


def test_turning_the_scale_turns_the_slopes() -> None:
    frame = study(drift=0.03)
    turned = frame.with_columns((6 - 2 * pl.col("score").cast(pl.Float64)).cast(pl.String).alias("score"))
    for effect, factor in ((position_effect, -2.0), (previous_effect, 1.0)):
        one, other = (effect(laid(table), confidence=0.95) for table in (frame, turned))
        assert isinstance(one, Effect)
        assert isinstance(other, Effect)
        assert other.test.mean == pytest.approx(factor * one.test.mean, rel=1e-7)
        assert other.test.p_value == pytest.approx(one.test.p_value, rel=1e-6)


def test_one_order_for_all_is_not_tested() -> None:
    results = analyse(check(ratings=study(fixed=True)), Plan())
    assert {(row["estimate"], row["p_value"]) for row in results["serial_context"]} == {(None, None)}
    assert {row["reason_code"] for row in results["serial_context"]} == {"one_order"}
    assert {row["share_turned"] for row in results["serial_context"]} == {0}


def test_places_that_are_unknown_say_nothing() -> None:
    """Without places, and where they are columns of a page, there are no rows and no section."""
    frame = study()
    columns = frame.with_columns(pl.col("position") % 2)
    for table in (frame.drop("position"), columns):
        results = analyse(check(ratings=table), Plan())
        assert results["serial_context"] == results["serial_arms"] == []
        assert make_section(from_plain(results), "serial-context") is None


def test_order_of_rows_changes_nothing() -> None:
    frame = study(drift=0.04)
    one, two = (analyse(check(ratings=table), Plan())["serial_context"] for table in (frame, frame.reverse()))
    for row, other in zip(one, two, strict=True):
        assert other["estimate"] == pytest.approx(row["estimate"], rel=1e-7)
        assert other["p_adjusted"] == pytest.approx(row["p_adjusted"], rel=1e-6)


def test_pages_give_places_where_columns_do_not() -> None:
    """The table of what was read says on which page an output stood; two on a page go by column."""
    frame = study(drift=0.06).with_columns(((pl.col("position") + 1) // 2).alias("at"))
    read = frame.select("annotator_id", "item_id", "system", pl.format("p{}", pl.col("at") + 3).alias("page"))
    nothing = ("assignment_id", "page_seconds", "sample", "words", "seconds", "scrolled")
    read = read.with_columns(pl.lit("").alias(name) for name in nothing)
    columned = frame.with_columns(2 - pl.col("position") % 2).drop("at")
    by_page = analyse(check(ratings=columned, reading=read), Plan())["serial_context"]
    by_place = analyse(check(ratings=frame.drop("at")), Plan())["serial_context"]
    assert [row["estimate"] for row in by_page] == pytest.approx([row["estimate"] for row in by_place], rel=1e-9)


def two_arms() -> pl.DataFrame:
    """Half of the people read systems in blocks, half mixed; in blocks s0 gets a point more."""
    blocked, mixed = study(3, n=14, mixed=False, drift=0.02), study(4, n=14)
    more = pl.when(pl.col("system") == "s0").then(1.0).otherwise(0.0)
    blocked = blocked.with_columns((pl.col("score").cast(pl.Float64) + more).cast(pl.String).alias("score"))
    mixed = mixed.with_columns(("m" + pl.col("annotator_id")).alias("annotator_id"))
    return pl.concat([blocked, mixed])


@pytest.fixture(scope="module")
def arms() -> dict[str, Any]:
    return analyse(check(ratings=two_arms()), Plan())


def test_arms_are_told_by_their_order_and_compared(arms: dict[str, Any]) -> None:
    """By scipy's Welch on each annotator's difference of means."""
    (row,) = arms["serial_arms"]
    assert {row["arm"] for row in arms["serial_context"]} == {"blocked", "mixed"}
    assert (row["arm_a"], row["arm_b"], row["n_a"], row["n_b"]) == ("blocked", "mixed", 14, 14)
    sides = []
    for frame, more in ((study(3, n=14, mixed=False, drift=0.02), 1.0), (study(4, n=14), 0.0)):
        means = frame.group_by("annotator_id", "system").agg(pl.col("score").cast(pl.Float64).mean())
        by = means.pivot(on="system", index="annotator_id", values="score")
        sides.append((by["s0"] - by["s1"]).to_numpy() + more)
    wanted = stats.ttest_ind(*sides, equal_var=False)
    assert row["estimate"] == pytest.approx(sides[0].mean() - sides[1].mean(), rel=1e-9)
    assert (row["t"], row["df"], row["p_value"]) == pytest.approx(
        (wanted.statistic, wanted.df, wanted.pvalue), rel=1e-9
    )


def test_ways_of_asking_are_arms(arms: dict[str, Any]) -> None:
    """A column variant names them, however systems stood."""
    frame = pl.concat(
        [study(3, n=12), study(4, n=12).with_columns(("m" + pl.col("annotator_id")).alias("annotator_id"))]
    )
    named = frame.with_columns(
        pl.when(pl.col("annotator_id").str.starts_with("m"))
        .then(pl.lit("two"))
        .otherwise(pl.lit("one"))
        .alias("variant")
    )
    results = analyse(check(ratings=named), Plan())
    assert {row["arm"] for row in results["serial_context"]} == {"one", "two"}
    assert [(row["arm_a"], row["arm_b"]) for row in results["serial_arms"]] == [("one", "two")]


def test_the_report_says_that_it_is_exploratory(arms: dict[str, Any]) -> None:
    section = make_section(from_plain(arms), "serial-context")
    assert section is not None
    assert "exploratory" in section.title
    tables = {block.name: block for block in every_block(section.blocks) if isinstance(block, Table)}
    assert [*tables] == ["serial_context", "serial_arms"]
    assert len(tables["serial_context"].rows) == 4


def test_share_turned_is_a_half_of_random_orders() -> None:
    assert share_turned(laid(study(fixed=True))) == 0
    assert share_turned(laid(study())) == pytest.approx(0.5, abs=0.1)


def test_orders_are_compared_of_so_many_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of people who share nothing not every pair is tried, which 12,000 of them would wait minutes for."""
    own = [(f"p{who}", f"i{6 * who + n}", "s", n + 1, n + 1) for who in range(40) for n in range(6)]
    alone = pl.DataFrame(own, ["annotator_id", "item_id", "system", "score", "position"], orient="row")
    late = alone.with_columns(pl.col("item_id").str.replace("^i(0|1|234|235)$", "shared${1}"))
    late = late.with_columns(pl.col("item_id").replace({"shared234": "shared0", "shared235": "shared1"}))
    assert share_turned(laid(alone)) is None
    assert share_turned(laid(late)) == 0  # the first form and the last hold two outputs in one order
    monkeypatch.setattr("analysis.serial_context.sequence.MOST_TRIED", 100)
    assert share_turned(laid(late)) is None


def test_few_annotators_have_an_estimate_and_no_test() -> None:
    results = analyse(check(ratings=study(n=6)), Plan())
    for row in results["serial_context"]:
        assert row["estimate"] is not None
        assert (row["p_value"], row["reason_code"]) == (None, "few_annotators_for_cluster")


def test_libraries_compute_the_arms_again() -> None:
    """Every figure of serial context is computed again, or counted with its reason."""
    found = verified(ratings=two_arms()).verification
    assert isinstance(found, Verification)
    assert found.n_different == 0
    why = {row.reason for row in found.not_recomputed}
    assert WORDS["within"] in why
    assert WORDS["no_call"] not in why
