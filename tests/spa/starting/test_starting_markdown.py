"""Answers of chat models become Markdown in a new study, plain ones stay text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.study.load import load_study

PLAIN = "The answer is five, as two and three make five."
MARKED = "The answer is **five**:\n\n- two\n- three"


def begun(folder: Path, outputs: list[str], prompts: list[str], *options: str) -> tuple[str, str, str]:
    """Return the kinds of a study made from outputs of two systems, and what was said."""
    rows = [
        {"id": str(number), "model": model, "response": f"{output} ({model[0]})", "prompt": prompt}
        for number, (output, prompt) in enumerate(zip(outputs, prompts, strict=True))
        for model in ("alpha", "beta")
    ]
    table = folder / "outputs.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = CliRunner().invoke(main, ["init", str(folder / "new"), "--outputs", str(table), "--yes", *options])
    assert done.exit_code == 0, done.output
    study = load_study(folder / "new" / "study.toml")
    return study.outputs.kind, study.outputs.item_kind, done.output


@pytest.mark.parametrize(
    ("outputs", "prompts", "kinds"),
    [
        ([PLAIN] * 8, ["What?"] * 8, ("text", "text")),
        ([MARKED] * 8, ["What?"] * 8, ("markdown", "text")),
        ([PLAIN] * 8, [f"Solve $x^{n}$ as in \\(x = {n}\\)" for n in range(8)], ("text", "markdown")),
        ([PLAIN] * 30 + [MARKED], ["What?"] * 31, ("text", "text")),
    ],
)
def test_texts_with_signs_of_markdown_become_it(
    outputs: list[str], prompts: list[str], kinds: tuple[str, str], tmp_path: Path
) -> None:
    """Not for a few among many."""
    numbered = [f"{output} {number}" for number, output in enumerate(outputs)]
    found = begun(tmp_path, numbered, [f"{prompt} {number}" for number, prompt in enumerate(prompts)])
    assert found[:2] == kinds
    assert ("show its signs; --kind text shows them as they are written" in found[2]) == ("markdown" in kinds)


def test_the_kind_that_is_given_is_taken(tmp_path: Path) -> None:
    outputs = [f"{MARKED} {number}" for number in range(8)]
    assert begun(tmp_path, outputs, [f"**{n}**" for n in range(8)], "--kind", "text")[:2] == ("text", "text")
