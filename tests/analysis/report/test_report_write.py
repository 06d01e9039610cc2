"""Writing the report: the same bytes, all or nothing, one line when it cannot be done."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from analysis import Results, report
from analysis.report.files import write_results
from analysis.results.files import from_plain, to_json
from spa.errors import AnalysisError
from tests.analysis.made_answers import render_report, write_report
from tests.analysis.sample_results import full_results, pair_results


def test_the_same_results_give_the_same_bytes():
    assert render_report(full_results()) == render_report(full_results())


def test_results_are_left_as_they_were():
    results = full_results()
    render_report(results)
    assert results == full_results()


def test_every_named_file_is_written_and_nothing_else(tmp_path: Path):
    written = write_report(pair_results(), tmp_path / "new" / "report")
    found = {path for path in (tmp_path / "new" / "report").rglob("*") if path.is_file()}
    assert set(written) == found
    assert {path.name for path in written} >= {"report.html", "report.md", "preferences.svg", "preferences.tex"}


@pytest.mark.parametrize("write", [report.write_report, write_results])
def test_written_files_hold_what_was_rendered(tmp_path: Path, write: Callable[[Results, Path], list[Path]]) -> None:
    results = from_plain(full_results())
    rendered = {tmp_path / name: text for name, text in report.render_report(results).items()}
    rendered |= {path: to_json(results) for path in write(results, tmp_path) if path.name == "results.json"}
    assert {path: path.read_text(encoding="utf-8") for path in rendered} == rendered
    assert all(text.strip() for text in rendered.values())
    assert [len(re.findall("<html", rendered[tmp_path / f"{name}.html"])) for name in ("report", "appendix")] == [1, 1]


def test_a_second_report_replaces_the_first(tmp_path: Path):
    write_report(full_results(), tmp_path)
    write_report(pair_results(), tmp_path)
    assert "Which output was chosen" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made_is_told_in_one_line(tmp_path: Path):
    (tmp_path / "report").write_text("a file stands here")
    with pytest.raises(AnalysisError, match="choose another folder") as told:
        write_report(pair_results(), tmp_path / "report")
    assert len(told.value.problems) == 1


def test_a_broken_result_writes_nothing(tmp_path: Path):
    results = pair_results()
    del results["preferences"][0]["system_x"]
    with pytest.raises(ValidationError):
        write_report(results, tmp_path / "report")
    assert not (tmp_path / "report").exists()
