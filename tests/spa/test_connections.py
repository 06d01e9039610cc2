"""What a connection may send, and how long it may take, whoever is at its other end."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import Response

from mturk.endpoint.site import app
from spa.server import http_connection, http_server
from spa.server.http_server import serve_on_loopback
from tests.conftest import need

KB = 1000
PATIENCE = 15.0  # seconds, fewer than the server has


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Serve an application that says how many bytes a body had."""
    app = FastAPI()

    async def count(request: Request) -> Response:
        return Response(str(len(await request.body())))

    async def listen(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.receive()

    app.add_api_route("/", count, methods=["GET", "POST"])
    app.add_api_websocket_route("/ws", listen)
    with serve_on_loopback(app) as url:
        yield url


def connect(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), timeout=PATIENCE)


def answers(client: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    said = b""
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            said += piece
    return said


def statuses(said: bytes) -> list[int]:
    return [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]


GET = b"GET / HTTP/1.1\r\nhost: x\r\n"
LAST = GET + b"connection: close\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (GET + b"a: " + b"b" * 15 * KB + b"\r\nconnection: close\r\n\r\n", [200]),
        (GET + b"a: " + b"b" * 20 * KB + b"\r\n\r\n", [431]),
        (GET + b"a: " + b"b" * 20 * KB, [431]),  # a head that has not come to its end
        (GET + b"a: b\r\n" * 6 * KB + b"\r\n", [431]),
        (b"GET /?" + b"b" * 20 * KB + b" HTTP/1.1\r\nhost: x\r\n\r\n", [431]),
        (b"\r\n" * 10 * KB, [431]),
        (CHUNKED + b"t: " + b"b" * 20 * KB + b"\r\n\r\n", []),  # a trailer is a header too
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900000\r\n\r\n" + b"b" * 900 * KB + LAST, [200, 200]),
        ((GET + b"a: " + b"b" * 9 * KB + b"\r\n\r\n") * 3 + LAST, [200] * 4),  # each head has its own measure
        (b"nonsense\r\n\r\n", [400]),
    ],
    ids="long too-long unended many address blank trailer body several nonsense".split(),
)
def test_a_head_beyond_the_limit_is_refused(server: str, sent: bytes, expected: list[int]) -> None:
    with connect(server) as client:
        client.sendall(sent)
        assert statuses(answers(client)) == expected


def test_a_header_line_without_end_holds_nobody_up(server: str) -> None:
    began = time.process_time()  # not the time of day, of which a busy machine takes its share
    with connect(server) as endless:
        with suppress(ConnectionError):  # closed while it still sends
            endless.sendall(GET + b"a: ")
            for _ in range(40):
                endless.sendall(b"b" * 1000 * KB)
        with connect(server) as other:
            other.sendall(LAST)
            assert statuses(answers(other)) == [200]
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", []),
        (GET, [408]),
        (GET + b"\r\n" + GET, [200, 408]),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc", []),
    ],
    ids="nothing head second-head body".split(),
)
def test_who_does_not_go_on_is_not_waited_for(
    server: str, sent: bytes, expected: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(http_connection, name, 0.2)
    with caplog.at_level(logging.INFO), connect(server) as client:
        client.sendall(sent)
        assert statuses(answers(client)) == expected  # before this side loses its patience
    assert not caplog.records


@pytest.mark.parametrize("drop", [b"\r\n", b"a"])
def test_a_head_that_drips_is_not_waited_for(server: str, drop: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "HEAD_SECONDS", 0.5)
    with connect(server) as client:
        client.sendall(GET * (drop == b"a"))
        with pytest.raises(ConnectionError):
            drip(client, drop)


def drip(client: socket.socket, drop: bytes) -> None:
    """Send a little again and again, until the patience is over."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        client.sendall(drop)
        time.sleep(0.1)


def test_a_websocket_stays_open(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need("websockets")
    for name in ("HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(http_connection, name, 0.3)
    key = b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
    with connect(server) as client:
        client.sendall(GET.replace(b"/", b"/ws", 1) + b"connection: upgrade\r\nupgrade: websocket\r\n" + key)
        assert statuses(client.recv(65536)) == [101]
        client.settimeout(1)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_all_servers_limit_their_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: seen.append(self.config.http))
    with http_server.listen("127.0.0.1", 0) as one, http_server.listen("127.0.0.1", 0) as other:
        http_server.run(FastAPI(), one)
        app.serve_both_ports(FastAPI(), FastAPI(), one, other)
    assert seen == [http_connection.LimitedConnection] * 2


def test_a_client_that_goes_away_in_the_middle_is_no_failure(server: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        with connect(server) as client:
            client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc")
        with connect(server) as other:  # answered after the other's end was noticed
            other.sendall(LAST)
            assert statuses(answers(other)) == [200]
    assert not caplog.records
