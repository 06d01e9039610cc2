"""What a rater costs beside the bare client library of its vendor, on the same requests, side by side.

``python -m tests.benchmarks.bench_vendors`` prints the table of ``vendors.md``. The server stands in another process.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spa.commands.workspace import open_workspace
from spa.forms.prompt_turns import turns_of
from spa.raters.endpoints.endpoint import LLMRequest
from spa.raters.prompt_messages import PromptWriter
from spa.raters.run import rate_visits
from spa.raters.vendors import vendor_of
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, rater_variants
from tests.spa.rehearsed import built_example

FORMS = 100
AT_ONCE = 8
ROUNDS = 3
SERVER = """
import sys, time
from tests.spa.scripted_server import scripted
from tests.spa.{key}_server import {name}
with scripted({name}()) as served:
    print(served.url, flush=True)
    time.sleep(600)
"""
SERVERS = {"anthropic": "AnthropicServer", "gemini": "GeminiServer"}


@contextmanager
def server(key: str) -> Iterator[str]:
    """Serve a vendor's counterpart from another process."""
    code = SERVER.format(key=key, name=SERVERS[key])
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.kill()
        process.communicate()


async def at_once(bodies: list[Any], ask: Callable[[Any], Awaitable[object]]) -> float:
    """Return the CPU seconds of asking all, so many at once."""
    waiting = iter(bodies)

    async def work() -> None:
        for body in waiting:
            await ask(body)

    began = time.process_time()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return time.process_time() - began


async def bare_anthropic(url: str, bodies: list[dict[str, Any]]) -> float:
    """Send all bodies with nothing around the client, as its makers set it up."""
    import anthropic

    async with anthropic.AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key="none", max_retries=0) as client:
        return await at_once(bodies, lambda body: client.messages.create(**body))


async def bare_gemini(url: str, bodies: list[dict[str, Any]]) -> float:
    """Send all bodies with nothing around the client, as its makers set it up."""
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url.removesuffix("/v1")))

    async def ask(body: dict[str, Any]) -> None:
        config = {name: value for name, value in body.items() if name not in ("model", "contents")}
        await client.aio.models.generate_content(model=body["model"], contents=body["contents"], config=config)

    spent = await at_once(bodies, ask)
    await client.aio.aclose()
    return spent


BARE = {"anthropic": bare_anthropic, "gemini": bare_gemini}


async def our_requests(endpoint: Any, requests: list[LLMRequest]) -> float:
    """Record, send and read all by our connection."""

    async def ask(request: LLMRequest) -> None:
        endpoint.record(request)
        reply = await endpoint.ask(request)
        if reply.outcome != "answered":
            raise RuntimeError(f"expected an answer, got {reply}")

    async with endpoint:
        return await at_once(requests, ask)


def one_round(key: str, url: str) -> tuple[float, float, float]:
    """Return milliseconds of CPU a request: of the bare client, of our connection, and of a run with its forms."""
    rater = Rater(id="judge", model="m", provider=key, base_url=url, max_tokens=2000, concurrency=AT_ONCE)
    with tempfile.TemporaryDirectory() as folder:
        study = built_example(Path(folder), annotators=FORMS)
        (asked,) = rater_variants(rater)
        with open_workspace(study) as workspace:
            endpoint: Any = vendor_of(rater).open(rater, timeout=60.0, folder=Path(), keep=False)
            wording, requests = PromptWriter(workspace.texts), []
            for name in workspace.store.assignments.ids():
                (turn,) = turns_of(workspace.form(name, asked.protocol), "form")
                messages = tuple(wording.turn_messages(turn, asked.protocol))
                request = LLMRequest(messages=messages, questions=turn.questions, protocol=asked.protocol)
                requests.append(request)
        bare = asyncio.run(BARE[key](url, [endpoint.body(request) for request in requests]))
        connection: Any = vendor_of(rater).open(rater, timeout=60.0, folder=Path(), keep=False)
        sent = asyncio.run(our_requests(connection, requests))
        endpoint = vendor_of(rater).open(rater, timeout=60.0, folder=Path(), keep=False)
        with open_workspace(study) as workspace:  # opened anew, so that no form is built already
            began = time.process_time()
            visits = rater_visits(workspace.store, rater_variants(rater))
            summary = rate_visits(workspace, visits, PromptWriter(workspace.texts), endpoint=endpoint)
            ours = time.process_time() - began
    if summary.finished != FORMS:
        raise RuntimeError(f"expected {FORMS} forms, got {summary}")
    return 1000 * bare / FORMS, 1000 * sent / FORMS, 1000 * ours / FORMS


def main() -> None:
    """Print a row a vendor: the best of some rounds."""
    sys.stdout.write("| provider | bare client, ms | our connection, ms | ratio | a run with forms and store, ms |\n")
    sys.stdout.write("|---|---|---|---|---|\n")
    for key in BARE:
        with server(key) as url:
            rounds = [one_round(key, url) for _ in range(ROUNDS)]
        bare, sent, ours = (min(column) for column in zip(*rounds, strict=True))
        sys.stdout.write(f"| {key} | {bare:.2f} | {sent:.2f} | {sent / bare:.2f} | {ours:.2f} |\n")


if __name__ == "__main__":
    main()
