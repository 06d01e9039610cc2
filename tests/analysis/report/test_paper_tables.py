"""Tables of a paper fit the class: reckoned here, compiled in ``test_paper_latex.py``."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.figures.plain_text import clean
from analysis.printing.document import Figure, every_block
from analysis.report import report_files
from analysis.report.latex import BEYOND_LATIN, SPECIAL
from analysis.report.paper import PAPERS, paper_files
from analysis.report.paper.classes import PDF_POINTS, PIXELS, TEX_POINTS, rounded_down
from analysis.report.paper.files import StandIns
from analysis.report.paper.layout import EM, Rows, Sheet, ems, lay_out, pieces, render_sheet
from analysis.report.parts import full_report
from analysis.report.sections import build_document
from analysis.results.files import from_plain
from spa.records.analysis import ReportFiles
from tests.analysis.sample_results import (
    ARABIC,
    CHINESE,
    LATEX,
    empty_results,
    full_results,
    many_results,
    pair_results,
    preference,
    rating_pair,
)

NAMES = ("a_very_long_system_name_of_forty_letters", "W" * 40, "50% & more \\textbf{x} $y$ #1 ^~", CHINESE)
GREEDY = "gpt-4/persona_of_a_very_long_name_indeed"
WORD = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=40)


def all_files(results: dict[str, Any], paper: str) -> dict[str, bytes]:
    """Return the files of a paper by path."""
    shown = clean(from_plain(results))
    return paper_files(shown, full_report(build_document(shown)), paper)


def files(results: dict[str, Any], paper: str) -> dict[str, str]:
    """Return the LaTeX of a paper by path."""
    made = all_files(results, paper)
    return {name: content.decode() for name, content in made.items() if name.endswith(".tex")}


def hostile() -> dict[str, Any]:
    """Return preferences between systems whose names are hard to print, by people and an LLM of a long name."""
    pairs = combinations(NAMES, 2)
    return {**empty_results(), "preferences": [preference(g, x, y, 0.6) for x, y in pairs for g in ("human", GREEDY)]}


def of_llm() -> dict[str, Any]:
    """Return preferences of an LLM alone."""
    group = dict.fromkeys(("annotators", "assignments"), 20) | dict.fromkeys(
        ("excluded_annotators", "excluded_assignments"), 0
    )
    return {
        **empty_results(),
        "groups": [{"group": "gpt-4", "annotator_kind": "llm", "form": None, **group}],
        "preferences": [preference("gpt-4", x, y, 0.6) for x, y in combinations("abc", 2)],
    }


def of_ratings() -> dict[str, Any]:
    """Return ratings alone."""
    pairs = [rating_pair("human", x, y, 0.4, 0.03) for x, y in combinations("abc", 2)]
    return {**empty_results(), "ratings": {"means": [], "pairs": pairs}}


STUDIES = {
    "full": full_results,
    "many": many_results,
    "pair": pair_results,
    "hostile": hostile,
    "llm": of_llm,
    "ratings": of_ratings,
    "empty": empty_results,
}


def test_lengths_are_those_of_the_classes() -> None:
    """ACL and NeurIPS measured in documents of these classes; what is derived is never more than that."""
    acl, neurips = PAPERS["acl"], PAPERS["neurips"]
    assert (acl.text, acl.column, acl.figure) == (6.2992, 3.0315, 3.0315)
    assert (neurips.text, neurips.figure) == (5.5, 5.5)
    for unit, wanted in ((TEX_POINTS, 219.08), (PDF_POINTS, 218.26), (PIXELS, 291.02)):
        assert rounded_down(acl.column, unit) == wanted <= acl.column * unit
    for one in PAPERS.values():  # so that tables of one column fit where its class is set in two
        assert 2 * one.column * TEX_POINTS + 10 <= one.text * TEX_POINTS + 1e-6


def test_study_files_name_the_same_classes() -> None:
    """``[report] paper`` takes the classes that there are."""
    annotation = ReportFiles.model_fields["paper"].annotation
    assert set(get_args(get_args(annotation)[0])) == set(PAPERS)


def test_widths_are_at_least_those_of_times_and_modern() -> None:
    """A digit is .5 em in both, W 1.028 em in Computer Modern; at 8 points its digits are .531 em."""
    assert ems("0") >= 0.5
    assert ems("W") >= 1.028
    assert 4 * ems("0") * EM[8] >= 4 * 0.531 * 8


@given(st.lists(st.tuples(WORD, WORD, WORD, WORD, WORD), min_size=1, max_size=4), st.sampled_from(sorted(PAPERS)))
@settings(max_examples=50, deadline=None)
def test_any_table_fits_as_reckoned(rows: list[tuple[str, ...]], paper: str) -> None:
    """Columns fit side by side, and no part of a word that stays whole is wider than its column."""
    sheet = Sheet(
        name="any",
        caption="Any.",
        titles=("Pair", "Mean", "p", "n", "Verdict"),
        numeric=(False, True, True, True, False),
        groups=(Rows(heading="People", rows=tuple(rows)),),
    )
    kind = PAPERS[paper]
    shown: set[int] = set()
    for places, layout in lay_out(sheet, kind):
        assert layout.total <= (kind.text if layout.starred else kind.column) * TEX_POINTS
        shown |= {*places}
        for place, width, broken in zip(places, layout.widths, layout.broken, strict=True):
            for row in rows:
                parts = pieces(row[place]) if broken else (row[place],)
                assert max(map(ems, parts)) * EM[layout.size] <= width + 1e-6
    assert shown == set(range(5))


def test_every_row_is_in_a_part_of_its_table() -> None:
    """Of 66 pairs, 2 groups and 2 exposures all rows stand in parts, each of which fits on a page."""
    text = files(many_results(), "acl")["paper/main-preferences-coherence.tex"]
    assert "longtable" not in text
    rows = [line for line in text.splitlines() if "\\tabularnewline" in line and "system-" in line]
    assert len(rows) == 66 * 4
    assert text.count("(continued)") == text.count(r"\begin{table") - 1 >= 3
    headings = re.findall(r"\\textit\{([^}]*)\}", text)
    assert list(dict.fromkeys(headings)) == [
        f"{who}, {read} outputs of each read" for who in ("People", "Gpt-4 (LLM)") for read in (4, 8)
    ]


def test_main_table_says_what_it_counts_and_corrects() -> None:
    """The caption names level, units, correction; columns are pair, mean with interval, p and n."""
    text = files(full_results(), "acl")["paper/main-preferences.tex"]
    caption = re.findall(r"\\caption\{(.*)\}", text)[0]
    for words in (r"95\% confidence intervals", "adjusted by Holm", "level .05", "n: "):
        assert words in caption
    head = text.partition("\\toprule")[2].partition("\\tabularnewline")[0]
    assert [
        re.sub(r"\\begin.*?@\{\}\}|\\end.*|\\raggedright |\\\\", " ", part).split() for part in head.split("&")
    ] == [
        ["Pair"],
        ["Mean", "[95\\%", "CI]"],
        ["p"],
        ["n"],
    ]


def test_no_llm_stands_before_people() -> None:
    """Groups stand under their names, people first."""
    text = files(hostile(), "neurips")["paper/main-preferences.tex"]
    people, llm = (text.index(f"\\textit{{{name}") for name in ("People", "Gpt"))
    assert people < llm


@pytest.mark.parametrize("paper", sorted(PAPERS))
@pytest.mark.parametrize("study", sorted(STUDIES))
def test_paper_shows_each_of_its_files(study: str, paper: str) -> None:
    """``paper.tex`` takes in all main tables and the appendix, which has all tables of the report; no label twice."""
    made = files(STUDIES[study](), paper)
    whole = made["paper/paper.tex"]
    taken = set(re.findall(r"\\input\{([^}]*)\}", whole))
    assert {f"paper/{name}.tex" for name in taken} == {name for name in made if name.startswith("paper/")} - {
        "paper/paper.tex"
    }
    labels = [
        label
        for name, text in made.items()
        if name.startswith("paper/")
        for label in re.findall(r"\\label\{[^}]*\}", text)
    ]
    assert len(labels) == len(set(labels))
    tables = {name for name in made if name.startswith("tables/")}
    shown = set(re.findall(r"\\label\{tab:([^}]*)\}", made["paper/appendix.tex"]))
    assert {f"tables/{name}.tex" for name in shown} == tables
    for text in made.values():
        plain = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
        assert BEYOND_LATIN.search(plain) is None
        assert {*SPECIAL, "\u2260"} & {one for one in plain if not one.isascii()} == set()


def test_letters_that_latex_lacks_have_declared_names() -> None:
    """Chinese and Arabic names get one stand-in each, everywhere the same, declared in a line of each file."""
    made = files(full_results(), "acl")
    assert f"stands for {CHINESE}" in made["paper/paper.tex"]
    assert all(word in made["paper/paper.tex"] for word in ARABIC.split())
    for name, text in made.items():
        for number in re.findall(r"\[name (\d+)\]", text):
            if name != "paper/paper.tex":
                assert f"% [name {number}] stands for " in text
    assert LATEX.partition(" ")[0].replace("_", r"\_") in made["paper/main-preferences.tex"]


def test_stand_ins_collide_with_no_name() -> None:
    """A system that is called like a stand-in keeps its name for itself."""
    stand_ins = StandIns("[name 1] 甲 乙 [name 3]")
    assert stand_ins.printable("甲 乙 甲 [name 1]") == "[name 2] [name 4] [name 2] [name 1]"
    assert stand_ins.declared == {"[name 2]": "甲", "[name 4]": "乙"}


def test_letters_with_accents_stay() -> None:
    """What pdflatex sets is left as it is, also where accents come after their letters."""
    assert StandIns("").printable("nai\u0308ve É \u2260 \u2212 α ł") == "naïve É \u2260 \u2212 α ł"


def test_a_paper_is_written_beside_the_report() -> None:
    """Tables of the report fit as well; without a paper they are what they were."""
    results = from_plain(full_results())
    plain, fitted = report_files(results), report_files(results, paper="acl")
    assert set(plain) < set(fitted)
    assert {name for name in set(fitted) - set(plain)} == {name for name in fitted if name.startswith("paper/")}
    changed = {name for name in plain if plain[name] != fitted[name]}
    assert changed == {name for name in plain if name.startswith("tables/") and name.endswith(".tex")}
    assert fitted == report_files(results, paper="acl")


def test_figures_stand_beside_their_tables() -> None:
    """Each figure that fits is written as PDF and SVG and shown; the others are said not to fit."""
    shown = clean(from_plain(full_results()))
    document = full_report(build_document(shown))
    made = paper_files(shown, document, "acl")
    whole = made["paper/paper.tex"].decode()
    taken = re.findall(r"\\includegraphics\{([^}]*)\}", whole)
    assert len(taken) > 2
    assert {f"paper/{name}" for name in taken} == {name for name in made if name.endswith(".pdf")}
    assert {name.replace(".pdf", ".svg") for name in taken} == {
        Path(name).name for name in made if name.endswith(".svg")
    }
    drawn = [one for section in document.sections for one in every_block(section.blocks) if isinstance(one, Figure)]
    assert len(taken) + whole.count("does not fit on a page") == len([one for one in drawn if one.drawing is not None])
    captions = re.findall(r"\\caption\{(.*)\}", whole)
    assert any(r"95\% confidence intervals" in one and "n: 88 people" in one for one in captions)


def test_columns_too_many_for_a_page_are_parted() -> None:
    """Thirty columns stand in several parts, each with the first column."""
    sheet = Sheet(
        name="wide",
        caption="Wide.",
        titles=("System", *(f"criterion-{place}" for place in range(30))),
        numeric=(False, *[True] * 30),
        groups=(Rows(heading="", rows=(("gpt", *["0.123 (0.456)"] * 30),)),),
    )
    laid_out = lay_out(sheet, PAPERS["acl"])
    assert len(laid_out) > 1
    assert [place for places, _ in laid_out for place in places[1:]] == list(range(1, 31))
    assert render_sheet(sheet, PAPERS["acl"]).count("gpt") == len(laid_out)
