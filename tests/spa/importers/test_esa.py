"""ESA: what leaves an export of Appraise, resets and corrections of Pearmut, ends that are inside a mark."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from spa.importers import format_of
from spa.importers.answer_format import Fit
from tests.spa.importers.foreign import json_file, lines_file, problem, read


def mark(start: object, end: object, severity: str | None = "minor", **more: Any) -> dict[str, Any]:
    return {"start_i": start, "end_i": end, "severity": severity, **more}


def appraise(path: Path, *rows: tuple[Any, ...]) -> Path:
    """Write rows of user, system, itemID, type, score, documentID, spans and when it ended."""
    with path.open("w", newline="") as file:
        for user, system, at, kind, score, document, spans, end in rows:
            cells = (user, system, at, kind, "eng", "deu", score, document, "False", json.dumps(spans), end - 9.5, end)
            csv.writer(file).writerow(cells)
    return path


def test_what_leaves_an_export_of_appraise(tmp_path: Path) -> None:
    """Items are documents and samples the places in them, whatever the place in a batch."""
    path = appraise(
        tmp_path / "scores.csv",
        ("u1", "a", 14, "TGT", 70, "news1#a", [], 99.5),
        ("u1", "a", 13, "TGT", 60, "news1#a", [], 99.5),
        ("u1", "a", 12, "BAD", 1, "news1#a#bad1", [], 99.5),
        ("u1", "a", 11, "TGT", 5, "news1#a#duplicate1", [], 99.5),
        ("u1", "ende-tutorial1", 1, "TGT", 100, "ende-tutorial1", [], 99.5),
        ("u2", "a", 4, "TGT", 50, "news1#a", [], 99.5),
        ("u2", "a", 3, "TGT", 40, "news1#a", [], 99.5),
        ("u2", "a", 3, "TGT", 45, "news1#a", [], 100.5),
    )
    found = read("esa", path)
    assert {
        (row["annotator_id"], row["item_id"], row["sample"], row["system"]): row["score"]
        for row in found.rows["ratings"]
    } == {
        ("u1", "news1", "1", "a"): 60,
        ("u1", "news1", "2", "a"): 70,
        ("u2", "news1", "1", "a"): 45,
        ("u2", "news1", "2", "a"): 50,
    }
    assert found.skipped == {
        "BAD rows (attention checks)": 1,
        "rows that fill a batch (#duplicate)": 1,
        "tutorial rows": 1,
        "earlier answers about the same segment": 1,
    }


def test_marks_of_appraise(tmp_path: Path) -> None:
    """Ends are inside; "missing" is an omission; "undecided" weighs nothing; types of an error may be a list."""
    marks = [
        mark(0, 0, "minor", error_type=None),
        mark(4, 9, "major"),
        mark("missing", "missing", "major", error_type=["Accuracy", "Omission"]),
        mark(2, 5, "undecided"),
    ]
    path = appraise(
        tmp_path / "s.csv", ("u", "a", 1, "TGT", 7, "n#a", marks, 9.5), ("u", "a", 2, "TGT", 8, "n#a", [], 9.5)
    )
    spans = read("esa", path).rows["spans"]
    names = ("start", "end", "severity", "weight", "category", "reason")
    assert [tuple(row.get(name) for name in names) for row in spans] == [
        (0, 1, "minor", 1, None, None),
        (4, 10, "major", 5, None, None),
        (None, None, "major", 5, "Accuracy/Omission", "omission"),
        (2, 6, "undecided", 0, None, None),
        (None, None, None, None, None, "no errors"),
    ]


def batch(*items: tuple[int, str, str, str, str]) -> dict[str, Any]:
    """Return a batch of place, system, document, source and text."""
    names = ("itemID", "targetID", "documentID", "sourceText", "targetText")
    return {"items": [{**dict(zip(names, item, strict=True)), "itemType": "TGT"} for item in items], "task": {}}


def test_segments_of_appraise_are_those_of_its_batches(tmp_path: Path) -> None:
    """Segments may be shuffled, so that places differ between systems: the source says which is which."""
    path = appraise(
        tmp_path / "scores.csv",
        ("u1", "a", 7, "TGT", 60, "news1#a", [mark(0, 2)], 99.5),
        ("u1", "a", 8, "TGT", 70, "news1#a", [mark("missing", "missing")], 99.5),
        ("u1", "b", 3, "TGT", 10, "news1#b", [], 99.5),
        ("u1", "b", 4, "TGT", 20, "news1#b", [], 99.5),
    )
    shown = [
        batch((7, "a", "news1#a", "Katze", "cat"), (8, "a", "news1#a", "Hund", "dog")),
        batch((3, "b", "news1#b", "Hund", "hound"), (4, "b", "news1#b", "Katze", "puss")),
    ]
    found = read("esa", path, batches=json_file(tmp_path / "batches.json", shown))
    scores = {(row["system"], row["sample"]): row["score"] for row in found.rows["ratings"]}
    assert scores == {("a", "1"): 60, ("a", "2"): 70, ("b", "2"): 10, ("b", "1"): 20}
    marked = [row for row in found.rows["spans"] if row.get("severity")]
    assert [(row.get("text"), row["characters"], row.get("reason")) for row in marked] == [
        ("cat", 3, None),
        (None, 3, "omission"),
    ]
    assert not any("--batches" in note for note in found.notes)
    assert any("give --batches" in note for note in read("esa", path).notes)
    twice = json_file(tmp_path / "twice.json", [*shown, batch((7, "a", "news1#a", "Katze", "dog"))])
    assert "got another one than before" in problem("esa", path, batches=twice)
    half = json_file(tmp_path / "half.json", shown[:1])
    assert "expected news1#b of b at itemID 3 in --batches, got none" in problem("esa", path, batches=half)
    over = json_file(tmp_path / "over.json", [batch((7, "a", "news1#a", "K", "c"), (8, "a", "news1#a", "H", "d"))])
    assert "expected a place in the text of 1 characters" in problem("esa", path, batches=over)


def test_sentences_said_twice_are_two_segments(tmp_path: Path) -> None:
    rows = [("u1", "a", at, "TGT", 10 * at, "news1#a", [], 99.5) for at in (1, 2, 3)]
    shown = batch(*((at, "a", "news1#a", source, "x") for at, source in enumerate(("Ja.", "Nein.", "Ja."), start=1)))
    path = json_file(tmp_path / "batches.json", [shown])
    found = read("esa", appraise(tmp_path / "scores.csv", *rows), batches=path)
    assert [(row["sample"], row["score"]) for row in found.rows["ratings"]] == [("1", 10), ("2", 20), ("3", 30)]


def test_scores_of_a_campaign_without_scores(tmp_path: Path) -> None:
    """Of one file they are no ratings, of another they are."""
    one = appraise(tmp_path / "mqm.csv", ("u", "a", 1, "TGT", 0, "n#a", [mark(0, 1)], 9.5))
    two = appraise(
        tmp_path / "esa.csv", ("u", "b", 1, "TGT", 0, "n#b", [], 9.5), ("u", "b", 2, "TGT", 9, "n#b", [], 9.5)
    )
    found = read("esa", one, two)
    assert [(row["system"], row["score"]) for row in found.rows["ratings"]] == [("b", 0), ("b", 9)]
    assert len(found.rows["spans"]) == 3
    assert any("mqm.csv: every score is 0" in note for note in found.notes)


def line(
    who: str, page: object, score: float, marks: list[Any] | None = None, text: str = "Es ist so."
) -> dict[str, Any]:
    answer = {"m": {"score": score, "error_spans": marks or []}}
    return {
        "user_id": who,
        "item_i": page,
        "annotation": [answer],
        "item": [{"item_id": f"i{page}", "tgt": {"m": text}}],
    }


def test_resets_and_corrections_of_pearmut(tmp_path: Path) -> None:
    lines = [
        line("p", 0, 10),
        line("q", 0, 20),
        line("p", 0, 30),
        {"user_id": "q", "annotation": "__RESET__"},
        line("q", 1, 40),
        line("p", "welcome_0", 1),
        line("p", "random_3", 2),
        line("p", "goodbye_0", 3),
        {"user_id": "p", "item_i": 5, "annotation": None, "item": []},
    ]
    path = lines_file(tmp_path / "annotations.jsonl", lines)
    found = read("esa", path)
    assert {(row["annotator_id"], row["item_id"]): row["score"] for row in found.rows["ratings"]} == {
        ("p", "i0"): 30,
        ("q", "i1"): 40,
    }
    assert found.skipped == {
        "answers that were corrected later": 1,
        "answers before a reset": 1,
        "tutorials, attention checks and questions about the person": 3,
        "pages that were passed over (annotation null)": 1,
    }
    download = json_file(tmp_path / "download.json", {"campaign": lines})
    assert read("esa", download).rows == found.rows
    assert format_of("esa").recognise(download) == format_of("esa").recognise(path) == Fit.CERTAIN


def test_marks_of_pearmut(tmp_path: Path) -> None:
    """The end is inside; a mark behind the text is an omission; what lies outside is refused."""
    marks = [mark(3, 5, "major"), mark(10, 10), mark(3, 5, None)]
    found = read("esa", lines_file(tmp_path / "a.jsonl", [line("p", 0, 1, marks)]))
    names = ("start", "end", "text", "severity", "weight", "reason", "characters")
    assert [tuple(row.get(name) for name in names) for row in found.rows["spans"]] == [
        (3, 6, "ist", "major", 5, None, 10),
        (None, None, None, "minor", 1, "omission", 10),
        (3, 6, "ist", "undecided", 0, None, 10),
    ]
    wrong = lines_file(tmp_path / "b.jsonl", [line("p", 0, 1, [mark(3, 12)])])
    assert "expected a place in the text of 10 characters, got 3 to 12" in problem("esa", wrong)


def test_answers_of_wmt25(tmp_path: Path) -> None:
    """Systems are keys, answers numbered; ``<br>`` is one character."""
    scores = {
        "m": {
            "human1": 90,
            "errors1": [mark(3, 4)],
            "annotator1": "p",
            "human2": None,
            "errors2": [],
            "annotator2": "q",
        }
    }
    texts = {"m": "Ja.<br>Ne"}
    path = lines_file(
        tmp_path / "humeval.jsonl", [{"doc_id": "en-de_#_news_#_d1_#_0", "tgt_text": texts, "scores": scores}]
    )
    assert format_of("esa").recognise(path) == Fit.CERTAIN
    found = read("esa", path)
    assert [(row["annotator_id"], row["item_id"], row["sample"], row["score"]) for row in found.rows["ratings"]] == [
        ("p", "en-de_#_news_#_d1", "0", 90),
        ("q", "en-de_#_news_#_d1", "0", None),
    ]
    assert [(row.get("text"), row.get("characters")) for row in found.rows["spans"]] == [("\nN", 6), (None, None)]


def test_what_is_no_esa_is_one_line(tmp_path: Path) -> None:
    other = tmp_path / "a.csv"
    other.write_text("a,b\n1,2\n")
    assert "line 1: expected the 12 columns of Appraise's export" in problem("esa", other)
    lone = lines_file(tmp_path / "a.jsonl", [{"user_id": "p", "item_i": 1, "annotation": "x"}])
    assert "annotation: expected a list, got 'x'" in problem("esa", lone)
    two = line("p", 0, 1)
    two["item"] = []
    assert "expected 0 answers, one an item, got 1" in problem("esa", lines_file(tmp_path / "b.jsonl", [two]))
    none = appraise(tmp_path / "none.csv", ("u", "a", 1, "BAD", 1, "n#a", [], 9.5))
    assert "expected rows of type TGT" in problem("esa", none)
