"""A study's store and its exported tables give the same report; what differs is what only the study file knows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from analysis import read_results, read_tables
from analysis.answers.options import Reading
from analysis.results.files import from_plain
from spa.cli import main
from spa.errors import AnalysisError
from tests.analysis.test_metamorphic import differing, figures

pytestmark = pytest.mark.one_process("demo")
OF_THE_STUDY = (".groups.form", ".raters.form", ".headline.problems")  # how forms were drawn; that directions are known
TABLES = ("preferences", "ratings", "choices", "identical_pairs", "annotators", "reading", "exclusions")


def run(*arguments: object) -> str:
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def exported(made_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Return the tables of the demonstration, of which those that nobody answered have a header alone."""
    out = tmp_path_factory.mktemp("exported")
    run("export", made_demo / "study" / "study.toml", "--rehearsal", "--out", out)
    return {name: out / f"{name}.csv" for name in TABLES}


def test_exported_tables_give_the_figures_of_the_store(made_demo: Path, exported: Any) -> None:
    stored = read_results(made_demo / "report" / "results.json")
    given = [(f"--{name.replace('_', '-')}", path) for name, path in exported.items()]
    order = itertools.pairwise(("novelist", "formula", "parrot", "salad"))
    expected = [("--expected", f"{better} > {worse}") for better, worse in order]
    said = run("report", *itertools.chain(*given, *expected), "--seed", stored.settings.seed, "--json")
    found = list(differing(figures(replace(stored, study=None), {}), figures(from_plain(json.loads(said)), {})))
    assert {path for path, _, _ in found} == {*OF_THE_STUDY}


def test_exported_tables_that_nobody_answered_are_refused(exported: Any) -> None:
    with pytest.raises(AnalysisError, match="a header without rows"):
        read_tables({name: exported[name] for name in ("choices", "exclusions")}, Reading())


def test_an_export_given_twice_is_told_in_one_line(exported: Any, tmp_path: Path) -> None:
    copy = tmp_path / "again.csv"
    copy.write_bytes(exported["preferences"].read_bytes())
    with pytest.raises(AnalysisError) as caught:
        read_tables({"preferences": (exported["preferences"], copy)}, Reading())
    [line] = caught.value.problems
    assert "row 2 of" in line
    assert str(copy)[:20] in line
    assert "leave one out" in line
    assert len(line) < 500
