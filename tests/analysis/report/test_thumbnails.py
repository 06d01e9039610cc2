"""Small pictures of outputs stand in a report where they are asked for, and nowhere else."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from analysis.commands.rendering_options import thumbnails_of
from analysis.descriptives.explanations import ExplanationRow
from analysis.descriptives.explanations_section import _outputs_of
from analysis.printing.document import Document, Fold, Paragraph, Section
from analysis.report.html import render_html
from spa.cli import main
from tests.analysis.read_page import read_page
from tests.spa.tiny_images import tiny_png

PICTURE = "data:image/jpeg;base64,AAAA"
STUDY = """id = "seen"
title = "Seen"
outputs = {files = ["outputs.jsonl"], kind = "markdown"}
systems = [{id = "alpha"}, {id = "beta"}]
people = {annotators = 3}
likert.outputs = "all"
design.items = 3
"""


def page_of(addresses: list[str] | None) -> str:
    fold = Fold(summary="Why", blocks=(Paragraph(text="So."),), about=(("i", "alpha", 1), ("i", "beta", 2)))
    document = Document(title="T", subtitle="", language="en", sections=(Section(id="a", title="A", blocks=(fold,)),))
    return render_html(document, None if addresses is None else lambda place: addresses if place[1] == "beta" else [])


def test_pictures_stand_where_they_are_asked_for() -> None:
    """Each once, as data, which the page's policy lets it load; other addresses are left out."""
    page = read_page(page_of([PICTURE, PICTURE, "https://a.org/b.png", '"><script>', "data:text/html,x"]))
    assert [given["src"] for tag, given in page.tags if tag == "img"] == [PICTURE]
    (policy,) = (str(given["content"]) for _, given in page.tags if "http-equiv" in given)
    assert "; img-src data:; " in policy
    for without in (page_of(None), page_of([])):
        assert "<img" not in without
    assert "img-src" not in page_of(None)


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    """Return a study of Markdown that shows pictures."""
    rows = []
    for item in range(3):
        for number, system in enumerate(("alpha", "beta")):
            (tmp_path / f"{system}{item}.png").write_bytes(tiny_png(item, number))
            rows.append({"item_id": f"i{item}", "system": system, "output": f"![a cat]({system}{item}.png) **{item}**"})
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_pictures_are_those_of_the_outputs(study_file: Path) -> None:
    """Of texts those that they show; none of what is not there."""
    small = thumbnails_of(study_file)
    (picture,) = small(("i1", "beta", 1))
    assert picture.startswith("data:image/jpeg;base64,")
    with Image.open(io.BytesIO(base64.b64decode(picture.partition(",")[2]))) as read:
        assert read.size == (1, 1)
    assert (
        small(("i1", "beta", 2))
        == small(("i9", "beta", 1))
        == small(("i1", "gone", 1))
        == small(("i1", "beta", 0))
        == ()
    )


def test_explanations_are_about_their_outputs() -> None:
    """Of a rating one, of a choice two, of systems none."""
    row = ExplanationRow(**dict.fromkeys(one.name for one in fields(ExplanationRow)))  # type: ignore[arg-type]
    rated = replace(row, item_id="i", system="a", sample="2")
    chosen = replace(row, item_id="i", system_x="a", system_y="b", sample_x="1")
    assert list(_outputs_of(rated)) == [("i", "a", 2)]
    assert list(_outputs_of(chosen)) == [("i", "a", 1), ("i", "b", 1)]
    assert list(_outputs_of(replace(row, system_x="a", system_y="b"))) == []


def test_a_report_takes_the_option(study_file: Path, tmp_path: Path) -> None:
    """Nothing else of it changes."""
    for command in ("build", "simulate"):
        assert run(command, str(study_file)).exit_code == 0
    pages = {}
    for name, options in (("plain", []), ("small", ["--thumbnails"])):
        done = run("report", str(study_file), "--rehearsal", "--out", str(tmp_path / name), *options)
        assert done.exit_code == 0, done.output
        pages[name] = (tmp_path / name / "report.html").read_text()
    assert pages["small"].replace("img-src data:; ", "", 1) == pages["plain"] != pages["small"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_files_have_no_thumbnails(tmp_path: Path) -> None:
    """Tables say nothing of what was shown."""
    (tmp_path / "ratings.csv").write_text("annotator_id,item_id,system,score\na,i,x,1\n")
    done = run("report", str(tmp_path / "ratings.csv"), "--thumbnails", "--out", str(tmp_path / "report"))
    assert done.exit_code == 2
    assert "--thumbnails: expected a STUDY, got files" in done.output
