"""Keys leave what is stored and shown; what is read is read as it arrived, whatever the key is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.vendors.responses import RESPONSES_API
from spa.records.raters import Rater
from tests.spa.rater_bench import Bench
from tests.spa.rater_bench import bench as bench
from tests.spa.scripted_server import Asked, Said, chat, http, middle, scripted

LONG = "sk-very-secret-4711"
# Words that people set where a server wants none, and words of the APIs themselves
KEYS = ["1", "x", "k", "none-needed", "response", "completed", "assistant", "output_text", "prompt_tokens", LONG]


def rated(bench: Bench, key: str, api: Any, script: Any) -> Any:
    with scripted(script) as server:
        rater = Rater(id="judge", model="m", base_url=server.url, api_key_env="KEY", attempts=1)
        return bench.rate_with(HTTPEndpoint(rater, api, environment={"KEY": key}))


@pytest.mark.parametrize("api", [CHAT_API, RESPONSES_API], ids=["chat", "responses"])
@pytest.mark.parametrize("key", KEYS)
def test_reply_is_read_alike_whatever_the_key_is(bench: Bench, key: str, api: Any) -> None:
    """Answers and counted tokens, in the run and read again from the record."""
    summary = rated(bench, key, api, lambda asked: http({**middle(asked), "created": 1}))
    assert (summary.finished, summary.missing, summary.outcomes) == (3, {}, {"ok": 3})
    assert (summary.prompt_tokens, summary.completion_tokens) == (300, 30)
    found = HTTPEndpoint(
        Rater(id="judge", model="m", base_url="http://127.0.0.1:9/v1", api_key_env="KEY"), api, environment={"KEY": key}
    ).read(str(bench.calls()[0].response), api.replies)
    assert (found.outcome, found.prompt_tokens) == ("answered", 100)


@pytest.mark.parametrize("part", ["content", "message", "page"])
def test_long_key_in_a_reply_is_stored_blotted_out(bench: Bench, tmp_path: Path, part: str) -> None:
    """Whether the model says it, an error does, or a proxy's page."""

    def script(asked: Asked) -> Said:
        if part == "content":
            found = middle(asked)
            found["choices"][0]["message"]["content"] += f" The key is {LONG}."
            return http(found)
        return http(f"<p>{LONG}</p>", status=400) if part == "page" else http({"error": {"message": LONG}}, status=400)

    summary = rated(bench, LONG, CHAT_API, script)
    assert "[key]" in str(bench.calls()[0].response)
    assert (summary.answered > 0) == (part == "content")
    assert LONG not in str(summary.problem)
    bench.store.close()
    assert all(LONG.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_names_and_numbers_of_json_are_never_blotted_out() -> None:
    """A key of digits, or one that is a name of a field, changes neither."""
    rater = Rater(id="judge", model="m", base_url="http://127.0.0.1:9/v1", api_key_env="KEY")
    body = {**chat("The key 1700000000 is mine: 4"), "created": 1700000000, "1700000000": 2}
    endpoint = HTTPEndpoint(rater, CHAT_API, environment={"KEY": "1700000000"})
    stored = json.loads(str(endpoint.read(json.dumps(body), CHAT_API.replies).body))
    assert (stored["created"], stored["1700000000"]) == (1700000000, 2)
    assert stored["choices"][0]["message"]["content"] == "The key [key] is mine: 4"


def test_secrets_of_headers_and_queries_are_blotted_out() -> None:
    """Every value from the environment, wherever it is sent."""
    environment = {"KEY": LONG, "OF_HEADER": "header-secret-42", "OF_QUERY": "query-secret-42"}
    more = {"headers": {"x-key": "env:OF_HEADER", "x-plain": "a word"}, "query": {"key": "env:OF_QUERY"}}
    rater = Rater(id="judge", model="m", base_url="http://127.0.0.1:9/v1", api_key_env="KEY", **more)  # type: ignore[arg-type]
    endpoint = HTTPEndpoint(rater, CHAT_API, environment=environment)
    said = f"{' '.join(environment.values())} and a word"
    assert endpoint.redacted(said) == "[key] [key] [key] and a word"
    assert json.loads(str(endpoint.read(json.dumps(chat(said)), CHAT_API.replies).body)) == chat(
        "[key] [key] [key] and a word"
    )
