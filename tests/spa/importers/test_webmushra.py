"""webMUSHRA: hidden references and anchors, untouched pages, comparisons, pairs of scores, who listened."""

from __future__ import annotations

from pathlib import Path

from spa.importers.tables import UNNAMED
from tests.spa.importers.foreign import problem, read

MUSHRA = "session_test_id,pid,session_uuid,trial_id,rating_stimulus,rating_score,rating_time,rating_comment"
PAIRS = "session_test_id,pid,trial_id,choice_reference,choice_non_reference,choice_answer,choice_time,choice_comment"
SCORES = (
    "session_test_id,trial_id,rating_reference,rating_non_reference,rating_reference_score,rating_non_reference_score"
)


def table(path: Path, header: str, *rows: str) -> Path:
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def page(who: str, item: str, **scores: object) -> list[str]:
    return [f"t,p-{who},{who},{item},{stimulus},{score},3215,loud" for stimulus, score in scores.items()]


def test_references_and_anchors_are_apart(tmp_path: Path) -> None:
    rows = page("u1", "m1", reference=100, anchor35=20, anchor70=60, a=80, b="")
    found = read("webmushra", table(tmp_path / "mushra.csv", f"{MUSHRA},rating_x", *(f"{row}," for row in rows)))
    assert [(row["system"], row["score"], row["missing_reason"]) for row in found.rows["ratings"]] == [
        ("a", 80, None),
        ("b", None, "empty"),
    ]
    first = found.rows["ratings"][0]
    assert (first["annotator_id"], first["item_id"], first["seconds"], first["explanation"]) == (
        "u1",
        "m1",
        3.215,
        "loud",
    )
    apart = found.apart["references"].rows["ratings"]
    assert {row["system"]: row["score"] for row in apart} == {"reference": 100, "anchor35": 20, "anchor70": 60}
    assert list(found.skipped.values()) == [3]
    own = read("webmushra", tmp_path / "mushra.csv", roles=("reference",))
    assert {row["system"] for row in own.rows["ratings"]} == {"a", "b", "anchor35", "anchor70"}


def test_untouched_pages_and_rules_are_told(tmp_path: Path) -> None:
    """They count all the same."""
    rows = page("u1", "m1", reference=100, anchor70=100, a=100) + page("u1", "m2", reference=100, anchor70=50, a=70)
    rows += page("u2", "m1", reference=80, anchor70=60, a=70) + page("u2", "m2", reference=95, anchor70=60, a=70)
    found = read("webmushra", table(tmp_path / "mushra.csv", MUSHRA, *rows))
    said = "\n".join(found.notes)
    assert "read: 4 pages of 2 sessions" in said
    assert "perhaps untouched: 1 page of 1 session" in said
    assert "1 session rated reference below 90 in over 15%" in said
    assert "1 session rated anchor70 above 90 in over 15%" in said
    assert len(found.rows["ratings"]) == 4


def test_choices_beside_a_reference(tmp_path: Path) -> None:
    rows = [
        f"t,P{at},m1,old,new,{answer},900,"
        for at, answer in enumerate(("correct", "incorrect", "undecided", "unknown"))
    ]
    path = table(tmp_path / "paired_comparison.csv", PAIRS, *rows)
    found = read("webmushra", path, person="pid")
    names = ("annotator_id", "system_x", "system_y", "winner", "missing_reason")
    assert [tuple(row[name] for name in names) for row in found.rows["choices"]] == [
        ("P0", "old", "new", "x", None),
        ("P1", "old", "new", "y", None),
        ("P2", "old", "new", "tie", None),
        ("P3", "old", "new", None, "unknown"),
    ]
    nameless = read("webmushra", path)
    assert {row["annotator_id"] for row in nameless.rows["choices"]} == {UNNAMED}
    assert any("name a column of the questionnaire with --listener" in note for note in nameless.notes)
    assert "--listener who: no such column" in problem("webmushra", path, person="who")


def test_two_scores_a_row(tmp_path: Path) -> None:
    found = read(
        "webmushra", table(tmp_path / "bs1116.csv", f"{SCORES},rating_time,rating_comment", "t,m1,ref,new,5,3.5,9,")
    )
    assert [(row["system"], row["score"]) for row in found.rows["ratings"]] == [("new", 3.5)]
    assert [(row["system"], row["score"]) for row in found.apart["references"].rows["ratings"]] == [("ref", 5)]


def test_broken_results_are_one_line(tmp_path: Path) -> None:
    assert "expected webMUSHRA's mushra.csv" in problem("webmushra", table(tmp_path / "a.csv", "x,y", "1,2"))
    line = problem("webmushra", table(tmp_path / "b.csv", MUSHRA, *page("u", "m", a="loud")))
    assert "rating_score: expected a number, got 'loud'" in line
    wrong = table(tmp_path / "c.csv", PAIRS, "t,p,m,a,b,left,9,")
    assert "expected a choice of correct, incorrect, undecided, unknown, got 'left'" in problem("webmushra", wrong)
