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


def film(seconds: float, *, loud: float = 0.25) -> bytes:
    """Return a film of ten pictures a second with a tone."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as made:
        pictures = made.add_stream("libx264", rate=10, options={"preset": "ultrafast"})
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        sound = made.add_stream("aac", rate=RATE)
        for number in range(round(10 * seconds)):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 20 * number % 256, np.uint8), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            made.mux(pictures.encode(frame))
        made.mux(pictures.encode(None))
        samples = tone(440, seconds=seconds, loud=loud).astype(np.float32).reshape(1, -1)
        heard = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
        heard.sample_rate, heard.pts, heard.time_base = RATE, 0, Fraction(1, RATE)
        made.mux(sound.encode(heard))
        made.mux(sound.encode(None))
    return file.getvalue()
