"""``spa plan``: numbers, words, files and one line a mistake."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from analysis.commands.plan import plan
from analysis.planning.plan import annotators_for, detectable
from analysis.planning.solve import annotators_needed
from analysis.planning.unpaired import unpaired_test

FEWER = cache(unpaired_test.__wrapped__)  # other tests of the process see none of these draws


@pytest.fixture(autouse=True)
def few_studies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Simulate few live studies, whose numbers are tested elsewhere."""
    monkeypatch.setattr("analysis.planning.study_design.STUDIES", 40)
    monkeypatch.setattr("analysis.planning.unpaired.LAYOUTS", 10)
    monkeypatch.setattr("analysis.planning.engines.unpaired_test", FEWER)
    yield
    for found in (annotators_for, detectable):
        found.cache_clear()  # nor what was found with them


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from spa.commands.init import write_example

    folder = tmp_path_factory.mktemp("plan") / "study"
    write_example(folder, "demo")
    return folder / "study.toml"


def run(*arguments: str) -> Result:
    from spa.errors import SpaError

    result = CliRunner().invoke(plan, [str(one) for one in arguments])
    if result.exception and not isinstance(result.exception, SpaError | SystemExit):
        raise result.exception
    return result


def planned(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_a_study_gives_family_directions_pay_and_annotators(study: Path):
    spa, likert = planned(str(study), "--simulations", "50")["plans"]
    assumptions = spa["assumptions"]
    assert (assumptions["n_tests"], assumptions["n_items"], assumptions["directions"]) == (6, 8, 2)
    assert (assumptions["pay"], assumptions["currency"], assumptions["pool"]) == ("5.00", "GBP", 36)
    assert {row["annotators"] for row in spa["detectable"]} == {24}
    assert (likert["assumptions"]["n_tests"], likert["assumptions"]["n_items"]) == (6, 8)
    assert [row["annotators"] for row in likert["items_floor"]] == [36, 36]
    assert spa["items_floor"] == []


def test_ratings_planned_over_corrected_pairs(study: Path, tmp_path: Path):
    """Ratings are planned over the pairs that the report corrects."""
    text = study.read_text()
    pairs = text.replace('comparisons = "all"', 'comparisons = [["parrot", "salad"], ["novelist", "parrot"]]', 1)
    assert pairs != text
    for folder, own in (("pairs", pairs), ("usual", text)):
        shutil.copytree(study.parent, tmp_path / folder)
        (tmp_path / folder / "study.toml").write_text(own)
    found = [
        planned(str(tmp_path / folder / "study.toml"), "--elicitation", "likert", "--simulations", "0")["plans"][0]
        for folder in ("pairs", "usual")
    ]
    assert [one["assumptions"]["n_tests"] for one in found] == [2, 6]


def test_annotators_and_cost_are_those_of_the_whole_family(study: Path):
    found = planned(str(study), "--elicitation", "spa", "--difference", "60", "--power", "0.8")["plans"][0]["rows"][0]
    for name, alpha in (("need", 0.05 / 6), ("lone", 0.05)):
        by_formula = annotators_needed(0.1, sd=0.3, alpha=alpha, exclusion_rate=0.1).annotators
        assert found[name]["annotators"] == pytest.approx(by_formula, abs=3)
    need = found["need"]
    assert need["reached"] >= 0.8
    assert Decimal(found["cost"]) == Decimal("5.00") * need["annotators"]
    assert found["shown"] == "60%"
    drawn = found["alone"]["power"]
    assert drawn["value"] == pytest.approx(need["reached"], abs=4 * drawn["standard_error"] + 0.001)
    assert found["together"]["power"]["value"] > drawn["value"]


def test_a_budget_buys_annotators():
    found = planned("--pairs", "5", "--pay", "3.50", "--budget", "100", "--simulations", "0")["plans"][0]
    assert [row["annotators"] for row in found["detectable"]] == [28, 28]
    assert found["detectable"][0]["difference"] < found["detectable"][1]["difference"]


def test_one_sd_alone_is_that_of_the_whole_contribution():
    common = ("--elicitation", "likert", "--simulations", "0", "--exposure", "4")
    assert planned(*common, "--sd", "1.1")["plans"][0]["assumptions"]["sd"] == 1.1
    split = planned(*common, "--sd", "1", "--item-sd", "0.6", "--residual-sd", "0.8")["plans"][0]
    assert split["assumptions"]["sd"] == pytest.approx((1 + (0.36 + 0.64) / 4) ** 0.5)


def test_directions_reduce_only_what_differs_between_answers():
    common = ("--simulations", "0", "--sd", "0.2", "--answer-sd", "0.2")
    one, both = (planned(*common, "--directions", word)["plans"][0]["assumptions"]["sd"] for word in ("one", "both"))
    assert (one, both) == pytest.approx((0.08**0.5, 0.06**0.5))


def test_the_same_seed_prints_the_same_plan(study: Path):
    first, again = (run(str(study), "--power", "0.8", "--simulations", "50", "--seed", "3").output for _ in range(2))
    assert first == again


def test_what_is_assumed_is_said(study: Path):
    shown = run(str(study), "--simulations", "50").output
    for said in ("is an assumption", "worst case", "excluded at random", "need not be a preference", "clustered t"):
        assert said in shown


def test_curves_are_a_figure_and_a_table_with_its_numbers(tmp_path: Path):
    found = planned("--pairs", "3", "--simulations", "0", "--out", str(tmp_path / "plan"))
    assert found["written"] == [str(tmp_path / "plan" / f"power-spa.{suffix}") for suffix in ("svg", "csv")]
    svg = (tmp_path / "plan" / "power-spa.svg").read_text()
    shown = [node.text or "" for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "preferred by 60%" in shown
    assert "annotators recruited" in shown
    rows = list(csv.DictReader(io.StringIO((tmp_path / "plan" / "power-spa.csv").read_text())))
    curve = found["plans"][0]["curve"]
    assert [float(row["power"]) for row in rows] == pytest.approx([point["power"] for point in curve], abs=1e-6)
    for shown_as in ("55%", "60%", "65%"):
        own = [float(row["power"]) for row in rows if row["shown"] == shown_as]
        assert all(later > earlier - 0.005 for earlier, later in pairwise(own))


def test_what_cannot_be_found_or_drawn_has_its_reason():
    found = planned("--difference", "95", "--sd", "0.499", "--power", "0.8")["plans"][0]["rows"][0]
    assert found["alone"] is None
    assert found["reason"].startswith("no answers between 0 and 1")
    tiny = run("--difference", "50.01", "--exclusion-rate", "0.9", "--simulations", "0")
    assert "50.01%: more than 1,000,000 annotators." in tiny.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--difference", "0.6"], "percent above 50 and below 100"),
        (["--difference", "nan"], "percent above 50 and below 100"),
        (["--elicitation", "likert", "--difference", "4"], "below 4 points"),
        (["--sd", "30"], "at most 0.5"),
        (["--sd", "0"], "above 0"),
        (["--budget", "10"], "add --pay"),
        (["--budget", "10", "--pay", "1", "--annotators", "4"], "either --budget or --annotators"),
        (["--power", "0.04"], "more than the error rate"),
        (["STUDY", "--pairs", "3"], "the study file sets it"),
        (["STUDY", "--sd", "0.2"], "add --elicitation"),
        (["nowhere.toml"], "no such file"),
    ],
)
def test_a_mistake_is_told_in_one_line(study: Path, arguments: list[str], told: str):
    result = run(*(str(study) if one == "STUDY" else one for one in arguments))
    assert result.exit_code == 1
    assert told in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize(
    "arguments", [["--pay", "-1"], ["--pay", "x"], ["--fwer", "1"], ["--sd", "nan"], ["--pairs", "0"]]
)
def test_wrong_usage_ends_with_2(arguments: list[str]):
    assert run(*arguments).exit_code == 2


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    result = run("--simulations", "0", "--out", str(tmp_path / "file" / "plan"))
    assert "choose another --out" in str(result.exception)
