"""Where the parts of a table are: a pattern, a folder, or an address that fsspec understands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spa.errors import AnalysisError, how_to_install, shortened
from spa.tables.reading import ENDINGS, table_suffix

KEYS = "; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


def is_in_parts(where: str) -> bool:
    """Say whether a table is named by a pattern, a folder or an address, not as one file.

    >>> [is_in_parts(where) for where in ("ratings.csv", "parts/*.parquet", "s3://bucket/parts")]
    [False, True, True]
    """
    return "://" in where or os.path.isdir(where) or (has_magic(where) and not os.path.exists(where))


def find_parts(where: str) -> list[str]:
    """Return the files of a pattern, a folder or an address, in the order of their names.

    Raises
    ------
    AnalysisError
        There is none, or they are of several kinds.
    """
    folders: list[str] = []
    if "://" in where:
        found = _remote_parts(where)
    else:
        found = glob(where) if has_magic(where) and not Path(where).exists() else [where]
        if Path(where).is_dir():
            found = [str(path) for path in Path(where).iterdir()]
        folders = [path for path in found if Path(path).is_dir()]
        found = [path for path in found if Path(path).is_file()]
    kinds = f"files ending in {ENDINGS}"
    parts = sorted(path for path in found if table_suffix(path) is not None and Path(path).name[0] not in "._")
    if not parts:
        got = f"{len(found)} other files" if found else "none"
        if folders:
            got += f" but in folders such as {folders[0]}; name files with a pattern that ends in /*/*.parquet"
        raise AnalysisError(f"{where}: expected {kinds}, got {got}")
    suffixes = sorted({table_suffix(part) or "" for part in parts})
    if len(suffixes) > 1:
        raise AnalysisError(f"{where}: expected {kinds}, all of one kind, got {' and '.join(suffixes)}")
    return parts


def _remote_parts(where: str) -> list[str]:
    with _file_system(where) as (system, path):
        if has_magic(path):
            found = system.glob(path)
        elif system.isdir(path):
            found = system.ls(path, detail=False)
        else:
            found = [path] if system.exists(path) else []
        bucket = path.partition("/")[0]
        if not found and where.startswith("s3://") and not system.exists(bucket):
            raise AnalysisError(f"{where}: expected a bucket that you may list, got none of the name {bucket}")
        return [system.unstrip_protocol(str(name)) for name in found]


@contextmanager
def _file_system(address: str) -> Iterator[tuple[Any, str]]:
    scheme = address.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        yield url_to_fs(address)
    except ImportError as error:
        needed = "s3" if scheme == "s3" else "cluster"
        raise AnalysisError(
            f"{address}: expected the package that reads {scheme}://; {how_to_install(needed)}"
        ) from error
    except _errors() as error:
        reason = shortened(f"{type(error).__name__} {error}", 160)
        hint = KEYS if "Credentials" in type(error).__name__ else ""
        raise AnalysisError(f"{address}: cannot be read: {reason}{hint}") from error


def _errors() -> tuple[type[Exception], ...]:
    """Return what file systems raise; that of S3 has errors of its own once it is loaded."""
    of_s3 = sys.modules.get("botocore.exceptions")
    return (OSError, ValueError) if of_s3 is None else (OSError, ValueError, of_s3.BotoCoreError)


@contextmanager
def local_file(address: str) -> Iterator[Path]:
    """Yield a file of this machine with what stands at the address; problems name the address."""
    if "://" not in address:
        yield Path(address)
        return
    with TemporaryDirectory(prefix="spa-part-") as folder:
        path = Path(folder) / Path(address).name
        with _file_system(address) as (system, remote):
            system.get_file(remote, str(path))
        try:
            yield path
        except AnalysisError as error:
            raise AnalysisError(*(problem.replace(str(path), address) for problem in error.problems)) from error
