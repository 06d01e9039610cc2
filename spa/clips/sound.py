"""The sound of clips: decoded whole, counted, measured, and kept without loss as FLAC."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import numpy as np
from av.codec.context import Flags
from av.stream import Disposition

from spa.clips.containers import FLAC, MATROSKA, MP3, MP4, OGG, WAV

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 600.0  # seconds of one clip
RATES = range(8_000, 192_001)  # Hz that are kept, as browsers play them
OTHER_RATE = 48_000  # Hz that faster sound is brought to
METER_RATE = 48_000  # Hz, at most, of what loudness is measured of
LEAST_METERED = 0.4  # seconds: one block of ITU-R BS.1770
SOUNDS = {  # codecs by container, of those that browsers play
    WAV: ("pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_alaw", "pcm_mulaw"),
    FLAC: ("flac",),
    MP3: ("mp3", "mp3float"),
    OGG: ("opus", "libopus", "vorbis", "flac"),
    MP4: ("aac", "opus", "libopus", "flac", "mp3", "mp3float"),
    MATROSKA: ("opus", "libopus", "vorbis"),
}
DEEP = frozenset(("pcm_s24le", "pcm_s32le", "pcm_f32le", "s32", "s32p"))  # more than 16 bits a sample
SILENT, CLIPPED = "silent", "clipped"  # what is said of sound
CUT_OFF = "whose end is missing; get it again"
NO_SOUND = "which holds no sound; remove it, or get it again"


class ClipError(ValueError):
    """A clip cannot be shown: what is wrong with it, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipCopy:
    """A neutral copy of a clip.

    Parameters
    ----------
    content : bytes
        Empty where the clip was measured alone.
    suffix : str
        ".flac" or ".mp4".
    seconds : float
        How long the decoded samples and pictures last.
    loudness : float, optional
        Integrated loudness in LUFS, one channel counted as two equal ones; ``None`` of silence and of what is short.
    marks : tuple of str
        Names of what may be wrong with how it is shown.
    """

    content: bytes
    suffix: str
    seconds: float
    loudness: float | None
    marks: tuple[str, ...]


def copied_sound(content: bytes, container: str, opened: Any) -> ClipCopy:
    """Return the copy of a file of sound alone: FLAC with 24 bits where it has more than 16, else with 16."""
    if films_in(opened):
        raise ClipError("which holds moving pictures, too; take them out, or set the kind of films")
    stream = sound_in(opened, container)
    if stream is None:
        raise ClipError(NO_SOUND)
    heard, made = Heard(stream), io.BytesIO()
    rate = stream.rate if stream.rate in RATES else min(max(stream.rate, RATES.start), OTHER_RATE)
    with av.open(made, "w", format="flac", options={"fflags": "+bitexact"}) as copy:
        written = copy.add_stream("flac", rate=rate, layout=stream.layout.name)
        written.codec_context.format = "s32" if {stream.codec_context.name, stream.format.name} & DEEP else "s16"
        written.codec_context.flags |= Flags.bitexact
        for packet in opened.demux(stream):
            for frame in heard.frames(packet):
                copy.mux(written.encode(frame))
        copy.mux(written.encode(None))
    if not heard.samples:
        raise ClipError(NO_SOUND)
    said = int.from_bytes(content[21:26]) & 0xF_FFFF_FFFF  # samples in FLAC's own header
    if container == FLAC and said and said != heard.samples:
        raise ClipError(CUT_OFF)
    clipped = (CLIPPED,) if stream.codec_context.name == "pcm_f32le" and heard.peak > 1 else ()
    return ClipCopy(
        content=made.getvalue(),
        suffix=".flac",
        seconds=heard.seconds,
        loudness=heard.loudness(),
        marks=(*((SILENT,) if heard.peak == 0 else ()), *clipped),
    )


def films_in(opened: Any) -> list[Any]:
    """Return the streams of moving pictures, without covers."""
    return [one for one in opened.streams.video if not one.disposition & Disposition.attached_pic]


def sound_in(opened: Any, container: str) -> Any | None:
    """Return the one stream of sound of a file; ``None`` where there is none. Raise ClipError if it is not played."""
    streams = opened.streams.audio
    if len(streams) > 1:
        raise ClipError(f"with {len(streams)} tracks of sound; keep one")
    if not streams:
        return None
    (stream,) = streams
    if stream.codec_context is None or stream.codec_context.name not in SOUNDS[container]:
        raise ClipError(f"whose sound is {codec_name(stream)}, which not all browsers play; convert it")
    if stream.channels not in (1, 2):
        raise ClipError(f"with {stream.channels} channels of sound; mix them down to two")
    return stream


def codec_name(stream: Any) -> str:
    """Return what people call the codec of a stream."""
    if stream.codec_context is None:
        return "of an unknown kind"
    return f"{stream.codec_context.codec.long_name} ({stream.codec_context.name})"


class Heard:
    """What is decoded of a stream of sound: how many samples, how loud."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._rate = stream, stream.rate
        self._meter = av.AudioResampler(format="fltp", layout=stream.layout, rate=min(stream.rate, METER_RATE))
        self._parts: list[NDArray[np.float32]] = []
        self.peak = 0.0
        self.samples = 0

    @property
    def seconds(self) -> float:
        """How long the samples last."""
        return self.samples / self._rate if self.samples else 0.0

    def frames(self, packet: Any, begin: int = 0) -> Iterator[Any]:
        """Yield the frames of a packet, one timed right after the other from a sample on."""
        if packet.is_corrupt and packet.stream.container.format.name != WAV:  # one that was streamed is, at its end
            raise ClipError(CUT_OFF)
        for frame in packet.decode():
            if frame.sample_rate != self._rate or len(frame.layout.channels) != self._stream.channels:
                raise ClipError("whose sample rate or channels change on the way; convert it")
            frame.pts, frame.time_base = begin + self.samples, Fraction(1, self._rate)
            self.samples += frame.samples
            if self.seconds > LONGEST:
                raise ClipError(f"which is longer than {LONGEST:g} seconds; cut it")
            for part in self._meter.resample(frame):
                self._parts.append(part.to_ndarray())
                self.peak = max(self.peak, float(np.abs(self._parts[-1]).max(initial=0.0)))
            yield frame

    def loudness(self) -> float | None:
        """Return the integrated loudness (LUFS, ITU-R BS.1770), one channel counted as two equal ones."""
        rate = min(self._rate, METER_RATE)
        if self.seconds < LEAST_METERED or self.peak == 0:
            return None
        import pyloudnorm

        samples = np.concatenate(self._parts, axis=1)[[0, -1]].T.astype(np.float64)
        if len(samples) < LEAST_METERED * rate:
            return None
        found = float(pyloudnorm.Meter(rate).integrated_loudness(samples))
        return round(found, 2) if np.isfinite(found) else None
