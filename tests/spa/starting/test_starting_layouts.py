"""Files, folders and records in which outputs lie: each answer is found where it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spa.starting.finding import find_answers
from spa.starting.found import FoundOutputs
from spa.starting.input_rows import NamedColumns
from spa.starting.settling import missing_outputs, with_items, without_repeats
from spa.study.load import load_study
from spa.tables.options import TableOptions
from tests.spa.output_shapes import (
    PROMPTS,
    SYSTEMS,
    TEXTS,
    WORDS,
    long_rows,
    wide_rows,
    write_csv,
    write_files,
    write_lines,
)
from tests.spa.started_studies import PNG, answers_of, refused, started


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


def test_records_that_systems_wrote_are_shown_whole(tmp_path: Path) -> None:
    """As JSON, with numbers as they stand in the file; not where a part of them is called as outputs are."""
    rows = [
        {
            "id": n,
            "model": system,
            "output": {"name": f"{word} of {system}", "year": 1e3 + n, "parts": [n, {"x": None}]},
        }
        for n, word in enumerate(WORDS)
        for system in SYSTEMS
    ]
    facts = started(tmp_path / "a", write_lines(tmp_path / "a.jsonl", rows))
    assert not facts["left_out"]
    shown = {(system, text) for _, system, text in answers_of(tmp_path / "a")}
    assert {(system, json.dumps(json.loads(text))) for system, text in shown} == {
        (row["model"], json.dumps(row["output"])) for row in rows
    }
    assert '"year": 1003.0,\n' in "".join(text for _, text in shown)
    told = [{**row, "output": {"answer": row["output"]["name"], "year": 5}} for row in rows]  # type: ignore[index]
    facts = started(tmp_path / "b", write_lines(tmp_path / "b.jsonl", told))
    assert facts["took"][2].startswith("output: column output.answer")


def test_one_item_is_enough(tmp_path: Path) -> None:
    rows = [row for row in long_rows() if row["id"] == "q1"]
    assert started(tmp_path / "a", write_csv(tmp_path / "a.csv", rows))["overview"]["items"] == 1


def test_captions_stand_beside_their_picture(tmp_path: Path) -> None:
    """A picture is shown where its path alone names the item, too."""
    rows = []
    for n, word in enumerate(WORDS[:4]):
        (tmp_path / f"{n}.png").write_bytes(PNG)
        rows += [{"image": f"{n}.png", "model": s, "caption": f"A {word} by {s} at dawn"} for s in SYSTEMS]
    started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    study = load_study(tmp_path / "a" / "study.toml")
    assert (study.outputs.kind, study.outputs.item_kind) == ("text", "image")
    assert len(list((tmp_path / "a" / "given").iterdir())) == 4


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


def test_names_of_files_may_hold_system_and_item(tmp_path: Path) -> None:
    """``sd_xl_1.png`` is of system ``sd_xl`` and item 1 where the files are one of each; else they are refused."""
    flat = tmp_path / "flat"
    flat.mkdir()
    for system in ("dall-e-3", "sd_xl"):
        for n in (1, 2, 3):
            (flat / f"{system}_{n}.png").write_bytes(PNG)
    facts = started(tmp_path / "a", flat)
    assert facts["overview"]["systems"] == ["dall-e-3", "sd_xl"]
    assert facts["overview"]["items"] == 3
    (flat / "sd_xl_3.png").unlink()
    assert "put the files of each system into a folder of its own" in refused(tmp_path / "b", flat)
    for name in ("a_1_x", "a_1_y", "a_2_x", "a_2_y", "b_1_x", "b_1_y", "b_2_x", "b_2_y"):
        (tmp_path / "twice").mkdir(exist_ok=True)
        (tmp_path / "twice" / f"{name}.png").write_bytes(PNG)
    assert "put the files of each system into a folder of its own" in refused(tmp_path / "c", tmp_path / "twice")


def test_starting_one_file_a_system(tmp_path: Path) -> None:
    """A file a system may lie in a folder with questions beside."""
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
        said = "".join(f"{name} said\u2028{word}.\n" for word in WORDS)  # a mark that ends no line
        (tmp_path / f"{name}.txt").write_text(said, encoding="utf-8")
    started(tmp_path / "a", *(tmp_path / f"{name}.txt" for name in ("one", "two", "source")))
    assert answers_of(tmp_path / "a") == {
        (f"source said\u2028{word}.", name, f"{name} said\u2028{word}.") for word in WORDS for name in ("one", "two")
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
def test_an_object_of_objects_is_taken_apart(tmp_path: Path, objects: Any, each: str) -> None:
    """The fewer keys are systems; where there are as many of both, an option says which."""
    file = tmp_path / "x.json"
    file.write_text(json.dumps(objects), encoding="utf-8")
    started(tmp_path / "a", file, "--each", each)
    started(tmp_path / "b", file)
    for folder in "ab":
        assert answers_of(tmp_path / folder) == {("", system, text) for (_, system), text in TEXTS.items()}
    file.write_text(json.dumps({a: {b: f"{a} on {b}, at length" for b in "xyz"} for a in "klm"}), encoding="utf-8")
    assert "take them apart with --each '{id}'" in refused(tmp_path / "no", file)


def test_an_index_of_pandas_has_no_name_and_is_none(tmp_path: Path) -> None:
    rows = [{"": n, **row} for n, row in enumerate(long_rows())]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert facts["took"][1] == "item: column id (8 items)"
    assert "an index without a name" in facts["left_out"]


def test_each_files_own_name_of_the_output_is_no_system(tmp_path: Path) -> None:
    files = [
        write_csv(tmp_path / f"{system}.csv", [{"prompt": p, column: f"{system}: {p}"} for p in PROMPTS.values()])
        for system, column in (("one", "output"), ("two", "response"))
    ]
    assert started(tmp_path / "a", *files)["overview"]["systems"] == ["one", "two"]


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


def test_starting_files_named_by_folder(tmp_path: Path) -> None:
    """Files of one name are called by the folder in which they differ."""
    files = []
    for run in ("run-a", "run-b"):
        (tmp_path / run / "out").mkdir(parents=True)
        rows = [{"id": n, "output": f"{run[-1]} tells of a {word}"} for n, word in enumerate(WORDS)]
        files.append(write_lines(tmp_path / run / "out" / "texts.jsonl", rows))
    assert started(tmp_path / "s", *files)["overview"]["systems"] == ["run-a", "run-b"]


def found_in(path: Path, **options: str) -> FoundOutputs:
    """Return what is found where nothing has to be asked."""
    return find_answers([path], NamedColumns(), TableOptions(**options), lambda one: pytest.fail(one.question))


def test_items_of_a_list_are_items_however_few(tmp_path: Path) -> None:
    """Folders are systems where a table beside them lists their files, or these are called as items are."""
    for system in ("red", "green", "blue"):
        for item in ("one", "two"):
            file = tmp_path / "x" / system / f"{item}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(PNG)
    assert {one.system for one in found_in(tmp_path / "x").answers} == {"one", "two"}
    listing = write_csv(tmp_path / "x" / "list.csv", [{"id": "one", "prompt": "A"}, {"id": "two", "prompt": "B"}])
    found = found_in(tmp_path / "x")
    assert {(one.item, one.prompt) for one in found.answers} == {("one", "A"), ("two", "B")}
    assert {one.system for one in found.answers} == {"red", "green", "blue"}
    listing.write_text("id,prompt\nred,A\ngreen,B\nblue,C\n", encoding="utf-8")
    assert {one.item for one in found_in(tmp_path / "x").answers} == {"red", "green", "blue"}
    listing.unlink()
    for file in [*(tmp_path / "x").rglob("*.png")]:
        file.rename(file.with_name(file.name.replace("one", "q1").replace("two", "q2")))
    assert {one.system for one in found_in(tmp_path / "x").answers} == {"red", "green", "blue"}


def test_samples_of_a_prompt_are_no_items(tmp_path: Path) -> None:
    """Lists of samples, and n-best lists, of which every system has as many."""
    for system in "ab":
        rows = [{"prompt": f"Say {word}", "samples": [f"{system} {word} {n}" for n in range(3)]} for word in WORDS[:4]]
        write_lines(tmp_path / "x" / f"{system}.jsonl", rows)
        lines = [f"{at} ||| {system} {word} {n} ||| LM= -2 ||| -{n}" for at, word in enumerate(WORDS) for n in (0, 1)]
        (tmp_path / "y").mkdir(exist_ok=True)
        (tmp_path / "y" / f"news.en-de.hyp.{system}.de.txt").write_text("\n".join(lines), encoding="utf-8")
    for found, items, repeats in (
        (found_in(tmp_path / "x", each="samples"), 4, 8),
        (found_in(tmp_path / "y"), 10, 20),
    ):
        assert len({one.item for one in found.answers}) == items
        question = without_repeats(found)[1]
        assert question is not None
        assert question.question.startswith(f"{repeats} times a system has several answers")
        assert {one.system for one in found.answers} == {"a", "b"}
    assert {one.output for one in found.answers if one.item == "1"} == {
        f"{one} river {n}" for one in "ab" for n in (0, 1)
    }


def test_names_of_files_that_say_outputs_name_nobody(tmp_path: Path) -> None:
    """Nor do sheets with other columns; parts of one table have its name."""
    from openpyxl import Workbook

    for system, name in (("one", "preds"), ("two", "generations")):
        write_lines(tmp_path / "x" / system / f"{name}.jsonl", [{"id": n, "answer": f"{system} {n}"} for n in range(3)])
        part = tmp_path / "y" / f"{system}-00000-of-00001.jsonl"
        write_lines(part, [{"id": n, "answer": f"{system} {n}"} for n in range(3)])
    book = Workbook()
    for n, title in enumerate(("one", "two", "Notes")):
        sheet = book.active if n == 0 else book.create_sheet()
        sheet.title = title
        sheet.append(["Who made it", "When"] if title == "Notes" else ["Prompt", "Answer"])
        for item, prompt in PROMPTS.items():
            sheet.append([prompt, f"{title} on {item}"])
    book.save(tmp_path / "z.xlsx")
    for path in ("x", "y", "z.xlsx"):
        found = found_in(tmp_path / path)
        assert {one.system for one in found.answers} == {"one", "two"}
    assert any("2 of 3 sheets are read; other columns, or none: Notes" in line for line in found.caveats)


def test_replies_of_gemini_are_read_with_what_was_asked(tmp_path: Path) -> None:
    """As batches write them: the request beside the response, a file for each model."""
    for model in ("pro", "flash"):
        rows = [
            {
                "request": {"contents": [{"role": "user", "parts": [{"text": prompt}]}]},
                "response": {
                    "candidates": [{"content": {"role": "model", "parts": [{"text": f"{model} on {item}"}]}}],
                    "modelVersion": model,
                },
            }
            for item, prompt in PROMPTS.items()
        ]
        write_lines(tmp_path / "x" / f"{model}.jsonl", rows)
    assert {(one.prompt, one.system, one.output) for one in found_in(tmp_path / "x").answers} == {
        (prompt, model, f"{model} on {item}") for item, prompt in PROMPTS.items() for model in ("pro", "flash")
    }


def test_what_a_folder_holds_instead_is_said(tmp_path: Path) -> None:
    for name, do in (("a.de", "add .txt to their names"), ("b.eval", "inspect log convert")):
        folder = tmp_path / name[0]
        folder.mkdir()
        (folder / name).write_text("Ja.", encoding="utf-8")
        line = refused(tmp_path / "s", folder)
        assert f"got files of other endings ({folder.joinpath(name).suffix}); " in line
        assert do in line
    for system, item in (("one", "out0"), ("two", "gen0")):
        (tmp_path / "x" / system).mkdir(parents=True)
        (tmp_path / "x" / system / f"{item}.txt").write_text(f"{system} said so.", encoding="utf-8")
    found = found_in(tmp_path / "x")
    assert missing_outputs(found) is not None
    said = with_items(found, "single").caveats[-1]
    assert said.startswith("no item has outputs of two systems (out0 of one, gen0 of two)")
