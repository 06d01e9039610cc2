"""``spa report FILE``: the kind of a table and the role of each column, said, corrected, and never guessed."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis import Reading
from analysis.answers.recognised import RecognisedTables, recognise_tables
from analysis.answers.tables import read_tables
from spa.cli import main
from spa.errors import AnalysisError

Row = Mapping[str, Any]
GOOD = {"alpha": 1, "beta": 0}


def rated(people: int = 4, items: int = 5, systems: Sequence[str] = ("alpha", "beta")) -> list[dict[str, Any]]:
    rng = random.Random(1)
    return [
        {
            "annotator_id": f"p{who}",
            "item_id": f"i{item}",
            "system": name,
            "score": rng.randint(1, 4) + GOOD.get(name, 0),
        }
        for who in range(people)
        for item in range(items)
        for name in systems
    ]


def chosen() -> list[dict[str, Any]]:
    rng = random.Random(2)
    return [
        {
            "annotator_id": f"p{who}",
            "item_id": f"i{item}",
            "system_x": x,
            "system_y": y,
            "winner": rng.choice([x, x, y]),
        }
        for who in range(3)
        for item in range(6)
        for x, y in (("alpha", "beta"), ("beta", "gamma"))
    ]


def write(path: Path, rows: Sequence[Row], names: Mapping[str, str] | None = None) -> Path:
    """Write rows in the format of the file's name, columns under other names."""
    renamed = [{(names or {}).get(key, key): value for key, value in row.items()} for row in rows]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in renamed))
    elif path.suffix == ".parquet":
        pl.DataFrame(renamed).write_parquet(path)
    else:
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, [*dict.fromkeys(key for row in renamed for key in row)])
            writer.writeheader()
            writer.writerows(renamed)
    return path


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def results(*arguments: object) -> dict[str, Any]:
    shown = report(*arguments, "--json")
    assert shown.exit_code == 0, shown.output
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def but_inputs(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "settings": {key: value for key, value in found["settings"].items() if key != "inputs"}}


def people(found: dict[str, Any]) -> int:
    return int(next(row["annotators"] - row["excluded_annotators"] for row in found["groups"]))


def recognised(path: Path, **options: Any) -> RecognisedTables:
    return recognise_tables([path], Reading(**options))


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(AnalysisError) as error:
        recognised(path, **options)
    assert all(len(line) < 500 for line in error.value.problems)
    said = str(error.value)
    assert " ... " not in said, "what can be pasted is cut"
    return said


# a table with our names


@pytest.mark.parametrize(("kind", "rows"), [("ratings", rated()), ("choices", chosen())])
def test_a_table_with_our_names_is_read_as_with_its_option(kind: str, rows: list[Row], tmp_path: Path) -> None:
    rows = [{**row, "aspect": "fluency", "rater": "somebody"} for row in rows]
    path = write(tmp_path / "answers.csv", rows)
    assert results(path) == results(f"--{kind}", path)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("kind", "rows", "names"),
    [
        ("ratings", rated(), {"annotator_id": "WorkerId", "item_id": "Prompt #", "system": "Model", "score": "Rating"}),
        ("ratings", rated(), {"annotator_id": "prolific_id", "item_id": "question_id", "system": "generator"}),
        ("ratings", rated(), {"annotator_id": "Judge", "item_id": "doc", "system": "LLM", "score": "value"}),
        ("choices", chosen(), {"annotator_id": "user", "system_x": "model_a", "system_y": "model_b"}),
        (
            "choices",
            chosen(),
            {"item_id": "id", "system_x": "Left Model", "system_y": "Right Model", "winner": "Choice"},
        ),
    ],
)
def test_other_names_formats_and_orders_change_no_result(
    kind: str, rows: list[dict[str, Any]], names: dict[str, str], ending: str, tmp_path: Path
) -> None:
    rng = random.Random(3)
    keys = [*rows[0]]
    rng.shuffle(keys)
    mixed = rng.sample([{key: row[key] for key in keys} for row in rows], len(rows))
    expected = but_inputs(results(f"--{kind}", write(tmp_path / "ours.csv", mixed)))
    found = results(write(tmp_path / f"theirs{ending}", mixed, names))
    assert but_inputs(found) == expected
    (source,) = found["settings"]["inputs"]
    assert [name for name in names.values() if not any(f"column {name}" in note for note in source["notes"])] == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    who=st.sampled_from(["rater", "Rater ID", "WORKER_ID", "participant", "annotator", "user id", "judge"]),
    what=st.sampled_from(["prompt_id", "Item", "doc_id", "id", "Question ID", "instance"]),
    which=st.sampled_from(["Model", "generator", "system_name", "method"]),
    seed=st.integers(0, 99),
)
def test_columns_are_recognised_under_any_synonym(who: str, what: str, which: str, seed: int, tmp_path: Path) -> None:
    rows = rated(3, 3)
    random.Random(seed).shuffle(rows)
    found = recognised(write(tmp_path / "a.csv", rows, {"annotator_id": who, "item_id": what, "system": which}))
    assert found.reading.mapping == {who: "annotator_id", what: "item_id", which: "system"}
    assert [*found.files] == ["ratings"]


# realistic shapes


def test_a_spreadsheet_with_a_column_a_criterion(tmp_path: Path) -> None:
    rows = [
        {
            "Rater": r["annotator_id"],
            "Prompt #": r["item_id"],
            "Model": r["system"],
            "Fluency": r["score"],
            "Coherence": 1 + n % 3,
        }
        for n, r in enumerate(rated())
    ]
    path = write(tmp_path / "sheet.csv", rows)
    shown = report(path, "--out", tmp_path / "report")
    assert shown.exit_code == 0, shown.output
    assert "sheet.csv: annotator: column Rater (4 annotators); else --map YOURS=annotator_id" in shown.output
    assert "sheet.csv: item: column Prompt # (5 items); else --map YOURS=item_id" in shown.output
    assert "sheet.csv: system: column Model (alpha, beta); else --map YOURS=system" in shown.output
    assert shown.output.count("column Rater") == 1
    words = " ".join(shown.output.split())
    assert "scores: columns Coherence, Fluency, a criterion each; else --criteria" in words
    assert "Who wins: Coherence" in words
    assert str(tmp_path / "report" / "report.html") in shown.output.replace("\n", "")
    written = json.loads((tmp_path / "report" / "results.json").read_text())
    assert "annotator: column Rater (4 annotators)" in written["settings"]["inputs"][0]["notes"]
    by_option = results(
        *("--ratings", path, "--map", "Rater=annotator_id", "--map", "Prompt #=item_id", "--map", "Model=system"),
        *("--criteria", "Coherence,Fluency"),
    )
    assert but_inputs(written) == but_inputs(by_option)


def test_a_wide_table_with_a_column_a_system(tmp_path: Path) -> None:
    rows = [{"id": item, "gpt_score": 4 + item % 2, "llama_score": 2 + item % 3} for item in range(12)]
    found = results(write(tmp_path / "wide.csv", rows))
    means = {row["system"]: row["mean"] for row in found["ratings"]["means"]}
    assert means == {"gpt": 4.5, "llama": 3.0}
    notes = found["settings"]["inputs"][0]["notes"]
    assert "scores: columns gpt_score (gpt), llama_score (llama), a system each" in notes
    assert any(note.startswith("annotator: no column, so answers are those of unnamed people") for note in notes)


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


def test_battles_of_the_arena(tmp_path: Path) -> None:
    words = {"alpha": "model_a", "beta": "model_b"}
    rows = [
        {
            "question_id": item,
            "model_a": "alpha",
            "model_b": "beta",
            "winner": words["beta"] if item % 4 == 0 else "tie (bothbad)" if item == 3 else words["alpha"],
            "judge": f"arena_user_{who}",
            "turn": 1,
            "language": "English",
            "tstamp": 1680000000 + item,
        }
        for who in range(6)
        for item in range(8)
    ]
    (test,) = results(write(tmp_path / "battles.jsonl", rows))["choices"]["pairs"]
    assert (test["wins_x"], test["wins_y"], test["ties"]) == (30, 12, 6)


def test_a_second_turn_is_not_guessed(tmp_path: Path) -> None:
    rows = [{**row, "turn": turn} for row in chosen() for turn in (1, 2)]
    said = refused(
        write(tmp_path / "turns.csv", rows, {"annotator_id": "judge", "system_x": "model_a", "system_y": "model_b"})
    )
    assert "column turn may be the number of an answer that was given again or the criterion" in said


def test_judgements_of_an_llm_are_those_of_an_llm(tmp_path: Path) -> None:
    rows = [
        {
            "instruction": f"say {n}",
            "generator_1": "ref",
            "generator_2": "mine",
            "annotator": "alpaca_eval_gpt4",
            "preference": 0.25 if n % 3 else 0.75,
            "output_1": "x",
            "output_2": "y",
        }
        for n in range(9)
    ]
    path = write(tmp_path / "annotations.jsonl", rows)
    (test,) = results(path)["choices"]["pairs"]
    assert (test["group"], test["system_x"], test["n_items"] if "n_items" in test else 9) == (
        "alpaca_eval_gpt4",
        "ref",
        9,
    )
    (human,) = results(path, "--set", "annotator_kind=human")["choices"]["pairs"]
    assert human["group"] == "human"
    by_two = [{**row, "preference": 1 + row["preference"]} for row in rows]
    two = write(tmp_path / "two.jsonl", by_two)
    (same,) = results(two)["choices"]["pairs"]
    assert same["system_x"] == "mine"  # generator_2, which 2 prefers
    assert same["win_rate"] == pytest.approx(test["win_rate"])
    (numbered,) = results(two, "--numbers", "1:2")["choices"]["pairs"]
    assert numbered["system_x"] == "ref"


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


def test_a_column_says_who_is_an_llm(tmp_path: Path) -> None:
    rows = [{**row, "rater_type": "llm" if row["annotator_id"] == "p3" else "human"} for row in rated()]
    found = results(write(tmp_path / "a.csv", rows, {"annotator_id": "rater"}))
    assert {row["group"] for row in found["ratings"]["means"]} == {"human", "p3"}
    own = [{**row, "rater_type": {"llm": "AI judge", "human": "crowd"}[row["rater_type"]]} for row in rows]
    path = write(tmp_path / "b.csv", own, {"annotator_id": "rater"})
    assert "rater_type is AI judge for p3; name annotators that are LLMs: --llm p3" in report(path).stderr
    assert but_inputs(results(path, "--llm", "p3"))["ratings"] == found["ratings"]


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


def wide(names: Sequence[str], systems: Sequence[str] = ("gpt", "t5", "nmt")) -> list[dict[str, Any]]:
    """Return a row an item and system with a score of every name."""
    return [
        {"item": f"i{item}", "system": system, **{name: 1 + (item + place + who) % 5 for who, name in enumerate(names)}}
        for item in range(6)
        for place, system in enumerate(systems)
    ]


def test_columns_that_are_a_person_each_are_their_answers(tmp_path: Path) -> None:
    """Ratings and winners of a column each are those of a row each; names alone tell neither people nor criteria."""
    table = wide(["rater1", "rater2"])
    long = [
        {"item_id": row["item"], "system": row["system"], "annotator_id": name, "score": row[name]}
        for row in table
        for name in ("rater1", "rater2")
    ]
    found = results(write(tmp_path / "wide.csv", table))
    assert but_inputs(found) == but_inputs(results(write(tmp_path / "long.csv", long)))
    choices = [
        {"item": n, "model_a": "gpt", "model_b": "t5", "annotator1": "model_a", "annotator2": "model_b" if n else "tie"}
        for n in range(6)
    ]
    chosen = recognised(write(tmp_path / "choices.csv", choices))
    assert ([*chosen.files], chosen.reading.annotator_columns) == (["choices"], ("annotator1", "annotator2"))
    said = report(write(tmp_path / "names.csv", wide(["Anna", "Ben"]))).output
    assert "may be an annotator each, or a criterion each: --annotator-columns Anna,Ben, or --criteria Anna,Ben" in said
    named = results(tmp_path / "names.csv", "--annotator-columns", "Anna,Ben")
    assert (people(named), [row["criterion"] for row in named["ratings"]["means"]]) == (2, ["overall"] * 3)
    assert recognised(write(tmp_path / "criteria.csv", wide(["fluency", "zest"]))).reading.criteria == (
        "fluency",
        "zest",
    )


def test_thumbs_of_variants_are_scores_of_systems(tmp_path: Path) -> None:
    """A log of an A/B test: our own column variant may be the system, and words of thumbs come with their numbers."""
    rows = [{"user": f"u{n % 9}", "variant": "AB"[n % 2], "thumbs": ("up", "down")[n % 7 < 3]} for n in range(40)]
    path = write(tmp_path / "log.csv", rows)
    assert "if each is a criterion: --map variant=system" in refused(path)
    told = report(path, "--map", "variant=system", "--set", "item_id={row}").output
    assert "--value down=0 --value up=1" in told


def test_columns_of_ranks_are_a_system_each(tmp_path: Path) -> None:
    """A rank of 1 is the best, which a score of 1 is not."""
    table = [
        {"rater": f"r{who}", "prompt": f"p{item}", "rank_gpt": 1, "rank_t5": 2 + item % 2, "rank_nmt": 3 - item % 2}
        for who in range(3)
        for item in range(4)
    ]
    path = write(tmp_path / "ranks.csv", table)
    long = [
        {"annotator_id": row["rater"], "item_id": row["prompt"], "system": name, "rank": row[f"rank_{name}"]}
        for row in table
        for name in ("gpt", "nmt", "t5")
    ]
    assert but_inputs(results(path)) == but_inputs(results(write(tmp_path / "long.csv", long)))
    shown = [{**row, "rank_gpt": 1 + n % 9} for n, row in enumerate(table)]  # no ranks of three
    assert "rank_gpt" in refused(write(tmp_path / "other.csv", shown))


def test_listening_tests_are_known_by_their_words(tmp_path: Path) -> None:
    """What several systems say is the item, not the clip of one; a line of answers is no header."""
    rows = [
        {
            "listenerId": f"l{who}",
            "utteranceId": f"s{item}_{system}",
            "sentenceId": f"s{item}",
            "systemId": system,
            "choice": 1 + (who + item + len(system)) % 5,
        }
        for who in range(4)
        for item in range(5)
        for system in ("vits", "taco")
    ]
    path = write(tmp_path / "mos.csv", rows)
    assert dict(recognised(path).reading.mapping) == {
        "listenerId": "annotator_id",
        "sentenceId": "item_id",
        "systemId": "system",
        "choice": "score",
    }
    topics = [{**row, "sentenceId": f"topic{int(row['sentenceId'][1:]) % 2}"} for row in rows]  # of several sentences
    assert recognised(write(tmp_path / "topics.csv", topics)).reading.mapping["utteranceId"] == "item_id"
    (tmp_path / "bare.csv").write_text(path.read_text().partition("\n")[2])
    assert "expected the names of columns in row 1, got an answer (l0, s0_vits" in refused(tmp_path / "bare.csv")


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


def test_rankings_and_marked_errors(tmp_path: Path) -> None:
    ranks = [
        {"worker": f"w{who}", "prompt_id": item, "model": name, "ranking": place}
        for who in range(3)
        for item in range(4)
        for place, name in enumerate(("alpha", "beta", "gamma"), 1)
    ]
    assert [*recognised(write(tmp_path / "ranks.csv", ranks)).files] == ["orders"]
    marked = [
        {
            "rater": f"r{n % 2}",
            "seg_id": n // 2,
            "system": "ab"[n % 2],
            "target": "a <v>b</v>",
            "severity": "Minor",
            "category": "x",
        }
        for n in range(8)
    ]
    found = recognised(write(tmp_path / "mqm.csv", marked))
    assert ([*found.files], found.reading.mapping) == (["spans"], {"rater": "annotator_id", "seg_id": "item_id"})


# by contents


def test_winners_are_names_in_two_other_columns(tmp_path: Path) -> None:
    rows = [
        {
            "rater": r["annotator_id"],
            "topic": r["item_id"],
            "here": r["system_x"],
            "there": r["system_y"],
            "liked": r["winner"],
        }
        for r in chosen()
    ]
    found = recognised(write(tmp_path / "a.csv", rows))
    assert [*found.files] == ["choices"]
    assert {found.reading.mapping[name] for name in ("here", "there", "liked")} == {"system_x", "system_y", "winner"}


def test_few_names_that_repeat_over_items_are_systems(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", rated(), {"annotator_id": "rater", "system": "contender", "score": "points"})
    assert recognised(path).reading.mapping["contender"] == "system"
    both = [{**row, "annotator_id": f"q{row['annotator_id']}"} for row in rated()]
    path = write(tmp_path / "b.csv", both, {"annotator_id": "quem", "system": "contender", "score": "points"})
    said = refused(path)
    assert "may be the system or the annotator" in said
    assert recognised(path, mapping={"quem": "annotator_id"}).reading.mapping["contender"] == "system"


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


def test_recognised_people_under_unknown_name(tmp_path: Path) -> None:
    """Else the answers of one person would count as those of many whom nobody named."""
    path = write(tmp_path / "a.csv", rated(), {"annotator_id": "quem", "system": "model"})
    assert "column quem may be the annotator or the criterion" in refused(path)
    assert recognised(path, mapping={"quem": "annotator_id"}).reading.unnamed is False


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


# the command


def test_names_of_columns_cannot_colour_a_terminal(tmp_path: Path) -> None:
    odd = "\x1b[31mFluency"
    path = write(tmp_path / "a.csv", rated(), {"annotator_id": "rater", "score": odd})
    shown = report(path, "--out", tmp_path / "r")
    assert shown.exit_code == 0, shown.output
    assert "\x1b" not in shown.output
    two = [{**row, "worker \u202e": f"w{n % 3}"} for n, row in enumerate(rated())]
    said = refused(write(tmp_path / "b.csv", two, {"annotator_id": "\x1brater"}))
    assert {"\x1b", "\u202e"}.isdisjoint(said)


def test_tables_beside_answers_are_named_by_their_option(tmp_path: Path) -> None:
    answers = write(tmp_path / "a.csv", rated(), {"annotator_id": "rater"})
    out = write(tmp_path / "out.csv", [{"annotator_id": "p0", "rule": "mine"}])
    assert (
        "out.csv: expected answers, got a table of exclusions: give it beside the answers as --exclusions"
        in refused(out)
    )
    found = results(answers, "--exclusions", out)
    assert people(found) == 3
    metrics = write(tmp_path / "m.csv", [{"item_id": 1, "system": "a", "metric": "bleu", "score": 1}])
    assert "--metrics m.csv" in refused(metrics)
    counted = [{"annotator_id": "p0", "page": "p1", "page_seconds": 1.0, "unprompted": 0}]
    assert "a table of conduct, evidence that no report reads" in refused(write(tmp_path / "conduct.csv", counted))


def test_several_files_are_one_table(tmp_path: Path) -> None:
    names = {"annotator_id": "rater", "system": "model"}
    rows = rated()
    parts = [write(tmp_path / f"{part}.csv", rows[part::2], names) for part in range(2)]
    whole = results(write(tmp_path / "all.csv", rows, names))
    assert but_inputs(results(*parts)) == but_inputs(whole)
    notes = [source["notes"] for source in results(*parts)["settings"]["inputs"]]
    assert all("system: column model" in " ".join(one) for one in notes)


def test_what_is_named_is_a_study_or_files(tmp_path: Path) -> None:
    answers = write(tmp_path / "a.csv", rated(), {"annotator_id": "rater"})
    for arguments, said in {
        (answers, "--ratings", answers): "--ratings: not with",
        (answers, "study.toml"): "expected one STUDY alone, or files of answers",
        ("none.csv",): "none.csv: no such file",
        (tmp_path,): "study.toml: no such file",
        ("parts/*.csv",): "name a table in parts by its option",
    }.items():
        shown = report(*arguments)
        assert shown.exit_code != 0
        assert said in " ".join(shown.stderr.split())


def test_the_report_goes_to_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", rated(3, 3))
    assert "expected a STUDY, files of answers" in " ".join(report().stderr.split())
    for _ in range(2):  # the second in the place of the first
        shown = report("a.csv")
        assert shown.exit_code == 0, shown.output
        assert "report: report/report.html" in shown.output
    (tmp_path / "report" / "results.json").write_text('{"of another": 1}')
    assert "expected a new or empty folder or one with an earlier report" in report("a.csv").stderr


def test_a_file_each_names_its_system_or_its_annotator(tmp_path: Path) -> None:
    rows = rated()
    for name in ("annotator_id", "system"):
        key = next(key for key in rows[0] if key in (name, name.removesuffix("_id")))
        folder = tmp_path / name
        folder.mkdir()
        files = []
        for one in dict.fromkeys(row[key] for row in rows):
            kept = [{own: cell for own, cell in row.items() if own != key} for row in rows if row[key] == one]
            files.append(write(folder / f"{one}.csv", kept))
        apart = results(*files, "--set", f"{name}={{file}}")["ratings"]
        assert apart["means"] == results(write(tmp_path / "all.csv", rows))["ratings"]["means"]


def test_columns_of_the_better_and_the_worse_system_are_told(tmp_path: Path) -> None:
    rows = [{"annotator": "a", "item": n, "winner": "north", "loser": "south"} for n in range(4)]
    told = "if winner, loser are systems, call them system_x and system_y in the file, with --set winner=x"
    assert told in refused(write(tmp_path / "a.csv", rows))
    turned = [{"annotator": "a", "item": n, "system_x": "north", "system_y": "south"} for n in range(4)]
    assert results(write(tmp_path / "b.csv", turned), "--set", "winner=x")["choices"]


def test_a_score_of_each_of_two_systems_is_told(tmp_path: Path) -> None:
    pair = {"annotator": "a", "model_a": "north", "model_b": "south"}
    rows = [{**pair, "item": n, "rating_a": 1 + n, "rating_b": 5 - n} for n in range(4)]
    assert "rating_a, rating_b are a score of each: spa import csv" in refused(write(tmp_path / "a.csv", rows))


def test_a_column_of_swapped_sides_is_told(tmp_path: Path) -> None:
    rows = [{**row, "swapped": n % 2 == 0} for n, row in enumerate(chosen())]
    path = write(tmp_path / "a.csv", rows, {"system_x": "model_a", "system_y": "model_b"})
    told = "swapped: not read, so a winner is one of the two columns as they stand, not as they were shown"
    assert told in results(path)["settings"]["inputs"][0]["notes"]
    assert "--drop swapped=VALUE" in report(path, "--json").stderr


def test_means_without_people_are_told(tmp_path: Path) -> None:
    rows = [{**row, "mean_score": row["score"] + 0.25} for row in rated(people=1)]
    kept = [{name: row[name] for name in ("item_id", "system", "mean_score")} for row in rows]
    path = write(tmp_path / "a.csv", kept)
    assert "mean_score: taken as scores of one person an output" in results(path)["settings"]["inputs"][0]["notes"]
    assert "--means (of several people" in report(path, "--json").stderr
    opinion = write(tmp_path / "mos.csv", kept, {"mean_score": "MOS"})  # fractions called so are means of people
    found = results(opinion)
    assert "MOS: taken as means of several people, one per output" in found["settings"]["inputs"][0]["notes"]
    assert but_inputs(found) == but_inputs(results(path, "--means"))
    whole = [{**row, "mean_score": int(row["mean_score"])} for row in kept]  # an opinion, not a mean of several
    assert not recognised(write(tmp_path / "whole.csv", whole, {"mean_score": "MOS"})).reading.means
    assert "may be the system" not in refused(
        write(tmp_path / "ab.csv", [{"worker": "a", "item": n % 4, "gpt vs t5": "gpt"} for n in range(8)])
    )


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


FOUR = [("a", 1, "x", 3), ("a", 2, "y", 4), ("b", 1, "x", 2), ("b", 2, "y", 5)]


def file_of_four(*scores: object, end: str = "") -> str:
    """Return a file of four ratings, with other words in their place, and rows at its end."""
    rows = [",".join(map(str, (*row[:3], score))) for row, score in zip(FOUR, scores or (3, 4, 2, 5), strict=True)]
    return "\n".join(["rater,item,system,rating", *rows]) + f"\n{end}"


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


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (("1 - Bad", 2, 3, "5 - Good"), "say what each word counts: values={'1 - Bad': '1', '5 - Good': '5'}"),
        (("★★", "★", "★★★", "★"), "'★★★': '3'"),
        (("3-4", "Mar-04", "1-2", "1-2"), "spreadsheets make dates of such numbers: set the column to text"),
    ],
)
def test_recognised_words_of_a_rating_are_told(tmp_path: Path, scores: tuple[object, ...], said: str) -> None:
    """A column that is called rating is one, whatever it holds: the line says what its words may count."""
    path = tmp_path / "a.csv"
    path.write_text(file_of_four(*scores))
    found = recognise_tables([path], Reading())
    assert found.reading.mapping["rating"] == "score"
    with pytest.raises(AnalysisError) as told:
        read_tables({"ratings": path}, found.reading)
    assert said in told.value.problems[0]


def test_a_file_of_two_tools_is_asked_about(tmp_path: Path) -> None:
    """Its columns may mean one thing to AlpacaEval and another to an arena."""
    row = {"question_id": "q1", "model_a": "ref", "model_b": "mine", "winner": "model_b", "instruction": "say"}
    row |= {"generator_1": "ref", "generator_2": "mine", "annotator": "judge", "preference": "1.0"}
    path = write(tmp_path / "both.jsonl", [row])
    shown = report(path, "--out", tmp_path / "r")
    assert shown.exit_code == 2
    assert "spa import alpaca-eval" in shown.stderr
    assert "or `spa import arena" in shown.stderr
