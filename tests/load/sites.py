"""What an annotator's browser does on each kind of server: open a link, read which fields there are, send a page."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import aiohttp

MOST_REDIRECTS = 5
Note = Callable[[dict[str, str]], None]


class Refused(Exception):
    """The server answered, but not with what an annotator needs."""


class Site(Protocol):
    """One annotator's visit to one server."""

    finished: bool

    async def open(self) -> None:
        """Come in and fetch the first page."""

    def answers(self, chance: random.Random) -> dict[str, str]:
        """Choose answers for the page at hand."""

    async def send(self, answers: dict[str, str], note: Note) -> None:
        """Send them and fetch the next page; ``note`` is told as soon as the server has acknowledged them."""


FORM = re.compile(r'<form method="post" action="(?P<action>[^"]+)"[^>]* data-page="(?P<page>[^"]+)"')
INPUT = re.compile(r"<input\b[^>]*>")
MEASURED = ' data-reading="'
OUTPUT = re.compile(r'\bdata-exhibit="([^"]+)" data-seconds="([\d.]+)"')
ATTRIBUTE = re.compile(r'\b(type|name|value)="([^"]*)"')


class Spa:
    """The survey server of `spa serve`: a post with the evidence of reading, a redirect, a page."""

    def __init__(self, session: aiohttp.ClientSession, url: str, name: str) -> None:
        self.session = session
        self.url = url
        self.finished = False
        self.address = ""  # of the person, once known
        self.page_id = ""
        self.action = ""
        self.offered: dict[str, list[str] | None] = {}
        self.evidence: dict[str, str] = {}

    async def open(self) -> None:
        """Press the button of the open link, or come back to where this person was."""
        if self.address:
            await self._get(self.address)
            return
        async with self.session.post(self.url, allow_redirects=False) as response:
            await response.read()
            if response.status != 303:
                raise Refused(f"open: status {response.status}")
            self.address = urljoin(self.url, response.headers["location"])
        await self._get(self.address)

    def answers(self, chance: random.Random) -> dict[str, str]:
        """Choose one of the values offered; free entry gets a percentage."""
        return {
            name: str(chance.randrange(101)) if values is None else chance.choice(values)
            for name, values in self.offered.items()
        }

    async def send(self, answers: dict[str, str], note: Note) -> None:
        """Post the page and follow to the next; one that was never seen is only fetched, to be answered then."""
        if not self.action:  # the page after an acknowledged one was never seen
            await self._get(self.address)
            return
        token, page_id = urlsplit(self.action).path.split("/")[2], self.page_id
        answers = answers | self.evidence
        async with self.session.post(self.action, data=answers, allow_redirects=False) as response:
            await response.read()
            if response.status in (400, 422):
                self.action = ""
            if response.status != 303:
                raise Refused(f"post: status {response.status}")
            following = urljoin(self.action, response.headers["location"])
        note({"token": token, "page": page_id, "done": str(int(following.endswith("/done"))), **answers})
        self.action = ""
        await self._get(following)

    async def _get(self, url: str) -> None:
        for _ in range(MOST_REDIRECTS):
            async with self.session.get(url, allow_redirects=False) as response:
                text = await response.text("utf-8")
                if response.status == 200:
                    break
                if response.status != 303:
                    raise Refused(f"get: status {response.status}")
                url = urljoin(url, response.headers["location"])
        else:
            raise Refused("get: led in circles")
        found = FORM.search(text)
        if found is None:
            if "data-completion-code" not in text:
                raise Refused("get: neither a form nor a completion code")
            self.finished = True
            return
        self.action, self.page_id = urljoin(url, found["action"]), found["page"]
        self.offered = offered_in(text)
        self.evidence = evidence_of(text)


def offered_in(text: str) -> dict[str, list[str] | None]:
    """Return the fields of a page with the values that they offer; ``None`` for free entry."""
    offered: dict[str, list[str] | None] = {}
    for element in INPUT.findall(text):
        attributes = dict(ATTRIBUTE.findall(element))
        if "name" not in attributes or " form=" in element:  # of no form, as what shows one text or the other
            continue
        if attributes.get("type") in ("radio", "checkbox"):
            offered[attributes["name"]] = [*(offered.get(attributes["name"]) or []), attributes["value"]]
        else:
            offered[attributes["name"]] = None
    return offered


def evidence_of(text: str) -> dict[str, str]:
    """Return what a browser adds to every page of a study that measures, once each output was on screen long enough."""
    if MEASURED not in text:
        return {}
    seconds = {exhibit: float(minimum) for exhibit, minimum in OUTPUT.findall(text)}
    outputs = {exhibit: [0.0, minimum, 1.0] for exhibit, minimum in seconds.items()}
    return {"reading": json.dumps({"seconds": sum(seconds.values()), "outputs": outputs})}


INSTANCE = re.compile(r'<input id="instance_id"[^>]* value="([^"]+)"')


class Potato:
    """POTATO's server as its own page uses it: a save, the request to go on, and the next page.

    What else its scripts ask for (its tracking of every click, for one) is left out.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, name: str) -> None:
        self.session = session
        self.url = url.rstrip("/")
        self.name = name
        self.finished = False
        self.instance = ""

    async def open(self) -> None:
        """Come in by the address that a platform would send people to."""
        where = f"{self.url}/?PROLIFIC_PID=p{self.name}&STUDY_ID=s&SESSION_ID=e"
        async with self.session.get(where) as response:
            self._read(response.status, await response.text("utf-8"))
        if self.finished:
            raise Refused("open: no page to annotate")

    def answers(self, chance: random.Random) -> dict[str, str]:
        """Choose points on the two scales."""
        return {f"{name}:{point}": str(point) for name in ("fluent", "coherent") for point in [chance.randint(1, 7)]}

    async def send(self, answers: dict[str, str], note: Note) -> None:
        """Save the answers, then go on."""
        saved = {"instance_id": self.instance, "annotations": answers}
        async with self.session.post(f"{self.url}/updateinstance", json=saved) as response:
            await response.read()
            if response.status != 200:
                raise Refused(f"save: status {response.status}")
        note({"name": self.name, "instance": self.instance, **answers})
        following = {"action": "next_instance", "instance_id": self.instance}
        going = {"X-Potato-Navigation": "1"}
        async with self.session.post(f"{self.url}/annotate", json=following, headers=going) as response:
            await response.read()
            if response.status != 200:
                raise Refused(f"go on: status {response.status}")
        async with self.session.get(f"{self.url}/") as response:
            self._read(response.status, await response.text("utf-8"))

    def _read(self, status: int, text: str) -> None:
        if status != 200:
            raise Refused(f"page: status {status}")
        found = INSTANCE.search(text)
        self.finished = found is None
        self.instance = found[1] if found else ""


SITES: dict[str, Callable[[aiohttp.ClientSession, str, str], Site]] = {"spa": Spa, "potato": Potato}
