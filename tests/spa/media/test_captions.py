"""Captions beside clips: times and words alone are shown, and whatever else a file holds is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

import spa
from spa.forms.build import build_form
from spa.forms.html import render_whole
from spa.forms.texts import load_texts
from spa.media.captions import LARGEST, neutral_captions
from spa.server.preview import create_preview
from spa.study.load import load_study, study_fingerprint
from spa.study.outputs import load_outputs
from spa.study.sampling import sample_assignments, study_rng
from tests.spa.media.test_media import STUDY
from tests.spa.tiny_clips import tiny_sound

MADE = """WEBVTT - by zzgood

STYLE
::cue { background: url(https://zzgood.example) }

NOTE zzgood wrote this

zzgood-1
00:00.000 --> 00:00.250 align:start position:10%
<v zzgood>Good <b>morning</b>

00:00:00.250 --> 00:00:00.500
to &lt;all&gt;
"""
NEUTRAL = """WEBVTT

00:00.000 --> 00:00.250
Good morning

00:00:00.250 --> 00:00:00.500
to &lt;all&gt;
"""


def study_of_sounds(folder: Path, captions: str) -> Path:
    rows = []
    for item in range(4):
        for number, system in enumerate(("zzgood", "zzpoor")):
            output = f"{system}-{item}.wav"
            (folder / output).write_bytes(tiny_sound(item, number))
            if system == "zzgood":
                (folder / f"{system}-{item}.vtt").write_text(captions)
            rows.append({"item_id": f"i{item}", "system": system, "output": output})
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(STUDY.format(kind="audio"))
    return path


def test_captions_are_times_and_words_alone() -> None:
    assert neutral_captions(MADE.encode()).content.decode() == NEUTRAL
    windows = b"\xef\xbb\xbf" + MADE.replace("\n", "\r\n").encode()
    assert neutral_captions(windows).content.decode() == NEUTRAL
    assert neutral_captions(NEUTRAL.encode()).content.decode() == NEUTRAL  # the copy of a copy is itself


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "does not begin with WEBVTT"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nSubRip", "does not begin with WEBVTT"),
        (b"WEBVTT\n\nNOTE nothing", "holds no captions"),
        (b"WEBVTT\n\n00:01,000 --> 00:02,000\nwords", "times '00:01,000"),
        (b"WEBVTT\n\nwords", "has no times"),
        (b"WEBVTT\n\n\xff", "not UTF-8"),
        (b"WEBVTT" + b" " * LARGEST, "more than"),
    ],
)
def test_what_is_no_captions_is_refused(content: bytes, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        neutral_captions(content)


@given(st.text(alphabet="<>-:0 \n\rvNOTE.\0") | st.text())
def test_whatever_captions_hold_is_plain_or_refused(text: str) -> None:
    try:
        found = neutral_captions(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}".encode("utf-8", "replace")).content
    except ValueError:
        return
    assert b"<" not in found
    assert neutral_captions(found).content == found


def test_captions_are_served_below_their_clip(tmp_path: Path) -> None:
    """On pages as a track, in a page that stands alone within it; they are a part of what the study shows."""
    path = study_of_sounds(tmp_path, MADE)
    study = load_study(path)
    outputs = load_outputs(study)
    ((assignment, key),) = sample_assignments(study, outputs, count=1, rng=study_rng(3))
    texts = load_texts("en", {})
    form = build_form(study, outputs, assignment, key, texts)
    shown = {one.exhibit_id: one for page in form.pages for one in page.outputs}
    client = TestClient(create_preview(form, texts))
    pages = "".join(client.get(f"/p/{page.page_id}").text for page in form.pages)
    for name, one in shown.items():
        answer = client.get(f"/audio/{name}/captions")
        assert (f'<track kind="captions" src="/audio/{name}/captions" default>' in pages) == (one.captions is not None)
        assert answer.status_code == (404 if one.captions is None else 200)
        if one.captions is not None:
            assert (answer.text, answer.headers["content-type"]) == (NEUTRAL, "text/vtt; charset=utf-8")
    assert {one.label for one in shown.values() if one.captions} == {
        label for label, s in key.systems.items() if s == "zzgood"
    }
    assert 'src="data:text/vtt;base64,' in render_whole(form, texts)
    before = study_fingerprint(study)
    (tmp_path / "zzgood-0.vtt").write_text(MADE.replace("morning", "night"))
    assert study_fingerprint(load_study(path)) != before
    (tmp_path / "zzgood-0.vtt").write_text("WEBVTT\n\nwords")
    with pytest.raises(spa.StudyError, match=r"outputs.jsonl line 1: expected WebVTT captions, got \"zzgood-0.vtt\""):
        load_outputs(load_study(path))
