"""Every door: a place is taken by a press of the first page's button, and by nothing that only fetches an address."""

from __future__ import annotations

import logging
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.logging import LogCaptureFixture
from click.testing import CliRunner
from fastapi.testclient import TestClient
from starlette.requests import Request
from starlette.responses import Response

from spa.cli import main
from spa.commands.workspace import open_workspace
from spa.forms.texts import load_texts
from spa.records.platforms import LINK
from spa.records.study import Study
from spa.responses.admission import AdmissionRules, Arrival, admit
from spa.responses.leases import lock_leases
from spa.responses.tokens import add_token
from spa.server.app import create_app
from spa.server.rate_limits import Limits, Rate
from spa.server.request_guard import parse_networks
from spa.server.survey_context import SurveyContext
from spa.simulation.survey_client import read_page
from tests.spa.platforms.test_platform_adapters import mount
from tests.spa.responses.test_admission import WAITING
from tests.spa.server.served_study import Place, opened
from tests.spa.server.served_study import built as built
from tests.spa.small_study import write_study

TEXTS = load_texts("en", {})
CROSS_SITE = {"sec-fetch-site": "cross-site"}
DOORS = ("/", "/a/{token}", "/platform?person=ada&visit=v1")


@pytest.fixture(autouse=True)
def heard(caplog: LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test hear what the server tells its operator, however an earlier server set its logs up."""
    for name in ("uvicorn", "uvicorn.error"):
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    caplog.set_level(logging.WARNING, logger="uvicorn.error")


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Place:
    found = opened(built, tmp_path / "answers.sqlite")
    found.client = TestClient(create_app(found.workspace, adapters=[mount]), follow_redirects=False)
    return found


def visits(place: Place) -> int:
    return len(list(place.workspace.store.visits.of_people()))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_whoever_only_looks_takes_no_place(place: Place, door: str, method: str) -> None:
    address = door.format(token=place.token())
    links = place.workspace.store.tokens()
    for headers in ({}, {"sec-fetch-dest": "image", **CROSS_SITE}, {"sec-purpose": "prefetch"}):
        shown = place.client.request(method, address, headers=headers)
        assert (shown.status_code, shown.headers.get("set-cookie")) == (200, None)
    assert (visits(place), place.workspace.store.tokens()) == (0, links)


@pytest.mark.parametrize("door", DOORS)
def test_door_first_page_asks_for_the_place(place: Place, door: str) -> None:
    """The first page asks for the place and the second look leads on."""
    address = door.format(token=place.token())
    shown = place.client.get(address)
    begin = read_page(shown.text).begin
    assert begin == address
    pressed = place.client.post(begin)
    assert (pressed.status_code, visits(place)) == (303, 1)
    if door != "/":  # its address is that of nobody
        again = place.client.get(address, follow_redirects=True)
        assert again.url.path == place.client.get(pressed.headers["location"], follow_redirects=True).url.path
        assert "/p/" in again.url.path
    assert visits(place) == 1


@pytest.mark.parametrize("door", DOORS)
def test_another_site_cannot_press(place: Place, door: str) -> None:
    assert place.client.post(door.format(token=place.token()), headers=CROSS_SITE).status_code == 403
    assert visits(place) == 0


@pytest.mark.parametrize("page", ["p/p1", "done", "next", "image/e1"])
def test_no_other_address_of_an_unused_link_takes_a_place(place: Place, page: str) -> None:
    address = f"/a/{place.token()}/{page}"
    answer = place.client.post(address) if page == "next" else place.client.get(address)
    assert (answer.status_code, visits(place)) == (404 if "image" in page else 303, 0)


def test_door_expired_place_comes_back_with_next_page(place: Place) -> None:
    """A look gives no place back that expired and the next page does."""
    token, store = place.token(), place.workspace.store
    place.client.post(f"/a/{token}")
    (lease,) = store.visits.leases()
    store.visits.release(lease.submission_id, "timed_out", now=1.0)
    assert place.client.get(f"/a/{token}").headers["location"] == f"/a/{token}/p/p1"
    assert place.client.get(f"/a/{token}/p/p1").status_code == 200
    assert store.visits.of_token(token).seat is None  # type: ignore[union-attr]
    assert place.send(token, place.workspace.form(lease.assignment_id).pages[0]).status_code == 303
    assert store.visits.of_token(token).seat is not None  # type: ignore[union-attr]


def test_a_page_that_another_site_led_to_gives_no_cookie(place: Place) -> None:
    """Somebody's link on another site must not become the visit that this browser goes on with."""
    token = place.token()
    shown = place.client.get(f"/a/{token}", headers=CROSS_SITE)
    fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', shown.text))
    assert not place.client.post(f"/a/{token}", data=fields).headers.get("set-cookie")
    assert not place.client.get(f"/a/{token}", headers=CROSS_SITE).headers.get("set-cookie")
    mine = place.client.post("/").headers["location"]
    assert mine != f"/a/{token}"
    assert place.client.post("/").headers["location"] == mine  # the cookie of the open link
    assert place.client.get(f"/a/{token}", headers=CROSS_SITE).status_code == 303
    assert place.client.post("/").headers["location"] == mine


@pytest.mark.parametrize("address", ["https://x.example", "http://x.example"])
def test_over_tls_the_cookie_is_of_this_host_alone(place: Place, address: str) -> None:
    client = TestClient(create_app(place.workspace, public_url=address), follow_redirects=False)
    cookie = client.post("/").headers["set-cookie"]
    secure = address.startswith("https")
    assert cookie.startswith("__Host-visit-") == secure
    assert ("secure" in cookie.lower()) == secure
    assert {"path=/", "httponly", "samesite=strict"} <= {part.strip().lower() for part in cookie.split(";")}
    assert "domain" not in cookie.lower()


def test_a_cookie_made_of_a_known_token_leads_nowhere(place: Place) -> None:
    theirs = place.token()
    place.client.post(f"/a/{theirs}")
    ((name, mine),) = place.client.cookies.items()
    assert TestClient(place.client.app, cookies={name: mine}).post("/").url.path.startswith(f"/a/{theirs}/")
    for forged in (theirs, f"{theirs}.", f"{theirs}.{'0' * 20}", mine[:-1], f"{mine}.x"):
        other = TestClient(place.client.app, cookies={name: forged}).post("/")
        assert other.status_code == 200
        assert not other.url.path.startswith(f"/a/{theirs}/")


def test_one_address_block_leaves_places_to_others(place: Place, caplog: LogCaptureFixture) -> None:
    app = create_app(place.workspace, limits=Limits.of_new_visits(40))
    came = [TestClient(app, client=(f"203.0.113.{number}", 1)).post("/").status_code for number in range(8)]
    assert came == [200] * 5 + [429] * 3
    assert ["--new-visits" in record.getMessage() for record in caplog.records].count(True) == 1
    assert TestClient(app, client=("198.51.100.7", 1)).post("/").status_code == 200
    networks = [f"2001:db8:0:{number:x}::{number}" for number in range(7)]
    assert {TestClient(app, client=(one, 1)).post("/").status_code for one in networks} == {410, 429}


def test_a_trusted_proxy_says_which_block_a_visitor_is_in(place: Place) -> None:
    proxy = {"trusted_proxies": parse_networks(["10.0.0.0/8"]), "limits": Limits.of_new_visits(40)}
    app = create_app(place.workspace, **proxy)  # type: ignore[arg-type]

    def press(peer: str, *forwarded: str) -> int:
        headers = {"x-forwarded-for": ", ".join(forwarded)} if forwarded else {}
        return TestClient(app, client=(peer, 1)).post("/", headers=headers).status_code

    made_up = [press("10.0.0.1", f"192.0.2.{number}", "203.0.113.9", "10.0.0.2") for number in range(6)]
    assert made_up == [200] * 5 + [429]
    assert press("10.0.0.1") == 200  # it does not say for whom
    assert [press("203.0.113.77", "198.51.100.1")] == [429]  # nobody else is believed


def test_untrusted_proxy_is_no_address_block(place: Place, caplog: LogCaptureFixture) -> None:
    """People behind a web server that is not trusted are no block."""
    app = create_app(place.workspace, limits=Limits.of_new_visits(40))

    def press(peer: str, number: int) -> int:
        headers = {"x-forwarded-for": f"198.51.{number}.1"}
        return TestClient(app, client=(peer, 1)).post("/", headers=headers).status_code

    assert 429 not in [press("127.0.0.1", number) for number in range(8)]
    assert 429 in [press("172.17.0.1", number) for number in range(8)]
    told = [record.getMessage() for record in caplog.records if "--trusted-proxy" in record.getMessage()]
    assert [("127.0.0.1" in line, "172.17.0.1" in line) for line in told] == [(True, False), (False, True)]


class Clock:
    """A clock that is set by hand."""

    now = 1_000_000.0

    def __call__(self) -> float:
        """Return the seconds since 1970."""
        return self.now

    def wait(self, minutes: float) -> None:
        """Let time pass."""
        self.now += 60 * minutes


def timed(place: Place, clock: Clock, **people: object) -> TestClient:
    object.__setattr__(place.workspace, "study", with_people(place.workspace.study, **people))
    return TestClient(create_app(place.workspace, clock=clock, adapters=[mount]), follow_redirects=False)


def with_people(study: Study, **people: object) -> Study:
    return study.model_copy(update={"people": study.people.model_copy(update=people)})


@pytest.mark.parametrize("minutes_allowed", [None, 60.0])
def test_places_that_nobody_begins_on_go_to_others(place: Place, minutes_allowed: float | None) -> None:
    clock, store = Clock(), place.workspace.store
    client = timed(place, clock, minutes_to_begin=10.0, minutes_allowed=minutes_allowed)
    made_up = [TestClient(client.app).post("/").url.path.split("/")[2] for _ in range(5)]
    mine = client.post("/").headers["location"].rpartition("/")[2]
    assert TestClient(client.app).post("/").status_code == 410
    clock.wait(9)
    place.client = client
    place.send(mine, place.form(mine).pages[0])  # one page is enough
    clock.wait(2)
    came = [TestClient(client.app).post("/").status_code for _ in range(6)]
    assert came == [200] * 5 + [410]
    assert store.visits.of_token(mine).seat is not None  # type: ignore[union-attr]
    assert store.visits.of_token(mine).deadline == (None if minutes_allowed is None else 1_003_600.0)  # type: ignore[union-attr]
    assert client.get(f"/a/{made_up[0]}").status_code == 410


@pytest.mark.parametrize("minutes_allowed", [None, 60.0])
def test_who_begins_late_has_the_place_while_it_is_free(place: Place, minutes_allowed: float | None) -> None:
    clock, store = Clock(), place.workspace.store
    place.client = client = timed(place, clock, minutes_to_begin=10.0, minutes_allowed=minutes_allowed)
    token = place.token()
    client.post(f"/a/{token}")
    clock.wait(11)
    assert store.visits.release_overdue(clock()) == 1
    client.post(f"/a/{token}")
    assert store.visits.of_token(token).deadline == clock() + 600  # type: ignore[union-attr]
    clock.wait(5)
    place.send(token, place.form(token).pages[0])
    until = store.visits.of_token(token).deadline  # type: ignore[union-attr]
    assert until == (None if minutes_allowed is None else clock() + 3600)
    clock.wait(30)
    place.send(token, place.form(token).pages[1])
    assert store.visits.of_token(token).deadline == until  # type: ignore[union-attr]


def test_minutes_to_begin_default(place: Place) -> None:
    """The time to begin is that of the form and at least fifteen minutes."""
    clock = Clock()
    timed(place, clock).post("/")
    (lease,) = place.workspace.store.visits.leases()
    assert lease.deadline == clock() + 15 * 60


def test_who_has_a_platforms_word_is_not_hurried(place: Place) -> None:
    rules = AdmissionRules(minutes_to_begin=10)
    visits = place.workspace.store.visits
    for vouched in (False, True):
        came = visits.admit(
            source="p", person=str(vouched), external_id=str(vouched), now=0, vouched=vouched, rules=rules
        )
        assert came.deadline == (None if vouched else 600)


def test_door_address_block_cannot_hold_every_place(place: Place) -> None:
    """No address block holds every place however long it tries."""
    clock = Clock()
    limits = replace(Limits.of_new_visits(1_000_000), block_visits=Rate(burst=4, a_second=1e9))
    app = create_app(place.workspace, clock=clock, limits=limits)
    theirs: list[str] = []
    for _ in range(8):  # of five minutes
        for number in range(10):
            shown = TestClient(app, client=(f"203.0.113.{number}", 1)).post("/")
            if shown.status_code == 200:
                theirs.append(shown.url.path.split("/")[2])
        for token in theirs:  # those that have expired are pressed again
            TestClient(app, client=("203.0.113.9", 1)).post(f"/a/{token}")
        held = [visit for visit in place.workspace.store.visits.leases() if visit.seat is not None]
        assert len(held) <= 4
        clock.wait(5)
    assert TestClient(app, client=("198.51.100.7", 1)).post("/").status_code == 200


def test_who_has_begun_makes_room_for_others_of_the_same_block(place: Place, caplog: LogCaptureFixture) -> None:
    limits = replace(Limits.of_new_visits(1_000_000), block_visits=Rate(burst=2, a_second=1e9))
    app = create_app(place.workspace, limits=limits)
    place.client = TestClient(app, client=("203.0.113.1", 1))
    came = []
    for _ in range(4):
        place.client.cookies.clear()
        came.append(place.client.post("/"))
        told = TestClient(app, client=("203.0.113.1", 1)).post("/")
        token = came[-1].url.path.split("/")[2]
        place.send(token, place.form(token).pages[0])
    assert {answer.status_code for answer in came} == {200}
    assert told.status_code == 429
    heard = [record.getMessage() for record in caplog.records if "--new-visits" in record.getMessage()]
    assert len(heard) == 1
    assert "203.0.113" not in heard[0]
    assert 0 < int(told.headers["retry-after"]) <= 15 * 60


def fields_of(html: str) -> dict[str, str]:
    return dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', html))


def test_a_button_that_is_pressed_again_takes_one_place(place: Place) -> None:
    """As on a phone: the answer to the first press never came, and neither did its cookie."""
    fields = fields_of(place.client.get("/").text)
    app = place.client.app
    first, again = (TestClient(app, follow_redirects=False).post("/", data=fields) for _ in range(2))
    assert (first.headers["location"], visits(place)) == (again.headers["location"], 1)
    other = TestClient(app, follow_redirects=False).post("/", data=fields_of(place.client.get("/").text))
    assert (other.headers["location"] != first.headers["location"], visits(place)) == (True, 2)


@pytest.mark.parametrize("made_up", ["", "nobody.0", "{theirs}", "{theirs}.{theirs}", "é", "x" * 5000])
def test_door_button_opens_own_visit_alone(place: Place, made_up: str) -> None:
    """A button cannot be made to open the visit of somebody else."""
    theirs = place.token()
    place.client.post(f"/a/{theirs}")
    stranger = TestClient(place.client.app, follow_redirects=False)
    began = stranger.post("/", data={"visit": made_up.format(theirs=theirs)})
    assert (began.status_code, visits(place)) == (303, 2)
    assert began.headers["location"] != f"/a/{theirs}"


def test_a_program_may_post_anything_to_take_a_place(place: Place) -> None:
    for door in ("/", f"/a/{place.token()}"):
        headers = {"content-type": "application/octet-stream"}
        assert place.client.post(door, headers=headers).status_code == 303


@pytest.mark.parametrize("repeat", [False, True])
def test_door_button_twice_takes_one_place(place: Place, monkeypatch: pytest.MonkeyPatch, repeat: bool) -> None:
    """A button pressed twice at the same moment takes one place."""
    place.client = timed(place, Clock(), repeat=repeat)
    other = TestClient(create_app(place.workspace), follow_redirects=False)
    fields, first, busy = fields_of(place.client.get("/").text), [], SurveyContext.busy

    def press_meanwhile(self: SurveyContext, request: Request) -> Response | None:
        if not first:
            first.append("")
            first[0] = other.post("/", data=fields).headers["location"]
        return busy(self, request)

    monkeypatch.setattr(SurveyContext, "busy", press_meanwhile)
    assert place.client.post("/", data=fields).headers["location"] == first[0]
    assert visits(place) == 1


def test_door_button_at_two_processes_takes_one_place(tmp_path: Path, postgres_url: str) -> None:
    """A button pressed at two processes at once leads to the place that the first of them is about to make."""
    path, url = write_study(tmp_path), postgres_url.replace("postgresql+psycopg:", "postgresql:")
    assert CliRunner().invoke(main, ["build", str(path), "--store", url]).exit_code == 0
    with open_workspace(path, url) as one, open_workspace(path, url) as two, ThreadPoolExecutor(1) as other:
        client = TestClient(create_app(two), follow_redirects=False)
        fields = fields_of(client.get("/").text)
        token = fields["visit"].partition(".")[0]
        with one.store.transaction() as connection:
            lock_leases(connection)
            add_token(connection, token)
            waiting = other.submit(client.post, "/", data=fields)
            with one.store.reading() as looking:  # until the other process waits
                while not looking.exec_driver_sql(WAITING).scalar():
                    assert not waiting.done(), waiting.result()
                    looking.rollback()
            arrival = Arrival(annotator_id=one.store.keyed(token), source=LINK, token=token)
            admit(connection, arrival, AdmissionRules(), now=0.0)
        assert waiting.result(timeout=60).headers["location"] == f"/a/{token}"
        assert len(list(one.store.visits.of_people())) == 1


def test_who_never_began_gets_another_place_while_any_is_free(place: Place) -> None:
    clock, store = Clock(), place.workspace.store
    client = timed(place, clock, minutes_to_begin=10.0)
    late = place.token()
    client.post(f"/a/{late}")
    first = store.visits.of_token(late)
    clock.wait(11)
    others = [TestClient(client.app).post("/").url.path.split("/")[2] for _ in range(2)]
    assert first.assignment_id in {store.visits.of_token(one).assignment_id for one in others}  # type: ignore[union-attr]
    assert client.get(f"/a/{late}").status_code == 200
    assert client.post(f"/a/{late}").status_code == 303
    again = store.visits.of_token(late)
    assert (again.annotator_id, again.seat is not None) == (first.annotator_id, True)  # type: ignore[union-attr]
    assert again.assignment_id != first.assignment_id  # type: ignore[union-attr]
    for _ in range(3):
        TestClient(client.app).post("/")
    clock.wait(1)
    assert client.get(f"/a/{late}").status_code == 303


def test_personal_link_keeps_its_place(place: Place) -> None:
    """A personal link that nobody began with keeps its place reserved."""
    clock = Clock()
    timed(place, clock, minutes_to_begin=10.0)
    personal = place.workspace.store.tokens(personal=True)
    app = create_app(place.workspace, clock=clock, reserved=len(personal))
    client = TestClient(app, follow_redirects=False)
    client.post(f"/a/{personal[0]}")
    clock.wait(11)
    came = [TestClient(app).post("/").status_code for _ in range(8)]
    assert came == [410] * 8
    assert client.post(f"/a/{personal[0]}").status_code == 303
