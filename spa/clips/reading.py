"""Copies of clips as models take them: WAV, samples, pictures; made here, and so not hostile."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from spa.errors import StudyError, how_to_install

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = 2  # of a sample in a WAV
PICTURES = 4  # a second of a film that is made here


def wav_of(content: bytes) -> bytes:
    """Return sound as WAV with 16 bits a sample, at its own rate and with its own channels."""
    with _opened(content) as clip:
        stream = clip.streams.audio[0]
        samples = _resampled(clip, stream, "s16", stream.layout.name, stream.rate)
        rate, channels = stream.rate, stream.channels
    return wav(samples.tobytes(), rate, channels=channels)


def wav(samples: bytes, rate: int, *, channels: int) -> bytes:
    """Return samples of 16 bits as WAV."""
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(channels)
        written.setsampwidth(BYTES)
        written.setframerate(rate)
        written.writeframes(samples)
    return file.getvalue()


def samples_of(content: bytes, rate: int) -> NDArray[np.float32]:
    """Return sound as samples from -1 to 1 of one channel, shape (n,), at a rate in Hz."""
    with _opened(content) as clip:
        found: NDArray[np.float32] = _resampled(clip, clip.streams.audio[0], "fltp", "mono", rate)[0]
    return found


def pictures_of(content: bytes, per_second: float) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Yield pictures of a film, so many a second from its beginning on: the time in seconds, and height x width x 3."""
    number = 0
    with _opened(content) as clip:
        for frame in clip.decode(clip.streams.video[0]):
            at = float(frame.time or 0.0)
            if at >= number / per_second:
                number += 1
                yield at, frame.to_ndarray(format="rgb24")


def film_of(colour: tuple[int, int, int], *, seconds: int) -> bytes:
    """Return an MP4 of one colour (red, green, blue; 0 to 255), 64 pixels wide and high."""
    import av

    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as film:
        stream = film.add_stream("libx264", rate=PICTURES)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        for number in range(seconds * PICTURES):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), colour, np.uint8), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, PICTURES)
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))
    return file.getvalue()


def _opened(content: bytes) -> Any:
    try:
        import av
    except ImportError as error:
        raise StudyError(f"clips for models need the package av: {how_to_install('media')}") from error
    return av.open(io.BytesIO(content))


def _resampled(clip: Any, stream: Any, form: str, layout: str, rate: int) -> NDArray[Any]:
    import av

    resampler = av.AudioResampler(format=form, layout=layout, rate=rate)
    parts = [part.to_ndarray() for frame in clip.decode(stream) for part in resampler.resample(frame)]
    parts += [part.to_ndarray() for part in resampler.resample(None)]
    return np.concatenate(parts, axis=1)
