"""Parts of conversations that are pictures, as providers and tools write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spa.errors import shortened
from spa.media.pictures import named

PICTURES = frozenset(("image", "image_url", "input_image"))  # types of such parts
ADDRESSES = (  # keys to the path or the address
    ("image_url", "url"),  # OpenAI
    ("image_url",),
    ("source", "url"),  # Anthropic
    ("image",),  # transformers, with the next two
    ("url",),
    ("path",),
    ("file", "path"),  # Gradio
    ("fileData", "fileUri"),  # Gemini
    ("file_data", "file_uri"),
    ("uri",),  # OpenTelemetry
)
DATA = (("source", "data"), ("inlineData", "data"), ("inline_data", "data"), ("content",), ("image", "bytes"))
TYPES = ("mime_type", "mimeType", "media_type")
BESIDE = frozenset(("type", "detail", "modality", "orig_name", "alt_text", "size", "is_stream", "meta", *TYPES))
KNOWN = BESIDE | {path[0] for path in (*ADDRESSES, *DATA)}


def picture_of(part: Mapping[str, Any]) -> str | None:
    """Return how Markdown shows the picture of a part; ``None`` of a part that is none.

    Raise ValueError where it holds bytes, or no address, or what is not known.

    >>> picture_of({"type": "image_url", "image_url": {"url": "a.png"}}), picture_of({"type": "text", "text": "a"})
    ('![](<a.png>)', None)
    """
    if not _is_picture(part):
        return None
    address = next((one for path in ADDRESSES if isinstance(one := _at(part, path), str)), None)
    if any(_at(part, path) is not None for path in DATA) or (address or "").startswith("data:"):
        raise ValueError("expected a picture's path, got its bytes (base64); write them to a file beside the table")
    if unknown := [key for key in part if key not in KNOWN]:
        raise ValueError(f"expected a picture with its path, got the key {shortened(repr(unknown[0]), 40)}")
    if not address:
        raise ValueError(f"expected a picture with its path, got type {shortened(repr(part.get('type')), 40)} without")
    inner = part.get("file")
    words = part.get("alt_text") or (inner.get("alt_text") if isinstance(inner, Mapping) else None)
    return named(address, str(words or ""))


def _is_picture(part: Mapping[str, Any]) -> bool:
    inside = (part.get(key) for key in ("file", "fileData", "file_data", "inlineData", "inline_data"))
    types = [one.get(key) for one in (part, *inside) if isinstance(one, Mapping) for key in TYPES]
    by_type = any(isinstance(one, str) and one.startswith("image/") for one in types)
    return part.get("type") in PICTURES or part.get("modality") == "image" or by_type


def _at(part: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        part = part.get(key) if isinstance(part, Mapping) else None
    return part
