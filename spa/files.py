"""Files: written so that nobody ever finds half of one; TOML read; what is wrong with a line of JSON."""

from __future__ import annotations

import json
import secrets
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spa.errors import ResponseError, SpaError, StudyError, shortened, unreadable


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text, which line feeds end; other marks of a new line belong to what is written.

    >>> lines_of("one\u2028line\r\nanother\n"), lines_of("")
    (['one\u2028line', 'another'], [])
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


@contextmanager
def written_whole(path: Path, *, private: bool = False, error_type: type[SpaError] = ResponseError) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; what was written there replaces ``path`` in one step.

    A ``private`` file is there already when its path is yielded, and nobody's but its owner's. Raise ``error_type`` if
    the folder cannot be written to.
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

    Raise StudyError if it cannot be read, or is no TOML in UTF-8.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(unreadable(path, error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: expected TOML in UTF-8, got a mistake: {error}") from error
    except RecursionError as error:
        raise StudyError(f"{path}: expected TOML, got lists or tables nested too deeply") from error


def json_object(text: str, decoder: json.JSONDecoder) -> dict[str, Any]:
    """Return the JSON object that a line holds; a ``ValueError`` says what it holds instead."""
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"expected one JSON object, got a mistake: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise ValueError("expected one JSON object, got lists or objects nested too deeply") from error
    if not isinstance(value, dict):
        found = "a list" if isinstance(value, list) else shortened(repr(value))
        raise ValueError(f"expected one JSON object, got {found}")
    return value


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, as a decoder's ``object_pairs_hook``; a ``ValueError`` names a key that stands twice."""
    read = dict(pairs)
    if len(read) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in read if keys.count(key) > 1)
        raise ValueError(f"expected each key once, got {json.dumps(shortened(twice))} twice; remove or rename one")
    return read
