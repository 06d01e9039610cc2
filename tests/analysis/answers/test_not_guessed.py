"""``spa report FILE``: what may be two things is asked about in one line, and what is no answer is not counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import Reading
from analysis.answers.recognised import recognise_tables
from spa.errors import AnalysisError
from tests.analysis.answers.own_files import (
    GOOD,
    chosen,
    file_of_four,
    people,
    rated,
    recognised,
    refused,
    report,
    results,
    write,
)


def test_columns_that_may_be_systems_or_criteria_are_not_guessed(tmp_path: Path) -> None:
    rows = [{"id": item, "north": 1 + item % 4, "south": 1 + item % 5} for item in range(12)]
    path = write(tmp_path / "wide.csv", rows)
    assert "no column names the system, and columns north, south hold scores" in refused(path)
    assert "--systems north,south" in report(path).stderr
    means = {row["system"]: row["mean"] for row in results(path, "--systems", "north,south=other")["ratings"]["means"]}
    assert means == {"north": 2.5, "other": pytest.approx(2.75)}
    assert "no column names the system" in refused(write(tmp_path / "two.csv", [{**row, "bleu": 1} for row in rows]))
    twice = results(path, "--systems", "north", "--systems", "south=other")  # none of them is lost
    assert {row["system"]: row["mean"] for row in twice["ratings"]["means"]} == means


def test_metrics_are_no_systems(tmp_path: Path) -> None:
    rows = [{"id": item, "bert_score": 1 + item % 4, "bleu_score": 1 + item % 5} for item in range(12)]
    assert "no column names the system" in refused(write(tmp_path / "wide.csv", rows))


def test_a_second_turn_is_not_guessed(tmp_path: Path) -> None:
    rows = [{**row, "turn": turn} for row in chosen() for turn in (1, 2)]
    said = refused(
        write(tmp_path / "turns.csv", rows, {"annotator_id": "judge", "system_x": "model_a", "system_y": "model_b"})
    )
    assert "column turn may be the number of an answer that was given again or the criterion" in said


def test_preferences_of_zero_and_one_are_asked_about(tmp_path: Path) -> None:
    """In AlpacaEval's older files 0 is a tie; as a probability it is a loss."""
    names = {"generator_1": "ref", "generator_2": "mine", "annotator": "alpaca_eval_gpt4"}
    rows = [{"instruction": f"say {n}", **names, "preference": n % 2} for n in range(8)]
    path = write(tmp_path / "annotations.jsonl", rows)
    shown = report(path)
    assert shown.exit_code == 1
    assert "got 0 and 1 alone; where 0 is a tie" in shown.stderr
    assert len(shown.stderr) < 500 + 2 * len(str(path))


def test_a_single_judge_may_be_an_llm(tmp_path: Path) -> None:
    rows = [{**row, "annotator_id": "scorer-7"} for row in chosen()[:12]]
    names = {"annotator_id": "judge", "system_x": "model_a", "system_y": "model_b"}
    path = write(tmp_path / "battles.csv", rows, names)
    assert "a person: scorer-7; else --llm scorer-7" in report(path, "--out", tmp_path / "r").output
    assert {row["group"] for row in results(path, "--llm", "scorer-7")["choices"]["pairs"]} == {"scorer-7"}


def test_rows_that_were_rejected_are_not_counted_in_silence(tmp_path: Path) -> None:
    names = {"annotator_id": "WorkerId", "item_id": "Input.id", "system": "Input.system", "score": "Answer.rating"}
    rows = [
        {**row, "HITId": f"H{n}", "AssignmentStatus": "Rejected" if row["annotator_id"] == "p3" else "Approved"}
        for n, row in enumerate(rated())
    ]
    path = write(tmp_path / "batch.csv", rows, names)
    shown = report(path)
    assert (
        "AssignmentStatus is Rejected in some rows; leave them out with --drop AssignmentStatus=Rejected"
        in shown.stderr
    )
    assert people(results(path, "--drop", "AssignmentStatus=Rejected")) == 3
    both = ("--keep", "AssignmentStatus=Approved", "--keep", "AssignmentStatus=Rejected")
    assert people(results(path, *both)) == 4


def test_exports_of_forms_are_sent_to_the_import(tmp_path: Path) -> None:
    form = [
        {
            "Timestamp": f"2026-11-2{who} 10:00",
            "Email Address": f"p{who}@x.org",
            "How fluent is text 1?": 3,
            "How fluent is text 2?": 4,
        }
        for who in range(5)
    ]
    assert "spa import csv" in refused(write(tmp_path / "form.csv", form))
    export = [
        {
            "StartDate": "a",
            "ResponseId": f"R_{who}",
            "PROLIFIC_PID": f"p{who}",
            "1_Q1": 3 + who % 2,
            "2_Q1": 4,
            "Q9": "fine",
        }
        for who in range(5)
    ]
    assert "spa import csv" in refused(write(tmp_path / "qualtrics.csv", export))


def test_answers_of_people_in_columns_are_sent_to_the_import(tmp_path: Path) -> None:
    rows = [{"idx": n, "cmp": "a_b", "annotator1": 1, "annotator2": 2} for n in range(6)]
    assert "annotator1, annotator2 look like a column for each annotator" in refused(write(tmp_path / "a.csv", rows))


def test_places_on_a_page_are_no_systems(tmp_path: Path) -> None:
    """POTATO shows the outputs of an item in random order: A and B are places."""
    rows = [
        {
            "instance_id": item,
            "user_id": f"u{who}",
            "pref.selection": "AB"[(item + who) % 2],
            "degree.scale_value": 1 + item % 5,
        }
        for who in range(4)
        for item in range(6)
    ]
    assert "no column is known as the score, the system" in refused(write(tmp_path / "annotations.csv", rows))


def test_texts_of_two_sides_need_their_systems(tmp_path: Path) -> None:
    rows = [
        {"id": n, "text_a": f"t{n}", "text_b": f"u{n}", "annotator": n % 2, "preference": "AB"[n % 2]} for n in range(8)
    ]
    path = write(tmp_path / "export.csv", rows)
    assert "columns text_a, text_b hold two outputs, and no column names the systems" in refused(path)
    shown = report(path, "--set", "system_x=one", "--set", "system_y=two")
    assert "--value A=x --value B=y" in shown.stderr


def test_battles_without_items_are_asked_about(tmp_path: Path) -> None:
    names = {"annotator_id": "judge", "system_x": "model_a", "system_y": "model_b"}
    rows = [{key: value for key, value in row.items() if key != "item_id"} for row in chosen()]
    path = write(tmp_path / "battles.csv", rows, names)
    assert "where each row is about another item: --set item_id={row}" in refused(path)
    found = results(path, "--set", "item_id={row}")
    assert sum(row["n_answers"] if "n_answers" in row else 18 for row in found["choices"]["pairs"]) == 36
    more = write(tmp_path / "more.csv", rows, names)
    both = results(path, more, "--set", "item_id={row}")
    assert [row["wins_x"] for row in both["choices"]["pairs"]] == [
        2 * row["wins_x"] for row in found["choices"]["pairs"]
    ]


def test_what_stands_beside_scores_is_no_criterion(tmp_path: Path) -> None:
    rows = [
        {**row, "Comments": "ok", "WorkTimeInSeconds": n % 7, "Confidence": 3, "batch": 1}
        for n, row in enumerate(rated())
    ]
    path = write(tmp_path / "a.csv", rows, {"annotator_id": "WorkerId", "score": "Fluency"})
    assert recognised(path).reading.criteria == ("Fluency",)


def test_ids_of_outputs_are_no_items(tmp_path: Path) -> None:
    """Else no two outputs would share an item, and nothing could be compared in pairs."""
    rows = [{**row, "id": f"{row['item_id']}-{row['system']}"} for row in rated()]
    names = {"annotator_id": "rater", "item_id": "item", "score": "rating"}
    found = recognised(write(tmp_path / "a.csv", rows, names))
    assert found.reading.mapping["item"] == "item_id"
    alone = [{key: value for key, value in row.items() if key != "item_id"} for row in rows]
    assert "column id has one system for each value" in refused(write(tmp_path / "b.csv", alone, names))


def test_numbers_beside_lists_of_answers_are_no_answers(tmp_path: Path) -> None:
    """Argilla keeps what people said in lists, and a model's suggestion beside them."""
    rows = [
        {"id": n, "system": "ab"[n % 2], "q.responses": [4, 5], "q.responses.users": ["u", "v"], "pref": n % 3}
        for n in range(12)
    ]
    said = refused(write(tmp_path / "dataset.jsonl", rows))
    assert "no column is known as the score, the annotator" in said
    assert "q.responses, q.responses.users hold lists or objects" in said


def test_what_may_be_two_things_is_asked(tmp_path: Path) -> None:
    names = {"annotator_id": "rater", "item_id": "doc_id", "system": "model", "score": "rating"}
    two = [{**row, "worker": f"w{n % 3}"} for n, row in enumerate(rated())]
    assert "columns rater, worker may be the annotator; say which" in refused(write(tmp_path / "who.csv", two, names))
    parts = [{**row, "doc_id": row["item_id"], "segment_id": n % 2} for n, row in enumerate(rated())]
    said = refused(
        write(tmp_path / "parts.csv", [{k: v for k, v in p.items() if k != "item_id"} for p in parts], names)
    )
    assert "may name the item, and neither follows from the other" in said
    counted = [{**row, "item_id": n} for n, row in enumerate(rated())]
    path = write(tmp_path / "rows.csv", counted, {**names, "item_id": "id"})
    assert "column id has one system for each value" in refused(path)
    assert recognised(path, mapping={"id": "item_id"}).reading.mapping["rater"] == "annotator_id"


def test_what_belongs_to_an_item_or_a_person_is_no_score(tmp_path: Path) -> None:
    rows = [
        {
            **row,
            "expertise": int(row["annotator_id"][1]) + 1,
            "hardness": int(row["item_id"][1]),
            "size": 7 + GOOD[row["system"]],
        }
        for row in rated()
    ]
    found = recognised(write(tmp_path / "a.csv", rows, {"annotator_id": "rater", "score": "fluency"}))
    assert found.reading.criteria == ("fluency",)


def test_a_score_beside_two_systems_is_none_of_the_first(tmp_path: Path) -> None:
    rows = [
        {name: row[name] for name in row if name != "winner"} | {"score": 1 + n % 5} for n, row in enumerate(chosen())
    ]
    path = write(tmp_path / "a.csv", rows, {"system_x": "system_a", "system_y": "system_b"})
    line = report(path).stderr
    assert "columns system_a, system_b are two systems, beside score; if it compares them, say --map score=pref" in line
    assert "=system," not in line
    found = results(path, "--map", "score=preference", "--numbers", "5:1")
    assert "table: preferences" in found["settings"]["inputs"][0]["notes"]


def test_items_numbered_in_each_batch_may_be_named_by_both(tmp_path: Path) -> None:
    rows = rated(items=6)
    numbers = [int(row["item_id"][1:]) for row in rows]
    path = write(
        tmp_path / "a.csv",
        [{**row, "item_id": f"i{n % 3}", "batch": f"b{n // 3}"} for row, n in zip(rows, numbers, strict=True)],
        {"item_id": "item"},
    )
    assert "or item+batch=item_id if both name the item" in refused(path)
    means = results(path, "--map", "item+batch=item_id")["ratings"]["means"]
    assert means == results(write(tmp_path / "b.csv", rows))["ratings"]["means"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (file_of_four(end="Total,,,14\nMean,,,3.5\n"), "leave them out: drop={'rater': ('Total', 'Mean')}"),
        ("id,system,prompt,output\n1,x,Write,A text\n1,y,Write,Another\n", "a study of outputs: spa init FOLDER --o"),
        ("id,system,prompt,output\n1,x,Write,4\n1,y,Write,5\n", "no column is known as the score"),
        ("ID,CASE,SYS,Q1\n1,1,u,4\n1,2,v,3\n2,1,u,5\n2,2,v,5\n", "columns ID, CASE may name the item"),
    ],
)
def test_recognised_guesses_nothing(tmp_path: Path, text: str, said: str) -> None:
    """Totals, outputs without a score, and two columns that may be the item end in a line that says what to do."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(AnalysisError) as found:
        recognise_tables([path], Reading())
    assert said in found.value.problems[0]
    assert all(len(problem) < 500 for problem in found.value.problems)


def test_a_file_of_two_tools_is_asked_about(tmp_path: Path) -> None:
    """Its columns may mean one thing to AlpacaEval and another to an arena."""
    row = {"question_id": "q1", "model_a": "ref", "model_b": "mine", "winner": "model_b", "instruction": "say"}
    row |= {"generator_1": "ref", "generator_2": "mine", "annotator": "judge", "preference": "1.0"}
    path = write(tmp_path / "both.jsonl", [row])
    shown = report(path, "--out", tmp_path / "r")
    assert shown.exit_code == 2
    assert "spa import alpaca-eval" in shown.stderr
    assert "or `spa import arena" in shown.stderr
