"""Make the small font of pages that hold everything: the signs of ours that browsers stretch or draw themselves.

    pip install fonttools brotli; python -m tests.spa.media.mathematics_signs

Letters and digits come from the reader's fonts. The first font that holds a space must have a MATH table and U+221A:
else Chromium draws a root without its sign, and no bracket as high as what it holds.
"""

from __future__ import annotations

from spa.media import mathematics

SIGNS = " √()[]{}|‖⟨⟩⌈⌉⌊⌋∑∏∫∮∬―^→⏞⏟"
LEFT_OUT = ("GDEF", "GPOS")


def make() -> None:
    """Write the small font beside the large one."""
    from fontTools import subset

    options = subset.Options()
    options.flavor, options.hinting, options.layout_features = "woff2", False, []
    options.name_IDs, options.notdef_outline = [0], False
    options.drop_tables += list(LEFT_OUT)
    font = subset.load_font(str(mathematics.WHOLE), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=SIGNS)
    subsetter.subset(font)
    subset.save_font(font, str(mathematics.SIGNS), options)


if __name__ == "__main__":
    make()
