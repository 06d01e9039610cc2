#!/usr/bin/env bash
# streamlit 1.67.0: st.audio plays every array at full level, so that clips no longer differ in loudness.
#
# Guess: a clip given as an array (what models return) sounds as the same samples do as a WAV: values of 1, or 32767 of
# int16, are full level, and a quiet clip stays quiet. Seen: each array, int16 too, is divided by its own peak. Of two
# clips 33 dB apart both play at full level from arrays, and 33 dB apart from WAV files; the documentation of st.audio
# does not say so. Whoever has people compare sounds gives st.audio the bytes of a file.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet streamlit==1.67.0 numpy==2.4.6 playwright==1.55.0
cat > "$place/page.py" <<'PYTHON'
import io
import wave

import numpy as np
import streamlit as st

RATE = 16_000
tone = np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)
for peak in (0.02, 0.9):
    samples = (32767 * peak * tone).astype(np.int16)
    file = io.BytesIO()
    with wave.open(file, "wb") as target:
        target.setparams((1, 2, RATE, 0, "NONE", ""))
        target.writeframes(samples.tobytes())
    st.audio(peak * tone, sample_rate=RATE)
    st.audio(samples, sample_rate=RATE)
    st.audio(file.getvalue())
PYTHON
port=$("$place/env/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
HOME=$place "$place/env/bin/streamlit" run "$place/page.py" --server.headless true --server.address 127.0.0.1 \
  --server.port "$port" --browser.gatherUsageStats false >"$place/log" 2>&1 &
server=$!
CHROMIUM=$chromium ADDRESS=http://127.0.0.1:$port "$place/env/bin/python" - <<'PYTHON'
import io
import os
import time
import wave
from importlib.metadata import version
from math import log10
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from playwright.sync_api import sync_playwright

print("streamlit", version("streamlit"))
for _ in range(120):
    try:
        urlopen(f"{os.environ['ADDRESS']}/_stcore/health").close()
        break
    except URLError:
        time.sleep(1)
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(os.environ["ADDRESS"])
    page.wait_for_function("[...document.querySelectorAll('audio')].filter((one) => one.src).length === 6", timeout=120_000)
    addresses = page.eval_on_selector_all("audio", "all => all.map((one) => one.src)")
    browser.close()
peaks = []
for address in addresses:
    with urlopen(address) as answer, wave.open(io.BytesIO(answer.read())) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), dtype="<i2")
    peaks.append(int(np.abs(samples.astype(int)).max()))
quiet, loud = peaks[:3], peaks[3:]
for kind, low, high in zip(("floats", "int16", "a WAV file"), quiet, loud, strict=True):
    print(f"{kind}: peaks of 0.02 and 0.9 play as {low} and {high}, {20 * log10(high / low):.0f} dB apart")
assert quiet[:2] == loud[:2] == [32767, 32767], "arrays keep their level now"
assert [quiet[2], loud[2]] == [655, 29490]
PYTHON
