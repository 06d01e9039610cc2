"""Qualtrics: previews, spam and unfinished responses, -99, loops, people who came twice."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from spa.errors import SpaError
from spa.importers import format_of
from spa.importers.answer_format import Fit, ImportRequest
from spa.importers.tables import ImportedTables

HEAD = ("Status", "Finished", "pid", "1_Q1", "2_Q1", "FL_4_DO")
QUESTIONS = 'annotator = "pid"\nquestions = [{ column = "Q1", system = "north" }]\n'


def export(folder: Path, *rows: tuple[str, ...], status: str = "0") -> Path:
    path = folder / "export.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerows([HEAD, HEAD, [f'{{"ImportId":"{name}","timeZone":"America/Denver"}}' for name in HEAD]])
        writer.writerows(rows)
    return path


def read(path: Path, mapping: str = QUESTIONS) -> ImportedTables:
    toml = path.with_name("import.toml")
    toml.write_text(mapping)
    return format_of("qualtrics").read(ImportRequest(paths=(path,), mapping=toml))


def test_responses_of_nobody_leave(tmp_path: Path) -> None:
    """Of a loop each place is an item; -99 and an empty cell are missing; the order of blocks is no answer."""
    path = export(
        tmp_path,
        ("0", "1", "Ana", "4", "-99", "FL_6|FL_5"),
        ("1", "1", "Bo", "1", "1", ""),
        ("8", "1", "Cy", "1", "1", ""),
        ("0", "0", "Di", "1", "1", ""),
        ("0", "1", "Ed", "5", "", ""),
    )
    assert format_of("qualtrics").recognise(path) == Fit.CERTAIN
    found = read(path)
    assert {(row["annotator_id"], row["item_id"]): row["score"] for row in found.rows["ratings"]} == {
        ("Ana", "1"): 4,
        ("Ana", "2"): None,
        ("Ed", "1"): 5,
        ("Ed", "2"): None,
    }
    assert found.skipped == {
        "responses that are a preview (Status 1)": 1,
        "responses that are spam (Status 8)": 1,
        "responses that were not finished (Finished 0)": 1,
    }


def test_exports_with_words(tmp_path: Path) -> None:
    rows = (("IP Address", "True", "Ana", "4", "3", ""), ("Survey Preview", "True", "Bo", "1", "1", ""))
    found = read(export(tmp_path, *rows))
    assert {row["annotator_id"] for row in found.rows["ratings"]} == {"Ana"}
    assert found.skipped == {"responses that are a preview (Status Survey Preview)": 1}


def test_a_mapping_that_names_statuses_is_followed(tmp_path: Path) -> None:
    path = export(tmp_path, ("0", "1", "Ana", "4", "3", ""), ("1", "1", "Bo", "1", "2", ""))
    found = read(path, f'keep = {{ Status = ["0", "1"] }}\n{QUESTIONS}')
    assert {row["annotator_id"] for row in found.rows["ratings"]} == {"Ana", "Bo"}


def test_a_person_twice_is_told(tmp_path: Path) -> None:
    path = export(tmp_path, ("0", "1", "Ana", "4", "3", ""), ("0", "1", "Ana", "5", "3", ""))
    assert "twice: 1 people of column pid gave several responses" in read(path).notes


def test_previews_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpaError, match="Status: expected responses of people, got none"):
        read(export(tmp_path, ("1", "1", "Bo", "1", "1", "")))


def test_responses_given_offline_are_called_so(tmp_path: Path) -> None:
    found = read(export(tmp_path, ("0", "1", "Ana", "4", "3", ""), ("16", "1", "Bo", "1", "1", "")))
    assert found.skipped == {"responses that are given offline (Status 16)": 1}


@pytest.mark.parametrize("wide", [False, True])
def test_exports_with_tabs_and_long_headers(tmp_path: Path, wide: bool) -> None:
    """The TSV export is UTF-16; the texts of many questions fill the second row."""
    path = tmp_path / "export.tsv"
    texts = [f"{name} {'why? ' * 20_000 if wide else ''}" for name in HEAD]
    with path.open("w", newline="", encoding="utf-16") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerows([HEAD, texts, [f'{{"ImportId":"{name}"}}' for name in HEAD]])
        writer.writerows([("0", "1", "Ana", "4", "-99", ""), ("1", "1", "Bo", "1", "1", "")])
    assert format_of("qualtrics").recognise(path) == Fit.CERTAIN
    found = read(path)
    assert {(row["annotator_id"], row["item_id"]): row["score"] for row in found.rows["ratings"]} == {
        ("Ana", "1"): 4,
        ("Ana", "2"): None,
    }
    assert found.skipped == {"responses that are a preview (Status 1)": 1}
