"""How commands print: laid out on a terminal, whole lines in a pipe; progress on a terminal's stderr."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

import click

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

T = TypeVar("T")
LONGEST = 1_000_000  # characters of a line that no terminal folds
PADDING = re.compile(
    r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE
)  # blanks at the end of a line, before what ends a colour


def console(*, stderr: bool = False) -> Console:
    """Return what prints tables and styled text.

    A terminal folds lines at its width. In a pipe or a file a line is as long as its text and has no blanks at its end.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=cast(TextIO, _Unpadded(stream)), width=LONGEST, highlight=False)


def progress_bar(
    steps: Iterable[T] | None = None, *, length: int, label: str, hidden: bool = False
) -> AbstractContextManager[Any]:
    """Return a progress bar on stderr, which only a terminal shows: over ``steps``, or to be updated."""
    hidden = hidden or length == 0 or not sys.stderr.isatty()
    return click.progressbar(steps, length=length, label=label, hidden=hidden, file=sys.stderr)


class _Unpadded(io.TextIOBase):
    """A stream that takes the blanks away from the ends of lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's, which says what can be drawn."""
        return self._stream.encoding

    def write(self, text: str) -> int:
        """Write whole lines."""
        return self._stream.write(PADDING.sub(r"\1", text))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()
