"""Where the parts of a table are: a pattern, a folder, or an address that fsspec understands."""

from __future__ import annotations

import os
from glob import glob, has_magic
from pathlib import Path

from spa.errors import AnalysisError, TableError
from spa.tables.addresses import file_system
from spa.tables.reading import ENDINGS, table_suffix


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
        try:
            found = _remote_parts(where)
        except TableError as error:
            raise AnalysisError(*error.problems) from error
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
    with file_system(where) as (system, path):
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
