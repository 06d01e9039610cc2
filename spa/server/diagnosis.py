"""What keeps a study from being served well, as far as this machine can know: one finding a check."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import ssl
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
from sqlalchemy import func, select

from spa.errors import ResponseError
from spa.responses.log_mark import log_of
from spa.responses.store import Store
from spa.responses.store_schema import payloads, submissions

State = Literal["ok", "warning", "problem"]
GB = 1_000_000_000
MB = 10**6
LEAST_DISK = GB // 10  # bytes, below which an evening's answers may not fit
WAIT = 5.0  # seconds for an answer from outside
AHEAD = 60.0  # seconds by which clocks may differ
DAYS_LEFT = 14  # of a certificate, below which somebody should look
DAY = 86_400.0  # seconds
UNAVAILABLE = 503  # what `spa serve` answers while it cannot write to its store


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding:
    """What one check found, in one line that ends with what to do where something is wrong."""

    check: str
    state: State
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReply:
    """What an address answered to ``/health``."""

    status: int
    facts: dict[str, Any]  # empty where it was no JSON object
    date: float | None  # of the server that answered, in seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What is asked of the network; replaced in tests. Each raises OSError where there is no answer."""

    resolve: Callable[[str], list[str]]
    certificate_ends: Callable[[str, int], float]  # seconds since 1970
    health: Callable[[str, str], HealthReply]  # of a base address, under a host's name
    is_free: Callable[[str, int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How a study is, or will be, served."""

    fingerprints: Collection[str]  # of the study, now and in earlier releases
    host: str
    port: int
    public_url: str | None


def examine(
    target: str | Path, served: Served, *, clock: Callable[[], float] = time.time, outside: Outside | None = None
) -> Iterator[CheckFinding]:
    """Yield a finding of each check: store, rights, disk, clock, port, address, TLS, reachability."""
    outside = outside or NETWORK
    now = clock()
    yield from _of_store(target, served, now)
    here = _own_health(served, outside)
    yield _of_port(served, here)
    yield from _of_address(served, outside, now, is_served=isinstance(here, HealthReply))


def _of_store(target: str | Path, served: Served, now: float) -> Iterator[CheckFinding]:
    try:
        with Store.open(target, read_only=True) as store:
            yield _whole(store, served)
            if store.is_file:
                path = Path(store.name)
                yield _of_rights(path)
                yield _of_disk(path)
            yield _of_clock(store, now)
    except ResponseError as error:
        yield CheckFinding(check="store", state="problem", text=str(error))


def _whole(store: Store, served: Served) -> CheckFinding:
    if store.fingerprint not in served.fingerprints:
        text = f"{store.name}: another study's, or the study has changed since; undo the change or name the right store"
        return CheckFinding(check="store", state="problem", text=text)
    with store.reading() as connection:
        visits = connection.scalar(select(func.count()).select_from(submissions)) or 0
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() if store.is_file else "ok"
    if found != "ok":
        text = f"{store.name}: damaged ({found}); take the last backup: `spa restore`"
        return CheckFinding(check="store", state="problem", text=text)
    return CheckFinding(check="store", state="ok", text=f"{store.name}: whole, this study's, visits: {visits:,}")


def _of_rights(path: Path) -> CheckFinding:
    facts = path.stat()
    mode = stat.S_IMODE(facts.st_mode)
    for place, needed in ((path.resolve().parent, os.W_OK | os.X_OK), (path, os.R_OK | os.W_OK)):
        if not os.access(place, needed):
            text = f"{place}: this user may not write there; serve as its owner, or change the rights"
            return CheckFinding(check="rights", state="problem", text=text)
    if mode & 0o077:
        text = f"{path}: others on this machine may read it (mode {mode:o}); `chmod 600 {path}`"
        return CheckFinding(check="rights", state="warning", text=text)
    if facts.st_uid != os.geteuid():
        text = f"{path}: another user's, so that the log beside it may become this one's; run as its owner"
        return CheckFinding(check="rights", state="warning", text=text)
    return CheckFinding(check="rights", state="ok", text=f"{path}: its owner's alone")


def _of_disk(path: Path) -> CheckFinding:
    free, log = shutil.disk_usage(path.resolve().parent).free, log_of(path)
    size = path.stat().st_size + (log.stat().st_size if log.exists() else 0)
    text = f"{free / GB:,.1f} GB free, the store has {size / MB:,.1f} MB"
    if free < LEAST_DISK:
        return CheckFinding(check="disk", state="problem", text=f"{text}; free some space before answers are lost")
    if free < 2 * size:
        return CheckFinding(check="disk", state="warning", text=f"{text}; a backup and `spa forget` need as much again")
    return CheckFinding(check="disk", state="ok", text=text)


def _of_clock(store: Store, now: float) -> CheckFinding:
    with store.reading() as connection:
        columns = payloads.c.received_at, submissions.c.leased_at
        latest = max(connection.scalar(select(func.max(column))) or 0.0 for column in columns)
    if latest > now + AHEAD:
        text = f"it is {_day(now)}, and the last answer is of {_day(latest)}; set this machine's clock"
        return CheckFinding(check="clock", state="problem", text=text)
    return CheckFinding(check="clock", state="ok", text=f"{_day(now)}, not before the last answer")


def _own_health(served: Served, outside: Outside) -> HealthReply | bool:
    """Return what answers at our own port; true where the port is free, false where something else has it."""
    try:
        if outside.is_free(served.host, served.port):
            return True
        name = served.host if served.host not in ("0.0.0.0", "::", "") else "127.0.0.1"
        base = f"http://[{name}]:{served.port}" if ":" in name else f"http://{name}:{served.port}"
        found = outside.health(base, urlsplit(served.public_url or base).netloc)
    except OSError:
        return False
    return found if "fingerprint" in found.facts or found.status == UNAVAILABLE else False


def _of_port(served: Served, here: HealthReply | bool) -> CheckFinding:
    place = f"{served.host}:{served.port}"
    if here is True:
        return CheckFinding(check="port", state="ok", text=f"{place}: free")
    if here is False:
        text = f"{place}: another program has it, or this machine has no such address; choose another --port or --host"
        return CheckFinding(check="port", state="problem", text=text)
    return CheckFinding(check="port", **_same_study(place, here, served))


def _same_study(place: str, reply: HealthReply, served: Served) -> dict[str, Any]:
    if reply.status == UNAVAILABLE and not reply.facts:
        text = f"{place}: answers 503: a server whose store takes nothing, or a proxy without its server; see their log"
        return {"state": "problem", "text": text}
    if reply.facts.get("fingerprint") not in served.fingerprints:
        text = f"{place}: serves another study ({str(reply.facts.get('study'))[:40]}); stop it or choose another port"
        return {"state": "problem", "text": text}
    if reply.facts.get("rehearsal"):
        return {"state": "warning", "text": f"{place}: serves this study's rehearsal; its answers do not count"}
    return {"state": "ok", "text": f"{place}: serves this study"}


def _of_address(served: Served, outside: Outside, now: float, *, is_served: bool) -> Iterator[CheckFinding]:
    if served.public_url is None:
        text = "no --public-url: links lead to this machine's own address; give the URL at which people reach it"
        yield CheckFinding(check="address", state="warning", text=text)
        return
    parts = urlsplit(served.public_url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    try:
        found = outside.resolve(host)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        text = f"{host}: has no address ({reason}); check the name, or its record in the DNS"
        yield CheckFinding(check="address", state="problem", text=text)
        return
    inside = [one for one in found if _is_inside(one)]
    listed = ", ".join(found[:4])
    if inside:
        text = f"{host} is {listed}: within your own network, so that nobody outside reaches it"
        yield CheckFinding(check="address", state="warning", text=text)
    else:
        yield CheckFinding(check="address", state="ok", text=f"{host} is {listed}")
    yield (
        _of_certificate(host, parts.port or 443, outside, now)
        if secure
        else CheckFinding(
            check="TLS", state="warning", text="http: answers can be read on the way; serve https by a proxy"
        )
    )
    yield _of_reach(served, outside, now, is_served=is_served, inside=bool(inside))


def _of_certificate(host: str, port: int, outside: Outside, now: float) -> CheckFinding:
    try:
        days = (outside.certificate_ends(host, port) - now) / DAY
    except OSError as error:  # as ssl's own are
        reason = getattr(error, "verify_message", None) or error.strerror or error
        text = f"{host}:{port}: no valid certificate ({str(reason)[:120]}); see that the proxy has one for this name"
        return CheckFinding(check="TLS", state="problem", text=text)
    if days < DAYS_LEFT:
        text = f"the certificate ends in {max(days, 0):.0f} days; see that it is renewed"
        return CheckFinding(check="TLS", state="warning", text=text)
    return CheckFinding(check="TLS", state="ok", text=f"the certificate is valid for {days:.0f} days")


def _of_reach(served: Served, outside: Outside, now: float, *, is_served: bool, inside: bool) -> CheckFinding:
    url = str(served.public_url).rstrip("/")
    if not is_served:
        text = f"{url}: not tried, as the study is not served at {served.host}:{served.port}; start `spa serve` first"
        return CheckFinding(check="reach", state="warning", text=text)
    try:
        reply = outside.health(url, urlsplit(url).netloc)
    except OSError as error:
        text = f"{url}: no answer ({str(error)[:120]}); see that proxy and firewall pass it on"
        return CheckFinding(check="reach", state="problem", text=text)
    if "fingerprint" not in reply.facts and reply.status != UNAVAILABLE:
        text = f"{url}/health: answered {reply.status}, not by `spa serve`; see where the proxy leads"
        return CheckFinding(check="reach", state="problem", text=text)
    if reply.date is not None and abs(reply.date - now) > AHEAD:
        text = f"{url}: its clock says {_day(reply.date)} and this machine's {_day(now)}; set the one that is wrong"
        return CheckFinding(check="reach", state="warning", text=text)
    same = _same_study(url, reply, served)
    if same["state"] == "ok":
        within = "from within your network" if inside else "from here; a phone off your network knows for sure"
        same["text"] += f", {within}"
    return CheckFinding(check="reach", **same)


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _is_inside(host: str) -> bool:
    """Return whether a host is an address of this machine or a network of one's own."""
    try:
        return not ip_address(host.partition("%")[0]).is_global
    except ValueError:  # a name
        return host == "localhost"


def _resolve(host: str) -> list[str]:
    return list(dict.fromkeys(str(place[0]) for *_, place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)))


def _certificate_ends(host: str, port: int) -> float:
    context = ssl.create_default_context()
    with (
        socket.create_connection((host, port), timeout=WAIT) as plain,
        context.wrap_socket(plain, server_hostname=host) as secured,
    ):
        return ssl.cert_time_to_seconds(str((secured.getpeercert() or {})["notAfter"]))


def _health(base: str, host: str) -> HealthReply:
    try:
        own = _is_inside(urlsplit(base).hostname or "")  # no proxy leads there
        reply = httpx2.get(f"{base}/health", headers={"host": host}, timeout=WAIT, trust_env=not own)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise OSError(str(error) or type(error).__name__) from error
    facts, date = None, None
    with suppress(ValueError):
        facts = reply.json()
    with suppress(ValueError):
        date = parsedate_to_datetime(reply.headers.get("date", "")).timestamp()
    return HealthReply(status=reply.status_code, facts=facts if isinstance(facts, dict) else {}, date=date)


def _is_free(host: str, port: int) -> bool:
    family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(place)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
    return True


NETWORK = Outside(resolve=_resolve, certificate_ends=_certificate_ends, health=_health, is_free=_is_free)
