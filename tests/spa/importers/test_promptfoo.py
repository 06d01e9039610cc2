"""promptfoo's results: scores by metric, errors, lost rows, repeats, thumbs of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spa.importers.tables import UNNAMED
from tests.spa.importers.foreign import json_file, problem, read


def result(*scores: Any, test: int = 0, system: str = "sysA", prompt: str = "{{q}}", **changes: Any) -> dict[str, Any]:
    asserted = [{"type": "javascript", "metric": "length"}, {"type": "select-best"}]
    components = [{"score": score, "assertion": one} for score, one in zip(scores, asserted, strict=False)]
    return {
        **{"provider": {"id": "file://x.js", "label": system}, "prompt": {"raw": "Q", "label": prompt}},
        **{"vars": {"q": "zero"}, "testIdx": test, "failureReason": 0, "score": 0, "testCase": {"assert": asserted}},
        "gradingResult": {"score": 0, "componentResults": components},
        **changes,
    }


def write(folder: Path, *results: object, **stats: int) -> Path:
    run = {"version": 3, "prompts": [], "results": [*results], "stats": stats}
    return json_file(folder / "results.json", {"evalId": "eval-1", "results": run, "config": {}})


def test_scores_are_those_of_the_metrics_and_never_the_total(tmp_path: Path) -> None:
    found = read("promptfoo", write(tmp_path, result(0.16, 1))).rows["ratings"]
    assert [(row["system"], row["item_id"], row["criterion"], row["score"]) for row in found] == [
        ("sysA", "zero", "length", 0.16),
        ("sysA", "zero", "select-best", 1),
    ]
    assert all("sample" not in row for row in found)


def test_an_answer_that_never_came_misses_every_assertion(tmp_path: Path) -> None:
    done = read("promptfoo", write(tmp_path, result(failureReason=2, gradingResult=None), result(None, 1, test=1)))
    told = [(row["sample"], row["score"], row["missing_reason"]) for row in done.rows["ratings"]]
    assert told == [("1", None, "error"), ("1", None, "error"), ("2", None, "no score"), ("2", 1, None)]


def test_rows_that_stats_counts_and_results_lack_are_told(tmp_path: Path) -> None:
    done = read("promptfoo", write(tmp_path, result(1), successes=1, failures=2, errors=1))
    assert [count for what, count in done.skipped.items() if "NaN" in what] == [3]


def test_equal_variables_are_samples_in_the_order_of_tests(tmp_path: Path) -> None:
    rows = [result(3, test=9), result(2, test=1), result(4, test=1, system="sysB")]
    for written in (rows, rows[::-1]):
        found = read("promptfoo", write(tmp_path, *written)).rows["ratings"]
        assert {(row["system"], row["sample"], row["score"]) for row in found} == {
            ("sysA", "2", 3),
            ("sysA", "1", 2),
            ("sysB", "1", 4),
        }


def test_prompts_belong_to_the_system_where_there_are_several(tmp_path: Path) -> None:
    found = read("promptfoo", write(tmp_path, result(1), result(2, prompt="Please: {{q}}"))).rows["ratings"]
    assert [row["system"] for row in found] == ["sysA, {{q}}", "sysA, Please: {{q}}"]


def test_several_variables_and_a_thumb_of_a_person(tmp_path: Path) -> None:
    thumb = {"componentResults": [{"score": 1, "assertion": {"type": "human"}}]}
    one = result(vars={"b": "2", "a": 1}, gradingResult=thumb)
    (row,) = read("promptfoo", write(tmp_path, one)).rows["ratings"]
    assert (row["item_id"], row["annotator_id"], row["annotator_kind"]) == ('{"a": "1", "b": "2"}', UNNAMED, "human")


def test_answers_without_an_assertion_are_counted(tmp_path: Path) -> None:
    done = read("promptfoo", write(tmp_path, result(1), result()))
    assert done.skipped == {"answers without an assertion": 1}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"provider": "x"}, "results, 1, provider: expected an object"),
        ({"vars": None}, "vars: expected an object, got nothing"),
        ({"testIdx": -1}, "testIdx: expected a whole number from 0"),
        ({"gradingResult": {"componentResults": {}}}, "componentResults: expected a list"),
        ({"gradingResult": {"componentResults": [{"score": "good"}]}}, "expected a number, got 'good'"),
    ],
)
def test_what_promptfoo_does_not_write_is_one_line(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    changed = result(1) | changes
    assert told in problem("promptfoo", write(tmp_path, changed))


def test_a_set_of_assertions_is_called_by_its_metric(tmp_path: Path) -> None:
    """Its parts follow it, as in componentResults; those of an answer that never came are the same, missing."""
    parts = [{"type": "contains", "metric": "one"}, {"type": "contains"}]
    asked = [{"type": "assert-set", "metric": "both", "assert": parts}, {"type": "contains", "value": "x"}]
    set_result = {"score": 0.5, "metadata": {"assertionSet": {"type": "assert-set", "metric": "both"}}}
    own = {"score": 0, "assertion": parts[1], "namedScores": {"length": 3}}
    components = [set_result, {"score": 1, "assertion": parts[0]}, own, {"score": 1, "assertion": asked[1]}]
    given = {"gradingResult": {"componentResults": components}, "testCase": {"assert": asked}}
    lost = {"failureReason": 2, "gradingResult": None, "testCase": {"assert": asked}, "vars": {"q": "one"}}
    done = read("promptfoo", write(tmp_path, result(**given), result(**lost)))
    names = ["both", "one", "contains", "contains 2"]
    assert [(row["criterion"], row["score"]) for row in done.rows["ratings"]] == [
        *zip(names, (0.5, 1, 0, 1), strict=True),
        *((name, None) for name in names),
    ]
    assert done.skipped == {"named scores that an assertion's own code gave": 1}
