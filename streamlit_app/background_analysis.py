"""A separate process that reads and analyses while the server starts; each part is sent once it is known.

Its results belong to one state of the store. Whoever asks for another state, or for a part that failed, gets ``None``
and computes it: nothing shown is ever older than the store.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO, Final, Literal

from spa.errors import SpaError
from streamlit_app.options import DashboardOptions, from_environment, to_environment

Part = Literal["analysed", "profiles", "calls", "answers", "sections"]
EXPLORATION: Final = "exploration"  # worked out where it is asked for, and then alone
STATE = "state"  # sent first: what the store held before it was read


class BackgroundAnalysis:
    """What the other process has worked out so far."""

    def __init__(self, source: BinaryIO) -> None:
        self._found: dict[str, Any] = {}
        self._ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._collect, args=(source,), daemon=True).start()

    def take(self, part: Part | Literal["exploration"], state: str) -> Any:
        """Wait for a part and return it; ``None`` if it belongs to another state of the store, or failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or STATE in self._found)
            if self._found.get(STATE) != state:
                return None
            self._changed.wait_for(lambda: self._ended or part in self._found)
            return self._found.get(part)

    def has(self, part: str) -> bool:
        """Return whether a part need not be waited for: it is there, or failed."""
        with self._changed:
            return self._ended or part in self._found

    def wait(self) -> None:
        """Wait until everything is worked out."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended)

    def _collect(self, source: BinaryIO) -> None:
        with (
            source,
            suppress(EOFError, pickle.UnpicklingError),
        ):  # the process has ended, perhaps in the middle of a part
            while True:
                part, value = pickle.load(source)
                with self._changed:
                    self._found[part] = value
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def begin(options: DashboardOptions, *asked: str) -> BackgroundAnalysis:
    """Start the other process: for what the first pages show or, with ``EXPLORATION``, for the exploration of texts."""
    command = [sys.executable, "-P", "-m", "streamlit_app.background_analysis", *asked]
    environment = {**os.environ, **to_environment(options)}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment)
    if process.stdout is None:
        raise ValueError("a pipe was expected")
    threading.Thread(target=process.wait, daemon=True).start()
    return BackgroundAnalysis(process.stdout)  # type: ignore[arg-type]  # a pipe of bytes


def work(options: DashboardOptions, send: Callable[[str, object], None], *asked: str) -> None:
    """Work out what the first pages show, in the order in which they show it, or the exploration of texts."""
    from spa.commands.workspace import open_workspace
    from streamlit_app import source_analysis

    with ExitStack() as closing:
        workspace = None
        if options.study is not None:
            workspace = closing.enter_context(open_workspace(options.path, options.store, read_only=True))
        send(STATE, source_analysis.state_of_source(options, workspace))
        found = source_analysis.read_source(options, workspace)
        analysed = source_analysis.analyse_answers(found)
        if EXPLORATION in asked:
            send(EXPLORATION, source_analysis.explore_texts(analysed, options))
            return
        send("analysed", analysed)
        from analysis.monitoring.annotator_profiles import annotator_profiles

        send("profiles", annotator_profiles(found.tables, found.reading))
        send("calls", source_analysis.count_calls(workspace))
        send("answers", found)
        shown = "preferences" if analysed.results.preferences else "ratings"
        send("sections", {name: source_analysis.write_section(analysed, name) for name in ("answer", shown)})


def main() -> None:
    """Write each part to standard output, pickled, for the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the dashboard and this, without a word
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever else prints does not come between

    def send(part: str, value: object) -> None:
        out.write(pickle.dumps((part, value), protocol=pickle.HIGHEST_PROTOCOL))
        out.flush()

    try:
        with suppress(SpaError):  # nothing is handed in yet, or a file is broken: reported where it is looked at
            work(from_environment(), send, *sys.argv[1:])
    except BrokenPipeError:  # the dashboard was stopped meanwhile
        os._exit(1)


if __name__ == "__main__":
    main()
