"""Temporary files: written whole or not at all, and what goes wrong with them."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from spa.errors import shortened


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all, so that a worker that dies leaves none of this name."""
    begun = Path(f"{path}.{uuid.uuid4().hex}")
    write(begun)
    os.replace(begun, path)


@contextmanager
def scratch_errors(folder: Path) -> Iterator[None]:
    """Raise what goes wrong with temporary files as an ``OSError`` that names their folder."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        text = str(error).partition("\n")[0]
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in text
        raise OSError(errno.EIO, "no space is left" if full else shortened(text, 160), str(folder)) from error
