"""Passages that systems were given: never a system, shown whole where they are the same, else named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spa.output_shapes import WORDS, write_csv, write_lines
from tests.spa.started_studies import answers_of, started

ASKED = [f"What is told of the {word}?" for word in WORDS]

MAPS = {"title": "Maps", "score": 0.5, "url": "https://example.org/maps"}


def passages(at: int, whose: str = "") -> list[Any]:
    return [f"The {WORDS[at]}{whose} lies to the north.", {**MAPS, "text": f"No map has {WORDS[at]}{whose}."}]


def output(at: int, system: str) -> str:
    return f"{system} tells all that there is of {WORDS[at]}"


def wide(at: int) -> dict[str, Any]:
    return {f"answer_{place}": output(at, place) for place in "ab"}


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("shape", ["wide", "long", "cells", "nested"])
def test_passages_are_shown_whole_or_named(tmp_path: Path, shape: str, *, own: bool) -> None:
    """Those of one system alone would be shown beside what another made of other passages."""
    rows: list[dict[str, Any]] = []
    for at, question in enumerate(ASKED):
        found = {place: passages(at, place if own else "") for place in "ab"}
        if shape == "wide":
            beside = {f"contexts_{place}": found[place] for place in "ab"} if own else {"contexts": found["a"]}
            rows.append({"question": question, **beside, **wide(at)})
        elif shape == "nested":
            answers = {s: {"answer": output(at, s)} | ({"contexts": found[s]} if own else {}) for s in "ab"}
            rows.append({"question": question, "answers": answers} | ({} if own else {"contexts": found["a"]}))
        else:
            rows += [
                {
                    "user_input": question,
                    "retrieved_contexts": json.dumps(found[s]) if shape == "cells" else found[s],
                    "response": output(at, s),
                    "model": s,
                }
                for s in "ab"
            ]
    file = tmp_path / ("x.csv" if shape == "cells" else "x.jsonl")
    facts = started(tmp_path / "a", (write_csv if shape == "cells" else write_lines)(file, rows))
    assert [line for line in facts["took"] if line.startswith("system:") and "2 systems" in line]
    below = [] if own else ["The {0} lies to the north.", "Maps\nNo map has {0}."]
    expected = {"\n\n".join([q, *(one.format(word) for one in below)]) for q, word in zip(ASKED, WORDS, strict=True)}
    assert {prompt for prompt, _, _ in answers_of(tmp_path / "a")} == expected
    assert any("are not shown" in line and "passages" in line for line in facts["caveats"]) is own
    assert own or any(line.endswith("all passages of each list, without score, url") for line in facts["took"])
