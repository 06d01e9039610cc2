"""The how-to guides run as they are written: every command, in order, in an empty folder, against real servers.

What a reader has before the first line of a guide is prepared here: a study as ``spa init`` writes it, the files of
another tool, an account. What people do between two commands is done here too, over HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2
import polars as pl

from tests.guides.desk import Desk, commands, sitting, table
from tests.guides.others import metrics, potato_folder, ratings, wide_results
from tests.shell_lines import Command

NOT_RUN = {  # (document, how the command begins) -> why a test does not type it
    ("*", "pip install"): "installs from the package index; test_docs.py checks that the extra exists",
    ("README.md", "make demo"): "makes an environment of its own; tests/analysis and `spa demo` are its parts",
}
WITH_STUDY = "my-study"  # every guide speaks of it; `spa init my-study` writes it

Step = Callable[[Desk], object]


def walk(desk: Desk, name: str, before: Mapping[str, Step] | None = None) -> list[Command]:
    """Type the commands of a guide one after the other.

    ``before`` is what happens just before the first command that begins so.
    """
    steps, typed = dict(before or {}), []
    for command in commands(name):
        if any(document in ("*", name) and command.text.startswith(begins) for document, begins in NOT_RUN):
            continue
        for begins in [begins for begins in steps if command.text.startswith(begins)]:
            steps.pop(begins)(desk)
        desk.type(command.text)
        typed.append(command)
    assert not steps, f"{name} has no command that begins so: {', '.join(steps)}"
    return typed


def with_study(desk: Desk) -> Path:
    """Write the study that the guides speak of."""
    desk.spa("init", WITH_STUDY)
    return desk.folder / WITH_STUDY / "study.toml"


def order(report: Path, source: str, criterion: str = "overall") -> list[list[str]]:
    """Return the order of the systems that a report found for its first group."""
    results = json.loads((report / "results.json").read_text())
    found = (row["order"] for row in results["rankings"] if (row["source"], row["criterion"]) == (source, criterion))
    return next(found)


def fewer(name: str) -> Step:
    """Let the study of ``spa init`` want 8 annotators instead of 24, so that the computer has less to do."""

    def change(desk: Desk) -> None:
        study = desk.folder / name / "study.toml"
        text = study.read_text()
        assert "annotators = 24" in text
        study.write_text(text.replace("annotators = 24", "annotators = 8"))

    return change


def test_every_command_that_is_not_run_is_there() -> None:
    shown = [(command.document, command.text) for name in GUIDES for command in commands(name)]
    for document, begins in NOT_RUN:
        assert any(document in ("*", name) and text.startswith(begins) for name, text in shown), begins


def test_the_readme(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        few = {f"spa build {study}": fewer(study) for study in ("my-study", "reversal")}
        walk(desk, "README.md", before=few)
    assert (tmp_path / "report" / "report.html").is_file()
    assert order(tmp_path / "reversal" / "report", "preferences")[0] == ["novelist"]
    assert order(tmp_path / "reversal" / "report", "ratings")[0] == ["formula"]


def test_your_own_people(tmp_path: Path) -> None:
    with sitting(tmp_path, addresses={"https://study.example.org": ("serve",)}) as desk:
        with_study(desk)
        walk(desk, "own-people.md")
        links = (tmp_path / "links.txt").read_text().split()
        assert len(links) == 24
        assert httpx2.get(links[7], trust_env=False, follow_redirects=True).status_code == 200
        assert "24" in desk.printed["spa status my-study/study.toml"]


def test_planning(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        with_study(desk)
        walk(desk, "planning.md")
    assert {path.suffix for path in (tmp_path / "plan").iterdir()} == {".svg", ".csv"}


def test_preregistration(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        study = with_study(desk)
        fewer(WITH_STUDY)(desk)
        walk(desk, "preregistration.md", before={"spa heds": lambda desk: desk.spa("simulate", study)})
    assert json.loads((tmp_path / "preregistration.json").read_text())
    assert (tmp_path / "datasheet" / "heds-open.txt").read_text()


def test_importing(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        desk.write("import.toml", table("importing.md", "llms = "))
        potato_folder(tmp_path / "annotations")
        wide_results(tmp_path / "results.csv")
        walk(
            desk,
            "importing.md",
            before={"spa import csv": lambda desk: desk.write("import.toml", table("importing.md", "WorkerId"))},
        )
    assert order(tmp_path / "report", "ratings", "fluency") == [["reference"], ["model-a"], ["model-b"]]
    assert pl.read_csv(tmp_path / "tables" / "choices.csv").height


def test_images_and_languages(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        walk(desk, "images-study.md")
        walk(desk, "languages.md")
        preview = desk.server(("preview",))
        assert preview is not None
        assert 'dir="rtl"' in httpx2.get(preview.url, trust_env=False, follow_redirects=True).text


def test_simulation(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        few = {f"spa build {study}": fewer(study) for study in ("my-study", "reversal")}
        walk(desk, "simulation.md", before=few)
    assert order(tmp_path / "report", "preferences")
    assert order(tmp_path / "reversal" / "report", "preferences")[0] == ["novelist"]
    assert order(tmp_path / "reversal" / "report", "ratings")[0] == ["formula"]


def test_the_dashboard(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        desk.spa("build", with_study(desk))
        ratings(tmp_path / "tables" / "ratings.csv", llm="gpt-4")
        walk(desk, "dashboard.md")


def test_tables_and_correlations(tmp_path: Path) -> None:
    with sitting(tmp_path) as desk:
        desk.spa("build", with_study(desk))
        walk(desk, "tables.md")
        ratings(tmp_path / "ratings.csv", llm="gpt4", annotator="rater")
        metrics(tmp_path / "metrics.csv")
        walk(desk, "correlations.md")
    assert json.loads((tmp_path / "report" / "results.json").read_text())["correlations"]


GUIDES = [
    "README.md",
    "own-people.md",
    "planning.md",
    "preregistration.md",
    "importing.md",
    "images-study.md",
    "languages.md",
    "simulation.md",
    "dashboard.md",
    "tables.md",
    "correlations.md",
]
