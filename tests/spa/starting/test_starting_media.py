"""A new study whose systems were given files, or whose texts show some."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import spa.clips
import spa.media.clips
from spa.cli import main
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.study.load import load_study
from spa.study.outputs import load_outputs
from tests.spa.tiny_clips import copied_here, tiny_film, tiny_sound
from tests.spa.tiny_images import tiny_png

Row = dict[str, object]


def begun(folder: Path, rows: list[Row], *options: str) -> tuple[Study, Outputs, str]:
    """Return a study made from rows beside four pictures in a folder, its outputs and what was said."""
    (folder / "pictures").mkdir()
    for number in range(4):
        (folder / "pictures" / f"{number}.png").write_bytes(tiny_png(number, 1))
    table = folder / "answers.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = CliRunner().invoke(main, ["init", str(folder / "new"), "--outputs", str(table), "--yes", *options])
    assert done.exit_code == 0, done.output
    study = load_study(folder / "new" / "study.toml")
    return study, load_outputs(study), done.output


def answers(**given: str) -> list[Row]:
    """Return answers of two systems to four items."""
    return [
        {"id": f"i{number}", "model": model, "response": f"A cat number {number}, says {model[0]}."}
        | {name: text.format(number) for name, text in given.items()}
        for number in range(4)
        for model in ("alpha", "beta")
    ]


@pytest.mark.parametrize("name", ["image", "image_path", "prompt"])
def test_a_column_of_paths_is_what_was_given(name: str, tmp_path: Path) -> None:
    """Each file is copied once, under a name that says nothing."""
    study, outputs, _ = begun(tmp_path, answers(**{name: "pictures/{}.png"}))
    assert (study.outputs.kind, study.outputs.item_kind) == ("text", "image")
    assert [one.file.name for one in outputs.items if one.file is not None] == [
        "0001.png",
        "0003.png",
        "0005.png",
        "0007.png",
    ]
    copied = [one.file.read_bytes() for one in outputs.items if one.file is not None]
    assert copied == [tiny_png(number, 1) for number in range(4)]


@pytest.mark.parametrize(
    ("name", "kind"), [("audio_path", "audio"), ("wav", "audio"), ("video", "video"), ("response", "video")]
)
def test_a_column_of_clips_is_what_systems_made(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its minutes are those of the clips, and no file's name says whose it is."""
    monkeypatch.setattr(spa.clips, "copied_clip", copied_here)
    monkeypatch.setattr(spa.media.clips, "copied_clip", copied_here)
    suffix, made = (".wav", tiny_sound) if kind == "audio" else (".mp4", tiny_film)
    rows: list[Row] = []
    for number in range(4):
        for at, model in enumerate(("alpha", "beta")):
            path = tmp_path / f"{model}-{number}{suffix}"
            path.write_bytes(made(number, at))
            rows.append({"id": f"i{number}", "model": model, name: path.name, "prompt": f"Say {number}."})
    study, outputs, _ = begun(tmp_path, rows)
    assert study.outputs.kind == kind
    assert {one.seconds for one in outputs.all()} == {0.3 if kind == "audio" else 0.5}
    assert not [one for one in outputs.all() if "alpha" in str(one.file) or "beta" in str(one.file)]


def test_paths_beside_questions_are_shown_with_them(tmp_path: Path) -> None:
    """A question about a picture is Markdown with the picture above it, in long and wide tables."""
    question = answers(image="pictures/{}.png", question="What is on picture {}?")
    study, outputs, said = begun(tmp_path, question)
    assert study.outputs.item_kind == "markdown"
    assert [len(one.within) for one in outputs.items] == [1] * 4
    assert outputs.items[1].text == "![](<pictures/1.png>)\n\nWhat is on picture 1?"
    assert "prompts are markdown, with images (image)" in said


def test_wide_tables_have_given_files(tmp_path: Path) -> None:
    """The column of pictures is no system."""
    rows: list[Row] = [
        {"id": f"i{number}", "image": f"pictures/{number}.png", "alpha": f"A cat, {number}.", "beta": f"No: {number}."}
        for number in range(4)
    ]
    study, outputs, _ = begun(tmp_path, rows)
    assert [one.id for one in study.systems] == ["alpha", "beta"]
    assert [one.medium for one in outputs.items] == ["image"] * 4


def test_wide_tables_have_columns_of_paths(tmp_path: Path) -> None:
    """Short paths without spaces are no ids."""
    rows: list[Row] = [
        {"id": f"i{n}", "prompt": f"Draw {n}.", "alpha": f"pictures/{n}.png", "beta": f"pictures/{3 - n}.png"}
        for n in range(4)
    ]
    study, outputs, _ = begun(tmp_path, rows)
    assert ([one.id for one in study.systems], study.outputs.kind) == (["alpha", "beta"], "image")
    assert [one.text for one in outputs.items] == [f"Draw {n}." for n in range(4)]


def test_pictures_that_outputs_show_are_copied(tmp_path: Path) -> None:
    """They lie beside the new table as they lay beside the old one."""
    rows = answers()
    for row in rows:
        row["response"] = f"**{row['model']}:** ![a cat](pictures/{str(row['id'])[1]}.png)\n\n- one\n- two"
    study, outputs, _ = begun(tmp_path, rows)
    assert study.outputs.kind == "markdown"
    assert all(one.within[0].file.read_bytes() == tiny_png(int(one.item_id[1]), 1) for one in outputs.all())


def test_a_given_file_that_is_none_is_named(tmp_path: Path) -> None:
    """In one line, and nothing is written."""
    table = tmp_path / "answers.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in answers(image="{}.png")))
    done = CliRunner().invoke(main, ["init", str(tmp_path / "new"), "--outputs", str(table), "--yes"])
    assert done.exit_code != 0
    assert "expected a PNG, JPEG, GIF or WebP file" in done.output.replace("\n", " ")
    assert "(4 in all); put the images there" in done.output.replace("\n", " ")
    assert not (tmp_path / "new").exists()
