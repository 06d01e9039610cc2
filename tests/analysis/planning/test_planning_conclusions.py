"""What a study can answer: each minimum reached and missed, and the same verdict in the analysis."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from analysis.comparisons.equivalence import two_one_sided
from analysis.planning.power import equivalence_power
from spa.cli import main
from spa.commands.init import write_example

PREFERRED, RATED = "which system is preferred", "which system is rated higher"
EQUAL, CONSISTENT = "that two systems are equally preferred", "whether annotators are consistent with themselves"
AGREE, CROSSED = "whether annotators agree", "whether other annotators, on other items, would find the same"
STAND_IN = "whether an LLM can replace annotators"

pytestmark = pytest.mark.one_process("demo")  # it is made once, and so are the draws for its plan


def conclusions(command: str = "check", **changes: str) -> dict[str, dict[str, Any]]:
    """Return the conclusions of the stories with lines of the study file exchanged."""
    return concluded(command, tuple(changes.items()))


@cache
def concluded(command: str, changes: tuple[tuple[str, str], ...]) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        write_example(Path(folder), "demo")
        path = Path(folder) / "study.toml"
        lines = path.read_text(encoding="utf-8").splitlines()
        for key, value in changes:
            keys = [line.split(" = ")[0] for line in lines]
            lines[keys.index(key if key in keys else f"# {key}")] = f"{key} = {value}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        result = CliRunner().invoke(main, [command, str(path), "--json"])
    assert result.exit_code == 0, result.output
    return {one["question"]: one for one in json.loads(result.stdout)["conclusions"]}


def test_check_and_plan_say_the_same() -> None:
    assert conclusions() == conclusions("plan")


def test_the_default_study_can_tell_whether_an_llm_may_stand_in() -> None:
    found = conclusions()
    assert found[STAND_IN]["answerable"]
    assert found[STAND_IN]["reason"].startswith("24 annotators share 30 rated items or more")
    assert [found[name]["answerable"] for name in (PREFERRED, RATED, CONSISTENT, AGREE)] == [True] * 4


@pytest.mark.parametrize(
    ("changes", "question", "reason", "change"),
    [
        ({"same_items": "true"}, STAND_IN, "0 annotators share 30", "3 annotators who each rate 30 items"),
        ({"annotators": "2"}, STAND_IN, "0 annotators share 30", "3 annotators who each rate 30 items"),
        ({"annotators": "1"}, AGREE, "0 outputs rated by 2", "more annotators"),
        ({"annotators": "1"}, PREFERRED, "fewer than 2 annotators", "128 annotators for 60%"),
        ({"directions": '"one"'}, CONSISTENT, "one direction of each pair", '[spa] directions = "both"'),
        ({}, CROSSED, "no annotator rates", "3 annotators and 3 items a pair"),
        ({"equivalence_margin": "0.05"}, EQUAL, "in 0% of such studies", "a wider margin"),
        ({}, EQUAL, "no margin", "[analysis] equivalence_margin"),
    ],
)
def test_what_cannot_be_answered_has_a_reason_and_a_remedy(
    changes: dict[str, str], question: str, reason: str, change: str
) -> None:
    found = conclusions(**changes)[question]
    assert not found["answerable"]
    assert reason in found["reason"]
    assert change in found["change"]


@pytest.mark.parametrize(
    ("changes", "question"),
    [
        ({"same_items": "true"}, CROSSED),
        ({"equivalence_margin": "0.3"}, EQUAL),
        ({"annotators": "6"}, RATED),
        ({"annotators": "6", "same_items": "true"}, RATED),
    ],
)
def test_the_remedy_helps(changes: dict[str, str], question: str) -> None:
    assert conclusions(**changes)[question]["answerable"]


@pytest.mark.parametrize(("effect", "n", "alpha"), [(0.5, 60, 0.05), (0.5, 40, 0.05), (0.3, 150, 0.01)])
def test_the_power_to_show_equality_is_that_of_simulated_studies(effect: float, n: int, alpha: float) -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((4000, n))
    means, errors = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(n)
    p_values = [
        two_one_sided(mean, se=se, df=n - 1, margin=effect).p_value
        for mean, se in zip(means.tolist(), errors.tolist(), strict=True)
    ]
    seen = float(np.mean(np.array(p_values) <= alpha))
    assert equivalence_power(effect, n, alpha=alpha) == pytest.approx(seen, abs=4 * np.sqrt(seen * (1 - seen) / 4000))


@pytest.mark.parametrize("example", ["demo", "ethayarajh-jurafsky"])
def test_the_analysis_decides_what_was_said_to_be_answerable(tmp_path: Path, made_demo: Path, example: str) -> None:
    runner, demo = CliRunner(), made_demo
    if example != "demo":
        demo = tmp_path / "demo"
        done = runner.invoke(main, ["demo", "--example", example, "--out", str(demo)])
        assert done.exit_code == 0, done.output
    found = json.loads((demo / "report" / "results.json").read_text(encoding="utf-8"))
    study = demo / "study" / "study.toml"
    checked = json.loads(runner.invoke(main, ["check", str(study), "--json"]).stdout)
    promised = {one["question"]: one["answerable"] for one in checked["conclusions"]}
    rows = found["llm_vs_people"]["alternative_annotator"]
    pairs = [row for row in found["ratings"]["pairs"] if row["group"] == "simulated"]
    assert promised[STAND_IN] == all(row["passes"] is not None for row in rows) == (example == "demo")
    assert promised[CROSSED] == all(row["p_crossed"] is not None for row in pairs) == (example != "demo")
    if example == "demo":
        (order,) = (
            row["order"] for row in found["rankings"] if (row["source"], row["group"]) == ("preferences", "simulated")
        )
        assert order == [["novelist"], ["formula"], ["parrot"], ["salad"]]
