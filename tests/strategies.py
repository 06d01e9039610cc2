"""Hypothesis strategies for tests of any package: orders of rows, small studies with outputs in memory."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from spa.records.outputs import Item, Output, Outputs
from spa.records.study import Study
from spa.study.study_file import read_study

HOSTILE = (
    "<script>alert(1)</script>",
    "]]> {{7*7}} {% raw %} ${x} </textarea></style>",
    "``` \n```\n[q1] Answer 100\n````",
    "nul \x00, surrogate \ud800, escape \x1b[31m",
    "# Heading\n\n* list\n\n<!-- [p9] -->",
    "مرحبا \u202e txet",
    "这是一段文字。",
)


def orders_of(rows: int) -> st.SearchStrategy[list[int]]:
    """Draw an order of so many rows by one number; drawn row by row, it takes longer than most tests of it."""
    return st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).permutation(rows).tolist())


def small_study(**tables: Any) -> Study:
    """Return a study of three systems that asks by SPA; every table of the study file can be replaced."""
    given: dict[str, Any] = {
        "id": "small",
        "title": "A small study",
        "outputs": {"files": ["unused.jsonl"]},
        "systems": [{"id": "zzgood"}, {"id": "zzfair"}, {"id": "zzpoor"}],
        "spa": {"exposure": 2},
    }
    given.update(tables)
    return read_study({name: table for name, table in given.items() if table is not None})


def outputs_of(
    study: Study,
    *,
    items: int = 6,
    samples: int = 1,
    item_texts: bool = True,
    texts: tuple[str, ...] = (),
    image: Path | None = None,
    absent: Collection[tuple[str, str]] = (),
) -> Outputs:
    """Return outputs in memory: every text says its item and sample, and nothing of its system but a number.

    ``texts`` replaces them in turn; ``absent`` names pairs of an item and a system that did not answer it.
    """
    numbers = {system.id: number for number, system in enumerate(study.systems)}
    kept = [
        Item(
            item_id=f"i{number}",
            medium="text",
            text=f"Source text number {number} was here." if item_texts else None,
        )
        for number in range(items)
    ]
    cells = {}
    made = 0
    for item in kept:
        for system, number in numbers.items():
            if (item.item_id, system) in absent:
                continue
            several = []
            for sample in range(1, samples + 1):
                text = f"Output text {item.item_id}, {number}, {sample} was there."
                text = texts[made % len(texts)] if texts else text
                several.append(
                    Output(
                        item_id=item.item_id,
                        system=system,
                        sample=sample,
                        medium="text" if image is None else "image",
                        text=text if image is None else None,
                        file=image,
                    )
                )
                made += 1
            cells[item.item_id, system] = tuple(several)
    return Outputs(
        items=tuple(kept), dropped=(), cells=cells, by_id={item.item_id: item for item in kept}, unreadable={}
    )


@st.composite
def studies(draw: st.DrawFn) -> tuple[Study, Outputs]:
    """Draw a small study, of any mixture of sections, and its outputs in memory."""
    systems = [{"id": f"zz-{name}-system"} for name in "pqrst"[: draw(st.integers(2, 5))]]
    exposure = draw(st.integers(1, 3))
    spa = draw(st.booleans())
    same_items = draw(st.booleans())
    balance = st.sampled_from(["counterbalanced", "fixed"])
    shown = st.one_of(st.sampled_from(["first", "all"]), st.integers(1, exposure))
    criteria = [
        {
            "id": "fluency",
            "name": "fluency",
            "question": "How **fluent** is this?",
            "guidelines": draw(st.sampled_from([None, "- 1: *halting*"])),
            "show_item_text": draw(st.sampled_from([None, True] if spa else [None, True, False])),
        },
        {"id": "meaning", "name": "meaning", "against_source": True, "mark_differences": draw(st.booleans())},
        {
            "id": "errors",
            "name": "errors",
            "lower_is_better": True,
            "options": [{"text": "none", "score": 0}, {"text": "1 or more", "score": 1}],
        },
    ]
    tables: dict[str, Any] = {
        "systems": systems,
        "criteria": draw(st.sampled_from([(), criteria])),
        "design": {"labels": draw(balance), "question_order": draw(balance), "directions": draw(balance)},
        "spa": None,
    }
    if spa:
        tables["spa"] = {
            "exposure": exposure,
            "comparisons": draw(st.sampled_from(["all", "chain"])),
            "directions": draw(st.sampled_from(["both", "one"])),
            "reading": draw(st.sampled_from(["first", "with_questions"])),
            "same_items": same_items,
        }
    else:
        tables["design"]["items"] = exposure
    pages = st.sampled_from(["output", "item", "system", "one"])
    rated = {"show_item_text": draw(st.booleans())}
    host = "likert" if not spa or draw(st.booleans()) else "continuous"
    if host == "likert" or draw(st.booleans()):
        order = draw(st.sampled_from(["item", "blocked", "mixed", "arms"]))
        position = draw(st.sampled_from(["before", "after"]))
        placed = {"pages": draw(pages), "order": order, "item_text_position": position}
        tables[host] = {"outputs": draw(shown), **placed, **rated}
    if host == "likert" and tables["criteria"]:
        tables["likert"]["identical_pairs"] = draw(st.integers(0, exposure))
    if tables["criteria"] and draw(st.booleans()):
        if host in tables and draw(st.booleans()):
            tables["categories"] = {"same_page_as": host, **rated}
        else:
            tables["categories"] = {"outputs": draw(shown), "pages": draw(pages)}
    if (not spa or same_items) and draw(st.booleans()):
        tables["choices"] = {"outputs": draw(shown), "ties": draw(st.booleans()), **rated}
    if (not spa or same_items) and draw(st.booleans()):
        tables["ranking"] = {"outputs": draw(shown), "size": draw(st.sampled_from([None, 2])), **rated}
    if draw(st.booleans()):
        check = {"id": "colour", "question": "Which is a colour?", "options": ["green", "chair"], "expected": "green"}
        tables["attention_checks"] = [check, {**check, "id": "second"}]
    items = exposure * (1 if same_items or not spa else len(systems)) + draw(st.integers(0, 4))
    absent: set[tuple[str, str]] = set()
    if small_study(**tables).single_outputs:  # one system answers every item, so that something is left
        absent = draw(st.sets(st.sampled_from([(f"i{n}", one["id"]) for n in range(items) for one in systems[1:]])))
        tables["design"] = {"outputs": draw(st.integers(1, len(systems) * items - len(absent)))}
        tables["likert"]["identical_pairs"] = min(1, tables["likert"].get("identical_pairs", 0))
    study = small_study(**tables)
    made = outputs_of(
        study,
        items=items,
        samples=draw(st.integers(1, 3)),
        item_texts=bool(tables["criteria"]) or draw(st.booleans()),
        texts=draw(st.sampled_from([(), HOSTILE])),
        absent=absent,
    )
    return study, made
