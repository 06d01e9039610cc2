"""What columns of outputs are taken for: by their names, and by what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spa.study.load import load_study
from tests.spa.output_shapes import (
    PROMPTS,
    SYSTEMS,
    TEXTS,
    WORDS,
    long_rows,
    wide_rows,
    write_csv,
    write_lines,
)
from tests.spa.started_studies import answers_of, refused, spa, started


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


def test_numbers_as_pandas_writes_them_name_the_same_items(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for system, end in (("one", ""), ("two", ".0")):
        rows = [{"id": f"{n}{end}", "output": f"{system} sings of {word}."} for n, word in enumerate(WORDS)]
        write_csv(tmp_path / "x" / f"{system}.csv", rows)
    assert started(tmp_path / "a", tmp_path / "x")["overview"]["items"] == 10


def test_prompts_that_differ_under_one_id_are_doubted(tmp_path: Path) -> None:
    rows = [{**row, "prompt": f"{row['prompt']} {row['model']}"} for row in long_rows()]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert "prompt differs within 100% of the items and is not shown: are they the same?" in facts["caveats"]


def test_people_read_what_the_prompts_are(tmp_path: Path) -> None:
    rows = [{"source": row["prompt"], "model": row["model"], "translation": row["response"]} for row in long_rows()]
    started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert load_study(tmp_path / "a" / "study.toml").outputs.item_name == "Source"


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


def test_what_stands_beside_named_systems_is_the_prompt(tmp_path: Path) -> None:
    rows = [{"brief": f"Say whether {word} floats.", "a": "yes", "b": "no"} for word in WORDS]
    file = write_lines(tmp_path / "x.jsonl", rows)
    facts = started(tmp_path / "s", file, "--system", "a", "--system", "b")
    assert "prompt: column brief" in facts["took"]
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "s")} == {row["brief"] for row in rows}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("response_1", "response_2"), True),
        (("response_a", "response_b"), True),
        (("output 1", "output 2", "output 3"), True),
        (("chosen", "rejected"), True),
        (("gpt_1", "gpt_2"), False),
        (("alpha", "beta"), False),
    ],
)
def test_starting_says_places_taken_for_systems(tmp_path: Path, names: tuple[str, ...], *, told: bool) -> None:
    """Places of a row are told where they are taken for systems."""
    rows = [
        {"prompt": prompt, **{name: f"{at}: {TEXTS[item, SYSTEMS[at]]}" for at, name in enumerate(names)}}
        for item, prompt in PROMPTS.items()
    ]
    facts = started(tmp_path / "a", write_csv(tmp_path / "x.csv", rows))
    assert facts["overview"]["systems"] == [*names]
    assert any("right only where each is one system's in all rows" in line for line in facts["caveats"]) is told


@pytest.mark.parametrize(
    "beside",
    [
        {"contexts": ["A long passage that was retrieved.", "Another."], "vote_w1": "A", "vote_w2": "B"},
        {"turns": ["What was said first, in some words."], "annotator_1": "A", "annotator_2": "tie"},
        {"retrieved": "A passage as one text, as long as answers.", "votes": ["A", "B"]},
    ],
)
def test_what_stands_beside_two_answers_is_no_system(tmp_path: Path, beside: dict[str, Any]) -> None:
    """Neither lists of texts, nor a text beside places of a row, nor what each person said of the two."""
    rows = [
        {"question": prompt, "answer_a": TEXTS[item, SYSTEMS[0]], "answer_b": TEXTS[item, SYSTEMS[1]]}
        | {name: [f"{cell[0]} {item}", *cell[1:]] if isinstance(cell, list) else cell for name, cell in beside.items()}
        | {name: f"{cell} {item}" for name, cell in beside.items() if len(cell) > 20 and isinstance(cell, str)}
        for item, prompt in PROMPTS.items()
    ]
    assert started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))["overview"]["systems"] == [
        "answer_a",
        "answer_b",
    ]


@pytest.mark.parametrize("with_prompt", [True, False])
def test_a_conversation_a_system_gives_its_last_answer(tmp_path: Path, *, with_prompt: bool) -> None:
    def talk(item: str, system: str) -> list[dict[str, str]]:
        asked = {"role": "user", "content": PROMPTS[item]}
        return [asked, {"role": "assistant", "content": TEXTS[item, system]}]

    rows = [
        {"chosen": talk(item, SYSTEMS[0]), "rejected": talk(item, SYSTEMS[1])}
        | ({"prompt": prompt} if with_prompt else {})
        for item, prompt in PROMPTS.items()
    ]
    started(tmp_path / "a", write_lines(tmp_path / "x.jsonl", rows))
    assert answers_of(tmp_path / "a") == {
        (prompt, name, TEXTS[item, system])
        for item, prompt in PROMPTS.items()
        for name, system in zip(("chosen", "rejected"), SYSTEMS, strict=False)
    }
