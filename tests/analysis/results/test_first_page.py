"""Caveats, notes and cells: what stands beside the claims, and how much of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from analysis.printing.cells import SKEWED, verdict
from analysis.printing.document import Bullets, Links, Paragraph, Section, Table, Terms, whole
from analysis.printing.names import Names
from analysis.printing.words import p_value
from analysis.report.headline import headline
from analysis.report.sections import make_section
from analysis.report.warnings import warnings
from analysis.results.caveats import SEVERITY
from analysis.results.files import from_plain
from analysis.results.headline import headline_of
from tests.analysis.made_answers import choices, preferences, ratings, run
from tests.analysis.results.claims_and_rows import (
    caveat_kinds,
    group_row,
)
from tests.analysis.sample_results import empty_results, preference, rating_pair

ROOT = Path(__file__).parents[3]


def games(first: int, of: int) -> list[tuple[str, str, str, str, str]]:
    """Return games of a judge, both orders of each: in some it takes the output shown first both times."""
    rows = []
    for item in range(of):
        one = "x" if item % 2 else "y"
        rows.append(("judge", f"i{item}", "alder", "birch", "x" if item < first else one))
        rows.append(("judge", f"i{item}", "birch", "alder", "x" if item < first else {"x": "y", "y": "x"}[one]))
    return rows


def test_a_judge_that_takes_what_it_is_shown_first_is_a_caveat() -> None:
    found = run(choices=choices(games(40, 40)), llms=("judge",))
    (row,) = found["first_shown"]
    assert (row["n"], row["first"], row["second"], row["biased"]) == (40, 40, 0, True)
    texts = [problem["text"] for problem in found["headline"]["problems"]]
    assert any("took the output shown first in both orders in 40 of 40" in text for text in texts)
    fair = run(choices=choices(games(3, 40)), llms=("judge",))
    assert fair["first_shown"][0]["biased"] is False  # 3 of 3: p = .25
    assert "position" not in caveat_kinds(fair)


def test_missing_answers_that_are_all_one_systems_say_so() -> None:
    rows = [
        (f"p{who}", f"i{item}", system, 1 + (who + item + len(system)) % 5)
        for who in range(12)
        for item in range(3)
        for system in ("alder", "birch")
    ]
    lost = [(*row[:3], "" if row[2] == "birch" and row[0] < "p3" else row[3]) for row in rows]
    found = run(ratings=ratings(lost))
    assert {row["system"] for row in found["missing"]} == {"birch"}
    (text,) = [p["text"] for p in found["headline"]["problems"] if p["kind"] == "missing_answers"]
    assert text.endswith("answers are missing, all about birch.")
    both = [(*row[:3], "" if row[0] < "p3" else row[3]) for row in rows]
    assert {row["system"] for row in run(ratings=ratings(both))["missing"]} == {None}


def test_a_rehearsal_says_that_no_llm_was_asked() -> None:
    rows = [(f"p{who}", "alder", "birch", 0.5 + who / 30) for who in range(12)]
    asked = [("simulated-rater", "alder", "birch", 0.5 + who / 30) for who in range(12)]
    frame = preferences([*rows, *asked], assignment_id=[f"a{n}" for n in range(24)])
    kinds = ["simulated"] * 12 + ["llm"] * 12
    found = run(preferences=frame.with_columns(pl.Series("annotator_kind", kinds)))
    assert [row["simulated"] for row in found["groups"]] == [False, True]
    assert found["headline"]["stand_in"] == "Rehearsal: not asked of an LLM."


def test_the_published_order_of_caveats_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "report.md").read_text()
    (part,) = re.findall(r"^## Main caveats\n(.*?)^## ", page, flags=re.M | re.S)
    listed = re.findall(r"`(\w+)`", part.split(":", 1)[1])
    assert listed == [kind for kind, _ in SEVERITY]


def test_three_caveats_are_shown_and_the_number_of_the_others() -> None:
    row = preference("human", "alder", "birch", 0.7, highly_skewed=True)
    lost = {"source": "preferences", "group": "human", "criterion": "overall", "reason": "no answer", "n": 7}
    people = group_row("human", "human", annotators=9, excluded_annotators=4)
    results = {**empty_results(), "preferences": [row], "missing": [lost], "groups": [people]}
    found = headline_of(from_plain(results))
    assert [problem.kind for problem in found.problems] == ["highly_skewed", "many_excluded", "few_annotators"]
    assert [problem.kind for problem in found.more_problems] == ["missing_answers"]
    assert dict(found.lines())["Main caveats"].endswith("And 1 more.")


@pytest.mark.parametrize("rated_only", [False, True])
def test_the_first_page_of_a_study_without_faults_stays_short(rated_only: bool) -> None:
    """As short as before it said what it says now: 69 words of preferences with one warning, 72 of ratings."""
    results = {**empty_results(), "groups": [group_row("human", "human")]}
    results |= {
        "warnings": ["human: x."],
        "warning_rows": [{"kind": "few_values", "group": "human", "text": "human: x."}],
    }
    results["preferences"] = [preference("human", "A", "B", 0.68)]
    if rated_only:
        row = rating_pair("human", "A", "B", 0.4, 0.001) | {"ci_low": 0.2, "ci_high": 0.6}
        results |= {"preferences": [], "ratings": {"means": [], "pairs": [row]}}
        results["settings"] = {**results["settings"], "lower_is_better": ["wit"]}
    section = headline(from_plain(results))
    assert section is not None
    assert len(" ".join(texts_of(section)).split()) <= (64 if rated_only else 61)


def texts_of(section: Section) -> Iterator[str]:
    """Yield the running text of a section, without its pictures and tables."""
    for block in section.blocks:
        match block:
            case Paragraph():
                yield block.text
            case Terms():
                for title, text in block.items:
                    yield f"{title} {text if isinstance(text, str) else ' '.join(link.text for link in text)}"
            case Links():
                yield f"{block.label} {' '.join(link.text for link in block.items)}"


def test_the_number_of_further_caveats_leads_to_all_of_them() -> None:
    row = preference("human", "alder", "birch", 0.7, highly_skewed=True)
    lost = {"source": "preferences", "group": "human", "criterion": "overall", "reason": "no answer", "n": 7}
    people = group_row("human", "human", annotators=9, excluded_annotators=4)
    results = from_plain({**empty_results(), "preferences": [row], "missing": [lost], "groups": [people]})
    results = replace(results, headline=headline_of(results))
    first, all_of_them = headline(results), warnings(results)
    assert first is not None
    assert all_of_them is not None
    links = dict(next(block for block in first.blocks if isinstance(block, Terms)).items)["Main caveats"]
    assert not isinstance(links, str)
    assert [(link.text, link.target) for link in links][-1] == ("and 1 more", "warnings")
    bullets = next(block for block in all_of_them.blocks if isinstance(block, Bullets))
    assert len(bullets.items) == 4


def test_warnings_are_counted_as_they_are_printed() -> None:
    """Nine warnings of which some say the same of two groups are fewer lines, and the first page says how many."""
    groups = [group_row(name, "human") for name in ("one", "two")]
    rows = [{"kind": "few_values", "group": name, "text": f"{name}: only {n} values."} for n, name in enumerate("ab")]
    results = {**empty_results(), "groups": groups, "warning_rows": [*rows, {**rows[0], "text": "a: another."}]}
    results |= {"preferences": [preference("one", "alder", "birch", 0.7)], "warnings": ["1", "2", "3"]}
    first = headline(from_plain(results))
    assert first is not None
    (links,) = [block for block in first.blocks if isinstance(block, Links)]
    assert [link.text for link in links.items] == ["2 warnings"]


def test_a_highly_skewed_row_has_one_mark_in_place_of_evidence() -> None:
    names = Names(from_plain(empty_results()))
    for skewed, detail in ((True, SKEWED), (False, "very strong evidence")):
        row = from_plain(
            {**empty_results(), "preferences": [preference("human", "alder", "birch", 0.7, highly_skewed=skewed)]}
        ).preferences[0]
        cell = verdict(row, names, "preferences")
        assert (cell.text, cell.detail) == ("alder preferred", detail)


@pytest.mark.parametrize(
    ("groups", "counted"),
    [
        ({"gpt": "llm"}, "forms"),
        ({"human": "human"}, "people"),
        ({"simulated": "simulated"}, "simulated annotators"),
        ({"human": "human", "gpt": "llm"}, "people (for LLMs, forms)"),
        ({"human": "human", "experts": "human", "gpt": "llm"}, "annotators (for LLMs, forms)"),
    ],
)
def test_tables_say_what_n_counts(groups: dict[str, str], counted: str) -> None:
    results = {**empty_results(), "groups": [group_row(group, kind) for group, kind in groups.items()]}
    results["preferences"] = [preference(group, "alder", "birch", 0.7) for group in groups]
    section = make_section(from_plain(results), "preferences")
    assert section is not None
    columns = [column for block in section.blocks if isinstance(block, Table) for column in block.columns]
    assert counted in [column.explanation for column in columns if column.title == "n"]


def test_an_expected_preference_that_is_not_found_is_undecided() -> None:
    row = {"source": "preferences", "group": "human", "criterion": "overall", "exposure": 5, "system_x": "alder",
           "system_y": "birch", "expected": "x", "found": "indifferent", "recovered": False}  # fmt: skip
    tested = preference("human", "alder", "birch", 0.55, p_adjusted=0.135)
    section = make_section(from_plain({**empty_results(), "preferences": [tested], "expected": [row]}), "expected")
    assert section is not None
    tables = [block for block in whole(section).blocks if isinstance(block, Table)]
    texts = [cell.text for table in tables for cells in table.rows for cell in cells]
    assert "not recovered: ~ undecided" in texts
    assert not any("no difference" in text for text in texts)


def test_what_was_not_tested_is_said_as_it_is_ranked() -> None:
    for scores, order, said in (
        ({"alder": 5, "birch": 4, "cedar": 4}, [["alder"], ["birch", "cedar"]], "People put alder first, but no test"),
        ({"alder": 5, "birch": 5, "cedar": 4}, [["alder", "birch"], ["cedar"]], "People put no system alone in first"),
    ):
        rows = [(f"p{one}", f"i{one % 3}", *each) for one in range(12) for each in scores.items()]
        results = run(ratings=ratings(rows))
        assert [row["order"] for row in results["rankings"] if row["source"] == "ratings"] == [order]
        assert results["headline"]["winner"].startswith(said)


def test_a_p_value_above_the_level_is_not_printed_as_the_level() -> None:
    assert [p_value(value) for value in (0.05, 0.0501, 0.0499, 0.0506)] == [".050", ".0501", ".050", ".051"]
