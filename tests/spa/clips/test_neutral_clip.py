"""Neutral copies of clips: whole, of known length and loudness, without tags; what cannot be shown is one line."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from spa import clips
from spa.clips import copied_clip, worker
from spa.clips.neutral_clip import neutral_clip
from spa.clips.sound import ClipCopy, ClipError
from tests.spa.tiny_clips import RATE, encoded, halved_film, tiny_film, tiny_sound, tone, wav

NOISE = np.random.default_rng(5).standard_normal(RATE // 2) * 0.1
SOUNDS = {
    "wav": ("wav", "pcm_s16le"),
    "flac": ("flac", "flac"),
    "mp3": ("mp3", "libmp3lame"),
    "ogg": ("ogg", "libopus"),
    "m4a": ("mp4", "aac"),
}
REFUSED = {  # what browsers do not play alike
    "ALAC": ("mp4", "alac"),
    "64-bit": ("wav", "pcm_f64le"),
    "ADPCM": ("wav", "adpcm_ima_wav"),
    "AIFF": ("aiff", "pcm_s16be"),
}


def copied(content: bytes, folder: Path, *, pictures: bool = False) -> ClipCopy:
    return neutral_clip(content, folder, pictures=pictures)


@pytest.mark.parametrize("name", SOUNDS)
def test_sound_is_copied_whole(name: str, tmp_path: Path) -> None:
    """Its copy lasts as long, bears no tag, is its own copy, and half a file is none."""
    form, codec = SOUNDS[name]
    content = encoded(NOISE, form, codec, rate=RATE if codec != "libopus" else 48_000, title="zzsystem")
    copy = copied(content, tmp_path)
    seconds = len(NOISE) / (48_000 if codec == "libopus" else RATE)
    assert seconds <= copy.seconds < seconds + 0.1
    assert copy.suffix == ".flac"
    assert b"zzsystem" not in copy.content
    assert copied(copy.content, tmp_path) == copy
    with pytest.raises(ClipError, match=r"end is missing|cut off"):
        copied(content[: len(content) // 2], tmp_path)


def test_samples_are_kept_to_the_bit(tmp_path: Path) -> None:
    """A copy of 16 bits is without loss, at its own rate and with its own channels."""
    samples = np.stack([NOISE, -NOISE], axis=1)
    copy = copied(wav(samples, 22_050), tmp_path)
    with av.open(io.BytesIO(copy.content)) as clip:
        heard = np.concatenate([frame.to_ndarray() for frame in clip.decode(audio=0)], axis=1)
        assert clip.streams.audio[0].rate == 22_050
    assert heard.reshape(-1, 2).tolist() == (samples * 32767).round().astype(int).tolist()


def test_length_is_of_samples_not_of_headers(tmp_path: Path) -> None:
    """A streamed WAV says 13 hours, and an MP3 of variable rate without its table what its first frames do."""
    content = bytearray(wav(NOISE))
    content[4:8] = content[40:44] = b"\xff" * 4
    assert copied(bytes(content), tmp_path).seconds == len(NOISE) / RATE
    loud_last = np.concatenate([np.zeros(2 * RATE), np.tile(NOISE, 2)])
    mp3 = encoded(loud_last, "mp3", "libmp3lame", options={"write_xing": "0"})
    assert copied(mp3, tmp_path).seconds == pytest.approx(3.0, abs=0.15)


@pytest.mark.parametrize("name", REFUSED)
def test_sound_that_browsers_do_not_play_is_refused(name: str, tmp_path: Path) -> None:
    form, codec = REFUSED[name]
    with pytest.raises(ClipError, match="convert it"):
        copied(encoded(NOISE, form, codec), tmp_path)


@pytest.mark.parametrize(("codec", "form"), [("libx265", "mp4"), ("mpeg4", "mp4"), ("prores", "mov")])
def test_films_that_browsers_do_not_show_are_refused(codec: str, form: str, tmp_path: Path) -> None:
    """H.265 plays to its end in some browsers, and nothing is seen."""
    content = halved_film(codec, form, pixels="yuv422p10le" if codec == "prores" else "yuv420p")
    with pytest.raises(ClipError, match="not all browsers show; convert it"):
        copied(content, tmp_path, pictures=True)


@pytest.mark.parametrize(("codec", "form"), [("libx264", "mp4"), ("libvpx", "webm"), ("libvpx-vp9", "webm")])
def test_films_are_copied_whole(codec: str, form: str, tmp_path: Path) -> None:
    """The copy lasts as long, is its own copy, the same bytes each time, and half a file is none."""
    content = halved_film(codec, form)
    copy = copied(content, tmp_path, pictures=True)
    assert (copy.seconds, copy.suffix, copy.marks) == (0.5, ".mp4", ("soundless",))
    again = copied(copy.content, tmp_path, pictures=True)
    assert again == copy == copied(content, tmp_path, pictures=True)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ClipError, match=r"end is missing|cut off"):
        copied(content[: len(content) // 2], tmp_path, pictures=True)


def test_copies_of_a_film_are_the_same_bytes(tmp_path: Path) -> None:
    """Those of one in six were others, while the encoder looked ahead through memory that was never written."""
    file = io.BytesIO()
    squares = np.kron(np.random.default_rng(1).integers(0, 255, (7, 9, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    with av.open(file, "w", format="webm") as made:
        stream = made.add_stream("libvpx", rate=10)
        stream.width, stream.height = 72, 56
        for number in range(10):
            frame = av.VideoFrame.from_ndarray(np.roll(squares, 3 * number, axis=1), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            made.mux(stream.encode(frame))
        made.mux(stream.encode(None))
    assert len({copied(file.getvalue(), tmp_path, pictures=True).content for _ in range(60)}) == 1


@pytest.mark.parametrize(
    ("turned", "aspect", "size", "white"),
    [
        (0, None, (32, 24), (0, -1)),
        (0, Fraction(2), (64, 24), (0, -1)),
        (-90, None, (24, 32), (-1, 0)),  # clockwise: what was right is below
        (90, None, (24, 32), (0, 0)),
        (180, None, (32, 24), (0, 0)),
    ],
)
def test_films_are_turned_upright_with_square_pixels(
    turned: int, aspect: Fraction | None, size: tuple[int, int], white: tuple[int, int], tmp_path: Path
) -> None:
    """As browsers do, and libraries that models are shown films by do not."""
    copy = copied(halved_film(turned=turned, aspect=aspect), tmp_path, pictures=True)
    with av.open(io.BytesIO(copy.content)) as made:
        picture = next(made.decode(video=0)).to_ndarray(format="gray")
    assert picture.shape == size[::-1]
    assert picture[white] > 200
    assert picture.min() < 50


def test_loudness_is_that_of_bs_1770(tmp_path: Path) -> None:
    """997 Hz at full scale in one channel have -3.01 LKFS (BS.1770-4); one channel counts as two equal ones."""
    samples = tone(997, seconds=1.0, rate=48_000, loud=0.1)
    found = [
        copied(wav(one, 48_000), tmp_path).loudness
        for one in (np.stack([samples, 0 * samples], axis=1), np.stack([samples, samples], axis=1), samples)
    ]
    assert found == pytest.approx([-23.01, -20.0, -20.0], abs=0.05)
    assert copied(wav(samples[:9600], 48_000), tmp_path).loudness is None


def test_silence_and_nothing_are_named(tmp_path: Path) -> None:
    """A silent clip is marked, an empty one refused."""
    assert copied(wav(np.zeros(RATE)), tmp_path).marks == ("silent",)
    with pytest.raises(ClipError, match="holds no sound"):
        copied(wav(np.zeros(0)), tmp_path)
    for content, pictures in ((tiny_film(0, 0), False), (tiny_sound(0, 0), True)):
        with pytest.raises(ClipError, match=r"moving pictures|which is none"):
            copied(content, tmp_path, pictures=pictures)


def test_hostile_files_are_one_line_or_a_clip() -> None:
    """Whatever stands in a file, what decodes it ends, and this process goes on."""
    rng = np.random.default_rng(3)
    for number in range(12):
        pictures = bool(number % 2)
        content = bytearray(tiny_film(1, 1) if pictures else encoded(NOISE, "mp3", "libmp3lame"))
        for place in rng.integers(0, len(content), 1 + number):
            content[place] = rng.integers(0, 256)
        try:
            said = copied_clip(bytes(content), pictures=pictures).suffix
        except ValueError as error:
            said = str(error)
        assert 0 < len(said) < 300
        assert "\n" not in said


def test_processes_that_ended_are_replaced() -> None:
    """However many were idle for too long, a new one makes the next copy."""
    idle = [clips._Worker() for _ in range(3)]
    for one in idle:
        one._process.kill()
        one._process.wait()
        clips._WORKERS.give_back(one)
    assert copied_clip(tiny_sound(0, 0), pictures=False).suffix == ".flac"


def test_memory_and_time_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clip that takes more than it may is refused; the process lives on."""
    monkeypatch.setattr(worker, "MEMORY", 0)
    monkeypatch.setattr(worker, "TIMES", 0)
    assert worker._limited(wav(np.tile(NOISE, 400)), tmp_path, False) == ({"error": worker.KILLED}, b"")
