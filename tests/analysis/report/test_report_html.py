"""The HTML report: complete, inert, and with the numbers of results.json."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest

from analysis import report
from analysis.printing.document import Cell, Column, Paragraph, Table
from analysis.report.html import render_blocks
from analysis.report.orientation import oriented
from analysis.report.sections import make_section, section_ids
from analysis.results.files import from_plain
from analysis.statistics.record import fields_of
from tests.analysis.made_answers import render_report
from tests.analysis.read_page import Page, read_page
from tests.analysis.sample_results import (
    HOSTILE,
    TEMPLATE,
    empty_results,
    full_results,
    many_results,
    pair_results,
    preference,
    untested,
)

RESULTS = {
    "full": full_results,
    "pair": pair_results,
    "many": lambda: many_results(5),
    "empty": empty_results,
}
HEADINGS = [
    "The answer",
    "What was asked, and of whom",
    "Who was excluded, and what is missing",
    "Which system is preferred (SPA)",
    "How single outputs were rated",
    "Which output was chosen",
    "Strengths and rankings",
    "Side by side: do they agree?",
    "Expected preferences",
    "Warnings",
    "Terms and conventions",
    "Settings",
    "How to cite",
]


def page_of(results: dict[str, Any]) -> Page:
    return read_page(render_report(results)["report.html"])


@pytest.fixture(scope="module")
def full() -> Page:
    return page_of(full_results())


@pytest.mark.parametrize("name", RESULTS)
def test_every_report_is_well_formed_and_shows_no_empty_value(name: str):
    page = page_of(RESULTS[name]())
    assert not re.search(r"\b(None|nan|NaN|inf|null|True|False)\b", page.text)
    for rows in page.tables.values():
        for row in rows[1:]:
            for title, field in zip(rows[0], row, strict=True):
                assert field.strip() or title == "Stars"


def test_sections_come_in_their_order(full: Page):
    assert [heading for heading in full.headings if heading in HEADINGS] == HEADINGS


def test_sections_without_data_are_absent():
    headings = page_of(pair_results()).headings
    assert "Which system is preferred (SPA)" in headings
    assert not {"How single outputs were rated", "Expected preferences", "Warnings"} & set(headings)


def test_names_from_the_study_run_nothing(full: Page):
    assert "script" not in {tag for tag, _ in full.tags}
    assert HOSTILE in full.text
    assert TEMPLATE in full.text
    assert "49" not in [field.strip() for rows in full.tables.values() for row in rows for field in row]
    assert not [name for _, attributes in full.tags for name in attributes if name.startswith("on")]


def test_the_page_needs_nothing_from_outside():
    html = render_report(full_results())["report.html"]
    page = read_page(html)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    policies = [attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes]
    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]
    assert "url(" not in style[1]
    assert not [name for _, attributes in page.tags for name in ("src", "style", "xlink:href") if name in attributes]
    assert all(str(attributes["href"]).startswith("#") for tag, attributes in page.tags if tag == "a")


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("Claude كاتب جيد جدا في رأيي", "rtl"),
        ("The word كاتب means writer", "ltr"),
        ("Well said", "ltr"),
        ("12 %", "auto"),
    ],
)
def test_quotes_run_as_most_of_their_letters_do(text: str, direction: str):
    """Not as the first letter does: of paragraphs and of cells."""
    quoted = Paragraph(text=text, quoted=True)
    table = Table(name="t", caption="", columns=(Column(title="A"),), rows=((Cell(text=text, quoted=True),),))
    page = read_page(render_blocks((quoted, table), {"t": ()}))
    assert [attributes["dir"] for tag, attributes in page.tags if tag in ("p", "th") and "dir" in attributes] == [
        direction,
        direction,
    ]


def test_links_in_the_contents_lead_somewhere(full: Page):
    ids = [attributes["id"] for _, attributes in full.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {str(attributes["href"])[1:] for tag, attributes in full.tags if tag == "a"} <= set(ids)


def test_headings_descend_one_step_at_a_time(full: Page):
    levels = [int(tag[1]) for tag, _ in full.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_tables_tell_what_heads_what(full: Page):
    scopes = {attributes.get("scope") for tag, attributes in full.tags if tag == "th"}
    assert scopes == {"col", "row"}
    tags = [tag for tag, _ in full.tags]
    assert tags.count("caption") == tags.count("table") > 10


def test_preference_table_holds_the_numbers_of_the_results(full: Page):
    head, *rows = full.tables["preferences"]
    results = [fields_of(row) for row in oriented(from_plain(full_results())).preferences]
    assert len(rows) == len(results)
    for row, wanted in zip(rows, results, strict=True):
        shown = dict(zip(head, row, strict=True))
        assert int(shown["n"]) == wanted["n"]
        assert float(shown["Mean"].rstrip("%")) == pytest.approx(100 * wanted["mean"], abs=0.051)
        assert "Stars" not in shown
        if wanted["p_adjusted"] is None:
            assert shown["Verdict"] == f"not tested: {wanted['reason']}"
            continue
        low, high = (float(part) for part in shown["95% confidence interval (%)"].split(" to "))
        assert low == pytest.approx(100 * wanted["ci_low"], abs=0.051)
        assert high == pytest.approx(100 * wanted["ci_high"], abs=0.051)
        p_adjusted, df, t = re.split(r" \| t\(|\) = ", shown["Adjusted p"])
        assert float(t.replace("\u2212", "-")) == pytest.approx(wanted["t"], abs=0.0051)
        assert int(df) == wanted["df"]
        if wanted["p_adjusted"] < 0.001:
            assert p_adjusted == "<\u00a0.001"
        else:
            assert float(p_adjusted) == pytest.approx(wanted["p_adjusted"], abs=0.00051)


def test_twelve_systems_have_all_their_pairs():
    results = {**many_results(), "preferences": [row for row in many_results()["preferences"] if row["exposure"] == 4]}
    assert len(page_of(results).tables["preferences-coherence"]) == 1 + 66 * 2


def test_exposures_stand_in_the_table_where_there_are_several():
    head, first, *_ = page_of(many_results(3)).tables["preferences-relevance"]
    assert dict(zip(head, first, strict=True))["Outputs read"] == "4"


def test_a_pair_without_any_test_says_why_in_the_headline():
    for group, who in (("human", "people"), ("gpt-4", "gpt-4 (LLM)")):
        results = {**pair_results(), "groups": many_results()["groups"]}
        results["preferences"] = [untested(preference(group, "A", "B", 0.7), "no variation: every answer is 0.7")]
        said = f"By the answers of {who}, the first place cannot be determined (no variation: every answer is 0.7)"
        assert said in page_of(results).text


def test_simulated_annotators_are_never_taken_for_people():
    results = {**empty_results(), "preferences": [preference("simulated", "A", "B", 0.68)]}
    text = page_of(results).text
    assert "Simulated annotators prefer A most, clearly ahead of B" in text
    assert "not what people think" in text


def test_control_characters_and_lone_surrogates_are_replaced():
    results = from_plain({**empty_results(), "preferences": [preference("human", "a", "b", 0.68)]})
    (row,) = results.preferences
    hostile = replace(row, system_x="a\x00\x1b[31m", system_y="b\ud800\u202e")  # JSON holds no lone surrogate
    files = report.render_report(replace(results, preferences=(hostile,)))
    for text in files.values():
        text.encode("utf-8")
        assert not set(text) & set("\x00\x1b\u202e")
    assert "a\ufffd" in files["report.html"]


def test_every_section_goes_by_the_id_under_which_it_is_made():
    results = from_plain(full_results())
    for name in section_ids():
        section = make_section(results, name)
        assert section is None or section.id == name
