"""Outputs as evaluation tools keep them: rows deep in one object, lists of texts, columns that files name as they like.

The shapes are those of promptfoo's ``results.json``, HELM's ``scenario_state.json``, Inspect's logs and WMT's files.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.spa.output_shapes import PROMPTS, SYSTEMS, TEXTS, WORDS, write_csv, write_lines
from tests.spa.started_studies import PNG, answers_of, refused, started

ANSWERS = {(PROMPTS[item], system, text) for (item, system), text in TEXTS.items()}


def promptfoo() -> object:
    """Return a document whose rows lie beside other arrays of objects."""
    rows = [
        {"provider": {"id": system}, "vars": {"q": item}, "prompt": {"raw": PROMPTS[item], "label": "{{q}}"}}
        | {"response": {"output": text, "tokenUsage": {"total": 3}}, "success": True}
        for (item, system), text in TEXTS.items()
    ]
    named = [{"raw": "{{q}}", "provider": system} for system in SYSTEMS]
    return {"evalId": "e1", "results": {"version": 3, "prompts": named, "results": rows}, "config": {}}


def helm() -> object:
    """Return a document whose prompts hold the item's text, too."""
    rows = [
        {"instance": {"id": item, "input": {"text": PROMPTS[item]}}, "request": {"prompt": PROMPTS[item]}}
        | {"model": system, "result": {"success": True, "completions": [{"text": text, "logprob": -1.0}]}}
        for (item, system), text in TEXTS.items()
    ]
    return {"adapter_spec": {"method": "generation"}, "request_states": rows}


def by_system() -> object:
    """Return a document that has the rows of each system under its name."""
    found: dict[str, list[dict[str, str]]] = {}
    for (item, system), text in TEXTS.items():
        found.setdefault(system, []).append({"id": item, "prompt": PROMPTS[item], "output": text})
    return found


@pytest.mark.parametrize("made", [promptfoo, helm, by_system])
def test_rows_deep_in_one_document_are_found(made: object, tmp_path: Path) -> None:
    """What was taken for a row is said; constant labels are no references."""
    assert callable(made)
    (tmp_path / "x.json").write_text(json.dumps(made()), encoding="utf-8")
    facts = started(tmp_path / "a", tmp_path / "x.json")
    assert answers_of(tmp_path / "a") == ANSWERS
    assert sum("is a row" in line for line in facts["caveats"]) == 1
    assert not any("references" in line for line in facts["took"])


def test_two_places_of_rows_in_a_document_are_not_guessed(tmp_path: Path) -> None:
    rows = [{"id": n, "text": word} for n, word in enumerate(WORDS)]
    (tmp_path / "x.json").write_text(json.dumps({"title": "x", "a": {"one": rows}, "b": {"two": rows}}))
    assert "--each a.one" in refused(tmp_path / "a", tmp_path / "x.json")


def test_contents_in_parts_are_their_texts(tmp_path: Path) -> None:
    """As batches of Anthropic have them; what a model thought is left out, and counted."""
    rows = []
    for (item, system), text in TEXTS.items():
        parts = [{"type": "thinking", "thinking": "Hm, hm."}, {"type": "text", "text": text}]
        message = {"role": "assistant", "model": system, "content": parts}
        rows.append({"custom_id": item, "result": {"type": "succeeded", "message": message}})
    facts = started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    assert answers_of(tmp_path / "a") == {("", system, text) for _, system, text in ANSWERS}
    assert "result.message.content, its parts of text, without 24 others" in facts["took"][2]


def test_lists_of_records_are_shown_whole(tmp_path: Path) -> None:
    rows = [
        {"id": item, "model": system, "output": [{"name": text, "start": 1.50}, {"name": "Other", "start": 2}]}
        for (item, system), text in TEXTS.items()
    ]
    facts = started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    shown = {(system, json.dumps(json.loads(text))) for _, system, text in answers_of(tmp_path / "a")}
    assert shown == {(row["model"], json.dumps(row["output"])) for row in rows}
    assert not facts["left_out"]


def test_files_may_hold_one_record_each(tmp_path: Path) -> None:
    """In folders of systems, or of items; a record's own lists are no rows."""
    for (item, system), text in TEXTS.items():
        record = {"prompt": PROMPTS[item], "steps": [{"tool": "search"}, {"tool": "read"}], "output": text}
        for path in (tmp_path / "x" / system / f"{item}.json", tmp_path / "y" / item / f"{system}.json"):
            path = Path(str(path).replace("gamma/3", "gamma-3"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record), encoding="utf-8")
    for name in "xy":
        facts = started(tmp_path / f"of-{name}", tmp_path / name)
        assert {(prompt, text) for prompt, _, text in answers_of(tmp_path / f"of-{name}")} == {
            (prompt, text) for prompt, _, text in ANSWERS
        }
        assert set(facts["overview"]["systems"]) == {"alpha-1", "beta 2", "gamma-3"}
    (tmp_path / "y" / "q1" / "alpha-1.json").write_text("[]")
    assert "expected" in refused(tmp_path / "no", tmp_path / "y")


def test_files_may_have_columns_of_their_own(tmp_path: Path) -> None:
    """Each in its own order; not where two of them would be one."""
    names = (("id", "prompt", "output"), ("qid", "question", "answer"), ("question_id", "instruction", "response"))
    files = []
    for (item_name, prompt_name, output_name), system in zip(names, ("one", "two", "three"), strict=True):
        rows = [
            {item_name: item, prompt_name: prompt, output_name: f"{system} on {item}, with some words"}
            for item, prompt in PROMPTS.items()
        ]
        files.append(write_lines(tmp_path / f"{system}.jsonl", rows[::-1] if system == "two" else rows))
    facts = started(tmp_path / "a", *files)
    assert facts["overview"]["systems"] == ["one", "two", "three"]
    assert {text.partition(",")[0] for _, _, text in answers_of(tmp_path / "a")} == {
        f"{system} on {item}" for system in ("one", "two", "three") for item in PROMPTS
    }
    assert "two.jsonl: qid is read as id, answer is read as output, question is read as prompt" in facts["caveats"]


@pytest.mark.parametrize("ending", [".txt", ".json"])
def test_sources_and_references_are_no_systems(ending: str, tmp_path: Path) -> None:
    """Of files with a line, or an element, for each output; with one system beside it a reference is another."""
    files = {}
    for name in ("news.en-de.A", "news.en-de.B", "news-src.en", "news-ref.de"):
        lines = [f"{name} says {word} in its line" for word in WORDS]
        files[name] = tmp_path / f"{name}{ending}"
        files[name].write_text(json.dumps(lines) if ending == ".json" else "\n".join(lines), encoding="utf-8")
    facts = started(tmp_path / "a", *files.values())
    assert facts["overview"]["systems"] == ["news.en-de.A", "news.en-de.B"]
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "a")} == {
        f"news-src.en says {word} in its line" for word in WORDS
    }
    assert f"references for metrics: column reference, the lines of news-ref.de{ending}" in facts["took"]
    both = [files["news.en-de.A"], files["news-ref.de"]]
    assert started(tmp_path / "b", *both)["overview"]["systems"] == ["news.en-de.A", "news-ref.de"]


def test_systems_that_say_the_same_are_told(tmp_path: Path) -> None:
    rows = [{"id": item, "model": s, "response": f"On {prompt}"} for item, prompt in PROMPTS.items() for s in SYSTEMS]
    assert "got one text of all systems for each item in response" in refused(
        tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows)
    )


def test_prompts_may_lie_in_a_table_beside_folders_of_files(tmp_path: Path) -> None:
    """Where one of its columns names the file of every item."""
    art = tmp_path / "art"
    for system in ("one", "two"):
        (art / system).mkdir(parents=True)
        for n in range(4):
            (art / system / f"{n:03}.png").write_bytes(PNG)
    rows = [{"file_name": f"{n:03}.png", "caption": "x", "prompt": f"Draw {WORDS[n]}."} for n in range(4)]
    write_csv(art / "metadata.csv", rows)
    facts = started(tmp_path / "a", art)
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "a")} == {f"Draw {word}." for word in WORDS[:4]}
    assert ("prompt: column prompt of metadata.csv" in facts["took"], facts["left_out"]) == (True, [])
    write_csv(art / "metadata.csv", rows[1:])
    facts = started(tmp_path / "b", art)
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "b")} == {""}
    assert "metadata.csv" in facts["left_out"][0]


@pytest.mark.parametrize("folders", [False, True])
def test_the_parts_of_a_saved_data_set_are_one_table(tmp_path: Path, *, folders: bool) -> None:
    """As ``datasets`` saves them, whose own descriptions are no tables: with a column of systems, or a folder each."""
    *systems, _ = SYSTEMS  # a folder cannot be called by the last
    for system in systems:
        folder = tmp_path / "saved" / (system if folders else "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "state.json").write_text('{"_split": "train"}')
        rows = [{"prompt": PROMPTS[i], "model": s, "response": t} for (i, s), t in TEXTS.items() if s == system]
        parts = [rows[:3], rows[3:]] if folders else [rows]
        for part, own in enumerate(parts):
            at, count = (part, 2) if folders else (systems.index(system), len(systems))
            frame = pl.DataFrame(own).drop("model") if folders else pl.DataFrame(own)
            frame.write_ipc_stream(folder / f"data-{at:05}-of-{count:05}.arrow")
    started(tmp_path / "a", tmp_path / "saved")
    assert {*answers_of(tmp_path / "a")} == {answer for answer in ANSWERS if answer[1] in systems}


def test_tables_in_other_formats_are_told_how_to_become_one(tmp_path: Path) -> None:
    for name, do in (("x.eval", "inspect log convert"), ("x.jsonl.7z", "unpack it first"), ("x.xls", "as .xlsx")):
        (tmp_path / name).write_bytes(b"x")
        assert do in refused(tmp_path / "a", tmp_path / name)


def test_items_that_files_call_otherwise_are_told(tmp_path: Path) -> None:
    names = {"one": "{}", "two": "{:03}"}
    files = [
        write_csv(
            tmp_path / f"{system}.csv", [{"id": name.format(n), "output": f"{w} {system}"} for n, w in enumerate(WORDS)]
        )
        for system, name in names.items()
    ]
    assert "(id begins with 0 in one.csv, 000 in two.csv)" in refused(tmp_path / "a", *files)
