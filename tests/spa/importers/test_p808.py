"""P.808: votes of listeners; conditions are systems, items are cut out of clips' names, means are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.importers import recognised
from tests.spa.importers.foreign import problem, read

HEAD = "HITId,workerid,assignment_id,assignmentstatus,file,short_file_name,vote,question_type"
ITEM = re.compile(r"(?P<item>.+)_c\d+\.wav")


def votes(path: Path, *rows: str, conditions: str = ",cond") -> Path:
    path.write_text("\n".join((HEAD + conditions, *rows)) + "\n")
    return path


def vote(who: str, clip: str, given: object, end: str, scale: str = "MOS", status: str = "Submitted") -> str:
    return f"3H,{who},3A{who},{status},https://host/a/{clip},{clip},{given},{scale}{end}"


def test_conditions_are_systems(tmp_path: Path) -> None:
    """The whole name of a clip is never the item: no two systems would share one."""
    rows = [vote(who, f"talk_{i}_c{c}.wav", i + c, f",{c}") for who in ("ana", "bo") for i in (1, 2) for c in (1, 2)]
    path = votes(tmp_path / "b_votes_per_worker_.csv", *rows, vote("ana", "talk_3_c1.wav", "", ",1"))
    assert [one.key for one in recognised(path)] == ["p808"]
    found = read("p808", path, pattern=ITEM)
    told = {(r["annotator_id"], r["item_id"], r["system"], r["criterion"], r["score"]) for r in found.rows["ratings"]}
    assert told == {
        (w, f"talk_{i}", str(c), "overall", i + c) for w in ("ana", "bo") for i in (1, 2) for c in (1, 2)
    } | {("ana", "talk_3", "1", "overall", None)}
    assert found.missing == {"ratings": (1, 9)}
    whole = read("p808", path, pattern=re.compile("(?P<item>.+)"))
    assert any("does --item-pattern leave the system in the item?" in note for note in whole.notes)


def test_scales_and_comparisons(tmp_path: Path) -> None:
    """Several questions are criteria; a comparison with the reference is turned already."""
    scales = [vote("ana", "x_c1.wav", at, ",1", scale) for at, scale in enumerate(("MOS_SIG", "MOS_OVRL"), start=2)]
    path = votes(tmp_path / "b_votes_per_worker_sig.csv", *scales)
    assert [(r["criterion"], r["score"]) for r in read("p808", path, pattern=ITEM).rows["ratings"]] == [
        ("MOS_SIG", 2),
        ("MOS_OVRL", 3),
    ]
    path = votes(tmp_path / "b_votes_per_worker_.csv", vote("ana", "x_c1.wav", -2, ",1", "CMOS"))
    found = read("p808", path, pattern=ITEM)
    assert [(r["criterion"], r["score"]) for r in found.rows["ratings"]] == [("overall", -2)]
    assert any("above 0 prefers the processed clip" in note for note in found.notes)


def test_rejected_votes_are_apart(tmp_path: Path) -> None:
    rows = (vote("ana", "x_c1.wav", 4, ",1"), vote("bo", "x_c1.wav", 1, ",1", status="Rejected"))
    found = read("p808", votes(tmp_path / "v.csv", *rows), pattern=ITEM)
    assert [r["score"] for r in found.rows["ratings"]] == [4]
    assert [r["score"] for r in found.apart["rejected"].rows["ratings"]] == [1]
    assert found.skipped == {"votes of rejected work, which lie in rejected": 1}


def test_item_and_system_are_asked_for(tmp_path: Path) -> None:
    path = votes(tmp_path / "v.csv", vote("ana", "x_r2_c1.wav", 4, ",1,r2"), conditions=",cond,room")
    line = problem("p808", path)
    assert "got 'x_r2_c1.wav', cond 1, room r2; say it to `spa import p808`, such as --item-pattern" in line
    assert "got cond, room; say which with --condition" in problem("p808", path, pattern=ITEM)
    assert "no such condition; there are: cond, room" in problem("p808", path, pattern=ITEM, systems=("x",))
    for systems, name in ((("cond",), "1"), (("cond", "room"), "1/r2")):
        (row,) = read("p808", path, pattern=ITEM, systems=systems).rows["ratings"]
        assert (row["item_id"], row["system"]) == ("x_r2", name)
    bare = votes(tmp_path / "w.csv", vote("ana", "x_c1.wav", 4, ",NoCondition"), conditions=",Unknown")
    assert "got none; say which with a group (?P<system>...) in --item-pattern" in problem("p808", bare, pattern=ITEM)
    (row,) = read("p808", bare, pattern=re.compile(r"(?P<item>.+)_(?P<system>c\d)\.wav")).rows["ratings"]
    assert (row["item_id"], row["system"]) == ("x", "c1")
    assert "fits as a whole, got 'x_c1.wav'" in problem(
        "p808", bare, pattern=re.compile(r"(?P<item>.+)_(?P<system>c)\.mp3")
    )


@pytest.mark.parametrize(
    "header",
    [
        "file_url,n,MOS,std,95%CI,short_file_name,cond,Unknown,vote_1,vote_2",
        "condition_name,cond,n,MOS_SIG,std_sig,95%CI_sig",
    ],
)
def test_means_are_refused(tmp_path: Path, header: str) -> None:
    """Cells and marginals stand together there, and nobody is named; a report says so as well."""
    path = tmp_path / "b_votes_per_clip.csv"
    path.write_text(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    assert "take the file _votes_per_worker_ beside it" in problem("p808", path, pattern=ITEM)
    done = CliRunner().invoke(main, ["report", str(path), "--out", str(tmp_path / "report")])
    assert done.exit_code == 1
    assert "take the file _votes_per_worker_ beside it" in done.output


def test_a_folder_is_read_without_its_sums(tmp_path: Path) -> None:
    """The file of all scales repeats the votes, under a name that says clips."""
    rows = (vote("ana", "x_c1.wav", 4, ",1"),)
    votes(tmp_path / "b_votes_per_worker_.csv", *rows)
    votes(tmp_path / "b_all_votes_per_clip.csv", *rows)
    assert [one.key for one in recognised(tmp_path)] == ["p808"]
    assert len(read("p808", tmp_path, pattern=ITEM).rows["ratings"]) == 1


def test_a_pattern_needs_an_item(tmp_path: Path) -> None:
    path = votes(tmp_path / "v.csv", vote("ana", "x_c1.wav", 4, ",1"))
    for pattern, said in (("(", "expected a regular expression"), ("x.*", "expected a group (?P<item>...), got none")):
        done = CliRunner().invoke(main, ["import", "p808", str(path), "--item-pattern", pattern, "--out", "x"])
        assert done.exit_code == 2
        assert said in done.output
