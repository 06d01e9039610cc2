"""A bare survey server: FastAPI on uvicorn stores what was posted in SQLite, commits, and shows the same page again.

Usage: ``python -m tests.benchmarks.peers.pages PORT FOLDER``; FOLDER holds ``page.html``.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response


def application(folder: Path) -> FastAPI:
    """Return the server: two requests a page, as of the survey server."""
    page = (folder / "page.html").read_text(encoding="utf-8")
    store = sqlite3.connect(folder / "bare.sqlite", isolation_level=None, check_same_thread=False)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute("CREATE TABLE payloads (number INTEGER PRIMARY KEY, payload BLOB)")

    async def show() -> HTMLResponse:
        return HTMLResponse(page)

    async def keep(request: Request) -> Response:
        payload = await request.body()
        store.execute("BEGIN IMMEDIATE")
        store.execute("INSERT INTO payloads (payload) VALUES (?)", (payload,))
        store.execute("COMMIT")
        return RedirectResponse("/", status_code=303)

    app = FastAPI()
    app.add_api_route("/", show, methods=["GET"])
    app.add_api_route("/", keep, methods=["POST"])
    return app


if __name__ == "__main__":
    uvicorn.run(application(Path(sys.argv[2])), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
