"""Results of every sort of study and table that a methods section is written from."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl

from analysis import Jury, Plan, Reading, check_frames, parse_expectations
from tests.analysis.made_answers import analyse, choices, preferences, ratings, run
from tests.analysis.sample_results import empty_results, full_results

Results = dict[str, Any]
PEOPLE = [f"ann{number}" for number in range(12)]
DESIGN = {
    "items": 40,
    "kind": "text",
    "directions": "both",
    "scale_points": 5,
    "counterbalanced": ["labels", "directions"],
    "screening_questions": 2,
    "attention_checks": 1,
}
RATER = {
    "group": "gpt<4>/persona_a",
    "model": "gpt-4",
    "answered_by": ["gpt-4-0613"],
    "first_call": "2026-03-01",
    "last_call": "2026-03-04",
    "conversation": "page_alone",
    "answer_format": "json",
    "repeats": 3,
    "attempts": 2,
    "temperature": 0.7,
    "top_p": 0.9,
    "seed": 11,
    "token_limit": 1200,
    "reasoning_effort": "low",
    "persona": "You are an English teacher & 100% strict.",
    "read_more": ["persona", "explain"],
}
CONDUCT = {
    "design": DESIGN,
    "sources": [
        {"source": "prolific", "recruited": "Through the platform Prolific.", "annotators": 71},
        {"source": "link", "recruited": "Through a link.", "annotators": 19},
    ],
    "median_minutes": 13.5,
    "bonuses": ["0.50", "2.00"],
    "raters": [RATER],
    "last_answer": "2026-02-27",
    "preregistration": {"frozen_at": 1767225600.0, "sha256": "ab12", "submissions": 3, "deviations": ["one", "two"]},
}


def _scores(people: list[str], criterion: str = "fluency", **columns: object) -> pl.DataFrame:
    rows = [
        (who, f"i{item}", system, 1 + (len(who) * item + shift * (place + item)) % 5)
        for place, who in enumerate(people)
        for item in range(3)
        for shift, system in enumerate(("alpha", "beta", "gamma"))
    ]
    return ratings(rows, criterion=criterion, **columns)


def _two_criteria() -> Results:
    frame = pl.concat([_scores(PEOPLE), _scores(PEOPLE, "accuracy"), _scores(["gpt"])])
    return run(ratings=frame, llms=("gpt",))


def _two_groups() -> Results:
    frame = pl.concat([_scores(PEOPLE, group="experts"), _scores([f"c{name}" for name in PEOPLE], group="crowd")])
    return run(ratings=frame, plan=Plan(correction="bh", equivalence_margin_ratings=0.5))


def _welch() -> Results:
    return run(ratings=_scores(PEOPLE), plan=Plan(rating_test="welch", confidence=0.9, fwer=0.1))


def _stated(people: list[str], **columns: object) -> pl.DataFrame:
    rows = [
        (who, *pair, round(0.3 + 0.05 * ((place + turn) % 9), 2))
        for place, who in enumerate(people)
        for turn, pair in enumerate((("alpha", "beta"), ("beta", "alpha")))
    ]
    return preferences(rows, **columns)


def _several_exposures() -> Results:
    return run(preferences=pl.concat([_stated(PEOPLE, exposure=number) for number in (1, 2, 8)]))


def _chosen(people: list[str]) -> pl.DataFrame:
    winners = ("x", "y", "tie", "x")
    rows = [
        (who, f"i{item}", "alpha", "beta", winners[(place * item + item) % 4])
        for place, who in enumerate(people)
        for item in range(4)
    ]
    return choices(rows)


def _ordered() -> Results:
    rows = [
        {"annotator_id": who, "item_id": f"i{item}", "system": system, "rank": str(1 + (place + item + shift) % 3)}
        for place, who in enumerate(PEOPLE)
        for item in range(3)
        for shift, system in enumerate(("alpha", "beta", "gamma"))
    ]
    return run(orders=pl.DataFrame(rows))


def _careless() -> Results:
    frame = pl.concat(
        [_scores(PEOPLE), ratings([("bored", f"i{n}", "alpha", 3) for n in range(12)], criterion="fluency")]
    )
    return run(ratings=frame, plan=Plan(max_same_answers=0.9))


def _nobody_named() -> Results:
    tables = check_frames({"ratings": _scores(PEOPLE).drop("annotator_id")}, Reading(unnamed=True))
    return analyse(tables, Plan())


def _jury() -> Results:
    llms = ("gpt", "cmd")
    frame = pl.concat([_scores(PEOPLE), *(_scores([name]) for name in llms)])
    return run(ratings=frame, llms=llms, plan=Plan(juries=(Jury(id="both", raters=llms),)))


def _full(**changes: object) -> Results:
    found = full_results()
    found["study"] |= changes
    found["consistency_sweep"] = []
    return found


def _equal_pay() -> Results:
    return _full(**CONDUCT | {"bonuses": ["1.00", "1.00"], "sources": CONDUCT["sources"][:1]})  # type: ignore[index]


MADE: dict[str, Callable[[], Results]] = {
    "nothing": empty_results,
    "two criteria and an LLM": _two_criteria,
    "two groups": _two_groups,
    "welch": _welch,
    "one annotator": lambda: run(ratings=_scores(["ann"])),
    "nobody is named": _nobody_named,
    "a jury": _jury,
    "one system": lambda: run(ratings=_scores(PEOPLE).filter(pl.col("system") == "alpha")),
    "LLM alone": lambda: run(ratings=_scores(["gpt"]), llms=("gpt",)),
    "several exposures": _several_exposures,
    "two LLMs state preferences": lambda: run(preferences=_stated(["gpt", "cmd"]), llms=("gpt", "cmd")),
    "choices": lambda: run(choices=_chosen(PEOPLE), plan=Plan(equivalence_margin=0.05)),
    "rankings": _ordered,
    "careless": _careless,
    "expected": lambda: run(preferences=_stated(PEOPLE), plan=Plan(expected=parse_expectations(["alpha > beta"]))),
    "a study": _full,
    "a study and its conduct": lambda: _full(**CONDUCT),
    "bonuses alike": _equal_pay,
}


@cache
def _text(name: str) -> str:
    return json.dumps(MADE[name]())


def made(name: str) -> Results:
    """Return results by their name, to be changed at will."""
    found: Results = json.loads(_text(name))
    return found
