"""Captions of clips: a WebVTT file beside the clip, of which people are shown the times and words alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from spa.media.medium import MediumFiles, NeutralCopy

SUFFIX = ".vtt"
MEDIA_TYPE = "text/vtt; charset=utf-8"
LARGEST = 1_000_000  # bytes
_TIME = r"(?:\d{2,4}:)?[0-5]\d:[0-5]\d\.\d{3}"
_TIMES = re.compile(rf"({_TIME})[ \t]+-->[ \t]+({_TIME})(?:[ \t].*)?", re.ASCII)
_TAG = re.compile(r"<[^>]*>?")


def captions_of(clip: Path) -> Path | None:
    """Return the file of a clip's captions: of the same name, but for its suffix; ``None`` where there is none."""
    file = clip.with_suffix(SUFFIX)
    return file if file.is_file() else None


def neutral_captions(content: bytes) -> NeutralCopy:
    r"""Return captions without what names their maker: comments, styles, names of cues and of voices, places.

    Raise ValueError with what is wrong and what to do.

    >>> neutral_captions(b"WEBVTT made by X\n\nNOTE X\n\n1\n00:01.000 --> 00:02.500 line:0\n<v X>Hello.").content
    b'WEBVTT\n\n00:01.000 --> 00:02.500\nHello.\n'
    """
    if len(content) > LARGEST:
        raise ValueError(f"which has more than {LARGEST:,} bytes; shorten it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("which is not UTF-8; convert it") from None
    first, *blocks = re.split(r"\n{2,}", text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").strip())
    if not re.match(r"WEBVTT(?:[ \t\n]|$)", first):
        raise ValueError("which does not begin with WEBVTT; convert it")
    cues = [cue for block in blocks if (cue := _cue(block)) is not None]
    if not cues:
        raise ValueError("which holds no captions; remove it, or write some")
    return NeutralCopy(content="\n\n".join(["WEBVTT", *cues]).encode() + b"\n", suffix=SUFFIX)


def _cue(block: str) -> str | None:
    """Return a cue with its times and words; ``None`` of a comment, a style or a region."""
    lines = block.strip("\n").split("\n")
    times = next((number for number, line in enumerate(lines[:2]) if "-->" in line), None)
    if times is None:
        if re.match(r"(?:NOTE|STYLE|REGION)(?:[ \t]|$)", lines[0]):
            return None
        raise ValueError(f"whose part {lines[0][:40]!r} has no times; correct it")
    found = _TIMES.fullmatch(lines[times].strip())
    if found is None:
        raise ValueError(f"whose times {lines[times].strip()[:60]!r} are none; write 00:01.000 --> 00:02.500")
    words = [_TAG.sub("", line).strip() for line in lines[times + 1 :]]
    return "\n".join([f"{found[1]} --> {found[2]}", *(line for line in words if line)])


def _fits(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(9).removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT")


def _on_dashboard(container: Any, path: Path) -> object:
    return container.code(path.read_text(encoding="utf-8"))


CAPTIONS = MediumFiles(
    formats="WebVTT",
    fits=_fits,
    media_type=lambda path: MEDIA_TYPE,
    on_dashboard=_on_dashboard,
    neutral=neutral_captions,
)
