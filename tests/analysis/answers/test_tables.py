"""Reading tables: ids stay as written, every mistake is told in one line, all at once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from analysis import Reading, Scale, check_frames, read_tables
from spa import AnalysisError
from spa.cli import main
from tests.analysis.answers.written_tables import HEADER, RATINGS, ROW, line, read, refusal


def test_ids_are_read_as_written(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER + "001,01,1,0.70\n").preferences
    assert table is not None
    assert table.select("annotator_id", "system_x", "system_y", "text", "value").row(0) == (
        "001",
        "01",
        "1",
        "0.70",
        0.7,
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_all_formats_give_the_same_table(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"annotator_id": ["001", "b"], "item_id": [1, 2], "system": ["s", "t"], "score": [0.1, None]})
    path = tmp_path / f"t.{suffix}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[suffix](path)
    table = read_tables({"ratings": path}, Reading()).ratings
    assert table is not None
    shown = table.select("annotator_id", "item_id", "system", "value", "criterion", "group", "missing_reason").rows()
    assert shown == [
        ("001", "1", "s", 0.1, "overall", "human", None),
        ("b", "2", "t", None, "overall", "human", "empty"),
    ]


def test_lines_of_json_are_rows_of_that_number(tmp_path: Path) -> None:
    late = line(annotator_id=1, exposure=2).replace("0.5", "0.50")
    text = "\ufeff" + line(note=[1]) + '\n{"note": {}}\n\n\n' + late + line(annotator_id="1.0", variant=None) + "\n"
    table = read(tmp_path, text, name="t.jsonl").preferences
    assert table is not None
    rows = table.select("row", "annotator_id", "text", "exposure").rows()
    assert rows == [(1, "a", "0.5", None), (6, "1", "0.50", 2), (7, "1.0", "0.5", None)]


def test_columns_are_renamed_and_others_ignored(tmp_path: Path) -> None:
    table = read(tmp_path, "rater,note,item_id,system,score\nr,x,i,s,4\n", "ratings", mapping={"rater": "annotator_id"})
    assert table.ratings is not None
    assert "note" not in table.ratings.columns


def test_empty_and_nan_and_na_are_missing(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER + "a,x,y,\nb,x,y,NaN\nc,x,y,NA\nd,x,y,0.5\n").preferences
    assert table is not None
    assert table["missing_reason"].to_list() == ["empty", "NaN", "NA", None]


def test_a_byte_order_mark_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    table = read(tmp_path, ("\ufeff" + HEADER + "a,x,y,0.5\r\n\r\nb,x,y,1\r\n").encode()).preferences
    assert table is not None
    assert table["row"].to_list() == [2, 4]


def test_tables_repeat_numbers(tmp_path: Path) -> None:
    """A repeat number allows a second answer and a missing one is none."""
    header = HEADER.strip() + ",repeat\n"
    assert read(tmp_path, header + "a,x,y,0.5,1\na,x,y,0.6,2\n").preferences is not None
    assert read(tmp_path, HEADER + "a,x,y,\na,x,y,0.6\n").preferences is not None
    assert "got 2 for" in refusal(tmp_path, header + "a,x,y,0.5,1\na,x,y,0.6,1\n")


def test_scales_are_checked_by_criterion(tmp_path: Path) -> None:
    text = "annotator_id,item_id,system,criterion,score\na,i,s,length,80\na,i,s,style,4\n"
    scales = (Scale(criterion="length", low=0, high=100), Scale(criterion=None, low=1, high=5))
    assert read(tmp_path, text, "ratings", scales=scales).ratings is not None
    assert "no criterion 'lenght'" in refusal(
        tmp_path, text, "ratings", scales=(Scale(criterion="lenght", low=0, high=1),)
    )


def test_llms_are_named_or_written_and_must_agree(tmp_path: Path) -> None:
    text = RATINGS + "gpt,i,s,4\np1,i,s,3\n"
    table = read(tmp_path, text, "ratings", llms=("gpt",)).ratings
    assert table is not None
    assert table["group"].to_list() == ["gpt", "human"]
    assert "llms=['gtp']: no table names this annotator" in refusal(tmp_path, text, "ratings", llms=("gtp",))
    kinds = "annotator_id,annotator_kind,item_id,system,score\ngpt,human,i,s,4\n"
    assert "say annotator_kind human" in refusal(tmp_path, kinds, "ratings", llms=("gpt",))
    both = "annotator_id,annotator_kind,item_id,system,score\ng,human,i,s,4\ng,llm,j,s,4\n"
    assert "'g' is human and llm at once" in refusal(tmp_path, both, "ratings")


def test_groups_follow_kind_variant_and_the_group_column() -> None:
    frame = pl.DataFrame(
        {
            "annotator_id": ["p", "g", "g", "s", "q"],
            "annotator_kind": ["human", "llm", "llm", "simulated", "human"],
            "variant": ["v", None, "persona", None, None],
            "group": [None, None, None, None, "experts"],
            "item_id": list("abcde"),
            "system": ["x"] * 5,
            "score": [1, 2, 3, 4, 5],
        }
    )
    table = check_frames({"ratings": frame}, Reading()).ratings
    assert table is not None
    assert table["group"].to_list() == ["human", "g", "g/persona", "simulated", "experts"]


def test_a_criterion_rated_in_two_ways_is_two_criteria() -> None:
    frame = pl.DataFrame(
        {
            "annotator_id": ["p", "p"],
            "item_id": ["i", "i"],
            "system": ["x", "x"],
            "score": [4, 80],
            "elicitation": ["likert", "continuous"],
        }
    )
    table = check_frames({"ratings": frame}, Reading()).ratings
    assert table is not None
    assert table["criterion"].to_list() == ["overall", "overall (continuous)"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("annotator_id,submissions\na,1\na,2\n", "expected one row an annotator"),
        ("annotator_id,submissions\na,many\n", "submissions must be a whole number"),
        ("annotator_id,screening_passed\na,perhaps\n", "must be true, false or empty, got 'perhaps'"),
    ],
)
def test_the_annotators_table_is_checked(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text, "annotators")


def test_a_winner_is_x_y_or_tie(tmp_path: Path) -> None:
    header = "annotator_id,item_id,system_x,system_y,winner\n"
    assert "winner must be x, y or tie" in refusal(tmp_path, header + "a,i,s,t,u\n", "choices")


def test_metrics_alone_are_no_answers(tmp_path: Path) -> None:
    text = "item_id,system,metric,score,higher_is_better\ni,s,BLEU,1e-16,true\n"
    assert "no answers" in refusal(tmp_path, text, "metrics")


def test_cells_that_r_or_pandas_wrote_as_missing_are_empty() -> None:
    frame = pl.DataFrame({"annotator_id": ["a", "g"], "item_id": ["i", "i"], "system": ["x", "y"], "score": ["1", "2"]})
    optional = ("assignment_id", "variant", "sample", "repeat", "criterion", "group", "elicitation", "missing_reason")
    frame = frame.with_columns(pl.Series(name, ["NA", "NaN"]) for name in optional)
    table = check_frames({"ratings": frame}, Reading(llms=("g",))).ratings
    assert table is not None
    assert table.select("criterion", "group").rows() == [("overall", "human"), ("overall", "g")]
    assert table.select("assignment_id", "variant", "sample", "missing_reason").rows() == [(None,) * 4] * 2
    asked = pl.DataFrame({"annotator_id": ["a"], "submissions": ["NA"], "screening_passed": ["NA"]})
    assert check_frames({"ratings": frame, "annotators": asked}, Reading()).annotators is not None


def test_an_id_that_is_missing_is_refused(tmp_path: Path) -> None:
    assert "row 3: annotator_id must not be empty, got 'NA'" in refusal(tmp_path, HEADER + "a,x,y,1\nNA,x,y,1\n")


def test_the_kind_of_an_annotator_may_stand_in_any_table() -> None:
    frame = pl.DataFrame({"annotator_id": ["p", "g"], "item_id": ["i", "i"], "system": ["x", "x"], "score": [1, 2]})
    kinds = frame.with_columns(pl.Series("annotator_kind", ["human", "llm"]))
    people = pl.DataFrame({"annotator_id": ["g", "p"], "submissions": [9, 1]})
    tables = check_frames({"ratings": kinds, "annotators": people}, Reading())
    assert tables.annotators is not None
    assert tables.annotators["annotator_kind"].to_list() == ["llm", "human"]


def test_samples_are_cells_of_a_preference() -> None:
    frame = pl.DataFrame(
        {"annotator_id": ["a", "a"], "system_x": ["x"] * 2, "system_y": ["y"] * 2, "preference": [0.2, 0.4]}
    )
    assert (
        check_frames({"preferences": frame.with_columns(sample=pl.Series([1, 2]))}, Reading()).preferences is not None
    )
    with pytest.raises(AnalysisError, match="got 2 for"):
        check_frames({"preferences": frame}, Reading())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("i,s,BLEU,1,true\ni,s,BLEU,2,true\n", "rows 2 and 3: expected one score of a metric for each output"),
        ("i,s,BLEU,1,true\nj,s,BLEU,2,false\n", "higher_is_better must be the same in all rows of a metric"),
        ("i,s,BLEU,high,true\n", "score must be a number"),
        ("i,,BLEU,1,true\n", "system must not be empty"),
    ],
)
def test_metrics_are_checked(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "r.csv").write_text(RATINGS + "a,i,s,4\n")
    (tmp_path / "m.csv").write_text("item_id,system,metric,score,higher_is_better\n" + rows)
    with pytest.raises(AnalysisError) as caught:
        read_tables({"ratings": tmp_path / "r.csv", "metrics": tmp_path / "m.csv"}, Reading())
    assert said in str(caught.value)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_name_with_brackets_is_a_name_and_no_pattern(tmp_path: Path, suffix: str) -> None:
    table = pl.DataFrame({"annotator_id": ["a"], "item_id": ["i"], "system": ["X"], "score": ["3"]})
    path = tmp_path / f"scores [1].{suffix}"
    table.write_csv(path) if suffix == "csv" else table.write_parquet(path)
    read = read_tables({"ratings": path}, Reading())
    assert read.ratings is not None
    assert read.ratings.height == 1


def test_spaces_around_the_names_of_columns_are_seen(tmp_path: Path) -> None:
    told = refusal(tmp_path, "annotator_id, item_id, system, score\na, i, X, 1\n", "ratings")
    assert "columns item_id, system, score are missing (there are: annotator_id, ' item_id', ' system'" in told
    assert told.endswith("take out the spaces around names and values, such as those after a comma")


def test_tables_with_a_column_per_system(tmp_path: Path) -> None:
    """A table with a column per system is told what makes it long."""
    path = tmp_path / "wide.csv"
    path.write_text("annotator_id,item_id,alpha,beta\na,i,1,2\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["report", "--ratings", str(path), "--out", str(tmp_path / "report")])
    assert done.exit_code == 1
    assert "columns system, score are missing (there are: annotator_id, item_id, alpha, beta)" in done.output
    assert "--map YOURS=system, or make a row of each score" in done.output
    assert "spa import csv" in done.output


def test_tables_columns_that_hold_lists(tmp_path: Path) -> None:
    """Columns that hold lists are told with the ways into them."""
    told = refusal(tmp_path, '{"question": "q", "games": [{"score": "A>B"}]}\n', "choices", name="t.jsonl")
    assert "games holds lists or objects: --each games makes their parts rows, --map games.KEY=NEW" in told


def test_tables_missing_annotator(tmp_path: Path) -> None:
    """A missing annotator is told with the constant and with nobody named."""
    told = refusal(tmp_path, "item_id,system,score\ni,s,4\n", "ratings")
    assert "of one judge say --set annotator_id=NAME, of people whom nobody named --unnamed" in told


def test_tables_item_of_document_and_number(tmp_path: Path) -> None:
    """An item that a document and a number name together is proposed."""
    rows = "".join(f"r,{doc},1,s,{score}\n" for doc, score in (("d1", 3), ("d2", 4)))
    told = refusal(tmp_path, "annotator_id,doc,item_id,system,score\n" + rows, "ratings")
    assert "if doc and item_id name the item together, say --map doc+item_id=item_id" in told


def test_a_table_of_nobodys_exclusions_excludes_nobody(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(HEADER + ROW)
    (tmp_path / "none.csv").write_text("annotator_id,assignment_id,rule,evidence\n")
    arguments = ["report", "--preferences", str(tmp_path / "t.csv"), "--exclusions", str(tmp_path / "none.csv")]
    done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    (tmp_path / "none.csv").write_text("who,why\n")
    done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "report")])
    assert "a header without rows" in done.output


@pytest.mark.parametrize(
    ("cell", "way"),
    [
        ('[{"rating": 5}]', "such as COLUMN[0].rating"),
        ("[3, 2]", "--each COLUMN"),
        ('{"fluency": 4}', "COLUMN.fluency"),
    ],
)
def test_a_cell_that_holds_json_is_told_with_the_way_inside(tmp_path: Path, cell: str, way: str) -> None:
    quoted = cell.replace('"', '""')
    assert way in refusal(tmp_path, f'annotator_id,item_id,system,score\nr,i,s,"{quoted}"\n', "ratings")


def test_a_place_in_a_list_of_scores_is_no_person(tmp_path: Path) -> None:
    text = '{"item_id": "i", "system": "s", "scores": [3, 4]}\n'
    ways = {"each": "scores{annotator_id}", "mapping": {"scores": "score"}}
    assert "leave that name out and say --unnamed" in refusal(tmp_path, text, "ratings", "t.jsonl", **ways)
    experts = '{"item_id": "i", "system": "s", "experts": [{"score": 3}, {"score": 4}]}\n'
    table = read(tmp_path, experts, "ratings", "t.jsonl", each="experts{annotator_id}").ratings
    assert table is not None
    assert table["annotator_id"].to_list() == ["1", "2"]


@pytest.mark.parametrize(
    ("option", "table"),
    [
        ({"numbers": (1.0, 2.0)}, "choices or preferences"),
        ({"ends": "included"}, "spans"),
        ({"clean_outputs": True}, "spans"),
        ({"sides": "names"}, "choices"),
    ],
)
def test_an_option_about_another_table_is_refused(tmp_path: Path, option: dict[str, object], table: str) -> None:
    told = refusal(tmp_path, "annotator_id,item_id,system,score\nr,i,s,4\n", "ratings", **option)
    assert f"expected a table of {table}, got none" in told
