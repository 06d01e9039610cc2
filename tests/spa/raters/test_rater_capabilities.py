"""What an endpoint does is seen from a few answers, kept, and told; what it lacks is never made up for in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spa.commands.workspace import open_workspace
from spa.errors import PlatformError
from spa.journal import Journal
from spa.media import medium_of
from spa.media.medium import Medium
from spa.raters import capabilities
from spa.raters.budget import Price, RaterBudget
from spa.raters.endpoints.chat_completions import CHAT_API
from spa.raters.endpoints.http_endpoint import HTTPEndpoint
from spa.raters.vendors.responses import RESPONSES_API
from spa.records.raters import Rater, rater_variants
from spa.responses.store import Store
from tests.spa.rehearsed import built_example, spa
from tests.spa.scripted_server import Asked, Said, Served, chat, http, middle, scripted


class Server:
    """An endpoint that does what it is told to do, and ignores the rest with status 200."""

    def __init__(self, *does: str) -> None:
        self.does = does
        self.drawn = 0

    def __call__(self, asked: Asked) -> Said:
        """Answer one request."""
        body = asked.body
        if "response_format" in body:
            if "refuse" in self.does:
                return http({"error": {"message": "response_format: unknown field"}}, status=400)
            return http(middle(asked) if "schema" in self.does else chat("Hello!"))
        texts = [self.number(body) for _ in range(body.get("n", 1) if "n" in self.does else 1)]
        answer = chat(texts[0])
        answer["choices"] = [{**answer["choices"][0], "message": {"content": text}} for text in texts]
        if body.get("logprobs") and "logprobs" in self.does:
            token = {"token": "Hi", "logprob": -0.1}
            answer["choices"][0]["logprobs"] = {"content": [{**token, "top_logprobs": [token]}]}
        if "usage" not in self.does:
            del answer["usage"]
        return http(answer)

    def number(self, body: dict[str, Any]) -> str:
        """Return a number: the same always where temperature is ignored, the same a seed where it is heeded."""
        if "temperature" not in self.does:
            return "000000000000"
        if "seed" in self.does and "seed" in body:
            return f"seed {body['seed']}"
        if "top_p" in self.does and body.get("top_p", 1) < 0.1:
            return "most probable"
        self.drawn += 1
        return f"draw {self.drawn}"


EVERYTHING = ("schema", "temperature", "seed", "top_p", "logprobs", "n", "usage")


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "s.sqlite") as made:
        yield made


def look(
    store: Store,
    server: Served,
    *,
    price: RaterBudget | None = None,
    again: bool = False,
    medium: Medium | None = None,
    **fields: Any,
) -> Any:
    rater = Rater(id="judge", model="m", base_url=server.url, **fields)
    api = RESPONSES_API if rater.provider == "responses" else CHAT_API
    endpoint = HTTPEndpoint(rater, api, environment={})
    variants, budget = rater_variants(rater), price or RaterBudget(None)
    found = capabilities.probe(endpoint, variants, Journal(store), budget, again=again, medium=medium)
    return found, *capabilities.problems(found, rater, variants, endpoint.shown, medium)


LOGIT = {"readout": "logit", "conversation": "question", "answer_format": "text"}


@pytest.mark.parametrize(
    ("missing", "fields", "key", "said"),
    [
        ("schema", {}, "schema", 'set answer_format = "json"'),
        ("seed", {"seed": 3}, "seed", "accepts seed but ignores it"),
        ("top_p", {"top_p": 0.5}, "top_p", "accepts top_p but ignores it"),
        ("temperature", {"temperature": 0.7}, "temperature", "samples at temperature 1 are identical"),
        ("logprobs", LOGIT, "logprobs", 'readout = "verbalised"'),
        ("logprobs", {**LOGIT, "explain": "before"}, "logprobs", 'readout = "verbalised"'),
        ("usage", {}, "usage", "costs are estimates"),
    ],
)
def test_what_is_ignored_is_seen_and_told(
    store: Store, missing: str, fields: dict[str, Any], key: str, said: str
) -> None:
    with scripted(Server(*EVERYTHING)) as server:
        found, errors, warnings = look(store, server, **fields)
        assert (getattr(found, key), errors, warnings) == ("yes", [], [])
        assert found.requests == len(server.asked) <= capabilities.MAX_REQUESTS
    with scripted(Server(*(one for one in EVERYTHING if one != missing))) as server:
        found, errors, warnings = look(store, server, **fields)
    assert getattr(found, key) == "ignored"
    (line,) = errors + warnings
    assert said in line
    assert bool(errors) == (missing in ("schema", "logprobs")) == ("--probe" in line)
    assert len(line.splitlines()) == 1


def test_logprobs_after_a_reply_are_tried_where_reasoned(store: Store) -> None:
    with scripted(Server(*EVERYTHING)) as server:
        look(store, server, **LOGIT, explain="before")
        tried = next(one.body for one in server.asked if "logprobs" in one.body)
    assert [one["role"] for one in tried["messages"]] == ["user", "assistant", "user"]


def counted(text: str, prompt_tokens: int) -> dict[str, Any]:
    return {**chat(text), "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 3}}


@pytest.mark.parametrize("key", ["image", "text"])
@pytest.mark.parametrize(
    ("reply", "sees", "said"),
    [
        (http(chat("It is Red.")), "yes", ""),
        (http(chat("Rendered by nobody")), "dropped", "does not read them (as many prompt tokens with one as without)"),
        (http(counted("Rendered by nobody", 185)), "ignored", "answers without a look: it may take in no images"),
        (http({"error": {"message": "no images"}}, status=400), "refused", "refuses images; name a model that takes"),
        (http({"error": {"message": "you may need to provide the mmproj"}}, status=500), "refused", "--mmproj"),
    ],
)
def test_an_endpoint_is_asked_once_if_it_sees(store: Store, key: str, reply: Said, sees: str, said: str) -> None:
    """Of a study whose files are sent to models, with one small picture; of another nothing is sent."""
    server_of_all = Server(*EVERYTHING)

    def script(asked: Asked) -> Said:
        return reply if "image_url" in json.dumps(asked.body) else server_of_all(asked)

    with scripted(script) as server:
        for _ in range(2):
            found, errors, warnings = look(store, server, medium=medium_of(key))
        pictures = [asked for asked in server.asked if "image_url" in json.dumps(asked.body)]
    assert len(pictures) == (key == "image")
    assert found.sees == (sees if key == "image" else "unknown")
    assert len(errors) == (found.sees in ("refused", "dropped"))
    assert len(warnings) == (found.sees == "ignored")
    assert found.sees in ("yes", "unknown") or said in (errors + warnings)[0]


def test_thoughts_that_were_cut_are_no_ignored_schema(store: Store) -> None:
    """A thinking model has no room for its answer in 64 tokens."""
    thinking = chat("Okay, the user wants a greeting. First", finish="length")
    script = Server(*EVERYTHING)
    with scripted(lambda asked: http(thinking) if "response_format" in asked.body else script(asked)) as server:
        found, errors, _ = look(store, server)
    assert (found.schema, errors) == ("unknown", [])


@pytest.mark.parametrize(
    ("status", "message", "fields", "said"),
    [
        (500, "[{'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}]", {},
         'set answer_format = "json"'),
        (500, "logprobs is not supported", LOGIT, 'set readout = "verbalised"'),
        (400, "Unsupported parameter: temperature", {"temperature": 0.5}, "takes no temperature; remove it"),
        (500, "unknown key top_p", {"top_p": 0.5}, "takes no top_p"),
    ],
)  # fmt: skip
def test_server_that_names_what_it_lacks_is_understood(
    store: Store, status: int, message: str, fields: dict[str, Any], said: str
) -> None:
    """Whatever its status: one line with the remedy, where the rater uses it."""
    name = next(one for one in ("response_format", "logprobs", "temperature", "top_p") if one in message)
    does = Server(*EVERYTHING)

    def script(asked: Asked) -> Said:
        return http({"error": {"message": message}}, status=status) if name in asked.body else does(asked)

    with scripted(script) as server:
        _, errors, _ = look(store, server, **fields)
    assert [said in line for line in errors] == [True]


def test_variants_of_an_ignored_temperature_are_refused(store: Store) -> None:
    """They would all be asked at the endpoint's default."""
    with scripted(Server(*(one for one in EVERYTHING if one != "temperature"))) as server:
        _, errors, _ = look(store, server, grid={"temperature": [0.3, 0.7]})
    assert "variants at 0.3, 0.7 would all be asked at its default" in errors[0]


def test_a_server_that_ignores_everything_is_found_out(store: Store) -> None:
    """As ``transformers serve`` does: status 200, whatever it is asked."""
    with scripted(Server("usage")) as server:
        found, errors, warnings = look(store, server, seed=1, top_p=0.9, temperature=1.0)
    assert (found.schema, found.temperature, found.several) == ("ignored", "ignored", "ignored")
    assert found.seed == found.top_p == "unknown"  # equal samples show nothing where all are equal
    assert len(server.asked) == found.requests == 6
    assert (len(errors), len(warnings)) == (1, 1)


def test_a_refused_schema_names_the_alternative(store: Store) -> None:
    with scripted(Server(*EVERYTHING, "refuse")) as server:
        found, errors, _ = look(store, server)
    assert found.schema == "refused"
    assert 'set answer_format = "json"' in errors[0]


def test_the_responses_api_is_probed_too(store: Store) -> None:
    def script(asked: Asked) -> Said:
        if "text" in asked.body:
            return http(middle(asked))
        part = {"type": "output_text", "text": f"{asked.number}"}
        output = [{"type": "message", "content": [part]}]
        return http({"object": "response", "status": "completed", "output": output, "usage": {"input_tokens": 1}})

    with scripted(script) as server:
        found, errors, _ = look(store, server, provider="responses")
    assert (found.schema, found.temperature, errors) == ("yes", "yes", [])
    assert {asked.path for asked in server.asked} == {"/v1/responses"}
    assert all("seed" not in asked.body and "n" not in asked.body for asked in server.asked)


def test_a_probe_is_kept_and_made_anew_only_when_asked_for(store: Store) -> None:
    with scripted(Server(*EVERYTHING)) as server:
        first = look(store, server)[0]
        assert look(store, server)[0].requests == 0
        assert look(store, server)[0].schema == first.schema == "yes"
        assert look(store, server, again=True)[0].requests == first.requests
    assert len(server.asked) == 2 * first.requests


@pytest.mark.parametrize("empty", [chat(""), chat(" \n"), {"choices": []}])
def test_an_empty_answer_is_no_finding_either(store: Store, empty: dict[str, Any]) -> None:
    does = Server(*EVERYTHING)
    with scripted(lambda asked: http(empty) if asked.number == 1 else does(asked)) as server:
        found, errors, _ = look(store, server)
        assert (found.schema, errors) == ("unknown", [])
        found, errors, _ = look(store, server)
        assert (found.schema, errors, found.requests) == ("yes", [], 1)


def test_a_failure_is_no_finding(store: Store) -> None:
    with scripted(lambda asked: http("", status=500)) as server:
        found, errors, _ = look(store, server)
    assert (found.schema, found.temperature, errors) == ("unknown", "unknown", [])
    with scripted(Server(*EVERYTHING)) as other:
        assert look(store, other)[0].schema == "yes"


def test_a_probe_costs_and_keeps_to_the_budget(store: Store) -> None:
    rater_budget = RaterBudget(Price(input=10, output=10), budget=100.0)
    with scripted(Server(*EVERYTHING)) as server:
        found, _, _ = look(store, server, price=rater_budget)
        assert rater_budget.spent == pytest.approx(found.requests * 110 * 10 / 1e6)
        with pytest.raises(PlatformError, match="budget"):
            look(store, server, price=RaterBudget(Price(input=10, output=10), budget=1e-9), again=True)


def with_rater(folder: Path, url: str) -> Path:
    study = built_example(folder, annotators=1)
    file = folder / "judge.toml"
    file.write_text(f'id = "judge"\nmodel = "m"\nbase_url = "{url}"\n')
    return study


def served_by(does: Callable[[Asked], Said]) -> Callable[[Asked], Said]:
    return lambda asked: (
        http(middle(asked)) if "q1" in json.dumps(asked.body.get("response_format", "")) else does(asked)
    )


def test_the_command_tells_what_it_found(tmp_path: Path) -> None:
    with scripted(served_by(Server("schema", "usage"))) as server:
        study = with_rater(tmp_path, server.url)
        first = json.loads(spa("rate", study, "--rater", tmp_path / "judge.toml", "--json").output)
        assert (first["endpoint"]["schema"], first["endpoint"]["requests"], first["finished"]) == ("yes", 3, 1)
        again = json.loads(spa("rate", study, "--rater", tmp_path / "judge.toml", "--json").output)
        assert (again["endpoint"]["requests"], again["requests"]) == (0, 0)


def test_rate_asks_nothing_where_schema_is_ignored(tmp_path: Path) -> None:
    """The command asks nothing of an endpoint that ignores the schema."""
    with scripted(Server("usage")) as server:
        study = with_rater(tmp_path, server.url)
        told = spa("rate", study, "--rater", tmp_path / "judge.toml", code=1).output
        assert 'accepts a JSON schema but ignores it (response_format); set answer_format = "json"' in told
        assert len(server.asked) == 3
        skipped = spa("rate", study, "--rater", tmp_path / "judge.toml", "--no-probe").output
        assert "note: the endpoint was not probed" in skipped
    with open_workspace(study) as workspace:
        assert [call.key for call in Journal(workspace.store).every(capabilities.KIND)][-1] == capabilities.SKIPPED
