"""``spa report FILE``: tables laid out in other ways, such as a column a system, battles, ranks, a file a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis import Reading
from analysis.answers.recognised import recognise_tables
from analysis.answers.tables import read_tables
from spa.errors import AnalysisError
from tests.analysis.answers.own_files import (
    but_inputs,
    chosen,
    file_of_four,
    people,
    rated,
    recognised,
    refused,
    report,
    results,
    wide,
    write,
)


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
    sides = ("model_a", "model_b", "tie")
    three = [
        {"id": n, "model_a": "alpha", "model_b": "beta", "prompt": '["?"]'}
        | {f"winner_{side}": int(str(row["winner"]).startswith(side)) for side in sides}
        for n, row in enumerate(rows)
    ]
    (same,) = results(write(tmp_path / "three.csv", three))["choices"]["pairs"]
    assert (same["wins_x"], same["wins_y"], same["ties"], same["unit"]) == (30, 12, 6, "item")
    told = report(write(tmp_path / "three.csv", three), "--map", "id=item_id")
    assert "no column is known as the winner" in told.stderr  # what an option says is not set aside


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


def test_a_column_says_who_is_an_llm(tmp_path: Path) -> None:
    rows = [{**row, "rater_type": "llm" if row["annotator_id"] == "p3" else "human"} for row in rated()]
    found = results(write(tmp_path / "a.csv", rows, {"annotator_id": "rater"}))
    assert {row["group"] for row in found["ratings"]["means"]} == {"human", "p3"}
    own = [{**row, "rater_type": {"llm": "AI judge", "human": "crowd"}[row["rater_type"]]} for row in rows]
    path = write(tmp_path / "b.csv", own, {"annotator_id": "rater"})
    assert "rater_type is AI judge for p3; name annotators that are LLMs: --llm p3" in report(path).stderr
    assert but_inputs(results(path, "--llm", "p3"))["ratings"] == found["ratings"]


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
    signs = [
        {"user": row["user"], "item": 1, "model": row["variant"], "feedback": "👍👎"[n % 2]}
        for n, row in enumerate(rows)
    ]
    assert "--value '👎=0' --value '👍=1'" in report(write(tmp_path / "signs.csv", signs)).output


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
