"""The datasheet: the form's own fields and options, nothing guessed, what is open listed."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis import analyse
from analysis.answers.study_answers import answers_of
from analysis.heds import answers, datasheets, read_fields
from analysis.heds.form import numbered, read_questions
from analysis.heds.sheet import open_questions
from spa.cli import main
from spa.commands.workspace import open_workspace
from tests.spa.rehearsed import built_example, spa


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = built_example(tmp_path_factory.mktemp("heds"), annotators=4)
    done = CliRunner().invoke(main, ["simulate", str(path)])
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture(scope="module")
def sheets(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sheets of the study, to be copied."""
    folder = tmp_path_factory.mktemp("sheets")
    spa("heds", study, "--out", folder)
    return folder


def test_the_fields_are_those_of_the_form(shared_data: Path) -> None:
    form = json.loads((shared_data.parent / "reference" / "heds3_fields.json").read_text())
    ours = [(field.number, field.name, field.kind, list(field.options)) for field in read_fields()]
    assert ours == [(row["number"], row["field"], row["kind"], row.get("options") or []) for row in form]


def test_every_value_fits_its_field_and_what_is_empty_is_listed(study: Path) -> None:
    with open_workspace(study, rehearsal=True, read_only=True) as workspace:
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


def test_heds_questions_and_evidence(study: Path) -> None:
    """Every question is worded and what the study may answer names its evidence."""
    questions = {question.number: question for question in read_questions()}
    assert list(questions) == list(dict.fromkeys(field.number for field in read_fields()))
    source = Path(inspect.getfile(answers)).read_text()
    answered = set(re.findall(r'\("([\d.]+)", (?:None|\d+)\)|\["([\d.]+)", (?:None|\d+|number)\]', source))
    assert {"".join(found) for found in answered} == {number for number, each in questions.items() if each.evidence}


def test_heds_document_equals_its_json(study: Path, tmp_path: Path) -> None:
    """The document says what the JSON says and marks what is open."""
    spa("heds", study, "--out", tmp_path)
    markdown, html = (tmp_path / "heds.md").read_text(), (tmp_path / "heds.html").read_text()
    sheets = [json.loads(path.read_text()) for path in tmp_path.glob("heds-*__*.json")]
    still_open = [
        field.number for field in read_fields() if not field.of_criterion and all(s[field.name] == "" for s in sheets)
    ]
    assert "1.3.1.3" in still_open
    assert markdown.count("**To be filled in") >= len(set(still_open))
    for text in (markdown, html):
        assert "How many evaluators took part?" in text
        assert "completed visits in the store" in text
        assert "5. By manual selection aimed at achieving balance" in text
        assert text.count("Which type of quality does the criterion assess?") == len(sheets)
    assert "- [x] 2. Relative" in markdown


def edit(path: Path, place: str, new: str) -> None:
    """Replace what stands between the two comments of an answer."""
    before, start, rest = path.read_text().partition(f"<!-- answer {place} -->\n")
    assert start
    path.write_text(before + start + new + "\n<!-- end -->" + rest.partition("<!-- end -->")[2])


def test_heds_keeps_what_was_filled_in(study: Path, tmp_path: Path) -> None:
    """What a person fills in is kept and copied and the study goes on."""
    copied = Path(shutil.copytree(study.parent, tmp_path / "copied")) / study.name
    out, reader = tmp_path / "out", numbered("1.3.1.1").name
    spa("heds", copied, "--out", out)
    document, sheet = out / "heds.md", next(out.glob("heds-overall__spa*.json"))
    edit(document, "1.3.1.1", "**To be filled in**\nAna <b>R&D</b>, *PhD*")
    edit(document, "3.2.2.3", "- [x] 2. No, we asked them\n- [ ] 1. Yes")
    edit(document, "3.3.2", "> On paper")
    document.write_text(document.read_text() + "\nA note of our own.\n")
    values = json.loads(sheet.read_text())
    sheet.write_text(json.dumps({**values, numbered("5.1").name: "The review board"}))
    with sqlite3.connect(copied.with_suffix(".rehearsal.sqlite")) as connection:
        connection.execute("UPDATE submissions SET outcome = NULL WHERE number = (SELECT max(number) FROM submissions)")
    connection.close()
    for _ in range(2):  # and once more, after our own writing
        shown = spa("heds", copied, "--out", out).output
        assert "3.3.2: kept 'On paper', which was filled in; the study says \"A web form" in shown
        for path in out.glob("heds-o*__*.json"):
            values = json.loads(path.read_text())
            assert values[reader] == "Ana <b>R&D</b>, *PhD*"
            assert values[numbered("3.2.2.3").name] == "2. No"
            assert values[numbered("5.1").name] == "The review board"
            assert values[numbered("3.2.1").name] == "3"  # nobody touched it: the study's new answer
        text = document.read_text()
        assert "-->\nAna <b>R&D</b>, *PhD*\n<!-- end -->" in text
        assert "- [x] 2. No, we asked them" in text
        assert "> The review board\n\n*Evidence: filled in by hand*" in text
        assert text.endswith("\nA note of our own.\n")
        assert "Ana &lt;b&gt;R&amp;D&lt;/b&gt;" in (out / "heds.html").read_text()


@pytest.mark.parametrize(
    ("place", "new", "told"),
    [
        ("3.2.2.3", "- [x] 1. Yes\n- [x] 2. No", "expected one of the form's options (1 to 3), got 2 options"),
        ("3.2.2.3", "- [x] 9. Perhaps", "got option 9"),
        ("1.3.1.1", "Ben", "1.3.1.1: expected one answer, got heds.md 'Ben', heds-overall__spa-5931.json 'Ana'"),
        ("1.3.1.1", "<!-- end -->\n<!-- answer 1.3.1.2 -->", "expected each answer once between the comments"),
    ],
)
def test_heds_refuses_what_cannot_be_taken_over(
    study: Path, sheets: Path, tmp_path: Path, place: str, new: str, told: str
) -> None:
    """What cannot be taken over is refused and nothing is written."""
    shutil.copytree(sheets, tmp_path, dirs_exist_ok=True)
    sheet = tmp_path / "heds-overall__spa-5931.json"
    sheet.write_text(json.dumps({**json.loads(sheet.read_text()), numbered("1.3.1.1").name: "Ana"}))
    edit(tmp_path / "heds.md", place, new)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = CliRunner().invoke(main, ["heds", str(study), "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert told in done.output
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
