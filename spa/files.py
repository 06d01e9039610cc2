"""Writing files so that nobody ever finds half of one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spa.errors import ResponseError, SpaError


@contextmanager
def written_whole(path: Path, *, error_type: type[SpaError] = ResponseError) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; what was written there replaces ``path`` in one step.

    Raises
    ------
    SpaError
        Of ``error_type``, if the folder cannot be written to.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise error_type(
            f"{path}: cannot be written ({error.strerror or error}); name a place that you may write to"
        ) from error
