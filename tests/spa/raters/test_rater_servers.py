"""Kinds of servers, by their documentation: scripted counterparts refuse, ignore and want what those are said to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spa.errors import PlatformError, StudyError
from spa.journal import Journal
from spa.raters import capabilities
from spa.raters.budget import RaterBudget
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.endpoints.keys import find_key, named_values
from spa.raters.run import rate_visits
from spa.raters.vendors.responses import RESPONSES_API
from spa.raters.visits import rater_visits
from spa.records.form import AnswerOption
from spa.records.raters import Rater, rater_variants
from spa.study.load import load_study
from tests.spa.rater_bench import Bench, PlainPrompts, rater_bench
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, Served, http, middle, scripted
from tests.spa.study_files import SPA, write_study

SECRET = "azure-secret-1234"
ENVIRONMENT = {"JUDGE_KEY": "sk-judge-key-1234", "AZURE_KEY": SECRET}
FIFTY = [AnswerOption(value="50", text="")]
JSON = {"answer_format": "json"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with rater_bench(tmp_path, assignments=1) as made:
        yield made


@dataclass(frozen=True)
class Kind:
    """A kind of server: how a rater is set up for it, what it takes, and what the rater is to send."""

    path: str = "/v1"  # of the base URL
    fields: dict[str, Any] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()  # names in a body that are answered with 400
    ignores_schema: bool = False
    sends: dict[str, Any] = field(default_factory=dict)
    asks: str = "/v1/chat/completions"
    with_headers: dict[str, str] = field(default_factory=dict)
    refused: str = ""  # in what the probe says of the rater as it is by default

    def answer(self, asked: Asked, answers: dict[str, str]) -> Said:
        """Answer as this kind does."""
        unfit = [name for name in self.refuses if name in asked.body]
        if unfit or (asked.body.get("n", 1) > 1 and "n > 1" in self.refuses):
            message = f"Unsupported parameter: {unfit or 'n'}"
            return http({"error": {"message": message, "code": "unsupported_parameter"}}, status=400)
        if "response_format" in asked.body and not self.ignores_schema:
            return http(middle(asked))
        message = {"role": "assistant", "content": json.dumps(answers), "reasoning_content": "Perhaps 20."}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return http({"choices": choices, "usage": {"prompt_tokens": 900, "completion_tokens": 9}})


KINDS = {
    "OpenAI's reasoning models": Kind(
        fields={"model": "o4-mini", "max_tokens": 900, "reasoning_effort": "low"},
        refuses=("max_tokens", "top_p"),
        sends={"max_completion_tokens": 900, "reasoning_effort": "low"},
    ),
    "OpenAI's reasoning models behind a name of one's own": Kind(
        fields={"max_completion_tokens": 900}, refuses=("max_tokens",), sends={"max_completion_tokens": 900}
    ),
    "Azure OpenAI": Kind(
        path="/openai/deployments/judge/",
        fields={
            "headers": {"api-key": "env:AZURE_KEY"},
            "query": {"api-version": "2024-10-21"},
            "api_key_env": "none",
            "max_completion_tokens": 900,
        },
        asks="/openai/deployments/judge/chat/completions?api-version=2024-10-21",
        with_headers={"api-key": SECRET},
    ),
    "vLLM": Kind(
        fields={"extra_body": {"chat_template_kwargs": {"enable_thinking": False}, "top_k": 20}, "max_tokens": 9},
        sends={"chat_template_kwargs": {"enable_thinking": False}, "top_k": 20, "max_tokens": 9},
    ),
    "Ollama": Kind(
        fields={"reasoning_effort": "none", "max_tokens": 9, "model": "gpt-oss:20b"},
        refuses=("max_completion_tokens",),
        sends={"reasoning_effort": "none", "max_tokens": 9},
    ),
    "llama.cpp": Kind(fields={"extra_body": {"cache_prompt": True}}, sends={"cache_prompt": True}),
    "OpenRouter": Kind(
        path="/api/v1/",
        fields={"headers": {"X-Title": "Study"}, "extra_body": {"provider": {"require_parameters": True}}},
        asks="/api/v1/chat/completions",
        sends={"provider": {"require_parameters": True}},
        with_headers={"x-title": "Study", "authorization": "Bearer sk-judge-key-1234"},
    ),
    "Anthropic": Kind(
        fields=JSON, refuses=("n > 1",), ignores_schema=True, refused='set answer_format = "json"'
    ),
    "Gemini": Kind(
        path="/v1beta/openai/", fields={"reasoning_effort": "none"}, asks="/v1beta/openai/chat/completions"
    ),
}  # fmt: skip


def rater_for(kind: Kind, server: Served, **fields: Any) -> Rater:
    own = {"model": "m", "api_key_env": "JUDGE_KEY", **(fields or kind.fields)}
    return Rater.model_validate({"id": "judge", "base_url": server.url.replace("/v1", kind.path), **own})


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_server_is_asked_as_it_says(bench: Bench, tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    questions = bench.form("a00001").questions("everybody")
    answers = {one.question_id: getattr(one.answer, "options", FIFTY)[0].value for one in questions}
    with scripted(lambda asked: kind.answer(asked, answers)) as server:
        rater = rater_for(kind, server)
        found = capabilities.probe(
            HTTPEndpoint(rater, CHAT_API, environment=ENVIRONMENT),
            rater_variants(rater),
            Journal(bench.store),
            RaterBudget(None),
        )
        assert capabilities.problems(found, rater, rater_variants(rater), "it")[0] == []
        tried = len(server.asked)
        endpoint = HTTPEndpoint(rater, CHAT_API, environment=ENVIRONMENT)
        summary = rate_visits(
            bench, rater_visits(bench.store, rater_variants(rater)), PlainPrompts(), endpoint=endpoint
        )
    assert (summary.finished, summary.missing, summary.problem) == (1, {}, None)
    sent, headers = server.asked[tried], server.headers[tried]
    assert kind.sends.items() <= sent.body.items()
    assert sent.path == kind.asks
    assert kind.with_headers.items() <= headers.items()
    assert ("authorization" in headers) == (rater.api_key_env != "none")
    record = json.loads(bench.calls()[0].request)
    assert kind.sends.items() <= record["parameters"].items()
    assert {key: rater.model_dump()[key] for key in ("headers", "query") if key in record} == {
        key: record[key] for key in ("headers", "query") if key in record
    }
    bench.store.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.refused])
def test_what_a_kind_ignores_is_told_with_the_way_out(bench: Bench, name: str) -> None:
    with scripted(lambda asked: KINDS[name].answer(asked, {})) as server:
        rater = rater_for(KINDS[name], server, model="m")
        endpoint = HTTPEndpoint(rater, CHAT_API, environment=ENVIRONMENT)
        found = capabilities.probe(endpoint, rater_variants(rater), Journal(bench.store), RaterBudget(None))
    (line,) = capabilities.problems(found, rater, rater_variants(rater), endpoint.shown)[0]
    assert KINDS[name].refused in line


@pytest.mark.parametrize(
    ("letters", "read", "cut"),
    [("a", 2050, 1), ("a", 4900, 0), ("漢", 2050, 1), ("漢", 19_000, 0), ("a", None, 0), ("a", 1500, 1)],
)
def test_a_prompt_that_the_server_cut_in_silence_is_noticed(
    bench: Bench, letters: str, read: int | None, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ollama does: of 5,000 tokens or more, it reads half a window of 4,096."""
    opening = PlainPrompts.turn_messages
    long = [{"role": "user", "content": [{"type": "text", "text": 20_000 * letters}]}]
    monkeypatch.setattr(PlainPrompts, "turn_messages", lambda *given: [*long, *opening(*given)])
    with scripted(lambda asked: http({**middle(asked), "usage": {"prompt_tokens": read}})) as server:
        rater = rater_for(Kind(), server, model="m")
        endpoint = HTTPEndpoint(rater, CHAT_API, environment=ENVIRONMENT)
        summary = rate_visits(
            bench, rater_visits(bench.store, rater_variants(rater)), PlainPrompts(), endpoint=endpoint
        )
    assert (summary.cut_prompts, summary.finished) == (cut, 1)


def test_the_command_says_that_prompts_were_cut(tmp_path: Path) -> None:
    study = built_example(tmp_path, annotators=1)
    with scripted(lambda asked: http({**middle(asked), "usage": {"prompt_tokens": 9}})) as server:
        (tmp_path / "judge.toml").write_text(f'id = "judge"\nmodel = "m"\nbase_url = "{server.url}"\n')
        told = spa("rate", study, "--rater", tmp_path / "judge.toml", "--no-probe").output
    assert "in 1 of 1 requests the endpoint read far fewer tokens than were sent" in told
    assert "OLLAMA_CONTEXT_LENGTH" in told


def test_the_responses_api_takes_effort_and_other_words(bench: Bench) -> None:
    with scripted(lambda asked: http(middle(asked))) as server:
        rater = rater_for(Kind(), server, reasoning_effort="high", extra_body={"truncation": "disabled"}, max_tokens=99)
        endpoint = HTTPEndpoint(rater, RESPONSES_API, environment=ENVIRONMENT)
        assert (
            rate_visits(
                bench, rater_visits(bench.store, rater_variants(rater)), PlainPrompts(), endpoint=endpoint
            ).finished
            == 1
        )
    sent = server.asked[0].body
    assert (sent["reasoning"], sent["truncation"], sent["max_output_tokens"]) == ({"effort": "high"}, "disabled", 99)


@pytest.mark.parametrize("status", [200, 401])
def test_a_secret_header_that_the_server_repeats_is_blotted_out(bench: Bench, tmp_path: Path, status: int) -> None:
    with scripted(lambda asked: http({"error": {"message": f"not {SECRET}"}}, status=status)) as server:
        rater = rater_for(KINDS["Azure OpenAI"], server)
        endpoint = HTTPEndpoint(rater, CHAT_API, environment=ENVIRONMENT)
        summary = rate_visits(
            bench, rater_visits(bench.store, rater_variants(rater)), PlainPrompts(), endpoint=endpoint, sleep=quick
        )
    assert "[key]" in str(summary.problem)
    assert "[key]" in str(bench.calls()[0].response)
    bench.store.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())


async def quick(seconds: float) -> None:
    """Wait not at all."""


@pytest.mark.parametrize(
    ("fields", "environment", "said"),
    [
        ({"base_url": "https://x.org/v1?api-version=1"}, {}, 'query = { "api-version"'),
        ({"headers": {"api-key": "env:AZURE_KEY"}, "api_key_env": "none"}, {}, "got none; set it (export AZURE_KEY"),
        ({"query": {"key": "env:AZURE_KEY"}, "api_key_env": "none"}, {"AZURE_KEY": "short"}, "got fewer"),
        ({"headers": {"x": "y"}, "api_key_env": "none"}, {}, "no such header"),
        ({"base_url": "https://x.org/v1/chat/completions/"}, {}, 'set base_url = "https://x.org/v1"'),
    ],
)
def test_what_a_server_needs_is_told_before_anything_is_sent(
    fields: dict[str, Any], environment: dict[str, str], said: str
) -> None:
    rater = Rater.model_validate({"id": "judge", "model": "m", "base_url": "https://example.org/v1", **fields})
    with pytest.raises(PlatformError) as raised:  # noqa: PT012 - whichever of the three finds it
        find_key(rater, str(rater.base_url), environment)
        named_values(rater, "headers", environment)
        named_values(rater, "query", environment)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('headers = { api-key = "sk-123456" }', "api-key"),
        ('query = { key = "sk-123456" }', "key"),
        ("extra_body = { temperature = 1 }", "extra_body"),
        ("extra_body = 3", "extra_body"),
        ("max_tokens = 5\nmax_completion_tokens = 5", "remove one of them"),
        ('provider = "local"\nanswer_format = "json"\nreasoning_effort = "low"', "reasoning_effort"),
    ],
)
def test_a_mistake_in_the_keys_for_servers_is_one_line(tmp_path: Path, lines: str, said: str) -> None:
    study = write_study(tmp_path, rest=SPA + f'[[raters]]\nid = "judge"\nmodel = "m"\n{lines}\n')
    with pytest.raises(StudyError) as raised:
        load_study(study)
    (line,) = str(raised.value).splitlines()
    assert said in line
    assert "sk-123456" not in line


def test_raters_of_old_stores_keep_their_mark() -> None:
    """As the first stores have it: keys that came later count where they are set only."""
    plain = {"id": "judge", "model": "some-model"}
    assert rater_variants(Rater.model_validate(plain))[0].fingerprint == "0bcfd0ae776f5de5"
    marks = {
        rater_variants(Rater.model_validate({**plain, **more}))[0].fingerprint
        for more in ({}, {"max_completion_tokens": 9}, {"reasoning_effort": "low"}, {"extra_body": {"top_k": 1}})
    }
    assert len(marks) == 3
