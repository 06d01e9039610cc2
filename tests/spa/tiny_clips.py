"""Clips of less than a second, made here: tones in WAV, grey films in MP4."""

from __future__ import annotations

import io
import tempfile
import wave
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import numpy as np

from spa.clips import Clip
from spa.clips.neutral_clip import neutral_clip

RATE = 16_000  # Hz
SECONDS = 0.3  # too short for a measure of loudness, which loads scipy.signal


def tone(hertz: float, *, seconds: float = SECONDS, rate: int = RATE, loud: float = 0.25) -> np.ndarray:
    """Return the samples of a tone, shape (n,), from -1 to 1."""
    return loud * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def wav(samples: np.ndarray, rate: int = RATE) -> bytes:
    """Return samples of shape (n,) or (n, channels) as WAV of 16 bits."""
    shaped = samples if samples.ndim == 2 else samples[:, None]
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


def encoded(
    samples: np.ndarray, form: str, codec: str, *, rate: int = RATE, options: dict[str, str] | None = None, **tags: str
) -> bytes:
    """Return samples of one channel in a container of FFmpeg and a codec."""
    file = io.BytesIO()
    with av.open(file, "w", format=form, container_options=options or {}) as clip:
        clip.metadata.update(tags)
        stream = clip.add_stream(codec, rate=rate, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples.astype(np.float32)[None], format="fltp", layout="mono")
        frame.rate, frame.pts = rate, 0
        clip.mux(stream.encode(frame))
        clip.mux(stream.encode(None))
    return file.getvalue()


def halved_film(
    codec: str = "libx264",
    form: str = "mp4",
    *,
    pixels: str = "yuv420p",
    turned: int = 0,
    aspect: Fraction | None = None,
) -> bytes:
    """Return a film of 32 x 24 pixels whose left half is black and whose right half is white."""
    file = io.BytesIO()
    picture = np.zeros((24, 32, 3), np.uint8)
    picture[:, 16:] = 255
    with av.open(file, "w", format=form) as made:
        stream = made.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 24, pixels
        if aspect is not None:
            stream.codec_context.sample_aspect_ratio = aspect
        if turned:
            stream.set_display_rotation(turned)
        for number in range(5):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            made.mux(stream.encode(frame))
        made.mux(stream.encode(None))
    return file.getvalue()


@cache
def copied_here(content: bytes, *, pictures: bool) -> Clip:
    """Return what :func:`spa.clips.copied_clip` does, without a process of its own and once for each content."""
    with tempfile.TemporaryDirectory() as folder:
        copy = neutral_clip(content, Path(folder), pictures=pictures)
    return Clip(copy.content, copy.suffix, copy.seconds, copy.loudness, copy.marks)


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
