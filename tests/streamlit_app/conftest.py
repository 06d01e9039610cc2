"""A study with answers and hostile outputs, and the real dashboard on it in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

from tests.browser.chromium import open_browser
from tests.streamlit_app.answering import answer, rehearsed_here, typed
from tests.streamlit_app.forked_analysis import fork_analyses
from tests.warm import WarmProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from playwright.sync_api import Page as Tab

PATIENCE = 200_000  # milliseconds; a busy machine is no defect, and what hangs is ended by pytest
HOSTILE = "<img src=x onerror=\"window.hacked=1\"> :red[$x$] **bold** =cmd|'/c calc'!A1"
STUDY = """
id = "watched"
title = "<b>A watched study</b> for $1$ or $2$"
seed = 5
outputs = {files = ["outputs.jsonl"], item_text = "item_text"}
systems = [{id = "alpha", name = "=Alpha <i>one</i>"}, {id = "beta", name = "Beta"}, {id = "gamma", name = "Gamma"}]
criteria = [{id = "fluency", name = "fluency"}]
likert = {}
people = {annotators = 12, pay = 2.0, currency = "GBP"}

[spa]
exposure = 2

[[raters]]
id = "echo"
model = "echo"
base_url = "http://127.0.0.1:8399/v1"
"""


@dataclass(frozen=True)
class Dashboard:
    """A running dashboard, with the links that it printed: the first, and those of reviewers by name."""

    url: str
    process: WarmProcess
    links: Mapping[str, str]

    @property
    def base(self) -> str:
        """The address without a secret."""
        return self.url.partition("/?")[0]


@pytest.fixture(autouse=True)
def own_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back what AppTest leaves as this process's script, which each process begun later would run."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a study with hostile outputs that ten simulated people and a simulated rater have answered."""
    folder = tmp_path_factory.mktemp("watched")
    rows = [
        {
            "item_id": f"i{item}",
            "system": system,
            "item_text": HOSTILE,
            "output": f"{system[0]} wrote {item}. {HOSTILE}",
        }
        for item in range(1, 7)
        for system in ("alpha", "beta", "gamma")
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "study.toml"
    path.write_text(STUDY)
    typed(["build", str(path)])
    rehearsed_here(path)
    typed(["rate", str(path), "--simulate"])
    answer(path, 10)
    return path


@contextmanager
def started(study: Path | None, *options: str) -> Iterator[Dashboard]:
    """Start ``spa dashboard`` as a user does and stop it on leaving."""
    process = WarmProcess(["dashboard", *([study] if study else []), "--port", "0", *options], prepare=fork_analyses)
    try:
        assert process.stdout is not None
        links: dict[str, str] = {}
        while "Ctrl-C stops" not in (line := process.stdout.readline()):
            assert line  # else it has ended
            if found := re.search(r"(.*): (http://\S+)", line):
                links[found[1]] = found[2]
        threading.Thread(target=_print_lines, args=(process.stdout,), daemon=True).start()
        yield Dashboard(url=next(iter(links.values())), process=process, links=links)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def _print_lines(output: IO[str]) -> None:
    """Print what the dashboard says, for the test under way to show if it fails."""
    with output:
        for line in output:
            print(line, end="")  # noqa: T201


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return Debian's Chromium; closed with the module, as its event loop would stand in the way of other tests."""
    with open_browser("--process-per-site") as found:
        yield found


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Return a desk's browser, which loads and compiles what all pages share once."""
    desk = browser.new_context(viewport={"width": 1280, "height": 1100}, reduced_motion="reduce")
    desk.set_default_timeout(PATIENCE)
    kept = desk.new_page()  # an empty page of loopback; without one the process of its pages ends with each test
    kept.route("**", lambda asked: asked.fulfill(body=""))
    kept.goto("http://localhost/")
    yield desk
    desk.close()


@pytest.fixture
def copied(watched: Path, tmp_path: Path) -> Path:
    """Return a copy of the study that a test may decide on."""
    return Path(shutil.copytree(watched.parent, tmp_path / "copied")) / watched.name


@pytest.fixture(scope="package")
def dashboard(watched: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """Return a dashboard that only reads, on which systems were asked for: its copy of the study notes that."""
    study = Path(shutil.copytree(watched.parent, tmp_path_factory.mktemp("read") / "study")) / watched.name
    with started(study, "--show-systems") as running:
        yield running


@pytest.fixture(scope="module")
def lasting_tab(context: BrowserContext) -> Tab:
    """Return a tab that is opened once: a new one costs a quarter of a visit."""
    return context.new_page()


@pytest.fixture
def tab(lasting_tab: Tab) -> Iterator[Tab]:
    """Return a tab in which no output of the study ever ran a script."""
    yield lasting_tab
    assert lasting_tab.evaluate("window.hacked") is None
    lasting_tab.goto("about:blank")
