"""Sound: an output is the path of a clip of speech, music or noise."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from spa.clips.containers import FLAC, MP3, MP4, OGG, WAV
from spa.media import clips
from spa.media.clip_tokens import sound_tokens
from spa.media.medium import Doubt, Medium, MediumFiles, ModelFiles, NeutralCopy, Part

if TYPE_CHECKING:
    from spa.records.form import Exhibit

FORMATS = "WAV, FLAC, MP3, Ogg or M4A"
CONTAINERS = (WAV, FLAC, MP3, OGG, MP4)
RATE = 16_000  # Hz, that processors of speech take
TYPES = {".flac": "audio/flac", ".wav": "audio/wav", ".m4a": "audio/mp4", ".opus": "audio/ogg"}
MARKS = {
    "silent": clips.SILENT,
    "clipped": Doubt(does="are louder than full scale in places", do="they are heard clipped there; make them softer"),
}


def _fits(path: Path) -> bool:
    return clips.begins_as(path, CONTAINERS)


def _media_type(path: Path) -> str:
    guessed = TYPES.get(path.suffix.lower()) or mimetypes.guess_type(str(path))[0] or ""
    return guessed if guessed.startswith("audio/") else "application/octet-stream"


def _neutral(content: bytes) -> NeutralCopy:
    return clips.neutral_copy(content, pictures=False)


def _shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    return clips.player("audio", exhibit, address(exhibit))


def _part(path: Path) -> Part:
    from spa.clips.reading import wav_of

    return _of_wav(wav_of(clips.read(path, "an audio clip")))


def _of_wav(content: bytes) -> Part:
    return {"type": "input_audio", "input_audio": {"data": clips.encoded(content), "format": "wav"}}


def _recorded(part: Part) -> Part:
    held = part["input_audio"]
    return {**part, "input_audio": {**held, "data": f"16 bits, made of the copy; {clips.digest(held['data'])}"}}


def _tokens(part: Part, model: str) -> tuple[int, int]:
    return sound_tokens(clips.wav_seconds(clips.bytes_of(part, "data")), model)


def _inline(part: Part) -> tuple[str, str]:
    return "audio/wav", part["input_audio"]["data"]


def _trial() -> tuple[Part, str, str]:
    """Return three beeps."""
    import numpy as np

    from spa.clips.reading import wav

    beep = 8000 * np.sin(2 * np.pi * 880 * np.arange(RATE // 4) / RATE)
    samples = np.tile(np.concatenate([beep, 0 * beep]), 3).astype("<i2")
    asked = "How many beeps are in this recording? Answer with one word, in English."
    return _of_wav(wav(samples.tobytes(), RATE, channels=1)), asked, "three"


def _decoded(part: Part) -> Any:
    from spa.clips.reading import samples_of

    return samples_of(clips.bytes_of(part, "data"), RATE)


def _on_dashboard(container: Any, path: Path) -> object:
    return container.audio(str(path))


AUDIO = Medium(
    key="audio",
    one="an audio clip",
    many="audio clips",
    read="heard",
    titles={"en": "Comparing audio clips", "zh": "音频比较", "ar": "مقارنة مقاطع صوتية"},
    wording="_audio",
    is_late=True,
    suffixes=(".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a"),
    files=MediumFiles(
        formats=FORMATS,
        fits=_fits,
        media_type=_media_type,
        directive="media-src",
        models=ModelFiles(
            type="input_audio",
            part=_part,
            recorded=_recorded,
            tokens=_tokens,
            as_input=None,
            processor_type="audio",
            processor_argument="audio",
            decoded=_decoded,
            inline=_inline,
            processor_options={"sampling_rate": RATE},
            processor_parts=("feature_extractor", "audio_processor"),
            sent="16-bit WAV made of this copy",
            trial=_trial,
        ),
        on_dashboard=_on_dashboard,
        neutral=_neutral,
        copied="encoded anew as FLAC, without loss and as loud as it was",
        marks=MARKS,
        streamed=True,
    ),
    shown=_shown,
    collected=clips.STYLES,
    script=clips.SCRIPT,
    sent=clips.sent,
    seconds=partial(clips.seconds, pictures=False),
    least_seconds=partial(clips.seconds, pictures=False),
    heds=10,
)
