"""What other tools read of the answers is what was answered; what they cannot hold is said."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from spa.errors import ResponseError
from spa.exporters import export_keys, exporter_of
from spa.exporters.export_format import ExportedFiles, FileNames, StudyExport
from spa.importers import format_of
from spa.records.outputs import Item, Output, Outputs
from spa.responses.tidy_tables import ANNOTATORS, CHOICES, EXCLUSIONS, PREFERENCES, RATINGS, SPANS, Tables

TEXTS = ['He said\t"no".', "One\nline, two", "", "‘Was’ ist das?", "plain words here"]


def table(schema: dict[str, Any], rows: list[dict[str, Any]]) -> pl.DataFrame:
    who = {"annotator_kind": "human", "assignment_id": "a1"}
    return pl.DataFrame([{**dict.fromkeys(schema), **who, **row} for row in rows], schema=schema, orient="row")


def study(**rows: list[dict[str, Any]]) -> StudyExport:
    schemas = {
        "preferences": PREFERENCES,
        "ratings": RATINGS,
        "choices": CHOICES,
        "spans": SPANS,
        "annotators": ANNOTATORS,
        "exclusions": EXCLUSIONS,
    }
    items = [Item(item_id=f"i{number}", medium="text", text=f"source {number}") for number in range(len(TEXTS))]
    cells = {
        (item.item_id, system): tuple(
            Output(
                item_id=item.item_id,
                system=system,
                sample=sample,
                medium="text",
                file=None,
                text=text + system * sample,
            )
            for sample in (1, 2)
        )
        for item, text in zip(items, TEXTS, strict=True)
        for system in "ab"
    }
    outputs = Outputs(
        items=tuple(items), dropped=(), cells=cells, by_id={one.item_id: one for one in items}, unreadable={}
    )
    return StudyExport(
        tables=Tables(**{name: table(schema, rows.get(name, [])) for name, schema in schemas.items()}),
        title="T",
        language="en",
        licence="cc0-1.0",
        outputs=lambda: outputs,
    )


def battles(rng: np.random.Generator, criterion: str) -> list[dict[str, Any]]:
    """Battles of a and b on random sides; a seventh has no answer."""
    rows = []
    for number in range(60):
        better = rng.choice(["a", "b", "tie"], p=[0.5, 0.3, 0.2])
        x, y = ("a", "b") if rng.random() < 0.5 else ("b", "a")
        winner = None if number % 7 == 0 else "tie" if better == "tie" else "x" if better == x else "y"
        pair = {"annotator_id": f"p{number % 5}", "item_id": f"i{number % 5}", "system_x": x, "system_y": y}
        rows.append({**pair, "criterion": criterion, "winner": winner})
    return rows


def written(key: str, export: StudyExport, folder: Path) -> ExportedFiles:
    found = exporter_of(key)
    assert found.key == key
    made = found.write(export, folder)
    assert {path for path in folder.rglob("*") if path.is_file()} == {*made.rows}
    return made


def test_battles_are_rated_by_arena_tools_as_they_were_won(tmp_path: Path) -> None:
    """Two systems differ by 400 log10((w + t/2) / (l + t/2)), whatever side they stood on; ties are called ties."""
    rng = np.random.default_rng(3)
    rows = {criterion: battles(rng, criterion) for criterion in ("overall", "style/tone")}
    made = written("arena", study(choices=[*rows["overall"], *rows["style/tone"]]), tmp_path)
    assert made.notes == ("missing: 18 of 120 answers, left out",)
    for criterion, name in (("overall", "overall.csv"), ("style/tone", "style_tone.csv")):
        kept = [row for row in rows[criterion] if row["winner"] is not None]
        won = Counter("tie" if row["winner"] == "tie" else row[f"system_{row['winner']}"] for row in kept)
        read = list(csv.DictReader((tmp_path / name).read_text(encoding="utf-8").splitlines()))
        assert made.rows[tmp_path / name] == len(read) == len(kept)
        seen = Counter(row["winner"] if row["winner"] == "tie" else row[row["winner"]] for row in read)
        assert rating_gap(seen) == pytest.approx(rating_gap(won))
        assert {row["winner"] for row in read} == {"model_a", "model_b", "tie"}
        assert [row["judge"] for row in read] == [row["annotator_id"] for row in kept]


def rating_gap(won: Counter[str]) -> float:
    return 400 * math.log10((won["a"] + won["tie"] / 2) / (won["b"] + won["tie"] / 2))


def test_ratings_are_one_record_an_output_and_person(tmp_path: Path) -> None:
    about = {"item_id": "i1", "system": "a", "annotator_id": "p 1", "sample": 2}
    rows = [
        {**about, "criterion": "fluency", "score": 4.0},
        {**about, "criterion": "faith", "score": None, "missing_reason": "no answer"},
        {**about, "criterion": "fluency", "score": 2.0, "sample": 1},
        {**about, "criterion": "fluency", "score": 5.0, "annotator_id": "p2"},
        {**about, "criterion": "faith", "score": 1.0, "system": "b"},
    ]
    made = written("inspect", study(ratings=rows), tmp_path)
    assert {path.name: count for path, count in made.rows.items()} == {"a.p_1.json": 2, "a.p2.json": 1, "b.p_1.json": 1}
    first = json.loads((tmp_path / "a.p_1.json").read_text())
    assert [(one["id"], one["epoch"], one["value"]["fluency"]) for one in first] == [("i1", 2, 4), ("i1", 1, 2)]
    assert all(math.isnan(one["value"]["faith"]) for one in first)  # null would be 0, and a missing key an error
    (other,) = json.loads((tmp_path / "b.p_1.json").read_text())
    assert math.isnan(other["value"]["fluency"])
    assert other["value"]["faith"] == 1


def spans(rng: np.random.Generator, export: StudyExport) -> list[dict[str, Any]]:
    rows = []
    for (item, system), samples in export.outputs().cells.items():
        for output in samples:
            length = len(output.text or "")
            start, end = sorted(rng.integers(0, length + 1, 2).tolist())
            about = {"item_id": item, "system": system, "sample": output.sample, "annotator_id": "p1"}
            rows.append({**about, "start": start, "end": end, "severity": rng.choice(["minor", "major", "critical"])})
    return rows


def test_marked_errors_stand_where_they_were_marked(tmp_path: Path) -> None:
    export = study()
    rows = spans(np.random.default_rng(8), export)
    clean = {**rows[0], "start": None, "end": None, "severity": None, "reason": "no errors", "annotator_id": "p2"}
    omitted = {**rows[0], "start": None, "end": None, "reason": "omission", "category": "Omission"}
    missing = {**rows[1], "start": None, "end": None, "severity": None, "missing_reason": "no answer"}
    made = written("mqm", study(spans=[*rows, clean, omitted, missing]), tmp_path)
    head, *lines = (tmp_path / "mqm.tsv").read_text(encoding="utf-8").splitlines()
    read = [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert made.rows == {tmp_path / "mqm.tsv": len(rows) + 2}
    assert [note.split(":")[0] for note in made.notes] == [
        "missing, left out",
        "tabs and line ends, as spaces",
        "severities critical have no weight there",
    ]
    segments = list(dict.fromkeys(int(row["globalSegId"]) for row in read))
    assert segments == list(range(1, 2 * len(TEXTS) + 1))
    assert {(row["doc"], row["docSegId"]) for row in read} == {
        (f"i{n}", place) for n in range(len(TEXTS)) for place in "12"
    }
    found = []
    for row in read:
        text = re.sub("</?v>", "", row["target"])
        place = (None, None) if "<v>" not in row["target"] else (row["target"].index("<v>"),) * 2
        if place[0] is not None:
            place = (place[0], row["target"].index("</v>") - len("<v>"))
        assert text == (export.outputs().output(row["doc"], row["system"], int(row["docSegId"])).text or "").translate(
            str.maketrans("\t\n", "  ")
        )
        found.append((row["doc"], row["docSegId"], row["system"], row["rater"], row["severity"], *place))
    expected = [
        (row["item_id"], str(row["sample"]), row["system"], row["annotator_id"], severity, row["start"], row["end"])
        for row in (*rows, clean, omitted)
        for severity in [(row["severity"] or "no-error").replace("m", "M", row["severity"] in ("minor", "major"))]
    ]
    assert {one[:4] + one[5:] for one in found} == {one[:4] + one[5:] for one in expected}
    assert {row["severity"] for row in read} == {"Minor", "Major", "Critical", "no-error"}
    assert {row["category"] for row in read} == {"Other", "No-error", "Omission"}


@pytest.mark.parametrize("text", ['"Hello."', '"', '""', '"a" and "b"', '"a ""b"""', 'she said "no"', "‘x’"])
def test_our_own_importer_reads_marks_and_quotes_back(text: str, tmp_path: Path) -> None:
    """A text in quotes keeps them, and places their characters."""
    about = {"item_id": "i0", "system": "a", "sample": 1, "annotator_id": "p1"}
    export = study(spans=[{**about, "start": 0, "end": 1, "text": text[:1], "severity": "minor", "category": "Style"}])
    export.outputs().cells["i0", "a"] = (
        Output(item_id="i0", system="a", sample=1, medium="text", file=None, text=text),
    )
    written("mqm", export, tmp_path)
    (row,) = format_of("mqm").read(format_of("mqm").request(tmp_path / "mqm.tsv")).rows["spans"]
    assert (row["system"], row["start"], row["end"], row["text"], row["characters"]) == ("a", 0, 1, text[0], len(text))
    assert (row["severity"].lower(), row["annotator_id"]) == ("minor", "p1")


def test_an_output_that_holds_the_marks_is_left_out(tmp_path: Path) -> None:
    export = study(spans=[{"item_id": "i0", "system": "a", "sample": 1, "annotator_id": "p1", "reason": "no errors"}])
    outputs = export.outputs()
    outputs.cells["i0", "a"] = (Output(item_id="i0", system="a", sample=1, medium="text", file=None, text="a <v>"),)
    made = written("mqm", export, tmp_path)
    assert made.rows == {tmp_path / "mqm.tsv": 0}
    assert made.notes == ("outputs that hold <v>, left out: 1 of 1 rows",)


def test_a_dataset_says_its_licence_its_size_and_what_is_loaded(tmp_path: Path) -> None:
    rows = battles(np.random.default_rng(1), "overall")
    people: list[dict[str, Any]] = [{"annotator_id": f"p{number}", "source": "link"} for number in range(1500)]
    made = written("huggingface", study(choices=rows, annotators=people), tmp_path)
    assert made.rows[tmp_path / "README.md"] is None
    head = yaml.safe_load((tmp_path / "README.md").read_text().split("---")[1])
    assert (head["license"], head["size_categories"]) == ("cc0-1.0", ["1K<n<10K"])
    assert [one["config_name"] for one in head["configs"] if one.get("default")] == ["choices"]


@pytest.mark.parametrize("key", export_keys())
def test_what_a_format_does_not_hold_is_said(key: str) -> None:
    rows = [{"annotator_id": "p", "item_id": "i0", "system": "a", "criterion": "c", "score": 1.0}]
    choices = [{"annotator_id": "p", "item_id": "i0", "system_x": "a", "system_y": "b", "criterion": "c"}]
    found = exporter_of(key)
    said = list(found.left_out(study(ratings=rows, choices=choices).tables))
    holds = found.holds or ("ratings", "choices")
    assert said == [f"{key} holds no {name}: 1 rows left out" for name in ("ratings", "choices") if name not in holds]


def test_names_of_files_are_safe() -> None:
    assert FileNames()("../x", "a:b", "-c", "été") == "___x.a_b._c.été"


def test_no_file_is_written_over_another(tmp_path: Path) -> None:
    """Names that would be one file, also where a file system does not tell letters' case apart, are two."""
    about = {"item_id": "i0", "annotator_id": "p", "criterion": "c", "score": 1.0}
    made = written(
        "inspect", study(ratings=[{**about, "system": system} for system in ("m 1", "m/1", "M_1")]), tmp_path
    )
    assert len({path.name.casefold() for path in made.rows}) == 3
    pair = {"annotator_id": "p", "item_id": "i0", "system_x": "a", "system_y": "b", "winner": "x"}
    battles = study(choices=[{**pair, "criterion": criterion} for criterion in ("a/b", "a b")])
    assert len(written("arena", battles, tmp_path / "arena").rows) == 2


def test_outputs_that_are_gone_are_told(tmp_path: Path) -> None:
    export = study(spans=[{"item_id": "i9", "system": "a", "sample": 1, "annotator_id": "p1", "reason": "no errors"}])
    with pytest.raises(ResponseError, match="item 'i9', system 'a': expected the output that was read, got none"):
        exporter_of("mqm").write(export, tmp_path)


def test_kinds_and_repeats_that_a_format_lacks_are_told(tmp_path: Path) -> None:
    """Of people asked once about one criterion nothing is said."""
    battle = {"annotator_id": "gpt", "item_id": "i1", "system_x": "a", "system_y": "b", "winner": "x"}
    battle |= {"criterion": "overall", "sample_x": 1, "sample_y": 1}
    llm = {**battle, "annotator_kind": "llm", "variant": "v1"}
    made = written("arena", study(choices=[battle, llm, {**llm, "repeat": 2, "sample_y": 2}]), tmp_path / "arena")
    told = "annotator_kind of 2 rows, sample_y of 1 rows, variant of 2 rows, repeat of 1 rows"
    assert made.notes == (f"not held there, so that all count alike: {told}",)
    mark = {"item_id": "i4", "system": "a", "sample": 1, "annotator_id": "p1", "reason": "no errors"}
    made = written(
        "mqm", study(spans=[{**mark, "criterion": "style"}, {**mark, "criterion": "truth"}]), tmp_path / "mqm"
    )
    assert made.notes == ("not held there, so that all count alike: criterion of 1 rows",)
    assert written("mqm", study(spans=[{**mark, "criterion": "style"}]), tmp_path / "one").notes == ()
