"""Plans of rankings: the share of orders in which one system stands before another."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from analysis.planning.assumptions import assumed
from analysis.planning.contributions import scale_test
from analysis.planning.plan import annotators_for, power_at
from analysis.planning.ranked import ranking_design, share_answers, share_components
from analysis.planning.study_design import study_assumptions
from spa.cli import main
from spa.commands.init import write_example
from spa.study.load import load_study
from spa.study.outputs import load_outputs

CASES = Path(__file__).parents[3].parent / "shared" / "cases" / "planning"
TASTE, NOISE, RUNS = 0.3, 1.0, 4000


@pytest.mark.parametrize("n_items", [1, 2, 5, 8])
@pytest.mark.parametrize(("sd", "difference"), [(0.1, 0.0), (0.1, 0.15), (0.3, 0.1)])
def test_ranked_shares_mean_and_variance(n_items: int, sd: float, difference: float) -> None:
    """Shares have the mean and variance of orders that one annotator repeats."""
    points, chances = share_answers(share_components(sd), n_items, difference)
    mean = 0.5 + difference
    once = mean * (1 - mean)  # of one order; two of one annotator correlate by sd^2 / once
    assert chances.sum() == pytest.approx(1)
    assert points @ chances == pytest.approx(mean)
    variance = once / n_items * (1 + (n_items - 1) * sd**2 / once)
    assert (points - mean) ** 2 @ chances == pytest.approx(variance)
    if difference == 0:
        assert share_components(sd).contribution_sd(n_items) == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(("ties", "said"), [(0.0, "no shares"), (0.1, "no shares with 10% ties")])
def test_shares_that_cannot_be_are_told(ties: float, said: str) -> None:
    made = share_components(0.4, ties, 0.0)
    with pytest.raises(ValueError, match=f"^{said} have mean 0.85 and an SD of 0.4 between annotators$"):
        share_answers(made, 4, 0.35, ties)


def test_power_is_that_of_rankers_with_tastes_of_their_own() -> None:
    """Rankers order by utility, a taste of their own and chance; the shares are no beta distribution."""
    rng, better, n_items = np.random.default_rng(7), 0.4, 4
    spread = NOISE * np.sqrt(2)
    own = stats.norm.cdf((better + TASTE * np.sqrt(2) * rng.standard_normal(1_000_000)) / spread)
    design = assumed(
        "ranking",
        components=share_components(float(own.std())),
        judged=((n_items, 1.0),),
        n_tests=6,
        exclusion_rate=0.0,
    )
    difference = float(own.mean()) - 0.5
    needed = annotators_for(design, difference, 0.8, design.alpha).annotators
    assert needed is not None
    tastes = better + TASTE * np.sqrt(2) * rng.standard_normal((RUNS, needed, 1))
    first = tastes + spread * rng.standard_normal((RUNS, needed, n_items)) > 0
    tested = stats.ttest_1samp(first.mean(axis=2), 0.5, axis=1)
    seen = float(np.mean((tested.pvalue < design.alpha) & (tested.statistic > 0)))
    answers = share_answers(design.components, n_items, difference)
    assert scale_test(design, answers, design.alpha).with_annotators(needed) == pytest.approx(seen, abs=0.02)
    assert seen == pytest.approx(0.8, abs=0.02)


def test_a_ranking_study_is_planned_and_told_what_it_finds(tmp_path: Path) -> None:
    write_example(tmp_path, "rankings")
    path = tmp_path / "study.toml"
    result = CliRunner().invoke(main, ["plan", str(path), "--json", "--simulations", "300", "--difference", "60"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    (plan,) = said["plans"]
    assert (plan["assumptions"]["n_tests"], plan["assumptions"]["judged"]) == (6, [[4, 1.0]])
    assert [one["truth"] for one in plan["live"]] == ["all differ", "unequal", "one differs"]
    row = plan["rows"][0]
    assert row["shown"] == "60%"
    assert row["alone"]["power"]["value"] == pytest.approx(0.8, abs=0.08)
    found = {one["question"]: one for one in said["conclusions"]}["which system is ranked higher"]
    assert found["answerable"]
    assert f"{row['need']['annotators']} annotators for 60%" in found["change"]
    path.write_text(path.read_text().replace("[ranking]", "[ranking]\nsize = 2"))
    study = load_study(path)
    judged = dict(ranking_design(study, load_outputs(study))["judged"])
    assert sum(judged.values()) == pytest.approx(1)
    assert sum(times * share for times, share in judged.items()) == pytest.approx(4 / 6)  # 4 orders of 2, of 6 pairs
    assert judged[0] > 1 - 4 / 6  # some meet a pair twice


@pytest.mark.parametrize(
    ("sds", "said"),
    [
        (("--sd", "0.5"), "--sd: of rankings expected an SD between annotators above 0 and below 0.5, got 0.5"),
        (("--item-sd", "0.3", "--sd", "0.45"), "above 0 and below 0.4, got 0.45"),
        (
            ("--residual-sd", "0.2"),
            "--residual-sd: expected, of rankings, --sd (between annotators) and --item-sd only",
        ),
    ],
)
def test_ranked_sds_leave_room_for_chance(sds: tuple[str, ...], said: str) -> None:
    """Only sds that leave room for chance are taken of rankings."""
    result = CliRunner().invoke(main, ["plan", "--elicitation", "ranking", "--exposure", "3", *sds])
    assert result.exit_code == 1
    assert said in result.stderr


def test_scores_of_100_are_not_planned(tmp_path: Path) -> None:
    """Scores of 100 are not planned but check says what they answer."""
    write_example(tmp_path, "spans")
    path = tmp_path / "study.toml"
    lines = path.read_text().replace("[spans]", "[continuous]").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(("severities", "categories"))))
    result = CliRunner().invoke(main, ["plan", str(path)])
    assert result.exit_code == 1
    assert (
        "expected a study that asks [spa], [likert], [spans], [ranking] or [choices], got [continuous]" in result.stderr
    )
    for annotators, answerable in ((12, True), (6, False)):
        path.write_text(path.read_text().replace("annotators = 12", f"annotators = {annotators}"))
        checked = json.loads(CliRunner().invoke(main, ["check", str(path), "--json"]).stdout)["conclusions"]
        assert checked[0]["question"] == "which system is rated higher"
        assert checked[0]["answerable"] == answerable


@pytest.mark.parametrize(
    ("case", "dealt", "key"),
    [
        ("plan-dealt-nine-of-six", 9, "per_annotator_9"),
        ("plan-dealt-nine-of-six", 10, "per_annotator_10"),
        ("plan-dealt-nine-of-six", 12, "per_annotator_12"),
        ("plan-ranking-subsets", None, None),
    ],
)
def test_ranked_plan_of_uneven_pairs(tmp_path: Path, case: str, dealt: int | None, key: str | None) -> None:
    """Half of the annotators choose once, half twice; of three systems of six 37% never meet a pair."""
    folder = CASES / case
    if not folder.exists():
        pytest.skip(f"{folder} is not on this machine")
    right = json.loads((folder / "expected.json").read_text())
    for name in ("study.toml", "outputs.jsonl"):
        text = (folder / name).read_text()
        (tmp_path / name).write_text(
            text if dealt is None else text.replace("per_annotator = 9", f"per_annotator = {dealt}")
        )
    (design,) = study_assumptions(tmp_path / "study.toml")[2]
    asked, wanted = right["annotators_for_80"], right.get("power_of_489")
    number = 489
    if key is not None:
        asked, wanted, number = asked[key], right["planned_176_power"][key], 176
    else:
        orders = {int(times): share for times, share in right["orders_of_a_pair"].items()}
        assert dict(design.judged) == pytest.approx(orders, abs=0.02)
        assert design.meets == pytest.approx(right["meets"], abs=0.01)
    needed = annotators_for(design, 0.1, 0.8, design.alpha).annotators
    low, high = (asked, asked) if isinstance(asked, int) else asked
    assert needed is not None
    assert low - 2 <= needed <= high + 2
    assert power_at(design, number, 0.1, design.alpha) == pytest.approx(wanted, abs=0.01 + right["monte_carlo_se"])
