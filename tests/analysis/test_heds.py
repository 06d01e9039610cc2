"""The datasheet: the form's own fields and options, nothing guessed, what is open listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis import analyse
from analysis.answers.study_answers import answers_of
from analysis.heds import datasheets, read_fields
from analysis.heds.form import numbered
from analysis.heds.sheet import open_questions
from spa.cli import main
from spa.commands.workspace import open_workspace
from tests.spa.rehearsed import built_example


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = built_example(tmp_path_factory.mktemp("heds"), annotators=4)
    done = CliRunner().invoke(main, ["simulate", str(path)])
    assert done.exit_code == 0, done.output
    return path


def test_the_fields_are_those_of_the_form(shared_data: Path) -> None:
    form = json.loads((shared_data.parent / "reference" / "heds3_fields.json").read_text())
    ours = [(field.number, field.name, field.kind, list(field.options)) for field in read_fields()]
    assert ours == [(row["number"], row["field"], row["kind"], row.get("options") or []) for row in form]


def test_every_value_fits_its_field_and_what_is_empty_is_listed(study: Path) -> None:
    with open_workspace(study, read_only=True) as workspace:
        found = answers_of(workspace)
        sheets = datasheets(workspace, analyse(found.tables, found.plan, study=found.facts))
    assert [sheet.criterion for sheet in sheets][:2] == ["overall (spa)", "overall (likert)"]
    for sheet in sheets:
        assert list(sheet.values) == [field.name for field in read_fields()]
        open_numbers = {field.number for field in sheet.left_open}
        for field in read_fields():
            value = sheet.values[field.name]
            if field.kind == "radio":
                assert value == "" or value in field.options
            if field.kind == "checkbox":
                assert value in (True, False, "")
            assert (value == "") == (field.number in open_numbers)
    first = sheets[0].values
    assert first[numbered("4.2.2").name] == "2. Relative"
    assert sheets[1].values[numbered("4.2.2").name] == "1. Absolute"
    assert first[numbered("3.2.1").name] == "4"
    assert first[numbered("3.2.2.2").name] == ""  # simulated annotators are not paid
    assert first[numbered("1.3.1.3").name] == ""
    assert "1.3.1.3\t" in open_questions(sheets)
