"""Prolific's lists of people, how they meet answers, and what its Task Builder collects."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from spa.cli import main
from spa.importers import recognised
from spa.importers.pseudonyms import load_key
from tests.spa.importers.foreign import json_file, lines_file, problem, read

HEAD = "Submission id,Participant id,Status,Started at,Completed at,Time taken,Age,Sex,Total approvals,Completion code"
STATES = ("APPROVED", "PARTIALLY APPROVED", "AWAITING REVIEW", "RETURNED", "REJECTED", "TIMED-OUT", "SCREENED OUT")
STATES += ("ACTIVE", "RESERVED")


def export(folder: Path, *states: str, head: str = HEAD) -> Path:
    """Write the demographic export with a person a state: p0, p1, ..."""
    lines = [head]
    for n, state in enumerate(states):
        lines.append(f"s{n},p{n},{state},2026-11-01T10:00:00Z,2026-11-01T10:09:00Z,{100 + n},{29 + n},Female,{n}0,C1")
    (folder / "prolific_export.csv").write_text("\n".join(lines) + "\n")
    return folder / "prolific_export.csv"


def run(*words: object) -> Result:
    done = CliRunner().invoke(main, ["import", "prolific", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done


def test_people_count_by_the_state_of_their_submission(tmp_path: Path) -> None:
    found = read("prolific", export(tmp_path, *STATES))
    assert [row["annotator_id"] for row in found.rows["annotators"]] == ["p0", "p1", "p2"]
    assert found.skipped == {f"submissions that are {state.replace('-', ' ')}": 1 for state in STATES[3:]}
    assert found.notes[0] == "read: 3 people who count, of 9"
    assert "not joined: Sex (--demographic COLUMN joins one)" in found.notes


def test_ages_stand_in_tens_with_approvals_and_times(tmp_path: Path) -> None:
    found = read("prolific", export(tmp_path, "APPROVED", "APPROVED"), demographics=("Sex",))
    first, second = found.rows["annotators"]
    assert (first["demographic:age_band"], second["demographic:age_band"]) == ("20-29", "30-39")
    assert (first["demographic:approvals"], second["demographic:approvals"]) == ("00", "10")
    assert (second["seconds"], second["demographic:time_taken"]) == (101.0, "101")
    assert first["demographic:sex"] == "Female"


def test_an_export_of_earlier_years_is_read_alike(tmp_path: Path) -> None:
    names = ("session_id", "participant_id", "status", "started_datetime", "completed_date_time", "time_taken")
    head = ",".join((*names, "age", "Sex", "num_approvals", "entered_code"))
    new = read("prolific", export(tmp_path, *STATES))
    old = export(tmp_path, *STATES, head=head)
    assert [one.key for one in recognised(old)] == ["prolific"]
    found = read("prolific", old)
    assert (found.rows, found.skipped, found.notes) == (new.rows, new.skipped, new.notes)


def test_consent_that_was_withdrawn_says_nothing(tmp_path: Path) -> None:
    path = export(tmp_path, "APPROVED")
    path.write_text(path.read_text().replace(",29,", ",CONSENT_REVOKED,"))
    found = read("prolific", path)
    assert "demographic:age_band" not in found.rows["annotators"][0]
    assert "Age: 1 people have withdrawn it, or it has expired" in found.notes


def test_several_submissions_of_a_person_are_counted(tmp_path: Path) -> None:
    path = export(tmp_path, "RETURNED", "APPROVED", "APPROVED")
    path.write_text(path.read_text().replace("p1", "p0").replace("p2", "p0"))
    (row,) = read("prolific", path).rows["annotators"]
    assert (row["annotator_id"], row["submissions"], row["seconds"]) == ("p0", 2, 203.0)


@pytest.mark.parametrize("comma", ["", ","])
@pytest.mark.parametrize(("shown", "missing"), [(2, None), (350, "348 of 350 submissions are missing")])
def test_the_count_at_the_end_of_a_list_is_no_row(comma: str, shown: int, missing: str | None, tmp_path: Path) -> None:
    """Of the command-line tool, older releases of which end each line in a comma."""
    rows = [f"ParticipantID,StartedAt,TimeTaken,StudyCode,Status{comma}"]
    rows += [f"p{n},2026-11-01 10:00:00 +0000 UTC,{n + 60},,APPROVED{comma}" for n in range(2)]
    path = tmp_path / "submissions.csv"
    path.write_text("\n".join(rows) + f"\n\nShowing 2 records of {shown}\n")
    found = read("prolific", path)
    assert [(row["annotator_id"], row["seconds"]) for row in found.rows["annotators"]] == [("p0", 60.0), ("p1", 61.0)]
    assert [one.key for one in recognised(path)] == ["prolific"]
    assert any(missing in note for note in found.notes) if missing else not any("missing" in n for n in found.notes)
    path.write_text("\n".join(rows[:2]) + f"\n\nShowing 2 records of {shown}\n")
    assert "expected the 2 records that its last line names, got 1" in problem("prolific", path)


def answers(folder: Path, *people: str) -> Path:
    scores = {"a": 5, "b": 3}
    rows = [
        {"annotator_id": who, "item_id": f"i{n}", "system": system, "criterion": "overall", "score": score - n % 2}
        for who in people
        for n in range(3)
        for system, score in scores.items()
    ]
    pl.DataFrame(rows).write_csv(folder / "ratings.csv")
    return folder / "ratings.csv"


def test_answers_of_people_who_do_not_count_stand_apart(tmp_path: Path) -> None:
    people = export(tmp_path, "APPROVED", "RETURNED", "APPROVED", "APPROVED")
    said = run(people, "--answer-table", answers(tmp_path, "p0", "p1", "p2", "guest"), "--out", tmp_path / "t").output
    key = load_key(tmp_path / "pseudonyms.key")
    counted = pl.read_csv(tmp_path / "t" / "ratings.csv")
    assert {*counted["annotator_id"]} == {key.pseudonym(who) for who in ("p0", "p2", "guest")}
    apart = pl.read_csv(tmp_path / "t" / "not_counted" / "ratings.csv")
    assert {*apart["annotator_id"]} == {key.pseudonym("p1")}
    assert "1 people of the answers are in no list; their answers count" in said
    assert "answers of 1 people who do not count are in the folder not_counted" in said
    assert "1 people who count gave no answer" in said
    assert "skipped: 1 of submissions that are RETURNED" in said
    proposed = said.splitlines()[-1].removeprefix("next: spa ").split()
    done = CliRunner().invoke(main, [*proposed[:-1], str(tmp_path / "report")])
    assert done.exit_code == 0, done.output


def test_pseudonyms_of_an_earlier_import_are_known_by_its_key(tmp_path: Path) -> None:
    """Joined by the keyed hash: the same pseudonyms come out, and nobody is hashed twice."""
    people = export(tmp_path, "APPROVED", "RETURNED")
    key = load_key(tmp_path / "pseudonyms.key")
    table = answers(tmp_path, *map(key.pseudonym, ("p0", "p1")))
    run(people, "--answer-table", table, "--out", tmp_path / "t")
    assert {*pl.read_csv(tmp_path / "t" / "ratings.csv")["annotator_id"]} == {key.pseudonym("p0")}
    (joined,) = pl.read_csv(tmp_path / "t" / "annotators.csv").to_dicts()
    assert (joined["annotator_id"], joined["demographic:age_band"]) == (key.pseudonym("p0"), "20-29")
    other = CliRunner().invoke(
        main,
        [
            "import",
            "prolific",
            str(people),
            "--answer-table",
            str(table),
            "--key",
            str(tmp_path / "x.key"),
            "--out",
            "o",
        ],
    )
    assert other.exit_code == 1
    assert "by its ids or by their pseudonyms, got none; name the key" in other.output


def response(who: str, task: str, value: object, **changes: Any) -> dict[str, Any]:
    return {
        **{"id": f"{who}-{task}", "batch_id": "b", "participant_id": who, "task_id": task, "submission_id": f"s-{who}"},
        "metadata": {"item_id": f"i{task}", "system": "a" if task < "3" else "b"},
        "response": {"instruction_id": "q", "type": "multiple_choice", "answer": value, **changes},
    }


GIVEN = {("p0", "1"): "4", ("p1", "1"): "5", ("p0", "3"): "2", ("p1", "3"): None}


def told(rows: list[dict[str, Any]]) -> set[tuple[object, ...]]:
    return {(row["annotator_id"], row["item_id"], row["system"], row.get("score")) for row in rows}


def by_task() -> list[dict[str, Any]]:
    flat = [response(who, task, [{"value": value}] if value else []) for (who, task), value in GIVEN.items()]
    return [
        {
            "task_id": task,
            "metadata": next(one["metadata"] for one in flat if one["task_id"] == task),
            "responses": [
                {"participant_id": one["participant_id"], **one["response"]} for one in flat if one["task_id"] == task
            ],
        }
        for task in ("1", "3")
    ]


def by_submission() -> list[dict[str, Any]]:
    flat = [response(who, task, [{"value": value}] if value else []) for (who, task), value in GIVEN.items()]
    return [
        {
            "submission_id": f"s-{who}",
            "participant_id": who,
            "tasks": [one for one in flat if who == one["participant_id"]],
        }
        for who in ("p0", "p1")
    ]


def archive(folder: Path, **members: list[dict[str, Any]]) -> Path:
    with zipfile.ZipFile(folder / "batch-export.zip", "w") as file:
        for name, records in members.items():
            lines = "".join(f"{json.dumps(one)}\n" for one in records)
            file.writestr(f"b/responses-{name.replace('_', '-')}.jsonl", lines)
        file.writestr(
            "b/batch.json", json.dumps({"items": [{"id": "q", "type": "multiple_choice", "description": "How good?"}]})
        )
    return folder / "batch-export.zip"


def test_an_archive_holds_the_same_answers_in_both_lists(tmp_path: Path) -> None:
    expected = {
        (who, f"i{task}", "a" if task < "3" else "b", float(value) if value else None)
        for (who, task), value in GIVEN.items()
    }
    whole = read("prolific", archive(tmp_path, by_task=by_task(), by_submission=by_submission()))
    assert told(whole.rows["ratings"]) == expected
    assert {row["criterion"] for row in whole.rows["ratings"]} == {"How good?"}
    for name, records in (("by_task", by_task()), ("by_submission", by_submission())):
        assert told(read("prolific", archive(tmp_path, **{name: records})).rows["ratings"]) == expected
        alone = lines_file(tmp_path / f"responses-{name.replace('_', '-')}.jsonl", records)
        assert told(read("prolific", alone).rows["ratings"]) == expected
    flat = [response(who, task, [{"value": value}] if value else []) for (who, task), value in GIVEN.items()]
    of_api = json_file(tmp_path / "responses.json", {"results": flat, "meta": {"count": 4}})
    assert told(read("prolific", of_api).rows["ratings"]) == expected


def test_lists_of_an_archive_that_differ_are_told(tmp_path: Path) -> None:
    notes = read("prolific", archive(tmp_path, by_task=by_task(), by_submission=by_submission()[:1])).notes
    assert any("its lists hold different answers" in note for note in notes)


def test_task_builder_meets_the_list_of_its_people(tmp_path: Path) -> None:
    found = read("prolific", archive(tmp_path, by_task=by_task()), export(tmp_path, "APPROVED", "RETURNED"))
    assert {row["annotator_id"] for row in found.rows["ratings"]} == {"p0"}
    assert {row["annotator_id"] for row in found.apart["not_counted"].rows["ratings"]} == {"p1"}


def test_a_comparison_of_task_builder_asks_for_its_systems(tmp_path: Path) -> None:
    flat = [response(who, "1", [{"value": word}]) for who, word in (("p0", "left"), ("p1", "right"))]
    path = lines_file(tmp_path / "responses-by-task.jsonl", flat)
    assert "--value 'left=x' --value 'right=y'" in problem("prolific", path)
    values = {"left": "x", "right": "y"}
    assert "--compared X,Y" in problem("prolific", path, values=values)
    rows = read("prolific", path, sides=("gpt", "t5"), values=values).rows["choices"]
    assert [(row["system_x"], row["winner"]) for row in rows] == [("gpt", "x"), ("gpt", "y")]


REPORT = "item_id,system,task_id,participant_id,batch_id,Rating\ni1,a,1,p0,b,4\ni1,b,2,p0,b,3\n"


def test_a_report_of_task_builder_is_asked_for_its_answers(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text(REPORT)
    assert "name each with --question COLUMN" in problem("prolific", path)
    rows = read("prolific", path, only=("Rating",)).rows["ratings"]
    assert told(rows) == {("p0", "i1", "a", 4.0), ("p0", "i1", "b", 3.0)}
    path.write_text(REPORT.replace("participant_id", "who"))
    assert "name it with --participant-column" in problem("prolific", path, only=("Rating",))
    assert read("prolific", path, only=("Rating",), participant_column="who").rows["ratings"] == rows


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (HEAD + "\ns,p,DONE,,,1,2,F,3,C\n", "Status: expected one of APPROVED, "),
        (HEAD + "\ns,,APPROVED,,,1,2,F,3,C\n", "expected the participant's id, got none"),
        (HEAD + "\ns,p,APPROVED,,,soon,2,F,3,C\n", "Time taken: expected a number, got 'soon'"),
    ],
)
def test_what_prolific_does_not_write_is_one_line(content: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(content)
    assert expected in problem("prolific", path)


def test_a_column_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    assert "--demographic Income: expected one of" in problem(
        "prolific", export(tmp_path, "APPROVED"), demographics=("Income",)
    )
    lines = lines_file(tmp_path / "responses-by-task.jsonl", [{"task_id": "1", "instruction_id": "q", "answer": "4"}])
    assert "expected participant_id, which says who answered, got none" in problem("prolific", lines)
