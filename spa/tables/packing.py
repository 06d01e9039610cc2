"""Ways in which files of text are packed: unpacked where temporary files are, and no further than tables go."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import BufferedIOBase
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

from spa.errors import TableError, how_to_install, shortened
from spa.tables.bounds import most_unpacked

PIECE = 1 << 20  # bytes unpacked at a time
Opened = tuple[BufferedIOBase, tuple[type[Exception], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How the names of packed files end, how the files begin, what they are, and what opens one.

    ``open`` returns what unpacks a file, and the errors that it raises of a damaged one. An ``archive`` is a packed
    file only where its name says what it holds: others are of tools that write several files.
    """

    suffix: str
    begins: bytes
    kind: str
    open: Callable[[Path], Opened]
    archive: bool = False


def _gzip(path: Path) -> Opened:
    return gzip.open(path), (EOFError, gzip.BadGzipFile, zlib.error)


def _zstd(path: Path) -> Opened:
    try:
        zstd: Any = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError as error:
        raise TableError(
            f"{path}: is packed by Zstandard, which needs the package backports.zstd: {how_to_install('importers')}; "
            "or unpack it (zstd -d)"
        ) from error
    return zstd.open(path), (EOFError, zstd.ZstdError)


def _zip(path: Path) -> Opened:
    """Open the one file of an archive; folders, and what macOS puts beside each file, are none."""
    damaged = (EOFError, BadZipFile, zlib.error, lzma.LZMAError, OSError)
    try:
        archive = ZipFile(path)
        inside = [
            one
            for one in archive.infolist()
            if not (one.filename.endswith("/") or one.filename.startswith("__MACOSX/"))
        ]
        names = shortened(", ".join(one.filename for one in inside), 120) or "none"
        if len(inside) != 1:
            raise TableError(f"{path}: expected one file in it, got {len(inside):,} ({names}); unpack it: unzip FILE")
        if not inside[0].filename.lower().endswith(PurePath(path.stem).suffix.lower()):
            raise TableError(f"{path}: expected a file of that name in it, got {names}; unpack it: unzip FILE")
        opened: Any = archive.open(inside[0])
    except BadZipFile as error:
        raise _broken(path, "zip file") from error
    except (RuntimeError, NotImplementedError) as error:  # of one with a password, or packed in another way
        raise TableError(f"{path}: cannot be unpacked: {error}; unpack it: unzip FILE") from error
    return opened, damaged


def _broken(path: Path, kind: str) -> TableError:
    return TableError(
        f"{path}: expected a whole {kind}, got one that breaks off or is damaged; make or download it again"
    )


PACKINGS = (
    Packing(suffix=".gz", begins=b"\x1f\x8b", kind="a gzip file", open=_gzip),
    Packing(suffix=".zst", begins=b"\x28\xb5\x2f\xfd", kind="a zstd file", open=_zstd),
    Packing(
        suffix=".xz",
        begins=b"\xfd7zXZ\0",
        kind="an xz file",
        open=lambda path: (lzma.open(path), (EOFError, lzma.LZMAError)),
    ),
    Packing(
        suffix=".bz2",
        begins=b"BZh",
        kind="a bzip2 file",
        open=lambda path: (bz2.open(path), (EOFError, OSError, ValueError)),
    ),
    Packing(suffix=".zip", begins=b"PK\x03\x04", kind="a workbook or zip file", open=_zip, archive=True),
)


def packing_of(path: PurePath) -> Packing | None:
    """Return how a file is packed, by its name; ``None`` where that says of nothing.

    >>> packing_of(PurePath("rows.jsonl.gz")).kind, packing_of(PurePath("rows.jsonl"))
    ('a gzip file', None)
    >>> packing_of(PurePath("rows.csv.zip")).kind, packing_of(PurePath("export.zip")), packing_of(PurePath("v1.5.zip"))
    ('a workbook or zip file', None, None)
    """
    found = next((packing for packing in PACKINGS if path.suffix.lower() == packing.suffix), None)
    unnamed = not PurePath(path.stem).suffix[1:].isalpha()
    return None if found is not None and found.archive and unnamed else found


def start_of(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, of a packed one those of what it holds.

    Raise OSError where it cannot be read, TableError where it is damaged.
    """
    packing = packing_of(path)
    if packing is None:
        with path.open("rb") as file:
            return file.read(n_bytes)
    packed, damaged = packing.open(path)
    try:
        with packed:
            return packed.read(n_bytes)
    except damaged as error:
        raise _broken(path, packing.kind.partition(" ")[2]) from error


@contextmanager
def unpacked(path: Path, packing: Packing) -> Iterator[Path]:
    """Yield a temporary file with what a packed file holds.

    Raise TableError where it breaks off, or holds more than its size allows.
    """
    most = most_unpacked(path)
    packed, damaged = packing.open(path)
    with TemporaryDirectory(prefix="spa-unpacked-") as folder:
        inside = Path(folder) / path.stem
        size = 0
        try:
            with packed, inside.open("wb") as whole:
                while piece := packed.read(PIECE):
                    size += len(piece)
                    if size > most:
                        raise TableError(f"{path}: expected at most {most} bytes in a file of its size, got more")
                    whole.write(piece)
        except damaged as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the disk, not of what is packed
            raise _broken(path, packing.kind.partition(" ")[2]) from error
        yield inside
