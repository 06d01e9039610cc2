"""How many tokens a model reads for a picture: a rule for each family of models, by width and height.

Sources: the processors of transformers 5.24.0 with their usual settings (Qwen, Idefics3, SmolVLM, LLaVA, Gemma 3,
Pixtral); OpenAI, "Images and vision: calculating costs"; Anthropic, "Vision: image costs"; Google, "Understand and
count tokens". Providers change these rules, and a folder may set other sizes: a reply says what was counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import ceil, floor, sqrt

Range = tuple[int, int]  # the fewest and the most tokens; equal where a rule is exact
Rule = Callable[[int, int], Range]
APART = r"gpt-4o-mini"  # counts twenty times as many as it reads, at a twentieth of the price
LLAVA_GRIDS = ((336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008))  # height, width
LLAVA_SIDE, LLAVA_PATCHES = 336, 24  # pixels and patches of one view


def _merged(unit: int, least: int, most: int, width: int, height: int) -> Range:
    """Patches of ``unit`` pixels, the picture scaled to between ``least`` and ``most`` pixels (Qwen)."""
    columns, rows = max(1, round(width / unit)), max(1, round(height / unit))
    pixels = columns * rows * unit * unit
    if pixels > most:
        scale = sqrt(width * height / most)
        columns, rows = (max(1, floor(side / scale / unit)) for side in (width, height))
    elif pixels < least:
        scale = sqrt(least / (width * height))
        columns, rows = (ceil(side * scale / unit) for side in (width, height))
    return _exactly(columns * rows)


def _tiled_whole(side: int, tokens: int, marks: int, width: int, height: int) -> Range:
    """Tiles of a picture whose longer edge is made four tiles long, and the whole in one more (Idefics3)."""
    longest = max(width, height)
    columns, rows = (max(1, ceil(round(4 * one / longest, 6))) for one in (width, height))
    return _exactly(columns * rows * (tokens + marks) + rows + tokens + 4)


def _any_resolution(width: int, height: int) -> Range:
    """One view of the whole, and the part of the best grid of views that holds the picture (LLaVA-NeXT)."""

    def fitting(grid: tuple[int, int]) -> tuple[int, int]:
        scale = min(grid[1] / width, grid[0] / height)
        seen = min(int(width * scale) * int(height * scale), width * height)
        return seen, seen - grid[0] * grid[1]

    grid = max(LLAVA_GRIDS, key=fitting)
    rows, columns = (side // LLAVA_SIDE * LLAVA_PATCHES for side in grid)
    if width / height > columns / rows:
        rows -= 2 * ((rows - int(height * columns / width)) // 2)
    else:
        columns -= 2 * ((columns - int(width * rows / height)) // 2)
    return _exactly(LLAVA_PATCHES**2 + rows * columns + rows - 1)


def _rows_of_patches(width: int, height: int) -> Range:
    """Patches of 16 pixels, a mark after each row, the longer edge at most 1,024 (Pixtral)."""
    scale = max(1.0, max(width, height) / 1024)
    columns, rows = ceil(width / scale / 16), ceil(height / scale / 16)
    return _exactly((columns + 1) * rows)


def _tiled(base: int, tile: int, width: int, height: int) -> Range:
    """Tiles of 512 pixels, the longer edge at most 2,048 and the shorter at most 768 (OpenAI)."""
    scale = max(1.0, max(width, height) / 2048)
    scale *= max(1.0, min(width, height) / scale / 768)
    return _exactly(base + tile * ceil(round(width / scale / 512, 6)) * ceil(round(height / scale / 512, 6)))


def _patched(factor: float, width: int, height: int) -> Range:
    """Patches of 32 pixels, whole ones of a smaller picture where they are more than 1,536 (small models of OpenAI)."""
    columns, rows = width / 32, height / 32
    if ceil(columns) * ceil(rows) > 1536:
        scale = sqrt(1536 / (columns * rows))
        scale *= min(max(1, floor(side * scale)) / (side * scale) for side in (columns, rows))
        columns, rows = columns * scale, rows * scale
    return _exactly(ceil(factor * min(1536, ceil(round(columns, 6)) * ceil(round(rows, 6)))))


def _claude(width: int, height: int) -> Range:
    """Count a token for 750 pixels, 1,600 at most; newer models read patches of 28 pixels, 4,784 at most."""
    scale = max(1.0, max(width, height) / 1568)
    fewest = min(1600, max(1, ceil(width * height / scale**2 / 750)))
    return fewest, max(fewest, min(4784, ceil(width / 28) * ceil(height / 28)))


def _gemini(width: int, height: int) -> Range:
    """258 for a small picture, else for each tile: of 768 pixels, or of two thirds of the shorter edge."""
    if max(width, height) <= 384:
        return _exactly(258)
    unit = min(768, max(256, floor(min(width, height) / 1.5)))
    return tuple(258 * ceil(width / side) * ceil(height / side) for side in (768, unit))  # type: ignore[return-value]


def _exactly(tokens: int) -> Range:
    return tokens, tokens


def _always(tokens: int, width: int, height: int) -> Range:
    return tokens, tokens


RULES: tuple[tuple[str, Rule], ...] = (  # what the name of a model holds, or the type in its config.json; first wins
    (r"qwen[-_ ]?2([._]5)?[-_ ]?vl|qvq", partial(_merged, 28, 56 * 56, 12_845_056)),
    (r"qwen[-_ ]?3.*vl|qwen[-_ ]?3[._]5", partial(_merged, 32, 65_536, 16_777_216)),
    (r"idefics3", partial(_tiled_whole, 364, 169, 14)),
    (r"smolvlm", partial(_tiled_whole, 512, 64, 2)),
    (r"llava[-_ ]?(next|v?1\.6)", _any_resolution),
    (r"llava([-_ ]?v?1\.5|$)", partial(_always, 576)),
    (r"gemma[-_ ]?3", partial(_always, 256)),
    (r"pixtral", _rows_of_patches),
    (APART, partial(_tiled, 2833, 5667)),
    (r"gpt-(4\.1|5)-mini", partial(_patched, 1.62)),
    (r"gpt-(4\.1|5)-nano", partial(_patched, 2.46)),
    (r"\bo4-mini", partial(_patched, 1.72)),
    (r"gpt-4", partial(_tiled, 85, 170)),
    (r"gpt-5", partial(_tiled, 70, 140)),
    (r"\bo[13]\b", partial(_tiled, 75, 150)),
    (r"claude", _claude),
    (r"gemini-?3", partial(_always, 1120)),
    (r"gemini", _gemini),
)


def image_tokens(width: int, height: int, model: str) -> Range:
    """Return the fewest and the most tokens of a picture; those of all families where the model's is unknown.

    >>> image_tokens(512, 512, "Qwen/Qwen2.5-VL-7B-Instruct"), image_tokens(1024, 1024, "gpt-4o")
    ((324, 324), (765, 765))
    """
    for name, rule in RULES:
        if re.search(name, model.lower()):
            return rule(width, height)
    counts = [rule(width, height) for name, rule in RULES if name != APART]
    return min(fewest for fewest, _ in counts), max(most for _, most in counts)
