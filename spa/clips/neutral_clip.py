"""The neutral copy of a clip: FLAC of sound, MP4 of pictures with or without; decoded whole, without tags.

Runs in a process of its own (:mod:`spa.clips.worker`): what a stranger made is decoded by libraries in C.
"""

from __future__ import annotations

import io
from pathlib import Path

import av
import av.error

from spa.clips.containers import DEMUXERS, container_of, is_cut_off
from spa.clips.film import PICTURES, copied_film
from spa.clips.sound import CUT_OFF, SOUNDS, ClipCopy, ClipError, copied_sound


def neutral_clip(content: bytes, folder: Path, *, pictures: bool) -> ClipCopy:
    """Decode a clip whole and return its neutral copy; ``folder`` is for files that are being written.

    Raise ClipError if it is broken, cut off, too long, or of a codec that browsers do not play.
    """
    container = container_of(content[:16])
    if container is None or container not in (PICTURES if pictures else SOUNDS):
        raise ClipError("which is none; convert it")
    if is_cut_off(content, container):
        raise ClipError(CUT_OFF)
    given = {"format": DEMUXERS[container], "metadata_errors": "ignore"}
    try:
        with av.open(io.BytesIO(content), **given) as opened:
            if not pictures:
                return copied_sound(content, container, opened)
            with av.open(io.BytesIO(content), **given) as again:
                return copied_film(content, container, opened, again, folder)
    except av.error.FFmpegError as error:
        why = " ".join((error.strerror or str(error)).split())[:100]
        raise ClipError(f"which is cut off or broken ({why}); get it again") from error
