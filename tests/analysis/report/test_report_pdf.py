"""The report on paper: pages of a PDF, from Chromium where there is one."""

from __future__ import annotations

import io
import re
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from pypdf import PdfReader

from analysis.report import write_report
from analysis.report.pdf import find_browser, print_pdf
from analysis.results.files import from_plain
from spa.cli import main
from spa.errors import AnalysisError
from tests.analysis.sample_results import ARABIC, CHINESE, HOSTILE, TEMPLATE, full_results
from tests.browser.chromium import CHROMIUM
from tests.conftest import missing_part

ROWS = "".join(f"p{who},{item},s{system},{who + system}\n" for who in range(3) for item in "ab" for system in (1, 2))


@pytest.fixture(scope="module")
def browser() -> str:
    if not Path(CHROMIUM).exists():
        missing_part(f"no browser at {CHROMIUM}")
    return find_browser(Path(CHROMIUM))


def pages(content: bytes) -> list[str]:
    return [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]


def test_a_pdf_holds_the_report_on_numbered_pages(browser: str, tmp_path: Path) -> None:
    write_report(from_plain(full_results()), tmp_path, pdf=True, browser=Path(browser))
    found = pages((tmp_path / "report.pdf").read_bytes())
    text = " ".join(" ".join(found).split())
    for name in (HOSTILE, TEMPLATE, CHINESE):
        assert name in text
    assert all(letter in text for letter in ARABIC.split()[-1])
    assert [re.findall(r"\d+ / \d+", page)[-1] for page in found] == [
        f"{place} / {len(found)}" for place in range(1, len(found) + 1)
    ]
    assert "How to cite" not in [line.strip() for page in found for line in page.splitlines()]


def test_a_full_pdf_holds_the_appendix(browser: str, tmp_path: Path) -> None:
    write_report(from_plain(full_results()), tmp_path, full=True, pdf=True, browser=Path(browser))
    lines = [line.strip() for page in pages((tmp_path / "report.pdf").read_bytes()) for line in page.splitlines()]
    assert "How to cite" in lines
    assert "@inproceedings{ethayarajh-jurafsky-2022-authenticity," in lines  # within a fold
    assert not (tmp_path / "appendix.html").exists()


def test_no_page_reaches_the_network(browser: str) -> None:
    """A page without our policy, to see that the browser alone asks for nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        made = print_pdf(f'<p>text<img src="http://127.0.0.1:{port}/x.png">', browser)
        with pytest.raises(BlockingIOError):  # nobody called
            server.accept()
    assert pages(made)[0].split()[0] == "text"


def test_without_a_browser_one_line_says_what_to_do(tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text(f"annotator_id,item_id,system,score\n{ROWS}")
    arguments = ["--ratings", str(table), "--out", str(tmp_path / "report"), "--pdf", "--browser", str(tmp_path / "no")]
    shown = CliRunner().invoke(main, ["report", *arguments])
    assert shown.exit_code == 1
    (line,) = shown.stderr.splitlines()
    assert "expected Chromium, Chrome or Edge" in line
    assert "--browser PATH" in line
    assert not (tmp_path / "report").exists()


def test_a_program_that_makes_no_pdf_is_reported(tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(AnalysisError, match=r"made no PDF \(no display\); name another by --browser PATH"):
        print_pdf("<p>text", find_browser(broken))
