"""Moving pictures: an output is the path of a film, with sound or without."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from spa.clips.containers import MATROSKA, MP4
from spa.media import clips
from spa.media.clip_tokens import film_tokens
from spa.media.medium import Doubt, Medium, MediumFiles, ModelFiles, NeutralCopy, Part

if TYPE_CHECKING:
    from spa.records.form import Exhibit

FORMATS = "MP4 or WebM"
CONTAINERS = (MP4, MATROSKA)
BEGINNING = "data:video/mp4;base64,"
PICTURES_A_SECOND = 2.0  # that processors are given
TYPES = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm"}
MARKS = {
    "silent": clips.SILENT,
    "soundless": Doubt(does="have no sound", do="people hear the others; take the sound off all or none", apart=True),
    "hdr": Doubt(
        does="have colours of a wide range (HDR), which cannot be shown",
        do="people and models see them paler; convert them to SDR where colours matter",
    ),
}


def _fits(path: Path) -> bool:
    return clips.begins_as(path, CONTAINERS)


def _media_type(path: Path) -> str:
    return TYPES.get(path.suffix.lower(), "application/octet-stream")


def _neutral(content: bytes) -> NeutralCopy:
    return clips.neutral_copy(content, pictures=True)


def _shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    return clips.player("video", exhibit, address(exhibit))


def _part(path: Path) -> Part:
    data = clips.encoded(clips.read(path, "a video"))
    return {"type": "video_url", "video_url": {"url": f"{BEGINNING}{data}"}}


def _recorded(part: Part) -> Part:
    url = part["video_url"]["url"]
    return {**part, "video_url": {**part["video_url"], "url": f"video/mp4, {clips.digest(url)}"}}


def _tokens(part: Part, model: str) -> tuple[int, int]:
    lasts, width, height = clips.film_measures(clips.bytes_of(part, "url"))
    return film_tokens(lasts, width, height, model)


def _inline(part: Part) -> tuple[str, str]:
    return "video/mp4", part["video_url"]["url"].removeprefix(BEGINNING)


def _frames(part: Part, per_second: float) -> list[Part]:
    """Return pictures of a film as PNG, in order."""
    from PIL import Image

    from spa.clips.reading import pictures_of

    parts = []
    for _, picture in pictures_of(clips.bytes_of(part, "url"), per_second):
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "PNG")
        url = f"data:image/png;base64,{clips.encoded(file.getvalue())}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _trial() -> tuple[Part, str, str]:
    """Return a red film of a second."""
    from spa.clips.reading import film_of

    url = f"{BEGINNING}{clips.encoded(film_of((255, 0, 0), seconds=1))}"
    return (
        {"type": "video_url", "video_url": {"url": url}},
        "Which colour is this video? Answer with one word, in English.",
        "red",
    )


def _decoded(part: Part) -> Any:
    import numpy as np

    from spa.clips.reading import pictures_of

    return np.stack([picture for _, picture in pictures_of(clips.bytes_of(part, "url"), PICTURES_A_SECOND)])


def _on_dashboard(container: Any, path: Path) -> object:
    return container.video(str(path))


VIDEO = Medium(
    key="video",
    one="a video",
    many="videos",
    read="watched",
    titles={"en": "Comparing videos", "zh": "视频比较", "ar": "مقارنة مقاطع مرئية"},
    wording="_video",
    is_late=True,
    suffixes=(".mp4", ".m4v", ".webm"),
    files=MediumFiles(
        formats=FORMATS,
        fits=_fits,
        media_type=_media_type,
        directive="media-src",
        models=ModelFiles(
            type="video_url",
            part=_part,
            recorded=_recorded,
            tokens=_tokens,
            as_input=None,
            processor_type="video",
            processor_argument="videos",
            decoded=_decoded,
            inline=_inline,
            frames=_frames,
            processor_parts=("video_processor",),
            sent="this copy",
            trial=_trial,
        ),
        on_dashboard=_on_dashboard,
        neutral=_neutral,
        copied="encoded anew as H.264 in MP4, its sound as AAC, upright, with square pixels and as loud as it was",
        marks=MARKS,
        streamed=True,
    ),
    shown=_shown,
    collected=clips.STYLES,
    script=clips.SCRIPT,
    sent=clips.sent,
    seconds=partial(clips.seconds, pictures=True),
    least_seconds=partial(clips.seconds, pictures=True),
    heds=11,
)
