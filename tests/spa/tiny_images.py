"""Small pictures, whole and valid."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable


def chunks(parts: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a PNG of these chunks."""
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )


def tiny_png(red: int = 0, green: int = 0, blue: int = 0, *, before: Iterable[tuple[bytes, bytes]] = ()) -> bytes:
    """Return a PNG of one pixel, its own neutral copy unless there are more chunks ``before`` that."""
    header = struct.pack(">2I5B", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(bytes([0, red, green, blue]))
    return chunks([(b"IHDR", header), *before, (b"IDAT", pixel), (b"IEND", b"")])
