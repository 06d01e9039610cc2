"""``--map OLD=NEW`` beside ``--map FILE``: the same tables by either, by both, and what is wrong in one line."""

from __future__ import annotations

import json
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


ELEMENTS = (
    '"AssignmentId","WorkerId","AssignmentStatus","Input.id","Input.a","Input.b","Answer.mood.1","Answer.mood.5",'
    '"Answer.word","Answer.taskAnswers"\n'
    '"A1","W1","Approved","i1","alpha","beta","true","false","Good",'
    '"[{""best"": {""a"": true, ""b"": false}, ""kind"": {""label"": ""Poor""}, ""n"": ""3""}]"\n'
    '"A2","W2","Approved","i1","beta","alpha","false","true","Poor",'
    '"[{""best"": {""a"": false, ""b"": true}, ""kind"": {""label"": ""Good""}, ""n"": ""5""}]"\n'
)
COUNTS = ("--value", "Good=4", "--value", "Poor=2")


@pytest.mark.parametrize(
    ("answer", "more", "scores"),
    [
        ("Answer.mood", (), [1.0, 5.0]),  # an option a column
        ("Answer.word", COUNTS, [4.0, 2.0]),
        ("Answer.taskAnswers.kind", COUNTS, [2.0, 4.0]),  # a chosen label in JSON
        ("Answer.taskAnswers.n", (), [3.0, 5.0]),
    ],
)
def test_any_answer_of_mturk_is_read_by_a_pair(
    answer: str, more: tuple[str, ...], scores: list[float], tmp_path: Path
) -> None:
    own = table(tmp_path, ELEMENTS, "Batch_1_batch_results.csv")
    found = ratings(tmp_path, own, *maps("Input.id=item_id", "Input.a=system", f"{answer}=score"), *more, key="mturk")
    assert [(row[0], float(str(row[4]))) for row in found] == list(zip(("W1", "W2"), scores, strict=True))


def test_a_winner_of_mturk_is_that_of_its_row(tmp_path: Path) -> None:
    """Of two columns of one option each, in JSON; the systems change sides."""
    own = table(tmp_path, ELEMENTS, "Batch_1_batch_results.csv")
    roles = ("Input.id=item_id", "Input.a=system_x", "Input.b=system_y", "Answer.taskAnswers.best=winner")
    counts = ("--value", "a=x", "--value", "b=y")
    done = run("mturk", own, *maps(*roles), *counts, "--keep-ids", "--out", tmp_path / "t")
    assert done.exit_code == 0, done.output
    rows = pl.read_csv(tmp_path / "t" / "choices.csv").to_dicts()
    assert [(row["system_x"], row["winner"]) for row in rows] == [("alpha", "x"), ("beta", "y")]


@pytest.mark.parametrize(
    ("pairs", "more", "told"),
    [
        (("Answer.word=score",), (), "Answer.word: expected numbers, got 'Good', 'Poor'; say what each counts"),
        (("Answer.word=score",), ("--value", "Good=4"), "got 'Poor'; say what each counts, such as --value 'Poor=4'"),
        (("Answer.mood=winner",), (), "Answer.mood: expected x, y, tie or a system, got '1', '5'; say"),
        ((), COUNTS, "--value Good=4: expected an answer by --map COLUMN=score"),
    ],
)
def test_a_word_of_mturk_that_counts_nothing_is_asked_about(
    pairs: tuple[str, ...], more: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    own = table(tmp_path, ELEMENTS, "Batch_1_batch_results.csv")
    sides = ("Input.a=system",) if "winner" not in "".join(pairs) else ("Input.a=system_x", "Input.b=system_y")
    done = run("mturk", own, *maps("Input.id=item_id", *sides, *pairs), *more, "--out", tmp_path / "t")
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert told in line


def test_work_that_is_marked_for_rejection_is_told(tmp_path: Path) -> None:
    """The requester wrote a reason into the file, which MTurk does not know yet."""
    marked = BATCH.replace('Answer.q2"\n', 'Answer.q2","Reject"\n').replace('"3"\n', '"3","too fast"\n')
    own = table(tmp_path, marked.replace('"5"\n', '"5",""\n').replace('"1","1"\n', '"1","1","bad"\n'))
    pairs = maps("Input.id=item_id", "Input.system=system", "Answer.q1=score")
    done = run("mturk", own, *pairs, "--out", tmp_path / "t")
    assert done.exit_code == 0, done.output
    assert "1 submissions have a text under Reject, yet are not rejected; they count" in done.output
    assert "skipped: 1 of rejected submissions" in done.output


def test_rejected_work_counts_nowhere_unasked(tmp_path: Path) -> None:
    """Neither in a report on the results themselves, nor by a mapping of any table; both say how it may."""
    own = table(tmp_path, BATCH, "Batch_1_batch_results.csv")
    pairs = maps("WorkerId=annotator_id", "Input.id=item_id", "Input.system=system", "Answer.q1=score")
    report = ["report", "--ratings", str(own), *map(str, pairs), "--json"]
    done = CliRunner().invoke(main, report)
    assert done.exit_code == 1
    assert "AssignmentStatus is Rejected in some rows; leave them out with --drop" in done.output
    for more, n in (("--drop AssignmentStatus=Rejected", 2), ("--keep AssignmentStatus=Approved", 1)):
        counted = CliRunner().invoke(main, [*report, *more.split()])
        assert counted.exit_code == 0, counted.output
        assert sum(one["n"] for one in json.loads(counted.stdout)["ratings"]["means"]) == n
    done = run("csv", own, *pairs, "--out", tmp_path / "t")
    assert done.exit_code == 1
    assert "or read the file as mturk (--from mturk)" in done.output
    (tmp_path / "import.toml").write_text('drop = { AssignmentStatus = ["Rejected"] }\nquestions = []\n')
    kept = run("csv", own, *maps(tmp_path / "import.toml", *pairs[1::2]), "--keep-ids", "--out", tmp_path / "t")
    assert kept.exit_code == 0, kept.output
    assert pl.read_csv(tmp_path / "t" / "ratings.csv")["score"].to_list() == [4, 2]
