"""Colours of a PNG that names its gamma and its primaries instead of a colour profile, in sRGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
SRGB_GAMMA, SRGB_PRIMARIES = 0.45455, (0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06)  # white, red, green, blue
NEAR = 0.002  # of a gamma or of a coordinate: rounded
ROWS = 256  # that are computed at once
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
SRGB_CICP = bytes([1, 13, 0, 1])  # code points of sRGB, of all values


def in_srgb_by_gamma(image: Image, gamma: float, primaries: tuple[float, ...] | None) -> Image:
    """Return a grey or red-green-blue picture in sRGB, itself where it is so already."""
    from PIL import Image

    given = None if primaries is None or image.mode == "L" else np.array(primaries, dtype=float)
    if given is not None and (abs(given - SRGB_PRIMARIES).max() <= NEAR or not _is_triangle(given)):
        given = None
    if given is None and abs(gamma - SRGB_GAMMA) <= NEAR:
        return image  # whose writer meant sRGB, of which a gamma is no more than about right
    light = (np.arange(256) / 255) ** (1 / gamma)
    if given is None:
        return image.point(_to_bytes(light).tolist() * len(image.getbands()))
    change = np.linalg.inv(_to_xyz(np.array(SRGB_PRIMARIES))) @ _to_xyz(given)
    read = np.asarray(image)
    made = np.empty_like(read)
    for row in range(0, len(read), ROWS):
        made[row : row + ROWS] = _to_bytes(light[read[row : row + ROWS]] @ change.T)
    return Image.fromarray(made)


def _is_triangle(primaries: Floats) -> bool:
    (_, white_y), red, green, blue = primaries.reshape(4, 2)
    area = (green - red)[0] * (blue - red)[1] - (green - red)[1] * (blue - red)[0]
    return bool(abs(area) > NEAR and white_y > NEAR and min(red[1], green[1], blue[1]) >= 0)


def _to_bytes(light: Floats) -> np.ndarray[Any, np.dtype[np.uint8]]:
    light = np.clip(light, 0, 1)
    shares = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    made: np.ndarray[Any, np.dtype[np.uint8]] = np.rint(shares * 255).astype(np.uint8)
    return made


def _to_xyz(primaries: Floats) -> Floats:
    """Return the matrix from light to CIE XYZ, adapted to the white of sRGB."""
    (white_x, white_y), *colours = primaries.reshape(4, 2)
    columns = np.array([[x, y, 1 - x - y] for x, y in colours]).T
    white = np.array([white_x, white_y, 1 - white_x - white_y]) / white_y
    matrix = columns * np.linalg.solve(columns, white)
    x, y = SRGB_PRIMARIES[:2]
    wanted = np.array([x, y, 1 - x - y]) / y
    scale = np.diag((BRADFORD @ wanted) / (BRADFORD @ white))
    return np.linalg.inv(BRADFORD) @ scale @ BRADFORD @ matrix  # type: ignore[no-any-return]
