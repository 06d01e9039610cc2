"""Pages of what was shown with its answers: everything stands there once, and nothing in it acts."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.exporters import exporter_of
from spa.exporters.shown import POLICY
from spa.records.clean_text import cleaned
from spa.records.materials import ShownFile
from spa.records.outputs import Item, Output, Outputs
from tests.spa.exporters.test_export_formats import study
from tests.spa.media.hostile_outputs import OUTPUTS
from tests.spa.tiny_images import tiny_png
from tests.strategies import HOSTILE

STUDY = """id = "shown"
title = "Shown"
outputs = {files = ["outputs.jsonl"], kind = "markdown", item_text = "given", item_kind = "image"}
systems = [{id = "alpha"}, {id = "beta"}]
people = {annotators = 4}
likert.outputs = "first"
choices.outputs = "first"
[spa]
exposure = 2
"""


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    """Return a study that simulated people answered, of answers with a picture to a picture."""
    rows = []
    for item in range(3):
        (tmp_path / f"given{item}.png").write_bytes(tiny_png(item, 7))
        for number, system in enumerate(("alpha", "beta")):
            (tmp_path / f"{system}{item}.png").write_bytes(tiny_png(item, number))
            output = f"See **{item}**: ![a cat]({system}{item}.png)"
            rows.append({"item_id": f"i{item}", "system": system, "given": f"given{item}.png", "output": output})
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    for command in (["build"], ["simulate"]):
        done = CliRunner().invoke(main, [command[0], str(path)])
        assert done.exit_code == 0, done.output
    return path


def test_everything_stands_beside_its_answers(study_file: Path) -> None:
    """Small pictures that link to the files, in a folder whose names say nothing; a table names the same files."""
    out = study_file.parent / "out"
    done = CliRunner().invoke(main, ["export", str(study_file), "--rehearsal", "--format", "shown", "--out", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "shown-1.html").read_text()
    assert page.count("<section>") == 3
    assert page.count("<article>") == 6
    assert page.count('src="data:image/jpeg;base64,') == 9
    linked = re.findall(r'href="(files/[^"]+)"', page)
    assert len(set(linked)) == len(linked) == 9
    assert {path.name for path in (out / "files").iterdir()} == {Path(one).name for one in linked}
    assert not re.search("alpha|beta", " ".join(linked))
    rated = re.findall(r"overall, simulated, likert: rated [\d.]+ on average \(n = \d+\)", page)
    chosen = re.findall(r"overall, simulated, choice: chosen in (\d+)%, ties as half \(n = (\d+)\)", page)
    assert rated
    assert chosen
    with (out / "shown.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == ["image"] * 3 + ["markdown"] * 6
    assert sorted(row["files"] for row in rows) == sorted(linked)


def test_means_are_those_of_the_tables(tmp_path: Path) -> None:
    """Ratings, choices with ties as half, and nothing of what is missing."""
    scores = [("a", 1, 2.0), ("a", 1, 5.0), ("a", 1, None), ("b", 2, 4.0)]
    ratings = [
        {"item_id": "i0", "system": name, "sample": sample, "score": score, "criterion": "c", "elicitation": "likert"}
        for name, sample, score in scores
    ]
    sides = {"item_id": "i0", "system_x": "a", "system_y": "b", "sample_x": 1, "sample_y": 2, "criterion": "c"}
    choices = [{**sides, "elicitation": "choice", "winner": winner} for winner in ("x", "x", "tie", "y", None)]
    exported = study(ratings=ratings, choices=choices)
    exporter_of("shown").write(exported, tmp_path)
    page = (tmp_path / "shown-1.html").read_text()
    assert page.count("c, human, likert: rated 3.5 on average (n = 2)") == 1
    assert page.count("c, human, likert: rated 4 on average (n = 1)") == 1
    assert page.count("c, human, choice: chosen in 62%, ties as half (n = 4)") == 1
    assert page.count("c, human, choice: chosen in 38%, ties as half (n = 4)") == 1


def test_many_items_stand_on_pages_that_link(tmp_path: Path) -> None:
    """A hundred each, none lost."""
    items = tuple(Item(item_id=f"i{number}", medium="text", text="Given.") for number in range(205))
    cells = {
        (one.item_id, "a"): (Output(item_id=one.item_id, system="a", sample=1, medium="text", text="Made."),)
        for one in items
    }
    write(tmp_path, items, cells)
    pages = [(tmp_path / f"shown-{number}.html").read_text() for number in (1, 2, 3)]
    assert [page.count("<section>") for page in pages] == [100, 100, 5]
    assert all(page.count('<a href="shown-') == 4 for page in pages)


def write(
    folder: Path, items: tuple[Item, ...], cells: dict[tuple[str, str], tuple[Output, ...]], title: str = "Shown"
) -> None:
    outputs = Outputs(items=items, dropped=(), cells=cells, by_id={one.item_id: one for one in items}, unreadable={})
    exported = replace(study(), title=title, outputs=lambda: outputs)
    exporter_of("shown").write(exported, folder)


@pytest.mark.parametrize("medium", ["text", "markdown"])
def test_hostile_outputs_and_names_act_in_no_export(medium: str, tmp_path: Path) -> None:
    """As many elements as of harmless ones, but for those that Markdown has; no address leads out."""
    picture = tmp_path / "a.png"
    picture.write_bytes(tiny_png(1, 1))
    texts = [cleaned(text) for text in (*OUTPUTS, *HOSTILE)]  # as they are read
    items = tuple(Item(item_id=f"{number} {text[:80]}", medium=medium, text=text) for number, text in enumerate(texts))
    within = (ShownFile(name="x", medium="image", file=picture),)
    cells = {
        (one.item_id, (one.text or "")[:80]): (
            Output(
                item_id=one.item_id,
                system=(one.text or "")[:80],
                sample=1,
                medium=medium,
                text=f"{one.text}\n\n![<b>]( x )",
                within=within if medium == "markdown" else (),
            ),
        )
        for one in items
    }
    write(tmp_path / "out", items, cells, title=HOSTILE[0])
    for path in (tmp_path / "out").glob("shown-*.html"):
        page = path.read_text()
        assert f'content="{POLICY}"' in page.replace("&#39;", "'")
        assert page.count("<section>") == page.count("<article>") <= 100
        assert not re.search(r"<(script|iframe|object|embed|form|input|link|base|svg)\b", page)
        inside = re.sub(r'"[^"]*"', '""', page)
        assert not re.search(r"<[a-z][^>]*\s(?:on\w+|style|srcset)\s*=", inside)
        addresses = re.findall(r'<[a-z]+[^>]* (?:href|src)="([^"]*)"', page)
        assert addresses or medium == "text"
        assert all(re.match(r"files/\d+\.png$|shown-\d+\.html$|data:image/jpeg;base64,", one) for one in addresses)
