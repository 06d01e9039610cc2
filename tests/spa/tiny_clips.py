"""Clips of half a second, made here: tones in WAV, grey films in MP4."""

from __future__ import annotations

import io
import wave
from fractions import Fraction
from functools import cache

import av
import numpy as np

RATE = 16_000  # Hz
SECONDS = 0.5


def tone(hertz: float, *, seconds: float = SECONDS, rate: int = RATE, loud: float = 0.25) -> np.ndarray:
    """Return the samples of a tone, shape (n,), from -1 to 1."""
    return loud * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def wav(samples: np.ndarray, rate: int = RATE) -> bytes:
    """Return samples of shape (n,) or (n, channels) as WAV of 16 bits."""
    shaped = samples.reshape(len(samples), -1)
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(shaped.shape[1])
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes((shaped * 32767).round().astype("<i2").tobytes())
    return file.getvalue()


def tiny_sound(item: int, system: int) -> bytes:
    """Return a tone whose pitch says which item and system it is."""
    return wav(tone(300 + 50 * item + 10 * system))


@cache
def tiny_film(item: int, system: int) -> bytes:
    """Return a grey film of five pictures whose brightness says which item and system it is."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as film:
        stream = film.add_stream("libx264", rate=10, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 32, 24, "yuv420p"
        for number in range(5):
            picture = np.full((24, 32, 3), (10 + 25 * item + 60 * system + number) % 256, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))
    return file.getvalue()
