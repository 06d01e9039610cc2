"""What a rater costs beside the bare client library and beside Inspect, on the same requests.

The server stands in another process. Inspect (inspect_ai) asks, waits and logs as a rater does, from an environment of
its own.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import httpx2
import openai

from spa.commands.workspace import Workspace, open_workspace
from spa.forms.prompt_turns import turns_of
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.prompt_messages import PromptWriter
from spa.raters.run import rate_visits
from spa.raters.summary import RatingSummary
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from tests.benchmarks.measure import Figure
from tests.spa.rehearsed import built_example

FORMS = 200
AT_ONCE = 8
ROUNDS = 3
Conversation = Literal["form", "page", "question"]
ASKED: dict[Conversation, str] = {"form": "a form", "page": "a page", "question": "a question"}
INSPECT = Path(__file__).parent / "peers" / "asking.py"
SERVER = """
import time
from tests.spa.scripted_server import http, middle, scripted

def answer(asked):
    said = middle(asked)
    said["usage"]["prompt_tokens"] = int(served.headers[-1]["content-length"])  # so that both sides see what was sent
    return http(said)

with scripted(answer) as served:
    print(served.url, flush=True)
    time.sleep(600)
"""


@contextmanager
def server() -> Iterator[str]:
    """Serve the middle of every scale from another process."""
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.kill()
        process.communicate()


def rater_beside_bare_client(forms: int = FORMS, conversation: Conversation = "form") -> Iterator[Figure]:
    """Yield the CPU seconds of a run over those of the bare client, and how memory grows; the best of some rounds."""
    rounds = []
    with server() as url:
        for _ in range(ROUNDS):
            rounds.append(one_round(url, forms, conversation))
    bare, with_default, ours = (
        [getattr(one, name) / one.requests for one in rounds] for name in ("bare", "with_default", "ours")
    )
    asked = ASKED[conversation]
    note = (
        f"{rounds[0].requests} requests, {AT_ONCE} at once, bare {1000 * min(bare):.2f} ms, "
        f"ours {1000 * min(ours):.2f}; medians' ratio {median(ours) / median(bare):.2f}; "
        f"over the client's default backend {min(ours) / min(with_default):.2f}"
    )
    yield Figure(
        name=f"rater: CPU over bare client, {asked} a request", value=min(ours) / min(bare), unit="ratio", note=note
    )
    yield Figure(
        name=f"rater: growth of memory, {asked} a request", value=rounds[-1].grown, unit="MiB", note=f"{forms} forms"
    )


@dataclass(frozen=True, kw_only=True)
class Round:
    """CPU seconds of all on the same requests, and MiB by which the run's process grew."""

    requests: int
    bare: float  # over aiohttp, as our runs go
    with_default: float  # over the client's default, httpx
    ours: float
    grown: float


def one_round(url: str, forms: int, conversation: Conversation) -> Round:
    """Let all make the same requests; a ``RuntimeError`` where they did not send as many bytes."""
    with tempfile.TemporaryDirectory() as folder:
        study = built_example(Path(folder), annotators=forms)
        rater = judge(url, conversation)
        with open_workspace(study) as workspace:
            bodies = bodies_of(workspace, rater)
        http = openai.DefaultAioHttpClient(trust_env=False)
        bare, sent = asyncio.run(bare_client(url, bodies, http))
        with_default, also_sent = asyncio.run(bare_client(url, bodies, openai.DefaultAsyncHttpxClient(trust_env=False)))
        ours = our_run(study, rater)
    if (ours.summary.finished, ours.summary.prompt_tokens, also_sent) != (forms, sent, sent):
        raise RuntimeError(f"expected {forms} forms in {sent} bytes, got {ours.summary}")
    return Round(requests=len(bodies), bare=bare, with_default=with_default, ours=ours.seconds, grown=ours.grown)


def inspect_beside_rater(
    python: str | None, forms: int = FORMS, conversation: Conversation = "form"
) -> Iterator[Figure]:
    """Yield the CPU seconds of Inspect over ours, where there is a Python that has it."""
    if python is None:
        return
    with server() as url, tempfile.TemporaryDirectory() as folder:
        study, rater = built_example(Path(folder), annotators=forms), judge(url, conversation)
        with open_workspace(study) as workspace:
            bodies = bodies_of(workspace, rater)
        file = Path(folder) / "bodies.jsonl"
        file.write_text("\n".join(map(json.dumps, bodies)), encoding="utf-8")
        command = [python, str(INSPECT), str(file), url, str(AT_ONCE)]
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900).stdout
        theirs, ours = json.loads(told), our_run(study, rater)
    if (theirs["requests"], ours.summary.finished) != (len(bodies), forms):
        raise RuntimeError(f"expected {len(bodies)} requests and {forms} forms, got {theirs} and {ours.summary}")
    milliseconds = [1000 * seconds / len(bodies) for seconds in (theirs["seconds"], ours.seconds)]
    yield Figure(
        name=f"rater: CPU of Inspect over ours, {ASKED[conversation]} a request",
        value=milliseconds[0] / milliseconds[1],
        unit="ratio",
        note=f"{len(bodies)} requests, {AT_ONCE} at once, Inspect {theirs['version']} {milliseconds[0]:.1f} ms, "
        f"ours {milliseconds[1]:.2f}",
    )


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of a rater: its summary, CPU seconds, and MiB by which the process grew."""

    summary: RatingSummary
    seconds: float
    grown: float


def our_run(study: Path, rater: Rater) -> Run:
    """Let the rater answer every form of a study; the client is made before, as the bare one is."""
    endpoint = HTTPEndpoint(rater, CHAT_API, environment={})
    with open_workspace(study) as workspace:  # opened anew, so that no form is built already
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        visits = rater_visits(workspace.store, rater_variants(rater))
        wording = PromptWriter(workspace.texts)
        summary = rate_visits(workspace, visits, wording, endpoint=endpoint)
        seconds = time.process_time() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return Run(summary=summary, seconds=seconds, grown=grown)


def judge(url: str, conversation: Conversation) -> Rater:
    """Return the rater that is measured."""
    return Rater(id="judge", model="m", base_url=url, concurrency=AT_ONCE, conversation=conversation)


def bodies_of(workspace: Workspace, rater: Rater) -> list[dict[str, Any]]:
    """Return what the rater would send, where each ask is answered at once and stands alone."""
    (asked,) = rater_variants(rater)
    endpoint, wording = HTTPEndpoint(rater, CHAT_API, environment={}), PromptWriter(workspace.texts)
    found = []
    for name in workspace.store.assignments.ids():
        for ask in turns_of(workspace.form(name, asked.protocol), asked.protocol.conversation):
            request = LLMRequest(
                messages=tuple(wording.turn_messages(ask, asked.protocol)),
                questions=ask.questions,
                protocol=asked.protocol,
            )
            found.append(json.loads(json.dumps(endpoint.body(request))))
    return found


async def bare_client(url: str, bodies: list[dict[str, Any]], http: httpx2.AsyncClient) -> tuple[float, int]:
    """Send all bodies with nothing around the client library; return CPU seconds and the bytes that arrived."""
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http) as client:
        waiting = iter(bodies)
        sent = 0

        async def work() -> None:
            nonlocal sent
            for body in waiting:
                answered = await client.chat.completions.create(**body)
                sent += answered.usage.prompt_tokens if answered.usage else 0

        began = time.process_time()
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return time.process_time() - began, sent
