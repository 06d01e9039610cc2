"""The emulated platform with other manners: what its published description leaves open is done otherwise.

A proxy before the emulator. Answers have unknown fields, another order of keys and rows, numbers as floats, times in
other ISO forms, and come compressed; reading is refused now and then with a page of HTML or with 429.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx2

from tests.proxy import ProxyHandler, serving

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")
JSON = {"Content-Type": "application/json; charset=utf-8"}
HTML = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


def otherwise(value: Any, counter: Iterator[int], statuses: dict[str, str]) -> Any:
    """Say the same in another way."""
    if isinstance(value, dict):
        told = {name: otherwise(one, counter, statuses) for name, one in reversed(value.items())}
        if told.get("id") in statuses:
            told["status"] = statuses[told["id"]]
        return {"x_new": {"since": [2031]}, **told, "x_null": None}
    if isinstance(value, list):
        return [otherwise(one, counter, statuses) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and TIME.fullmatch(value):
        moment = datetime.fromisoformat(value).astimezone(UTC)
        forms = (
            moment.isoformat(),
            moment.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            moment.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(timespec="milliseconds"),
        )
        return forms[next(counter) % 3]
    return value


def answer_otherwise(value: Any, counter: Iterator[int], statuses: dict[str, str]) -> Any:
    """Say an answer in another way; rows of a list come in another order too."""
    told = otherwise(value, counter, statuses)
    if isinstance(told, dict) and isinstance(told.get("results"), list):
        told["results"].reverse()
    return told


@contextmanager
def other_manners(platform: str, statuses: dict[str, str]) -> Iterator[str]:
    """Serve the platform with other manners; ``statuses`` replaces those of single submissions."""
    counter, turns = itertools.count(), itertools.count(1)

    class Handler(ProxyHandler):
        def answer(self) -> None:
            body = self.asked()
            turn = next(turns)
            if self.command == "GET" and turn % 23 == 0:
                self.send(502, HTML, {"Content-Type": "text/html"})
                return
            if self.command == "GET" and turn % 31 == 0:
                waits = ({}, {"Retry-After": "0.5"}, {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"})
                self.send(429, b"slow down", {"Content-Type": "text/plain", **waits[turn % 3]})
                return
            passed = {
                name: one for name, one in self.headers.items() if name.lower() in ("authorization", "content-type")
            }
            came = httpx2.request(self.command, platform + self.path, content=body, headers=passed, trust_env=False)
            text = came.content
            if text:
                text = json.dumps(answer_otherwise(came.json(), counter, statuses), ensure_ascii=False).encode()
                own = f"http://{self.headers['Host']}"
                text = text.replace(platform.encode(), own.encode())
            kept = {name: one for name, one in came.headers.items() if name.lower().startswith("x-")}
            self.send(came.status_code, gzip.compress(text), {**JSON, "Content-Encoding": "gzip", **kept})

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    with serving(Handler) as address:
        yield address
