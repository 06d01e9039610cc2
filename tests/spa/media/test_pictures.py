"""Pictures within Markdown and conversations: neutral copies on page, HIT and in the prompt, where they are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

import spa
from spa.cli import main
from spa.commands.check import overview_of
from spa.forms.effort import estimate_effort
from spa.forms.html import render_page, render_whole
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.media import data_url, least_seconds_of, medium_of, model_files, seconds_of
from spa.media.markdown_html import rendered
from spa.media.turns import canonical, turns_of
from spa.raters.budget import token_range
from spa.records.form import Exhibit, Form
from spa.responses.reading_evidence import minimum_seconds
from spa.server.preview import create_preview
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from tests.spa.media.test_media import STUDY, SYSTEMS, made, shown_on
from tests.spa.tiny_images import tiny_png

REMOTE = "![far away](https://pictures.example/zzgood.png)"
WRITINGS: dict[str, Callable[[str], str]] = {  # ways to name a file within an output, by kind and what they are
    "inline": lambda path: f"One **cat** ![a cat]({path}) and words. {REMOTE}",
    "spaced": lambda path: f'One **cat** ![a cat](<{path}> "zzgood did it") and words. {REMOTE}',
    "reference": lambda path: f"One **cat** ![a cat][1] and words. {REMOTE}\n\n[1]: {path}",
    "twice": lambda path: f"One **cat** ![a cat]({path}) and words. {REMOTE}\n\n- ![a cat]({path})",
    "quoted": lambda path: f"> One **cat**\n> ![a cat]({path})\n> and words. {REMOTE}",
}


def study_of(folder: Path, kind: str, output: Callable[[str], str], items: int = 4) -> Path:
    """Return a study whose outputs show a picture each, called like their system."""
    rows = []
    for system in SYSTEMS:
        (folder / system).mkdir()
        for item in range(items):
            path = f"{system}/{item}.png"
            (folder / path).write_bytes(tiny_png(item, SYSTEMS.index(system)))
            rows.append({"item_id": f"i{item}", "system": system, "output": output(path)})
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = folder / "study.toml"
    study.write_text(STUDY.format(kind=kind))
    return study


def dialogue(path: str) -> str:
    parts = [
        {"type": "text", "text": "Which **cat**?"},
        {"type": "image_url", "image_url": {"url": path}},
        {"type": "text", "text": "And this?"},
        {"type": "image_url", "image_url": {"url": "https://pictures.example/zzgood.png"}},
    ]
    return json.dumps([{"role": "user", "content": parts}, {"role": "assistant", "content": "and words."}])


CASES = [*(("markdown", name, writing) for name, writing in WRITINGS.items()), ("conversation", "parts", dialogue)]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]} {case[1]}")
def study_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    kind, _, output = request.param
    return study_of(tmp_path, kind, output)


def inner_of(form: Form) -> list[Exhibit]:
    return [inner for exhibit in shown_on(form) for inner in exhibit.inner.values()]


def test_page_and_hit_show_neutral_copies(study_file: Path) -> None:
    """Each picture stands on the page, before its words, and is sent without its name; remote ones are not loaded."""
    _, outputs, form = made(study_file)
    texts = load_texts("en", {})
    pages = "".join(render_page(form, page, texts) for page in form.pages)
    whole = render_whole(form, texts)
    client = TestClient(create_preview(form, texts))
    inner = inner_of(form)
    assert len(inner) == len(shown_on(form)) == 4
    for one in inner:
        assert f'<img src="{one.medium}/{one.exhibit_id}" alt="">' in pages
        assert f'<img src="{data_url(one)}" alt="">' in whole
        assert one.file is not None
        assert one.file.parent.name == ".spa-copies"
        answer = client.get(f"/{one.medium}/{one.exhibit_id}")
        assert answer.content == one.file.read_bytes()
        assert answer.headers["content-type"] == "image/png"
    assert client.get("/image/e1.9").status_code == 404
    for page in (pages, whole):
        assert 'src="http' not in page
        assert 'class="picture">' in page
        assert not [system for system in SYSTEMS if f"{system}/" in page]
    assert {len(one.within) for one in outputs.all()} == {1}


def test_prompt_has_pictures_where_they_are_named(study_file: Path) -> None:
    """A picture is a part of the message after its source, which has the exhibit's number for the address."""
    _, _, form = made(study_file)
    (message,) = render_prompt(form).chat_messages("")
    content = message["content"]
    files = [place for place, part in enumerate(content) if model_files(part) is not None]
    inner = inner_of(form)
    assert len(files) == len(inner)
    for place, one in zip(files, inner, strict=True):
        assert one.file is not None
        assert content[place] == medium_of(one).files.models.part(one.file)  # type: ignore[union-attr]
        before, after = content[place - 1]["text"], content[place + 1]["text"]
        assert "cat" in before
        assert "and words." in after
        assert "and words." not in before.rpartition("```\n")[2]
        assert one.exhibit_id in before + after
    said = json.dumps(content)
    assert not [system for system in SYSTEMS if f"{system}/" in said]


def test_people_read_the_words_that_models_are_sent(study_file: Path) -> None:
    """Rendering what is said gives the text on the page, picture or not."""
    _, _, form = made(study_file)
    for exhibit in shown_on(form):
        medium = medium_of(exhibit)
        said = medium.said(exhibit)
        if not medium.nested:
            assert rendered(said).text == rendered(exhibit.text).text == medium.reads(exhibit.text)
        assert said.count(f"]({exhibit.exhibit_id}.1") + said.count(f"]: {exhibit.exhibit_id}.1") >= 1


def test_pictures_count_in_seconds_and_tokens(study_file: Path) -> None:
    """Each takes the seconds of a picture on its own, to look at and to be seen, and its tokens."""
    _, _, form = made(study_file)
    shown = shown_on(form)
    assert [seconds_of(one) for one in shown] == [6.0] * 4
    page = next(page for page in form.pages if page.new_outputs)
    for one in page.new_outputs:
        least = medium_of(one).least_seconds(one, 10.0)
        assert minimum_seconds(page, 10.0)[one.exhibit_id] == least_seconds_of(one, 10.0) == least + 1.0
    assert estimate_effort(form).minutes > 24 / 60
    (message,) = render_prompt(form).chat_messages("")
    words = [part for part in message["content"] if model_files(part) is None]
    fewest, most = (
        both - alone
        for both, alone in zip(
            token_range([message], "claude"), token_range([{**message, "content": words}], "claude"), strict=True
        )
    )
    assert most >= fewest >= 4


def test_check_says_how_many_pictures(study_file: Path) -> None:
    """One line for those that are shown, one for those that are not."""
    warnings = "\n".join(overview_of(study_file).warnings)
    assert "8 of 8 outputs show 8 images that lie beside the table" in warnings
    assert "8 of 8 outputs have pictures of which people see the words alone" in warnings


def test_a_picture_is_part_of_the_study(study_file: Path) -> None:
    """Another picture is another study; simulated people and models answer one."""
    before = study_fingerprint(load_study(study_file))
    (study_file.parent / "zzgood" / "0.png").write_bytes(tiny_png(9, 9))
    assert study_fingerprint(load_study(study_file)) != before
    for command in (["build", "--annotators", "2"], ["simulate"], ["rate", "--simulate"]):
        result = CliRunner().invoke(main, [command[0], str(study_file), *command[1:]])
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize("output", [WRITINGS["inline"], dialogue], ids=["markdown", "conversation"])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "zzgood/broken.png",
            'expected an image that can be shown, got "zzgood/broken.png", which is cut off or broken',
        ),
        ("zzgood/text.png", 'expected a PNG, JPEG, GIF or WebP image, got "zzgood/text.png", which is none; convert'),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    path: str, expected: str, output: Callable[[str], str], tmp_path: Path
) -> None:
    """Named by its row, before anything is asked."""
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "outside.png").write_bytes(tiny_png(1, 1))
    kind = "markdown" if output is WRITINGS["inline"] else "conversation"
    study = study_of(folder, kind, output)
    (folder / "zzgood" / "broken.png").write_bytes(tiny_png(1, 1)[:45])
    (folder / "zzgood" / "text.png").write_text("words")
    table = folder / "outputs.jsonl"
    lines = table.read_text().splitlines()
    lines[5] = json.dumps({"item_id": "i1", "system": "zzpoor", "output": output(path)})
    table.write_text("\n".join(lines))
    with pytest.raises(spa.StudyError) as caught:
        load_outputs(load_study(study))
    (problem,) = caught.value.problems
    assert problem.startswith(("outputs.jsonl line 6: ", f"{table} line 6: "))
    assert expected in problem
    assert len(problem) < 500


@pytest.mark.parametrize("path", ["zzgood/9.png", "../outside.png", "/etc/hostname.png", "a%00b.png"])
def test_a_picture_that_a_model_made_up_is_told(path: str, tmp_path: Path) -> None:
    """Its words are shown, and nothing outside the folder is; in what was given it is a mistake."""
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "outside.png").write_bytes(tiny_png(1, 1))
    study = study_of(folder, "markdown", WRITINGS["inline"])
    table = folder / "outputs.jsonl"
    lines = [json.loads(line) for line in table.read_text().splitlines()]
    lines[5]["output"] = WRITINGS["inline"](path)
    table.write_text("\n".join(map(json.dumps, lines)))
    (told,) = (line for line in overview_of(study).warnings if "not in the study's folder" in line)
    assert "pictures that are not in the study's folder, 1 in all (first: " in told
    assert "outputs.jsonl line 6: " in told
    made = load_outputs(load_study(study)).of(lines[5]["item_id"], lines[5]["system"])
    assert made[0].within == ()
    keys = 'kind = "markdown"\nitem_text = "prompt"\nitem_kind = "markdown"'
    study.write_text(study.read_text().replace('kind = "markdown"', keys))
    table.write_text("\n".join(json.dumps(line | {"prompt": WRITINGS["inline"](path)}) for line in lines))
    with pytest.raises(spa.StudyError, match="expected an image"):
        load_outputs(load_study(study))


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "a b.png", "detail": "low"}},
        {"type": "input_image", "image_url": "a b.png", "detail": "auto", "file_id": None},
        {"type": "image", "source": {"type": "url", "url": "a b.png"}},
        {"type": "image", "image": "a b.png"},
        {"type": "image", "path": "a b.png"},
        {"type": "image", "url": "a b.png"},
        {"type": "file", "file": {"path": "a b.png", "mime_type": "image/png", "orig_name": "b.png", "size": 3}},
        {"path": "a b.png", "mime_type": "image/png"},
        {"fileData": {"mimeType": "image/png", "fileUri": "a b.png"}},
        {"file_data": {"mime_type": "image/png", "file_uri": "a b.png"}},
        {"type": "uri", "modality": "image", "mime_type": "image/png", "uri": "a b.png"},
    ],
)
def test_pictures_of_every_layout_are_read(part: dict[str, object]) -> None:
    """As Markdown names them, between the texts that stand around."""
    turn = {"role": "user", "content": [{"type": "text", "text": "See"}, part, {"type": "text", "text": "it"}]}
    (read,) = turns_of(canonical(json.dumps([turn])))
    assert read.text == "See\n![](<a b.png>)\nit"
    assert [one.path for one in rendered(read.text).pictures] == ["a b.png"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, "got its bytes"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}, "got its bytes"),
        ({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, "got its bytes"),
        ({"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AA"}, "got its bytes"),
        ({"type": "image", "mood": "blue", "path": "a.png"}, "got the key 'mood'"),
        ({"type": "input_image", "file_id": "file-1"}, "got the key 'file_id'"),
    ],
)
def test_other_parts_with_pictures_are_refused(part: dict[str, object], expected: str) -> None:
    """What has no file beside the table is named with its turn."""
    with pytest.raises(ValueError, match="turn 1: expected a picture") as refused:
        canonical(json.dumps([{"role": "user", "content": [part]}]))
    assert expected in str(refused.value)


def test_markdown_without_pictures_is_as_it_was() -> None:
    """The source is sent whole, and names no file."""
    medium = medium_of("markdown")
    for source in (
        "A **b** `![c](d.png)`",
        f"a {REMOTE}",
        "![",
        "![a](javascript:b.png)",
        "![a](data:image/png;base64,AA)",
    ):
        assert list(medium.names_within(source)) == []
