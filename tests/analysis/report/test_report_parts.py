"""The report for a reader with little time, and its appendix: nothing is lost, links lead somewhere."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from pypdf import PdfReader

from analysis.answers.plan import Plan
from analysis.llm_vs_people.section import REHEARSAL
from analysis.printing.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Figure,
    Fold,
    Links,
    Paragraph,
    Section,
    Table,
    every_block,
)
from analysis.printing.lookup import MOST_DRAWN
from analysis.records.results import Results
from analysis.report import render_report as render
from analysis.report import write_report
from analysis.report.closing import _used
from analysis.report.parts import FURTHER, LONGEST, SHOWN, appendix, full_report, short_report
from analysis.report.sections import build_document as build
from analysis.report.sections import make_section, section_ids
from analysis.report.warnings import warnings
from analysis.results.conventions import conventions
from analysis.results.files import from_plain, read_results
from spa.cli import main
from tests.analysis.figures.walked import broken
from tests.analysis.made_answers import ratings, render_report, run
from tests.analysis.read_page import Page, read_page
from tests.analysis.sample_results import full_results, many_results, pair_results
from tests.browser.chromium import CHROMIUM

MOST_WORDS = 3300

pytestmark = pytest.mark.one_process("demo")  # it is made once


def demo(folder: Path, *options: str) -> Results:
    made = CliRunner().invoke(main, ["demo", "--out", str(folder), *options])
    assert made.exit_code == 0, made.output
    return read_results(folder / "report" / "results.json")


@pytest.fixture(scope="module")
def shown(made_demo: Path) -> Results:
    return read_results(made_demo / "report" / "results.json")


def test_report_of_rehearsal_asked_no_llm(shown: Results) -> None:
    """A rehearsal says that no LLM was asked wherever the question stands."""
    (section,) = [one for one in build(shown).sections if one.id == "llm-vs-people"]
    assert section.blocks[1] == Paragraph(text=REHEARSAL)
    asked = replace(shown, groups=tuple(replace(group, simulated=False) for group in shown.groups))
    assert REHEARSAL not in str(build(asked).sections)


def test_figures_of_the_demo_keep_the_rules(shown: Results) -> None:
    assert broken(shown) == []


def test_report_subtitle(made_demo: Path, shown: Results) -> None:
    """The subtitle has the day of the last answer and the version."""
    with sqlite3.connect(made_demo / "study" / "study.rehearsal.sqlite") as store:
        (ended,) = store.execute("SELECT max(completed_at) FROM submissions").fetchone()
    day = datetime.fromtimestamp(ended, UTC).date().isoformat()
    assert shown.study is not None
    assert shown.study.last_answer == day
    version = shown.settings.versions["spa-eval"]
    assert build(shown).subtitle.endswith(f"; last answer {day}; spa-eval {version}")
    without = replace(shown, study=None)  # of tables, which do not say when
    assert build(without).subtitle.endswith(f"; spa-eval {version}")
    assert "last answer" not in build(without).subtitle


def words(html: str) -> int:
    return len(re.sub(r"<style.*?</style>|<svg.*?</svg>|<[^>]+>", " ", html, flags=re.DOTALL).split())


def test_the_report_of_the_demo_can_be_read_in_minutes(shown: Results) -> None:
    files = render(shown)
    assert 1000 < words(files["report.html"]) < MOST_WORDS
    assert words(render(shown, full=True)["report.html"]) > 10_000


@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"no browser at {CHROMIUM}")
def test_demo_prints_on_four_pages(shown: Results, tmp_path: Path) -> None:
    """The demo prints on four pages and no fold begins at the end of one."""
    write_report(shown, tmp_path, pdf=True, browser=Path(CHROMIUM))
    report, rest = (printed_lines(tmp_path / f"{name}.pdf") for name in ("report", "appendix"))
    assert len(report) <= 4, "list a new section beside one of the report, in FURTHER of analysis/report/parts.py"
    titles = re.findall("<summary>(.*?)</summary>", (tmp_path / "appendix.html").read_text(encoding="utf-8"))
    assert len(titles) > 20
    assert [lines[-1] for lines in rest if any(unescape(title) in lines[-1] for title in titles)] == []


def printed_lines(path: Path) -> list[list[str]]:
    """Return the lines of each page without its number."""
    pages = [page.extract_text(extraction_mode="layout").splitlines() for page in PdfReader(path).pages]
    return [[line for line in lines if line.strip() and not re.fullmatch(r"\s*\d+ / \d+\s*", line)] for lines in pages]


def test_the_same_demo_gives_the_same_report(tmp_path: Path) -> None:
    """The table of annotators alone holds how long each took, which is measured."""
    demos = [demo(tmp_path / name, "--annotators", "3") for name in ("one", "other")]
    taken = [next(file.sha256 for file in made.settings.inputs if file.table == "annotators") for made in demos]
    one, other = (
        {name: text.replace(sha256, "") for name, text in render(made).items()}
        for made, sha256 in zip(demos, taken, strict=True)
    )
    assert one == other


@pytest.mark.parametrize("make", [full_results, pair_results, lambda: many_results(9)])
def test_no_block_is_lost_between_report_and_appendix(make: Any) -> None:
    check_nothing_lost(build(from_plain(make())))


def test_no_block_of_the_demo_is_lost(shown: Results) -> None:
    check_nothing_lost(build(shown))


def check_nothing_lost(document: Document) -> None:
    def leaves(made: Document) -> list[Block]:
        found = [block for section in made.sections for block in every_block(section.blocks)]
        return [block for block in found if not isinstance(block, Fold | Links)]

    apart = leaves(short_report(document)) + leaves(appendix(document))
    assert [block for block in leaves(full_report(document)) if block not in apart] == []


def test_report_sections_are_reachable() -> None:
    """Every section belongs to the report or is linked from it."""
    linked = {name for names in FURTHER.values() for name in names}
    told = "each section needs a place in FURTHER of analysis/report/parts.py: as a key, or beside one"
    assert set(section_ids()) == set(FURTHER) | linked, told
    assert not set(FURTHER) & linked


@pytest.mark.parametrize("make", [full_results, lambda: many_results(9)])
@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_links_between_report_and_appendix_lead_somewhere(make: Any, suffix: str) -> None:
    check_links(render_report(make(), full=False), suffix)


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_links_of_the_demo_lead_somewhere(shown: Results, suffix: str) -> None:
    check_links(render(shown), suffix)


def check_links(files: dict[str, str], suffix: str) -> None:
    ids = {name: set(re.findall(r'id="([^"]+)"', files[f"{name}{suffix}"])) for name in ("report", "appendix")}
    pattern = r'href="([^"]*)"' if suffix == ".html" else r"\]\(<?([^>)]*)>?\)"
    targets = [target for name in ids for target in re.findall(pattern, files[f"{name}{suffix}"])]
    assert any(target.startswith(f"appendix{suffix}#") for target in targets)
    for name in ids:
        for target in re.findall(pattern, files[f"{name}{suffix}"]):
            file, _, place = target.partition("#")
            if place:
                assert place in ids[file.removesuffix(suffix) or name], target
            else:
                assert file in files, target


def test_problems_are_links_to_their_section() -> None:
    problem = {"text": "7 answers are missing.", "section": "excluded"}
    headline = {"source": "preferences", "group": "human", "winner": "A.", "certainty": "B.", "stand_in": "C."}
    files = render_report({**full_results(), "headline": {**headline, "problems": [problem], "claims": []}}, full=False)
    assert '<a href="#excluded">7 answers are missing.</a>' in files["report.html"]
    assert "[7 answers are missing.](<#excluded>)" in files["report.md"]


def long_table(rows: int) -> Table:
    weights = tuple(float((place * 7) % rows) for place in range(rows))
    return Table(
        name="long",
        caption="Long",
        columns=(Column(title="Row"), Column(title="p")),
        rows=tuple((Cell(text=f"row {place}"), Cell(text=str(weight))) for place, weight in enumerate(weights)),
        csv="ratings_pairs",
        weights=weights,
        weighed_by="the smallest p",
    )


def test_a_long_table_shows_the_rows_that_matter_in_their_order() -> None:
    whole = long_table(29)
    section = Section(id="ratings", title="Ratings", blocks=(whole,))
    document = Document(title="", subtitle="", language="en", sections=(section,))
    (shown, rest) = short_report(document).sections[0].blocks
    assert isinstance(shown, Table)
    assert {float(row[1].text) for row in shown.rows} == set(map(float, range(SHOWN)))
    assert list(shown.rows) == [row for row in whole.rows if row in shown.rows]
    assert isinstance(rest, Links)
    assert rest.label == "12 of 29 rows: those with the smallest p. All of them:"
    assert rest.items[0].target == "tables/ratings_pairs.csv"
    (fold,) = appendix(document).sections[0].blocks
    assert isinstance(fold, Fold)
    assert fold.blocks == (whole,)


def test_a_table_of_twenty_rows_stays_whole() -> None:
    section = Section(id="ratings", title="Ratings", blocks=(replace(long_table(LONGEST)),))
    document = Document(title="", subtitle="", language="en", sections=(section,))
    assert short_report(document).sections[0].blocks == section.blocks
    assert appendix(document).sections == ()


def test_columns_are_explained_once_in_the_appendix() -> None:
    files = render_report(full_results(), full=False)
    explanation = "mean chance that the first is better"
    report, rest = read_page(files["report.html"]), read_page(files["appendix.html"])
    assert explanation not in report.text
    assert _explained(rest) == 1


def _explained(page: Page) -> int:
    text = page.text[page.text.rindex("What the columns mean") :]
    return text.count("mean chance that the first is better")


def test_warnings_of_one_kind_are_one_line() -> None:
    results = full_results()
    groups = [entry["group"] for entry in results["groups"]][:2]
    texts = [
        (groups[0], f"{groups[0]}: 1 of 6 tests of preferences rests on few values, in 29% of studies."),
        (groups[1], f"{groups[1]}: 4 of 6 tests of ratings rest on few values, in 29% of studies."),
        (None, "Something else."),
    ]
    results["warning_rows"] = [{"kind": "few_values", "group": group, "text": text} for group, text in texts]
    section = warnings(from_plain(results))
    assert section is not None
    (bullets,) = (block for block in section.blocks if isinstance(block, Bullets))
    lines = bullets.items
    assert len(lines) == 2
    assert lines[0].endswith(": 1 to 4 of 6 tests of preferences and ratings rest on few values, in 29% of studies.")
    (fold,) = section.appendix
    assert isinstance(fold, Fold)
    assert fold.summary == "The same, group by group"


def test_report_draws_first_of_many_criteria() -> None:
    """Of many criteria the first are drawn and the report says so."""
    rows = [
        (f"a{who}", f"i{item}", system, 1 + (who * item + ord(system)) % 5)
        for who in (1, 2, 3)
        for item in (1, 2, 3)
        for system in "xy"
    ]
    tables = [ratings(rows, criterion=f"c{number:02}") for number in range(MOST_DRAWN + 2)]
    section = make_section(from_plain(run(ratings=pl.concat(tables))), "ratings")
    assert section is not None
    figures = [block.name for block in every_block((*section.blocks, *section.appendix)) if isinstance(block, Figure)]
    assert sum(name.startswith("ratings-") for name in figures) == MOST_DRAWN
    assert "ratings-c25" not in figures
    assert f"the first {MOST_DRAWN} of {MOST_DRAWN + 2} criteria" in str(section.blocks[0])


def test_terms_explain_what_is_used() -> None:
    known = {entry.term for entry in conventions(Plan())}
    assert set(_used(from_plain(pair_results()))) <= known
    used = from_plain(pair_results())
    section = make_section(replace(used, conventions=conventions(Plan())), "terms")
    text = str(section)
    assert "noncentral t" in text
    assert "signed ranks" not in text
    assert "Davidson" not in text
