"""Writing files so that nobody ever finds half of one, and reading TOML."""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, SpaError, StudyError


@contextmanager
def written_whole(path: Path, *, private: bool = False, error_type: type[SpaError] = ResponseError) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; what was written there replaces ``path`` in one step.

    A ``private`` file is there already when its path is yielded, and nobody's but its owner's.

    Raises
    ------
    SpaError
        Of ``error_type``, if the folder cannot be written to.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            if private:
                temporary.touch(mode=0o600, exist_ok=False)
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise error_type(
            f"{path}: cannot be written ({error.strerror or error}); name a place that you may write to"
        ) from error


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text file, whole or not at all; see :func:`written_whole`."""
    with written_whole(path, private=private) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    StudyError
        If it cannot be read, or is no TOML in UTF-8.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{path}: expected a readable TOML file, got {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: expected TOML in UTF-8, got a mistake: {error}") from error
    except RecursionError as error:
        raise StudyError(f"{path}: expected TOML, got lists or tables nested too deeply") from error
