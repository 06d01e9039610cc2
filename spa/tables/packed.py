"""Files that are packed with gzip: unpacked where temporary files are, and no further than tables go."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from spa.errors import TableError
from spa.tables.bounds import most_unpacked

PACKED = ".gz"
PIECE = 1 << 20  # bytes at a time


def is_packed(path: Path) -> bool:
    """Whether a file's name says that it is packed."""
    return path.suffix.lower() == PACKED


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield a temporary file with what a file of gzip holds.

    Raise TableError where it breaks off, or holds more than its size allows.
    """
    most = most_unpacked(path)
    with TemporaryDirectory(prefix="spa-unpacked-") as folder:
        inside = Path(folder) / path.stem
        size = 0
        try:
            with gzip.open(path) as packed, inside.open("wb") as whole:
                while piece := packed.read(PIECE):
                    size += len(piece)
                    if size > most:
                        raise TableError(f"{path}: expected at most {most} bytes in a file of its size, got more")
                    whole.write(piece)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise TableError(
                f"{path}: expected a whole gzip file, got one that breaks off or is damaged; make or download it again"
            ) from error
        yield inside
