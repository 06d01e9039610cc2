"""``--map OLD=NEW`` beside ``--map FILE``: the same tables by either, by both, and what is wrong in one line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from spa.cli import main

TABLE = "rater,doc,part,model,fluent,clear\np1,d,1,a,4,5\np1,d,1,b,2,3\np2,d,2,a,5,4\np2,d,2,b,1,\n"


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["import", *map(str, words)])


def ratings(folder: Path, *words: object, key: str = "csv") -> list[tuple[object, ...]]:
    """Return who gave which score to what."""
    done = run(key, *words, "--keep-ids", "--out", folder / "out")
    assert done.exit_code == 0, done.output
    rows = pl.read_csv(folder / "out" / "ratings.csv", infer_schema=False).to_dicts()
    names = ("annotator_id", "item_id", "system", "criterion", "score")
    return sorted(tuple(row[name] or "" for name in names) for row in rows)


def maps(*pairs: object) -> list[object]:
    return [word for pair in pairs for word in ("--map", pair)]


def table(folder: Path, content: str = TABLE, name: str = "answers.csv") -> Path:
    (folder / name).write_text(content)
    return folder / name


ROLES = ("rater=annotator_id", "doc=item_id", "model=system")


def test_pairs_are_what_a_mapping_file_says(tmp_path: Path) -> None:
    own = table(tmp_path)
    (tmp_path / "import.toml").write_text(
        'annotator = "rater"\nitem = "doc"\nquestions = [\n'
        '{ column = "fluent", system_column = "model", criterion = "fluent" },\n'
        '{ column = "clear", system_column = "model", criterion = "clear" }]\n'
    )
    by_file = ratings(tmp_path, own, *maps(tmp_path / "import.toml"))
    assert len(by_file) == 8
    assert ratings(tmp_path, own, *maps(*ROLES, "fluent=score", "clear=score")) == by_file
    renamed = table(tmp_path, TABLE.replace("rater,", "judge,"), "other.csv")
    assert ratings(tmp_path, renamed, *maps(tmp_path / "import.toml", "judge=annotator_id")) == by_file


def test_columns_with_names_of_tidy_tables_need_no_pair(tmp_path: Path) -> None:
    own = table(tmp_path, "who,item_id,system,criterion,score\np,i,a,c,4\np,i,b,c,3\n")
    assert ratings(tmp_path, own, *maps("who=annotator_id")) == [
        ("p", "i", "a", "c", "4.0"),
        ("p", "i", "b", "c", "3.0"),
    ]


def test_one_column_is_overall_and_two_may_name_an_item(tmp_path: Path) -> None:
    found = ratings(
        tmp_path, table(tmp_path), *maps("rater=annotator_id", "doc+part=item_id", "model=system", "fluent=score")
    )
    assert found[0] == ("p1", "d/1", "a", "overall", "4.0")
    assert {row[1] for row in found} == {"d/1", "d/2"}


def test_pairs_read_comparisons(tmp_path: Path) -> None:
    own = table(tmp_path, "who,item,left,right,pick\np,i,a,b,left\np,j,a,b,right\np,k,a,b,tie\n")
    pairs = maps("who=annotator_id", "item=item_id", "left=system_x", "right=system_y", "pick=winner")
    done = run("csv", own, *pairs, "--keep-ids", "--out", tmp_path / "t")
    assert done.exit_code == 0, done.output
    assert pl.read_csv(tmp_path / "t" / "choices.csv")["winner"].to_list() == ["x", "y", "tie"]


BATCH = (
    '"AssignmentId","WorkerId","AssignmentStatus","WorkTimeInSeconds","Input.id","Input.system","Answer.q1","Answer.q2"\n'
    '"A1","W1","Approved","9","i1","alpha","4","5"\n"A2","W2","Rejected","9","i1","alpha","1","1"\n'
    '"A3","W2","Submitted","9","i1","beta","2","3"\n'
)


def test_pairs_read_results_of_mturk(tmp_path: Path) -> None:
    """Rejected work stays apart, and a mapping file may say the rest."""
    own = table(tmp_path, BATCH, "Batch_1_batch_results.csv")
    roles = ("Input.id=item_id", "Input.system=system")
    both = ratings(tmp_path, own, *maps(*roles, "Answer.q1=score", "Answer.q2=score"), key="mturk")
    assert both == [
        ("W1", "i1", "alpha", "q1", "4.0"),
        ("W1", "i1", "alpha", "q2", "5.0"),
        ("W2", "i1", "beta", "q1", "2.0"),
        ("W2", "i1", "beta", "q2", "3.0"),
    ]
    (tmp_path / "old.toml").write_text(
        '[[ratings]]\nitem_id = { column = "Input.id" }\nsystem = { column = "nothing" }\n'
        'criterion = { value = "q1" }\nscore = { column = "Answer.q1" }\n'
    )
    by_both = ratings(tmp_path, own, *maps(tmp_path / "old.toml", "Input.system=system"), key="mturk")
    assert by_both == [row for row in both if row[3] == "q1"]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["judge=annotator_id", *ROLES[1:], "fluent=score"], "expected a column 'judge'"),
        ([*ROLES, "score=score"], "expected a column 'score'"),
        ([*ROLES, "fluent=grade"], "--map fluent=grade: expected COLUMN=NAME with one of annotator_id, "),
        ([*ROLES], "expected a column of the answers (score, preference, winner, rank), got rater, doc, "),
        ([*ROLES[1:], "fluent=score"], "expected a column of annotator_id, got rater, doc, "),
        ([*ROLES[:2], "fluent=score"], "expected a column of system, got rater, doc, "),
        ([*ROLES, "fluent=winner"], "expected a column of system_x, got rater, doc, "),
        ([*ROLES, "part=item_id", "fluent=score"], "--map: expected one column as item_id, got doc and part"),
        (["=score"], "expected a file or OLD=NEW, got '=score'"),
        (["a.toml", "b.toml"], "expected one mapping file, got a.toml and b.toml"),
    ],
)
def test_a_pair_that_fits_nothing_is_one_line(pairs: list[str], told: str, tmp_path: Path) -> None:
    done = run("csv", table(tmp_path), *maps(*pairs), "--out", tmp_path / "out")
    assert done.exit_code in (1, 2)
    line = done.output.splitlines()[-1]
    assert told in line
    assert len(line.replace(str(tmp_path), "")) < 500
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("pair", ["Answer.q9=score", "Input.no=item_id", "Worker=annotator_id"])
def test_a_pair_without_its_column_in_results_is_one_line(pair: str, tmp_path: Path) -> None:
    pairs = {"item_id": "Input.id", "system": "Input.system", "score": "Answer.q1"}
    old, _, new = pair.partition("=")
    given = [f"{column}={name}" for name, column in (pairs | {new: old}).items()]
    done = run("mturk", table(tmp_path, BATCH), *maps(*given), "--out", tmp_path / "out")
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert f"no result has the column '{old}'" in line


def test_a_pair_names_a_criterion_of_potato_anew(tmp_path: Path) -> None:
    person = tmp_path / "annotation_output" / "W1"
    person.mkdir(parents=True)
    (person / "annotated_instances.jsonl").write_text('{"id": "i1", "label_annotations": {"q": {"scale_4": "4"}}}\n')
    (tmp_path / "import.toml").write_text('systems = ["a"]\ncriteria = ["q"]\n')
    named = ratings(tmp_path, tmp_path, *maps(tmp_path / "import.toml", "q=quality"), key="potato")
    assert named == [("W1", "i1", "a", "quality", "4.0")]
    for given, told in (
        (maps(tmp_path / "import.toml", "x=quality"), "--map x=quality: expected one of the criteria q, got 'x'"),
        (maps("q=quality"), "--map q=quality: expected a file beside it"),
    ):
        done = run("potato", tmp_path, *given, "--out", tmp_path / "t")
        assert done.exit_code == 1
        assert told in done.output
