"""Make the clips of the examples ``speech`` and ``mushra``: ``python -m tests.example_clips``.

Speech is that of espeak-ng, music and noise are computed; all of it is Opus in Ogg, mono. Other releases of espeak-ng
and FFmpeg write other bytes, so a change of the clips is a change of the examples.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import wave
from collections.abc import Iterator, Mapping
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from scipy.signal import butter, firwin, resample_poly, sosfilt

EXAMPLES = Path(__file__).resolve().parents[1] / "spa" / "examples"
RATE = 48_000  # Hz
SPOKEN = 22_050  # that of espeak-ng
LOUD = 0.1  # root mean square of every clip, of full scale
Sound = npt.NDArray[np.float64]

SENTENCES = {
    "boat": "The small boat left the harbour before the morning fog was gone.",
    "bread": "She bought warm bread and a jar of honey at the corner.",
    "clock": "The old clock on the tower has been wrong since last winter.",
    "garden": "Two children dug a pond in the garden behind the school.",
    "letter": "Her letter arrived a week after the train had left.",
    "soup": "Add a little salt to the soup and let it rest.",
}
TRAP = "This is an interruption. To show that you are listening, please choose the answer: Poor."
DIGITS = "Four. Nine. Two."


def spoken(text: str, *, speed: int = 165) -> Sound:
    """Return a text as espeak-ng says it, at ``RATE``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "said.wav")
        subprocess.run(["espeak-ng", "-v", "en-us", "-s", str(speed), "-w", str(path), text], check=True)
        with wave.open(str(path)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    return resample_poly(samples / 32768, RATE, SPOKEN)


def low_passed(sound: Sound, cutoff: float) -> Sound:
    """Return a sound without what lies above a frequency, as the anchors of ITU-R BS.1534-3 are."""
    return np.convolve(sound, firwin(511, cutoff, fs=RATE), mode="same")


def telephone(sound: Sound) -> Sound:
    """Return a sound as a telephone of old carries it, 300 to 3,400 Hz."""
    return sosfilt(butter(6, (300, 3400), "bandpass", fs=RATE, output="sos"), sound)


def with_noise(sound: Sound, decibels: float, rng: np.random.Generator) -> Sound:
    """Add white noise that lies so many decibels below the sound."""
    level = np.sqrt(np.mean(sound**2)) * 10 ** (-decibels / 20)
    return sound + level * rng.standard_normal(len(sound))


def coarse(sound: Sound, steps: int) -> Sound:
    """Return a sound with so few steps between silence and its loudest sample."""
    top = np.max(np.abs(sound))
    return np.round(sound / top * steps) / steps * top


def echoing(sound: Sound) -> Sound:
    """Return a sound with an echo of a fifth of a second, at a third."""
    later = int(0.2 * RATE)
    return sound + np.concatenate([np.zeros(later), sound[:-later]]) / 3


PIECES = {  # what each is made of, and its tones in Hz
    "bells": ("bell", (523.25, 659.25, 783.99, 1046.5)),
    "chimes": ("bell", (880.0, 987.77, 1174.66, 1318.51)),
    "brushes": ("brush", (110.0, 130.81, 98.0, 146.83)),
    "shaker": ("brush", (440.0, 440.0, 523.25, 440.0)),
    "strings": ("string", (196.0, 246.94, 293.66, 392.0)),
    "plucks": ("string", (329.63, 440.0, 392.0, 523.25)),
}


def music(name: str, rng: np.random.Generator, seconds: float = 1.2) -> Sound:
    """Return a bar of a piece, whose energy reaches far above 7 kHz."""
    kind, tones = PIECES[name]
    time = np.arange(int(seconds * RATE)) / RATE
    sound = np.zeros(len(time))
    for beat, pitch in enumerate(tones):
        since = time - beat * seconds / len(tones)
        gone = np.where(since >= 0, np.exp(-np.clip(since, 0, None) * (6 if kind == "bell" else 14)), 0.0)
        if kind == "bell":
            partials = ((1, 1.0), (2.76, 0.8), (5.4, 0.7), (8.93, 0.6), (13.34, 0.5))
            sound += gone * sum(size * np.sin(2 * np.pi * pitch * ratio * since) for ratio, size in partials)
        elif kind == "brush":
            sound += gone * rng.standard_normal(len(time)) + 0.3 * gone * np.sin(2 * np.pi * pitch * since)
        else:
            harmonics = range(1, int(16_000 / pitch))
            sound += gone * sum(np.sin(2 * np.pi * pitch * n * since) / n**0.5 for n in harmonics)
    return sound


def faded(sound: Sound) -> Sound:
    """Return a sound as loud as the others, without clicks at its ends."""
    edge = np.minimum(1, np.minimum(np.arange(len(sound)), np.arange(len(sound))[::-1]) / (0.01 * RATE))
    loud = sound * edge * LOUD / np.sqrt(np.mean(sound**2))
    return np.clip(loud, -0.999, 0.999)


def write(path: Path, sound: Sound, *, bits: int) -> None:
    """Write a clip of so many bits a second."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="ogg") as file:
        stream = file.add_stream("libopus", rate=RATE, layout="mono", options={"application": "audio"})
        stream.bit_rate = bits
        frame = av.AudioFrame.from_ndarray(faded(sound).astype(np.float32)[None, :], format="flt", layout="mono")
        frame.sample_rate = RATE
        for packet in (*stream.encode(frame), *stream.encode(None)):
            file.mux(packet)


def speech(folder: Path) -> Iterator[Mapping[str, str]]:
    """Write the clips of ``speech``; yield the rows of its outputs."""
    rng = np.random.default_rng(1)
    for item, sentence in SENTENCES.items():
        clean = spoken(sentence)
        made = {"studio": clean, "telephone": telephone(clean), "radio": with_noise(clean, 12, rng)}
        for number, (system, sound) in enumerate(made.items(), start=1):
            clip = f"clips/{item}{number}.ogg"
            write(folder / clip, sound, bits=12_000)
            yield {"sentence": item, "system": system, "clip": clip}
    gold = spoken("The train to the coast is late again today.")
    write(folder / "clips" / "one.ogg", with_noise(coarse(telephone(gold), 3), -3, rng), bits=16_000)
    write(folder / "clips" / "two.ogg", gold, bits=16_000)
    write(folder / "clips" / "three.ogg", np.concatenate([spoken(SENTENCES["boat"])[:RATE], spoken(TRAP)]), bits=16_000)
    write(folder / "clips" / "four.ogg", with_noise(spoken(DIGITS, speed=130), 3, rng), bits=16_000)


def mushra(folder: Path) -> Iterator[Mapping[str, str]]:
    """Write the clips of ``mushra``; yield the rows of its outputs."""
    for item in PIECES:
        original = music(item, np.random.default_rng(2))
        made = {
            "original": original,
            "anchor35": low_passed(original, 3500),
            "anchor70": low_passed(original, 7000),
            "coarse": coarse(original, 24),
            "echo": echoing(original),
        }
        for number, (system, sound) in enumerate(made.items(), start=1):
            clip = f"clips/{item}{number}.ogg"
            write(folder / clip, sound, bits=22_000)
            yield {"piece": item, "system": system, "clip": clip}


def main() -> None:
    """Write both examples' clips and tables of outputs."""
    for name, make in (("speech", speech), ("mushra", mushra)):
        rows = list(make(EXAMPLES / name))
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (EXAMPLES / name / "outputs.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
