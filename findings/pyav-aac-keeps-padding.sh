#!/usr/bin/env bash
# PyAV 18.1.0: three seconds of sound written and read again are three seconds as MP3 and Opus, and longer as AAC.
#
# Guess: a decoder drops the samples that the encoder put before and behind a sound, since the file says how many they
# are; then the decoded samples give the length of any clip, whatever its header says. Seen: so it is with MP3 and Opus,
# to the sample (the header of Opus says 3.0065 s). The same tone as AAC in MP4 is 1,844 samples longer when decoded
# (3.0418 s), and its header says a third length, 3.0232 s. Clips of one text compared by length differ by their codec.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet av==18.1.0 numpy==2.4.6
"$place/env/bin/python" - <<'PYTHON'
import io

import av
import numpy as np

SECONDS = 3


def written(form, codec, rate):
    """Return a file with a tone."""
    file, wave = io.BytesIO(), np.sin(np.arange(SECONDS * rate) * 2 * np.pi * 440 / rate, dtype=np.float64)
    with av.open(file, "w", format=form) as target:
        stream = target.add_stream(codec, rate=rate, layout="mono")
        tone = av.AudioFrame.from_ndarray((0.3 * wave[None]).astype(np.float32), format="fltp", layout="mono")
        tone.sample_rate, tone.pts = rate, 0
        context, waiting = stream.codec_context, av.AudioFifo()
        for frame in av.AudioResampler(format=context.format, layout="mono", rate=rate).resample(tone):
            waiting.write(frame)
        while (frame := waiting.read(context.frame_size, partial=True)) is not None:
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    file.seek(0)
    return file


print("PyAV", av.__version__)
more = {}
for form, codec, rate in (("mp3", "libmp3lame", 44_100), ("ogg", "libopus", 48_000), ("mp4", "aac", 44_100)):
    with av.open(written(form, codec, rate)) as source:
        header = source.duration / av.time_base
        samples = sum(frame.samples for frame in source.decode(audio=0))
    more[codec] = samples - SECONDS * rate
    print(f"{codec} in {form}: header {header:.4f} s, decoded {samples / rate:.4f} s, {more[codec]} samples more than given")
assert more == {"libmp3lame": 0, "libopus": 0, "aac": 1844}, "the library does otherwise now"
PYTHON
