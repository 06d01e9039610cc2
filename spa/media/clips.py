"""What sound and moving pictures have in common: how long they last, how they are copied, shown and sent."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import wave
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from markupsafe import Markup

from spa.clips import copied_clip, seconds_of_clip
from spa.clips.containers import container_of
from spa.errors import StudyError
from spa.media.medium import Content, Doubt, NeutralCopy, Part

if TYPE_CHECKING:
    from spa.records.form import Exhibit

STYLES, SCRIPT = (Path(__file__).with_name("player.css"),), Path(__file__).with_name("player.js")
SILENT = Doubt(does="are silent throughout", do="look whether they are meant, or remove these items")


def begins_as(path: Path, containers: tuple[str, ...]) -> bool:
    """Return by its first bytes whether a file is in one of some containers."""
    with path.open("rb") as file:
        return container_of(file.read(16)) in containers


def neutral_copy(content: bytes, *, pictures: bool) -> NeutralCopy:
    """Return the neutral copy of a clip. Raise ValueError with what is wrong and what to do."""
    made = copied_clip(content, pictures=pictures)
    return NeutralCopy(
        content=made.content, suffix=made.suffix, marks=made.marks, seconds=made.seconds, loudness=made.loudness
    )


def seconds(content: Content, per_100_words: float = 0.0, *, pictures: bool) -> float:
    """Return how long a clip lasts, which is for how long it must be played, however many words others are given.

    That is what is known of its copy, else of the file decoded whole.
    """
    if content.seconds is not None or content.file is None:
        return content.seconds or 0.0
    try:
        return seconds_of_clip(content.file, pictures=pictures)
    except (OSError, ValueError):  # said where it is read
        return 0.0


def read(path: Path, noun: str) -> bytes:
    """Return what stands in the file of a clip that is sent to a model."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise StudyError(f"{path}: expected {noun} that can be read, got {error.strerror}; put it back") from error


def encoded(content: bytes) -> str:
    """Return bytes as text."""
    return base64.b64encode(content).decode("ascii")


def digest(data: str) -> str:
    """Return what journals keep in the place of bytes written as text."""
    return f"sha256 of the data {hashlib.sha256(data.encode()).hexdigest()}"


def sent(exhibit: Exhibit) -> tuple[Exhibit]:
    """Return what a model is sent of a clip: all of it, and no words."""
    return (exhibit,)


def player(element: Literal["audio", "video"], exhibit: Exhibit, address: str) -> Markup:
    """Return the browser's own player of a clip with its length; without an address it plays nothing."""
    source = Markup(' src="{}"').format(address) if address else ""
    captions = _captions(exhibit, address) if address else ""
    track = Markup('<track kind="captions" src="{}" default>').format(captions) if captions else ""
    plays_inline = " playsinline" if element == "video" else ""
    return Markup(
        '<div class="body clip"><{0} preload="none" controls{1}{2} aria-label="{3}">{5}</{0}>'
        '<p class="length" data-chrome>{4}</p></div>'
    ).format(element, plays_inline, source, exhibit.caption, minutes_and_seconds(exhibit.seconds or 0.0), track)


def _captions(exhibit: Exhibit, address: str) -> str:
    """Return where the captions of a clip are: below its own address, or as one that holds all; "" without any."""
    if exhibit.captions is None:
        return ""
    if not address.startswith("data:"):
        return f"{address}/captions"
    return f"data:text/vtt;base64,{encoded(exhibit.captions.read_bytes())}"


def minutes_and_seconds(length: float) -> str:
    """Return a length as players write it.

    >>> minutes_and_seconds(59.6), minutes_and_seconds(125.0)
    ('1:00', '2:05')
    """
    minutes, seconds = divmod(max(round(length), 1), 60)
    return f"{minutes}:{seconds:02}"


def wav_seconds(content: bytes) -> float:
    """Return how long a WAV lasts."""
    with wave.open(io.BytesIO(content)) as file:
        return float(file.getnframes() / file.getframerate())


def film_measures(content: bytes) -> tuple[float, int, int]:
    """Return how long an MP4 lasts by its boxes ``mvhd`` and ``tkhd``, and its width and height; they are our own."""
    at = content.index(b"mvhd") + 4
    scale, lasts = (int.from_bytes(content[at + start : at + start + 4]) for start in (12, 16))
    sizes = [content[found.end() + 76 : found.end() + 84] for found in re.finditer(b"tkhd", content)]
    width, height = next((w, h) for one in sizes if (w := int.from_bytes(one[:2])) and (h := int.from_bytes(one[4:6])))
    return lasts / scale, width, height


def bytes_of(part: Part, key: str) -> bytes:
    """Return the bytes of a part of a chat message."""
    return base64.b64decode(part[part["type"]][key].rpartition(",")[2])
