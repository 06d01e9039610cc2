"""The neutral copy of a clip: FLAC of sound, MP4 of pictures with or without; decoded whole, without tags.

Films are turned upright, with square pixels, as H.264 and, where there is sound, AAC.

Runs in a process of its own (:mod:`spa.clips.worker`): what a stranger made is decoded by libraries in C.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import av
import av.error
import av.filter
from av.codec.context import Flags

from spa.clips.containers import DEMUXERS, MATROSKA, MP4, container_of, is_cut_off
from spa.clips.sound import (
    CUT_OFF,
    LONGEST,
    SILENT,
    SOUNDS,
    ClipCopy,
    ClipError,
    Heard,
    codec_name,
    copied_sound,
    films_in,
    sound_in,
)

PIXELS = 3840 * 2160  # at most, of one picture
PICTURES = {  # codecs by container, of those that browsers play
    MP4: ("h264", "vp9", "libvpx-vp9", "av1", "libdav1d"),
    MATROSKA: ("vp8", "libvpx", "vp9", "libvpx-vp9", "av1", "libdav1d"),
}
X264 = {  # no difference to be seen, any place found soon, and of the same pictures the same bytes
    "preset": "veryfast",
    "crf": "18",
    "bf": "0",
    "g": "60",
    "mbtree": "0",  # what it decides depends on memory that was never written
}
AAC_RATES = range(8_000, 48_001)  # Hz that are kept
AAC_BITS = 192_000  # a second
SEAL = b"\0\0\0\x28free"  # the last box of a copy, before the SHA-256 of what precedes it: no copy of it is made
TURNS = {  # signs of a display matrix -> filters that turn a picture as it says
    (0, 1, -1, 0): (("transpose", "clock"),),
    (0, -1, 1, 0): (("transpose", "cclock"),),
    (0, 1, 1, 0): (("transpose", "cclock_flip"),),
    (0, -1, -1, 0): (("transpose", "clock_flip"),),
    (-1, 0, 0, -1): (("hflip", ""), ("vflip", "")),
    (-1, 0, 0, 1): (("hflip", ""),),
    (1, 0, 0, -1): (("vflip", ""),),
}
SOUNDLESS, HDR = "soundless", "hdr"  # what is said of a film
FULL_RANGE = 2  # of a frame's colours, as FFmpeg numbers it
SRGB = (1, 1, 13)  # matrix (BT.709), primaries and transfer of what was RGB, by ITU-T H.273
HDR_CURVES = (16, 18)  # PQ and HLG, as ITU-T H.273 numbers transfer characteristics
USUAL_RATE = Fraction(25)  # pictures a second of a film of one that says nothing of how long it lasts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Geometry:
    """The first picture of a film: what it takes to show all of them upright, with square pixels."""

    width: int  # as decoded
    height: int
    pixels: str  # format
    filters: tuple[tuple[str, str], ...]
    is_rgb: bool
    is_hdr: bool


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


def copied_film(content: bytes, container: str, opened: Any, again: Any, folder: Path) -> ClipCopy:
    """Return the copy of a film that is opened twice; ``folder`` is for the file while it is written."""
    film, sound = _film(opened, container), sound_in(opened, container)
    geometry = _geometry(again, _film(again, container))
    streams = [film] if sound is None else [film, sound]
    zero = min(Fraction(one.start_time or 0) * one.time_base for one in streams)
    path = folder / "copy.mp4"
    copy = _Copy(path, film, sound, geometry)
    heard = None if sound is None else Heard(sound)
    begin, end = None, 0.0
    try:
        for packet in opened.demux(*streams):
            if packet.is_corrupt:
                raise ClipError(CUT_OFF)
            if packet.stream is film:
                for frame in packet.decode():
                    end = max(end, copy.draw(frame, zero))
            elif heard is not None and sound is not None:
                if begin is None:
                    begin = max(0, round(((packet.pts or 0) * packet.time_base - zero) * sound.rate))
                for frame in heard.frames(packet, begin):
                    copy.sound(frame)
        copy.close()
        if not copy.pictures:
            raise ClipError("which holds no pictures; remove it, or get it again")
        made = content if is_copy(content) else sealed(path.read_bytes())
    finally:
        path.unlink(missing_ok=True)
    if heard is not None and sound is not None and heard.samples:
        end = max(end, (begin or 0) / sound.rate + heard.seconds)
    loud = heard is not None and heard.samples > 0
    marks = (SOUNDLESS,) if not loud else (SILENT,) if heard is not None and heard.peak == 0 else ()
    return ClipCopy(
        content=made,
        suffix=".mp4",
        seconds=end,
        loudness=heard.loudness() if loud and heard is not None else None,
        marks=(*marks, *((HDR,) if geometry.is_hdr else ())),
    )


def sealed(content: bytes) -> bytes:
    """Return an MP4 with the box at its end that says that it is a copy."""
    return content + SEAL + sha256(content).digest()


def is_copy(content: bytes) -> bool:
    """Return whether a file is a copy that was made here, not a byte of which was changed."""
    return content[-40:-32] == SEAL and sha256(content[:-40]).digest() == content[-32:]


def _film(opened: Any, container: str) -> Any:
    films = films_in(opened)
    if not films:
        raise ClipError("which holds no moving pictures; correct its name, or set another kind")
    if len(films) > 1:
        raise ClipError(f"with {len(films)} tracks of pictures; keep one")
    (film,) = films
    if film.codec_context is None or film.codec_context.name not in PICTURES[container]:
        raise ClipError(f"whose pictures are {codec_name(film)}, which not all browsers show; convert it")
    if film.codec_context.width * film.codec_context.height > PIXELS:
        size = f"{film.codec_context.width} x {film.codec_context.height}"
        raise ClipError(f"with pictures of {size} pixels, more than {PIXELS:,}; make it smaller")
    film.codec_context.thread_count = 1
    return film


def _geometry(opened: Any, film: Any) -> _Geometry:
    frame = next(opened.decode(film), None)
    if frame is None:
        raise ClipError("which holds no pictures; remove it, or get it again")
    filters = list(_turned(frame))
    aspect = film.sample_aspect_ratio or Fraction(1)
    width, height = frame.width, frame.height
    if aspect > 1:
        width = round(width * aspect)
    elif 0 < aspect < 1:
        height = round(height / aspect)
    if (width, height) != (frame.width, frame.height):
        filters.insert(0, ("scale", f"{width}:{height}:flags=bicubic"))
    filters += [("crop", "trunc(iw/2)*2:trunc(ih/2)*2:0:0"), ("setsar", "1"), *_limited_range(frame)]
    if min(width, height) < 2 or width * height > PIXELS:
        raise ClipError(f"with pictures of {width} x {height} pixels; expected 2 x 2 to {PIXELS:,} pixels")
    return _Geometry(
        width=frame.width,
        height=frame.height,
        pixels=frame.format.name,
        filters=tuple(filters),
        is_rgb=frame.format.is_rgb,
        is_hdr=int(frame.color_trc) in HDR_CURVES,
    )


def _limited_range(frame: Any) -> Iterator[tuple[str, str]]:
    """Yield the filters that bring a picture to the range of values, and where it was RGB to the matrix, of H.264."""
    if frame.format.is_rgb:
        yield "scale", "out_color_matrix=bt709:out_range=limited"
    elif int(frame.color_range) == FULL_RANGE:
        yield "scale", "in_range=full:out_range=limited"
    yield "format", "yuv420p"


def _turned(frame: Any) -> tuple[tuple[str, str], ...]:
    """Return the filters that turn a picture as its display matrix says."""
    matrix = next((one for one in frame.side_data.keys() if one.type.name == "DISPLAYMATRIX"), None)
    if matrix is None:
        return ()
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(matrix)[:36])
    signs = tuple((one > 1 << 14) - (one < -(1 << 14)) for one in (a, b, c, d))
    return TURNS.get(signs, ())


class _Copy:
    """A film while it is written."""

    def __init__(self, path: Path, film: Any, sound: Any, geometry: _Geometry) -> None:
        self._geometry, self._film = geometry, film
        self._graph = _graph(geometry, film.time_base)
        self._file = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"})
        self._drawn = self._file.add_stream("libx264", rate=film.average_rate or USUAL_RATE, options=X264)
        self._durations: dict[int, int] = {}
        self._last = -1
        self.pictures = 0
        self._heard: Any = None
        if sound is not None:
            rate = sound.rate if sound.rate in AAC_RATES else AAC_RATES.stop - 1
            self._heard = self._file.add_stream("aac", rate=rate, layout=sound.layout.name)
            self._heard.bit_rate = AAC_BITS
        for stream in (self._drawn, self._heard):
            if stream is not None:
                stream.codec_context.flags |= Flags.bitexact
                stream.codec_context.thread_count = 1

    def draw(self, frame: Any, zero: Fraction) -> float:
        """Write a picture; return when it ends (seconds from the beginning of the film)."""
        if (frame.width, frame.height) != (self._geometry.width, self._geometry.height):
            raise ClipError("whose pictures change their size; convert it")
        base = frame.time_base or self._film.time_base
        at = round(((frame.pts or 0) * base - zero) / base)
        at = max(at, self._last + 1)
        self._last, lasts = at, frame.duration or round(1 / (self._film.average_rate or USUAL_RATE) / base)
        end = float((at + lasts) * base)
        if end > LONGEST:
            raise ClipError(f"which is longer than {LONGEST:g} seconds; cut it")
        self._durations[at] = lasts
        frame.pts = at
        self._graph.push(frame)
        shown = self._graph.pull()
        if not self.pictures:
            context = self._drawn.codec_context
            context.width, context.height, context.pix_fmt, context.time_base = (
                shown.width,
                shown.height,
                "yuv420p",
                base,
            )
            context.color_range = shown.color_range
            context.colorspace, context.color_primaries, context.color_trc = (
                SRGB if self._geometry.is_rgb else (shown.colorspace, shown.color_primaries, shown.color_trc)
            )
        self.pictures += 1
        shown.pict_type, shown.time_base = 0, base
        self._write(self._drawn.encode(shown))
        return end

    def sound(self, frame: Any) -> None:
        """Write sound."""
        if self._heard is not None:
            self._file.mux(self._heard.encode(frame))

    def close(self) -> None:
        """Write what is left."""
        if self.pictures:
            self._write(self._drawn.encode(None))
        if self._heard is not None:
            self._file.mux(self._heard.encode(None))
        self._file.close()

    def _write(self, packets: Any) -> None:
        for packet in packets:
            packet.duration = self._durations.pop(packet.pts, packet.duration)
            self._file.mux(packet)


def _graph(geometry: _Geometry, time_base: Fraction) -> Any:
    graph = av.filter.Graph()
    last = graph.add_buffer(width=geometry.width, height=geometry.height, format=geometry.pixels, time_base=time_base)
    for name, values in (*geometry.filters, ("buffersink", "")):
        following = graph.add(name, values or None)
        last.link_to(following)
        last = following
    graph.configure()
    return graph
