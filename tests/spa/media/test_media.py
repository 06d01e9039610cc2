"""Every medium, and one that the product does not know: from files to pages, prompts, evidence, answers and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

import spa
import spa.clips
import spa.media
import spa.media.clips
from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.forms.assets import asset_name, asset_text
from spa.forms.build import build_form
from spa.forms.effort import estimate_effort
from spa.forms.form_text import exhibits_of
from spa.forms.html import Posting, render_page, render_whole
from spa.forms.prompt import FilePart, render_prompt
from spa.forms.texts import load_texts
from spa.media import MEDIA, PLAIN, medium_keys, medium_of, model_files
from spa.media.medium import Medium
from spa.raters.budget import tokens_of
from spa.raters.local.model_folder import LoadedModel
from spa.raters.vendors.local.local_prompt import unread_files
from spa.raters.vendors.responses import as_input
from spa.records.form import Exhibit, Form
from spa.records.outputs import Outputs
from spa.records.study import Study
from spa.responses.export import export_tables
from spa.responses.reading_evidence import (
    OutputExposure,
    PageExposure,
    minimum_seconds,
    unseen_outputs,
)
from spa.server.preview import create_preview
from spa.starting.finding import find_answers
from spa.starting.input_rows import NamedColumns
from spa.starting.proposal import proposed
from spa.starting.settling import settled
from spa.starting.writing import check_files, study_files, write_study
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from spa.tables.options import TableOptions
from tests.spa.study_files import problems_of
from tests.spa.tiny_clips import copied_here, tiny_film, tiny_sound
from tests.spa.tiny_images import tiny_png
from tests.study_schema import meanings
from tests.toys.note_files import NOTE

SYSTEMS = ("zzgood", "zzpoor")
ITEMS = 4
CONTENTS: dict[str, Callable[[int, int], bytes]] = {  # an output of each medium, by item and system, that names nobody
    "text": lambda item, system: f"Words of {item} for {system} in an answer.".encode(),
    "markdown": lambda item, system: f"Words of **{item}** for `{system}` in $x^{item}$.".encode(),
    "conversation": lambda item, system: json.dumps(
        [{"role": "user", "content": f"Which of {item}?"}, {"role": "assistant", "content": f"That of **{system}**."}]
    ).encode(),
    "image": lambda item, system: tiny_png(item, system),
    "audio": lambda item, system: tiny_sound(item, system),
    "video": lambda item, system: tiny_film(item, system),
    "note": lambda item, system: f"NOTE\nFirst & line of {item}\nsecond <line> for {system}\n".encode(),
}
LOADED_BY = {"img": "img-src", "audio": "media-src", "video": "media-src"}  # directives of a content security policy
ALL = (*MEDIA, NOTE)
OF_FILES = tuple(medium for medium in ALL if medium.files is not None)
STUDY = """id = "shown"
title = "Shown"
[outputs]
files = ["outputs.jsonl"]
kind = "{kind}"
[[systems]]
id = "zzgood"
[[systems]]
id = "zzpoor"
[people]
annotators = 3
seconds_per_100_words = 10
[spa]
exposure = 2
[likert]
"""


@pytest.fixture(params=ALL, ids=lambda medium: medium.key)
def medium(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Medium:
    """Return each medium, the toy among them, which is in the registry."""
    monkeypatch.setattr(spa.media, "MEDIA", ALL)
    monkeypatch.setattr(spa.media.clips, "copied_clip", copied_here)
    monkeypatch.setattr(spa.clips, "copied_clip", copied_here)
    found: Medium = request.param
    return found


@pytest.fixture
def study_file(medium: Medium, tmp_path: Path) -> Path:
    """Return a study of two systems; the files of its outputs are called like these."""
    rows = []
    for item in range(ITEMS):
        for number, system in enumerate(SYSTEMS):
            content = CONTENTS[medium.key](item, number)
            output = content.decode("utf-8", "replace")
            if medium.files is not None:
                output = f"{system}-{item}{medium.suffixes[0]}"
                (tmp_path / output).write_bytes(content)
            rows.append({"item_id": f"i{item}", "system": system, "output": output})
    (tmp_path / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(kind=medium.key))
    return path


def made(study_file: Path) -> tuple[Study, Outputs, Form]:
    study = load_study(study_file)
    outputs = load_outputs(study)
    ((assignment, key),) = sample_assignments(study, outputs, count=1, rng=study_rng(1))
    return study, outputs, build_form(study, outputs, assignment, key, load_texts("en", {}))


def shown_on(form: Form) -> list[Exhibit]:
    blocks = (block for page in form.pages for block in page.exhibits)
    return list({one.exhibit_id: one for block in blocks for one in exhibits_of(block)}.values())


def test_outputs_are_of_the_medium(medium: Medium, study_file: Path) -> None:
    """Each holds a text or a file that is there, and a form shows them as they are."""
    _, outputs, form = made(study_file)
    every = list(outputs.all())
    assert len(every) == ITEMS * len(SYSTEMS)
    for output in every:
        assert output.medium == medium.key
        assert (output.file is None, output.text is None) == (medium.files is None, medium.files is not None)
        assert output.file is None or output.file.is_file()
    assert {one.medium for one in shown_on(form)} == {medium.key}
    assert {(one.file, one.text) for one in shown_on(form)} <= {(one.shown_file, one.text or "") for one in every}


def test_page_shows_every_exhibit(medium: Medium, study_file: Path) -> None:
    """What the medium makes of an exhibit stands on the page, which may load it; its file is sent without its name."""
    _, _, form = made(study_file)
    texts = load_texts("en", {})
    pages = "".join(render_page(form, page, texts) for page in form.pages)
    client = TestClient(create_preview(form, texts))
    policy = client.get("/").headers["content-security-policy"]
    for exhibit in shown_on(form):
        content = medium.shown(exhibit, lambda one: f"{one.medium}/{one.exhibit_id}")
        assert str(content) in pages
        assert 'class="body' in content or content.startswith("<img ")  # what the page's script watches
        loaded = re.search("<(img|audio|video) ", content)
        assert loaded is None or f" {LOADED_BY[loaded[1]]} 'self' data:;" in policy
        answer = client.get(f"/{medium.key}/{exhibit.exhibit_id}")
        assert answer.status_code == (200 if medium.files is not None else 404)
        if medium.files is not None and exhibit.file is not None:
            assert answer.content == exhibit.file.read_bytes()
            assert answer.headers["content-type"] == medium.files.media_type(exhibit.file)
            assert not any(system in str(answer.headers) for system in SYSTEMS)


def test_hit_is_self_contained(medium: Medium, study_file: Path) -> None:
    """A whole form on one page asks for no file, and its policy lets it load none but its own data."""
    _, _, form = made(study_file)
    posting = Posting(script="", origins=("https://platform.example",), fields={})
    html = render_whole(form, load_texts("en", {}), posting=posting)
    assert f'src="{medium.key}/' not in html
    for exhibit in shown_on(form):
        assert f"{medium.key}/{exhibit.exhibit_id}" not in html
    assert "'self'" not in posting.policy(())
    if medium.files is not None and medium.files.directive:
        assert f"{medium.files.directive} data:; " in posting.policy(())


def test_style_and_script_are_those_of_all_pages(medium: Medium) -> None:
    """What stands beside the module of a medium is a part of what every page links to, once."""
    asset_text.cache_clear()
    try:
        for path in medium.collected:
            part = path.read_text(encoding="utf-8")
            for font in medium.fonts:
                part = part.replace(font.name, asset_name(font.name))
            assert asset_text(f"form{path.suffix}").count(part) == 1
            assert f'"{path.name}"' not in asset_text(f"form{path.suffix}")
    finally:
        asset_text.cache_clear()


def test_prompt_has_every_exhibit_once(medium: Medium, study_file: Path) -> None:
    """A file that a model can take is a part of the message; all others are said in words between fences."""
    _, _, form = made(study_file)
    prompt = render_prompt(form)
    files = [part.exhibit.exhibit_id for part in prompt.parts if isinstance(part, FilePart)]
    (message,) = prompt.chat_messages("")
    for exhibit in shown_on(form):
        if medium.files is None or medium.files.models is None:
            fenced = f"] {exhibit.caption}\n```\n{medium.said(exhibit)}\n```\n"
            assert message["content"].count(fenced) == 1
        else:
            assert exhibit.file is not None
            assert files.count(exhibit.exhibit_id) == 1
            assert message["content"].count(medium.files.models.part(exhibit.file)) == 1


def test_models_get_a_file_or_one_line(medium: Medium, study_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals keep a digest of it, its tokens are estimated, and who cannot take it says so before it is asked."""
    _, _, form = made(study_file)
    messages = render_prompt(form).chat_messages("")
    text_only = LoadedModel.__new__(LoadedModel)
    object.__setattr__(text_only, "processor", None)
    if medium.files is None or medium.files.models is None:
        assert spa.media.recorded(messages[0]) == messages[0]
        assert unread_files(text_only, messages) is None
        return
    models = medium.files.models
    parts = [part for part in messages[0]["content"] if model_files(part) is models]
    kept = spa.media.recorded(messages[0])["content"]
    assert len(json.dumps(kept)) < len(json.dumps(messages[0]["content"])) + 100 * len(parts)
    assert not [part for part in parts if part in kept]
    assert tokens_of(messages) > sum(models.tokens(part, "")[1] for part in parts) > 0
    assert unread_files(text_only, messages) == medium.many
    if models.as_input is not None:
        assert len(as_input(messages[0])["content"]) == len(messages[0]["content"])
    refusing = replace(medium, files=replace(medium.files, models=replace(models, as_input=None)))
    monkeypatch.setattr(spa.media, "MEDIA", (medium_of(PLAIN), refusing))
    with pytest.raises(spa.PlatformError, match=f"takes no part of type '{models.type}'"):
        as_input(messages[0])


@pytest.mark.parametrize("medium", OF_FILES, indirect=True, ids=lambda medium: medium.key)
def test_dashboard_shows_a_file(medium: Medium, study_file: Path) -> None:
    """It is given to the container, as a path or as what stands in it."""
    assert medium.files is not None
    output = next(load_outputs(load_study(study_file)).all())
    assert output.file is not None
    container = Mock()
    medium.files.on_dashboard(container, output.file)
    (call,) = container.mock_calls
    assert call.args[0] in (str(output.file), output.file.read_bytes().decode("utf-8", "replace"))


def test_nothing_names_a_system(medium: Medium, study_file: Path) -> None:
    """No page, HIT or prompt holds a system's id, which is in the names of all files."""
    _, _, form = made(study_file)
    texts = load_texts("en", {})
    said = [render_page(form, page, texts) for page in form.pages]
    said += [render_whole(form, texts), json.dumps(render_prompt(form).chat_messages(""))]
    assert not [system for system in SYSTEMS if any(system in one for one in said)]


def test_seconds_are_counted(medium: Medium, study_file: Path) -> None:
    """Every exhibit takes its seconds: those of its words at 230 a minute, and those that the medium says."""
    _, _, form = made(study_file)
    shown = shown_on(form)
    of_words = estimate_effort(form).words
    minutes = estimate_effort(form, words_per_minute=1e9).minutes
    bare = replace(form, pages=tuple(replace(page, blocks=()) for page in form.pages))
    looked_at = sum(medium.seconds(one) for one in shown) / 60
    asked = estimate_effort(form).questions * 8 / 60
    assert minutes == pytest.approx(estimate_effort(bare).minutes + asked + looked_at, abs=0.15)
    assert looked_at > 0 or of_words > estimate_effort(bare).words + sum(len(one.text.split()) for one in shown)


def test_an_image_is_looked_at_for_six_seconds() -> None:
    """Minutes and pay rest on it."""
    shown = Exhibit(exhibit_id="e1", caption="A", label="A", item_id="i", medium="image", file=Path("a.png"))
    assert medium_of(shown).seconds(shown) == 6.0
    assert medium_of(shown).least_seconds(shown, 10.0) == 1.0


def test_seen_is_what_was_on_screen_long_enough(medium: Medium, study_file: Path) -> None:
    """A page can be left once each new output was on screen for the seconds that its medium asks for."""
    _, _, form = made(study_file)
    page = next(page for page in form.pages if page.new_outputs)
    least = minimum_seconds(page, 10.0)
    streamed = medium.files is not None and medium.files.streamed
    cut = 0.9 if streamed else 1.0  # of a clip, browsers may leave out a tenth at its end
    assert least == {one.exhibit_id: cut * medium.least_seconds(one, 10.0) for one in page.new_outputs}
    assert min(least.values()) > 0
    for share, unseen in ((1.0, ()), (0.5, page.new_outputs)):
        seen = {
            name: OutputExposure(first_seen=0.0, seconds=share * seconds, scrolled=1.0)
            for name, seconds in least.items()
        }
        played = {name: ((0.0, share * seconds),) for name, seconds in least.items()} if streamed else {}
        assert unseen_outputs(page, PageExposure(seconds=99.0, outputs=seen, played=played), 10.0) == unseen


def test_a_study_runs_to_its_tables(medium: Medium, study_file: Path) -> None:
    """Simulated annotators and a simulated rater see and answer a study of each medium; the answers are exported."""
    for command in (["check"], ["build", "--annotators", "3"], ["simulate"], ["rate", "--simulate"]):
        result = CliRunner().invoke(main, [command[0], str(study_file), *command[1:]])
        assert result.exit_code == 0, result.output
    with open_workspace(study_file, rehearsal=True) as workspace:
        tables = export_tables(workspace.store, form_of=workspace.form)
    assert set(tables.ratings["system"]) == set(SYSTEMS)
    assert set(tables.ratings["annotator_kind"]) == {"simulated", "llm"}
    assert tables.ratings["score"].null_count() == 0
    read = tables.reading.filter(tables.reading["page_kind"] == "reading")
    assert read["seconds"].min() > 0  # type: ignore[operator]  # of numbers
    least = medium.least_seconds(next(workspace.outputs.all()), 10.0)
    assert read["seconds"].max() > 2 * least  # type: ignore[operator]  # looked at, and not only waited for
    assert (read["words"].null_count() == 0) == medium.has_words


@pytest.mark.parametrize("medium", OF_FILES, indirect=True, ids=lambda medium: medium.key)
def test_fingerprint_is_that_of_the_files(medium: Medium, study_file: Path) -> None:
    """A study whose outputs were exchanged is another one, though its tables are the same."""
    before = study_fingerprint(load_study(study_file))
    file = study_file.parent / f"{SYSTEMS[0]}-0{medium.suffixes[0]}"
    file.write_bytes(CONTENTS[medium.key](7, 7))
    assert study_fingerprint(load_study(study_file)) != before


@pytest.mark.parametrize("medium", OF_FILES, indirect=True, ids=lambda medium: medium.key)
@pytest.mark.parametrize("content", [b"", b"else", None])
def test_what_is_no_such_file_is_one_line(medium: Medium, study_file: Path, content: bytes | None) -> None:
    """A file that is absent, empty or something else is named by the row that asks for it."""
    file = study_file.parent / f"{SYSTEMS[1]}-0{medium.suffixes[0]}"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(spa.StudyError) as caught:
        load_outputs(load_study(study_file))
    (problem,) = caught.value.problems
    assert "outputs.jsonl line 2: expected a" in problem
    assert medium.noun in problem
    assert file.name in problem


@pytest.mark.parametrize("medium", OF_FILES, indirect=True, ids=lambda medium: medium.key)
def test_words_are_asked_of_texts_alone(medium: Medium, study_file: Path) -> None:
    """What compares, cuts or marks words is refused, in a line each that says what the outputs are."""
    text = study_file.read_text().replace("kind =", 'match_length_of = "zzgood"\nkind =')
    text += '[spans]\n[[outputs.filters]]\nfield = "output"\nmin_words = 3\n'
    study_file.write_text(text)
    problems = [line for line in problems_of(study_file) if f"got {medium.many}" in line]
    assert [line.split(": expected")[0].split(": ")[-1] for line in problems] == [
        "[outputs] match_length_of",
        "[[outputs.filters]] 1",
        "[spans]",
    ]


@pytest.mark.parametrize("medium", ALL, indirect=True, ids=lambda medium: medium.key)
def test_a_study_begins_from_files(medium: Medium, tmp_path: Path) -> None:
    """Folders of systems with a file for each item become a study whose files name nobody."""
    for number, system in enumerate(SYSTEMS):
        (tmp_path / "found" / system).mkdir(parents=True)
        for item in range(ITEMS):
            file = tmp_path / "found" / system / f"{item}{(*medium.suffixes, '.md')[0]}"
            file.write_bytes(CONTENTS[medium.key](item, number))
    found = find_answers([tmp_path / "found"], NamedColumns(), TableOptions(), lambda question: question.choices[0])
    assert found.kind == medium.key
    study = settled(found, single=False)
    check_files(study)
    form = proposed(study)
    assert f"{medium.many} of each system are {medium.read}" in form.reasons[0]
    folder = tmp_path / "new"
    folder.mkdir()
    path = write_study(folder, folder, study, form)
    assert f'title = "{medium.titles["en"]}"' in path.read_text()
    assert set(study_files(study)) == {one.name for one in folder.iterdir()}
    for output in load_outputs(load_study(path)).all():
        assert output.medium == medium.key
        assert output.file is None or not any(system in output.file.name for system in SYSTEMS)


def test_reference_names_every_medium() -> None:
    """The study file's reference says which media there are and which files they take."""
    meaning = meanings()["[outputs]", "kind"]
    for one in MEDIA:
        assert one.key in meaning
        assert one.files is None or one.files.formats in meaning


def test_kind_is_one_of_the_registry(tmp_path: Path) -> None:
    """A study file may name the media there are, and no other."""
    path = tmp_path / "study.toml"
    (tmp_path / "outputs.jsonl").write_text("{}\n")
    path.write_text(STUDY.format(kind="note"))
    listed = ", ".join(f'"{key}"' for key in medium_keys())
    assert problems_of(path) == [
        f'study.toml: [outputs] kind: expected one of {listed}, got "note"; correct it or remove the key '
        f'(default: "{PLAIN}")'
    ]


# What has the word for a reason of its own: the type of an HTML field, a rule of Markdown, names of columns.
OTHER_MEANINGS = {
    "spa/simulation/survey_client.py",
    "spa/forms/markdown.py",
    "spa/forms/form_text.py",
    "spa/forms/html.py",
    "spa/importers/surveyjs.py",
    "spa/importers/gradio.py",
    "spa/raters/capabilities.py",
    "spa/raters/context_hint.py",  # the key of a rater
    "spa/starting/traces/chat_logs.py",
    "spa/starting/traces/turns.py",
    "spa/starting/traces/answers.py",
    "analysis/answers/column_names.py",
    "analysis/answers/plan.py",  # marks of Markdown, which strengths are held constant with
    "spa/records/covariates.py",
    "spa/study/schema_errors.py",
    "spa/raters/vendors/anthropic/__init__.py",  # a part of its messages
    "prolific/settings.py",  # what people's devices need
    "prolific/emulator/study_body.py",
}


def test_no_other_room_names_a_medium() -> None:
    """No module but the medium's own holds its key; what is usual is ``PLAIN``, and the default of the study file."""
    root = Path(spa.__file__).parents[1]
    keys = "|".join(medium_keys())
    named = "|".join(key for key in medium_keys() if key != PLAIN)
    known = re.compile(rf"""["']({named})["']|\b(kind|medium) (==|!=|in) [("']+({keys})["']""")
    places = []
    for package in ("spa", "mturk", "prolific", "analysis", "streamlit_app"):
        for path in sorted((root / package).rglob("*.py")):
            place = str(path.relative_to(root))
            if place.startswith("spa/media/") or place in OTHER_MEANINGS:
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
            places += [f"{place}:{number}" for number, line in enumerate(lines, start=1) if known.search(line)]
    assert places == []
