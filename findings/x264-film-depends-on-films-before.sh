#!/usr/bin/env bash
# PyAV 18.1.0 (x264): what a film's encoding is depends on which films the process encoded before, with one thread too.
#
# Guess: an encoder with one thread and `fflags=+bitexact` is a function of pictures and options (x264 has an option,
# `non-deterministic`, for what is not); so a clip made again by the same script is the same clip, which its hash shows.
# Seen: the same ten pictures of 176 x 144 pixels, encoded again and again between other films, come out as several
# films, by their bytes and by their decoded pictures. With `mbtree=0` (no macroblock tree, which looks ahead at which
# blocks later pictures use) it is one film; so it is with x264's portable code (`asm=0`). A hash of a stimulus that x264
# made names that file, and making it again proves nothing.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet av==18.1.0 numpy==2.4.6
"$place/env/bin/python" - <<'PYTHON'
import io
from collections import Counter
from fractions import Fraction
from hashlib import sha256

import av
import numpy as np

ROUNDS = 120


def pictures(seed, columns=22, rows=18):
    """Return ten pictures in which squares of eight pixels move to the right."""
    squares = np.random.default_rng(seed).integers(0, 255, (rows, columns, 3))
    first = np.kron(squares, np.ones((8, 8, 1))).astype(np.uint8)
    return [np.ascontiguousarray(np.roll(first, 3 * number, axis=1)) for number in range(10)]


def encoded(shown, options):
    """Return a film."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4", options={"fflags": "+bitexact"}) as film:
        stream = film.add_stream("libx264", rate=10, options=options)
        stream.height, stream.width, _ = shown[0].shape
        stream.pix_fmt, stream.codec_context.thread_count = "yuv420p", 1
        for number, picture in enumerate(shown):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))
    return file.getvalue()


def decoded(film):
    """Return a hash of all pictures of a film."""
    with av.open(io.BytesIO(film)) as opened:
        return sha256(b"".join(bytes(frame.to_ndarray()) for frame in opened.decode(video=0))).digest()


def seen(options):
    """Return how many encodings gave the same bytes, most first, and how many films a decoder sees."""
    sizes = np.random.default_rng(3)
    others = [pictures(seed, *sizes.integers(4, 30, 2)) for seed in range(2, 14)]
    films = Counter()
    for number in range(ROUNDS):
        encoded(others[number % len(others)], options)
        films[encoded(pictures(1), options)] += 1
    return sorted(films.values(), reverse=True), len({decoded(film) for film in films})


print("av", av.__version__, "libavcodec", av.library_versions["libavcodec"])
usual, without, portable = seen({}), seen({"mbtree": "0"}), seen({"x264-params": "asm=0"})
print("as usual:", usual)
print("mbtree=0:", without)
print("asm=0:   ", portable)
assert len(usual[0]) > 1 and usual[1] > 1, "one film now"
assert without == portable == ([ROUNDS], 1), "these differ now"
PYTHON
