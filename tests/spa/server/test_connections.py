"""What a connection may send, and how long it may take, whoever is at its other end."""

from __future__ import annotations

import logging
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import Response

from mturk.endpoint.site import app
from spa.server import http_connection, http_server, http_waiting
from spa.server.http_server import serve_on_loopback
from spa.server.http_waiting import WaitingConnections, allow_more_files, open_files
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


def test_connections_half_sent_heads_are_cut(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-sent heads of one network are cut and others answered."""
    for name, value in (("FEW_OF_ONE", 4), ("MOST_OF_ONE", 8), ("LAST_SECONDS", 0.2), ("HURRIED_SECONDS", 30.0)):
        monkeypatch.setattr(http_waiting, name, value)
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(40)]
        for client in clients:
            client.sendall(GET)
        with connect(server) as other:
            other.sendall(LAST)
            assert statuses(answers(other)) == [200]
        until = time.monotonic() + PATIENCE
        while (left := sum(waits(client) for client in clients)) > 8 and time.monotonic() < until:
            time.sleep(0.05)
        assert 0 < left <= 8
        assert not waits(clients[0])


def waits(client: socket.socket) -> bool:
    """Return whether the server still waits for a client."""
    client.setblocking(False)
    try:
        client.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    return False


class Client:
    """A connection that only notes what it is told."""

    def __init__(self, block: str) -> None:
        self.block = block
        self.seconds: list[float] = []

    def give_up_in(self, seconds: float) -> None:
        """Note the seconds."""
        self.seconds.append(seconds)


def test_connections_waiting_time_shrinks() -> None:
    """Where many wait there is less time and the oldest go first."""
    waiting = WaitingConnections(open_files=100_000)
    crowd = [Client("192.0.2.0/24") for _ in range(66)]
    assert [waiting.begin(client, 20.0) for client in crowd] == [20.0] * 16 + [5.0] * 50
    assert [client.seconds for client in crowd[:3]] == [[1.0], [1.0], []]
    assert waiting.begin(Client("198.51.100.0/24"), 20.0) == 20.0  # somebody else has their time
    assert waiting.begin(crowd[0], 90.0) == 5.0  # the same connection counts once
    assert len(waiting) == 67
    for client in crowd:
        waiting.end(client)
        waiting.end(client)
    assert len(waiting) == 1
    assert waiting.begin(crowd[0], 20.0) == 20.0


def test_connections_of_many_networks_are_limited() -> None:
    """Many networks together have less time and no more than the files allow."""
    waiting = WaitingConnections(open_files=600)
    crowd = [Client(f"10.0.{number}.0/24") for number in range(175)]
    assert [waiting.begin(client, 20.0) for client in crowd] == [20.0] * 128 + [5.0] * 47
    assert sum(client.seconds == [1.0] for client in crowd) == 3
    idle = Client("203.0.113.0/24")
    waiting.rest(idle)
    waiting.make_room(344)
    assert idle.seconds == []
    waiting.make_room(345)
    assert idle.seconds == [0.0]  # who has nothing to ask goes before who asks
    waiting.make_room(345)
    assert crowd[3].seconds == [0.0]


def test_a_process_takes_as_many_files_as_it_may() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, before[1]), before[1]))
        assert open_files() == min(512, before[1])
        allow_more_files()
        assert open_files() == min(http_waiting.MOST_FILES, before[1] if before[1] >= 0 else http_waiting.MOST_FILES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_connection_at_rest_is_closed_when_there_is_no_room(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(server) as idle:
        idle.sendall(GET + b"\r\n")
        assert statuses(idle.recv(65536)) == [200]
        monkeypatch.setattr(WaitingConnections, "make_room", full_house(WaitingConnections.make_room))
        with connect(server) as other:
            other.sendall(LAST)
            assert statuses(answers(other)) == [200]
        assert idle.recv(1) == b""


def full_house(make_room: Callable[[WaitingConnections, int], None]) -> Callable[[WaitingConnections, int], None]:
    return lambda waiting, connections: make_room(waiting, 10**6)


def test_who_takes_nothing_of_what_is_sent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "READ_SECONDS", 0.2)
    app = FastAPI()
    app.add_api_route("/", lambda: Response(b"x" * 20_000 * KB), methods=["GET"], response_model=None)
    with serve_on_loopback(app) as url, connect(url) as client:
        client.sendall(LAST)
        time.sleep(0.6)  # longer than the server has patience
        assert len(answers(client)) < 20_000 * KB


def test_workers_that_hang_are_killed_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "LAST_SECONDS", 0.0)
    ended: list[str] = []

    class Process:
        def __init__(self, name: str, *, hangs: bool) -> None:
            self.name, self.hangs, self.process = name, hangs, self

        def join(self, timeout: float | None = None) -> None:
            if timeout is None:
                ended.append(self.name)

        def is_alive(self) -> bool:
            return self.hangs

        def kill(self) -> None:
            self.hangs = False

    workers = http_server._Workers.__new__(http_server._Workers)
    workers.processes = [Process("good", hangs=False), Process("hangs", hangs=True)]  # type: ignore[list-item]
    workers.join_all()
    assert ended == ["hangs"]


def test_server_stops_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server told to stop ends in time whatever it waits for."""
    ended: list[int] = []
    monkeypatch.setattr(http_server, "LAST_SECONDS", 0.05)
    monkeypatch.setattr("os._exit", ended.append)
    server = http_server._Server(http_server.server_config(FastAPI()), lambda: None)
    with closing(server.ending):
        server.handle_exit(15, None)
        server.handle_exit(15, None)
        until = time.monotonic() + PATIENCE
        while not ended and time.monotonic() < until:
            time.sleep(0.01)
    assert ended == [1]
    other = http_server._Server(http_server.server_config(FastAPI()), lambda: None)
    with closing(other.ending):
        other.handle_exit(15, None)
    time.sleep(0.1)
    assert ended == [1]  # it had ended by then
