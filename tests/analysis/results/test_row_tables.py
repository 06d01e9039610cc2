"""Results in notebooks and consoles: tables of records, one screen for the whole, nothing run that a table holds."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest

import analysis
from analysis import Results
from analysis.records.row_tables import RowList, Rows, html_of
from analysis.report import show as module
from analysis.report.show import first_page
from analysis.results.files import from_plain
from analysis.results.headline import headline_of
from spa.errors import AnalysisError
from tests.analysis.sample_results import HOSTILE, empty_results, full_results

ALLOWED = {
    *(
        "div",
        "p",
        "b",
        "dd",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "abbr",
        "small",
        "style",
        "dl",
        "dt",
    ),
    *("figure", "figcaption", "svg", "g", "text", "tspan", "line", "circle", "rect", "path", "title", "desc", "bdi"),
}


class Tags(HTMLParser):
    """Collects the elements of a page, and attributes that run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.running: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.tags.add(tag)
        self.running += [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]


@pytest.fixture(scope="module")
def results() -> Results:
    found = from_plain(full_results())
    return replace(found, headline=headline_of(found))


def test_the_text_of_results_is_one_screen(results: Results) -> None:
    text = repr(results)
    assert len(text) < 4000
    assert text.count("\n") < 25
    assert "Who wins: " in text
    assert f"ratings.means ({len(results.ratings.means)} RatingMean)" in text
    assert len(repr(results.ratings)) < 4000


@pytest.mark.parametrize("name", ["preferences", "rankings", "bradley_terry", "disagreements"])
def test_lists_of_records_show_as_tables(results: Results, name: str) -> None:
    rows = getattr(results, name)
    assert isinstance(rows, Rows)
    text = repr(rows)
    assert text.startswith(f"{len(rows)} {type(rows[0]).__name__}; .frame() has all columns")
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("\n") < 40
    page = rows._repr_html_()
    assert page.count("<tr>") == 1 + min(len(rows), 30)
    assert rows.frame().equals(analysis.as_frame(rows), null_equal=True)
    assert isinstance(rows[:1], Rows)
    assert rows[:1] == rows[0:1] == (rows[0],)


def test_no_text_of_a_table_becomes_part_of_a_page(results: Results) -> None:
    pages = [first_page(results), results._repr_html_()]  # type: ignore[operator]
    pages += [html_of(getattr(results, name)) for name in ("preferences", "rankings", "choices") if name != "choices"]
    assert all("&lt;script&gt;alert" in page for page in pages)
    for page in pages:
        found = Tags(page)
        assert (found.tags - ALLOWED, found.running) == (set(), [])
        assert not re.search("[\u202a-\u202e\x00]", page)


def test_no_text_between_two_dollars_is_set_as_a_formula(results: Results) -> None:
    for page in (first_page(results), results._repr_html_(), html_of(results.preferences)):  # type: ignore[operator]
        assert re.match('<div class="[^"]*mathjax_ignore"', page)


def test_show_says_what_it_expects(results: Results) -> None:
    with pytest.raises(AnalysisError, match="expected Results, got Rows"):
        analysis.show(results.preferences)  # type: ignore[arg-type]


def test_a_table_of_any_name_is_escaped() -> None:
    frame = {"annotator_id": ["a", "b"], "item_id": [1, 1], "system": [f"{HOSTILE}\u202e"] * 2, "score": [4, 5]}
    rows = analysis.rating_means(frame)
    assert isinstance(rows, RowList)
    assert isinstance(rows, list)
    page = rows._repr_html_()
    assert HOSTILE not in page
    assert "\u202e" not in page
    assert "1 RatingMean" in page


def test_tables_are_the_tuples_that_they_were(results: Results) -> None:
    plain = tuple(results.preferences)
    assert results.preferences == plain
    assert hash(results.preferences) == hash(plain)
    assert isinstance(results.preferences, tuple)
    for again in (pickle.loads(pickle.dumps(results)), copy.deepcopy(results)):
        assert again == results
        assert isinstance(again.preferences, Rows)
        assert analysis.to_json(again) == analysis.to_json(results)


def test_functions_return_lists_that_show_as_tables() -> None:
    answers = {"annotator_id": ["a"] * 6, "item_id": [1, 1, 2, 2, 3, 3], "system": ["new", "old"] * 3}
    answers |= {"score": [5, 3, 4, 3, 5, 1]}
    for function in (analysis.rating_tests, analysis.rankings, analysis.system_strengths, analysis.excluded):
        rows = function(answers)
        assert isinstance(rows, RowList)
        assert rows == [*rows]
        assert isinstance(rows._repr_html_(), str)
        assert isinstance(rows.frame(), pl.DataFrame)


def test_the_first_page_is_printed_on_a_terminal(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    analysis.show(results)
    shown = capsys.readouterr().out
    for title in ("Who wins:", "By how much:", "Can an LLM replace annotators?", "Main caveats:"):
        assert title in shown
    assert "Place of each system" in shown


def test_the_first_page_is_displayed_in_a_notebook(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for IPython, which this project does not need."""
    displayed: list[str] = []
    kernel = type("ZMQInteractiveShell", (), {})()
    ipython = type("Module", (), {"get_ipython": staticmethod(lambda: kernel)})
    display = type("Module", (), {"HTML": staticmethod(str), "display": staticmethod(displayed.append)})
    monkeypatch.setitem(module.sys.modules, "IPython", ipython)
    monkeypatch.setitem(module.sys.modules, "IPython.display", display)
    analysis.show(results)
    (page,) = displayed
    assert "<svg" in page
    assert "By how much" in page
    assert page.count("<table") >= 2


def test_results_without_answers_show_too(capsys: pytest.CaptureFixture[str]) -> None:
    empty = from_plain(empty_results())
    analysis.show(empty)
    assert "no answers that compare" in capsys.readouterr().out
    assert isinstance(repr(empty), str)
    assert isinstance(first_page(empty), str)
