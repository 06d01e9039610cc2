"""Files at addresses that fsspec understands (s3://, https://): read from a copy on this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from spa.errors import SpaError, TableError, how_to_install, shortened

ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):(?P<slashes>/{1,3})(?P<rest>[^/].*)", re.DOTALL)
LOCAL = ("file", "local")  # schemes of paths that begin with a slash
KEYS = "; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


def address_of(where: str | Path) -> str | None:
    """Return an address, also of a path that an address became (``s3:/bucket/x``); ``None`` of a file of this machine.

    >>> address_of(Path("s3://bucket/ratings.csv")), address_of("C:/ratings.csv"), address_of("ratings.csv")
    ('s3://bucket/ratings.csv', None, None)
    """
    found = ADDRESS.fullmatch(str(where))
    if found is None or os.path.exists(where):
        return None
    if len(found["slashes"]) > 1:
        return str(where)
    slashes = "///" if found["scheme"] in LOCAL else "//"
    return f"{found['scheme']}:{slashes}{found['rest']}"


@contextmanager
def file_system(address: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system of an address and the path in it; TableError says in one line what it cannot do."""
    scheme = address.partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        yield url_to_fs(address)
    except ImportError as error:
        needed = "s3" if scheme == "s3" else "cluster"
        raise TableError(f"{address}: expected the package that reads {scheme}://; {how_to_install(needed)}") from error
    except _errors() as error:
        reason = shortened(f"{type(error).__name__} {error}", 160)
        hint = KEYS if "Credentials" in type(error).__name__ else ""
        raise TableError(f"{address}: cannot be read: {reason}{hint}") from error


def _errors() -> tuple[type[Exception], ...]:
    """Return what file systems raise; that of S3 has errors of its own once it is loaded."""
    of_s3 = sys.modules.get("botocore.exceptions")
    return (OSError, ValueError) if of_s3 is None else (OSError, ValueError, of_s3.BotoCoreError)


@contextmanager
def at_hand(where: str | Path) -> Iterator[Path]:
    """Yield a file of this machine with what stands at an address, or the file itself; problems name the address.

    The copy goes when the context ends.
    """
    address = address_of(where)
    if address is None:
        yield Path(where)
        return
    with TemporaryDirectory(prefix="spa-fetched-") as folder:
        copy = Path(folder) / (PurePosixPath(address.partition("?")[0]).name or "table")
        with file_system(address) as (system, remote):
            system.get_file(remote, str(copy))
        try:
            yield copy
        except SpaError as error:
            raise error.called(str(copy), address) from error
