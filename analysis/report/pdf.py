"""The report as PDF, printed by Chromium without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from spa.errors import AnalysisError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
FLAGS = (
    "--headless",
    "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--disable-background-networking",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
)
SECONDS = 600  # hundreds of pages take minutes


def find_browser(browser: Path | None = None) -> str:
    """Return the command of a Chromium.

    Parameters
    ----------
    browser : Path, optional
        The program to use; unless given, the usual names and places are tried.

    Raises
    ------
    AnalysisError
        There is none.
    """
    wanted = (str(browser),) if browser else (*BROWSERS, *PLACES)
    found = next((path for path in map(shutil.which, wanted) if path), None)
    if found is None:
        got = f"{browser}, which cannot be run" if browser else "none"
        raise AnalysisError(
            f"--pdf: expected Chromium, Chrome or Edge on this machine, got {got}; install one, name it by --browser "
            "PATH, or print report.html from a browser"
        )
    return found


def print_pdf(html: str, browser: str) -> bytes:
    """Return a page as PDF.

    Parameters
    ----------
    html : str
        A page of :func:`analysis.report.html.render_html`, whose policy lets nothing be loaded or run.
    browser : str
        What :func:`find_browser` returned.

    Raises
    ------
    AnalysisError
        The browser made no PDF.
    """
    with tempfile.TemporaryDirectory(prefix="spa-pdf-") as name:
        folder = Path(name)
        page, made = folder / "report.html", folder / "report.pdf"
        page.write_text(html, encoding="utf-8")
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # Chromium refuses else
        command = [browser, *FLAGS, *root, f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={made}"]
        try:
            ended = subprocess.run(
                [*command, page.as_uri()],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
            problem = (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            problem = f"no end after {SECONDS} seconds"
        except OSError as error:
            problem = error.strerror or str(error)
        if not made.is_file():
            raise AnalysisError(
                f"--pdf: {browser} made no PDF ({problem[:200]}); name another by --browser PATH, or print report.html"
            )
        return made.read_bytes()
