"""Each direction of a question tested by itself, as in Figure 1 of the SPA paper, and both sums of Figure 5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.answers.plan import Plan
from analysis.printing.document import Figure, Table, every_block, whole
from analysis.report.sections import make_section
from analysis.results.files import from_plain
from tests.analysis.made_answers import preferences, run

EXPOSURES = (1, 2, 4)


def answers(seed: int = 3, n: int = 14) -> list[tuple[int, str, float, float]]:
    """Return exposure, annotator, P(x > y) and P(y > x); two annotators contradict themselves."""
    rng = np.random.default_rng(seed)
    found = []
    for exposure in EXPOSURES:
        for who in range(n):
            p = round(float(np.clip(rng.normal(0.55 + 0.04 * exposure, 0.2), 0, 1)), 2)
            q = 0.95 if who < 2 and p > 0.3 else round(float(np.clip(1 - p + rng.normal(-0.1, 0.05), 0, 1 - p)), 2)
            found.append((exposure, f"p{who}", p, q))
    return found


def analysed(given: list[tuple[int, str, float, float]], plan: Plan | None = None, **more: Any) -> dict[str, Any]:
    rows = [row for _, who, p, q in given for row in ((who, "x", "y", p), (who, "y", "x", q))]
    exposure = [row[0] for row in given for _ in range(2)]
    return run(preferences=preferences(rows, exposure=exposure), plan=plan or Plan(), **more)


def test_each_direction_is_scipy_s_t_and_holm() -> None:
    """P against 0.5 by scipy, of those kept; Holm over the six directions by hand."""
    given = answers()
    gone = {who for _, who, p, q in given if round(p + q, 4) > 1.1}
    assert gone
    rows = analysed(given)["preference_directions"]
    wanted = {
        (exposure, side): stats.ttest_1samp(
            [one[at] for one in given if one[0] == exposure and one[1] not in gone], 0.5
        )
        for exposure in EXPOSURES
        for side, at in (("x", 2), ("y", 3))
    }
    ordered = sorted(test.pvalue for test in wanted.values())
    holm = {
        p: max(min(1, q * (6 - at)) for at, q in enumerate(ordered[: place + 1])) for place, p in enumerate(ordered)
    }
    assert len(rows) == 6
    for row in rows:
        test = wanted[row["exposure"], row["system_x"]]
        interval = test.confidence_interval(0.95)
        assert [row[name] for name in ("t", "p_value", "ci_low", "ci_high")] == pytest.approx(
            [test.statistic, test.pvalue, *interval], rel=1e-9
        )
        assert row["p_adjusted"] == pytest.approx(holm[test.pvalue], rel=1e-9)
        assert (row["n_tests"], row["df"]) == (6, 14 - len(gone) - 1)
        assert (row["verdict"] == "indifferent") == (holm[test.pvalue] > 0.05)


def test_symmetry_is_tested_before_and_after() -> None:
    given = answers()
    gone = {who for _, who, p, q in given if round(p + q, 4) > 1.1}
    for row in analysed(given)["preference_directions"]:
        own = [one for one in given if one[0] == row["exposure"]]
        before, after = (
            stats.ttest_1samp([p + q for _, who, p, q in own if who not in without], 1).pvalue
            for without in (set(), gone)
        )
        assert (row["p_symmetry"], row["p_symmetry_selected"]) == pytest.approx((before, after), rel=1e-9)


def test_directions_enlarge_no_family() -> None:
    """What is tested of pairs is the same with and without the second direction, but for its own answers."""
    given = answers()
    results = analysed(given)
    assert {row["n_tests"] for row in results["preferences"]} == {3}
    assert [family["n_tests"] for family in results["families"]] == [3]


def test_turning_the_pair_turns_each_direction() -> None:
    """Who asks x over y first or second changes no direction's test."""
    given = answers(seed=8)
    swapped = [(exposure, who, q, p) for exposure, who, p, q in given]
    one, two = (analysed(own)["preference_directions"] for own in (given, swapped))
    by_side = {(row["exposure"], row["system_x"]): row["p_adjusted"] for row in two}
    for row in one:
        other = {"x": "y", "y": "x"}[row["system_x"]]
        assert row["p_adjusted"] == pytest.approx(by_side[row["exposure"], other], rel=1e-9)


def test_pooled_criteria_pool_directions() -> None:
    given = answers()
    rows = [row for _, who, p, q in given for row in ((who, "x", "y", p), (who, "y", "x", q))] * 2
    exposure = [row[0] for row in given for _ in range(2)] * 2
    criterion = ["fluency"] * (len(rows) // 2) + ["overall"] * (len(rows) // 2)
    table = preferences(rows, exposure=exposure, criterion=criterion)
    found = run(preferences=table, plan=Plan(family="all"))["preference_directions"]
    assert {row["n_tests"] for row in found} == {12}


def test_report_shows_figures_1_and_5_apart() -> None:
    """Two figure files of their own, a table with a test a direction, and a line on whether both agree."""
    results = analysed(answers())
    section = make_section(from_plain(results), "preferences")
    assert section is not None
    blocks = list(every_block(whole(section).blocks))
    figures = {block.name for block in blocks if isinstance(block, Figure)}
    assert {"each-direction-human-overall", "directions-human-overall"} <= figures
    (table,) = (block for block in blocks if isinstance(block, Table) and block.name == "directions_alone")
    assert len(table.rows) == 6
    told = " ".join(getattr(block, "text", "") for block in section.blocks)
    turned = {"x": "y", "y": "x", "indifferent": "indifferent"}
    verdicts = {(row["exposure"], row["system_x"]): row["verdict"] for row in results["preference_directions"]}
    same = sum(verdicts[exposure, "x"] == turned[verdicts[exposure, "y"]] for exposure in EXPOSURES)
    assert 0 < same < 3  # seen from both sides
    assert f"the same verdict in {same} of 3 comparisons. Not so:" in told


def test_one_direction_alone_has_no_table_of_directions() -> None:
    rows = [(f"p{who}", "x", "y", p) for who, p in enumerate((0.6, 0.7, 0.9))]
    results = run(preferences=preferences(rows))
    section = make_section(from_plain(results), "preferences")
    assert section is not None
    assert not [one for one in every_block(whole(section).blocks) if getattr(one, "name", "") == "directions_alone"]
    (row,) = results["preference_directions"]
    assert row["p_value"] == results["preferences"][0]["p_value"]
