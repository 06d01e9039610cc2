"""Clips of screening questions and attention checks: shown to people alone, judged by answers near the expected one."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import spa.examples
from spa.errors import StudyError
from spa.forms.build import build_form
from spa.forms.html import render_page
from spa.forms.prompt import render_prompt
from spa.forms.texts import load_texts
from spa.records.form import CheckTarget, ExhibitsBlock, Form, ScreeningTarget
from spa.records.study import Study
from spa.study.anchors import NEXT_TO_NOTHING, AnchorLoss, anchor_losses, energy_above, loss_lines
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.tiny_clips import wav

EXAMPLES = Path(spa.examples.__file__).parent
TEXTS = load_texts("en", {})
SPEECH = Path(__file__).parents[4] / "shared" / "cases" / "listening" / "mid_anchor_of_speech" / "reference.wav"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both examples of listening tests."""
    made = tmp_path_factory.mktemp("listening")
    for name in ("speech", "mushra"):
        shutil.copytree(EXAMPLES / name, made / name)
    return made


def forms_of(study: Study, count: int = 1) -> list[Form]:
    outputs, texts = load_outputs(study), load_texts(study.language, study.texts)
    drawn = sample_assignments(study, outputs, count=count, rng=study_rng(1))
    return [build_form(study, outputs, assignment, key, texts) for assignment, key in drawn]


def test_checks_show_clips_to_people_alone(folder: Path) -> None:
    """Each page with a clip shows it before its question; exhibits of a form have names of their own."""
    forms = forms_of(load_study(folder / "speech" / "study.toml"), count=2)
    for form in forms:
        exhibits = [
            one
            for page in form.pages
            for block in page.blocks
            if isinstance(block, ExhibitsBlock)
            for one in block.exhibits
        ]
        names = [one.exhibit_id for one in exhibits]
        assert len(names) == len(set(names))
        asked = [page for page in form.pages if page.kind in ("screening", "check")]
        shown = [
            (first.exhibits[0].item_id, second.target)
            for page in asked
            for first, second in pairwise(page.blocks)
            if isinstance(first, ExhibitsBlock)
        ]
        assert sorted(item for item, _ in shown) == [
            "check/clear",
            "check/spoilt",
            "check/trap",
            "screening/hearing",
        ]
        for item, target in shown:
            name = target.check_id if isinstance(target, CheckTarget) else target.screening_id
            assert isinstance(target, CheckTarget | ScreeningTarget)
            assert item.endswith(f"/{name}")
        page = render_page(form, next(one for one in asked if one.kind == "check"), TEXTS)
        assert "<audio" in page
        assert "ogg" not in page
        assert "Digits" not in str(render_prompt(form))
        assert "digits" not in str(render_prompt(form))


def test_answers_near_the_expected_one_are_right(folder: Path) -> None:
    (form,) = forms_of(load_study(folder / "speech" / "study.toml"))
    accepted = {
        question.target.check_id: question.target.accepted
        for page in form.pages
        for question in page.questions
        if isinstance(question.target, CheckTarget)
    }
    assert accepted == {"trap": ("Poor",), "spoilt": ("Bad", "Poor"), "clear": ("Excellent", "Good")}


def test_clips_decide_the_fingerprint_and_must_be_there(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "speech", tmp_path / "speech")
    study = tmp_path / "speech" / "study.toml"
    before = study_fingerprint(load_study(study))
    (tmp_path / "speech" / "clips" / "three.ogg").write_bytes((tmp_path / "speech" / "clips" / "two.ogg").read_bytes())
    assert study_fingerprint(load_study(study)) != before
    text = study.read_text()
    for given, said in (("clips/none.ogg", "no such file"), ("clips/three.doc", 'got "clips/three.doc"; convert')):
        study.write_text(text.replace("clips/three.ogg", given))
        with pytest.raises(StudyError, match=r"study.toml: \[\[attention_checks\]\] trap, clip: expected a") as caught:
            load_outputs(load_study(study))
        assert said in str(caught.value)


def test_hidden_reference_is_labelled_and_hidden(folder: Path) -> None:
    """Each page of the MUSHRA example shows the labelled reference, and the five stimuli under letters."""
    (form,) = forms_of(load_study(folder / "mushra" / "study.toml"))
    pages = [page for page in form.pages if page.shows == "outputs"]
    assert len(pages) == 5
    for page in pages:
        labelled, *blocks = (block.exhibits for block in page.blocks if isinstance(block, ExhibitsBlock))
        rated = [one for block in blocks for one in block]
        assert [one.label for one in labelled] == [None]
        assert sorted(one.label or "" for one in rated) == ["A", "B", "C", "D", "E"]
        assert labelled[0].file in {one.file for one in rated}


def test_energy_above_a_frequency(tmp_path: Path) -> None:
    """Of white noise it is the share of frequencies; of the espeak-ng speech of the case 0.42% above 7 kHz."""
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, 48_000)
    (tmp_path / "noise.wav").write_bytes(wav(noise, 48_000))
    assert energy_above(tmp_path / "noise.wav", [3500, 7000]) == pytest.approx([20.5 / 24, 17 / 24], abs=0.01)
    if SPEECH.is_file():
        assert energy_above(SPEECH, [7000]) == pytest.approx([0.0042], abs=5e-5)


def test_build_says_where_an_anchor_is_unaltered(folder: Path) -> None:
    study = load_study(folder / "mushra" / "study.toml")
    losses = list(anchor_losses(study, load_outputs(study)))
    assert len(losses) == 12
    assert all(one.share > 10 * NEXT_TO_NOTHING for one in losses)
    hardly = AnchorLoss(item_id="talk", anchor="anchor70", low_pass=7000, share=0.0042)
    lines = list(loss_lines([*losses, hardly]))
    assert lines[1].endswith(
        "under 1% in 1 of 7 items (talk), which say nothing of listeners by BS.1534's rule on the mid anchor"
    )
