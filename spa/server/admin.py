"""The administrator's routes: the study's progress as JSON, and with the server's as Prometheus metrics; by a token."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path

from sqlalchemy import func, select
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from spa.errors import ResponseError
from spa.responses.log_mark import log_of
from spa.responses.running_counts import RunningCounts, RunningTotals
from spa.responses.status import COUNTED, Status, VisitCounts, summarise_visits
from spa.responses.store import Store
from spa.responses.store_schema import answers, payloads
from spa.server.request_metrics import RequestCounts
from spa.server.survey_context import SurveyContext

VARIABLE = "SPA_ADMIN_TOKEN"
SHORTEST = 16  # characters
NOTICES = ("full", "paused", "quota", "second")  # why most are turned away


def admin_token(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the administrator's token from the environment, or ``None``.

    Raise ResponseError if it is too short.
    """
    token = (os.environ if environment is None else environment).get(VARIABLE, "")
    if token and len(token) < SHORTEST:
        raise ResponseError(
            f"{VARIABLE}: expected at least {SHORTEST} characters, got {len(token)}; make one with "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'`"
        )
    return token or None


class AdminRoutes:
    """The routes of the administrator."""

    def __init__(self, context: SurveyContext, token: str, requests: RequestCounts) -> None:
        self.context = context
        self._token = token.encode()
        self._requests = requests
        self._counts = RunningCounts(context.store, context.study.people)

    @property
    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/admin/status", self.show_status, methods=["GET"]),
            Route("/metrics", self.show_metrics, methods=["GET"]),
        ]

    async def show_status(self, request: Request) -> Response:
        """Report the study's progress, as `spa status --json` does."""
        return await self._answer(request, lambda: JSONResponse(self._facts()))

    async def show_metrics(self, request: Request) -> Response:
        """Report progress, requests, admission and disk in the Prometheus text format."""
        version = "text/plain; version=0.0.4"
        return await self._answer(request, lambda: PlainTextResponse(self._metrics(), media_type=version))

    async def _answer(self, request: Request, answer: Callable[[], Response]) -> Response:
        given = request.headers.get("authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, b"Bearer " + self._token):
            refusal = "expected the header 'Authorization: Bearer TOKEN' with the administrator's token\n"
            return PlainTextResponse(refusal, HTTPStatus.UNAUTHORIZED, {"www-authenticate": "Bearer"})
        return await asyncio.to_thread(answer)

    def _status(self) -> Status:
        store = self.context.store
        people, now = self.context.study.people, self.context.clock()
        return summarise_visits(
            store.visits.of_people(), assignments=store.assignments.for_people, people=people, now=now
        )

    def _facts(self) -> dict[str, object]:
        facts = json.loads(json.dumps(asdict(self._status()), default=str))
        refused = dict(self.context.refused_posts)
        return {"study": self.context.study.id, **facts, **self._sizes(), "refused_posts": refused}

    def _sizes(self) -> dict[str, int]:
        with self.context.store.reading() as connection:
            pages = connection.scalar(select(func.count()).select_from(payloads)) or 0
            answered = connection.scalar(select(func.count()).select_from(answers)) or 0
        return {"pages_received": pages, "answers": answered}

    def _metrics(self) -> str:
        totals = self._counts.totals(self.context.clock())
        lines = (
            *study_metrics(totals),
            *request_metrics(self._requests),
            *admission_metrics(self.context.refused, totals.status),
            *refused_metric(self.context.refused_posts),
            *disk_metrics(self.context.store),
        )
        return "".join(f"{line}\n" for line in lines)


def study_metrics(totals: RunningTotals) -> Iterator[str]:
    """Yield how far the study is, in the Prometheus text format."""
    status = totals.status
    yield from _metric("spa_pages_received_total", "counter", "Pages received from people.", totals.pages)
    yield from _metric("spa_answers_total", "counter", "Answers of finished visits.", totals.answers)
    yield from _metric("spa_assignments", "gauge", "Assignments built.", status.assignments)
    yield from _metric("spa_places", "gauge", "Submissions planned.", status.places)
    yield from _metric("spa_places_completed", "gauge", "Submissions completed.", status.completed)
    yield from _metric("spa_leases", "gauge", "Places held by annotators at work.", status.at_work)
    yield "# HELP spa_visits Visits by source, quota group and state; dropped: left before the end."
    yield "# TYPE spa_visits gauge"
    for line in status.lines:
        for state in COUNTED[1:]:
            yield f"spa_visits{{{_labels(line, state)}}} {getattr(line, state)}"
    yield from _metric("spa_minutes_median", "gauge", "Median minutes of completed visits.", status.median_minutes)
    pay = None if status.hourly_pay is None else float(status.hourly_pay)
    labels = f'{{currency="{_escaped(status.currency)}"}}'
    yield from _metric("spa_hourly_pay", "gauge", "Hourly pay at the median duration, in major units.", pay, labels)


def request_metrics(requests: RequestCounts) -> Iterator[str]:
    """Yield what the server has answered since it started, and how fast."""
    yield "# HELP spa_requests_total Requests answered by this process, by status; 5xx: errors."
    yield "# TYPE spa_requests_total counter"
    for status in ("2xx", "3xx", "4xx", "5xx"):
        yield f'spa_requests_total{{status="{status}"}} {requests.by_status[status]}'
    yield "# HELP spa_request_seconds Seconds from a request to the end of its answer."
    yield "# TYPE spa_request_seconds histogram"
    count = 0
    for bound, count in requests.histogram():
        yield f'spa_request_seconds_bucket{{le="{bound}"}} {count}'
    yield f"spa_request_seconds_sum {requests.seconds:.6f}"
    yield f"spa_request_seconds_count {count}"


def admission_metrics(refused: Mapping[str, int], status: Status) -> Iterator[str]:
    """Yield how many places are left, and whom this process has turned away."""
    yield from _metric("spa_places_free", "gauge", "Places that nobody holds.", max(0, status.free))
    yield "# HELP spa_admissions_refused_total Visitors turned away by this process, by the page that they were shown."
    yield "# TYPE spa_admissions_refused_total counter"
    for notice in sorted({*NOTICES, *refused}):
        yield f'spa_admissions_refused_total{{reason="{notice}"}} {refused.get(notice, 0)}'


def disk_metrics(store: Store) -> Iterator[str]:
    """Yield the sizes of an SQLite file and its log, and what is free on its disk; nothing for other databases."""
    if not store.is_file:
        return
    path = Path(store.name)
    log = log_of(path)
    log_bytes = log.stat().st_size if log.exists() else 0
    yield from _metric("spa_store_bytes", "gauge", "Size of the store's file.", path.stat().st_size)
    yield from _metric("spa_store_log_bytes", "gauge", "Size of the store's write-ahead log.", log_bytes)
    yield from _metric("spa_disk_free_bytes", "gauge", "Free on the store's disk.", shutil.disk_usage(path.parent).free)


def refused_metric(refused: Mapping[str, int]) -> Iterator[str]:
    """Yield the lines that tell how many posts of pages were not stored, by reason."""
    yield "# HELP spa_posts_refused_total Posts of pages that were counted and not stored, since the server began."
    yield "# TYPE spa_posts_refused_total counter"
    for reason, count in sorted(refused.items()):
        yield f'spa_posts_refused_total{{reason="{reason}"}} {count}'


def _metric(name: str, kind: str, text: str, value: float | None, labels: str = "") -> Iterator[str]:
    """Yield one metric, or nothing while its value is unknown."""
    if value is not None:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        yield f"{name}{labels} {value}"


def _labels(line: VisitCounts, state: str) -> str:
    values = {"source": line.source, "group": line.people_group or "", "state": state}
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
