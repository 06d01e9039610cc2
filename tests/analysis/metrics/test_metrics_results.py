"""Metrics of a study: what is computed and left out, the command, and tests and ranks beside people."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from scipy import stats

import spa.examples
from analysis import Plan, Reading, check_frames, read_tables
from analysis.metrics.metric_values import KINDS, ComputedMetrics, compute_metrics
from analysis.metrics.scores import MetricSettings
from analysis.records.results import Results
from analysis.report import render_report
from analysis.results.analyse import analyse
from spa.cli import main
from spa.errors import AnalysisError, SpaError
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from tests.analysis.peers import multipletests

EXAMPLE = Path(spa.examples.__file__).parent / "sottana"
REFERENCES = 'references = ["editor"]'


def study_with(folder: Path, references: str = REFERENCES, *, replace: tuple[str, str] = ("", "")) -> Path:
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    path = folder / "study.toml"
    path.write_text(path.read_text().replace(REFERENCES, references).replace(*replace))
    return path


def computed(path: Path, *names: str, **more: Any) -> ComputedMetrics:
    study = load_study(path)
    return compute_metrics(study, load_outputs(study), names, MetricSettings(language=study.language), **more)


def spa(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_metrics_leave_out_the_reference_system(tmp_path: Path) -> None:
    """A system that is the reference is left out of what needs one."""
    found = computed(study_with(tmp_path), "bleu", "length")
    systems = dict(found.scores.group_by("metric").agg(pl.col("system").unique()).iter_rows())
    assert sorted(systems["bleu"]) == ["careful", "eager", "lazy"]
    assert "editor" in systems["words"]
    assert "editor is a reference, so it is left out of metrics that need one" in found.notes
    assert found.corpus.filter(metric="bleu")["n_outputs"].to_list() == [8, 8, 8]


def test_references_may_be_columns_several_or_missing(tmp_path: Path) -> None:
    path = study_with(tmp_path, 'references = ["gold", "editor"]')
    rows = [json.loads(line) for line in (tmp_path / "outputs.jsonl").read_text().splitlines()]
    rows[0]["gold"], rows[1]["gold"] = "Yesterday I went to buy bread.", rows[1]["editor"]
    lines = [json.dumps({"gold": None} | row) for row in rows]
    (tmp_path / "outputs.jsonl").write_text("\n".join(lines))
    found = computed(path, "bleu", "rouge")
    assert "1 of 8 items have several references; the signatures say how they count" in found.notes
    assert "nrefs:var" in found.corpus.filter(metric="bleu")["signature"][0]
    beside = ("outputs.jsonl", "../outputs.jsonl")
    alone = computed(study_with(tmp_path / "other", 'references = ["gold"]', replace=beside), "bleu")
    assert "6 of 8 items have no reference and are left out of metrics that need one" in alone.notes
    assert alone.scores.filter(metric="bleu", system="editor").height == 2


def test_references_are_named_after_a_study_was_built(tmp_path: Path) -> None:
    before, after = study_with(tmp_path / "a", ""), study_with(tmp_path / "b")
    assert study_fingerprint(load_study(before)) == study_fingerprint(load_study(after))


def test_what_cannot_be_computed_gets_a_line_or_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = study_with(tmp_path / "without", "")
    found = computed(without)
    lines = {note.partition(" ")[0]: note for note in found.notes}
    assert set(lines) == set(KINDS) - {"length", "readability"}
    with pytest.raises(AnalysisError, match=r"^rouge is left out: expected references, got none; \[outputs\]"):
        computed(without, "rouge")
    chinese = study_with(tmp_path / "zh", replace=("[outputs]", 'language = "zh"\n\n[outputs]'))
    with pytest.raises(AnalysisError, match='rouge is left out: expected English, got outputs in "zh"'):
        computed(chinese, "rouge")
    bare = study_with(tmp_path / "bare", replace=('item_text = "sentence"\nitem_name = "Sentence"', "")).read_text()
    (tmp_path / "bare/study.toml").write_text(bare.replace("against_source = true", ""))
    with pytest.raises(AnalysisError, match="sari is left out: expected what systems were given, got no"):
        computed(tmp_path / "bare/study.toml", "sari")
    monkeypatch.setattr("analysis.metrics.metric_values.find_spec", lambda name: None)
    with pytest.raises(AnalysisError, match=r'bleu is left out: sacrebleu not installed; pip install ".\[metrics\]"'):
        computed(study_with(tmp_path / "plain"), "bleu")


def test_missing_columns_and_empty_outputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpaError, match='expected column "gold", got columns'):
        computed(study_with(tmp_path, 'references = ["gold"]'))
    path = study_with(tmp_path / "empty")
    text = (path.parent / "outputs.jsonl").read_text()
    (path.parent / "outputs.jsonl").write_text(text.replace("She don't like when people is late.", "", 1))
    with pytest.raises(SpaError, match=r"expected an output of .*, got an empty text"):
        computed(path)


def test_own_metrics_come_from_a_table_or_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("own_metric", "broken_metric"):  # another test may have imported its own
        monkeypatch.delitem(sys.modules, name, raising=False)
    path = study_with(tmp_path)
    Path("own_metric.py").write_text(
        "def shared(outputs, references, sources):\n"
        "    return [len(set(a.split()) & set(b[0].split())) for a, b in zip(outputs, references)]\n"
        "def short(outputs, references, sources):\n    return [1.0]\n"
        "def words(outputs, references, sources):\n    return outputs\n"
        "def share(outputs, references, sources):\n    return [1 / 0]\n"
    )
    Path("broken_metric.py").write_text("def one(:\n")
    table = computed(path, "length").scores.filter(metric="words").select("item_id", "system", "score")
    table.write_csv("scores.csv")
    own = {"mine": "scores.csv", "shared": "own_metric:shared"}
    found = computed(path, "length", own=own, lower_is_better=frozenset({"mine"}))
    assert found.scores.filter(metric="mine").select("item_id", "system", "score").equals(table)
    assert found.corpus.filter(metric="mine")["higher_is_better"].to_list() == [False] * 4
    assert found.scores.filter(metric="shared", item_id="g1", system="careful")["score"].to_list() == [8]
    table.head(-1).write_csv("some.csv")
    table.drop("score").write_csv("none.csv")
    pl.concat([table, table.head(1)]).write_csv("twice.csv")
    table.with_columns(score=pl.lit("good")).write_csv("words.csv")
    for source, message in {
        "own_metric:short": "expected 8 scores, one an output, got 1",
        "own_metric:words": "expected a finite number as score, got 'Yesterday",
        "own_metric:share": r"got ZeroDivisionError: division by zero \(own_metric.py, line 8\)",
        "own_metric:nothing": "expected a file of scores .* or module:function, got AttributeError: .*nothing",
        "broken_metric:one": "module:function, got SyntaxError: ",
        "no_such_file": "got neither",
        "some.csv": "expected a score of every output of 'editor', got none of item 'g8' and 0 more",
        "none.csv": "expected columns item_id, system, score, got no score",
        "twice.csv": "twice.csv, row 34: expected one score of an output",
        "words.csv": "row 2: expected a finite number as score, got 'good'",
    }.items():
        with pytest.raises(SpaError, match=message):
            computed(path, "length", own={"bad": source})


def test_images_have_no_texts_to_compute_from(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="expected outputs that are texts, got images"):
        computed(EXAMPLE.parent / "images" / "study.toml")


def test_the_command_writes_tables_that_the_report_reads(tmp_path: Path) -> None:
    path = study_with(tmp_path)
    assert spa("build", path, "--annotators", "4").exit_code == 0
    assert spa("simulate", path, "--annotators", "4", "--seed", "1").exit_code == 0
    done = spa("metrics", path, "--metric", "rouge, chrf", "--metric", "length")
    assert done.exit_code == 0, done.output
    assert "editor is a reference" in done.output
    told = json.loads(spa("metrics", path, "--metric", "chrf", "--json", "--out", tmp_path / "only").stdout)
    assert [row["system"] for row in told["corpus"]] == ["lazy", "eager", "careful"]
    assert spa("report", path, "--out", tmp_path / "report").exit_code == 0
    results = json.loads((tmp_path / "report/results.json").read_text())
    assert {row["metric"] for row in results["metrics"]["means"]} == {
        "rouge1", "rouge2", "rougeL", "rouge_geometric", "chrf", "words", "characters",
    }  # fmt: skip
    assert {row["table"] for row in results["settings"]["inputs"]} >= {"metrics", "corpus_metrics"}
    assert any(row["a"] == "metrics:chrf" and row["p_adjusted"] is not None for row in results["correlations"])
    assert "Automatic metrics" in (tmp_path / "report/report.html").read_text()
    again = spa("report", path, "--metrics", tmp_path / "only/metrics.csv", "--json")
    assert {row["metric"] for row in json.loads(again.stdout)["metrics"]["means"]} == {"chrf"}
    for words, message in (
        (("--metric", "meteor"), "expected --metric rouge, bleu"),
        (("--metric", "bleu=x.csv"), "expected --metric NAME=FILE|MODULE:FUNCTION with a new name"),
        (("--lower-is-better", "ter"), "expected a metric of your own (none), got 'ter'"),
    ):
        refused = spa("metrics", path, *words)
        assert (refused.exit_code, message in refused.output) == (2, True), refused.output


def shown(results: Results) -> str:
    return str(render_report(results, full=True)["report.html"])


def frames(seed: int = 3, n_items: int = 40) -> dict[str, pl.DataFrame]:
    """Three systems, two people, a metric that is higher, one that is lower and one that is neither."""
    rng = np.random.default_rng(seed)
    ratings: list[dict[str, Any]] = []
    metrics: list[dict[str, Any]] = []
    for item in range(n_items):
        for place, system in enumerate("abc"):
            quality = place + rng.normal()
            output = {"item_id": str(item), "system": system}
            ratings += [{**output, "annotator_id": one, "score": round(quality + rng.normal(), 3)} for one in "pq"]
            for name, score, better in (
                ("up", quality, "true"),
                ("down", -quality, "false"),
                ("length", quality, None),
            ):
                metrics.append({**output, "metric": name, "score": score, "higher_is_better": better})
    return {"ratings": pl.DataFrame(ratings), "metrics": pl.DataFrame(metrics)}


def test_systems_are_tested_item_by_item_with_holm() -> None:
    given = frames()
    found = analyse(check_frames(given, Reading()), Plan()).metrics
    scores = given["metrics"].filter(metric="up").pivot("system", index="item_id", values="score")
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    expected = [stats.ttest_rel(scores[x].to_numpy(), scores[y].to_numpy()) for x, y in pairs]
    own = [row for row in found.pairs if row.metric == "up"]
    assert [(row.system_x, row.system_y) for row in own] == pairs
    assert [row.t for row in own] == pytest.approx([one.statistic for one in expected])
    assert [row.p_value for row in own] == pytest.approx([one.pvalue for one in expected])
    adjusted = multipletests([one.pvalue for one in expected], method="holm")[1]
    assert [row.p_adjusted for row in own] == pytest.approx(adjusted)
    assert [row.verdict for row in own] == ["y", "y", "y"]


def test_what_lies_below_the_digits_of_a_metric_is_no_variation() -> None:
    """Numbers that others of the same metric make invisible are equal."""
    metrics = frames()["metrics"].filter(metric="up")
    tiny = pl.when(pl.col("system") == "a").then(pl.col("score") * 3e-14).otherwise(pl.col("score")).alias("score")
    given = {"ratings": frames()["ratings"], "metrics": metrics.with_columns(tiny)}
    first, *others = analyse(check_frames(given, Reading()), Plan()).metrics.means
    assert (first.system, first.sd, first.ci_low, str(first.reason)) == (
        "a",
        0,
        None,
        "no variation: every value is the same",
    )
    assert all(row.reason is None and row.sd > 0 for row in others)


def test_direction_turns_verdicts_and_ranks_and_nothing_else() -> None:
    found = analyse(check_frames(frames(), Reading()), Plan()).metrics
    up, down, length = ([row for row in found.pairs if row.metric == name] for name in ("up", "down", "length"))
    assert [row.verdict for row in up] == [row.verdict for row in down]
    assert [row.p_adjusted for row in up] == [row.p_adjusted for row in down] == [row.p_adjusted for row in length]
    assert [row.mean_difference for row in up] == pytest.approx([-row.mean_difference for row in down])
    assert {(row.verdict, str(row.reason)) for row in length} == {
        (None, "higher_is_better is not given, so neither system is ahead")
    }
    ranks = {name: [row.rank for row in found.means if row.metric == name] for name in ("up", "down", "length")}
    assert ranks == {"up": [3, 2, 1], "down": [3, 2, 1], "length": [None, None, None]}
    assert {(row.metric, row.kendall_tau) for row in found.beside_people} == {("up", 1), ("down", 1)}


def test_corpus_values_rank_and_stay_apart_from_means(tmp_path: Path) -> None:
    given = frames()
    for name, frame in given.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    rows = [{"system": system, "metric": "up", "score": value} for system, value in zip("abc", (5, 9, 7), strict=True)]
    pl.DataFrame(rows).write_csv(tmp_path / "corpus_metrics.csv")
    paths = {name: tmp_path / f"{name}.csv" for name in (*given, "corpus_metrics")}
    results = analyse(read_tables(paths, Reading()), Plan())
    own = [row for row in results.metrics.means if row.metric == "up"]
    assert [(row.corpus, row.rank) for row in own] == [(5, 3), (9, 1), (7, 2)]
    assert own[0].mean == pytest.approx(given["metrics"].filter(metric="up", system="a")["score"].mean())
    assert "9.00 (1)" in shown(results)
    pl.DataFrame(rows + rows[:1]).write_csv(tmp_path / "corpus_metrics.csv")
    with pytest.raises(AnalysisError, match="expected one score of a metric for each system"):
        read_tables(paths, Reading())


def test_no_report_of_metrics_without_metrics() -> None:
    results = analyse(check_frames({"ratings": frames()["ratings"]}, Reading()), Plan())
    assert results.metrics is None
    assert "Automatic metrics" not in shown(results)


def test_below_ten_systems_their_correlations_are_not_compared() -> None:
    results = analyse(check_frames(frames(), Reading()), Plan())
    row = next(row for row in results.comparisons_of_correlations if row.level == "system")
    assert row.p_value is None
    assert str(row.reason) == "3 systems are too few to compare correlations, at least 10 are needed"
