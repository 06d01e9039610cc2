"""Walks a study of each medium by keyboard to its completion code in Firefox, and writes what each page looks like.

``python -m tests.browser.second_engine --out screenshots``, with Debian's firefox-esr; without it, it says so and ends.
Firefox is asked by WebDriver BiDi, which it speaks itself. Pages may complain of nothing, nor be wider than the window.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spa.commands.workspace import open_workspace
from spa.server.app import create_app
from spa.server.http_server import serve_on_loopback
from tests.browser.chromium import DESK, PHONE
from tests.spa.media.chat_answers import ANSWERS
from tests.spa.rehearsed import spa
from tests.spa.tiny_clips import film, tone, wav

FIREFOX = "firefox-esr"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": " ", "ArrowRight": "\ue014"}
PATIENCE = 20  # seconds
WIDE = f"\n\n$${' + '.join(f'a_{{{number}}}' for number in range(60))}$$"  # wider than any column
FOCUS = """(() => { const one = document.activeElement;
  const clip = one.matches("audio, video") ? one.src : "";
  const [name, next] = [clip || (one.name ?? ""), one.matches(".next, #next")];
  const left = one.matches(".unseen-outputs li:not(.done) button");
  return { clip, left, name, next, type: one.type ?? "", value: one.value ?? "" };
})()"""
CAPTIONS = "WEBVTT\n\n00:00.000 --> 00:01.000\nOne tone\n"
CLIPS = ("audio", "video", "mushra", "speech", "speech-spa")  # studies in which they are to be played
HEARD = ".clip.played, article:not([data-seconds])"
TOO_WIDE = "document.documentElement.scrollWidth > innerWidth"


class Firefox:
    """A window of Firefox."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0
        self.said: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self._context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result; what pages say meanwhile is kept."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(timeout=PATIENCE))
            if told.get("id") == self._number:
                assert told["type"] == "success", told
                return told["result"]
            if told.get("method") == "log.entryAdded" and told["params"]["level"] in ("error", "warn"):
                self.said.append(str(told["params"].get("text")))

    def here(self, method: str, **parameters: Any) -> Any:
        """Send a command about the window."""
        return self.call(f"browsingContext.{method}", context=self._context, **parameters)

    def ask(self, script: str) -> Any:
        """Return the value of an expression on the page, also of one that is being loaded."""
        for _ in range(PATIENCE * 5):
            told = self.call(
                "script.evaluate",
                expression=f"JSON.stringify(document.readyState === 'complete' ? [{script}] : null)",
                target={"context": self._context},
                awaitPromise=True,
            )
            found = json.loads(told["result"]["value"]) if told["type"] == "success" else None
            if found is not None:
                return found[0]
            time.sleep(0.2)
        raise TimeoutError(script)

    def press(self, key: str) -> None:
        """Press a key, or type a text letter by letter."""
        letters = [KEYS[key]] if key in KEYS else list(key)
        strokes = [{"type": kind, "value": one} for one in letters for kind in ("keyDown", "keyUp")]
        keys = [{"type": "key", "id": "keys", "actions": strokes}]
        self.call("input.performActions", context=self._context, actions=keys)

    def walk(self, address: str, out: Path) -> str:
        """Answer every page by keyboard alone; return the completion code."""
        self.here("navigate", url=address, wait="complete")
        for number in range(30):
            picture = self.here("captureScreenshot", origin="document")["data"]
            out.with_name(f"{out.name}-{number:02}.png").write_bytes(base64.b64decode(picture))
            assert not self.ask(TOO_WIDE), f"page {number} of {out.name} is wider than the window"
            if code := self.ask("document.querySelector('.code')?.textContent ?? null"):
                return str(code)
            self._answer(self.ask("location.pathname"))
        raise TimeoutError(out.name)

    def _answer(self, page: str) -> None:
        seen: set[str] = set()
        for _ in range(300):
            self.press("Tab")
            focus = self.ask(FOCUS)
            new = focus["name"] not in seen
            seen.add(focus["name"])
            if focus["type"] in ("radio", "checkbox") and new:
                self.press("Space")
            elif focus["clip"] and new:
                self._hear()
            elif focus["left"]:
                self.press("Enter")  # leads to the output
            elif focus["type"] == "range":
                self.press("ArrowRight")
            elif focus["type"] == "number" and new and not focus["value"]:
                self.press("60")
            elif focus["next"]:
                self.press("Enter")
                for _ in range(10):
                    if self.ask("location.pathname") != page:
                        return
                    time.sleep(0.2)
                if self.ask(FOCUS)["left"]:
                    self.press("Enter")
        raise TimeoutError(page)

    def _hear(self) -> None:
        """Play the clip that has the focus to its end, which a page asks for unless it is a labelled reference."""
        self.press("Space")
        for _ in range(PATIENCE * 5):
            if self.ask(f"document.activeElement.ended && document.activeElement.closest('{HEARD}') !== null"):
                return
            time.sleep(0.2)
        raise TimeoutError(str(self.ask("[document.activeElement.src, document.activeElement.error?.message]")))


@contextmanager
def firefox(*, dark: bool, viewport: dict[str, int]) -> Iterator[Firefox]:
    """Run a Firefox of its own, in light or dark colours, in a window of a size."""
    from websockets.sync.client import connect

    wanted = {"layout.css.prefers-color-scheme.content-override": 0 if dark else 1, "ui.prefersReducedMotion": 1}
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        lines = (f'user_pref("{name}", {value});\n' for name, value in wanted.items())
        Path(profile, "user.js").write_text("".join(lines))
        command = [FIREFOX, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
            assert run.stderr is not None
            address = next(found.group() for line in run.stderr if (found := re.search(r"ws://\S+", line)))
            try:
                with connect(f"{address}/session", max_size=None) as socket:
                    window = Firefox(socket)
                    window.here("setViewport", viewport=viewport)
                    window.here("activate")
                    yield window
            finally:
                run.terminate()


def studies(folder: Path) -> Iterator[Path]:
    """Make a study of each medium, one from right to left, and listening tests."""
    examples = ("stories/study.toml", "ar/study.toml", "images/study.toml", "mushra/study.toml")
    for example, study in (one.split("/") for one in (*examples, "speech/study.toml", "speech/spa.toml")):
        own = folder / (example if study == "study.toml" else f"{example}-{study.removesuffix('.toml')}")
        shutil.copytree(str(files("spa.examples") / example), own)
        yield (own / study).replace(own / "study.toml")
    turns = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "With what?"}]
    for kind in ("markdown", "conversation"):
        table = folder / f"{kind}.jsonl"
        with table.open("w", encoding="utf-8") as held:
            for number, one in enumerate(ANSWERS[:16]):
                source = one.source + WIDE
                last = {"role": "assistant", "content": source}
                shown = source if kind == "markdown" else [*turns, {"role": "user", "content": "Both."}, last]
                held.write(json.dumps({"item": number // 2, "system": "ab"[number % 2], "output": shown}) + "\n")
        spa("init", folder / kind, "--outputs", table, "--kind", kind, "--yes")
        yield folder / kind / "study.toml"
    made = {"audio": wav(tone(440, seconds=1.0)), "video": film(1.0)}
    for kind, suffix in (("audio", "wav"), ("video", "mp4")):
        table, rows = folder / f"{kind}.jsonl", []
        for number in range(16):
            name = f"clip-{number}.{suffix}"
            (folder / name).write_bytes(made[kind])
            (folder / name).with_suffix(".vtt").write_text(CAPTIONS, encoding="utf-8")
            rows.append({"item": number // 2, "system": "ab"[number % 2], "output": name})
        table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        spa("init", folder / kind, "--outputs", table, "--kind", kind, "--yes")
        yield folder / kind / "study.toml"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of studies")
    given = parser.parse_args()
    out: Path = given.out
    if shutil.which(FIREFOX) is None:
        sys.stdout.write(f"skipped: no {FIREFOX} (Debian: apt-get install firefox-esr)\n")
        return
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        for study in studies(Path(name)):
            folder = study.parent
            if given.only and folder.name not in given.only:
                continue
            least = 0.01 if folder.name in CLIPS else 0  # clips are to be played, nothing is to be waited for
            text = study.read_text(encoding="utf-8").replace(
                "[people]", f"[people]\nseconds_per_100_words = {least}", 1
            )
            study.write_text(text, encoding="utf-8")
            spa("build", study, "--annotators", 4)
            with open_workspace(study) as workspace, serve_on_loopback(create_app(workspace)) as url:
                tokens = iter(workspace.store.tokens())
                for viewport in (PHONE, DESK):
                    for dark in (False, True):
                        shown = out / f"{folder.name}-{viewport['width']}-{'dark' if dark else 'light'}"
                        with firefox(dark=dark, viewport=viewport) as window:
                            code = window.walk(f"{url}/a/{next(tokens)}", shown)
                        assert window.said == [], window.said
                        sys.stdout.write(f"{shown.name}: {code}\n")
                        sys.stdout.flush()


if __name__ == "__main__":
    main()
