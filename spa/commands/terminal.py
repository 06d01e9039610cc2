"""How commands print: laid out on a terminal, whole lines in a pipe; progress on a terminal's stderr."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable
from threading import Lock, Timer
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TextIO, TypeVar, cast

import click

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console
    from rich.live import Live

T = TypeVar("T")
PATIENCE = 2.0  # seconds after which a command says what it is doing
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


class Stages:
    """Called with what a command does now, shows it on stderr: on a terminal, two seconds after the first call."""

    _outermost: ClassVar[Stages | None] = None  # which shows what those within it say, too

    def __init__(self) -> None:
        self._lock = Lock()
        self._now = ""
        self._outer: Stages | None = None
        self._live: Live | None = None
        self._timer: Timer | None = None

    def __enter__(self) -> Self:
        """Show nothing yet."""
        self._outer = Stages._outermost
        if self._outer is None:
            Stages._outermost = self
        return self

    def __call__(self, what: str) -> None:
        """Say what is done now."""
        if self._outer is not None:
            self._outer(what)
            return
        with self._lock:
            self._now = what
            if self._live is not None:
                self._live.update(_spinner(what))
            elif self._timer is None and sys.stderr.isatty():
                self._timer = Timer(PATIENCE, self._show)
                self._timer.daemon = True
                self._timer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Take the line away."""
        if self._outer is None:
            Stages._outermost = None
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._live is not None:
                self._live.stop()

    def _show(self) -> None:
        from rich.live import Live

        with self._lock:
            if self._timer is None:  # it has ended meanwhile
                return
            self._live = Live(
                _spinner(self._now),
                console=console(stderr=True),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()


def _spinner(what: str) -> Any:
    from rich.spinner import Spinner

    return Spinner("line", text=what)


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
