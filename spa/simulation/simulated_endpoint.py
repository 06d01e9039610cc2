"""An OpenAI-compatible chat endpoint with simulated answers, for the demo and tests.

The model is called ``simulated-rater``, so that its answers are never mistaken for an LLM's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from spa.forms.form import Form, NumberAnswer, OptionsAnswer, OrderAnswer, Question, SpansAnswer, TextAnswer
from spa.forms.prompt_turns import PromptTurn
from spa.raters.endpoints.endpoint import mapping
from spa.raters.prompt_messages import Message
from spa.responses.orders import order_of, ranks_of
from spa.simulation.simulated_annotators import SimulatedAnnotator, Temperament
from spa.simulation.simulated_spans import quoted
from spa.simulation.true_utilities import TrueUtilities
from spa.study.assignment import BlindingKey

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

MODEL = "simulated-rater"
SAMPLING = ("temperature", "top_p", "seed")
STEADY = Temperament(noise_sd=0.5, taste_sd=0.05, doubt=0.8, severity_sd=0.1, tie_width=0.1, rounding=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedFaults:
    """What goes wrong on purpose."""

    unreadable_first: bool = False  # the first answer to each form is prose
    partial_first: bool = False  # the first answer to each form leaves the last question out
    prose: bool = False  # the JSON stands in a code fence between two sentences
    refuse: bool = False
    truncate: bool = False  # the answer breaks off in the middle
    statuses: tuple[int, ...] = ()  # of the first requests, in turn, instead of an answer
    retry_after: str | None = None  # header of these
    error_code: str | None = None  # "code" in the body of these
    hang: float = 0.0  # seconds before each answer


@dataclass(slots=True)
class EndpointTraffic:
    """What the endpoint was asked, for tests."""

    requests: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    by_form: dict[str, int] = field(default_factory=dict)


class SimulatedModel:
    """Answers the prompts of known forms; each form by an annotator of its own.

    Parameters
    ----------
    forms : iterable of (Form, BlindingKey)
        The forms whose prompts are known.
    put : callable
        Form -> each of its asks with the messages that put it, in every way in which it may be put.
    truth, temperament
        Who answers.
    seed, rater_id
        What answers are drawn from, with the assignment and how it is asked; see :func:`assignment_rng`. They are the
        same in whatever order the requests come.
    """

    def __init__(
        self,
        forms: Iterable[tuple[Form, BlindingKey]],
        put: Callable[[Form], Iterable[tuple[PromptTurn, Sequence[Message]]]],
        truth: TrueUtilities,
        *,
        temperament: Temperament = STEADY,
        seed: int = 0,
        rater_id: str = MODEL,
    ) -> None:
        self._truth = truth
        self._temperament = temperament
        self._seed = seed
        self._rater_id = rater_id
        self._openings: dict[str, tuple[Form, BlindingKey]] = {}
        self._wordings: dict[str, list[Form]] = {}  # assignment -> its forms, which ways of asking add to
        self._asks: dict[tuple[str, str], tuple[str, ...]] = {}
        for form, key in forms:
            self._wordings.setdefault(form.assignment_id, []).append(form)
            for ask, messages in put(form):
                digest = fingerprint(messages[-1:])
                self._asks[form.assignment_id, digest] = tuple(question.question_id for question in ask.questions)
                if ask.alone:
                    self._openings[digest] = (form, key)

    def find(self, messages: Sequence[object]) -> tuple[Form, BlindingKey, tuple[str, ...]] | None:
        """Return the form that a conversation is about, by how it begins, and the questions last asked."""
        digests = [fingerprint([message]) for message in messages if mapping(message).get("role") == "user"]
        found = self._openings.get(digests[0]) if digests else None
        if found is None:
            return None
        name = found[0].assignment_id
        known = (self._asks[name, one] for one in reversed(digests) if (name, one) in self._asks)
        return (*found, next(known))

    def rng(self, form: Form, body: Mapping[str, Any]) -> np.random.Generator:
        """Return the generator of the annotator who answers a request about a form."""
        ways = self._wordings[form.assignment_id]
        wording = next(number for number, one in enumerate(ways) if one is form)
        sampling: dict[str, object] = {name: body[name] for name in SAMPLING if body.get(name) is not None}
        if sampling.get("seed") == self._seed:  # that of the first repeat
            del sampling["seed"]
        personas = [one.get("content") for one in map(mapping, body["messages"]) if one.get("role") == "system"]
        others = {"rater": self._rater_id, "wording": wording, "persona": personas}
        plain = {"rater": MODEL, "wording": 0, "persona": []}
        sampling |= {name: value for name, value in others.items() if value != plain[name]}
        return assignment_rng(self._seed, form.assignment_id, sampling)

    def answers(
        self, form: Form, key: BlindingKey, names: Iterable[str], rng: np.random.Generator
    ) -> dict[str, object]:
        """Answer the questions named, as JSON values."""
        annotator = SimulatedAnnotator(self._truth, self._temperament, rng=rng)
        answers = annotator.answers(form, key)
        questions = {question.question_id: question for question in form.questions("everybody")}
        return {name: json_value(questions[name], answers[name]) for name in names if name in questions}


def assignment_rng(seed: int, assignment_id: str, sampling: Mapping[str, object] | None = None) -> np.random.Generator:
    """Return the generator of the annotator who answers one assignment, whoever comes first.

    Parameters
    ----------
    seed : int
        Of the simulation.
    assignment_id : str
        What is answered.
    sampling : mapping, optional
        What sets this answer apart from the plain first one of the rater ``simulated-rater``: another rater's id, the
        sampling, persona and added texts of a variant, the seed of a further repeat. For people, the seat of every
        annotator of an assignment but the first.
    """
    parts = [assignment_id, *([json.dumps(sampling, sort_keys=True)] if sampling else [])]
    digests = [sha256(one.encode("utf-8", "surrogatepass")).digest() for one in parts]
    return np.random.default_rng([seed, *(int.from_bytes(digest[:8], "big") for digest in digests)])


def fingerprint(messages: Sequence[object]) -> str:
    """Return a hash of messages."""
    return sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()


def json_value(question: Question, raw: str) -> object:
    """Return an answer as the JSON Schema of the question wants it."""
    answer = question.answer
    if isinstance(answer, NumberAnswer):
        return int(raw)
    if isinstance(answer, TextAnswer):
        return raw
    if isinstance(answer, SpansAnswer):
        return quoted(answer, raw)
    if isinstance(answer, OptionsAnswer):
        scores = answer.half_points is not None and all(option.value.isdecimal() for option in answer.options)
        return int(raw) if scores else raw
    if isinstance(answer, OrderAnswer):
        return ranks_of(raw)
    return True


def create_endpoint(
    model: SimulatedModel, *, faults: SimulatedFaults | None = None, seen: EndpointTraffic | None = None
) -> FastAPI:
    """Build the application: ``POST /v1/chat/completions`` and ``GET /v1/models``."""
    from fastapi import FastAPI

    faults = SimulatedFaults() if faults is None else faults
    seen = EndpointTraffic() if seen is None else seen
    app = FastAPI(title="simulated rater", docs_url=None, redoc_url=None, openapi_url=None)

    async def complete(request: Request) -> Response:
        seen.requests += 1
        seen.headers.append(dict(request.headers))
        if faults.hang:
            await asyncio.sleep(faults.hang)
        if seen.requests <= len(faults.statuses):
            headers = {} if faults.retry_after is None else {"Retry-After": faults.retry_after}
            return error(faults.statuses[seen.requests - 1], "on purpose", code=faults.error_code, headers=headers)
        try:
            body = mapping(json.loads(await request.body()))
        except ValueError:
            return error(400, "the request is not JSON")
        seen.bodies.append(body)
        messages = body.get("messages")
        found = model.find(messages) if isinstance(messages, list) else None
        if found is None:
            return error(400, "this simulated rater knows only the forms that it was started with")
        form, key, last_questions = found
        seen.by_form[form.assignment_id] = nth = seen.by_form.get(form.assignment_id, 0) + 1
        answers = model.answers(form, key, questions_of_schema(body) or last_questions, model.rng(form, body))
        say = json.dumps if wants_json(body, last_questions) else partial(in_prose, form)
        return completion(body, *spoken(answers, faults, say, first=nth == 1))

    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "simulation"}]}

    # routes are added by call: annotations of nested functions cannot name what is imported lazily
    from starlette.routing import Route

    app.router.routes.append(Route("/v1/chat/completions", complete, methods=["POST"]))
    app.add_api_route("/v1/models", models, methods=["GET"])
    return app


def questions_of_schema(body: dict[str, Any]) -> list[str]:
    """Return the questions that the request's schema names; none where it has no schema."""
    schema = mapping(mapping(mapping(body.get("response_format")).get("json_schema")).get("schema"))
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def wants_json(body: dict[str, Any], questions: Iterable[str]) -> bool:
    """Return whether a request asks for JSON: by a schema, or in words that quote the names of the questions."""
    messages = body.get("messages")
    content = json.dumps(messages[-1:], ensure_ascii=False) if isinstance(messages, list) else ""
    return "response_format" in body or any(f'\\"{name}\\"' in content for name in questions)


def in_prose(form: Form, answers: dict[str, object]) -> str:
    """Return answers as sentences; what is chosen is named by its words."""
    answer_of = {question.question_id: question.answer for question in form.questions("everybody")}
    sentences = []
    for name, value in answers.items():
        answer = answer_of[name]
        if isinstance(answer, TextAnswer):
            sentences.append(str(value))
        elif isinstance(answer, OrderAnswer) and isinstance(value, dict):
            sentences.append(f"My answer is {order_of(value)}.")
        elif isinstance(answer, SpansAnswer):
            sentences.append(json.dumps(value))
        elif isinstance(answer, OptionsAnswer) and not isinstance(value, int):
            sentences.append(next(option.text for option in answer.options if option.value == value))
        else:
            sentences.append(f"My answer is {value}.")
    return " ".join(sentences)


def spoken(
    answers: dict[str, object],
    faults: SimulatedFaults,
    say: Callable[[dict[str, object]], str] = json.dumps,
    *,
    first: bool,
) -> tuple[str, str, str | None]:
    """Return what the model says: text, reason of finishing, refusal."""
    if faults.refuse:
        return "", "stop", "I cannot judge this."
    if faults.unreadable_first and first:
        return "Both systems have their merits.", "stop", None
    if faults.partial_first and first:
        answers = dict(list(answers.items())[:-1])
    text = say(answers)
    if faults.truncate:
        return text[: len(text) // 2], "length", None
    if faults.prose:
        text = f"Here are my {{careful}} answers:\n```json\n{text}\n```\nI hope that they help."
    return text, "stop", None


def completion(body: dict[str, Any], text: str, finish_reason: str, refusal: str | None) -> Response:
    """Return a chat completion; a token is counted for each four characters."""
    from fastapi.responses import JSONResponse

    used = {"prompt_tokens": len(json.dumps(body.get("messages"))) // 4, "completion_tokens": len(text) // 4 + 1}
    message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
    return JSONResponse(
        {
            "id": f"simulated-{fingerprint([body, text])[:16]}",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "system_fingerprint": "simulated",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}],
            "usage": {**used, "total_tokens": sum(used.values())},
        }
    )


def error(status: int, message: str, *, code: str | None = None, headers: dict[str, str] | None = None) -> Response:
    """Return an error in the manner of the OpenAI API."""
    from fastapi.responses import JSONResponse

    detail = {"message": message, "type": "simulated", "param": None, "code": code}
    return JSONResponse({"error": detail}, status_code=status, headers=headers)
