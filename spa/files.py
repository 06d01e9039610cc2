"""Writing files so that nobody ever finds half of one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spa.errors import ResponseError, SpaError


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
