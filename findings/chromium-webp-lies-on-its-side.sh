#!/usr/bin/env bash
# Chromium (Debian's, 156 here) turns a JPEG and a PNG upright by their EXIF orientation, and leaves a WebP on its side.
#
# Guess: `image-orientation: from-image` (the default) holds for whatever format carries the tag, as Pillow's
# exif_transpose does. Seen: one photo saved in three formats by Pillow, with orientation 6, is 20 by 40 pixels in the
# first two and 40 by 20 in the third, so that people who judge pictures see what a model is given turned, or not, by
# format. Whoever shows pictures turns their pixels before, and drops the tag.
set -euo pipefail
chromium=$(command -v chromium) || { echo "needs Debian's chromium"; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet playwright==1.55.0 pillow==12.0.0
CHROMIUM=$chromium "$place/env/bin/python" - <<'PYTHON'
import base64
import io
import os

from PIL import Image, ImageOps
from playwright.sync_api import sync_playwright

SEEN = {"jpeg": [20, 40], "png": [20, 40], "webp": [40, 20]}  # in Chromium
exif = Image.Exif()
exif[0x0112] = 6
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
    print("Chromium", browser.version)
    page = browser.new_page()
    for kind, size in SEEN.items():
        file = io.BytesIO()
        Image.new("RGB", (40, 20), "red").save(file, kind, exif=exif)
        turned = ImageOps.exif_transpose(Image.open(file)).size
        url = f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"
        found = page.evaluate(
            "async url => { const image = new Image(); image.src = url; await image.decode();"
            " return [image.naturalWidth, image.naturalHeight]; }",
            url,
        )
        print(f"{kind}: {found[0]} x {found[1]} in Chromium, {turned[0]} x {turned[1]} by exif_transpose")
        assert (found, turned) == (size, (20, 40)), "the orientation is read otherwise now"
    browser.close()
PYTHON
