"""What a test is over: items dealt evenly, few annotators, sessions, other annotators and items; by simulation."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from analysis.answers.equal_weights import items_of_counts
from analysis.planning.assumptions import Assumptions, assumed
from analysis.planning.contributions import Contributions
from analysis.planning.crossed_power import CrossedPower
from analysis.planning.dealt import DealtItems
from analysis.planning.engines import engine_for
from analysis.planning.item_power import judged_items
from analysis.planning.plan import FEWEST_STUDIES, TESTS, annotators_for, detectable, power_at
from analysis.planning.ranked import share_components
from analysis.planning.simulate import bh_rejects
from analysis.planning.unpaired import deal_hands
from analysis.planning.variance import Components
from analysis.rating_checks.crossed import crossed_test
from analysis.statistics.corrections import adjust
from analysis.statistics.t_tests import one_sample
from spa.cli import main

USUAL = Components(annotator_sd=0.5, item_sd=0.8, residual_sd=1.25)
ITEMS = Components(annotator_sd=0.2, item_sd=0.9, residual_sd=0.6)
LEVEL = 0.05 / 3

STUDY = """id = "planned"
title = "Planned"
seed = 1
[outputs]
files = ["outputs.jsonl"]
layout = "wide"
item = "item_id"
item_text = "prompt"
{systems}
[[criteria]]
id = "sense"
name = "making sense"
{asked}
[design]
items = {items}
[people]
annotators = {annotators}
pay = "5.00"
currency = "GBP"
{rest}
"""
LIKERT = '[likert]\npoints = 5\noutputs = "all"\noverall = false'


def write(
    folder: Path, *, asked: str = LIKERT, systems: int = 3, pool: int, items: int, annotators: int, rest: str = ""
) -> Path:
    named = "\n".join(f'[[systems]]\nid = "s{number}"' for number in range(systems))
    lines = [
        {"item_id": f"i{item}", "prompt": f"prompt {item}"}
        | {f"s{number}": f"text {number} of item {item}" for number in range(systems)}
        for item in range(pool)
    ]
    (folder / "outputs.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    path = folder / "study.toml"
    path.write_text(STUDY.format(systems=named, asked=asked, items=items, annotators=annotators, rest=rest))
    return path


def run(command: str, path: Path, *options: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, [command, str(path), *options, "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def of_items(**changes: Any) -> Assumptions:
    return assumed("likert", components=ITEMS, n_items=10, exclusion_rate=0.0, **changes)


@pytest.mark.parametrize(("annotators", "power"), [(8, 0.752), (9, 0.814), (10, 0.861), (16, 0.982)])
def test_items_that_everybody_rates_do_not_scatter_annotators(annotators: int, power: float) -> None:
    """Powers of 20,000 simulated studies, ten items for all; the item part was counted, which asked for 16."""
    design = of_items(pool=10)
    assert design.sd == pytest.approx(0.2757, abs=1e-4)
    assert power_at(design, annotators, 0.3, 0.05) == pytest.approx(power, abs=0.01)
    assert annotators_for(design, 0.3, 0.8, 0.05).annotators == 9
    assert annotators_for(of_items(pool=20), 0.3, 0.8, 0.05).annotators == 12
    assert of_items().sd == pytest.approx((0.04 + 0.81 / 10 + 0.36 / 10) ** 0.5)  # infinitely many


@pytest.mark.parametrize(("pool", "annotators", "power"), [(200, 15, 0.825), (200, 16, 0.864), (20, 12, 0.821)])
def test_items_dealt_evenly_hardly_move_the_mean(pool: int, annotators: int, power: float) -> None:
    """Powers of 4,000 simulated studies whose items come from a deck."""
    assert power_at(of_items(pool=pool), annotators, 0.3, 0.05) == pytest.approx(power, abs=0.02)


def test_all_sessions_of_a_person_count_and_are_paid(tmp_path: Path) -> None:
    """SD .5688 = sqrt(.5^2 + (.8^2 + 1.25^2) / 30); one session was planned, 141 people for 705.00."""
    path = write(tmp_path, pool=60, items=10, annotators=60, rest="sessions = 3")
    (found,) = run("plan", path, "--simulations", "0", "--difference", "0.2")["plans"]
    assert found["assumptions"]["sd"] == pytest.approx(0.5688, abs=2e-4)
    rows = [(row["need"]["power"], row["need"]["annotators"], Decimal(row["cost"])) for row in found["rows"]]
    assert rows == [(0.8, 98, Decimal(1470)), (0.9, 125, Decimal(1875))]
    bought = run("plan", path, "--simulations", "0", "--budget", "900")["plans"][0]["detectable"]
    assert bought == found["detectable"]
    assert (
        "60 annotators (900.00 GBP)"
        in CliRunner().invoke(main, ["plan", str(path), "--simulations", "0", "--power", "0.8"]).output
    )


def test_three_experts_are_tested_over_items(tmp_path: Path) -> None:
    """SD 1.115 and .366 points by hand; with ten percent excluded, which is the default, so by simulation too."""
    path = write(tmp_path, pool=100, items=100, annotators=3)
    (found,) = run("plan", path, "--simulations", "0", "--power", "0.8")["plans"]
    (one,) = found["detectable"]
    assert (one["unit"], one["n"]) == ("item", 100)
    assert one["sd"] == pytest.approx(1.115, abs=0.01)
    assert one["difference"] == pytest.approx(0.366, abs=0.003)
    said = CliRunner().invoke(main, ["plan", str(path), "--simulations", "0", "--power", "0.8"]).output
    assert "0.367 points or more with power 80%, for these annotators only" in said
    rated = {row["question"]: row for row in run("check", path)["conclusions"]}["which system is rated higher"]
    assert rated["answerable"]
    assert "over 100 items, for these annotators only" in rated["reason"]


def test_planned_crossed_test_finds_no_difference(tmp_path: Path) -> None:
    """A difference that the crossed test does not find is no answer."""
    question = "whether other annotators, on other items, would find the same"
    few = write(tmp_path, systems=2, pool=3, items=3, annotators=3)
    found = {row["question"]: row for row in run("check", few)["conclusions"]}[question]
    assert not found["answerable"]
    assert "with 80% power: ratings: none" in found["reason"]
    more = write(tmp_path, systems=2, pool=5, items=5, annotators=60)
    found = {row["question"]: row for row in run("check", more)["conclusions"]}[question]
    assert found["answerable"]
    assert "ratings: 1.38 points or more" in found["reason"]  # 1 point in 54%, 2 in 98% of 20,000 simulated studies


@pytest.mark.parametrize(
    ("annotators", "rated", "pool", "difference", "power"),
    [
        (3, 3, 3, 2.0, 0.172),  # 20,000 studies by the test of the report
        (3, 3, 3, 1.0, 0.037),
        (60, 5, 5, 0.5, 0.186),
        (60, 5, 5, 1.0, 0.548),
        (60, 5, 5, 2.0, 0.978),
    ],
)
def test_the_crossed_test_has_the_power_of_simulated_studies(
    annotators: int, rated: int, pool: int, difference: float, power: float
) -> None:
    test = CrossedPower(components=USUAL, annotators=annotators, items=DealtItems(rated=rated, dealt=rated, pool=pool))
    assert test.power(difference, 0.05) == pytest.approx(power, abs=0.012)


def test_the_crossed_test_on_dealt_items_is_that_of_the_report() -> None:
    rng, n, k, pool = np.random.default_rng(4), 12, 5, 15
    found = 0
    for rated in deal_hands(pool, k, n, layouts=500, rng=rng):
        values = 0.8 + 0.5 * rng.standard_normal((n, 1)) + 0.8 * rng.standard_normal(pool)[rated]
        values += 1.25 * rng.standard_normal((n, k))
        test = crossed_test(values.ravel(), np.repeat(np.arange(n), k), rated.ravel())
        found += test.p_value is not None and test.p_value < 0.05 and test.mean > 0
    planned = CrossedPower(components=USUAL, annotators=n, items=DealtItems(rated=k, dealt=k, pool=pool))
    assert planned.power(0.8, 0.05) == pytest.approx(found / 500, abs=4 * 0.0224)


@pytest.mark.parametrize(
    ("kept", "recruited", "rated", "pool", "difference", "alike", "sd"),
    [
        (58, 65, 10, 60, 0.3, True, 0.5),
        (5, 6, 10, 40, 0.7, False, 0.5),
        (8, 9, 5, 40, 0.9, False, 0.5),
        (6, 9, 10, 30, 0.6, True, 0.5),
        (4, 8, 10, 30, 1.2, True, 2.0),  # annotators who differ much scatter items with few answers more
        (4, 8, 10, 30, 1.2, False, 2.0),
    ],
)
def test_tests_over_items_have_the_power_of_simulated_studies(
    kept: int, recruited: int, rated: int, pool: int, difference: float, alike: bool, sd: float
) -> None:
    """Items dealt and tested as the report does; the true difference is that of these annotators."""
    rng, runs, found = np.random.default_rng(5), 1500, 0
    for hands in deal_hands(pool, rated, recruited, layouts=runs, rng=rng):
        own = hands[rng.permutation(recruited)[:kept]]
        leaning = sd * rng.standard_normal((kept, 1))
        values = difference + (leaning - leaning.mean()) * np.sqrt(kept / (kept - 1))
        values = values + 0.8 * rng.standard_normal(pool)[own] + 1.25 * rng.standard_normal(own.shape)
        count = np.bincount(own.ravel(), minlength=pool)
        means = np.bincount(own.ravel(), weights=values.ravel(), minlength=pool)[count > 0] / count[count > 0]
        if alike:
            test = one_sample(means, against=0.0, confidence=0.95)
        else:
            test = items_of_counts(means, count[count > 0].astype(float)).test(against=0.0, confidence=0.95)
        found += test.p_value is not None and test.p_value < LEVEL and test.mean > 0
    dealt = DealtItems(rated=rated, dealt=rated, pool=pool)
    made = replace(USUAL, annotator_sd=sd)
    judged = judged_items(made, dealt, kept=kept, recruited=recruited, alike=alike)
    assert judged is not None
    share = found / runs
    within = 0.01 + 3 * (share * (1 - share) / runs) ** 0.5
    assert judged.power(difference, LEVEL) == pytest.approx(share, abs=within)


def test_the_unit_item_is_planned_over_items() -> None:
    """80.6% were promised; 53% of 4,000 simulated studies of 65 recruits, 10 of 60 items each, found it."""
    design = assumed("likert", n_items=10, pool=60, n_tests=3, unit="item")
    assert power_at(design, 65, 0.3, LEVEL) == pytest.approx(0.53, abs=0.02)
    assert annotators_for(design, 0.3, 0.8, LEVEL).reason == "more items than the study's 60, as the test is over items"


def test_fewer_than_ten_are_tested_over_items_study_by_study() -> None:
    """Of 12 annotators, 30% excluded, most studies have fewer than ten; ten of them are another test than nine."""
    design = of_items(pool=10, unit="auto")
    assert power_at(design, 9, 0.3, 0.05) < 0.2 < 0.8 < power_at(design, 10, 0.3, 0.05)
    assert annotators_for(design, 0.3, 0.8, 0.05).annotators == 10
    mixed = replace(design, exclusion_rate=0.3)
    low, high = power_at(design, 9, 0.3, 0.05), power_at(design, 12, 0.3, 0.05)
    assert low < power_at(mixed, 12, 0.3, 0.05) < low + 0.3 * (high - low)
    assert detectable(design, 9, 0.8).unit == "item"
    assert detectable(design, 20, 0.8).unit == "annotator"


@given(
    rated=st.integers(1, 8),
    more=st.integers(0, 8),
    rest=st.integers(0, 20),
    kept=st.integers(1, 12),
    lost=st.integers(0, 6),
)
def test_items_are_dealt_evenly(rated: int, more: int, rest: int, kept: int, lost: int) -> None:
    """All answers have an item; the mean varies no more than if hands were independent, not at all if all are rated."""
    dealt = DealtItems(rated=rated, dealt=rated + more, pool=rated + more + rest + 1)
    counts, shares = dealt.raters(kept, kept + lost)
    assert float(shares.sum()) == pytest.approx(1)
    assert float(counts @ shares) * dealt.pool == pytest.approx(kept * rated)
    assert 0 <= float(dealt.share_of_mean(kept, kept + lost)) <= dealt.share / kept * (1 + 1e-9)
    everybody = DealtItems(rated=rated, dealt=rated, pool=rated)
    assert everybody.share == float(everybody.share_of_mean(kept, kept + lost)) == 0


@given(seed=st.integers(0, 200))
def test_benjamini_and_hochberg_reject_as_the_report_does(seed: int) -> None:
    p_values = np.random.default_rng(seed).beta(0.4, 3, size=(1, 7))
    assert bh_rejects(p_values, fwer=0.05)[0].tolist() == list(adjust(p_values[0].tolist(), correction="bh").rejected)


def test_the_correction_is_called_by_its_name(tmp_path: Path) -> None:
    path = write(tmp_path, pool=20, items=10, annotators=30, rest='[analysis]\ncorrection = "bh"')
    said = CliRunner().invoke(main, ["plan", str(path), "--simulations", "0", "--power", "0.8"]).output
    assert "3 tests share a false discovery rate of 0.05 (Benjamini-Hochberg)" in said
    assert "Holm" not in said


@pytest.mark.parametrize(
    ("rest", "asked", "told"),
    [
        ('[analysis]\nrating_test = "welch"', LIKERT, "not planned: Welch's t-test"),
        ("", '[likert]\npages = "output"\noverall = false', "not planned: single outputs are dealt"),
    ],
)
def test_a_test_that_is_not_planned_has_no_figure(tmp_path: Path, rest: str, asked: str, told: str) -> None:
    path = write(tmp_path, asked=asked, pool=20, items=10, annotators=30, rest=rest)
    if "pages" in asked:
        path.write_text(path.read_text().replace("items = 10", "outputs = 10"))
    (found,) = run("plan", path, "--simulations", "50")["plans"]
    assert {row["need"]["annotators"] for row in found["rows"]} == {None}
    assert found["curve"] == found["items_floor"] == found["elsewhere"] == []
    assert found["detectable"][0]["reason"].startswith(told)
    said = CliRunner().invoke(main, ["plan", str(path)]).output
    assert said.startswith(f"Likert: {told}")
    assert "annotators  reached" not in said


def test_choices_say_what_the_crossed_test_finds(tmp_path: Path) -> None:
    path = write(tmp_path, asked="[choices]\nties = false\noverall = false", pool=5, items=5, annotators=70)
    question = "whether other annotators, on other items, would find the same"
    found = {row["question"]: row for row in run("check", path)["conclusions"]}[question]
    assert "choices: " in found["reason"]
    assert "items are taken not to differ" in found["reason"]
    alike, differ = (
        run("plan", path, "--simulations", "0", *options)["plans"][0]
        for options in (["--item-sd", "0"], ["--item-sd", "0.2"])
    )
    assert alike["items_floor"] == []
    assert [row["annotators"] for row in differ["items_floor"]] == [5, 5]
    assert differ["elsewhere"][0]["difference"] > 2 * alike["elsewhere"][0]["difference"]


def test_a_plan_without_a_study_stays_with_annotators() -> None:
    assert isinstance(engine_for(assumed("likert")), Contributions)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--sd", "1e-300"], "--sd: expected a standard deviation of at least 1e-09, got less"),
        (["--budget", "1e12", "--pay", "0.01"], "--budget: expected pay for at most 1,000,000 annotators"),
    ],
)
def test_numbers_beyond_any_plan_are_refused(options: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["plan", *options])
    assert result.exit_code == 1
    assert told in result.output


def test_of_very_many_pairs_fewer_studies_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few as of 10,000 pairs, the most, where a hundredth of the tests may be simulated."""
    assert TESTS // 10_000 == FEWEST_STUDIES == 200
    monkeypatch.setattr("analysis.planning.plan.TESTS", TESTS // 100)
    result = CliRunner().invoke(main, ["plan", "--pairs", "100", "--difference", "65", "--power", "0.8"])
    assert "The check simulates 200 studies" in result.output


def test_planned_sd_alone_leaves_no_item_variance() -> None:
    """An sd given alone leaves nothing to vary between items that all judge."""
    alone = Components(annotator_sd=1.57)
    design = assumed("likert", components=alone, n_items=20, pool=20, unit="item")
    assert "give --residual-sd" in str(detectable(design, 5, 0.8).reason)
    assert "give --residual-sd" in str(annotators_for(design, 1.0, 0.8, 0.05).reason)
    once = assumed("likert", components=alone, n_items=1, pool=40, unit="auto")
    assert power_at(once, 9, 1.0, 0.05) == pytest.approx(
        power_at(replace(once, unit="annotator"), 9, 1.0, 0.05), abs=0.1
    )


def test_planned_unequal_annotators_weigh_the_same() -> None:
    """32.7% and 28.7% of 2,500 simulated studies, rankings of some systems, tested by the report's weighed items."""
    for annotators, difference, level, seen in ((9, 0.25, 0.05 / 15, 0.327), (8, 0.15, 0.05, 0.287)):
        often = binom.pmf(np.arange(9), 20, 0.2)[1:]
        judged = tuple((times + 1, float(share / often.sum())) for times, share in enumerate(often))
        made = share_components(0.1, 0.0, 0.1)
        design = assumed("ranking", components=made, judged=judged, pool=40, dealt=20, unit="auto", exclusion_rate=0.0)
        assert power_at(design, annotators, difference, level) == pytest.approx(seen, abs=0.037)


def test_crossed_test_of_unequally_dealt_choices(
    tmp_path: Path,
) -> None:
    """Nine choices over six pairs: half of the annotators judge a pair once, half twice."""
    asked = "[choices]\nties = false\noverall = false\nper_annotator = 9"
    path = write(tmp_path, asked=asked, systems=4, pool=60, items=5, annotators=60)
    path.write_text(path.read_text().replace("[design]\nitems = 5\n", ""))
    (found,) = run("plan", path, "--simulations", "0", "--power", "0.8", "--difference", "60")["plans"]
    assert found["elsewhere"][0]["difference"] > found["detectable"][0]["difference"] - 0.002
    said = CliRunner().invoke(main, ["plan", str(path), "--simulations", "0", "--power", "0.8"]).output
    assert "1 to 2 choices between both systems" in said
