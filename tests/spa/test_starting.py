"""``spa init --outputs``: from files as people have them to a form."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fastapi.testclient import TestClient

from spa.cli import main
from spa.commands import starting
from spa.commands.workspace import open_workspace
from spa.server.app import create_app
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.spa.output_shapes import (
    PROMPTS,
    SHAPES,
    SYSTEMS,
    TEXTS,
    WORDS,
    long_rows,
    wide_rows,
    write_csv,
    write_files,
    write_lines,
)
from tests.spa.small_study import raw_answer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


def spa(*arguments: object, typed: str | None = None) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=typed)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def started(folder: Path, *arguments: object) -> dict[str, Any]:
    result = spa("init", folder, "--outputs", *arguments, "--yes", "--json")
    assert result.exit_code == 0, result.output
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


def refused(folder: Path, *arguments: object, status: int = 1) -> str:
    result = spa("init", folder, "--outputs", *arguments, "--yes")
    assert result.exit_code == status, result.output
    assert not folder.exists()
    line: str = result.stderr
    assert line.count("\n") == 1
    assert len(line) < 500
    return line


def answers_of(folder: Path) -> set[tuple[str, str, str]]:
    """Return (prompt, system, text) of a study, without the names of items."""
    lines = (folder / "outputs.jsonl").read_text(encoding="utf-8").splitlines()
    return {(row.get("prompt", ""), row["system"], row["output"]) for row in map(json.loads, lines)}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_becomes_a_study_that_people_can_answer(tmp_path: Path, shape: str) -> None:
    folder = tmp_path / "study"
    facts = started(folder, *SHAPES[shape](tmp_path))
    assert facts["overview"]["problems"] == []
    assert facts["overview"]["asked"] == {"spa": ["overall"]}
    assert len(facts["overview"]["systems"]) == 3
    assert facts["overview"]["items"] == 8
    assert spa("check", folder).exit_code == 0
    assert spa("build", folder).exit_code == 0
    with open_workspace(folder / "study.toml") as workspace, TestClient(create_app(workspace)) as client:
        token = workspace.store.tokens()[0]
        assert client.get(f"/a/{token}").status_code == 200
        lease = workspace.store.visits.of_token(token)
        assert lease is not None
        for instructions in workspace.form(lease.assignment_id).pages[:2]:
            fields = {question.question_id: raw_answer(question) for question in instructions.questions}
            page = client.post(f"/a/{token}/p/{instructions.page_id}", data=fields).text
    assert any(text in page for text in TEXTS.values())
    assert not any(system in page for system in SYSTEMS)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "folder"])
def test_the_shape_of_a_file_makes_no_other_study(tmp_path: Path, shape: str) -> None:
    started(tmp_path / "study", *SHAPES[shape](tmp_path))
    slashed = {"gamma-3": "gamma/3"}  # a file's name holds no slash
    expected = {(PROMPTS[item], system, text) for (item, system), text in TEXTS.items()}
    assert {(p, slashed.get(s, s), t) for p, s, t in answers_of(tmp_path / "study")} == expected


def test_the_order_of_rows_and_the_names_of_systems_make_no_other_study(tmp_path: Path) -> None:
    rows = long_rows()
    started(tmp_path / "a", write_csv(tmp_path / "a.csv", rows))
    names = dict(zip(SYSTEMS, ("zeta", "alpha-1", "模型"), strict=True))
    shuffled = [{**row, "model": names[str(row["model"])]} for row in rows]
    random.Random(3).shuffle(shuffled)
    started(tmp_path / "b", write_csv(tmp_path / "b.csv", shuffled))
    renamed = {(prompt, names[system], text) for prompt, system, text in answers_of(tmp_path / "a")}
    assert answers_of(tmp_path / "b") == renamed
    first, second = (load_study(tmp_path / name / "study.toml") for name in "ab")
    assert first.spa == second.spa


def test_what_was_taken_for_what_and_what_was_left_out_is_a_line_each(tmp_path: Path) -> None:
    facts = started(tmp_path / "a", write_csv(tmp_path / "long.csv", long_rows()))
    assert facts["took"] == [
        "system: column model (3 systems: alpha-1, beta 2, gamma/3)",
        "item: column id (8 items)",
        "output: column response (texts of 51 characters on average)",
        "prompt: column prompt",
    ]
    assert facts["left_out"] == ["other columns: 2 (latency, tokens)"]
    facts = started(tmp_path / "b", write_csv(tmp_path / "wide.csv", wide_rows()))
    assert facts["took"][0] == "system: a column each (3 systems: alpha-1, beta 2, gamma/3)"
    assert facts["took"][4:] == ["references for metrics: column reference"]
    assert facts["left_out"] == ["other columns: 1 (category)", "an index without a name"]
    outputs = load_outputs(load_study(tmp_path / "b" / "study.toml"))
    assert outputs.references["1"] == ("A person sings of river as well.",)


def test_columns_of_other_names_are_found_by_what_they_hold(tmp_path: Path) -> None:
    rows = [
        {"q": row["prompt"], "who": row["model"], "topic": ("a", "b")[n % 2], "said": row["response"]}
        for n, row in enumerate(long_rows())
    ]
    facts = started(tmp_path / "study", write_csv(tmp_path / "x.csv", rows))
    assert [line.split(" (")[0] for line in facts["took"]] == [
        "system: column who",
        "item: column q",
        "output: column said",
        "prompt: column q",
    ]


def test_an_option_sets_a_role(tmp_path: Path) -> None:
    rows = [{**row, "draft": f"A draft. {row['response']}"} for row in long_rows()]
    file = write_csv(tmp_path / "x.csv", rows)
    started(tmp_path / "a", file, "--output", "draft", "--item", "prompt", "--system", "model", "--prompt", "id")
    assert all(text.startswith("A draft.") and prompt in PROMPTS for prompt, _, text in answers_of(tmp_path / "a"))
    wide = write_csv(tmp_path / "wide.csv", wide_rows())
    started(tmp_path / "b", wide, "--system", "alpha-1", "--system", "reference", "--keep", "category=verse")
    assert {system for _, system, _ in answers_of(tmp_path / "b")} == {"alpha-1", "reference"}
    assert len(answers_of(tmp_path / "b")) == 8
    assert "--keep category=prosa: expected a row with that value" in refused(
        tmp_path / "c", wide, "--keep", "category=prosa"
    )
    both = ("--keep", "category=prose", "--drop", "category=prose")
    assert "expected a column with the systems' outputs" in refused(tmp_path / "c", wide, *both)
    assert 'did you mean "draft"?' in refused(tmp_path / "c", file, "--output", "drat")


def test_items_that_a_system_leaves_out_are_named_and_the_rest_is_offered(tmp_path: Path) -> None:
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
        (
            [{"prompt": row["prompt"], "response": row["response"]} for row in long_rows()[::3]],
            "got one column of texts",
        ),
    ],
)
def test_a_file_that_makes_no_study_says_what_is_missing(tmp_path: Path, rows: Any, missing: str) -> None:
    assert missing in refused(tmp_path / "study", write_csv(tmp_path / "x.csv", rows))


def test_hostile_words_stay_what_they_are(tmp_path: Path) -> None:
    names = dict(zip(SYSTEMS, ('[systems]\nid = "x"', "/etc/passwd", "NaN"), strict=True))
    rows = [
        {
            "''' [outputs]": f"item\n{row['id']}",
            "model": names[str(row["model"])],
            "response": f"<script>alert(1)</script>\x07 {row['response']}",
        }
        for row in long_rows()
    ]
    folder = tmp_path / "study"
    facts = started(folder, write_lines(tmp_path / "x.jsonl", rows), "--item", "''' [outputs]")
    assert facts["overview"]["systems"] == ['[systems] id = "x"', "etc/passwd", "system NaN"]
    assert [one.name for one in load_study(folder / "study.toml").systems] == [None, "/etc/passwd", "NaN"]
    assert facts["overview"]["items"] == 8
    assert "'/etc/passwd' is etc/passwd" in facts["caveats"][0]
    assert all("<script>" in text and "\x07" in text for _, _, text in answers_of(folder))


def test_names_that_would_be_one_id_stay_apart(tmp_path: Path) -> None:
    names = dict(zip(SYSTEMS, ("/a", "a", "//a"), strict=True))
    rows = [{**row, "model": names[str(row["model"])]} for row in long_rows()]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert sorted(facts["overview"]["systems"]) == ["a", "a-2", "a-3"]


def test_numbers_as_pandas_writes_them_name_the_same_items(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for system, end in (("one", ""), ("two", ".0")):
        rows = [{"id": f"{n}{end}", "output": f"{system} sings of {word}."} for n, word in enumerate(WORDS)]
        write_csv(tmp_path / "x" / f"{system}.csv", rows)
    assert started(tmp_path / "a", tmp_path / "x")["overview"]["items"] == 10


def test_files_without_ids_or_prompts_are_paired_in_order(tmp_path: Path) -> None:
    files = [
        write_csv(tmp_path / f"{system}.csv", [{"translation": f"{system} said {word} well"} for word in WORDS])
        for system in ("one", "two")
    ]
    facts = started(tmp_path / "a", *files)
    assert "rows are paired in order" in facts["took"][1]
    files.append(write_csv(tmp_path / "three.csv", [{"translation": f"three said {word} well"} for word in WORDS[1:]]))
    assert "or as many rows in each file, got 10 in one.csv, 10 in two.csv, 9 in three.csv" in refused(
        tmp_path / "b", *files
    )
    assert facts["overview"]["systems"] == ["one", "two"]


def test_parts_of_a_wide_table_are_no_systems(tmp_path: Path) -> None:
    rows = wide_rows()
    files = [write_csv(tmp_path / "1.csv", rows[:4]), write_csv(tmp_path / "2.csv", rows[4:])]
    facts = started(tmp_path / "a", *files)
    assert facts["overview"]["systems"] == list(SYSTEMS)
    assert facts["overview"]["items"] == 8


def test_rows_in_one_place_with_other_prompts_are_not_paired(tmp_path: Path) -> None:
    files = [
        write_csv(
            tmp_path / f"{system}.csv", [{"prompt": f"{p} {system}", "output": f"{p}!"} for p in PROMPTS.values()]
        )
        for system in ("one", "two")
    ]
    assert "expected the same items in each system's file" in refused(tmp_path / "a", *files)


def test_prompts_that_differ_under_one_id_are_doubted(tmp_path: Path) -> None:
    rows = [{**row, "prompt": f"{row['prompt']} {row['model']}"} for row in long_rows()]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert "prompt differs within 100% of the items and is not shown: are they the same?" in facts["caveats"]


def test_images_are_copied_into_the_study(tmp_path: Path) -> None:
    rows = []
    for system in ("one", "two"):
        for n in range(6):
            path = tmp_path / "art" / f"{system}-{n}.png"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(PNG)
            rows.append({"task": f"Draw circle {n}.", "model": system, "image": f"art/{system}-{n}.png"})
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert load_study(tmp_path / "a" / "study.toml").outputs.kind == "image"
    assert facts["overview"]["items"] == 6
    assert len(list((tmp_path / "a" / "images").iterdir())) == 12
    for system in ("one", "two"):
        for n in range(6):
            (tmp_path / "folder" / system).mkdir(parents=True, exist_ok=True)
            (tmp_path / "folder" / system / f"{n}.png").write_bytes(PNG)
    assert started(tmp_path / "b", tmp_path / "folder")["overview"]["systems"] == ["one", "two"]
    (tmp_path / "art" / "one-3.png").write_bytes(b"no image")
    assert "expected a PNG, JPEG, GIF or WebP file" in refused(tmp_path / "c", tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("systems", "words", "way"),
    [(3, 40, "spa"), (7, 10, "chain"), (7, 200, "choices"), (12, 10, "choices"), (3, 900, "choices")],
)
def test_the_form_fits_the_number_of_systems_and_the_length_of_texts(
    tmp_path: Path, systems: int, words: int, way: str
) -> None:
    rows = [
        {"id": item, "model": f"m{k}", "text": f"{item} " + " ".join([WORDS[k % 10]] * words)}
        for item in range(12)
        for k in range(systems)
    ]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    study = load_study(tmp_path / "a" / "study.toml")
    assert (study.spa and study.spa.comparisons) == {"spa": "all", "chain": "chain", "choices": None}[way]
    assert study.deals_pairs == (way == "choices")
    assert facts["overview"]["minutes"] < 20
    assert 8 < float(facts["overview"]["hourly_pay"]) < 20


def test_few_items_are_chosen_between(tmp_path: Path) -> None:
    rows = [row for row in long_rows() if row["id"] in ("q0", "q1")]
    started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert load_study(tmp_path / "a" / "study.toml").deals_pairs
    rows = [row for row in long_rows() if row["id"] in ("q0", "q1", "q2")]
    started(tmp_path / "b", write_csv(tmp_path / "y.csv", rows))
    assert load_study(tmp_path / "b" / "study.toml").spa


def test_the_form_is_in_the_language_of_the_texts_where_it_is_ours(tmp_path: Path) -> None:
    texts = {
        "zh": "这是一个很长的故事，关于河流和光。",
        "ar": "هذه قصة طويلة عن النهر والنور.",
        "en": "Это рассказ о реке.",
    }
    for language, text in texts.items():
        rows = [{"id": n, "model": m, "text": f"{text} {n} {m}"} for n in range(6) for m in "ab"]
        started(tmp_path / language, write_csv(tmp_path / f"{language}.csv", rows))
        assert load_study(tmp_path / language / "study.toml").language == language


def test_nobody_to_ask_is_one_line(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", long_rows())
    result = spa("init", tmp_path / "a", "--outputs", file)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "expected --yes, as there is no terminal" in result.stderr
    assert not (tmp_path / "a").exists()


def test_at_a_terminal_each_doubt_is_asked_and_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "at_terminal", lambda: True)
    rows = [row for row in long_rows() if (row["id"], row["model"]) != ("q3", "beta 2")]
    file = write_csv(tmp_path / "x.csv", [*rows, {**rows[0], "response": "Another line about rivers."}])
    result = spa("init", tmp_path / "a", "--outputs", file, typed="first\nsingle\ny\n")
    assert result.exit_code == 0, result.output
    assert load_study(tmp_path / "a" / "study.toml").single_outputs
    assert f"Next: spa build {tmp_path / 'a' / 'study.toml'}" in result.stdout
    result = spa("init", tmp_path / "b", "--outputs", file, typed="first\ncommon\nn\n")
    assert (result.exit_code, "Nothing was written" in result.stdout) == (0, True)
    assert not (tmp_path / "b").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", long_rows())
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "study.toml").write_text("mine", encoding="utf-8")
    result = spa("init", tmp_path / "a", "--outputs", file, "--yes")
    assert result.exit_code == 1
    assert "it is not overwritten" in result.stderr
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["study.toml"]


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


def test_a_file_a_system_may_lie_in_a_folder_with_questions_beside(tmp_path: Path) -> None:
    write_files(tmp_path / "x")
    assert started(tmp_path / "a", tmp_path / "x")["overview"]["systems"] == ["alpha-1", "beta 2", "gamma-3"]
    turns = [{"question_id": n, "turns": [prompt, "Shorter."]} for n, prompt in enumerate(PROMPTS.values())]
    files = [write_lines(tmp_path / "mt" / "question.jsonl", turns)]
    for k, system in enumerate(("vicuna", "gpt")):
        answers = [
            {"question_id": n, "model_id": system, "choices": [{"index": 0, "turns": [f"On {word} {k}", "Short."]}]}
            for n, word in enumerate(WORDS[:8])
        ]
        files.append(write_lines(tmp_path / "mt" / f"{system}.jsonl", answers))
    facts = started(tmp_path / "b", *files)
    assert answers_of(tmp_path / "b") == {
        (prompt, system, f"On {word} {k}")
        for prompt, word in zip(PROMPTS.values(), WORDS, strict=False)
        for k, system in enumerate(("vicuna", "gpt"))
    }
    assert "further values of lists, in 16 rows: choices[0].turns[0] is the first" in facts["left_out"]


def test_answers_of_a_batch_are_joined_with_what_was_asked(tmp_path: Path) -> None:
    asked = [
        {
            "custom_id": f"r{n}",
            "method": "POST",
            "body": {"model": "x", "messages": [{"role": "user", "content": text}]},
        }
        for n, text in enumerate(PROMPTS.values())
    ]
    files = [write_lines(tmp_path / "asked.jsonl", asked)]
    for system in ("big-2026-01-01", "small-2026-01-01"):
        rows = [
            {
                "id": f"batch_{system}_{n}",
                "custom_id": f"r{n}",
                "response": {
                    "body": {
                        "model": system,
                        "choices": [{"message": {"role": "assistant", "content": f"{word} {system}"}}],
                    }
                },
            }
            for n, word in enumerate(WORDS[:8])
        ]
        files.append(write_lines(tmp_path / f"{system}.jsonl", rows))
    started(tmp_path / "a", *files)
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "a")} == {*PROMPTS.values()}
    assert len(answers_of(tmp_path / "a")) == 16


def test_two_answers_a_row_are_taken_apart(tmp_path: Path) -> None:
    pairs = [("alpha-1", "beta 2"), ("beta 2", "gamma/3"), ("gamma/3", "alpha-1")]
    rows = [
        {
            "prompt": PROMPTS[item],
            "model_a": a,
            "model_b": b,
            "response_a": TEXTS[item, a],
            "response_b": TEXTS[item, b],
        }
        for item in PROMPTS
        for a, b in pairs
    ]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert len(answers_of(tmp_path / "a")) == 24
    assert "rows that repeat another word for word: 24" in facts["left_out"]


@pytest.mark.parametrize("field", ["outputs", "responses"])
def test_systems_may_be_keys_or_records_of_a_list(tmp_path: Path, field: str) -> None:
    keyed = [{"prompt": p, field: {s: TEXTS[item, s] for s in SYSTEMS}} for item, p in PROMPTS.items()]
    started(tmp_path / "a", write_lines(tmp_path / "keys.jsonl", keyed))
    listed = [
        {"prompt": p, field: [{"model": s, "text": TEXTS[item, s]} for s in SYSTEMS]} for item, p in PROMPTS.items()
    ]
    started(tmp_path / "b", write_lines(tmp_path / "list.jsonl", listed))
    assert answers_of(tmp_path / "a") == answers_of(tmp_path / "b")
    assert len(answers_of(tmp_path / "a")) == 24


@pytest.mark.parametrize("chat", [True, False], ids=["chats", "tables"])
def test_a_file_is_a_system_of_its_whole_name(tmp_path: Path, chat: bool) -> None:
    files = []
    for system in ("sonnet-3.5", "sonnet-3.7", "o3"):
        answers = [(prompt, f"{word} by {len(system)}") for prompt, word in zip(PROMPTS.values(), WORDS, strict=False)]
        rows: list[dict[str, Any]] = [
            {
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}],
                "completion": {"choices": [{"message": {"role": "assistant", "content": text}}]},
            }
            if chat
            else {"prompt": prompt, "output": text}
            for prompt, text in answers
        ]
        files.append(write_lines(tmp_path / f"{system}.jsonl", rows))
    assert set(started(tmp_path / "a", *files)["overview"]["systems"]) == {"sonnet-3.5", "sonnet-3.7", "o3"}


def test_texts_may_stand_a_line_each_beside_their_sources(tmp_path: Path) -> None:
    for name in ("one", "two", "source"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} said {word}.\n" for word in WORDS), encoding="utf-8")
    started(tmp_path / "a", *(tmp_path / f"{name}.txt" for name in ("one", "two", "source")))
    assert answers_of(tmp_path / "a") == {
        (f"source said {word}.", name, f"{name} said {word}.") for word in WORDS for name in ("one", "two")
    }
    (tmp_path / "two.txt").write_text("A single line.\n", encoding="utf-8")
    assert "expected a line for each output, as many in each file, got 10 in one.txt, 1 in two.txt" in refused(
        tmp_path / "b", tmp_path / "one.txt", tmp_path / "two.txt"
    )


def test_folders_may_be_of_items(tmp_path: Path) -> None:
    for (item, system), text in TEXTS.items():
        file = tmp_path / "texts" / item / f"{system.replace('/', '-')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        (file.parent / "prompt.txt").write_text(PROMPTS[item], encoding="utf-8")
    facts = started(tmp_path / "a", tmp_path / "texts")
    assert sorted(facts["overview"]["systems"]) == ["alpha-1", "beta 2", "gamma-3"]
    assert {(prompt, text) for prompt, _, text in answers_of(tmp_path / "a")} == {
        (PROMPTS[item], text) for (item, _), text in TEXTS.items()
    }
    (tmp_path / "flat").mkdir()
    for system in "ab":
        (tmp_path / "flat" / f"{system}_1.txt").write_text("A text.", encoding="utf-8")
    assert "give a folder for each system with a file for each item" in refused(tmp_path / "b", tmp_path / "flat")


@pytest.mark.parametrize(
    ("objects", "each"),
    [
        ({item: {s: TEXTS[item, s] for s in SYSTEMS} for item in PROMPTS}, "{id}"),
        ({s: {item: TEXTS[item, s] for item in PROMPTS} for s in SYSTEMS}, "{model}.{item}"),
    ],
)
def test_an_object_of_objects_is_taken_apart_by_an_option(tmp_path: Path, objects: Any, each: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps(objects), encoding="utf-8")
    assert "take them apart with --each '{id}'" in refused(tmp_path / "no", file)
    started(tmp_path / "a", file, "--each", each)
    assert answers_of(tmp_path / "a") == {("", system, text) for (_, system), text in TEXTS.items()}


def test_people_read_what_the_prompts_are(tmp_path: Path) -> None:
    rows = [{"source": row["prompt"], "model": row["model"], "translation": row["response"]} for row in long_rows()]
    started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert load_study(tmp_path / "a" / "study.toml").outputs.item_name == "Source"


def test_an_index_of_pandas_has_no_name_and_is_none(tmp_path: Path) -> None:
    rows = [{"": n, **row} for n, row in enumerate(long_rows())]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert facts["took"][1] == "item: column id (8 items)"
    assert "an index without a name" in facts["left_out"]


def test_traces_are_recognised_and_their_doubts_settled_by_options(tmp_path: Path) -> None:
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
    monkeypatch.setattr(starting, "at_terminal", lambda: True)
    result = spa("init", tmp_path / "b", "--outputs", file, typed="summary\ny\n")
    assert result.exit_code == 0, result.output
    assert all(text.startswith("In short") for _, _, text in answers_of(tmp_path / "b"))


def test_each_files_own_name_of_the_output_is_no_system(tmp_path: Path) -> None:
    files = [
        write_csv(tmp_path / f"{system}.csv", [{"prompt": p, column: f"{system}: {p}"} for p in PROMPTS.values()])
        for system, column in (("one", "output"), ("two", "response"))
    ]
    assert started(tmp_path / "a", *files)["overview"]["systems"] == ["one", "two"]


def test_several_columns_may_name_the_system(tmp_path: Path) -> None:
    rows = [
        {**row, "temperature": t, "response": f"{row['response']} At {t}."} for row in long_rows() for t in ("0", "1")
    ]
    file = write_csv(tmp_path / "x.csv", rows)
    result = spa("init", tmp_path / "no", "--outputs", file, "--yes")
    assert result.exit_code == 2
    assert "temperature tells answers of one system apart: --system model+temperature names both" in result.stdout
    facts = started(tmp_path / "a", file, "--system", "model+temperature")
    assert len(facts["overview"]["systems"]) == 6


def test_what_is_printed_moves_no_cursor(tmp_path: Path) -> None:
    rows = [{**row, "model": f"{row['model']}\x1b[2J"} for row in long_rows()]
    result = spa("init", tmp_path / "a", "--outputs", write_lines(tmp_path / "x.jsonl", rows), "--yes")
    assert result.exit_code == 0
    assert "\x1b" not in result.output


def test_names_that_are_nearly_one_and_share_no_item_are_asked_about(tmp_path: Path) -> None:
    rows = long_rows()
    for n, row in enumerate(rows):
        if row["model"] == "alpha-1" and n % 2:
            row["model"] = "Alpha-1"
    file = write_csv(tmp_path / "x.csv", rows)
    facts = started(tmp_path / "a", file)
    assert facts["asked"][0]["option"] == "--same-names"
    assert facts["overview"]["systems"] == ["alpha-1", "beta 2", "gamma/3"]
    assert len(started(tmp_path / "b", file, "--same-names", "apart")["overview"]["systems"]) == 4


def test_what_systems_were_told_and_on_what_are_both_the_prompt(tmp_path: Path) -> None:
    rows = [
        {"instruction": f"Do {n % 2}.", "input": prompt, "model": model, "output": f"{model} on {prompt}"}
        for n, prompt in enumerate(PROMPTS.values())
        for model in SYSTEMS
    ]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert facts["took"][3] == "prompt: column instruction, below it column input"
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "a")} == {
        f"Do {n % 2}.\n\n{prompt}" for n, prompt in enumerate(PROMPTS.values())
    }


def test_notes_beside_outputs_are_no_system(tmp_path: Path) -> None:
    rows = [
        {"ID": n, "Input text": p, "GPT-4": f"G: {p}", "Human": f"H: {p}", "Annotator notes": f"Fine, I think, {n}"}
        for n, p in enumerate(PROMPTS.values())
    ]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert facts["overview"]["systems"] == ["GPT-4", "Human"]
    assert facts["took"][3] == "prompt: column Input text"


def test_a_parent_tells_what_an_id_is_of(tmp_path: Path) -> None:
    rows = [
        {"provider": {"id": system}, "prompt": {"raw": PROMPTS[item]}, "response": {"output": text}, "success": True}
        for (item, system), text in TEXTS.items()
    ]
    facts = started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    assert [line.split(" (")[0] for line in facts["took"]] == [
        "system: column provider.id",
        "item: column prompt.raw",
        "output: column response.output",
        "prompt: column prompt.raw",
    ]


def test_a_sheet_may_be_a_system(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for n, system in enumerate(("one", "two")):
        sheet = book.active if n == 0 else book.create_sheet()
        sheet.title = system
        sheet.append(["Prompt", "Answer"])
        for item, prompt in PROMPTS.items():
            sheet.append([prompt, f"{system} on {item}"])
    book.save(tmp_path / "x.xlsx")
    facts = started(tmp_path / "a", tmp_path / "x.xlsx")
    assert facts["took"][0] == "system: the sheet (2 systems: one, two)"
    assert len(answers_of(tmp_path / "a")) == 16


def test_other_files_of_a_folder_are_left_out_and_counted(tmp_path: Path) -> None:
    write_files(tmp_path / "x")
    (tmp_path / "x" / "README.md").write_text("What these are.", encoding="utf-8")
    (tmp_path / "x" / "results.json").write_text('{"score": 3, "settings": {"a": "b"}}', encoding="utf-8")
    facts = started(tmp_path / "a", tmp_path / "x")
    assert facts["overview"]["systems"] == ["alpha-1", "beta 2", "gamma-3"]
    assert facts["left_out"][-1].startswith("files that are no tables of outputs: 2 (")
    assert "results.json" in refused(tmp_path / "b", tmp_path / "x" / "results.json")


def test_a_prompt_that_differs_in_an_item_is_said(tmp_path: Path) -> None:
    rows = [
        {
            "id": n,
            "prompt": f"Write about {n}{' please' * (n == 3 and k == 1)}.",
            "model": f"m{k}",
            "output": f"{n}, {k}.",
        }
        for n in range(24)
        for k in range(2)
    ]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert "prompt differs within 4.2% of the items: the first is shown" in facts["caveats"]


@pytest.mark.parametrize("name", ["prompt_index", "item number", "storyId", "doc.id"])
def test_items_have_many_names(tmp_path: Path, name: str) -> None:
    rows = []
    for row in long_rows():
        key, _, below = name.partition(".")
        rows.append({key: {below: row["id"]} if below else row["id"], "model": row["model"], "text": row["response"]})
    facts = started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    assert facts["took"][1] == f"item: column {name} (8 items)"


def test_a_source_of_few_values_is_no_prompt(tmp_path: Path) -> None:
    rows = [
        {
            "source": ("koala", "vicuna")[n % 2],
            "instruction": p,
            "completions": [{"model": m, "response": f"{m}: {p}"} for m in "ab"],
        }
        for n, p in enumerate(PROMPTS.values())
    ]
    facts = started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "a")} == {*PROMPTS.values()}
    assert facts["left_out"] == ["other columns: 1 (source)"]
    named = [{"id": r["id"], "source": "koala", "model": r["model"], "output": r["response"]} for r in long_rows()]
    started(tmp_path / "b", write_csv(tmp_path / "y.csv", named))
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "b")} == {""}


def test_pairs_of_conversations_are_taken_apart(tmp_path: Path) -> None:
    sides = dict(zip("ab", SYSTEMS, strict=False))
    rows = []
    for item, prompt in PROMPTS.items():
        row: dict[str, Any] = {"question_id": item}
        for side, system in sides.items():
            row[f"model_{side}"] = system
            row[f"conversation_{side}"] = [
                {"role": "user", "content": prompt},
                {"role": "assistant", "content": TEXTS[item, system]},
            ]
        rows.append(row)
    started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    assert answers_of(tmp_path / "a") == {
        (PROMPTS[item], system, TEXTS[item, system]) for item in PROMPTS for system in SYSTEMS[:2]
    }


def test_what_stands_beside_named_systems_is_the_prompt(tmp_path: Path) -> None:
    rows = [{"brief": f"Say whether {word} floats.", "a": "yes", "b": "no"} for word in WORDS]
    file = write_lines(tmp_path / "x.jsonl", rows)
    facts = started(tmp_path / "s", file, "--system", "a", "--system", "b")
    assert "prompt: column brief" in facts["took"]
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "s")} == {row["brief"] for row in rows}


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


def test_files_of_one_name_are_called_by_the_folder_in_which_they_differ(tmp_path: Path) -> None:
    files = []
    for run in ("run-a", "run-b"):
        (tmp_path / run / "out").mkdir(parents=True)
        rows = [{"id": n, "output": f"{run[-1]} tells of a {word}"} for n, word in enumerate(WORDS)]
        files.append(write_lines(tmp_path / run / "out" / "texts.jsonl", rows))
    assert started(tmp_path / "s", *files)["overview"]["systems"] == ["run-a", "run-b"]


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
