"""Who is told of work that takes long: nobody, unless the command at hand shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Told = Callable[[str], object]  # is told what is done now


@contextmanager
def _untold() -> Iterator[Told]:
    yield lambda what: None


# what shows work while it lasts
SHOWN: ContextVar[Callable[[], AbstractContextManager[Told]]] = ContextVar("shown", default=_untold)
