"""The font that formulas are drawn with: without one, Chromium draws a root without its sign."""

from __future__ import annotations

from pathlib import Path

ELEMENT = "math"  # what is drawn with it
WHOLE = Path(__file__).with_name("mathematics.woff2")  # served beside the style sheet
SIGNS = Path(__file__).with_name(
    "mathematics-signs.woff2"
)  # for pages that hold all; tests/spa/media/mathematics_signs
