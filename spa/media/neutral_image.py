"""The neutral copy of a picture: upright, in sRGB with 8 bits a colour, on white, still, and without tags.

Also of a PNG that names its gamma and its primaries instead of a colour profile.
"""

from __future__ import annotations

import io
import re
import struct
import warnings
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from spa.media.medium import NeutralCopy

if TYPE_CHECKING:
    from PIL.Image import Image

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
SRGB_GAMMA, SRGB_PRIMARIES = 0.45455, (0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06)  # white, red, green, blue
NEAR = 0.002  # of a gamma or of a coordinate: rounded
ROWS = 256  # that are computed at once
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
SRGB_CICP = bytes([1, 13, 0, 1])  # code points of sRGB, of all values
PIXELS = 64_000_000  # at most, of one picture: 8,000 by 8,000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
FILM, TRANSPARENT, PROFILE = "film", "transparent", "profile"  # what is said of a picture
QUALITY = 95  # of a JPEG that had to be turned or recoloured: no difference to be seen
NO_DIFFERENCE = 2  # of 255: an ICC profile that changes colours by no more is that of sRGB
JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # after the pixels of a scan
ALONE = frozenset((0x01, *range(0xD0, 0xD8)))  # markers of JPEG that no length follows
PLAIN_CHUNKS = frozenset((b"IHDR", b"PLTE", b"IDAT", b"IEND"))  # of a PNG that holds pixels alone
SPACES = {"L": "GRAY", "RGB": "RGB", "CMYK": "CMYK"}  # mode of pixels -> what ICC profiles call it
BROKEN = (OSError, SyntaxError, ValueError, LookupError, EOFError, TypeError, OverflowError, struct.error, zlib.error)


def neutral_image(content: bytes) -> NeutralCopy:
    """Decode a picture whole and return its neutral copy: a JPEG of a JPEG, else a PNG.

    Pixels that are neutral already are not encoded anew. Raise ValueError, with what is wrong and what to do, if it is
    broken or too large.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sizes and tags
            with Image.open(io.BytesIO(content), formats=FORMATS) as opened:
                width, height = opened.size
                if width * height > PIXELS:
                    raise Image.DecompressionBombError(f"{width} x {height} pixels")
                film = opened.format in ("PNG", "GIF", "WEBP") and bool(getattr(opened, "is_animated", False))
                opened.seek(0)
                opened.load()
                return _neutral(content, opened, (FILM,) if film else ())
    except Image.DecompressionBombError as error:
        raise ValueError(f"with more than {PIXELS:,} pixels ({error}); make it smaller") from error
    except BROKEN as error:
        why = " ".join(str(error).split())[:100] or type(error).__name__
        raise ValueError(f"which is cut off or broken ({why}); get it again") from error


def _neutral(content: bytes, opened: Image, marks: tuple[str, ...]) -> NeutralCopy:
    is_jpeg = opened.format in ("JPEG", "MPO")
    colours, alpha = _eight_bits(opened)
    made, fits = _in_srgb(colours, opened.info.get("icc_profile"))
    chunks = _chunks(content)
    if b"cICP" in chunks:  # of higher rank than a profile; of wide colours, which Pillow does not know
        fits = chunks[b"cICP"] == SRGB_CICP
    elif chunks and made is colours and not {"icc_profile", "srgb"} & opened.info.keys() and opened.info.get("gamma"):
        made = in_srgb_by_gamma(made, opened.info["gamma"], opened.info.get("chromaticity"))
    if not fits:
        marks = (*marks, PROFILE)
    if alpha is not None:
        made, marks = _on_white(made, alpha), (*marks, TRANSPARENT)
    turned = _upright(made, opened)
    if turned is opened and is_jpeg and (bare := bare_jpeg(content)) is not None:
        return NeutralCopy(content=bare, suffix=".jpg", marks=marks)
    if made is colours and turned is made and alpha is None and _is_plain(content, chunks):
        return NeutralCopy(content=content, suffix=".png", marks=marks)
    turned = turned.copy()
    turned.info = {}  # Pillow would write tags and profiles again
    file = io.BytesIO()
    if is_jpeg:
        turned.save(file, "JPEG", quality=QUALITY, subsampling=0)
        return NeutralCopy(content=bare_jpeg(file.getvalue()) or file.getvalue(), suffix=".jpg", marks=marks)
    turned.save(file, "PNG")
    return NeutralCopy(content=file.getvalue(), suffix=".png", marks=marks)


def _eight_bits(image: Image) -> tuple[Image, Image | None]:
    """Return the colours of a picture, grey, red-green-blue or CMYK; and where it is transparent, its opacity."""
    from PIL import Image

    clear = image.info.get("transparency")
    if image.mode.startswith("I"):  # 16 bits of grey, which Pillow would cut and not scale
        grey = np.asarray(image).astype(np.int64)
        shown = Image.fromarray(((grey * 255 + 32767) // 65535).astype(np.uint8))
        opacity = Image.fromarray(np.where(grey == clear, 0, 255).astype(np.uint8)) if isinstance(clear, int) else None
        return shown, opacity
    if clear is None and image.mode not in ("RGBA", "LA", "PA", "RGBa", "La"):
        if image.mode in SPACES:
            return image, None
        return image.convert("L" if image.mode == "1" else "RGB"), None
    whole = image.convert("RGBA")
    opacity = whole.getchannel("A")
    colours = image.getchannel("L") if image.mode == "LA" else whole.convert("RGB")
    return colours, (None if opacity.getextrema() == (255, 255) else opacity)


def _in_srgb(image: Image, profile: Any) -> tuple[Image, bool]:
    """Return a picture in sRGB, itself where nothing changes; and false where its colour profile cannot be applied."""
    from PIL import ImageCms

    plain = image.convert("RGB") if image.mode == "CMYK" else image
    if not profile:
        return plain, True
    try:
        given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if given.profile.xcolor_space.strip() != SPACES[image.mode]:
            return plain, False
        srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
        intent = ImageCms.Intent.RELATIVE_COLORIMETRIC
        transform = ImageCms.buildTransform(given, srgb, image.mode, "RGB", renderingIntent=intent)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return plain, False
    if image.mode != "CMYK":
        trial = _trial(image.mode)
        changed = ImageCms.applyTransform(trial, transform)
        difference = np.asarray(changed).astype(int) - np.asarray(trial.convert("RGB")).astype(int)
        if abs(difference).max() <= NO_DIFFERENCE:
            return image, True
    made = ImageCms.applyTransform(image, transform)
    return (plain, False) if made is None else (made, True)


def _trial(mode: str) -> Image:
    """Return a picture with colours from everywhere in its space."""
    from PIL import Image

    steps = np.linspace(0, 255, 9).round().astype(np.uint8)
    if mode == "L":
        return Image.fromarray(steps.reshape(1, -1))
    return Image.fromarray(np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3))


def _on_white(image: Image, opacity: Image) -> Image:
    from PIL import Image

    ground = Image.new("RGB", image.size, "white")
    ground.paste(image.convert("RGB"), mask=opacity)
    return ground


def _upright(image: Image, opened: Image) -> Image:
    """Return a picture turned as the EXIF tag of the file says, itself where nothing is to be turned."""
    from PIL import ExifTags
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    try:
        turn = turns.get(opened.getexif().get(ExifTags.Base.Orientation, 1))
    except BROKEN:  # tags that cannot be read turn nothing, in browsers neither
        return image
    return image if turn is None else image.transpose(turn)


def bare_jpeg(content: bytes) -> bytes | None:
    """Return a JPEG of the same pixels without tags, thumbnails and what follows its end; ``None`` if it has none."""
    parts, at = [b"\xff\xd8", JFIF], 2
    while at + 4 <= len(content) + 2 and content[at : at + 1] == b"\xff":
        marker = content[at + 1] if at + 1 < len(content) else 0
        if marker == 0xFF:  # fills up
            at += 1
            continue
        if marker == 0xD9:
            return b"".join((*parts, b"\xff\xd9"))
        end = at + 2 if marker in ALONE else at + 2 + int.from_bytes(content[at + 2 : at + 4])
        is_tag = 0xE0 <= marker <= 0xEF or marker == 0xFE
        is_colour_model = marker == 0xEE and content[at + 4 : at + 9] == b"Adobe"
        if marker == 0xDA:
            found = NEXT_MARKER.search(content, end)
            if found is None:
                return None
            end = found.start()
        if not is_tag or is_colour_model:
            parts.append(content[at:end])
        at = end
    return None


def _chunks(content: bytes) -> dict[bytes, bytes]:
    """Return the chunks of a PNG by their names, the last of each; none of another file."""
    at, found = 8, dict[bytes, bytes]()
    while at + 8 <= len(content) and content.startswith(b"\x89PNG"):
        end = at + 8 + int.from_bytes(content[at : at + 4])
        found[content[at + 4 : at + 8]] = content[at + 8 : end]
        at = end + 4
    return found


def _is_plain(content: bytes, chunks: dict[bytes, bytes]) -> bool:
    """Return whether a PNG holds pixels alone, with 8 bits a colour at most, and nothing after its end."""
    end = content.endswith(b"\0\0\0\0IEND\xaeB`\x82")
    return end and PLAIN_CHUNKS.issuperset(chunks) and list(chunks)[-1] == b"IEND" and content[24] <= 8


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
