"""The commands ``spa serve`` and ``spa preview``: what they print, write and refuse."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from click.testing import CliRunner

from spa.cli import main
from spa.responses.store import Store
from tests import patience
from tests.spa.served_pages import ReadPage
from tests.spa.server.served_study import Place, opened
from tests.spa.server.served_study import built as built
from tests.spa.server.served_study import place as place


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_preview_writes_the_form_of_the_build_as_one_page(built: Path, place: Place, tmp_path: Path) -> None:
    out = tmp_path / "form.html"
    code, output = run("preview", str(built), "--form", "a00002", "--out", str(out))
    assert (code, output.strip()) == (
        0,
        f"wrote {out}: {len(place.workspace.form('a00002').pages)} pages of assignment a00002",
    )
    for page in place.workspace.form("a00002").pages:
        assert all(question.text in out.read_text() for question in page.questions)
    assert [path.name for path in tmp_path.glob("form*")] == ["form.html"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("preview", "--page", "p99", "--out", "x.html"), "--page expected one of p1, "),
        (("preview", "--form", "b1"), "--form expected a name such as a00001, got 'b1'"),
        (("preview", "--form", "a1"), "has no assignment 'a1'"),
        (("serve", "--store", "absent.sqlite"), "spa build"),
        (("serve", "--host", "256.1.1.1"), "cannot listen here"),
    ],
)
def test_a_mistake_is_told_in_one_line(built: Path, arguments: tuple[str, ...], wanted: str) -> None:
    command, *options = arguments
    code, output = run(command, str(built), *options)
    assert code == 1
    assert len(output.strip().splitlines()) == 1
    assert wanted in output


def test_a_port_in_use_is_told_in_one_line(built: Path) -> None:
    from spa.server.http_server import listen

    with listen("127.0.0.1", 0) as taken:
        port = taken.address.rpartition(":")[2]
        code, output = run("serve", str(built), "--port", port)
    assert code == 1
    assert f"127.0.0.1:{port}: cannot listen here (Address already in use)" in output


def test_serve_refuses_unwritable_store(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that cannot be written is told before anybody answers."""
    store = tmp_path / "answers.sqlite"
    opened(built, store).workspace.close()
    open_patiently = Store.open
    monkeypatch.setattr(Store, "open", lambda target, **options: open_patiently(target, **options | {"wait": 0.05}))
    with sqlite3.connect(store, isolation_level=None) as other:
        other.execute("begin immediate")
        code, output = run("serve", str(built), "--store", str(store), "--port", "0")
        other.execute("rollback")
    other.close()
    assert code == 1
    assert len(output.strip().splitlines()) == 1
    assert "locked" in output


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_links_and_closes_store(built: Path, tmp_path: Path, told: signal.Signals) -> None:
    """Serve prints its links and closes its store when told to stop."""
    store, links = tmp_path / "answers.sqlite", tmp_path / "links.txt"
    with opened(built, store).workspace as workspace:
        taken = workspace.store.new_token()  # as somebody got it who came by the open link
    command = [
        str(Path(sys.executable).with_name("spa")),
        "serve",
        str(built),
        "--store",
        str(store),
        "--port",
        "0",
        "--links",
        str(links),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            lines = [served.stdout.readline() for _ in range(4)]
            assert lines[1].startswith("open link: closed, 6 places are reserved for personal links")
            personal = links.read_text().splitlines()
            assert len(personal) == 6
            address = personal[0].partition("a/")[0]
            assert all(link.startswith(f"{address}a/") for link in personal)
            assert not any(taken in link for link in personal)
            page = httpx2.get(personal[0], follow_redirects=True, trust_env=False, timeout=patience.SECONDS)
            assert ReadPage(page.text).all("form")
            assert "server" not in page.headers
            with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0)) as slow:
                slow.sendall(b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc")  # and no more
                served.send_signal(told)
                _, errors = served.communicate(timeout=9)
        finally:
            served.kill()  # a failed assertion must not wait for a server that nobody stops
    assert (served.returncode, errors) == (0, "")
    assert not store.with_name(f"{store.name}-wal").exists()  # a copy of the one file has all
