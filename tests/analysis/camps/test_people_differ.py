"""How much people differ: libraries' values, known truth, properties, refusals, camps, the sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import betainc
from scipy.stats import beta, betabinom, norm

from analysis import Plan
from analysis.answers.order import Order
from analysis.camps import own_answers, people_differ
from analysis.camps.mixtures import two_camps
from analysis.camps.own_answers import PairAnswers
from analysis.camps.true_preferences import TruePreferences, true_preferences
from analysis.comparisons.rating_cells import cells_of
from analysis.statistics.coding import Floats, Ints
from analysis.statistics.record import Source
from tests.analysis.made_answers import choices, preferences, ratings, render_report, run
from tests.calibration.camps import chosen as chosen_each
from tests.calibration.camps import cut_off

ASKED = Plan(camps=True, consistency_tau=None)
Tastes = Callable[[np.random.Generator, int], Floats]


def answers(taste: Floats, n: Ints, rng: np.random.Generator) -> tuple[Floats, Ints]:
    person = np.repeat(np.arange(len(taste)), n)
    return (rng.random(len(person)) < taste[person]).astype(np.float64), person


def fitted(value: Floats, person: Ints, *, counted: bool, even: float = 0.5) -> TruePreferences:
    found = true_preferences(value, person, even=even, counted=counted, confidence=0.95)
    assert isinstance(found, TruePreferences)
    return found


def chosen(seed: int = 3, *, people: int = 60, against: float = 0.3) -> pl.DataFrame:
    """Make 8 choices a person: most take tea four times of five, some water."""
    rng = np.random.default_rng(seed)
    taste = np.where(np.arange(people) < against * people, 0.15, 0.85)
    return choices(
        (f"p{who:03d}", f"i{item}", "tea", "water", "tea" if rng.random() < taste[who] else "water")
        for who in range(people)
        for item in rng.permutation(12)[:8]
    )


def test_people_differ_variances_as_mixed_model() -> None:
    """REML of statsmodels' mixed model, unequal answers a person."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(11)
    person = np.repeat(np.arange(40), rng.integers(1, 7, 40))
    value = 0.55 + 0.15 * rng.normal(size=40)[person] + 0.1 * rng.normal(size=len(person))
    wanted = MixedLM(value, np.ones((len(value), 1)), groups=person).fit(reml=True, method="powell")
    found = fitted(value, person, counted=False)
    assert found.noise == pytest.approx(float(wanted.scale), rel=1e-3)
    assert found.variance == pytest.approx(float(wanted.cov_re[0, 0]), rel=1e-3)
    assert found.mean == pytest.approx(float(wanted.fe_params[0]), abs=1e-5)
    above = float(wanted.fe_params[0] - 0.5) / float(wanted.cov_re[0, 0]) ** 0.5
    assert found.share_x == pytest.approx(norm.cdf(above), abs=1e-3)
    assert 0 < found.low < found.share_x < found.high < 1
    blups = found.mean + np.array([float(one.iloc[0]) for one in wanted.random_effects.values()])
    assert found.own == pytest.approx(blups, abs=1e-4)


def test_people_differ_choices_as_beta_binomial() -> None:
    """The likeliest beta distribution is as likely as scipy's, found by search, and gives the same share."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(5)
    n = rng.integers(2, 9, 70)
    value, person = answers(rng.beta(3, 2, 70), n, rng)
    won = np.bincount(person, weights=value)
    best = minimize(lambda x: -betabinom.logpmf(won, n, *np.exp(x)).sum(), [1.0, 1.0], method="Nelder-Mead")
    a, b = np.exp(best.x)
    found = fitted(value, person, counted=True)
    assert found.share_x == pytest.approx(1 - betainc(a, b, 0.5), abs=0.01)
    assert found.variance**0.5 == pytest.approx((a * b / (a + b) ** 2 / (a + b + 1)) ** 0.5, abs=0.02)
    for ends, level in ((found.own_low, 0.025), (found.own_high, 0.975)):
        assert ends == pytest.approx(beta.ppf(level, a + won, b + n - won), abs=0.02)


@pytest.mark.parametrize("counted", [True, False])
def test_people_differ_share_is_covered(counted: bool) -> None:
    """Of 100 studies of known truth the interval holds it in about 95."""
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(100):
        n = rng.integers(2, 7, 40)
        if counted:
            value, person = answers(rng.beta(3, 1.5, 40), n, rng)
            truth = 1 - betainc(3, 1.5, 0.5)
        else:
            person = np.repeat(np.arange(40), n)
            value = 0.6 + 0.1 * rng.normal(size=40)[person] + 0.15 * rng.normal(size=len(person))
            truth = 0.8413447
        found = fitted(value, person, counted=counted)
        held += found.low <= truth <= found.high
    assert held >= 89  # 95 and three errors


@pytest.mark.parametrize("kind", ["choices", "preferences", "ratings"])
def test_people_differ_hangs_on_no_order_name_or_side(kind: str) -> None:
    rng = np.random.default_rng(2)
    if kind == "choices":
        table = chosen()
        other = table.rename({"system_x": "system_y", "system_y": "system_x"})
    elif kind == "preferences":
        rows = [(f"p{who}", "tea", "water", round(float(rng.uniform(0.2, 0.9)), 2)) for who in range(25) for _ in "ab"]
        table = preferences(rows, exposure=[1, 2] * 25)
        turned = (1 - pl.col("preference").cast(pl.Float64)).round(2).cast(pl.String).alias("preference")
        other = table.rename({"system_x": "system_y", "system_y": "system_x"}).with_columns(turned)
    else:
        table = ratings(
            (f"p{who}", f"i{item}", system, int(rng.integers(1, 6)))
            for who in range(25)
            for item in range(3)
            for system in ("tea", "water")
        )
        other = table.sample(fraction=1, shuffle=True, seed=1)
    other = other.sample(fraction=1, shuffle=True, seed=4)
    other = other.with_columns(("z" + pl.col("annotator_id").str.reverse()).alias("annotator_id"))
    (row,), (same,) = (run(plan=ASKED, **{kind: one})["people_differ"] for one in (table, other))
    assert row["share_loser"] is not None
    for name in ("n", "n_answers", "sd_people", "sd_noise", "share_loser", "share_loser_low", "share_loser_high"):
        assert (row[name] or 0.0) == pytest.approx(same[name] or 0.0, rel=1e-6, abs=1e-9), name
    camps = [run(plan=ASKED, **{kind: one})["camps"][0]["p_value"] for one in (table, other)]
    assert camps[0] == camps[1]


def test_people_differ_directions_are_no_second_answer() -> None:
    """Both directions of one pair are one answer: nothing to tell noise by; a plan that asks is told why not."""
    rng = np.random.default_rng(1)
    rows = [
        (f"p{who}", *sides, round(float(rng.uniform(0.3, 0.7)), 2))
        for who in range(30)
        for sides in (("tea", "water"), ("water", "tea"))
    ]
    table = preferences(rows)
    assert run(preferences=table)["people_differ"] == []
    (row,) = run(plan=ASKED, preferences=table)["people_differ"]
    assert (row["n"], row["n_twice"], row["reason_code"]) == (30, 0, "few_people_twice")
    assert row["sd_people"] is None


def test_camps_are_found_and_said() -> None:
    """Two camps of 70 and 30 percent: the share, the test, the sentences, nothing on the first page."""
    results = run(plan=ASKED, choices=chosen())
    (row,), (camp,) = results["people_differ"], results["camps"]
    assert row["ahead"] == "x"
    assert row["share_loser_low"] < 0.3 < row["share_loser_high"]
    assert (camp["two_camps"], camp["share"]) == (True, pytest.approx(0.7, abs=0.11))
    assert camp["mean_nearer_y"] < 0.35 < 0.7 < camp["mean_nearer_x"]
    own = [one["estimate"] for one in results["own_preferences"]]
    assert len(own) == 60
    assert own == sorted(own, reverse=True)
    text = render_report(results)["report.md"]
    assert "of people truly prefer water" in text
    assert "two camps (adjusted p = .002)" in text
    assert "truly" not in json.dumps(results["headline"])
    assert run(choices=chosen())["camps"] == []


def test_camps_are_corrected_by_group_and_described_if_found() -> None:
    """A family is a group's tests; what it does not reach says neither share nor means."""
    place = {"source": "choices", "criterion": "overall", "system_x": "tea", "system_y": "water"}
    means = {"share": 0.3, "mean_nearer_x": 0.8, "mean_nearer_y": 0.2}
    made = [("a", 0.02), ("a", 0.04), ("a", None), ("b", 0.04)]
    camps = [people_differ.CampsRow(**place, group=group, n=9, p_value=p, **means) for group, p in made]
    *tested, untested, alone = people_differ._adjusted(camps, Plan(camps=True))
    assert [(one.p_adjusted, one.n_tests, one.two_camps, one.share) for one in tested] == [(0.04, 2, True, 0.3)] * 2
    assert (untested.p_adjusted, untested.n_tests) == (None, None)
    assert (alone.p_adjusted, alone.n_tests, alone.two_camps) == (0.04, 1, True)
    doubled = [replace(one, p_value=one.p_value and one.p_value * 2) for one in camps]
    missed = people_differ._adjusted(doubled, Plan())
    assert [(one.two_camps, one.share, one.mean_nearer_x, one.mean_nearer_y) for one in missed[:2]] == [
        (False, None, None, None)
    ] * 2


def test_no_group_is_asked_for_more_camps_than_could_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group counts its own tests, of pairs that can be estimated."""
    monkeypatch.setattr(people_differ, "MOST_CAMPS", 1)
    other = chosen(4, people=30).with_columns(pl.col("system_y", "winner").str.replace("water", "milk"))
    camps = run(plan=ASKED, choices=pl.concat([chosen(people=30), other]))["camps"]
    assert [(one["reason_code"], one.get("p_value")) for one in camps] == [("camps_of_many", None)] * 2


@pytest.mark.parametrize(
    ("tastes", "people", "bounds"),
    [
        (lambda rng, n: rng.beta(8, 2, n), 50, (0, 7)),  # skewed, one hill
        (lambda rng, n: np.where(rng.random(n) < 0.6, rng.beta(20, 4, n), rng.beta(4, 20, n)), 80, (30, 40)),
    ],
)
def test_camps_level_and_power(tastes: Tastes, people: int, bounds: tuple[int, int]) -> None:
    rng = np.random.default_rng(9)
    found = 0
    for _ in range(40):
        value, person = answers(tastes(rng, people), np.full(people, 8), rng)
        found += two_camps(value, person, counted=True, bounded=True, rng=rng).p_value <= 0.05
    assert bounds[0] <= found <= bounds[1]


@pytest.mark.parametrize(
    "tastes", [lambda rng: rng.random(40), lambda rng: rng.uniform(-0.2, 1.2, 40)], ids=["even", "beyond the ends"]
)
def test_camps_level_of_chances_cut_off(tastes: Callable[[np.random.Generator], Floats]) -> None:
    """One even hill of chances whose noise is cut off at 0 and 100%, or whose people are beyond them."""
    rng = np.random.default_rng(12)
    found = sum(
        two_camps(*cut_off(tastes(rng), (2, 6), rng), counted=False, bounded=True, rng=rng).p_value <= 0.05
        for _ in range(14)
    )
    assert found <= 3  # 0.7 and three errors


def test_camps_level_of_flat_choices() -> None:
    """Flat hills, on the border to two peaks, with 2 to 6 choices a person: by the likeliest alone 32 of 400 err."""
    rng = np.random.default_rng(23)
    found = 0
    for study in range(400):
        value, person = chosen_each(rng.beta(1, 1 if study % 2 else 0.6, 30), (2, 6), rng)
        found += two_camps(value, person, counted=True, bounded=True, rng=rng).p_value <= 0.05
    assert found <= 29  # 20 and two errors


def test_camps_of_chances_are_found() -> None:
    """Camps at 85 and 20%, cut off and in steps of 5%, are no single hill; their means and shares are near."""
    rng = np.random.default_rng(13)
    taste = np.where(np.arange(60) < 36, rng.beta(17, 3, 60), rng.beta(4, 16, 60))
    value, person = cut_off(taste, (4, 6), rng)
    found = two_camps(value, person, counted=False, bounded=True, rng=rng)
    assert found.p_value <= 0.01
    assert (found.share, found.mean_x, found.mean_y) == (
        pytest.approx(0.6, abs=0.11),
        pytest.approx(0.85, abs=0.08),
        pytest.approx(0.2, abs=0.08),
    )


def one_who_gave_most() -> dict[str, Any]:
    """Make 30 people of 4 choices, one of them with 200 about further items."""
    rng = np.random.default_rng(6)
    rows = [
        (f"p{who}", f"i{item}", "tea", "water", "tea" if rng.random() < 0.6 else "water")
        for who in range(30)
        for item in range(200 if who == 0 else 4)
    ]
    (row,) = run(choices=choices(rows))["people_differ"]
    return row


def test_people_differ_one_gave_most() -> None:
    """One person's many answers weigh as one person in the mean, and make nobody else surer."""
    row = one_who_gave_most()
    assert (row["n"], row["n_answers"]) == (30, 200 + 29 * 4)
    assert 0.5 < row["estimate"] < 0.7
    assert row["sd_people"] < 0.15


def test_people_differ_ties_samples_and_lower_scores() -> None:
    """Ties are no choices; outputs of two samples are two answers; where less is better the lower one is ahead."""
    table = chosen().with_row_index()
    tied = table.with_columns(pl.when(pl.col("index") % 8 == 0).then(pl.lit("tie")).otherwise("winner").alias("winner"))
    (row,) = run(choices=tied.drop("index"))["people_differ"]
    assert (row["n"], row["n_answers"]) == (60, 420)
    rng = np.random.default_rng(3)
    rows = [(f"p{who}", "tea", "water", round(float(rng.uniform(0.3, 0.8)), 2)) for who in range(24) for _ in "ab"]
    (row,) = run(preferences=preferences(rows, exposure="1", sample=["1", "2"] * 24))["people_differ"]
    assert (row["n_twice"], row["n_answers"]) == (24, 48)
    scores = ratings(
        (f"p{who}", f"i{item}", system, int(rng.integers(1, 4)) + better)
        for who in range(22)
        for item in range(2)
        for system, better in (("tea", 2), ("water", 0))
    )
    found = [
        run(ratings=scores, plan=Plan(lower_is_better=low))["people_differ"][0]
        for low in (frozenset[str](), frozenset({"overall"}))
    ]
    assert [one["ahead"] for one in found] == ["x", "y"]
    assert found[0]["estimate"] == -found[1]["estimate"] > 1


@pytest.mark.parametrize("source", ["ratings", "choices"])
def test_answers_are_counted_as_they_are_sorted(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few whole values are sorted by counting them, others one by one: people and answers stand alike."""
    rng = np.random.default_rng(4)
    value = rng.choice([-2.0, 0.0, 1.0] if source == "ratings" else [0.0, 0.5, 1.0], 300)
    pair = PairAnswers(
        source=source,
        group="human",
        criterion="overall",
        system_x="x",
        system_y="y",
        names=tuple(map(str, range(12))),
        person=rng.integers(0, 12, 300),
        value=value,
        even=0.0,
    )
    counted = people_differ._used(pair)
    assert people_differ._given(value - value.min() / 3, pair.person) is None or source == "choices"
    monkeypatch.setattr(people_differ, "_given", lambda value, person: None)
    for one, other in zip(counted, people_differ._used(pair), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("gap", [False, True])
def test_whole_blocks_stand_side_by_side_as_any(gap: bool) -> None:
    """Where everybody rated all systems' outputs, scores are laid side by side as they stand; rows in any order."""
    rng = np.random.default_rng(3)
    who, item, system = (own.ravel() for own in np.meshgrid(np.arange(4), np.arange(5), np.arange(3), indexing="ij"))
    rows = rng.permutation(len(who))[int(gap) :]
    alike = dict.fromkeys(("group", "criterion", "variant", "sample", "llm"), np.zeros(len(rows), dtype=np.int64))
    annotator = who[rows]
    columns = {"system": system[rows], "annotator": annotator, "assignment": annotator, "item_id": item[rows], **alike}
    order = Order(groups=("human",), criteria=("c",), systems=("A", "B", "C"), pairs=())
    (cells,) = cells_of(columns, rng.integers(1, 6, len(rows)).astype(np.float64), order)
    assert cells.once
    assert [*zip(cells.annotator, cells.item, cells.system, strict=True)] == sorted(
        zip(annotator, item[rows], system[rows], strict=True)
    )
    laid, found = own_answers._side_by_side(cells), own_answers._side_by_side(replace(cells, once=False))
    for one, other in zip(laid, found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.isnan(laid[1]).sum() == int(gap)
