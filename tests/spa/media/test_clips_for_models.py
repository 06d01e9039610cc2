"""Sound and videos as models take them: which parts they get, what it costs, and who refuses them."""

from __future__ import annotations

import base64
import io
import wave
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import spa
from spa.media import medium_of
from spa.media.clip_tokens import film_tokens, sound_tokens
from spa.media.medium import Medium, ModelFiles, Part
from spa.raters.endpoints.absences import absence_of
from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.local.model_folder import LoadedModel
from spa.raters.prompt_messages import _in_frames
from spa.raters.vendors import anthropic, gemini, responses
from spa.raters.vendors.local.local_prompt import unread_files
from spa.records.raters import Rater, RaterProtocol, rater_variants
from tests.spa.study_files import problems_of, write_study
from tests.spa.tiny_clips import copied_here, tiny_film, tone, wav

AUDIO, VIDEO = medium_of("audio"), medium_of("video")


def models_of(medium: Medium) -> ModelFiles:
    assert medium.files is not None
    assert medium.files.models is not None
    return medium.files.models


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Part]:
    """Return what is sent of a tone of 24 bits in two seconds, and of a film."""
    found = {}
    made = {AUDIO.key: copied_here(wav(tone(440, seconds=2.0)), pictures=False)}
    made[VIDEO.key] = copied_here(tiny_film(1, 0), pictures=True)
    for key, copy in made.items():
        path = tmp_path / f"copy{copy.suffix}"
        path.write_bytes(copy.content)
        found[key] = models_of(medium_of(key)).part(path)
    return found


def asked(part: Part) -> LLMRequest:
    message = {"role": "user", "content": [{"type": "text", "text": "Which?"}, part]}
    return LLMRequest(messages=(message,), questions=(), protocol=RaterProtocol())


def test_sound_is_sent_as_wav_without_loss(parts: dict[str, Part]) -> None:
    """Endpoints take WAV and MP3; the samples are those of the copy, and journals say what was made of it."""
    part = parts["audio"]
    assert part["input_audio"]["format"] == "wav"
    kind, data = models_of(AUDIO).inline(part)  # type: ignore[misc]
    content = base64.b64decode(data)
    assert kind == "audio/wav"
    assert content == wav(tone(440, seconds=2.0))
    with wave.open(io.BytesIO(content)) as file:
        assert (file.getnframes(), file.getframerate()) == (32_000, 16_000)
    assert "16 bits, made of the copy; sha256" in str(models_of(AUDIO).recorded(part))
    assert models_of(AUDIO).decoded(part).shape == (32_000,)


def test_tokens_are_those_of_seconds(parts: dict[str, Part]) -> None:
    """32 a second of sound with Gemini, 10 with OpenAI; a picture a second of a film."""
    assert models_of(AUDIO).tokens(parts["audio"], "gemini-2.5-pro") == (64, 64)
    assert models_of(AUDIO).tokens(parts["audio"], "gpt-audio") == (20, 20)
    assert models_of(VIDEO).tokens(parts["video"], "gemini-3-pro") == (70, 86)
    assert sound_tokens(10.0, "of nobody") == (100, 320)
    assert film_tokens(10.0, 640, 360, "gemini-2.5-pro") == (2580, 2900)


def test_vendors_take_files_or_refuse_them_in_one_line(parts: dict[str, Part]) -> None:
    for part, kind in ((parts["audio"], "audio/wav"), (parts["video"], "video/mp4")):
        sent = gemini.messages_of(asked(part))["contents"][0]["parts"][1]
        assert sent["inline_data"]["mime_type"] == kind
        with pytest.raises(spa.PlatformError, match="Anthropic's API takes no part of type"):
            anthropic.messages_of(asked(part))
        with pytest.raises(spa.PlatformError, match="the Responses API takes no part of type"):
            responses.as_input(asked(part).messages[0])


@pytest.mark.parametrize("key", ["audio", "video"])
def test_a_model_that_only_sees_pictures_is_refused(key: str, parts: dict[str, Part]) -> None:
    """A processor of pictures takes no sound: said before it is asked."""
    loaded: Any = LoadedModel.__new__(LoadedModel)
    object.__setattr__(loaded, "processor", SimpleNamespace(image_processor=object()))
    assert unread_files(loaded, asked(parts[key]).messages) == medium_of(key).many
    listening = SimpleNamespace(feature_extractor=object(), video_processor=object())
    object.__setattr__(loaded, "processor", listening)
    assert unread_files(loaded, asked(parts[key]).messages) is None


def test_refusals_of_sound_are_told_as_such() -> None:
    for said in (
        "This model does not support audio inputs",
        "video_url is not supported",
        "Invalid: 'input_audio' unsupported",
    ):
        assert absence_of(400, said, b'{"type":"input_audio"}') == "no_files"
    assert absence_of(400, "The audio is too long", b'{"type":"input_audio"}') is None


@pytest.mark.parametrize("key", ["audio", "video"])
def test_trials_are_parts_that_can_be_read(key: str) -> None:
    """An endpoint is asked once about a clip that nobody who does not take it in can answer for."""
    models = models_of(medium_of(key))
    assert models.trial is not None
    part, _, word = models.trial()
    assert word in ("three", "red")
    seen = models.decoded(part)
    if key == "audio":
        loud = abs(seen) > 0.1
        assert (loud[1:] & ~loud[:-1]).any()
        assert len(seen) == 24_000
    else:
        assert seen[..., 0].mean() > 200 > 50 > seen[..., 1:].mean()


def test_pictures_of_a_video_are_a_variant(parts: dict[str, Part], tmp_path: Path) -> None:
    """They are sent in its place at the rate that the study names, and the rater counts as one that reads otherwise."""
    message = _in_frames(asked(parts["video"]).messages[0], 10.0)
    assert [one["type"] for one in message["content"]] == ["text", *["image_url"] * 5]
    assert len(_in_frames(asked(parts["video"]).messages[0], 1.0)["content"]) == 2
    assert _in_frames(asked(parts["audio"]).messages[0], 1.0)["content"][1] == parts["audio"]
    plain, framed = (rater_variants(Rater(id="a", model="m", frames_per_second=one))[0] for one in (None, 1.0))
    assert plain.identical
    assert not framed.identical
    assert plain.fingerprint != framed.fingerprint
    rater = '[likert]\n[[raters]]\nid = "seer"\nmodel = "m"\nframes_per_second = 1\n'
    (problem,) = problems_of(write_study(tmp_path, rest=rater))
    assert "frames_per_second: expected a study of videos, got texts; remove the key" in problem
