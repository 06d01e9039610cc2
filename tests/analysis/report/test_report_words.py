"""What a reader of the report sees first: the picture, how numbers are written, what is counted."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from analysis.commands.printed_answer import print_answer
from analysis.comparisons.pair_tables import shares_by_criterion
from analysis.contribution import Shown
from analysis.figures.drawing import COLOURS
from analysis.printing.document import Bullets, Figure, Table
from analysis.printing.names import Names
from analysis.printing.words import share_interval, t_value
from analysis.report.headline import headline
from analysis.report.orientation import oriented
from analysis.report.warnings import warnings
from analysis.results.files import from_plain
from tests.analysis.made_answers import render_report
from tests.analysis.sample_results import empty_results, preference

SVG = "{http://www.w3.org/2000/svg}"


def picture(rows: list[dict[str, Any]], order: list[list[str]], groups: tuple[str, ...] = ("human",)) -> Figure:
    """Return the figure of the first page."""
    rankings = [
        {"source": "preferences", "group": group, "criterion": "overall", "order": order, "unranked": []}
        for group in groups
    ]
    section = headline(oriented(from_plain({**empty_results(), "preferences": rows, "rankings": rankings})))
    assert section is not None
    (found,) = [block for block in section.blocks if isinstance(block, Figure)]
    return found


def words_of(figure: Figure) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(figure.svg).iter(f"{SVG}text")]


ALL = [preference("human", x, y, mean) for x, y, mean in (("A", "B", 0.7), ("C", "A", 0.1), ("B", "C", 0.8))]


def test_picture_of_the_leaders_chances():
    """The picture shows mean chances of the leader around 50 %."""
    found = picture(ALL, [["A"], ["B"], ["C"]])
    shown = words_of(found)
    assert [word for word in shown if " over " in word] == ["A over B", "A over C"]
    assert {"70.0%", "90.0%", "50%"} <= set(shown)
    assert "strength" not in shown
    assert found.caption.startswith("Mean chance that A is better than each other system")
    assert "50%, no preference" in found.caption
    what = "Mean chance that A is better than each other system (people)"
    assert found.alternative == f"{what}: 70.0% over B and 90.0% over C"


@pytest.mark.parametrize(("rows", "order"), [(ALL, [["A", "B"], ["C"]]), (ALL[1:], [["B"], ["C"], ["A"]])])
def test_picture_without_a_leader(rows: Any, order: list[list[str]]):
    """Without a leader compared with all the picture shows all pairs."""
    assert sum(" over " in word for word in words_of(picture(rows, order))) == len(rows)


def test_picture_colours_and_exposure():
    """The picture has one colour a group and the largest exposure."""
    rows = [preference(group, "A", y, 0.7) for group in ("human", "simulated") for y in "BC"]
    rows += [preference("human", "A", "B", 0.6, exposure=1)]
    found = picture(rows, [["A"], ["B"], ["C"]], ("human", "simulated"))
    assert [colour for colour in COLOURS if f'"{colour}"' in found.svg] == list(COLOURS[:2])
    assert "60.0%" not in words_of(found)


def test_report_draws_what_first_page_holds():
    """Of many systems as many are drawn as the first page holds."""
    rows = [preference("human", "A", f"s{place:02}", 0.7) for place in range(40)]
    found = picture(rows, [["A"], *([f"s{place:02}"] for place in range(40))])
    assert sum(" over " in word for word in words_of(found)) == 30
    assert "The first 30 of 40 pairs are drawn." in found.caption


def test_an_interval_that_was_cut_says_so():
    assert share_interval(0.987, 1.0012) == "98.7 to 100 (cut)"
    assert share_interval(-0.02, 0.4) == "0 (cut) to 40.0"
    assert share_interval(-0.1, 1.1) == "0 to 100 (both cut)"
    assert share_interval(0.987, 1.0) == "98.7 to 100.0"


def test_a_large_t_has_no_decimals():
    assert [t_value(t) for t in (479.0004, 144.92, 99.994, -6.692)] == ["479", "145", "99.99", "\u22126.69"]


def test_the_picture_of_two_systems_is_not_shown_twice():
    names = Names(results := oriented(from_plain({**empty_results(), "preferences": ALL[:1]})))
    blocks, appendix = shares_by_criterion(Shown(results, names), results.preferences, "preferences")
    assert [isinstance(block, Figure) for block in (*blocks, *appendix)] == [False, True]
    three = oriented(from_plain({**empty_results(), "preferences": ALL}))
    blocks, appendix = shares_by_criterion(Shown(three, Names(three)), three.preferences, "preferences")
    assert any(isinstance(block, Figure) for block in blocks)
    assert appendix == []


@pytest.mark.parametrize(
    ("order", "note"), [([["A"], ["B"], ["C"]], "1 is best."), ([["A", "B"], ["C"]], "1 is best; =, shared.")]
)
def test_signs_of_the_ranking_are_explained_where_they_stand(order: list[list[str]], note: str):
    rankings = [{"source": "preferences", "group": "human", "criterion": "overall", "order": order, "unranked": []}]
    section = headline(oriented(from_plain({**empty_results(), "preferences": ALL, "rankings": rankings})))
    assert section is not None
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    assert table.notes[0] == note


def test_report_column_names():
    """Columns of LaTeX tables are short and those of readers spelt out."""
    files = render_report({**empty_results(), "preferences": ALL})
    assert r"& 95\% CI (\%) &" in files["tables/preferences.tex"]
    assert "| 95% confidence interval (%) |" in files["report.md"]


def test_the_terminal_counts_the_warnings_that_the_report_prints(capsys: pytest.CaptureFixture[str]):
    texts = [("human", 1), ("simulated", 2)]
    rows = [{"kind": "few_values", "group": who, "text": f"{who}: {n} of 6 tests rest on few."} for who, n in texts]
    results = from_plain({**empty_results(), "warning_rows": rows, "warnings": [row["text"] for row in rows]})
    section = warnings(results)
    assert section is not None
    (bullets,) = [block for block in section.blocks if isinstance(block, Bullets)]
    assert len(bullets.items) == 1
    print_answer(results, ())
    assert "Warnings: 1. See the report." in capsys.readouterr().out
