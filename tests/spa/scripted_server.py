"""A server on loopback that answers byte for byte as a script says, for faults of the protocol itself."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Script = Callable[["Asked"], "Said | Awaitable[Said]"]


@dataclass(frozen=True)
class Asked:
    """One request that arrived."""

    number: int  # 1, 2, ...
    method: str
    path: str
    body: Any


@dataclass(frozen=True)
class Said:
    """What goes back over the wire."""

    raw: bytes = b""
    close: bool = False


@dataclass
class Served:
    """A running server and what it was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)


def http(body: bytes | str | dict[str, Any], *, status: int = 200, close: bool = False, **headers: str) -> Said:
    """Return a response; underscores in names of headers become dashes."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return Said(raw="\r\n".join([*lines, "", ""]).encode() + content, close=close)


def chat(text: str, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """Return a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"object": "chat.completion", "model": "scripted", "choices": [choice], "usage": usage}


def middle(asked: Asked) -> dict[str, Any]:
    """Answer every number of the schema in the request with 50, every choice with its first option."""
    text = json.dumps({name: _value(kind) for name, kind in schema_of(asked.body)["properties"].items()})
    if "input" in asked.body:
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        return {"object": "response", "status": "completed", "model": "scripted", "output": [message], "usage": usage}
    return chat(text)


def schema_of(body: Any) -> Any:
    """Return the schema that a request wants its answer to follow."""
    form = body["text"]["format"] if "input" in body else body["response_format"]["json_schema"]
    return form["schema"]


def _value(kind: Any) -> object:
    return kind["enum"][0] if "enum" in kind else {"integer": 50, "boolean": True, "string": "text"}[kind["type"]]


@contextmanager
def scripted(script: Script) -> Iterator[Served]:
    """Serve while a block runs."""
    served = Served()
    started = threading.Event()
    stop = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while await _one(reader, writer, served, script):
                pass
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(converse, "127.0.0.1", 0, limit=2**24)
        served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        started.set()
        await stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.01)

    def run() -> None:
        loop.run_until_complete(main())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, served: Served, script: Script) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for line in head[1:] if line for name, _, value in [line.partition(": ")]}
    content = await reader.readexactly(int(headers.get("content-length", 0)))
    with suppress(ValueError):
        content = json.loads(content)
    asked = Asked(number=len(served.asked) + 1, method=head[0].split()[0], path=head[0].split()[1], body=content)
    served.asked.append(asked)
    served.headers.append(headers)
    said = script(asked)
    said = said if isinstance(said, Said) else await said
    writer.write(said.raw)
    await writer.drain()
    return not said.close
