"""Every vendor of the registry, and one that no product file knows: asked, read, counted, in batches, named nowhere."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import spa as product
from spa.errors import PlatformError, StudyError
from spa.forms.prompt_turns import turns_of
from spa.forms.texts import load_texts
from spa.journal import Journal
from spa.raters import vendors
from spa.raters.batch import rate_in_batches
from spa.raters.budget import Price, RaterBudget
from spa.raters.endpoints.endpoint import LLMEndpoint, LLMRequest
from spa.raters.prompt_messages import PromptWriter
from spa.raters.vendors.vendor import Vendor
from spa.raters.visits import rater_visits
from spa.records.raters import Rater, RaterProtocol, rater_variants
from spa.study.load import load_study
from tests import patience
from tests.conftest import missing_part
from tests.spa.hand_made import hand_made
from tests.spa.rater_bench import Bench, PlainPrompts
from tests.spa.rater_bench import bench as bench
from tests.spa.rehearsed import spa
from tests.spa.scripted_server import chat
from tests.spa.study_files import problems_of, write_study
from tests.spa.tiny_models import need_local_models
from tests.toys.oracle_vendor import ORACLE, OracleBatches

INSTALLED = Path(product.__file__).parents[1]
DOCS = Path(__file__).resolve().parents[3] / "docs"
PICTURE = "data:image/png;base64,iVBORw0KGgo="
SEEN = {"type": "image_url", "image_url": {"url": PICTURE}}


def responded(*parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object of the Responses API."""
    usage = {"input_tokens": 100, "output_tokens": 10, "input_tokens_details": {"cached_tokens": 0}}
    output = [{"type": "message", "content": list(parts)}]
    return {"object": "response", "status": "completed", "model": "m", "output": output, "usage": usage, **more}


def anthropic(text: str, ended: str = "end_turn") -> dict[str, Any]:
    """Return a message of Anthropic's API."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 0, "output_tokens": 10}
    return {"type": "message", "content": [{"type": "text", "text": text}], "stop_reason": ended, "usage": usage}


def gemini(text: str, ended: str = "STOP") -> dict[str, Any]:
    """Return a response of Gemini's API."""
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 2, "thoughtsTokenCount": 8}
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"content": content, "finishReason": ended}], "usageMetadata": usage, "modelVersion": "m"}


LOGPROB = {"token": "4", "logProbability": -0.1}
LOGPROBS = {"chosenCandidates": [LOGPROB], "topCandidates": [{"candidates": [LOGPROB]}]}


def oracular(words: str, ends: str = "whole", **more: Any) -> dict[str, Any]:
    """Return what the toy says."""
    return {"oracle": "m", "says": [{"words": words, "ends": ends, **more}], "breaths": {"in": 100, "out": 10}}


TOKEN = {"token": "4", "logprob": -0.1, "top_logprobs": [{"token": "4", "logprob": -0.1}]}
SAID = chat("4")
SAID["choices"][0]["logprobs"] = {"content": [TOKEN]}


@dataclass(frozen=True)
class Replies:
    """The same replies, as a vendor writes them: 100 tokens read, 10 written."""

    said: Mapping[str, Any]  # "4", with its probabilities
    refused: tuple[Mapping[str, Any], ...]  # by the model in words, and by a filter
    cut: Mapping[str, Any]
    failed: Mapping[str, Any] | None  # an error in the place of an answer; None: it comes otherwise
    has_tokens: bool = True  # with their probabilities


ERROR = {"message": "the queue is full"}
CHAT = Replies(
    SAID,
    (chat("", refusal="I would rather not."), chat("4", finish="content_filter")),
    chat("4", finish="length"),
    {"object": "chat.completion", "choices": [], "error": ERROR},
)
CUT = {"reason": "max_output_tokens"}
FILTERED = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
REPLIES = {
    "chat": CHAT,
    "local": CHAT,
    "simulated": CHAT,
    "responses": Replies(
        responded({"type": "output_text", "text": "4", "logprobs": [TOKEN]}),
        (
            responded({"type": "refusal", "refusal": "I would rather not."}),
            responded({"type": "output_text", "text": "4"}, **FILTERED),
        ),
        responded({"type": "output_text", "text": "4"}, **{**FILTERED, "incomplete_details": CUT}),
        responded(status="failed", output=[], error=ERROR),
    ),
    "anthropic": Replies(
        anthropic("4"),
        (anthropic("I would rather not.", "refusal"), anthropic("", "refusal")),
        anthropic("4", "max_tokens"),
        None,
        has_tokens=False,
    ),
    "gemini": Replies(
        {**gemini("4"), "candidates": [{**gemini("4")["candidates"][0], "logprobsResult": LOGPROBS}]},
        (gemini("I would rather not.", "SAFETY"), {"promptFeedback": {"blockReason": "OTHER"}}),
        gemini("4", "MAX_TOKENS"),
        None,
    ),
    "oracle": Replies(
        oracular("4", tokens=[TOKEN]), (oracular("", "declined", because="No."),), oracular("4", "cut"), None
    ),
}
LIBRARIES = {"anthropic": "anthropic", "gemini": "google.genai"}  # in extras
EVERY = (*vendors.VENDORS, ORACLE)
TEXT_MODEL = SimpleNamespace(loaded=SimpleNamespace(kind="causal", processor=None))  # loaded, as far as it is looked at
each = pytest.mark.parametrize("vendor", EVERY, ids=lambda vendor: vendor.key)


@pytest.fixture(autouse=True)
def _with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendors, "VENDORS", EVERY)
    monkeypatch.setattr(OracleBatches, "kept", {})


def rater_of(vendor: Vendor, *, batch: bool = False, **fields: Any) -> Rater:
    provider = vendor.key if vendor.model is None else "chat"
    here = {"base_url": "http://127.0.0.1:1/v1"}
    own = {"id": "judge", "model": vendor.model or "m", "provider": provider, "answer_format": "json", "batch": batch}
    own |= {"max_tokens": 64}
    return Rater.model_validate({**own, **here, **fields})


def opened(vendor: Vendor, rater: Rater) -> LLMEndpoint:
    """Open a connection, through which nothing is sent."""
    if vendor.on_this_machine:
        need_local_models()
    if vendor.key in LIBRARIES:
        need_library(LIBRARIES[vendor.key])
    endpoint = vendor.open(rater, timeout=patience.SECONDS, folder=Path(), keep=False)
    if vendor.on_this_machine:
        endpoint._running = TEXT_MODEL  # type: ignore[attr-defined]
    return endpoint


def need_library(name: str) -> None:
    """Skip (fail on CI) where a vendor's client library is not installed."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError:  # of a namespace
        found = None
    if found is None:
        missing_part(f"{name} is not installed")


def text_page(rater: Rater) -> LLMRequest:
    """Return the request of a whole form."""
    (turn,) = turns_of(hand_made()[0], "form")
    messages = PromptWriter(load_texts("en", {})).turn_messages(turn, rater)
    return LLMRequest(messages=tuple(messages), questions=turn.questions, protocol=rater)


def image_page(rater: Rater) -> LLMRequest:
    content = [{"type": "text", "text": "Which is better?"}, SEEN]
    return LLMRequest(messages=({"role": "user", "content": content},), questions=(), protocol=rater)


def words_of(value: Any) -> list[str]:
    """Return every text of a body."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in words_of(one)]


def close(endpoint: LLMEndpoint) -> None:
    asyncio.run(endpoint.__aexit__(None, None, None))


def test_each_has_a_key_of_its_own() -> None:
    keys = [key for vendor in EVERY for key in (vendor.key, vendor.batch_key) if key is not None]
    assert len(keys) == len(set(keys))
    assert list(vendors.providers()) == [
        "chat",
        "batch",
        "responses",
        "anthropic",
        "gemini",
        "local",
        "oracle",
        "oracle-batch",
    ]
    assert {vendor.key for vendor in EVERY} == set(REPLIES)


@each
def test_a_rater_finds_its_vendor(vendor: Vendor) -> None:
    assert vendors.vendor_of(rater_of(vendor)) is vendor
    assert not vendors.in_batches(rater_of(vendor))
    with pytest.raises(StudyError, match=r'expected one of "chat", .* got "quite another"; correct it'):
        vendors.vendor_of(Rater(id="judge", model="m", provider="quite another"))


@each
def test_a_text_page_is_sent_whole(vendor: Vendor) -> None:
    rater = rater_of(vendor)
    endpoint, request = opened(vendor, rater), text_page(rater)
    sent = words_of(endpoint.body(request))
    record = json.loads(endpoint.record(request))
    close(endpoint)
    said = [text for message in request.messages for text in words_of(message["content"])]
    assert said
    assert set(said) <= set(sent)
    assert rater.model in sent
    assert [message["role"] for message in record["messages"]] == [message["role"] for message in request.messages]
    assert set(said) <= set(words_of(record["messages"]))
    assert "parameters" in record


@each
def test_an_image_is_sent_or_refused_in_one_line(vendor: Vendor) -> None:
    rater = rater_of(vendor)
    endpoint, request = opened(vendor, rater), image_page(rater)
    if vendor.on_this_machine:
        with pytest.raises(PlatformError, match="reads text only; name another model") as told:
            endpoint.record(request)
        assert "\n" not in str(told.value)
    else:
        assert PICTURE.partition(",")[2] in {text.rpartition(",")[2] for text in words_of(endpoint.body(request))}
        record = endpoint.record(request)
        assert "sha256 of the data URL" in record
        assert PICTURE not in record
    close(endpoint)


@each
def test_replies_are_known_read_and_counted(vendor: Vendor) -> None:
    replies = REPLIES[vendor.key]
    assert vendors.format_of(replies.said) is vendor.replies
    said, cut = (vendors.read_body(json.dumps(one)) for one in (replies.said, replies.cut))
    assert (said.outcome, said.text) == ("answered", "4")
    assert (said.prompt_tokens, said.completion_tokens) == (100, 10)
    for refused in (vendors.read_body(json.dumps(one)) for one in replies.refused):
        assert refused.outcome == "refused"
        assert refused.detail
    if replies.failed is not None:
        failed = vendors.read_body(json.dumps(replies.failed))
        assert (failed.outcome, failed.detail) == ("failed", "the queue is full")
    assert (cut.outcome, cut.text) == ("truncated", "4")
    assert list(vendors.texts_of(said)) == ["4"]
    if replies.has_tokens:
        assert [token["top_logprobs"] for token in vendors.top_tokens(replies.said)] == [TOKEN["top_logprobs"]]


@each
def test_tokens_are_paid_once(vendor: Vendor) -> None:
    reply = vendors.read_body(json.dumps(REPLIES[vendor.key].said))
    budget = RaterBudget(Price(input=1_000, output=10_000), budget=1.0)
    reserved = budget.reserve(50, 5)
    assert reserved is not None
    assert budget.pay(reserved, reply)["cost"] == pytest.approx(0.2)
    assert budget.spent == pytest.approx(0.2)
    assert vendors.samples_of(reply, 1) == [reply]


@each
def test_several_answers_are_parted(vendor: Vendor) -> None:
    """Where a vendor gives them in one response; the first has what is paid, those that did not come are told."""
    body = REPLIES[vendor.key].said
    name = next((name for name in ("choices", "says") if name in body), None)
    more = body if name is None else {**body, name: 2 * body[name]}
    parts = vendors.samples_of(vendors.read_body(json.dumps(more)), 3)
    came = 1 if name is None else 2
    assert [part.outcome for part in parts] == ["answered"] * came + ["not_sampled"] * (3 - came)
    if vendor.several:
        assert [part.prompt_tokens for part in parts] == [100, None, None]


@each
def test_what_it_does_not_take_is_told(vendor: Vendor, tmp_path: Path) -> None:
    """Each in one line that names a provider which does."""
    values: dict[str, Any] = {"seed": 3, "max_completion_tokens": 9, "reasoning_effort": "low", "temperature": 0.5}
    values |= {"extra_body": {"top_k": 3}, "top_p": 0.5}
    for key in vendor.refused_keys:
        value = "{ top_k = 3 }" if key == "extra_body" else json.dumps(values[key])
        rest = f'[spa]\n[[raters]]\nid = "j"\nmodel = "m"\nprovider = "{vendor.key}"\nanswer_format = "json"\n'
        told = problems_of(write_study(tmp_path, rest=f"{rest}{key} = {value}\n"))
        other, expected = vendors.provider_with(key), f"[[raters]] j, {key}: expected {vendor.refused_keys[key]}"
        (line,) = (one for one in told if expected in one)
        assert line.endswith(f'; remove it, or set provider = "{other}"')
        assert key not in vendors.vendor_of(Rater(id="j", model="m", provider=other)).refused_keys


@each
def test_batches_hold_the_requests_or_there_are_none(vendor: Vendor, bench: Bench) -> None:
    if vendor.batches is None:
        rater = rater_of(vendor)
        visits = rater_visits(bench.store, rater_variants(rater))
        endpoint = opened(vendor, rater)
        with pytest.raises(StudyError, match="expected a provider that takes batches"):
            rate_in_batches(bench, visits, PlainPrompts(), endpoint=endpoint)
        close(endpoint)
        return
    rater = rater_of(vendor, batch=True)
    assert vendors.in_batches(rater)
    endpoint = opened(vendor, rater)
    request = text_page(rater)
    content = vendor.batches(endpoint, Journal(bench.store)).content([("judge/1/a00001|form|1", request)])
    assert b"judge/1/a00001|form|1" in content
    assert json.dumps(request.messages[-1]["content"])[1:-1].encode() in content
    close(endpoint)


ASKED = '[spa]\nexposure = 1\n[people]\nannotators = 2\n[[raters]]\nid = "seer"\nmodel = "delphi"\n'


@pytest.mark.parametrize("provider", ['"oracle"', '"oracle"\nbatch = true', '"oracle-batch"'])
def test_a_study_is_rated_by_a_toy(tmp_path: Path, provider: str) -> None:
    """From the study file to the exported answers; in batches a second run finds the answers of the first."""
    study = write_study(tmp_path, rest=f"{ASKED}provider = {provider}\n")
    spa("build", study)
    estimated = json.loads(spa("rate", study, "--dry-run", "--json").output)
    runs = [json.loads(spa("rate", study, "--json").output) for _ in range(2)]
    asked, again = reversed(runs) if "batch" in provider else runs
    assert (asked["finished"], asked["missing"], asked["requests"]) == (2, {}, estimated["requests"])
    assert asked["prompt_tokens"] > 0
    assert again["finished"] == 0
    spa("export", study, "--out", tmp_path / "out", "--raw")
    answers = pl.read_csv(tmp_path / "out" / "preferences.csv")
    assert set(answers["annotator_id"]) == {"seer"}
    assert answers["preference"].to_list() == [1.0] * len(answers)
    request_log = (tmp_path / "out" / "calls.jsonl").read_text().splitlines()
    assert {json.loads(line)["model"] for line in request_log} == {"delphi"}


@each
def test_batches_are_refused_where_there_are_none(vendor: Vendor, tmp_path: Path) -> None:
    provider = vendor.key if vendor.model is None else "chat"
    rest = f'{ASKED}provider = "{provider}"\nbatch = true\nanswer_format = "json"\nmax_tokens = 9\n'.replace(
        "delphi", vendor.model or "delphi"
    )
    study = write_study(tmp_path, rest=rest)
    if vendor.batches is not None:
        assert vendors.in_batches(load_study(study).raters[0])
        return
    (line,) = problems_of(study)
    assert '[[raters]] seer, batch: expected false: there are batches with provider = "chat", ' in line


def test_a_toys_own_mistakes_are_told(tmp_path: Path) -> None:
    rest = f'{ASKED}provider = "oracle"\npersona = "a sceptic"\n'
    (line,) = problems_of(write_study(tmp_path, rest=rest))
    assert "[[raters]] seer, persona: expected none: an oracle speaks for itself" in line


def test_an_unknown_provider_is_told_with_all(tmp_path: Path) -> None:
    (line,) = problems_of(write_study(tmp_path, rest=f'{ASKED}provider = "orakel"\n'))
    assert line == (
        'study.toml: [[raters]] seer, provider: expected one of "chat", "batch", "responses", "anthropic", "gemini", '
        '"local", "oracle", "oracle-batch", got "orakel"; correct it or remove the key (default: "chat")'
    )


def provider_table() -> str:
    """Return the table of providers as the documentation has it."""
    rows = ["| `provider` | asks | `batch = true` | takes no |", "|---|---|---|---|"]
    for vendor in vendors.VENDORS:
        if vendor.model is None and vendor is not ORACLE:
            refused = ", ".join(f"`{key}`" for key in vendor.refused_keys)
            batches = "yes" if vendor.batches is not None else ""
            rows.append(f'| `"{vendor.key}"` | {vendor.about} | {batches} | {refused} |')
        if vendor.batch_key is not None and vendor is not ORACLE:
            rows.append(f'| `"{vendor.batch_key}"` | {vendor.batch_about} | yes | |')
    return "\n".join(rows).replace("|  |", "| |").replace("|  |", "| |") + "\n"


def test_the_documentation_lists_the_registry() -> None:
    assert provider_table() in (DOCS / "llm-raters.md").read_text(encoding="utf-8")


# What has the word for a reason of its own.
OTHER_MEANINGS = {
    "spa/records/raters.py": {"chat"},  # the default of a record, which knows no registry
    "spa/media/image_tokens.py": {"gemini"},  # a family of models
    "spa/media/clip_tokens.py": {"gemini"},
    "spa/cluster.py": {"local"},  # a cluster of this machine
    "spa/commands/rating_cluster.py": {"local"},  # the same
    "spa/raters/cluster/coordinator.py": {"batch"},  # a part of a run, for a worker
    "spa/raters/cluster/progress.py": {"batch"},
    "spa/raters/cluster/worker.py": {"batch"},
    "spa/tables/addresses.py": {"local"},  # the scheme of a path
    "spa/importers/argilla.py": {"responses"},  # a key of its records
    "spa/starting/names.py": {"responses"},  # the name of a folder
    "prolific/emulator/contract.py": {"responses"},  # a field of Prolific's API
    "spa/errors.py": {"local"},  # an extra of the package
    "spa/raters/local/model_folder.py": {"local"},  # the same
    "analysis/metrics/metric_values.py": {"local"},  # the same
    "analysis/commands/report.py": {"local"},  # a cluster of this machine
}


def test_no_other_file_names_a_vendor() -> None:
    keys = [key for key in vendors.providers() if "oracle" not in key]
    classes = ("HTTPEndpoint", "LocalEndpoint", "BatchFiles", "CHAT_API", "RESPONSES_API")
    quoted = re.compile(rf"""["']({"|".join(keys)})["']|\b({"|".join(classes)})\b""")
    rooms = ("spa/raters/vendors/", "spa/raters/endpoints/http_endpoint.py", "spa/raters/endpoints/chat_completions.py")
    places = []
    for package in ("spa", "mturk", "prolific", "analysis", "streamlit_app"):
        for path in sorted((INSTALLED / package).rglob("*.py")):
            place = path.relative_to(INSTALLED).as_posix()
            if place.startswith(rooms):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                found = {one for pair in quoted.findall(line) for one in pair if one}
                if found - OTHER_MEANINGS.get(place, set()):
                    places.append(f"{place}:{number}: {line.strip()}")
    assert places == []


def test_the_study_keeps_what_it_is_told(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, rest=f'{ASKED}provider = "oracle-batch"\n'))
    assert [rater.provider for rater in study.raters] == ["oracle-batch"]
    assert isinstance(study.raters[0], RaterProtocol)
