"""Doubts of ``spa init --outputs``: what is asked, by which option it is settled, and what ends in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spa.commands import init
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.spa.output_shapes import (
    PROMPTS,
    SYSTEMS,
    TEXTS,
    WORDS,
    long_rows,
    write_csv,
    write_lines,
)
from tests.spa.started_studies import answers_of, refused, spa, started


def test_starting_names_items_left_out(tmp_path: Path) -> None:
    """Items that a system leaves out are named and the rest is offered."""
    file = write_csv(tmp_path / "x.csv", [r for r in long_rows() if (r["id"], r["model"]) != ("q3", "beta 2")])
    facts = started(tmp_path / "a", file)
    (asked,) = facts["asked"]
    assert asked["option"] == "--missing-outputs"
    assert asked["answer"] == "common"
    assert "1 of 8 items lack a system's answer (q3; answered least: beta 2 7" in asked["question"]
    assert facts["overview"]["items"] == 7
    facts = started(tmp_path / "b", file, "--missing-outputs", "single")
    assert facts["overview"]["items"] == 8
    assert facts["overview"]["asked"] == {"likert": ["overall"]}


def test_where_few_items_are_common_single_outputs_are_rated(tmp_path: Path) -> None:
    rows = [row for row in long_rows() if row["model"] != "beta 2" or row["id"] in ("q1", "q2")]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert facts["asked"][0]["answer"] == "single"
    assert load_study(tmp_path / "a" / "study.toml").single_outputs


def test_several_answers_to_an_item_are_never_samples_unasked(tmp_path: Path) -> None:
    rows = long_rows()
    again = [{**row, "response": f"Again. {row['response']}"} for row in rows[:2]]
    file = write_csv(tmp_path / "x.csv", [*rows, *again, rows[5]])
    line = refused(tmp_path / "no", file, status=2)
    assert "2 times a system has several answers to one item (alpha-1 to q0, beta 2 to q0)" in line
    assert line.endswith("Say which: --repeats samples|first|last\n")
    facts = started(tmp_path / "a", file, "--repeats", "last")
    assert "rows that repeat another word for word: 1" in facts["left_out"]
    assert "further answers of a system to an item: 2; the last is kept" in facts["left_out"]
    assert sum(text.startswith("Again.") for _, _, text in answers_of(tmp_path / "a")) == 2
    started(tmp_path / "b", file, "--repeats", "samples")
    study = load_study(tmp_path / "b" / "study.toml")
    assert study.outputs.sample == "sample"
    assert len(load_outputs(study).of("q0", "alpha-1")) == 2


def test_empty_outputs_are_counted_and_left_out(tmp_path: Path) -> None:
    rows = [{**row, "response": "" if row["id"] in ("q1", "q2") else row["response"]} for row in long_rows()]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert facts["left_out"][0] == "empty answers: 6 (2 of alpha-1, 2 of beta 2, 2 of gamma/3)"
    assert facts["overview"]["items"] == 6


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        (
            [{**row, "model": "x"} for row in long_rows()],
            "expected outputs of two systems or more, got one (model is x",
        ),
        (
            [{**row, "id": n, "prompt": f"Say {n}"} for n, row in enumerate(long_rows())],
            "none of the columns joins rows of different model",
        ),
        ([{**row, "response": ""} for row in long_rows()], "got empty cells in response"),
        ([{"id": row["id"], "model": row["model"], "score": 3} for row in long_rows()], "got only numbers, ids"),
        ([{"id": row["id"], "model": row["model"], "answer": "yes"} for row in long_rows()], "with --output answer"),
        (
            [{"prompt": row["prompt"], "response": row["response"]} for row in long_rows()[::3]],
            "got one column of texts",
        ),
    ],
)
def test_a_file_that_makes_no_study_says_what_is_missing(tmp_path: Path, rows: Any, missing: str) -> None:
    assert missing in refused(tmp_path / "study", write_csv(tmp_path / "x.csv", rows))


def test_nobody_to_ask_is_one_line(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", long_rows())
    result = spa("init", tmp_path / "a", "--outputs", file)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "expected --yes, as there is no terminal" in result.stderr
    assert not (tmp_path / "a").exists()


def test_at_a_terminal_each_doubt_is_asked_and_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init, "at_terminal", lambda: True)
    rows = [row for row in long_rows() if (row["id"], row["model"]) != ("q3", "beta 2")]
    file = write_csv(tmp_path / "x.csv", [*rows, {**rows[0], "response": "Another line about rivers."}])
    result = spa("init", tmp_path / "a", "--outputs", file, typed="first\nsingle\ny\n")
    assert result.exit_code == 0, result.output
    assert load_study(tmp_path / "a" / "study.toml").single_outputs
    assert f"Next: spa build {tmp_path / 'a' / 'study.toml'}" in result.stdout
    result = spa("init", tmp_path / "b", "--outputs", file, typed="first\ncommon\nn\n")
    assert (result.exit_code, "Nothing was written" in result.stdout) == (0, True)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--item", "id"), "--item: expected --outputs beside it"),
        (("more.csv",), "expected one FOLDER, got more"),
        (("--outputs", "x.csv", "--example", "zh"), "--example and --outputs: expected one of them"),
        (("--outputs", "x.csv", "--yes", "--keep", "a"), "expected --keep COLUMN=VALUE"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = spa("init", tmp_path / "a", *arguments)
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_starting_from_traces_settled_by_options(tmp_path: Path) -> None:
    """Traces are recognised and their doubts settled by options."""
    rows = [
        {
            "id": f"call-{n}-{k}",
            "call_type": "acompletion",
            "model": system,
            "status": "success",
            "startTime": 100.0 + n,
            "endTime": 101.0 + n,
            "messages": [{"role": "user", "content": PROMPTS[item]}],
            "response": {"choices": [{"message": {"role": "assistant", "content": TEXTS[item, system]}}]},
        }
        for n, item in enumerate(PROMPTS)
        for k, system in enumerate(SYSTEMS)
    ]
    facts = started(tmp_path / "a", write_lines(tmp_path / "log.jsonl", rows))
    assert facts["took"][0] == "LiteLLM log: one answer per request"
    assert {text for _, _, text in answers_of(tmp_path / "a")} == {*TEXTS.values()}
    assert len(facts["overview"]["systems"]) == 3


def test_where_two_columns_may_be_the_output_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "summary": f"In short: {row['response']}"} for row in long_rows()]
    file = write_csv(tmp_path / "x.csv", rows)
    facts = started(tmp_path / "a", file)
    assert facts["asked"] == [
        {
            "option": "--output",
            "question": "Which column holds the outputs: response, summary?",
            "answer": "response",
        }
    ]
    monkeypatch.setattr(init, "at_terminal", lambda: True)
    result = spa("init", tmp_path / "b", "--outputs", file, typed="summary\ny\n")
    assert result.exit_code == 0, result.output
    assert all(text.startswith("In short") for _, _, text in answers_of(tmp_path / "b"))


def test_what_is_printed_moves_no_cursor(tmp_path: Path) -> None:
    rows = [{**row, "model": f"{row['model']}\x1b[2J"} for row in long_rows()]
    result = spa("init", tmp_path / "a", "--outputs", write_lines(tmp_path / "x.jsonl", rows), "--yes")
    assert result.exit_code == 0
    assert "\x1b" not in result.output


def test_starting_asks_about_near_names(tmp_path: Path) -> None:
    """Names that are nearly one and share no item are asked about."""
    rows = long_rows()
    for n, row in enumerate(rows):
        if row["model"] == "alpha-1" and n % 2:
            row["model"] = "Alpha-1"
    file = write_csv(tmp_path / "x.csv", rows)
    facts = started(tmp_path / "a", file)
    assert facts["asked"][0]["option"] == "--same-names"
    assert facts["overview"]["systems"] == ["alpha-1", "beta 2", "gamma/3"]
    assert len(started(tmp_path / "b", file, "--same-names", "apart")["overview"]["systems"]) == 4


def test_an_empty_sheet_names_the_others(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Please read"])
    book.create_sheet("Data").append(["prompt", "a", "b"])
    book.save(tmp_path / "x.xlsx")
    assert "--sheet" in (line := refused(tmp_path / "s", tmp_path / "x.xlsx"))
    assert "'Data'" in line


def test_columns_of_short_answers_are_named_to_be_systems(tmp_path: Path) -> None:
    rows = [{"item": n, "prompt": f"What is {word}?", "gpt": word[0], "llama": word[1]} for n, word in enumerate(WORDS)]
    file = write_lines(tmp_path / "x.jsonl", rows)
    line = refused(tmp_path / "s", file)
    pasted = line.rstrip().partition("systems: ")[2].split()
    assert pasted == ["--system", "gpt", "--system", "llama"]
    assert started(tmp_path / "s", file, *pasted)["overview"]["systems"] == ["gpt", "llama"]


@pytest.mark.parametrize("deep", [True, False])
def test_what_is_not_looked_into_is_said(tmp_path: Path, deep: bool) -> None:
    record: Any = {f"k{n}": "a text of some words" for n in range(61)}
    if deep:
        record = {"v": "a text of some words"}
        for _ in range(9):
            record = {"in": record}
    rows = [row | {"trace": record} for row in long_rows()]
    left = started(tmp_path / "s", write_lines(tmp_path / "x.jsonl", rows))["left_out"]
    assert any(line.startswith("columns that are not read: 1 (trace") for line in left)


@pytest.mark.parametrize(
    ("answer", "values"),
    [("winner", ("alpha", "beta", "tie")), ("score", (1, 5, 3)), ("Fluency rating", ("good", "bad", "fair"))],
)
def test_finished_answers_are_no_outputs(tmp_path: Path, answer: str, values: tuple[object, ...]) -> None:
    rows = [
        {"annotator_id": f"p{who}", "item_id": item, "system_x": "alpha", "system_y": "beta", answer: values[who]}
        for who in range(3)
        for item in range(4)
    ]
    line = refused(tmp_path / "no", write_csv(tmp_path / "x.csv", rows))
    assert f"expected the systems' outputs as texts, got what people answered (annotator_id, {answer})" in line
    assert "spa report FILE" in line
    assert "--output" in line


def test_starting_takes_outputs_beside_answers(tmp_path: Path) -> None:
    """Outputs beside answers about them are taken and people are no systems."""
    rows = [{**row, "rater": f"p{at % 2}", "score": at % 5} for at, row in enumerate(long_rows())]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert any(line.startswith("system: column model") for line in facts["took"])
    for row in rows:
        del row["model"]
    assert "none that names a system" in refused(tmp_path / "no", write_csv(tmp_path / "y.csv", rows))


def sampled(rows: int = 6) -> list[dict[str, object]]:
    """Rows of an evaluation harness: of one system, its prompt and its answer twice over."""
    return [
        {"doc_id": n, "doc": {"question": f"What is {n}?"}, "arguments": {"arg_0": f"Q: What is {n}? A:"},
         "resps": [[f"It is {n}, more or less."]], "filtered_resps": [f"It is {n}, more or less"]}
        for n in range(rows)
    ]  # fmt: skip


def sides(rows: int = 8) -> list[dict[str, object]]:
    """Rows of a comparison whose sides nobody names."""
    texts = [{"response_a": f"The first text, {n}", "response_b": f"Another text, {n}"} for n in range(rows)]
    return [{"prompt": f"Write text {n // 2}", **both, "choice": "AB"[n % 2]} for n, both in enumerate(texts)]


LEVELS = ("good", "very poor", "fair", "good", "poor", "fair", "very good", "good")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (sampled(), "of two systems or more, got one column of texts (filtered_resps[0]) and none that names a system"),
        (
            [
                {"worker": f"w{n % 2}", "item": n // 2, "system": "ab"[n % 2], "quality": one}
                for n, one in enumerate(LEVELS)
            ],
            "got what people answered (worker, quality); a report of finished answers: spa report FILE",
        ),
        ([{"id": n // 2, "system": "ab"[n % 2], "output": "I cannot."} for n in range(8)], "got one text in every row"),
    ],
)
def test_starting_takes_nothing_for_systems(tmp_path: Path, rows: list[dict[str, object]], said: str) -> None:
    """A column beside an output, or of answers, is no system; one line says what is missing."""
    assert said in refused(tmp_path / "no", write_lines(tmp_path / "x.jsonl", rows))


def test_starting_choices_name_no_system(tmp_path: Path) -> None:
    """Which side was chosen is an answer: outputs of two sides stay two sides."""
    facts = started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", sides()), "--repeats", "first")
    assert facts["took"][0].startswith("system: a column each (2 systems: response_a, response_b)")
    assert any("are compared as systems: right only where each is one system's" in one for one in facts["caveats"])


def test_starting_failures_are_said(tmp_path: Path) -> None:
    """What a program wrote where there was no output is counted, with the first."""
    failures = {2: "ERROR: rate limit exceeded", 5: "#NAME?", 6: "nan", 7: '{"error": {"code": 429}}'}
    rows = [{**row, "response": failures.get(n, row["response"])} for n, row in enumerate(long_rows())]
    rows += [{**rows[0], "id": "Average", "response": "a text of 14 words"}]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert "x.csv: rows at the end begin with Average, as totals do: --drop id=Average" in facts["caveats"]
    (line,) = [one for one in facts["caveats"] if "failures" in one]
    assert "are shown as they stand: 4 (" in line
    assert "first: ERROR: rate limit exceeded); --drop COLUMN=VALUE leaves rows out" in line


def test_starting_file_for_folder_is_said(tmp_path: Path) -> None:
    """Whoever names the outputs alone, in the place of the folder, reads what to type."""
    file = write_csv(tmp_path / "x.csv", long_rows())
    result = spa("init", file)
    assert result.exit_code == 1
    assert "x.csv: expected a folder for the study, got a file; name one before your outputs: spa in" in result.output
