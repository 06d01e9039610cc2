"""What systems were given and what they made are independent: each medium beside each other, from files to answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import spa.clips
import spa.media
import spa.media.clips
from spa.cli import main
from spa.commands.check import overview_of
from spa.commands.review import review_explanations
from spa.commands.workspace import open_workspace
from spa.forms.effort import estimate_effort
from spa.forms.html import render_page, render_whole
from spa.forms.prompt import FilePart, render_prompt
from spa.forms.texts import load_texts
from spa.media import media_shown, medium_of, model_files, seconds_of
from spa.media.medium import Medium
from spa.raters.budget import tokens_of
from spa.records.form import Exhibit, Form
from spa.responses.export import export_tables
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from tests.spa.forms.test_form_equality import words_of_html
from tests.spa.media.test_media import ALL, CONTENTS, ITEMS, SYSTEMS, made, shown_on
from tests.spa.study_files import problems_of
from tests.spa.tiny_clips import copied_here

IDEAL = "zzideal"  # a reference, shown beside continuous ratings
STUDY = """id = "given"
title = "Given"
[outputs]
files = ["tables/outputs.jsonl"]
kind = "{kind}"
item_text = "given"
item_kind = "{item_kind}"
[[systems]]
id = "zzgood"
[[systems]]
id = "zzpoor"
[[systems]]
id = "zzideal"
role = "reference"
[people]
annotators = 3
seconds_per_100_words = 10
[spa]
exposure = 2
[continuous]
outputs = 1
best_reference = "zzideal"
"""


def cell(folder: Path, medium: Medium, name: str, item: int, system: int) -> str:
    """Return what stands in a cell for a content of a medium; its file lies in the folder."""
    content = CONTENTS[medium.key](item, system)
    if medium.files is None:
        return content.decode()
    path = f"{name}-{item}{medium.suffixes[0]}"
    (folder / path).write_bytes(content)
    return path


@pytest.fixture
def media(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Medium, Medium]:
    """Return the medium of outputs and that of what systems were given."""
    monkeypatch.setattr(spa.media, "MEDIA", ALL)
    monkeypatch.setattr(spa.media.clips, "copied_clip", copied_here)
    monkeypatch.setattr(spa.clips, "copied_clip", copied_here)
    found: tuple[Medium, Medium] = request.param
    return found


@pytest.fixture
def study_file(media: tuple[Medium, Medium], tmp_path: Path) -> Path:
    """Return a study of two systems and a reference, its table in a folder of its own."""
    of_outputs, of_items = media
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = [
        {
            "item_id": f"i{item}",
            "system": system,
            "output": cell(folder, of_outputs, system, item, number),
            "given": cell(folder, of_items, "given", item, 9),
        }
        for item in range(ITEMS)
        for number, system in enumerate((*SYSTEMS, IDEAL))
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(kind=of_outputs.key, item_kind=of_items.key))
    return path


def together(media: tuple[Medium, ...]) -> pytest.MarkDecorator:
    """Try every medium of outputs beside every one of what systems were given."""
    pairs = [(one, other) for one in media for other in media]
    return pytest.mark.parametrize("media", pairs, indirect=True, ids=[f"{a.key} of {b.key}" for a, b in pairs])


def material_of(form: Form) -> dict[str, list[str | Exhibit]]:
    """Return the texts and files that a prompt shows, by exhibit."""
    found: dict[str, list[str | Exhibit]] = {}
    current = ""
    for part in render_prompt(form).parts:
        if isinstance(part, FilePart):
            found[current].append(part.exhibit)
        elif part.wrapper == "exhibit marker":
            current = part.text.strip("[] ")
            found.setdefault(current, [])
        elif part.wrapper is None and current:
            found[current].append(part.text)
    return found


@together(ALL)
def test_page_and_prompt_show_both(media: tuple[Medium, Medium], study_file: Path) -> None:
    """Items, outputs and references are exhibits of their media, the same on page, in a HIT and in the prompt."""
    study, outputs, form = made(study_file)
    shown = shown_on(form)
    given = [one for one in shown if one.medium == media[1].key and one.caption.startswith("Prompt")]
    references = [one for one in shown if one.caption.startswith("For orientation")]
    assert {one.item_id for one in given} == {one.item_id for one in shown}
    assert references
    assert {one.medium for one in shown if one not in given} == {media[0].key}
    assert {one.key for one in media_shown(outputs)} == {one.key for one in media}
    texts = load_texts("en", {})
    pages = "".join(render_page(form, page, texts) for page in form.pages)
    whole = render_whole(form, texts)
    material = material_of(form)
    for exhibit in shown:
        medium = medium_of(exhibit)
        assert str(medium.shown(exhibit, lambda one: f"{one.medium}/{one.exhibit_id}")) in pages
        assert str(medium.shown(exhibit, spa.media.data_url if exhibit.file else lambda one: "")) in whole
        sent = material[exhibit.exhibit_id]
        if medium.files is not None and medium.files.models is not None:
            assert sent.count(exhibit) == 1
        else:
            assert medium.said(exhibit) in sent
            assert words_of_html(str(medium.shown(exhibit, lambda one: "")))
    said = json.dumps(render_prompt(form).chat_messages(""))
    assert not [system for system in (*SYSTEMS, IDEAL) if system in pages + whole + said]
    assert study.outputs.item_kind == media[1].key


@together(ALL)
def test_seconds_and_tokens_of_both(media: tuple[Medium, Medium], study_file: Path) -> None:
    """Effort counts what everything shown takes, and tokens the files that are sent of it."""
    _, _, form = made(study_file)
    shown = shown_on(form)
    bare = replace(form, pages=tuple(replace(page, blocks=page.questions) for page in form.pages))
    minutes, least = (estimate_effort(one, words_per_minute=1e9).minutes for one in (form, bare))
    assert minutes - least == pytest.approx(sum(map(seconds_of, shown)) / 60, abs=0.11)
    messages = render_prompt(form).chat_messages("")
    content = messages[0]["content"]
    parts = content if isinstance(content, list) else []
    files = [(part, models) for part in parts if (models := model_files(part)) is not None]
    assert len(files) == sum(
        1 for one in shown if (sent := medium_of(one).files) is not None and sent.models is not None
    )
    assert tokens_of(messages) > sum(models.tokens(part, "")[1] for part, models in files)


@together(ALL)
def test_overview_of_both(media: tuple[Medium, Medium], study_file: Path) -> None:
    """A study of any two is checked without a mistake."""
    found = overview_of(study_file)
    assert found.minutes > 0
    assert not [line for line in found.warnings if "zzgood" in line and "name of a system" in line]


@together(spa.media.MEDIA)
def test_people_and_models_answer_both(media: tuple[Medium, Medium], study_file: Path) -> None:
    """Simulated people and a simulated model answer every question."""
    for command in (["build", "--annotators", "2"], ["simulate"], ["rate", "--simulate"]):
        result = CliRunner().invoke(main, [command[0], str(study_file), *command[1:]])
        assert result.exit_code == 0, result.output
    with open_workspace(study_file, rehearsal=True) as workspace:
        tables = export_tables(workspace.store, form_of=workspace.form)
    for table in (tables.ratings, tables.preferences):
        assert set(table["annotator_kind"]) == {"simulated", "llm"}
    assert tables.ratings["score"].null_count() == 0


OF_FILES = [(spa.media.medium_of("text"), one) for one in ALL if one.files is not None]


@pytest.mark.parametrize("media", OF_FILES, indirect=True, ids=lambda media: media[1].key)
def test_files_that_were_given(media: tuple[Medium, Medium], study_file: Path) -> None:
    """One that is absent, broken or elsewhere is named by its row; another file is another study."""
    medium = media[1]
    file = study_file.parent / "tables" / f"given-0{medium.suffixes[0]}"
    before = study_fingerprint(load_study(study_file))
    content = file.read_bytes()
    file.write_bytes(CONTENTS[medium.key](7, 7))
    assert study_fingerprint(load_study(study_file)) != before
    file.unlink()
    for left, expected in ((None, "no such file"), (b"else", "which is none; convert it")):
        if left is not None:
            file.write_bytes(left)
        with pytest.raises(spa.StudyError) as caught:
            load_outputs(load_study(study_file))
        (problem,) = caught.value.problems
        assert "outputs.jsonl line 1: expected a" in problem
        assert expected in problem
    file.write_bytes(content)
    table = study_file.parent / "tables" / "outputs.jsonl"
    table.write_text(table.read_text().replace(f'"{file.name}"', f'"../../{file.name}"'))
    with pytest.raises(spa.StudyError, match="in the study's folder, its path relative to the outputs file"):
        load_outputs(load_study(study_file))
    table.write_text(table.read_text().replace(f'"../../{file.name}"', '""'))
    with pytest.raises(spa.StudyError, match=f'expected {medium.one} of item "i0", got nothing'):
        load_outputs(load_study(study_file))


@pytest.mark.parametrize("media", OF_FILES, indirect=True, ids=lambda media: media[1].key)
def test_words_are_asked_of_given_texts_alone(media: tuple[Medium, Medium], study_file: Path) -> None:
    """What filters, marks or repeats the words of items is refused where these are files."""
    text = study_file.read_text() + '[[criteria]]\nid = "close"\nname = "closeness"\nagainst_source = true\n'
    text += "mark_differences = true\n[likert]\nidentical_pairs = 1\n[[outputs.filters]]\nmin_words = 3\n"
    study_file.write_text(text)
    problems = [line for line in problems_of(study_file) if f"item texts, got {media[1].many}" in line]
    places = ["[[outputs.filters]] 1", "[[criteria]] close, mark_differences", "[likert] identical_pairs"]
    assert [line.split(": ")[-2] for line in problems] == places


@pytest.mark.parametrize("media", OF_FILES, indirect=True, ids=lambda media: media[1].key)
def test_a_review_of_given_files_is_refused(media: tuple[Medium, Medium], study_file: Path) -> None:
    """It shows texts alone, and says so in one line."""
    assert CliRunner().invoke(main, ["build", str(study_file), "--annotators", "2"]).exit_code == 0
    out = str(study_file.parent / "review")
    done = CliRunner().invoke(review_explanations, [str(study_file), "--rater", "judge", "--out", out])
    assert f"expected item texts, got {media[1].many}, which a review cannot show" in str(done.exception)
