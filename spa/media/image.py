"""Images: an output is the path of a file."""

from __future__ import annotations

import base64
import hashlib
import io
import mimetypes
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from spa.errors import StudyError
from spa.media.medium import Content, Doubt, Medium, MediumFiles, ModelFiles, NeutralCopy, Part

if TYPE_CHECKING:
    from spa.records.form import Exhibit

FORMATS = "PNG, JPEG, GIF or WebP"
STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
SECONDS = 6.0  # that looking at one takes: assumed, not measured
USUAL = (1024, 1024)  # pixels of a picture that is elsewhere
THUMBNAIL = (320, 240)  # pixels, at most
LEAST_SECONDS = 1.0  # on screen, where there is a least time for texts
MARKS = {
    "film": Doubt(does="are films", do="people and models see the first picture of each, as a still"),
    "transparent": Doubt(does="are transparent in parts", do="people and models see them on white"),
    "profile": Doubt(
        does="have a colour profile that cannot be applied",
        do="people and models see them without; convert them to sRGB where colours matter",
    ),
}


def _fits(path: Path) -> bool:
    """Return by its first bytes whether a file is a PNG, JPEG, GIF or WebP image."""
    with path.open("rb") as file:
        start = file.read(16)
    return start.startswith(STARTS) or (start.startswith(b"RIFF") and start[8:12] == b"WEBP")


def _media_type(path: Path) -> str:
    """Return the media type of an image by its suffix."""
    guessed, _ = mimetypes.guess_type(str(path))
    return guessed if guessed is not None and guessed.startswith("image/") else "application/octet-stream"


def _neutral(content: bytes) -> NeutralCopy:
    from spa.media.neutral_image import neutral_image  # loads Pillow

    return neutral_image(content)


def _shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    return Markup('<img src="{}" alt="{}">').format(address(exhibit), exhibit.caption)


def _part(path: Path) -> Part:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StudyError(f"{path}: expected an image that can be read, got {error.strerror}; put it back") from error
    kind = next((kind for start, kind in TYPES.items() if content.startswith(start)), None)
    if kind is None:
        raise StudyError(f"{path}: expected a {FORMATS} image, got something else; convert it")
    url = f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url}}


def _recorded(part: Part) -> Part:
    """Return a part with its kind and the SHA-256 of its ``data:`` URL in the place of that."""
    url = part["image_url"]["url"]
    if not url.startswith("data:"):
        return part
    kind = url[5:].partition(";")[0]
    digest = hashlib.sha256(url.encode()).hexdigest()
    return {**part, "image_url": {**part["image_url"], "url": f"{kind}, sha256 of the data URL {digest}"}}


def _tokens(part: Part, model: str) -> tuple[int, int]:
    from spa.media.image_tokens import image_tokens

    return image_tokens(*_size(part["image_url"]["url"]), model)


@lru_cache(maxsize=1024)
def _size(url: str) -> tuple[int, int]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
            width, height = image.size
            return width, height
    except (UnidentifiedImageError, ValueError):
        return USUAL


def _as_input(part: Part) -> Part:
    return {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}


def _inline(part: Part) -> tuple[str, str]:
    kind, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
    return kind, data


def _decoded(part: Part) -> Any:
    from PIL import Image

    url: str = part["image_url"]["url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
        return image.convert("RGB")


def _trial() -> tuple[Part, str, str]:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(file, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
    part = {"type": "image_url", "image_url": {"url": url}}
    return part, "Which colour is this picture? Answer with one word, in English.", "red"


@lru_cache(maxsize=256)
def _thumbnail(path: Path) -> str:
    from PIL import Image

    try:
        small = _neutral(path.read_bytes())  # itself of a copy
        with Image.open(io.BytesIO(small.content)) as image:
            image.thumbnail(THUMBNAIL)
            file = io.BytesIO()
            image.convert("RGB").save(file, "JPEG", quality=80)
    except (OSError, ValueError):
        return ""
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _on_dashboard(container: Any, path: Path) -> object:
    return container.image(str(path))


def _sent(exhibit: Exhibit) -> tuple[Exhibit]:
    return (exhibit,)


def _seconds(content: Content) -> float:
    return SECONDS


def _least_seconds(content: Content, per_100_words: float) -> float:
    return LEAST_SECONDS


IMAGE = Medium(
    key="image",
    one="an image",
    many="images",
    read="seen",
    titles={"en": "Comparing images", "zh": "图像比较", "ar": "مقارنة صور"},
    wording="_image",
    suffixes=(".png", ".jpg", ".jpeg", ".gif", ".webp"),
    files=MediumFiles(
        formats=FORMATS,
        fits=_fits,
        media_type=_media_type,
        directive="img-src",
        models=ModelFiles(
            type="image_url",
            part=_part,
            recorded=_recorded,
            tokens=_tokens,
            as_input=_as_input,
            processor_type="image",
            processor_argument="images",
            decoded=_decoded,
            inline=_inline,
            trial=_trial,
        ),
        on_dashboard=_on_dashboard,
        neutral=_neutral,
        marks=MARKS,
        thumbnail=_thumbnail,
    ),
    shown=_shown,
    collected=(Path(__file__).with_name("image.css"),),
    sent=_sent,
    seconds=_seconds,
    least_seconds=_least_seconds,
    heds=11,
)
