"""MQM: weights by name, marks in source and target, quotes, and the files of mt-metrics-eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spa.importers.foreign import problem, read

HEADER = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata\t# a comment"


def table(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def row(category: str, severity: str, target: str = "A <v>b</v> c", source: str = "Ein b", system: str = "m") -> str:
    return f"{system}\td1\t1\t1\tr1\t{source}\t{target}\t{category}\t{severity}\t{{}}"


def weights(path: Path, **options: Any) -> list[float | None]:
    return [one.get("weight") for one in read("mqm", path, **options).rows["spans"]]


def test_named_weights(tmp_path: Path) -> None:
    """Freitag et al. (2021), Table 1: major 5, minor 1, minor punctuation 0.1, non-translation 25; neutral 0."""
    path = table(
        tmp_path / "a.tsv",
        row("Accuracy/Mistranslation", "Major"),
        row("Style/Awkward", "Minor"),
        row("Fluency/Punctuation", "Minor"),
        row("Fluency/Punctuation", "Major"),
        row("Non-translation!", "Major"),
        row("Style/Awkward", "Neutral"),
    )
    assert weights(path) == [5, 1, 0.1, 5, 25, 0]
    for name in ("google", "wmt23", "ted21"):
        assert weights(path, weights=name) == [5, 1, 0.1, 5, 25, 0]


def test_categories_that_weigh_otherwise_are_asked_about(tmp_path: Path) -> None:
    path = table(
        tmp_path / "a.tsv",
        row("Source issue", "Major"),
        row("Accuracy/Creative Reinterpretation", "Minor"),
        row("Source error", "Minor"),
    )
    line = problem("mqm", path)
    assert "--weights: expected google, wmt23, ted21" in line
    assert "1 of 'Source issue'" in line
    assert weights(path, weights="google") == [5, 1, 0]
    assert weights(path, weights="wmt23") == [0, 0, 0]
    assert weights(path, weights="ted21") == [5, 1, 1]


def test_a_severity_without_weight_is_never_nothing(tmp_path: Path) -> None:
    path = table(tmp_path / "a.tsv", row("Style", "Critical"))
    line = problem("mqm", path)
    assert "line 2: expected a severity with a weight, got 'Critical'" in line
    assert "--severity-weight Critical=25" in line
    assert weights(path, more={"Critical": 10.0}) == [10.0]


def test_planted_errors_and_clean_rows(tmp_path: Path) -> None:
    """Planted errors leave, counted; a row of no error gives way to errors of the same answer."""
    path = table(
        tmp_path / "a.tsv",
        row("No-error", "No-error", "A b c"),
        row("Style", "Minor"),
        row("Missed", "HOTW-test", "A b c"),
        row("No-error", "no-error", "A b c", system="n"),
    )
    found = read("mqm", path)
    assert [(one["system"], one.get("severity"), one.get("reason")) for one in found.rows["spans"]] == [
        ("m", "Minor", None),
        ("n", None, "no errors"),
    ]
    assert found.skipped == {
        "rows of planted errors (HOTW-test)": 1,
        "No-error rows beside errors of the same answer": 1,
    }


@pytest.mark.parametrize(
    ("target", "source", "category", "place"),
    [
        ("A <v>b</v> c", "x", "Style", (2, 3, "b", None, 5)),
        ("A <v>b c", "x", "Style", (2, 5, "b c", None, 5)),  # never closed: to the end
        ("A<v> </v>b", "x", "Style", (1, 2, " ", None, 3)),
        ("A b c", "Ein <v>b</v>", "Accuracy/Omission", (None, None, None, "omission", 5)),
        ("A b c", "Ein <v>b</v>", "Source error", (None, None, None, "in the source", 5)),
        ("A b c", "Ein b", "Style", (None, None, None, "no place marked", 5)),
    ],
)
def test_places(target: str, source: str, category: str, place: tuple[Any, ...], tmp_path: Path) -> None:
    (one,) = read("mqm", table(tmp_path / "a.tsv", row(category, "Minor", target, source)), weights="ted21").rows[
        "spans"
    ]
    assert tuple(one.get(name) for name in ("start", "end", "text", "reason", "characters")) == place


def test_quotes_enclose_a_cell_or_are_text(tmp_path: Path) -> None:
    quoted = row("Style", "Minor", '"""Why,"" she <v>ask</v>."')
    plain = row("Style", "Minor", '"Why," she <v>ask</v>.')
    found = [read("mqm", table(tmp_path / "a.tsv", one)).rows["spans"][0] for one in (quoted, plain)]
    assert found[0] == found[1]
    assert (found[0]["start"], found[0]["end"], found[0]["characters"]) == (11, 14, 15)


def test_scores_of_mt_metrics_eval(tmp_path: Path) -> None:
    """Items are the lines of a system, counted for each; nobody is named."""
    path = tmp_path / "en-de.mqm.seg.score"
    path.write_text("a\t-1.5\na\tNone\nb\t0\nb\t-25\n")
    found = read("mqm", path).rows["ratings"]
    assert [(one["item_id"], one["system"], one["score"]) for one in found] == [
        ("1", "a", -1.5),
        ("2", "a", None),
        ("1", "b", 0.0),
        ("2", "b", -25.0),
    ]
    assert {one["annotator_id"] for one in found} == {"unnamed people"}
    assert {one["criterion"] for one in found} == {"mqm"}
    path.write_text("a\tgood\n")
    assert "line 1, score: expected a number, got 'good'" in problem("mqm", path)


def test_ratings_of_mt_metrics_eval(tmp_path: Path) -> None:
    """Ends are excluded; an error in the source has no place there; the score of the file counts."""
    errors = [
        {"start": 2, "end": 5, "category": "Style", "severity": "minor", "score": -0.1, "is_source_error": False},
        {"start": 0, "end": 3, "category": "Omission", "severity": "major", "score": None, "is_source_error": True},
    ]
    path = tmp_path / "en-de.mqm.seg.rating"
    path.write_text(f"a\t{json.dumps({'errors': errors})}\tr1\na\tNone\na\t{json.dumps({'errors': []})}\tr2\n")
    found = read("mqm", path)
    assert [
        (one["annotator_id"], one["item_id"], one.get("start"), one.get("end"), one.get("weight"), one.get("reason"))
        for one in found.rows["spans"]
    ] == [
        ("r1", "1", 2, 5, 0.1, None),
        ("r1", "1", None, None, 5.0, "omission"),
        ("r2", "3", None, None, None, "no errors"),
    ]
    assert found.skipped == {"segments without a rating (None)": 1}


def test_what_is_no_table_of_mqm_is_one_line(tmp_path: Path) -> None:
    assert "expected a tab-separated column system" in problem("mqm", table(tmp_path / "a.tsv", header="a\tb"))
    short = table(tmp_path / "b.tsv", "m\td1\t1")
    assert "line 2: expected at least 9 cells, got 3" in problem("mqm", short)
    empty = tmp_path / "c.tsv"
    empty.write_text("")
    assert "got an empty file" in problem("mqm", empty)
    assert "line 2: expected rater, got an empty cell" in problem(
        "mqm", table(tmp_path / "d.tsv", row("a", "Minor").replace("r1", ""))
    )
