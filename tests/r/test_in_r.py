"""What the page "In R" finds in exported tables is what the report says; R itself runs where it is installed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.r.__main__ import PAGE, found_by_r
from tests.r.made_tables import figures, write_made

GOLDEN = Path(__file__).parents[1] / "golden" / "in_r.json"
PACKAGES = ("BradleyTerry2", "clubSandwich", "knitr", "lme4", "ordinal")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("in_r")
    write_made(made)
    return made


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


def test_figures_of_r_are_the_reports(folder: Path, golden: dict[str, Any]) -> None:
    """Strengths and their CR2 errors to 1e-6, as glm stops there; tests and Holm to nine digits."""
    own = figures(folder)
    for kind, by_name in own.items():
        near = {"abs": 1e-6} if kind.startswith("strength") else {"rel": 1e-8}
        for name, values in by_name.items():
            assert golden[kind][name] == pytest.approx(values, **near), (kind, name)
    assert {kind: set(golden[kind]) for kind in own if kind != "win_rate"} == {
        kind: set(by_name) for kind, by_name in own.items() if kind != "win_rate"
    }


def test_a_missing_winner_is_no_win_of_y(golden: dict[str, Any]) -> None:
    """Read without na.strings = "", every missing choice counts as lost by x."""
    right, answered = golden["win_rate"]["read_right"]
    wrong, rows = golden["win_rate"]["without_na_strings"]
    assert answered < rows
    assert wrong == pytest.approx(right * answered / rows)


def test_mixed_models_are_a_view_beside(folder: Path, golden: dict[str, Any]) -> None:
    """Of complete ratings lmer has the same differences; clmm the same order on its own scale."""
    differences = {name: -values[0] for name, values in figures(folder)["paired_t"].items()}
    assert golden["lmer"]["beta"] == pytest.approx([differences["alpha beta"]])
    assert golden["lmer"]["gamma"] == pytest.approx([differences["alpha gamma"]])
    assert 0 < golden["clmm"]["beta"][0] < golden["clmm"]["gamma"][0]


def test_every_read_of_the_page_names_what_is_missing() -> None:
    text = PAGE.read_text(encoding="utf-8")
    reads = re.findall(r"read\.(?:csv|delim)\((.*)\)\n", text)
    assert len(reads) == 2
    for read in reads:
        assert {'na.strings = ""', "colClasses =", "check.names = FALSE"} <= {
            wanted for wanted in ('na.strings = ""', "colClasses =", "check.names = FALSE") if wanted in read
        }
    assert max(map(len, text.splitlines())) <= 130


def test_r_finds_the_same_again(folder: Path, golden: dict[str, Any]) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (Debian: r-base-core)")
    try:
        found = found_by_r(folder)
    except RuntimeError as error:
        if "there is no package" in str(error):
            pytest.skip(f"R lacks one of {', '.join(PACKAGES)}")
        raise
    for kind in golden.keys() - {"version"}:
        for name, values in golden[kind].items():
            assert found[kind][name] == pytest.approx(values, rel=1e-4, abs=1e-6), (kind, name)
