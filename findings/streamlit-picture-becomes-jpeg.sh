#!/usr/bin/env bash
# streamlit 1.67.0: st.image shows an opaque PNG as a JPEG, and no picture with more than 1,460 columns of pixels.
#
# Guess: the bytes of a PNG reach the browser as they are, or at least without loss, since output_format "auto" is said to
# go by the picture's own format; and on a wide enough page every pixel is there. Seen: unless it has an alpha channel, a
# picture (PNG, lossless WebP, array) is sent as a JPEG of quality 90, and shrunk to 1,460 columns, or to `width`, which
# is said to be the size of the element. So texture, and any PNG beside one with alpha, are judged after a loss that the
# page does not show. output_format="PNG" helps against the first only, a URL (static files) against both.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet streamlit==1.67.0 numpy==2.4.6 pillow==12.0.0 playwright==1.55.0
cat > "$place/made.py" <<'PYTHON'
import io

import numpy as np
from PIL import Image


def png(columns, mode="RGB"):
    """Return the bytes of a picture of colour noise."""
    pixels = np.random.default_rng(1).integers(0, 256, (200, columns, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, "PNG")
    return file.getvalue()
PYTHON
cat > "$place/page.py" <<'PYTHON'
import streamlit as st
from made import png

st.set_page_config(layout="wide")
st.image(png(1000))
st.image(png(1000, "RGBA"))
st.image(png(1000), output_format="PNG")
st.image(png(3000), output_format="PNG")
st.image(png(1000), output_format="PNG", width=500)
PYTHON
port=$("$place/env/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
HOME=$place "$place/env/bin/streamlit" run "$place/page.py" --server.headless true --server.address 127.0.0.1 \
  --server.port "$port" --browser.gatherUsageStats false >"$place/log" 2>&1 &
server=$!
CHROMIUM=$chromium ADDRESS=http://127.0.0.1:$port PYTHONPATH=$place "$place/env/bin/python" - <<'PYTHON'
import io
import os
import time
from importlib.metadata import version
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from made import png
from PIL import Image
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
    page = browser.new_page(viewport={"width": 3840, "height": 2160})
    page.goto(os.environ["ADDRESS"])
    page.wait_for_function("document.querySelectorAll('img').length === 5", timeout=120_000)
    addresses = page.eval_on_selector_all("img", "all => all.map((one) => one.src)")
    browser.close()
seen = []
for address in addresses:
    with urlopen(address) as answer:
        seen.append(Image.open(io.BytesIO(answer.read())))
given = Image.open(io.BytesIO(png(1000)))
loss = np.abs(np.asarray(seen[0], dtype=int) - np.asarray(given, dtype=int)).mean()
print(f"a PNG of 1,000 columns: {seen[0].format}, {seen[0].width} columns, {loss:.0f} of 255 off in the mean")
names = ("with alpha", 'as "PNG"', '3,000 columns as "PNG"', 'as "PNG" with width=500')
for name, picture in zip(names, seen[1:], strict=True):
    print(f"{name}: {picture.format}, {picture.width} columns")
assert seen[0].format == "JPEG" and loss > 10, "an opaque PNG stays lossless now"
assert [(one.format, one.width) for one in seen[1:]] == [("PNG", 1000), ("PNG", 1000), ("PNG", 1460), ("PNG", 500)]
PYTHON
