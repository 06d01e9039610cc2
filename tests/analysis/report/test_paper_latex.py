"""Papers compile: by pdflatex, where that is installed, with no line too wide and every row in the PDF.

Not on CI, which has no LaTeX: ``make peers`` runs these.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from analysis.report.paper import PAPERS, PaperClass
from tests.analysis.report.test_paper_tables import STUDIES, all_files, files

NEEDED = ("pdflatex", "pdftotext", "kpsewhich")
DEBIAN = "texlive-latex-recommended texlive-fonts-recommended poppler-utils"
BAD = re.compile(r"^!|Overfull|too large|Missing character", re.MULTILINE)
OWN = {"acl": "acl", "neurips": "neurips_2025"}  # style files of the classes


@pytest.fixture(autouse=True)
def _latex() -> None:
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed (Debian: apt-get install {DEBIAN})")


def compiled(folder: Path, stem: str) -> str:
    """Compile a file; return what is wrong by its log."""
    command = ["pdflatex", "-interaction=nonstopmode", f"{stem}.tex"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    log = (folder / f"{stem}.log").read_text(errors="replace")
    return "\n".join(line for line in log.splitlines() if BAD.search(line))


def words_of(folder: Path, stem: str) -> str:
    """Return the letters and digits of a PDF in their order."""
    found = subprocess.run(
        ["pdftotext", "-layout", f"{stem}.pdf", "-"], cwd=folder, capture_output=True, text=True, check=True
    )
    return found.stdout


def around(kind: PaperClass, columns: int, name: str) -> str:
    """Return a document of ``article`` with the lengths of a class that takes in one file."""
    option = ",twocolumn" if columns == 2 else ""
    separated = rf"\setlength{{\columnsep}}{{{kind.text - 2 * kind.column:.4f}in}}" if columns == 2 else ""
    return (
        rf"\documentclass[{kind.size}pt{option}]{{article}}\usepackage{{booktabs}}"
        rf"\setlength{{\textwidth}}{{{kind.text}in}}{separated}"
        rf"\begin{{document}}\input{{{name}}}\end{{document}}"
    )


@pytest.mark.parametrize("paper", sorted(PAPERS))
@pytest.mark.parametrize("study", sorted(STUDIES))
def test_all_of_a_paper_compiles(study: str, paper: str, tmp_path: Path) -> None:
    """Each file in one and in two columns, and all of them together as ``paper.tex`` has them."""
    made = files(STUDIES[study](), paper)
    for name, content in all_files(STUDIES[study](), paper).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    folder = tmp_path / "paper"
    assert compiled(folder, "paper") == ""
    several = {name for name in made if name.startswith("paper/")} - {"paper/paper.tex"}
    for columns in (1, 2):
        for name in sorted(several):
            stem = Path(name).stem
            (folder / "one.tex").write_text(around(PAPERS[paper], columns, stem), encoding="utf-8")
            assert compiled(folder, "one") == "", (name, columns)
            rows = made[name].count(r"\tabularnewline")
            assert rows == 0 or (folder / "one.pdf").is_file()


def test_every_row_is_on_a_page(tmp_path: Path) -> None:
    """All 264 rows of a long table are in the text of the PDF."""
    text = files(STUDIES["many"](), "acl")["paper/main-preferences-coherence.tex"]
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    (tmp_path / "one.tex").write_text(around(PAPERS["acl"], 2, "table"), encoding="utf-8")
    assert compiled(tmp_path, "one") == ""
    shown = words_of(tmp_path, "one")
    rows = [line for line in text.splitlines() if "system-" in line]
    assert len(re.findall(r"system-\d\d over", shown)) == len(rows) == 264


@pytest.mark.parametrize("paper", sorted(OWN))
def test_tables_fit_the_style_of_the_class_itself(paper: str, tmp_path: Path) -> None:
    """The same with the style file of the conference, where it is found."""
    found = subprocess.run(["kpsewhich", f"{OWN[paper]}.sty"], capture_output=True, text=True, check=False)
    if not found.stdout.strip():
        pytest.skip(f"{OWN[paper]}.sty is not on LaTeX's path")
    made = files(STUDIES["full"](), paper)
    (tmp_path / "appendix.tex").write_text(made["paper/appendix.tex"], encoding="utf-8")
    document = rf"{PAPERS[paper].preamble}\usepackage{{booktabs}}\begin{{document}}\input{{appendix}}\end{{document}}"
    (tmp_path / "one.tex").write_text(document, encoding="utf-8")
    assert compiled(tmp_path, "one") == ""
