"""What every claim of a headline must keep to, checked against the rows that it was made of."""

from __future__ import annotations

import re
from typing import Any

from analysis.printing.lookup import PairResult, pair_results
from analysis.printing.words import percent
from analysis.records.results import Results
from analysis.results.certainty_words import p_words
from analysis.results.files import from_plain
from analysis.results.headline import headline_of
from analysis.results.headline_rows import Headline, HeadlineClaim

SYSTEMS = ("alder", "birch", "cedar", "dogwood")


def claim_and_lines(results: dict[str, Any]) -> tuple[HeadlineClaim, dict[str, str]]:
    headline = headline_of(from_plain(results))
    (claim,) = headline.claims
    return claim, {title: text.replace("\u00a0", " ") for title, text in headline.lines()}


def caveat_kinds(results: dict[str, Any]) -> list[str | None]:
    headline = headline_of(from_plain(results))
    return [problem.kind for problem in (*headline.problems, *headline.more_problems)]


# What each claim must keep to, checked against the rows.


def row_of(results: Results, headline: Headline, claim: HeadlineClaim) -> PairResult | None:
    """Return the row that a claim speaks of."""
    assert headline.source is not None
    rows = [
        row
        for row in pair_results(results, headline.source)
        if (row.test.group, row.test.criterion, row.exposure) == (headline.group, claim.criterion, claim.exposure)
        and {row.x, row.y} == {claim.leader, claim.runner_up}
    ]
    return rows[0] if rows else None


def hold_to_the_rows(results: Results) -> Headline:
    """Check every claim of a headline, and its sentences, against the rows it was made of."""
    headline = headline_of(results)
    for claim in headline.claims:
        row = row_of(results, headline, claim)
        if claim.strength in ("no_leader", "untested"):
            assert claim.winner is None
            continue
        assert row is not None
        hold_claim_to_row(results, claim, row)
    if len(headline.claims) == 1 and headline.source is not None:
        hold_words_to_claim(results, headline)
    return headline


def hold_claim_to_row(results: Results, claim: HeadlineClaim, row: PairResult) -> None:
    fwer, test = results.settings.fwer, row.test
    if claim.winner is not None:
        assert claim.winner == claim.leader
    match claim.strength:
        case "unanimous":
            assert test.p_value is None
            assert claim.p_unanimous == test.p_unanimous
            assert test.p_unanimous is not None
            assert test.p_unanimous <= fwer
            assert (claim.winner, row.ahead) == (claim.leader, claim.leader)
        case "clear" | "these_only" | "skewed" | "tests_opposed":
            assert row.winner == claim.leader
            assert test.p_adjusted is not None
            assert test.p_adjusted <= fwer
            assert (claim.winner is None) == (claim.strength == "tests_opposed")
        case "contradicted" | "circle":
            assert claim.winner is None
            assert row.winner == claim.runner_up or (row.winner is None and row.ahead == claim.runner_up)
        case "not_clear":
            assert claim.winner is None
            assert row.winner is None
        case "weights_reverse":
            assert claim.winner is None
            assert test.weights_reverse
        case "items_decide":
            assert claim.winner is None
            assert test.items_decide
    if claim.strength == "clear":
        assert not test.highly_skewed
        assert claim.crossed in ("agrees", None)
    crossed = getattr(test, "crossed_verdict", None)
    if claim.crossed is not None:
        assert (claim.crossed == "agrees") == (crossed == test.verdict and crossed in ("x", "y"))
        assert (claim.crossed == "opposite") == ({crossed, test.verdict} == {"x", "y"})
        assert (claim.crossed == "open") == (crossed == test.verdict == "indifferent")
    if claim.strength == "circle":
        winners = {
            frozenset((one.x, one.y)): one.winner or one.ahead
            for one in sorted(pair_results(results, row.source), key=lambda one: one.exposure or 0)
            if one.test.verdict is not None or one.p_unanimous is not None
        }
        for better, worse in zip(claim.circle, [*claim.circle[1:], claim.circle[0]], strict=True):
            assert winners[frozenset((better, worse))] == better


def hold_words_to_claim(results: Results, headline: Headline) -> None:
    """Check that the sentences name systems, numbers and agreement of their claim only."""
    (claim,) = headline.claims
    said = {name for name in SYSTEMS if re.search(rf"\b{name}\b", headline.winner)}
    known = {claim.leader, claim.runner_up, *claim.circle, *claim.passed_over, *claim.unbeaten}
    first = next((row.order[0] for row in results.rankings if row.order and row.source == headline.source), ())
    row = row_of(results, headline, claim)
    if claim.strength in ("no_leader", "untested"):
        known |= {*first, *(SYSTEMS if len({*_compared(results, headline)}) == 2 else ())}
    assert said <= known
    assert ("where the two were compared" in headline.winner) <= (len({*_compared(results, headline)}) > 2)
    assert ("clearly ahead of" in headline.winner.replace("not clearly", "").replace("no winner", "")) <= (
        claim.strength in ("clear", "tests_opposed")
    )
    assert ("annotators and items agrees" in headline.certainty) <= (claim.crossed == "agrees")
    if row is None or claim.strength in ("unanimous", "circle") or results.live is not None:
        return
    if row.test.p_adjusted is not None:
        assert f"adjusted {p_words(row.test.p_adjusted)}," in headline.certainty
    if row.test.ci_low is not None:
        assert f"({100 * results.settings.confidence:g}% confidence interval" in headline.certainty
    if row.source != "ratings" and row.value is not None and row.ahead is not None:
        share = row.value if row.ahead == row.x else 1 - row.value
        text = headline.certainty + headline.winner
        assert percent(share) in text or share == 1.0


def _compared(results: Results, headline: Headline) -> set[str]:
    assert headline.source is not None
    rows = [row for row in pair_results(results, headline.source) if row.test.group == headline.group]
    return {one for row in rows for one in (row.x, row.y)}


def fill(results: dict[str, Any], source: str, rows: list[dict[str, Any]]) -> None:
    if source == "preferences":
        results["preferences"] = rows
    elif source == "choices":
        results["choices"] = {"pairs": rows}
    else:
        results["ratings"] = {"means": [], "pairs": rows}


def group_row(group: str, kind: str, **changes: Any) -> dict[str, Any]:
    row = {
        "group": group,
        "annotator_kind": kind,
        "annotators": 1 if kind == "llm" else 88,
        "assignments": 88,
        "excluded_annotators": 0,
        "excluded_assignments": 0,
        "form": None,
    }
    return row | changes


def as_choices(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in ("exposure", "mean", "sd")}
    wins = round(100 * row["mean"])
    return {**kept, "unit": "annotator", "wins_x": wins, "wins_y": 100 - wins, "ties": 0, "win_rate": row["mean"]}
