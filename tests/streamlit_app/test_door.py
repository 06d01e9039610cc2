"""The door of the dashboard: by another name, from another page, without a secret nothing is answered."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from spa.responses.reviewer_secrets import DashboardRole, Reviewer, hash_of

starlette = pytest.importorskip("starlette.testclient")
from starlette.requests import HTTPConnection  # noqa: E402
from starlette.responses import PlainTextResponse  # noqa: E402
from starlette.types import Receive, Scope, Send  # noqa: E402
from starlette.websockets import WebSocket, WebSocketDisconnect  # noqa: E402

from streamlit_app.access import DashboardAccess, Person, PrintedLink, links_of_run  # noqa: E402
from streamlit_app.door import Door, Hosts  # noqa: E402
from tests.streamlit_app.conftest import Dashboard  # noqa: E402

OWN = "http://localhost:8501"
ANA: frozenset[DashboardRole] = frozenset(("read", "review"))
EVERY_DOOR = ("/", "/submissions", "/submitted-form/s1", "/_stcore/host-config", "/static/js/index.js", "/media/x")


async def behind(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer everything that the door lets in, as the dashboard would; echo what a websocket says."""
    if scope["type"] == "http":
        await PlainTextResponse(f"inside {HTTPConnection(scope).url.path}")(scope, receive, send)
        return
    websocket = WebSocket(scope, receive, send)
    await websocket.accept()
    try:
        while True:
            await websocket.send_text(await websocket.receive_text())
    except WebSocketDisconnect:
        return


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Doorstep:
    """A door with Ana and Ben of the store, the link of this run, and somebody before it."""

    def __init__(self, *, host: str = "127.0.0.1", public_url: str | None = None, names: Sequence[str] = ()) -> None:
        self.clock = Clock()
        self.enrolled = [
            Reviewer(name=name, roles=ANA, secret_hash=hash_of(f"secret-of-{name}")) for name in ("Ana", "Ben")
        ]
        self.links: list[PrintedLink] = links_of_run(names)
        access = DashboardAccess(self.links, lambda: self.enrolled, clock=self.clock)
        self.door = Door(behind, access=access, hosts=Hosts(host, public_url), secure=bool(public_url))

    def client(self, base: str = OWN, *, secret: str | None = None) -> Any:
        """Return a browser, which has opened the link of a secret if one is named."""
        found = starlette.TestClient(self.door, base_url=base, follow_redirects=False)
        if secret is not None:
            assert found.get("/", params={"token": secret}).status_code == 303
        return found


def connects(client: Any, **headers: str) -> bool:
    try:
        with client.websocket_connect("ws://localhost:8501/_stcore/stream", headers=headers) as opened:
            opened.send_text("x")
            return bool(opened.receive_text() == "x")
    except WebSocketDisconnect as refused:
        return refused.code != 1008


@pytest.mark.parametrize("path", EVERY_DOOR)
def test_nothing_is_answered_without_a_secret_but_that_it_runs(path: str) -> None:
    client = Doorstep().client()
    for asked in (client.get(path), client.get(path, params={"token": "guessed"}), client.get("/sign-in")):
        assert asked.status_code == 403
        assert "inside" not in asked.text
        assert "set-cookie" not in asked.headers
    assert client.get("/_stcore/health").text == "inside /_stcore/health"


def test_dashboard_link_secret_becomes_cookie() -> None:
    """The secret of the link becomes a cookie and leaves the address."""
    step = Doorstep()
    client = step.client()
    asked = client.get("/submissions", params={"submission": "s 1", "token": step.links[0].secret})
    assert (asked.status_code, asked.headers["location"]) == (303, "/submissions?submission=s+1")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(asked.headers["set-cookie"].split("; "))
    assert client.get("/submissions").text == "inside /submissions"
    assert (
        client.get(f"{OWN}//elsewhere.example/", params={"token": step.links[0].secret}).headers["location"][:2] != "//"
    )


def test_dashboard_secret_or_link_typed() -> None:
    """A secret or a link can be typed and a wrong one leads nowhere."""
    for typed in ("secret-of-Ana", f"{OWN}/?token=secret-of-Ana"):
        client = Doorstep().client()
        assert client.post("/sign-in", data={"token": "wrong"}).status_code == 403
        assert client.post("/sign-in", data={"token": typed}, headers={"origin": OWN}).status_code == 303
        assert client.get("/").text == "inside /"
    assert client.post("/sign-in", content=b"x=" + b"x" * 5_000 + b"&token=secret-of-Ana").status_code == 403


@pytest.mark.parametrize(
    "host", ["rebound.example", "rebound.example:8501", "localhost.rebound.example", "rebound.example@localhost", "",
             "10.0.0.9:8501", "localhost:port", "localhost/x"],
)  # fmt: skip
def test_another_name_is_not_answered_even_with_the_cookie(host: str) -> None:
    client = Doorstep().client(secret="secret-of-Ana")
    assert connects(client, origin=OWN)
    for path in (*EVERY_DOOR, "/_stcore/health"):
        assert client.get(path, headers={"host": host}).status_code == 421
    assert client.get("/", params={"token": "secret-of-Ana"}, headers={"host": host}).status_code == 421
    assert not connects(client, host=host, origin=f"http://{host}")


def test_dashboard_answers_own_names() -> None:
    """Names of this machine and of the public URL are answered."""
    for host, public, names in (
        ("127.0.0.1", None, ("localhost:9000", "127.0.0.1:8501", "[::1]:8501", "LOCALHOST.")),
        ("192.0.2.7", None, ("192.0.2.7:8501", "localhost")),
        ("0.0.0.0", "https://lab.example/", ("192.0.2.9:8501", "lab.example", "[2001:db8::1]:1")),
    ):
        client = Doorstep(host=host, public_url=public).client()
        assert {client.get("/_stcore/health", headers={"host": name}).status_code for name in names} == {200}
    assert client.get("/", headers={"host": "other.example"}).status_code == 421
    assert Hosts("0.0.0.0").for_streamlit == ["*"]
    assert Hosts("127.0.0.1", "https://lab.example").for_streamlit == [
        "localhost",
        "127.0.0.1",
        "::1",
        "lab.example",
    ]


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://localhost:3000", "https://localhost:85010", "null", "http://127.0.0.1:8501"],
)
def test_dashboard_refuses_other_sites(origin: str) -> None:
    """A page of another site opens no websocket and posts nothing."""
    client = Doorstep().client(secret="secret-of-Ana")
    assert not connects(client, origin=origin)
    assert client.post("/sign-in", data={"token": "secret-of-Ana"}, headers={"origin": origin}).status_code == 403
    assert client.put("/_stcore/upload_file/x", headers={"origin": origin}).status_code == 403
    embedded = {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}
    assert client.get("/media/x", headers=embedded).status_code == 403
    assert client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200


def test_a_websocket_wants_the_cookie_and_a_page_of_ours() -> None:
    step = Doorstep()
    with pytest.raises(WebSocketDisconnect):  # before it is open
        step.client().websocket_connect("ws://localhost:8501/_stcore/stream", headers={"origin": OWN}).__enter__()
    assert not connects(step.client(), origin=OWN, cookie="spa-dashboard=guessed")
    assert connects(step.client(secret="secret-of-Ana"), origin=OWN)
    behind_tls = Doorstep(public_url="https://lab.example").client("http://localhost:8501")
    cookie = {"cookie": "spa-dashboard=secret-of-Ana", "origin": "https://lab.example"}
    assert connects(behind_tls, **cookie)  # a proxy that does not pass on the name


def test_over_tls_the_cookie_is_sent_over_tls_alone() -> None:
    client = Doorstep(public_url="https://lab.example").client("https://lab.example")
    assert "Secure" in client.get("/", params={"token": "secret-of-Ana"}).headers["set-cookie"]


def test_one_browser_is_one_reviewer() -> None:
    step = Doorstep(names=("Cem", "Dia"))
    nameless, cem, dia = (link.secret for link in step.links)
    client = step.client(secret=nameless)
    assert client.get("/", params={"token": cem}).status_code == 303  # who watched may be a reviewer, once
    for other in (dia, "secret-of-Ana"):
        asked = client.get("/", params={"token": other})
        assert (asked.status_code, "set-cookie" in asked.headers) == (409, False)
        assert client.post("/sign-in", data={"token": other}).status_code == 409
    assert "set-cookie" not in client.get("/", params={"token": nameless}).headers  # and stays one
    assert client.get("/", params={"token": cem}).status_code == 303


def test_dashboard_replaced_secret_locks_out() -> None:
    """Whose secret was replaced is outside within a second and another may have the browser."""
    step = Doorstep()
    client = step.client(secret="secret-of-Ana")
    with client.websocket_connect("ws://localhost:8501/_stcore/stream", headers={"origin": OWN}) as opened:
        opened.send_text("x")
        assert opened.receive_text() == "x"
        step.enrolled = [Reviewer(name="Ana", roles=ANA, secret_hash=hash_of("another")), *step.enrolled[1:]]
        step.clock.now = 1.0
        opened.send_text("y")
        with pytest.raises(WebSocketDisconnect):
            opened.receive_text()
    assert client.get("/").status_code == 403
    assert client.get("/", params={"token": "secret-of-Ben"}).status_code == 303


@pytest.mark.one_process("dashboard")
def test_dashboard_websocket_needs_own_page_and_cookie(dashboard: Dashboard) -> None:
    """Ask with a client that, other than a browser, says whatever it likes of host and origin."""
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    base, _, secret = dashboard.url.partition("/?token=")
    place, cookie = base.removeprefix("http://"), f"spa-dashboard-{base.rpartition(':')[2]}={secret}"

    def status(host: str | None = None, origin: str | None = base, with_cookie: bool = True) -> int:
        headers = {**({"Host": host} if host else {}), **({"Cookie": cookie} if with_cookie else {})}
        try:
            with connect(
                f"ws://{host or place}/_stcore/stream",
                sock=socket.create_connection(("127.0.0.1", int(place.rpartition(":")[2]))),
                origin=origin,  # type: ignore[arg-type]
                additional_headers={name: text for name, text in headers.items() if name != "Host"},
                subprotocols=["streamlit"],  # type: ignore[list-item]
                proxy=None,
            ):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code

    assert status() == 101
    assert status(origin="http://evil.example") == 403
    assert status(origin="http://localhost:3000") == 403  # to which Streamlit would open it
    assert status(host="rebound.example:8501", origin="http://rebound.example:8501") == 403
    assert status(with_cookie=False) == 403
    form = f"{base}/submitted-form/nobody"
    asked = [
        httpx2.get(form, headers=more, trust_env=False).status_code
        for more in ({}, {"cookie": cookie, "host": "rebound.example"}, {"cookie": cookie})
    ]
    assert asked == [403, 421, 404]


def test_the_greeting_has_a_link_for_each_and_says_who_decides() -> None:
    from streamlit_app.serving import _cookie, _greeting, address_of

    assert [address_of(host, 1) for host in ("::1", "127.0.0.2", "2001:db8::1")] == [
        "http://localhost:1",
        "http://127.0.0.2:1",
        "http://[2001:db8::1]:1",
    ]
    said = {
        (): "This link is read-only (use --reviewer NAME to decide).",
        ("Ana",): "Ana decides.",
        ("Ana", "Ben"): "The first link is read-only, each other link is for one person.",
    }
    for names, line in said.items():
        links = links_of_run(names)
        told = _greeting("T", OWN, links, ()).split("\n")
        assert [each.rpartition("=")[2] for each in told[:-1]] == [link.secret for link in links]
        assert told[-1] == f"{line} Ctrl-C stops the dashboard."
    assert "read-only; Dia and Eva may decide, with links of their own." in _greeting(
        "T", OWN, links[:1], ("Dia", "Eva")
    )
    assert (_cookie(7, secure=False), _cookie(7, secure=True)) == ("spa-dashboard-7", "__Host-spa-dashboard")


def test_links_of_a_run() -> None:
    (nobody,) = links_of_run(())
    assert (nobody.person.name, sorted(nobody.person.roles)) == (None, ["export", "read"])
    (ana,) = links_of_run(["Ana"])
    assert (ana.person.name, ana.person.may("review")) == ("Ana", True)
    several = links_of_run(["Ana", "Ben"])
    assert [link.person.name for link in several] == [None, "Ana", "Ben"]
    assert len({link.secret for link in several}) == 3
    assert min(len(link.secret) for link in several) >= 32
    assert Person(name=None, roles=ANA).known_as == "spa dashboard"
